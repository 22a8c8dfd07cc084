/* case_gemm.c -- products y = x w, (N, C) by (C, OC), through linear_forward without a
 * bias: squares, the layers of `tiny`, and those of a token that is generated (one row).
 *
 * Verified: every number of the product, against its sum in double,
 *
 *     |y - sum_i x_ni w_ij| <= (gamma_C(2^-24) + gamma_C(2^-53)) |x_n| |w_j|
 *
 * the first for the kernel, in whatever order it adds (Higham, Accuracy and Stability of
 * Numerical Algorithms, 3.1), the second for the sum here.  They bound by sum |x w|, which
 * is at most the product of the lengths (Cauchy and Schwarz) and 3/4 of it for numbers that
 * are drawn evenly: a second product of matrices would not tell more.
 *
 * The sums in double take a panel of columns of w, which stays in the cache, and add four
 * terms a turn: 2048 x 2048 by 2048 x 2048 takes seconds, not minutes.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/cases.h"
#include "bench/work.h"

enum { PANEL = 64, TURN = 4 };         /* columns; terms: each C below is a multiple */
static const struct { size_t N, C, OC; } shapes[] = {
    { 32, 32, 32 }, { 64, 64, 64 }, { 128, 128, 128 }, { 256, 256, 256 }, { 512, 512, 512 },
    { 1024, 1024, 1024 }, { 2048, 2048, 2048 },
    { 256, 32, 96 }, { 256, 32, 128 }, { 256, 128, 32 }, { 256, 32, 757 },
    { 1, 128, 512 }, { 1, 128, 1281 },
};

typedef struct gemm_state { const ops *k; team *crew; size_t N, C, OC; float *x, *w, *y; } gemm_state;

static void state_free(void *state)
{
    gemm_state *o = state;
    if (!o) return;
    team_free(o->crew);
    free(o->x);
    free(o->w);
    free(o->y);
    free(o);
}

static vt_status run(void *state, vt_error *err)
{
    gemm_state *o = state;
    (void)err;
    o->k->linear_forward(o->crew, o->y, o->x, o->w, NULL, (int)o->N, (int)o->C, (int)o->OC);
    return VT_OK;
}

/* ---- in double --------------------------------------------------------------- */

typedef struct product {
    const gemm_state *o;
    double *panels;                 /* (C, PANEL) of each worker */
    double *xs, *ws;                /* lengths of x's rows and of w's columns: N, OC */
    double *y;                      /* (N, OC) */
} product;

/* y's columns from number p PANEL on; what is behind w's last is 0. */
static void panel(void *context, size_t p, int worker)
{
    const product *d = context;
    const gemm_state *o = d->o;
    const size_t C = o->C, OC = o->OC, at = p * PANEL, n = OC - at < PANEL ? OC - at : PANEL;
    double *w = d->panels + (size_t)worker * C * PANEL;
    for (size_t i = 0; i < C; i++)
        for (size_t j = 0; j < PANEL; j++) w[i * PANEL + j] = j < n ? (double)o->w[i * OC + at + j] : 0;
    for (size_t r = 0; r < o->N; r++) {
        const float *x = o->x + r * C;
        double sum[PANEL] = { 0 };
        for (size_t i = 0; i < C; i += TURN) {
            const double a = (double)x[i], b = (double)x[i + 1], c = (double)x[i + 2],
                         e = (double)x[i + 3], *v = w + i * PANEL;
            for (size_t j = 0; j < PANEL; j++)
                sum[j] += (a * v[j] + b * v[PANEL + j]) + (c * v[2 * PANEL + j] + e * v[3 * PANEL + j]);
        }
        memcpy(d->y + r * OC + at, sum, n * sizeof *sum);
    }
}

static void lengths(product *d)
{
    const gemm_state *o = d->o;
    for (size_t j = 0; j < o->OC; j++) d->ws[j] = 0;
    for (size_t i = 0; i < o->C; i++)
        for (size_t j = 0; j < o->OC; j++)
            d->ws[j] += (double)o->w[i * o->OC + j] * (double)o->w[i * o->OC + j];
    for (size_t j = 0; j < o->OC; j++) d->ws[j] = sqrt(d->ws[j]);
    for (size_t r = 0; r < o->N; r++) {
        double sum = 0;
        for (size_t i = 0; i < o->C; i++)
            sum += (double)o->x[r * o->C + i] * (double)o->x[r * o->C + i];
        d->xs[r] = sqrt(sum);
    }
}

static double gamma_n(size_t n, double u) { return (double)n * u / (1 - (double)n * u); }

static bool every_number(const product *d, vt_bench_row *row)
{
    const gemm_state *o = d->o;
    const double gamma = gamma_n(o->C, 0x1p-24) + gamma_n(o->C, 0x1p-53);
    for (size_t r = 0; r < o->N; r++)
        for (size_t j = 0; j < o->OC; j++)
            if (!bench_meet(row, "y", r * o->OC + j, d->y[r * o->OC + j],
                            (double)o->y[r * o->OC + j], gamma * d->xs[r] * d->ws[j]))
                return false;
    return true;
}

static vt_status verify(void *state, vt_bench_row *row, vt_error *err)
{
    gemm_state *o = state;
    const size_t workers = (size_t)team_size(o->crew);
    const size_t room = workers * o->C * PANEL + o->N + o->OC + o->N * o->OC;
    product d = { .o = o, .panels = malloc(room * sizeof(double)) };
    if (!d.panels) return fail_memory(err, room * sizeof(double), "a product in double");
    assert(o->C % TURN == 0);
    d.xs = d.panels + workers * o->C * PANEL;
    d.ws = d.xs + o->N;
    d.y = d.ws + o->OC;
    (void)run(o, err);
    team_run(o->crew, (o->OC + PANEL - 1) / PANEL, panel, &d);
    lengths(&d);
    const bool right = every_number(&d, row);
    free(d.panels);
    return right ? VT_OK : bench_wrong(row, err);
}

vt_status bench_make_gemm(bench_work *w, size_t N, size_t C, size_t OC, const bench_setting *s, vt_error *err)
{
    gemm_state *o = calloc(1, sizeof *o);
    if (!o) return fail_memory(err, sizeof *o, "a case");
    *w = (bench_work){ .state = o, .verify = verify, .run = run, .free = state_free,
                       .limit = BENCH_ROOF, .unit = "FLOP/s" };
    o->N = N;
    o->C = C;
    o->OC = OC;
    o->k = s->kernels;
    const size_t nx = o->N * o->C, nw = o->C * o->OC, ny = o->N * o->OC;
    const ops_sizes z = { .B = 1, .T = (int)o->N, .C = (int)o->C, .NH = 1, .HS = 1,
                          .FF = (int)o->OC, .V = 1 };
    size_t worker, shared;
    w->resident = (nx + nw + ny) * sizeof(float);
    w->bytes = (double)w->resident;
    w->flop = w->per_call = work_linear((double)o->N, (double)o->C, (double)o->OC);
    o->x = bench_floats(nx);
    o->w = bench_floats(nw);
    o->y = bench_floats(ny);
    if (!o->x || !o->w || !o->y) return fail_memory(err, w->resident, "three matrices");
    bench_fill(o->x, nx, 92);
    bench_fill(o->w, nw, 93);
    for (size_t i = 0; i < ny; i++) o->y[i] = NAN;
    ops_scratch(&z, &worker, &shared);
    return team_new(&o->crew, s->threads, worker, shared, err);
}

static vt_status make(bench_work *w, const bench_case *c, const bench_setting *s, vt_error *err)
{
    const int i = c->number;
    return bench_make_gemm(w, shapes[i].N, shapes[i].C, shapes[i].OC, s, err);
}

#define GEMM(name, what, threads, share, always, cost, i) \
    { "gemm-" name, "gemm", what, "FLOP/s", threads, share, always, cost, cost / 2, make, i, false, \
      VT_BENCH_SHARE }
#define SQUARE(n, threads, share, always, cost, i) \
    GEMM(#n, #n " x " #n " by " #n " x " #n, threads, share, always, cost, i)
const bench_case bench_gemms[] = {
    SQUARE(32, 1, 0.75, true, 0.6, 0),  SQUARE(64, 1, 0.75, true, 0.6, 1),
    SQUARE(128, 1, 0.75, true, 0.6, 2), SQUARE(256, 0, 0.80, true, 0.6, 3),
    SQUARE(512, 0, 0.80, true, 0.8, 4), SQUARE(1024, 0, 0.80, true, 1.2, 5),
    SQUARE(2048, 0, 0.80, false, 3, 6),
    GEMM("tiny-qkv", "256 x 32 by 32 x 96", 1, 0, true, 0.6, 7),
    GEMM("tiny-fc", "256 x 32 by 32 x 128", 1, 0, true, 0.6, 8),
    GEMM("tiny-fcproj", "256 x 128 by 128 x 32", 1, 0, true, 0.6, 9),
    GEMM("tiny-head", "256 x 32 by 32 x 757", 1, 0, true, 0.6, 10),
    GEMM("token-fc", "1 x 128 by 128 x 512", 1, 0, true, 0.6, 11),
    GEMM("token-head", "1 x 128 by 128 x 1281", 1, 0, true, 0.6, 12),
    { .name = NULL },
};
