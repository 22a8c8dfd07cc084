/* differences.c -- see differences.h.
 *
 * Steps are powers of two, so that x + h is exact or nearly so; those of the
 * ladder halve, so that the points of one step serve the next: a further step
 * costs two evaluations.
 */
#include "verify/differences.h"
#include <float.h>
#include <math.h>

#define U 1.1102230246251565e-16        /* 2^-53: one rounding */

/* The rung k of a ladder is the step h0 2^(k - START); the points of an estimate
 * at k are those of k .. k + 3. */
enum { RUNGS = 64, START = 44, HIGHEST = RUNGS - 4 };

typedef struct ladder {
    const differences_function *f;
    double   x, fx, h0;                 /* h0: the step of rung START */
    uint64_t branches;                  /* at x */
    double   plus[RUNGS], minus[RUNGS];
    bool     known[RUNGS], flip[RUNGS];
    int      evaluations;
    bool     left_domain;
} ladder;

static double step_of(const ladder *l, int k) { return ldexp(l->h0, k - START); }

static double call(ladder *l, double x, bool *flip)
{
    const double value = l->f->at(l->f->context, x);
    l->evaluations++;
    if (l->f->branches && l->f->branches(l->f->context) != l->branches) *flip = true;
    return value;
}

static void look(ladder *l, int k)
{
    if (l->known[k]) return;
    const double h = step_of(l, k);
    l->known[k] = true;
    l->plus[k] = call(l, l->x + h, &l->flip[k]);
    l->minus[k] = call(l, l->x - h, &l->flip[k]);
    if (!isfinite(l->plus[k]) || !isfinite(l->minus[k])) l->left_domain = true;
}

/* D5 of rung k, from points that were looked at. */
static double five_points(const ladder *l, int k)
{
    const double h = step_of(l, k);
    return (8 * (l->plus[k] - l->minus[k])
            - (l->plus[k + 1] - l->minus[k + 1])) / (12 * h);           /* diff.five */
}

static double raise_to(double largest, double x) { return fabs(x) > largest ? fabs(x) : largest; }

static double noise_of(const ladder *l) { return l->f->noise > 0 ? l->f->noise : U; }

/* How far left and right derivative are from each other at rung k; 0 where
 * rounding may explain it. */
static double kink(ladder *l, int k)
{
    const double noise = noise_of(l);
    if (k < 0) return 0;
    look(l, k);
    const double h = step_of(l, k);
    const double gap = fabs((l->plus[k] - l->fx) - (l->fx - l->minus[k])) / h;
    const double size = raise_to(raise_to(fabs(l->fx), l->plus[k]), l->minus[k]);
    return gap > 8 * noise * size / h ? gap : 0;
}

/* False where a point of the stencil is NaN or Inf. */
static bool estimate(ladder *l, int k, differences *out)
{
    const double noise = noise_of(l), h = step_of(l, k);
    double size = fabs(l->fx);
    *out = (differences){ .step = h, .unchanged = true };
    if (!(h > 0) || l->x + h == l->x || l->x - h == l->x) return false;
    for (int i = k; i < k + 4; i++) {
        look(l, i);
        if (!isfinite(l->plus[i]) || !isfinite(l->minus[i])) return false;
        size = raise_to(raise_to(size, l->plus[i]), l->minus[i]);
        out->unchanged = out->unchanged && l->plus[i] == l->fx && l->minus[i] == l->fx;
        out->branch_flip = out->branch_flip || l->flip[i];
    }
    const double d0 = five_points(l, k), d1 = five_points(l, k + 1), d2 = five_points(l, k + 2);
    out->value = d0;
    out->truncation = fmax(fabs(d0 - d1), fabs(d1 - d2) / 16);
    out->rounding = fmax(1.5 * (noise * size + DBL_TRUE_MIN) / h, DBL_TRUE_MIN)
                  + 1.5 * fabs(d0) * U * (fabs(l->x) + 2 * h) / h;
    out->bar = out->truncation + out->rounding;
    out->right = (l->plus[k] - l->fx) / h;
    out->left = (l->fx - l->minus[k]) / h;
    return isfinite(out->bar);
}

/* Left and right differ by h f'' where f is smooth: by a sixteenth four rungs
 * down.  Looked at below the best step, where the kink is not hidden by f''. */
static differences_verdict judge(ladder *l, const differences *d, int rung)
{
    double kinks[3];
    if (rung < 12) rung = 12;
    for (int i = 0; i < 3; i++) kinks[i] = kink(l, rung - 4 * (i + 1));
    if (kinks[2] > 0 && kinks[2] >= kinks[1] / 4 && kinks[1] >= kinks[0] / 4)
        return DIFFERENCES_NOT_SMOOTH;
    return d->bar < fabs(d->value) ? DIFFERENCES_FINE : DIFFERENCES_NO_RESOLUTION;
}

/* How often the bar may fail to fall before a search ends: for longer while the
 * best is a poor one. */
static int patience(const differences *best)
{
    return best->unchanged || best->bar <= 1e-3 * fabs(best->value) ? 2 : 8;
}

static bool enough(const ladder *l, const differences *d)
{
    return l->f->enough > 0 && d->bar <= l->f->enough * fabs(d->value);
}

/* Downwards from START, then upwards, unless smaller steps were better: the bar has
 * one minimum. */
static bool search(ladder *l, differences *best)
{
    bool any = false;
    int rung = START;
    for (int down = 1; down >= 0 && !(any && (enough(l, best) || rung < START - 1)); down--) {
        int rises = 0;
        double last = (double)INFINITY;
        for (int k = down ? START : START + 1;
             k >= 0 && k <= HIGHEST && !(any && rises >= patience(best)); k += down ? -1 : 1) {
            differences d;
            if (!estimate(l, k, &d)) {
                if (down) continue;             /* a smaller step may stay inside */
                break;
            }
            if (d.bar > 0.9 * last) rises++;
            last = d.bar;
            if (any && !(d.bar < best->bar)) continue;
            *best = d;
            rung = k;
            any = true;
            if (enough(l, best)) break;
        }
    }
    if (!any) return false;
    best->verdict = judge(l, best, rung);
    return true;
}

double differences_central(const differences_function *f, double x, double h)
{
    return (f->at(f->context, x + h) - f->at(f->context, x - h)) / (2 * h); /* diff.central */
}

/* The power of two at u^(1/5) = 2^-10.6 of the scale. */
static double first_step(double scale)
{
    int e;
    (void)frexp(scale, &e);
    return ldexp(1, e - 12);
}

differences differences_adaptive(const differences_function *f, double x)
{
    const double scales[] = { f->scale, fabs(x), 1 };
    differences best = { .value = (double)NAN, .bar = (double)INFINITY,
                         .verdict = DIFFERENCES_UNDEFINED };
    int evaluations = 0;
    bool left_domain = false, any = false;
    for (int i = 0; i < 3; i++) {
        if (!(scales[i] > 0) || !isfinite(scales[i]) || (i > 0 && scales[i] == scales[i - 1]))
            continue;
        ladder l = { .f = f, .x = x, .h0 = first_step(scales[i]) };
        differences d = best;
        l.fx = call(&l, x, &(bool){ false });
        if (f->branches) l.branches = f->branches(f->context);
        const bool found = isfinite(l.fx) && search(&l, &d);
        evaluations += l.evaluations;
        left_domain = left_domain || l.left_domain;
        if (!isfinite(l.fx)) break;
        if (!found) continue;
        if (!any || d.bar < best.bar) best = d;
        any = true;
        /* Where no scale was given, the next is tried while this one tells little. */
        if (f->scale > 0 || (best.verdict == DIFFERENCES_FINE &&
                             best.bar <= 1e-6 * fabs(best.value)))
            break;
    }
    best.evaluations = evaluations;
    best.left_domain = left_domain;
    return best;
}

const char *differences_words(differences_verdict v)
{
    switch (v) {
    case DIFFERENCES_FINE:          return "fine";
    case DIFFERENCES_NO_RESOLUTION: return "no resolution at this scale";
    case DIFFERENCES_NOT_SMOOTH:    return "not smooth here";
    default:                        return "undefined";
    }
}
