/* filters.h -- the next token from a row of logits.
 *
 * With x the logits, T the temperature, m = max x:
 *
 *     weight[v] = exp((x[v] - m) / T)           a probability, but for the sum
 *     order       by (weight descending, id ascending)
 *     top-k       the first k of the order (0 = off)
 *     top-p       of those, each while the mass before it is below p times
 *                 their mass; at least one (1 = off)
 *     draw        the first of those whose running mass exceeds u times theirs
 *
 * T = 0 (or -0) is the limit: the largest logit, the lowest id among equals.
 * All sums are in double.  The choice is a pure function of (logits, options,
 * u); no id of weight 0 is ever chosen, whatever rounding does to the sums.
 *
 * References: Fan et al., "Hierarchical Neural Story Generation", 2018, 5
 * (top-k); Holtzman et al., "The Curious Case of Neural Text Degeneration",
 * 2020, 3.1 (top-p).
 */
#ifndef FILTERS_H
#define FILTERS_H

#include "base/status.h"

typedef struct filter_options {
    double temperature;         /* >= 0, finite */
    size_t top_k;               /* 0 = off */
    double top_p;               /* 0..1 */
} filter_options;

typedef struct filter_choice {
    double weight;
    size_t id;
} filter_choice;

/* VT_USAGE, naming the option and its range. */
VT_MUST_CHECK vt_status filter_check(const filter_options *options, vt_error *err);

/* Draws with u in [0, 1) from logits (V), V >= 1, into *id.  `scratch` holds V.
 * Logits may be -inf (never chosen); VT_NAN for a NaN, +inf, or nothing but
 * -inf. */
VT_MUST_CHECK vt_status filter_draw(const float *logits, size_t V, const filter_options *options,
                                    double u, filter_choice *scratch, size_t *id, vt_error *err);

/* What the draw is from: the *kept ids in order at the front of `choices` (V),
 * their weights divided by their mass.  At T = 0, one id of weight 1. */
VT_MUST_CHECK vt_status filter_list(const float *logits, size_t V, const filter_options *options,
                                    filter_choice *choices, size_t *kept, vt_error *err);

#endif
