/* entry_name.h -- what an entry of a parameter is, in words:
 *
 *     h.1.qkvw, entry 1234  ->  "layer 1, head 0, Wq, row 3 (input channel), column 5"
 *
 * A column of Wq, Wk or Wv is one of its head's: the C columns of each of the three
 * blocks of qkvw are NH heads of HS = C/NH, side by side.
 */
#ifndef ENTRY_NAME_H
#define ENTRY_NAME_H

#include "model/config.h"
#include "vitrine.h"

/* `entry` counts within the tensor, row-major.  Of a tensor that tensors.def does
 * not know: "row 3, column 5". */
void entry_name(char out[VT_CHECK_PLACE], const gpt_config *z, const gpt_tensor *t, size_t entry);

#endif
