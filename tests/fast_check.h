/* fast_check.h -- what the tests of fast kernels share: numbers to feed them,
 * guarded buffers, comparison within a derived bound, all tables, all teams.
 *
 * A bound is first order in U, the unit roundoff of float, times the sum of
 * the absolute values of the terms that were rounded; the share of it that was
 * used is kept and printed.  A comparison is counted, and NaN fails it.
 */
#ifndef FAST_CHECK_H
#define FAST_CHECK_H

#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/threads.h"
#include "kernels/ops.h"

static const double U = 0x1p-24;

/* ---- numbers ----------------------------------------------------------- */

static uint64_t fc_state = 1;

/* Uniform in [-1, 1), 24 bits (Marsaglia's xorshift64). */
static inline float fc_random(void)
{
    fc_state ^= fc_state << 13;
    fc_state ^= fc_state >> 7;
    fc_state ^= fc_state << 17;
    return (float)((double)(fc_state >> 40) / 8388608 - 1);
}

static inline void fc_fill(float *x, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)(scale * (double)fc_random());
}

/* A guarded buffer of n floats: random, or NaN. */
static inline float *fc_random_buffer(size_t n, double scale)
{
    float *x = guarded(n * sizeof *x);
    fc_fill(x, n, scale);
    return x;
}
static inline float *fc_nan_buffer(size_t n)
{
    float *x = guarded(n * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = NAN;
    return x;
}
static inline float *fc_copy(const float *x, size_t n)
{
    float *y = guarded(n * sizeof *y);
    memcpy(y, x, n * sizeof *y);
    return y;
}
static inline double *fc_doubles(const float *x, size_t n)
{
    double *y = malloc(n * sizeof *y);
    assert_non_null(y);
    for (size_t i = 0; i < n; i++) y[i] = (double)x[i];
    return y;
}
static inline double *fc_zeros(size_t n)
{
    double *y = calloc(n, sizeof *y);
    assert_non_null(y);
    return y;
}

/* ---- sizes ------------------------------------------------------------- */

/* Where vectors end: every size up to a pair of the longest (16 lanes), twice, and one
 * more.  Where tasks of `chunk` numbers end, the first and the second: a vector of any
 * set to each side; one number under the sanitizers. */
enum { FC_SMALL = 2 * 32 + 1, FC_BESIDE = SWEEP(17, 1), FC_EDGES = 2 * (2 * FC_BESIDE + 1) };
static inline size_t fc_edge(size_t i, size_t chunk)
{
    const size_t side = 2 * FC_BESIDE + 1;
    return (i / side + 1) * chunk + i % side - FC_BESIDE;
}

/* ---- budgets ----------------------------------------------------------- */

typedef struct share { const char *what; double used; size_t n; } share;

#define FC_NEAR(s, got, want, bound, i) \
    fc_near(s, (double)(got), want, bound, i, __FILE__, __LINE__)
static inline void fc_near(share *s, double got, double want, double bound, size_t i,
                           const char *file, int line)
{
    if (!(fabs(got - want) <= bound)) check_near(got, want, bound, s->what, i, file, line);
    if (bound > 0 && fabs(got - want) / bound > s->used) s->used = fabs(got - want) / bound;
    s->n++;
}
/* Prints and begins anew. */
static inline void fc_report(share *s)
{
    assert_true(s->n > 0);
    print_message("# %-22s %9zu compared, worst uses %.3f of its bound\n", s->what, s->n, s->used);
    s->n = 0;
    s->used = 0;
}

/* ---- tables and teams -------------------------------------------------- */

#if defined(VT_WASM)
enum { FC_TEAMS = 1 };                  /* it has no threads */
#else
enum { FC_TEAMS = 4 };
#endif
static const int fc_threads[] = { 1, 2, 3, 7 };
static team *fc_team[FC_TEAMS];

/* Teams for these sizes, in place of those there were. */
static inline void fc_free_teams(void)
{
    for (int i = 0; i < FC_TEAMS; i++) team_free(fc_team[i]), fc_team[i] = NULL;
}
static inline void fc_make_teams_of(ops_sizes z, int n)
{
    size_t worker, shared;
    fc_free_teams();
    ops_scratch(&z, &worker, &shared);
    for (int i = 0; i < n; i++)
        assert_ok(team_new(&fc_team[i], fc_threads[i], worker, shared, &test_error));
}

static inline void fc_make_teams(ops_sizes z) { fc_make_teams_of(z, FC_TEAMS); }

/* Calls test(table) for every table that this machine can run; at least the
 * portable one, or WebAssembly's only one.  VITRINE_SET=NAME: that table alone. */
static inline void fc_each_table(void (*test)(const ops *))
{
    const ops *o;
    const char *only = getenv("VITRINE_SET");
    bool portable = false;
    for (size_t i = 0; (o = ops_runs(i)) != NULL; i++) {
        if (only && strcmp(o->name, only) != 0) continue;
        print_message("# %s\n", o->name);
        portable = portable || strcmp(o->name, "portable") == 0 || strcmp(o->name, "wasm") == 0;
        fc_state = 88172645463325252u;
        test(o);
    }
    assert_true(portable || (only && ops_pick(only)));
}

#define FC_SAME(a, b, n) assert_memory_equal(a, b, (n) * sizeof *(a))

#endif
