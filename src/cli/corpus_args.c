/* corpus_args.c -- see corpus_args.h. */
#include "cli/corpus_args.h"
#include <string.h>

vt_status corpus_args_take(corpus_args *a, const char *option, vt_error *err)
{
    const vt_corpus *w = &a->what;
    const char *how = w->column ? "--column" : w->max_rows ? "--max-rows"
                    : w->replace_invalid ? "--replace-invalid" : w->no_header ? "--no-header"
                    : w->separator ? "--separator" : NULL;
    if (a->files.count == 0 && how)
        return fail(err, VT_USAGE, "%s: says nothing without %s", how, option);
    for (size_t i = 0; i < a->files.count; i++)
        if (strcmp(a->files.paths[i], "-") == 0)
            return fail(err, VT_USAGE, "%s -: expected a file: standard input is not read (./- is "
                        "a file of that name)", option);
    a->what.files = a->files.paths;
    a->what.nfiles = a->files.count;
    return VT_OK;
}
