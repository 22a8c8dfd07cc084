/* presplit.h -- GPT-2's pre-splitting: cuts a text into the words inside which
 * BPE may join bytes.
 */
#ifndef PRESPLIT_H
#define PRESPLIT_H

#include <stddef.h>
#include <stdint.h>

/* Classes of characters, the numbers of tools/unicode_classes.awk. */
enum presplit_class {
    PRESPLIT_OTHER  = 0,        /* [^\s\p{L}\p{N}], and bytes that are not UTF-8 */
    PRESPLIT_LETTER = 1,        /* \p{L} */
    PRESPLIT_NUMBER = 2,        /* \p{N} */
    PRESPLIT_SPACE  = 3         /* \s: White_Space */
};
enum presplit_class presplit_class_of(uint32_t code_point);

/* Length of the word at the beginning of text[0..n-1], n >= 1: 1 .. n.  What
 * follows matters (a run of spaces looks one character ahead), so `text` must
 * go to the end of the document. */
size_t presplit_next(const unsigned char *text, size_t n);

/* The largest cut <= at for which words of text[0..cut-1] and of text[cut..n-1]
 * are those of the whole text; 0 when none is found. */
size_t presplit_cut(const unsigned char *text, size_t n, size_t at);

#endif
