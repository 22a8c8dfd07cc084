/* filters.c -- see filters.h.
 *
 *     w[v] = exp((l[v] - max l) / temperature)           (sample.temperature)
 *     temperature 0: the lowest v of the largest l[v]         (sample.greedy)
 *     top-k: the k first, by weight falling, then by id         (sample.topk)
 *     top-p: the fewest of those whose weights reach p of them  (sample.topp)
 *     p[i] = w[i] / sum of the kept                            (sample.probs)
 *     draw: the first i with w[0] + ... + w[i] > u sum of the kept (sample.draw)
 */
#include "sample/filters.h"
#include <assert.h>
#include <math.h>
#include "base/elementary.h"
#include "sample/order.h"

vt_status filter_check(const filter_options *options, vt_error *err)
{
    if (!(options->temperature >= 0) || isinf(options->temperature))
        return fail(err, VT_USAGE, "temperature: expected a finite number >= 0 (0 = greedy), "
                    "found %g", options->temperature);
    if (!(options->top_p >= 0 && options->top_p <= 1))
        return fail(err, VT_USAGE, "top-p: expected a number in 0..1 (1 = off), found %g",
                    options->top_p);
    return VT_OK;
}

typedef struct ranking {
    order  order;
    double total;               /* of all weights, added by id */
} ranking;

/* --- weights ------------------------------------------------------------ */

/* The largest logit's lowest id. */
static vt_status find_max(const float *logits, size_t V, size_t *id, vt_error *err)
{
    size_t best = 0;
    for (size_t v = 0; v < V; v++) {
        if (isnan(logits[v]) || (isinf(logits[v]) && logits[v] > 0))
            return fail(err, VT_NAN, "the logit of token %zu is %s", v,
                        isnan(logits[v]) ? "NaN" : "+Inf");
        if (logits[v] > logits[best]) best = v;                         /* sample.greedy */
    }
    if (isinf(logits[best]))
        return fail(err, VT_NAN, "all %zu logits are -Inf: there is no next token", V);
    *id = best;
    return VT_OK;
}

static void rank(ranking *r, const float *logits, size_t V, double max, double temperature,
                 filter_choice *c)
{
    r->total = 0;
    for (size_t v = 0; v < V; v++) {
        const double w = exp_f64(((double)logits[v] - max) / temperature);  /* sample.temperature */
        c[v] = (filter_choice){ w, v };
        r->total += c[v].weight;
    }
    order_begin(&r->order, c, V);
}

/* How many of the order are kept, and their mass. */
static size_t keep(ranking *r, const filter_options *options, double *mass)
{
    size_t limit = r->order.n;
    *mass = r->total;
    if (options->top_k > 0 && options->top_k < r->order.n) {
        limit = options->top_k;                                         /* sample.topk */
        *mass = 0;
        for (size_t i = 0; i < limit; i++) *mass += order_at(&r->order, i)->weight;
    }
    if (options->top_p >= 1) return limit;
    const double enough = options->top_p * *mass;                       /* sample.topp */
    size_t n = 1;
    *mass = order_at(&r->order, 0)->weight;
    while (n < limit && *mass < enough) *mass += order_at(&r->order, n++)->weight;   /* sample.topp */
    return n;
}

/* The first of `kept` whose running mass exceeds u * mass.  Where rounding
 * leaves none, the last that has a weight at all. */
static size_t draw(ranking *r, size_t kept, double mass, double u)
{
    const double target = u * mass;                                     /* sample.draw */
    double running = 0;
    size_t id = order_at(&r->order, 0)->id;                      /* weight exp(0) = 1 */
    for (size_t i = 0; i < kept && order_at(&r->order, i)->weight > 0; i++) {
        id = order_at(&r->order, i)->id;
        running += order_at(&r->order, i)->weight;                                   /* sample.draw */
        if (running > target) break;
    }
    return id;
}

vt_status filter_draw(const float *logits, size_t V, const filter_options *options, double u,
                      filter_choice *scratch, size_t *id, vt_error *err)
{
    assert(V >= 1 && u >= 0 && u < 1);
    size_t best = 0;
    vt_status status = filter_check(options, err);
    if (status == VT_OK) status = find_max(logits, V, &best, err);
    if (status != VT_OK) return status;
    *id = best;
    if (options->temperature > 0) {
        ranking r;
        double mass;
        rank(&r, logits, V, (double)logits[best], options->temperature, scratch);
        const size_t kept = keep(&r, options, &mass);
        *id = draw(&r, kept, mass, u);
    }
    return VT_OK;
}

vt_status filter_list(const float *logits, size_t V, const filter_options *options,
                      filter_choice *choices, size_t *kept, vt_error *err)
{
    assert(V >= 1);
    size_t best = 0;
    vt_status status = filter_check(options, err);
    if (status == VT_OK) status = find_max(logits, V, &best, err);
    if (status != VT_OK) return status;
    *kept = 1;
    if (options->temperature > 0) {
        ranking r;
        double mass;
        rank(&r, logits, V, (double)logits[best], options->temperature, choices);
        const size_t n = keep(&r, options, &mass);
        (void)order_at(&r.order, V - 1);                       /* sorted, the first at the end */
        for (size_t i = 0; i < V / 2; i++) {
            const filter_choice swap = choices[i];
            choices[i] = choices[V - 1 - i];
            choices[V - 1 - i] = swap;
        }
        for (*kept = 0; *kept < n && choices[*kept].weight > 0; ++*kept)
            choices[*kept].weight /= mass;                              /* sample.probs */
    } else {
        choices[0] = (filter_choice){ 1, best };
    }
    return VT_OK;
}
