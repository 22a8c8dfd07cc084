/* graph_passes.h -- graph_pass.h for every scalar; `scalar` is double behind it. */
#ifndef GRAPH_PASSES_H
#define GRAPH_PASSES_H

#undef VT_SCALAR
#define VT_SCALAR 32
#include "verify/graph/graph_pass.h"
#undef VT_SCALAR
#define VT_SCALAR 128
#include "verify/graph/graph_pass.h"
#if VT_FLOAT128
#undef VT_SCALAR
#define VT_SCALAR 113
#include "verify/graph/graph_pass.h"
#endif
#undef VT_SCALAR
#define VT_SCALAR 64
#include "verify/graph/graph_pass.h"

#endif
