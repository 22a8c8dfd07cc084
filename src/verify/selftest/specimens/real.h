/* real.h -- what every specimen includes: the kernel's interface, its scalar, and a
 * number for each fault.
 *
 * A specimen's source is compiled for SPECIMEN_BITS = 32 and 64.  It knows nothing of
 * the library but this: it is written as a user would write it, from vitrine_kernel.h.
 */
#ifndef SPECIMEN_REAL_H
#define SPECIMEN_REAL_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>
#include "vitrine_kernel.h"

#if   SPECIMEN_BITS == 32
typedef float real;
#define SPECIMEN(kernel) specimen_##kernel##_f32
#elif SPECIMEN_BITS == 64
typedef double real;
#define SPECIMEN(kernel) specimen_##kernel##_f64
#else
#error "SPECIMEN_BITS must be 32 or 64"
#endif

/* BUG_online_no_rescale: from 1, in the order of specimens.def. */
enum specimen_bug {
    BUG_NONE,
#define FAULT(kernel, name, dtypes, kind, what) BUG_##name,
#include "verify/selftest/specimens/specimens.def"
    BUG_COUNT
};

/* 0, or SPECIMEN_NO_MEMORY. */
#define CORRECT(kernel, op, name) int SPECIMEN(kernel)(const vt_kernel_call *c, int fault);
#include "verify/selftest/specimens/specimens.def"

enum { SPECIMEN_NO_MEMORY = 12 };

/* What a lower precision keeps of x: a float of a double, 8 bits of a float. */
static inline real coarse(real x)
{
#if SPECIMEN_BITS == 64
    return (real)(float)x;
#else
    const float cut = x * 65537;                /* Veltkamp's splitting at 2^16 */
    return cut - (cut - x);
#endif
}

/* Inputs are const: the faults that write them need this. */
static inline real *written(const void *p) { return (real *)(uintptr_t)p; }

#endif
