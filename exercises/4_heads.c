/* Exercise 4: a second head, and a third.  About 10 minutes; needs exercise 3.
 *
 * Q, K and V are cut by columns into `heads` heads of `width` columns; each head attends
 * by itself, and the results lie side by side again.  For head h:
 *
 *     s[t][u] = sum_i Q[t][h][i] K[u][h][i] / sqrt(width)
 *     P[h][t][u] = exp(s[t][u]) / sum_w exp(s[t][w])
 *     O[t][h][i] = sum_u P[h][t][u] V[u][h][i]
 *
 * Without a mask here: every token looks at every token.  (The head is the second index
 * of Q, K, V and O, since it is a group of columns of a row; it is the first of P.)
 *
 * Two functions; the second adds to its gradients.
 *
 *     vitrine grade 4_heads.c                      vitrine grade --exercise heads --hint 1
 */
#include <math.h>

void heads_forward(int T, int heads, int width,
                   /* out */
                   double P[heads][T][T], double O[T][heads][width],
                   /* in */
                   const double Q[T][heads][width], const double K[T][heads][width],
                   const double V[T][heads][width])
{
    /* yours */
}

void heads_backward(int T, int heads, int width,
                    /* add to */
                    double dQ[T][heads][width], double dK[T][heads][width],
                    double dV[T][heads][width],
                    /* in */
                    const double dO[T][heads][width], const double P[heads][T][T],
                    const double Q[T][heads][width], const double K[T][heads][width],
                    const double V[T][heads][width])
{
    /* yours */
}
