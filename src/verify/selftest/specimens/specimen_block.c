/* specimen_block.c -- GPT-2's block by itself.
 *
 *     r = x + attention(ln1 x w_attn + b_attn) w_proj + b_proj
 *     y = r + gelu(ln2 r w_fc + b_fc) w_fc2 + b_fc2
 *
 * Backward computes the forward pass again, in memory of its own.  dx gets what comes
 * through both sums and both branches.
 */
#include "verify/selftest/specimens/real.h"

typedef struct block {
    const vt_kernel_call *c;
    size_t N, C, T, NH, HS, FF;
    int fault;
    real *ln1, *qkv, *p, *val, *r, *ln2, *fc, *act;     /* p (B, NH, T, T) */
    real *d, *dln, *dqkv, *dval, *dfc, *dact;
} block;

static const real *in(const block *a, int i) { return a->c->in[i]; }
static real *din(const block *a, int i) { return a->c->din[i]; }

/* y = x w + b */
static void affine(real *y, const real *x, const real *w, const real *b, size_t N, size_t C, size_t OC)
{
    for (size_t n = 0; n < N; n++, x += C, y += OC) {
        for (size_t o = 0; o < OC; o++) y[o] = b[o];
        for (size_t i = 0; i < C; i++)
            for (size_t o = 0; o < OC; o++) y[o] += x[i] * w[i * OC + o];
    }
}

static void affine_input(real *dx, const real *dy, const real *w, size_t N, size_t C, size_t OC)
{
    for (size_t n = 0; n < N; n++)
        for (size_t i = 0; i < C; i++) {
            dx[n * C + i] = 0;
            for (size_t o = 0; o < OC; o++) dx[n * C + i] += dy[n * OC + o] * w[i * OC + o];
        }
}

/* Rows n with n % period == period - 1 are left out; period 0: none.  db may be NULL. */
static void affine_weight(real *dw, real *db, const real *x, const real *dy, size_t N, size_t C,
                          size_t OC, size_t period)
{
    for (size_t n = 0; n < N; n++) {
        if (period && n % period == period - 1) continue;
        for (size_t o = 0; o < OC; o++) {
            if (db) db[o] += dy[n * OC + o];
            for (size_t i = 0; i < C; i++) dw[i * OC + o] += x[n * C + i] * dy[n * OC + o];
        }
    }
}

static real row_statistics(const real *x, size_t C, real *mean)
{
    real m = 0, v = 0;
    for (size_t i = 0; i < C; i++) m += x[i] / (real)C;
    for (size_t i = 0; i < C; i++) v += (x[i] - m) * (x[i] - m) / (real)C;
    *mean = m;
    return 1 / sqrt(v + (real)1e-5);
}

static void norm(real *y, const real *x, const real *w, const real *b, size_t N, size_t C)
{
    for (size_t n = 0; n < N; n++, x += C, y += C) {
        real mean;
        const real rstd = row_statistics(x, C, &mean);
        for (size_t i = 0; i < C; i++) y[i] = w[i] * (x[i] - mean) * rstd + b[i];
    }
}

/* dy becomes dx. */
static void norm_backward(real *d, real *dw, real *db, const real *x, const real *w, size_t N,
                          size_t C, bool gain)
{
    for (size_t n = 0; n < N; n++, x += C, d += C) {
        real mean, sum = 0, dot = 0;
        const real rstd = row_statistics(x, C, &mean);
        for (size_t i = 0; i < C; i++) {
            const real xhat = (x[i] - mean) * rstd;
            dw[i] += d[i] * xhat;
            db[i] += d[i];
            if (gain) d[i] *= w[i];
            sum += d[i];
            dot += d[i] * xhat;
        }
        for (size_t i = 0; i < C; i++)
            d[i] = (d[i] - sum / (real)C - (x[i] - mean) * rstd * (dot / (real)C)) * rstd;
    }
}

static void attend(const block *a)
{
    const size_t C = a->C, T = a->T, HS = a->HS;
    for (size_t n = 0; n < a->N; n++)
    for (size_t h = 0; h < a->NH; h++) {
        const size_t first = n - n % T, end = a->fault == BUG_block_no_mask ? first + T : n + 1;
        const real *q = a->qkv + n * 3 * C + h * HS;
        real *p = a->p + (n * a->NH + h) * T, *o = a->val + n * C + h * HS, max = 0, sum = 0;
        for (size_t m = first; m < end; m++) {
            const real *k = a->qkv + m * 3 * C + C + h * HS;
            real s = 0;
            for (size_t i = 0; i < HS; i++) s += q[i] * k[i];
            p[m - first] = s / sqrt((real)HS);
            if (m == first || p[m - first] > max) max = p[m - first];
        }
        for (size_t m = first; m < end; m++) sum += p[m - first] = exp(p[m - first] - max);
        for (size_t i = 0; i < HS; i++) o[i] = 0;
        for (size_t m = first; m < end; m++) {
            p[m - first] /= sum;
            for (size_t i = 0; i < HS; i++) o[i] += p[m - first] * a->qkv[m * 3 * C + 2 * C + h * HS + i];
        }
    }
}

/* dqkv begins at 0; p is 0 where a key is hidden. */
static void attend_backward(const block *a)
{
    const size_t C = a->C, T = a->T, HS = a->HS;
    const real root = sqrt((real)HS);
    for (size_t n = 0; n < a->N; n++)
    for (size_t h = 0; h < a->NH; h++) {
        const size_t first = n - n % T, from = a->fault == BUG_block_heads ? a->NH - 1 - h : h;
        const real *p = a->p + (n * a->NH + h) * T, *g = a->dval + n * C + from * HS;
        const real *q = a->qkv + n * 3 * C + h * HS;
        real *dq = a->dqkv + n * 3 * C + h * HS, row = 0;
        for (size_t u = 0; u < T; u++)
            for (size_t i = 0; i < HS; i++)
                row += p[u] * g[i] * a->qkv[(first + u) * 3 * C + 2 * C + h * HS + i];
        for (size_t u = 0; u < T; u++) {
            const size_t k = (first + u) * 3 * C + C + h * HS, v = k + C;
            real ds = -row;
            for (size_t i = 0; i < HS; i++) ds += g[i] * a->qkv[v + i];
            ds *= p[u] / root;
            for (size_t i = 0; i < HS; i++) {
                a->dqkv[v + i] += p[u] * g[i];
                dq[i] += ds * a->qkv[k + i];
                a->dqkv[k + i] += ds * q[i];
            }
        }
    }
}

static const real K = (real)0.79788456080286535588, CUBE = (real)0.044715;

static void forward(const block *a, real *y)
{
    const size_t N = a->N, C = a->C, FF = a->FF;
    const real *x = in(a, VT_BLOCK_X);
    norm(a->ln1, x, in(a, VT_BLOCK_LN1W), in(a, VT_BLOCK_LN1B), N, C);
    affine(a->qkv, a->ln1, in(a, VT_BLOCK_QKVW), in(a, VT_BLOCK_QKVB), N, C, 3 * C);
    attend(a);
    affine(a->r, a->val, in(a, VT_BLOCK_ATTPROJW), in(a, VT_BLOCK_ATTPROJB), N, C, C);
    for (size_t i = 0; i < N * C; i++) a->r[i] += x[i];
    norm(a->ln2, a->r, in(a, VT_BLOCK_LN2W), in(a, VT_BLOCK_LN2B), N, C);
    affine(a->fc, a->ln2, in(a, VT_BLOCK_FCW), in(a, VT_BLOCK_FCB), N, C, FF);
    for (size_t i = 0; i < N * FF; i++)
        a->act[i] = a->fc[i] * (1 + tanh(K * a->fc[i] * (1 + CUBE * a->fc[i] * a->fc[i]))) / 2;
    if (!y) return;
    affine(y, a->act, in(a, VT_BLOCK_FCPROJW), in(a, VT_BLOCK_FCPROJB), N, FF, C);
    for (size_t i = 0; i < N * C; i++) y[i] += a->r[i];
}

/* d: dy becomes the gradient of r. */
static void mlp_backward(const block *a)
{
    const size_t N = a->N, C = a->C, FF = a->FF;
    const int fault = a->fault;
    real *db = din(a, VT_BLOCK_FCPROJB);
    affine_weight(din(a, VT_BLOCK_FCPROJW), NULL, a->act, a->d, N, FF, C, 0);
    for (size_t i = 0; i < N * C; i++)
        db[i % C] += fault == BUG_block_bias_mean ? a->d[i] / (real)N : a->d[i];
    affine_input(a->dact, a->d, in(a, VT_BLOCK_FCPROJW), N, FF, C);
    for (size_t i = 0; i < N * FF; i++) {
        const real x = a->fc[i], th = tanh(K * x * (1 + CUBE * x * x));
        a->dfc[i] = a->dact[i] * (1 + th + x * (1 - th * th) * K * (1 + 3 * CUBE * x * x)) / 2;
    }
    if (fault != BUG_block_fc_zero)
        affine_weight(din(a, VT_BLOCK_FCW), fault == BUG_block_no_fc_bias ? NULL : din(a, VT_BLOCK_FCB),
                      a->ln2, a->dfc, N, C, FF, 0);
    affine_input(a->dln, a->dfc, in(a, VT_BLOCK_FCW), N, C, FF);
    norm_backward(a->dln, din(a, VT_BLOCK_LN2W), din(a, VT_BLOCK_LN2B),
                  fault == BUG_block_ln2_from_x ? in(a, VT_BLOCK_X) : a->r, in(a, VT_BLOCK_LN2W),
                  N, C, fault != BUG_block_no_ln2_gain);
    for (size_t i = 0; i < N * C; i++)
        a->d[i] = fault == BUG_block_no_mlp_residual ? a->dln[i] : a->d[i] + a->dln[i];
}

static void attention_branch_backward(const block *a)
{
    const size_t N = a->N, C = a->C;
    const int fault = a->fault;
    affine_weight(din(a, VT_BLOCK_ATTPROJW), din(a, VT_BLOCK_ATTPROJB), a->val, a->d, N, C, C,
                  fault == BUG_block_last_position ? a->T : 0);
    affine_input(a->dval, a->d, in(a, VT_BLOCK_ATTPROJW), N, C, C);
    attend_backward(a);
    affine_input(a->dln, a->dqkv, in(a, VT_BLOCK_QKVW), N, C, 3 * C);
    if (fault == BUG_block_qk_swapped)
        for (size_t i = 0; i < N * C; i++) {
            real *q = a->dqkv + i / C * 3 * C + i % C, was = *q;
            *q = q[C];
            q[C] = was;
        }
    affine_weight(din(a, VT_BLOCK_QKVW), din(a, VT_BLOCK_QKVB), a->ln1, a->dqkv, N, C, 3 * C, 0);
    norm_backward(a->dln, din(a, VT_BLOCK_LN1W), din(a, VT_BLOCK_LN1B), in(a, VT_BLOCK_X),
                  in(a, VT_BLOCK_LN1W), N, C, true);
}

int SPECIMEN(block)(const vt_kernel_call *c, int fault)
{
    const size_t N = c->B * c->T, NC = N * c->C, NF = N * c->FF, NP = N * c->NH * c->T;
    real *memory = calloc(13 * NC + 4 * NF + NP, sizeof *memory), *at = memory;
    if (!memory) return SPECIMEN_NO_MEMORY;
    block a = { .c = c, .N = N, .C = c->C, .T = c->T, .NH = c->NH, .HS = c->HS, .FF = c->FF, .fault = fault };
    real **const parts[] = { &a.ln1, &a.val, &a.r, &a.ln2, &a.d, &a.dln, &a.dval };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++, at += NC) *parts[i] = at;
    a.qkv = at, a.dqkv = at + 3 * NC, at += 6 * NC;
    a.fc = at, a.act = at + NF, a.dfc = at + 2 * NF, a.dact = at + 3 * NF, a.p = at + 4 * NF;
    forward(&a, c->pass == VT_KERNEL_FORWARD ? c->out[0] : NULL);
    if (c->pass == VT_KERNEL_BACKWARD) {
        memcpy(a.d, c->dout[0], NC * sizeof *a.d);
        mlp_backward(&a);
        attention_branch_backward(&a);
        real *dx = c->din[VT_BLOCK_X];
        for (size_t i = 0; i < NC; i++) {
            const real d = fault == BUG_block_no_attention_path ? a.d[i] : a.d[i] + a.dln[i];
            dx[i] = fault == BUG_block_dx_assigned ? d : dx[i] + d;
        }
    }
    free(memory);
    return 0;
}
