/* exact.c -- see exact.h. */
#include "verify/model/exact.h"
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"

/* What a run leaves, all in double: a float fits, bit for bit. */
typedef struct outcome {
    double *logits, *loss, *grads, *dinput;     /* (N, V), (N), (params), (N, C) */
    bool    written;                            /* an input was changed */
    char    what[16];
} outcome;

typedef struct suite {
    const gradcheck_case *c;
    const gradcheck_grads *g;
    bool     fast;                  /* the kernels, else the definitions */
    size_t   N, V, C, count;
    int     *tokens;                /* (N): of the next run */
    double  *weight;                /* (N): likewise */
    outcome  first, other;
    rng      r;
    vt_check_report *report;
} suite;

static bool outcome_new(outcome *o, const suite *s)
{
    *o = (outcome){ .logits = calloc(s->N * s->V, sizeof(double)),
                    .loss = calloc(s->N, sizeof(double)),
                    .grads = calloc(s->count, sizeof(double)),
                    .dinput = calloc(s->N * s->C, sizeof(double)) };
    return o->logits && o->loss && o->grads && o->dinput;
}

static void outcome_free(outcome *o)
{
    free(o->logits);
    free(o->loss);
    free(o->grads);
    free(o->dinput);
}

/* Copies of the inputs, as a kernel gets them, and whether it changed them. */
typedef struct inputs {
    void *params, *weight;
    int  *tokens, *targets;
} inputs;

static void inputs_free(inputs *in)
{
    free(in->params);
    free(in->weight);
    free(in->tokens);
    free(in->targets);
}

static bool inputs_new(inputs *in, const suite *s, size_t size)
{
    *in = (inputs){ .params = malloc(s->count * size), .weight = malloc(s->N * size),
                    .tokens = malloc(s->N * sizeof(int)), .targets = malloc(s->N * sizeof(int)) };
    if (!in->params || !in->weight || !in->tokens || !in->targets) return false;
    for (size_t i = 0; i < s->count; i++)
        if (s->fast) ((float *)in->params)[i] = s->c->params[i];
        else ((double *)in->params)[i] = (double)s->c->params[i];
    for (size_t i = 0; i < s->N; i++)
        if (s->fast) ((float *)in->weight)[i] = (float)s->weight[i];
        else ((double *)in->weight)[i] = s->weight[i];
    memcpy(in->tokens, s->tokens, s->N * sizeof(int));
    memcpy(in->targets, s->c->targets, s->N * sizeof(int));
    return true;
}

static void inputs_compare(const inputs *in, const suite *s, outcome *o)
{
    const char *what = NULL;
    for (size_t i = 0; i < s->count; i++)
        if ((s->fast ? memcmp((float *)in->params + i, s->c->params + i, sizeof(float)) != 0
                     : ((double *)in->params)[i] != (double)s->c->params[i]))
            what = "parameters";
    for (size_t i = 0; i < s->N; i++)
        if ((s->fast ? (double)((float *)in->weight)[i] != (double)(float)s->weight[i]
                     : ((double *)in->weight)[i] != s->weight[i]))
            what = "dloss";
    if (memcmp(in->tokens, s->tokens, s->N * sizeof(int)) != 0) what = "tokens";
    if (memcmp(in->targets, s->c->targets, s->N * sizeof(int)) != 0) what = "targets";
    o->written = o->written || what;
    if (what) snprintf(o->what, sizeof o->what, "%s", what);
}

/* Forward, loss, and backward `times` times into one gradient. */
static vt_status run_definitions(const suite *s, int times, outcome *o, vt_error *err)
{
    const gradcheck_case *c = s->c;
    const size_t bytes = gpt_acts_bytes_f64(c->z, c->B, c->T, c->T, true);
    void *memory = gradcheck_acts(bytes);
    double *head = malloc(s->C * s->V * sizeof *head);
    inputs in = { .params = NULL };
    vt_status status = VT_OK;
    if (!memory || !head || !inputs_new(&in, s, sizeof(double))) {
        status = fail_memory(err, bytes, "the double model");
        goto done;
    }
    gpt_acts_f64 a;
    const gpt_model_f64 m = { .z = *c->z, .params = in.params, .head = head };
    gpt_acts_place_f64(&a, memory, c->z, c->B, c->T, c->T, true);
    gpt_prepare_f64(&m);
    gpt_forward_f64(&m, &a, in.tokens, NULL, c->B, c->T);
    gpt_loss_f64(&m, &a, in.targets, 1, c->B, c->T);
    memset(o->grads, 0, s->count * sizeof *o->grads);
    for (int i = 0; i < times; i++)
        gpt_backward_f64(&m, &a, o->grads, in.tokens, in.targets, in.weight, c->B, c->T);
    memcpy(o->logits, a.logits, s->N * s->V * sizeof *o->logits);
    memcpy(o->loss, a.loss, s->N * sizeof *o->loss);
    memcpy(o->dinput, a.back.dres, s->N * s->C * sizeof *o->dinput);
    inputs_compare(&in, s, o);
done:
    inputs_free(&in);
    free(head);
    free(memory);
    return status;
}

static void widen(double *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) out[i] = (double)x[i];
}

static vt_status run_fast(const suite *s, int threads, int times, outcome *o, vt_error *err)
{
    const gradcheck_case *c = s->c;
    const gpt_config *z = c->z;
    const size_t bytes = gpt_acts_bytes_fast(z, c->B, c->T, c->T, true);
    void *memory = gradcheck_acts(bytes);
    float *head = malloc(s->C * s->V * sizeof *head), *grads = calloc(s->count, sizeof *grads);
    const ops_sizes sizes = { .B = c->B, .T = c->T, .C = z->C, .NH = z->NH, .HS = z->C / z->NH,
                              .FF = z->FF, .V = z->V };
    inputs in = { .params = NULL };
    team *crew = NULL;
    size_t worker, shared;
    vt_status status;
    ops_scratch(&sizes, &worker, &shared);
    if (!memory || !head || !grads || !inputs_new(&in, s, sizeof(float))) {
        status = fail_memory(err, bytes, "the float model");
        goto done;
    }
    if ((status = team_new(&crew, threads, worker, shared, err))) goto done;
    gpt_acts_fast a;
    const gpt_model_fast m = { .z = *z, .params = in.params, .head = head, .kernels = c->kernels,
                               .team = crew };
    gpt_acts_place_fast(&a, memory, z, c->B, c->T, c->T, true);
    gpt_prepare_fast(&m);
    gpt_forward_fast(&m, &a, in.tokens, NULL, c->B, c->T);
    gpt_loss_fast(&m, &a, in.targets, 1, c->B, c->T);
    for (int i = 0; i < times; i++)
        gpt_backward_fast(&m, &a, grads, in.tokens, in.targets, in.weight, c->B, c->T);
    widen(o->logits, a.logits, s->N * s->V);
    widen(o->loss, a.loss, s->N);
    widen(o->grads, grads, s->count);
    widen(o->dinput, a.back.dres, s->N * s->C);
    inputs_compare(&in, s, o);
done:
    team_free(crew);
    inputs_free(&in);
    free(grads);
    free(head);
    free(memory);
    return status;
}

static vt_status run(const suite *s, int threads, int times, outcome *o, vt_error *err)
{
    return s->fast ? run_fast(s, threads, times, o, err) : run_definitions(s, times, o, err);
}

/* ---- rows -------------------------------------------------------------- */

static vt_check_exact *new_row(const suite *s, const char *name)
{
    vt_check_exact *row = &s->report->exact[s->report->nexact++];
    *row = (vt_check_exact){ .pass = true };
    snprintf(row->name, sizeof row->name, "%s, %s", name,
             s->fast ? s->c->kernels->name : "definitions");
    return row;
}

VT_PRINTF(2, 3)
static void break_row(vt_check_exact *row, const char *format, ...)
{
    if (!row->pass) return;             /* the first is named */
    va_list args;
    va_start(args, format);
    vsnprintf(row->detail, sizeof row->detail, format, args);
    va_end(args);
    row->pass = false;
}

static void same_bits(vt_check_exact *row, const double *a, const double *b, size_t n,
                      const char *what)
{
    row->compared += n;
    for (size_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a) != 0)
            break_row(row, "%s: number %zu is %.9g and %.9g", what, i, a[i], b[i]);
}

static void same_outcome(const suite *s, vt_check_exact *row)
{
    same_bits(row, s->first.logits, s->other.logits, s->N * s->V, "logits");
    same_bits(row, s->first.loss, s->other.loss, s->N, "loss");
    same_bits(row, s->first.grads, s->other.grads, s->count, "gradient");
}

/* The positions before which a prefix ends: 1, the middle, the last. */
static int prefixes(const suite *s, int out[3])
{
    const int T = s->c->T, at[3] = { 1, T / 2, T - 1 };
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (at[i] >= 1 && at[i] < T && (n == 0 || at[i] > out[n - 1])) out[n++] = at[i];
    return n;
}

/* s->first is the run of the window itself. */
static vt_status causality(suite *s, vt_error *err)
{
    vt_check_exact *row = new_row(s, "causality");
    const size_t T = (size_t)s->c->T;
    int p[3];
    const int n = s->V > 1 ? prefixes(s, p) : 0;
    if (n == 0) snprintf(row->detail, sizeof row->detail, "one position or one token has no other suffix");
    for (int k = 0; k < n; k++) {
        for (size_t i = 0; i < s->N; i++)
            s->tokens[i] = (int)(i % T) < p[k] ? s->c->tokens[i]
                : (int)(((size_t)s->c->tokens[i] +
                         (size_t)rng_integers(&s->r, 1, (int64_t)s->V)) % s->V);
        const vt_status status = run(s, s->c->threads, 1, &s->other, err);
        if (status) return status;
        for (size_t b = 0; b < (size_t)s->c->B; b++)
            same_bits(row, s->first.logits + b * T * s->V, s->other.logits + b * T * s->V,
                      (size_t)p[k] * s->V, "logits before another suffix");
    }
    memcpy(s->tokens, s->c->tokens, s->N * sizeof *s->tokens);
    return VT_OK;
}

static vt_status no_future(suite *s, vt_error *err)
{
    vt_check_exact *row = new_row(s, "no gradient to the future");
    const size_t T = (size_t)s->c->T;
    int p[3];
    const int n = prefixes(s, p);
    size_t moving = 0;
    for (int k = 0; k < n; k++) {
        for (size_t i = 0; i < s->N; i++) s->weight[i] = (int)(i % T) < p[k] ? s->g->weight[i] : 0;
        const vt_status status = run(s, s->c->threads, 1, &s->other, err);
        if (status) return status;
        for (size_t i = 0; i < s->N * s->C; i++) {
            const size_t t = i / s->C % T;
            const double d = s->other.dinput[i];
            if ((int)t < p[k]) {
                moving += d != 0;
                continue;
            }
            row->compared++;
            if (!(d == 0))
                break_row(row, "d loss[t < %d] / d input[t = %zu, channel %zu] is %.9g", p[k], t,
                          i % s->C, d);
        }
    }
    if (moving == 0) row->compared = 0;         /* zeros everywhere tell nothing */
    if (row->compared == 0)
        snprintf(row->detail, sizeof row->detail, "%s",
                 n == 0 ? "one position has no future" : "the prefix has no gradient either");
    memcpy(s->weight, s->g->weight, s->N * sizeof *s->weight);
    return VT_OK;
}

static vt_status repeatable(suite *s, vt_error *err)
{
    const vt_status status = run(s, s->c->threads, 1, &s->other, err);
    if (status == VT_OK) same_outcome(s, new_row(s, "repeatable"));
    return status;
}

static vt_status threads_agree(suite *s, vt_error *err)
{
    static const int threads[] = { 1, 2, 3, 7 };
    vt_check_exact *row = new_row(s, "1, 2, 3, 7 threads");
    for (int k = 0; k < 4; k++) {
        const vt_status status = run(s, threads[k], 1, &s->other, err);
        if (status) return status;
        same_outcome(s, row);
    }
    return VT_OK;
}

static vt_status doubling(suite *s, vt_error *err)
{
    vt_check_exact *row = new_row(s, "doubling");
    const double least = s->fast ? (double)FLT_MIN : DBL_MIN;
    for (size_t i = 0; i < s->N; i++) s->weight[i] = 2 * s->g->weight[i];
    const vt_status status = run(s, s->c->threads, 1, &s->other, err);
    if (status) return status;
    row->compared = s->count;
    for (size_t i = 0; i < s->count; i++)
        if (!(fabs(s->other.grads[i] - 2 * s->first.grads[i]) <= least))
            break_row(row, "gradient %zu is %.9g, and %.9g from twice the upstream", i,
                      s->first.grads[i], s->other.grads[i]);
    memcpy(s->weight, s->g->weight, s->N * sizeof *s->weight);
    return VT_OK;
}

static vt_status accumulates(suite *s, vt_error *err)
{
    vt_check_exact *row = new_row(s, "backward accumulates");
    const vt_status status = run(s, s->c->threads, 2, &s->other, err);
    if (status) return status;
    for (size_t k = 0; k < s->c->ntensors; k++) {
        const gpt_tensor *t = &s->c->tensors[k];
        const gradcheck_bounds b = gradcheck_bounds_of(s->c, s->g, k);
        const double bound = 2 * (s->fast ? b.fast : b.definitions);
        row->compared += t->count;
        for (size_t i = 0; i < t->count; i++) {
            const double once = s->first.grads[t->offset + i], twice = s->other.grads[t->offset + i];
            if (!(fabs(twice - 2 * once) <= bound))
                break_row(row, "%s[%zu]: %.9g once, %.9g twice", t->name, i, once, twice);
        }
    }
    return VT_OK;
}

static void unwritten(suite *s)
{
    vt_check_exact *row = new_row(s, "inputs unwritten");
    row->compared = s->count + 3 * s->N;
    if (s->first.written) break_row(row, "%s", s->first.what);
    if (s->other.written) break_row(row, "%s", s->other.what);
}

static vt_status run_suite(suite *s, vt_error *err)
{
    vt_status status = run(s, s->c->threads, 1, &s->first, err);
    if (status || (status = causality(s, err)) || (status = no_future(s, err)) ||
        (status = repeatable(s, err)) || (s->fast && (status = threads_agree(s, err))) ||
        (status = doubling(s, err)) || (status = accumulates(s, err)))
        return status;
    unwritten(s);
    return VT_OK;
}

enum { ROWS = 7 };                      /* of one suite at most */

vt_status exact_checks(vt_check_report *report, const gradcheck_case *c, const gradcheck_grads *g,
                       uint64_t seed, vt_error *err)
{
    suite s = { .c = c, .g = g, .N = (size_t)c->B * (size_t)c->T, .V = (size_t)c->z->V,
                .C = (size_t)c->z->C, .count = gpt_parameter_count(c->z), .report = report };
    vt_check_exact *rows = realloc(report->exact, (report->nexact + 2 * ROWS) * sizeof *rows);
    vt_status status = VT_OK;
    if (!rows) return fail_memory(err, 2 * ROWS * sizeof *rows, "the report");
    report->exact = rows;
    s.tokens = malloc(s.N * sizeof *s.tokens);
    s.weight = malloc(s.N * sizeof *s.weight);
    const bool memory = outcome_new(&s.first, &s), more = outcome_new(&s.other, &s);
    if (!s.tokens || !s.weight || !memory || !more) {
        status = fail_memory(err, s.count * 16, "two runs");
        goto done;
    }
    rng_stream_seed(&s.r, seed, RNG_VERIFY, 5);
    memcpy(s.tokens, c->tokens, s.N * sizeof *s.tokens);
    memcpy(s.weight, g->weight, s.N * sizeof *s.weight);
    for (int fast = 0; fast < 2 && status == VT_OK; fast++) {
        s.fast = fast == 1;
        s.first.written = s.other.written = false;
        status = run_suite(&s, err);
    }
done:
    outcome_free(&s.first);
    outcome_free(&s.other);
    free(s.weight);
    free(s.tokens);
    return status;
}
