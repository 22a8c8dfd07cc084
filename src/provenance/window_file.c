/* window_file.c -- see window_file.h. */
#include "provenance/window_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "formats/safetensors.h"

static const gpt_stage *of_layer(const gpt_window *w, const char *kind, int l, const char *stage)
{
    char name[sizeof w->stages->name];
    snprintf(name, sizeof name, "%sh.%d.%s", kind, l, stage);
    return gpt_window_find(w, name);
}

void window_laws_find(window_laws *out, const gpt_window *w)
{
    const size_t T = (size_t)w->T, C = (size_t)w->z.C;
    *out = (window_laws){ .row_sum_gap = 0 };
    for (int l = 0; l < w->z.L; l++) {
        const double *att = of_layer(w, "", l, "att")->data;
        for (size_t row = 0; row < (size_t)w->z.NH * T; row++) {
            double sum = 0;
            for (size_t u = 0; u < T; u++) {
                const double a = att[row * T + u];
                sum += a;
                if (u <= row % T) continue;
                out->masked_cells++;
                out->masked_nonzero += !(a == 0);       /* so that NaN counts */
            }
            const double gap = fabs(sum - 1);
            if (!(gap <= out->row_sum_gap)) out->row_sum_gap = gap;
        }
        const double *dbk = of_layer(w, "grad.", l, "qkvb")->data + C;
        for (size_t i = 0; i < C; i++)
            if (!(fabs(dbk[i]) <= out->largest_dbk)) out->largest_dbk = fabs(dbk[i]);
    }
}

vt_status window_hash(char out[65], const gpt_window *w, vt_error *err)
{
    io_piece *pieces = calloc(w->count, sizeof *pieces);
    if (!pieces) return fail_memory(err, w->count * sizeof *pieces, "the pieces of a window");
    for (size_t i = 0; i < w->count; i++)
        pieces[i] = (io_piece){ w->stages[i].data, w->stages[i].count * sizeof(double) };
    sha256_hex_pieces(out, pieces, w->count);
    free(pieces);
    return VT_OK;
}

vt_status window_write(const char *folder, const gpt_window *w, vt_error *err)
{
    char *path = io_join(folder, WINDOW_FILE);
    st_item *items = calloc(w->count, sizeof *items);
    vt_status s = VT_OK;
    if (!path || !items) s = fail_memory(err, w->count * sizeof *items, "the list of tensors");
    for (size_t i = 0; i < w->count && s == VT_OK; i++) {
        const gpt_stage *t = &w->stages[i];
        items[i] = (st_item){ .name = t->name, .dtype = ST_F64, .rank = t->rank, .data = t->data };
        memcpy(items[i].shape, t->shape, t->rank * sizeof *t->shape);
    }
    if (s == VT_OK) s = st_write(path, items, w->count, NULL, 0, err);
    free(items);
    free(path);
    return s;
}

/* Where two rows of numbers differ first, by their bits: masked scores are -inf, and
 * equal to themselves. */
static size_t first_other(const unsigned char *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(a + i * sizeof *b, b + i, sizeof *b) != 0) return i;
    return n;
}

static vt_status compare_all(const st_file *f, const char *path, const gpt_window *w, vt_error *err)
{
    if (f->count != w->count)
        return fail(err, VT_CHECK_FAILED, "%s: %zu tensors: expected %zu", path, f->count, w->count);
    for (size_t i = 0; i < w->count; i++) {
        const gpt_stage *t = &w->stages[i];
        const st_tensor *found;
        vt_error why;
        if (st_need(f, t->name, ST_F64, t->rank, t->shape, &found, &why))
            return fail(err, VT_CHECK_FAILED, "%s", why.text);
        const size_t at = first_other(found->data, t->data, t->count);
        if (at == t->count) continue;
        double other;
        memcpy(&other, found->data + at * sizeof other, sizeof other);
        return fail(err, VT_CHECK_FAILED, "%s: tensor %s, element %zu: %.17g: expected %.17g, which "
                    "this build computes from the model's files", path, t->name, at, other,
                    t->data[at]);
    }
    return VT_OK;
}

vt_status window_compare(const char *folder, const gpt_window *w, vt_error *err)
{
    char *path = io_join(folder, WINDOW_FILE);
    st_file f;
    const size_t memory = cpu_memory();                 /* 0: not known */
    if (!path) return fail_memory(err, strlen(folder), "a file's name");
    vt_status s = st_open(&f, path, memory ? memory : SIZE_MAX / 4, err);
    if (s == VT_OK) {
        s = compare_all(&f, path, w, err);
        st_close(&f);
    }
    free(path);
    return s;
}
