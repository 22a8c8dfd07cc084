/* test_softmax.c -- rows of scores to rows of probabilities. */
#include "kernels.h"
#include <math.h>

static const struct { int N, V; } sizes[] = { { 3, 5 }, { 1, 7 }, { 4, 2 }, { 3, 1 }, { 1, 1 } };
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 15 };

/* proves softmax.p */
static void the_formula_in_long_double(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const int N = sizes[s].N, V = sizes[s].V;
        const size_t n = (size_t)(N * V);
        const double *x = input(n, -4, 4);
        double *p = output(n);
        ref_softmax_forward_f64(p, x, N, V);
        for (int r = 0; r < N; r++) {
            long double sum = 0;
            for (int v = 0; v < V; v++) sum += expl((long double)x[r * V + v]);
            for (int v = 0; v < V; v++)             /* |x - max| <= 8: see the float bound */
                assert_near_at(p[r * V + v], (double)(expl((long double)x[r * V + v]) / sum),
                               (2 * 8 + V + 7) * U64 * p[r * V + v], "p", (size_t)(r * V + v));
        }
    }
}

/* x on a grid of eighths, so that x + shift is exact and so is x - max. */
static void a_shift_changes_no_bit(void **state)
{
    (void)state;
    enum { N = 3, V = 5, M = N * V };
    const double shifts[] = { 1, -7, 1000, -1000, 1048576 };
    double x[M], y[M];
    for (int i = 0; i < M; i++) x[i] = floor(draw(-40, 40)) / 8;
    double *p = output(M);
    float *pf = output_f32(M);
    ref_softmax_forward_f64(p, input_bytes(x, sizeof x), N, V);
    ref_softmax_forward_f32(pf, input_f32(x, M), N, V);
    for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++) {
        for (int i = 0; i < M; i++) y[i] = x[i] + shifts[s];
        double *q = output(M);
        float *qf = output_f32(M);
        ref_softmax_forward_f64(q, input_bytes(y, sizeof y), N, V);
        ref_softmax_forward_f32(qf, input_f32(y, M), N, V);
        all_same(q, p, M, "shifted p");
        for (int i = 0; i < M; i++) assert_true(qf[i] == pf[i]);
    }
}

/* proves softmax.p */
static void limits(void **state)
{
    (void)state;
    const double inf = (double)INFINITY;
    const double x[] = { 3, -inf, 3, -inf,          /* -inf: probability 0 */
                         1e308, -1e308, 0, 1e308,   /* x - max overflows to -inf */
                         -1e4, -1e4, -1e4, -1e4 };  /* exp(x) alone is 0 */
    const double want[] = { .5, 0, .5, 0,  .5, 0, 0, .5,  .25, .25, .25, .25 };
    double *p = output(12);
    ref_softmax_forward_f64(p, input_bytes(x, sizeof x), 3, 4);
    all_near(p, want, 12, 0, "p");
    const double equal[] = { 2, 2, 2 }, third[] = { 1.0 / 3, 1.0 / 3, 1.0 / 3 };
    ref_softmax_forward_f64(p, input_bytes(equal, sizeof equal), 1, 3);
    all_near(p, third, 3, 0, "p of equal scores");
}

struct problem { int N, V; size_t n; const double *dp; c128 *x, *p; };

static c128 loss(const void *context)
{
    const struct problem *p = context;
    ref_softmax_forward_c128(p->p, p->x, p->N, p->V);
    return dot_c128(p->dp, p->p, p->n);
}

/* proves softmax.dx */
static void every_entry_by_complex_step(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const int N = sizes[s].N, V = sizes[s].V;
        const size_t n = (size_t)(N * V);
        const double *x = input(n, -3, 3), *dp = input(n, -1, 1), *dx0 = input(n, -1, 1);
        double *out = output(n), *dx = gradient(dx0, n);
        ref_softmax_forward_f64(out, x, N, V);
        const double *p = input_bytes(out, n * sizeof *out);
        ref_softmax_backward_f64(dx, dp, p, N, V);

        const struct problem c = { N, V, n, dp, input_c128(x, n), output_c128(n) };
        const step_arg args[] = { { "dx", c.x, n, dx0, dx, 0 } };
        assert_int_equal(complex_step(loss, &c, args, 1, 40), n);

        c128 *dxc = gradient_c128(dx0, n);
        ref_softmax_backward_c128(dxc, input_c128(dp, n), input_c128(p, n), N, V);
        all_near_c128(dxc, dx, n, 0, "dx in c128");
    }
}

/* sum_v dx[v] = sum p dp - (sum p) (sum p dp) = 0. */
/* proves softmax.dx */
static void gradient_rows_sum_to_zero(void **state)
{
    (void)state;
    enum { N = 3, V = 5, M = N * V };
    const double zero[M] = { 0 }, *x = input(M, -3, 3), *dp = input(M, -1, 1);
    double *p = output(M), *dx = gradient(zero, M), largest = 0;
    ref_softmax_forward_f64(p, x, N, V);
    ref_softmax_backward_f64(dx, dp, p, N, V);
    for (int n = 0; n < N; n++) {
        double sum = 0;
        for (int v = 0; v < V; v++) sum += dx[n * V + v];
        for (int v = 0; v < V; v++) largest = fmax(largest, fabs(dx[n * V + v]));
        assert_near(sum, 0.0, 4 * V * U64);         /* terms below 1, V of them, p off by V */
    }
    assert_true(largest > 0.01);                    /* and the row is not simply 0 */
}

/* Forward: d = x - max is off by a relative u, so exp(d) by |d| u, and by 2 u
 * for exp itself; the sum of V such terms by (V + 2 + max|d|) u; the quotient
 * by the sum of both and u.  Backward: p and dp are exact, row has V products. */
static void float_within_its_bound(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const int N = sizes[s].N, V = sizes[s].V;
        const size_t n = (size_t)(N * V);
        const double *x = input(n, -4, 4), *dp = input(n, -1, 1), *dx0 = input(n, -1, 1);
        const double *q = input(n, 0, 1);
        double *p = output(n), *dx = gradient(dx0, n), bound[MOST];
        float *pf = output_f32(n), *dxf = gradient_f32(dx0, n);

        ref_softmax_forward_f64(p, x, N, V);
        ref_softmax_forward_f32(pf, input_f32(x, n), N, V);
        for (size_t i = 0; i < n; i++) bound[i] = gamma32(8 + 8 + V + 2 + 2 + 1) * p[i];
        within(pf, p, bound, n, "p");

        ref_softmax_backward_f64(dx, dp, q, N, V);
        ref_softmax_backward_f32(dxf, input_f32(dp, n), input_f32(q, n), N, V);
        for (int r = 0; r < N; r++) {
            double row = 0;
            for (int v = 0; v < V; v++) row += fabs(q[r * V + v] * dp[r * V + v]);
            for (int v = 0; v < V; v++) {
                const int i = r * V + v;
                bound[i] = gamma32(V + 4) * (fabs(dx0[i]) + q[i] * (fabs(dp[i]) + row));
            }
        }
        within(dxf, dx, bound, n, "dx");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        kernel_test(the_formula_in_long_double),
        kernel_test(a_shift_changes_no_bit),
        kernel_test(limits),
        kernel_test(every_entry_by_complex_step),
        kernel_test(gradient_rows_sum_to_zero),
        kernel_test(float_within_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
