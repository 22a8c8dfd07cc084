/* test_model_diagnose.c -- what a model's check says of a gradient that fails.
 *
 * Faults are put into the gradients by a backward pass of this file: the graph's nodes one
 * by one, with one gradient between two of them changed; or into a fast kernel.  The 25
 * seeded ones are in test_seeded.c.
 */
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check_subject.h"
#include "verify/model/model_diagnose.h"
#include "vitrine.h"

static const gpt_config small = { .L = 2, .C = 6, .NH = 3, .FF = 7, .T = 5, .V = 11 };
static const vt_check_options every = { .every = true, .entries = 1, .seed = 42 };

/* Changes the gradients when a node's backward pass is to run, or has run. */
typedef void change(const op_case *c, const graph_node *n, double *dx, bool before);

static void each(double *x, size_t n, double factor)
{
    for (size_t i = 0; i < n; i++) x[i] *= factor;
}

static bool is(const graph_node *n, const char *name) { return strcmp(n->name, name) == 0; }

static void nothing(const op_case *c, const graph_node *n, double *dx, bool before)
{
    (void)c, (void)n, (void)dx, (void)before;
}

/* 1/sqrt(HS) missing on layer 1's dq */
static void dq_unscaled(const op_case *c, const graph_node *n, double *dx, bool before)
{
    if (before || !is(n, "h.1.attn")) return;
    const graph_tensor *q = &c->g.tensor[n->in[0]];
    each(dx + q->at, q->count, sqrt(n->HS));
}

/* The head's part of a tied embedding missing */
static void no_head_path(const op_case *c, const graph_node *n, double *dx, bool before)
{
    const graph_tensor *w = &c->g.tensor[n->out];
    if (before && is(n, "head")) each(dx + w->at, w->count, 0);
}

/* Layer 0: attention's output projection, its weight's gradient transposed */
static void projection_transposed(const op_case *c, const graph_node *n, double *dx, bool before)
{
    if (before || !is(n, "h.0.attn.c_proj")) return;
    double *w = dx + c->g.tensor[n->in[1]].at;
    for (int i = 0; i < n->C; i++)
        for (int j = 0; j < i; j++) {
            const double keep = w[i * n->C + j];
            w[i * n->C + j] = w[j * n->C + i];
            w[j * n->C + i] = keep;
        }
}

/* Each gradient through GELU of the wrong sign */
static void gelu_sign(const op_case *c, const graph_node *n, double *dx, bool before)
{
    const graph_tensor *y = &c->g.tensor[n->out];
    if (before && n->kind == GRAPH_GELU) each(dx + y->at, y->count, -1);
}

/* Heads of dv in reverse order, in layer 0 */
static void dv_heads(const op_case *c, const graph_node *n, double *dx, bool before)
{
    if (before || !is(n, "h.0.attn")) return;
    double *v = dx + c->g.tensor[n->in[2]].at;
    for (int row = 0; row < n->B * n->S; row++, v += n->NH * n->HS)
        for (int h = 0; 2 * h < n->NH - 1; h++)
            for (int i = 0; i < n->HS; i++) {
                double *a = &v[h * n->HS + i], *b = &v[(n->NH - 1 - h) * n->HS + i];
                const double keep = *a;
                *a = *b;
                *b = keep;
            }
}

/* The subject's hand-written gradient, with the change. */
static void put(subject *s, change *how)
{
    op_case c;
    assert_ok(model_op_case(&c, &s->c, &s->g, PRECISION_F64, &test_error));
    double *dx = calloc(c.g.reals, sizeof *dx);
    assert_non_null(dx);
    for (size_t i = 0; i < c.g.reals; i++) dx[i] = c.dout[i];
    for (int i = c.g.nnodes; i-- > 0;) {
        how(&c, &c.g.node[i], dx, true);
        graph_node_backward_f64(&c.g, &c.g.node[i], dx, c.x, c.ints);
        how(&c, &c.g.node[i], dx, false);
    }
    for (size_t i = 0; i < s->c.ntensors; i++) {
        const graph_tensor *t = &c.g.tensor[c.g.in[VT_GPT_WTE + (int)i]];
        memcpy(s->g.hand + s->tensors[i].offset, dx + t->at, t->count * sizeof *dx);
    }
    free(dx);
    op_case_free(&c);
}

static void planted_faults_are_named(void **state)
{
    (void)state;
    static const struct { change *how; bool tied; const char *kind, *place; } rows[] = {
        { nothing, false, "", "" },
        { nothing, true, "", "" },
        { dq_unscaled, false, "scale_missing", "h.1.attn" },
        { dq_unscaled, true, "scale_missing", "h.1.attn" },
        { no_head_path, true, "path_missing", "head" },
        { projection_transposed, false, "transposed", "h.0.attn.c_proj" },
        { projection_transposed, true, "transposed", "h.0.attn.c_proj" },
        { gelu_sign, false, "sign", "" },
        { dv_heads, false, "heads_swapped", "h.0.attn" },
        { dv_heads, true, "heads_swapped", "h.0.attn" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gpt_config z = small;
        subject s;
        vt_check_report r;
        z.tied = rows[i].tied;
        subject_make(&s, &z, 2, 4, 0.5, 20 + i);
        put(&s, rows[i].how);
        const vt_status status = gradcheck_judge(&r, &s.c, &s.g, &every, NULL, NULL, &test_error);
        assert_int_equal(status, rows[i].kind[0] ? VT_CHECK_FAILED : VT_OK);
        model_diagnose(&r, &s.c, &s.g);
        assert_string_equal(r.diagnosis.kind, rows[i].kind);
        assert_contains(r.diagnosis.sentence, rows[i].place);
        if (rows[i].kind[0]) {
            assert_string_equal(r.diagnosed, "definitions");
            assert_true(strlen(r.diagnosis.sentence) > 20 && strlen(r.diagnosis.hint) > 10);
            assert_contains(r.diagnosis.location, " entries of ");
        } else {
            assert_null(r.diagnosed);
            assert_string_equal(r.diagnosis.sentence, "");
        }
        vt_check_free(&r);
        subject_free(&s);
    }
}

/* ---- fast kernels ------------------------------------------------------------- */

static const ops *good;

/* GELU's part of the product that passes through it. */
static void bad_gelu_backward(team *t, float *dx, float *dw, float *dbias, const float *dout,
                              const float *x, const float *w, const float *pre, int N, int C,
                              int OC)
{
    const size_t n = (size_t)N * (size_t)C;
    good->linear_set_backward(t, dx, dw, dbias, dout, x, w, pre, N, C, OC);
    for (size_t i = 0; pre && i < n; i++) dx[i] = -dx[i];
}

/* By the whole check; and a right model has none. */
static void a_wrong_fast_kernel_is_named(void **state)
{
    (void)state;
    const vt_check_options few = { .entries = 2, .seed = 42 };
    subject s;
    vt_check_report r;
    subject_make(&s, &small, 2, 4, 0.5, 9);
    assert_ok(gradcheck_run(&r, &s.c, &few, NULL, NULL, &test_error));
    assert_null(r.diagnosed);
    assert_string_equal(r.diagnosis.kind, "");
    assert_string_equal(r.diagnosis.sentence, "");
    vt_check_free(&r);
    good = s.c.kernels;
    ops bad = *good;
    bad.linear_set_backward = bad_gelu_backward;
    s.c.kernels = &bad;
    assert_int_equal(gradcheck_run(&r, &s.c, &few, NULL, NULL, &test_error), VT_CHECK_FAILED);
    assert_string_equal(r.diagnosed, bad.name);
    assert_string_equal(r.diagnosis.kind, "sign");
    assert_contains(r.diagnosis.sentence, "mlp.gelu");
    vt_check_free(&r);
    subject_free(&s);
}

/* ---- no diagnosis -------------------------------------------------------------- */

/* Where the graph of definitions agrees with what is said to fail, complex step is asked
 * what is right.  Here that agrees, too: it found every entry of every tensor as it is.  The
 * third model has too many entries: a small one is asked. */
static void complex_step_says_what_is_right(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        gpt_config z = small;
        subject s;
        vt_check_row row = { .budget_used = 2 };
        vt_check_report r = { .rows = &row, .nrows = 1, .failed = 1 };
        z.tied = k == 1;
        if (k == 2) z.V = 2000;
        subject_make(&s, &z, 2, 4, 0.5, 40);
        model_diagnose(&r, &s.c, &s.g);
        assert_string_equal(r.diagnosed, "definitions");
        assert_string_equal(r.diagnosis.kind, "");
        assert_contains(r.diagnosis.sentence, "every entry agrees");
        subject_free(&s);
    }
}

static void what_cannot_be_diagnosed_says_why(void **state)
{
    (void)state;
    vt_check_row row = { .budget_used = 2 };
    vt_check_report r = { .rows = &row, .nrows = 1, .failed = 1 };
    subject s;
    subject_make(&s, &small, 2, 4, 0.5, 41);
    gpt_config large = small;           /* its size alone is looked at */
    large.V = 200000;
    s.c.z = &large;
    model_diagnose(&r, &s.c, &s.g);
    assert_string_equal(r.diagnosis.kind, "");
    assert_contains(r.diagnosis.sentence, "too large to diagnose");
    s.c.z = &s.z;
    size_t k;
    s.params[subject_tensor(&s, "h.1.fcw", &k)->offset] = 3e38f;
    s.g.hand[0] += 1;
    s.params[subject_tensor(&s, "lnfw", &k)->offset + 1] = 3e38f;
    row.budget_used = 0;
    row.fast_budget_used = 2;           /* of the fast kernels: beyond what float32 holds */
    r.isa = "any";
    model_diagnose(&r, &s.c, &s.g);
    assert_string_equal(r.diagnosed, "any");
    assert_string_equal(r.diagnosis.kind, "out_of_domain");
    assert_contains(r.diagnosis.sentence, "outside of what float32 holds");
    subject_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_faults_are_named),
        cmocka_unit_test(a_wrong_fast_kernel_is_named),
        cmocka_unit_test(complex_step_says_what_is_right),
        cmocka_unit_test(what_cannot_be_diagnosed_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
