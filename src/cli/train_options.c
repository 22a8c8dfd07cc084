/* train_options.c -- see train_options.h. */
#include "cli/train_options.h"
#include <limits.h>
#include <string.h>
#include "cli/cli.h"

const void *train_options_presets(int i, const char **label)
{
    static const char *const names[] = { "tiny", "default", "gpt2" };
    static train_args set;
    if (i >= (int)(sizeof names / sizeof *names) || vt_train_preset(&set.o, names[i], NULL))
        return NULL;
    *label = names[i];
    if (set.o.warmup < 0) set.o.warmup = -set.o.warmup;     /* "or as many as the run has" */
    set.o.preset = set.o.isa = NULL;        /* the help's own words say these */
    return &set;
}

static bool given(const command *c, const options_read *read, const char *name)
{
    return options_given(c, read, name);
}

static vt_status check(const command *c, const options_read *read, vt_error *err)
{
    static const char *const either[][2] = {
        { "--tied", "--untied" }, { "--merges", "--tokenizer" },
        { "--replace-invalid", "--refuse-invalid" }, { "--no-header", "--header" },
    };
    for (size_t i = 0; i < sizeof either / sizeof *either; i++)
        if (given(c, read, either[i][0]) && given(c, read, either[i][1]))
            return fail(err, VT_USAGE, "%s and %s: expected one of them", either[i][0], either[i][1]);
    return VT_OK;
}

static void set_given(const command *c, options_read *read, const char *name, bool yes)
{
    const size_t r = options_find(c, name, strlen(name));
    if (r < c->nrows) read->given[r] = yes;
}

vt_status train_options_read(train_args *a, options_read *read, const config_file *f,
                             const command *c, int argc, char **argv, vt_error *err)
{
    options_read by_file;
    vt_status s = config_apply(f, &cmd_train, a, &by_file, err);
    if (s || (s = options_parse(c, argc, argv, a, read, err)) || (s = check(c, read, err)) ||
        (!a->o.isa && (s = cli_isa(&a->o.isa, err))))
        return s;
    /* --epochs here replaces the file's length, in whichever unit that is. */
    const bool epochs = given(c, read, "--epochs") && !given(c, read, "--steps");
    /* --merges here asks for a tokenizer that is learnt; a checkpoint has its own. */
    if (!given(c, read, "--tokenizer") && (given(c, read, "--merges") || a->o.resume))
        a->o.tokenizer = NULL;
    for (size_t r = 0; r < cmd_train.nrows; r++)
        if (by_file.given[r]) set_given(c, read, cmd_train.rows[r].name, true);
    if (epochs) set_given(c, read, "--steps", false);
    return VT_OK;
}

void train_options_derive(vt_train_options *o, const command *c, const options_read *read)
{
    if (given(c, read, "--epochs") && !given(c, read, "--steps")) o->steps = 0;
    if (given(c, read, "--d-model") && !given(c, read, "--ff") && o->d_model <= INT_MAX / 4)
        o->ff = 4 * o->d_model;
    if (given(c, read, "--context") && !given(c, read, "--seq") && o->seq > o->context)
        o->seq = o->context;
    if (given(c, read, "--lr") && !given(c, read, "--lr-min")) o->lr_min = o->lr / 10;
}
