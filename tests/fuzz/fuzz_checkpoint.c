/* fuzz_checkpoint.c -- a whole state.safetensors.
 *
 * Its sha256 stands before all other checks, and no mutation would ever get past it:
 * so an input that is a safetensors with the texts of a state is sealed again first.
 * What opens holds finite numbers only, and moments that can be read.
 */
#include "fuzz.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/checkpoint.h"

/* The input with a seal of its own contents; false where it has no such texts. */
static bool sealed(bytes *out, const uint8_t *data, size_t size)
{
    st_file f;
    st_image image;
    char hash[65];
    bytes content = { fuzz_copy(data, size), size, size };
    if (st_open_bytes(&f, &content, "x", &fuzz_error) != VT_OK) return false;
    const char *run = st_meta(&f, "run"), *words = st_meta(&f, "tokenizer");
    const char *format = st_meta(&f, "format");
    const bool good = run && words && format;
    st_item *items = calloc(f.count + 1, sizeof *items);
    HOLDS(items != NULL);
    for (size_t i = 0; i < f.count; i++) {
        const st_tensor *t = &f.tensors[i];
        items[i] = (st_item){ .name = t->name, .dtype = t->dtype, .rank = t->rank, .data = t->data };
        memcpy(items[i].shape, t->shape, sizeof t->shape);
    }
    if (good) {
        WORKS(checkpoint_seal(hash, run, words, items, f.count, &fuzz_error));
        const st_pair meta[] = { { "format", format }, { "run", run }, { "tokenizer", words },
                                 { "sha256", hash } };
        WORKS(st_image_new(&image, items, f.count, meta, 4, &fuzz_error));
        for (size_t i = 0; i < image.count; i++)
            WORKS(bytes_append(out, image.pieces[i].data, image.pieces[i].n, &fuzz_error));
        st_image_free(&image);
    }
    free(items);
    st_close(&f);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes state = { 0 };
    checkpoint c;
    const bool good = sealed(&state, data, size);
    (void)fuzz_file(good ? state.data : data, good ? state.len : size);
    const char *folder = fuzz_folder(CHECKPOINT_STATE);
    const vt_status s = checkpoint_open(&c, folder, &fuzz_error);
    if (s != VT_OK) {
        fuzz_refused(s, 1u << VT_BAD_INPUT | 1u << VT_TOO_LARGE, folder);
        HOLDS(!c.params && !c.tensors && !c.path);
    } else {
        float *m = malloc(c.count * sizeof *m), *v = malloc(c.count * sizeof *v);
        HOLDS(m && v && c.count == gpt_parameter_count(&c.z));
        WORKS(checkpoint_moments(&c, m, v, &fuzz_error));
        for (size_t i = 0; i < c.count; i++)
            HOLDS(isfinite(c.params[i]) && isfinite(m[i]) && isfinite(v[i]) && v[i] >= 0);
        for (size_t i = 0; i < c.nwindow; i++) HOLDS(c.window[i] >= 0 && c.window[i] < c.z.V);
        free(m);
        free(v);
        checkpoint_close(&c);
    }
    bytes_free(&state);
    return 0;
}
