/* The table of contents of a file: JSON of at most MOST_DEPTH lists and objects in each other. A text is looked through
   once, whole; after that values are pieces of it, found again by looking. */

#include <locale.h>
#include "internal.h"

static const char *past_space(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

static int is_digit(const char *p, const char *end) {
    return p < end && *p >= '0' && *p <= '9';
}

static const char *past_string(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++) {
        if ((unsigned char)*p < 32)
            return 0;
        if (*p != '\\')
            continue;
        if (++p >= end || !strchr("\"\\/bfnrtu", *p))
            return 0;
        for (int i = 0; *p == 'u' && i < 4; i++)
            if (p + 1 + i >= end || !strchr("0123456789abcdefABCDEF", p[1 + i]) || !p[1 + i])
                return 0;
    }
    return p < end ? p + 1 : 0;
}

static const char *past_number(const char *p, const char *end) {
    p += p < end && *p == '-';
    if (!is_digit(p, end) || (*p == '0' && is_digit(p + 1, end)))
        return 0;
    while (is_digit(p, end))
        p++;
    if (p < end && *p == '.') {
        if (!is_digit(++p, end))
            return 0;
        while (is_digit(p, end))
            p++;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '+' || *p == '-');
        if (!is_digit(p, end))
            return 0;
        while (is_digit(p, end))
            p++;
    }
    return p;
}

/* Where a value ends, and white space after it; null where there is none. */
static const char *past_value(const char *p, const char *end, int depth) {
    p = past_space(p, end);
    if (p >= end)
        return 0;
    if (*p == '"') {
        p = past_string(p, end);
    } else if (*p == '[' || *p == '{') {
        char close = *p == '[' ? ']' : '}';
        if (depth == MOST_DEPTH)
            return 0;
        p = past_space(p + 1, end);
        for (int first = 1; p && (p >= end || *p != close || !first); first = 0) {
            if (p < end && close == '}') {
                p = *p == '"' ? past_string(p, end) : 0;
                p = p ? past_space(p, end) : 0;
                p = p && p < end && *p == ':' ? p + 1 : 0;
            }
            p = p ? past_value(p, end, depth + 1) : 0;
            if (!p || p >= end)
                return 0;
            if (*p == close)
                break;
            p = *p == ',' ? past_space(p + 1, end) : 0;
        }
        p = p ? p + 1 : 0;
    } else if (*p == '-' || is_digit(p, end)) {
        p = past_number(p, end);
    } else {
        const char *names[] = {"true", "false", "null"}, *found = 0;
        for (int i = 0; i < 3; i++)
            if ((size_t)(end - p) >= strlen(names[i]) && !memcmp(p, names[i], strlen(names[i])))
                found = p + strlen(names[i]);
        p = found;
    }
    return p ? past_space(p, end) : 0;
}

int gapgram_is_json(struct text text) {
    const char *end = text.at + text.bytes;
    return past_value(text.at, end, 0) == end;
}

static struct text trimmed(const char *p, const char *end) {
    p = past_space(p, end);
    while (end > p && strchr(" \t\n\r", end[-1]) && end[-1])
        end--;
    return (struct text){p, (size_t)(end - p)};
}

struct text gapgram_member(struct text object, const char *name) {
    struct text found = {0, 0};
    const char *end = object.at + object.bytes;
    if (!object.at || !object.bytes || *object.at != '{')
        return found;
    for (const char *p = past_space(object.at + 1, end); *p == '"';) {
        const char *key = p + 1, *value = past_string(p, end);
        size_t bytes = (size_t)(value - 1 - key);
        value = past_space(past_space(value, end) + 1, end);
        p = past_value(value, end, 0);
        if (bytes == strlen(name) && !memcmp(key, name, bytes))
            found = trimmed(value, p); /* of several the last */
        if (*p == ',')
            p = past_space(p + 1, end);
    }
    return found;
}

int gapgram_element(struct text *rest, struct text *element) {
    if (!rest->at || !rest->bytes || !strchr("[,", *rest->at))
        return 0;
    const char *end = rest->at + rest->bytes, *p = past_space(rest->at + 1, end);
    if (*p == ']')
        return 0;
    const char *past = past_value(p, end, 0);
    *element = trimmed(p, past);
    *rest = (struct text){past, (size_t)(end - past)};
    return 1;
}

int gapgram_whole(struct text value, uint64_t *number) {
    *number = 0;
    if (!value.at || !value.bytes || value.bytes > 20)
        return 0;
    for (size_t i = 0; i < value.bytes; i++) {
        uint64_t digit = (uint64_t)(value.at[i] - '0');
        if (digit > 9 || *number > (UINT64_MAX - digit) / 10)
            return 0;
        *number = *number * 10 + digit;
    }
    return 1;
}

int gapgram_real(struct text value, double *number) {
    char digits[40];
    if (!value.at || !value.bytes || value.bytes >= sizeof digits || !(*value.at == '-' || is_digit(value.at, value.at + 1)))
        return 0;
    memcpy(digits, value.at, value.bytes);
    digits[value.bytes] = 0;
#ifndef __wasm__
    char *point = strchr(digits, '.');
    if (point)
        *point = *localeconv()->decimal_point; /* as `strtod` wants it here */
#endif
    *number = strtod(digits, 0);
    return *number >= -1e300 && *number <= 1e300;
}

static size_t put_utf8(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    out[0] = (char)((0xff00 >> (more + 1) & 0xff) | c >> 6 * more);
    for (int i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return (size_t)more + 1;
}

static uint32_t hex(const char *p) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = value << 4 | (uint32_t)(p[i] <= '9' ? p[i] - '0' : (p[i] | 32) - 'a' + 10);
    return value;
}

int gapgram_string(struct text value, char *out, size_t room) {
    size_t n = 0;
    if (!value.at || value.bytes < 2 || *value.at != '"')
        return -1;
    for (const char *p = value.at + 1, *end = value.at + value.bytes - 1; p < end; p++) {
        if (n + 5 > room)
            return -1;
        if (*p != '\\') {
            out[n++] = *p;
            continue;
        }
        const char *from = "bfnrt", *to = "\b\f\n\r\t", *known = strchr(from, *++p);
        if (*p == 'u') {
            uint32_t c = hex(p + 1);
            p += 4;
            if (c >> 10 == 0x36 && end - p > 6 && p[1] == '\\' && p[2] == 'u' && hex(p + 3) >> 10 == 0x37) {
                c = 0x10000 + ((c & 0x3ff) << 10 | (hex(p + 3) & 0x3ff));
                p += 6;
            }
            n += put_utf8(out + n, c >> 11 == 0x1b ? 0xfffd : c); /* half a character is none */
        } else {
            out[n++] = known ? to[known - from] : *p;
        }
    }
    out[n] = 0;
    return (int)n;
}
