/* Exercise 7, solved: layer norm, backward.
 *
 *     dxhat[i] = w[i] dy[i]
 *     dx[i] = rstd (dxhat[i] - (mean of dxhat) - xhat[i] (mean of dxhat xhat))
 *
 * The second term is x's part in the mean, the third its part in rstd.
 */

void layernorm_backward(int N, int C, double dx[N][C], double dw[C], double db[C],
                        const double dy[N][C], const double x[N][C], const double w[C],
                        const double mean[N], const double rstd[N])
{
    for (int n = 0; n < N; n++) {
        double average = 0, along = 0;
        for (int i = 0; i < C; i++) {
            const double xhat = (x[n][i] - mean[n]) * rstd[n], dxhat = w[i] * dy[n][i];
            average += dxhat / C;
            along += dxhat * xhat / C;
            dw[i] += dy[n][i] * xhat;
            db[i] += dy[n][i];
        }
        for (int i = 0; i < C; i++) {
            const double xhat = (x[n][i] - mean[n]) * rstd[n], dxhat = w[i] * dy[n][i];
            dx[n][i] += rstd[n] * (dxhat - average - xhat * along);
        }
    }
}
