/* system_wasm.c -- what base/ asks of a system, for a module that has none: memory
 * from malloc, one thread.
 *
 * Nothing here is imported: the module runs wherever WebAssembly does.  See
 * base/arena.h and base/threads.h for what these functions promise.
 */
#include <assert.h>
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/elementary.h"
#include "base/threads.h"

/* ---- arena ------------------------------------------------------------- */

enum { PIECE = 64 };

size_t arena_piece(size_t n)
{
    return n > SIZE_MAX - (PIECE - 1) ? SIZE_MAX : (n + (PIECE - 1)) / PIECE * PIECE;
}

vt_status arena_new(arena *a, size_t size, const char *what, vt_error *err)
{
    const size_t rounded = arena_piece(size);
    *a = (arena){ .base = NULL };
    if (size == 0) return VT_OK;
    a->base = rounded == SIZE_MAX ? NULL : aligned_alloc(PIECE, rounded);
    if (!a->base) return fail_memory(err, size, what);
    memset(a->base, 0, rounded);
    a->size = rounded;
    return VT_OK;
}

void arena_free(arena *a)
{
    free(a->base);
    *a = (arena){ .base = NULL };
}

void *arena_take(arena *a, size_t bytes)
{
    const size_t n = arena_piece(bytes);
    assert(n <= a->size - a->used);
    if (n == 0) return a->base ? a->base + a->used : NULL;
    void *piece = a->base + a->used;
    a->used += n;
    return piece;
}

/* ---- a team of one ----------------------------------------------------- */

struct team {
    arena  block;
    void  *scratch, *shared;
    size_t scratch_bytes, shared_bytes;
};

vt_status team_new(team **out, int threads, size_t worker_bytes, size_t shared_bytes,
                   vt_error *err)
{
    const size_t worker = arena_piece(worker_bytes), shared = arena_piece(shared_bytes);
    size_t bytes;
    *out = NULL;
    if (threads != 1)
        return fail(err, VT_USAGE, "--threads %d: expected 1: this build has no threads", threads);
    if (!size_add(worker, shared, &bytes))
        return fail(err, VT_TOO_LARGE, "the scratch memory of kernels overflows a size");
    team *t = calloc(1, sizeof *t);
    if (!t) return fail_memory(err, sizeof *t, "a team");
    const vt_status s = arena_new(&t->block, bytes, "the scratch memory of kernels", err);
    if (s) {
        free(t);
        return s;
    }
    t->scratch = arena_take(&t->block, worker_bytes);
    t->shared = arena_take(&t->block, shared_bytes);
    t->scratch_bytes = worker_bytes;
    t->shared_bytes = shared_bytes;
    *out = t;
    return VT_OK;
}

void team_free(team *t)
{
    if (!t) return;
    arena_free(&t->block);
    free(t);
}

int    team_size(const team *t)          { (void)t; return 1; }
size_t team_scratch_bytes(const team *t) { return t ? t->scratch_bytes : 0; }
size_t team_shared_bytes(const team *t)  { return t ? t->shared_bytes : 0; }
void  *team_shared(team *t)              { return t ? t->shared : NULL; }
void  *team_scratch(team *t, int worker)
{
    assert(worker == 0);
    return t ? t->scratch : NULL;
}

void team_run(team *t, size_t n, team_task *task, void *context)
{
    (void)t;
    for (size_t i = 0; i < n; i++) task(context, i, 0);
}

/* ---- arithmetic -------------------------------------------------------- */

/* What the compiler calls for complex products and quotients, without C's repair of
 * NaN and Inf: a complex step is far from both.  Products by the schoolbook rule,
 * quotients by Smith's (Algorithm 116, Communications of the ACM 5, 1962), as gcc
 * inlines them for the library (-fcx-fortran-rules): the same bits.
 *
 *     |c| >= |d|:  r = d / c,  (a + b r) / (c + d r) + i (b - a r) / (c + d r)
 *     |c| <  |d|:  r = c / d,  (a r + b) / (c r + d) + i (b r - a) / (c r + d)
 */
double _Complex __muldc3(double a, double b, double c, double d);
double _Complex __divdc3(double a, double b, double c, double d);

double _Complex __muldc3(double a, double b, double c, double d)
{
    return CMPLX(a * c - b * d, a * d + b * c);
}

double _Complex __divdc3(double a, double b, double c, double d)
{
    if (fabs(c) < fabs(d)) {
        const double r = c / d, below = c * r + d;
        return CMPLX((a * r + b) / below, (b * r - a) / below);
    }
    const double r = d / c, below = d * r + c;
    return CMPLX((a + b * r) / below, (b - a * r) / below);
}

/* The C library's exp and log have tables of their own; where it calls them (for
 * complex numbers far from the real axis), and where rng.c does, ours will do. */
double exp(double x) { return exp_f64(x); }
double log(double x) { return log_f64(x); }

/* sin and cos of numbers beyond 2^20: 7 KB of the C library for what no page asks.
 * NaN, so that it shows. */
int __rem_pio2_large(double *x, double *y, int e0, int n, int precision);
int __rem_pio2_large(double *x, double *y, int e0, int n, int precision)
{
    (void)x; (void)e0; (void)n; (void)precision;
    y[0] = y[1] = NAN;
    return 0;
}

/* The C library's is made for long texts; ours looks into names of tensors. */
char *strstr(const char *text, const char *part)
{
    const size_t n = strlen(part);
    for (; *text; text++)
        if (strncmp(text, part, n) == 0) return (char *)(uintptr_t)text;
    return NULL;
}
