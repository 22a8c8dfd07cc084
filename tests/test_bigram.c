/* test_bigram.c -- the bigram model by hand and against a table of counts. */
#include "support.h"
#include "data/bigram.h"
#include <math.h>
#include <stdlib.h>

/* p(b|a) = (n(a,b) + k) / (n(a) + k V), written down for one small text. */
static void counted_by_hand(void **state)
{
    (void)state;
    /* Pairs 0 1, 1 0, 0 1, 1 1, 1 0, 0 2: n(0,.) = 0 2 1, n(1,.) = 2 1 0. */
    const int train[] = { 0, 1, 0, 1, 1, 0, 2 };
    const int valid[] = { 0, 1, 0, 2, 2, 1, 1 };    /* seq 2: pairs 01 10 02 22 21 11 */
    bigram r;
    assert_ok(bigram_best(&r, train, 7, valid, 7, 2, 3, &test_error));
    assert_int_equal(r.targets, 6);
    const double k[] = { 0.01, 0.1, 1.0 };
    double best = INFINITY, best_k = 0;
    for (int j = 0; j < 3; j++) {
        const double sum = log((2 + k[j]) / (3 + 3 * k[j])) + log((2 + k[j]) / (3 + 3 * k[j])) +
                           log((1 + k[j]) / (3 + 3 * k[j])) + 2 * log(1.0 / 3) +
                           log((1 + k[j]) / (3 + 3 * k[j]));
        if (-sum / 6 < best) {
            best = -sum / 6;
            best_k = k[j];
        }
    }
    assert_near(r.loss, best, 1e-15);
    assert_true(r.k == best_k);
}

/* Each k is the best one of some text. */
static void the_best_k_is_taken(void **state)
{
    (void)state;
    enum { N = 400 };
    static int train[N], alike[N], unlike[N], mixed[N];
    for (int i = 0; i < N; i++) {
        train[i] = i % 2;                           /* 0 1 0 1 ... of V = 4 */
        alike[i] = i % 2;
        unlike[i] = i % 2 ? 3 : 0;                  /* 0 3: never seen */
        mixed[i] = i % 2;
    }
    bigram r;
    assert_ok(bigram_best(&r, train, N, alike, N, 8, 4, &test_error));
    assert_true(r.k == 0.01);
    assert_ok(bigram_best(&r, train, N, unlike, N, 8, 4, &test_error));
    assert_true(r.k == 1.0);
    /* One pair unseen among 196 behind 0, of which training has 200: the terms
     * in k, -log k + 196 log(200 + 4 k) - 195 log(200 + k), are least at 0.1. */
    mixed[301] = 3;
    double want = 0;
    for (int i = 0; i < 392; i++) {                 /* 49 windows of 8 */
        const double k = 0.1;
        want -= i == 300 ? log(k / (200 + 4 * k)) : i == 301 ? log(1.0 / 4)
                : mixed[i] == 0 ? log((200 + k) / (200 + 4 * k)) : log((199 + k) / (199 + 4 * k));
    }
    assert_ok(bigram_best(&r, train, N, mixed, N - 7, 8, 4, &test_error));
    assert_int_equal(r.targets, 392);
    assert_near(r.loss, want / 392, 1e-12);
    assert_true(r.k == 0.1);
}

/* Random tokens against a table of V x V counts. */
static void as_a_table_of_counts_has_it(void **state)
{
    (void)state;
    enum { V = 37, N = 5000, M = 700 };
    static int train[N], valid[M];
    static double n[V][V], total[V];
    uint32_t s = 12345;
    for (int i = 0; i < N + M; i++) {
        s = s * 1664525u + 1013904223u;
        const int x = (int)(s >> 16) % V;
        const int id = x * x % V;                   /* some ids often, some never */
        if (i < N) train[i] = id; else valid[i - N] = id;
    }
    for (int i = 0; i + 1 < N; i++) {
        n[train[i]][train[i + 1]]++;
        total[train[i]]++;
    }
    for (size_t seq = 1; seq <= 64; seq = 2 * seq + 1) {
        const size_t targets = (M - seq - 1) / seq * seq + seq;
        double best = INFINITY;
        for (int j = 0; j < 3; j++) {
            const double k = (const double[]){ 0.01, 0.1, 1.0 }[j];
            double sum = 0;
            for (size_t i = 0; i < targets; i++)
                sum -= log((n[valid[i]][valid[i + 1]] + k) / (total[valid[i]] + k * V));
            if (sum / (double)targets < best) best = sum / (double)targets;
        }
        bigram r;
        assert_ok(bigram_best(&r, train, N, valid, M, seq, V, &test_error));
        assert_int_equal(r.targets, targets);
        assert_near(r.loss, best, 1e-12);           /* another order of 699 sums below 10 */
    }
}

/* With no pair alike the loss is log V whatever k: a model of nothing. */
static void unseen_contexts_are_uniform(void **state)
{
    (void)state;
    const int train[] = { 0, 0, 0 }, valid[] = { 5, 6, 7, 8, 9 };
    bigram r;
    assert_ok(bigram_best(&r, train, 3, valid, 5, 4, 100, &test_error));
    assert_near(r.loss, log(100.0), 1e-14);
    assert_int_equal(r.targets, 4);
}

static void what_cannot_be_counted_is_refused(void **state)
{
    (void)state;
    const int good[] = { 0, 1, 2, 1, 0 }, high[] = { 0, 1, 3, 1, 0 }, low[] = { 0, 1, -1, 1, 0 };
    bigram r;
    assert_int_equal(bigram_best(&r, good, 1, good, 5, 2, 3, &test_error), VT_BAD_INPUT);
    assert_int_equal(bigram_best(&r, good, 5, good, 2, 2, 3, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "validation");
    assert_int_equal(bigram_best(&r, high, 5, good, 5, 2, 3, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "token 2");
    assert_contains(test_error.text, "3: expected 0 .. 2");
    assert_int_equal(bigram_best(&r, good, 5, low, 5, 2, 3, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "-1");
    assert_int_equal(bigram_best(&r, good, 5, good, 5, 0, 3, &test_error), VT_USAGE);
    assert_ok(bigram_best(&r, good, 5, good, 3, 2, 3, &test_error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_by_hand),
        cmocka_unit_test(the_best_k_is_taken),
        cmocka_unit_test(as_a_table_of_counts_has_it),
        cmocka_unit_test(unseen_contexts_are_uniform),
        cmocka_unit_test(what_cannot_be_counted_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
