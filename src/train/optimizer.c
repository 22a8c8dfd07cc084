/* optimizer.c -- see optimizer.h.
 *
 *   norm  = sqrt(sum of squares over all tensors), in double        (opt.norm)
 *   g'    = g min(1, clip / norm)                                   (opt.clip)
 *   w, m, v by AdamW (kernels/adamw.c); vectors have no decay      (opt.decay)
 *
 * Squares of floats are summed in double and cannot overflow there; so an
 * infinite or undefined sum means an infinite or undefined gradient.  It is looked at
 * before anything is written.
 *
 * Two passes over memory, each one launch over all tensors: the factor of the clipping
 * is known only when the whole gradient has been read.
 */
#include "train/optimizer.h"
#include <limits.h>
#include <math.h>
#include <string.h>
#include "base/io.h"
#define VT_SCALAR 64
#include "kernels/definitions.h"

/* A second moment is a float: beyond this, Inf would stay in it for ever. */
static const double LARGEST_NORM = 1.8e19;

size_t optimizer_spans(adamw_span *out, const gpt_tensor *tensors, size_t ntensors, double decay)
{
    size_t n = 0;
    for (size_t i = 0; i < ntensors; i++) {
        if (i > 0 && tensors[i].decay == tensors[i - 1].decay) continue;
        out[n++] = (adamw_span){ tensors[i].offset, tensors[i].decay ? (float)decay : 0 };
    }
    return n;
}

/* The first tensor whose sum of squares is not finite, where that of all is not. */
static const char *not_finite(const optimizer *o)
{
    const gpt_tensor *p = o->tensors;
    while (isfinite(o->kernels->sum_squares(o->crew, o->g + p->offset, p->count))) p++;
    return p->name;
}

vt_status optimizer_step(const optimizer *o, long long t, double lr, double *norm,
                         vt_error *err)
{
    const gpt_tensor *last = &o->tensors[o->ntensors - 1];
    const size_t count = last->offset + last->count;
    const double sum = o->kernels->sum_squares(o->crew, o->g, count);
    if (!isfinite(sum))
        return fail(err, VT_NAN, "step %lld: the gradient of %s has NaN or Inf; "
                    "the step was not taken", t, not_finite(o));
    *norm = sqrt(sum);                                                  /* opt.norm */
    const double factor = o->clip > 0 ? ref_clip_factor_f64(sum, o->clip) : 1; /* opt.clip */
    if (*norm * factor > LARGEST_NORM)
        return fail(err, VT_NAN, "step %lld: the gradient's norm is %g, its square is beyond a "
                    "float: expected a smaller --lr, or --clip; the step was not taken", t, *norm);
    /* beyond 2^31 steps the bias corrections have long been 1 */
    const int step = t < INT_MAX ? (int)t : INT_MAX;
    o->kernels->adamw_spans(o->crew, o->w, o->m, o->v, o->g, count, o->spans, o->nspans,
                            !o->keep, (float)factor, (float)lr, (float)o->beta1,
                            (float)o->beta2, (float)o->eps, step);      /* opt.decay */
    return VT_OK;
}

/* "h.3.qkvw" -> "qkvw" */
static const char *short_name(const gpt_tensor *t)
{
    const char *dot = strrchr(t->name, '.');
    return dot ? dot + 1 : t->name;
}

static vt_status group_line(const optimizer *o, bool decay, bytes *out)
{
    size_t tensors = 0, parameters = 0;
    vt_status status = decay ? bytes_printf(out, NULL, "decay %g:", o->decay)
                             : bytes_printf(out, NULL, "no decay:");
    for (size_t i = 0; i < o->ntensors && status == VT_OK; i++) {
        const gpt_tensor *t = &o->tensors[i];
        if (t->decay != decay) continue;
        tensors++;
        parameters += t->count;
        if (t->layer <= 0)              /* a layer's name once */
            status = bytes_printf(out, NULL, " %s%s", t->layer == 0 ? "h.*." : "",
                                  short_name(t));
    }
    return status ? status : bytes_printf(out, NULL, " (%zu tensors, %zu parameters)%s",
                                          tensors, parameters, decay ? "\n" : "");
}

char *optimizer_groups(const optimizer *o)
{
    bytes out = { 0 };
    if (group_line(o, true, &out) || group_line(o, false, &out) ||
        bytes_append(&out, "", 1, NULL)) {
        bytes_free(&out);
        return NULL;
    }
    return (char *)out.data;
}
