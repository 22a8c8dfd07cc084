/* checkpoint.c -- reading a model from a folder; see checkpoint.h.  Writing is
 * in checkpoint_write.c.
 */
#include "model/checkpoint.h"
#include <limits.h>
#include <math.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/cpu.h"
#include "base/huge.h"

/* A file is read whole: one that is larger than the machine's memory is refused by its
 * length, before any is asked for. */
static size_t most_bytes(void)
{
    const size_t memory = cpu_memory();                 /* 0: not known */
    return memory ? memory : SIZE_MAX / 4;
}

enum { MOST_CONFIG = 1 << 20, MOST_TOKENIZER = 1 << 28, SHOWN_DIGITS = 16 };

vt_status checkpoint_read_sizes(gpt_config *z, const json_t *o, const char *where, vt_error *err)
{
    int64_t L, C, NH, FF, T, V;
    const char *activation;
    vt_status s;
    if ((s = js_get_string(o, "activation_function", where, &activation, err)) ||
        (s = js_get_int(o, "n_layer", where, 1, INT_MAX, &L, err)) ||
        (s = js_get_int(o, "n_embd", where, 1, INT_MAX, &C, err)) ||
        (s = js_get_int(o, "n_head", where, 1, INT_MAX, &NH, err)) ||
        (s = js_get_int(o, "n_positions", where, 1, INT_MAX, &T, err)) ||
        (s = js_get_int(o, "vocab_size", where, 1, INT_MAX, &V, err)))
        return s;
    if (strcmp(activation, "gelu_new") != 0)
        return fail(err, VT_BAD_INPUT, "%s: field \"activation_function\": expected gelu_new (the "
                    "tanh form), found \"%s\", which is not computed here", where, activation);
    FF = 4 * C;                                 /* GPT-2's, where n_inner is null */
    if (js_has(o, "n_inner") && (s = js_get_int(o, "n_inner", where, 1, INT_MAX, &FF, err)))
        return s;
    if (FF > INT_MAX)
        return fail(err, VT_TOO_LARGE, "%s: field \"n_embd\": %lld is too large", where,
                    (long long)C);
    *z = (gpt_config){ .L = (int)L, .C = (int)C, .NH = (int)NH, .FF = (int)FF, .T = (int)T,
                       .V = (int)V, .tied = true };
    if (js_has(o, "tie_word_embeddings") &&
        (s = js_get_bool(o, "tie_word_embeddings", where, &z->tied, err)))
        return s;
    vt_error why;
    if ((s = gpt_config_check(z, &why)))
        return fail(err, s == VT_USAGE ? VT_BAD_INPUT : s, "%s: %s", where, why.text);
    return VT_OK;
}

/* Memory for the tensors of c->z, once the file is known to hold about as many
 * and as large ones: sizes from a file must not ask for more than it could fill. */
static vt_status make_room(checkpoint *c, const st_file *f, vt_error *err)
{
    c->count = gpt_parameter_count(&c->z);
    c->ntensors = gpt_tensor_count(&c->z);
    if (c->count > f->content.len / sizeof(float))
        return fail(err, VT_BAD_INPUT, "%s: %zu parameters are needed by its sizes, but it "
                    "holds %zu bytes", f->path, c->count, f->content.len);
    if (c->ntensors / 2 > f->count)         /* else the missing one is named */
        return fail(err, VT_BAD_INPUT, "%s: %zu tensors are needed by its sizes, but it "
                    "holds %zu", f->path, c->ntensors, f->count);
    c->tensors = malloc(c->ntensors * sizeof *c->tensors);
    c->params = malloc(c->count * sizeof *c->params);
    if (!c->tensors || !c->params)
        return fail_memory(err, c->count * sizeof *c->params, "parameters");
    huge_advise(c->params, c->count * sizeof *c->params);   /* each token reads them all */
    gpt_tensor_list(&c->z, c->tensors);
    return VT_OK;
}

/* One tensor of a file, by a name's prefix and the tensor's file name. */
static vt_status copy_tensor(const st_file *f, const char *prefix, const gpt_tensor *t,
                             bool file_layout, float *out, vt_error *err)
{
    char name[96];
    const size_t rows = (size_t)t->rows, cols = (size_t)t->cols;
    const bool turned = file_layout && t->transposed;
    size_t shape[2] = { turned ? cols : rows, turned ? rows : cols };
    snprintf(name, sizeof name, "%s%s", prefix, t->file);
    if (file_layout && !st_find(f, name) && strncmp(t->file, "transformer.", 12) == 0 &&
        st_find(f, t->file + 12))
        snprintf(name, sizeof name, "%s", t->file + 12);    /* GPT-2's own file */
    if (t->vector) {
        shape[0] = cols;
        return st_copy_f32(f, name, 1, shape, out, err);
    }
    if (!turned) return st_copy_f32(f, name, 2, shape, out, err);
    const st_tensor *found;
    const vt_status s = st_need(f, name, ST_F32, 2, shape, &found, err);
    if (s) return s;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            memcpy(out + i * cols + j, found->data + (j * rows + i) * sizeof *out, sizeof *out);
    return VT_OK;
}

/* Training refuses a step before such a number could be stored. */
static vt_status check_values(const checkpoint *c, const char *prefix, const gpt_tensor *t,
                              const float *x, bool square, vt_error *err)
{
    for (size_t i = 0; i < t->count; i++) {
        if (isfinite(x[i]) && !(square && x[i] < 0)) continue;
        return fail(err, VT_BAD_INPUT, "%s: tensor \"%s%s\": entry %zu is %g: expected a finite "
                    "number%s", c->path, prefix, t->file, i, (double)x[i],
                    square ? ", 0 or more" : "");
    }
    return VT_OK;
}

static vt_status copy_all(const checkpoint *c, const st_file *f, const char *prefix,
                          bool file_layout, float *out, vt_error *err)
{
    for (size_t i = 0; i < c->ntensors; i++) {
        const gpt_tensor *t = &c->tensors[i];
        float *x = out + t->offset;
        vt_status s;
        if ((s = copy_tensor(f, prefix, t, file_layout, x, err)) ||
            (s = check_values(c, prefix, t, x, strcmp(prefix, "adam.v.") == 0, err)))
            return s;
    }
    return VT_OK;
}

static vt_status copy_window(checkpoint *c, vt_error *err)
{
    const st_tensor *t = st_find(&c->state, "check.window");
    if (!t) return VT_OK;
    if (t->dtype != ST_I32 || t->rank != 1)
        return fail(err, VT_BAD_INPUT, "%s: tensor \"check.window\": expected I32 of rank 1",
                    c->path);
    c->nwindow = t->shape[0];
    c->window = malloc(t->nbytes + 1);
    if (!c->window) return fail_memory(err, t->nbytes, "the validation window");
    for (size_t i = 0; i < c->nwindow; i++) {
        int32_t id;
        memcpy(&id, t->data + i * sizeof id, sizeof id);
        c->window[i] = id;
    }
    vt_error why;
    const vt_status s = gpt_check_ids(c->window, 1, c->nwindow, c->z.V, false, "check.window",
                                      &why);
    return s ? fail(err, s, "%s: tensor %s", c->path, why.text) : VT_OK;
}

static vt_status check_seal(const checkpoint *c, const char *run, const char *tokenizer,
                            vt_error *err)
{
    const st_file *f = &c->state;
    const char *expected;
    char found[65];
    vt_status s = st_need_meta(f, "sha256", &expected, err);
    if (s) return s;
    st_item *items = calloc(f->count + 1, sizeof *items);
    if (!items) return fail_memory(err, f->count * sizeof *items, "the checkpoint's tensors");
    for (size_t i = 0; i < f->count; i++) {
        const st_tensor *t = &f->tensors[i];
        items[i] = (st_item){ .name = t->name, .dtype = t->dtype, .rank = t->rank,
                              .data = t->data };
        memcpy(items[i].shape, t->shape, sizeof t->shape);
    }
    s = checkpoint_seal(found, run, tokenizer, items, f->count, err);
    free(items);
    if (s || strcmp(found, expected) == 0) return s;
    size_t same = 0;
    while (found[same] && found[same] == expected[same]) same++;
    if (same < SHOWN_DIGITS)
        return fail(err, VT_BAD_INPUT, "%s: is damaged: its contents have sha256 %.16s..., its header "
                    "says %.16s...", c->path, found, expected);
    return fail(err, VT_BAD_INPUT, "%s: is damaged: its contents have sha256 %s, its header says the "
                "same for %zu digits, and then \"%.16s\"", c->path, found, same, expected + same);
}

/* The moments are looked at too: whoever goes on from a state, or only speaks,
 * hears of a fault at once. */
static vt_status check_moments(const checkpoint *c, vt_error *err)
{
    static const char *const prefixes[] = { "adam.m.", "adam.v." };
    size_t most = 0;
    for (size_t i = 0; i < c->ntensors; i++)
        if (c->tensors[i].count > most) most = c->tensors[i].count;
    float *x = malloc(most * sizeof *x);
    vt_status s = x ? VT_OK : fail_memory(err, most * sizeof *x, "moments");
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < c->ntensors && s == VT_OK; i++) {
            s = copy_tensor(&c->state, prefixes[k], &c->tensors[i], false, x, err);
            if (s == VT_OK) s = check_values(c, prefixes[k], &c->tensors[i], x, k == 1, err);
        }
    free(x);
    return s;
}

static vt_status open_state(checkpoint *c, vt_error *err)
{
    const char *format, *run, *tokenizer;
    const json_t *sizes;
    vt_status s = st_open(&c->state, c->path, most_bytes(), err);
    if (s) return s;
    c->has_state = true;
    if ((s = st_need_meta(&c->state, "format", &format, err))) return s;
    if (strcmp(format, CHECKPOINT_FORMAT) != 0)
        return fail(err, VT_BAD_INPUT, "%s: format \"%s\": expected %s", c->path, format,
                    CHECKPOINT_FORMAT);
    if ((s = st_need_meta(&c->state, "run", &run, err)) ||
        (s = st_need_meta(&c->state, "tokenizer", &tokenizer, err)) ||
        (s = check_seal(c, run, tokenizer, err)) ||
        (s = js_parse(&c->run, run, strlen(run), c->path, err)) ||
        (s = js_get_object(c->run, "model", c->path, &sizes, err)) ||
        (s = checkpoint_read_sizes(&c->z, sizes, c->path, err)) ||
        (s = make_room(c, &c->state, err)) ||
        (s = copy_all(c, &c->state, "param.", false, c->params, err)) ||
        (s = check_moments(c, err)))
        return s;
    c->tokenizer_length = strlen(tokenizer);
    c->tokenizer = strdup(tokenizer);
    if (!c->tokenizer) return fail_memory(err, c->tokenizer_length, "the tokenizer");
    return copy_window(c, err);
}

/* What else a GPT-2's config.json may ask for, and is not computed here. */
static vt_status refuse_variants(const json_t *o, const char *where, vt_error *err)
{
    static const struct { const char *key; bool computed; } flags[] = {
        { "scale_attn_weights", true }, { "scale_attn_by_inverse_layer_idx", false },
        { "add_cross_attention", false },
    };
    vt_status s;
    double eps = 1e-5;
    if (js_has(o, "layer_norm_epsilon") &&
        (s = js_get_number(o, "layer_norm_epsilon", where, 0, 1, &eps, err)))
        return s;
    if (eps != 1e-5)
        return fail(err, VT_BAD_INPUT, "%s: field \"layer_norm_epsilon\": expected 1e-05, found "
                    "%g, which is not computed here", where, eps);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        bool found = flags[i].computed;
        if (js_has(o, flags[i].key) && (s = js_get_bool(o, flags[i].key, where, &found, err)))
            return s;
        if (found != flags[i].computed)
            return fail(err, VT_BAD_INPUT, "%s: field \"%s\": expected %s, the other is not "
                        "computed here", where, flags[i].key, flags[i].computed ? "true" : "false");
    }
    return VT_OK;
}

static vt_status open_hugging_face(checkpoint *c, const char *folder, vt_error *err)
{
    char *config = io_join(folder, "config.json"), *words = io_join(folder, "tokenizer.json");
    json_t *root = NULL;
    st_file f = { .path = NULL };
    bytes text = { 0 };
    vt_status s;
    if (!config || !words) {
        s = fail_memory(err, strlen(folder), "a file's name");
        goto done;
    }
    if ((s = js_read(&root, config, MOST_CONFIG, err)) ||
        (s = checkpoint_read_sizes(&c->z, root, config, err)) ||
        (s = refuse_variants(root, config, err)) ||
        (s = st_open(&f, c->path, most_bytes(), err)) ||
        (s = make_room(c, &f, err)) ||
        (s = copy_all(c, &f, "", true, c->params, err)) ||
        (s = io_read_regular(&text, words, MOST_TOKENIZER, err)) || (s = bytes_append(&text, "", 1, err)))
        goto done;
    c->tokenizer = (char *)text.data;
    c->tokenizer_length = text.len - 1;
    text = (bytes){ 0 };
done:
    bytes_free(&text);
    st_close(&f);
    json_decref(root);
    free(config);
    free(words);
    return s;
}

vt_status checkpoint_open(checkpoint *c, const char *folder, vt_error *err)
{
    struct stat st;
    vt_status s;
    *c = (checkpoint){ .tensors = NULL };
    c->path = io_join(folder, CHECKPOINT_STATE);
    if (!c->path) return fail_memory(err, strlen(folder), "a file's name");
    if (stat(c->path, &st) == 0) {
        s = open_state(c, err);
    } else if (errno != ENOENT && errno != ENOTDIR) {       /* it may be there: no other is taken */
        s = fail(err, status_of(errno), "%s: cannot be looked for: %s", c->path, strerror(errno));
    } else {
        free(c->path);
        c->path = io_join(folder, CHECKPOINT_MODEL);
        if (!c->path) s = fail_memory(err, strlen(folder), "a file's name");
        else if (stat(folder, &st) != 0 && errno == ENOENT)
            s = fail(err, VT_IO, "%s: no such folder: expected the folder of a model", folder);
        else if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
            s = fail(err, VT_IO, "%s: expected the folder of a model", folder);
        else if (stat(c->path, &st) != 0)
            s = fail(err, VT_IO, "%s: holds no model: expected %s, or %s with config.json and "
                     "tokenizer.json", folder, CHECKPOINT_STATE, CHECKPOINT_MODEL);
        else s = open_hugging_face(c, folder, err);
    }
    if (s) checkpoint_close(c);
    return s;
}

vt_status checkpoint_moments(const checkpoint *c, float *m, float *v, vt_error *err)
{
    const vt_status s = copy_all(c, &c->state, "adam.m.", false, m, err);
    return s ? s : copy_all(c, &c->state, "adam.v.", false, v, err);
}

void checkpoint_close(checkpoint *c)
{
    if (c->has_state) st_close(&c->state);
    json_decref(c->run);
    free(c->tensors);
    free(c->params);
    free(c->tokenizer);
    free(c->window);
    free(c->path);
    *c = (checkpoint){ .tensors = NULL };
}
