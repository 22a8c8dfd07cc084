/* case_attention.c -- attention at the sizes of real models, forward and forward +
 * backward, with q, k, v inside one (B, T, 3C) tensor as in a training step.
 *
 * Verified: the last LAST queries and keys of the first and of the last head, in double.
 * A query's row needs all the keys before it, but the gradient of a key only the queries
 * from it on: so the last of both cost LAST T, not T^2.  What is wrong for other rows only
 * is for tests/test_attention_fast.c to find, at smaller sizes; the bounds are those that
 * are derived there, gradients starting from 0.
 *
 * The targets are shares of the limit, which multiply-adds set at these sizes; at T 65,536
 * it is the memory: no T x T is ever held.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/cases.h"
#include "bench/work.h"

enum { LAST = 24 };
static const double U = 0x1p-24;
static const struct { int B, T, NH, HS; bool both; } shapes[] = {
    { 4, 64, 12, 64, false },   { 4, 64, 12, 64, true },
    { 4, 256, 12, 64, false },  { 4, 256, 12, 64, true },
    { 4, 1024, 12, 64, false }, { 4, 1024, 12, 64, true },
    { 1, 16384, 1, 64, true },  { 1, 65536, 1, 64, true },
};

typedef struct attention_state {
    const ops *k;
    team  *crew;
    int    B, T, NH, HS;
    bool   both;
    size_t C, n;                    /* n = B T C */
    float *qkv, *out, *lse, *dout, *d;
} attention_state;

static void state_free(void *state)
{
    attention_state *o = state;
    if (!o) return;
    team_free(o->crew);
    free(o->qkv);
    free(o->out);
    free(o->lse);
    free(o->dout);
    free(o->d);
    free(o);
}

static vt_status run(void *state, vt_error *err)
{
    attention_state *o = state;
    const size_t C = o->C, ld = 3 * C;
    (void)err;
    o->k->attention_forward(o->crew, o->out, o->lse, o->qkv, ld, o->qkv + C, o->qkv + 2 * C, ld,
                            o->B, o->T, 0, o->NH, o->HS);
    if (o->both)
        o->k->attention_backward(o->crew, o->d, o->d + C, o->d + 2 * C, o->dout, o->out, o->lse,
                                 o->qkv, ld, o->qkv + C, o->qkv + 2 * C, ld, o->B, o->T, 0,
                                 o->NH, o->HS);
    return VT_OK;
}

/* ---- in double --------------------------------------------------------------- */

/* One head: rows of q, k, v and of their gradients are 3C apart, of out and dout C.  s, es
 * (the bound of s), a, of one query; dk, dv and their bounds of the last keys. */
typedef struct head {
    const attention_state *o;
    const float *q, *k, *v, *dq, *dk, *dv, *out, *dout, *lse;
    double *s, *es, *a, *sums;      /* sums: (4, LAST, HS) */
    size_t first;                   /* of the last keys */
} head;

static double dot(const float *a, const float *b, size_t n, double *size)
{
    double sum = 0;
    *size = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)a[i] * (double)b[i];
        *size += fabs((double)a[i] * (double)b[i]);
    }
    return sum;
}

/* Scores, weights, and the mean of the weights' bounds, of query t. */
static double weigh(const head *h, size_t t, double *max, double *sum)
{
    const size_t HS = (size_t)h->o->HS, ld = 3 * h->o->C;
    const double root = sqrt((double)HS);
    double size, mean = 0;
    *max = -INFINITY, *sum = 0;
    for (size_t u = 0; u <= t; u++) {
        h->s[u] = dot(h->q + t * ld, h->k + u * ld, HS, &size) / root;
        h->es[u] = ((double)HS + 3) * U * size / root;
        *max = fmax(*max, h->s[u]);
    }
    for (size_t u = 0; u <= t; u++) *sum += h->a[u] = exp(h->s[u] - *max);
    for (size_t u = 0; u <= t; u++) {
        h->a[u] /= *sum;
        mean += h->a[u] * (h->es[u] + U * (fabs(h->s[u] - *max) + 4));
    }
    return mean;
}

/* Query t's gradient, and its part of the last keys'. */
static bool query_gradient(head *h, vt_bench_row *row, size_t t, double lse, double elses,
                           double D, double eD)
{
    const size_t HS = (size_t)h->o->HS, ld = 3 * h->o->C, room = LAST * HS;
    const double root = sqrt((double)HS), n = (double)(t + 1);
    double *sum = calloc(2 * HS, sizeof *sum), *bound = sum + HS;
    bool right = sum != NULL;
    for (size_t u = 0; right && u <= t; u++) {
        double size;
        const double da = dot(h->dout + t * h->o->C, h->v + u * ld, HS, &size), a = h->a[u];
        const double alpha = h->es[u] + elses + U * (fabs(h->s[u]) + 2 * fabs(lse) + 4);
        const double ds = a * (da - D);
        const double eds = a * (alpha * fabs(da - D) + ((double)HS + 1) * U * size + eD +
                                2 * U * (fabs(da) + fabs(D)));
        for (size_t i = 0; i < HS; i++) {
            const double k = (double)h->k[u * ld + i], q = (double)h->q[t * ld + i];
            const double g = (double)h->dout[t * h->o->C + i];
            sum[i] += ds * k / root;
            bound[i] += fabs(k) / root * (eds + (n + 4) * U * fabs(ds));
            if (u < h->first) continue;
            double *at = h->sums + (u - h->first) * HS + i;
            at[0] += ds * q / root;
            at[room] += fabs(q) / root * (eds + (LAST + 4) * U * fabs(ds));
            at[2 * room] += a * g;
            at[3 * room] += fabs(g) * a * (alpha + (LAST + 4) * U);
        }
    }
    for (size_t i = 0; right && i < HS; i++)
        right = bench_meet(row, "dq", t * HS + i, sum[i], (double)h->dq[t * ld + i], bound[i]);
    free(sum);
    return right;
}

static bool query(head *h, vt_bench_row *row, size_t t)
{
    const size_t HS = (size_t)h->o->HS, C = h->o->C, ld = 3 * C;
    const double n = (double)(t + 1), adding = (n + 3 * (n / 64 + 1) + 4) * U;
    double max, total, D = 0, eD = 0;
    const double mean = weigh(h, t, &max, &total), lse = max + log(total);
    const double elses = mean + adding + 3 * U * (fabs(max) + fabs(lse));
    if (!bench_meet(row, "lse", t, lse, (double)h->lse[t], elses)) return false;
    for (size_t i = 0; i < HS; i++) {
        double sum = 0, bound = 0;
        for (size_t u = 0; u <= t; u++) {
            const double v = (double)h->v[u * ld + i];
            sum += h->a[u] * v;
            bound += h->a[u] * fabs(v) * (h->es[u] + U * (fabs(h->s[u] - max) + 4) + mean + adding);
        }
        if (!bench_meet(row, "out", t * HS + i, sum, (double)h->out[t * C + i], bound)) return false;
        const double g = (double)h->dout[t * C + i];
        D += g * sum;
        eD += fabs(g) * bound + ((double)HS + 1) * U * fabs(g * sum);
    }
    return !h->o->both || query_gradient(h, row, t, lse, elses, D, eD);
}

static bool last_rows(head *h, vt_bench_row *row)
{
    const size_t HS = (size_t)h->o->HS, ld = 3 * h->o->C, room = LAST * HS;
    memset(h->sums, 0, 4 * room * sizeof *h->sums);
    for (size_t t = h->first; t < (size_t)h->o->T; t++)
        if (!query(h, row, t)) return false;
    for (size_t j = 0; h->o->both && j < room; j++) {
        const size_t at = (h->first + j / HS) * ld + j % HS, index = h->first * HS + j;
        if (!bench_meet(row, "dk", index, h->sums[j], (double)h->dk[at], h->sums[room + j]) ||
            !bench_meet(row, "dv", index, h->sums[2 * room + j], (double)h->dv[at],
                        h->sums[3 * room + j]))
            return false;
    }
    return true;
}

static vt_status verify(void *state, vt_bench_row *row, vt_error *err)
{
    attention_state *o = state;
    const size_t T = (size_t)o->T, HS = (size_t)o->HS, C = o->C;
    const size_t room = 3 * T + 4 * LAST * HS, batch = (size_t)o->B - 1, last = (size_t)o->NH - 1;
    double *x = malloc(room * sizeof *x);
    if (!x) return fail_memory(err, room * sizeof *x, "attention in double");
    (void)run(o, err);
    bool right = true;
    for (size_t i = 0; right && i < (batch + last > 0 ? 2 : 1); i++) {
        const size_t b = i ? batch : 0, n = i ? last : 0;
        const size_t at = b * T * 3 * C + n * HS, to = b * T * C + n * HS;
        head h = { .o = o, .q = o->qkv + at, .k = o->qkv + at + C, .v = o->qkv + at + 2 * C,
                   .dq = o->d + at, .dk = o->d + at + C, .dv = o->d + at + 2 * C,
                   .out = o->out + to, .dout = o->dout + to,
                   .lse = o->lse + (b * (size_t)o->NH + n) * T, .s = x, .es = x + T, .a = x + 2 * T,
                   .sums = x + 3 * T, .first = T - LAST };
        right = last_rows(&h, row);
    }
    free(x);
    bench_verified(row, true, "the last %d queries and keys of %s", LAST,
                   batch + last > 0 ? "two heads" : "the head");
    return right ? VT_OK : bench_wrong(row, err);
}

vt_status bench_make_attention(bench_work *w, int B, int T, int NH, int HS, bool both, const bench_setting *s,
                               vt_error *err)
{
    attention_state *o = calloc(1, sizeof *o);
    if (!o) return fail_memory(err, sizeof *o, "a case");
    *w = (bench_work){ .state = o, .verify = verify, .run = run, .free = state_free,
                       .limit = BENCH_ROOF, .unit = "FLOP/s" };
    o->B = B;
    o->T = T;
    o->NH = NH;
    o->HS = HS;
    o->both = both;
    o->k = s->kernels;
    o->C = (size_t)o->NH * (size_t)o->HS;
    o->n = (size_t)o->B * (size_t)o->T * o->C;
    const size_t rows = (size_t)o->B * (size_t)o->NH * (size_t)o->T;
    const ops_sizes z = { .B = o->B, .T = o->T, .C = (int)o->C, .NH = o->NH, .HS = o->HS,
                          .FF = 1, .V = 1 };
    size_t worker, shared;
    w->resident = ((o->both ? 8 : 4) * o->n + rows) * sizeof(float);
    w->bytes = (double)((o->both ? 4 + 11 : 4) * o->n + rows) * sizeof(float);
    w->exps = (double)rows * (o->T + 1) / 2 * (o->both ? 2 : 1);
    w->flop = w->per_call = work_attention(o->B, o->T, o->NH, o->HS) * (o->both ? 3 : 1);
    o->qkv = bench_floats(3 * o->n);
    o->out = bench_floats(o->n);
    o->lse = bench_floats(rows);
    o->dout = bench_floats(o->n);
    o->d = bench_floats(3 * o->n);
    if (!o->qkv || !o->out || !o->lse || !o->dout || !o->d)
        return fail_memory(err, 8 * o->n * sizeof(float), "attention's tensors");
    bench_fill(o->qkv, 3 * o->n, 94);
    bench_fill(o->dout, o->n, 95);
    for (size_t i = 0; i < o->n; i++) o->out[i] = NAN;      /* what is not written is seen */
    for (size_t i = 0; i < rows; i++) o->lse[i] = NAN;
    memset(o->d, 0, 3 * o->n * sizeof(float));
    ops_scratch(&z, &worker, &shared);
    return team_new(&o->crew, s->threads, worker, shared, err);
}

static vt_status make(bench_work *w, const bench_case *c, const bench_setting *s, vt_error *err)
{
    const int i = c->number;
    return bench_make_attention(w, shapes[i].B, shapes[i].T, shapes[i].NH, shapes[i].HS, shapes[i].both, s, err);
}

#define HEADS(T) "B 4, T " #T ", 12 heads of 64"
#define ATTENTION(name, what, threads, share, always, cost, i) \
    { "attention-" name, "attention", what, "FLOP/s", threads, share, always, cost, cost / 2, make, i, \
      false, VT_BENCH_SHARE }
const bench_case bench_attentions[] = {
    ATTENTION("64", HEADS(64), 0, 0.50, true, 1, 0),
    ATTENTION("64-both", HEADS(64) ", backward too", 0, 0.50, true, 1, 1),
    ATTENTION("256", HEADS(256), 0, 0.62, true, 1.2, 2),
    ATTENTION("256-both", HEADS(256) ", backward too", 0, 0.62, true, 1.2, 3),
    ATTENTION("1024-one", HEADS(1024), 1, 0.72, false, 2.5, 4),
    ATTENTION("1024", HEADS(1024), 2, 0.68, false, 2.5, 4),
    ATTENTION("1024-both", HEADS(1024) ", backward too", 2, 0.66, false, 3, 5),
    ATTENTION("16384-both", "T 16384, one head of 64, backward too", 2, 0, false, 6, 6),
    { "attention-65536-both", "attention", "T 65536, one head of 64, backward too", "FLOP/s", 2, 200e6,
      false, 40, 40, make, 7, false, VT_BENCH_MEMORY },
    { .name = NULL },
};
