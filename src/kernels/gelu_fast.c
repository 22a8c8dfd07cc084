/* gelu_fast.c -- GELU in vectors, its tanh as a logistic function.
 *
 * With g = (1 + tanh z) / 2 = 1 / (1 + e^-2z):
 *
 *  y  = x g                                                       (gelu.y)
 *  dx += dy (g + x 2 g (1 - g) z'(x))                            (gelu.dx)
 *
 * since (1 - tanh^2 z) / 2 = 2 g (1 - g).  The definition's 1 + tanh z loses
 * all digits where z is far below 0; g and 1 - g both keep theirs, so y is
 * accurate to a few ulp times (1 + |z|) everywhere.
 *
 * In the second term x is cut to [-16, 16], where g (1 - g) < 1e-138 is 0 in
 * float on either side: x^2 cannot overflow and make 0 times Inf.
 */
#include "kernels/fast.h"
#include "kernels/simd.h"
#include "kernels/simd_math.h"

enum { CHUNK = 4096 };

typedef struct job { float *y; const float *x, *dy; size_t n; } job;

static const float K2 = 1.59576912160573071176f;     /* 2 sqrt(2/pi) */
static const float A  = 0.044715f;

/* g; 1 - g into *rest. */
VEC_INLINE vec gate(vec x, vec *rest)
{
    const vec x2 = vec_mul(x, x);
    const vec z2 = vec_mul(vec_mul(vec_set1(K2), x),
                           vec_fma(vec_set1(A), x2, vec_set1(1)));
    return vec_logistic(z2, rest);
}

VEC_INLINE vec value(vec x)
{
    vec rest;
    return vec_mul(x, gate(x, &rest));
}

VEC_INLINE vec slope(vec x)
{
    const vec c = vec_max(vec_set1(-16), vec_min(vec_set1(16), x));  /* NaN passes */
    vec rest;
    const vec g = gate(c, &rest);
    /* 2 z'(c) */
    const vec dz2 = vec_mul(vec_set1(K2), vec_fma(vec_set1(3 * A), vec_mul(c, c), vec_set1(1)));
    return vec_fma(vec_mul(c, dz2), vec_mul(g, rest), g);
}

static void forward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t begin = i * CHUNK, end = z->n - begin < CHUNK ? z->n : begin + CHUNK;
    size_t j = begin;
    for (; j + VEC_LANES <= end; j += VEC_LANES) vec_store(z->y + j, value(vec_load(z->x + j)));
    if (j < end) vec_store_n(z->y + j, value(vec_load_n(z->x + j, end - j)), end - j);
}

static void backward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t begin = i * CHUNK, end = z->n - begin < CHUNK ? z->n : begin + CHUNK;
    size_t j = begin;
    for (; j + VEC_LANES <= end; j += VEC_LANES) {
        const vec dy = vec_load(z->dy + j);
        vec_store(z->y + j, vec_fma(dy, slope(vec_load(z->x + j)), vec_load(z->y + j)));
    }
    if (j < end) {
        const size_t n = end - j;
        const vec dy = vec_load_n(z->dy + j, n), dx = vec_load_n(z->y + j, n);
        vec_store_n(z->y + j, vec_fma(dy, slope(vec_load_n(z->x + j, n)), dx), n);
    }
}

void FAST(gelu_forward)(team *tm, float *out, const float *x, size_t n)
{
    job z = { .y = out, .x = x, .n = n };
    team_run(tm, (n + CHUNK - 1) / CHUNK, forward_task, &z);
}

void FAST(gelu_backward)(team *tm, float *dx, const float *dout, const float *x, size_t n)
{
    job z = { .y = dx, .x = x, .dy = dout, .n = n };
    team_run(tm, (n + CHUNK - 1) / CHUNK, backward_task, &z);
}
