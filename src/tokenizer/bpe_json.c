/* bpe_json.c -- a tokenizer as Hugging Face's tokenizer.json.
 *
 * The part that matters here:
 *
 *     added_tokens   [{"id": 756, "content": "<|endoftext|>", "special": true, ..}]
 *     pre_tokenizer  {"type": "ByteLevel", "add_prefix_space": false, ..}
 *     model          {"type": "BPE", "vocab": {token: id, ..}, "merges": ["a b", ..]}
 *
 * Tokens are spelled in GPT-2's alphabet, in which every byte is one printable
 * character (spelling() below): a space is U+0120.  No character of it is a
 * space, so a merge can be written "left right"; newer files have pairs.
 *
 * What is read must be a byte-level BPE that this library can honour: all 256
 * bytes, one token per merge, and <|endoftext|>, with the ids 0 .. V-1 in any
 * order; a merge joins tokens that are bytes or were made before it.  Then the
 * vocabulary holds nothing else, and encoding is what encoder.py does.  A field
 * that would change the result (a normalizer, dropout, ignore_merges ..) is
 * refused, not overlooked.  No token is longer than its spelling in the file, so
 * memory is bounded by the file.
 *
 * References: GPT-2's encoder.py, bytes_to_unicode; the format is documented by
 * the tokenizers library (fields of BPE and ByteLevel).
 */
#include "formats/json.h"
#include "tokenizer/bpe_internal.h"
#include <stdlib.h>
#include <string.h>

/* Printable characters of Latin-1 stand for themselves; the 68 others, in
 * order, for U+0100 .. U+0143. */
static unsigned spelling(unsigned byte)
{
    if (byte <= 32) return 256 + byte;
    if (byte >= 127 && byte <= 160) return 256 + 33 + (byte - 127);
    if (byte == 173) return 256 + 67;
    return byte;
}

/* Writes a token's spelling and a NUL: at most 2 n + 1 bytes. */
static void spell(char *out, const unsigned char *piece, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned c = spelling(piece[i]);
        if (c < 0x80) {
            *out++ = (char)c;
        } else {
            *out++ = (char)(0xC0 | c >> 6);
            *out++ = (char)(0x80 | (c & 63));
        }
    }
    *out = 0;
}

/* ---- writing ---- */

/* A growing string: a merge's two spellings. */
typedef struct line { char *text; size_t cap; } line;

/* line = spelling of `id`, after the first `at` bytes; *end = its length. */
static vt_status spell_token(const bpe *b, int id, line *l, size_t at, size_t *end, vt_error *err)
{
    const struct bpe_piece p = b->piece[id];
    size_t need;
    char *text = NULL;
    if (size_mul(p.len, 2, &need) && size_add(need, at, &need) && size_add(need, 1, &need))
        text = bpe_grow(l->text, &l->cap, need, 1);
    if (!text) return fail_memory(err, p.len, "the spelling of a token");
    l->text = text;
    if (id == b->end) memcpy(text + at, BPE_END_TEXT, sizeof BPE_END_TEXT);
    else spell(text + at, b->text + p.at, p.len);
    *end = at + strlen(text + at);
    return VT_OK;
}

static void write_added(js_writer *w, const bpe *b)
{
    js_key(w, "added_tokens");
    js_open_array(w);
    js_open_object(w);
    js_field_int(w, "id", b->end);
    js_field_string(w, "content", BPE_END_TEXT);
    js_field_bool(w, "single_word", false);
    js_field_bool(w, "lstrip", false);
    js_field_bool(w, "rstrip", false);
    js_field_bool(w, "normalized", false);
    js_field_bool(w, "special", true);
    js_close_object(w);
    js_close_array(w);
}

/* A ByteLevel step; only the pre-tokenizer's first field is read by anybody. */
static void write_byte_level(js_writer *w, const char *key)
{
    js_key(w, key);
    js_open_object(w);
    js_field_string(w, "type", "ByteLevel");
    js_field_bool(w, "add_prefix_space", false);
    js_field_bool(w, "trim_offsets", true);
    js_field_bool(w, "use_regex", true);
    js_close_object(w);
}

static vt_status write_model(js_writer *w, const bpe *b, line *l, vt_error *err)
{
    vt_status status = VT_OK;
    size_t end;
    js_key(w, "model");
    js_open_object(w);
    js_field_string(w, "type", "BPE");
    js_field_null(w, "dropout");
    js_field_null(w, "unk_token");
    js_field_null(w, "continuing_subword_prefix");
    js_field_null(w, "end_of_word_suffix");
    js_field_bool(w, "fuse_unk", false);
    js_field_bool(w, "byte_fallback", false);
    js_key(w, "vocab");
    js_open_object(w);
    for (int id = 0; id < b->vocab && !status; id++) {
        status = spell_token(b, id, l, 0, &end, err);
        if (!status) js_field_int(w, l->text, id);
    }
    js_close_object(w);
    js_key(w, "merges");
    js_open_array(w);
    for (int rank = 0; rank < b->merges && !status; rank++) {
        status = spell_token(b, b->merge[rank].left, l, 0, &end, err);
        if (!status) {                          /* the space takes the NUL's place */
            l->text[end] = ' ';
            status = spell_token(b, b->merge[rank].right, l, end + 1, &end, err);
        }
        if (!status) js_string(w, l->text);
    }
    js_close_array(w);
    js_close_object(w);
    return status;
}

vt_status bpe_to_json(const bpe *b, bytes *out, vt_error *err)
{
    js_writer w;
    line l = { 0 };
    const size_t before = out->len;
    js_begin(&w, out, JS_PRETTY);
    js_open_object(&w);
    js_field_string(&w, "version", "1.0");
    js_field_null(&w, "truncation");
    js_field_null(&w, "padding");
    write_added(&w, b);
    js_field_null(&w, "normalizer");
    write_byte_level(&w, "pre_tokenizer");
    js_field_null(&w, "post_processor");
    write_byte_level(&w, "decoder");
    vt_status status = write_model(&w, b, &l, err);
    js_close_object(&w);
    const vt_status written = js_end(&w, status ? NULL : err);
    if (!status) status = written;
    if (status) out->len = before;
    free(l.text);
    return status;
}

/* ---- reading ---- */

typedef struct reader {
    const char   *name;                         /* of the file */
    const json_t *vocab, *merges;
    size_t        V;
    bool         *taken;                        /* ids that a token has */
    bpe          *b;
} reader;

static vt_status refuse(const reader *r, vt_error *err, const char *field, const char *expected)
{
    return fail(err, VT_BAD_INPUT, "%s: %s: expected %s", r->name, field, expected);
}

static bool is_text(const json_t *value, const char *text)
{
    return json_is_string(value) && json_string_length(value) == strlen(text)
           && memcmp(json_string_value(value), text, strlen(text)) == 0;
}

/* null, left out, or for texts empty, for numbers zero, for switches off */
static bool is_off(const json_t *value)
{
    return !value || json_is_null(value) || json_is_false(value) || is_text(value, "")
           || (json_is_number(value) && json_number_value(value) == 0.0);
}

static bool is_byte_level(const json_t *step)
{
    return is_text(json_object_get(step, "type"), "ByteLevel");
}

/* Fields beside the model: nothing may change the text or the ids. */
static vt_status check_steps(const reader *r, const json_t *root, vt_error *err)
{
    static const char *const none[] = { "normalizer", "truncation", "padding" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (!is_off(json_object_get(root, none[i]))) return refuse(r, err, none[i], "null");
    const json_t *pre = json_object_get(root, "pre_tokenizer");
    if (!is_byte_level(pre)) return refuse(r, err, "pre_tokenizer", "one of type \"ByteLevel\"");
    if (!json_is_false(json_object_get(pre, "add_prefix_space")))
        return refuse(r, err, "pre_tokenizer.add_prefix_space", "false");
    const json_t *regex = json_object_get(pre, "use_regex");
    if (regex && !json_is_true(regex)) return refuse(r, err, "pre_tokenizer.use_regex", "true");
    static const char *const after[] = { "post_processor", "decoder" };
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        const json_t *step = json_object_get(root, after[i]);
        if (!is_off(step) && !is_byte_level(step))
            return refuse(r, err, after[i], "null or one of type \"ByteLevel\"");
    }
    return VT_OK;
}

static vt_status check_model(reader *r, const json_t *root, vt_error *err)
{
    const json_t *model = json_object_get(root, "model");
    if (!json_is_object(model)) return refuse(r, err, "model", "an object");
    const json_t *type = json_object_get(model, "type");
    if (type && !is_text(type, "BPE")) return refuse(r, err, "model.type", "\"BPE\"");
    static const char *const off[][2] = {
        { "dropout", "model.dropout" },
        { "continuing_subword_prefix", "model.continuing_subword_prefix" },
        { "end_of_word_suffix", "model.end_of_word_suffix" },
        { "byte_fallback", "model.byte_fallback" },
        { "ignore_merges", "model.ignore_merges" },
    };
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        if (!is_off(json_object_get(model, off[i][0])))
            return refuse(r, err, off[i][1], "null, empty or false");
    r->vocab = json_object_get(model, "vocab");
    r->merges = json_object_get(model, "merges");
    if (!json_is_object(r->vocab)) return refuse(r, err, "model.vocab", "an object");
    if (!json_is_array(r->merges)) return refuse(r, err, "model.merges", "an array");
    return VT_OK;
}

/* The id of <|endoftext|>: the only added token; it may or may not stand in the
 * vocabulary as well. */
static vt_status read_end(reader *r, const json_t *root, int *end, vt_error *err)
{
    const json_t *added = json_object_get(root, "added_tokens"), *only = json_array_get(added, 0);
    if (!json_is_array(added) || json_array_size(added) != 1
        || !is_text(json_object_get(only, "content"), BPE_END_TEXT))
        return refuse(r, err, "added_tokens", "one token, \"" BPE_END_TEXT "\"");
    const json_t *known = json_object_get(r->vocab, BPE_END_TEXT);
    const json_t *id = json_object_get(only, "id");
    r->V = json_object_size(r->vocab) + (known ? 0 : 1);
    if (r->V != 257 + json_array_size(r->merges))
        return fail(err, VT_BAD_INPUT, "%s: model: %zu tokens with " BPE_END_TEXT " and %zu merges: "
                    "expected 256 bytes, a token per merge and " BPE_END_TEXT, r->name, r->V,
                    json_array_size(r->merges));
    if (!json_is_integer(id) || json_integer_value(id) < 0
        || (json_int_t)r->V <= json_integer_value(id))
        return fail(err, VT_BAD_INPUT, "%s: added_tokens[0].id: expected an integer in 0 .. %zu",
                    r->name, r->V - 1);
    if (known && !json_equal(known, id))
        return refuse(r, err, "model.vocab[\"" BPE_END_TEXT "\"]", "the id in added_tokens");
    *end = (int)json_integer_value(id);
    return VT_OK;
}

/* The id of a spelling in the vocabulary, -1 where there is none, -2 where it
 * is not an id. */
static int lookup(const reader *r, const char *text)
{
    const json_t *id = json_object_get(r->vocab, text);
    if (!id) return -1;
    if (!json_is_integer(id) || json_integer_value(id) < 0
        || json_integer_value(id) >= (json_int_t)r->V) return -2;
    return (int)json_integer_value(id);
}

static vt_status read_bytes(reader *r, vt_error *err)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        const unsigned char it = (unsigned char)byte;
        char text[3];
        spell(text, &it, 1);
        const int id = lookup(r, text);
        if (id < 0 || r->taken[id])
            return fail(err, VT_BAD_INPUT, "%s: model.vocab: byte %u, spelled \"%s\": expected an id "
                        "of 0 .. %zu of its own", r->name, byte, text, r->V - 1);
        r->taken[id] = true;
        const vt_status status = bpe_set_byte(r->b, byte, id, err);
        if (status) return status;
    }
    return VT_OK;
}

/* Copies the two spellings of a merge, joined, into *l, and finds their ids;
 * false where it is not "left right" or [left, right]. */
static vt_status merge_parts(const reader *r, const json_t *merge, line *l, int *left, int *right,
                             bool *good, vt_error *err)
{
    const json_t *a = json_array_get(merge, 0), *b = json_array_get(merge, 1);
    const char *x, *y;
    size_t m, n;
    *good = false;
    if (json_is_string(merge)) {
        x = json_string_value(merge);
        const char *space = strchr(x, ' ');
        if (!space || strlen(x) != json_string_length(merge)) return VT_OK;
        m = (size_t)(space - x);
        y = space + 1;
        n = strlen(y);
    } else {
        if (json_array_size(merge) != 2 || !json_is_string(a) || !json_is_string(b)) return VT_OK;
        x = json_string_value(a);
        y = json_string_value(b);
        m = json_string_length(a);
        n = json_string_length(b);
        if (strlen(x) != m || strlen(y) != n) return VT_OK;
    }
    char *text = bpe_grow(l->text, &l->cap, m + n + 1, 1);
    if (!text) return fail_memory(err, m + n + 1, "a merge");
    l->text = text;
    memcpy(text, x, m);
    text[m] = 0;
    *left = lookup(r, text);
    *right = lookup(r, y);
    memcpy(text + m, y, n + 1);
    *good = true;
    return VT_OK;
}

static vt_status read_merges(reader *r, line *l, vt_error *err)
{
    const size_t n = json_array_size(r->merges);
    for (size_t k = 0; k < n; k++) {
        int left = -1, right = -1;
        bool good;
        vt_status status = merge_parts(r, json_array_get(r->merges, k), l, &left, &right, &good, err);
        if (status) return status;
        if (!good)
            return fail(err, VT_BAD_INPUT, "%s: model.merges[%zu]: expected \"left right\" or "
                        "[\"left\", \"right\"]", r->name, k);
        if (left < 0 || right < 0 || !r->taken[left] || !r->taken[right])
            return fail(err, VT_BAD_INPUT, "%s: model.merges[%zu]: its %s part: expected a byte or a "
                        "token made before", r->name, k,
                        left < 0 || !r->taken[left] ? "left" : "right");
        const int made = lookup(r, l->text);
        if (made < 0 || r->taken[made])
            return fail(err, VT_BAD_INPUT, "%s: model.merges[%zu]: the token it makes: expected an id "
                        "of 0 .. %zu of its own in model.vocab", r->name, k, r->V - 1);
        r->taken[made] = true;
        status = bpe_add_merge(r->b, left, right, made, err);
        if (status) return status;
    }
    return VT_OK;
}

vt_status bpe_from_json(bpe **out, const void *data, size_t n, const char *name, vt_error *err)
{
    json_t *root = NULL;
    reader r = { .name = name };
    line l = { 0 };
    int end = 0;
    *out = NULL;
    vt_status status = js_parse(&root, data, n, name, err);
    if (status) goto done;
    status = check_steps(&r, root, err);
    if (!status) status = check_model(&r, root, err);
    if (!status) status = read_end(&r, root, &end, err);
    if (!status) status = bpe_new(&r.b, r.V, err);
    if (status) goto done;
    r.taken = calloc(r.V, sizeof *r.taken);
    if (!r.taken) {
        status = fail_memory(err, r.V, "token ids");
        goto done;
    }
    status = read_bytes(&r, err);
    if (!status) status = read_merges(&r, &l, err);
    if (!status && r.taken[end])
        status = refuse(&r, err, "added_tokens[0].id", "an id that no other token has");
    if (!status) status = bpe_finish(r.b, end, err);
    if (status) goto done;
    *out = r.b;
    r.b = NULL;
done:
    bpe_free(r.b);
    free(r.taken);
    free(l.text);
    json_decref(root);
    return status;
}
