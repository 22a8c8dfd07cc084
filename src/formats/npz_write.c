/* npz_write.c -- the writer; see npz.h.
 *
 * Zip64 is used where a value does not fit and nowhere else, so a small file is
 * one that the oldest reader takes.  All CRCs and sizes are known before the
 * first byte is written: none is patched in afterwards.
 */
#include "formats/npz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "formats/npz_layout.h"

enum { VERSION = 20, VERSION_64 = 45, UNIX = 3 };
enum { DATE_1980_01_01 = 0 << 9 | 1 << 5 | 1 };
#define MODE (UINT64_C(0100644) << 16)      /* a file that its owner writes, all read */
enum { NAME_MOST = 0xFFFF - 4 };            /* and ".npy" */

typedef struct written {
    uint64_t local, size;       /* of the member: .npy header and data */
    uint32_t crc;
    size_t   text, text_end;    /* its local header and .npy header in image->text */
    size_t   nbytes;            /* of the data */
} written;

static vt_status check_items(const st_item *items, size_t count, vt_error *err)
{
    const char **names = calloc(count + 1, sizeof *names);
    if (!names) return fail_memory(err, count * sizeof *names, "names");
    vt_status status = VT_OK;
    for (size_t i = 0; i < count && status == VT_OK; i++) {
        names[i] = items[i].name;
        if (strlen(names[i]) > NAME_MOST)
            status = fail(err, VT_BAD_INPUT, "tensor \"%.*s...\": a name of %zu bytes, expected at "
                          "most %d", st_shown(names[i]), names[i], strlen(names[i]), (int)NAME_MOST);
    }
    if (status == VT_OK) status = st_check_names(names, count, "tensor", err);
    free(names);
    return status;
}

static uint32_t crc_of(uint32_t crc, const void *data, size_t n)
{
    const unsigned char *p = data;
    while (n > 0) {
        const size_t some = n < (size_t)1 << 30 ? n : (size_t)1 << 30;
        crc = (uint32_t)crc32(crc, p, (uInt)some);
        p += some;
        n -= some;
    }
    return crc;
}

static uint32_t capped(uint64_t value)
{
    return value < ZIP_IN_64 ? (uint32_t)value : ZIP_IN_64;
}

/* The fields that local header and directory share, from "version needed" on. */
static void put_common(unsigned char *p, const char *name, const written *w, bool wide,
                       size_t extra)
{
    bool ascii = true;
    for (const char *c = name; *c; c++) ascii = ascii && (unsigned char)*c < 128;
    zip_put(p, wide ? VERSION_64 : VERSION, 2);
    zip_put(p + 2, ascii ? 0 : FLAG_UTF8, 2);
    zip_put(p + 4, METHOD_STORED, 2);
    zip_put(p + 6, 0, 2);                               /* midnight */
    zip_put(p + 8, DATE_1980_01_01, 2);
    zip_put(p + 10, w->crc, 4);
    zip_put(p + 14, capped(w->size), 4);                /* packed */
    zip_put(p + 18, capped(w->size), 4);
    zip_put(p + 22, strlen(name) + 4, 2);
    zip_put(p + 24, extra, 2);
}

static vt_status append_name(bytes *out, const char *name, vt_error *err)
{
    const vt_status status = bytes_append(out, name, strlen(name), err);
    return status == VT_OK ? bytes_append(out, ".npy", 4, err) : status;
}

/* Local header and .npy header; `npy` is room for the latter. */
static vt_status put_local(npz_image *image, const st_item *item, written *w, bytes *npy,
                           vt_error *err)
{
    unsigned char p[LOCAL_BYTES] = { 0 }, extra[EXTRA_HEAD + 16];
    w->local = image->nbytes;
    w->text = image->text.len;
    npy->len = 0;
    vt_status status = npy_append_header(npy, item, err);
    if (status != VT_OK) return status;
    uint64_t end = w->local;
    if (!st_bytes(item->dtype, item->rank, item->shape, &w->nbytes) ||
        w->nbytes > UINT64_MAX - npy->len)
        return fail(err, VT_TOO_LARGE, "tensor \"%.*s\": more bytes than a size can hold",
                    st_shown(item->name), item->name);
    w->size = (uint64_t)w->nbytes + npy->len;
    if (w->size > (uint64_t)INT64_MAX - end - (1 << 20))
        return fail(err, VT_TOO_LARGE, "an .npz file is larger than a file can be");
    w->crc = crc_of((uint32_t)crc32(0, NULL, 0), npy->data, npy->len);
    w->crc = crc_of(w->crc, item->data, w->nbytes);
    const bool wide = w->size >= ZIP_IN_64;
    zip_put(p, ZIP_LOCAL, 4);
    put_common(p + 4, item->name, w, wide, wide ? sizeof extra : 0);
    zip_put(extra, EXTRA_ZIP64, 2);
    zip_put(extra + 2, 16, 2);
    zip_put(extra + EXTRA_HEAD, w->size, 8);
    zip_put(extra + EXTRA_HEAD + 8, w->size, 8);
    status = bytes_append(&image->text, p, sizeof p, err);
    if (status == VT_OK) status = append_name(&image->text, item->name, err);
    if (status == VT_OK && wide) status = bytes_append(&image->text, extra, sizeof extra, err);
    if (status == VT_OK) status = bytes_append(&image->text, npy->data, npy->len, err);
    w->text_end = image->text.len;
    image->nbytes += w->text_end - w->text + w->nbytes;
    return status;
}

static vt_status put_central(npz_image *image, const char *name, const written *w, vt_error *err)
{
    unsigned char p[CENTRAL_BYTES] = { 0 }, extra[EXTRA_HEAD + 24];
    size_t n = EXTRA_HEAD;
    if (w->size >= ZIP_IN_64) {
        zip_put(extra + n, w->size, 8);
        zip_put(extra + n + 8, w->size, 8);
        n += 16;
    }
    if (w->local >= ZIP_IN_64) {
        zip_put(extra + n, w->local, 8);
        n += 8;
    }
    const bool wide = n > EXTRA_HEAD;
    zip_put(extra, EXTRA_ZIP64, 2);
    zip_put(extra + 2, n - EXTRA_HEAD, 2);
    zip_put(p, ZIP_CENTRAL, 4);
    zip_put(p + 4, UNIX << 8 | (wide ? VERSION_64 : VERSION), 2);      /* made by */
    put_common(p + 6, name, w, wide, wide ? n : 0);
    zip_put(p + CENTRAL_LOCAL - 4, MODE, 4);
    zip_put(p + CENTRAL_LOCAL, capped(w->local), 4);
    vt_status status = bytes_append(&image->text, p, sizeof p, err);
    if (status == VT_OK) status = append_name(&image->text, name, err);
    if (status == VT_OK && wide) status = bytes_append(&image->text, extra, n, err);
    return status;
}

/* The end record(s) of a directory of `nbytes` from `begin` on. */
static vt_status put_end(npz_image *image, uint64_t count, uint64_t begin, uint64_t nbytes,
                         vt_error *err)
{
    unsigned char p[END64_BYTES + LOCATOR_BYTES + END_BYTES] = { 0 };
    unsigned char *const locator = p + END64_BYTES, *const end = locator + LOCATOR_BYTES;
    const bool wide = count >= ZIP_IN_64_U16 || begin >= ZIP_IN_64 || nbytes >= ZIP_IN_64;
    const uint64_t few = count < ZIP_IN_64_U16 ? count : ZIP_IN_64_U16;
    zip_put(p, ZIP_END64, 4);
    zip_put(p + END64_LENGTH, END64_BYTES - 12, 8);     /* without the first 12 */
    zip_put(p + 12, UNIX << 8 | VERSION_64, 2);         /* made by, needed */
    zip_put(p + 14, VERSION_64, 2);
    zip_put(p + END64_HERE, count, 8);
    zip_put(p + END64_COUNT, count, 8);
    zip_put(p + END64_SIZE, nbytes, 8);
    zip_put(p + END64_OFFSET, begin, 8);
    zip_put(locator, ZIP_LOCATOR, 4);
    zip_put(locator + LOCATOR_OFFSET, begin + nbytes, 8);
    zip_put(locator + LOCATOR_DISKS, 1, 4);
    zip_put(end, ZIP_END, 4);
    zip_put(end + END_HERE, few, 2);
    zip_put(end + END_COUNT, few, 2);
    zip_put(end + END_SIZE, capped(nbytes), 4);
    zip_put(end + END_OFFSET, capped(begin), 4);
    return wide ? bytes_append(&image->text, p, sizeof p, err)
                : bytes_append(&image->text, end, END_BYTES, err);
}

static vt_status build(npz_image *image, written *w, const st_item *items, size_t count,
                       vt_error *err)
{
    bytes npy = { 0 };
    vt_status status = VT_OK;
    for (size_t i = 0; i < count && status == VT_OK; i++)
        status = put_local(image, &items[i], &w[i], &npy, err);
    bytes_free(&npy);
    const uint64_t begin = image->nbytes;
    const size_t text = image->text.len;
    for (size_t i = 0; i < count && status == VT_OK; i++)
        status = put_central(image, items[i].name, &w[i], err);
    if (status == VT_OK)
        status = put_end(image, count, begin, image->text.len - text, err);
    if (status != VT_OK) return status;
    /* The text does not move any more. */
    for (size_t i = 0; i < count; i++) {
        image->pieces[2 * i] = (io_piece){ image->text.data + w[i].text,
                                           w[i].text_end - w[i].text };
        image->pieces[2 * i + 1] = (io_piece){ items[i].data, w[i].nbytes };
    }
    image->pieces[2 * count] = (io_piece){ image->text.data + text, image->text.len - text };
    image->nbytes += image->text.len - text;
    return VT_OK;
}

vt_status npz_image_new(npz_image *image, const st_item *items, size_t count, vt_error *err)
{
    size_t pieces;
    *image = (npz_image){ 0 };
    if (!size_mul(count, 2, &pieces) || !size_add(pieces, 1, &pieces))
        return fail(err, VT_TOO_LARGE, "%zu tensors are too many", count);
    image->count = pieces;
    vt_status status = check_items(items, count, err);
    written *w = NULL;
    if (status == VT_OK) {
        w = calloc(count + 1, sizeof *w);
        image->pieces = calloc(pieces, sizeof *image->pieces);
        if (!w || !image->pieces) status = fail_memory(err, pieces * sizeof *image->pieces, "pieces");
    }
    if (status == VT_OK) status = build(image, w, items, count, err);
    free(w);
    if (status != VT_OK) npz_image_free(image);
    return status;
}

void npz_image_free(npz_image *image)
{
    bytes_free(&image->text);
    free(image->pieces);
    *image = (npz_image){ 0 };
}

vt_status npz_write(const char *path, const st_item *items, size_t count, vt_error *err)
{
    npz_image image;
    vt_status status = npz_image_new(&image, items, count, err);
    if (status == VT_OK) status = io_replace_pieces(path, image.pieces, image.count, err);
    npz_image_free(&image);
    return status;
}
