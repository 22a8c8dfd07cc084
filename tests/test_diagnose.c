/* test_diagnose.c -- the diagnosis names the fault that was planted. */
#include "support.h"
#include "verify/diagnose.h"
#include "verify/specimens.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a kernel is run in process ------------------------------------------------------ */

enum { TENSORS = 128 };

static void fill_call(vt_kernel_call *call, const op_case *c, int pass)
{
    const graph_sizes *z = &c->z;
    *call = (vt_kernel_call){
        .abi = VT_KERNEL_ABI, .bytes = sizeof *call, .op = z->op, .pass = pass,
        .dtype = c->p == PRECISION_F64 ? VT_KERNEL_F64 : VT_KERNEL_F32, .causal = z->causal,
        .temperature = z->temperature, .N = (size_t)z->N, .C = (size_t)z->C, .OC = (size_t)z->OC,
        .V = (size_t)z->V, .B = (size_t)z->B, .T = (size_t)z->T, .S = (size_t)z->S,
        .NH = (size_t)z->NH, .HS = (size_t)z->HS, .FF = (size_t)z->FF, .L = (size_t)z->L,
    };
}

static void *to_kernel(const op_case *c, const double *from, size_t n)
{
    const bool wide = c->p == PRECISION_F64;
    void *p = calloc(n + 1, wide ? sizeof(double) : sizeof(float));
    assert_non_null(p);
    for (size_t i = 0; i < n && from; i++) {
        if (wide) ((double *)p)[i] = from[i];
        else ((float *)p)[i] = (float)from[i];
    }
    return p;
}

static void from_kernel(const op_case *c, double *to, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = c->p == PRECISION_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

static op_found found_new(const op_case *c)
{
    const size_t n = c->g.reals + 1, t = (size_t)c->g.ntensors;
    op_found f = { calloc(n, sizeof(double)), calloc(n, sizeof(double)), calloc(t, sizeof(bool)),
                   calloc(t, sizeof(bool)) };
    assert_true(f.x && f.dx && f.has_x && f.has_dx);
    return f;
}

static void found_free(op_found *f)
{
    free(f->x);
    free(f->dx);
    free(f->has_x);
    free(f->has_dx);
}

/* The kernel's input: reals in its precision, integers as int32, masks as bytes. */
static void *input_of(const op_case *c, const graph_tensor *t)
{
    if (t->role < GRAPH_INTEGERS) return to_kernel(c, c->x + t->at, t->count);
    if (t->role == GRAPH_MASK) {
        unsigned char *m = malloc(t->count);
        assert_non_null(m);
        for (size_t i = 0; i < t->count; i++) m[i] = (unsigned char)op_case_mask(c, i);
        return m;
    }
    int32_t *ids = malloc(t->count * sizeof *ids);
    assert_non_null(ids);
    for (size_t i = 0; i < t->count; i++) ids[i] = c->ints[t->at + i];
    return ids;
}

/* false: the kernel does not do that. */
static bool run_kernel(op_found *f, const op_case *c, int (*run)(const vt_kernel_call *, int), int bug)
{
    const graph *g = &c->g;
    const void *in[TENSORS] = { NULL }, *dout[TENSORS] = { NULL };
    void *out[TENSORS] = { NULL }, *din[TENSORS] = { NULL }, *owned[4 * TENSORS];
    size_t n = 0, most = 0;
    assert_true(g->nin < TENSORS && g->nout < TENSORS);
    for (int i = 0; i < g->nin; i++) {
        const graph_tensor *t = &g->tensor[g->in[i]];
        in[i] = owned[n++] = input_of(c, t);
        din[i] = t->role < GRAPH_INTEGERS ? (owned[n++] = to_kernel(c, c->start + t->at, t->count)) : NULL;
        most += t->count;
    }
    for (int i = 0; i < g->nout; i++) {
        const graph_tensor *t = &g->tensor[g->out[i]];
        out[i] = owned[n++] = to_kernel(c, NULL, t->count);
        dout[i] = t->upstream ? (owned[n++] = to_kernel(c, c->dout + t->at, t->count)) : NULL;
    }
    vt_kernel_call call;
    fill_call(&call, c, VT_KERNEL_FORWARD);
    call.save_bytes = 8 * (most + g->reals * 4);
    call.save = calloc(1, call.save_bytes);
    call.nin = (size_t)g->nin, call.nout = (size_t)g->nout;
    call.in = in, call.out = out;
    int status = run(&call, bug);
    if (status == 0) {
        call.pass = VT_KERNEL_BACKWARD;
        call.dout = dout, call.din = din;
        status = run(&call, bug);
    }
    assert_true(status == 0 || status == VT_KERNEL_UNSUPPORTED);
    for (int i = 0; i < g->nin && status == 0; i++) {
        const graph_tensor *t = &g->tensor[g->in[i]];
        if (!din[i]) continue;
        f->has_dx[g->in[i]] = true;
        from_kernel(c, f->dx + t->at, din[i], t->count);
    }
    for (int i = 0; i < g->nout && status == 0; i++) {
        const graph_tensor *t = &g->tensor[g->out[i]];
        f->has_x[g->out[i]] = true;
        from_kernel(c, f->x + t->at, out[i], t->count);
    }
    free(call.save);
    while (n) free(owned[--n]);
    return status == 0;
}

/* ---- all specimens ----------------------------------------------------------------------- */

enum { SEEDS = 3, CASES = 3 };

/* The first failing cases of a kernel, as a check would meet them; how many. */
static size_t failing_cases(diagnosis out[CASES], int op, precision p, uint64_t seed,
                            int (*run)(const vt_kernel_call *, int), int bug)
{
    static const double scales[] = { 1, 1e3 };
    size_t n = 0;
    for (size_t a = 0; a < 2 && n == 0; a++)
    for (int k = 0; n < CASES; k++) {
        graph_sizes z;
        op_case c = { .scale = 0 };
        if ((n && k > 6) || !op_case_shapes(&z, k, op, seed)) break;
        assert_ok(op_case_draw(&c, &z, p, scales[a], seed, &test_error));
        op_found f = found_new(&c);
        if (run_kernel(&f, &c, run, bug)) {
            assert_ok(diagnose(&out[n], &c, &f, &test_error));
            n += out[n].failing > 0;
        }
        found_free(&f);
        op_case_free(&c);
    }
    return n;
}

static bool names(const diagnosis *d, const char *kind)
{
    return strcmp(fault_kind_name(d->kind), kind) == 0;
}

/* Of these a comparison of numbers knows nothing: they are exact checks. */
static bool exact_kind(const char *kind)
{
    return strcmp(kind, "input_written") == 0 || strcmp(kind, "nondeterministic") == 0;
}

static void specimens_are_named(void **state)
{
    (void)state;
    size_t n;
    int runs = 0, seen = 0, named = 0;
    const specimen *table = specimen_table(&n);
    for (size_t i = 0; i < n; i++)
    for (int dtype = VT_KERNEL_F32; dtype <= VT_KERNEL_F64; dtype *= 2)
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const specimen *x = &table[i];
        diagnosis d[CASES + 1];
        if (!(x->dtypes & dtype) || exact_kind(x->kind) || x->fault == 0) continue;
        const precision p = dtype == VT_KERNEL_F64 ? PRECISION_F64 : PRECISION_F32;
        const size_t cases = failing_cases(d, graph_op_of(x->op), p, seed, x->run, x->fault);
        const diagnosis *told = &d[diagnose_choose(d, cases)];
        const bool right = cases > 0 && names(told, x->kind);
        runs++;
        seen += cases > 0;
        named += right;
        if (!right || getenv("SHOW"))
            print_message("%s float%d, seed %d: %s, said %s: %s\n", x->name, dtype, (int)seed, x->kind,
                          cases ? fault_kind_name(told->kind) : "nothing", cases ? told->sentence : "");
    }
    print_message("specimens: %d runs, %d found, %d named rightly\n", runs, seen, named);
    assert_true(runs > 700);
    assert_int_equal(seen, runs);
    assert_true(named * 100 >= runs * 95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specimens_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
