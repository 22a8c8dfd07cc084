/* test_tiny_preset.c -- the whole model of the preset `tiny` (74,944 parameters)
 * against complex step, away from initialisation: all parameters random, gains
 * and biases too.
 *
 * Every entry where the build is a fast one; under the sanitizers, where that
 * takes many minutes, 64 entries of each tensor.  The tests' names say which.
 */
#include <stdlib.h>
#include "base/rng.h"
#include "support.h"
#include "verify/model/gradcheck.h"

/* 64 of each: 11 matrices and 4 vectors of 96 or 128 give 64 entries, the other
 * 14 vectors all of their 32. */
#if defined(__SANITIZE_ADDRESS__)
enum { EVERY = 0, EXPECTED = (11 + 4) * 64 + 14 * 32 };
#else
enum { EVERY = 1, EXPECTED = 74944 };
#endif
enum { B = 1, T = 16 };

static void compare(vt_check_report *report)
{
    vt_train_options o;
    assert_ok(vt_train_preset(&o, "tiny", &test_error));
    const gpt_config z = { .L = o.layers, .C = o.d_model, .NH = o.heads, .FF = o.ff,
                           .T = o.context, .V = 256 + o.merges + 1, .tied = o.tied };
    const size_t n = gpt_tensor_count(&z), count = gpt_parameter_count(&z);
    assert_int_equal(count, 74944);
    gpt_tensor *tensors = malloc(n * sizeof *tensors);
    float *params = malloc(count * sizeof *params);
    int tokens[B * T], targets[B * T];
    assert_true(tensors && params);
    gpt_tensor_list(&z, tensors);
    rng r;
    rng_stream_seed(&r, 42, RNG_VERIFY, 8);
    for (size_t i = 0; i < count; i++) params[i] = (float)(0.2 * rng_normal(&r));
    for (int i = 0; i < B * T; i++) {
        tokens[i] = (int)rng_integers(&r, 0, z.V);
        targets[i] = (int)rng_integers(&r, 0, z.V);
    }
    tokens[T - 1] = tokens[2];                          /* a repeated one */
    const gradcheck_case c = { .z = &z, .tensors = tensors, .ntensors = n, .params = params,
        .tokens = tokens, .targets = targets, .B = B, .T = T, .kernels = ops_pick(NULL),
        .threads = 2 };
    const vt_check_options how = { .every = EVERY, .entries = 64, .seed = 42 };
    assert_ok(gradcheck_run(report, &c, &how, NULL, NULL, &test_error));
    assert_true(report->pass);
    assert_int_equal(report->compared, EXPECTED);
    assert_int_equal(report->of, count);
    print_message("# compared %zu of %zu, worst error %.1e\n", report->compared, report->of,
                  report->worst);
    free(params);
    free(tensors);
}

static void gradients_of_the_tiny_model(void **state)
{
    (void)state;
    vt_check_report report;
    compare(&report);
    assert_true(report.worst > 0 && report.worst < 1e-11);
    vt_check_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        { EVERY ? "every_gradient_of_the_tiny_model"
                : "64_gradients_of_each_tensor_of_the_tiny_model",
          gradients_of_the_tiny_model, NULL, NULL, NULL },
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
