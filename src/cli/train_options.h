/* train_options.h -- how the options of a model and its batches are understood,
 * by `vitrine train` and by `vitrine info --memory`, which plans the same.
 *
 * Both have the rows of model_rows.def, and read them into a train_args.
 */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include "cli/config_file.h"
#include "cli/corpus_args.h"
#include "vitrine.h"

typedef struct train_args {
    vt_train_options o;
    corpus_args text;
    bool json, print_config;
    const char *config;
    bool memory;                /* of info */
    size_t tokens;              /* likewise */
} train_args;

/* The presets as train_args, for command.defaults. */
const void *train_options_presets(int i, const char **label);

/* What a configuration file of `vitrine train` says (f->n 0: there is none), and over it
 * the words of the command, into *a; *read says what was given by either.  VT_USAGE also
 * for words that contradict each other. */
VT_MUST_CHECK vt_status train_options_read(train_args *a, options_read *read, const config_file *f,
                                           const command *c, int argc, char **argv, vt_error *err);

/* What follows from the options that were given, for those that were not.  A window
 * cut to --context is for the caller to tell: o->seq is then another. */
void train_options_derive(vt_train_options *o, const command *c, const options_read *read);

#endif
