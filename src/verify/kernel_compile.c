/* kernel_compile.c -- see kernel_compile.h.
 *
 * No shell is used: a path may have any character.  The compiler's time, memory and
 * output are limited, since a source can ask for as much as it likes (a macro that
 * doubles itself, an #include of a device).
 */
#include "verify/kernel_compile.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/io.h"
#include "verify/kernel_process.h"

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

/* Splits the compiler's words (a copy, which is cut up) and adds ours; 0: too many. */
static size_t make_words(char *words[WORDS], char *compiler, const char *const *rest,
                         size_t nrest)
{
    size_t n = 0;
    for (char *at = compiler; *(at += strspn(at, " \t")); ) {
        if (n + nrest + 1 >= WORDS) return 0;
        words[n++] = at;
        at += strcspn(at, " \t");
        if (*at) *at++ = 0;
    }
    if (n == 0) return 0;
    for (size_t i = 0; i < nrest; i++) words[n++] = (char *)(uintptr_t)rest[i];
    words[n] = NULL;
    return n;
}

/* In the new process: says with the status 126 or 127 that there is no such command. */
_Noreturn static void run_compiler(char **words, const char *folder, int said)
{
    const struct rlimit memory = { MOST_MEMORY, MOST_MEMORY }, file = { MOST_FILE, MOST_FILE };
    sigset_t none;
    const int empty = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
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

/* Reads what it says until its end; false: it is late. */
static bool listen_to(int said, double seconds, char kept[KEPT])
{
    const double start = process_clock();
    size_t n = 0;
    for (;;) {
        char chunk[4096];
        struct pollfd watched = { .fd = said, .events = POLLIN };
        if (process_clock() - start > seconds) return false;
        if (poll(&watched, 1, 200) <= 0) continue;
        const ssize_t got = read(said, chunk, sizeof chunk);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got <= 0) break;
        const size_t take = (size_t)got < KEPT - 1 - n ? (size_t)got : KEPT - 1 - n;
        memcpy(kept + n, chunk, take);
        n += take;
    }
    kept[n] = 0;
    return true;
}

/* The compiler's first line with "error:", or its first. */
static const char *first_error(char *said)
{
    char *line = strstr(said, "error:");
    if (!line) line = said;
    while (line > said && line[-1] != '\n') line--;
    line[strcspn(line, "\n")] = 0;
    return *line ? line : "the compiler says nothing";
}

static vt_status run_and_judge(char **words, const char *path, const char *folder,
                               double seconds, vt_error *err)
{
    int said[2], status = -1;
    char kept[KEPT] = "";
    process_lock();
    if (pipe(said) != 0) {
        process_unlock();
        return fail(err, VT_IO, "cannot start %s: %s", words[0], strerror(errno));
    }
    fcntl(said[0], F_SETFD, FD_CLOEXEC);
    fcntl(said[1], F_SETFD, FD_CLOEXEC);
    const pid_t pid = fork();
    if (pid == 0) run_compiler(words, folder, said[1]);
    process_unlock();
    close(said[1]);
    if (pid < 0) {
        close(said[0]);
        return fail(err, VT_IO, "cannot start %s: %s", words[0], strerror(errno));
    }
    setpgid(pid, pid);
    const bool in_time = listen_to(said[0], seconds, kept);
    if (!in_time) {
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
    }
    close(said[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (!in_time)
        return fail(err, VT_BAD_INPUT, "%s: the compiler was not done within %g s", path,
                    seconds);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126))
        return fail(err, VT_IO, "there is no compiler '%s' to compile %s with", words[0], path);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail(err, VT_BAD_INPUT, "%s does not compile: %s", path, first_error(kept));
    return VT_OK;
}

static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (const struct dirent *e; (e = readdir(dir)); ) unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
    rmdir(folder);
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
        status = fail(err, VT_IO, "cannot make a folder in %s: %s", temporary, strerror(errno));
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
    if (!make_words(words, words_text, rest, n)) {
        status = fail(err, VT_USAGE, "'%s' is no compiler's command", compiler);
        goto done;
    }
    status = run_and_judge(words, path, folder, seconds, err);
    if (status != VT_OK) goto done;
    *library = open(object, O_RDONLY | O_CLOEXEC);
    if (*library < 0)
        status = fail(err, VT_IO, "%s: the compiler made no library", path);
done:
    if (made) remove_folder(folder);
    free(object);
    free(words_text);
    free(folder);
    return status;
}
