/* header_mutator.c -- for targets whose input is a safetensors file: a change of the
 * header that moves its end is hidden from every check but the first, unless the length
 * before it says so.
 *
 * Most changes are made inside the header, or inside the data, and the length is written
 * again; the rest are libFuzzer's own, to the file as it is.
 */
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

enum { LENGTH = 8 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    uint64_t n = 0;
    if (size > LENGTH) memcpy(&n, data, LENGTH);
    if (seed % 8 == 0 || size <= LENGTH || n > size - LENGTH || most <= LENGTH)
        return LLVMFuzzerMutate(data, size, most);
    const size_t head = (size_t)n, body = size - LENGTH - head;
    if (seed % 8 == 1)                          /* the data */
        return LENGTH + head + LLVMFuzzerMutate(data + LENGTH + head, body, most - LENGTH - head);
    uint8_t *rest = fuzz_copy(data + LENGTH + head, body);
    n = LLVMFuzzerMutate(data + LENGTH, head, most - LENGTH - body);
    memcpy(data, &n, LENGTH);
    memcpy(data + LENGTH + n, rest, body);
    free(rest);
    return LENGTH + (size_t)n + body;
}
