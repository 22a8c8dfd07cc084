/* check_show.c -- see check_show.h. */
#include "cli/check_show.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A share of a bound in nine columns: percent, or from ten times on a factor. */
static const char *share_text(char out[32], double share)
{
    if (share < 10) snprintf(out, 32, "%8.1f%%", 100 * share);
    else snprintf(out, 32, "%7.1e x", share);
    return out;
}

static const char *arbiter_words(vt_arbiter a)
{
    switch (a) {
    case VT_ARBITER_FOUND:    return "the definitions";
    case VT_ARBITER_EXPECTED: return "complex step";
    case VT_ARBITER_NEITHER:  return "neither";
    default:                  return NULL;
    }
}

/* ---- for people -------------------------------------------------------- */

static void print_pass(bool pass)
{
    printf("  %s%s%s\n", pass ? "" : cli_color(stdout, "\033[31m"), pass ? "ok" : "FAIL",
           pass ? "" : cli_color(stdout, "\033[0m"));
}

static void print_failure(const vt_check_report *r, const vt_check_row *row)
{
    if (!(row->budget_used <= 1)) {
        printf("  entry %zu (%s): expected %.17g (complex step), found %.17g, ratio %.6g\n",
               row->worst_entry, row->worst_place, row->expected, row->found,
               row->found / row->expected);
        if (arbiter_words(row->arbiter))
            printf("  _Float128 says %.17g: %s right\n", row->arbiter_value,
                   row->arbiter == VT_ARBITER_NEITHER ? "neither is"
                   : row->arbiter == VT_ARBITER_FOUND ? "what was found is" : "what was expected is");
    }
    if (!(row->direction_budget_used <= 1))
        printf("  along a random direction: expected %.17g (complex step), found %.17g, ratio %.6g\n",
               row->direction_expected, row->direction_found,
               row->direction_found / row->direction_expected);
    if (!(row->differences_budget_used <= 1))
        printf("  entry %zu (%s): expected %.15g +- %.1e (differences), found %.15g, ratio %.6g\n",
               row->differences_entry, row->differences_place, row->differences_value,
               row->differences_bar, row->differences_found,
               row->differences_found / row->differences_value);
    if (!(row->fast_budget_used <= 1))
        printf("  entry %zu (%s): expected %.9g (definitions), found %.9g (%s kernels), ratio %.6g\n",
               row->fast_entry, row->fast_place, row->fast_expected, row->fast_found, r->isa,
               row->fast_found / row->fast_expected);
}

static void print_rows(const vt_check_report *r)
{
    char used[32], few[32], fast[32];
    printf("%-28s %19s  %-9s %9s %11s %9s\n", "tensor", "compared", "worst", "of bound",
           "differences", "fast");
    for (size_t i = 0; i < r->nrows; i++) {
        const vt_check_row *row = &r->rows[i];
        share_text(few, row->differences_budget_used);
        if (row->differences_resolved == 0 && row->differences_budget_used <= 1)
            snprintf(few, sizeof few, "-");
        printf("%-28s %9zu/%9zu  %-9.1e %9s %11s %9s", row->name, row->compared, row->of,
               row->worst, share_text(used, row->budget_used), few,
               share_text(fast, row->fast_budget_used));
        print_pass(row->pass);
        print_failure(r, row);
    }
}

static void print_parts(const vt_check_report *r)
{
    char used[32];
    if (r->nlayers > 0) printf("\n%-48s %-9s %9s\n", "backward is forward's adjoint", "error", "of bound");
    for (size_t i = 0; i < r->nlayers; i++) {
        const vt_check_layer *l = &r->layers[i];
        printf("%-48s %-9.1e %9s", l->name, fabs(l->found - l->expected),
               share_text(used, l->budget_used));
        print_pass(l->pass);
        if (!l->pass)
            printf("  <v, J u> is %.17g (complex step), <J^T v, u> %.17g (by hand)\n", l->expected,
                   l->found);
    }
    if (r->nexact > 0) printf("\n%-48s %19s\n", "bit for bit", "compared");
    for (size_t i = 0; i < r->nexact; i++) {
        const vt_check_exact *e = &r->exact[i];
        printf("%-48s %19zu", e->name, e->compared);
        if (e->pass && e->compared == 0) printf("  -\n");
        else print_pass(e->pass);
        if (e->detail[0]) printf("  %s\n", e->detail);
    }
    if (r->nnotes > 0) printf("\n");
    for (size_t i = 0; i < r->nnotes; i++) printf("note: %s\n", r->notes[i]);
}

static void print_diagnosis(const vt_check_report *r)
{
    const vt_op_diagnosis *d = &r->diagnosis;
    if (!r->diagnosed) return;
    printf("\n%sdiagnosis (%s)%s: ", cli_color(stdout, "\033[1m"), r->diagnosed, cli_color(stdout, "\033[0m"));
    if (d->kind[0]) printf("%s", d->kind);
    if (d->other[0]) printf(" or %s", d->other);
    printf("%s%s\n", d->kind[0] ? ": " : "", d->sentence);
    if (d->location[0]) printf("  where: %s\n", d->location);
    if (d->hint[0]) printf("  hint:  %s\n", d->hint);
}

vt_status check_show_text(const vt_check_report *r, const check_torch *torch, vt_error *err)
{
    const char *color = cli_color(stdout, r->pass ? "\033[32m" : "\033[31m");
    size_t few = 0, resolved = 0;
    double along = 0;
    char used[32];
    for (size_t i = 0; i < r->nrows; i++) {
        if (!(r->rows[i].direction_budget_used <= along)) along = r->rows[i].direction_budget_used;
        few += r->rows[i].differences_compared;
        resolved += r->rows[i].differences_resolved;
    }
    print_rows(r);
    print_parts(r);
    print_diagnosis(r);
    share_text(used, r->direction_budget_used);
    printf("\none direction over all parameters: expected %.15g, found %.15g (%s of the bound)\n",
           r->direction_expected, r->direction_found, used + strspn(used, " "));
    share_text(used, along);
    printf("one direction of each tensor: %zu, at most %s of the bound\n", r->nrows,
           used + strspn(used, " "));
    if (few > 0)
        printf("differences: %zu entries, of which %zu have a derivative above their error bar\n",
               few, resolved);
    printf("loss %.6f over %d x %d tokens, seed %llu; definitions in double against complex step; "
           "fast kernels: %s\n", r->loss, r->batch, r->seq, (unsigned long long)r->seed, r->isa);
    if (r->compared == 0)
        printf("compared a direction of each of %zu tensors, no entries: ", r->nrows);
    else
        printf("compared %zu of %zu, worst error %.1e: ", r->compared, r->of, r->worst);
    printf("%s%s%s\n", color, r->pass ? "PASS" : "FAIL", *color ? cli_color(stdout, "\033[0m") : "");
    if (torch) printf("\n");
    if (torch) check_torch_text(torch);
    return cli_flush(err);
}

/* ---- as JSON ----------------------------------------------------------- */

static void json_row(js_writer *w, const vt_check_row *row)
{
    js_open_object(w);
    js_field_string(w, "name", row->name);
    js_field_uint(w, "compared", row->compared);
    js_field_uint(w, "of", row->of);
    cli_field_measured(w, "worst", row->worst);
    cli_field_measured(w, "budget_used", row->budget_used);
    cli_field_measured(w, "fast_budget_used", row->fast_budget_used);
    js_field_uint(w, "worst_entry", row->worst_entry);
    js_field_string(w, "place", row->worst_place);
    cli_field_measured(w, "expected", row->expected);
    cli_field_measured(w, "found", row->found);
    cli_field_measured(w, "ratio", row->found / row->expected);
    js_field_string(w, "arbiter", arbiter_words(row->arbiter));
    cli_field_measured(w, "arbiter_value", row->arbiter_value);
    js_field_uint(w, "fast_entry", row->fast_entry);
    js_field_string(w, "fast_place", row->fast_place);
    cli_field_measured(w, "fast_expected", row->fast_expected);
    cli_field_measured(w, "fast_found", row->fast_found);
    cli_field_measured(w, "direction_expected", row->direction_expected);
    cli_field_measured(w, "direction_found", row->direction_found);
    cli_field_measured(w, "direction_budget_used", row->direction_budget_used);
    js_key(w, "differences");
    js_open_object(w);
    js_field_uint(w, "compared", row->differences_compared);
    js_field_uint(w, "resolved", row->differences_resolved);
    cli_field_measured(w, "budget_used", row->differences_budget_used);
    js_field_uint(w, "entry", row->differences_entry);
    js_field_string(w, "place", row->differences_place);
    cli_field_measured(w, "value", row->differences_value);
    cli_field_measured(w, "bar", row->differences_bar);
    cli_field_measured(w, "found", row->differences_found);
    js_close_object(w);
    js_field_bool(w, "pass", row->pass);
    js_close_object(w);
}

static void json_parts(js_writer *w, const vt_check_report *r)
{
    js_key(w, "layers");
    js_open_array(w);
    for (size_t i = 0; i < r->nlayers; i++) {
        const vt_check_layer *l = &r->layers[i];
        js_open_object(w);
        js_field_string(w, "name", l->name);
        cli_field_measured(w, "expected", l->expected);
        cli_field_measured(w, "found", l->found);
        cli_field_measured(w, "budget_used", l->budget_used);
        js_field_bool(w, "pass", l->pass);
        js_close_object(w);
    }
    js_close_array(w);
    js_key(w, "exact");
    js_open_array(w);
    for (size_t i = 0; i < r->nexact; i++) {
        const vt_check_exact *e = &r->exact[i];
        js_open_object(w);
        js_field_string(w, "name", e->name);
        js_field_uint(w, "compared", e->compared);
        js_field_string(w, "detail", e->detail);
        js_field_bool(w, "pass", e->pass);
        js_close_object(w);
    }
    js_close_array(w);
    js_key(w, "notes");
    js_open_array(w);
    for (size_t i = 0; i < r->nnotes; i++) js_string(w, r->notes[i]);
    js_close_array(w);
}

/* kind is null where there is none, and the sentence says why. */
static void json_diagnosis(js_writer *w, const vt_check_report *r)
{
    const vt_op_diagnosis *d = &r->diagnosis;
    js_key(w, "diagnosis");
    if (!r->diagnosed) {
        js_null(w);
        return;
    }
    js_open_object(w);
    js_field_string(w, "of", r->diagnosed);
    js_field_string(w, "kind", d->kind[0] ? d->kind : NULL);
    js_field_string(w, "other", d->other[0] ? d->other : NULL);
    js_field_string(w, "sentence", d->sentence);
    js_field_string(w, "hint", d->hint[0] ? d->hint : NULL);
    js_field_string(w, "location", d->location[0] ? d->location : NULL);
    js_close_object(w);
}

vt_status check_show_json(const vt_check_report *r, const check_torch *torch, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_bool(&w, "pass", r->pass && (!torch || torch->pass));
    js_field_uint(&w, "failed", r->failed);
    js_field_uint(&w, "compared", r->compared);
    js_field_uint(&w, "of", r->of);
    cli_field_measured(&w, "worst", r->worst);
    cli_field_measured(&w, "loss", r->loss);
    cli_field_measured(&w, "direction_expected", r->direction_expected);
    cli_field_measured(&w, "direction_found", r->direction_found);
    cli_field_measured(&w, "direction_budget_used", r->direction_budget_used);
    js_field_int(&w, "batch", r->batch);
    js_field_int(&w, "seq", r->seq);
    js_field_uint(&w, "seed", r->seed);
    js_field_string(&w, "kernels", r->isa);
    js_key(&w, "tensors");
    js_open_array(&w);
    for (size_t i = 0; i < r->nrows; i++) json_row(&w, &r->rows[i]);
    js_close_array(&w);
    json_parts(&w, r);
    json_diagnosis(&w, r);
    if (torch) {
        js_key(&w, "torch");
        check_torch_json(&w, torch);
    }
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

/* ---- as JUnit's XML ---------------------------------------------------- */

enum { LINE = 400 };

static junit_result result_of(bool pass) { return pass ? JUNIT_PASS : JUNIT_FAIL; }

static void junit_row(junit *w, const vt_check_report *r, const vt_check_row *row)
{
    char name[VT_CHECK_NAME + 40], line[LINE];
    snprintf(name, sizeof name, "%s, complex step", row->name);
    snprintf(line, sizeof line, "entry %zu (%s): expected %.17g, found %.17g, ratio %.6g",
             row->worst_entry, row->worst_place, row->expected, row->found,
             row->found / row->expected);
    if (row->compared > 0) junit_case(w, name, result_of(row->budget_used <= 1), line, NULL);
    snprintf(name, sizeof name, "%s, one direction", row->name);
    snprintf(line, sizeof line, "expected %.17g, found %.17g, ratio %.6g", row->direction_expected,
             row->direction_found, row->direction_found / row->direction_expected);
    junit_case(w, name, result_of(row->direction_budget_used <= 1), line, NULL);
    if (row->differences_compared > 0) {
        const bool pass = row->differences_budget_used <= 1;
        snprintf(name, sizeof name, "%s, differences", row->name);
        snprintf(line, sizeof line, "entry %zu (%s): expected %.15g +- %.1e, found %.15g",
                 row->differences_entry, row->differences_place, row->differences_value,
                 row->differences_bar, row->differences_found);
        if (pass && row->differences_resolved == 0)
            junit_case(w, name, JUNIT_SKIP, "no resolution at this scale", NULL);
        else
            junit_case(w, name, result_of(pass), line, NULL);
    }
    snprintf(name, sizeof name, "%s, %s kernels", row->name, r->isa);
    snprintf(line, sizeof line, "entry %zu (%s): expected %.9g, found %.9g, ratio %.6g",
             row->fast_entry, row->fast_place, row->fast_expected, row->fast_found,
             row->fast_found / row->fast_expected);
    junit_case(w, name, result_of(row->fast_budget_used <= 1), line, NULL);
}

vt_status check_show_junit(const vt_check_report *r, const check_torch *torch, const char *line,
                           const char *path, vt_error *err)
{
    bytes text = { 0 };
    char why[LINE], told[3 * LINE];
    junit w;
    junit_open(&w, &text, "vitrine check");
    junit_suite(&w, "gradients");
    snprintf(told, sizeof told, "%s%s%s. %s\n%s", r->diagnosis.kind, r->diagnosis.kind[0] ? ": " : "",
             r->diagnosis.sentence, r->diagnosis.hint, r->diagnosis.location);
    junit_case(&w, "all", result_of(r->pass), line, r->diagnosed ? told : NULL);
    snprintf(why, sizeof why, "expected %.17g, found %.17g", r->direction_expected,
             r->direction_found);
    junit_case(&w, "one direction over all parameters", result_of(r->direction_budget_used <= 1), why, NULL);
    for (size_t i = 0; i < r->nrows; i++) junit_row(&w, r, &r->rows[i]);
    junit_suite(&w, "adjoint");
    for (size_t i = 0; i < r->nlayers; i++) {
        snprintf(why, sizeof why, "<v, J u> is %.17g, <J^T v, u> %.17g", r->layers[i].expected,
                 r->layers[i].found);
        junit_case(&w, r->layers[i].name, result_of(r->layers[i].pass), why, NULL);
    }
    junit_suite(&w, "exact");
    for (size_t i = 0; i < r->nexact; i++) {
        const vt_check_exact *e = &r->exact[i];
        junit_case(&w, e->name, e->pass && e->compared == 0 ? JUNIT_SKIP : result_of(e->pass),
                   e->detail, NULL);
    }
    if (torch) check_torch_junit(&w, torch);
    vt_status s = junit_close(&w, err);
    if (s == VT_OK) s = io_replace(path, text.data, text.len, err);
    bytes_free(&text);
    return s;
}
