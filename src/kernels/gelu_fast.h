/* gelu_fast.h -- GELU of a vector and its slope, its tanh as a logistic function: of
 * gelu_fast.c, and of the products that hand their result to it (gemm_fast.c).
 *
 * With g = (1 + tanh z) / 2 = 1 / (1 + e^-2z):
 *
 *  gelu(x)  = x g
 *  gelu'(x) = g + x 2 g (1 - g) z'(x)
 *
 * since (1 - tanh^2 z) / 2 = 2 g (1 - g).  The definition's 1 + tanh z loses
 * all digits where z is far below 0; g and 1 - g both keep theirs, so gelu(x) is
 * accurate to a few ulp times (1 + |z|) everywhere.
 *
 * In the slope's second term x is cut to [-16, 16], where g (1 - g) < 1e-138 is 0 in
 * float on either side: x^2 cannot overflow and make 0 times Inf.
 */
#ifndef GELU_FAST_H
#define GELU_FAST_H

#include "kernels/simd.h"
#include "kernels/simd_math.h"

static const float GELU_2K = 1.59576912160573071176f;     /* 2 sqrt(2/pi) */
static const float GELU_A  = 0.044715f;

/* g; 1 - g into *rest. */
VEC_INLINE vec gelu_gate(vec x, vec *rest)
{
    const vec x2 = vec_mul(x, x);
    const vec z2 = vec_mul(vec_mul(vec_set1(GELU_2K), x),
                           vec_fma(vec_set1(GELU_A), x2, vec_set1(1)));
    return vec_logistic(z2, rest);
}

VEC_INLINE vec gelu_value(vec x)
{
    vec rest;
    return vec_mul(x, gelu_gate(x, &rest));
}

VEC_INLINE vec gelu_slope(vec x)
{
    const vec c = vec_max(vec_set1(-16), vec_min(vec_set1(16), x));  /* NaN passes */
    vec rest;
    const vec g = gelu_gate(c, &rest);
    /* 2 z'(c) */
    const vec dz2 = vec_mul(vec_set1(GELU_2K), vec_fma(vec_set1(3 * GELU_A), vec_mul(c, c), vec_set1(1)));
    return vec_fma(vec_mul(c, dz2), vec_mul(g, rest), g);
}

#endif
