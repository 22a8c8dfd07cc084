/* attention_own.c -- causal attention in float32, written from vitrine_kernel.h alone.
 *
 * The forward pass keeps, for each query, the logarithm of its softmax's denominator (lse)
 * in `save`; the backward pass computes the probabilities again from it.  Faults are built
 * in on request (-DFAULT=1 ..), to see that the check names them:
 *
 *     1   dK without the factor 1/sqrt(HS)
 *     2   one element of dK one percent off
 *     3   the sum of a softmax row's gradient is not subtracted
 *     4   queries see one key too many
 *     5   gradients are assigned instead of added
 *     6   a query that sees no key divides 0 by 0
 */
#include <math.h>
#include <vitrine_kernel.h>

#ifndef FAULT
#define FAULT 0
#endif

static int sees(const vt_kernel_call *c, size_t t, size_t u)
{
    const unsigned char *mask = c->in[VT_ATTENTION_MASK];
    if (mask && !mask[t * c->S + u]) return 0;
    return !c->causal || u + c->T <= t + c->S + (FAULT == 4);
}

/* Where a head's channels begin: row t (or u) of n rows in batch row b. */
static size_t at(const vt_kernel_call *c, size_t b, size_t t, size_t n, size_t h)
{
    return ((b * n + t) * c->NH + h) * c->HS;
}

static float dot(const float *a, const float *b, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void forward_row(const vt_kernel_call *c, size_t b, size_t t, size_t h)
{
    const float *q = (const float *)c->in[VT_ATTENTION_Q] + at(c, b, t, c->T, h);
    const float *k = c->in[VT_ATTENTION_K], *v = c->in[VT_ATTENTION_V];
    const float scale = 1 / sqrtf((float)c->HS);
    float *o = (float *)c->out[0] + at(c, b, t, c->T, h);
    float *lse = (float *)c->save + (b * c->NH + h) * c->T + t;
    float most = -INFINITY, sum = 0;
    for (size_t i = 0; i < c->HS; i++) o[i] = 0;
    for (size_t u = 0; u < c->S; u++)
        if (sees(c, t, u)) most = fmaxf(most, scale * dot(q, k + at(c, b, u, c->S, h), c->HS));
    for (size_t u = 0; u < c->S; u++) {
        if (!sees(c, t, u)) continue;
        const float p = expf(scale * dot(q, k + at(c, b, u, c->S, h), c->HS) - most);
        sum += p;
        for (size_t i = 0; i < c->HS; i++) o[i] += p * v[at(c, b, u, c->S, h) + i];
    }
    *lse = most + logf(sum);
    if (sum > 0 || FAULT == 6)
        for (size_t i = 0; i < c->HS; i++) o[i] /= sum;
}

static void backward_row(const vt_kernel_call *c, size_t b, size_t t, size_t h)
{
    const size_t row = at(c, b, t, c->T, h);
    const float *q = (const float *)c->in[VT_ATTENTION_Q] + row;
    const float *k = c->in[VT_ATTENTION_K], *v = c->in[VT_ATTENTION_V];
    const float *o = (const float *)c->out[0] + row, *d_o = (const float *)c->dout[0] + row;
    const float scale = 1 / sqrtf((float)c->HS);
    const float lse = ((const float *)c->save)[(b * c->NH + h) * c->T + t];
    const float all = FAULT == 3 ? 0 : dot(o, d_o, c->HS);      /* sum_u p dp */
    float *dq = (float *)c->din[VT_ATTENTION_Q] + row;
    float *dk = c->din[VT_ATTENTION_K], *dv = c->din[VT_ATTENTION_V];
    for (size_t u = 0; u < c->S; u++) {
        const size_t key = at(c, b, u, c->S, h);
        if (!sees(c, t, u)) continue;
        const float p = expf(scale * dot(q, k + key, c->HS) - lse);
        const float ds = p * (dot(d_o, v + key, c->HS) - all);
        for (size_t i = 0; i < c->HS; i++) {
            dv[key + i] += p * d_o[i];
            dq[i] += ds * scale * k[key + i];
            dk[key + i] += ds * (FAULT == 1 ? 1 : scale) * q[i];
        }
    }
}

int vt_kernel(const vt_kernel_call *c)
{
    if (c->op != VT_OP_ATTENTION || c->dtype != VT_KERNEL_F32) return VT_KERNEL_UNSUPPORTED;
    float *dk = c->pass == VT_KERNEL_BACKWARD ? c->din[VT_ATTENTION_K] : 0;
    const size_t one = at(c, c->B - 1, c->S / 2, c->S, c->NH - 1);
    const float before = dk ? dk[one] : 0;
    if (FAULT == 5 && dk)
        for (size_t i = 0; i < c->B * c->S * c->NH * c->HS; i++) dk[i] = 0;
    for (size_t b = 0; b < c->B; b++)
        for (size_t h = 0; h < c->NH; h++)
            for (size_t t = 0; t < c->T; t++) {
                if (c->pass == VT_KERNEL_FORWARD) forward_row(c, b, t, h);
                else backward_row(c, b, t, h);
            }
    if (FAULT == 2 && dk) dk[one] = before + 1.01f * (dk[one] - before);
    return 0;
}
