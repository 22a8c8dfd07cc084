/* cpu.c -- see cpu.h.
 *
 * x86: CPUID leaves 1 and 7 say what the processor has, XGETBV what the
 * operating system saves (vector registers that it does not save are lost
 * at any moment).
 *
 * References: Intel 64 and IA-32 Architectures Software Developer's Manual,
 * vol. 1, 14.3, 15.2-15.4; vol. 2, CPUID.
 */
#define _GNU_SOURCE             /* sched_getaffinity, sched_getcpu */
#include "base/cpu.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__x86_64__)
static bool bit(uint32_t word, int n)
{
    return (word >> n & 1u) != 0;
}

/* Extended control register 0: the state the operating system saves. */
static uint32_t saved_state(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

cpu_features cpu_detect(void)
{
    cpu_features f;
    memset(&f, 0, sizeof f);
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return f;
    const bool fma = bit(c, 12), osxsave = bit(c, 27), avx = bit(c, 28);
    if (!osxsave || !avx) return f;
    const uint32_t saved = saved_state();
    const bool ymm = (saved & 0x6u) == 0x6u;        /* SSE, AVX */
    const bool zmm = (saved & 0xE6u) == 0xE6u;      /* and opmask, ZMM */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
    f.avx2 = ymm && fma && bit(b, 5);
    f.avx512 = zmm && fma && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31);
    return f;
}

static bool find_sha(void)
{
    uint32_t a, b, c, d, features;
    if (!__get_cpuid(1, &a, &b, &features, &d)) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return bit(features, 9) && bit(features, 19) && bit(b, 29);
}

/* CPUID leaves a virtual machine, which takes longer than to hash a short text. */
bool cpu_has_sha(void)
{
    static atomic_int known;                        /* 0: not asked yet */
    int has = atomic_load(&known);
    if (has == 0) atomic_store(&known, has = find_sha() ? 1 : 2);
    return has == 1;
}
#else
bool cpu_has_sha(void) { return false; }

cpu_features cpu_detect(void)
{
    cpu_features f;
    memset(&f, 0, sizeof f);
#if defined(__aarch64__)
    f.neon = true;              /* part of it, saved by every system */
#endif
    return f;
}
#endif

enum { MOST = 1024 };           /* as many as a cpu_set_t and a team of threads hold */

int cpu_count(void)
{
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
#endif
#if defined(_SC_NPROCESSORS_ONLN)
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (n > 0) return n < MOST ? (int)n : MOST;
#endif
    return 1;
}

int cpu_current(void)
{
#if defined(__linux__)
    return sched_getcpu();
#else
    return -1;
#endif
}

void cpu_leave(int cpu)
{
#if defined(__linux__)
    cpu_set_t may, others;
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getcpu() != cpu) return;
    if (sched_getaffinity(0, sizeof may, &may) != 0) return;
    others = may;
    CPU_CLR((size_t)cpu, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
    (void)sched_setaffinity(0, sizeof may, &may);
#else
    (void)cpu;
#endif
}

/* The number a control-group file holds; `none` for "max" or no file. */
static uint64_t group_limit(const char *path, uint64_t none)
{
    FILE *file = fopen(path, "re");
    if (!file) return none;
    uint64_t limit = none;
    if (fscanf(file, "%" SCNu64, &limit) != 1 || limit == 0) limit = none;
    fclose(file);
    return limit;
}

size_t cpu_memory(void)
{
    uint64_t bytes = 0;
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) bytes = (uint64_t)pages * (uint64_t)page;
#endif
    if (bytes == 0) return 0;
    const uint64_t v2 = group_limit("/sys/fs/cgroup/memory.max", bytes);
    const uint64_t v1 = group_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes", bytes);
    if (v2 < bytes) bytes = v2;
    if (v1 < bytes) bytes = v1;
    return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}
