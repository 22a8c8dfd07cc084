/* novelty_api.c -- a text against what a model learnt from.
 *
 * The training documents are found again as training found them: the same files,
 * as many documents as were read (--max-rows takes the first ones), the same
 * split by the model's seed.  That they are the same is not taken on trust: they
 * are encoded with the model's tokenizer, and the tokens must have the sha256
 * that the checkpoint gives.
 */
#include <stdlib.h>
#include <string.h>
#include "api/model.h"
#include "api/training_text.h"
#include "data/novelty.h"
#include "provenance/manifest.h"
#include "vitrine.h"

vt_status vt_verify(const char *folder, vt_error *err)
{
    return manifest_verify(folder, err);
}

static vt_status same_files(const vt_model *m, const vt_corpus *what, const corpus *c,
                            vt_error *err)
{
    const run_record *r = &m->record;
    const corpus_name name = corpus_record_name(what);
    const json_t *stored;
    const vt_status s = js_get_object(m->c.run, "corpus", m->c.path, &stored, err);
    if (s) return s;
    if (strcmp(c->sha256, r->corpus_sha256) != 0 && (c->nfiles > 1 || json_object_get(stored, "files")))
        return fail(err, VT_BAD_INPUT, "%s: not the text that the model was trained on: %s", name.text,
                    corpus_record_differs(stored, c, what).text);
    if (strcmp(c->sha256, r->corpus_sha256) != 0)
        return fail(err, VT_BAD_INPUT, "%s: expected the file that the model was trained on, with "
                    "sha256 %.16s..., found %.16s...", name.text, r->corpus_sha256, c->sha256);
    if (c->count < r->documents)
        return fail(err, VT_BAD_INPUT, "%s: expected the column that the model was trained on, "
                    "with %zu documents or more, found %zu", name.text, r->documents, c->count);
    return VT_OK;
}

/* The first `count` documents. */
static void keep_documents(corpus *c, size_t count)
{
    c->count = count;
    c->bytes = 0;
    for (size_t i = 0; i < count; i++) c->bytes += c->docs[i].len;
}

static vt_status same_tokens(const vt_model *m, const vt_corpus *what,
                             const vt_training_text *t, vt_error *err)
{
    dataset d = { .block = NULL };
    team *crew = NULL;
    char hash[65];
    vt_status s = team_new(&crew, m->threads, 64, 64, err);
    if (s == VT_OK) s = dataset_encode(&d, &t->all, &t->split, m->tokenizer, crew, err);
    if (s == VT_OK) {
        dataset_sha256(hash, &d);
        if (strcmp(hash, m->record.tokens_sha256) != 0)
            s = fail(err, VT_BAD_INPUT, "%s: expected the column that the model was trained on: "
                     "the texts of this one make other tokens (--column)", corpus_record_name(what).text);
    }
    dataset_free(&d);
    team_free(crew);
    return s;
}

vt_status vt_training_text_open(vt_training_text **out, const vt_model *m, const vt_corpus *what,
                                vt_error *err)
{
    *out = NULL;
    if (!m->c.has_state)
        return fail(err, VT_BAD_INPUT, "%s: does not say what text it was trained on", m->c.path);
    vt_training_text *t = calloc(1, sizeof *t);
    if (!t) return fail_memory(err, sizeof *t, "a training text");
    vt_status s = corpus_load(&t->all, what, err);
    if (s == VT_OK && (s = same_files(m, what, &t->all, err)) == VT_OK) {
        keep_documents(&t->all, m->record.documents);
        if ((s = dataset_split_new(&t->split, &t->all, m->record.settings.seed, err)) == VT_OK)
            s = same_tokens(m, what, t, err);
    }
    if (s) vt_training_text_close(t);
    else *out = t;
    return s;
}

void vt_training_text_close(vt_training_text *t)
{
    if (!t) return;
    dataset_split_free(&t->split);
    corpus_free(&t->all);
    free(t);
}

vt_status vt_novelty(const vt_training_text *t, const void *text, size_t n,
                     vt_novelty_report *out, vt_error *err)
{
    const slice asked = { text, n };
    novelty found;
    *out = (vt_novelty_report){ .share = 0 };
    const vt_status s = novelty_measure(&found, asked, t->split.train, t->split.ntrain, err);
    if (s) return s;
    *out = (vt_novelty_report){
        .words = found.words, .known = found.known, .share = found.share,
        .longest = found.longest, .run_length = found.run.len,
        .run_start = found.run.len ? (size_t)(found.run.data - asked.data) : 0,
    };
    return VT_OK;
}
