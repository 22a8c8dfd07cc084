/* specimen_projected.c -- attention with its projections, head by head.
 *
 *     q = x wq + bq, k = ..., v = ...;   y = concat(heads(q, k, v)) wo + bo
 *
 * Everything that the backward pass needs is computed again, in memory of its own.
 * x gets three gradients, one through each of q, k and v.
 */
#include "verify/selftest/specimens/real.h"

typedef struct sizes { size_t B, T, N, C, NH, HS, H; } sizes;

/* (N, H) each; p (B, NH, T, T). */
typedef struct stages { real *in[3], *merged, *d[3], *dmerged, *p; } stages;

static void project(real *y, const real *x, const real *w, const real *b, size_t N, size_t C, size_t OC)
{
    for (size_t n = 0; n < N; n++)
    for (size_t o = 0; o < OC; o++) y[n * OC + o] = b[o];
    for (size_t n = 0; n < N; n++)
    for (size_t i = 0; i < C; i++)
    for (size_t o = 0; o < OC; o++) y[n * OC + o] += x[n * C + i] * w[i * OC + o];
}

static void add_weight(real *dw, const real *x, const real *dy, size_t N, size_t C, size_t OC, bool transposed)
{
    for (size_t n = 0; n < N; n++)
    for (size_t i = 0; i < C; i++)
    for (size_t o = 0; o < OC; o++)
        dw[transposed ? o * C + i : i * OC + o] += x[n * C + i] * dy[n * OC + o];
}

static void add_input(real *dx, const real *dy, const real *w, size_t N, size_t C, size_t OC)
{
    for (size_t n = 0; n < N; n++)
    for (size_t i = 0; i < C; i++)
    for (size_t o = 0; o < OC; o++) dx[n * C + i] += dy[n * OC + o] * w[i * OC + o];
}

static bool visible(const vt_kernel_call *c, size_t t, size_t u, int fault)
{
    const unsigned char *mask = c->in[VT_PROJECTED_MASK];
    if (c->causal && u > (fault == BUG_projected_leak ? t + 1 : t)) return false;
    return !mask || mask[t * c->T + u];
}

static real root_of(const sizes *z, int fault)
{
    return sqrt((real)(fault == BUG_projected_scale_width ? z->C : z->HS));
}

static void attend(const vt_kernel_call *c, const sizes *z, const stages *a, int fault)
{
    const size_t T = z->T, HS = z->HS, H = z->H;
    const real root = root_of(z, fault);
    for (size_t b = 0; b < z->B; b++)
    for (size_t h = 0; h < z->NH; h++)
    for (size_t t = 0; t < T; t++) {
        const size_t x = (b * T + t) * H + h * HS;
        real *p = a->p + ((b * z->NH + h) * T + t) * T, max = -(real)INFINITY, sum = 0;
        for (size_t i = 0; i < HS; i++) a->merged[x + i] = 0;
        for (size_t u = 0; u < T; u++) {
            p[u] = 0;
            for (size_t i = 0; i < HS; i++) p[u] += a->in[0][x + i] * a->in[1][(b * T + u) * H + h * HS + i];
            p[u] /= root;
            if (visible(c, t, u, fault) && p[u] > max) max = p[u];
        }
        for (size_t u = 0; u < T; u++)
            sum += p[u] = visible(c, t, u, fault) ? exp(p[u] - max) : 0;
        for (size_t u = 0; u < T && sum > 0; u++) {
            p[u] /= sum;
            for (size_t i = 0; i < HS; i++) a->merged[x + i] += p[u] * a->in[2][(b * T + u) * H + h * HS + i];
        }
    }
}

static void attend_backward(const sizes *z, const stages *a, int fault)
{
    const size_t T = z->T, HS = z->HS, H = z->H;
    const real root = root_of(z, fault);
    for (size_t b = 0; b < z->B; b++)
    for (size_t h = 0; h < z->NH; h++)
    for (size_t t = 0; t < T; t++) {
        const size_t x = (b * T + t) * H + h * HS;
        const real *p = a->p + ((b * z->NH + h) * T + t) * T, *g = a->dmerged + x;
        real sum = 0;
        for (int pass = 0; pass < 2; pass++)
        for (size_t u = 0; u < T; u++) {
            const size_t y = (b * T + u) * H + h * HS;
            real dp = 0;
            for (size_t i = 0; i < HS; i++) dp += g[i] * a->in[2][y + i];
            if (pass == 0) { sum += p[u] * dp; continue; }
            const real ds = p[u] * (fault == BUG_projected_no_row_sum ? dp : dp - sum) / root;
            for (size_t i = 0; i < HS; i++) {
                a->d[0][x + i] += ds * a->in[1][y + i];
                a->d[1][y + i] += ds * a->in[0][x + i];
                a->d[2][y + i] += p[u] * g[i];
            }
        }
    }
}

/* The gradients of wo and bo, and that of the merged heads. */
static void output_backward(const vt_kernel_call *c, const sizes *z, const stages *a, int fault)
{
    const size_t N = z->N, C = z->C, H = z->H;
    const real *dy = c->dout[0];
    real *dwo = c->din[VT_PROJECTED_WO], *dbo = c->din[VT_PROJECTED_BO];
    if (fault == BUG_projected_wo_heads) {              /* heads merged in reverse order */
        for (size_t n = 0; n < N; n++)
            for (size_t i = 0; i < H; i++) {
                const size_t from = (z->NH - 1 - i / z->HS) * z->HS + i % z->HS;
                for (size_t o = 0; o < C; o++) dwo[i * C + o] += a->merged[n * H + from] * dy[n * C + o];
            }
    } else if (fault != BUG_projected_wo_zero) {
        add_weight(dwo, a->merged, dy, N, H, C, fault == BUG_projected_wo_transposed);
    }
    for (size_t n = 0; n < N && fault != BUG_projected_no_bo; n++)
        for (size_t o = 0; o < C; o++) dbo[o] += fault == BUG_projected_bo_mean ? dy[n * C + o] / (real)N : dy[n * C + o];
    add_input(a->dmerged, dy, c->in[VT_PROJECTED_WO], N, H, C);
}

static void input_backward(const vt_kernel_call *c, const sizes *z, const stages *a, int fault)
{
    static const int missing[3] = { BUG_projected_no_q_path, BUG_projected_no_k_path, BUG_projected_no_v_path };
    const size_t N = z->N, C = z->C, H = z->H;
    const real *x = c->in[VT_PROJECTED_X];
    real *dx = c->din[VT_PROJECTED_X];
    if (fault == BUG_projected_dx_assigned) memset(dx, 0, N * C * sizeof *dx);
    for (size_t j = 0; j < 3; j++) {
        const size_t w = VT_PROJECTED_WQ + 2 * j;
        size_t to = w;
        if (fault == BUG_projected_qk_swapped && j < 2) to = VT_PROJECTED_WQ + 2 * (1 - j);
        real *dw = c->din[to], *db = c->din[w + 1];
        real *entry = dw + C * H / 2, before = *entry;
        add_weight(dw, x, a->d[j], N, C, H, fault == BUG_projected_wq_transposed && j == 0);
        if (fault == BUG_projected_one_entry && j == 2) *entry += (*entry - before) / 100;
        const size_t rows = fault == BUG_projected_bv_first_batch && j == 2 ? z->T : N;
        for (size_t n = 0; n < rows; n++)
            for (size_t o = 0; o < H; o++) db[o] += a->d[j][n * H + o];
        if (fault != missing[j]) add_input(dx, a->d[j], c->in[w], N, C, H);
    }
}

int SPECIMEN(projected)(const vt_kernel_call *c, int fault)
{
    const sizes z = { c->B, c->T, c->B * c->T, c->C, c->NH, c->HS, c->NH * c->HS };
    const size_t NH = z.N * z.H;
    real *memory = calloc(8 * NH + z.N * z.NH * z.T, sizeof *memory);
    if (!memory) return SPECIMEN_NO_MEMORY;
    const stages a = { { memory, memory + NH, memory + 2 * NH }, memory + 3 * NH,
                       { memory + 4 * NH, memory + 5 * NH, memory + 6 * NH }, memory + 7 * NH,
                       memory + 8 * NH };
    for (size_t j = 0; j < 3; j++)
        project(a.in[j], c->in[VT_PROJECTED_X], c->in[VT_PROJECTED_WQ + 2 * j],
                c->in[VT_PROJECTED_WQ + 2 * j + 1], z.N, z.C, z.H);
    attend(c, &z, &a, fault);
    if (c->pass == VT_KERNEL_FORWARD) {
        project(c->out[0], a.merged, c->in[VT_PROJECTED_WO], c->in[VT_PROJECTED_BO], z.N, z.H, z.C);
    } else {
        output_backward(c, &z, &a, fault);
        attend_backward(&z, &a, fault);
        input_backward(c, &z, &a, fault);
    }
    free(memory);
    return 0;
}
