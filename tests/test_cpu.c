/* test_cpu.c -- what cpu.c detects against what the kernel reports. */
#define _GNU_SOURCE             /* sched_setaffinity */
#include "support.h"
#include "base/cpu.h"
#include "vitrine.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* The first line of /proc/cpuinfo that starts so, blanks at both ends. */
static bool cpuinfo(const char *name, char *line, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool found = false;
    while (file && !found && fgets(line + 1, (int)size - 2, file))
        found = strncmp(line + 1, name, strlen(name)) == 0;
    if (file) fclose(file);
    line[0] = ' ';
    line[1 + strcspn(line + 1, "\n")] = ' ';
    return found;
}

static void instruction_sets_are_the_kernels(void **state)
{
    (void)state;
    const cpu_features f = cpu_detect();
    static char line[16384];
    if (!cpuinfo("flags", line, sizeof line)) {         /* not x86 */
        assert_false(f.avx2 || f.avx512);
        return;
    }
    const struct { bool ours; const char *name, *all[6]; } sets[] = {       /* best first */
        { f.avx512, "avx512", { " avx512f ", " avx512vl ", " avx512dq ", " avx512bw ", " fma ", NULL } },
        { f.avx2, "avx2", { " avx2 ", " fma ", NULL } },
        { true, "portable", { NULL } },
    };
    size_t runs = 0;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        bool theirs = true;
        for (size_t k = 0; sets[i].all[k]; k++)
            if (!strstr(line, sets[i].all[k])) theirs = false;
        if (sets[i].ours != theirs) fail_msg("%s is %d", sets[i].name, sets[i].ours);
        if (theirs) assert_string_equal(vt_isa(runs++), sets[i].name);
    }
    assert_null(vt_isa(runs));
    assert_null(vt_isa(SIZE_MAX));
}

static void affinity_counts(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(cpu_count(), CPU_COUNT(&before));
    size_t first = 0;
    while (!CPU_ISSET(first, &before)) first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    const int n = cpu_count();
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(n, 1);
}

/* By itself a thread moves now and then; here nearly each time it is asked to. */
static void a_thread_leaves_its_processor(void **state)
{
    (void)state;
    enum { TRIES = 200 };
    cpu_set_t before, after, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int moved = 0;
    for (int i = 0; i < TRIES; i++) {
        const int cpu = cpu_current();
        assert_in_range(cpu, 0, CPU_SETSIZE - 1);
        cpu_leave(cpu);
        moved += cpu_current() != cpu;
        assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
        assert_true(CPU_EQUAL(&before, &after));
    }
    print_message("## moved in %d of %d tries\n", moved, TRIES);
    if (CPU_COUNT(&before) > 1) assert_true(moved > TRIES / 2);
    else                        assert_int_equal(moved, 0);

    CPU_ZERO(&one);                     /* where else is it to go? */
    CPU_SET((size_t)cpu_current(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    cpu_leave(cpu_current());
    cpu_leave(-1);
    cpu_leave(CPU_SETSIZE);
    const bool kept = sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&one, &after);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_true(kept);
}

static void memory_is_at_most_the_machines(void **state)
{
    (void)state;
    FILE *file = fopen("/proc/meminfo", "r");
    assert_non_null(file);
    unsigned long long kib = 0;
    assert_int_equal(fscanf(file, "MemTotal: %llu kB", &kib), 1);
    fclose(file);
    assert_true(cpu_memory() >= (size_t)1 << 20);
    assert_true(cpu_memory() <= kib * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instruction_sets_are_the_kernels),
        cmocka_unit_test(affinity_counts),
        cmocka_unit_test(a_thread_leaves_its_processor),
        cmocka_unit_test(memory_is_at_most_the_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
