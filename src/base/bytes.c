/* bytes.c -- see bytes.h. */
#include "base/bytes.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bytes_free(bytes *b)
{
    free(b->data);
    memset(b, 0, sizeof *b);
}

vt_status bytes_room(bytes *b, size_t n, vt_error *err)
{
    size_t need;
    if (!size_add(b->len, n, &need) || !size_add(need, 1, &need))
        return fail(err, VT_TOO_LARGE, "a text of %zu bytes and %zu more is too large", b->len, n);
    if (need <= b->cap) return VT_OK;
    size_t cap = b->cap > SIZE_MAX / 2 ? need : b->cap * 2;
    if (cap < need) cap = need;
    if (cap < 64) cap = 64;
    unsigned char *data = realloc(b->data, cap);
    if (!data) return fail_memory(err, cap, "a text");
    b->data = data;
    b->cap = cap;
    return VT_OK;
}

vt_status bytes_append(bytes *b, const void *data, size_t n, vt_error *err)
{
    const vt_status status = bytes_room(b, n, err);
    if (status != VT_OK) return status;
    if (n > 0) memcpy(b->data + b->len, data, n);
    b->len += n;
    b->data[b->len] = 0;
    return VT_OK;
}

vt_status bytes_printf(bytes *b, vt_error *err, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    vt_status status = VT_OK;
    if (n < 0) status = fail(err, VT_TOO_LARGE, "a formatted text is too large");
    else status = bytes_room(b, (size_t)n, err);
    if (status == VT_OK) {
        vsnprintf((char *)b->data + b->len, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
    return status;
}
