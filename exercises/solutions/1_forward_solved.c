/* Exercise 1, solved: forward.  The equations are in 1_forward.c. */
#include <math.h>

/* One projection, Y = X W. */
static void project(int T, int C, int D, double Y[T][D], const double X[T][C],
                    const double W[C][D])
{
    for (int t = 0; t < T; t++)
    for (int i = 0; i < D; i++) {
        Y[t][i] = 0;
        for (int c = 0; c < C; c++) Y[t][i] += X[t][c] * W[c][i];
    }
}

void lab_forward(int T, int C, int D, int vocab,
                 double Q[T][D], double K[T][D], double V[T][D], double P[T][T],
                 double O[T][D], double logits[T][vocab], double *loss,
                 const double X[T][C], const double Wq[C][D], const double Wk[C][D],
                 const double Wv[C][D], const double Wo[D][vocab], const int target[T])
{
    project(T, C, D, Q, X, Wq);
    project(T, C, D, K, X, Wk);
    project(T, C, D, V, X, Wv);

    for (int t = 0; t < T; t++) {
        double largest = -INFINITY, sum = 0;
        for (int u = 0; u <= t; u++) {
            double s = 0;
            for (int i = 0; i < D; i++) s += Q[t][i] * K[u][i];
            P[t][u] = s / sqrt(D);
            largest = fmax(largest, P[t][u]);
        }
        for (int u = 0; u <= t; u++) {
            P[t][u] = exp(P[t][u] - largest);
            sum += P[t][u];
        }
        for (int u = 0; u <= t; u++) P[t][u] /= sum;
        for (int u = t + 1; u < T; u++) P[t][u] = 0;            /* the future */
        for (int i = 0; i < D; i++) {
            O[t][i] = 0;
            for (int u = 0; u <= t; u++) O[t][i] += P[t][u] * V[u][i];
        }
    }
    project(T, D, vocab, logits, O, Wo);

    *loss = 0;
    for (int t = 0; t < T; t++) {
        double largest = logits[t][0], sum = 0;
        for (int v = 1; v < vocab; v++) largest = fmax(largest, logits[t][v]);
        for (int v = 0; v < vocab; v++) sum += exp(logits[t][v] - largest);
        *loss += (largest + log(sum) - logits[t][target[t]]) / T;
    }
}
