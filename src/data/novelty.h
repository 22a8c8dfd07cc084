/* novelty.h -- how much of a generated text is the training text: the share of
 * its words that occur there, and the longest run copied from it.
 */
#ifndef NOVELTY_H
#define NOVELTY_H

#include "base/slice.h"
#include "base/status.h"

typedef struct novelty {
    size_t words, known;    /* words of the text; those that occur in training */
    double share;           /* known / words; 1 where there is no word */
    size_t longest;         /* characters of the longest copied run */
    slice  run;             /* that run, in the text */
} novelty;

/* A word is a run of letters, with apostrophes between them, case kept; a run
 * lies within one document.  Time is linear in both texts.  VT_TOO_LARGE where
 * the text is too long to be compared. */
VT_MUST_CHECK vt_status novelty_measure(novelty *out, slice text, const slice *docs,
                                        size_t ndocs, vt_error *err);
#endif
