/* case_start.c -- how long the command takes to start: `vitrine --version` as a process of
 * its own, from spawning it to its end.
 *
 * The program is the one that runs (/proc/self/exe).  Verified: it ends with 0 and what it
 * prints begins as `vitrine --version` does; a program that holds the library and is not
 * the command has nothing to start, and the case is skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench/cases.h"

extern char **environ;

typedef struct start_state { char path[PATH_MAX]; } start_state;

/* Its standard output goes to `out`. */
static vt_status start(const start_state *o, int out, vt_error *err)
{
    char name[] = "vitrine", version[] = "--version", *const words[] = { name, version, NULL };
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    const int e = posix_spawn(&child, o->path, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (e) return fail(err, VT_IO, "%s: %s", o->path, strerror(e));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (status == 0) return VT_OK;
    return fail(err, VT_CHECK_FAILED, "%s --version did not end with 0", o->path);
}

static vt_status run(void *state, vt_error *err)
{
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0) return fail(err, VT_IO, "/dev/null: %s", strerror(errno));
    const vt_status s = start(state, null, err);
    close(null);
    return s;
}

/* What it prints fits into a pipe, so that it ends before anything is read. */
static vt_status printed(const start_state *o, char *text, size_t size, vt_error *err)
{
    int ends[2];
    if (pipe(ends)) return fail(err, VT_IO, "a pipe: %s", strerror(errno));
    const vt_status s = start(o, ends[1], err);
    close(ends[1]);
    const ssize_t n = read(ends[0], text, size - 1);
    close(ends[0]);
    text[n > 0 ? n : 0] = 0;
    return s;
}

static vt_status verify(void *state, vt_bench_row *row, vt_error *err)
{
    static const char want[] = "vitrine ";
    char text[200];
    const vt_status s = printed(state, text, sizeof text, err);
    if (s) {
        if (s == VT_CHECK_FAILED && err) snprintf(row->note, sizeof row->note, "%.200s", err->text);
        return s;
    }
    bench_verified(row, true, "it ends with 0, and says its name");
    for (size_t i = 0; want[i]; i++)
        if (!bench_meet(row, "byte", i, want[i], text[i], 0)) return bench_wrong(row, err);
    return VT_OK;
}

static vt_status make(bench_work *w, const bench_case *c, const bench_setting *s, vt_error *err)
{
    start_state *o = calloc(1, sizeof *o);
    (void)c;
    (void)s;
    if (!o) return fail_memory(err, sizeof *o, "a case");
    *w = (bench_work){ .state = o, .verify = verify, .run = run, .free = free, .per_call = 1,
                       .limit = BENCH_NO_LIMIT, .unit = "starts/s" };
    const ssize_t n = readlink("/proc/self/exe", o->path, sizeof o->path - 1);
    const char *name = n > 0 ? strrchr(o->path, '/') : NULL;
    if (name && strncmp(name + 1, "vitrine", 7) == 0) return VT_OK;
    w->absent = true;
    return fail(err, VT_USAGE, "this program is not the command vitrine, or where it lies is not known");
}

const bench_case bench_starts[] = {
    { "start-up", "start", "vitrine --version, a process", "starts/s", 1, 0.010, true, 2, 1, make, 0,
      true, VT_BENCH_SECONDS },
    { .name = NULL },
};
