/* Exercise 3: everything backward.  About 25 minutes; needs exercises 1 and 2.
 *
 * The gradients of exercise 1's loss by each of its inputs.  Go through the lines of the
 * forward pass from the last to the first; each takes the gradient of its result and
 * gives those of its arguments.
 *
 *     loss = 1/T sum_t (log sum_v exp(logits[t][v]) - logits[t][target[t]])
 *     logits = O Wo                      Y = A B gives  dA = dY B^T  and  dB = A^T dY
 *     O = P V
 *     P = softmax of the scores, row by row over u <= t: exercise 2
 *     s[t][u] = sum_i Q[t][i] K[u][i] / sqrt(D)
 *     Q = X Wq,  K = X Wk,  V = X Wv
 *
 * dloss is the gradient of the loss itself: all of yours are proportional to it.  X is
 * read by three lines, so dX is the sum of three paths.  Add to the five gradients: what
 * is there counts.  For what lies between you may use arrays like double dO[T][D].
 *
 *     vitrine grade 3_backward.c                   vitrine grade --exercise backward --hint 1
 */
#include <math.h>

void lab_backward(int T, int C, int D, int vocab,
                  /* add to */
                  double dX[T][C], double dWq[C][D], double dWk[C][D], double dWv[C][D],
                  double dWo[D][vocab],
                  /* in: the gradient of the loss, then what forward was given and found */
                  double dloss,
                  const double X[T][C], const double Wq[C][D], const double Wk[C][D],
                  const double Wv[C][D], const double Wo[D][vocab], const int target[T],
                  const double Q[T][D], const double K[T][D], const double V[T][D],
                  const double P[T][T], const double O[T][D], const double logits[T][vocab])
{
    /* yours */
}
