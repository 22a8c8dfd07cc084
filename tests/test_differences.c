/* test_differences.c -- the adaptive differences: the derivative is within the
 * error bar, the bar is small, and what has no derivative is said to have none.
 * Expected values by algebra.
 */
#include "support.h"
#include <float.h>
#include <math.h>
#include "base/rng.h"
#include "verify/differences.h"

/* sum_k a[k] x^k */
typedef struct polynomial { double a[8]; int n; } polynomial;

static double polynomial_at(void *context, double x)
{
    const polynomial *p = context;
    double y = 0;
    for (int k = p->n; k-- > 0;) y = y * x + p->a[k];
    return y;
}

/* proves diff.central */
static void plain_central_difference(void **state)
{
    (void)state;
    polynomial p = { .a = { 1, 2, 3, 4 }, .n = 4 };     /* 1 + 2x + 3x^2 + 4x^3 */
    const differences_function f = { .at = polynomial_at, .context = &p };
    /* f' + h^2 f''' / 6: exact numbers where h is a power of two */
    assert_near(differences_central(&f, 1, 0.5), 20 + 0.25 * 24 / 6, 0);
    assert_near(differences_central(&f, 1, 0x1p-10), 20 + 0x1p-20 * 4, 1e-11);
}

/* Within the bar, and the bar within `most` of the value. */
static differences within(const differences_function *f, double x, double right, double most)
{
    const differences d = differences_adaptive(f, x);
    if (d.verdict != DIFFERENCES_FINE)
        fail_msg("at %g: %s; value %g, bar %g", x, differences_words(d.verdict), d.value, d.bar);
    if (!(fabs(d.value - right) <= d.bar) || !(d.bar <= most * fabs(right)))
        fail_msg("at %.17g: %.17g, expected %.17g; bar %g, step %g", x, d.value, right, d.bar,
                 d.step);
    assert_true(d.evaluations > 0 && d.evaluations < 300);
    assert_near(d.bar, d.truncation + d.rounding, 1e-15 * d.bar);
    return d;
}

/* proves diff.five */
static void polynomials(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 5);
    for (size_t i = 0; i < 500; i++) {
        polynomial p = { .n = (int)rng_integers(&r, 2, 9) };
        double right = 0, size = 0;
        const double x = 3 * rng_normal(&r);
        for (int k = 0; k < p.n; k++) p.a[k] = rng_normal(&r);
        for (int k = p.n; k-- > 1;) right = right * x + k * p.a[k];
        for (int k = p.n; k-- > 0;) size = size * fabs(x) + fabs(p.a[k]);
        const double value = fabs(polynomial_at(&p, x));
        /* Horner's rule rounds by 2 n u of the sum of sizes. */
        const differences_function f = { .at = polynomial_at, .context = &p,
            .noise = 2 * p.n * 0x1p-53 * size / (value > 0 ? value : 1) };
        const differences d = differences_adaptive(&f, x);
        assert_true(d.verdict == DIFFERENCES_FINE || d.bar >= fabs(d.value));
        assert_near_at(d.value, right, d.bar, "derivative", i);
        assert_true(d.bar <= 1e-8 * (size + fabs(right)));
    }
}

static double exp_at(void *context, double x) { return exp(*(double *)context * x); }
static double sin_at(void *context, double x) { return sin(*(double *)context * x); }
static double log_at(void *context, double x) { return x > 0 ? log(x) : *(double *)context; }
static double constant_at(void *context, double x) { (void)x; return *(double *)context; }
static double abs_at(void *context, double x) { return fabs(x) + *(double *)context * x * x; }
static double step_at(void *context, double x) { return x < *(double *)context ? 1 : 2; }
static double stairs_at(void *context, double x) { return floor(x / *(double *)context); }
static double line_at(void *context, double x) { return *(double *)context * x; }
static double square_at(void *context, double x) { return *(double *)context * x * x; }

/* proves diff.five */
static void smooth_functions(void **state)
{
    (void)state;
    for (double c = 1e-6; c < 1e7; c *= 10) {       /* of any width, the scale unknown */
        const differences_function e = { .at = exp_at, .context = &c, .noise = 4 * DBL_EPSILON };
        const differences_function s = { .at = sin_at, .context = &c, .noise = 4 * DBL_EPSILON };
        within(&e, 1 / c, c * exp(1), 1e-9);
        within(&s, 0.3 / c, c * cos(0.3), 1e-9);
        const differences_function at0 = { .at = exp_at, .context = &c, .scale = 1 / c,
                                           .noise = 2 * DBL_EPSILON };
        within(&at0, 0, c, 1e-9);
    }
}

/* A bar that is right proves little if it is wide: where the noise is known the
 * best that differences can do is about 1e-12. */
static void the_bar_is_narrow(void **state)
{
    (void)state;
    double c = 1;
    const differences_function f = { .at = exp_at, .context = &c, .noise = DBL_EPSILON };
    const differences d = within(&f, 1, exp(1), 1e-11);
    assert_true(d.step > 1e-4 && d.step < 0.1);
    assert_false(d.left_domain || d.branch_flip || d.unchanged);
    assert_near(d.right - d.left, d.step * exp(1), 1e-3 * d.step * exp(1));
}

/* Near 0 a logarithm's domain ends: steps are made smaller, and it is said. */
static void a_step_out_of_the_domain(void **state)
{
    (void)state;
    double nan = (double)NAN, inf = -(double)INFINITY;
    for (double x = 1e-3; x > 1e-300; x *= 1e-9) {
        const differences_function f = { .at = log_at, .context = &nan, .noise = DBL_EPSILON };
        const differences d = within(&f, x, 1 / x, 1e-8);
        assert_true(d.step < x / 2);
        const differences_function wide = { .at = log_at, .context = x > 1e-100 ? &inf : &nan,
                                            .noise = DBL_EPSILON, .scale = 100 };
        const differences w = within(&wide, x, 1 / x, 1e-8);
        assert_true(w.left_domain);
    }
    const differences_function f = { .at = log_at, .context = &nan };
    assert_int_equal(differences_adaptive(&f, -1).verdict, DIFFERENCES_UNDEFINED);
    const differences at0 = differences_adaptive(&f, 0);
    assert_int_equal(at0.verdict, DIFFERENCES_UNDEFINED);
    assert_true(isnan(at0.value) && isinf(at0.bar));
    assert_string_equal(differences_words(at0.verdict), "undefined");
}

static void tiny_and_huge_scales(void **state)
{
    (void)state;
    for (double scale = 1e-300; scale < 1e300; scale *= 1e50) {
        double slope = 3;
        const differences_function f = { .at = line_at, .context = &slope };
        within(&f, scale, 3, 1e-10);
        double small = 3e-5;
        const differences_function g = { .at = line_at, .context = &small };
        within(&g, scale, 3e-5, 1e-10);
    }
    double one = 1;
    const differences_function f = { .at = square_at, .context = &one };
    within(&f, 1e-150, 2e-150, 1e-10);
    const differences d = differences_adaptive(&f, 1e-300);     /* x^2 is 0 there */
    assert_true(d.verdict == DIFFERENCES_NO_RESOLUTION);
    assert_near(d.value, 2e-300, d.bar);
}

static void no_resolution(void **state)
{
    (void)state;
    const double constants[] = { 0, 1, -1e300, 1e-300 };
    for (int i = 0; i < 4; i++) {
        double c = constants[i];
        const differences_function f = { .at = constant_at, .context = &c };
        const differences d = differences_adaptive(&f, 2);
        assert_int_equal(d.verdict, DIFFERENCES_NO_RESOLUTION);
        assert_true(d.unchanged);
        assert_true(d.value == 0 && d.bar > 0);
        assert_true(d.bar <= 1e-12 * fabs(c) + 1e-310);
        assert_string_equal(differences_words(d.verdict), "no resolution at this scale");
    }
    /* It moves, but by less than the caller says that f is wrong by. */
    polynomial p = { .a = { 1, 1e-9 }, .n = 2 };
    const differences_function f = { .at = polynomial_at, .context = &p, .noise = 1e-6 };
    const differences d = differences_adaptive(&f, 0.5);
    assert_int_equal(d.verdict, DIFFERENCES_NO_RESOLUTION);
    assert_false(d.unchanged);
    assert_near(d.value, 1e-9, d.bar);
    const differences_function sharp = { .at = polynomial_at, .context = &p };
    within(&sharp, 0.5, 1e-9, 0.01);
}

static void not_smooth(void **state)
{
    (void)state;
    /* |x| + c x^2 at 0: the central difference is 0, with a bar as small as any */
    for (double c = 0; c < 2e3; c = c == 0 ? 1 : c * 10) {
        const differences_function f = { .at = abs_at, .context = &c };
        const differences d = differences_adaptive(&f, 0);
        assert_int_equal(d.verdict, DIFFERENCES_NOT_SMOOTH);
        assert_true(fabs(d.right - 1) < 0.5 * (1 + c) && fabs(d.left + 1) < 0.5 * (1 + c));
        assert_true(d.right - d.left > 1);
        within(&f, 0.7, 1 + 1.4 * c, 1e-9);
        within(&f, -1e-3, -1 - 2e-3 * c, 1e-8);         /* steps shrink below the kink */
    }
    double at = 0.5;
    const differences_function f = { .at = step_at, .context = &at };
    assert_int_equal(differences_adaptive(&f, 0.5).verdict, DIFFERENCES_NOT_SMOOTH);
    assert_string_equal(differences_words(DIFFERENCES_NOT_SMOOTH), "not smooth here");
    /* Beside the step it is constant. */
    const differences beside = differences_adaptive(&f, 0.6);
    assert_int_equal(beside.verdict, DIFFERENCES_NO_RESOLUTION);
    assert_true(beside.unchanged && beside.value == 0);
    double width = 0.77e-3;            /* no step is a whole number of them */
    const differences_function stairs = { .at = stairs_at, .context = &width };
    const differences d = differences_adaptive(&stairs, 0.77e-3 * 1234.5);
    assert_int_equal(d.verdict, DIFFERENCES_NO_RESOLUTION);
    assert_true(d.unchanged && d.step < 0.77e-3);
}

/* relu(x) + x^2, and which branch it took */
static uint64_t branch;
static double relu_at(void *context, double x)
{
    (void)context;
    branch = x > 0 ? 17 : 4;
    return (x > 0 ? x : 0) + x * x;
}
static uint64_t branch_of(void *context) { (void)context; return branch; }

static void a_branch_flip_is_recorded(void **state)
{
    (void)state;
    const differences_function f = { .at = relu_at, .branches = branch_of, .scale = 1 };
    const differences away = within(&f, 0.45, 1.9, 1e-9);
    assert_false(away.branch_flip);
    const differences near = within(&f, 1e-3, 1 + 2e-3, 1e-9);
    assert_false(near.branch_flip);                     /* the step became smaller */
    const differences at = differences_adaptive(&f, 0);
    assert_int_equal(at.verdict, DIFFERENCES_NOT_SMOOTH);
    assert_true(at.branch_flip);
    const differences beside = differences_adaptive(&f, 1e-14);
    assert_true(beside.verdict != DIFFERENCES_FINE);
    assert_true(beside.branch_flip);
}

/* VER-07: NaN is nobody's derivative, also where it comes and goes. */
static double sometimes_nan(void *context, double x)
{
    int *calls = context;
    return ++*calls % 7 == 3 ? (double)NAN : x;
}

static void nan_does_not_pass(void **state)
{
    (void)state;
    double nan = (double)NAN;
    const differences_function f = { .at = constant_at, .context = &nan };
    assert_int_equal(differences_adaptive(&f, 1).verdict, DIFFERENCES_UNDEFINED);
    int calls = 0;
    const differences_function g = { .at = sometimes_nan, .context = &calls };
    const differences d = differences_adaptive(&g, 1);
    assert_true(d.left_domain);
    if (d.verdict == DIFFERENCES_FINE) assert_near(d.value, 1, d.bar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_central_difference),
        cmocka_unit_test(polynomials),
        cmocka_unit_test(smooth_functions),
        cmocka_unit_test(the_bar_is_narrow),
        cmocka_unit_test(a_step_out_of_the_domain),
        cmocka_unit_test(tiny_and_huge_scales),
        cmocka_unit_test(no_resolution),
        cmocka_unit_test(not_smooth),
        cmocka_unit_test(a_branch_flip_is_recorded),
        cmocka_unit_test(nan_does_not_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
