/* attention_shapes.c -- see attention_example.h: names, shapes and places of the
 * layer's tensors. */
#include "lab/attention_example.h"
#include <limits.h>
#include "base/status.h"

/* The list's letters are places in the sizes { 0, 1, T, C, H }; its 1 is 1. */
enum { T = 2, C, H, SIZES };
static const struct { const char *name; unsigned char part, rank, shape[3]; } list[] = {
#define INPUT(name, rank, d0, d1, d2)    { #name, ATTENTION_INPUT, rank, { d0, d1, d2 } },
#define FORWARD(name, rank, d0, d1, d2)  { #name, ATTENTION_FORWARD, rank, { d0, d1, d2 } },
#define BACKWARD(name, rank, d0, d1, d2) { #name, ATTENTION_BACKWARD, rank, { d0, d1, d2 } },
#include "lab/attention_example.def"
};

/* A product that does not fit an int is 0: attention_example_count() refuses it. */
static size_t count_of(size_t i, const int sizes[SIZES])
{
    size_t n = 1;
    for (int k = 0; k < 3; k++)
        if (!size_mul(n, (size_t)sizes[list[i].shape[k]], &n) || n > INT_MAX) return 0;
    return n;
}

size_t attention_example_count(int t, int c, int h)
{
    const int sizes[SIZES] = { 0, 1, t, c, h };
    size_t all = 0;
    if (t < 1 || c < 1 || h < 1 || c % h != 0) return 0;
    for (size_t i = 0; i < ATTENTION_EXAMPLE_TENSORS; i++) {
        const size_t n = count_of(i, sizes);
        if (n == 0 || !size_add(all, n, &all) || all > INT_MAX) return 0;
    }
    return all;
}

bool attention_example_tensor(attention_example_info *out, int i, int t, int c, int h)
{
    const int sizes[SIZES] = { 0, 1, t, c, h };
    if (i < 0 || i >= ATTENTION_EXAMPLE_TENSORS) return false;
    *out = (attention_example_info){ .name = list[i].name, .rank = list[i].rank,
                                     .part = (enum attention_example_part)list[i].part,
                                     .count = count_of((size_t)i, sizes) };
    for (int k = 0; k < 3; k++) out->shape[k] = sizes[list[i].shape[k]];
    for (int k = 0; k < i; k++) out->offset += count_of((size_t)k, sizes);
    return true;
}
