/* test_corpus.c -- files of text as documents, and every file that is not. */
#include "support.h"
#include "data/corpus.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/vitrine-corpus-XXXXXX";
static char path[300];

/* A file of n bytes in the folder; its name is in `path`. */
static void write_file(const char *name, const void *data, size_t n)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    if (n) assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}
#define file_of(name, text) write_file(name, text, sizeof(text) - 1)

static void assert_document(const corpus *c, size_t i, const char *text, size_t n)
{
    assert_true(i < c->count);
    assert_int_equal(c->docs[i].len, n);
    assert_memory_equal(c->docs[i].data, text, n);
}
#define document(c, i, text) assert_document(c, i, text, sizeof(text) - 1)

static void refused(vt_status want, const corpus_options *o, const char *part)
{
    corpus c;
    memset(&c, 0xA5, sizeof c);
    test_error.text[0] = 0;
    const vt_status status = corpus_load(&c, path, o, &test_error);
    if (status != want)
        fail_msg("%s: status %d, expected %d: %s", path, (int)status, (int)want, test_error.text);
    assert_contains(test_error.text, part);
    assert_contains(test_error.text, path);
    assert_null(strchr(test_error.text, '\n'));
    const corpus zero = { 0 };
    assert_null(c.docs);
    assert_null(c.block.data);
    assert_int_equal(c.count, zero.count);
    corpus_free(&c);
    corpus_free(&c);
    assert_int_equal(corpus_load(&c, path, o, NULL), want);     /* nobody listens */
}

static void a_plain_text_is_one_document(void **state)
{
    (void)state;
    corpus c;
    file_of("a.txt", "abc");
    assert_ok(corpus_load(&c, path, NULL, &test_error));
    assert_int_equal(c.count, 1);
    assert_int_equal(c.bytes, 3);
    document(&c, 0, "abc");
    /* FIPS 180-2, appendix B.1. */
    assert_string_equal(c.sha256,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    corpus_free(&c);

    file_of("b.txt", "\xEF\xBB\xBF\"text,\"\r\n\n\0\xC3\xA9");
    assert_ok(corpus_load(&c, path, NULL, &test_error));
    assert_int_equal(c.count, 1);
    document(&c, 0, "\"text,\"\r\n\n\0\xC3\xA9");
    corpus_free(&c);

    file_of("text", "text\none\ntwo\n");            /* no ending: plain */
    assert_ok(corpus_load(&c, path, NULL, &test_error));
    assert_int_equal(c.count, 1);
    corpus_free(&c);
}

static void a_row_is_a_document(void **state)
{
    (void)state;
    corpus c;
    file_of("a.csv", "\xEF\xBB\xBF\"id\",text\r\n1,\"say \"\"hi\"\",\r\nyou\"\r\n2,\r\n3,\"\"\r\n4,\xC3\xA9 x");
    assert_ok(corpus_load(&c, path, NULL, &test_error));
    assert_int_equal(c.count, 2);
    assert_int_equal(c.empty, 2);
    document(&c, 0, "say \"hi\",\r\nyou");
    document(&c, 1, "\xC3\xA9 x");
    assert_int_equal(c.bytes, 14 + 4);
    corpus_free(&c);

    corpus_options o = { .column = "id" };
    assert_ok(corpus_load(&c, path, &o, &test_error));
    assert_int_equal(c.count, 4);
    document(&c, 3, "4");
    /* The hash is of the file, not of what undoing quotes left of it. */
    bytes all;
    char hash[65];
    assert_ok(io_read(&all, path, 1 << 20, &test_error));
    sha256_hex(hash, all.data, all.len);
    assert_string_equal(c.sha256, hash);
    bytes_free(&all);
    corpus_free(&c);

    file_of("A.CSV", "text\nx\n");
    assert_ok(corpus_load(&c, path, NULL, &test_error));
    document(&c, 0, "x");
    corpus_free(&c);

    file_of("table.txt", "a,b\n1,2\n3,4\n");        /* a column makes it a CSV */
    o.column = "b";
    assert_ok(corpus_load(&c, path, &o, &test_error));
    assert_int_equal(c.count, 2);
    document(&c, 0, "2");
    document(&c, 1, "4");
    corpus_free(&c);
}

static void many_rows_in_their_order(void **state)
{
    (void)state;
    enum { ROWS = 1000 };
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    fputs("text\n", f);
    for (int i = 0; i < ROWS; i++) fprintf(f, "row %d\n", i);
    fclose(f);
    write_file("many.csv", text, n);
    free(text);
    corpus c;
    assert_ok(corpus_load(&c, path, NULL, &test_error));
    assert_int_equal(c.count, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        char want[20];
        const size_t len = (size_t)sprintf(want, "row %zu", i);
        assert_document(&c, i, want, len);
    }
    corpus_free(&c);
}

static void a_limit_of_rows(void **state)
{
    (void)state;
    corpus c;
    corpus_options o = { .column = "text", .max_rows = 3 };
    file_of("rows.csv", "text,n\na,1\n,2\nb,3\nc,4\n\"d");
    assert_ok(corpus_load(&c, path, &o, &test_error));
    assert_int_equal(c.count, 2);                   /* an empty cell is a row, too */
    assert_int_equal(c.empty, 1);
    corpus_free(&c);
    o.max_rows = 5;                                 /* what is not read is not judged */
    refused(VT_BAD_INPUT, &o, "line 6");
    o.max_rows = 0;
    refused(VT_BAD_INPUT, &o, "line 6");
    file_of("plain.txt", "a\nb\n");
    o = (corpus_options){ .max_rows = 1 };
    refused(VT_USAGE, &o, "rows");
}

static void a_column_that_is_not_there(void **state)
{
    (void)state;
    corpus_options o = { .column = "body" };
    file_of("c.csv", "novel,chapter,text\na,1,b\n");
    refused(VT_BAD_INPUT, &o, "no column \"body\": expected one of: novel, chapter, text");
    file_of("d.csv", "novel,words\na,1\n");
    refused(VT_BAD_INPUT, NULL, "\"text\": expected one of: novel, words");
}

static void bytes_that_are_not_utf8(void **state)
{
    (void)state;
    file_of("u.txt", "caf\xE9 one\n");
    refused(VT_BAD_INPUT, NULL, "line 1, byte offset 3: 0xE9");
    file_of("u.txt", "\xEF\xBB\xBF" "one\ntwo \xC3");
    refused(VT_BAD_INPUT, NULL, "line 2, byte offset 11: 0xC3");
    file_of("u.txt", "\xED\xA0\x80");               /* a surrogate */
    refused(VT_BAD_INPUT, NULL, "byte offset 0");
    file_of("u.txt", "\xFF\xFEt\0e\0");             /* UTF-16 */
    refused(VT_BAD_INPUT, NULL, "byte offset 0: 0xFF");
    /* Offsets are the file's, though quotes before it are undone. */
    file_of("u.csv", "text,x\n\"a\"\"\"\"b\nc\",1\nd,\x80\n");
    refused(VT_BAD_INPUT, NULL, "line 4, byte offset 22: 0x80");
}

static void nothing_to_learn_from(void **state)
{
    (void)state;
    file_of("e.txt", "");
    refused(VT_BAD_INPUT, NULL, "empty");
    file_of("e.txt", "\xEF\xBB\xBF");
    refused(VT_BAD_INPUT, NULL, "no text");
    file_of("e.csv", "");
    refused(VT_BAD_INPUT, NULL, "empty");
    file_of("e.csv", "\xEF\xBB\xBF");
    refused(VT_BAD_INPUT, NULL, "empty");
    file_of("e.csv", "text\n");
    refused(VT_BAD_INPUT, NULL, "no text in it (0 empty documents)");
    file_of("e.csv", "n,text\n1,\n2,\"\"\n");
    refused(VT_BAD_INPUT, NULL, "no text in it (2 empty documents)");
}

static void malformed_csv_leaves_nothing_behind(void **state)
{
    (void)state;
    file_of("m.csv", "text,n\na,1\nb,2\n\"c,3\n");
    refused(VT_BAD_INPUT, NULL, "line 4");
    file_of("m.csv", "text,n\na,1\nb,2,3\n");
    refused(VT_BAD_INPUT, NULL, "line 3: 3 fields, expected 2");
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s", folder);
    refused(VT_IO, NULL, "folder");
    snprintf(path, sizeof path, "%s/none.txt", folder);
    refused(VT_IO, NULL, "No such file");

    file_of("secret.txt", "hidden");
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    const pid_t child = fork();                     /* root ignores modes */
    assert_true(child >= 0);
    if (child == 0) {
        corpus c;
        if (geteuid() == 0 && setuid(65534) != 0) _exit(9);
        const vt_status status = corpus_load(&c, path, NULL, &test_error);
        _exit(status == VT_IO && strstr(test_error.text, "Permission denied") ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A file with a hole, larger than any machine's memory. */
static void a_file_larger_than_memory(void **state)
{
    (void)state;
    file_of("huge.txt", "x");
    assert_int_equal(truncate(path, (off_t)1 << 43), 0);
    refused(VT_TOO_LARGE, NULL, "longer than");
    remove(path);
}

static int make_folder(void **state) { (void)state; return mkdtemp(folder) ? 0 : -1; }
static int drop_folder(void **state)
{
    (void)state;
    static const char *const names[] = { "a.txt", "b.txt", "text", "a.csv", "A.CSV", "table.txt",
        "many.csv", "rows.csv", "plain.txt", "c.csv", "d.csv", "u.txt", "u.csv", "e.txt", "e.csv",
        "m.csv", "secret.txt" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    return remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_text_is_one_document),
        cmocka_unit_test(a_row_is_a_document),
        cmocka_unit_test(many_rows_in_their_order),
        cmocka_unit_test(a_limit_of_rows),
        cmocka_unit_test(a_column_that_is_not_there),
        cmocka_unit_test(bytes_that_are_not_utf8),
        cmocka_unit_test(nothing_to_learn_from),
        cmocka_unit_test(malformed_csv_leaves_nothing_behind),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(a_file_larger_than_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
