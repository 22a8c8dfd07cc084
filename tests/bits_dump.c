/* bits_dump.c -- see bits.h: what tools/bits compares between builds.
 *
 * Of the illustrative example: all tensors of the forward and of the backward
 * pass; of a window of a checkpoint: every stage and gradient.  And derivatives
 * by complex step: of the example by each entry of each input but dOut, of the
 * window by some entries of each parameter.
 */
#include "bits.h"
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/json.h"
#include "lab/attention_example.h"
#include "model/checkpoint.h"
#include "model/gpt_window.h"
#include "tokenizer/bpe.h"
#include "verify/model/check_passes.h"

static const double STEP = 1e-30;
enum { ENTRIES = 16, MOST_BYTES = 1 << 20 };

/* What is written: the numbers, and a line for each tensor, "NAME COUNT". */
typedef struct dump { bytes tensors, names, steps, entries; } dump;

/* Little-endian, on any machine. */
static vt_status add_numbers(bytes *to, const double *x, size_t n, vt_error *err)
{
    vt_status s = VT_OK;
    for (size_t i = 0; i < n && s == VT_OK; i++) {
        uint64_t bits;
        unsigned char eight[8];
        memcpy(&bits, x + i, sizeof bits);
        for (int k = 0; k < 8; k++) eight[k] = (unsigned char)(bits >> 8 * k);
        s = bytes_append(to, eight, sizeof eight, err);
    }
    return s;
}

static vt_status add_tensor(dump *d, const char *of, const char *name, const double *x, size_t n,
                            vt_error *err)
{
    const vt_status s = bytes_printf(&d->names, err, "%s %s %zu\n", of, name, n);
    return s ? s : add_numbers(&d->tensors, x, n, err);
}

static vt_status add_step(dump *d, const char *of, const char *name, size_t at, double slope,
                          vt_error *err)
{
    const vt_status s = bytes_printf(&d->entries, err, "%s %s %zu\n", of, name, at);
    return s ? s : add_numbers(&d->steps, &slope, 1, err);
}

/* ---- the illustrative example ---------------------------------------------- */

/* The numbers of a nested array, in order. */
static bool numbers_of(const json_t *value, double *out, size_t count, size_t *at)
{
    if (json_is_array(value)) {
        size_t i;
        const json_t *item;
        json_array_foreach(value, i, item) if (!numbers_of(item, out, count, at)) return false;
        return true;
    }
    if (!json_is_number(value) || *at == count) return false;
    out[(*at)++] = json_number_value(value);
    return true;
}

typedef struct example { int T, C, H; size_t count; double *block; double _Complex *z; } example;

static vt_status example_inputs(example *x, const char *path, const json_t *file, vt_error *err)
{
    const json_t *inputs, *rows;
    int64_t heads;
    vt_status s = js_get_object(file, "inputs", path, &inputs, err);
    if (!s) s = js_get_int(file, "heads", path, 1, 64, &heads, err);
    if (!s) s = js_get_array(inputs, "Xn", path, &rows, err);
    if (s) return s;
    x->T = (int)json_array_size(rows);
    x->C = (int)json_array_size(json_array_get(rows, 0));
    x->H = (int)heads;
    x->count = attention_example_count(x->T, x->C, x->H);
    if (!x->count) return fail(err, VT_BAD_INPUT, "%s: sizes that no attention layer has", path);
    x->block = malloc(x->count * sizeof *x->block);
    x->z = calloc(x->count, sizeof *x->z);
    if (!x->block || !x->z) return fail_memory(err, x->count * sizeof *x->z, "an attention layer");
    attention_example_info t;
    for (int i = 0; attention_example_tensor(&t, i, x->T, x->C, x->H) && t.part == ATTENTION_INPUT; i++) {
        size_t at = 0;
        if (!numbers_of(json_object_get(inputs, t.name), x->block + t.offset, t.count, &at) ||
            at != t.count)
            return fail(err, VT_BAD_INPUT, "%s: inputs.%s: expected %zu numbers", path, t.name, t.count);
        for (size_t k = t.offset; k < t.offset + t.count; k++) x->z[k] = x->block[k];
    }
    return VT_OK;
}

static vt_status dump_example(dump *d, const char *path, vt_error *err)
{
    example x = { 0 };
    json_t *file = NULL;
    attention_example_info t;
    vt_status s = js_read(&file, path, MOST_BYTES, err);
    if (!s) s = example_inputs(&x, path, file, err);
    if (s) goto done;
    attention_example_forward_f64(x.block, x.T, x.C, x.H);
    attention_example_backward_f64(x.block, x.T, x.C, x.H);
    for (int i = 0; !s && attention_example_tensor(&t, i, x.T, x.C, x.H); i++) {
        if (t.part != ATTENTION_INPUT) {
            s = add_tensor(d, "example", t.name, x.block + t.offset, t.count, err);
            continue;
        }
        for (size_t k = 0; !s && k < t.count && strcmp(t.name, "dOut") != 0; k++) {
            double _Complex *z = x.z + t.offset + k;
            *z = creal(*z) + STEP * I;
            attention_example_forward_c128(x.z, x.T, x.C, x.H);
            const double slope = cimag(attention_example_loss_c128(x.z, x.T, x.C, x.H)) / STEP;
            *z = creal(*z);
            s = add_step(d, "example", t.name, k, slope, err);
        }
    }
done:
    free(x.block);
    free(x.z);
    json_decref(file);
    return s;
}

/* ---- a window of a model --------------------------------------------------- */

/* The first tokens of the text, each with the next as its target; the last has none. */
typedef struct window { int ids[256], targets[256], T; } window;

static vt_status read_window(window *w, const checkpoint *c, const char *text, vt_error *err)
{
    bpe *tokenizer = NULL;
    bpe_ids ids = { 0 };
    vt_status s = bpe_from_json(&tokenizer, c->tokenizer, c->tokenizer_length, "tokenizer.json", err);
    if (!s) s = bpe_encode(tokenizer, text, strlen(text), &ids, err);
    if (!s && ids.len < 2) s = fail(err, VT_USAGE, "a text of %zu tokens: expected two at least", ids.len);
    if (s) goto done;
    const size_t most = sizeof w->ids / sizeof w->ids[0], place = (size_t)c->z.T;
    w->T = (int)(ids.len < most ? ids.len : most);
    if ((size_t)w->T > place) w->T = (int)place;
    for (int t = 0; t < w->T; t++) {
        w->ids[t] = ids.data[t];
        w->targets[t] = t + 1 < w->T ? ids.data[t + 1] : VT_IGNORE;
    }
done:
    bpe_ids_free(&ids);
    bpe_free(tokenizer);
    return s;
}

static vt_status add_steps(dump *d, const checkpoint *c, const window *w, vt_error *err)
{
    const gradcheck_case g = { .z = &c->z, .tensors = c->tensors, .ntensors = c->ntensors,
                               .params = c->params, .tokens = w->ids, .targets = w->targets,
                               .B = 1, .T = w->T };
    double weight[256];
    check_model_c128 m = { 0 };
    vt_status s = check_model_new_c128(&m, &g, false, err);
    for (int t = 0; t < w->T; t++) weight[t] = 1.0 / (w->T - 1);
    for (size_t i = 0; i < c->ntensors && !s; i++) {
        const gpt_tensor *t = &c->tensors[i];
        const bool first = strcmp(t->name, "wte") == 0 || strcmp(t->name, "wpe") == 0;
        const int part = t->layer >= 0 ? t->layer : first ? -1 : c->z.L;
        for (size_t k = 0; k < ENTRIES && !s; k++) {
            const size_t entry = k * t->count / ENTRIES, at = t->offset + entry;
            check_move_c128(&m, at, (double)c->params[at] + STEP * I);
            const double slope = cimag(check_loss_c128(&m, weight, part)) / STEP;
            check_move_c128(&m, at, (double)c->params[at]);
            s = add_step(d, "window", t->name, entry, slope, err);
        }
    }
    check_model_free_c128(&m);
    return s;
}

static vt_status dump_window(dump *d, const char *folder, const char *text, bytes *tokens, vt_error *err)
{
    checkpoint c = { 0 };
    gpt_window run = { 0 };
    window w;
    vt_status s = checkpoint_open(&c, folder, err);
    if (!s) s = read_window(&w, &c, text, err);
    if (!s) s = gpt_window_new(&run, &c.z, c.params, w.T, err);
    if (!s) s = gpt_window_run(&run, w.ids, w.targets, err);
    for (size_t i = 0; !s && i < run.count; i++)
        s = add_tensor(d, "window", run.stages[i].name, run.stages[i].data, run.stages[i].count, err);
    if (!s) s = add_steps(d, &c, &w, err);
    for (int t = 0; !s && t < w.T; t++)
        s = bytes_printf(tokens, err, "%d %d\n", w.ids[t], w.targets[t]);
    gpt_window_free(&run);
    checkpoint_close(&c);
    return s;
}

/* ---- files ------------------------------------------------------------------ */

static vt_status write_file(const char *folder, const char *name, const bytes *b, vt_error *err)
{
    char *path = io_join(folder, name);
    const vt_status s = path ? io_replace(path, b->data, b->len, err)
                             : fail_memory(err, strlen(folder) + strlen(name) + 2, "a path");
    free(path);
    return s;
}

int bits_dump(int argc, char **argv)
{
    dump d = { 0 };
    bytes tokens = { 0 };
    vt_error err = { "" };
    if (argc != 4 && argc != 6) {
        fprintf(stderr, "usage: bits dump FOLDER INPUTS.json [MODEL TEXT]\n");
        return 2;
    }
    vt_status s = io_mkdir(argv[2], &err);
    if (!s) s = dump_example(&d, argv[3], &err);
    if (!s && argc == 6) s = dump_window(&d, argv[4], argv[5], &tokens, &err);
    if (!s) s = write_file(argv[2], "tensors.f64", &d.tensors, &err);
    if (!s) s = write_file(argv[2], "tensors.txt", &d.names, &err);
    if (!s) s = write_file(argv[2], "steps.f64", &d.steps, &err);
    if (!s) s = write_file(argv[2], "steps.txt", &d.entries, &err);
    if (!s) s = write_file(argv[2], "tokens.txt", &tokens, &err);
    if (s) fprintf(stderr, "bits: %s\n", err.text);
    bytes_free(&d.tensors);
    bytes_free(&d.names);
    bytes_free(&d.steps);
    bytes_free(&d.entries);
    bytes_free(&tokens);
    return (int)s;
}
