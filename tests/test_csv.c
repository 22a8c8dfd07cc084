/* test_csv.c -- the CSV reader against RFC 4180: by hand, against Python's csv
 * module on random tables, and against the grammar on every short text.
 */
#include "support.h"
#include "data/csv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a text holds, as a line per record with each cell in hexadecimal, cells
 * parted by commas; the header is the first line.  "E" where it is refused. */
static char *shown_with(char separator, const char *text, size_t len)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    assert_non_null(f);
    unsigned char *data = guarded(len);         /* ends at a page without access */
    if (len) memcpy(data, text, len);
    csv c;
    bool more = true;
    vt_status status = csv_open(&c, data, len, separator, false, "t.csv", &test_error);
    const slice *cells = status ? NULL : c.header;
    while (status == VT_OK && more) {
        for (size_t i = 0; i < c.columns; i++) {
            if (i) fputc(',', f);
            for (size_t k = 0; k < cells[i].len; k++) fprintf(f, "%02x", cells[i].data[k]);
        }
        fputc('\n', f);
        cells = c.fields;
        status = csv_next(&c, &more, &test_error);
    }
    if (status) assert_int_equal(status, VT_BAD_INPUT);
    csv_close(&c);
    guarded_free(data);
    fclose(f);
    if (status) {
        free(out);
        out = strdup("E");
        assert_non_null(out);
    }
    return out;
}

static char *shown(const char *text, size_t len) { return shown_with(',', text, len); }

/* Cells are written here as text; '|' parts cells, ';' records. */
static void check_reads(const char *text, size_t len, const char *want)
{
    char hex[2000], *h = hex;
    for (const char *p = want; *p; p++)
        h += *p == '|' ? sprintf(h, ",") : *p == ';' ? sprintf(h, "\n")
                                         : sprintf(h, "%02x", (unsigned char)*p);
    char *got = shown(text, len);
    assert_string_equal(got, hex);
    free(got);
}
#define reads(text, want) check_reads(text, sizeof(text) - 1, want)

static void refuses(const char *text, const char *part)
{
    test_error.text[0] = 0;
    char *got = shown(text, strlen(text));
    assert_string_equal(got, "E");
    assert_contains(test_error.text, "t.csv");
    assert_contains(test_error.text, part);
    free(got);
}

/* CSV-01 */
static void mark_before_a_quoted_first_field(void **state)
{
    (void)state;
    reads("\xEF\xBB\xBF\"a,b\",c\n1,2\n", "a,b|c;1|2;");
    reads("\xEF\xBB\xBFtext\n", "text;");
    unsigned char data[] = "\xEF\xBB\xBF\"a,b\",c\n1,2\n";
    csv c;
    size_t column = 9;
    assert_ok(csv_open(&c, data, sizeof data - 1, ',', false, "t.csv", &test_error));
    assert_ok(csv_column(&c, "a,b", &column, &test_error));
    assert_int_equal(column, 0);
    assert_ok(csv_column(&c, "c", &column, &test_error));
    assert_int_equal(column, 1);
    csv_close(&c);
}

/* CSV-02 */
static void newlines_inside_quotes_are_text(void **state)
{
    (void)state;
    reads("id,text\n1,\"x\ny\"\n", "id|text;1|x\ny;");
    reads("id,text\r\n1,\"x\r\ny\"\r\n", "id|text;1|x\r\ny;");
    reads("id,text\n1,\"x\r\ny\"\r\n2,\"\n\"", "id|text;1|x\r\ny;2|\n;");
}

/* CSV-03 */
static void escaped_quotes_and_a_last_line_without_newline(void **state)
{
    (void)state;
    reads("a,b,c\none,\"\"\"two\"\" x\",3\n4,5,6", "a|b|c;one|\"two\" x|3;4|5|6;");
    reads("a\n\"\"\"\"", "a;\";");
    reads("a\n\"\"", "a;;");
    reads("a\n\"\"\"\"\"\"", "a;\"\";");
    reads("a,b\n\"\"\"x\",\"y\"\"\"\n", "a|b;\"x|y\";");
}

/* CSV-05 */
static void malformed_text_is_refused_by_place(void **state)
{
    (void)state;
    refuses("h,i\n\"abc\nd,e\n", "line 2");
    refuses("h,i\n\"abc\nd,e\n", "byte offset 4");
    refuses("h,i\n\"x\ny\",1\n2,\"\"\"q\nz", "line 4: the quote that opens here (byte offset 14)");
    refuses("h,i\n\"a\"b,c\n", "line 2, column 4 (byte offset 7)");
    refuses("h,i\n1,\"a\" \n", "line 2, column 6");
    refuses("h,i\n1,a\"b\"\n", "line 2, column 4");
    refuses("h,i\n1,a\r2,b\n", "carriage return");
    refuses("h,i\n1,a\r", "carriage return");
    refuses("h,i\n1,2\n\"x\n\ny\",2\n1\n", "line 6: 1 field, expected 2");
    refuses("h,i\n\"\"\"\n\",1\n\"q", "line 4");      /* undone quotes move newlines */
    refuses("h,i\n1,2,3\n", "line 2: 3 fields, expected 2");
    refuses("h,i\n1,2,\n", "line 2: 3 fields, expected 2");
    refuses("", "empty");
    refuses("\xEF\xBB\xBF", "empty");
    refuses("\nx\n", "line 1 is empty");
    refuses("\"h", "line 1");
    reads("h,i,j\na,b,\n", "h|i|j;a|b|;");
    reads("h,i,j\na,b,", "h|i|j;a|b|;");
    reads("h,i,j\n,,\n", "h|i|j;||;");
}

/* The record of the newcomer's table: the quote that closes too late is that of another
 * cell, lines below the one that was left open. */
static void the_cell_left_open_is_named(void **state)
{
    (void)state;
    refuses("h,i\n1,\"a\nb\n2,\"c\"\n", "line 4, column 4 (byte offset 14): text behind a closing "
            "quote, of the cell that opens at line 2: expected a comma or a newline");
    refuses("h,i\n\"x\"\"\ny\",1\n\n3,\"z\n\n\"\"\"w\n", "line 7, column 4 (byte offset 24): text behind a "
            "closing quote, of the cell that opens at line 5:");
    refuses("h,i\n1,\"a\nb\"c\n", "of the cell that opens at line 2");
    refuses("h,i\n\"x\ny\",\"z\nw\"v\n", "line 4, column 3 (byte offset 15): text behind a closing quote, of the "
            "cell that opens at line 3:");
    test_error.text[0] = 0;
    refuses("h,i\n1,\"a\"b\n", "line 2, column 6 (byte offset 9): text behind a closing quote: expected a "
            "comma or a newline");
}

static void check_parts(char separator, const char *text, const char *want)
{
    char *got = shown_with(separator, text, strlen(text));
    assert_string_equal(got, want);
    free(got);
}

static void other_separators(void **state)
{
    (void)state;
    char s;
    check_parts(';', "a;b\n1,5;\"x;\"\"y\"\n", "61,62\n312c35,783b2279\n");
    check_parts('\t', "a\tb\r\n\t\" \t\"\r\n", "61,62\n,2009\n");
    check_parts(';', "a,b\n1,2\n", "612c62\n312c32\n");
    check_parts('x', "axb\n", "61,62\n");
    for (int c = -128; c < 128; c++) {
        const char text[2] = { (char)c, 0 };
        const bool good = c > 0 && c < 127 && c != '"' && c != '\n' && c != '\r';
        assert_int_equal(csv_separator(text, &s), good);
        if (good) assert_int_equal(s, c);
    }
    assert_true(csv_separator("tab", &s) && s == '\t');
    static const char *const none[] = { "", "ta", "tab ", ";;", "\\t", "\xC3\xA9" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_false(csv_separator(none[i], &s));
}

/* What is said of a column `name` in a text whose separator is given. */
static void said(char separator, const char *text, const char *name, const char *part)
{
    csv c;
    size_t column;
    unsigned char *data = guarded(strlen(text));
    memcpy(data, text, strlen(text));
    vt_status s = csv_open(&c, data, strlen(text), separator, false, "t.csv", &test_error);
    if (s == VT_OK) s = csv_column(&c, name, &column, &test_error);
    assert_int_equal(s, VT_BAD_INPUT);
    const size_t n = strlen(test_error.text), k = strlen(part);
    if (n < k || strcmp(test_error.text + n - k, part) != 0)
        fail_msg("said \"%s\", expected at its end \"%s\"", test_error.text, part);
    csv_close(&c);
    guarded_free(data);
}

static void what_may_be_meant_is_said(void **state)
{
    (void)state;
    said(',', "id;body\n", "body", "expected one of: id;body, or a number from 1 to 1; is ; the separator? "
         "(--separator ';')");
    said(',', "id;body\n", NULL, "; is ; the separator? (--separator ';')");
    said(',', "id\tbody\n", "body", "; is a tab the separator? (--separator tab)");
    said(';', "id,body\n", "body", "; is , the separator? (--separator ',')");
    said(',', "\"id\";\"body\"\n", "body", "expected a comma or a newline; is ; the separator? (--separator ';')");
    said(',', "sep=;\nid;body\n", "body", "; line 1 is a note of Excel's: remove it, and give --separator ';'");
    said(';', "sep=;\nid;body\n", "body", "; line 1 is a note of Excel's: remove it");
    said(',', "[\n", "body", "; is it JSON? (JSON Lines, one object a line, are named .jsonl)");
    said(',', "id,author,body\n", "bodi", "or a number from 1 to 3; is body meant?");
    said(',', "id,author,body\n", "words", "expected one of: id, author, body, or a number from 1 to 3");
    said(',', "Anna,2024-05-16\n", "body", "; is line 1 data? (--no-header)");
    said(',', "x,body,body\n", "body", "2 columns are called \"body\": expected one, or a number (2 is the "
         "first of them)");
    /* 40 bytes of a name, and no half character: the accent would be bytes 40 and 41. */
    said(',', "id,A cell of a table whose first line is d\xC3\xA9ta perhaps\n", "body",
         "one of: id, A cell of a table whose first line is d..., or a number from 1 to 2; "
         "is line 1 data? (--no-header)");
    refuses("h\n1;\"a\"\n", "for each quote in it; is ; the separator? (--separator ';')");
    refuses("a;b\n1;2,5\n", "2 fields, expected 1 as in the header; is ; the separator?");
}

static void lines_with_nothing_on_them(void **state)
{
    (void)state;
    reads("a,b\n\n1,2\r\n\r\n\n3,4\n\n", "a|b;1|2;3|4;");
    reads("a\n\n1\r\n\r\n", "a;;1;;");           /* one column: empty cells */
}

static void columns_are_found_by_name(void **state)
{
    (void)state;
    unsigned char data[] = "novel,\"my\"\"text\",\"wide\ncolumn\",x,x\n";
    csv c;
    size_t column = 9;
    assert_ok(csv_open(&c, data, sizeof data - 1, ',', false, "t.csv", &test_error));
    assert_ok(csv_column(&c, "my\"text", &column, &test_error));
    assert_int_equal(column, 1);
    assert_int_equal(csv_column(&c, "Novel", &column, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "\"Novel\"");
    assert_contains(test_error.text, "novel, my\"text, ");
    assert_null(strchr(test_error.text, '\n'));
    csv_close(&c);

    unsigned char twice[] = "x,y,x\n";
    assert_ok(csv_open(&c, twice, sizeof twice - 1, ',', false, "t.csv", &test_error));
    assert_int_equal(csv_column(&c, "x", &column, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "2 columns are called \"x\"");
    csv_close(&c);

    /* A thousand columns: the list is cut, not the message's memory. */
    unsigned char *wide = malloc(8000);
    size_t n = 0;
    for (int i = 0; i < 1000; i++)
        n += (size_t)sprintf((char *)wide + n, "%sc%d", i ? "," : "", i);
    assert_ok(csv_open(&c, wide, n, ',', false, "t.csv", &test_error));
    assert_int_equal(c.columns, 1000);
    assert_ok(csv_column(&c, "c999", &column, &test_error));
    assert_int_equal(column, 999);
    assert_int_equal(csv_column(&c, "none", &column, &test_error), VT_BAD_INPUT);
    assert_contains(test_error.text, "c0, c1, c2");
    assert_contains(test_error.text, ", ...");
    for (size_t cap = 7; cap < 60; cap++) {
        char *list = guarded(cap);
        csv_list_columns(&c, list, cap);
        assert_true(strlen(list) < cap);
        guarded_free(list);
    }
    csv_close(&c);
    free(wide);
}

static void a_field_of_any_length(void **state)
{
    (void)state;
    enum { LONG = 20 << 20 };
    unsigned char *text = malloc(LONG + 20);
    memcpy(text, "t\n\"", 3);
    memset(text + 3, 'x', LONG);
    for (size_t i = 10; i < LONG; i += 1000) memcpy(text + i, "\"\"", 2);
    memcpy(text + 3 + LONG, "\"\n", 2);
    csv c;
    bool more;
    assert_ok(csv_open(&c, text, LONG + 5, ',', false, "t.csv", &test_error));
    assert_ok(csv_next(&c, &more, &test_error));
    assert_true(more);
    size_t pairs = 0;
    for (size_t i = 10; i < LONG; i += 1000) pairs++;
    assert_int_equal(c.fields[0].len, LONG - pairs);
    size_t quotes = 0;
    for (size_t i = 0; i < c.fields[0].len; i++) quotes += c.fields[0].data[i] == '"';
    assert_int_equal(quotes, pairs);
    assert_ok(csv_next(&c, &more, &test_error));
    assert_false(more);
    assert_ok(csv_next(&c, &more, &test_error));    /* and again */
    assert_false(more);
    csv_close(&c);
    free(text);
}

/* Commas behind the end of the text are none of it, wherever the end lies; and each place
 * of an unquoted cell is looked at. */
static void the_end_of_the_text_is_kept(void **state)
{
    (void)state;
    enum { MOST = 300 };
    static const char ends[] = ",\n\"\r";
    for (size_t n = 1; n < MOST; n++)
        for (size_t k = 0; k < 4; k++) {
            unsigned char text[MOST + 70];
            csv c;
            memset(text, ends[k], sizeof text);
            memset(text, 'a', n);
            assert_ok(csv_open(&c, text, n, ',', true, "t.csv", &test_error));
            assert_int_equal(c.columns, 1);
            assert_int_equal(c.header[0].len, n);
            csv_close(&c);
            /* one byte longer: it ends there, or is refused there */
            const vt_status s = csv_open(&c, text, n + 1, ',', true, "t.csv", &test_error);
            assert_int_equal(s, k < 2 ? VT_OK : VT_BAD_INPUT);
            if (s == VT_OK) assert_int_equal(c.header[0].len, n);
            else assert_contains(test_error.text, k == 2 ? "a quote inside" : "a carriage return");
            csv_close(&c);
        }
}

static char folder[] = "/tmp/vitrine-csv-XXXXXX";

/* A line of what /usr/bin/python3 prints, without its newline; free it. */
static char *line_of(FILE *f)
{
    char *line = NULL;
    size_t cap = 0;
    const ssize_t n = getline(&line, &cap, f);
    if (n <= 0) {
        free(line);
        return NULL;
    }
    if (line[n - 1] == '\n') line[n - 1] = 0;
    return line;
}

static FILE *python(const char *script, const char *argument)
{
    char command[6000];
    const int n = snprintf(command, sizeof command, "/usr/bin/python3 -c '%s' '%s'", script,
                           argument);
    assert_true(n > 0 && (size_t)n < sizeof command);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    return f;
}

static uint64_t next_random(uint64_t *s)        /* xorshift64 */
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}
static size_t below(uint64_t *s, size_t n) { return (size_t)(next_random(s) % n); }

/* A random table with every liberty that the format leaves. */
static void write_random(FILE *f, char separator, uint64_t *s)
{
    static const char *const pieces[] = { "a", "bc", " ", "\"", "\"\"", ",", "\n", "\r\n", "\r",
                                          "\xC3\xA9", "\xE2\x80\x9C", "'", "\t", "0", "the end", ";", "|" };
    const char special[] = { '"', '\r', '\n', separator, 0 };
    const size_t columns = 1 + below(s, 4), rows = below(s, 8);
    if (below(s, 3) == 0) fputs("\xEF\xBB\xBF", f);
    for (size_t r = 0; r <= rows; r++) {
        for (size_t i = 0; i < columns; i++) {
            char cell[400] = "";
            bool must = false;
            for (size_t k = below(s, 12); k > 0; k--) {
                const char *p = pieces[below(s, sizeof pieces / sizeof *pieces)];
                strcat(cell, p);
                must |= strpbrk(p, special) != NULL;
            }
            if (r == 0 && columns == 1) strcat(cell, "h");      /* a header has a name */
            if (i) fputc(separator, f);
            if (!must && below(s, 2)) {
                fputs(cell, f);
                continue;
            }
            fputc('"', f);
            for (const char *p = cell; *p; p++) fputs(*p == '"' ? "\"\"" : (char[]){ *p, 0 }, f);
            fputc('"', f);
        }
        if (r == rows && below(s, 2)) break;
        fputs(below(s, 2) ? "\n" : "\r\n", f);
        if (columns > 1 && below(s, 6) == 0) fputs(below(s, 2) ? "\n" : "\r\n", f);
    }
}

static void random_tables_as_python_reads_them(void **state)
{
    (void)state;
    enum { TABLES = 400 };
    static const char separators[] = { 44, 59, 9, 124 };        /* , ; tab | */
    static const char script[] =
        "import csv, sys\n"
        "csv.field_size_limit(1 << 30)\n"
        "for i in range(int(sys.argv[1].split()[1])):\n"
        "    name = sys.argv[1].split()[0] + \"/%d.csv\" % i\n"
        "    f = open(name, newline=\"\", encoding=\"utf-8-sig\")\n"
        "    rows = list(csv.reader(f, strict=True, delimiter=chr((44, 59, 9, 124)[i % 4])))\n"
        "    if len(rows[0]) == 1: rows = [r or [\"\"] for r in rows]\n"
        "    print(\";\".join(\",\".join(c.encode().hex() for c in r) for r in rows if r))\n";
    char path[200];
    uint64_t s = 20240607;
    for (int i = 0; i < TABLES; i++) {
        snprintf(path, sizeof path, "%s/%d.csv", folder, i);
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        write_random(f, separators[i % 4], &s);
        assert_int_equal(fclose(f), 0);
    }
    snprintf(path, sizeof path, "%s %d", folder, TABLES);
    FILE *oracle = python(script, path);
    size_t cells = 0;
    for (int i = 0; i < TABLES; i++) {
        static char text[1 << 16];
        snprintf(path, sizeof path, "%s/%d.csv", folder, i);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        const size_t n = fread(text, 1, sizeof text, f);
        fclose(f);
        char *got = shown_with(separators[i % 4], text, n), *want = line_of(oracle);
        assert_non_null(want);
        remove(path);                   /* Python is done with it */
        for (char *p = got; *p; p++) {
            cells += *p == ',' || *p == '\n';
            if (*p == '\n') *p = p[1] ? ';' : 0;
        }
        if (strcmp(got, want) != 0)
            fail_msg("table %d: read %s, Python %s (%s)", i, got, want, test_error.text);
        free(got);
        free(want);
    }
    assert_int_equal(pclose(oracle), 0);
    assert_true(cells > 3000);
}

/* Every text of up to 6 bytes of a , " LF CR behind a header of one or two
 * columns, against the grammar written as a regular expression. */
static void every_short_text_as_the_grammar_reads_it(void **state)
{
    (void)state;
    static const char script[] =
        "import re, itertools\n"
        "Q, LF, CR = chr(34), chr(10), chr(13)\n"
        "cell = re.compile(Q + \"((?:[^\" + Q + \"]|\" + Q + Q + \")*)\" + Q + \"(?!\" + Q + \")\""
        " + \"|([^,\" + Q + LF + CR + \"]*)\")\n"
        "def parse(s, width):\n"
        "    p, rows = 0, []\n"
        "    while True:\n"
        "        if width > 1: p = re.compile(CR + \"?\" + LF + \"|\").match(s, p).end()\n"
        "        if p == len(s): return rows\n"
        "        if width > 1 and re.compile(CR + \"?\" + LF).match(s, p): continue\n"
        "        row = []\n"
        "        while True:\n"
        "            m = cell.match(s, p)\n"
        "            if s[p:p+1] == Q and m.group(1) is None: return None\n"
        "            row.append(m.group(2) if m.group(1) is None else m.group(1).replace(Q+Q, Q))\n"
        "            p = m.end()\n"
        "            if s[p:p+1] == \",\": p += 1; continue\n"
        "            if p == len(s): break\n"
        "            if s[p] == LF: p += 1; break\n"
        "            if s[p:p+2] == CR + LF: p += 2; break\n"
        "            return None\n"
        "        if len(row) != width: return None\n"
        "        rows.append(row)\n"
        "for width in (1, 2):\n"
        "    for n in range(7):\n"
        "        for t in itertools.product(\"a,\" + Q + LF + CR, repeat=n):\n"
        "            rows = parse(\"\".join(t), width)\n"
        "            print(\"E\" if rows is None else"
        " \";\".join(\",\".join(c.encode().hex() for c in r) for r in [[\"h\"] * width] + rows))\n";
    static const char alphabet[5] = { 'a', ',', '"', '\n', '\r' };
    FILE *oracle = python(script, "");
    size_t accepted = 0, refused = 0;
    for (int width = 1; width <= 2; width++)
        for (size_t n = 0, texts = 1; n <= 6; n++, texts *= 5)
            for (size_t number = 0; number < texts; number++) {
                char text[16];
                size_t at = (size_t)sprintf(text, width == 1 ? "h\n" : "h,h\n");
                for (size_t k = 0, rest = number, div = texts / 5; k < n; k++, div /= 5) {
                    text[at + k] = alphabet[rest / div];
                    rest %= div;
                }
                char *got = shown(text, at + n), *want = line_of(oracle);
                assert_non_null(want);
                for (char *p = got; *p; p++)
                    if (*p == '\n') *p = p[1] ? ';' : 0;
                if (strcmp(got, want) != 0) {
                    text[at + n] = 0;
                    fail_msg("width %d, text <%s>: read %s, grammar %s", width, text, got, want);
                }
                if (*got == 'E') refused++; else accepted++;
                free(got);
                free(want);
            }
    assert_int_equal(pclose(oracle), 0);
    assert_int_equal(accepted + refused, 2 * 19531);        /* sum of 5^n, n = 0 .. 6 */
    assert_true(accepted > 2000 && refused > 2000);
}

static int make_folder(void **state) { (void)state; return mkdtemp(folder) ? 0 : -1; }
static int drop_folder(void **state) { (void)state; return remove(folder); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mark_before_a_quoted_first_field),
        cmocka_unit_test(newlines_inside_quotes_are_text),
        cmocka_unit_test(escaped_quotes_and_a_last_line_without_newline),
        cmocka_unit_test(malformed_text_is_refused_by_place),
        cmocka_unit_test(the_cell_left_open_is_named),
        cmocka_unit_test(other_separators),
        cmocka_unit_test(what_may_be_meant_is_said),
        cmocka_unit_test(lines_with_nothing_on_them),
        cmocka_unit_test(columns_are_found_by_name),
        cmocka_unit_test(a_field_of_any_length),
        cmocka_unit_test(the_end_of_the_text_is_kept),
        cmocka_unit_test(random_tables_as_python_reads_them),
        cmocka_unit_test(every_short_text_as_the_grammar_reads_it),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
