/* bench_pick.c -- which cases are meant, and their targets.  See bench.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/nearest.h"
#include "bench/bench.h"

static const bench_case *const tables[] = {
    bench_steps, bench_speech, bench_kernels, bench_gemms, bench_attentions, bench_texts,
    bench_checks, bench_starts, bench_scalings,
};
enum { TABLES = sizeof tables / sizeof *tables };

const bench_case *bench_case_at(size_t i)
{
    for (size_t t = 0; t < TABLES; t++)
        for (const bench_case *c = tables[t]; c->name; c++)
            if (i-- == 0) return c;
    return NULL;
}

bool vt_bench_case(size_t i, vt_bench_case_info *out)
{
    const bench_case *c = bench_case_at(i);
    if (!c) return false;
    *out = (vt_bench_case_info){ .name = c->name, .group = c->group, .what = c->what,
                                 .unit = c->unit, .always = c->always, .goal = c->goal,
                                 .target = c->target > 0 ? c->target : (double)NAN };
    return true;
}

/* Names at even numbers, groups at odd ones. */
static const char *word_at(const void *set, size_t i)
{
    const bench_case *c = bench_case_at(i / 2);
    (void)set;
    return !c ? NULL : i % 2 ? c->group : c->name;
}

static bool named(const bench_case *c, const char *word, size_t n)
{
    return (strlen(c->name) == n && memcmp(c->name, word, n) == 0) ||
           (strlen(c->group) == n && memcmp(c->group, word, n) == 0);
}

static vt_status unknown(const char *word, size_t n, vt_error *err)
{
    size_t length;
    const char *near = nearest_word(word, n, word_at, NULL, &length);
    if (near)
        return fail(err, VT_USAGE, "no case '%.*s'; is %.*s meant? (vitrine bench --list)",
                    (int)(n < 60 ? n : 60), word, (int)length, near);
    return fail(err, VT_USAGE, "no case '%.*s' (vitrine bench --list names them)",
                (int)(n < 60 ? n : 60), word);
}

/* A target is of one case. */
static vt_status no_single(const char *name, size_t n, vt_error *err)
{
    const bench_case *c;
    for (size_t i = 0; (c = bench_case_at(i)) != NULL; i++)
        if (strlen(c->group) == n && memcmp(c->group, name, n) == 0)
            return fail(err, VT_USAGE, "--target %s: expected a case, this is a group "
                        "(vitrine bench --list)", c->group);
    return unknown(name, n, err);
}

/* One NAME=RATE of the list at *at, which moves behind it; false at its end. */
static bool next_target(const char **at, const char **name, size_t *n, const char **rate,
                        size_t *nrate)
{
    if (!*at || !**at) return false;
    *name = *at;
    const size_t all = strcspn(*at, ",");
    *n = strcspn(*at, "=,");
    *rate = *at + *n + (*n < all);
    *nrate = all - *n - (*n < all);
    *at += all + ((*at)[all] == ',');
    return true;
}

/* A rate, or a share of the limit in per cent. */
static bool read_target(const char *text, size_t n, double *out, vt_bench_goal *goal)
{
    char copy[40], *end;
    const bool share = n > 1 && text[n - 1] == '%';
    if (share) n--;
    if (n == 0 || n >= sizeof copy || strspn(text, "0123456789.e+") < n) return false;
    memcpy(copy, text, n);
    copy[n] = 0;
    errno = 0;
    *out = strtod(copy, &end) / (share ? 100 : 1);
    *goal = share ? VT_BENCH_SHARE : VT_BENCH_RATE;
    return !*end && errno == 0 && isfinite(*out) && *out > 0;
}

/* Whether the list `at` has a target of the case. */
static bool listed(const bench_case *c, const char *at)
{
    const char *name, *rate;
    size_t n, nrate;
    while (next_target(&at, &name, &n, &rate, &nrate))
        if (strlen(c->name) == n && memcmp(c->name, name, n) == 0) return true;
    return false;
}

/* Its own, or one of the options'. */
static bool has_target(const bench_case *c, const vt_bench_options *o)
{
    return listed(c, o->targets) || c->target > 0;
}

vt_status bench_pick(const bench_case *chosen[BENCH_MOST], size_t *n, const vt_bench_options *o,
                     vt_error *err)
{
    const bench_case *c;
    *n = 0;
    for (size_t k = 0; k < o->nnames; k++) {
        bool found = false;
        for (size_t i = 0; (c = bench_case_at(i)) != NULL; i++)
            found = found || named(c, o->names[k], strlen(o->names[k]));
        if (!found) return unknown(o->names[k], strlen(o->names[k]), err);
    }
    for (size_t i = 0; (c = bench_case_at(i)) != NULL; i++) {
        bool wanted = o->nnames == 0 && (o->require ? has_target(c, o) : c->always);
        for (size_t k = 0; k < o->nnames; k++)
            wanted = wanted || named(c, o->names[k], strlen(o->names[k]));
        if (!wanted) continue;
        if (*n == BENCH_MOST) return fail(err, VT_TOO_LARGE, "more than %d cases", BENCH_MOST);
        chosen[(*n)++] = c;
    }
    return VT_OK;
}

static vt_status no_rate(const bench_case *c, const char *name, size_t n, vt_error *err)
{
    return fail(err, VT_USAGE, "--target %.*s: expected %s=RATE, a number above 0 of %s, or per "
                "cent of its limit", (int)(n < 60 ? n : 60), name, c->name, c->unit);
}

static bool is_chosen(const bench_case *c, const bench_case *const *chosen, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (chosen[i] == c) return true;
    return false;
}

vt_status bench_targets_check(const vt_bench_options *o, const bench_case *const *chosen,
                              size_t nchosen, vt_error *err)
{
    const char *at = o->targets, *name, *rate;
    size_t n, nrate;
    double value;
    vt_bench_goal goal;
    bool any = false;
    while (next_target(&at, &name, &n, &rate, &nrate)) {
        const bench_case *c = NULL;
        for (size_t i = 0; (c = bench_case_at(i)) != NULL; i++)
            if (strlen(c->name) == n && memcmp(c->name, name, n) == 0) break;
        if (!c) return no_single(name, n, err);
        if (!read_target(rate, nrate, &value, &goal)) return no_rate(c, name, n + 1 + nrate, err);
        if (goal == VT_BENCH_SHARE && c->unlimited)
            return fail(err, VT_USAGE, "--target %s: this case has no limit to reach a share of",
                        c->name);
        if (!is_chosen(c, chosen, nchosen))
            return fail(err, VT_USAGE, "--target %s: this case is not measured: name it beside "
                        "the others", c->name);
        if (listed(c, at)) return fail(err, VT_USAGE, "--target %s: given twice", c->name);
        any = true;
    }
    for (size_t i = 0; i < nchosen; i++) any = any || chosen[i]->target > 0;
    if (!o->require || any) return VT_OK;
    return fail(err, VT_USAGE, "--require: no case that is measured has a target: give one "
                "(--target NAME=RATE), or a case that has its own (vitrine bench --list)");
}

vt_status bench_target(double *out, vt_bench_goal *goal, const bench_case *c,
                       const vt_bench_options *o, vt_error *err)
{
    const char *at = o->targets, *name, *rate;
    size_t n, nrate;
    *out = c->target > 0 ? c->target : (double)NAN;
    *goal = c->goal;
    while (next_target(&at, &name, &n, &rate, &nrate))
        if (strlen(c->name) == n && memcmp(c->name, name, n) == 0 &&
            !read_target(rate, nrate, out, goal))
            return no_rate(c, name, n + 1 + nrate, err);
    return VT_OK;
}
