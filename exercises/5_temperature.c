/* Exercise 5: a temperature in the loss.  About 10 minutes; needs exercise 2.
 *
 *     p[n][v] = exp(logits[n][v] / temperature) / sum_w exp(logits[n][w] / temperature)
 *     loss[n] = -log p[n][target[n]]
 *
 * of each row n by itself, not their mean.  A target of -1 is not counted: its loss is 0,
 * and so is its gradient.  Mind the size of what you give to exp, and the log of a number
 * that rounds to 0: log of a sum of exp is the safer form.
 *
 * Backward: with dloss[n] = d loss / d loss[n] of what follows, add to dlogits.  What
 * does the temperature do to it?
 *
 *     vitrine grade 5_temperature.c                vitrine grade --exercise temperature --hint 1
 */
#include <math.h>

void loss_forward(int N, int V,
                  /* out */
                  double loss[N],
                  /* in */
                  const double logits[N][V], const int target[N], double temperature)
{
    /* yours */
}

void loss_backward(int N, int V,
                   /* add to */
                   double dlogits[N][V],
                   /* in */
                   const double dloss[N], const double logits[N][V], const int target[N],
                   double temperature)
{
    /* yours */
}
