/* test_layernorm.c -- y = w (x - mean) / std + b. */
#include "kernels.h"
#include <math.h>
#include <string.h>

static const struct { int N, C; } sizes[] = { { 3, 5 }, { 1, 7 }, { 4, 2 }, { 2, 1 }, { 1, 1 } };
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 20 };
static const double eps = 1e-5;

struct problem {
    int N, C;
    size_t nx, nc, nn;
    const double *x, *w, *b, *dy, *dx0, *dw0, *db0;
    c128 *xc, *wc, *bc, *yc, *mean, *rstd;
};

static struct problem problem(int N, int C, const double *x)
{
    struct problem p = { .N = N, .C = C };
    p.nx = (size_t)(N * C), p.nc = (size_t)C, p.nn = (size_t)N;
    p.x = x ? input_bytes(x, p.nx * sizeof *x) : input(p.nx, -2, 3);
    p.w = input(p.nc, -2, 2), p.b = input(p.nc, -2, 2), p.dy = input(p.nx, -1, 1);
    p.dx0 = input(p.nx, -1, 1), p.dw0 = input(p.nc, -1, 1), p.db0 = input(p.nc, -1, 1);
    p.xc = input_c128(p.x, p.nx), p.wc = input_c128(p.w, p.nc), p.bc = input_c128(p.b, p.nc);
    p.yc = output_c128(p.nx), p.mean = output_c128(p.nn), p.rstd = output_c128(p.nn);
    return p;
}

/* proves ln.mean ln.rstd ln.y */
static void the_formula_in_long_double(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const struct problem p = problem(sizes[s].N, sizes[s].C, NULL);
        double *y = output(p.nx), *mean = output(p.nn), *rstd = output(p.nn);
        ref_layernorm_forward_f64(y, mean, rstd, p.x, p.w, p.b, p.N, p.C);
        for (int n = 0; n < p.N; n++) {
            const double *x = p.x + n * p.C;
            long double m = 0, var = 0;
            for (int i = 0; i < p.C; i++) m += (long double)x[i] / p.C;
            for (int i = 0; i < p.C; i++) var += (x[i] - m) * (x[i] - m) / p.C;
            const long double r = 1 / sqrtl(var + (long double)eps);
            assert_near_at(mean[n], (double)m, 40 * U64, "mean", (size_t)n);
            assert_near_at(rstd[n], (double)r, 40 * U64 * (double)r, "rstd", (size_t)n);
            for (int i = 0; i < p.C; i++)               /* |x - m| <= 5, |w| <= 2 */
                assert_near_at(y[n * p.C + i], (double)(p.w[i] * (x[i] - m) * r + p.b[i]),
                               40 * U64 * (2 + 10 * (double)r), "y", (size_t)(n * p.C + i));
        }
    }
}

/* NORM-01: a mean far above the spread.  E[x^2] - E[x]^2 in float would give a
 * variance of -128 here. */
/* proves ln.mean ln.rstd ln.y */
static void a_large_mean_does_not_cancel(void **state)
{
    (void)state;
    const double x[] = { 40000, 40001, 40002, 40003 }, one[] = { 1, 1, 1, 1 }, zero[4] = { 0 };
    const double want[] = { -1.3416354, -0.4472118, 0.4472118, 1.3416354 };
    double *y = output(4), *mean = output(1), *rstd = output(1), read[4];
    float *yf = output_f32(4), *meanf = output_f32(1), *rstdf = output_f32(1);
    ref_layernorm_forward_f32(yf, meanf, rstdf, input_f32(x, 4), input_f32(one, 4), input_f32(zero, 4), 1, 4);
    ref_layernorm_forward_f64(y, mean, rstd, input_bytes(x, sizeof x), input_bytes(one, sizeof one),
                              input_bytes(zero, sizeof zero), 1, 4);
    for (int i = 0; i < 4; i++) read[i] = (double)yf[i];
    all_near(y, want, 4, 0.6e-7, "y");              /* 8 digits are given */
    all_near(read, want, 4, 0.6e-7 + 8 * U32, "y in float");

    enum { C = 256 };                               /* a constant row: y = b exactly */
    double flat[C];
    for (int i = 0; i < C; i++) flat[i] = 1234;
    const double *w = input(C, -2, 2), *b = input(C, -2, 2);
    float *zf = output_f32(C);
    ref_layernorm_forward_f32(zf, meanf, rstdf, input_f32(flat, C), input_f32(w, C), input_f32(b, C), 1, C);
    for (int i = 0; i < C; i++) assert_true((double)zf[i] == b[i]);
}

static c128 loss(const void *context)
{
    const struct problem *p = context;
    ref_layernorm_forward_c128(p->yc, p->mean, p->rstd, p->xc, p->wc, p->bc, p->N, p->C);
    return dot_c128(p->dy, p->yc, p->nx);
}

static void step_every_entry(const struct problem *p)
{
    double *y = output(p->nx), *mean = output(p->nn), *rstd = output(p->nn);
    double *dx = gradient(p->dx0, p->nx), *dw = gradient(p->dw0, p->nc), *db = gradient(p->db0, p->nc);
    ref_layernorm_forward_f64(y, mean, rstd, p->x, p->w, p->b, p->N, p->C);
    const double *m = input_bytes(mean, p->nn * sizeof *mean), *r = input_bytes(rstd, p->nn * sizeof *rstd);
    ref_layernorm_backward_f64(dx, dw, db, p->dy, p->x, p->w, m, r, p->N, p->C);

    double steepest = 0;                    /* dx is a sum of terms below 4 rstd */
    for (size_t n = 0; n < p->nn; n++) steepest = fmax(steepest, r[n]);
    const step_arg args[] = { { "dx", p->xc, p->nx, p->dx0, dx, 4 * steepest }, { "dw", p->wc, p->nc, p->dw0, dw, 0 },
                              { "db", p->bc, p->nc, p->db0, db, 0 } };
    assert_int_equal(complex_step(loss, p, args, 3, 100), p->nx + 2 * p->nc);

    c128 *dxc = gradient_c128(p->dx0, p->nx), *dwc = gradient_c128(p->dw0, p->nc);
    c128 *dbc = gradient_c128(p->db0, p->nc);
    ref_layernorm_backward_c128(dxc, dwc, dbc, input_c128(p->dy, p->nx), p->xc, p->wc,
                                input_c128(m, p->nn), input_c128(r, p->nn), p->N, p->C);
    all_near_c128(dxc, dx, p->nx, 0, "dx in c128");
    all_near_c128(dwc, dw, p->nc, 0, "dw in c128");
    all_near_c128(dbc, db, p->nc, 0, "db in c128");
}

/* proves ln.dxhat ln.dx ln.dw ln.db */
static void every_entry_by_complex_step(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const struct problem p = problem(sizes[s].N, sizes[s].C, NULL);
        step_every_entry(&p);
    }
}

/* NORM-02: where eps is all, or much, of the root, forward and backward agree.
 * (The spread is 2^-13, about 1e-4.) */
/* proves ln.rstd ln.y ln.dx */
static void eps_stands_in_the_root_both_ways(void **state)
{
    (void)state;
    const double d = 0x1p-13, x[3][5] = { { 0 }, { d, -d, 0, d, -d }, { 1 + d, 1, 1, 1 - d, 1 } };
    const struct problem p = problem(3, 5, &x[0][0]);
    double *y = output(p.nx), *mean = output(3), *rstd = output(3);
    ref_layernorm_forward_f64(y, mean, rstd, p.x, p.w, p.b, 3, 5);
    all_near(y, p.b, 5, 0, "y of a row of zeros");
    assert_near(rstd[0], 1 / sqrt(1e-5), 8 * U64 * 317);
    assert_near(rstd[1], 1 / sqrt(4 * d * d / 5 + 1e-5), 8 * U64 * 317);
    assert_near(rstd[2], 1 / sqrt(2 * d * d / 5 + 1e-5), 8 * U64 * 317);
    step_every_entry(&p);
}

/* y does not feel a shift of x, nor (but for eps) a stretch: with the rows of
 * x far apart from eps, dx is orthogonal to 1. */
/* proves ln.dx */
static void gradient_rows_sum_to_zero(void **state)
{
    (void)state;
    const struct problem p = problem(3, 5, NULL);
    const double zero[15] = { 0 };
    double *y = output(p.nx), *mean = output(3), *rstd = output(3);
    double *dx = gradient(zero, 15), *dw = gradient(zero, 5), *db = gradient(zero, 5);
    ref_layernorm_forward_f64(y, mean, rstd, p.x, p.w, p.b, 3, 5);
    ref_layernorm_backward_f64(dx, dw, db, p.dy, p.x, p.w, mean, rstd, 3, 5);
    for (int n = 0; n < 3; n++) {
        double sum = 0, size = 0;
        for (int i = 0; i < 5; i++) sum += dx[n * 5 + i], size += fabs(dx[n * 5 + i]);
        assert_true(size > 0.1);
        assert_near(sum, 0.0, 40 * U64 * (size + 5 * rstd[n] * 4));
    }
}

/* Forward.  The mean is off by e = (C+1) u avg|x|; then d = x - m by e + u |d|,
 * the variance by 2 e avg|d| + e^2 + (C+5) u var, rstd by half of the variance's
 * relative error and 4 u, and y by the sum of what its factors bring. */
static void bound_forward(double *bound, const double *x, const double *w, const double *b, int C)
{
    double size = 0, m = 0, spread = 0, var = 0;
    for (int i = 0; i < C; i++) size += fabs(x[i]) / C, m += x[i] / C;
    for (int i = 0; i < C; i++) spread += fabs(x[i] - m) / C, var += (x[i] - m) * (x[i] - m) / C;
    const double e = gamma32(C + 1) * size, r = 1 / sqrt(var + eps);
    const double r_off = (2 * e * spread + e * e + gamma32(C + 5) * var) * r * r / 2 + gamma32(4);
    for (int i = 0; i < C; i++) {
        const double d = fabs(x[i] - m), d_off = e + U32 * d;
        bound[i] = fabs(w[i]) * r * (d_off + d * r_off + d_off * r_off + gamma32(3) * d)
                 + U32 * fabs(b[i]);
    }
}

static void float_within_its_bound(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const struct problem p = problem(sizes[s].N, sizes[s].C, NULL);
        const int N = p.N, C = p.C;
        const float *xf = input_f32(p.x, p.nx), *wf = input_f32(p.w, p.nc), *bf = input_f32(p.b, p.nc);
        double *y = output(p.nx), *mean = output(p.nn), *rstd = output(p.nn), bound[MOST];
        float *yf = output_f32(p.nx), *meanf = output_f32(p.nn), *rstdf = output_f32(p.nn);
        ref_layernorm_forward_f64(y, mean, rstd, p.x, p.w, p.b, N, C);
        ref_layernorm_forward_f32(yf, meanf, rstdf, xf, wf, bf, N, C);
        for (int n = 0; n < N; n++) bound_forward(bound + n * C, p.x + n * C, p.w, p.b, C);
        within(yf, y, bound, p.nx, "y");

        /* Backward: mean and rstd are given, so xhat is off by 2 u and every
         * product and sum by one u each: at most C + 9 in a row. */
        for (int n = 0; n < N; n++) mean[n] = (double)meanf[n], rstd[n] = (double)rstdf[n];
        double *dx = gradient(p.dx0, p.nx), *dw = gradient(p.dw0, p.nc), *db = gradient(p.db0, p.nc);
        float *dxf = gradient_f32(p.dx0, p.nx), *dwf = gradient_f32(p.dw0, p.nc);
        float *dbf = gradient_f32(p.db0, p.nc);
        ref_layernorm_backward_f64(dx, dw, db, p.dy, p.x, p.w, mean, rstd, N, C);
        ref_layernorm_backward_f32(dxf, dwf, dbf, input_f32(p.dy, p.nx), xf, wf, meanf, rstdf, N, C);
        double dw_terms[7], db_terms[7];
        for (int i = 0; i < C; i++) dw_terms[i] = fabs(p.dw0[i]), db_terms[i] = fabs(p.db0[i]);
        for (int n = 0; n < N; n++) {
            double avg = 0, avg_xhat = 0;
            for (int i = 0; i < C; i++) {
                const double dxhat = fabs(p.w[i] * p.dy[n * C + i]);
                const double xhat = fabs((p.x[n * C + i] - mean[n]) * rstd[n]);
                avg += dxhat / C, avg_xhat += dxhat * xhat / C;
                dw_terms[i] += fabs(p.dy[n * C + i]) * xhat, db_terms[i] += fabs(p.dy[n * C + i]);
            }
            for (int i = 0; i < C; i++) {
                const double dxhat = fabs(p.w[i] * p.dy[n * C + i]);
                const double xhat = fabs((p.x[n * C + i] - mean[n]) * rstd[n]);
                bound[n * C + i] = gamma32(C + 9) * (fabs(p.dx0[n * C + i])
                                                     + rstd[n] * (dxhat + avg + xhat * avg_xhat));
            }
        }
        within(dxf, dx, bound, p.nx, "dx");
        for (int i = 0; i < C; i++) bound[i] = gamma32(N + 3) * dw_terms[i];
        within(dwf, dw, bound, p.nc, "dw");
        for (int i = 0; i < C; i++) bound[i] = gamma32(N) * db_terms[i];
        within(dbf, db, bound, p.nc, "db");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        kernel_test(the_formula_in_long_double),
        kernel_test(a_large_mean_does_not_cancel),
        kernel_test(every_entry_by_complex_step),
        kernel_test(eps_stands_in_the_root_both_ways),
        kernel_test(gradient_rows_sum_to_zero),
        kernel_test(float_within_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
