/* Exercise 7: layer norm, backward.  About 15 minutes; needs the chain rule, and the
 * idea of exercise 2: one number of a row moves the whole row.
 *
 *     mean[n] = sum_i x[n][i] / C
 *     rstd[n] = 1 / sqrt(sum_i (x[n][i] - mean[n])^2 / C + 1e-5)
 *     xhat[n][i] = (x[n][i] - mean[n]) rstd[n]
 *     y[n][i] = w[i] xhat[n][i] + b[i]
 *
 * was computed; mean and rstd were kept.  From dy find dx, dw and db.  The mean and rstd
 * of a row depend on each x of it: that gives dx two more terms.
 *
 * Add to the three gradients.
 *
 *     vitrine grade 7_layernorm.c                  vitrine grade --exercise layernorm --hint 1
 */

void layernorm_backward(int N, int C,
                        /* add to */
                        double dx[N][C], double dw[C], double db[C],
                        /* in */
                        const double dy[N][C], const double x[N][C], const double w[C],
                        const double mean[N], const double rstd[N])
{
    /* yours */
}
