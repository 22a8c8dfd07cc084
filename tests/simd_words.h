/* simd_words.h -- what the words of simd.h give on one instruction set, lane by
 * lane, for test_simd.c. */
#ifndef SIMD_WORDS_H
#define SIMD_WORDS_H

#include <stddef.h>

enum { MOST_LANES = 16 };

typedef struct words {
    size_t lanes;
    float zero[MOST_LANES], set1[MOST_LANES], add[MOST_LANES], sub[MOST_LANES],
          mul[MOST_LANES], div[MOST_LANES], fma[MOST_LANES], fnma[MOST_LANES],
          max[MOST_LANES], min[MOST_LANES], sqrt[MOST_LANES], abs[MOST_LANES],
          neg[MOST_LANES], round[MOST_LANES];
    float lt[MOST_LANES], le[MOST_LANES], eq[MOST_LANES];       /* 1 or 2 */
    int   any_lt, any_eq;
    float sum, hmax;
    double dsum, dmul, dfma;    /* of low + high, low * high, low * high + low */
} words;

/* Of three vecs of MOST_LANES floats, of which the first lanes count. */
typedef void words_run(words *out, const float *a, const float *b, const float *c);
/* out[i] = a[i] 2^n[i] */
typedef void words_scale2(float *out, const float *a, const float *n);
/* Loads n lanes of p into all lanes of `loaded`, stores n of them at `to`. */
typedef void words_part(float *loaded, float *to, const float *p, size_t n);
/* The transpose of a square of lanes x lanes, contiguous. */
typedef void words_transpose(float *square);

typedef struct words_set {
    const char      *name;
    words_run       *run;
    words_scale2    *scale2;
    words_part      *part;
    words_transpose *transpose;
} words_set;

extern const words_set words_portable, words_avx2, words_avx512, words_neon, words_wasm;

#endif
