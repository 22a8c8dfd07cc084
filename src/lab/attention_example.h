/* attention_example.h -- one attention layer with every tensor kept: the
 * illustrative example of the site, at any size.
 *
 * T rows of C channels, H heads of HS = C/H each.  All tensors lie in one block
 * of attention_example_count() scalars, in the order of attention_example.def;
 * a name and a shape for each is in attention_example_tensor().  The inputs come
 * first: the caller writes them, forward and backward fill the rest.
 *
 * Compiled for each scalar of definitions.h, ATT(name) is its name:
 *
 *   attention_example_NAME_f32, _f64, _c128; _f128 where VT_FLOAT128
 *
 * The tensors are those of tests/golden/attention_example.json, under these names:
 *
 *   scores = Q K^T of each head    O = the heads' A V side by side
 *   dXq, dXk, dXv: the three paths by which Xn is reached; dXn is their sum
 */
#ifndef ATTENTION_EXAMPLE_H
#define ATTENTION_EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>

enum attention_example_part { ATTENTION_INPUT, ATTENTION_FORWARD, ATTENTION_BACKWARD };

typedef struct attention_example_info {
    const char *name;                       /* "Xn", "scores", "dWq" */
    enum attention_example_part part;
    int    rank, shape[3];
    size_t offset, count;                   /* in the block */
} attention_example_info;

/* How many tensors there are, and how many inputs, which are the first. */
enum { ATTENTION_EXAMPLE_INPUTS = 0
#define INPUT(name, rank, d0, d1, d2) + 1
#include "lab/attention_example.def"
};
enum { ATTENTION_EXAMPLE_TENSORS = 0
#define INPUT(name, rank, d0, d1, d2) + 1
#define FORWARD(name, rank, d0, d1, d2) + 1
#define BACKWARD(name, rank, d0, d1, d2) + 1
#include "lab/attention_example.def"
};

/* Scalars of the whole block; 0 where a size is below 1, H does not divide C, or
 * a tensor or the block does not fit an int. */
size_t attention_example_count(int T, int C, int H);

/* Tensor i of sizes that attention_example_count() accepts; false beyond the last. */
bool attention_example_tensor(attention_example_info *out, int i, int T, int C, int H);

#define ATT_SCALAR float
#define ATT(name) attention_example_##name##_f32
#include "lab/attention_example_decl.h"

#define ATT_SCALAR double
#define ATT(name) attention_example_##name##_f64
#include "lab/attention_example_decl.h"

#define ATT_SCALAR double _Complex
#define ATT(name) attention_example_##name##_c128
#include "lab/attention_example_decl.h"

#if VT_FLOAT128
#define ATT_SCALAR _Float128
#define ATT(name) attention_example_##name##_f128
#include "lab/attention_example_decl.h"
#endif

#endif
