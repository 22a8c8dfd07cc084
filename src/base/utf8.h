/* utf8.h -- strict UTF-8: validate, decode, and say what to replace.
 *
 * Well formed means The Unicode Standard, table 3-7: no overlong form, no
 * surrogate, nothing above U+10FFFF.  What is not is replaced by its maximal
 * subparts (section 3.9, as WHATWG's decoder and Python do): the longest
 * prefix of a well-formed sequence becomes one U+FFFD, else one byte does.
 */
#ifndef UTF8_H
#define UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum utf8_kind {
    UTF8_GOOD,      /* a well-formed character of *used bytes */
    UTF8_BAD,       /* *used bytes (1..3) that are one U+FFFD */
    UTF8_CUT        /* all n bytes (1..3) begin a character that goes on */
} utf8_kind;

/* U+FFFD as bytes. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"
enum { UTF8_REPLACEMENT_LEN = 3 };

/* What stands at p[0..n-1], n >= 1.  *cp is set for UTF8_GOOD alone; cp may be
 * NULL. */
utf8_kind utf8_next(const unsigned char *p, size_t n, size_t *used, uint32_t *cp);

/* The bytes of the character at p[0..n-1], 0 when there is none that is well
 * formed and whole; cp may be NULL. */
size_t utf8_decode(const unsigned char *p, size_t n, uint32_t *cp);

/* Offset of the first byte that is not part of a well-formed character (the
 * first byte of a sequence that is broken or cut off), n when all is well. */
size_t utf8_first_bad(const void *p, size_t n);

/* Whether a terminal shows the character, rather than obeys it: none of the controls C0,
 * DEL, C1, no line or paragraph separator, none that turns the direction of writing
 * (U+202A..202E, U+2066..2069). */
bool utf8_is_shown(uint32_t cp);

/* Makes a text from elsewhere harmless where it is: what utf8_is_shown denies, and each
 * byte that is no UTF-8, becomes '?'.  `lines`: newlines stay. */
void utf8_plain(char *text, bool lines);

#endif
