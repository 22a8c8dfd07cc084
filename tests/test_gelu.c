/* test_gelu.c -- GELU, the tanh form. */
#include "kernels.h"
#include <math.h>

enum { N = 9 };

/* The tanh form in long double, with the root taken here. */
static double wanted(double x)
{
    const long double root = sqrtl(2.0L / 3.14159265358979323846264L), z = x;
    return (double)(0.5L * z * (1 + tanhl(root * (z + 0.044715L * z * z * z))));
}

/* proves gelu.z gelu.y */
static void the_formula_in_long_double(void **state)
{
    (void)state;
    for (size_t n = 1; n <= N; n++) {
        const double *x = input(n, -4, 4);
        double *y = output(n);
        ref_gelu_forward_f64(y, x, n);
        for (size_t i = 0; i < n; i++)          /* |y| <= 4; see the float bound */
            assert_near_at(y[i], wanted(x[i]), 20 * U64 * fabs(x[i]), "y", i);
    }
}

/* ACT-01: the two forms are told apart where they differ most. */
/* proves gelu.y */
static void it_is_not_the_erf_form(void **state)
{
    (void)state;
    const double x[] = { 1, -2.699, 2.699, 0 };
    double *y = output(4);
    ref_gelu_forward_f64(y, input_bytes(x, sizeof x), 4);
    assert_near(y[0], 0.8411919906, 0.6e-10);
    assert_near(fabs(y[0] - 0.8413447461), 1.527555e-4, 1.2e-10);
    for (int i = 1; i <= 2; i++) {
        const double erf_form = x[i] * 0.5 * erfc(-x[i] / sqrt(2.0));
        assert_near(fabs(y[i] - erf_form), 4.7324e-4, 0.6e-8);
    }
    assert_near(y[3], 0.0, 0.0);
}

/* proves gelu.y gelu.dx */
static void far_from_zero_it_is_a_ramp(void **state)
{
    (void)state;
    const double x[] = { 40, -40, 1e6, -1e6 }, zero[4] = { 0 }, one[] = { 1, 1, 1, 1 };
    const double y1[] = { 40, 0, 1e6, 0 }, dx1[] = { 1, 0, 1, 0 };
    double *y = output(4), *dx = gradient(zero, 4);
    ref_gelu_forward_f64(y, input_bytes(x, sizeof x), 4);
    ref_gelu_backward_f64(dx, input_bytes(one, sizeof one), input_bytes(x, sizeof x), 4);
    all_near(y, y1, 4, 0, "y");
    all_near(dx, dx1, 4, 0, "dx");
}

struct problem { size_t n; const double *dy; c128 *x, *y; };

static c128 loss(const void *context)
{
    const struct problem *p = context;
    ref_gelu_forward_c128(p->y, p->x, p->n);
    return dot_c128(p->dy, p->y, p->n);
}

/* proves gelu.dx */
static void every_entry_by_complex_step(void **state)
{
    (void)state;
    for (size_t n = 1; n <= N; n++) {
        const double *x = input(n, -3, 3), *dy = input(n, -1, 1), *dx0 = input(n, -1, 1);
        double *dx = gradient(dx0, n);
        ref_gelu_backward_f64(dx, dy, x, n);

        const struct problem p = { n, dy, input_c128(x, n), output_c128(n) };
        const step_arg args[] = { { "dx", p.x, n, dx0, dx, 0 } };
        assert_int_equal(complex_step(loss, &p, args, 1, 60), n);

        c128 *dxc = gradient_c128(dx0, n);
        ref_gelu_backward_c128(dxc, input_c128(dy, n), p.x, n);
        all_near_c128(dxc, dx, n, 0, "dx in c128");        /* the real parts' bits */
    }
}

/* z is a sum of two terms of one sign, five products and two rounded constants
 * deep: off by 8 u |z|.  tanh then is off by 8 u |z| (1 - th^2), and by 2 ulp of
 * its own, 4 u |th|: `off`.  y multiplies (1 + th) by x/2 in three roundings.
 * In the derivative z' has 7 roundings, th^2 doubles `off`. */
static void float_within_its_bound(void **state)
{
    (void)state;
    const double *x = input(N, -4, 4), *dy = input(N, -1, 1), *dx0 = input(N, -1, 1);
    const float *xf = input_f32(x, N);
    double *y = output(N), *dx = gradient(dx0, N), forward[N], backward[N];
    float *yf = output_f32(N), *dxf = gradient_f32(dx0, N);
    ref_gelu_forward_f64(y, x, N);
    ref_gelu_forward_f32(yf, xf, N);
    ref_gelu_backward_f64(dx, dy, x, N);
    ref_gelu_backward_f32(dxf, input_f32(dy, N), xf, N);
    for (size_t i = 0; i < N; i++) {
        const double root = 0.7978845608, z = root * (x[i] + 0.044715 * x[i] * x[i] * x[i]);
        const double th = tanh(z), flat = 1 - th * th, dz = root * (1 + 3 * 0.044715 * x[i] * x[i]);
        const double off = gamma32(8) * fabs(z) * flat + gamma32(4) * fabs(th);
        forward[i] = fabs(x[i]) / 2 * (off + gamma32(3) * (1 + th));
        const double terms = (1 + fabs(th) + fabs(x[i]) * dz * flat) / 2;
        const double slope = off / 2 + fabs(x[i]) * dz * (2 * fabs(th) * off + 2 * U32) / 2
                           + gamma32(7 + 5) * terms;
        backward[i] = fabs(dy[i]) * slope + gamma32(2) * (fabs(dx0[i]) + fabs(dy[i]) * terms);
    }
    within(yf, y, forward, N, "y");
    within(dxf, dx, backward, N, "dx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        kernel_test(the_formula_in_long_double),
        kernel_test(it_is_not_the_erf_form),
        kernel_test(far_from_zero_it_is_a_ramp),
        kernel_test(every_entry_by_complex_step),
        kernel_test(float_within_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
