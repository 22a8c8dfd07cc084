/* safetensors.h -- named tensors in one file.
 *
 *     8 bytes      N, the header's length, little-endian
 *     N bytes      JSON: {"__metadata__": {"key": "text", ...},
 *                         "name": {"dtype": "F32", "shape": [2, 3],
 *                                  "data_offsets": [begin, end]}, ...}
 *     the rest     the tensors' bytes, row-major, little-endian; offsets count
 *                  from here, and the ranges tile it without gap or overlap
 *
 * Reading takes its input as hostile: nothing is allocated from a length that
 * was not checked against the file, and every fault is one line that names the
 * file, the tensor and the byte.  Data may stand at any address (the format
 * promises no alignment), so values are copied out, never cast in place.
 *
 * Writing keeps the order of the items, in the header and in the data; the
 * header is padded with spaces to a multiple of 8.  The bytes depend on nothing
 * but the arguments.
 *
 * Reference: github.com/huggingface/safetensors, "Format".
 */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H

#include "base/io.h"

enum { ST_RANK_MAX = 8 };
/* The most bytes of a header; the format's reference reader has this limit. */
#define ST_HEADER_MAX ((size_t)100000000)

typedef enum st_dtype {
    ST_BOOL, ST_U8, ST_I8, ST_F8_E5M2, ST_F8_E4M3, ST_I16, ST_U16, ST_F16, ST_BF16,
    ST_I32, ST_U32, ST_F32, ST_F64, ST_I64, ST_U64,
    ST_DTYPES
} st_dtype;

const char *st_dtype_name(st_dtype dtype);      /* "F32" */
size_t      st_dtype_size(st_dtype dtype);      /* bytes of one element */

/* The bytes of a shape (rank 0: one element); false when they do not fit a
 * size_t. */
bool st_bytes(st_dtype dtype, size_t rank, const size_t *shape, size_t *out);

/* For messages: "[2, 3]", which it returns, and how many bytes of a name and of
 * a path to show (cut on a character's boundary). */
const char *st_shape_text(char *out, size_t cap, size_t rank, const size_t *shape);
int st_shown(const char *name);
int st_path_shown(const char *path);

/* --- reading ------------------------------------------------------------ */

typedef struct st_tensor {
    const char          *name;
    st_dtype             dtype;
    size_t               rank, shape[ST_RANK_MAX];
    const unsigned char *data;          /* any alignment */
    size_t               nbytes;
    size_t               begin;         /* data - the file's first byte */
} st_tensor;

typedef struct st_file {
    char          *path;
    bytes          content;
    struct json_t *header;
    st_tensor     *tensors;             /* in the order of their bytes */
    size_t         count;
    const st_tensor **by_name;
} st_file;

/* Reads a regular file (VT_IO: anything else) of at most `limit` bytes (VT_TOO_LARGE):
 * the header, which is checked, then the data.  On failure *f is zeroed; VT_BAD_INPUT
 * for a fault of the format. */
VT_MUST_CHECK vt_status st_open(st_file *f, const char *path, size_t limit, vt_error *err);
/* The same of bytes at hand, which it takes over, also on failure. */
VT_MUST_CHECK vt_status st_open_bytes(st_file *f, bytes *content, const char *name,
                                      vt_error *err);
void st_close(st_file *f);              /* also of a zeroed one */

/* NULL when there is none of that name. */
const st_tensor *st_find(const st_file *f, const char *name);

/* The tensor of exactly this type and shape; the error names what was expected
 * and what was found. */
VT_MUST_CHECK vt_status st_need(const st_file *f, const char *name, st_dtype dtype, size_t rank,
                                const size_t *shape, const st_tensor **out, vt_error *err);
/* The same, its bytes copied to `out` (which holds the shape's bytes). */
VT_MUST_CHECK vt_status st_copy(const st_file *f, const char *name, st_dtype dtype, size_t rank,
                                const size_t *shape, void *out, vt_error *err);
VT_MUST_CHECK vt_status st_copy_f32(const st_file *f, const char *name, size_t rank,
                                    const size_t *shape, float *out, vt_error *err);

/* A text of __metadata__; NULL when there is none of that key. */
const char *st_meta(const st_file *f, const char *key);
VT_MUST_CHECK vt_status st_need_meta(const st_file *f, const char *key, const char **out,
                                     vt_error *err);

/* --- writing ------------------------------------------------------------ */

typedef struct st_item {
    const char *name;                   /* UTF-8; unique; not "__metadata__" */
    st_dtype    dtype;
    size_t      rank, shape[ST_RANK_MAX];
    const void *data;                   /* row-major; may be NULL for 0 bytes */
} st_item;

/* Sorts names; VT_BAD_INPUT where one is not UTF-8 or stands twice.  `what` is
 * what they are names of. */
VT_MUST_CHECK vt_status st_check_names(const char **names, size_t n, const char *what,
                                       vt_error *err);

typedef struct st_pair { const char *key, *value; } st_pair;    /* UTF-8; keys unique */

/* A file as pieces: for io_replace_pieces and sha256_hex_pieces.  The pieces
 * point into the items' data. */
typedef struct st_image {
    bytes     header;                   /* with the 8 bytes before it */
    io_piece *pieces;
    size_t    count;
    size_t    nbytes;                   /* of the whole file */
} st_image;

VT_MUST_CHECK vt_status st_image_new(st_image *image, const st_item *items, size_t count,
                                     const st_pair *meta, size_t pairs, vt_error *err);
void st_image_free(st_image *image);    /* also of a zeroed one */

/* Replaces the file at `path` by one rename. */
VT_MUST_CHECK vt_status st_write(const char *path, const st_item *items, size_t count,
                                 const st_pair *meta, size_t pairs, vt_error *err);

#endif
