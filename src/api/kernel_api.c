/* kernel_api.c -- vt_check_kernel, vt_check_dump, vt_check_self_test, vt_op_write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verify/op/case_file.h"
#include "verify/op/dump_check.h"
#include "verify/op/kernel_check.h"
#include "verify/op/op_judge.h"
#include "verify/selftest/self_test.h"
#include "vitrine.h"

static const char *const meanings[] = {
    [VT_OP_SOFTMAX] = "p = softmax(x), over rows",
    [VT_OP_LINEAR] = "y = x w + b; w is (C, OC)",
    [VT_OP_LAYERNORM] = "y = w (x - mean) / sqrt(var + 1e-5) + b, over rows",
    [VT_OP_GELU] = "y = x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2",
    [VT_OP_ATTENTION] = "o = softmax(q k^T / sqrt(HS), masked) v, head by head",
    [VT_OP_PROJECTED] = "attention with its projections wq, wk, wv, wo and their biases",
    [VT_OP_CROSSENTROPY] = "loss = -log softmax(logits / temperature)[target], row by row",
    [VT_OP_BLOCK] = "GPT-2's block: x + attention(ln1 x), then + mlp(ln2 .)",
    [VT_OP_GPT] = "a whole GPT, tokens to the loss of each",
    [VT_OP_LAB] = "the code lab's model: one attention, projection, mean loss",
};

const char *vt_op_name(int i, const char **meaning)
{
    const char *name = i >= 0 && i < INT_MAX ? graph_op_name(i + 1) : NULL;
    if (meaning) *meaning = name ? meanings[i + 1] : NULL;
    return name;
}

void vt_op_report_free(vt_op_report *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->ncases; i++) free(r->cases[i].rows);
    free(r->cases);
    r->cases = NULL;
    r->ncases = 0;
}

void vt_self_report_free(vt_self_report *r)
{
    if (!r) return;
    free(r->rows);
    r->rows = NULL;
}

/* ---- words ------------------------------------------------------------------ */

static vt_status op_of(const char *name, int *op, vt_error *err)
{
    char list[200] = "";
    *op = name ? graph_op_of(name) : 0;
    if (*op) return VT_OK;
    for (int i = 1; graph_op_name(i); i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s",
                 i == 1 ? "" : graph_op_name(i + 1) ? ", " : " or ", graph_op_name(i));
    }
    return fail(err, VT_USAGE, "--op%s%.60s: expected %s", name ? " " : "", name ? name : "", list);
}

static vt_status precision_of(const char *name, int most, precision *p, vt_error *err)
{
    for (int i = 0; i <= most; i++)
        if (strcmp(name, precision_name((precision)i)) == 0) {
            *p = (precision)i;
            return VT_OK;
        }
    return fail(err, VT_USAGE, "--precision %.60s: expected float64%s", name,
                most == PRECISION_F32 ? " or float32" : ", float32, bfloat16 or float16");
}

/* ---- a kernel ----------------------------------------------------------------- */

void vt_kernel_defaults(vt_kernel_options *o)
{
    *o = (vt_kernel_options){ .seed = 42, .seconds = 10 };
}

vt_status vt_check_kernel(const vt_kernel_options *o, vt_check_progress *progress, void *context,
                          vt_op_report *report, vt_error *err)
{
    kernel_check_options k = { .f32 = true, .f64 = true, .all = o->all, .only = o->only,
                               .seed = o->seed, .name = o->kernel };
    const kernel_host_options h = { .seconds = o->seconds, .compiler = o->compiler,
                                    .include = o->include, .temporary = o->temporary };
    kernel_host *host = NULL;
    precision p = PRECISION_F64;
    vt_error why;
    memset(report, 0, sizeof *report);
    vt_status s = op_of(o->op, &k.op, err);
    if (s == VT_OK && o->precision) {
        s = precision_of(o->precision, PRECISION_F32, &p, err);
        k.f64 = p == PRECISION_F64;
        k.f32 = !k.f64;
        k.must = true;
    }
    if (s == VT_OK && !(o->seconds > 0 && o->seconds <= 86400))
        s = fail(err, VT_USAGE, "--seconds %g: expected a number above 0, at most 86400", o->seconds);
    if (s) return s;
    report->seed = o->seed;
    snprintf(report->op, sizeof report->op, "%s", graph_op_name(k.op));
    s = kernel_host_open(&host, o->kernel, &h, &why);
    if (s) {                    /* a report too where it crashed, hung or left while it was loaded */
        snprintf(report->note, sizeof report->note, "%.*s", (int)sizeof report->note - 1, why.text);
        return fail(err, s, "%s", why.text);
    }
    const op_kernel hosted = op_kernel_hosted(host);
    s = kernel_check(report, &hosted, &k, progress, context, err);
    kernel_host_free(host);
    return s;
}

/* ---- a dump -------------------------------------------------------------------- */

void vt_dump_defaults(vt_dump_options *o)
{
    *o = (vt_dump_options){ .layout = "bthd", .temperature = 1, .seed = 42 };
}

/* Outputs and gradients that the file lacks. */
static void dump_unchecked(vt_op_report *r, const vt_op_case *c)
{
    const size_t size = sizeof r->unchecked;
    for (size_t i = 0; i < c->nrows; i++) {
        const vt_op_row *row = &c->rows[i];
        const bool tensor = row->kind == VT_ROW_OUTPUT || row->kind == VT_ROW_GRADIENT;
        const size_t used = strlen(r->unchecked);
        if (tensor && row->result == VT_ROW_UNDECIDED && used < size)
            snprintf(r->unchecked + used, size - used, "%s%s", used ? ", " : "not in the file, not checked: ",
                     row->name);
    }
}

static vt_status dump_report(vt_op_report *report, const dump_options *d, vt_error *err)
{
    vt_op_case *c = calloc(1, sizeof *c);
    if (!c) return fail_memory(err, sizeof *c, "a report");
    report->cases = c;
    report->ncases = report->planned = 1;
    report->seed = d->seed;
    snprintf(report->op, sizeof report->op, "%s", graph_op_name(d->op));
    const vt_status s = dump_check(c, d, report->note, sizeof report->note, err);
    dump_unchecked(report, c);
    report->pass = c->pass;
    report->failed = !c->pass;
    report->compared = c->compared;
    report->of = c->of;
    report->worst = c->worst;
    return s == VT_CHECK_FAILED ? kernel_check_say(c, d->file, report->op, err) : s;
}

vt_status vt_check_dump(const vt_dump_options *o, vt_op_report *report, vt_error *err)
{
    dump_options d = { .file = o->file, .causal = o->causal, .temperature = o->temperature,
                       .heads = o->heads, .degenerate = o->degenerate, .seed = o->seed };
    memset(report, 0, sizeof *report);
    vt_status s = op_of(o->op, &d.op, err);
    if (s == VT_OK && o->precision) {
        s = precision_of(o->precision, PRECISION_F16, &d.p, err);
        d.has_precision = true;
    }
    if (s == VT_OK && strcmp(o->layout, "bthd") != 0 && strcmp(o->layout, "bhtd") != 0)
        s = fail(err, VT_USAGE, "--layout %.60s: expected bthd or bhtd", o->layout);
    d.bhtd = strcmp(o->layout, "bhtd") == 0;
    if (s == VT_OK) s = dump_report(report, &d, err);
    return s;
}

/* ---- the check itself ------------------------------------------------------------ */

vt_status vt_check_self_test(size_t correct, uint64_t seed, int threads,
                             vt_check_progress *progress, void *context, vt_self_report *report,
                             vt_error *err)
{
    return self_test(report, correct, seed, threads, progress, context, err);
}

/* ---- a case as a file -------------------------------------------------------------- */

vt_status vt_op_write(vt_op_written *out, const char *op, size_t number, uint64_t seed,
                      const char *path, vt_error *err)
{
    graph_sizes z;
    op_case c;
    vt_op_case head;
    precision p;
    double scale;
    int kind;
    *out = (vt_op_written){ .of = 0 };
    vt_status s = op_of(op, &kind, err);
    if (s) return s;
    while (kernel_check_case(kind, (int)out->of + 1, seed, &z, &scale, &p) &&
           p == PRECISION_F64 && scale == 1)
        out->of++;
    if (number < 1 || number > out->of)
        return fail(err, VT_USAGE, "case %zu: expected 1 to %zu", number, out->of);
    (void)kernel_check_case(kind, (int)number, seed, &z, &scale, &p);
    if ((s = op_case_draw(&c, &z, p, scale, seed + number, err))) return s;
    op_judge_head(&head, &c);
    memcpy(out->sizes, head.sizes, sizeof out->sizes);
    s = case_file_op(&c, path, err);
    op_case_free(&c);
    return s;
}
