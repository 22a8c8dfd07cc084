/* model.c -- opening a model, and what it says of itself; see vitrine.h. */
#include "api/model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/io.h"
#include "provenance/manifest.h"
#include "vitrine.h"

enum { MOST_THREADS = 256 };

/* Where a text of the model is: of a checkpoint in its file's metadata, in a
 * foreign folder a file of its own. */
static char *place(const vt_model *m, const char *folder, const char *text, const char *file)
{
    if (!m->c.has_state) return io_join(folder, file);
    const size_t n = strlen(m->c.path) + strlen(text) + 16;
    char *where = malloc(n);
    if (where) snprintf(where, n, "%s: metadata \"%s\"", m->c.path, text);
    return where;
}

static vt_status read_tokenizer(vt_model *m, const char *folder, vt_error *err)
{
    char *where = place(m, folder, "tokenizer", "tokenizer.json");
    if (!where) return fail_memory(err, strlen(folder), "a file's name");
    vt_status s = bpe_from_json(&m->tokenizer, m->c.tokenizer, m->c.tokenizer_length, where, err);
    if (s == VT_OK && bpe_vocab(m->tokenizer) != m->c.z.V)
        s = fail(err, VT_BAD_INPUT, "%s: the tokenizer has %d tokens, the model %d", where,
                 bpe_vocab(m->tokenizer), m->c.z.V);
    free(where);
    return s;
}

static vt_status read_record(vt_model *m, const char *folder, vt_error *err)
{
    char *where = place(m, folder, "run", "");
    if (!where) return fail_memory(err, strlen(folder), "a file's name");
    const vt_status s = run_record_read(&m->record, m->c.run, where, err);
    free(where);
    return s;
}

/* A model without its state, but with its run's manifest, has windows of that, and is
 * what that says, or damaged. */
static vt_status read_manifest(vt_model *m, const char *folder, vt_error *err)
{
    run_record record;
    json_t *root = NULL;
    vt_status s = manifest_of_model(&root, folder, err);
    if (s || !root) return s;
    char *where = io_join(folder, MANIFEST_NAME);
    s = where ? run_record_read(&record, root, where, err)
              : fail_memory(err, strlen(folder), "a file's name");
    if (s == VT_OK && record.settings.seq > m->c.z.T)
        s = fail(err, VT_BAD_INPUT, "%s: field \"seq\": %d: expected 1 to %d, the positions of the "
                 "model", where, record.settings.seq, m->c.z.T);
    if (s == VT_OK) {
        m->seq = record.settings.seq;
        m->seq_known = true;
    }
    free(where);
    json_decref(root);
    return s;
}

static vt_status fill(vt_model *m, const char *folder, vt_error *err)
{
    vt_status s;
    m->seq = m->c.z.T;
    if (m->c.has_state) {
        if ((s = read_record(m, folder, err))) return s;
        m->seq = m->record.settings.seq;
        m->seq_known = true;
    }
    if (m->seq < 1 || m->seq > m->c.z.T)
        return fail(err, VT_BAD_INPUT, "%s: seq %d: expected 1 to %d, the positions of the model",
                    m->c.path, m->seq, m->c.z.T);
    if ((s = read_tokenizer(m, folder, err))) return s;
    return m->c.has_state ? VT_OK : read_manifest(m, folder, err);
}

vt_status vt_model_open(vt_model **out, const char *folder, int threads, const char *isa,
                        vt_error *err)
{
    *out = NULL;
    if (threads < 0 || threads > MOST_THREADS)
        return fail(err, VT_USAGE, "--threads %d: expected a number from 0 (all) to %d", threads,
                    MOST_THREADS);
    vt_model *m = calloc(1, sizeof *m);
    if (!m) return fail_memory(err, sizeof *m, "a model");
    m->threads = threads ? threads : cpu_count();
    vt_status s = ops_choose(&m->kernels, isa, err);
    if (s == VT_OK && (s = checkpoint_open(&m->c, folder, err)) == VT_OK) s = fill(m, folder, err);
    if (s) {
        vt_model_close(m);
        return s;
    }
    *out = m;
    return VT_OK;
}

void vt_model_close(vt_model *m)
{
    if (!m) return;
    bpe_free(m->tokenizer);
    checkpoint_close(&m->c);
    free(m);
}

int vt_seq(const vt_model *m, bool *known)
{
    *known = m->seq_known;
    return m->seq;
}

void model_state_sha256(const vt_model *m, char hash[65])
{
    hash[0] = 0;
    if (m->c.has_state) sha256_hex(hash, m->c.state.content.data, m->c.state.content.len);
}

void vt_info(const vt_model *m, vt_info_data *out)
{
    const gpt_config *z = &m->c.z;
    *out = (vt_info_data){
        .layers = z->L, .d_model = z->C, .heads = z->NH, .ff = z->FF, .context = z->T,
        .vocabulary = z->V, .merges = bpe_merges(m->tokenizer), .seq = m->seq, .seq_known = m->seq_known, .tied = z->tied,
        .parameters = m->c.count, .tensors = m->c.ntensors, .step = -1, .steps = -1,
        .isa = m->kernels->name, .threads = m->threads, .activation = "gelu_new",
    };
    sha256_hex(out->tokenizer_sha256, m->c.tokenizer, m->c.tokenizer_length);
    if (!m->c.has_state) return;
    out->step = m->record.step;
    out->steps = m->record.settings.steps;
    out->seed = m->record.settings.seed;
    out->tokenizer_from = m->record.tokenizer_from;
    memcpy(out->corpus_sha256, m->record.corpus_sha256, 65);
    model_state_sha256(m, out->state_sha256);
}

vt_tensor_info vt_tensor(const vt_model *m, size_t i)
{
    const gpt_tensor *t = &m->c.tensors[i];
    return (vt_tensor_info){ .name = t->name, .file_name = t->file, .rows = t->rows,
                             .cols = t->cols, .is_vector = t->vector, .decay = t->decay,
                             .count = t->count };
}

vt_status vt_tokenize(const vt_model *m, const void *text, size_t n, int **ids, size_t *count,
                      vt_error *err)
{
    bpe_ids list = { 0 };
    const vt_status s = bpe_encode(m->tokenizer, text, n, &list, err);
    if (s) {
        bpe_ids_free(&list);
        return s;
    }
    *ids = list.data;
    *count = list.len;
    return VT_OK;
}

const unsigned char *vt_piece(const vt_model *m, int id, size_t *length)
{
    size_t unused;
    return bpe_piece(m->tokenizer, id, length ? length : &unused);
}
