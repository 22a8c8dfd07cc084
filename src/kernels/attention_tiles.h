/* attention_tiles.h -- what attention's two passes share: tiles and the mask, their
 * products, packing, and how a call is cut into tasks.  See attention_fast.c.
 */
#ifndef ATTENTION_TILES_H
#define ATTENTION_TILES_H

#include <assert.h>
#include <math.h>
#include "kernels/attention_blocks.h"

enum {
    ROWS = 96, KEYS = 96,               /* a tile */
    MOST = 512, LEAST = 128,            /* queries, or keys, of a task */
    TASKS = 8,                          /* wanted at least */
    FEW = 4, SOME = 8 * PANEL           /* queries, of a call and of a task: see attention_fast.c */
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
        const product c = { .c = { .to = s + u * lds + j, .ldto = lds }, .a = a + u * lda,
                            .ra = lda, .b = bt + j, .ldb = PANEL, .K = z->HS };
        blocks(c, rows, whole(p->rows, WIDE) - j, NONE);
    }
}

/* c[t] = start + sum_u s[u,t] b[u] over the keys u that query t sees; rows of b are `width`
 * wide. */
static void add_to_queries(sums c, const float *s, size_t lds, const float *b, size_t ldb,
                           size_t width, const tile *z)
{
    for (size_t t = 0, rows; t < z->rows; t += rows) {
        rows = step_of(z->rows - t);
        const product p = { .c = sums_at(c, t), .a = s + t, .ka = lds, .b = b, .ldb = ldb,
                            .K = sees(z, t), .corner = z->seen + t - z->before, .end = z->keys };
        blocks(p, rows, width, LOWER);
    }
}

/* ---- packing ----------------------------------------------------------- */

/* Asks for a row that is needed soon: rows lie too far apart for the processor to guess
 * the next. */
enum { AHEAD = 16, LINE = 16 };         /* rows; floats */
static inline void ask(const float *from, size_t ld, size_t r, const job *z)
{
    for (size_t i = 0; i < z->HS; i += LINE) VEC_PREFETCH_NEAR(from + r * ld + i);
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
