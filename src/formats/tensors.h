/* tensors.h -- named tensors out of any dump, and into one.
 *
 * What a file is, its first bytes say, not its name:
 *
 *     "PK"            .npz, arrays in a zip archive           (npz.h)
 *     "\x93NUMPY"     .npy, one array, here one tensor of the name ""
 *     anything else   .safetensors                            (safetensors.h)
 *
 * All three are checked by the opening; the data of an .npz or .npy is read
 * when a tensor is asked for, piece by piece, so that a file larger than the
 * memory serves as long as the tensors asked for are small.
 *
 * A tensor is given as float64, float32 or int32, row-major, whatever the
 * file's type, byte order and order of dimensions.
 */
#ifndef TENSORS_H
#define TENSORS_H

#include "formats/npz.h"
#include "formats/safetensors.h"

typedef struct tensor {
    const char *name;
    st_dtype    dtype;                  /* st_dtype_name(): "F32" */
    size_t      rank, shape[ST_RANK_MAX];
    size_t      count;                  /* elements: 1 for rank 0 */
    /* where it comes from; one of the two is NULL */
    const st_tensor  *st;
    const npz_member *npz;
} tensor;

typedef struct tensors {
    tensor        *items;               /* in the order of the file */
    size_t         count;
    const tensor **by_name;
    size_t         limit;
    st_file        st;
    npz_file       npz;
} tensors;

/* `limit` is the most bytes a tensor that is read may have in the file, and the
 * most of a whole .safetensors: VT_TOO_LARGE beyond.  VT_BAD_INPUT for a fault
 * of the format, VT_IO where the file cannot be read or is no regular file.  On
 * failure *f is zeroed. */
VT_MUST_CHECK vt_status tensors_open(tensors *f, const char *path, size_t limit, vt_error *err);
void tensors_close(tensors *f);         /* also of a zeroed one */

/* The path it was opened by, for messages. */
const char *tensors_path(const tensors *f);

/* NULL when there is none of that name. */
const tensor *tensors_find(const tensors *f, const char *name);
/* VT_BAD_INPUT with a line that names the tensors that are there. */
VT_MUST_CHECK vt_status tensors_need(const tensors *f, const char *name, const tensor **out,
                                     vt_error *err);

/* All t->count elements into `out`, row-major.
 *
 *     f64   from every type but 8-bit floats; 64-bit integers are rounded
 *     f32   likewise, rounded to the nearest; VT_BAD_INPUT where a finite
 *           value is beyond the range
 *     i32   from integers and bool (0, 1); VT_BAD_INPUT where the type is a
 *           float, or a value beyond the range
 *
 * NaN and Inf pass.  The error names the file, the tensor and the element.
 * What was written to `out` before a failure is undefined. */
VT_MUST_CHECK vt_status tensors_read_f64(const tensors *f, const tensor *t, double *out,
                                         vt_error *err);
VT_MUST_CHECK vt_status tensors_read_f32(const tensors *f, const tensor *t, float *out,
                                         vt_error *err);
VT_MUST_CHECK vt_status tensors_read_i32(const tensors *f, const tensor *t, int32_t *out,
                                         vt_error *err);

/* Replaces the file at `path` by one rename; the format is that of its
 * extension, .npz or .safetensors, VT_USAGE for any other.  Names are UTF-8 and
 * unique.  The bytes depend on the arguments alone. */
VT_MUST_CHECK vt_status tensors_write(const char *path, const st_item *items, size_t count,
                                      vt_error *err);

#endif
