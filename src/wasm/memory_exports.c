/* memory_exports.c -- memory, failures, and the small things: random numbers, the
 * learning rate, elementary functions.  See exports.h. */
#include "wasm/exports.h"
#include <math.h>
#include <stdlib.h>
#include "base/elementary.h"
#include "base/rng.h"
#include "train/schedule.h"

vt_error page_error_line;

void *page_alloc(size_t n);
void  page_free(void *p);
const char *page_error(void);

/* Zeroed; NULL where there is none. */
EXPORT(page_alloc) void *page_alloc(size_t n) { return calloc(n ? n : 1, 1); }
EXPORT(page_free) void page_free(void *p) { free(p); }
EXPORT(page_error) const char *page_error(void) { return page_error_line.text; }

/* A failed assertion stops the module.  The C library's would print, and so import a
 * file to print to; here its words are left out of the module, too. */
_Noreturn void __assert_fail(const char *text, const char *file, int line, const char *function);
_Noreturn void __assert_fail(const char *text, const char *file, int line, const char *function)
{
    (void)text; (void)file; (void)line; (void)function;
    __builtin_trap();
}

vt_status page_seed(uint64_t *out, double seed)
{
    *out = 0;
    if (!(seed >= 0 && seed <= 9007199254740992.0) || floor(seed) != seed)
        return fail(&page_error_line, VT_USAGE, "seed %g: expected an integer from 0 to 2^53", seed);
    *out = (uint64_t)seed;
    return VT_OK;
}

/* ---- random numbers ---------------------------------------------------- */

vt_status page_random(double *out, size_t count, const double *seed, size_t words, int normal);

/* default_rng(seed list): standard normals, or uniform doubles. */
EXPORT(page_random)
vt_status page_random(double *out, size_t count, const double *seed, size_t words, int normal)
{
    enum { MOST = 8 };
    uint64_t list[MOST];
    rng r;
    if (words < 1 || words > MOST)
        return fail(&page_error_line, VT_USAGE, "a seed of %zu numbers: expected 1 to %d", words, MOST);
    for (size_t i = 0; i < words; i++) {
        const vt_status s = page_seed(&list[i], seed[i]);
        if (s) return s;
    }
    rng_seed_list(&r, list, words);
    for (size_t i = 0; i < count; i++) out[i] = normal ? rng_normal(&r) : rng_double(&r);
    return VT_OK;
}

/* ---- training ---------------------------------------------------------- */

vt_status page_learning_rate(double *out, double step, double steps, double warmup, double most,
                       double least);

EXPORT(page_learning_rate)
vt_status page_learning_rate(double *out, double step, double steps, double warmup, double most,
                       double least)
{
    const double large = 4294967295.0;          /* what a size_t holds here */
    if (!(step >= 0 && step <= large && steps >= 0 && steps <= large && warmup >= 0 &&
          warmup <= large))
        return fail(&page_error_line, VT_USAGE, "step %g of %g, warm-up %g: expected numbers of steps",
                    step, steps, warmup);
    const schedule s = { .lr_max = most, .lr_min = least, .warmup = (size_t)warmup,
                         .total = (size_t)steps };
    const vt_status status = schedule_check(&s, &page_error_line);
    if (status) return status;
    *out = schedule_lr(&s, (size_t)step);
    return VT_OK;
}

/* ---- elementary functions ---------------------------------------------- */

double page_exp(double x);
double page_log(double x);
double page_tanh(double x);

EXPORT(page_exp)  double page_exp(double x)  { return exp_f64(x); }
EXPORT(page_log)  double page_log(double x)  { return log_f64(x); }
EXPORT(page_tanh) double page_tanh(double x) { return tanh_f64(x); }
