/* kernel_compile.h -- a kernel's source made into a library. */
#ifndef KERNEL_COMPILE_H
#define KERNEL_COMPILE_H

#include "base/status.h"

/* Runs `compiler` (a command and its words) on `path` with C11, -O2, -shared and, unless
 * NULL, -I `include`, in a new folder of `temporary`, which is removed with all that is in
 * it before this returns: what stays is *library, an open descriptor (close it).
 * VT_BAD_INPUT: it does not compile (the compiler's first error), or not within `seconds`;
 * VT_IO: there is no such compiler or folder; VT_INTERRUPTED: base/interrupt.h.  The
 * compiler ends with the thread that calls, and its process group before this returns. */
VT_MUST_CHECK vt_status kernel_compile(int *library, const char *path, const char *compiler,
                                       const char *include, const char *temporary,
                                       double seconds, vt_error *err);

#endif
