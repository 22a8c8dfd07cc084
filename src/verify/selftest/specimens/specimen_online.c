/* specimen_online.c -- attention in tiles of keys with an online softmax: running
 * maximum m, running sum l, an accumulator that is rescaled when m grows.
 *
 * Forward keeps one number a row, lse = m + log l, in `save`.  Backward computes
 * p = exp(s - lse) again and uses D = rowsum(do o), which equals rowsum(p dp).
 *
 * Dao, Fu, Ermon, Rudra, Re, "FlashAttention" (2022), algorithms 1 and 4; Dao,
 * "FlashAttention-2" (2023).
 */
#include "verify/selftest/specimens/real.h"

enum { TILE = 4 };

typedef struct tile { size_t b, h, t, first, count; real s[TILE]; } tile;

static bool visible(const vt_kernel_call *c, const tile *z, size_t u, int fault)
{
    const unsigned char *mask = c->in[VT_ATTENTION_MASK];
    if (fault == BUG_online_tile_leak) {                /* only whole tiles are left out */
        if (c->causal && z->first + c->T > c->S + z->t) return false;
    } else if (c->causal && u + c->T > c->S + z->t) {
        return false;
    }
    return !mask || mask[z->t * c->S + u];
}

static size_t query(const vt_kernel_call *c, const tile *z)
{
    return ((z->b * c->T + z->t) * c->NH + z->h) * c->HS;
}

static size_t key(const vt_kernel_call *c, const tile *z, size_t u)
{
    return ((z->b * c->S + u) * c->NH + z->h) * c->HS;
}

/* The tile's scores, -inf where hidden. */
static void scores(const vt_kernel_call *c, tile *z, size_t first, int fault)
{
    const real *q = (const real *)c->in[VT_ATTENTION_Q] + query(c, z);
    z->first = first;
    z->count = c->S - first < TILE ? c->S - first : TILE;
    if (fault == BUG_online_tail_dropped && z->count < TILE) z->count = 0;
    for (size_t j = 0; j < z->count; j++) {
        const real *k = (const real *)c->in[VT_ATTENTION_K] + key(c, z, first + j);
        real s = 0;
        for (size_t i = 0; i < c->HS; i++) s += q[i] * k[i];
        z->s[j] = visible(c, z, first + j, fault) ? s / sqrt((real)c->HS) : -(real)INFINITY;
    }
}

static void row_forward(const vt_kernel_call *c, tile *z, real *lse, int fault)
{
    real *o = (real *)c->out[0] + query(c, z);
    real m = fault == BUG_online_max_from_zero ? 0 : -(real)INFINITY, l = 0;
    for (size_t i = 0; i < c->HS; i++) o[i] = 0;
    for (size_t first = 0; first < c->S; first += TILE) {
        scores(c, z, first, fault);
        real high = m;
        for (size_t j = 0; j < z->count; j++) if (z->s[j] > high) high = z->s[j];
        if (high == -(real)INFINITY) continue;          /* nothing seen yet */
        const real keep = exp(m - high);
        if (fault != BUG_online_sum_not_rescaled) l *= keep;
        if (fault != BUG_online_output_not_rescaled) for (size_t i = 0; i < c->HS; i++) o[i] *= keep;
        for (size_t j = 0; j < z->count; j++) {
            const real *v = (const real *)c->in[VT_ATTENTION_V] + key(c, z, first + j);
            const real e = exp(z->s[j] - high);
            if (e == 0) continue;
            l += e;
            for (size_t i = 0; i < c->HS; i++) o[i] += e * v[i];
        }
        m = high;
    }
    *lse = fault == BUG_online_lse_no_max ? log(l) : m + log(l);
    if (l == 0 && fault != BUG_online_dead_row) { *lse = -(real)INFINITY; return; }
    for (size_t i = 0; i < c->HS; i++) o[i] /= l;
}

/* A number in 0.99 .. 1.01 that depends on all calls before: dropout left on. */
static real noise(void)
{
    static _Thread_local uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return 1 + ((real)(state >> 16) - 32768) / 3276800;
}

static real row_sum(const vt_kernel_call *c, const tile *z, int fault)
{
    const real *g = (const real *)c->dout[0] + query(c, z), *o = (const real *)c->out[0] + query(c, z);
    real sum = 0;
    if (fault == BUG_online_no_row_sum) return 0;
    for (size_t i = 0; i < c->HS; i++) sum += g[i] * (fault == BUG_online_row_sum_squares ? g[i] : o[i]);
    return sum;
}

static void row_backward(const vt_kernel_call *c, tile *z, real lse, int fault)
{
    const size_t x = query(c, z);
    const real *q = (const real *)c->in[VT_ATTENTION_Q] + x, *g = (const real *)c->dout[0] + x;
    real *dq = (real *)c->din[VT_ATTENTION_Q] + x;
    const real D = row_sum(c, z, fault), root = sqrt((real)c->HS);
    for (size_t first = 0; first < c->S; first += TILE) {
        scores(c, z, first, fault);
        for (size_t j = 0; j < z->count; j++) {
            if (z->s[j] == -(real)INFINITY) continue;
            const size_t y = key(c, z, first + j);
            const real *k = (const real *)c->in[VT_ATTENTION_K] + y, *v = (const real *)c->in[VT_ATTENTION_V] + y;
            real *dk = (real *)c->din[VT_ATTENTION_K] + y, *dv = (real *)c->din[VT_ATTENTION_V] + y;
            real p = exp((fault == BUG_online_rescore_no_scale ? z->s[j] * root : z->s[j]) - lse), dp = 0;
            if (fault == BUG_online_noise) p *= noise();
            for (size_t i = 0; i < c->HS; i++) dp += g[i] * v[i];
            const real ds = p * (dp - D) / root;
            for (size_t i = 0; i < c->HS; i++) {
                dv[i] += (fault == BUG_online_rounded ? coarse(p) : p) * g[i];
                dq[i] += ds * k[i];
                const real d = ds * q[i];
                if (fault == BUG_online_dk_assigned) dk[i] = d;
                else dk[i] += fault == BUG_online_dk_no_scale ? d * root : d;
            }
        }
    }
}

int SPECIMEN(attention_online)(const vt_kernel_call *c, int fault)
{
    real *lse = c->save;
    tile z = { .b = 0 };
    for (z.b = 0; z.b < c->B; z.b++)
    for (z.h = 0; z.h < c->NH; z.h++)
    for (z.t = 0; z.t < c->T; z.t++, lse++) {
        if (c->pass == VT_KERNEL_FORWARD) row_forward(c, &z, lse, fault);
        else row_backward(c, &z, *lse, fault);
    }
    return 0;
}
