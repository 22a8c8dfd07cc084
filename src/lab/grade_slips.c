/* grade_slips.c -- see grade_slips.h.
 *
 * The diagnosis (verify/diagnosis/diagnose.h) knows what goes wrong in kernels.  Here are slips of a
 * first attempt in C: K and V exchanged, dK[t] where dK[u] is meant, 1/D of two int.  Each
 * is computed, and told only where all of the tensor agrees with it to rounding; or is a
 * trace in memory that nothing else leaves.
 *
 *   backward through the attention of one head, n keys seen by query t:
 *     dP[t][u] = sum_i dO[t][i] V[u][i]
 *     ds[t][u] = P[t][u] (dP[t][u] - sum_{w<n} P[t][w] dP[t][w]) / sqrt(D)
 *     dV[u] += P[t][u] dO[t],  dQ[t] += ds[t][u] K[u],  dK[u] += ds[t][u] Q[t]
 *   and dWv = X^T dV in exercise 3, likewise dWk, dWq.
 */
#include "lab/grade_slips.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 4096 };           /* elements of a tensor; what is larger is not looked at */

/* The tensor in question. */
typedef struct place {
    const grading *g;
    const trial   *t;
    const exercise_tensor *e;
    size_t at, count;
} place;

static const double *values(const trial *t, const char *name)
{
    const int i = graph_find(&t->c.g, name);
    return i < 0 ? NULL : t->c.x + t->c.g.tensor[i].at;
}

static double expected_of(const place *p, size_t k)
{
    return p->g->f->pass == VT_KERNEL_BACKWARD ? p->t->c.dx[p->at + k] : p->t->c.x[p->at + k];
}

static double found_of(const place *p, size_t k)
{
    const double found = trial_found(p->g, p->t, p->at + k);
    return p->g->f->pass == VT_KERNEL_BACKWARD ? found - p->t->c.start[p->at + k] : found;
}

static bool is_wrong(const place *p, size_t k)
{
    return !(fabs(found_of(p, k) - expected_of(p, k)) <= trial_bound(p->g, p->t, p->at + k));
}

/* All of it is `like`, to rounding, and `like` is not what it should be. */
static bool fits(const place *p, const double *like)
{
    bool other = false;
    for (size_t k = 0; k < p->count; k++) {
        const double room = 16 * trial_bound(p->g, p->t, p->at + k) + 256 * DBL_EPSILON * fabs(like[k]);
        if (!(fabs(found_of(p, k) - like[k]) <= room)) return false;
        if (fabs(like[k] - expected_of(p, k)) > 4 * room) other = true;
    }
    return other;
}

/* "P" ": what is wrong with it" */
static bool told(grade_slip *out, fault_kind kind, const char *hint, const char *text,
                 const char *name)
{
    out->kind = kind;
    out->hint = hint;
    snprintf(out->what, sizeof out->what, "%s%s", name, text);
    return true;
}

/* ---- traces in memory --------------------------------------------------------------- */

bool grade_half_written(const grading *g, const trial *t, const exercise_tensor *first)
{
    int number;
    const graph_tensor *tensor = trial_tensor(&t->c, first, &number);
    const place p = { g, t, first, tensor->at, tensor->count };
    const bool adds = g->f->pass == VT_KERNEL_BACKWARD;
    bool missed = false;
    if (p.count < 4) return false;
    for (size_t k = 0; k < p.count; k++) {
        const double found = trial_found(g, t, p.at + k);
        const bool written = adds ? found != t->c.start[p.at + k] : !kernel_host_unwritten(&t->found.x[p.at + k]);
        if (k < p.count / 2 && (!written || !is_wrong(&p, k))) return false;
        if (k < (p.count + 1) / 2) continue;
        if (written) return false;
        if (is_wrong(&p, k)) missed = true;
    }
    return missed;
}

/* Numbers beyond all sense, from other bytes than were meant. */
static bool enormous(const place *p)
{
    double most = 0, largest = 0;
    for (size_t k = 0; k < p->count; k++) {
        if (isfinite(found_of(p, k))) most = fmax(most, fabs(found_of(p, k)));
        largest = fmax(largest, fabs(expected_of(p, k)));
    }
    return most > 1e12 * (1 + largest);
}

static bool by_memory(const place *p, grade_slip *out)
{
    static const char declared[] = "are the arguments declared as in the exercise: the same order, "
        "and double, not float?";
    const char *name = p->g->out->tensor;
    if (grade_half_written(p->g, p->t, p->e))
        return told(out, FAULT_UNKNOWN, declared, ": the first half of its memory is written, as if "
                    "it were an array of float", name);
    if (enormous(p))
        return told(out, FAULT_UNKNOWN, declared, " holds numbers that come from no such inputs", name);
    if (p->g->f->pass == VT_KERNEL_BACKWARD) return false;
    for (size_t k = 0; k < p->count; k++)
        if (kernel_host_from_unwritten(&p->t->found.x[p->at + k]))
            return told(out, FAULT_NOT_FINITE, "set it first: += adds to what is there, and nothing "
                        "is there before you write", " is added to, or read, before it is set", name);
    return false;
}

/* Near the right numbers, but to seven digits. */
static bool by_float(const place *p, grade_slip *out)
{
    const double least = ldexp(1, -36), most = ldexp(1, -19);
    double largest = 0, error = 0;
    size_t wrong = 0, all = 0;
    for (size_t k = 0; k < p->count; k++) {
        largest = fmax(largest, fabs(expected_of(p, k)));
        error = fmax(error, fabs(found_of(p, k) - expected_of(p, k)));
        if (isnan(found_of(p, k))) return false;
        if (expected_of(p, k) == 0) continue;
        all++;
        wrong += is_wrong(p, k);
    }
    if (!(error >= least * largest && error <= most * largest) || 2 * wrong < all) return false;
    return told(out, FAULT_ROUNDED, "float has 7 digits: is one of your variables a float, or one "
                "of the functions expf, sqrtf, logf?", " is right to 7 digits only, as if something "
                "were rounded to float", p->g->out->tensor);
}

/* ---- one for another ------------------------------------------------------------------ */

/* Two outputs, each where the other should be. */
static bool exchanged(const place *p, grade_slip *out)
{
    char text[80];
    for (size_t i = 0; i < EXERCISE_TENSORS && p->g->f->out[i].name; i++) {
        const exercise_tensor *e = &p->g->f->out[i];
        int number;
        const graph_tensor *at = trial_tensor(&p->t->c, e, &number);
        const place other = { p->g, p->t, e, at->at, at->count };
        if (e == p->e || at->count != p->count) continue;
        if (!fits(p, p->t->c.x + at->at) || !fits(&other, p->t->c.x + p->at)) continue;
        snprintf(text, sizeof text, " and %s are exchanged: each holds what the other should", e->name);
        return told(out, FAULT_SWAPPED, NULL, text, p->e->name);
    }
    return false;
}

/* ---- the softmax of exercise 2 -------------------------------------------------------- */

static bool by_softmax(const place *p, grade_slip *out)
{
    const int V = p->t->c.z.V;
    const int number = graph_find(&p->t->c.g, "p");
    double plus[MOST], no_p[MOST];
    if (p->t->c.z.op != VT_OP_SOFTMAX || number < 0 || V < 2) return false;
    const size_t at = p->t->c.g.tensor[number].at;
    for (size_t k = 0; k < p->count; k += (size_t)V) {
        const double *prob = p->t->c.x + at + k, *dp = p->t->c.dout + at + k;
        double row = 0;
        for (int v = 0; v < V; v++) row += prob[v] * dp[v];
        for (int v = 0; v < V; v++) {
            plus[k + (size_t)v] = prob[v] * (dp[v] + row);
            no_p[k + (size_t)v] = dp[v] - row;
        }
    }
    if (fits(p, plus))
        return told(out, FAULT_SIGN, "the sum over the row is subtracted: dp[v] - sum_w dp[w] p[w]",
                    ": the row's sum has the wrong sign", p->e->gradient);
    if (fits(p, no_p))
        return told(out, FAULT_WRONG_FACTOR, "p[v] stands in front of both terms: p[v] (dp[v] - "
                    "sum_w dp[w] p[w])", ": the factor p[v] is missing", p->e->gradient);
    return false;
}

/* ---- attention ------------------------------------------------------------------------- */

typedef struct view {
    int T, S, H, D;
    bool causal;
    const double *q, *k, *v, *P, *dO;
} view;

static bool view_of(const trial *t, view *a)
{
    const graph_sizes *z = &t->c.z;
    const int o = graph_find(&t->c.g, "o");
    const bool lab = z->op == VT_OP_LAB;
    if ((!lab && z->op != VT_OP_ATTENTION) || o < 0) return false;
    *a = (view){ .T = z->T, .S = z->S, .H = z->NH, .D = z->HS, .causal = z->causal,
                 .q = values(t, "q"), .k = values(t, "k"), .v = values(t, "v"),
                 .P = values(t, lab ? "p" : "attention.att"), .dO = t->c.dx + t->c.g.tensor[o].at };
    return a->q && a->k && a->v && a->P;
}

static int seen_by(const view *a, int t) { return a->causal ? a->S - a->T + t + 1 : a->S; }

static size_t cell(const view *a, int t, int h, int i)
{
    return ((size_t)t * (size_t)a->H + (size_t)h) * (size_t)a->D + (size_t)i;
}

static size_t pair(const view *a, int h, int t, int u)
{
    return ((size_t)h * (size_t)a->T + (size_t)t) * (size_t)a->S + (size_t)u;
}

/* P where all scores are 0, and where query t sees the keys u <= T - S + t. */
static void wrong_probs(const view *a, double *even, double *narrow)
{
    for (int h = 0; h < a->H; h++)
    for (int t = 0; t < a->T; t++) {
        const int n = seen_by(a, t), few = a->T - a->S + t + 1;
        double kept = 0;
        for (int u = 0; u < few && u < n; u++) kept += a->P[pair(a, h, t, u)];
        for (int u = 0; u < a->S; u++) {
            even[pair(a, h, t, u)] = u < n ? 1.0 / n : 0;
            narrow[pair(a, h, t, u)] = u < few ? a->P[pair(a, h, t, u)] / kept : 0;
        }
    }
}

static bool by_probs(const place *p, const view *a, grade_slip *out)
{
    double even[MOST], narrow[MOST];
    wrong_probs(a, even, narrow);
    if (fits(p, even))
        return told(out, FAULT_ZERO, "1/D of two int is 0 in C: divide by sqrt(D), or by a double. Or "
                    "is the sum over i of q . k lost?", ": every key that is seen has the same share, "
                    "as if all scores were 0", "P");
    if (a->causal && a->S > a->T && fits(p, narrow))
        return told(out, FAULT_MASK_NARROW, "query 0 stands behind S - T keys, and sees them and its "
                    "own", ": query t sees the keys u <= T - S + t, not u <= S - T + t", "P");
    return false;
}

/* O of P[u][t]; needs as many keys as queries. */
static bool by_values(const place *p, const view *a, grade_slip *out)
{
    double like[MOST] = { 0 };
    if (a->T != a->S) return false;
    for (int h = 0; h < a->H; h++)
    for (int t = 0; t < a->T; t++)
    for (int u = 0; u < seen_by(a, t); u++)
        for (int i = 0; i < a->D; i++)
            like[cell(a, t, h, i)] += a->P[pair(a, h, u, t)] * a->v[cell(a, u, h, i)];
    return fits(p, like) && told(out, FAULT_TRANSPOSED, NULL, ": P is read as P[u][t], not P[t][u]", "O");
}

/* Q of W[i][c], for W[c][i]. */
static bool by_projection(const place *p, grade_slip *out)
{
    const size_t C = (size_t)p->t->c.z.C, D = (size_t)p->t->c.z.HS;
    const char letter = p->e->graph[0], weight[] = { 'w', letter, '\0' };
    const double *X = values(p->t, "x"), *W = values(p->t, weight);
    double like[MOST];
    char text[80];
    if (!X || !W || (D - 1) * D + C > C * D) return false;
    for (size_t k = 0; k < p->count; k++) {
        like[k] = 0;
        for (size_t c = 0; c < C; c++) like[k] += X[k / D * C + c] * W[k % D * D + c];
    }
    snprintf(text, sizeof text, ": W%c is read as W%c[i][c], a row of it, not a column", letter, letter);
    return fits(p, like) && told(out, FAULT_TRANSPOSED, NULL, text, p->e->name);
}

typedef enum slip {
    TOP_LEFT,           /* u <= t, not u <= S - T + t */
    NOT_OWN,            /* ds of a query's own key is left out */
    OTHER_ROW,          /* added to row t for u, or to u for t */
    TURNED,             /* t and u exchanged: dK[t] += ds[t][u] Q[u] */
    P_TURNED,           /* dV of P[u][t] */
    SLIPS
} slip;

/* Adds query t's part of dV, dQ or dK ('V', 'Q', 'K'). */
static void add_query(const view *a, slip s, char which, int h, int t, double *out)
{
    const int own = seen_by(a, t), n = s == TOP_LEFT ? t + 1 : own;
    double dP[MOST], row = 0;
    for (int u = 0; u < n; u++) {
        dP[u] = 0;
        for (int i = 0; i < a->D; i++) dP[u] += a->dO[cell(a, t, h, i)] * a->v[cell(a, u, h, i)];
        row += dP[u] * a->P[pair(a, h, t, u)];
    }
    const int last = s == NOT_OWN && which != 'V' ? n - 1 : n;
    for (int u = 0; u < last; u++) {
        const double share = s == P_TURNED ? a->P[pair(a, h, u, t)] : a->P[pair(a, h, t, u)];
        /* cppcheck-suppress uninitvar ; u < last <= n */
        const double ds = share * (dP[u] - row) / sqrt(a->D);
        const bool turned = s == TURNED;
        int to = which == 'Q' ? t : u, from = which == 'Q' ? u : t;
        if (s == OTHER_ROW || turned) to = which == 'Q' ? u : t;
        if (turned) from = which == 'Q' ? t : u;
        const double *x = which == 'V' ? a->dO : which == 'Q' ? a->k : a->q;
        for (int i = 0; i < a->D; i++)
            out[cell(a, to, h, i)] += (which == 'V' ? share : ds) * x[cell(a, from, h, i)];
    }
}

/* The gradient with the slip; false: it does not concern these sizes. */
static bool with_slip(const place *p, const view *a, slip s, char which, double *out)
{
    double d[MOST] = { 0 };
    if (s == TOP_LEFT && (!a->causal || a->S == a->T)) return false;
    if (s == NOT_OWN && (!a->causal || which == 'V')) return false;
    if ((s == TURNED || s == P_TURNED || (s == OTHER_ROW && which == 'Q')) && a->T != a->S) return false;
    if (s == P_TURNED && which != 'V') return false;
    for (int h = 0; h < a->H; h++)
        for (int t = 0; t < a->T; t++) add_query(a, s, which, h, t, d);
    if (p->t->c.z.op != VT_OP_LAB) {
        memcpy(out, d, p->count * sizeof *out);
        return true;
    }
    const double *X = values(p->t, "x");
    const size_t C = (size_t)p->t->c.z.C, D = (size_t)a->D;
    for (size_t k = 0; k < p->count; k++) {
        out[k] = 0;
        for (size_t t = 0; t < (size_t)a->T; t++) out[k] += X[t * C + k / D] * d[t * D + k % D];
    }
    return true;
}

static bool tell_gradient(const view *a, slip s, char which, const char *name, grade_slip *out)
{
    char text[120];
    const char *head = a->H > 1 ? "[h]" : "", *to = which == 'Q' ? "t" : "u", *not = which == 'Q' ? "u" : "t";
    const char *weight = which == 'V' ? "P" : "ds", *x = which == 'V' ? "dO" : which == 'Q' ? "K" : "Q";
    switch (s) {
    case TOP_LEFT:
        return told(out, FAULT_MASK_NARROW, "the loops over keys end where they do in the forward "
                    "pass", ": query t gives to the keys u <= t, not u <= S - T + t", name);
    case NOT_OWN:
        return told(out, FAULT_MASK_NARROW, "a query sees its own key, too: the last u of the loop",
                    ": ds of a query's own key is left out", name);
    case OTHER_ROW:
        snprintf(text, sizeof text, ": d%c[%s]%s is added to, where d%c[%s]%s is meant", which, not, head,
                 which, to, head);
        return told(out, FAULT_POSITION_SHIFT, NULL, text, name);
    case P_TURNED:
        return told(out, FAULT_TRANSPOSED, NULL, ": P is read as P[u][t], not P[t][u]", name);
    default:
        snprintf(text, sizeof text, ": t and u are exchanged; d%c[%s]%s gets %s of query t and key u, times "
                 "%s[%s]%s", which, to, head, weight, x, not, head);
        return told(out, FAULT_TRANSPOSED, NULL, text, name);
    }
}

static bool by_gradient(const place *p, const view *a, grade_slip *out)
{
    double like[MOST];
    const char *name = p->e->gradient;
    const char which = name[strlen(name) - 1] == 'v' ? 'V' : name[strlen(name) - 1] == 'k' ? 'K'
                     : name[strlen(name) - 1] == 'q' ? 'Q' : name[strlen(name) - 1];
    if (!strchr("QKV", which)) return false;
    if (2 * a->S * a->H * a->D > MOST) return false;
    for (slip s = 0; s < SLIPS; s++)
        if (with_slip(p, a, s, which, like) && fits(p, like)) return tell_gradient(a, s, which, name, out);
    return false;
}

/* ---- the loss -------------------------------------------------------------------------- */

typedef enum loss_slip { NEXT_TARGET, PREVIOUS_TARGET, NO_LARGEST } loss_slip;

static double loss_with(const trial *t, loss_slip s, const int *target, int rows, int row)
{
    const int V = t->c.z.V;
    const int y = s == NEXT_TARGET ? target[(row + 1) % rows]
                : s == PREVIOUS_TARGET ? target[(row + rows - 1) % rows] : target[row];
    const double *z = values(t, "logits") + (size_t)row * (size_t)V, tau = t->c.z.temperature;
    double largest = z[0] / tau, sum = 0;
    if (y < 0) return 0;
    for (int v = 1; v < V; v++) largest = fmax(largest, z[v] / tau);
    for (int v = 0; v < V; v++) sum += exp(z[v] / tau - largest);
    return log(sum) - z[y] / tau + (s == NO_LARGEST ? 0 : largest);
}

static bool by_loss(const place *p, grade_slip *out)
{
    const graph_sizes *z = &p->t->c.z;
    const bool lab = z->op == VT_OP_LAB;
    const int rows = lab ? z->T : z->N, number = graph_find(&p->t->c.g, "target");
    double like[MOST];
    if ((!lab && z->op != VT_OP_CROSSENTROPY) || number < 0) return false;
    const int *target = p->t->c.ints + p->t->c.g.tensor[number].at;
    for (loss_slip s = NEXT_TARGET; s <= NO_LARGEST; s++) {
        double sum = 0;
        for (int row = 0; row < rows; row++) sum += like[row] = loss_with(p->t, s, target, rows, row);
        if (lab) like[0] = sum / rows;
        if (!fits(p, like)) continue;
        if (s == NO_LARGEST)
            return told(out, FAULT_CONSTANT, "log sum exp(x) is largest + log(sum of exp(x - largest))",
                        ": the largest is subtracted, and not added again behind the log", "loss");
        return told(out, FAULT_POSITION_SHIFT, "row t of the logits goes with target[t]: the shift by "
                    "one is in the targets already", s == NEXT_TARGET ?
                    ": each position takes the target of the next position" :
                    ": each position takes the target of the position before", "loss");
    }
    return false;
}

/* ---- all ------------------------------------------------------------------------------- */

bool grade_slip_of(const grading *g, const trial *t, const exercise_tensor *first,
                   grade_slip *out)
{
    int number;
    const graph_tensor *tensor = trial_tensor(&t->c, first, &number);
    const place p = { g, t, first, tensor->at, tensor->count };
    view a;
    if (p.count > MOST) return false;
    if (by_memory(&p, out) || by_float(&p, out)) return true;
    const bool attention = view_of(t, &a);
    if (g->f->pass == VT_KERNEL_BACKWARD)
        return by_softmax(&p, out) || (attention && by_gradient(&p, &a, out));
    if (exchanged(&p, out)) return true;
    if (strcmp(first->name, "P") == 0 && attention) return by_probs(&p, &a, out);
    if (strcmp(first->name, "O") == 0 && attention) return by_values(&p, &a, out);
    if (t->c.z.op == VT_OP_LAB && strchr("QKV", first->name[0])) return by_projection(&p, out);
    return strcmp(first->name, "loss") == 0 && by_loss(&p, out);
}
