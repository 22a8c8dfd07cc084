/* check_op.h -- vitrine check --kernel, --dump, --op NAME --torch, --self-test: what is no
 * model. */
#ifndef CHECK_OP_H
#define CHECK_OP_H

#include "cli/cli.h"

typedef struct check_op_args {
    const char *kernel, *dump;          /* NULL: not asked */
    bool        self_test, list_ops;
    const char *op, *precision, *layout, *compiler;
    bool        all, causal, degenerate;
    int         only, heads;
    double      seconds, temperature;
    size_t      cases;                  /* correct ones of the self-test */
    /* shared with the check of a model */
    uint64_t    seed;
    int         threads;
    bool        json;
    const char *junit, *python;
    bool        torch;
} check_op_args;

void check_op_defaults(check_op_args *a);

/* Whether one of these checks is asked for. */
bool check_op_asked(const check_op_args *a);

/* VT_USAGE where two checks are asked for, or an option of another than is asked for. */
VT_MUST_CHECK vt_status check_op_uses(const command *c, const options_read *read,
                                      const check_op_args *a, vt_error *err);

/* Runs it; the command's exit code. */
int check_op_run(const command *c, const options_read *read, const check_op_args *a);

#endif
