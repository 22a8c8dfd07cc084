/* test_austen.c -- R's lazy-load blocks to CSV: made-up novels, and files cut or
 * changed at every place.
 */
#include "support.h"
#include "data/csv.h"
#define main austen_main
#include "../tools/austen.c"
#undef main

typedef struct blob { unsigned char data[1 << 16]; size_t n; } blob;

static void put(blob *b, const void *data, size_t n)
{
    assert_true(b->n + n <= sizeof b->data);
    if (n) memcpy(b->data + b->n, data, n);
    b->n += n;
}
static void put_u32(blob *b, uint32_t v)
{
    put(b, (unsigned char[]){ (unsigned char)(v >> 24), (unsigned char)(v >> 16),
                              (unsigned char)(v >> 8), (unsigned char)v }, 4);
}

enum { ASCII_STRING = 0x00040009, UTF8_STRING = 0x00008009, LATIN1_STRING = 0x00004009 };

/* A character vector of the lines of a text, as R's serialize() writes it. */
static void put_vector(blob *b, int version, const char *text, uint32_t string)
{
    uint32_t lines = 0;
    for (const char *p = text; *p; p++) lines += *p == '\n';
    put(b, "X\n", 2);
    put_u32(b, (uint32_t)version);
    put_u32(b, 0x00040201);
    put_u32(b, 0x00030500);
    if (version == 3) {
        put_u32(b, 5);
        put(b, "UTF-8", 5);
    }
    put_u32(b, 16);
    put_u32(b, lines);
    for (const char *p = text; *p; p += strcspn(p, "\n") + 1) {
        put_u32(b, string);
        put_u32(b, (uint32_t)strcspn(p, "\n"));
        put(b, p, strcspn(p, "\n"));
    }
}

static void put_block(blob *file, const blob *object)
{
    unsigned char packed[1 << 16];
    uLongf n = sizeof packed;
    assert_int_equal(compress(packed, &n, object->data, object->n), Z_OK);
    put_u32(file, (uint32_t)object->n);
    put(file, packed, n);
}

static void put_novel(blob *file, int version, const char *text, uint32_t string)
{
    static blob object;
    object.n = 0;
    put_vector(&object, version, text, string);
    put_block(file, &object);
}

/* The CSV that a file becomes (free it), the exit status in *status. */
static char *converted(const blob *file, int *status, size_t *n)
{
    static char report[2000];
    char *out = NULL;
    FILE *f = open_memstream(&out, n), *r = fmemopen(report, sizeof report, "w");
    assert_true(f && r);
    unsigned char *exact = guarded(file->n);
    if (file->n) memcpy(exact, file->data, file->n);
    *status = write_novels((span){ exact, file->n }, f, r);
    guarded_free(exact);
    fclose(f);
    fclose(r);
    return out;
}

static void assert_rows(const blob *file, size_t count, const char *const rows[][3])
{
    int status;
    size_t n, column[3];
    char *out = converted(file, &status, &n);
    assert_int_equal(status, 0);
    csv c;
    bool more;
    assert_ok(csv_open(&c, (unsigned char *)out, n, ',', false, "out", &test_error));
    assert_int_equal(c.columns, 3);
    assert_ok(csv_column(&c, "novel", &column[0], &test_error));
    assert_ok(csv_column(&c, "chapter", &column[1], &test_error));
    assert_ok(csv_column(&c, "text", &column[2], &test_error));
    for (size_t i = 0; i < count; i++) {
        assert_ok(csv_next(&c, &more, &test_error));
        assert_true(more);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(c.fields[column[k]].len, strlen(rows[i][k]));
            assert_memory_equal(c.fields[column[k]].data, rows[i][k], strlen(rows[i][k]));
        }
    }
    assert_ok(csv_next(&c, &more, &test_error));
    assert_false(more);
    csv_close(&c);
    free(out);
}

static blob file;

static void three_spellings_of_headings(void **state)
{
    (void)state;
    file.n = 0;
    put_novel(&file, 3, "MY NOVEL AND I\n\nby Me\n\n\nCHAPTER I\n\nOne \"said\",\n\ntwo.\n\n\n"
                        "CHAPTER II  \n  Indented\n\nCHAPTER III\nChapter and verse\nCHAPTERS 4\n",
              ASCII_STRING);
    put_novel(&file, 3, "\nOther\nadvertisement\nChapter 1\na\nChapter 2\nb \xC2\xA3" "5\nFinis\nnote\n",
              UTF8_STRING);
    put_novel(&file, 2, "THIRD, \"x\"\nCHAPTER 1\n\nx\n\n\nCHAPTER 2\ny\n\n\nA NOTE ON THE TEXT\n\nz\n",
              ASCII_STRING);
    const char *const rows[][3] = {
        { "My Novel and I", "1", "One \"said\",\n\ntwo." },
        { "My Novel and I", "2", "  Indented" },
        { "My Novel and I", "3", "Chapter and verse\nCHAPTERS 4" },
        { "Other", "1", "a" },
        { "Other", "2", "b \xC2\xA3" "5" },
        { "Third x", "1", "x" },
        { "Third x", "2", "y" } };
    assert_rows(&file, 7, rows);
}

static void volumes_begin_the_count_again(void **state)
{
    (void)state;
    file.n = 0;
    put_novel(&file, 3, "N\nVOLUME I\nCHAPTER I\na\nCHAPTER II\nb\n\nVOLUME II\n\n\nCHAPTER I\nc\n"
                        "[To Mrs. Weston.]\n[At this point Volume 1 ends.]\n\n"
                        "CHAPTER II\nd\n    [End volume one of\n  this\n  edition]\ne\nTHE END\nf\n",
              ASCII_STRING);
    const char *const rows[][3] = { { "N", "1", "a" }, { "N", "2", "b" },
                                    { "N", "3", "c\n[To Mrs. Weston.]" }, { "N", "4", "d\ne" } };
    assert_rows(&file, 4, rows);
}

static void chapters_count_to_the_last(void **state)
{
    (void)state;
    static const char *const roman[] = { "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X" };
    static const char *const tens[] = { "", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC" };
    static char text[5000];
    strcpy(text, "T\n");
    for (int i = 1; i < 100; i++)
        sprintf(text + strlen(text), "CHAPTER %s%s\n%d\n", tens[i / 10],
                i % 10 ? roman[i % 10 - 1] : "", i);
    static char number[100][4];
    static const char *rows[99][3];
    for (int i = 1; i < 100; i++) {
        sprintf(number[i], "%d", i);
        rows[i - 1][0] = "T";
        rows[i - 1][1] = rows[i - 1][2] = number[i];
    }
    file.n = 0;
    put_novel(&file, 3, text, ASCII_STRING);
    assert_rows(&file, 99, (const char *const (*)[3])rows);
}

static void refused(const char *text, uint32_t string)
{
    int status;
    size_t n;
    file.n = 0;
    put_novel(&file, 3, text, string);
    free(converted(&file, &status, &n));
    assert_int_equal(status, BAD_INPUT);
}

static void what_is_no_novel_is_refused(void **state)
{
    (void)state;
    refused("N\nCHAPTER 1\na\nCHAPTER 3\nb\n", ASCII_STRING);       /* one was missed */
    refused("N\nCHAPTER 2\na\n", ASCII_STRING);
    refused("N\nCHAPTER 1\na\nCHAPTER 2\nb\nCHAPTER 1\n", ASCII_STRING);
    refused("N\nno chapters\n", ASCII_STRING);
    refused("\n\n", ASCII_STRING);
    refused("", ASCII_STRING);
    refused("N\nCHAPTER 1\n\xA3" "5\n", LATIN1_STRING);
    refused("N\nCHAPTER 1\n\xA3" "5\n", 9);                         /* in no known encoding */
    refused("N\nCHAPTER 1\na\n", ASCII_STRING | 2);                 /* not a string */
    int status;
    size_t n;
    file.n = 0;
    free(converted(&file, &status, &n));
    assert_int_equal(status, BAD_INPUT);
    const char *const rows[][3] = { { "N", "1", "plain" } };        /* ASCII without the flag */
    put_novel(&file, 3, "N\nCHAPTER 1\nplain\n", 9);
    assert_rows(&file, 1, rows);
}

/* Lengths that promise more than there is: refused, and nothing is allocated by
 * them (the sanitizers' build would stop at 4 GB). */
static void lengths_that_lie(void **state)
{
    (void)state;
    static blob object, honest;
    int status;
    size_t n;
    honest.n = 0;
    put_vector(&honest, 3, "N\nCHAPTER 1\na\n", ASCII_STRING);
    static const size_t places[] = { 14, 27, 35 };      /* encoding, count, a string's length */
    static const uint32_t lies[] = { 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 1000, 4 };
    for (size_t p = 0; p < 3; p++)
        for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
            object = honest;
            for (size_t i = 0; i < 4; i++)
                object.data[places[p] + i] = (unsigned char)(lies[k] >> (24 - 8 * i));
            file.n = 0;
            put_block(&file, &object);
            free(converted(&file, &status, &n));
            assert_int_equal(status, BAD_INPUT);
        }
    file.n = 0;
    put_block(&file, &honest);
    for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
        for (size_t i = 0; i < 4; i++) file.data[i] = (unsigned char)(lies[k] >> (24 - 8 * i));
        free(converted(&file, &status, &n));
        assert_int_equal(status, BAD_INPUT);
    }
}

static void cut_and_changed_files(void **state)
{
    (void)state;
    int status;
    size_t n;
    static blob whole, object;
    whole.n = 0;
    put_novel(&whole, 3, "Novel\nCHAPTER I\nsome text\nCHAPTER II\nmore of it\n", ASCII_STRING);
    for (size_t cut = 0; cut < whole.n; cut++) {
        file = whole;
        file.n = cut;
        free(converted(&file, &status, &n));
        assert_int_equal(status, BAD_INPUT);
    }
    size_t refusals = 0;                /* any change but to zlib's header is seen */
    for (size_t at = 0; at < whole.n; at++)
        for (int bit = 0; bit < 8; bit++) {
            file = whole;
            file.data[at] ^= (unsigned char)(1 << bit);
            free(converted(&file, &status, &n));
            refusals += status == BAD_INPUT;
        }
    assert_true(refusals >= 8 * (whole.n - 2));
    static blob vector;                 /* changes below the checksum: no crash */
    vector.n = 0;
    put_vector(&vector, 3, "Novel\nCHAPTER I\nsome text\nCHAPTER II\nmore of it\n", ASCII_STRING);
    for (size_t at = 0; at < vector.n; at++)
        for (int bit = 0; bit < 8; bit++) {
            object = vector;
            object.data[at] ^= (unsigned char)(1 << bit);
            file.n = 0;
            put_block(&file, &object);
            free(converted(&file, &status, &n));
            assert_true(status == OK || status == BAD_INPUT);
        }
    object = vector;                    /* bytes behind the vector */
    put(&object, "x", 1);
    file.n = 0;
    put_block(&file, &object);
    free(converted(&file, &status, &n));
    assert_int_equal(status, BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_spellings_of_headings),
        cmocka_unit_test(volumes_begin_the_count_again),
        cmocka_unit_test(chapters_count_to_the_last),
        cmocka_unit_test(what_is_no_novel_is_refused),
        cmocka_unit_test(lengths_that_lie),
        cmocka_unit_test(cut_and_changed_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
