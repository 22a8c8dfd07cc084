/* check_op.c -- see check_op.h: options, and which function of the library they mean. */
#include "cli/check_op.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/utf8.h"
#include "cli/check_op_show.h"
#include "cli/check_torch.h"
#include "cli/outputs.h"

void check_op_defaults(check_op_args *a)
{
    *a = (check_op_args){ .layout = "bthd", .seconds = 10, .temperature = 1, .cases = 10000 };
}

bool check_op_asked(const check_op_args *a)
{
    return a->kernel || a->dump || a->self_test || a->list_ops || (a->torch && a->op);
}

/* ---- which options go together -------------------------------------------- */

enum { MODEL = 1, KERNEL = 2, DUMP = 4, SELF = 8, LIST = 16, TORCH = 32 };

static const struct { const char *option; int with; } uses[] = {
    { "--entries", MODEL }, { "--differences", MODEL }, { "--every", MODEL },
    { "--directions", MODEL }, { "--full", MODEL }, { "--batch", MODEL }, { "--seq", MODEL },
    { "--isa", MODEL }, { "--op", KERNEL | DUMP | TORCH }, { "--precision", KERNEL | DUMP },
    { "--all", KERNEL }, { "--compiler", KERNEL }, { "--case", KERNEL }, { "--seconds", KERNEL },
    { "--causal", DUMP }, { "--temperature", DUMP }, { "--layout", DUMP }, { "--heads", DUMP },
    { "--allow-degenerate", DUMP }, { "--cases", SELF }, { "--threads", MODEL | SELF },
    { "--seed", MODEL | KERNEL | DUMP | SELF | TORCH },
    { "--json", MODEL | KERNEL | DUMP | SELF | TORCH },
    { "--junit", MODEL | KERNEL | DUMP | SELF | TORCH },
    { "--torch", MODEL | TORCH }, { "--python", MODEL | TORCH },
};

static int mode_of(const check_op_args *a, const options_read *read)
{
    return (read->noperands ? MODEL : 0) | (a->kernel ? KERNEL : 0) | (a->dump ? DUMP : 0) |
           (a->self_test ? SELF : 0) | (a->list_ops ? LIST : 0) |
           (a->torch && a->op && !read->noperands && !a->kernel && !a->dump ? TORCH : 0);
}

vt_status check_op_uses(const command *c, const options_read *read, const check_op_args *a,
                        vt_error *err)
{
    const int mode = mode_of(a, read);
    static const char *const names[] = { "a model", "--kernel", "--dump", "--self-test" };
    if (mode & (mode - 1))
        return fail(err, VT_USAGE, "expected one of DIR, --kernel, --dump, --self-test and --list-ops");
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        if (!mode || uses[i].with & mode || !options_given(c, read, uses[i].option)) continue;
        const char *with = "";
        for (int m = 0; m < 4 && !*with; m++) if (uses[i].with & 1 << m) with = names[m];
        return fail(err, VT_USAGE, "%s goes with %s (vitrine check --help)", uses[i].option, with);
    }
    if (!a->torch && options_given(c, read, "--python"))
        return fail(err, VT_USAGE, "--python: expected --torch with it");
    return VT_OK;
}

/* ---- the checks ------------------------------------------------------------ */

typedef struct shown { size_t percent; } shown;

static bool on_progress(void *context, size_t done, size_t of)
{
    shown *s = context;
    const size_t percent = of ? (size_t)(100 * ((double)done / (double)of)) : 100;
    if (percent == s->percent) return false;
    s->percent = percent;
    fprintf(stderr, "\rcase %zu of %zu (%zu %%)", done, of, percent);
    fflush(stderr);
    return false;
}

static void clear_progress(const shown *s)
{
    if (s->percent != SIZE_MAX) fprintf(stderr, "\r%*s\r", 60, "");
}

/* The folder of vitrine_kernel.h, a new string: where it was when this command was built
 * or, installed, beside the program's; NULL: the compiler's own folders. */
static char *include_folder(void)
{
    if (access(VT_KERNEL_INCLUDE "/vitrine_kernel.h", R_OK) == 0) return strdup(VT_KERNEL_INCLUDE);
    char *folder = cli_beside("../include"), *header = folder ? io_join(folder, "vitrine_kernel.h") : NULL;
    if (!header || access(header, R_OK) != 0) {
        free(folder);
        folder = NULL;
    }
    free(header);
    return folder;
}

static vt_status show_report(const check_op_args *a, const vt_op_report *r, const char *name,
                             vt_error *err)
{
    vt_status s = a->json ? check_op_json(r, name, err) : check_op_text(r, a, err);
    if (s == VT_OK && a->junit) s = check_op_junit(a->junit, r, name, err);
    return s;
}

/* Names of tensors come from a file, what a kernel printed from the kernel. */
static void make_plain(vt_op_report *r)
{
    utf8_plain(r->note, false);
    for (size_t i = 0; i < r->ncases; i++) {
        utf8_plain(r->cases[i].finding, false);
        utf8_plain(r->cases[i].said, true);
        for (size_t k = 0; k < r->cases[i].nrows; k++) utf8_plain(r->cases[i].rows[k].note, false);
    }
}

/* The report is shown where there is one; what fails there is worse than the finding. */
static vt_status end_report(const check_op_args *a, vt_op_report *r, const char *name, vt_status s,
                            vt_error *err)
{
    vt_error why;
    if (s == VT_OK || s == VT_CHECK_FAILED) {
        make_plain(r);
        const vt_status printed = show_report(a, r, name, &why);
        if (printed) {
            *err = why;
            s = printed;
        }
    }
    vt_op_report_free(r);
    return s;
}

static vt_status run_kernel(const check_op_args *a, vt_error *err)
{
    const char *compiler = a->compiler ? a->compiler : getenv("CC");
    vt_kernel_options o;
    vt_op_report r;
    shown percent = { SIZE_MAX };
    vt_kernel_defaults(&o);
    o.kernel = a->kernel;
    o.op = a->op;
    o.precision = a->precision;
    o.seed = a->seed;
    o.all = a->all;
    o.only = a->only;
    o.seconds = a->seconds;
    o.compiler = compiler && *compiler ? compiler : NULL;
    o.temporary = cli_temporary();
    vt_status s = output_ready("--junit", a->junit, a->kernel, err);
    if (s) return s;
    char *include = include_folder();
    o.include = include;
    cli_begin_interrupts();
    s = vt_check_kernel(&o, cli_terminal(stderr) ? on_progress : NULL, &percent, &r, err);
    cli_end_interrupts();
    free(include);
    clear_progress(&percent);
    return end_report(a, &r, a->kernel, s, err);
}

static vt_status run_dump(const check_op_args *a, vt_error *err)
{
    vt_dump_options o;
    vt_op_report r;
    vt_dump_defaults(&o);
    o.file = a->dump;
    o.op = a->op;
    o.layout = a->layout;
    o.precision = a->precision;
    o.causal = a->causal;
    o.temperature = a->temperature;
    o.heads = a->heads;
    o.degenerate = a->degenerate;
    o.seed = a->seed;
    vt_status s = output_ready("--junit", a->junit, a->dump, err);
    if (s) return s;
    s = vt_check_dump(&o, &r, err);
    return end_report(a, &r, a->dump, s, err);
}

static vt_status run_self_test(const check_op_args *a, vt_error *err)
{
    vt_self_report r;
    vt_error why;
    shown percent = { SIZE_MAX };
    vt_status s = vt_check_self_test(a->cases, a->seed, a->threads,
                                     cli_terminal(stderr) ? on_progress : NULL, &percent, &r, err);
    clear_progress(&percent);
    if (s == VT_OK || s == VT_CHECK_FAILED) {
        vt_status printed = a->junit ? check_self_junit(a->junit, &r, &why) : VT_OK;
        if (printed == VT_OK)
            printed = a->json ? check_self_json(&r, &why) : check_self_text(&r, &why);
        if (printed) {
            *err = why;
            s = printed;
        }
    }
    vt_self_report_free(&r);
    return s;
}

static vt_status run_torch(const check_op_args *a, vt_error *err)
{
    check_torch t;
    vt_error why;
    vt_status s = output_ready("--junit", a->junit, NULL, err);
    if (s) return s;
    s = check_torch_op(&t, a->python, a->op, a->seed, err);
    if (s == VT_OK || s == VT_CHECK_FAILED) {
        const vt_status printed = check_torch_show(&t, a->seed, a->json, a->junit, &why);
        if (printed) {
            *err = why;
            s = printed;
        }
    }
    check_torch_free(&t);
    return s;
}

static vt_status list_ops(vt_error *err)
{
    const char *meaning, *name;
    for (int i = 0; (name = vt_op_name(i, &meaning)) != NULL; i++)
        printf("%-13s %s\n", name, meaning);
    return cli_flush(err);
}

int check_op_run(const command *c, const options_read *read, const check_op_args *a)
{
    const int mode = mode_of(a, read);
    vt_error err;
    vt_status s = check_op_uses(c, read, a, &err);
    if (s == VT_OK && mode & (KERNEL | DUMP) && !a->op)
        s = fail(&err, VT_USAGE, "--op: expected the name of an operator (vitrine check --list-ops)");
    if (s == VT_OK)
        s = mode == KERNEL ? run_kernel(a, &err) : mode == DUMP ? run_dump(a, &err)
          : mode == SELF ? run_self_test(a, &err) : mode == TORCH ? run_torch(a, &err)
          : list_ops(&err);
    return s ? cli_error(c, s, &err) : VT_OK;
}
