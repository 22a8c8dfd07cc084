/* simd_words.c -- compiled once for each instruction set, like a kernel. */
#include "simd_words.h"
#include "kernels/simd.h"

#define PASTE(isa)  words_##isa
#define EXPAND(isa) PASTE(isa)
#define STRING(isa) #isa
#define QUOTE(isa)  STRING(isa)

static void run(words *out, const float *a_, const float *b_, const float *c_)
{
    const vec a = vec_load(a_), b = vec_load(b_), c = vec_load(c_);
    const vec one = vec_set1(1), two = vec_set1(2);
    const vecd low = vecd_low(a), high = vecd_high(a);
    out->lanes = VEC_LANES;
    vec_store(out->zero, vec_zero());
    vec_store(out->set1, vec_set1(c_[0]));
    vec_store(out->add,  vec_add(a, b));
    vec_store(out->sub,  vec_sub(a, b));
    vec_store(out->mul,  vec_mul(a, b));
    vec_store(out->div,  vec_div(a, b));
    vec_store(out->fma,  vec_fma(a, b, c));
    vec_store(out->fnma, vec_fnma(a, b, c));
    vec_store(out->max,  vec_max(a, b));
    vec_store(out->min,  vec_min(a, b));
    vec_store(out->sqrt, vec_sqrt(a));
    vec_store(out->abs,  vec_abs(a));
    vec_store(out->neg,  vec_neg(a));
    vec_store(out->round, vec_round(a));
    vec_store(out->lt, vec_select(vec_lt(a, b), one, two));
    vec_store(out->le, vec_select(vec_le(a, b), one, two));
    vec_store(out->eq, vec_select(vec_eq(a, b), one, two));
    out->any_lt = vec_any(vec_lt(a, b));
    out->any_eq = vec_any(vec_eq(a, b));
    out->sum  = vec_sum(a);
    out->hmax = vec_hmax(a);
    out->dsum = vecd_sum(vecd_add(vecd_add(low, high), vecd_zero()));
    out->dmul = vecd_sum(vecd_mul(low, high));
    out->dfma = vecd_sum(vecd_fma(low, high, low));
}

static void scale2(float *out, const float *a, const float *n)
{
    vec_store(out, vec_scale2(vec_load(a), vec_load(n)));
}

static void part(float *loaded, float *to, const float *p, size_t n)
{
    const vec a = vec_load_n(p, n);
    vec_store(loaded, a);
    vec_store_n(to, a, n);
}

static void transpose(float *square)
{
    vec r[VEC_LANES];
    for (size_t i = 0; i < VEC_LANES; i++) r[i] = vec_load(square + i * VEC_LANES);
    vec_transpose(r);
    for (size_t i = 0; i < VEC_LANES; i++) vec_store(square + i * VEC_LANES, r[i]);
}

const words_set EXPAND(VT_ISA) = { QUOTE(VT_ISA), run, scale2, part, transpose };
