/* arena.c -- see arena.h.
 *
 * A block of 2 MiB or more starts at a multiple of 2 MiB and asks for huge
 * pages; the kernel may refuse, nothing depends on it.  One byte of each small
 * page is written at once, so that a step never pays for a first touch.
 */
#include "base/arena.h"
#include "base/cpu.h"
#include "base/progress.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { PIECE = 64, PAGE = 4096, UNIT = 65536 };     /* UNIT: any system's page */
static const size_t HUGE_PAGE = (size_t)2 << 20;

size_t arena_piece(size_t n)
{
    /* A length that cannot be rounded up is no block's: arena_new refuses it. */
    return n > SIZE_MAX - (PIECE - 1) ? SIZE_MAX : (n + (PIECE - 1)) / PIECE * PIECE;
}

size_t arena_size(size_t size)
{
    const size_t unit = size >= HUGE_PAGE ? HUGE_PAGE : UNIT;
    return size > SIZE_MAX - (unit - 1) ? SIZE_MAX : (size + (unit - 1)) / unit * unit;
}

/* Maps `size` bytes from a multiple of HUGE_PAGE on, or returns NULL. */
static char *map_aligned(size_t size)
{
    size_t whole;
    if (!size_add(size, HUGE_PAGE, &whole)) return NULL;
    void *map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return NULL;
    char *start = map;
    const size_t past = (size_t)((uintptr_t)start % HUGE_PAGE);
    const size_t before = past == 0 ? 0 : HUGE_PAGE - past;
    if (before > 0) (void)munmap(start, before);
    if (HUGE_PAGE - before > 0) (void)munmap(start + before + size, HUGE_PAGE - before);
    return start + before;
}

vt_status arena_new(arena *a, size_t size, const char *what, vt_error *err)
{
    memset(a, 0, sizeof *a);
    if (size == 0) return VT_OK;
    const size_t memory = cpu_memory(), rounded = arena_size(size);
    if ((memory != 0 && size > memory) || rounded < size) {
        char needed[24], there[24];
        progress_bytes(needed, sizeof needed, (double)size);
        progress_bytes(there, sizeof there, memory ? (double)memory : (double)NAN);
        return fail(err, VT_TOO_LARGE, "%s needs %s of memory; this machine has %s "
                    "(vitrine info --memory lists what for)", what, needed, there);
    }
    char *base = map_aligned(rounded);
    if (!base)
        return fail(err, VT_TOO_LARGE, "%s needs %zu bytes: %s", what, size, strerror(ENOMEM));
#if defined(MADV_HUGEPAGE)
    if (rounded >= HUGE_PAGE) (void)madvise(base, rounded, MADV_HUGEPAGE);
#endif
    for (size_t i = 0; i < rounded; i += PAGE) ((volatile char *)base)[i] = 0;
    a->base = base;
    a->size = rounded;
    return VT_OK;
}

void arena_free(arena *a)
{
    if (a->base) (void)munmap(a->base, a->size);
    memset(a, 0, sizeof *a);
}

void *arena_take(arena *a, size_t size)
{
    const size_t n = arena_piece(size);
    assert(n <= a->size - a->used);
    if (n == 0) return a->base ? a->base + a->used : NULL;
    void *piece = a->base + a->used;
    a->used += n;
    return piece;
}
