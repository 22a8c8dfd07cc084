/* Exercise 4, solved: heads.  One head's loops inside a loop over heads; what is divided
 * by is the root of a head's width. */
#include <math.h>

void heads_forward(int T, int heads, int width,
                   double P[heads][T][T], double O[T][heads][width],
                   const double Q[T][heads][width], const double K[T][heads][width],
                   const double V[T][heads][width])
{
    for (int h = 0; h < heads; h++)
    for (int t = 0; t < T; t++) {
        double *p = P[h][t], largest = -INFINITY, sum = 0;
        for (int u = 0; u < T; u++) {
            p[u] = 0;
            for (int i = 0; i < width; i++) p[u] += Q[t][h][i] * K[u][h][i];
            p[u] /= sqrt(width);
            largest = fmax(largest, p[u]);
        }
        for (int u = 0; u < T; u++) {
            p[u] = exp(p[u] - largest);
            sum += p[u];
        }
        for (int u = 0; u < T; u++) p[u] /= sum;
        for (int i = 0; i < width; i++) {
            O[t][h][i] = 0;
            for (int u = 0; u < T; u++) O[t][h][i] += p[u] * V[u][h][i];
        }
    }
}

void heads_backward(int T, int heads, int width,
                    double dQ[T][heads][width], double dK[T][heads][width],
                    double dV[T][heads][width],
                    const double dO[T][heads][width], const double P[heads][T][T],
                    const double Q[T][heads][width], const double K[T][heads][width],
                    const double V[T][heads][width])
{
    for (int h = 0; h < heads; h++)
    for (int t = 0; t < T; t++) {
        const double *p = P[h][t];
        double dp[T], row = 0;
        for (int u = 0; u < T; u++) {
            dp[u] = 0;
            for (int i = 0; i < width; i++) {
                dp[u] += dO[t][h][i] * V[u][h][i];
                dV[u][h][i] += p[u] * dO[t][h][i];
            }
            row += p[u] * dp[u];
        }
        for (int u = 0; u < T; u++) {
            const double ds = p[u] * (dp[u] - row) / sqrt(width);
            for (int i = 0; i < width; i++) {
                dQ[t][h][i] += ds * K[u][h][i];
                dK[u][h][i] += ds * Q[t][h][i];
            }
        }
    }
}
