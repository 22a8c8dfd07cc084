/* plot_run.c -- see plot_run.h. */
#include "train/plot_run.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "formats/json.h"
#include "train/metrics.h"

enum { MOST_BYTES = 1 << 30, MOST_MANIFEST = 1 << 20,
       NAME_MOST = 44, NAME_ENDS = 20 };        /* characters of a name; of each end of a longer one */

static vt_status room(plot_run *r, vt_error *err)
{
    double **const all[] = { &r->step, &r->loss, &r->val, &r->lr };
    if (r->n < r->cap) return VT_OK;
    const size_t cap = r->cap ? 2 * r->cap : 1024;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        double *grown = realloc(*all[i], cap * sizeof *grown);
        if (!grown) return fail_memory(err, cap * sizeof *grown, "the points of a curve");
        *all[i] = grown;
    }
    r->cap = cap;
    return VT_OK;
}

static vt_status read_line(plot_run *r, const unsigned char *text, size_t n, const char *where,
                           vt_error *err)
{
    json_t *line = NULL;
    int64_t step;
    double loss, lr, val = (double)NAN;
    vt_status s = room(r, err);
    if (s || (s = js_parse_line(&line, text, n, where, err)) ||
        (s = js_get_int(line, "step", where, 1, 1LL << 40, &step, err)) ||
        (s = js_get_number(line, "loss", where, 0, 1e30, &loss, err)) ||
        (s = js_get_number(line, "lr", where, 0, 1e30, &lr, err)))
        goto done;
    if (!json_is_null(json_object_get(line, "val_loss")) &&
        (s = js_get_number(line, "val_loss", where, 0, 1e30, &val, err)))
        goto done;
    if (r->n > 0 && (double)step <= r->step[r->n - 1]) {
        s = fail(err, VT_BAD_INPUT, "%s: step %lld: expected one above %.0f, the line's before it",
                 where, (long long)step, r->step[r->n - 1]);
        goto done;
    }
    r->step[r->n] = (double)step;
    r->loss[r->n] = loss;
    r->val[r->n] = val;
    r->lr[r->n++] = lr;
done:
    json_decref(line);
    return s;
}

static vt_status read_metrics(plot_run *r, const char *path, vt_error *err)
{
    bytes text = { 0 };
    char where[512];
    size_t number = 1;
    vt_status s = io_read_written(&text, path, MOST_BYTES, err);
    for (size_t at = 0; at < text.len && s == VT_OK; number++) {
        const unsigned char *end = memchr(text.data + at, '\n', text.len - at);
        if (!end) break;
        const size_t n = (size_t)(end - (text.data + at));
        snprintf(where, sizeof where, "%.400s: line %zu", path, number);
        s = read_line(r, text.data + at, n, where, err);
        at += n + 1;
    }
    bytes_free(&text);
    if (s == VT_OK && r->n == 0)
        s = fail(err, VT_BAD_INPUT, "%s: has no steps yet", path);
    return s;
}

/* The losses that a manifest gives to compare with. */
static void read_marks(plot_run *r, const json_t *manifest, const char *path)
{
    const json_t *object;
    int64_t V;
    r->uniform = r->bigram = (double)NAN;
    if (js_get_object(manifest, "model", path, &object, NULL) == VT_OK &&
        js_get_int(object, "vocab_size", path, 1, 1 << 30, &V, NULL) == VT_OK)
        r->uniform = log((double)V);
    if (js_get_object(manifest, "bigram", path, &object, NULL) ||
        js_get_number(object, "k", path, 0, 1e30, &r->bigram_k, NULL) ||
        js_get_number(object, "loss", path, 0, 1e30, &r->bigram, NULL))
        r->bigram = (double)NAN;                /* an older manifest has none */
}

/* What its manifest says; one that is none says nothing. */
static void describe(plot_run *r, const char *folder)
{
    json_t *manifest = NULL;
    const json_t *object;
    const char *preset;
    char *path = io_join(folder, "manifest.json");
    r->uniform = r->bigram = (double)NAN;
    if (path && js_read(&manifest, path, MOST_MANIFEST, NULL) == VT_OK) {
        read_marks(r, manifest, path);
        if (js_get_object(manifest, "settings", path, &object, NULL) == VT_OK &&
            js_get_string(object, "preset", path, &preset, NULL) == VT_OK)
            snprintf(r->preset, sizeof r->preset, "%.30s", preset);
    }
    json_decref(manifest);
    free(path);
}

/* ---- names ---------------------------------------------------------------- */

/* The last `parts` parts of a path; all where it has no more. */
static const char *tail(const char *path, size_t parts)
{
    const char *p = path + strlen(path);
    while (p > path && (p[-1] != '/' || --parts > 0)) p--;
    return p;
}

/* Whether the runs are of two folders that the same parts name. */
static bool confused(const plot_run *a, const plot_run *b, size_t parts)
{
    return strcmp(a->path, b->path) != 0 && strcmp(tail(a->path, parts), tail(b->path, parts)) == 0;
}

/* Where character i of a well-formed text begins; its end where it has no more. */
static const char *character(const char *p, size_t i)
{
    while (*p && i-- > 0)
        for (p++; (*p & 0xC0) == 0x80;) p++;
    return p;
}

static void set_name(plot_run *r, char *text)
{
    size_t length = 0, n;
    utf8_plain(text, false);
    while (*character(text, length)) length++;
    if (length <= NAME_MOST) n = (size_t)snprintf(r->name, sizeof r->name, "%s", text);
    else n = (size_t)snprintf(r->name, sizeof r->name, "%.*s...%s",
                              (int)(character(text, NAME_ENDS) - text), text,
                              character(text, length - NAME_ENDS));
    if (r->preset[0]) snprintf(r->name + n, sizeof r->name - n, " (%s)", r->preset);
    utf8_plain(r->name, false);
}

vt_status plot_run_names(plot_run *runs, size_t n, vt_error *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t parts = 1;
        for (size_t k = 0; k < n; k++)
            while (confused(&runs[i], &runs[k], parts)) parts++;
        char *text = strdup(tail(runs[i].path, parts));
        if (!text) return fail_memory(err, strlen(runs[i].path), "a run's name");
        set_name(&runs[i], text);
        free(text);
    }
    return VT_OK;
}

/* ---- a run ---------------------------------------------------------------- */

vt_status plot_run_read(plot_run *r, const char *folder, vt_error *err)
{
    *r = (plot_run){ .n = 0 };
    char *path = io_join(folder, METRICS_NAME);
    if (!path) return fail_memory(err, strlen(folder), "a file's name");
    vt_status s = read_metrics(r, path, err);
    r->path = realpath(folder, NULL);
    if (!r->path && s == VT_OK) s = fail(err, VT_IO, "%s: cannot be resolved: %s", folder, strerror(errno));
    describe(r, folder);
    free(path);
    return s;
}

void plot_run_free(plot_run *r)
{
    free(r->step);
    free(r->loss);
    free(r->val);
    free(r->lr);
    free(r->path);
    *r = (plot_run){ .n = 0 };
}
