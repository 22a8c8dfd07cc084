/* kernel_elf.h -- whether a file can be a shared library, before it is loaded. */
#ifndef KERNEL_ELF_H
#define KERNEL_ELF_H

#include "base/status.h"

/* VT_BAD_INPUT: it is no ELF file, or ends before what its header names: the loader maps
 * a file that was cut off, and crashes on its missing pages.  All else is the loader's to
 * say.  VT_IO: it cannot be read. */
VT_MUST_CHECK vt_status kernel_elf_check(const char *path, vt_error *err);

#endif
