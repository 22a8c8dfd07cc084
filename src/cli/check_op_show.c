/* check_op_show.c -- see check_op_show.h: text. */
#include "cli/check_op_show.h"
#include <math.h>
#include <string.h>

typedef struct paint {
    const char *red, *green, *dim, *bold, *off;
} paint;

static paint paint_of(FILE *f)
{
    return (paint){ .red = cli_color(f, "\033[31m"), .green = cli_color(f, "\033[32m"),
                    .dim = cli_color(f, "\033[2m"), .bold = cli_color(f, "\033[1m"),
                    .off = cli_color(f, "\033[0m") };
}

/* A share of a bound: percent, or from ten times on a factor.  Of what is infinite beside
 * it, `found` was not finite, or the bound is 0. */
static const char *share_text(char out[32], double share, bool finite)
{
    if (!isfinite(share)) snprintf(out, 32, "%s", finite ? "not exact" : "NaN or Inf");
    else if (share < 10) snprintf(out, 32, "%.1f%%", 100 * share);
    else snprintf(out, 32, "%.1e x", share);
    return out;
}

/* Whether all that was found beyond its bound was a number. */
static bool found_finite(const vt_op_case *c)
{
    for (size_t i = 0; i < c->nrows; i++)
        if (c->rows[i].compared && !isfinite(c->rows[i].found)) return false;
    return true;
}

static bool all_finite(const vt_op_report *r)
{
    for (size_t i = 0; i < r->ncases; i++)
        if (!found_finite(&r->cases[i])) return false;
    return true;
}

static void word(const paint *p, vt_row_result result)
{
    if (result == VT_ROW_PASS) printf("%sok%s", p->green, p->off);
    else if (result == VT_ROW_FAIL) printf("%sFAIL%s", p->red, p->off);
    else printf("%s-%s", p->dim, p->off);
}

/* Index, its meaning, expected, found, ratio. */
static void show_entry(const vt_op_row *row)
{
    if (row->index[0]) {
        printf("      %s", row->index);
        if (row->where[0]) printf("  (%s)", row->where);
        putchar('\n');
    }
    printf("      expected %.17g, found %.17g", row->expected, row->found);
    const double ratio = row->found / row->expected;
    if (isfinite(ratio)) printf(", ratio %.9g", ratio);
    if (row->bound > 0) printf(", bound %.2g", row->bound);
    putchar('\n');
}

static void show_row(const vt_op_row *row, const paint *p)
{
    char share[32] = "", compared[48] = "";
    const bool tensor = row->kind == VT_ROW_OUTPUT || row->kind == VT_ROW_GRADIENT;
    if (row->compared) snprintf(compared, sizeof compared, "%zu/%zu", row->compared, row->of);
    if (row->compared && row->kind != VT_ROW_EXACT) share_text(share, row->budget_used, isfinite(row->found));
    printf("    %-28s %15s %11s  ", row->name, compared, share);
    word(p, row->result);
    if (row->note[0] && !(tensor && row->result == VT_ROW_PASS))
        printf("%s%s", row->result == VT_ROW_FAIL ? ": " : "  ", row->note);
    putchar('\n');
    if (row->result == VT_ROW_FAIL && row->kind != VT_ROW_VERDICT && row->index[0]) show_entry(row);
    if (row->result == VT_ROW_FAIL && row->kind == VT_ROW_VERDICT && row->bound > 0) show_entry(row);
}

static void show_diagnosis(const vt_op_diagnosis *d, const paint *p)
{
    if (!d->kind[0]) return;
    printf("    %sdiagnosis: %s%s", p->bold, d->kind, p->off);
    if (d->other[0]) printf(" or %s", d->other);
    if (d->sentence[0]) printf(": %s", d->sentence);
    putchar('\n');
    if (d->location[0]) printf("      where: %s\n", d->location);
    if (d->hint[0]) printf("      hint:  %s\n", d->hint);
}

/* What the kernel printed, line by line, marked as its own. */
static void show_said(const char *said)
{
    while (*said) {
        const size_t n = strcspn(said, "\n");
        printf("    | %.*s\n", (int)n, said);
        said += n + (said[n] == '\n');
    }
}

static void show_details(const vt_op_case *c, const paint *p)
{
    if (c->finding[0]) printf("    %s%s%s\n", p->red, c->finding, p->off);
    for (size_t i = 0; i < c->nrows; i++) show_row(&c->rows[i], p);
    show_diagnosis(&c->diagnosis, p);
    if (c->said[0]) {
        printf("    the kernel printed:\n");
        show_said(c->said);
    }
}

static void show_case(const vt_op_case *c, const paint *p)
{
    char share[32];
    printf("%4d  %-8s %-7.4g %-46s %7zu  %11s  ", c->number, c->precision, c->scale, c->sizes,
           c->compared, share_text(share, c->worst, found_finite(c)));
    word(p, c->pass ? VT_ROW_PASS : VT_ROW_FAIL);
    putchar('\n');
}

/* ---- rows over all cases ------------------------------------------------------ */

static bool first_of_name(const vt_op_report *r, size_t ncase, size_t nrow)
{
    const vt_op_row *row = &r->cases[ncase].rows[nrow];
    for (size_t i = 0; i <= ncase; i++) {
        const vt_op_case *c = &r->cases[i];
        for (size_t j = 0; j < (i == ncase ? nrow : c->nrows); j++)
            if (strcmp(c->rows[j].name, row->name) == 0) return false;
    }
    return true;
}

static void show_sum(const vt_op_report *r, const char *name, const paint *p)
{
    size_t passed = 0, failed = 0, undecided = 0;
    const char *why = "";
    for (size_t i = 0; i < r->ncases; i++)
        for (size_t j = 0; j < r->cases[i].nrows; j++) {
            const vt_op_row *row = &r->cases[i].rows[j];
            if (strcmp(row->name, name) != 0) continue;
            passed += row->result == VT_ROW_PASS;
            failed += row->result == VT_ROW_FAIL;
            undecided += row->result == VT_ROW_UNDECIDED;
            if (row->result == VT_ROW_UNDECIDED) why = row->note;
        }
    printf("  %-28s %zu ok", name, passed);
    if (failed) printf(", %s%zu failed%s", p->red, failed, p->off);
    if (undecided) printf(", %zu undecided%s%s", undecided, *why ? ": " : "", why);
    putchar('\n');
}

static void show_sums(const vt_op_report *r, const paint *p)
{
    printf("in all cases:\n");
    for (size_t i = 0; i < r->ncases; i++)
        for (size_t j = 0; j < r->cases[i].nrows; j++)
            if (first_of_name(r, i, j)) show_sum(r, r->cases[i].rows[j].name, p);
}

/* How to run one failing case again. */
static vt_status show_again(const vt_op_report *r, const check_op_args *a, vt_error *err)
{
    bytes text = { 0 };
    char shown[SHOWN];
    if (strcmp(cli_shown(shown, a->kernel), a->kernel) != 0) return VT_OK;  /* cannot be typed */
    vt_status s = cli_quote(&text, cli_program, err);
    if (s == VT_OK) s = bytes_printf(&text, err, " check --kernel ");
    if (s == VT_OK) s = cli_quote(&text, a->kernel, err);
    for (size_t i = 0; s == VT_OK && i < r->ncases; i++)
        if (!r->cases[i].pass) {
            printf("again: %s --op %s --seed %llu --case %d\n", (const char *)text.data, r->op,
                   (unsigned long long)r->seed, r->cases[i].number);
            break;
        }
    bytes_free(&text);
    return s;
}

vt_status check_op_text(const vt_op_report *r, const check_op_args *a, vt_error *err)
{
    const paint p = paint_of(stdout);
    const bool dump = a->dump != NULL;
    char share[32], name[SHOWN];
    vt_status s = VT_OK;
    if (dump) printf("%s: %s (%s; %s)\n", cli_shown(name, a->dump), r->op, r->cases[0].sizes, r->cases[0].precision);
    else {
        printf("%s: %s\n", cli_shown(name, a->kernel), r->op);
        printf("case  %-8s %-7s %-46s %7s  %11s\n", "type", "scale", "sizes", "numbers", "of bound");
    }
    for (size_t i = 0; i < r->ncases; i++) {
        if (!dump) show_case(&r->cases[i], &p);
        if (dump || !r->cases[i].pass || r->ncases == 1) show_details(&r->cases[i], &p);
    }
    if (!dump && r->ncases > 1) show_sums(r, &p);
    if (!dump && !r->pass) s = show_again(r, a, err);
    if (r->note[0]) printf("note: %s\n", r->note);
    printf("seed %llu; compared %zu of %zu in %zu of %zu cases, at most %s%s: %s%s%s\n",
           (unsigned long long)r->seed, r->compared, r->of, r->ncases, r->planned,
           share_text(share, r->worst, all_finite(r)), isfinite(r->worst) ? " of the bound" : "",
           r->pass ? p.green : p.red, r->pass ? "PASS" : "FAIL", p.off);
    if (r->unchecked[0]) printf("%s\n", r->unchecked);
    return s ? s : cli_flush(err);
}

/* ---- the self-test ---------------------------------------------------------------- */

vt_status check_self_text(const vt_self_report *r, vt_error *err)
{
    const paint p = paint_of(stdout);
    char share[32];
    printf("%-26s %-12s %-8s %-23s %-23s %s\n", "fault", "operator", "type", "planted", "diagnosed",
           "found at");
    for (size_t i = 0; i < r->faults; i++) {
        const vt_self_row *row = &r->rows[i];
        printf("%-26s %-12s %-8s %-23s %s%-23s%s %s%s%s\n", row->name, row->op, row->precision,
               row->expected, row->right ? "" : p.red, row->found ? row->named : "", p.off,
               row->found ? "" : p.red, row->found ? row->first : "NOT FOUND", p.off);
    }
    printf("faults found %zu of %zu; kind named rightly %zu of %zu; false alarms %zu in %zu correct "
           "cases (at most %s of the bound); seed %llu: %s%s%s\n", r->found, r->faults, r->right,
           r->faults, r->alarms, r->correct, share_text(share, r->worst, false),
           (unsigned long long)r->seed, r->pass ? p.green : p.red, r->pass ? "PASS" : "FAIL", p.off);
    if (r->alarms) printf("first false alarm: %s\n", r->alarm);
    return cli_flush(err);
}
