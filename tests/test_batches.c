/* test_batches.c -- batches as a function of (seed, step), targets one ahead,
 * every window once an epoch.
 */
#include "support.h"
#include "data/batches.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 400 };
static int counting[MOST];              /* token i is i: a place shows itself */

static int fill(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++) counting[i] = i;
    return 0;
}

/* LOSS-03: stream 0 .. 19, B = 2, T = 4. */
/* proves batch.window batch.target */
static void every_target_is_the_next_token(void **state)
{
    (void)state;
    enum { B = 2, T = 4 };
    batches b;
    assert_ok(batches_new(&b, counting, 20, T, 0, B, 42, &test_error));
    assert_int_equal(b.windows, 4);                 /* starts 0, 4, 8, 12 */
    assert_int_equal(b.per_epoch, 2);
    int *x = guarded(sizeof(int[B][T])), *y = guarded(sizeof(int[B][T]));
    size_t pairs = 0;
    bool seen[20] = { false };
    for (uint64_t step = 0; step < 2; step++) {
        assert_int_equal(batches_get(&b, step, x, y), B);
        for (int i = 0; i < B * T; i++, pairs++) {
            assert_int_equal(y[i], x[i] + 1);
            assert_int_equal(x[i] % T, i % T);      /* windows begin at 0, 4, 8, 12 */
            if (i % T) assert_int_equal(x[i], x[i - 1] + 1);
            assert_false(seen[x[i]]);
            seen[x[i]] = true;
        }
    }
    assert_int_equal(pairs, 16);
    for (int i = 0; i < 16; i++) assert_true(seen[i]);
    guarded_free(x);
    guarded_free(y);
    batches_free(&b);
}

/* DATA-01: exactly one window, and the last token is its last target. */
static void the_shortest_text_is_one_window(void **state)
{
    (void)state;
    enum { T = 5 };
    int x[T], y[T];
    batches b;
    assert_int_equal(batches_new(&b, counting, T, T, 0, 1, 42, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "5 tokens, expected at least 6");
    batches_free(&b);
    for (size_t n = T + 1; n <= T + 2; n++)
        for (size_t stride = 0; stride <= 1; stride++) {
            const size_t want = n == T + 2 && stride == 1 ? 2 : 1;
            assert_ok(batches_new(&b, counting, n, T, stride, 1, 42, &test_error));
            assert_int_equal(b.windows, want);
            int last = 0;
            for (uint64_t step = 0; step < want; step++) {
                assert_int_equal(batches_get(&b, step, x, y), 1);
                if (y[T - 1] > last) last = y[T - 1];
            }
            assert_int_equal(last, T + want - 1);
            batches_free(&b);
        }
    assert_int_equal(batches_new(&b, counting, 20, 0, 0, 1, 42, &test_error), VT_USAGE);
    assert_int_equal(batches_new(&b, counting, 20, 4, 0, 0, 42, &test_error), VT_USAGE);
}

/* Windows of each epoch, in order, as NumPy's permutation of its stream. */
/* proves batch.window batch.target batch.shuffle */
static void the_order_is_numpys(void **state)
{
    (void)state;
    enum { N = 331, T = 7, S = 3, B = 10, EPOCHS = 4 };
    const size_t windows = (N - T - 1) / S + 1;     /* 108: the last batch holds 8 */
    char command[400];
    snprintf(command, sizeof command, "/usr/bin/python3 -c 'import numpy as np\nfor e in range(%d)"
             ": print(*np.random.default_rng([42, 2, e]).permutation(%zu))'", EPOCHS, windows);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    batches b;
    assert_ok(batches_new(&b, counting, N, T, S, B, 42, &test_error));
    assert_int_equal(b.windows, windows);
    assert_int_equal(b.per_epoch, 11);
    uint64_t step = 0;
    int *x = guarded(sizeof(int[B][T])), *y = guarded(sizeof(int[B][T]));
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (size_t left = windows; left > 0; step++) {
            memset(x, 0xA5, sizeof(int[B][T]));
            memset(y, 0xA5, sizeof(int[B][T]));
            const size_t rows = batches_get(&b, step, x, y);
            assert_int_equal(rows, left < B ? left : B);
            for (size_t r = 0; r < rows; r++) {
                int w;
                assert_int_equal(fscanf(f, "%d", &w), 1);
                for (int t = 0; t < T; t++) {
                    assert_int_equal(x[r * T + (size_t)t], w * S + t);
                    assert_int_equal(y[r * T + (size_t)t], w * S + t + 1);
                }
            }
            for (size_t i = rows * T; i < B * T; i++) {
                assert_int_equal(x[i], 0);
                assert_int_equal(y[i], VT_IGNORE);
            }
            left -= rows;
        }
    assert_int_equal(step, EPOCHS * b.per_epoch);
    assert_int_equal(pclose(f), 0);
    guarded_free(x);
    guarded_free(y);
    batches_free(&b);
}

/* A step asked for alone, backwards, or by another reader is the same step. */
static void a_step_does_not_depend_on_what_was_asked_before(void **state)
{
    (void)state;
    enum { N = 200, T = 6, B = 4, STEPS = 40 };
    int x[STEPS][B * T], y[STEPS][B * T], x1[B * T], y1[B * T];
    batches b, fresh;
    assert_ok(batches_new(&b, counting, N, T, 0, B, 7, &test_error));
    for (uint64_t s = 0; s < STEPS; s++) batches_get(&b, s, x[s], y[s]);
    for (uint64_t s = STEPS; s-- > 0;) {
        batches_get(&b, s, x1, y1);
        assert_memory_equal(x1, x[s], sizeof x1);
        assert_memory_equal(y1, y[s], sizeof y1);
        assert_ok(batches_new(&fresh, counting, N, T, 0, B, 7, &test_error));
        batches_get(&fresh, s, x1, y1);
        assert_memory_equal(x1, x[s], sizeof x1);
        batches_free(&fresh);
    }
    assert_true(memcmp(x[0], x[b.per_epoch], sizeof x1) != 0);   /* a new order each epoch */
    assert_ok(batches_new(&fresh, counting, N, T, 0, B, 8, &test_error));
    batches_get(&fresh, 0, x1, y1);
    assert_true(memcmp(x1, x[0], sizeof x1) != 0);               /* and each seed */
    batches_get(&fresh, UINT64_MAX, x1, y1);
    for (int i = 0; i < B * T; i++)
        if (y1[i] != VT_IGNORE) assert_int_equal(y1[i], x1[i] + 1);
    batches_free(&fresh);
    batches_free(&b);
}

static void windows_in_order_for_validation(void **state)
{
    (void)state;
    enum { N = 50, T = 8, B = 4 };                  /* 6 windows: 4 and 2 */
    int x[B * T], y[B * T];
    batches b;
    assert_ok(batches_new(&b, counting, N, T, 0, B, 42, &test_error));
    assert_int_equal(b.windows, 6);
    int next = 0;
    for (size_t first = 0, rows; (rows = batches_in_order(&b, first, x, y)) > 0; first += rows) {
        assert_int_equal(rows, first == 0 ? 4 : 2);
        for (size_t i = 0; i < rows * T; i++, next++) {
            assert_int_equal(x[i], next);
            assert_int_equal(y[i], next + 1);
        }
        for (size_t i = rows * T; i < B * T; i++) assert_int_equal(y[i], VT_IGNORE);
    }
    assert_int_equal(next, 48);
    batches_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_target_is_the_next_token),
        cmocka_unit_test(the_shortest_text_is_one_window),
        cmocka_unit_test(the_order_is_numpys),
        cmocka_unit_test(a_step_does_not_depend_on_what_was_asked_before),
        cmocka_unit_test(windows_in_order_for_validation),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
