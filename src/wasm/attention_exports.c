/* attention_exports.c -- the illustrative example's layer, and its derivatives by
 * two other ways.  See exports.h and lab/attention_example.h.
 *
 *     central   (f(x + h) - f(x - h)) / 2h        f = sum_{t,i} out[t,i] dOut[t,i]
 *     complex   Im f(x + i h) / h
 */
#include "wasm/exports.h"
#include <complex.h>
#include <stdlib.h>
#include <string.h>
#include "lab/attention_example.h"
#include "verify/differences.h"

size_t page_attention_count(int T, int C, int H);
int page_attention_tensor(attention_example_info *out, int i, int T, int C, int H);
vt_status page_attention_run(double *block, int T, int C, int H);
vt_status page_attention_derivative(double *central, double *complex_, const double *block, int T,
                              int C, int H, size_t at, const double *steps, size_t n);

static vt_status check_sizes(int T, int C, int H)
{
    if (attention_example_count(T, C, H) > 0) return VT_OK;
    return fail(&page_error_line, VT_USAGE, "an attention layer of %d rows, %d channels and %d heads: "
                "expected sizes of at least 1, heads that divide the channels, and tensors that "
                "fit in memory", T, C, H);
}

/* Doubles of the block; 0, with a line, where the sizes are none. */
EXPORT(page_attention_count) size_t page_attention_count(int T, int C, int H)
{
    return check_sizes(T, C, H) ? 0 : attention_example_count(T, C, H);
}

EXPORT(page_attention_tensor)
int page_attention_tensor(attention_example_info *out, int i, int T, int C, int H)
{
    return !check_sizes(T, C, H) && attention_example_tensor(out, i, T, C, H);
}

/* Forward and backward of a block whose inputs are written. */
EXPORT(page_attention_run) vt_status page_attention_run(double *block, int T, int C, int H)
{
    const vt_status s = check_sizes(T, C, H);
    if (s) return s;
    attention_example_forward_f64(block, T, C, H);
    attention_example_backward_f64(block, T, C, H);
    return VT_OK;
}

typedef struct layer { double *block; int T, C, H; size_t at; } layer;

static double loss_at(void *context, double x)
{
    const layer *l = context;
    l->block[l->at] = x;
    attention_example_forward_f64(l->block, l->T, l->C, l->H);
    return attention_example_loss_f64(l->block, l->T, l->C, l->H);
}

/* Of the input at place `at` of the block, at n steps. */
EXPORT(page_attention_derivative)
vt_status page_attention_derivative(double *central, double *complex_, const double *block, int T,
                              int C, int H, size_t at, const double *steps, size_t n)
{
    const size_t count = attention_example_count(T, C, H);
    attention_example_info first;               /* of what is no input */
    double *moved = NULL;
    double _Complex *z = NULL;
    vt_status s = check_sizes(T, C, H);
    if (s) goto done;
    (void)attention_example_tensor(&first, ATTENTION_EXAMPLE_INPUTS, T, C, H);
    if (at >= first.offset) {
        s = fail(&page_error_line, VT_USAGE, "entry %zu is no input: expected 0 to %zu", at,
                 first.offset - 1);
        goto done;
    }
    moved = malloc(count * sizeof *moved);
    z = count <= SIZE_MAX / sizeof *z ? malloc(count * sizeof *z) : NULL;
    if (!moved || !z) {
        s = fail_memory(&page_error_line, count * sizeof *moved, "an attention layer");
        goto done;
    }
    memcpy(moved, block, count * sizeof *moved);
    for (size_t i = 0; i < first.offset; i++) z[i] = block[i];
    layer l = { moved, T, C, H, at };
    const differences_function f = { .at = loss_at, .context = &l };
    for (size_t i = 0; i < n; i++) {
        central[i] = differences_central(&f, block[at], steps[i]);
        z[at] = CMPLX(block[at], steps[i]);
        attention_example_forward_c128(z, T, C, H);
        complex_[i] = cimag(attention_example_loss_c128(z, T, C, H)) / steps[i];
    }
done:
    free(moved);
    free(z);
    return s;
}
