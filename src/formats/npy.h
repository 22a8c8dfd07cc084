/* npy.h -- the header of one array in NumPy's .npy format.
 *
 *     6 bytes      "\x93NUMPY"
 *     2 bytes      version: 1.0, 2.0 or 3.0
 *     2 or 4       N, the header's length, little-endian: 2 bytes in 1.0, else 4
 *     N bytes      a Python dict, then spaces and a newline:
 *                  {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }
 *     the rest     the elements, last dimension fastest, or the first where
 *                  fortran_order is True
 *
 * The dict is read by a strict parser of its own: the three keys, each once, in
 * any order; nothing is evaluated.  Types are bool, integers of 1 to 8 bytes and
 * floats of 2, 4 and 8, in both byte orders.
 *
 * What it does not do: Python objects, text, records, complex numbers, dates;
 * each is refused by its name.
 *
 * Reference: numpy.lib.format ("NEP 1: A simple file format for NumPy arrays").
 */
#ifndef NPY_H
#define NPY_H

#include "formats/safetensors.h"

enum {
    NPY_PRELUDE = 12,           /* bytes that npy_header_bytes() needs: 10 in 1.0 */
    NPY_ALIGN = 64              /* of our headers, as NumPy's */
};
/* The most bytes before the data; NumPy's own reader takes 10000. */
#define NPY_HEADER_MAX ((size_t)1 << 16)

typedef struct npy_header {
    st_dtype dtype;
    bool     big_endian, fortran_order;
    size_t   rank, shape[ST_RANK_MAX];
    size_t   begin;             /* bytes before the data */
    size_t   nbytes;            /* of the data */
} npy_header;

/* Whether p[0..n-1] begins as an .npy does. */
bool npy_is(const unsigned char *p, size_t n);

/* The bytes before the data into *begin, from the first n (NPY_PRELUDE, or all
 * there are): at most NPY_HEADER_MAX.  `where` opens the message. */
VT_MUST_CHECK vt_status npy_header_bytes(size_t *begin, const unsigned char *p, size_t n,
                                         const char *where, vt_error *err);
/* From those bytes, exactly. */
VT_MUST_CHECK vt_status npy_parse(npy_header *h, const unsigned char *p, size_t begin,
                                  const char *where, vt_error *err);

/* Appends the header of a row-major, little-endian array; its length is a
 * multiple of NPY_ALIGN.  VT_BAD_INPUT for a type that NumPy has not. */
VT_MUST_CHECK vt_status npy_append_header(bytes *out, const st_item *item, vt_error *err);

#endif
