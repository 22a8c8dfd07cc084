/* attention_blocks.h -- the products of attention, a block of rows by two vectors at a time,
 * whose sums stay in registers.  See attention_tiles.h.
 *
 * Sums begin with 0 or with what an earlier tile has left, and end where the next tile
 * finds them, or in the result: no pass over the result follows.
 */
#ifndef ATTENTION_BLOCKS_H
#define ATTENTION_BLOCKS_H

#include "kernels/fast.h"
#include "kernels/simd.h"

/* A block of MR rows by two vectors is held in registers; fewer rows in STEPs. */
#if defined(VT_ISA_avx512)
enum { STEP = 4, MR = 3 * STEP };       /* 24 of 32 registers */
#elif defined(VT_ISA_avx2)
enum { STEP = 2, MR = 3 * STEP };       /* 12 of 16 */
#else
enum { STEP = 4, MR = STEP };           /* 8 of 16; a page's module has one block less */
#endif
enum {
    PANEL = 2 * VEC_LANES,
    WIDE = MR > STEP ? VEC_LANES : PANEL    /* a row is whole ones: short vectors go in pairs */
};

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t whole(size_t n, size_t of) { return (n + of - 1) / of * of; }

/* Where the sums of some rows begin and where they go. */
typedef struct sums {
    const float *from, *scale;          /* those so far, times scale[r]; NULL: 0; 1 */
    float *to;
    const float *times;                 /* at the end times times[r] (NULL: 1), */
    float onto;                         /* or times this, if not 0, and added to what is there */
    size_t ldfrom, ldto;
} sums;

/* c[r] = start + sum_k a[r,k] b[k], from <= k < K, for some rows r; a[r,k] is at
 * a + r*ra + k*ka, b[k] at b + k*ldb.  Then the corner: at k = corner + j only the
 * rows behind row j are added (UPPER: only those up to j), for those k that are
 * below `end`; corner may lie before 0, as a size_t does: far above `end`. */
typedef struct product {
    sums c;
    const float *a, *b;
    size_t ra, ka, ldb, from, K, corner, end;
} product;

enum { NONE, LOWER, UPPER };            /* the corner */

/* The sums as they are before a block, and as they are left. */
VEC_INLINE void begin(vec x[MR][2], const sums *c, const size_t rows, const size_t vectors)
{
    if (!c->from) {
        VEC_UNROLL
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < vectors; j++) x[r][j] = vec_zero();
        return;
    }
    VEC_UNROLL
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < vectors; j++) x[r][j] = vec_load(c->from + r * c->ldfrom + j * VEC_LANES);
    if (!c->scale) return;
    VEC_UNROLL
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < vectors; j++) x[r][j] = vec_mul(vec_set1(c->scale[r]), x[r][j]);
}

VEC_INLINE void end(vec x[MR][2], const sums *c, const size_t rows, const size_t vectors)
{
    if (c->times) {
        VEC_UNROLL
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < vectors; j++) x[r][j] = vec_mul(vec_set1(c->times[r]), x[r][j]);
    }
    if (FAST_BACKWARD && c->onto != 0) {
        const vec f = vec_set1(c->onto);
        VEC_UNROLL
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < vectors; j++)
                x[r][j] = vec_fma(f, x[r][j], vec_load(c->to + r * c->ldto + j * VEC_LANES));
    }
    VEC_UNROLL
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < vectors; j++) vec_store(c->to + r * c->ldto + j * VEC_LANES, x[r][j]);
}

VEC_INLINE void block(const product *p, const size_t rows, const size_t vectors, const int corner)
{
    vec x[MR][2];
    begin(x, &p->c, rows, vectors);

    /* Rows 3g, 3g+1, 3g+2 lie one index register apart from a[g]; LOWER's are
     * neighbours. */
    const float *a[(MR + 2) / 3], *b = p->b + p->from * p->ldb;
    const size_t ra = corner == LOWER ? 1 : p->ra, ka = corner == LOWER ? p->ka : 1;
    VEC_UNROLL
    for (size_t g = 0; g < (rows + 2) / 3; g++) a[g] = p->a + 3 * g * ra + p->from * ka;
    for (size_t k = p->from; k < p->K; k++, b += p->ldb) {
        const vec b0 = vec_load(b), b1 = vectors == 2 ? vec_load(b + VEC_LANES) : b0;
        VEC_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const vec s = vec_set1(a[r / 3][r % 3 * ra]);
            x[r][0] = vec_fma(s, b0, x[r][0]);
            if (vectors == 2) x[r][1] = vec_fma(s, b1, x[r][1]);
        }
        VEC_UNROLL
        for (size_t g = 0; g < (rows + 2) / 3; g++) a[g] += ka;
    }
    if (corner != NONE) {
        VEC_UNROLL
        for (size_t j = 0; j + 1 < rows; j++) {
            const size_t k = p->corner + j;
            if (k >= p->end) continue;
            const vec b0 = vec_load(p->b + k * p->ldb);
            const vec b1 = vectors == 2 ? vec_load(p->b + k * p->ldb + VEC_LANES) : b0;
            const float *at = p->a + k * ka;
            VEC_UNROLL
            for (size_t r = 0; r < rows; r++) {
                if ((corner == LOWER) == (r <= j)) continue;
                const vec s = vec_set1(at[r * ra]);
                x[r][0] = vec_fma(s, b0, x[r][0]);
                if (vectors == 2) x[r][1] = vec_fma(s, b1, x[r][1]);
            }
        }
    }
    end(x, &p->c, rows, vectors);
}

/* Rows of the next block where `left` are left: no lone STEP at the end. */
static size_t step_of(size_t left)
{
    if (MR == 3 * STEP && left > MR && left <= MR + STEP) return 2 * STEP;
    return least(whole(left, STEP), MR);
}

/* The block of a number of rows that is known only now, `n` numbers wide. */
VEC_INLINE void blocks(product p, size_t rows, size_t n, const int corner)
{
    for (; n > VEC_LANES; n -= least(n, PANEL)) {
        if (rows == MR) block(&p, MR, 2, corner);
#if defined(VT_ISA_avx512) || defined(VT_ISA_avx2)
        else if (rows == STEP) block(&p, STEP, 2, corner);
        else block(&p, 2 * STEP, 2, corner);
#endif
        if (p.c.from) p.c.from += PANEL;
        p.c.to += PANEL, p.b += PANEL;
    }
    if (WIDE < PANEL && n > 0) {
        if (rows == MR) block(&p, MR, 1, corner);
#if defined(VT_ISA_avx512) || defined(VT_ISA_avx2)
        else if (rows == STEP) block(&p, STEP, 1, corner);
        else block(&p, 2 * STEP, 1, corner);
#endif
    }
}

/* The sums of the rows from r on. */
static sums sums_at(sums c, size_t r)
{
    if (c.from) c.from += r * c.ldfrom;
    if (c.scale) c.scale += r;
    if (c.times) c.times += r;
    c.to += r * c.ldto;
    return c;
}

#endif
