/* Exercise 6: the causal mask, with a past.  About 10 minutes; needs exercise 3.
 *
 * A model that writes keeps the keys and values of what it has read.  Here are S of them,
 * and the queries of the last T: query t stands at position S - T + t and sees the keys
 * u <= S - T + t.
 *
 *     s[t][u] = sum_i Q[t][i] K[u][i] / sqrt(D)
 *     P[t][u] = exp(s[t][u]) / (sum of exp(s[t][w]) over the keys w that t sees)
 *               for the keys that t sees, else 0
 *     O[t][i] = sum_u P[t][u] V[u][i]
 *
 * Two functions; the second adds to its gradients.  S is at least T.
 *
 *     vitrine grade 6_mask.c                       vitrine grade --exercise mask --hint 1
 */
#include <math.h>

void causal_forward(int T, int S, int D,
                    /* out */
                    double P[T][S], double O[T][D],
                    /* in */
                    const double Q[T][D], const double K[S][D], const double V[S][D])
{
    /* yours */
}

void causal_backward(int T, int S, int D,
                     /* add to */
                     double dQ[T][D], double dK[S][D], double dV[S][D],
                     /* in */
                     const double dO[T][D], const double P[T][S], const double Q[T][D],
                     const double K[S][D], const double V[S][D])
{
    /* yours */
}
