/* attend.c -- see attend.h.
 *
 * The process is looked at without being reaped: while it is a zombie its number, and so
 * its group's, is nobody else's, and the group can be killed safely.
 */
#include "base/attend.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/interrupt.h"

enum { SLICE_MS = 50, LAST_READS = 64 };

static bool has_ended(pid_t pid)
{
    siginfo_t info;
    info.si_pid = 0;
    const int rc = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
    return rc == 0 ? info.si_pid != 0 : errno == ECHILD;
}

typedef struct ear { int from; char *kept; size_t room, n; bool overflowed; } ear;

/* Takes what is there, waiting for it at most `ms`; false: there was nothing. */
static bool hear(ear *e, int ms)
{
    char chunk[4096];
    struct pollfd watched = { .fd = e->from, .events = POLLIN };    /* -1: only waits */
    if (poll(&watched, 1, ms) <= 0) return false;
    const ssize_t got = read(e->from, chunk, sizeof chunk);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return false;
    if (got <= 0) {
        e->from = -1;
        return false;
    }
    const size_t room = e->room - 1 - e->n;
    const size_t take = (size_t)got < room ? (size_t)got : room;
    e->overflowed |= take < (size_t)got;
    memcpy(e->kept + e->n, chunk, take);
    e->n += take;
    return true;
}

static attend_end listen_to(pid_t pid, ear *e, double seconds, bool strict)
{
    const double start = clock_now();
    for (;;) {
        if (has_ended(pid)) {               /* what it wrote is in the pipe */
            for (int i = 0; i < LAST_READS && e->from >= 0 && hear(e, 0); i++) { }
            return strict && e->overflowed ? ATTEND_FULL : ATTEND_ENDED;
        }
        (void)hear(e, e->from < 0 ? 1 : SLICE_MS);
        if (interrupt_asked()) return ATTEND_INTERRUPTED;
        if (strict && e->overflowed) return ATTEND_FULL;
        if (clock_now() - start > seconds) return ATTEND_LATE;
    }
}

attend_end attend(pid_t pid, int from, double seconds, bool strict, char *kept, size_t room,
                  size_t *n, int *status)
{
    ear e = { .from = from, .kept = kept, .room = room };
    const attend_end end = listen_to(pid, &e, seconds, strict);
    kept[e.n] = 0;
    *n = e.n;
    kill(-pid, SIGKILL);
    if (end != ATTEND_ENDED) kill(pid, SIGKILL);    /* where it has not yet its group */
    *status = -1;
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR) {
            *status = -1;
            break;
        }
    return end;
}
