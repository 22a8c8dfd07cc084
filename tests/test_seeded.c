/* test_seeded.c -- the 25 seeded faults of a GPT's backward pass, each in a kernel of its
 * own (specimen_gpt.c), at random parameters and as GPT-2 starts.
 *
 * A checker must find each of them at random parameters, and all but ln_forget_gamma at
 * initialisation: while gains are 1, forgetting them changes nothing.  It is asked twice:
 * of a kernel, where what is right are the definitions; and of a model, whose
 * hand-written gradient is replaced by the specimen's and compared with complex step.
 */
#include "support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check_subject.h"
#include "verify/diagnosis/diagnose.h"
#include "verify/model/model_diagnose.h"
#include "verify/op/op_call.h"
#include "verify/op/op_judge.h"
#include "verify/selftest/specimens.h"

enum { SEEDED = 25 };

/* All sizes distinct, but one: the study's transposition needs a square matrix, which the
 * output projection is.  T is the context. */
static const gpt_config models[] = {
    { .L = 2, .C = 6,  .NH = 3, .FF = 7,  .T = 5, .V = 11, .tied = true },
    { .L = 3, .C = 4,  .NH = 2, .FF = 9,  .T = 7, .V = 8,  .tied = true },
    { .L = 1, .C = 12, .NH = 4, .FF = 17, .T = 6, .V = 14, .tied = true },
};
static const int batch[] = { 2, 3, 2 }, length[] = { 4, 7, 5 };

enum { MODELS = SWEEP(sizeof models / sizeof *models, 1), SEEDS = SWEEP(3, 1) };

/* The seeded faults, in the table's order. */
static size_t seeded(const specimen *out[SEEDED])
{
    size_t n, count = 0;
    const specimen *table = specimen_table(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(table[i].kernel, "gpt") != 0 || table[i].fault == 0) continue;
        assert_true(count < SEEDED);
        out[count++] = &table[i];
    }
    return count;
}

/* A subject whose window has a repeated token, a token that is never used and no two
 * rows of one weight. */
static void make(subject *s, int model, double scale, uint64_t seed)
{
    subject_make(s, &models[model], batch[model], length[model], scale, seed);
    const int N = batch[model] * length[model];
    for (int i = 0; i < N; i++)
        if (s->tokens[i] == models[model].V - 1) s->tokens[i] = 0;
    s->tokens[length[model] - 1] = s->tokens[0];
    gradcheck_free(&s->g);
    assert_ok(gradcheck_compute(&s->g, &s->c, seed, &test_error));
}

/* Runs a specimen on the case; its gradients into f. */
static void run(op_found *f, const op_case *c, const specimen *s)
{
    op_local local = { .run = s->run, .fault = s->fault };
    const op_kernel k = op_kernel_local(&local);
    const op_values v = op_values_of(c);
    op_call call;
    kernel_outcome ended;
    assert_ok(op_call_new(&call, c, &test_error));
    assert_ok(op_found_new(f, c, &test_error));
    assert_ok(op_call_forward(&call, &k, &v, f->x, &ended, &test_error));
    assert_int_equal(ended.end, KERNEL_OK);
    assert_ok(op_call_backward(&call, &k, &v, f->dx, &ended, &test_error));
    assert_int_equal(ended.end, KERNEL_OK);
    for (int i = 0; i < c->g.nout; i++) f->has_x[c->g.out[i]] = true;
    for (int i = VT_GPT_WTE; i < c->g.nin; i++) f->has_dx[c->g.in[i]] = true;
    op_call_free(&call);
    op_local_free(&local);
}

typedef struct score { size_t tried, found, named, right, missed_gamma; } score;

/* kind NULL: it was not asked for. */
static void count(score *n, const specimen *s, bool found, const char *kind, const char *where)
{
    const bool named = found && kind, right = named && strcmp(kind, s->kind) == 0;
    n->tried++;
    n->found += found;
    n->named += named;
    n->right += right;
    n->missed_gamma += !found && strcmp(s->name, "ln_forget_gamma") == 0;
    if (!found) print_message("# %s: %s is not found\n", where, s->name);
    else if (named && !right) print_message("# %s: %s is called %s, expected %s\n", where, s->name, kind, s->kind);
}

/* ---- as a kernel ------------------------------------------------------------- */

/* At the model's parameters.  A diagnosis takes longer than all else: of the first seed. */
static void judge_kernel(score *n, const op_case *c, const specimen *s, bool name, const char *where)
{
    vt_op_case rows = { .rows = NULL };
    op_found f;
    diagnosis d = { .kind = FAULT_NONE };
    run(&f, c, s);
    assert_ok(op_judge_tensors(&rows, c, &f, &test_error));
    op_judge_end(&rows);
    if (name) {
        assert_ok(diagnose(&d, c, &f, &test_error));
        assert_int_equal(d.kind == FAULT_NONE, rows.failed == 0);
    }
    if (s->fault) count(n, s, rows.failed > 0, name ? fault_kind_name(d.kind) : NULL, where);
    else assert_int_equal(rows.failed, 0);
    free(rows.rows);
    op_found_free(&f);
}

static void kernels_at(score *n, double scale, uint64_t seeds)
{
    const specimen *faults[SEEDED];
    assert_int_equal(seeded(faults), SEEDED);
    for (int m = 0; m < MODELS; m++)
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            char where[60];
            subject s;
            op_case c;
            make(&s, m, scale, seed);
            assert_ok(model_op_case(&c, &s.c, &s.g, PRECISION_F64, &test_error));
            snprintf(where, sizeof where, "kernel, model %d, seed %d", m, (int)seed);
            judge_kernel(n, &c, specimen_find("gpt"), true, where);
            for (size_t i = 0; i < SEEDED; i++) judge_kernel(n, &c, faults[i], seed == 1, where);
            op_case_free(&c);
            subject_free(&s);
        }
    assert_int_equal(n->tried, SEEDED * (size_t)MODELS * seeds);
}

static void show(const char *what, const score *n)
{
    print_message("## %s: found %zu of %zu, named %zu of %zu rightly\n", what, n->found, n->tried, n->right,
                  n->named);
}

static void a_kernel_at_random_parameters(void **state)
{
    (void)state;
    score n = { 0 };
    kernels_at(&n, 0.5, SEEDS);
    show("kernel, random parameters", &n);
    assert_int_equal(n.found, n.tried);
    assert_true(n.named > 0 && 10 * n.right >= 9 * n.named);
}

#if SWEEP(1, 0)                                     /* the same code as above */
static void a_kernel_as_gpt2_starts(void **state)
{
    (void)state;
    score n = { 0 };
    kernels_at(&n, -1, SEEDS);
    show("kernel, GPT-2's initialisation", &n);
    assert_int_equal(n.missed_gamma, MODELS * SEEDS);       /* and nothing else */
    assert_int_equal(n.found, n.tried - n.missed_gamma);
    assert_true(n.named > 0 && 10 * n.right >= 9 * n.named);
}
#endif

/* ---- as a model ---------------------------------------------------------------- */

/* The specimen's gradients take the place of the definitions'. */
static void put(subject *s, const op_case *c, const specimen *planted)
{
    op_found f;
    run(&f, c, planted);
    for (size_t i = 0; i < s->c.ntensors; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[VT_GPT_WTE + (int)i]];
        memcpy(s->g.hand + s->tensors[i].offset, f.dx + t->at, t->count * sizeof *f.dx);
    }
    op_found_free(&f);
}

static void judge_model(score *n, subject *s, const op_case *c, const specimen *planted, const char *where)
{
    const vt_check_options every = { .every = true, .entries = 1, .seed = 42 };
    vt_check_report r;
    put(s, c, planted);
    const vt_status status = gradcheck_judge(&r, &s->c, &s->g, &every, NULL, NULL, &test_error);
    assert_true(status == VT_OK || status == VT_CHECK_FAILED);
    assert_int_equal(status == VT_OK, r.pass);
    if (planted->fault == 0) assert_ok(status);
    else {
        if (status) model_diagnose(&r, &s->c, &s->g);
        if (status) assert_string_equal(r.diagnosed, "definitions");
        count(n, planted, status == VT_CHECK_FAILED, r.diagnosis.kind, where);
    }
    vt_check_free(&r);
}

static void models_at(score *n, double scale)
{
    const specimen *faults[SEEDED];
    assert_int_equal(seeded(faults), SEEDED);
    for (int m = 0; m < MODELS; m++) {
        char where[60];
        subject s;
        op_case c;
        make(&s, m, scale, 7);
        assert_ok(model_op_case(&c, &s.c, &s.g, PRECISION_F64, &test_error));
        snprintf(where, sizeof where, "model %d", m);
        judge_model(n, &s, &c, specimen_find("gpt"), where);
        for (size_t i = 0; i < SEEDED; i++) judge_model(n, &s, &c, faults[i], where);
        op_case_free(&c);
        subject_free(&s);
    }
    assert_int_equal(n->tried, SEEDED * (size_t)MODELS);
}

static void a_model_at_random_parameters(void **state)
{
    (void)state;
    score n = { 0 };
    models_at(&n, 0.5);
    show("model, random parameters", &n);
    assert_int_equal(n.found, n.tried);
    assert_true(n.named > 0 && 10 * n.right >= 9 * n.named);
}

#if SWEEP(1, 0)
static void a_model_as_gpt2_starts(void **state)
{
    (void)state;
    score n = { 0 };
    models_at(&n, -1);
    show("model, GPT-2's initialisation", &n);
    assert_int_equal(n.missed_gamma, MODELS);
    assert_int_equal(n.found, n.tried - n.missed_gamma);
    assert_true(n.named > 0 && 10 * n.right >= 9 * n.named);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_at_random_parameters),
        cmocka_unit_test(a_model_at_random_parameters),
#if SWEEP(1, 0)
        cmocka_unit_test(a_kernel_as_gpt2_starts),
        cmocka_unit_test(a_model_as_gpt2_starts),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
