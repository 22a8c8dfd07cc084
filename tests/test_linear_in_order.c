/* test_linear_in_order.c -- the wiring's linear has the definition's bits, for every
 * scalar, at all edges of its blocks.
 */
#include "support.h"
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"

#define VT_SCALAR 32
#include "kernels/definitions.h"
#include "linear_in_order_pass.h"
#undef VT_SCALAR
#define VT_SCALAR 128
#include "kernels/definitions.h"
#include "linear_in_order_pass.h"
#if VT_FLOAT128
#undef VT_SCALAR
#define VT_SCALAR 113
#include "kernels/definitions.h"
#include "linear_in_order_pass.h"
#endif
#undef VT_SCALAR
#define VT_SCALAR 64
#include "kernels/definitions.h"
#include "linear_in_order_pass.h"

/* Blocks are 16 rows, 64 columns and 8 inputs: one less, the same, one more. */
static void every_bit_is_the_definitions(void **state)
{
    static const int rows[] = { 1, 2, 15, 16, 17, 33 }, inputs[] = { 1, 2, 7, 8, 9, 17 },
                     columns[] = { 1, 2, 3, 63, 64, 65, 130 };
    size_t compared = 0;
    rng r;
    (void)state;
    rng_seed(&r, 1);
    for (size_t a = 0; a < sizeof rows / sizeof *rows; a++)
    for (size_t b = 0; b < sizeof inputs / sizeof *inputs; b++)
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        const int N = rows[a], C = inputs[b], OC = columns[c];
        compared += ref_same_linear_f32(N, C, OC, &r);
        compared += ref_same_linear_f64(N, C, OC, &r);
        compared += ref_same_linear_c128(N, C, OC, &r);
#if VT_FLOAT128
        if (N < 18 && OC < 66) compared += ref_same_linear_f128(N, C, OC, &r);
#endif
    }
    assert_true(compared > 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_bit_is_the_definitions) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
