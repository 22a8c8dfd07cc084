/* gemm_fast.c -- c = start + a b, c += a b: the matrix product under `linear`.
 *
 * Every element of c is one chain of multiply-adds in the order of k, starting
 * from c, a bias or 0:
 *
 *     c[i,j] = fma(a[i,K-1], b[K-1,j], ... fma(a[i,0], b[0,j], start))
 *
 * Nothing below changes that order, so the bits of c depend on neither the
 * team, nor the blocks, nor the number of rows: a row computed alone is the row
 * of the batch, and all sets with a fused multiply-add agree.
 *
 * What the blocks are for.  A tile of c, ROWS x VECS vecs, stays in registers
 * while k runs: one element of a (broadcast) serves VECS multiply-adds, one vec
 * of b serves ROWS, so that loads take less time than arithmetic.  b is copied,
 * KC steps of k at a time, into a panel as wide as the tile: contiguous, so
 * that it streams, padded with zeros, so that the tile knows no edge, and small
 * enough to stay near while all the rows of a task pass over it.
 *
 * A task is a block of rows times a few panels; it copies its own, which costs
 * 1 / (rows of the block) of its work and saves the threads from waiting for each
 * other.  KC steps of its rows of a stay in the second-level cache while the
 * panels pass: copied, where they would not be found fast as they lie (each step
 * in another page, or rows that share the few places of a cache set).  In large
 * products the copies would wait for memory: while a panel is in use the lines of
 * the next are asked for, and so are those of the next tile of c.
 *
 * Where the rows of c are a power of two apart, a tile's lines share the few places of a
 * cache set, and are lost until they are written (`packed`): so a tile takes four times as
 * many steps at once.  Its panels are copied row by row, for all blocks of rows of the
 * task, and stream from the levels behind the first; so does a, a tile's steps one after
 * the other.
 *
 * Where b is near, or the rows are few, the copy does not pay: tiles read b where it lies
 * (`in_place`).  A single row, the product of a vector and a matrix, runs at the speed of memory:
 * its part of c stays in the first-level cache and GROUP rows of b pass by at
 * a time, each a long contiguous piece, as prefetchers and page tables like it.
 *
 * What is done to a finished sum (`finish`: a sum with the residual stream, GELU) is
 * done a tile at a time, before it leaves the first-level cache.
 *
 * Not here: panels that threads share, alpha and beta.
 *
 * K. Goto, R. A. van de Geijn, "Anatomy of high-performance matrix
 * multiplication", ACM TOMS 34(3), 2008 (panels and tiles, section 4).
 */
#include "kernels/gemm_fast.h"
#include "kernels/gelu_fast.h"
#include "kernels/gemm_pack.h"

enum {
    KC    = 256,                        /* steps of a panel: 32 KiB of avx512 */
    FAR_KC = 192,                       /* in large products, whose c is not near */
    BLOCK = 32 * ROWS,                  /* most rows of a task: 288 KiB, copied */
    WIDE  = 16,                         /* most panels of a task */
    TASKS = 8,                          /* wanted at least */
    MANY  = 24,                         /* wanted before a task has two panels */
    SEVERAL = 128,                      /* rows that a copy of b hardly pays for */
    NEAR  = 1 << 16,                    /* floats of b: 256 KiB, of the second level */
    SMALL = 64 * 64,                    /* numbers of c that are not cut by rows */
    FAR   = 1 << 19,                    /* floats that the first levels do not hold */
    DEEP  = 1024,                       /* steps of a packed panel: 128 KiB of avx512 */
    FEW   = 8 * ROWS,                   /* rows of a beside it: 384 KiB */
    SKEW  = 32,                         /* floats between packed panels, for the sets' sake */
    SOME  = 12,                         /* tasks of packed panels, at least */
    PAGE  = 1024,                       /* floats: rows as far apart share a set */
    GROUP = 8,                          /* steps at a time of a single row */
    LONG  = 4096                        /* most columns of its task: 16 KiB of c */
};
_Static_assert(KC % VEC_LANES == 0, "a panel holds whole squares");

/* What a tile reads and writes, `k` steps of it. */
typedef struct part {
    const float *a;
    size_t       a_row, a_step;
    const float *b;
    size_t       b_row;
    size_t       k;
    float       *c;
    size_t       c_row, n;              /* n: columns of c, at most the tile's */
    bool         add;
    const float *start;
} part;

/* One tile of `rows` x `vecs`; the constants are the code's shape.  `along`: a
 * row of a is contiguous (a_step 1), else a column is (a_row 1).  `direct`: b as
 * it lies, not a panel.  `edge`: what is beyond its last column must not be read. */
VEC_INLINE void tile(const part *p, const size_t rows, const size_t vecs,
                     const bool along, const bool direct, const bool edge)
{
    vec acc[ROWS][VECS];
    const size_t last = lanes(p->n, vecs - 1);

    VEC_UNROLL
    for (size_t v = 0; v < vecs; v++) {
        const size_t n = v + 1 < vecs ? VEC_LANES : last;
        const vec start = p->start ? vec_load_n(p->start + v * VEC_LANES, n) : vec_zero();
        VEC_UNROLL
        for (size_t r = 0; r < rows; r++)
            acc[r][v] = p->add ? vec_load_n(p->c + r * p->c_row + v * VEC_LANES, n) : start;
    }

    /* Rows 3g, 3g+1, 3g+2 lie one index register apart from a[g]. */
    const float *a[(ROWS + 2) / 3], *b = p->b;
    VEC_UNROLL
    for (size_t g = 0; g < (rows + 2) / 3; g++) a[g] = p->a + 3 * g * p->a_row;
    for (size_t k = 0; k < p->k; k++) {
        vec x[VECS];
        VEC_UNROLL
        for (size_t v = 0; v < vecs; v++)
            x[v] = edge && v + 1 == vecs ? vec_load_n(b + v * VEC_LANES, last)
                                         : vec_load(b + v * VEC_LANES);
        VEC_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const vec y = vec_set1(along ? a[r / 3][r % 3 * p->a_row] : a[0][r]);
            VEC_UNROLL
            for (size_t v = 0; v < vecs; v++) acc[r][v] = vec_fma(y, x[v], acc[r][v]);
        }
        if (along) {
            VEC_UNROLL
            for (size_t g = 0; g < (rows + 2) / 3; g++) a[g]++;
        } else {
            a[0] += p->a_step;
        }
        b += direct ? p->b_row : vecs * VEC_LANES;
    }

    VEC_UNROLL
    for (size_t r = 0; r < rows; r++) {
        VEC_UNROLL
        for (size_t v = 0; v < vecs; v++) {
            float *c = p->c + r * p->c_row + v * VEC_LANES;
            if (v + 1 < vecs) vec_store(c, acc[r][v]);
            else              vec_store_n(c, acc[r][v], last);
        }
    }
}

/* The tile of a number of rows and of vecs that are known only now. */
VEC_INLINE void tile_rows(const part *p, size_t rows, const size_t vecs,
                          const bool along, const bool direct, const bool edge)
{
    switch (rows) {
    case 1: tile(p, 1, vecs, along, direct, edge); break;
    case 2: tile(p, 2, vecs, along, direct, edge); break;
    case 3: tile(p, 3, vecs, along, direct, edge); break;
    case 4: tile(p, 4, vecs, along, direct, edge); break;
#if defined(VT_ISA_avx2) || defined(VT_ISA_avx512)
    case 5: tile(p, 5, vecs, along, direct, edge); break;
    case 6: tile(p, 6, vecs, along, direct, edge); break;
#endif
#if defined(VT_ISA_avx512)
    case 7: tile(p, 7, vecs, along, direct, edge); break;
    case 8: tile(p, 8, vecs, along, direct, edge); break;
    case 9: tile(p, 9, vecs, along, direct, edge); break;
    case 10: tile(p, 10, vecs, along, direct, edge); break;
    case 11: tile(p, 11, vecs, along, direct, edge); break;
    case 12: tile(p, 12, vecs, along, direct, edge); break;
#endif
    default: break;
    }
}

static void tile_any(const part *p, size_t rows, bool direct)
{
    const bool narrow = p->n <= VEC_LANES, along = !FAST_BACKWARD || p->a_step == 1;
    if (direct && FAST_BACKWARD && p->n % VEC_LANES == 0) {
        if (narrow) tile_rows(p, rows, 1, true, true, false);
        else        tile_rows(p, rows, 2, true, true, false);
    } else if (direct) {                /* rows of a are contiguous */
        if (narrow) tile_rows(p, rows, 1, true, true, true);
        else        tile_rows(p, rows, 2, true, true, true);
    } else if (along) {
        if (narrow) tile_rows(p, rows, 1, true, false, false);
        else        tile_rows(p, rows, 2, true, false, false);
    } else {
        if (narrow) tile_rows(p, rows, 1, false, false, false);
        else        tile_rows(p, rows, 2, false, false, false);
    }
}

static size_t ceil_div(size_t a, size_t b) { return a / b + (a % b != 0); }

/* Tasks of packed panels: as large as leaves SOME of them, for each copies its own. */
static void cut_packed(gemm_cut *u, const gemm *g)
{
    const size_t panels = g->n / PANEL, most = ceil_div(g->m, BLOCK);
    size_t groups = ceil_div(panels, WIDE), blocks = ceil_div(SOME, groups);
    if (blocks > most) blocks = most;
    if (groups * blocks < SOME) groups = ceil_div(SOME, blocks);
    u->width  = ceil_div(panels, groups) * PANEL;
    u->panels = ceil_div(g->n, u->width);
    u->rows   = ceil_div(ceil_div(g->m, blocks), ROWS) * ROWS;
    u->blocks = ceil_div(g->m, u->rows);
}

/* Whether the tiles read b where it lies: it is near, or the rows are too few for copies
 * to pay and do not share the places of a set.  Parts of vecs cost nothing only where loads
 * are masked anyway. */
static bool reads_in_place(const gemm *g)
{
    if (g->b_step != 1 || g->a_step != 1 || g->sums) return false;
    if (g->m <= ROWS) return true;
    if (!FAST_BACKWARD || ((int)VEC_LANES != 16 && g->n % VEC_LANES != 0)) return false;
    return g->k * g->b_row <= NEAR || (g->m <= SEVERAL && g->b_row % (PAGE / 2) != 0);
}

static gemm_cut cut_up(const gemm *g)
{
    gemm_cut u = { .width = PANEL, .rows = g->m, .blocks = 1, .in_place = reads_in_place(g) };
    u.single = u.in_place && g->m == 1;
    if (u.single) {
        const size_t share = ceil_div(ceil_div(g->n, TASKS), LONG / 32) * (LONG / 32);
        u.width = share < LONG ? share : LONG;
        u.panels = ceil_div(g->n, u.width);
        return u;
    }
    u.panels = ceil_div(g->n, u.width);
    u.steps = g->k;
    if (u.in_place && (g->m <= ROWS || (g->k <= KC && g->m * g->n <= SMALL))) return u;
    /* Blocks of about equal size, whole tiles but for the last.  Where there would be few
     * tasks, more of them while the copy stays cheap; where there are many, each takes
     * several panels. */
    const size_t wanted = ceil_div(TASKS, u.panels), cheap = g->m / (5 * ROWS);
    const size_t finer = wanted < cheap ? wanted : cheap;
    u.blocks = ceil_div(g->m, BLOCK);
    if (g->a_step == 1 && u.blocks < finer) u.blocks = finer;
    u.rows   = ceil_div(ceil_div(g->m, u.blocks), ROWS) * ROWS;
    u.blocks = ceil_div(g->m, u.rows);
    size_t group = u.panels * u.blocks / MANY;
    if (group > WIDE) group = WIDE;
    if (group > 1) {
        u.width *= ceil_div(u.panels, ceil_div(u.panels, group));
        u.panels = ceil_div(g->n, u.width);
    }
    u.copy = u.width > PANEL && (g->a_step != 1 || g->a_row % (PAGE / 2) == 0);
    u.far  = g->k * g->n + g->m * g->n > FAR;
    u.steps = u.far ? FAR_KC : KC;
    u.packed = FAST_BACKWARD && u.far && !u.in_place && g->n % (PAGE / 2) == 0;
    if (u.packed) cut_packed(&u, g);
    return u;
}

size_t FAST(gemm_tasks)(gemm *g)
{
    g->cut = cut_up(g);
    return g->cut.panels * g->cut.blocks;
}

/* c[0 .. n-1] += `steps` steps of a single row, b where it lies. */
VEC_INLINE void row_steps(float *c, size_t n, const float *a, const float *b,
                          size_t b_row, const size_t steps)
{
    vec x[GROUP];
    VEC_UNROLL
    for (size_t k = 0; k < steps; k++) x[k] = vec_set1(a[k]);
    size_t j = 0;
    for (; j + VEC_LANES <= n; j += VEC_LANES) {
        vec acc = vec_load(c + j);
        VEC_UNROLL
        for (size_t k = 0; k < steps; k++) acc = vec_fma(x[k], vec_load(b + k * b_row + j), acc);
        vec_store(c + j, acc);
    }
    if (j == n) return;
    vec acc = vec_load_n(c + j, n - j);
    VEC_UNROLL
    for (size_t k = 0; k < steps; k++)
        acc = vec_fma(x[k], vec_load_n(b + k * b_row + j, n - j), acc);
    vec_store_n(c + j, acc, n - j);
}

static bool has_finish(const gemm *g)
{
    return FAST_BACKWARD && (g->plus || g->gelu || g->slope_at);
}

/* What is done to finished sums, rows i0 .. i1-1 of columns j0 .. j0+n-1. */
static void finish(const gemm *g, size_t i0, size_t i1, size_t j0, size_t n)
{
    for (size_t i = i0; i < i1; i++)
    for (size_t j = 0; j < n; j += VEC_LANES) {
        const size_t at = i * g->c_row + j0 + j, m = lanes(n - j, 0);
        vec s = vec_load_n(g->c + at, m);
        if (g->plus) s = vec_add(vec_load_n(g->plus + at, m), s);
        if (g->gelu) vec_store_n(g->gelu + at, gelu_value(s), m);
        if (g->slope_at) s = vec_mul(s, gelu_slope(vec_load_n(g->slope_at + at, m)));
        if (g->plus || g->slope_at) vec_store_n(g->c + at, s, m);
    }
}

static void task_row(const gemm *g, size_t j0, size_t n)
{
    float *c = g->c + j0;
    const float *b = g->b + j0;
    if (!g->add)
        for (size_t j = 0; j < n; j++) c[j] = g->start ? g->start[j0 + j] : 0;
    size_t k = 0;
    for (; k + GROUP <= g->k; k += GROUP)
        row_steps(c, n, g->a + k, b + k * g->b_row, g->b_row, GROUP);
    for (; k < g->k; k++) row_steps(c, n, g->a + k, b + k * g->b_row, g->b_row, 1);
}

/* A task: rows i0 .. i1-1 by columns j0 .. j1-1, and where it is of k. */
typedef struct block {
    const gemm *g;
    size_t i0, i1, j0, j1, k0, steps, most;
    const float *a;                     /* the copy of a, or NULL */
    const float *panel;                 /* NULL: b where it lies */
    bool far, packed;
} block;

/* While a panel is in use: the next one of these steps, or the first of the next. */
VEC_INLINE void fetch_next(const block *t, size_t j, size_t i)
{
    const size_t tile = (i - t->i0) / ROWS, tiles = ceil_div(t->i1 - t->i0, ROWS);
    const size_t k1 = t->k0 + t->steps, left = t->g->k - k1;
    const size_t next = j + PANEL < t->j1 ? j + PANEL : t->j0;
    const size_t n = t->j1 - next < PANEL ? t->j1 - next : PANEL;
    if (next > j)      fetch_panel(t->g, t->k0, t->steps, next, n, tile, tiles);
    else if (left > 0) fetch_panel(t->g, k1, left < t->most ? left : t->most, next, n, tile, tiles);
}

/* Asks for a tile of what lies like c. */
VEC_INLINE void fetch_tile(const float *at, const gemm *g, size_t rows, size_t n)
{
    for (size_t r = 0; r < ROWS && r < rows; r++)
        for (size_t j = 0; j < n; j += LINE) VEC_PREFETCH(at + r * g->c_row + j);
}

/* All rows by one panel, from column j on. */
static void pass_panel(const block *t, size_t j)
{
    const gemm *g = t->g;
    part p = { .a_row = g->a_row, .a_step = g->a_step, .b_row = g->b_row, .k = t->steps,
               .b = t->panel ? t->panel : g->b + t->k0 * g->b_row + j,
               .c_row = g->c_row, .n = t->j1 - j < PANEL ? t->j1 - j : PANEL,
               .add = g->add || t->k0 > 0, .start = g->start ? g->start + j : NULL };
    const bool ends = has_finish(g) && t->k0 + t->steps == g->k;
    if (t->a && g->a_step == 1 && !t->packed) p.a_row = t->steps;
    else if (t->a)                            p.a_step = ROWS;
    for (size_t i = t->i0; i < t->i1; i += ROWS) {
        const size_t rows = t->i1 - i < ROWS ? t->i1 - i : ROWS;
        p.a = t->a ? t->a + (i - t->i0) * t->steps : g->a + i * g->a_row + t->k0 * g->a_step;
        p.c = g->c + i * g->c_row + j;
        if (FAST_BACKWARD && t->far) {
            if (!t->packed) fetch_next(t, j, i);
            if (i + ROWS < t->i1) fetch_tile(p.c + ROWS * p.c_row, g, t->i1 - i - ROWS, p.n);
            if (ends && g->plus)     fetch_tile(g->plus + i * g->c_row + j, g, rows, p.n);
            if (ends && g->gelu)     fetch_tile(g->gelu + i * g->c_row + j, g, rows, p.n);
            if (ends && g->slope_at) fetch_tile(g->slope_at + i * g->c_row + j, g, rows, p.n);
        }
        tile_any(&p, rows, !t->panel);
        if (ends) finish(g, i, i + rows, j, p.n);
    }
}

static void task_block(const gemm *g, size_t j0, size_t j1, size_t i0, size_t i1, float *copy)
{
    _Alignas(64) float panel[KC * PANEL];
    /* Panels of about equal length: a short last one would cost as much to
     * load and store c for as a long one. */
    block t = { .g = g, .i0 = i0, .i1 = i1, .j0 = j0, .j1 = j1, .a = copy,
                .panel = g->cut.in_place ? NULL : panel, .far = g->cut.far };
    const size_t even = g->k <= g->cut.steps ? g->k : ceil_div(g->k, ceil_div(g->k, g->cut.steps));
    t.most = ceil_div(even, VEC_LANES) * VEC_LANES;     /* whole vecs to copy */
    for (; t.k0 < g->k; t.k0 += t.most) {
        t.steps = g->k - t.k0 < t.most ? g->k - t.k0 : t.most;
        for (size_t i = i0; FAST_BACKWARD && copy && i < i1; i += ROWS)
            pack_a(copy + (i - i0) * t.steps, g, i, i1, t.k0, t.steps);
        for (size_t j = j0; j < j1; j += PANEL) {
            const size_t n = j1 - j < PANEL ? j1 - j : PANEL;
            if (t.panel && (!FAST_BACKWARD || g->b_step == 1))
                pack_rows(panel, g, t.k0, t.steps, j, n, g->sums && i0 == 0);
            else if (t.panel)
                pack_columns(panel, g, t.k0, t.steps, j, n);
            pass_panel(&t, j);
        }
    }
}

/* Floats of a task's room: a's copy and what is stored beyond its end, packed panels. */
enum { ROOM_A = (FEW + ROWS) * DEEP, ROOM_PANEL = DEEP * PANEL + SKEW };
_Static_assert((int)ROOM_A >= (int)BLOCK * KC, "the other tasks' copies have room");

static void task_packed(const gemm *g, size_t j0, size_t j1, size_t i0, size_t i1, float *room)
{
    float *panels = room + ROOM_A;
    const size_t even = ceil_div(g->k, ceil_div(g->k, DEEP));
    block t = { .g = g, .j0 = j0, .j1 = j1, .a = room, .far = true, .packed = true };
    t.most = ceil_div(even, VEC_LANES) * VEC_LANES;
    for (; t.k0 < g->k; t.k0 += t.most) {
        t.steps = g->k - t.k0 < t.most ? g->k - t.k0 : t.most;
        pack_panels(panels, ROOM_PANEL, g, t.k0, t.steps, j0, j1, g->sums && i0 == 0);
        for (t.i0 = i0; t.i0 < i1; t.i0 = t.i1) {
            t.i1 = i1 - t.i0 < FEW ? i1 : t.i0 + FEW;
            for (size_t i = t.i0; i < t.i1; i += ROWS) {
                float *to = room + (i - t.i0) * t.steps;
                if (g->a_step == 1) turn_a(to, g, i, t.i1, t.k0, t.steps);
                else                pack_a(to, g, i, t.i1, t.k0, t.steps);
            }
            for (size_t j = j0; j < j1; j += PANEL) {
                t.panel = panels + (j - j0) / PANEL * ROOM_PANEL;
                pass_panel(&t, j);
            }
        }
    }
}

size_t FAST(gemm_room)(void) { return FAST_BACKWARD ? ROOM_A + (size_t)WIDE * ROOM_PANEL : 0; }

void FAST(gemm_task)(const gemm *g, size_t i, float *room)
{
    const gemm_cut u = g->cut;
    const size_t above = u.blocks == 1 ? 0 : i / u.panels;
    const size_t j0 = (i - above * u.panels) * u.width, i0 = above * u.rows;
    const size_t n  = g->n - j0 < u.width ? g->n - j0 : u.width;
    const size_t i1 = g->m - i0 < u.rows ? g->m : i0 + u.rows;
    if (u.packed && room) {
        task_packed(g, j0, j0 + n, i0, i1, room);
        return;
    }
    if (!u.single) {
        task_block(g, j0, j0 + n, i0, i1, u.copy ? room : NULL);
        return;
    }
    task_row(g, j0, n);
    if (has_finish(g)) finish(g, 0, 1, j0, n);
}
