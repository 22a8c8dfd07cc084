/* test_gradclip.c -- clipping by the global norm. */
#include "kernels.h"
#include <float.h>
#include <math.h>

/* proves clip.sum */
static void squares_by_hand(void **state)
{
    (void)state;
    const double g[] = { 3, -4, 0.5, 0, -1 };
    const double sums[] = { 0, 9, 25, 25.25, 25.25, 26.25 };    /* of the first 0 .. 5 */
    for (size_t n = 0; n <= 5; n++) {
        const double *x = input_bytes(g, n * sizeof *g);
        assert_near(ref_sum_squares_f64(x, n), sums[n], 0);
        assert_near(ref_sum_squares_f32(input_f32(g, n), n), sums[n], 0);
        c128 *z = input_c128(g, n);                             /* only real parts count */
        assert_near(ref_sum_squares_c128(z, n), sums[n], 0);
    }
    const double parts[] = { 3, 1e-30 };
    assert_near(ref_sum_squares_c128(input_bytes(parts, sizeof parts), 1), 9, 0);
}

/* proves clip.norm clip.factor */
static void the_factor(void **state)
{
    (void)state;
    const double inf = (double)INFINITY;
    const struct { double sum, max_norm, want; } rows[] = {
        { 25, 1, 0.2 }, { 25, 5, 1 }, { 25, 6, 1 }, { 0.25, 1, 1 }, { 16, 1, 0.25 },
        { 0, 1, 1 }, { 0, 0, 1 }, { 4, 0, 0 }, { inf, 1, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_near_at(ref_clip_factor_f64(rows[i].sum, rows[i].max_norm), rows[i].want, 0, "factor", i);
        assert_near_at(ref_clip_factor_f32(rows[i].sum, rows[i].max_norm), rows[i].want, 0, "factor", i);
        assert_near_at(ref_clip_factor_c128(rows[i].sum, rows[i].max_norm), rows[i].want, 0, "factor", i);
    }
}

/* CLIP-01: 100 gradients of 1e20 have the norm 1e21, though 1e40 is no float. */
/* proves clip.sum clip.norm clip.factor */
static void squares_of_floats_cannot_overflow(void **state)
{
    (void)state;
    float g[100];
    for (int i = 0; i < 100; i++) g[i] = 1e20f;
    const double sum = ref_sum_squares_f32(input_bytes(g, sizeof g), 100);
    assert_near(sqrt(sum), 1e21, 1e21 * 2 * U32);               /* 1e20f is off by U32 */
    const double factor = ref_clip_factor_f32(sum, 1);
    assert_near((double)g[0] * factor, 0.1, 0.1 * 4 * U64 * 100);

    for (int i = 0; i < 100; i++) g[i] = i % 2 ? FLT_MAX : -FLT_MAX;
    const double largest = ref_sum_squares_f32(input_bytes(g, sizeof g), 100);
    assert_near(sqrt(largest), 10 * (double)FLT_MAX, 10 * (double)FLT_MAX * 100 * U64);
}

/* CLIP-01: one Inf or NaN shows, so that the caller can refuse the step. */
/* proves clip.sum clip.factor */
static void inf_and_nan_show(void **state)
{
    (void)state;
    const float inf[] = { 1, -INFINITY, 1 }, nan[] = { 1, NAN, 1 };
    assert_true(isinf(ref_sum_squares_f32(input_bytes(inf, sizeof inf), 3)));
    assert_true(isnan(ref_sum_squares_f32(input_bytes(nan, sizeof nan), 3)));
    assert_true(isnan(ref_clip_factor_f32((double)NAN, 1)));
    assert_true(isnan(ref_clip_factor_f64((double)NAN, 1)));
}

/* Every float compilation sums in double: the same bits. */
/* proves clip.sum */
static void all_scalars_agree(void **state)
{
    (void)state;
    for (size_t n = 1; n < 12; n++) {
        const double *g = input(n, -2, 2);
        const double sum = ref_sum_squares_f64(g, n);
        long double want = 0;
        for (size_t i = 0; i < n; i++) want += (long double)g[i] * (long double)g[i];
        assert_near(sum, (double)want, (double)(n + 1) * U64 * (double)want);
        assert_near(ref_sum_squares_f32(input_f32(g, n), n), sum, 0);
        assert_near(ref_sum_squares_c128(input_c128(g, n), n), sum, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        kernel_test(squares_by_hand),
        kernel_test(the_factor),
        kernel_test(squares_of_floats_cannot_overflow),
        kernel_test(inf_and_nan_show),
        kernel_test(all_scalars_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
