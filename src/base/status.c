/* status.c -- see status.h. */
#include "base/status.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/utf8.h"

vt_status fail(vt_error *err, vt_status status, const char *format, ...)
{
    if (!err) return status;
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (n < 0) err->text[0] = 0;
    if (n >= (int)sizeof err->text) {       /* cut before a split character */
        size_t end = sizeof err->text - 1;
        while (end > 0 && ((unsigned char)err->text[end - 1] & 0xC0) == 0x80) end--;
        if (end > 0 && (unsigned char)err->text[end - 1] >= 0xC0) end--;
        err->text[end] = 0;
    }
    utf8_plain(err->text, false);       /* one line: names come from files */
    return status;
}

vt_status fail_memory(vt_error *err, size_t bytes, const char *what)
{
    return fail(err, VT_TOO_LARGE, "out of memory: %zu bytes for %s", bytes, what);
}

vt_status status_of(int error_number)
{
    return error_number == ENOMEM ? VT_TOO_LARGE : VT_IO;
}

bool size_mul(size_t a, size_t b, size_t *out)
{
    if (a != 0 && b > SIZE_MAX / a) return false;
    *out = a * b;
    return true;
}

bool size_add(size_t a, size_t b, size_t *out)
{
    if (b > SIZE_MAX - a) return false;
    *out = a + b;
    return true;
}
