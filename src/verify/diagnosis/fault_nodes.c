/* fault_nodes.c -- softmax, layer norm, GELU, linear, cross-entropy and embedding with
 * one thing wrong; see faults.h.  The equations are those of the definitions in
 * src/kernels; what is said here is where a rule departs from them.
 */
#include "verify/diagnosis/faults.h"
#include <math.h>
#include <string.h>

static const double EPS = 1e-5, K0 = 0.79788456080286535588, K1 = 0.044715;

static double *in(const graph *g, const graph_node *n, double *block, int slot)
{
    return n->in[slot] < 0 ? NULL : block + g->tensor[n->in[slot]].at;
}

static const double *given(const graph *g, const graph_node *n, const double *block, int slot)
{
    return n->in[slot] < 0 ? NULL : block + g->tensor[n->in[slot]].at;
}

static double held(const fault_work *w, double x)
{
    return x > w->most ? (double)INFINITY : x < w->least ? 0 : x;
}

/* ---- softmax ------------------------------------------------------------------ */

/* Over each row; or over each column (the wrong axis), or without the maximum. */
static void soft_forward(const fault *f, double *p, const double *x, int N, int V,
                         const fault_work *w)
{
    const bool columns = f->rule == RULE_SOFT_COLUMNS;
    const size_t rows = (size_t)(columns ? V : N), length = (size_t)(columns ? N : V);
    const size_t step = (size_t)(columns ? V : 1), next = (size_t)(columns ? 1 : V);
    for (size_t n = 0; n < rows; n++) {
        double max = -(double)INFINITY, sum = 0;
        for (size_t v = 0; v < length; v++) max = fmax(max, x[n * next + v * step]);
        if (f->rule == RULE_SOFT_NO_MAX || (f->rule == RULE_SOFT_NO_SUM && f->number == 1)) max = 0;
        if (f->rule == RULE_SOFT_NO_RESCALE) {          /* tiles of `number`, running maximum */
            double running = -(double)INFINITY;
            for (size_t first = 0; first < length; first += (size_t)f->number) {
                const size_t end = first + (size_t)f->number < length ? first + (size_t)f->number : length;
                for (size_t v = first; v < end; v++) running = fmax(running, x[n * next + v * step]);
                for (size_t v = first; v < end; v++) sum += exp(x[n * next + v * step] - running);
            }
            for (size_t v = 0; v < length; v++)
                p[n * next + v * step] = exp(x[n * next + v * step] - max) / sum;
            continue;
        }
        for (size_t v = 0; v < length; v++)
            sum = held(w, sum + (p[n * next + v * step] = held(w, exp(x[n * next + v * step] - max))));
        if (f->rule == RULE_SOFT_NO_SUM) sum = 1;
        for (size_t v = 0; v < length; v++) p[n * next + v * step] /= sum;
    }
}

static void soft_backward(const fault *f, double *dx, const double *dp, const double *p,
                          const double *x, int N, int V)
{
    for (int n = 0; n < N; n++)
    for (int v = 0; v < V; v++) {
        const size_t e = (size_t)n * (size_t)V + (size_t)v;
        double row = 0;
        for (int u = 0; u < V; u++) {
            const size_t o = (size_t)n * (size_t)V + (size_t)u;
            row += f->rule == RULE_SOFT_ROW_SUM_PLAIN ? dp[o] : p[o] * dp[o];
        }
        if (f->rule == RULE_SOFT_ROW_SUM_MEAN) row /= V;
        if (f->rule == RULE_SOFT_ROW_SUM_UNSCALED) {
            double max = -(double)INFINITY, sum = 0;
            for (int u = 0; u < V; u++) max = fmax(max, x[(size_t)n * (size_t)V + (size_t)u]);
            for (int u = 0; u < V; u++) sum += exp(x[(size_t)n * (size_t)V + (size_t)u] - max);
            row *= sum;
        }
        if (f->rule == RULE_SOFT_NO_ROW_SUM) row = 0;
        if (f->rule == RULE_SOFT_DIAGONAL) row = p[e] * dp[e];      /* p (1 - p) dp */
        if (f->rule == RULE_SOFT_ROW_SUM_COLUMNS) {
            row = 0;
            for (int m = 0; m < N; m++) {
                const size_t o = (size_t)m * (size_t)V + (size_t)v;
                row += p[o] * dp[o];
            }
        }
        dx[e] += p[e] * (dp[e] - row);
    }
}

/* ---- layer norm ------------------------------------------------------------------ */

static double ln_rstd(const fault *f, double var_sum, int C)
{
    const double var = var_sum / C;
    switch (f->rule) {
    case RULE_LN_NO_EPS:      return 1 / sqrt(var);
    case RULE_LN_EPS_OUTSIDE: return 1 / (sqrt(var) + EPS);
    case RULE_LN_EPS:         return 1 / sqrt(var + f->value);
    case RULE_LN_VARIANCE_SUM: return 1 / sqrt(var_sum + EPS);
    case RULE_LN_UNBIASED:    return 1 / sqrt(var_sum / (C - 1) + EPS);
    default:                  return 1 / sqrt(var + EPS);
    }
}

/* x: a row, of which `row` lie in front of it. */
static void ln_statistics(const fault *f, const double *x, int row, int C, double *mean, double *rstd)
{
    double m = 0, sum = 0;
    for (int i = 0; i < C; i++) m += x[i] / C;
    if (f->rule == RULE_LN_NOT_CENTRED) m = 0;
    for (int i = 0; i < C; i++) sum += (x[i] - m) * (x[i] - m);
    *mean = f->rule == RULE_LN_MEAN_LEFT ? 0 : m;
    *rstd = ln_rstd(f, sum, C) * (f->rule == RULE_LN_RSTD_TIMES ? f->value : 1);
    if (f->rule == RULE_LN_FIRST_ROW && row > 0) {      /* number: of mean, rstd, both */
        const fault right = { .rule = RULE_LN_NO_BIAS };
        double first_mean, first_rstd;
        ln_statistics(&right, x - (size_t)row * (size_t)C, 0, C, &first_mean, &first_rstd);
        if (f->number != 1) *mean = first_mean;
        if (f->number != 0) *rstd = first_rstd;
    }
}

static void ln_forward(const fault *f, double *y, double *mean, double *rstd, const double *x,
                       const double *w, const double *b, int N, int C)
{
    for (int n = 0; n < N; n++) {
        const size_t row = (size_t)n * (size_t)C;
        ln_statistics(f, x + row, n, C, &mean[n], &rstd[n]);
        for (int i = 0; i < C; i++) {
            const double xhat = (x[row + (size_t)i] - mean[n]) * rstd[n];
            y[row + (size_t)i] = (f->rule == RULE_LN_NO_GAIN_FORWARD ? xhat
                                  : f->rule == RULE_LN_GAIN_TWICE ? w[i] * w[i] * xhat : w[i] * xhat)
                                 + (f->rule == RULE_LN_NO_BIAS ? 0 : b[i]);
        }
    }
}

static void ln_backward_row(const fault *f, double *dx, double *dw, double *db, const double *dy,
                            const double *x, const double *w, int row, int C)
{
    double mean, rstd, avg = 0, avg_xhat = 0;
    const bool direct = f->rule == RULE_LN_NO_GAIN_DY, means = f->rule == RULE_LN_NO_GAIN_MEANS;
    const bool plain = f->rule == RULE_LN_NO_GAIN || f->rule == RULE_LN_NO_GAIN_FORWARD;
    const bool twice = f->rule == RULE_LN_GAIN_TWICE;
    ln_statistics(f, x, row, C, &mean, &rstd);
    for (int i = 0; i < C; i++) {
        const double dxhat = plain || means ? dy[i] : twice ? w[i] * w[i] * dy[i] : w[i] * dy[i];
        avg      += f->rule == RULE_LN_MEAN_SUM || f->rule == RULE_LN_SUMS ? dxhat : dxhat / C;
        avg_xhat += dxhat * (x[i] - mean) * rstd / (f->rule == RULE_LN_VAR_SUM || f->rule == RULE_LN_SUMS ? 1 : C);
    }
    if (f->rule == RULE_LN_MEAN_SIGN) avg = -avg;
    if (f->rule == RULE_LN_VAR_SIGN) avg_xhat = -avg_xhat;
    if (f->rule == RULE_LN_NO_MEAN || f->rule == RULE_LN_NO_MEAN_NO_VAR
        || f->rule == RULE_LN_NOT_CENTRED) avg = 0;
    if (f->rule == RULE_LN_NO_VAR || f->rule == RULE_LN_NO_MEAN_NO_VAR) avg_xhat = 0;
    for (int i = 0; i < C; i++) {
        const int other = f->rule != RULE_LN_GAIN_SHIFTED ? i : f->number == 0 ? (i + 1) % C : (i + C - 1) % C;
        const double gain = plain || direct ? 1 : twice ? w[i] * w[i] : w[other];
        const double xhat = (x[i] - mean) * rstd, dxhat = gain * dy[i];
        const double d = dxhat - avg - xhat * avg_xhat;
        dx[i] += f->rule == RULE_LN_NO_RSTD ? d : f->rule == RULE_LN_RSTD_TWICE ? rstd * rstd * d : rstd * d;
        dw[i] += dy[i] * (f->rule == RULE_LN_DW_NO_XHAT ? x[i]
                          : f->rule == RULE_LN_DW_NO_RSTD ? x[i] - mean : xhat);
        db[i] += dy[i];
    }
}

/* ---- GELU --------------------------------------------------------------------------- */

static double gelu_value(const fault *f, double x)
{
    const double k0 = f->rule == RULE_GELU_K0 ? f->value : K0;
    const double k1 = f->rule == RULE_GELU_K1 ? f->value : K1;
    if (f->rule == RULE_GELU_ERF) return x * (1 + erf(x * sqrt(0.5))) / 2;
    if (f->rule == RULE_GELU_SIGMOID) return x / (1 + exp(-1.702 * x));
    return x * (1 + tanh(k0 * (x + k1 * x * x * x))) / 2;
}

static double gelu_derivative(const fault *f, double x)
{
    const double k0 = f->rule == RULE_GELU_K0 ? f->value : K0;
    const double k1 = f->rule == RULE_GELU_K1 ? f->value : K1;
    const double th = tanh(k0 * (x + k1 * x * x * x));
    const double three = f->rule == RULE_GELU_NO_THREE ? 1 : 3;
    const double dz = f->rule == RULE_GELU_NO_DZ ? 1 : f->rule == RULE_GELU_NO_TWO ? k0 * (1 + 3 * k1 * x * x) / 2 : k0 * (1 + three * k1 * x * x);
    if (f->rule == RULE_GELU_ERF)               /* Phi(x) + x phi(x) */
        return (1 + erf(x * sqrt(0.5))) / 2 + x * exp(-x * x / 2) * K0 / 2;
    if (f->rule == RULE_GELU_SIGMOID) {
        const double s = 1 / (1 + exp(-1.702 * x));
        return s + 1.702 * x * s * (1 - s);
    }
    if (f->rule == RULE_GELU_NO_SECOND) return (1 + th) / 2;
    const double square = f->rule == RULE_GELU_NOT_SQUARED ? th : th * th;
    return (1 + th + (f->rule == RULE_GELU_NO_X ? 1 : x) * (1 - square) * dz) / 2;
}

/* ---- linear ------------------------------------------------------------------------- */

/* w as (C, OC) read as if it lay there as (OC, C). */
static void misread(double *out, const double *w, int C, int OC)
{
    for (int i = 0; i < C; i++)
        for (int o = 0; o < OC; o++)
            out[(size_t)i * (size_t)OC + (size_t)o] = w[(size_t)o * (size_t)C + (size_t)i];
}

/* A block like x in which the weights are misread. */
static const double *misread_block(const graph *g, const graph_node *n, const double *x,
                                   const fault_work *w)
{
    double *block = w->scratch + g->reals;
    memcpy(block, x, g->reals * sizeof *x);
    misread(in(g, n, block, 1), given(g, n, x, 1), n->C, n->OC);
    return block;
}

static void linear_backward(const fault *f, const graph *g, const graph_node *n, double *dx,
                            const double *x, const int *ints, const fault_work *w)
{
    if (f->rule == RULE_LINEAR_NO_BIAS) {
        graph_node_backward_f64(g, n, dx, x, ints);
        return;
    }
    /* The contribution to x from the misread weights; dw and db do not read them, but
     * when all is meant (W_MISREAD) the gradient goes back where it was read. */
    const double *block = misread_block(g, n, x, w);
    const graph_tensor *t = &g->tensor[n->in[0]];
    const double *dy = dx + g->tensor[n->out].at, *ws = given(g, n, block, 1);
    const double *xs = given(g, n, x, 0);
    double *to = dx + t->at, *dw = in(g, n, dx, 1), *db = in(g, n, dx, 2);
    for (size_t r = 0; r < (size_t)n->N; r++)
    for (size_t o = 0; o < (size_t)n->OC; o++) {
        const double d = dy[r * (size_t)n->OC + o];
        for (size_t i = 0; i < (size_t)n->C; i++) {
            to[r * (size_t)n->C + i] += d * ws[i * (size_t)n->OC + o];
            dw[f->rule == RULE_LINEAR_W_MISREAD ? o * (size_t)n->C + i : i * (size_t)n->OC + o]
                += xs[r * (size_t)n->C + i] * d;
        }
        if (db) db[o] += d;
    }
}

/* ---- cross-entropy ---------------------------------------------------------------- */

/* The class whose logit is taken; V: none of them; -1: the row has no loss. */
static int ce_target(const fault *f, const int *target, int n, int N, int V)
{
    const int y = target[n];
    if (y == VT_IGNORE) {
        if (f->rule == RULE_CE_IGNORED_CLASS_0) return 0;
        return f->rule == RULE_CE_IGNORED_LAST_CLASS ? V - 1 : -1;
    }
    const bool next = f->rule == RULE_CE_TARGET_NEXT && n + 1 < N;
    const bool previous = f->rule == RULE_CE_TARGET_PREVIOUS && n > 0;
    if (!next && !previous) return y;
    const int other = target[next ? n + 1 : n - 1];
    /* That one ignored: the row keeps its own, has none (V), or is ignored. */
    return other >= 0 ? other : f->number == 0 ? y : f->number == 1 ? V : -1;
}

/* Whether the one-hot is subtracted in this row of a sequence of T. */
static bool ce_onehot(const fault *f, int n, int N, int T)
{
    switch (f->rule) {
    case RULE_CE_NO_ONEHOT:               return false;
    case RULE_CE_NO_ONEHOT_LAST:          return n + 1 < N;
    case RULE_CE_NO_ONEHOT_FIRST:         return n > 0;
    case RULE_CE_NO_ONEHOT_LAST_POSITION: return n % T + 1 < T;
    default:                              return true;
    }
}

static double ce_temperature(const fault *f, const graph_node *n)
{
    if (f->rule == RULE_CE_NO_TEMPERATURE || f->rule == RULE_CE_TEMPERATURE_NOT_IN_P) return 1;
    return f->rule == RULE_CE_TEMPERATURE_TIMES ? 1 / n->temperature : n->temperature;
}

/* log sum exp of the row's logits / temperature. */
static double ce_lse(const fault *f, const double *l, double temperature, int V,
                     const fault_work *w)
{
    double max = -(double)INFINITY, sum = 0;
    for (int v = 0; v < V; v++) max = fmax(max, l[v]);
    if (f->rule == RULE_CE_NO_MAX) max = 0;
    for (int v = 0; v < V; v++) sum = held(w, sum + held(w, exp((l[v] - max) / temperature)));
    return max / temperature + log(sum);
}

static void ce_forward(const fault *f, double *loss, double *lse, const double *l,
                       const int *target, const graph_node *n, const fault_work *w)
{
    const double temperature = ce_temperature(f, n);
    for (int r = 0; r < n->N; r++) {
        const double *row = l + (size_t)r * (size_t)n->V;
        const int y = ce_target(f, target, r, n->N, n->V);
        lse[r] = ce_lse(f, row, temperature, n->V, w);
        loss[r] = 0;
        if (y >= 0) loss[r] = lse[r] - (y < n->V ? row[y] / temperature : 0);
        else if (f->rule == RULE_CE_IGNORED) loss[r] = lse[r];
    }
}

static void ce_backward(const fault *f, double *dl, const double *dloss, const double *l,
                        const int *target, const graph_node *n, int T, const fault_work *w)
{
    const double temperature = ce_temperature(f, n);
    double last = 1 / n->temperature;
    if (f->rule == RULE_CE_TEMPERATURE_LEFT || f->rule == RULE_CE_NO_TEMPERATURE) last = 1;
    if (f->rule == RULE_CE_TEMPERATURE_TWICE) last *= last;
    if (f->rule == RULE_CE_TEMPERATURE_TIMES) last = n->temperature;
    for (int r = 0; r < n->N; r++) {
        const double *row = l + (size_t)r * (size_t)n->V;
        const int y = ce_target(f, target, r, n->N, n->V);
        const double lse = ce_lse(f, row, temperature, n->V, w);
        if (y < 0 && f->rule != RULE_CE_IGNORED) continue;
        for (int v = 0; v < n->V; v++) {
            double d = f->rule == RULE_CE_ONEHOT_ONLY ? 0 : exp(row[v] / temperature - lse);
            if (v == y && ce_onehot(f, r, n->N, T)) d -= 1;
            dl[(size_t)r * (size_t)n->V + (size_t)v] +=
                (f->rule == RULE_CE_NO_DLOSS ? 1 : dloss[r]) * d * last;
        }
    }
}

/* ---- embedding ------------------------------------------------------------------------ */

/* The row whose token is read for row r; at the sequence's end its own. */
static int token_row(const fault *f, const graph_node *n, int r)
{
    if (f->rule == RULE_EMBED_TOKEN_NEXT && r % n->T + 1 < n->T) return r + 1;
    if (f->rule == RULE_EMBED_TOKEN_PREVIOUS && r % n->T > 0) return r - 1;
    return r;
}

static void embedding_forward(const fault *f, double *out, const int *token, const double *wte,
                              const double *wpe, const graph_node *n)
{
    for (int r = 0; r < n->B * n->T; r++)
    for (int i = 0; i < n->C; i++)
        out[(size_t)r * (size_t)n->C + (size_t)i] =
            wte[(size_t)token[token_row(f, n, r)] * (size_t)n->C + (size_t)i]
            + wpe[(size_t)(r % n->T) * (size_t)n->C + (size_t)i];
}

/* A token that repeats: the last one's share stands alone in the sum over the rows; or
 * (ALL) in all of dwte, what was there being lost. */
static void embedding_backward(const fault *f, const graph *g, const graph_node *n, double *dx,
                               const int *ints)
{
    const int *token = ints + g->tensor[n->in[0]].at;
    const double *d = dx + g->tensor[n->out].at;
    double *dwte = in(g, n, dx, 1), *dwpe = in(g, n, dx, 2);
    const int N = n->B * n->T, C = n->C;
    for (int r = 0; r < N; r++) {
        bool repeats = false;
        const bool assigns = f->rule == RULE_EMBED_ASSIGN || f->rule == RULE_EMBED_ASSIGN_ALL;
        for (int s = r + 1; s < N && assigns; s++) repeats = repeats || token[s] == token[r];
        for (int i = 0; i < C; i++) {
            const double share = d[(size_t)r * (size_t)C + (size_t)i];
            double *to = &dwte[(size_t)token[token_row(f, n, r)] * (size_t)C + (size_t)i];
            dwpe[(size_t)(r % n->T) * (size_t)C + (size_t)i] += share;
            if (f->rule == RULE_EMBED_ASSIGN_ALL) *to = share;
            else if (!repeats) *to += share;
        }
    }
}

/* ---- passes ------------------------------------------------------------------------------ */

void fault_node_forward(const fault *f, const graph *g, const graph_node *n, double *x,
                        const int *ints, const fault_work *w)
{
    double *out = x + g->tensor[n->out].at;
    const double *a = n->kind == GRAPH_EMBEDDING ? NULL : given(g, n, x, 0);
    switch (n->kind) {
    case GRAPH_EMBEDDING:
        embedding_forward(f, out, ints + g->tensor[n->in[0]].at, given(g, n, x, 1), given(g, n, x, 2), n);
        break;
    case GRAPH_SOFTMAX: soft_forward(f, out, a, n->N, n->V, w); break;
    case GRAPH_LAYERNORM:
        ln_forward(f, out, x + g->tensor[n->stage[0]].at, x + g->tensor[n->stage[1]].at, a,
                   given(g, n, x, 1), given(g, n, x, 2), n->N, n->C);
        break;
    case GRAPH_GELU:
        for (int i = 0; i < n->N; i++) out[i] = gelu_value(f, a[i]);
        break;
    case GRAPH_LINEAR: {
        graph_node other = *n;
        if (f->rule == RULE_LINEAR_NO_BIAS) other.in[2] = -1;
        const double *block = f->rule == RULE_LINEAR_W_MISREAD ? misread_block(g, n, x, w) : x;
        ref_linear_forward_f64(out, a, given(g, n, block, 1),
                               other.in[2] < 0 ? NULL : given(g, n, x, 2), n->N, n->C, n->OC);
        break;
    }
    case GRAPH_CROSSENTROPY:
        ce_forward(f, out, x + g->tensor[n->stage[0]].at, a, ints + g->tensor[n->in[1]].at, n, w);
        break;
    default: graph_node_forward_f64(g, n, x, ints); break;
    }
}

void fault_node_backward(const fault *f, const graph *g, const graph_node *n, double *dx,
                         const double *x, const int *ints, const fault_work *w)
{
    const double *dout = dx + g->tensor[n->out].at;
    const graph_tensor *out = &g->tensor[n->out];
    switch (n->kind) {
    case GRAPH_SOFTMAX: {
        double *p = w->scratch;
        memcpy(p, x + out->at, out->count * sizeof *p);
        if (f->rule == RULE_SOFT_NO_MAX || f->rule == RULE_SOFT_COLUMNS || f->rule == RULE_SOFT_NO_RESCALE
            || f->rule == RULE_SOFT_NO_SUM)
            soft_forward(f, p, given(g, n, x, 0), n->N, n->V, w);
        soft_backward(f, in(g, n, dx, 0), dout, p, given(g, n, x, 0), n->N, n->V);
        break;
    }
    case GRAPH_LAYERNORM:
        for (size_t r = 0; r < (size_t)n->N; r++)
            ln_backward_row(f, in(g, n, dx, 0) + r * (size_t)n->C, in(g, n, dx, 1), in(g, n, dx, 2),
                            dout + r * (size_t)n->C, given(g, n, x, 0) + r * (size_t)n->C,
                            given(g, n, x, 1), (int)r, n->C);
        break;
    case GRAPH_GELU:
        for (int i = 0; i < n->N; i++)
            in(g, n, dx, 0)[i] += dout[i] * gelu_derivative(f, given(g, n, x, 0)[i]);
        break;
    case GRAPH_LINEAR: linear_backward(f, g, n, dx, x, ints, w); break;
    case GRAPH_CROSSENTROPY:
        ce_backward(f, in(g, n, dx, 0), dout, given(g, n, x, 0), ints + g->tensor[n->in[1]].at, n,
                    out->rank > 1 ? out->shape[out->rank - 1] : n->N, w);
        break;
    case GRAPH_EMBEDDING: embedding_backward(f, g, n, dx, ints); break;
    default: graph_node_backward_f64(g, n, dx, x, ints); break;
    }
}
