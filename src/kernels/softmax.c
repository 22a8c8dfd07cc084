/* softmax.c -- rows of scores to rows of probabilities: the definition.
 *
 *  p[n,v]   = exp(x[n,v]) / sum_w exp(x[n,w])                     (softmax.p)
 *  dx[n,v] += p[n,v] (dp[n,v] - sum_w p[n,w] dp[n,w])            (softmax.dx)
 *
 * A row may hold -inf (probability 0), but not nothing else.
 */
#include "ref.h"

void REF(softmax_forward)(scalar *out_, const scalar *x_, int N, int V)
{
    scalar       (*p)[V] = VIEW(out_);               /* (N, V) */
    const scalar (*x)[V] = VIEW(x_);                 /* (N, V) */

    for (int n = 0; n < N; n++) {
        scalar max = x[n][0], sum = 0;     /* softmax(x) == softmax(x - max) */
        for (int v = 1; v < V; v++) if (re(x[n][v]) > re(max)) max = x[n][v];
        for (int v = 0; v < V; v++) sum += exp(x[n][v] - max);
        for (int v = 0; v < V; v++)
            p[n][v] = exp(x[n][v] - max) / sum;                 /* softmax.p */
    }
}

/* Adds into dx; out is the row of probabilities that forward wrote. */
void REF(softmax_backward)(scalar *dx_, const scalar *dout_, const scalar *out_,
                           int N, int V)
{
    scalar       (*dx)[V] = VIEW(dx_);
    const scalar (*dp)[V] = VIEW(dout_), (*p)[V] = VIEW(out_);

    for (int n = 0; n < N; n++) {
        scalar row = 0;
        for (int w = 0; w < V; w++) row += p[n][w] * dp[n][w];
        for (int v = 0; v < V; v++)
            dx[n][v] += p[n][v] * (dp[n][v] - row);            /* softmax.dx */
    }
}
