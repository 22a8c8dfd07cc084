/* fuzz.h -- what the fuzz targets share.
 *
 * A target is one function that libFuzzer calls with bytes of its own making.  It
 * gives them to a reader, and then asks for more than that nothing crashed: that
 * the reader agrees with a second, plainer one, or that what was accepted can be
 * written and read back the same.  A promise that does not hold aborts, with the
 * line that asked, and libFuzzer keeps the input.
 *
 * Reference: LLVM 14, "libFuzzer - a library for coverage-guided fuzz testing".
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts where `what` does not hold. */
#define HOLDS(what) ((what) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #what, NULL))
/* The same, of a call that has to succeed. */
#define WORKS(call) fuzz_works(__FILE__, __LINE__, #call, (call))
_Noreturn void fuzz_broken(const char *file, int line, const char *what, const char *why);
void fuzz_works(const char *file, int line, const char *call, vt_status status);

/* For the calls of a target; WORKS prints it. */
extern vt_error fuzz_error;

/* A refusal is one of `may` (a sum of 1 << status), with one line that begins with
 * `name` and holds nothing that a terminal obeys. */
void fuzz_refused(vt_status status, unsigned may, const char *name);

/* A copy of exactly n bytes, so that a read behind them is seen. */
unsigned char *fuzz_copy(const void *data, size_t n);

/* A file of these bytes, under a name that stays the same; it has no other name and
 * is gone with the process. */
const char *fuzz_file(const void *data, size_t n);
/* A folder in which NAME is a link to that file. */
const char *fuzz_folder(const char *name);

#endif
