/* graph_pass.c -- see graph_pass.h: which definition a node is, forward and backward.
 * Compiled for float, double, double complex and _Float128, as the definitions are.
 * Of `linear`, the form with the definition's bits, sooner: a diagnosis runs it thousands
 * of times (linear_in_order.c).
 */
#include "verify/graph/graph_pass.h"

/* The tensor's place in a block of values, or of gradients. */
static scalar *at(const graph *g, scalar *block, int tensor)
{
    return tensor < 0 ? NULL : block + g->tensor[tensor].at;
}

static const scalar *in(const graph *g, const scalar *block, int tensor)
{
    return tensor < 0 ? NULL : block + g->tensor[tensor].at;
}

static const int *whole(const graph *g, const int *ints, int tensor)
{
    return tensor < 0 ? NULL : ints + g->tensor[tensor].at;
}

/* ---- nodes that move numbers only ---------------------------------------- */

static void columns_forward(scalar *out, const scalar *x, const graph_node *n)
{
    for (size_t r = 0; r < (size_t)n->N; r++)
    for (size_t i = 0; i < (size_t)n->OC; i++)
        out[r * (size_t)n->OC + i] = x[r * (size_t)n->C + (size_t)n->first + i];
}

static void columns_backward(scalar *dx, const scalar *dout, const graph_node *n)
{
    for (size_t r = 0; r < (size_t)n->N; r++)
    for (size_t i = 0; i < (size_t)n->OC; i++)
        dx[r * (size_t)n->C + (size_t)n->first + i] += dout[r * (size_t)n->OC + i];
}

static void transpose_forward(scalar *out, const scalar *x, const graph_node *n)
{
    for (size_t r = 0; r < (size_t)n->N; r++)
    for (size_t i = 0; i < (size_t)n->C; i++)
        out[i * (size_t)n->N + r] = x[r * (size_t)n->C + i];
}

static void transpose_backward(scalar *dx, const scalar *dout, const graph_node *n)
{
    for (size_t r = 0; r < (size_t)n->N; r++)
    for (size_t i = 0; i < (size_t)n->C; i++)
        dx[r * (size_t)n->C + i] += dout[i * (size_t)n->N + r];
}

static void mean_forward(scalar *out, const scalar *x, const graph_node *n)
{
    scalar sum = 0;
    for (int r = 0; r < n->N; r++) sum += x[r];
    *out = sum / (scalar)n->N;
}

static void mean_backward(scalar *dx, const scalar *dout, const graph_node *n)
{
    for (int r = 0; r < n->N; r++) dx[r] += *dout / (scalar)n->N;
}

/* ---- one node ----------------------------------------------------------- */

static void attention_forward(const graph *g, const graph_node *n, scalar *x, const int *mask)
{
    const scalar *q = in(g, x, n->in[0]), *k = in(g, x, n->in[1]), *v = in(g, x, n->in[2]);
    scalar *out = at(g, x, n->out), *att = at(g, x, n->stage[0]), *scores = at(g, x, n->stage[1]);
    if (mask)
        REF(attention_masked_forward)(out, scores, att, q, k, v, mask,
                                      n->B, n->T, n->S, n->NH, n->HS);
    else
        REF(attention_forward)(out, scores, at(g, x, n->stage[2]), at(g, x, n->stage[3]), att,
                               q, k, v, n->B, n->T, n->S - n->T, n->NH, n->HS);
}

static void attention_backward(const graph *g, const graph_node *n, scalar *dx, const scalar *x,
                               const int *mask)
{
    const scalar *q = in(g, x, n->in[0]), *k = in(g, x, n->in[1]), *v = in(g, x, n->in[2]);
    const scalar *att = in(g, x, n->stage[0]), *dout = in(g, dx, n->out);
    scalar *dq = at(g, dx, n->in[0]), *dk = at(g, dx, n->in[1]), *dv = at(g, dx, n->in[2]);
    scalar *da = at(g, dx, n->stage[0]), *ds = at(g, dx, n->stage[1]);
    if (mask)
        REF(attention_masked_backward)(dq, dk, dv, da, ds, dout, att, q, k, v, mask,
                                       n->B, n->T, n->S, n->NH, n->HS);
    else
        REF(attention_backward)(dq, dk, dv, da, ds, dout, att, q, k, v,
                                n->B, n->T, n->S - n->T, n->NH, n->HS);
}

void GRAPH(node_forward)(const graph *g, const graph_node *n, scalar *x, const int *ints)
{
    const scalar *a = in(g, x, g->tensor[n->in[0]].role < GRAPH_INTEGERS ? n->in[0] : -1);
    const scalar *b = in(g, x, n->kind == GRAPH_CROSSENTROPY ? -1 : n->in[1]);
    const scalar *c = in(g, x, n->in[2]);
    scalar *out = at(g, x, n->out), *stage = at(g, x, n->stage[0]);

    switch (n->kind) {
    case GRAPH_EMBEDDING:
        REF(embedding_forward)(out, whole(g, ints, n->in[0]), b, c, n->B, n->T, 0, n->C);
        break;
    case GRAPH_LINEAR:    REF(in_order_linear_forward)(out, a, b, c, n->N, n->C, n->OC); break;
    case GRAPH_SOFTMAX:   REF(softmax_forward)(out, a, n->N, n->V); break;
    case GRAPH_LAYERNORM:
        REF(layernorm_forward)(out, stage, at(g, x, n->stage[1]), a, b, c, n->N, n->C);
        break;
    case GRAPH_GELU:      REF(gelu_forward)(out, a, (size_t)n->N); break;
    case GRAPH_RESIDUAL:  REF(residual_forward)(out, a, b, (size_t)n->N); break;
    case GRAPH_ATTENTION: attention_forward(g, n, x, whole(g, ints, n->in[3])); break;
    case GRAPH_CROSSENTROPY:
        REF(crossentropy_forward)(out, stage, a, whole(g, ints, n->in[1]),
                                  (scalar)n->temperature, n->N, n->V);
        break;
    case GRAPH_COLUMNS:   columns_forward(out, a, n); break;
    case GRAPH_TRANSPOSE: transpose_forward(out, a, n); break;
    case GRAPH_MEAN:      mean_forward(out, a, n); break;
    case GRAPH_KINDS:     break;
    }
}

void GRAPH(node_backward)(const graph *g, const graph_node *n, scalar *dx, const scalar *x,
                          const int *ints)
{
    const bool first_real = g->tensor[n->in[0]].role < GRAPH_INTEGERS;
    const bool second_real = n->kind != GRAPH_CROSSENTROPY;
    const scalar *a = in(g, x, first_real ? n->in[0] : -1);
    const scalar *b = in(g, x, second_real ? n->in[1] : -1);
    scalar *da = at(g, dx, first_real ? n->in[0] : -1);
    scalar *db = at(g, dx, second_real ? n->in[1] : -1), *dc = at(g, dx, n->in[2]);
    const scalar *dout = in(g, dx, n->out), *stage = in(g, x, n->stage[0]);

    switch (n->kind) {
    case GRAPH_EMBEDDING:
        REF(embedding_backward)(db, dc, dout, whole(g, ints, n->in[0]), n->B, n->T, 0, n->C);
        break;
    case GRAPH_LINEAR:    REF(in_order_linear_backward)(da, db, dc, dout, a, b, n->N, n->C, n->OC); break;
    case GRAPH_SOFTMAX:   REF(softmax_backward)(da, dout, in(g, x, n->out), n->N, n->V); break;
    case GRAPH_LAYERNORM:
        REF(layernorm_backward)(da, db, dc, dout, a, b, stage, in(g, x, n->stage[1]),
                                n->N, n->C);
        break;
    case GRAPH_GELU:      REF(gelu_backward)(da, dout, a, (size_t)n->N); break;
    case GRAPH_RESIDUAL:  REF(residual_backward)(da, db, dout, (size_t)n->N); break;
    case GRAPH_ATTENTION: attention_backward(g, n, dx, x, whole(g, ints, n->in[3])); break;
    case GRAPH_CROSSENTROPY:
        REF(crossentropy_backward)(da, dout, stage, a, whole(g, ints, n->in[1]),
                                   (scalar)n->temperature, n->N, n->V);
        break;
    case GRAPH_COLUMNS:   columns_backward(da, dout, n); break;
    case GRAPH_TRANSPOSE: transpose_backward(da, dout, n); break;
    case GRAPH_MEAN:      mean_backward(da, dout, n); break;
    case GRAPH_KINDS:     break;
    }
}

/* ---- all of them --------------------------------------------------------- */

void GRAPH(forward)(const graph *g, scalar *x, const int *ints, int first)
{
    for (int i = first; i < g->nnodes; i++) GRAPH(node_forward)(g, &g->node[i], x, ints);
}

void GRAPH(backward)(const graph *g, scalar *dx, const scalar *x, const int *ints)
{
    for (int i = g->nnodes; i-- > 0;) GRAPH(node_backward)(g, &g->node[i], dx, x, ints);
}
