/* npy.c -- see npy.h. */
#include "formats/npy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers and data say little-endian");

static const char magic[] = "\x93NUMPY";
enum { MAGIC = sizeof magic - 1, SHORT_PRELUDE = 10 };

/* What NumPy calls the types: kind and bytes. */
static const struct { char kind, size; st_dtype dtype; } types[] = {
    { 'b', '1', ST_BOOL }, { 'u', '1', ST_U8 }, { 'i', '1', ST_I8 }, { 'i', '2', ST_I16 },
    { 'u', '2', ST_U16 }, { 'f', '2', ST_F16 }, { 'i', '4', ST_I32 }, { 'u', '4', ST_U32 },
    { 'f', '4', ST_F32 }, { 'f', '8', ST_F64 }, { 'i', '8', ST_I64 }, { 'u', '8', ST_U64 },
};
enum { TYPES = sizeof types / sizeof *types };

bool npy_is(const unsigned char *p, size_t n)
{
    return n >= MAGIC && memcmp(p, magic, MAGIC) == 0;
}

vt_status npy_header_bytes(size_t *begin, const unsigned char *p, size_t n, const char *where,
                           vt_error *err)
{
    if (!npy_is(p, n))
        return fail(err, VT_BAD_INPUT, "%s: expected an array that begins with \\x93NUMPY", where);
    if (n < SHORT_PRELUDE)
        return fail(err, VT_BAD_INPUT, "%s: %zu bytes, expected an array's header (is it cut off?)",
                    where, n);
    if (p[6] < 1 || p[6] > 3 || p[7] != 0)
        return fail(err, VT_BAD_INPUT, "%s: byte 6: .npy version %d.%d, expected 1.0, 2.0 or 3.0",
                    where, p[6], p[7]);
    const size_t prelude = p[6] == 1 ? SHORT_PRELUDE : NPY_PRELUDE;
    if (n < prelude)
        return fail(err, VT_BAD_INPUT, "%s: %zu bytes, expected an array's header (is it cut off?)",
                    where, n);
    size_t length = (size_t)p[8] | (size_t)p[9] << 8;
    if (p[6] > 1) length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (length > NPY_HEADER_MAX - prelude)
        return fail(err, VT_BAD_INPUT, "%s: byte 8: a header of %zu bytes, expected at most %zu",
                    where, length, NPY_HEADER_MAX - prelude);
    *begin = prelude + length;
    return VT_OK;
}

/* --- the dict ----------------------------------------------------------- */

typedef struct npy_text {
    const unsigned char *p;     /* the whole header */
    size_t      at, end;
    const char *where;
    vt_error   *err;
} npy_text;

static vt_status expected(const npy_text *t, const char *what)
{
    char found[16];
    if (t->at == t->end) snprintf(found, sizeof found, "its end");
    else if (t->p[t->at] > 32 && t->p[t->at] < 127)
        snprintf(found, sizeof found, "'%c'", t->p[t->at]);
    else snprintf(found, sizeof found, "byte %d", t->p[t->at]);
    return fail(t->err, VT_BAD_INPUT, "%s: header, byte %zu: expected %s, found %s", t->where,
                t->at, what, found);
}

static bool is_space(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(npy_text *t)
{
    while (t->at < t->end && is_space(t->p[t->at])) t->at++;
}

/* Whether the next character, after spaces, is c: then it is taken. */
static bool take(npy_text *t, char c)
{
    skip_space(t);
    if (t->at == t->end || t->p[t->at] != (unsigned char)c) return false;
    t->at++;
    return true;
}

static bool take_word(npy_text *t, const char *word)
{
    const size_t n = strlen(word);
    skip_space(t);
    if (t->end - t->at < n || memcmp(t->p + t->at, word, n) != 0) return false;
    t->at += n;
    return true;
}

/* A text in either kind of quotes, without escapes, into out[cap]. */
static vt_status take_text(npy_text *t, const char *what, char *out, size_t cap)
{
    char quote = '\'';
    size_t n = 0;
    if (!take(t, '\'')) {
        quote = '"';
        if (!take(t, '"')) return expected(t, what);
    }
    for (; t->at < t->end && t->p[t->at] != (unsigned char)quote; t->at++) {
        const unsigned char c = t->p[t->at];
        if (c < 32 || c > 126 || c == '\\' || n + 1 == cap) return expected(t, what);
        out[n++] = (char)c;
    }
    out[n] = 0;
    return take(t, quote) ? VT_OK : expected(t, "a closing quote");
}

static const char *kind_name(char kind)
{
    switch (kind) {
    case 'O': return "Python objects: save plain arrays, which numpy.load(allow_pickle=False) opens";
    case 'U': case 'S': case 'a': return "text";
    case 'V': return "raw bytes, as of bfloat16: save as float32";
    case 'c': return "complex numbers";
    case 'M': case 'm': return "dates";
    default:  return "unknown here";
    }
}

/* "<f8": order, kind, bytes.  A single byte has no order and may say any. */
static vt_status take_descr(npy_text *t, npy_header *h)
{
    char text[40];
    skip_space(t);
    if (t->at < t->end && (t->p[t->at] == '[' || t->p[t->at] == '('))
        return fail(t->err, VT_BAD_INPUT, "%s: a structured dtype (records) is not read: save an "
                    "array for each field", t->where);
    const vt_status status = take_text(t, "a dtype, for example '<f8'", text, sizeof text);
    if (status != VT_OK) return status;
    const size_t n = strlen(text);
    if (n == 3)
        for (size_t i = 0; i < TYPES; i++) {
            const bool one = types[i].size == '1';
            if (text[1] != types[i].kind || text[2] != types[i].size ||
                !strchr(one ? "|<>=" : "<>", text[0]))
                continue;
            h->dtype = types[i].dtype;
            h->big_endian = !one && text[0] == '>';
            return VT_OK;
        }
    return fail(t->err, VT_BAD_INPUT, "%s: dtype '%s' (%s) is not read, expected '|b1', '<i4', "
                "'<f8' or another bool, integer or float of at most 8 bytes", t->where, text,
                n > 1 && strchr("<>|=", text[0]) ? kind_name(text[1]) : "unknown here");
}

static vt_status take_size(npy_text *t, size_t *out)
{
    const size_t first = t->at;
    *out = 0;
    while (t->at < t->end && t->p[t->at] >= '0' && t->p[t->at] <= '9') {
        if (!size_mul(*out, 10, out) || !size_add(*out, (size_t)(t->p[t->at] - '0'), out)) {
            t->at = first;
            return expected(t, "a size that this machine can hold");
        }
        t->at++;
    }
    if (t->at == first) return expected(t, "a size");
    if (t->at < t->end && t->p[t->at] == 'L') t->at++;      /* written by Python 2 */
    return VT_OK;
}

/* (), (3,), (2, 3) or (2, 3,); (3) is a number to Python, and refused. */
static vt_status take_shape(npy_text *t, npy_header *h)
{
    bool comma = false;
    if (!take(t, '(')) return expected(t, "a shape, for example (2, 3)");
    h->rank = 0;
    while (!take(t, ')')) {
        if (h->rank > 0 && !comma) return expected(t, "',' or ')'");
        if (h->rank == ST_RANK_MAX)
            return fail(t->err, VT_BAD_INPUT, "%s: more than %d dimensions", t->where,
                        (int)ST_RANK_MAX);
        const vt_status status = take_size(t, &h->shape[h->rank]);
        if (status != VT_OK) return status;
        h->rank++;
        comma = take(t, ',');
    }
    if (h->rank == 1 && !comma)
        return fail(t->err, VT_BAD_INPUT, "%s: header: the shape (%zu) is a number to Python, "
                    "expected (%zu,)", t->where, h->shape[0], h->shape[0]);
    return VT_OK;
}

static vt_status take_order(npy_text *t, npy_header *h)
{
    h->fortran_order = take_word(t, "True");
    return h->fortran_order || take_word(t, "False") ? VT_OK : expected(t, "True or False");
}

static vt_status take_dict(npy_text *t, npy_header *h)
{
    static const char *const keys[] = { "descr", "fortran_order", "shape" };
    bool seen[3] = { false, false, false }, comma = true;
    if (!take(t, '{')) return expected(t, "'{'");
    while (!take(t, '}')) {
        char key[20];
        if (!comma) return expected(t, "',' or '}'");
        const size_t at = t->at;
        vt_status status = take_text(t, "'descr', 'fortran_order' or 'shape'", key, sizeof key);
        if (status != VT_OK) return status;
        size_t k = 0;
        while (k < 3 && strcmp(key, keys[k]) != 0) k++;
        if (k == 3 || seen[k])
            return fail(t->err, VT_BAD_INPUT, "%s: header, byte %zu: key '%s' %s", t->where, at, key,
                        k == 3 ? "is none of 'descr', 'fortran_order', 'shape'" : "stands twice");
        seen[k] = true;
        if (!take(t, ':')) return expected(t, "':'");
        status = k == 0 ? take_descr(t, h) : k == 1 ? take_order(t, h) : take_shape(t, h);
        if (status != VT_OK) return status;
        comma = take(t, ',');
    }
    for (size_t k = 0; k < 3; k++)
        if (!seen[k])
            return fail(t->err, VT_BAD_INPUT, "%s: header: key '%s' is missing", t->where, keys[k]);
    skip_space(t);
    return t->at == t->end ? VT_OK : expected(t, "spaces after the dict");
}

vt_status npy_parse(npy_header *h, const unsigned char *p, size_t begin, const char *where,
                    vt_error *err)
{
    size_t length;
    char shape[200];
    *h = (npy_header){ 0 };
    vt_status status = npy_header_bytes(&length, p, begin, where, err);
    if (status != VT_OK) return status;
    if (length != begin)
        return fail(err, VT_BAD_INPUT, "%s: a header of %zu bytes in %zu (is it cut off?)", where,
                    length, begin);
    npy_text t = { p, p[6] == 1 ? SHORT_PRELUDE : NPY_PRELUDE, begin, where, err };
    status = take_dict(&t, h);
    if (status != VT_OK) return status;
    h->begin = begin;
    if (!st_bytes(h->dtype, h->rank, h->shape, &h->nbytes))
        return fail(err, VT_BAD_INPUT, "%s: shape %s of %s has more bytes than a size can hold",
                    where, st_shape_text(shape, sizeof shape, h->rank, h->shape),
                    st_dtype_name(h->dtype));
    return VT_OK;
}

/* --- writing ------------------------------------------------------------ */

vt_status npy_append_header(bytes *out, const st_item *item, vt_error *err)
{
    char dict[400], sizes[220] = "";
    size_t i = 0, n = 0;
    while (i < TYPES && types[i].dtype != item->dtype) i++;
    if (i == TYPES)
        return fail(err, VT_BAD_INPUT, "tensor \"%.*s\": NumPy has no type %s",
                    st_shown(item->name), item->name, st_dtype_name(item->dtype));
    if (item->rank > ST_RANK_MAX)
        return fail(err, VT_BAD_INPUT, "tensor \"%.*s\": more than %d dimensions",
                    st_shown(item->name), item->name, (int)ST_RANK_MAX);
    /* Of one dimension (3,), of more (2, 3). */
    for (size_t d = 0; d < item->rank; d++)
        n += (size_t)snprintf(sizes + n, sizeof sizes - n, "%s%zu%s", d ? ", " : "",
                              item->shape[d], item->rank == 1 ? "," : "");
    n = (size_t)snprintf(dict, sizeof dict, "{'descr': '%c%c%c', 'fortran_order': False, "
                         "'shape': (%s), }", types[i].size == '1' ? '|' : '<', types[i].kind,
                         types[i].size, sizes);
    const size_t length = (SHORT_PRELUDE + n + 1 + NPY_ALIGN - 1) / NPY_ALIGN * NPY_ALIGN -
                          SHORT_PRELUDE;
    const unsigned char more[4] = { 1, 0, (unsigned char)(length & 0xFF),
                                    (unsigned char)(length >> 8) };
    vt_status status = bytes_append(out, magic, MAGIC, err);
    if (status == VT_OK) status = bytes_append(out, more, sizeof more, err);
    if (status == VT_OK) status = bytes_printf(out, err, "%-*s\n", (int)length - 1, dict);
    return status;
}
