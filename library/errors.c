/* Sentences about what went wrong, without the C library's formats. */

#include <stdarg.h>
#include "internal.h"

static size_t put(char *out, size_t n, size_t room, const char *text) {
    for (; *text && n + 1 < room; text++)
        out[n++] = *text;
    return n;
}

/* A number as it is written: 1,234,567. */
static size_t put_number(char *out, size_t n, size_t room, int64_t number) {
    char digits[32], *p = digits + sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    *--p = 0;
    for (int i = 0; left || !i; i++, left /= 10) {
        if (i && i % 3 == 0)
            *--p = ',';
        *--p = (char)('0' + left % 10);
    }
    if (number < 0)
        *--p = '-';
    return put(out, n, room, p);
}

int gapgram_fail(gapgram_error *error, int code, const char *form, ...) {
    if (!error)
        return code;
    va_list given;
    size_t n = 0, room = sizeof error->sentence;
    va_start(given, form);
    for (; *form; form++) {
        char one[2] = {*form, 0};
        if (*form == '~')
            n = put_number(error->sentence, n, room, va_arg(given, int64_t));
        else
            n = put(error->sentence, n, room, *form == '$' ? va_arg(given, const char *) : one);
    }
    va_end(given);
    error->sentence[n] = 0;
    error->code = code;
    return code;
}
