/* vitrine_kernel.h -- your own kernel, to be checked by `vitrine check --kernel`.
 *
 * A kernel is one function in a shared library (or one .c file, which the command
 * compiles): it computes an operator's forward or backward pass on the tensors that
 * it is handed.  Any language that can export a C function will do.
 *
 *     #include <vitrine_kernel.h>
 *
 *     int vt_kernel(const vt_kernel_call *c)       // GELU's derivative, float32
 *     {
 *         if (c->op != VT_OP_GELU || c->dtype != VT_KERNEL_F32 ||
 *             c->pass != VT_KERNEL_BACKWARD)
 *             return VT_KERNEL_UNSUPPORTED;
 *         const float *x = c->in[VT_GELU_X], *dy = c->dout[0];
 *         float *dx = c->din[VT_GELU_X];
 *         for (size_t i = 0; i < c->N; i++) dx[i] += dy[i] * derivative(x[i]);
 *         return 0;
 *     }
 *
 *     vitrine check --kernel gelu.c --op gelu
 *
 * Memory.  Tensors are row-major and dense, floats of the type that c->dtype names;
 * targets and tokens are int32_t; masks are one byte a cell.  A buffer is aligned to its
 * element and to nothing more, and ends at a page that cannot be touched: to read or
 * write behind it is reported, and so is to write an input.  Outputs hold NaN before the
 * forward call: every element is to be written.  malloc and threads are yours to use, as
 * long as both are given back before the call returns.
 *
 * Nothing is to be kept from one call to the next, but in `save`: what the forward call
 * leaves there, the backward call finds, in another process perhaps, so that a static
 * variable is not there, nor a pointer good.  `save` is aligned to 8 bytes; what it holds
 * before the forward call is not told.  Both passes may write to it.  A kernel that has a
 * backward pass only is called without a forward pass before, and must not read it.
 *
 * Gradients.  din[i] is d loss / d in[i], of the same shape, or NULL where there is none
 * (masks, targets, tokens).  Backward ADDS into it: what was there counts.  dout[i] is
 * d loss / d out[i]; NULL where the loss does not see that output.  Outputs of the forward
 * call are handed to the backward call as `out`, read-only.
 *
 * Sizes are those of the table; others are 0.  The check calls a kernel with many sizes,
 * all of them at least 1, a size of 1 and T = 1 included, from several processes; a call
 * must give the same bits for the same input.
 *
 * A kernel runs with your rights, in a process of its own.  The check finds mistakes; it
 * is no defence against a kernel that is made to cheat (to read what is expected of it out
 * of the memory of the check, say), nor against one that does harm.
 *
 * A .c file is compiled with $CC, or cc: -std=c11 -O2 -shared -fPIC, linked with -lm.
 */
#ifndef VITRINE_KERNEL_H
#define VITRINE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VT_KERNEL_ABI 1

enum { VT_KERNEL_F32 = 32, VT_KERNEL_F64 = 64 };            /* dtype */
enum { VT_KERNEL_FORWARD = 1, VT_KERNEL_BACKWARD = 2 };     /* pass */
enum { VT_KERNEL_UNSUPPORTED = 1 };     /* the result for an op, dtype or pass, a causal or
                                           masked call, a temperature that the kernel does
                                           not have; never for sizes: that is a finding.
                                           Any other result but 0 fails */

/* The operators, their tensors in the order of in[] and out[], and their shapes.
 * Dimensions: N rows, C channels in, OC channels out, V classes, B batch, T queries, S
 * keys, NH heads, HS size of a head, FF width of the MLP, L layers. */
enum vt_kernel_op {
    VT_OP_SOFTMAX = 1,      /* p = softmax(x) over the last axis */
    VT_OP_LINEAR,           /* y = x w + b */
    VT_OP_LAYERNORM,        /* y = w (x - mean) / sqrt(var + 1e-5) + b, var over C */
    VT_OP_GELU,             /* y = x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 */
    VT_OP_ATTENTION,        /* o = softmax(q k^T / sqrt(HS), masked) v, head by head */
    VT_OP_PROJECTED,        /* attention of q = x wq + bq, ...; out = o wo + bo */
    VT_OP_CROSSENTROPY,     /* loss[n] = -log softmax(logits[n] / temperature)[target[n]];
                               target -1: loss 0, gradient 0 */
    VT_OP_BLOCK,            /* GPT-2's block: x + attention(ln1 x), then + mlp(ln2 .) */
    VT_OP_GPT,              /* a whole GPT with a tied head: tokens to the loss of each row */
    VT_OP_LAB               /* the code lab's model: mean loss of one position each */
};

enum { VT_SOFTMAX_X };                              /* (N, V);   out: p (N, V) */
enum { VT_LINEAR_X, VT_LINEAR_W, VT_LINEAR_B };     /* (N, C) (C, OC) (OC); out: y (N, OC) */
enum { VT_LAYERNORM_X, VT_LAYERNORM_W, VT_LAYERNORM_B };    /* (N, C) (C) (C); out: y (N, C) */
enum { VT_GELU_X };                                 /* (N);      out: y (N) */

/* q (B, T, NH, HS), k and v (B, S, NH, HS), mask (T, S) or NULL; out: o (B, T, NH, HS).
 * c->causal: query t sees the keys u <= S - T + t.  With a mask: those whose byte is 1,
 * and both where both are given.  A query that sees no key has output 0, gradient 0.  S may
 * be less than T: of a causal call the first T - S queries then see no key (S - T + t would
 * be negative, and size_t has no sign: ask u + T <= S + t).  Keys and values that a query
 * may not see may be NaN: leave them out, a weight of 0 does not. */
enum { VT_ATTENTION_Q, VT_ATTENTION_K, VT_ATTENTION_V, VT_ATTENTION_MASK };

/* x (B, T, C), w's (C, NH*HS), b's (NH*HS), wo (NH*HS, C), bo (C), mask (T, T) or NULL;
 * out: y (B, T, C).  Heads lie side by side in a row. */
enum { VT_PROJECTED_X, VT_PROJECTED_WQ, VT_PROJECTED_BQ, VT_PROJECTED_WK, VT_PROJECTED_BK,
       VT_PROJECTED_WV, VT_PROJECTED_BV, VT_PROJECTED_WO, VT_PROJECTED_BO, VT_PROJECTED_MASK };

enum { VT_CROSSENTROPY_LOGITS, VT_CROSSENTROPY_TARGET };    /* (N, V) (N); out: loss (N) */

/* x (B, T, C), then a layer's tensors; out: y (B, T, C).  Causal.  C = NH*HS.
 * ln_1.weight (C) .bias (C), c_attn (C, 3C) (3C), attn.c_proj (C, C) (C), ln_2 (C) (C),
 * c_fc (C, FF) (FF), mlp.c_proj (FF, C) (C).  c_attn's columns are q, k, v. */
enum { VT_BLOCK_X, VT_BLOCK_LN1W, VT_BLOCK_LN1B, VT_BLOCK_QKVW, VT_BLOCK_QKVB,
       VT_BLOCK_ATTPROJW, VT_BLOCK_ATTPROJB, VT_BLOCK_LN2W, VT_BLOCK_LN2B,
       VT_BLOCK_FCW, VT_BLOCK_FCB, VT_BLOCK_FCPROJW, VT_BLOCK_FCPROJB };

/* tokens, targets (B, T); wte (V, C), wpe (S, C), S >= T; then each layer's 12 tensors, in
 * the block's order: layer l's tensor j is in[VT_GPT_LAYERS + 12 * l + j]; behind the last
 * lnf.weight (C), lnf.bias (C).  out: loss (B, T).  logits = lnf wte^T. */
enum { VT_GPT_TOKENS, VT_GPT_TARGETS, VT_GPT_WTE, VT_GPT_WPE, VT_GPT_LAYERS,
       VT_GPT_LAYER_TENSORS = 12 };

/* x (T, C), wq, wk, wv (C, NH*HS), wo (NH*HS, V), target (T); causal, no biases;
 * out: p (NH, T, T), o (T, NH*HS), logits (T, V) before the temperature, loss (1), the
 * mean over T.  Only the loss has an upstream gradient. */
enum { VT_LAB_OP_X, VT_LAB_OP_WQ, VT_LAB_OP_WK, VT_LAB_OP_WV, VT_LAB_OP_WO, VT_LAB_OP_TARGET };
enum { VT_LAB_OUT_P, VT_LAB_OUT_O, VT_LAB_OUT_LOGITS, VT_LAB_OUT_LOSS };

typedef struct vt_kernel_call {
    uint32_t abi;               /* VT_KERNEL_ABI of the caller */
    uint32_t bytes;             /* sizeof(vt_kernel_call) of the caller */
    int op, dtype, pass;        /* see above */
    int causal;                 /* 0 or 1 */
    double temperature;         /* cross-entropy and lab; 1 elsewhere */
    size_t N, C, OC, V, B, T, S, NH, HS, FF, L;
    size_t nin, nout;
    const void *const *in;      /* [nin]; a mask may be NULL */
    void *const *out;           /* [nout]; backward: read-only */
    const void *const *dout;    /* [nout]; forward: NULL */
    void *const *din;           /* [nin]; forward: NULL */
    void *save;                 /* save_bytes, from forward to backward */
    size_t save_bytes;          /* 8 bytes for each element of all tensors and of four
                                   (B, NH, T, S) tensors a layer, at least */
} vt_kernel_call;

/* What you write. */
int vt_kernel(const vt_kernel_call *call);

/* If you like, beside it: `const int vt_kernel_abi = VT_KERNEL_ABI;`.  A library that was
 * built for another version is then refused before it is called. */
extern const int vt_kernel_abi;

#ifdef __cplusplus
}
#endif

#endif
