/* config.c -- see config.h. */
#include "model/config.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/rng.h"

vt_status gpt_config_check(const gpt_config *z, vt_error *err)
{
    const struct { const char *option; int value; } sizes[] = {
        { "--layers", z->L },   { "--d-model", z->C }, { "--heads", z->NH },
        { "--ff", z->FF },      { "--context", z->T }, { "vocabulary", z->V },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < 1)
            return fail(err, VT_USAGE, "%s %d: expected at least 1",
                        sizes[i].option, sizes[i].value);
    if (z->C % z->NH != 0)
        return fail(err, VT_USAGE, "--heads %d does not divide --d-model %d: "
                    "each head takes an equal share of the channels", z->NH, z->C);
    /* 3 C, and the rows times columns of every matrix, must be sizes.  Counted in double:
     * the sum must be below SIZE_MAX / 64, so that digits that are rounded off do not
     * matter, and no part of it can wrap, also where a size has 32 bits. */
    const double C = z->C, FF = z->FF, L = z->L, T = z->T, V = z->V;
    const bool fits = z->C <= INT_MAX / 3 &&
        L * C * (4 * C + 2 * FF + 16) + (2 * V + T + 2) * C <= (double)(SIZE_MAX / 64);
    if (!fits)
        return fail(err, VT_TOO_LARGE, "the model's size overflows: --layers %d --d-model %d "
                    "--ff %d --context %d, vocabulary %d", z->L, z->C, z->FF, z->T, z->V);
    return VT_OK;
}

static const char *const init_names[] = { "xavier", "gpt2" };

vt_status gpt_init_named(enum gpt_init *out, const char *name, vt_error *err)
{
    for (int i = 0; i < 2; i++)
        if (strcmp(name, init_names[i]) == 0) {
            *out = (enum gpt_init)i;
            return VT_OK;
        }
    return fail(err, VT_USAGE, "--init %s: expected xavier or gpt2", name);
}

/* Where the list is being written: NULL only counts. */
typedef struct list {
    gpt_tensor *out;
    size_t n, offset;
} list;

static void add(list *to, const char *name, const char *file, int layer, int rows,
                int cols, enum gpt_start start, bool decay, bool transposed)
{
    gpt_tensor t = { .layer = layer, .rows = rows, .cols = cols, .vector = rows == 1 &&
                     (start == GPT_ZEROS || start == GPT_ONES), .transposed = transposed,
                     .start = start, .decay = decay, .offset = to->offset,
                     .count = (size_t)rows * (size_t)cols };
    if (to->out) {
        if (layer < 0) snprintf(t.name, sizeof t.name, "%s", name);
        else snprintf(t.name, sizeof t.name, "h.%d.%s", layer, name);
        const char *hole = strstr(file, "%d");
        if (hole) snprintf(t.file, sizeof t.file, "%.*s%d%s", (int)(hole - file), file,
                           layer, hole + 2);
        else snprintf(t.file, sizeof t.file, "%s", file);
        to->out[to->n] = t;
    }
    to->n++;
    to->offset += t.count;
}

/* Of the first `layers` layers; all layers are alike. */
static void walk(list *to, const gpt_config *z, int layers)
{
    const int C = z->C, FF = z->FF, T = z->T, V = z->V;
#define TENSOR(name, file, rows, cols, start, decay, transposed) \
    add(to, #name, file, -1, rows, cols, start, decay, transposed);
#include "model/tensors.def"
    for (int l = 0; l < layers; l++) {
#define LAYER(name, file, rows, cols, start, decay, transposed) \
        add(to, #name, file, l, rows, cols, start, decay, transposed);
#include "model/tensors.def"
    }
#define LAST(name, file, rows, cols, start, decay, transposed) \
    add(to, #name, file, -1, rows, cols, start, decay, transposed);
#define HEAD(name, file, rows, cols, start, decay, transposed) \
    if (!z->tied) add(to, #name, file, -1, rows, cols, start, decay, transposed);
#include "model/tensors.def"
}

/* A layer is counted once and multiplied: a number of layers that comes from a
 * file must not be a number of turns. */
static list count_all(const gpt_config *z)
{
    const size_t layers = (size_t)z->L;
    list none = { 0 }, one = { 0 };
    walk(&none, z, 0);
    walk(&one, z, 1);
    return (list){ .n = none.n + layers * (one.n - none.n),
                   .offset = none.offset + layers * (one.offset - none.offset) };
}

size_t gpt_tensor_count(const gpt_config *z)
{
    return count_all(z).n;
}

size_t gpt_parameter_count(const gpt_config *z)
{
    return count_all(z).offset;
}

void gpt_tensor_list(const gpt_config *z, gpt_tensor *out)
{
    list l = { .out = out };
    walk(&l, z, z->L);
}

vt_status gpt_check_ids(const int *ids, size_t rows, size_t cols, int V, bool may_ignore,
                        const char *what, vt_error *err)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t t = 0; t < cols; t++) {
            const int id = ids[r * cols + t];
            if ((id >= 0 && id < V) || (may_ignore && id == VT_IGNORE)) continue;
            return fail(err, VT_BAD_INPUT, "%s: row %zu, position %zu: id %d: expected 0 to %d%s",
                        what, r, t, id, V - 1, may_ignore ? ", or -1 (ignored)" : "");
        }
    return VT_OK;
}

/* Fills one tensor from its own stream, so that no tensor's numbers depend on
 * the sizes of those before it. */
static void start_tensor(float *w, const gpt_tensor *t, const gpt_config *z,
                         enum gpt_init init, uint64_t seed, size_t index)
{
    rng r;
    rng_stream_seed(&r, seed, RNG_INIT, index);
    const double limit = sqrt(6.0 / ((double)t->rows + (double)t->cols));
    const double deviation = t->start == GPT_RESIDUAL_MATRIX
                           ? 0.02 / sqrt(2.0 * (double)z->L) : 0.02;
    for (size_t i = 0; i < t->count; i++)
        switch (t->start) {
        case GPT_ZEROS: w[i] = 0; break;
        case GPT_ONES:  w[i] = 1; break;
        case GPT_MATRIX:
        case GPT_RESIDUAL_MATRIX:
            w[i] = (float)(init == GPT_INIT_XAVIER ? rng_uniform(&r, -limit, limit)
                                                   : deviation * rng_normal(&r));
            break;
        }
}

void gpt_initialise(float *parameters, const gpt_config *z, const gpt_tensor *tensors,
                    size_t n, enum gpt_init init, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        start_tensor(parameters + tensors[i].offset, &tensors[i], z, init, seed, i);
}
