/* case_file.h -- a problem of a check as a file, for whoever wants to solve it again.
 *
 * Tensors have the names, shapes and order of vitrine_kernel.h: inputs "q", outputs "o",
 * upstream gradients "do", gradients "dq" (from 0, by the definitions in double), as
 * `vitrine check --dump` reads them.  Besides:
 *
 *     causal, temperature, heads      numbers (rank 0): what shapes do not tell
 *     bound.o, bound.dq               likewise: how far a correct computation in double may
 *                                     be from ours, by the analysis of rounding; the
 *                                     largest of the tensor's elements
 *
 * A mask is what the caller of a kernel gives: where it is causal besides, both hold.
 */
#ifndef CASE_FILE_H
#define CASE_FILE_H

#include "verify/model/gradcheck.h"
#include "verify/op/op_case.h"

/* An operator's case of float64.  path: .npz or .safetensors.  VT_IO, VT_USAGE as
 * tensors_write. */
VT_MUST_CHECK vt_status case_file_op(const op_case *c, const char *path, vt_error *err);

/* A model with the hand-written gradients of a check (gradcheck_compute), as the operator
 * `gpt`: parameters in float32, a head of its own as "lm_head.weight" (C, V). */
VT_MUST_CHECK vt_status case_file_model(const gradcheck_case *c, const gradcheck_grads *g,
                                        const char *path, vt_error *err);

#endif
