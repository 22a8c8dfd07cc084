/* faults.c -- faults that any node can have; see faults.h.  Those of one kind of node
 * are in fault_attention.c and fault_nodes.c, their sentences in fault_table.c.
 */
#include "verify/diagnosis/faults.h"
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
    case KEEP_LAST_TILE: return at >= (length - 1) / tile * tile;
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

/* The index that takes its place, `length` for none. */
static size_t taken(fault_move m, size_t at, size_t length)
{
    switch (m) {
    case MOVE_REVERSE:        return length - 1 - at;
    case MOVE_NEXT: case MOVE_NEXT_HELD:         return at + 1;
    case MOVE_PREVIOUS: case MOVE_PREVIOUS_HELD: return at ? at - 1 : length;
    case MOVE_NEXT_ROUND:     return (at + 1) % length;
    case MOVE_PREVIOUS_ROUND: return (at + length - 1) % length;
    case MOVE_Q_K: return at < length / 3 ? at + length / 3 : at < length / 3 * 2 ? at - length / 3 : at;
    case MOVE_K_V: return at < length / 3 ? at : at < length / 3 * 2 ? at + length / 3 : at - length / 3;
    case MOVE_Q_V: return at < length / 3 ? at + length / 3 * 2 : at < length / 3 * 2 ? at : at - length / 3 * 2;
    default:                  return 0;
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
        const size_t at = e / inner % length, from = taken(f->move, at, length);
        const bool end = f->move == MOVE_NEXT_HELD ? at == 0 : f->move == MOVE_PREVIOUS_HELD && at + 1 == length;
        out[e] = (from < length ? in[e - at * inner + from * inner] : 0) + (end ? in[e] : 0);
    }
}

void fault_move_back(double *out, const double *in, const graph_tensor *t, const fault *f)
{
    size_t length, inner;
    if (f->move == MOVE_SWAP || f->move == MOVE_SWAP_BACK) {
        fault other = *f;
        other.move = f->move == MOVE_SWAP ? MOVE_SWAP_BACK : MOVE_SWAP;
        move_swap(out, in, t, &other);
        return;
    }
    fault_axis(t, f->axis, &length, &inner);
    memset(out, 0, t->count * sizeof *out);
    for (size_t e = 0; e < t->count; e++) {
        const size_t at = e / inner % length, from = taken(f->move, at, length);
        if (from < length) out[e - at * inner + from * inner] += in[e];
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
    if (!keeps && f->move >= MOVE_Q_K && f->move <= MOVE_Q_V)
        return f->axis + 1 == t->rank && length % 3 == 0 && strcmp(t->axis[f->axis], "column") == 0;
    if (!keeps) return true;
    for (size_t i = 0; i < length; i++) left += kept(f, i, length);
    return left > 0 && left < length;
}

static bool real_slot(const graph *g, const graph_node *n, int slot)
{
    return slot < GRAPH_INS && n->in[slot] >= 0 && g->tensor[n->in[slot]].role < GRAPH_INTEGERS;
}

bool fault_fits(const fault *f, const graph *g, const graph_node *n)
{
    const graph_tensor *out = &g->tensor[n->out];
    const bool reads = f->rule == RULE_READ_MOVED || f->rule == RULE_READ_MOVED_TWO;
    if (f->rule >= RULE_FIRST_OF_NODES) return fault_table(f->rule)->node == n->kind;
    if (f->rule == RULE_OUT_KEEP) return changes(f, out, true);
    if (f->rule == RULE_OUT_MOVED) return changes(f, out, false);
    if (f->rule == RULE_OUT_SCALE) return true;
    if (f->rule == RULE_EXCHANGE || f->rule == RULE_READ_EXCHANGED)
        return f->number > f->slot && real_slot(g, n, f->slot) && real_slot(g, n, f->number)
               && g->tensor[n->in[f->number]].count == g->tensor[n->in[f->slot]].count
               && n->in[f->number] != n->in[f->slot];
    if (f->rule == RULE_READ_SCALED) return real_slot(g, n, f->slot);
    if (f->rule == RULE_READ_OTHER)
        return real_slot(g, n, f->slot) && n->in[f->slot] != f->number
               && g->tensor[f->number].role < GRAPH_INTEGERS
               && g->tensor[f->number].count == g->tensor[n->in[f->slot]].count
               && g->tensor[f->number].count > 1;
    const unsigned slots = f->rule == RULE_READ_MOVED_TWO ? 3u << f->slot : reads ? 1u << f->slot : f->slots;
    for (int s = 0; s < GRAPH_INS; s++) {
        if (!(slots >> s & 1)) continue;
        if (!real_slot(g, n, s)) return false;
        const graph_tensor *in = &g->tensor[n->in[s]];
        if (f->rule == RULE_KEEP && !changes(f, in, true)) return false;
        if ((f->rule == RULE_MOVE || reads) && !changes(f, in, false)) return false;
        if (f->rule == RULE_KEEP_ROWS && !changes(f, out, true)) return false;
        if (f->rule == RULE_MOVE_ROWS && !changes(f, out, false)) return false;
    }
    return slots != 0;
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

/* Adds the contributions in scratch to the inputs in `slots`. */
static void add_slots(const graph *g, const graph_node *n, double *dx, const fault_work *w,
                      unsigned slots)
{
    for (int s = 0; s < GRAPH_INS; s++) {
        const int t = n->in[s];
        if (!(slots >> s & 1) || t < 0 || g->tensor[t].role >= GRAPH_INTEGERS) continue;
        add(at(g, dx, t), at(g, w->scratch, t), g->tensor[t].count);
    }
}

/* The contribution to a slot, in scratch, as the fault makes it; into dx. */
static void add_wrong(const fault *f, const graph *g, const graph_node *n, double *dx,
                      const fault_work *w, double *spare, int slot)
{
    const graph_tensor *t = &g->tensor[n->in[slot]];
    double *to = dx + t->at, *share = w->scratch + t->at;
    if (f->rule == RULE_ASSIGN || f->assign) memset(to, 0, t->count * sizeof *to);
    switch (f->rule) {
    case RULE_SCALE:  for (size_t i = 0; i < t->count; i++) share[i] *= f->value; break;
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

/* A block like x in which the inputs lie where the fault reads them. */
static double *read_block(const fault *f, const graph *g, const graph_node *n, const double *x,
                          const int *ints, const fault_work *w)
{
    double *block = w->scratch + g->reals;
    const int last = f->slot + (f->rule == RULE_READ_MOVED_TWO);
    memcpy(block, x, g->reals * sizeof *x);
    for (int s = f->slot; s <= last; s++) {
        const graph_tensor *t = &g->tensor[n->in[s]];
        if (f->rule == RULE_READ_EXCHANGED) {
            memcpy(block + t->at, x + g->tensor[n->in[f->number]].at, t->count * sizeof *x);
            memcpy(block + g->tensor[n->in[f->number]].at, x + t->at, t->count * sizeof *x);
        } else if (f->rule == RULE_READ_SCALED)
            for (size_t i = 0; i < t->count; i++) block[t->at + i] = f->value * x[t->at + i];
        else if (f->rule == RULE_READ_OTHER)
            memcpy(block + t->at, x + g->tensor[f->number].at, t->count * sizeof *x);
        else fault_move_elements(block + t->at, x + t->at, t, f);
    }
    if (f->rule == RULE_READ_SCALED || f->rule == RULE_READ_EXCHANGED || (f->rule == RULE_READ_OTHER && f->back)) graph_node_forward_f64(g, n, block, ints);
    return block;
}

static void backward_reads(const fault *f, const graph *g, const graph_node *n, double *dx,
                           const double *x, const int *ints, const fault_work *w)
{
    double *block = read_block(f, g, n, x, ints, w);
    const int last = f->slot + (f->rule == RULE_READ_MOVED_TWO);
    contributions(g, n, dx + g->tensor[n->out].at, block, ints, w);
    for (int s = f->slot; s <= last && f->back && f->rule != RULE_READ_OTHER && f->rule != RULE_READ_EXCHANGED; s++) {
        const graph_tensor *t = &g->tensor[n->in[s]];
        if (f->rule == RULE_READ_SCALED) {
            for (size_t i = 0; i < t->count; i++) w->scratch[t->at + i] *= f->value;
            continue;
        }
        fault_move_back(block, w->scratch + t->at, t, f);
        memcpy(w->scratch + t->at, block, t->count * sizeof *block);
    }
    add_slots(g, n, dx, w, ~0u);
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
    if (f->rule == RULE_OUT_SCALE) {
        const graph_tensor *t = &g->tensor[n->out];
        for (size_t i = 0; i < t->count; i++) spare[i] = f->value * dout[i];
        contributions(g, n, spare, x, ints, w);
        add_slots(g, n, dx, w, ~0u);
        return;
    }
    if (f->rule >= RULE_OUT_MOVED) {
        graph_node_backward_f64(g, n, dx, x, ints);
        return;
    }
    if (f->rule >= RULE_READ_MOVED && f->rule < RULE_OUT_MOVED) {
        backward_reads(f, g, n, dx, x, ints, w);
        return;
    }
    contributions(g, n, dout, x, ints, w);
    if (f->rule == RULE_EXCHANGE) {
        add_slots(g, n, dx, w, ~(1u << f->slot | 1u << f->number));
        const int a = n->in[f->slot], b = n->in[f->number];
        add(at(g, dx, a), at(g, w->scratch, b), g->tensor[a].count);
        add(at(g, dx, b), at(g, w->scratch, a), g->tensor[a].count);
        return;
    }
    add_slots(g, n, dx, w, ~f->slots);
    if (f->rule == RULE_KEEP_ROWS || f->rule == RULE_MOVE_ROWS) {
        const graph_tensor *out = &g->tensor[n->out];
        if (f->rule == RULE_KEEP_ROWS) fault_keep_elements(spare, dout, out, f);
        else fault_move_elements(spare, dout, out, f);
        contributions(g, n, spare, x, ints, w);
    }
    for (int s = 0; s < GRAPH_INS; s++)
        if (f->slots >> s & 1) add_wrong(f, g, n, dx, w, spare, s);
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
    if (f->rule >= RULE_READ_MOVED && f->rule < RULE_OUT_MOVED) {
        double *block = read_block(f, g, n, x, ints, w);
        graph_node_forward_f64(g, n, block, ints);
        memcpy(out, block + t->at, t->count * sizeof *out);
        for (int i = 0; i < GRAPH_STAGES; i++) {
            const graph_tensor *stage = n->stage[i] < 0 ? NULL : &g->tensor[n->stage[i]];
            if (stage) memcpy(x + stage->at, block + stage->at, stage->count * sizeof *x);
        }
        return;
    }
    graph_node_forward_f64(g, n, x, ints);
    memcpy(spare, out, t->count * sizeof *out);
    if (f->rule == RULE_OUT_MOVED) fault_move_elements(out, spare, t, f);
    if (f->rule == RULE_OUT_KEEP) fault_keep_elements(out, spare, t, f);
    if (f->rule == RULE_OUT_SCALE)
        for (size_t i = 0; i < t->count; i++) out[i] *= f->value;
}
