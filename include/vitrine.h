/* vitrine.h -- the public API of libvitrine, and its manual.
 *
 * Every fallible function returns a vt_status and, where the caller passes a
 * vt_error, writes one line that says what was wrong, where, and what was
 * expected.  The library never prints, exits, or reads the environment.
 */
#ifndef VITRINE_H
#define VITRINE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define VT_MUST_CHECK __attribute__((warn_unused_result))
#define VT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define VT_MUST_CHECK
#define VT_PRINTF(text, first)
#endif

/* The command's exit codes are these numbers. */
typedef enum vt_status {
    VT_OK           = 0,
    VT_CHECK_FAILED = 1,   /* a gradient check found a difference */
    VT_USAGE        = 2,   /* an option or argument cannot be used */
    VT_BAD_INPUT    = 3,   /* a file or text is not what it should be */
    VT_IO           = 4,   /* reading or writing failed */
    VT_TOO_LARGE    = 5,   /* sizes overflow or exceed memory */
    VT_NAN          = 6,   /* NaN or Inf in a gradient or loss: step refused */
    VT_INTERRUPTED  = 130  /* stopped by a signal; state was saved */
} vt_status;

/* One line of explanation, without a newline. */
typedef struct vt_error {
    char text[600];
} vt_error;

/* The target that cross-entropy does not count. */
#define VT_IGNORE (-1)

#endif
