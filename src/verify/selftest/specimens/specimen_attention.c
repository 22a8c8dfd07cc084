/* specimen_attention.c -- attention with boolean masks, by the textbook: scores, mask,
 * softmax, weighted values; the probabilities are kept in `save`.
 *
 *     s[t,u] = q[t] . k[u] / sqrt(HS), -inf where u is hidden from t
 *     p = softmax(s),  o = p v;   ds = p (do v^T - rowsum),  dq = ds k, dk = ds^T q
 *
 * A query that sees no key has probabilities 0.
 */
#include "verify/selftest/specimens/real.h"

typedef struct view {
    const vt_kernel_call *c;
    size_t B, T, S, NH, HS;
    real *p;                            /* (B, NH, T, S) */
    real scale;
    int fault;
} view;

static size_t at_q(const view *a, size_t b, size_t t, size_t h) { return ((b * a->T + t) * a->NH + h) * a->HS; }

static size_t at_k(const view *a, size_t b, size_t u, size_t h)
{
    if (a->fault == BUG_masked_batch_zero) b = 0;
    return ((b * a->S + u) * a->NH + h) * a->HS;
}

static bool visible(const view *a, size_t t, size_t u)
{
    const unsigned char *mask = a->c->in[VT_ATTENTION_MASK];
    size_t last = a->S + t;             /* u + T <= last: query t stands at S - T + t */
    if (a->fault == BUG_masked_leak) last++;
    if (a->c->causal && u + a->T > last) return false;
    if (a->c->causal && a->fault == BUG_masked_own_key && u + a->T == last) return false;
    if (!mask || (a->fault == BUG_masked_or_causal && a->c->causal)) return true;
    return a->fault == BUG_masked_inverted ? !mask[t * a->S + u] : mask[t * a->S + u];
}

static real product(const real *x, const real *y, size_t n)
{
    real sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* One row of scores becomes one of probabilities. */
static void normalise(const view *a, real *p, size_t t)
{
    const size_t S = a->S;
    real max = p[0], sum = 0;
    for (size_t u = 1; u < S; u++) if (p[u] > max) max = p[u];
    if (max == -(real)INFINITY && a->fault != BUG_masked_dead_row) {
        for (size_t u = 0; u < S; u++) p[u] = 0;
        return;
    }
    for (size_t u = 0; u < S; u++) sum += p[u] = exp(p[u] - max);
    for (size_t u = 0; u < S; u++) p[u] /= sum;
    if (a->fault == BUG_masked_after_softmax)
        for (size_t u = 0; u < S; u++) if (!visible(a, t, u)) p[u] = 0;
}

static void forward(const view *a)
{
    const real *q = a->c->in[VT_ATTENTION_Q], *k = a->c->in[VT_ATTENTION_K], *v = a->c->in[VT_ATTENTION_V];
    real *o = a->c->out[0];
    const real hidden = a->fault == BUG_masked_minus_1e4 ? -10000 : -(real)INFINITY;
    real scale = a->scale;
    if (a->fault == BUG_masked_writes_input) {
        real *own = written(q);
        for (size_t i = 0; i < a->B * a->T * a->NH * a->HS; i++) own[i] *= scale;
        scale = 1;
    }
    for (size_t b = 0; b < a->B; b++)
    for (size_t h = 0; h < a->NH; h++)
    for (size_t t = 0; t < a->T; t++) {
        real *p = a->p + ((b * a->NH + h) * a->T + t) * a->S, *row = o + at_q(a, b, t, h);
        for (size_t u = 0; u < a->S; u++) {
            const bool seen = visible(a, t, u) || a->fault == BUG_masked_after_softmax;
            p[u] = seen ? scale * product(q + at_q(a, b, t, h), k + at_k(a, b, u, h), a->HS) : hidden;
        }
        normalise(a, p, t);
        for (size_t i = 0; i < a->HS; i++) row[i] = 0;
        for (size_t u = 0; u < a->S; u++) {
            if (p[u] == 0) continue;                    /* also keeps out NaN in hidden values */
            for (size_t i = 0; i < a->HS; i++) row[i] += p[u] * v[at_k(a, b, u, h) + i];
        }
    }
}

static void backward(const view *a)
{
    const vt_kernel_call *c = a->c;
    const real *q = c->in[VT_ATTENTION_Q], *k = c->in[VT_ATTENTION_K], *v = c->in[VT_ATTENTION_V];
    const real *g = c->dout[0];
    real *dq = c->din[VT_ATTENTION_Q], *dk = c->din[VT_ATTENTION_K], *dv = c->din[VT_ATTENTION_V];
    for (size_t b = 0; b < a->B; b++)
    for (size_t h = 0; h < a->NH; h++)
    for (size_t t = 0; t < a->T; t++) {
        const real *p = a->p + ((b * a->NH + h) * a->T + t) * a->S;
        const size_t x = at_q(a, b, t, h);
        real row = 0;
        for (size_t u = 0; u < a->S; u++)
            if (p[u] != 0) row += p[u] * product(g + x, v + at_k(a, b, u, h), a->HS);
        for (size_t u = 0; u < a->S; u++) {
            if (p[u] == 0) continue;
            const size_t y = at_k(a, b, u, h);
            const real ds = a->scale * p[u] * (product(g + x, v + y, a->HS) - row);
            const real score = a->scale * product(q + x, k + y, a->HS);
            for (size_t i = 0; i < a->HS; i++) {
                dv[y + i] += (a->fault == BUG_masked_dv_scores ? score : p[u]) * g[x + i];
                dq[x + i] += ds * (a->fault == BUG_masked_q_for_k ? q[x + i] : k[y + i]);
                dk[y + i] += (a->fault == BUG_masked_dk_no_scale ? ds / a->scale : ds) * q[x + i];
            }
        }
    }
}

int SPECIMEN(attention_masked)(const vt_kernel_call *c, int fault)
{
    view a = { c, c->B, c->T, c->S, c->NH, c->HS, c->save, 1 / sqrt((real)c->HS), fault };
    if (fault == BUG_masked_no_scale) a.scale = 1;
    if (fault == BUG_masked_scale_squared) a.scale = 1 / (real)c->HS;
    if (fault == BUG_masked_scale_width) a.scale = 1 / sqrt((real)(c->NH * c->HS));
    if (c->pass == VT_KERNEL_FORWARD) forward(&a);
    else backward(&a);
    return 0;
}
