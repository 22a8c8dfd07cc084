/* simd.h -- the small vector vocabulary that every fast kernel is written in.
 *
 * A kernel is one text, compiled once for each instruction set.  It works on
 * `vec`, VEC_LANES floats, and on nothing wider; the header below this one
 * says what the words mean on this instruction set.  Loops step by VEC_LANES
 * and end with vec_load_n / vec_store_n of the lanes that are left, which touch
 * no memory beyond them.
 *
 *  vec_load(p)  vec_store(p, a)     VEC_LANES floats, any alignment
 *  vec_load_n(p, n)                 the first n lanes (0 .. VEC_LANES), rest 0
 *  vec_store_n(p, a, n)             the first n lanes, nothing else is touched
 *  vec_zero()  vec_set1(x)          every lane
 *  vec_add sub mul div (a, b)       correctly rounded
 *  vec_fma(a, b, c)                 a b + c    (one rounding, but two in the
 *  vec_fnma(a, b, c)                c - a b     portable and wasm sets)
 *  vec_max(a, b)  vec_min(a, b)     a > b ? a : b,  a < b ? a : b: where one is
 *                                   NaN the result is b
 *  vec_sqrt vec_abs vec_neg (a)
 *  vec_round(a)                     to the nearest integer, ties to even;
 *                                   |a| < 2^22
 *  vec_scale2(a, n)                 a 2^n; n holds integers, -252 <= n <= 254;
 *                                   rounded once for 0.5 <= |a| <= 2
 *  vec_lt vec_le vec_eq (a, b)      vmask; false where one is NaN
 *  vec_first(n)                     vmask of the first n lanes (0 .. VEC_LANES)
 *  vec_select(m, a, b)              m ? a : b
 *  vec_any(m)                       whether a lane is set
 *  vec_sum(a)  vec_hmax(a)          over the lanes, in a fixed order: lane i
 *                                   with i + VEC_LANES/2, then /4, ... then 1
 *  vec_transpose(r)                 of the square of VEC_LANES vecs r[i], in place
 *
 *  vecd                             VEC_LANES/2 doubles
 *  vecd_low(a)  vecd_high(a)        the lower, the upper lanes of a vec
 *  vecd_zero add mul (a, b) fma(a, b, c) sum(a)        as above
 *
 * Results of one instruction set differ in the last bits from another's (the
 * number of lanes decides the order of sums); on each they are reproducible.
 */
#ifndef SIMD_H
#define SIMD_H

/* A function that must become part of its caller, so that its constant
 * arguments shape the code; a loop of constant length that must become straight
 * code, so that an array of vecs lives in registers.  Speed alone needs that: gcc's
 * sanitizers look at each access once where it is written, not in a hundred copies,
 * which would take minutes to compile. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VEC_INLINE static inline
#define VEC_UNROLL
#elif defined(__clang__)
#define VEC_INLINE static inline __attribute__((always_inline))
#define VEC_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define VEC_INLINE static inline __attribute__((always_inline))
#define VEC_UNROLL _Pragma("GCC unroll 16")
#else
#define VEC_INLINE static inline
#define VEC_UNROLL
#endif

/* Asks for the memory at p (a hint: any address will do). */
#if defined(__GNUC__)
#define VEC_PREFETCH(p) __builtin_prefetch(p)
#define VEC_PREFETCH_NEAR(p) __builtin_prefetch((p), 0, 2)      /* into the second level */
#else
#define VEC_PREFETCH(p) ((void)(p))
#define VEC_PREFETCH_NEAR(p) ((void)(p))
#endif

#if defined(VT_ISA_avx512)
#include "kernels/simd_avx512.h"
#elif defined(VT_ISA_avx2)
#include "kernels/simd_avx2.h"
#elif defined(VT_ISA_neon)
#include "kernels/simd_neon.h"
#elif defined(VT_ISA_wasm)
#include "kernels/simd_wasm.h"
#else
#include "kernels/simd_portable.h"
#endif

#endif
