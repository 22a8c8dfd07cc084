/* lab_exports.c -- code lab 01 in the page: draws, pass, checks, the experiments of
 * the scaling and of the temperature.  See exports.h and lab/lab.h. */
#include "wasm/exports.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "lab/lab.h"

/* All numbers of a run, as doubles. */
typedef struct page_lab {
    lab_case c;
    lab_stages_f64 stages;
    lab_slopes_f64 slopes;
    double grad[LAB_ENTRIES];
    double loss;
} page_lab;

page_lab *page_lab_new(double seed, int heads, double temperature, int in_float);
void   page_lab_free(page_lab *p);
double page_lab_loss(const page_lab *p);
const int *page_lab_targets(const page_lab *p);
int    page_lab_tensor(const page_lab *p, size_t i, uint32_t out[8]);
vt_status page_lab_check(const page_lab *p, double central[5], double complex_[5]);
void   page_lab_verdict(const page_lab *p, double out[11]);
void   page_lab_soften(const page_lab *p, double temperature, double out[VT_LAB_V + 1]);
vt_status page_lab_scaling(int d_head, double seed, double out[11]);

static void widen(double *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) out[i] = (double)x[i];
}

static void pass_double(page_lab *p)
{
    const lab_case *c = &p->c;
    p->loss = lab_forward_f64(&p->stages, c->at, c->target, c->heads, c->temperature);
    lab_backward_slopes_f64(p->grad, &p->slopes, &p->stages, c->at, c->target, c->heads,
                            c->temperature);
}

/* In float, shown as doubles. */
static void pass_float(page_lab *p)
{
    const lab_case *c = &p->c;
    lab_stages_f32 s;
    lab_slopes_f32 d;
    float at[LAB_ENTRIES], grad[LAB_ENTRIES];
    const float temperature = (float)c->temperature;
    _Static_assert(sizeof s * 2 == sizeof p->stages && sizeof d * 2 == sizeof p->slopes,
                   "the same arrays, one behind the other");
    for (size_t i = 0; i < LAB_ENTRIES; i++) at[i] = (float)c->at[i];
    memset(&s, 0, sizeof s);                    /* of a single head, half is not written */
    p->loss = (double)lab_forward_f32(&s, at, c->target, c->heads, temperature);
    lab_backward_slopes_f32(grad, &d, &s, at, c->target, c->heads, temperature);
    widen((double *)&p->stages, (const float *)&s, sizeof s / sizeof(float));
    widen((double *)&p->slopes, (const float *)&d, sizeof d / sizeof(float));
    widen(p->grad, grad, LAB_ENTRIES);
}

/* NULL with a line. */
EXPORT(page_lab_new)
page_lab *page_lab_new(double seed, int heads, double temperature, int in_float)
{
    uint64_t number;
    vt_status s = page_seed(&number, seed);
    if (!s && heads != 1 && heads != 2)
        s = fail(&page_error_line, VT_USAGE, "%d heads: expected 1 or 2", heads);
    if (!s && !(temperature >= VT_LAB_COLDEST && temperature <= VT_LAB_HOTTEST))
        s = fail(&page_error_line, VT_USAGE, "temperature %g: expected a number from %g to %g", temperature,
                 VT_LAB_COLDEST, VT_LAB_HOTTEST);
    if (s) return NULL;
    page_lab *p = calloc(1, sizeof *p);
    if (!p) {
        (void)fail_memory(&page_error_line, sizeof *p, "the code lab");
        return NULL;
    }
    lab_draw(&p->c, number, heads, temperature);
    if (in_float) lab_in_float(&p->c);
    if (in_float) pass_float(p);
    else pass_double(p);
    return p;
}

EXPORT(page_lab_free) void page_lab_free(page_lab *p) { free(p); }
EXPORT(page_lab_loss) double page_lab_loss(const page_lab *p) { return p->loss; }
EXPORT(page_lab_targets) const int *page_lab_targets(const page_lab *p) { return p->c.target; }

/* Where each tensor lies in a page_lab, and its shape: letters of T, C, D, V, and H for
 * the heads of the run. */
static const struct { const char *name; unsigned at; const char *shape; } list[] = {
#define INPUT(name, entry, shape) { name, offsetof(page_lab, c.at) + (entry) * sizeof(double), shape }
#define STAGE(name, field, shape) { name, offsetof(page_lab, stages.field), shape }
#define SLOPE(name, shape) { #name, offsetof(page_lab, slopes.name), shape }
#define GRADIENT(name, entry, shape) { name, offsetof(page_lab, grad) + (entry) * sizeof(double), shape }
    INPUT("Wq", LAB_WQ, "CD"), INPUT("Wk", LAB_WK, "CD"), INPUT("Wv", LAB_WV, "CD"),
    INPUT("Wo", LAB_WO, "DV"), INPUT("X", LAB_X, "TC"),
    STAGE("Q", Q, "TD"), STAGE("K", K, "TD"), STAGE("V", V, "TD"),
    STAGE("scores", scores, "HTT"), STAGE("scaled", scaled, "HTT"),
    STAGE("masked", masked, "HTT"), STAGE("P", P, "HTT"), STAGE("O", O, "TD"),
    STAGE("logits", logits, "TV"), STAGE("losses", loss, "T"), STAGE("lse", lse, "T"),
    SLOPE(dlogits, "TV"), SLOPE(dO, "TD"), SLOPE(dP, "HTT"), SLOPE(dS, "HTT"),
    SLOPE(dQ, "TD"), SLOPE(dK, "TD"), SLOPE(dV, "TD"),
    GRADIENT("dWq", LAB_WQ, "CD"), GRADIENT("dWk", LAB_WK, "CD"), GRADIENT("dWv", LAB_WV, "CD"),
    GRADIENT("dWo", LAB_WO, "DV"), GRADIENT("dX", LAB_X, "TC"),
};

static uint32_t size_of(char letter, int heads)
{
    switch (letter) {
    case 'T': return VT_LAB_T;
    case 'C': return VT_LAB_C;
    case 'D': return VT_LAB_D;
    case 'V': return VT_LAB_V;
    default:  return (uint32_t)heads;
    }
}

/* Tensor i, as page_model_stage() answers; 0 beyond the last. */
EXPORT(page_lab_tensor) int page_lab_tensor(const page_lab *p, size_t i, uint32_t out[8])
{
    if (i >= sizeof list / sizeof *list) return 0;
    memset(out, 0, 8 * sizeof *out);
    out[0] = (uint32_t)(uintptr_t)list[i].name;
    out[1] = (uint32_t)(uintptr_t)p + list[i].at;
    out[6] = 1;
    for (const char *s = list[i].shape; *s; s++)
        out[6] *= out[3 + out[2]++] = size_of(*s, p->c.heads);
    return 1;
}

/* The largest |found - expected| / (|found| + |expected|), 0 where both are. */
static double worst(const double *found, const double *expected, size_t from, size_t to)
{
    double most = 0;
    for (size_t i = from; i < to; i++) {
        const double sum = fabs(found[i]) + fabs(expected[i]);
        const double share = sum == 0 ? 0 : fabs(found[i] - expected[i]) / sum;
        if (!(share <= most)) most = share;             /* a NaN shows */
    }
    return most;
}

/* Of each gradient by hand, Wq, Wk, Wv, Wo, X: the largest relative error against
 * central differences (in float where the run is) and against the complex step. */
EXPORT(page_lab_check) vt_status page_lab_check(const page_lab *p, double central[5], double complex_[5])
{
    static const size_t ends[] = { LAB_WQ, LAB_WK, LAB_WV, LAB_WO, LAB_X, LAB_ENTRIES };
    double *by = malloc(2 * LAB_ENTRIES * sizeof *by);
    if (!by) return fail_memory(&page_error_line, 2 * LAB_ENTRIES * sizeof *by, "derivatives");
    if (p->c.in_float) lab_differences_f32(by, &p->c, LAB_EPS);
    else lab_differences(by, &p->c, LAB_EPS);
    lab_complex_step(by + LAB_ENTRIES, &p->c);
    for (size_t k = 0; k < 5; k++) {
        central[k] = worst(p->grad, by, ends[k], ends[k + 1]);
        complex_[k] = worst(p->grad, by + LAB_ENTRIES, ends[k], ends[k + 1]);
    }
    free(by);
    return VT_OK;
}

/* What vt_lab() says of the gradient by hand: PASS and the share of the bound used, of
 * central differences and of the complex step; then of the differences all in float: PASS,
 * worst and mean relative error, entries within the bounds in double, entries where the
 * loss did not move, that loss, and the distance to the next float. */
EXPORT(page_lab_verdict) void page_lab_verdict(const page_lab *p, double out[11])
{
    vt_lab_check checks[VT_LAB_CHECKS];
    vt_lab_float_check f;
    lab_check(checks, &f, p->grad, &p->c);
    const double numbers[11] = { checks[0].pass, checks[0].budget_used,
                                 checks[1].pass, checks[1].budget_used,
                                 f.check.pass, f.check.worst, f.mean, (double)f.within,
                                 (double)f.zero, f.loss, f.spacing };
    memcpy(out, numbers, sizeof numbers);
}

/* softmax(logits / temperature) of the last position, and its entropy in bits. */
EXPORT(page_lab_soften)
void page_lab_soften(const page_lab *p, double temperature, double out[VT_LAB_V + 1])
{
    vt_lab_soft x = { .temperature = temperature };
    lab_soften(&x, p->stages.logits + (VT_LAB_T - 1) * VT_LAB_V);
    memcpy(out, x.probs, sizeof x.probs);
    out[VT_LAB_V] = x.entropy;
}

/* The scores' standard deviation, mean largest weight, raw and scaled, mean gradient, raw
 * and scaled, each with its error; rows drawn. */
EXPORT(page_lab_scaling) vt_status page_lab_scaling(int d_head, double seed, double out[11])
{
    vt_lab_scaling x = { .d_head = d_head };
    uint64_t number;
    vt_status s = page_seed(&number, seed);
    if (!s && (d_head < 1 || d_head > 4096))
        s = fail(&page_error_line, VT_USAGE, "d_head %d: expected 1 to 4096", d_head);
    if (!s) s = lab_scaling(&x, number, &page_error_line);
    if (s) return s;
    /* Five measures, one behind the other. */
    _Static_assert(offsetof(vt_lab_scaling, gradient_scaled) - offsetof(vt_lab_scaling, score_std)
                   == 4 * sizeof(vt_lab_measure), "no gap between them");
    memcpy(out, &x.score_std, 5 * sizeof x.score_std);
    out[10] = (double)x.rows;
    return VT_OK;
}
