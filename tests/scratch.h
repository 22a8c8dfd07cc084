/* scratch.h -- a test program's own folder, and Python as an oracle in it. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stddef.h>

/* The set-up and the tear-down of a group of tests: a new folder, and its
 * removal with all that is in it. */
int scratch_make(void **state);
int scratch_remove(void **state);

/* The path of a name in the folder, the folder's own for NULL; good for the
 * next seven calls. */
const char *scratch(const char *name);
void scratch_file(const char *name, const void *data, size_t n);

/* Runs a Python program in the folder.  It must end with status 0 and with the
 * line "compared N", N as given: an oracle that compared nothing fails. */
void python(const char *program, long compared);

#endif
