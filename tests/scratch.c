/* scratch.c -- see scratch.h. */
#include "scratch.h"
#include "support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"

static char folder[] = "/tmp/vitrine_test_XXXXXX";

int scratch_make(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

int scratch_remove(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r -- %s", folder);
    return system(command) ? 1 : 0;
}

const char *scratch(const char *name)
{
    static char paths[8][256];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s%s%s", folder, name ? "/" : "", name ? name : "");
    return path;
}

void scratch_file(const char *name, const void *data, size_t n)
{
    assert_ok(io_replace(scratch(name), data, n, &test_error));
}

void python(const char *program, long compared)
{
    char command[200], line[600] = "";
    scratch_file("program.py", program, strlen(program));
    snprintf(command, sizeof command, "cd %s && /usr/bin/python3 program.py 2>&1", folder);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    while (fgets(line, sizeof line, p)) {}
    const int rc = pclose(p);
    long n = -1;
    if (rc != 0 || sscanf(line, "compared %ld", &n) != 1 || n != compared)
        fail_msg("python3: status %d, last line: %s (expected compared %ld)", rc, line, compared);
}
