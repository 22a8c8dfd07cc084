/* export_select.c -- see export_select.h.
 *
 * Patterns are the shell's: POSIX.1-2017, XCU 2.13.
 */
#include "provenance/export_select.h"
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/nearest.h"

enum { PATTERN_MOST = 64, NAME = sizeof ((gpt_stage *)NULL)->name };

/* "h.3.att" and "grad.h.3.qkvw" are of layer 3, and "att" and "grad.qkvw" without it. */
static int split_name(char without[NAME], const char *name)
{
    const bool gradient = strncmp(name, "grad.", 5) == 0;
    const char *rest = gradient ? name + 5 : name;
    char *end;
    memcpy(without, name, strlen(name) + 1);
    if (strncmp(rest, "h.", 2) != 0) return -1;
    const long layer = strtol(rest + 2, &end, 10);
    snprintf(without, NAME, "%s%s", gradient ? "grad." : "", end + 1);
    return (int)layer;
}

/* What each head has of its own: a matrix, or columns side by side with the others'. */
static bool of_heads(const char *without, size_t rank)
{
    static const char *const columns[] = { "q", "k", "v", "values", "dq", "dk", "dv", "dvalues" };
    bool found = rank == 3;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        found = found || strcmp(without, columns[i]) == 0;
    return found;
}

static bool matches(const char *pattern, const char *name)
{
    char without[NAME];
    split_name(without, name);
    return fnmatch(pattern, name, 0) == 0 || fnmatch(pattern, without, 0) == 0;
}

/* The next of the patterns at *list, and *list behind it; false where there is none. */
static bool next_pattern(char out[PATTERN_MOST], const char **list)
{
    const char *p = *list;
    if (!p) return false;
    const size_t n = strcspn(p, ",");
    snprintf(out, PATTERN_MOST, "%.*s", n < PATTERN_MOST ? (int)n : PATTERN_MOST - 1, p);
    *list = p[n] ? p + n + 1 : NULL;
    return true;
}

static bool is_named(const char *patterns, const char *name)
{
    char pattern[PATTERN_MOST];
    if (!patterns) return true;
    while (next_pattern(pattern, &patterns))
        if (matches(pattern, name)) return true;
    return false;
}

static bool is_of_window(const gpt_window *w, const char *pattern)
{
    for (size_t i = 0; i < w->count; i++)
        if (matches(pattern, w->stages[i].name)) return true;
    return false;
}

/* Stage i's name, for a set of words. */
static const char *stage_name(const void *set, size_t i)
{
    const gpt_window *w = set;
    return i < w->count ? w->stages[i].name : NULL;
}

/* Likewise without its layer; those of layer 0 and of none are all. */
static const char *short_name(const void *set, size_t i)
{
    const char *name = stage_name(set, i);
    return name && strncmp(name, "h.", 2) == 0 ? strchr(name + 2, '.') + 1 : name;
}

/* A name that no tensor has is a slip of the pen, whatever the other names are. */
static vt_status check_patterns(const gpt_window *w, const char *patterns, vt_error *err)
{
    char pattern[PATTERN_MOST];
    while (next_pattern(pattern, &patterns)) {
        if (is_of_window(w, pattern)) continue;
        size_t n = strlen(pattern), length = 0;
        const char *near = nearest_word(pattern, n, short_name, w, &length);
        if (!near) near = nearest_word(pattern, n, stage_name, w, &length);
        return fail(err, VT_USAGE, "--tensor %s: expected names such as att, logits or h.0.q, or "
                    "patterns such as 'h.0.*' (docs/formats.md)%s%.*s%s", n ? pattern : "''",
                    near ? "; is " : "", (int)length, near ? near : "", near ? " meant?" : "");
    }
    return VT_OK;
}

static vt_status check_choice(const gpt_window *w, const export_choice *c, vt_error *err)
{
    const gpt_config *z = &w->z;
    if (c->what && strcmp(c->what, "forward") != 0 && strcmp(c->what, "backward") != 0 &&
        strcmp(c->what, "all") != 0)
        return fail(err, VT_USAGE, "--what %.60s: expected forward, backward or all", c->what);
    if (c->layer >= z->L)
        return fail(err, VT_USAGE, "--layer %d: expected 0 to %d, the layers of the model", c->layer,
                    z->L - 1);
    if (c->head >= z->NH)
        return fail(err, VT_USAGE, "--head %d: expected 0 to %d, the heads of the model", c->head,
                    z->NH - 1);
    return check_patterns(w, c->tensors, err);
}

/* Adds the stage where it is chosen. */
static void consider(export_set *to, const gpt_window *w, const gpt_stage *s, bool backward,
                     const export_choice *c)
{
    const char *what = c->what ? c->what : c->tensors ? "all" : "forward";
    char without[NAME];
    const int layer = split_name(without, s->name);
    const bool heads = of_heads(without, s->rank);
    if (strcmp(what, backward ? "forward" : "backward") == 0) return;
    if ((c->layer >= 0 && c->layer != layer) || (c->head >= 0 && !heads)) return;
    if (!is_named(c->tensors, s->name)) return;
    export_tensor *t = &to->at[to->count++];
    *t = (export_tensor){ .name = s->name, .layer = layer, .head = c->head >= 0 ? c->head : -1,
                          .rank = s->rank, .count = s->count, .data = s->data };
    memcpy(t->shape, s->shape, sizeof t->shape);
    if (c->head >= 0) {
        if (s->rank == 3) t->shape[0] = 1;
        else t->shape[1] /= (size_t)w->z.NH;
        t->count /= (size_t)w->z.NH;
    }
    to->numbers += t->count;
    to->backward = to->backward || backward;
}

vt_status export_select(export_set *out, const gpt_window *w, const export_choice *c,
                        vt_error *err)
{
    *out = (export_set){ .single = c->single };
    bool backward = false;
    const vt_status s = check_choice(w, c, err);
    if (s) return s;
    out->at = calloc(w->count, sizeof *out->at);
    if (!out->at) return fail_memory(err, w->count * sizeof *out->at, "the list of tensors");
    for (size_t i = 0; i < w->count; i++) {
        consider(out, w, &w->stages[i], backward, c);
        backward = backward || strcmp(w->stages[i].name, "loss") == 0;  /* the last forward */
    }
    if (out->count > 0) return VT_OK;
    export_select_free(out);
    return fail(err, VT_USAGE, "no tensor is chosen: --what, --tensor, --layer and --head name none "
                "together (--head: only what each head has of its own)");
}

/* The columns of one head, row by row to the front: each moves forward, if at all. */
static void take_columns(export_tensor *t, size_t all)
{
    const size_t width = t->shape[1];
    double *p = t->data;
    for (size_t row = 0; row < t->shape[0]; row++)
        memmove(p + row * width, p + row * all + (size_t)t->head * width, width * sizeof *p);
}

/* In place: float i never reaches beyond double i. */
static void round_to_floats(export_tensor *t)
{
    unsigned char *p = t->data;
    for (size_t i = 0; i < t->count; i++) {
        double x;
        memcpy(&x, p + i * sizeof x, sizeof x);
        const float rounded = (float)x;
        memcpy(p + i * sizeof rounded, &rounded, sizeof rounded);
    }
}

void export_select_finish(export_set *set, const gpt_window *w)
{
    for (size_t i = 0; i < set->count; i++) {
        export_tensor *t = &set->at[i];
        if (t->head >= 0 && t->rank == 3) t->data = (double *)t->data + (size_t)t->head * t->count;
        else if (t->head >= 0) take_columns(t, (size_t)w->z.C);
        if (set->single) round_to_floats(t);
    }
}

void export_select_free(export_set *set)
{
    free(set->at);
    *set = (export_set){ .at = NULL };
}
