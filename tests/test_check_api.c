/* test_check_api.c -- vt_check: which window of which model is proven, and what
 * is refused.  How a wrong gradient is found is in test_gradcheck.c.
 */
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/safetensors.h"
#include "model/checkpoint.h"
#include "scratch.h"
#include "tiny_model.h"
#include "vitrine.h"

static char folder[300];
static vt_model *model;

static int train_one(void **state)
{
    if (scratch_make(state)) return 1;
    const vt_train_options o = tiny_options("model", 8, false);
    tiny_train(&o);
    snprintf(folder, sizeof folder, "%s", o.out);
    return vt_model_open(&model, folder, 2, NULL, &test_error) != VT_OK;
}

static int remove_all(void **state)
{
    vt_model_close(model);
    return scratch_remove(state);
}

static void a_trained_model_passes(void **state)
{
    (void)state;
    vt_check_options o;
    vt_check_report r;
    vt_info_data info;
    vt_info(model, &info);
    vt_check_defaults(&o);
    assert_int_equal(o.entries, 64);
    o.entries = SWEEP(64, 16);
    assert_ok(vt_check(model, &o, NULL, NULL, &r, &test_error));
    assert_true(r.pass);
    assert_null(r.diagnosed);
    assert_string_equal(r.diagnosis.kind, "");
    assert_int_equal(r.batch, 2);
    assert_int_equal(r.seq, 8);
    assert_int_equal(r.of, info.parameters);
    assert_int_equal(r.nrows, info.tensors);
    size_t compared = 0;
    for (size_t i = 0; i < r.nrows; i++) {
        const vt_tensor_info t = vt_tensor(model, i);
        assert_string_equal(r.rows[i].name, t.name);
        assert_int_equal(r.rows[i].compared, t.count < (size_t)o.entries ? t.count : (size_t)o.entries);
        compared += r.rows[i].compared;
    }
    assert_int_equal(r.compared, compared);
    vt_check_free(&r);
    if (SWEEP(0, 1)) return;                /* the same code, for each parameter */
    o.every = true;
    assert_ok(vt_check(model, &o, NULL, NULL, &r, &test_error));
    assert_int_equal(r.compared, info.parameters);
    assert_int_equal(r.of, info.parameters);
    vt_check_free(&r);
    vt_check_free(&r);                      /* twice is fine */
}

static void unusable_options_are_refused(void **state)
{
    (void)state;
    const struct { int entries, batch, seq; const char *part; } rows[] = {
        { 0, 0, 0, "--entries 0" },    { -1, 0, 0, "--entries -1" },
        { 64, -1, 0, "--batch -1" },   { 64, 65537, 1, "--batch 65537" },
        { 64, 1, -1, "--seq -1" },     { 64, 1, 13, "--seq 13: expected 1 to 12" },
        { 64, 65536, 12, "tokens" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const vt_check_options o = { .entries = rows[i].entries, .batch = rows[i].batch,
                                     .seq = rows[i].seq, .seed = 42 };
        vt_check_report r;
        assert_int_equal(vt_check(model, &o, NULL, NULL, &r, &test_error), VT_USAGE);
        assert_contains(test_error.text, rows[i].part);
        assert_null(r.rows);
        vt_check_free(&r);
    }
}

/* Writes the state anew, with a sha256 of what it then holds: without its window,
 * or with an empty or a short one, or with one parameter changed. */
static const char *changed_state(const char *name, bool has_window, size_t length,
                                 const char *tensor, float value)
{
    static char out[300];
    st_file f;
    st_item items[200];
    size_t n = 0;
    float *spoiled = NULL;
    snprintf(out, sizeof out, "%s", scratch(name));
    assert_ok(io_mkdir(out, &test_error));
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, CHECKPOINT_STATE);
    assert_ok(st_open(&f, path, 1 << 24, &test_error));
    for (size_t i = 0; i < f.count; i++) {
        const st_tensor *t = &f.tensors[i];
        const bool window = strcmp(t->name, "check.window") == 0;
        if (window && !has_window) continue;
        items[n] = (st_item){ .name = t->name, .dtype = t->dtype, .rank = t->rank,
                              .data = t->data };
        memcpy(items[n].shape, t->shape, sizeof t->shape);
        if (window) items[n].shape[0] = length;
        if (tensor && strcmp(t->name, tensor) == 0) {
            spoiled = malloc(t->nbytes);
            assert_non_null(spoiled);
            memcpy(spoiled, t->data, t->nbytes);
            spoiled[1] = value;
            items[n].data = spoiled;
        }
        n++;
    }
    char seal[65];
    const char *run = st_meta(&f, "run"), *tokenizer = st_meta(&f, "tokenizer");
    assert_ok(checkpoint_seal(seal, run, tokenizer, items, n, &test_error));
    const st_pair meta[] = { { "format", st_meta(&f, "format") }, { "sha256", seal },
                             { "run", run }, { "tokenizer", tokenizer } };
    snprintf(path, sizeof path, "%s/%s", out, CHECKPOINT_STATE);
    assert_ok(st_write(path, items, n, meta, 4, &test_error));
    assert_true(!tensor || spoiled);
    free(spoiled);
    st_close(&f);
    return out;
}

static vt_status check(const char *where, vt_check_report *r)
{
    vt_check_options o;
    vt_model *m;
    vt_check_defaults(&o);
    o.entries = SWEEP(4, 1);
    assert_ok(vt_model_open(&m, where, 2, NULL, &test_error));
    const vt_status s = vt_check(m, &o, NULL, NULL, r, &test_error);
    vt_model_close(m);
    return s;
}

/* No window, an empty one: random ids; a short one: as much as it holds. */
static void any_window_is_enough(void **state)
{
    (void)state;
    const struct { bool has; size_t length; int batch, seq; } rows[] = {
        { false, 0, 2, 8 }, { true, 0, 2, 8 }, { true, 17, 2, 8 }, { true, 16, 1, 8 },
        { true, 9, 1, 8 },  { true, 8, 1, 7 }, { true, 2, 1, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i += SWEEP(1, 2)) {
        vt_check_report r;
        assert_ok(check(changed_state("windows", rows[i].has, rows[i].length, NULL, 0), &r));
        assert_int_equal(r.batch, rows[i].batch);
        assert_int_equal(r.seq, rows[i].seq);
        vt_check_free(&r);
    }
}

/* Nothing is proven of a model with numbers that overflow; one with NaN or Inf is
 * not even opened. */
static void a_broken_model_does_not_pass(void **state)
{
    (void)state;
    static const char *const tensors[] = { "param.transformer.wpe.weight",
        "param.transformer.h.1.mlp.c_fc.bias", "param.transformer.ln_f.weight",
        "param.lm_head.weight" };
    const float values[] = { NAN, INFINITY };
    for (size_t i = 0; i < 4; i += SWEEP(1, 2)) {       /* a table and a gain, or two of each */
        vt_check_report r;
        for (size_t j = 0; j < 2; j++) {
            vt_model *m;
            const char *where = changed_state("broken", true, 17, tensors[i], values[j]);
            assert_int_equal(vt_model_open(&m, where, 2, NULL, &test_error), VT_BAD_INPUT);
            assert_null(m);
            assert_contains(test_error.text, tensors[i]);
        }
        assert_int_equal(check(changed_state("broken", true, 17, tensors[i], 3e38f), &r),
                         VT_CHECK_FAILED);
        assert_false(r.pass);
        assert_true(strlen(test_error.text) > 10);
        assert_non_null(r.diagnosed);           /* the numbers, not a kernel, are at fault */
        /* Of the tables only the random direction fails, whose sum drowns in one term. */
        const bool table = i == 0 || i == 3;
        assert_string_equal(r.diagnosis.kind, table ? "" : "out_of_domain");
        assert_contains(r.diagnosis.sentence, table ? "no fault is seen" : "float32");
        vt_check_free(&r);
    }
}

static void what_there_is_none_of_is_freed(void **state)
{
    (void)state;
    vt_check_report check = { .rows = NULL };
    vt_op_report op = { .cases = NULL };
    vt_self_report self = { .rows = NULL };
    vt_bench_report bench = { .rows = NULL };
    vt_check_free(&check), vt_check_free(NULL);
    vt_op_report_free(&op), vt_op_report_free(NULL);
    vt_self_report_free(&self), vt_self_report_free(NULL);
    vt_bench_free(&bench), vt_bench_free(NULL);
    vt_model_close(NULL), vt_training_text_close(NULL);
    size_t length = 0;
    const unsigned char *piece = vt_piece(model, 65, &length);
    assert_int_equal(length, 1);
    assert_memory_equal(piece, "A", 1);
    assert_ptr_equal(vt_piece(model, 65, NULL), piece);
    assert_null(vt_piece(model, -1, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trained_model_passes),
        cmocka_unit_test(unusable_options_are_refused),
        cmocka_unit_test(any_window_is_enough),
        cmocka_unit_test(a_broken_model_does_not_pass),
        cmocka_unit_test(what_there_is_none_of_is_freed),
    };
    return cmocka_run_group_tests(tests, train_one, remove_all);
}
