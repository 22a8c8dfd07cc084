/* attention_tiles.h -- what attention's two passes share: tiles and the mask, the products
 * of blocks in registers, packing, and how a call is cut into tasks.  See attention_fast.c.
 */
#ifndef ATTENTION_TILES_H
#define ATTENTION_TILES_H

#include <assert.h>
#include <math.h>
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
    PANEL = 2 * VEC_LANES,              /* queries of two vectors */
    WIDE = MR > STEP ? VEC_LANES : PANEL,   /* a row is whole ones: short vectors go in pairs */
    ROWS = 96, KEYS = 96,               /* a tile */
    MOST = 512, LEAST = 128,            /* queries, or keys, of a task */
    TASKS = 8,                          /* wanted at least */
    FEW = 4
};
_Static_assert(ROWS % PANEL == 0 && ROWS % MR == 0 && KEYS % MR == 0 && PANEL % STEP == 0,
               "tiles are whole blocks");

#define LOG2_E 0x1.71547652b82fep+0
#define LOG_2  0x1.62e42fefa39efp-1

typedef struct job {
    float *out, *lse, *dq, *dk, *dv;
    const float *dout, *row_out, *row_lse, *q, *k, *v;
    size_t ldq, ldkv, ldo;              /* from one position's row to the next */
    size_t T, P, S, NH, HS, width;      /* width: HS in whole WIDEs */
    size_t heads, block, blocks;        /* queries of a task; tasks of a head */
    size_t pass;                        /* backward's */
    float scale, scale2;                /* 1 / sqrt(HS), log2(e) / sqrt(HS) */
    team *tm;
} job;

/* Queries t0 .. t0+rows-1 against keys u0 .. u0+keys-1. */
typedef struct tile {
    size_t rows, keys;
    size_t before;                      /* keys before u0 */
    size_t seen;                        /* keys from 0 on that query t0 sees */
} tile;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t whole(size_t n, size_t of) { return (n + of - 1) / of * of; }

/* How many of the tile's keys its query r sees; a padding row counts as the
 * last row. */
static size_t sees(const tile *z, size_t r)
{
    const size_t n = z->seen + least(r, z->rows - 1);
    return n <= z->before ? 0 : least(n - z->before, z->keys);
}

/* The first of its queries that sees the tile's key u (perhaps >= rows). */
static size_t seen_from(const tile *z, size_t u)
{
    const size_t n = z->before + u + 1;
    return n <= z->seen ? 0 : n - z->seen;
}

/* ---- products ---------------------------------------------------------- */

/* c[r] = start + sum_k a[r,k] b[k], from <= k < K, for some rows r; a[r,k] is at
 * a + r*ra + k*ka, b[k] at b + k*ldb.  Then the corner: at k = corner + j only the
 * rows behind row j are added (UPPER: only those up to j), for those k that are
 * below `end`; corner may lie before 0, as a size_t does: far above `end`. */
typedef struct product {
    float *c;
    const float *a, *b, *scale;
    size_t ldc, ra, ka, ldb, from, K, corner, end;
} product;

enum { FRESH, ADD, SCALED };            /* start: 0, c[r], scale[r] c[r] */
enum { NONE, LOWER, UPPER };            /* the corner */

VEC_INLINE void block(const product *p, const size_t rows, const size_t vectors,
                      const int start, const int corner)
{
    vec x[MR][2];
    VEC_UNROLL
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < vectors; j++) {
            x[r][j] = start == FRESH ? vec_zero() : vec_load(p->c + r * p->ldc + j * VEC_LANES);
            if (start == SCALED) x[r][j] = vec_mul(vec_set1(p->scale[r]), x[r][j]);
        }

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
    VEC_UNROLL
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < vectors; j++)
            vec_store(p->c + r * p->ldc + j * VEC_LANES, x[r][j]);
}

/* Rows of the next block where `left` are left: no lone STEP at the end. */
static size_t step_of(size_t left)
{
    if (MR == 3 * STEP && left > MR && left <= MR + STEP) return 2 * STEP;
    return least(whole(left, STEP), MR);
}

/* The block of a number of rows that is known only now, `n` numbers wide. */
VEC_INLINE void blocks(product p, size_t rows, size_t n, const int start, const int corner)
{
    for (; n > VEC_LANES; n -= least(n, PANEL), p.c += PANEL, p.b += PANEL)
        if (rows == MR) block(&p, MR, 2, start, corner);
#if defined(VT_ISA_avx512) || defined(VT_ISA_avx2)
        else if (rows == STEP) block(&p, STEP, 2, start, corner);
        else block(&p, 2 * STEP, 2, start, corner);
#endif
    if (WIDE < PANEL && n > 0) {
        if (rows == MR) block(&p, MR, 1, start, corner);
#if defined(VT_ISA_avx512) || defined(VT_ISA_avx2)
        else if (rows == STEP) block(&p, STEP, 1, start, corner);
        else block(&p, 2 * STEP, 1, start, corner);
#endif
    }
}

/* s[u,t] = sum_i a[u,i] bt[i,t] for a panel of queries, in the blocks that hold a
 * key to be seen; a is (KEYS, width), bt (HS, PANEL). */
static void scores(float *s, size_t lds, const float *a, size_t lda, const float *bt, const job *z,
                   const tile *p)
{
    const size_t any = sees(p, p->rows - 1), first = sees(p, VEC_LANES - 1);
    for (size_t u = 0, rows; u < any; u += rows) {
        /* Where the first vector's queries see none of these keys, only the second. */
        rows = step_of((u < first ? first : any) - u);
        const size_t j = WIDE < PANEL && u >= first ? VEC_LANES : 0;
        const product c = { .c = s + u * lds + j, .ldc = lds, .a = a + u * lda,
                            .ra = lda, .b = bt + j, .ldb = PANEL, .K = z->HS };
        blocks(c, rows, whole(p->rows, WIDE) - j, FRESH, NONE);
    }
}

/* c[t] = (scale ? scale[t] : 1) c[t] + sum_u s[u,t] b[u] over the keys u that query t
 * sees; rows of c and b are `width` wide. */
static void add_to_queries(float *c, const float *scale, const float *s, size_t lds,
                           const float *b, size_t ldb, size_t width, bool fresh, const tile *z)
{
    for (size_t t = 0, rows; t < z->rows; t += rows) {
        rows = step_of(z->rows - t);
        const product p = { .c = c + t * width, .ldc = width, .a = s + t, .ka = lds, .b = b,
                            .ldb = ldb, .scale = scale ? scale + t : NULL, .K = sees(z, t),
                            .corner = z->seen + t - z->before, .end = z->keys };
        if (fresh) blocks(p, rows, width, FRESH, LOWER);
        else if (scale) blocks(p, rows, width, SCALED, LOWER);
        else if (FAST_BACKWARD) blocks(p, rows, width, ADD, LOWER);
    }
}

/* ---- packing ----------------------------------------------------------- */

/* Asks for a row that is needed soon: rows lie too far apart for the processor to guess
 * the next. */
enum { AHEAD = 16, LINE = 16 };         /* rows; floats */
static inline void ask(const float *from, size_t ld, size_t r, const job *z)
{
    for (size_t i = 0; i < z->HS; i += LINE) VEC_PREFETCH(from + r * ld + i);
}
/* The same for one of `parts` parts of some rows. */
static void ask_part(const float *from, size_t ld, size_t rows, size_t part, size_t parts,
                     const job *z)
{
    for (size_t r = part * rows / parts; r < (part + 1) * rows / parts; r++) ask(from, ld, r, z);
}

/* A masked load or store takes many times as long as a whole one: only the last
 * vector of a row is one, where HS is not whole vectors. */

/* `rows` rows of HS numbers, then zeros, into rows of `width`. */
static void pack(float *to, const float *from, size_t ld, size_t rows, size_t padded,
                 const job *z)
{
    const size_t rest = z->HS % VEC_LANES, full = z->HS - rest, width = z->width;
    for (size_t r = 0; r < rows; r++, to += width, from += ld) {
        if (r + AHEAD < rows) ask(from, ld, AHEAD, z);
        for (size_t i = 0; i < full; i += VEC_LANES) vec_store(to + i, vec_load(from + i));
        for (size_t i = full; i < width; i += VEC_LANES)
            vec_store(to + i, i == full ? vec_load_n(from + full, rest) : vec_zero());
    }
    for (size_t i = 0; i < (padded - rows) * width; i++) to[i] = 0;
}

/* (rows, HS) times `scale` into panels (HS, PANEL), zeros beyond the rows to the end of
 * a WIDE, a square of vectors at a time. */
static void pack_panels(float *to, const float *from, size_t ld, size_t rows, float scale,
                        const job *z)
{
    const size_t HS = z->HS;
    const vec x = vec_set1(scale);
    for (size_t t = 0; t < whole(rows, WIDE); t += VEC_LANES)
        for (size_t i = 0; i < HS; i += VEC_LANES) {
            const size_t n = least(HS - i, VEC_LANES);
            const float *a = from + t * ld + i;
            float *c = to + t / PANEL * PANEL * HS + t % PANEL + i * PANEL;
            vec r[VEC_LANES];
            if (WIDE < PANEL && n == VEC_LANES && t + VEC_LANES <= rows) {
                VEC_UNROLL
                for (size_t j = 0; j < VEC_LANES; j++) r[j] = vec_mul(x, vec_load(a + j * ld));
            } else {
                for (size_t j = 0; j < VEC_LANES; j++)
                    r[j] = t + j < rows ? vec_mul(x, vec_load_n(a + j * ld, n)) : vec_zero();
            }
            vec_transpose(r);
            if (WIDE < PANEL && n == VEC_LANES) {
                VEC_UNROLL
                for (size_t j = 0; j < VEC_LANES; j++) vec_store(c + j * PANEL, r[j]);
            } else {
                for (size_t j = 0; j < n; j++) vec_store(c + j * PANEL, r[j]);
            }
        }
}

static void fill(float *x, float with, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = with;
}

/* Where the head's rows start. */
typedef struct head { size_t q, kv, o, lse; } head;
static head head_of(const job *z, size_t i)
{
    const size_t b = i / z->NH, h = i % z->NH;
    return (head){ b * z->T * z->ldq + h * z->HS, b * z->S * z->ldkv + h * z->HS,
                   b * z->T * z->ldo + h * z->HS, (b * z->NH + h) * z->T };
}

/* ---- tasks -------------------------------------------------------------- */

/* Floats of scratch that a worker needs; backward's need is the larger one. */
static size_t need(size_t T, size_t HS)
{
    const size_t padded = whole(least(T, MOST), PANEL), width = whole(HS, WIDE);
    return padded * (3 * width + 2 * HS + 2) + 4 * KEYS * width + 2 * KEYS * ROWS;
}

/* The largest blocks that still make enough tasks. */
static void cut(job *z)
{
    for (z->block = MOST; ; z->block /= 2) {
        z->blocks = (z->T + z->block - 1) / z->block;
        if (z->block == LEAST || z->heads * z->blocks >= TASKS) break;
    }
    z->block = least(z->block, z->T);
}

static job make_job(team *tm, int B, int T, int P, int NH, int HS, size_t ldq, size_t ldkv)
{
    assert(B > 0 && T > 0 && P >= 0 && NH > 0 && HS > 0);
    assert(need((size_t)T, (size_t)HS) * sizeof(float) <= team_scratch_bytes(tm));
    job z = { .T = (size_t)T, .P = (size_t)P, .S = (size_t)P + (size_t)T, .NH = (size_t)NH,
              .HS = (size_t)HS, .width = whole((size_t)HS, WIDE), .ldq = ldq, .ldkv = ldkv,
              .ldo = (size_t)NH * (size_t)HS, .heads = (size_t)B * (size_t)NH, .tm = tm };
    z.scale = 1 / sqrtf((float)HS);
    z.scale2 = (float)(LOG2_E / sqrt((double)HS));
    cut(&z);
    return z;
}

#endif
