/* case_speech.c -- generation: tokens per second of a model of 15 million parameters (6
 * layers, d 288, V 32000, tied: llama2.c's stories15M in GPT-2's form), its weights
 * as initialised, from a prompt of one token on.
 *
 * Verified: the logits after each of 12 tokens, which the cache of keys and values made
 * row by row, against one forward pass of the definitions in double over all of them;
 * each within 8 (r + f l (1 + s)) as a step's gradient (case_steps.c), r how far the float
 * definitions are from the double ones, l the largest logit.
 *
 * One call is 64 tokens from a new start.  The limit: each weight is read once a token.
 */
#include <math.h>
#include <stdlib.h>
#include "base/rng.h"
#include "bench/cases.h"
#include "bench/work.h"
#include "sample/generate.h"
#include "verify/model/gradcheck.h"

enum { CHECKED = 12, SPOKEN = 64 };

static const gpt_config z = { .L = 6, .C = 288, .NH = 6, .FF = 1152, .T = 256, .V = 32000,
                              .tied = true };

typedef struct speech_state {
    generator g;
    float *params;
    size_t count;
    rng    random;
} speech_state;

static void state_free(void *state)
{
    speech_state *o = state;
    if (!o) return;
    generator_free(&o->g);
    free(o->params);
    free(o);
}

static vt_status run(void *state, vt_error *err)
{
    static const filter_options how = { .temperature = 1, .top_p = 1 };
    speech_state *o = state;
    const int start = 0;
    vt_status s = VT_OK;
    generator_start(&o->g, &start, 1);
    for (int i = 0, id; i < SPOKEN && s == VT_OK; i++)
        s = generator_next(&o->g, &how, rng_double(&o->random), &id, err);
    return s;
}

/* Logits (CHECKED, V) by the definitions, in double and, with out32, in float. */
static vt_status definitions(const speech_state *o, const int *ids, double *out, float *out32,
                             double *score, vt_error *err)
{
    const int T = CHECKED;
    const size_t head = (size_t)z.C * (size_t)z.V, cells = (size_t)z.NH * CHECKED * CHECKED;
    double *p = malloc(o->count * sizeof *p), *h = malloc(head * sizeof *h);
    float *h32 = bench_floats(head);
    void *m64 = gradcheck_acts(gpt_acts_bytes_f64(&z, 1, T, T, false));
    void *m32 = gradcheck_acts(gpt_acts_bytes_f32(&z, 1, T, T, false));
    vt_status s = VT_OK;
    if (!p || !h || !h32 || !m64 || !m32) {
        s = fail_memory(err, o->count * sizeof *p, "the definitions");
        goto done;
    }
    gpt_acts_f64 a;
    gpt_acts_f32 b;
    for (size_t i = 0; i < o->count; i++) p[i] = (double)o->params[i];
    const gpt_model_f64 wide = { .z = z, .params = p, .head = h };
    const gpt_model_f32 narrow = { .z = z, .params = o->params, .head = h32 };
    gpt_acts_place_f64(&a, m64, &z, 1, T, T, false);
    gpt_acts_place_f32(&b, m32, &z, 1, T, T, false);
    gpt_prepare_f64(&wide);
    gpt_prepare_f32(&narrow);
    gpt_forward_f64(&wide, &a, ids, NULL, 1, T);
    gpt_forward_f32(&narrow, &b, ids, NULL, 1, T);
    for (size_t i = 0; i < (size_t)CHECKED * (size_t)z.V; i++)
        out[i] = a.logits[i], out32[i] = b.logits[i];
    for (int l = 0; l < z.L; l++)
        gradcheck_raise(score, gradcheck_largest(a.layers[l].scaled, cells));
done:
    free(p);
    free(h);
    free(h32);
    free(m64);
    free(m32);
    return s;
}

static vt_status verify(void *state, vt_bench_row *row, vt_error *err)
{
    static const filter_options how = { .temperature = 1, .top_p = 1 };
    speech_state *o = state;
    const size_t V = (size_t)z.V, all = CHECKED * V;
    double *want = malloc(all * sizeof *want), score = 0, r = 0, largest = 0;
    float *found = bench_floats(all), *want32 = bench_floats(all);
    int ids[CHECKED + 1] = { 0 };
    vt_status s = VT_OK;
    if (!want || !found || !want32) {
        s = fail_memory(err, 16 * all, "logits");
        goto done;
    }
    bench_verified(row, true, "logits of %d tokens (a call: %d)", CHECKED, SPOKEN);
    generator_start(&o->g, ids, 1);
    for (size_t t = 0; t < CHECKED && s == VT_OK; t++) {
        const float *logits = generator_logits(&o->g);
        for (size_t v = 0; v < V; v++) found[t * V + v] = logits[v];
        s = generator_next(&o->g, &how, rng_double(&o->random), &ids[t + 1], err);
    }
    if (s || (s = definitions(o, ids, want, want32, &score, err))) goto done;
    for (size_t i = 0; i < all; i++) {
        gradcheck_raise(&r, fabs((double)want32[i] - want[i]));
        gradcheck_raise(&largest, fabs(want[i]));
    }
    const double bound = 8 * (r + GRADCHECK_EPS32 * largest * (1 + score));
    for (size_t i = 0; i < all && s == VT_OK; i++)
        if (!bench_meet(row, "logits", i, want[i], (double)found[i], bound))
            s = bench_wrong(row, err);
done:
    free(want);
    free(found);
    free(want32);
    return s;
}

static vt_status make(bench_work *w, const bench_case *c, const bench_setting *s, vt_error *err)
{
    speech_state *o = calloc(1, sizeof *o);
    (void)c;
    if (!o) return fail_memory(err, sizeof *o, "a case");
    *w = (bench_work){ .state = o, .verify = verify, .run = run, .free = state_free,
                       .limit = BENCH_READ, .bytes = SPOKEN * work_token_bytes(&z),
                       .resident = (size_t)work_token_bytes(&z),
                       .per_call = SPOKEN, .unit = "tokens/s" };
    const size_t n = gpt_tensor_count(&z);
    gpt_tensor *tensors = malloc(n * sizeof *tensors);
    o->count = gpt_parameter_count(&z);
    o->params = bench_floats(o->count);
    if (!tensors || !o->params) {
        free(tensors);
        return fail_memory(err, 4 * o->count, "parameters");
    }
    gpt_tensor_list(&z, tensors);
    gpt_initialise(o->params, &z, tensors, n, GPT_INIT_GPT2, 42);
    free(tensors);
    rng_stream_seed(&o->random, 42, RNG_SAMPLE, 0);
    return generator_new(&o->g, &z, o->params, z.T, s->kernels, s->threads, err);
}

const bench_case bench_speech[] = {
    { "generate-15M", "speech", "6 layers, d 288, V 32000 (15M), cached, 64 tokens", "tokens/s", 0,
      0.85, true, 3, 2, make, 0, false, VT_BENCH_SHARE },
    { .name = NULL },
};
