/* ops_fast.c -- the table of one instruction set's kernels.
 *
 * One text for each set, like the kernels: all of them are there on every set.
 * Order as in ops.h.
 */
#include "kernels/fast.h"

static void scratch(const ops_sizes *z, size_t *worker, size_t *shared)
{
    FAST(layernorm_scratch)(z, worker, shared);
    FAST(attention_scratch)(z, worker, shared);
}

const fast_set FAST(set) = {
    .table = {
        .name = FAST_ISA,
        .embedding_forward     = FAST(embedding_forward),
        .embedding_backward    = FAST(embedding_backward),
        .layernorm_forward     = FAST(layernorm_forward),
        .layernorm_backward    = FAST(layernorm_backward),
        .linear_forward        = FAST(linear_forward),
        .linear_backward       = FAST(linear_backward),
        .attention_forward     = FAST(attention_forward),
        .attention_backward    = FAST(attention_backward),
        .gelu_forward          = FAST(gelu_forward),
        .gelu_backward         = FAST(gelu_backward),
        .residual_forward      = FAST(residual_forward),
        .residual_backward     = FAST(residual_backward),
        .crossentropy_forward  = FAST(crossentropy_forward),
        .crossentropy_backward = FAST(crossentropy_backward),
        .sum_squares           = FAST(sum_squares),
        .adamw                 = FAST(adamw),
    },
    .scratch = scratch,
};
