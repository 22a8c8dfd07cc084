/* layernorm_fast.c -- layer normalisation, a row at a time in vectors.
 *
 * Forward works with distances from the row's first number, d = x - x[0]:
 *
 *  avg  = sum_i d[i] / C,   mean = x[0] + avg                     (ln.mean)
 *  rstd = 1 / sqrt(sum_i (d[i] - avg)^2 / C + eps)                (ln.rstd)
 *  y[i] = w[i] (d[i] - avg) rstd + b[i]                              (ln.y)
 *
 * which is the definition by algebra.  Where all x are close to one large
 * number d is exact and small, while a mean rounded to float would already be
 * off by as much as the row's spread; a constant row has d = 0 and gives b
 * exactly.  The variance is a second pass over d, never avg(x^2) - mean^2.
 *
 * Backward: dw and db are sums over all rows.  The rows are cut into at most
 * PARTS chunks by N alone; each sums into its own partial dw, db in the team's
 * shared scratch, and the partials are then added in order, columns by tasks.
 */
#include <assert.h>
#include <math.h>
#include "kernels/fast.h"
#include "kernels/simd.h"

enum { ROWS = 32, PARTS = 64, COLUMNS = 128 };
static const float EPS = 1e-5f;                      /* GPT-2 */

typedef struct job {
    float *out, *mean, *rstd, *dx, *dw, *db, *part;
    const float *x, *w, *b, *dout, *row_mean, *row_rstd;
    size_t N, C, rows, parts, stride;    /* a partial sum takes `stride` floats */
} job;

static size_t left_of(size_t i, size_t n)
{
    return n - i < VEC_LANES ? n - i : VEC_LANES;
}

/* Loads `n` lanes, all of them in one instruction where it can. */
static inline vec load(const float *p, size_t n)
{
    return n == VEC_LANES ? vec_load(p) : vec_load_n(p, n);
}

static inline void store(float *p, vec a, size_t n)
{
    if (n == VEC_LANES) vec_store(p, a);
    else vec_store_n(p, a, n);
}

static void forward_row(const job *z, size_t n)
{
    const size_t C = z->C;
    const float *x = z->x + n * C, x0 = x[0];
    float *out = z->out + n * C;
    const vec first = vec_set1(x0);

    vec sum = vec_zero();
    for (size_t i = 0; i < C; i += VEC_LANES) {
        const size_t left = left_of(i, C);
        const vec d = vec_sub(load(x + i, left), first);
        sum = vec_add(sum, vec_select(vec_first(left), d, vec_zero()));
    }
    const float avg = vec_sum(sum) / (float)C;
    const vec a = vec_set1(avg);

    vec squares = vec_zero();
    for (size_t i = 0; i < C; i += VEC_LANES) {
        const size_t left = left_of(i, C);
        vec d = vec_sub(vec_sub(load(x + i, left), first), a);
        d = vec_select(vec_first(left), d, vec_zero());
        squares = vec_fma(d, d, squares);
    }
    const float rstd = 1 / sqrtf(vec_sum(squares) / (float)C + EPS);
    const vec r = vec_set1(rstd);

    for (size_t i = 0; i < C; i += VEC_LANES) {
        const size_t left = left_of(i, C);
        const vec d = vec_sub(vec_sub(load(x + i, left), first), a);
        store(out + i, vec_fma(load(z->w + i, left), vec_mul(d, r), load(z->b + i, left)), left);
    }
    z->mean[n] = x0 + avg;
    z->rstd[n] = rstd;
}

/* Adds into dx, and into the chunk's dw, db. */
static void backward_row(const job *z, size_t n, float *dw, float *db)
{
    const size_t C = z->C;
    const float *x = z->x + n * C, *dout = z->dout + n * C;
    float *dx = z->dx + n * C;
    const vec mean = vec_set1(z->row_mean[n]), rstd = vec_set1(z->row_rstd[n]);

    vec sum = vec_zero(), sum_xhat = vec_zero();
    for (size_t i = 0; i < C; i += VEC_LANES) {
        const size_t left = left_of(i, C);
        const vec dy = load(dout + i, left);             /* 0 beyond the row, where xhat is not */
        const vec xhat = vec_mul(vec_sub(load(x + i, left), mean), rstd);
        const vec dxhat = vec_mul(load(z->w + i, left), dy);
        sum = vec_add(sum, dxhat);
        sum_xhat = vec_fma(dxhat, xhat, sum_xhat);
        store(dw + i, vec_fma(dy, xhat, load(dw + i, left)), left);
        store(db + i, vec_add(load(db + i, left), dy), left);
    }
    const vec avg = vec_set1(vec_sum(sum) / (float)C);
    const vec avg_xhat = vec_set1(vec_sum(sum_xhat) / (float)C);

    for (size_t i = 0; i < C; i += VEC_LANES) {
        const size_t left = left_of(i, C);
        const vec xhat = vec_mul(vec_sub(load(x + i, left), mean), rstd);
        const vec dxhat = vec_mul(load(z->w + i, left), load(dout + i, left));
        const vec d = vec_fnma(xhat, avg_xhat, vec_sub(dxhat, avg));
        store(dx + i, vec_fma(rstd, d, load(dx + i, left)), left);
    }
}

static void forward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t end = z->N - i * ROWS < ROWS ? z->N : (i + 1) * ROWS;
    for (size_t n = i * ROWS; n < end; n++) forward_row(z, n);
}

static void backward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    float *dw = z->part + 2 * i * z->stride, *db = dw + z->stride;
    for (size_t c = 0; c < z->C; c++) dw[c] = db[c] = 0;
    const size_t begin = i * z->rows;
    const size_t end = z->N - begin < z->rows ? z->N : begin + z->rows;
    for (size_t n = begin; n < end; n++) backward_row(z, n, dw, db);
}

/* Adds the partial sums of COLUMNS columns, in order. */
static void collect_task(void *context, size_t i, int worker)
{
    const job *z = context;
    (void)worker;
    const size_t end = z->C - i * COLUMNS < COLUMNS ? z->C : (i + 1) * COLUMNS;
    for (size_t c = i * COLUMNS; c < end; c += VEC_LANES) {
        const size_t left = left_of(c, end);
        vec dw = load(z->dw + c, left), db = load(z->db + c, left);
        for (size_t p = 0; p < z->parts; p++) {
            const float *part = z->part + 2 * p * z->stride + c;
            dw = vec_add(dw, load(part, left));
            db = vec_add(db, load(part + z->stride, left));
        }
        store(z->dw + c, dw, left);
        store(z->db + c, db, left);
    }
}

/* Rows of a chunk: at least ROWS, and at most PARTS chunks. */
static size_t chunk_rows(size_t N)
{
    const size_t rows = (N + PARTS - 1) / PARTS;
    return rows < ROWS ? ROWS : rows;
}

static size_t padded(size_t C) { return (C + 15) / 16 * 16; }

void FAST(layernorm_scratch)(const ops_sizes *z, size_t *worker, size_t *shared)
{
    (void)worker;
    fast_raise(shared, 2 * PARTS * padded((size_t)z->C), sizeof(float));
}

void FAST(layernorm_forward)(team *tm, float *out, float *mean, float *rstd,
                             const float *x, const float *w, const float *b, int N, int C)
{
    job z = { .out = out, .mean = mean, .rstd = rstd, .x = x, .w = w, .b = b,
              .N = (size_t)N, .C = (size_t)C };
    team_run(tm, (z.N + ROWS - 1) / ROWS, forward_task, &z);
}

void FAST(layernorm_backward)(team *tm, float *dx, float *dw, float *db,
                              const float *dout, const float *x, const float *w,
                              const float *mean, const float *rstd, int N, int C)
{
    job z = { .dx = dx, .dw = dw, .db = db, .dout = dout, .x = x, .w = w, .row_mean = mean,
              .row_rstd = rstd, .N = (size_t)N, .C = (size_t)C, .part = team_shared(tm),
              .rows = chunk_rows((size_t)N), .stride = padded((size_t)C) };
    z.parts = (z.N + z.rows - 1) / z.rows;
    assert(2 * z.parts * z.stride * sizeof(float) <= team_shared_bytes(tm));
    team_run(tm, z.parts, backward_task, &z);
    team_run(tm, (z.C + COLUMNS - 1) / COLUMNS, collect_task, &z);
}
