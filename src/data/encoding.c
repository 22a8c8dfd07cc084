/* encoding.c -- see encoding.h.
 *
 * Files that are no text are told by their first bytes, before anything is replaced: a
 * UTF-16 text with U+FFFD for what is no UTF-8 is letters with NULs between them, which
 * a model learns without a word.
 *
 * A NUL byte is refused in every form of text.  U+0000 is a character, and UTF-8 has it
 * as a byte 0; but no text file has one (POSIX.1-2017, 3.403), RFC 4180's TEXTDATA and
 * RFC 8259's strings do not, and where one stands the file was cut, or is none.  Who
 * means the character writes \u0000 in JSON Lines.
 *
 * Not done: guessing between the encodings of one byte, Latin-1 and its kin.  They differ
 * in a few characters, and iconv has them all.
 */
#include "data/encoding.h"
#include <string.h>
#include "base/utf8_text.h"

/* What a file begins with, what it is then, and what makes text of it. */
typedef struct signature { const char *first; size_t n; const char *is, *way; } signature;
static const signature signatures[] = {
    { "\xFF\xFE\0\0", 4, "UTF-32", "iconv -f utf-32 -t utf-8 FILE" },  /* before UTF-16's */
    { "\0\0\xFE\xFF", 4, "UTF-32", "iconv -f utf-32 -t utf-8 FILE" },
    { "\xFF\xFE", 2, "UTF-16", "iconv -f utf-16 -t utf-8 FILE" },
    { "\xFE\xFF", 2, "UTF-16", "iconv -f utf-16 -t utf-8 FILE" },
    { "\x1F\x8B", 2, "gzip", "gunzip first" },
    { "BZh91AY&SY", 10, "bzip2", "bunzip2 first" },
    { "\xFD" "7zXZ\0", 6, "xz", "unxz first" },
    { "\x28\xB5\x2F\xFD", 4, "zstd", "unzstd first" },
    { "PK\3\4", 4, "a zip archive, as .xlsx and .ods are", "unzip it, or save the table as CSV" },
    { "%PDF-", 5, "PDF", "pdftotext FILE" },
};

static size_t line_of(const bytes *b, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++) line += b->data[i] == '\n';
    return line;
}

/* Whether every second byte of the beginning, from `odd` on, is 0, and no other: ASCII
 * in UTF-16 without its mark. */
static bool alternates(const bytes *b, size_t odd)
{
    const size_t n = b->len < 16 ? b->len : 16;
    for (size_t i = 0; i < n; i++)
        if ((b->data[i] == 0) != (i % 2 == odd)) return false;
    return n >= 4;
}

static vt_status known_by_its_beginning(const bytes *b, const char *name, vt_error *err)
{
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const signature *s = &signatures[i];
        if (b->len >= s->n && memcmp(b->data, s->first, s->n) == 0)
            return fail(err, VT_BAD_INPUT, "%s: is %s: expected text in UTF-8 (%s)", name, s->is,
                        s->way);
    }
    for (size_t odd = 0; odd < 2; odd++)
        if (alternates(b, odd))
            return fail(err, VT_BAD_INPUT, "%s: is UTF-16: expected text in UTF-8 (iconv -f %s -t "
                        "utf-8 FILE)", name, odd ? "utf-16le" : "utf-16be");
    return VT_OK;
}

vt_status encoding_check(encoding_bad *out, const bytes *b, bool replace, const char *name,
                         vt_error *err)
{
    *out = (encoding_bad){ .count = 0 };
    const vt_status s = known_by_its_beginning(b, name, err);
    if (s) return s;
    const unsigned char *nul = memchr(b->data, 0, b->len);
    if (nul) {
        const size_t at = (size_t)(nul - b->data);
        return fail(err, VT_BAD_INPUT, "%s: line %zu, byte offset %zu: a NUL byte: expected text, "
                    "which has none", name, line_of(b, at), at);
    }
    out->at = utf8_text_bad(b->data, b->len);
    if (out->at == b->len) return VT_OK;
    out->line = line_of(b, out->at);
    if (replace) {
        (void)utf8_text_repair(NULL, b->data, b->len, &out->count);
        return VT_OK;
    }
    return fail(err, VT_BAD_INPUT, "%s: line %zu, byte offset %zu: 0x%02X is not UTF-8 there: "
                "expected text in UTF-8 (is it Latin-1? iconv -f windows-1252 -t utf-8 FILE; else "
                "--replace-invalid makes it U+FFFD)", name, out->line, out->at, b->data[out->at]);
}
