/* diagnose_search.c -- the hypotheses, in order, and what each of them predicts.
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
#include "verify/diagnose_search.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


element search_element(const search *s, int tensor, bool gradient, size_t i)
{
    const size_t at = s->g->tensor[tensor].at + i;
    if (gradient)
        return (element){ s->f->dx[at], s->c->start[at] + s->c->dx[at], s->c->edx[at] };
    return (element){ s->f->x[at], s->c->x[at], s->c->ex[at] };
}

bool element_bad(const element *e) { return !(fabs(e->found - e->right) <= e->bound); }

/* ---- agreement ------------------------------------------------------------------ */

typedef struct agreement { double share, squares; size_t count; bool seen; } agreement;

/* Distance of two numbers that may be NaN or Inf; NaN is like NaN and like Inf. */
static double distance(double a, double b)
{
    if (!isfinite(a) || !isfinite(b)) return isfinite(a) == isfinite(b) ? 0 : (double)INFINITY;
    return fabs(a - b);
}

/* b may be NaN: then a. */
static double larger(double a, double b) { return b > a ? b : a; }

/* Of one tensor with what is predicted for it. */
static agreement agree(const search *s, int tensor, bool gradient, const double *predicted)
{
    const graph_tensor *t = &s->g->tensor[tensor];
    double largest = 0, right = 0, change = 0, worst = 0, at_worst = 0;
    agreement a = { 0, 0, t->count, true };
    for (size_t i = 0; i < t->count; i++) {
        const element e = search_element(s, tensor, gradient, i);
        const double p = predicted[t->at + i];
        if (isfinite(p)) largest = larger(largest, fabs(p));
        if (isfinite(p)) change = larger(change, fabs(p - e.right));
        right = larger(right, fabs(e.right));
    }
    const double growth = largest > right && right > 0 ? largest / right : 1;
    for (size_t i = 0; i < t->count; i++) {
        const element e = search_element(s, tensor, gradient, i);
        const double p = predicted[t->at + i], d = distance(e.found, p);
        const double bound = 2 * e.bound * growth + 16 * s->u * larger(change, fabs(p));
        if (d > 0) a.share = larger(a.share, bound > 0 ? d / bound : (double)INFINITY);
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
                          agreement *sum)
{
    const bool *const has = gradient ? s->f->has_dx : s->f->has_x;
    if (!has[tensor]) return true;
    const agreement a = agree(s, tensor, gradient, predicted);
    sum->squares += a.squares;
    sum->count += a.count;
    return a.share <= 1 && a.seen;
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
        if (!add_agreement(s, g->out[i], false, s->x, sum) && !all) return false;
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
            if (s->done[g->in[j]] == i && !add_agreement(s, g->in[j], true, s->dx, sum) && !all)
                return false;
    }
    /* Made before node `last`, as they are: all residuals are means over the same elements. */
    for (int j = 0; j < g->nin; j++)
        if (s->done[g->in[j]] > last && !add_agreement(s, g->in[j], true, s->dx, sum) && !all)
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
    if (mode == FAULT_IN_BACKWARD) {
        memcpy(s->x, s->c->x, s->g->reals * sizeof *s->x);
        for (int i = 0; i < s->g->nout; i++)
            if (!add_agreement(s, s->g->out[i], false, s->x, sum) && !all) return false;
        return predict_backward(s, f, last, s->c->x, sum, all);
    }
    if (!predict_forward(s, f, first, sum, all)) return false;
    if (mode == FAULT_IN_FORWARD) return s->failing_dx == 0;
    const fault of_out = { .rule = RULE_ATT_ROW_SUM_OF_OUT };
    const fault *back = mode == FAULT_IN_BOTH ? f : mode == FAULT_IN_OUT ? &of_out : NULL;
    return predict_backward(s, back, last, s->x, sum, all);
}

/* ---- one hypothesis --------------------------------------------------------------- */

/* Whether what failed is what a fault of the mode could have changed. */
static bool possible(const search *s, int mode)
{
    if (mode == FAULT_IN_BACKWARD) return s->failing_x == 0 && s->failing_dx > 0;
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
static bool try_one(search *s, hypothesis *h)
{
    agreement a;
    if (s->spent > s->most || !possible(s, h->mode)) return false;
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
            right = fmax(right, fabs(search_element(s, t, gradient, i).right));
        for (size_t i = 0; i < g->tensor[t].count; i++) {
            const element e = search_element(s, t, gradient, i);
            const size_t at = g->tensor[t].at + i;
            const double p = gradient ? pdx[at] : px[at], d = gradient ? ddx[at] : dx[at];
            const double w = e.bound + s->u * right + 1e-300;
            if (!isfinite(e.found) || !isfinite(p) || !isfinite(d)) continue;
            *dr += d / w * ((e.found - p) / w);
            *dd += d / w * (d / w);
        }
    }
}

/* Newton's method on the fault's value, from h->fault.value, which is the right one. */
static bool try_value(search *s, hypothesis *h)
{
    const size_t n = s->g->reals;
    agreement a;
    double v = h->fault.value;
    if (s->spent > s->most || !possible(s, h->mode)) return false;
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
        if (try_one(s, h)) return true;
    }
    for (int digits = 1; digits < 17; digits++) {       /* the shortest that explains */
        snprintf(h->named, sizeof h->named, "%.*g", digits, v);
        if (sscanf(h->named, "%lf", &h->fault.value) != 1) return false;
        if (fabs(h->fault.value - v) > 1e-2 * fabs(v)) continue;
        if (try_one(s, h)) return true;
    }
    return false;
}

static int lowest(unsigned slots)
{
    int s = 0;
    while (!(slots >> s & 1)) s++;
    return s;
}

/* The factor of a contribution, by least squares: gradients are linear in it. */
static void try_factor(search *s, hypothesis *h, unsigned slots)
{
    const graph *g = s->g;
    agreement a;
    double dr, dd, value;
    char name[40];
    fault_kind kind = FAULT_SCALE_WRONG;
    const int slot = lowest(slots);
    h->fault = (fault){ .rule = RULE_SCALE, .slots = slots, .value = 0 };
    if (s->spent > s->most || !possible(s, FAULT_IN_BACKWARD)) return;
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
        if (try_one(s, h)) return;
    }
    h->rank++;
    h->kind = FAULT_SCALE_WRONG;
    h->fault.value = c;
    h->named[0] = '\0';
    try_one(s, h);
}

/* ---- the hypotheses of some nodes --------------------------------------------------- */

/* The numbers to try with a rule: tiles, values of masks, variants. */
static int numbers(fault_rule r, const int **list)
{
    static const int tiles[] = { 1, 2, 3, 4, 8, 16, 32, 64 };
    static const int minus[] = { 10000, 1000000000, 100, 1000, 100000, 30000,     /* not to q, k */
                                 -10000, -1000000000, -100, -1000, -100000, -30000 };
    static const int variants[] = { 0, 1, 2 };
    switch (r) {
    case RULE_ATT_KEY_TAIL: case RULE_ATT_TILE_LEAK: case RULE_ATT_NO_RESCALE:
    case RULE_ATT_NO_RESCALE_SUM: case RULE_SOFT_NO_RESCALE: case RULE_ATT_WINDOW:
        *list = tiles;
        return sizeof tiles / sizeof *tiles;
    case RULE_ATT_MASK_MINUS: case RULE_ATT_MASK_ADD:
        *list = minus;
        return sizeof minus / sizeof *minus;
    case RULE_CE_TARGET_NEXT: case RULE_CE_TARGET_PREVIOUS: case RULE_ATT_MAX_FROM_ZERO:
        *list = variants;
        return 3;
    case RULE_ATT_NO_SUM: case RULE_SOFT_NO_SUM:
    case RULE_ATT_ONE_MORE: case RULE_ATT_MASK_INVERTED: case RULE_ATT_LSE_NO_MAX:
    case RULE_ATT_RESCORED: case RULE_ATT_RESCORED_LSE:
    case RULE_ATT_ASSIGN_DQ: case RULE_ATT_ASSIGN_DK: case RULE_ATT_ASSIGN_DV:
        *list = variants;
        return 2;
    default:
        *list = variants;
        return 1;
    }
}

/* A rule that knows the kind of node, in one mode. */
static void try_rule(search *s, hypothesis *h, fault_rule r)
{
    const int *list, count = numbers(r, &list);
    const int S = s->g->node[h->node].S ? s->g->node[h->node].S : s->g->node[h->node].V;
    h->fault = (fault){ .rule = r };
    h->kind = fault_table(r)->kind;
    h->rank = (int)r;
    h->named[0] = '\0';
    h->fault.value = r == RULE_LN_EPS ? 1e-5 : r == RULE_GELU_K0 ? 0.79788456080286535588
                     : r == RULE_GELU_K1 ? 0.044715
                     : r == RULE_ATT_SCALE_VALUE ? 1 / sqrt(s->g->node[h->node].HS) : 0;
    if (h->fault.value > 0) {
        try_value(s, h);
        return;
    }
    for (int i = 0; i < count; i++) {
        h->fault.number = list[i];
        if (list[0] == 1 && (list[i] >= S || (r == RULE_ATT_KEY_TAIL && S % list[i] == 0))) continue;
        snprintf(h->named, sizeof h->named, "%d", abs(list[i]));
        try_one(s, h);
    }
}

static void try_rules(search *s, hypothesis *h, graph_kind kind)
{
    for (fault_rule r = RULE_FIRST_OF_NODES; r < RULE_COUNT; r++) {
        if (fault_table(r)->node != kind) continue;
        for (h->mode = FAULT_IN_BACKWARD; h->mode <= FAULT_IN_OUT; h->mode *= 2)
            if ((fault_table(r)->passes & h->mode) && possible(s, h->mode)) try_rule(s, h, r);
    }
}

static fault_kind kind_of_move(const graph_tensor *t, const fault *f)
{
    const char *axis = f->axis < t->rank ? t->axis[f->axis] : "row";
    if (f->move == MOVE_SWAP || f->move == MOVE_SWAP_BACK) return FAULT_TRANSPOSED;
    if (f->move >= MOVE_Q_K && f->move <= MOVE_Q_V) return FAULT_SWAPPED;
    if (strcmp(axis, "head") == 0) return FAULT_HEADS_SWAPPED;
    return strcmp(axis, "batch") == 0 ? FAULT_BATCH_MIXED : FAULT_POSITION_SHIFT;
}

static void try_fit(search *s, hypothesis *h)
{
    const graph_node *n = &s->g->node[h->node];
    if (fault_fits(&h->fault, s->g, n)) try_one(s, h);
}

static void try_keeps(search *s, hypothesis *h, fault_rule rule, unsigned slots)
{
    static const int tiles[] = { 2, 3, 4, 8, 16, 32, 64 };
    for (int axis = 0; axis <= FAULT_AXIS_ROWS; axis++)
    for (fault_keep k = KEEP_NOT_LAST; k < KEEP_COUNT; k++) {
        const bool tiled = k >= KEEP_TILES;
        for (size_t i = 0; i < (tiled ? sizeof tiles / sizeof *tiles : 1); i++) {
            h->fault = (fault){ .rule = rule, .slots = slots, .axis = axis, .keep = k,
                                .number = tiled ? tiles[i] : 0 };
            h->kind = FAULT_ROWS_MISSING;
            try_fit(s, h);
            if (rule != RULE_KEEP_ROWS || (k != KEEP_LAST && k != KEEP_LAST_TILE)) continue;
            h->fault.assign = true;
            h->kind = FAULT_OVERWRITTEN;
            try_fit(s, h);
        }
    }
}

static void try_moves(search *s, hypothesis *h, fault_rule rule, int slot, unsigned slots)
{
    const graph_node *n = &s->g->node[h->node];
    const bool of_out = rule == RULE_MOVE_ROWS || rule == RULE_OUT_MOVED;
    const bool reads = rule == RULE_READ_MOVED || rule == RULE_READ_MOVED_TWO;
    for (int axis = 0; axis <= FAULT_AXIS_ROWS; axis++)
    for (fault_move m = MOVE_REVERSE; m < MOVE_COUNT; m++)
    for (int back = 0; back <= (reads && h->mode != FAULT_IN_FORWARD); back++) {
        h->fault = (fault){ .rule = rule, .slot = slot, .slots = slots, .axis = axis, .move = m, .back = back };
        if (axis == FAULT_AXIS_ROWS && m >= MOVE_Q_K) continue;
        if (!fault_fits(&h->fault, s->g, n)) continue;
        h->kind = kind_of_move(&s->g->tensor[of_out ? n->out : n->in[slot]], &h->fault);
        try_one(s, h);
    }
}

static void try_rounded(search *s, hypothesis *h, unsigned slots)
{
    static const precision lower[] = { PRECISION_F32, PRECISION_BF16, PRECISION_F16 };
    h->kind = FAULT_ROUNDED;
    for (size_t i = 0; i < sizeof lower / sizeof *lower; i++) {
        if (precision_u(lower[i]) <= precision_u(s->c->p)) continue;
        h->fault = (fault){ .rule = RULE_ROUND, .slots = slots, .number = (int)lower[i] };
        try_fit(s, h);
    }
}

/* A factor; of several nodes, which are not linear in it together, the likely ones. */
static void try_factors(search *s, hypothesis *h, unsigned slots)
{
    static const double values[] = { 0, -1, 2 };
    static const fault_kind kinds[] = { FAULT_PATH_MISSING, FAULT_SIGN, FAULT_SCALE_WRONG };
    const graph_kind kind = s->g->node[h->node].kind;
    const bool bias = slots == 4 && (kind == GRAPH_LINEAR || kind == GRAPH_LAYERNORM);
    if (h->nodes == 1) {
        try_factor(s, h, slots);
        return;
    }
    for (int i = 0; i < 3; i++) {
        h->fault = (fault){ .rule = RULE_SCALE, .slots = slots, .value = values[i] };
        h->kind = i == 0 && bias ? FAULT_BIAS_FORGOTTEN : kinds[i];
        snprintf(h->named, sizeof h->named, "%g", values[i]);
        try_fit(s, h);
    }
}

/* Rules for the contributions to some inputs. */
static void try_slots(search *s, hypothesis *h, unsigned slots)
{
    const int base = SEARCH_FIRST_GENERIC + 100 * (h->nodes > 1), slot = lowest(slots);
    h->mode = FAULT_IN_BACKWARD;
    if (!possible(s, h->mode)) return;
    h->rank = base;
    try_factors(s, h, slots);
    h->named[0] = '\0';
    h->rank = base + 2;
    h->kind = FAULT_OVERWRITTEN;
    h->fault = (fault){ .rule = RULE_ASSIGN, .slots = slots };
    try_fit(s, h);
    h->rank = base + 3;
    h->kind = FAULT_SWAPPED;
    for (int other = slot + 1; other < GRAPH_INS; other++) {
        h->fault = (fault){ .rule = RULE_EXCHANGE, .slot = slot, .number = other };
        if (slots == (1u << slot | 1u << other)) try_fit(s, h);
    }
    h->rank = base + 4;
    try_moves(s, h, RULE_MOVE, slot, slots);
    h->rank = base + 5;
    try_keeps(s, h, RULE_KEEP_ROWS, slots);
    h->rank = base + 6;
    try_keeps(s, h, RULE_KEEP, slots);
    h->rank = base + 7;
    try_moves(s, h, RULE_MOVE_ROWS, slot, slots);
    h->rank = base + 8;
    try_rounded(s, h, slots);
}

/* Inputs that are left out, subtracted, doubled; outputs with a factor. */
static void try_scaled(search *s, hypothesis *h)
{
    static const double values[] = { 0, -1, 2, 0.5 };
    const graph_node *n = &s->g->node[h->node];
    h->rank = SEARCH_FIRST_GENERIC + 25;
    for (int slot = 0; slot < GRAPH_INS && h->mode != FAULT_IN_BACKWARD; slot++)
    for (int i = 0; i < 4; i++) {
        const bool bias = slot == 2 && (n->kind == GRAPH_LINEAR || n->kind == GRAPH_LAYERNORM);
        h->fault = (fault){ .rule = RULE_READ_SCALED, .slot = slot, .value = values[i], .back = true };
        h->kind = values[i] < 0 ? FAULT_SIGN : values[i] > 0 ? FAULT_SCALE_WRONG
                  : bias ? FAULT_BIAS_FORGOTTEN : FAULT_PATH_MISSING;
        snprintf(h->named, sizeof h->named, "%g", values[i]);
        try_fit(s, h);
    }
    h->rank = SEARCH_FIRST_GENERIC + 24;
    h->kind = FAULT_SCALE_WRONG;
    h->fault = (fault){ .rule = RULE_OUT_SCALE, .value = 1 };
    if (h->mode != FAULT_IN_BACKWARD) try_value(s, h);
    h->named[0] = '\0';
}

/* What is read or written elsewhere, in any pass. */
static void try_reads(search *s, hypothesis *h)
{
    const graph_node *n = &s->g->node[h->node];
    h->named[0] = '\0';
    for (h->mode = FAULT_IN_BACKWARD; h->mode <= FAULT_IN_BOTH; h->mode *= 2) {
        if (!possible(s, h->mode)) continue;
        h->rank = SEARCH_FIRST_GENERIC + 20;
        for (int slot = 0; slot < GRAPH_INS; slot++)
            if (n->in[slot] >= 0 && s->g->tensor[n->in[slot]].role < GRAPH_INTEGERS)
                try_moves(s, h, RULE_READ_MOVED, slot, 0);
        if (n->kind == GRAPH_ATTENTION) try_moves(s, h, RULE_READ_MOVED_TWO, 1, 0);
        h->rank = SEARCH_FIRST_GENERIC + 23;
        h->kind = FAULT_WRONG_FACTOR;
        for (int slot = 0; slot < GRAPH_INS && h->nodes == 1; slot++)
            for (int t = 0; t < s->g->ntensors; t++) {
                h->fault = (fault){ .rule = RULE_READ_OTHER, .slot = slot, .number = t };
                try_fit(s, h);
                h->fault.back = true;
                if (n->stage[0] >= 0) try_fit(s, h);
            }
        try_scaled(s, h);
        if (h->mode == FAULT_IN_BACKWARD || h->mode == FAULT_IN_BOTH) continue;
        h->named[0] = '\0';
        h->rank = SEARCH_FIRST_GENERIC + 21;
        try_moves(s, h, RULE_OUT_MOVED, 0, 0);
        h->rank = SEARCH_FIRST_GENERIC + 22;
        try_keeps(s, h, RULE_OUT_KEEP, 0);
    }
}

/* ---- which nodes ------------------------------------------------------------------------ */

/* A node's name without its layer: "ln_1" of "h.0.ln_1". */
static const char *role(const graph_node *n)
{
    const char *p = n->name;
    if (n->layer < 0 || strncmp(p, "h.", 2) != 0) return p;
    p = strchr(p + 2, '.');
    return p ? p + 1 : n->name;
}

typedef enum group { GROUP_NODE, GROUP_ROLE, GROUP_KIND } group;

/* Sets the members that go with node `i`; false where the group is not led by it (its last
 * node leads) or is no other than a smaller group. */
static bool set_members(search *s, group which, int i, int *count)
{
    const graph *g = s->g;
    const graph_node *n = &g->node[i];
    int alike = 0;
    *count = 0;
    for (int j = 0; j < g->nnodes; j++) {
        const bool same = g->node[j].kind == n->kind;
        const bool named = same && strcmp(role(&g->node[j]), role(n)) == 0;
        s->member[j] = which == GROUP_NODE ? j == i : which == GROUP_ROLE ? named : same;
        *count += s->member[j];
        alike += named;
        if (s->member[j] && j > i) return false;
    }
    if (which == GROUP_ROLE) return *count > 1;
    return which == GROUP_NODE || *count > alike;
}

/* Whether the members' gradients, of the output or of `slots`, flow to all that is wrong. */
static bool group_reaches(const search *s, unsigned slots)
{
    const graph *g = s->g;
    for (int j = 0; j < g->nin; j++) {
        bool some = !s->bad_dx[g->in[j]];
        for (int i = 0; i < g->nnodes && !some; i++) {
            if (s->member[i] && slots == 0) some = s->reach[g->node[i].out * g->ntensors + g->in[j]];
            for (int k = 0; k < GRAPH_INS && s->member[i] && !some; k++) {
                const int t = g->node[i].in[k];
                some = (slots >> k & 1) && t >= 0 && s->reach[t * g->ntensors + g->in[j]];
            }
        }
        if (!some) return false;
    }
    return true;
}

/* Whether each of the slots has a part in what is wrong: its gradient flows to a wrong one. */
static bool all_needed(const search *s, const graph_node *n, unsigned slots)
{
    const graph *g = s->g;
    for (int k = 0; k < GRAPH_INS; k++) {
        bool some = !(slots >> k & 1);
        if (!some && (n->in[k] < 0 || g->tensor[n->in[k]].role >= GRAPH_INTEGERS)) return false;
        for (int j = 0; j < g->nin && !some; j++)
            some = s->bad_dx[g->in[j]] && s->reach[n->in[k] * g->ntensors + g->in[j]];
        if (!some) return false;
    }
    return true;
}

static void try_group(search *s, group which, int phase)
{
    const graph *g = s->g;
    hypothesis h = { .rank = 0 };
    for (int i = g->nnodes; i-- > 0;) {
        const graph_node *n = &g->node[i];
        if (!set_members(s, which, i, &h.nodes)) continue;
        h.node = i;
        if (s->failing_x == 0 && !group_reaches(s, 0)) continue;
        if (phase == 0) try_rules(s, &h, n->kind);
        if (phase == 2) try_reads(s, &h);
        for (unsigned slots = 1; phase == 1 && slots < 1u << GRAPH_INS; slots++)
            if (all_needed(s, n, slots) && group_reaches(s, slots)) try_slots(s, &h, slots);
    }
}

void search_hypotheses(search *s)
{
    const double close = 0.25;          /* what no other could explain much better */
    for (int phase = 0; phase < 3 && !(s->has_best && s->best.residual < close); phase++)
        for (group which = GROUP_NODE; which <= GROUP_KIND; which++) try_group(s, which, phase);
}
