/* specimen_gpt.c -- a whole GPT with a tied head, and its block alone, in one text.
 *
 *     x      = wte[token] + wpe[position]
 *     x      = x + attproj(attention(qkv(ln1(x))));  x = x + fcproj(gelu(fc(ln2(x))))
 *     logits = lnf(x) wte^T;   loss[n] = -log softmax(logits[n])[target[n]]
 *
 * Flat loops over flat memory.  Nothing goes through `save`: the backward pass computes
 * the forward pass again, in memory of its own.  Gradients of activations are assigned,
 * those of parameters are added to.
 */
#include "verify/selftest/specimens/real.h"

enum { LN1W, LN1B, QKVW, QKVB, PROJW, PROJB, LN2W, LN2B, FCW, FCB, FC2W, FC2B, TENSORS };

static const real EPS = (real)1e-5, K0 = (real)0.79788456080286535588, K1 = (real)0.044715;

typedef struct sizes { size_t B, T, N, C, NH, HS, FF; } sizes;

/* Of one layer: (N, C), but mean and rstd (N), qkv (N, 3C), att (B, NH, T, T), fc and
 * act (N, FF). */
typedef struct layer {
    const real *w[TENSORS];
    real *dw[TENSORS];
    real *ln1, *mean1, *rstd1, *qkv, *att, *val, *res1, *ln2, *mean2, *rstd2, *fc, *act, *out;
    bool first;                     /* block 0 */
} layer;

/* Gradients of activations, used again by each layer. */
typedef struct work { real *branch, *ln, *fc, *act, *val, *qkv; } work;

static real *take(real **at, size_t n) { real *p = *at; *at += n; return p; }

static size_t layer_reals(const sizes *z)
{
    return z->N * (6 * z->C + 4 + 3 * z->C + 2 * z->FF) + z->N * z->NH * z->T;
}

static void layer_place(layer *a, real **at, const sizes *z)
{
    const size_t NC = z->N * z->C, NF = z->N * z->FF;
    a->ln1 = take(at, NC), a->mean1 = take(at, z->N), a->rstd1 = take(at, z->N);
    a->qkv = take(at, 3 * NC), a->att = take(at, z->N * z->NH * z->T);
    a->val = take(at, NC), a->res1 = take(at, NC);
    a->ln2 = take(at, NC), a->mean2 = take(at, z->N), a->rstd2 = take(at, z->N);
    a->fc = take(at, NF), a->act = take(at, NF), a->out = take(at, NC);
}

static size_t work_reals(const sizes *z) { return z->N * (6 * z->C + 2 * z->FF); }

static void work_place(work *g, real **at, const sizes *z)
{
    g->branch = take(at, z->N * z->C), g->ln = take(at, z->N * z->C);
    g->fc = take(at, z->N * z->FF), g->act = take(at, z->N * z->FF);
    g->val = take(at, z->N * z->C), g->qkv = take(at, 3 * z->N * z->C);
}

/* ---- layer norm, linear, gelu ------------------------------------------- */

static void norm_forward(real *y, real *mean, real *rstd, const real *x, const real *w,
                         const real *b, size_t N, size_t C)
{
    for (size_t n = 0; n < N; n++) {
        const real *row = x + n * C;
        real m = 0, v = 0;
        for (size_t i = 0; i < C; i++) m += row[i];
        m /= (real)C;
        for (size_t i = 0; i < C; i++) v += (row[i] - m) * (row[i] - m);
        const real r = 1 / sqrt(v / (real)C + EPS);
        for (size_t i = 0; i < C; i++) y[n * C + i] = (row[i] - m) * r * w[i] + b[i];
        mean[n] = m;
        rstd[n] = r;
    }
}

/* The faulty ways to have 1/std again. */
static real norm_rstd(real rstd, const real *x, real mean, size_t C, int fault)
{
    if (fault != BUG_ln_rstd_no_eps && fault != BUG_ln_rstd_unbiased) return rstd;
    real v = 0;
    for (size_t i = 0; i < C; i++) v += (x[i] - mean) * (x[i] - mean);
    if (fault == BUG_ln_rstd_no_eps) return 1 / sqrt(v / (real)C);
    return 1 / sqrt(v / ((real)C - 1) + EPS);
}

/* dx = ...; dw, db += ...; `rows` of them count for db. */
static void norm_backward(real *dx, real *dw, real *db, const real *dy, const real *x,
                          const real *w, const real *mean, const real *rstd, size_t N, size_t C,
                          size_t rows, int fault)
{
    for (size_t n = 0; n < N; n++) {
        const real *xn = x + n * C, *dyn = dy + n * C, r = norm_rstd(rstd[n], xn, mean[n], C, fault);
        real sum = 0, dot = 0;
        for (size_t i = 0; i < C; i++) {
            const real xhat = (xn[i] - mean[n]) * r;
            const real dxhat = fault == BUG_ln_forget_gamma ? dyn[i] : dyn[i] * w[i];
            sum += dxhat;
            dot += dxhat * xhat;
            dw[i] += dyn[i] * xhat;
            if (n < rows) db[i] += dyn[i];
        }
        sum /= (real)C;
        dot /= (real)C;
        if (fault == BUG_ln_drop_mean) sum = 0;
        if (fault == BUG_ln_drop_var) dot = 0;
        for (size_t i = 0; i < C; i++) {
            const real xhat = (xn[i] - mean[n]) * r;
            const real dxhat = fault == BUG_ln_forget_gamma ? dyn[i] : dyn[i] * w[i];
            dx[n * C + i] = r * (dxhat - sum - xhat * dot);
        }
    }
}

static void matmul_forward(real *y, const real *x, const real *w, const real *b, size_t N,
                           size_t C, size_t OC)
{
    for (size_t n = 0; n < N; n++)
    for (size_t o = 0; o < OC; o++) {
        real sum = b[o];
        for (size_t i = 0; i < C; i++) sum += x[n * C + i] * w[i * OC + o];
        y[n * OC + o] = sum;
    }
}

static void matmul_backward(real *dx, real *dw, real *db, const real *dy, const real *x,
                            const real *w, size_t N, size_t C, size_t OC, bool transposed)
{
    for (size_t n = 0; n < N; n++)
    for (size_t i = 0; i < C; i++) {
        real sum = 0;
        for (size_t o = 0; o < OC; o++) {
            sum += dy[n * OC + o] * w[i * OC + o];
            dw[transposed ? o * C + i : i * OC + o] += x[n * C + i] * dy[n * OC + o];
        }
        dx[n * C + i] = sum;
    }
    for (size_t n = 0; n < N; n++)
        for (size_t o = 0; o < OC; o++) db[o] += dy[n * OC + o];
}

static void gelu_forward(real *y, const real *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] / 2 * (1 + tanh(K0 * (x[i] + K1 * x[i] * x[i] * x[i])));
}

static void gelu_backward(real *dx, const real *dy, const real *x, size_t n, int fault)
{
    const real k0 = fault == BUG_gelu_k0_trunc ? (real)0.7979 : K0;
    const real k1 = fault == BUG_gelu_k1_trunc ? (real)0.0447 : K1;
    for (size_t i = 0; i < n; i++) {
        const real th = tanh(k0 * (x[i] + k1 * x[i] * x[i] * x[i]));
        const real dz = k0 * (1 + 3 * k1 * x[i] * x[i]);
        real d = (1 + th) / 2 + x[i] / 2 * (1 - th * th) * dz;
        if (fault == BUG_gelu_erf_deriv)        /* Phi(x) + x phi(x) */
            d = (1 + erf(x[i] * (real)0.70710678118654752440)) / 2
                + x[i] * exp(-x[i] * x[i] / 2) * (real)0.39894228040143267794;
        dx[i] = dy[i] * d;
    }
}

/* ---- attention ---------------------------------------------------------- */

static void attention_forward(real *val, real *att, const real *qkv, const sizes *z)
{
    const size_t C = z->C, T = z->T, HS = z->HS;
    for (size_t b = 0; b < z->B; b++)
    for (size_t h = 0; h < z->NH; h++)
    for (size_t t = 0; t < T; t++) {
        const real *q = qkv + (b * T + t) * 3 * C + h * HS;
        real *a = att + ((b * z->NH + h) * T + t) * T, *o = val + (b * T + t) * C + h * HS;
        real max = 0, sum = 0;
        for (size_t u = 0; u <= t; u++) {
            const real *k = qkv + (b * T + u) * 3 * C + C + h * HS;
            real s = 0;
            for (size_t i = 0; i < HS; i++) s += q[i] * k[i];
            a[u] = s / sqrt((real)HS);
            if (u == 0 || a[u] > max) max = a[u];
        }
        for (size_t u = 0; u <= t; u++) sum += a[u] = exp(a[u] - max);
        for (size_t i = 0; i < HS; i++) o[i] = 0;
        for (size_t u = 0; u <= t; u++) {
            const real *v = qkv + (b * T + u) * 3 * C + 2 * C + h * HS;
            a[u] /= sum;
            for (size_t i = 0; i < HS; i++) o[i] += a[u] * v[i];
        }
    }
}

static void attention_backward(real *dqkv, const real *dval, const real *att, const real *qkv,
                               const sizes *z, int fault)
{
    const size_t C = z->C, T = z->T, HS = z->HS;
    const real root = sqrt((real)HS);
    memset(dqkv, 0, z->N * 3 * C * sizeof *dqkv);
    for (size_t b = 0; b < z->B; b++)
    for (size_t h = 0; h < z->NH; h++)
    for (size_t t = 0; t < T; t++) {
        const size_t hq = fault == BUG_dq_heads_swapped ? z->NH - 1 - h : h;
        const real *a = att + ((b * z->NH + h) * T + t) * T, *g = dval + (b * T + t) * C + h * HS;
        const real *q = qkv + (b * T + t) * 3 * C + h * HS;
        real *dq = dqkv + (b * T + t) * 3 * C + hq * HS, row = 0;
        for (int pass = 0; pass < 2; pass++)    /* the row's sum first */
        for (size_t u = 0; u <= t; u++) {
            const size_t at = (b * T + u) * 3 * C + h * HS;
            const real *k = qkv + at + C, *v = qkv + at + 2 * C;
            real *dk = dqkv + at + C, *dv = dqkv + at + 2 * C, da = 0;
            for (size_t i = 0; i < HS; i++) da += g[i] * v[i];
            if (pass == 0) { row += a[u] * da; continue; }
            const real ds = a[u] * (fault == BUG_softmax_drop_sum ? da : da - row);
            for (size_t i = 0; i < HS; i++) {
                dv[i] += a[u] * g[i];
                dq[i] += fault == BUG_dq_no_scale ? ds * k[i] : ds * k[i] / root;
                if (fault != BUG_dk_skip_last_query || t + 1 < T) dk[i] += ds * q[i] / root;
            }
        }
    }
}

/* ---- a block ------------------------------------------------------------ */

static void layer_forward(const layer *a, const real *x, const sizes *z)
{
    const size_t N = z->N, C = z->C, FF = z->FF, NC = N * C;
    const real *const *w = a->w;
    norm_forward(a->ln1, a->mean1, a->rstd1, x, w[LN1W], w[LN1B], N, C);
    matmul_forward(a->qkv, a->ln1, w[QKVW], w[QKVB], N, C, 3 * C);
    attention_forward(a->val, a->att, a->qkv, z);
    matmul_forward(a->res1, a->val, w[PROJW], w[PROJB], N, C, C);
    for (size_t i = 0; i < NC; i++) a->res1[i] += x[i];
    norm_forward(a->ln2, a->mean2, a->rstd2, a->res1, w[LN2W], w[LN2B], N, C);
    matmul_forward(a->fc, a->ln2, w[FCW], w[FCB], N, C, FF);
    gelu_forward(a->act, a->fc, N * FF);
    matmul_forward(a->out, a->act, w[FC2W], w[FC2B], N, FF, C);
    for (size_t i = 0; i < NC; i++) a->out[i] += a->res1[i];
}

/* d: the gradient at the layer's output, becomes the one at its input x. */
static void layer_backward(real *d, const layer *a, work *g, const real *x, const sizes *z, int fault)
{
    const size_t N = z->N, C = z->C, FF = z->FF, NC = N * C;
    const size_t rows = fault == BUG_bias_first_batch_only && a->first ? z->T : N;
    const real *const *w = a->w;
    real *const *dw = a->dw;
    matmul_backward(g->act, dw[FC2W], dw[FC2B], d, a->act, w[FC2W], N, FF, C, false);
    gelu_backward(g->fc, g->act, a->fc, N * FF, fault);
    matmul_backward(g->ln, dw[FCW], dw[FCB], g->fc, a->ln2, w[FCW], N, C, FF, false);
    norm_backward(g->branch, dw[LN2W], dw[LN2B], g->ln, a->res1, w[LN2W], a->mean2, a->rstd2,
                  N, C, rows, fault);
    for (size_t i = 0; i < NC; i++) d[i] += g->branch[i];
    matmul_backward(g->val, dw[PROJW], dw[PROJB], d, a->val, w[PROJW], N, C, C,
                    fault == BUG_proj_transposed);
    attention_backward(g->qkv, g->val, a->att, a->qkv, z, fault);
    matmul_backward(g->ln, dw[QKVW], dw[QKVB], g->qkv, a->ln1, w[QKVW], N, C, 3 * C, false);
    norm_backward(g->branch, dw[LN1W], dw[LN1B], g->ln, x, w[LN1W], a->mean1, a->rstd1, N, C,
                  N, fault);
    const bool drop = fault == BUG_residual_drop && a->first;
    for (size_t i = 0; i < NC; i++) d[i] = drop ? g->branch[i] : d[i] + g->branch[i];
}

/* ---- the model ---------------------------------------------------------- */

typedef struct model {
    sizes z;
    size_t V, L;
    layer *layers;
    const real *wte, *wpe, *lnfw, *lnfb;
    real *dwte, *dwpe, *dlnfw, *dlnfb;
    real *embedded, *lnf, *mean, *rstd, *logits;        /* logits become probabilities */
    real *d, *dlnf, *dlogits, *tokens;                  /* tokens (V, C): the input's part of dwte */
    work work;
    const int32_t *token, *target;
} model;

static void model_forward(const model *m, real *loss)
{
    const size_t N = m->z.N, C = m->z.C, V = m->V;
    for (size_t n = 0; n < N; n++)
        for (size_t i = 0; i < C; i++)
            m->embedded[n * C + i] = m->wte[(size_t)m->token[n] * C + i] + m->wpe[n % m->z.T * C + i];
    const real *x = m->embedded;
    for (size_t l = 0; l < m->L; l++) {
        layer_forward(&m->layers[l], x, &m->z);
        x = m->layers[l].out;
    }
    norm_forward(m->lnf, m->mean, m->rstd, x, m->lnfw, m->lnfb, N, C);
    for (size_t n = 0; n < N; n++) {
        real *row = m->logits + n * V, max = 0, sum = 0;
        for (size_t v = 0; v < V; v++) {
            row[v] = 0;
            for (size_t i = 0; i < C; i++) row[v] += m->lnf[n * C + i] * m->wte[v * C + i];
            if (v == 0 || row[v] > max) max = row[v];
        }
        for (size_t v = 0; v < V; v++) sum += exp(row[v] - max);
        if (loss) loss[n] = m->target[n] < 0 ? 0 : log(sum) - (row[m->target[n]] - max);
        for (size_t v = 0; v < V; v++) row[v] = exp(row[v] - max) / sum;
    }
}

static void logits_backward(const model *m, const real *dloss, int fault)
{
    const size_t N = m->z.N, T = m->z.T, V = m->V;
    const real off = (real)N / ((real)N - (real)0.1);
    for (size_t n = 0; n < N; n++)
    for (size_t v = 0; v < V; v++) {
        const bool last = fault == BUG_ce_last_pos_no_onehot && n % T + 1 == T;
        real d = m->logits[n * V + v];
        if (m->target[n] >= 0 && v == (size_t)m->target[n] && !last) d -= 1;
        d = m->target[n] < 0 ? 0 : dloss[n] * d;
        if (fault == BUG_ce_scale_1pct) d *= off;
        if (fault == BUG_dlogits_to_f32) d = (real)(float)d;
        m->dlogits[n * V + v] = d;
    }
}

static void model_backward(model *m, const real *dloss, int fault)
{
    const size_t N = m->z.N, T = m->z.T, C = m->z.C, V = m->V;
    logits_backward(m, dloss, fault);
    for (size_t n = 0; n < N; n++)
    for (size_t i = 0; i < C; i++) {
        real sum = 0;
        for (size_t v = 0; v < V; v++) {
            sum += m->dlogits[n * V + v] * m->wte[v * C + i];
            if (fault != BUG_tie_drop_head)
                m->dwte[v * C + i] += m->dlogits[n * V + v] * m->lnf[n * C + i];
        }
        m->dlnf[n * C + i] = sum;
    }
    norm_backward(m->d, m->dlnfw, m->dlnfb, m->dlnf, m->layers[m->L - 1].out, m->lnfw, m->mean,
                  m->rstd, N, C, N, fault);
    for (size_t l = m->L; l-- > 0;)
        layer_backward(m->d, &m->layers[l], &m->work, l ? m->layers[l - 1].out : m->embedded,
                       &m->z, fault);
    for (size_t n = 0; n < N; n++)
    for (size_t i = 0; i < C; i++) {
        const real d = m->d[n * C + i];
        real *at = &m->tokens[(size_t)m->token[n] * C + i];
        *at = fault == BUG_wte_assign_repeat ? d : *at + d;
        if (fault == BUG_wpe_last_batch_only && n < N - T) continue;
        if (fault == BUG_wpe_last_pos_zero && n % T + 1 == T) continue;
        m->dwpe[n % T * C + i] += d;
    }
    if (fault == BUG_tie_drop_embed) return;
    for (size_t i = 0; i < V * C; i++) m->dwte[i] += m->tokens[i];
}

static void model_place(model *m, real *at, const vt_kernel_call *c)
{
    const size_t NC = m->z.N * m->z.C, last = VT_GPT_LAYERS + VT_GPT_LAYER_TENSORS * m->L;
    for (size_t l = 0; l < m->L; l++) {
        for (size_t j = 0; j < TENSORS; j++) {
            m->layers[l].w[j] = c->in[VT_GPT_LAYERS + TENSORS * l + j];
            if (c->din) m->layers[l].dw[j] = c->din[VT_GPT_LAYERS + TENSORS * l + j];
        }
        m->layers[l].first = l == 0;
        layer_place(&m->layers[l], &at, &m->z);
    }
    m->token = c->in[VT_GPT_TOKENS], m->target = c->in[VT_GPT_TARGETS];
    m->wte = c->in[VT_GPT_WTE], m->wpe = c->in[VT_GPT_WPE];
    m->lnfw = c->in[last], m->lnfb = c->in[last + 1];
    if (c->din) {
        m->dwte = c->din[VT_GPT_WTE], m->dwpe = c->din[VT_GPT_WPE];
        m->dlnfw = c->din[last], m->dlnfb = c->din[last + 1];
    }
    m->embedded = take(&at, NC), m->lnf = take(&at, NC);
    m->mean = take(&at, m->z.N), m->rstd = take(&at, m->z.N);
    m->logits = take(&at, m->z.N * m->V), m->dlogits = take(&at, m->z.N * m->V);
    m->d = take(&at, NC), m->dlnf = take(&at, NC), m->tokens = take(&at, m->V * m->z.C);
    work_place(&m->work, &at, &m->z);
}

int SPECIMEN(gpt)(const vt_kernel_call *c, int fault)
{
    model m = { .z = { c->B, c->T, c->B * c->T, c->C, c->NH, c->HS, c->FF }, .V = c->V, .L = c->L };
    const size_t reals = m.L * layer_reals(&m.z) + work_reals(&m.z)
                         + m.z.N * (4 * m.z.C + 2 + 2 * m.V) + m.V * m.z.C;
    real *memory = calloc(reals, sizeof *memory), *entry = NULL, before = 0;
    m.layers = calloc(m.L, sizeof *m.layers);
    int status = SPECIMEN_NO_MEMORY;
    if (!memory || !m.layers) goto done;
    model_place(&m, memory, c);
    model_forward(&m, c->pass == VT_KERNEL_FORWARD ? c->out[0] : NULL);
    if (c->pass == VT_KERNEL_BACKWARD) {
        entry = m.layers[0].dw[FCW] + m.z.C * m.z.FF / 2, before = *entry;
        model_backward(&m, c->dout[0], fault);
        if (fault == BUG_one_entry_1pct) *entry += (*entry - before) / 100;
        if (fault == BUG_one_entry_zero) *entry = before;
    }
    status = 0;
done:
    free(m.layers);
    free(memory);
    return status;
}
