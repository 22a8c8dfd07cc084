/* simd_math.h -- exp and 2^x of a vector, and the logistic function made from exp.
 *
 *  e^x = 2^n e^r,  n = round(x / ln 2),  r = x - n ln 2,  |r| <= ln 2 / 2
 *  e^r = 1 + (r + r^2 q(r)),  q of degree 4
 *
 * ln 2 is taken in two parts, the first of 9 bits, so that n times it is exact
 * (Cody and Waite 1980); q is the minimax polynomial for the relative error of
 * e^r, made by Lawson's iteration with its coefficients rounded to float one
 * after the other: 0.027 ulp.  vec_exp() is within 1.02 ulp of e^x on every
 * instruction set (a result below 2^-126: 1.02 units of 2^-149); e^-inf is 0,
 * e^inf and all above 88.7228 is inf, NaN stays NaN (test_simd_math.c).
 *
 *  2^x = 2^n 2^r,  n = round(x),  r = x - n (exact),  |r| <= 1/2
 *  2^r = 1 + r q(r),  q of degree 5, made like the other: 0.05 u
 *
 * costs less where a factor log2 e can be put into x beforehand.  vec_exp2() is
 * within 1.12 ulp of 2^x for x < 128, which is the caller's care: half an ulp for the
 * last sum, a quarter each for r q (where it is rounded) and for q, which r halves, the
 * rest for what is before (a result below 2^-126: 1.12 units of 2^-149); 2^-inf is
 * 0, NaN stays NaN.
 *
 * There is no tanh: the one user, GELU, needs (1 + tanh z) / 2, which is
 * vec_logistic(2 z), and near -1 the sum would have lost what tanh had.
 */
#ifndef SIMD_MATH_H
#define SIMD_MATH_H

#include "kernels/simd.h"

VEC_INLINE vec vec_exp(vec x)
{
    /* Beyond these e^x is 0 and inf in float.  The order of the arguments lets
     * a NaN through to r, but not to n, which becomes an exponent. */
    x = vec_max(vec_set1(-104.0f), vec_min(vec_set1(89.0f), x));
    const vec n = vec_round(vec_min(vec_mul(x, vec_set1(0x1.715476p+0f)), vec_set1(129.0f)));
    const vec r = vec_fnma(n, vec_set1(-0x1.bd0106p-13f),
                           vec_fnma(n, vec_set1(0x1.63p-1f), x));
    vec q = vec_set1(0x1.6a4e96p-10f);
    q = vec_fma(q, r, vec_set1(0x1.12399ap-7f));
    q = vec_fma(q, r, vec_set1(0x1.5558b0p-5f));
    q = vec_fma(q, r, vec_set1(0x1.555492p-3f));
    q = vec_fma(q, r, vec_set1(0x1.fffffcp-2f));
    const vec p = vec_add(vec_fma(vec_mul(r, r), q, r), vec_set1(1));
    return vec_scale2(p, n);
}

VEC_INLINE vec vec_exp2(vec x)
{
    x = vec_max(vec_set1(-151.0f), x);                  /* lets a NaN through */
    const vec n = vec_round(x), r = vec_sub(x, n);
    vec q = vec_set1(0x1.417ca6p-13f);
    q = vec_fma(q, r, vec_set1(0x1.5f0946p-10f));
    q = vec_fma(q, r, vec_set1(0x1.3b2dd0p-7f));
    q = vec_fma(q, r, vec_set1(0x1.c6af7ap-5f));
    q = vec_fma(q, r, vec_set1(0x1.ebfbdcp-3f));
    q = vec_fma(q, r, vec_set1(0x1.62e430p-1f));
    return vec_scale2(vec_fma(q, r, vec_set1(1)), n);
}

/* 1 / (1 + e^-x), and 1 minus that as accurately into *rest: within 6 u of
 * themselves where e^-|x| is normal, u = 2^-24. */
VEC_INLINE vec vec_logistic(vec x, vec *rest)
{
    const vec e = vec_exp(vec_neg(vec_abs(x)));         /* 0 < e <= 1 */
    const vec large = vec_div(vec_set1(1), vec_add(vec_set1(1), e));
    const vec small = vec_mul(e, large);
    const vmask negative = vec_lt(x, vec_zero());
    *rest = vec_select(negative, large, small);
    return vec_select(negative, small, large);
}

#endif
