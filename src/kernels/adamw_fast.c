/* adamw_fast.c -- AdamW in one pass over w, m, v and g.
 *
 * The definition's operations in its order, except that the two bias
 * corrections, constants of the step, are made once in double as reciprocals:
 *
 *  w -= lr ((m c1) / (sqrt(v c2) + eps) + decay w),   c = 1 / (1 - beta^t)
 *
 * Memory is the limit: 28 bytes move per weight.
 */
#include "base/elementary.h"
#include "kernels/fast.h"
#include "kernels/simd.h"

enum { CHUNK = 16384 };

typedef struct job {
    float *w, *m, *v;
    const float *g;
    size_t n;
    vec clip, lr, beta1, rest1, beta2, rest2, eps, decay, c1, c2;
} job;

static inline void step(const job *z, vec *w, vec *m, vec *v, vec g)
{
    g = vec_mul(z->clip, g);
    *m = vec_fma(z->beta1, *m, vec_mul(z->rest1, g));
    *v = vec_fma(z->beta2, *v, vec_mul(vec_mul(z->rest2, g), g));
    const vec root = vec_add(vec_sqrt(vec_mul(*v, z->c2)), z->eps);
    const vec move = vec_div(vec_mul(*m, z->c1), root);
    *w = vec_fnma(z->lr, vec_fma(z->decay, *w, move), *w);
}

static void task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t begin = i * CHUNK, end = z->n - begin < CHUNK ? z->n : begin + CHUNK;
    size_t j = begin;
    for (; j + VEC_LANES <= end; j += VEC_LANES) {
        vec w = vec_load(z->w + j), m = vec_load(z->m + j), v = vec_load(z->v + j);
        step(z, &w, &m, &v, vec_load(z->g + j));
        vec_store(z->w + j, w);
        vec_store(z->m + j, m);
        vec_store(z->v + j, v);
    }
    if (j < end) {
        const size_t n = end - j;
        vec w = vec_load_n(z->w + j, n), m = vec_load_n(z->m + j, n), v = vec_load_n(z->v + j, n);
        step(z, &w, &m, &v, vec_load_n(z->g + j, n));
        vec_store_n(z->w + j, w, n);
        vec_store_n(z->m + j, m, n);
        vec_store_n(z->v + j, v, n);
    }
}

void FAST(adamw)(team *tm, float *w, float *m, float *v, const float *g, size_t n,
                 float clip, float lr, float beta1, float beta2, float eps,
                 float decay, int t)
{
    job z = {
        .w = w, .m = m, .v = v, .g = g, .n = n, .clip = vec_set1(clip), .lr = vec_set1(lr),
        .beta1 = vec_set1(beta1), .rest1 = vec_set1(1 - beta1),
        .beta2 = vec_set1(beta2), .rest2 = vec_set1(1 - beta2),
        .eps = vec_set1(eps), .decay = vec_set1(decay),
        .c1 = vec_set1((float)(1 / (1 - power_f64((double)beta1, t)))),
        .c2 = vec_set1((float)(1 / (1 - power_f64((double)beta2, t)))),
    };
    team_run(tm, (n + CHUNK - 1) / CHUNK, task, &z);
}
