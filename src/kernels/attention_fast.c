/* attention_fast.c -- causal attention in tiles: no (T, S) stage is stored.
 *
 * The queries meet one tile of keys after the other (Milakov and Gimelshein
 * 2018 for the running softmax; Dao et al. 2022, FlashAttention), in powers of
 * two, which cost less than those of e:
 *
 *  s[t,u]  = (q[t] log2(e) / sqrt(HS)) . k[u],  u <= P + t  (attn.scores, .scaled)
 *  m'      = max(m, max_u s[t,u])          over the tile's keys, m from before
 *  e[t,u]  = 2^(s[t,u] - m'),   a = 2^(m - m')
 *  l      <- a l + sum_u e[t,u],   o[t] <- a o[t] + sum_u e[t,u] v[u]
 *  out[t]  = o[t] / l,   lse[t] = m log 2 + log l    (attn.softmax, attn.values)
 *
 * for 2^(s - m) / sum 2^(s - m) is the same with every m.  Backward makes the
 * weights again from the one number that each row has kept:
 *
 *  a[t,u]  = 2^(s[t,u] - lse[t] log2(e))
 *  D[t]    = sum_i do[t,i] out[t,i]                       = sum_u a[t,u] da[t,u]
 *  ds[t,u] = a[t,u] (da[t,u] - D[t])                                 (attn.ds)
 *
 * and dv, dq, dk as in the definition; 1/sqrt(HS) is multiplied into dq and dk at
 * the end (attention_backward_fast.c).
 *
 * A tile of scores lies key by key, s[u,t], with consecutive queries in a vector:
 * maxima, exponentials and sums of that many softmax rows go side by side, and
 * only q (backward: q and do) must be transposed, once for all the keys it meets.
 *
 * The mask is a loop bound.  Where the diagonal crosses a block of rows, the
 * block runs over the keys that all of them see, then over the corner, a step for
 * each key with only those rows that see it: what stands behind the mask is never
 * multiplied, not even by 0, so a NaN there stays there.  Tiles and blocks above
 * the diagonal are skipped.
 *
 * Tasks.  Forward: a head's block of queries, with all the keys they see, the last
 * blocks, which see most, first.  Backward: a block of queries against a block
 * of keys; in one pass over the team each block of queries meets another block
 * of keys, so that no two tasks add to the same gradient, and the passes follow
 * one another in a fixed order.  The size of a block follows from the shape.
 * Scratch memory is that of a block, whatever T is.
 *
 * Where rows are whole vectors and fill the blocks of products, the last product of a row
 * writes the result, or adds to it; else a copy of it does.  There up to SOME queries read k
 * and v where they lie (backward, up to two panels: q and do, too); more are worth a copy.
 * Up to FEW (decoding) are not worth any packing, and no query is in a page's module, whose
 * windows are short and whose size counts.
 */
#include <math.h>
#include "kernels/attention_tiles.h"
#include "kernels/simd_math.h"

/* ---- forward ----------------------------------------------------------- */

/* The step of the running softmax of up to PANEL rows: scores become e, a is what o has to be
 * multiplied by, r what it has to be at the end, if this step is the last.  Every score of a
 * row so far -Inf: its weights are 0, not 2^(-Inf + Inf), and so is all before. */
static void softmax(float *s, float *m, float *l, float *a, float *r, const tile *p)
{
    const vec none = vec_set1(-INFINITY);
    for (size_t j = 0; j < p->rows; j += VEC_LANES) {
        const size_t all = sees(p, j), any = sees(p, j + VEC_LANES - 1);
        const vec before = vec_load(m + j);
        vec top[4] = { before, none, none, none };
        size_t u = 0;
        for (; u + 4 <= all; u += 4) {
            VEC_UNROLL
            for (size_t c = 0; c < 4; c++) top[c] = vec_max(vec_load(s + (u + c) * PANEL + j), top[c]);
        }
        for (; u < any; u++) {
            const vmask masked = vec_first(u < all ? 0 : seen_from(p, u) - j);
            const vec x = vec_select(masked, none, vec_load(s + u * PANEL + j));
            vec_store(s + u * PANEL + j, x);
            top[0] = vec_max(x, top[0]);
        }
        const vec max = vec_max(vec_max(top[0], top[1]), vec_max(top[2], top[3]));
        const vec base = vec_select(vec_eq(max, none), vec_zero(), max);
        vec sum = vec_zero();
        for (u = 0; u < any; u++) {
            const vec e = vec_exp2(vec_sub(vec_load(s + u * PANEL + j), base));
            vec_store(s + u * PANEL + j, e);
            sum = vec_add(sum, e);
        }
        const vec shrink = vec_exp2(vec_sub(before, base));
        vec_store(a + j, shrink);
        const vec total = vec_fma(vec_load(l + j), shrink, sum);
        vec_store(l + j, total);
        vec_store(r + j, vec_div(vec_set1(1), total));
        vec_store(m + j, max);
    }
}

static void finish_row(float *out, const float *o, float l, size_t HS)
{
    const vec x = vec_set1(1 / l);
    for (size_t i = 0; i < HS; i += VEC_LANES)
        if (i + VEC_LANES <= HS) vec_store(out + i, vec_mul(x, vec_load(o + i)));
        else vec_store_n(out + i, vec_mul(x, vec_load(o + i)), HS - i);
}

/* Asks for a part of what a task begins with. */
static void ask_task(const job *z, size_t i, size_t part, size_t parts)
{
    if (i >= z->heads * z->blocks) return;
    const head at = head_of(z, i % z->heads);
    const size_t keys = least(KEYS, z->P + z->T);
    if (z->blocks == 1) ask_part(z->q + at.q, z->ldq, least(z->T, KEYS), part, parts, z);
    ask_part(z->k + at.kv, z->ldkv, keys, part, parts, z);
    ask_part(z->v + at.kv, z->ldkv, keys, part, parts, z);
}

static void forward_task(void *context, size_t i, int worker)
{
    const job *z = context;
    const head at = head_of(z, i % z->heads);
    const size_t t0 = (z->blocks - 1 - i / z->heads) * z->block;
    const size_t rows = least(z->block, z->T - t0), padded = whole(z->block, PANEL);
    const size_t seen = z->P + t0 + 1, end = seen + rows - 1, width = z->width;
    float *qt = team_scratch(z->tm, worker), *o = qt + padded * z->HS;
    float *m = o + padded * width, *l = m + padded, *a = l + padded;
    float *r = a + PANEL, *k = r + PANEL, *v = k + KEYS * width, *s = v + KEYS * width;
    const bool whole_rows = z->HS % WIDE == 0, direct = whole_rows && rows % STEP == 0;
    const bool few = whole_rows && rows <= SOME;

    if (i == 0 || !few) ask_task(z, i, 0, 1);
    pack_panels(qt, z->q + at.q + t0 * z->ldq, z->ldq, rows, z->scale2, z);
    fill(m, -INFINITY, padded);
    fill(l, 0, padded);
    for (size_t u0 = 0; u0 < end; u0 += KEYS) {
        const size_t keys = least(KEYS, end - u0), row = at.kv + u0 * z->ldkv;
        const size_t next = row + KEYS * z->ldkv, more = least(KEYS, end - u0 - keys);
        const bool lie = few && keys % STEP == 0;
        const float *k1 = lie ? z->k + row : k, *v1 = lie ? z->v + row : v;
        const size_t ld = lie ? z->ldkv : width;
        if (!lie) {
            pack(k, z->k + row, z->ldkv, keys, whole(keys, STEP), z);
            pack(v, z->v + row, z->ldkv, keys, keys, z);
        }
        for (size_t t = 0; t < rows; t += PANEL) {
            const tile p = { .rows = least(PANEL, rows - t), .keys = keys, .before = u0,
                             .seen = seen + t };
            ask_part(z->k + next, z->ldkv, more, t / PANEL, padded / PANEL, z);
            ask_part(z->v + next, z->ldkv, more, t / PANEL, padded / PANEL, z);
            if (few && more == 0) ask_task(z, i + 1, t / PANEL, padded / PANEL);
            if (sees(&p, p.rows - 1) == 0) continue;
            scores(s, PANEL, k1, ld, qt + t * z->HS, z, &p);
            softmax(s, m + t, l + t, a, r, &p);
            const bool last = direct && p.seen + p.rows - 1 <= u0 + keys;
            const sums c = { .from = u0 == 0 ? NULL : o + t * width, .ldfrom = width, .scale = a,
                             .times = last ? r : NULL,
                             .to = last ? z->out + at.o + (t0 + t) * z->ldo : o + t * width,
                             .ldto = last ? z->ldo : width };
            add_to_queries(c, s, PANEL, v1, ld, width, &p);
        }
    }
    for (size_t t = 0; t < rows; t++) {
        z->lse[at.lse + t0 + t] = m[t] * (float)LOG_2 + logf(l[t]);
        if (!direct) finish_row(z->out + at.o + (t0 + t) * z->ldo, o + t * width, l[t], z->HS);
    }
}

/* One row's step over n >= 1 scores. */
static void softmax_row(float *s, size_t n, float *m, float *l, float *o, size_t width)
{
    const vec none = vec_set1(-INFINITY);
    vec top = none;
    for (size_t u = 0; u < n; u += VEC_LANES)
        top = vec_max(vec_select(vec_first(least(n - u, VEC_LANES)), vec_load(s + u), none), top);
    const float tile_max = vec_hmax(top), max = tile_max > *m ? tile_max : *m;
    const vec b = vec_set1(max == -INFINITY ? 0 : max);
    vec sum = vec_zero();
    for (size_t u = 0; u < n; u += VEC_LANES) {
        const vmask seen = vec_first(least(n - u, VEC_LANES));
        const vec e = vec_exp2(vec_sub(vec_select(seen, vec_load(s + u), none), b));
        vec_store(s + u, e);
        sum = vec_add(sum, e);
    }
    if (max > *m) {
        const vec shrink = vec_exp2(vec_sub(vec_set1(*m), b));
        for (size_t i = 0; i < width; i += VEC_LANES)
            vec_store(o + i, vec_mul(shrink, vec_load(o + i)));
        *l *= vec_hmax(shrink);
    }
    *l += vec_sum(sum);
    *m = max;
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
        pack(q, z->q + at.q + t * z->ldq, z->ldq, 1, 1, z);
        for (size_t j = 0; j < width; j++) q[j] *= z->scale2, o[j] = 0;
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
            for (size_t j = 0; j < HS; j += VEC_LANES) {
                vec x = vec_load(o + j);
                const size_t n = least(HS - j, VEC_LANES);
                for (size_t u = 0; u < keys; u++)
                    x = vec_fma(vec_set1(s[u]), vec_load_n(v + u * z->ldkv + j, n), x);
                vec_store(o + j, x);
            }
        }
        z->lse[at.lse + t] = m * (float)LOG_2 + logf(l);
        finish_row(z->out + at.o + t * z->ldo, o, l, HS);
    }
}

/* ---- calls -------------------------------------------------------------- */

void FAST(attention_scratch)(const ops_sizes *z, size_t *worker, size_t *shared)
{
    (void)shared;
    fast_raise(worker, need((size_t)z->T, (size_t)z->HS), sizeof(float));
}

void FAST(attention_forward)(team *tm, float *out, float *lse, const float *q, size_t ldq,
                             const float *k, const float *v, size_t ldkv,
                             int B, int T, int P, int NH, int HS)
{
    job z = make_job(tm, B, T, P, NH, HS, ldq, ldkv);
    z.out = out, z.lse = lse, z.q = q, z.k = k, z.v = v;
    if (T <= FEW || !FAST_BACKWARD) team_run(tm, z.heads, forward_few_task, &z);
    else          team_run(tm, z.heads * z.blocks, forward_task, &z);
}
