/* attention_example.c -- one attention layer, forward and backward: which
 * definition feeds which.  Compiled for each scalar, as the definitions are.
 *
 *  Q = Xn Wq + bq,  K = Xn Wk + bk,  V = Xn Wv + bv
 *  A = softmax(mask(Qh Kh^T / sqrt(HS))),  O = A Vh        of each head h
 *  out = O Wo + bo
 *  loss = sum_{t,i} out[t,i] dOut[t,i]                            (attn.loss)
 *
 * The other labels are those of gpt.c, which states their equations.  Backward
 * meets the same lines in the other order.  Xn feeds three of them, so its
 * gradient is a sum of three paths; each is kept apart, to be looked at.
 *
 * Heads lie side by side in a row of Q, K, V and O: (T, H, HS) and (T, C) are the
 * same memory, so that splitting and merging heads move nothing.  attention.c has
 * what happens inside a head, linear.c the projections.
 */
#include <stdint.h>
#include "kernels/definitions.h"
#include "lab/attention_example.h"

#if   VT_SCALAR == 32
#define ATT(name) attention_example_##name##_f32
#elif VT_SCALAR == 64
#define ATT(name) attention_example_##name##_f64
#elif VT_SCALAR == 128
#define ATT(name) attention_example_##name##_c128
#elif VT_SCALAR == 113
#define ATT(name) attention_example_##name##_f128
#endif

/* Where each tensor lies.  They are not const so that one struct serves both
 * directions; what is an input is only read. */
typedef struct tensors {
#define INPUT(name, rank, d0, d1, d2)    scalar *name;
#define FORWARD(name, rank, d0, d1, d2)  scalar *name;
#define BACKWARD(name, rank, d0, d1, d2) scalar *name;
#include "lab/attention_example.def"
    scalar *end;
} tensors;

static tensors place(const scalar *block, int T_, int C_, int H_)
{
    const size_t T = (size_t)T_, C = (size_t)C_, H = (size_t)H_;
    scalar *at = (scalar *)(uintptr_t)block;
    tensors e;
#define INPUT(name, rank, d0, d1, d2)    e.name = at; at += (d0) * (d1) * (d2);
#define FORWARD(name, rank, d0, d1, d2)  e.name = at; at += (d0) * (d1) * (d2);
#define BACKWARD(name, rank, d0, d1, d2) e.name = at; at += (d0) * (d1) * (d2);
#include "lab/attention_example.def"
    e.end = at;
    (void)H;
    return e;
}

void ATT(forward)(scalar *block, int T, int C, int H)
{
    const tensors e = place(block, T, C, H);
    REF(linear_forward)(e.Q, e.Xn, e.Wq, e.bq, T, C, C);                /* attn.q */
    REF(linear_forward)(e.K, e.Xn, e.Wk, e.bk, T, C, C);                /* attn.k */
    REF(linear_forward)(e.V, e.Xn, e.Wv, e.bv, T, C, C);                /* attn.v */
    REF(attention_forward)(e.O, e.scores, e.scaled, e.masked, e.A, e.Q, e.K, e.V,
                           1, T, 0, H, C / H);                          /* block.att */
    REF(linear_forward)(e.out, e.O, e.Wo, e.bo, T, C, C);               /* attn.out */
}

void ATT(backward)(scalar *block, int T, int C, int H)
{
    const tensors e = place(block, T, C, H);
    for (scalar *p = e.dWo; p < e.end; p++) *p = 0;     /* backward adds */
    REF(linear_backward)(e.dO, e.dWo, e.dbo, e.dOut, e.O, e.Wo,
                         T, C, C);                  /* attn.do attn.dwo attn.dbo */
    REF(attention_backward)(e.dQ, e.dK, e.dV, e.dA, e.dS, e.dO, e.A, e.Q, e.K, e.V,
                            1, T, 0, H, C / H);                         /* block.datt */
    REF(linear_backward)(e.dXq, e.dWq, e.dbq, e.dQ, e.Xn, e.Wq, T, C, C); /* attn.dwq attn.dbq */
    REF(linear_backward)(e.dXk, e.dWk, e.dbk, e.dK, e.Xn, e.Wk, T, C, C); /* attn.dwk attn.dbk */
    REF(linear_backward)(e.dXv, e.dWv, e.dbv, e.dV, e.Xn, e.Wv, T, C, C); /* attn.dwv attn.dbv */
    for (int i = 0; i < T * C; i++)
        e.dXn[i] = e.dXq[i] + e.dXk[i] + e.dXv[i];                      /* attn.dxn */
}

scalar ATT(loss)(const scalar *block, int T, int C, int H)
{
    const tensors e = place(block, T, C, H);
    scalar sum = 0;
    for (int i = 0; i < T * C; i++) sum += e.out[i] * e.dOut[i];        /* attn.loss */
    return sum;
}
