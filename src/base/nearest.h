/* nearest.h -- which of a fixed set of words was probably meant.
 *
 * Distance: the fewest letters to insert, delete, replace or exchange with their
 * neighbour, where no letter is edited twice (the restricted distance of Damerau
 * and Levenshtein, also called optimal string alignment): "trian" is 1 from
 * "train", "ca" is 3 from "abc".
 *
 * A word is suggested where it is at most two letters off, and half of what was
 * written: of shorter words nearly any other would be "near".  Two letters off, it
 * begins as what was written: "tyni" is "tiny", but "tcsh" is no slip of "bash".
 *
 * It does not know what words mean, nor keys of keyboards.
 *
 * Reference: F. J. Damerau, A technique for computer detection and correction of
 * spelling errors, CACM 7(3), 1964.
 */
#ifndef NEAREST_H
#define NEAREST_H

#include "base/status.h"

enum { NEAREST_LONGEST = 48 };      /* a longer word is near to none */

/* Between the na bytes of a and the nb of b; SIZE_MAX where one is too long. */
size_t nearest_distance(const char *a, size_t na, const char *b, size_t nb);

/* The nearest of at(set, 0), at(set, 1), ... up to NULL to the n bytes of word, the
 * first of equals; NULL where none is near enough.  A word of the set may end in a
 * '|', as in "tiny|default"; *length is without it.  Dashes before a name do not
 * count as letters of it. */
const char *nearest_word(const char *word, size_t n, const char *(*at)(const void *set, size_t i),
                         const void *set, size_t *length);

#endif
