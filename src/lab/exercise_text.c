/* exercise_text.c -- what is said about each exercise, and its hints, to be read one at a
 * time: the first says where to look, the last is nearly the line. */
#include "lab/exercises.h"

const vt_exercise exercise_texts[EXERCISES] = {
    { .name = "forward", .title = "one causal attention head, from tokens to the loss",
      .file = "1_forward.c", .needs = "matrix products", .minutes = 15,
      .functions = { "lab_forward" },
      .hints = {
          "Go line by line: Q, K and V first, each a product of X with its matrix. `vitrine grade` "
          "looks at your tensors in that order and stops at the first that is wrong.",
          "For one t: compute the scores of the keys u <= t into P[t], find the largest, replace each "
          "by exp(score - largest), sum them, divide by the sum. Then set P[t][u] to 0 for u > t.",
          "A score is sum_i Q[t][i] * K[u][i], divided by sqrt(D): without it scores grow as D "
          "does, and the softmax saturates.",
          "The loss of one token is largest + log(sum of exp(logit - largest)) - logits[t][target[t]]; "
          "add 1/T of each." } },
    { .name = "softmax", .title = "the softmax, backward", .file = "2_softmax.c",
      .needs = "the chain rule", .minutes = 10, .functions = { "softmax_backward" },
      .hints = {
          "p[w] = e[w] / sum, with e[w] = exp(x[w]). If v is not w, x[v] is in the sum only.",
          "d p[w] / d x[v] is p[w] (1 - p[w]) for v = w, and -p[w] p[v] else: together "
          "p[w] ((v == w) - p[v]).",
          "Put it into sum_w dp[w] d p[w] / d x[v]. The part with (v == w) leaves dp[v] p[v]; in the "
          "other, p[v] stands in front of a sum that does not depend on v.",
          "First row = sum_w dp[n][w] * p[n][w]; then dx[n][v] += p[n][v] * (dp[n][v] - row)." } },
    { .name = "backward", .title = "every gradient of exercise 1", .file = "3_backward.c",
      .needs = "exercises 1 and 2", .minutes = 25, .functions = { "lab_backward" },
      .hints = {
          "Write the forward pass's lines under each other, and go through them from the last: "
          "dlogits, dWo and dO, dV and dP, ds, dQ and dK, then the projections.",
          "dlogits[t][v] = dloss / T * (softmax(logits[t])[v] - (v == target[t])). A product "
          "Y = A B gives dA = dY B^T, dB = A^T dY: dO = dlogits Wo^T and dWo += O^T dlogits.",
          "O = P V is a product too: dP = dO V^T, dV = P^T dO. Then ds is exercise 2 on each row, over "
          "u <= t alone.",
          "s = Q K^T / sqrt(D): dQ = ds K / sqrt(D), dK = ds^T Q / sqrt(D). Then dWq += X^T dQ, and "
          "dX += dQ Wq^T; likewise for k and for v: three paths, three times += into dX." } },
    { .name = "heads", .title = "a second head, and a third", .file = "4_heads.c",
      .needs = "exercise 3", .minutes = 10, .functions = { "heads_forward", "heads_backward" },
      .hints = {
          "Nothing of one head reaches another: a loop over h around what you have, and [h] as the "
          "second index of Q, K, V and O.",
          "A head's scores sum over its own `width` columns, so they are divided by sqrt(width), not by "
          "the root of all columns.",
          "There is no mask here: every loop over keys runs from 0 to T." } },
    { .name = "temperature", .title = "a temperature in the loss", .file = "5_temperature.c",
      .needs = "exercise 2", .minutes = 10, .functions = { "loss_forward", "loss_backward" },
      .hints = {
          "Call z = logits / temperature. The loss of z is the usual one; the temperature is one more "
          "step of the chain rule.",
          "log sum_w exp(z[w]) = m + log sum_w exp(z[w] - m), with m the largest z: nothing overflows.",
          "d loss / d z[v] is p[v] - (v == target), p the softmax of z; d z / d logits is "
          "1 / temperature. Multiply by dloss[n], and leave out rows whose target is -1." } },
    { .name = "mask", .title = "the causal mask, with a past", .file = "6_mask.c",
      .needs = "exercise 3", .minutes = 10, .functions = { "causal_forward", "causal_backward" },
      .hints = {
          "Query t is not token t: S - T tokens came before the first query. How many keys does query 0 "
          "see, how many the last?",
          "A masked key is in no sum: let the loops over keys end at S - T + t + 1, and set P to 0 "
          "behind. To set P to 0 after the softmax is too late, its row no longer sums to 1.",
          "Backward with the same ends of loops: what was not seen gets no gradient." } },
    { .name = "layernorm", .title = "layer norm, backward", .file = "7_layernorm.c",
      .needs = "the chain rule; exercise 2 helps", .minutes = 15,
      .functions = { "layernorm_backward" },
      .hints = {
          "dw and db first: w and b are used by every row, so their gradients are sums over rows.",
          "dxhat[i] = w[i] dy[i]. x[i] moves xhat in three ways: directly, by rstd; through the mean; "
          "through rstd.",
          "The mean takes away what all dxhat of a row have in common: the average of dxhat. rstd takes "
          "away what lies along xhat: xhat[i] times the average of dxhat xhat.",
          "dx[i] += rstd (dxhat[i] - avg(dxhat) - xhat[i] avg(dxhat xhat))." } },
};
