/* fuzz_npz.c -- .npz, .npy and the common front of all dumps (tensors.h).
 *
 * What is accepted is read as each type; what was read as doubles has the same bits
 * when it is written to an .npz and to a .safetensors and read again.
 */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>
#include "formats/tensors.h"

enum { MOST = 1 << 20 };        /* bytes of a tensor, and of all that are kept */

static const unsigned bad = 1u << VT_BAD_INPUT | 1u << VT_TOO_LARGE;

/* One tensor as doubles, into `item`; false where its bytes are not as promised. */
static bool take(const tensors *f, const tensor *t, st_item *item, const char *path)
{
    double *x = malloc((t->count + 1) * sizeof *x);
    float *y = malloc((t->count + 1) * sizeof *y);
    int32_t *z = malloc((t->count + 1) * sizeof *z);
    HOLDS(x && y && z);
    size_t count = 1;
    for (size_t i = 0; i < t->rank; i++) count *= t->shape[i];
    HOLDS(count == t->count && tensors_find(f, t->name) == t);
    vt_status s = tensors_read_f32(f, t, y, &fuzz_error);
    if (s != VT_OK) fuzz_refused(s, bad, path);
    s = tensors_read_i32(f, t, z, &fuzz_error);
    if (s != VT_OK) fuzz_refused(s, bad, path);
    s = tensors_read_f64(f, t, x, &fuzz_error);
    if (s != VT_OK) fuzz_refused(s, bad, path);
    free(y);
    free(z);
    *item = (st_item){ .name = t->name, .dtype = ST_F64, .rank = t->rank, .data = x };
    memcpy(item->shape, t->shape, sizeof t->shape);
    if (s != VT_OK) free(x);
    return s == VT_OK;
}

static void same(const char *path, const st_item *items, size_t n)
{
    tensors g;
    WORKS(tensors_open(&g, path, 64u << 20, &fuzz_error));
    HOLDS(g.count == n);
    for (size_t i = 0; i < n; i++) {
        const tensor *t;
        WORKS(tensors_need(&g, items[i].name, &t, &fuzz_error));
        HOLDS(t->rank == items[i].rank && t->dtype == ST_F64);
        HOLDS(memcmp(t->shape, items[i].shape, t->rank * sizeof *t->shape) == 0);
        double *x = malloc((t->count + 1) * sizeof *x);
        HOLDS(x != NULL);
        WORKS(tensors_read_f64(&g, t, x, &fuzz_error));
        HOLDS(memcmp(x, items[i].data, t->count * sizeof *x) == 0);
        free(x);
    }
    tensors_close(&g);
}

static void again(const st_item *items, size_t n)
{
    st_image st;
    npz_image npz;
    bytes whole = { 0 };
    WORKS(npz_image_new(&npz, items, n, &fuzz_error));
    for (size_t i = 0; i < npz.count; i++)
        WORKS(bytes_append(&whole, npz.pieces[i].data, npz.pieces[i].n, &fuzz_error));
    HOLDS(whole.len == npz.nbytes);
    same(fuzz_file(whole.data, whole.len), items, n);
    npz_image_free(&npz);
    whole.len = 0;
    WORKS(st_image_new(&st, items, n, NULL, 0, &fuzz_error));
    for (size_t i = 0; i < st.count; i++)
        WORKS(bytes_append(&whole, st.pieces[i].data, st.pieces[i].n, &fuzz_error));
    same(fuzz_file(whole.data, whole.len), items, n);
    st_image_free(&st);
    bytes_free(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tensors f;
    const char *path = fuzz_file(data, size);
    const vt_status s = tensors_open(&f, path, MOST, &fuzz_error);
    if (s != VT_OK) {
        fuzz_refused(s, bad, path);
        return 0;
    }
    st_item *items = calloc(f.count + 1, sizeof *items);
    HOLDS(items != NULL);
    size_t n = 0, most = MOST;
    bool named = true;          /* a safetensors has no tensor "__metadata__" */
    for (size_t i = 0; i < f.count; i++) {
        const tensor *t = &f.items[i];
        if (t->count > most / sizeof(double)) continue;
        named = named && strcmp(t->name, "__metadata__") != 0;
        if (take(&f, t, &items[n], path)) most -= t->count * sizeof(double), n++;
    }
    if (named) again(items, n);
    tensors_close(&f);
    for (size_t i = 0; i < n; i++) free((void *)(uintptr_t)items[i].data);
    free(items);
    return 0;
}
