/* attend.h -- a program that was started, heard until it has ended.
 *
 * Its end is the exit of the process itself: a process of its own that lives on and holds
 * its output delays nothing, and an output that was closed is not the end.  Its process
 * group, of which it must be the leader, is killed before it is reaped.
 */
#ifndef ATTEND_H
#define ATTEND_H

#include <sys/types.h>
#include "base/status.h"

typedef enum attend_end {
    ATTEND_ENDED,
    ATTEND_LATE,            /* it had `seconds` */
    ATTEND_FULL,            /* `strict`: it wrote more than there is room for */
    ATTEND_INTERRUPTED      /* interrupt.h */
} attend_end;

/* Keeps what `pid` writes into the pipe that ends at `from` (stays open): kept[room],
 * *n bytes of it and a NUL; what is more is dropped.  *status is what waitpid says, -1
 * where it says nothing since the caller ignores SIGCHLD. */
attend_end attend(pid_t pid, int from, double seconds, bool strict, char *kept, size_t room,
                  size_t *n, int *status);

#endif
