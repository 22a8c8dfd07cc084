/* elementary.c -- see elementary.h: real numbers. */
#include "base/elementary.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include "base/elementary_parts.h"

/* The upper 26 bits of x: a product of two such is exact. */
static double upper(double x) { return of_bits(bits_of(x) & ~UINT64_C(0x7ffffff)); }

double exp_f64(double x)
{
    if (!(fabs(x) < 746)) return x > 0 ? (double)INFINITY : x < 0 ? 0 : x;   /* or NaN */
    int k;
    const parts e = exp_parts(x, &k);
    return scale(e.hi, k);                                              /* elem.exp */
}

/* log(1 + f) = 2 atanh(s), s = f / (2 + f)
 *            = f - f^2/2 + s (f^2/2 + 2 (s^2/3 + s^4/5 + ...)),  |s| < 0.172
 *
 * The terms k ln 2, f and f^2/2 are the large ones: their sum is kept in parts,
 * f^2/2 as the square of f's upper bits, exact, and the rest.  The series stops
 * before s^22, 2^-60 of the sum. */
double log_f64(double x)
{
    if (!(x > 0)) return x == 0 ? -(double)INFINITY : (double)NAN;
    if (x > DBL_MAX) return x;
    int k = -1023;
    if (x < DBL_MIN) x *= 0x1p54, k -= 54;
    const uint64_t bits = bits_of(x), mantissa = bits & ((UINT64_C(1) << 52) - 1);
    const int high = mantissa > UINT64_C(0x6a09e667f3bcd);              /* above sqrt(2) */
    k += (int)(bits >> 52) + high;
    const double f = of_bits(mantissa | (uint64_t)(1023 - high) << 52) - 1;     /* exact */
    const double s = f / (2 + f), q = s * s, w = q * q;
    const double series = q * (2.0 / 3 + w * (2.0 / 7 + w * (2.0 / 11 + w * (2.0 / 15
                        + w * (2.0 / 19))))) + w * (2.0 / 5 + w * (2.0 / 9 + w * (2.0 / 13
                        + w * (2.0 / 17 + w * (2.0 / 21)))));
    const double f_hi = upper(f), half_hi = f_hi * f_hi / 2, half_lo = (f - f_hi) * (f + f_hi) / 2;
    const parts a = sum_of(k * LN2_HI, f), b = sum_of(a.hi, -half_hi);
    const double low = a.lo + b.lo + (k * LN2_LO - half_lo);
    return b.hi + (low + s * (half_hi + half_lo + series));             /* elem.log */
}

/* tanh a = a / (1 + a^2/(3 + a^2/(5 + a^2/(7 + ...)))), its ninth convergent,
 * for 0 <= a <= 0.55: 2^-60 off.  The difference from a is what is computed, so
 * that its rounding errors count a tenth of their size. */
static double tanh_near_0(double a)
{
    const double q = a * a;
    const double less = q * (11486475 + q * (810810 + q * (12870 + q * 44)));
    const double below = 34459425 + q * (16216200 + q * (945945 + q * (13860 + q * 45)));
    return a - a * (less / below);
}

/* 1 - 2 e / (1 + e), e = e^(-2a), for 0.55 < a: at most half is taken away. */
static double tanh_far(double a)
{
    int k;
    const parts e = exp_parts(-2 * a, &k);
    const double e_hi = scale(e.hi, k), e_lo = scale(e.lo, k);
    const parts below = sum_of(1, e_hi);
    const double quotient = 2 * e_hi / below.hi;
    const double correction = (2 * e_lo - quotient * (below.lo + e_lo)) / below.hi;
    const parts t = sum_of(1, -quotient);
    return t.hi + (t.lo - correction);
}

double tanh_f64(double x)
{
    const double a = fabs(x);
    double t = 1;                               /* beyond 22 the rest is below 2^-60 */
    if (a <= 0.55) t = tanh_near_0(a);
    else if (a <= 22) t = tanh_far(a);
    else if (!(a > 22)) return x;               /* NaN */
    return copysign(t, x);                                              /* elem.tanh */
}

/* (a.hi + a.lo) (b.hi + b.lo), 2^-100 off: the upper product's rounding error
 * from the halves of its factors (Dekker), then the products across. */
static parts product_of(parts a, parts b)
{
    const double p = a.hi * b.hi;
    if (!isfinite(p)) return (parts){ p, 0 };
    const double a_up = upper(a.hi), a_low = a.hi - a_up, b_up = upper(b.hi), b_low = b.hi - b_up;
    const double error = ((a_up * b_up - p) + a_up * b_low + a_low * b_up) + a_low * b_low;
    return sum_of(p, error + (a.hi * b.lo + a.lo * b.hi));
}

double power_f64(double x, int n)
{
    assert(n >= 0);
    parts power = { 1, 0 }, square = { x, 0 };
    for (; n > 0; n >>= 1) {
        if (n & 1) power = product_of(power, square);
        if (n > 1) square = product_of(square, square);
    }
    return power.hi;                                                    /* elem.power */
}

/* The double result is within 2^-53 of itself, so that a float is wrong by half
 * an ulp and 2^-29 at most. */
float exp_f32(float x)          { return (float)exp_f64((double)x); }
float log_f32(float x)          { return (float)log_f64((double)x); }
float tanh_f32(float x)         { return (float)tanh_f64((double)x); }
float power_f32(float x, int n) { return (float)power_f64((double)x, n); }
