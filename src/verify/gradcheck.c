/* gradcheck.c -- see gradcheck.h.
 *
 * Complex step runs the whole model once an entry, so entries are shared out
 * over threads, each with a model of its own, and each run starts at the
 * entry's layer: nothing below moves.  Entries are taken from the last tensors
 * to the first, so that what a worker's earlier runs changed lies at or above
 * the layer where its next one starts.
 */
#include "verify/gradcheck.h"
#include <complex.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"

#define STEP 1e-30
#define EPS64 1.1102230246251565e-16    /* 2^-53: one rounding in double */
#define EPS32 5.9604644775390625e-08    /* 2^-24 */

/* One entry to differentiate. */
typedef struct probe { size_t at; double found; } probe;

typedef struct work {
    const gradcheck_case *c;
    double *params, *grads;         /* double definitions */
    double *weight;                 /* (N): of each row's loss */
    probe  *probes;                 /* nprobes, last tensor first */
    size_t  nprobes;
    int    *layer;                  /* (nprobes): where a run starts */
    struct complex_model *workers;
    int     nworkers;
    atomic_size_t done;
    atomic_bool stop;
    vt_check_progress *progress;
    void   *context;
    double  largest;                /* of all gradients */
} work;

/* A worker's own complex model over the window. */
typedef struct complex_model {
    gpt_model_c128 m;
    gpt_acts_c128  a;
    double _Complex *params, *head;
    void *memory;
} complex_model;

static vt_status complex_model_new(complex_model *x, const work *w, vt_error *err)
{
    const gradcheck_case *c = w->c;
    const gpt_config *z = c->z;
    const size_t n = gpt_parameter_count(z), size = sizeof(double _Complex);
    const size_t head = (size_t)z->C * (size_t)z->V;
    const size_t acts = gpt_acts_bytes_c128(z, c->B, c->T, c->T, false);
    *x = (complex_model){ .memory = NULL };
    if (acts != SIZE_MAX) x->memory = aligned_alloc(64, (acts + 63) / 64 * 64);
    x->params = malloc(n * size);
    x->head = malloc(head * size);
    if (!x->memory || !x->params || !x->head)
        return fail_memory(err, acts == SIZE_MAX ? acts : acts + (n + head) * size,
                           "the complex model");
    for (size_t i = 0; i < n; i++) x->params[i] = w->params[i];
    x->m = (gpt_model_c128){ .z = *z, .params = x->params, .head = x->head };
    gpt_acts_place_c128(&x->a, x->memory, z, c->B, c->T, c->T, false);
    gpt_prepare_c128(&x->m);
    gpt_forward_c128(&x->m, &x->a, c->tokens, NULL, c->B, c->T);
    return VT_OK;
}

static void complex_model_free(complex_model *x)
{
    free(x->memory);
    free(x->params);
    free(x->head);
}

/* Im f / h with the parameters as they are, from layer `first` on. */
static double derivative(complex_model *x, const work *w, int first)
{
    const gradcheck_case *c = w->c;
    double _Complex sum = 0;
    gpt_forward_from_c128(&x->m, &x->a, c->tokens, first, c->B, c->T);
    gpt_loss_c128(&x->m, &x->a, c->targets, 1, c->B, c->T);
    for (int n = 0; n < c->B * c->T; n++) sum += w->weight[n] * x->a.loss[n];
    return cimag(sum) / STEP;
}

/* wte moves a tied head too. */
static void move(complex_model *x, size_t at, double _Complex value)
{
    const gpt_config *z = &x->m.z;
    const size_t C = (size_t)z->C, V = (size_t)z->V;
    x->params[at] = value;
    if (z->tied && at < V * C) x->head[at % C * V + at / C] = value;
}

static void run_probe(void *context, size_t i, int worker)
{
    work *w = context;
    complex_model *x = &w->workers[worker];
    if (atomic_load(&w->stop)) return;
    const size_t at = w->probes[i].at;
    const double _Complex before = x->params[at];
    move(x, at, before + STEP * (double _Complex)I);
    w->probes[i].found = derivative(x, w, w->layer[i]);
    move(x, at, before);
    const size_t done = atomic_fetch_add(&w->done, 1) + 1;
    if (worker == 0 && w->progress && w->progress(w->context, done, w->nprobes))
        atomic_store(&w->stop, true);
}

/* ---- gradients --------------------------------------------------------- */

static vt_status gradient_f64(work *w, double *loss, vt_error *err)
{
    const gradcheck_case *c = w->c;
    const gpt_config *z = c->z;
    const size_t acts = gpt_acts_bytes_f64(z, c->B, c->T, c->T, true);
    const size_t head_bytes = (size_t)z->C * (size_t)z->V * sizeof(double);
    void *memory = acts == SIZE_MAX ? NULL : aligned_alloc(64, (acts + 63) / 64 * 64);
    double *head = malloc(head_bytes);
    vt_status s = VT_OK;
    if (!memory || !head) {
        s = fail_memory(err, acts, "the double model");
        goto done;
    }
    gpt_acts_f64 a;
    const gpt_model_f64 m = { .z = *z, .params = w->params, .head = head };
    gpt_acts_place_f64(&a, memory, z, c->B, c->T, c->T, true);
    gpt_prepare_f64(&m);
    gpt_forward_f64(&m, &a, c->tokens, NULL, c->B, c->T);
    gpt_loss_f64(&m, &a, c->targets, 1, c->B, c->T);
    gpt_backward_f64(&m, &a, w->grads, c->tokens, c->targets, w->weight, c->B, c->T);
    *loss = 0;
    for (int n = 0; n < c->B * c->T; n++) *loss += a.loss[n] / (c->B * c->T);
done:
    free(head);
    free(memory);
    return s;
}

/* The float definitions' gradient (kernels NULL) or the fast kernels'. */
static vt_status gradient_f32(const work *w, const ops *kernels, float *grads, vt_error *err)
{
    const gradcheck_case *c = w->c;
    const gpt_config *z = c->z;
    const int B = c->B, T = c->T;
    const size_t N = (size_t)(B * T);
    const size_t bytes = kernels ? gpt_acts_bytes_fast(z, B, T, T, true)
                                 : gpt_acts_bytes_f32(z, B, T, T, true);
    void *memory = bytes == SIZE_MAX ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
    float *head = malloc((size_t)z->C * (size_t)z->V * sizeof *head);
    float *weight = malloc(N * sizeof *weight);
    const ops_sizes sizes = { .B = B, .T = T, .C = z->C, .NH = z->NH, .HS = z->C / z->NH,
                              .FF = z->FF, .V = z->V };
    size_t worker, shared;
    team *crew = NULL;
    vt_status s = VT_OK;
    if (!memory || !head || !weight) {
        s = fail_memory(err, bytes, "the float model");
        goto done;
    }
    for (size_t n = 0; n < N; n++) weight[n] = (float)w->weight[n];
    if (!kernels) {
        gpt_acts_f32 a;
        const gpt_model_f32 m = { .z = *z, .params = c->params, .head = head };
        gpt_acts_place_f32(&a, memory, z, B, T, T, true);
        gpt_prepare_f32(&m);
        gpt_forward_f32(&m, &a, c->tokens, NULL, B, T);
        gpt_loss_f32(&m, &a, c->targets, 1, B, T);
        gpt_backward_f32(&m, &a, grads, c->tokens, c->targets, weight, B, T);
        goto done;
    }
    ops_scratch(&sizes, &worker, &shared);
    if ((s = team_new(&crew, c->threads, worker, shared, err))) goto done;
    gpt_acts_fast a;
    const gpt_model_fast m = { .z = *z, .params = c->params, .head = head, .kernels = kernels,
                               .team = crew };
    gpt_acts_place_fast(&a, memory, z, B, T, T, true);
    gpt_prepare_fast(&m);
    gpt_forward_fast(&m, &a, c->tokens, NULL, B, T);
    gpt_loss_fast(&m, &a, c->targets, 1, B, T);
    gpt_backward_fast(&m, &a, grads, c->tokens, c->targets, weight, B, T);
done:
    team_free(crew);
    free(weight);
    free(head);
    free(memory);
    return s;
}

/* ---- choosing entries -------------------------------------------------- */

/* Every second entry is sought where the gradient is not 0: of an embedding,
 * most rows belong to tokens that the window does not hold. */
static size_t choose(const work *w, const gpt_tensor *t, const vt_check_options *o, rng *r,
                     size_t *out, unsigned char *taken)
{
    const size_t want = o->every || (size_t)o->entries > t->count ? t->count
                                                                   : (size_t)o->entries;
    size_t n = 0;
    if (want == t->count) {
        for (; n < want; n++) out[n] = t->offset + n;
        return n;
    }
    memset(taken, 0, t->count);
    while (n < want) {
        size_t k = (size_t)rng_integers(r, 0, (int64_t)t->count);
        for (int tries = 0; n % 2 == 0 && tries < 200 && w->grads[t->offset + k] == 0; tries++)
            k = (size_t)rng_integers(r, 0, (int64_t)t->count);
        while (taken[k]) k = (k + 1) % t->count;
        taken[k] = 1;
        out[n++] = t->offset + k;
    }
    return n;
}

static size_t choose_all(work *w, const vt_check_options *o, vt_check_row *rows, size_t *room,
                         unsigned char *taken)
{
    const gradcheck_case *c = w->c;
    rng r;
    rng_stream_seed(&r, o->seed, RNG_VERIFY, 1);
    w->nprobes = 0;
    for (size_t k = c->ntensors; k-- > 0;) {            /* last tensor first */
        const gpt_tensor *t = &c->tensors[k];
        const size_t n = choose(w, t, o, &r, room, taken);
        const int start = t->layer >= 0 ? t->layer : k < 2 ? -1 : c->z->L;
        rows[k] = (vt_check_row){ .name = t->name, .compared = n, .of = t->count };
        for (size_t i = 0; i < n; i++) {
            w->layer[w->nprobes] = start;
            w->probes[w->nprobes++] = (probe){ .at = room[i], .found = (double)NAN };
        }
    }
    return w->nprobes;
}

/* ---- judging ----------------------------------------------------------- */

/* Additions on the longest path through the model and back. */
static double chain(const gradcheck_case *c)
{
    const gpt_config *z = c->z;
    const double layer = 3.0 * z->C + 2.0 * z->FF + 2.0 * c->T + 2.0 * z->C / z->NH + 20;
    return 2 * (z->L * layer + 2.0 * z->C + 2.0 * z->V + c->B * c->T);
}

static double largest_of(const double *x, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= largest)) largest = fabs(x[i]);
    return largest;
}

/* error / bound, where 0 / 0 is a pass and NaN is not */
static double share(double error, double bound)
{
    if (error == 0) return 0;
    const double used = error / bound;
    return isnan(used) ? (double)INFINITY : used;
}

static void judge_row(const work *w, vt_check_row *row, const gpt_tensor *t, const probe *p,
                      const float *g32, const float *fast)
{
    const double *g = w->grads + t->offset;
    const double largest = largest_of(g, t->count);
    double error32 = 0, error = 0;
    row->budget_used = row->fast_budget_used = -1;
    for (size_t i = 0; i < row->compared; i++) {
        const double found = w->grads[p[i].at], gap = fabs(found - p[i].found);
        const double used = share(gap, chain(w->c) * EPS64 * largest);
        if (used > row->budget_used) {
            row->budget_used = used;
            row->worst = share(gap, largest);
            row->worst_entry = p[i].at - t->offset;
            row->expected = p[i].found;
            row->found = found;
        }
    }
    for (size_t i = 0; i < t->count; i++) {
        const double a = fabs((double)g32[t->offset + i] - g[i]);
        const double b = fabs((double)fast[t->offset + i] - g[i]);
        if (!(a <= error32)) error32 = a;
        if (!(b <= error)) error = b;
    }
    row->fast_budget_used = share(error, 4 * error32 + 8 * EPS32 * largest);
    row->pass = row->compared > 0 && row->budget_used <= 1 && row->fast_budget_used <= 1;
}

/* One random Rademacher direction over all parameters, each tensor's part
 * scaled to its own size so that small parameters count too. */
static void direction(work *w, const vt_check_options *o, vt_check_report *report)
{
    const gradcheck_case *c = w->c;
    complex_model *x = &w->workers[0];
    double size = 0;
    rng r;
    rng_stream_seed(&r, o->seed, RNG_VERIFY, 0);
    report->direction_found = 0;
    for (size_t k = 0; k < c->ntensors; k++) {
        const gpt_tensor *t = &c->tensors[k];
        const double largest = largest_of(w->params + t->offset, t->count);
        const double scale = largest > 0 ? largest : 1;
        for (size_t i = t->offset; i < t->offset + t->count; i++) {
            const double d = rng_integers(&r, 0, 2) ? scale : -scale;
            x->params[i] += STEP * d * (double _Complex)I;
            report->direction_found += w->grads[i] * d;
            size += fabs(w->grads[i] * d);
        }
    }
    gpt_prepare_c128(&x->m);
    report->direction_expected = derivative(x, w, -1);
    report->direction_budget_used =
        share(fabs(report->direction_found - report->direction_expected),
              chain(c) * EPS64 * size);
    for (size_t i = 0; i < gpt_parameter_count(c->z); i++) x->params[i] = w->params[i];
    gpt_prepare_c128(&x->m);
    gpt_forward_c128(&x->m, &x->a, c->tokens, NULL, c->B, c->T);
}

static vt_status verdict(const work *w, vt_check_report *report, vt_error *err)
{
    const vt_check_row *bad = NULL;
    for (size_t k = 0; k < report->nrows; k++) {
        const vt_check_row *row = &report->rows[k];
        report->compared += row->compared;
        report->of += row->of;
        if (row->worst > report->worst) report->worst = row->worst;
        if (!row->pass && !bad) bad = row;
    }
    report->pass = !bad && report->direction_budget_used <= 1 && w->largest > 0;
    if (report->pass) return VT_OK;
    if (bad && bad->budget_used <= 1)
        return fail(err, VT_CHECK_FAILED, "%s: the %s kernels' gradient uses %.3g times its "
                    "bound", bad->name, report->isa, bad->fast_budget_used);
    if (bad)
        return fail(err, VT_CHECK_FAILED, "%s[%zu]: gradient %.17g, expected %.17g (complex "
                    "step): %.3g times its bound", bad->name, bad->worst_entry, bad->found,
                    bad->expected, bad->budget_used);
    if (!(w->largest > 0))
        return fail(err, VT_CHECK_FAILED, "every gradient is 0 or undefined: nothing was proven");
    return fail(err, VT_CHECK_FAILED, "the gradient along a random direction is %.17g, expected "
                "%.17g", report->direction_found, report->direction_expected);
}

/* ---- the whole check --------------------------------------------------- */

static vt_status make_workers(work *w, vt_error *err)
{
    w->nworkers = w->c->threads;
    w->workers = calloc((size_t)w->nworkers, sizeof *w->workers);
    if (!w->workers) return fail_memory(err, 0, "the complex models");
    for (int i = 0; i < w->nworkers; i++) {
        const vt_status s = complex_model_new(&w->workers[i], w, err);
        if (s) return s;
    }
    return VT_OK;
}

static vt_status prove(work *w, const vt_check_options *o, vt_check_report *report,
                       const float *g32, const float *fast, vt_error *err)
{
    const gradcheck_case *c = w->c;
    const size_t count = gpt_parameter_count(c->z);
    size_t *room = malloc(count * sizeof *room);
    unsigned char *taken = malloc(count);
    team *crew = NULL;
    vt_status s;
    w->probes = malloc(count * sizeof *w->probes);
    w->layer = malloc(count * sizeof *w->layer);
    if (!room || !taken || !w->probes || !w->layer) {
        s = fail_memory(err, count * 32, "the entries to compare");
        goto done;
    }
    if ((s = make_workers(w, err)) || (s = team_new(&crew, c->threads, 64, 64, err))) goto done;
    direction(w, o, report);
    choose_all(w, o, report->rows, room, taken);
    team_run(crew, w->nprobes, run_probe, w);
    if (atomic_load(&w->stop)) {
        s = fail(err, VT_INTERRUPTED, "stopped after %zu of %zu entries",
                 atomic_load(&w->done), w->nprobes);
        goto done;
    }
    const probe *p = w->probes;
    for (size_t k = c->ntensors; k-- > 0; p += report->rows[k].compared)
        judge_row(w, &report->rows[k], &c->tensors[k], p, g32, fast);
    s = verdict(w, report, err);
done:
    team_free(crew);
    free(taken);
    free(room);
    return s;
}

vt_status gradcheck_run(vt_check_report *report, const gradcheck_case *c,
                        const vt_check_options *o, vt_check_progress *progress, void *context,
                        vt_error *err)
{
    const size_t count = gpt_parameter_count(c->z), N = (size_t)(c->B * c->T);
    work w = { .c = c, .progress = progress, .context = context };
    float *g32 = calloc(count, sizeof *g32), *fast = calloc(count, sizeof *fast);
    rng r;
    vt_status s;
    *report = (vt_check_report){ .batch = c->B, .seq = c->T, .seed = o->seed,
                                 .isa = c->kernels->name, .nrows = c->ntensors };
    w.params = malloc(count * sizeof *w.params);
    w.grads = calloc(count, sizeof *w.grads);
    w.weight = malloc(N * sizeof *w.weight);
    report->rows = calloc(c->ntensors, sizeof *report->rows);
    if (!g32 || !fast || !w.params || !w.grads || !w.weight || !report->rows) {
        s = fail_memory(err, count * 24, "gradients");
        goto done;
    }
    for (size_t i = 0; i < count; i++) w.params[i] = (double)c->params[i];
    rng_stream_seed(&r, o->seed, RNG_VERIFY, 2);        /* no two rows weigh the same */
    for (size_t n = 0; n < N; n++)
        w.weight[n] = (double)(float)(rng_uniform(&r, 0.5, 1.5) / (double)N);
    if ((s = gradient_f64(&w, &report->loss, err)) || (s = gradient_f32(&w, NULL, g32, err)) ||
        (s = gradient_f32(&w, c->kernels, fast, err)))
        goto done;
    w.largest = largest_of(w.grads, count);
    s = prove(&w, o, report, g32, fast, err);
done:
    for (int i = 0; i < w.nworkers && w.workers; i++) complex_model_free(&w.workers[i]);
    free(w.workers);
    free(w.probes);
    free(w.layer);
    free(w.params);
    free(w.grads);
    free(w.weight);
    free(g32);
    free(fast);
    return s;
}
