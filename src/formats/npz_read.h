/* npz_read.h -- what npz_read.c and npz_stream.c share. */
#ifndef NPZ_READ_H
#define NPZ_READ_H

#include "formats/npz.h"

/* n bytes of the file from `at` on; VT_BAD_INPUT where it ends before. */
VT_MUST_CHECK vt_status npz_pread(const npz_file *f, uint64_t at, void *out, size_t n,
                                  vt_error *err);

#endif
