/* lab_api.c -- vt_lab: the code lab's numbers, checks and experiments in one
 * report. */
#include <math.h>
#include <string.h>
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
    *o = (vt_lab_options){ .seed = 0, .heads = 1, .temperature = 1 };
}

static vt_status check_options(const vt_lab_options *o, vt_error *err)
{
    if (o->heads != 1 && o->heads != 2)
        return fail(err, VT_USAGE, "--heads %d: expected 1 or 2", o->heads);
    if (!(o->temperature >= VT_LAB_COLDEST && o->temperature <= VT_LAB_HOTTEST))
        return fail(err, VT_USAGE, "--temperature %g: expected a number from %g to %g",
                    o->temperature, VT_LAB_COLDEST, VT_LAB_HOTTEST);
    return VT_OK;
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

vt_status vt_lab(const vt_lab_options *o, vt_lab_report *out, vt_error *err)
{
    lab_case c;
    lab_stages_f64 s;
    double grad[LAB_ENTRIES];
    _Static_assert(sizeof out->inputs == sizeof c.at, "tensors lie one behind the other");
    memset(out, 0, sizeof *out);
    vt_status status = check_options(o, err);
    if (status) return status;
    lab_draw(&c, o->seed, o->heads, o->temperature);
    out->options = *o;
    out->uniform = log(VT_LAB_V);
    out->loss = lab_forward_f64(&s, c.at, c.target, c.heads, c.temperature);
    lab_backward_f64(grad, &s, c.at, c.target, c.heads, c.temperature);
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
    for (size_t i = 0; i < VT_LAB_CHECKS; i++) {
        const vt_lab_check *check = &out->checks[i];
        const vt_lab_entry *e = &check->budget_at;
        if (check->pass) continue;
        return fail(err, VT_CHECK_FAILED, "%s: d%s[%d][%d]: expected %.17g, found %.17g",
                    check->name, e->tensor, e->row, e->col, e->expected, e->found);
    }
    return VT_OK;
}
