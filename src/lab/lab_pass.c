/* lab_pass.c -- one causal attention head (or two), forward and backward by
 * hand: which definition feeds which.  Compiled for each scalar, as the
 * definitions are.
 *
 *  Q = X Wq                                                          (lab.q)
 *  K = X Wk                                                          (lab.k)
 *  V = X Wv                                                          (lab.v)
 *  O = P V,  P = softmax(masked S),  S = Q K^T / sqrt(HS)          (lab.att)
 *  logits = O Wo                                                (lab.logits)
 *  rows[t] = log sum_v exp(z[t,v]) - z[t,y_t],  z = logits / temperature
 *  loss = sum_t rows[t] / T                                       (lab.loss)
 *
 * HS = D / heads.  Backward meets the same lines in the other order:
 *
 *  dlogits = (softmax(z) - [y]) / (T temperature)              (lab.dlogits)
 *  dO = dlogits Wo^T,  dWo = O^T dlogits                            (lab.do)
 *  dQ, dK, dV = attention'(dO)                                    (lab.datt)
 *  dX = dQ Wq^T + dK Wk^T + dV Wv^T                                 (lab.dx)
 *  dWq = X^T dQ,  dWk = X^T dK,  dWv = X^T dV                       (lab.dw)
 *
 * X feeds three lines, so dX is the sum of three paths: each call adds its own.
 *
 * Q K^T, the scaling, the mask, the softmax and P V are attention.c; a projection
 * is linear.c without a bias; the loss is crossentropy.c.
 */
#include "lab/lab_pass.h"

enum { C = VT_LAB_C, D = VT_LAB_D, T = VT_LAB_T, VOCABULARY = VT_LAB_V };

scalar LAB(forward)(LAB(stages) *s, const scalar *at, const int *target, int heads,
                    scalar temperature)
{
    const scalar *X = at + LAB_X;
    REF(linear_forward)(s->Q, X, at + LAB_WQ, NULL, T, C, D);     /* lab.q */
    REF(linear_forward)(s->K, X, at + LAB_WK, NULL, T, C, D);     /* lab.k */
    REF(linear_forward)(s->V, X, at + LAB_WV, NULL, T, C, D);     /* lab.v */
    REF(attention_forward)(s->O, s->scores, s->scaled, s->masked, s->P, s->Q, s->K, s->V,
                           1, T, 0, heads, D / heads);                  /* lab.att */
    REF(linear_forward)(s->logits, s->O, at + LAB_WO, NULL, T, D, VOCABULARY); /* lab.logits */
    REF(crossentropy_forward)(s->loss, s->lse, s->logits, target, temperature, T, VOCABULARY);
    scalar sum = 0;
    for (int t = 0; t < T; t++) sum += s->loss[t];
    return sum / T;                                                     /* lab.loss */
}

void LAB(backward_slopes)(scalar *grad, LAB(slopes) *d, const LAB(stages) *s, const scalar *at,
                          const int *target, int heads, scalar temperature)
{
    const scalar *X = at + LAB_X;
    scalar dloss[T], *dX = grad + LAB_X;

    for (int i = 0; i < LAB_ENTRIES; i++) grad[i] = 0;
    *d = (LAB(slopes)){ .dlogits = { 0 } };
    for (int t = 0; t < T; t++) dloss[t] = (scalar)1 / T;
    REF(crossentropy_backward)(d->dlogits, dloss, s->lse, s->logits, target, temperature,
                               T, VOCABULARY);                          /* lab.dlogits */
    REF(linear_backward)(d->dO, grad + LAB_WO, NULL, d->dlogits, s->O, at + LAB_WO,
                         T, D, VOCABULARY);                             /* lab.do */
    REF(attention_backward)(d->dQ, d->dK, d->dV, d->dP, d->dS, d->dO, s->P, s->Q, s->K, s->V,
                            1, T, 0, heads, D / heads);                 /* lab.datt */
    REF(linear_backward)(dX, grad + LAB_WV, NULL, d->dV, X, at + LAB_WV,
                         T, C, D);                                      /* lab.dx lab.dw */
    REF(linear_backward)(dX, grad + LAB_WK, NULL, d->dK, X, at + LAB_WK,
                         T, C, D);                                      /* lab.dx lab.dw */
    REF(linear_backward)(dX, grad + LAB_WQ, NULL, d->dQ, X, at + LAB_WQ,
                         T, C, D);                                      /* lab.dx lab.dw */
}

void LAB(backward)(scalar *grad, const LAB(stages) *s, const scalar *at, const int *target,
                   int heads, scalar temperature)
{
    LAB(slopes) d;
    LAB(backward_slopes)(grad, &d, s, at, target, heads, temperature);
}
