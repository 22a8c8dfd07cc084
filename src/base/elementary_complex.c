/* elementary_complex.c -- see elementary.h: complex numbers beside the real axis.
 *
 * With y below 2^-28 the next terms of each series are y^2 < 2^-56 of the ones
 * that are taken.
 */
#include "base/elementary.h"
#include <assert.h>
#include <complex.h>
#include <math.h>
#include <string.h>

static const double BESIDE = 0x1p-28;

/* C11 lays a complex number out as an array of two; I * im would multiply by 0. */
static double _Complex complex_of(double re, double im)
{
    const double two[2] = { re, im };
    double _Complex z;
    memcpy(&z, two, sizeof z);
    return z;
}

/* e^x (cos y + i sin y) = e^x (1 + i y) */
double _Complex exp_c128(double _Complex z)
{
    const double e = exp_f64(creal(z)), y = cimag(z);
    if (fabs(y) < BESIDE) return complex_of(e, e * y);
    return complex_of(e * cos(y), e * sin(y));
}

/* log |z| + i atan(y / x) = log x + t^2 / 2 + i t, t = y / x; the square counts
 * where x is about 1 and log x about 0. */
double _Complex log_c128(double _Complex z)
{
    const double x = creal(z), y = cimag(z);
    if (!(fabs(y) < BESIDE * x)) return clog(z);
    const double t = y / x;
    return complex_of(log_f64(x) + t * t / 2, t);
}

/* tanh x + i y (1 - tanh^2 x).  Where tanh x is near 1 the difference would be
 * rounding: 1 - tanh^2 x = 4 e / (1 + e)^2, e = e^(-2 |x|). */
double _Complex tanh_c128(double _Complex z)
{
    const double x = creal(z), y = cimag(z);
    if (!(fabs(y) < BESIDE)) return ctanh(z);
    const double e = exp_f64(-2 * fabs(x));
    return complex_of(tanh_f64(x), y * (4 * e / ((1 + e) * (1 + e))));
}

/* sqrt(x) + i y / (2 sqrt(x)) */
double _Complex sqrt_c128(double _Complex z)
{
    const double x = creal(z), y = cimag(z);
    if (!(fabs(y) < BESIDE * x)) return csqrt(z);
    const double root = sqrt(x);
    return complex_of(root, y / (2 * root));
}

/* x^n + i y n x^(n-1), where n y is tiny beside x; else by squaring. */
double _Complex power_c128(double _Complex z, int n)
{
    assert(n >= 0);
    const double x = creal(z), y = cimag(z);
    if (n > 0 && fabs(y) * n < BESIDE * fabs(x))
        return complex_of(power_f64(x, n), y * (n * power_f64(x, n - 1)));
    double _Complex power = 1;
    for (; n > 0; n >>= 1) {
        if (n & 1) power *= z;
        if (n > 1) z *= z;
    }
    return power;
}
