/* gradclip_fast.c -- the sum of squares, in double and in vectors.
 *
 * A float's square is exact in double (48 bits) and at most 1.2e77, so no sum
 * of fewer than 1e231 of them overflows; NaN and Inf pass into the result.
 *
 * At most PARTS tasks, each a chunk of at least CHUNK numbers; how many there
 * are depends on n alone and their sums are added in order.
 */
#include "kernels/fast.h"
#include "kernels/simd.h"

enum { CHUNK = 16384, PARTS = 256 };

typedef struct job { const float *x; size_t n, chunk; double part[PARTS]; } job;

static void task(void *context, size_t i, int worker)
{
    job *z = context;
    (void)worker;
    const size_t begin = i * z->chunk;
    const size_t end = z->n - begin < z->chunk ? z->n : begin + z->chunk;
    vecd sum[2] = { vecd_zero(), vecd_zero() };
    size_t j = begin;
    while (j < end) {
        const size_t left = end - j;
        const vec x = left < VEC_LANES ? vec_load_n(z->x + j, left) : vec_load(z->x + j);
        const vecd low = vecd_low(x), high = vecd_high(x);
        sum[0] = vecd_fma(low, low, sum[0]);
        sum[1] = vecd_fma(high, high, sum[1]);
        j += left < VEC_LANES ? left : VEC_LANES;
    }
    z->part[i] = vecd_sum(vecd_add(sum[0], sum[1]));
}

double FAST(sum_squares)(team *tm, const float *x, size_t n)
{
    job z = { .x = x, .n = n, .chunk = CHUNK };
    while (z.chunk < (n + PARTS - 1) / PARTS) z.chunk *= 2;
    const size_t parts = (n + z.chunk - 1) / z.chunk;
    team_run(tm, parts, task, &z);
    double sum = 0;
    for (size_t i = 0; i < parts; i++) sum += z.part[i];
    return sum;
}
