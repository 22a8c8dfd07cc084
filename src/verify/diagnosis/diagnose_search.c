/* diagnose_search.c -- what a hypothesis predicts, and whether that is what was found.
 *
 * A fault in the backward pass leaves the outputs right; one in the forward pass does
 * not.  So what is beyond its bound says which passes to try, and which nodes: a
 * node's fault reaches the gradients of what it was made from and no others.
 * A prediction is dropped at the first tensor that disagrees, which for nearly all of
 * them is one of the same node or the next.
 *
 * Agreement: |found - predicted| <= 2 bound max(1, growth) + 16 u max(|predicted|, D),
 * where growth is by how much the tensor's largest element is larger than the right
 * one's and D the largest change that the fault makes in it: what a fault made larger
 * also rounds more.  And the fault must be seen: where a tensor is wrong, its worst
 * element must be better explained than left alone.
 */
#include "verify/diagnosis/diagnose_search.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static element element_at(const search *s, bool gradient, size_t at)
{
    if (gradient)
        return (element){ s->f->dx[at], s->c->start[at] + s->c->dx[at], s->c->edx[at] };
    return (element){ s->f->x[at], s->c->x[at], s->c->ex[at] };
}

element search_element(const search *s, int tensor, bool gradient, size_t i)
{
    return element_at(s, gradient, s->g->tensor[tensor].at + i);
}

bool element_bad(const element *e) { return !(fabs(e->found - e->right) <= e->bound); }

/* ---- agreement ------------------------------------------------------------------ */

/* Distance of two numbers that may be NaN or Inf; NaN is like NaN and like Inf. */
static double distance(double a, double b)
{
    if (!isfinite(a) || !isfinite(b)) return isfinite(a) == isfinite(b) ? 0 : (double)INFINITY;
    return fabs(a - b);
}

/* b may be NaN: then a. */
static double larger(double a, double b) { return b > a ? b : a; }

/* Of one tensor with what is predicted for it; not `all`: up to the first element that
 * disagrees. */
static agreement agree(const search *s, int tensor, bool gradient, const double *predicted, bool all)
{
    const graph_tensor *t = &s->g->tensor[tensor];
    double largest = 0, right = 0, change = 0, worst = 0, at_worst = 0;
    agreement a = { 0, 0, t->count, true };
    for (size_t i = 0; i < t->count; i++) {
        const element e = element_at(s, gradient, t->at + i);
        const double p = predicted[t->at + i];
        if (isfinite(p)) largest = larger(largest, fabs(p));
        if (isfinite(p)) change = larger(change, fabs(p - e.right));
        right = larger(right, fabs(e.right));
    }
    const double growth = largest > right && right > 0 ? largest / right : 1;
    for (size_t i = 0; i < t->count; i++) {
        const element e = element_at(s, gradient, t->at + i);
        const double p = predicted[t->at + i], d = distance(e.found, p);
        const double bound = 2 * e.bound * growth + 16 * s->u * larger(change, fabs(p));
        if (d > 0) a.share = larger(a.share, bound > 0 ? d / bound : (double)INFINITY);
        if (a.share > 1 && !all) return a;
        a.squares += d > 0 ? d * d / ((e.bound + s->u * right) * (e.bound + s->u * right)) : 0;
        const double beyond = distance(e.found, e.right) / (e.bound + s->u * right + 1e-300);
        if (beyond > worst) {
            worst = beyond;
            at_worst = d / (distance(e.found, e.right) + 1e-300);
        }
    }
    if (gradient ? s->bad_dx[tensor] : s->bad_x[tensor]) a.seen = at_worst < 0.5 || !(worst < (double)INFINITY);
    return a;
}

/* ---- predictions ------------------------------------------------------------------- */

static double cost(const graph *g, const graph_node *n)
{
    const double out = (double)g->tensor[n->out].count;
    switch (n->kind) {
    case GRAPH_LINEAR:    return 3 * out * n->C;
    case GRAPH_ATTENTION: return 8 * out * n->S;
    case GRAPH_SOFTMAX: case GRAPH_CROSSENTROPY: case GRAPH_GELU: return 20 * out;
    default:              return 4 * out;
    }
}

/* Compares one tensor, adds to *sum; false where it disagrees. */
static bool add_agreement(const search *s, int tensor, bool gradient, const double *predicted,
                          agreement *sum, bool all)
{
    const bool *const has = gradient ? s->f->has_dx : s->f->has_x;
    if (!has[tensor]) return true;
    const agreement a = agree(s, tensor, gradient, predicted, all);
    sum->squares += a.squares;
    sum->count += a.count;
    return a.share <= 1 && a.seen;
}

/* The right outputs, which is what each fault in the backward pass predicts: compared once. */
static bool add_outputs(search *s, agreement *sum)
{
    if (!s->outputs_known) {
        s->outputs = (agreement){ 0, 0, 0, true };
        for (int i = 0; i < s->g->nout; i++)
            if (!add_agreement(s, s->g->out[i], false, s->c->x, &s->outputs, true)) s->outputs.seen = false;
        s->outputs_known = true;
    }
    sum->squares += s->outputs.squares;
    sum->count += s->outputs.count;
    return s->outputs.seen;
}

/* The outputs with the fault in the members' forward pass; false: they disagree. */
static bool predict_forward(search *s, const fault *f, int first, agreement *sum, bool all)
{
    const graph *g = s->g;
    memcpy(s->x, s->c->x, g->reals * sizeof *s->x);
    for (int i = first; i < g->nnodes; i++) {
        const graph_node *n = &g->node[i];
        if (s->member[i]) fault_forward(f, g, n, s->x, s->c->ints, &s->work);
        else graph_node_forward_f64(g, n, s->x, s->c->ints);
        s->spent += cost(g, n);
    }
    for (int i = 0; i < g->nout; i++)
        if (!add_agreement(s, g->out[i], false, s->x, sum, all) && !all) return false;
    return true;
}

/* The state of the gradients before node `last` in the backward pass, all being right. */
static void begin_at(search *s, int last)
{
    const graph *g = s->g;
    if (s->kept_at < last) {
        memcpy(s->kept, s->begin, g->reals * sizeof *s->kept);
        s->kept_at = g->nnodes - 1;
    }
    for (; s->kept_at > last; s->kept_at--) {
        graph_node_backward_f64(g, &g->node[s->kept_at], s->kept, s->c->x, s->c->ints);
        s->spent += cost(g, &g->node[s->kept_at]);
    }
    memcpy(s->dx, s->kept, g->reals * sizeof *s->dx);
}

/* The gradients with the fault (f NULL: a right backward of the wrong forward). */
static bool predict_backward(search *s, const fault *f, int last, const double *x, agreement *sum,
                             bool all)
{
    const graph *g = s->g;
    if (x == s->c->x) begin_at(s, last);
    else {
        memcpy(s->dx, s->begin, g->reals * sizeof *s->dx);
        last = g->nnodes - 1;
    }
    for (int i = last; i >= 0; i--) {
        const graph_node *n = &g->node[i];
        if (f && s->member[i]) fault_backward(f, g, n, s->dx, x, s->c->ints, &s->work);
        else graph_node_backward_f64(g, n, s->dx, x, s->c->ints);
        s->spent += cost(g, n);
        for (int j = 0; j < g->nin; j++)
            if (s->done[g->in[j]] == i && !add_agreement(s, g->in[j], true, s->dx, sum, all) && !all)
                return false;
    }
    /* Made before node `last`, as they are: all residuals are means over the same elements. */
    for (int j = 0; j < g->nin; j++)
        if (s->done[g->in[j]] > last && !add_agreement(s, g->in[j], true, s->dx, sum, all) && !all)
            return false;
    return true;
}

/* `all`: predicts everything, also what disagrees. */
static bool predict(search *s, const fault *f, int mode, agreement *sum, bool all)
{
    int first = s->g->nnodes, last = -1;
    for (int i = 0; i < s->g->nnodes; i++) {
        if (!s->member[i]) continue;
        if (i < first) first = i;
        last = i;
    }
    *sum = (agreement){ 0, 0, 0, true };
    if (mode == FAULT_IN_BACKWARD || mode == FAULT_IN_BACKWARD_LSE) {
        fault back = *f;
        back.of_lse = mode == FAULT_IN_BACKWARD_LSE;
        back.lse = RULE_ATT_ROW_SUM_OF_OUT;
        if (all) memcpy(s->x, s->c->x, s->g->reals * sizeof *s->x);
        if (!add_outputs(s, sum) && !all) return false;
        return predict_backward(s, &back, last, s->c->x, sum, all);
    }
    if (!predict_forward(s, f, first, sum, all)) return false;
    if (mode == FAULT_IN_FORWARD) return s->failing_dx == 0;
    fault back = *f;
    if (mode == FAULT_IN_OUT || mode == FAULT_IN_OUT_LSE) back.rule = RULE_ATT_ROW_SUM_OF_OUT;
    back.of_lse = mode >= FAULT_IN_OUT_LSE;
    back.lse = f->rule;
    return predict_backward(s, mode == FAULT_IN_SAVED ? NULL : &back, last, s->x, sum, all);
}

/* ---- one hypothesis --------------------------------------------------------------- */

bool search_possible(const search *s, int mode)
{
    if (mode == FAULT_IN_BACKWARD || mode == FAULT_IN_BACKWARD_LSE) return s->failing_x == 0 && s->failing_dx > 0;
    if (s->found_x && s->failing_x == 0) return false;
    if (mode == FAULT_IN_FORWARD) return s->failing_x > 0 && s->failing_dx == 0;
    return s->failing_dx > 0;
}

static void keep(search *s, const hypothesis *h)
{
    const double close = 2;             /* residuals that are as good as equal */
    if (!s->has_best) {
        s->best = *h;
        s->has_best = true;
        return;
    }
    const bool better = h->residual * close < s->best.residual
                        || (h->residual < close * s->best.residual && h->rank < s->best.rank);
    const bool equal = h->residual < close * s->best.residual
                       && s->best.residual < close * h->residual;
    /* Both are told where both know the kind of node, or neither does and they rank alike:
     * "overwritten" says no more than "this path is missing". */
    const bool alike = h->rank == s->best.rank || (h->rank < SEARCH_FIRST_GENERIC && s->best.rank < SEARCH_FIRST_GENERIC);
    if (h->kind != s->best.kind && equal && alike && !s->has_other) {
        s->other = better ? s->best : *h;
        s->has_other = true;
    }
    if (!better) return;
    if (!equal || !alike) s->has_other = false;
    s->best = *h;
    if (s->has_other && s->other.kind == s->best.kind) s->has_other = false;
}

/* Tries h in its mode with the members set; true where it explains. */
bool search_try(search *s, hypothesis *h)
{
    agreement a;
    if (s->spent > s->most || !search_possible(s, h->mode)) return false;
    if (!predict(s, &h->fault, h->mode, &a, false)) return false;
    h->residual = fmax(1e-3, a.count ? sqrt(a.squares / (double)a.count) : 0);  /* a floor: as good as exact */
    keep(s, h);
    return true;
}

/* ---- parameters that are estimated ----------------------------------------------- */

/* Sums over what was found, weighted by the bounds: of d * (found - p), of d * d, where
 * p, d are a prediction and its change with the parameter. */
static void normal_equation(const search *s, const double *px, const double *pdx,
                            const double *dx, const double *ddx, double *dr, double *dd)
{
    const graph *g = s->g;
    *dr = *dd = 0;
    for (int k = 0; k < g->nout + g->nin; k++) {
        const bool gradient = k >= g->nout;
        const int t = gradient ? g->in[k - g->nout] : g->out[k];
        if (!(gradient ? s->f->has_dx : s->f->has_x)[t]) continue;
        double right = 0;
        for (size_t i = 0; i < g->tensor[t].count; i++)
            right = larger(right, fabs(element_at(s, gradient, g->tensor[t].at + i).right));
        for (size_t i = 0; i < g->tensor[t].count; i++) {
            const size_t at = g->tensor[t].at + i;
            const element e = element_at(s, gradient, at);
            const double p = gradient ? pdx[at] : px[at], d = gradient ? ddx[at] : dx[at];
            const double w = e.bound + s->u * right + 1e-300;
            if (!isfinite(e.found) || !isfinite(p) || !isfinite(d)) continue;
            *dr += d / w * ((e.found - p) / w);
            *dd += d / w * (d / w);
        }
    }
}

/* Newton's method on the fault's value, from h->fault.value, which is the right one. */
bool search_try_value(search *s, hypothesis *h)
{
    const size_t n = s->g->reals;
    agreement a;
    double v = h->fault.value;
    if (s->spent > s->most || !search_possible(s, h->mode)) return false;
    for (int turn = 0; turn < 12; turn++) {
        const double step = 1e-5 * fabs(v);
        double dr, dd;
        h->fault.value = v + step;
        predict(s, &h->fault, h->mode, &a, true);
        memcpy(s->x2, s->x, n * sizeof *s->x);
        memcpy(s->dx2, s->dx, n * sizeof *s->dx);
        h->fault.value = v - step;
        predict(s, &h->fault, h->mode, &a, true);
        for (size_t i = 0; i < n; i++) {
            s->x2[i] = (s->x2[i] - s->x[i]) / (2 * step);
            s->dx2[i] = (s->dx2[i] - s->dx[i]) / (2 * step);
        }
        h->fault.value = v;
        predict(s, &h->fault, h->mode, &a, true);
        normal_equation(s, s->x, s->dx, s->x2, s->dx2, &dr, &dd);
        if (!(dd > 0) || !isfinite(dr / dd)) return false;
        const double next = v + dr / dd;
        v = next > 4 * v ? 4 * v : next < v / 4 ? v / 4 : next;
        if (fabs(v - h->fault.value) < 1e-12 * fabs(v)) break;
    }
    const double n2 = round(1 / (v * v));
    if (h->fault.rule == RULE_ATT_SCALE_VALUE && n2 >= 1 && fabs(n2 * v * v - 1) < 1e-3) {
        h->fault.value = 1 / sqrt(n2);
        snprintf(h->named, sizeof h->named, "1/sqrt(%.0f)", n2);
        if (search_try(s, h)) return true;
    }
    for (int digits = 1; digits < 17; digits++) {       /* the shortest that explains */
        snprintf(h->named, sizeof h->named, "%.*g", digits, v);
        if (sscanf(h->named, "%lf", &h->fault.value) != 1) return false;
        if (fabs(h->fault.value - v) > 1e-2 * fabs(v)) continue;
        if (search_try(s, h)) return true;
    }
    return false;
}

int search_lowest(unsigned slots)
{
    int s = 0;
    while (!(slots >> s & 1)) s++;
    return s;
}

/* The factor of a contribution, by least squares: gradients are linear in it. */
void search_try_factor(search *s, hypothesis *h, unsigned slots)
{
    const graph *g = s->g;
    agreement a;
    double dr, dd, value;
    char name[40];
    fault_kind kind = FAULT_SCALE_WRONG;
    const int slot = search_lowest(slots);
    h->fault = (fault){ .rule = RULE_SCALE, .slots = slots, .value = 0 };
    if (s->spent > s->most || !search_possible(s, FAULT_IN_BACKWARD)) return;
    predict(s, &h->fault, FAULT_IN_BACKWARD, &a, true);
    for (size_t i = 0; i < g->reals; i++) {
        s->x2[i] = 0;
        s->dx2[i] = 0;
    }
    for (int j = 0; j < g->nin; j++) {
        const graph_tensor *t = &g->tensor[g->in[j]];
        for (size_t i = t->at; t->role < GRAPH_INTEGERS && i < t->at + t->count; i++)
            s->dx2[i] = s->c->start[i] + s->c->dx[i] - s->dx[i];
    }
    normal_equation(s, s->x, s->dx, s->x2, s->dx2, &dr, &dd);
    if (!(dd > 0) || !isfinite(dr / dd)) return;
    /* Generous: what is named is run, and has to explain. */
    const double c = dr / dd, spread = 64 / sqrt(dd) + 1e3 * s->u * (1 + fabs(c));
    if (search_factor(s, h->node, slot, c, spread, &value, &kind, name, sizeof name)) {
        h->fault.value = value;
        h->kind = kind;
        snprintf(h->named, sizeof h->named, "%s", name);
        if (search_try(s, h)) return;
    }
    h->rank++;
    h->kind = FAULT_SCALE_WRONG;
    h->fault.value = c;
    h->named[0] = '\0';
    search_try(s, h);
}
