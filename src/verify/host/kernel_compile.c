/* kernel_compile.c -- see kernel_compile.h.
 *
 * No shell is used: a path may have any character.  The compiler's time, memory and
 * output are limited, since a source can ask for as much as it likes (a macro that
 * doubles itself, an #include of a device).
 */
#include "verify/host/kernel_compile.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/attend.h"
#include "base/interrupt.h"
#include "base/io.h"
#include "verify/host/kernel_process.h"

enum { WORDS = 48, KEPT = 8192 };
#define MOST_MEMORY ((rlim_t)4 << 30)
#define MOST_FILE   ((rlim_t)256 << 20)

/* _DEFAULT_SOURCE: M_PI is there, as in the library's own sources.  What a learner means
 * is never an undeclared function, or a pointer to another type. */
static const char *const flags[] = {
    "-std=c11", "-D_DEFAULT_SOURCE", "-O2", "-g", "-fPIC", "-shared",
    "-Werror=implicit-function-declaration", "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion"
};

/* Splits the compiler's words (a copy, which is cut up) and adds ours. */
static vt_status make_words(char *words[WORDS], char *compiler, const char *const *rest,
                            size_t nrest, const char *whole, vt_error *err)
{
    size_t n = 0;
    for (char *at = compiler; *(at += strspn(at, " \t")); ) {
        if (n + nrest + 1 >= WORDS)
            return fail(err, VT_USAGE, "'%s': a compiler's command of more than %zu words", whole,
                        WORDS - 1 - nrest);
        words[n++] = at;
        at += strcspn(at, " \t");
        if (*at) *at++ = 0;
    }
    if (n == 0) return fail(err, VT_USAGE, "'%s' is no compiler's command", whole);
    for (size_t i = 0; i < nrest; i++) words[n++] = (char *)(uintptr_t)rest[i];
    words[n] = NULL;
    return VT_OK;
}

/* In the new process: says with the status 126 or 127 that there is no such command. */
_Noreturn static void run_compiler(char **words, const char *folder, int said, pid_t parent)
{
    const struct rlimit memory = { MOST_MEMORY, MOST_MEMORY }, file = { MOST_FILE, MOST_FILE };
    sigset_t none;
    const int empty = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(125);        /* it has died in between */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < 32; number++) signal(number, SIG_DFL);    /* some refuse */
    const int out = fcntl(said, F_DUPFD, 3);
    if (empty < 0 || out < 0 || dup2(empty, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(125);
    closefrom(3);
    setenv("TMPDIR", folder, 1);        /* its own files go when the folder goes */
    setenv("LC_ALL", "C", 1);           /* first_error() knows one language */
    setrlimit(RLIMIT_FSIZE, &file);
    setrlimit(RLIMIT_AS, &memory);      /* last: AddressSanitizer's shadow is beyond it */
    execvp(words[0], words);
    _exit(errno == ENOENT || errno == ENOTDIR ? 127 : 126);
}

/* The compiler's first line with "error:", or its first that is not empty. */
static const char *first_error(char *said)
{
    char *line = strstr(said, "error:");
    if (!line) line = said + strspn(said, " \t\r\n");
    while (line > said && line[-1] != '\n') line--;
    line[strcspn(line, "\n")] = 0;
    return *line ? line : "the compiler says nothing";
}

static vt_status judge(attend_end end, int status, char **words, const char *path,
                       const char *object, double seconds, char *said, vt_error *err)
{
    if (end == ATTEND_INTERRUPTED) return interrupt_fail(err);
    if (end == ATTEND_LATE)
        return fail(err, VT_BAD_INPUT, "%s: the compiler was not done within %g s", path,
                    seconds);
    if (status == -1) {         /* SIGCHLD is ignored: its work tells, which it makes at its end */
        if (access(object, R_OK) == 0) return VT_OK;
    } else if (WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126)) {
        return fail(err, VT_IO, "there is no compiler '%s' to compile %s with", words[0], path);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 125) {
        return fail(err, VT_IO, "cannot start %s to compile %s", words[0], path);
    } else if (WIFSIGNALED(status)) {
        return fail(err, VT_BAD_INPUT, "%s: the compiler was ended by signal %d%s", path,
                    WTERMSIG(status), WTERMSIG(status) == SIGXFSZ ? ": the library is too large"
                    : WTERMSIG(status) == SIGKILL ? ", by somebody, or for want of memory" : "");
    } else if (WEXITSTATUS(status) == 0) {
        return VT_OK;
    }
    return fail(err, VT_BAD_INPUT, "%s does not compile: %s", path, first_error(said));
}

static vt_status run_and_judge(char **words, const char *path, const char *folder,
                               const char *object, double seconds, vt_error *err)
{
    int said[2], status = -1;
    char kept[KEPT] = "";
    size_t n;
    const pid_t parent = getpid();
    process_lock();
    if (pipe(said) != 0) {
        process_unlock();
        return fail(err, status_of(errno), "cannot start %s: %s", words[0], strerror(errno));
    }
    fcntl(said[0], F_SETFD, FD_CLOEXEC);
    fcntl(said[1], F_SETFD, FD_CLOEXEC);
    const pid_t pid = fork();
    if (pid == 0) run_compiler(words, folder, said[1], parent);
    const int error = errno;
    process_unlock();
    close(said[1]);
    if (pid < 0) {
        close(said[0]);
        return fail(err, VT_IO, "cannot start %s: %s", words[0], strerror(error));
    }
    setpgid(pid, pid);
    const attend_end end = attend(pid, said[0], seconds, false, kept, sizeof kept, &n, &status);
    close(said[0]);
    for (size_t i = 0; i < n; i++)
        if (kept[i] == 0) kept[i] = '?';
    return judge(end, status, words, path, object, seconds, kept, err);
}

vt_status kernel_compile(int *library, const char *path, const char *compiler,
                         const char *include, const char *temporary, double seconds,
                         vt_error *err)
{
    char *folder = io_join(temporary, "vitrine-kernel-XXXXXX");
    char *words_text = strdup(compiler);
    char *object = NULL, *words[WORDS];
    const char *rest[sizeof flags / sizeof *flags + 8];
    const size_t nflags = sizeof flags / sizeof *flags;
    bool made = false;
    size_t n = 0;
    vt_status status;

    *library = -1;
    if (!folder || !words_text) {
        status = fail_memory(err, strlen(temporary), "a folder's name");
        goto done;
    }
    if (!mkdtemp(folder)) {
        status = fail(err, status_of(errno), "cannot make a folder in %s: %s", temporary,
                      strerror(errno));
        goto done;
    }
    made = true;
    object = io_join(folder, "kernel.so");
    if (!object) {
        status = fail_memory(err, strlen(folder), "a file's name");
        goto done;
    }
    for (; n < nflags; n++) rest[n] = flags[n];
    if (include) {
        rest[n++] = "-I";
        rest[n++] = include;
    }
    rest[n++] = "-o";
    rest[n++] = object;
    rest[n++] = path;
    rest[n++] = "-lm";
    status = make_words(words, words_text, rest, n, compiler, err);
    if (status == VT_OK) status = run_and_judge(words, path, folder, object, seconds, err);
    if (status != VT_OK) goto done;
    *library = open(object, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (*library < 0)
        status = fail(err, VT_IO, "%s: the compiler made no library", path);
done:
    if (made) io_remove_folder(folder);
    free(object);
    free(words_text);
    free(folder);
    return status;
}
