/* checkpoint_write.c -- writing a model to a folder; see checkpoint.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model/checkpoint.h"

void checkpoint_write_sizes(js_writer *w, const gpt_config *z)
{
    js_field_string(w, "activation_function", "gelu_new");
    js_field_int(w, "n_layer", z->L);
    js_field_int(w, "n_embd", z->C);
    js_field_int(w, "n_head", z->NH);
    js_field_int(w, "n_inner", z->FF);
    js_field_int(w, "n_positions", z->T);
    js_field_int(w, "vocab_size", z->V);
    js_field_bool(w, "tie_word_embeddings", z->tied);
}

typedef char item_name[96];

static void shape_of(st_item *item, const gpt_tensor *t, bool turned)
{
    item->rank = t->vector ? 1 : 2;
    item->shape[0] = (size_t)(t->vector || turned ? t->cols : t->rows);
    item->shape[1] = (size_t)(turned ? t->rows : t->cols);
}

vt_status checkpoint_seal(char hash[65], const char *run, const char *tokenizer,
                          const st_item *items, size_t count, vt_error *err)
{
    io_piece *pieces = calloc(2 * count + 2, sizeof *pieces);
    if (!pieces) return fail_memory(err, 2 * count * sizeof *pieces, "the checkpoint's hash");
    size_t n = 0;
    pieces[n++] = (io_piece){ run, strlen(run) + 1 };
    pieces[n++] = (io_piece){ tokenizer, strlen(tokenizer) + 1 };
    bool fits = true;
    for (size_t i = 0; i < count && fits; i++) {
        size_t length;
        fits = st_bytes(items[i].dtype, items[i].rank, items[i].shape, &length);
        pieces[n++] = (io_piece){ items[i].name, strlen(items[i].name) + 1 };
        pieces[n++] = (io_piece){ items[i].data, length };
    }
    if (fits) sha256_hex_pieces(hash, pieces, n);
    free(pieces);
    return fits ? VT_OK : fail(err, VT_TOO_LARGE, "the checkpoint's size overflows");
}

vt_status checkpoint_write_state(const char *folder, const checkpoint_parts *p, char hash[65],
                                 vt_error *err)
{
    static const char *const prefixes[] = { "param.", "adam.m.", "adam.v." };
    const float *blocks[] = { p->params, p->m, p->v };
    const size_t n = p->ntensors, count = 3 * n + (p->nwindow > 0);
    char *path = io_join(folder, CHECKPOINT_STATE);
    st_item *items = calloc(count, sizeof *items);
    item_name *names = malloc(3 * n * sizeof *names);
    st_image image = { .count = 0 };
    char seal[65];
    vt_status s;
    if (!path || !items || !names) {
        s = fail_memory(err, count * sizeof *items, "the checkpoint's list of tensors");
        goto done;
    }
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < n; i++) {
            st_item *item = &items[k * n + i];
            snprintf(names[k * n + i], sizeof *names, "%s%s", prefixes[k], p->tensors[i].file);
            *item = (st_item){ .name = names[k * n + i], .dtype = ST_F32,
                               .data = blocks[k] + p->tensors[i].offset };
            shape_of(item, &p->tensors[i], false);
        }
    if (p->nwindow > 0)
        items[3 * n] = (st_item){ .name = "check.window", .dtype = ST_I32, .rank = 1,
                                  .shape = { p->nwindow }, .data = p->window };
    if ((s = checkpoint_seal(seal, p->run, p->tokenizer, items, count, err))) goto done;
    const st_pair meta[] = { { "format", CHECKPOINT_FORMAT }, { "sha256", seal },
                             { "run", p->run }, { "tokenizer", p->tokenizer } };
    if ((s = st_image_new(&image, items, count, meta, 4, err))) goto done;
    sha256_hex_pieces(hash, image.pieces, image.count);
    s = io_replace_pieces(path, image.pieces, image.count, err);
done:
    st_image_free(&image);
    free(names);
    free(items);
    free(path);
    return s;
}

/* Replaces a file unless it has these contents already. */
static vt_status refresh(const char *folder, const char *name, const io_piece *pieces,
                         size_t count, char hash[65], vt_error *err)
{
    char *path = io_join(folder, name), old_hash[65] = "";
    vt_status s = VT_OK;
    if (!path) return fail_memory(err, strlen(name), "a file's name");
    sha256_hex_pieces(hash, pieces, count);
    if (sha256_hex_file(old_hash, path, NULL) != VT_OK || strcmp(hash, old_hash) != 0)
        s = io_replace_pieces(path, pieces, count, err);
    free(path);
    return s;
}

static vt_status write_tensors(const char *folder, const checkpoint_parts *p, char hash[65],
                               vt_error *err)
{
    const size_t n = p->ntensors;
    st_item *items = calloc(n, sizeof *items);
    float *turned = NULL;               /* the head, (V, C) as files have it */
    st_image image = { .count = 0 };
    vt_status s;
    if (!items) {
        s = fail_memory(err, n * sizeof *items, "the model's list of tensors");
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        const gpt_tensor *t = &p->tensors[i];
        const float *data = p->params + t->offset;
        if (t->transposed) {
            const size_t rows = (size_t)t->rows, cols = (size_t)t->cols;
            assert(!turned);            /* one tensor is turned */
            if (!(turned = malloc(t->count * sizeof *turned))) {
                s = fail_memory(err, t->count * sizeof *turned, "the head");
                goto done;
            }
            for (size_t a = 0; a < rows; a++)
                for (size_t b = 0; b < cols; b++) turned[b * rows + a] = data[a * cols + b];
            data = turned;
        }
        items[i] = (st_item){ .name = t->file, .dtype = ST_F32, .data = data };
        shape_of(&items[i], t, t->transposed);
    }
    const st_pair meta[] = { { "format", "pt" } };      /* what transformers looks for */
    if ((s = st_image_new(&image, items, n, meta, 1, err))) goto done;
    s = refresh(folder, CHECKPOINT_MODEL, image.pieces, image.count, hash, err);
done:
    st_image_free(&image);
    free(turned);
    free(items);
    return s;
}

static vt_status write_config(const char *folder, const gpt_config *z, char hash[65],
                              vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_PRETTY);
    js_open_object(&w);
    js_key(&w, "architectures");
    js_open_array(&w);
    js_string(&w, "GPT2LMHeadModel");
    js_close_array(&w);
    js_field_string(&w, "model_type", "gpt2");
    checkpoint_write_sizes(&w, z);
    js_field_number(&w, "layer_norm_epsilon", 1e-5);
    js_field_int(&w, "bos_token_id", z->V - 1);
    js_field_int(&w, "eos_token_id", z->V - 1);
    js_field_int(&w, "attn_pdrop", 0);                  /* there is no dropout */
    js_field_int(&w, "embd_pdrop", 0);
    js_field_int(&w, "resid_pdrop", 0);
    js_field_string(&w, "torch_dtype", "float32");
    js_close_object(&w);
    vt_status s = js_end(&w, err);
    const io_piece piece = { text.data, text.len };
    if (s == VT_OK) s = refresh(folder, "config.json", &piece, 1, hash, err);
    bytes_free(&text);
    return s;
}

vt_status checkpoint_write_model(const char *folder, const checkpoint_parts *p,
                                 char hashes[3][65], vt_error *err)
{
    const io_piece words = { p->tokenizer, strlen(p->tokenizer) };
    vt_status s;
    if ((s = write_tensors(folder, p, hashes[0], err)) ||
        (s = write_config(folder, p->z, hashes[1], err)))
        return s;
    return refresh(folder, "tokenizer.json", &words, 1, hashes[2], err);
}
