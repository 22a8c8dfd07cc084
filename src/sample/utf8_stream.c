/* utf8_stream.c -- see utf8_stream.h. */
#include "sample/utf8_stream.h"
#include <string.h>
#include "base/utf8.h"

static vt_status replacement(bytes *out, vt_error *err)
{
    return bytes_append(out, UTF8_REPLACEMENT, UTF8_REPLACEMENT_LEN, err);
}

/* Gives the held character its next bytes, until it is whole or broken; a byte
 * that breaks it is not taken.  Returns how many were taken. */
static size_t complete(utf8_stream *s, const unsigned char *p, size_t n, bytes *out,
                       vt_status *status, vt_error *err)
{
    size_t taken = 0, used;
    while (s->n > 0 && taken < n) {
        s->held[s->n] = p[taken];
        const utf8_kind kind = utf8_next(s->held, s->n + 1, &used, NULL);
        if (kind != UTF8_BAD) {
            s->n++;
            taken++;
        }
        if (kind == UTF8_CUT) continue;
        *status = kind == UTF8_GOOD ? bytes_append(out, s->held, s->n, err)
                                    : replacement(out, err);
        s->n = 0;
    }
    return taken;
}

vt_status utf8_stream_push(utf8_stream *s, const void *data, size_t n, bytes *out, vt_error *err)
{
    const unsigned char *p = data;
    vt_status status = VT_OK;
    size_t i = complete(s, p, n, out, &status, err), run = i;
    while (i < n && status == VT_OK) {
        size_t used;
        const utf8_kind kind = utf8_next(p + i, n - i, &used, NULL);
        if (kind == UTF8_GOOD) {
            i += used;
            continue;
        }
        status = bytes_append(out, p + run, i - run, err);
        if (kind == UTF8_CUT) {
            memcpy(s->held, p + i, used);
            s->n = used;
        } else if (status == VT_OK) {
            status = replacement(out, err);
        }
        i += used;
        run = i;
    }
    if (status == VT_OK && run < i) status = bytes_append(out, p + run, i - run, err);
    return status;
}

vt_status utf8_stream_end(utf8_stream *s, bytes *out, vt_error *err)
{
    const bool begun = s->n > 0;
    s->n = 0;
    return begun ? replacement(out, err) : VT_OK;
}
