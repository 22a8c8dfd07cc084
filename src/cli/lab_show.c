/* lab_show.c -- see lab_show.h. */
#include "cli/lab_show.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/elementary.h"
#include "cli/cli.h"

typedef struct show {
    FILE *f;
    bool  utf8;
    const char *bold, *dim, *green, *red, *blue, *off;      /* "" without colours */
} show;

enum { BAR_BYTES = 128 };

/* `share` of `width` columns (at most 40), in eighths where blocks can be shown;
 * the rest is blank.  What is no share is an empty bar. */
static const char *bar(char out[BAR_BYTES], const show *s, double share, int width)
{
    static const char *const eighths[] = {
        " ", "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d", "\xe2\x96\x8c", "\xe2\x96\x8b",
        "\xe2\x96\x8a", "\xe2\x96\x89"
    };
    const int parts = s->utf8 ? 8 : 1;
    size_t n = 0;
    int filled = share > 0 ? (int)lround(fmin(share, 1) * width * parts) : 0;
    for (int column = 0; column < width; column++, filled -= parts) {
        const char *cell = " ";
        if (filled >= parts) cell = s->utf8 ? "\xe2\x96\x88" : "#";
        else if (filled > 0) cell = eighths[filled];
        n += (size_t)snprintf(out + n, BAR_BYTES - n, "%s", cell);
    }
    return out;
}

static void title(const show *s, const char *text)
{
    fprintf(s->f, "\n%s%s%s\n", s->bold, text, s->off);
}

static bool in_float(const vt_lab_options *o)
{
    return strcmp(o->dtype, "float32") == 0;
}

static void show_setting(const show *s, const vt_lab_report *r)
{
    const vt_lab_options *o = &r->options;
    fprintf(s->f, "%sCode lab 01: attention and backprop by hand%s\n", s->bold, s->off);
    fprintf(s->f, "d_model %d, d_head %d, T %d, vocabulary %d; heads %d, temperature %g\n"
            "numbers: NumPy's default_rng(%llu)%s\n\n", VT_LAB_C, VT_LAB_D, VT_LAB_T, VT_LAB_V,
            o->heads, o->temperature, (unsigned long long)o->seed,
            in_float(o) ? ", rounded to float32; all in float32" : "");
    fprintf(s->f, "  X (6, 8) --Wq, Wk, Wv--> Q, K, V (6, 4)\n");
    fprintf(s->f, "  S = Q K^T / sqrt(%d), masked (%d, 6, 6)%s;  P = softmax(S)\n",
            VT_LAB_D / o->heads, o->heads, o->heads > 1 ? ", each head its columns" : "");
    fprintf(s->f, "  O = P V (6, 4) --Wo--> logits (6, 10) --targets--> loss\n\n");
    fprintf(s->f, "loss = %s%.6f%s\n", s->bold, r->loss, s->off);
    fprintf(s->f, "ln(10) = %.6f, the loss of a guess that prefers nothing\n", r->uniform);
}

static void show_attention(const show *s, const vt_lab_report *r)
{
    char picture[BAR_BYTES];
    title(s, "P: how much token t looks at token u");
    for (int h = 0; h < r->options.heads; h++) {
        fprintf(s->f, "head %d ", h);
        for (int u = 0; u < VT_LAB_T; u++) fprintf(s->f, "u=%-10d", u);
        for (int t = 0; t < VT_LAB_T; t++) {
            fprintf(s->f, "\n  t=%d  ", t);
            for (int u = 0; u <= t; u++)
                fprintf(s->f, "%.2f %s%s%s  ", r->P[h][t][u], s->blue,
                        bar(picture, s, r->P[h][t][u], 5), s->off);
            for (int u = t + 1; u < VT_LAB_T; u++)
                fprintf(s->f, "%s   .%s        ", s->dim, s->off);
        }
        putc('\n', s->f);
    }
}

static void show_targets(const show *s, const vt_lab_report *r)
{
    char picture[BAR_BYTES];
    title(s, "the target's probability, softmax(logits / temperature)");
    for (int t = 0; t < VT_LAB_T; t++) {
        double most = r->logits[t][0], sum = 0;
        for (int v = 1; v < VT_LAB_V; v++) most = fmax(most, r->logits[t][v]);
        for (int v = 0; v < VT_LAB_V; v++)
            sum += exp_f64((r->logits[t][v] - most) / r->options.temperature);
        const int y = r->targets[t];
        const double p = exp_f64((r->logits[t][y] - most) / r->options.temperature) / sum;
        fprintf(s->f, "  t=%d  target %d  %.4f %s%s%s\n", t, y, p, s->blue,
                bar(picture, s, p, 40), s->off);
    }
}

/* One gradient's line: shape, largest entry, and where it is. */
static void show_gradient(const show *s, const char *name, const double *g, int rows, int cols,
                          double largest_of_all)
{
    char picture[BAR_BYTES], shape[16];
    int at = 0;
    double squares = 0;
    for (int i = 0; i < rows * cols; i++) {
        if (fabs(g[i]) > fabs(g[at])) at = i;
        squares += g[i] * g[i];
    }
    snprintf(shape, sizeof shape, "(%d, %d)", rows, cols);
    fprintf(s->f, "  %-4s %-8s %+.6f at [%d][%d]  %8.6f  %s%s%s\n", name, shape, g[at], at / cols,
            at % cols, sqrt(squares), s->blue,
            bar(picture, s, largest_of_all > 0 ? fabs(g[at]) / largest_of_all : 0, 20), s->off);
}

static double largest(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

static void show_gradients(const show *s, const vt_lab_report *r)
{
    const vt_lab_tensors *g = &r->gradients;
    const double most = fmax(fmax(largest(&g->Wq[0][0], VT_LAB_C * VT_LAB_D),
                                  largest(&g->Wk[0][0], VT_LAB_C * VT_LAB_D)),
                             fmax(fmax(largest(&g->Wv[0][0], VT_LAB_C * VT_LAB_D),
                                       largest(&g->Wo[0][0], VT_LAB_D * VT_LAB_V)),
                                  largest(&g->X[0][0], VT_LAB_T * VT_LAB_C)));
    title(s, "gradients by hand: largest entry, norm");
    show_gradient(s, "dWq", &g->Wq[0][0], VT_LAB_C, VT_LAB_D, most);
    show_gradient(s, "dWk", &g->Wk[0][0], VT_LAB_C, VT_LAB_D, most);
    show_gradient(s, "dWv", &g->Wv[0][0], VT_LAB_C, VT_LAB_D, most);
    show_gradient(s, "dWo", &g->Wo[0][0], VT_LAB_D, VT_LAB_V, most);
    show_gradient(s, "dX", &g->X[0][0], VT_LAB_T, VT_LAB_C, most);
}

static void show_check(const show *s, const vt_lab_check *c)
{
    const vt_lab_entry *e = c->pass ? &c->worst_at : &c->budget_at;
    fprintf(s->f, "  %s, step %g: %s%s%s\n", c->name, c->step,
            c->pass ? s->green : s->red, c->pass ? "PASS" : "FAIL", s->off);
    fprintf(s->f, "    compared %zu of %zu, worst relative error %.2e\n", c->compared, c->of, c->worst);
    fprintf(s->f, "    %s at d%s[%d][%d]: %.15g, by hand %.15g\n",
            c->pass ? "it is" : c->budget_used <= 1 ? "nearest to its bound"
                                                    : "farthest beyond its bound", e->tensor, e->row, e->col,
            e->expected, e->found);
    fprintf(s->f, "    %.1e of the tensor's largest gradient; %.2g %% of its bound\n", c->worst_of_largest, 100 * c->budget_used);
}

static bool published_run(const vt_lab_options *o)
{
    return o->seed == 0 && o->heads == 1 && o->temperature == 1 && !in_float(o);
}

static void show_checks(const show *s, const vt_lab_report *r)
{
    const vt_lab_float_check *f = &r->in_float;
    title(s, "checks: |found - expected| / (|found| + |expected|), every entry");
    for (size_t i = 0; i < VT_LAB_CHECKS; i++) {
        show_check(s, &r->checks[i]);
        if (i == 0 && in_float(&r->options))
            fprintf(s->f, "    float32: what rounding the loss may do is as large as the gradients, so\n"
                    "    within this bound all would pass: nothing is told. (The complex step\n"
                    "    subtracts nothing: it tells, to a float's rounding.)\n");
        if (i == 0 && published_run(&r->options))
            fprintf(s->f, "    published: 1.29e-07 (Code Lab 01's own run, seed 0, eps 1e-6)\n");
    }
    fprintf(s->f, "  why not in float?  The same differences in float: worst relative error %.2g, mean\n"
            "    %.2g; %zu of %zu within the bound.  A float near the loss, %.6f, moves\n"
            "    in steps of %.1e, and +-eps did not move it for %zu of the %zu entries.\n",
            f->check.worst, f->mean, f->within, f->check.of, f->loss, f->spacing, f->zero,
            f->check.of);
}

static void show_torch(const show *s, const lab_torch *t, bool published)
{
    static const char *const names[VT_LAB_TENSORS] = { "dWq", "dWk", "dWv", "dWo", "dX" };
    const vt_lab_comparison *c = &t->against;
    const bool pass = c->check.pass && c->loss_difference <= c->loss_bound;
    title(s, "PyTorch's automatic differentiation, float64");
    fprintf(s->f, "  torch %s, loss %.15f: %s%s%s\n", t->version, c->loss,
            pass ? s->green : s->red, pass ? "PASS" : "FAIL", s->off);
    fprintf(s->f, "    compared %zu of %zu; largest |difference|\n    loss %.1e", c->check.compared,
            c->check.of, c->loss_difference);
    for (size_t k = 0; k < VT_LAB_TENSORS; k++)
        fprintf(s->f, "  %s %.1e", names[k], c->difference[k]);
    putc('\n', s->f);
    if (!c->check.pass) {
        const vt_lab_entry *e = &c->check.budget_at;
        fprintf(s->f, "    farthest beyond its bound at d%s[%d][%d]: %.15g, by hand %.15g\n",
                e->tensor, e->row, e->col, e->expected, e->found);
    }
    if (published)
        fprintf(s->f, "    published: at most 2.2e-16 (Code Lab 01's own run, seed 0)\n");
}

static void show_scaling(const show *s, const vt_lab_report *r)
{
    char raw[BAR_BYTES], scaled[BAR_BYTES];
    title(s, "experiment 1: why divide by sqrt(d_head)?");
    fprintf(s->f, "unit-variance q and %d keys, %zu rows; +- is one standard error of this sample\n",
            VT_LAB_KEYS, r->scaling[0].rows);
    fprintf(s->f, "  d_head  std of scores   largest weight raw      and scaled\n");
    for (size_t i = 0; i < VT_LAB_SCALINGS; i++) {
        const vt_lab_scaling *x = &r->scaling[i];
        fprintf(s->f, "  %5d   %5.2f +- %.2f  %.3f +- %.3f %s%s%s %.3f +- %.3f %s%s%s\n", x->d_head,
                x->score_std.value, x->score_std.error, x->weight_raw.value, x->weight_raw.error,
                s->blue, bar(raw, s, x->weight_raw.value, 8), s->off, x->weight_scaled.value,
                x->weight_scaled.error, s->blue, bar(scaled, s, x->weight_scaled.value, 8), s->off);
        fprintf(s->f, "%s    published %4.1f          %.3f                  %.3f%s\n", s->dim,
                x->published_score_std, x->published_weight_raw, x->published_weight_scaled, s->off);
    }
    fprintf(s->f, "  (published: Code Lab 01's own run; the error of its sample is not given)\n");
    fprintf(s->f, "  what passes back: mean size of the softmax's Jacobian, |diag(p) - p p^T|\n");
    for (size_t i = 0; i < VT_LAB_SCALINGS; i++) {
        const vt_lab_scaling *x = &r->scaling[i];
        fprintf(s->f, "  %5d   raw %.3f +- %.3f %s%s%s  scaled %.3f +- %.3f %s%s%s\n", x->d_head,
                x->gradient_raw.value, x->gradient_raw.error, s->blue,
                bar(raw, s, x->gradient_raw.value / 0.4, 12), s->off, x->gradient_scaled.value,
                x->gradient_scaled.error, s->blue,
                bar(scaled, s, x->gradient_scaled.value / 0.4, 12), s->off);
    }
}

static void show_softs(const show *s, const vt_lab_report *r)
{
    char picture[BAR_BYTES];
    title(s, "experiment 2: softmax(logits / T) of the last token");
    fprintf(s->f, "  T     ");
    for (size_t i = 0; i < VT_LAB_SOFTS; i++) fprintf(s->f, "%-18g", r->softs[i].temperature);
    putc('\n', s->f);
    for (int v = 0; v < VT_LAB_V; v++) {
        fprintf(s->f, "  %4d  ", v);
        for (size_t i = 0; i < VT_LAB_SOFTS; i++)
            fprintf(s->f, "%.3f %s%s%s  ", r->softs[i].probs[v], s->blue,
                    bar(picture, s, r->softs[i].probs[v], 10), s->off);
        putc('\n', s->f);
    }
    fprintf(s->f, "  bits  ");
    for (size_t i = 0; i < VT_LAB_SOFTS; i++) fprintf(s->f, "%-18.4f", r->softs[i].entropy);
    fprintf(s->f, "\n  the entropy falls as T falls; computed, not sampled: no sampling error\n");
}

/* Without the blanks at the ends of lines that padding left. */
static void print_trimmed(FILE *f, const char *text)
{
    while (*text) {
        const size_t line = strcspn(text, "\n");
        size_t n = line;
        while (n > 0 && text[n - 1] == ' ') n--;
        fwrite(text, 1, n, f);
        text += line;
        if (*text) putc(*text++, f);
    }
}

vt_status lab_show(FILE *f, const vt_lab_report *r, const lab_torch *torch, bool utf8,
                   vt_error *err)
{
    char *text = NULL;
    size_t length = 0;
    const show s = {
        .f = open_memstream(&text, &length), .utf8 = utf8,
        .bold = cli_color(f, "\033[1m"), .dim = cli_color(f, "\033[2m"),
        .green = cli_color(f, "\033[32m"), .red = cli_color(f, "\033[31m"),
        .blue = cli_color(f, "\033[34m"), .off = cli_color(f, "\033[0m"),
    };
    if (!s.f) return fail(err, VT_TOO_LARGE, "out of memory for the report");
    show_setting(&s, r);
    show_attention(&s, r);
    show_targets(&s, r);
    show_gradients(&s, r);
    show_checks(&s, r);
    if (torch) show_torch(&s, torch, published_run(&r->options));
    show_scaling(&s, r);
    show_softs(&s, r);
    const bool whole = fclose(s.f) == 0;
    if (whole) print_trimmed(f, text);
    free(text);
    return whole ? cli_flush(err) : fail(err, VT_TOO_LARGE, "out of memory for the report");
}
