/* analyze.h -- what gcc -fanalyzer cannot see across files: what says that something
 * failed never returns VT_OK.  tools/analyze.sh includes it before each source. */
#ifndef ANALYZE_H
#define ANALYZE_H

#include "base/status.h"

static inline vt_status analyze_failed(vt_status s)
{
    if (s == VT_OK) __builtin_unreachable();
    return s;
}
#define fail(...)        analyze_failed(fail(__VA_ARGS__))
#define fail_memory(...) analyze_failed(fail_memory(__VA_ARGS__))

#endif
