/* fault_attention.c -- attention with one thing wrong; see faults.h.
 *
 *  s[t,u] = sum_i q[t,i] k[u,i] / sqrt(HS)
 *  a[t,u] = exp(s[t,u]) / sum_w exp(s[t,w])        over the keys that query t sees
 *  o[t,i] = sum_u a[t,u] v[u,i]
 *
 *  da[t,u]  = sum_i do[t,i] v[u,i]
 *  ds[t,u]  = a[t,u] (da[t,u] - sum_w a[t,w] da[t,w])
 *  dq[t,i] += sum_u ds[t,u] k[u,i] / sqrt(HS)
 *  dk[u,i] += sum_t ds[t,u] q[t,i] / sqrt(HS)
 *  dv[u,i] += sum_t a[t,u] do[t,i]
 *
 * one (batch, head) at a time, the matrices a, da and ds whole.  The backward pass
 * computes a anew, by the same wrong rule where the rule is one of the forward pass.
 * Only what differs from the definition is said below.
 */
#include "verify/diagnosis/faults.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct problem {
    const fault_work *w;
    fault_rule rule;
    int number;                     /* of tiles; or which variant */
    double value;
    int B, T, S, NH, HS;
    double root;                    /* sqrt(HS) */
    const double *q, *k, *v;        /* (B, T or S, NH, HS) */
    const int *mask;                /* (T, S) or NULL: causal */
    const double *out, *dout;       /* (B, T, NH, HS): of the forward pass; its gradient */
    int columns;                    /* S; S + 1 where the key behind the last is read */
    int b;                          /* the batch row in hand */
    double *a, *da;                 /* (T, columns) */
    double *sums;                   /* (T): right row sums, for rules that take them */
    bool of_lse;                    /* backward computes exp(s - lse), see faults.h ... */
    fault_rule lse;                 /* ... with the lse that this rule makes */
} problem;

/* Rules whose number says that the row sum is the right one: made of do and o. */
static bool takes_right_sum(fault_rule r)
{
    return r == RULE_ATT_LSE_NO_MAX || r == RULE_ATT_RESCORED || r == RULE_ATT_RESCORED_LSE;
}

/* Rules of backward passes that take an lse from elsewhere than they should. */
static bool reads_other_lse(fault_rule r)
{
    return r == RULE_ATT_LSE_NO_SUM || r == RULE_ATT_LSE_OTHER_ROW || r == RULE_ATT_LSE_TRANSPOSED;
}

static problem problem_of(const fault *f, const graph *g, const graph_node *n, const double *x,
                          const int *ints, const fault_work *w)
{
    problem p = { w, f->rule, f->number, f->value, n->B, n->T, n->S, n->NH, n->HS, sqrt(n->HS),
                  x + g->tensor[n->in[0]].at, x + g->tensor[n->in[1]].at,
                  x + g->tensor[n->in[2]].at, NULL, x + g->tensor[n->out].at, NULL,
                  n->S + (f->rule == RULE_ATT_ONE_MORE && f->number == 1 && n->B > 1), 0, NULL, NULL, NULL,
                  f->of_lse || reads_other_lse(f->rule), f->of_lse ? f->lse : RULE_ATT_ROW_SUM_OF_OUT };
    if (n->in[3] >= 0) p.mask = ints + g->tensor[n->in[3]].at;
    p.a = w->scratch + g->tensor[n->stage[0]].at;
    p.da = w->scratch + g->tensor[n->stage[1]].at;
    return p;
}

static size_t query(const problem *p, int b, int t, int h)
{
    return (((size_t)b * (size_t)p->T + (size_t)t) * (size_t)p->NH + (size_t)h) * (size_t)p->HS;
}

static size_t key(const problem *p, int b, int u, int h)
{
    return (((size_t)b * (size_t)p->S + (size_t)u) * (size_t)p->NH + (size_t)h) * (size_t)p->HS;
}

static double dot(const double *x, const double *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* ---- which keys, and how large -------------------------------------------- */

static bool right_see(const problem *p, int t, int u)
{
    if (u == p->S) return false;
    return p->mask ? p->mask[(size_t)t * (size_t)p->S + (size_t)u] != 0 : u <= p->S - p->T + t;
}

/* The mask read as if it lay there as (S, T).  Number 1: of a causal call, whose mask says 1
 * behind the diagonal (op_case_mask). */
static bool sees_transposed(const problem *p, int t, int u)
{
    const int cell = u * p->T + t, row = cell / p->S, column = cell % p->S;
    if (!p->mask) return right_see(p, t, u);
    if (p->number == 0) return p->mask[cell] != 0;
    return u <= p->S - p->T + t && (column > p->S - p->T + row || p->mask[cell] != 0);
}

static bool sees(const problem *p, int t, int u)
{
    const int last = p->S - p->T + t;
    if (u == p->S) return p->b + 1 < p->B && (p->mask || last + 1 == u);
    switch (p->rule) {
    case RULE_ATT_ONE_MORE:       return p->mask ? right_see(p, t, u) || u == last + 1 : u <= last + 1;
    case RULE_ATT_ONE_FEWER:      return right_see(p, t, u) && (p->mask ? u != last : u < last);
    case RULE_ATT_TOP_LEFT:       return p->mask ? right_see(p, t, u) && u <= t : u <= t;
    case RULE_ATT_NO_MASK:        return true;
    case RULE_ATT_NO_CAUSAL:      return right_see(p, t, u) || u > last;
    case RULE_ATT_CAUSAL_ONLY:    return u <= last;
    case RULE_ATT_MASK_INVERTED:  return !right_see(p, t, u) && (p->number == 0 || u <= last);
    case RULE_ATT_FIRST_KEY_LEAKS: return right_see(p, t, u) || (u == 0 && (p->number == 0 || last < 0));
    case RULE_ATT_MASK_TRANSPOSED: return sees_transposed(p, t, u);
    case RULE_ATT_UNDERFLOW:      return right_see(p, t, u) || last < 0;
    case RULE_ATT_WINDOW:         return right_see(p, t, u) && u > last - p->number;
    case RULE_ATT_NOT_FIRST_KEY:  return right_see(p, t, u) && u > 0;
    case RULE_ATT_NOT_LAST_KEY:   return right_see(p, t, u) && u + 1 < p->S;
    case RULE_ATT_TILE_LEAK:
        return p->mask && !right_see(p, t, u) ? u > last && u / p->number * p->number <= last
                                              : u / p->number * p->number <= last;
    case RULE_ATT_KEY_TAIL:       return right_see(p, t, u) && u < p->S / p->number * p->number;
    default:                      return right_see(p, t, u);
    }
}

static double score_scale(const problem *p)
{
    switch (p->rule) {
    case RULE_ATT_SCALE:
    case RULE_ATT_RESCORED: case RULE_ATT_RESCORED_LSE: return 1;
    case RULE_ATT_SCALE_VALUE: return p->value;
    case RULE_ATT_SCALE_TWICE: return 1 / (p->root * p->root);
    case RULE_ATT_SCALE_HS:    return p->root;
    case RULE_ATT_SCALE_C:     return 1 / sqrt((double)p->NH * p->HS);
    default:                   return 1 / p->root;
    }
}

/* exp as a kernel's precision has it. */
static double exp_held(const problem *p, double x)
{
    const double e = exp(x);
    return e > p->w->most ? (double)INFINITY : e < p->w->least ? 0 : e;
}

/* exp(s - max), or what stands for it. */
static double power(const problem *p, double x)
{
    return p->rule == RULE_ATT_EXP2 ? exp2(x) : exp_held(p, x);
}

/* How often a key counts: the last `number` keys are one tile, which overlaps the one
 * before where S is no multiple of it. */
static double times(const problem *p, int u)
{
    if (p->rule != RULE_ATT_KEYS_TWICE || p->S <= p->number) return 1;
    return u >= p->S - p->number && u < p->S / p->number * p->number ? 2 : 1;
}

static double held(const problem *p, double x)
{
    return x > p->w->most ? (double)INFINITY : x;
}

/* sum exp(s / sqrt(HS) - max) / exp(lse): what exp(s - max) is to be divided by, so that
 * exp(s - lse) comes out. */
static double lse_divided(const problem *p, const double *s, const bool *none, int t)
{
    double max = -(double)INFINITY, sum = 0;
    for (int u = 0; u < p->columns; u++)
        if ((none || sees(p, t, u)) && s[u] > max) max = s[u];
    for (int u = 0; u < p->columns; u++)
        if (none || sees(p, t, u)) sum += exp((s[u] - max) / p->root);
    return sum * exp(max / p->root - max);
}

/* A sum that underflows to 0: nothing (number 0), NaN (1), or nothing in the forward pass
 * and NaN in the backward pass (2). */
static bool vanishes(const problem *p, double sum)
{
    const int variant = p->number % 10;
    if (p->rule != RULE_ATT_MAX_FROM_ZERO && p->rule != RULE_ATT_NO_MAX) return false;
    return sum == 0 && (variant == 0 || (variant == 2 && !p->dout));
}

/* What is subtracted from a row's scores, of which `max` is the largest. */
static double subtracted(const problem *p, double max)
{
    if (p->rule == RULE_ATT_NO_MAX || (p->rule == RULE_ATT_NO_SUM && p->number == 1)) return 0;
    return p->rule == RULE_ATT_MAX_FROM_ZERO ? fmax(max, -(p->number / 10)) : max;
}

/* Softmax over the keys with w[u]; a row of none stays 0. */
static void softmax_row(const problem *p, double *a, const double *s, const bool *none, int t)
{
    double max = -(double)INFINITY, sum = 0;
    for (int u = 0; u < p->columns; u++)
        if ((none || sees(p, t, u)) && s[u] > max) max = s[u];
    max = subtracted(p, max);
    /* exp(s - lse), with the lse of scores that were divided */
    if (p->rule == RULE_ATT_RESCORED_LSE) sum = lse_divided(p, s, none, t);
    for (int u = 0; u < p->columns; u++) {
        a[u] = none || sees(p, t, u) ? times(p, u) * power(p, s[u] - max) : 0;
        if (p->rule != RULE_ATT_RESCORED_LSE) sum = held(p, sum + a[u]);
    }
    if (p->rule == RULE_ATT_NO_SUM) {           /* an overflow is another fault */
        for (int u = 0; u < p->columns; u++) if (!isfinite(a[u])) a[u] = 0;
        sum = 1;
    }
    for (int u = 0; u < p->columns; u++) {
        if (!(none || sees(p, t, u)) || vanishes(p, sum))
            a[u] = 0;
        else a[u] /= sum;
    }
}

/* Tiles of keys, running maximum m and sum l; what was summed is not rescaled when m
 * grows. */
static void online_row(const problem *p, double *a, const double *s, int t)
{
    double m = -(double)INFINITY, l = 0;
    for (int first = 0; first < p->columns; first += p->number) {
        const int end = first + p->number < p->columns ? first + p->number : p->columns;
        double max = m;
        for (int u = first; u < end; u++) if (sees(p, t, u) && s[u] > max) max = s[u];
        if (!(max > -(double)INFINITY)) continue;
        const double shrink = exp(m - max);
        if (p->rule == RULE_ATT_NO_RESCALE_SUM)
            for (int u = 0; u < first; u++) a[u] *= shrink;
        else l *= shrink;
        for (int u = first; u < end; u++) {
            a[u] = sees(p, t, u) ? exp(s[u] - max) : 0;
            l += a[u];
        }
        m = max;
    }
    for (int u = 0; u < p->columns; u++) a[u] = sees(p, t, u) ? a[u] / l : 0;
}

/* s becomes what the rule puts at masked keys; true where softmax is to run over all. */
static bool masked_scores(const problem *p, double *s, int t)
{
    bool any = false;
    for (int u = 0; u < p->columns; u++) any = any || right_see(p, t, u);
    if (!any && (p->rule == RULE_ATT_EMPTY_MEAN || p->rule == RULE_ATT_EMPTY_ALL)) {
        for (int u = 0; u < p->S && p->rule == RULE_ATT_EMPTY_MEAN; u++) s[u] = 0;
        return true;
    }
    if (p->rule == RULE_ATT_MASK_AFTER || p->rule == RULE_ATT_MASK_AFTER_RENORMED) return true;
    if (p->rule != RULE_ATT_MASK_MINUS && p->rule != RULE_ATT_MASK_ADD
        && p->rule != RULE_ATT_MASK_ZERO) return false;
    for (int u = 0; u < p->columns; u++) {
        if (right_see(p, t, u)) continue;
        if (p->rule == RULE_ATT_MASK_MINUS) s[u] = -fabs((double)p->number);
        else if (p->rule == RULE_ATT_MASK_ADD) s[u] -= fabs((double)p->number);
        else s[u] = 0;
    }
    return true;
}

/* Scores of one query's row. */
static void score_row(const problem *p, double *s, int b, int h, int t)
{
    const double scale = score_scale(p);
    for (int u = 0; u < p->columns; u++)
        s[u] = dot(p->q + query(p, b, t, h), p->k + key(p, b, u, h), p->HS) * scale;
}

/* log sum exp of a row; the scores are left in s. */
static double row_lse(const problem *p, double *s, int b, int h, int t)
{
    double max = -(double)INFINITY, sum = 0;
    score_row(p, s, b, h, t);
    const bool all = masked_scores(p, s, t);
    for (int u = 0; u < p->columns; u++)
        if ((all || sees(p, t, u)) && s[u] > max) max = s[u];
    max = subtracted(p, max);
    for (int u = 0; u < p->columns; u++)
        if (all || sees(p, t, u)) sum = held(p, sum + times(p, u) * power(p, s[u] - max));
    return max + log(sum);
}

/* The row whose lse is read for row (b, h, t). */
static void lse_row(const problem *p, int *b, int *h, int *t)
{
    const int rows = p->B * p->NH * p->T, tile = abs(p->number), next = p->number < 0 ? 1 : -1;
    int flat = (*b * p->NH + *h) * p->T + *t;
    if (p->rule == RULE_ATT_LSE_OTHER_ROW) {        /* the neighbour in its tile */
        const int other = *t + next;
        if (other >= 0 && other < p->T && other / tile == *t / tile) *t = other;
        return;
    }
    if (p->rule != RULE_ATT_LSE_TRANSPOSED) return;
    if (p->number == 0) flat = (*b * p->T + *t) * p->NH + *h;       /* read as (B, T, NH) */
    if (p->number == 1) {                                           /* written so */
        *h = flat % p->NH, *t = flat / p->NH % p->T, *b = flat / p->NH / p->T;
        return;
    }
    if (p->number == 2 && flat > 0) flat--;
    if (p->number == 3 && flat + 1 < rows) flat++;
    *t = flat % p->T, *h = flat / p->T % p->NH, *b = flat / p->T / p->NH;
}

/* a = exp(s - lse), as a backward pass has it that keeps lse alone. */
static void lse_att_row(const problem *p, double *a, double *s, int b, int h, int t)
{
    problem forward = *p;
    int lb = b, lh = h, lt = t;
    forward.rule = p->lse;
    lse_row(p, &lb, &lh, &lt);
    double lse = row_lse(&forward, s, lb, lh, lt);
    if (p->rule == RULE_ATT_LSE_NO_SUM) {           /* the maximum alone */
        lse = -(double)INFINITY;
        for (int u = 0; u < p->columns; u++) if (sees(p, t, u) && s[u] > lse) lse = s[u];
    }
    score_row(p, s, b, h, t);
    const bool all = masked_scores(p, s, t);
    for (int u = 0; u < p->columns; u++) a[u] = all || sees(p, t, u) ? power(p, s[u] - lse) : 0;
}

/* a of one query's row, and its scores in s. */
static void att_row(const problem *p, double *a, double *s, int b, int h, int t)
{
    bool any = false;
    if (p->of_lse && p->dout) {
        lse_att_row(p, a, s, b, h, t);
        return;
    }
    score_row(p, s, b, h, t);
    for (int u = 0; u < p->columns; u++) {
        any = any || sees(p, t, u);
        a[u] = 0;
    }
    if (masked_scores(p, s, t)) {
        static const bool everywhere = true;
        softmax_row(p, a, s, &everywhere, t);
        if (p->rule == RULE_ATT_MASK_AFTER || p->rule == RULE_ATT_MASK_AFTER_RENORMED)
            for (int u = 0; u < p->columns; u++) if (!right_see(p, t, u)) a[u] = 0;
    } else if (any) {
        if (p->rule == RULE_ATT_NO_RESCALE || p->rule == RULE_ATT_NO_RESCALE_SUM)
            online_row(p, a, s, t);
        else softmax_row(p, a, s, NULL, t);
    } else if (p->rule == RULE_ATT_EMPTY_NAN) {
        for (int u = 0; u < p->columns; u++) a[u] = (double)NAN;
    }
    if (p->rule == RULE_ATT_MASK_AFTER_RENORMED) {
        double sum = 1e-6;                  /* as it is added against 0/0 */
        for (int u = 0; u < p->columns; u++) sum += a[u];
        for (int u = 0; u < p->columns; u++) a[u] /= sum;
    }
}

void fault_attention_forward(const fault *f, const graph *g, const graph_node *n, double *x,
                             const int *ints, const fault_work *w)
{
    if (f->rule == RULE_ATT_LAYOUT || f->rule == RULE_ATT_KEY_STRIDE) {
        fault_elsewhere_forward(f, g, n, x, ints, w);
        return;
    }
    problem p = problem_of(f, g, n, x, ints, w);
    double *out = x + g->tensor[n->out].at, *att = x + g->tensor[n->stage[0]].at, *a = p.a;
    const size_t S = (size_t)p.S;
    for (int b = 0; b < p.B; b++)
    for (int h = 0; h < p.NH; h++)
    for (int t = 0; t < p.T; t++) {
        double *kept = att + (((size_t)b * (size_t)p.NH + (size_t)h) * (size_t)p.T + (size_t)t) * S;
        double *o = out + query(&p, b, t, h);
        p.b = b;
        att_row(&p, a, p.da, b, h, t);
        memcpy(kept, a, S * sizeof *a);
        for (int i = 0; i < p.HS; i++) {
            o[i] = 0;
            for (int u = 0; u < p.columns; u++)
                if (a[u] != 0) o[i] += a[u] * p.v[key(&p, b, u, h) + (size_t)i];
        }
    }
}

/* ---- backward --------------------------------------------------------------- */

static double gradient_scale(const problem *p, bool of_q)
{
    const double once = 1 / p->root;
    switch (p->rule) {
    case RULE_ATT_SCALE_DQ:         return of_q ? 1 : once;
    case RULE_ATT_SCALE_DK:         return of_q ? once : 1;
    case RULE_ATT_SCALE_BOTH:       return 1;
    case RULE_ATT_RESCORED: case RULE_ATT_RESCORED_LSE: return once;
    case RULE_ATT_SCALE_TWICE_DQ:   return of_q ? once * once : once;
    case RULE_ATT_SCALE_TWICE_DK:   return of_q ? once : once * once;
    case RULE_ATT_SCALE_TWICE_BOTH: return once * once;
    case RULE_ATT_SCALE_C_BOTH:     return 1 / sqrt((double)p->NH * p->HS);
    default:                        return score_scale(p);
    }
}

/* What is subtracted from da[t,u]; dout: of the query. */
static double row_sum(const problem *p, const double *dout, int t, int u)
{
    const size_t S = (size_t)p->columns, row = (size_t)p->NH * (size_t)p->HS;
    const double *a = p->a + (size_t)t * S, *da = p->da + (size_t)t * S;
    double sum = 0;
    int count = 0;
    if (p->number == 1 && takes_right_sum(p->rule)) return p->sums[t];
    switch (p->rule) {
    case RULE_ATT_NO_ROW_SUM:
    case RULE_ATT_NO_SOFTMAX_BACKWARD: return 0;
    case RULE_ATT_DIAGONAL: return a[u] * da[u];
    case RULE_ATT_ROW_SUM_OF_OUT: return dot(dout, p->out + (dout - p->dout), p->HS);
    case RULE_ATT_ROW_SUM_OTHER_ROW: {              /* do . o with o, or both, of the tile's first row */
        const double *first = dout - row * (size_t)(t % abs(p->number));
        return dot(p->number < 0 ? first : dout, p->out + (first - p->dout), p->HS);
    }
    case RULE_ATT_ROW_SUM_DOUT:
    case RULE_ATT_ROW_SUM_SQUARES:
        for (int i = 0; i < p->HS; i++)
            sum += p->rule == RULE_ATT_ROW_SUM_DOUT ? dout[i] : dout[i] * dout[i];
        return sum;
    case RULE_ATT_ROW_SUM_QUERIES:
        for (int r = 0; r < p->T; r++)
            sum += p->a[(size_t)r * S + (size_t)u] * p->da[(size_t)r * S + (size_t)u];
        return sum;
    case RULE_ATT_ROW_SUM_PLAIN:
        for (int w = 0; w < p->columns; w++) if (right_see(p, t, w)) sum += da[w];
        return sum;
    case RULE_ATT_ROW_SUM_CHANNELS:
        for (int w = 0; w < p->S && w < p->HS; w++) sum += a[w] * da[w];
        return sum;
    default:
        if (p->of_lse) return dot(dout, p->out + (dout - p->dout), p->HS);
        for (int w = 0; w < p->columns; w++) {
            if (a[w] == 0) continue;
            sum += a[w] * da[w];
            count++;
        }
        if (p->rule == RULE_ATT_ROW_SUM_PLUS) return -sum;
        return p->rule == RULE_ATT_ROW_SUM_MEAN && count ? sum / count : sum;
    }
}

/* Whether the gradient of the score reaches q and k. */
static bool reaches(const problem *p, int t, int u)
{
    switch (p->rule) {
    case RULE_ATT_MASK_AFTER: case RULE_ATT_MASK_AFTER_RENORMED: case RULE_ATT_MASK_ADD:
    case RULE_ATT_EMPTY_ALL: case RULE_ATT_DS_TRANSPOSED: return true;
    case RULE_ATT_MASK_MINUS: case RULE_ATT_MASK_ZERO:
        return right_see(p, t, u) || p->number < 0;
    default:
        return sees(p, t, u) || p->rule == RULE_ATT_EMPTY_NAN;
    }
}

/* The row's a as the backward pass has it: exp(s - lse), with an lse that lacks the
 * maximum. */
static void without_maximum(const problem *p, double *a, const double *s, int t)
{
    double max = -(double)INFINITY;
    for (int u = 0; u < p->columns; u++) if (sees(p, t, u) && s[u] > max) max = s[u];
    for (int u = 0; u < p->columns; u++) if (a[u] != 0) a[u] *= exp_held(p, max);
}

/* ds[u,t], where there is such a cell. */
static double transposed_gradient(const problem *p, int t, int u)
{
    if (u >= p->T || t >= p->S) return 0;
    const size_t S = (size_t)p->columns, e = (size_t)u * S + (size_t)t;
    double row = 0;
    for (size_t w = 0; w < S; w++) row += p->a[(size_t)u * S + w] * p->da[(size_t)u * S + w];
    return p->a[e] * (p->da[e] - row);
}

/* ds[t,u]; after the softmax a masked cell has weight but no gradient. */
static double score_gradient(const problem *p, const double *full, const double *dout, int t, int u)
{
    const size_t e = (size_t)t * (size_t)p->columns + (size_t)u;
    if (p->rule == RULE_ATT_NO_SOFTMAX_BACKWARD) return right_see(p, t, u) ? p->da[e] : 0;
    if (p->rule == RULE_ATT_MASK_AFTER && full) {
        double row = 0;
        for (int w = 0; w < p->columns; w++)
            row += p->a[(size_t)t * (size_t)p->columns + (size_t)w] * p->da[(size_t)t * (size_t)p->columns + (size_t)w];
        return full[u] * ((right_see(p, t, u) ? p->da[e] : 0) - row);
    }
    if (p->rule == RULE_ATT_DS_NO_A) return right_see(p, t, u) ? p->da[e] - row_sum(p, dout, t, u) : 0;
    if (p->rule == RULE_ATT_DS_TRANSPOSED) return transposed_gradient(p, t, u);
    return p->a[e] * (p->da[e] - row_sum(p, dout, t, u));
}

/* The factors of ds in dq[t] and dk[u]; NULL where there is none. */
static const double *dq_reads(const problem *p, int b, int h, int t, int u)
{
    if (p->rule == RULE_ATT_DQ_READS_Q) return u < p->T ? p->q + query(p, b, u, h) : NULL;
    if (p->rule == RULE_ATT_DQ_READS_K_OF_QUERY) {      /* number n: by their places in tiles of n */
        const int tile = abs(p->number), places = p->number < 0 ? tile / 2 : tile;
        const int at = tile < p->S ? u / tile * tile + t % places : t % places;
        return at < p->S ? p->k + key(p, b, at, h) : at >= tile ? p->k + key(p, b, at - tile, h) : NULL;
    }
    if (p->rule == RULE_ATT_DQ_READS_OWN_Q) return p->q + query(p, b, t, h);
    if (p->rule == RULE_ATT_DQ_READS_V) return p->v + key(p, b, u, h);
    return p->k + key(p, b, u, h);
}

static const double *dk_reads(const problem *p, int b, int h, int t, int u)
{
    if (p->rule == RULE_ATT_DK_READS_K) return t < p->S ? p->k + key(p, b, t, h) : NULL;
    if (p->rule == RULE_ATT_DK_READS_OWN_K) return p->k + key(p, b, u, h);
    if (p->rule == RULE_ATT_DK_READS_V) return p->v + key(p, b, u, h);
    return p->q + query(p, b, t, h);
}

static double value_weight(const problem *p, double ds, int b, int h, int t, int u)
{
    const double a = p->a[(size_t)t * (size_t)p->columns + (size_t)u];
    const double s = dot(p->q + query(p, b, t, h), p->k + key(p, b, u, h), p->HS);
    switch (p->rule) {
    case RULE_ATT_DV_TRANSPOSED:
        return u < p->T && t < p->S ? p->a[(size_t)u * (size_t)p->columns + (size_t)t] : 0;
    case RULE_ATT_DV_SCORES: return right_see(p, t, u) ? s : 0;
    case RULE_ATT_DV_SCALED: return right_see(p, t, u) ? s / p->root : 0;
    case RULE_ATT_DV_DS:     return ds;
    case RULE_ATT_DV_DA:
        return right_see(p, t, u) ? p->da[(size_t)t * (size_t)p->columns + (size_t)u] : 0;
    default:                 return a;
    }
}

static void put(double *to, double value, bool assign) { *to = assign ? value : *to + value; }

static void backward_cell(const problem *p, double *dq, double *dk, double *dv, const double *g,
                          double ds, int b, int h, int t, int u)
{
    const double *kq = dq_reads(p, b, h, t, u), *qk = dk_reads(p, b, h, t, u);
    const double weight = value_weight(p, ds, b, h, t, u);
    /* dq summed up in a buffer that is added after each tile of keys and not set to 0. */
    const double again = p->rule == RULE_ATT_DQ_EACH_TILE ? (p->S - 1) / p->number + 1 - u / p->number : 1;
    const double to_q = ds * gradient_scale(p, true) * again, to_k = ds * gradient_scale(p, false);
    const bool reached = reaches(p, t, u);
    for (int i = 0; i < p->HS; i++) {
        if (weight != 0) put(&dv[i], weight * g[i], p->rule == RULE_ATT_ASSIGN_DV);
        if (reached && kq) put(&dq[i], to_q * kq[i], p->rule == RULE_ATT_ASSIGN_DQ);
        if (reached && qk) put(&dk[i], to_k * qk[i], p->rule == RULE_ATT_ASSIGN_DK);
    }
}

/* sum_u a[t,u] da[t,u] with the right a: of row t, into r[t]. */
static void right_row_sums(const problem *p, double *r, double *s, int b, int h)
{
    problem right = *p;
    right.of_lse = false;
    right.rule = RULE_SCALE;            /* none of attention's */
    for (int t = 0; t < p->T; t++) {
        double *a = s + p->columns;
        att_row(&right, a, s, b, h, t);
        r[t] = 0;
        for (int u = 0; u < p->S; u++)
            if (a[u] != 0) r[t] += a[u] * p->da[(size_t)t * (size_t)p->columns + (size_t)u];
    }
}

static void backward_head(const problem *p, const graph *g, const graph_node *n, double *dx,
                          const double *dout, double *s, int b, int h)
{
    const size_t S = (size_t)p->columns;
    double *dq = dx + g->tensor[n->in[0]].at, *dk = dx + g->tensor[n->in[1]].at;
    double *dv = dx + g->tensor[n->in[2]].at;
    for (int t = 0; t < p->T; t++) {
        att_row(p, p->a + (size_t)t * S, s, b, h, t);
        if (p->rule == RULE_ATT_LSE_NO_MAX) without_maximum(p, p->a + (size_t)t * S, s, t);
        for (int u = 0; u < p->columns; u++)
            p->da[(size_t)t * S + (size_t)u] =
                dot(dout + query(p, b, t, h),
                    (p->rule == RULE_ATT_DA_READS_K ? p->k : p->v) + key(p, b, u, h), p->HS);
    }
    if (p->number == 1 && takes_right_sum(p->rule)) right_row_sums(p, p->sums, s, b, h);
    for (int t = 0; t < p->T; t++) {
        const bool after = p->rule == RULE_ATT_MASK_AFTER;
        if (after) {                        /* s: softmax over all keys */
            static const bool everywhere = true;
            double *scores = s + S;
            for (int u = 0; u < p->columns; u++)
                scores[u] = dot(p->q + query(p, b, t, h), p->k + key(p, b, u, h), p->HS) / p->root;
            softmax_row(p, s, scores, &everywhere, t);
        }
        for (int u = 0; u < p->columns; u++) {
            const double ds = score_gradient(p, after ? s : NULL, dout + query(p, b, t, h), t, u);
            backward_cell(p, dq + query(p, b, t, h), dk + key(p, b, u, h), dv + key(p, b, u, h),
                          dout + query(p, b, t, h), ds, b, h, t, u);
        }
    }
}

void fault_attention_backward(const fault *f, const graph *g, const graph_node *n, double *dx,
                              const double *x, const int *ints, const fault_work *w)
{
    if (f->rule == RULE_ATT_LAYOUT || f->rule == RULE_ATT_KEY_STRIDE) {
        fault_elsewhere_backward(f, g, n, dx, x, ints, w);
        return;
    }
    problem p = problem_of(f, g, n, x, ints, w);
    const bool assigns = f->rule >= RULE_ATT_ASSIGN_DQ && f->rule <= RULE_ATT_ASSIGN_DV;
    const int own = assigns && f->number == 1 ? n->in[f->rule - RULE_ATT_ASSIGN_DQ] : -1;
    /* Behind the block's place of all tensors: rows of S, sums of T. */
    double *s = w->scratch + g->reals, *before = s + 3 * (size_t)(n->S + 1) + (size_t)n->T;
    p.sums = s + 3 * (size_t)(n->S + 1);
    p.dout = dx + g->tensor[n->out].at;
    if (own >= 0) {             /* assigned in a buffer of the kernel's own, which is added */
        memcpy(before, dx + g->tensor[own].at, g->tensor[own].count * sizeof *before);
        memset(dx + g->tensor[own].at, 0, g->tensor[own].count * sizeof *before);
    }
    for (p.b = 0; p.b < p.B; p.b++)
        for (int h = 0; h < p.NH; h++) backward_head(&p, g, n, dx, p.dout, s, p.b, h);
    for (size_t i = 0; own >= 0 && i < g->tensor[own].count; i++) dx[g->tensor[own].at + i] += before[i];
}
