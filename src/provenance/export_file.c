/* export_file.c -- see export_file.h: the two binary forms, and what all four share. */
#include "provenance/export_file.h"
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "formats/npz.h"
#include "provenance/export_text.h"

enum { CHUNK = 1 << 22, OWN = 3 };      /* OWN: provenance, tokens, targets */

static st_dtype type_of(const export_set *set) { return set->single ? ST_F32 : ST_F64; }

static size_t times(size_t n, size_t each)
{
    size_t product;
    return size_mul(n, each, &product) ? product : SIZE_MAX;
}

/* 17 digits, a sign, an exponent, a comma; half of attention is 0 or masked.  A line of
 * CSV has names and indices, too. */
size_t export_file_about(form f, const export_set *set)
{
    const size_t number = set->single ? 13 : 21;
    return times(set->numbers, f == FORM_JSON ? number : f == FORM_CSV ? number + 20
                               : st_dtype_size(type_of(set)));
}

/* "0," and "lnf,,,0,0,0,\r\n" */
size_t export_file_least(form f, const export_set *set)
{
    return times(set->numbers, f == FORM_JSON ? 2 : f == FORM_CSV ? 14
                               : st_dtype_size(type_of(set)));
}

vt_status export_file_hash(char out[65], const export_set *set, vt_error *err)
{
    const size_t size = st_dtype_size(type_of(set));
    io_piece *pieces = calloc(set->count, sizeof *pieces);
    if (!pieces) return fail_memory(err, set->count * sizeof *pieces, "the list of tensors");
    for (size_t i = 0; i < set->count; i++)
        pieces[i] = (io_piece){ set->at[i].data, set->at[i].count * size };
    sha256_hex_pieces(out, pieces, set->count);
    free(pieces);
    return VT_OK;
}

/* ---- pieces of memory ---------------------------------------------------- */

static vt_status write_pieces(io_output *to, const io_piece *pieces, size_t count, size_t of,
                              const export_file *e, vt_error *err)
{
    size_t done = 0;
    vt_status s = VT_OK;
    for (size_t i = 0; i < count; i++) {
        const char *p = pieces[i].data;
        for (size_t left = pieces[i].n, n; left > 0; left -= n, p += n, done += n) {
            n = left < CHUNK ? left : CHUNK;
            if ((s = e->step(e->context, done, of, err)) || (s = io_output_write(to, p, n, err)))
                return s;
        }
    }
    return s;
}

static void ids(st_item *item, const char *name, const int *from, int T)
{
    *item = (st_item){ .name = name, .dtype = ST_I32, .rank = 1, .shape = { (size_t)T },
                       .data = from };
}

/* Of a .npz provenance is an array, too; a .safetensors has metadata. */
static size_t list(st_item *items, const export_file *e, bool npz)
{
    size_t n = 0;
    if (npz)
        items[n++] = (st_item){ .name = "provenance", .dtype = ST_U8, .rank = 1,
                                .shape = { strlen(e->provenance) }, .data = e->provenance };
    ids(&items[n++], "tokens", e->tokens, e->T);
    ids(&items[n++], "targets", e->targets, e->T);
    for (size_t i = 0; i < e->set->count; i++) {
        const export_tensor *t = &e->set->at[i];
        items[n] = (st_item){ .name = t->name, .dtype = type_of(e->set), .rank = t->rank,
                              .data = t->data };
        memcpy(items[n++].shape, t->shape, t->rank * sizeof *t->shape);
    }
    return n;
}

static vt_status write_safetensors(io_output *to, const st_item *items, size_t n,
                                   const export_file *e, size_t *nbytes, vt_error *err)
{
    const st_pair meta[] = { { "format", EXPORT_FORMAT }, { "provenance", e->provenance } };
    st_image image;
    vt_status s = st_image_new(&image, items, n, meta, 2, err);
    if (s) return s;
    *nbytes = image.nbytes;
    s = write_pieces(to, image.pieces, image.count, image.nbytes, e, err);
    st_image_free(&image);
    return s;
}

static vt_status write_npz(io_output *to, const st_item *items, size_t n, const export_file *e,
                           size_t *nbytes, vt_error *err)
{
    npz_image image;
    vt_status s = npz_image_new(&image, items, n, err);
    if (s) return s;
    *nbytes = (size_t)image.nbytes;
    s = write_pieces(to, image.pieces, image.count, *nbytes, e, err);
    npz_image_free(&image);
    return s;
}

static vt_status write_binary(io_output *to, form f, const export_file *e, size_t *nbytes,
                              vt_error *err)
{
    st_item *items = calloc(e->set->count + OWN, sizeof *items);
    if (!items) return fail_memory(err, e->set->count * sizeof *items, "the list of tensors");
    const size_t n = list(items, e, f == FORM_NPZ);
    const vt_status s = f == FORM_NPZ ? write_npz(to, items, n, e, nbytes, err)
                                      : write_safetensors(to, items, n, e, nbytes, err);
    free(items);
    return s;
}

vt_status export_file_write(const char *path, form f, const export_file *e, size_t *nbytes,
                            vt_error *err)
{
    io_output to;
    vt_status s = io_output_begin(&to, path, err);
    if (s == VT_OK)
        s = f == FORM_JSON ? export_text_json(&to, e, nbytes, err)
          : f == FORM_CSV  ? export_text_csv(&to, e, nbytes, err)
                           : write_binary(&to, f, e, nbytes, err);
    return io_output_end(&to, s, err);
}
