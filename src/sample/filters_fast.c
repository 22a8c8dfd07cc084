/* filters_fast.c -- see filters_fast.h.
 *
 * filters.c makes the order by a heap of the whole vocabulary, which takes longer than a
 * small model needs for its logits.  Here the order is made only where a sum ends: the
 * weights fall into ranges by their size (kernels/weights.h), whose sums and counts say in
 * which one that is, and its members alone are ordered, as far as they are looked at, by
 * the same heap.
 *
 * The weights themselves are not kept, which would be eight bytes an id that one thread
 * writes and another reads: those of a range are computed again, from logits between
 * the range's ends.
 *
 * The ids are cut into parts by their number alone, and the parts' sums added in order.
 */
#include "sample/filters_fast.h"

#ifndef VT_WASM
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include "base/elementary.h"
#include "base/elementary_parts.h"
#include "sample/order.h"

enum {
    PARTS = 4, LEAST = 2048,    /* a task: a quarter of the ids, at least so many */
    SUMS = WEIGHT_RANGES + 1    /* of a part: the last for weights of 0 */
};

static size_t part_size(size_t V)
{
    const size_t share = V / PARTS + (V % PARTS != 0);
    return share > LEAST ? share : LEAST;
}

static size_t part_count(size_t V) { return V / part_size(V) + (V % part_size(V) != 0); }

static size_t whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t filter_room_bytes(size_t V)
{
    const size_t each = sizeof(filter_choice) + sizeof(size_t);
    const size_t ranges = part_count(V) * SUMS * sizeof(weight_range);
    if (V > (SIZE_MAX - 128 - ranges) / each) return SIZE_MAX;
    return whole_lines(V * sizeof(filter_choice)) + whole_lines(V * sizeof(size_t)) + ranges;
}

void filter_room_place(filter_room *s, void *block, size_t V)
{
    char *at = block;
    *s = (filter_room){ .choices = block };
    s->ids = (void *)(at += whole_lines(V * sizeof(filter_choice)));
    s->ranges = (void *)(at + whole_lines(V * sizeof(size_t)));
}

/* --- weights and their ranges ------------------------------------------- */

/* The smallest and the largest of each part; `odd` where one is no number or +Inf. */
typedef struct extremes {
    const float *logits;
    size_t V;
    const ops *kernels;
    float low[PARTS], high[PARTS];
    bool  odd[PARTS];
} extremes;

static size_t part_from(size_t V, size_t part, size_t *n)
{
    const size_t size = part_size(V), from = part * size;
    *n = V - from < size ? V - from : size;
    return from;
}

static void look(void *context, size_t part, int worker)
{
    extremes *e = context;
    size_t n;
    const size_t from = part_from(e->V, part, &n);
    (void)worker;
    e->kernels->logit_extremes(e->logits + from, n, &e->low[part], &e->high[part], &e->odd[part]);
}

typedef struct ranking {
    const float    *logits;
    size_t          V;
    double          max, temperature;
    filter_room    *s;
    int             shift;      /* a range is 2^shift of the bits */
    size_t          here;       /* the range whose order this is */
    order           order;
} ranking;

/* The sums of one part of the ids. */
static void weigh(void *context, size_t part, int worker)
{
    const ranking *r = context;
    weight_range *ranges = r->s->ranges + part * SUMS;
    size_t n;
    const size_t from = part_from(r->V, part, &n);
    (void)worker;
    memset(ranges, 0, SUMS * sizeof *ranges);
    r->s->kernels->weight_tally(ranges, r->logits + from, n, r->max, r->temperature, r->shift);
}

/* The ranges' sums over all parts, in the first part's; false where the logits are no
 * numbers, or all -Inf. */
static bool rank(ranking *r, const float *logits, size_t V, double temperature, filter_room *s)
{
    extremes e = { .logits = logits, .V = V, .kernels = s->kernels };
    const size_t count = part_count(V);
    float low = (float)INFINITY, high = -(float)INFINITY;
    bool odd = false;
    team_run(s->team, count, look, &e);
    for (size_t i = 0; i < count; i++) {
        low = e.low[i] < low ? e.low[i] : low;
        high = e.high[i] > high ? e.high[i] : high;
        odd = odd || e.odd[i];
    }
    if (odd || isinf(high)) return false;

    *r = (ranking){ .logits = logits, .V = V, .max = (double)high, .temperature = temperature,
                    .s = s, .here = WEIGHT_RANGES };
    const double least = exp_f64(((double)low - (double)high) / temperature);
    const uint64_t span = bits_of(1) - bits_of(least > 0x1p-64 ? least : 0x1p-64);
    while (span >> r->shift >= WEIGHT_RANGES) r->shift++;
    team_run(s->team, count, weigh, r);
    for (size_t part = 1; part < count; part++)
        for (size_t i = 0; i < WEIGHT_RANGES; i++) {
            s->ranges[i].mass += s->ranges[part * SUMS + i].mass;
            s->ranges[i].count += s->ranges[part * SUMS + i].count;
        }
    return true;
}

/* --- the order ---------------------------------------------------------- */

/* A logit of weight w, put off by more than rounding can in the direction `up`, 1 or -1. */
static float near_logit(const ranking *r, double w, float up)
{
    const double below = r->temperature * log_f64(w);
    const double x = r->max + below + (double)up * 1e-12 * (r->temperature + fabs(below) + fabs(r->max));
    return fabs(x) <= (double)FLT_MAX ? nextafterf((float)x, up * (float)INFINITY) : up * FLT_MAX;
}

/* Range i's members to choices. */
static void gather(ranking *r, size_t i)
{
    if (r->here == i) return;
    const uint64_t high = bits_of(1) - ((uint64_t)i << r->shift);
    const uint64_t low = high - ((uint64_t)1 << r->shift);
    const size_t near = r->s->kernels->logits_between(r->s->ids, r->logits, r->V,
        i == WEIGHT_RANGES - 1 ? -FLT_MAX : near_logit(r, of_bits(low), -1),
        near_logit(r, of_bits(high), 1));
    size_t n = 0;
    for (size_t k = 0; k < near; k++) {
        const size_t id = r->s->ids[k];
        const double w = exp_f64(((double)r->logits[id] - r->max) / r->temperature);
        if (weight_range_of(w, r->shift) == i) r->s->choices[n++] = (filter_choice){ w, id };
    }
    assert(n == r->s->ranges[i].count);
    r->here = i;
    order_begin(&r->order, r->s->choices, n);
}

/* How far in the order: all ranges before, and the first n of this one; together
 * `count` ids of that mass. */
typedef struct place { size_t range, n, count; double mass; } place;

/* The place of the fewest that are `count` or whose mass reaches `enough`; where
 * none are, `end`.  At least one. */
static place reach(ranking *r, const place *end, size_t count, double enough)
{
    const weight_range *ranges = r->s->ranges;
    place at = { .range = 0 };
    for (; at.range <= end->range; at.range++) {
        const weight_range *here = &ranges[at.range];
        const size_t n = at.range < end->range ? here->count : end->n;
        if (n > 0 && (at.count + n >= count || at.mass + here->mass >= enough)) {
            place in = at;
            gather(r, at.range);
            while (in.n < n) {
                in.mass += order_at(&r->order, in.n++)->weight;
                if (++in.count >= count || in.mass >= enough) return in;
            }
        }
        at.mass += here->mass;
        at.count += here->count;
    }
    return *end;
}

/* The end of what is kept. */
static place keep(ranking *r, const filter_options *options)
{
    const weight_range *ranges = r->s->ranges;
    place end = { .range = 0 };
    for (size_t i = 0; i < WEIGHT_RANGES; i++) {
        if (ranges[i].count > 0) end.range = i, end.n = ranges[i].count;
        end.count += ranges[i].count;
        end.mass += ranges[i].mass;
    }
    if (options->top_k > 0 && options->top_k < r->V)
        end = reach(r, &end, options->top_k, (double)INFINITY);
    if (options->top_p < 1) end = reach(r, &end, SIZE_MAX, options->top_p * end.mass);
    return end;
}

/* The first of those kept whose running mass exceeds u times theirs, which is: reaches
 * the next number.  Where rounding leaves none, the last. */
static size_t draw(ranking *r, const place *kept, double u)
{
    const double target = u * kept->mass;
    const place at = reach(r, kept, SIZE_MAX, of_bits(bits_of(target) + 1));
    gather(r, at.range);
    return order_at(&r->order, at.n - 1)->id;
}

vt_status filter_draw_fast(const float *logits, size_t V, const filter_options *options, double u,
                           filter_room *room, size_t *id, vt_error *err)
{
    assert(V >= 1 && u >= 0 && u < 1);
    ranking r;
    const vt_status s = filter_check(options, err);
    if (s) return s;
    if (options->temperature > 0 && rank(&r, logits, V, options->temperature, room)) {
        const place kept = keep(&r, options);
        *id = draw(&r, &kept, u);
        return VT_OK;
    }
    return filter_draw(logits, V, options, u, room->choices, id, err);  /* greedy; what is wrong */
}
#endif
