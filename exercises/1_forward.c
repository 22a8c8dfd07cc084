/* Exercise 1: forward.  About 15 minutes; needs nothing but matrix products.
 *
 * One causal attention head over T tokens, from the tokens' vectors to the loss.
 *
 *     Q = X Wq,  K = X Wk,  V = X Wv
 *     P[t][u] = exp(s[t][u]) / sum_{w <= t} exp(s[t][w])       for u <= t,  else 0
 *               with s[t][u] = sum_i Q[t][i] K[u][i] / sqrt(D)
 *     O = P V
 *     logits = O Wo
 *     loss = 1/T sum_t (log sum_v exp(logits[t][v]) - logits[t][target[t]])
 *
 * Token t looks at itself and at what came before it: u <= t.  Write every element of
 * every output, the zeros of P too.  exp of a large number is infinite: subtract the
 * largest first, which changes nothing else.
 *
 *     T tokens, C channels of a token, D channels of the head, `vocab` classes
 *
 *     vitrine grade 1_forward.c                    vitrine grade --exercise forward --hint 1
 *
 * With T 6, C 8, D 4, vocab 10 and its numbers, `vitrine lab` prints this loss.
 */
#include <math.h>

void lab_forward(int T, int C, int D, int vocab,
                 /* out */
                 double Q[T][D], double K[T][D], double V[T][D], double P[T][T],
                 double O[T][D], double logits[T][vocab], double *loss,
                 /* in */
                 const double X[T][C], const double Wq[C][D], const double Wk[C][D],
                 const double Wv[C][D], const double Wo[D][vocab], const int target[T])
{
    /* yours */
}
