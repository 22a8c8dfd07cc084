/* specimen_lab.c -- the code lab's model: causal attention without biases over T tokens,
 * an output projection, the mean cross-entropy at a temperature.
 *
 *     q, k, v = x wq, x wk, x wv;   p = softmax(q k^T / sqrt(HS));   o = p v
 *     logits = o wo;   loss = mean_t (lse(logits[t] / temperature) - logits[t, target] / temperature)
 *
 * The backward pass reads p, o and logits where the forward pass wrote them, among the
 * outputs; q, k and v it computes again.
 */
#include "verify/selftest/specimens/real.h"

typedef struct lab {
    const vt_kernel_call *c;
    size_t T, C, H, V;
    int fault;
    const real *x, *w[3], *wo;
    const int32_t *target;
    real *q[3];                         /* q, k, v (T, H) */
    real root;
} lab;

/* Masked cells of p are 0. */
static void head_forward(const lab *a, size_t h, real *p, real *o)
{
    const size_t T = a->T, HS = a->c->HS;
    for (size_t t = 0; t < T; t++, p += T) {
        const size_t x = t * a->H + h * HS;
        size_t n = a->fault == BUG_lab_leak && t + 1 < T ? t + 2 : t + 1;
        if (a->fault == BUG_lab_mask_after_softmax) n = T;
        real max = -(real)INFINITY, sum = 0;
        for (size_t u = 0; u < T; u++) {
            real s = 0;
            for (size_t i = 0; i < HS; i++) s += a->q[0][x + i] * a->q[1][u * a->H + h * HS + i];
            p[u] = s / a->root;
            if (u < n && p[u] > max) max = p[u];
        }
        for (size_t u = 0; u < T; u++) {
            p[u] = u < n ? exp(p[u] - max) : 0;
            sum += p[u];
        }
        for (size_t i = 0; i < HS; i++) o[x + i] = 0;
        for (size_t u = 0; u < T; u++) {
            p[u] = a->fault == BUG_lab_mask_after_softmax && u > t ? 0 : p[u] / sum;
            for (size_t i = 0; i < HS; i++) o[x + i] += p[u] * a->q[2][u * a->H + h * HS + i];
        }
    }
}

/* log sum exp of a row's logits / temperature */
static real row_lse(const real *l, size_t V, real temperature)
{
    real max = l[0], sum = 0;
    for (size_t v = 1; v < V; v++) if (l[v] > max) max = l[v];
    for (size_t v = 0; v < V; v++) sum += exp((l[v] - max) / temperature);
    return max / temperature + log(sum);
}

static void project(const lab *a)
{
    for (int j = 0; j < 3; j++)
        for (size_t t = 0; t < a->T; t++)
            for (size_t r = 0; r < a->H; r++) {
                a->q[j][t * a->H + r] = 0;
                for (size_t i = 0; i < a->C; i++) a->q[j][t * a->H + r] += a->x[t * a->C + i] * a->w[j][i * a->H + r];
            }
}

static void forward(const lab *a)
{
    const real temperature = (real)a->c->temperature;
    real *p = a->c->out[VT_LAB_OUT_P], *o = a->c->out[VT_LAB_OUT_O];
    real *logits = a->c->out[VT_LAB_OUT_LOGITS], loss = 0;
    for (size_t h = 0; h < a->c->NH; h++) head_forward(a, h, p + h * a->T * a->T, o);
    for (size_t t = 0; t < a->T; t++) {
        real *l = logits + t * a->V;
        for (size_t v = 0; v < a->V; v++) {
            l[v] = 0;
            for (size_t r = 0; r < a->H; r++) l[v] += o[t * a->H + r] * a->wo[r * a->V + v];
        }
        if (a->target[t] >= 0) loss += row_lse(l, a->V, temperature) - l[a->target[t]] / temperature;
    }
    *(real *)a->c->out[VT_LAB_OUT_LOSS] = loss / (real)a->T;
}

/* One row of dlogits, into d (V). */
static void logits_backward(const lab *a, size_t t, real dloss, real *d)
{
    const real *l = (const real *)a->c->out[VT_LAB_OUT_LOGITS] + t * a->V;
    const real temperature = (real)a->c->temperature, lse = row_lse(l, a->V, temperature);
    real g = a->target[t] < 0 ? 0 : dloss;
    if (a->fault != BUG_lab_sum_for_mean) g /= (real)a->T;
    if (a->fault != BUG_lab_no_temperature) g /= temperature;
    if (a->fault == BUG_lab_temperature_squared) g /= temperature;
    for (size_t v = 0; v < a->V; v++) {
        d[v] = g * exp(l[v] / temperature - lse);
        if (a->target[t] >= 0 && v == (size_t)a->target[t] && a->fault != BUG_lab_no_onehot) d[v] -= g;
    }
}

/* Adds into d[0 .. 2] (T, H), from the gradient of o. */
static void head_backward(const lab *a, size_t h, real *const *d, const real *dout)
{
    const size_t T = a->T, HS = a->c->HS, at = h * HS;
    const real *p = (const real *)a->c->out[VT_LAB_OUT_P] + h * T * T;
    for (size_t t = 0; t < T; t++, p += T) {
        const real *g = dout + t * a->H + at, *q = a->q[0] + t * a->H + at;
        real *dq = d[0] + t * a->H + at, sum = 0;
        for (int pass = 0; pass < 2; pass++)
        for (size_t u = 0; u < T; u++) {
            const size_t y = u * a->H + at;
            real dp = 0;
            for (size_t i = 0; i < HS; i++) dp += g[i] * a->q[2][y + i];
            if (pass == 0) { sum += p[u] * dp; continue; }
            const real ds = p[u] * (a->fault == BUG_lab_no_row_sum ? dp : dp - sum);
            for (size_t i = 0; i < HS; i++) {
                dq[i] += ds * a->q[1][y + i] / a->root;
                d[1][y + i] += a->fault == BUG_lab_dk_no_scale ? ds * q[i] : ds * q[i] / a->root;
                d[2][y + i] += (a->fault == BUG_lab_dv_dp ? dp : p[u]) * g[i];
            }
        }
    }
}

static void inputs_backward(const lab *a, real *const *d)
{
    static const int missing[3] = { BUG_lab_no_q_path, BUG_lab_no_k_path, BUG_lab_no_v_path };
    real *dx = a->c->din[VT_LAB_OP_X];
    for (int j = 0; j < 3; j++) {
        real *dw = a->c->din[VT_LAB_OP_WQ + j];
        for (size_t t = 0; t < a->T; t++)
        for (size_t i = 0; i < a->C; i++)
        for (size_t r = 0; r < a->H; r++) {
            dw[i * a->H + r] += a->x[t * a->C + i] * d[j][t * a->H + r];
            if (a->fault != missing[j]) dx[t * a->C + i] += d[j][t * a->H + r] * a->w[j][i * a->H + r];
        }
    }
}

/* memory: 4 T H + V zeros */
static void backward(const lab *a, real *memory)
{
    const size_t T = a->T, H = a->H, V = a->V;
    const real *o = a->c->out[VT_LAB_OUT_O], dloss = *(const real *)a->c->dout[VT_LAB_OUT_LOSS];
    real *const d[3] = { memory, memory + T * H, memory + 2 * T * H };
    real *dwo = a->c->din[VT_LAB_OP_WO], *dout = memory + 3 * T * H, *dl = memory + 4 * T * H;
    for (size_t t = 0; t < T; t++) {
        logits_backward(a, t, dloss, dl);
        for (size_t r = 0; r < H; r++)
        for (size_t v = 0; v < V; v++) {
            dout[t * H + r] += dl[v] * a->wo[r * V + v];
            dwo[a->fault == BUG_lab_wo_transposed ? v * H + r : r * V + v] += o[t * H + r] * dl[v];
        }
    }
    for (size_t h = 0; h < a->c->NH; h++) head_backward(a, h, d, dout);
    inputs_backward(a, d);
}

int SPECIMEN(lab)(const vt_kernel_call *c, int fault)
{
    const size_t H = c->NH * c->HS, TH = c->T * H;
    real *memory = calloc(7 * TH + c->V, sizeof *memory);
    if (!memory) return SPECIMEN_NO_MEMORY;
    const lab a = { c, c->T, c->C, H, c->V, fault, c->in[VT_LAB_OP_X],
                    { c->in[VT_LAB_OP_WQ], c->in[VT_LAB_OP_WK], c->in[VT_LAB_OP_WV] }, c->in[VT_LAB_OP_WO],
                    c->in[VT_LAB_OP_TARGET], { memory, memory + TH, memory + 2 * TH },
                    fault == BUG_lab_no_scale ? 1 : sqrt((real)c->HS) };
    project(&a);
    if (c->pass == VT_KERNEL_FORWARD) forward(&a);
    else backward(&a, memory + 3 * TH);
    free(memory);
    return 0;
}
