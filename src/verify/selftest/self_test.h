/* self_test.h -- the check checked: every specimen (specimens.h), and correct kernels.
 *
 * A fault is found where a case of the usual list fails, in each precision that the
 * specimen has; its kind is right where the diagnosis of the first failing case names
 * what was planted.  Correct kernels run at sizes 1 .. 17 (smaller ones for blocks and
 * models), scales 1e-4 .. 1e4, with and without masks, drawn from the seed; any failing
 * row is a false alarm.
 */
#ifndef SELF_TEST_H
#define SELF_TEST_H

#include "base/status.h"

/* As vt_check_self_test(). */
VT_MUST_CHECK vt_status self_test(vt_self_report *r, size_t correct, uint64_t seed, int threads,
                                  vt_check_progress *progress, void *context, vt_error *err);

#endif
