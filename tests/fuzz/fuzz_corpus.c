/* fuzz_corpus.c -- a whole text, opened by its name, as training does: documents that are
 * UTF-8 and lie within what was read, whatever the file holds.
 *
 * The first byte says how the rest is read: a plain text, or the column "text" of a CSV,
 * each with or without a limit of rows, with a header or without one, invalid bytes
 * replaced or refused, cells parted by commas or semicolons.
 */
#include "fuzz.h"
#include <string.h>
#include "base/utf8.h"
#include "data/corpus.h"

/* A NUL, or what encoding.c knows by its beginning. */
static bool no_text(const uint8_t *p, size_t n)
{
    static const char *const first[] = { "\xFF\xFE", "\xFE\xFF", "\x1F\x8B", "BZh91AY&SY", "%PDF-",
                                         "\x28\xB5\x2F\xFD", "PK\3\4" };
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        const size_t k = strlen(first[i]);
        if (n >= k && memcmp(p, first[i], k) == 0) return true;
    }
    return n > 0 && memchr(p, 0, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    corpus c;
    const unsigned how = data[0];
    const char *path = fuzz_file(data + 1, size - 1);
    const bool table = how & 1, bare = table && how & 4, replace = how & 8;
    const vt_corpus what = { .files = &path, .nfiles = 1,
                             .column = bare ? "1" : table ? "text" : NULL, .no_header = bare,
                             .max_rows = how & 2 && table ? 2 : 0, .replace_invalid = replace,
                             .separator = table && how & 64 ? ";" : NULL };
    const vt_status s = corpus_load(&c, &what, &fuzz_error);
    if (s != VT_OK) {
        fuzz_refused(s, 1u << VT_BAD_INPUT, path);
        HOLDS(!c.docs && !c.files);
        HOLDS(table || size == 1 || no_text(data + 1, size - 1) || (!replace && utf8_first_bad(data + 1, size - 1) < size - 1) ||
              (size == 4 && memcmp(data + 1, "\xEF\xBB\xBF", 3) == 0));
        return 0;
    }
    size_t sum = 0;
    const corpus_file *f = &c.files[0];
    const bool good = utf8_first_bad(data + 1, size - 1) == size - 1;
    HOLDS(!no_text(data + 1, size - 1));
    HOLDS(c.count > 0 && c.nfiles == 1 && f->documents == c.count && (good || replace));
    HOLDS(good == (f->replaced == 0));
    HOLDS(what.max_rows == 0 || c.count + c.empty <= what.max_rows);
    for (size_t i = 0; i < c.count; i++) {
        const slice d = c.docs[i];
        HOLDS(d.len > 0 && utf8_first_bad(d.data, d.len) == d.len);
        HOLDS((d.data >= f->block.data && d.data + d.len <= f->block.data + f->block.len) ||
              (d.data >= f->repaired.data && d.data + d.len <= f->repaired.data + f->repaired.len));
        sum += d.len;
    }
    HOLDS(sum == c.bytes && sum <= 3 * (size - 1) && (replace || sum <= size - 1));
    corpus_free(&c);
    return 0;
}
