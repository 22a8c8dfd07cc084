/* test_weights_fast.c -- logits and weights of ids that may be drawn, by every set: the
 * weights are exp_f64()'s, and so the sums of ranges, bit for bit, of -Inf and of results that
 * are subnormal or 0, too; whole and partial vectors and chunks; each place of what is sought.
 */
#include "fast_check.h"
#include <float.h>
#include "base/elementary.h"

static const float INF = (float)INFINITY;
static size_t compared;

/* ---- extremes ------------------------------------------------------------ */

/* The least and the largest stand at each place in turn, and what is no number. */
static void extremes_at(const ops *o, size_t n)
{
    float *x = guarded(n * sizeof *x), low, high;
    bool odd;
    for (size_t i = 0; i < n; i++) {
        const size_t j = (i + n / 2) % n;
        fc_fill(x, n, 1);
        x[i] = -3;
        if (j != i) x[j] = 5;
        o->logit_extremes(x, n, &low, &high, &odd);
        assert_true(low == -3 && high == (j != i ? 5 : -3) && !odd);
        x[i] = -INF;
        o->logit_extremes(x, n, &low, &high, &odd);
        assert_true(low == -INF && high == (j != i ? 5 : -INF) && !odd);
        x[i] = INF;
        o->logit_extremes(x, n, &low, &high, &odd);
        assert_true(odd);
        x[i] = NAN;
        o->logit_extremes(x, n, &low, &high, &odd);
        assert_true(odd);
        x[i] = FLT_MAX;
        o->logit_extremes(x, n, &low, &high, &odd);
        assert_true(high == FLT_MAX && !odd);
        for (size_t v = 0; v < n; v++) x[v] = v == i ? -7 : -FLT_MAX;   /* none is above 0 */
        o->logit_extremes(x, n, &low, &high, &odd);
        assert_true(high == -7 && low == (n > 1 ? -FLT_MAX : -7) && !odd);
        for (size_t v = 0; v < n; v++) x[v] = v == i ? 2 : 9;           /* nor below */
        o->logit_extremes(x, n, &low, &high, &odd);
        assert_true(low == 2 && high == (n > 1 ? 9 : 2) && !odd);
    }
    guarded_free(x);
}

static void extremes(const ops *o)
{
    for (size_t n = 1; n <= FC_SMALL; n++) extremes_at(o, n);
}
static void extremes_are_found_anywhere(void **state) { (void)state; fc_each_table(extremes); }

/* ---- between ------------------------------------------------------------- */

static void between_at(const ops *o, size_t n, float low, float high)
{
    float *x = guarded(n * sizeof *x);
    size_t *ids = guarded(n * sizeof *ids), want = 0;
    for (size_t v = 0; v < n; v++) {            /* the ends themselves, their neighbours, 0 */
        const float near[] = { low, high, nextafterf(low, -INF), nextafterf(high, INF),
                               nextafterf(low, INF), nextafterf(high, -INF), 0, -INF };
        x[v] = fc_random() < 0 ? 2 * fc_random() : near[(size_t)(4 * (fc_random() + 1)) % 8];
    }
    const size_t found = o->logits_between(ids, x, n, low, high);
    for (size_t v = 0; v < n; v++) {
        if (!(x[v] >= low) || !(x[v] <= high)) continue;
        assert_true(want < found);
        assert_int_equal(ids[want], v);
        want++;
    }
    assert_int_equal(found, want);
    compared += want;
    guarded_free(x), guarded_free(ids);
}

static void between(const ops *o)
{
    compared = 0;
    for (size_t n = 1; n <= FC_SMALL; n++)
        for (int k = 0; k < 8; k++) {
            between_at(o, n, -0.25f, 0.75f);
            between_at(o, n, 0.5f, 0.5f);
            between_at(o, n, -1.5f, -0.75f);
            between_at(o, n, -FLT_MAX, FLT_MAX);
        }
    assert_true(compared > FC_SMALL * FC_SMALL);
    float one = 1;                              /* a lone one among many, and none */
    for (size_t n = 1; n <= FC_SMALL; n++)
        for (size_t at = 0; at < n; at++) {
            float *x = guarded(n * sizeof *x);
            size_t *ids = guarded(n * sizeof *ids);
            for (size_t v = 0; v < n; v++) x[v] = v == at ? one : -2 * one;
            assert_int_equal(o->logits_between(ids, x, n, 0.5f, 1.5f), 1);
            assert_int_equal(ids[0], at);
            assert_int_equal(o->logits_between(ids, x, n, -0.5f, 0.5f), 0);
            guarded_free(x), guarded_free(ids);
        }
}
static void what_lies_between_is_found(void **state) { (void)state; fc_each_table(between); }

/* ---- tally --------------------------------------------------------------- */

/* Bits of a weight below those of 1, in pieces of 2^shift; apart from weights.h. */
static size_t range(double w, int shift)
{
    static const double one = 1;
    uint64_t a, b;
    if (w == 0) return WEIGHT_RANGES;
    memcpy(&a, &one, sizeof a), memcpy(&b, &w, sizeof b);
    const double i = floor(ldexp((double)((a - b) >> 20), 20 - shift));
    return i < WEIGHT_RANGES - 1 ? (size_t)i : WEIGHT_RANGES - 1;
}

static void tally(const ops *o, size_t n, double temperature, int shift)
{
    const size_t bytes = (WEIGHT_RANGES + 1) * sizeof(weight_range);
    float *x = guarded(n * sizeof *x);
    weight_range *found = guarded(bytes), *want = guarded(bytes);
    for (size_t v = 0; v < n; v++)
        x[v] = v % 31 == 5 ? -INF : v % 29 == 3 ? 3
             : (float)(3 - (v % 3 ? 380 : 2) * (1 + (double)fc_random()));
    float *x2 = fc_copy(x, n);
    for (size_t i = 0; i <= WEIGHT_RANGES; i++)         /* added to */
        found[i] = want[i] = (weight_range){ (double)i / 1024, i % 5 };
    o->weight_tally(found, x, n, 3, temperature, shift);
    for (size_t v = 0; v < n; v++, compared++) {
        const double w = exp_f64(((double)x[v] - 3) / temperature);
        weight_range *at = &want[range(w, shift)];
        at->mass += w;
        at->count++;
    }
    assert_memory_equal(found, want, bytes);
    FC_SAME(x, x2, n);
    guarded_free(found), guarded_free(want), guarded_free(x), guarded_free(x2);
}

static void tallies(const ops *o)
{
    enum { CHUNK = 256 };                       /* weights at a time */
    static const double temperatures[] = { 1, 0.7, 1e-3, 4.9406564584124654e-324, DBL_MAX };
    static const int shifts[] = { 44, 49, 50, 53, 20 };
    size_t wanted = 0;
    compared = 0;
    for (size_t k = 0; k < 5; k++) {
        for (size_t n = 1; n <= FC_SMALL; wanted += n++) tally(o, n, temperatures[k], shifts[k]);
        for (size_t i = 0; i < FC_EDGES; wanted += fc_edge(i, CHUNK), i++)
            tally(o, fc_edge(i, CHUNK), temperatures[k], shifts[(k + i) % 5]);
        tally(o, 5000, temperatures[k], shifts[k]);
        tally(o, 1, temperatures[k], shifts[k]);        /* the weight itself */
    }
    assert_int_equal(compared, wanted + 5 * 5001);
}
static void sums_are_of_the_definitions_bits(void **state) { (void)state; fc_each_table(tallies); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extremes_are_found_anywhere),
        cmocka_unit_test(what_lies_between_is_found),
        cmocka_unit_test(sums_are_of_the_definitions_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
