/* check_op_json.c -- see check_op_show.h: JSON. */
#include <math.h>
#include <string.h>
#include "cli/check_op_show.h"

static const char *kind_name(vt_row_kind k)
{
    return k == VT_ROW_OUTPUT ? "output" : k == VT_ROW_GRADIENT ? "gradient"
         : k == VT_ROW_EXACT ? "exact" : "verdict";
}

static const char *result_name(vt_row_result r)
{
    return r == VT_ROW_PASS ? "pass" : r == VT_ROW_FAIL ? "fail" : "undecided";
}

static void json_row(js_writer *w, const vt_op_row *row)
{
    js_open_object(w);
    js_field_string(w, "name", row->name);
    js_field_string(w, "kind", kind_name(row->kind));
    js_field_string(w, "result", result_name(row->result));
    js_field_uint(w, "compared", row->compared);
    js_field_uint(w, "of", row->of);
    js_field_uint(w, "failed", row->failed);
    cli_field_measured(w, "budget_used", row->budget_used);
    js_field_string(w, "index", row->index[0] ? row->index : NULL);
    js_field_string(w, "where", row->where[0] ? row->where : NULL);
    cli_field_measured(w, "expected", row->expected);
    cli_field_measured(w, "found", row->found);
    cli_field_measured(w, "ratio", row->found / row->expected);
    cli_field_measured(w, "bound", row->bound);
    js_field_string(w, "note", row->note[0] ? row->note : NULL);
    js_close_object(w);
}

static void json_diagnosis(js_writer *w, const vt_op_diagnosis *d)
{
    js_key(w, "diagnosis");
    if (!d->kind[0]) {
        js_null(w);
        return;
    }
    js_open_object(w);
    js_field_string(w, "kind", d->kind);
    js_field_string(w, "other", d->other[0] ? d->other : NULL);
    js_field_string(w, "sentence", d->sentence);
    js_field_string(w, "hint", d->hint);
    js_field_string(w, "location", d->location);
    js_close_object(w);
}

static void json_case(js_writer *w, const vt_op_case *c)
{
    js_open_object(w);
    js_field_int(w, "case", c->number);
    js_field_string(w, "sizes", c->sizes);
    js_field_string(w, "precision", c->precision);
    js_field_number(w, "scale", c->scale);
    js_field_bool(w, "pass", c->pass);
    js_field_uint(w, "compared", c->compared);
    js_field_uint(w, "of", c->of);
    cli_field_measured(w, "worst_budget_used", c->worst);
    js_field_string(w, "finding", c->finding[0] ? c->finding : NULL);
    js_field_string(w, "said", c->said[0] ? c->said : NULL);
    json_diagnosis(w, &c->diagnosis);
    js_key(w, "rows");
    js_open_array(w);
    for (size_t i = 0; i < c->nrows; i++) json_row(w, &c->rows[i]);
    js_close_array(w);
    js_close_object(w);
}

vt_status check_op_json(const vt_op_report *r, const char *name, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_bool(&w, "pass", r->pass);
    js_field_string(&w, "checked", name);
    js_field_string(&w, "op", r->op);
    js_field_uint(&w, "seed", r->seed);
    js_field_uint(&w, "compared", r->compared);
    js_field_uint(&w, "of", r->of);
    js_field_uint(&w, "failed", r->failed);
    js_field_uint(&w, "planned", r->planned);
    cli_field_measured(&w, "worst_budget_used", r->worst);
    js_field_string(&w, "note", r->note[0] ? r->note : NULL);
    js_field_string(&w, "unchecked", r->unchecked[0] ? r->unchecked : NULL);
    js_key(&w, "cases");
    js_open_array(&w);
    for (size_t i = 0; i < r->ncases; i++) json_case(&w, &r->cases[i]);
    js_close_array(&w);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

vt_status check_self_json(const vt_self_report *r, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_bool(&w, "pass", r->pass);
    js_field_uint(&w, "seed", r->seed);
    js_field_uint(&w, "faults", r->faults);
    js_field_uint(&w, "found", r->found);
    js_field_uint(&w, "kind_right", r->right);
    js_field_uint(&w, "correct", r->correct);
    js_field_uint(&w, "false_alarms", r->alarms);
    js_field_string(&w, "first_false_alarm", r->alarms ? r->alarm : NULL);
    cli_field_measured(&w, "worst_budget_used", r->worst);
    js_key(&w, "rows");
    js_open_array(&w);
    for (size_t i = 0; i < r->faults; i++) {
        const vt_self_row *row = &r->rows[i];
        js_open_object(&w);
        js_field_string(&w, "name", row->name);
        js_field_string(&w, "op", row->op);
        js_field_string(&w, "precision", row->precision);
        js_field_string(&w, "what", row->what);
        js_field_string(&w, "planted", row->expected);
        js_field_string(&w, "diagnosed", row->named);
        js_field_bool(&w, "found", row->found);
        js_field_bool(&w, "right", row->right);
        js_field_string(&w, "found_at", row->first);
        js_close_object(&w);
    }
    js_close_array(&w);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}
