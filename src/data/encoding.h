/* encoding.h -- is a file text in UTF-8, and what is it where it is not? */
#ifndef ENCODING_H
#define ENCODING_H

#include "base/bytes.h"
#include "base/status.h"

typedef struct encoding_bad {
    size_t count;           /* sequences that are no UTF-8 */
    size_t line, at;        /* where the first is: line, from 1, and byte offset */
} encoding_bad;

/* VT_BAD_INPUT: UTF-16 or 32, compressed, an archive, a NUL byte in it (all by place or
 * by name, with what makes text of it); other bytes that are no UTF-8, but not with
 * `replace`, which counts them. */
VT_MUST_CHECK vt_status encoding_check(encoding_bad *out, const bytes *b, bool replace,
                                       const char *name, vt_error *err);

#endif
