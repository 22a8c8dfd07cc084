/* memory_show.h -- how the plan of a run's memory is printed. */
#ifndef MEMORY_SHOW_H
#define MEMORY_SHOW_H

#include "cli/cli.h"
#include "vitrine.h"

/* A table; `what` is its heading. */
void memory_show(FILE *out, const char *what, const vt_memory *m);
/* The same as one JSON object. */
void memory_json(js_writer *w, const vt_memory *m);

#endif
