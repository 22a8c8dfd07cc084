/* python.c -- see python.h.
 *
 * What the interpreter writes to standard error is not shown: warnings of its libraries
 * are no concern of who asked.  A script that fails says why in its answer.
 */
#include "cli/python.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { ANSWER_MOST = 1 << 16 };

typedef struct child {
    pid_t pid;
    int   in, out;                      /* our ends of its standard input and output */
} child;

static vt_status start(child *c, const char *python, const char *script,
                       const char *const *words, vt_error *err)
{
    int in[2], out[2];
    const char *argv[PYTHON_WORDS + 4] = { python, "-c", script };
    posix_spawn_file_actions_t actions;
    for (size_t i = 0; words && words[i]; i++) {
        if (i == PYTHON_WORDS)
            return fail(err, VT_TOO_LARGE, "--torch: more than %d words", PYTHON_WORDS);
        argv[i + 3] = words[i];
    }
    if (pipe(in)) return fail(err, VT_IO, "--torch: a pipe: %s", strerror(errno));
    if (pipe(out)) {
        close(in[0]);
        close(in[1]);
        return fail(err, VT_IO, "--torch: a pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int ends[] = { in[0], in[1], out[0], out[1] };
    for (size_t i = 0; i < 4; i++) posix_spawn_file_actions_addclose(&actions, ends[i]);
    char *own[PYTHON_WORDS + 4];        /* exec takes no const, and changes nothing */
    memcpy(own, argv, sizeof own);
    const int failed = posix_spawnp(&c->pid, python, &actions, NULL, own, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    c->in = in[1];
    c->out = out[0];
    if (!failed) return VT_OK;
    close(c->in);
    close(c->out);
    return fail(err, VT_IO, "--torch: %s: %s; on Debian: apt-get install python3-torch", python,
                strerror(failed));
}

/* A few kilobytes: they fit a pipe, so nothing waits.  An interpreter that has gone is
 * seen by its status. */
static void tell(child *c, const bytes *text)
{
    size_t done = 0;
    while (text && done < text->len) {
        const ssize_t n = write(c->in, text->data + done, text->len - done);
        if (n <= 0) break;
        done += (size_t)n;
    }
    close(c->in);
}

static int milliseconds_left(const struct timespec *end)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double left = (double)(end->tv_sec - now.tv_sec) * 1e3 +
                        (double)(end->tv_nsec - now.tv_nsec) / 1e6;
    return left > 0 ? (int)left + 1 : 0;
}

/* All that it answers; false where it took too long or said too much. */
static bool listen_to(child *c, bytes *answer, vt_status *s, vt_error *err)
{
    struct timespec end;
    struct pollfd p = { .fd = c->out, .events = POLLIN };
    char block[4096];
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += PYTHON_SECONDS;
    for (;;) {
        const int ready = poll(&p, 1, milliseconds_left(&end));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0 || answer->len > ANSWER_MOST) return false;
        const ssize_t n = read(c->out, block, sizeof block);
        if (n <= 0) return true;
        if ((*s = bytes_append(answer, block, (size_t)n, err))) return false;
    }
}

/* What a script says about its failure, to its line's end; "" where it says nothing. */
static int reason(const bytes *answer, const char **text)
{
    static const char head[] = "error: ";
    const char *said = answer->data ? (const char *)answer->data : "";
    *text = "";
    if (strncmp(said, head, sizeof head - 1) != 0) return 0;
    *text = said + sizeof head - 1;
    const size_t n = strcspn(*text, "\n");
    return n > 200 ? 200 : (int)n;
}

static vt_status ended(child *c, bool whole, const char *python, const bytes *answer,
                       vt_error *err)
{
    int status;
    const char *why;
    close(c->out);
    if (!whole) kill(c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) { }
    if (!whole)
        return fail(err, VT_IO, "--torch: %s: no answer after %d s", python, PYTHON_SECONDS);
    if (WIFEXITED(status) && WEXITSTATUS(status) == PYTHON_NO_TORCH)
        return fail(err, VT_IO, "--torch: %s has no module torch; on Debian: apt-get install "
                    "python3-torch", python);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return fail(err, VT_IO, "--torch: %s cannot be run; on Debian: apt-get install "
                    "python3-torch", python);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        const int n = reason(answer, &why);
        return fail(err, VT_IO, "--torch: %s: PyTorch failed (%s %d)%s%.*s", python,
                    WIFEXITED(status) ? "exit status" : "signal",
                    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
                    n ? ": " : "", n, why);
    }
    return VT_OK;
}

vt_status python_run(bytes *answer, const char *python, const char *script,
                     const char *const *words, const bytes *input, vt_error *err)
{
    child c;
    vt_status s = start(&c, python, script, words, err);
    if (s) return s;
    tell(&c, input);
    const bool whole = listen_to(&c, answer, &s, err);
    const vt_status end = ended(&c, whole, python, answer, s ? NULL : err);
    return s ? s : end;
}

bool python_torch(char version[40], const char **at, const bytes *answer)
{
    static const char head[] = "torch ";
    *at = (const char *)answer->data;
    version[0] = '\0';
    if (!*at || strlen(*at) != answer->len || strncmp(*at, head, sizeof head - 1) != 0) return false;
    *at += sizeof head - 1;
    const size_t n = strcspn(*at, "\n");
    if (n == 0 || n >= 40 || (*at)[n] != '\n') return false;
    memcpy(version, *at, n);
    version[n] = '\0';
    *at += n + 1;
    return true;
}
