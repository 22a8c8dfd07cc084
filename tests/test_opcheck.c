/* test_opcheck.c -- the check of a kernel: what each row is there for, planted one by one.
 *
 * A kernel here is a correct specimen with something done to it before or after; what has
 * to be found follows from what was done.
 */
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verify/op/kernel_check.h"
#include "verify/op/op_judge.h"
#include "verify/selftest/specimens.h"

static int correct(const vt_kernel_call *c)
{
    return specimen_find("attention_masked")->run(c, 0);
}

/* Sizes at which every index means something. */
static const graph_sizes CAUSAL = { .op = VT_OP_ATTENTION, .B = 2, .T = 5, .S = 7, .NH = 3,
                                    .HS = 4, .causal = true, .temperature = 1 };
static const graph_sizes MASKED = { .op = VT_OP_ATTENTION, .B = 2, .T = 5, .S = 7, .NH = 3,
                                    .HS = 4, .masked = true, .temperature = 1 };

static vt_op_case check(int (*run)(const vt_kernel_call *, int), const graph_sizes *z, precision p)
{
    op_local local = { .run = run };
    const op_kernel k = op_kernel_local(&local);
    vt_op_case c;
    assert_ok(kernel_check_one(&c, &k, z, p, 1, 7, false, &test_error));
    op_local_free(&local);
    return c;
}

static const vt_op_row *row(const vt_op_case *c, const char *name)
{
    for (size_t i = 0; i < c->nrows; i++)
        if (strcmp(c->rows[i].name, name) == 0) return &c->rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

/* Exactly these rows fail, a list with blanks around each ("," between). */
static void fails(const vt_op_case *c, const char *names)
{
    for (size_t i = 0; i < c->nrows; i++) {
        char name[60];
        snprintf(name, sizeof name, ",%s,", c->rows[i].name);
        const bool wanted = strstr(names, name) != NULL;
        if ((c->rows[i].result == VT_ROW_FAIL) != wanted)
            fail_msg("row %s: result %d, expected to fail: %d (%s)", c->rows[i].name,
                     (int)c->rows[i].result, wanted, c->rows[i].note);
    }
    assert_int_equal(c->pass, false);
}

/* ---- correct kernels ---------------------------------------------------------- */

static int plain(const vt_kernel_call *c, int fault) { (void)fault; return correct(c); }

static void a_correct_kernel_passes_and_every_element_is_compared(void **state)
{
    (void)state;
    const precision precisions[] = { PRECISION_F64, PRECISION_F32 };
    for (size_t i = 0; i < 2; i++) {
        vt_op_case c = check(plain, &CAUSAL, precisions[i]);
        assert_true(c.pass);
        /* o and dq: B T NH HS; dk and dv: B S NH HS */
        assert_int_equal(c.compared, 2 * (2 * 5 * 3 * 4) + 2 * (2 * 7 * 3 * 4));
        assert_int_equal(c.compared, c.of);
        assert_int_equal(row(&c, "definitions")->compared, 120 + 2 * 168);     /* q, k, v */
        assert_true(c.worst > 1e-6 && c.worst <= 1);
        assert_string_equal(c.diagnosis.kind, "");
        assert_int_equal(row(&c, "two runs")->result, VT_ROW_PASS);
        assert_true(row(&c, "causality")->compared > 0 && row(&c, "the future")->compared > 0);
        free(c.rows);
    }
}

/* Under the sanitizers every second, in one type by turns: the command's self-test runs each. */
static void every_correct_specimen_passes_the_whole_list(void **state)
{
    (void)state;
    size_t n, kernels = 0;
    const specimen *s = specimen_table(&n);
    for (size_t i = 0; i < n; i++) {
        if (s[i].fault) continue;
        kernels++;
        if (SWEEP(0, kernels % 2)) continue;
        op_local local = { .run = s[i].run };
        const op_kernel k = op_kernel_local(&local);
        const kernel_check_options o = { .op = graph_op_of(s[i].op), .f32 = SWEEP(true, kernels % 4 == 2),
                                         .f64 = SWEEP(true, kernels % 4 == 0),
                                         .seed = 42, .name = s[i].name, .quick = true };
        vt_op_report r;
        assert_ok(kernel_check(&r, &k, &o, NULL, NULL, &test_error));
        assert_int_equal(r.ncases, r.planned);
        assert_int_equal(r.compared, r.of);
        assert_true(r.pass && r.ncases > SWEEP(40, 20));
        vt_op_report_free(&r);
        op_local_free(&local);
    }
    assert_true(kernels >= 13);
}

/* ---- elements ------------------------------------------------------------------- */

static void multiply(void *x, int dtype, size_t i, double by)
{
    if (dtype == VT_KERNEL_F64) ((double *)x)[i] *= by;
    else ((float *)x)[i] = (float)((double)((float *)x)[i] * by);
}

/* Element (1, 3, 2, 1) of k's gradient, without what was there before. */
static const size_t ELEMENT = ((1 * 7 + 3) * 3 + 2) * 4 + 1;

static int one_percent(const vt_kernel_call *c, int fault)
{
    const bool backward = c->pass == VT_KERNEL_BACKWARD;
    void *dk = backward ? c->din[VT_ATTENTION_K] : NULL;
    const double before = !backward ? 0 : c->dtype == VT_KERNEL_F64
                              ? ((double *)dk)[ELEMENT] : (double)((float *)dk)[ELEMENT];
    const int code = correct(c);
    (void)fault;
    if (!backward) return code;
    if (c->dtype == VT_KERNEL_F64) {
        double *x = dk;
        x[ELEMENT] = before + 1.01 * (x[ELEMENT] - before);
    } else {
        float *x = dk;
        x[ELEMENT] = (float)(before + 1.01 * ((double)x[ELEMENT] - before));
    }
    return code;
}

/* ATT-09 */
static void one_element_that_is_one_percent_off_is_named(void **state)
{
    (void)state;
    const precision precisions[] = { PRECISION_F64, PRECISION_F32 };
    for (size_t i = 0; i < 2; i++) {
        vt_op_case c = check(one_percent, &CAUSAL, precisions[i]);
        const vt_op_row *r = row(&c, "dk");
        fails(&c, i == 0 ? ",dk,own forward,other upstream,adjoint," : ",dk,other upstream,");
        assert_int_equal(r->failed, 1);
        assert_string_equal(r->index, "dk[1, 3, 2, 1]");
        assert_string_equal(r->where, "batch 1, key 3, head 2, channel 1");
        assert_string_equal(c.diagnosis.kind, "one_entry");
        assert_ptr_equal(op_judge_first(&c), r);
        assert_true(r->budget_used > 10);
        free(c.rows);
    }
}

static int nan_element(const vt_kernel_call *c, int fault)
{
    const int code = correct(c);
    (void)fault;
    if (c->pass == VT_KERNEL_BACKWARD) multiply(c->din[VT_ATTENTION_V], c->dtype, 5, (double)NAN);
    return code;
}

static int inf_element(const vt_kernel_call *c, int fault)
{
    const int code = correct(c);
    (void)fault;
    if (c->pass == VT_KERNEL_FORWARD) multiply(c->out[0], c->dtype, 5, (double)INFINITY);
    return code;
}

/* VER-07: a NaN compares with nothing, so it is written as what fails. */
static void nan_and_infinity_are_beyond_every_bound(void **state)
{
    (void)state;
    vt_op_case c = check(nan_element, &CAUSAL, PRECISION_F64);
    assert_int_equal(row(&c, "dv")->result, VT_ROW_FAIL);
    assert_int_equal(row(&c, "dv")->failed, 1);
    assert_true(isinf(row(&c, "dv")->budget_used) && isinf(c.worst) && !c.pass);
    free(c.rows);
    c = check(inf_element, &CAUSAL, PRECISION_F32);
    assert_int_equal(row(&c, "o")->result, VT_ROW_FAIL);
    assert_string_equal(row(&c, "o")->index, "o[0, 0, 1, 1]");
    free(c.rows);
}

static int nothing_written(const vt_kernel_call *c, int fault)
{
    (void)c;
    (void)fault;
    return 0;
}

static void outputs_that_are_not_written_fail(void **state)
{
    (void)state;
    vt_op_case c = check(nothing_written, &CAUSAL, PRECISION_F32);
    assert_int_equal(row(&c, "o")->failed, 120);
    assert_int_equal(row(&c, "dq")->result, VT_ROW_FAIL);
    assert_false(c.pass);
    free(c.rows);
}

/* ATT-01 */
static void a_query_that_sees_no_key_must_not_poison(void **state)
{
    (void)state;
    static const char *const names[] = { "masked_dead_row", "online_dead_row" };
    for (size_t i = 0; i < 2; i++) {
        const specimen *s = specimen_find(names[i]);
        op_local bad = { .run = s->run, .fault = s->fault }, good = { .run = s->run };
        const op_kernel kb = op_kernel_local(&bad), kg = op_kernel_local(&good);
        vt_op_case c;
        assert_ok(kernel_check_one(&c, &kb, &MASKED, PRECISION_F64, 1, 7, true, &test_error));
        assert_int_equal(row(&c, "o")->result, VT_ROW_FAIL);
        assert_int_equal(row(&c, "exact zeros")->result, VT_ROW_FAIL);
        assert_string_equal(c.diagnosis.kind, "masked_row");
        free(c.rows);
        assert_ok(kernel_check_one(&c, &kg, &MASKED, PRECISION_F64, 1, 7, true, &test_error));
        assert_true(c.pass);
        /* the blind query: its output and dq, in each batch row */
        assert_true(row(&c, "exact zeros")->compared >= 2 * 2 * 3 * 4);
        free(c.rows);
        op_local_free(&bad);
        op_local_free(&good);
    }
}

/* ---- exact checks ------------------------------------------------------------------ */

static int calls;

static int changes(const vt_kernel_call *c, int fault)
{
    const int code = correct(c);
    double *dq = c->pass == VT_KERNEL_BACKWARD ? c->din[VT_ATTENTION_Q] : NULL;
    (void)fault;
    if (dq && ++calls > 1) dq[0] = nextafter(dq[0], 1e9);
    return code;
}

static void another_bit_in_the_second_run_fails(void **state)
{
    (void)state;
    calls = 0;
    vt_op_case c = check(changes, &CAUSAL, PRECISION_F64);
    assert_int_equal(row(&c, "two runs")->result, VT_ROW_FAIL);
    assert_int_equal(row(&c, "dq")->result, VT_ROW_PASS);
    assert_contains(row(&c, "two runs")->note, "gradients");
    assert_string_equal(c.diagnosis.kind, "nondeterministic");
    free(c.rows);
}

/* One ulp of the first query's output, by the sign of the last key. */
static int peeks(const vt_kernel_call *c, int fault)
{
    const int code = correct(c);
    const double *k = c->in[VT_ATTENTION_K];
    (void)fault;
    if (c->pass == VT_KERNEL_FORWARD) {
        double *o = c->out[0];
        if (k[(c->S - 1) * c->NH * c->HS] > 0) o[0] = nextafter(o[0], 1e9);
    }
    return code;
}

static void a_bit_that_depends_on_an_unseen_key_fails(void **state)
{
    (void)state;
    vt_op_case c = check(peeks, &CAUSAL, PRECISION_F64);
    fails(&c, ",causality,");
    assert_string_equal(row(&c, "causality")->index, "o[0, 0, 0, 0]");
    assert_string_equal(c.diagnosis.kind, "mask_leak");
    free(c.rows);
}

/* One ulp of the last key's gradient, always. */
static int future(const vt_kernel_call *c, int fault)
{
    const int code = correct(c);
    (void)fault;
    if (c->pass == VT_KERNEL_BACKWARD) {
        double *dk = c->din[VT_ATTENTION_K];
        const size_t i = (c->S - 1) * c->NH * c->HS;
        dk[i] = nextafter(dk[i], 1e9);
    }
    return code;
}

static void a_gradient_to_a_key_that_no_query_saw_fails(void **state)
{
    (void)state;
    vt_op_case c = check(future, &CAUSAL, PRECISION_F64);
    fails(&c, ",the future,");
    assert_string_equal(row(&c, "the future")->index, "dk[0, 6, 0, 0]");
    free(c.rows);
}

static int overwrites(const vt_kernel_call *c, int fault)
{
    (void)fault;
    if (c->pass == VT_KERNEL_BACKWARD)
        memset(c->din[VT_ATTENTION_V], 0, c->B * c->S * c->NH * c->HS * sizeof(double));
    return correct(c);
}

static void a_gradient_that_is_assigned_is_told_from_a_wrong_one(void **state)
{
    (void)state;
    vt_op_case c = check(overwrites, &CAUSAL, PRECISION_F64);
    assert_int_equal(row(&c, "backward adds")->result, VT_ROW_FAIL);
    assert_contains(row(&c, "backward adds")->note, "dv");
    assert_int_equal(row(&c, "dv")->result, VT_ROW_FAIL);
    assert_int_equal(row(&c, "dk")->result, VT_ROW_PASS);
    assert_string_equal(c.diagnosis.kind, "overwritten");
    free(c.rows);
}

static int writes_input(const vt_kernel_call *c, int fault)
{
    const int code = correct(c);
    (void)fault;
    if (c->pass == VT_KERNEL_BACKWARD) ((double *)(uintptr_t)c->in[VT_ATTENTION_K])[3] += 1;
    return code;
}

static void an_input_that_is_written_is_named(void **state)
{
    (void)state;
    vt_op_case c = check(writes_input, &CAUSAL, PRECISION_F64);
    assert_false(c.pass);
    assert_string_equal(c.finding, "backward pass: wrote to its input k, element 3");
    assert_string_equal(c.diagnosis.kind, "input_written");
    assert_int_equal(c.compared, 0);
    free(c.rows);
}

/* ---- against itself ------------------------------------------------------------------ */

/* Another function, whose backward pass is its own: twice the attention. */
static int twice(const vt_kernel_call *c, int both)
{
    const size_t n = c->B * c->T * c->NH * c->HS;
    const int code = correct(c);
    if (c->pass == VT_KERNEL_FORWARD)
        for (size_t i = 0; i < n; i++) ((double *)c->out[0])[i] *= 2;
    else if (both) return correct(c);           /* adds the same once more */
    return code;
}

static int twice_forward(const vt_kernel_call *c, int fault) { (void)fault; return twice(c, 0); }
static int twice_both(const vt_kernel_call *c, int fault) { (void)fault; return twice(c, 1); }

static void a_backward_pass_of_another_forward_pass_is_told(void **state)
{
    (void)state;
    vt_op_case c = check(twice_forward, &CAUSAL, PRECISION_F64);
    fails(&c, ",o,own forward,adjoint,");
    free(c.rows);
    c = check(twice_both, &CAUSAL, PRECISION_F64);
    fails(&c, ",o,dq,dk,dv,other upstream,");
    assert_int_equal(row(&c, "own forward")->result, VT_ROW_PASS);
    assert_int_equal(row(&c, "adjoint")->result, VT_ROW_PASS);
    free(c.rows);
}

/* The first upstream gradient that it meets is right, any other is taken 1.5 times. */
static double first_dy;

static int clips(const vt_kernel_call *c, int fault)
{
    const size_t n = c->N;
    double before[9];
    (void)fault;
    if (c->pass == VT_KERNEL_FORWARD) return specimen_find("gelu_tanh")->run(c, 0);
    double dy = c->dtype == VT_KERNEL_F64 ? *(const double *)c->dout[0]
                                          : (double)*(const float *)c->dout[0];
    if (first_dy == 0) first_dy = dy;
    for (size_t i = 0; i < n; i++)
        before[i] = c->dtype == VT_KERNEL_F64 ? ((double *)c->din[0])[i]
                                              : (double)((float *)c->din[0])[i];
    const int code = specimen_find("gelu_tanh")->run(c, 0);
    for (size_t i = 0; i < n && dy != first_dy; i++)
        if (c->dtype == VT_KERNEL_F64)
            ((double *)c->din[0])[i] += 0.5 * (((double *)c->din[0])[i] - before[i]);
        else
            ((float *)c->din[0])[i] += (float)(0.5 * ((double)((float *)c->din[0])[i] - before[i]));
    return code;
}

static void a_backward_pass_that_is_right_for_one_upstream_gradient_fails(void **state)
{
    (void)state;
    const graph_sizes z = { .op = VT_OP_GELU, .N = 9, .temperature = 1 };
    for (int p = PRECISION_F64; p <= PRECISION_F32; p++) {
        first_dy = 0;
        vt_op_case c = check(clips, &z, (precision)p);
        fails(&c, p == PRECISION_F64 ? ",other upstream,adjoint," : ",other upstream,");
        assert_int_equal(row(&c, "other upstream")->compared, 9);
        assert_true(fabs(row(&c, "other upstream")->bound) > 0);
        free(c.rows);
    }
}

/* Right at the case's inputs, 1 % more anywhere else: nothing but differences sees it. */
static double first_x;

static int elsewhere(const vt_kernel_call *c, int fault)
{
    (void)fault;
    const int code = specimen_find("gelu_tanh")->run(c, 0);
    const double x = *(const double *)c->in[0];
    if (first_x == 0) first_x = x;
    for (size_t i = 0; c->pass == VT_KERNEL_FORWARD && x != first_x && i < c->N; i++)
        ((double *)c->out[0])[i] += 0.01 * (((const double *)c->in[0])[0] - first_x);
    return code;
}

static void a_forward_pass_with_another_derivative_fails_by_itself(void **state)
{
    (void)state;
    const graph_sizes z = { .op = VT_OP_GELU, .N = 9, .temperature = 1 };
    first_x = 0;
    vt_op_case c = check(elsewhere, &z, PRECISION_F64);
    fails(&c, ",own forward,adjoint,");
    free(c.rows);
}

static void float32_has_no_digits_for_differences(void **state)
{
    (void)state;
    vt_op_case c = check(plain, &CAUSAL, PRECISION_F32);
    assert_int_equal(row(&c, "own forward")->result, VT_ROW_UNDECIDED);
    assert_int_equal(row(&c, "adjoint")->compared, 0);
    assert_contains(row(&c, "adjoint")->note, "no resolution");
    assert_true(c.pass);
    free(c.rows);
}

/* ---- what a kernel does not have --------------------------------------------------------- */

static int forward_only(const vt_kernel_call *c, int fault)
{
    (void)fault;
    return c->pass == VT_KERNEL_FORWARD ? correct(c) : VT_KERNEL_UNSUPPORTED;
}

/* Without what its forward pass saves: dv is from q, k and the upstream gradient. */
static int gelu_backward_only(const vt_kernel_call *c, int fault)
{
    (void)fault;
    return c->pass == VT_KERNEL_BACKWARD ? specimen_find("gelu_tanh")->run(c, 0)
                                         : VT_KERNEL_UNSUPPORTED;
}

static int float32_only(const vt_kernel_call *c, int fault)
{
    (void)fault;
    return c->dtype == VT_KERNEL_F32 ? correct(c) : VT_KERNEL_UNSUPPORTED;
}

static void a_pass_that_is_not_there_is_not_called_right(void **state)
{
    (void)state;
    vt_op_case c = check(forward_only, &CAUSAL, PRECISION_F64);
    assert_true(c.pass);
    assert_int_equal(c.compared, 120);
    assert_int_equal(row(&c, "backward pass")->result, VT_ROW_UNDECIDED);
    free(c.rows);
    const graph_sizes z = { .op = VT_OP_GELU, .N = 9, .temperature = 1 };
    c = check(gelu_backward_only, &z, PRECISION_F32);
    assert_true(c.pass);
    assert_int_equal(c.compared, 9);
    assert_int_equal(row(&c, "forward pass")->result, VT_ROW_UNDECIDED);
    free(c.rows);
}

static vt_status check_all(int (*run)(const vt_kernel_call *, int), kernel_check_options o,
                           vt_op_report *r)
{
    op_local local = { .run = run };
    const op_kernel k = op_kernel_local(&local);
    o.seed = 42;
    o.name = "it";
    const vt_status s = kernel_check(r, &k, &o, NULL, NULL, &test_error);
    op_local_free(&local);
    return s;
}

/* A kernel may not choose the sizes at which it is judged. */
static int coward(const vt_kernel_call *c, int fault)
{
    (void)fault;
    return c->N > 6 ? VT_KERNEL_UNSUPPORTED : specimen_find("gelu_tanh")->run(c, 0);
}

static int shy(const vt_kernel_call *c, int fault)
{
    (void)fault;
    return c->N > 6 && c->pass == VT_KERNEL_BACKWARD ? VT_KERNEL_UNSUPPORTED
                                                     : specimen_find("gelu_tanh")->run(c, 0);
}

/* The first case has 5 rows, others fewer and more. */
static int bold(const vt_kernel_call *c, int fault)
{
    (void)fault;
    return c->N < 6 && c->pass == VT_KERNEL_BACKWARD ? VT_KERNEL_UNSUPPORTED
                                                     : specimen_find("gelu_tanh")->run(c, 0);
}

static int causal_only(const vt_kernel_call *c, int fault)
{
    (void)fault;
    return !c->causal || c->in[VT_ATTENTION_MASK] ? VT_KERNEL_UNSUPPORTED : correct(c);
}

static int gelu_forward_only(const vt_kernel_call *c, int fault)
{
    (void)fault;
    return c->pass == VT_KERNEL_FORWARD ? specimen_find("gelu_tanh")->run(c, 0)
                                        : VT_KERNEL_UNSUPPORTED;
}

static void sizes_may_not_be_refused(void **state)
{
    (void)state;
    vt_op_report r;
    const kernel_check_options o = { .op = VT_OP_GELU, .f32 = true, .f64 = true };
    assert_int_equal(check_all(coward, o, &r), VT_CHECK_FAILED);
    assert_false(r.pass);
    assert_contains(test_error.text, "refuses N ");
    assert_contains(test_error.text, "sizes may not be chosen");
    vt_op_report_free(&r);
    assert_int_equal(check_all(shy, o, &r), VT_CHECK_FAILED);
    assert_contains(test_error.text, "refuses the backward pass of N ");
    vt_op_report_free(&r);
    assert_int_equal(check_all(bold, o, &r), VT_CHECK_FAILED);
    assert_contains(test_error.text, "refused the backward pass of other sizes");
    vt_op_report_free(&r);
}

static void what_a_kernel_has_not_is_said_and_counted(void **state)
{
    (void)state;
    vt_op_report r;
    const kernel_check_options a = { .op = VT_OP_ATTENTION, .f32 = true, .f64 = true };
    const kernel_check_options g = { .op = VT_OP_GELU, .f64 = true };
    assert_ok(check_all(causal_only, a, &r));
    assert_true(r.pass && r.ncases == r.planned);
    assert_true(r.ncases < (size_t)kernel_check_cases(VT_OP_ATTENTION, 42));
    assert_contains(r.unchecked, "not checked: with a mask");
    for (size_t i = 0; i < r.ncases; i++) {
        assert_contains(r.cases[i].sizes, "causal");
        assert_null(strstr(r.cases[i].sizes, "masked"));
    }
    vt_op_report_free(&r);
    assert_ok(check_all(gelu_forward_only, g, &r));
    assert_string_equal(r.unchecked, "no backward pass: gradients not checked");
    assert_int_equal(2 * r.compared, r.of);             /* y, but not dx */
    vt_op_report_free(&r);
    assert_ok(check_all(plain, a, &r));
    assert_string_equal(r.unchecked, "");
    vt_op_report_free(&r);
}

/* One case alone has to prove something. */
static void one_case_that_proves_nothing_does_not_pass(void **state)
{
    (void)state;
    vt_op_report r;
    kernel_check_options o = { .op = VT_OP_ATTENTION, .f32 = true, .f64 = true, .only = 6 };
    assert_int_equal(check_all(plain, o, &r), VT_CHECK_FAILED);     /* every size is 1 */
    assert_contains(test_error.text, "T is 1");
    vt_op_report_free(&r);
    o.only = 1;
    assert_ok(check_all(plain, o, &r));
    vt_op_report_free(&r);
}

/* Of scores of 1e8 float32 knows nothing: nothing at all is within the bound, too. */
static int no_gradient(const vt_kernel_call *c, int fault)
{
    (void)fault;
    return c->pass == VT_KERNEL_FORWARD ? correct(c) : 0;
}

static void a_bound_above_the_values_is_undecided(void **state)
{
    (void)state;
    op_local local = { .run = no_gradient };
    const op_kernel k = op_kernel_local(&local);
    vt_op_case c;
    assert_ok(kernel_check_one(&c, &k, &CAUSAL, PRECISION_F32, 1e4, 7, true, &test_error));
    assert_int_not_equal(row(&c, "dq")->result, VT_ROW_PASS);
    assert_int_not_equal(row(&c, "dk")->result, VT_ROW_PASS);
    assert_int_equal(row(&c, "dv")->result, VT_ROW_FAIL);
    assert_contains(row(&c, "dq")->note, "no resolution at this scale");
    free(c.rows);
    op_local_free(&local);
}

static void a_precision_that_is_not_there_is_noted_or_refused(void **state)
{
    (void)state;
    vt_op_report r;
    const kernel_check_options both = { .op = VT_OP_ATTENTION, .f32 = true, .f64 = true };
    const kernel_check_options must = { .op = VT_OP_ATTENTION, .f64 = true, .must = true };
    const kernel_check_options other = { .op = VT_OP_SOFTMAX, .f32 = true, .f64 = true };
    assert_ok(check_all(float32_only, both, &r));
    assert_contains(r.note, "does not have attention in float64");
    assert_int_equal(r.ncases, r.planned);
    for (size_t i = 0; i < r.ncases; i++) assert_string_equal(r.cases[i].precision, "float32");
    vt_op_report_free(&r);
    assert_int_equal(check_all(float32_only, must, &r), VT_BAD_INPUT);
    assert_contains(test_error.text, "float64");
    vt_op_report_free(&r);
    assert_int_equal(check_all(plain, other, &r), VT_BAD_INPUT);
    assert_contains(test_error.text, "does not have softmax");
    vt_op_report_free(&r);
}

/* ---- the list ------------------------------------------------------------------------------ */

static void two_failing_cases_end_a_precision_and_one_can_be_repeated(void **state)
{
    (void)state;
    vt_op_report r;
    kernel_check_options o = { .op = VT_OP_ATTENTION, .f32 = true, .f64 = true, .quick = true };
    assert_int_equal(check_all(nothing_written, o, &r), VT_CHECK_FAILED);
    assert_int_equal(r.failed, 4);
    assert_int_equal(r.ncases, 4);
    assert_false(r.pass);
    assert_contains(test_error.text, "case 1 (");
    const int second = r.cases[1].number;
    vt_op_report_free(&r);
    o.only = second;
    assert_int_equal(check_all(nothing_written, o, &r), VT_CHECK_FAILED);
    assert_int_equal(r.ncases, 1);
    assert_int_equal(r.cases[0].number, second);
    vt_op_report_free(&r);
    o.only = 0;
    o.all = true;
    o.f32 = SWEEP(true, false);
    assert_int_equal(check_all(nothing_written, o, &r), VT_CHECK_FAILED);
    assert_int_equal(r.failed, r.planned);
    vt_op_report_free(&r);
    o.only = kernel_check_cases(VT_OP_ATTENTION, 42) + 1;
    assert_int_equal(check_all(plain, o, &r), VT_USAGE);
    vt_op_report_free(&r);
}

static void a_case_in_which_nothing_is_compared_does_not_pass(void **state)
{
    (void)state;
    vt_op_case c = { .rows = NULL };
    op_judge_end(&c);
    assert_false(c.pass);
    vt_status s;
    vt_op_row *r = op_row(&c, "o", VT_ROW_OUTPUT, &s, &test_error);
    assert_non_null(r);
    r->result = VT_ROW_PASS;
    op_judge_end(&c);
    assert_false(c.pass);
    free(c.rows);
}

/* The definitions are judged, too: a case whose expected gradient is wrong says so. */
static void a_wrong_definition_would_be_seen(void **state)
{
    (void)state;
    op_case c;
    vt_op_case out = { .rows = NULL };
    assert_ok(op_case_draw(&c, &CAUSAL, PRECISION_F64, 1, 7, &test_error));
    assert_ok(op_judge_definitions(&out, &c, false, &test_error));
    assert_ok(op_judge_definitions(&out, &c, true, &test_error));
    assert_int_equal(out.rows[0].result, VT_ROW_PASS);
    assert_int_equal(out.rows[1].result, VT_ROW_PASS);
    assert_int_equal(out.rows[1].compared, 1);
    c.dx[c.g.tensor[graph_find(&c.g, "v")].at + 2] *= 1 + 1e-9;
    assert_ok(op_judge_definitions(&out, &c, false, &test_error));
    assert_ok(op_judge_definitions(&out, &c, true, &test_error));
    assert_int_equal(out.rows[2].result, VT_ROW_FAIL);
    assert_string_equal(out.rows[2].index, "dv[0, 0, 0, 2]");
    assert_int_equal(out.rows[3].result, VT_ROW_FAIL);
    free(out.rows);
    op_case_free(&c);
}

/* The largest entry of a tensor's gradient, and of all. */
static double *largest_entry(op_case *c, int tensor)
{
    const graph_tensor *t = &c->g.tensor[tensor];
    double *most = c->dx + t->at;
    for (size_t j = t->at; j < t->at + t->count; j++)
        if (fabs(c->dx[j]) > fabs(*most)) most = &c->dx[j];
    return most;
}

static double largest_of_all(op_case *c)
{
    double most = 0;
    for (int i = 0; i < c->g.nin; i++)
        if (c->g.tensor[c->g.in[i]].role == GRAPH_INPUT)
            most = fmax(most, fabs(*largest_entry(c, c->g.in[i])));
    return most;
}

/* 1 % on the largest entry: scale 1 has the digits to see it, others may say that they
 * have not. */
static void spoil(op_case *c, bool quick, double *entry, const char *what)
{
    vt_op_case out = { .rows = NULL };
    const double kept = *entry;
    assert_ok(op_judge_definitions(&out, c, quick, &test_error));
    if (out.rows[0].result == VT_ROW_FAIL)
        fail_msg("%s: right, and %g of its bound", what, out.rows[0].budget_used);
    *entry *= 1.01;
    assert_ok(op_judge_definitions(&out, c, quick, &test_error));
    *entry = kept;
    if (out.rows[1].result == VT_ROW_PASS ||
        (out.rows[1].result == VT_ROW_UNDECIDED && c->scale <= 1 && c->z.mean == 0))
        fail_msg("%s: 1 %% off is result %d: %s", what, (int)out.rows[1].result, out.rows[1].note);
    free(out.rows);
}

/* VER-01: in every case of every operator one wrong entry of one gradient is too much, by
 * each of its two proofs.  Tensors in turn; gradients that algebra makes 0 are none. */
static void one_wrong_entry_of_a_definition_fails_in_every_case(void **state)
{
    (void)state;
    size_t spoilt = 0;
    for (int op = 1; graph_op_name(op); op++)
        for (int n = 1; n <= kernel_check_cases(op, 42) / 2; n += SWEEP(1, 4)) {
            graph_sizes z;
            double scale;
            precision p;
            op_case c;
            char what[120];
            assert_true(kernel_check_case(op, n, 42, &z, &scale, &p));
            assert_ok(op_case_draw(&c, &z, p, scale, 42 + (uint64_t)n, &test_error));
            const double all = largest_of_all(&c);
            for (int i = 0, tried = 0; i < c.g.nin && tried < 2; i++) {
                const int tensor = c.g.in[(i + n) % c.g.nin];
                double *entry = largest_entry(&c, tensor);
                if (c.g.tensor[tensor].role != GRAPH_INPUT || !(fabs(*entry) > 1e-9 * all)) continue;
                snprintf(what, sizeof what, "%s, case %d, %s", graph_op_name(op), n,
                         c.g.tensor[tensor].name);
                spoil(&c, true, entry, what);
                if (c.g.reals < 1000) spoil(&c, false, entry, what);
                tried++;
                spoilt++;
            }
            op_case_free(&c);
        }
    assert_true(spoilt > SWEEP(300, 75));
}

/* ATT-03: hidden keys weigh 0, and 0 times NaN is NaN: a sum over all keys is right only as
 * long as every number in them is finite. */
static int multiplies_by_zero(const vt_kernel_call *c, int backward)
{
    const int code = correct(c);
    const size_t row = c->NH * c->HS;
    const bool forward = c->pass == VT_KERNEL_FORWARD;
    if (forward == backward || c->dtype != VT_KERNEL_F64) return code;
    const double *v = c->in[VT_ATTENTION_V];
    double *to = forward ? c->out[0] : c->din[VT_ATTENTION_Q];
    for (size_t b = 0; b < c->B; b++)
        for (size_t t = 0; t < c->T; t++)
            for (size_t u = 0; u < c->S; u++)
                for (size_t i = 0; i < row; i++) to[(b * c->T + t) * row + i] += 0 * v[(b * c->S + u) * row + i];
    return code;
}

static int forward_by_zero(const vt_kernel_call *c, int fault) { (void)fault; return multiplies_by_zero(c, 0); }
static int backward_by_zero(const vt_kernel_call *c, int fault) { (void)fault; return multiplies_by_zero(c, 1); }

static void zero_times_what_is_hidden_fails(void **state)
{
    (void)state;
    vt_op_case c = check(forward_by_zero, &CAUSAL, PRECISION_F64);
    fails(&c, ",hidden NaN,");
    assert_string_equal(c.diagnosis.kind, "mask_leak");
    assert_true(isnan(row(&c, "hidden NaN")->found));
    free(c.rows);
    c = check(forward_by_zero, &MASKED, PRECISION_F64);
    fails(&c, ",hidden NaN,unseen NaN,");
    free(c.rows);
    c = check(backward_by_zero, &MASKED, PRECISION_F64);
    fails(&c, ",unseen NaN,");
    assert_string_equal(c.diagnosis.kind, "mask_leak");
    free(c.rows);
    /* every element of a kernel that reads no such key: o, dq, and dk, dv of all keys */
    c = check(plain, &MASKED, PRECISION_F64);
    assert_int_equal(row(&c, "unseen NaN")->compared, c.of);
    assert_true(row(&c, "hidden NaN")->compared > 0 && c.pass);
    free(c.rows);
}

/* What a static keeps is there in the process of the forward pass, and gone in another. */
static double kept_scale;

static int keeps(const vt_kernel_call *c, int fault)
{
    (void)fault;
    const int code = correct(c);
    if (c->pass == VT_KERNEL_FORWARD) kept_scale = 1;
    else multiply(c->din[VT_ATTENTION_Q], c->dtype, 0, kept_scale);
    return code;
}

static void new_process(void *context)
{
    (void)context;
    kept_scale = 0;
}

static void state_that_is_not_in_save_fails(void **state)
{
    (void)state;
    op_local local = { .run = keeps };
    op_kernel k = op_kernel_local(&local);
    vt_op_case c;
    k.fresh = new_process;
    assert_ok(kernel_check_one(&c, &k, &CAUSAL, PRECISION_F64, 1, 7, true, &test_error));
    fails(&c, ",two runs,");
    assert_contains(row(&c, "two runs")->note, "`save`");
    assert_int_equal(row(&c, "two runs")->failed, 1);
    assert_string_equal(c.diagnosis.kind, "nondeterministic");
    assert_contains(c.diagnosis.hint, "static");
    free(c.rows);
    local.run = plain;
    assert_ok(kernel_check_one(&c, &k, &CAUSAL, PRECISION_F64, 1, 7, true, &test_error));
    assert_true(c.pass);
    free(c.rows);
    op_local_free(&local);
}

/* E[x^2] - mean^2, right where the mean is small (seen: 70 % of the bound), and of few
 * digits where it is large. */
static int cancelling(const vt_kernel_call *c, int fault)
{
    (void)fault;
    if (c->pass != VT_KERNEL_FORWARD || c->dtype != VT_KERNEL_F64)
        return specimen_find("layernorm_rows")->run(c, 0);
    const int code = specimen_find("layernorm_rows")->run(c, 0);
    const double *x = c->in[VT_LAYERNORM_X], *w = c->in[VT_LAYERNORM_W], *b = c->in[VT_LAYERNORM_B];
    const double C = (double)c->C;
    for (size_t n = 0; n < c->N; n++, x += c->C) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < c->C; i++) mean += x[i] / C, squares += x[i] * x[i] / C;
        const double var = squares - mean * mean;
        for (size_t i = 0; i < c->C; i++)
            ((double *)c->out[0])[n * c->C + i] = w[i] * (x[i] - mean) / sqrt(var + 1e-5) + b[i];
    }
    return code;
}

static void a_variance_that_cancels_is_found_far_from_zero(void **state)
{
    (void)state;
    graph_sizes z = { .op = VT_OP_LAYERNORM, .N = 5, .C = 7, .temperature = 1 };
    vt_op_case c = check(cancelling, &z, PRECISION_F64);
    assert_int_equal(row(&c, "y")->result, VT_ROW_PASS);
    free(c.rows);
    const double means[] = { 1e3, 1e5 };
    for (size_t i = 0; i < 2; i++) {
        z.mean = means[i];
        c = check(cancelling, &z, PRECISION_F64);
        assert_int_equal(row(&c, "y")->result, VT_ROW_FAIL);
        assert_string_equal(c.diagnosis.kind, "variance_cancels");
        free(c.rows);
    }
    /* and the list of cases has such rows, of both precisions */
    size_t far = 0;
    double scale;
    precision p;
    for (int n = 1; kernel_check_case(VT_OP_LAYERNORM, n, 42, &z, &scale, &p); n++) far += z.mean >= 1e3;
    assert_int_equal(far, 2 * 2 * 2);
    for (int n = 1; kernel_check_case(VT_OP_ATTENTION, n, 42, &z, &scale, &p); n++)
        assert_true(z.mean == 0);
}

/* A weight of 1e-297 is nothing that a step of 1e-30 can show: no wrong definition. */
static vt_status saturated(op_case *c, void *context, vt_error *err)
{
    (void)context;
    (void)err;
    for (int i = 0; i < 3; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        for (size_t j = 0; j < t->count; j++) c->x[t->at + j] = i == 1 ? 342 : 1 + (double)j;
    }
    c->x[c->g.tensor[c->g.in[VT_ATTENTION_K]].at] = -342;      /* exp(-684) = 8e-298 */
    c->dout[c->g.tensor[c->g.out[0]].at] = 1;
    return VT_OK;
}

static void a_gradient_below_the_step_is_no_wrong_definition(void **state)
{
    (void)state;
    const graph_sizes z = { .op = VT_OP_ATTENTION, .B = 1, .T = 2, .S = 3, .NH = 1, .HS = 1,
                            .temperature = 1 };
    op_case c;
    vt_op_case out = { .rows = NULL };
    assert_ok(op_case_given(&c, &z, PRECISION_F64, saturated, NULL, &test_error));
    const double dv = c.dx[c.g.tensor[c.g.in[VT_ATTENTION_V]].at];
    assert_true(dv > 0 && dv < 1e-280);         /* or this tests nothing */
    assert_ok(op_judge_definitions(&out, &c, false, &test_error));
    assert_int_equal(out.rows[0].result, VT_ROW_PASS);
    free(out.rows);
    op_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_correct_kernel_passes_and_every_element_is_compared),
        cmocka_unit_test(every_correct_specimen_passes_the_whole_list),
        cmocka_unit_test(one_element_that_is_one_percent_off_is_named),
        cmocka_unit_test(nan_and_infinity_are_beyond_every_bound),
        cmocka_unit_test(outputs_that_are_not_written_fail),
        cmocka_unit_test(a_query_that_sees_no_key_must_not_poison),
        cmocka_unit_test(another_bit_in_the_second_run_fails),
        cmocka_unit_test(a_bit_that_depends_on_an_unseen_key_fails),
        cmocka_unit_test(a_gradient_to_a_key_that_no_query_saw_fails),
        cmocka_unit_test(a_gradient_that_is_assigned_is_told_from_a_wrong_one),
        cmocka_unit_test(an_input_that_is_written_is_named),
        cmocka_unit_test(a_backward_pass_of_another_forward_pass_is_told),
        cmocka_unit_test(a_backward_pass_that_is_right_for_one_upstream_gradient_fails),
        cmocka_unit_test(a_forward_pass_with_another_derivative_fails_by_itself),
        cmocka_unit_test(float32_has_no_digits_for_differences),
        cmocka_unit_test(a_pass_that_is_not_there_is_not_called_right),
        cmocka_unit_test(sizes_may_not_be_refused),
        cmocka_unit_test(what_a_kernel_has_not_is_said_and_counted),
        cmocka_unit_test(one_case_that_proves_nothing_does_not_pass),
        cmocka_unit_test(a_bound_above_the_values_is_undecided),
        cmocka_unit_test(a_precision_that_is_not_there_is_noted_or_refused),
        cmocka_unit_test(two_failing_cases_end_a_precision_and_one_can_be_repeated),
        cmocka_unit_test(a_case_in_which_nothing_is_compared_does_not_pass),
        cmocka_unit_test(a_wrong_definition_would_be_seen),
        cmocka_unit_test(zero_times_what_is_hidden_fails),
        cmocka_unit_test(state_that_is_not_in_save_fails),
        cmocka_unit_test(a_variance_that_cancels_is_found_far_from_zero),
        cmocka_unit_test(a_gradient_below_the_step_is_no_wrong_definition),
        cmocka_unit_test(one_wrong_entry_of_a_definition_fails_in_every_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
