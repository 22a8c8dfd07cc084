/* specimen_kernel.c -- one specimen (src/verify/selftest/specimens.h) as a kernel of its own, to be
 * checked as somebody else's is: vitrine check --kernel specimen.so --op attention
 *
 * Which one is said by the environment variable VT_SPECIMEN, the name of a fault or of a
 * kernel ("online_no_row_sum", "attention_online"); without it by SPECIMEN_NAME.
 */
#include <stdlib.h>
#include "verify/selftest/specimens.h"

#ifndef SPECIMEN_NAME
#define SPECIMEN_NAME "attention_online"
#endif

enum { NO_SUCH_SPECIMEN = 2 };

int vt_kernel(const vt_kernel_call *call)
{
    const char *name = getenv("VT_SPECIMEN");
    const specimen *s = specimen_find(name ? name : SPECIMEN_NAME);
    return s ? s->run(call, s->fault) : NO_SUCH_SPECIMEN;
}
