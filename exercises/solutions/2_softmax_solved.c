/* Exercise 2, solved: the softmax, backward.
 *
 *     d p[w] / d x[v] = p[w] ((w == v) - p[v])
 *     dx[v] = sum_w dp[w] p[w] ((w == v) - p[v]) = p[v] (dp[v] - sum_w dp[w] p[w])
 */

void softmax_backward(int N, int V, double dx[N][V], const double dp[N][V],
                      const double p[N][V])
{
    for (int n = 0; n < N; n++) {
        double row = 0;
        for (int w = 0; w < V; w++) row += dp[n][w] * p[n][w];
        for (int v = 0; v < V; v++) dx[n][v] += p[n][v] * (dp[n][v] - row);
    }
}
