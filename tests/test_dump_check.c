/* test_dump_check.c -- tensors that NumPy computed, out of files that NumPy wrote.
 *
 * The operators are written in NumPy as their equations read, forward and backward; then
 * one thing is changed in the file, and the check has to say which.
 */
#include "support.h"
#include "scratch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "vitrine.h"

/* What every program begins with: attention, its gradients; save() writes a file. */
#define PRELUDE \
    "import numpy as np\n" \
    "r = np.random.default_rng(3)\n" \
    "B, T, S, NH, HS = 2, 3, 5, 4, 6\n" \
    "draw = lambda *s: r.standard_normal(s)\n" \
    "def attention(q, k, v, do, see):\n" \
    "    s = np.einsum('bthi,buhi->bhtu', q, k) / np.sqrt(q.shape[-1])\n" \
    "    e = np.where(see, np.exp(s - s.max(-1, keepdims=True)), 0)\n" \
    "    n = e.sum(-1, keepdims=True)\n" \
    "    p = np.divide(e, n, out=np.zeros_like(e), where=n > 0)\n" \
    "    dp = np.einsum('bthi,buhi->bhtu', do, v)\n" \
    "    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])\n" \
    "    return dict(q=q, k=k, v=v, do=do, o=np.einsum('bhtu,buhi->bthi', p, v),\n" \
    "                dq=np.einsum('bhtu,buhi->bthi', ds, k),\n" \
    "                dk=np.einsum('bhtu,bthi->buhi', ds, q),\n" \
    "                dv=np.einsum('bhtu,bthi->buhi', p, do))\n" \
    "causal = np.tril(np.ones((T, S)), S - T) > 0\n" \
    "a = attention(draw(B, T, NH, HS), draw(B, S, NH, HS), draw(B, S, NH, HS),\n" \
    "              draw(B, T, NH, HS), causal)\n" \
    "n = 0\n" \
    "def save(name, without='', **change):\n" \
    "    global n\n" \
    "    n += 1\n" \
    "    t = {**a, **change}\n" \
    "    np.savez(name, **{k: t[k] for k in t if k not in without.split()})\n"

static vt_op_report report;

static vt_status check(const char *file, const char *op, vt_dump_options o)
{
    vt_op_report_free(&report);
    o.file = scratch(file);
    o.op = op;
    if (!o.layout) o.layout = "bthd";
    if (o.temperature <= 0) o.temperature = 1;
    o.seed = 42;
    return vt_check_dump(&o, &report, &test_error);
}

static const vt_dump_options CAUSAL = { .causal = true };

static const vt_op_row *row(const char *name)
{
    for (size_t i = 0; i < report.cases[0].nrows; i++)
        if (strcmp(report.cases[0].rows[i].name, name) == 0) return &report.cases[0].rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void refuses(const char *file, const char *op, vt_dump_options o, vt_status s,
                    const char *part)
{
    const vt_status is = check(file, op, o);
    if (is != s) fail_msg("%s: status %d, expected %d: %s", file, (int)is, (int)s, test_error.text);
    assert_contains(test_error.text, part);
}

/* ---- right and wrong ---------------------------------------------------------- */

static void right_tensors_pass_and_one_wrong_entry_is_named(void **state)
{
    (void)state;
    python(PRELUDE
           "save('right.npz')\n"
           "dk = a['dk'].copy(); dk[1, 3, 2, 5] *= 1.01\n"
           "save('wrong.npz', dk=dk)\n"
           "save('nan.npz', o=np.where(np.arange(HS) == 2, np.nan, a['o']))\n"
           "save('scale.npz', dq=a['dq'] * np.sqrt(HS))\n"
           "save('extra.npz', unrelated=np.zeros(3, np.float16))\n"
           "print('compared', n)\n", 5);
    assert_ok(check("right.npz", "attention", CAUSAL));
    assert_int_equal(report.compared, 2 * 144 + 2 * 240);
    assert_int_equal(report.of, report.compared);
    assert_string_equal(report.cases[0].precision, "float64");
    assert_string_equal(report.cases[0].sizes, "B 2, T 3, S 5, NH 4, HS 6, causal");
    assert_int_equal(row("definitions")->compared, 144 + 2 * 240);
    /* what the operator does not name says nothing of its precision */
    assert_ok(check("extra.npz", "attention", CAUSAL));
    assert_string_equal(report.cases[0].precision, "float64");
    assert_contains(report.note, "unrelated");
    refuses("right.npz", "attention", (vt_dump_options){ 0 }, VT_CHECK_FAILED, "o[");
    assert_string_equal(report.cases[0].diagnosis.kind, "mask_leak");
    refuses("wrong.npz", "attention", CAUSAL, VT_CHECK_FAILED, "dk[1, 3, 2, 5]");   /* ATT-09 */
    assert_string_equal(row("dk")->where, "batch 1, key 3, head 2, channel 5");
    assert_near(row("dk")->found / row("dk")->expected, 1.01, 1e-12);
    assert_int_equal(row("dk")->failed, 1);
    assert_int_equal(row("dq")->result, VT_ROW_PASS);
    assert_string_equal(report.cases[0].diagnosis.kind, "one_entry");
    refuses("nan.npz", "attention", CAUSAL, VT_CHECK_FAILED, "o[0, 0, 0, 2]");
    refuses("scale.npz", "attention", CAUSAL, VT_CHECK_FAILED, "dq[");
    assert_string_equal(report.cases[0].diagnosis.kind, "scale_missing");
}

/* ---- how tensors may come --------------------------------------------------------- */

static void layouts_names_and_masks(void **state)
{
    (void)state;
    python(PRELUDE
           "turn = {k: x.transpose(0, 2, 1, 3) for k, x in a.items()}\n"
           "turn['dk'] = turn['dk'].copy(); turn['dk'][1, 2, 3, 5] += 1\n"
           "a = {k.replace('q', 'Q').replace('k', 'K'): x for k, x in turn.items()}\n"
           "save('turned.npz', note=np.zeros(3))\n"
           "see = r.random((T, S)) < 0.5; see[:, 0] = True; see[1] = False\n"
           "a = attention(draw(B, T, NH, HS), draw(B, S, NH, HS), draw(B, S, NH, HS),\n"
           "              draw(B, T, NH, HS), see)\n"
           "save('masked.npz', mask=see)\n"
           "save('masked4.npz', mask=see[None, None].astype(np.uint8))\n"
           "save('poison.npz', mask=see, dv=np.full_like(a['dv'], np.nan))\n"
           "print('compared', n)\n", 4);
    const vt_dump_options turned = { .causal = true, .layout = "bhtd" };
    refuses("turned.npz", "attention", turned, VT_CHECK_FAILED, "dk[1, 2, 3, 5]");
    assert_string_equal(row("dk")->where, "batch 1, key 3, head 2, channel 5");
    assert_int_equal(row("dk")->failed, 1);
    assert_contains(report.note, "not used: note");
    assert_ok(check("masked.npz", "attention", (vt_dump_options){ 0 }));
    assert_contains(report.cases[0].sizes, "masked");
    assert_true(row("exact zeros")->compared >= 2 * 2 * 4 * 6);     /* o and dq of query 1 */
    assert_ok(check("masked4.npz", "attention", (vt_dump_options){ 0 }));
    refuses("poison.npz", "attention", (vt_dump_options){ 0 }, VT_CHECK_FAILED, "dv[");  /* ATT-01 */
}

/* float32: what float64 would call wrong by far is right, and an error of 1e-4 is not. */
static void the_verdict_is_of_the_precision(void **state)
{
    (void)state;
    python(PRELUDE
           "f = lambda x: x.astype(np.float32)\n"
           "i = {k: f(a[k]) for k in ('q', 'k', 'v', 'do')}\n"
           "a = attention(*(i[k].astype(float) for k in ('q', 'k', 'v', 'do')), causal)\n"
           "a = {k: f(x) for k, x in a.items()}\n"
           "save('f32.npz')\n"
           "save('off.npz', o=a['o'] * np.float32(1.0001))\n"
           "save('mixed.npz', **{k: x.astype(float) for k, x in a.items()})\n"
           "a = attention(draw(B, T, NH, HS), draw(B, S, NH, HS), draw(B, S, NH, HS),\n"
           "              draw(B, T, NH, HS), causal)\n"
           "save('f64.npz')\n"
           "h = {k: a[k].astype(np.float16).astype(float) for k in ('q', 'k', 'v', 'do')}\n"
           "a = attention(h['q'], h['k'], h['v'], h['do'], causal)\n"
           "save('f16.npz', **{k: x.astype(np.float16) for k, x in a.items()})\n"
           "print('compared', n)\n", 5);
    const vt_dump_options f32 = { .causal = true, .precision = "float32" };
    assert_ok(check("f32.npz", "attention", CAUSAL));
    assert_string_equal(report.cases[0].precision, "float32");
    assert_true(report.worst > 0.001);
    refuses("off.npz", "attention", CAUSAL, VT_CHECK_FAILED, "o[");
    refuses("mixed.npz", "attention", CAUSAL, VT_CHECK_FAILED, "float64");  /* as float64: no */
    assert_ok(check("mixed.npz", "attention", f32));
    refuses("f64.npz", "attention", f32, VT_BAD_INPUT, "expected float32");
    assert_ok(check("f16.npz", "attention", CAUSAL));
    assert_string_equal(report.cases[0].precision, "float16");
}

static void operators_by_rows_take_any_axes_in_front(void **state)
{
    (void)state;
    python("import numpy as np\n"
           "r = np.random.default_rng(4)\n"
           "x, w, b, dy = (r.standard_normal(s) for s in ((2, 3, 5), (5, 4), 4, (2, 3, 4)))\n"
           "np.savez('linear.npz', x=x, w=w, b=b, y=x @ w + b, dy=dy, dx=dy @ w.T,\n"
           "         dw=np.einsum('abi,abj->ij', x, dy), db=dy.sum((0, 1)))\n"
           "np.savez('transposed.npz', x=x, w=w.T, b=b, y=x @ w + b)\n"
           "e = np.exp(x); p = e / e.sum(-1, keepdims=True); dp = r.standard_normal(x.shape)\n"
           "np.savez('softmax.npz', x=x, p=p, dp=dp, dx=p * (dp - (p * dp).sum(-1, keepdims=True)))\n"
           "t = np.array([[0, 4, 2], [4, -1, 1]]); d = r.standard_normal((2, 3))\n"
           "keep = (t >= 0)\n"
           "q = np.exp(x / 0.5); q /= q.sum(-1, keepdims=True)\n"
           "one = np.eye(5)[t]\n"
           "np.savez('ce.npz', logits=x, target=t, loss=-np.log((q * one).sum(-1)) * keep, dloss=d,\n"
           "         dlogits=(q - one) / 0.5 * (d * keep)[..., None])\n"
           "np.savez('ce100.npz', logits=x, target=np.where(t < 0, -100, t), loss=d)\n"
           "u = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3); h = np.tanh(u)\n"
           "g = (1 + h) / 2 + x / 2 * (1 - h**2) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)\n"
           "np.savez('gelu.npz', x=x, y=x * (1 + h) / 2, dy=dp, dx=dp * g)\n"
           "m = x.mean(-1, keepdims=True); s = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)\n"
           "z = (x - m) * s; w = r.standard_normal(5); b = r.standard_normal(5); f = dp * w\n"
           "np.savez('ln.npz', x=x, w=w, b=b, y=z * w + b, dy=dp, db=dp.sum((0, 1)),\n"
           "         dw=(dp * z).sum((0, 1)), dx=s * (f - f.mean(-1, keepdims=True)\n"
           "         - z * (f * z).mean(-1, keepdims=True)))\n"
           "np.savez('gains.npz', x=x, w=np.ones(5), b=np.zeros(5), y=z, dy=dp, dx=s * (dp\n"
           "         - dp.mean(-1, keepdims=True) - z * (dp * z).mean(-1, keepdims=True)))\n"
           "print('compared', 5)\n", 5);
    const vt_dump_options none = { 0 }, warm = { .temperature = 0.5 };
    assert_ok(check("linear.npz", "linear", none));
    assert_int_equal(report.compared, 24 + 30 + 20 + 4);
    assert_string_equal(report.cases[0].sizes, "N 6, C 5, OC 4");
    refuses("transposed.npz", "linear", none, VT_BAD_INPUT, "tensor w has shape [4, 5]: expected [5, 5]");
    assert_ok(check("softmax.npz", "softmax", none));
    assert_ok(check("ce.npz", "crossentropy", warm));
    assert_int_equal(row("exact zeros")->compared, 1 + 5);      /* target -1 */
    refuses("ce.npz", "crossentropy", none, VT_CHECK_FAILED, "loss[");
    refuses("ce100.npz", "crossentropy", none, VT_BAD_INPUT, "is -100: expected 0 to 4, or -1");
    assert_ok(check("gelu.npz", "gelu", none));
    assert_ok(check("ln.npz", "layernorm", none));
    /* VER-08: what proves little is not called a pass */
    refuses("gains.npz", "layernorm", none, VT_CHECK_FAILED, "the gains of w are all 1");
    assert_int_equal(row("dx")->result, VT_ROW_PASS);
    assert_ok(check("gains.npz", "layernorm", (vt_dump_options){ .degenerate = true }));
    assert_int_equal(row("not degenerate")->result, VT_ROW_UNDECIDED);
}

/* ---- what a file may lack ------------------------------------------------------------- */

static void what_is_missing_or_misshaped_is_one_line(void **state)
{
    (void)state;
    python(PRELUDE
           "save('no_k.npz', without='k')\n"
           "save('no_do.npz', without='do')\n"
           "save('forward.npz', without='do dq dk dv')\n"
           "save('inputs.npz', without='o dq dk dv')\n"
           "save('no_dv.npz', without='dv')\n"
           "save('shape.npz', v=a['v'][:, :4])\n"
           "save('rank.npz', q=a['q'][0])\n"
           "save('type.npz', v=np.ones((B, S, NH, HS), np.int64))\n"
           "save('mask.npz', mask=np.full((T, S), 2))\n"
           "save('float_mask.npz', mask=np.zeros((T, S)))\n"
           "q = a['q'].copy(); q[1, 2, 3, 4] = np.nan\n"
           "save('nan_q.npz', q=q)\n"
           "save('empty.npz', q=a['q'][:0])\n"
           "print('compared', n)\n", 12);
    refuses("no_k.npz", "attention", CAUSAL, VT_BAD_INPUT, "k");
    refuses("no_do.npz", "attention", CAUSAL, VT_BAD_INPUT, "do");
    assert_ok(check("forward.npz", "attention", CAUSAL));
    assert_int_equal(report.compared, 144);
    assert_int_equal(row("dq")->result, VT_ROW_UNDECIDED);
    refuses("inputs.npz", "attention", CAUSAL, VT_BAD_INPUT, "nothing to compare");
    assert_ok(check("no_dv.npz", "attention", CAUSAL));
    assert_string_equal(row("dv")->note, "not in the file");
    refuses("shape.npz", "attention", CAUSAL, VT_BAD_INPUT,
            "tensor v has shape [2, 4, 4, 6]: expected [2, 5, 4, 6]");
    refuses("rank.npz", "attention", CAUSAL, VT_BAD_INPUT, "tensor q has shape [3, 4, 6]: expected 4 axes");
    refuses("type.npz", "attention", CAUSAL, VT_BAD_INPUT, "tensor v is I64");
    refuses("mask.npz", "attention", CAUSAL, VT_BAD_INPUT, "is 2: expected 0 to 1");
    refuses("float_mask.npz", "attention", CAUSAL, VT_BAD_INPUT, "mask");
    refuses("nan_q.npz", "attention", CAUSAL, VT_BAD_INPUT, "q[1, 2, 3, 4] is nan");
    refuses("empty.npz", "attention", CAUSAL, VT_BAD_INPUT, "expected sizes from 1");
    refuses("absent.npz", "attention", CAUSAL, VT_IO, "absent.npz");
    scratch_file("text.npz", "PK, but no archive", 18);
    refuses("text.npz", "attention", CAUSAL, VT_BAD_INPUT, "text.npz");
}

static void words_that_mean_nothing_are_usage(void **state)
{
    (void)state;
    refuses("right.npz", "attnetion", CAUSAL, VT_USAGE, "expected softmax, linear");
    refuses("right.npz", NULL, CAUSAL, VT_USAGE, "--op: expected");
    refuses("right.npz", "attention", (vt_dump_options){ .layout = "hbtd" }, VT_USAGE, "bthd or bhtd");
    refuses("right.npz", "attention", (vt_dump_options){ .precision = "fp8" }, VT_USAGE, "bfloat16");
    refuses("linear.npz", "linear", (vt_dump_options){ .layout = "bhtd" }, VT_USAGE, "only attention");
    refuses("right.npz", "attention", (vt_dump_options){ .heads = 2 }, VT_USAGE, "--heads");
    const char *meaning;
    int n = 0;
    while (vt_op_name(n, &meaning)) {
        assert_non_null(meaning);
        n++;
    }
    assert_int_equal(n, 10);
    assert_null(vt_op_name(-1, NULL));
    assert_null(meaning);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_tensors_pass_and_one_wrong_entry_is_named),
        cmocka_unit_test(layouts_names_and_masks),
        cmocka_unit_test(the_verdict_is_of_the_precision),
        cmocka_unit_test(operators_by_rows_take_any_axes_in_front),
        cmocka_unit_test(what_is_missing_or_misshaped_is_one_line),
        cmocka_unit_test(words_that_mean_nothing_are_usage),
    };
    const int failed = cmocka_run_group_tests(tests, scratch_make, scratch_remove);
    vt_op_report_free(&report);
    return failed;
}
