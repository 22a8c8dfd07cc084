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
 * enough to stay near while all the rows of a task pass over it.  a is read
 * where it lies.  A task is a block of rows times one panel; it copies its
 * own panel, which costs 1 / (rows of the block) of its work and saves the
 * threads from waiting for each other.
 *
 * With few rows the copy does not pay: they read b where it lies (`direct`).  A
 * single row, the product of a vector and a matrix, runs at the speed of memory:
 * its part of c stays in the first-level cache and GROUP rows of b pass by at
 * a time, each a long contiguous piece, as prefetchers and page tables like it.
 *
 * Not here: blocks for a cache beyond the second level (a block of a is read
 * again for each panel), alpha and beta.
 *
 * K. Goto, R. A. van de Geijn, "Anatomy of high-performance matrix
 * multiplication", ACM TOMS 34(3), 2008 (panels and tiles, section 4).
 */
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
    KC    = 256,                        /* steps of a panel: 32 KiB of avx512 */
    BLOCK = 44 * ROWS,                  /* most rows of a task */
    TASKS = 8,                          /* wanted at least */
    GROUP = 8,                          /* steps at a time of a single row */
    LONG  = 1024                        /* most columns of its task */
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

/* Columns that vec v of n columns holds. */
VEC_INLINE size_t lanes(size_t n, size_t v)
{
    const size_t before = v * VEC_LANES;
    return n <= before ? 0 : n - before < VEC_LANES ? n - before : VEC_LANES;
}

/* One tile of `rows` x `vecs`; the constants are the code's shape.  `along`: a
 * row of a is contiguous (a_step 1), else a column is (a_row 1).  `direct`: b
 * has an edge, and what is beyond it must not be read. */
VEC_INLINE void tile(const part *p, const size_t rows, const size_t vecs,
                     const bool along, const bool direct)
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
            x[v] = direct && v + 1 == vecs ? vec_load_n(b + v * VEC_LANES, last)
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
                          const bool along, const bool direct)
{
    switch (rows) {
    case 1: tile(p, 1, vecs, along, direct); break;
    case 2: tile(p, 2, vecs, along, direct); break;
    case 3: tile(p, 3, vecs, along, direct); break;
    case 4: tile(p, 4, vecs, along, direct); break;
#if defined(VT_ISA_avx2) || defined(VT_ISA_avx512)
    case 5: tile(p, 5, vecs, along, direct); break;
    case 6: tile(p, 6, vecs, along, direct); break;
#endif
#if defined(VT_ISA_avx512)
    case 7: tile(p, 7, vecs, along, direct); break;
    case 8: tile(p, 8, vecs, along, direct); break;
    case 9: tile(p, 9, vecs, along, direct); break;
    case 10: tile(p, 10, vecs, along, direct); break;
    case 11: tile(p, 11, vecs, along, direct); break;
    case 12: tile(p, 12, vecs, along, direct); break;
#endif
    default: break;
    }
}

static void tile_any(const part *p, size_t rows, bool direct)
{
    const bool narrow = p->n <= VEC_LANES, along = !FAST_BACKWARD || p->a_step == 1;
    if (direct) {                       /* few rows of a, contiguous */
        if (narrow) tile_rows(p, rows, 1, true, true);
        else        tile_rows(p, rows, 2, true, true);
    } else if (along) {
        if (narrow) tile_rows(p, rows, 1, true, false);
        else        tile_rows(p, rows, 2, true, false);
    } else {
        if (narrow) tile_rows(p, rows, 1, false, false);
        else        tile_rows(p, rows, 2, false, false);
    }
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
        vec s = sum ? vec_load_n(g->sums + j0 + at, m) : vec_zero();
        for (size_t k = 0; k < steps; k++) {
            const vec x = m == VEC_LANES ? vec_load(b + k * g->b_row)
                                         : vec_load_n(b + k * g->b_row, m);
            vec_store(panel + k * vecs * VEC_LANES + at, x);
            s = vec_add(s, x);
        }
        if (sum) vec_store_n(g->sums + j0 + at, s, m);
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

static size_t ceil_div(size_t a, size_t b) { return a / b + (a % b != 0); }

/* How c is cut, from the shape alone: panels of columns, blocks of rows. */
typedef struct cut { size_t width, panels, rows, blocks; bool direct; } cut;

static cut cut_up(const gemm *g)
{
    cut u = { .width = PANEL, .rows = g->m, .blocks = 1 };
    u.direct = g->m <= ROWS && g->b_step == 1 && g->a_step == 1 && !g->sums;
    if (u.direct && g->m == 1) {
        const size_t share = ceil_div(ceil_div(g->n, TASKS), LONG / 8) * (LONG / 8);
        u.width = share < LONG ? share : LONG;
    }
    u.panels = ceil_div(g->n, u.width);
    if (!u.direct) {
        /* Blocks of about equal size, whole tiles but for the last.  Where
         * there would be few tasks, more of them while the copy stays cheap. */
        const size_t most = g->a_step == 1 ? BLOCK : BLOCK / 4;
        const size_t wanted = ceil_div(TASKS, u.panels), cheap = g->m / (5 * ROWS);
        const size_t finer = wanted < cheap ? wanted : cheap;
        u.blocks = ceil_div(g->m, most);
        if (g->a_step == 1 && u.blocks < finer) u.blocks = finer;
        u.rows   = ceil_div(ceil_div(g->m, u.blocks), ROWS) * ROWS;
        u.blocks = ceil_div(g->m, u.rows);
    }
    return u;
}

size_t FAST(gemm_tasks)(const gemm *g)
{
    const cut u = cut_up(g);
    return u.panels * u.blocks;
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

/* A few rows by one panel's columns, b where it lies. */
static void task_direct(const gemm *g, size_t j0, size_t n)
{
    const part p = { .a = g->a, .a_row = g->a_row, .a_step = 1, .b = g->b + j0,
                     .b_row = g->b_row, .k = g->k, .c = g->c + j0, .c_row = g->c_row, .n = n,
                     .add = g->add, .start = g->start ? g->start + j0 : NULL };
    tile_any(&p, g->m, true);
}

/* Rows i0 .. i1-1 by one panel's columns. */
static void task_block(const gemm *g, size_t j0, size_t n, size_t i0, size_t i1)
{
    _Alignas(64) float panel[KC * PANEL];
    /* Panels of about equal length: a short last one would cost as much to
     * load and store c for as a long one. */
    const size_t most = ceil_div(g->k, ceil_div(g->k, KC));

    for (size_t k0 = 0; k0 < g->k; k0 += most) {
        const size_t steps = g->k - k0 < most ? g->k - k0 : most;
        if (!FAST_BACKWARD || g->b_step == 1) pack_rows(panel, g, k0, steps, j0, n, g->sums && i0 == 0);
        else                pack_columns(panel, g, k0, steps, j0, n);
        part p = { .a_row = g->a_row, .a_step = g->a_step, .b = panel, .k = steps,
                   .c_row = g->c_row, .n = n, .add = g->add || k0 > 0,
                   .start = g->start ? g->start + j0 : NULL };
        for (size_t r = i0; r < i1; r += ROWS) {
            p.a = g->a + r * g->a_row + k0 * g->a_step;
            p.c = g->c + r * g->c_row + j0;
            tile_any(&p, i1 - r < ROWS ? i1 - r : ROWS, false);
        }
    }
}

void FAST(gemm_task)(const gemm *g, size_t i)
{
    const cut u = cut_up(g);
    const size_t j0 = i % u.panels * u.width, i0 = i / u.panels * u.rows;
    const size_t n  = g->n - j0 < u.width ? g->n - j0 : u.width;
    if (u.direct && g->m == 1) task_row(g, j0, n);
    else if (u.direct)         task_direct(g, j0, n);
    else                       task_block(g, j0, n, i0, g->m - i0 < u.rows ? g->m : i0 + u.rows);
}
