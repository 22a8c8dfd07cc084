/* degenerate.c -- see degenerate.h. */
#include "verify/model/degenerate.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"

/* All of its numbers, of two at least, are the same. */
static bool constant(const float *params, const gpt_tensor *t)
{
    size_t i = 1;
    while (i < t->count && params[t->offset + i] == params[t->offset]) i++;
    return t->count > 1 && i == t->count;
}

static bool starts_as(const float *params, const gpt_tensor *t, enum gpt_start start, float value)
{
    return t->start != start || (constant(params, t) && params[t->offset] == value) ||
           (t->count == 1 && params[t->offset] == value);
}

static bool fresh(const gradcheck_case *c)
{
    for (size_t k = 0; k < c->ntensors; k++)
        if (!starts_as(c->params, &c->tensors[k], GPT_ONES, 1) ||
            !starts_as(c->params, &c->tensors[k], GPT_ZEROS, 0))
            return false;
    return true;
}

/* `seen` has a cell for each token, 0 in all. */
static bool repeats(const int *tokens, size_t n, unsigned char *seen)
{
    for (size_t i = 0; i < n; i++)
        if (seen[tokens[i]]++) return true;
    return false;
}

/* Adds to the constant tensors; how many there are. */
static size_t jitter(second_point *p, vt_check_report *report, const gradcheck_case *c,
                     uint64_t seed)
{
    const bool is_fresh = fresh(c);
    const char *names[3] = { "", "", "" };
    size_t n = 0;
    rng r;
    rng_stream_seed(&r, seed, RNG_VERIFY, 6);
    for (size_t k = 0; k < c->ntensors; k++) {
        const gpt_tensor *t = &c->tensors[k];
        if (!constant(c->params, t)) continue;
        if (n < 3) names[n] = t->name;
        n++;
        for (size_t i = t->offset; i < t->offset + t->count; i++)
            p->params[i] += (float)(0.1 * rng_normal(&r));
    }
    if (is_fresh)
        gradcheck_note(report, "a fresh model: all gains are 1 and all biases 0; also checked at "
                       "random ones");
    else if (n > 0)
        gradcheck_note(report, "%zu tensor%s of one number throughout (%s%s%s%s%s%s); also checked "
                       "with random numbers added", n, n > 1 ? "s" : "", names[0],
                       n > 1 ? ", " : "", names[1], n > 2 ? ", " : "", names[2],
                       n > 3 ? ", ..." : "");
    return n;
}

/* The window, or a longer one where it has one position only; with a token that occurs
 * twice. */
static vt_status widen(second_point *p, vt_check_report *report, const gradcheck_case *c,
                       uint64_t seed, vt_error *err)
{
    const size_t B = (size_t)c->B, T = (size_t)c->T;
    const bool one = T == 1 && c->z->T > 1;
    unsigned char *seen = calloc((size_t)c->z->V, 1);
    rng r;
    if (!seen) return fail_memory(err, (size_t)c->z->V, "the tokens seen");
    const bool again = repeats(c->tokens, B * T, seen);
    free(seen);
    p->c.T = one ? 2 : c->T;
    const size_t wide = (size_t)p->c.T, n = B * wide;
    p->tokens = malloc(n * sizeof *p->tokens);
    p->targets = malloc(n * sizeof *p->targets);
    if (!p->tokens || !p->targets) return fail_memory(err, 2 * n * sizeof(int), "a window");
    rng_stream_seed(&r, seed, RNG_VERIFY, 7);
    for (size_t b = 0; b < B; b++)
        for (size_t t = 0; t < wide; t++) {
            p->tokens[b * wide + t] = t < T ? c->tokens[b * T + t] : (int)rng_integers(&r, 0, c->z->V);
            p->targets[b * wide + t] = t < T ? c->targets[b * T + t] : (int)rng_integers(&r, 0, c->z->V);
        }
    if (one)
        gradcheck_note(report, "one position a window: attention has one key, which tells nothing "
                       "of its scores; also checked with two");
    else if (T == 1)
        gradcheck_note(report, "the model has one position: attention has one key, and its scores, "
                       "queries and keys are not tested by anything");
    if (!again && n > 1) {
        p->tokens[n - 1] = p->tokens[0];
        gradcheck_note(report, "no token occurs twice in the window; also checked with one that does");
    }
    p->wanted = p->wanted || one || (!again && n > 1);
    return VT_OK;
}

vt_status second_point_make(second_point *p, vt_check_report *report, const gradcheck_case *c,
                            uint64_t seed, vt_error *err)
{
    const size_t count = gpt_parameter_count(c->z);
    *p = (second_point){ .c = *c, .params = malloc(count * sizeof *p->params) };
    if (!p->params) return fail_memory(err, count * sizeof *p->params, "a second point");
    memcpy(p->params, c->params, count * sizeof *p->params);
    p->wanted = jitter(p, report, c, seed) > 0;
    const vt_status s = widen(p, report, c, seed, err);
    p->c.params = p->params;
    p->c.tokens = p->tokens;
    p->c.targets = p->targets;
    return s;
}

void second_point_free(second_point *p)
{
    free(p->params);
    free(p->tokens);
    free(p->targets);
    *p = (second_point){ .wanted = false };
}
