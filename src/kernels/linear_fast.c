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
 */
#include "kernels/gemm_fast.h"

static void run_one(void *context, size_t i, int worker)
{
    (void)worker;
    FAST(gemm_task)(context, i);
}

void FAST(linear_forward)(team *t, float *out, const float *x, const float *w,
                          const float *bias, int N, int C, int OC)
{
    const size_t rows = (size_t)N, in = (size_t)C, to = (size_t)OC;
    gemm y = {
        .m = rows, .n = to, .k = in, .c = out, .c_row = to,
        .a = x, .a_row = in, .a_step = 1, .b = w, .b_row = to, .b_step = 1, .start = bias,
    };
    team_run(t, FAST(gemm_tasks)(&y), run_one, &y);
}

/* The two products of backward, as one launch: dW's tasks are the longer ones
 * and come first. */
typedef struct both { gemm dw, dx; size_t dw_tasks; } both;

static void run_both(void *context, size_t i, int worker)
{
    const both *g = context;
    (void)worker;
    if (i < g->dw_tasks) FAST(gemm_task)(&g->dw, i);
    else                 FAST(gemm_task)(&g->dx, i - g->dw_tasks);
}

void FAST(linear_backward)(team *t, float *dx, float *dw, float *dbias,
                           const float *dout, const float *x, const float *w,
                           int N, int C, int OC)
{
    const size_t rows = (size_t)N, in = (size_t)C, to = (size_t)OC;
    both g = {
        .dw = { .m = in, .n = to, .k = rows, .c = dw, .c_row = to, .add = true,
                .a = x, .a_row = 1, .a_step = in, .b = dout, .b_row = to, .b_step = 1,
                .sums = dbias },
        .dx = { .m = rows, .n = in, .k = to, .c = dx, .c_row = in, .add = true,
                .a = dout, .a_row = to, .a_step = 1, .b = w, .b_row = 1, .b_step = to },
    };
    g.dw_tasks = FAST(gemm_tasks)(&g.dw);
    team_run(t, g.dw_tasks + FAST(gemm_tasks)(&g.dx), run_both, &g);
}
