/* huge_tables.c -- the sanitized command's tables in huge pages, where the system has them.
 *
 * The sanitizer keeps 5 MB of tables beside our counts of lines, in memory that begins with 0: it
 * writes here and there, and at the end reads all of it for pointers, a page at a time. That
 * was a third of the page faults of a refused word. Called before the first constructor.
 */
#include <stdint.h>
#include <sys/mman.h>

extern char __bss_start, _end;                  /* of the linker */
enum { HUGE = 2 << 20, COLLAPSE = 25 };          /* MADV_COLLAPSE, since Linux 6.1 */

static void gather(void)
{
    const uintptr_t from = ((uintptr_t)&__bss_start + HUGE - 1) / HUGE * HUGE, to = (uintptr_t)&_end / HUGE * HUGE;
    if (from < to && madvise((void *)from, to - from, MADV_HUGEPAGE) == 0)
        (void)madvise((void *)from, to - from, COLLAPSE);   /* some of it was written to already */
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = gather;
