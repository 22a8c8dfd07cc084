/* test_corpus.c -- files of text as documents, and every file that is not. */
#include "support.h"
#include "base/interrupt.h"
#include "data/corpus.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/vitrine-corpus-XXXXXX";
static char path[300];

static char written[64][300];
static size_t nwritten;

/* A file of n bytes in the folder; its name is in `path`. */
static void write_file(const char *name, const void *data, size_t n)
{
    size_t i = 0;                       /* a name that was written before is in the list */
    snprintf(path, sizeof path, "%s/%s", folder, name);
    while (i < nwritten && strcmp(written[i], path) != 0) i++;
    assert_true(i < 64);
    if (i == nwritten) snprintf(written[nwritten++], sizeof *written, "%s", path);
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

/* The file at `path` alone, read as `how` says (NULL: as its name does). */
static vt_corpus reading(const vt_corpus *how)
{
    static const char *files[1];
    vt_corpus what = how ? *how : (vt_corpus){ .nfiles = 0 };
    files[0] = path;
    what.files = files;
    what.nfiles = 1;
    return what;
}

static vt_status load(corpus *c, const vt_corpus *how)
{
    const vt_corpus what = reading(how);
    return corpus_load(c, &what, &test_error);
}

static vt_status load_silently(corpus *c, const vt_corpus *how)
{
    const vt_corpus what = reading(how);
    return corpus_load(c, &what, NULL);
}

static void refused(vt_status want, const vt_corpus *o, const char *part)
{
    corpus c;
    memset(&c, 0xA5, sizeof c);
    test_error.text[0] = 0;
    const vt_status status = load(&c, o);
    if (status != want)
        fail_msg("%s: status %d, expected %d: %s", path, (int)status, (int)want, test_error.text);
    assert_contains(test_error.text, part);
    assert_contains(test_error.text, path);
    assert_null(strchr(test_error.text, '\n'));
    const corpus zero = { 0 };
    assert_null(c.docs);
    assert_null(c.files);
    assert_int_equal(c.count, zero.count);
    corpus_free(&c);
    corpus_free(&c);
    assert_int_equal(load_silently(&c, o), want);     /* nobody listens */
}

static void a_plain_text_is_one_document(void **state)
{
    (void)state;
    corpus c;
    file_of("a.txt", "abc");
    assert_ok(load(&c, NULL));
    assert_int_equal(c.count, 1);
    assert_int_equal(c.bytes, 3);
    document(&c, 0, "abc");
    /* FIPS 180-2, appendix B.1. */
    assert_string_equal(c.sha256,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    corpus_free(&c);

    file_of("b.txt", "\xEF\xBB\xBF\"text,\"\r\n\n\1\xC3\xA9");
    assert_ok(load(&c, NULL));
    assert_int_equal(c.count, 1);
    document(&c, 0, "\"text,\"\r\n\n\1\xC3\xA9");
    assert_null(c.files[0].read_as);
    corpus_free(&c);

    file_of("text", "text\none\ntwo\n");            /* no ending: plain */
    assert_ok(load(&c, NULL));
    assert_int_equal(c.count, 1);
    assert_string_equal(c.files[0].read_as, "plain text, 1 document");
    corpus_free(&c);
}

static void a_row_is_a_document(void **state)
{
    (void)state;
    corpus c;
    file_of("a.csv", "\xEF\xBB\xBF\"id\",text\r\n1,\"say \"\"hi\"\",\r\nyou\"\r\n2,\r\n3,\"\"\r\n4,\xC3\xA9 x");
    assert_ok(load(&c, NULL));
    assert_int_equal(c.count, 2);
    assert_int_equal(c.empty, 2);
    document(&c, 0, "say \"hi\",\r\nyou");
    document(&c, 1, "\xC3\xA9 x");
    assert_int_equal(c.bytes, 14 + 4);
    corpus_free(&c);

    vt_corpus o = { .column = "id" };
    assert_ok(load(&c, &o));
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
    assert_ok(load(&c, NULL));
    document(&c, 0, "x");
    corpus_free(&c);

    file_of("table.txt", "a,b\n1,2\n3,4\n");        /* a column makes it a CSV */
    o.column = "b";
    assert_ok(load(&c, &o));
    assert_int_equal(c.count, 2);
    document(&c, 0, "2");
    document(&c, 1, "4");
    assert_string_equal(c.files[0].read_as, "CSV, since a column is named");
    corpus_free(&c);
    o.column = "c";
    refused(VT_BAD_INPUT, &o, "or a number from 1 to 2 (read as CSV, since a column is named)");
}

static void json_that_is_not_lines(void **state)
{
    (void)state;
    const vt_corpus o = { .column = "text" };
    file_of("j.json", "[{\"text\":\"a\"}]\n");
    refused(VT_BAD_INPUT, NULL, "JSON is not read: expected JSON Lines, which have one object a line, in a "
            "file named .jsonl");
    refused(VT_BAD_INPUT, &o, "in a file named .jsonl");
    file_of("l.JSON", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n");
    refused(VT_BAD_INPUT, NULL, "in a file named .jsonl");
}

static void cells_parted_by_others(void **state)
{
    (void)state;
    corpus c;
    vt_corpus o = { .separator = ";" };
    file_of("s.csv", "id;text\n1;\"a;b\"\n2,5;c,d\n");
    assert_ok(load(&c, &o));
    document(&c, 0, "a;b");
    document(&c, 1, "c,d");
    assert_null(c.files[0].read_as);
    corpus_free(&c);
    o.separator = NULL;
    refused(VT_BAD_INPUT, &o, "expected one of: id;text; is ; the separator? (--separator ';')");
    file_of("s.tsv", "id\ttext\n1\ta, b\n");       /* a .tsv is parted by tabs */
    assert_ok(load(&c, &o));
    document(&c, 0, "a, b");
    corpus_free(&c);
    o.separator = ",";                          /* but where it is said otherwise */
    refused(VT_BAD_INPUT, &o, "is a tab the separator? (--separator tab)");
    o.separator = "tab";
    file_of("s.txt", "text\tid\nx,y\t1\n");
    refused(VT_USAGE, &o, "a plain text has no cells: --separator needs a CSV file and its column");
    o.column = "text";
    assert_ok(load(&c, &o));
    document(&c, 0, "x,y");
    corpus_free(&c);
    file_of("s.jsonl", "{\"text\":\"a\"}\n");
    refused(VT_USAGE, &o, "JSON Lines has no cells");
    o.separator = "::";
    const vt_corpus wrong = reading(&o);
    assert_int_equal(corpus_load(&c, &wrong, &test_error), VT_USAGE);
    assert_string_equal(test_error.text, "--separator ::: expected one ASCII character, no quote and no "
                        "newline, or the word tab");
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
    assert_ok(load(&c, NULL));
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
    vt_corpus o = { .column = "text", .max_rows = 3 };
    file_of("rows.csv", "text,n\na,1\n,2\nb,3\nc,4\n\"d");
    assert_ok(load(&c, &o));
    assert_int_equal(c.count, 2);                   /* an empty cell is a row, too */
    assert_int_equal(c.empty, 1);
    corpus_free(&c);
    o.max_rows = 5;                                 /* what is not read is not judged */
    refused(VT_BAD_INPUT, &o, "line 6");
    o.max_rows = 0;
    refused(VT_BAD_INPUT, &o, "line 6");
    file_of("plain.txt", "a\nb\n");
    o = (vt_corpus){ .max_rows = 1 };
    refused(VT_USAGE, &o, "rows");
}

static void a_column_that_is_not_there(void **state)
{
    (void)state;
    vt_corpus o = { .column = "body" };
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
    /* Offsets are the file's, though quotes before it are undone. */
    file_of("u.csv", "text,x\n\"a\"\"\"\"b\nc\",1\nd,\x80\n");
    refused(VT_BAD_INPUT, NULL, "line 4, byte offset 22: 0x80");
}

/* What iconv, gzip and Python's zipfile write: tests/cli_corpora.sh has the whole files.
 * Named with and without replacement, and whatever the name says. */
static void files_that_are_no_text(void **state)
{
    (void)state;
    static const struct { const char *bytes; size_t n; const char *part; } files[] = {
        { "\xFF\xFEt\0e\0", 6, "is UTF-16: expected text in UTF-8 (iconv -f utf-16 -t utf-8 FILE)" },
        { "\xFE\xFF\0t\0e", 6, "is UTF-16: expected text in UTF-8 (iconv -f utf-16 -t utf-8 FILE)" },
        { "\xFF\xFE\0\0t\0\0\0", 8, "is UTF-32: expected text in UTF-8 (iconv -f utf-32" },
        { "\0\0\xFE\xFF\0\0\0t", 8, "is UTF-32: expected text in UTF-8 (iconv -f utf-32" },
        { "t\0e\0x\0t\0", 8, "is UTF-16: expected text in UTF-8 (iconv -f utf-16le -t utf-8 FILE)" },
        { "\0t\0e", 4, "is UTF-16: expected text in UTF-8 (iconv -f utf-16be -t utf-8 FILE)" },
        { "\x1F\x8B\x08\0", 4, "is gzip: expected text in UTF-8 (gunzip first)" },
        { "PK\3\4\x14\0", 6, "is a zip archive, as .xlsx and .ods are: expected text" },
        { "BZh91AY&SY", 10, "is bzip2" },
        { "\xFD" "7zXZ\0\0", 7, "is xz" },
        { "\x28\xB5\x2F\xFD", 4, "is zstd" },
        { "%PDF-1.4\n", 9, "is PDF" },
        { "text\na\0b\n", 9, "line 2, byte offset 6: a NUL byte: expected text, which has none" },
        { "\0", 1, "line 1, byte offset 0: a NUL byte" },
        { "t\0e", 3, "line 1, byte offset 1: a NUL byte" },
        { "\xFFt\0", 3, "line 1, byte offset 2: a NUL byte" },
    };
    static const char *const names[] = { "f.txt", "f.csv", "f.jsonl", "f.tsv", "f" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t k = 0; k < 10; k++) {
            const vt_corpus how = { .replace_invalid = k & 1 };
            write_file(names[k / 2], files[i].bytes, files[i].n);
            refused(VT_BAD_INPUT, &how, files[i].part);
        }
    /* An escape of JSON is a character that somebody meant. */
    corpus c;
    file_of("n.jsonl", "{\"text\":\"a\\u0000b\"}\n");
    assert_ok(load(&c, NULL));
    document(&c, 0, "a\0b");
    corpus_free(&c);
    file_of("pk.txt", "PK, BZh and %PDF are text, and so is \x1F.\n");
    assert_ok(load(&c, NULL));
    corpus_free(&c);
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
        const vt_status status = load(&c, NULL);
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

/* ---- several files -------------------------------------------------------- */

/* Files in the folder, read as `how` says. */
static vt_status load_files(corpus *c, const vt_corpus *how, size_t n, const char *const *names)
{
    static char paths[4][300];
    static const char *files[4];
    vt_corpus what = how ? *how : (vt_corpus){ .nfiles = 0 };
    for (size_t i = 0; i < n; i++) {
        snprintf(paths[i], sizeof *paths, "%s/%s", folder, names[i]);
        files[i] = paths[i];
    }
    what.files = files;
    what.nfiles = n;
    return corpus_load(c, &what, &test_error);
}
#define FILES(...) (sizeof (const char *[]){ __VA_ARGS__ } / sizeof (char *)), (const char *[]){ __VA_ARGS__ }

static void documents_of_several_files(void **state)
{
    (void)state;
    corpus c;
    file_of("1.csv", "n,text\n1,one\n2,\n3,\"th\"\"ree\"\n");
    file_of("2.jsonl", "{\"text\":\"f\\u006fur\"}\n{\"text\":\"five\"}\n");
    file_of("3.txt", "six\n");
    assert_ok(load_files(&c, NULL, FILES("1.csv", "2.jsonl", "3.txt")));
    assert_int_equal(c.count, 5);
    assert_int_equal(c.empty, 1);
    document(&c, 0, "one");
    document(&c, 1, "th\"ree");
    document(&c, 2, "four");
    document(&c, 3, "five");
    document(&c, 4, "six\n");
    assert_int_equal(c.bytes, 3 + 6 + 4 + 4 + 4);
    assert_int_equal(c.nfiles, 3);
    assert_int_equal(c.files[0].documents, 2);
    assert_int_equal(c.files[1].documents, 2);
    assert_int_equal(c.files[2].documents, 1);
    assert_int_equal(corpus_same_file(&c, 2), 2);
    /* By the command that corpus.h names. */
    char command[700], want[65] = "";
    snprintf(command, sizeof command, "cd %s && sha256sum 1.csv 2.jsonl 3.txt | cut -c 1-64 | sha256sum",
             folder);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_int_equal(fread(want, 1, 64, p), 64);
    assert_int_equal(pclose(p), 0);
    assert_string_equal(c.sha256, want);
    corpus_free(&c);

    assert_ok(load_files(&c, NULL, FILES("3.txt", "1.csv", "3.txt")));      /* order; one twice */
    assert_int_equal(c.count, 4);
    document(&c, 0, "six\n");
    document(&c, 3, "six\n");
    assert_int_equal(corpus_same_file(&c, 2), 0);
    assert_int_equal(corpus_same_file(&c, 1), 1);
    corpus_free(&c);
    assert_int_equal(load_files(&c, NULL, 0, NULL), VT_USAGE);
}

static void the_bad_one_of_several_is_named(void **state)
{
    (void)state;
    corpus c;
    file_of("good.csv", "text\na\n");
    file_of("bad.csv", "text\na\n\"b\n");
    file_of("bad.jsonl", "{\"text\":\"a\"}\n{\"text\":1}\n");
    file_of("none.csv", "text\n");
    assert_int_equal(load_files(&c, NULL, FILES("good.csv", "bad.csv")), VT_BAD_INPUT);
    assert_contains(test_error.text, "bad.csv: line 3");
    assert_null(c.files);
    assert_int_equal(load_files(&c, NULL, FILES("good.csv", "bad.jsonl", "good.csv")), VT_BAD_INPUT);
    assert_contains(test_error.text, "bad.jsonl: line 2, byte offset 21: field \"text\"");
    assert_int_equal(load_files(&c, NULL, FILES("good.csv", "none.csv")), VT_BAD_INPUT);
    assert_contains(test_error.text, "none.csv: no text in it (0 empty documents)");
    assert_int_equal(load_files(&c, NULL, FILES("good.csv", "nowhere.csv")), VT_IO);
    assert_contains(test_error.text, "nowhere.csv: ");
    const vt_corpus other = { .column = "body" };
    assert_int_equal(load_files(&c, &other, FILES("bad.jsonl")), VT_BAD_INPUT);
    assert_contains(test_error.text, "bad.jsonl: line 1: no field \"body\": expected one of: text");
}

/* A limit counts the rows of all files; what lies behind it is hashed, not judged. */
static void a_limit_over_several_files(void **state)
{
    (void)state;
    corpus c, all;
    file_of("l1.csv", "text\na\nb\n");
    file_of("l2.ndjson", "{\"text\":\"c\"}\n\n{\"text\":\"d\"}\n{\"text\":\n");
    file_of("l3.csv", "text\ne\n");
    vt_corpus how = { .max_rows = 3 };
    assert_ok(load_files(&c, &how, FILES("l1.csv", "l2.ndjson", "l3.csv")));
    assert_int_equal(c.count, 3);
    document(&c, 2, "c");
    assert_int_equal(c.files[2].documents, 0);
    how.max_rows = 4;
    assert_ok(load_files(&all, &how, FILES("l1.csv", "l2.ndjson", "l3.csv")));
    assert_int_equal(all.count, 4);
    document(&all, 3, "d");
    assert_string_equal(all.sha256, c.sha256);
    corpus_free(&all);
    corpus_free(&c);
    how.max_rows = 5;
    assert_int_equal(load_files(&c, &how, FILES("l1.csv", "l2.ndjson", "l3.csv")), VT_BAD_INPUT);
    assert_contains(test_error.text, "l2.ndjson: line 4, byte offset 35: field \"text\": expected a "
                    "string, found nothing");
}

/* ---- columns by number, no header ----------------------------------------- */

static void columns_by_number(void **state)
{
    (void)state;
    corpus c;
    vt_corpus how = { .column = "3" };
    file_of("n.csv", "1,b,c\nx,y,z\n");
    assert_ok(load(&c, &how));
    document(&c, 0, "z");
    corpus_free(&c);
    how.column = "1";                           /* a name wins: this one is also the first */
    assert_ok(load(&c, &how));
    document(&c, 0, "x");
    corpus_free(&c);
    file_of("n.csv", "a,b,1\nx,y,z\n");
    assert_ok(load(&c, &how));
    document(&c, 0, "z");
    corpus_free(&c);
    static const char *const none[] = { "4", "0", "-1", "", "2x", "99999999999999999999999" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        how.column = none[i];
        refused(VT_BAD_INPUT, &how, "expected one of: a, b, 1, or a number from 1 to 3");
    }
}

static void tables_without_a_header(void **state)
{
    (void)state;
    corpus c;
    vt_corpus how = { .no_header = true };
    file_of("h.csv", "\xEF\xBB\xBF\"a\"\"1\",b1\r\n\r\na2,b2\r\n");
    assert_ok(load(&c, &how));
    assert_int_equal(c.count, 2);
    document(&c, 0, "a\"1");
    document(&c, 1, "a2");
    corpus_free(&c);
    how.column = "2";
    assert_ok(load(&c, &how));
    document(&c, 0, "b1");
    document(&c, 1, "b2");
    corpus_free(&c);
    how.max_rows = 1;
    assert_ok(load(&c, &how));
    assert_int_equal(c.count, 1);
    corpus_free(&c);
    how.max_rows = 0;
    how.column = "b1";                          /* no name, though the first line has it */
    refused(VT_USAGE, &how, "no column \"b1\": expected its number, from 1 to 2, where there is no "
            "line of names (--no-header)");
    how.column = "3";
    refused(VT_USAGE, &how, "from 1 to 2");
    how.column = NULL;
    file_of("h.csv", "a,b\nc\n");
    refused(VT_BAD_INPUT, &how, "line 2: 1 field, expected 2 as in the first line");
    file_of("h.csv", "\na\n");
    refused(VT_BAD_INPUT, &how, "line 1 is empty: expected a record");
    file_of("h.txt", "a,b\n");
    refused(VT_USAGE, &how, "a plain text has no line of names");
    how.column = "1";                           /* a column makes it a table */
    assert_ok(load(&c, &how));
    document(&c, 0, "a");
    corpus_free(&c);
    file_of("h.jsonl", "{\"1\":\"a\"}\n");
    refused(VT_USAGE, &how, "JSON Lines has no line of names");
}

/* ---- replacement ----------------------------------------------------------- */

static void invalid_bytes_are_replaced_and_counted(void **state)
{
    (void)state;
    corpus c;
    const vt_corpus how = { .replace_invalid = true };
    file_of("r.csv", "text,x\n\"caf\xC3\xA9 \xE2\x82\"\"\xFF\",\x80\nclean,\xC0\x80\n\xF0\x9F,y\n");
    assert_ok(load(&c, &how));
    assert_int_equal(c.count, 3);
    document(&c, 0, "caf\xC3\xA9 \xEF\xBF\xBD\"\xEF\xBF\xBD");
    document(&c, 1, "clean");
    document(&c, 2, "\xEF\xBF\xBD");
    assert_int_equal(c.bytes, 6 + 3 + 1 + 3 + 5 + 3);
    assert_int_equal(c.files[0].replaced, 6);           /* in the other column, too */
    assert_int_equal(c.files[0].line, 2);
    assert_int_equal(c.files[0].at, 14);
    corpus_free(&c);

    file_of("r.jsonl", "{\"text\":\"\\ud800\\n\xE2\"}\n{\"text\":\"\xC3\\u00e9\"}\n");
    assert_ok(load(&c, &how));
    document(&c, 0, "\xEF\xBF\xBD\n\xEF\xBF\xBD");
    document(&c, 1, "\xEF\xBF\xBD\xC3\xA9");
    assert_int_equal(c.files[0].replaced, 3);
    assert_int_equal(c.files[0].line, 1);
    assert_int_equal(c.files[0].at, 9);
    corpus_free(&c);
    refused(VT_BAD_INPUT, NULL, "byte offset 17: 0xE2 is not UTF-8 there: expected text in UTF-8 "
            "(is it Latin-1? iconv -f windows-1252 -t utf-8 FILE; else --replace-invalid makes it U+FFFD)");

    file_of("r.txt", "\xEF\xBB\xBF" "a\xFF");
    assert_ok(load(&c, &how));
    document(&c, 0, "a\xEF\xBF\xBD");
    assert_int_equal(c.files[0].at, 4);
    corpus_free(&c);
    file_of("r.txt", "nothing to replace: \xEF\xBF\xBD");
    assert_ok(load(&c, &how));
    assert_int_equal(c.files[0].replaced, 0);
    corpus_free(&c);
    /* Places that are named later are the file's. */
    file_of("r.csv", "text\n\xFF\xFF\xFF\n\"b");
    refused(VT_BAD_INPUT, &how, "line 3: the quote that opens here (byte offset 9)");
}

static int make_folder(void **state) { (void)state; return mkdtemp(folder) ? 0 : -1; }
static int drop_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < nwritten; i++) remove(written[i]);
    return remove(folder);
}

/* A signal while files are read, hashed or cut: each stage asks. */
static void a_signal_ends_the_reading(void **state)
{
    (void)state;
    corpus c;
    file_of("stopped.csv", "text\none\ntwo\n");
    interrupt_ask(15);
    assert_int_equal(load(&c, NULL), VT_INTERRUPTED);
    assert_contains(test_error.text, "signal 15");
    assert_null(c.files);
    interrupt_ask(0);
    assert_ok(load(&c, NULL));
    corpus_free(&c);
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
        cmocka_unit_test(files_that_are_no_text),
        cmocka_unit_test(json_that_is_not_lines),
        cmocka_unit_test(cells_parted_by_others),
        cmocka_unit_test(nothing_to_learn_from),
        cmocka_unit_test(malformed_csv_leaves_nothing_behind),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(a_file_larger_than_memory),
        cmocka_unit_test(documents_of_several_files),
        cmocka_unit_test(the_bad_one_of_several_is_named),
        cmocka_unit_test(a_limit_over_several_files),
        cmocka_unit_test(columns_by_number),
        cmocka_unit_test(tables_without_a_header),
        cmocka_unit_test(invalid_bytes_are_replaced_and_counted),
        cmocka_unit_test(a_signal_ends_the_reading),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
