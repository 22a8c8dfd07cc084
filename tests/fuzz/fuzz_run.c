/* fuzz_run.c -- the record of a run that a checkpoint holds: what is accepted is
 * written to a text that is read to the same text.
 */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>
#include "train/run_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *root = NULL;
    run_record r;
    unsigned char *copy = fuzz_copy(data, size);
    vt_status s = js_parse(&root, copy, size, "run", &fuzz_error);
    free(copy);
    if (s == VT_OK) s = run_record_read(&r, root, "run", &fuzz_error);
    if (s != VT_OK) {
        fuzz_refused(s, 1u << VT_BAD_INPUT | 1u << VT_TOO_LARGE, "run: ");
    } else {
        const gpt_config z = { .L = 1, .C = 2, .NH = 1, .FF = 3, .T = 4, .V = 257 };
        bytes first = { 0 }, second = { 0 };
        json_t *again = NULL;
        HOLDS(r.step >= 0 && r.step <= r.settings.steps && r.settings.batch > 0);
        WORKS(run_record_write(&r, &z, &first, &fuzz_error));
        WORKS(js_parse(&again, first.data, first.len - 1, "again", &fuzz_error));
        WORKS(run_record_read(&r, again, "again", &fuzz_error));
        WORKS(run_record_write(&r, &z, &second, &fuzz_error));
        HOLDS(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
        json_decref(again);
        bytes_free(&first);
        bytes_free(&second);
    }
    json_decref(root);
    return 0;
}
