/* presplit.c -- GPT-2's pre-splitting as a scanner.  It finds what this
 * expression finds, one match after the other:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 *     word = the first alternative that matches here             (bpe.split)
 *
 * Every character begins one of the alternatives, so matches are adjacent and
 * their concatenation is the text.  The first alternative that matches wins:
 *
 *     an apostrophe with s, t, re, ve, m, ll or d (lower case): those bytes;
 *     one U+0020 or none, then a run of letters, of numbers, or of others;
 *     white space: the run, but for its last character where something
 *         follows (that one may belong to the next word); a run of one whole.
 *
 * Why own code: it must run where there is no regex library (WebAssembly) and
 * take any bytes.  A byte that is not part of well-formed UTF-8 is one character
 * of the class "other": "a\xFFb" is "a", "\xFF", "b".  White space is Unicode's
 * property; PCRE2 adds U+180E to it, Python's re U+001C..1F: they are "other"
 * here, as in GPT-2's own tokenizer.  No locale and no <ctype.h>.
 *
 * References: GPT-2's encoder.py, class Encoder, for the expression; UAX #44
 * for categories.
 */
#include "tokenizer/presplit.h"
#include "base/utf8.h"
#include "unicode_classes.inc"

enum presplit_class presplit_class_of(uint32_t code_point)
{
    if (code_point > 0x10FFFF) return PRESPLIT_OTHER;
    const unsigned char *row = class_bits[class_page[code_point >> 8]];
    return (enum presplit_class)(row[(code_point & 0xFF) >> 2] >> 2 * (code_point & 3) & 3);
}

/* The class of the character at p[0..n-1], n >= 1, and its length. */
static enum presplit_class class_at(const unsigned char *p, size_t n, size_t *used)
{
    uint32_t code_point = p[0];
    *used = code_point < 0x80 ? 1 : utf8_decode(p, n, &code_point);
    if (*used == 0) {
        *used = 1;
        return PRESPLIT_OTHER;
    }
    return presplit_class_of(code_point);
}

/* End of the run of `class` that begins at `at`. */
static size_t run_end(const unsigned char *text, size_t n, size_t at, enum presplit_class class)
{
    size_t used;
    while (at < n && class_at(text + at, n - at, &used) == class) at += used;
    return at;
}

/* Length of 's 't 're 've 'm 'll 'd at the beginning of text, 0 if none. */
static size_t contraction(const unsigned char *text, size_t n)
{
    if (n < 2 || text[0] != '\'') return 0;
    const unsigned char a = text[1], b = n > 2 ? text[2] : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 3;
    return 0;
}

/* Length of the word of white space at the beginning of text. */
static size_t spaces(const unsigned char *text, size_t n)
{
    size_t at = 0, last = 0, used;              /* last: where the last one begins */
    while (at < n && class_at(text + at, n - at, &used) == PRESPLIT_SPACE) {
        last = at;
        at += used;
    }
    return at < n && last > 0 ? last : at;
}

size_t presplit_next(const unsigned char *text, size_t n)
{
    const size_t short_form = contraction(text, n);
    if (short_form) return short_form;                                  /* bpe.split */
    size_t used;
    enum presplit_class class = class_at(text, n, &used);
    size_t begin = 0;
    if (text[0] == ' ' && n > 1) {              /* " ?": it belongs to what follows */
        class = class_at(text + 1, n - 1, &used);
        begin = 1;
    }
    if (class == PRESPLIT_SPACE) return spaces(text, n);                /* bpe.split */
    return run_end(text, n, begin + used, class);                       /* bpe.split */
}

/* Between an ASCII letter and a U+0020 a word always ends: no alternative has a
 * space after another class. */
size_t presplit_cut(const unsigned char *text, size_t n, size_t at)
{
    if (at >= n) return n;
    for (; at > 0; at--) {
        const unsigned char before = (unsigned char)(text[at - 1] | 0x20);
        if (text[at] == ' ' && before >= 'a' && before <= 'z') return at;
    }
    return 0;
}
