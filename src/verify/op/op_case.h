/* op_case.h -- one problem put to a kernel: an operator at some sizes, its inputs, an
 * upstream gradient, what the definitions make of them, and how far rounding may take a
 * correct kernel from that.
 *
 * All blocks have the graph's layout (graph.h).  Inputs and upstream gradients are values
 * that the kernel's precision holds exactly, so both sides start from the same numbers.
 * Gradients do not start from 0 but from `start`: a kernel that overwrites instead of
 * adding is seen.  Degenerate problems prove nothing, so what is drawn has gains away from
 * 1, biases away from 0, upstream gradients that no two elements share, tokens that repeat
 * and rows of a table that nobody uses (their gradient is exactly 0).
 */
#ifndef OP_CASE_H
#define OP_CASE_H

#include "verify/graph/graph_passes.h"

/* What a kernel computes in.  u: half the distance from 1 to the next number; tiny: the
 * smallest normal number (a kernel may flush what is smaller). */
typedef enum precision { PRECISION_F64, PRECISION_F32, PRECISION_BF16, PRECISION_F16 } precision;
double precision_u(precision p);
double precision_tiny(precision p);
double precision_round(precision p, double x);
const char *precision_name(precision p);            /* "float64" */

typedef struct op_case {
    graph_sizes z;
    graph     g;
    precision p;
    uint64_t  seed;
    double    scale;                /* of data: 1e-4 .. 1e4.  Matrices, gains and biases
                                       of layers keep their own size (op_case.c) */
    int      *ints;                 /* g.ints; masks: see op_case_mask */
    double   *x;                    /* inputs; outputs and stages by the definitions, double */
    double   *dout;                 /* at the outputs with `upstream`: upstream gradients */
    double   *start;                /* at the inputs: what a gradient holds before backward */
    double   *dx;                   /* gradients by the definitions, without `start` */
    double   *ex, *edx;             /* bounds on a correct kernel's error in x and in
                                       start + dx (bounds.h) */
} op_case;

/* Draws the problem and computes everything.  z's sizes as graph_build takes them. */
VT_MUST_CHECK vt_status op_case_draw(op_case *c, const graph_sizes *z, precision p, double scale,
                                     uint64_t seed, vt_error *err);
/* With inputs, integers and upstream gradients of the caller's (a dump, a model): `fill` is
 * called after the blocks are there (zeros; masks all 1) and before anything is computed.
 * It may set `start`, too.  What it leaves in `ints` is checked: VT_BAD_INPUT. */
VT_MUST_CHECK vt_status op_case_given(op_case *c, const graph_sizes *z, precision p,
                                      vt_status (*fill)(op_case *, void *, vt_error *),
                                      void *context, vt_error *err);
void op_case_free(op_case *c);      /* also of a zeroed one */

/* The same case with another upstream gradient (a block of the graph's layout, copied):
 * gradients and bounds for it; inputs, integers, outputs and `start` are c's, which has to
 * outlive it. */
VT_MUST_CHECK vt_status op_case_again(op_case *out, const op_case *c, const double *dout,
                                      vt_error *err);
void op_case_again_free(op_case *out);      /* also of a zeroed one */

/* The sizes at which a check puts an operator to the test, i from 0; false behind the
 * last.  All distinct first; then single rows and positions, all ones, more keys than
 * queries, masks, sizes around 16, a larger one; then some drawn from `seed`. */
bool op_case_shapes(graph_sizes *z, int i, int op, uint64_t seed);

/* Whether the case proves little, and why ("T is 1; the gains of w are all 1"): sizes that
 * a transposition would mix up, gains of 1, biases of 0, an upstream gradient that is the
 * same everywhere, no gradient beyond its rounding, no token twice, T = 1. */
bool op_case_degenerate(const op_case *c, char *why, size_t size);

/* Where an operator is causal and has a mask, `ints` holds both at once: what a query really
 * sees.  This is a cell of the mask to hand to a kernel, which is told `causal` besides: 1
 * behind the diagonal, so that a kernel that forgets `causal` is seen. */
int op_case_mask(const op_case *c, size_t cell);

/* What a kernel made of it. */
typedef struct op_found {
    double *x;                      /* at the outputs */
    double *dx;                     /* at the inputs: what the gradient holds after backward */
    bool   *has_x, *has_dx;         /* [g.ntensors]: whether it was computed at all */
} op_found;

#endif
