/* guarded.c -- guarded buffers: see support.h.
 *
 * Layout: [guard page][... a page or more of canary, the piece][guard page]; the piece ends
 * at the second guard page, up to its alignment of 16.
 *
 * A place that is given back is kept for the next piece of its order: a page that was touched before
 * costs a tenth of a new one, opening a closed one as much, and tests of edge sizes ask for
 * thousands.  The address sanitizer sees who uses it meanwhile. */
#include "support.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)     ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#endif

enum { PIECES = 4096 };
static struct piece { char *map, *at; size_t map_bytes, bytes; } pieces[PIECES];    /* at: NULL: kept */
static size_t places, kept;             /* pieces that were ever in use; bytes that are kept */
static const size_t most_kept = (size_t)64 << 20;
enum { CANARY = 0xA5, ALIGN = 16 };

static size_t page_bytes(void)
{
    static size_t page;
    if (!page) page = (size_t)sysconf(_SC_PAGESIZE);
    return page;
}

/* A kept place of that many bytes, or an empty one. */
static struct piece *piece_of(size_t map_bytes)
{
    struct piece *empty = NULL;
    for (size_t i = 0; i < places; i++) {
        if (pieces[i].map && !pieces[i].at && pieces[i].map_bytes == map_bytes) return &pieces[i];
        if (!pieces[i].map && !empty) empty = &pieces[i];
    }
    return empty ? empty : places < PIECES ? &pieces[places++] : NULL;
}

/* The canary before the piece, a page at least, and where it begins. */
static char *canary_of(const struct piece *it)
{
    const size_t page = page_bytes();
    return it->map + ((size_t)(it->at - it->map) / page - 1) * page;
}

void *guarded(size_t bytes)
{
    const size_t page = page_bytes(), want = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    size_t data = 2 * page;             /* a power of two, as places are shared */
    while (data < want + page) data *= 2;
    struct piece *it = piece_of(page + data + page);
    if (!it) fail_msg("too many guarded buffers");
    if (it->map) {
        ASAN_UNPOISON_MEMORY_REGION(it->map + page, data);
        kept -= it->map_bytes;
    } else {
        it->map_bytes = page + data + page;
        it->map = mmap(NULL, it->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(it->map != MAP_FAILED);
        assert_int_equal(mprotect(it->map, page, PROT_NONE), 0);
        assert_int_equal(mprotect(it->map + page + data, page, PROT_NONE), 0);
    }
    it->bytes = bytes;
    it->at = it->map + page + data - want;
    memset(canary_of(it), CANARY, (size_t)(it->map + page + data - canary_of(it)));
    return it->at;
}

/* Nobody may touch it from here on. */
static void put_away(struct piece *it)
{
    it->at = NULL;
    if (kept + it->map_bytes <= most_kept) {
        ASAN_POISON_MEMORY_REGION(it->map, it->map_bytes);
        kept += it->map_bytes;
        return;
    }
    ASAN_UNPOISON_MEMORY_REGION(it->map, it->map_bytes);    /* another may get the addresses */
    munmap(it->map, it->map_bytes);
    it->map = NULL;
}

void guarded_free(void *p)
{
    if (!p) return;
    for (size_t k = 0; k < places; k++) {
        struct piece *it = &pieces[k];
        if (it->at != p) continue;
        const unsigned char *c = (const unsigned char *)canary_of(it);
        const unsigned char *begin = (const unsigned char *)it->at, *end = begin + it->bytes;
        const unsigned char *stop = (const unsigned char *)it->map + it->map_bytes - page_bytes();
        for (; c < begin; c++)
            if (*c != CANARY) fail_msg("byte %zu before a buffer was written", (size_t)(begin - c));
        for (c = end; c < stop; c++)
            if (*c != CANARY) fail_msg("byte %zu behind a buffer was written", (size_t)(c - end));
        put_away(it);
        return;
    }
    fail_msg("guarded_free of a buffer that guarded() did not make");
}
