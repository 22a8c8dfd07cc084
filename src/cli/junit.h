/* junit.h -- results as the XML that continuous-integration servers read.
 *
 *     <testsuites name="vitrine check"> <testsuite name=".." tests=".." failures=".."
 *     skipped=".."> <testcase classname=".." name=".."> <failure message="..">..
 *
 * One suite at a time; its counts stand in front of its cases, so cases are kept until it
 * ends.  Text is escaped; what is no UTF-8, or no character of XML 1.0, becomes U+FFFD.
 * No time is written: the bytes depend on the arguments alone.
 */
#ifndef JUNIT_H
#define JUNIT_H

#include "base/io.h"

typedef enum junit_result { JUNIT_PASS, JUNIT_FAIL, JUNIT_SKIP } junit_result;

typedef struct junit {
    bytes    *out;
    bytes     cases;                    /* of the suite that is open */
    char      suite[200];
    size_t    tests, failures, skipped;
    vt_status status;                   /* the first failure; then all is ignored */
    vt_error  error;
} junit;

void junit_open(junit *j, bytes *out, const char *name);
void junit_suite(junit *j, const char *name);           /* ends the one before */
/* `message`: one line, of what fails or why it was skipped; `text`: more, or NULL. */
void junit_case(junit *j, const char *name, junit_result result, const char *message,
                const char *text);
/* Ends all.  The first failure of all calls. */
VT_MUST_CHECK vt_status junit_close(junit *j, vt_error *err);

#endif
