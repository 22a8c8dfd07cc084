/* window_api.c -- vt_window_write: a model on a window of text, as one file.
 *
 * The order is the caller's time: what can be refused is refused before the long part,
 * and the size is said before it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "api/export_job.h"
#include "base/cpu.h"
#include "base/io.h"
#include "base/progress.h"
#include "provenance/export.h"
#include "provenance/export_file.h"
#include "vitrine.h"

typedef struct writing {
    const vt_window_options *o;
    const vt_window_events  *events;
    export_job j;
    export_set set;
    form       f;
    int        T;
    bytes      provenance;
    const char *doing;
} writing;

void vt_window_defaults(vt_window_options *o)
{
    *o = (vt_window_options){ .layer = -1, .head = -1, .dtype = "float64" };
}

static vt_status step(void *context, size_t done, size_t of, vt_error *err)
{
    const writing *w = context;
    const vt_window_events *e = w->events;
    if (e && e->on_progress && e->on_progress(e->context, w->doing, done, of))
        return fail(err, VT_INTERRUPTED, "interrupted; %s is as it was", w->o->out);
    return export_job_go_on(err);
}

/* ---- before ---------------------------------------------------------------- */

static vt_status check_options(writing *w, vt_error *err)
{
    const char *dtype = w->o->dtype;
    vt_status s;
    if (dtype && strcmp(dtype, "float64") != 0 && strcmp(dtype, "float32") != 0)
        return fail(err, VT_USAGE, "--dtype %.60s: expected float64 or float32", dtype);
    if ((s = form_of(&w->f, w->o->out, EXPORT_FORMS, err))) return s;
    return io_writable(w->o->out, err);
}

static vt_status read_text(writing *w, vt_error *err)
{
    const int positions = w->j.m->c.z.T, window = w->o->window;
    if (window < 0 || window > positions)
        return fail(err, VT_USAGE, "--window %d: expected 1 to %d, the positions of the model",
                    window, positions);
    return export_job_text(&w->j, w->o->text, w->o->text_length, window ? window : w->j.m->seq, 1,
                           &w->T, err);
}

/* Memory that the run touches: parameters twice, a tied head, and the stages.  What only
 * gradients need is asked for by gpt_window_new, too, and costs nothing untouched. */
static size_t memory_of(const writing *w)
{
    const gpt_config *z = &w->j.w.z;
    size_t numbers = gpt_parameter_count(z) + (z->tied ? (size_t)z->C * (size_t)z->V : 0), n;
    for (size_t i = 0; i < w->j.w.count; i++) {
        if (!size_add(numbers, w->j.w.stages[i].count, &numbers)) return SIZE_MAX;
        if (!w->set.backward && strcmp(w->j.w.stages[i].name, "loss") == 0) break;
    }
    if (!size_mul(numbers, sizeof(double), &n)) return SIZE_MAX;
    return size_add(n, gpt_parameter_count(z) * sizeof(float), &n) ? n : SIZE_MAX;
}

static vt_status plan(const writing *w, vt_error *err)
{
    const vt_window_plan p = {
        .tokens = w->j.count, .window = (size_t)w->T, .tensors = w->set.count,
        .numbers = w->set.numbers, .bytes = export_file_about(w->f, &w->set),
        .memory = memory_of(w),
    };
    const size_t there = cpu_memory();
    const uint64_t room = io_free(w->o->out);
    char needed[24], had[24];
    if (w->set.backward && w->T == 1 && w->j.targets[0] == VT_IGNORE)
        return fail(err, VT_BAD_INPUT, "--text: 1 token: gradients need two or more, so that one has "
                    "a next (--what forward needs one)");
    if (there > 0 && p.memory > there) {
        progress_bytes(needed, sizeof needed, (double)p.memory);
        progress_bytes(had, sizeof had, (double)there);
        return fail(err, VT_TOO_LARGE, "a window of %d tokens takes about %s of memory, this "
                    "machine has %s: expected fewer tokens (--window N)%s", w->T, needed, had,
                    w->set.backward ? ", or --what forward" : "");
    }
    if (export_file_least(w->f, &w->set) > room) {
        progress_bytes(needed, sizeof needed, (double)p.bytes);
        progress_bytes(had, sizeof had, (double)room);
        return fail(err, VT_IO, "%.300s: takes about %s, and %s are free there: expected less "
                    "(--layer, --head, --tensor, --window)", w->o->out, needed, had);
    }
    if (w->events && w->events->on_plan) w->events->on_plan(w->events->context, &p);
    return VT_OK;
}

/* ---- the run --------------------------------------------------------------- */

static vt_status run(writing *w, vt_error *err)
{
    const size_t n = w->set.backward ? gpt_window_pieces(&w->j.w)
                                     : gpt_window_forward_pieces(&w->j.w);
    vt_status s = VT_OK;
    w->doing = "computing";
    for (size_t i = 0; i < n && (s = step(w, i, n, err)) == VT_OK; i++)
        gpt_window_piece(&w->j.w, w->j.ids, w->j.targets, i);
    return s;
}

static vt_status fill_report(writing *w, vt_window_report *r, vt_error *err)
{
    window_laws laws;
    char *path = io_join(w->o->model, CHECKPOINT_MODEL);
    if (!path) return fail_memory(err, strlen(w->o->model), "a file's name");
    const vt_status s = sha256_hex_file(r->model_sha256, path, err);
    free(path);
    if (s) return s;
    model_state_sha256(w->j.m, r->state_sha256);
    window_laws_find(&laws, &w->j.w);
    r->tokens = w->j.count;
    r->window = (size_t)w->T;
    r->loss = w->j.w.loss;
    r->tensors = w->set.count;
    r->numbers = w->set.numbers;
    r->row_sum_gap = laws.row_sum_gap;
    r->masked_cells = laws.masked_cells;
    r->masked_nonzero = laws.masked_nonzero;
    if (laws.masked_nonzero == 0) return VT_OK;
    return fail(err, VT_CHECK_FAILED, "attention: %zu of %zu masked weights are not 0: expected none",
                laws.masked_nonzero, laws.masked_cells);
}

/* ---- the file -------------------------------------------------------------- */

static vt_status write_provenance(writing *w, const vt_window_report *r, vt_error *err)
{
    const vt_model *m = w->j.m;
    const export_facts facts = {
        .window = &w->j.w, .run = m->c.run, .state_sha256 = r->state_sha256,
        .parameters = m->c.count, .text = w->o->text, .text_length = w->o->text_length,
        .text_tokens = w->j.count, .tokens = w->j.ids, .targets = w->j.targets,
    };
    js_writer js;
    js_begin(&js, &w->provenance, JS_LINE);
    js_open_object(&js);
    export_write_origin(&js, &facts);
    js_field_string(&js, "model_sha256", r->model_sha256);
    export_write_window(&js, &facts);
    js_key(&js, "tensors");
    js_open_object(&js);
    js_field_string(&js, "sha256", r->tensors_sha256);
    js_field_uint(&js, "count", r->tensors);
    js_field_string(&js, "dtype", w->set.single ? "float32" : "float64");
    js_close_object(&js);
    js_key(&js, "checks");
    js_open_object(&js);
    js_field_number(&js, "row_sum_gap", r->row_sum_gap);
    js_field_uint(&js, "masked_nonzero", r->masked_nonzero);
    js_field_uint(&js, "masked_cells", r->masked_cells);
    js_close_object(&js);
    js_close_object(&js);
    return js_end(&js, err);
}

static vt_status write_file(writing *w, vt_window_report *r, vt_error *err)
{
    vt_status s;
    export_select_finish(&w->set, &w->j.w);
    if ((s = export_file_hash(r->tensors_sha256, &w->set, err)) ||
        (s = write_provenance(w, r, err)))
        return s;
    const export_file file = {
        .set = &w->set, .tokens = w->j.ids, .targets = w->j.targets, .T = w->T,
        .tokenizer = w->j.m->tokenizer, .provenance = (const char *)w->provenance.data,
        .step = step, .context = w,
    };
    w->doing = "writing";
    return export_file_write(w->o->out, w->f, &file, &r->bytes, err);
}

vt_status vt_window_write(const vt_window_options *o, const vt_window_events *events,
                          vt_window_report *out, vt_error *err)
{
    writing w = { .o = o, .events = events };
    const export_choice choice = {
        .what = o->what, .tensors = o->tensors, .layer = o->layer, .head = o->head,
        .single = o->dtype && strcmp(o->dtype, "float32") == 0,
    };
    vt_status s;
    *out = (vt_window_report){ .loss = NAN };
    if ((s = check_options(&w, err)) || (s = export_job_open(&w.j, o->model, 1, err)) ||
        (s = read_text(&w, err)) ||
        (s = gpt_window_new(&w.j.w, &w.j.m->c.z, w.j.m->c.params, w.T, err)) ||
        (s = export_select(&w.set, &w.j.w, &choice, err)) || (s = plan(&w, err)) ||
        (s = run(&w, err)) || (s = fill_report(&w, out, err)))
        goto done;
    s = write_file(&w, out, err);
done:
    bytes_free(&w.provenance);
    export_select_free(&w.set);
    export_job_end(&w.j);
    return s;
}
