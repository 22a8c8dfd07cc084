/* test_bench.c -- what a bench counts, and that a wrong result is named and not timed.
 *
 * Work is compared with sums written out by hand; quartiles with NumPy's definition.
 * Nothing here asserts how long anything takes.
 */
#include "support.h"
#include <math.h>
#include <string.h>
#include <time.h>
#include "bench/bench.h"
#include "bench/peak.h"
#include "bench/work.h"

/* ---- work ---------------------------------------------------------------- */

/* tiny-575, N = 256: a layer 2 N (32 96 + 32 32 + 2 32 128) = 6,291,456 and
 * 16 windows, 2 heads, 136 pairs, 4 16 FLOP = 278,528; the head 2 N 32 575 = 9,420,800. */
static void a_step_is_counted_by_hand(void **state)
{
    (void)state;
    const gpt_config tiny = { .L = 2, .C = 32, .NH = 2, .FF = 128, .T = 32, .V = 575 };
    assert_true(work_step_flop(&tiny, 16, 16) == 3.0 * (2 * (6291456 + 278528) + 9420800));

    /* N = 1024: 2 N 12 384^2 = 3,623,878,656; 4 6 (256 257 / 2) 4 64 = 202,113,024;
     * head 2 N 384 4096 = 3,221,225,472.  The sum takes 0.176 s at 445 GFLOP/s. */
    const gpt_config six = { .L = 6, .C = 384, .NH = 6, .FF = 1536, .T = 256, .V = 4096,
                             .tied = true };
    assert_true(work_step_flop(&six, 4, 256) ==
                3.0 * (6 * (3623878656.0 + 202113024.0) + 3221225472.0));

    /* GPT-2's 124,439,808 parameters (Radford et al. 2019, as Hugging Face counts them). */
    const gpt_config gpt2 = { .L = 12, .C = 768, .NH = 12, .FF = 3072, .T = 1024, .V = 50257,
                              .tied = true };
    assert_true(work_step_bytes(&gpt2) == 28.0 * 124439808);
}

/* 6 (12 288^2 + 13 288) + 2 288 + 288 32000 = 15,211,008 weights, tied or not; the token's
 * and the position's tables are not read. */
static void a_token_reads_each_weight_once(void **state)
{
    (void)state;
    gpt_config z = { .L = 6, .C = 288, .NH = 6, .FF = 1152, .T = 256, .V = 32000, .tied = true };
    assert_true(work_token_bytes(&z) == 4.0 * 15211008);
    z.tied = false;
    assert_true(work_token_bytes(&z) == 4.0 * 15211008);
}

/* By loops: each multiply-add of the definition is 2. */
static void attention_counts_the_causal_half(void **state)
{
    (void)state;
    for (int T = 1; T <= 9; T++) {
        double flop = 0;
        for (int b = 0; b < 3; b++)
        for (int h = 0; h < 2; h++)
        for (int t = 0; t < T; t++)
        for (int u = 0; u <= t; u++)
        for (int i = 0; i < 5; i++)
            flop += 2 + 2;                              /* q k; att v */
        assert_true(work_attention(3, T, 2, 5) == flop);
    }
    assert_true(work_linear(3, 5, 7) == 2 * 3 * 5 * 7);
}

/* ---- timing ---------------------------------------------------------------- */

/* numpy.quantile([1, 2, 4, 8], [0, .25, .5, .75, 1]) = 1, 1.75, 3, 5, 8 */
static void quartiles_are_numpys(void **state)
{
    (void)state;
    const double four[] = { 1, 2, 4, 8 }, want[] = { 1, 1.75, 3, 5, 8 }, one = 3;
    for (int i = 0; i < 5; i++) assert_true(timing_quantile(four, 4, i / 4.0) == want[i]);
    for (int i = 0; i < 5; i++) assert_true(timing_quantile(&one, 1, i / 4.0) == 3);
    timing t = { .samples = 5, .all = { 9, 1, 5, 3, 7 } };
    timing_sum_up(&t);
    assert_true(t.low == 3 && t.median == 5 && t.high == 7 && t.all[0] == 1 && t.all[4] == 9);
}

typedef struct counted { size_t calls, fail_at, asked, stop_at; } counted;
static vt_status count_call(void *state, vt_error *err)
{
    counted *c = state;
    return ++c->calls == c->fail_at ? fail(err, VT_NAN, "call %zu", c->calls) : VT_OK;
}
static bool count_ask(void *context)
{
    counted *c = context;
    return ++c->asked == c->stop_at;
}

static void a_measurement_counts_its_calls(void **state)
{
    (void)state;
    counted c = { .calls = 0 };
    timing t;
    timing_plan plan = { .least = 1e-5, .budget = 0, .stop = count_ask, .context = &c };
    assert_ok(timing_measure(&t, &plan, count_call, &c, &test_error));
    assert_int_equal(t.samples, TIMING_LEAST);
    assert_true(c.calls > t.samples * t.repeats);       /* one to warm, some to find repeats */
    assert_true(t.low <= t.median && t.median <= t.high && t.low > 0);
    assert_true(c.asked >= t.samples);

    c = (counted){ .fail_at = 1 };
    assert_int_equal(timing_measure(&t, &plan, count_call, &c, &test_error), VT_NAN);
    assert_int_equal(c.calls, 1);
    c = (counted){ .stop_at = 1 };
    assert_int_equal(timing_measure(&t, &plan, count_call, &c, &test_error), VT_INTERRUPTED);
    assert_int_equal(c.calls, 1);
}

/* The call that settles the repeats is held up, as on a busy machine. */
static vt_status held_up(void *state, vt_error *err)
{
    const struct timespec pause = { 1, 20000000 };
    (void)err;
    if (++((counted *)state)->calls == 2) nanosleep(&pause, NULL);
    return VT_OK;
}

static void one_long_call_does_not_make_all_long(void **state)
{
    (void)state;
    counted c = { .calls = 0 };
    timing t;
    const timing_plan plan = { .least = 1e-5, .budget = 0 };
    assert_ok(timing_measure(&t, &plan, held_up, &c, &test_error));
    assert_int_equal(t.repeats, 1);
    assert_int_equal(t.samples, TIMING_LEAST);
}

/* ---- a wrong kernel ---------------------------------------------------------- */

static ops wrong;
static const ops *right;

/* Each calls the real kernel and moves one number beyond what rounding explains. */
static void bad_linear(team *t, float *out, const float *x, const float *w, const float *b, int N,
                       int C, int OC)
{
    right->linear_forward(t, out, x, w, b, N, C, OC);
    out[(size_t)N * (size_t)OC - 1] += 1e-3f;
}
/* A number in the midst, by a tenth where the row's sum is uncertain by more: only a bound of
 * its own sees it. */
static void bad_element(team *t, float *out, const float *x, const float *w, const float *b, int N,
                        int C, int OC)
{
    right->linear_forward(t, out, x, w, b, N, C, OC);
    out[(size_t)OC + 7] += 0.1f;
}
static void bad_linear_back(team *t, float *dx, float *dw, float *db, const float *dout,
                            const float *x, const float *w, const float *pre, int N, int C, int OC)
{
    right->linear_set_backward(t, dx, dw, db, dout, x, w, pre, N, C, OC);
    dw[3] *= 1.01f;
}
static void bad_norm_back(team *t, float *dx, float *dw, float *db, const float *dout,
                          const float *x, const float *w, const float *mean, const float *rstd,
                          int N, int C)
{
    right->layernorm_backward(t, dx, dw, db, dout, x, w, mean, rstd, N, C);
    db[C - 1] += 1;                     /* of a sum of 1024 terms */
}
static void bad_gelu(team *t, float *out, const float *x, size_t n)
{
    right->gelu_forward(t, out, x, n);
    out[5] = NAN;
}
static void bad_add(team *t, float *out, const float *a, const float *b, size_t n)
{
    right->residual_forward(t, out, a, b, n);
    out[7] = nextafterf(nextafterf(out[7], INFINITY), INFINITY);
}
static void bad_embed(team *t, float *dwte, float *dwpe, const float *dout, const int *tokens,
                      int B, int T, int P, int C)
{
    right->embedding_backward(t, dwte, dwpe, dout, tokens, B, T, P, C);
    dwpe[0] += 1e-3f;
}
static void bad_attention(team *t, float *out, float *lse, const float *q, size_t ldq,
                          const float *k, const float *v, size_t ldkv, int B, int T, int P, int NH,
                          int HS)
{
    right->attention_forward(t, out, lse, q, ldq, k, v, ldkv, B, T, P, NH, HS);
    out[1] += 1e-3f;
}
static void bad_loss(team *t, float *dlogits, const float *dloss, const float *lse,
                     const float *logits, const int *target, float temperature, int N, int V)
{
    right->crossentropy_backward(t, dlogits, dloss, lse, logits, target, temperature, N, V);
    dlogits[V] += 1e-3f;
}
static double bad_squares(team *t, const float *x, size_t n)
{
    return right->sum_squares(t, x, n) * (1 + 1e-9);
}
static void bad_adamw(team *t, float *w, float *m, float *v, const float *g, size_t n, float clip,
                      float lr, float beta1, float beta2, float eps, float decay, int step)
{
    right->adamw(t, w, m, v, g, n, clip, lr, beta1, beta2, eps, decay, step);
    v[2] *= 1.00001f;
}

static const bench_case *find(const char *name)
{
    const bench_case *c;
    for (size_t i = 0; (c = bench_case_at(i)) != NULL; i++)
        if (strcmp(c->name, name) == 0) return c;
    fail_msg("no case %s", name);
    return NULL;
}

static vt_status one(vt_bench_row *row, const char *name, const ops *kernels)
{
    const bench_setting s = { .kernels = kernels, .threads = 2, .quick = true };
    const timing_plan plan = { .least = 1e-6, .budget = 0 };
    *row = (vt_bench_row){ .target = (double)NAN };
    return bench_one(row, find(name), &s, NULL, &plan, &test_error);
}

static void names_and_does_not_time(const char *name, const char *place)
{
    vt_bench_row row;
    char start[80];
    const vt_status s = one(&row, name, &wrong);
    if (s != VT_CHECK_FAILED) fail_msg("%s: status %d, expected a wrong result at %s", name, (int)s, place);
    assert_int_equal(row.verdict, VT_BENCH_WRONG);
    assert_int_equal(row.samples, 0);
    assert_true(isnan(row.seconds) && isnan(row.rate) && !row.met);
    snprintf(start, sizeof start, "%s%s", place, strchr(place, ']') ? ": expected " : "");
    if (strncmp(row.note, start, strlen(start)) != 0)
        fail_msg("%s: \"%s\": expected it to begin \"%s\"", name, row.note, start);
    assert_contains(test_error.text, row.note);
    assert_contains(test_error.text, "it was not timed");
}

static void a_wrong_kernel_is_named_and_not_timed(void **state)
{
    (void)state;
    right = ops_pick(NULL);
    wrong = *right;
    wrong.linear_forward = bad_linear;
    names_and_does_not_time("gemm-32", "y[1023]");
    names_and_does_not_time("tiny-575", "dheadw[");   /* the products that are not fused */
    wrong.linear_forward = bad_element;
    names_and_does_not_time("gemm-256", "y[263]");
    wrong = *right;
    wrong.linear_set_backward = bad_linear_back;
    names_and_does_not_time("tiny-575", "dh.0.qkvw[3]");
    wrong = *right;
    wrong.layernorm_backward = bad_norm_back;
    names_and_does_not_time("layernorm-backward", "db[127]");
    wrong.gelu_forward = bad_gelu;
    names_and_does_not_time("gelu-forward", "y[5]");
    wrong.residual_forward = bad_add;
    names_and_does_not_time("residual-forward", "out[7]");
    wrong.embedding_backward = bad_embed;
    names_and_does_not_time("embedding-backward", "dwpe[0]");
    wrong.attention_forward = bad_attention;
    names_and_does_not_time("attention-forward", "o[1]");
    wrong.crossentropy_backward = bad_loss;
    names_and_does_not_time("crossentropy-backward", "dlogits[1281]");
    wrong.sum_squares = bad_squares;
    names_and_does_not_time("sum-squares", "sum[0]");
    wrong.adamw = bad_adamw;
    names_and_does_not_time("adamw", "v[2]");
}

/* Every number of the result is compared: how many there are is known. */
static void a_right_kernel_is_compared_whole_and_timed(void **state)
{
    (void)state;
    static const struct { const char *name; size_t compared; } cases[] = {
        { "gemm-32", 32 * 32 },
        { "gemm-tiny-head", 256 * 757 },
        { "gemm-token-fc", 512 },
        { "tiny-575", 1 + 63296 + 1 },                          /* loss, gradient, norm */
        { "layernorm-backward", 1024 * 128 + 2 * 128 },
        { "gelu-forward", 1024 * 512 },
        { "residual-backward", 2 * 1024 * 128 },
        { "embedding-backward", (1281 + 128) * 128 },
        { "attention-backward", 3 * 1024 * 128 },
        { "sum-squares", 1 },
        { "adamw", 3 * 966784 },
#ifndef __SANITIZE_ADDRESS__            /* definitions of a million parameters and more: slow there */
        { "default", 1 + 973696 },                              /* fewer tokens: no norm */
        { "generate-15M", 12 * 32000 },
#endif
        { "csv", 2 },
    };
    vt_bench_row row;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(one(&row, cases[i].name, ops_pick(NULL)));
        assert_int_equal(row.verdict, VT_BENCH_MEASURED);
        assert_int_equal(row.compared, cases[i].compared);
        assert_true(row.samples >= (row.low > 1 ? TIMING_LEAST_LONG : TIMING_LEAST));
        assert_true(row.seconds > 0 && row.bound_used <= 1);
        assert_true(row.rate == row.per_call / row.seconds && row.met);
        assert_true(isnan(row.limit_seconds) && isnan(row.share));      /* no limits given */
        const bool whole = strcmp(row.name, "default") != 0 && strcmp(row.name, "generate-15M") != 0 &&
                           strcmp(row.name, "csv") != 0;
        assert_int_equal(row.partly, !whole);
        if (strcmp(row.name, "default") == 0)           /* its batch is 8 windows */
            assert_string_equal(row.verified, "loss and gradient of 1 x 128 tokens (a call: 8 x 128)");
        else if (strcmp(row.name, "adamw") == 0)
            assert_string_equal(row.verified, "every number");
        else
            assert_true(row.verified[0] != 0);
    }
}

static vt_status too_large(bench_work *w, const bench_case *c, const bench_setting *s, vt_error *err)
{
    (void)s;
    *w = (bench_work){ .unit = c->unit };
    return fail(err, VT_TOO_LARGE, "needs a larger machine");
}

static vt_status absent(bench_work *w, const bench_case *c, const bench_setting *s, vt_error *err)
{
    (void)s;
    *w = (bench_work){ .unit = c->unit, .absent = true };
    return fail(err, VT_USAGE, "needs a text: --data");
}

static void what_does_not_fit_is_skipped(void **state)
{
    (void)state;
    const bench_case giant = { .name = "giant", .group = "steps", .unit = "tokens/s", .make = too_large };
    const bench_setting s = { .kernels = ops_pick(NULL), .threads = 1 };
    const timing_plan plan = { .least = 1e-6, .budget = 0 };
    vt_bench_row row = { .target = 5 };
    assert_ok(bench_one(&row, &giant, &s, NULL, &plan, &test_error));
    assert_int_equal(row.verdict, VT_BENCH_SKIPPED);
    assert_string_equal(row.note, "needs a larger machine");
    assert_true(!row.met && isnan(row.seconds) && row.target == 5);     /* a target is not met */

    const bench_case lacking = { .name = "lacking", .group = "texts", .unit = "B/s", .make = absent };
    assert_ok(bench_one(&row, &lacking, &s, NULL, &plan, &test_error));
    assert_int_equal(row.verdict, VT_BENCH_SKIPPED);
    assert_string_equal(row.note, "needs a text: --data");
}

/* ---- the whole -------------------------------------------------------------- */

static bool stops_at(void *context, const vt_bench_progress *p)
{
    assert_true(p->done < p->of && p->seconds_left >= 0);
    return context && strcmp(p->name, context) == 0;
}

static void a_run_has_limits_rows_and_sums(void **state)
{
    (void)state;
    static const char *const names[] = { "residual-forward", "bpe-encode", "bpe-train" };
    vt_bench_options o = { .names = names, .nnames = 3, .quick = true, .threads = 2,
                           .targets = "residual-forward=1e30" };
    vt_bench_report r;
    assert_ok(vt_bench(&r, &o, stops_at, NULL, &test_error));
    assert_int_equal(r.nrows, 3);
    assert_true(r.nlimits > 0 && r.wrong == 0 && r.skipped == 0);
    assert_int_equal(r.missed, 1);
    for (size_t i = 0; i < r.nrows; i++) {
        const vt_bench_row *row = &r.rows[i];
        const bool limited = strcmp(row->group, "kernels") == 0;
        assert_true(row->verdict == VT_BENCH_MEASURED && row->compared > 100 && row->rate > 0);
        assert_true(limited ? row->share == row->limit_seconds / row->seconds : isnan(row->share));
        assert_int_equal(row->met, !limited);
    }
    assert_int_equal(r.rows[2].threads, 1);             /* bpe-encode's own */
    vt_bench_free(&r);

    assert_int_equal(vt_bench(&r, &o, stops_at, "limits", &test_error), VT_INTERRUPTED);
    assert_contains(test_error.text, "limits");
    vt_bench_free(&r);
    o.nnames = 1;
    o.names = names + 1;                                /* no limits first */
    o.targets = NULL;
    assert_int_equal(vt_bench(&r, &o, stops_at, "bpe-encode", &test_error), VT_INTERRUPTED);
    assert_contains(test_error.text, "before bpe-encode");
    vt_bench_free(&r);
    o.isa = "abacus";
    assert_int_equal(vt_bench(&r, &o, NULL, NULL, &test_error), VT_USAGE);
    vt_bench_free(&r);
    o = (vt_bench_options){ .threads = -1 };
    assert_int_equal(vt_bench(&r, &o, NULL, NULL, &test_error), VT_USAGE);
    vt_bench_free(&r);
}

/* ---- names and targets ------------------------------------------------------- */

static void cases_are_picked_by_name_and_group(void **state)
{
    (void)state;
    const bench_case *chosen[BENCH_MOST];
    size_t n;
    vt_bench_options o = { .nnames = 0 };
    assert_ok(bench_pick(chosen, &n, &o, &test_error));
    for (size_t i = 0; i < n; i++)
        assert_true(strcmp(chosen[i]->name, "gpt2") != 0 && strcmp(chosen[i]->name, "gemm-2048") != 0);
    o = (vt_bench_options){ .names = (const char *const[]){ "csv", "steps", "tiny" }, .nnames = 3 };
    assert_ok(bench_pick(chosen, &n, &o, &test_error));
    assert_int_equal(n, 7);                             /* six steps, each once */
    assert_string_equal(chosen[0]->name, "tiny-575");
    assert_string_equal(chosen[6]->name, "csv");
    o.names = (const char *const[]){ "tiny", "tiny-574" };
    o.nnames = 2;
    assert_int_equal(bench_pick(chosen, &n, &o, &test_error), VT_USAGE);
    assert_contains(test_error.text, "no case 'tiny-574'; is tiny-575 meant?");
    o.names = (const char *const[]){ "kernals" };
    o.nnames = 1;
    assert_int_equal(bench_pick(chosen, &n, &o, &test_error), VT_USAGE);
    assert_contains(test_error.text, "is kernels meant?");
    o.names = (const char *const[]){ "" };
    assert_int_equal(bench_pick(chosen, &n, &o, &test_error), VT_USAGE);
}

static void names_are_each_once(void **state)
{
    (void)state;
    const bench_case *a, *b;
    for (size_t i = 0; (a = bench_case_at(i)) != NULL; i++) {
        assert_true(strlen(a->name) < VT_BENCH_NAME && strlen(a->group) < VT_BENCH_NAME);
        for (size_t k = 0; (b = bench_case_at(k)) != NULL; k++) {
            assert_true(k == i || strcmp(a->name, b->name) != 0);
            assert_true(strcmp(a->name, b->group) != 0);
        }
    }
}

static void targets_are_read_strictly(void **state)
{
    (void)state;
    vt_bench_options o = { .targets = "tiny=5,tiny-575=1.5e3,L6=62.5%" };
    double target;
    vt_bench_goal goal;
    const bench_case *const steps[] = { find("tiny"), find("tiny-575"), find("L6"), find("csv") };
    assert_ok(bench_targets_check(&o, steps, 4, &test_error));
    assert_ok(bench_target(&target, &goal, find("tiny-575"), &o, &test_error));
    assert_true(target == 1500 && goal == VT_BENCH_RATE);
    assert_ok(bench_target(&target, &goal, find("tiny"), &o, &test_error));
    assert_true(target == 5 && goal == VT_BENCH_RATE);
    assert_ok(bench_target(&target, &goal, find("L6"), &o, &test_error));
    assert_true(target == 0.625 && goal == VT_BENCH_SHARE);
    assert_ok(bench_target(&target, &goal, find("gemm-512"), &o, &test_error));
    assert_true(target == 0.80 && goal == VT_BENCH_SHARE);      /* its own, the issue's */
    assert_ok(bench_target(&target, &goal, find("adamw"), &o, &test_error));
    assert_true(isnan(target));
    static const char *const bad[] = { "tiny", "tiny=", "tiny=0", "tiny=-1", "tiny=nan", "tiny=inf",
                                       "tiny=1x", "tiny=%", "tiny=0%", "tiny=5%%", "csv=80%", "tiny=0x1p3", "tiny=1e999", "=3", "tiny=1,,",
                                       "steps=3", "tinny=3", "tiny=1 " };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.targets = bad[i];
        if (bench_targets_check(&o, steps, 4, &test_error) != VT_USAGE) fail_msg("accepted: %s", bad[i]);
    }
}

/* A target that nobody measures is one that nobody misses. */
static void a_target_is_of_a_case_that_is_measured(void **state)
{
    (void)state;
    const bench_case *const none[] = { find("adamw") }, *const own[] = { find("adamw"), find("L6") };
    vt_bench_options o = { .targets = "tiny=1e30" };
    assert_int_equal(bench_targets_check(&o, none, 1, &test_error), VT_USAGE);
    assert_contains(test_error.text, "--target tiny: this case is not measured");
    o.targets = NULL;
    assert_ok(bench_targets_check(&o, none, 1, &test_error));
    o.require = true;
    assert_int_equal(bench_targets_check(&o, none, 1, &test_error), VT_USAGE);
    assert_contains(test_error.text, "--require: no case that is measured has a target");
    assert_ok(bench_targets_check(&o, own, 2, &test_error));
    o.targets = "adamw=1";
    assert_ok(bench_targets_check(&o, none, 1, &test_error));
    o.targets = "";
    assert_int_equal(bench_targets_check(&o, none, 1, &test_error), VT_USAGE);
}

/* Without a name --require takes what has a target, its own or the option's, also what takes
 * long; and nothing else. */
static void what_is_required_is_measured(void **state)
{
    (void)state;
    const bench_case *chosen[BENCH_MOST], *c;
    const vt_bench_options o = { .require = true, .targets = "adamw=1" };
    size_t n, own = 0;
    bool gpt2 = false, adamw = false;
    assert_ok(bench_pick(chosen, &n, &o, &test_error));
    for (size_t i = 0; (c = bench_case_at(i)) != NULL; i++) own += c->target > 0 ? 1 : 0;
    assert_int_equal(n, own + 1);
    for (size_t i = 0; i < n; i++) {
        gpt2 = gpt2 || strcmp(chosen[i]->name, "gpt2") == 0;
        adamw = adamw || strcmp(chosen[i]->name, "adamw") == 0;
    }
    assert_true(gpt2 && adamw);
}

/* A case whose figures are known: a call takes 4 ms or more, and all of a block of 8 MiB. */
enum { BLOCK = 8 << 20 };
static vt_status wait_a_little(void *state, vt_error *err)
{
    const double start = timing_now();
    (void)err;
    memset(state, (int)(start * 1e3), BLOCK);
    while (timing_now() - start < 0.004) continue;
    return VT_OK;
}
static vt_status nothing_wrong(void *state, vt_bench_row *row, vt_error *err)
{
    (void)state;
    (void)row;
    (void)err;
    return VT_OK;
}
static vt_status make_known(bench_work *w, const bench_case *c, const bench_setting *s, vt_error *err)
{
    (void)c;
    (void)s;
    *w = (bench_work){ .state = malloc(BLOCK), .verify = nothing_wrong, .run = wait_a_little,
                       .free = free, .per_call = 1, .unit = "calls/s" };
    return w->state ? VT_OK : fail_memory(err, BLOCK, "a block");
}

/* Each goal on both sides of what is known, and a share where no limit was measured. */
static void each_goal_is_met_on_its_side(void **state)
{
    (void)state;
    static const struct { vt_bench_goal goal; double target; bool met; } goals[] = {
        { VT_BENCH_RATE, 1e-3, true },      { VT_BENCH_RATE, 251, false },
        { VT_BENCH_SECONDS, 60, true },     { VT_BENCH_SECONDS, 0.0039, false },
        { VT_BENCH_MEMORY, 1e12, true },    { VT_BENCH_MEMORY, 4 << 20, false },
        { VT_BENCH_SHARE, 1e-9, false },
    };
    const bench_case known = { .name = "known", .group = "known", .unit = "calls/s", .make = make_known };
    const bench_setting s = { .kernels = ops_pick(NULL), .threads = 1 };
    const timing_plan plan = { .least = 1e-6, .budget = 0 };
    for (size_t i = 0; i < sizeof goals / sizeof *goals; i++) {
        vt_bench_row row = { .goal = goals[i].goal, .target = goals[i].target };
        assert_ok(bench_one(&row, &known, &s, NULL, &plan, &test_error));
        assert_true(row.met == goals[i].met && row.goal == goals[i].goal && row.target == goals[i].target);
        assert_true(row.memory > BLOCK / 2 && row.memory < 64 << 20);
    }
}

/* ---- limits -------------------------------------------------------------------- */

/* b / 2 - a of each element, which floats of this size hold. */
static void loops_change_what_they_read(void **state)
{
    (void)state;
    float a[256], b[256], c[256], d[256];
    for (int i = 0; i < 256; i++) a[i] = d[i] = (float)i, b[i] = (float)(6 * i + 2), c[i] = (float)(2 * i + 5);
    peak_set_portable.both(a, c, b, 256);
    peak_set_portable.update(d, b, 256);
    for (int i = 0; i < 256; i++)
        assert_true(a[i] == (float)(2 * i + 1) && c[i] == (float)(i - 4) && d[i] == a[i]);
}

static void limits_hold_each_loop(void **state)
{
    (void)state;
    limits l;
    double rate;
    assert_ok(limits_measure(&l, 2, (size_t)1 << 20, true, NULL, NULL, &test_error));
    size_t fma = 0, others = 0;
    for (size_t i = 0; i < l.n; i++) {
        const vt_bench_limit *k = &l.all[i];
        assert_true(k->low > 0 && k->low <= k->median && k->median <= k->high);
        assert_true(k->threads == 1 || k->threads == 2);
        if (strcmp(k->name, "fma") != 0) { others++; continue; }
        fma++;
        assert_non_null(ops_pick(k->isa));
        assert_true(limits_flop(&l, k->threads) >= k->median);
    }
    size_t sets = 0;
    while (ops_runs(sets)) sets++;
    assert_int_equal(fma, 2 * sets);
    assert_int_equal(others, 2 * 4);
    assert_ok(limits_resident(&l, 4096, 2, &rate, &test_error));
    assert_true(rate > 0 && isfinite(rate));
    assert_ok(limits_reread(&l, (size_t)1 << 20, 1, &rate, &test_error));
    assert_true(rate > 0 && isfinite(rate));
    const size_t measured = l.n;
    assert_ok(limits_caches(&l, (const size_t[]){ 32768, 0, 0 }, &test_error));
    assert_int_equal(l.n, measured + 2 * 3);
    for (size_t i = measured; i < l.n; i++) {
        static const char *const names[] = { "l1", "l2", "l3" };
        assert_string_equal(l.all[i].name, names[(i - measured) % 3]);
        assert_int_equal(l.all[i].threads, 1 + (int)((i - measured) / 3));
        assert_true(0 < l.all[i].low && l.all[i].low <= l.all[i].median && l.all[i].median <= l.all[i].high);
    }
    assert_true(limits_flop(&l, 3) <= 3 * limits_flop(&l, 1));      /* of a count not measured */
    limits_free(&l);
}

static bool at_once(void *context) { (void)context; return true; }
static void limits_can_be_stopped(void **state)
{
    (void)state;
    limits l;
    assert_int_equal(limits_measure(&l, 1, 0, true, at_once, NULL, &test_error), VT_INTERRUPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_counted_by_hand),
        cmocka_unit_test(a_token_reads_each_weight_once),
        cmocka_unit_test(attention_counts_the_causal_half),
        cmocka_unit_test(quartiles_are_numpys),
        cmocka_unit_test(a_measurement_counts_its_calls),
        cmocka_unit_test(one_long_call_does_not_make_all_long),
        cmocka_unit_test(a_wrong_kernel_is_named_and_not_timed),
        cmocka_unit_test(a_right_kernel_is_compared_whole_and_timed),
        cmocka_unit_test(what_does_not_fit_is_skipped),
        cmocka_unit_test(a_run_has_limits_rows_and_sums),
        cmocka_unit_test(cases_are_picked_by_name_and_group),
        cmocka_unit_test(names_are_each_once),
        cmocka_unit_test(targets_are_read_strictly),
        cmocka_unit_test(a_target_is_of_a_case_that_is_measured),
        cmocka_unit_test(what_is_required_is_measured),
        cmocka_unit_test(each_goal_is_met_on_its_side),
        cmocka_unit_test(loops_change_what_they_read),
        cmocka_unit_test(limits_hold_each_loop),
        cmocka_unit_test(limits_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
