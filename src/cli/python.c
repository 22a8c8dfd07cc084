/* python.c -- see python.h.
 *
 * What the interpreter writes to standard error is not shown: warnings of its libraries
 * are no concern of who asked.  A script that fails says why in its answer.
 */
#include "cli/python.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/attend.h"
#include "base/interrupt.h"

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
    posix_spawnattr_t attributes;
    sigset_t usual;
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
    /* A group of its own, which can be ended as a whole; signals as a shell gives them. */
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    const int failed = posix_spawnp(&c->pid, python, &actions, &attributes, own, environ);
    posix_spawnattr_destroy(&attributes);
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

static vt_status judge(attend_end end, int status, const char *python, const bytes *answer,
                       vt_error *err)
{
    const char *why;
    if (end == ATTEND_INTERRUPTED) return interrupt_fail(err);
    if (end == ATTEND_LATE)
        return fail(err, VT_IO, "--torch: %s: not done after %d s", python, PYTHON_SECONDS);
    if (end == ATTEND_FULL)
        return fail(err, VT_IO, "--torch: %s: an answer of more than %d bytes", python, ANSWER_MOST);
    if (status == -1)
        return fail(err, VT_IO, "--torch: %s: how it ended is not known: SIGCHLD is ignored", python);
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
    int status;
    size_t n;
    char *kept = malloc(ANSWER_MOST + 1);
    if (!kept) return fail_memory(err, ANSWER_MOST + 1, "an answer");
    vt_status s = start(&c, python, script, words, err);
    if (s == VT_OK) {
        tell(&c, input);
        const attend_end end = attend(c.pid, c.out, PYTHON_SECONDS, true, kept, ANSWER_MOST + 1,
                                      &n, &status);
        close(c.out);
        s = bytes_append(answer, kept, n, err);
        if (s == VT_OK) s = judge(end, status, python, answer, err);
    }
    free(kept);
    return s;
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
