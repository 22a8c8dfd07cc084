/* check_api.c -- vt_check: which window of which model is checked. */
#include <stdlib.h>
#include "api/model.h"
#include "base/rng.h"
#include "verify/op/case_file.h"
#include "vitrine.h"

void vt_check_defaults(vt_check_options *o)
{
    *o = (vt_check_options){ .entries = 64, .seed = 42, .differences = -1 };
}

void vt_check_free(vt_check_report *report)
{
    if (!report) return;
    free(report->rows);
    free(report->layers);
    free(report->exact);
    *report = (vt_check_report){ .rows = NULL };
}

/* 0 asks for 2 x 8, or less where the model or its window is smaller. */
static void fill_in(const vt_model *m, vt_check_options *o)
{
    const size_t most = m->c.nwindow > 1 ? m->c.nwindow - 1 : 1;
    if (o->seq == 0) {
        o->seq = m->seq < 8 ? m->seq : 8;
        if (m->c.nwindow > 0 && (size_t)o->seq > most) o->seq = (int)most;
    }
    if (o->differences < 0)     /* one derivative by differences runs the model 16 times */
        o->differences = gpt_parameter_count(&m->c.z) > 250000 ? 1 : 4;
    if (o->batch == 0)
        o->batch = m->c.nwindow > 0 && 2 * (size_t)o->seq > most ? 1 : 2;
}

enum { MOST_ROWS = 1 << 20 };           /* it runs a model once an entry */

static vt_status check_options(const vt_model *m, const vt_check_options *o, vt_error *err)
{
    if (o->entries < 1)
        return fail(err, VT_USAGE, "--entries %d: expected at least 1", o->entries);
    if (o->batch < 1 || o->batch > 1 << 16)
        return fail(err, VT_USAGE, "--batch %d: expected 1 to %d", o->batch, 1 << 16);
    if (o->seq < 1 || o->seq > m->c.z.T)
        return fail(err, VT_USAGE, "--seq %d: expected 1 to %d, the positions of the model",
                    o->seq, m->c.z.T);
    if (o->batch > MOST_ROWS / o->seq)
        return fail(err, VT_USAGE, "--batch %d --seq %d: expected at most %d tokens in all",
                    o->batch, o->seq, MOST_ROWS);
    return VT_OK;
}

/* B windows of T tokens, one behind the other, from the first validation tokens
 * that the checkpoint keeps; a foreign checkpoint has none: then random ids. */
static vt_status window(const vt_model *m, int *tokens, int *targets, int B, int T, uint64_t seed,
                        vt_error *err)
{
    const size_t n = (size_t)B * (size_t)T;
    const bool kept = m->c.nwindow > 0;
    rng r;
    if (kept && m->c.nwindow <= n)
        return fail(err, VT_USAGE, "--batch %d --seq %d: need %zu tokens, but the checkpoint keeps "
                    "%zu of its validation part", B, T, n + 1, m->c.nwindow);
    rng_stream_seed(&r, seed, RNG_VERIFY, 3);
    for (size_t i = 0; i < n; i++) {
        tokens[i] = kept ? m->c.window[i] : (int)rng_integers(&r, 0, m->c.z.V);
        targets[i] = kept ? m->c.window[i + 1] : (int)rng_integers(&r, 0, m->c.z.V);
    }
    return VT_OK;
}

/* The case that the options ask for, those filled in; `ids` (free it) has its tokens and
 * targets. */
static vt_status make_case(gradcheck_case *c, int **ids, const vt_model *m, vt_check_options *o,
                           vt_error *err)
{
    fill_in(m, o);
    *ids = NULL;
    vt_status s = check_options(m, o, err);
    if (s) return s;
    const size_t n = (size_t)o->batch * (size_t)o->seq;
    *ids = malloc(2 * n * sizeof **ids);
    if (!*ids) return fail_memory(err, 2 * n * sizeof **ids, "the window");
    *c = (gradcheck_case){
        .z = &m->c.z, .tensors = m->c.tensors, .ntensors = m->c.ntensors,
        .params = m->c.params, .tokens = *ids, .targets = *ids + n, .B = o->batch,
        .T = o->seq, .kernels = m->kernels, .threads = m->threads,
    };
    return window(m, *ids, *ids + n, o->batch, o->seq, o->seed, err);
}

vt_status vt_check(vt_model *m, const vt_check_options *asked, vt_check_progress *progress,
                   void *context, vt_check_report *report, vt_error *err)
{
    vt_check_options o = *asked;
    gradcheck_case c;
    int *ids;
    *report = (vt_check_report){ .rows = NULL };
    vt_status s = make_case(&c, &ids, m, &o, err);
    if (s == VT_OK) s = gradcheck_run(report, &c, &o, progress, context, err);
    free(ids);
    return s;
}

vt_status vt_check_write(vt_model *m, const vt_check_options *asked, const char *path,
                         vt_error *err)
{
    vt_check_options o = *asked;
    gradcheck_case c;
    gradcheck_grads g;
    int *ids;
    vt_status s = make_case(&c, &ids, m, &o, err);
    if (s == VT_OK) s = gradcheck_compute(&g, &c, o.seed, err);
    if (s == VT_OK) {
        s = case_file_model(&c, &g, path, err);
        gradcheck_free(&g);
    }
    free(ids);
    return s;
}
