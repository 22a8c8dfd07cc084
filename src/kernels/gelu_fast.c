/* gelu_fast.c -- GELU in vectors.
 *
 *  y  = gelu(x)                                                   (gelu.y)
 *  dx += dy gelu'(x)                                             (gelu.dx)
 *
 * The algebra is in gelu_fast.h, which the products of the feed-forward part use, too.
 */
#include "kernels/fast.h"
#include "kernels/gelu_fast.h"

enum { CHUNK = 4096 };

typedef struct job { float *y; const float *x, *dy; size_t n; } job;

static void forward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t begin = i * CHUNK, end = z->n - begin < CHUNK ? z->n : begin + CHUNK;
    size_t j = begin;
    for (; j + VEC_LANES <= end; j += VEC_LANES) vec_store(z->y + j, gelu_value(vec_load(z->x + j)));
    if (j < end) vec_store_n(z->y + j, gelu_value(vec_load_n(z->x + j, end - j)), end - j);
}

static void backward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t begin = i * CHUNK, end = z->n - begin < CHUNK ? z->n : begin + CHUNK;
    size_t j = begin;
    for (; j + VEC_LANES <= end; j += VEC_LANES) {
        const vec dy = vec_load(z->dy + j);
        vec_store(z->y + j, vec_fma(dy, gelu_slope(vec_load(z->x + j)), vec_load(z->y + j)));
    }
    if (j < end) {
        const size_t n = end - j;
        const vec dy = vec_load_n(z->dy + j, n), dx = vec_load_n(z->y + j, n);
        vec_store_n(z->y + j, vec_fma(dy, gelu_slope(vec_load_n(z->x + j, n)), dx), n);
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
