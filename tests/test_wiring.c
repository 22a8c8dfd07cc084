/* test_wiring.c -- the forward pass of a whole model, every stage of it, against a
 * second one written here from the equations alone: no kernel is called, nothing of
 * the model's code but its list of tensors.
 *
 * Sums are long double, so what differs is the rounding of the model's own: some
 * hundred operations on numbers of size 1 to 10.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model_case.h"
#include "support.h"

enum { L = 2, C = 6, NH = 3, HS = C / NH, FF = 7, POSITIONS = 5, V = 11, B = 2, T = 4, N = B * T };
typedef long double real;
typedef struct weights { const gpt_tensor *list; size_t count; const double *params; } weights;

/* Entry (i, j) of a tensor with `cols` columns; layer -1: not of a layer. */
static real weight(const weights *w, int layer, const char *name, int i, int j, int cols)
{
    char whole[64];
    if (layer >= 0) snprintf(whole, sizeof whole, "h.%d.%s", layer, name);
    else snprintf(whole, sizeof whole, "%s", name);
    for (size_t k = 0; k < w->count; k++)
        if (strcmp(w->list[k].name, whole) == 0)
            return w->params[w->list[k].offset + (size_t)(i * cols + j)];
    fail_msg("no tensor %s", whole);
    return 0;
}

static size_t compared;

/* Row n of a stage of `cols` columns. */
static void stage(const double *ours, const real *want, int n, int cols, const char *what)
{
    for (int i = 0; i < cols; i++, compared++)
        assert_near_at(ours[n * cols + i], (double)want[i], 1e-13 * (1 + fabs((double)want[i])), what,
                       (size_t)(n * cols + i));
}

static void normalise(real *y, const real *x, const weights *w, int l, const char *gain,
                      const char *bias)
{
    real mean = 0, variance = 0;
    for (int i = 0; i < C; i++) mean += x[i] / C;
    for (int i = 0; i < C; i++) variance += (x[i] - mean) * (x[i] - mean) / C;
    for (int i = 0; i < C; i++)
        y[i] = weight(w, l, gain, 0, i, C) * (x[i] - mean) / sqrtl(variance + 1e-5L)
             + weight(w, l, bias, 0, i, C);
}

static void affine(real *y, const real *x, int in, int out, const weights *w, int l,
                   const char *matrix, const char *bias)
{
    for (int o = 0; o < out; o++) {
        y[o] = bias ? weight(w, l, bias, 0, o, out) : 0;
        for (int i = 0; i < in; i++) y[o] += x[i] * weight(w, l, matrix, i, o, out);
    }
}

/* The rows of one sequence, q | k | v side by side, to one row of O. */
static void attention(real *o, real qkv[T][3 * C], int t)
{
    for (int h = 0; h < NH; h++) {
        real a[T], sum = 0;
        for (int u = 0; u <= t; u++) {
            a[u] = 0;
            for (int c = h * HS; c < (h + 1) * HS; c++) a[u] += qkv[t][c] * qkv[u][C + c];
            a[u] = expl(a[u] / sqrtl(HS));
            sum += a[u];
        }
        for (int c = h * HS; c < (h + 1) * HS; c++) {
            o[c] = 0;
            for (int u = 0; u <= t; u++) o[c] += a[u] / sum * qkv[u][2 * C + c];
        }
    }
}

/* x of one sequence, whose first row is row n0 of the stages, through layer l. */
static void block(real x[T][C], const gpt_layer_acts_f64 *a, const weights *w, int l, int n0)
{
    real y[C], qkv[T][3 * C], o[C], r[C], f[FF];
    for (int t = 0; t < T; t++) {
        normalise(y, x[t], w, l, "ln1w", "ln1b");
        stage(a->ln1, y, n0 + t, C, "ln1");
        affine(qkv[t], y, C, 3 * C, w, l, "qkvw", "qkvb");
        stage(a->qkv, qkv[t], n0 + t, 3 * C, "qkv");
        stage(a->q, qkv[t], n0 + t, C, "q");
        stage(a->k, qkv[t] + C, n0 + t, C, "k");
        stage(a->v, qkv[t] + 2 * C, n0 + t, C, "v");
    }
    for (int t = 0; t < T; t++) {
        attention(o, qkv, t);
        stage(a->values, o, n0 + t, C, "values");
        affine(y, o, C, C, w, l, "attprojw", "attprojb");
        stage(a->attproj, y, n0 + t, C, "attproj");
        for (int i = 0; i < C; i++) r[i] = x[t][i] + y[i];
        stage(a->res1, r, n0 + t, C, "res1");
        normalise(y, r, w, l, "ln2w", "ln2b");
        stage(a->ln2, y, n0 + t, C, "ln2");
        affine(f, y, C, FF, w, l, "fcw", "fcb");
        stage(a->fc, f, n0 + t, FF, "fc");
        for (int i = 0; i < FF; i++)        /* 2/pi: the tanh form of GELU */
            f[i] = f[i] / 2 * (1 + tanhl(sqrtl(2 / acosl(-1)) * (f[i] + 0.044715L * f[i] * f[i] * f[i])));
        stage(a->gelu, f, n0 + t, FF, "gelu");
        affine(y, f, FF, C, w, l, "fcprojw", "fcprojb");
        stage(a->fcproj, y, n0 + t, C, "fcproj");
        for (int i = 0; i < C; i++) x[t][i] = r[i] + y[i];
        stage(a->res2, x[t], n0 + t, C, "res2");
    }
}

static void sequence(const model_case *c, const gpt_acts_f64 *a, const weights *w, int b)
{
    real x[T][C], y[C], logits[V], loss, sum;
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < C; i++)
            x[t][i] = weight(w, -1, "wte", c->tokens[b * T + t], i, C) + weight(w, -1, "wpe", t, i, C);
        stage(a->embedded, x[t], b * T + t, C, "embedded");
    }
    for (int l = 0; l < L; l++) block(x, &a->layers[l], w, l, b * T);
    for (int t = 0; t < T; t++) {
        const int n = b * T + t, target = c->targets[n];
        normalise(y, x[t], w, -1, "lnfw", "lnfb");
        stage(a->lnf, y, n, C, "lnf");
        if (c->z.tied)
            for (int v = 0; v < V; v++) {
                logits[v] = 0;
                for (int i = 0; i < C; i++) logits[v] += y[i] * weight(w, -1, "wte", v, i, C);
            }
        else affine(logits, y, C, V, w, -1, "headw", NULL);
        stage(a->logits, logits, n, V, "logits");
        sum = 0;
        for (int v = 0; v < V; v++) sum += expl(logits[v]);
        loss = target == VT_IGNORE ? 0 : logl(sum) - logits[target];
        stage(a->loss, &loss, n, 1, "loss");
    }
}

/* proves gpt.embed block.ln1 attn.q attn.k attn.v block.att attn.out block.res1 block.ln2 */
/* proves mlp.fc mlp.gelu mlp.proj block.mlp block.res2 head.ln head.logits head.loss */
static void every_stage_is_its_equation(void **state)
{
    (void)state;
    compared = 0;
    for (int tied = 0; tied < 2; tied++) {
        const gpt_config z = { .L = L, .C = C, .NH = NH, .FF = FF, .T = POSITIONS, .V = V, .tied = tied };
        model_case c;
        model_case_make(&c, &z, B, T, 21);
        const size_t bytes = gpt_acts_bytes_f64(&z, B, T, T, false);
        void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
        double *head = malloc(C * V * sizeof *head);
        gpt_tensor *list = malloc(gpt_tensor_count(&z) * sizeof *list);
        assert_true(memory && head && list);
        memset(memory, 0xFF, bytes);                            /* NaN */
        gpt_tensor_list(&z, list);
        const weights w = { list, gpt_tensor_count(&z), c.params };
        const gpt_model_f64 m = { .z = z, .params = c.params, .head = head };
        gpt_acts_f64 a;
        gpt_acts_place_f64(&a, memory, &z, B, T, T, false);
        gpt_prepare_f64(&m);
        gpt_forward_f64(&m, &a, c.tokens, NULL, B, T);
        gpt_loss_f64(&m, &a, c.targets, 1, B, T);
        for (int b = 0; b < B; b++) sequence(&c, &a, &w, b);
        free(list);
        free(head);
        free(memory);
        model_case_free(&c);
    }
    /* embedded, lnf; in a layer 13 stages of C (qkv is three of them), 2 of FF; logits; loss */
    assert_int_equal(compared, 2 * N * (2 * C + L * (13 * C + 2 * FF) + V + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stage_is_its_equation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
