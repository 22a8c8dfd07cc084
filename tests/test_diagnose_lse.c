/* test_diagnose_lse.c -- the diagnosis of an attention that keeps lse alone, of layer norms,
 * and of tensors that are wrong in parts.  The kernels are written here, in double, with one
 * line changed by each fault, and rounded at the end.
 */
#include "support.h"
#include "verify/diagnosis/diagnose.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 3, SHAPES = 24, MOST = 200, TILE = 4 };

enum {
    RIGHT, LSE_PREVIOUS, LSE_ORDER, LSE_MAXIMUM, LAST_ROW, EXCHANGED, ROW_SUM_PLUS, ROW_SUM_FIRST, NO_A, LAYOUT,
    TAIL, TILE_TWICE, SCALE_TWICE, UNDERFLOW, EACH_TILE, UNDIVIDED, EXP2, CAUSAL_LEFT, MASK_LEFT, MASK_TURNED,
    KEY_STRIDE, ONE_QUERY, ONE_HEAD, LAST_KEYS, ALL_ZERO, HALF, NOISE, EMPTY_NAN, DIAGONAL, VALUES_OF_HEAD_0,
    NO_GAIN_DY, NO_GAIN_MEANS, GAIN_BESIDE, MEAN_LEFT, FIRST_ROW, RSTD_TIMES
};

typedef struct planted {
    int op, bug;
    const char *kind, *says;            /* a part of the sentence */
} planted;

static const planted plants[] = {
    { VT_OP_ATTENTION, LSE_PREVIOUS, "position_shift", "lse of the query beside it" },
    { VT_OP_ATTENTION, LSE_ORDER, "transposed", "written in one order, read in another" },
    { VT_OP_ATTENTION, LSE_MAXIMUM, "scale_missing", "log(sum) is missing" },
    { VT_OP_ATTENTION, LAST_ROW, "rows_missing", "last position" },
    { VT_OP_ATTENTION, EXCHANGED, "swapped", "k and v are read in each other's place, in both passes" },
    { VT_OP_ATTENTION, ROW_SUM_PLUS, "sign", "the row sum is added" },
    { VT_OP_ATTENTION, ROW_SUM_FIRST, "softmax_row_sum_wrong", "another query's o" },
    { VT_OP_ATTENTION, NO_A, "wrong_factor", "the factor a is missing" },
    { VT_OP_ATTENTION, LAYOUT, "transposed", "(batch, head, position, channel), not" },
    { VT_OP_ATTENTION, TAIL, "rows_missing", "are left out, in the forward pass" },
    { VT_OP_ATTENTION, TILE_TWICE, "scale_wrong", "count twice, in the forward pass" },
    { VT_OP_ATTENTION, SCALE_TWICE, "scale_wrong", "divided by HS, not by sqrt(HS), in the forward pass" },
    { VT_OP_ATTENTION, UNDERFLOW, "mask_leak", "does the difference underflow" },
    { VT_OP_ATTENTION, EACH_TILE, "scale_wrong", "after each tile of 4 keys" },
    { VT_OP_ATTENTION, UNDIVIDED, "scale_missing", "not divided by their sum, in the forward pass" },
    { VT_OP_ATTENTION, EXP2, "scale_missing", "exp2(s) in place of exp(s)" },
    { VT_OP_ATTENTION, CAUSAL_LEFT, "mask_leak", "in the backward pass" },
    { VT_OP_ATTENTION, MASK_LEFT, "mask_leak", "in the backward pass" },
    { VT_OP_ATTENTION, MASK_TURNED, "transposed", "read as (S, T)" },
    { VT_OP_ATTENTION, KEY_STRIDE, "batch_mixed", "b T, not b S" },
    { VT_OP_ATTENTION, ONE_QUERY, "scale_wrong", "dq is 1.01 times what it should be in query 2 alone" },
    { VT_OP_ATTENTION, ONE_HEAD, "scale_wrong", "dv is 1.01 times what it should be in head 1 alone" },
    { VT_OP_ATTENTION, LAST_KEYS, "scale_wrong", "dk is 2 times what it should be in key" },
    { VT_OP_ATTENTION, ALL_ZERO, "zero", "o is 0 everywhere" },
    { VT_OP_ATTENTION, HALF, "rounded", "as much as float16 rounds" },
    { VT_OP_ATTENTION, NOISE, "unknown", "no known fault" },
    { VT_OP_ATTENTION, EMPTY_NAN, "masked_row", "sees no key gives NaN" },
    { VT_OP_ATTENTION, DIAGONAL, "mask_narrow", "the diagonal is masked, in both passes" },
    { VT_OP_ATTENTION, VALUES_OF_HEAD_0, "heads_swapped", "every head reads v of the first head" },
    { VT_OP_LAYERNORM, NO_GAIN_DY, "gain_missing", "but for the means" },
    { VT_OP_LAYERNORM, NO_GAIN_MEANS, "gain_missing", "in the means" },
    { VT_OP_LAYERNORM, GAIN_BESIDE, "position_shift", "the channel beside it" },
    { VT_OP_LAYERNORM, MEAN_LEFT, "mean_term_missing", "not subtracted in xhat" },
    { VT_OP_LAYERNORM, FIRST_ROW, "position_shift", "that of the first row" },
    { VT_OP_LAYERNORM, RSTD_TIMES, "scale_wrong", "rstd is 1.003 times" },
};

/* ---- the kernels ------------------------------------------------------------------------- */

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

/* Whether query t sees key u, as the pass has it. */
static bool sees(const op_case *c, int bug, bool backward, int t, int u)
{
    const int T = c->z.T, S = c->z.S;
    int cell = t * S + u;
    bool causal = c->z.causal, masked = c->z.masked;
    if (bug == CAUSAL_LEFT && backward) causal = false;
    if (bug == MASK_LEFT && backward) masked = false;
    if (bug == MASK_TURNED) cell = u * T + t;
    if (bug == UNDERFLOW && S - T + t < 0) causal = false;
    if (bug == DIAGONAL && causal && u == S - T + t) return false;
    return (!causal || u <= S - T + t) && (!masked || op_case_mask(c, (size_t)cell));
}

typedef struct attention {
    const op_case *c;
    int bug, B, T, S, NH, HS;
    const double *q, *k, *v, *g;
    double *o, *dq, *dk, *dv, *lse, root;
} attention;

/* Elements of a query and of a key. */
static int qi(const attention *a, int b, int t, int h, int i)
{
    if (a->bug == LAYOUT) return ((b * a->NH + h) * a->T + t) * a->HS + i;
    return ((b * a->T + t) * a->NH + h) * a->HS + i;
}

static int ki(const attention *a, int b, int u, int h, int i)
{
    if (a->bug == LAYOUT) return ((b * a->NH + h) * a->S + u) * a->HS + i;
    return ((b * (a->bug == KEY_STRIDE ? a->T : a->S) + u) * a->NH + h) * a->HS + i;
}

static int vi(const attention *a, int b, int u, int h, int i)
{
    return ki(a, b, u, a->bug == VALUES_OF_HEAD_0 ? 0 : h, i);
}

static double score(const attention *a, int b, int h, int t, int u)
{
    double s = 0;
    for (int i = 0; i < a->HS; i++) s += a->q[qi(a, b, t, h, i)] * a->k[ki(a, b, u, h, i)];
    return s / a->root;
}

static double power(const attention *a, double x) { return a->bug == EXP2 ? exp2(x) : exp(x); }

static void forward_row(const attention *a, int b, int h, int t)
{
    double e[MOST], max = -(double)INFINITY, sum = 0;
    const int whole = a->S / TILE * TILE;
    for (int u = 0; u < a->S; u++) {
        e[u] = score(a, b, h, t, u) / (a->bug == SCALE_TWICE ? a->root : 1);
        if (!sees(a->c, a->bug, false, t, u) || (a->bug == TAIL && a->S > TILE && u >= whole)) e[u] = -(double)INFINITY;
        if (e[u] > max) max = e[u];
    }
    for (int u = 0; u < a->S; u++) {
        e[u] = e[u] > -(double)INFINITY ? power(a, e[u] - max) : 0;
        if (a->bug == TILE_TWICE && a->S > TILE && u >= a->S - TILE && u < whole) e[u] *= 2;
        sum += e[u];
    }
    a->lse[(b * a->NH + h) * a->T + t] = max + (a->bug == LSE_MAXIMUM ? 0 : log(sum));
    for (int i = 0; i < a->HS; i++) {
        double o = 0;
        for (int u = 0; u < a->S; u++)
            if (e[u] > 0) o += (a->bug == HALF ? precision_round(PRECISION_F16, e[u]) : e[u]) * a->v[vi(a, b, u, h, i)];
        if (sum > 0 && a->bug != UNDIVIDED) o /= sum;
        if (sum == 0) o = a->bug == EMPTY_NAN ? (double)NAN : 0;
        if ((a->bug == LAST_ROW && a->T > 1 && t + 1 == a->T) || a->bug == ALL_ZERO) o = 0;
        if (a->bug == NOISE && t % 3 == 0) o += 1e-9 * sin(1e3 * (b + 2 * h + 5 * t + 7 * i));
        a->o[qi(a, b, t, h, i)] = o;
    }
}

static double lse_of(const attention *a, int b, int h, int t)
{
    if (a->bug == LSE_ORDER) return a->lse[(b * a->T + t) * a->NH + h];
    return a->lse[(b * a->NH + h) * a->T + (a->bug == LSE_PREVIOUS && t % TILE ? t - 1 : t)];
}

static void backward_row(const attention *a, int b, int h, int t)
{
    double row = 0;
    for (int i = 0; i < a->HS; i++)
        row += a->g[qi(a, b, t, h, i)] * a->o[qi(a, b, a->bug == ROW_SUM_FIRST ? t / TILE * TILE : t, h, i)];
    for (int u = 0; u < a->S; u++) {
        double da = 0;
        if (!sees(a->c, a->bug, true, t, u)) continue;
        for (int i = 0; i < a->HS; i++) da += a->g[qi(a, b, t, h, i)] * a->v[vi(a, b, u, h, i)];
        const double p = power(a, score(a, b, h, t, u) - lse_of(a, b, h, t));
        const double ds = (a->bug == NO_A ? 1 : p) * (a->bug == ROW_SUM_PLUS ? da + row : da - row) / a->root;
        const double again = a->bug == EACH_TILE ? (a->S - 1) / TILE + 1 - u / TILE : a->bug == ONE_QUERY && t == 2 ? 1.01 : 1;
        const double twice = a->bug == LAST_KEYS && a->S > TILE && u >= (a->S - 1) / TILE * TILE ? 2 : 1;
        for (int i = 0; i < a->HS; i++) {
            a->dq[qi(a, b, t, h, i)] += again * ds * a->k[ki(a, b, u, h, i)];
            a->dk[ki(a, b, u, h, i)] += twice * ds * a->q[qi(a, b, t, h, i)];
            a->dv[vi(a, b, u, h, i)] += (a->bug == ONE_HEAD && h == 1 ? 1.01 : 1) * p * a->g[qi(a, b, t, h, i)];
        }
    }
}

static void run_attention(op_found *f, const op_case *c, int bug)
{
    const graph_sizes *z = &c->z;
    attention a = { c, bug, z->B, z->T, z->S, z->NH, z->HS, x_of(c, "q"), x_of(c, "k"), x_of(c, "v"),
                    c->dout + c->g.tensor[graph_find(&c->g, "o")].at, y_of(f, c, "o", false), y_of(f, c, "q", true),
                    y_of(f, c, "k", true), y_of(f, c, "v", true), NULL, sqrt(z->HS) };
    assert_true(z->S <= MOST);
    a.lse = calloc((size_t)z->B * (size_t)z->NH * (size_t)z->T, sizeof *a.lse);
    assert_non_null(a.lse);
    if (bug == EXCHANGED) {
        const double *k = a.k;
        a.k = a.v;
        a.v = k;
    }
    for (int pass = 0; pass < 2; pass++)
        for (int b = 0; b < a.B; b++)
            for (int h = 0; h < a.NH; h++)
                for (int t = 0; t < a.T; t++) (pass ? backward_row : forward_row)(&a, b, h, t);
    free(a.lse);
}

static void run_layernorm(op_found *f, const op_case *c, int bug)
{
    const int N = c->z.N, C = c->z.C;
    const double *x = x_of(c, "x"), *w = x_of(c, "w"), *bias = x_of(c, "b");
    const double *dy = c->dout + c->g.tensor[graph_find(&c->g, "y")].at;
    double *y = y_of(f, c, "y", false), *dx = y_of(f, c, "x", true), *dw = y_of(f, c, "w", true);
    double *db = y_of(f, c, "b", true), of_first = 0;
    for (int n = 0; n < N; n++, x += C, y += C, dx += C, dy += C) {
        double mean = 0, var = 0, first = 0, second = 0;
        for (int i = 0; i < C; i++) mean += x[i] / C;
        for (int i = 0; i < C; i++) var += (x[i] - mean) * (x[i] - mean) / C;
        const double r = (bug == RSTD_TIMES ? 1.003 : 1) / sqrt(var + 1e-5);
        if (bug == MEAN_LEFT) mean = 0;
        for (int i = 0; i < C; i++) y[i] = w[i] * (x[i] - mean) * r + bias[i];
        if (n == 0) of_first = mean;
        if (bug == FIRST_ROW) mean = of_first;
        for (int i = 0; i < C; i++) {
            const double xhat = (x[i] - mean) * r, d = (bug == NO_GAIN_MEANS ? 1 : w[i]) * dy[i];
            first += d / C;
            second += d * xhat / C;
            dw[i] += dy[i] * xhat;
            db[i] += dy[i];
        }
        for (int i = 0; i < C; i++) {
            const double gain = bug == NO_GAIN_DY ? 1 : bug == GAIN_BESIDE ? w[(i + 1) % C] : w[i];
            dx[i] += r * (gain * dy[i] - first - (x[i] - mean) * r * second);
        }
    }
}

/* ---- diagnosed ---------------------------------------------------------------------------- */

static op_found found_new(const op_case *c)
{
    const size_t n = c->g.reals + 1, t = (size_t)c->g.ntensors;
    op_found f = { calloc(n, sizeof(double)), calloc(n, sizeof(double)), calloc(t, sizeof(bool)), calloc(t, sizeof(bool)) };
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

/* Elements that a kernel with a wrong stride would look for behind a tensor's end. */
static bool reads_behind(const op_case *c, int bug) { return bug == KEY_STRIDE && c->z.T > c->z.S; }

static size_t failing_cases(diagnosis out[CASES + 1], int op, int bug, precision p, uint64_t seed)
{
    size_t n = 0;
    for (int k = 0; n < CASES && k < SHAPES; k++) {
        graph_sizes z;
        op_case c = { .scale = 0 };
        if (!op_case_shapes(&z, k, op, seed)) break;
        if (k == 11) continue;          /* the large one */
        assert_ok(op_case_draw(&c, &z, p, 1, seed, &test_error));
        op_found f = found_new(&c);
        if (!reads_behind(&c, bug)) {
            if (op == VT_OP_ATTENTION) run_attention(&f, &c, bug);
            else run_layernorm(&f, &c, bug);
            for (size_t i = 0; i < c.g.reals; i++) {
                f.x[i] = precision_round(c.p, f.x[i]);
                f.dx[i] = precision_round(c.p, f.dx[i]);
            }
            assert_ok(diagnose(&out[n], &c, &f, &test_error));
            n += out[n].failing > 0;
        }
        found_free(&f);
        op_case_free(&c);
    }
    return n;
}

static void planted_are_named(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++)
    for (precision p = PRECISION_F64; p <= PRECISION_F32; p++) {
        const planted *x = &plants[i];
        diagnosis d[CASES + 1];
        if (x->bug == NOISE && p == PRECISION_F32) continue;    /* it is below float32's rounding */
        const size_t cases = failing_cases(d, x->op, x->bug, p, 42);
        const diagnosis *told = &d[diagnose_choose(d, cases)];
        if (cases && strcmp(fault_kind_name(told->kind), x->kind) == 0 && strstr(told->sentence, x->says)) continue;
        wrong++;
        print_message("%s (%s) in %s: %s: %s\n", x->kind, x->says, precision_name(p),
                      cases ? fault_kind_name(told->kind) : "not found", cases ? told->sentence : "");
    }
    assert_int_equal(wrong, 0);
}

static void right_kernels_get_no_diagnosis(void **state)
{
    (void)state;
    for (precision p = PRECISION_F64; p <= PRECISION_F32; p++)
    for (uint64_t seed = 0; seed < 5; seed++) {
        diagnosis d[CASES + 1];
        assert_int_equal(failing_cases(d, VT_OP_ATTENTION, RIGHT, p, seed), 0);
        assert_int_equal(failing_cases(d, VT_OP_LAYERNORM, RIGHT, p, seed), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernels_get_no_diagnosis),
        cmocka_unit_test(planted_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
