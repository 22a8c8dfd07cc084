/* rng.h -- NumPy's default_rng, bit for bit: SeedSequence, PCG64, ziggurat
 * normals, Lemire's bounded integers.
 *
 * Streams: stream(seed, id, n) = default_rng([seed, id, n]).
 */
#ifndef RNG_H
#define RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rng {
    uint64_t state[2], inc[2];      /* low half first */
    bool     has_half;              /* a 32-bit half is buffered */
    uint32_t half;
} rng;

enum rng_stream {
    RNG_INIT    = 0,    /* n = the tensor's index in tensors.def */
    RNG_SPLIT   = 1,
    RNG_BATCHES = 2,    /* n = epoch */
    RNG_SAMPLE  = 3,    /* n = sample */
    RNG_VERIFY  = 4,
    RNG_LAB     = 5     /* n = the experiment's d_head */
};

/* default_rng(list) for a list of n non-negative integers below 2^64. */
void rng_seed_list(rng *r, const uint64_t *list, size_t n);
void rng_seed(rng *r, uint64_t seed);                   /* default_rng(seed) */
void rng_stream_seed(rng *r, uint64_t seed, enum rng_stream id, uint64_t n);

uint64_t rng_u64(rng *r);
uint32_t rng_u32(rng *r);           /* low half of a 64-bit draw first */
double   rng_double(rng *r);                            /* random() in [0, 1) */
double   rng_uniform(rng *r, double low, double high);  /* uniform(low, high) */
double   rng_normal(rng *r);                            /* standard_normal() */
/* integers(low, high): low <= result < high; any low < high. */
int64_t  rng_integers(rng *r, int64_t low, int64_t high);
/* shuffle of n size_t's in place, as Generator.shuffle of an array;
 * permutation(n) = shuffle of 0 .. n-1. */
void     rng_shuffle(rng *r, size_t *items, size_t n);
void     rng_permutation(rng *r, size_t *items, size_t n);

#endif
