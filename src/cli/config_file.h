/* config_file.h -- options of a run from a file, and back into one.
 *
 *     # a comment; blank lines say nothing either
 *     d-model = 128           # an option's name without its dashes
 *     tied    = true          # a flag: true or false
 *     column  = "the text"    # quoted, or not: then to the end of the line
 *
 * One option a line.  Blanks (spaces, tabs) around key and value do not count; `#`
 * begins a comment at the beginning of a line, and behind a blank.  Within quotes
 * \" \\ \n \t \r and \xHH (a byte, not 00) stand for what they name.  A value is read
 * as on the command line, by the same row of the same table.  A key is given once, but
 * for lists.  The file is UTF-8, lines end in LF or CR LF, a byte order mark is
 * passed over.  Paths are as on the command line: from the folder it is called in.
 *
 * What says what a call does, and not what the run is (OPTION_CALL_GROUP: --resume,
 * --json), is no key.  There are no sections, no includes, no variables.
 */
#ifndef CONFIG_FILE_H
#define CONFIG_FILE_H

#include "base/bytes.h"
#include "cli/options.h"

typedef struct config_entry {
    size_t row, line;
    const char *value;
} config_entry;

/* A file that was read; values point into its text.  Zeroed: one that says nothing. */
typedef struct config_file {
    const char *path;
    bytes text;
    config_entry *entries;
    size_t n;
} config_file;

/* Reads the file at `path`, which stays the caller's; free it.  VT_IO: it cannot be
 * read; VT_BAD_INPUT: "FILE:LINE: what, what was expected". */
VT_MUST_CHECK vt_status config_read(config_file *f, const command *c, const char *path,
                                    vt_error *err);
void config_free(config_file *f);

/* Writes the values into the struct at `into`, as options_parse does; out->given says
 * which.  VT_BAD_INPUT as above. */
VT_MUST_CHECK vt_status config_apply(const config_file *f, const command *c, void *into,
                                     options_read *out, vt_error *err);

/* An error line that shows a value of the file ("--heads 3 does not divide ..."), as a
 * check of all values together makes it: names the file and the line of the first, and
 * the status becomes VT_BAD_INPUT.  Any other stays as it is. */
vt_status config_blame(const config_file *f, const command *c, vt_status s, vt_error *err);

/* Appends the whole configuration in the struct at `set`, to be read again.  What has
 * no value is a comment. */
VT_MUST_CHECK vt_status config_text(bytes *out, const command *c, const void *set, vt_error *err);

#endif
