/* self_test.c -- see self_test.h. */
#include "verify/selftest/self_test.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/rng.h"
#include "base/threads.h"
#include "verify/op/kernel_check.h"
#include "verify/op/op_judge.h"
#include "verify/selftest/specimens.h"

enum { BATCH = 32, SHARE = 10, RIGHT = 9 };     /* kinds: 9 of 10 right */

/* One task: a specimen in a precision; or a correct case. */
typedef struct task {
    const specimen *specimen;
    precision p;
    uint64_t  seed, number;
    bool      correct;
    vt_self_row row;
    char      alarm[700];           /* of a correct one that failed */
    double    worst;
    vt_status status;
    vt_error  err;
} task;

/* ---- faults ------------------------------------------------------------------- */

static void find_fault(task *t)
{
    const specimen *s = t->specimen;
    op_local local = { .run = s->run, .fault = s->fault };
    const op_kernel k = op_kernel_local(&local);
    const kernel_check_options o = {
        .op = graph_op_of(s->op), .f32 = t->p == PRECISION_F32, .f64 = t->p == PRECISION_F64,
        .seed = t->seed, .name = s->name, .quick = true, .first = true,
    };
    vt_op_report r = { .cases = NULL };
    const vt_status status = kernel_check(&r, &k, &o, NULL, NULL, &t->err);
    const vt_op_case *c = r.ncases ? &r.cases[r.ncases - 1] : NULL;
    t->status = status == VT_CHECK_FAILED ? VT_OK : status;
    t->row.found = status == VT_CHECK_FAILED && c && !c->pass;
    if (t->row.found) {
        const vt_op_row *row = op_judge_first(c);
        snprintf(t->row.named, sizeof t->row.named, "%s", c->diagnosis.kind);
        snprintf(t->row.first, sizeof t->row.first, "%.111s",
                 c->finding[0] ? c->finding : !row ? "" : row->index[0] ? row->index : row->name);
        t->row.right = strcmp(t->row.named, t->row.expected) == 0;
    }
    vt_op_report_free(&r);
    op_local_free(&local);
}

/* ---- correct kernels ------------------------------------------------------------ */

static int draw_size(rng *r, int most) { return (int)rng_integers(r, 1, most + 1); }

static void draw_sizes(graph_sizes *z, rng *r, int op)
{
    const bool large = op == VT_OP_BLOCK || op == VT_OP_GPT;
    const int most = large ? 6 : 17, heads = large ? 3 : 4;
    *z = (graph_sizes){
        .op = op, .N = draw_size(r, 17), .C = draw_size(r, 17), .OC = draw_size(r, 17),
        .V = draw_size(r, 17), .B = draw_size(r, 3), .T = draw_size(r, most),
        .S = draw_size(r, most), .NH = draw_size(r, heads), .HS = draw_size(r, large ? 4 : 17),
        .FF = draw_size(r, 9), .L = draw_size(r, 2), .temperature = 1,
    };
    if (rng_integers(r, 0, 4) == 0) z->T = 1;
    z->causal = rng_u64(r) >> 63;
    z->masked = rng_u64(r) >> 63;
    if (rng_u64(r) >> 63) z->temperature = rng_uniform(r, 0.25, 3);
    if ((z->causal && !z->masked) || op == VT_OP_GPT) z->S += z->T - 1;     /* S >= T */
}

static void run_correct(task *t)
{
    const specimen *s = t->specimen;
    op_local local = { .run = s->run, .fault = s->fault };
    const op_kernel k = op_kernel_local(&local);
    vt_op_case c = { .rows = NULL };
    graph_sizes z;
    rng r;
    rng_stream_seed(&r, t->seed, RNG_VERIFY, 5000 + t->number);
    draw_sizes(&z, &r, graph_op_of(s->op));
    const double scale = pow(10, rng_uniform(&r, -4, 4));
    t->status = kernel_check_one(&c, &k, &z, t->p, scale, rng_u64(&r), true, &t->err);
    t->worst = c.worst;
    if (t->status == VT_OK && !c.pass) {
        const vt_op_row *row = op_judge_first(&c);
        snprintf(t->alarm, sizeof t->alarm, "case %llu: %s (%s; %s; scale %.3g): %.100s %s %s",
                 (unsigned long long)t->number, s->name, c.sizes, c.precision, scale,
                 c.finding[0] ? c.finding : row ? row->name : "nothing was compared",
                 row ? row->index : "", row ? row->note : "");
    }
    free(c.rows);
    op_local_free(&local);
}

static void run_task(void *context, size_t i, int worker)
{
    task *t = (task *)context + i;
    (void)worker;
    if (t->correct) run_correct(t);
    else find_fault(t);
}

/* ---- both ------------------------------------------------------------------------ */

static size_t count_faults(const specimen *table, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        if (table[i].fault) sum += (table[i].dtypes & VT_KERNEL_F64 ? 1u : 0u) +
                                   (table[i].dtypes & VT_KERNEL_F32 ? 1u : 0u);
    return sum;
}

static task fault_task(const specimen *s, precision p, uint64_t seed)
{
    task t = { .specimen = s, .p = p, .seed = seed };
    snprintf(t.row.name, sizeof t.row.name, "%s", s->name);
    snprintf(t.row.op, sizeof t.row.op, "%s", s->op);
    snprintf(t.row.precision, sizeof t.row.precision, "%s", precision_name(p));
    snprintf(t.row.what, sizeof t.row.what, "%s", s->what);
    snprintf(t.row.expected, sizeof t.row.expected, "%s", s->kind);
    return t;
}

/* Fills tasks: faults, then correct cases, each specimen and precision in turn. */
static void make_tasks(task *tasks, const specimen *table, size_t n, size_t correct, uint64_t seed)
{
    size_t made = 0, number = 0;
    for (size_t i = 0; i < n; i++)
        for (int p = PRECISION_F64; p <= PRECISION_F32; p++) {
            const int dtype = p == PRECISION_F64 ? VT_KERNEL_F64 : VT_KERNEL_F32;
            if (table[i].fault && table[i].dtypes & dtype)
                tasks[made++] = fault_task(&table[i], (precision)p, seed);
        }
    while (number < correct)
        for (size_t i = 0; i < n && number < correct; i++)
            for (int p = PRECISION_F64; p <= PRECISION_F32 && number < correct; p++) {
                if (table[i].fault) continue;
                tasks[made++] = (task){ .specimen = &table[i], .p = (precision)p, .seed = seed,
                                        .number = number, .correct = true };
                number++;
            }
}

static vt_status sum_up(vt_self_report *r, const task *tasks, size_t n, vt_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const task *t = &tasks[i];
        if (t->status) {
            *err = t->err;
            return t->status;
        }
        if (!t->correct) {
            r->rows[r->faults++] = t->row;
            r->found += t->row.found;
            r->right += t->row.right;
            continue;
        }
        r->correct++;
        if (!(t->worst <= r->worst)) r->worst = t->worst;
        if (!t->alarm[0]) continue;
        if (!r->alarms++) memcpy(r->alarm, t->alarm, sizeof r->alarm);
    }
    r->pass = r->faults > 0 && r->correct > 0 && r->found == r->faults && r->alarms == 0 && SHARE * r->right >= RIGHT * r->faults;
    if (r->pass) return VT_OK;
    return fail(err, VT_CHECK_FAILED, "self-test: found %zu of %zu faults, named %zu rightly, %zu "
                "false alarms in %zu correct cases%s%s", r->found, r->faults, r->right, r->alarms,
                r->correct, r->alarms ? ": " : "", r->alarm);
}

vt_status self_test(vt_self_report *r, size_t correct, uint64_t seed, int threads,
                    vt_check_progress *progress, void *context, vt_error *err)
{
    size_t n, bytes;
    const specimen *table = specimen_table(&n);
    const size_t faults = count_faults(table, n);
    team *workers = NULL;
    task *tasks = NULL;
    *r = (vt_self_report){ .seed = seed };
    if (!size_add(faults, correct, &n) || !size_mul(n, sizeof *tasks, &bytes))
        return fail(err, VT_TOO_LARGE, "self-test: %zu correct cases: too many", correct);
    tasks = calloc(n + 1, sizeof *tasks);
    r->rows = calloc(faults + 1, sizeof *r->rows);
    vt_status s = tasks && r->rows ? team_new(&workers, threads ? threads : cpu_count(), 0, 0, err)
                                   : fail_memory(err, bytes, "the self-test");
    if (s) goto done;
    size_t ntable;
    table = specimen_table(&ntable);
    make_tasks(tasks, table, ntable, correct, seed);
    for (size_t i = 0; i < n; i += BATCH) {
        if (progress && progress(context, i, n)) {
            s = fail(err, VT_INTERRUPTED, "stopped");
            goto done;
        }
        team_run(workers, n - i < BATCH ? n - i : BATCH, run_task, tasks + i);
    }
    s = sum_up(r, tasks, n, err);
done:
    team_free(workers);
    free(tasks);
    return s;
}
