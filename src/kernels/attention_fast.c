/* attention_fast.c -- causal attention in tiles: no (T, S) stage is stored.
 *
 * The queries meet one tile of keys after the other (Milakov and Gimelshein
 * 2018 for the running softmax; Dao et al. 2022, FlashAttention):
 *
 *  s[t,u]  = (q[t] / sqrt(HS)) . k[u],  u <= P + t     (attn.scores, .scaled)
 *  m'      = max(m, max_u s[t,u])          over the tile's keys, m from before
 *  e[t,u]  = exp(s[t,u] - m'),   a = exp(m - m')
 *  l      <- a l + sum_u e[t,u],   o[t] <- a o[t] + sum_u e[t,u] v[u]
 *  out[t]  = o[t] / l,   lse[t] = m + log l     (attn.softmax, attn.values)
 *
 * for exp(s - m) / sum exp(s - m) is the same with every m.  Backward makes
 * the weights again from the one number that each row has kept:
 *
 *  a[t,u]  = exp(s[t,u] - lse[t])
 *  D[t]    = sum_i do[t,i] out[t,i]                       = sum_u a[t,u] da[t,u]
 *  ds[t,u] = a[t,u] (da[t,u] - D[t])                                 (attn.ds)
 *
 * and dv, dq, dk as in the definition; 1/sqrt(HS) is multiplied into q as it
 * is packed, which serves s and dk, and into dq at the end.
 *
 * The mask is a loop bound.  In a tile that the diagonal crosses, a block of
 * MR rows runs over the keys that all of them see, then each row over its own
 * rest: what stands behind the mask is never multiplied, not even by 0, so a
 * NaN there stays there.  Tiles and blocks above the diagonal are skipped.
 *
 * A task is one head of one batch row: it owns that head's gradients, so every
 * sum has one order.  Packed rows are padded with zeros to whole vectors, k
 * and v are also transposed, so that a vector holds one coordinate of
 * consecutive keys.  Up to FEW queries (decoding) are not worth the packing;
 * they read k and v as they lie.
 */
#include <assert.h>
#include <math.h>
#include "base/elementary.h"
#include "kernels/fast.h"
#include "kernels/simd.h"
#include "kernels/simd_math.h"

enum {
    ROWS = 32, KEYS = 64,               /* a tile */
    MR = VEC_LANES == 16 ? 8 : 4,       /* rows of a block, held in registers */
    FEW = 4
};
_Static_assert(ROWS % MR == 0 && KEYS % (2 * VEC_LANES) == 0 && VEC_LANES % MR == 0,
               "tiles are whole blocks");

typedef struct job {
    float *out, *lse, *dq, *dk, *dv;
    const float *dout, *row_out, *row_lse, *q, *k, *v;
    size_t ldq, ldkv, ldo;              /* from one position's row to the next */
    size_t T, P, S, NH, HS, width;      /* width: HS in whole vectors */
    float scale;                        /* 1 / sqrt(HS) */
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

/* c[r] = (fresh ? 0 : c[r]) + sum_{k<K} a[r,k] b[k] for MR rows r of `vectors`
 * (1 or 2) vectors; a[r,k] is at a + r*ra + k*ka, b[k] at b + k*ldb. */
VEC_INLINE void block(float *c, size_t ldc, const float *a, size_t ra, size_t ka,
                         const float *b, size_t ldb, size_t K, int vectors, bool fresh)
{
    vec x[MR][2];
    VEC_UNROLL
    for (size_t r = 0; r < MR; r++)
        for (int j = 0; j < vectors; j++)
            x[r][j] = fresh ? vec_zero() : vec_load(c + r * ldc + j * VEC_LANES);
    for (size_t k = 0; k < K; k++, a += ka, b += ldb) {
        const vec b0 = vec_load(b), b1 = vectors == 2 ? vec_load(b + VEC_LANES) : b0;
        VEC_UNROLL
        for (size_t r = 0; r < MR; r++) {
            const vec s = vec_set1(a[r * ra]);
            x[r][0] = vec_fma(s, b0, x[r][0]);
            if (vectors == 2) x[r][1] = vec_fma(s, b1, x[r][1]);
        }
    }
    VEC_UNROLL
    for (size_t r = 0; r < MR; r++)
        for (int j = 0; j < vectors; j++)
            vec_store(c + r * ldc + j * VEC_LANES, x[r][j]);
}

/* Adds to MR rows of c, n numbers wide (whole vectors). */
static void blocks(float *c, size_t ldc, const float *a, size_t ra, size_t ka,
                   const float *b, size_t ldb, size_t K, size_t n)
{
    size_t j = 0;
    for (; j + 2 * VEC_LANES <= n; j += 2 * VEC_LANES)
        block(c + j, ldc, a, ra, ka, b + j, ldb, K, 2, false);
    if (j < n) block(c + j, ldc, a, ra, ka, b + j, ldb, K, 1, false);
}

/* c += s b, n numbers (whole vectors). */
static inline void add_row(float *c, float s, const float *b, size_t n)
{
    const vec x = vec_set1(s);
    for (size_t j = 0; j < n; j += VEC_LANES)
        vec_store(c + j, vec_fma(x, vec_load(b + j), vec_load(c + j)));
}

/* s[r,u] = sum_i a[r,i] bt[i,u] in the blocks that hold a key to be seen;
 * s is (ROWS, KEYS), a (ROWS, width), bt (HS, KEYS). */
static void scores(float *s, const float *a, const float *bt, const job *z, const tile *p)
{
    for (size_t j = 0; j < sees(p, p->rows - 1); j += 2 * VEC_LANES)
        for (size_t r = 0; r < p->rows; r += MR) {
            const size_t n = sees(p, r + MR - 1);
            float *c = s + r * KEYS + j;
            const float *rows = a + r * z->width;
            if (n > j + VEC_LANES) block(c, KEYS, rows, z->width, 1, bt + j, KEYS, z->HS, 2, true);
            else if (n > j)        block(c, KEYS, rows, z->width, 1, bt + j, KEYS, z->HS, 1, true);
        }
}

/* c[r] += sum_u s[r,u] b[u] over the keys u that query r sees; rows of c and b
 * are `width` wide. */
static void add_to_queries(float *c, const float *s, const float *b, size_t width, const tile *p)
{
    for (size_t r0 = 0; r0 < p->rows; r0 += MR) {
        const size_t all = sees(p, r0), end = least(r0 + MR, p->rows);
        if (all > 0) blocks(c + r0 * width, width, s + r0 * KEYS, KEYS, 1, b, width, all, width);
        for (size_t r = r0 + 1; r < end; r++)
            for (size_t u = all; u < sees(p, r); u++)
                add_row(c + r * width, s[r * KEYS + u], b + u * width, width);
    }
}

/* c[u] += sum_r s[r,u] b[r] over the queries r that see key u. */
static void add_to_keys(float *c, const float *s, const float *b, size_t width, const tile *p)
{
    for (size_t u0 = 0; u0 < p->keys; u0 += MR) {
        const size_t end = least(u0 + MR, p->keys);
        const size_t all = least(seen_from(p, end - 1), p->rows);   /* these see every key */
        for (size_t r = seen_from(p, u0); r < all; r++)
            for (size_t u = u0; u < least(end, sees(p, r)); u++)
                add_row(c + u * width, s[r * KEYS + u], b + r * width, width);
        if (all < p->rows)
            blocks(c + u0 * width, width, s + all * KEYS + u0, 1, KEYS, b + all * width, width,
                   p->rows - all, width);
    }
}

/* ---- packing ----------------------------------------------------------- */

/* Asks for row r of the rows at `from`, if there is one: it will be needed
 * soon, and rows lie too far apart for the processor to guess the next. */
enum { AHEAD = 16, LINE = 16 };         /* rows; floats */
static inline void ask(const float *from, size_t ld, size_t r, size_t rows, const job *z)
{
    for (size_t i = 0; r < rows && i < z->HS; i += LINE) VEC_PREFETCH(from + r * ld + i);
}

/* `rows` rows of HS numbers times `scale`, then zeros, into rows of `width`. */
static void pack(float *to, const float *from, size_t ld, size_t rows, size_t padded,
                 float scale, const job *z)
{
    const vec x = vec_set1(scale);
    for (size_t r = 0; r < rows; r++) {
        ask(from, ld, r + AHEAD, rows, z);
        for (size_t i = 0; i < z->width; i += VEC_LANES)
            vec_store(to + r * z->width + i,
                      vec_mul(x, vec_load_n(from + r * ld + i, least(z->HS - i, VEC_LANES))));
    }
    for (size_t i = rows * z->width; i < padded * z->width; i++) to[i] = 0;
}

/* (keys, HS) into (HS, KEYS), zeros beyond, a square of vectors at a time. */
static void transpose(float *to, const float *from, size_t ld, size_t keys, const job *z)
{
    for (size_t u = 0; u < KEYS; u += VEC_LANES)
        for (size_t i = 0; i < z->HS; i += VEC_LANES) {
            const size_t n = least(z->HS - i, VEC_LANES);
            vec r[VEC_LANES];
            for (size_t j = 0; j < VEC_LANES; j++) {
                if (i == 0) ask(from, ld, u + j + AHEAD, keys, z);
                r[j] = u + j < keys ? vec_load_n(from + (u + j) * ld + i, n) : vec_zero();
            }
            vec_transpose(r);
            for (size_t j = 0; j < n; j++) vec_store(to + (i + j) * KEYS + u, r[j]);
        }
}

/* to += scale from, rows of HS numbers. */
static void unpack_add(float *to, size_t ld, const float *from, size_t rows, float scale,
                       const job *z)
{
    const vec x = vec_set1(scale);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < z->HS; i += VEC_LANES) {
            const size_t n = least(z->HS - i, VEC_LANES);
            const vec old = vec_load_n(to + r * ld + i, n);
            vec_store_n(to + r * ld + i, vec_fma(x, vec_load(from + r * z->width + i), old), n);
        }
}

/* ---- forward ----------------------------------------------------------- */

/* One row's step of the running softmax over its n >= 1 visible scores, which
 * become e (0 beyond them, to the end of their last vector). */
static void softmax_row(float *s, size_t n, float *m, float *l, float *o, size_t width)
{
    const vec none = vec_set1(-INFINITY);
    vec top = none;
    for (size_t u = 0; u < n; u += VEC_LANES)
        top = vec_max(vec_select(vec_first(least(n - u, VEC_LANES)), vec_load(s + u), none), top);
    const float tile_max = vec_hmax(top), max = tile_max > *m ? tile_max : *m;
    /* Every score so far -Inf: their weights are 0, not exp(-Inf + Inf). */
    const float base = max == -INFINITY ? 0 : max;
    const vec b = vec_set1(base);
    vec sum = vec_zero();
    for (size_t u = 0; u < n; u += VEC_LANES) {
        const vmask seen = vec_first(least(n - u, VEC_LANES));
        const vec e = vec_exp(vec_sub(vec_select(seen, vec_load(s + u), none), b));
        vec_store(s + u, e);
        sum = vec_add(sum, e);
    }
    if (max > *m && *m > -INFINITY) {                    /* before, all is 0 */
        const float a = exp_f32(*m - base);
        const vec x = vec_set1(a);
        for (size_t i = 0; i < width; i += VEC_LANES)
            vec_store(o + i, vec_mul(x, vec_load(o + i)));
        *l *= a;
    }
    *l += vec_sum(sum);
    *m = max;
}

static void finish_row(float *out, float *lse, const float *o, float m, float l, size_t HS)
{
    const vec x = vec_set1(1 / l);
    for (size_t i = 0; i < HS; i += VEC_LANES)
        vec_store_n(out + i, vec_mul(x, vec_load(o + i)), least(HS - i, VEC_LANES));
    *lse = m + logf(l);
}

/* Where the head's rows start. */
typedef struct head { size_t q, kv, o, lse; } head;
static head head_of(const job *z, size_t i)
{
    const size_t b = i / z->NH, h = i % z->NH;
    return (head){ b * z->T * z->ldq + h * z->HS, b * z->S * z->ldkv + h * z->HS,
                   b * z->T * z->ldo + h * z->HS, (b * z->NH + h) * z->T };
}

static void forward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    const head at = head_of(z, i);
    const size_t T = z->T, padded = whole(T, ROWS), width = z->width;
    float *q = team_scratch(z->tm, worker), *o = q + padded * width;
    float *m = o + padded * width, *l = m + padded;
    float *kt = l + padded, *v = kt + z->HS * KEYS, *s = v + KEYS * width;

    pack(q, z->q + at.q, z->ldq, T, padded, z->scale, z);
    for (size_t j = 0; j < padded * width; j++) o[j] = 0;
    for (size_t t = 0; t < T; t++) m[t] = -INFINITY, l[t] = 0;

    for (size_t u0 = 0; u0 < z->S; u0 += KEYS) {
        tile p = { .keys = least(KEYS, z->S - u0), .before = u0 };
        transpose(kt, z->k + at.kv + u0 * z->ldkv, z->ldkv, p.keys, z);
        pack(v, z->v + at.kv + u0 * z->ldkv, z->ldkv, p.keys, KEYS, 1, z);
        for (size_t t0 = 0; t0 < T; t0 += ROWS) {
            p.rows = least(ROWS, T - t0);
            p.seen = z->P + t0 + 1;
            if (sees(&p, p.rows - 1) == 0) continue;
            scores(s, q + t0 * width, kt, z, &p);
            for (size_t r = 0; r < p.rows; r++)
                if (sees(&p, r) > 0)
                    softmax_row(s + r * KEYS, sees(&p, r), m + t0 + r, l + t0 + r,
                                o + (t0 + r) * width, width);
            add_to_queries(o + t0 * width, s, v, width, &p);
        }
    }
    for (size_t t = 0; t < T; t++)
        finish_row(z->out + at.o + t * z->ldo, z->lse + at.lse + t, o + t * width, m[t], l[t],
                   z->HS);
}

/* The same for few queries, with k and v as they lie. */
static void forward_few_task(void *context, size_t i, int worker)
{
    const job *z = context;
    const head at = head_of(z, i);
    const size_t HS = z->HS, width = z->width;
    float *q = team_scratch(z->tm, worker), *o = q + width, *s = o + width;

    for (size_t t = 0; t < z->T; t++) {
        float m = -INFINITY, l = 0;
        pack(q, z->q + at.q + t * z->ldq, z->ldq, 1, 1, z->scale, z);
        for (size_t j = 0; j < width; j++) o[j] = 0;
        const size_t seen = z->P + t + 1;
        for (size_t u0 = 0; u0 < seen; u0 += KEYS) {
            const size_t keys = least(KEYS, seen - u0);
            const float *k = z->k + at.kv + u0 * z->ldkv, *v = z->v + at.kv + u0 * z->ldkv;
            for (size_t u = 0; u < keys; u++, k += z->ldkv) {
                vec dot = vec_zero();
                for (size_t j = 0; j < HS; j += VEC_LANES)
                    dot = vec_fma(vec_load(q + j), vec_load_n(k + j, least(HS - j, VEC_LANES)), dot);
                s[u] = vec_sum(dot);
            }
            softmax_row(s, keys, &m, &l, o, width);
            for (size_t j = 0; j < width; j += VEC_LANES) {
                vec x = vec_load(o + j);
                const size_t n = least(HS - j, VEC_LANES);
                for (size_t u = 0; u < keys; u++)
                    x = vec_fma(vec_set1(s[u]), vec_load_n(v + u * z->ldkv + j, n), x);
                vec_store(o + j, x);
            }
        }
        finish_row(z->out + at.o + t * z->ldo, z->lse + at.lse + t, o, m, l, HS);
    }
}

/* ---- backward ---------------------------------------------------------- */

/* Scores s and da of n visible keys become a and ds; no sum reads what stands
 * beyond. */
static void weights_row(float *s, float *da, size_t n, float lse, float D)
{
    const vec x = vec_set1(lse), d = vec_set1(D);
    for (size_t u = 0; u < n; u += VEC_LANES) {
        const vec a = vec_exp(vec_sub(vec_load(s + u), x));
        vec_store(s + u, a);
        vec_store(da + u, vec_mul(a, vec_sub(vec_load(da + u), d)));
    }
}

static float dot_rows(const float *a, const float *b, size_t n)
{
    vec sum = vec_zero();
    for (size_t i = 0; i < n; i += VEC_LANES) {
        const size_t left = least(n - i, VEC_LANES);
        sum = vec_fma(vec_load_n(a + i, left), vec_load_n(b + i, left), sum);
    }
    return vec_sum(sum);
}

static void backward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    const head at = head_of(z, i);
    const size_t T = z->T, HS = z->HS, padded = whole(T, ROWS), width = z->width;
    float *q = team_scratch(z->tm, worker), *dout = q + padded * width;
    float *dq = dout + padded * width, *D = dq + padded * width;
    float *kt = D + padded, *vt = kt + HS * KEYS, *k = vt + HS * KEYS;
    float *dk = k + KEYS * width, *dv = dk + KEYS * width;
    float *s = dv + KEYS * width, *da = s + ROWS * KEYS;

    pack(q, z->q + at.q, z->ldq, T, padded, z->scale, z);
    pack(dout, z->dout + at.o, z->ldo, T, padded, 1, z);
    for (size_t j = 0; j < padded * width; j++) dq[j] = 0;
    for (size_t t = 0; t < T; t++) {
        ask(z->row_out + at.o, z->ldo, t + AHEAD, T, z);
        D[t] = dot_rows(dout + t * width, z->row_out + at.o + t * z->ldo, HS);
    }

    for (size_t u0 = 0; u0 < z->S; u0 += KEYS) {
        tile p = { .keys = least(KEYS, z->S - u0), .before = u0 };
        const size_t row = at.kv + u0 * z->ldkv;
        transpose(kt, z->k + row, z->ldkv, p.keys, z);
        transpose(vt, z->v + row, z->ldkv, p.keys, z);
        pack(k, z->k + row, z->ldkv, p.keys, KEYS, 1, z);
        for (size_t j = 0; j < KEYS * width; j++) dk[j] = dv[j] = 0;
        for (size_t t0 = 0; t0 < T; t0 += ROWS) {
            p.rows = least(ROWS, T - t0);
            p.seen = z->P + t0 + 1;
            if (sees(&p, p.rows - 1) == 0) continue;
            scores(s, q + t0 * width, kt, z, &p);
            scores(da, dout + t0 * width, vt, z, &p);
            for (size_t r = 0; r < p.rows; r++) {
                const size_t t = t0 + r;
                ask(z->dk + row, z->ldkv, t % KEYS, p.keys, z);
                ask(z->dv + row, z->ldkv, t % KEYS, p.keys, z);
                if (u0 + KEYS >= z->S) ask(z->dq + at.q, z->ldq, t, T, z);
                weights_row(s + r * KEYS, da + r * KEYS, sees(&p, r), z->row_lse[at.lse + t], D[t]);
            }
            add_to_keys(dv, s, dout + t0 * width, width, &p);
            add_to_keys(dk, da, q + t0 * width, width, &p);
            add_to_queries(dq + t0 * width, da, k, width, &p);
        }
        unpack_add(z->dk + row, z->ldkv, dk, p.keys, 1, z);
        unpack_add(z->dv + row, z->ldkv, dv, p.keys, 1, z);
    }
    unpack_add(z->dq + at.q, z->ldq, dq, T, z->scale, z);
}

/* ---- calls ------------------------------------------------------------- */

/* Floats of scratch that a worker needs; backward's need is the larger one. */
static size_t need(size_t T, size_t HS)
{
    const size_t padded = whole(T, ROWS), width = whole(HS, VEC_LANES);
    return 3 * padded * width + 2 * padded + 2 * HS * KEYS + 3 * KEYS * width + 2 * ROWS * KEYS;
}

void FAST(attention_scratch)(const ops_sizes *z, size_t *worker, size_t *shared)
{
    (void)shared;
    fast_raise(worker, need((size_t)z->T, (size_t)z->HS), sizeof(float));
}

static job make_job(team *tm, int B, int T, int P, int NH, int HS, size_t ldq, size_t ldkv)
{
    assert(B > 0 && T > 0 && P >= 0 && NH > 0 && HS > 0);
    assert(need((size_t)T, (size_t)HS) * sizeof(float) <= team_scratch_bytes(tm));
    return (job){ .T = (size_t)T, .P = (size_t)P, .S = (size_t)P + (size_t)T, .NH = (size_t)NH,
                  .HS = (size_t)HS, .width = whole((size_t)HS, VEC_LANES), .ldq = ldq,
                  .ldkv = ldkv, .ldo = (size_t)NH * (size_t)HS, .scale = 1 / sqrtf((float)HS),
                  .tm = tm };
}

void FAST(attention_forward)(team *tm, float *out, float *lse, const float *q, size_t ldq,
                             const float *k, const float *v, size_t ldkv,
                             int B, int T, int P, int NH, int HS)
{
    job z = make_job(tm, B, T, P, NH, HS, ldq, ldkv);
    z.out = out, z.lse = lse, z.q = q, z.k = k, z.v = v;
    team_run(tm, (size_t)B * (size_t)NH, T <= FEW ? forward_few_task : forward_task, &z);
}

void FAST(attention_backward)(team *tm, float *dq, float *dk, float *dv,
                              const float *dout, const float *out, const float *lse,
                              const float *q, size_t ldq, const float *k, const float *v,
                              size_t ldkv, int B, int T, int P, int NH, int HS)
{
    job z = make_job(tm, B, T, P, NH, HS, ldq, ldkv);
    z.dq = dq, z.dk = dk, z.dv = dv, z.dout = dout, z.row_out = out, z.row_lse = lse;
    z.q = q, z.k = k, z.v = v;
    team_run(tm, (size_t)B * (size_t)NH, backward_task, &z);
}
