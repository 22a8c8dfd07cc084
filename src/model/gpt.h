/* gpt.h -- the wiring of a GPT, one text compiled several times.
 *
 *   gpt_NAME_f32, gpt_NAME_f64, gpt_NAME_c128   on the definitions
 *   gpt_NAME_f128                               _Float128, where VT_FLOAT128
 *   gpt_NAME_fast                               float32, on the fast kernels
 *
 * c128 (double complex) is there for complex-step differentiation, f128 to judge
 * where two others differ.  What each function does is said in gpt_decl.h.
 */
#ifndef GPT_H
#define GPT_H

#include "kernels/ops.h"
#include "model/config.h"

/* What a block of activations is for; false and true are the first two.
 *   GPT_FORWARD    forward, loss
 *   GPT_BACKWARD   and backward after them, from all logits
 *   GPT_LEARN      fast: learn, a training step's: few rows' logits at a time
 *   GPT_RECOMPUTE  fast: learn, which keeps each layer's input and computes the rest of
 *                  the layer again when its gradient needs it */
enum gpt_use { GPT_FORWARD, GPT_BACKWARD, GPT_LEARN, GPT_RECOMPUTE };

#define GPT_SCALAR float
#define GPT(name) gpt_##name##_f32
#include "model/gpt_decl.h"

#define GPT_SCALAR double
#define GPT(name) gpt_##name##_f64
#include "model/gpt_decl.h"

#define GPT_SCALAR double _Complex
#define GPT(name) gpt_##name##_c128
#include "model/gpt_decl.h"

#if VT_FLOAT128
#define GPT_SCALAR _Float128
#define GPT(name) gpt_##name##_f128
#include "model/gpt_decl.h"
#endif

#define GPT_SCALAR float
#define GPT(name) gpt_##name##_fast
#include "model/gpt_decl.h"

#endif
