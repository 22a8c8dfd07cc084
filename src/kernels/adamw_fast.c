/* adamw_fast.c -- AdamW in one pass over w, m, v and g.
 *
 * The definition's operations in its order, except that the two bias
 * corrections, constants of the step, are made once in double as reciprocals:
 *
 *  w -= lr ((m c1) / (sqrt(v c2) + eps) + decay w),   c = 1 / (1 - beta^t)
 *
 * Memory is the limit: 28 bytes move per weight, and 4 more where the gradient is set
 * to 0 for the next step on the way, while it is in the cache.
 *
 * Tensors that lie side by side are one launch: a chunk may begin in one and end in
 * another, whose decay differs.
 */
#include "base/elementary.h"
#include "kernels/fast.h"
#include "kernels/simd.h"

enum { CHUNK = 16384 };

typedef struct job {
    float *w, *m, *v;
    const float *g;
    float *clear;                       /* g, to be set to 0; or NULL */
    const adamw_span *spans;
    size_t nspans, n;
    vec clip, lr, beta1, rest1, beta2, rest2, eps, c1, c2;
} job;

static inline void step(const job *z, vec *w, vec *m, vec *v, vec g, vec decay)
{
    g = vec_mul(z->clip, g);
    *m = vec_fma(z->beta1, *m, vec_mul(z->rest1, g));
    *v = vec_fma(z->beta2, *v, vec_mul(vec_mul(z->rest2, g), g));
    const vec root = vec_add(vec_sqrt(vec_mul(*v, z->c2)), z->eps);
    const vec move = vec_div(vec_mul(*m, z->c1), root);
    *w = vec_fnma(z->lr, vec_fma(decay, *w, move), *w);
}

/* Weights j .. end-1, of one span. */
static void run(const job *z, size_t j, size_t end, float of_span)
{
    const vec decay = vec_set1(of_span);
    for (; j + VEC_LANES <= end; j += VEC_LANES) {
        vec w = vec_load(z->w + j), m = vec_load(z->m + j), v = vec_load(z->v + j);
        step(z, &w, &m, &v, vec_load(z->g + j), decay);
        vec_store(z->w + j, w);
        vec_store(z->m + j, m);
        vec_store(z->v + j, v);
        if (z->clear) vec_store(z->clear + j, vec_zero());
    }
    if (j < end) {
        const size_t n = end - j;
        vec w = vec_load_n(z->w + j, n), m = vec_load_n(z->m + j, n), v = vec_load_n(z->v + j, n);
        step(z, &w, &m, &v, vec_load_n(z->g + j, n), decay);
        vec_store_n(z->w + j, w, n);
        vec_store_n(z->m + j, m, n);
        vec_store_n(z->v + j, v, n);
        if (z->clear) vec_store_n(z->clear + j, vec_zero(), n);
    }
}

static void task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    size_t j = i * CHUNK, low = 0, high = z->nspans;
    const size_t end = z->n - j < CHUNK ? z->n : j + CHUNK;
    while (high - low > 1) {            /* the span that weight j is in */
        const size_t middle = low + (high - low) / 2;
        if (z->spans[middle].begin <= j) low = middle;
        else                             high = middle;
    }
    for (; j < end; low++) {
        const size_t to = low + 1 < z->nspans && z->spans[low + 1].begin < end
                        ? z->spans[low + 1].begin : end;
        run(z, j, to, z->spans[low].decay);
        j = to;
    }
}

static void launch(team *tm, job *z, float clip, float lr, float beta1, float beta2, float eps,
                   int t)
{
    z->clip = vec_set1(clip), z->lr = vec_set1(lr), z->eps = vec_set1(eps);
    z->beta1 = vec_set1(beta1), z->rest1 = vec_set1(1 - beta1);
    z->beta2 = vec_set1(beta2), z->rest2 = vec_set1(1 - beta2);
    z->c1 = vec_set1((float)(1 / (1 - power_f64((double)beta1, t))));
    z->c2 = vec_set1((float)(1 / (1 - power_f64((double)beta2, t))));
    team_run(tm, (z->n + CHUNK - 1) / CHUNK, task, z);
}

void FAST(adamw)(team *tm, float *w, float *m, float *v, const float *g, size_t n,
                 float clip, float lr, float beta1, float beta2, float eps,
                 float decay, int t)
{
    const adamw_span all = { 0, decay };
    job z = { .w = w, .m = m, .v = v, .g = g, .spans = &all, .nspans = 1, .n = n };
    launch(tm, &z, clip, lr, beta1, beta2, eps, t);
}

void FAST(adamw_spans)(team *tm, float *w, float *m, float *v, float *g, size_t n,
                       const adamw_span *spans, size_t nspans, bool clear,
                       float clip, float lr, float beta1, float beta2, float eps, int t)
{
    job z = { .w = w, .m = m, .v = v, .g = g, .clear = clear ? g : NULL, .spans = spans,
              .nspans = nspans, .n = n };
    launch(tm, &z, clip, lr, beta1, beta2, eps, t);
}
