/* bench.c -- the machine's limits, then each case: made ready, verified, timed.
 *
 * Limits are measured first and in the same run, so that a share compares two figures of
 * one machine on one day.  A case that is wrong is named and not timed.  A figure is a
 * median; a row whose quartiles are more than a tenth of it apart is called noisy, and
 * the report says what else ran.
 */
#include "bench/bench.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/huge.h"
#include "base/rng.h"
#include "bench/growth.h"
#include "bench/machine.h"

enum { MOST_THREADS = 256 };
static const double noisy_spread = 0.1, beyond_share = 1;

/* ---- for verify() ------------------------------------------------------------ */

bool bench_meet(vt_bench_row *row, const char *tensor, size_t index, double expected,
                double found, double bound)
{
    const double error = fabs(found - expected);
    row->compared++;
    if (!(error <= bound)) {
        snprintf(row->note, sizeof row->note, "%.60s[%zu]: expected %.9g, found %.9g: the error "
                 "%.3g is beyond its bound %.3g", tensor, index, expected, found, error, bound);
        return false;
    }
    if (bound > 0 && error / bound > row->bound_used) row->bound_used = error / bound;
    return true;
}

void bench_verified(vt_bench_row *row, bool partly, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(row->verified, sizeof row->verified, format, list);
    va_end(list);
    row->partly = partly;
}

vt_status bench_wrong(const vt_bench_row *row, vt_error *err)
{
    return fail(err, VT_CHECK_FAILED, "%s: %s; it was not timed", row->name, row->note);
}

float *bench_floats(size_t n)
{
    size_t bytes;
    if (!size_mul(n, sizeof(float), &bytes) || !size_add(bytes, 64, &bytes)) return NULL;
    float *x = aligned_alloc(64, bytes / 64 * 64);
    if (x) huge_advise(x, bytes / 64 * 64);     /* as the blocks of a run and of a model */
    return x;
}

void bench_fill(float *x, size_t n, uint64_t which)
{
    rng r;
    rng_stream_seed(&r, 42, RNG_VERIFY, which);
    for (size_t i = 0; i < n; i++) x[i] = (float)rng_uniform(&r, -1, 1);
}

/* ---- one case ------------------------------------------------------------------ */

static vt_status least_time(vt_bench_row *row, const bench_work *w, limits *l, int threads,
                            vt_error *err)
{
    double memory = (double)NAN;
    vt_status s = VT_OK;
    row->limit_seconds = (double)NAN;
    if (!l || w->limit == BENCH_NO_LIMIT) return VT_OK;
    const double flop = w->flop / limits_flop(l, threads), exps = w->exps / limits_exp(l, threads);
    switch (w->limit) {
    case BENCH_ROOF:
        if ((s = limits_resident(l, w->resident, threads, &memory, err))) return s;
        row->limit_seconds = fmax(flop, fmax(exps, w->bytes / memory));
        break;
    case BENCH_SUM:
        row->limit_seconds = flop + w->bytes / limits_memory(l, threads);
        break;
    default:
        if ((s = limits_reread(l, w->resident, threads, &memory, err))) return s;
        row->limit_seconds = w->bytes / memory;
    }
    return s;
}

static void fill_times(vt_bench_row *row, const bench_work *w, const timing *t)
{
    row->samples = t->samples;
    row->repeats = t->repeats;
    row->seconds = t->median;
    row->low = t->low;
    row->high = t->high;
    row->spread = (t->high - t->low) / t->median;
    row->rate = w->per_call / t->median;
    row->share = row->limit_seconds / t->median;
}

/* A figure that is not known meets nothing. */
static bool reached(const vt_bench_row *row)
{
    switch (row->goal) {
    case VT_BENCH_RATE:    return row->rate >= row->target;
    case VT_BENCH_SHARE:   return row->share >= row->target;
    case VT_BENCH_SECONDS: return row->seconds <= row->target;
    default:               return row->memory <= row->target;
    }
}

vt_status bench_one(vt_bench_row *row, const bench_case *c, const bench_setting *setting,
                    limits *l, const timing_plan *plan, vt_error *err)
{
    const double none = (double)NAN, target = row->target, before = machine_resident();
    const vt_bench_goal goal = row->goal;
    bench_setting own = *setting;
    bench_work w = { .state = NULL };
    timing t;
    if (c->threads > 0) own.threads = c->threads;
    *row = (vt_bench_row){ .what = c->what, .threads = own.threads, .unit = c->unit,
        .seconds = none, .low = none, .high = none, .spread = none, .rate = none,
        .limit_seconds = none, .share = none, .memory = none, .goal = goal, .target = target,
        .met = isnan(target) };
    bench_scaling(c, row);
    snprintf(row->name, sizeof row->name, "%s", c->name);
    snprintf(row->group, sizeof row->group, "%s", c->group);
    vt_status s = c->make(&w, c, &own, err);
    row->flop = w.flop;
    row->bytes = w.bytes;
    row->exps = w.exps;
    row->per_call = w.per_call;
    if (s == VT_TOO_LARGE || (s && w.absent)) {     /* not here: no reason to end the others */
        row->verdict = VT_BENCH_SKIPPED;
        if (err) snprintf(row->note, sizeof row->note, "%.200s", err->text);
        s = VT_OK;
        goto done;
    }
    if (s) goto done;
    bench_verified(row, false, "every number");
    if ((s = w.verify(w.state, row, err))) {
        if (s == VT_CHECK_FAILED) row->verdict = VT_BENCH_WRONG, row->met = false;
        goto done;
    }
    if ((s = least_time(row, &w, l, own.threads, err))) goto done;
    machine_begin_peak();
    if ((s = timing_measure(&t, plan, w.run, w.state, err))) goto done;
    fill_times(row, &w, &t);
    row->memory = machine_peak() - before;
    if (isfinite(target)) row->met = reached(row);
done:
    if (w.free) w.free(w.state);
    return s;
}

/* ---- all of them ----------------------------------------------------------------- */

typedef struct watch {
    bool (*on_progress)(void *, const vt_bench_progress *);
    void  *context;
    vt_bench_progress p;
    double start, begun;            /* of all; of what runs now */
    double spent, left;             /* usual seconds of what is done, of what is not */
    double now;                     /* usual seconds of what runs now */
} watch;

/* By the cases' usual cost, corrected by how long those took that are done. */
static bool ask(void *context)
{
    watch *w = context;
    if (!w->on_progress) return false;
    const double elapsed = timing_now() - w->start, current = timing_now() - w->begun;
    const double pace = w->spent > 0 ? (elapsed - current) / w->spent : 1;
    w->p.seconds_left = fmax(0, w->now * pace - current) + fmax(0, w->left) * pace;
    return w->on_progress(w->context, &w->p);
}

static bool begin(watch *w, const char *name, double cost)
{
    w->spent += w->now;
    w->left -= cost;
    w->now = cost;
    w->begun = timing_now();
    w->p.name = name;
    return ask(w);
}

static vt_status run_cases(vt_bench_report *out, const bench_case *const *chosen, size_t n,
                           const vt_bench_options *o, const bench_setting *setting, limits *l,
                           watch *look, vt_error *err)
{
    const timing_plan plan = { .least = o->quick ? 0.01 : 0.03, .budget = o->quick ? 0.3 : 1.5,
                               .stop = ask, .context = look };
    vt_error first = { "" };
    for (size_t i = 0; i < n; i++) {
        vt_bench_row *row = &out->rows[i];
        look->p.done = i;
        if (begin(look, chosen[i]->name, o->quick ? chosen[i]->cost_quick : chosen[i]->cost))
            return fail(err, VT_INTERRUPTED, "interrupted before %s", chosen[i]->name);
        vt_status s = bench_target(&row->target, &row->goal, chosen[i], o, err);
        if (s == VT_OK) s = bench_one(row, chosen[i], setting, l, &plan, err);
        if (s == VT_INTERRUPTED) return fail(err, s, "interrupted in %s", chosen[i]->name);
        if (s && s != VT_CHECK_FAILED) return s;
        if (s && out->wrong++ == 0 && err) first = *err;
        out->nrows++;
        out->skipped += row->verdict == VT_BENCH_SKIPPED;
        out->noisy += row->spread > noisy_spread;
        out->beyond += row->share > beyond_share;
        out->missed += row->verdict == VT_BENCH_MEASURED && !row->met;
        out->targets += isnan(row->target) ? 0 : 1;
        out->unshown += row->verdict == VT_BENCH_SKIPPED && !row->met;
    }
    if (out->wrong == 0) return VT_OK;
    if (err) *err = first;
    return VT_CHECK_FAILED;
}

static vt_status find_limits(limits *l, vt_bench_report *out, bool quick, watch *look,
                             vt_error *err)
{
    const vt_bench_machine *m = &out->machine;
    const double cost = quick ? 2.5 : 8;
    vt_status s = VT_INTERRUPTED;
    look->left += cost;
    if (!begin(look, "limits", cost))
        s = limits_measure(l, m->threads, m->l3, quick, ask, look, err);
    if (s == VT_OK) s = limits_caches(l, (const size_t[]){ m->l1d, m->l2, m->l3 }, err);
    if (s == VT_INTERRUPTED) return fail(err, s, "interrupted while the limits were measured");
    if (s) return s;
    memcpy(out->limits, l->all, l->n * sizeof *l->all);
    out->nlimits = l->n;
    return VT_OK;
}

static vt_status bench_all(vt_bench_report *out, const vt_bench_options *o, const ops *kernels,
                           watch *look, vt_error *err)
{
    const bench_case *chosen[BENCH_MOST];
    const int threads = o->threads ? o->threads : cpu_count();
    const bench_setting setting = { .kernels = kernels, .threads = threads, .quick = o->quick,
                                    .data = o->data, .tokenizer = o->tokenizer };
    limits l = { .n = 0 };
    bool limited = false;
    size_t n;
    vt_status s;
    if ((s = bench_pick(chosen, &n, o, err)) || (s = bench_targets_check(o, chosen, n, err)))
        return s;
    machine_describe(&out->machine, threads);
    out->rows = calloc(n, sizeof *out->rows);
    out->limits = calloc(LIMITS_MOST, sizeof *out->limits);
    if (!out->rows || !out->limits) return fail_memory(err, n * sizeof *out->rows, "rows");
    for (size_t i = 0; i < n; i++) {
        look->left += o->quick ? chosen[i]->cost_quick : chosen[i]->cost;
        limited = limited || !chosen[i]->unlimited;
    }
    look->p.of = n;
    if (limited && (s = find_limits(&l, out, o->quick, look, err))) return s;
    s = run_cases(out, chosen, n, o, &setting, limited ? &l : NULL, look, err);
    vt_error why;                               /* a wrong case's line stays in err */
    if ((s == VT_OK || s == VT_CHECK_FAILED) && growth_find(out, &why))
        s = fail(err, VT_TOO_LARGE, "%s", why.text);
    out->machine.load_after = machine_load(NULL);
    limits_free(&l);
    return s;
}

vt_status vt_bench(vt_bench_report *out, const vt_bench_options *o,
                   bool (*on_progress)(void *, const vt_bench_progress *), void *context,
                   vt_error *err)
{
    const ops *kernels;
    watch look = { .on_progress = on_progress, .context = context, .start = timing_now() };
    *out = (vt_bench_report){ .quick = o->quick };
    if (o->threads < 0 || o->threads > MOST_THREADS)
        return fail(err, VT_USAGE, "--threads %d: expected a number from 0 (all) to %d", o->threads,
                    MOST_THREADS);
    vt_status s = ops_choose(&kernels, o->isa, err);
    if (s) return s;
    out->isa = kernels->name;
    s = bench_all(out, o, kernels, &look, err);
    out->seconds = timing_now() - look.start;
    return s;
}

void vt_bench_free(vt_bench_report *r)
{
    if (!r) return;
    free(r->rows);
    free(r->limits);
    free(r->curves);
    *r = (vt_bench_report){ .nrows = 0 };
}
