/* export_api.c -- vt_export: a model on a window of text, for a site; and its proof.
 *
 * The manifest is written last: until then an older one stands beside newer files,
 * and whoever compares them sees that they do not belong together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/export_job.h"
#include "api/training_text.h"
#include "base/interrupt.h"
#include "provenance/export.h"
#include "provenance/manifest.h"

/* ---- the tokenizer, again ----------------------------------------------- */

static vt_status train_again(bytes *json, const vt_model *m, const vt_training_text *t,
                             vt_error *err)
{
    team *crew = NULL;
    bpe *again = NULL;
    vt_status s = team_new(&crew, m->threads, 64, 64, err);
    if (s == VT_OK)
        s = bpe_train(&again, t->split.train, t->split.ntrain, m->record.settings.merges, crew, err);
    if (s == VT_OK) s = bpe_to_json(again, json, err);
    bpe_free(again);
    team_free(crew);
    return s;
}

static vt_status rebuild(vt_export_report *r, const vt_model *m, const vt_export_options *o,
                         vt_error *err)
{
    vt_training_text *t = NULL;
    bytes json = { 0 };
    r->rebuilt = -1;
    if (!o->corpus) {
        snprintf(r->rebuilt_why, sizeof r->rebuilt_why, "%s", m->c.has_state
                 ? "the corpus was not given (--data)" : "the model does not say what it learnt from");
        return VT_OK;
    }
    vt_status s = vt_training_text_open(&t, m, o->corpus, err);
    if (s == VT_OK && interrupt_asked()) s = interrupt_fail(err);
    const char *from = m->record.tokenizer_from;
    if (s == VT_OK && from && strcmp(from, "given") == 0) {
        snprintf(r->rebuilt_why, sizeof r->rebuilt_why, "the run was given it; it was not learnt from "
                 "the corpus");
    } else if (s == VT_OK && (s = train_again(&json, m, t, err)) == VT_OK) {
        r->rebuilt = json.len == m->c.tokenizer_length &&
                     memcmp(json.data, m->c.tokenizer, json.len) == 0;
        snprintf(r->rebuilt_why, sizeof r->rebuilt_why, "trained again on the same corpus, it is %s",
                 r->rebuilt ? "the same, byte for byte" : "another");
    }
    bytes_free(&json);
    vt_training_text_close(t);
    return s;
}

/* ---- the window --------------------------------------------------------- */

static vt_status run_window(export_job *j, const int *ids, const int *targets, int T,
                            vt_export_report *r, vt_error *err)
{
    window_laws laws;
    vt_status s;
    if ((s = gpt_window_new(&j->w, &j->m->c.z, j->m->c.params, T, err)) ||
        (s = gpt_window_run(&j->w, ids, targets, err)) ||
        (s = window_hash(r->tensors_sha256, &j->w, err)))
        return s;
    window_laws_find(&laws, &j->w);
    r->window = (size_t)T;
    r->loss = j->w.loss;
    r->tensors = j->w.count;
    r->row_sum_gap = laws.row_sum_gap;
    r->masked_cells = laws.masked_cells;
    r->masked_nonzero = laws.masked_nonzero;
    r->largest_dbk = laws.largest_dbk;
    if (laws.masked_nonzero > 0)
        return fail(err, VT_CHECK_FAILED, "attention: %zu of %zu masked weights are not 0: expected "
                    "none", laws.masked_nonzero, laws.masked_cells);
    return VT_OK;
}

static vt_status find_module(const char *site, vt_error *err)
{
    char hash[65], *path = io_join(site, "vitrine.wasm");
    vt_error why;
    if (!path) return fail_memory(err, strlen(site), "a file's name");
    const vt_status s = sha256_hex_file(hash, path, &why);
    free(path);
    return s ? fail(err, s, "%.400s; expected the module of a site (./run builds one)", why.text)
             : VT_OK;
}

vt_status vt_export(const vt_export_options *o, vt_export_report *out, vt_error *err)
{
    export_job j = { .m = NULL };
    int T = 0, lock = -1;
    vt_status s;
    *out = (vt_export_report){ .rebuilt = -1 };
    if ((s = export_name_check(o->as, err)) || (s = find_module(o->site, err))) return s;
    if (!(j.folder = export_folder(o->site, o->as)))
        return fail_memory(err, strlen(o->site), "a folder's name");
    /* As many tokens as the windows that the model was trained on: the positions behind
     * them have learnt nothing. */
    if ((s = export_job_open(&j, o->model, o->threads, err)) ||
        (s = export_job_text(&j, o->text, o->text_length, j.m->seq, 2, &T, err)) ||
        (s = rebuild(out, j.m, o, err)) || (s = export_job_go_on(err)) ||
        (s = run_window(&j, j.ids, j.targets, T, out, err)) || (s = export_job_go_on(err)))
        goto done;
    out->tokens = j.count;
    if ((s = io_mkdir(j.folder, err)) || (s = io_lock(&lock, j.folder, err)) ||
        (s = export_clear(j.folder, err)) || (s = export_copy(j.folder, o->model, err)) ||
        (s = window_write(j.folder, &j.w, err)) || (s = window_compare(j.folder, &j.w, err)) ||
        (s = export_hash(out, j.folder, err)))
        goto done;
    char state[65];
    model_state_sha256(j.m, state);
    const export_facts facts = {
        .window = &j.w, .run = j.m->c.run, .state_sha256 = state,
        .parameters = j.m->c.count, .text = j.text, .text_length = j.text_length,
        .text_tokens = j.count, .tokens = j.ids, .targets = j.targets,
    };
    s = export_write_manifest(j.folder, out, &facts, err);
done:
    io_unlock(&lock);
    export_job_end(&j);
    return s;
}

/* ---- proof -------------------------------------------------------------- */

static vt_status read_ids(int **out, const json_t *manifest, const char *key, size_t *n,
                          vt_error *err)
{
    const json_t *list;
    vt_status s = js_get_array(manifest, key, MANIFEST_NAME, &list, err);
    if (s) return s;
    *n = json_array_size(list);
    *out = calloc(*n + 1, sizeof **out);
    if (!*out) return fail_memory(err, (*n + 1) * sizeof **out, key);
    for (size_t i = 0; i < *n && s == VT_OK; i++) {
        int64_t id;
        s = js_to_int(json_array_get(list, i), key, -1, INT32_MAX, &id, err);
        if (s == VT_OK) (*out)[i] = (int)id;
    }
    return s;
}

static vt_status same_hash(const json_t *manifest, const vt_export_report *r, vt_error *err)
{
    const json_t *tensors;
    const char *expected;
    vt_status s;
    if ((s = js_get_object(manifest, "tensors", MANIFEST_NAME, &tensors, err)) ||
        (s = js_get_string(tensors, "sha256", MANIFEST_NAME, &expected, err)))
        return s;
    if (strcmp(expected, r->tensors_sha256) == 0) return VT_OK;
    return fail(err, VT_CHECK_FAILED, "tensors: this build computes sha256 %.16s..., the manifest "
                "says %.16s...", r->tensors_sha256, expected);
}

/* The model as a browser reads it, from the three files, and its window again. */
static vt_status prove(export_job *j, const json_t *manifest, vt_export_report *r, vt_error *err)
{
    size_t n, targets;
    vt_status s;
    if ((s = vt_model_open(&j->m, j->folder, 0, NULL, err)) ||
        (s = read_ids(&j->ids, manifest, "tokens", &n, err)) ||
        (s = read_ids(&j->targets, manifest, "targets", &targets, err)))
        return s;
    if (n != targets || n < 1 || n > (size_t)j->m->c.z.T)
        return fail(err, VT_BAD_INPUT, "%s/" MANIFEST_NAME ": %zu tokens and %zu targets: expected "
                    "as many, 1 to %d", j->folder, n, targets, j->m->c.z.T);
    r->tokens = n;
    if ((s = run_window(j, j->ids, j->targets, (int)n, r, err)) ||
        (s = window_compare(j->folder, &j->w, err)))
        return s;
    return same_hash(manifest, r, err);
}

vt_status vt_export_verify(const char *site, const char *as, vt_export_report *out, vt_error *err)
{
    export_job j = { .m = NULL };
    json_t *manifest = NULL;
    vt_status s;
    *out = (vt_export_report){ .rebuilt = -1 };
    if ((s = export_name_check(as, err))) return s;
    if (!(j.folder = export_folder(site, as)))
        return fail_memory(err, strlen(site), "a folder's name");
    if ((s = export_read_manifest(&manifest, j.folder, err)) == VT_OK &&
        (s = export_hash(out, j.folder, err)) == VT_OK &&
        (s = export_compare_files(manifest, j.folder, out, err)) == VT_OK)
        s = prove(&j, manifest, out, err);
    json_decref(manifest);
    export_job_end(&j);
    return s;
}
