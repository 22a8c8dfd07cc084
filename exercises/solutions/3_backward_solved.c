/* Exercise 3, solved: everything backward.  Each block is one line of the forward pass. */
#include <math.h>

/* Y = A B with A (n, m) and B (m, k): adds dY B^T to dA and A^T dY to dB. */
static void product(int n, int m, int k, double dA[n][m], double dB[m][k],
                    const double dY[n][k], const double A[n][m], const double B[m][k])
{
    for (int r = 0; r < n; r++)
    for (int i = 0; i < m; i++)
    for (int j = 0; j < k; j++) {
        dA[r][i] += dY[r][j] * B[i][j];
        dB[i][j] += A[r][i] * dY[r][j];
    }
}

static void zero(int n, int m, double Y[n][m])
{
    for (int r = 0; r < n; r++)
    for (int i = 0; i < m; i++) Y[r][i] = 0;
}

void lab_backward(int T, int C, int D, int vocab,
                  double dX[T][C], double dWq[C][D], double dWk[C][D], double dWv[C][D],
                  double dWo[D][vocab], double dloss,
                  const double X[T][C], const double Wq[C][D], const double Wk[C][D],
                  const double Wv[C][D], const double Wo[D][vocab], const int target[T],
                  const double Q[T][D], const double K[T][D], const double V[T][D],
                  const double P[T][T], const double O[T][D], const double logits[T][vocab])
{
    double dlogits[T][vocab], dO[T][D], dQ[T][D], dK[T][D], dV[T][D], dP[T];
    zero(T, D, dO);
    zero(T, D, dQ);
    zero(T, D, dK);
    zero(T, D, dV);

    /* loss: softmax(logits) less one at the target, and a share of 1/T each */
    for (int t = 0; t < T; t++) {
        double largest = logits[t][0], sum = 0;
        for (int v = 1; v < vocab; v++) largest = fmax(largest, logits[t][v]);
        for (int v = 0; v < vocab; v++) sum += exp(logits[t][v] - largest);
        for (int v = 0; v < vocab; v++) {
            const double p = exp(logits[t][v] - largest) / sum;
            dlogits[t][v] = dloss / T * (p - (v == target[t]));
        }
    }

    /* logits = O Wo */
    product(T, D, vocab, dO, dWo, dlogits, O, Wo);

    for (int t = 0; t < T; t++) {
        double row = 0;
        for (int u = 0; u <= t; u++) {
            /* O = P V */
            dP[u] = 0;
            for (int i = 0; i < D; i++) {
                dP[u] += dO[t][i] * V[u][i];
                dV[u][i] += P[t][u] * dO[t][i];
            }
            row += P[t][u] * dP[u];
        }
        for (int u = 0; u <= t; u++) {
            /* the softmax, then s = Q K^T / sqrt(D) */
            const double ds = P[t][u] * (dP[u] - row) / sqrt(D);
            for (int i = 0; i < D; i++) {
                dQ[t][i] += ds * K[u][i];
                dK[u][i] += ds * Q[t][i];
            }
        }
    }

    /* three lines read X: three paths */
    product(T, C, D, dX, dWq, dQ, X, Wq);
    product(T, C, D, dX, dWk, dK, X, Wk);
    product(T, C, D, dX, dWv, dV, X, Wv);
}
