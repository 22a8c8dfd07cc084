/* test_linear_fast.c -- the fast `linear` against the double definition, on
 * every set of kernels that this machine runs, at every edge of its blocks.
 *
 * The bound.  An entry is one chain of K multiply-adds in float from a start
 * value: each of its K + 1 terms passes through at most K + 1 roundings (the
 * portable set rounds the product too), so
 *
 *     |fast - exact| <= (K + 1) u / (1 - (K + 1) u) (|start| + sum |terms|),
 *
 * u = 2^-24 (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 3.1).
 * The sum of magnitudes is the definition's own on the inputs' magnitudes;
 * its rounding in double is a few 2^-29 of the bound, which 1e-6 of it covers.
 */
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "kernels/ops.h"
#define VT_SCALAR 64
#include "kernels/definitions.h"

static const char *const sets[] = { "portable", "avx2", "avx512", "neon", "wasm" };
enum { SETS = 5, TEAMS = 5 };
#if defined(VT_WASM)
static const int threads[TEAMS] = { 0, 1, 1, 1, 1 };       /* 0: no team; it has no threads */
#else
static const int threads[TEAMS] = { 0, 1, 2, 3, 7 };
#endif
static team *teams[TEAMS];

static int make_teams(void **state)
{
    (void)state;
    /* One has no room for copies of a, which changes nothing but time. */
    const ops_sizes z = { .B = 1, .T = 1, .C = 1, .NH = 1, .HS = 1, .FF = 1, .V = 1 };
    size_t worker, shared;
    ops_scratch(&z, &worker, &shared);
    for (int i = 1; i < TEAMS; i++)
        assert_ok(team_new(&teams[i], threads[i], i == 1 ? 0 : worker, shared, &test_error));
    return 0;
}

static int free_teams(void **state)
{
    (void)state;
    for (int i = 1; i < TEAMS; i++) team_free(teams[i]);
    return 0;
}

/* ---- arrays of floats, and of doubles beside them ---- */

static float *array(size_t n) { return guarded(n * sizeof(float)); }

static float *copy(const float *a, size_t n)
{
    return memcpy(array(n), a, n * sizeof *a);
}

static float *random_array(rng *r, size_t n)
{
    float *a = array(n);
    for (size_t i = 0; i < n; i++) a[i] = (float)rng_normal(r);
    return a;
}

static float *filled(size_t n, float value)
{
    float *a = array(n);
    for (size_t i = 0; i < n; i++) a[i] = value;
    return a;
}

static double *widened(const float *a, size_t n, bool magnitudes)
{
    double *d = malloc((n + 1) * sizeof *d);
    assert_non_null(d);
    for (size_t i = 0; i < n; i++) d[i] = magnitudes ? fabs((double)a[i]) : (double)a[i];
    return d;
}

static bool same_bits(const float *a, const float *b, size_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

/* ---- the problem: inputs, gradients as they start, expected values ---- */

typedef struct problem {
    int    N, C, OC;
    size_t nx, nw, ny, nb;
    float *x, *w, *b, *dy, *dx, *dw, *db;
    double *y_want, *y_size, *dx_want, *dx_size, *dw_want, *dw_size, *db_want, *db_size;
} problem;

static void reference(const problem *p, bool size, double **y, double **dx, double **dw,
                      double **db)
{
    double *x = widened(p->x, p->nx, size), *w = widened(p->w, p->nw, size);
    double *b = widened(p->b, p->nb, size), *dy = widened(p->dy, p->ny, size);
    *y  = widened(p->dy, p->ny, size);          /* of the right length */
    *dx = widened(p->dx, p->nx, size);
    *dw = widened(p->dw, p->nw, size);
    *db = widened(p->db, p->nb, size);
    /* The definition's bits, sooner: test_linear_in_order.c. */
    ref_in_order_linear_forward_f64(*y, x, w, b, p->N, p->C, p->OC);
    ref_in_order_linear_backward_f64(*dx, *dw, *db, dy, x, w, p->N, p->C, p->OC);
    free(x), free(w), free(b), free(dy);
}

static problem problem_new(int N, int C, int OC)
{
    problem p = { .N = N, .C = C, .OC = OC, .nx = (size_t)N * (size_t)C,
                  .nw = (size_t)C * (size_t)OC, .ny = (size_t)N * (size_t)OC,
                  .nb = (size_t)OC };
    rng r;
    rng_seed_list(&r, (const uint64_t[]){ (uint64_t)N, (uint64_t)C, (uint64_t)OC }, 3);
    p.x  = random_array(&r, p.nx);
    p.w  = random_array(&r, p.nw);
    p.b  = random_array(&r, p.nb);
    p.dy = random_array(&r, p.ny);
    p.dx = random_array(&r, p.nx);
    p.dw = random_array(&r, p.nw);
    p.db = random_array(&r, p.nb);
    reference(&p, false, &p.y_want, &p.dx_want, &p.dw_want, &p.db_want);
    reference(&p, true,  &p.y_size, &p.dx_size, &p.dw_size, &p.db_size);
    return p;
}

static void problem_free(problem *p)
{
    float *floats[] = { p->x, p->w, p->b, p->dy, p->dx, p->dw, p->db };
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) guarded_free(floats[i]);
    free(p->y_want), free(p->y_size), free(p->dx_want), free(p->dx_size);
    free(p->dw_want), free(p->dw_size), free(p->db_want), free(p->db_size);
}

/* The largest share of its bound that any entry of an output used. */
typedef struct shares { double y, dx, dw, db; size_t compared; } shares;

static void compare(const char *what, const problem *p, const char *set, const float *got,
                    const double *want, const double *size, size_t n, int K,
                    double *worst, size_t *compared)
{
    const double u = ldexp(1, -24) * (K + 1), gamma = u / (1 - u) * (1 + 1e-6);
    for (size_t i = 0; i < n; i++) {
        const double error = fabs((double)got[i] - want[i]), bound = gamma * size[i];
        if (!(error <= bound))
            fail_msg("%s, %s[%zu] of N %d, C %d, OC %d: %.9g, expected %.9g within %.3g", set,
                     what, i, p->N, p->C, p->OC, (double)got[i], want[i], bound);
        if (bound > 0 && error / bound > *worst) *worst = error / bound;
    }
    *compared += n;
}

typedef struct result { float *y, *dx, *dw, *db; } result;

/* What one table computes with one team, outputs filled with NaN first. */
static result run(const ops *k, team *t, const problem *p)
{
    result r = { .y = filled(p->ny, NAN), .dx = copy(p->dx, p->nx),
                 .dw = copy(p->dw, p->nw), .db = copy(p->db, p->nb) };
    k->linear_forward(t, r.y, p->x, p->w, p->b, p->N, p->C, p->OC);
    k->linear_backward(t, r.dx, r.dw, r.db, p->dy, p->x, p->w, p->N, p->C, p->OC);
    return r;
}

static void result_free(result *r)
{
    guarded_free(r->y), guarded_free(r->dx), guarded_free(r->dw), guarded_free(r->db);
}

/* On every set: within the bounds, and the same bits with any team; or with one team alone. */
static void check_shape(int N, int C, int OC, team *alone, shares worst[SETS])
{
    problem p = problem_new(N, C, OC);
    float *x = copy(p.x, p.nx), *w = copy(p.w, p.nw), *b = copy(p.b, p.nb);
    float *dy = copy(p.dy, p.ny);
    for (int s = 0; s < SETS; s++) {
        const ops *k = ops_pick(sets[s]);
        if (!k) continue;
        result one = run(k, alone, &p);
        shares *q = &worst[s];
        compare("y",  &p, k->name, one.y,  p.y_want,  p.y_size,  p.ny, C,  &q->y,  &q->compared);
        compare("dx", &p, k->name, one.dx, p.dx_want, p.dx_size, p.nx, OC, &q->dx, &q->compared);
        compare("dw", &p, k->name, one.dw, p.dw_want, p.dw_size, p.nw, N,  &q->dw, &q->compared);
        compare("db", &p, k->name, one.db, p.db_want, p.db_size, p.nb, N,  &q->db, &q->compared);
        /* Sanitized: the team of one, without room for copies, and of three, with it. */
        for (int i = 1; i < TEAMS && !alone; i += SWEEP(1, 2)) {
            result r = run(k, teams[i], &p);
            if (!same_bits(r.y, one.y, p.ny) || !same_bits(r.dx, one.dx, p.nx) ||
                !same_bits(r.dw, one.dw, p.nw) || !same_bits(r.db, one.db, p.nb))
                fail_msg("%s: N %d, C %d, OC %d: other bits with %d threads", k->name, N, C, OC,
                         threads[i]);
            result_free(&r);
        }
        result_free(&one);
    }
    if (!same_bits(x, p.x, p.nx) || !same_bits(w, p.w, p.nw) || !same_bits(b, p.b, p.nb) ||
        !same_bits(dy, p.dy, p.ny))
        fail_msg("an input was written: N %d, C %d, OC %d", N, C, OC);
    guarded_free(x), guarded_free(w), guarded_free(b), guarded_free(dy);
    problem_free(&p);
}

/* Sizes around the edges of tiles (12 rows), vecs and panels (4 to 128 columns),
 * blocks of rows (128 to 384) and of steps (256); all of them to 65, which is
 * two panels of the widest set and one. */
static int edge(size_t i)
{
    static const int far[] = { 95, 96, 97, 127, 128, 129, 131, 132, 133, 191, 192, 193,
                               255, 256, 257, 383, 384, 385, 511, 512, 513, 767, 768, 769 };
    if (i < 65) return (int)i + 1;
    return i - 65 < sizeof far / sizeof *far ? far[i - 65] : 0;
}

static void at_every_edge(int which)
{
    static const int others[] = { 1, 2, 3, 5, 7, 8, 11, 12, 13, 16, 17, 31, 32, 33, 49 };
    shares worst[SETS] = { { 0 } };
    size_t expected = 0;
    rng r;
    rng_seed(&r, (uint64_t)which);
    for (size_t i = 0; edge(i) != 0; i += SWEEP(1, 2)) {    /* 95, 97, 128, 131: each kind of edge */
        const int n = edge(i);
        const int a = others[rng_integers(&r, 0, 15)], b = others[rng_integers(&r, 0, 15)];
        const int N = which == 0 ? n : a, C = which == 1 ? n : which == 0 ? a : b;
        const int OC = which == 2 ? n : b;
        check_shape(N, C, OC, NULL, worst);
        expected += (size_t)(N * OC + N * C + C * OC + OC);
    }
    for (int s = 0; s < SETS; s++) {
        if (!ops_pick(sets[s])) continue;
        print_message("%s: %zu entries; largest share of the bound: y %.2f, dx %.2f, dw %.2f, "
                      "db %.2f\n", sets[s], worst[s].compared, worst[s].y, worst[s].dx,
                      worst[s].dw, worst[s].db);
        assert_int_equal(worst[s].compared, expected);
    }
}

static void rows_at_every_edge(void **state)     { (void)state; at_every_edge(0); }
static void inputs_at_every_edge(void **state)   { (void)state; at_every_edge(1); }
static void outputs_at_every_edge(void **state)  { (void)state; at_every_edge(2); }

static void shapes_of_models(void **state)
{
    (void)state;
    /* More than the widest set's block of packed panels has; an emulator has no time for it. */
    const int rows = ops_pick("avx512") ? 110 : ops_pick("avx2") ? 59 : 0;
    /* Sanitized: products as large have their bits compared where they are joined. */
    team *const alone = SWEEP(NULL, teams[3]);
    shares worst[SETS] = { { 0 } };
    check_shape(256, 32, 757, alone, worst);            /* the preset tiny's head */
    check_shape(300, 128, 384, alone, worst);           /* default's layers, fewer rows */
    check_shape(145, 512, 128, alone, worst);
    check_shape(50, 128, 1281, alone, worst);
    check_shape(25, 512, 2050, alone, worst);           /* tasks of several panels, rows copied */
    check_shape(200, 40, 2100, alone, worst);           /* columns copied, in two parts */
    /* Packed panels: columns a multiple of 512. */
    check_shape(13, 1040, 512, alone, worst);           /* y: more steps than a panel has */
    check_shape(2, 600, 1024, alone, worst);            /* dW: several blocks of rows, and sums */
    check_shape(3, 1024, 1040, alone, worst);           /* dx: b by columns */
    if (SWEEP(rows, 0)) check_shape(rows, 420, 1024, alone, worst);   /* y: blocks, part of a tile */
    for (int s = 0; s < SETS; s++)
        if (ops_pick(sets[s])) assert_true(worst[s].compared > 0);
}

/* Sums of small whole numbers are exact in float: not a bit may differ. */
static void whole_numbers_are_exact(void **state)
{
    (void)state;
    const int N = 600, C = 150, OC = 70;
    const size_t nx = (size_t)(N * C), nw = (size_t)(C * OC), ny = (size_t)(N * OC);
    float *in[] = { array(nx), array(nw), array((size_t)OC), array(ny) };
    const size_t lengths[] = { nx, nw, (size_t)OC, ny };
    rng r;
    rng_seed(&r, 5);
    for (int a = 0; a < 4; a++)
        for (size_t i = 0; i < lengths[a]; i++) in[a][i] = (float)rng_integers(&r, -9, 10);
    problem p = { .N = N, .C = C, .OC = OC, .nx = nx, .nw = nw, .ny = ny, .nb = (size_t)OC,
                  .x = in[0], .w = in[1], .b = in[2], .dy = in[3],
                  .dx = copy(in[0], nx), .dw = copy(in[1], nw), .db = copy(in[2], (size_t)OC) };
    reference(&p, false, &p.y_want, &p.dx_want, &p.dw_want, &p.db_want);
    for (int s = 0; s < SETS; s++) {
        const ops *k = ops_pick(sets[s]);
        if (!k) continue;
        result one = run(k, teams[2], &p);
        for (size_t i = 0; i < ny; i++) assert_true((double)one.y[i] == p.y_want[i]);
        for (size_t i = 0; i < nx; i++) assert_true((double)one.dx[i] == p.dx_want[i]);
        for (size_t i = 0; i < nw; i++) assert_true((double)one.dw[i] == p.dw_want[i]);
        for (size_t i = 0; i < p.nb; i++) assert_true((double)one.db[i] == p.db_want[i]);
        result_free(&one);
    }
    problem_free(&p);
}

/* Without a bias the sum starts from 0: the bits of a bias of zeros.  Without
 * dbias the other gradients are what they are with it. */
static void bias_may_be_missing(void **state)
{
    (void)state;
    static const int shapes[][3] = { { 1, 20, 150 }, { 9, 33, 40 }, { 40, 300, 40 } };
    for (int s = 0; s < SETS; s++)
    for (int i = 0; i < 3; i++) {
        const ops *k = ops_pick(sets[s]);
        if (!k) continue;
        const int N = shapes[i][0], C = shapes[i][1], OC = shapes[i][2];
        problem p = problem_new(N, C, OC);
        for (size_t o = 0; o < p.nb; o++) p.b[o] = 0;
        result with = run(k, NULL, &p);
        float *y = filled(p.ny, NAN), *dx = copy(p.dx, p.nx), *dw = copy(p.dw, p.nw);
        k->linear_forward(NULL, y, p.x, p.w, NULL, N, C, OC);
        k->linear_backward(NULL, dx, dw, NULL, p.dy, p.x, p.w, N, C, OC);
        assert_true(same_bits(y, with.y, p.ny));
        assert_true(same_bits(dx, with.dx, p.nx));
        assert_true(same_bits(dw, with.dw, p.nw));
        guarded_free(y), guarded_free(dx), guarded_free(dw);
        result_free(&with);
        problem_free(&p);
    }
}

/* What is joined to a product, and a gradient that is set, have the bits of the kernels
 * one by one (fma(a, b, 0) + ... in the same order; a sum and a product round once). */
static void joined(const problem *p, const ops *k, team *t)
{
    const int N = p->N, C = p->C, OC = p->OC;
    result r = run(k, t, p);
    float *y = filled(p->ny, NAN), *want = filled(p->ny, NAN), *got = filled(p->ny, NAN);
    k->gelu_forward(t, want, r.y, p->ny);
    k->linear_gelu_forward(t, got, y, p->x, p->w, p->b, N, C, OC);
    assert_true(same_bits(y, r.y, p->ny) && same_bits(got, want, p->ny));
    k->residual_forward(t, want, p->dy, r.y, p->ny);
    k->linear_residual_forward(t, got, p->dy, p->x, p->w, p->b, N, C, OC);
    assert_true(same_bits(got, want, p->ny));

    float *zero = filled(p->nx, 0), *dx = filled(p->nx, NAN), *slope = filled(p->nx, 0);
    float *dw = copy(p->dw, p->nw), *db = copy(p->db, p->nb), *dw2 = copy(p->dw, p->nw);
    k->linear_backward(t, zero, dw2, NULL, p->dy, p->x, p->w, N, C, OC);
    k->linear_set_backward(t, dx, dw, db, p->dy, p->x, p->w, NULL, N, C, OC);
    assert_true(same_bits(dx, zero, p->nx) && same_bits(dw, r.dw, p->nw));
    assert_true(same_bits(db, r.db, p->nb));
    k->gelu_backward(t, slope, zero, p->dx, p->nx);         /* dx: any numbers */
    k->linear_set_backward(t, dx, dw, db, p->dy, p->x, p->w, p->dx, N, C, OC);
    assert_true(same_bits(dx, slope, p->nx));

    /* The same memory as (OC, C): out = dy W^T, d of it = x. */
    float *out = filled(p->nx, NAN), *dout = filled(p->ny, NAN);
    k->tied_forward(t, out, p->dy, p->w, N, OC, C);
    assert_true(same_bits(out, zero, p->nx));
    float *turned = copy(p->dw, p->nw);
    k->linear_forward(t, want, p->x, p->w, NULL, N, C, OC);
    k->tied_set_backward(t, dout, turned, p->x, p->dy, p->w, N, OC, C);
    assert_true(same_bits(dout, want, p->ny) && same_bits(turned, r.dw, p->nw));

    float *all[] = { y, want, got, zero, dx, slope, dw, db, dw2, out, dout, turned };
    for (size_t a = 0; a < sizeof all / sizeof *all; a++) guarded_free(all[a]);
    result_free(&r);
}

static void joined_kernels_have_the_same_bits(void **state)
{
    (void)state;
    /* one row; few; a tile and a part; several blocks of steps, rows and panels; more than
     * the near caches hold */
    static const int shapes[][3] = { { 1, 20, 150 }, { 9, 33, 40 }, { 13, 7, 33 },
                                     { 400, 50, 300 }, { 61, 520, 130 }, { 13, 200, 2600 },
                                     { 13, 500, 1024 }, { 2, 1024, 520 } };      /* packed */
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int N = shapes[i][0], C = shapes[i][1], OC = shapes[i][2];
        problem p = problem_new(N, C, OC);
        for (int s = 0; s < SETS; s++) {
            const ops *k = ops_pick(sets[s]);
            if (!k) continue;
            joined(&p, k, NULL);
            joined(&p, k, teams[3]);
        }
        problem_free(&p);
    }
}

/* Order of sums: a row alone has the bits it has among others, whichever path
 * its number of rows takes; and every set with a fused multiply-add agrees. */
static void order_depends_on_nothing_else(void **state)
{
    (void)state;
    const int N = 30, C = 300, OC = 301;
    problem p = problem_new(N, C, OC);
    result first = { 0 };
    for (int s = 0; s < SETS; s++) {
        const ops *k = ops_pick(sets[s]);
        if (!k) continue;
        result all = run(k, NULL, &p);
        for (int rows = 1; rows <= N; rows++) {
            const size_t n = (size_t)rows * (size_t)OC, m = (size_t)rows * (size_t)C;
            float *y = filled(n, NAN), *dx = copy(p.dx, m), *dw = copy(p.dw, p.nw);
            k->linear_forward(teams[2], y, p.x, p.w, p.b, rows, C, OC);
            k->linear_backward(teams[2], dx, dw, NULL, p.dy, p.x, p.w, rows, C, OC);
            assert_true(same_bits(y, all.y, n));
            assert_true(same_bits(dx, all.dx, m));
            guarded_free(y), guarded_free(dx), guarded_free(dw);
        }
        if (s == 0) {
            result_free(&all);
        } else if (!first.y) {
            first = all;
        } else {
            assert_true(same_bits(all.y, first.y, p.ny));
            assert_true(same_bits(all.dx, first.dx, p.nx));
            assert_true(same_bits(all.dw, first.dw, p.nw));
            assert_true(same_bits(all.db, first.db, p.nb));
            result_free(&all);
        }
    }
    if (first.y) result_free(&first);
    problem_free(&p);
}

/* A NaN spoils the entries whose sums it is in, and no other. */
static void nan_stays_in_its_row_and_column(void **state)
{
    (void)state;
    static const int rows[] = { 1, 7, 40 };
    for (int s = 0; s < SETS; s++)
    for (int i = 0; i < 3; i++) {
        const ops *k = ops_pick(sets[s]);
        if (!k) continue;
        const int N = rows[i], C = 21, OC = 39;
        problem p = problem_new(N, C, OC);
        const int row = N - 1, in = 4, column = OC - 1;
        p.x[row * C + in] = NAN;
        p.w[2 * OC + column] = INFINITY;
        p.dy[row * OC + column] = NAN;
        result r = run(k, NULL, &p);
        for (int n = 0; n < N; n++)
        for (int o = 0; o < OC; o++)
            assert_int_equal(isfinite(r.y[n * OC + o]) != 0, n != row && o != column);
        for (int n = 0; n < N; n++)
        for (int c = 0; c < C; c++)             /* the infinite weight is row 2's */
            assert_int_equal(isfinite(r.dx[n * C + c]) != 0, n != row && c != 2);
        for (int c = 0; c < C; c++)
        for (int o = 0; o < OC; o++)
            assert_int_equal(isnan(r.dw[c * OC + o]) != 0, c == in || o == column);
        for (int o = 0; o < OC; o++) assert_int_equal(isnan(r.db[o]) != 0, o == column);
        result_free(&r);
        problem_free(&p);
    }
}

static void unknown_sets_are_refused(void **state)
{
    (void)state;
    assert_null(ops_pick("sse9"));
    assert_null(ops_pick(""));
    for (int s = 0; s < SETS; s++)
        if (ops_pick(sets[s])) assert_string_equal(ops_pick(sets[s])->name, sets[s]);
    assert_non_null(ops_pick(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_at_every_edge),
        cmocka_unit_test(inputs_at_every_edge),
        cmocka_unit_test(outputs_at_every_edge),
        cmocka_unit_test(shapes_of_models),
        cmocka_unit_test(whole_numbers_are_exact),
        cmocka_unit_test(bias_may_be_missing),
        cmocka_unit_test(joined_kernels_have_the_same_bits),
        cmocka_unit_test(order_depends_on_nothing_else),
        cmocka_unit_test(nan_stays_in_its_row_and_column),
        cmocka_unit_test(unknown_sets_are_refused),
    };
    return cmocka_run_group_tests(tests, make_teams, free_teams);
}
