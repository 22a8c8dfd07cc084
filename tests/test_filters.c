/* test_filters.c -- the next token: known faults, a naive reference in long
 * double, and the distribution itself.
 */
#include "support.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "sample/filters_fast.h"

enum { V_MAX = 64 };
#define MINUS_INF (-(float)INFINITY)
static const double last_u = 1 - DBL_EPSILON / 2;      /* the largest below 1 */

static filter_room make_room(size_t V)
{
    filter_room room;
    filter_room_place(&room, guarded(filter_room_bytes(V)), V);
    room.kernels = ops_pick(NULL);
    return room;
}

/* What both draw, the definition and the fast one. */
static size_t drawn(const float *logits, size_t V, double T, size_t k, double p, double u)
{
    filter_choice *scratch = guarded(V * sizeof *scratch);
    float *copy = guarded(V * sizeof *copy);
    const filter_options o = { T, k, p };
    filter_room room = make_room(V);
    size_t id = SIZE_MAX, fast = SIZE_MAX;
    memcpy(copy, logits, V * sizeof *copy);
    assert_ok(filter_draw(copy, V, &o, u, scratch, &id, &test_error));
    assert_ok(filter_draw_fast(copy, V, &o, u, &room, &fast, &test_error));
    assert_int_equal(fast, id);
    assert_memory_equal(copy, logits, V * sizeof *copy);
    guarded_free(room.choices);
    guarded_free(copy);
    guarded_free(scratch);
    assert_true(id < V);
    return id;
}

/* The kept ids as a set of bits. */
static unsigned kept_set(const float *logits, size_t V, double T, size_t k, double p)
{
    filter_choice *list = guarded(V * sizeof *list);
    const filter_options o = { T, k, p };
    size_t kept = 0;
    unsigned set = 0;
    double sum = 0;
    assert_ok(filter_list(logits, V, &o, list, &kept, &test_error));
    assert_true(kept >= 1 && kept <= V);
    for (size_t i = 0; i < kept; i++) {
        set |= 1u << list[i].id;
        sum += list[i].weight;
        if (i > 0)
            assert_true(list[i - 1].weight > list[i].weight ||
                        (list[i - 1].weight == list[i].weight && list[i - 1].id < list[i].id));
    }
    assert_near(sum, 1, 1e-14);
    guarded_free(list);
    return set;
}

static void refused(const float *logits, size_t V, filter_options o, vt_status status,
                    const char *says)
{
    filter_choice scratch[V_MAX];
    filter_room room = make_room(V);
    size_t id = 7, kept;
    assert_int_equal(filter_draw(logits, V, &o, 0.5, scratch, &id, &test_error), status);
    assert_contains(test_error.text, says);
    assert_int_equal(filter_draw_fast(logits, V, &o, 0.5, &room, &id, &test_error), status);
    assert_contains(test_error.text, says);
    assert_int_equal(id, 7);
    guarded_free(room.choices);
    assert_int_equal(filter_list(logits, V, &o, scratch, &kept, &test_error), status);
}

/* SAMP-01 */
/* proves sample.greedy */
static void samp01_temperature_zero(void **state)
{
    (void)state;
    const float x[5] = { 1, 3, 2, 3, -5 };              /* a tie: 1 and 3 */
    static const double us[] = { 0, 0.3, 0.99999994, 1 - DBL_EPSILON / 2 };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(drawn(x, 5, 0.0, 0, 1, us[i]), 1);
        assert_int_equal(drawn(x, 5, -0.0, 3, 0.9, us[i]), 1);
    }
    assert_int_equal(kept_set(x, 5, 0, 0, 1), 1u << 1);
    const float tied[2] = { 0, -0.0f };                 /* equal, though not in bits */
    assert_int_equal(drawn(tied, 2, 0, 0, 1, 0.9), 0);
    const float one[1] = { -3 };
    assert_int_equal(drawn(one, 1, 0, 0, 1, 0.9), 0);
    assert_int_equal(drawn(one, 1, 1, 0, 1, 0.9), 0);
    refused(x, 5, (filter_options){ -1, 0, 1 }, VT_USAGE, "temperature: expected");
    refused(x, 5, (filter_options){ -DBL_MIN, 0, 1 }, VT_USAGE, "temperature: expected");
    refused(x, 5, (filter_options){ (double)NAN, 0, 1 }, VT_USAGE, "temperature: expected");
    refused(x, 5, (filter_options){ (double)INFINITY, 0, 1 }, VT_USAGE, "temperature: expected");
    refused(x, 5, (filter_options){ 1, 0, -0.1 }, VT_USAGE, "top-p: expected");
    refused(x, 5, (filter_options){ 1, 0, 1.1 }, VT_USAGE, "top-p: expected");
    refused(x, 5, (filter_options){ 1, 0, (double)NAN }, VT_USAGE, "top-p: expected");
    /* the limit is reached without division by zero or NaN */
    assert_int_equal(drawn(x, 5, 4.9406564584124654e-324, 0, 1, 0), 1);
    assert_int_equal(drawn(x, 5, 4.9406564584124654e-324, 0, 1, last_u), 3);
    assert_int_equal(kept_set(x, 5, 1e-300, 0, 1), 1u << 1 | 1u << 3);
    assert_int_equal(kept_set(x, 5, DBL_MAX, 0, 1), 31);
}

/* SAMP-03 */
static void samp03_top_p_keeps_at_least_one(void **state)
{
    (void)state;
    const float x[4] = { logf(0.4f), logf(0.3f), logf(0.2f), logf(0.1f) };
    assert_int_equal(kept_set(x, 4, 1, 0, 0), 1);
    assert_int_equal(kept_set(x, 4, 1, 0, 1e-8), 1);
    assert_int_equal(kept_set(x, 4, 1, 3, 0), 1);
    assert_int_equal(drawn(x, 4, 1, 0, 0, last_u), 0);
    assert_int_equal(drawn(x, 4, 1, 0, 1e-8, last_u), 0);
}

/* SAMP-04 */
/* proves sample.topp sample.topk */
static void samp04_the_crossing_token_is_kept(void **state)
{
    (void)state;
    const float x[4] = { logf(0.4f), logf(0.3f), logf(0.2f), logf(0.1f) };
    const float y[3] = { logf(0.5f), logf(0.41f), logf(0.09f) };
    assert_int_equal(kept_set(x, 4, 1, 0, 0.8), 7);
    assert_int_equal(kept_set(y, 3, 1, 0, 0.9), 3);
    assert_int_equal(kept_set(x, 4, 1, 0, 0.39), 1);
    assert_int_equal(kept_set(x, 4, 1, 0, 0.41), 3);
    assert_int_equal(kept_set(x, 4, 1, 0, 1), 15);
    /* top-p is of what top-k left: 4/7 of the mass is id 0 alone */
    assert_int_equal(kept_set(x, 4, 1, 2, 0.57), 1);
    assert_int_equal(kept_set(x, 4, 1, 2, 0.58), 3);
    assert_int_equal(kept_set(x, 4, 1, 2, 1), 3);
    assert_int_equal(drawn(x, 4, 1, 0, 0.8, last_u), 2);
}

/* SAMP-04, SAMP-06: equal weights are exact, so a mass that has reached p is
 * not below it, and a running mass that equals u does not exceed it. */
/* proves sample.topp sample.draw */
static void thresholds_are_on_the_right_side(void **state)
{
    (void)state;
    const float x[4] = { 7, 7, 7, 7 };
    assert_int_equal(kept_set(x, 4, 1, 0, 0.25), 1);
    assert_int_equal(kept_set(x, 4, 1, 0, 0.5), 3);
    assert_int_equal(kept_set(x, 4, 1, 0, 0.75), 7);
    assert_int_equal(kept_set(x, 4, 1, 2, 0.5), 1);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(drawn(x, 4, 1, 0, 1, (double)i / 4), i);
        assert_int_equal(drawn(x, 4, 1, 0, 1, nextafter((double)(i + 1) / 4, 0)), i);
    }
}

/* proves sample.topk */
static void top_k_breaks_ties_by_id(void **state)
{
    (void)state;
    const float x[6] = { 1, 2, 2, 0, 2, 3 };
    assert_int_equal(kept_set(x, 6, 1, 1, 1), 1u << 5);
    assert_int_equal(kept_set(x, 6, 1, 2, 1), 1u << 5 | 1u << 1);
    assert_int_equal(kept_set(x, 6, 1, 3, 1), 1u << 5 | 1u << 1 | 1u << 2);
    assert_int_equal(kept_set(x, 6, 1, 4, 1), 1u << 5 | 1u << 1 | 1u << 2 | 1u << 4);
    for (size_t k = 6; k < 9; k++) assert_int_equal(kept_set(x, 6, 1, k, 1), 63);
    assert_int_equal(kept_set(x, 6, 1, SIZE_MAX, 1), 63);
    const float far[4] = { -100, -101, 0, -1 };         /* two that weigh next to nothing */
    assert_int_equal(drawn(far, 4, 1, 2, 1, 0.9), 3);
    assert_int_equal(drawn(x, 6, 1, 1, 1, last_u), 5);
    assert_int_equal(drawn(x, 6, 1, 2, 1, last_u), 1);
}

static int descending(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return *p == *q ? 0 : *p > *q ? -1 : 1;
}

/* SAMP-06 */
static void samp06_never_an_id_of_probability_zero(void **state)
{
    (void)state;
    float x[14];
    for (int i = 0; i < 12; i++) x[i] = logf(1.0f / 12);
    x[12] = x[13] = MINUS_INF;
    static const double us[] = { 0, 0.99999994, 1 - DBL_EPSILON / 2 };
    for (size_t i = 0; i < 3; i++) assert_true(drawn(x, 14, 1, 0, 1, us[i]) < 12);
    assert_int_equal(kept_set(x, 14, 1, 0, 1), 0xFFF);
    float y[3] = { MINUS_INF, MINUS_INF, 0 };
    for (size_t i = 0; i < 3; i++) assert_int_equal(drawn(y, 3, 1, 0, 1, us[i]), 2);
    y[0] = -1e4f;                           /* finite, but exp gives 0 */
    for (size_t i = 0; i < 3; i++) assert_int_equal(drawn(y, 3, 1, 0, 1, us[i]), 2);
    assert_int_equal(kept_set(y, 3, 1, 3, 1), 4);
    assert_int_equal(drawn(y, 3, 0, 0, 1, 0), 2);
    /* Where the sum in order ends below u times the sum by id, no id's running
     * mass exceeds it, and the last with a weight is taken. */
    rng r;
    rng_seed(&r, 6);
    int short_sums = 0;
    for (int round = 0; round < 1000; round++) {
        float z[V_MAX];
        double w[V_MAX], by_id = 0, ordered = 0;
        size_t last = 1;
        for (size_t v = 0; v < V_MAX; v++)
            z[v] = v % 3 == 0 ? (v % 2 ? MINUS_INF : -2000.0f) : (float)rng_normal(&r);
        z[1] = 5;                                       /* the largest */
        for (size_t v = 0; v < V_MAX; v++) {
            w[v] = exp((double)z[v] - 5);
            by_id += w[v];
            if (w[v] > 0 && w[v] < w[last]) last = v;
        }
        qsort(w, V_MAX, sizeof *w, descending);
        for (size_t v = 0; v < V_MAX; v++) ordered += w[v];
        const size_t id = drawn(z, V_MAX, 1, 0, 1, last_u);
        assert_true(id % 3 != 0);
        assert_int_equal(drawn(z, V_MAX, 1, 0, 1, 0), 1);
        if (ordered <= last_u * by_id) {
            short_sums++;
            assert_int_equal(id, last);
        }
    }
    assert_true(short_sums >= 20);
}

static void logits_that_are_no_numbers_are_refused(void **state)
{
    (void)state;
    for (int greedy = 0; greedy < 2; greedy++) {
        const filter_options o = { greedy ? 0 : 1, 0, 1 };
        for (size_t at = 0; at < 5; at++) {
            float x[5] = { 0, 1, 2, 3, 4 };
            char says[64];
            snprintf(says, sizeof says, "token %zu is NaN", at);
            x[at] = (float)NAN;
            refused(x, 5, o, VT_NAN, says);
            snprintf(says, sizeof says, "token %zu is +Inf", at);
            x[at] = (float)INFINITY;
            refused(x, 5, o, VT_NAN, says);
        }
        const float none[3] = { MINUS_INF, MINUS_INF, MINUS_INF };
        refused(none, 3, o, VT_NAN, "all 3 logits are -Inf");
        refused(none, 1, o, VT_NAN, "all 1 logits are -Inf");
    }
}

/* --- the distribution --------------------------------------------------- */

/* u on an even grid of N: the inverse CDF gives each id N p times, but for the
 * grid points that fall on its two ends. */
/* proves sample.temperature sample.draw */
static void an_even_grid_gives_each_id_its_share(void **state)
{
    (void)state;
    enum { V = 9, N = 20000 };
    const float x[V] = { 0.3f, -1.2f, 2, 0.3f, MINUS_INF, -4, 1.1f, 1.9f, 0 };
    size_t count[V] = { 0 };
    long double w[V], sum = 0;
    for (size_t v = 0; v < V; v++) sum += w[v] = expl((long double)x[v] / 0.7L);
    filter_choice scratch[V];
    const filter_options o = { 0.7, 0, 1 };
    for (int i = 0; i < N; i++) {
        size_t id;
        assert_ok(filter_draw(x, V, &o, (i + 0.5) / N, scratch, &id, &test_error));
        count[id]++;
    }
    for (size_t v = 0; v < V; v++)
        assert_near_at((double)count[v], (double)(N * w[v] / sum), 1.0, "count", v);
    assert_int_equal(count[4], 0);
}

/* Pearson's statistic of draws with the generator; 8 ids, so 7 degrees of
 * freedom: 24.32 is exceeded once in a thousand seeds, and the seed is fixed. */
/* proves sample.temperature sample.draw */
static void draws_follow_the_distribution(void **state)
{
    (void)state;
    enum { V = 8, N = 40000 };
    const float x[V] = { 0.3f, -1.2f, 2, 0.3f, -2, 1.1f, 1.9f, 0 };
    size_t count[V] = { 0 };
    double w[V], sum = 0, chi2 = 0;
    for (size_t v = 0; v < V; v++) sum += w[v] = exp((double)x[v] / 1.3);
    filter_choice scratch[V];
    const filter_options o = { 1.3, 0, 1 };
    rng r;
    rng_stream_seed(&r, 42, RNG_SAMPLE, 0);
    for (int i = 0; i < N; i++) {
        size_t id;
        assert_ok(filter_draw(x, V, &o, rng_double(&r), scratch, &id, &test_error));
        count[id]++;
    }
    for (size_t v = 0; v < V; v++) {
        const double want = N * w[v] / sum;
        chi2 += ((double)count[v] - want) * ((double)count[v] - want) / want;
    }
    if (!(chi2 < 24.32)) fail_msg("chi-square %g, bound 24.32", chi2);
}

/* --- a naive reference -------------------------------------------------- */

typedef struct naive { long double w; size_t id; } naive;

static int by_weight(const void *a, const void *b)
{
    const naive *p = a, *q = b;
    if (p->w != q->w) return p->w > q->w ? -1 : 1;
    return p->id < q->id ? -1 : 1;
}

/* Returns false where a sum comes so near a threshold that rounding decides. */
static bool reference(const float *x, size_t V, filter_options o, double u, naive *s, size_t *kept,
                      size_t *id)
{
    const long double near = 1e-12L;
    long double max = -INFINITY, total = 0, mass = 0, run = 0;
    for (size_t v = 0; v < V; v++) if (x[v] > max) max = x[v];
    for (size_t v = 0; v < V; v++)
        s[v] = (naive){ expl(((long double)x[v] - max) / o.temperature), v };
    qsort(s, V, sizeof *s, by_weight);
    size_t n = o.top_k == 0 || o.top_k > V ? V : o.top_k;
    for (size_t i = 0; i < n; i++) total += s[i].w;
    for (*kept = 0; *kept < n; ++*kept) {
        if (o.top_p < 1 && fabsl(mass / total - o.top_p) < near) return false;
        if (*kept > 0 && o.top_p < 1 && !(mass / total < o.top_p)) break;
        mass += s[*kept].w;
    }
    for (size_t i = 0; i < *kept; i++) {
        run += s[i].w;
        if (fabsl(run / mass - u) < near) return false;
        *id = s[i].id;
        if (run / mass > u) break;
    }
    return true;
}

/* proves sample.temperature sample.topk sample.topp sample.probs sample.draw */
static void equals_the_naive_reference(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 11);
    enum { ROUNDS = 20000 };
    int compared = 0, several = 0;
    filter_room room = make_room(V_MAX);
    for (int round = 0; round < ROUNDS; round++) {
        float x[V_MAX];
        naive s[V_MAX];
        filter_choice list[V_MAX];
        const size_t V = (size_t)rng_integers(&r, 1, V_MAX + 1);
        const bool ties = round % 2;
        for (size_t v = 0; v < V; v++)
            x[v] = ties ? (float)rng_integers(&r, -2, 3) : (float)(2 * rng_normal(&r));
        if (round % 5 == 0) x[V - 1] = V > 1 ? MINUS_INF : x[0];
        const filter_options o = {
            .temperature = 0.3 + 1.5 * rng_double(&r),
            .top_k = round % 3 ? 0 : (size_t)rng_integers(&r, 0, V_MAX + 9),
            .top_p = round % 4 ? rng_double(&r) : 1,
        };
        const double u = rng_double(&r);
        size_t want = 0, want_kept = 0, kept = 0;
        if (!reference(x, V, o, u, s, &want_kept, &want)) continue;
        size_t id = SIZE_MAX;
        assert_ok(filter_draw(x, V, &o, u, list, &id, &test_error));
        size_t fast = SIZE_MAX;
        assert_ok(filter_draw_fast(x, V, &o, u, &room, &fast, &test_error));
        assert_int_equal(fast, id);
        assert_ok(filter_list(x, V, &o, list, &kept, &test_error));
        while (want_kept > 0 && s[want_kept - 1].w == 0) want_kept--;
        if (id != want || kept != want_kept)
            fail_msg("round %d: id %zu of %zu kept, expected %zu of %zu", round, id, kept, want,
                     want_kept);
        long double mass = 0;
        for (size_t i = 0; i < kept; i++) mass += s[i].w;
        for (size_t i = 0; i < kept; i++) {
            assert_int_equal(list[i].id, s[i].id);
            assert_near_at(list[i].weight, (double)(s[i].w / mass), 1e-14, "p", i);
        }
        compared++;
        several += kept > 1;
    }
    guarded_free(room.choices);
    assert_true(compared > ROUNDS * 95 / 100);
    assert_true(several > ROUNDS / 2);
}

/* --- many ids, kernels and teams ----------------------------------------- */

/* So many ids that they are weighed in several tasks, of few or many sizes: each draw
 * is the reference's, by the definition alone and by every set on teams. */
static void a_large_vocabulary_is_drawn_from_alike(void **state)
{
    (void)state;
    static const size_t sizes[] = { 2048, 2049, 6000 };
    static const double spread[] = { 0.01, 1, 5, 10, 300 };
    static const size_t first[] = { 0, 2, 3, 40, 3000 };
    enum { MOST = 6000 };
    float *x = malloc(MOST * sizeof *x);
    naive *s = malloc(MOST * sizeof *s);
    static const int threads[] = { 1, 2, 7 };
    team *teams[3];
    int compared = 0;
    assert_true(x && s);
    for (int i = 0; i < 3; i++) assert_ok(team_new(&teams[i], threads[i], 0, 0, &test_error));
    for (int round = 0; round < 75; round++) {
        const size_t V = sizes[round % 3];
        filter_room room = make_room(V);
        filter_choice *choices = guarded(V * sizeof *choices);
        rng r;
        size_t want = 0, kept = 0, id = SIZE_MAX;
        rng_seed(&r, (uint64_t)round);
        for (size_t v = 0; v < V; v++) x[v] = (float)(spread[round % 5] * rng_normal(&r));
        if (round % 7 == 0) x[V / 2] = MINUS_INF;
        const filter_options o = { .temperature = 0.5 + rng_double(&r), .top_k = first[round / 5 % 5],
                                   .top_p = round % 4 == 1 ? rng_double(&r) : 1 };
        const double u = round % 2 ? rng_double(&r) : 1 - 0.1 * rng_double(&r);
        if (reference(x, V, o, u, s, &kept, &want)) {
            assert_ok(filter_draw(x, V, &o, u, choices, &id, &test_error));
            assert_int_equal(id, want);
            for (size_t i = 0; (room.kernels = ops_runs(i / 3)) != NULL; i++) {
                room.team = teams[i % 3];
                assert_ok(filter_draw_fast(x, V, &o, u, &room, &id, &test_error));
                assert_int_equal(id, want);
            }
            compared++;
        }
        guarded_free(room.choices);
        guarded_free(choices);
    }
    for (int i = 0; i < 3; i++) team_free(teams[i]);
    free(s);
    free(x);
    assert_true(compared >= 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samp01_temperature_zero),
        cmocka_unit_test(samp03_top_p_keeps_at_least_one),
        cmocka_unit_test(samp04_the_crossing_token_is_kept),
        cmocka_unit_test(thresholds_are_on_the_right_side),
        cmocka_unit_test(top_k_breaks_ties_by_id),
        cmocka_unit_test(samp06_never_an_id_of_probability_zero),
        cmocka_unit_test(logits_that_are_no_numbers_are_refused),
        cmocka_unit_test(an_even_grid_gives_each_id_its_share),
        cmocka_unit_test(draws_follow_the_distribution),
        cmocka_unit_test(equals_the_naive_reference),
        cmocka_unit_test(a_large_vocabulary_is_drawn_from_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
