/* bench_show.c -- see bench_show.h. */
#include "cli/bench_show.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/curves.h"
#include "cli/roofline.h"

/* Three digits and a prefix: "224 GFLOP/s", "1.49 us"; tokens are written out. */
static void rate_text(char *out, size_t size, double rate, const char *unit)
{
    static const char *const prefix[] = { "", "k", "M", "G", "T", "P" };
    size_t i = 0;
    if (!isfinite(rate)) {
        snprintf(out, size, "-");
        return;
    }
    if (strcmp(unit, "tokens/s") == 0) {
        snprintf(out, size, "%.0f %s", rate, unit);
        return;
    }
    while (rate >= 999.5 && i < 5) rate /= 1000, i++;
    snprintf(out, size, "%.*f %s%s", rate < 9.995 ? 2 : rate < 99.95 ? 1 : 0, rate, prefix[i], unit);
}

static void time_text(char *out, size_t size, double seconds)
{
    static const char *const unit[] = { "s", "ms", "us", "ns" };
    size_t i = 0;
    if (!isfinite(seconds)) {
        snprintf(out, size, "-");
        return;
    }
    while (seconds < 0.9995 && i < 3) seconds *= 1000, i++;
    snprintf(out, size, "%.*f %s", seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0, seconds, unit[i]);
}

static void percent_text(char *out, size_t size, double share)
{
    if (isfinite(share)) snprintf(out, size, "%.0f %%", 100 * share);
    else snprintf(out, size, "-");
}

/* What a goal counts, as a row reached it or as it is to be. */
static void goal_text(char *out, size_t size, vt_bench_goal goal, double value, const char *unit)
{
    switch (goal) {
    case VT_BENCH_RATE:    rate_text(out, size, value, unit); break;
    case VT_BENCH_SHARE:   snprintf(out, size, "%.3g %% of the limit", 100 * value); break;
    case VT_BENCH_SECONDS: time_text(out, size, value); break;
    default:               rate_text(out, size, value, "B");
    }
}

static bool at_most(vt_bench_goal goal)
{
    return goal == VT_BENCH_SECONDS || goal == VT_BENCH_MEMORY;
}

void bench_target_text(char *out, size_t size, vt_bench_goal goal, double target, const char *unit)
{
    const size_t n = at_most(goal) ? (size_t)snprintf(out, size, "at most ") : 0;
    goal_text(out + n, size - n, goal, target, unit);
}

void bench_missed_text(char *out, size_t size, const vt_bench_row *row)
{
    const double figures[] = { [VT_BENCH_RATE] = row->rate, [VT_BENCH_SHARE] = row->share,
                               [VT_BENCH_SECONDS] = row->seconds, [VT_BENCH_MEMORY] = row->memory };
    const double found = figures[row->goal];
    char target[48], reached[48];
    bench_target_text(target, sizeof target, row->goal, row->target, row->unit);
    goal_text(reached, sizeof reached, row->goal, found, row->unit);
    if (row->goal == VT_BENCH_SHARE) snprintf(target, sizeof target, "%.3g %%", 100 * row->target);
    if (!isfinite(found))
        snprintf(out, size, "%s: not known, for %s", row->name, target);
    else if (at_most(row->goal))
        snprintf(out, size, "%s: %s, for %s: %.3g times as much", row->name, reached, target,
                 found / row->target);
    else
        snprintf(out, size, "%s: %s, for %s: %.1f %% short", row->name, reached, target,
                 100 * (1 - found / row->target));
}

/* "48 KiB", or "?" where it is not known. */
static const char *cache_text(char text[24], size_t size)
{
    snprintf(text, 24, "%zu KiB", size >> 10);
    return size ? text : "?";
}

static void print_machine(const vt_bench_report *r)
{
    const vt_bench_machine *m = &r->machine;
    const vt_version_info v = vt_version();
    char l1d[24], l2[24], l3[24];
    printf("machine   %s, %d core%s, caches %s, %s, %s, memory %zu MiB\n",
           m->cpu[0] ? m->cpu : "a processor that does not say its name", m->cores,
           m->cores == 1 ? "" : "s", cache_text(l1d, m->l1d), cache_text(l2, m->l2), cache_text(l3, m->l3),
           m->memory >> 20);
    printf("vitrine   %s, commit %s, kernels %s, %d thread%s\nbuild     %s\n", v.version, v.commit,
           r->isa, m->threads, m->threads == 1 ? "" : "s", v.build);
}

static void print_limits(const vt_bench_report *r)
{
    printf("\n%-8s %-9s %7s  %14s  %s\n", "limit", "set", "threads", "median", "quartiles");
    for (size_t i = 0; i < r->nlimits; i++) {
        const vt_bench_limit *l = &r->limits[i];
        char median[32], low[32], high[32];
        rate_text(median, sizeof median, l->median, l->unit);
        rate_text(low, sizeof low, l->low, l->unit);
        rate_text(high, sizeof high, l->high, l->unit);
        printf("%-8s %-9s %7d  %14s  %s to %s\n", l->name, l->isa, l->threads, median, low, high);
    }
}

static void print_row(const vt_bench_row *row)
{
    const char *off = cli_color(stdout, "\033[0m");
    const char *red = cli_color(stdout, "\033[31m"), *green = cli_color(stdout, "\033[32m");
    char rate[40], time[32], spread[16], share[16], target[48];
    if (row->verdict != VT_BENCH_MEASURED) {
        const bool wrong = row->verdict == VT_BENCH_WRONG;
        printf("%-22s %s%s%s: %s\n", row->name, wrong ? red : "", wrong ? "WRONG" : "skipped",
               wrong ? off : "", row->note);
        return;
    }
    rate_text(rate, sizeof rate, row->rate, row->unit);
    time_text(time, sizeof time, row->seconds);
    percent_text(spread, sizeof spread, row->spread);
    percent_text(share, sizeof share, row->share);
    printf("%-22s %3d  %16s  %8s  %6s  %6s", row->name, row->threads, rate, time, spread, share);
    if (isfinite(row->target)) {
        bench_target_text(target, sizeof target, row->goal, row->target, row->unit);
        printf("  %s %s%s%s", target, row->met ? green : red, row->met ? "met" : "missed", off);
    }
    putchar('\n');
}

static void print_noise(const vt_bench_report *r)
{
    const vt_bench_machine *m = &r->machine;
    if (r->noisy > 0)
        printf("noisy: %zu of %zu rows have quartiles more than 10 %% apart\n", r->noisy, r->nrows);
    if (r->beyond > 0)
        printf("beyond: %zu rows are faster than their limit, so the machine was slower while its "
               "limits\nwere measured: shares of this run are no good\n", r->beyond);
    /* Our own threads raise the load while we run: what was there before tells. */
    if (m->others > 0 || m->load_before > 0.5)
        printf("not idle: load %.2f before the run, and %d thread%s of others ran: figures are "
               "lower\nthan this machine's\n", m->load_before, m->others, m->others == 1 ? "" : "s");
}

/* Each target that is not met, last, where it is seen. */
static void print_targets(const vt_bench_report *r)
{
    char line[200];
    if (r->targets == 0) return;
    size_t met = 0;
    for (size_t i = 0; i < r->nrows; i++) met += isfinite(r->rows[i].target) && r->rows[i].met;
    printf("targets: %zu met, %zu missed, %zu not shown, of %zu\n", met, r->missed, r->unshown,
           r->targets);
    for (size_t i = 0; i < r->nrows; i++) {
        const vt_bench_row *row = &r->rows[i];
        if (row->met || !isfinite(row->target)) continue;
        if (row->verdict == VT_BENCH_MEASURED) {
            bench_missed_text(line, sizeof line, row);
            printf("  missed     %s\n", line);
        } else if (row->verdict == VT_BENCH_SKIPPED)
            printf("  not shown  %s: %s\n", row->name, row->note);
    }
}

/* A line for neighbours of which the same was compared. */
static void print_partly(const vt_bench_report *r)
{
    for (size_t i = 0, last; i < r->nrows; i = last + 1) {
        const vt_bench_row *row = &r->rows[i];
        last = i;
        if (!row->partly) continue;
        while (last + 1 < r->nrows && r->rows[last + 1].partly && strcmp(r->rows[last + 1].verified, row->verified) == 0)
            last++;
        printf("%s%s%s, verified in part: %s\n", row->name, last > i ? " to " : "", last > i ? r->rows[last].name : "",
               row->verified);
    }
}

static void print_curves(const vt_bench_report *r)
{
    if (r->ncurves == 0) return;
    printf("\n%-16s %5s  %-16s %-10s %-10s %s\n", "growth", "sizes", "time", "predicted", "of work", "so it grows");
    for (size_t i = 0; i < r->ncurves; i++) {
        const vt_bench_curve *c = &r->curves[i];
        char time[40] = "-", predicted[24] = "-", growth[24] = "-";
        if (isfinite(c->growth)) {
            snprintf(time, sizeof time, "%s^%.2f", c->of, c->exponent);
            snprintf(predicted, sizeof predicted, "^%.2f", c->predicted);
            snprintf(growth, sizeof growth, "^%.2f", c->growth);
        }
        printf("%-16s %5zu  %-16s %-10s %-10s %s", c->name, c->sizes, time, predicted, growth, curve_words(c));
        if (isfinite(c->deviation)) printf(", sizes within %.2f times", c->deviation);
        putchar('\n');
    }
}

vt_status bench_show_text(const vt_bench_report *r, vt_error *err)
{
    char time[32];
    print_machine(r);
    print_limits(r);
    printf("\n%-22s %3s  %16s  %8s  %6s  %6s  %s\n", "case", "thr", "rate", "a call", "spread",
           "limit", "target");
    for (size_t i = 0; i < r->nrows; i++) {
        if (i > 0 && strcmp(r->rows[i].group, r->rows[i - 1].group) != 0) putchar('\n');
        print_row(&r->rows[i]);
    }
    print_curves(r);
    progress_duration(time, sizeof time, r->seconds);
    printf("\n%zu %s in %s; each was compared with its definition before it was timed\n",
           r->nrows, r->nrows == 1 ? "case" : "cases", time);
    print_partly(r);
    print_targets(r);
    print_noise(r);
    return cli_flush(err);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void json_machine(js_writer *w, const vt_bench_machine *m)
{
    js_key(w, "machine");
    js_open_object(w);
    js_field_string(w, "cpu", m->cpu[0] ? m->cpu : NULL);
    js_field_int(w, "cores", m->cores);
    js_field_int(w, "threads", m->threads);
    js_field_uint(w, "l1d", m->l1d);
    js_field_uint(w, "l2", m->l2);
    js_field_uint(w, "l3", m->l3);
    js_field_uint(w, "memory", m->memory);
    cli_field_measured(w, "load_before", m->load_before);
    cli_field_measured(w, "load_after", m->load_after);
    if (m->others >= 0) js_field_int(w, "others", m->others);
    else js_field_null(w, "others");
    js_close_object(w);
}

static void json_limits(js_writer *w, const vt_bench_report *r)
{
    js_key(w, "limits");
    js_open_array(w);
    for (size_t i = 0; i < r->nlimits; i++) {
        const vt_bench_limit *l = &r->limits[i];
        js_open_object(w);
        js_field_string(w, "limit", l->name);
        js_field_string(w, "isa", l->isa);
        js_field_int(w, "threads", l->threads);
        js_field_string(w, "unit", l->unit);
        js_field_number(w, "median", l->median);
        js_field_number(w, "low", l->low);
        js_field_number(w, "high", l->high);
        js_field_uint(w, "samples", l->samples);
        js_close_object(w);
    }
    js_close_array(w);
}

static void json_target(js_writer *w, vt_bench_goal goal, double target)
{
    static const char *const names[] = { "rate", "share", "seconds", "memory" };
    cli_field_measured(w, "target", target);
    js_field_string(w, "target_of", isfinite(target) ? names[goal] : NULL);
}

static void json_row(js_writer *w, const vt_bench_row *row)
{
    static const char *const verdicts[] = { "measured", "wrong", "skipped" };
    js_open_object(w);
    js_field_string(w, "name", row->name);
    js_field_string(w, "group", row->group);
    js_field_string(w, "what", row->what);
    js_field_string(w, "verdict", verdicts[row->verdict]);
    js_field_string(w, "note", row->note[0] ? row->note : NULL);
    js_field_int(w, "threads", row->threads);
    js_field_string(w, "verified", row->verified[0] ? row->verified : NULL);
    js_field_uint(w, "compared", row->compared);
    cli_field_measured(w, "bound_used", row->bound_used);
    js_field_uint(w, "samples", row->samples);
    js_field_uint(w, "repeats", row->repeats);
    cli_field_measured(w, "seconds", row->seconds);
    cli_field_measured(w, "low", row->low);
    cli_field_measured(w, "high", row->high);
    cli_field_measured(w, "spread", row->spread);
    cli_field_measured(w, "rate", row->rate);
    js_field_string(w, "unit", row->unit);
    js_field_number(w, "per_call", row->per_call);
    js_field_number(w, "flop", row->flop);
    js_field_number(w, "bytes", row->bytes);
    js_field_number(w, "exps", row->exps);
    cli_field_measured(w, "limit_seconds", row->limit_seconds);
    cli_field_measured(w, "share", row->share);
    cli_field_measured(w, "memory", row->memory);
    json_target(w, row->goal, row->target);
    js_field_bool(w, "met", row->met);
    js_field_string(w, "curve", row->curve);
    cli_field_measured(w, "size", row->size);
    js_close_object(w);
}

static void json_curves(js_writer *w, const vt_bench_report *r)
{
    js_key(w, "curves");
    js_open_array(w);
    for (size_t i = 0; i < r->ncurves; i++) {
        const vt_bench_curve *c = &r->curves[i];
        js_open_object(w);
        js_field_string(w, "curve", c->name);
        js_field_string(w, "of", c->of);
        js_field_uint(w, "sizes", c->sizes);
        cli_field_measured(w, "exponent", c->exponent);
        cli_field_measured(w, "predicted", c->predicted);
        cli_field_measured(w, "growth", c->growth);
        cli_field_measured(w, "deviation", c->deviation);
        js_field_bool(w, "agrees", c->agrees);
        js_close_object(w);
    }
    js_close_array(w);
}

static void date_text(char date[24])
{
    const time_t now = time(NULL);
    struct tm utc;
    date[0] = 0;
    if (gmtime_r(&now, &utc)) strftime(date, 24, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static void json_version(js_writer *w, const vt_bench_report *r)
{
    const vt_version_info v = vt_version();
    char date[24];
    date_text(date);
    js_field_string(w, "version", v.version);
    js_field_string(w, "commit", v.commit);
    js_field_string(w, "build", v.build);
    js_field_string(w, "kernels", r->isa);
    js_field_string(w, "date", date);
    js_field_bool(w, "quick", r->quick);
}

vt_status bench_show_json(const vt_bench_report *r, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    json_version(&w, r);
    json_machine(&w, &r->machine);
    json_limits(&w, r);
    js_key(&w, "cases");
    js_open_array(&w);
    for (size_t i = 0; i < r->nrows; i++) json_row(&w, &r->rows[i]);
    js_close_array(&w);
    json_curves(&w, r);
    js_field_uint(&w, "wrong", r->wrong);
    js_field_uint(&w, "targets", r->targets);
    js_field_uint(&w, "missed", r->missed);
    js_field_uint(&w, "unshown", r->unshown);
    js_field_uint(&w, "skipped", r->skipped);
    js_field_uint(&w, "noisy", r->noisy);
    js_field_uint(&w, "beyond", r->beyond);
    js_field_number(&w, "seconds", r->seconds);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

vt_status bench_show_svg(const vt_bench_report *r, const char *path, vt_error *err)
{
    bytes text = { 0 };
    char date[24];
    date_text(date);
    vt_status s = roofline_svg(&text, r, date, err);
    if (s == VT_OK) s = io_replace(path, text.data, text.len, err);
    bytes_free(&text);
    return s;
}

vt_status bench_show_curves(const vt_bench_report *r, const char *path, vt_error *err)
{
    bytes text = { 0 };
    char date[24];
    date_text(date);
    vt_status s = curves_svg(&text, r, date, err);
    if (s == VT_OK) s = io_replace(path, text.data, text.len, err);
    bytes_free(&text);
    return s;
}

/* ---- the list -------------------------------------------------------------------- */

static vt_status list_json(vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    vt_bench_case_info c;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_key(&w, "cases");
    js_open_array(&w);
    for (size_t i = 0; vt_bench_case(i, &c); i++) {
        js_open_object(&w);
        js_field_string(&w, "name", c.name);
        js_field_string(&w, "group", c.group);
        js_field_string(&w, "what", c.what);
        js_field_string(&w, "unit", c.unit);
        json_target(&w, c.goal, c.target);
        js_field_bool(&w, "always", c.always);
        js_close_object(&w);
    }
    js_close_array(&w);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

vt_status bench_show_list(bool json, vt_error *err)
{
    vt_bench_case_info c;
    if (json) return list_json(err);
    printf("%-22s %-9s %s\n", "case", "group", "what");
    for (size_t i = 0; vt_bench_case(i, &c); i++) {
        char target[48];
        bench_target_text(target, sizeof target, c.goal, c.target, c.unit);
        printf("%-22s %-9s %s%s%s%s\n", c.name, c.group, c.what,
               isfinite(c.target) ? "; target " : "", isfinite(c.target) ? target : "",
               c.always ? "" : "; when it is named");
    }
    return cli_flush(err);
}
