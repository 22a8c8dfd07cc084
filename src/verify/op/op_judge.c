/* op_judge.c -- see op_judge.h. */
#include "verify/op/op_judge.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verify/diagnosis/diagnose.h"

/* ---- rows ----------------------------------------------------------------- */

vt_op_row *op_row(vt_op_case *out, const char *name, vt_row_kind kind, vt_status *status,
                  vt_error *err)
{
    vt_op_row *more = realloc(out->rows, (out->nrows + 1) * sizeof *more);
    if (!more) {
        *status = fail_memory(err, (out->nrows + 1) * sizeof *more, "a report");
        return NULL;
    }
    out->rows = more;
    vt_op_row *row = &more[out->nrows++];
    memset(row, 0, sizeof *row);
    snprintf(row->name, sizeof row->name, "%s", name);
    row->kind = kind;
    *status = VT_OK;
    return row;
}

void op_row_note(vt_op_row *row, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(row->note, sizeof row->note, format, list);
    va_end(list);
}

vt_status op_row_lacking(vt_op_case *out, const char *name, vt_row_kind kind, size_t of,
                         const char *why, vt_error *err)
{
    vt_status s;
    vt_op_row *row = op_row(out, name, kind, &s, err);
    if (!row) return s;
    row->of = of;
    row->result = VT_ROW_UNDECIDED;
    op_row_note(row, "%s", why);
    return VT_OK;
}

vt_status op_judge_degenerate(vt_op_case *out, const op_case *c, bool allowed, vt_error *err)
{
    char why[180];
    vt_status s;
    if (!op_case_degenerate(c, why, sizeof why)) return VT_OK;
    vt_op_row *row = op_row(out, "not degenerate", VT_ROW_VERDICT, &s, err);
    if (!row) return s;
    row->result = allowed ? VT_ROW_UNDECIDED : VT_ROW_FAIL;
    op_row_note(row, "%s", why);
    return VT_OK;
}

/* " B 2", where the operator has that size. */
static void append_size(char *out, size_t size, const char *name, int value)
{
    const size_t used = strlen(out);
    if (value > 0 && used < size)
        snprintf(out + used, size - used, "%s%s %d", used ? ", " : "", name, value);
}

static void append_word(char *out, size_t size, const char *word)
{
    const size_t used = strlen(out);
    if (used < size) snprintf(out + used, size - used, "%s%s", used ? ", " : "", word);
}

void op_judge_head(vt_op_case *out, const op_case *c)
{
    const graph_sizes *z = &c->z;
    const struct { const char *name; int value; } sizes[] = {
        { "N", z->N }, { "C", z->C }, { "OC", z->OC }, { "V", z->V }, { "B", z->B },
        { "T", z->T }, { "S", z->S }, { "NH", z->NH }, { "HS", z->HS }, { "FF", z->FF },
        { "L", z->L },
    };
    char *text = out->sizes;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        append_size(text, sizeof out->sizes, sizes[i].name, sizes[i].value);
    const bool attends = z->op == VT_OP_ATTENTION || z->op == VT_OP_PROJECTED;
    if (attends && z->causal) append_word(text, sizeof out->sizes, "causal");
    if (attends && z->masked) append_word(text, sizeof out->sizes, "masked");
    if (z->op == VT_OP_CROSSENTROPY || z->op == VT_OP_LAB) {
        char temperature[40];
        snprintf(temperature, sizeof temperature, "temperature %g", z->temperature);
        append_word(text, sizeof out->sizes, temperature);
    }
    if (z->mean > 0) {
        char mean[40];
        snprintf(mean, sizeof mean, "mean %g", z->mean);
        append_word(text, sizeof out->sizes, mean);
    }
    snprintf(out->precision, sizeof out->precision, "%s", precision_name(c->p));
    out->scale = c->scale;
}

/* ---- outputs and gradients -------------------------------------------------- */

double op_share(double expected, double found, double bound)
{
    const double error = fabs(found - expected);
    if (!isfinite(found)) return INFINITY;
    if (error == 0) return 0;
    const double share = error / bound;
    return share >= 0 ? share : INFINITY;           /* a NaN is beyond, too */
}

void op_row_meet(vt_op_row *row, const graph_tensor *t, size_t i, double expected, double found,
                 double bound)
{
    const double share = op_share(expected, found, bound);
    row->compared++;
    if (!(share <= 1)) row->failed++;
    if (row->compared > 1 && !(share > row->budget_used)) return;
    row->budget_used = share;
    row->expected = expected;
    row->found = found;
    row->bound = bound;
    char index[sizeof row->index];
    graph_index(index, sizeof index, t, i);
    snprintf(row->index, sizeof row->index, "%s%.94s", row->kind == VT_ROW_GRADIENT ? "d" : "",
             index);
    graph_entry(row->where, sizeof row->where, t, i);
}

static void end_row(vt_op_row *row)
{
    row->result = row->compared > 0 && row->failed == 0 ? VT_ROW_PASS : VT_ROW_FAIL;
    if (row->failed) op_row_note(row, "%zu of %zu elements are beyond their bound", row->failed,
                                 row->of);
}

/* Where a bound is above all values, to be within it says nothing. */
static void end_tensor(vt_op_row *row, const op_case *c, int tensor, bool gradient)
{
    char why[200];
    end_row(row);
    if (row->result != VT_ROW_PASS) return;
    if (diagnose_check(c, tensor, gradient, why, sizeof why) == CHECK_FINE) return;
    row->result = VT_ROW_UNDECIDED;
    op_row_note(row, "%s", why);
}

static vt_status judge_output(vt_op_case *out, const op_case *c, const op_found *f, int tensor,
                              vt_error *err)
{
    const graph_tensor *t = &c->g.tensor[tensor];
    vt_status s;
    vt_op_row *row = op_row(out, t->name, VT_ROW_OUTPUT, &s, err);
    if (!row) return s;
    row->of = t->count;
    for (size_t i = 0; i < t->count; i++)
        op_row_meet(row, t, i, c->x[t->at + i], f->x[t->at + i], c->ex[t->at + i]);
    end_tensor(row, c, tensor, false);
    return VT_OK;
}

static vt_status judge_gradient(vt_op_case *out, const op_case *c, const op_found *f, int tensor,
                                vt_error *err)
{
    const graph_tensor *t = &c->g.tensor[tensor];
    char name[GRAPH_NAME + 1];
    vt_status s;
    snprintf(name, sizeof name, "d%s", t->name);
    vt_op_row *row = op_row(out, name, VT_ROW_GRADIENT, &s, err);
    if (!row) return s;
    row->of = t->count;
    for (size_t i = t->at; i < t->at + t->count; i++)
        op_row_meet(row, t, i - t->at, c->start[i] + c->dx[i], f->dx[i], c->edx[i]);
    end_tensor(row, c, tensor, true);
    return VT_OK;
}

vt_status op_judge_tensors(vt_op_case *out, const op_case *c, const op_found *f, vt_error *err)
{
    vt_status s = VT_OK;
    for (int i = 0; i < c->g.nout && s == VT_OK; i++)
        if (f->has_x[c->g.out[i]]) s = judge_output(out, c, f, c->g.out[i], err);
    for (int i = 0; i < c->g.nin && s == VT_OK; i++)
        if (f->has_dx[c->g.in[i]]) s = judge_gradient(out, c, f, c->g.in[i], err);
    return s;
}

vt_status op_judge_again(vt_op_case *out, const op_case *c, const double *dx, vt_error *err)
{
    vt_status s;
    vt_op_row *row = op_row(out, "other upstream", VT_ROW_GRADIENT, &s, err);
    if (!row) return s;
    for (int k = 0; k < c->g.nin; k++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[k]];
        for (size_t i = t->at; t->role == GRAPH_INPUT && i < t->at + t->count; i++)
            op_row_meet(row, t, i - t->at, c->start[i] + c->dx[i], dx[i], c->edx[i]);
    }
    row->kind = VT_ROW_VERDICT;             /* its elements were counted as gradients */
    row->of = row->compared;
    end_row(row);
    if (row->failed)
        op_row_note(row, "with another upstream gradient %zu of %zu elements are beyond their bound",
                    row->failed, row->of);
    return VT_OK;
}

/* ---- does backward add? ----------------------------------------------------- */

/* A tensor's gradient as it would be, had nothing been there before. */
static bool overwritten(const op_case *c, const op_found *f, const graph_tensor *t)
{
    bool differs = false;
    for (size_t i = t->at; i < t->at + t->count; i++) {
        if (!(fabs(f->dx[i] - c->dx[i]) <= c->edx[i])) return false;
        if (!(fabs(f->dx[i] - (c->start[i] + c->dx[i])) <= c->edx[i])) differs = true;
    }
    return differs;
}

vt_status op_judge_adds(vt_op_case *out, const op_case *c, const op_found *f, vt_error *err)
{
    vt_status s;
    vt_op_row *row = op_row(out, "backward adds", VT_ROW_EXACT, &s, err);
    if (!row) return s;
    for (int i = 0; i < c->g.nin; i++) {
        const graph_tensor *t = &c->g.tensor[c->g.in[i]];
        if (!f->has_dx[c->g.in[i]]) continue;
        row->compared++;
        if (!overwritten(c, f, t)) continue;
        if (!row->failed++)
            op_row_note(row, "d%s holds the gradient alone: what was there before is gone", t->name);
    }
    row->of = row->compared;
    row->result = row->compared == 0 ? VT_ROW_UNDECIDED
                                     : row->failed ? VT_ROW_FAIL : VT_ROW_PASS;
    return VT_OK;
}

/* ---- in sum ----------------------------------------------------------------- */

void op_judge_end(vt_op_case *out)
{
    bool any = false, whole = true;
    out->compared = out->of = out->failed = 0;
    out->worst = 0;
    for (size_t i = 0; i < out->nrows; i++) {
        const vt_op_row *row = &out->rows[i];
        if (row->result == VT_ROW_FAIL) out->failed++;
        if (row->kind != VT_ROW_OUTPUT && row->kind != VT_ROW_GRADIENT) continue;
        any = any || row->compared > 0;
        whole = whole && (row->compared == row->of || row->result == VT_ROW_UNDECIDED);
        out->compared += row->compared;
        out->of += row->of;
        if (!(row->budget_used <= out->worst)) out->worst = row->budget_used;
    }
    out->pass = any && out->failed == 0 && whole && !out->finding[0];
}

const vt_op_row *op_judge_first(const vt_op_case *out)
{
    const vt_op_row *first = NULL;
    for (size_t i = 0; i < out->nrows; i++) {
        const vt_op_row *row = &out->rows[i];
        const bool tensor = row->kind == VT_ROW_OUTPUT || row->kind == VT_ROW_GRADIENT;
        if (row->result != VT_ROW_FAIL) continue;
        if (tensor) return row;
        if (!first) first = row;
    }
    return first;
}
