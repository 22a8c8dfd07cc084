/* tensors.c -- see tensors.h. */
#include "formats/tensors.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "formats/form.h"

enum { PIECE = 1 << 16 };       /* bytes read at a time: a multiple of every element */

/* --- opening ------------------------------------------------------------ */

static void index_st(tensors *f)
{
    for (size_t i = 0; i < f->st.count; i++) {
        const st_tensor *from = &f->st.tensors[i];
        tensor *t = &f->items[f->count++];
        *t = (tensor){ .name = from->name, .dtype = from->dtype, .rank = from->rank, .st = from,
                       .count = from->nbytes / st_dtype_size(from->dtype) };
        memcpy(t->shape, from->shape, sizeof t->shape);
    }
}

static void index_npz(tensors *f)
{
    for (size_t i = 0; i < f->npz.count; i++) {
        const npz_member *from = &f->npz.members[i];
        tensor *t = &f->items[f->count++];
        *t = (tensor){ .name = from->name, .dtype = from->npy.dtype, .rank = from->npy.rank,
                       .npz = from, .count = from->npy.nbytes / st_dtype_size(from->npy.dtype) };
        memcpy(t->shape, from->npy.shape, sizeof t->shape);
    }
}

static int by_name(const void *a, const void *b)
{
    const tensor *const *p = a, *const *q = b;
    return strcmp((*p)->name, (*q)->name);
}

static vt_status index_all(tensors *f, vt_error *err)
{
    const size_t count = f->st.count + f->npz.count;
    f->items = calloc(count + 1, sizeof *f->items);
    f->by_name = calloc(count + 1, sizeof *f->by_name);
    if (!f->items || !f->by_name) return fail_memory(err, count * sizeof *f->items, "tensors");
    index_st(f);
    index_npz(f);
    for (size_t i = 0; i < count; i++) f->by_name[i] = &f->items[i];
    qsort(f->by_name, count, sizeof *f->by_name, by_name);
    return VT_OK;
}

/* Whether the file begins as an .npz or .npy does.  What cannot be opened is left to the
 * reader that opens it again, and says so; what is no regular file is refused, since the
 * opening of a pipe waits for its writer. */
static vt_status sniff(const char *path, bool *numpy, vt_error *err)
{
    unsigned char head[8];
    struct stat info;
    *numpy = false;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return VT_OK;
    const bool known = fstat(file, &info) == 0, regular = known && S_ISREG(info.st_mode);
    ssize_t n = -1;
    if (regular) do n = pread(file, head, sizeof head, 0); while (n < 0 && errno == EINTR);
    (void)close(file);
    if (known && !regular && !S_ISDIR(info.st_mode))
        return fail(err, VT_IO, "%s: expected a regular file", path);
    *numpy = n >= 2 && ((head[0] == 'P' && head[1] == 'K') || npy_is(head, (size_t)n));
    return VT_OK;
}

vt_status tensors_open(tensors *f, const char *path, size_t limit, vt_error *err)
{
    *f = (tensors){ .limit = limit, .npz = { .file = -1 } };
    bool numpy;
    vt_status status = sniff(path, &numpy, err);
    if (status == VT_OK)
        status = numpy ? npz_open(&f->npz, path, err) : st_open(&f->st, path, limit, err);
    if (status == VT_OK) status = index_all(f, err);
    if (status != VT_OK) tensors_close(f);
    return status;
}

void tensors_close(tensors *f)
{
    free(f->items);
    free(f->by_name);
    st_close(&f->st);
    npz_close(&f->npz);
    *f = (tensors){ .npz = { .file = -1 } };
}

const char *tensors_path(const tensors *f)
{
    return f->npz.path ? f->npz.path : f->st.path;
}

/* --- finding ------------------------------------------------------------ */

const tensor *tensors_find(const tensors *f, const char *name)
{
    size_t low = 0, high = f->count;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const int order = strcmp(name, f->by_name[mid]->name);
        if (order == 0) return f->by_name[mid];
        if (order < 0) high = mid;
        else low = mid + 1;
    }
    return NULL;
}

vt_status tensors_need(const tensors *f, const char *name, const tensor **out, vt_error *err)
{
    *out = tensors_find(f, name);
    if (*out) return VT_OK;
    char there[200] = "";
    size_t n = 0, i = 0;
    for (; i < f->count && n < 120; i++)
        n += (size_t)snprintf(there + n, sizeof there - n, "%s\"%.*s\"", i ? ", " : "",
                              st_shown(f->items[i].name) < 40 ? st_shown(f->items[i].name) : 40,
                              f->items[i].name);
    return fail(err, VT_BAD_INPUT, "%.*s: tensor \"%.*s\" is missing; there %s %s%s",
                st_path_shown(tensors_path(f)), tensors_path(f), st_shown(name), name,
                f->count == 1 ? "is" : "are", f->count ? there : "none", i < f->count ? ", ..." : "");
}

/* --- one element -------------------------------------------------------- */

/* IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction. */
static double half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                      : exponent == 0  ? ldexp(fraction, -24)
                                       : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
}

/* bfloat16: the upper half of a float. */
static double brain(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return (double)x;
}

typedef union element {
    uint8_t u8; int8_t i8; uint16_t u16; int16_t i16; uint32_t u32; int32_t i32; uint64_t u64;
    int64_t i64; float f32; double f64;
} element;

static double as_f64(st_dtype dtype, element e)
{
    switch (dtype) {
    case ST_BOOL: return e.u8 != 0;
    case ST_U8:   return e.u8;
    case ST_I8:   return e.i8;
    case ST_I16:  return e.i16;
    case ST_U16:  return e.u16;
    case ST_F16:  return half(e.u16);
    case ST_BF16: return brain(e.u16);
    case ST_I32:  return e.i32;
    case ST_U32:  return e.u32;
    case ST_F32:  return (double)e.f32;
    case ST_F64:  return e.f64;
    case ST_I64:  return (double)e.i64;
    case ST_U64:  return (double)e.u64;
    default:      return (double)NAN;       /* refused before */
    }
}

static bool as_i32(st_dtype dtype, element e, int32_t *out)
{
    int64_t x = 0;
    switch (dtype) {
    case ST_I64: x = e.i64; break;
    case ST_U64:
        if (e.u64 > INT32_MAX) return false;
        x = (int64_t)e.u64;
        break;
    default: x = (int64_t)as_f64(dtype, e); break;      /* 32 bits at most: exact */
    }
    if (x < INT32_MIN || x > INT32_MAX) return false;
    *out = (int32_t)x;
    return true;
}

typedef enum target { TO_F64, TO_F32, TO_I32 } target;

/* False where out's type cannot hold it. */
static bool put(target to, void *out, size_t i, st_dtype dtype, element e)
{
    if (to == TO_I32) return as_i32(dtype, e, (int32_t *)out + i);
    const double x = as_f64(dtype, e);
    if (to == TO_F64) {
        ((double *)out)[i] = x;
        return true;
    }
    const float y = (float)x;           /* IEEE 754: beyond the range it is infinite */
    ((float *)out)[i] = y;
    return !isinf(y) || isinf(x);
}

/* --- all elements ------------------------------------------------------- */

/* Where the next element of the file belongs, in row-major order. */
typedef struct place {
    const tensor *t;
    size_t at;
    bool   turned;                      /* the file has the first dimension fastest */
    size_t index[ST_RANK_MAX], stride[ST_RANK_MAX];
} place;

static place place_first(const tensor *t)
{
    place p = { .t = t, .turned = t->npz && t->npz->npy.fortran_order };
    size_t stride = 1;
    for (size_t d = t->rank; d-- > 0; ) {
        p.stride[d] = stride;
        stride *= t->shape[d];
    }
    return p;
}

static void place_next(place *p)
{
    if (!p->turned) {
        p->at++;
        return;
    }
    for (size_t d = 0; d < p->t->rank; d++) {
        p->at += p->stride[d];
        if (++p->index[d] < p->t->shape[d]) return;
        p->at -= p->stride[d] * p->t->shape[d];
        p->index[d] = 0;
    }
}

/* "[1, 0]" of the element at `at`. */
static const char *index_text(char *out, size_t cap, const tensor *t, size_t at)
{
    size_t index[ST_RANK_MAX];
    for (size_t d = t->rank; d-- > 0; at /= t->shape[d]) index[d] = at % t->shape[d];
    return st_shape_text(out, cap, t->rank, index);
}

/* All digits of it. */
static const char *value_text(char *out, size_t cap, st_dtype dtype, element e)
{
    if (dtype == ST_I64) snprintf(out, cap, "%lld", (long long)e.i64);
    else if (dtype == ST_U64) snprintf(out, cap, "%llu", (unsigned long long)e.u64);
    else snprintf(out, cap, "%.17g", as_f64(dtype, e));
    return out;
}

static vt_status put_piece(const tensors *f, place *p, target to, void *out,
                           const unsigned char *raw, size_t n, vt_error *err)
{
    const tensor *t = p->t;
    const size_t size = st_dtype_size(t->dtype);
    const bool swap = t->npz && t->npz->npy.big_endian;
    for (size_t i = 0; i < n; i += size, place_next(p)) {
        element e = { .u64 = 0 };
        unsigned char *bytes_of = (unsigned char *)&e;
        if (!swap) memcpy(bytes_of, raw + i, size);
        else for (size_t k = 0; k < size; k++) bytes_of[k] = raw[i + size - 1 - k];
        if (put(to, out, p->at, t->dtype, e)) continue;
        char index[200], value[40];
        return fail(err, VT_BAD_INPUT, "%.*s: tensor \"%.*s\": element %s is %s, which %s cannot hold",
                    st_path_shown(tensors_path(f)), tensors_path(f), st_shown(t->name), t->name,
                    index_text(index, sizeof index, t, p->at),
                    value_text(value, sizeof value, t->dtype, e),
                    to == TO_I32 ? "a 32-bit integer" : "a float32");
    }
    return VT_OK;
}

static vt_status read_npz(const tensors *f, const tensor *t, target to, void *out, vt_error *err)
{
    const npy_header *h = &t->npz->npy;
    place p = place_first(t);
    npz_stream *s = NULL;
    unsigned char *piece = malloc(PIECE);
    vt_status status = piece ? npz_stream_new(&s, &f->npz, t->npz, err)
                             : fail_memory(err, PIECE, "a piece of a file");
    /* The array's header again: the CRC-32 is of all. */
    for (size_t left = h->begin, n; status == VT_OK && left > 0; left -= n) {
        n = left < PIECE ? left : PIECE;
        status = npz_stream_read(s, piece, n, err);
    }
    for (size_t left = h->nbytes, n; status == VT_OK && left > 0; left -= n) {
        n = left < PIECE ? left : PIECE;
        status = npz_stream_read(s, piece, n, err);
        if (status == VT_OK) status = put_piece(f, &p, to, out, piece, n, err);
    }
    if (status == VT_OK) status = npz_stream_end(s, err);
    npz_stream_free(s);
    free(piece);
    return status;
}

static bool is_float(st_dtype dtype)
{
    return dtype == ST_F16 || dtype == ST_BF16 || dtype == ST_F32 || dtype == ST_F64 ||
           dtype == ST_F8_E5M2 || dtype == ST_F8_E4M3;
}

static vt_status read_as(const tensors *f, const tensor *t, target to, void *out, vt_error *err)
{
    char where[400];
    snprintf(where, sizeof where, "%.*s: tensor \"%.*s\"", st_path_shown(tensors_path(f)),
             tensors_path(f), st_shown(t->name), t->name);
    if (t->dtype == ST_F8_E5M2 || t->dtype == ST_F8_E4M3)
        return fail(err, VT_BAD_INPUT, "%s: %s is not read, expected floats of 16 bits or more",
                    where, st_dtype_name(t->dtype));
    if (to == TO_I32 && is_float(t->dtype))
        return fail(err, VT_BAD_INPUT, "%s: expected integers, found %s", where,
                    st_dtype_name(t->dtype));
    const size_t nbytes = t->npz ? t->npz->npy.nbytes : t->st->nbytes;
    if (nbytes > f->limit)
        return fail(err, VT_TOO_LARGE, "%s: %zu bytes, at most %zu are allowed here", where, nbytes,
                    f->limit);
    if (t->npz) return read_npz(f, t, to, out, err);
    place p = place_first(t);
    return put_piece(f, &p, to, out, t->st->data, nbytes, err);
}

vt_status tensors_read_f64(const tensors *f, const tensor *t, double *out, vt_error *err)
{
    return read_as(f, t, TO_F64, out, err);
}

vt_status tensors_read_f32(const tensors *f, const tensor *t, float *out, vt_error *err)
{
    return read_as(f, t, TO_F32, out, err);
}

vt_status tensors_read_i32(const tensors *f, const tensor *t, int32_t *out, vt_error *err)
{
    return read_as(f, t, TO_I32, out, err);
}

/* --- writing ------------------------------------------------------------ */

vt_status tensors_write(const char *path, const st_item *items, size_t count, vt_error *err)
{
    form f;
    const vt_status s = form_of(&f, path, FORM_NPZ | FORM_SAFETENSORS, err);
    if (s) return s;
    return f == FORM_NPZ ? npz_write(path, items, count, err)
                         : st_write(path, items, count, NULL, 0, err);
}
