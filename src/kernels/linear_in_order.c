/* linear_in_order.c -- the definition of y = x W + b with the same bits, sooner.
 *
 *  y[n,o]   = b[o] + sum_i x[n,i] W[i,o]
 *  dx[n,i] += sum_o dy[n,o] W[i,o]
 *  dW[i,o] += sum_n x[n,i] dy[n,o]
 *
 * Each number is the sum that linear.c writes down, its terms in the same order, so that
 * no bit differs; only which number is worked on when is another.  The definition adds
 * the terms of one number in one chain, each sum waiting for the last.  Here LANES or
 * COLUMNS chains go on together, each still in its own order: a compiler may make them
 * vectors, since `restrict` says that nothing overlaps, and the processor does not wait.
 * Blocks of ROWS rows read W once.
 *
 * A check runs the definitions thousands of times, of which this is nearly all.
 * test_linear_in_order.c compares the bits, of each scalar.
 */
#include "ref.h"

enum { ROWS = 16, COLUMNS = 64, LANES = 8 };

static int least(int a, int b) { return a < b ? a : b; }

/* y += s x */
static void add_scaled(scalar *restrict y, scalar s, const scalar *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] += s * x[i];
}

void REF(in_order_linear_forward)(scalar *out, const scalar *x, const scalar *w,
                                  const scalar *bias, int N, int C, int OC)
{
    const size_t c = (size_t)C, oc = (size_t)OC;
    for (int n0 = 0; n0 < N; n0 += ROWS)
    for (int o0 = 0; o0 < OC; o0 += COLUMNS) {
        const size_t rows = (size_t)least(N - n0, ROWS), columns = (size_t)least(OC - o0, COLUMNS);
        scalar *y = out + (size_t)n0 * oc + (size_t)o0;
        for (size_t n = 0; n < rows; n++)
        for (size_t o = 0; o < columns; o++) y[n * oc + o] = bias ? bias[(size_t)o0 + o] : 0;
        for (size_t i = 0; i < c; i++)
        for (size_t n = 0; n < rows; n++)
            add_scaled(y + n * oc, x[((size_t)n0 + n) * c + i], w + i * oc + (size_t)o0, columns);
    }
}

/* dx[n,i] of LANES neighbouring i: rows of W, side by side. */
static void add_lanes(scalar *restrict dx, const scalar *restrict dout, const scalar *restrict w,
                      size_t oc)
{
    scalar sum[LANES];
    for (int k = 0; k < LANES; k++) sum[k] = dx[k];
    for (size_t o = 0; o < oc; o++)
        for (size_t k = 0; k < LANES; k++) sum[k] += dout[o] * w[k * oc + o];
    for (int k = 0; k < LANES; k++) dx[k] = sum[k];
}

static void add_inputs(scalar *dx, const scalar *dout, const scalar *w, size_t rows, size_t c,
                       size_t oc)
{
    const size_t whole = c / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
    for (size_t n = 0; n < rows; n++)
        add_lanes(dx + n * c + i, dout + n * oc, w + i * oc, oc);
    for (size_t n = 0; n < rows; n++)
    for (size_t i = whole; i < c; i++)
        for (size_t o = 0; o < oc; o++) dx[n * c + i] += dout[n * oc + o] * w[i * oc + o];
}

void REF(in_order_linear_backward)(scalar *dx, scalar *dw, scalar *dbias,
                                   const scalar *dout, const scalar *x, const scalar *w,
                                   int N, int C, int OC)
{
    const size_t c = (size_t)C, oc = (size_t)OC;
    for (int n0 = 0; n0 < N; n0 += ROWS) {
        const size_t rows = (size_t)least(N - n0, ROWS), first = (size_t)n0;
        add_inputs(dx + first * c, dout + first * oc, w, rows, c, oc);
        for (size_t i = 0; i < c; i++)
        for (size_t n = first; n < first + rows; n++)
            add_scaled(dw + i * oc, x[n * c + i], dout + n * oc, oc);
        for (size_t n = first; dbias && n < first + rows; n++)
        for (size_t o = 0; o < oc; o++) dbias[o] += dout[n * oc + o];
    }
}
