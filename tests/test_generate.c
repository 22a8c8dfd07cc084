/* test_generate.c -- the next token: cached or not, it is what a fresh forward
 * pass of the definitions over the last window gives.
 */
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "model/checkpoint.h"
#include "sample/generate.h"
#include "scratch.h"
#include "tiny_model.h"
#include "vitrine.h"

/* ---- the generator ------------------------------------------------------ */

static const gpt_config plain = { .L = 2, .C = 12, .NH = 3, .FF = 20, .T = 11, .V = 29 };
enum { WINDOW = 7, NEW = 5, MOST = 40 };

static float *random_params(const gpt_config *z, uint64_t seed)
{
    const size_t n = gpt_parameter_count(z);
    float *w = malloc(n * sizeof *w);
    rng r;
    assert_non_null(w);
    rng_seed(&r, seed);
    for (size_t i = 0; i < n; i++) w[i] = (float)(0.4 * rng_normal(&r));
    return w;
}

/* The definitions' logits behind n ids, in double. */
static void exact_logits(double *out, const gpt_config *z, const float *w, const int *ids, int n)
{
    const size_t count = gpt_parameter_count(z), V = (size_t)z->V;
    double *params = malloc(count * sizeof *params);
    double *head = malloc((size_t)z->C * V * sizeof *head);
    void *memory = malloc(gpt_acts_bytes_f64(z, 1, n, n, false));
    assert_true(params && head && memory);
    for (size_t i = 0; i < count; i++) params[i] = (double)w[i];
    gpt_acts_f64 a;
    const gpt_model_f64 m = { .z = *z, .params = params, .head = head };
    gpt_acts_place_f64(&a, memory, z, 1, n, n, false);
    gpt_prepare_f64(&m);
    gpt_forward_f64(&m, &a, ids, NULL, 1, n);
    memcpy(out, a.logits + (size_t)(n - 1) * V, V * sizeof *out);
    free(memory);
    free(head);
    free(params);
}

/* GEN-01: prompts shorter than the window, as long, and longer; each of the next
 * tokens, while the cache serves and once the window moves. */
/* proves gen.logits gen.append */
static void each_token_is_a_forward_of_the_last_window(void **state)
{
    (void)state;
    const int lengths[] = { 1, 4, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW };
    const filter_options greedy = { .temperature = 0, .top_p = 1 };
    size_t logits = 0, clear = 0, tokens = 0;
    for (int tied = 0; tied < 2; tied++) {
        gpt_config z = plain;
        z.tied = tied;
        float *w = random_params(&z, 3);
        generator g;
        assert_ok(generator_new(&g, &z, w, WINDOW, ops_pick(NULL), 2, &test_error));
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            int ids[MOST], n = lengths[k];
            rng r;
            rng_seed(&r, k);
            for (int i = 0; i < n; i++) ids[i] = (int)rng_integers(&r, 0, z.V);
            generator_start(&g, ids, (size_t)n);
            for (int step = 0; step < NEW; step++, tokens++) {
                const int from = n > WINDOW ? n - WINDOW : 0;
                double row[29], largest = 0;
                exact_logits(row, &z, w, ids + from, n - from);
                int best = 0, second = -1, id;
                for (int v = 0; v < z.V; v++) {
                    if (fabs(row[v]) > largest) largest = fabs(row[v]);
                    if (row[v] > row[best]) best = v;
                }
                for (int v = 0; v < z.V; v++)
                    if (v != best && (second < 0 || row[v] > row[second])) second = v;
                const float *found = generator_logits(&g);
                for (int v = 0; v < z.V; v++, logits++)
                    assert_near_at((double)found[v], row[v], 1e-6 * largest, "logit", (size_t)v);
                assert_ok(generator_next(&g, &greedy, 0.3, &id, &test_error));
                if (row[best] - row[second] > 1e-4 * largest) {
                    assert_int_equal(id, best);
                    clear++;
                }
                ids[n++] = id;
            }
        }
        generator_free(&g);
        free(w);
    }
    assert_int_equal(tokens, 2 * 6 * NEW);
    assert_int_equal(logits, 29 * tokens);
    assert_true(clear > tokens * 9 / 10);
}

/* A new start forgets everything: the same bits as the first time. */
static void a_new_start_is_a_fresh_one(void **state)
{
    (void)state;
    const filter_options how = { .temperature = 1, .top_p = 0.9 };
    float *w = random_params(&plain, 4);
    const int ids[] = { 3, 1, 4, 1, 5 };
    int first[20];
    generator g;
    assert_ok(generator_new(&g, &plain, w, WINDOW, ops_pick(NULL), 1, &test_error));
    for (int again = 0; again < 3; again++) {
        rng r;
        rng_seed(&r, 9);
        generator_start(&g, ids, 5);
        for (int i = 0; i < 20; i++) {
            int id;
            assert_ok(generator_next(&g, &how, rng_double(&r), &id, &test_error));
            if (again) assert_int_equal(id, first[i]);
            else first[i] = id;
        }
    }
    generator_free(&g);
    for (int threads = 2; threads <= 7; threads += 5) {         /* nor do threads count */
        rng r;
        rng_seed(&r, 9);
        assert_ok(generator_new(&g, &plain, w, WINDOW, ops_pick(NULL), threads, &test_error));
        generator_start(&g, ids, 5);
        for (int i = 0; i < 20; i++) {
            int id;
            assert_ok(generator_next(&g, &how, rng_double(&r), &id, &test_error));
            assert_int_equal(id, first[i]);
        }
        generator_free(&g);
    }
    free(w);
}

static void nan_in_the_model_is_refused(void **state)
{
    (void)state;
    const filter_options how = { .temperature = 1, .top_p = 1 };
    float *w = random_params(&plain, 5);
    const int start = 0;
    int id;
    generator g;
    w[0] = NAN;
    assert_ok(generator_new(&g, &plain, w, WINDOW, ops_pick(NULL), 1, &test_error));
    generator_start(&g, &start, 1);
    assert_int_equal(generator_next(&g, &how, 0.5, &id, &test_error), VT_NAN);
    generator_free(&g);
    free(w);
}

/* ---- vt_generate -------------------------------------------------------- */

enum { SEQ = 8 };
static vt_model *model;
static char model_folder[300];

static int train_one(void **state)
{
    if (scratch_make(state)) return 1;
    const vt_train_options o = tiny_options("model", SEQ, true);
    tiny_train(&o);
    strcpy(model_folder, o.out);
    return vt_model_open(&model, o.out, 2, NULL, &test_error) != VT_OK;
}

static int remove_all(void **state)
{
    vt_model_close(model);
    return scratch_remove(state);
}

enum { SAMPLES = 4 };
typedef struct heard {
    char   text[SAMPLES][4000];
    size_t n[SAMPLES];
    int    calls, stop_after;           /* 0: never */
    int    after;                       /* calls after it said to stop */
    bool   stopped;
} heard;

static bool hear(void *context, int sample, const char *text, size_t n)
{
    heard *h = context;
    assert_in_range(sample, 0, SAMPLES - 1);
    assert_true(n > 0 && h->n[sample] + n < sizeof h->text[0]);
    memcpy(h->text[sample] + h->n[sample], text, n);
    h->n[sample] += n;
    h->calls++;
    h->after += h->stopped;
    h->stopped = h->stopped || (h->stop_after && h->calls == h->stop_after);
    return h->stopped;
}

static vt_generate_options asked(const char *prompt)
{
    vt_generate_options o;
    vt_generate_defaults(&o);
    o.prompt = prompt;
    o.prompt_length = strlen(prompt);
    return o;
}

static size_t generate(const vt_generate_options *o, heard *h)
{
    size_t tokens = 999;
    memset(h, 0, sizeof *h);
    assert_ok(vt_generate(model, o, hear, h, &tokens, &test_error));
    return tokens;
}

static void the_seed_decides(void **state)
{
    (void)state;
    static heard a, b;
    vt_generate_options o = asked("the cat ");
    o.samples = 3;
    o.temperature = 1;
    o.top_p = 1;
    const size_t tokens = generate(&o, &a);
    assert_in_range(tokens, 3, 150);
    assert_int_equal(generate(&o, &b), tokens);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(a.n[k], b.n[k]);
        assert_memory_equal(a.text[k], b.text[k], a.n[k]);
    }
    assert_true(a.n[0] != a.n[1] || memcmp(a.text[0], a.text[1], a.n[0]) != 0);
    assert_true(a.n[1] != a.n[2] || memcmp(a.text[1], a.text[2], a.n[1]) != 0);
    o.seed = 43;
    generate(&o, &b);
    assert_true(a.n[0] != b.n[0] || memcmp(a.text[0], b.text[0], a.n[0]) != 0);
    o.seed = 42;                            /* sample 0 is there whatever their number */
    o.samples = 1;
    generate(&o, &b);
    assert_int_equal(a.n[0], b.n[0]);
    assert_memory_equal(a.text[0], b.text[0], a.n[0]);
}

/* Temperature 0 is the definitions' best token of the last SEQ ids, through the
 * API: tokens from vt_tokenize, windows of the length it was trained on. */
static void greedy_text_is_the_best_token_of_the_window(void **state)
{
    (void)state;
    static heard h;
    static const char *const prompts[] = { "t", "the cat saw a mat on that hat .",
                                           "caf\303\251 caf\303\251 \303\274ber the" };
    vt_generate_options o = asked("");
    o.temperature = 0;
    o.max_tokens = 12;
    for (size_t k = 0; k < sizeof prompts / sizeof *prompts; k++) {
        int *ids, at[200];
        size_t n, length;
        o.prompt = prompts[k];
        o.prompt_length = strlen(prompts[k]);
        const size_t drawn = generate(&o, &h);
        assert_ok(vt_tokenize(model, o.prompt, o.prompt_length, &ids, &n, &test_error));
        memcpy(at, ids, n * sizeof *at);
        free(ids);
        vt_info_data info;
        vt_info(model, &info);
        const gpt_config z = { .L = info.layers, .C = info.d_model, .NH = info.heads,
                               .FF = info.ff, .T = info.context, .V = info.vocabulary,
                               .tied = info.tied };
        assert_int_equal(info.seq, SEQ);
        checkpoint c;
        char text[600];
        size_t written = 0;
        assert_ok(checkpoint_open(&c, model_folder, &test_error));
        double *row = malloc((size_t)z.V * sizeof *row);
        for (size_t i = 0; i < drawn; i++) {
            const int held = n > SEQ ? SEQ : (int)n;
            int best = 0;
            exact_logits(row, &z, c.params, at + n - (size_t)held, held);
            for (int v = 1; v < z.V; v++) if (row[v] > row[best]) best = v;
            at[n++] = best;
            const unsigned char *piece = vt_piece(model, best, &length);
            if (best == z.V - 1) break;
            memcpy(text + written, piece, length);
            written += length;
        }
        /* a character cut off at the end shows as U+FFFD: whole ones are compared */
        size_t same = 0;
        while (same < written && same < h.n[0] && text[same] == h.text[0][same]) same++;
        assert_true(same + 4 >= written && h.n[0] + 4 >= written && written > 0);
        if ((unsigned char)text[written - 1] < 0x80) {
            assert_int_equal(h.n[0], written);
            assert_int_equal(same, written);
        }
        free(row);
        checkpoint_close(&c);
    }
}

static void edges_of_the_options(void **state)
{
    (void)state;
    static heard h, again;
    vt_generate_options o = asked("the");
    o.max_tokens = 0;
    assert_int_equal(generate(&o, &h), 0);
    assert_int_equal(h.calls, 0);
    o.max_tokens = 1;
    assert_int_equal(generate(&o, &h), 1);
    o = asked("");                          /* starts after <|endoftext|> */
    o.max_tokens = 10;
    assert_in_range(generate(&o, &h), 1, 10);
    o.prompt = NULL;
    generate(&o, &again);
    assert_int_equal(h.n[0], again.n[0]);
    assert_memory_equal(h.text[0], again.text[0], h.n[0]);
    const char odd[] = { 'a', 0, (char)0xFF, '<', '|', 'e', 'n', 'd', 'o', 'f' };
    o.prompt = odd;                         /* any bytes */
    o.prompt_length = sizeof odd;
    assert_in_range(generate(&o, &h), 1, 10);
    size_t tokens;
    assert_ok(vt_generate(model, &o, NULL, NULL, &tokens, &test_error));
    assert_ok(vt_generate(model, &o, NULL, NULL, NULL, &test_error));
}

static void unusable_options_are_refused(void **state)
{
    (void)state;
    static heard h;
    const double nan = (double)NAN, inf = (double)INFINITY;
    const struct { double temperature, top_p; int top_k, max_tokens, samples; const char *part; }
    rows[] = {
        { -0.1, 1, 0, 5, 1, "temperature" },  { nan, 1, 0, 5, 1, "temperature" },
        { inf, 1, 0, 5, 1, "temperature" },   { 1, -0.1, 0, 5, 1, "top-p" },
        { 1, 1.1, 0, 5, 1, "top-p" },         { 1, nan, 0, 5, 1, "top-p" },
        { 1, 1, -1, 5, 1, "--top-k -1" },     { 1, 1, 0, -1, 1, "--max-tokens -1" },
        { 1, 1, 0, 2147483647, 1, "--max-tokens" },
        { 1, 1, 0, 5, 0, "--samples 0" },     { 1, 1, 0, 5, -3, "--samples -3" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vt_generate_options o = asked("the");
        size_t tokens = 0;
        o.temperature = rows[i].temperature;
        o.top_p = rows[i].top_p;
        o.top_k = rows[i].top_k;
        o.max_tokens = rows[i].max_tokens;
        o.samples = rows[i].samples;
        memset(&h, 0, sizeof h);
        assert_int_equal(vt_generate(model, &o, hear, &h, &tokens, &test_error), VT_USAGE);
        assert_contains(test_error.text, rows[i].part);
        assert_int_equal(h.calls, 0);
    }
    vt_generate_options o = asked("the");   /* the outermost that are right */
    o.top_k = 2147483647;
    o.top_p = 0;
    o.temperature = 1e300;
    o.max_tokens = 3;
    generate(&o, &h);
}

/* Once it returned true a sink is not called again, be a character cut in two. */
static void a_sink_can_stop(void **state)
{
    (void)state;
    static heard h;
    memset(&h, 0, sizeof h);
    for (int stop = 1; stop <= 6; stop++) {
        vt_generate_options o = asked("the ");
        size_t tokens;
        o.samples = 4;
        o.max_tokens = 30;
        o.temperature = 3;                  /* bytes of all kinds */
        o.top_p = 1;
        memset(&h, 0, sizeof h);
        h.stop_after = stop;
        assert_ok(vt_generate(model, &o, hear, &h, &tokens, &test_error));
        assert_int_equal(h.calls, stop);
        assert_int_equal(h.after, 0);
        assert_true(tokens >= (size_t)stop && tokens <= 30 * 4);
    }
}

/* A model of which <|endoftext|> is the surest next token draws it, and ends. */
static void the_end_of_text_ends_a_sample(void **state)
{
    (void)state;
    static heard h;
    const char *const folder = scratch("ends");
    checkpoint c;
    char hashes[3][65], hash[65];
    vt_model *before = model;
    assert_ok(checkpoint_open(&c, model_folder, &test_error));
    const int end = c.z.V - 1, C = c.z.C;
    for (size_t i = 0; i < c.ntensors; i++) {       /* lnf gives 1s, wte[end] points there */
        const gpt_tensor *t = &c.tensors[i];
        for (size_t k = 0; k < t->count; k++) {
            float *w = c.params + t->offset;
            if (strcmp(t->name, "lnfw") == 0) w[k] = 0;
            if (strcmp(t->name, "lnfb") == 0) w[k] = 1;
            if (strcmp(t->name, "wte") == 0) w[k] = k / (size_t)C == (size_t)end ? 50 : 0;
        }
    }
    char *run = json_dumps(c.run, JSON_PRESERVE_ORDER);
    float *zeros = calloc(c.count, sizeof *zeros);
    const checkpoint_parts parts = { .z = &c.z, .tensors = c.tensors, .ntensors = c.ntensors,
        .params = c.params, .m = zeros, .v = zeros, .run = run, .tokenizer = c.tokenizer };
    assert_ok(io_mkdir(folder, &test_error));
    assert_ok(checkpoint_write_state(folder, &parts, hash, &test_error));
    assert_ok(checkpoint_write_model(folder, &parts, hashes, &test_error));
    free(zeros);
    free(run);
    checkpoint_close(&c);
    assert_ok(vt_model_open(&model, folder, 1, NULL, &test_error));
    vt_generate_options o = asked("the cat");
    o.samples = 3;
    assert_int_equal(generate(&o, &h), 3);          /* one token each, and no text */
    assert_int_equal(h.calls, 0);
    vt_model_close(model);
    model = before;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_token_is_a_forward_of_the_last_window),
        cmocka_unit_test(a_new_start_is_a_fresh_one),
        cmocka_unit_test(nan_in_the_model_is_refused),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(greedy_text_is_the_best_token_of_the_window),
        cmocka_unit_test(edges_of_the_options),
        cmocka_unit_test(unusable_options_are_refused),
        cmocka_unit_test(a_sink_can_stop),
        cmocka_unit_test(the_end_of_text_ends_a_sample),
    };
    return cmocka_run_group_tests(tests, train_one, remove_all);
}
