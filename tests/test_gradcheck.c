/* test_gradcheck.c -- the check of a whole model's gradient: it passes what is
 * right, whatever the model, and finds what is wrong.
 *
 * The check is given spoiled gradients (one entry by 1 %, a zero, a scaled
 * tensor, two tensors exchanged, NaN) or a kernel that spoils one number, and
 * must name the tensor and the entry.
 */
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "check_subject.h"

static const gpt_config small = { .L = 2, .C = 6, .NH = 3, .FF = 7, .T = 5, .V = 11 };

static vt_status judge(const subject *s, const vt_check_options *o, vt_check_report *report)
{
    test_error.text[0] = 0;
    return gradcheck_judge(report, &s->c, &s->g, o, NULL, NULL, &test_error);
}

/* Every row but `name` passes, and `name` does not. */
static void only_fails(const vt_check_report *report, const char *name)
{
    assert_false(report->pass);
    for (size_t i = 0; i < report->nrows; i++)
        if (report->rows[i].pass != (strcmp(report->rows[i].name, name) != 0))
            fail_msg("%s %s; expected only %s to fail", report->rows[i].name,
                     report->rows[i].pass ? "passes" : "fails", name);
}

static const vt_check_options every = { .every = true, .entries = 1, .seed = 42 };

/* proves diff.complex */
static void a_healthy_model_passes(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        gpt_config z = small;
        subject s;
        vt_check_report report;
        z.tied = tied;
        subject_make(&s, &z, 2, 4, 0.5, 1);
        assert_ok(judge(&s, &every, &report));
        assert_true(report.pass);
        const size_t all = gpt_parameter_count(&z);
        assert_int_equal(report.compared, all);
        assert_int_equal(report.of, all);
        assert_int_equal(report.nrows, gpt_tensor_count(&z));
        size_t sum = 0;
        for (size_t i = 0; i < report.nrows; i++) {
            assert_int_equal(report.rows[i].compared, s.tensors[i].count);
            assert_string_equal(report.rows[i].name, s.tensors[i].name);
            assert_true(report.rows[i].budget_used >= 0 && report.rows[i].fast_budget_used >= 0);
            sum += report.rows[i].compared;
        }
        assert_int_equal(sum, all);
        assert_true(report.worst > 0 && report.worst < 1e-12);
        assert_near(report.direction_found, report.direction_expected,
                    1e-12 * fabs(report.direction_expected));
        vt_check_free(&report);

        const vt_check_options some = { .entries = 10, .seed = 42 };
        assert_ok(judge(&s, &some, &report));
        for (size_t i = 0; i < report.nrows; i++)
            assert_int_equal(report.rows[i].compared,
                             s.tensors[i].count < 10 ? s.tensors[i].count : 10);
        assert_int_equal(report.of, all);
        vt_check_free(&report);

        const vt_check_options whole = { .entries = 3, .seed = 42, .full = true };
        assert_ok(judge(&s, &whole, &report));      /* each entry by a run of the model */
        assert_true(report.pass);
        vt_check_free(&report);
        subject_free(&s);
    }
}

/* Whatever threads share the work, the report is the same. */
static void the_report_does_not_depend_on_threads(void **state)
{
    (void)state;
    subject s;
    vt_check_report one, other;
    subject_make(&s, &small, 2, 4, 0.5, 2);
    assert_ok(judge(&s, &every, &one));
    for (int threads = 2; threads <= 7; threads += 5) {
        s.c.threads = threads;
        assert_ok(judge(&s, &every, &other));
        assert_int_equal(other.compared, one.compared);
        for (size_t i = 0; i < one.nrows; i++) {
            assert_memory_equal(&other.rows[i].budget_used, &one.rows[i].budget_used, 8);
            assert_memory_equal(&other.rows[i].expected, &one.rows[i].expected, 8);
            assert_int_equal(other.rows[i].worst_entry, one.rows[i].worst_entry);
        }
        assert_memory_equal(&other.direction_expected, &one.direction_expected, 8);
        vt_check_free(&other);
    }
    vt_check_free(&one);
    subject_free(&s);
}

/* ATT-09: 1 % of one entry, of every tensor in turn, named with its entry. */
static void one_wrong_entry_is_found(void **state)
{
    (void)state;
    subject s;
    vt_check_report report;
    subject_make(&s, &small, 2, 4, 0.5, 3);
    size_t tried = 0;
    for (size_t i = 0; i < s.c.ntensors; i++, tried++) {
        const gpt_tensor *t = &s.tensors[i];
        for (int kind = 0; kind < 3; kind++) {
            if (SWEEP(0, (size_t)kind != i % 3)) continue;
            const size_t at = subject_top(&s, t);
            const double before = s.g.hand[at];
            s.g.hand[at] = kind == 0 ? before * 1.01 : kind == 1 ? 0 : before * (1 + 1e-9);
            assert_int_equal(judge(&s, &every, &report), VT_CHECK_FAILED);
            only_fails(&report, t->name);
            assert_int_equal(report.rows[i].worst_entry, at - t->offset);
            assert_true(report.rows[i].found == s.g.hand[at]);
            assert_near(report.rows[i].expected, before, 1e-12 * fabs(before));
            char place[64];
            snprintf(place, sizeof place, "%s[%zu]: gradient", t->name, at - t->offset);
            assert_contains(test_error.text, place);
            if (kind < 2) assert_true(report.direction_budget_used > 1);
            vt_check_free(&report);
            s.g.hand[at] = before;
        }
    }
    assert_int_equal(tried, gpt_tensor_count(&small));
    subject_free(&s);
}

/* The directions see what no chosen entry is. */
static void the_direction_finds_what_no_entry_shows(void **state)
{
    (void)state;
    subject s;
    vt_check_report report;
    subject_make(&s, &small, 2, 4, 0.5, 4);
    const vt_check_options few = { .entries = 1, .seed = 42 };
    const gpt_tensor *t = subject_tensor(&s, "h.1.fcw", NULL);
    const size_t at = subject_top(&s, t);
    assert_ok(judge(&s, &few, &report));
    vt_check_free(&report);
    s.g.hand[at] *= 1.01;
    s.g.fast[at] = (float)s.g.hand[at];
    assert_int_equal(judge(&s, &few, &report), VT_CHECK_FAILED);
    only_fails(&report, "h.1.fcw");
    assert_true(report.direction_budget_used > 1);
    for (size_t i = 0; i < report.nrows; i++) assert_true(report.rows[i].budget_used <= 1);
    assert_contains(test_error.text, "h.1.fcw: the gradient along a random direction");
    vt_check_free(&report);
    const vt_check_options none = { .directions = true, .entries = 64, .seed = 42 };
    assert_int_equal(judge(&s, &none, &report), VT_CHECK_FAILED);
    only_fails(&report, "h.1.fcw");
    assert_int_equal(report.compared, 0);
    vt_check_free(&report);
    subject_free(&s);
}

/* ATT-09: also where a few entries stand for all, the one named is the one. */
static void a_wrong_tensor_is_found(void **state)
{
    (void)state;
    subject s;
    vt_check_report report;
    size_t index;
    subject_make(&s, &small, 2, 4, 0.5, 5);
    const gpt_tensor *t = subject_tensor(&s, "h.0.qkvw", &index);    /* scaled by 1 + 1e-6 */
    for (size_t i = 0; i < t->count; i++) s.g.hand[t->offset + i] *= 1 + 1e-6;
    assert_int_equal(judge(&s, &every, &report), VT_CHECK_FAILED);
    only_fails(&report, "h.0.qkvw");
    vt_check_free(&report);
    const vt_check_options few = { .entries = 5, .seed = 42 };
    assert_int_equal(judge(&s, &few, &report), VT_CHECK_FAILED);
    only_fails(&report, "h.0.qkvw");
    const vt_check_row *row = &report.rows[index];
    assert_int_equal(row->compared, 5);
    assert_true(row->worst_entry < t->count);
    assert_true(row->found == s.g.hand[t->offset + row->worst_entry]);
    vt_check_free(&report);
    for (size_t i = 0; i < t->count; i++) s.g.hand[t->offset + i] /= 1 + 1e-6;

    const gpt_tensor *a = subject_tensor(&s, "h.0.ln1w", NULL), *b = subject_tensor(&s, "h.1.ln1w", NULL);
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {                 /* exchanged */
        const double swap = s.g.hand[a->offset + i];
        s.g.hand[a->offset + i] = s.g.hand[b->offset + i];
        s.g.hand[b->offset + i] = swap;
    }
    assert_int_equal(judge(&s, &every, &report), VT_CHECK_FAILED);
    size_t failed = 0;
    for (size_t i = 0; i < report.nrows; i++)
        if (!report.rows[i].pass) {
            failed++;
            assert_contains(report.rows[i].name, ".ln1w");
        }
    assert_int_equal(failed, 2);
    assert_int_equal(report.failed, 2);
    /* The backward pass meets layer 1 before layer 0. */
    assert_contains(test_error.text, "h.1.ln1w[");
    assert_contains(test_error.text, "first of 2 failing tensors in the order of the backward pass");
    vt_check_free(&report);
    subject_free(&s);
}

/* NaN and Inf, wherever they stand; also where a later number would hide one. */
static void nan_is_found(void **state)
{
    (void)state;
    const double bad[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
    subject s;
    vt_check_report report;
    subject_make(&s, &small, 2, 4, 0.5, 6);
    size_t k = 0;
    const gpt_tensor *t = subject_tensor(&s, "h.1.qkvb", &k);
    const vt_check_options few = { .entries = 1, .seed = 42 };
    for (size_t j = 0; j < 3; j++)
        for (size_t i = 0; i < t->count; i++) {
            const size_t at = t->offset + i;
            const double hand = s.g.hand[at];
            const float fast = s.g.fast[at];
            s.g.hand[at] = bad[j];
            assert_int_equal(judge(&s, &few, &report), VT_CHECK_FAILED);
            only_fails(&report, "h.1.qkvb");
            vt_check_free(&report);
            s.g.hand[at] = hand;
            s.g.fast[at] = (float)bad[j];
            assert_int_equal(judge(&s, &few, &report), VT_CHECK_FAILED);
            only_fails(&report, "h.1.qkvb");
            assert_true(report.rows[k].budget_used <= 1);
            char place[64];
            snprintf(place, sizeof place, "h.1.qkvb[%zu]: the ", i);
            assert_contains(test_error.text, place);
            assert_true(report.rows[k].fast_entry == i);
            assert_true(report.rows[k].fast_expected == hand);
            assert_true(!isfinite(report.rows[k].fast_found));
            vt_check_free(&report);
            s.g.fast[at] = fast;
        }
    s.g.rounding[k] = (double)NAN;      /* the float definitions overflow: no bound */
    assert_int_equal(judge(&s, &few, &report), VT_CHECK_FAILED);
    only_fails(&report, "h.1.qkvb");
    vt_check_free(&report);
    subject_free(&s);
}

/* A model whose loss does not move proves nothing. */
static void gradients_that_are_all_0_do_not_pass(void **state)
{
    (void)state;
    subject s;
    vt_check_report report;
    subject_make(&s, &small, 2, 4, 0.5, 7);
    gradcheck_free(&s.g);
    for (int i = 0; i < 8; i++) s.targets[i] = VT_IGNORE;
    assert_ok(gradcheck_compute(&s.g, &s.c, 1, &test_error));
    for (size_t i = 0; i < gpt_parameter_count(&small); i++) assert_true(s.g.hand[i] == 0);
    assert_int_equal(judge(&s, &every, &report), VT_CHECK_FAILED);
    assert_false(report.pass);
    assert_contains(test_error.text, "nothing was proven");
    vt_check_free(&report);
    subject_free(&s);
}

/* A place that a person understands, in the report and in the line. */
static void the_place_is_named(void **state)
{
    (void)state;
    subject s;
    vt_check_report report;
    size_t index;
    subject_make(&s, &small, 2, 4, 0.5, 11);
    const gpt_tensor *t = subject_tensor(&s, "h.1.qkvw", &index);
    const size_t entry = 4 * 18 + 6 + 3;        /* row 4; Wk begins at 6, head 1 at 2 */
    s.g.hand[t->offset + entry] *= 2;
    assert_int_equal(judge(&s, &every, &report), VT_CHECK_FAILED);
    assert_int_equal(report.rows[index].worst_entry, entry);
    assert_string_equal(report.rows[index].worst_place,
                        "layer 1, head 1, Wk, row 4 (input channel), column 1");
    assert_contains(test_error.text, "h.1.qkvw[81]: gradient ");
    assert_contains(test_error.text, "ratio 2: ");
    assert_contains(test_error.text, "(layer 1, head 1, Wk, row 4 (input channel), column 1)");
    assert_true(strlen(report.rows[index].fast_place) > 10);
    vt_check_free(&report);
    subject_free(&s);
}

static const vt_check_options with_differences = { .entries = 8, .seed = 42, .differences = 4 };

/* The second verdict is one of its own: complex step taken away, it still finds a
 * gradient that is wrong by more than its bar. */
static void differences_are_compared(void **state)
{
    (void)state;
    subject s;
    vt_check_report report;
    subject_make(&s, &small, 2, 4, 0.5, 12);
    assert_ok(judge(&s, &with_differences, &report));
    size_t compared = 0, resolved = 0;
    for (size_t i = 0; i < report.nrows; i++) {
        const vt_check_row *row = &report.rows[i];
        assert_int_equal(row->differences_compared, 4);
        assert_true(row->differences_budget_used >= 0 && row->differences_budget_used <= 1);
        assert_true(row->differences_bar > 0 && row->differences_bar < 1e-6);
        assert_near(row->differences_value, row->differences_found,
                    1.01 * row->differences_bar + 1e-14);
        assert_true(strlen(row->differences_place) > 5);
        compared += row->differences_compared;
        resolved += row->differences_resolved;
    }
    assert_int_equal(compared, 4 * gpt_tensor_count(&small));
    assert_true(10 * resolved > 9 * compared);
    vt_check_free(&report);
    const vt_check_options none = { .entries = 8, .seed = 42 };
    assert_ok(judge(&s, &none, &report));
    for (size_t i = 0; i < report.nrows; i++)
        assert_int_equal(report.rows[i].differences_compared, 0);
    vt_check_free(&report);
    for (size_t k = 0; k < s.c.ntensors; k += SWEEP(1, 3)) {    /* every tensor in turn by 1e-5 */
        const gpt_tensor *t = &s.tensors[k];
        for (size_t i = 0; i < t->count; i++) s.g.hand[t->offset + i] *= 1 + 1e-5;
        assert_int_equal(judge(&s, &with_differences, &report), VT_CHECK_FAILED);
        only_fails(&report, t->name);
        assert_true(report.rows[k].differences_budget_used > 1);
        vt_check_free(&report);
        for (size_t i = 0; i < t->count; i++) s.g.hand[t->offset + i] /= 1 + 1e-5;
    }
    subject_free(&s);
}

/* _Float128 says who is right: here always the complex step. */
/* proves diff.five */
static void the_arbiter_decides(void **state)
{
    (void)state;
    subject s;
    vt_check_report report;
    size_t k;
    subject_make(&s, &small, 2, 4, 0.5, 13);
    const gpt_tensor *t = subject_tensor(&s, "h.0.attprojw", &k);
    const size_t at = subject_top(&s, t);
    const double right = s.g.hand[at];
    s.g.hand[at] *= 1 + 1e-9;
    assert_int_equal(judge(&s, &every, &report), VT_CHECK_FAILED);
#if VT_FLOAT128
    assert_int_equal(report.rows[k].arbiter, VT_ARBITER_EXPECTED);
    assert_near(report.rows[k].arbiter_value, right, 1e-13 * fabs(right));
    assert_contains(test_error.text, "_Float128 agrees with the complex step");
#else
    assert_int_equal(report.rows[k].arbiter, VT_ARBITER_NONE);
    assert_true(isnan(report.rows[k].arbiter_value));
    (void)right;
#endif
    for (size_t i = 0; i < report.nrows; i++)
        if (i != k) assert_int_equal(report.rows[i].arbiter, VT_ARBITER_NONE);
    vt_check_free(&report);
    subject_free(&s);
}

/* VER-04: the table's names and places must be the model's, and each tensor must
 * have been compared. */
static void a_wrong_table_is_refused(void **state)
{
    (void)state;
    subject s;
    vt_check_report report;
    subject_make(&s, &small, 2, 4, 0.5, 14);
    size_t i, j;
    subject_tensor(&s, "h.0.ln1w", &i);
    subject_tensor(&s, "h.0.ln2w", &j);
    const gpt_tensor keep = s.tensors[i];
    s.tensors[i] = s.tensors[j];                /* exchanged, equal in size */
    s.tensors[j] = keep;
    assert_int_equal(judge(&s, &every, &report), VT_CHECK_FAILED);
    assert_contains(test_error.text, "of the table is h.0.ln2w");
    assert_false(report.pass);
    assert_int_equal(report.compared, 0);
    assert_int_equal(report.nrows, 0);
    vt_check_free(&report);
    s.tensors[j] = s.tensors[i];
    s.tensors[i] = keep;
    assert_ok(judge(&s, &every, &report));
    vt_check_free(&report);
    s.c.ntensors--;
    assert_int_equal(judge(&s, &every, &report), VT_CHECK_FAILED);
    assert_contains(test_error.text, "tensors to check, the model has");
    vt_check_free(&report);
    s.c.ntensors = 0;
    assert_int_equal(judge(&s, &every, &report), VT_CHECK_FAILED);
    assert_false(report.pass);
    vt_check_free(&report);
    s.c.ntensors = gpt_tensor_count(&small);
    subject_free(&s);
}

/* VER-08: weights of the rows that are all the same are refused; those that are
 * drawn never are. */
static void a_uniform_upstream_gradient_is_refused(void **state)
{
    (void)state;
    subject s;
    vt_check_report report;
    subject_make(&s, &small, 2, 4, 0.5, 15);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < i; j++) assert_true(s.g.weight[i] != s.g.weight[j]);
    for (int i = 0; i < 8; i++) s.g.weight[i] = 0.125;
    assert_int_equal(judge(&s, &every, &report), VT_CHECK_FAILED);
    assert_contains(test_error.text, "upstream gradient");
    assert_false(report.pass);
    vt_check_free(&report);
    subject_free(&s);
}

/* VER-07: 0 of 0 is right, everything of nothing is not, NaN never is; a bound
 * has a floor of some ulp where the baseline makes no error at all. */
static void bounds_have_a_floor_and_nan_fails(void **state)
{
    (void)state;
    const double nan = (double)NAN, inf = (double)INFINITY;
    assert_true(gradcheck_share(0, 0) == 0);
    assert_true(gradcheck_share(1, 2) == 0.5);
    assert_true(isinf(gradcheck_share(1e-300, 0)));
    assert_true(isinf(gradcheck_share(nan, 1)) && isinf(gradcheck_share(0, nan)));
    assert_true(isinf(gradcheck_share(inf, 1)) && isinf(gradcheck_share(1, inf)));
    assert_true(isinf(gradcheck_share(inf, inf)) && isinf(gradcheck_share(1, nan)));
    assert_true(gradcheck_bound(0, 1) >= 4 * 0x1p-53);
    subject s;
    vt_check_report report;
    size_t k;
    subject_make(&s, &small, 2, 4, 0.5, 16);
    const gpt_tensor *t = subject_tensor(&s, "h.1.fcprojb", &k);
    s.g.rounding[k] = s.g.shaken[k] = 0;
    const size_t at = subject_top(&s, t);
    s.g.hand[at] = nextafter(nextafter(s.g.hand[at], inf), inf);
    assert_ok(judge(&s, &every, &report));
    vt_check_free(&report);
    s.g.hand[at] *= 1 + 1e-12;
    assert_int_equal(judge(&s, &every, &report), VT_CHECK_FAILED);
    only_fails(&report, t->name);
    vt_check_free(&report);
    subject_free(&s);
}

/* LOSS-02 */
static void ids_outside_the_vocabulary_are_refused(void **state)
{
    (void)state;
    const int bad[] = { -4, 11, -1, 2147483647, -2147483647 - 1 };
    subject s;
    gradcheck_grads g;
    char part[64];
    subject_make(&s, &small, 2, 4, 0.5, 8);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const int token = s.tokens[6], target = s.targets[6];
        s.tokens[6] = bad[k];
        snprintf(part, sizeof part, "tokens: row 1, position 2: id %d: expected 0 to 10", bad[k]);
        assert_int_equal(gradcheck_compute(&g, &s.c, 1, &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, part);
        s.tokens[6] = token;
        s.targets[6] = bad[k];
        snprintf(part, sizeof part, "targets: row 1, position 2: id %d: expected 0 to 10", bad[k]);
        if (bad[k] == VT_IGNORE) {
            assert_ok(gradcheck_compute(&g, &s.c, 1, &test_error));
            gradcheck_free(&g);
        } else {
            assert_int_equal(gradcheck_compute(&g, &s.c, 1, &test_error), VT_BAD_INPUT);
            assert_contains(test_error.text, part);
        }
        s.targets[6] = target;
    }
    subject_free(&s);
}

/* ---- a kernel that spoils one number ----------------------------------- */

static const ops *good;
static size_t spoiled;                  /* how often it did */
static double largest_change;           /* of an entry's share of its neighbours */

/* x[n] += 2 % of the largest of x */
static void spoil(float *x, size_t n, size_t at)
{
    float largest = 0;
    for (size_t i = 0; i < n; i++) if (fabsf(x[i]) > largest) largest = fabsf(x[i]);
    x[at % n] += 0.02f * largest;
    spoiled++;
    largest_change = (double)largest;
}

static void bad_linear_backward(team *t, float *dx, float *dw, float *dbias, const float *dout,
                                const float *x, const float *w, const float *pre, int N, int C,
                                int OC)
{
    good->linear_set_backward(t, dx, dw, dbias, dout, x, w, pre, N, C, OC);
    if (OC == small.FF) spoil(dw, (size_t)C * (size_t)OC, 17);
}

static void bad_gelu_backward(team *t, float *dx, float *dw, float *dbias, const float *dout,
                              const float *x, const float *w, const float *pre, int N, int C,
                              int OC)
{
    good->linear_set_backward(t, dx, dw, dbias, dout, x, w, pre, N, C, OC);
    if (pre) spoil(dx, (size_t)N * (size_t)C, 30);
}

static void bad_layernorm_forward(team *t, float *out, float *mean, float *rstd, const float *x,
                                  const float *w, const float *b, int N, int C)
{
    good->layernorm_forward(t, out, mean, rstd, x, w, b, N, C);
    spoil(out, (size_t)N * (size_t)C, 5);
}

static void bad_attention_backward(team *t, float *dq, float *dk, float *dv, const float *dout,
                                   const float *out, const float *lse, const float *q, size_t ldq,
                                   const float *k, const float *v, size_t ldkv, int B, int T,
                                   int P, int NH, int HS)
{
    good->attention_backward(t, dq, dk, dv, dout, out, lse, q, ldq, k, v, ldkv, B, T, P, NH, HS);
    spoil(dk, (size_t)(NH * HS), 1);                        /* row 0 of dk */
}

static void a_wrong_fast_kernel_is_found(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        subject s;
        vt_check_report report;
        subject_make(&s, &small, 2, 4, 0.5, 9);
        good = s.c.kernels;
        ops bad = *good;
        if (kind == 0) bad.linear_set_backward = bad_linear_backward;
        if (kind == 1) bad.linear_set_backward = bad_gelu_backward;
        if (kind == 2) bad.layernorm_forward = bad_layernorm_forward;
        if (kind == 3) bad.attention_backward = bad_attention_backward;
        gradcheck_free(&s.g);
        s.c.kernels = &bad;
        spoiled = 0;
        const vt_check_options few = { .entries = 2, .seed = 42 };
        assert_int_equal(gradcheck_run(&report, &s.c, &few, NULL, NULL, &test_error),
                         VT_CHECK_FAILED);
        assert_true(spoiled >= 2 && largest_change > 0);    /* once a layer at least */
        assert_contains(test_error.text, "kernels' gradient is ");
        size_t first = report.nrows;                        /* in the backward's order */
        while (report.rows[first - 1].pass) first--;
        assert_memory_equal(test_error.text, report.rows[first - 1].name,
                            strlen(report.rows[first - 1].name));
        size_t failed = 0;
        for (size_t i = 0; i < report.nrows; i++) {
            assert_true(report.rows[i].budget_used <= 1);   /* the definitions are right */
            failed += !report.rows[i].pass;
            if (kind == 0 && !report.rows[i].pass) assert_contains(report.rows[i].name, ".fcw");
        }
        assert_true(failed >= 1);
        if (kind == 0) assert_int_equal(failed, 2);
        vt_check_free(&report);
        subject_free(&s);
    }
}

/* ---- no false alarm ----------------------------------------------------- */

/* Models of all sizes from 1 up, at initialisation and far from it.  The bound
 * is neither crossed nor out of reach. */
static void no_right_model_fails(void **state)
{
    (void)state;
    enum { MODELS = SWEEP(200, 20) };
    double shares[MODELS], highest = 0;
    for (uint64_t k = 0; k < MODELS; k++) {
        rng r;
        subject s;
        vt_check_report report;
        rng_seed(&r, k);
        gpt_config z = { .NH = (int)rng_integers(&r, 1, 4), .L = (int)rng_integers(&r, 1, 4),
                         .FF = (int)rng_integers(&r, 1, 20), .T = (int)rng_integers(&r, 1, 9),
                         .V = (int)rng_integers(&r, 2, 24), .tied = rng_integers(&r, 0, 2) };
        z.C = z.NH * (int)rng_integers(&r, 1, 6);
        const int B = (int)rng_integers(&r, 1, 4), T = (int)rng_integers(&r, 1, z.T + 1);
        const double scale = k % 4 == 0 ? -1 : k % 4 == 1 ? 0
                           : 0.02 * pow(60, rng_uniform(&r, 0, 1));
        subject_make(&s, &z, B, T, scale, k);
        const vt_check_options o = { .entries = 10, .seed = k, .differences = 2 };
        if (judge(&s, &o, &report) != VT_OK)
            fail_msg("model %d (L %d C %d NH %d FF %d T %d V %d tied %d, B %d T %d, scale %g): %s",
                     (int)k, z.L, z.C, z.NH, z.FF, z.T, z.V, z.tied, B, T, scale,
                     test_error.text);
        shares[k] = 0;
        for (size_t i = 0; i < report.nrows; i++)
            if (report.rows[i].budget_used > shares[k]) shares[k] = report.rows[i].budget_used;
        if (shares[k] > highest) highest = shares[k];
        vt_check_free(&report);
        subject_free(&s);
    }
    size_t above = 0;
    for (size_t k = 0; k < MODELS; k++) above += shares[k] > 0.003;
    print_message("# highest share of the budget %.3g; above 0.003 in %zu of %d models\n",
                  highest, above, MODELS);
    assert_true(above > MODELS / 2);        /* a bound that none comes near proves little */
}

static bool stop_at_once(void *context, size_t done, size_t of)
{
    size_t *calls = context;
    assert_true(done >= 1 && done <= of);
    return ++*calls == 3;
}

static void progress_can_stop_it(void **state)
{
    (void)state;
    subject s;
    vt_check_report report;
    size_t calls = 0;
    subject_make(&s, &small, 2, 4, 0.5, 10);
    assert_int_equal(gradcheck_judge(&report, &s.c, &s.g, &every, stop_at_once, &calls,
                                     &test_error), VT_INTERRUPTED);
    assert_int_equal(calls, 3);
    assert_contains(test_error.text, "stopped after 3 of ");
    assert_false(report.pass);
    vt_check_free(&report);
    subject_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_healthy_model_passes),
        cmocka_unit_test(the_report_does_not_depend_on_threads),
        cmocka_unit_test(one_wrong_entry_is_found),
        cmocka_unit_test(the_direction_finds_what_no_entry_shows),
        cmocka_unit_test(a_wrong_tensor_is_found),
        cmocka_unit_test(nan_is_found),
        cmocka_unit_test(gradients_that_are_all_0_do_not_pass),
        cmocka_unit_test(the_place_is_named),
        cmocka_unit_test(differences_are_compared),
        cmocka_unit_test(the_arbiter_decides),
        cmocka_unit_test(a_wrong_table_is_refused),
        cmocka_unit_test(a_uniform_upstream_gradient_is_refused),
        cmocka_unit_test(bounds_have_a_floor_and_nan_fails),
        cmocka_unit_test(ids_outside_the_vocabulary_are_refused),
        cmocka_unit_test(a_wrong_fast_kernel_is_found),
        cmocka_unit_test(no_right_model_fails),
        cmocka_unit_test(progress_can_stop_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
