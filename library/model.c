/* Models: opened and checked, so that no kernel is led outside of a file; what kernels take of them, as words.

   A model file's lattice is a list of patterns such as `full 1 11 101 111 2 22`: digits say which words are kept, the
   last one is the word predicted, and 2 to 9 are patterns of classes. */

#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include "internal.h"

#ifdef _WIN32
#include <windows.h>
#elif !defined __wasm__
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

enum { MOST_ORDER = 16, MOST_BACKOFF_ORDER = 64, MOST_PATTERNS = 1 << 12, SMALL_GRAMS = 1 << 16 };
#define ODD "not as gapgram writes it: "
#define REFUSE(...) return gapgram_fail(error, GAPGRAM_WRONG_FILE, __VA_ARGS__)

static int no_memory(gapgram_error *error) {
    return gapgram_fail(error, GAPGRAM_NO_MEMORY, "not enough memory");
}

int gapgram_call(code *kernel, const struct words *words, int64_t *results, gapgram_error *error) {
    if (!kernel)
        return gapgram_fail(error, GAPGRAM_NOT_POSSIBLE, "models of this kind cannot be asked that");
    return kernel(words->at, results) ? no_memory(error) : GAPGRAM_OK;
}

int gapgram_call_brief(code *kernel, const struct words *words, int64_t *results, gapgram_error *error, char *arena) {
    gapgram_arena = (struct arena){arena, arena, arena + ARENA_BYTES};
    int status = gapgram_call(kernel, words, results, error);
    gapgram_arena = (struct arena){0, 0, 0};
    return status;
}

/* What a kernel found to be wrong, as a sentence: in the form, {name} stands for a number. */
static int fault(const char *form, const int64_t *fault, gapgram_error *error) {
    const char *names[] = {"{pattern}", "{column}", "{found}", "{expected}"};
    char made[200];
    int64_t numbers[4] = {0};
    size_t n = 0, used = 0;
    while (*form && n + 1 < sizeof made) {
        int named = -1;
        for (int i = 0; i < 4; i++)
            if (!strncmp(form, names[i], strlen(names[i])))
                named = i;
        if (named >= 0) {
            numbers[used++] = fault[1 + named];
            form += strlen(names[named]);
        }
        made[n++] = named >= 0 ? '~' : *form++;
    }
    made[n] = 0;
    char whole[260] = ODD;
    strcat(whole, made);
    REFUSE(whole, numbers[0], numbers[1], numbers[2], numbers[3]);
}

/* The patterns that a lattice stores: those named, all their tails and the contiguous ones of each kind, in order. */
static int take_lattice(gapgram_model *model, gapgram_error *error) {
    struct text metadata = model->file.metadata, lattice = gapgram_member(metadata, "lattice");
    uint64_t order;
    if (!gapgram_whole(gapgram_member(metadata, "order"), &order) || order < 1 || order > MOST_ORDER)
        REFUSE(ODD "an order that is not one from 1 to ~", (int64_t)MOST_ORDER);
    if (!lattice.at || *lattice.at != '"')
        REFUSE(ODD "no lattice");
    model->order = (int32_t)order;
    uint8_t *is_stored = calloc(9, (size_t)1 << (order - 1));
    if (!is_stored)
        return no_memory(error);
    int64_t kinds = 0, n = 0, size = (int64_t)1 << (order - 1), odd = 0;
    const char *end = lattice.at + lattice.bytes - 1, *p = memchr(lattice.at, ' ', lattice.bytes);
    is_stored[0] = 1;
    while (p && p < end) {
        for (; p < end && *p == ' '; p++)
            ;
        const char *begin = p;
        for (; p < end && *p != ' '; p++)
            ;
        int64_t mask = 0, last = p > begin ? p[-1] - '0' : 0;
        for (const char *digit = begin; digit < p; digit++) {
            odd |= *digit != '0' && *digit - '0' != last;
            mask = mask << 1 | (*digit != '0');
        }
        mask >>= 1;
        if (begin < p && (odd || last < 1 || last > 9 || p - begin > MOST_ORDER || mask >= size)) {
            free(is_stored);
            REFUSE(ODD "a pattern that no lattice of this order has");
        }
        for (int64_t shorter = mask; begin < p; shorter >>= 1) { /* it, and its tails */
            is_stored[(last - 1) * size + shorter] = 1;
            kinds = last > kinds ? last : kinds;
            if (!shorter)
                break;
            while (!(shorter & 1))
                shorter >>= 1;
        }
    }
    for (int64_t kind = 0; kind < (kinds ? kinds : 1); kind++)
        for (int64_t k = 0; k < (int64_t)order; k++)
            is_stored[kind * size + ((int64_t)1 << k) - 1] = 1;
    for (int64_t i = 0; i < 9 * size; i++)
        n += is_stored[i];
    model->patterns = n <= MOST_PATTERNS ? malloc((size_t)n * 16) : 0;
    for (int64_t i = 0, at = 0; i < 9 * size && model->patterns; i++)
        if (is_stored[i]) {
            model->patterns[at++] = i % size;
            model->patterns[at++] = i / size;
        }
    free(is_stored);
    if (!model->patterns)
        return n > MOST_PATTERNS ? gapgram_fail(error, GAPGRAM_WRONG_FILE, ODD "~ patterns", n) : no_memory(error);
    model->n_patterns = (int32_t)n;
    return GAPGRAM_OK;
}

int gapgram_fill_slots(gapgram_model *model, gapgram_error *error) {
    struct words words = {0};
    gapgram_push_pointer(&words, model->slots, model->n_slots);
    gapgram_push_pointer(&words, model->pool, model->pool_bytes);
    gapgram_push_pointer(&words, model->offsets, model->n_words + 1);
    gapgram_push(&words, model->n_words);
    gapgram_push(&words, 0);
    return gapgram_call(model->kernels->fill_slots, &words, 0, error);
}

/* The words: where each begins, and the hash table, made here where the file has but their lengths. */
static int take_words(gapgram_model *model, const struct section *pool, const struct section *offsets, const struct section *slots, const struct section *lengths, gapgram_error *error) {
    int64_t n = (offsets->rule ? offsets->shape[0] - 1 : lengths && lengths->rule ? lengths->shape[0] : -1), n_slots = 16;
    if (n < 3 || n >= INT32_MAX / 2 || (offsets->rule && !slots->rule))
        REFUSE(ODD "a vocabulary without its words, or of too many");
    while (n_slots <= 2 * n)
        n_slots *= 2;
    model->n_words = (int32_t)n;
    model->pool = pool->data;
    model->pool_bytes = pool->shape[0];
    model->n_slots = n_slots;
    if (offsets->rule) {
        model->offsets = (int64_t *)offsets->data;
        model->slots = (int64_t *)slots->data;
        if (slots->shape[0] != n_slots)
            REFUSE(ODD "~ slots for ~ words, expected ~", slots->shape[0], n, n_slots);
        int64_t used = 0;
        for (int64_t i = 0; i < n_slots; i++) {
            used += model->slots[i] >= 0;
            if (model->slots[i] >= 0 && (model->slots[i] & 0xffffffff) >= n)
                REFUSE(ODD "a slot of a word that is not there");
        }
        if (used != n)
            REFUSE(ODD "a slot of a word that is not there");
    } else {
        model->own_words = 1;
        model->offsets = malloc((size_t)(n + 1) * 8);
        model->slots = malloc((size_t)n_slots * 8);
        if (!model->offsets || !model->slots)
            return no_memory(error);
        const void *data = lengths->data;
        model->offsets[0] = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t length = lengths->type[1] == '1' ? ((const uint8_t *)data)[i]
                             : lengths->type[1] == '2' ? ((const uint16_t *)data)[i] : ((const uint32_t *)data)[i];
            model->offsets[i + 1] = model->offsets[i] + length;
        }
    }
    for (int64_t i = 0; i < n; i++)
        if (model->offsets[i + 1] < model->offsets[i] || model->offsets[i + 1] > model->pool_bytes)
            REFUSE(ODD "words of more bytes than there are");
    if (model->offsets[0] || model->offsets[n] != model->pool_bytes || model->pool_bytes < 12 || memcmp(model->pool, "<unk><s></s>", 12) ||
        model->offsets[1] != 5 || model->offsets[2] != 8 || model->offsets[3] != 12)
        REFUSE(ODD "a vocabulary that does not begin with <unk> <s> </s>");
    if (!model->own_words)
        return GAPGRAM_OK;
    return gapgram_fill_slots(model, error);
}

/* The words of the bundle ModelArrays, in the order of `kernels.tables.model_arrays`. */
static void push_model(const gapgram_model *model, struct words *words) {
    const struct section *sections = model->file.sections;
    for (int i = 0; i < N_MODEL_SECTIONS; i++) {
        const struct section *section = &sections[model_sections[i]];
        if (model_sections[i] == SECTION_packed && !section->rule)
            gapgram_push(words, 0); /* None */
        else if (model_sections[i] == SECTION_packed_places && !section->rule)
            for (int zero = 0; zero < 3; zero++)
                gapgram_push(words, zero == 2 ? N_PACKED_COLUMNS : 0);
        else
            gapgram_push_array(words, section);
        if (model_sections[i] == SECTION_packed_places) { /* the tables end here */
            gapgram_push(words, model->order);
            gapgram_push_double(words, 1.0 / (double)(model->n_words - 1));
        }
    }
}

static int64_t place(const gapgram_model *model, int64_t p, int column) {
    return ((const int64_t *)CONTENTS(model, places).data)[p * N_COLUMNS + column];
}

static int check_model(gapgram_model *model, gapgram_error *error) {
    struct words words = {0}, tables = {0};
    int64_t results[8];
    push_model(model, &model->model);
    tables.n = N_TABLE_WORDS - (CONTENTS(model, packed).rule ? 0 : 1);
    memcpy(tables.at, model->model.at, (size_t)tables.n * 8);
    gapgram_push_pointer(&words, model->patterns, model->n_patterns);
    gapgram_push(&words, 2);
    gapgram_append(&words, &tables);
    gapgram_push(&words, model->n_words);
    gapgram_push(&words, model->n_classes);
    int status = gapgram_call(model->kernels->fault_of_structure, &words, results, error);
    if (status || results[0])
        return status ? status : fault(structure_faults[results[0]], results, error);
    for (int64_t p = 0; p < model->n_patterns; p++)
        model->n_grams += place(model, p, N_GRAMS);
    words = model->model;
    gapgram_push(&words, model->n_classes);
    gapgram_push(&words, model->n_grams <= SMALL_GRAMS);
    status = gapgram_call(model->kernels->fault_of_numbers, &words, results, error);
    return status || !results[0] ? status : fault(number_faults[results[0]], results, error);
}

/* The plan of states, the arguments of steps, and the states to begin with. */
static int take_plan(gapgram_model *model, gapgram_error *error) {
    int64_t results[32], largest = 0, *r = results;
    int status = gapgram_call(model->kernels->is_quick, &model->model, results, error);
    model->is_quick = (int32_t)results[0];
    if (status || (status = gapgram_call(model->kernels->plan_of, &model->model, results, error)))
        return status;
    for (int i = 0; i < 4; i++) { /* slots, reader_base, readers, spans */
        model->heads[i] = (void *)(uintptr_t)*r++;
        for (int j = 0; j < (i ? 2 : 3); j++)
            gapgram_push(&model->plan, *r++);
    }
    int64_t n_slots = results[2], gated = *r++, forgetful = *r++;
    gapgram_push(&model->plan, gated);
    gapgram_push(&model->plan, forgetful);
    for (int64_t p = 0; p < model->n_patterns; p++)
        largest = place(model, p, N_GRAMS) > largest ? place(model, p, N_GRAMS) : largest;
    model->heads[4] = (void *)(uintptr_t)r[0];
    model->width = (int32_t)(1 + (gated ? model->order - 1 : 0) + n_slots);
    model->key_bytes = largest < (int64_t)1 << 31 ? 4 : 8;
    model->step = model->plan;
    for (int i = 1; model->is_quick && i < 4; i++) /* of each pattern its slot and reader */
        gapgram_push(&model->step, r[i]);
    gapgram_append(&model->step, &model->model);
    gapgram_push_pointer(&model->step, model, 0); /* an array of none */
    gapgram_push(&model->step, model->width);
    uint8_t *null = model->null_state = calloc(2, gapgram_state_bytes(model));
    if (!null)
        return no_memory(error);
    memset(null + (model->width - n_slots) * model->key_bytes, 0xff, (size_t)n_slots * (size_t)model->key_bytes);
    return GAPGRAM_OK;
}

static int take_model(gapgram_model *model, gapgram_error *error) {
    int status = gapgram_read(&model->file, model_rules, N_SECTIONS, KIND_MODEL, error);
    if (status)
        return status;
    if (CONTENTS(model, unbounded_text).rule)
        REFUSE("holds its training text, which this library does not know: train without --unbounded");
    model->kernels = &gapgram_kernels[gapgram_can_run(4)][CONTENTS(model, packed).rule != 0];
    struct text names = gapgram_member(model->file.metadata, "classes"), one;
    while (gapgram_element(&names, &one))
        model->n_classes++;
    const struct section *words = &CONTENTS(model, words);
    if ((status = take_words(model, words, &CONTENTS(model, word_offsets), &CONTENTS(model, word_slots), &CONTENTS(model, word_lengths), error)) ||
        (status = take_lattice(model, error)) || (status = check_model(model, error)))
        return status;
    gapgram_append(&model->score_line, &model->model);
    return take_plan(model, error);
}

static int take_backoff(gapgram_model *model, gapgram_error *error) {
    int status = gapgram_read(&model->file, backoff_rules, N_BACKOFF_SECTIONS, KIND_BACKOFF, error);
    if (status)
        return status;
    const struct section *s = model->file.sections, *base = &s[BACKOFF_base], *children = &s[BACKOFF_children];
    int64_t order = base->shape[0] - 1, *b = (int64_t *)base->data, n_contexts = children->shape[0] - 1;
    int is_single = s[BACKOFF_log10_probs].type[1] == '4'; /* as KenLM has figures */
    model->kernels = &gapgram_kernels[gapgram_can_run(4)][2 * is_single + (children->type[1] == '4')];
    status = take_words(model, &s[BACKOFF_words], &s[BACKOFF_word_offsets], &s[BACKOFF_word_slots], 0, error);
    if (status)
        return status;
    if (order < 1 || order > MOST_BACKOFF_ORDER || b[1] != model->n_words || b[order - 1] != n_contexts)
        REFUSE(ODD "grams that do not fit the words");
    if (s[BACKOFF_log10_backoffs].type[1] != s[BACKOFF_log10_probs].type[1])
        REFUSE(ODD "probabilities and backoffs of different types");
    model->order = (int32_t)order;
    model->n_grams = s[BACKOFF_grams].shape[0];
    gapgram_push(&model->model, order);
    for (int i = 0; i < 4; i++)
        gapgram_push_array(&model->model, &s[(int[]){BACKOFF_grams, BACKOFF_children, BACKOFF_log10_probs, BACKOFF_log10_backoffs}[i]]);
    gapgram_append(&model->score_line, &model->model);
    model->key_bytes = model->n_grams < (int64_t)1 << 31 ? 4 : 8;
    model->width = model->order + 1;
    model->step = model->model;
    gapgram_push_pointer(&model->step, model, 0);
    model->null_state = calloc(2, gapgram_state_bytes(model));
    return model->null_state ? GAPGRAM_OK : no_memory(error);
}

int gapgram_take(gapgram_model *model, int depth, int *n_models, gapgram_error *error) {
    int status = gapgram_kind(model->file.data, model->file.bytes, &model->kind, error);
    if (status)
        return status;
    if (!gapgram_can_run(3))
        return gapgram_fail(error, GAPGRAM_NOT_POSSIBLE, "this library was built for processors with AVX2 (since 2013)");
    if (model->kind == KIND_MODEL)
        status = take_model(model, error);
    else if (model->kind == KIND_BACKOFF)
        status = take_backoff(model, error);
    else if (model->kind == KIND_MIXTURE)
        status = gapgram_take_mixture(model, depth, n_models, error);
    else
        REFUSE("holds $, not a model", model->kind == KIND_COUNTS ? "counts" : model->kind == KIND_SESSION ? "a session" : "something else");
    if (status)
        return status;
    gapgram_push_pointer(&model->score_line, model->slots, model->n_slots);
    gapgram_push_pointer(&model->score_line, model->pool, model->pool_bytes);
    gapgram_push_pointer(&model->score_line, model->offsets, model->n_words + 1);
    model->signature = gapgram_xxh3(model->file.data + 16, 32); /* where the table is, and its checksum */
    uint8_t *null = model->null_state;
    double score;
    return gapgram_step(model, null, GAPGRAM_BEGIN, null + gapgram_state_bytes(model), &score, 0, error);
}

static int begin(gapgram_model **out, gapgram_error *error) {
    if (error)
        *error = (gapgram_error){0, ""};
    if (!out)
        return gapgram_fail(error, GAPGRAM_WRONG_ARGUMENT, "null in the place of where the model goes");
    *out = calloc(1, sizeof **out);
    return *out ? GAPGRAM_OK : no_memory(error);
}

static int end(gapgram_model **out, int status) {
    if (status) {
        gapgram_close(*out);
        *out = 0;
    }
    return status;
}

int gapgram_open_memory(const void *data, size_t bytes, gapgram_model **out, gapgram_error *error) {
    int n_models = 0, status = begin(out, error);
    if (status)
        return status;
    if (!data || (uintptr_t)data % 8)
        return end(out, gapgram_fail(error, GAPGRAM_WRONG_ARGUMENT, "memory that begins at no multiple of 8, or null"));
    (*out)->file.data = data;
    (*out)->file.bytes = bytes;
    return end(out, gapgram_take(*out, 0, &n_models, error));
}

#ifdef _WIN32
static void *mapped(const char *path, uint64_t *bytes) {
    wchar_t wide[1024];
    LARGE_INTEGER size;
    void *data = 0;
    if (!MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, 1024))
        return 0;
    HANDLE file = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ, 0, OPEN_EXISTING, 0, 0);
    if (file == INVALID_HANDLE_VALUE)
        return 0;
    HANDLE map = GetFileSizeEx(file, &size) && size.QuadPart ? CreateFileMappingW(file, 0, PAGE_READONLY, 0, 0, 0) : 0;
    if (map) {
        data = MapViewOfFile(map, FILE_MAP_READ, 0, 0, 0);
        CloseHandle(map);
    }
    CloseHandle(file);
    *bytes = (uint64_t)size.QuadPart;
    return data;
}

static void unmap(void *data, uint64_t bytes) {
    UnmapViewOfFile(data);
}
#elif !defined __wasm__
static void *mapped(const char *path, uint64_t *bytes) {
    struct stat about;
    void *data = MAP_FAILED;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* which does not wait for a pipe */
    if (file >= 0 && !fstat(file, &about) && S_ISREG(about.st_mode) && about.st_size > 0)
        data = mmap(0, *bytes = (uint64_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0)
        close(file);
    return data == MAP_FAILED ? 0 : data;
}

static void unmap(void *data, uint64_t bytes) {
    munmap(data, bytes);
}
#endif

#ifndef __wasm__
int gapgram_open(const char *path, gapgram_model **out, gapgram_error *error) {
    int n_models = 0, status = begin(out, error);
    if (status)
        return status;
    if (!path)
        return end(out, gapgram_fail(error, GAPGRAM_WRONG_ARGUMENT, "null in the place of a path"));
    (*out)->file.data = (*out)->mapped = mapped(path, &(*out)->file.bytes);
    if (!(*out)->mapped)
        return end(out, gapgram_fail(error, GAPGRAM_NO_FILE, "$: no such file, an empty one, or one that cannot be read", path));
    status = gapgram_take(*out, 0, &n_models, error);
    if (status && error) {
        gapgram_error said = *error;
        gapgram_fail(error, status, "$: $", path, said.sentence);
    }
    return end(out, status);
}
#endif

void gapgram_close(gapgram_model *model) {
    if (!model)
        return;
    for (int i = 0; i < MOST_HEADS; i++)
        if (model->heads[i])
            gapgram_release(model->heads[i]);
#ifndef __wasm__
    if (model->mapped)
        unmap(model->mapped, model->file.bytes);
#endif
    if (model->own_words) {
        free(model->offsets);
        free(model->slots);
    }
    gapgram_close_parts(model);
    gapgram_forget_file(&model->file);
    free(model->patterns);
    free(model->null_state);
    free(model->block_counts);
    free(model->ranking);
    free(model);
}
