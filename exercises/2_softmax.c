/* Exercise 2: the softmax, backward.  About 10 minutes; needs the chain rule.
 *
 *     p[v] = exp(x[v]) / sum_w exp(x[w])             each of N rows by itself
 *
 * was computed.  You get p and, of each p[v], how the loss changes with it: dp[v] =
 * d loss / d p[v].  Wanted is dx[v] = d loss / d x[v].  Every x[v] moves every p[w] of
 * its row, so
 *
 *     dx[v] = sum_w dp[w] (d p[w] / d x[v])
 *
 * Find the derivative of p[w] by x[v] (two cases: w = v and w != v), put it in, and
 * simplify until one sum is left that all v of a row share.
 *
 * Add to dx: what is there already came from elsewhere and counts.
 *
 *     vitrine grade 2_softmax.c                    vitrine grade --exercise softmax --hint 1
 */

void softmax_backward(int N, int V,
                      /* add to */
                      double dx[N][V],
                      /* in */
                      const double dp[N][V], const double p[N][V])
{
    /* yours */
}
