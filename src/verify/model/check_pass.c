/* check_pass.c -- a model that a check moves and runs again; one text for each
 * scalar, as gpt.c: complex for the complex step, double for differences, _Float128
 * for the arbiter, float and double for the adjoint identity.
 *
 * A run starts at the part whose parameter moved: nothing below changes.  Where the
 * next parameter lies at or above it, the run before has spoiled nothing that it
 * needs.
 */
#include "verify/model/check_pass.h"
#include <stdlib.h>
#include <string.h>

#if   VT_SCALAR == 32
#define GPT(name) gpt_##name##_f32
#elif VT_SCALAR == 64
#define GPT(name) gpt_##name##_f64
#elif VT_SCALAR == 113
#define GPT(name) gpt_##name##_f128
#else
#define GPT(name) gpt_##name##_c128
#endif

size_t CHECK(model_bytes)(const gradcheck_case *c, bool backward)
{
    const size_t n = gpt_parameter_count(c->z), head = (size_t)c->z->C * (size_t)c->z->V;
    size_t total = GPT(acts_bytes)(c->z, c->B, c->T, c->T, backward), scalars;
    if (!size_mul(n + head, sizeof(scalar), &scalars) || !size_add(total, scalars, &total))
        return SIZE_MAX;
    return total;
}

vt_status CHECK(model_new)(CHECK(model) *x, const gradcheck_case *c, bool backward, vt_error *err)
{
    const gpt_config *z = c->z;
    const size_t n = gpt_parameter_count(z), head = (size_t)z->C * (size_t)z->V;
    *x = (CHECK(model)){ .c = c, .moved = z->L };
    x->memory = gradcheck_acts(GPT(acts_bytes)(z, c->B, c->T, c->T, backward));
    x->params = malloc(n * sizeof(scalar));
    x->head = malloc(head * sizeof(scalar));
    if (!x->memory || !x->params || !x->head)
        return fail_memory(err, CHECK(model_bytes)(c, backward), "a model to check with");
    for (size_t i = 0; i < n; i++) x->params[i] = c->params[i];
    x->m = (GPT(model)){ .z = *z, .params = x->params, .head = x->head };
    GPT(acts_place)(&x->a, x->memory, z, c->B, c->T, c->T, backward);
    GPT(prepare)(&x->m);
    GPT(forward)(&x->m, &x->a, c->tokens, NULL, c->B, c->T);
    return VT_OK;
}

void CHECK(model_free)(CHECK(model) *x)
{
    free(x->memory);
    free(x->params);
    free(x->head);
    *x = (CHECK(model)){ .c = NULL };
}

void CHECK(move)(CHECK(model) *x, size_t at, scalar value)
{
    const gpt_config *z = &x->m.z;
    const size_t C = (size_t)z->C, V = (size_t)z->V;
    x->params[at] = value;
    if (z->tied && at < V * C) x->head[at % C * V + at / C] = value;
}

scalar CHECK(loss)(CHECK(model) *x, const double *weight, int part)
{
    const gradcheck_case *c = x->c;
    const int from = part < x->moved ? part : x->moved;
    scalar sum = 0;
    x->moved = part;
    GPT(forward_from)(&x->m, &x->a, c->tokens, from, c->B, c->T);
    GPT(loss)(&x->m, &x->a, c->targets, 1, c->B, c->T);
    for (int n = 0; n < c->B * c->T; n++) sum += (scalar)weight[n] * x->a.loss[n];
    return sum;
}

scalar *CHECK(part_input)(CHECK(model) *x, int part)
{
    return part < 0 ? NULL : part == 0 ? x->a.embedded : x->a.layers[part - 1].res2;
}

scalar *CHECK(part_output)(CHECK(model) *x, int part)
{
    return part < 0 ? x->a.embedded : part < x->m.z.L ? x->a.layers[part].res2 : x->a.logits;
}

void CHECK(part_pullback)(CHECK(model) *x, int part, const double *v, scalar *grads, scalar *dx)
{
    const gradcheck_case *c = x->c;
    const bool head = part >= c->z->L;
    const size_t N = (size_t)c->B * (size_t)c->T;
    const size_t in = N * (size_t)c->z->C, out = N * (size_t)(head ? c->z->V : c->z->C);
    scalar *dout = head ? x->a.back.dlogits : x->a.back.dres;
    GPT(part_forward)(&x->m, &x->a, c->tokens, part, c->B, c->T);
    for (size_t i = 0; i < out; i++) dout[i] = (scalar)v[i];
    GPT(part_backward)(&x->m, &x->a, grads, c->tokens, part, c->B, c->T);
    if (part >= 0) memcpy(dx, x->a.back.dres, in * sizeof *dx);
}
