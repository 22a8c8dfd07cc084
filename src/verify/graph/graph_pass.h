/* graph_pass.h -- running a graph in one scalar: VT_SCALAR as in definitions.h.
 * No guard: graph_passes.h includes it once for each.
 *
 * x and g are blocks of graph.reals, ints of graph.ints.
 */
#include "kernels/definitions.h"
#include "verify/graph/graph.h"

#undef GRAPH
#if   VT_SCALAR == 32
#define GRAPH(name) graph_##name##_f32
#elif VT_SCALAR == 64
#define GRAPH(name) graph_##name##_f64
#elif VT_SCALAR == 113
#define GRAPH(name) graph_##name##_f128
#else
#define GRAPH(name) graph_##name##_c128
#endif

/* One node: reads its inputs in x, writes its output and stages there. */
void GRAPH(node_forward)(const graph *g, const graph_node *n, scalar *x, const int *ints);
/* Adds into its inputs' gradients in dx, from its output's. */
void GRAPH(node_backward)(const graph *g, const graph_node *n, scalar *dx, const scalar *x,
                          const int *ints);

/* All nodes from `first` on, in order. */
void GRAPH(forward)(const graph *g, scalar *x, const int *ints, int first);
/* All nodes, last to first.  The caller has set the outputs' gradients and zeroed (or
 * filled: backward adds) the rest. */
void GRAPH(backward)(const graph *g, scalar *dx, const scalar *x, const int *ints);
