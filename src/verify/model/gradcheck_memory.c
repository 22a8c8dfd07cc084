/* gradcheck_memory.c -- see gradcheck.h: apart from the check, because WebAssembly
 * moves a model (check_pass.h) and judges nothing. */
#include <stdint.h>
#include <stdlib.h>
#include "verify/model/gradcheck.h"

void *gradcheck_acts(size_t bytes)
{
    return bytes > SIZE_MAX - 63 ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}
