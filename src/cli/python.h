/* python.h -- a script given to a Python interpreter of the system's: PyTorch's side of
 * --torch. */
#ifndef CLI_PYTHON_H
#define CLI_PYTHON_H

#include "base/io.h"

enum {
    PYTHON_SECONDS = 300,       /* an import from a cold disk takes a minute */
    PYTHON_NO_TORCH = 43,       /* the script's exit status where it cannot import torch */
    PYTHON_WORDS = 64           /* words behind the script, at most */
};

/* Runs `python` (a program's path or name) with -c, the script and `words` (ended by
 * NULL), `input` (at most 60 KiB, or NULL) on its standard input, and takes what it
 * writes to standard output, at most 64 KiB.  VT_IO where it cannot be started, has no
 * torch, ends otherwise (where its answer begins "error: ", the line says so), says more,
 * or does not end within PYTHON_SECONDS: one line says which, and how to get it.
 * VT_INTERRUPTED: base/interrupt.h. */
VT_MUST_CHECK vt_status python_run(bytes *answer, const char *python, const char *script,
                                   const char *const *words, const bytes *input, vt_error *err);

/* The first line of an answer, "torch VERSION": copies the version, ended by NUL, and
 * moves *at behind the line.  False where the answer is another, or has a NUL. */
bool python_torch(char version[40], const char **at, const bytes *answer);

#endif
