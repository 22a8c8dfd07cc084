/* fault_memory.c -- see fault_memory.h.
 *
 * glibc lets a program bring its own malloc, and keeps its own under these names; the
 * address sanitizer does the same under others.  posix_memalign and aligned_alloc are
 * what memalign is.  mmap counts where it asks for memory, not for a file.
 *
 * Reference: The GNU C Library Reference Manual, 3.2.5 (Replacing malloc).
 */
#define _GNU_SOURCE                 /* memalign's kin, MAP_ANONYMOUS */
#include "fault_memory.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void  __libc_free(void *p);
#define SANITIZER __attribute__((weak)) extern
SANITIZER void *__interceptor_malloc(size_t n);
SANITIZER void *__interceptor_calloc(size_t count, size_t n);
SANITIZER void *__interceptor_realloc(void *p, size_t n);
SANITIZER void *__interceptor_memalign(size_t alignment, size_t n);
SANITIZER void  __interceptor_free(void *p);
#define REAL(name) (__interceptor_##name ? __interceptor_##name : __libc_##name)

void (*fault_memory_fires)(long n);
static atomic_long calls, live, first;      /* first: to be refused, 0: none */
static atomic_bool later;                   /* and all behind it */
static pthread_t   arming;

void fault_memory_arm(long n, bool all)
{
    calls = 0;
    later = all;
    arming = pthread_self();
    first = n;
}

long fault_memory_disarm(void)
{
    first = 0;
    return calls;
}

long fault_memory_live(void) { return __interceptor_malloc ? 0 : live; }

/* The address sanitizer asks for memory where a thread begins, and ends the process where
 * there is none: under it only the thread that armed is counted and refused anything. */
static bool refused(void)
{
    if (__interceptor_malloc && !pthread_equal(pthread_self(), arming)) return false;
    const long n = ++calls, at = first;
    if (at == 0 || n < at || (n > at && !later)) return false;
    if (fault_memory_fires) fault_memory_fires(n);
    errno = ENOMEM;
    return true;
}

static void *counted(void *p)
{
    if (p) live++;
    return p;
}

void *malloc(size_t n)
{
    return refused() ? NULL : counted(REAL(malloc)(n));
}

void *calloc(size_t count, size_t n)
{
    return refused() ? NULL : counted(REAL(calloc)(count, n));
}

void *realloc(void *p, size_t n)
{
    if (refused()) return NULL;
    void *moved = REAL(realloc)(p, n);
    if (!p && moved) live++;
    if (p && n == 0 && !moved) live--;
    return moved;
}

void *reallocarray(void *p, size_t count, size_t n)
{
    if (n > 0 && count > SIZE_MAX / n) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, count * n);
}

void *memalign(size_t alignment, size_t n)
{
    return refused() ? NULL : counted(REAL(memalign)(alignment, n));
}

void *aligned_alloc(size_t alignment, size_t n) { return memalign(alignment, n); }

int posix_memalign(void **p, size_t alignment, size_t n)
{
    *p = memalign(alignment, n);
    return *p ? 0 : ENOMEM;
}

void free(void *p)
{
    const int before = errno;
    if (!p) return;
    live--;
    REAL(free)(p);
    errno = before;
}

void *mmap(void *at, size_t n, int protection, int flags, int file, off_t offset)
{
    if ((flags & MAP_ANONYMOUS) && refused()) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, n, protection, flags, file, offset);
}
