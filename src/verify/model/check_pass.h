/* check_pass.h -- a model of a check's own, in one scalar: VT_SCALAR 32, 64, 128
 * or 113, as in definitions.h.  No guard: check_passes.h includes it once for each.
 */
#include "kernels/definitions.h"
#include "verify/model/gradcheck.h"

#undef CHECK
#if   VT_SCALAR == 32
#define CHECK(name) check_##name##_f32
#define CHECK_GPT(name) gpt_##name##_f32
#elif VT_SCALAR == 64
#define CHECK(name) check_##name##_f64
#define CHECK_GPT(name) gpt_##name##_f64
#elif VT_SCALAR == 113
#define CHECK(name) check_##name##_f128
#define CHECK_GPT(name) gpt_##name##_f128
#else
#define CHECK(name) check_##name##_c128
#define CHECK_GPT(name) gpt_##name##_c128
#endif

typedef struct CHECK(model) {
    const gradcheck_case *c;
    CHECK_GPT(model) m;
    CHECK_GPT(acts)  a;
    scalar *params, *head;      /* params: a copy of the case's */
    void   *memory;
    int     moved;              /* the part where the last run's entry was: from
                                   there on, activations are not those of params */
} CHECK(model);

/* Bytes of one; SIZE_MAX where that overflows. */
size_t CHECK(model_bytes)(const gradcheck_case *c, bool backward);
/* The parameters of the case, run forward once.  VT_TOO_LARGE; free it either way. */
VT_MUST_CHECK vt_status CHECK(model_new)(CHECK(model) *x, const gradcheck_case *c, bool backward,
                                         vt_error *err);
void CHECK(model_free)(CHECK(model) *x);

/* params[at] = value; wte moves a tied head too. */
void CHECK(move)(CHECK(model) *x, size_t at, scalar value);
/* sum_n weight[n] loss[n], where parameters were moved in `part` alone (as in
 * gpt_decl.h: -1 the embedding, then the layers, L the head). */
scalar CHECK(loss)(CHECK(model) *x, const double *weight, int part);

/* Where a part's input lies, (N, C); NULL for the embedding.  Its output: (N, C), the
 * head's (N, V). */
scalar *CHECK(part_input)(CHECK(model) *x, int part);
scalar *CHECK(part_output)(CHECK(model) *x, int part);
/* Runs the part forward and, from the gradient v at its output, backward: adds into
 * grads, writes the gradient at its input into dx (not for the embedding). */
void CHECK(part_pullback)(CHECK(model) *x, int part, const double *v, scalar *grads, scalar *dx);

#undef CHECK_GPT
