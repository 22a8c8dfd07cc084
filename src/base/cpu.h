/* cpu.h -- what the machine is: instruction sets, processors, memory.
 *
 * What a kernel may use is what the processor has and the operating system
 * saves on a context switch; both are asked.
 */
#ifndef CPU_H
#define CPU_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cpu_features {
    bool avx2;          /* AVX2 and FMA */
    bool avx512;        /* AVX-512 F, VL, DQ, BW, and FMA */
    bool neon;          /* of aarch64 */
} cpu_features;

cpu_features cpu_detect(void);

/* The instructions of sha256_x86.c: SHA, SSSE3, SSE4.1.  Asked once. */
bool cpu_has_sha(void);

/* Processors this process may run on (its affinity counts), 1 to 1024. */
int cpu_count(void);

/* The processor that the calling thread runs on, from 0; -1 when unknown. */
int cpu_current(void);

/* Moves the calling thread to another processor if it runs on `cpu` and may run on others.
 * Where it may run stays as it was. */
void cpu_leave(int cpu);

/* Bytes of memory the machine has, or that the process's control group
 * allows where that is less; 0 when unknown. */
size_t cpu_memory(void);

#endif
