/* specimen_linear.c -- y = x w + b, twice: in blocks of 4 x 4, and with the weights
 * transposed first.
 *
 *     dx += dy w^T,   dw += x^T dy,   db += sum of dy's rows
 */
#include "verify/selftest/specimens/real.h"

enum { TILE = 4 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static void blocked_forward(const vt_kernel_call *c, int fault)
{
    const size_t N = c->N, C = c->C, OC = c->OC;
    const real *x = c->in[VT_LINEAR_X], *w = c->in[VT_LINEAR_W], *b = c->in[VT_LINEAR_B];
    real *y = c->out[0];
    for (size_t n0 = 0; n0 < N; n0 += TILE)
    for (size_t o0 = 0; o0 < OC; o0 += TILE) {
        real acc[TILE][TILE] = { { 0 } };
        const size_t nn = least(TILE, N - n0), no = least(TILE, OC - o0);
        for (size_t i = 0; i < C; i++)
            for (size_t n = 0; n < nn; n++)
                for (size_t o = 0; o < no; o++)
                    acc[n][o] += x[(n0 + n) * C + i] * w[i * OC + o0 + o];
        for (size_t n = 0; n < nn; n++)
            for (size_t o = 0; o < no; o++)
                y[(n0 + n) * OC + o0 + o] = acc[n][o] + (fault == BUG_linear_bias_unused ? 0 : b[o0 + o]);
    }
}

/* dw and db of one block of rows. */
static void blocked_weights(const vt_kernel_call *c, size_t n0, size_t nn, int fault)
{
    const size_t C = c->C, OC = c->OC;
    const real *x = (const real *)c->in[VT_LINEAR_X] + n0 * C, *dy = (const real *)c->dout[0] + n0 * OC;
    real *dw = c->din[VT_LINEAR_W], *db = c->din[VT_LINEAR_B];
    for (size_t i = 0; i < C; i++)
    for (size_t o = 0; o < OC; o++) {
        real sum = 0;
        for (size_t n = 0; n < nn; n++) sum += x[n * C + i] * dy[n * OC + o];
        dw[i * OC + o] = fault == BUG_linear_block_assigned ? sum : dw[i * OC + o] + sum;
    }
    if (fault == BUG_linear_no_bias || (fault == BUG_linear_bias_first_block && n0 > 0)) return;
    for (size_t o = 0; o < OC; o++) {
        real sum = 0;
        for (size_t n = 0; n < nn; n++) sum += dy[n * OC + o];
        db[o] += fault == BUG_linear_bias_mean ? sum / (real)c->N : sum;
    }
}

int SPECIMEN(linear_blocked)(const vt_kernel_call *c, int fault)
{
    if (c->pass == VT_KERNEL_FORWARD) { blocked_forward(c, fault); return 0; }
    const size_t N = c->N, C = c->C, OC = c->OC;
    const real *w = c->in[VT_LINEAR_W], *dy = c->dout[0];
    real *dx = c->din[VT_LINEAR_X];
    for (size_t n0 = 0; n0 < N; n0 += TILE) {
        const size_t nn = least(TILE, N - n0);
        blocked_weights(c, n0, nn, fault);
        if (fault == BUG_linear_dx_zero) continue;
        for (size_t o0 = 0; o0 < OC; o0 += TILE) {
            if (fault == BUG_linear_tail_dropped && o0 + TILE > OC) continue;
            const size_t end = least(o0 + TILE, OC);
            for (size_t n = n0; n < n0 + nn; n++)
                for (size_t i = 0; i < C; i++)
                    for (size_t o = o0; o < end; o++) dx[n * C + i] += dy[n * OC + o] * w[i * OC + o];
        }
    }
    return 0;
}

/* Rows of the transposed weights (OC, C) lie in `save`. */
static void transposed_forward(const vt_kernel_call *c)
{
    const size_t C = c->C, OC = c->OC;
    const real *w = c->in[VT_LINEAR_W], *b = c->in[VT_LINEAR_B];
    real *wt = c->save, *y = c->out[0];
    for (size_t o = 0; o < OC; o++)
        for (size_t i = 0; i < C; i++) wt[o * C + i] = w[i * OC + o];
    for (size_t o = 0; o < OC; o++)
        for (size_t n = 0; n < c->N; n++) {
            const real *x = (const real *)c->in[VT_LINEAR_X] + n * C;
            real sum = 0;
            for (size_t i = 0; i < C; i++) sum += x[i] * wt[o * C + i];
            y[n * OC + o] = sum + b[o];
        }
}

int SPECIMEN(linear_transposed)(const vt_kernel_call *c, int fault)
{
    if (c->pass == VT_KERNEL_FORWARD) { transposed_forward(c); return 0; }
    const size_t C = c->C, OC = c->OC, N = fault == BUG_linear_last_row ? c->N - 1 : c->N;
    const real *wt = c->save, *dy = c->dout[0];
    real *dw = c->din[VT_LINEAR_W], *db = c->din[VT_LINEAR_B];
    for (size_t o = 0; o < OC; o++)
    for (size_t n = 0; n < c->N; n++) {
        const real *x = (const real *)c->in[VT_LINEAR_X] + n * C;
        real *dx = (real *)c->din[VT_LINEAR_X] + n * C, g = dy[n * OC + o];
        for (size_t i = 0; i < C; i++) dx[i] += fault == BUG_linear_dx_sign ? -g * wt[o * C + i] : g * wt[o * C + i];
        if (n >= N) continue;
        db[o] += g;
        if (fault == BUG_linear_weight_mean) g /= (real)N;
        if (fault == BUG_linear_weight_twice) g *= 2;
        for (size_t i = 0; i < C; i++) {
            real d = fault == BUG_linear_rounded ? coarse(x[i] * g) : x[i] * g;
            if (fault == BUG_linear_one_entry && o == OC / 2 && i == C / 2) d *= (real)1.01;
            dw[fault == BUG_linear_dw_transposed ? o * C + i : i * OC + o] += d;
        }
    }
    return 0;
}
