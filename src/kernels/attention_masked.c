/* attention_masked.c -- attention under any boolean mask: the definition.
 *
 *  s[t,u]   = sum_i q[t,i] k[u,i] / sqrt(HS)                 (amask.scores)
 *  a[t,u]   = exp(s[t,u]) / sum_w exp(s[t,w])               (amask.softmax)
 *  o[t,i]   = sum_u a[t,u] v[u,i]                            (amask.values)
 *
 *  da[t,u]  = sum_i do[t,i] v[u,i]                               (amask.da)
 *  dv[u,i] += a[t,u] do[t,i]                                     (amask.dv)
 *  ds[t,u]  = a[t,u] (da[t,u] - sum_w a[t,w] da[t,w])            (amask.ds)
 *  dq[t,i] += sum_u ds[t,u] k[u,i] / sqrt(HS)                    (amask.dq)
 *  dk[u,i] += sum_t ds[t,u] q[t,i] / sqrt(HS)                    (amask.dk)
 *
 * for each batch row and head; u and w run over the keys that query t may see,
 * mask[t,u] != 0.  Elsewhere s, a, da and ds are 0, and nothing is read: a NaN
 * in a key that nobody sees reaches nothing.  A query that sees no key has a
 * sum over nothing, o = 0, and no gradient.
 *
 * Causal attention has its own definition, attention.c; this one is what the
 * kernels of others are checked against.
 *
 * Vaswani et al., "Attention is all you need" (2017), section 3.2.
 */
#include "ref.h"

void REF(attention_masked_forward)(scalar *out_, scalar *scores_, scalar *att_,
                                   const scalar *q_, const scalar *k_,
                                   const scalar *v_, const int *mask_,
                                   int B, int T, int S, int NH, int HS)
{
    scalar       (*out)[T][NH][HS]   = VIEW(out_);    /* (B,  T, NH, HS) */
    scalar       (*scores)[NH][T][S] = VIEW(scores_); /* (B, NH,  T,  S) */
    scalar       (*att)[NH][T][S]    = VIEW(att_);
    const scalar (*q)[T][NH][HS]     = VIEW(q_);      /* (B,  T, NH, HS) */
    const scalar (*k)[S][NH][HS]     = VIEW(k_);      /* (B,  S, NH, HS) */
    const scalar (*v)[S][NH][HS]     = VIEW(v_);
    const int    (*mask)[S]          = (const void *)mask_;     /* (T, S) */

    for (int b = 0; b < B; b++)
    for (int h = 0; h < NH; h++)
    for (int t = 0; t < T; t++) {
        const int *see = mask[t];
        scalar *s = scores[b][h][t], *a = att[b][h][t], max = 0, sum = 0;
        int first = -1;                               /* the first key seen */

        for (int u = 0; u < S; u++) {
            scalar dot = 0;
            for (int i = 0; i < HS && see[u]; i++)
                dot += q[b][t][h][i] * k[b][u][h][i];
            s[u] = dot / sqrt((scalar)HS);                   /* amask.scores */
            if (see[u] && (first < 0 || re(s[u]) > re(max))) max = s[u];
            if (see[u] && first < 0) first = u;
        }
        for (int u = 0; u < S; u++) if (see[u]) sum += exp(s[u] - max);
        for (int u = 0; u < S; u++)
            a[u] = see[u] ? exp(s[u] - max) / sum : 0;      /* amask.softmax */

        for (int i = 0; i < HS; i++) {
            out[b][t][h][i] = 0;
            for (int u = 0; u < S; u++) if (see[u])
                out[b][t][h][i] += a[u] * v[b][u][h][i];     /* amask.values */
        }
    }
}

/* Writes da and ds; adds into dq, dk, dv. */
void REF(attention_masked_backward)(scalar *dq_, scalar *dk_, scalar *dv_,
                                    scalar *da_, scalar *ds_,
                                    const scalar *dout_, const scalar *att_,
                                    const scalar *q_, const scalar *k_,
                                    const scalar *v_, const int *mask_,
                                    int B, int T, int S, int NH, int HS)
{
    scalar       (*dq)[T][NH][HS]   = VIEW(dq_);
    scalar       (*dk)[S][NH][HS]   = VIEW(dk_);
    scalar       (*dv)[S][NH][HS]   = VIEW(dv_);
    scalar       (*da)[NH][T][S]    = VIEW(da_);
    scalar       (*ds)[NH][T][S]    = VIEW(ds_);
    const scalar (*dout)[T][NH][HS] = VIEW(dout_);
    const scalar (*att)[NH][T][S]   = VIEW(att_);
    const scalar (*q)[T][NH][HS]    = VIEW(q_);
    const scalar (*k)[S][NH][HS]    = VIEW(k_);
    const scalar (*v)[S][NH][HS]    = VIEW(v_);
    const int    (*mask)[S]         = (const void *)mask_;
    const scalar root = sqrt((scalar)HS);

    for (int b = 0; b < B; b++)
    for (int h = 0; h < NH; h++)
    for (int t = 0; t < T; t++) {
        const int *see = mask[t];
        const scalar *a = att[b][h][t];
        scalar *g = da[b][h][t], *s = ds[b][h][t], row = 0;

        for (int u = 0; u < S; u++) {
            scalar dot = 0;
            for (int i = 0; i < HS && see[u]; i++)
                dot += dout[b][t][h][i] * v[b][u][h][i];
            g[u] = dot;                                          /* amask.da */
            row += a[u] * g[u];
        }
        for (int u = 0; u < S; u++) {
            s[u] = a[u] * (g[u] - row);                          /* amask.ds */
            for (int i = 0; i < HS && see[u]; i++) {
                dv[b][u][h][i] += a[u] * dout[b][t][h][i];       /* amask.dv */
                dq[b][t][h][i] += s[u] * k[b][u][h][i] / root;   /* amask.dq */
                dk[b][u][h][i] += s[u] * q[b][t][h][i] / root;   /* amask.dk */
            }
        }
    }
}
