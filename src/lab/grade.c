/* grade.c -- see grade.h. */
#include "lab/grade.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "lab/grade_slips.h"
#include "lab/grade_trial.h"
#include "lab/grade_words.h"

enum { SYMBOLS = EXERCISES * EXERCISE_FUNCTIONS };
#define SECONDS 5.0

/* ---- the report -------------------------------------------------------------- */

static vt_grade_row *row_of(vt_grade_report *out, const char *function, const char *tensor)
{
    for (size_t i = 0; i < out->nrows; i++)
        if (strcmp(out->rows[i].function, function) == 0 &&
            strcmp(out->rows[i].tensor, tensor) == 0)
            return &out->rows[i];
    vt_grade_row *row = &out->rows[out->nrows++];       /* VT_GRADE_ROWS hold all */
    *row = (vt_grade_row){ .function = function, .tensor = tensor };
    return row;
}

static void place(const grading *g, const trial *t, const exercise_tensor *e, size_t element)
{
    int number;
    const graph_tensor *at = trial_tensor(&t->c, e, &number);
    const size_t i = at->at + element;
    vt_grade_report *out = g->out;
    out->adds = g->f->pass == VT_KERNEL_BACKWARD;
    out->tensor = out->adds ? e->gradient : e->name;
    grade_index(out->index, sizeof out->index, e->axes, &t->c.z, element);
    out->expected = out->adds ? t->c.dx[i] : t->c.x[i];
    out->found = out->adds ? t->found.dx[i] - t->c.start[i] : t->found.x[i];
    out->of = at->count;
}

/* Compares one tensor; true where it is right. */
static bool compare(const grading *g, const trial *t, const exercise_tensor *e, size_t *wrong,
                    size_t *first)
{
    const bool adds = g->f->pass == VT_KERNEL_BACKWARD;
    int number;
    const graph_tensor *at = trial_tensor(&t->c, e, &number);
    vt_grade_row *row = row_of(g->out, g->f->name, adds ? e->gradient : e->name);
    *wrong = *first = 0;
    for (size_t k = 0; k < at->count; k++) {
        const size_t i = at->at + k;
        const double error = fabs(trial_found(g, t, i) - trial_expected(g, t, i));
        const double bound = trial_bound(g, t, i);
        const double share = error == 0 ? 0 : error / bound;
        if (!(share <= row->budget_used) && !isnan(row->budget_used)) row->budget_used = share;
        /* where a bound is infinite, what is found must still be a number */
        const bool right = error <= bound && isfinite(error);
        if (!right && (*wrong)++ == 0) *first = k;
    }
    row->compared += at->count;
    row->wrong += *wrong;
    g->out->compared += at->count;
    return *wrong == 0;
}

/* ---- what is not right ------------------------------------------------------- */

/* The bits of everything that was found. */
static bool same(const trial *a, const trial *b)
{
    const size_t bytes = a->c.g.reals * sizeof(double);
    return memcmp(a->found.x, b->found.x, bytes) == 0 &&
           memcmp(a->found.dx, b->found.dx, bytes) == 0;
}

static vt_status once_more(const grading *g, size_t i, const trial *before, bool *steady,
                           vt_error *err)
{
    trial t;
    vt_status s = trial_new(&t, g, i, err);
    if (s == VT_OK) s = trial_call(g, &t, err);
    *steady = s != VT_OK || (t.outcome.end == KERNEL_OK && same(before, &t));
    trial_free(&t);
    return s;
}

typedef enum steadiness { STEADY, OTHER_MEMORY, OTHER_CALL } steadiness;

/* Twice more, in a new child whose memory holds other bytes, and again in that one. */
static vt_status again(const grading *g, size_t i, const trial *before, steadiness *is,
                       vt_error *err)
{
    bool steady;
    kernel_host_fresh(g->host);
    vt_status s = once_more(g, i, before, &steady, err);
    *is = steady ? STEADY : OTHER_MEMORY;
    if (s || !steady) return s;
    s = once_more(g, i, before, &steady, err);
    if (!steady) *is = OTHER_CALL;
    return s;
}

static void unsteady(const grading *g, steadiness is)
{
    g->out->verdict = VT_GRADE_UNSTEADY;
    if (is == OTHER_CALL) {
        snprintf(g->out->what, sizeof g->out->what,
                 "%s gives other numbers at its second call than at its first, from the same inputs",
                 g->f->name);
        snprintf(g->out->hint, sizeof g->out->hint,
                 "what does it keep from one call to the next? A static or a global variable");
        return;
    }
    snprintf(g->out->what, sizeof g->out->what,
             "%s gives other numbers when it is called again with the same", g->f->name);
    snprintf(g->out->hint, sizeof g->out->hint,
             "a variable or an array is read before anything was written to it: a sum that does "
             "not start from 0?");
}

static void stopped(const grading *g, const trial *t)
{
    vt_grade_report *out = g->out;
    const kernel_outcome *o = &t->outcome;
    out->verdict = VT_GRADE_STOPPED;
    snprintf(out->what, sizeof out->what, "%s %s", g->f->name, o->text);
    const char *hint = "the function has to return by itself";
    if (o->end == KERNEL_TIMED_OUT)
        hint = "does every loop come to its end? Look at what counts, and at what is compared";
    else if (o->end == KERNEL_OVERWROTE || o->buffer)
        hint = "compare the ends of your loops with the array's sizes, and each index with what "
               "it is the index of; what is const is not to be written";
    else if (o->end == KERNEL_CRASHED)
        hint = "an index beyond an array, or an array on the stack that is too large?";
    snprintf(out->hint, sizeof out->hint, "%s", hint);
}

/* Whether nothing at all was written: by the pattern, or by what gradients started from. */
static bool nothing_written(const grading *g, const trial *t)
{
    if (g->f->pass == VT_KERNEL_BACKWARD)
        return memcmp(t->found.dx, t->c.start, t->c.g.reals * sizeof *t->c.start) == 0;
    for (size_t k = 0; k < KERNEL_OUTS && g->f->out[k].name; k++) {
        int number;
        if (t->outcome.unwritten[k].count != trial_tensor(&t->c, &g->f->out[k], &number)->count)
            return false;
    }
    return true;
}

static void nothing(const grading *g)
{
    g->out->verdict = VT_GRADE_NOTHING;
    snprintf(g->out->what, sizeof g->out->what, "%s: nothing was written yet", g->f->name);
    snprintf(g->out->hint, sizeof g->out->hint,
             "its body is yours; vitrine grade --exercise %s --hint 1 gives a first hint",
             g->e->shown->name);
}

static vt_status judge(const grading *g, const trial *t, size_t i, vt_error *err)
{
    const exercise_tensor *list = trial_results(g), *first = NULL;
    vt_grade_report *out = g->out;
    steadiness is;
    size_t unwritten = 0;
    for (size_t k = 0; k < EXERCISE_TENSORS && list[k].name; k++) {
        size_t wrong, at;
        if (!trial_is_result(g, &list[k]) || compare(g, t, &list[k], &wrong, &at) || first) continue;
        first = &list[k];
        place(g, t, first, at);
        out->wrong = wrong;
        if (g->f->pass == VT_KERNEL_FORWARD) unwritten = t->outcome.unwritten[k].count;
        if (unwritten) grade_index(out->index, sizeof out->index, first->axes, &t->c.z,
                                   t->outcome.unwritten[k].first);
    }
    if (!first) return VT_OK;
    if (nothing_written(g, t)) {
        nothing(g);
        return VT_OK;
    }
    const vt_status s = again(g, i, t, &is, err);
    if (s) return s;
    if (is != STEADY) {
        unsteady(g, is);
        return VT_OK;
    }
    if (!unwritten || grade_half_written(g, t, first)) return grade_explain(g, i, t, first, err);
    out->verdict = VT_GRADE_UNWRITTEN;
    snprintf(out->what, sizeof out->what, "%zu of %zu elements of %s were never written, the first "
             "is %s%s", unwritten, out->of, out->tensor, out->tensor, out->index);
    snprintf(out->hint, sizeof out->hint, "write every element of every output, also those that "
             "are 0");
    return VT_OK;
}

/* ---- all cases of all functions ------------------------------------------------ */

static void start_failure(const grading *g, const trial *t)
{
    vt_grade_report *out = g->out;
    out->function = g->f->name;
    grade_sizes(out->sizes, sizeof out->sizes, g->e, &t->c.z);
    const size_t said = strnlen(t->outcome.said, sizeof t->outcome.said);
    snprintf(out->said, sizeof out->said, "%.*s", (int)said, t->outcome.said);
}

static vt_status run_case(const grading *g, size_t i, vt_error *err)
{
    trial t;
    vt_grade_report *out = g->out;
    vt_status s = trial_new(&t, g, i, err);
    if (s == VT_OK) s = trial_call(g, &t, err);
    if (s) goto done;
    if (t.outcome.end != KERNEL_OK) stopped(g, &t);
    else s = judge(g, &t, i, err);
    if (s == VT_OK && out->verdict == VT_GRADE_SOLVED && i == 0) {
        steadiness is;
        s = again(g, i, &t, &is, err);
        if (s == VT_OK && is != STEADY) unsteady(g, is);
    }
    if (s == VT_OK && out->verdict != VT_GRADE_SOLVED) start_failure(g, &t);
done:
    trial_free(&t);
    return s;
}

static vt_status run_function(const grading *g, vt_error *err)
{
    vt_grade_report *out = g->out;
    const size_t cases = trial_cases(g->e);
    if (!kernel_host_has(g->host, g->symbol)) {
        nothing(g);
        out->function = g->f->name;
        snprintf(out->what, sizeof out->what, "there is no function %s yet", g->f->name);
        return VT_OK;
    }
    for (size_t i = 0; i < cases && out->verdict == VT_GRADE_SOLVED; i++) {
        const vt_status s = run_case(g, i, err);
        if (s) return s;
        if (out->verdict == VT_GRADE_SOLVED) out->cases++;
    }
    return VT_OK;
}

/* ---- which exercise -------------------------------------------------------------- */

static vt_status named(const exercise **e, const char *name, vt_error *err)
{
    char all[160] = "";
    size_t n = 0;
    for (size_t i = 0; i < EXERCISES; i++) {
        *e = exercise_at(i);
        if (strcmp((*e)->shown->name, name) == 0) return VT_OK;
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", (*e)->shown->name);
    }
    return fail(err, VT_USAGE, "no exercise '%.40s': expected one of %s", name, all);
}

/* The functions of all exercises: symbol numbers of the host. */
static size_t symbols_of(const char *names[SYMBOLS], const exercise *of[SYMBOLS])
{
    size_t n = 0;
    for (size_t i = 0; i < EXERCISES; i++) {
        const exercise *e = exercise_at(i);
        for (size_t k = 0; k < EXERCISE_FUNCTIONS && e->function[k].name; k++, n++) {
            names[n] = e->function[k].name;
            of[n] = e;
        }
    }
    return n;
}

/* The exercise whose function the library has, where it is one only. */
static vt_status recognize(const exercise **e, const kernel_host *h, const char *path,
                           vt_error *err)
{
    const char *names[SYMBOLS];
    const exercise *of[SYMBOLS];
    const size_t n = symbols_of(names, of);
    *e = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!kernel_host_has(h, i)) continue;
        if (*e && *e != of[i])
            return fail(err, VT_USAGE, "%s has functions of the exercises %s and %s: say which with "
                        "--exercise", path, (*e)->shown->name, of[i]->shown->name);
        *e = of[i];
    }
    return VT_OK;
}

static vt_status open_host(kernel_host **h, const char *path, const vt_grade_options *o,
                           vt_error *err)
{
    const char *names[SYMBOLS];
    const exercise *of[SYMBOLS];
    const kernel_host_options options = {
        .seconds = o->seconds > 0 ? o->seconds : SECONDS, .nsymbols = symbols_of(names, of),
        .symbols = names, .any = true, .compiler = o->compiler, .temporary = o->temporary,
    };
    vt_error why;
    const vt_status s = kernel_host_open(h, path, &options, &why);
    const char *exports = strrchr(why.text, '(');
    if (s == VT_BAD_INPUT && strstr(why.text, ": has no function "))
        return fail(err, s, "%s: has no function of an exercise; vitrine grade --list names them %s",
                    path, exports ? exports : "");
    return s ? fail(err, s, "%s", why.text) : VT_OK;
}

static vt_status grade(grading *g, vt_error *err)
{
    vt_grade_report *out = g->out;
    const char *names[SYMBOLS];
    const exercise *of[SYMBOLS];
    (void)symbols_of(names, of);
    for (g->symbol = 0; of[g->symbol] != g->e; g->symbol++) { }
    out->exercise = g->e->shown;
    for (size_t k = 0; k < EXERCISE_FUNCTIONS && g->e->function[k].name; k++)
        out->cases_of += trial_cases(g->e);
    for (size_t k = 0; k < EXERCISE_FUNCTIONS && g->e->function[k].name; k++) {
        g->f = &g->e->function[k];
        const vt_status s = run_function(g, err);
        if (s) return s;
        if (out->verdict != VT_GRADE_SOLVED) break;
        g->symbol++;
    }
    if (out->verdict == VT_GRADE_SOLVED)
        return out->compared > 0 ? VT_OK : fail(err, VT_CHECK_FAILED, "nothing was compared");
    if (out->verdict == VT_GRADE_WRONG)
        return fail(err, VT_CHECK_FAILED, "%s: %s%s: expected %.9g, found %.9g (%s)", out->function,
                    out->tensor, out->index, out->expected, out->found, out->sizes);
    return fail(err, VT_CHECK_FAILED, "%s", out->what);
}

vt_status grade_file(const char *path, const vt_grade_options *o, vt_grade_report *out,
                     vt_error *err)
{
    grading g = { .seed = o->seed, .out = out };
    vt_error why;
    *out = (vt_grade_report){ .exercise = NULL };
    vt_status s = o->exercise ? named(&g.e, o->exercise, err) : VT_OK;
    if (s) return s;
    s = open_host(&g.host, path, o, &why);
    if (s == VT_CHECK_FAILED) {                 /* it does not come through its loading */
        out->exercise = g.e ? g.e->shown : NULL;
        out->verdict = VT_GRADE_STOPPED;
        snprintf(out->what, sizeof out->what, "%.299s", why.text);
    }
    if (s) return fail(err, s, "%s", why.text);
    if (!g.e) s = recognize(&g.e, g.host, path, err);
    if (s == VT_OK) s = grade(&g, err);
    kernel_host_free(g.host);
    return s;
}
