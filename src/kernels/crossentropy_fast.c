/* crossentropy_fast.c -- the loss and its gradient, a row at a time in vectors.
 *
 * With i = 1 / temperature and max = max_v l[n,v]:
 *
 *  sum     = sum_v exp((l[n,v] - max) i)
 *  lse[n]  = max i + log sum                                         (ce.lse)
 *  loss[n] = log sum + (max - l[n,y]) i                             (ce.loss)
 *
 * The loss is put together without lse: where the logits are large, lse has
 * lost digits that the loss still needs.  Two passes over a row that the first
 * has brought into the cache; backward makes p from lse in one.
 *
 * learn is both, temperature 1, and its gradient takes the place of the logits: a
 * training step needs them no longer, and the row is still in the cache.
 */
#include <math.h>
#include "base/elementary.h"
#include "vitrine.h"
#include "kernels/fast.h"
#include "kernels/simd.h"
#include "kernels/simd_math.h"

enum { ROWS = 8 };

typedef struct job {
    float *loss, *lse, *dl;
    const float *l, *dloss, *row_lse;
    const int *target;
    float inverse;
    size_t N, V;
} job;

/* The largest of n numbers that is not NaN; -Inf where there is none. */
static float row_max(const float *l, size_t n)
{
    const vec low = vec_set1(-INFINITY);
    vec max[2] = { low, low };
    size_t v = 0;
    for (; v + 2 * VEC_LANES <= n; v += 2 * VEC_LANES)
        for (int k = 0; k < 2; k++)
            max[k] = vec_max(vec_load(l + v + k * VEC_LANES), max[k]);
    float top = vec_hmax(vec_max(max[0], max[1]));
    for (; v < n; v++) if (l[v] > top) top = l[v];
    return top;
}

/* sum_v exp((l[v] - max) i) */
static float row_sum(const float *l, size_t n, float max, float i)
{
    const vec m = vec_set1(max), k = vec_set1(i);
    vec sum[2] = { vec_zero(), vec_zero() };
    size_t v = 0;
    for (; v + 2 * VEC_LANES <= n; v += 2 * VEC_LANES)
        for (int j = 0; j < 2; j++) {
            const vec x = vec_load(l + v + j * VEC_LANES);
            sum[j] = vec_add(sum[j], vec_exp(vec_mul(vec_sub(x, m), k)));
        }
    for (; v < n; v += VEC_LANES) {
        const size_t left = n - v < VEC_LANES ? n - v : VEC_LANES;
        const vec e = vec_exp(vec_mul(vec_sub(vec_load_n(l + v, left), m), k));
        sum[0] = vec_add(sum[0], vec_select(vec_first(left), e, vec_zero()));
    }
    return vec_sum(vec_add(sum[0], sum[1]));
}

static void forward_row(const job *z, size_t n)
{
    const float *l = z->l + n * z->V;
    const float max = row_max(l, z->V);
    const float log_sum = log_f32(row_sum(l, z->V, max, z->inverse));
    const int y = z->target[n];
    z->lse[n] = max * z->inverse + log_sum;
    z->loss[n] = y == VT_IGNORE ? 0 : log_sum + (max - l[y]) * z->inverse;
}

static void forward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t end = z->N - i * ROWS < ROWS ? z->N : (i + 1) * ROWS;
    for (size_t n = i * ROWS; n < end; n++) forward_row(z, n);
}

/* What backward adds to 0. */
static void learn_row(const job *z, size_t n)
{
    float *l = z->dl + n * z->V;
    const int y = z->target[n];
    const vec g = vec_set1(z->dloss[n]), lse = vec_set1(z->lse[n]), zero = vec_zero();
    for (size_t v = 0; v < z->V; v += VEC_LANES) {
        const size_t left = z->V - v < VEC_LANES ? z->V - v : VEC_LANES;
        if (y == VT_IGNORE) {
            vec_store_n(l + v, zero, left);
            continue;
        }
        const vec p = vec_exp(vec_sub(vec_load_n(l + v, left), lse));
        vec_store_n(l + v, vec_fma(g, p, zero), left);
    }
    if (y != VT_IGNORE) l[y] -= z->dloss[n];
}

static void learn_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t end = z->N - i * ROWS < ROWS ? z->N : (i + 1) * ROWS;
    for (size_t n = i * ROWS; n < end; n++) {
        forward_row(z, n);
        learn_row(z, n);
    }
}

static void backward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t end = z->N - i * ROWS < ROWS ? z->N : (i + 1) * ROWS;
    for (size_t n = i * ROWS; n < end; n++) {
        if (z->target[n] == VT_IGNORE) continue;
        const float *l = z->l + n * z->V;
        float *dl = z->dl + n * z->V;
        const float g = z->dloss[n] * z->inverse;
        const vec scale = vec_set1(g), k = vec_set1(z->inverse), lse = vec_set1(z->row_lse[n]);
        size_t v = 0;
        for (; v + VEC_LANES <= z->V; v += VEC_LANES) {
            const vec p = vec_exp(vec_sub(vec_mul(vec_load(l + v), k), lse));
            vec_store(dl + v, vec_fma(scale, p, vec_load(dl + v)));
        }
        if (v < z->V) {
            const size_t left = z->V - v;
            const vec p = vec_exp(vec_sub(vec_mul(vec_load_n(l + v, left), k), lse));
            vec_store_n(dl + v, vec_fma(scale, p, vec_load_n(dl + v, left)), left);
        }
        dl[z->target[n]] -= g;
    }
}

void FAST(crossentropy_forward)(team *tm, float *loss, float *lse,
                                const float *logits, const int *target,
                                float temperature, int N, int V)
{
    job z = { .loss = loss, .lse = lse, .l = logits, .target = target,
              .inverse = 1 / temperature, .N = (size_t)N, .V = (size_t)V };
    team_run(tm, (z.N + ROWS - 1) / ROWS, forward_task, &z);
}

void FAST(crossentropy_backward)(team *tm, float *dlogits, const float *dloss,
                                 const float *lse, const float *logits,
                                 const int *target, float temperature, int N, int V)
{
    job z = { .dl = dlogits, .dloss = dloss, .row_lse = lse, .l = logits, .target = target,
              .inverse = 1 / temperature, .N = (size_t)N, .V = (size_t)V };
    team_run(tm, (z.N + ROWS - 1) / ROWS, backward_task, &z);
}

void FAST(crossentropy_learn)(team *tm, float *loss, float *lse, float *logits,
                              const float *dloss, const int *target, int N, int V)
{
    job z = { .loss = loss, .lse = lse, .l = logits, .dl = logits, .dloss = dloss,
              .target = target, .inverse = 1, .N = (size_t)N, .V = (size_t)V };
    team_run(tm, (z.N + ROWS - 1) / ROWS, learn_task, &z);
}
