/* slice.h -- bytes that belong to somebody else: a document, a field, a word. */
#ifndef SLICE_H
#define SLICE_H

#include <stddef.h>

typedef struct slice {
    const unsigned char *data;      /* not ended by a NUL; may hold any byte */
    size_t               len;
} slice;

#endif
