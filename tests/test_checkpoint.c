/* test_checkpoint.c -- a model in a folder: what is written is what is read,
 * and nothing else is.  Oracle of the files: Python's json and struct.
 */
#include "support.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/rng.h"
#include "model/checkpoint.h"
#include "provenance/manifest.h"
#include "scratch.h"
#include "tiny_model.h"

static const gpt_config small = { .L = 2, .C = 6, .NH = 3, .FF = 7, .T = 5, .V = 11 };
enum { WINDOW = 13 };

/* A state whose every number is random. */
typedef struct saved {
    gpt_config z;
    gpt_tensor *tensors;
    size_t n, count;
    float *block[3];                    /* parameters, m, v */
    int window[WINDOW];
    char run[600];
    checkpoint_parts parts;
} saved;

static void sizes_text(char *out, size_t room, const gpt_config *z)
{
    snprintf(out, room, "{\"model\": {\"activation_function\": \"gelu_new\", \"n_layer\": %d, "
             "\"n_embd\": %d, \"n_head\": %d, \"n_inner\": %d, \"n_positions\": %d, "
             "\"vocab_size\": %d, \"tie_word_embeddings\": %s}}", z->L, z->C, z->NH, z->FF, z->T,
             z->V, z->tied ? "true" : "false");
}

static void saved_make(saved *s, bool tied)
{
    rng r;
    rng_seed(&r, 31);
    *s = (saved){ .z = small };
    s->z.tied = tied;
    s->n = gpt_tensor_count(&s->z);
    s->count = gpt_parameter_count(&s->z);
    s->tensors = malloc(s->n * sizeof *s->tensors);
    assert_non_null(s->tensors);
    gpt_tensor_list(&s->z, s->tensors);
    for (int k = 0; k < 3; k++) {
        s->block[k] = malloc(s->count * sizeof(float));
        assert_non_null(s->block[k]);
        for (size_t i = 0; i < s->count; i++) {
            const float x = (float)rng_normal(&r);
            s->block[k][i] = k == 2 ? x * x : x;
        }
    }
    for (int i = 0; i < WINDOW; i++) s->window[i] = (int)rng_integers(&r, 0, small.V);
    sizes_text(s->run, sizeof s->run, &s->z);
    s->parts = (checkpoint_parts){ .z = &s->z, .tensors = s->tensors, .ntensors = s->n,
        .params = s->block[0], .m = s->block[1], .v = s->block[2], .run = s->run,
        .tokenizer = "{\"a tokenizer\": \"caf\\u00e9\"}", .window = s->window,
        .nwindow = WINDOW };
}

static void saved_free(saved *s)
{
    for (int k = 0; k < 3; k++) free(s->block[k]);
    free(s->tensors);
}

static const char *in(const char *folder, const char *name)
{
    static char paths[8][400];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static const char *folder_of(const char *name)
{
    static char paths[8][300];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s", scratch(name));
    assert_ok(io_mkdir(path, &test_error));
    return path;
}

static void write_state(const saved *s, const char *folder)
{
    char hash[65];
    assert_ok(checkpoint_write_state(folder, &s->parts, hash, &test_error));
}

/* Opening fails with this status and this part of the message, and leaves a
 * zeroed checkpoint. */
static void refused(const char *folder, vt_status status, const char *part)
{
    checkpoint c;
    const vt_status s = checkpoint_open(&c, folder, &test_error);
    if (s != status) fail_msg("status %d, expected %d with %s", (int)s, (int)status, part);
    assert_contains(test_error.text, part);
    assert_true(!c.params && !c.tensors && !c.window && !c.tokenizer && !c.run && !c.path);
    checkpoint_close(&c);
}

/* ---- there and back ---------------------------------------------------- */

/* CKPT-03 */
static void a_state_comes_back_bit_for_bit(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        const char *folder = folder_of(tied ? "tied" : "untied");
        saved s;
        checkpoint c;
        char hash[65], again[65];
        saved_make(&s, tied);
        assert_ok(checkpoint_write_state(folder, &s.parts, hash, &test_error));
        assert_ok(checkpoint_open(&c, folder, &test_error));
        assert_true(c.has_state && c.z.tied == tied);
        assert_memory_equal(&c.z, &s.z, sizeof(int[6]));
        assert_int_equal(c.count, s.count);
        assert_int_equal(c.ntensors, s.n);
        assert_memory_equal(c.params, s.block[0], s.count * sizeof(float));
        assert_string_equal(c.tokenizer, s.parts.tokenizer);
        assert_int_equal(c.tokenizer_length, strlen(s.parts.tokenizer));
        assert_int_equal(c.nwindow, WINDOW);
        assert_memory_equal(c.window, s.window, sizeof s.window);
        float *m = malloc(s.count * sizeof *m), *v = malloc(s.count * sizeof *v);
        assert_ok(checkpoint_moments(&c, m, v, &test_error));
        assert_memory_equal(m, s.block[1], s.count * sizeof *m);
        assert_memory_equal(v, s.block[2], s.count * sizeof *v);
        assert_null(st_find(&c.state, tied ? "param.lm_head.weight" : "param.head"));
        assert_int_equal(c.state.count, 3 * s.n + 1);       /* no other entry */
        const checkpoint_parts back = { .z = &c.z, .tensors = c.tensors, .ntensors = c.ntensors,
            .params = c.params, .m = m, .v = v, .run = s.run, .tokenizer = c.tokenizer,
            .window = c.window, .nwindow = c.nwindow };
        assert_ok(checkpoint_write_state(folder, &back, again, &test_error));
        assert_string_equal(hash, again);
        free(m);
        free(v);
        checkpoint_close(&c);
        saved_free(&s);
    }
}

static const char *const reader =
    "import json, struct, sys\n"
    "def read(path):\n"
    "    raw = open(path, 'rb').read()\n"
    "    n = struct.unpack('<Q', raw[:8])[0]\n"
    "    head = json.loads(raw[8:8+n])\n"
    "    meta = head.pop('__metadata__')\n"
    "    out = {}\n"
    "    for name, t in head.items():\n"
    "        a, b = t['data_offsets']\n"
    "        kind = {'F32': 'f', 'I32': 'i'}[t['dtype']]\n"
    "        data = struct.unpack('<%d%s' % ((b - a) // 4, kind), raw[8+n+a:8+n+b])\n"
    "        size = 1\n"
    "        for s in t['shape']: size *= s\n"
    "        assert size == len(data), name\n"
    "        out[name] = (t['shape'], data)\n"
    "    return meta, out\n"
    "L, C, FF, T, V = 2, 6, 7, 5, 11\n"
    "tied = sys_tied\n"
    "names = [('transformer.wte.weight', [V, C]), ('transformer.wpe.weight', [T, C])]\n"
    "for l in range(L):\n"
    "    p = 'transformer.h.%d.' % l\n"
    "    names += [(p+'ln_1.weight', [C]), (p+'ln_1.bias', [C]), (p+'attn.c_attn.weight', [C, 3*C]),\n"
    "      (p+'attn.c_attn.bias', [3*C]), (p+'attn.c_proj.weight', [C, C]), (p+'attn.c_proj.bias', [C]),\n"
    "      (p+'ln_2.weight', [C]), (p+'ln_2.bias', [C]), (p+'mlp.c_fc.weight', [C, FF]),\n"
    "      (p+'mlp.c_fc.bias', [FF]), (p+'mlp.c_proj.weight', [FF, C]), (p+'mlp.c_proj.bias', [C])]\n"
    "names += [('transformer.ln_f.weight', [C]), ('transformer.ln_f.bias', [C])]\n"
    "if not tied: names += [('lm_head.weight', [C, V])]\n"
    "compared = 0\n"
    "meta, state = read('both/state.safetensors')\n"
    "import hashlib\n"
    "h = hashlib.sha256((meta['run'] + '\\0' + meta['tokenizer'] + '\\0').encode())\n"
    "for name, (shape, data) in state.items():\n"       /* the file's order is the data's */
    "    h.update(name.encode() + b'\\0')\n"
    "    h.update(struct.pack('<%d%s' % (len(data), 'i' if name == 'check.window' else 'f'), *data))\n"
    "assert meta['sha256'] == h.hexdigest()\n"
    "assert meta['format'] == 'vitrine-state-1' and json.loads(meta['run'])['model']['n_embd'] == C\n"
    "assert json.loads(meta['tokenizer']) == {'a tokenizer': 'caf\\u00e9'}\n"
    "assert len(state) == 3 * len(names) + 1\n"
    "for k, prefix in enumerate(['param.', 'adam.m.', 'adam.v.']):\n"
    "    raw = open('block%d' % k, 'rb').read()\n"
    "    block = struct.unpack('<%df' % (len(raw) // 4), raw)\n"
    "    at = 0\n"
    "    for name, shape in names:\n"
    "        found, data = state[prefix + name]\n"
    "        assert found == shape, name\n"
    "        assert data == block[at:at+len(data)], name\n"
    "        at += len(data); compared += len(data)\n"
    "    assert at == len(block)\n"
    "    if k == 0: first = block\n"
    "meta, model = read('both/model.safetensors')\n"
    "assert meta == {'format': 'pt'} and len(model) == len(names)\n"
    "at = 0\n"
    "for name, shape in names:\n"
    "    found, data = model[name]\n"
    "    want = first[at:at+len(data)]\n"
    "    if name == 'lm_head.weight':\n"
    "        assert found == [V, C]\n"
    "        want = tuple(want[i * V + v] for v in range(V) for i in range(C))\n"
    "    else: assert found == shape, name\n"
    "    assert data == want, name\n"
    "    at += len(data); compared += len(data)\n"
    "config = json.load(open('both/config.json'))\n"
    "want = dict(architectures=['GPT2LMHeadModel'], model_type='gpt2', activation_function='gelu_new',\n"
    "  n_layer=L, n_embd=C, n_head=3, n_inner=FF, n_positions=T, vocab_size=V,\n"
    "  tie_word_embeddings=bool(tied), layer_norm_epsilon=1e-5, bos_token_id=V-1, eos_token_id=V-1)\n"
    "for key, value in want.items(): assert config[key] == value, key\n"
    "print('compared', compared)\n";

static void python_reads_the_files(void **state)
{
    (void)state;
    const char *folder = folder_of("both");
    for (int tied = 0; tied < 2; tied++) {
        saved s;
        char hashes[3][65], program[6000];
        saved_make(&s, tied);
        write_state(&s, folder);
        assert_ok(checkpoint_write_model(folder, &s.parts, hashes, &test_error));
        for (int k = 0; k < 3; k++) {
            const char name[] = { 'b', 'l', 'o', 'c', 'k', (char)('0' + k), 0 };
            scratch_file(name, s.block[k], s.count * sizeof(float));
        }
        snprintf(program, sizeof program, "sys_tied = %d\n%s", tied, reader);
        python(program, (long)(4 * s.count));
        saved_free(&s);
    }
}

/* model.safetensors alone gives the same parameters, with either spelling of
 * the names. */
static void hugging_face_files_give_the_same_parameters(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        const char *folder = folder_of(tied ? "hf_tied" : "hf");
        saved s;
        checkpoint c;
        char hashes[3][65];
        saved_make(&s, tied);
        assert_ok(checkpoint_write_model(folder, &s.parts, hashes, &test_error));
        for (int names = 0; names < 2; names++) {
            assert_ok(checkpoint_open(&c, folder, &test_error));
            assert_true(!c.has_state && c.z.tied == tied && !c.run && c.nwindow == 0);
            assert_memory_equal(&c.z, &s.z, sizeof(int[6]));
            assert_memory_equal(c.params, s.block[0], s.count * sizeof(float));
            assert_string_equal(c.tokenizer, s.parts.tokenizer);
            checkpoint_close(&c);

            st_file f;                          /* GPT-2's own: no "transformer." */
            st_item items[40];
            const st_pair meta = { "format", "pt" };
            assert_ok(st_open(&f, in(folder, CHECKPOINT_MODEL), 1 << 20, &test_error));
            for (size_t i = 0; i < f.count; i++) {
                const st_tensor *t = &f.tensors[i];
                const bool long_name = strncmp(t->name, "transformer.", 12) == 0;
                items[i] = (st_item){ .name = t->name + (long_name ? 12 : 0), .dtype = t->dtype,
                                      .rank = t->rank, .data = t->data };
                memcpy(items[i].shape, t->shape, sizeof t->shape);
            }
            assert_ok(st_write(in(folder, CHECKPOINT_MODEL), items, f.count, &meta, 1,
                               &test_error));
            st_close(&f);
        }
        saved_free(&s);
    }
}

/* ---- what is missing or wrong ------------------------------------------ */

/* Copies a safetensors file without one of its tensors. */
static void copy_without(const char *from, const char *to, size_t left_out)
{
    st_file f;
    st_item *items;
    st_pair meta[4];
    char seal[65];
    size_t pairs = 0, n = 0;
    static const char *const keys[] = { "format", "run", "tokenizer" };
    assert_ok(st_open(&f, from, 1 << 20, &test_error));
    items = malloc(f.count * sizeof *items);
    for (size_t i = 0; i < 3; i++)
        if (st_meta(&f, keys[i])) meta[pairs++] = (st_pair){ keys[i], st_meta(&f, keys[i]) };
    for (size_t i = 0; i < f.count; i++) {
        const st_tensor *t = &f.tensors[i];
        if (i == left_out) continue;
        items[n] = (st_item){ .name = t->name, .dtype = t->dtype, .rank = t->rank,
                              .data = t->data };
        memcpy(items[n++].shape, t->shape, sizeof t->shape);
    }
    if (st_meta(&f, "sha256")) {
        assert_ok(checkpoint_seal(seal, st_meta(&f, "run"), st_meta(&f, "tokenizer"), items, n,
                                  &test_error));
        meta[pairs++] = (st_pair){ "sha256", seal };
    }
    assert_ok(st_write(to, items, n, meta, pairs, &test_error));
    free(items);
    st_close(&f);
}

/* CKPT-03: never random. */
static void a_missing_tensor_is_an_error(void **state)
{
    (void)state;
    const char *whole = folder_of("whole"), *less = folder_of("less");
    saved s;
    checkpoint c;
    char hashes[3][65], names[3 * 40 + 1][96];
    saved_make(&s, false);
    write_state(&s, whole);
    st_file f;
    assert_ok(st_open(&f, in(whole, CHECKPOINT_STATE), 1 << 20, &test_error));
    const size_t n = f.count;
    assert_int_equal(n, 3 * s.n + 1);
    for (size_t i = 0; i < n; i++) snprintf(names[i], sizeof names[i], "%s", f.tensors[i].name);
    st_close(&f);
    size_t parameters = 0, moments = 0;
    for (size_t i = 0; i < n; i++) {
        copy_without(in(whole, CHECKPOINT_STATE), in(less, CHECKPOINT_STATE), i);
        if (strncmp(names[i], "param.", 6) == 0) {
            refused(less, VT_BAD_INPUT, names[i]);
            parameters++;
        } else if (strncmp(names[i], "adam.", 5) == 0) {
            refused(less, VT_BAD_INPUT, names[i]);
            moments++;
        } else {
            assert_ok(checkpoint_open(&c, less, &test_error));
            assert_true(c.nwindow == 0);
            checkpoint_close(&c);
        }
    }
    assert_int_equal(parameters, s.n);
    assert_int_equal(moments, 2 * s.n);
    const char *hf = folder_of("hf_whole"), *hf_less = folder_of("hf_less");
    assert_ok(checkpoint_write_model(hf, &s.parts, hashes, &test_error));
    assert_ok(checkpoint_write_model(hf_less, &s.parts, hashes, &test_error));
    for (size_t i = 0; i < s.n; i++) {
        copy_without(in(hf, CHECKPOINT_MODEL), in(hf_less, CHECKPOINT_MODEL), i);
        refused(hf_less, VT_BAD_INPUT, s.tensors[i].file);
    }
    saved_free(&s);
}

static void files_cut_short_are_refused(void **state)
{
    (void)state;
    const char *folder = folder_of("cut"), *hf = folder_of("hf_cut");
    saved s;
    bytes whole = { 0 };
    char hashes[3][65];
    saved_make(&s, true);
    write_state(&s, folder);
    assert_ok(checkpoint_write_model(hf, &s.parts, hashes, &test_error));
    for (int k = 0; k < 2; k++) {
        const char *where = k ? hf : folder, *name = k ? CHECKPOINT_MODEL : CHECKPOINT_STATE;
        assert_ok(io_read(&whole, in(where, name), 1 << 20, &test_error));
        uint64_t header;
        memcpy(&header, whole.data, 8);
        const size_t lengths[] = { 0, 1, 7, 8, 9, 100, header + 7, header + 8, header + 9,
                                   whole.len / 2, whole.len - 4, whole.len - 1 };
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            assert_true(lengths[i] < whole.len);
            assert_ok(io_replace(in(where, name), whole.data, lengths[i], &test_error));
            refused(where, VT_BAD_INPUT, name);
        }
        assert_ok(bytes_append(&whole, "more", 4, &test_error));
        assert_ok(io_replace(in(where, name), whole.data, whole.len, &test_error));
        refused(where, VT_BAD_INPUT, name);
        bytes_free(&whole);
    }
    saved_free(&s);
}

static void foreign_files_are_refused(void **state)
{
    (void)state;
    const char *folder = folder_of("foreign"), *empty = folder_of("empty");
    const float x[2] = { 1, 2 };
    const st_item item = { .name = "x", .dtype = ST_F32, .rank = 1, .shape = { 2 }, .data = x };
    const st_pair none = { "note", "not ours" }, old = { "format", "vitrine-state-0" };
    refused(empty, VT_IO, "holds no model: expected state.safetensors, or model.safetensors");
    refused(in(empty, "nowhere"), VT_IO, "expected the folder of a model");
    assert_ok(io_replace(in(folder, CHECKPOINT_STATE), "Once upon a time there was", 26,
                         &test_error));
    refused(folder, VT_BAD_INPUT, CHECKPOINT_STATE);
    assert_ok(st_write(in(folder, CHECKPOINT_STATE), &item, 1, &none, 1, &test_error));
    refused(folder, VT_BAD_INPUT, "format");
    assert_ok(st_write(in(folder, CHECKPOINT_STATE), &item, 1, &old, 1, &test_error));
    refused(folder, VT_BAD_INPUT, "format \"vitrine-state-0\": expected vitrine-state-1");
}

/* CKPT-04: every byte of the data, and bytes of the header's texts: whichever
 * bit flips, nothing comes of the file. */
static void a_flipped_bit_is_refused(void **state)
{
    (void)state;
    const char *folder = folder_of("flipped");
    saved s;
    bytes whole = { 0 };
    saved_make(&s, false);
    write_state(&s, folder);
    assert_ok(io_read(&whole, in(folder, CHECKPOINT_STATE), 1 << 20, &test_error));
    uint64_t header;
    memcpy(&header, whole.data, 8);
    size_t flipped = 0;
    for (size_t at = 8 + (size_t)header; at < whole.len; at += 7, flipped++) {
        const unsigned char bit = (unsigned char)(1u << at % 8);
        whole.data[at] ^= bit;
        assert_ok(io_replace(in(folder, CHECKPOINT_STATE), whole.data, whole.len, &test_error));
        refused(folder, VT_BAD_INPUT, "state.safetensors: is damaged: its contents have sha256 ");
        whole.data[at] ^= bit;
    }
    assert_int_equal(flipped, ((3 * s.count + WINDOW) * 4 + 6) / 7);
    static const char *const texts[] = { "a tokenizer", "n_layer\\\": 2", "check.window", "\"sha256" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t n = strlen(texts[i]), from = 8;
        while (from < header && memcmp(whole.data + from, texts[i], n) != 0) from++;
        assert_true(from < header);
        unsigned char *at = whole.data + from + n - 1;
        *at ^= 1;
        assert_ok(io_replace(in(folder, CHECKPOINT_STATE), whole.data, whole.len, &test_error));
        refused(folder, VT_BAD_INPUT, i == 3 ? "\"sha256\" is missing" : "is damaged");
        *at ^= 1;
    }
    bytes_free(&whole);
    saved_free(&s);
}

/* Hashes that match do not make such numbers a model. */
static void numbers_that_training_cannot_leave_are_refused(void **state)
{
    (void)state;
    const char *folder = folder_of("numbers");
    static const struct { int block; float value; const char *part; } rows[] = {
        { 0, NAN, "tensor \"param.transformer.wpe.weight\": entry 4 is nan: expected a finite number" },
        { 0, -INFINITY, "\"param.transformer.wpe.weight\": entry 4 is -inf: expected a finite" },
        { 1, INFINITY, "\"adam.m.transformer.wpe.weight\": entry 4 is inf" },
        { 2, NAN, "\"adam.v.transformer.wpe.weight\": entry 4 is nan" },
        { 2, -1e-30f, "\"adam.v.transformer.wpe.weight\": entry 4 is -1e-30: expected a finite "
                      "number, 0 or more" },
        { 2, -0.0f, NULL }, { 1, -1, NULL }, { 0, -1, NULL },
    };
    saved s;
    saved_make(&s, true);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float *at = s.block[rows[i].block] + s.tensors[1].offset + 4, old = *at;
        checkpoint c;
        *at = rows[i].value;
        write_state(&s, folder);
        if (rows[i].part) {
            refused(folder, VT_BAD_INPUT, rows[i].part);
        } else {
            assert_ok(checkpoint_open(&c, folder, &test_error));
            checkpoint_close(&c);
        }
        *at = old;
    }
    char hashes[3][65];
    const char *hf = folder_of("hf_numbers");
    s.block[0][3] = NAN;
    assert_ok(checkpoint_write_model(hf, &s.parts, hashes, &test_error));
    refused(hf, VT_BAD_INPUT, "model.safetensors: tensor \"transformer.wte.weight\": entry 3 is nan");
    saved_free(&s);
}

/* Sizes are compared with the file before anything is made from them: with
 * 2^31 - 1 layers this ends at once. */
static void sizes_that_the_file_does_not_hold_are_refused(void **state)
{
    (void)state;
    const char *folder = folder_of("sizes");
    static const struct { const char *from, *to; vt_status status; const char *part; } rows[] = {
        { "\"n_layer\": 2", "\"n_layer\": 2147483647", VT_BAD_INPUT, "parameters are needed" },
        { "\"n_layer\": 2", "\"n_layer\": 3", VT_BAD_INPUT, "h.2." },
        { "\"n_layer\": 2", "\"n_layer\": 0", VT_BAD_INPUT, "n_layer" },
        { "\"n_layer\": 2", "\"n_layer\": -1", VT_BAD_INPUT, "n_layer" },
        { "\"n_layer\": 2", "\"n_layer\": 2.0", VT_BAD_INPUT, "n_layer" },
        { "\"n_layer\": 2, ", "", VT_BAD_INPUT, "n_layer" },
        { "\"n_layer\": 2", "\"n_layer\": 4294967298", VT_BAD_INPUT, "n_layer" },
        { "\"n_embd\": 6", "\"n_embd\": 9", VT_BAD_INPUT, "wte" },
        { "\"n_embd\": 6", "\"n_embd\": 2147483646", VT_TOO_LARGE, "overflows" },
        { "\"n_embd\": 6", "\"n_embd\": 60000000", VT_BAD_INPUT, "parameters are needed" },
        { "\"n_head\": 3", "\"n_head\": 4", VT_BAD_INPUT, "does not divide" },
        { "\"n_inner\": 7", "\"n_inner\": 8", VT_BAD_INPUT, "c_fc" },
        { "\"n_inner\": 7", "\"n_inner\": 2147483647", VT_BAD_INPUT, "parameters are needed" },
        { "\"n_positions\": 5", "\"n_positions\": 6", VT_BAD_INPUT, "wpe" },
        { "\"vocab_size\": 11", "\"vocab_size\": 10", VT_BAD_INPUT, "wte" },
        { "\"vocab_size\": 11", "\"vocab_size\": 2147483647", VT_BAD_INPUT, "are needed" },
        { "false", "true", VT_OK, "" },         /* tied: the head is not read */
        { "false", "\"no\"", VT_BAD_INPUT, "tie_word_embeddings" },
        { "gelu_new", "gelu", VT_BAD_INPUT, "expected gelu_new" },      /* ACT-01 */
        { "gelu_new", "relu", VT_BAD_INPUT, "\"relu\", which is not computed here" },
        { "\"model\"", "\"modem\"", VT_BAD_INPUT, "model" },
        { "}}", "}", VT_BAD_INPUT, CHECKPOINT_STATE },
    };
    saved s;
    char original[600];
    saved_make(&s, false);
    memcpy(original, s.run, sizeof original);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *at = strstr(original, rows[i].from);
        assert_non_null(at);
        snprintf(s.run, sizeof s.run, "%.*s%s%s", (int)(at - original), original, rows[i].to,
                 at + strlen(rows[i].from));
        write_state(&s, folder);
        if (rows[i].status) {
            refused(folder, rows[i].status, rows[i].part);
        } else {
            checkpoint c;
            assert_ok(checkpoint_open(&c, folder, &test_error));
            assert_int_equal(c.count, s.count - 66);
            checkpoint_close(&c);
        }
    }
    saved_free(&s);
}

/* Large enough, but of one tensor: no list of 60,000 is made for it. */
static void sizes_of_more_tensors_than_the_file_has_are_refused(void **state)
{
    (void)state;
    enum { N = 200000 };
    const char *folder = folder_of("many");
    const gpt_config z = { .L = 5000, .C = 1, .NH = 1, .FF = 1, .T = 1, .V = 1 };
    char run[600];
    float *x = calloc(N, sizeof *x);
    assert_non_null(x);
    assert_true(gpt_parameter_count(&z) < N);
    sizes_text(run, sizeof run, &z);
    const st_item item = { .name = "x", .dtype = ST_F32, .rank = 1, .shape = { N }, .data = x };
    char seal[65];
    assert_ok(checkpoint_seal(seal, run, "{}", &item, 1, &test_error));
    const st_pair meta[] = { { "format", CHECKPOINT_FORMAT }, { "run", run },
                             { "tokenizer", "{}" }, { "sha256", seal } };
    assert_ok(st_write(in(folder, CHECKPOINT_STATE), &item, 1, meta, 4, &test_error));
    refused(folder, VT_BAD_INPUT, "60005 tensors are needed by its sizes, but it holds 1");
    free(x);
}

static void tokens_of_the_window_are_checked(void **state)
{
    (void)state;
    const char *folder = folder_of("window");
    const int bad[] = { -1, 11, INT_MAX, INT_MIN };
    saved s;
    char part[100];
    saved_make(&s, true);
    for (size_t i = 0; i < 4; i++) {
        s.window[7] = bad[i];
        write_state(&s, folder);
        snprintf(part, sizeof part, "check.window: row 0, position 7: id %d: expected 0 to 10",
                 bad[i]);
        refused(folder, VT_BAD_INPUT, part);
    }
    saved_free(&s);
}

/* What a GPT-2 of other makers may ask for, and is not computed here. */
static void variants_in_config_json_are_refused(void **state)
{
    (void)state;
    const char *folder = folder_of("variants");
    static const struct { const char *from, *to, *part; } rows[] = {
        { "1e-05", "1e-06", "\"layer_norm_epsilon\": expected 1e-05" },
        { "\"model_type\"", "\"scale_attn_weights\": false, \"model_type\"",
          "\"scale_attn_weights\": expected true" },
        { "\"model_type\"", "\"scale_attn_by_inverse_layer_idx\": true, \"model_type\"",
          "\"scale_attn_by_inverse_layer_idx\": expected false" },
        { "\"gelu_new\"", "\"gelu\"", "expected gelu_new" },
        { "\"n_layer\": 2", "\"n_layer\": 2147483647", "parameters are needed by its sizes" },
        { "\"model_type\"", "\"scale_attn_weights\": true, \"model_type\"", NULL },
        { "\"n_inner\": 24", "\"n_inner\": null", NULL },               /* 4 C */
    };
    saved s;
    char hashes[3][65], text[4000];
    bytes config = { 0 };
    saved_make(&s, true);
    saved_free(&s);
    s.z.FF = 24;
    s.count = gpt_parameter_count(&s.z);
    s.tensors = malloc(s.n * sizeof *s.tensors);
    gpt_tensor_list(&s.z, s.tensors);
    for (int k = 0; k < 3; k++) s.block[k] = calloc(s.count, sizeof(float));
    s.parts.tensors = s.tensors;
    s.parts.params = s.block[0];
    assert_ok(checkpoint_write_model(folder, &s.parts, hashes, &test_error));
    assert_ok(io_read(&config, in(folder, "config.json"), 4000, &test_error));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *all = (const char *)config.data, *at = strstr(all, rows[i].from);
        if (!at) fail_msg("config.json lacks %s", rows[i].from);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - all), all, rows[i].to,
                 at + strlen(rows[i].from));
        assert_ok(io_replace(in(folder, "config.json"), text, strlen(text), &test_error));
        if (rows[i].part) {
            refused(folder, VT_BAD_INPUT, rows[i].part);
        } else {
            checkpoint c;
            assert_ok(checkpoint_open(&c, folder, &test_error));
            assert_int_equal(c.z.FF, 24);
            checkpoint_close(&c);
        }
    }
    bytes_free(&config);
    saved_free(&s);
}

/* ---- trained models ----------------------------------------------------- */

typedef struct heard { char text[2000]; size_t n; } heard;

static bool hear(void *context, int sample, const char *text, size_t n)
{
    heard *h = context;
    (void)sample;
    assert_true(h->n + n < sizeof h->text);
    memcpy(h->text + h->n, text, n);
    h->n += n;
    return false;
}

static void speak(const char *folder, heard *h)
{
    vt_model *m;
    vt_generate_options o;
    size_t tokens;
    *h = (heard){ .n = 0 };
    vt_generate_defaults(&o);
    o.prompt = "the cat";
    o.prompt_length = 7;
    assert_ok(vt_model_open(&m, folder, 1, NULL, &test_error));
    assert_ok(vt_generate(m, &o, hear, h, &tokens, &test_error));
    assert_int_equal(tokens, 50);
    vt_model_close(m);
}

static void without_its_state_a_model_speaks_the_same(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        const vt_train_options o = tiny_options(tied ? "speaks_tied" : "speaks", 12, tied);
        heard before, after;
        tiny_train(&o);
        speak(o.out, &before);
        assert_true(before.n > 50);
        assert_int_equal(unlink(in(o.out, CHECKPOINT_STATE)), 0);
        speak(o.out, &after);
        assert_int_equal(before.n, after.n);
        assert_memory_equal(before.text, after.text, before.n);
    }
}

static void another_tokenizer_is_refused(void **state)
{
    (void)state;
    vt_train_options one = tiny_options("words20", 8, true), two = tiny_options("words19", 8, true);
    vt_model *m;
    bytes words = { 0 };
    two.merges = 19;
    tiny_train(&one);
    tiny_train(&two);
    assert_int_equal(unlink(in(one.out, CHECKPOINT_STATE)), 0);
    assert_ok(io_read(&words, in(two.out, "tokenizer.json"), 1 << 20, &test_error));
    assert_ok(io_replace(in(one.out, "tokenizer.json"), words.data, words.len, &test_error));
    bytes_free(&words);
    assert_int_equal(vt_model_open(&m, one.out, 1, NULL, &test_error), VT_BAD_INPUT);
    assert_null(m);
    assert_contains(test_error.text, "the tokenizer has 276 tokens, the model 277");
}

static void the_manifest_names_a_changed_file(void **state)
{
    (void)state;
    static const char *const names[] = { "state.safetensors", "model.safetensors", "config.json",
                                         "tokenizer.json" };
    const vt_train_options o = tiny_options("proved", 8, false);
    tiny_train(&o);
    assert_ok(manifest_verify(o.out, &test_error));
    for (size_t i = 0; i < 4; i++) {
        bytes b = { 0 };
        char part[60];
        assert_ok(io_read(&b, in(o.out, names[i]), 1 << 24, &test_error));
        b.data[b.len - 1] ^= 1;
        assert_ok(io_replace(in(o.out, names[i]), b.data, b.len, &test_error));
        assert_int_equal(manifest_verify(o.out, &test_error), VT_BAD_INPUT);
        snprintf(part, sizeof part, ": %s has sha256 ", names[i]);
        assert_contains(test_error.text, part);
        b.data[b.len - 1] ^= 1;
        assert_ok(io_replace(in(o.out, names[i]), b.data, b.len, &test_error));
        bytes_free(&b);
    }
    assert_ok(manifest_verify(o.out, &test_error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_comes_back_bit_for_bit),
        cmocka_unit_test(python_reads_the_files),
        cmocka_unit_test(hugging_face_files_give_the_same_parameters),
        cmocka_unit_test(a_missing_tensor_is_an_error),
        cmocka_unit_test(files_cut_short_are_refused),
        cmocka_unit_test(foreign_files_are_refused),
        cmocka_unit_test(a_flipped_bit_is_refused),
        cmocka_unit_test(numbers_that_training_cannot_leave_are_refused),
        cmocka_unit_test(sizes_that_the_file_does_not_hold_are_refused),
        cmocka_unit_test(sizes_of_more_tensors_than_the_file_has_are_refused),
        cmocka_unit_test(tokens_of_the_window_are_checked),
        cmocka_unit_test(variants_in_config_json_are_refused),
        cmocka_unit_test(without_its_state_a_model_speaks_the_same),
        cmocka_unit_test(another_tokenizer_is_refused),
        cmocka_unit_test(the_manifest_names_a_changed_file),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
