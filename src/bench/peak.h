/* peak.h -- loops that show what a processor can do, once for each instruction set.
 *
 * peak.c is one text that is compiled like the fast kernels, with the words of
 * kernels/simd.h.  Each loop's result is known by algebra, so that a loop that was
 * compiled away, or does something else, is seen before it is timed (limits.c).
 */
#ifndef PEAK_H
#define PEAK_H

#include <stddef.h>

typedef struct peak_set {
    const char *isa;
    /* x = x / 2 + 1/2 in `peak_chains` chains of vectors, `steps` times: registers only.
     * From 60 steps on each lane is 1; the result is their sum, flop_per_step / 2. */
    float (*fma)(size_t steps);
    double flop_per_step;
    /* y[i] = e^x[i], n floats, a multiple of 64. */
    void (*exp)(float *y, const float *x, size_t n);
    /* The sum; b = -a; a = b + 3 c: n floats, a multiple of 128. */
    float (*read)(const float *a, size_t n);
    void (*copy)(float *b, const float *a, size_t n);
    void (*triad)(float *a, const float *b, const float *c, size_t n);
    /* As kernels do that change what they read: a = b / 2 - a, c = b / 2 - c, 5 floats an
     * element (a residual's gradients), the first on vectors one by one; a = b / 2 - a
     * alone, 3. */
    void (*both)(float *a, float *c, const float *b, size_t n);
    void (*update)(float *a, const float *b, size_t n);
} peak_set;

extern const peak_set peak_set_portable, peak_set_avx2, peak_set_avx512, peak_set_neon;

#endif
