/* specimen_crossentropy.c -- the loss of rows of logits at a temperature, with targets
 * that are ignored.
 *
 *     loss = log sum exp(z) - z[target],  z = logits / temperature
 *     dlogits += dloss (softmax(z) - onehot) / temperature
 *
 * The row's log-sum-exp goes from forward to backward through `save`.
 */
#include "verify/selftest/specimens/real.h"

static void forward(const vt_kernel_call *c, int fault)
{
    const real temperature = (real)c->temperature;
    const int32_t *target = c->in[VT_CROSSENTROPY_TARGET];
    real *loss = c->out[0], *lse = c->save;
    for (size_t n = 0; n < c->N; n++) {
        const real *l = (const real *)c->in[VT_CROSSENTROPY_LOGITS] + n * c->V;
        real max = l[0], sum = 0;
        for (size_t v = 0; v < c->V; v++) max = l[v] > max ? l[v] : max;
        if (fault == BUG_ce_no_max) max = 0;
        for (size_t v = 0; v < c->V; v++) sum += exp((l[v] - max) / temperature);
        lse[n] = max / temperature + log(sum);
        loss[n] = target[n] < 0 ? 0 : (max - l[target[n]]) / temperature + log(sum);
    }
}

int SPECIMEN(crossentropy_rows)(const vt_kernel_call *c, int fault)
{
    if (c->pass == VT_KERNEL_FORWARD) { forward(c, fault); return 0; }
    const real temperature = (real)c->temperature;
    const int32_t *target = c->in[VT_CROSSENTROPY_TARGET];
    const real *dloss = c->dout[0], *lse = c->save;
    for (size_t n = 0; n < c->N; n++) {
        const real *l = (const real *)c->in[VT_CROSSENTROPY_LOGITS] + n * c->V;
        real *dl = (real *)c->din[VT_CROSSENTROPY_LOGITS] + n * c->V;
        const int32_t y = target[fault == BUG_ce_target_shifted && n ? n - 1 : n];
        if (target[n] < 0 && fault != BUG_ce_ignored) continue;
        real g = fault == BUG_ce_upstream_one ? 1 : dloss[n];
        if (fault == BUG_ce_temperature_squared) g /= temperature * temperature;
        else if (fault != BUG_ce_no_temperature) g /= temperature;
        if (fault == BUG_ce_mean) g /= (real)c->N;
        for (size_t v = 0; v < c->V; v++) {
            real d = exp(l[v] / temperature - lse[n]);
            if (fault == BUG_ce_rounded) d = coarse(d);
            if (y >= 0 && v == (size_t)y && fault != BUG_ce_no_onehot) d -= 1;
            dl[v] += fault == BUG_ce_sign ? -g * d : g * d;
        }
    }
    return 0;
}
