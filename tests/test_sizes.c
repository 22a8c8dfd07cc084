/* test_sizes.c -- every size that is computed before memory is asked for, against the same
 * sum in 128 bits, over all corners of the options (NUM-01).
 *
 * What holds: a size function says that it overflows, or its result is no less than what
 * the parts need, exactly.  No memory is taken.
 */
#include "support.h"
#include <limits.h>
#include <stdlib.h>
#include "kernels/ops.h"
#include "model/gpt.h"
#include "model/gpt_window.h"
#include "sample/generate.h"
#include "train/trainer.h"

__extension__ typedef unsigned __int128 wide;

static wide of(int x) { return (wide)(size_t)x; }

static const int corners[] = { 1, 2, 48, 1024, 50257, 1 << 16, 1 << 30, INT_MAX };
enum { CORNERS = sizeof corners / sizeof *corners };

static wide parameters(const gpt_config *z)
{
    const wide L = of(z->L), C = of(z->C), FF = of(z->FF), T = of(z->T), V = of(z->V);
    return V * C + T * C + 2 * C + (z->tied ? 0 : V * C) +
           L * (4 * C + 3 * C * C + 3 * C + C * C + C + 2 * C * FF + FF + C);
}

/* Calls f for sizes with every corner in L, C, FF, T and V; NH is 1 or C. */
static long each(bool (*f)(const gpt_config *z))
{
    long good = 0;
    for (int i = 0; i < CORNERS * CORNERS * CORNERS * CORNERS * CORNERS; i++) {
        int k = i, at[5];
        for (int j = 0; j < 5; j++, k /= CORNERS) at[j] = corners[k % CORNERS];
        const gpt_config z = { .L = at[0], .C = at[1], .FF = at[2], .T = at[3], .V = at[4],
                               .NH = i % 3 ? 1 : at[1], .tied = i % 2 == 0 };
        good += f(&z);
    }
    return good;
}

static bool of_parameters(const gpt_config *z)
{
    const vt_status s = gpt_config_check(z, &test_error);
    const wide exact = parameters(z);
    if (s != VT_OK) {
        assert_int_equal(s, VT_TOO_LARGE);
        /* nothing is refused that would fit a machine: 2^56 numbers, or 3 C above an int */
        assert_true(exact > (wide)1 << 56 || z->C > INT_MAX / 3);
        return false;
    }
    assert_true(exact <= SIZE_MAX / 4 / sizeof(double));
    assert_true(exact == gpt_parameter_count(z));
    assert_true(gpt_tensor_count(z) == 4 + 12 * (size_t)z->L + !z->tied);
    return true;
}

static void parameters_of_a_model(void **state)
{
    (void)state;
    assert_true(each(of_parameters) > 10000);
    const gpt_config row = { .L = INT_MAX, .C = 1 << 30, .NH = 1, .FF = 1, .T = INT_MAX, .V = 257 };
    assert_int_equal(gpt_config_check(&row, &test_error), VT_TOO_LARGE);
    assert_contains(test_error.text, "the model's size overflows: --layers 2147483647 --d-model 1073741824");
}

/* Of one layer and the logits of some rows: a lower bound of what any set needs. */
static wide activations(const gpt_config *z, int B, int T, bool stages, wide rows)
{
    const wide N = of(B) * of(T), C = of(z->C);
    wide layer = N * (8u * C + 2u * of(z->FF));
    if (stages) layer = layer + 4u * N * of(z->NH) * of(T);
    return rows * of(z->V) + N * C + of(z->L) * layer;
}

static bool of_activations(const gpt_config *z)
{
    if (gpt_config_check(z, NULL)) return false;
    bool some = false;
    for (int i = 0; i < CORNERS; i++) {
        const int B = corners[i], T = z->T;
        const size_t f64 = gpt_acts_bytes_f64(z, B, T, T, true), fast = gpt_acts_bytes_fast(z, B, T, T, true);
        if (f64 != SIZE_MAX) assert_true(f64 >= 8 * activations(z, B, T, true, of(B) * of(T)));
        if (fast != SIZE_MAX) assert_true(fast >= 4 * activations(z, B, T, false, of(B) * of(T)));
        if (fast == SIZE_MAX) continue;
        some = true;
        /* what is checked by these alone: scratch, and the blocks of training */
        const ops_sizes sizes = { .B = B, .T = T, .P = T, .C = z->C, .NH = z->NH, .HS = z->C / z->NH,
                                  .FF = z->FF, .V = z->V };
        size_t worker, shared;
        ops_scratch(&sizes, &worker, &shared);
        /* q, o, dq of a block of queries, at least 128 where there are as many */
        assert_true(worker >= 4 * (3 * of(T < 128 ? T : 128) * of(sizes.HS)));
        assert_true(shared >= 4 * 2 * of(z->C));
    }
    return some;
}

static void activations_and_scratch(void **state)
{
    (void)state;
    assert_true(each(of_activations) > 3000);
    /* 48 x 1024 rows of 50257 logits: 2470232064, which an int holds as -1824735232 */
    const gpt_config z = { .L = 1, .C = 1, .NH = 1, .FF = 1, .T = 1024, .V = 50257 };
    assert_true(48 * 1024 * (int64_t)50257 == 2470232064);
    assert_true((uint32_t)2470232064u - (int64_t)UINT32_MAX - 1 == -1824735232);
    const size_t bytes = gpt_acts_bytes_fast(&z, 48, 1024, 1024, true);
    const size_t logits = 2470232064, size = sizeof(float);
    assert_true(bytes >= 2 * logits * size && bytes < 3 * logits * size);
}

static bool of_training(const gpt_config *z)
{
    if (gpt_config_check(z, NULL)) return false;
    bool some = false;
    vt_train_options o;
    assert_ok(vt_train_preset(&o, "tiny", &test_error));
    for (int i = 0; i < CORNERS * CORNERS; i++) {
        size_t sizes[TRAINER_PIECES], total = 0;
        o.batch = corners[i / CORNERS];
        o.accumulate = corners[i % CORNERS];
        o.seq = z->T;
        if (!trainer_sizes(sizes, &o, z)) continue;
        some = true;
        const wide ids = of(o.batch) * of(o.accumulate) * of(o.seq);
        assert_true(sizes[TRAINER_PARAMS] >= 4 * parameters(z) && sizes[TRAINER_SQUARES] >= 4 * parameters(z));
        assert_true(sizes[TRAINER_INPUTS] >= 4 * ids && sizes[TRAINER_TARGETS] >= 4 * ids);
        assert_true(sizes[TRAINER_ROWS] >= sizeof(size_t) * of(o.accumulate));
        assert_true(sizes[TRAINER_ACTS] >= 4 * activations(z, o.batch, o.seq, false, 1));
        for (int k = 0; k < TRAINER_PIECES; k++) assert_true(size_add(total, sizes[k], &total));
    }
    return some;
}

/* Fewer models: 64 runs of options for each. */
static bool of_training_some(const gpt_config *z)
{
    return z->L != 2 && z->C <= 1024 && z->FF != 48 && of_training(z);
}

static void the_block_of_training(void **state)
{
    (void)state;
    assert_true(each(of_training_some) > 1000);
}

static bool of_generation(const gpt_config *z)
{
    if (gpt_config_check(z, NULL)) return false;
    const size_t bytes = generator_bytes(z, z->T);
    if (bytes == SIZE_MAX) return false;
    assert_true(bytes >= 4 * (activations(z, 1, z->T, false, 1) + 2 * of(z->L) * of(z->T) * of(z->C)));
    return true;
}

static void generation(void **state)
{
    (void)state;
    assert_true(each(of_generation) > 3000);
}

/* A window in double that cannot be: refused, by size or by memory, and nothing is left. */
static void a_window(void **state)
{
    (void)state;
    static const gpt_config rows[] = {
        { .L = 1, .C = 1, .NH = 1, .FF = 1, .T = INT_MAX, .V = 257 },
        { .L = 1, .C = 1 << 16, .NH = 1 << 16, .FF = 1, .T = 1 << 16, .V = 257 },
        { .L = INT_MAX, .C = 1, .NH = 1, .FF = 1, .T = 1 << 16, .V = 257 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gpt_window w;
        const float none = 0;
        assert_ok(gpt_config_check(&rows[i], &test_error));
        assert_int_equal(gpt_window_new(&w, &rows[i], &none, rows[i].T, &test_error), VT_TOO_LARGE);
        assert_null(w.block);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_of_a_model),
        cmocka_unit_test(activations_and_scratch),
        cmocka_unit_test(the_block_of_training),
        cmocka_unit_test(generation),
        cmocka_unit_test(a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
