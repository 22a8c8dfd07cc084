/* novelty_api.c -- vt_novelty: a text against what a model learnt from.
 *
 * The training documents are found again as training found them: the same file
 * (its sha256 is in the checkpoint), as many documents as were read (--max-rows
 * takes the first ones), the same split by the model's seed.
 */
#include <string.h>
#include "api/model.h"
#include "data/corpus.h"
#include "data/dataset.h"
#include "data/novelty.h"
#include "provenance/manifest.h"
#include "vitrine.h"

vt_status vt_verify(const char *folder, vt_error *err)
{
    return manifest_verify(folder, err);
}

static vt_status same_corpus(const vt_model *m, const char *data, const corpus *c, vt_error *err)
{
    const run_record *r = &m->record;
    if (strcmp(c->sha256, r->corpus_sha256) != 0)
        return fail(err, VT_BAD_INPUT, "%s: expected the file that the model was trained on, with "
                    "sha256 %.16s..., found %.16s...", data, r->corpus_sha256, c->sha256);
    if (c->count < r->documents)
        return fail(err, VT_BAD_INPUT, "%s: expected the column that the model was trained on, "
                    "with %zu documents or more, found %zu", data, r->documents, c->count);
    return VT_OK;
}

vt_status vt_novelty(const vt_model *m, const char *data, const char *column, const void *text,
                     size_t n, vt_novelty_report *out, vt_error *err)
{
    const corpus_options how = { .column = column };
    const slice asked = { text, n };
    corpus c = { .docs = NULL };
    dataset_split split = { .train = NULL };
    novelty found;
    vt_status s;
    *out = (vt_novelty_report){ .share = 0 };
    if (!m->c.has_state)
        return fail(err, VT_BAD_INPUT, "%s: does not say what text it was trained on", m->c.path);
    if ((s = corpus_load(&c, data, &how, err)) || (s = same_corpus(m, data, &c, err))) goto done;
    c.count = m->record.documents;
    if ((s = dataset_split_new(&split, &c, m->record.settings.seed, err)) ||
        (s = novelty_measure(&found, asked, split.train, split.ntrain, err)))
        goto done;
    *out = (vt_novelty_report){
        .words = found.words, .known = found.known, .share = found.share,
        .longest = found.longest, .run_length = found.run.len,
        .run_start = found.run.len ? (size_t)(found.run.data - asked.data) : 0,
    };
done:
    dataset_split_free(&split);
    corpus_free(&c);
    return s;
}
