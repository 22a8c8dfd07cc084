/* elementary.h -- exp, log, tanh and integer powers: the same bits everywhere.
 *
 * IEEE 754 fixes the results of + - * / and sqrt; it leaves those of exp, log
 * and tanh to the C library, and glibc's differ between processors (with and
 * without fused multiply-add) and from WebAssembly's.  These are made of
 * + - * / and of whole numbers alone, in a fixed order, so each result follows
 * from this text: the definitions compute the same bits with any compiler, on
 * any processor, and in a browser.  They need round-to-nearest and a compiler
 * that neither contracts a * b + c nor reorders (-ffp-contract=off, no
 * -ffast-math).
 *
 *     e^x     = 2^k e^r,       k = round(x / ln 2), r = x - k ln 2          (elem.exp)
 *     log x   = k ln 2 + log(1 + f),   x = 2^k (1 + f), |f| <= sqrt(2) - 1  (elem.log)
 *     tanh x  = 1 - 2 / (e^(2x) + 1), near 0 Lambert's continued fraction   (elem.tanh)
 *     x^n     by repeated squaring, in pairs of doubles                   (elem.power)
 *
 * Each double result is within 1 ulp of the exact one (test_elementary.c
 * compares with MPFR), subnormal results too; power() within 1 ulp where it
 * neither overflows nor underflows on the way.  Special cases are C's annex F:
 *
 *     exp: -Inf -> 0, Inf -> Inf          log: +-0 -> -Inf, x < 0 -> NaN, 1 -> +0
 *     tanh: +-0 -> +-0, +-Inf -> +-1      all: NaN -> NaN
 *
 * errno and the exception flags are left as they fall.
 *
 * float: the double result, rounded.  A complex number x + iy is read as a
 * point beside the real axis: where |y| is below 2^-28 (for log and sqrt: times
 * x) the first terms of the series in y are exact to less than an ulp,
 *
 *     f(x + iy) = f(x) + i y f'(x)
 *
 * and f'(x) is computed by itself, without cancellation: a complex step h of
 * 1e-30 gives a derivative as good as f' in double.  Further from the axis the
 * functions are the C library's (or are made with its sin and cos), and their
 * last bits differ between libraries.
 *
 * There are no sin, cos or fractional powers here.
 *
 * References: W. J. Cody, W. Waite, Software Manual for the Elementary
 * Functions, 1980, chapter 6 (reduction by two parts of ln 2); T. J. Dekker, A
 * floating-point technique for extending the available precision, Numerische
 * Mathematik 18 (1971), section 5 (sums and products in two parts); J. H.
 * Lambert, Memoire sur quelques proprietes remarquables, 1768, section 7
 * (tanh); J.-M. Muller, Elementary Functions, 2016, section 11.
 */
#ifndef ELEMENTARY_H
#define ELEMENTARY_H

double exp_f64(double x);
double log_f64(double x);
double tanh_f64(double x);
double power_f64(double x, int n);      /* n >= 0; x^0 = 1 */

float  exp_f32(float x);
float  log_f32(float x);
float  tanh_f32(float x);
float  power_f32(float x, int n);

double _Complex exp_c128(double _Complex z);
double _Complex log_c128(double _Complex z);
double _Complex tanh_c128(double _Complex z);
double _Complex sqrt_c128(double _Complex z);
double _Complex power_c128(double _Complex z, int n);

#endif
