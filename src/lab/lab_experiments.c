/* lab_experiments.c -- see lab.h: why scores are divided by sqrt(d_head), and
 * what a temperature does.
 *
 * Scaling.  q and k have entries of mean 0 and variance 1, so a score
 * q . k = sum_i q_i k_i has mean 0 and variance d_head.  Unscaled, the softmax of
 * such scores comes close to one hot as d_head grows, and its Jacobian
 *
 *     J = diag(p) - p p^T,   |J|^2 = sum_i p_i^2 ((1 - p_i)^2 + sum_{j != i} p_j^2)
 *
 * to 0: what comes back through it teaches q and k nothing.
 *
 * Errors.  A trial has its own keys and its own queries; trials are independent,
 * what lies within one is not.  The error of a mean is therefore the standard
 * deviation of the trials' means over sqrt(trials); that of the scores' standard
 * deviation s follows from their mean square: error(s^2) / 2s.
 */
#include <math.h>
#include <stdlib.h>
#include "base/elementary.h"
#include "base/rng.h"
#include "base/status.h"
#include "lab/lab.h"

/* The lab is to answer at once: d_head 1024 costs most of its time. */
enum { KEYS = VT_LAB_KEYS, QUERIES = 8, TRIALS = 16, CELLS = QUERIES * KEYS };

static const double LN2 = 0.69314718055994530942;

/* Sums over trials, of a number and its square. */
typedef struct tally { double sum, squares; } tally;

static void count(tally *t, double x)
{
    t->sum += x;
    t->squares += x * x;
}

static vt_lab_measure measure(const tally *t)
{
    const double mean = t->sum / TRIALS;
    const double spread = (t->squares - t->sum * mean) / (TRIALS - 1);
    return (vt_lab_measure){ .value = mean, .error = sqrt(fmax(spread, 0) / TRIALS) };
}

/* 1 - p is summed from the others: near one hot it would cancel. */
double lab_jacobian(const double *p, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        double rest = 0, rest_squares = 0;
        for (size_t j = 0; j < n; j++) {
            if (j == i) continue;
            rest += p[j];
            rest_squares += p[j] * p[j];
        }
        squares += p[i] * p[i] * (rest * rest + rest_squares);
    }
    return sqrt(squares);
}

/* The means over a trial's rows of the largest probability and of |J|. */
static void count_rows(tally *weight, tally *gradient, const double *scores)
{
    double p[CELLS], largest = 0, size = 0;
    ref_softmax_forward_f64(p, scores, QUERIES, KEYS);
    for (size_t row = 0; row < QUERIES; row++) {
        double most = 0;
        for (size_t k = 0; k < KEYS; k++) most = fmax(most, p[row * KEYS + k]);
        largest += most;
        size += lab_jacobian(p + row * KEYS, KEYS);
    }
    count(weight, largest / QUERIES);
    count(gradient, size / QUERIES);
}

vt_status lab_scaling(vt_lab_scaling *out, uint64_t seed, vt_error *err)
{
    const int d = out->d_head;
    const size_t nq = QUERIES * (size_t)d, nk = KEYS * (size_t)d;
    double *q = malloc((nq + nk) * sizeof *q), scores[CELLS];
    tally mean = { 0 }, squares = { 0 }, weight[2] = { { 0 } }, gradient[2] = { { 0 } };
    rng r;
    if (!q) return fail_memory(err, (nq + nk) * sizeof *q, "queries and keys");
    rng_stream_seed(&r, seed, RNG_LAB, (uint64_t)d);
    for (int trial = 0; trial < TRIALS; trial++) {
        double sum = 0, square = 0;
        for (size_t i = 0; i < nq + nk; i++) q[i] = rng_normal(&r);
        ref_linear_forward_f64(scores, q, q + nq, NULL, QUERIES, d, KEYS);    /* keys as columns */
        for (size_t i = 0; i < CELLS; i++) {
            sum += scores[i];
            square += scores[i] * scores[i];
        }
        count(&mean, sum / CELLS);
        count(&squares, square / CELLS);
        count_rows(&weight[0], &gradient[0], scores);
        for (size_t i = 0; i < CELLS; i++) scores[i] /= sqrt((double)d);
        count_rows(&weight[1], &gradient[1], scores);
    }
    free(q);
    const vt_lab_measure centre = measure(&mean), second = measure(&squares);
    out->rows = QUERIES * TRIALS;
    out->score_std.value = sqrt(second.value - centre.value * centre.value);
    out->score_std.error = second.error / (2 * out->score_std.value);
    out->weight_raw = measure(&weight[0]);
    out->weight_scaled = measure(&weight[1]);
    out->gradient_raw = measure(&gradient[0]);
    out->gradient_scaled = measure(&gradient[1]);
    return VT_OK;
}

void lab_soften(vt_lab_soft *out, const double *logits)
{
    double z[VT_LAB_V];
    for (size_t v = 0; v < VT_LAB_V; v++) z[v] = logits[v] / out->temperature;
    ref_softmax_forward_f64(out->probs, z, 1, VT_LAB_V);
    out->entropy = 0;
    for (size_t v = 0; v < VT_LAB_V; v++)               /* p log p -> 0 with p */
        if (out->probs[v] > 0) out->entropy -= out->probs[v] * log_f64(out->probs[v]) / LN2;
}
