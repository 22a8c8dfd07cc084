/* grade.h -- an exercise, run and judged.
 *
 * Each function is called in a child process (verify/host/kernel_host.h) on cases of several
 * shapes: all sizes distinct first, then one token, one row, one column, large numbers, and
 * two of sizes drawn from the seed.  What it writes is compared, element by element, with
 * the definitions in double, within what rounding may do to a correct function
 * (verify/graph/bounds.h).  A backward function is handed the forward pass's right values, so
 * that nothing wrong is inherited; its gradients do not start from 0.
 *
 * The first case that is not right ends it.  What is wrong there is explained by
 * verify/diagnosis/diagnose.h, in the words of the exercise (grade_words.h).
 */
#ifndef GRADE_H
#define GRADE_H

#include "lab/exercises.h"

/* As vt_grade(). */
VT_MUST_CHECK vt_status grade_file(const char *path, const vt_grade_options *o,
                                   vt_grade_report *out, vt_error *err);

#endif
