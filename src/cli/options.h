/* options.h -- the words behind a command, by one table that also prints its
 * help.
 *
 *     --name VALUE   --name=VALUE   --flag   OPERAND   --   -h
 *
 * Options and operands come in any order; after `--` all are operands.  A
 * number is read strictly: the whole text, decimal, finite, within the row's
 * range.  An option with a value is given once, but for lists
 * (OPTION_FILES).  Names are not abbreviated: a
 * script that relies on an abbreviation breaks when an option is added.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdio.h>
#include "base/status.h"

typedef enum option_kind {
    OPTION_GROUP,       /* no option: a heading of the help */
    OPTION_CALL_GROUP,  /* likewise; what follows is of one call: no configuration file has it */
    OPTION_FLAG,        /* bool, becomes true */
    OPTION_OFF,         /* bool, becomes false */
    OPTION_TEXT,        /* const char *, any text */
    OPTION_NAME,        /* const char *, a name: not empty */
    OPTION_FILE,        /* const char *, the path of a file: not empty */
    OPTION_FILES,       /* option_files: such, and the option may be given again */
    OPTION_FOLDER,      /* const char *, of a folder: not empty */
    OPTION_CHOICE,      /* const char *, one of a set of words, see option_choice */
    OPTION_INT,         /* int */
    OPTION_LONG,        /* long long */
    OPTION_SIZE,        /* size_t */
    OPTION_SEED,        /* uint64_t, its whole range */
    OPTION_REAL         /* double */
} option_kind;

enum { FILES_MOST = 1000 };
typedef struct option_files { const char *paths[FILES_MOST]; size_t count; } option_files;

typedef struct option_row {
    option_kind kind;
    const char *name;       /* "--steps"; a group's heading */
    size_t      at;         /* offsetof the variable in the command's struct */
    const char *value;      /* what stands for the value in the help: "N"; of a choice the
                               words, "tiny|default" */
    double      low, high;  /* of a number, both allowed */
    const char *help;       /* lines of at most 50 columns */
} option_row;

enum { OPTIONS_MOST = 64, OPERANDS_MOST = 33 };

typedef struct options_read {
    bool        given[OPTIONS_MOST];    /* by row */
    const char *operands[OPERANDS_MOST];
    size_t      noperands;
    bool        help;                   /* asked for; what follows was not read */
} options_read;

typedef struct command {
    const char *name;           /* "train" */
    const char *summary;        /* one line of `vitrine --help` */
    const char *usage;          /* "vitrine train --data FILE ..." */
    const char *about;          /* paragraphs */
    const option_row *rows;     /* nrows of them, at most OPTIONS_MOST */
    size_t      nrows;
    size_t      operands;       /* how many at most */
    option_kind operand;        /* what they are: OPTION_FILE, _FOLDER, _CHOICE; for completion */
    const char *examples, *exits;
    /* The struct of set i with its default values, NULL behind the last; *label
     * is its name.  May be NULL. */
    const void *(*defaults)(int i, const char **label);
    /* Word i of a set that a table elsewhere holds, for the choice `option` ("" for
     * operands); NULL behind the last, and where the row's own value lists them.
     * May be NULL. */
    const char *(*words)(const char *option, size_t i);
    int (*run)(const struct command *c, int argc, char **argv);
} command;

/* Reads argv[0 .. argc-1], the words behind the command's name, into the struct
 * at `into`; only what is given is written.  VT_USAGE: one line. */
VT_MUST_CHECK vt_status options_parse(const command *c, int argc, char **argv, void *into,
                                      options_read *out, vt_error *err);

/* Whether --name (one of the table's) was given. */
bool options_given(const command *c, const options_read *read, const char *name);

static inline bool option_is_heading(const option_row *row)
{
    return row->kind == OPTION_GROUP || row->kind == OPTION_CALL_GROUP;
}

/* Word i that a choice takes, *n bytes of it; NULL behind the last. */
const char *option_choice(const command *c, const option_row *row, size_t i, size_t *n);

/* Row of the name, n bytes of it with its dashes; c->nrows where there is none. */
size_t options_find(const command *c, const char *name, size_t n);

/* Reads one value into its field.  VT_USAGE: "NAME VALUE: expected ..." */
VT_MUST_CHECK vt_status option_set(const command *c, const option_row *row, const char *text,
                                   void *field, vt_error *err);

/* A number's value in the struct at `set`, the shortest text that reads back to it;
 * false where it could not be given: it stands for absence.  And for other kinds. */
enum { OPTION_NUMBER = 32 };
bool option_number(char out[OPTION_NUMBER], const option_row *row, const void *set);

/* ", is WORD meant?" in out[], where a word of at(set, 0), ... is near to the n bytes
 * of word (base/nearest.h), else "". */
enum { MEANT = 96 };
const char *options_meant(char out[MEANT], const char *word, size_t n,
                          const char *(*at)(const void *set, size_t i), const void *set);

/* One number as OPTION_INT reads it, for lists; `what` opens the message. */
VT_MUST_CHECK vt_status options_int(const char *text, size_t n, const char *what, int low,
                                    int high, int *out, vt_error *err);

void options_help(FILE *out, const command *c);

#endif
