/* faults.c -- faults that any node can have; see faults.h.  Those of one kind of node
 * are in fault_attention.c and fault_nodes.c, their sentences in fault_table.c.
 */
#include "verify/faults.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const char *const names[] = {
    [FAULT_NONE] = "none",
#define FAULT_KIND_NAME(NAME, name) [FAULT_##NAME] = #name,
    FAULT_KIND_LIST(FAULT_KIND_NAME)
#undef FAULT_KIND_NAME
};

const char *fault_kind_name(fault_kind k) { return k < FAULT_KINDS ? names[k] : "none"; }

fault_kind fault_kind_of(const char *name)
{
    for (fault_kind k = FAULT_NONE; k < FAULT_KINDS; k++)
        if (strcmp(names[k], name) == 0) return k;
    return FAULT_NONE;
}

double fault_largest(precision p)
{
    switch (p) {
    case PRECISION_F32:  return FLT_MAX;
    case PRECISION_BF16: return 0x1.fep127;
    case PRECISION_F16:  return 65504;
    default:             return DBL_MAX;
    }
}

double fault_smallest(precision p)
{
    switch (p) {
    case PRECISION_F32:  return 0x1p-149;
    case PRECISION_BF16: return 0x1p-133;
    case PRECISION_F16:  return 0x1p-24;
    default:             return 0x1p-1074;
    }
}

/* ---- some of a tensor's elements, or all of them elsewhere ----------------- */

void fault_axis(const graph_tensor *t, int axis, size_t *length, size_t *inner)
{
    *length = *inner = 1;
    if (axis == FAULT_AXIS_ROWS) {
        if (t->rank > 0) *inner = (size_t)t->shape[t->rank - 1];
        *length = t->count / *inner;
        return;
    }
    if (axis >= t->rank) return;
    *length = (size_t)t->shape[axis];
    for (int i = axis + 1; i < t->rank; i++) *inner *= (size_t)t->shape[i];
}

static bool kept(const fault *f, size_t at, size_t length)
{
    const size_t tile = (size_t)f->number;
    switch (f->keep) {
    case KEEP_NOT_LAST:  return at + 1 < length;
    case KEEP_NOT_FIRST: return at > 0;
    case KEEP_FIRST:     return at == 0;
    case KEEP_LAST:      return at + 1 == length;
    case KEEP_TILES:     return at < length / tile * tile;
    case KEEP_ONE_TILE:  return at < tile;
    default:             return true;
    }
}

void fault_keep_elements(double *out, const double *in, const graph_tensor *t, const fault *f)
{
    size_t length, inner;
    fault_axis(t, f->axis, &length, &inner);
    for (size_t e = 0; e < t->count; e++)
        out[e] = kept(f, e / inner % length, length) ? in[e] : 0;
}

/* The tensor's elements, row-major with axis a and the one behind it exchanged; or from
 * that order back. */
static void move_swap(double *out, const double *in, const graph_tensor *t, const fault *f)
{
    size_t length, inner;
    fault_axis(t, f->axis, &length, &inner);            /* inner = next * rest */
    const size_t next = f->axis + 1 < t->rank ? (size_t)t->shape[f->axis + 1] : 1;
    const size_t rest = inner / next;
    for (size_t e = 0; e < t->count; e++) {
        const size_t r = e % rest, j = e / rest % next, i = e / inner % length;
        const size_t before = e / (length * inner);
        const size_t other = ((before * next + j) * length + i) * rest + r;
        if (f->move == MOVE_SWAP) out[other] = in[e];
        else out[e] = in[other];
    }
}

void fault_move_elements(double *out, const double *in, const graph_tensor *t, const fault *f)
{
    size_t length, inner;
    if (f->move == MOVE_SWAP || f->move == MOVE_SWAP_BACK) {
        move_swap(out, in, t, f);
        return;
    }
    fault_axis(t, f->axis, &length, &inner);
    for (size_t e = 0; e < t->count; e++) {
        const size_t at = e / inner % length;
        size_t from = at;
        switch (f->move) {
        case MOVE_REVERSE:        from = length - 1 - at; break;
        case MOVE_NEXT:           from = at + 1; break;
        case MOVE_PREVIOUS:       from = at ? at - 1 : length; break;
        case MOVE_NEXT_ROUND:     from = (at + 1) % length; break;
        case MOVE_PREVIOUS_ROUND: from = (at + length - 1) % length; break;
        default:                  from = 0; break;
        }
        out[e] = from < length ? in[e - at * inner + from * inner] : 0;
    }
}

/* Whether the parameters do anything to such a tensor. */
static bool changes(const fault *f, const graph_tensor *t, bool keeps)
{
    size_t length, inner, left = 0;
    if (f->axis != FAULT_AXIS_ROWS && f->axis >= t->rank) return false;
    if (f->axis == FAULT_AXIS_ROWS && t->rank < 3) return false;    /* it is axis 0 */
    fault_axis(t, f->axis, &length, &inner);
    if (length < 2) return false;
    if (!keeps && (f->move == MOVE_SWAP || f->move == MOVE_SWAP_BACK))
        return f->axis + 1 < t->rank && t->shape[f->axis + 1] > 1;
    if (!keeps) return true;
    for (size_t i = 0; i < length; i++) left += kept(f, i, length);
    return left > 0 && left < length;
}

bool fault_fits(const fault *f, const graph *g, const graph_node *n)
{
    const bool of_slot = f->rule < RULE_OUT_MOVED;
    if (f->rule >= RULE_FIRST_OF_NODES) return fault_table(f->rule)->node == n->kind;
    if (of_slot && (n->in[f->slot] < 0 || g->tensor[n->in[f->slot]].role >= GRAPH_INTEGERS))
        return false;
    const graph_tensor *in = of_slot ? &g->tensor[n->in[f->slot]] : NULL;
    const graph_tensor *out = &g->tensor[n->out];
    switch (f->rule) {
    case RULE_KEEP:       return changes(f, in, true);
    case RULE_MOVE:
    case RULE_READ_MOVED: return changes(f, in, false);
    case RULE_KEEP_ROWS:
    case RULE_OUT_KEEP:   return changes(f, out, true);
    case RULE_MOVE_ROWS:
    case RULE_OUT_MOVED:  return changes(f, out, false);
    case RULE_EXCHANGE:
        return f->number > f->slot && n->in[f->number] >= 0
               && g->tensor[n->in[f->number]].role < GRAPH_INTEGERS
               && g->tensor[n->in[f->number]].count == in->count && n->in[f->number] != n->in[f->slot];
    default:              return true;
    }
}

/* ---- passes ------------------------------------------------------------------ */

static double *at(const graph *g, double *block, int tensor) { return block + g->tensor[tensor].at; }

/* Contributions to the node's inputs, by the definition, from the output's gradient
 * `dout`, into w->scratch. */
static void contributions(const graph *g, const graph_node *n, const double *dout, const double *x,
                          const int *ints, const fault_work *w)
{
    const graph_tensor *out = &g->tensor[n->out];
    memcpy(at(g, w->scratch, n->out), dout, out->count * sizeof *dout);
    for (int s = 0; s < GRAPH_INS; s++) {
        if (n->in[s] < 0 || g->tensor[n->in[s]].role >= GRAPH_INTEGERS) continue;
        memset(at(g, w->scratch, n->in[s]), 0, g->tensor[n->in[s]].count * sizeof *dout);
    }
    graph_node_backward_f64(g, n, w->scratch, x, ints);
}

static void add(double *to, const double *from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] += from[i];
}

/* Adds the contributions in scratch to all inputs but `slot` and `other`. */
static void add_others(const graph *g, const graph_node *n, double *dx, const fault_work *w,
                       int slot, int other)
{
    for (int s = 0; s < GRAPH_INS; s++) {
        const int t = n->in[s];
        if (s == slot || s == other || t < 0 || g->tensor[t].role >= GRAPH_INTEGERS) continue;
        add(at(g, dx, t), at(g, w->scratch, t), g->tensor[t].count);
    }
}

/* The contribution to f->slot, in scratch, as the fault makes it; into dx. */
static void add_wrong(const fault *f, const graph *g, const graph_node *n, double *dx,
                      const fault_work *w, double *spare)
{
    const graph_tensor *t = &g->tensor[n->in[f->slot]];
    double *to = dx + t->at, *share = w->scratch + t->at;
    switch (f->rule) {
    case RULE_SCALE:  for (size_t i = 0; i < t->count; i++) share[i] *= f->value; break;
    case RULE_ASSIGN: memset(to, 0, t->count * sizeof *to); break;
    case RULE_ROUND:
        for (size_t i = 0; i < t->count; i++)
            share[i] = precision_round((precision)f->number, share[i]);
        break;
    case RULE_KEEP:   fault_keep_elements(spare, share, t, f); share = spare; break;
    case RULE_MOVE:   fault_move_elements(spare, share, t, f); share = spare; break;
    default:          break;
    }
    add(to, share, t->count);
}

void fault_backward(const fault *f, const graph *g, const graph_node *n, double *dx,
                    const double *x, const int *ints, const fault_work *w)
{
    const double *dout = dx + g->tensor[n->out].at;
    double *spare = w->scratch + g->reals;              /* a second block */
    if (f->rule >= RULE_FIRST_OF_NODES) {
        if (n->kind == GRAPH_ATTENTION) fault_attention_backward(f, g, n, dx, x, ints, w);
        else fault_node_backward(f, g, n, dx, x, ints, w);
        return;
    }
    if (f->rule >= RULE_OUT_MOVED) {
        graph_node_backward_f64(g, n, dx, x, ints);
        return;
    }
    if (f->rule == RULE_READ_MOVED) {
        /* All contributions from a block in which one input lies elsewhere. */
        const graph_tensor *t = &g->tensor[n->in[f->slot]];
        memcpy(spare, x, g->reals * sizeof *x);
        fault_move_elements(spare + t->at, x + t->at, t, f);
        contributions(g, n, dout, spare, ints, w);
        add_others(g, n, dx, w, -1, -1);
        return;
    }
    contributions(g, n, dout, x, ints, w);
    if (f->rule == RULE_EXCHANGE) {
        add_others(g, n, dx, w, f->slot, f->number);
        const int a = n->in[f->slot], b = n->in[f->number];
        add(at(g, dx, a), at(g, w->scratch, b), g->tensor[a].count);
        add(at(g, dx, b), at(g, w->scratch, a), g->tensor[a].count);
        return;
    }
    add_others(g, n, dx, w, f->slot, -1);
    if (f->rule == RULE_KEEP_ROWS || f->rule == RULE_MOVE_ROWS) {
        const graph_tensor *out = &g->tensor[n->out];
        if (f->rule == RULE_KEEP_ROWS) fault_keep_elements(spare, dout, out, f);
        else fault_move_elements(spare, dout, out, f);
        contributions(g, n, spare, x, ints, w);
    }
    add_wrong(f, g, n, dx, w, spare);
}

void fault_forward(const fault *f, const graph *g, const graph_node *n, double *x,
                   const int *ints, const fault_work *w)
{
    double *out = at(g, x, n->out), *spare = w->scratch;
    const graph_tensor *t = &g->tensor[n->out];
    if (f->rule >= RULE_FIRST_OF_NODES) {
        if (n->kind == GRAPH_ATTENTION) fault_attention_forward(f, g, n, x, ints, w);
        else fault_node_forward(f, g, n, x, ints, w);
        return;
    }
    if (f->rule == RULE_READ_MOVED) {
        const graph_tensor *in = &g->tensor[n->in[f->slot]];
        memcpy(spare, x + in->at, in->count * sizeof *x);
        fault_move_elements(x + in->at, spare, in, f);
        memcpy(w->scratch + g->reals, spare, in->count * sizeof *x);
        graph_node_forward_f64(g, n, x, ints);
        memcpy(x + in->at, w->scratch + g->reals, in->count * sizeof *x);
        return;
    }
    graph_node_forward_f64(g, n, x, ints);
    memcpy(spare, out, t->count * sizeof *out);
    if (f->rule == RULE_OUT_MOVED) fault_move_elements(out, spare, t, f);
    if (f->rule == RULE_OUT_KEEP) fault_keep_elements(out, spare, t, f);
    if (f->rule == RULE_OUT_SCALE)
        for (size_t i = 0; i < t->count; i++) out[i] *= f->value;
}
