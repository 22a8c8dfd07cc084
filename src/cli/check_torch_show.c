/* check_torch_show.c -- see check_torch.h: text, JSON, JUnit's XML. */
#include <math.h>
#include <string.h>
#include "cli/check_torch.h"

static void show_row(const torch_row *row)
{
    const char *color = cli_color(stdout, row->pass ? "" : "\033[31m");
    printf("  %-28s %9zu/%9zu  %8.1e %-14s  %s%s%s\n", row->name, row->compared, row->of,
           row->cancels ? row->difference / row->bound : row->relative,
           row->cancels ? "of rounding" : "of the largest", color, row->pass ? "ok" : "FAIL", *color ? cli_color(stdout, "\033[0m") : "");
    if (!row->pass)
        printf("    entry %zu: expected %.17g (PyTorch), found %.17g; bound %.2g\n", row->entry,
               row->expected, row->found, row->bound);
}

/* Every tensor of a model; of an operator each case, and what fails in it. */
void check_torch_text(const check_torch *t)
{
    const char *color = cli_color(stdout, t->pass ? "\033[32m" : "\033[31m");
    size_t row = 0;
    printf("PyTorch %s, automatic differentiation in float64 (%s)\n", t->version, t->python);
    for (size_t i = 0; i < t->ncases; i++) {
        const torch_case *c = &t->cases[i];
        if (t->op)
            printf("%3zu  %-44s %8zu compared, worst %8.1e  %s\n", i + 1, c->sizes, c->compared,
                   c->relative, c->failed ? "FAIL" : "ok");
        for (; row < t->nrows && t->rows[row].number == i + 1; row++)
            if (!t->op || !t->rows[row].pass) show_row(&t->rows[row]);
    }
    if (!isnan(t->loss)) printf("largest difference of a loss: %.1e\n", t->loss);
    if (t->cancel > 0)
        printf("%zu of %zu tensors cancel (0 by algebra, or nearly): judged by what rounding may do\n",
               t->cancel, t->nrows);
    printf("PyTorch: compared %zu of %zu, worst %.1e of a tensor's largest entry: %s%s%s\n",
           t->compared, t->of, t->relative, color, t->pass ? "PASS" : "FAIL",
           *color ? cli_color(stdout, "\033[0m") : "");
}

static void json_row(js_writer *w, const torch_row *row)
{
    js_open_object(w);
    js_field_string(w, "name", row->name);
    js_field_uint(w, "compared", row->compared);
    js_field_uint(w, "of", row->of);
    cli_field_measured(w, "difference", row->difference);
    cli_field_measured(w, "relative", row->relative);
    cli_field_measured(w, "bound", row->bound);
    js_field_bool(w, "cancels", row->cancels);
    js_field_uint(w, "entry", row->entry);
    cli_field_measured(w, "expected", row->expected);
    cli_field_measured(w, "found", row->found);
    js_field_bool(w, "pass", row->pass);
    js_close_object(w);
}

void check_torch_json(js_writer *w, const check_torch *t)
{
    size_t row = 0;
    js_open_object(w);
    js_field_bool(w, "pass", t->pass);
    js_field_string(w, "version", t->version);
    js_field_string(w, "python", t->python);
    js_field_uint(w, "compared", t->compared);
    js_field_uint(w, "of", t->of);
    js_field_uint(w, "failed", t->failed);
    js_field_uint(w, "cancel", t->cancel);
    cli_field_measured(w, "worst_relative", t->relative);
    cli_field_measured(w, "loss_difference", t->loss);
    js_key(w, "cases");
    js_open_array(w);
    for (size_t i = 0; i < t->ncases; i++) {
        js_open_object(w);
        js_field_uint(w, "case", i + 1);
        js_field_string(w, "sizes", t->op ? t->cases[i].sizes : NULL);
        js_field_bool(w, "pass", t->cases[i].failed == 0);
        js_key(w, "tensors");
        js_open_array(w);
        for (; row < t->nrows && t->rows[row].number == i + 1; row++) json_row(w, &t->rows[row]);
        js_close_array(w);
        js_close_object(w);
    }
    js_close_array(w);
    js_close_object(w);
}

void check_torch_junit(junit *w, const check_torch *t)
{
    char suite[200], line[400];
    size_t row = 0;
    for (size_t i = 0; i < t->ncases; i++) {
        snprintf(suite, sizeof suite, "PyTorch%s%s%s%s", t->op ? ": " : "", t->op ? t->op : "",
                 t->op ? ", " : "", t->op ? t->cases[i].sizes : "");
        junit_suite(w, suite);
        for (; row < t->nrows && t->rows[row].number == i + 1; row++) {
            const torch_row *r = &t->rows[row];
            snprintf(line, sizeof line, "entry %zu: expected %.17g, found %.17g, bound %.2g",
                     r->entry, r->expected, r->found, r->bound);
            junit_case(w, r->name, r->pass ? JUNIT_PASS : JUNIT_FAIL, line, NULL);
        }
    }
}

static vt_status print_json(const check_torch *t, uint64_t seed, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_bool(&w, "pass", t->pass);
    js_field_string(&w, "op", t->op);
    js_field_uint(&w, "seed", seed);
    js_key(&w, "torch");
    check_torch_json(&w, t);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

vt_status check_torch_show(const check_torch *t, uint64_t seed, bool json, const char *path,
                           vt_error *err)
{
    bytes text = { 0 };
    junit j;
    vt_status s;
    if (json) {
        s = print_json(t, seed, err);
    } else {
        printf("%s, seed %llu\n", t->op, (unsigned long long)seed);
        check_torch_text(t);
        s = cli_flush(err);
    }
    if (s || !path) return s;
    junit_open(&j, &text, "vitrine check");
    check_torch_junit(&j, t);
    s = junit_close(&j, err);
    if (s == VT_OK) s = io_replace(path, text.data, text.len, err);
    bytes_free(&text);
    return s;
}
