/* test_simd.c -- every word of simd.h on every set this machine runs, lane by
 * lane against C's own arithmetic. */
#include "support.h"
#include <float.h>
#include <math.h>
#include <string.h>
#include "base/rng.h"
#include "kernels/ops.h"
#include "simd_words.h"

static const words_set *const sets[] = {
#ifdef VT_WASM
    &words_wasm,
#else
    &words_portable,
#endif
#ifdef VT_X86
    &words_avx2, &words_avx512,
#endif
#ifdef VT_ARM64
    &words_neon,
#endif
};
enum { SETS = sizeof sets / sizeof *sets };

/* Equal bits, or both NaN (whose bits C leaves open). */
static void same(const char *set, const char *word, float got, float want)
{
    if (!(memcmp(&got, &want, sizeof got) == 0 || (isnan(got) && isnan(want))))
        fail_msg("%s: vec_%s: %a, expected %a", set, word, (double)got, (double)want);
}

/* (x * y + z) rounded once, or twice on the portable set and WebAssembly's. */
static float multiply_add(const char *set, float x, float y, float z)
{
    if (strcmp(set, "portable") != 0 && strcmp(set, "wasm") != 0) return fmaf(x, y, z);
    const float product = x * y;
    return product + z;
}

static void check(const words_set *s, const float *a, const float *b, const float *c)
{
    words w;
    s->run(&w, a, b, c);
    const char *n = s->name;
    bool any_lt = false, any_eq = false;
    float sum[MOST_LANES], most[MOST_LANES];
    double dsum[MOST_LANES / 2], dmul[MOST_LANES / 2], dfma[MOST_LANES / 2];
    for (size_t i = 0; i < w.lanes; i++) {
        same(n, "zero", w.zero[i], 0);
        same(n, "set1", w.set1[i], c[0]);
        same(n, "add", w.add[i], a[i] + b[i]);
        same(n, "sub", w.sub[i], a[i] - b[i]);
        same(n, "mul", w.mul[i], a[i] * b[i]);
        same(n, "div", w.div[i], a[i] / b[i]);
        same(n, "fma", w.fma[i], multiply_add(n, a[i], b[i], c[i]));
        same(n, "fnma", w.fnma[i], multiply_add(n, -a[i], b[i], c[i]));
        same(n, "max", w.max[i], a[i] > b[i] ? a[i] : b[i]);
        same(n, "min", w.min[i], a[i] < b[i] ? a[i] : b[i]);
        same(n, "sqrt", w.sqrt[i], sqrtf(a[i]));
        same(n, "abs", w.abs[i], fabsf(a[i]));
        same(n, "neg", w.neg[i], -a[i]);
        if (!(fabsf(a[i]) >= 4194304.0f) && !isnan(a[i]))   /* the sign of 0 is open */
            same(n, "round", w.round[i] + 0.0f, rintf(a[i]) + 0.0f);
        same(n, "lt", w.lt[i], a[i] <  b[i] ? 1 : 2);
        same(n, "le", w.le[i], a[i] <= b[i] ? 1 : 2);
        same(n, "eq", w.eq[i], a[i] == b[i] ? 1 : 2);
        any_lt = any_lt || a[i] <  b[i];
        any_eq = any_eq || a[i] == b[i];
        sum[i] = most[i] = a[i];
    }
    assert_int_equal(w.any_lt, any_lt);
    assert_int_equal(w.any_eq, any_eq);
    for (size_t half = w.lanes / 2; half >= 1; half /= 2)
        for (size_t i = 0; i < half; i++) {
            sum[i]  = sum[i] + sum[i + half];
            most[i] = most[i] > most[i + half] ? most[i] : most[i + half];
        }
    same(n, "sum", w.sum, sum[0]);
    same(n, "hmax", w.hmax, most[0]);
    for (size_t i = 0; i < w.lanes / 2; i++) {
        const double low = (double)a[i], high = (double)a[i + w.lanes / 2];
        dsum[i] = low + high;
        dmul[i] = low * high;       /* of floats: exact in double */
        dfma[i] = dmul[i] + low;
    }
    for (size_t half = w.lanes / 4; half >= 1; half /= 2)
        for (size_t i = 0; i < half; i++) {
            dsum[i] += dsum[i + half];
            dmul[i] += dmul[i + half];
            dfma[i] += dfma[i + half];
        }
    if (isfinite(dsum[0])) {
        assert_true(w.dsum == dsum[0]);
        assert_true(w.dmul == dmul[0]);
        assert_true(w.dfma == dfma[0]);
    }
}

static void words_are_c_s_arithmetic(void **state)
{
    (void)state;
    static const float special[] = { 0, -0.0f, 1, -1, 0.5f, 1.5f, 2.5f, -0.5f, -3.5f, FLT_MAX,
                                     -FLT_MAX, FLT_MIN, FLT_TRUE_MIN, INFINITY, -INFINITY, NAN,
                                     4194303.5f, 8388607, 1e-40f };
    enum { SPECIAL = sizeof special / sizeof *special };
    rng r;
    rng_seed(&r, 3);
    size_t sets_run = 0;
    for (size_t s = 0; s < SETS; s++) {
        if (!ops_pick(sets[s]->name)) continue;
        sets_run++;
        for (int round = 0; round < 3000; round++) {
            float x[3][MOST_LANES];
            for (int k = 0; k < 3; k++)
            for (int i = 0; i < MOST_LANES; i++) {
                const bool odd = round % 3 == 0 && rng_integers(&r, 0, 3) == 0;
                x[k][i] = odd ? special[rng_integers(&r, 0, SPECIAL)] : (float)rng_normal(&r);
                if (round % 3 == 1) x[k][i] *= 1000;
                if (k == 1 && rng_integers(&r, 0, 8) == 0) x[1][i] = x[0][i];
            }
            check(sets[s], x[0], x[1], x[2]);
        }
    }
    assert_true(sets_run >= 1);
}

static void powers_of_two_scale(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 4);
    for (size_t s = 0; s < SETS; s++) {
        if (!ops_pick(sets[s]->name)) continue;
        for (int n = -252; n <= 254; n++) {
            float a[MOST_LANES], e[MOST_LANES], out[MOST_LANES] = { 0 };
            for (int i = 0; i < MOST_LANES; i++) {
                a[i] = (float)rng_uniform(&r, 0.5, 2) * (i % 2 ? -1.0f : 1.0f);
                e[i] = (float)(n + i <= 254 ? n + i : n - i);
            }
            sets[s]->scale2(out, a, e);
            words w;
            sets[s]->run(&w, a, a, a);
            for (size_t i = 0; i < w.lanes; i++)
                same(sets[s]->name, "scale2", out[i], (float)ldexp((double)a[i], (int)e[i]));
            a[1] = NAN;
            e[1] = NAN;
            sets[s]->scale2(out, a, e);
            assert_true(isnan(out[1]));
        }
    }
}

/* Nothing beyond the lanes asked for is read (a page that cannot be) or
 * written (bytes that must stay). */
static void parts_touch_no_more(void **state)
{
    (void)state;
    for (size_t s = 0; s < SETS; s++) {
        if (!ops_pick(sets[s]->name)) continue;
        words w;
        const float ones[MOST_LANES] = { 1 };
        sets[s]->run(&w, ones, ones, ones);
        for (size_t n = 0; n <= w.lanes; n++) {
            /* The n floats end where the page ends. */
            enum { FLOATS = 2 * MOST_LANES };
            float *from = guarded(FLOATS * sizeof *from), *into = guarded(FLOATS * sizeof *into);
            float *p = from + FLOATS - n, *to = into + FLOATS - n;
            for (size_t i = 0; i < FLOATS; i++) from[i] = into[i] = -7;
            for (size_t i = 0; i < n; i++) p[i] = (float)i + 0.5f;
            float loaded[MOST_LANES];
            sets[s]->part(loaded, to, p, n);
            for (size_t i = 0; i < w.lanes; i++)
                same(sets[s]->name, "load_n", loaded[i], i < n ? (float)i + 0.5f : 0);
            for (size_t i = 0; i < FLOATS; i++)
                same(sets[s]->name, "store_n", into[i],
                     i < FLOATS - n ? -7 : (float)(i - (FLOATS - n)) + 0.5f);
            /* And elsewhere, behind them, is left alone. */
            for (size_t i = 0; i < FLOATS; i++) into[i] = -7;
            sets[s]->part(loaded, into, p, n);
            for (size_t i = 0; i < FLOATS; i++)
                same(sets[s]->name, "store_n", into[i], i < n ? (float)i + 0.5f : -7);
            guarded_free(from);
            guarded_free(into);
        }
    }
}

static void squares_are_transposed(void **state)
{
    (void)state;
    for (size_t s = 0; s < SETS; s++) {
        if (!ops_pick(sets[s]->name)) continue;
        words w;
        float square[MOST_LANES * MOST_LANES];
        const float ones[MOST_LANES] = { 1 };
        sets[s]->run(&w, ones, ones, ones);
        for (size_t i = 0; i < w.lanes * w.lanes; i++) square[i] = (float)i;
        sets[s]->transpose(square);
        for (size_t i = 0; i < w.lanes; i++)
        for (size_t j = 0; j < w.lanes; j++)
            assert_true(square[i * w.lanes + j] == (float)(j * w.lanes + i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_c_s_arithmetic),
        cmocka_unit_test(powers_of_two_scale),
        cmocka_unit_test(parts_touch_no_more),
        cmocka_unit_test(squares_are_transposed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
