/* austen.c -- Jane Austen's six novels, from the data of the R package
 * janeaustenr to CSV: one row per chapter, columns novel, chapter, text.
 *
 *     austen Rdata.rdb >novels.csv
 *
 * Input (R Internals, sections 1.8 "Serialization Formats" and 1.1.2 "Rest of
 * header"; the lazy-load database is described in makeLazyLoad.R).  The file is
 * a row of blocks, one per object:
 *
 *     u32 big-endian   bytes of the object
 *     zlib stream      the object
 *
 * An object is here a character vector, one string per line of a novel, in the
 * XDR form of version 2 or 3:
 *
 *     "X\n", u32 version, u32 writer, u32 reader
 *     version 3: u32 length, native encoding
 *     u32 flags (low byte 16: character vector), u32 number of strings
 *     each: u32 flags (low byte 9: string), u32 length (or -1: NA), bytes
 *
 * The index (.rdx) is not needed: blocks follow one another and a novel's first
 * line is its title.
 *
 * What is a chapter.  Headings come in three spellings, each a line of its own:
 * "CHAPTER I" (Emma, Mansfield Park), "CHAPTER 1" (Northanger Abbey, Sense and
 * Sensibility), "Chapter 1" (Persuasion, Pride and Prejudice).  Their numbers
 * must count 1, 2, 3 ...; after a line "VOLUME II" they may begin again, as
 * Emma's do.  The column `chapter` counts through the whole novel.  A gap is an
 * error: it would mean that a heading was not recognised.
 *
 * What is text.  A chapter's lines as they are, without headings and without the
 * empty lines around them.  Left out: all before the first chapter (title pages,
 * the advertisement of Northanger Abbey), all from a line "Finis", "THE END" or
 * "A NOTE ON THE TEXT" on (the last is a modern publisher's), and editors' notes
 * in brackets on where volumes ended.
 *
 * The input is treated as hostile: nothing is read outside the file, nothing is
 * allocated beyond what its bytes could hold or BLOCK_MOST.  Standard output may
 * be partial after an error; the exit status then is not 0 (3: the input is not
 * what it should be, 4: reading or writing failed).
 *
 * Needs zlib only.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { FILE_MOST = 1 << 28, BLOCK_MOST = 1 << 26 };     /* bytes */
enum { OK = 0, USAGE = 2, BAD_INPUT = 3, IO_FAILED = 4 };

typedef struct span { const unsigned char *data; size_t len; } span;

static int bad(FILE *report, const char *what, size_t at)
{
    fprintf(report, "austen: %s (at %zu)\n", what, at);
    return BAD_INPUT;
}

/* ---- the objects of the file -------------------------------------------- */

static bool take(span *in, size_t n, span *out)
{
    if (n > in->len) return false;
    *out = (span){ in->data, n };
    in->data += n;
    in->len -= n;
    return true;
}

static bool take_u32(span *in, uint32_t *v)
{
    span b;
    if (!take(in, 4, &b)) return false;
    *v = (uint32_t)b.data[0] << 24 | (uint32_t)b.data[1] << 16 | (uint32_t)b.data[2] << 8 | b.data[3];
    return true;
}

/* One block off `in` into *object (free it); false when it is malformed. */
static bool take_block(span *in, unsigned char **object, size_t *n)
{
    uint32_t size;
    *object = NULL;
    /* deflate makes at most 1032 bytes of one. */
    if (!take_u32(in, &size) || size > BLOCK_MOST || size / 1032 > in->len) return false;
    *object = malloc((size_t)size + 1);
    if (!*object) return false;
    z_stream z = { .next_in = (Bytef *)(uintptr_t)in->data, .avail_in = (uInt)in->len,
                   .next_out = *object, .avail_out = (uInt)size + 1 };
    if (inflateInit(&z) != Z_OK) return false;
    const int end = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    if (end != Z_STREAM_END || z.total_out != size) return false;
    *n = size;
    span used;
    return take(in, in->len - z.avail_in, &used);
}

/* Where in a string's flags R notes its encoding. */
enum { LATIN1 = 4, UTF8 = 8, ASCII = 64 };

/* The lines of a character vector (free *lines; they point into the object);
 * how many, or SIZE_MAX where it is no such thing. */
static size_t lines_of(span object, span **lines)
{
    span in = object, skipped;
    uint32_t version, word, flags, count, length;
    *lines = NULL;
    if (!take(&in, 2, &skipped) || memcmp(skipped.data, "X\n", 2) != 0) return SIZE_MAX;
    if (!take_u32(&in, &version) || version < 2 || version > 3) return SIZE_MAX;
    if (!take_u32(&in, &word) || !take_u32(&in, &word)) return SIZE_MAX;
    if (version == 3 && (!take_u32(&in, &word) || !take(&in, word, &skipped))) return SIZE_MAX;
    if (!take_u32(&in, &flags) || flags != 16 || !take_u32(&in, &count)) return SIZE_MAX;
    if (count > in.len / 8) return SIZE_MAX;            /* 8 bytes each, at least */
    *lines = malloc((count + (size_t)1) * sizeof **lines);
    if (!*lines) return SIZE_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (!take_u32(&in, &flags) || (flags & 0xFF) != 9 || !take_u32(&in, &length))
            return SIZE_MAX;
        if (length == UINT32_MAX) length = 0;           /* NA: an empty line */
        if (!take(&in, length, &(*lines)[i])) return SIZE_MAX;
        const uint32_t encoding = flags >> 12;
        for (uint32_t k = 0; k < length && !(encoding & (UTF8 | ASCII)); k++)
            if ((*lines)[i].data[k] > 127) return SIZE_MAX;     /* Latin-1 or unknown */
    }
    return in.len == 0 ? count : SIZE_MAX;
}

/* ---- what a line is ------------------------------------------------------ */

static span trimmed(span t)
{
    while (t.len && (*t.data == ' ' || *t.data == '\t')) t.data++, t.len--;
    while (t.len && (t.data[t.len - 1] == ' ' || t.data[t.len - 1] == '\t')) t.len--;
    return t;
}

static bool is(span t, const char *word)
{
    return t.len == strlen(word) && memcmp(t.data, word, t.len) == 0;
}

static bool after(span t, const char *word, span *rest)
{
    const size_t n = strlen(word);
    if (t.len < n || memcmp(t.data, word, n) != 0) return false;
    *rest = (span){ t.data + n, t.len - n };
    return true;
}

/* 1 .. 999 in digits or Roman numerals; 0 for anything else. */
static int number(span t)
{
    static const struct { const char *sign; int value; } roman[] = {
        { "XC", 90 }, { "L", 50 }, { "XL", 40 }, { "X", 10 }, { "IX", 9 }, { "V", 5 },
        { "IV", 4 }, { "I", 1 } };
    int n = 0;
    if (t.len == 0 || t.len > 12) return 0;
    if (*t.data >= '0' && *t.data <= '9') {
        for (; t.len; t.data++, t.len--) {
            if (*t.data < '0' || *t.data > '9' || n > 99) return 0;
            n = 10 * n + (*t.data - '0');
        }
        return n;
    }
    for (size_t i = 0; i < sizeof roman / sizeof *roman; i++)
        while (after(t, roman[i].sign, &t)) n += roman[i].value;
    return t.len == 0 ? n : 0;
}

static int heading(span line, const char *capital, const char *small)
{
    span rest;
    if (after(line, capital, &rest) || (small && after(line, small, &rest)))
        return number(trimmed(rest));
    return 0;
}
static int chapter_heading(span line) { return heading(line, "CHAPTER ", "Chapter "); }
static int volume_heading(span line) { return heading(line, "VOLUME ", NULL); }

static bool ends_novel(span line)
{
    static const char *const ends[] = { "FINIS", "Finis", "THE END", "A NOTE ON THE TEXT" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (is(trimmed(line), ends[i])) return true;
    return false;
}

/* Lines that an editor's note on volumes takes from lines[0] on; 0: none. */
static size_t note_lines(const span *lines, size_t n)
{
    enum { LONGEST = 6 };
    const span first = trimmed(lines[0]);
    span rest;
    bool volume = false;
    if (!after(first, "[", &rest)) return 0;
    for (size_t k = 0; k + 6 <= first.len; k++)
        volume |= memcmp(first.data + k, "olume ", 6) == 0;
    for (size_t i = 0; volume && i < n && i < LONGEST; i++) {
        const span line = trimmed(lines[i]);
        if (line.len && line.data[line.len - 1] == ']') return i + 1;
    }
    return 0;
}

/* ---- out ------------------------------------------------------------------ */

/* A novel's title as its first line gives it, "PRIDE AND PREJUDICE", with small
 * letters but for the first of each word other than "and". */
static void write_title(span title, FILE *out)
{
    bool begins = true;
    for (size_t i = 0; i < title.len; i++) {
        unsigned char c = title.data[i];
        const bool conjunction = title.len - i >= 4 && memcmp(title.data + i, "AND ", 4) == 0;
        if (c >= 'A' && c <= 'Z' && (!begins || conjunction)) c = (unsigned char)(c - 'A' + 'a');
        begins = c == ' ';
        if (c >= ' ' && c != '"' && c != ',') putc(c, out);
    }
}

static void write_row(span title, int chapter, const span *lines, size_t n, FILE *out)
{
    while (n && trimmed(lines[0]).len == 0) lines++, n--;
    while (n && trimmed(lines[n - 1]).len == 0) n--;
    write_title(title, out);
    fprintf(out, ",%d,\"", chapter);
    for (size_t i = 0; i < n; i++) {
        if (i) putc('\n', out);
        for (size_t k = 0; k < lines[i].len; k++) {
            if (lines[i].data[k] == '"') putc('"', out);
            putc(lines[i].data[k], out);
        }
    }
    fputs("\"\n", out);
}

/* `kept` has room for n lines. */
static int write_novel(const span *lines, size_t n, span *kept, FILE *out, FILE *report)
{
    size_t first = 0;
    while (first < n && trimmed(lines[first]).len == 0) first++;
    if (first == n) return bad(report, "a text without a title", n);
    const span title = trimmed(lines[first]);
    int chapters = 0, in_volume = 0;
    size_t count = 0;                           /* lines kept of this chapter */
    bool volume_begins = false;
    for (size_t i = first + 1; i <= n; i++) {
        const int h = i < n ? chapter_heading(lines[i]) : 0;
        const bool over = i == n || ends_novel(lines[i]);
        const size_t note = i < n ? note_lines(lines + i, n - i) : 0;
        if ((h || over) && chapters) write_row(title, chapters, kept, count, out);
        if (over) break;
        if (h) {
            if (h != in_volume + 1 && !(h == 1 && volume_begins))
                return bad(report, "a chapter's number does not follow the one before", i + 1);
            in_volume = h;
            chapters++;
            count = 0;
            volume_begins = false;
        } else if (volume_heading(lines[i])) {
            volume_begins = true;
        } else if (note) {
            i += note - 1;
        } else {
            kept[count++] = lines[i];
        }
    }
    if (!chapters) return bad(report, "a text without chapters", n);
    write_title(title, report);
    fprintf(report, ": %d chapters\n", chapters);
    return OK;
}

static int write_novels(span file, FILE *out, FILE *report)
{
    span in = file;
    if (in.len == 0) return bad(report, "the file is empty", 0);
    fputs("novel,chapter,text\n", out);
    while (in.len) {
        const size_t at = file.len - in.len;
        unsigned char *object;
        span *lines = NULL, *kept = NULL;
        size_t size, n = SIZE_MAX;
        int status = BAD_INPUT;
        if (!take_block(&in, &object, &size)) {
            bad(report, "no block: expected a length and a zlib stream of that many bytes", at);
        } else if ((n = lines_of((span){ object, size }, &lines)) == SIZE_MAX) {
            bad(report, "no character vector in UTF-8 in the block", at);
        } else {
            kept = malloc((n + 1) * sizeof *kept);
            status = kept ? write_novel(lines, n, kept, out, report)
                          : bad(report, "out of memory", at);
        }
        free(object);
        free(lines);
        free(kept);
        if (status) return status;
    }
    return OK;
}

static unsigned char *whole_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    unsigned char *data = malloc((size_t)FILE_MOST + 1);
    *n = data ? fread(data, 1, (size_t)FILE_MOST + 1, f) : 0;
    const bool failed = !data || ferror(f) || *n > FILE_MOST;
    fclose(f);
    if (!failed) return data;
    free(data);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: austen Rdata.rdb >novels.csv\n", stderr);
        return USAGE;
    }
    size_t n = 0;
    unsigned char *data = whole_file(argv[1], &n);
    if (!data) {
        fprintf(stderr, "austen: %s: cannot read it, or it has more than %d bytes\n", argv[1],
                (int)FILE_MOST);
        return IO_FAILED;
    }
    int status = write_novels((span){ data, n }, stdout, stderr);
    free(data);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("austen: cannot write the result\n", stderr);
        status = IO_FAILED;
    }
    return status;
}
