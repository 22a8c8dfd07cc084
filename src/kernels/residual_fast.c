/* residual_fast.c -- y = a + b in vectors.
 *
 * The same roundings as residual.c, hence the same bits.  Memory is the limit:
 * chunks of 16384 numbers (64 KiB each way) are tasks.
 */
#include "kernels/fast.h"
#include "kernels/simd.h"

enum { CHUNK = 16384 };

typedef struct job { float *y, *y2; const float *a, *b; size_t n; } job;

static size_t chunk_end(size_t i, size_t n)
{
    return n - i * CHUNK < CHUNK ? n : (i + 1) * CHUNK;
}

static void forward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t end = chunk_end(i, z->n);
    size_t j = i * CHUNK;
    for (; j + VEC_LANES <= end; j += VEC_LANES)
        vec_store(z->y + j, vec_add(vec_load(z->a + j), vec_load(z->b + j)));
    for (; j < end; j++) z->y[j] = z->a[j] + z->b[j];
}

/* Where da and db are one tensor both additions must count: no copy of it may
 * be kept over the first store. */
static void backward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t end = chunk_end(i, z->n);
    size_t j = i * CHUNK;
    for (; j + VEC_LANES <= end; j += VEC_LANES) {
        const vec d = vec_load(z->a + j);
        vec_store(z->y + j, vec_add(vec_load(z->y + j), d));
        vec_store(z->y2 + j, vec_add(vec_load(z->y2 + j), d));
    }
    for (; j < end; j++) {
        z->y[j] += z->a[j];
        z->y2[j] += z->a[j];
    }
}

void FAST(residual_forward)(team *tm, float *out, const float *a, const float *b, size_t n)
{
    job z = { .y = out, .a = a, .b = b, .n = n };
    team_run(tm, (n + CHUNK - 1) / CHUNK, forward_task, &z);
}

void FAST(residual_backward)(team *tm, float *da, float *db, const float *dout, size_t n)
{
    job z = { .y = da, .y2 = db, .a = dout, .n = n };
    team_run(tm, (n + CHUNK - 1) / CHUNK, backward_task, &z);
}
