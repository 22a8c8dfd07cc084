/* dump_check.h -- tensors that another program computed, compared with the definitions.
 *
 * A file (tensors.h) has them by the names of vitrine_kernel.h: inputs "q", outputs "o",
 * upstream gradients "do", gradients "dq", which start from 0.  Where no tensor has the
 * exact name, one that differs in the case of its letters serves ("dQ").
 *
 * Sizes come from shapes.  Operators that go row by row (softmax, linear, layernorm,
 * crossentropy) take any axes in front of the last as rows, gelu any shape; a mask may
 * have axes of 1 in front.  Attention's heads lie as (B, T, NH, HS), or as
 * (B, NH, T, HS) where the layout says "bhtd".
 *
 * Inputs and upstream gradients must be numbers of the precision that is judged: a kernel
 * that ran in float32 did not see the digits of a float64 dump.
 */
#ifndef DUMP_CHECK_H
#define DUMP_CHECK_H

#include "verify/op/op_case.h"

typedef struct dump_options {
    const char *file;
    int    op;
    bool   bhtd;
    bool   has_precision;
    precision p;
    bool   causal;
    double temperature;
    int    heads;               /* of operators whose shapes do not tell; 0: not given */
    bool   degenerate;          /* a degenerate dump may pass */
    uint64_t seed;
} dump_options;

/* One case; `note` (its size) gets what the file has and nothing asks for.  VT_OK or
 * VT_CHECK_FAILED: the case says which; VT_BAD_INPUT, VT_IO: the file. */
VT_MUST_CHECK vt_status dump_check(vt_op_case *out, const dump_options *o, char *note,
                                   size_t size, vt_error *err);

#endif
