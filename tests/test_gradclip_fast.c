/* test_gradclip_fast.c -- the sum of squares in vectors.
 *
 * Squares of floats are exact in double; each passes through at most
 * n / 2 + 256 additions, each with an error of 2^-53 of a partial sum.
 */
#include "fast_check.h"
#define VT_SCALAR 32
#include "kernels/definitions.h"

static share s_sum = { .what = "sum of squares" };

static void run(const ops *o, const float *x, size_t n)
{
    long double want = 0;
    for (size_t i = 0; i < n; i++) want += (long double)x[i] * (long double)x[i];
    const double bound = (double)want * ((double)n / 2 + 256) * 0x1p-53;
    const double first = o->sum_squares(fc_team[0], x, n);
    FC_NEAR(&s_sum, first, (double)want, bound, n);
    FC_NEAR(&s_sum, first, ref_sum_squares_f32(x, n), 3 * bound, n);
    for (int i = 1; i < FC_TEAMS; i++) {
        const double again = o->sum_squares(fc_team[i], x, n);
        assert_memory_equal(&again, &first, sizeof first);
    }
    const double alone = o->sum_squares(NULL, x, n);
    assert_memory_equal(&alone, &first, sizeof first);
}

static void sizes(const ops *o)
{
    fc_make_teams((ops_sizes){ 1, 1, 0, 1, 1, 1, 1, 1 });
    for (size_t n = 1; n <= FC_SMALL; n++) {
        float *x = fc_random_buffer(n, 1);
        run(o, x, n);
        guarded_free(x);
    }
    const size_t big = 256 * 16384;     /* 256 chunks of 16384, then larger chunks */
    float *x = fc_random_buffer(big + 1000, 3), *y = fc_copy(x, big + 1000);
    for (size_t i = 0; i < FC_EDGES; i++) {
        const size_t n = fc_edge(i, 16384);
        run(o, x + big + 1000 - n, n);      /* up to the guard page */
    }
    run(o, x, 100003);
    run(o, x, big + 1);
    for (int i = 0; i < SWEEP(3, 0); i++) run(o, x + i * 500, big - 1 + (size_t)i % 2);
    FC_SAME(x, y, big + 1000);
    guarded_free(x);
    guarded_free(y);
    assert_true(o->sum_squares(NULL, NULL, 0) == 0);
    fc_report(&s_sum);
}

/* CLIP-01: no overflow; NaN and Inf show wherever they stand. */
static void extremes(const ops *o)
{
    float x[100];
    for (size_t i = 0; i < 100; i++) x[i] = 1e20f;
    const double norm = sqrt(o->sum_squares(NULL, x, 100));
    assert_near(norm, 1e21, 1e21 * 2 * U);
    const double factor = ref_clip_factor_f32(norm * norm, 1);
    assert_near((double)x[0] * factor, 0.1, 0.1 * 2 * U);
    for (size_t i = 0; i < 100; i++) x[i] = i % 2 ? 3.4028234e38f : 1e-45f;
    assert_near(o->sum_squares(NULL, x, 100), 50 * 0x1.fffffep127 * 0x1.fffffep127, 1e65);
    for (size_t i = 0; i < 100; i++) {
        for (size_t j = 0; j < 100; j++) x[j] = 1;
        x[i] = i % 2 ? INFINITY : -INFINITY;
        assert_true(isinf(o->sum_squares(NULL, x, 100)));
        x[i] = NAN;
        assert_true(isnan(o->sum_squares(NULL, x, 100)));
    }
}

static void against_long_double(void **state) { (void)state; fc_each_table(sizes); fc_free_teams(); }
static void extreme_values(void **state)      { (void)state; fc_each_table(extremes); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_long_double),
        cmocka_unit_test(extreme_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
