/* case_check.c -- how long a proof takes: `vitrine check` of the preset `default` along one
 * direction of each tensor, and of every entry of `tiny`, on one window of 16 tokens.
 *
 * Weights as initialised, tokens drawn.  Verified: each tensor passes, and all its entries
 * were compared where that is asked.  That a wrong gradient does not pass is for
 * tests/test_gradcheck.c to show.
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/rng.h"
#include "bench/cases.h"
#include "verify/model/gradcheck.h"

static const struct { gpt_config z; int B, T; bool every; } shapes[] = {
    { { .L = 4, .C = 128, .NH = 4, .FF = 512, .T = 128, .V = 1281, .tied = true }, 2, 8, false },
    { { .L = 2, .C = 32, .NH = 2, .FF = 128, .T = 32, .V = 757 }, 1, 16, true },
};
enum { MOST_TOKENS = 16 };

typedef struct check_state {
    gradcheck_case   c;
    vt_check_options o;
    vt_check_report  report;
    gpt_tensor      *tensors;
    float           *params;
    int              ids[2 * MOST_TOKENS];
} check_state;

static void state_free(void *state)
{
    check_state *o = state;
    if (!o) return;
    vt_check_free(&o->report);
    free(o->tensors);
    free(o->params);
    free(o);
}

static vt_status run(void *state, vt_error *err)
{
    check_state *o = state;
    vt_check_free(&o->report);
    return gradcheck_run(&o->report, &o->c, &o->o, NULL, NULL, err);
}

static vt_status verify(void *state, vt_bench_row *row, vt_error *err)
{
    check_state *o = state;
    const vt_status s = run(o, err);
    if (s) {
        if (s == VT_CHECK_FAILED && err) snprintf(row->note, sizeof row->note, "%.200s", err->text);
        return s;
    }
    bench_verified(row, false, "each tensor passes%s", o->o.every ? ", by every entry" : "");
    bool right = bench_meet(row, "tensors", 0, (double)o->c.ntensors, (double)o->report.nrows, 0);
    for (size_t i = 0; right && i < o->report.nrows; i++) {
        const vt_check_row *tensor = &o->report.rows[i];
        right = bench_meet(row, tensor->name, 0, 1, tensor->pass, 0) &&
                (!o->o.every || bench_meet(row, tensor->name, 0, (double)o->c.tensors[i].count,
                                           (double)tensor->compared, 0));
    }
    return right ? VT_OK : bench_wrong(row, err);
}

static vt_status make(bench_work *w, const bench_case *c, const bench_setting *s, vt_error *err)
{
    const gpt_config *z = &shapes[c->number].z;
    const size_t n = gpt_tensor_count(z);
    check_state *o = calloc(1, sizeof *o);
    rng r;
    if (!o) return fail_memory(err, sizeof *o, "a case");
    *w = (bench_work){ .state = o, .verify = verify, .run = run, .free = state_free, .per_call = 1,
                       .limit = BENCH_NO_LIMIT, .unit = "checks/s" };
    o->tensors = malloc(n * sizeof *o->tensors);
    o->params = bench_floats(gpt_parameter_count(z));
    if (!o->tensors || !o->params) return fail_memory(err, 4 * gpt_parameter_count(z), "parameters");
    gpt_tensor_list(z, o->tensors);
    gpt_initialise(o->params, z, o->tensors, n, GPT_INIT_GPT2, 42);
    rng_stream_seed(&r, 42, RNG_VERIFY, 97);
    for (int i = 0; i < 2 * MOST_TOKENS; i++) o->ids[i] = (int)rng_integers(&r, 0, z->V);
    vt_check_defaults(&o->o);
    o->o.every = shapes[c->number].every;
    o->o.directions = !o->o.every;
    o->o.batch = shapes[c->number].B;
    o->o.seq = shapes[c->number].T;
    o->o.differences = 0;
    o->c = (gradcheck_case){ .z = z, .tensors = o->tensors, .ntensors = n, .params = o->params,
        .tokens = o->ids, .targets = o->ids + MOST_TOKENS, .B = o->o.batch, .T = o->o.seq,
        .kernels = s->kernels, .threads = s->threads };
    return VT_OK;
}

#define CHECK(name, what, seconds, cost, i) \
    { "check-" name, "check", what, "checks/s", 0, seconds, false, cost, cost, make, i, true, \
      VT_BENCH_SECONDS }
const bench_case bench_checks[] = {
    CHECK("default", "the preset, a direction of each tensor, B 2, T 8", 2, 12, 0),
    CHECK("tiny-every", "the preset, every entry, B 1, T 16", 5, 25, 1),
    { .name = NULL },
};
