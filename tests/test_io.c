/* test_io.c -- files whole or not at all; every refusal is one clear line. */
#include "support.h"
#include "base/interrupt.h"
#include "base/io.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

/* The program's own fsync and rename stand before the C library's: they do what
 * theirs do, and note it: f file, d folder, r rename; an upper-case letter where
 * the call was told to fail.  Off by default. */
static char calls[32];
static size_t ncalls;
static char fail_at;
static bool noting;

static bool note_call(char what)
{
    if (!noting || ncalls + 1 >= sizeof calls) return true;
    const bool good = what != fail_at;
    calls[ncalls++] = good ? what : (char)(what - 'a' + 'A');
    if (!good) errno = EIO;
    return good;
}

int fsync(int file)
{
    struct stat info;
    const bool is_folder = fstat(file, &info) == 0 && S_ISDIR(info.st_mode);
    return note_call(is_folder ? 'd' : 'f') ? (int)syscall(SYS_fsync, file) : -1;
}

int rename(const char *from, const char *to)
{
    return note_call('r') ? (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0) : -1;
}

static char *at(const char *name)
{
    char *path = io_join(folder, name);
    assert_non_null(path);
    return path;
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/vt_io_XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static size_t files_in(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    size_t n = 0;
    for (const struct dirent *e; (e = readdir(dir)); )
        if (e->d_name[0] != '.') n++;
    closedir(dir);
    return n;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void sha256_is_the_standards(void **state)
{
    (void)state;
    char hex[65];
    /* FIPS 180-4, examples: "abc", the empty message, and one million 'a'. */
    sha256_hex(hex, "abc", 3);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_hex(hex, NULL, 0);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    char *a = malloc(1000000);
    assert_non_null(a);
    memset(a, 'a', 1000000);
    const io_piece pieces[] = { { a, 1 }, { NULL, 0 }, { a, 999999 } };
    sha256_hex_pieces(hex, pieces, 3);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(a);
}

static void a_files_hash_is_its_contents(void **state)
{
    (void)state;
    static const size_t sizes[] = { 0, 1, 65535, 65536, 65537, 131072, 300001 };
    char *path = at("hashed"), *missing = at("missing");
    unsigned char *data = malloc(300001);
    char found[65], want[65];
    assert_non_null(data);
    for (size_t i = 0; i < 300001; i++) data[i] = (unsigned char)(i * 11 + i / 253);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_ok(io_replace(path, data, sizes[i], &test_error));
        sha256_hex(want, data, sizes[i]);
        assert_ok(sha256_hex_file(found, path, &test_error));
        assert_string_equal(found, want);
    }
    unlink(path);
    assert_int_equal(sha256_hex_file(found, missing, &test_error), VT_IO);
    assert_contains(test_error.text, missing);
    assert_int_equal(sha256_hex_file(found, folder, &test_error), VT_IO);
    assert_contains(test_error.text, "expected a regular file");
    assert_int_equal(sha256_hex_file(found, "/dev/zero", &test_error), VT_IO);
    free(data);
    free(path);
    free(missing);
}

static void texts_grow(void **state)
{
    (void)state;
    bytes b = { NULL, 0, 0 };
    for (int i = 0; i < 1000; i++) assert_ok(bytes_printf(&b, &test_error, "%d,", i));
    assert_int_equal(b.len, 10 * 2 + 90 * 3 + 900 * 4);
    assert_memory_equal(b.data + b.len - 4, "999,", 5);     /* with the NUL */
    assert_ok(bytes_append(&b, NULL, 0, &test_error));
    assert_ok(bytes_append(&b, "\0x", 2, &test_error));
    assert_memory_equal(b.data + b.len - 3, ",\0x", 4);
    const size_t before = b.len;
    assert_int_equal(bytes_append(&b, "x", SIZE_MAX - 3, &test_error), VT_TOO_LARGE);
    assert_int_equal(b.len, before);
    bytes_free(&b);
    assert_null(b.data);
}

static void written_is_read(void **state)
{
    (void)state;
    char *path = at("whole");
    unsigned char *data = malloc(300001);
    assert_non_null(data);
    for (size_t i = 0; i < 300001; i++) data[i] = (unsigned char)(i * 7 + i / 251);
    const size_t sizes[] = { 0, 1, 63, 64, 65, 65535, 65536, 65537, 300001 };
    for (size_t i = 0; i < 9; i++) {
        bytes b;
        assert_ok(io_replace(path, data, sizes[i], &test_error));
        assert_ok(io_read(&b, path, sizes[i], &test_error));
        assert_int_equal(b.len, sizes[i]);
        assert_memory_equal(b.data, data, sizes[i]);
        assert_int_equal(b.data[b.len], 0);
        bytes_free(&b);
        if (sizes[i] == 0) continue;
        assert_int_equal(io_read(&b, path, sizes[i] - 1, &test_error), VT_TOO_LARGE);
        assert_contains(test_error.text, path);
        assert_null(b.data);
    }
    const io_piece pieces[] = { { data, 10 }, { data + 10, 0 }, { data + 10, 299991 } };
    assert_ok(io_replace_pieces(path, pieces, 3, &test_error));
    bytes b;
    assert_ok(io_read(&b, path, SIZE_MAX, &test_error));
    assert_int_equal(b.len, 300001);
    assert_memory_equal(b.data, data, 300001);
    bytes_free(&b);
    assert_int_equal(files_in(folder), 1);
    free(data);
    free(path);
}

/* Writes into a pipe that is open, later, and closes it. */
static void *feed_end(void *argument)
{
    const int file = *(int *)argument;
    usleep(100000);
    (void)!write(file, "steps = 1", 9);
    close(file);
    return NULL;
}

static void *feed(void *argument)
{
    FILE *f = fopen(argument, "w");
    if (f) {
        for (int i = 0; i < 50000; i++) fprintf(f, "%05d", i);
        fclose(f);
    }
    return NULL;
}

static void a_pipe_is_read_to_its_end(void **state)
{
    (void)state;
    char *path = at("pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    pthread_t writer;
    bytes b;
    assert_int_equal(pthread_create(&writer, NULL, feed, path), 0);
    assert_ok(io_read(&b, path, 250000, &test_error));
    pthread_join(writer, NULL);
    assert_int_equal(b.len, 250000);
    assert_memory_equal(b.data + 249990, "4999849999", 11);
    bytes_free(&b);
    /* A file that grows beyond its length, or never ends: the limit holds. */
    assert_int_equal(io_read(&b, "/dev/zero", 100000, &test_error), VT_TOO_LARGE);
    assert_contains(test_error.text, "100000 bytes");
    unlink(path);
    free(path);
}

static void *feed_late(void *argument)
{
    usleep(100000);
    return feed(argument);
}

static void stop_at_once(int number) { interrupt_ask(number); }

/* The texts of a user may be on their way; a signal ends the wait for them.  Settings are
 * not waited for, but read from a pipe that has its writer. */
static void a_pipe_without_a_writer(void **state)
{
    (void)state;
    bytes b;
    char *path = at("pipe");
    pthread_t writer;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(io_read_written(&b, path, 250000, &test_error), VT_IO);
    assert_contains(test_error.text, path);
    assert_contains(test_error.text, "nobody writes");
    assert_null(b.data);
    assert_int_equal(pthread_create(&writer, NULL, feed_late, path), 0);
    assert_ok(io_read(&b, path, 250000, &test_error));
    pthread_join(writer, NULL);
    assert_int_equal(b.len, 250000);
    bytes_free(&b);

    int ends[2];
    char name[40];
    assert_int_equal(pipe(ends), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], "steps = 1", 9), 9);
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(io_read_written(&b, name, 8, &test_error), VT_TOO_LARGE);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(pipe(ends), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    const int copy = dup(ends[1]);              /* while it is open, the pipe has a writer */
    assert_int_equal(pthread_create(&writer, NULL, feed_end, &ends[1]), 0);
    assert_int_equal(close(copy), 0);
    assert_ok(io_read_written(&b, name, 100, &test_error));
    pthread_join(writer, NULL);
    assert_int_equal(b.len, 9);
    assert_memory_equal(b.data, "steps = 1", 9);
    bytes_free(&b);
    assert_int_equal(close(ends[0]), 0);

    struct sigaction stop = { .sa_handler = stop_at_once }, before;
    sigemptyset(&stop.sa_mask);
    assert_int_equal(sigaction(SIGALRM, &stop, &before), 0);
    const struct itimerval soon = { .it_interval = { 0, 50000 }, .it_value = { 0, 50000 } };
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    assert_int_equal(io_read(&b, path, 250000, &test_error), VT_INTERRUPTED);
    assert_int_equal(setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { 0, 0 } }, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    interrupt_ask(0);
    unlink(path);
    free(path);
}

static void what_cannot_be_read_is_named(void **state)
{
    (void)state;
    bytes b;
    char *path = at("missing");
    assert_int_equal(io_read(&b, path, 100, &test_error), VT_IO);
    assert_contains(test_error.text, path);
    assert_contains(test_error.text, strerror(ENOENT));
    assert_int_equal(io_read(&b, folder, 100, &test_error), VT_IO);
    assert_contains(test_error.text, folder);
    assert_contains(test_error.text, "is a folder");
    assert_null(b.data);
    assert_null(strchr(test_error.text, '\n'));
    free(path);
}

/* Runs `child` as an unprivileged user in a process of its own: root ignores
 * modes.  Fails unless it returns 0. */
static void as_nobody(int (*child)(void))
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(99);
        _exit(child());
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int unreadable_child(void)
{
    char path[128];
    bytes b;
    vt_error err;
    snprintf(path, sizeof path, "%s/secret", folder);
    if (io_read(&b, path, 100, &err) != VT_IO) return 1;
    if (!strstr(err.text, path) || !strstr(err.text, strerror(EACCES))) return 2;
    return b.data ? 3 : 0;
}

static int unwritable_child(void)
{
    char path[128];
    vt_error err;
    snprintf(path, sizeof path, "%s/locked/file", folder);
    if (io_replace(path, "new", 3, &err) != VT_IO) return 1;
    if (!strstr(err.text, path) || !strstr(err.text, strerror(EACCES))) return 2;
    snprintf(path, sizeof path, "%s/locked/sub/sub", folder);
    if (io_mkdir(path, &err) != VT_IO) return 3;
    snprintf(path, sizeof path, "%s/locked/sub:", folder);
    return strstr(err.text, path) ? 0 : 4;
}

static void modes_are_obeyed(void **state)
{
    (void)state;
    assert_int_equal(chmod(folder, 0755), 0);
    char *secret = at("secret"), *locked = at("locked"), *file = at("locked/file");
    assert_ok(io_replace(secret, "x", 1, &test_error));
    assert_int_equal(chmod(secret, 0), 0);
    as_nobody(unreadable_child);
    assert_ok(io_mkdir(locked, &test_error));
    assert_ok(io_replace(file, "old", 3, &test_error));
    assert_int_equal(chmod(locked, 0555), 0);
    as_nobody(unwritable_child);
    bytes b;
    assert_ok(io_read(&b, file, 100, &test_error));
    assert_string_equal((char *)b.data, "old");
    bytes_free(&b);
    assert_int_equal(chmod(locked, 0755), 0);
    assert_int_equal(files_in(locked), 1);
    free(secret);
    free(locked);
    free(file);
}

/* CKPT-02: a write that runs out of room leaves the old file, and no other. */
static int full_disk_child(void)
{
    char path[128];
    static char data[100000];
    vt_error err;
    const struct rlimit limit = { 50000, 50000 };
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) != 0) return 98;
    snprintf(path, sizeof path, "%s/full/state", folder);
    if (io_replace(path, data, sizeof data, &err) != VT_IO) return 1;
    if (!strstr(err.text, path) || !strstr(err.text, strerror(EFBIG))) return 2;
    return io_replace(path, "small", 5, &err) == VT_OK ? 0 : 3;
}

static void a_failed_write_leaves_the_old_file(void **state)
{
    (void)state;
    char *full = at("full"), *path = at("full/state");
    assert_ok(io_mkdir(full, &test_error));
    assert_int_equal(chmod(full, 0777), 0);
    assert_ok(io_replace(path, "old", 3, &test_error));
    as_nobody(full_disk_child);
    assert_int_equal(files_in(full), 1);
    bytes b;
    assert_ok(io_read(&b, path, 100, &test_error));
    assert_string_equal((char *)b.data, "small");
    bytes_free(&b);
    /* What is not a file is not replaced. */
    assert_int_equal(io_replace(full, "x", 1, &test_error), VT_IO);
    assert_contains(test_error.text, "not a regular file");
    assert_int_equal(io_replace("/dev/null", "x", 1, &test_error), VT_IO);
    char *nowhere = at("nowhere/file");
    assert_int_equal(io_replace(nowhere, "x", 1, &test_error), VT_IO);
    assert_contains(test_error.text, strerror(ENOENT));
    free(nowhere);
    free(full);
    free(path);
}

/* A link stays, and what it leads to is written, beside itself; a link to no file, such as
 * /dev/stdout, is neither replaced nor written. */
/* Made bit by bit: the old file until the end, or for good. */
static void a_file_is_there_at_the_end(void **state)
{
    (void)state;
    char *path = at("output"), *nowhere = at("no/output");
    io_output o;
    bytes found;
    assert_ok(io_replace(path, "old", 3, &test_error));
    for (int good = 0; good < 2; good++) {
        assert_ok(io_output_begin(&o, path, &test_error));
        assert_ok(io_output_write(&o, "ne", 2, &test_error));
        assert_ok(io_output_write(&o, "w", 1, &test_error));
        char *name = strdup(o.name);
        assert_int_equal(access(name, F_OK), 0);
        assert_ok(io_read(&found, path, 9, &test_error));
        assert_string_equal((char *)found.data, "old");
        bytes_free(&found);
        assert_int_equal(io_output_end(&o, good ? VT_OK : VT_NAN, &test_error), good ? VT_OK : VT_NAN);
        assert_int_equal(access(name, F_OK), -1);
        assert_ok(io_read(&found, path, 9, &test_error));
        assert_string_equal((char *)found.data, good ? "new" : "old");
        bytes_free(&found);
        free(name);
    }
    /* A begin that failed is ended, too. */
    assert_int_equal(io_output_begin(&o, nowhere, &test_error), VT_IO);
    assert_int_equal(io_output_end(&o, VT_IO, &test_error), VT_IO);
    assert_true(io_free(path) > 0);
    unlink(path);
    free(path);
    free(nowhere);
}

static void a_link_is_followed(void **state)
{
    (void)state;
    static const struct { const char *to, *text; } refused[] = {
        { "nothing", "is a link to what is not there" }, { "/dev/null", "not a regular file" },
        { "loop", "is a link to what is not there" }, { ".", "not a regular file" },
    };
    char *links = at("links"), *real = at("links/real"), *link = at("links/link");
    char *other = at("links/other"), *loop = at("links/loop");
    struct stat info;
    bytes b;
    assert_ok(io_mkdir(real, &test_error));
    char *file = at("links/real/file");
    assert_ok(io_replace(file, "old", 3, &test_error));
    assert_int_equal(symlink("real/file", other), 0);
    assert_int_equal(symlink("other", link), 0);                /* through two */
    assert_ok(io_writable(link, &test_error));
    assert_ok(io_replace(link, "new", 3, &test_error));
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(file, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    assert_ok(io_read(&b, file, 10, &test_error));
    assert_string_equal((char *)b.data, "new");
    bytes_free(&b);
    assert_int_equal(files_in(real), 1);
    unlink(link);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char *at_fault = strcmp(refused[i].to, "loop") == 0 ? loop : link;
        assert_int_equal(symlink(refused[i].to, at_fault), 0);
        assert_int_equal(io_replace(at_fault, "x", 1, &test_error), VT_IO);
        assert_contains(test_error.text, at_fault);
        assert_contains(test_error.text, refused[i].text);
        assert_int_equal(io_writable(at_fault, &test_error), VT_IO);
        assert_contains(test_error.text, refused[i].text);
        assert_int_equal(lstat(at_fault, &info), 0);
        assert_true(S_ISLNK(info.st_mode));
        unlink(at_fault);
    }
    assert_int_equal(io_writable(links, &test_error), VT_IO);
    assert_contains(test_error.text, "not a regular file");
    char *nowhere = at("links/no/file");
    assert_int_equal(io_writable(nowhere, &test_error), VT_IO);
    assert_contains(test_error.text, strerror(ENOENT));
    assert_int_equal(files_in(links), 2);                       /* real, other */
    free(nowhere);
    free(file);
    free(loop);
    free(other);
    free(link);
    free(real);
    free(links);
}

/* CKPT-02: the new file is on the disk before it has the name, and the name
 * before the call returns; a step that fails leaves the old file alone. */
static void the_disk_has_it_before_the_name(void **state)
{
    (void)state;
    static const struct { char fail_at; const char *calls, *content; } rows[] = {
        { 0, "frd", "new" }, { 'f', "F", "old" }, { 'r', "fR", "old" }, { 'd', "frD", "new" },
    };
    char *place = at("ordered"), *path = at("ordered/state");
    assert_ok(io_mkdir(place, &test_error));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ok(io_replace(path, "old", 3, &test_error));
        memset(calls, 0, sizeof calls);
        ncalls = 0, fail_at = rows[i].fail_at, noting = true;
        const vt_status status = io_replace(path, "new", 3, &test_error);
        noting = false;
        assert_string_equal(calls, rows[i].calls);
        assert_int_equal(status, rows[i].fail_at ? VT_IO : VT_OK);
        if (status) assert_contains(test_error.text, strerror(EIO));
        bytes b;
        assert_ok(io_read(&b, path, 3, &test_error));
        assert_string_equal((char *)b.data, rows[i].content);
        bytes_free(&b);
        assert_int_equal(files_in(place), 1);
    }
    free(place);
    free(path);
}

/* A reader of the path during many replacements sees a whole file each time. */
static void *replace_often(void *argument)
{
    static char a[200000], b[200000];
    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    for (int i = 0; i < 40; i++)
        if (io_replace(argument, i % 2 ? b : a, sizeof a, NULL) != VT_OK) return argument;
    return NULL;
}

static void a_reader_sees_one_or_the_other(void **state)
{
    (void)state;
    char *path = at("seen");
    assert_ok(io_replace(path, "", 0, &test_error));
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, replace_often, path), 0);
    for (int i = 0; i < 200; i++) {
        bytes b;
        assert_ok(io_read(&b, path, 200000, &test_error));
        assert_true(b.len == 0 || b.len == 200000);
        if (b.len) assert_memory_equal(b.data, b.data + 1, b.len - 1);
        bytes_free(&b);
    }
    void *failed = NULL;
    pthread_join(writer, &failed);
    assert_null(failed);
    unlink(path);
    free(path);
}

static void folders_are_made_with_their_parents(void **state)
{
    (void)state;
    char *deep = at("a//b/c/"), *file = at("a/b/c/file"), *below = at("a/b/c/file/d");
    assert_ok(io_mkdir(deep, &test_error));
    assert_ok(io_mkdir(deep, &test_error));
    assert_ok(io_mkdir("/", &test_error));
    assert_ok(io_replace(file, "x", 1, &test_error));
    assert_int_equal(io_mkdir(file, &test_error), VT_IO);
    assert_contains(test_error.text, "a file of that name is there");
    assert_int_equal(io_mkdir(below, &test_error), VT_IO);
    assert_int_equal(io_mkdir("", &test_error), VT_IO);
    free(deep);
    free(file);
    free(below);
    char *joined = io_join("a/", "b");
    assert_string_equal(joined, "a/b");
    free(joined);
    joined = io_join("", "b");
    assert_string_equal(joined, "b");
    free(joined);
}

static void a_folder_goes_with_all_that_is_in_it(void **state)
{
    (void)state;
    char *top = at("gone"), *deep = at("gone/a/b"), *file = at("gone/a/b/f"), *link = at("gone/a/l");
    char *kept = at("kept"), *inside = at("kept/file"), *other = at("link");
    assert_ok(io_mkdir(deep, &test_error));
    assert_ok(io_mkdir(kept, &test_error));
    assert_ok(io_replace(file, "x", 1, &test_error));
    assert_ok(io_replace(inside, "x", 1, &test_error));
    assert_int_equal(symlink(kept, link), 0);
    assert_int_equal(symlink(kept, other), 0);
    io_remove_folder(other);                    /* a link is no folder */
    io_remove_folder(top);
    assert_int_equal(access(top, F_OK), -1);
    assert_int_equal(access(other, F_OK), 0);
    assert_int_equal(access(inside, F_OK), 0);
    io_remove_folder(top);
    unlink(other);
    io_remove_folder(kept);
    assert_int_equal(access(kept, F_OK), -1);
    char *const all[] = { top, deep, file, link, kept, inside, other };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_is_the_standards),
        cmocka_unit_test(a_files_hash_is_its_contents),
        cmocka_unit_test(texts_grow),
        cmocka_unit_test(written_is_read),
        cmocka_unit_test(a_pipe_is_read_to_its_end),
        cmocka_unit_test(a_pipe_without_a_writer),
        cmocka_unit_test(what_cannot_be_read_is_named),
        cmocka_unit_test(modes_are_obeyed),
        cmocka_unit_test(a_failed_write_leaves_the_old_file),
        cmocka_unit_test(a_file_is_there_at_the_end),
        cmocka_unit_test(a_link_is_followed),
        cmocka_unit_test(the_disk_has_it_before_the_name),
        cmocka_unit_test(a_reader_sees_one_or_the_other),
        cmocka_unit_test(folders_are_made_with_their_parents),
        cmocka_unit_test(a_folder_goes_with_all_that_is_in_it),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
