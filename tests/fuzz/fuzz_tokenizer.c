/* fuzz_tokenizer.c -- tokenizer files, and encoding with whatever they hold.
 *
 * An input that begins with '{' is a tokenizer.json.  Any other makes one: its
 * bytes are merges, pair by pair, of tokens that are there, up to a byte 255; the
 * rest is the text and, where the first byte is 254, changes of the file of that
 * tokenizer, few enough to leave some of them good.  Ids must be those of the naive encoder (the pair of lowest
 * rank first, its leftmost occurrence first, until none is left), decoding gives
 * the text, and the file written by bpe_to_json is read to the same tokenizer.
 */
#include "fuzz.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "formats/json.h"
#include "tokenizer/bpe_internal.h"
#include "tokenizer/presplit.h"

/* Ids of one word by definition; they replace the bytes in ids[0 .. n-1]. */
static size_t naive_word(const bpe *b, int *ids, size_t n)
{
    for (;;) {
        int best = INT_MAX;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++)
            for (int rank = 0; rank < bpe_merges(b) && rank < best; rank++) {
                const bpe_merge m = bpe_merge_at(b, rank);
                if (m.left == ids[i] && m.right == ids[i + 1]) { best = rank; at = i; }
            }
        if (best == INT_MAX) return n;
        ids[at] = bpe_merge_at(b, best).made;
        memmove(ids + at + 1, ids + at + 2, (n - at - 2) * sizeof *ids);
        n--;
    }
}

/* Ids of the 256 bytes. */
static void byte_ids(const bpe *b, int out[256])
{
    int found = 0;
    for (int id = 0; id < bpe_vocab(b); id++) {
        size_t n;
        const unsigned char *p = bpe_piece(b, id, &n);
        if (id == bpe_end(b) || n != 1) continue;
        out[*p] = id;
        found++;
    }
    HOLDS(found == 256);
}

static void encodes(const bpe *b, const uint8_t *text, size_t n)
{
    bpe_ids ids = { 0 };
    bytes back = { 0 };
    int byte[256], *word = malloc((n + 1) * sizeof *word);
    HOLDS(word != NULL);
    byte_ids(b, byte);
    WORKS(bpe_encode(b, text, n, &ids, &fuzz_error));
    size_t at = 0;
    for (size_t p = 0; p < n; ) {
        const size_t len = presplit_next(text + p, n - p);
        HOLDS(len >= 1 && len <= n - p);
        for (size_t i = 0; i < len; i++) word[i] = byte[text[p + i]];
        const size_t tokens = naive_word(b, word, len);
        HOLDS(tokens > 0 && tokens <= ids.len - at);
        HOLDS(memcmp(ids.data + at, word, tokens * sizeof *word) == 0);
        at += tokens;
        p += len;
    }
    HOLDS(at == ids.len);
    WORKS(bpe_decode(b, ids.data, ids.len, &back, &fuzz_error));
    HOLDS(back.len == n && (n == 0 || memcmp(back.data, text, n) == 0));
    bytes_free(&back);
    bpe_ids_free(&ids);
    free(word);
}

/* What is written is what was read (`source`, where there is one), and is read again. */
static void is_written_and_read(const bpe *b, const json_t *source)
{
    bytes first = { 0 }, second = { 0 };
    bpe *again;
    WORKS(bpe_to_json(b, &first, &fuzz_error));
    WORKS(bpe_from_json(&again, first.data, first.len, "again", &fuzz_error));
    HOLDS(bpe_vocab(again) == bpe_vocab(b) && bpe_end(again) == bpe_end(b));
    WORKS(bpe_to_json(again, &second, &fuzz_error));
    HOLDS(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    bpe_free(again);
    if (source) {
        json_t *root = json_loadb((char *)first.data, first.len, 0, NULL);
        const json_t *model = json_object_get(root, "model");
        const json_t *from = json_object_get(source, "model");
        json_t *vocab = json_object_get(model, "vocab");
        const size_t n = json_array_size(json_object_get(model, "merges"));
        HOLDS(json_object_size(vocab) == (size_t)bpe_vocab(b));
        if (!json_object_get(json_object_get(from, "vocab"), BPE_END_TEXT))
            (void)json_object_del(vocab, BPE_END_TEXT);
        HOLDS(json_equal(vocab, json_object_get(from, "vocab")));
        HOLDS(n == json_array_size(json_object_get(from, "merges")));
        json_decref(root);
    }
    bytes_free(&first);
    bytes_free(&second);
}

enum { MERGES = 60, PIECE = 100 };

typedef struct piece { unsigned char p[PIECE]; size_t n; } piece;

/* The token of two, into *out; false where it is too long, or there already: two merges
 * of the same bytes are in no file. */
static bool join(piece *out, const piece *all, int count, int left, int right)
{
    const piece *x = &all[left], *y = &all[right];
    if (x->n + y->n > PIECE) return false;
    memcpy(out->p, x->p, x->n);
    memcpy(out->p + x->n, y->p, y->n);
    out->n = x->n + y->n;
    for (int i = 0; i < count; i++)
        if (all[i].n == out->n && memcmp(all[i].p, out->p, out->n) == 0) return false;
    return true;
}

/* A tokenizer of the merges in p[0 .. n-1]; *used of them were read. */
static bpe *make(const uint8_t *p, size_t n, size_t *used)
{
    static piece all[256 + MERGES];
    int pairs[MERGES][2], count = 256;
    size_t at = 0;
    bpe *b;
    for (int i = 0; i < 256; i++) all[i] = (piece){ .p = { (unsigned char)i }, .n = 1 };
    for (; at + 1 < n && p[at] != 255 && count < 256 + MERGES; at += 2) {
        int side[2];
        for (size_t k = 0; k < 2; k++)          /* ASCII as it is, above it any token */
            side[k] = p[at + k] < 128 ? p[at + k] : count - 1 - (p[at + k] - 128) % (count - 128);
        if (!join(&all[count], all, count, side[0], side[1])) continue;
        memcpy(pairs[count++ - 256], side, sizeof side);
    }
    *used = at < n && p[at] == 255 ? at + 1 : at;
    WORKS(bpe_new(&b, (size_t)count + 1, &fuzz_error));
    for (unsigned i = 0; i < 256; i++) WORKS(bpe_set_byte(b, i, (int)i, &fuzz_error));
    for (int i = 256; i < count; i++)
        WORKS(bpe_add_merge(b, pairs[i - 256][0], pairs[i - 256][1], i, &fuzz_error));
    WORKS(bpe_finish(b, count, &fuzz_error));
    return b;
}

/* The file of `b`, changed by p[0 .. n-1], three bytes a change: ids, merges, the end. */
static json_t *changed(const bpe *b, const uint8_t *p, size_t n)
{
    bytes text = { 0 };
    WORKS(bpe_to_json(b, &text, &fuzz_error));
    json_t *root = json_loadb((char *)text.data, text.len, 0, NULL);
    json_t *model = json_object_get(root, "model"), *vocab = json_object_get(model, "vocab");
    json_t *merges = json_object_get(model, "merges");
    json_t *end = json_array_get(json_object_get(root, "added_tokens"), 0);
    for (size_t i = 0; i + 2 < n && i < 30; i += 3) {
        const char word[] = { (char)(33 + p[i + 1] % 90), 0 };
        const char pair[] = { (char)(33 + p[i + 1] % 90), ' ', (char)(33 + p[i + 2] % 90), 0 };
        const char joined[] = { pair[0], pair[2], 0 };
        const size_t size = json_array_size(merges);
        switch (p[i] % 7) {
        case 0: (void)json_object_set_new(vocab, word, json_integer(p[i + 2])); break;
        case 1: (void)json_object_set_new(vocab, joined, json_integer(256 + p[i] / 7)); break;
        case 2: (void)json_array_append_new(merges, json_string(pair)); break;
        case 3: if (size) (void)json_array_remove(merges, p[i + 1] % size); break;
        case 4: (void)json_object_set_new(end, "id", json_integer(256 + p[i + 1])); break;
        case 5: (void)json_object_del(vocab, BPE_END_TEXT); break;
        case 6: if (size) (void)json_array_append(merges, json_array_get(merges, p[i + 1] % size)); break;
        }
    }
    bytes_free(&text);
    return root;
}

/* A tokenizer of this file, or NULL where it is refused. */
static bpe *read_file(const void *data, size_t n)
{
    bpe *b;
    unsigned char *copy = fuzz_copy(data, n);
    const vt_status s = bpe_from_json(&b, copy, n, "x.json", &fuzz_error);
    free(copy);
    if (s != VT_OK) fuzz_refused(s, 1u << VT_BAD_INPUT, "x.json: ");
    HOLDS(!b == (s != VT_OK));
    return b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bpe *b = NULL;
    json_t *source = NULL;
    size_t used = 0;
    if (size > 0 && data[0] == '{') {
        b = read_file(data, size);
        if (b) source = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
        if (size > 300) used = size - 300;      /* the naive encoder is cubic */
    } else {
        const bool change = size > 0 && data[0] == 254;
        b = make(data, size, &used);
        if (change) {
            source = changed(b, data + used, size - used);
            char *text = json_dumps(source, JSON_COMPACT);
            HOLDS(text != NULL);
            bpe_free(b);
            b = read_file(text, strlen(text));
            free(text);
        }
    }
    if (b) {
        encodes(b, data + used, size - used < 300 ? size - used : 300);
        is_written_and_read(b, source);
    }
    json_decref(source);
    bpe_free(b);
    return 0;
}
