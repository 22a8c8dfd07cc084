/* export_job.c -- see export_job.h. */
#include "api/export_job.h"
#include <stdlib.h>
#include "base/interrupt.h"
#include "base/utf8.h"
#include "provenance/manifest.h"

void export_job_end(export_job *j)
{
    gpt_window_free(&j->w);
    free(j->targets);
    free(j->ids);
    free(j->folder);
    bytes_free(&j->own);
    vt_model_close(j->m);
}

vt_status export_job_open(export_job *j, const char *folder, int threads, vt_error *err)
{
    const vt_status s = vt_model_open(&j->m, folder, threads, NULL, err);
    if (s) return s;
    return j->m->c.has_state ? manifest_verify(folder, err) : VT_OK;
}

/* Of the held-out text the first document of two tokens, at most SHOWN_TOKENS of it, up to
 * the last whole character: in the language of the model.  A checkpoint from elsewhere keeps
 * none. */
static vt_status held_out(export_job *j, vt_error *err)
{
    enum { SHOWN_TOKENS = 16 };
    static const char elsewhere[] = "She was not at all sorry to see him go.";
    const checkpoint *c = &j->m->c;
    const int end = bpe_end(j->m->tokenizer);
    size_t first = 0, n = 0;
    while (first < c->nwindow && n < 2) {
        for (n = 0; first + n < c->nwindow && n < SHOWN_TOKENS && c->window[first + n] != end;) n++;
        if (n < 2) first += n + 1;
    }
    if (n < 2) return bytes_append(&j->own, elsewhere, sizeof elsewhere - 1, err);
    const vt_status s = bpe_decode(j->m->tokenizer, c->window + first, n, &j->own, err);
    if (s == VT_OK) j->own.len = utf8_first_bad(j->own.data, j->own.len);
    return s;
}

vt_status export_job_text(export_job *j, const char *text, size_t length, int most, size_t least,
                          int *T, vt_error *err)
{
    vt_status s;
    if (!text) {
        if ((s = held_out(j, err))) return s;
        text = (const char *)j->own.data;
        length = j->own.len;
    }
    j->text = text;
    j->text_length = length;
    const size_t bad = utf8_first_bad(text, length);
    if (bad < length) return fail(err, VT_BAD_INPUT, "--text: byte %zu: expected UTF-8", bad);
    if ((s = vt_tokenize(j->m, text, length, &j->ids, &j->count, err))) return s;
    if (j->count < least && least == 2)
        return fail(err, VT_BAD_INPUT, "--text: %zu token%s: expected two or more, so that one "
                    "has a next", j->count, j->count == 1 ? "" : "s");
    if (j->count < least) return fail(err, VT_BAD_INPUT, "--text: 0 tokens: expected a text");
    *T = j->count < (size_t)most ? (int)j->count : most;
    j->targets = calloc((size_t)*T, sizeof *j->targets);
    if (!j->targets) return fail_memory(err, (size_t)*T * sizeof *j->targets, "targets");
    for (int t = 0; t < *T; t++)
        j->targets[t] = (size_t)t + 1 < j->count ? j->ids[t + 1] : VT_IGNORE;
    return VT_OK;
}

vt_status export_job_go_on(vt_error *err)
{
    return interrupt_asked() ? interrupt_fail(err) : VT_OK;
}
