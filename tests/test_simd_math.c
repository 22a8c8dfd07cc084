/* test_simd_math.c -- the vector exp and 2^x on every instruction set, against libm
 * in double.
 *
 * vec_exp() is compiled into each set's kernels; cross-entropy's backward with
 * lse 0, loss gradient 1 and temperature 1 adds exp(logit) to 0 in every
 * column but the target's, which is how it is seen here bit by bit.  vec_exp2()
 * likewise: attention's backward with one query, one key and a score of 0 adds
 * 2^(-lse log2 e) times the upstream gradient, 1, to dv.
 */
#include "fast_check.h"

enum { ROW = 4096 };                    /* numbers at a time; column 0 is the target */

/* The stated bound, in ulp of the exact result. */
static const double STATED = 1.02, STATED_POWER = 1.12;

static void exps(const ops *o, float *out, const float *x)
{
    static float logits[ROW + 1], d[ROW + 1];
    const float one = 1, zero = 0;
    const int target = 0;
    memcpy(logits + 1, x, ROW * sizeof *x);
    memset(d, 0, sizeof d);
    o->crossentropy_backward(NULL, d, &one, &zero, logits, &target, 1, 1, ROW + 1);
    memcpy(out, d + 1, ROW * sizeof *out);
}

/* One unit in the last place of a float near r >= 0. */
static double ulp(double r)
{
    int e;
    frexp(r, &e);
    return ldexp(1, e - 24 < -149 ? -149 : e - 24);
}

static double worst, worst_x;
static size_t compared;

static void check(float x, float got)
{
    const double want = exp((double)x), last = 0x1.fffffep127;
    compared++;
    if (isnan(x)) { assert_true(isnan(got)); return; }
    if (want > last + 0x1p103) { assert_true(isinf(got) && got > 0); return; }
    if (isinf(got) && want > last * (1 - 2 * U)) return;      /* rounded up to Inf */
    const double error = fabs((double)got - want) / ulp(want);
    if (!(error <= STATED)) fail_msg("exp(%a) = %a, expected %a: %.3f ulp", (double)x, (double)got, want, error);
    if (error > worst) worst = error, worst_x = (double)x;
}

static void sweep(const ops *o)
{
    static float x[ROW], y[ROW];
    worst = 0, compared = 0;
    /* Evenly over where the result is neither 0 nor Inf. */
    const size_t dense = 512;
    for (size_t k = 0; k < dense; k++) {
        for (size_t i = 0; i < ROW; i++)
            x[i] = (float)(-105 + 195 * (double)(k * ROW + i) / (double)(dense * ROW));
        exps(o, y, x);
        for (size_t i = 0; i < ROW; i++) check(x[i], y[i]);
    }
    /* Every 4093rd bit pattern: all exponents, both signs, infinities, NaNs. */
    uint64_t bits = 0;
    while (bits <= UINT32_MAX) {
        for (size_t i = 0; i < ROW; i++, bits += 4093) {
            const uint32_t b = (uint32_t)bits;
            memcpy(&x[i], &b, sizeof b);
        }
        exps(o, y, x);
        for (size_t i = 0; i < ROW; i++) check(x[i], y[i]);
    }
    /* 64 floats on each side of where the work changes: rounding to the next
     * power of two, the last finite result, the first subnormal, the last one. */
    const double ln2 = log(2);
    for (int n = -151; n <= 129; n++) {
        const float centre[2] = { (float)(n * ln2), (float)((n + 0.5) * ln2) };
        for (size_t j = 0; j < 2; j++)
            for (size_t i = 0; i < ROW; i++)
                x[i] = (float)((double)centre[j] * (1 + ((double)i - ROW / 2) * U));
        exps(o, y, x);
        for (size_t i = 0; i < ROW; i++) check(x[i], y[i]);
    }
    print_message("# exp: %zu compared, worst %.4f ulp at %a (stated %.2f)\n", compared, worst,
                  worst_x, STATED);
    assert_true(compared > 3000000);
}

static void edges(const ops *o)
{
    static const float in[] = { 0, -0.0f, INFINITY, -INFINITY, 0x1p-149f, -0x1p-149f, 1e38f, -1e38f,
                                88.72283f, 88.72284f, -103.9720f, -103.9721f, -200, 200 };
    static const float out[] = { 1, 1, INFINITY, 0, 1, 1, INFINITY, 0,
                                 0x1.ffff08p127f, INFINITY, 0x1p-149f, 0, 0, INFINITY };
    static float x[ROW], y[ROW];
    const size_t n = sizeof in / sizeof *in;
    for (size_t shift = 0; shift < 40; shift++) {          /* in every lane */
        for (size_t i = 0; i < ROW; i++) x[i] = NAN;
        memcpy(x + shift, in, sizeof in);
        exps(o, y, x);
        for (size_t i = 0; i < ROW; i++) {
            if (i < shift || i >= shift + n) assert_true(isnan(y[i]));
            else if (i != shift + 8) assert_true(y[i] == out[i - shift]);
            else assert_near((double)y[i], (double)out[8], STATED * 0x1p104);
        }
    }
}

/* y[i] = 2^x[i] for x <= 0, where x becomes what a float lse gives. */
static void powers(const ops *o, float *y, float *x)
{
    static float zeros[ROW], ones[ROW], lse[ROW], dq[ROW], dk[ROW];
    for (size_t i = 0; i < ROW; i++) {
        ones[i] = 1, y[i] = 0;
        lse[i] = (float)((double)-x[i] * 0x1.62e42fefa39efp-1);
        x[i] = -(float)(0x1.71547652b82fep+0 * (double)lse[i]);
    }
    o->attention_backward(fc_team[0], dq, dk, y, ones, zeros, lse, zeros, 1, zeros, zeros, 1,
                          ROW, 1, 0, 1, 1);
}

static void sweep_powers(const ops *o)
{
    static float x[ROW], y[ROW];
    const size_t dense = 64, stated_edges = 3;
    double largest = 0;
    size_t count = 0;
    fc_make_teams((ops_sizes){ ROW, 1, 0, 1, 1, 1, 1, 1 });
    for (size_t k = 0; k < dense + stated_edges; k++) {
        for (size_t i = 0; i < ROW; i++) {
            const double part = (double)(k * ROW + i) / (double)(dense * ROW);
            if (k < dense) x[i] = (float)(-152 * part);
            else if (k == dense) x[i] = (float)-ldexp(1, (int)(i % 160) - 150);    /* near 0, and far */
            else x[i] = (float)((double)(i / 32) * -0.5 * (1 + ((double)(i % 32) - 16) * U));
        }
        if (k == dense + 2) x[3] = -INFINITY, x[700] = NAN;
        powers(o, y, x);
        for (size_t i = 0; i < ROW; i++, count++) {
            if (isnan(x[i])) { assert_true(isnan(y[i])); continue; }
            const double want = exp2((double)x[i]), error = fabs((double)y[i] - want) / ulp(want);
            if (!(error <= STATED_POWER))
                fail_msg("2^%a = %a, expected %a: %.3f ulp", (double)x[i], (double)y[i], want, error);
            if (error > largest) largest = error;
        }
    }
    print_message("# 2^x: %zu compared, worst %.4f ulp (stated %.2f)\n", count, largest, STATED_POWER);
    assert_int_equal(count, (dense + stated_edges) * ROW);
    fc_free_teams();
}

static void powers_are_within_their_bound(void **state) { (void)state; fc_each_table(sweep_powers); }
static void exp_is_within_its_bound(void **state) { (void)state; fc_each_table(sweep); }
static void exp_at_its_edges(void **state)        { (void)state; fc_each_table(edges); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_within_its_bound),
        cmocka_unit_test(exp_at_its_edges),
        cmocka_unit_test(powers_are_within_their_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
