/* arena.h -- one block of memory per lifetime.
 *
 * A block is mapped once, backed by huge pages where the system has them,
 * touched once, and kept: a first touch costs microseconds per 4 KiB page, and
 * a program that frees and allocates tensors each step pays it each step.
 * Pieces are 64-byte aligned and zeroed at first.
 */
#ifndef ARENA_H
#define ARENA_H

#include "base/status.h"

typedef struct arena {
    char  *base;
    size_t size, used;
} arena;

/* Bytes that a piece of n bytes takes in a block (rounded up to 64). */
size_t arena_piece(size_t n);

/* Bytes that a block for `size` bytes takes from the system: whole pages. */
size_t arena_size(size_t size);

/* VT_TOO_LARGE when `size` exceeds the machine's memory or cannot be mapped. */
VT_MUST_CHECK vt_status arena_new(arena *a, size_t size, const char *what, vt_error *err);
void arena_free(arena *a);      /* also of a zeroed arena */

/* The next piece; asserts that it fits (the block was sized by the same
 * arithmetic). */
void *arena_take(arena *a, size_t size);

#endif
