/* test_dataset.c -- documents to tokens: the split, the joints, the counts of
 * windows.
 */
#include "support.h"
#include "data/dataset.h"
#include "tokenizer/bpe.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A corpus of documents in the test's own memory. */
enum { MOST = 300 };
static slice docs[MOST];
static char texts[MOST][40];

static corpus corpus_of(size_t count)
{
    corpus c = { .docs = docs, .count = count };
    for (size_t i = 0; i < count; i++) {
        docs[i].len = (size_t)sprintf(texts[i], "document %zu of them", i);
        docs[i].data = (const unsigned char *)texts[i];
        c.bytes += docs[i].len;
    }
    return c;
}

static corpus corpus_of_text(const char *text, size_t n)
{
    docs[0] = (slice){ (const unsigned char *)text, n };
    return (corpus){ .docs = docs, .count = 1, .bytes = n };
}

/* Which documents validate, as NumPy's permutation says. */
static void numpy_split(uint64_t seed, size_t count, size_t nvalid, bool *valid)
{
    char command[300];
    snprintf(command, sizeof command, "/usr/bin/python3 -c 'import numpy as np; print(*np.random."
             "default_rng([%llu, 1, 0]).permutation(%zu)[:%zu])'", (unsigned long long)seed, count,
             nvalid);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    memset(valid, 0, count * sizeof *valid);
    for (size_t i = 0; i < nvalid; i++) {
        size_t d;
        assert_int_equal(fscanf(f, "%zu", &d), 1);
        assert_true(d < count && !valid[d]);
        valid[d] = true;
    }
    assert_int_equal(pclose(f), 0);
}

/* proves batch.split */
static void ten_documents_or_more_are_split_whole(void **state)
{
    (void)state;
    static const struct { size_t count, nvalid; uint64_t seed; } cases[] = {
        { 10, 1, 42 }, { 11, 2, 42 }, { 20, 2, 0 }, { 21, 3, 7 }, { 269, 27, 42 }, { 269, 27, 43 },
        { 30, 3, (uint64_t)1 << 40 } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const corpus c = corpus_of(cases[k].count);
        bool valid[MOST];
        numpy_split(cases[k].seed, c.count, cases[k].nvalid, valid);
        dataset_split s;
        assert_ok(dataset_split_new(&s, &c, cases[k].seed, &test_error));
        assert_true(s.by_document);
        assert_int_equal(s.nvalid, cases[k].nvalid);
        assert_int_equal(s.ntrain, c.count - cases[k].nvalid);
        size_t t = 0, v = 0;
        for (size_t i = 0; i < c.count; i++) {      /* both in the corpus's order */
            const slice got = valid[i] ? s.valid[v++] : s.train[t++];
            assert_ptr_equal(got.data, docs[i].data);
            assert_int_equal(got.len, docs[i].len);
        }
        dataset_split_free(&s);
    }
}

static void fewer_documents_are_split_by_bytes(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 9; count++) {
        const corpus c = corpus_of(count);
        dataset_split s;
        assert_ok(dataset_split_new(&s, &c, 42, &test_error));
        assert_false(s.by_document);
        size_t train = 0, valid = 0;
        for (size_t i = 0; i < s.ntrain; i++) train += s.train[i].len;
        for (size_t i = 0; i < s.nvalid; i++) valid += s.valid[i].len;
        assert_int_equal(train + valid, c.bytes);
        assert_int_equal(valid, (c.bytes + 9) / 10);
        assert_ptr_equal(s.train[0].data, docs[0].data);
        /* What validates begins where what trains ends. */
        const slice last = s.train[s.ntrain - 1];
        const size_t d = s.ntrain - 1;
        if (last.len < docs[d].len) assert_ptr_equal(s.valid[0].data, last.data + last.len);
        else assert_ptr_equal(s.valid[0].data, docs[d + 1].data);
        dataset_split_free(&s);
    }
}

static void a_cut_falls_between_characters(void **state)
{
    (void)state;
    /* Ten characters of three bytes and n of one: the cut moves over them all. */
    char text[60];
    for (size_t n = 0; n <= 24; n++) {
        size_t len = n;
        memset(text, 'x', sizeof text);
        for (int i = 0; i < 10; i++, len += 3) memcpy(text + len, "\xE2\x82\xAC", 3);
        const corpus c = corpus_of_text(text, len);
        dataset_split s;
        assert_ok(dataset_split_new(&s, &c, 42, &test_error));
        assert_int_equal(s.ntrain, 1);
        assert_int_equal(s.nvalid, 1);
        const size_t cut = s.train[0].len, nominal = len - (len + 9) / 10;
        assert_int_equal((cut - n) % 3, 0);
        assert_true(cut <= nominal && nominal - cut < 3);
        assert_int_equal(s.valid[0].len, len - cut);
        dataset_split_free(&s);
    }
    const corpus one = corpus_of_text("\xE2\x82\xAC", 3);   /* nothing before the cut */
    dataset_split s;
    assert_ok(dataset_split_new(&s, &one, 42, &test_error));
    assert_int_equal(s.ntrain, 0);
    assert_int_equal(s.nvalid, 1);
    dataset_split_free(&s);
}

/* The text of tokens, documents ended by '|'. */
static char *text_of(const bpe *t, const int *ids, size_t n)
{
    bytes b = { 0 };
    assert_ok(bytes_append(&b, "", 0, &test_error));
    for (size_t i = 0; i < n; i++) {
        if (ids[i] == bpe_end(t)) assert_ok(bytes_append(&b, "|", 1, &test_error));
        else assert_ok(bpe_decode(t, ids + i, 1, &b, &test_error));
    }
    return (char *)b.data;
}

static void each_document_is_encoded_alone_and_ended(void **state)
{
    (void)state;
    corpus c = corpus_of(40);
    dataset_split s;
    bpe *t = NULL;
    assert_ok(dataset_split_new(&s, &c, 42, &test_error));
    assert_ok(bpe_train(&t, s.train, s.ntrain, 60, NULL, &test_error));
    assert_true(bpe_merges(t) > 10);
    dataset first = { 0 };
    for (int threads = 1; threads <= 7; threads += 2) {
        team *crew = NULL;
        dataset d;
        assert_ok(team_new(&crew, threads, 64, 64, &test_error));
        assert_ok(dataset_encode(&d, &c, &s, t, crew, &test_error));
        char *train = text_of(t, d.train, d.ntrain), *valid = text_of(t, d.valid, d.nvalid);
        char want[2][4000] = { "", "" };
        for (size_t i = 0; i < s.ntrain; i++)
            sprintf(want[0] + strlen(want[0]), "%.*s|", (int)s.train[i].len, s.train[i].data);
        for (size_t i = 0; i < s.nvalid; i++)
            sprintf(want[1] + strlen(want[1]), "%.*s|", (int)s.valid[i].len, s.valid[i].data);
        assert_string_equal(train, want[0]);
        assert_string_equal(valid, want[1]);
        free(train);
        free(valid);
        /* Ids of each document are those of the document alone. */
        size_t at = 0;
        for (size_t i = 0; i < s.ntrain; i++) {
            bpe_ids ids = { 0 };
            assert_ok(bpe_encode(t, s.train[i].data, s.train[i].len, &ids, &test_error));
            assert_true(at + ids.len < d.ntrain);
            assert_memory_equal(d.train + at, ids.data, ids.len * sizeof(int));
            at += ids.len;
            assert_int_equal(d.train[at++], bpe_end(t));
            bpe_ids_free(&ids);
        }
        assert_int_equal(at, d.ntrain);
        if (threads == 1) {
            first = d;
        } else {
            assert_int_equal(d.ntrain, first.ntrain);
            assert_int_equal(d.nvalid, first.nvalid);
            assert_memory_equal(d.block, first.block, (d.ntrain + d.nvalid) * sizeof(int));
            dataset_free(&d);
        }
        team_free(crew);
    }
    dataset_free(&first);
    dataset_split_free(&s);
    bpe_free(t);
}

static void a_lone_text_ends_in_its_last_tenth_of_tokens(void **state)
{
    (void)state;
    bpe *t = NULL;
    assert_ok(bpe_train(&t, NULL, 0, 0, NULL, &test_error));
    char text[64];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)('!' + i);
    for (size_t n = 1; n <= sizeof text; n++) {
        const corpus c = corpus_of_text(text, n);
        dataset_split s;
        dataset d;
        assert_ok(dataset_split_new(&s, &c, 42, &test_error));
        assert_ok(dataset_encode(&d, &c, &s, t, NULL, &test_error));
        assert_int_equal(d.ntrain + d.nvalid, n + 1);           /* bytes and the end */
        assert_int_equal(d.nvalid, (n + 1 + 9) / 10);
        assert_ptr_equal(d.valid, d.train + d.ntrain);
        for (size_t i = 0; i < n; i++) assert_int_equal(d.train[i], text[i]);
        assert_int_equal(d.train[n], bpe_end(t));
        dataset_free(&d);
        dataset_split_free(&s);
    }
    /* Nine documents: nine ends. */
    const corpus c = corpus_of(9);
    dataset_split s;
    dataset d;
    assert_ok(dataset_split_new(&s, &c, 42, &test_error));
    assert_ok(dataset_encode(&d, &c, &s, t, NULL, &test_error));
    assert_int_equal(d.ntrain + d.nvalid, c.bytes + 9);
    char *whole = text_of(t, d.block, d.ntrain + d.nvalid);
    assert_contains(whole, "document 0 of them|document 1 of them|");
    free(whole);
    dataset_free(&d);
    dataset_split_free(&s);
    bpe_free(t);
}

static void the_hash_is_of_both_parts(void **state)
{
    (void)state;
    int ids[] = { 1, 258, 65536 };
    const dataset d = { .block = ids, .train = ids, .valid = ids + 2, .ntrain = 2, .nvalid = 1 };
    char hash[65];
    dataset_sha256(hash, &d);           /* Python: sha256(struct.pack("<3i", 1, 258, 65536)) */
    assert_string_equal(hash, "233b0d901a7be0ebb4c8d08e6eae8e0763a251df63cb031744eaf522620d9dc3");
}

/* DATA-01, and every count against windows counted one by one. */
static void windows_are_counted(void **state)
{
    (void)state;
    const size_t T = 16;
    assert_int_equal(dataset_windows(T, T, T), 0);
    assert_int_equal(dataset_windows(T + 1, T, T), 1);
    assert_int_equal(dataset_windows(T + 1, T, 1), 1);
    assert_int_equal(dataset_windows(T + 2, T, 1), 2);
    assert_int_equal(dataset_windows(T + 2, T, T), 1);
    assert_int_equal(dataset_windows(0, 1, 1), 0);
    assert_int_equal(dataset_windows(SIZE_MAX, 1, 1), SIZE_MAX - 1);
    for (size_t n = 0; n < 40; n++)
        for (size_t seq = 1; seq < 12; seq++)
            for (size_t stride = 1; stride < 14; stride++) {
                size_t count = 0;
                for (size_t at = 0; at + seq < n; at += stride) count++;
                assert_int_equal(dataset_windows(n, seq, stride), count);
            }
    assert_int_equal(dataset_check(T, T, "training", &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "training");
    assert_contains(test_error.text, "16 tokens");
    assert_contains(test_error.text, "at least 17");
    assert_int_equal(dataset_check(0, 1, "validation", &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "0 tokens, expected at least 2");
    assert_ok(dataset_check(T + 1, T, "training", &test_error));
    assert_ok(dataset_check(T + 2, T, "training", &test_error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_documents_or_more_are_split_whole),
        cmocka_unit_test(fewer_documents_are_split_by_bytes),
        cmocka_unit_test(a_cut_falls_between_characters),
        cmocka_unit_test(each_document_is_encoded_alone_and_ended),
        cmocka_unit_test(a_lone_text_ends_in_its_last_tenth_of_tokens),
        cmocka_unit_test(the_hash_is_of_both_parts),
        cmocka_unit_test(windows_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
