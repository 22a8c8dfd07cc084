/* specimen_gelu.c -- GELU's tanh form, twice: with tanh, four numbers at a time, and as
 * x sigmoid(2 z), which is the same since (1 + tanh z) / 2 = sigmoid(2 z).
 *
 *     y = x (1 + tanh z) / 2,   z = k (x + 0.044715 x^3),   k = sqrt(2/pi)
 */
#include "verify/selftest/specimens/real.h"

static const real K = (real)0.79788456080286535588, CUBE = (real)0.044715;

/* Also the forms that some take for it: erf's, and x sigmoid(1.702 x). */
static real value(real x, int fault)
{
    if (fault == BUG_gelu_erf_both) return x * (1 + erf(x * (real)0.70710678118654752440)) / 2;
    if (fault == BUG_gelu_quick) return x / (1 + exp((real)-1.702 * x));
    return x * (1 + tanh(K * (x + CUBE * x * x * x))) / 2;
}

static real derivative(real x, int fault)
{
    if (fault == BUG_gelu_erf_backward || fault == BUG_gelu_erf_both)
        return (1 + erf(x * (real)0.70710678118654752440)) / 2
               + x * exp(-x * x / 2) * (real)0.39894228040143267794;
    if (fault == BUG_gelu_quick) {
        const real s = 1 / (1 + exp((real)-1.702 * x));
        return s + (real)1.702 * x * s * (1 - s);
    }
    const real k = fault == BUG_gelu_k_short ? (real)0.798 : K;
    const real th = tanh(k * (x + CUBE * x * x * x));
    const real dz = k * (1 + (fault == BUG_gelu_no_three ? 1 : 3) * CUBE * x * x);
    const real sech2 = fault == BUG_gelu_not_squared ? 1 - th : 1 - th * th;
    if (fault == BUG_gelu_one_term) return (1 + th) / 2;
    if (fault == BUG_gelu_no_half) return 1 + th + x * sech2 * dz;
    return (1 + th) / 2 + x * sech2 * dz / 2;
}

int SPECIMEN(gelu_tanh)(const vt_kernel_call *c, int fault)
{
    const real *x = c->in[VT_GELU_X];
    if (c->pass == VT_KERNEL_FORWARD) {
        real *y = c->out[0];
        for (size_t i = 0; i < c->N; i++) y[i] = value(x[i], fault);
        return 0;
    }
    const real *dy = c->dout[0];
    real *dx = c->din[VT_GELU_X];
    size_t i = 0;
    for (; i + 4 <= c->N; i += 4)
        for (size_t j = i; j < i + 4; j++) dx[j] += dy[j] * derivative(x[j], fault);
    if (fault == BUG_gelu_tail_dropped) return 0;
    for (; i < c->N; i++) dx[i] += dy[i] * derivative(x[i], fault);
    return 0;
}

int SPECIMEN(gelu_sigmoid)(const vt_kernel_call *c, int fault)
{
    const real *x = c->in[VT_GELU_X];
    for (size_t i = 0; i < c->N; i++) {
        const real s = 1 / (1 + exp(-2 * K * (x[i] + CUBE * x[i] * x[i] * x[i])));
        if (c->pass == VT_KERNEL_FORWARD) { ((real *)c->out[0])[i] = x[i] * s; continue; }
        real *dx = (real *)c->din[VT_GELU_X] + i, slope = 2 * K * (1 + 3 * CUBE * x[i] * x[i]);
        if (fault == BUG_gelu_sigmoid_no_two) slope /= 2;
        const real d = ((const real *)c->dout[0])[i] * (s + x[i] * s * (1 - s) * slope);
        *dx = fault == BUG_gelu_sigmoid_assigned ? d : *dx + d;
    }
    return 0;
}
