/* kernel_outcome.h -- how a kernel's process ended, in one line. */
#ifndef KERNEL_OUTCOME_H
#define KERNEL_OUTCOME_H

#include "verify/host/kernel_pages.h"

void outcome_set(kernel_outcome *out, kernel_end end, int code, const char *text);

/* Of a child that was reaped with a wait status (-1: not known), from what it left in the
 * control pages at `base`; `plan` knows which buffer an address belongs to. */
void outcome_of_death(kernel_outcome *out, const page_plan *plan, const char *base, int status);

#endif
