/* A file of named arrays, of which nothing is believed before it was checked: what `gapgram.system.array_reading` does
   for Python. The rules of sections come from `gapgram.sections`, made C by compiler/library.py. */

#include <math.h>
#include "internal.h"

enum { HEADER = 64, ALIGN_SECTIONS = 64, SMALL_SECTION = 16 << 20, CHECKED_SECTION = 1 << 20, MOST_SIZES = 48 };
static const uint64_t SMALL_FILE = 64 << 20, MOST_TABLE = 64 << 20, MOST_BYTES = (uint64_t)1 << 56;

#define ODD "not as gapgram writes it: "
#define REFUSE(...) return gapgram_fail(error, GAPGRAM_WRONG_FILE, __VA_ARGS__)

/* A size that rules name, and what it is in this file. */
struct size {
    const char *name;
    size_t length;
    int64_t value;
};

struct sizes {
    int n;
    struct size known[MOST_SIZES];
};

static uint64_t read64(const uint8_t *p) {
    uint64_t value;
    memcpy(&value, p, 8);
    return value;
}

static uint32_t read32(const uint8_t *p) {
    uint32_t value;
    memcpy(&value, p, 4);
    return value;
}

int gapgram_kind(const uint8_t *data, uint64_t bytes, int *kind, gapgram_error *error) {
    if (!bytes)
        REFUSE("an empty file, not a model of gapgram");
    if (bytes >= 8 && !memcmp(data, "gapgram?", 8))
        REFUSE("unfinished: the program that wrote it was stopped; make it again");
    static const char *const others[][2] = {
        {"mmap lm http://kheafield.com/code", "a binary file of KenLM"}, {"\\data\\", "an ARPA file"},
        {"\x1f\x8b", "a compressed file"}, {"{", "a mixture that names files"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (bytes >= strlen(others[i][0]) && !memcmp(data, others[i][0], strlen(others[i][0])))
            REFUSE("$, which this library does not open: `gapgram convert` makes a model file of it", others[i][1]);
    if (bytes < 8 || memcmp(data, "gapgram\n", 8))
        REFUSE("not a file of gapgram; other kinds of models become one by `gapgram convert`");
    if (bytes < HEADER)
        REFUSE("truncated: ~ bytes are less than a header; copy it again", (int64_t)bytes);
    uint32_t version = read32(data + 8);
    if (version != FORMAT_VERSION)
        REFUSE("written in format ~ of gapgram, this library reads format ~", (int64_t)version, (int64_t)FORMAT_VERSION);
    uint8_t header[HEADER];
    memcpy(header, data, HEADER);
    memset(header + 48, 0, 16);
    if (gapgram_xxh3(header, HEADER) != read64(data + 48) || read64(data + 56))
        REFUSE("damaged: its header does not match its checksum; copy or make it again");
    uint64_t expected = read64(data + 40);
    if (bytes < expected)
        REFUSE("truncated: ~ bytes of ~ are there; copy it again", (int64_t)bytes, (int64_t)expected);
    if (bytes > expected)
        REFUSE("damaged: its end (~ bytes too many)", (int64_t)(bytes - expected));
    *kind = (int)read32(data + 12);
    return GAPGRAM_OK;
}

/* A size such as "words+1", "words" or "15": how long its name is, and the number. */
static size_t parsed(const char *text, size_t length, int64_t *more) {
    size_t name = 0;
    while (name < length && ((text[name] >= 'a' && text[name] <= 'z') || text[name] == '_'))
        name++;
    size_t p = name;
    int64_t sign = p < length && text[p] == '-' ? -1 : 1;
    p += p < length && (text[p] == '+' || text[p] == '-');
    for (*more = 0; p < length; p++)
        *more = *more * 10 + (text[p] - '0');
    *more *= sign;
    return name;
}

static struct size *size_named(struct sizes *sizes, const char *name, size_t length) {
    for (int i = 0; i < sizes->n; i++)
        if (sizes->known[i].length == length && !memcmp(sizes->known[i].name, name, length))
            return &sizes->known[i];
    return 0;
}

static double value_of(const char *size, struct sizes *sizes) {
    int64_t more;
    size_t name = parsed(size, strlen(size), &more);
    struct size *known = size_named(sizes, size, name);
    return (double)((known ? known->value : 0) + more);
}

/* Whether a section has the shape that is meant by one alternative; sizes that had no number yet receive it. */
static int fits(const struct section *section, const char *shape, const char *end, struct sizes *sizes) {
    struct sizes learned = *sizes;
    int i = 0;
    for (const char *p = shape; p < end; i++) {
        while (p < end && *p == ' ')
            p++;
        const char *past = p;
        while (past < end && *past != ' ')
            past++;
        if (p == past)
            break;
        int64_t more;
        size_t name = parsed(p, (size_t)(past - p), &more);
        if (i >= section->dimensions)
            return 0;
        struct size *known = size_named(&learned, p, name);
        if (name && !known) {
            if (learned.n == MOST_SIZES || section->shape[i] < more)
                return 0;
            learned.known[learned.n++] = (struct size){p, name, section->shape[i] - more};
        } else if (section->shape[i] != (known ? known->value : 0) + more) {
            return 0;
        }
        p = past;
    }
    if (i != section->dimensions)
        return 0;
    *sizes = learned;
    return 1;
}

static int check_shape(const struct section *section, struct sizes *sizes, gapgram_error *error) {
    const struct rule *rule = section->rule;
    if (!strstr(rule->types, section->type))
        REFUSE(ODD "section $ of type $, expected $", rule->name, section->type, rule->types);
    for (const char *shape = rule->shapes, *end; shape; shape = *end ? end + 1 : 0) {
        end = strchr(shape, '|');
        end = end ? end : shape + strlen(shape);
        if (fits(section, shape, end, sizes)) {
            uint64_t bytes = (uint64_t)(section->type[1] - '0');
            for (int i = 0; i < section->dimensions; i++) {
                if (section->shape[i] && bytes > MOST_BYTES / (uint64_t)section->shape[i])
                    REFUSE(ODD "section $ is too large", rule->name);
                bytes *= (uint64_t)section->shape[i];
            }
            if (section->padded != bytes + (0 - bytes) % ALIGN_SECTIONS)
                REFUSE(ODD "section $ of ~ bytes, expected ~", rule->name, (int64_t)section->padded, (int64_t)bytes);
            return GAPGRAM_OK;
        }
    }
    REFUSE(ODD "section $ of another shape than $", rule->name, rule->shapes);
}

static int64_t n_numbers(const struct section *section) {
    int64_t n = 1;
    for (int i = 0; i < section->dimensions; i++)
        n *= section->shape[i];
    return n;
}

static double number_at(const struct section *section, int64_t i) {
    switch (section->type[0] << 8 | section->type[1]) {
    case 'u' << 8 | '1': return ((const uint8_t *)section->data)[i];
    case 'u' << 8 | '2': return ((const uint16_t *)section->data)[i];
    case 'u' << 8 | '4': return ((const uint32_t *)section->data)[i];
    case 'i' << 8 | '4': return ((const int32_t *)section->data)[i];
    case 'i' << 8 | '8': return (double)((const int64_t *)section->data)[i];
    case 'f' << 8 | '4': return ((const float *)section->data)[i];
    case 'f' << 8 | '8': return ((const double *)section->data)[i];
    default: return (double)((const uint64_t *)section->data)[i];
    }
}

static int check_numbers(const struct section *section, struct sizes *sizes, gapgram_error *error) {
    const struct rule *rule = section->rule;
    int64_t n = n_numbers(section);
    if (*rule->rises_to && n) {
        const int64_t *bounds = section->data;
        int rises = bounds[0] == 0 && (double)bounds[n - 1] == value_of(rule->rises_to, sizes);
        for (int64_t i = 1; i < n; i++)
            rises &= bounds[i] >= bounds[i - 1];
        if (!rises)
            REFUSE(ODD "section $: expected bounds that rise from 0", rule->name);
    }
    double low = rule->low, high = *rule->high_size ? value_of(rule->high_size, sizes) : rule->high;
    if (low == -INFINITY && high == INFINITY)
        return GAPGRAM_OK;
    for (int64_t i = 0; i < n; i++) {
        double number = number_at(section, i);
        if (!(number >= low && number <= high)) /* of NaN neither is true */
            REFUSE(ODD "section $ holds a number that is out of bounds", rule->name);
    }
    return GAPGRAM_OK;
}

/* A section as the table of contents has it; `used`: where it begins. */
static int take_section(struct file *file, struct text entry, const struct rule *rules, int n_rules, uint64_t *used, gapgram_error *error) {
    struct section found = {0};
    char name[64] = "", type[8] = "";
    uint64_t size;
    struct text shape = gapgram_member(entry, "shape"), one;
    int known = gapgram_string(gapgram_member(entry, "name"), name, sizeof name) >= 0 &&
                gapgram_string(gapgram_member(entry, "dtype"), type, sizeof type) == 3 &&
                gapgram_whole(gapgram_member(entry, "offset"), &found.offset) &&
                gapgram_whole(gapgram_member(entry, "padded"), &found.padded) &&
                gapgram_whole(gapgram_member(entry, "checksum"), &found.checksum) && shape.at && *shape.at == '[';
    while (known && gapgram_element(&shape, &one)) {
        known = found.dimensions < 3 && gapgram_whole(one, &size) && size < MOST_BYTES;
        found.shape[found.dimensions++ % 3] = (int64_t)size;
    }
    if (!known)
        REFUSE(ODD "a section without its name, type, shape, place or checksum");
    if (found.offset != *used || found.offset > file->bytes || found.padded > file->bytes - found.offset)
        REFUSE(ODD "section $ at byte ~, expected ~", name, (int64_t)found.offset, (int64_t)*used);
    *used += found.padded;
    memcpy(found.type, type + 1, 3); /* without the order of bytes, which is < or | */
    found.data = file->data + found.offset;
    for (int i = 0; i < n_rules; i++) {
        if (strcmp(rules[i].name, name))
            continue;
        if (file->sections[i].rule)
            REFUSE(ODD "a section that is there twice");
        if (*type != (type[2] == '1' ? '|' : '<'))
            REFUSE(ODD "section $ of type $, expected $", name, type, rules[i].types);
        found.rule = &rules[i];
        file->sections[i] = found;
        return GAPGRAM_OK;
    }
    REFUSE(ODD "an unknown section $", name);
}

/* With AddressSanitizer each section has memory of its own: then a read beside it is seen. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define APART
#endif
#endif

void gapgram_forget_file(struct file *file) {
#ifdef APART
    for (int i = 0; i < MOST_SECTIONS; i++)
        if (file->sections[i].rule && (const uint8_t *)file->sections[i].data != file->data + file->sections[i].offset)
            free((void *)file->sections[i].data);
#endif
}

static void set_apart(struct section *section) {
#ifdef APART
    size_t bytes = (size_t)n_numbers(section) * (size_t)(section->type[1] - '0');
    section->data = memcpy(malloc(bytes), section->data, bytes);
#endif
}

int gapgram_read(struct file *file, const struct rule *rules, int n_rules, int kind, gapgram_error *error) {
    int found, status = gapgram_kind(file->data, file->bytes, &found, error);
    if (status)
        return status;
    if (found != kind)
        REFUSE("holds another kind of contents than was expected");
    uint64_t at = read64(file->data + 16), length = read64(file->data + 24), used = HEADER;
    if (at > file->bytes || at < HEADER || length != file->bytes - at)
        REFUSE(ODD "a table of sections that is not at its end");
    if (length > MOST_TABLE)
        REFUSE(ODD "a table of sections of ~ bytes, at most ~ are read", (int64_t)length, (int64_t)MOST_TABLE);
    if (gapgram_xxh3(file->data + at, length) != read64(file->data + 32))
        REFUSE("damaged: its table of sections does not match its checksum; copy or make it again");
    struct text table = {(const char *)file->data + at, length};
    if (!gapgram_is_json(table))
        REFUSE(ODD "a table of sections that is no JSON, or more than ~ deep", (int64_t)MOST_DEPTH);
    while (table.bytes && strchr(" \t\r\n", *table.at))
        table.at++, table.bytes--;
    file->metadata = gapgram_member(table, "metadata");
    struct text sections = gapgram_member(table, "sections"), one;
    if (!file->metadata.at || *file->metadata.at != '{' || !sections.at || *sections.at != '[')
        REFUSE(ODD "a table of sections without sections or metadata");
    while (gapgram_element(&sections, &one))
        if ((status = take_section(file, one, rules, n_rules, &used, error)))
            return status;
    if (used != at)
        REFUSE(ODD "sections up to byte ~, expected ~", (int64_t)used, (int64_t)at);
    struct sizes sizes = {0};
    for (int i = 0; i < n_rules; i++) {
        const struct section *section = &file->sections[i];
        if (!section->rule && !rules[i].optional)
            REFUSE(ODD "no section $", rules[i].name);
        if (section->rule && (file->bytes <= SMALL_FILE || section->padded <= SMALL_SECTION) &&
            gapgram_xxh3(section->data, section->padded) != section->checksum)
            REFUSE("damaged: its section $ does not match its checksum; copy or make it again", rules[i].name);
        if (section->rule && (status = check_shape(section, &sizes, error)))
            return status;
    }
    for (int i = 0; i < n_rules; i++) {
        struct section *section = &file->sections[i];
        if (section->rule)
            set_apart(section);
        if (section->rule && (!rules[i].large || section->padded <= CHECKED_SECTION))
            if ((status = check_numbers(section, &sizes, error)))
                return status;
    }
    return GAPGRAM_OK;
}

void gapgram_push_array(struct words *words, const struct section *section) {
    gapgram_push(words, (int64_t)(uintptr_t)section->data);
    for (int i = 0; i < section->dimensions; i++)
        gapgram_push(words, section->shape[i]);
}

void gapgram_append(struct words *words, const struct words *more) {
    for (int64_t i = 0; i < more->n; i++)
        gapgram_push(words, more->at[i]);
}
