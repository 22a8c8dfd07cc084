/* test_elementary.c -- our exp, log, tanh and powers against MPFR: less than an
 * ulp off everywhere, the special cases of C's annex F exactly.
 *
 * An ulp is the distance of the doubles (floats) around the exact result; below
 * the normal numbers that of the subnormal ones.
 */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <string.h>
#include "base/elementary.h"
#include "base/rng.h"
#include "support.h"

typedef int exact_function(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef struct function {
    const char *name;
    double (*f64)(double);
    float  (*f32)(float);
    exact_function *exact;
    double from, to;            /* where a result is neither 0, Inf, 1 nor NaN */
} function;

static const function functions[] = {
    { "exp", exp_f64, exp_f32, mpfr_exp, -745.5, 709.79 },
    { "log", log_f64, log_f32, mpfr_log, 0x1p-1074, DBL_MAX },
    { "tanh", tanh_f64, tanh_f32, mpfr_tanh, -25, 25 },
};

enum { DIGITS = 140 };

/* The error of got in ulp of a format with `bits` digits and the exponent of its
 * smallest subnormal; the largest so far, and where. */
typedef struct tally { double worst, at; size_t count; } tally;

static void measure(tally *t, double got, const mpfr_t want, double x, int bits, int least)
{
    mpfr_t off;
    mpfr_init2(off, DIGITS);
    mpfr_sub_d(off, want, got, MPFR_RNDN);
    const long e = mpfr_zero_p(want) ? least : (long)mpfr_get_exp(want) - bits;
    mpfr_mul_2si(off, off, -(e < least ? least : e), MPFR_RNDN);
    const double error = fabs(mpfr_get_d(off, MPFR_RNDU));
    mpfr_clear(off);
    t->count++;
    if (!isnan(t->worst) && !(error <= t->worst)) t->worst = error, t->at = x;     /* NaN stays */
}

static void compare(tally *t, tally *in_float, const function *f, double x)
{
    mpfr_t at, want;
    mpfr_inits2(DIGITS, at, want, (mpfr_ptr)0);
    mpfr_set_d(at, x, MPFR_RNDN);
    f->exact(want, at, MPFR_RNDN);
    if (mpfr_get_d(want, MPFR_RNDN) <= DBL_MAX)         /* else Inf: special_cases() */
        measure(t, f->f64(x), want, x, 53, -1074);
    const float y = (float)x;
    mpfr_set_flt(at, y, MPFR_RNDN);
    f->exact(want, at, MPFR_RNDN);
    if (mpfr_number_p(want) && mpfr_get_flt(want, MPFR_RNDN) <= FLT_MAX)
        measure(in_float, (double)f->f32(y), want, (double)y, 24, -149);
    mpfr_clears(at, want, (mpfr_ptr)0);
}

/* Any finite double within the range. */
static double any_bits(rng *r, const function *f)
{
    for (;;) {
        const uint64_t bits = rng_u64(r);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (x >= f->from && x <= f->to) return x;
    }
}

/* x and its eight neighbours on each side. */
static void around(tally *t, tally *in_float, const function *f, double x)
{
    for (int step = -1; step <= 1; step += 2) {
        double y = x;
        for (int i = 0; i <= 8; i++) {
            if (y >= f->from && y <= f->to) compare(t, in_float, f, y);
            y = nextafter(y, step * (double)INFINITY);
        }
    }
}

static void at_boundaries(tally *t, tally *in_float, const function *f)
{
    static const double places[] = {
        0, DBL_TRUE_MIN, DBL_MIN, FLT_TRUE_MIN, FLT_MIN, 0x1p-54, 0x1p-53, 0x1p-28, 0x1p-27,
        0.171572875253809902, 0.55, M_LN2 / 2, M_LN2, M_SQRT1_2, 1, M_SQRT2, 2, M_E, 3.5, 19.0615,
        22, 87.3365, 88.7228, 103.2789, 103.9721, 708.3964, 709.7827, 744.4401, 745.1332,
        0x1p52, 0x1p53, FLT_MAX, DBL_MAX,
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        around(t, in_float, f, places[i]);
        around(t, in_float, f, -places[i]);
    }
    for (int k = -1074; k <= 1023; k++) around(t, in_float, f, ldexp(1, k));
    for (int k = -2150; k <= 2100; k++) around(t, in_float, f, k * (M_LN2 / 2));
}

/* proves elem.exp elem.log elem.tanh */
static void within_an_ulp(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        const function *f = &functions[k];
        tally t = { 0 }, in_float = { 0 };
        rng r;
        rng_seed(&r, 17 + k);
        at_boundaries(&t, &in_float, f);
        assert_true(t.worst < 1);                   /* what is wrong here need not go on */
        for (int i = 0; i < SWEEP(100000, 5000); i++) {
            compare(&t, &in_float, f, any_bits(&r, f));
            compare(&t, &in_float, f, fmax(f->from, fmin(f->to, 8 * (rng_double(&r) - 0.5))));
            compare(&t, &in_float, f, f->from < 0 ? f->from + (f->to - f->from) * rng_double(&r)
                                                  : 1 + (rng_double(&r) - 0.5));
        }
        print_message("# %s: %zu compared, worst %.4f ulp at %a; float: %zu, %.8f at %a\n", f->name,
                      t.count, t.worst, t.at, in_float.count, in_float.worst, in_float.at);
        assert_true(t.worst < 1);
        assert_true(in_float.worst <= 0.5 + 0x1p-28);
        assert_true(t.count > 3 * SWEEP(100000, 5000) && in_float.count > 2 * SWEEP(100000, 5000));
    }
}

static bool bits_equal(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

/* C11, F.10: the exact cases, signs of zeros included. */
/* proves elem.exp elem.tanh */
static void special_cases(void **state)
{
    (void)state;
    const double inf = (double)INFINITY, nan = (double)NAN;
    assert_true(bits_equal(exp_f64(0), 1) && bits_equal(exp_f64(-0.0), 1));
    assert_true(bits_equal(exp_f64(-inf), 0) && exp_f64(inf) == inf);
    assert_true(bits_equal(exp_f64(-DBL_MAX), 0) && exp_f64(DBL_MAX) == inf);
    assert_true(exp_f64(0x1.62e42fefa39efp+9) <= DBL_MAX && exp_f64(0x1.62e42fefa39fp+9) == inf);
    assert_true(exp_f64(-745.13) == 0x1p-1074 && bits_equal(exp_f64(-745.14), 0));
    assert_true(log_f64(0) == -inf && log_f64(-0.0) == -inf && log_f64(inf) == inf);
    assert_true(bits_equal(log_f64(1), 0) && isnan(log_f64(-1)) && isnan(log_f64(-inf)));
    assert_true(isnan(log_f64(-DBL_TRUE_MIN)));
    assert_true(bits_equal(tanh_f64(0), 0) && bits_equal(tanh_f64(-0.0), -0.0));
    assert_true(tanh_f64(inf) == 1 && tanh_f64(-inf) == -1);
    assert_true(tanh_f64(DBL_MAX) == 1 && tanh_f64(-DBL_MAX) == -1);
    assert_true(tanh_f64(DBL_TRUE_MIN) == DBL_TRUE_MIN);
    assert_true(isnan(exp_f64(nan)) && isnan(log_f64(nan)) && isnan(tanh_f64(nan)));
    assert_true(exp_f32(89) == INFINITY && exp_f32(-104) == 0 && tanh_f32(-0.0f) == 0);
    assert_true(isnan(exp_f32(NAN)) && isnan(log_f32(-1)) && isnan(tanh_f32(NAN)));
}

/* tanh(-x) = -tanh(x), to the bit; and no result leaves the function's range. */
/* proves elem.exp elem.tanh */
static void odd_and_in_range(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 5);
    for (int i = 0; i < 100000; i++) {
        const double x = 2 * (rng_double(&r) - 0.5) * (i % 2 ? 1 : 20);
        assert_true(bits_equal(tanh_f64(-x), -tanh_f64(x)));
        assert_true(fabs(tanh_f64(x)) <= 1 && exp_f64(x) > 0);
    }
}

/* x^n at the powers of AdamW's decay rates, and where an exact result is known. */
/* proves elem.power */
static void whole_powers(void **state)
{
    (void)state;
    static const double bases[] = { 0.9, 0.999, 0.95, 0.99, (double)0.9f, (double)0.999f, 0.5,
                                    1.0000001, -0.75, 3 };
    tally t = { 0 };
    mpfr_t want;
    mpfr_init2(want, DIGITS);
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++)
        for (int n = 0; n < 500000; n += n < 3000 ? 1 : 997) {
            mpfr_set_d(want, bases[b], MPFR_RNDN);
            mpfr_pow_ui(want, want, (unsigned long)n, MPFR_RNDN);
            const double value = mpfr_get_d(want, MPFR_RNDN);
            if (fabs(value) <= DBL_MAX && fabs(value) >= 0x1p-900)
                measure(&t, power_f64(bases[b], n), want, bases[b], 53, -1074);
            else if (fabs(value) < 0x1p-900)
                assert_true(fabs(power_f64(bases[b], n)) < 0x1p-899);
            else
                assert_true(isinf(power_f64(bases[b], n)));
        }
    mpfr_clear(want);
    print_message("# power: %zu compared, worst %.4f ulp at %g\n", t.count, t.worst, t.at);
    assert_true(t.worst < 1 && t.count > 20000);
    assert_true(power_f64(3, 33) == 5559060566555523.0 && power_f64(2, 1023) == 0x1p1023);
    assert_true(power_f64(0, 0) == 1 && power_f64(0, 7) == 0 && isinf(power_f64(2, 1024)));
    assert_true(isnan(power_f64((double)NAN, 2)) && power_f32(0.5f, 3) == 0.125f);
}

/* f(x + ih) = f(x) + i h f'(x): the derivative within a few ulp of MPFR's, at
 * steps from 1e-300 up to where the C library takes over. */
typedef struct complex_function {
    const char *name;
    double _Complex (*f)(double _Complex);
    double (*real)(double);
    void (*slope)(mpfr_t, const mpfr_t);
    double from, to;
} complex_function;

static void slope_of_exp(mpfr_t out, const mpfr_t x) { mpfr_exp(out, x, MPFR_RNDN); }
static void slope_of_log(mpfr_t out, const mpfr_t x) { mpfr_ui_div(out, 1, x, MPFR_RNDN); }
static void slope_of_tanh(mpfr_t out, const mpfr_t x)
{
    mpfr_sech(out, x, MPFR_RNDN);
    mpfr_sqr(out, out, MPFR_RNDN);
}
static void slope_of_sqrt(mpfr_t out, const mpfr_t x)
{
    mpfr_rec_sqrt(out, x, MPFR_RNDN);
    mpfr_div_ui(out, out, 2, MPFR_RNDN);
}

static void complex_steps(void **state)
{
    (void)state;
    static const complex_function all[] = {
        { "exp", exp_c128, exp_f64, slope_of_exp, -300, 300 },
        { "log", log_c128, log_f64, slope_of_log, 1e-3, 1e3 },
        { "tanh", tanh_c128, tanh_f64, slope_of_tanh, -150, 150 },
        { "sqrt", sqrt_c128, sqrt, slope_of_sqrt, 1e-3, 1e3 },
    };
    static const double steps[] = { 1e-30, 1e-100, -1e-30, 1e-20, 0 };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        tally t = { 0 };
        mpfr_t x, want;
        rng r;
        mpfr_inits2(DIGITS, x, want, (mpfr_ptr)0);
        rng_seed(&r, 23 + k);
        for (int i = 0; i < 20000; i++) {
            const double u = rng_double(&r), at = i % 2 ? all[k].from + (all[k].to - all[k].from) * u
                                                        : 2 * u + (all[k].from > 0 ? 1e-3 : -1);
            const double h = steps[i % 5];
            const double _Complex z = all[k].f(at + h * I);
            assert_true(bits_equal(creal(z), all[k].real(at)));
            if (h == 0) {
                assert_true(cimag(z) == 0);
                continue;
            }
            mpfr_set_d(x, at, MPFR_RNDN);
            all[k].slope(want, x);
            mpfr_mul_d(want, want, h, MPFR_RNDN);
            measure(&t, cimag(z), want, at, 53, -1074);
        }
        print_message("# %s, imaginary part: %zu compared, worst %.4f ulp at %a\n", all[k].name,
                      t.count, t.worst, t.at);
        assert_true(t.worst < 4 && t.count == 16000);
        mpfr_clears(x, want, (mpfr_ptr)0);
    }
}

/* Where the series ends and the C library begins there is no step; and algebra
 * holds on both sides: log(exp z) = z, sqrt(z)^2 = z, tanh of small z, powers. */
static void complex_algebra(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 29);
    for (int i = 0; i < 20000; i++) {
        const double x = 4 * (rng_double(&r) - 0.5);
        const double y = ldexp(rng_double(&r) - 0.5, -(i % 40));
        const double _Complex z = x + y * I, e = exp_c128(z), back = log_c128(e);
        assert_near(creal(back), x, 4e-16 * (1 + fabs(x)));
        assert_near(cimag(back), y, 4e-16 * fabs(y));
        assert_near(creal(e), creal(cexp(z)), 4e-16 * cabs(e));
        assert_near(cimag(e), cimag(cexp(z)), 4e-16 * cabs(e));
        const double _Complex s = sqrt_c128(z), t = tanh_c128(z), t2 = ctanh(z);
        assert_near(creal(s * s), x, 1e-15 * cabs(z));
        assert_near(cimag(s * s), y, 1e-15 * cabs(z));
        assert_near(creal(t), creal(t2), 8e-16 * cabs(t2));
        assert_near(cimag(t), cimag(t2), 8e-16 * cabs(t2));
        const double _Complex cube = power_c128(z, 3);
        assert_near(creal(cube), creal(z * z * z), 4e-15 * cabs(z) * cabs(z) * cabs(z));
        assert_near(cimag(cube), cimag(z * z * z), 4e-15 * cabs(z) * cabs(z) * cabs(z));
    }
    const double _Complex one = log_c128(1 + 1e-10 * I);      /* log |z| = 5e-21, not 0 */
    assert_near(creal(one), 5e-21, 1e-35);
    assert_true(isnan(creal(exp_c128((double)NAN + 1e-30 * I))));
    assert_true(creal(sqrt_c128(-4 + 0 * I)) == 0 && cimag(sqrt_c128(-4 + 0 * I)) == 2);
    assert_near(cimag(power_c128(0.9 + 1e-30 * I, 5)), 5 * 0.6561e-30, 1e-45);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_an_ulp),
        cmocka_unit_test(special_cases),
        cmocka_unit_test(odd_and_in_range),
        cmocka_unit_test(whole_powers),
        cmocka_unit_test(complex_steps),
        cmocka_unit_test(complex_algebra),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
