/* work.h -- the work of a computation, counted by algebra: what a limit is made of.
 *
 * A multiply-add is 2 FLOP.  Only products of matrices count, and attention's causal
 * half; a backward pass costs two products for each of the forward pass:
 *
 *     linear      2 N C OC
 *     attention   4 HS for each pair (t, u <= t): B NH T (T + 1) / 2 of them
 *     step        3 (L (2 N (4 C^2 + 2 C FF) + attention) + 2 N C V)
 *
 * What adds to that (LayerNorm, GELU, softmax, the loss) could run beside it on the
 * same units and is left out: a limit is a time that nothing can beat, not a forecast.
 * AdamW reads w, m, v, g and writes w, m, v: 28 bytes for each parameter.
 *
 * A token that is generated reads each weight once: all but the embeddings' tables, of
 * which it needs a row, and the head.
 */
#ifndef WORK_H
#define WORK_H

#include "model/config.h"

double work_linear(double N, double C, double OC);
double work_attention(double B, double T, double NH, double HS);
double work_step_flop(const gpt_config *z, int B, int T);
double work_step_bytes(const gpt_config *z);
double work_token_bytes(const gpt_config *z);

#endif
