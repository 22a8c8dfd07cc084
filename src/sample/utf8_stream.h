/* utf8_stream.h -- the bytes of tokens to text that a terminal can show.
 *
 * A token may end inside a character.  The stream holds the begun character
 * back until its last byte is there.  Bytes that can be no character become
 * U+FFFD, one for each maximal subpart; a character still incomplete at the
 * end becomes one.  So what comes out, put together, is the whole text
 * decoded at once, however it was cut.
 */
#ifndef UTF8_STREAM_H
#define UTF8_STREAM_H

#include "base/io.h"

typedef struct utf8_stream {            /* begins zeroed */
    unsigned char held[4];              /* a begun character */
    size_t        n;                    /* 0..3 bytes of it */
} utf8_stream;

/* Appends to *out what is complete. */
VT_MUST_CHECK vt_status utf8_stream_push(utf8_stream *s, const void *data, size_t n, bytes *out,
                                         vt_error *err);
/* Appends what is left; the stream is then as new. */
VT_MUST_CHECK vt_status utf8_stream_end(utf8_stream *s, bytes *out, vt_error *err);

#endif
