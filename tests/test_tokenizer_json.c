/* test_tokenizer_json.c -- tokenizer.json: what is written, what is read, what
 * is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support.h"
#include "base/rng.h"
#include "tokenizer/bpe.h"

static bpe *trained(void)
{
    static const char text[] = "this thing and that thing; the cat and the hat, the caf\xC3\xA9 and the rat\n\n\nthat sat\xFF\xFE\xFF\xFE";
    const bpe_text doc = { (const unsigned char *)text, sizeof text - 1 };
    bpe *b = NULL;
    assert_ok(bpe_train(&b, &doc, 1, 12, NULL, &test_error));
    assert_int_equal(bpe_merges(b), 12);
    return b;
}

static void check_equal(const bpe *x, const bpe *y)
{
    assert_int_equal(bpe_vocab(x), bpe_vocab(y));
    assert_int_equal(bpe_end(x), bpe_end(y));
    for (int id = 0; id < bpe_vocab(x); id++) {
        size_t n, m;
        const unsigned char *p = bpe_piece(x, id, &n), *q = bpe_piece(y, id, &m);
        assert_int_equal(n, m);
        assert_memory_equal(p, q, n);
    }
}

static void check_ids(const bpe *b, const char *text, const int *expected, size_t n)
{
    bpe_ids ids = { 0 };
    assert_ok(bpe_encode(b, text, strlen(text), &ids, &test_error));
    assert_int_equal(ids.len, n);
    for (size_t i = 0; i < n; i++) assert_int_equal(ids.data[i], expected[i]);
    bpe_ids_free(&ids);
}

/* The same bytes each time, and what is read is what was written. */
static void test_round_trip(void **unused)
{
    (void)unused;
    bpe *b = trained(), *again = NULL;
    bytes one = { 0 }, two = { 0 }, three = { 0 };
    assert_ok(bpe_to_json(b, &one, &test_error));
    assert_ok(bpe_to_json(b, &two, &test_error));
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.data, two.data, one.len);
    assert_ok(bpe_from_json(&again, one.data, one.len, "tokenizer.json", &test_error));
    check_equal(b, again);
    assert_ok(bpe_to_json(again, &three, &test_error));
    assert_int_equal(one.len, three.len);
    assert_memory_equal(one.data, three.data, one.len);
    bpe_ids x = { 0 }, y = { 0 };
    const char *text = "that cat sat; the fat \xC3\xA9 \xFF\xFE <|endoftext|>\n\n";
    assert_ok(bpe_encode(b, text, strlen(text), &x, &test_error));
    assert_ok(bpe_encode(again, text, strlen(text), &y, &test_error));
    assert_int_equal(x.len, y.len);
    assert_true(x.len < strlen(text));
    assert_memory_equal(x.data, y.data, x.len * sizeof *x.data);
    bpe_ids_free(&x);
    bpe_ids_free(&y);
    bytes_free(&one);
    bytes_free(&two);
    bytes_free(&three);
    bpe_free(b);
    bpe_free(again);
}

/* The fields that the tokenizers library reads, by jansson. */
static void test_fields(void **unused)
{
    (void)unused;
    static const char text[] = "  x  x\xC2\xADy\xC2\xADy";     /* U+00AD: bytes C2 AD */
    const bpe_text doc = { (const unsigned char *)text, sizeof text - 1 };
    bpe *b = NULL;
    assert_ok(bpe_train(&b, &doc, 1, 5, NULL, &test_error));
    bytes out = { 0 };
    assert_ok(bpe_to_json(b, &out, &test_error));
    json_t *root = json_loadb((const char *)out.data, out.len, 0, NULL);
    assert_non_null(root);
    const json_t *model = json_object_get(root, "model");
    assert_string_equal(json_string_value(json_object_get(root, "version")), "1.0");
    assert_string_equal(json_string_value(json_object_get(model, "type")), "BPE");
    const json_t *pre = json_object_get(root, "pre_tokenizer"), *decoder = json_object_get(root, "decoder");
    assert_string_equal(json_string_value(json_object_get(pre, "type")), "ByteLevel");
    assert_true(json_is_false(json_object_get(pre, "add_prefix_space")));
    assert_string_equal(json_string_value(json_object_get(decoder, "type")), "ByteLevel");
    assert_true(json_is_null(json_object_get(root, "normalizer")));
    const json_t *added = json_array_get(json_object_get(root, "added_tokens"), 0);
    assert_string_equal(json_string_value(json_object_get(added, "content")), "<|endoftext|>");
    assert_true(json_is_true(json_object_get(added, "special")));
    assert_int_equal(json_integer_value(json_object_get(added, "id")), bpe_end(b));

    const json_t *vocab = json_object_get(model, "vocab");
    assert_int_equal(json_object_size(vocab), (size_t)bpe_vocab(b));
    /* GPT-2's alphabet, from the description in encoder.py: bytes 33..126,
     * 161..172, 174..255 are themselves, the others 256, 257, .. in order. */
    unsigned next = 256;
    for (unsigned byte = 0; byte < 256; byte++) {
        const bool itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
        const unsigned c = itself ? byte : next++;
        char key[4] = { 0 };
        if (c < 128) key[0] = (char)c;
        else { key[0] = (char)(0xC0 | c >> 6); key[1] = (char)(0x80 | (c & 63)); }
        const json_t *id = json_object_get(vocab, key);
        assert_true(json_is_integer(id));
        assert_int_equal(json_integer_value(id), byte);
    }
    assert_int_equal(next, 256 + 68);
    /* Words: " ", " x", " ", " x", C2 AD, "y", C2 AD, "y": merges " x" and C2 AD,
     * count 2 each; the space is the smaller byte.  U+0120 is C4 A0; C2 and AD
     * are spelled U+00C2, U+0143. */
    const json_t *merges = json_object_get(model, "merges");
    assert_int_equal(json_array_size(merges), 2);
    assert_string_equal(json_string_value(json_array_get(merges, 0)), "\xC4\xA0 x");
    assert_string_equal(json_string_value(json_array_get(merges, 1)), "\xC3\x82 \xC5\x83");
    assert_int_equal(json_integer_value(json_object_get(vocab, "\xC4\xA0x")), 256);
    assert_int_equal(json_integer_value(json_object_get(vocab, "\xC3\x82\xC5\x83")), 257);
    json_decref(root);
    bytes_free(&out);
    bpe_free(b);
}

/* A file's text from a tree, compact. */
static char *dump(const json_t *root)
{
    char *text = json_dumps(root, JSON_COMPACT);
    assert_non_null(text);
    return text;
}

static json_t *tree(void)
{
    bpe *b = trained();
    bytes out = { 0 };
    assert_ok(bpe_to_json(b, &out, &test_error));
    json_t *root = json_loadb((const char *)out.data, out.len, 0, NULL);
    assert_non_null(root);
    bytes_free(&out);
    bpe_free(b);
    return root;
}

/* GPT-2's own file: ids in the order of the alphabet ('!' is 0), no type, empty
 * texts, a post-processor; merges as strings or pairs; <|endoftext|> may be left
 * out of the vocabulary. */
static void test_gpt2_like(void **unused)
{
    (void)unused;
    for (int form = 0; form < 3; form++) {
        json_t *root = tree(), *model = json_object_get(root, "model");
        json_t *vocab = json_object_get(model, "vocab"), *merges = json_object_get(model, "merges");
        const json_int_t V = (json_int_t)json_object_size(vocab);
        const char *key;
        json_t *value;
        json_object_foreach(vocab, key, value)          /* byte b: b - 33, modulo 256 */
            if (json_integer_value(value) < 256)
                json_integer_set(value, (json_integer_value(value) + 223) % 256);
        json_object_del(model, "type");
        json_object_set_new(model, "unk_token", json_string(""));
        json_object_set_new(model, "continuing_subword_prefix", json_string(""));
        json_object_set_new(model, "end_of_word_suffix", json_string(""));
        json_object_set_new(root, "post_processor",
                            json_pack("{s:s,s:b}", "type", "ByteLevel", "add_prefix_space", 1));
        if (form >= 1) {
            size_t i;
            json_array_foreach(merges, i, value) {
                const char *s = json_string_value(value), *space = strchr(s, ' ');
                json_array_set_new(merges, i, json_pack("[s%s]", s, (int)(space - s), space + 1));
            }
        }
        if (form == 2) json_object_del(vocab, "<|endoftext|>");
        char *text = dump(root);
        bpe *b = NULL, *ours = trained();
        assert_ok(bpe_from_json(&b, text, strlen(text), "gpt2", &test_error));
        assert_int_equal(bpe_vocab(b), V);
        assert_int_equal(bpe_end(b), V - 1);
        size_t n;
        assert_memory_equal(bpe_piece(b, 0, &n), "!", 1);
        assert_memory_equal(bpe_piece(b, 255, &n), " ", 1);
        static const int hi[] = { 'h' - 33, 'i' - 33, '!' - 33 };
        check_ids(b, "hi!", hi, 3);
        /* the same words, with other numbers for bytes */
        const char *sentence = "the cat sat that night";
        bpe_ids x = { 0 }, y = { 0 };
        assert_ok(bpe_encode(b, sentence, strlen(sentence), &x, &test_error));
        assert_ok(bpe_encode(ours, sentence, strlen(sentence), &y, &test_error));
        assert_int_equal(x.len, y.len);
        for (size_t i = 0; i < x.len; i++)
            assert_int_equal(x.data[i], y.data[i] < 256 ? (y.data[i] + 223) % 256 : y.data[i]);
        bpe_ids_free(&x);
        bpe_ids_free(&y);
        bpe_free(b);
        bpe_free(ours);
        free(text);
        json_decref(root);
    }
}

/* The special token need not be last on import. */
static void test_end_anywhere(void **unused)
{
    (void)unused;
    json_t *root = tree(), *vocab = json_object_get(json_object_get(root, "model"), "vocab");
    const char *key;
    json_t *value;
    json_object_foreach(vocab, key, value)
        json_integer_set(value, (json_integer_value(value) + 1) % (json_int_t)json_object_size(vocab));
    json_t *added = json_array_get(json_object_get(root, "added_tokens"), 0);
    json_object_set_new(added, "id", json_integer(0));
    char *text = dump(root);
    bpe *b = NULL;
    assert_ok(bpe_from_json(&b, text, strlen(text), "t", &test_error));
    assert_int_equal(bpe_end(b), 0);
    assert_true(bpe_end(b) == 0);
    static const int ids[] = { 'z' + 1 };
    check_ids(b, "z", ids, 1);
    bpe_free(b);
    free(text);
    json_decref(root);
}

static void refused(const char *text, size_t n, const char *part)
{
    bpe *b = NULL;
    const vt_status status = bpe_from_json(&b, text, n, "bad.json", &test_error);
    if (status != VT_BAD_INPUT) fail_msg("status %d, expected a refusal for %s", (int)status, part);
    assert_null(b);
    assert_contains(test_error.text, "bad.json");
    assert_contains(test_error.text, part);
    assert_null(strchr(test_error.text, '\n'));
}

/* Sets (or with NULL deletes) one field of the tree, reads it, expects `part`. */
static void refuse_field(const char *path, const char *json, const char *part)
{
    json_t *root = tree(), *at = root;
    char steps[200];
    snprintf(steps, sizeof steps, "%s", path);
    char *rest = steps, *step = rest;
    for (char *dot; (dot = strchr(step, '/')); step = dot + 1) {
        *dot = 0;
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(step)) : json_object_get(at, step);
        assert_non_null(at);
    }
    if (json) {
        json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
        assert_non_null(value);
        if (json_is_array(at)) assert_int_equal(json_array_set_new(at, (size_t)atoi(step), value), 0);
        else assert_int_equal(json_object_set_new(at, step, value), 0);
    } else if (json_is_array(at)) {
        assert_int_equal(json_array_remove(at, (size_t)atoi(step)), 0);
    } else {
        assert_int_equal(json_object_del(at, step), 0);
    }
    char *text = dump(root);
    refused(text, strlen(text), part);
    free(text);
    json_decref(root);
}

static void test_refused(void **unused)
{
    (void)unused;
    static const struct { const char *path, *json, *part; } rows[] = {
        { "normalizer", "{\"type\":\"NFC\"}", "normalizer: expected null" },
        { "truncation", "{\"max_length\":5}", "truncation" },
        { "pre_tokenizer", "null", "pre_tokenizer" },
        { "pre_tokenizer/type", "\"Whitespace\"", "pre_tokenizer" },
        { "pre_tokenizer/add_prefix_space", "true", "pre_tokenizer.add_prefix_space: expected false" },
        { "pre_tokenizer/add_prefix_space", NULL, "pre_tokenizer.add_prefix_space: expected false" },
        { "pre_tokenizer/use_regex", "false", "pre_tokenizer.use_regex" },
        { "post_processor", "{\"type\":\"TemplateProcessing\"}", "post_processor" },
        { "decoder", "{\"type\":\"WordPiece\"}", "decoder" },
        { "model", NULL, "model: expected an object" },
        { "model/type", "\"WordPiece\"", "model.type" },
        { "model/dropout", "0.1", "model.dropout" },
        { "model/end_of_word_suffix", "\"</w>\"", "model.end_of_word_suffix" },
        { "model/continuing_subword_prefix", "\"##\"", "model.continuing_subword_prefix" },
        { "model/ignore_merges", "true", "model.ignore_merges" },
        { "model/byte_fallback", "true", "model.byte_fallback" },
        { "model/vocab", "[]", "model.vocab: expected an object" },
        { "model/merges", "{}", "model.merges: expected an array" },
        { "model/vocab/a", NULL, "268 tokens" },
        { "model/vocab/new", "270", "270 tokens" },
        { "model/vocab/a", "\"97\"", "byte 97" },
        { "model/vocab/a", "98", "byte 98" },
        { "model/vocab/a", "-1", "byte 97" },
        { "model/vocab/a", "97.0", "byte 97" },
        { "model/vocab/a", "4294967393", "byte 97" },       /* 97 + 2^32 */
        { "model/vocab/a", "269", "byte 97" },
        { "model/vocab/a", "268", "added_tokens[0].id" },
        { "model/vocab/<|endoftext|>", "267", "<|endoftext|>" },
        { "model/merges/3", NULL, "11 merges" },
        { "model/merges/3", "\"th\"", "model.merges[3]: expected" },
        { "model/merges/3", "\"\"", "model.merges[3]: expected" },
        { "model/merges/3", "5", "model.merges[3]: expected" },
        { "model/merges/3", "[\"t\"]", "model.merges[3]: expected" },
        { "model/merges/3", "[\"t\",\"h\",\"e\"]", "model.merges[3]: expected" },
        { "model/merges/3", "[\"t\",1]", "model.merges[3]: expected" },
        { "model/merges/3", "\" t\"", "model.merges[3]: its left part" },
        { "model/merges/3", "\"t \"", "model.merges[3]: its right part" },
        { "model/merges/3", "\"t h e\"", "model.merges[3]: its right part" },
        { "model/merges/3", "\"t zzz\"", "model.merges[3]: its right part" },
        { "model/merges/3", "\"<|endoftext|> t\"", "model.merges[3]: its left part" },
        { "model/merges/3", "\"t <|endoftext|>\"", "model.merges[3]: its right part" },
        { "model/merges/3", "\"z z\"", "model.merges[3]: the token it makes" },
        { "added_tokens", "[]", "added_tokens: expected one" },
        { "added_tokens", NULL, "added_tokens: expected one" },
        { "added_tokens/0/content", "\"<pad>\"", "added_tokens: expected one" },
        { "added_tokens/0/id", "-1", "added_tokens[0].id" },
        { "added_tokens/0/id", "269", "added_tokens[0].id" },
        { "added_tokens/0/id", "\"268\"", "added_tokens[0].id" },
        { "added_tokens/0/id", "0", "<|endoftext|>" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refuse_field(rows[i].path, rows[i].json, rows[i].part);

    /* Merges that use a token before it is made, or make one twice. */
    json_t *root = tree(), *merges = json_object_get(json_object_get(root, "model"), "merges");
    json_t *first = json_incref(json_array_get(merges, 0));
    char *text;
    json_array_set(merges, 1, first);
    text = dump(root);
    refused(text, strlen(text), "model.merges[1]: the token it makes");
    free(text);
    json_decref(root);
    root = tree();
    merges = json_object_get(json_object_get(root, "model"), "merges");
    const size_t n = json_array_size(merges);
    json_t *reversed = json_array();
    for (size_t i = n; i-- > 0;) json_array_append(reversed, json_array_get(merges, i));
    json_object_set_new(json_object_get(root, "model"), "merges", reversed);
    text = dump(root);
    refused(text, strlen(text), "token made before");
    free(text);
    json_decref(root);
    json_decref(first);

    refused("", 0, "");
    refused("[]", 2, "");
    refused("{}", 2, "pre_tokenizer");
    refused("null", 4, "");
}

/* Cut anywhere, or with a byte changed: refused with one line, or still a
 * tokenizer; never a crash (the sanitizers look on). */
static void test_hostile(void **unused)
{
    (void)unused;
    json_t *root = tree();
    char *text = dump(root);
    const size_t n = strlen(text);
    size_t refusals = 0, cuts = 0;
    for (size_t cut = 0; cut < n; cut += cut < 600 || n - cut < 600 ? 1 : 37) {
        char *part = malloc(cut + 1);
        assert_non_null(part);
        memcpy(part, text, cut);
        refused(part, cut, "");
        free(part);
        cuts++;
    }
    rng r;
    rng_seed(&r, 9);
    for (int round = 0; round < 4000; round++) {
        const size_t at = (size_t)rng_integers(&r, 0, (int64_t)n);
        const char old = text[at];
        text[at] = round % 2 ? (char)rng_integers(&r, 0, 256) : "0123456789[]{}\",: "[rng_integers(&r, 0, 18)];
        bpe *b = NULL;
        const vt_status status = bpe_from_json(&b, text, n, "t", &test_error);
        assert_true(status == VT_OK || status == VT_BAD_INPUT);
        refusals += status != VT_OK;
        assert_true((status == VT_OK) == (b != NULL));
        if (b) assert_int_equal(bpe_vocab(b), 269);
        bpe_free(b);
        text[at] = old;
    }
    assert_true(cuts > 1200 && refusals > 2000);
    free(text);
    json_decref(root);
}

/* DATA-04: the width of ids by the largest, the special one included; ids above
 * 65535 are what they are.  A vocabulary of V: 256 bytes, V - 257 pairs of bytes
 * and triples. */
static bpe *large(int V)
{
    json_t *root = tree(), *model = json_object_get(root, "model");
    json_t *vocab = json_object_get(model, "vocab"), *merges = json_array();
    const char *key;
    void *next;
    json_t *value;
    json_object_foreach_safe(vocab, next, key, value)
        if (json_integer_value(value) >= 256) json_object_del(vocab, key);
    /* 52 letters give 2704 pairs, and each pair 52 triples */
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    int id = 256;
    for (int k = 0; id < V - 1; k++) {
        char left[3] = { 0 }, right[2] = { 0 }, made[4], merge[8];
        const int pair = k % 2704;
        left[0] = letters[pair / 52];
        if (k < 2704) {
            right[0] = letters[pair % 52];
        } else {
            left[1] = letters[pair % 52];
            right[0] = letters[(k - 2704) / 2704];
        }
        snprintf(made, sizeof made, "%s%s", left, right);
        snprintf(merge, sizeof merge, "%s %s", left, right);
        assert_int_equal(json_object_set_new(vocab, made, json_integer(id++)), 0);
        assert_int_equal(json_array_append_new(merges, json_string(merge)), 0);
    }
    json_object_set_new(model, "merges", merges);
    json_object_set_new(json_array_get(json_object_get(root, "added_tokens"), 0), "id",
                        json_integer(V - 1));
    char *text = dump(root);
    bpe *b = NULL;
    assert_ok(bpe_from_json(&b, text, strlen(text), "large", &test_error));
    free(text);
    json_decref(root);
    return b;
}

static void test_wide_ids(void **unused)
{
    (void)unused;
    static const struct { int V, width; } rows[] = { { 65535, 2 }, { 65536, 2 }, { 65537, 4 }, { 70001, 4 } };
    for (size_t i = 0; i < 4; i++) {
        bpe *b = large(rows[i].V);
        assert_int_equal(bpe_vocab(b), rows[i].V);
        assert_int_equal(bpe_id_bytes(b), rows[i].width);
        if (rows[i].V == 70001) {
            assert_int_equal(bpe_end(b), 70000);
            /* Modulo 65536 these would be 0 and 4464.  The triple's first two
             * letters have a lower rank than its last two, so it is encoded
             * as one token. */
            size_t len;
            const unsigned char *p = bpe_piece(b, 65536, &len);
            assert_int_equal(len, 3);
            char triple[4] = { (char)p[0], (char)p[1], (char)p[2], 0 };
            const int id[] = { 65536 };
            check_ids(b, triple, id, 1);
            bytes out = { 0 };
            const int both[] = { 65536, 70000 };
            assert_ok(bpe_decode(b, both, 2, &out, &test_error));
            assert_int_equal(out.len, 3 + 13);
            assert_memory_equal(out.data, triple, 3);
            assert_memory_equal(out.data + 3, BPE_END_TEXT, 13);
            bytes_free(&out);
        }
        bpe_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_gpt2_like),
        cmocka_unit_test(test_end_anywhere),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_wide_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
