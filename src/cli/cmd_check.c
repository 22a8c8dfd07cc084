/* cmd_check.c -- vitrine check. */
#include <limits.h>
#include <math.h>
#include <string.h>
#include "base/clock.h"
#include "base/progress.h"
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
    { OPTION_FILE, "--junit", AT(junit), "FILE", 0, 0, "also writes the results as JUnit XML" },
    { OPTION_FLAG, "--torch", AT(torch), NULL, 0, 0, "DIR, --op NAME: PyTorch's automatic differentiation\nin float64 gives the same (Debian: python3-torch)" },
    { OPTION_FILE, "--python", AT(python), "PROGRAM", 0, 0, "the interpreter that has torch" },

    { OPTION_GROUP, "of a model (DIR)", 0, NULL, 0, 0, NULL },
    { OPTION_INT, "--entries", AT(o.entries), "N", 1, INT_MAX, "of each tensor, drawn at random" },
    { OPTION_FLAG, "--every", AT(o.every), NULL, 0, 0, "every entry of every tensor" },
    { OPTION_FLAG, "--directions", AT(o.directions), NULL, 0, 0, "no entries: one random direction of each tensor" },
    { OPTION_FLAG, "--full", AT(o.full), NULL, 0, 0, "each entry by a run of all above it, not by the\nchain rule (slow)" },
    { OPTION_INT, "--differences", AT(o.differences), "N", -1, INT_MAX, "of those, also by adaptive differences; -1: 4, or\n1 of a large model" },
    { OPTION_INT, "--batch", AT(o.batch), "N", 0, 65536, "windows; 0: 2, or what the model holds" },
    { OPTION_INT, "--seq", AT(o.seq), "N", 0, INT_MAX, "tokens of each; 0: 8, or what the model holds" },
    { OPTION_INT, "--threads", AT(threads), "N", 0, 256, "0: all cores; also of --self-test" },
    ISA_ROW(AT(isa), "fast kernels to compare; else $VITRINE_ISA [the best]"),

    { OPTION_GROUP, "of a kernel of yours", 0, NULL, 0, 0, NULL },
    { OPTION_FILE, "--kernel", AT(op.kernel), "FILE", 0, 0, "a .c file, which $CC or cc compiles, or a .so, with\nthe function of include/vitrine_kernel.h" },
    { OPTION_CHOICE, "--op", AT(op.op), "NAME", 0, 0, "the operator it computes; also of --dump, --torch" },
    { OPTION_FLAG, "--list-ops", AT(op.list_ops), NULL, 0, 0, "names all operators and what they compute" },
    { OPTION_CHOICE, "--precision", AT(op.precision), "NAME", 0, 0, "float64 or float32 [those that it has]" },
    { OPTION_FLAG, "--all", AT(op.all), NULL, 0, 0, "all cases, also after two that fail" },
    { OPTION_INT, "--case", AT(op.only), "N", 1, INT_MAX, "only this case" },
    { OPTION_NAME, "--compiler", AT(op.compiler), "COMMAND", 0, 0, "of a .c, with its options; else $CC, else cc" },
    { OPTION_REAL, "--seconds", AT(op.seconds), "S", 0.01, 86400, "that a call may take" },

    { OPTION_GROUP, "of tensors out of any program", 0, NULL, 0, 0, NULL },
    { OPTION_FILE, "--dump", AT(op.dump), "FILE", 0, 0, ".npz or .safetensors; names: docs/check-kernel.md" },
    { OPTION_FLAG, "--causal", AT(op.causal), NULL, 0, 0, "attention, projected: no key behind the query" },
    { OPTION_CHOICE, "--layout", AT(op.layout), "bthd|bhtd", 0, 0, "of attention; bhtd is PyTorch's" },
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

typedef struct shown { size_t percent, done; double start, last; } shown;

/* At each percent, or every two seconds where one takes longer; the time left from the
 * second time on, by the pace so far. */
static bool on_progress(void *context, size_t done, size_t of)
{
    shown *seen = context;
    const size_t percent = of ? (size_t)(100 * ((double)done / (double)of)) : 100;
    const double now = clock_now();
    char left[40] = "";
    if (percent == seen->percent && now < seen->last + 2) return false;
    if (seen->percent == SIZE_MAX || done < seen->done) seen->start = now, seen->done = done;
    else if (done > seen->done && done < of) {
        char time[32];
        progress_duration(time, sizeof time,
                          (now - seen->start) / (double)(done - seen->done) * (double)(of - done));
        snprintf(left, sizeof left, ", %s left", time);
    }
    seen->percent = percent;
    seen->last = now;
    fprintf(stderr, "\rcompared %zu of %zu (%zu %%)%-20s", done, of, percent, left);
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
    shown seen = { .percent = SIZE_MAX };
    const bool terminal = cli_terminal(stderr);
    vt_status s = a->torch ? check_torch_model(&torch, a->python, m, &a->o, err) : VT_OK;
    if (s == VT_OK || s == VT_CHECK_FAILED) {
        const vt_status own = vt_check(m, &a->o, terminal ? on_progress : NULL, &seen, &r, &why);
        /* Over the progress, with blanks: no escape codes are needed. */
        if (seen.percent != SIZE_MAX) fprintf(stderr, "\r%*s\r", 78, "");
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
    if (s == VT_OK && a.o.directions && (a.o.every || a.o.full || options_given(c, &read, "--entries")))
        s = fail(&err, VT_USAGE, "--directions and %s: expected one of them",
                 a.o.every ? "--every" : a.o.full ? "--full" : "--entries");
    if (s == VT_OK) s = output_outside("--junit", a.junit, folder, &err);
    if (s == VT_OK && (s = vt_model_open(&m, folder, a.threads, a.isa, &err)) == VT_OK)
        s = check(&a, m, &err);
    if (s) cli_error(c, s, &err);
    vt_model_close(m);
    return (int)s;
}

/* What --op and --precision take; which precisions fit depends on what is checked. */
static const char *words(const char *option, size_t i)
{
    static const char *const precisions[] = { "float64", "float32", "bfloat16", "float16" };
    if (strcmp(option, "--op") == 0) return i < INT_MAX ? vt_op_name((int)i, NULL) : NULL;
    if (strcmp(option, "--precision") == 0)
        return i < sizeof precisions / sizeof *precisions ? precisions[i] : NULL;
    return NULL;
}

const command cmd_check = {
    .name = "check",
    .summary = "proves the gradients of a model, or of a kernel of yours",
    .usage = "vitrine check DIR [option ...]\n"
             "       vitrine check --kernel FILE --op NAME [option ...]\n"
             "       vitrine check --dump FILE --op NAME [option ...]\n"
             "       vitrine check --op NAME --torch [option ...]\n"
             "       vitrine check --self-test [option ...]",
    .about = "Compares the hand-written gradient of the definitions, in double, with the\n"
             "complex step derivative of the same definitions, which has no rounding of\n"
             "differences: entry by entry, and along one random direction in each tensor and\n"
             "over all parameters; some entries with finite differences, which bring their\n"
             "own error bar; each layer alone by <v, J u> = <J^T v, u>; and the fast float\n"
             "kernels' gradient with the definitions'.  A column \"of bound\" says which share\n"
             "of the error that rounding can explain was met.  Checked bit for bit: causality,\n"
             "repetition, threads, inputs, accumulation.  Where an entry fails it is named,\n"
             "and _Float128 (33 digits) says who is right.\n\n"
             "With --kernel the same is asked of a kernel that you wrote, run at many sizes in\n"
             "a process of its own; with --dump, of tensors that any program wrote to a file.\n"
             "What is wrong is named: tensor, element, expected, found, and which fault\n"
             "explains it.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 1, .operand = OPTION_FOLDER,
    .examples =
        "  vitrine check model\n"
        "  vitrine check model --every --batch 1 --seq 4\n"
        "  vitrine check model --directions\n"
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
        "  4  reading or writing failed; --torch: PyTorch could not be asked\n"
        "  5  sizes exceed memory\n"
        "  130 interrupted, of --kernel and --torch: nothing is left behind\n",
    .defaults = defaults,
    .words = words,
    .run = run,
};
