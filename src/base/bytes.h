/* bytes.h -- a growing array of bytes. */
#ifndef BYTES_H
#define BYTES_H

#include "base/status.h"

/* Grows by bytes_append and bytes_printf from a zeroed one.  Once anything was
 * appended or read, a NUL that is not counted follows data[len - 1]. */
typedef struct bytes {
    unsigned char *data;
    size_t         len, cap;
} bytes;

void bytes_free(bytes *b);                                  /* and zeroes *b */
/* Room for n more bytes and a NUL. */
VT_MUST_CHECK vt_status bytes_room(bytes *b, size_t n, vt_error *err);
VT_MUST_CHECK vt_status bytes_append(bytes *b, const void *data, size_t n, vt_error *err);
VT_PRINTF(3, 4) VT_MUST_CHECK
vt_status bytes_printf(bytes *b, vt_error *err, const char *format, ...);

#endif
