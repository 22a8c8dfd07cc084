/* test_diagnose.c -- the diagnosis names the fault that was planted. */
#include "support.h"
#include "verify/diagnosis/diagnose.h"
#include "verify/selftest/specimens.h"
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

/* Under the sanitizers the command's self-test has a diagnosis of every specimen. */
enum { SEEDS = SWEEP(3, 1), CASES = SWEEP(3, 1), EACH = SWEEP(1, 4) };

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
    for (size_t i = 0; i < n; i += EACH)
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
        if (!right)
            print_message("%s float%d, seed %d: %s, said %s: %s\n", x->name, dtype, (int)seed, x->kind,
                          cases ? fault_kind_name(told->kind) : "nothing", cases ? told->sentence : "");
    }
    print_message("specimens: %d runs, %d found, %d named rightly\n", runs, seen, named);
    assert_true(runs > 233 * SEEDS / EACH);
    assert_int_equal(seen, runs);
    if (SWEEP(1, 0)) assert_true(named * 100 >= runs * 95);
}

/* ---- planted here -------------------------------------------------------------------------- */

/* Kernels in double, rounded at the end, each line with a fault where `bug` says so. */
typedef struct planted {
    const char *kind, *says;            /* a part of the sentence */
    int op, bug;
} planted;

enum {
    RIGHT,
    ATT_DQ_PLUS_SCALE, ATT_DS_FACTOR, ATT_WINDOW, ATT_UNDIVIDED, ATT_OUT_TWICE, ATT_DV_LAST_HEAD,
    ATT_DQ_ZERO, ATT_V_SHIFTED, ATT_MASK_ZERO, ATT_DIAGONAL, ATT_NOISE,
    LN_EPS_6, LN_EPS_ONE, LN_GAIN_IGNORED, LN_DB_BATCH_MEAN, LN_DW_ASSIGNED, LN_NO_CENTRE,
    LIN_DX_NEGATIVE, LIN_BIAS_TWICE, LIN_DW_FIRST_ROW, LIN_W_TRANSPOSED, LIN_BIAS_GONE,
    CE_CLASS_0, CE_HOT, CE_NEXT, CE_CONSTANT,
    GELU_TYPO, GELU_ERF, GELU_K, SOFT_UNDIVIDED, SOFT_PLAIN_SUM,
};

static const planted plants[] = {
    { "scale_wrong", "dq is divided by HS", VT_OP_ATTENTION, ATT_DQ_PLUS_SCALE },
    { "scale_wrong", "found/expected = 0.3", VT_OP_ATTENTION, ATT_DS_FACTOR },
    { "mask_narrow", "last 2 keys", VT_OP_ATTENTION, ATT_WINDOW },
    { "scale_missing", "not divided by their sum", VT_OP_ATTENTION, ATT_UNDIVIDED },
    { "scale_wrong", "found/expected = 2", VT_OP_ATTENTION, ATT_OUT_TWICE },
    { "rows_missing", "last head is missing", VT_OP_ATTENTION, ATT_DV_LAST_HEAD },
    { "zero", "dq is not written", VT_OP_ATTENTION, ATT_DQ_ZERO },
    { "position_shift", "v is read one key too late", VT_OP_ATTENTION, ATT_V_SHIFTED },
    { "mask_value", "masked scores are 0", VT_OP_ATTENTION, ATT_MASK_ZERO },
    { "softmax_row_sum_wrong", "a (1 - a) da", VT_OP_ATTENTION, ATT_DIAGONAL },
    { "unknown", "no known fault", VT_OP_ATTENTION, ATT_NOISE },
    { "epsilon", "epsilon is 1e-06", VT_OP_LAYERNORM, LN_EPS_6 },
    { "epsilon", "epsilon is 0.001", VT_OP_LAYERNORM, LN_EPS_ONE },
    { "gain_missing", "not multiplied by the gain", VT_OP_LAYERNORM, LN_GAIN_IGNORED },
    { "mean_for_sum", "1/N", VT_OP_LAYERNORM, LN_DB_BATCH_MEAN },
    { "overwritten", "dw is assigned", VT_OP_LAYERNORM, LN_DW_ASSIGNED },
    { "mean_term_missing", "the mean is not subtracted", VT_OP_LAYERNORM, LN_NO_CENTRE },
    { "sign", "dx has the wrong sign", VT_OP_LINEAR, LIN_DX_NEGATIVE },
    { "scale_wrong", "found/expected = 2", VT_OP_LINEAR, LIN_BIAS_TWICE },
    { "rows_missing", "share of the first row", VT_OP_LINEAR, LIN_DW_FIRST_ROW },
    { "transposed", "read as (OC, C)", VT_OP_LINEAR, LIN_W_TRANSPOSED },
    { "bias_forgotten", "not added", VT_OP_LINEAR, LIN_BIAS_GONE },
    { "ignored_target", "class 0", VT_OP_CROSSENTROPY, CE_CLASS_0 },
    { "onehot_missing", "first row", VT_OP_CROSSENTROPY, CE_HOT },
    { "position_shift", "next row's target", VT_OP_CROSSENTROPY, CE_NEXT },
    { "scale_wrong", "found/expected = 1.5", VT_OP_CROSSENTROPY, CE_CONSTANT },
    { "constant", "0.044715 is 0.0441", VT_OP_GELU, GELU_TYPO },
    { "gelu_form", "erf", VT_OP_GELU, GELU_ERF },
    { "constant", "sqrt(2/pi) is 0.8,", VT_OP_GELU, GELU_K },
    { "scale_missing", "not divided by the sum", VT_OP_SOFTMAX, SOFT_UNDIVIDED },
    { "softmax_row_sum_wrong", "not weighted by p", VT_OP_SOFTMAX, SOFT_PLAIN_SUM },
};

static const double *x_of(const op_case *c, const char *name)
{
    return c->x + c->g.tensor[graph_find(&c->g, name)].at;
}

/* Where the kernel writes: an output, or a gradient, which begins as `start`. */
static double *y_of(op_found *f, const op_case *c, const char *name, bool gradient)
{
    const int t = graph_find(&c->g, name);
    const graph_tensor *x = &c->g.tensor[t];
    (gradient ? f->has_dx : f->has_x)[t] = true;
    if (gradient) memcpy(f->dx + x->at, c->start + x->at, x->count * sizeof *f->dx);
    return (gradient ? f->dx : f->x) + x->at;
}

static void plant_attention(op_found *f, const op_case *c, int bug)
{
    enum { MOST = 200 };
    const int B = c->z.B, T = c->z.T, S = c->z.S, NH = c->z.NH, HS = c->z.HS, m = graph_find(&c->g, "mask");
    const double *q = x_of(c, "q"), *k = x_of(c, "k"), *v = x_of(c, "v");
    const double *g = c->dout + c->g.tensor[graph_find(&c->g, "o")].at, root = sqrt(HS);
    double *o = y_of(f, c, "o", false), *dq = y_of(f, c, "q", true), *dk = y_of(f, c, "k", true);
    double *dv = y_of(f, c, "v", true), a[MOST], da[MOST];
    assert_true(S <= MOST);
#define Q(t, i) ((((b) * T + (t)) * NH + h) * HS + (i))
#define K(u, i) ((((b) * S + (u)) * NH + h) * HS + (i))
    for (int b = 0; b < B; b++)
    for (int h = 0; h < NH; h++)
    for (int t = 0; t < T; t++) {
        double sum = 0, row = 0, twice = bug == ATT_OUT_TWICE ? 2 : 1;
        for (int u = 0; u < S; u++) {
            bool sees = m < 0 ? u <= S - T + t : c->ints[c->g.tensor[m].at + (size_t)(t * S + u)] != 0;
            if (bug == ATT_WINDOW && u <= S - T + t - 2) sees = false;
            double s = 0;
            for (int i = 0; i < HS; i++) s += q[Q(t, i)] * k[K(u, i)] / root;
            a[u] = sees ? exp(s) : bug == ATT_MASK_ZERO ? 1 : 0;
            sum += a[u];
        }
        for (int u = 0; u < S; u++) a[u] = sum > 0 ? a[u] / (bug == ATT_UNDIVIDED ? 1 : sum) : 0;
        for (int i = 0; i < HS; i++) {
            o[Q(t, i)] = 0;
            for (int u = 0; u < S; u++) {
                const int from = bug == ATT_V_SHIFTED ? u - 1 : u;
                if (from >= 0) o[Q(t, i)] += twice * a[u] * v[K(from, i)];
            }
        }
        for (int u = 0; u < S; u++) {
            da[u] = 0;
            for (int i = 0; i < HS; i++) da[u] += twice * g[Q(t, i)] * v[K(u, i)];
            row += a[u] * da[u];
        }
        for (int u = 0; u < S; u++)
        for (int i = 0; i < HS && a[u] != 0; i++) {
            double ds = a[u] * (da[u] - (bug == ATT_DIAGONAL ? a[u] * da[u] : row)) / root;
            if (bug == ATT_DS_FACTOR) ds *= 0.3;
            bool score = bug != ATT_MASK_ZERO;          /* a constant has no gradient */
            if (!score) score = m < 0 ? u <= S - T + t : c->ints[c->g.tensor[m].at + (size_t)(t * S + u)] != 0;
            if (score && bug != ATT_DQ_ZERO) dq[Q(t, i)] += ds * k[K(u, i)] / (bug == ATT_DQ_PLUS_SCALE ? root : 1);
            if (score) dk[K(u, i)] += ds * q[Q(t, i)];
            if (bug != ATT_DV_LAST_HEAD || h + 1 < NH) dv[K(u, i)] += twice * a[u] * g[Q(t, i)];
            if (bug == ATT_NOISE) dk[K(u, i)] += 0.1 * sin(1e3 * (double)(u + 7 * t + 3 * i + 11 * h + 5 * b));
        }
    }
#undef Q
#undef K
}

static void plant_layernorm(op_found *f, const op_case *c, int bug)
{
    const int N = c->z.N, C = c->z.C;
    const double *x = x_of(c, "x"), *w = x_of(c, "w"), *bias = x_of(c, "b");
    const double *dy = c->dout + c->g.tensor[graph_find(&c->g, "y")].at;
    const double eps = bug == LN_EPS_6 ? 1e-6 : bug == LN_EPS_ONE ? 1e-3 : 1e-5;
    double *y = y_of(f, c, "y", false), *dx = y_of(f, c, "x", true), *dw = y_of(f, c, "w", true);
    double *db = y_of(f, c, "b", true);
    for (int i = 0; i < C && bug == LN_DW_ASSIGNED; i++) dw[i] = 0;
    for (int n = 0; n < N; n++, x += C, y += C, dx += C, dy += C) {
        double mean = 0, var = 0, first = 0, second = 0;
        for (int i = 0; i < C && bug != LN_NO_CENTRE; i++) mean += x[i] / C;
        for (int i = 0; i < C; i++) var += (x[i] - mean) * (x[i] - mean) / C;
        const double r = 1 / sqrt(var + eps);
        for (int i = 0; i < C; i++) {
            const double gain = bug == LN_GAIN_IGNORED ? 1 : w[i], xhat = (x[i] - mean) * r;
            y[i] = gain * xhat + bias[i];
            if (bug != LN_NO_CENTRE) first += gain * dy[i] / C;
            second += gain * dy[i] * xhat / C;
            dw[i] += dy[i] * xhat;
            db[i] += bug == LN_DB_BATCH_MEAN ? dy[i] / N : dy[i];
        }
        for (int i = 0; i < C; i++)
            dx[i] += r * ((bug == LN_GAIN_IGNORED ? 1 : w[i]) * dy[i] - first - (x[i] - mean) * r * second);
    }
}

static void plant_linear(op_found *f, const op_case *c, int bug)
{
    const int N = c->z.N, C = c->z.C, OC = c->z.OC;
    const double *x = x_of(c, "x"), *w = x_of(c, "w"), *bias = x_of(c, "b");
    const double *dy = c->dout + c->g.tensor[graph_find(&c->g, "y")].at;
    double *y = y_of(f, c, "y", false), *dx = y_of(f, c, "x", true), *dw = y_of(f, c, "w", true);
    double *db = y_of(f, c, "b", true);
    for (int n = 0; n < N; n++)
    for (int o = 0; o < OC; o++) {
        const double d = dy[n * OC + o];
        y[n * OC + o] = bug == LIN_BIAS_GONE ? 0 : bias[o];
        db[o] += bug == LIN_BIAS_TWICE ? 2 * d : d;
        for (int i = 0; i < C; i++) {
            const int at = bug == LIN_W_TRANSPOSED ? o * C + i : i * OC + o;
            y[n * OC + o] += x[n * C + i] * w[at];
            dx[n * C + i] += bug == LIN_DX_NEGATIVE ? -d * w[at] : d * w[at];
            if (bug != LIN_DW_FIRST_ROW || n > 0) dw[at] += x[n * C + i] * d;
        }
    }
}

static void plant_crossentropy(op_found *f, const op_case *c, int bug)
{
    const int N = c->z.N, V = c->z.V, *target = c->ints + c->g.tensor[graph_find(&c->g, "target")].at;
    const double *l = x_of(c, "logits"), *g = c->dout + c->g.tensor[graph_find(&c->g, "loss")].at;
    double *loss = y_of(f, c, "loss", false), *dl = y_of(f, c, "logits", true), tau = c->z.temperature;
    for (int n = 0; n < N; n++, l += V, dl += V) {
        int y = target[n];
        double sum = 0;
        if (y < 0 && bug == CE_CLASS_0) y = 0;
        if (y >= 0 && bug == CE_NEXT && n + 1 < N && target[n + 1] >= 0) y = target[n + 1];
        for (int v = 0; v < V; v++) sum += exp(l[v] / tau);
        loss[n] = y < 0 ? 0 : log(sum) - l[y] / tau;
        for (int v = 0; v < V && y >= 0; v++)
            dl[v] += (bug == CE_CONSTANT ? 1.5 : 1) * g[n] / tau
                     * (exp(l[v] / tau) / sum - (v == y && (bug != CE_HOT || n > 0)));
    }
}

static void plant_gelu(op_found *f, const op_case *c, int bug)
{
    const double *x = x_of(c, "x"), *dy = c->dout + c->g.tensor[graph_find(&c->g, "y")].at;
    const double k = bug == GELU_K ? 0.8 : sqrt(2 / acos(-1.0)), m = bug == GELU_TYPO ? 0.044175 : 0.044715;
    double *y = y_of(f, c, "y", false), *dx = y_of(f, c, "x", true);
    for (int i = 0; i < c->z.N; i++) {
        const double th = tanh(k * (x[i] + m * x[i] * x[i] * x[i])), half = sqrt(0.5);
        double d = (1 + th) / 2 + x[i] / 2 * (1 - th * th) * k * (1 + 3 * m * x[i] * x[i]);
        y[i] = x[i] / 2 * (1 + th);
        if (bug == GELU_ERF) {
            y[i] = x[i] / 2 * erfc(-x[i] * half);
            d = erfc(-x[i] * half) / 2 + x[i] * exp(-x[i] * x[i] / 2) / sqrt(2 * acos(-1.0));
        }
        dx[i] += dy[i] * d;
    }
}

static void plant_softmax(op_found *f, const op_case *c, int bug)
{
    const double *x = x_of(c, "x"), *dp = c->dout + c->g.tensor[graph_find(&c->g, "p")].at;
    double *p = y_of(f, c, "p", false), *dx = y_of(f, c, "x", true);
    const int V = c->z.V;
    for (int n = 0; n < c->z.N; n++, x += V, dp += V, p += V, dx += V) {
        double max = x[0], sum = 0, row = 0;
        for (int v = 0; v < V; v++) max = x[v] > max ? x[v] : max;
        for (int v = 0; v < V; v++) sum += exp(x[v] - max);
        for (int v = 0; v < V; v++) p[v] = exp(x[v] - max) / (bug == SOFT_UNDIVIDED ? 1 : sum);
        for (int v = 0; v < V; v++) row += bug == SOFT_PLAIN_SUM ? dp[v] : p[v] * dp[v];
        for (int v = 0; v < V; v++) dx[v] += p[v] * (dp[v] - row);
    }
}

static void plant(op_found *f, const op_case *c, int bug)
{
    switch (c->z.op) {
    case VT_OP_ATTENTION:    plant_attention(f, c, bug); break;
    case VT_OP_LAYERNORM:    plant_layernorm(f, c, bug); break;
    case VT_OP_LINEAR:       plant_linear(f, c, bug); break;
    case VT_OP_CROSSENTROPY: plant_crossentropy(f, c, bug); break;
    case VT_OP_GELU:         plant_gelu(f, c, bug); break;
    default:                 plant_softmax(f, c, bug); break;
    }
    for (size_t i = 0; i < c->g.reals; i++) {
        f->x[i] = precision_round(c->p, f->x[i]);
        f->dx[i] = precision_round(c->p, f->dx[i]);
    }
}

/* The first shapes of a check; the diagnosis of each that fails. */
static size_t planted_cases(diagnosis out[CASES], int op, int bug, precision p, uint64_t seed)
{
    size_t n = 0;
    for (int k = 0; n < CASES && k < 12; k++) {
        graph_sizes z;
        op_case c = { .scale = 0 };
        assert_true(op_case_shapes(&z, k, op, seed));
        assert_ok(op_case_draw(&c, &z, p, 1, seed, &test_error));
        op_found f = found_new(&c);
        plant(&f, &c, bug);
        assert_ok(diagnose(&out[n], &c, &f, &test_error));
        if (out[n].failing == 0) assert_int_equal(out[n].kind, FAULT_NONE);
        n += out[n].failing > 0;
        found_free(&f);
        op_case_free(&c);
    }
    return n;
}

static void planted_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++)
    for (precision p = PRECISION_F64; p <= PRECISION_F32; p++)
    for (uint64_t seed = 10; seed < 12; seed++) {
        const planted *x = &plants[i];
        diagnosis d[CASES + 1];
        const size_t cases = planted_cases(d, x->op, x->bug, p, seed);
        if (cases == 0) fail_msg("%s (%s): not found", x->kind, x->says);
        const diagnosis *told = &d[diagnose_choose(d, cases)];
        if (!names(told, x->kind) || !strstr(told->sentence, x->says))
            fail_msg("%s (%s) in %s: %s: %s", x->kind, x->says, precision_name(p),
                     fault_kind_name(told->kind), told->sentence);
        assert_true(told->hint[0] != '\0' && told->location[0] != '\0');
        assert_true(told->kind == FAULT_UNKNOWN || told->explained > 0);
    }
}

static void right_kernels_get_no_diagnosis(void **state)
{
    (void)state;
    static const int ops[] = { VT_OP_ATTENTION, VT_OP_LAYERNORM, VT_OP_LINEAR, VT_OP_CROSSENTROPY,
                               VT_OP_GELU, VT_OP_SOFTMAX };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    for (precision p = PRECISION_F64; p <= PRECISION_F32; p++)
    for (uint64_t seed = 0; seed < 20; seed++) {
        diagnosis d[CASES + 1];
        assert_int_equal(planted_cases(d, ops[i], RIGHT, p, seed), 0);
    }
}

/* ---- what a diagnosis says --------------------------------------------------------------------- */

static op_case attention_case(op_found *f)
{
    graph_sizes z;
    op_case c = { .scale = 0 };
    assert_true(op_case_shapes(&z, 0, VT_OP_ATTENTION, 5));
    assert_ok(op_case_draw(&c, &z, PRECISION_F64, 1, 5, &test_error));
    *f = found_new(&c);
    plant(f, &c, RIGHT);
    return c;
}

static void free_case(op_case *c, op_found *f)
{
    found_free(f);
    op_case_free(c);
}

/* ATT-09: one element of dk, 1 % off. */
static void one_entry_is_bisected(void **state)
{
    (void)state;
    op_found f;
    op_case c = attention_case(&f);
    const int k = graph_find(&c.g, "k");
    const graph_tensor *t = &c.g.tensor[k];
    const size_t entry = ((1 * (size_t)c.z.S + 3) * (size_t)c.z.NH + 2) * (size_t)c.z.HS + 1, at = t->at + entry;
    diagnosis d;
    f.dx[at] += 0.01 * c.dx[at];
    assert_ok(diagnose(&d, &c, &f, &test_error));
    assert_int_equal(d.kind, FAULT_ONE_ENTRY);
    assert_int_equal(d.tensor, k);
    assert_true(d.gradient);
    assert_int_equal(d.wrong, 1);
    assert_int_equal(d.first, entry);
    assert_int_equal(d.worst, entry);
    assert_near(d.ratio, 1.01, 1e-9);
    assert_near(d.expected, c.dx[at], 1e-12 * fabs(c.dx[at]));
    assert_contains(d.sentence, "batch 1, key 3, head 2, channel 1");
    assert_contains(d.location, "1 of ");
    free_case(&c, &f);
}

static void what_nobody_knows_is_located(void **state)
{
    (void)state;
    op_found f;
    op_case c = attention_case(&f);
    const graph_tensor *t = &c.g.tensor[graph_find(&c.g, "v")];
    const size_t inner = (size_t)(c.z.NH * c.z.HS);
    diagnosis d;
    for (size_t i = 0; i < t->count; i++)               /* key 4, head 1 */
        if (i / inner % (size_t)c.z.S == 4 && i / (size_t)c.z.HS % (size_t)c.z.NH == 1)
            f.dx[t->at + i] += 0.3 * cos((double)(i * i));
    assert_ok(diagnose(&d, &c, &f, &test_error));
    assert_int_equal(d.kind, FAULT_UNKNOWN);
    assert_int_equal(d.explained, 0);
    assert_int_equal(d.wrong, c.z.B * c.z.HS);
    assert_contains(d.location, "all of them in key 4, head 1");
    free_case(&c, &f);
}

/* The order of the backward pass: outputs before gradients; NaN is wrong. */
static void the_nearest_to_the_loss_is_told(void **state)
{
    (void)state;
    op_found f;
    op_case c = attention_case(&f);
    const int o = graph_find(&c.g, "o"), q = graph_find(&c.g, "q");
    diagnosis d;
    f.dx[c.g.tensor[q].at + 2] = (double)NAN;
    assert_ok(diagnose(&d, &c, &f, &test_error));
    assert_int_equal(d.tensor, q);
    assert_true(d.gradient);
    assert_int_equal(d.failing, 1);
    f.x[c.g.tensor[o].at + 1] += 1;
    assert_ok(diagnose(&d, &c, &f, &test_error));
    assert_int_equal(d.tensor, o);
    assert_false(d.gradient);
    assert_int_equal(d.failing, 2);
    assert_int_equal(d.worst, 1);
    f.has_x[o] = f.has_dx[q] = false;                   /* not computed: not compared */
    assert_ok(diagnose(&d, &c, &f, &test_error));
    assert_int_equal(d.kind, FAULT_NONE);
    free_case(&c, &f);
}

static void two_gradients_exchanged_or_assigned(void **state)
{
    (void)state;
    op_found f;
    op_case c = attention_case(&f);
    const graph_tensor *k = &c.g.tensor[graph_find(&c.g, "k")], *v = &c.g.tensor[graph_find(&c.g, "v")];
    diagnosis d;
    for (size_t i = 0; i < k->count; i++) {
        f.dx[k->at + i] = c.start[k->at + i] + c.dx[v->at + i];
        f.dx[v->at + i] = c.start[v->at + i] + c.dx[k->at + i];
    }
    assert_ok(diagnose(&d, &c, &f, &test_error));
    assert_int_equal(d.kind, FAULT_SWAPPED);
    assert_contains(d.sentence, "dk and dv are exchanged");
    for (size_t i = 0; i < c.g.reals; i++) f.dx[i] = c.dx[i];
    assert_ok(diagnose(&d, &c, &f, &test_error));
    assert_int_equal(d.kind, FAULT_OVERWRITTEN);
    assert_int_equal(d.explained, 3);
    free_case(&c, &f);
}

static void most_cases_decide(void **state)
{
    (void)state;
    const diagnosis zero = { .kind = FAULT_ZERO }, rows = { .kind = FAULT_ROWS_MISSING };
    const diagnosis unknown = { .kind = FAULT_UNKNOWN }, both = { .kind = FAULT_ZERO, .other = FAULT_ROWS_MISSING };
    const diagnosis tie[] = { zero, rows }, more[] = { zero, rows, zero }, none[] = { unknown, unknown, zero };
    const diagnosis other[] = { both, both, rows };
    assert_int_equal(diagnose_choose(tie, 2), 1);
    assert_int_equal(diagnose_choose(more, 3), 0);
    assert_int_equal(diagnose_choose(none, 3), 2);
    assert_int_equal(diagnose_choose(other, 3), 2);
    assert_int_equal(diagnose_choose(tie, 0), 0);
}

static void the_check_itself_may_be_at_fault(void **state)
{
    (void)state;
    op_found f;
    op_case c = attention_case(&f);
    const int q = graph_find(&c.g, "q");
    const graph_tensor *t = &c.g.tensor[q];
    char why[200];
    assert_int_equal(diagnose_check(&c, q, true, why, sizeof why), CHECK_FINE);
    assert_string_equal(why, "");
    for (size_t i = 0; i < t->count; i++) c.edx[t->at + i] = 10;
    assert_int_equal(diagnose_check(&c, q, true, why, sizeof why), CHECK_NO_RESOLUTION);
    assert_contains(why, "no resolution");
    c.dx[t->at + 1] = (double)INFINITY;
    assert_int_equal(diagnose_check(&c, q, true, why, sizeof why), CHECK_OUT_OF_DOMAIN);
    assert_contains(why, "dq[0, 0, 0, 1]");
    assert_string_equal(check_fault_name(CHECK_NOT_SMOOTH), "not_smooth");
    free_case(&c, &f);
}

static void kinds_have_names(void **state)
{
    (void)state;
    for (fault_kind k = FAULT_NONE; k < FAULT_KINDS; k++)
        assert_int_equal(fault_kind_of(fault_kind_name(k)), k);
    assert_int_equal(fault_kind_of("no such kind"), FAULT_NONE);
    size_t n;
    const specimen *table = specimen_table(&n);         /* theirs are ours */
    for (size_t i = 0; i < n; i++)
        if (table[i].fault) assert_int_not_equal(fault_kind_of(table[i].kind), FAULT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(right_kernels_get_no_diagnosis),
        cmocka_unit_test(planted_are_named),
        cmocka_unit_test(one_entry_is_bisected),
        cmocka_unit_test(what_nobody_knows_is_located),
        cmocka_unit_test(the_nearest_to_the_loss_is_told),
        cmocka_unit_test(two_gradients_exchanged_or_assigned),
        cmocka_unit_test(most_cases_decide),
        cmocka_unit_test(the_check_itself_may_be_at_fault),
        cmocka_unit_test(specimens_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
