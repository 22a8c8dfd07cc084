/* exercises.c -- see exercises.h: which tensors each function has. */
#include "lab/exercises.h"

#define IN(name, graph, axes)                   { name, graph, axes, NULL, NULL }
#define OUT(name, graph, axes, slip)            { name, graph, axes, NULL, slip }
#define ADDS(name, graph, axes, gradient, slip) { name, graph, axes, gradient, slip }
#define PROJECTION(a) "each element is a row of X times a column of W" a ": a sum over the channels"

static const exercise table[EXERCISES] = {
    { &exercise_texts[0], VT_OP_LAB, true, "T T, C C, D D, vocab V",
      { { "lab_forward", VT_KERNEL_FORWARD, exercise_call_forward,
          { IN("X", "x", "TC"), IN("Wq", "wq", "CD"), IN("Wk", "wk", "CD"), IN("Wv", "wv", "CD"),
            IN("Wo", "wo", "DV"), IN("target", "target", "T") },
          { OUT("Q", "q", "TD", PROJECTION("q")), OUT("K", "k", "TD", PROJECTION("k")),
            OUT("V", "v", "TD", PROJECTION("v")),
            OUT("P", "p", "TT", "each row is a softmax over the keys u <= t of the scores, "
              "q . k / sqrt(D); a row sums to 1, and is 0 behind the diagonal"),
            OUT("O", "o", "TD", "P is right: O[t] is the sum of the rows V[u], each times P[t][u]"),
            OUT("logits", "logits", "TV", "O is right: logits = O Wo, a sum over the D columns of O"),
            OUT("loss", "loss", "", "the logits are right: per token log of the sum of exp, less "
              "the target's logit; then the mean over tokens") } } },
      { { .T = 5, .D = 3, .C = 6, .V = 7 }, { .T = 1, .D = 3, .C = 2, .V = 5 },
        { .T = 6, .D = 4, .C = 8, .V = 10 }, { .T = 7, .D = 1, .C = 3, .V = 2 },
        { .T = 9, .D = 5, .C = 4, .V = 11 }, { .T = 4, .D = 2, .C = 3, .V = 6, .scale = 1e5 } } },
    { &exercise_texts[1], VT_OP_SOFTMAX, false, "N N, V V",
      { { "softmax_backward", VT_KERNEL_BACKWARD, exercise_call_softmax,
          { ADDS("x", "x", "NV", "dx", "dx[v] = p[v] (dp[v] - sum_w dp[w] p[w]), each row by itself"),
            IN("p", "p", "NV") },
          { ADDS("p", "p", "NV", "dp", NULL) } } },
      { { .N = 3, .V = 5 }, { .N = 1, .V = 4 }, { .N = 6, .V = 1 }, { .N = 7, .V = 2 },
        { .N = 2, .V = 9, .scale = 10 } } },
    { &exercise_texts[2], VT_OP_LAB, true, "T T, C C, D D, vocab V",
      { { "lab_backward", VT_KERNEL_BACKWARD, exercise_call_backward,
          { ADDS("Wo", "wo", "DV", "dWo", "dWo comes first on the way back: softmax(logits) less one at "
              "the target, times dloss / T, and then O^T times it"),
            ADDS("Wv", "wv", "CD", "dWv", "dWo is right: next dO = dlogits Wo^T, dV = P^T dO, dWv = X^T dV"),
            ADDS("Wk", "wk", "CD", "dWk", "dWv is right: next dP = dO V^T, the softmax of exercise 2, "
              "1/sqrt(D), dK[u] = sum_t ds[t][u] Q[t], dWk = X^T dK"),
            ADDS("Wq", "wq", "CD", "dWq", "dWv is right: next dP = dO V^T, the softmax of exercise 2, "
              "1/sqrt(D), dQ[t] = sum_u ds[t][u] K[u], dWq = X^T dQ"),
            ADDS("X", "x", "TC", "dX", "the weights' gradients are right: dX is dQ Wq^T + dK Wk^T + dV Wv^T"),
            IN("target", "target", "T"), IN("Q", "q", "TD"), IN("K", "k", "TD"), IN("V", "v", "TD"),
            IN("P", "p", "TT"), IN("O", "o", "TD"), IN("logits", "logits", "TV") },
          { ADDS("loss", "loss", "", "dloss", NULL) } } },
      { { .T = 5, .D = 3, .C = 6, .V = 7 }, { .T = 1, .D = 3, .C = 2, .V = 5 },
        { .T = 6, .D = 4, .C = 8, .V = 10 }, { .T = 7, .D = 1, .C = 3, .V = 2 },
        { .T = 9, .D = 5, .C = 4, .V = 11 }, { .T = 4, .D = 2, .C = 3, .V = 6, .scale = 4 } } },
    { &exercise_texts[3], VT_OP_ATTENTION, false, "T T, heads H, width D",
      { { "heads_forward", VT_KERNEL_FORWARD, exercise_call_heads_forward,
          { IN("Q", "q", "THD"), IN("K", "k", "THD"), IN("V", "v", "THD") },
          { OUT("P", "attention.att", "HTT", "each head's row is a softmax over all keys of "
              "q . k / sqrt(width), with that head's columns alone"),
            OUT("O", "o", "THD", "P is right: O[t][h] is the sum of V[u][h], each times P[h][t][u]") } },
        { "heads_backward", VT_KERNEL_BACKWARD, exercise_call_heads_backward,
          { ADDS("V", "v", "THD", "dV", "dV[u][h] is the sum over t of P[h][t][u] dO[t][h]"),
            ADDS("Q", "q", "THD", "dQ", "dQ[t][h] is the sum over u of ds[t][u] K[u][h] / sqrt(width)"),
            ADDS("K", "k", "THD", "dK", "dK[u][h] is the sum over t of ds[t][u] Q[t][h] / sqrt(width)"),
            IN("P", "attention.att", "HTT") },
          { ADDS("O", "o", "THD", "dO", NULL) } } },
      { { .T = 5, .H = 3, .D = 2 }, { .T = 1, .H = 2, .D = 3 }, { .T = 6, .H = 1, .D = 4 },
        { .T = 3, .H = 4, .D = 5 }, { .T = 7, .H = 2, .D = 1 },
        { .T = 4, .H = 2, .D = 3, .scale = 30 } } },
    { &exercise_texts[4], VT_OP_CROSSENTROPY, false, "N N, V V",
      { { "loss_forward", VT_KERNEL_FORWARD, exercise_call_loss_forward,
          { IN("logits", "logits", "NV"), IN("target", "target", "N") },
          { OUT("loss", "loss", "N", "loss = log of the sum of exp(logits / temperature), less the "
              "target's logit / temperature; 0 where the target is -1") } },
        { "loss_backward", VT_KERNEL_BACKWARD, exercise_call_loss_backward,
          { ADDS("logits", "logits", "NV", "dlogits", "dlogits = dloss (p - [v is the target]) / "
              "temperature, p the softmax of logits / temperature"),
            IN("target", "target", "N") },
          { ADDS("loss", "loss", "N", "dloss", NULL) } } },
      { { .N = 4, .V = 5, .temperature = 0.7 }, { .N = 1, .V = 3, .temperature = 2 },
        { .N = 6, .V = 1, .temperature = 0.5 }, { .N = 7, .V = 2, .temperature = 1 },
        { .N = 3, .V = 8, .temperature = 1.6 },
        { .N = 5, .V = 6, .temperature = 0.3, .scale = 300 } } },
    { &exercise_texts[5], VT_OP_ATTENTION, true, "T T, S S, D D",
      { { "causal_forward", VT_KERNEL_FORWARD, exercise_call_causal_forward,
          { IN("Q", "q", "TD"), IN("K", "k", "SD"), IN("V", "v", "SD") },
          { OUT("P", "attention.att", "TS", "each row is a softmax over the keys u <= S - T + t alone; "
              "0 behind them"),
            OUT("O", "o", "TD", "P is right: O[t] is the sum of the rows V[u], each times P[t][u]") } },
        { "causal_backward", VT_KERNEL_BACKWARD, exercise_call_causal_backward,
          { ADDS("V", "v", "SD", "dV", "dV[u] is the sum of P[t][u] dO[t] over the queries "
                 "that see u, those with u <= S - T + t"),
            ADDS("Q", "q", "TD", "dQ", "dQ[t] is the sum over the keys it sees of ds[t][u] K[u] / sqrt(D)"),
            ADDS("K", "k", "SD", "dK", "dK[u] is the sum over the queries that see it of ds[t][u] Q[t] / sqrt(D)"),
            IN("P", "attention.att", "TS") },
          { ADDS("O", "o", "TD", "dO", NULL) } } },
      { { .T = 4, .S = 7, .D = 3 }, { .T = 1, .S = 5, .D = 2 }, { .T = 6, .S = 6, .D = 4 },
        { .T = 1, .S = 1, .D = 3 }, { .T = 3, .S = 9, .D = 1 },
        { .T = 5, .S = 8, .D = 2, .scale = 30 } } },
    { &exercise_texts[6], VT_OP_LAYERNORM, false, "N N, C C",
      { { "layernorm_backward", VT_KERNEL_BACKWARD, exercise_call_layernorm,
          { ADDS("b", "b", "C", "db", "b is added to every row: db is the sum of dy over the rows"),
            ADDS("w", "w", "C", "dw", "w multiplies xhat: dw is the sum of dy xhat over the rows"),
            ADDS("x", "x", "NC", "dx", "with dxhat = w dy, a row of dx is rstd (dxhat - mean of dxhat - "
              "xhat mean of dxhat xhat)"),
            IN("mean", "layernorm.mean", "N"), IN("rstd", "layernorm.rstd", "N") },
          { ADDS("y", "y", "NC", "dy", NULL) } } },
      { { .N = 4, .C = 5 }, { .N = 1, .C = 7 }, { .N = 6, .C = 2 }, { .N = 3, .C = 8 },
        { .N = 5, .C = 9, .scale = 100 } } },
};

const exercise *exercise_at(size_t i)
{
    return i < EXERCISES ? &table[i] : NULL;
}

int exercise_size(const graph_sizes *z, char letter)
{
    switch (letter) {
    case 'N': return z->N;
    case 'T': return z->T;
    case 'S': return z->S;
    case 'H': return z->NH;
    case 'D': return z->HS;
    case 'C': return z->C;
    case 'V': return z->V;
    }
    return 1;
}
