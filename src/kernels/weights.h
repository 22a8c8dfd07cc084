/* weights.h -- what the weights of a row of logits come to, by their size.
 *
 * A positive double's bits, read as a whole number, rise with it: so the ranges are equal
 * pieces of that number, from 1 downwards, about even pieces of the logits.  All that is
 * below the last is in the last.
 */
#ifndef WEIGHTS_H
#define WEIGHTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WEIGHT_RANGES = 512 };

/* Weights of one range: their sum, and how many. */
typedef struct weight_range {
    double mass;
    size_t count;
} weight_range;

/* The range of 0 <= w <= 1, each 2^shift of the bits; WEIGHT_RANGES where w is 0. */
static inline uint64_t weight_range_of(double w, int shift)
{
    uint64_t bits;
    memcpy(&bits, &w, sizeof bits);
    const uint64_t i = (((uint64_t)1023 << 52) - bits) >> shift;
    const uint64_t in = i < WEIGHT_RANGES ? i : WEIGHT_RANGES - 1;
    return w > 0 ? in : WEIGHT_RANGES;
}

#endif
