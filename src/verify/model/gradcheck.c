/* gradcheck.c -- the whole check of a model, and what its parts share.  See
 * gradcheck.h.
 */
#include "verify/model/gradcheck.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "verify/model/adjoint.h"
#include "verify/model/degenerate.h"
#include "verify/model/exact.h"
#include "verify/model/model_diagnose.h"

double gradcheck_share(double error, double bound)
{
    if (error == 0 && bound >= 0) return 0;
    const double used = error / bound;
    return isfinite(used) && isfinite(bound) ? used : (double)INFINITY;
}

double gradcheck_largest(const double *x, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n && !isnan(largest); i++)
        if (!(fabs(x[i]) <= largest)) largest = fabs(x[i]);
    return largest;
}

void gradcheck_raise(double *largest, double x)
{
    if (!(x <= *largest) && !isnan(*largest)) *largest = x;
}

void exact_add(exact_sum *s, double x)
{
    const double sum = s->sum + x;
    s->lost += fabs(s->sum) >= fabs(x) ? (s->sum - sum) + x : (x - sum) + s->sum;
    s->sum = sum;
}

void gradcheck_note(vt_check_report *report, const char *format, ...)
{
    if (report->nnotes == VT_CHECK_NOTES) return;
    va_list args;
    va_start(args, format);
    vsnprintf(report->notes[report->nnotes++], sizeof report->notes[0], format, args);
    va_end(args);
}

/* ---- the whole check --------------------------------------------------- */

/* VT_CHECK_FAILED ends nothing: what else there is to see is wanted too. */
static bool broken(vt_status s) { return s != VT_OK && s != VT_CHECK_FAILED; }

/* Keeps of two rows, at two points, what fails or comes nearer to it. */
static void merge_row(vt_check_row *row, const vt_check_row *other)
{
    const bool pass = row->pass && other->pass;
    const size_t compared = row->compared, of = row->of;
    const vt_check_row first = *row;
    if (other->budget_used > row->budget_used) *row = *other;
    const vt_check_row *fast = other->fast_budget_used > first.fast_budget_used ? other : &first;
    row->fast_budget_used = fast->fast_budget_used;
    row->fast_entry = fast->fast_entry;
    row->fast_expected = fast->fast_expected;
    row->fast_found = fast->fast_found;
    memcpy(row->fast_place, fast->fast_place, sizeof row->fast_place);
    const vt_check_row *few = other->differences_budget_used > first.differences_budget_used
                            ? other : &first;
    row->differences_budget_used = few->differences_budget_used;
    row->differences_entry = few->differences_entry;
    row->differences_value = few->differences_value;
    row->differences_bar = few->differences_bar;
    row->differences_found = few->differences_found;
    memcpy(row->differences_place, few->differences_place, sizeof row->differences_place);
    const vt_check_row *along = other->direction_budget_used > first.direction_budget_used
                              ? other : &first;
    row->direction_budget_used = along->direction_budget_used;
    row->direction_expected = along->direction_expected;
    row->direction_found = along->direction_found;
    row->differences_compared = first.differences_compared + other->differences_compared;
    row->differences_resolved = first.differences_resolved + other->differences_resolved;
    row->compared = compared;
    row->of = of;
    if (other->worst > row->worst) row->worst = other->worst;
    row->pass = pass;
}

static void merge(vt_check_report *report, const vt_check_report *other)
{
    size_t compared = 0;
    report->failed = 0;
    for (size_t k = 0; k < report->nrows && k < other->nrows; k++) {
        merge_row(&report->rows[k], &other->rows[k]);
        report->failed += !report->rows[k].pass;
        compared += other->rows[k].compared;
    }
    if (other->worst > report->worst) report->worst = other->worst;
    if (other->direction_budget_used > report->direction_budget_used) {
        report->direction_budget_used = other->direction_budget_used;
        report->direction_expected = other->direction_expected;
        report->direction_found = other->direction_found;
    }
    report->pass = report->pass && other->pass;
    if (other->diagnosis.kind[0] || !report->diagnosed) {   /* the point that can tell more */
        report->diagnosed = other->diagnosed;
        report->diagnosis = other->diagnosis;
    }
    gradcheck_note(report, "at the second point %zu entries were compared; shares shown are the "
                   "larger of both", compared);
}

/* One point: gradients, their judgement, and, of the point that can tell the most,
 * layers and what is exact. */
static vt_status check_point(vt_check_report *report, const gradcheck_case *c,
                             const vt_check_options *o, bool all, vt_check_progress *progress,
                             void *context, vt_error *err)
{
    gradcheck_grads g;
    vt_status s = gradcheck_compute(&g, c, o->seed, err);
    if (s) return s;
    s = gradcheck_judge(report, c, &g, o, progress, context, err);
    if (s == VT_CHECK_FAILED && report->compared > 0) model_diagnose(report, c, &g);
    if (all && !broken(s)) {
        vt_status more = adjoint_all(report, c, o->seed, err);
        if (more == VT_OK) more = exact_checks(report, c, &g, o->seed, err);
        if (more) s = more;
    }
    gradcheck_free(&g);
    return s;
}

/* The line for what fails where every gradient passes. */
static vt_status say_rest(vt_check_report *report, vt_error *err)
{
    for (size_t k = report->nlayers; k-- > 0;) {        /* as the backward pass meets them */
        const vt_check_layer *l = &report->layers[k];
        if (l->pass) continue;
        report->pass = false;
        return fail(err, VT_CHECK_FAILED, "%s: its backward pass is not the adjoint of its forward "
                    "pass: <J^T v, u> is %.17g, <v, J u> %.17g", l->name, l->found, l->expected);
    }
    for (size_t k = 0; k < report->nexact; k++) {
        const vt_check_exact *e = &report->exact[k];
        if (e->pass) continue;
        report->pass = false;
        return fail(err, VT_CHECK_FAILED, "%s: %s", e->name, e->detail);
    }
    return VT_OK;
}

/* Bytes at the widest place, about: the gradients that are judged, and beside them the
 * models of the adjoint identity, those of the points where rounding is measured, or
 * those of the entries (of one thread: fewer share what there is).  SIZE_MAX where that
 * overflows. */
static size_t memory_of(const gradcheck_case *c)
{
    const double n = (double)gpt_parameter_count(c->z), head = (double)c->z->C * c->z->V;
    const double acts = (double)gpt_acts_bytes_c128(c->z, c->B, c->T, c->T, false)
                      + (double)gpt_acts_bytes_f64(c->z, c->B, c->T, c->T, true);
    const double models = 16 + 8 + 4, rest = 8 + 4 + 8 + 8;
    const double needed = 12 * n + (models * (n + head) + rest * n) + 2 * acts;
    return needed < (double)SIZE_MAX / 2 ? (size_t)needed : SIZE_MAX;
}

/* Said before anything is computed where it is more than there is. */
static vt_status check_memory(const gradcheck_case *c, vt_error *err)
{
    const size_t needed = memory_of(c), memory = cpu_memory();
    if (memory == 0 || needed <= memory) return VT_OK;
    return fail_memory(err, needed, "the check of this model at this --batch and --seq");
}

vt_status gradcheck_run(vt_check_report *report, const gradcheck_case *c,
                        const vt_check_options *o, vt_check_progress *progress, void *context,
                        vt_error *err)
{
    vt_check_report seen = { .nnotes = 0 }, again = { .rows = NULL };
    second_point second;
    vt_error first_line = { "" }, line = { "" };
    *report = (vt_check_report){ .rows = NULL };
    /* Ids are checked before anything counts on them. */
    vt_status s = gradcheck_check_ids(c, err), s2 = VT_OK;
    if (s || (s = check_memory(c, err))) return s;
    s = second_point_make(&second, &seen, c, o->seed, err);
    if (s == VT_OK) s = check_point(report, c, o, !second.wanted, progress, context, &first_line);
    if (broken(s)) goto done;
    memcpy(report->notes, seen.notes, sizeof report->notes);
    report->nnotes = seen.nnotes;
    if (second.wanted && report->nrows > 0) {
        vt_check_options fewer = *o;
        if (fewer.entries > 8) fewer.entries = 8;       /* it is the first that is asked for */
        if (fewer.differences > 1) fewer.differences = 1;
        s2 = check_point(&again, &second.c, &fewer, true, progress, context, &line);
        if (broken(s2)) {
            s = s2;
            first_line = line;
            goto done;
        }
        merge(report, &again);
        report->layers = again.layers;
        report->nlayers = again.nlayers;
        report->exact = again.exact;
        report->nexact = again.nexact;
    }
    if (s == VT_OK && s2) {
        s = s2;
        fail(&first_line, s2, "at the second point: %s", line.text);
    }
    const vt_status rest = say_rest(report, s == VT_OK ? &first_line : &line);
    if (s == VT_OK) s = rest;
done:
    if (s && err && first_line.text[0]) *err = first_line;
    free(again.rows);
    second_point_free(&second);
    return s;
}
