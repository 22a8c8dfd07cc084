/* graph.h -- an operator, a block or a whole model as a graph of definitions.
 *
 * The engine takes everything that it checks apart into nodes, each of them one
 * definition of src/kernels.  Being data, a graph can be run in every scalar
 * (float, double, double complex, _Float128), one node can be run by itself, its
 * rounding can be followed (bounds.h), and one node's backward can be replaced by
 * a wrong one to see what that fault would look like (faults.h).
 *
 * Memory.  All real tensors lie in one block of `reals` scalars, at tensor.at; the
 * gradients' block has the same layout (a gradient of a stage that has none is work
 * space: da and ds of attention lie at att and scores).  Integers (tokens, targets,
 * masks as 0 and 1) lie in a block of `ints`.
 */
#ifndef GRAPH_H
#define GRAPH_H

#include <limits.h>
#include "base/status.h"
#include "vitrine_kernel.h"

typedef enum graph_kind {
    GRAPH_EMBEDDING,        /* in: tokens, wte, wpe */
    GRAPH_LINEAR,           /* in: x, w, bias (or -1) */
    GRAPH_SOFTMAX,          /* in: x */
    GRAPH_LAYERNORM,        /* in: x, w, b;   stages: mean, rstd */
    GRAPH_GELU,             /* in: x */
    GRAPH_RESIDUAL,         /* in: a, b */
    GRAPH_ATTENTION,        /* in: q, k, v, mask (or -1: causal);
                               stages: att, scores, scaled, masked (the last two causal) */
    GRAPH_CROSSENTROPY,     /* in: logits, target;   stages: lse */
    GRAPH_COLUMNS,          /* in: x; out = columns `first` .. of a row */
    GRAPH_TRANSPOSE,        /* in: x (rows, columns); out (columns, rows) */
    GRAPH_MEAN,             /* in: x; out: one number */
    GRAPH_KINDS
} graph_kind;

typedef enum graph_role {
    GRAPH_INPUT,            /* real, has a gradient */
    GRAPH_INNER,            /* a node's output that another reads */
    GRAPH_STAGE,            /* what a node keeps for its backward */
    GRAPH_OUTPUT,           /* real; has an upstream gradient if `upstream` */
    GRAPH_TOKENS,           /* integers 0 .. limit-1 */
    GRAPH_TARGETS,          /* integers 0 .. limit-1, or VT_IGNORE */
    GRAPH_MASK,             /* 0 or 1 */
    GRAPH_INTEGERS = GRAPH_TOKENS       /* from here on */
} graph_role;

enum { GRAPH_RANK = 4, GRAPH_INS = 4, GRAPH_STAGES = 4, GRAPH_NAME = 48 };

typedef struct graph_tensor {
    char        name[GRAPH_NAME];       /* "q", "h.0.attn.c_attn.weight" */
    graph_role  role;
    int         rank, shape[GRAPH_RANK];
    const char *axis[GRAPH_RANK];       /* "batch", "query", "head", "channel" */
    size_t      count, at;
    int         layer;                  /* -1: of none */
    int         limit;                  /* of integers */
    bool        upstream;
} graph_tensor;

typedef struct graph_node {
    graph_kind kind;
    char   name[GRAPH_NAME];            /* "attention", "h.0.ln_1" */
    int    in[GRAPH_INS], out, stage[GRAPH_STAGES];     /* tensors; -1: none */
    int    layer;
    int    N, C, OC, V;                 /* as the definition's arguments are called */
    int    B, T, S, NH, HS;
    int    first;                       /* columns: the first of them */
    double temperature;
} graph_node;

typedef struct graph {
    graph_tensor *tensor;
    graph_node   *node;                 /* in the order of the forward pass */
    int    ntensors, nnodes;
    size_t reals, ints;
    int   *in, *out;                    /* tensors in the order of vt_kernel_call */
    int    nin, nout;
} graph;

/* What is built: sizes as in vt_kernel_call. */
typedef struct graph_sizes {
    int    op;                          /* enum vt_kernel_op */
    int    N, C, OC, V, B, T, S, NH, HS, FF, L;
    bool   causal, masked;
    bool   untied;                      /* gpt: a head of its own, the last input */
    double temperature;
    double mean;                        /* of data that is drawn (op_case.h); no size */
} graph_sizes;

/* Sizes that the op does not use are ignored, those that it derives (C = NH*HS of a
 * block) are filled in; VT_USAGE for a size below 1, VT_TOO_LARGE where a tensor has
 * more than INT_MAX elements. */
VT_MUST_CHECK vt_status graph_build(graph *g, graph_sizes *z, vt_error *err);
void graph_free(graph *g);

const char *graph_op_name(int op);                  /* "attention"; NULL: unknown */
int         graph_op_of(const char *name);          /* 0: unknown */

int  graph_find(const graph *g, const char *name);  /* a tensor; -1: none */
/* "batch 1, query 0, head 2, channel 3" of an element. */
void graph_entry(char *out, size_t size, const graph_tensor *t, size_t element);
/* The element in brackets: "q[1, 0, 2, 3]". */
void graph_index(char *out, size_t size, const graph_tensor *t, size_t element);

#endif
