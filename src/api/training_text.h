/* training_text.h -- what a vt_training_text is: all documents of the corpus, and
 * which of them the model learnt from.
 */
#ifndef API_TRAINING_TEXT_H
#define API_TRAINING_TEXT_H

#include "data/corpus.h"
#include "data/dataset.h"

struct vt_training_text {
    corpus        all;
    dataset_split split;
};

#endif
