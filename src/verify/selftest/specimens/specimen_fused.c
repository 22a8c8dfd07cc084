/* specimen_fused.c -- attention without a stored stage: a query goes over its keys once
 * with a running maximum, a running sum and a running output.
 *
 *     m' = max(m, s[u]),   l' = l e^(m-m') + e^(s[u]-m'),   o' = o e^(m-m') + e^(s[u]-m') v[u]
 *
 * The backward pass goes over them again: once for m, l and sum p dp, once for the
 * gradients.  A query ends at its last key; masks are looked at key by key.
 *
 * Milakov, Gimelshein, "Online normalizer calculation for softmax" (2018).
 */
#include "verify/selftest/specimens/real.h"

/* One query of one head. */
typedef struct row {
    const real *q, *k, *v;              /* keys and values of this head, `step` apart */
    const unsigned char *mask;          /* (S) or NULL */
    size_t HS, step, n;                 /* n: keys up to the last that it may see */
    real scale;
    int fault;
} row;

static bool sees(const row *r, size_t u) { return !r->mask || r->mask[u]; }

static real dot(const real *x, const real *y, size_t n)
{
    real sum = 0;
    while (n--) sum += *x++ * *y++;
    return sum;
}

static void row_forward(const row *r, real *o)
{
    real m = -(real)INFINITY, l = 0;
    for (size_t i = 0; i < r->HS; i++) o[i] = 0;
    for (size_t u = 0; u < r->n; u++) {
        if (!sees(r, u)) continue;
        const real s = dot(r->q, r->k + u * r->step, r->HS) * r->scale;
        const real high = r->fault == BUG_fused_no_max ? 0 : s > m ? s : m;
        const real keep = l > 0 ? exp(m - high) : 0, e = exp(s - high);
        for (size_t i = 0; i < r->HS; i++) o[i] = o[i] * keep + e * r->v[u * r->step + i];
        l = l * keep + e;
        m = high;
    }
    for (size_t i = 0; i < r->HS; i++) o[i] = l > 0 ? o[i] / l : 0;
}

/* Where channel i of the query's gradient lies, from head 0's first channel on. */
static size_t place(const vt_kernel_call *c, size_t h, size_t i, int fault)
{
    if (fault == BUG_fused_stride) return i * c->NH + h;
    if (fault == BUG_fused_dq_heads) h = c->NH - 1 - h;
    return h * c->HS + i;
}

static void row_backward(const vt_kernel_call *c, const row *r, const real *g, real *dq, real *dk,
                         real *dv, size_t h)
{
    const int fault = r->fault;
    const size_t HS = r->HS, step = r->step;
    real m = -(real)INFINITY, l = 0, sum = 0, channels = 0;
    for (size_t u = 0; u < r->n; u++) {
        if (!sees(r, u)) continue;
        const real s = dot(r->q, r->k + u * step, HS) * r->scale, high = s > m ? s : m;
        const real keep = l > 0 ? exp(m - high) : 0, e = exp(s - high);
        sum = sum * keep + e * dot(g, r->v + u * step, HS);
        l = l * keep + e;
        m = high;
    }
    if (l == 0) return;
    sum /= l;
    for (size_t i = 0; i < HS; i++) channels += g[i];
    if (fault == BUG_fused_no_row_sum) sum = 0;
    if (fault == BUG_fused_row_sum_channels) sum = channels;
    for (size_t u = 0; u < r->n; u++) {
        if (!sees(r, u)) continue;
        const real *k = r->k + u * step, *v = r->v + u * step;
        const real p = exp(dot(r->q, k, HS) * r->scale - m) / l;
        real ds = p * (dot(g, v, HS) - sum) * r->scale;
        if (fault == BUG_fused_scale_twice) ds *= r->scale;
        const size_t to = (fault == BUG_fused_dk_position && u > 0 ? u - 1 : u) * step;
        for (size_t i = 0; i < HS; i++) {
            real *to_q = dq + place(c, h, i, fault);
            const real dqi = fault == BUG_fused_dq_no_scale ? ds / r->scale * k[i] : ds * k[i];
            *to_q = fault == BUG_fused_dq_assigned ? dqi : *to_q + dqi;
            if (fault == BUG_fused_last_key && u + 1 == c->S) continue;
            dk[to + i] += fault == BUG_fused_dk_sign ? -ds * r->q[i] : ds * r->q[i];
            if (fault != BUG_fused_dv_zero) dv[u * step + i] += p * g[i];
        }
    }
}

int SPECIMEN(attention_fused)(const vt_kernel_call *c, int fault)
{
    const size_t width = c->NH * c->HS;
    const unsigned char *mask = c->in[VT_ATTENTION_MASK];
    for (size_t b = 0; b < c->B; b++)
    for (size_t h = 0; h < c->NH; h++)
    for (size_t t = 0; t < c->T; t++) {
        const size_t x = (b * c->T + t) * width, y = b * c->S * width + h * c->HS;
        size_t n = !c->causal ? c->S : c->S + t + 1 > c->T ? c->S + t + 1 - c->T : 0;
        /* The key behind S is the next sequence's first. */
        if (fault == BUG_fused_next_key && !mask && (n < c->S || b + 1 < c->B)) n++;
        const row r = { (const real *)c->in[VT_ATTENTION_Q] + x + h * c->HS,
                        (const real *)c->in[VT_ATTENTION_K] + y, (const real *)c->in[VT_ATTENTION_V] + y,
                        mask ? mask + t * c->S : NULL, c->HS, width, n, 1 / sqrt((real)c->HS), fault };
        if (c->pass == VT_KERNEL_FORWARD) row_forward(&r, (real *)c->out[0] + x + h * c->HS);
        else row_backward(c, &r, (const real *)c->dout[0] + x + h * c->HS,
                          (real *)c->din[VT_ATTENTION_Q] + x, (real *)c->din[VT_ATTENTION_K] + y,
                          (real *)c->din[VT_ATTENTION_V] + y, h);
    }
    return 0;
}
