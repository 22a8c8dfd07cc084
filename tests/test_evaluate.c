/* test_evaluate.c -- vt_evaluate against what is known without it: a model that knows
 * nothing, the validation of a training, the same windows cut otherwise.
 *
 * cli_eval.sh compares with NumPy.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "data/dataset.h"
#include "scratch.h"
#include "support.h"
#include "train/evaluate.h"

enum { DOCUMENTS = 24, V = 61, N = 200 };

/* ---- a model that knows nothing ------------------------------------------ */

static void equal_logits_cost_ln_v(void **state)
{
    (void)state;
    const gpt_config z = { .L = 1, .C = 8, .NH = 2, .FF = 12, .T = 16, .V = V, .tied = true };
    float *params = calloc(gpt_parameter_count(&z), sizeof *params);    /* every logit is 0 */
    int ids[N];
    rng r;
    rng_seed(&r, 3);
    for (int i = 0; i < N; i++) ids[i] = (int)rng_integers(&r, 0, V);
    evaluate_case c = { .z = &z, .params = params, .kernels = ops_pick(NULL), .threads = 2,
                        .ids = ids, .n = N, .seq = 16, .stride = 5 };
    evaluate_result e;
    assert_ok(evaluate_tokens(&e, &c, NULL, NULL, &test_error));
    assert_int_equal(e.predicted, N - 1);
    assert_int_equal(e.windows, 38);            /* 0, 5, .. 185: the last reaches 199 */
    /* ln V, rounded to float once a token: the same each time, so it does not average out */
    assert_true(fabs(e.nats / (N - 1) - log(V)) <= 2 * 0x1p-24 * log(V));
    c.whole = true;
    c.stride = 16;
    assert_ok(evaluate_tokens(&e, &c, NULL, NULL, &test_error));
    assert_int_equal(e.predicted, 192);
    assert_int_equal(e.windows, 12);
    params[0] = (float)NAN;
    assert_int_equal(evaluate_tokens(&e, &c, NULL, NULL, &test_error), VT_NAN);
    free(params);
}

static bool stop(void *context, size_t done, size_t of)
{
    assert_true(done <= of);
    return --*(int *)context == 0;
}

static void progress_may_stop_it(void **state)
{
    (void)state;
    const gpt_config z = { .L = 1, .C = 8, .NH = 2, .FF = 12, .T = 4, .V = V, .tied = true };
    float *params = calloc(gpt_parameter_count(&z), sizeof *params);
    const int ids[N] = { 1 };
    const evaluate_case c = { .z = &z, .params = params, .kernels = ops_pick(NULL), .threads = 1,
                              .ids = ids, .n = N, .seq = 4, .stride = 4 };
    evaluate_result e;
    int calls = 2;
    assert_int_equal(evaluate_tokens(&e, &c, stop, &calls, &test_error), VT_INTERRUPTED);
    assert_int_equal(calls, 0);
    free(params);
}

/* ---- what validates in a training ---------------------------------------- */

static const char *document(int i)
{
    static char text[DOCUMENTS][200];
    size_t n = 0;
    rng r;
    rng_seed(&r, 100 + (uint64_t)i);
    for (int k = 0; k < 20; k++)
        n += (size_t)snprintf(text[i] + n, sizeof text[i] - n, "%c%c ", "abcdefgh"[rng_integers(&r, 0, 8)],
                              "xyz"[rng_integers(&r, 0, 3)]);
    return text[i];
}

/* The corpus, or of it the documents that validate. */
static const char *write_csv(const char *name, const bool *only)
{
    static char all[8000];
    size_t n = (size_t)snprintf(all, sizeof all, "text\n");
    for (int i = 0; i < DOCUMENTS; i++)
        if (!only || only[i])
            n += (size_t)snprintf(all + n, sizeof all - n, "%s\n", document(i));
    scratch_file(name, all, n);
    return scratch(name);
}

static void the_validation_text_costs_the_validation_loss(void **state)
{
    (void)state;
    char all_texts[256], held_out[256], folder[256];
    const char *files[] = { all_texts };
    bool validates[DOCUMENTS] = { false };
    vt_train_options o;
    vt_train_result trained;
    vt_model *m;
    assert_ok(vt_train_preset(&o, "tiny", &test_error));
    assert_ok(dataset_validates(validates, DOCUMENTS, o.seed, &test_error));
    snprintf(all_texts, sizeof all_texts, "%s", write_csv("all.csv", NULL));
    snprintf(held_out, sizeof held_out, "%s", write_csv("held_out.csv", validates));
    snprintf(folder, sizeof folder, "%s", scratch("evaluated"));
    o.corpus = (vt_corpus){ .files = files, .nfiles = 1 };
    o.out = folder;
    o.merges = 20;
    o.steps = 30;
    o.batch = 3;
    o.threads = 2;
    assert_ok(vt_train(&o, NULL, &trained, &test_error));
    assert_true(isfinite(trained.val_loss));
    assert_ok(vt_model_open(&m, folder, 2, NULL, &test_error));
    const vt_evaluate_options how = { .whole = true };
    const char *held[] = { held_out };
    const vt_corpus text = { .files = held, .nfiles = 1 };
    vt_evaluate_report r;
    assert_ok(vt_evaluate(m, &text, &how, NULL, NULL, &r, &test_error));
    assert_int_equal(r.documents, 3);
    assert_true(r.windows > 2);
    /* The same windows, in batches of another size: sums of the same floats. */
    assert_true(fabs(r.loss - trained.val_loss) <= 1e-6 * trained.val_loss);
    assert_int_equal(r.training_files, 0);
    assert_true(r.loss < r.uniform);
    vt_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_logits_cost_ln_v),
        cmocka_unit_test(progress_may_stop_it),
        cmocka_unit_test(the_validation_text_costs_the_validation_loss),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
