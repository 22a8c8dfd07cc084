/* linear_fast.c -- y = x W + b by blocked matrix products.
 *
 *  forward    y   =  b + x W       (N, C) (C, OC)
 *  backward   dx  += dy W^T        (N, OC) (OC, C)
 *             dW  += x^T dy        (C, N) (N, OC)
 *             db  += column sums of dy, on the way of dW's product, which
 *                    reads every row of dy
 *
 * A transposed matrix is the same memory with its two strides exchanged.  Each
 * sum is taken in the order in which linear.c takes it (see gemm_fast.c); only
 * the rounding of the product differs, which is fused with the sum.
 *
 * What follows a product at once is done to each tile of it while it is in the
 * cache, with the same roundings as by a kernel of its own:
 *
 *  linear_gelu_forward        out = gelu(y)
 *  linear_residual_forward    out = a + y
 *  linear_set_backward        dx  = (dy W^T) gelu'(pre): set, not added to
 *
 * tied: W is (OC, C), the embedding, whose rows are the head's columns.
 */
#include "kernels/gemm_fast.h"

/* A launch: one product, or the two of backward.  dW's tasks are the longer ones
 * and come first. */
typedef struct products { const gemm *first, *second; size_t tasks; team *crew; } products;

static void run_task(void *context, size_t i, int worker)
{
    const products *p = context;
    const bool fits = team_scratch_bytes(p->crew) >= FAST(gemm_room)() * sizeof(float);
    float *room = fits ? team_scratch(p->crew, worker) : NULL;
    if (i < p->tasks) FAST(gemm_task)(p->first, i, room);
    else              FAST(gemm_task)(p->second, i - p->tasks, room);
}

void FAST(linear_scratch)(const ops_sizes *z, size_t *worker, size_t *shared)
{
    (void)z, (void)shared;
    fast_raise(worker, FAST(gemm_room)(), sizeof(float));
}

static void run_one(team *t, gemm *g)
{
    products p = { .first = g, .tasks = FAST(gemm_tasks)(g), .crew = t };
    team_run(t, p.tasks, run_task, &p);
}

static void run_both(team *t, gemm *dw, gemm *dx)
{
    products p = { .first = dw, .second = dx, .tasks = FAST(gemm_tasks)(dw), .crew = t };
    team_run(t, p.tasks + FAST(gemm_tasks)(dx), run_task, &p);
}

/* y = start + x W. */
static gemm product(float *y, const float *x, const float *w, const float *start, int N, int C,
                    int OC)
{
    const size_t rows = (size_t)N, in = (size_t)C, to = (size_t)OC;
    return (gemm){ .m = rows, .n = to, .k = in, .c = y, .c_row = to, .a = x, .a_row = in,
                   .a_step = 1, .b = w, .b_row = to, .b_step = 1, .start = start };
}

/* dW += x^T dy. */
static gemm weights_gradient(float *dw, float *dbias, const float *dout, const float *x, int N,
                             int C, int OC)
{
    const size_t rows = (size_t)N, in = (size_t)C, to = (size_t)OC;
    return (gemm){ .m = in, .n = to, .k = rows, .c = dw, .c_row = to, .add = true, .a = x,
                   .a_row = 1, .a_step = in, .b = dout, .b_row = to, .b_step = 1,
                   .sums = dbias };
}

/* y = x W^T, W (OC, C) by rows. */
static gemm turned_product(float *y, const float *x, const float *w, int N, int C, int OC)
{
    const size_t rows = (size_t)N, in = (size_t)C, to = (size_t)OC;
    return (gemm){ .m = rows, .n = to, .k = in, .c = y, .c_row = to, .a = x, .a_row = in,
                   .a_step = 1, .b = w, .b_row = 1, .b_step = in };
}

void FAST(linear_forward)(team *t, float *out, const float *x, const float *w,
                          const float *bias, int N, int C, int OC)
{
    gemm y = product(out, x, w, bias, N, C, OC);
    run_one(t, &y);
}

void FAST(linear_gelu_forward)(team *t, float *out, float *y, const float *x, const float *w,
                               const float *bias, int N, int C, int OC)
{
    gemm g = product(y, x, w, bias, N, C, OC);
    g.gelu = out;
    if (!FAST_BACKWARD) {               /* a page's module joins nothing: it is small */
        run_one(t, &g);
        FAST(gelu_forward)(t, out, y, (size_t)N * (size_t)OC);
        return;
    }
    run_one(t, &g);
}

void FAST(linear_residual_forward)(team *t, float *out, const float *a, const float *x,
                                   const float *w, const float *bias, int N, int C, int OC)
{
    gemm g = product(out, x, w, bias, N, C, OC);
    g.plus = a;
    if (!FAST_BACKWARD) {
        run_one(t, &g);
        FAST(residual_forward)(t, out, a, out, (size_t)N * (size_t)OC);
        return;
    }
    run_one(t, &g);
}

void FAST(linear_backward)(team *t, float *dx, float *dw, float *dbias,
                           const float *dout, const float *x, const float *w,
                           int N, int C, int OC)
{
    gemm to_w = weights_gradient(dw, dbias, dout, x, N, C, OC);
    gemm to_x = turned_product(dx, dout, w, N, OC, C);
    to_x.add = true;
    run_both(t, &to_w, &to_x);
}

void FAST(linear_set_backward)(team *t, float *dx, float *dw, float *dbias, const float *dout,
                               const float *x, const float *w, const float *pre,
                               int N, int C, int OC)
{
    gemm to_w = weights_gradient(dw, dbias, dout, x, N, C, OC);
    gemm to_x = turned_product(dx, dout, w, N, OC, C);
    to_x.slope_at = pre;
    run_both(t, &to_w, &to_x);
}

void FAST(tied_forward)(team *t, float *out, const float *x, const float *w, int N, int C, int OC)
{
    gemm y = turned_product(out, x, w, N, C, OC);
    run_one(t, &y);
}

void FAST(tied_set_backward)(team *t, float *dx, float *dw, const float *dout, const float *x,
                             const float *w, int N, int C, int OC)
{
    gemm to_w = weights_gradient(dw, NULL, x, dout, N, OC, C);
    gemm to_x = product(dx, dout, w, NULL, N, OC, C);
    run_both(t, &to_w, &to_x);
}
