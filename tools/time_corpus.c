/* time_corpus.c -- how fast a corpus is read, and its parts.
 *
 *     cmake --build build --target time_corpus
 *     build/time_corpus FILE [COLUMN] [ROUNDS]
 *
 * MB (10^6 bytes of the file) per second of: reading the file into memory, its
 * SHA-256, the check that it is UTF-8, the cells of a CSV or the fields of a .jsonl,
 * and corpus_load, which does all of it.  A figure is the best of ROUNDS
 * [5], in processor time of the one thread: what the code can do, not what a busy
 * machine lets it; parts take turns, so that all see the same machine.  The file is
 * in the system's cache from the second round on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/utf8_text.h"
#include "data/corpus.h"
#include "data/csv.h"
#include "data/jsonl.h"

enum part { READ, HASH, CHECK, CELLS, WHOLE, PARTS };
static const char *const names[PARTS] = { "read", "sha256", "utf-8", "cells", "corpus_load" };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_lines(const char *path)
{
    const size_t n = strlen(path);
    return n >= 6 && strcmp(path + n - 6, ".jsonl") == 0;
}

/* Each record, or line; *rows says how many. */
static vt_status cells(const bytes *b, const char *path, const char *column, size_t *rows,
                       vt_error *err)
{
    const bool lines = is_lines(path);
    csv table = { .data = NULL };
    jsonl j = { .data = NULL };
    size_t index = 0;
    bool more = true;
    vt_status s = lines ? jsonl_open(&j, b->data, b->len, column ? column : "text", false, path, err)
                        : csv_open(&table, b->data, b->len, ',', false, path, err);
    if (s == VT_OK && !lines) s = csv_column(&table, column, &index, err);
    for (*rows = 0; s == VT_OK; ++*rows)
        if ((s = lines ? jsonl_next(&j, &more, err) : csv_next(&table, &more, err)) || !more) break;
    csv_close(&table);
    jsonl_close(&j);
    return s;
}

static vt_status one_round(double best[PARTS], const vt_corpus *what, vt_error *err)
{
    const char *path = what->files[0];
    double start[PARTS + 1];
    size_t rows = 0;
    char hash[65];
    bytes b;
    corpus c;
    start[READ] = now();
    vt_status s = io_read(&b, path, SIZE_MAX / 2, err);
    if (s) return s;
    start[HASH] = now();
    sha256_hex(hash, b.data, b.len);
    start[CHECK] = now();
    if (utf8_text_bad(b.data, b.len) != b.len) printf("not UTF-8\n");
    start[CELLS] = now();
    s = cells(&b, path, what->column, &rows, err);
    const size_t n = b.len;
    start[WHOLE] = now();
    bytes_free(&b);
    if (s) return s;
    const double freed = now();
    if ((s = corpus_load(&c, what, err))) return s;
    start[PARTS] = now() - freed + start[WHOLE];
    corpus_free(&c);
    for (int i = 0; i < PARTS; i++) {
        const double speed = 1e-6 * (double)n / (start[i + 1] - start[i]);
        if (speed > best[i]) best[i] = speed;
    }
    return s;
}

int main(int argc, char **argv)
{
    if (argc < 2) return fprintf(stderr, "usage: time_corpus FILE [COLUMN] [ROUNDS]\n"), 2;
    const char *files[] = { argv[1] };
    const vt_corpus what = { .files = files, .nfiles = 1,
                             .column = argc > 2 && *argv[2] ? argv[2] : NULL };
    double best[PARTS] = { 0 };
    vt_error err;
    for (int i = argc > 3 ? atoi(argv[3]) : 5; i > 0; i--) {
        const vt_status s = one_round(best, &what, &err);
        if (s) return fprintf(stderr, "time_corpus: %s\n", err.text), (int)s;
    }
    for (int i = 0; i < PARTS; i++) printf("%-12s %8.0f MB/s\n", names[i], best[i]);
    return 0;
}
