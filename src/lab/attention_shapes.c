/* attention_shapes.c -- see attention_example.h: names, shapes and places of the
 * layer's tensors. */
#include "lab/attention_example.h"
#include <limits.h>
#include "base/status.h"

size_t attention_example_count(int T, int C, int H)
{
    size_t all = 0;
    if (T < 1 || C < 1 || H < 1 || C % H != 0) return 0;
    for (int i = 0; i < ATTENTION_EXAMPLE_TENSORS; i++) {
        attention_example_info t;
        if (!attention_example_tensor(&t, i, T, C, H) || t.count == 0 ||
            !size_add(all, t.count, &all) || all > INT_MAX)
            return 0;
    }
    return all;
}

/* A product that does not fit an int is 0: attention_example_count() refuses it. */
static size_t product(const int shape[3])
{
    size_t n = 1;
    for (int i = 0; i < 3; i++)
        if (!size_mul(n, (size_t)shape[i], &n) || n > INT_MAX) return 0;
    return n;
}

bool attention_example_tensor(attention_example_info *out, int i, int T, int C, int H)
{
    const attention_example_info list[ATTENTION_EXAMPLE_TENSORS] = {
#define INPUT(name, rank, d0, d1, d2) { #name, ATTENTION_INPUT, rank, { d0, d1, d2 }, 0, 0 },
#define FORWARD(name, rank, d0, d1, d2) { #name, ATTENTION_FORWARD, rank, { d0, d1, d2 }, 0, 0 },
#define BACKWARD(name, rank, d0, d1, d2) { #name, ATTENTION_BACKWARD, rank, { d0, d1, d2 }, 0, 0 },
#include "lab/attention_example.def"
    };
    if (i < 0 || i >= ATTENTION_EXAMPLE_TENSORS) return false;
    *out = list[i];
    for (int k = 0; k < i; k++) out->offset += product(list[k].shape);
    out->count = product(out->shape);
    return true;
}
