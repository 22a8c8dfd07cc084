/* generate_api.c -- vt_generate: a prompt in, whole characters out. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "api/model.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "sample/generate.h"
#include "sample/utf8_stream.h"
#include "vitrine.h"

void vt_generate_defaults(vt_generate_options *o)
{
    *o = (vt_generate_options){ .max_tokens = 50, .temperature = 0.7, .top_p = 0.8, .seed = 42,
                                .samples = 1 };
}

enum { MOST_SAMPLES = 1000000, MOST_TOKENS = 100000000 };

static vt_status check(const vt_generate_options *o, filter_options *how, vt_error *err)
{
    if (o->max_tokens < 0 || o->max_tokens > MOST_TOKENS)
        return fail(err, VT_USAGE, "--max-tokens %d: expected a number from 0 to %d",
                    o->max_tokens, MOST_TOKENS);
    if (o->samples < 1 || o->samples > MOST_SAMPLES)
        return fail(err, VT_USAGE, "--samples %d: expected a number from 1 to %d", o->samples,
                    MOST_SAMPLES);
    if (o->first_sample < 0 || o->first_sample > INT_MAX - o->samples)
        return fail(err, VT_USAGE, "first_sample %d: expected 0 to %d", o->first_sample,
                    INT_MAX - o->samples);
    if (o->top_k < 0)
        return fail(err, VT_USAGE, "--top-k %d: expected 0 (off) or more", o->top_k);
    *how = (filter_options){ .temperature = o->temperature, .top_k = (size_t)o->top_k,
                             .top_p = o->top_p };
    return filter_check(how, err);
}

typedef struct stream {
    vt_text_sink *sink;
    void         *context;
    utf8_stream   text;
    bytes         ready;
} stream;

/* What is complete goes out; true when the sink wants no more. */
static bool flush(stream *s, int sample)
{
    bool stop = false;
    if (s->ready.len > 0 && s->sink)
        stop = s->sink(s->context, sample, (const char *)s->ready.data, s->ready.len);
    s->ready.len = 0;
    return stop;
}

/* Which token it was, and what is wrong with a model whose logits are none. */
static vt_status place(vt_status s, int sample, int drawn, size_t prompt, vt_error *err)
{
    if (s != VT_NAN || !err) return s;
    const vt_error why = *err;
    return fail(err, s, "sample %d, token %d behind %zu of the prompt: %.300s: expected finite "
                "numbers; the model's weights are too large (vitrine check)", sample, drawn + 1,
                prompt, why.text);
}

static vt_status one_sample(const vt_model *m, generator *g, stream *s,
                            const vt_generate_options *o, const filter_options *how, int sample,
                            size_t prompt, size_t *tokens, bool *stopped, vt_error *err)
{
    const int number = o->first_sample + sample;
    rng r;
    vt_status status;
    rng_stream_seed(&r, o->seed, RNG_SAMPLE, (uint64_t)number);
    for (int i = 0; i < o->max_tokens && !*stopped; i++) {
        int id;
        size_t n;
        if ((status = generator_next(g, how, rng_double(&r), &id, err)))
            return place(status, number, i, prompt, err);
        (*tokens)++;
        if (id == bpe_end(m->tokenizer)) break;
        const unsigned char *piece = bpe_piece(m->tokenizer, id, &n);
        if ((status = utf8_stream_push(&s->text, piece, n, &s->ready, err))) return status;
        *stopped = flush(s, sample);
    }
    if ((status = utf8_stream_end(&s->text, &s->ready, err))) return status;
    if (*stopped) s->ready.len = 0;             /* the sink wants no more */
    else *stopped = flush(s, sample);
    return VT_OK;
}

vt_status vt_generate(vt_model *m, const vt_generate_options *o, vt_text_sink *sink,
                      void *context, size_t *tokens, vt_error *err)
{
    filter_options how;
    generator g = { .ids = NULL };
    stream s = { .sink = sink, .context = context };
    bpe_ids prompt = { 0 };
    size_t drawn = 0;
    bool stopped = false;
    vt_status status = check(o, &how, err);
    if (status) return status;
    if (o->prompt_length == 0)
        status = bpe_ids_append(&prompt, bpe_end(m->tokenizer), err);
    else
        status = bpe_encode(m->tokenizer, o->prompt, o->prompt_length, &prompt, err);
    if (status || (status = generator_new(&g, &m->c.z, m->c.params, m->seq, m->kernels,
                                          m->threads, err)))
        goto done;
    for (int i = 0; i < o->samples && !stopped && status == VT_OK; i++) {
        generator_start(&g, prompt.data, prompt.len);
        status = one_sample(m, &g, &s, o, &how, i, prompt.len, &drawn, &stopped, err);
    }
done:
    if (tokens) *tokens = drawn;
    generator_free(&g);
    bytes_free(&s.ready);
    bpe_ids_free(&prompt);
    return status;
}

vt_status vt_generate_memory(const vt_model *m, vt_memory *out, vt_error *err)
{
    const gpt_config *z = &m->c.z;
    size_t block = generator_bytes(z, m->seq), worker, shared, scratch;
    generator_scratch(&worker, &shared, z, m->seq);
    if (block == SIZE_MAX || !team_bytes(&scratch, m->threads, worker, shared))
        return fail(err, VT_TOO_LARGE, "the model's activations overflow a size");
    *out = (vt_memory){
        .machine = cpu_memory(), .parameters = m->c.count, .vocabulary = z->V,
        .threads = m->threads, .nrows = 4,
        .rows = { { "parameters", VT_MEMORY_HELD, m->c.count * sizeof *m->c.params },
                  { "the checkpoint, as it was read", VT_MEMORY_HELD, m->c.state.content.len },
                  { "head, keys and values, activations", VT_MEMORY_HELD, arena_size(block) },
                  { "scratch of the threads", VT_MEMORY_HELD, scratch ? arena_size(scratch) : 0 } },
    };
    for (size_t i = 0; i < out->nrows; i++)
        if (!size_add(out->memory, out->rows[i].bytes, &out->memory))
            return fail(err, VT_TOO_LARGE, "the plan: its sizes overflow");
    return VT_OK;
}
