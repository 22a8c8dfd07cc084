/* cmd_check.c -- vitrine check. */
#include <limits.h>
#include <math.h>
#include <string.h>
#include "cli/check_op.h"
#include "cli/cli.h"

typedef struct check_args {
    vt_check_options o;
    const char *isa;
    int  threads;
    bool json;
    const char *junit;
    check_op_args op;           /* kernels, dumps, the self-test */
} check_args;

#define AT(field) offsetof(check_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "of all", 0, NULL, 0, 0, NULL },
    { OPTION_SEED, "--seed", AT(o.seed), "N", 0, 0, "of all that is drawn: entries, directions, cases" },
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0, "one JSON object" },
    { OPTION_NAME, "--junit", AT(junit), "FILE", 0, 0, "also writes the results as JUnit XML" },

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
    { OPTION_NAME, "--op", AT(op.op), "NAME", 0, 0, "the operator it computes; also of --dump" },
    { OPTION_FLAG, "--list-ops", AT(op.list_ops), NULL, 0, 0, "names all operators and what they compute" },
    { OPTION_NAME, "--precision", AT(op.precision), "NAME", 0, 0, "float64 or float32 [those that it has]" },
    { OPTION_FLAG, "--all", AT(op.all), NULL, 0, 0, "all cases, also after two that fail" },
    { OPTION_INT, "--case", AT(op.only), "N", 1, INT_MAX, "only this case" },
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
    { OPTION_SIZE, "--cases", AT(op.cases), "N", 0, 1e9, "correct ones of --self-test" },
};

static const void *defaults(int i, const char **label)
{
    static check_args set;
    *label = "";
    if (i > 0) return NULL;
    check_op_defaults(&set.op);
    vt_check_defaults(&set.o);
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

/* A share of a bound in nine columns: percent, or from ten times on a factor. */
static const char *share_text(char out[32], double share)
{
    if (share < 10) snprintf(out, 32, "%8.1f%%", 100 * share);
    else snprintf(out, 32, "%7.1e x", share);
    return out;
}

static void print_rows(const vt_check_report *r)
{
    const char *red = cli_color(stdout, "\033[31m"), *off = cli_color(stdout, "\033[0m");
    char used[32], fast[32];
    printf("%-28s %19s  %-9s %9s %9s\n", "tensor", "compared", "worst", "of bound", "fast");
    for (size_t i = 0; i < r->nrows; i++) {
        const vt_check_row *row = &r->rows[i];
        printf("%-28s %9zu/%9zu  %-9.1e %9s %9s  %s%s%s\n", row->name, row->compared, row->of,
               row->worst, share_text(used, row->budget_used),
               share_text(fast, row->fast_budget_used), row->pass ? "" : red,
               row->pass ? "ok" : "FAIL", row->pass ? "" : off);
        if (!(row->budget_used <= 1))
            printf("  entry %zu: expected %.17g (complex step), found %.17g\n", row->worst_entry,
                   row->expected, row->found);
        if (!(row->fast_budget_used <= 1))
            printf("  entry %zu: expected %.9g (definitions), found %.9g (%s kernels)\n",
                   row->fast_entry, row->fast_expected, row->fast_found, r->isa);
    }
}

static vt_status print_text(const vt_check_report *r, vt_error *err)
{
    const char *color = cli_color(stdout, r->pass ? "\033[32m" : "\033[31m");
    char used[32];
    print_rows(r);
    share_text(used, r->direction_budget_used);
    printf("one direction over all parameters: expected %.15g, found %.15g (%s of the bound)\n",
           r->direction_expected, r->direction_found, used + strspn(used, " "));
    printf("loss %.6f over %d x %d tokens; definitions in double against complex step; fast "
           "kernels: %s\n", r->loss, r->batch, r->seq, r->isa);
    printf("compared %zu of %zu, worst error %.1e: %s%s%s\n", r->compared, r->of, r->worst, color,
           r->pass ? "PASS" : "FAIL", *color ? cli_color(stdout, "\033[0m") : "");
    return cli_flush(err);
}

static void json_row(js_writer *w, const vt_check_row *row)
{
    js_open_object(w);
    js_field_string(w, "name", row->name);
    js_field_uint(w, "compared", row->compared);
    js_field_uint(w, "of", row->of);
    cli_field_measured(w, "worst", row->worst);
    cli_field_measured(w, "budget_used", row->budget_used);
    cli_field_measured(w, "fast_budget_used", row->fast_budget_used);
    js_field_uint(w, "worst_entry", row->worst_entry);
    cli_field_measured(w, "expected", row->expected);
    cli_field_measured(w, "found", row->found);
    js_field_uint(w, "fast_entry", row->fast_entry);
    cli_field_measured(w, "fast_expected", row->fast_expected);
    cli_field_measured(w, "fast_found", row->fast_found);
    js_field_bool(w, "pass", row->pass);
    js_close_object(w);
}

static vt_status print_json(const vt_check_report *r, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_bool(&w, "pass", r->pass);
    js_field_uint(&w, "failed", r->failed);
    js_field_uint(&w, "compared", r->compared);
    js_field_uint(&w, "of", r->of);
    cli_field_measured(&w, "worst", r->worst);
    cli_field_measured(&w, "loss", r->loss);
    cli_field_measured(&w, "direction_expected", r->direction_expected);
    cli_field_measured(&w, "direction_found", r->direction_found);
    cli_field_measured(&w, "direction_budget_used", r->direction_budget_used);
    js_field_int(&w, "batch", r->batch);
    js_field_int(&w, "seq", r->seq);
    js_field_uint(&w, "seed", r->seed);
    js_field_string(&w, "kernels", r->isa);
    js_key(&w, "tensors");
    js_open_array(&w);
    for (size_t i = 0; i < r->nrows; i++) json_row(&w, &r->rows[i]);
    js_close_array(&w);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

static vt_status check(const check_args *a, vt_model *m, vt_error *err)
{
    vt_check_report r;
    vt_error why;
    size_t percent = SIZE_MAX;
    const bool terminal = cli_terminal(stderr);
    const vt_status s = vt_check(m, &a->o, terminal ? on_progress : NULL, &percent, &r, err);
    /* Over the progress, with blanks: no escape codes are needed. */
    if (percent != SIZE_MAX) fprintf(stderr, "\r%*s\r", 60, "");
    if (s == VT_OK || s == VT_CHECK_FAILED) {
        const vt_status printed = a->json ? print_json(&r, &why) : print_text(&r, &why);
        if (printed) *err = why;
        vt_check_free(&r);
        return printed ? printed : s;
    }
    vt_check_free(&r);
    return s;
}

static int run(const command *c, int argc, char **argv)
{
    check_args a = { .threads = 0 };
    options_read read;
    vt_error err;
    vt_model *m = NULL;
    int code;
    vt_check_defaults(&a.o);
    check_op_defaults(&a.op);
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    a.op.seed = a.o.seed;
    a.op.threads = a.threads;
    a.op.json = a.json;
    a.op.junit = a.junit;
    if (check_op_asked(&a.op)) return check_op_run(c, &read, &a.op);
    vt_status s = check_op_uses(c, &read, &a.op, &err);
    const char *folder = s ? NULL : cli_folder(c, &read, &err);
    if (s == VT_OK && !folder) s = VT_USAGE;
    if (s == VT_OK && a.o.every && options_given(c, &read, "--entries"))
        s = fail(&err, VT_USAGE, "--every and --entries: expected one of them");
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
             "       vitrine check --self-test [option ...]",
    .about = "Compares the hand-written gradient of the definitions, in double, with the complex\n"
             "step derivative of the same definitions, which has no rounding of differences:\n"
             "entry by entry, and along one random direction over all parameters; and the fast\n"
             "float kernels' gradient with the definitions'.  A column \"of bound\" says which\n"
             "share of the error that rounding can explain was met.\n\n"
             "With --kernel the same is asked of a kernel that you wrote, run at many sizes in a\n"
             "process of its own; with --dump, of tensors that any program wrote to a file.  What\n"
             "is wrong is named: tensor, element, expected, found, and which fault explains it.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 1,
    .examples =
        "  vitrine check model\n"
        "  vitrine check model --every --batch 1 --seq 4\n"
        "  vitrine check model --json\n"
        "  vitrine check --kernel attention.c --op attention\n"
        "  vitrine check --dump attention.npz --op attention --causal --layout bhtd\n"
        "  vitrine check --self-test\n",
    .exits =
        "  0  every gradient is within its bound\n"
        "  1  one is not: it is named; a kernel crashed, hung, or wrote where it must not\n"
        "  2  an option cannot be used\n"
        "  3  the model, the kernel or the dump is not what it should be\n"
        "  4  reading or writing failed\n"
        "  5  sizes exceed memory\n",
    .defaults = defaults,
    .run = run,
};
