/* gradcheck_probes.c -- derivatives of single entries: complex step for each that is
 * compared, differences for some, _Float128 for those that fail.
 *
 * A derivative runs the whole model, so entries are shared out over threads, each
 * with models of its own, and each run starts at the entry's part: nothing below
 * moves.  Entries are taken from the last tensors to the first, so that what a
 * worker's earlier runs changed lies at or above the part where its next one starts.
 */
#include "verify/model/gradcheck_probes.h"
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include "base/cpu.h"
#include "base/rng.h"
#include "verify/model/gradcheck_chain.h"

#define STEP 1e-30

static void step_probe(void *context, size_t i, int worker)
{
    probes *w = context;
    check_model_c128 *x = &w->stepped[worker];
    probe *p = &w->at[i];
    if (atomic_load(&w->stop)) return;
    const double _Complex before = x->params[p->at];
    check_move_c128(x, p->at, before + STEP * (double _Complex)I);
    p->step = cimag(check_loss_c128(x, w->g->weight, p->part)) / STEP;  /* diff.complex */
    check_move_c128(x, p->at, before);
    probes_done(w, worker);
}

void probes_done(probes *w, int worker)
{
    const size_t done = atomic_fetch_add(&w->done, 1) + 1;
    if (worker == 0 && w->progress && w->progress(w->context, done, w->n))
        atomic_store(&w->stop, true);
}

/* f as differences.h wants it: of one parameter. */
typedef struct moving { check_model_f64 *x; const double *weight; const probe *p; } moving;

static double loss_at(void *context, double value)
{
    moving *v = context;
    check_move_f64(v->x, v->p->at, value);
    return check_loss_f64(v->x, v->weight, v->p->part);
}

static void differences_probe(void *context, size_t i, int worker)
{
    probes *w = context;
    check_model_f64 *x = &w->real[worker];
    probe *p = &w->at[w->few[i]];
    if (atomic_load(&w->stop)) return;
    const double before = x->params[p->at];
    moving v = { .x = x, .weight = w->g->weight, .p = p };
    const double size = fabs(w->g->f);
    const differences_function f = { .at = loss_at, .context = &v, .scale = p->scale,
                                     .noise = size > 0 ? w->g->noise / size : 0,
                                     .enough = 1e-8 };
    p->differences = differences_adaptive(&f, before);
    check_move_f64(x, p->at, before);
    if (worker == 0 && w->progress && w->progress(w->context, w->n, w->n))
        atomic_store(&w->stop, true);
}

double probes_direction(probes *w)
{
    const double *direction = w->direction;
    check_model_c128 *x = &w->stepped[0];
    const gradcheck_case *c = w->c;
    const size_t count = gpt_parameter_count(c->z);
    for (size_t i = 0; i < count; i++)
        x->params[i] = c->params[i] + STEP * direction[i] * (double _Complex)I;
    gpt_prepare_c128(&x->m);
    const double found = cimag(check_loss_c128(x, w->g->weight, -1)) / STEP; /* diff.complex */
    for (size_t i = 0; i < count; i++) x->params[i] = (double)c->params[i];
    gpt_prepare_c128(&x->m);                /* the next run starts from the embedding */
    return found;
}

/* Tensor i from the last: so runs begin as late as they can, see above. */
static void along_tensor(void *context, size_t i, int worker)
{
    probes *w = context;
    check_model_c128 *x = &w->stepped[worker];
    const size_t k = w->c->ntensors - 1 - i;
    const gpt_tensor *t = &w->c->tensors[k];
    if (atomic_load(&w->stop)) return;
    for (size_t at = t->offset; at < t->offset + t->count; at++)
        check_move_c128(x, at, w->c->params[at] + STEP * w->direction[at] * (double _Complex)I);
    w->along[k] = cimag(check_loss_c128(x, w->g->weight, probes_part(w->c, k))) / STEP; /* diff.complex */
    for (size_t at = t->offset; at < t->offset + t->count; at++)
        check_move_c128(x, at, (double)w->c->params[at]);
    if (worker == 0 && w->progress && w->n == 0 && w->progress(w->context, i + 1, w->c->ntensors))
        atomic_store(&w->stop, true);
}

int probes_part(const gradcheck_case *c, size_t tensor)
{
    const int layer = c->tensors[tensor].layer;
    return layer >= 0 ? layer : tensor < 2 ? -1 : c->z->L;
}

void probes_directions(probes *w)
{
    team_run(w->crew, w->c->ntensors, along_tensor, w);
}

vt_status probes_new(probes *w, vt_error *err)
{
    /* as many as fit half the memory: a large model is proven by fewer */
    const size_t memory = cpu_memory();
    size_t each = check_model_bytes_c128(w->c, false);
    if (!size_add(each, check_model_bytes_f64(w->c, false), &each)) each = SIZE_MAX;
    w->nworkers = w->c->threads;
    while (w->nworkers > 1 && memory > 0 && each > memory / 2 / (size_t)w->nworkers)
        w->nworkers--;
    if (memory > 0 && each > memory) return fail_memory(err, each, "the complex model");
    w->stepped = calloc((size_t)w->nworkers, sizeof *w->stepped);
    w->real = calloc((size_t)w->nworkers, sizeof *w->real);
    if (!w->stepped || !w->real)
        return fail_memory(err, (size_t)w->nworkers * sizeof *w->stepped, "the models");
    for (int i = 0; i < w->nworkers; i++) {
        vt_status s = check_model_new_c128(&w->stepped[i], w->c, false, err);
        if (s == VT_OK) s = check_model_new_f64(&w->real[i], w->c, false, err);
        if (s) return s;
    }
    return team_new(&w->crew, w->nworkers, 64, 64, err);
}

void probes_free(probes *w)
{
    for (int i = 0; i < w->nworkers; i++) {
        if (w->stepped) check_model_free_c128(&w->stepped[i]);
        if (w->real) check_model_free_f64(&w->real[i]);
    }
    team_free(w->crew);
    free(w->stepped);
    free(w->real);
    free(w->at);
    free(w->few);
    free(w->along);
}

static vt_status probes_stopped(const probes *w, vt_error *err)
{
    if (!atomic_load(&w->stop)) return VT_OK;
    return fail(err, VT_INTERRUPTED, "stopped after %zu of %zu entries", atomic_load(&w->done),
                w->n);
}

vt_status probes_run(probes *w, vt_error *err)
{
    vt_status s = VT_OK;
    if (w->n == 0) return probes_stopped(w, err);
    if (w->full || !chain_pays(w)) team_run(w->crew, w->n, step_probe, w);
    else if ((s = chain_run(w, err))) return s;
    team_run(w->crew, w->nfew, differences_probe, w);
    return probes_stopped(w, err);
}

/* ---- the arbiter ------------------------------------------------------- */

#if VT_FLOAT128
/* Five points: truncation h^4, rounding 1e-34 / h, each below 1e-20 of the scales
 * at h = 2^-20 of them. */
static double quad_derivative(check_model_f128 *x, const probes *w, const probe *p)
{
    const _Float128 before = x->params[p->at];
    const double h = ldexp(p->scale > 0 ? p->scale : 1, -20);
    _Float128 f[4];
    for (int k = 0; k < 4; k++) {
        check_move_f128(x, p->at, before + (_Float128)h * (k < 2 ? k - 2 : k - 1));
        f[k] = check_loss_f128(x, w->g->weight, p->part);
    }
    check_move_f128(x, p->at, before);
    return (double)((8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * (_Float128)h)); /* diff.five */
}

vt_status probes_arbitrate(const probes *w, const probe *p, double *value, vt_error *err)
{
    check_model_f128 x;
    const vt_status s = check_model_new_f128(&x, w->c, false, err);
    *value = s ? (double)NAN : quad_derivative(&x, w, p);
    check_model_free_f128(&x);
    return s;
}
#else
vt_status probes_arbitrate(const probes *w, const probe *p, double *value, vt_error *err)
{
    (void)w;
    (void)p;
    (void)err;
    *value = (double)NAN;
    return VT_OK;
}
#endif
