/* fuzz_elf.c -- the look at a shared library before it is loaded: no bytes of a file
 * make it read outside, and a whole library (the seed) passes.
 */
#include "fuzz.h"
#include "verify/host/kernel_elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    const vt_status s = kernel_elf_check(path, &fuzz_error);
    if (s != VT_OK) fuzz_refused(s, 1u << VT_BAD_INPUT | 1u << VT_IO, path);
    HOLDS(s != VT_OK || (size >= 64 && data[0] == 0x7F));
    return 0;
}
