/* cases.h -- one measured case: made ready, verified, run.
 *
 * A table row (bench_case) says what it is; its make() fills a bench_work with the
 * buffers, the two functions, and the work that a call does.  The driver (bench.c) calls
 * verify() once; only where that finds every number within its bound the clock runs.
 * verify() and run() use the same buffers and the same table of kernels.  The row says
 * "every number" was compared; a verify() that compares something else, or fewer, puts it
 * there (bench_verified).  A case that is added needs a row and these three functions.
 */
#ifndef CASES_H
#define CASES_H

#include "kernels/ops.h"
#include "model/config.h"
#include "vitrine.h"

/* How cases are run, the same for all. */
typedef struct bench_setting {
    const ops  *kernels;
    int         threads;
    bool        quick;
    const char *data;               /* a text's path, or NULL */
    const char *tokenizer;          /* a tokenizer.json of GPT-2's vocabulary, or NULL */
} bench_setting;

typedef enum bench_limit_kind {
    BENCH_NO_LIMIT,
    BENCH_ROOF,                     /* the slowest of FLOP, bytes and exps: they overlap */
    BENCH_SUM,                      /* FLOP, then bytes from memory: one after the other */
    BENCH_READ                      /* bytes, where all of `resident` is read again and again */
} bench_limit_kind;

typedef struct bench_work {
    void *state;
    vt_status (*verify)(void *state, vt_bench_row *row, vt_error *err);
    vt_status (*run)(void *state, vt_error *err);
    void (*free)(void *state);
    bench_limit_kind limit;
    double flop, bytes, exps;       /* of one call */
    size_t resident;                /* bytes that the calls touch again and again: which
                                       cache they come from (BENCH_ROOF) */
    double per_call;                /* tokens, FLOP or bytes: what the rate counts */
    bool   absent;                  /* of a make() that failed: the case needs what is not
                                       here; it is skipped, as one that is too large */
    const char *unit;
} bench_work;

typedef struct bench_case {
    const char *name, *group, *what, *unit;
    int    threads;                 /* 0: the setting's */
    double target;                  /* of what `goal` says; 0: none */
    bool   always;                  /* taken where no names are given */
    double cost, cost_quick;        /* seconds, usually: for the time that is left */
    vt_status (*make)(bench_work *w, const struct bench_case *c, const bench_setting *s,
                      vt_error *err);
    int    number;                  /* which of its file's shapes */
    bool   unlimited;               /* has no limit: none need be measured for it */
    vt_bench_goal goal;
} bench_case;

/* The tables, ended by a row without a name. */
extern const bench_case bench_steps[], bench_kernels[], bench_gemms[],
                        bench_attentions[], bench_speech[], bench_texts[],
                        bench_checks[], bench_starts[], bench_scalings[];

/* Cases of any size, for bench_scalings: C is a multiple of 4. */
VT_MUST_CHECK vt_status bench_make_attention(bench_work *w, int B, int T, int NH, int HS, bool both,
                                             const bench_setting *s, vt_error *err);
VT_MUST_CHECK vt_status bench_make_gemm(bench_work *w, size_t N, size_t C, size_t OC,
                                        const bench_setting *s, vt_error *err);
/* The curve and the size that a case is a point of; NULL and NaN: of none. */
void bench_scaling(const bench_case *c, vt_bench_row *row);

/* ---- for verify() ------------------------------------------------------- */

/* |found - expected| <= bound, counted in the row; NaN fails.  False, with the row's note
 * "dx[3, 5]: expected ..., found ..., bound ...", for the first that is not. */
bool bench_meet(vt_bench_row *row, const char *tensor, size_t index, double expected,
                double found, double bound);
/* What is compared, in place of "every number"; partly: less than what run() computes. */
void bench_verified(vt_bench_row *row, bool partly, const char *format, ...) VT_PRINTF(3, 4);
/* The line of a wrong row: VT_CHECK_FAILED. */
vt_status bench_wrong(const vt_bench_row *row, vt_error *err);

/* n floats, 64-byte aligned (free() them); NULL without memory. */
float *bench_floats(size_t n);
/* Uniform in -1 .. 1 from stream(42, RNG_VERIFY, which). */
void   bench_fill(float *x, size_t n, uint64_t which);

#endif
