/* lab_api.c -- vt_lab: the code lab's numbers, checks and experiments in one
 * report. */
#include <math.h>
#include <string.h>
#include "base/elementary.h"
#include "base/status.h"
#include "lab/lab.h"

/* Of the published run, seed 0. */
static const struct { int d_head; double score_std, weight_raw, weight_scaled; } published[] = {
    { 16, 3.9, 0.712, 0.256 }, { 64, 7.8, 0.859, 0.253 },
    { 256, 15.3, 0.919, 0.245 }, { 1024, 31.2, 0.962, 0.256 },
};
static const double temperatures[VT_LAB_SOFTS] = { 0.25, 0.7, 1.0, 1.5 };

void vt_lab_defaults(vt_lab_options *o)
{
    *o = (vt_lab_options){ .seed = 0, .heads = 1, .temperature = 1,
                            .dtype = "float64" };
}

static vt_status check_options(const vt_lab_options *o, vt_error *err)
{
    if (o->heads != 1 && o->heads != 2)
        return fail(err, VT_USAGE, "--heads %d: expected 1 or 2", o->heads);
    if (!(o->temperature >= VT_LAB_COLDEST && o->temperature <= VT_LAB_HOTTEST))
        return fail(err, VT_USAGE, "--temperature %g: expected a number from %g to %g",
                    o->temperature, VT_LAB_COLDEST, VT_LAB_HOTTEST);
    if (o->dtype && strcmp(o->dtype, "float64") != 0 && strcmp(o->dtype, "float32") != 0)
        return fail(err, VT_USAGE, "--dtype %.40s: expected float64 or float32", o->dtype);
    return VT_OK;
}

static void draw(lab_case *c, const vt_lab_options *o)
{
    lab_draw(c, o->seed, o->heads, o->temperature);
    if (o->dtype && strcmp(o->dtype, "float32") == 0) lab_in_float(c);
}

static vt_status experiments(vt_lab_report *out, uint64_t seed, vt_error *err)
{
    for (size_t i = 0; i < VT_LAB_SCALINGS; i++) {
        vt_lab_scaling *s = &out->scaling[i];
        s->d_head = published[i].d_head;
        s->published_score_std = published[i].score_std;
        s->published_weight_raw = published[i].weight_raw;
        s->published_weight_scaled = published[i].weight_scaled;
        const vt_status status = lab_scaling(s, seed, err);
        if (status) return status;
    }
    for (size_t i = 0; i < VT_LAB_SOFTS; i++) {
        out->softs[i].temperature = temperatures[i];
        lab_soften(&out->softs[i], out->logits[VT_LAB_T - 1]);
    }
    return VT_OK;
}

static void widen(double *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) out[i] = (double)x[i];
}

/* The pass in the case's precision; its numbers as doubles. */
static double pass(lab_stages_f64 *s, double *grad, const lab_case *c)
{
    if (!c->in_float) {
        const double loss = lab_forward_f64(s, c->at, c->target, c->heads, c->temperature);
        lab_backward_f64(grad, s, c->at, c->target, c->heads, c->temperature);
        return loss;
    }
    lab_stages_f32 s32;
    float at[LAB_ENTRIES], grad32[LAB_ENTRIES];
    const float temperature = (float)c->temperature;
    _Static_assert(sizeof s32 * 2 == sizeof *s, "the same arrays, one behind the other");
    for (size_t i = 0; i < LAB_ENTRIES; i++) at[i] = (float)c->at[i];
    memset(&s32, 0, sizeof s32);                /* of a single head, half is not written */
    const float loss = lab_forward_f32(&s32, at, c->target, c->heads, temperature);
    lab_backward_f32(grad32, &s32, at, c->target, c->heads, temperature);
    widen((double *)s, (const float *)&s32, sizeof s32 / sizeof(float));
    widen(grad, grad32, LAB_ENTRIES);
    return (double)loss;
}

static vt_status failed(const vt_lab_check *check, vt_error *err)
{
    const vt_lab_entry *e = &check->budget_at;
    return fail(err, VT_CHECK_FAILED, "%s: d%s[%d][%d]: expected %.17g, found %.17g", check->name,
                e->tensor, e->row, e->col, e->expected, e->found);
}

vt_status vt_lab(const vt_lab_options *o, vt_lab_report *out, vt_error *err)
{
    lab_case c;
    lab_stages_f64 s;
    double grad[LAB_ENTRIES];
    _Static_assert(sizeof out->inputs == sizeof c.at, "tensors lie one behind the other");
    memset(out, 0, sizeof *out);
    vt_status status = check_options(o, err);
    if (status) return status;
    draw(&c, o);
    out->options = *o;
    out->options.dtype = c.in_float ? "float32" : "float64";
    out->options.temperature = c.temperature;
    out->uniform = log_f64(VT_LAB_V);
    out->loss = pass(&s, grad, &c);
    memcpy(out->targets, c.target, sizeof out->targets);
    memcpy(&out->inputs, c.at, sizeof out->inputs);
    memcpy(&out->gradients, grad, sizeof out->gradients);
    memcpy(out->Q, s.Q, sizeof out->Q);
    memcpy(out->K, s.K, sizeof out->K);
    memcpy(out->V, s.V, sizeof out->V);
    const size_t cells = (size_t)o->heads * VT_LAB_T * VT_LAB_T;    /* of a single head, half */
    memcpy(out->S, s.masked, cells * sizeof(double));
    memcpy(out->P, s.P, cells * sizeof(double));
    memcpy(out->O, s.O, sizeof out->O);
    memcpy(out->logits, s.logits, sizeof out->logits);
    lab_check(out->checks, &out->in_float, grad, &c);
    if ((status = experiments(out, o->seed, err))) return status;
    if (!out->checks[1].pass) return failed(&out->checks[1], err);
    if (!out->checks[0].pass && c.in_float)
        return fail(err, VT_CHECK_FAILED, "central differences in float32 tell nothing: the "
                    "rounding of the loss alone may move one by %.2g (float64: %.1g); use "
                    "--dtype float64", lab_loss_rounding(&c),
                    lab_loss_rounding(&c) / lab_unit(&c) * 0x1p-53);
    return out->checks[0].pass ? VT_OK : failed(&out->checks[0], err);
}

vt_status vt_lab_compare(vt_lab_comparison *out, const vt_lab_report *r, const char *name,
                         double loss, const vt_lab_tensors *gradients, vt_error *err)
{
    lab_case c = { .heads = r->options.heads, .temperature = r->options.temperature,
                   .in_float = strcmp(r->options.dtype, "float32") == 0 };
    double expected[LAB_ENTRIES], found[LAB_ENTRIES], exact[LAB_ENTRIES], bound[LAB_ENTRIES];
    static const size_t ends[] = { LAB_WQ, LAB_WK, LAB_WV, LAB_WO, LAB_X, LAB_ENTRIES };
    memcpy(c.at, &r->inputs, sizeof c.at);
    memcpy(c.target, r->targets, sizeof c.target);
    memcpy(expected, gradients, sizeof expected);
    memcpy(found, &r->gradients, sizeof found);
    lab_complex_step(exact, &c);
    lab_complex_bound(bound, exact, &c);
    *out = (vt_lab_comparison){ .loss = loss, .loss_difference = fabs(r->loss - loss),
                                .loss_bound = lab_loss_rounding(&c) * LAB_EPS,
                                .check = { .name = name } };
    lab_judge(&out->check, found, expected, bound);
    for (size_t k = 0; k < VT_LAB_TENSORS; k++)
        for (size_t i = ends[k]; i < ends[k + 1] && !isnan(out->difference[k]); i++)
            if (!(fabs(found[i] - expected[i]) <= out->difference[k]))
                out->difference[k] = fabs(found[i] - expected[i]);
    if (!out->check.pass) return failed(&out->check, err);
    if (!(out->loss_difference <= out->loss_bound))
        return fail(err, VT_CHECK_FAILED, "%s: loss: expected %.17g, found %.17g", name, loss,
                    r->loss);
    return VT_OK;
}

vt_status vt_lab_dump(const vt_lab_options *o, const char *path, vt_error *err)
{
    lab_case c;
    const vt_status status = check_options(o, err);
    if (status) return status;
    draw(&c, o);
    return lab_dump(&c, path, err);
}
