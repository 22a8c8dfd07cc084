/* gemm_pack.h -- the copies that tiles of a product read: panels of b, rows of a.
 *
 * A tile of c is ROWS x VECS vecs; a panel is as wide, a step of k behind the other, and 0
 * beyond the edge of b.  What is copied when, and what is read where it lies, says
 * gemm_fast.c.
 */
#ifndef GEMM_PACK_H
#define GEMM_PACK_H

#include "kernels/gemm_fast.h"
#include "kernels/simd.h"

/* Tile: as many registers as leave room for VECS of b and one of a. */
#if defined(VT_ISA_avx512)
enum { ROWS = 12, VECS = 2 };           /* 24 of 32 registers */
#elif defined(VT_ISA_avx2)
enum { ROWS = 6, VECS = 2 };            /* 12 of 16 */
#else
enum { ROWS = 4, VECS = 2 };            /* 8 of 16 */
#endif
enum {
    PANEL = VECS * VEC_LANES,           /* columns of a panel */
    LINE  = 16,                         /* floats that a cache moves */
    AHEAD = 4                           /* rows that are asked for while one is copied */
};
_Static_assert((int)ROWS <= (int)VEC_LANES, "pack_a moves a column of a tile at once");

/* Columns that vec v of n columns holds. */
VEC_INLINE size_t lanes(size_t n, size_t v)
{
    const size_t before = v * VEC_LANES;
    return n <= before ? 0 : n - before < VEC_LANES ? n - before : VEC_LANES;
}

/* Steps k0 .. k0+steps-1 of columns j0 .. j0+n-1 of b, as b_step = 1 holds
 * them, into a panel; the columns' sums on the way. */
static void pack_rows(float *panel, const gemm *g, size_t k0, size_t steps,
                      size_t j0, size_t n, bool sum)
{
    const size_t vecs = n <= VEC_LANES ? 1 : VECS;
    for (size_t v = 0; v < vecs; v++) {
        const size_t at = v * VEC_LANES, m = lanes(n, v);
        const float *b = g->b + k0 * g->b_row + j0 + at;
        if (!sum) {                     /* copies alone do not wait for each other */
            for (size_t k = 0; k < steps; k++, b += g->b_row)
                vec_store(panel + k * vecs * VEC_LANES + at,
                          m == VEC_LANES ? vec_load(b) : vec_load_n(b, m));
            continue;
        }
        vec s = vec_load_n(g->sums + j0 + at, m);
        for (size_t k = 0; k < steps; k++, b += g->b_row) {
            const vec x = m == VEC_LANES ? vec_load(b) : vec_load_n(b, m);
            vec_store(panel + k * vecs * VEC_LANES + at, x);
            s = vec_add(s, x);
        }
        vec_store_n(g->sums + j0 + at, s, m);
    }
}

/* The same where a column of b is contiguous: squares are transposed. */
static void pack_columns(float *panel, const gemm *g, size_t k0, size_t steps,
                         size_t j0, size_t n)
{
    const size_t width = n <= VEC_LANES ? VEC_LANES : PANEL;
    for (size_t j1 = 0; j1 < width; j1 += VEC_LANES)
    for (size_t k1 = 0; k1 < steps; k1 += VEC_LANES) {
        const size_t m = steps - k1 < VEC_LANES ? steps - k1 : VEC_LANES;
        const size_t columns = lanes(n, j1 / VEC_LANES);
        const float *b = g->b + (j0 + j1) * g->b_step + k0 + k1;
        vec square[VEC_LANES];
        if (columns == VEC_LANES && m == VEC_LANES) {
            VEC_UNROLL
            for (size_t j = 0; j < VEC_LANES; j++) square[j] = vec_load(b + j * g->b_step);
        } else {
            for (size_t j = 0; j < VEC_LANES; j++)
                square[j] = j < columns ? vec_load_n(b + j * g->b_step, m) : vec_zero();
        }
        vec_transpose(square);
        float *to = panel + k1 * width + j1;
        VEC_UNROLL                      /* beyond the steps there is room, unread */
        for (size_t k = 0; k < VEC_LANES; k++) vec_store(to + k * width, square[k]);
    }
}

/* Steps k0 .. k0+steps-1 of columns j0 .. j1-1 of b into whole panels, `apart` floats apart;
 * b_step = 1: a row at a time, the columns' sums on the way. */
static void pack_panels(float *panels, size_t apart, const gemm *g, size_t k0, size_t steps,
                        size_t j0, size_t j1, bool sum)
{
    if (g->b_step != 1) {
        for (size_t j = j0; j < j1; j += PANEL, panels += apart)
            pack_columns(panels, g, k0, steps, j, PANEL);
        return;
    }
    for (size_t k = 0; k < steps; k++) {
        const float *b = g->b + (k0 + k) * g->b_row + j0;
        const float *next = k + AHEAD < steps ? b + AHEAD * g->b_row : b;
        float *to = panels + k * PANEL, *sums = sum ? g->sums + j0 : NULL;
        for (size_t j = 0; j < j1 - j0; j += PANEL, to += apart) {
            for (size_t at = 0; at < PANEL; at += LINE) VEC_PREFETCH(next + j + at);
            VEC_UNROLL
            for (size_t at = 0; at < PANEL; at += VEC_LANES) {
                const vec x = vec_load(b + j + at);
                vec_store(to + at, x);
                if (sum) vec_store(sums + j + at, vec_add(vec_load(sums + j + at), x));
            }
        }
    }
}

/* Asks for a part, i of `parts`, of what a panel will be copied from. */
VEC_INLINE void fetch_panel(const gemm *g, size_t k0, size_t steps, size_t j0, size_t n,
                            size_t i, size_t parts)
{
    const bool rows = !FAST_BACKWARD || g->b_step == 1;
    const size_t outer = rows ? steps : n, inner = rows ? n : steps;
    const size_t apart = rows ? g->b_row : g->b_step;
    const float *b = rows ? g->b + k0 * apart + j0 : g->b + j0 * apart + k0;
    const size_t end = outer * (i + 1) / parts;
    for (size_t o = outer * i / parts; o < end; o++)
        for (size_t at = 0; at < inner; at += LINE) VEC_PREFETCH_NEAR(b + o * apart + at);
}

/* A tile's rows of a, the first of i .. i1-1, `steps` of them from k0 on: as they lie,
 * `steps` apart, or, where its columns are contiguous, these ROWS apart. */
static void pack_a(float *to, const gemm *g, size_t i, size_t i1, size_t k0, size_t steps)
{
    const size_t rows = i1 - i < ROWS ? i1 - i : ROWS;
    const float *a = g->a + i * g->a_row + k0 * g->a_step;
    if (g->a_step == 1) {
        const size_t rest = steps % VEC_LANES, full = steps - rest;
        for (size_t r = 0; r < rows; r++, to += steps, a += g->a_row) {
            for (size_t k = 0; i + r + AHEAD < i1 && k < steps; k += LINE)
                VEC_PREFETCH(a + AHEAD * g->a_row + k);
            for (size_t k = 0; k < full; k += VEC_LANES) vec_store(to + k, vec_load(a + k));
            if (rest) vec_store_n(to + full, vec_load_n(a + full, rest), rest);
        }
        return;
    }
    /* Whole vecs where they are a's and the copy's: the next step overwrites the rest. */
    const bool whole = i + VEC_LANES <= g->m;
    for (size_t k = 0; k < steps; k++) {
        const float *column = a + k * g->a_step;
        const vec x = whole ? vec_load(column) : vec_load_n(column, rows);
        if (k + 1 < steps) vec_store(to + k * ROWS, x);
        else               vec_store_n(to + k * ROWS, x, ROWS);
    }
}

/* A tile's rows of a, the first of i .. i1-1, a step of them behind the other. */
static void turn_a(float *to, const gemm *g, size_t i, size_t i1, size_t k0, size_t steps)
{
    const size_t rows = i1 - i < ROWS ? i1 - i : ROWS;
    const float *a = g->a + i * g->a_row + k0;
    for (size_t k = 0; k < steps; k += VEC_LANES) {
        const size_t m = steps - k < VEC_LANES ? steps - k : VEC_LANES;
        vec square[VEC_LANES];
        for (size_t r = 0; r < rows; r++) VEC_PREFETCH(a + r * g->a_row + k + AHEAD * LINE);
        VEC_UNROLL
        for (size_t r = 0; r < VEC_LANES; r++)
            square[r] = r < rows ? vec_load_n(a + r * g->a_row + k, m) : vec_zero();
        vec_transpose(square);
        /* Whole vecs, whose end the next step overwrites; behind the last there is room. */
        VEC_UNROLL
        for (size_t j = 0; j < VEC_LANES; j++) vec_store(to + (k + j) * ROWS, square[j]);
    }
}

#endif
