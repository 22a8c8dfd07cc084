/* config.h -- the sizes of a GPT, and the list of its tensors.
 *
 * Letters as everywhere: L layers, C channels, NH heads, FF width of the MLP,
 * T positions (the context), V vocabulary.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include "base/status.h"

typedef struct gpt_config {
    int  L, C, NH, FF, T, V;
    bool tied;              /* the head reads wte by rows */
} gpt_config;

/* VT_USAGE with the option's name and what was expected: every size at least
 * 1, NH divides C, and all sizes of the model within what size_t and an int
 * index can hold. */
VT_MUST_CHECK vt_status gpt_config_check(const gpt_config *z, vt_error *err);

enum gpt_init { GPT_INIT_XAVIER, GPT_INIT_GPT2 };
/* "xavier" or "gpt2"; VT_USAGE with the list for another name. */
VT_MUST_CHECK vt_status gpt_init_named(enum gpt_init *out, const char *name, vt_error *err);

/* How a tensor starts. */
enum gpt_start { GPT_ZEROS, GPT_ONES, GPT_MATRIX, GPT_RESIDUAL_MATRIX };

/* One row of tensors.def, for one layer where it belongs to a layer. */
typedef struct gpt_tensor {
    char   name[32];            /* in code: "wte", "h.3.qkvw" */
    char   file[64];            /* in Hugging Face's files */
    int    layer;               /* -1: of no layer */
    int    rows, cols;          /* as the code holds it, row-major; a vector
                                   has rows = 1 */
    bool   vector;              /* rank 1 in files */
    bool   transposed;          /* (cols, rows) in Hugging Face's files */
    enum gpt_start start;
    bool   decay;               /* AdamW's weight decay applies */
    size_t offset, count;       /* in the one block of all parameters */
} gpt_tensor;

/* The number of tensors of a model, and of parameters (tied: counted once). */
size_t gpt_tensor_count(const gpt_config *z);
size_t gpt_parameter_count(const gpt_config *z);

/* Fills gpt_tensor_count() entries, in the order of tensors.def. */
void gpt_tensor_list(const gpt_config *z, gpt_tensor *out);

/* Ids that come from outside, (rows, cols), before any kernel sees them: each
 * must be 0 .. V-1, or VT_IGNORE where `may_ignore`.  VT_BAD_INPUT names `what`,
 * the first row and position, and the id. */
VT_MUST_CHECK vt_status gpt_check_ids(const int *ids, size_t rows, size_t cols, int V,
                                      bool may_ignore, const char *what, vt_error *err);

/* Fills all parameters; tensor n (its index in the list) draws from
 * stream(seed, RNG_INIT, n).  Xavier: uniform in +-sqrt(6 / (rows + cols)).
 * GPT-2: normal, deviation 0.02, divided by sqrt(2 L) for the projections that
 * feed a residual sum.  Drawn in double, rounded to float. */
void gpt_initialise(float *parameters, const gpt_config *z, const gpt_tensor *tensors,
                    size_t n, enum gpt_init init, uint64_t seed);

#endif
