/* machine.c -- see machine.h. */
#include "bench/machine.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cpu.h"
#include "base/utf8.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif

static void cpu_name(char *out, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    out[0] = 0;
    while (f && !out[0] && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0) continue;
        snprintf(out, size, "%.*s", (int)(size - 1), colon + 1 + (colon[1] == ' '));
        out[strcspn(out, "\n")] = 0;
    }
    if (f) fclose(f);
    utf8_plain(out, false);
}

/* Where the system lists no caches (a virtual machine may not), the processor may still say: of
 * the two that are a core's own.  Its last one may be the sum of those that cores share. */
static size_t cache_said(int level)
{
    long size = 0;
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
    if (level == 1) size = sysconf(_SC_LEVEL1_DCACHE_SIZE);
    if (level == 2) size = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return size > 0 ? (size_t)size : 0;
}

/* "48K", "32768K", "32M" of cache `index` of the first processor; 0: not known. */
static size_t cache_size(int level, const char *type)
{
    for (int i = 0; i < 8; i++) {
        char path[96], kind[32] = "", unit = 0;
        unsigned long size = 0;
        int found = 0;
        FILE *f;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!(f = fopen(path, "r"))) return cache_said(level);
        if (fscanf(f, "%d", &found) != 1) found = 0;
        fclose(f);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (!(f = fopen(path, "r"))) return cache_said(level);
        if (fscanf(f, "%31s", kind) != 1) kind[0] = 0;
        fclose(f);
        if (found != level || (strcmp(kind, type) != 0 && strcmp(kind, "Unified") != 0)) continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!(f = fopen(path, "r"))) return cache_said(level);
        if (fscanf(f, "%lu%c", &size, &unit) < 1) size = 0;
        fclose(f);
        return (size_t)size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
    }
    return cache_said(level);
}

double machine_load(int *others)
{
    double load = (double)NAN;
    int running = 0;
    FILE *f = fopen("/proc/loadavg", "r");
    if (others) *others = -1;
    if (!f) return load;
    if (fscanf(f, "%lf %*f %*f %d/", &load, &running) == 2 && others) *others = running - 1;
    fclose(f);
    return load;
}

/* "VmRSS:	 1234 kB" of this process. */
static double memory_line(const char *name)
{
    char line[128];
    double kib = (double)NAN;
    FILE *f = fopen("/proc/self/status", "r");
    if (!f) return kib;
    while (isnan(kib) && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0) kib = strtod(line + strlen(name), NULL);
    fclose(f);
    return 1024 * kib;
}

double machine_resident(void)
{
#ifdef __GLIBC__
    malloc_trim(0);             /* what an earlier case left would hide what this one takes */
#endif
    return memory_line("VmRSS:");
}

double machine_peak(void) { return memory_line("VmHWM:"); }

/* "5" sets the peak to what is held now (proc(5)); where that is refused the peak is that
 * of the process, an upper bound. */
void machine_begin_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f) return;
    fputs("5", f);
    fclose(f);
}

void machine_describe(vt_bench_machine *m, int threads)
{
    *m = (vt_bench_machine){ .cores = cpu_count(), .threads = threads, .memory = cpu_memory(),
                             .l1d = cache_size(1, "Data"), .l2 = cache_size(2, "Data"),
                             .l3 = cache_size(3, "Data"), .load_after = (double)NAN };
    cpu_name(m->cpu, sizeof m->cpu);
    m->load_before = machine_load(&m->others);
}
