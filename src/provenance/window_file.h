/* window_file.h -- a window's stages (model/gpt_window.h) as a file, their hash,
 * and what must be true of them.
 */
#ifndef WINDOW_FILE_H
#define WINDOW_FILE_H

#include "base/io.h"
#include "model/gpt_window.h"

#define WINDOW_FILE "window.safetensors"

/* Laws of a window, with figures. */
typedef struct window_laws {
    double row_sum_gap;         /* largest |sum of a row of weights - 1| */
    size_t masked_cells;        /* weights of keys that a query may not see */
    size_t masked_nonzero;      /* of those, not exactly 0: expected none */
    double largest_dbk;         /* of the keys' bias, whose gradient is 0 by algebra */
} window_laws;

void window_laws_find(window_laws *out, const gpt_window *w);

/* sha256 over the stages' numbers, in their order, each as a little-endian double. */
VT_MUST_CHECK vt_status window_hash(char out[65], const gpt_window *w, vt_error *err);

/* Replaces folder/window.safetensors: every stage as F64. */
VT_MUST_CHECK vt_status window_write(const char *folder, const gpt_window *w, vt_error *err);

/* Whether the file there holds exactly these stages: names, shapes and every bit.
 * VT_CHECK_FAILED names the first that differs; VT_BAD_INPUT, VT_IO: it cannot be read. */
VT_MUST_CHECK vt_status window_compare(const char *folder, const gpt_window *w, vt_error *err);

#endif
