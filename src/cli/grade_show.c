/* grade_show.c -- see grade_show.h. */
#include "cli/grade_show.h"
#include <string.h>
#include "cli/cli.h"

enum { COLUMNS = 80 };

/* In lines of at most COLUMNS, each behind `indent` blanks. */
static void wrapped(FILE *f, const char *text, int indent)
{
    int column = 0;
    while (*text) {
        const int word = (int)strcspn(text, " ");
        if (column > indent && column + 1 + word > COLUMNS) {
            putc('\n', f);
            column = 0;
        }
        if (column == 0) column = fprintf(f, "%*s", indent, "");
        else if (word > 0) column += fprintf(f, " ");
        column += fprintf(f, "%.*s", word, text);
        text += word;
        text += strspn(text, " ");
    }
    putc('\n', f);
}

static void show_rows(FILE *f, const vt_grade_report *r)
{
    for (size_t i = 0; i < r->nrows; i++) {
        const vt_grade_row *row = &r->rows[i];
        fprintf(f, "  %-18s %-8s %6zu numbers  ", row->function, row->tensor, row->compared);
        if (row->wrong) fprintf(f, "%s%zu wrong%s\n", cli_color(f, "\033[31m"), row->wrong,
                                cli_color(f, "\033[0m"));
        else fprintf(f, "%sright%s\n", cli_color(f, "\033[32m"), cli_color(f, "\033[0m"));
    }
}

static void show_said(FILE *f, const char *said)
{
    if (!said[0]) return;
    fprintf(f, "\nwhat it printed:\n");
    while (*said) {
        const int line = (int)strcspn(said, "\n");
        fprintf(f, "  | %.*s\n", line, said);
        said += line;
        if (*said) said++;
    }
}

void grade_show(FILE *f, const vt_grade_report *r)
{
    const char *bold = cli_color(f, "\033[1m"), *off = cli_color(f, "\033[0m");
    if (r->exercise)
        fprintf(f, "%sexercise %s%s: %s\n", bold, r->exercise->name, off, r->exercise->title);
    if (r->nrows && r->verdict != VT_GRADE_NOTHING) show_rows(f, r);
    if (r->verdict == VT_GRADE_SOLVED) {
        fprintf(f, "%s%ssolved%s: %zu of %zu cases right, %zu numbers compared\n", bold,
                cli_color(f, "\033[32m"), off, r->cases, r->cases_of, r->compared);
        return;
    }
    fprintf(f, "\n%snot yet%s", bold, off);
    if (r->function) fprintf(f, ", %s", r->function);
    if (r->sizes[0]) fprintf(f, ", with %s", r->sizes);
    fprintf(f, ":\n");
    wrapped(f, r->what, 2);
    if (r->tensor && (r->verdict == VT_GRADE_WRONG || r->verdict == VT_GRADE_UNSTEADY))
        fprintf(f, "  %s%s%s: expected %s%.9g, found %.9g%s; %zu of %zu wrong\n", bold, r->tensor,
                r->index, off, r->expected, r->found, r->adds ? " (added)" : "", r->wrong, r->of);
    if (r->hint[0]) {
        fprintf(f, "\nto look at:\n");
        wrapped(f, r->hint, 2);
    }
    show_said(f, r->said);
}

size_t grade_hints(const vt_exercise *e)
{
    size_t n = 0;
    while (n < VT_EXERCISE_HINTS && e->hints[n]) n++;
    return n;
}

void grade_show_list(FILE *f)
{
    size_t n, minutes = 0;
    const vt_exercise *e = vt_exercises(&n);
    for (size_t i = 0; i < n; i++) {
        minutes += (size_t)e[i].minutes;
        fprintf(f, "%-12s %-18s %2d min  %s\n%34s needs: %s\n", e[i].name, e[i].file, e[i].minutes,
                e[i].title, "", e[i].needs);
    }
    fprintf(f, "\nAbout %zu minutes. Copy exercises/FILE, write its body, vitrine grade FILE.\n",
            minutes);
}

void grade_show_hint(FILE *f, const vt_exercise *e, size_t n)
{
    fprintf(f, "exercise %s, hint %zu of %zu:\n", e->name, n, grade_hints(e));
    wrapped(f, e->hints[n - 1], 2);
}
