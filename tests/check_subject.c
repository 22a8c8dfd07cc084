/* check_subject.c -- see check_subject.h. */
#include "check_subject.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"

void subject_make(subject *s, const gpt_config *z, int B, int T, double scale,
                         uint64_t seed)
{
    const size_t n = gpt_tensor_count(z), count = gpt_parameter_count(z);
    const size_t N = (size_t)B * (size_t)T;
    rng r;
    rng_stream_seed(&r, seed, RNG_VERIFY, 9);
    *s = (subject){ .z = *z, .tensors = malloc(n * sizeof *s->tensors),
                    .params = malloc(count * sizeof *s->params),
                    .tokens = malloc(N * sizeof *s->tokens),
                    .targets = malloc(N * sizeof *s->targets) };
    assert_true(s->tensors && s->params && s->tokens && s->targets);
    gpt_tensor_list(z, s->tensors);
    if (scale > 0)
        for (size_t i = 0; i < count; i++) s->params[i] = (float)(scale * rng_normal(&r));
    else
        gpt_initialise(s->params, z, s->tensors, n, scale < 0 ? GPT_INIT_GPT2 : GPT_INIT_XAVIER,
                       seed);
    for (size_t i = 0; i < N; i++) {
        s->tokens[i] = (int)rng_integers(&r, 0, z->V);
        s->targets[i] = (int)rng_integers(&r, 0, z->V);
    }
    s->c = (gradcheck_case){ .z = &s->z, .tensors = s->tensors, .ntensors = n,
        .params = s->params, .tokens = s->tokens, .targets = s->targets, .B = B, .T = T,
        .kernels = ops_pick(NULL), .threads = 1 };
    assert_ok(gradcheck_compute(&s->g, &s->c, seed, &test_error));
}

void subject_free(subject *s)
{
    gradcheck_free(&s->g);
    free(s->tensors);
    free(s->params);
    free(s->tokens);
    free(s->targets);
}

const gpt_tensor *subject_tensor(const subject *s, const char *name, size_t *index)
{
    for (size_t i = 0; i < s->c.ntensors; i++)
        if (strcmp(s->tensors[i].name, name) == 0) {
            if (index) *index = i;
            return &s->tensors[i];
        }
    fail_msg("no tensor %s", name);
    return NULL;
}

size_t subject_top(const subject *s, const gpt_tensor *t)
{
    size_t best = t->offset;
    for (size_t i = t->offset; i < t->offset + t->count; i++)
        if (fabs(s->g.hand[i]) > fabs(s->g.hand[best])) best = i;
    assert_true(s->g.hand[best] != 0);
    return best;
}
