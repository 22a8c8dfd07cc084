/* gpt_window.c -- see gpt_window.h.
 *
 * The wiring stays gpt.c's: parts of it are called one by one, and what the next
 * part would overwrite is copied.  Two gradients inside a layer are gone when it
 * ends (the one at the MLP's output and the one behind its layer norm): they are
 * computed again from what is kept, by the same definitions, so with the same bits.
 */
#include "model/gpt_window.h"
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#define VT_SCALAR 64
#include "kernels/definitions.h"

enum { FORWARD = 20, BACKWARD = 15, ENDS = 1 + 5 + 2 + 1 };

size_t gpt_window_stages(const gpt_config *z)
{
    return ENDS + (size_t)z->L * (FORWARD + BACKWARD) + gpt_tensor_count(z);
}

/* ---- the list ----------------------------------------------------------- */

typedef struct list {
    gpt_window *w;
    double     *next;           /* of the memory for gradients; NULL: only counted */
    size_t      taken;          /* doubles of it */
    bool        overflow;
} list;

/* A stage whose numbers lie at `data`, or, with NULL, get memory of their own. */
static double *add(list *to, int layer, const char *name, double *data, size_t rank, size_t a,
                   size_t b, size_t c)
{
    gpt_window *w = to->w;
    gpt_stage s = { .rank = rank, .shape = { a, b, c } };
    if (!size_mul(a, b, &s.count) || !size_mul(s.count, c, &s.count)) to->overflow = true;
    if (layer < 0) snprintf(s.name, sizeof s.name, "%s", name);
    else snprintf(s.name, sizeof s.name, "h.%d.%s", layer, name);
    if (!data) {
        data = to->next ? to->next + to->taken : NULL;
        if (!size_add(to->taken, s.count, &to->taken)) to->overflow = true;
    }
    s.data = data;
    if (to->next) w->stages[w->count++] = s;
    return data;
}

static void add_forward(list *to, int l)
{
    const gpt_config *z = &to->w->z;
    const size_t T = (size_t)to->w->T, C = (size_t)z->C, FF = (size_t)z->FF, NH = (size_t)z->NH;
    const gpt_layer_acts_f64 *a = &to->w->acts.layers[l];
    add(to, l, "ln1",      a->ln1,      2, T, C, 1);
    add(to, l, "ln1_mean", a->ln1_mean, 1, T, 1, 1);
    add(to, l, "ln1_rstd", a->ln1_rstd, 1, T, 1, 1);
    add(to, l, "q",        a->q,        2, T, C, 1);
    add(to, l, "k",        a->k,        2, T, C, 1);
    add(to, l, "v",        a->v,        2, T, C, 1);
    add(to, l, "scores",   a->scores,   3, NH, T, T);
    add(to, l, "scaled",   a->scaled,   3, NH, T, T);
    add(to, l, "masked",   a->masked,   3, NH, T, T);
    add(to, l, "att",      a->att,      3, NH, T, T);
    add(to, l, "values",   a->values,   2, T, C, 1);
    add(to, l, "attproj",  a->attproj,  2, T, C, 1);
    add(to, l, "res1",     a->res1,     2, T, C, 1);
    add(to, l, "ln2",      a->ln2,      2, T, C, 1);
    add(to, l, "ln2_mean", a->ln2_mean, 1, T, 1, 1);
    add(to, l, "ln2_rstd", a->ln2_rstd, 1, T, 1, 1);
    add(to, l, "fc",       a->fc,       2, T, FF, 1);
    add(to, l, "gelu",     a->gelu,     2, T, FF, 1);
    add(to, l, "fcproj",   a->fcproj,   2, T, C, 1);
    add(to, l, "res2",     a->res2,     2, T, C, 1);
}

static void add_backward(list *to, int l)
{
    const gpt_config *z = &to->w->z;
    const size_t T = (size_t)to->w->T, C = (size_t)z->C, FF = (size_t)z->FF, NH = (size_t)z->NH;
    add(to, l, "dres2",    NULL, 2, T, C, 1);
    add(to, l, "dfcproj",  NULL, 2, T, C, 1);
    add(to, l, "dgelu",    NULL, 2, T, FF, 1);
    add(to, l, "dfc",      NULL, 2, T, FF, 1);
    add(to, l, "dln2",     NULL, 2, T, C, 1);
    add(to, l, "dres1",    NULL, 2, T, C, 1);
    add(to, l, "dattproj", NULL, 2, T, C, 1);
    add(to, l, "dvalues",  NULL, 2, T, C, 1);
    add(to, l, "datt",     NULL, 3, NH, T, T);
    add(to, l, "dscaled",  NULL, 3, NH, T, T);
    add(to, l, "dq",       NULL, 2, T, C, 1);
    add(to, l, "dk",       NULL, 2, T, C, 1);
    add(to, l, "dv",       NULL, 2, T, C, 1);
    add(to, l, "dln1",     NULL, 2, T, C, 1);
    add(to, l, "dx",       NULL, 2, T, C, 1);
}

static void add_gradients(list *to, const gpt_tensor *tensors, size_t n)
{
    char name[sizeof ((gpt_stage *)NULL)->name];
    for (size_t i = 0; i < n; i++) {
        const gpt_tensor *t = &tensors[i];
        const size_t rows = (size_t)t->rows, cols = (size_t)t->cols;
        snprintf(name, sizeof name, "grad.%s", t->name);
        add(to, -1, name, to->w->grads + t->offset, t->vector ? 1 : 2, t->vector ? cols : rows,
            t->vector ? 1 : cols, 1);
    }
}

static void add_all(list *to, const gpt_tensor *tensors, size_t n)
{
    const gpt_config *z = &to->w->z;
    const gpt_acts_f64 *a = &to->w->acts;
    const size_t T = (size_t)to->w->T, C = (size_t)z->C, V = (size_t)z->V;
    add(to, -1, "embedded", a->embedded, 2, T, C, 1);
    for (int l = 0; l < z->L; l++) add_forward(to, l);
    add(to, -1, "lnf",      a->lnf,      2, T, C, 1);
    add(to, -1, "lnf_mean", a->lnf_mean, 1, T, 1, 1);
    add(to, -1, "lnf_rstd", a->lnf_rstd, 1, T, 1, 1);
    add(to, -1, "logits",   a->logits,   2, T, V, 1);
    add(to, -1, "loss",     a->loss,     1, T, 1, 1);
    add(to, -1, "dlogits",  a->back.dlogits, 2, T, V, 1);
    add(to, -1, "dlnf",     NULL,        2, T, C, 1);
    for (int l = z->L - 1; l >= 0; l--) add_backward(to, l);
    add(to, -1, "dembedded", NULL,       2, T, C, 1);
    add_gradients(to, tensors, n);
}

/* ---- memory ------------------------------------------------------------- */

static void *zeroed(size_t count, size_t size, const char *what, vt_status *s, vt_error *err)
{
    void *p = *s == VT_OK ? calloc(count ? count : 1, size) : NULL;
    if (!p && *s == VT_OK) *s = fail_memory(err, count > SIZE_MAX / size ? SIZE_MAX : count * size,
                                            what);
    return p;
}

/* What the gradients that are kept take, beside the activations. */
static vt_status keep(gpt_window *w, vt_error *err)
{
    const size_t n = gpt_tensor_count(&w->z);
    vt_status s = VT_OK;
    gpt_tensor *tensors = zeroed(n, sizeof *tensors, "the list of tensors", &s, err);
    w->stages = zeroed(gpt_window_stages(&w->z), sizeof *w->stages, "the list of stages", &s, err);
    if (s) goto done;
    gpt_tensor_list(&w->z, tensors);
    list count = { .w = w }, place = { .w = w };
    add_all(&count, tensors, n);
    if (count.overflow) s = fail(err, VT_TOO_LARGE, "a window of %d tokens: its sizes overflow", w->T);
    w->kept = zeroed(count.taken, sizeof(double), "gradients of a window", &s, err);
    place.next = w->kept;
    if (s == VT_OK) add_all(&place, tensors, n);
done:
    free(tensors);
    return s;
}

vt_status gpt_window_new(gpt_window *w, const gpt_config *z, const float *params, int T,
                         vt_error *err)
{
    *w = (gpt_window){ .z = *z, .T = T };
    if (T < 1 || T > z->T)
        return fail(err, VT_USAGE, "a window of %d tokens: expected 1 to %d, the positions of the "
                    "model", T, z->T);
    const size_t n = gpt_parameter_count(z), bytes = gpt_acts_bytes_f64(z, 1, T, T, true);
    const size_t C = (size_t)z->C, V = (size_t)z->V, FF = (size_t)z->FF;
    vt_status s = VT_OK;
    if (bytes == SIZE_MAX)
        return fail(err, VT_TOO_LARGE, "a window of %d tokens: its sizes overflow", T);
    w->block = zeroed(bytes + 64, 1, "the activations of a window", &s, err);
    w->params = zeroed(n, sizeof *w->params, "parameters", &s, err);
    w->grads = zeroed(n, sizeof *w->grads, "gradients", &s, err);
    w->head = zeroed(z->tied ? C * V : 1, sizeof *w->head, "the head", &s, err);
    w->scratch = zeroed(C * FF + FF, sizeof *w->scratch, "a gradient", &s, err);
    w->dloss = zeroed((size_t)T, sizeof *w->dloss, "a gradient", &s, err);
    if (s == VT_OK) {
        char *aligned = (char *)w->block + (64 - (uintptr_t)w->block % 64) % 64;
        gpt_acts_place_f64(&w->acts, aligned, z, 1, T, T, true);
        for (size_t i = 0; i < n; i++) w->params[i] = (double)params[i];
        s = keep(w, err);
    }
    if (s) gpt_window_free(w);
    return s;
}

void gpt_window_free(gpt_window *w)
{
    free(w->block);
    free(w->params);
    free(w->grads);
    free(w->head);
    free(w->scratch);
    free(w->dloss);
    free(w->kept);
    free(w->stages);
    *w = (gpt_window){ .T = 0 };
}

const gpt_stage *gpt_window_find(const gpt_window *w, const char *name)
{
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->stages[i].name, name) == 0) return &w->stages[i];
    return NULL;
}

/* ---- the run ------------------------------------------------------------ */

static void copy(const gpt_window *w, int layer, const char *name, const double *from)
{
    char full[sizeof w->stages->name];
    if (layer < 0) snprintf(full, sizeof full, "%s", name);
    else snprintf(full, sizeof full, "h.%d.%s", layer, name);
    const gpt_stage *s = gpt_window_find(w, full);
    if (s) memcpy(s->data, from, s->count * sizeof *from);
}

/* Where a parameter of a layer lies. */
static const double *layer_parameter(const gpt_window *w, int l, const char *name)
{
    char full[sizeof w->stages->name];
    snprintf(full, sizeof full, "grad.h.%d.%s", l, name);
    return w->params + (gpt_window_find(w, full)->data - w->grads);
}

/* The two that a layer's backward pass overwrites, again. */
static void compute_again(gpt_window *w, int l)
{
    const int T = w->T, C = w->z.C, FF = w->z.FF;
    const size_t TC = (size_t)T * (size_t)C;
    char name[sizeof w->stages->name];
    double *again[2];
    const char *names[] = { "dfcproj", "dln2" };
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "h.%d.%s", l, names[i]);
        again[i] = gpt_window_find(w, name)->data;
        memset(again[i], 0, TC * sizeof(double));
    }
    snprintf(name, sizeof name, "h.%d.dres2", l);
    double *skip = w->acts.back.dres_in;        /* free between two layers */
    memset(skip, 0, TC * sizeof *skip);
    ref_residual_backward_f64(skip, again[0], gpt_window_find(w, name)->data, TC);
    double *dw = w->scratch, *db = dw + (size_t)C * (size_t)FF;
    ref_linear_backward_f64(again[1], dw, db, w->acts.back.dfc, w->acts.layers[l].ln2,
                            layer_parameter(w, l, "fcw"), T, C, FF);
}

static void layer_backward(const gpt_model_f64 *m, gpt_window *w, const int *tokens, int l)
{
    gpt_back_f64 *g = &w->acts.back;
    copy(w, l, "dres2", g->dres);
    gpt_part_backward_f64(m, &w->acts, w->grads, tokens, l, 1, w->T);
    copy(w, l, "dgelu", g->dgelu);
    copy(w, l, "dfc", g->dfc);
    copy(w, l, "dres1", g->dres_in);            /* read last by the residual sum */
    copy(w, l, "dattproj", g->dbranch);
    copy(w, l, "dvalues", g->dvalues);
    copy(w, l, "datt", g->da);
    copy(w, l, "dscaled", g->ds);
    copy(w, l, "dq", g->dq);
    copy(w, l, "dk", g->dk);
    copy(w, l, "dv", g->dv);
    copy(w, l, "dln1", g->dln);
    copy(w, l, "dx", g->dres);
    compute_again(w, l);
}

static size_t counted(const gpt_window *w, const int *targets)
{
    size_t n = 0;
    for (int t = 0; t < w->T; t++) n += targets[t] != VT_IGNORE;
    return n;
}

static void find_loss(const gpt_model_f64 *m, gpt_window *w, const int *targets)
{
    const double n = (double)counted(w, targets);
    gpt_loss_f64(m, &w->acts, targets, 1, 1, w->T);
    w->loss = 0;
    for (int t = 0; t < w->T; t++) {
        w->loss += w->acts.loss[t];             /* 0 where it is not counted */
        w->dloss[t] = 1 / n;
    }
    w->loss /= n;
}

static void head_backward(const gpt_model_f64 *m, gpt_window *w, const int *tokens,
                          const int *targets)
{
    const int T = w->T, V = w->z.V;
    memset(w->grads, 0, gpt_parameter_count(&w->z) * sizeof *w->grads);
    memset(w->acts.back.dlogits, 0, (size_t)T * (size_t)V * sizeof(double));
    ref_crossentropy_backward_f64(w->acts.back.dlogits, w->dloss, w->acts.lse, w->acts.logits,
                                  targets, 1, T, V);
    gpt_part_backward_f64(m, &w->acts, w->grads, tokens, w->z.L, 1, T);
    copy(w, -1, "dlnf", w->acts.back.dln);
}

/* Embedding, layers, head; and back. */
size_t gpt_window_forward_pieces(const gpt_window *w) { return (size_t)w->z.L + 2; }
size_t gpt_window_pieces(const gpt_window *w)         { return 2 * gpt_window_forward_pieces(w); }

void gpt_window_piece(gpt_window *w, const int *tokens, const int *targets, size_t piece)
{
    const gpt_model_f64 m = { .z = w->z, .params = w->params, .head = w->head };
    const int L = w->z.L, at = (int)piece;
    const int part = at < L + 2 ? at - 1 : 2 * L + 2 - at;      /* -1, 0 .. L, L .. 0, -1 */
    if (at < L + 2) {
        if (at == 0) gpt_prepare_f64(&m);
        gpt_part_forward_f64(&m, &w->acts, tokens, part, 1, w->T);
        if (part == L) find_loss(&m, w, targets);
    } else if (part == L) {
        head_backward(&m, w, tokens, targets);
    } else if (part >= 0) {
        layer_backward(&m, w, tokens, part);
    } else {
        copy(w, -1, "dembedded", w->acts.back.dres);
        gpt_part_backward_f64(&m, &w->acts, w->grads, tokens, -1, 1, w->T);
    }
}

vt_status gpt_window_run(gpt_window *w, const int *tokens, const int *targets, vt_error *err)
{
    const int T = w->T, V = w->z.V;
    vt_status s;
    if ((s = gpt_check_ids(tokens, 1, (size_t)T, V, false, "tokens", err)) ||
        (s = gpt_check_ids(targets, 1, (size_t)T, V, true, "targets", err)))
        return s;
    if (counted(w, targets) == 0)
        return fail(err, VT_BAD_INPUT, "no targets: a window of %d token%s has no next token to "
                    "predict", T, T == 1 ? "" : "s");
    const size_t pieces = gpt_window_pieces(w);
    for (size_t i = 0; i < pieces; i++) gpt_window_piece(w, tokens, targets, i);
    return VT_OK;
}
