/* schedule.c -- the learning rate lr(s) of step s, s = 0, 1, ...
 *
 *     lr(s) = lr_max (s + 1) / warmup,  s < warmup                        (lr.warmup)
 *     x = (s - warmup) / (total - warmup)                                 (lr.share)
 *     lr(s) = lr_min + (lr_max - lr_min) (1 + cos(pi x)) / 2,  s < total  (lr.cosine)
 *     lr(s) = lr_min,  s >= total                                         (lr.end)
 *
 * The first step moves the weights.  The rate is lr_max at s = warmup - 1 and at
 * s = warmup, and lr_min at s = total; it never rises again.  With warmup = total
 * there is no cosine, with warmup = 0 no warm-up; no case divides by zero.
 *
 * The cosine is our own: a rate that differs in its last bit changes every
 * weight, and the C library's cosine differs between processors.
 *
 * There are no restarts, and no other shapes.
 *
 * Reference: I. Loshchilov, F. Hutter, SGDR: Stochastic Gradient Descent with
 * Warm Restarts, ICLR 2017, eq. 5.
 */
#include "train/schedule.h"
#include <math.h>

static const double PI = 3.14159265358979323846;

/* The Taylor series of cos(y), or of sin(y), for 0 <= y <= pi/4: the first term
 * left out is below 2^-53 of the sum. */
static double series(double y, double first, int power)
{
    double term = first, sum = first;
    for (int k = power + 1; k <= power + 17; k += 2) {
        term = -term * (y * y) / (double)(k * (k + 1));
        sum += term;
    }
    return sum;
}

/* cos(pi x) for 0 <= x <= 1: exact at 0, 1/2 and 1.  The differences are exact. */
static double cos_pi(double x)
{
    if (x > 0.5) return -cos_pi(1 - x);
    if (x <= 0.25) return series(PI * x, 1, 0);
    const double y = PI * (0.5 - x);
    return series(y, y, 1);
}

long long schedule_warmup(long long asked, long long steps)
{
    if (asked >= 0) return asked;
    return -asked < steps ? -asked : steps;
}

vt_status schedule_check(const schedule *s, vt_error *err)
{
    if (!(s->lr_max > 0) || !isfinite(s->lr_max))
        return fail(err, VT_USAGE, "learning rate %g: expected a number above 0", s->lr_max);
    if (!(s->lr_min >= 0 && s->lr_min <= s->lr_max))
        return fail(err, VT_USAGE, "lowest learning rate %g: expected 0 to %g, the highest",
                    s->lr_min, s->lr_max);
    if (s->warmup > s->total)
        return fail(err, VT_USAGE, "--warmup %zu: expected at most %zu, the steps of the run",
                    s->warmup, s->total);
    return VT_OK;
}

double schedule_lr(const schedule *s, size_t step)
{
    double lr = s->lr_min;                                                  /* lr.end */
    if (step < s->warmup) {
        lr = s->lr_max * ((double)(step + 1) / (double)s->warmup);          /* lr.warmup */
    } else if (step < s->total) {
        const double x = (double)(step - s->warmup) / (double)(s->total - s->warmup); /* lr.share */
        lr = s->lr_min + (s->lr_max - s->lr_min) * ((1 + cos_pi(x)) / 2);   /* lr.cosine */
    }
    return lr;
}
