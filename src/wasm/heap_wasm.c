/* heap_wasm.c -- malloc and its family on WebAssembly's one growing memory: few
 * blocks, most of them large, so that small code counts more than clever search.
 *
 * Blocks lie one after the other from __heap_base on; each has HEAD bytes before it,
 * and starts at a multiple of HEAD, so that every block suits a vector register and
 * a cache line.  Free blocks are a list in the order of addresses; the first that is
 * large enough is taken, and what is given back joins its neighbours.  Memory is
 * never returned to the page: WebAssembly cannot.
 *
 * Knuth, The Art of Computer Programming, vol. 1, 2.5: first fit, algorithms A and B.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 64, PAGE = 65536 };

typedef struct block {
    size_t size;                        /* of what the caller has, a multiple of HEAD */
    struct block *next;                 /* in the list of free blocks */
} block;

extern unsigned char __heap_base;
static uintptr_t end;                   /* of all blocks; 0 before the first */
static block *free_blocks;

static uintptr_t after(const block *b) { return (uintptr_t)b + HEAD + b->size; }
static block *block_of(void *p) { return (block *)(void *)((unsigned char *)p - HEAD); }

/* A new block behind all others. */
static block *grow(size_t size)
{
    if (end == 0) end = ((uintptr_t)&__heap_base + (HEAD - 1)) / HEAD * HEAD;
    const uintptr_t there = (uintptr_t)__builtin_wasm_memory_size(0) * PAGE;
    if (size > UINTPTR_MAX - PAGE - HEAD - end) return NULL;
    const uintptr_t need = end + HEAD + size;
    if (need > there && __builtin_wasm_memory_grow(0, (need - there + (PAGE - 1)) / PAGE) == SIZE_MAX)
        return NULL;
    block *b = (block *)end;
    b->size = size;
    end = need;
    return b;
}

void *malloc(size_t n)
{
    if (n > SIZE_MAX - HEAD) return NULL;
    const size_t size = n ? (n + (HEAD - 1)) / HEAD * HEAD : HEAD;
    for (block **at = &free_blocks; *at; at = &(*at)->next) {
        block *b = *at;
        if (b->size < size) continue;
        if (b->size > size + HEAD) {            /* the rest stays free */
            block *rest = (block *)((uintptr_t)b + HEAD + size);
            *rest = (block){ b->size - size - HEAD, b->next };
            *at = rest;
            b->size = size;
        } else {
            *at = b->next;
        }
        return (unsigned char *)b + HEAD;
    }
    block *b = grow(size);
    return b ? (unsigned char *)b + HEAD : NULL;        /* errno is nobody's here */
}

void free(void *p)
{
    if (!p) return;
    block *b = block_of(p), *before = NULL;
    block **at = &free_blocks;
    for (; *at && *at < b; at = &(*at)->next) before = *at;
    b->next = *at;
    *at = b;
    if (b->next && after(b) == (uintptr_t)b->next) {
        b->size += HEAD + b->next->size;
        b->next = b->next->next;
    }
    if (before && after(before) == (uintptr_t)b) {
        before->size += HEAD + b->size;
        before->next = b->next;
    }
}

void *calloc(size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) return NULL;
    void *p = malloc(count * size);
    if (p) memset(p, 0, count * size);
    return p;
}

void *realloc(void *old, size_t n)
{
    if (!old) return malloc(n);
    const size_t had = block_of(old)->size;
    if (n <= had && n > had / 2) return old;    /* fits, and wastes little */
    void *p = malloc(n);
    if (!p) return NULL;
    memcpy(p, old, n < had ? n : had);
    free(old);
    return p;
}

/* Every block has HEAD's alignment; nobody here asks for more. */
void *aligned_alloc(size_t alignment, size_t n)
{
    return alignment <= HEAD ? malloc(n) : NULL;
}
