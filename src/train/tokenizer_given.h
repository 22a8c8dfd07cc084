/* tokenizer_given.h -- a tokenizer that is there already, instead of one that is
 * learnt from the corpus.
 *
 * A vocabulary of 50,257 cannot be learnt from a few megabytes: their pairs run out
 * before that.  And a model whose ids are GPT-2's can be compared with GPT-2.
 */
#ifndef TOKENIZER_GIVEN_H
#define TOKENIZER_GIVEN_H

#include "tokenizer/bpe.h"

/* Reads `path`: a tokenizer.json of Hugging Face, or a folder that holds one, such
 * as a model's.  VT_IO where there is none, VT_BAD_INPUT as bpe_from_json. */
VT_MUST_CHECK vt_status tokenizer_given(bpe **out, const char *path, vt_error *err);

#endif
