/* run_record.c -- see run_record.h. */
#include "train/run_record.h"
#include <string.h>
#include "train/settings.h"

void run_record_fields(js_writer *w, const run_record *r, const gpt_config *z)
{
    js_field_int(w, "step", r->step);
    js_field_string(w, "kernels", r->kernels);
    js_key(w, "model");
    js_open_object(w);
    checkpoint_write_sizes(w, z);
    js_close_object(w);
    js_key(w, "settings");
    js_open_object(w);
    settings_write(w, &r->settings);
    js_close_object(w);
    js_key(w, "corpus");
    js_open_object(w);
    js_field_string(w, "sha256", r->corpus_sha256);
    corpus_record_write(w, r->files, r->nfiles, r->replaced);
    js_field_string(w, "tokens_sha256", r->tokens_sha256);
    js_field_uint(w, "documents", r->documents);
    js_field_uint(w, "train_tokens", r->train_tokens);
    js_field_uint(w, "val_tokens", r->val_tokens);
    js_close_object(w);
    if (!r->tokenizer_from) return;
    js_key(w, "tokenizer");
    js_open_object(w);
    js_field_string(w, "from", r->tokenizer_from);
    js_field_string(w, "sha256", r->tokenizer_sha256);
    js_close_object(w);
}

vt_status run_record_write(const run_record *r, const gpt_config *z, bytes *out, vt_error *err)
{
    js_writer w;
    js_begin(&w, out, JS_LINE);
    js_open_object(&w);
    run_record_fields(&w, r, z);
    js_close_object(&w);
    const vt_status s = js_end(&w, err);
    return s ? s : bytes_append(out, "", 1, err);
}

static vt_status read_hash(char out[65], const json_t *object, const char *key,
                           const char *where, vt_error *err)
{
    const char *text;
    const vt_status s = js_get_string(object, key, where, &text, err);
    if (s) return s;
    if (strlen(text) != 64 || strspn(text, "0123456789abcdef") != 64)
        return fail(err, VT_BAD_INPUT, "%s: field \"%s\": expected 64 hexadecimal digits", where,
                    key);
    memcpy(out, text, 65);
    return VT_OK;
}

static vt_status read_tokenizer(run_record *r, const json_t *run, const char *where, vt_error *err)
{
    static const char *const origins[] = { "corpus", "given" };
    const json_t *object;
    const char *from;
    vt_status s;
    if (!json_object_get(run, "tokenizer")) return VT_OK;
    if ((s = js_get_object(run, "tokenizer", where, &object, err)) ||
        (s = js_get_string(object, "from", where, &from, err)) ||
        (s = read_hash(r->tokenizer_sha256, object, "sha256", where, err)))
        return s;
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
        if (strcmp(from, origins[i]) == 0) r->tokenizer_from = origins[i];
    if (r->tokenizer_from) return VT_OK;
    return fail(err, VT_BAD_INPUT, "%s: field \"from\": expected \"corpus\" or \"given\"", where);
}

vt_status run_record_read(run_record *r, const json_t *run, const char *where, vt_error *err)
{
    const json_t *settings, *text;
    const char *kernels;
    int64_t step;
    vt_status s;
    *r = (run_record){ .step = 0 };
    if ((s = js_get_int(run, "step", where, 0, 1LL << 40, &step, err)) ||
        (s = js_get_string(run, "kernels", where, &kernels, err)) ||
        (s = js_get_object(run, "settings", where, &settings, err)) ||
        (s = settings_read(&r->settings, settings, where, err)) ||
        (s = js_get_object(run, "corpus", where, &text, err)) ||
        (s = read_hash(r->corpus_sha256, text, "sha256", where, err)) ||
        (s = corpus_record_check(text, where, err)) ||
        (s = read_hash(r->tokens_sha256, text, "tokens_sha256", where, err)) ||
        (s = js_get_size(text, "documents", where, 0, SIZE_MAX / 2, &r->documents, err)) ||
        (s = js_get_size(text, "train_tokens", where, 0, SIZE_MAX / 2, &r->train_tokens, err)) ||
        (s = js_get_size(text, "val_tokens", where, 0, SIZE_MAX / 2, &r->val_tokens, err)) ||
        (s = read_tokenizer(r, run, where, err)))
        return s;
    r->step = step;
    if (strlen(kernels) >= sizeof r->kernels)       /* not ours, perhaps: a name is enough */
        return fail(err, VT_BAD_INPUT, "%s: field \"kernels\": expected a name of at most %zu "
                    "letters", where, sizeof r->kernels - 1);
    memcpy(r->kernels, kernels, strlen(kernels) + 1);
    if (step > r->settings.steps)
        return fail(err, VT_BAD_INPUT, "%s: field \"step\": %lld: expected at most the run's %lld "
                    "steps", where, r->step, r->settings.steps);
    vt_error why;               /* a stored option is no option of the command line */
    if ((s = settings_check(&r->settings, &why)))
        return fail(err, s == VT_USAGE ? VT_BAD_INPUT : s, "%s: field \"settings\": %s", where,
                    why.text);
    return VT_OK;
}
