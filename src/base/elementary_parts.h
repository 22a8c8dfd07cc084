/* elementary_parts.h -- numbers in two parts, and the exponential made of them: for
 * elementary.c, and for loops that make many exponentials at a time (weights_fast.c).
 *
 * A number in two parts, hi + lo, stands for their exact sum; lo is far below
 * hi, so that the one rounding of hi + lo at the end is nearly all of the error.
 */
#ifndef ELEMENTARY_PARTS_H
#define ELEMENTARY_PARTS_H

#include <stdint.h>
#include <string.h>

typedef struct parts { double hi, lo; } parts;

/* ln 2 in two parts: the first has 42 bits, so that k times it is exact for
 * |k| < 2^11; the second is the rest, rounded. */
static const double LN2_HI = 0x1.62e42fefa38p-1, LN2_LO = 0x1.ef35793c7673p-45;
static const double PER_LN2 = 0x1.71547652b82fep+0;                     /* 1 / ln 2 */

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* a + b in two parts, exactly, where |a| >= |b| or a is 0 (Dekker). */
static inline parts sum_of(double a, double b)
{
    const double s = a + b;
    return (parts){ s, b - (s - a) };
}

/* x 2^k: in two steps, of which the first is exact, so that a subnormal result
 * is rounded once.  |k| < 2000. */
static inline double scale(double x, int k)
{
    const int half = k / 2;
    return x * of_bits((uint64_t)(half + 1023) << 52) * of_bits((uint64_t)(k - half + 1023) << 52);
}

/* e^x = (hi + lo) 2^k for |x| < 2^10, hi from 0.7 to 1.42.
 *
 * r = x - k ln 2 in two parts: the first difference is exact, since both sides
 * are multiples of 2^-54 and it is below 0.35.  Then the Taylor series to r^14
 * (what is left out is below 2^-62), odd and even powers apart, which halves the
 * chain of operations that wait for each other. */
static inline parts exp_parts(double x, int *k)
{
    const double shift = 0x1.8p52;              /* adding it rounds to a whole number */
    const double n = (x * PER_LN2 + shift) - shift;
    const double whole = x - n * LN2_HI, rest = n * LN2_LO;
    const double r = whole - rest, r_lo = (whole - r) - rest, q = r * r;
    const double even = 1.0 / 2 + q * (1.0 / 24 + q * (1.0 / 720 + q * (1.0 / 40320
                      + q * (1.0 / 3628800 + q * (1.0 / 479001600 + q * (1.0 / 87178291200))))));
    const double odd = 1.0 / 6 + q * (1.0 / 120 + q * (1.0 / 5040 + q * (1.0 / 362880
                     + q * (1.0 / 39916800 + q * (1.0 / 6227020800)))));
    const parts one_r = sum_of(1, r);
    *k = (int)n;
    return sum_of(one_r.hi, one_r.lo + (r_lo + q * (even + r * odd)));
}

#endif
