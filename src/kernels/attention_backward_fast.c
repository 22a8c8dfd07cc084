/* attention_backward_fast.c -- the gradients of tiled causal attention; the equations,
 * and how the work is shared out, are in attention_fast.c.
 */
#include "kernels/attention_tiles.h"
#include "kernels/simd_math.h"

/* c[u] += sum_t s[u,t] b[t] over the queries t that see key u. */
static void add_to_keys(sums c, const float *s, const float *b, size_t ldb, size_t width, const tile *z)
{
    for (size_t u = 0, rows; u < z->keys; u += rows) {
        rows = step_of(z->keys - u);
        const size_t all = least(seen_from(z, u + rows - 1), z->rows);  /* these see every key */
        const product p = { .c = sums_at(c, u), .a = s + u * ROWS, .ra = ROWS, .b = b, .ldb = ldb,
                            .from = all, .K = z->rows, .corner = z->before + u + 1 - z->seen,
                            .end = z->rows };
        blocks(p, rows, width, UPPER);
    }
}

/* to += scale from, rows of HS numbers. */
static void unpack_add(float *to, size_t ld, const float *from, size_t rows, float scale,
                       const job *z)
{
    const size_t rest = z->HS % VEC_LANES, full = z->HS - rest, width = z->width;
    const vec x = vec_set1(scale);
    for (size_t r = 0; r < rows; r++, to += ld, from += width) {
        for (size_t i = 0; i < full; i += VEC_LANES)
            vec_store(to + i, vec_fma(x, vec_load(from + i), vec_load(to + i)));
        if (rest) {
            const vec old = vec_load_n(to + full, rest);
            vec_store_n(to + full, vec_fma(x, vec_load(from + full), old), rest);
        }
    }
}

/* Scores s and da of a panel become a and ds; no sum reads what stands behind
 * the mask. */
static void weights(float *s, float *da, const float *lse2, const float *D, const tile *p)
{
    for (size_t j = 0; j < p->rows; j += VEC_LANES) {
        const vec x = vec_load(lse2 + j), d = vec_load(D + j);
        const size_t any = sees(p, j + VEC_LANES - 1);
        for (size_t u = 0; u < any; u++) {
            const vec less = vec_sub(vec_load(s + u * ROWS + j), x);     /* < 0 but for rounding */
            const vec a = vec_exp2(vec_min(vec_set1(0), less));
            vec_store(s + u * ROWS + j, a);
            vec_store(da + u * ROWS + j, vec_mul(a, vec_sub(vec_load(da + u * ROWS + j), d)));
        }
    }
}

static float dot_rows(const float *a, const float *b, size_t n)
{
    vec sum = vec_zero();
    size_t i = 0;
    for (; i + VEC_LANES <= n; i += VEC_LANES) sum = vec_fma(vec_load(a + i), vec_load(b + i), sum);
    if (i < n) sum = vec_fma(vec_load_n(a + i, n - i), vec_load_n(b + i, n - i), sum);
    return vec_sum(sum);
}

/* A worker's scratch of a backward task, and what it reads and writes. */
typedef struct room {
    float *q, *dout, *qt, *dot, *dq, *D, *lse2;             /* of the block of queries */
    float *kcopy, *vcopy, *dk, *dv, *s, *da;                /* of a tile */
    const float *q1, *dout1, *k, *v;                        /* the copies, or as they lie */
    float *dq1;
    size_t ldq, ldo, ld;                                    /* of q1 and dq1, dout1, k and v */
    bool direct;                    /* rows are whole vectors, and fill the blocks of products */
} room;

/* Sums that are kept at `at`: they begin with 0 where `first`, and the `last` are added to
 * `to`, times `scale`. */
static sums sums_of(float *at, size_t width, bool first, bool last, float *to, size_t ld, float scale)
{
    return (sums){ .from = first ? NULL : at, .ldfrom = width, .to = last ? to : at,
                   .ldto = last ? ld : width, .onto = last ? scale : 0 };
}

/* One tile of keys, u0 .. u0+keys-1, against the block's `rows` queries, the first of
 * which sees `seen` keys.  The tile's first row of k is at k + row; `more` keys follow.
 * `begins`: nothing has been added to dq yet. */
static void backward_keys(const job *z, const room *w, size_t rows, size_t seen, size_t u0,
                          size_t keys, size_t row, size_t more, bool begins)
{
    const size_t width = z->width;
    bool first = true;
    for (size_t t0 = 0; t0 < rows; t0 += ROWS) {
        const tile all = { .rows = least(ROWS, rows - t0), .keys = keys, .before = u0,
                           .seen = seen + t0 };
        /* What is needed next: these gradients, and the next tile of keys. */
        const size_t part = t0 / ROWS, parts = (rows + ROWS - 1) / ROWS;
        ask_part(z->dk + row, z->ldkv, keys, part, parts, z);
        ask_part(z->dv + row, z->ldkv, keys, part, parts, z);
        ask_part(z->k + row + KEYS * z->ldkv, z->ldkv, more, part, parts, z);
        ask_part(z->v + row + KEYS * z->ldkv, z->ldkv, more, part, parts, z);
        if (sees(&all, all.rows - 1) == 0) continue;
        for (size_t t = 0; t < all.rows; t += PANEL) {
            const tile p = { .rows = least(PANEL, all.rows - t), .keys = keys, .before = u0,
                             .seen = all.seen + t };
            scores(w->s + t, ROWS, w->k, w->ld, w->qt + (t0 + t) * z->HS, z, &p);
            scores(w->da + t, ROWS, w->v, w->ld, w->dot + (t0 + t) * z->HS, z, &p);
            weights(w->s + t, w->da + t, w->lse2 + t0 + t, w->D + t0 + t, &p);
        }
        const bool last = w->direct && t0 + all.rows == rows;
        const bool ends = w->direct && (more == 0 || all.seen + all.rows - 1 <= u0 + keys);
        add_to_keys(sums_of(w->dv, width, first, last, z->dv + row, z->ldkv, 1), w->s,
                    w->dout1 + t0 * w->ldo, w->ldo, width, &all);
        add_to_keys(sums_of(w->dk, width, first, last, z->dk + row, z->ldkv, z->scale), w->da,
                    w->q1 + t0 * w->ldq, w->ldq, width, &all);
        add_to_queries(sums_of(w->dq + t0 * width, width, begins, ends, w->dq1 + t0 * z->ldq, z->ldq,
                               z->scale), w->da, ROWS, w->k, w->ld, width, &all);
        first = false;
    }
}

/* Asks for what the next task begins with. */
static void ask_head(const job *z, head at)
{
    ask_part(z->q + at.q, z->ldq, z->T, 0, 1, z);
    ask_part(z->dout + at.o, z->ldo, z->T, 0, 1, z);
    ask_part(z->row_out + at.o, z->ldo, z->T, 0, 1, z);
    ask_part(z->k + at.kv, z->ldkv, least(KEYS, z->S), 0, 1, z);
    ask_part(z->v + at.kv, z->ldkv, least(KEYS, z->S), 0, 1, z);
}

static void backward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    const size_t HS = z->HS, width = z->width, padded = whole(z->block, PANEL);
    const size_t block = i % z->blocks, key_blocks = (z->S + z->block - 1) / z->block;
    const size_t t0 = block * z->block, rows = least(z->block, z->T - t0);
    const size_t seen = z->P + t0 + 1, from = (block + z->pass) % key_blocks * z->block;
    const size_t end = least(from + z->block, seen + rows - 1);
    if (from >= end) return;

    const head at = head_of(z, i / z->blocks);
    const size_t q = at.q + t0 * z->ldq, o = at.o + t0 * z->ldo;
    float *x = team_scratch(z->tm, worker);
    room w;
    w.q = x, w.dout = w.q + padded * width, w.dq = w.dout + padded * width;
    w.qt = w.dq + padded * width, w.dot = w.qt + padded * HS, w.D = w.dot + padded * HS;
    w.lse2 = w.D + padded, w.kcopy = w.lse2 + padded, w.vcopy = w.kcopy + KEYS * width;
    w.dk = w.vcopy + KEYS * width, w.dv = w.dk + KEYS * width, w.s = w.dv + KEYS * width;
    w.da = w.s + KEYS * ROWS;

    w.direct = HS % WIDE == 0 && rows % STEP == 0 && (end - from) % STEP == 0;
    w.dq1 = z->dq + q;
    const bool few = rows <= 2 * PANEL && w.direct;
    if (!few || i == 0) {
        ask_part(z->k + at.kv + from * z->ldkv, z->ldkv, least(KEYS, end - from), 0, 1, z);
        ask_part(z->v + at.kv + from * z->ldkv, z->ldkv, least(KEYS, end - from), 0, 1, z);
    }
    w.q1 = z->q + q, w.ldq = z->ldq, w.dout1 = z->dout + o, w.ldo = z->ldo;
    if (!few) {
        pack(w.q, w.q1, w.ldq, rows, rows, z);
        pack(w.dout, w.dout1, w.ldo, rows, rows, z);
        w.q1 = w.q, w.dout1 = w.dout, w.ldq = w.ldo = width;
    }
    pack_panels(w.qt, w.q1, w.ldq, rows, z->scale2, z);
    pack_panels(w.dot, w.dout1, w.ldo, rows, 1, z);
    if (!w.direct) fill(w.dq, 0, padded * width);
    for (size_t t = 0; t < padded; t++) {
        if (t + AHEAD < rows) ask(z->row_out + o, z->ldo, t + AHEAD, z);
        w.D[t] = t < rows ? dot_rows(w.dout1 + t * w.ldo, z->row_out + o + t * z->ldo, HS) : 0;
        w.lse2[t] = t < rows ? (float)(LOG2_E * (double)z->row_lse[at.lse + t0 + t]) : 0;
    }
    for (size_t u0 = from; u0 < end; u0 += KEYS) {
        const size_t keys = least(KEYS, end - u0), row = at.kv + u0 * z->ldkv;
        w.k = z->k + row, w.v = z->v + row, w.ld = z->ldkv;
        if (!w.direct || rows > SOME) {
            pack(w.kcopy, w.k, z->ldkv, keys, whole(keys, STEP), z);
            pack(w.vcopy, w.v, z->ldkv, keys, whole(keys, STEP), z);
            w.k = w.kcopy, w.v = w.vcopy, w.ld = width;
        }
        if (u0 + keys == end) ask_part(z->dq + q, z->ldq, rows, 0, 1, z);
        if (u0 + keys == end && few && z->blocks == 1 && i + 1 < z->heads) ask_head(z, head_of(z, i + 1));
        backward_keys(z, &w, rows, seen, u0, keys, row, least(KEYS, end - u0 - keys),
                      w.direct && u0 == from);
        if (w.direct) continue;
        unpack_add(z->dk + row, z->ldkv, w.dk, keys, z->scale, z);
        unpack_add(z->dv + row, z->ldkv, w.dv, keys, 1, z);
    }
    if (!w.direct) unpack_add(z->dq + q, z->ldq, w.dq, rows, z->scale, z);
}

void FAST(attention_backward)(team *tm, float *dq, float *dk, float *dv,
                              const float *dout, const float *out, const float *lse,
                              const float *q, size_t ldq, const float *k, const float *v,
                              size_t ldkv, int B, int T, int P, int NH, int HS)
{
    job z = make_job(tm, B, T, P, NH, HS, ldq, ldkv);
    z.dq = dq, z.dk = dk, z.dv = dv, z.dout = dout, z.row_out = out, z.row_lse = lse;
    z.q = q, z.k = k, z.v = v;
    for (; z.pass * z.block < z.S; z.pass++) team_run(tm, z.heads * z.blocks, backward_task, &z);
}
