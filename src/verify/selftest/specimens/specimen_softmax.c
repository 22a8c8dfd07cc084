/* specimen_softmax.c -- softmax of rows, twice: by two passes over a row, and with a
 * running maximum and sum in one.
 *
 *     p = exp(x - max) / sum exp(x - max),   dx += p (dp - sum p dp)
 */
#include "verify/selftest/specimens/real.h"

static void forward(const vt_kernel_call *c, int fault)
{
    const size_t V = c->V;
    const real *x = c->in[VT_SOFTMAX_X];
    real *p = c->out[0];
    for (size_t n = 0; n < c->N; n++, x += V, p += V) {
        real max = x[0], sum = 0;
        for (size_t v = 1; v < V; v++) if (x[v] > max) max = x[v];
        if (fault == BUG_softmax_no_max) max = 0;
        if (fault == BUG_softmax_writes_input) {
            real *own = written(x);
            for (size_t v = 0; v < V; v++) own[v] -= max;
            max = 0;
        }
        for (size_t v = 0; v < V; v++) p[v] = exp(x[v] - max), sum += p[v];
        for (size_t v = 0; v < V; v++) p[v] /= sum;
    }
}

int SPECIMEN(softmax_rows)(const vt_kernel_call *c, int fault)
{
    if (c->pass == VT_KERNEL_FORWARD) { forward(c, fault); return 0; }
    const size_t V = c->V, N = fault == BUG_softmax_last_row ? c->N - 1 : c->N;
    const real *p = c->out[0], *dp = c->dout[0];
    real *dx = c->din[VT_SOFTMAX_X];
    for (size_t n = 0; n < N; n++, p += V, dp += V, dx += V) {
        real row = 0;
        for (size_t v = 0; v < V; v++) row += p[v] * dp[v];
        if (fault == BUG_softmax_no_row_sum) row = 0;
        if (fault == BUG_softmax_row_mean) row /= (real)V;
        for (size_t v = 0; v < V; v++) {
            const real d = p[v] * (dp[v] - row);
            if (fault == BUG_softmax_assigned) dx[v] = d;
            else if (fault == BUG_softmax_sign) dx[v] -= d;
            else dx[v] += d;
        }
    }
    return 0;
}

/* One reading of the row for maximum and sum, one for the quotient. */
int SPECIMEN(softmax_online)(const vt_kernel_call *c, int fault)
{
    const size_t V = c->V;
    for (size_t n = 0; n < c->N; n++) {
        const real *x = (const real *)c->in[VT_SOFTMAX_X] + n * V;
        real max = x[0], sum = 1, row = 0;
        for (size_t v = 1; v < V; v++) {
            if (x[v] <= max) { sum += exp(x[v] - max); continue; }
            sum = (fault == BUG_softmax_online_no_rescale ? sum : sum * exp(max - x[v])) + 1;
            max = x[v];
        }
        if (c->pass == VT_KERNEL_FORWARD) {
            real *p = (real *)c->out[0] + n * V;
            for (size_t v = 0; v < V; v++) p[v] = exp(x[v] - max) / sum;
            continue;
        }
        const real *dp = (const real *)c->dout[0] + n * V;
        real *dx = (real *)c->din[VT_SOFTMAX_X] + n * V;
        for (size_t v = 0; v < V; v++) row += exp(x[v] - max) * dp[v];
        for (size_t v = 0; v < V; v++) {
            const real p = exp(x[v] - max) / sum;
            /* row is not yet divided by the sum */
            dx[v] += p * (dp[v] - (fault == BUG_softmax_online_row_unscaled ? row : row / sum));
        }
    }
    return 0;
}
