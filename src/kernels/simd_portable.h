/* simd_portable.h -- simd.h's words in plain C: 4 lanes in a struct.
 *
 * No instruction set is named; four lanes are what the baseline of today's
 * processors holds in a register, and compilers find them in these loops.
 * vec_fma rounds twice: C's fma() is a slow library call where the processor
 * has no such instruction.
 */
#ifndef SIMD_PORTABLE_H
#define SIMD_PORTABLE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { VEC_LANES = 4 };
typedef struct vec   { float at[VEC_LANES]; } vec;
typedef struct vecd  { double at[VEC_LANES / 2]; } vecd;
typedef struct vmask { bool at[VEC_LANES]; } vmask;

static inline vec vec_load(const float *p)
{
    vec r;
    memcpy(r.at, p, sizeof r.at);
    return r;
}
static inline void vec_store(float *p, vec a) { memcpy(p, a.at, sizeof a.at); }
static inline vec vec_load_n(const float *p, size_t n)
{
    vec r = { { 0 } };
    for (size_t i = 0; i < n; i++) r.at[i] = p[i];
    return r;
}
static inline void vec_store_n(float *p, vec a, size_t n)
{
    for (size_t i = 0; i < n; i++) p[i] = a.at[i];
}
static inline vec vec_set1(float x) { return (vec){ { x, x, x, x } }; }
static inline vec vec_zero(void)    { return vec_set1(0); }

static inline vec vec_add(vec a, vec b)
{
    for (int i = 0; i < VEC_LANES; i++) a.at[i] += b.at[i];
    return a;
}
static inline vec vec_sub(vec a, vec b)
{
    for (int i = 0; i < VEC_LANES; i++) a.at[i] -= b.at[i];
    return a;
}
static inline vec vec_mul(vec a, vec b)
{
    for (int i = 0; i < VEC_LANES; i++) a.at[i] *= b.at[i];
    return a;
}
static inline vec vec_div(vec a, vec b)
{
    for (int i = 0; i < VEC_LANES; i++) a.at[i] /= b.at[i];
    return a;
}
static inline vec vec_fma(vec a, vec b, vec c)  { return vec_add(vec_mul(a, b), c); }
static inline vec vec_fnma(vec a, vec b, vec c) { return vec_sub(c, vec_mul(a, b)); }
static inline vec vec_max(vec a, vec b)
{
    for (int i = 0; i < VEC_LANES; i++) a.at[i] = a.at[i] > b.at[i] ? a.at[i] : b.at[i];
    return a;
}
static inline vec vec_min(vec a, vec b)
{
    for (int i = 0; i < VEC_LANES; i++) a.at[i] = a.at[i] < b.at[i] ? a.at[i] : b.at[i];
    return a;
}
static inline vec vec_sqrt(vec a)
{
    for (int i = 0; i < VEC_LANES; i++) a.at[i] = sqrtf(a.at[i]);
    return a;
}
static inline vec vec_abs(vec a)
{
    for (int i = 0; i < VEC_LANES; i++) a.at[i] = fabsf(a.at[i]);
    return a;
}
static inline vec vec_neg(vec a)
{
    for (int i = 0; i < VEC_LANES; i++) a.at[i] = -a.at[i];
    return a;
}

/* Beside 1.5 2^23 a float has no room for a fraction: adding it rounds, and
 * subtracting it brings the integer back. */
static inline vec vec_round(vec a)
{
    const vec big = vec_set1(12582912.0f);
    return vec_sub(vec_add(a, big), big);
}

/* 2^n from its exponent field, in two factors: one alone has no room for the
 * exponents of subnormal results and of 2^128. */
static inline float vec_power(int n)
{
    const uint32_t bits = (uint32_t)(n + 127) << 23;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static inline vec vec_scale2(vec a, vec n)
{
    for (int i = 0; i < VEC_LANES; i++) {
        const bool in = n.at[i] > -253 && n.at[i] < 255;    /* NaN has no int */
        const int e = in ? (int)n.at[i] : 0, half = e / 2;
        a.at[i] = a.at[i] * vec_power(half) * vec_power(e - half);
    }
    return a;
}

static inline vmask vec_lt(vec a, vec b)
{
    vmask m;
    for (int i = 0; i < VEC_LANES; i++) m.at[i] = a.at[i] < b.at[i];
    return m;
}
static inline vmask vec_le(vec a, vec b)
{
    vmask m;
    for (int i = 0; i < VEC_LANES; i++) m.at[i] = a.at[i] <= b.at[i];
    return m;
}
static inline vmask vec_eq(vec a, vec b)
{
    vmask m;
    for (int i = 0; i < VEC_LANES; i++) m.at[i] = a.at[i] == b.at[i];
    return m;
}
static inline vmask vec_first(size_t n)
{
    vmask m;
    for (size_t i = 0; i < VEC_LANES; i++) m.at[i] = i < n;
    return m;
}
static inline vec vec_select(vmask m, vec a, vec b)
{
    for (int i = 0; i < VEC_LANES; i++) a.at[i] = m.at[i] ? a.at[i] : b.at[i];
    return a;
}
static inline bool vec_any(vmask m) { return m.at[0] || m.at[1] || m.at[2] || m.at[3]; }

static inline float vec_sum(vec a) { return (a.at[0] + a.at[2]) + (a.at[1] + a.at[3]); }
static inline float vec_hmax(vec a)
{
    const float even = a.at[0] > a.at[2] ? a.at[0] : a.at[2];
    const float odd  = a.at[1] > a.at[3] ? a.at[1] : a.at[3];
    return even > odd ? even : odd;
}

static inline void vec_transpose(vec r[VEC_LANES])
{
    for (int i = 0; i < VEC_LANES; i++)
    for (int j = 0; j < i; j++) {
        const float x = r[i].at[j];
        r[i].at[j] = r[j].at[i];
        r[j].at[i] = x;
    }
}

static inline vecd vecd_low(vec a)  { return (vecd){ { (double)a.at[0], (double)a.at[1] } }; }
static inline vecd vecd_high(vec a) { return (vecd){ { (double)a.at[2], (double)a.at[3] } }; }
static inline vecd vecd_zero(void)  { return (vecd){ { 0, 0 } }; }
static inline vecd vecd_add(vecd a, vecd b)
{
    return (vecd){ { a.at[0] + b.at[0], a.at[1] + b.at[1] } };
}
static inline vecd vecd_mul(vecd a, vecd b)
{
    return (vecd){ { a.at[0] * b.at[0], a.at[1] * b.at[1] } };
}
static inline vecd vecd_fma(vecd a, vecd b, vecd c) { return vecd_add(vecd_mul(a, b), c); }
static inline double vecd_sum(vecd a) { return a.at[0] + a.at[1]; }

#endif
