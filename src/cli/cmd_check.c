/* cmd_check.c -- vitrine check. */
#include <limits.h>
#include <math.h>
#include <string.h>
#include "cli/check_op.h"
#include "cli/check_show.h"
#include "cli/cli.h"
#include "cli/outputs.h"

typedef struct check_args {
    vt_check_options o;
    const char *isa;
    int  threads;
    bool json;
    const char *junit, *python;
    bool torch;
    check_op_args op;           /* kernels, dumps, the self-test */
} check_args;

#define AT(field) offsetof(check_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "of all", 0, NULL, 0, 0, NULL },
    { OPTION_SEED, "--seed", AT(o.seed), "N", 0, 0, "of all that is drawn: entries, directions, cases" },
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0, "one JSON object" },
    { OPTION_NAME, "--junit", AT(junit), "FILE", 0, 0, "also writes the results as JUnit XML" },
    { OPTION_FLAG, "--torch", AT(torch), NULL, 0, 0, "DIR, --op NAME: PyTorch's automatic differentiation\nin float64 gives the same (Debian: python3-torch)" },
    { OPTION_NAME, "--python", AT(python), "PROGRAM", 0, 0, "the interpreter that has torch" },

    { OPTION_GROUP, "of a model (DIR)", 0, NULL, 0, 0, NULL },
    { OPTION_INT, "--entries", AT(o.entries), "N", 1, INT_MAX, "of each tensor, drawn at random" },
    { OPTION_FLAG, "--every", AT(o.every), NULL, 0, 0, "every entry of every tensor (slow)" },
    { OPTION_INT, "--differences", AT(o.differences), "N", -1, INT_MAX, "of those, also by adaptive differences; -1: 4, or\n1 of a large model" },
    { OPTION_INT, "--batch", AT(o.batch), "N", 0, 65536, "windows; 0: 2, or what the model holds" },
    { OPTION_INT, "--seq", AT(o.seq), "N", 0, INT_MAX, "tokens of each; 0: 8, or what the model holds" },
    { OPTION_INT, "--threads", AT(threads), "N", 0, 256, "0: all cores; also of --self-test" },
    { OPTION_NAME, "--isa", AT(isa), "NAME", 0, 0, "fast kernels to compare: portable, avx2, avx512\n[the best]" },

    { OPTION_GROUP, "of a kernel of yours", 0, NULL, 0, 0, NULL },
    { OPTION_NAME, "--kernel", AT(op.kernel), "FILE", 0, 0, "a .c file, which $CC or cc compiles, or a .so, with\nthe function of include/vitrine_kernel.h" },
    { OPTION_NAME, "--op", AT(op.op), "NAME", 0, 0, "the operator it computes; also of --dump, --torch" },
    { OPTION_FLAG, "--list-ops", AT(op.list_ops), NULL, 0, 0, "names all operators and what they compute" },
    { OPTION_NAME, "--precision", AT(op.precision), "NAME", 0, 0, "float64 or float32 [those that it has]" },
    { OPTION_FLAG, "--all", AT(op.all), NULL, 0, 0, "all cases, also after two that fail" },
    { OPTION_INT, "--case", AT(op.only), "N", 1, INT_MAX, "only this case" },
    { OPTION_NAME, "--compiler", AT(op.compiler), "COMMAND", 0, 0, "of a .c, with its options; else $CC, else cc" },
    { OPTION_REAL, "--seconds", AT(op.seconds), "S", 0.01, 86400, "that a call may take" },

    { OPTION_GROUP, "of tensors out of any program", 0, NULL, 0, 0, NULL },
    { OPTION_NAME, "--dump", AT(op.dump), "FILE", 0, 0, ".npz or .safetensors; names: docs/check-kernel.md" },
    { OPTION_FLAG, "--causal", AT(op.causal), NULL, 0, 0, "attention, projected: no key behind the query" },
    { OPTION_NAME, "--layout", AT(op.layout), "NAME", 0, 0, "attention: bthd, or PyTorch's bhtd" },
    { OPTION_REAL, "--temperature", AT(op.temperature), "T", 1e-30, 1e30, "crossentropy, lab" },
    { OPTION_INT, "--heads", AT(op.heads), "N", 1, 65536, "projected, block, gpt, lab" },
    { OPTION_FLAG, "--allow-degenerate", AT(op.degenerate), NULL, 0, 0, "let a dump pass that proves little" },

    { OPTION_GROUP, "of the check itself", 0, NULL, 0, 0, NULL },
    { OPTION_FLAG, "--self-test", AT(op.self_test), NULL, 0, 0, "finds planted faults, and passes correct kernels" },
    { OPTION_SIZE, "--cases", AT(op.cases), "N", 1, 1e9, "correct ones of --self-test" },
};

static check_args default_args(void)
{
    check_args a = { .python = "/usr/bin/python3" };
    vt_check_defaults(&a.o);
    check_op_defaults(&a.op);
    return a;
}

static const void *defaults(int i, const char **label)
{
    static check_args set;
    *label = "";
    if (i > 0) return NULL;
    set = default_args();
    return &set;
}

static bool on_progress(void *context, size_t done, size_t of)
{
    size_t *last = context;
    const size_t percent = of ? (size_t)(100 * ((double)done / (double)of)) : 100;
    if (percent == *last) return false;
    *last = percent;
    fprintf(stderr, "\rcompared %zu of %zu (%zu %%)", done, of, percent);
    fflush(stderr);
    return false;
}

/* What both verdicts said: `s`, with its line in *err. */
static vt_status show(const check_args *a, const vt_check_report *r, const check_torch *torch,
                      vt_status s, vt_error *err)
{
    vt_error why;
    vt_status printed = a->json ? check_show_json(r, torch, &why) : check_show_text(r, torch, &why);
    if (printed == VT_OK && a->junit)
        printed = check_show_junit(r, torch, r->pass ? "" : err->text, a->junit, &why);
    if (printed) *err = why;
    return printed ? printed : s;
}

/* PyTorch is asked first: where it cannot be, that is said before the long part. */
static vt_status check(const check_args *a, vt_model *m, vt_error *err)
{
    vt_check_report r = { .pass = false };
    check_torch torch = { .pass = false };
    vt_error why;
    size_t percent = SIZE_MAX;
    const bool terminal = cli_terminal(stderr);
    vt_status s = a->torch ? check_torch_model(&torch, a->python, m, &a->o, err) : VT_OK;
    if (s == VT_OK || s == VT_CHECK_FAILED) {
        const vt_status own = vt_check(m, &a->o, terminal ? on_progress : NULL, &percent, &r, &why);
        /* Over the progress, with blanks: no escape codes are needed. */
        if (percent != SIZE_MAX) fprintf(stderr, "\r%*s\r", 60, "");
        if (own) {
            *err = why;
            s = own;
        }
    }
    if (s == VT_OK || s == VT_CHECK_FAILED) s = show(a, &r, a->torch ? &torch : NULL, s, err);
    vt_check_free(&r);
    check_torch_free(&torch);
    return s;
}

static int run(const command *c, int argc, char **argv)
{
    check_args a = default_args();
    options_read read;
    vt_error err;
    vt_model *m = NULL;
    int code;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    a.op.seed = a.o.seed;
    a.op.threads = a.threads;
    a.op.json = a.json;
    a.op.junit = a.junit;
    a.op.torch = a.torch;
    a.op.python = a.python;
    if (check_op_asked(&a.op)) return check_op_run(c, &read, &a.op);
    vt_status s = check_op_uses(c, &read, &a.op, &err);
    const char *folder = s ? NULL : cli_folder(c, &read, &err);
    if (s == VT_OK && !folder) s = VT_USAGE;
    if (s == VT_OK && a.o.every && options_given(c, &read, "--entries"))
        s = fail(&err, VT_USAGE, "--every and --entries: expected one of them");
    if (s == VT_OK) s = output_outside("--junit", a.junit, folder, &err);
    if (s == VT_OK && (s = vt_model_open(&m, folder, a.threads, a.isa, &err)) == VT_OK)
        s = check(&a, m, &err);
    if (s) cli_error(c, s, &err);
    vt_model_close(m);
    return (int)s;
}

const command cmd_check = {
    .name = "check",
    .summary = "proves the gradients of a model, or of a kernel of yours",
    .usage = "vitrine check DIR [option ...]\n"
             "       vitrine check --kernel FILE --op NAME [option ...]\n"
             "       vitrine check --dump FILE --op NAME [option ...]\n"
             "       vitrine check --op NAME --torch [option ...]\n"
             "       vitrine check --self-test [option ...]",
    .about = "Compares the hand-written gradient of the definitions, in double, with the complex\n"
             "step derivative of the same definitions, which has no rounding of differences:\n"
             "entry by entry, and along one random direction over all parameters; some entries\n"
             "with finite differences, which bring their own error bar; each layer alone by\n"
             "<v, J u> = <J^T v, u>; and the fast float kernels' gradient with the definitions'.\n"
             "A column \"of bound\" says which share of the error that rounding can explain was\n"
             "met.  Checked bit for bit: causality, repetition, threads, inputs, accumulation.\n"
             "Where an entry fails it is named, and _Float128 (33 digits) says who is right.\n\n"
             "With --kernel the same is asked of a kernel that you wrote, run at many sizes in a\n"
             "process of its own; with --dump, of tensors that any program wrote to a file.  What\n"
             "is wrong is named: tensor, element, expected, found, and which fault explains it.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 1,
    .examples =
        "  vitrine check model\n"
        "  vitrine check model --every --batch 1 --seq 4\n"
        "  vitrine check model --json\n"
        "  vitrine check model --seed 7 --junit check.xml\n"
        "  vitrine check --kernel attention.c --op attention\n"
        "  vitrine check --dump attention.npz --op attention --causal --layout bhtd\n"
        "  vitrine check model --torch\n"
        "  vitrine check --op attention --torch\n"
        "  vitrine check --self-test\n",
    .exits =
        "  0  every gradient is within its bound\n"
        "  1  one is not: it is named; a kernel crashed, hung, or wrote where it must not\n"
        "  2  an option cannot be used\n"
        "  3  the model, the kernel or the dump is not what it should be\n"
        "  4  reading or writing failed; --torch: PyTorch could not be asked, and nothing was shown\n"
        "  5  sizes exceed memory\n"
        "  130 interrupted, of --kernel and --torch: nothing is left behind\n",
    .defaults = defaults,
    .run = run,
};
