/* test_check_full.c -- derivatives put together by the chain rule, and by a run of the
 * whole model for each entry (--full), give the same verdicts: of what is right, and of
 * each of the faults that the specimens plant in a GPT's backward pass.
 *
 * Two computations of one number, each within the definitions' bound of it, differ by
 * twice that at most.
 */
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "check_subject.h"
#include "verify/model/gradcheck_chain.h"
#include "verify/model/model_diagnose.h"
#include "verify/op/op_call.h"
#include "verify/selftest/specimens.h"

static const gpt_config models[] = {
    { .L = 2, .C = 6, .NH = 3, .FF = 7, .T = 5, .V = 11, .tied = true },
    { .L = 1, .C = 8, .NH = 2, .FF = 9, .T = 6, .V = 13 },
};

static vt_status judge(const subject *s, bool full, vt_check_report *r)
{
    const vt_check_options o = { .every = true, .full = full, .entries = 1, .seed = 42 };
    const vt_status status = gradcheck_judge(r, &s->c, &s->g, &o, NULL, NULL, &test_error);
    assert_true(status == VT_OK || status == VT_CHECK_FAILED);
    return status;
}

/* How many verdicts and derivatives were compared; *other counts those with other bits. */
static size_t compare(const subject *s, size_t *failed, size_t *other)
{
    vt_check_report chain, full;
    assert_int_equal(judge(s, false, &chain), judge(s, true, &full));
    assert_int_equal(chain.failed, full.failed);
    assert_int_equal(chain.compared, gpt_parameter_count(s->c.z));
    *failed = full.failed;
    for (size_t k = 0; k < full.nrows; k++) {
        const vt_check_row *a = &chain.rows[k], *b = &full.rows[k];
        const double bound = 2 * gradcheck_bounds_of(&s->c, &s->g, k).definitions;
        if (a->pass != b->pass)
            fail_msg("%s: %s by the chain, %s in full", a->name, a->pass ? "passes" : "fails",
                     b->pass ? "passes" : "fails");
        if (a->worst_entry == b->worst_entry) assert_true(fabs(a->expected - b->expected) <= bound);
        if (!b->pass) assert_near(a->budget_used, b->budget_used, 2);   /* shares of the bound */
        *other += a->expected != b->expected;
    }
    const size_t rows = full.nrows;
    vt_check_free(&chain);
    vt_check_free(&full);
    return rows;
}

/* proves diff.chain */
static void what_is_right_passes_either_way(void **state)
{
    (void)state;
    size_t other = 0, failed;
    for (size_t m = 0; m < 2; m++)
        for (int scale = -1; scale < 2; scale += 2) {           /* as GPT-2 starts; larger */
            subject s;
            subject_make(&s, &models[m], 2, 4, 0.5 * scale, 3);
            assert_int_equal(compare(&s, &failed, &other), gpt_tensor_count(&models[m]));
            assert_int_equal(failed, 0);
            s.targets[3] = VT_IGNORE;                           /* a row without a loss */
            gradcheck_free(&s.g);
            assert_ok(gradcheck_compute(&s.g, &s.c, 3, &test_error));
            compare(&s, &failed, &other);
            assert_int_equal(failed, 0);
            subject_free(&s);
        }
    assert_true(other > 0);         /* else one was compared with itself */
}

/* The specimen's gradients take the place of the definitions'. */
static void put(subject *s, const op_case *c, const specimen *planted)
{
    op_local local = { .run = planted->run, .fault = planted->fault };
    const op_kernel k = op_kernel_local(&local);
    const op_values v = op_values_of(c);
    op_call call;
    op_found f;
    kernel_outcome ended;
    assert_ok(op_call_new(&call, c, &test_error));
    assert_ok(op_found_new(&f, c, &test_error));
    assert_ok(op_call_forward(&call, &k, &v, f.x, &ended, &test_error));
    assert_ok(op_call_backward(&call, &k, &v, f.dx, &ended, &test_error));
    assert_int_equal(ended.end, KERNEL_OK);
    for (int i = 0; i < (int)s->c.ntensors; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[VT_GPT_WTE + i]];
        memcpy(s->g.hand + s->tensors[i].offset, f.dx + t->at, t->count * sizeof *f.dx);
    }
    op_call_free(&call);
    op_local_free(&local);
    op_found_free(&f);
}

static void planted_faults_fail_either_way(void **state)
{
    (void)state;
    size_t n, other = 0, faults = 0, found = 0, failed;
    const specimen *table = specimen_table(&n);
    subject s;
    op_case c;
    subject_make(&s, &models[0], 2, 4, 0.5, 7);
    assert_ok(model_op_case(&c, &s.c, &s.g, PRECISION_F64, &test_error));
    for (size_t i = 0; i < n; i++) {
        if (strcmp(table[i].kernel, "gpt") != 0 || table[i].fault == 0) continue;
        put(&s, &c, &table[i]);
        compare(&s, &failed, &other);
        faults++;
        found += failed > 0;
    }
    assert_int_equal(faults, 25);
    assert_int_equal(found, 25);
    op_case_free(&c);
    subject_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_passes_either_way),
        cmocka_unit_test(planted_faults_fail_either_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
