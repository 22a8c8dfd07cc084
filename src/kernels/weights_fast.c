/* weights_fast.c -- which ids may be drawn: logits looked at, and their weights in double,
 *
 *     w[v] = exp((x[v] - max) / temperature)
 *
 * with x[v] <= max, bit for bit as sample/filters.c computes it with exp_f64(): the
 * same operations in the same order, but without the branches that keep a compiler
 * from doing several at a time.  A vocabulary has tens of thousands of them for each
 * token that is drawn, so they are not kept: each is added where it belongs.
 */
#include <float.h>
#include "base/elementary_parts.h"
#include "kernels/fast.h"
#include "kernels/simd.h"
#include "kernels/weights.h"

enum { CHUNK = 256 };                   /* weights at a time, which stay near */
/* e^LEAST is 0 in double: below it nothing changes. */
static const double LEAST = -746;

void FAST(logit_extremes)(const float *x, size_t n, float *low, float *high, bool *odd)
{
    const vec one = vec_set1(1), most = vec_set1(FLT_MAX), first = vec_set1(x[0]);
    vec lows = first, highs = first, odds = vec_zero();
    for (size_t v = 0; v < n; v += VEC_LANES) {
        const size_t m = n - v < VEC_LANES ? n - v : VEC_LANES;
        const vec a = m == VEC_LANES ? vec_load(x + v)
                    : vec_select(vec_first(m), vec_load_n(x + v, m), first);
        lows = vec_min(a, lows);        /* of a NaN: what was there */
        highs = vec_max(a, highs);
        odds = vec_select(vec_le(a, most), odds, one);
    }
    *low = -vec_hmax(vec_neg(lows));
    *high = vec_hmax(highs);
    *odd = vec_any(vec_eq(odds, one));
}

size_t FAST(logits_between)(size_t *ids, const float *x, size_t n, float low, float high)
{
    const vec lows = vec_set1(low), highs = vec_set1(high);
    size_t count = 0;
    for (size_t v = 0; v < n; v += VEC_LANES) {         /* few of many */
        const size_t m = n - v < VEC_LANES ? n - v : VEC_LANES;
        const vec a = m == VEC_LANES ? vec_load(x + v) : vec_load_n(x + v, m);
        if (!vec_any(vec_eq(vec_min(vec_max(a, lows), highs), a))) continue;
        for (size_t j = v; j < v + m; j++) {            /* no branch: which ones is chance */
            ids[count] = j;
            count += (x[j] >= low) & (x[j] <= high);
        }
    }
    return count;
}

void FAST(weight_tally)(weight_range *ranges, const float *logits, size_t n, double max,
                        double temperature, int shift)
{
    for (size_t from = 0; from < n; from += CHUNK) {
        const size_t m = n - from < CHUNK ? n - from : CHUNK;
        const float *restrict x = logits + from;
        double w[CHUNK];
        uint64_t range[CHUNK];
        for (size_t v = 0; v < m; v++) w[v] = ((double)x[v] - max) / temperature;
        for (size_t v = 0; v < m; v++) w[v] = w[v] > LEAST ? w[v] : LEAST;
        for (size_t v = 0; v < m; v++) {
            int k;
            const parts e = exp_parts(w[v], &k);
            w[v] = scale(e.hi, k);
        }
        for (size_t v = 0; v < m; v++) range[v] = weight_range_of(w[v], shift);
        for (size_t v = 0; v < m; v++) {
            ranges[range[v]].mass += w[v];
            ranges[range[v]].count++;
        }
    }
}
