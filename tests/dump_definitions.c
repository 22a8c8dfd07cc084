/* dump_definitions.c -- what the definitions compute in double, as F64 tensors
 * of a safetensors file, for torch_model.py to compare.
 *
 *     dump_definitions MODEL OUT      logits, losses, lse and every gradient of a
 *                                     checkpoint on the first 3 x 10 tokens of its
 *                                     check.window, one target ignored
 *     dump_definitions --kernels OUT  layer norm, GELU, cross-entropy at a
 *                                     temperature, five steps of AdamW: inputs
 *                                     and outputs
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "formats/safetensors.h"
#include "model/checkpoint.h"
#include "model/gpt.h"
#define VT_SCALAR 64
#include "kernels/definitions.h"

enum { MOST = 256, ROWS = 3, SEQ = 10 };

static st_item items[MOST];
static char names[MOST][96];
static size_t count;

static void *add(const char *name, st_dtype dtype, size_t rank, size_t a, size_t b,
                 const void *data)
{
    snprintf(names[count], sizeof names[0], "%s", name);
    items[count] = (st_item){ .name = names[count], .dtype = dtype, .rank = rank,
                              .shape = { a, b }, .data = data };
    count++;
    return (void *)(uintptr_t)data;
}

/* Zeroed numbers that are written at the end. */
static double *numbers(const char *name, size_t a, size_t b)
{
    double *x = calloc(a * b, sizeof *x);
    if (!x || count == MOST) abort();
    return add(name, ST_F64, 2, a, b, x);
}

static double *random_numbers(rng *r, double scale, const char *name, size_t a, size_t b)
{
    double *x = numbers(name, a, b);
    for (size_t i = 0; i < a * b; i++) x[i] = scale * rng_normal(r);
    return x;
}

static vt_status dump_model(const char *folder, vt_error *err)
{
    checkpoint c;
    vt_status s = checkpoint_open(&c, folder, err);
    if (s) return s;
    const gpt_config *z = &c.z;
    const size_t N = ROWS * SEQ;
    static int x[ROWS * SEQ], y[ROWS * SEQ];
    if (c.nwindow <= N || z->T < SEQ) {
        checkpoint_close(&c);
        return fail(err, VT_BAD_INPUT, "%s: expected more than %zu tokens in check.window", folder, N);
    }
    for (size_t i = 0; i < N; i++) {
        x[i] = c.window[i];
        y[i] = i == 7 ? VT_IGNORE : c.window[i + 1];
    }
    double *params = malloc(c.count * sizeof *params), *grads = calloc(c.count, sizeof *grads);
    double *head = malloc((size_t)z->C * (size_t)z->V * sizeof *head), dloss[ROWS * SEQ];
    void *memory = malloc(gpt_acts_bytes_f64(z, ROWS, SEQ, SEQ, true));
    if (!params || !grads || !head || !memory) abort();
    for (size_t i = 0; i < c.count; i++) params[i] = (double)c.params[i];
    for (size_t n = 0; n < N; n++) dloss[n] = 1.0 / (double)(N - 1);
    gpt_acts_f64 a;
    const gpt_model_f64 m = { .z = *z, .params = params, .head = head };
    gpt_acts_place_f64(&a, memory, z, ROWS, SEQ, SEQ, true);
    gpt_prepare_f64(&m);
    gpt_forward_f64(&m, &a, x, NULL, ROWS, SEQ);
    gpt_loss_f64(&m, &a, y, 1, ROWS, SEQ);
    memcpy(numbers("logits", N, (size_t)z->V), a.logits, N * (size_t)z->V * sizeof(double));
    memcpy(numbers("loss", 1, N), a.loss, N * sizeof(double));
    gpt_backward_f64(&m, &a, grads, x, y, dloss, ROWS, SEQ);
    add("tokens", ST_I32, 2, ROWS, SEQ, x);
    add("targets", ST_I32, 2, ROWS, SEQ, y);
    for (size_t i = 0; i < c.ntensors; i++) {
        const gpt_tensor *t = &c.tensors[i];
        memcpy(numbers(t->file, (size_t)t->rows, (size_t)t->cols), grads + t->offset,
               t->count * sizeof(double));
    }
    free(memory);
    free(head);
    free(grads);
    free(params);
    checkpoint_close(&c);
    return VT_OK;
}

static void dump_kernels(void)
{
    enum { N = 5, C = 7, V = 11, W = 13, STEPS = 5 };
    static int target[N] = { 3, VT_IGNORE, 0, 10, 3 };
    rng r;
    rng_seed(&r, 8);
    double *x = random_numbers(&r, 1, "ln.x", N, C), *w = random_numbers(&r, 1, "ln.w", 1, C);
    double *b = random_numbers(&r, 1, "ln.b", 1, C), *dout = random_numbers(&r, 1, "ln.dout", N, C);
    double mean[N], rstd[N];
    for (int i = 0; i < C; i++) x[C + i] += 1e3;            /* a large mean */
    ref_layernorm_forward_f64(numbers("ln.out", N, C), mean, rstd, x, w, b, N, C);
    double *dx = numbers("ln.dx", N, C), *dw = numbers("ln.dw", 1, C), *db = numbers("ln.db", 1, C);
    ref_layernorm_backward_f64(dx, dw, db, dout, x, w, mean, rstd, N, C);

    double *u = random_numbers(&r, 3, "gelu.x", N, C);
    ref_gelu_forward_f64(numbers("gelu.out", N, C), u, N * C);
    ref_gelu_backward_f64(numbers("gelu.dx", N, C), dout, u, N * C);

    double *logits = random_numbers(&r, 3, "ce.logits", N, V), lse[N];
    double *dloss = random_numbers(&r, 1, "ce.dloss", 1, N);
    add("ce.target", ST_I32, 2, 1, N, target);
    ref_crossentropy_forward_f64(numbers("ce.loss", 1, N), lse, logits, target, 0.7, N, V);
    ref_crossentropy_backward_f64(numbers("ce.dlogits", N, V), dloss, lse, logits, target, 0.7, N, V);

    double *start = random_numbers(&r, 1, "adamw.start", 1, W);
    double *g = random_numbers(&r, 0.1, "adamw.g", STEPS, W), *out = numbers("adamw.w", STEPS, W);
    double now[W], m[W] = { 0 }, v[W] = { 0 };
    memcpy(now, start, sizeof now);
    for (int t = 1; t <= STEPS; t++) {
        ref_adamw_f64(now, m, v, g + (t - 1) * W, W, 1, 0.05, 0.9, 0.99, 1e-8, 0.1, t);
        memcpy(out + (t - 1) * W, now, sizeof now);
    }
}

int main(int argc, char **argv)
{
    vt_error err = { "" };
    vt_status s = VT_OK;
    if (argc != 3) {
        fprintf(stderr, "usage: dump_definitions MODEL OUT, or --kernels OUT\n");
        return 2;
    }
    if (strcmp(argv[1], "--kernels") == 0) dump_kernels();
    else s = dump_model(argv[1], &err);
    if (s == VT_OK) s = st_write(argv[2], items, count, NULL, 0, &err);
    if (s) fprintf(stderr, "dump_definitions: %s\n", err.text);
    for (size_t i = 0; i < count; i++)
        if (items[i].dtype == ST_F64) free((void *)(uintptr_t)items[i].data);
    return (int)s;
}
