/* kernel_check.c -- see kernel_check.h. */
#include "verify/op/kernel_check.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verify/diagnosis/faults.h"
#include "verify/op/op_diagnose.h"
#include "verify/op/op_exact.h"
#include "verify/op/op_judge.h"
#include "verify/op/op_verdict.h"

/* ---- the list of cases ------------------------------------------------------ */

/* Further scales, of the first shapes. */
static const double scales[] = { 1e-4, 1e-2, 1e2, 1e4 };
/* Means of the rows, in standard deviations, where there is a variance to compute: as
 * E[x^2] - mean^2 it loses the square of that. */
static const double means[] = { 1e3, 1e5 };
enum { SCALES = sizeof scales / sizeof *scales, MEANS = sizeof means / sizeof *means,
       SCALED_SHAPES = 2, PRECISIONS = 2, MOST_FAILURES = 2 };

static int shapes_of(int op, uint64_t seed)
{
    graph_sizes z;
    int n = 0;
    while (op_case_shapes(&z, n, op, seed)) n++;
    return n;
}

static int means_of(int op)
{
    return op == VT_OP_LAYERNORM || op == VT_OP_BLOCK ? MEANS : 0;
}

/* float64 first: it shows most. */
int kernel_check_cases(int op, uint64_t seed)
{
    return PRECISIONS * (shapes_of(op, seed) + (SCALES + means_of(op)) * SCALED_SHAPES);
}

bool kernel_check_case(int op, int number, uint64_t seed, graph_sizes *z, double *scale,
                       precision *p)
{
    const int each = kernel_check_cases(op, seed) / PRECISIONS;
    if (number < 1 || number > PRECISIONS * each) return false;
    const int i = (number - 1) % each, scaled = i - shapes_of(op, seed);
    const int far = scaled - SCALES * SCALED_SHAPES;        /* rows far from 0 */
    *p = number <= each ? PRECISION_F64 : PRECISION_F32;
    *scale = scaled < 0 || far >= 0 ? 1 : scales[scaled % SCALES];
    const bool found = op_case_shapes(z, scaled < 0 ? i : far < 0 ? scaled / SCALES : far / MEANS,
                                      op, seed);
    z->op = op;
    if (far >= 0) z->mean = means[far % MEANS];
    return found;
}

/* ---- one case ---------------------------------------------------------------- */

static const char *pass_name(int pass)
{
    return pass == VT_KERNEL_FORWARD ? "forward" : "backward";
}

/* What the process did, where it did not just return. */
static void note_end(vt_op_case *out, const kernel_outcome *o, int pass)
{
    if (o->said[0] && !out->said[0]) snprintf(out->said, sizeof out->said, "%.399s", o->said);
    out->hung = out->hung || o->end == KERNEL_TIMED_OUT;
    if (out->finding[0] || o->end == KERNEL_OK) return;
    snprintf(out->finding, sizeof out->finding, "%s pass: %s", pass_name(pass),
             o->end == KERNEL_UNSUPPORTED ? "returned VT_KERNEL_UNSUPPORTED, but not at first"
                                          : o->text);
}

/* An output element that was not written is a NaN, and so fails; this says why. */
static void note_unwritten(vt_op_case *out, const op_case *c, const kernel_outcome *o)
{
    char where[96];
    for (int i = 0; i < c->g.nout && i < KERNEL_OUTS; i++) {
        if (o->unwritten[i].count == 0) continue;
        const graph_tensor *t = &c->g.tensor[c->g.out[i]];
        for (size_t r = 0; r < out->nrows; r++) {
            vt_op_row *row = &out->rows[r];
            if (row->kind != VT_ROW_OUTPUT || strcmp(row->name, t->name) != 0) continue;
            graph_index(where, sizeof where, t, o->unwritten[i].first);
            op_row_note(row, "%zu of %zu elements were not written, the first is %.90s",
                        o->unwritten[i].count, t->count, where);
        }
    }
}

static void mark_found(op_found *f, const op_case *c, int passes)
{
    for (int i = 0; i < c->g.nout; i++)
        f->has_x[c->g.out[i]] = (passes & VT_KERNEL_FORWARD) != 0;
    for (int i = 0; i < c->g.nin; i++)
        f->has_dx[c->g.in[i]] = (passes & VT_KERNEL_BACKWARD) != 0 &&
                                c->g.tensor[c->g.in[i]].role == GRAPH_INPUT;
}

static const char LACKING[] = "the kernel does not have it: it returned VT_KERNEL_UNSUPPORTED";
static const char *const pass_rows[] = { "forward pass", "backward pass" };

/* A pass that the kernel has not: what it would have computed counts as not compared. */
static vt_status rows_lacking(vt_op_case *out, const op_case *c, int passes, vt_error *err)
{
    vt_status s = VT_OK;
    char name[GRAPH_NAME + 1];
    for (int pass = 0; pass < 2; pass++) {
        const bool backward = pass == 1;
        if (passes & (backward ? VT_KERNEL_BACKWARD : VT_KERNEL_FORWARD)) continue;
        s = op_row_lacking(out, pass_rows[pass], VT_ROW_VERDICT, 0, LACKING, err);
        for (int i = 0; s == VT_OK && i < (backward ? c->g.nin : c->g.nout); i++) {
            const graph_tensor *t = &c->g.tensor[backward ? c->g.in[i] : c->g.out[i]];
            if (t->role >= GRAPH_INTEGERS) continue;
            snprintf(name, sizeof name, "%s%s", backward ? "d" : "", t->name);
            s = op_row_lacking(out, name, backward ? VT_ROW_GRADIENT : VT_ROW_OUTPUT, t->count,
                               "not computed", err);
        }
    }
    return s;
}

/* Both passes, and what needs more of them. */
static vt_status run_case(vt_op_case *out, op_call *call, const op_kernel *k, op_found *f,
                          vt_error *err)
{
    const op_case *c = call->c;
    const op_values v = op_values_of(c);
    kernel_outcome forward, ended;
    vt_status s = op_call_forward(call, k, &v, f->x, &forward, err);
    if (s) return s;
    out->supported = true;
    if (forward.end == KERNEL_UNSUPPORTED) {
        call->passes &= ~VT_KERNEL_FORWARD;
        op_call_outputs(call);
    } else {
        note_end(out, &forward, VT_KERNEL_FORWARD);
        if (!kernel_ended_well(&forward)) return VT_OK;
    }
    s = op_call_backward(call, k, &v, f->dx, &ended, err);
    if (s) return s;
    if (ended.end == KERNEL_UNSUPPORTED) call->passes &= ~VT_KERNEL_BACKWARD;
    else {
        note_end(out, &ended, VT_KERNEL_BACKWARD);
        if (!kernel_ended_well(&ended)) return VT_OK;
    }
    out->supported = call->passes != 0;
    if (!out->supported) return VT_OK;
    s = rows_lacking(out, c, call->passes, err);
    if (s) return s;
    mark_found(f, c, call->passes);
    s = op_judge_tensors(out, c, f, err);
    if (s == VT_OK && call->passes & VT_KERNEL_BACKWARD) s = op_judge_adds(out, c, f, err);
    if (s) return s;
    note_unwritten(out, c, &forward);
    s = op_exact_judge(out, call, k, f, &ended, err);
    if (s == VT_OK && kernel_ended_well(&ended)) s = op_verdict_judge(out, call, k, f, &ended, err);
    if (s == VT_OK) note_end(out, &ended, call->r.call.pass);
    return s;
}

/* `alone`: it is all that is asked for, so it has to prove something. */
static vt_status one_case(vt_op_case *out, const op_kernel *k, const graph_sizes *z, precision p,
                          double scale, uint64_t seed, bool quick, bool alone, vt_error *err)
{
    op_case c;
    op_call call = { .c = NULL };
    op_found f = { .x = NULL };
    memset(out, 0, sizeof *out);
    vt_status s = op_case_draw(&c, z, p, scale, seed, err);
    if (s) return s;
    op_judge_head(out, &c);
    s = op_call_new(&call, &c, err);
    if (s == VT_OK) s = op_found_new(&f, &c, err);
    if (s == VT_OK) s = run_case(out, &call, k, &f, err);
    if (s == VT_OK && out->supported) s = op_judge_definitions(out, &c, quick, err);
    if (s == VT_OK && out->supported && alone) s = op_judge_degenerate(out, &c, false, err);
    op_judge_end(out);
    if (s == VT_OK && out->supported && !out->pass) s = op_diagnose(out, &c, f.has_x ? &f : NULL, err);
    op_found_free(&f);
    op_call_free(&call);
    op_case_free(&c);
    return s;
}

vt_status kernel_check_one(vt_op_case *out, const op_kernel *k, const graph_sizes *z, precision p,
                           double scale, uint64_t seed, bool quick, vt_error *err)
{
    return one_case(out, k, z, p, scale, seed, quick, false, err);
}

/* ---- all cases ---------------------------------------------------------------- */

static vt_op_case *new_case(vt_op_report *r, vt_error *err, vt_status *s)
{
    vt_op_case *more = realloc(r->cases, (r->ncases + 1) * sizeof *more);
    if (!more) {
        *s = fail_memory(err, (r->ncases + 1) * sizeof *more, "a report");
        return NULL;
    }
    r->cases = more;
    memset(&more[r->ncases], 0, sizeof *more);
    return &more[r->ncases++];
}

static void drop_case(vt_op_report *r)
{
    free(r->cases[--r->ncases].rows);
}

vt_status kernel_check_say(const vt_op_case *c, const char *name, const char *op, vt_error *err)
{
    const vt_op_row *row = op_judge_first(c);
    char where[200];
    snprintf(where, sizeof where, "%s: %s, case %d (%s; %s)", name, op, c->number, c->sizes,
             c->precision);
    if (c->finding[0]) return fail(err, VT_CHECK_FAILED, "%s: %s", where, c->finding);
    if (!row) return fail(err, VT_CHECK_FAILED, "%s: nothing was compared", where);
    /* As many digits as show that they differ. */
    const int digits = fabs(row->found - row->expected) < 1e-8 * fabs(row->expected) ? 17 : 9;
    if (row->index[0])
        return fail(err, VT_CHECK_FAILED, "%s: %s: expected %.*g, found %.*g%s%s", where, row->index,
                    digits, row->expected, digits, row->found, c->diagnosis.sentence[0] ? ": " : "",
                    c->diagnosis.sentence);
    return fail(err, VT_CHECK_FAILED, "%s: %s: %s", where, row->name, row->note);
}

/* ---- what a kernel has ---------------------------------------------------------- */

/* A kernel may be without a precision, a pass, or without what a kind of call asks for: a
 * causal one, one with a mask, one with a temperature.  It may not choose sizes: those at
 * which it is wrong would be the ones that it refuses.  So the first case of a kind says
 * what it has. */
enum { CAUSAL = 1, MASKED = 2, WARM = 4, KINDS = 8 };

static int kind_of(const graph_sizes *z)
{
    const bool attends = z->op == VT_OP_ATTENTION || z->op == VT_OP_PROJECTED;
    const bool loss = z->op == VT_OP_CROSSENTROPY || z->op == VT_OP_LAB;
    return (attends && z->causal ? CAUSAL : 0) + (attends && z->masked ? MASKED : 0) +
           (loss && (z->temperature < 1 || z->temperature > 1) ? WARM : 0);
}

static const char *kind_name(int op, int kind)
{
    if (op == VT_OP_CROSSENTROPY || op == VT_OP_LAB)
        return kind == WARM ? "temperatures other than 1" : "temperature 1";
    return kind == CAUSAL + MASKED ? "causal with a mask" : kind == CAUSAL ? "causal"
         : kind == MASKED ? "with a mask" : "neither causal nor with a mask";
}

typedef struct tally {
    int    failures[2];         /* by precision */
    bool   has[2], refused[2][KINDS], known[2][KINDS];
    int    lacks[2];            /* passes that the first case lacked */
    size_t skipped;
    int    first_failing;       /* index of a case; -1: none */
} tally;

static int lacking(const vt_op_case *c)
{
    int passes = c->supported ? 0 : VT_KERNEL_FORWARD | VT_KERNEL_BACKWARD;
    for (size_t i = 0; i < c->nrows; i++)
        for (int pass = 0; pass < 2; pass++)
            if (strcmp(c->rows[i].name, pass_rows[pass]) == 0)
                passes |= pass ? VT_KERNEL_BACKWARD : VT_KERNEL_FORWARD;
    return passes;
}

/* Passes that this case has and an earlier one has not, or the other way round. */
static void refuse_sizes(vt_op_case *c, int lost)
{
    const char *what = lost == VT_KERNEL_FORWARD ? "the forward pass of "
                     : lost == VT_KERNEL_BACKWARD ? "the backward pass of " : "";
    c->pass = false;
    if (lacking(c) & lost)
        snprintf(c->finding, sizeof c->finding, "refuses %s%s (VT_KERNEL_UNSUPPORTED), but not of "
                 "others: sizes may not be chosen", what, c->sizes);
    else
        snprintf(c->finding, sizeof c->finding, "refused %sother sizes (VT_KERNEL_UNSUPPORTED), but "
                 "not of these: sizes may not be chosen", what);
    c->supported = true;
    snprintf(c->diagnosis.kind, sizeof c->diagnosis.kind, "%s", fault_kind_name(FAULT_UNKNOWN));
    snprintf(c->diagnosis.sentence, sizeof c->diagnosis.sentence, "%.230s", c->finding);
    snprintf(c->diagnosis.hint, sizeof c->diagnosis.hint, "decide by op, dtype, pass, causal, "
             "mask and temperature alone what is unsupported");
}

/* Whether the case counts; false: the kernel has not what it asks for. */
static bool take_case(vt_op_case *c, tally *t, precision p, int kind)
{
    const int lacks = lacking(c);
    const bool first = !t->known[p][kind];
    t->known[p][kind] = true;
    if (!c->supported && first) {
        t->refused[p][kind] = true;
        t->skipped++;
        return false;
    }
    if (!t->has[p]) t->lacks[p] = lacks;
    t->has[p] = true;
    if (lacks != t->lacks[p]) refuse_sizes(c, lacks ^ t->lacks[p]);
    return true;
}

static vt_status run_number(vt_op_report *r, const op_kernel *k, const kernel_check_options *o,
                            int number, tally *t, vt_error *err)
{
    graph_sizes z;
    double scale;
    precision p;
    vt_status s = VT_OK;
    if (!kernel_check_case(o->op, number, o->seed, &z, &scale, &p)) return VT_OK;
    if (!(p == PRECISION_F64 ? o->f64 : o->f32)) return VT_OK;
    const int kind = kind_of(&z);
    if (t->refused[p][kind]) {
        t->skipped++;
        return VT_OK;
    }
    if (!o->all && t->failures[p] >= (o->first ? 1 : MOST_FAILURES)) return VT_OK;
    vt_op_case *c = new_case(r, err, &s);
    if (!c) return s;
    s = one_case(c, k, &z, p, scale, o->seed + (uint64_t)number, o->quick, o->only != 0, err);
    c->number = number;
    if (s) return s;
    if (!take_case(c, t, p, kind)) {
        drop_case(r);
        return VT_OK;
    }
    r->compared += c->compared;
    r->of += c->of;
    if (!(c->worst <= r->worst)) r->worst = c->worst;
    if (c->pass) return VT_OK;
    r->failed++;
    t->failures[p]++;
    if (c->hung) t->failures[0] = t->failures[1] = MOST_FAILURES;
    if (t->first_failing < 0) t->first_failing = (int)r->ncases - 1;
    return VT_OK;
}

VT_PRINTF(2, 3)
static void unchecked(vt_op_report *r, const char *format, ...)
{
    char text[160];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const size_t used = strlen(r->unchecked);
    if (strstr(r->unchecked, text)) return;
    snprintf(r->unchecked + used, sizeof r->unchecked - used, "%s%s", used ? "; " : "", text);
}

/* What a pass would not mean. */
static void say_unchecked(vt_op_report *r, const kernel_check_options *o, const tally *t)
{
    for (int p = 0; p < 2; p++) {
        if (!t->has[p]) continue;
        if (t->lacks[p] & VT_KERNEL_FORWARD) unchecked(r, "no forward pass: outputs not checked");
        if (t->lacks[p] & VT_KERNEL_BACKWARD) unchecked(r, "no backward pass: gradients not checked");
        for (int kind = 0; kind < KINDS; kind++)
            if (t->refused[p][kind]) unchecked(r, "not checked: %s", kind_name(o->op, kind));
    }
}

static vt_status conclude(vt_op_report *r, const kernel_check_options *o, const tally *t,
                          vt_error *err)
{
    const char *op = graph_op_name(o->op);
    const bool wanted[2] = { o->f64, o->f32 };
    r->planned -= t->skipped;
    for (int p = 0; p < 2; p++) {
        if (!wanted[p] || t->has[p] || (o->only && t->skipped == 0)) continue;
        snprintf(r->note, sizeof r->note, "the kernel does not have %s in %s", op,
                 precision_name(p == 0 ? PRECISION_F64 : PRECISION_F32));
        if (o->must) return fail(err, VT_BAD_INPUT, "%s: %s", o->name, r->note);
    }
    say_unchecked(r, o, t);
    if (r->ncases == 0)
        return fail(err, VT_BAD_INPUT, "%s: the kernel does not have %s: it returned "
                    "VT_KERNEL_UNSUPPORTED", o->name, op);
    if (t->first_failing >= 0)
        return kernel_check_say(&r->cases[t->first_failing], o->name, op, err);
    if (r->ncases != r->planned)
        return fail(err, VT_CHECK_FAILED, "%s: %zu of %zu cases ran", o->name, r->ncases, r->planned);
    r->pass = true;
    return VT_OK;
}

vt_status kernel_check(vt_op_report *r, const op_kernel *k, const kernel_check_options *o,
                       vt_check_progress *progress, void *context, vt_error *err)
{
    const int n = kernel_check_cases(o->op, o->seed);
    tally t = { .first_failing = -1 };
    vt_status s = VT_OK;
    memset(r, 0, sizeof *r);
    snprintf(r->op, sizeof r->op, "%s", graph_op_name(o->op));
    r->seed = o->seed;
    r->planned = (size_t)(o->only ? 1 : n / 2 * (o->f32 + o->f64));
    if (o->only > n || o->only < 0)
        return fail(err, VT_USAGE, "--case %d: expected 1 to %d", o->only, n);
    for (int i = 1; i <= n && s == VT_OK; i++) {
        if (o->only && i != o->only) continue;
        if (progress && progress(context, (size_t)(i - 1), (size_t)n))
            return fail(err, VT_INTERRUPTED, "stopped");
        s = run_number(r, k, o, i, &t, err);
    }
    return s ? s : conclude(r, o, &t, err);
}
