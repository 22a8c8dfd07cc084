/* fault_elsewhere.c -- attention that looks for its tensors at other places: in a layout
 * (B, NH, T, HS), or keys and values with the stride of the queries.  The definition runs on
 * tensors as they are read so, and what it writes goes where it is written so; see faults.h.
 *
 * Elements behind a tensor's end count as 0 and are not written: a check reports the access.
 */
#include "verify/diagnosis/faults.h"
#include <string.h>

/* How a tensor is read.  A layout (B, NH, T, HS): its axes 1 and 2 lie exchanged.  A stride:
 * keys and values of batch row b begin at b T, not b S. */
static void read_elsewhere(const fault *f, const graph *g, const graph_node *n, double *to,
                           const double *from, int slot)
{
    const graph_tensor *t = &g->tensor[slot < 0 ? n->out : n->in[slot]];
    const fault swap = { .axis = 1, .move = MOVE_SWAP_BACK };
    if (f->rule == RULE_ATT_LAYOUT) {
        fault_move_elements(to, from, t, &swap);
        return;
    }
    const size_t row = (size_t)n->NH * (size_t)n->HS, S = (size_t)n->S, T = (size_t)n->T;
    memcpy(to, from, t->count * sizeof *to);
    for (size_t i = 0; slot > 0 && i < t->count; i++) {
        const size_t at = (i / row / S * T + i / row % S) * row + i % row;
        to[i] = at < t->count ? from[at] : 0;
    }
}

/* Adds where read_elsewhere reads. */
static void add_elsewhere(const fault *f, const graph *g, const graph_node *n, double *to,
                          const double *from, double *spare, int slot)
{
    const graph_tensor *t = &g->tensor[n->in[slot]];
    const fault swap = { .axis = 1, .move = MOVE_SWAP };
    const size_t row = (size_t)n->NH * (size_t)n->HS, S = (size_t)n->S, T = (size_t)n->T;
    if (f->rule == RULE_ATT_LAYOUT) {
        fault_move_elements(spare, from, t, &swap);
        from = spare;
    }
    for (size_t i = 0; i < t->count; i++) {
        const size_t at = f->rule == RULE_ATT_LAYOUT || slot == 0 ? i : (i / row / S * T + i / row % S) * row + i % row;
        if (at < t->count) to[at] += from[i];
    }
}

/* x with the inputs as they are read; behind the blocks that the passes work in. */
static double *inputs_elsewhere(const fault *f, const graph *g, const graph_node *n,
                                const double *x, const fault_work *w)
{
    double *block = w->scratch + 2 * g->reals + 64;
    memcpy(block, x, g->reals * sizeof *x);
    for (int slot = 0; slot < 3; slot++)
        read_elsewhere(f, g, n, block + g->tensor[n->in[slot]].at, x + g->tensor[n->in[slot]].at, slot);
    return block;
}

/* A layout, number 0: of all tensors; 1: of inputs and their gradients alone; 2: of all but
 * the output, when it is written. */
void fault_elsewhere_forward(const fault *f, const graph *g, const graph_node *n, double *x,
                             const int *ints, const fault_work *w)
{
    const graph_tensor *t = &g->tensor[n->out], *stage = &g->tensor[n->stage[0]];
    const fault swap = { .axis = 1, .move = MOVE_SWAP };
    double *block = inputs_elsewhere(f, g, n, x, w);
    graph_node_forward_f64(g, n, block, ints);
    memcpy(x + stage->at, block + stage->at, stage->count * sizeof *x);
    if (f->rule == RULE_ATT_LAYOUT && f->number == 0) fault_move_elements(x + t->at, block + t->at, t, &swap);
    else memcpy(x + t->at, block + t->at, t->count * sizeof *x);
}

void fault_elsewhere_backward(const fault *f, const graph *g, const graph_node *n, double *dx,
                              const double *x, const int *ints, const fault_work *w)
{
    const graph_tensor *t = &g->tensor[n->out];
    const fault right = { .rule = RULE_ATT_ROW_SUM_OF_OUT };
    const bool outputs = f->rule == RULE_ATT_LAYOUT && f->number != 1;
    double *block = inputs_elsewhere(f, g, n, x, w), *gradients = block + g->reals;
    memset(gradients, 0, g->reals * sizeof *gradients);
    if (outputs) read_elsewhere(f, g, n, block + t->at, x + t->at, -1);
    if (outputs) read_elsewhere(f, g, n, gradients + t->at, dx + t->at, -1);
    else memcpy(gradients + t->at, dx + t->at, t->count * sizeof *dx);
    fault_attention_backward(&right, g, n, gradients, block, ints, w);
    for (int slot = 0; slot < 3; slot++) {
        const size_t at = g->tensor[n->in[slot]].at;
        add_elsewhere(f, g, n, dx + at, gradients + at, w->scratch, slot);
    }
}
