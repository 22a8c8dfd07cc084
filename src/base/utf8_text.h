/* utf8_text.h -- whole texts of UTF-8: is it, and made to be.
 *
 * utf8.h looks at one character; these two read files of gigabytes.
 */
#ifndef UTF8_TEXT_H
#define UTF8_TEXT_H

#include "base/utf8.h"

/* As utf8_first_bad: the offset of the first byte that is no part of a well-formed
 * character, n where there is none. */
size_t utf8_text_bad(const void *text, size_t n);

/* The text with each maximal subpart that is not well formed (utf8.h) as U+FFFD, into
 * to[], or nowhere where that is NULL: three bytes for one are the worst.  Returns its
 * length; *replaced is how many there were. */
size_t utf8_text_repair(unsigned char *to, const void *text, size_t n, size_t *replaced);

#endif
