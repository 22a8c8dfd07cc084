/* specimen_keys_outer.c -- attention with the loops reordered: keys outside, queries
 * inside, so that a key and its value are read once.
 *
 * The probabilities are kept transposed, (B, NH, S, T), in `save`, and behind them for
 * each query the maximum and the sum, which in the backward pass becomes rowsum(p dp).
 */
#include "verify/selftest/specimens/real.h"

typedef struct head { size_t b, h; real *p, *max, *sum; } head;

static bool hidden(const vt_kernel_call *c, size_t t, size_t u, int fault)
{
    const unsigned char *mask = c->in[VT_ATTENTION_MASK];
    const size_t first = fault == BUG_outer_top_left ? c->T : c->S;     /* S - T + t, or t */
    if (c->causal && u + c->T > first + t) return true;
    return mask && !mask[t * c->S + u];
}

static size_t query(const vt_kernel_call *c, const head *z, size_t t)
{
    return ((z->b * c->T + t) * c->NH + z->h) * c->HS;
}

static size_t key(const vt_kernel_call *c, const head *z, size_t u)
{
    return ((z->b * c->S + u) * c->NH + z->h) * c->HS;
}

static real scale_of(const vt_kernel_call *c, int fault)
{
    return 1 / sqrt((real)(fault == BUG_outer_scale_width ? c->NH * c->HS : c->HS));
}

static void head_forward(const vt_kernel_call *c, const head *z, int fault)
{
    const real *q = c->in[VT_ATTENTION_Q], *k = c->in[VT_ATTENTION_K], *v = c->in[VT_ATTENTION_V];
    const size_t T = c->T, S = c->S, HS = c->HS;
    const real scale = scale_of(c, fault);
    real *o = c->out[0];
    for (size_t t = 0; t < T; t++) {
        z->max[t] = -(real)INFINITY, z->sum[t] = 0;
        for (size_t i = 0; i < HS; i++) o[query(c, z, t) + i] = 0;
    }
    for (size_t u = 0; u < S; u++)
    for (size_t t = 0; t < T; t++) {
        if (hidden(c, t, u, fault)) continue;
        real s = 0;
        for (size_t i = 0; i < HS; i++) s += q[query(c, z, t) + i] * k[key(c, z, u) + i];
        z->p[u * T + t] = s *= scale;
        if (s > z->max[t]) z->max[t] = s;
    }
    for (size_t u = 0; u < S; u++)
    for (size_t t = 0; t < T; t++) {
        const bool no = hidden(c, t, u, fault);
        z->p[u * T + t] = no ? 0 : exp(z->p[u * T + t] - z->max[t]);
        z->sum[t] += z->p[u * T + t];
    }
    for (size_t u = 0; u < S; u++)
    for (size_t t = 0; t < T; t++) {
        if (hidden(c, t, u, fault)) continue;
        const real p = z->p[u * T + t] /= z->sum[t];
        for (size_t i = 0; i < HS; i++) o[query(c, z, t) + i] += p * v[key(c, z, u) + i];
    }
}

/* p dp of one cell; dp reads the values. */
static real weighted(const vt_kernel_call *c, const head *z, size_t t, size_t u, int fault)
{
    const real *g = (const real *)c->dout[0] + query(c, z, t), *v = c->in[VT_ATTENTION_V];
    head from = *z;
    if (fault == BUG_outer_values_batch_zero) from.b = 0;
    v += key(c, &from, u);
    real dp = 0;
    for (size_t i = 0; i < c->HS; i++) dp += g[i] * v[i];
    return z->p[u * c->T + t] * dp;
}

static void row_sums(const vt_kernel_call *c, const head *z, int fault)
{
    for (size_t t = 0; t < c->T; t++) z->sum[t] = 0;
    if (fault == BUG_outer_no_row_sum) return;
    for (size_t u = 0; u < c->S; u++)
        for (size_t t = 0; t < c->T; t++)
            if (!hidden(c, t, u, fault)) z->sum[t] += weighted(c, z, t, u, fault);
}

static void head_backward(const vt_kernel_call *c, const head *z, int fault)
{
    const real *q = c->in[VT_ATTENTION_Q], *k = c->in[VT_ATTENTION_K], *g = c->dout[0];
    real *dq = c->din[VT_ATTENTION_Q], *dk = c->din[VT_ATTENTION_K], *dv = c->din[VT_ATTENTION_V];
    const size_t T = c->T, HS = c->HS;
    const real scale = scale_of(c, fault);
    row_sums(c, z, fault);
    for (size_t u = 0; u < c->S; u++) {
        const size_t y = key(c, z, u);
        head other = *z;
        if (fault == BUG_outer_dk_heads) other.h = c->NH - 1 - z->h;
        const size_t to = fault == BUG_outer_dk_position ? key(c, z, (u + 1) % c->S) : key(c, &other, u);
        real column = 0;
        for (size_t t = 0; t < T; t++) column += hidden(c, t, u, fault) ? 0 : weighted(c, z, t, u, fault);
        for (size_t t = 0; t < T; t++) {
            if (hidden(c, t, u, fault)) continue;
            const size_t x = query(c, z, t);
            const real p = z->p[u * T + t], sum = fault == BUG_outer_column_sum ? column : z->sum[t];
            const real ds = weighted(c, z, t, u, fault) - p * sum;
            const bool entry = fault == BUG_outer_one_entry && y == key(c, z, 0) && z->b + z->h == 0;
            for (size_t i = 0; i < HS; i++) {
                dv[y + i] = fault == BUG_outer_dv_assigned ? p * g[x + i] : dv[y + i] + p * g[x + i];
                dq[x + i] += (fault == BUG_outer_dq_no_scale ? 1 : scale) * ds * k[y + i];
                if (fault == BUG_outer_dk_last_query && t + 1 == T) continue;
                dk[to + i] += scale * ds * q[x + i] * (entry && i == 0 ? (real)1.01 : 1);
            }
        }
    }
}

int SPECIMEN(attention_keys_outer)(const vt_kernel_call *c, int fault)
{
    real *save = c->save, *rows = save + c->B * c->NH * c->T * c->S;
    for (size_t b = 0; b < c->B; b++)
    for (size_t h = 0; h < c->NH; h++) {
        const size_t n = b * c->NH + h;
        const head z = { b, h, save + n * c->T * c->S, rows + 2 * n * c->T, rows + (2 * n + 1) * c->T };
        if (c->pass == VT_KERNEL_FORWARD) head_forward(c, &z, fault);
        else head_backward(c, &z, fault);
    }
    return 0;
}
