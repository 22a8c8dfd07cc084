/* ops_fast.c -- the table of one instruction set's kernels.
 *
 * One text for each set, like the kernels: all of them are there on every set,
 * but for WebAssembly's, which has those of a forward pass (NULL elsewhere).
 */
#include "kernels/fast.h"

static void scratch(const ops_sizes *z, size_t *worker, size_t *shared)
{
    FAST(layernorm_scratch)(z, worker, shared);
    FAST(linear_scratch)(z, worker, shared);
    FAST(attention_scratch)(z, worker, shared);
}

const fast_set FAST(set) = {
    .table = {
        .name = FAST_ISA,
        .embedding_forward     = FAST(embedding_forward),
        .layernorm_forward     = FAST(layernorm_forward),
        .linear_forward        = FAST(linear_forward),
        .linear_gelu_forward   = FAST(linear_gelu_forward),
        .linear_residual_forward = FAST(linear_residual_forward),
        .attention_forward     = FAST(attention_forward),
        .gelu_forward          = FAST(gelu_forward),
        .residual_forward      = FAST(residual_forward),
#ifndef VT_INFERENCE                    /* a page's module is small: it trains nothing */
        .embedding_backward    = FAST(embedding_backward),
        .layernorm_backward    = FAST(layernorm_backward),
        .linear_backward       = FAST(linear_backward),
        .linear_set_backward   = FAST(linear_set_backward),
        .tied_forward          = FAST(tied_forward),
        .tied_set_backward     = FAST(tied_set_backward),
        .attention_backward    = FAST(attention_backward),
        .gelu_backward         = FAST(gelu_backward),
        .residual_backward     = FAST(residual_backward),
        .crossentropy_forward  = FAST(crossentropy_forward),
        .crossentropy_backward = FAST(crossentropy_backward),
        .crossentropy_learn    = FAST(crossentropy_learn),
        .logit_extremes        = FAST(logit_extremes),
        .logits_between        = FAST(logits_between),
        .weight_tally          = FAST(weight_tally),
        .sum_squares           = FAST(sum_squares),
        .adamw                 = FAST(adamw),
        .adamw_spans           = FAST(adamw_spans),
#endif
    },
    .scratch = scratch,
};
