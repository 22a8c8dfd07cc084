/* fuzz_safetensors.c -- what the reader accepts keeps the format's promises, and is
 * the same file when it is written and read again.
 *
 * The promises are looked up in the bytes: the header once more through jansson
 * alone, products in 128 bits.
 */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>
#include "formats/json.h"
#include "formats/safetensors.h"

__extension__ typedef unsigned __int128 wide;

/* Tensor t against its entry in the header. */
static void as_the_header_says(const st_file *f, const st_tensor *t, const json_t *header,
                               size_t data)
{
    const json_t *entry = json_object_get(header, t->name);
    const json_t *shape = json_object_get(entry, "shape");
    const json_t *range = json_object_get(entry, "data_offsets");
    wide product = st_dtype_size(t->dtype);
    HOLDS(strcmp(json_string_value(json_object_get(entry, "dtype")), st_dtype_name(t->dtype)) == 0);
    HOLDS(json_array_size(shape) == t->rank && json_array_size(range) == 2);
    for (size_t i = 0; i < t->rank; i++) {
        HOLDS(json_integer_value(json_array_get(shape, i)) == (json_int_t)t->shape[i]);
        product *= t->shape[i];
        HOLDS(product >> 64 == 0 || t->nbytes == 0);
    }
    const json_int_t begin = json_integer_value(json_array_get(range, 0));
    const json_int_t end = json_integer_value(json_array_get(range, 1));
    HOLDS(begin >= 0 && end >= begin && product == (wide)(end - begin));
    HOLDS(t->nbytes == (size_t)(end - begin) && t->begin == data + (size_t)begin);
    HOLDS(t->data == f->content.data + t->begin && st_find(f, t->name) == t);
}

static void promises(const st_file *f, const uint8_t *p, size_t size)
{
    uint64_t n;
    memcpy(&n, p, 8);
    HOLDS(size >= 8 && n <= size - 8 && f->content.len == size);
    json_t *header = json_loadb((const char *)p + 8, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
    HOLDS(json_is_object(header));
    HOLDS(f->count == json_object_size(header) - (json_object_get(header, "__metadata__") != NULL));
    size_t at = 8 + (size_t)n;
    for (size_t i = 0; i < f->count; i++) {
        as_the_header_says(f, &f->tensors[i], header, 8 + (size_t)n);
        HOLDS(f->tensors[i].begin == at);
        at += f->tensors[i].nbytes;
    }
    HOLDS(at == size);
    json_decref(header);
}

/* Metadata as pairs; how many. */
static size_t pairs_of(const st_file *f, st_pair *out, size_t cap)
{
    size_t n = 0;
    const char *key;
    json_t *text;
    json_object_foreach(json_object_get(f->header, "__metadata__"), key, text)
        if (n < cap) out[n++] = (st_pair){ key, json_string_value(text) };
    return n;
}

static void again(const st_file *f)
{
    enum { PAIRS = 200 };
    st_pair pairs[PAIRS];
    st_image image;
    st_file g;
    bytes whole = { 0 };
    const size_t npairs = pairs_of(f, pairs, PAIRS);
    st_item *items = calloc(f->count + 1, sizeof *items);
    HOLDS(items != NULL);
    for (size_t i = 0; i < f->count; i++) {
        const st_tensor *t = &f->tensors[i];
        items[i] = (st_item){ .name = t->name, .dtype = t->dtype, .rank = t->rank, .data = t->data };
        memcpy(items[i].shape, t->shape, sizeof t->shape);
    }
    WORKS(st_image_new(&image, items, f->count, pairs, npairs, &fuzz_error));
    for (size_t i = 0; i < image.count; i++)
        WORKS(bytes_append(&whole, image.pieces[i].data, image.pieces[i].n, &fuzz_error));
    HOLDS(whole.len == image.nbytes && image.header.len % 8 == 0);
    WORKS(st_open_bytes(&g, &whole, "again", &fuzz_error));
    HOLDS(g.count == f->count);
    for (size_t i = 0; i < g.count; i++) {
        const st_tensor *a = st_find(&g, f->tensors[i].name), *b = &f->tensors[i];
        HOLDS(a && a->dtype == b->dtype && a->rank == b->rank && a->nbytes == b->nbytes);
        HOLDS(memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
        HOLDS(a->nbytes == 0 || memcmp(a->data, b->data, a->nbytes) == 0);
    }
    for (size_t i = 0; i < npairs; i++) {
        const char *found = st_meta(&g, pairs[i].key);
        HOLDS(found && strcmp(found, pairs[i].value) == 0);
    }
    st_close(&g);
    st_image_free(&image);
    free(items);
}

/* The same verdict when the file is opened by its name. */
static void by_name(const uint8_t *data, size_t size, vt_status expected)
{
    st_file f;
    const vt_status s = st_open(&f, fuzz_file(data, size), SIZE_MAX / 4, &fuzz_error);
    HOLDS(s == expected);
    if (s == VT_OK) promises(&f, data, size);
    st_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_file f;
    bytes content = { fuzz_copy(data, size), size, size };
    const vt_status s = st_open_bytes(&f, &content, "x.safetensors", &fuzz_error);
    if (s != VT_OK) {
        fuzz_refused(s, 1u << VT_BAD_INPUT, "x.safetensors: ");
        HOLDS(!f.tensors && !f.content.data);
    } else {
        promises(&f, data, size);
        again(&f);
        st_close(&f);
    }
    by_name(data, size, s);
    return 0;
}
