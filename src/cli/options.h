/* options.h -- the words behind a command, by one table that also prints its
 * help.
 *
 *     --name VALUE   --name=VALUE   --flag   OPERAND   --   -h
 *
 * Options and operands come in any order; after `--` all are operands.  A
 * number is read strictly: the whole text, decimal, finite, within the row's
 * range.  An option with a value is given once.  Names are not abbreviated: a
 * script that relies on an abbreviation breaks when an option is added.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdio.h>
#include "base/status.h"

typedef enum option_kind {
    OPTION_GROUP,       /* no option: a heading of the help */
    OPTION_FLAG,        /* bool, becomes true */
    OPTION_OFF,         /* bool, becomes false */
    OPTION_TEXT,        /* const char *, any text */
    OPTION_NAME,        /* const char *, a path or name: not empty */
    OPTION_INT,         /* int */
    OPTION_LONG,        /* long long */
    OPTION_SIZE,        /* size_t */
    OPTION_SEED,        /* uint64_t, its whole range */
    OPTION_REAL         /* double */
} option_kind;

typedef struct option_row {
    option_kind kind;
    const char *name;       /* "--steps"; a group's heading */
    size_t      at;         /* offsetof the variable in the command's struct */
    const char *value;      /* what stands for the value in the help: "N" */
    double      low, high;  /* of a number, both allowed */
    const char *help;       /* lines of at most 50 columns */
} option_row;

enum { OPTIONS_MOST = 64, OPERANDS_MOST = 2 };

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
    const char *examples, *exits;
    /* The struct of set i with its default values, NULL behind the last; *label
     * is its name.  May be NULL. */
    const void *(*defaults)(int i, const char **label);
    int (*run)(const struct command *c, int argc, char **argv);
} command;

/* Reads argv[0 .. argc-1], the words behind the command's name, into the struct
 * at `into`; only what is given is written.  VT_USAGE: one line. */
VT_MUST_CHECK vt_status options_parse(const command *c, int argc, char **argv, void *into,
                                      options_read *out, vt_error *err);

/* Whether --name (one of the table's) was given. */
bool options_given(const command *c, const options_read *read, const char *name);

/* One number as OPTION_INT reads it, for lists; `what` opens the message. */
VT_MUST_CHECK vt_status options_int(const char *text, size_t n, const char *what, int low,
                                    int high, int *out, vt_error *err);

void options_help(FILE *out, const command *c);

#endif
