/* grade_explain.c -- why a tensor is wrong, in the learner's words.
 *
 * First what a second call tells: a gradient that does not depend on what it started from
 * is assigned.  Then the diagnosis, a faulty function that gives just these numbers
 * (verify/diagnosis/diagnose.h), as far as it concerns what a learner of this exercise writes.  Then
 * patterns of the one tensor: a constant factor, which may be one of the exercise's
 * numbers; rows that are not to be counted; a first row that alone is right.  Last, what
 * the line computes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "lab/grade_slips.h"
#include "lab/grade_trial.h"
#include "lab/grade_words.h"

/* The first wrong tensor: its place in the blocks. */
typedef struct wrong_tensor {
    const exercise_tensor *e;
    size_t at, count;
} wrong_tensor;

static bool is_wrong(const grading *g, const trial *t, size_t i)
{
    return !(fabs(trial_found(g, t, i) - trial_expected(g, t, i)) <= trial_bound(g, t, i));
}

static void forget(char *text, const char *part)
{
    char *at = strstr(text, part);
    const size_t n = strlen(part);
    if (at) memmove(at, at + n, strlen(at + n) + 1);
}

static void say(const grading *g, fault_kind kind, const char *what, const char *hint)
{
    vt_grade_report *out = g->out;
    out->kind = fault_kind_name(kind);
    grade_say(out->what, sizeof out->what, what, g->e, g->f);
    forget(out->what, ", in the forward pass");         /* it is one of one pass */
    forget(out->what, ", in the backward pass");
    forget(out->what, " (in attention)");
    forget(out->what, " (in crossentropy)");
    snprintf(out->hint, sizeof out->hint, "%s", hint);
}

/* ---- a gradient that was not added to ------------------------------------------ */

/* Nothing, or zeros to rounding. */
static bool nothing_added(const grading *g, const trial *t, const wrong_tensor *w)
{
    bool added = false;
    for (size_t i = w->at; i < w->at + w->count; i++) {
        if (!(fabs(t->found.dx[i] - t->c.start[i]) <= t->c.edx[i])) return false;
        if (t->found.dx[i] != t->c.start[i]) added = true;
    }
    snprintf(g->out->what, sizeof g->out->what, added ? "what is added to %s is 0, but for rounding"
             : "nothing was added to %s", g->out->tensor);
    g->out->kind = fault_kind_name(FAULT_ZERO);
    snprintf(g->out->hint, sizeof g->out->hint, "%s", w->e->slip);
    return true;
}

/* Called again with another start; *assigned: what is wrong does not feel it. */
static vt_status is_assigned(const grading *g, size_t i, const trial *before,
                             const wrong_tensor *w, bool *assigned, vt_error *err)
{
    trial t;
    *assigned = false;
    vt_status s = trial_new(&t, g, i, err);
    for (size_t k = w->at; s == VT_OK && k < w->at + w->count; k++)
        t.c.start[k] += 1 + fabs(t.c.start[k]);
    if (s == VT_OK) s = trial_call(g, &t, err);
    *assigned = s == VT_OK && t.outcome.end == KERNEL_OK;
    for (size_t k = w->at; *assigned && k < w->at + w->count; k++)
        if (is_wrong(g, before, k) && t.found.dx[k] != before->found.dx[k]) *assigned = false;
    trial_free(&t);
    return s;
}

/* ---- the diagnosis --------------------------------------------------------------- */

/* Of the exercise's own line, not of what only other kernels have. */
static bool concerns(const diagnosis *d, const trial *t, const wrong_tensor *w)
{
    const bool attention = d->node >= 0 && t->c.g.node[d->node].kind == GRAPH_ATTENTION;
    switch (d->kind) {
    case FAULT_NONE: case FAULT_UNKNOWN: case FAULT_ROUNDED: case FAULT_ONE_ENTRY: case FAULT_ZERO:
        return false;
    case FAULT_SCALE_MISSING: case FAULT_SCALE_WRONG:
        return attention || t->c.z.op == VT_OP_LAYERNORM;
    case FAULT_PATH_MISSING:
        return t->c.z.op != VT_OP_LAB || strcmp(w->e->name, "X") == 0;
    default:
        return true;
    }
}

static void tell(const grading *g, const trial *t, const diagnosis *d, const wrong_tensor *w)
{
    const grade_hint *h = grade_hint_of(g->e, g->f, d->kind);
    const bool scale = d->kind == FAULT_SCALE_MISSING || d->kind == FAULT_SCALE_WRONG;
    const bool elsewhere = d->kind == FAULT_SWAPPED || d->kind == FAULT_WRONG_FACTOR;
    char what[128], hint[sizeof g->out->hint];
    if (scale && t->c.z.op == VT_OP_LAYERNORM) h = NULL;
    const char *text = h ? h->text : elsewhere || !d->hint[0] ? w->e->slip : d->hint;
    const char *sentence = h && h->what ? h->what : d->sentence;
    if (d->kind == FAULT_PATH_MISSING && g->e->op == VT_OP_LAB && d->node >= 0) {
        snprintf(what, sizeof what, "dx lacks its path through %s", t->c.g.node[d->node].name);
        sentence = what;
    }
    if (h) grade_size_words(hint, sizeof hint, text, g->e);
    else grade_say(hint, sizeof hint, text, g->e, g->f);
    const graph_kind kind = d->node >= 0 ? t->c.g.node[d->node].kind : GRAPH_KINDS;
    if (d->kind == FAULT_SIGN && g->f->pass == VT_KERNEL_BACKWARD &&
        (kind == GRAPH_CROSSENTROPY || kind == GRAPH_MEAN)) {
        sentence = "dlogits has the wrong sign";
        snprintf(hint, sizeof hint, "the softmax of the logits, less 1 at the target: not the other "
                 "way round");
    }
    say(g, d->kind, sentence, hint);
}

/* ---- patterns ---------------------------------------------------------------------- */

/* The factor between all of what was found and what should be; 0: there is none. */
static double factor_of(const grading *g, const trial *t, const wrong_tensor *w)
{
    const bool adds = g->f->pass == VT_KERNEL_BACKWARD;
    double above = 0, below = 0;
    for (size_t i = w->at; i < w->at + w->count; i++) {
        const double expected = adds ? t->c.dx[i] : t->c.x[i];
        const double found = trial_found(g, t, i) - (adds ? t->c.start[i] : 0);
        above += found * expected;
        below += expected * expected;
    }
    const double factor = above / below;
    if (!(fabs(factor) > 1e-9) || !isfinite(factor)) return 0;
    for (size_t i = w->at; i < w->at + w->count; i++) {
        const double expected = adds ? t->c.dx[i] : t->c.x[i];
        const double found = trial_found(g, t, i) - (adds ? t->c.start[i] : 0);
        const double room = 4 * (1 + fabs(factor)) * trial_bound(g, t, i);
        if (!(fabs(found - factor * expected) <= room)) return 0;
    }
    return factor;
}

typedef struct factor_name {
    double value;
    fault_kind kind;
    const char *text;           /* "T times too large" */
} factor_name;

static bool by_factor(const grading *g, const trial *t, const wrong_tensor *w)
{
    const graph_sizes *z = &t->c.z;
    const double factor = factor_of(g, t, w), T = z->T, D = z->HS, tau = z->temperature;
    const int loss = graph_find(&t->c.g, "loss");
    const double dloss = z->op == VT_OP_LAB ? t->c.dout[t->c.g.tensor[loss].at] : 0;
    const factor_name names[] = {
        { -1, FAULT_SIGN, "has the other sign" },
        { T, FAULT_SUM_FOR_MEAN, "is T times too large: a sum where a mean is meant?" },
        { 1 / T, FAULT_MEAN_FOR_SUM, "is divided by T once too often" },
        { sqrt(D), FAULT_SCALE_MISSING, "is sqrt(HS) times too large" },
        { D, FAULT_SCALE_WRONG, "is HS times too large" },
        { 1 / sqrt(D), FAULT_SCALE_WRONG, "is divided by sqrt(HS) once too often" },
        { tau, FAULT_TEMPERATURE, "is not divided by the temperature" },
        { tau * tau, FAULT_TEMPERATURE, "is multiplied by the temperature, not divided by it" },
        { 1 / tau, FAULT_TEMPERATURE, "is divided by the temperature once too often" },
        { 1 / dloss, FAULT_UPSTREAM_IGNORED, "is not multiplied by dloss" },
        { 1 / dloss / T, FAULT_UPSTREAM_IGNORED, "is not multiplied by dloss, and divided by T twice" },
        { 2, FAULT_SCALE_WRONG, "is twice what it should be" },
        { 0.5, FAULT_SCALE_WRONG, "is half of what it should be" },
    };
    char what[200];
    if (factor == 0 || w->count < 2) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!(fabs(factor - names[i].value) <= 1e-9 * fabs(factor)) || names[i].value == 1) continue;
        snprintf(what, sizeof what, "%s %s", g->out->tensor, names[i].text);
        say(g, names[i].kind, what, w->e->slip);
        return true;
    }
    snprintf(what, sizeof what, "all of %s is %.6g times what it should be", g->out->tensor, factor);
    say(g, FAULT_SCALE_WRONG, what, w->e->slip);
    return true;
}

/* One number, the loss: the factors that can be told from it. */
static bool by_loss(const grading *g, const trial *t, const wrong_tensor *w)
{
    if (w->count != 1 || g->f->pass != VT_KERNEL_FORWARD || t->c.z.T < 2) return false;
    const double ratio = trial_found(g, t, w->at) / trial_expected(g, t, w->at);
    if (!isfinite(ratio)) return false;
    if (fabs(ratio - t->c.z.T) <= 1e-9 * ratio) {
        say(g, FAULT_SUM_FOR_MEAN, "the loss is T times too large",
            grade_hint_of(g->e, g->f, FAULT_SUM_FOR_MEAN)->text);
        return true;
    }
    if (fabs(ratio + 1) <= 1e-9) {
        say(g, FAULT_SIGN, "the loss has the other sign", w->e->slip);
        return true;
    }
    return false;
}

/* All that is wrong belongs to targets of -1. */
static bool by_ignored(const grading *g, const trial *t, const wrong_tensor *w)
{
    const int target = graph_find(&t->c.g, "target");
    if (t->c.z.op != VT_OP_CROSSENTROPY || target < 0) return false;
    const int *y = t->c.ints + t->c.g.tensor[target].at;
    const size_t row = w->count / t->c.g.tensor[target].count;
    for (size_t k = 0; k < w->count; k++)
        if (is_wrong(g, t, w->at + k) && y[k / row] != VT_IGNORE) return false;
    const grade_hint *h = grade_hint_of(g->e, g->f, FAULT_IGNORED_TARGET);
    say(g, h->kind, h->what, h->text);
    return true;
}

/* The first row right, all others wrong somewhere: what is carried from row to row? */
static bool first_row_alone(const grading *g, const trial *t, const wrong_tensor *w)
{
    const size_t rows = (size_t)exercise_size(&t->c.z, w->e->axes[0]);
    const bool free_rows = w->e->axes[0] == 'N' || g->e->op == VT_OP_ATTENTION;
    if (strlen(w->e->axes) < 2 || rows < 3 || !free_rows) return false;
    const size_t row = w->count / rows;
    for (size_t r = 0; r < rows; r++) {
        size_t wrong = 0;
        for (size_t k = 0; k < row; k++) wrong += is_wrong(g, t, w->at + r * row + k);
        if ((r == 0) != (wrong == 0)) return false;
    }
    return true;
}

static void by_line(const grading *g, const trial *t, const wrong_tensor *w)
{
    vt_grade_report *out = g->out;
    const bool first = first_row_alone(g, t, w);
    out->kind = fault_kind_name(FAULT_UNKNOWN);
    snprintf(out->what, sizeof out->what, "%s is not what it should be%s", out->tensor,
             first ? ": its first row is right, none of the others" : "");
    snprintf(out->hint, sizeof out->hint, "%s%s", w->e->slip, first ? ". Does every sum start from "
             "0 for every row?" : "");
}

/* ---- all together -------------------------------------------------------------------- */

vt_status grade_explain(const grading *g, size_t i, const trial *t, const exercise_tensor *first,
                        vt_error *err)
{
    int number;
    const graph_tensor *tensor = trial_tensor(&t->c, first, &number);
    const wrong_tensor w = { .e = first, .at = tensor->at, .count = tensor->count };
    diagnosis d;
    grade_slip slip;
    bool assigned = false;
    vt_status s = VT_OK;
    g->out->verdict = VT_GRADE_WRONG;
    if (grade_slip_of(g, t, first, &slip)) {
        g->out->kind = fault_kind_name(slip.kind);
        snprintf(g->out->what, sizeof g->out->what, "%s", slip.what);
        snprintf(g->out->hint, sizeof g->out->hint, "%s", slip.hint ? slip.hint : first->slip);
        return VT_OK;
    }
    if (g->f->pass == VT_KERNEL_BACKWARD) {
        if (nothing_added(g, t, &w)) return VT_OK;
        s = is_assigned(g, i, t, &w, &assigned, err);
    }
    if (s == VT_OK) s = diagnose(&d, &t->c, &t->found, err);
    if (s) return s;
    if (assigned) {
        char what[128];
        snprintf(what, sizeof what, "%s is assigned, not added to: what was there before is lost",
                 g->out->tensor);
        say(g, FAULT_OVERWRITTEN, what, grade_hint_of(g->e, g->f, FAULT_OVERWRITTEN)->text);
    } else if (by_loss(g, t, &w)) return VT_OK;
    else if (concerns(&d, t, &w)) tell(g, t, &d, &w);
    else if (!by_ignored(g, t, &w) && !by_factor(g, t, &w)) by_line(g, t, &w);
    return VT_OK;
}
