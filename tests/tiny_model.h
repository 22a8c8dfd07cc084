/* tiny_model.h -- a model that vt_train trained, in the scratch folder. */
#ifndef TINY_MODEL_H
#define TINY_MODEL_H

#include "vitrine.h"

/* The options of a small run (C 12, three heads, context 12, windows of `seq`)
 * on a generated text; `out` is a name in the scratch folder. */
vt_train_options tiny_options(const char *out, int seq, bool tied);
/* Trains; fails the test where that fails. */
void tiny_train(const vt_train_options *o);

#endif
