/* check_op_junit.c -- see check_op_show.h: a suite for each case, a test for each row. */
#include <math.h>
#include <string.h>
#include "cli/check_op_show.h"
#include "cli/junit.h"

static void junit_row(junit *j, const vt_op_case *c, const vt_op_row *row)
{
    char message[600], text[900];
    const bool entry = row->index[0] != '\0';
    if (entry)
        snprintf(message, sizeof message, "%s%s%s%s: expected %.17g, found %.17g", row->index,
                 row->where[0] ? " (" : "", row->where, row->where[0] ? ")" : "", row->expected,
                 row->found);
    else snprintf(message, sizeof message, "%s", row->note);
    snprintf(text, sizeof text, "%s%s%s: %s. %s", entry ? row->note : "", entry ? "\n" : "",
             c->diagnosis.kind, c->diagnosis.sentence, c->diagnosis.hint);
    junit_case(j, row->name,
               row->result == VT_ROW_PASS ? JUNIT_PASS
               : row->result == VT_ROW_FAIL ? JUNIT_FAIL : JUNIT_SKIP,
               row->result == VT_ROW_UNDECIDED ? row->note : message,
               row->result == VT_ROW_FAIL && c->diagnosis.kind[0] ? text : NULL);
}

vt_status check_self_junit(const char *path, const vt_self_report *r, vt_error *err)
{
    bytes out = { 0 };
    char text[400];
    junit j;
    junit_open(&j, &out, "vitrine check --self-test");
    junit_suite(&j, "planted faults");
    for (size_t i = 0; i < r->faults; i++) {
        const vt_self_row *row = &r->rows[i];
        snprintf(text, sizeof text, "%s, %s, %s", row->name, row->op, row->precision);
        junit_case(&j, text, row->found ? JUNIT_PASS : JUNIT_FAIL, "not found", row->what);
    }
    snprintf(text, sizeof text, "%zu of %zu kinds named rightly", r->right, r->faults);
    junit_case(&j, "kinds", 10 * r->right >= 9 * r->faults ? JUNIT_PASS : JUNIT_FAIL, text, NULL);
    junit_suite(&j, "correct kernels");
    snprintf(text, sizeof text, "%zu false alarms in %zu cases", r->alarms, r->correct);
    junit_case(&j, "false alarms", r->alarms || !r->correct ? JUNIT_FAIL : JUNIT_PASS, text,
               r->alarms ? r->alarm : NULL);
    vt_status s = junit_close(&j, err);
    if (s == VT_OK) s = io_replace(path, out.data, out.len, err);
    bytes_free(&out);
    return s;
}

vt_status check_op_junit(const char *path, const vt_op_report *r, const char *name, vt_error *err)
{
    bytes out = { 0 };
    char suite[200];
    junit j;
    junit_open(&j, &out, "vitrine check");
    if (!r->pass && r->ncases == 0) {
        junit_suite(&j, r->op);
        junit_case(&j, "loads", JUNIT_FAIL, r->note, name);
    }
    for (size_t i = 0; i < r->ncases; i++) {
        const vt_op_case *c = &r->cases[i];
        snprintf(suite, sizeof suite, "%s: case %d (%s; %s)", r->op, c->number, c->sizes,
                 c->precision);
        junit_suite(&j, suite);
        junit_case(&j, "runs", c->finding[0] ? JUNIT_FAIL : JUNIT_PASS, c->finding,
                   c->said[0] ? c->said : name);
        for (size_t k = 0; k < c->nrows; k++) junit_row(&j, c, &c->rows[k]);
    }
    vt_status s = junit_close(&j, err);
    if (s == VT_OK) s = io_replace(path, out.data, out.len, err);
    bytes_free(&out);
    return s;
}
