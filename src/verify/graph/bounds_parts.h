/* bounds_parts.h -- for bounds_forward.c and bounds_backward.c alone: numbers with errors,
 * and what both passes need of softmax, layer norm and GELU.
 */
#ifndef BOUNDS_PARTS_H
#define BOUNDS_PARTS_H

#include <math.h>
#include "verify/graph/bounds.h"

/* exp, log, tanh: within 2 ulp, which are 4 u at most. */
#define ELEMENTARY 4

/* How a kernel rounds: u each number that it keeps as its type, a (a float's u at most) what
 * it computes on the way. */
typedef struct rounding { double u, a, tiny; } rounding;

static inline rounding rounding_of(double u, double tiny)
{
    return (rounding){ .u = u, .a = fmin(u, 0x1p-24), .tiny = tiny };
}

static inline double gamma_of(double n, double u)
{
    const double nu = fmin(n * u, 0.9);         /* finite, where nothing can be said */
    return nu / (1 - nu);
}

/* A value, and how far what a kernel has in its place may be from it. */
typedef struct num { double v, e; } num;

static inline bool num_zero(num x) { return x.v == 0 && x.e == 0; }
static inline double num_size(num x) { return fabs(x.v) + x.e; }

/* After n roundings on the way.  An exact 0 stays one. */
static inline num num_rounded(num x, double n, const rounding *r)
{
    if (!num_zero(x)) x.e += gamma_of(n, r->a) * num_size(x) + n * r->tiny;
    return x;
}

/* Kept n times as the kernel's type; where that is no narrower than what it computes in,
 * num_rounded() has counted it. */
static inline num num_kept(num x, double n, const rounding *r)
{
    if (!num_zero(x) && r->u > r->a) x.e += gamma_of(n, r->u) * num_size(x) + n * r->tiny;
    return x;
}

static inline num num_mul(num a, num b)
{
    return (num){ a.v * b.v, fabs(a.v) * b.e + fabs(b.v) * a.e + a.e * b.e };
}

/* A sum in progress: its terms, their errors, their sizes. */
typedef struct sum { double v, e, size; int n; } sum;

static inline void sum_add(sum *s, num term)
{
    if (num_zero(term)) return;
    s->v += term.v;
    s->e += term.e;
    s->size += num_size(term);
    s->n++;
}

/* Added up in any order; `more` roundings of each term beside. */
static inline num sum_total(const sum *s, double more, const rounding *r)
{
    if (s->n == 0) return (num){ 0, 0 };
    return (num){ s->v, s->e + gamma_of(s->n + more, r->a) * s->size + s->n * r->tiny };
}

/* ---- softmax ----------------------------------------------------------------- */

/* A row of n exponents by * s[u] and the errors of s; see (may be NULL): 0 where there is
 * none. */
typedef struct exponents {
    int n;
    const double *s, *es;
    const int *see;
    double by;
} exponents;

/* A sum of weights from which one is left out later: where one rules, a difference would
 * say nothing of the rest. */
typedef struct weights { double all, top, rest; int at; } weights;

/* The greatest exponent, log sum exp(s - max), log sum exp(s), the largest error, the
 * weights exp(s - max) as large and as small as errors allow, and how often a running
 * maximum moves. */
typedef struct row_facts {
    double max, log_sum, lse, worst;
    weights high, low;
    int seen, moves;
} row_facts;

num       bounds_exponent(const exponents *r, int u, const rounding *k);
row_facts bounds_row(const exponents *r, const rounding *k);
/* The error of probability u, whose value is p; `factor`: a further error of its
 * logarithm. */
double bounds_probability(double p, const exponents *r, const row_facts *f, int u, double factor,
                          const rounding *k);
/* The factor of a probability made again from an lse that is rounded to u. */
double bounds_lse_factor(const row_facts *f, double u, const rounding *k);
/* The error of log sum exp(s), before it is rounded to the kernel's type. */
double bounds_log_sum(const exponents *r, const row_facts *f, const rounding *k);

/* ---- attention ----------------------------------------------------------------- */

/* One query of one head: where its rows lie in the blocks. */
typedef struct query {
    const graph_node *n;
    size_t q, out;                      /* HS elements each */
    size_t k, v;                        /* key 0; key u lies u * stride behind */
    size_t stride;
    size_t att, scores;                 /* S cells each */
    exponents keys;                      /* its exponents: n of them, or those of the mask */
} query;
/* es lies in the block ex, at `scores`. */
query bounds_query(const graph *g, const graph_node *n, const double *x, const int *ints,
                   const double *ex, int b, int h, int t);
static inline bool query_sees(const query *q, int u) { return !q->keys.see || q->keys.see[u]; }
/* The scaled score of key u; *own: the part of its error that is rounding
 * on the way. */
num bounds_score(const query *q, const double *x, const double *ex, int u, const rounding *k,
                 double *own);

/* ---- layer norm, GELU ---------------------------------------------------------- */

/* The normalised channel of an x. */
num bounds_xhat(num x, num mean, num rstd, int C, const rounding *k);

/* GELU and its derivative at x. */
num bounds_gelu(num x, const rounding *k);
num bounds_gelu_slope(num x, const rounding *k);

#endif
