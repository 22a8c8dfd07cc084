/* huge.c -- see huge.h. */
#include "base/huge.h"
#include <stdint.h>
#include <sys/mman.h>

void huge_advise(void *p, size_t n)
{
#if defined(MADV_HUGEPAGE)
    const size_t page = (size_t)2 << 20;
    const size_t before = (page - (size_t)((uintptr_t)p % page)) % page;
    if (n < before || n - before < page) return;
    (void)madvise((char *)p + before, (n - before) / page * page, MADV_HUGEPAGE);
#else
    (void)p;
    (void)n;
#endif
}
