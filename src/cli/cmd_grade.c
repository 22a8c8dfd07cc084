/* cmd_grade.c -- vitrine grade: a learner's exercise, compiled, run and judged by the
 * library; here its words and its report. */
#include <string.h>
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/grade_show.h"
#include "cli/junit.h"
#include "cli/outputs.h"

typedef struct grade_args {
    vt_grade_options o;
    int  hint;
    bool list, json;
    const char *junit;
} grade_args;

#define AT(field) offsetof(grade_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "options", 0, NULL, 0, 0, NULL },
    { OPTION_CHOICE, "--exercise", AT(o.exercise), "NAME", 0, 0, "which one, where FILE does not tell" },
    { OPTION_INT, "--hint", AT(hint), "N", 1, VT_EXERCISE_HINTS, "print hint N of --exercise: the first says where to\nlook, the last is nearly the line" },
    { OPTION_FLAG, "--list", AT(list), NULL, 0, 0, "print the exercises, in the order to learn them" },
    { OPTION_SEED, "--seed", AT(o.seed), "N", 0, 0, "of the numbers and sizes it is tried with" },
    { OPTION_REAL, "--seconds", AT(o.seconds), "S", 0.1, 600, "that one call may take" },
    { OPTION_NAME, "--compiler", AT(o.compiler), "COMMAND", 0, 0, "of a .c, with its options" },
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0, "one JSON object; with --list, the exercises" },
    { OPTION_FILE, "--junit", AT(junit), "FILE", 0, 0, "also writes the grade as JUnit XML" },
};

static const grade_args default_args = { .o = { .seed = 1, .seconds = 5, .compiler = "cc" } };

static const void *defaults(int i, const char **label)
{
    *label = "";
    return i > 0 ? NULL : &default_args;
}

/* ---- JSON -------------------------------------------------------------- */

static void json_wrong(js_writer *w, const vt_grade_report *r)
{
    js_field_string(w, "function", r->function);
    js_field_string(w, "sizes", r->sizes);
    js_field_string(w, "tensor", r->tensor);
    js_field_string(w, "index", r->tensor ? r->index : NULL);
    js_field_bool(w, "adds", r->adds);
    const bool number = r->verdict == VT_GRADE_WRONG;
    js_key(w, "expected");
    if (number) js_number(w, r->expected); else js_null(w);
    js_key(w, "found");
    if (number) js_number(w, r->found); else js_null(w);
    js_field_uint(w, "wrong", r->wrong);
    js_field_uint(w, "of", r->of);
    js_field_string(w, "kind", r->kind);
    js_field_string(w, "what", r->what);
    js_field_string(w, "hint", r->hint);
    js_field_string(w, "said", r->said);
}

static vt_status print_json(const vt_grade_report *r, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_string(&w, "exercise", r->exercise ? r->exercise->name : NULL);
    js_field_bool(&w, "solved", r->verdict == VT_GRADE_SOLVED);
    js_field_string(&w, "verdict", vt_grade_verdict_name(r->verdict));
    js_field_uint(&w, "cases", r->cases);
    js_field_uint(&w, "cases_of", r->cases_of);
    js_field_uint(&w, "compared", r->compared);
    js_key(&w, "tensors");
    js_open_array(&w);
    for (size_t i = 0; i < r->nrows; i++) {
        js_open_object(&w);
        js_field_string(&w, "function", r->rows[i].function);
        js_field_string(&w, "tensor", r->rows[i].tensor);
        js_field_uint(&w, "compared", r->rows[i].compared);
        js_field_uint(&w, "wrong", r->rows[i].wrong);
        cli_field_measured(&w, "budget_used", r->rows[i].budget_used);
        js_close_object(&w);
    }
    js_close_array(&w);
    if (r->verdict != VT_GRADE_SOLVED) json_wrong(&w, r);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

static vt_status list_json(vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    size_t n;
    const vt_exercise *e = vt_exercises(&n);
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_key(&w, "exercises");
    js_open_array(&w);
    for (size_t i = 0; i < n; i++) {
        js_open_object(&w);
        js_field_string(&w, "name", e[i].name);
        js_field_string(&w, "title", e[i].title);
        js_field_string(&w, "file", e[i].file);
        js_field_uint(&w, "minutes", (size_t)e[i].minutes);
        js_field_string(&w, "needs", e[i].needs);
        js_field_uint(&w, "hints", grade_hints(&e[i]));
        js_close_object(&w);
    }
    js_close_array(&w);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

/* ---- JUnit ------------------------------------------------------------- */

/* A test for each tensor that was compared, and one for the exercise. */
static vt_status write_junit(const vt_grade_report *r, const char *path, const char *why,
                             vt_error *err)
{
    bytes out = { 0 };
    char name[80], text[800];
    junit j;
    const bool solved = r->verdict == VT_GRADE_SOLVED;
    snprintf(text, sizeof text, "%s%s%s", r->what, r->hint[0] ? ". To look at: " : "", r->hint);
    junit_open(&j, &out, "vitrine grade");
    junit_suite(&j, r->exercise ? r->exercise->name : "exercise");
    for (size_t i = 0; i < r->nrows; i++) {
        const vt_grade_row *row = &r->rows[i];
        const bool first = r->tensor && r->function && strcmp(r->tensor, row->tensor) == 0 &&
                           strcmp(r->function, row->function) == 0;
        snprintf(name, sizeof name, "%s: %s", row->function, row->tensor);
        junit_case(&j, name, row->wrong ? JUNIT_FAIL : JUNIT_PASS,
                   !row->wrong ? "" : first ? why : "wrong, too", first ? text : NULL);
    }
    junit_case(&j, "solved", solved ? JUNIT_PASS : JUNIT_FAIL, solved ? "" : why, solved ? NULL : text);
    vt_status s = junit_close(&j, err);
    if (s == VT_OK) s = io_replace(path, out.data, out.len, err);
    bytes_free(&out);
    return s;
}

/* ---- the command ------------------------------------------------------- */

static vt_status show_hint(const grade_args *a, vt_error *err)
{
    size_t n;
    const vt_exercise *e = vt_exercises(&n);
    if (!a->o.exercise) return fail(err, VT_USAGE, "--hint: expected --exercise NAME with it");
    for (size_t i = 0; i < n; i++, e++) {
        if (strcmp(e->name, a->o.exercise) != 0) continue;
        if ((size_t)a->hint > grade_hints(e))
            return fail(err, VT_USAGE, "--hint %d: exercise %s has %zu", a->hint, e->name,
                        grade_hints(e));
        grade_show_hint(stdout, e, (size_t)a->hint);
        return cli_flush(err);
    }
    return fail(err, VT_USAGE, "no exercise '%.40s': see vitrine grade --list", a->o.exercise);
}

static vt_status show_grade(const grade_args *a, const char *path, vt_error *err)
{
    static vt_grade_report report;
    vt_error why;
    vt_grade_options o = a->o;
    o.temporary = cli_temporary();
    vt_status s = output_ready("--junit", a->junit, path, err);
    if (s) return s;
    cli_begin_interrupts();
    s = vt_grade(path, &o, &report, err);
    cli_end_interrupts();
    if (s != VT_OK && s != VT_CHECK_FAILED) return s;
    utf8_plain(report.what, false);
    utf8_plain(report.said, true);
    vt_status written;
    if (a->json) written = print_json(&report, &why);
    else {
        grade_show(stdout, &report);
        written = cli_flush(&why);
    }
    if (written == VT_OK && a->junit)
        written = write_junit(&report, a->junit, s ? err->text : "", &why);
    if (written) *err = why;
    return written ? written : s;
}

static int run(const command *c, int argc, char **argv)
{
    grade_args a = default_args;
    options_read read;
    vt_error err;
    int code;
    vt_status s;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    const bool hint = options_given(c, &read, "--hint"), file = read.noperands > 0;
    if (a.list + hint + file != 1 || (file && !read.operands[0][0]))
        s = fail(&err, VT_USAGE, "expected one of FILE.c, FILE.so, --list, --exercise NAME --hint N");
    else if (a.json && hint)
        s = fail(&err, VT_USAGE, "--json: expected a FILE to grade, or --list");
    else if (a.junit && !file)
        s = fail(&err, VT_USAGE, "--junit: expected a FILE to grade");
    else if (a.list && a.json) s = list_json(&err);
    else if (a.list) {
        grade_show_list(stdout);
        s = cli_flush(&err);
    } else if (hint) s = show_hint(&a, &err);
    else s = show_grade(&a, read.operands[0], &err);
    return s ? cli_error(c, s, &err) : VT_OK;
}

static const char *words(const char *option, size_t i)
{
    size_t n;
    const vt_exercise *e = vt_exercises(&n);
    return strcmp(option, "--exercise") == 0 && i < n ? e[i].name : NULL;
}

const command cmd_grade = {
    .name = "grade",
    .summary = "grades an exercise of the code lab, with a hint that fits",
    .usage = "vitrine grade FILE.c|FILE.so [option ...]",
    .about = "Compiles the file, finds which exercise it is by its function, and tries it on\n"
             "hidden numbers of many sizes: every output and every gradient, within what\n"
             "rounding may do.  Answers with the first that is wrong: which, where, what was\n"
             "expected and found, and what to look at.  What crashes, does not end, or writes\n"
             "where it may not is told as such.  It runs with your rights: this is no sandbox.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 1, .operand = OPTION_FILE,
    .examples =
        "  vitrine grade --list                          the exercises\n"
        "  cp exercises/2_softmax.c . && vitrine grade 2_softmax.c\n"
        "  vitrine grade --exercise softmax --hint 1\n",
    .exits =
        "  0  solved\n"
        "  1  not yet: the report says what, and what to look at\n"
        "  2  an option cannot be used\n"
        "  3  it does not compile (the compiler's first error), or no exercise is in it\n"
        "  4  there is no such file, or no compiler; writing failed\n",
    .defaults = defaults,
    .words = words,
    .run = run,
};
