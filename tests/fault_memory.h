/* fault_memory.h -- every request for memory of a process, counted, and one of them
 * refused.
 *
 * fault_memory.c holds malloc and its kin, and mmap: a program that links it, or has it
 * preloaded (fault_shim.c), asks it instead of the C library, and so do the libraries
 * that the program uses.  Memory itself comes from the C library, or from the address
 * sanitizer where that is linked.
 */
#ifndef FAULT_MEMORY_H
#define FAULT_MEMORY_H

#include <stdbool.h>

/* Counts from 0 on; request `n`, from 1, is refused, and with `all` each later one; none
 * where n is 0. */
void fault_memory_arm(long n, bool all);
/* Ends that; the requests since it was armed. */
long fault_memory_disarm(void);
/* Blocks of memory that were asked for and not yet given back; always 0 under the address
 * sanitizer, whose strdup and kin ask elsewhere, and which looks for leaks itself. */
long fault_memory_live(void);
/* What else happens when a request is to be refused: the shim's mark. */
extern void (*fault_memory_fires)(long n);

#endif
