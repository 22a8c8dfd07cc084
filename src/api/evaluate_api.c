/* evaluate_api.c -- vt_evaluate: a corpus in, loss, perplexity and bits per byte out. */
#include <math.h>
#include <string.h>
#include "api/model.h"
#include "data/corpus.h"
#include "data/dataset.h"
#include "train/corpus_record.h"
#include "train/evaluate.h"
#include "vitrine.h"

void vt_evaluate_defaults(vt_evaluate_options *o)
{
    *o = (vt_evaluate_options){ .seq = 0 };
}

static vt_status check(evaluate_case *c, const vt_model *m, const vt_evaluate_options *o,
                       vt_error *err)
{
    const int seq = o->seq ? o->seq : m->seq, stride = o->stride ? o->stride : seq;
    if (seq < 1 || seq > m->c.z.T)
        return fail(err, VT_USAGE, "--seq %d: expected 1 to %d, the positions of the model",
                    o->seq, m->c.z.T);
    if (stride < 1 || stride > seq)
        return fail(err, VT_USAGE, "--stride %d: expected 1 to --seq %d: a larger one would leave "
                    "tokens out", o->stride, seq);
    *c = (evaluate_case){ .z = &m->c.z, .params = m->c.params, .kernels = m->kernels,
                          .threads = m->threads, .seq = (size_t)seq, .stride = (size_t)stride,
                          .whole = o->whole };
    return VT_OK;
}

/* Each document alone, ended by <|endoftext|>, joined: as in training. */
static vt_status encode(dataset *d, const corpus *text, const vt_model *m, vt_error *err)
{
    const dataset_split all = { .train = text->docs, .ntrain = text->count, .by_document = true };
    team *crew = NULL;
    vt_status s = team_new(&crew, m->threads, 64, 64, err);
    if (s == VT_OK) s = dataset_encode(d, text, &all, m->tokenizer, crew, err);
    team_free(crew);
    return s;
}

static vt_status check_tokens(const evaluate_case *c, const vt_corpus *what, vt_error *err)
{
    const size_t least = c->whole ? c->seq + 1 : 2;
    if (c->n >= least) return VT_OK;
    return fail(err, VT_BAD_INPUT, "%s: is too short: %zu token%s, expected at least %zu",
                what->files[0], c->n, c->n == 1 ? "" : "s", least);
}

static void fill(vt_evaluate_report *out, const vt_model *m, const corpus *text,
                 const evaluate_case *c, const evaluate_result *r)
{
    const int end = bpe_end(m->tokenizer);
    size_t n, spelled = 0;
    for (size_t i = 1; i <= r->predicted; i++)
        if (c->ids[i] != end) {                 /* which spells nothing of the text */
            (void)bpe_piece(m->tokenizer, c->ids[i], &n);
            spelled += n;
        }
    *out = (vt_evaluate_report){
        .documents = text->count, .bytes = text->bytes, .tokens = c->n, .windows = r->windows,
        .seq = (int)c->seq, .stride = (int)c->stride, .predicted = r->predicted,
        .predicted_bytes = spelled, .nats = r->nats, .loss = r->nats / (double)r->predicted,
        .uniform = log((double)m->c.z.V),
        .files = text->nfiles,
    };
    const json_t *learnt = m->c.has_state ? json_object_get(m->c.run, "corpus") : NULL;
    out->training_files = learnt ? corpus_record_known(learnt, text) : 0;
    out->perplexity = exp(out->loss);
    out->bits_per_byte = spelled ? r->nats / log(2) / (double)spelled : (double)NAN;
    memcpy(out->corpus_sha256, text->sha256, sizeof out->corpus_sha256);
    for (size_t i = text->nfiles; i-- > 0;)
        if (text->files[i].read_as) {
            out->read_as = text->files[i].read_as;
            out->read_as_file = i;
        }
}

vt_status vt_evaluate(const vt_model *m, const vt_corpus *what, const vt_evaluate_options *o,
                      vt_evaluate_progress *progress, void *context, vt_evaluate_report *out,
                      vt_error *err)
{
    corpus text = { .docs = NULL };
    dataset d = { .block = NULL };
    evaluate_case c;
    evaluate_result r;
    vt_status s = check(&c, m, o, err);
    if (s) return s;
    if (what->nfiles == 0) return fail(err, VT_USAGE, "expected a text to evaluate on");
    if ((s = corpus_load(&text, what, err)) || (s = encode(&d, &text, m, err))) goto done;
    c.ids = d.train;
    c.n = d.ntrain;
    if ((s = check_tokens(&c, what, err)) ||
        (s = gpt_check_ids(c.ids, 1, c.n, m->c.z.V, false, "tokens", err)) ||
        (s = evaluate_tokens(&r, &c, progress, context, err)))
        goto done;
    fill(out, m, &text, &c, &r);
done:
    dataset_free(&d);
    corpus_free(&text);
    return s;
}
