/* Multi-head attention in tiles, forward and backward, in float32 and float64.
 *
 *     s[t][u] = q[t] . k[u] / sqrt(HS)            for the keys u that query t sees
 *     lse[t] = log sum_u exp(s[t][u])
 *     o[t] = sum_u p[t][u] v[u]                   with p[t][u] = exp(s[t][u] - lse[t])
 *
 * No (T, S) tensor exists: forward goes over the keys once, with a running maximum and
 * sum, and leaves lse in `save`, as (B, NH, T); backward computes p from it again.
 *
 * Tensors are (B, T, NH, HS), so two rows of one head lie NH * HS apart.  A tile of keys
 * or values is copied turned, as (HS, KEYS): the products of a query with all of them
 * then run over neighbours, a fixed number of them.
 *
 * The second half of this file is compiled once for each type; it includes itself by
 * name. */
#ifndef REAL

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <vitrine_kernel.h>

enum { QUERIES = 4, KEYS = 8 };                 /* of a tile */

const int vt_kernel_abi = VT_KERNEL_ABI;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Does query t see key u?  Without the difference S - T: S may be less than T. */
static bool sees(const vt_kernel_call *c, size_t t, size_t u)
{
    const unsigned char *mask = c->in[VT_ATTENTION_MASK];
    return !(c->causal && u + c->T > c->S + t) && !(mask && !mask[t * c->S + u]);
}

#define REAL float
#define F(name) name##_f32
#define EXP expf
#include "attention_from_docs.c"
#undef REAL
#undef F
#undef EXP
#define REAL double
#define F(name) name##_f64
#define EXP exp
#include "attention_from_docs.c"

int vt_kernel(const vt_kernel_call *c)
{
    const bool forward = c->pass == VT_KERNEL_FORWARD;
    if (c->op != VT_OP_ATTENTION || (!forward && c->pass != VT_KERNEL_BACKWARD))
        return VT_KERNEL_UNSUPPORTED;
    if (c->dtype == VT_KERNEL_F32) return forward ? forward_f32(c) : backward_f32(c);
    if (c->dtype == VT_KERNEL_F64) return forward ? forward_f64(c) : backward_f64(c);
    return VT_KERNEL_UNSUPPORTED;
}

#else

/* Row t of head h in a tensor of `length` rows a batch. */
static size_t F(at)(const vt_kernel_call *c, size_t length, size_t b, size_t t, size_t h)
{
    return ((b * length + t) * c->NH + h) * c->HS;
}

/* turned[d][j] = x[j][d]; the keys behind the n are 0, so that a tile is whole. */
static void F(turn)(const vt_kernel_call *c, REAL *turned, const REAL *x, size_t n)
{
    for (size_t d = 0; d < c->HS; d++)
        for (size_t j = 0; j < KEYS; j++)
            turned[d * KEYS + j] = j < n ? x[j * c->NH * c->HS + d] : 0;
}

/* dots[j] = row . column j of a turned tile, times the factor. */
static void F(multiply)(const vt_kernel_call *c, REAL dots[KEYS], const REAL *row,
                        const REAL *turned, REAL factor)
{
    for (size_t j = 0; j < KEYS; j++) dots[j] = 0;
    for (size_t d = 0; d < c->HS; d++)
        for (size_t j = 0; j < KEYS; j++) dots[j] += row[d] * turned[d * KEYS + j];
    for (size_t j = 0; j < KEYS; j++) dots[j] *= factor;
}

static int F(forward)(const vt_kernel_call *c)
{
    const size_t T = c->T, S = c->S, NH = c->NH, HS = c->HS;
    const REAL *q = c->in[VT_ATTENTION_Q], *k = c->in[VT_ATTENTION_K], *v = c->in[VT_ATTENTION_V];
    const REAL scale = 1 / (REAL)sqrt((double)HS);
    REAL *o = c->out[0], *lse = c->save;
    REAL *acc = malloc(sizeof(REAL) * HS * (QUERIES + KEYS));
    if (!acc) return -1;
    REAL *kt = acc + QUERIES * HS;

    for (size_t b = 0; b < c->B; b++)
    for (size_t h = 0; h < NH; h++)
    for (size_t t0 = 0; t0 < T; t0 += QUERIES) {
        const size_t nq = least(QUERIES, T - t0);
        REAL top[QUERIES], sum[QUERIES];
        for (size_t i = 0; i < nq; i++) top[i] = -INFINITY, sum[i] = 0;
        memset(acc, 0, sizeof(REAL) * QUERIES * HS);
        for (size_t u0 = 0; u0 < S; u0 += KEYS) {
            const size_t nk = least(KEYS, S - u0);
            F(turn)(c, kt, k + F(at)(c, S, b, u0, h), nk);
            for (size_t i = 0; i < nq; i++) {
                const REAL old = top[i];
                REAL s[KEYS];
                F(multiply)(c, s, q + F(at)(c, T, b, t0 + i, h), kt, scale);
                for (size_t j = 0; j < nk; j++)
                    if (sees(c, t0 + i, u0 + j) && s[j] > top[i]) top[i] = s[j];
                if (top[i] > old) {             /* what was summed is relative to the old one */
                    const REAL shrink = EXP(old - top[i]);
                    sum[i] *= shrink;
                    for (size_t d = 0; d < HS; d++) acc[i * HS + d] *= shrink;
                }
                for (size_t j = 0; j < nk; j++) {
                    if (!sees(c, t0 + i, u0 + j)) continue;
                    const REAL p = EXP(s[j] - top[i]), *vj = v + F(at)(c, S, b, u0 + j, h);
                    sum[i] += p;
                    for (size_t d = 0; d < HS; d++) acc[i * HS + d] += p * vj[d];
                }
            }
        }
        for (size_t i = 0; i < nq; i++) {       /* a query that saw no key: 0 */
            REAL *to = o + F(at)(c, T, b, t0 + i, h);
            for (size_t d = 0; d < HS; d++) to[d] = sum[i] > 0 ? acc[i * HS + d] / sum[i] : 0;
            lse[(b * NH + h) * T + t0 + i] = top[i] + (REAL)log((double)sum[i]);
        }
    }
    free(acc);
    return 0;
}

/* With dp[t][u] = do[t] . v[u]  and  delta[t] = do[t] . o[t] = sum_u p[t][u] dp[t][u]:
 *     ds[t][u] = p[t][u] (dp[t][u] - delta[t]) / sqrt(HS)
 *     dv[u] += sum_t p[t][u] do[t];  dk[u] += sum_t ds[t][u] q[t];  dq[t] += sum_u ds[t][u] k[u] */
static int F(backward)(const vt_kernel_call *c)
{
    const size_t T = c->T, S = c->S, NH = c->NH, HS = c->HS;
    const REAL *q = c->in[VT_ATTENTION_Q], *k = c->in[VT_ATTENTION_K], *v = c->in[VT_ATTENTION_V];
    const REAL *o = c->out[0], *dout = c->dout[0], *lse = c->save;
    REAL *dq = c->din[VT_ATTENTION_Q], *dk = c->din[VT_ATTENTION_K], *dv = c->din[VT_ATTENTION_V];
    const REAL scale = 1 / (REAL)sqrt((double)HS);
    if (!dout) return 0;
    REAL *kt = malloc(sizeof(REAL) * HS * 2 * KEYS);
    if (!kt) return -1;
    REAL *vt = kt + KEYS * HS;

    for (size_t b = 0; b < c->B; b++)
    for (size_t h = 0; h < NH; h++)
    for (size_t u0 = 0; u0 < S; u0 += KEYS) {
        const size_t nk = least(KEYS, S - u0);
        F(turn)(c, kt, k + F(at)(c, S, b, u0, h), nk);
        F(turn)(c, vt, v + F(at)(c, S, b, u0, h), nk);
        for (size_t t = 0; t < T; t++) {
            const size_t row = F(at)(c, T, b, t, h);
            REAL s[KEYS], dp[KEYS], delta = 0;
            F(multiply)(c, s, q + row, kt, scale);
            F(multiply)(c, dp, dout + row, vt, 1);
            for (size_t d = 0; d < HS; d++) delta += dout[row + d] * o[row + d];
            for (size_t j = 0; j < nk; j++) {
                if (!sees(c, t, u0 + j)) continue;
                const size_t key = F(at)(c, S, b, u0 + j, h);
                const REAL p = EXP(s[j] - lse[(b * NH + h) * T + t]);
                const REAL ds = p * (dp[j] - delta) * scale;
                for (size_t d = 0; d < HS; d++) {
                    dv[key + d] += p * dout[row + d];
                    dk[key + d] += ds * q[row + d];
                    dq[row + d] += ds * k[key + d];
                }
            }
        }
    }
    free(kt);
    return 0;
}
#endif
