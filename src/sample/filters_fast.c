/* filters_fast.c -- see filters_fast.h.
 *
 * filters.c makes the order by a heap of the whole vocabulary, which takes longer than a
 * small model needs for its logits.  Here the order is made only where a sum ends: the
 * weights fall into RANGES by their size, whose sums and counts say in which one that
 * is, and its members alone are ordered, as far as they are looked at, by the same heap.
 *
 * A positive double's bits, read as a whole number, rise with it: so the ranges
 * are equal pieces of that number, from 1 down to the smallest weight, about even
 * pieces of the logits.  Everything below 2^-64 is in the last of them.
 *
 * The ids are cut into parts by their number alone, and the parts' sums added in order.
 */
#include "sample/filters_fast.h"

#ifndef VT_WASM
#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/elementary.h"
#include "sample/order.h"

enum {
    RANGES = 512, NONE = 0xffff,    /* no range: a weight of 0 */
    PARTS = 8, LEAST = 2048,    /* a task: an eighth of the ids, at least so many */
    LANES = 16                  /* looked at together */
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
    const size_t each = sizeof(double) + sizeof(filter_choice) + sizeof(uint16_t);
    const size_t ranges = part_count(V) * RANGES * sizeof(filter_range);
    if (V > (SIZE_MAX - 256 - ranges) / each) return SIZE_MAX;
    return whole_lines(V * sizeof(double)) + whole_lines(V * sizeof(filter_choice)) + ranges +
           V * sizeof(uint16_t);
}

void filter_room_place(filter_room *s, void *block, size_t V)
{
    char *at = block;
    *s = (filter_room){ .weights = block };
    s->choices = (void *)(at += whole_lines(V * sizeof(double)));
    s->ranges = (void *)(at += whole_lines(V * sizeof(filter_choice)));
    s->range = (void *)(at + part_count(V) * RANGES * sizeof(filter_range));
}

/* --- the largest -------------------------------------------------------- */

/* The smallest and the largest of each part; `odd` where one is no number or +Inf. */
typedef struct extremes {
    const float *logits;
    size_t V;
    float low[PARTS], high[PARTS];
    bool  odd[PARTS];
} extremes;

static void look(void *context, size_t part, int worker)
{
    extremes *e = context;
    const size_t size = part_size(e->V), from = part * size;
    const size_t n = e->V - from < size ? e->V - from : size;
    const float *x = e->logits + from;
    float low[LANES], high[LANES];
    int odd[LANES] = { 0 };
    (void)worker;
    for (size_t j = 0; j < LANES; j++) low[j] = high[j] = x[0];
    for (size_t v = 0, step; v < n; v += step) {
        step = n - v < LANES ? 1 : LANES;
        for (size_t j = 0; step == LANES && j < LANES; j++) {
            low[j] = x[v + j] < low[j] ? x[v + j] : low[j];
            high[j] = x[v + j] > high[j] ? x[v + j] : high[j];
            odd[j] |= !(x[v + j] < INFINITY);
        }
        if (x[v] < low[0]) low[0] = x[v];
        if (x[v] > high[0]) high[0] = x[v];
        odd[0] |= !(x[v] < INFINITY);
    }
    for (size_t j = 1; j < LANES; j++) {
        if (low[j] < low[0]) low[0] = low[j];
        if (high[j] > high[0]) high[0] = high[j];
        odd[0] |= odd[j];
    }
    e->low[part] = low[0];
    e->high[part] = high[0];
    e->odd[part] = odd[0];
}

/* --- weights and their ranges ------------------------------------------- */

typedef struct ranking {
    const float    *logits;
    size_t          V;
    double          max, temperature;
    filter_room *s;
    int             shift;      /* a range is 2^shift of the bits */
    size_t          here;       /* the range whose order this is */
    order           order;
} ranking;

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static const uint64_t ONE = UINT64_C(1023) << 52;       /* the bits of 1.0 */

/* Of a weight above 0. */
static size_t range_of(const ranking *r, double w)
{
    const uint64_t i = (ONE - bits_of(w)) >> r->shift;
    return i < RANGES ? (size_t)i : RANGES - 1;
}

/* The weights of one part of the ids, and its sums. */
static void weigh(void *context, size_t part, int worker)
{
    const ranking *r = context;
    const size_t size = part_size(r->V), from = part * size;
    const size_t end = r->V - from < size ? r->V : from + size;
    double *w = r->s->weights;
    filter_range *ranges = r->s->ranges + part * RANGES;
    (void)worker;
    memset(ranges, 0, RANGES * sizeof *ranges);
    r->s->kernels->weights(NULL, w + from, r->logits + from, r->max, r->temperature, end - from);
    for (size_t v = from; v < end; v++) {
        r->s->range[v] = NONE;
        if (!(w[v] > 0)) continue;
        const size_t i = range_of(r, w[v]);
        r->s->range[v] = (uint16_t)i;
        ranges[i].mass += w[v];
        ranges[i].count++;
    }
}

/* Weights, ranges and their sums over all parts, in ranges[0 .. RANGES-1]; false where
 * the logits are no numbers, or all -Inf. */
static bool rank(ranking *r, const float *logits, size_t V, double temperature, filter_room *s)
{
    extremes e = { .logits = logits, .V = V };
    const size_t parts = part_count(V);
    float low = (float)INFINITY, high = -(float)INFINITY;
    bool odd = false;
    team_run(s->team, parts, look, &e);
    for (size_t i = 0; i < parts; i++) {
        low = e.low[i] < low ? e.low[i] : low;
        high = e.high[i] > high ? e.high[i] : high;
        odd = odd || e.odd[i];
    }
    if (odd || isinf(high)) return false;

    *r = (ranking){ .logits = logits, .V = V, .max = (double)high, .temperature = temperature,
                    .s = s, .here = RANGES };
    const double least = exp_f64(((double)low - (double)high) / temperature);
    const uint64_t span = ONE - bits_of(least > 0x1p-64 ? least : 0x1p-64);
    while (span >> r->shift >= RANGES) r->shift++;
    team_run(s->team, parts, weigh, r);
    for (size_t part = 1; part < parts; part++)
        for (size_t i = 0; i < RANGES; i++) {
            s->ranges[i].mass += s->ranges[part * RANGES + i].mass;
            s->ranges[i].count += s->ranges[part * RANGES + i].count;
        }
    return true;
}

/* --- the order ---------------------------------------------------------- */

/* Range i's members to choices: few of many, so blocks that hold none are passed over. */
static void gather(ranking *r, size_t i)
{
    const double *w = r->s->weights;
    const uint16_t *range = r->s->range;
    size_t n = 0;
    if (r->here == i) return;
    for (size_t v = 0; v < r->V; v += LANES) {
        const size_t end = r->V - v < LANES ? r->V : v + LANES;
        int any = end < v + LANES;
        for (size_t j = 0; j < LANES && v + LANES <= r->V; j++) any |= range[v + j] == i;
        for (size_t j = v; any && j < end; j++)
            if (range[j] == i) r->s->choices[n++] = (filter_choice){ w[j], j };
    }
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
    const filter_range *ranges = r->s->ranges;
    place at = { .range = 0 };
    for (; at.range <= end->range; at.range++) {
        const filter_range *here = &ranges[at.range];
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
    const filter_range *ranges = r->s->ranges;
    place end = { .range = 0 };
    for (size_t i = 0; i < RANGES; i++) {
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
