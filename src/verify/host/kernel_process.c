/* kernel_process.c -- see kernel_process.h.
 *
 * The end of the child's socket is no proof of its death (the kernel may close it) and
 * its death need not end the socket (a grandchild may hold it), so both are looked at.
 * It is looked at without reaping first: while a process is a zombie, its number, and
 * so its group's, belongs to nobody else, and the group can be killed safely.
 */
#include "verify/host/kernel_process.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/interrupt.h"

enum { SLICE_MS = 50, MOST_STARVED = 8 };

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

void process_lock(void)   { pthread_mutex_lock(&starting); }
void process_unlock(void) { pthread_mutex_unlock(&starting); }

double process_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- start --------------------------------------------------------------- */

static void close_both(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0) close(pair[i]);
}

static pid_t fork_child(child_setup *s)
{
    s->parent = getpid();
    madvise(s->base, s->bytes, MADV_DOFORK);
    const pid_t pid = fork();
    if (pid == 0) child_run(s);
    madvise(s->base, s->bytes, MADV_DONTFORK);
    return pid;
}

vt_status process_start(kernel_process *p, child_setup *s, vt_error *err)
{
    int talk[2] = { -1, -1 }, said[2] = { -1, -1 };
    pid_t pid = -1;
    process_lock();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk) == 0 && pipe(said) == 0) {
        fcntl(said[0], F_SETFD, FD_CLOEXEC);
        fcntl(said[1], F_SETFD, FD_CLOEXEC);
        fcntl(said[0], F_SETFL, O_NONBLOCK);
        s->socket = talk[1];
        s->said = said[1];
        pid = fork_child(s);
    }
    const int error = errno;
    process_unlock();
    if (pid < 0) {
        close_both(talk);
        close_both(said);
        return fail(err, VT_IO, "cannot start a process for the kernel: %s", strerror(error));
    }
    setpgid(pid, pid);          /* the child does too: whoever comes first */
    close(talk[1]);
    close(said[1]);
    *p = (kernel_process){ .pid = pid, .socket = talk[0], .said = said[0] };
    return VT_OK;
}

/* ---- what it says -------------------------------------------------------- */

/* Takes what is there, but not for ever: a flood must not outrun the clock. */
static void listen_to(const kernel_process *p, kernel_outcome *out)
{
    char chunk[4096];
    for (int i = 0; i < 16; i++) {
        const ssize_t n = read(p->said, chunk, sizeof chunk);
        if (n <= 0) return;
        for (ssize_t k = 0; k < n; k++) {
            const unsigned char c = (unsigned char)chunk[k];
            if (out->said_bytes + 1 < sizeof out->said)
                out->said[out->said_bytes] = c ? chunk[k] : '?';
            out->said_bytes++;
        }
    }
}

/* ---- waiting ------------------------------------------------------------- */

bool process_is_dead(const kernel_process *p)
{
    siginfo_t info;
    info.si_pid = 0;
    const int rc = waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    return rc == 0 ? info.si_pid != 0 : errno == ECHILD;    /* ECHILD: SIGCHLD is ignored */
}

void process_ask(const kernel_process *p)
{
    const char byte = 1;
    ssize_t n;
    do n = send(p->socket, &byte, 1, MSG_NOSIGNAL); while (n < 0 && errno == EINTR);
}

/* Seconds that it has stood ready without a processor; 0 where the system does not say. */
static double starved(pid_t pid)
{
    char path[64];
    unsigned long long ran = 0, stood = 0;
    snprintf(path, sizeof path, "/proc/%ld/schedstat", (long)pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    if (fscanf(f, "%llu %llu", &ran, &stood) != 2) stood = 0;
    fclose(f);
    return 1e-9 * (double)stood;
}

static bool is_late(pid_t pid, double waited, double seconds, double starved_before)
{
    if (waited < seconds) return false;
    if (waited >= MOST_STARVED * seconds) return true;
    return starved_before < 0 || waited - (starved(pid) - starved_before) >= seconds;
}

process_end process_await(const kernel_process *p, double seconds, kernel_outcome *out)
{
    const double start = process_clock();
    double before = -1;
    struct pollfd watched[2] = { { .fd = p->socket, .events = POLLIN },
                                 { .fd = p->said, .events = POLLIN } };
    for (;;) {
        char byte;
        const int ready = poll(watched, 2, watched[0].fd < 0 ? 1 : SLICE_MS);  /* it ends */
        if (ready > 0 && watched[1].revents) {
            listen_to(p, out);
            if (!(watched[1].revents & POLLIN)) watched[1].fd = -1;     /* its end */
        }
        if (ready > 0 && watched[0].revents) {
            const ssize_t n = recv(p->socket, &byte, 1, MSG_DONTWAIT);
            if (n == 1) {
                listen_to(p, out);
                return PROCESS_ANSWERED;
            }
            if (n == 0 || (errno != EAGAIN && errno != EINTR)) watched[0].fd = -1;
        }
        if ((ready <= 0 || watched[0].fd < 0) && process_is_dead(p)) return PROCESS_DIED;
        const double waited = process_clock() - start;
        if (before < 0 && waited * 1000 >= SLICE_MS) before = starved(p->pid);
        if (interrupt_asked()) return PROCESS_INTERRUPTED;
        if (is_late(p->pid, waited, seconds, before)) return PROCESS_LATE;
    }
}

/* ---- end ----------------------------------------------------------------- */

int process_finish(kernel_process *p, kernel_outcome *out)
{
    int status = -1;
    if (p->pid <= 0) return -1;
    kill(-p->pid, SIGKILL);
    kill(p->pid, SIGKILL);      /* where it had not yet its group */
    while (waitpid(p->pid, &status, 0) < 0)
        if (errno != EINTR) {
            status = -1;
            break;
        }
    if (out) listen_to(p, out);
    close(p->socket);
    close(p->said);
    *p = (kernel_process){ .pid = 0, .socket = -1, .said = -1 };
    return status;
}
