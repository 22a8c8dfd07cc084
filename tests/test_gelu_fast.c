/* test_gelu_fast.c -- GELU in vectors against the double definition.
 *
 * With g = (1 + tanh z) / 2, relative errors in u = 2^-24: the argument 2z has
 * 6 (two constants, four roundings), which g feels as 6 |2z| (1 - g); exp has
 * 2.04, the sum, the quotient, the products one each.  So
 *
 *  y      |y| (6 |2z| (1 - g) + 8) u, and 2^-147 |x| where e^-2|z| is subnormal
 *  slope  g (6 |2z| (1 - g) + 8) u + |x 2 z' g (1 - g)| (12 |2z| + 24) u
 *
 * times |dy|, and one rounding of the sum that dx becomes.  For large negative
 * x these are sharper than the definition in double, whose 1 + tanh z has an
 * error of 2^-53 there: that is added, and the same values are also held to
 * x / (1 + e^-2z) in double, without it.
 */
#include "fast_check.h"
#define VT_SCALAR 64
#include "kernels/definitions.h"

static share s_y = { .what = "gelu y" }, s_dx = { .what = "gelu dx" };

typedef struct expected { double y, slope, y_bound, slope_bound, y_loss, slope_loss; } expected;

static expected expect(double x)
{
    const double K2 = 2 * 0.79788456080286535588;
    const double z2 = K2 * (x + 0.044715 * x * x * x), dz2 = K2 * (1 + 3 * 0.044715 * x * x);
    const double g = 1 / (1 + exp(-z2)), rest = 1 / (1 + exp(z2));
    const double term = g * rest > 0 ? x * dz2 * g * rest : 0;
    const double arg = rest > 0 && g > 0 ? fabs(z2) : 0;    /* else it has no effect */
    expected r = { .y = x * g, .slope = g + term };
    r.y_bound = fabs(r.y) * (6 * arg * rest + 8) * U + fabs(x) * 0x1p-147 + 0x1p-149;
    r.slope_bound = g * (6 * arg * rest + 8) * U + fabs(term) * (12 * arg + 24) * U + 0x1p-140;
    r.y_loss = 2 * fabs(x) * 0x1p-53;
    r.slope_loss = (4 + (term != 0 ? 4 * fabs(x) * dz2 : 0)) * 0x1p-53;
    return r;
}

static void run(const ops *o, const float *x, size_t n, bool teams)
{
    float *in = fc_copy(x, n), *dy = fc_random_buffer(n, 1), *dy2 = fc_copy(dy, n);
    float *dx0 = fc_random_buffer(n, 1), *y1 = NULL, *dx1 = NULL;
    double *xd = fc_doubles(x, n), *dyd = fc_doubles(dy, n), *want = fc_zeros(n);
    double *dxd = fc_doubles(dx0, n);
    ref_gelu_forward_f64(want, xd, n);
    ref_gelu_backward_f64(dxd, dyd, xd, n);
    for (int i = 0; i < (teams ? FC_TEAMS : 1); i++) {
        float *y = fc_nan_buffer(n), *dx = fc_copy(dx0, n);
        o->gelu_forward(fc_team[i], y, in, n);
        o->gelu_backward(fc_team[i], dx, dy, in, n);
        for (size_t j = 0; j < n && i == 0; j++) {
            const expected e = expect(xd[j]);
            const double d = fabs(dyd[j]), dx_want = (double)dx0[j] + dyd[j] * e.slope;
            const double dx_bound = d * e.slope_bound + U * (fabs(dx_want) + d * e.slope_bound);
            FC_NEAR(&s_y, y[j], e.y, e.y_bound, j);
            FC_NEAR(&s_dx, dx[j], dx_want, dx_bound, j);
            FC_NEAR(&s_y, y[j], want[j], e.y_bound + e.y_loss, j);
            FC_NEAR(&s_dx, dx[j], dxd[j], dx_bound + d * e.slope_loss, j);
        }
        if (i == 0) {
            y1 = y, dx1 = dx;
        } else {
            FC_SAME(y, y1, n);
            FC_SAME(dx, dx1, n);
            guarded_free(y);
            guarded_free(dx);
        }
    }
    FC_SAME(in, x, n);
    FC_SAME(dy, dy2, n);
    float *all[] = { in, dy, dy2, dx0, y1, dx1 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
    free(xd), free(dyd), free(want), free(dxd);
}

static void sizes(const ops *o)
{
    static float x[3 * 4096];
    fc_make_teams((ops_sizes){ 1, 1, 0, 1, 1, 1, 1, 1 });
    for (size_t n = 1; n <= FC_SMALL; n++) {
        fc_fill(x, n, 6);
        run(o, x, n, false);
    }
    for (size_t i = 0; i < FC_EDGES; i++) {
        fc_fill(x, fc_edge(i, 4096), 6);
        run(o, x, fc_edge(i, 4096), false);
    }
    static const size_t more[] = { 4095, 4096, 4097, 8192, 8195, 12288 };
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        fc_fill(x, more[i], i % 2 ? 6 : 14);
        run(o, x, more[i], true);
    }
    for (size_t k = 0; k < 16; k++) {           /* densely over -12 .. 12 */
        for (size_t i = 0; i < 4096; i++)
            x[i] = (float)(-12 + 24 * (double)(k * 4096 + i) / 65536);
        run(o, x, 4096, false);
    }
    for (size_t i = 0; i < 4096; i++)           /* all magnitudes */
        x[i] = (float)ldexp(i % 2 ? -1.25 : 1.25, (int)(i % 250) - 125);
    run(o, x, 4096, false);
    fc_report(&s_y);
    fc_report(&s_dx);
}

/* ACT-01: the tanh form, not erf (0.8413447461 at 1). */
static void values(const ops *o)
{
    static const float x[] = { 1, -2.699f, 0, INFINITY, -INFINITY, NAN, 1e30f, -1e30f };
    float y[8], dx[8] = { 0 }, dy[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    o->gelu_forward(NULL, y, x, 8);
    o->gelu_backward(NULL, dx, dy, x, 8);
    assert_near((double)y[0], 0.8411919906, 1e-7);
    assert_near((double)y[1], -2.699 * 0.5 * (1 + tanh(0.79788456080286535588 * (-2.699 - 0.044715 * 19.661138099))),
                2e-9);
    assert_true(y[2] == 0 && y[3] == INFINITY && isnan(y[4]) && isnan(y[5]));
    assert_true(y[6] == 1e30f && y[7] == 0);
    assert_true(dx[2] == 0.5f && isnan(dx[5]) && dx[6] == 1 && dx[7] == 0);
}

static void against_the_definition(void **state) { (void)state; fc_each_table(sizes); fc_free_teams(); }
static void known_values(void **state)           { (void)state; fc_each_table(values); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_the_definition),
        cmocka_unit_test(known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
