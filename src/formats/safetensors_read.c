/* safetensors_read.c -- the reader; see safetensors.h.
 *
 * Checks, in this order, each before what it guards is used: the file holds 8
 * bytes; the header's length is within ST_HEADER_MAX and the file; the header
 * is a JSON object without duplicate keys; each entry's type, shape and range
 * agree and lie within the data; the ranges, sorted, tile the data exactly.  Of a file
 * that is opened by its name only then the data is read: its length is a claim, too (a
 * sparse file of 100 GB takes a block of the disk), and memory is asked for once all of
 * it is spoken for.
 *
 * What it does not do: convert between types; accept types of less than a
 * byte.  Fields of an entry that the format does not know are passed over, as
 * its reference reader does.
 */
#include "formats/safetensors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/json.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the data is copied as it stands");

enum { LENGTH_BYTES = 8, NAME_SHOWN = 120, PATH_SHOWN = 240 };

static const struct { const char *name; size_t size; } dtypes[ST_DTYPES] = {
    [ST_BOOL] = { "BOOL", 1 }, [ST_U8] = { "U8", 1 }, [ST_I8] = { "I8", 1 },
    [ST_F8_E5M2] = { "F8_E5M2", 1 }, [ST_F8_E4M3] = { "F8_E4M3", 1 },
    [ST_I16] = { "I16", 2 }, [ST_U16] = { "U16", 2 }, [ST_F16] = { "F16", 2 },
    [ST_BF16] = { "BF16", 2 }, [ST_I32] = { "I32", 4 }, [ST_U32] = { "U32", 4 },
    [ST_F32] = { "F32", 4 }, [ST_F64] = { "F64", 8 }, [ST_I64] = { "I64", 8 },
    [ST_U64] = { "U64", 8 },
};

const char *st_dtype_name(st_dtype dtype)
{
    return (unsigned)dtype < ST_DTYPES ? dtypes[dtype].name : "?";
}

size_t st_dtype_size(st_dtype dtype)
{
    return (unsigned)dtype < ST_DTYPES ? dtypes[dtype].size : 0;
}

bool st_bytes(st_dtype dtype, size_t rank, const size_t *shape, size_t *out)
{
    size_t n = st_dtype_size(dtype);
    for (size_t i = 0; i < rank; i++)
        if (!size_mul(n, shape[i], &n)) return false;
    *out = n;
    return true;
}

/* How many bytes of a text a message shows: cut on a character's boundary. */
static int cut(const char *text, size_t most)
{
    size_t n = strlen(text);
    if (n > most) {
        n = most;
        while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80) n--;
    }
    return (int)n;
}

int st_shown(const char *name)
{
    return cut(name, NAME_SHOWN);
}

int st_path_shown(const char *path)
{
    return cut(path, PATH_SHOWN);
}

const char *st_shape_text(char *out, size_t cap, size_t rank, const size_t *shape)
{
    size_t n = (size_t)snprintf(out, cap, "[");
    for (size_t i = 0; i < rank && n < cap; i++)
        n += (size_t)snprintf(out + n, cap - n, "%s%zu", i ? ", " : "", shape[i]);
    if (n < cap) snprintf(out + n, cap - n, "]");
    return out;
}

/* --- one entry ---------------------------------------------------------- */

static vt_status read_dtype(const json_t *entry, const char *where, st_dtype *out, vt_error *err)
{
    const char *text;
    const vt_status status = js_get_string(entry, "dtype", where, &text, err);
    if (status != VT_OK) return status;
    for (int i = 0; i < ST_DTYPES; i++)
        if (strcmp(text, dtypes[i].name) == 0) {
            *out = (st_dtype)i;
            return VT_OK;
        }
    return fail(err, VT_BAD_INPUT, "%s: field \"dtype\": expected F32, F64, I32 or another type of "
                "whole bytes, found \"%.*s\"", where, st_shown(text), text);
}

/* Items of an array as sizes; *count of them, at most `cap`. */
static vt_status read_sizes(const json_t *entry, const char *key, const char *where, size_t *out,
                            size_t cap, size_t *count, vt_error *err)
{
    const json_t *array;
    vt_status status = js_get_array(entry, key, where, &array, err);
    if (status != VT_OK) return status;
    *count = json_array_size(array);
    if (*count > cap)
        return fail(err, VT_BAD_INPUT, "%s: field \"%s\": expected at most %zu numbers, found %zu",
                    where, key, cap, *count);
    for (size_t i = 0; i < *count && status == VT_OK; i++) {
        char item[512];
        int64_t value = 0;
        snprintf(item, sizeof item, "%s: %s[%zu]", where, key, i);
        status = js_to_int(json_array_get(array, i), item, 0, INT64_MAX, &value, err);
        out[i] = (size_t)value;
    }
    return status;
}

/* By how many bytes the file is too short for the last of its tensors. */
static size_t missing(const st_file *f, size_t length)
{
    const char *key;
    json_t *entry;
    size_t most = length;
    json_object_foreach(f->header, key, entry) {
        const json_int_t end = json_integer_value(json_array_get(
            json_object_get(entry, "data_offsets"), 1));
        if (end > 0 && (uint64_t)end > most) most = (size_t)end;
    }
    return most - length;
}

/* `data` is the offset of the data in the file, `length` its bytes; t->data is left. */
static vt_status read_entry(st_tensor *t, const json_t *entry, const st_file *f, size_t data,
                            size_t length, vt_error *err)
{
    char where[400], shape[200];
    snprintf(where, sizeof where, "%.*s: tensor \"%.*s\"", st_path_shown(f->path), f->path,
             st_shown(t->name), t->name);
    if (!json_is_object(entry))
        return fail(err, VT_BAD_INPUT, "%s: expected an object with dtype, shape, data_offsets",
                    where);
    size_t range[2], count, nbytes = 0;
    vt_status status = read_dtype(entry, where, &t->dtype, err);
    if (status == VT_OK)
        status = read_sizes(entry, "shape", where, t->shape, ST_RANK_MAX, &t->rank, err);
    if (status == VT_OK)
        status = read_sizes(entry, "data_offsets", where, range, 2, &count, err);
    if (status != VT_OK) return status;
    if (count != 2)
        return fail(err, VT_BAD_INPUT, "%s: field \"data_offsets\": expected two numbers, found %zu",
                    where, count);
    if (range[0] > range[1])
        return fail(err, VT_BAD_INPUT, "%s: bytes %zu..%zu are not within the %zu bytes of data",
                    where, range[0], range[1], length);
    if (range[1] > length) {
        const size_t lacks = missing(f, length);
        return fail(err, VT_BAD_INPUT, "%s: bytes %zu..%zu are not within the %zu bytes of data: the "
                    "file is %zu byte%s short (is it cut off?)", where, range[0], range[1], length,
                    lacks, lacks == 1 ? "" : "s");
    }
    st_shape_text(shape, sizeof shape, t->rank, t->shape);
    if (!st_bytes(t->dtype, t->rank, t->shape, &nbytes))
        return fail(err, VT_BAD_INPUT, "%s: shape %s of %s has more bytes than a size can hold",
                    where, shape, dtypes[t->dtype].name);
    if (nbytes != range[1] - range[0])
        return fail(err, VT_BAD_INPUT, "%s: shape %s of %s needs %zu bytes, data_offsets "
                    "%zu..%zu (byte %zu of the file) hold %zu", where, shape,
                    dtypes[t->dtype].name, nbytes, range[0], range[1], data + range[0],
                    range[1] - range[0]);
    t->begin = data + range[0];
    t->nbytes = nbytes;
    return VT_OK;
}

/* --- the whole ---------------------------------------------------------- */

/* By place; an empty tensor before the one that begins where it stands. */
static int by_place(const void *a, const void *b)
{
    const st_tensor *p = a, *q = b;
    if (p->begin != q->begin) return p->begin < q->begin ? -1 : 1;
    if (p->nbytes != q->nbytes) return p->nbytes < q->nbytes ? -1 : 1;
    return strcmp(p->name, q->name);
}

static int by_name(const void *a, const void *b)
{
    const st_tensor *const *p = a, *const *q = b;
    return strcmp((*p)->name, (*q)->name);
}

/* The sorted ranges must follow one another from `data` to the file's end at `len`. */
static vt_status check_tiling(const st_file *f, size_t data, size_t len, vt_error *err)
{
    size_t at = data;
    for (size_t i = 0; i < f->count; i++) {
        const st_tensor *t = &f->tensors[i];
        if (t->begin < at)
            return fail(err, VT_BAD_INPUT, "%s: tensor \"%.*s\" begins at byte %zu, inside "
                        "\"%.*s\", which ends at byte %zu", f->path, st_shown(t->name), t->name,
                        t->begin, st_shown(t[-1].name), t[-1].name, at);
        if (t->begin > at)
            return fail(err, VT_BAD_INPUT, "%s: bytes %zu..%zu before tensor \"%.*s\" belong to "
                        "no tensor", f->path, at, t->begin, st_shown(t->name), t->name);
        at += t->nbytes;
    }
    if (at != len)
        return fail(err, VT_BAD_INPUT, "%s: %zu bytes from byte %zu to the end belong to no tensor",
                    f->path, len - at, at);
    return VT_OK;
}

static vt_status check_metadata(const st_file *f, const json_t *meta, vt_error *err)
{
    char where[400];
    snprintf(where, sizeof where, "%.*s: __metadata__", st_path_shown(f->path), f->path);
    if (!json_is_object(meta))
        return fail(err, VT_BAD_INPUT, "%s: expected an object of texts", where);
    const char *key, *text;
    json_t *value;
    json_object_foreach((json_t *)meta, key, value) {
        (void)value;
        const vt_status status = js_get_string(meta, key, where, &text, err);
        if (status != VT_OK) return status;
    }
    return VT_OK;
}

/* The length of the header, from the first 8 of a file's `len` bytes. */
static vt_status read_length(const st_file *f, size_t len, size_t *header, vt_error *err)
{
    if (len < LENGTH_BYTES)
        return fail(err, VT_BAD_INPUT, "%s: the file has %zu bytes, expected 8 with the header's "
                    "length and more", f->path, len);
    uint64_t n;
    memcpy(&n, f->content.data, sizeof n);
    if (n > ST_HEADER_MAX)
        return fail(err, VT_BAD_INPUT, "%s: byte 0: header of %llu bytes, expected at most %zu "
                    "(is it a safetensors file?)", f->path, (unsigned long long)n, ST_HEADER_MAX);
    if (n > len - LENGTH_BYTES)
        return fail(err, VT_BAD_INPUT, "%s: byte 0: header of %llu bytes, the file has %zu behind "
                    "its length (is it cut off?)", f->path, (unsigned long long)n,
                    len - LENGTH_BYTES);
    *header = (size_t)n;
    return VT_OK;
}

/* Parses the n bytes of the header, which are in memory. */
static vt_status read_header(st_file *f, size_t n, vt_error *err)
{
    if (n < 2 || f->content.data[LENGTH_BYTES] != '{')
        return fail(err, VT_BAD_INPUT, "%s: byte 8: header of %zu bytes, expected a JSON object",
                    f->path, n);
    char name[400];
    snprintf(name, sizeof name, "%.*s: header", st_path_shown(f->path), f->path);
    return js_parse(&f->header, f->content.data + LENGTH_BYTES, n, name, err);
}

/* All entries, of a file of `len` bytes whose data begins at `data`. */
static vt_status read_tensors(st_file *f, size_t data, size_t len, vt_error *err)
{
    const size_t keys = json_object_size(f->header);
    const char *key;
    json_t *entry;
    /* Bounded by the header that is in memory already. */
    f->tensors = calloc(keys + 1, sizeof *f->tensors);
    f->by_name = calloc(keys + 1, sizeof *f->by_name);
    if (!f->tensors || !f->by_name) return fail_memory(err, keys * sizeof *f->tensors, f->path);
    json_object_foreach(f->header, key, entry) {
        vt_status status;
        if (strcmp(key, "__metadata__") == 0) {
            status = check_metadata(f, entry, err);
        } else {
            st_tensor *t = &f->tensors[f->count++];
            t->name = key;
            status = read_entry(t, entry, f, data, len - data, err);
        }
        if (status != VT_OK) return status;
    }
    qsort(f->tensors, f->count, sizeof *f->tensors, by_place);
    for (size_t i = 0; i < f->count; i++) f->by_name[i] = &f->tensors[i];
    qsort(f->by_name, f->count, sizeof *f->by_name, by_name);
    return check_tiling(f, data, len, err);
}

/* The whole file of `len` bytes: in memory where file is -1, else read step by step. */
static vt_status read_file(st_file *f, int file, size_t len, vt_error *err)
{
    vt_status s = VT_OK;
    size_t n = 0;
    if (file >= 0)
        s = io_read_more(&f->content, file, len < LENGTH_BYTES ? len : LENGTH_BYTES, f->path, err);
    if (s || (s = read_length(f, len, &n, err)) ||
        (file >= 0 && (s = io_read_more(&f->content, file, n, f->path, err))) ||
        (s = read_header(f, n, err)) || (s = read_tensors(f, LENGTH_BYTES + n, len, err)) ||
        (file >= 0 && (s = io_read_more(&f->content, file, len - LENGTH_BYTES - n, f->path, err))))
        return s;
    for (size_t i = 0; i < f->count; i++) f->tensors[i].data = f->content.data + f->tensors[i].begin;
    return VT_OK;
}

static vt_status take_path(st_file *f, const char *path, vt_error *err)
{
    f->path = strdup(path);
    return f->path ? VT_OK : fail_memory(err, strlen(path) + 1, "a path");
}

vt_status st_open_bytes(st_file *f, bytes *content, const char *name, vt_error *err)
{
    *f = (st_file){ .content = *content };
    *content = (bytes){ 0 };
    vt_status status = take_path(f, name, err);
    if (status == VT_OK) status = read_file(f, -1, f->content.len, err);
    if (status != VT_OK) st_close(f);
    return status;
}

vt_status st_open(st_file *f, const char *path, size_t limit, vt_error *err)
{
    int file;
    size_t len;
    *f = (st_file){ 0 };
    vt_status status = io_open_regular(&file, &len, path, limit, err);
    if (status != VT_OK) return status;
    status = take_path(f, path, err);
    if (status == VT_OK) status = read_file(f, file, len, err);
    (void)close(file);
    if (status != VT_OK) st_close(f);
    return status;
}

void st_close(st_file *f)
{
    json_decref(f->header);
    bytes_free(&f->content);
    free(f->path);
    free(f->tensors);
    free(f->by_name);
    *f = (st_file){ 0 };
}

/* --- what is in it ------------------------------------------------------ */

const st_tensor *st_find(const st_file *f, const char *name)
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

vt_status st_need(const st_file *f, const char *name, st_dtype dtype, size_t rank,
                  const size_t *shape, const st_tensor **out, vt_error *err)
{
    char want[200], got[200];
    const st_tensor *t = st_find(f, name);
    st_shape_text(want, sizeof want, rank, shape);
    if (!t)
        return fail(err, VT_BAD_INPUT, "%s: tensor \"%.*s\" is missing, expected %s %s", f->path,
                    st_shown(name), name, st_dtype_name(dtype), want);
    bool same = t->dtype == dtype && t->rank == rank;
    for (size_t i = 0; i < rank && same; i++) same = t->shape[i] == shape[i];
    if (!same)
        return fail(err, VT_BAD_INPUT, "%s: tensor \"%.*s\" (byte %zu): expected %s %s, found %s %s",
                    f->path, st_shown(name), name, t->begin, st_dtype_name(dtype), want,
                    st_dtype_name(t->dtype), st_shape_text(got, sizeof got, t->rank, t->shape));
    *out = t;
    return VT_OK;
}

vt_status st_copy(const st_file *f, const char *name, st_dtype dtype, size_t rank,
                  const size_t *shape, void *out, vt_error *err)
{
    const st_tensor *t;
    const vt_status status = st_need(f, name, dtype, rank, shape, &t, err);
    if (status == VT_OK && t->nbytes > 0) memcpy(out, t->data, t->nbytes);
    return status;
}

vt_status st_copy_f32(const st_file *f, const char *name, size_t rank, const size_t *shape,
                      float *out, vt_error *err)
{
    return st_copy(f, name, ST_F32, rank, shape, out, err);
}

const char *st_meta(const st_file *f, const char *key)
{
    return json_string_value(json_object_get(json_object_get(f->header, "__metadata__"), key));
}

vt_status st_need_meta(const st_file *f, const char *key, const char **out, vt_error *err)
{
    *out = st_meta(f, key);
    if (*out) return VT_OK;
    return fail(err, VT_BAD_INPUT, "%s: __metadata__: field \"%.*s\" is missing", f->path,
                st_shown(key), key);
}
