/* machine.h -- what the machine is called, and whether others use it.
 *
 * Read from where Linux says it (/proc, /sys); what is not there is not known, and no
 * failure.  Nothing that names the machine itself (a host's name, an address) is read.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include "vitrine.h"

void   machine_describe(vt_bench_machine *m, int threads);
/* The system's load over a minute, NaN where it is not known; *others (may be NULL): how
 * many threads of others can run at this moment, -1 where it is not known. */
double machine_load(int *others);

/* Bytes of memory that this process holds now, and the most that it held since
 * machine_begin_peak(); NaN where it is not known. */
double machine_resident(void);
void   machine_begin_peak(void);
double machine_peak(void);

#endif
