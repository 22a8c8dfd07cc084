/* corpus_args.h -- the options by which commands are given a text: one table, so
 * that they read alike.
 *
 *     typedef struct train_args { ...; corpus_args text; } train_args;
 *     CORPUS_ROWS(train_args, text, "--data", "what it is for"),      in the table
 *     corpus_args_take(&a.text, "--data", &err)       behind parsing; then a.text.what
 */
#ifndef CORPUS_ARGS_H
#define CORPUS_ARGS_H

#include "cli/options.h"

typedef struct corpus_args {
    option_files files;
    vt_corpus    what;          /* its files: by corpus_args_take */
} corpus_args;

/* The rows, of a command's struct `type` with the corpus_args `member`.  The option
 * that names the files has a name and a help of the command's. */
#define CORPUS_ROWS(type, member, name, help) \
    { OPTION_FILES, name, offsetof(type, member.files), "FILE", 0, 0, help }, \
    CORPUS_HOW_ROWS(type, member)
/* Of a command whose operands are the files. */
#define CORPUS_HOW_ROWS(type, member) \
    { OPTION_TEXT, "--column", offsetof(type, member.what.column), "NAME", 0, 0, \
      "the column of a .csv, by name or by number from 1,\nor the field of a .jsonl [text]; what has another\nname is read as CSV with it, else as plain text" }, \
    { OPTION_SIZE, "--max-rows", offsetof(type, member.what.max_rows), "N", 1, 1099511627776.0, \
      "read the first N rows of a .csv or .jsonl only" }, \
    { OPTION_FLAG, "--replace-invalid", offsetof(type, member.what.replace_invalid), NULL, 0, 0, \
      "what is no UTF-8 becomes U+FFFD, and is counted" }, \
    { OPTION_FLAG, "--no-header", offsetof(type, member.what.no_header), NULL, 0, 0, \
      "a .csv's first line is data; --column is a number,\nor 1" }, \
    { OPTION_TEXT, "--separator", offsetof(type, member.what.separator), "CHAR", 0, 0, \
      "what parts a .csv's cells: one character, or tab\n[a comma; in a .tsv a tab]" }

/* Of a command that reads configuration files: what takes back a file's flag. */
#define CORPUS_OFF_ROWS(type, member) \
    { OPTION_OFF, "--refuse-invalid", offsetof(type, member.what.replace_invalid), NULL, 0, 0, \
      "what is no UTF-8 is refused (default)" }, \
    { OPTION_OFF, "--header", offsetof(type, member.what.no_header), NULL, 0, 0, \
      "a .csv's first line names the columns (default)" }

/* The files into a->what; none may have been given.  VT_USAGE: how to read them was
 * said, but not what; or a file is "-".  `option` is the one that names them. */
VT_MUST_CHECK vt_status corpus_args_take(corpus_args *a, const char *option, vt_error *err);

#endif
