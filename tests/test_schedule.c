/* test_schedule.c -- the learning rate at every edge.  Labels: lr.warmup,
 * lr.share, lr.cosine, lr.end. */
#include "support.h"
#include "train/schedule.h"
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>

/* LR-01: the first step has a rate above 0 and the last of the warm-up the
 * highest. */
/* proves lr.warmup */
static void warm_up_starts_above_zero(void **state)
{
    (void)state;
    const schedule s = { 1e-3, 1e-4, 10, 100 };
    assert_ok(schedule_check(&s, &test_error));
    for (size_t i = 0; i < 10; i++)
        assert_near(schedule_lr(&s, i), 1e-4 * (double)(i + 1), 1e-18);     /* lr.warmup */
    assert_true(schedule_lr(&s, 9) == 1e-3);
    assert_true(schedule_lr(&s, 10) == 1e-3);
    assert_true(schedule_lr(&s, 11) < 1e-3);
}

/* LR-02: every pair is finite and in range at every step, or refused. */
/* proves lr.warmup lr.end */
static void no_pair_divides_by_zero(void **state)
{
    (void)state;
    static const size_t pairs[][2] = { { 10, 10 }, { 0, 1 }, { 1, 1 }, { 0, 0 }, { 0, 2 },
                                       { 1, 2 }, { 9, 10 }, { 0, SIZE_MAX },
                                       { SIZE_MAX, SIZE_MAX }, { SIZE_MAX - 1, SIZE_MAX } };
    static const size_t steps[] = { 0, 1, 2, 8, 9, 10, 11, 1000, SIZE_MAX - 2, SIZE_MAX - 1,
                                    SIZE_MAX };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const schedule s = { 1, 0.25, pairs[i][0], pairs[i][1] };
        assert_ok(schedule_check(&s, &test_error));
        for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
            const double lr = schedule_lr(&s, steps[k]);
            assert_true(lr > 0 && lr <= 1);
            if (steps[k] >= s.warmup) assert_true(lr >= 0.25);
            if (steps[k] >= s.total) assert_true(lr == 0.25);               /* lr.end */
        }
    }
    /* What the formula's limits are, exactly. */
    assert_true(schedule_lr(&(schedule){ 1, 0.25, 10, 10 }, 9) == 1);
    assert_true(schedule_lr(&(schedule){ 1, 0.25, 10, 10 }, 10) == 0.25);
    assert_true(schedule_lr(&(schedule){ 1, 0.25, 1, 1 }, 0) == 1);
    assert_true(schedule_lr(&(schedule){ 1, 0.25, 0, 1 }, 0) == 1);
    assert_true(schedule_lr(&(schedule){ 1, 0.25, 0, 0 }, 0) == 0.25);
    const schedule bad = { 1, 0, 20, 10 };
    assert_int_equal(schedule_check(&bad, &test_error), VT_USAGE);
    assert_string_equal(test_error.text,
                        "--warmup 20: expected at most 10, the steps of the run");
}

/* LR-03: four steps of cosine, then the lowest rate for ever. */
/* proves lr.share lr.cosine lr.end */
static void after_the_end_it_never_rises(void **state)
{
    (void)state;
    const schedule s = { 1, 0, 0, 4 };
    const double half = sqrt(0.5);
    const double expected[9] = { 1, 0.5 + half / 2, 0.5, 0.5 - half / 2, 0, 0, 0, 0, 0 };
    for (size_t i = 0; i < 9; i++) assert_near(schedule_lr(&s, i), expected[i], 3e-16);
    assert_true(schedule_lr(&s, 0) == 1 && schedule_lr(&s, 2) == 0.5);
    const schedule long_one = { 6e-4, 6e-5, 100, 3000 };
    double before = schedule_lr(&long_one, 100);
    for (size_t i = 101; i < 7000; i++) {
        const double lr = schedule_lr(&long_one, i);
        assert_true(lr <= before && lr >= 6e-5);
        if (i <= 3000) assert_true(lr < before);
        before = lr;
    }
    assert_true(before == 6e-5);
}

/* The cosine against MPFR at 200 bits.  Roundings on the way: x, pi x, the
 * series (two ulps of at most 1), the sum and product: 8 ulps of lr_max. */
/* proves lr.share lr.cosine */
static void the_cosine_is_mpfrs(void **state)
{
    (void)state;
    mpfr_t x, pi;
    mpfr_inits2(200, x, pi, (mpfr_ptr)0);
    mpfr_const_pi(pi, MPFR_RNDN);
    const size_t totals[] = { 1, 2, 3, 7, 1000, 4096, 9973 };
    size_t compared = 0;
    for (size_t k = 0; k < 7; k++) {
        const schedule s = { 1, 0, 5, 5 + totals[k] };
        for (size_t i = 0; i < totals[k]; i++, compared++) {
            mpfr_set_ui(x, i, MPFR_RNDN);
            mpfr_mul(x, x, pi, MPFR_RNDN);
            mpfr_div_ui(x, x, totals[k], MPFR_RNDN);
            mpfr_cos(x, x, MPFR_RNDN);
            mpfr_add_ui(x, x, 1, MPFR_RNDN);
            mpfr_div_ui(x, x, 2, MPFR_RNDN);
            assert_near_at(schedule_lr(&s, 5 + i), mpfr_get_d(x, MPFR_RNDN), 8 * 0x1p-53,
                           "lr.cosine", i);
        }
    }
    assert_int_equal(compared, 1 + 2 + 3 + 7 + 1000 + 4096 + 9973);
    mpfr_clears(x, pi, (mpfr_ptr)0);
    mpfr_free_cache();
}

static void rates_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    const double nan = (double)NAN, inf = (double)INFINITY;
    const double bad[][2] = { { 0, 0 }, { -1, 0 }, { nan, 0 }, { inf, 0 }, { 1, -0.1 },
                              { 1, 1.1 }, { 1, nan }, { 1, inf }, { inf, inf } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const schedule s = { bad[i][0], bad[i][1], 1, 10 };
        assert_int_equal(schedule_check(&s, &test_error), VT_USAGE);
        assert_contains(test_error.text, "learning rate");
    }
    const schedule constant = { 1e-3, 1e-3, 0, 10 };
    assert_ok(schedule_check(&constant, &test_error));
    for (size_t i = 0; i < 12; i++) assert_true(schedule_lr(&constant, i) == 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warm_up_starts_above_zero),
        cmocka_unit_test(no_pair_divides_by_zero),
        cmocka_unit_test(after_the_end_it_never_rises),
        cmocka_unit_test(the_cosine_is_mpfrs),
        cmocka_unit_test(rates_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
