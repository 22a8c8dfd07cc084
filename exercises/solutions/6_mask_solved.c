/* Exercise 6, solved: the causal mask.  What is not seen is in no sum: the mask is where
 * the loops over keys end. */
#include <math.h>

void causal_forward(int T, int S, int D, double P[T][S], double O[T][D],
                    const double Q[T][D], const double K[S][D], const double V[S][D])
{
    for (int t = 0; t < T; t++) {
        const int seen = S - T + t + 1;
        double largest = -INFINITY, sum = 0;
        for (int u = 0; u < seen; u++) {
            double s = 0;
            for (int i = 0; i < D; i++) s += Q[t][i] * K[u][i];
            P[t][u] = s / sqrt(D);
            largest = fmax(largest, P[t][u]);
        }
        for (int u = 0; u < seen; u++) {
            P[t][u] = exp(P[t][u] - largest);
            sum += P[t][u];
        }
        for (int u = 0; u < seen; u++) P[t][u] /= sum;
        for (int u = seen; u < S; u++) P[t][u] = 0;
        for (int i = 0; i < D; i++) {
            O[t][i] = 0;
            for (int u = 0; u < seen; u++) O[t][i] += P[t][u] * V[u][i];
        }
    }
}

void causal_backward(int T, int S, int D, double dQ[T][D], double dK[S][D], double dV[S][D],
                     const double dO[T][D], const double P[T][S], const double Q[T][D],
                     const double K[S][D], const double V[S][D])
{
    for (int t = 0; t < T; t++) {
        const int seen = S - T + t + 1;
        double dp[S], row = 0;
        for (int u = 0; u < seen; u++) {
            dp[u] = 0;
            for (int i = 0; i < D; i++) {
                dp[u] += dO[t][i] * V[u][i];
                dV[u][i] += P[t][u] * dO[t][i];
            }
            row += P[t][u] * dp[u];
        }
        for (int u = 0; u < seen; u++) {
            const double ds = P[t][u] * (dp[u] - row) / sqrt(D);
            for (int i = 0; i < D; i++) {
                dQ[t][i] += ds * K[u][i];
                dK[u][i] += ds * Q[t][i];
            }
        }
    }
}
