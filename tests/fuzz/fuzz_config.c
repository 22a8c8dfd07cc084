/* fuzz_config.c -- config.json: sizes that a model can have, and their sums.
 *
 * Sizes that are accepted have as many parameters as the sum over the tensors has in
 * 128 bits, written without a loop over layers, and are read back as they are written.
 */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>
#include "model/checkpoint.h"

__extension__ typedef unsigned __int128 wide;

static wide parameters(const gpt_config *z)
{
    const wide L = (wide)z->L, C = (wide)z->C, FF = (wide)z->FF, T = (wide)z->T, V = (wide)z->V;
    const wide layer = 4 * C                                /* gains and biases of both norms */
                     + C * 3 * C + 3 * C + C * C + C        /* attention and its projection */
                     + C * FF + FF + FF * C + C;            /* the MLP */
    return V * C + T * C + L * layer + 2 * C + (z->tied ? 0 : V * C);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *root = NULL;
    gpt_config z;
    unsigned char *copy = fuzz_copy(data, size);
    vt_status s = js_parse(&root, copy, size, "config.json", &fuzz_error);
    free(copy);
    if (s == VT_OK) s = checkpoint_read_sizes(&z, root, "config.json", &fuzz_error);
    if (s != VT_OK) {
        fuzz_refused(s, 1u << VT_BAD_INPUT | 1u << VT_TOO_LARGE, "config.json: ");
    } else {
        bytes out = { 0 };
        js_writer w;
        json_t *again = NULL;
        gpt_config y;
        HOLDS(z.L > 0 && z.C > 0 && z.NH > 0 && z.FF > 0 && z.T > 0 && z.V > 0 && z.C % z.NH == 0);
        HOLDS(parameters(&z) == gpt_parameter_count(&z));
        HOLDS(gpt_parameter_count(&z) <= SIZE_MAX / 64);
        js_begin(&w, &out, JS_LINE);
        js_open_object(&w);
        checkpoint_write_sizes(&w, &z);
        js_close_object(&w);
        WORKS(js_end(&w, &fuzz_error));
        WORKS(js_parse(&again, out.data, out.len, "again", &fuzz_error));
        WORKS(checkpoint_read_sizes(&y, again, "again", &fuzz_error));
        HOLDS(z.L == y.L && z.C == y.C && z.NH == y.NH && z.FF == y.FF && z.T == y.T &&
              z.V == y.V && z.tied == y.tied);
        json_decref(again);
        bytes_free(&out);
    }
    json_decref(root);
    return 0;
}
