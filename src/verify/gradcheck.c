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
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/rng.h"

#define STEP 1e-30
#define EPS64 1.1102230246251565e-16    /* 2^-53: one rounding in double */
#define EPS32 5.9604644775390625e-08    /* 2^-24 */
enum { NEIGHBOURS = 4 };

/* One entry to differentiate. */
typedef struct probe { size_t at; double found; } probe;

typedef struct work {
    const gradcheck_case *c;
    const gradcheck_grads *g;       /* what is judged */
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
    int   moved;                /* the layer where the last run's entry was: from
                                   there on, activations are not those of p */
} complex_model;

/* A block of activations, whose size may be SIZE_MAX (it overflows); NULL without
 * memory. */
static void *acts_block(size_t bytes)
{
    return bytes > SIZE_MAX - 63 ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

/* Of one worker's model; SIZE_MAX where that overflows. */
static size_t complex_model_bytes(const gradcheck_case *c)
{
    const size_t n = gpt_parameter_count(c->z), head = (size_t)c->z->C * (size_t)c->z->V;
    size_t total = gpt_acts_bytes_c128(c->z, c->B, c->T, c->T, false), scalars;
    if (!size_mul(n + head, sizeof(double _Complex), &scalars) ||
        !size_add(total, scalars, &total))
        return SIZE_MAX;
    return total;
}

static vt_status complex_model_new(complex_model *x, const work *w, vt_error *err)
{
    const gradcheck_case *c = w->c;
    const gpt_config *z = c->z;
    const size_t n = gpt_parameter_count(z), size = sizeof(double _Complex);
    const size_t head = (size_t)z->C * (size_t)z->V;
    *x = (complex_model){ .memory = acts_block(gpt_acts_bytes_c128(z, c->B, c->T, c->T, false)) };
    x->params = malloc(n * size);
    x->head = malloc(head * size);
    if (!x->memory || !x->params || !x->head)
        return fail_memory(err, complex_model_bytes(c), "the complex model");
    for (size_t i = 0; i < n; i++) x->params[i] = (double)c->params[i];
    x->moved = z->L;
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

/* Im f / h with the parameters as they are, moved from layer `first` on. */
static double derivative(complex_model *x, const work *w, int first)
{
    const gradcheck_case *c = w->c;
    double _Complex sum = 0;
    const int from = first < x->moved ? first : x->moved;
    x->moved = first;
    gpt_forward_from_c128(&x->m, &x->a, c->tokens, from, c->B, c->T);
    gpt_loss_c128(&x->m, &x->a, c->targets, 1, c->B, c->T);
    for (int n = 0; n < c->B * c->T; n++) sum += w->g->weight[n] * x->a.loss[n];
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

/* Of the sizes of n numbers; NaN where one is NaN. */
static double largest_of(const double *x, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n && !isnan(largest); i++)
        if (!(fabs(x[i]) <= largest)) largest = fabs(x[i]);
    return largest;
}

/* Likewise of the differences from `right`; where it is into *at. */
static double largest_gap(const float *x, const double *right, size_t n, size_t *at)
{
    double largest = 0;
    *at = 0;
    for (size_t i = 0; i < n && !isnan(largest); i++) {
        const double gap = fabs((double)x[i] - right[i]);
        if (gap <= largest) continue;
        largest = gap;
        *at = i;
    }
    return largest;
}

/* The definitions' gradient in double.  `loss` and `score` (the largest scaled
 * score of attention) may be NULL; with `shake`, each row's lse is first moved by
 * about an ulp of a float. */
static vt_status gradient_f64(const gradcheck_case *c, const float *at, const double *weights,
                              double *grads, double *loss, double *score, rng *shake,
                              vt_error *err)
{
    const gpt_config *z = c->z;
    const size_t count = gpt_parameter_count(z), T = (size_t)c->T;
    const size_t cells = (size_t)c->B * (size_t)z->NH * T * T;
    const size_t acts = gpt_acts_bytes_f64(z, c->B, c->T, c->T, true);
    void *memory = acts_block(acts);
    double *head = malloc((size_t)z->C * (size_t)z->V * sizeof *head);
    double *params = malloc(count * sizeof *params);
    vt_status s = VT_OK;
    if (!memory || !head || !params) {
        s = fail_memory(err, acts, "the double model");
        goto done;
    }
    gpt_acts_f64 a;
    const gpt_model_f64 m = { .z = *z, .params = params, .head = head };
    for (size_t i = 0; i < count; i++) params[i] = (double)at[i];
    gpt_acts_place_f64(&a, memory, z, c->B, c->T, c->T, true);
    gpt_prepare_f64(&m);
    gpt_forward_f64(&m, &a, c->tokens, NULL, c->B, c->T);
    gpt_loss_f64(&m, &a, c->targets, 1, c->B, c->T);
    for (int n = 0; shake && n < c->B * c->T; n++)
        a.lse[n] *= rng_integers(shake, 0, 2) ? 1 + EPS32 : 1 - EPS32;
    gpt_backward_f64(&m, &a, grads, c->tokens, c->targets, weights, c->B, c->T);
    for (int n = 0; loss && n < c->B * c->T; n++) *loss += a.loss[n] / (c->B * c->T);
    for (int l = 0; score && l < z->L; l++) {
        const double largest = largest_of(a.layers[l].scaled, cells);
        if (!(largest <= *score)) *score = largest;
    }
done:
    free(params);
    free(head);
    free(memory);
    return s;
}

/* The float definitions' gradient (kernels NULL) or the fast kernels'. */
static vt_status gradient_f32(const gradcheck_case *c, const float *at, const double *weights,
                              const ops *kernels, float *grads, vt_error *err)
{
    const gpt_config *z = c->z;
    const int B = c->B, T = c->T;
    const size_t N = (size_t)(B * T);
    const size_t bytes = kernels ? gpt_acts_bytes_fast(z, B, T, T, true)
                                 : gpt_acts_bytes_f32(z, B, T, T, true);
    void *memory = acts_block(bytes);
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
    for (size_t n = 0; n < N; n++) weight[n] = (float)weights[n];
    if (!kernels) {
        gpt_acts_f32 a;
        const gpt_model_f32 m = { .z = *z, .params = at, .head = head };
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
    const gpt_model_fast m = { .z = *z, .params = at, .head = head, .kernels = kernels,
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

/* Takes what is larger, but keeps a NaN. */
static void raise(double *largest, double x)
{
    if (!(x <= *largest) && !isnan(*largest)) *largest = x;
}

/* What rounding does to the gradient in float, of each tensor the largest:
 * g->rounding, the float definitions against the double ones at the parameters
 * and at NEIGHBOURS points around them, each parameter its next float up or
 * down (at one point roundings may cancel by luck); g->shaken, the double
 * definitions with lse moved (where p is 1 in float, p - 1 shows no error). */
static vt_status measure_rounding(gradcheck_grads *g, const gradcheck_case *c, uint64_t seed,
                                  vt_error *err)
{
    const size_t count = gpt_parameter_count(c->z);
    float *at = malloc(count * sizeof *at), *g32 = malloc(count * sizeof *g32);
    double *g64 = malloc(count * sizeof *g64), *moved = malloc(count * sizeof *moved);
    rng r;
    vt_status s = VT_OK;
    if (!at || !g32 || !g64 || !moved) {
        s = fail_memory(err, count * 24, "gradients");
        goto done;
    }
    rng_stream_seed(&r, seed, RNG_VERIFY, 4);
    for (int k = 0; k <= NEIGHBOURS; k++) {
        for (size_t i = 0; i < count; i++)
            at[i] = k == 0 ? c->params[i]
                  : nextafterf(c->params[i], rng_integers(&r, 0, 2) ? INFINITY : -INFINITY);
        memset(g32, 0, count * sizeof *g32);
        memset(g64, 0, count * sizeof *g64);
        memset(moved, 0, count * sizeof *moved);
        if ((s = gradient_f64(c, at, g->weight, g64, NULL, NULL, NULL, err)) ||
            (s = gradient_f64(c, c->params, g->weight, moved, NULL, NULL, &r, err)) ||
            (s = gradient_f32(c, at, g->weight, NULL, g32, err)))
            goto done;
        for (size_t i = 0; i < count; i++) moved[i] -= g->hand[i];
        for (size_t i = 0; i < c->ntensors; i++) {
            const gpt_tensor *t = &c->tensors[i];
            size_t where;
            raise(&g->rounding[i], largest_gap(g32 + t->offset, g64 + t->offset, t->count, &where));
            raise(&g->shaken[i], largest_of(moved + t->offset, t->count));
        }
    }
done:
    free(moved);
    free(g64);
    free(g32);
    free(at);
    return s;
}

vt_status gradcheck_compute(gradcheck_grads *g, const gradcheck_case *c, uint64_t seed,
                            vt_error *err)
{
    const size_t count = gpt_parameter_count(c->z), B = (size_t)c->B, T = (size_t)c->T;
    rng r;
    vt_status s;
    *g = (gradcheck_grads){ .loss = 0 };
    if (T > INT_MAX / B) return fail(err, VT_TOO_LARGE, "%d x %d tokens: too many", c->B, c->T);
    if ((s = gpt_check_ids(c->tokens, B, T, c->z->V, false, "tokens", err)) ||
        (s = gpt_check_ids(c->targets, B, T, c->z->V, true, "targets", err)))
        return s;
    g->weight = malloc(B * T * sizeof *g->weight);
    g->hand = calloc(count, sizeof *g->hand);
    g->fast = calloc(count, sizeof *g->fast);
    g->rounding = calloc(c->ntensors, sizeof *g->rounding);
    g->shaken = calloc(c->ntensors, sizeof *g->shaken);
    if (!g->weight || !g->hand || !g->fast || !g->rounding || !g->shaken) {
        s = fail_memory(err, count * 12, "gradients");
        goto done;
    }
    rng_stream_seed(&r, seed, RNG_VERIFY, 2);           /* no two rows weigh the same */
    for (size_t n = 0; n < B * T; n++)
        g->weight[n] = (double)(float)(rng_uniform(&r, 0.5, 1.5) / (double)(B * T));
    if ((s = gradient_f64(c, c->params, g->weight, g->hand, &g->loss, &g->score, NULL, err)) ||
        (s = gradient_f32(c, c->params, g->weight, c->kernels, g->fast, err)))
        goto done;
    s = measure_rounding(g, c, seed, err);
done:
    if (s) gradcheck_free(g);
    return s;
}

void gradcheck_free(gradcheck_grads *g)
{
    free(g->weight);
    free(g->hand);
    free(g->fast);
    free(g->rounding);
    free(g->shaken);
    *g = (gradcheck_grads){ .loss = 0 };
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
        for (int tries = 0; n % 2 == 0 && tries < 200 && w->g->hand[t->offset + k] == 0; tries++)
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

/* error / bound, where 0 / 0 is a pass; NaN and an infinite bound are not */
static double share(double error, double bound)
{
    if (error == 0 && bound >= 0) return 0;
    const double used = error / bound;
    return isfinite(used) && isfinite(bound) ? used : (double)INFINITY;
}

/* The bounds of one tensor, as gradcheck.h derives them. */
typedef struct bounds { double definitions, fast, largest; } bounds;

static bounds bounds_of(const work *w, size_t tensor)
{
    const gpt_tensor *t = &w->c->tensors[tensor];
    const double largest = largest_of(w->g->hand + t->offset, t->count);
    const double measured = w->g->rounding[tensor];
    const double r = (measured > largest ? largest : measured)     /* NaN stays */
                   + w->g->shaken[tensor];
    return (bounds){ .largest = largest,
        .definitions = 64 * (r * (EPS64 / EPS32) + EPS64 * largest),
        .fast = 8 * (r + EPS32 * largest * (1 + w->g->score)) };
}

static void judge_row(const work *w, vt_check_row *row, size_t tensor, const probe *p)
{
    const gpt_tensor *t = &w->c->tensors[tensor];
    const bounds b = bounds_of(w, tensor);
    row->budget_used = -1;
    for (size_t i = 0; i < row->compared; i++) {
        const double found = w->g->hand[p[i].at], gap = fabs(found - p[i].found);
        const double used = share(gap, b.definitions);
        if (used > row->budget_used) {
            row->budget_used = used;
            row->worst = share(gap, b.largest);
            row->worst_entry = p[i].at - t->offset;
            row->expected = p[i].found;
            row->found = found;
        }
    }
    const float *fast = w->g->fast + t->offset;
    const double *hand = w->g->hand + t->offset;
    row->fast_budget_used = share(largest_gap(fast, hand, t->count, &row->fast_entry), b.fast);
    row->fast_expected = hand[row->fast_entry];
    row->fast_found = (double)fast[row->fast_entry];
    row->pass = row->compared > 0 && row->budget_used <= 1 && row->fast_budget_used <= 1;
}

/* A sum that keeps what rounding takes from it (Kahan 1965, Neumaier 1974). */
typedef struct exact_sum { double sum, lost; } exact_sum;

static void add(exact_sum *s, double x)
{
    const double sum = s->sum + x;
    s->lost += fabs(s->sum) >= fabs(x) ? (s->sum - sum) + x : (x - sum) + s->sum;
    s->sum = sum;
}

/* One random Rademacher direction over all parameters, each tensor's part
 * scaled to its own size so that small parameters count too. */
static void direction(work *w, const vt_check_options *o, vt_check_report *report)
{
    const gradcheck_case *c = w->c;
    complex_model *x = &w->workers[0];
    const double *g = w->g->hand;
    exact_sum found = { 0 };
    double squares = 0;
    rng r;
    rng_stream_seed(&r, o->seed, RNG_VERIFY, 0);
    for (size_t k = 0; k < c->ntensors; k++) {
        const gpt_tensor *t = &c->tensors[k];
        double scale = 0;
        for (size_t i = t->offset; i < t->offset + t->count; i++)
            if (fabs((double)c->params[i]) > scale) scale = fabs((double)c->params[i]);
        if (scale == 0) scale = 1;
        for (size_t i = t->offset; i < t->offset + t->count; i++) {
            const double d = rng_integers(&r, 0, 2) ? scale : -scale;
            x->params[i] += STEP * d * (double _Complex)I;
            add(&found, g[i] * d);
        }
        const double entry = scale * bounds_of(w, k).definitions;
        squares += entry * entry * (double)t->count;
    }
    gpt_prepare_c128(&x->m);
    report->direction_found = found.sum + found.lost;
    report->direction_expected = derivative(x, w, -1);
    report->direction_budget_used =
        share(fabs(report->direction_found - report->direction_expected),
              sqrt(squares));
    for (size_t i = 0; i < gpt_parameter_count(c->z); i++) x->params[i] = (double)c->params[i];
    gpt_prepare_c128(&x->m);                /* the next run starts from the embedding */
}

/* The backward pass goes from the last tensor to the first, and a wrong number
 * spoils what comes behind it: the failing tensor that it meets first lies nearest
 * to the cause.  Where the definitions are wrong, the fast kernels that agree with
 * them, or do not, say little: definitions go first. */
static const vt_check_row *nearest(const vt_check_report *report)
{
    const vt_check_row *fast = NULL;
    for (size_t k = report->nrows; k-- > 0;) {
        const vt_check_row *row = &report->rows[k];
        if (row->pass) continue;
        if (!(row->budget_used <= 1)) return row;
        if (!fast) fast = row;
    }
    return fast;
}

static vt_status say_nearest(const vt_check_report *report, const vt_check_row *bad, vt_error *err)
{
    const bool fast = bad->budget_used <= 1;
    const double used = fast ? bad->fast_budget_used : bad->budget_used;
    char others[120] = "", times[40] = "no bound: NaN or Inf";
    if (isfinite(used)) snprintf(times, sizeof times, "%.3g times its bound", used);
    if (report->failed > 1)
        snprintf(others, sizeof others, "; first of %zu failing tensors in the order of the "
                 "backward pass", report->failed);
    if (fast)
        return fail(err, VT_CHECK_FAILED, "%s[%zu]: the %s kernels' gradient is %.9g, expected "
                    "%.9g (definitions): %s%s", bad->name, bad->fast_entry, report->isa,
                    bad->fast_found, bad->fast_expected, times, others);
    return fail(err, VT_CHECK_FAILED, "%s[%zu]: gradient %.17g, expected %.17g (complex step): "
                "%s%s", bad->name, bad->worst_entry, bad->found, bad->expected, times, others);
}

static vt_status verdict(const work *w, vt_check_report *report, vt_error *err)
{
    for (size_t k = 0; k < report->nrows; k++) {
        const vt_check_row *row = &report->rows[k];
        report->compared += row->compared;
        report->of += row->of;
        report->failed += !row->pass;
        if (row->worst > report->worst) report->worst = row->worst;
    }
    report->pass = report->failed == 0 && report->direction_budget_used <= 1 && w->largest > 0;
    if (report->pass) return VT_OK;
    if (report->failed) return say_nearest(report, nearest(report), err);
    if (!(w->largest > 0))
        return fail(err, VT_CHECK_FAILED, "every gradient is 0 or undefined: nothing was proven");
    return fail(err, VT_CHECK_FAILED, "the gradient along a random direction is %.17g, expected "
                "%.17g", report->direction_found, report->direction_expected);
}

/* ---- the whole check --------------------------------------------------- */

static vt_status make_workers(work *w, vt_error *err)
{
    /* as many as fit half the memory: a large model is proven by fewer */
    const size_t memory = cpu_memory(), each = complex_model_bytes(w->c);
    w->nworkers = w->c->threads;
    while (w->nworkers > 1 && memory > 0 && each > memory / 2 / (size_t)w->nworkers)
        w->nworkers--;
    if (memory > 0 && each > memory) return fail_memory(err, each, "the complex model");
    w->workers = calloc((size_t)w->nworkers, sizeof *w->workers);
    if (!w->workers)
        return fail_memory(err, (size_t)w->nworkers * sizeof *w->workers, "the complex models");
    for (int i = 0; i < w->nworkers; i++) {
        const vt_status s = complex_model_new(&w->workers[i], w, err);
        if (s) return s;
    }
    return VT_OK;
}

static vt_status prove(work *w, const vt_check_options *o, vt_check_report *report,
                       vt_error *err)
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
    if ((s = make_workers(w, err)) || (s = team_new(&crew, w->nworkers, 64, 64, err))) goto done;
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
        judge_row(w, &report->rows[k], k, p);
    s = verdict(w, report, err);
done:
    team_free(crew);
    free(taken);
    free(room);
    return s;
}

vt_status gradcheck_judge(vt_check_report *report, const gradcheck_case *c,
                          const gradcheck_grads *g, const vt_check_options *o,
                          vt_check_progress *progress, void *context, vt_error *err)
{
    work w = { .c = c, .g = g, .progress = progress, .context = context,
               .largest = largest_of(g->hand, gpt_parameter_count(c->z)) };
    vt_status s;
    *report = (vt_check_report){ .batch = c->B, .seq = c->T, .seed = o->seed, .loss = g->loss,
                                 .isa = c->kernels->name, .nrows = c->ntensors };
    report->rows = calloc(c->ntensors, sizeof *report->rows);
    if (report->rows) s = prove(&w, o, report, err);
    else s = fail_memory(err, c->ntensors * sizeof *report->rows, "the report");
    for (int i = 0; i < w.nworkers && w.workers; i++) complex_model_free(&w.workers[i]);
    free(w.workers);
    free(w.probes);
    free(w.layer);
    return s;
}

vt_status gradcheck_run(vt_check_report *report, const gradcheck_case *c,
                        const vt_check_options *o, vt_check_progress *progress, void *context,
                        vt_error *err)
{
    gradcheck_grads g;
    *report = (vt_check_report){ .rows = NULL };
    vt_status s = gradcheck_compute(&g, c, o->seed, err);
    if (s) return s;
    s = gradcheck_judge(report, c, &g, o, progress, context, err);
    gradcheck_free(&g);
    return s;
}
