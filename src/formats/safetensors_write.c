/* safetensors_write.c -- the writer; see safetensors.h. */
#include "formats/safetensors.h"
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "formats/json.h"

static int by_text(const void *a, const void *b)
{
    const char *const *p = a, *const *q = b;
    return strcmp(*p, *q);
}

/* Names are unique and UTF-8: JSON could hold neither faithfully. */
vt_status st_check_names(const char **names, size_t n, const char *what, vt_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (utf8_first_bad(names[i], strlen(names[i])) != strlen(names[i]))
            return fail(err, VT_BAD_INPUT, "%s \"%s\" is not UTF-8", what, names[i]);
    qsort(names, n, sizeof *names, by_text);
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return fail(err, VT_BAD_INPUT, "%s \"%s\" is given twice", what, names[i]);
    return VT_OK;
}

static vt_status check_arguments(const st_item *items, size_t count, const st_pair *meta,
                                 size_t pairs, vt_error *err)
{
    const size_t most = count > pairs ? count : pairs;
    const char **names = calloc(most + 1, sizeof *names);
    if (!names) return fail_memory(err, most * sizeof *names, "names");
    vt_status status = VT_OK;
    for (size_t i = 0; i < count && status == VT_OK; i++) {
        names[i] = items[i].name;
        if (strcmp(names[i], "__metadata__") == 0)
            status = fail(err, VT_BAD_INPUT, "a tensor cannot be named __metadata__");
        else if ((unsigned)items[i].dtype >= ST_DTYPES || items[i].rank > ST_RANK_MAX)
            status = fail(err, VT_BAD_INPUT, "tensor \"%s\": unknown type or more than %d "
                          "dimensions", names[i], (int)ST_RANK_MAX);
    }
    if (status == VT_OK) status = st_check_names(names, count, "tensor", err);
    for (size_t i = 0; i < pairs && status == VT_OK; i++) {
        const char *value = meta[i].value;
        names[i] = meta[i].key;
        if (utf8_first_bad(value, strlen(value)) != strlen(value))
            status = fail(err, VT_BAD_INPUT, "metadata \"%s\": the text is not UTF-8", names[i]);
    }
    if (status == VT_OK) status = st_check_names(names, pairs, "metadata", err);
    free(names);
    return status;
}

/* {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}; *at moves on. */
static vt_status put_entry(js_writer *w, const st_item *item, size_t *at, vt_error *err)
{
    size_t nbytes, end;
    if (!st_bytes(item->dtype, item->rank, item->shape, &nbytes) || !size_add(*at, nbytes, &end))
        return fail(err, VT_TOO_LARGE, "tensor \"%s\": more bytes than a size can hold",
                    item->name);
    js_key(w, item->name);
    js_open_object(w);
    js_field_string(w, "dtype", st_dtype_name(item->dtype));
    js_key(w, "shape");
    js_open_array(w);
    for (size_t i = 0; i < item->rank; i++) js_uint(w, item->shape[i]);
    js_close_array(w);
    js_key(w, "data_offsets");
    js_open_array(w);
    js_uint(w, *at);
    js_uint(w, end);
    js_close_array(w);
    js_close_object(w);
    *at = end;
    return VT_OK;
}

static vt_status put_header(st_image *image, const st_item *items, size_t count,
                            const st_pair *meta, size_t pairs, vt_error *err)
{
    js_writer w;
    uint64_t length = 0;
    size_t at = 0;
    vt_status status = bytes_append(&image->header, &length, sizeof length, err);
    if (status != VT_OK) return status;
    js_begin(&w, &image->header, JS_COMPACT);
    js_open_object(&w);
    if (pairs > 0) {
        js_key(&w, "__metadata__");
        js_open_object(&w);
        for (size_t i = 0; i < pairs; i++) js_field_string(&w, meta[i].key, meta[i].value);
        js_close_object(&w);
    }
    for (size_t i = 0; i < count; i++) {
        const size_t begin = at;
        status = put_entry(&w, &items[i], &at, err);
        if (status != VT_OK) return status;
        image->pieces[1 + i] = (io_piece){ items[i].data, at - begin };
    }
    js_close_object(&w);
    status = js_end(&w, err);
    while (status == VT_OK && image->header.len % 8 != 0)
        status = bytes_append(&image->header, " ", 1, err);
    if (status != VT_OK) return status;
    length = image->header.len - sizeof length;
    if (length > ST_HEADER_MAX)
        return fail(err, VT_TOO_LARGE, "a safetensors header of %llu bytes exceeds %zu",
                    (unsigned long long)length, ST_HEADER_MAX);
    memcpy(image->header.data, &length, sizeof length);
    image->pieces[0] = (io_piece){ image->header.data, image->header.len };
    if (!size_add(image->header.len, at, &image->nbytes))
        return fail(err, VT_TOO_LARGE, "a safetensors file is larger than a size can hold");
    return VT_OK;
}

vt_status st_image_new(st_image *image, const st_item *items, size_t count, const st_pair *meta,
                       size_t pairs, vt_error *err)
{
    *image = (st_image){ .count = count + 1 };
    vt_status status = check_arguments(items, count, meta, pairs, err);
    if (status == VT_OK) {
        image->pieces = calloc(count + 1, sizeof *image->pieces);
        if (!image->pieces) status = fail_memory(err, count * sizeof *image->pieces, "pieces");
    }
    if (status == VT_OK) status = put_header(image, items, count, meta, pairs, err);
    if (status != VT_OK) st_image_free(image);
    return status;
}

void st_image_free(st_image *image)
{
    bytes_free(&image->header);
    free(image->pieces);
    *image = (st_image){ 0 };
}

vt_status st_write(const char *path, const st_item *items, size_t count, const st_pair *meta,
                   size_t pairs, vt_error *err)
{
    st_image image;
    vt_status status = st_image_new(&image, items, count, meta, pairs, err);
    if (status == VT_OK) status = io_replace_pieces(path, image.pieces, image.count, err);
    st_image_free(&image);
    return status;
}
