/* generate_exports.c -- the fast float kernels behind the playground: attention of all
 * layers at a glance, the next token's distribution, generation.  See exports.h.
 *
 * The fast attention kernel stores no weights: they follow from the query, the key
 * and the log-sum-exp of the row, which it keeps,
 *
 *     a[t,u] = exp(q[t] . k[u] / sqrt(HS) - lse[t])      u <= t, else 0
 *
 * as its backward pass computes them.
 */
#include "wasm/exports.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/elementary.h"
#include "base/rng.h"
#include "sample/filters.h"
#include "sample/generate.h"
#include "wasm/page_model.h"

typedef struct page_generation {
    generator g;
    filter_options how;
    rng random;
} page_generation;

vt_status page_model_glance(const page_model *m, float *att, float *logits, const int *ids, int T);
vt_status page_next(const float *logits, size_t V, double temperature, double top_k, double top_p,
              double u, double *plain, double *drawn, int *order, unsigned char *cut, int *id);
page_generation *page_generation_new(const page_model *m, const int *ids, size_t n, int window,
                                     double seed, double temperature, double top_k, double top_p);
const float *page_generation_logits(page_generation *p);
vt_status page_generation_step(page_generation *p, int *id);
void page_generation_free(page_generation *p);

/* ---- at a glance ------------------------------------------------------- */

static void head_weights(float *a, const float *qkv, const float *lse, int T, int C, int HS, int h)
{
    const size_t row = 3 * (size_t)C, first = (size_t)h * (size_t)HS;
    for (int t = 0; t < T; t++)
        for (int u = 0; u < T; u++) {
            const float *q = qkv + (size_t)t * row + first;
            const float *k = qkv + (size_t)u * row + (size_t)C + first;
            double score = 0;
            for (int i = 0; u <= t && i < HS; i++) score += (double)q[i] * (double)k[i];
            a[t * T + u] = u <= t ? (float)exp_f64(score / sqrt(HS) - (double)lse[t]) : 0;
        }
}

static vt_status check_window(const page_model *m, const int *ids, int T)
{
    if (T < 1 || T > m->z.T)
        return fail(&page_error_line, VT_USAGE, "%d tokens: expected 1 to %d, the positions of the "
                    "model", T, m->z.T);
    return gpt_check_ids(ids, 1, (size_t)T, m->z.V, false, "tokens", &page_error_line);
}

/* att (L, NH, T, T), and the last row's logits (V). */
EXPORT(page_model_glance)
vt_status page_model_glance(const page_model *m, float *att, float *logits, const int *ids, int T)
{
    const gpt_config *z = &m->z;
    const size_t cells = (size_t)T * (size_t)T;
    generator g;
    vt_status s = check_window(m, ids, T);
    if (s) return s;
    s = generator_new(&g, z, m->params, T, ops_pick(NULL), 1, &page_error_line);
    if (s) return s;
    generator_start(&g, ids, (size_t)T);
    memcpy(logits, generator_logits(&g), (size_t)z->V * sizeof *logits);
    for (int l = 0; l < z->L; l++)
        for (int h = 0; h < z->NH; h++, att += cells)
            head_weights(att, g.acts.layers[l].qkv, g.acts.layers[l].lse + h * T, T, z->C,
                         z->C / z->NH, h);
    generator_free(&g);
    return VT_OK;
}

/* ---- the next token ---------------------------------------------------- */

static vt_status make_options(filter_options *out, double temperature, double top_k, double top_p)
{
    if (!(top_k >= 0 && top_k <= 2147483647.0))
        return fail(&page_error_line, VT_USAGE, "top-k %g: expected 0 (off) or more", top_k);
    *out = (filter_options){ .temperature = temperature, .top_k = (size_t)top_k, .top_p = top_p };
    return filter_check(out, &page_error_line);
}

/* plain, drawn (V): probabilities before and after the filters; order (V): ids, the
 * most probable first; cut (V): 0 kept, 1 behind the first k, 2 beyond the mass p; *id what
 * the number u draws: the page holds it to [0, 1). */
EXPORT(page_next)
vt_status page_next(const float *logits, size_t V, double temperature, double top_k, double top_p,
              double u, double *plain, double *drawn, int *order, unsigned char *cut, int *id)
{
    const filter_options none = { .temperature = 1, .top_k = 0, .top_p = 1 };
    filter_options how;
    filter_choice *choices = NULL;
    size_t kept, found = 0;
    vt_status s = make_options(&how, temperature, top_k, top_p);
    if (s) goto done;
    if (V < 1 || V > SIZE_MAX / sizeof *choices || !(choices = malloc(V * sizeof *choices))) {
        s = fail(&page_error_line, VT_USAGE, "%zu logits: expected 1 or more that fit in memory", V);
        goto done;
    }
    if ((s = filter_list(logits, V, &none, choices, &kept, &page_error_line))) goto done;
    memset(plain, 0, V * sizeof *plain);
    memset(drawn, 0, V * sizeof *drawn);
    for (size_t i = 0; i < V; i++) order[i] = (int)choices[i].id;
    for (size_t i = 0; i < kept; i++) plain[choices[i].id] = choices[i].weight;
    if ((s = filter_list(logits, V, &how, choices, &kept, &page_error_line))) goto done;
    const size_t first = how.temperature > 0 ? how.top_k : 1;   /* 0 is the limit: one id */
    memset(cut, 1, V);                          /* at temperature 0 nothing else is listed */
    for (size_t i = 0; i < (how.temperature > 0 ? V : kept); i++) {
        cut[choices[i].id] = i < kept ? 0 : first > 0 && i >= first ? 1 : 2;
        if (i < kept) drawn[choices[i].id] = choices[i].weight;
    }
    s = filter_draw(logits, V, &how, u, choices, &found, &page_error_line);
    *id = (int)found;
done:
    free(choices);
    return s;
}

/* ---- generation -------------------------------------------------------- */

/* Continues the prompt, of which the last `window` ids count, from stream(seed,
 * RNG_SAMPLE, 0), as `vitrine generate` does.  NULL with a line. */
EXPORT(page_generation_new)
page_generation *page_generation_new(const page_model *m, const int *ids, size_t n, int window,
                                     double seed, double temperature, double top_k, double top_p)
{
    uint64_t number;
    filter_options how;
    vt_status s = make_options(&how, temperature, top_k, top_p);
    if (!s) s = page_seed(&number, seed);
    if (!s && (window < 1 || window > m->z.T))
        s = fail(&page_error_line, VT_USAGE, "a window of %d tokens: expected 1 to %d, the positions of "
                 "the model", window, m->z.T);
    if (!s && n < 1) s = fail(&page_error_line, VT_USAGE, "an empty prompt: expected at least one token");
    if (!s) s = gpt_check_ids(ids, 1, n, m->z.V, false, "prompt", &page_error_line);
    if (s) return NULL;
    page_generation *p = calloc(1, sizeof *p);
    if (!p) {
        (void)fail_memory(&page_error_line, sizeof *p, "a generation");
        return NULL;
    }
    p->how = how;
    if (generator_new(&p->g, &m->z, m->params, window, ops_pick(NULL), 1, &page_error_line)) {
        free(p);
        return NULL;
    }
    rng_stream_seed(&p->random, number, RNG_SAMPLE, 0);
    generator_start(&p->g, ids, n);
    return p;
}

EXPORT(page_generation_free) void page_generation_free(page_generation *p)
{
    if (!p) return;
    generator_free(&p->g);
    free(p);
}

/* (V): what the next step draws from. */
EXPORT(page_generation_logits) const float *page_generation_logits(page_generation *p)
{
    return generator_logits(&p->g);
}

EXPORT(page_generation_step) vt_status page_generation_step(page_generation *p, int *id)
{
    return generator_next(&p->g, &p->how, rng_double(&p->random), id, &page_error_line);
}
