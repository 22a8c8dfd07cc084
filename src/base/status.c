/* status.c -- see status.h. */
#include "base/status.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/utf8.h"

static bool continues(char byte) { return ((unsigned char)byte & 0xC0) == 0x80; }

/* What is too long loses its middle, most often a part of a path: what was expected stands
 * at the end.  Cut between characters. */
static void fit(char *text, size_t room, const char *whole, size_t n)
{
    static const char gap[] = " ... ";
    const size_t gap_n = sizeof gap - 1;
    size_t head = (room - gap_n) / 2, tail = n - (room - gap_n - head);
    while (head > 0 && continues(whole[head])) head--;
    while (continues(whole[tail])) tail++;
    memcpy(text, whole, head);
    memcpy(text + head, gap, gap_n);
    memcpy(text + head + gap_n, whole + tail, n - tail + 1);
}

vt_status fail(vt_error *err, vt_status status, const char *format, ...)
{
    if (!err) return status;
    char whole[8192];                   /* two paths, and what is said of them */
    va_list args;
    va_start(args, format);
    if (vsnprintf(whole, sizeof whole, format, args) < 0) whole[0] = 0;
    va_end(args);
    const size_t n = strlen(whole), room = sizeof err->text - 1;
    if (n <= room) memcpy(err->text, whole, n + 1);
    else           fit(err->text, room, whole, n);
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
