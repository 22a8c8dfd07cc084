/* specimen_layernorm.c -- layer norm, twice: mean and variance by two readings of a
 * row, and by Welford's in one.
 *
 *     y = w xhat + b,   xhat = (x - mean) rstd,   rstd = 1 / sqrt(var + 1e-5)
 *     dx += rstd (dxhat - mean(dxhat) - xhat mean(dxhat xhat)),   dxhat = w dy
 *
 * Welford, "Note on a method for calculating corrected sums of squares and products",
 * Technometrics 4 (1962).
 */
#include "verify/selftest/specimens/real.h"

static const real EPS = (real)1e-5;

static void row_statistics(const real *x, size_t C, real *mean, real *rstd, int fault)
{
    real m = 0, v = 0;
    for (size_t i = 0; i < C; i++) m += x[i];
    m /= (real)C;
    for (size_t i = 0; i < C; i++) v += (x[i] - m) * (x[i] - m);
    v /= fault == BUG_norm_unbiased ? (real)C - 1 : (real)C;
    *mean = m;
    *rstd = fault == BUG_norm_eps_outside ? 1 / (sqrt(v) + EPS) : 1 / sqrt(v + EPS);
}

/* A scratch that outlives the call: the fault is that nobody clears it. */
static real kept_sum(real x)
{
    static _Thread_local real kept;
    kept = (kept + x) / 2;
    return kept;
}

static void rows_backward(const vt_kernel_call *c, size_t n, real mean, real rstd, int fault)
{
    const size_t C = c->C;
    const real *x = (const real *)c->in[VT_LAYERNORM_X] + n * C, *dy = (const real *)c->dout[0] + n * C;
    const real *w = c->in[VT_LAYERNORM_W];
    real *dx = (real *)c->din[VT_LAYERNORM_X] + n * C;
    real *dw = c->din[VT_LAYERNORM_W], *db = c->din[VT_LAYERNORM_B];
    real avg = 0, avg_xhat = 0;
    for (size_t i = 0; i < C; i++) {
        const real xhat = (x[i] - mean) * rstd, dxhat = fault == BUG_norm_no_gain ? dy[i] : w[i] * dy[i];
        avg += dxhat;
        avg_xhat += dxhat * xhat;
        real d = dy[i] * (fault == BUG_norm_gain_from_x ? x[i] : xhat);
        dw[i] += fault == BUG_norm_gain_mean ? d / (real)c->N : d;
        if (fault != BUG_norm_no_bias) db[i] += dy[i];
    }
    if (fault != BUG_norm_sums) avg /= (real)C, avg_xhat /= (real)C;
    if (fault == BUG_norm_no_mean_term) avg = 0;
    if (fault == BUG_norm_no_xhat_term) avg_xhat = 0;
    if (fault == BUG_norm_kept) avg = kept_sum(avg);
    for (size_t i = 0; i < C; i++) {
        const real xhat = (x[i] - mean) * rstd, dxhat = fault == BUG_norm_no_gain ? dy[i] : w[i] * dy[i];
        dx[i] += rstd * (dxhat - avg - xhat * avg_xhat);
    }
}

int SPECIMEN(layernorm_rows)(const vt_kernel_call *c, int fault)
{
    const real *w = c->in[VT_LAYERNORM_W], *b = c->in[VT_LAYERNORM_B];
    for (size_t n = 0; n < c->N; n++) {
        const real *x = (const real *)c->in[VT_LAYERNORM_X] + n * c->C;
        real mean, rstd;
        row_statistics(x, c->C, &mean, &rstd, fault);
        if (c->pass == VT_KERNEL_BACKWARD) { rows_backward(c, n, mean, rstd, fault); continue; }
        real *y = (real *)c->out[0] + n * c->C;
        for (size_t i = 0; i < c->C; i++) y[i] = (x[i] - mean) * rstd * w[i] + b[i];
    }
    return 0;
}

/* ---- Welford: mean and 1/std go from forward to backward in `save` ---------- */

static void welford_forward(const vt_kernel_call *c, int fault)
{
    const real *w = c->in[VT_LAYERNORM_W], *b = c->in[VT_LAYERNORM_B];
    real *save = c->save;
    for (size_t n = 0; n < c->N; n++) {
        const real *x = (const real *)c->in[VT_LAYERNORM_X] + n * c->C;
        real *y = (real *)c->out[0] + n * c->C, mean = 0, m2 = 0;
        for (size_t i = 0; i < c->C; i++) {
            const real before = x[i] - mean;
            mean += before / (real)(i + 1);
            m2 += before * (x[i] - mean);
        }
        if (fault != BUG_welford_variance_sum) m2 /= (real)c->C;
        const real rstd = 1 / sqrt(fault == BUG_welford_no_eps ? m2 : m2 + EPS);
        for (size_t i = 0; i < c->C; i++) y[i] = b[i] + w[i] * ((x[i] - mean) * rstd);
        save[2 * n] = mean, save[2 * n + 1] = rstd;
    }
}

int SPECIMEN(layernorm_welford)(const vt_kernel_call *c, int fault)
{
    if (c->pass == VT_KERNEL_FORWARD) { welford_forward(c, fault); return 0; }
    const size_t C = c->C;
    const real *w = c->in[VT_LAYERNORM_W], *save = c->save;
    real *dw = c->din[VT_LAYERNORM_W], *db = c->din[VT_LAYERNORM_B];
    for (size_t n = 0; n < c->N; n++) {
        const real *x = (const real *)c->in[VT_LAYERNORM_X] + n * C, *dy = (const real *)c->dout[0] + n * C;
        real *dx = (real *)c->din[VT_LAYERNORM_X] + n * C;
        const real mean = save[2 * n], rstd = save[2 * n + 1];
        real a = 0, b = 0;
        for (size_t i = 0; i < C; i++) {
            real xhat = (x[i] - mean) * rstd;
            if (fault == BUG_welford_rounded) xhat = coarse(xhat);
            a += w[i] * dy[i];
            b += w[i] * dy[i] * xhat;
            dw[i] = fault == BUG_welford_assigned ? dy[i] * xhat : dw[i] + dy[i] * xhat;
            if (fault != BUG_welford_last_row || n + 1 < c->N) db[i] += dy[i];
        }
        for (size_t i = 0; i < C; i++) {
            const real xhat = (x[i] - mean) * rstd, mean_term = a / (real)C;
            const real d = w[i] * dy[i] - xhat * b / (real)C
                           + (fault == BUG_welford_sign ? mean_term : -mean_term);
            dx[i] += fault == BUG_welford_no_rstd ? d : d * rstd;
        }
    }
    return 0;
}
