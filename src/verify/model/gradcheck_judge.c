/* gradcheck_judge.c -- which entries are compared, and what the comparison says.
 * See gradcheck.h for the bounds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "verify/model/entry_name.h"
#include "verify/model/gradcheck_probes.h"

double gradcheck_bound(double rounding, double largest)
{
    return 64 * (rounding * (GRADCHECK_EPS64 / GRADCHECK_EPS32) + GRADCHECK_EPS64 * largest);
}

gradcheck_bounds gradcheck_bounds_of(const gradcheck_case *c, const gradcheck_grads *g,
                                     size_t tensor)
{
    const gpt_tensor *t = &c->tensors[tensor];
    const double largest = gradcheck_largest(g->hand + t->offset, t->count);
    const double measured = g->rounding[tensor];
    const double r = (measured > largest ? largest : measured)     /* NaN stays */
                   + g->shaken[tensor];
    return (gradcheck_bounds){ .largest = largest, .definitions = gradcheck_bound(r, largest),
        .fast = 8 * (r + GRADCHECK_EPS32 * largest * (1 + g->score)) };
}

/* ---- choosing entries -------------------------------------------------- */

static size_t wanted(const vt_check_options *o, const gpt_tensor *t)
{
    return o->directions ? 0 : o->every || (size_t)o->entries > t->count ? t->count
                                                                         : (size_t)o->entries;
}

/* Every second entry is sought where the gradient is not 0: of an embedding,
 * most rows belong to tokens that the window does not hold. */
static size_t choose(const probes *w, const gpt_tensor *t, const vt_check_options *o, rng *r,
                     size_t *out, unsigned char *taken)
{
    const size_t want = wanted(o, t);
    size_t n = 0;
    if (want == t->count) {
        for (; n < want; n++) out[n] = t->offset + n;
        return n;
    }
    memset(taken, 0, t->count);
    while (n < want) {
        size_t k = (size_t)rng_integers(r, 0, (int64_t)t->count);
        for (int tries = 0; n % 2 == 0 && tries < 200 && w->g->hand[t->offset + k] == 0; tries++)
            k = (size_t)rng_integers(r, 0, (int64_t)t->count);
        while (taken[k]) k = (k + 1) % t->count;
        taken[k] = 1;
        out[n++] = t->offset + k;
    }
    return n;
}

/* Of n entries that begin at `first`, one from each of as many equal runs: where its
 * gradient is not 0, if there is one. */
static void choose_few(probes *w, size_t first, size_t n, size_t few)
{
    if (few > n) few = n;
    for (size_t i = 0; i < few; i++) {
        const size_t begin = i * n / few, end = (i + 1) * n / few;
        size_t k = begin;
        while (k < end && w->g->hand[w->at[first + k].at] == 0) k++;
        w->few[w->nfew++] = first + (k < end ? k : begin);
    }
}

static void choose_all(probes *w, const vt_check_options *o, vt_check_row *rows, size_t *room,
                       unsigned char *taken)
{
    const gradcheck_case *c = w->c;
    rng r;
    rng_stream_seed(&r, o->seed, RNG_VERIFY, 1);
    for (size_t k = c->ntensors; k-- > 0;) {            /* last tensor first */
        const gpt_tensor *t = &c->tensors[k];
        const size_t n = choose(w, t, o, &r, room, taken), first = w->n;
        const int part = probes_part(c, k);
        double scale = 0;
        for (size_t i = t->offset; i < t->offset + t->count; i++)
            gradcheck_raise(&scale, fabs((double)c->params[i]));
        rows[k].name = t->name;
        rows[k].compared = n;
        rows[k].of = t->count;
        rows[k].arbiter_value = (double)NAN;
        for (size_t i = 0; i < n; i++)
            w->at[w->n++] = (probe){ .at = room[i], .tensor = k, .part = part, .step = (double)NAN,
                                     .scale = scale > 0 ? scale : 1 };
        choose_few(w, first, n, (size_t)o->differences);
    }
}

/* ---- judging ----------------------------------------------------------- */

/* Of the differences from `right`, where the largest (or a NaN) is into *at. */
static double largest_gap(const float *x, const double *right, size_t n, size_t *at)
{
    double largest = 0;
    *at = 0;
    for (size_t i = 0; i < n && !isnan(largest); i++) {
        const double gap = fabs((double)x[i] - right[i]);
        if (gap <= largest) continue;
        largest = gap;
        *at = i;
    }
    return largest;
}

/* Against the few that differences resolve; those that have no derivative there, and
 * no bar, tell nothing. */
static void judge_differences(const probes *w, vt_check_row *row, const gpt_tensor *t,
                              double bound, size_t first)
{
    row->differences_budget_used = 0;
    for (size_t i = 0; i < w->nfew; i++) {
        if (w->few[i] < first || w->few[i] - first >= row->compared) continue;
        const probe *p = &w->at[w->few[i]];
        const differences *d = &p->differences;
        if (d->verdict == DIFFERENCES_NOT_SMOOTH || d->verdict == DIFFERENCES_UNDEFINED) continue;
        const double found = w->g->hand[p->at];
        const double used = gradcheck_share(fabs(found - d->value), d->bar + bound);
        row->differences_resolved += d->verdict == DIFFERENCES_FINE;
        if (row->differences_compared++ > 0 && !(used > row->differences_budget_used)) continue;
        row->differences_budget_used = used;
        row->differences_entry = p->at - t->offset;
        row->differences_value = d->value;
        row->differences_bar = d->bar;
        row->differences_found = found;
        entry_name(row->differences_place, w->c->z, t, row->differences_entry);
    }
}

static void judge_row(const probes *w, vt_check_row *row, size_t tensor, size_t first)
{
    const gpt_tensor *t = &w->c->tensors[tensor];
    const gradcheck_bounds b = gradcheck_bounds_of(w->c, w->g, tensor);
    row->budget_used = row->compared > 0 ? -1 : 0;
    for (size_t i = 0; i < row->compared; i++) {
        const probe *p = &w->at[first + i];
        const double found = w->g->hand[p->at], gap = fabs(found - p->step);
        const double used = gradcheck_share(gap, b.definitions);
        if (used > row->budget_used) {
            row->budget_used = used;
            row->worst = gradcheck_share(gap, b.largest);
            row->worst_entry = p->at - t->offset;
            row->expected = p->step;
            row->found = found;
        }
    }
    const float *fast = w->g->fast + t->offset;
    const double *hand = w->g->hand + t->offset;
    row->fast_budget_used = gradcheck_share(largest_gap(fast, hand, t->count, &row->fast_entry),
                                            b.fast);
    row->fast_expected = hand[row->fast_entry];
    row->fast_found = (double)fast[row->fast_entry];
    entry_name(row->worst_place, w->c->z, t, row->worst_entry);
    entry_name(row->fast_place, w->c->z, t, row->fast_entry);
    judge_differences(w, row, t, b.definitions, first);
    row->pass = row->budget_used <= 1 && row->direction_budget_used <= 1 &&
                row->fast_budget_used <= 1 && row->differences_budget_used <= 1;
}

/* Asks _Float128 who is right where a row's worst entry fails: of the few rows that
 * the backward pass meets first, since one derivative takes a while. */
static vt_status arbitrate(const probes *w, vt_check_report *report, vt_error *err)
{
    int asked = 0;
    size_t first = 0;
    for (size_t k = report->nrows; k-- > 0; first += report->rows[k].compared) {
        vt_check_row *row = &report->rows[k];
        if (row->budget_used <= 1 || asked == 3) continue;
        const size_t at = w->c->tensors[k].offset + row->worst_entry;
        const probe *p = &w->at[first];
        while (p->at != at) p++;
        const vt_status s = probes_arbitrate(w, p, &row->arbiter_value, err);
        if (s) return s;
        asked++;
        if (!isfinite(row->arbiter_value)) continue;
        /* 1e-18 of the scale is what the arbiter's five points may be wrong by. */
        const gradcheck_bounds b = gradcheck_bounds_of(w->c, w->g, k);
        const double bound = b.definitions + 1e-16 * fabs(row->arbiter_value);
        const double found = fabs(row->found - row->arbiter_value);
        const double expected = fabs(row->expected - row->arbiter_value);
        row->arbiter = !(found <= bound) && !(expected <= bound) ? VT_ARBITER_NEITHER
                     : !(expected <= found) ? VT_ARBITER_FOUND : VT_ARBITER_EXPECTED;
    }
    return VT_OK;
}

static void judge_tensor_direction(const probes *w, vt_check_row *row, size_t tensor)
{
    const gpt_tensor *t = &w->c->tensors[tensor];
    const double bound = gradcheck_bounds_of(w->c, w->g, tensor).definitions;
    exact_sum found = { 0 };
    double scale = 0;
    for (size_t i = t->offset; i < t->offset + t->count; i++) {
        exact_add(&found, w->g->hand[i] * w->direction[i]);
        gradcheck_raise(&scale, fabs(w->direction[i]));
    }
    row->direction_found = found.sum + found.lost;
    row->direction_expected = w->along[tensor];
    row->direction_budget_used = gradcheck_share(fabs(row->direction_found - row->direction_expected),
                                                 scale * bound * sqrt((double)t->count));
}

/* One random Rademacher direction over all parameters, each tensor's part
 * scaled to its own size so that small parameters count too; and each part alone. */
static vt_status judge_direction(probes *w, const vt_check_options *o, vt_check_report *report,
                                 vt_error *err)
{
    const gradcheck_case *c = w->c;
    const size_t count = gpt_parameter_count(c->z);
    double *direction = malloc(count * sizeof *direction);
    exact_sum found = { 0 };
    double squares = 0;
    rng r;
    w->direction = direction;
    w->along = calloc(c->ntensors, sizeof *w->along);
    if (!direction || !w->along) {
        free(direction);
        return fail_memory(err, count * sizeof *direction, "a direction");
    }
    rng_stream_seed(&r, o->seed, RNG_VERIFY, 0);
    for (size_t k = 0; k < c->ntensors; k++) {
        const gpt_tensor *t = &c->tensors[k];
        double scale = 0;
        for (size_t i = t->offset; i < t->offset + t->count; i++)
            gradcheck_raise(&scale, fabs((double)c->params[i]));
        if (scale == 0) scale = 1;
        for (size_t i = t->offset; i < t->offset + t->count; i++) {
            direction[i] = rng_integers(&r, 0, 2) ? scale : -scale;
            exact_add(&found, w->g->hand[i] * direction[i]);
        }
        const double entry = scale * gradcheck_bounds_of(c, w->g, k).definitions;
        squares += entry * entry * (double)t->count;
    }
    report->direction_found = found.sum + found.lost;
    report->direction_expected = probes_direction(w);
    report->direction_budget_used =
        gradcheck_share(fabs(report->direction_found - report->direction_expected),
                        sqrt(squares));
    probes_directions(w);
    for (size_t k = 0; k < c->ntensors; k++) judge_tensor_direction(w, &report->rows[k], k);
    w->direction = NULL;
    free(direction);
    return VT_OK;
}

/* ---- the verdict ------------------------------------------------------- */

/* The backward pass goes from the last tensor to the first, and a wrong number
 * spoils what comes behind it: the failing tensor that it meets first lies nearest
 * to the cause.  Where the definitions are wrong, the fast kernels that agree with
 * them, or do not, say little: definitions go first. */
static const vt_check_row *nearest(const vt_check_report *report)
{
    const vt_check_row *fast = NULL;
    for (size_t k = report->nrows; k-- > 0;) {
        const vt_check_row *row = &report->rows[k];
        if (row->pass) continue;
        if (!(row->budget_used <= 1) || !(row->direction_budget_used <= 1) ||
            !(row->differences_budget_used <= 1))
            return row;
        if (!fast) fast = row;
    }
    return fast;
}

static const char *arbiter_words(vt_arbiter a)
{
    return a == VT_ARBITER_FOUND ? "; _Float128 agrees with the hand-written gradient"
         : a == VT_ARBITER_EXPECTED ? "; _Float128 agrees with the complex step"
         : a == VT_ARBITER_NEITHER ? "; _Float128 agrees with neither" : "";
}

static vt_status say_nearest(const vt_check_report *report, const vt_check_row *bad, vt_error *err)
{
    const bool exact = !(bad->budget_used <= 1), differ = !exact && !(bad->differences_budget_used <= 1);
    const bool along = !exact && !differ && !(bad->direction_budget_used <= 1);
    const double used = exact ? bad->budget_used : differ ? bad->differences_budget_used
                      : along ? bad->direction_budget_used : bad->fast_budget_used;
    char others[120] = "", times[40] = "no bound: NaN or Inf";
    if (isfinite(used)) snprintf(times, sizeof times, "%.3g times its bound", used);
    if (report->failed > 1)
        snprintf(others, sizeof others, "; first of %zu failing tensors in the order of the "
                 "backward pass", report->failed);
    if (differ)
        return fail(err, VT_CHECK_FAILED, "%s[%zu]: gradient %.15g, expected %.15g +- %.1e "
                    "(differences), ratio %.6g: %s (%s)%s", bad->name, bad->differences_entry,
                    bad->differences_found, bad->differences_value, bad->differences_bar,
                    bad->differences_found / bad->differences_value, times,
                    bad->differences_place, others);
    if (along)
        return fail(err, VT_CHECK_FAILED, "%s: the gradient along a random direction is %.17g, "
                    "expected %.17g (complex step), ratio %.6g: %s%s", bad->name,
                    bad->direction_found, bad->direction_expected,
                    bad->direction_found / bad->direction_expected, times, others);
    if (!exact)
        return fail(err, VT_CHECK_FAILED, "%s[%zu]: the %s kernels' gradient is %.9g, expected "
                    "%.9g (definitions), ratio %.6g: %s%s (%s)", bad->name, bad->fast_entry,
                    report->isa, bad->fast_found, bad->fast_expected,
                    bad->fast_found / bad->fast_expected, times, others, bad->fast_place);
    return fail(err, VT_CHECK_FAILED, "%s[%zu]: gradient %.17g, expected %.17g (complex step), "
                "ratio %.6g: %s%s (%s)%s", bad->name, bad->worst_entry, bad->found,
                bad->expected, bad->found / bad->expected, times, others, bad->worst_place,
                arbiter_words(bad->arbiter));
}

static vt_status verdict(const probes *w, vt_check_report *report, vt_error *err)
{
    const double largest = gradcheck_largest(w->g->hand, gpt_parameter_count(w->c->z));
    for (size_t k = 0; k < report->nrows; k++) {
        const vt_check_row *row = &report->rows[k];
        report->compared += row->compared;
        report->of += row->of;
        report->failed += !row->pass;
        if (row->worst > report->worst) report->worst = row->worst;
    }
    report->pass = report->failed == 0 && report->direction_budget_used <= 1 && largest > 0;
    if (report->pass) return VT_OK;
    if (report->failed) return say_nearest(report, nearest(report), err);
    if (!(largest > 0))
        return fail(err, VT_CHECK_FAILED, "every gradient is 0 or undefined: nothing was proven");
    return fail(err, VT_CHECK_FAILED, "the gradient along a random direction is %.17g, expected "
                "%.17g", report->direction_found, report->direction_expected);
}

/* A table that names other tensors than the model has, or an upstream gradient that
 * is the same for every row (the gradient of a sum through a normalisation is 0 by
 * algebra, right or wrong), would compare and prove nothing. */
static vt_status refuse_blind(const gradcheck_case *c, const gradcheck_grads *g, vt_error *err)
{
    const size_t n = gpt_tensor_count(c->z), N = (size_t)(c->B * c->T);
    gpt_tensor *right = calloc(n, sizeof *right);
    vt_status s = VT_OK;
    if (!right) return fail_memory(err, n * sizeof *right, "the table of tensors");
    gpt_tensor_list(c->z, right);
    if (c->ntensors != n)
        s = fail(err, VT_CHECK_FAILED, "%zu tensors to check, the model has %zu", c->ntensors, n);
    for (size_t i = 0; i < n && s == VT_OK; i++)
        if (strcmp(c->tensors[i].name, right[i].name) != 0 ||
            c->tensors[i].offset != right[i].offset || c->tensors[i].count != right[i].count)
            s = fail(err, VT_CHECK_FAILED, "tensor %zu of the table is %s (%zu entries at %zu), "
                     "expected %s (%zu at %zu)", i, c->tensors[i].name, c->tensors[i].count,
                     c->tensors[i].offset, right[i].name, right[i].count, right[i].offset);
    size_t same = 1;
    while (same < N && g->weight[same] == g->weight[0]) same++;
    if (s == VT_OK && N > 1 && same == N)
        s = fail(err, VT_CHECK_FAILED, "the upstream gradient is %g for every row: expected random "
                 "ones, a uniform one cannot tell", g->weight[0]);
    free(right);
    return s;
}

static vt_status prove(probes *w, const vt_check_options *o, vt_check_report *report, vt_error *err)
{
    const gradcheck_case *c = w->c;
    size_t entries = 1, most = 1, largest = 1, first = 0;       /* malloc(0) may be NULL */
    vt_status s;
    for (size_t k = 0; k < c->ntensors; k++) {
        const size_t n = wanted(o, &c->tensors[k]);
        entries += n;
        if (n > most) most = n;
        if (c->tensors[k].count > largest) largest = c->tensors[k].count;
    }
    size_t *room = malloc(most * sizeof *room);
    unsigned char *taken = malloc(largest);
    w->at = malloc(entries * sizeof *w->at);
    w->few = malloc(entries * sizeof *w->few);
    if (!room || !taken || !w->at || !w->few) {
        s = fail_memory(err, entries * sizeof *w->at, "the entries to compare");
        goto done;
    }
    if ((s = refuse_blind(c, w->g, err)) || (s = probes_new(w, err))) goto done;
    report->nrows = c->ntensors;
    choose_all(w, o, report->rows, room, taken);
    if ((s = judge_direction(w, o, report, err))) goto done;
    if ((s = probes_run(w, err))) goto done;
    for (size_t k = c->ntensors; k-- > 0; first += report->rows[k].compared)
        judge_row(w, &report->rows[k], k, first);
    if ((s = arbitrate(w, report, err))) goto done;
    s = verdict(w, report, err);
done:
    free(taken);
    free(room);
    return s;
}

vt_status gradcheck_judge(vt_check_report *report, const gradcheck_case *c,
                          const gradcheck_grads *g, const vt_check_options *o,
                          vt_check_progress *progress, void *context, vt_error *err)
{
    probes w = { .c = c, .g = g, .full = o->full, .progress = progress, .context = context };
    vt_status s;
    *report = (vt_check_report){ .batch = c->B, .seq = c->T, .seed = o->seed, .loss = g->loss,
                                 .isa = c->kernels->name };
    report->rows = calloc(c->ntensors, sizeof *report->rows);
    if (report->rows) s = prove(&w, o, report, err);
    else s = fail_memory(err, c->ntensors * sizeof *report->rows, "the report");
    probes_free(&w);
    return s;
}
