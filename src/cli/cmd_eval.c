/* cmd_eval.c -- vitrine eval: how well a model predicts a text. */
#include <string.h>
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/corpus_args.h"

typedef struct eval_args {
    vt_evaluate_options o;
    corpus_args text;
    const char *isa;
    int  threads;
    bool json;
} eval_args;

#define AT(field) offsetof(eval_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "text", 0, NULL, 0, 0, NULL },
    CORPUS_HOW_ROWS(eval_args, text),
    { OPTION_GROUP, "windows", 0, NULL, 0, 0, NULL },
    { OPTION_INT, "--seq", AT(o.seq), "N", 1, 2147483647, "tokens of a window [as it was trained]" },
    { OPTION_INT, "--stride", AT(o.stride), "N", 1, 2147483647,
      "between the starts of windows [--seq]; less: each\ntoken has --seq - N tokens before it, at least" },
    { OPTION_FLAG, "--whole", AT(o.whole), NULL, 0, 0,
      "whole windows only, as a training's validation: up\nto --seq tokens at the end are left out" },
    { OPTION_GROUP, "run", 0, NULL, 0, 0, NULL },
    { OPTION_INT, "--threads", AT(threads), "N", 0, 256,
      "0: all cores; the result does not depend on it [0]" },
    ISA_ROW(AT(isa), "kernels; else $VITRINE_ISA [the best]"),
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0, "one JSON object" },
};

/* ---- progress ------------------------------------------------------------ */

typedef struct watch {
    bool   terminal, shown;
    double start, drawn;
} watch;

/* On a terminal four times a second, in a log every half minute. */
static bool on_progress(void *context, size_t done, size_t of)
{
    watch *w = context;
    char left[32];
    const double t = clock_now(), gone = t - w->start;
    if (interrupt_asked()) return true;
    if (done == of || t - w->drawn < (w->terminal ? 0.25 : 30)) return false;
    w->drawn = t;
    progress_duration(left, sizeof left, gone * (double)(of - done) / (double)done);
    fprintf(stderr, "%spredicted %zu of %zu tokens (%.0f %%), %s left%s", w->terminal ? "\r" : "",
            done, of, 100 * (double)done / (double)of, left, w->terminal ? "   " : "\n");
    fflush(stderr);
    w->shown = w->terminal;
    return false;
}

/* ---- results ------------------------------------------------------------- */

static vt_status print_json(const vt_evaluate_report *r, const vt_model *m, vt_error *err)
{
    bytes text = { 0 };
    vt_info_data d;
    js_writer w;
    vt_info(m, &d);
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_number(&w, "loss", r->loss);
    cli_field_measured(&w, "perplexity", r->perplexity);
    cli_field_measured(&w, "bits_per_byte", r->bits_per_byte);
    js_field_number(&w, "nats", r->nats);
    js_field_number(&w, "uniform", r->uniform);
    js_field_uint(&w, "documents", r->documents);
    js_field_uint(&w, "bytes", r->bytes);
    js_field_uint(&w, "tokens", r->tokens);
    js_field_uint(&w, "predicted", r->predicted);
    js_field_uint(&w, "predicted_bytes", r->predicted_bytes);
    js_field_uint(&w, "windows", r->windows);
    js_field_int(&w, "seq", r->seq);
    js_field_int(&w, "stride", r->stride);
    js_field_bool(&w, "training_text", r->training_files > 0);
    js_field_uint(&w, "training_files", r->training_files);
    js_field_string(&w, "corpus_sha256", r->corpus_sha256);
    js_field_string(&w, "state_sha256", d.state_sha256[0] ? d.state_sha256 : NULL);
    js_field_string(&w, "kernels", d.isa);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

static vt_status print_text(const vt_evaluate_report *r, const vt_corpus *what, vt_error *err)
{
    printf("%zu document%s, %zu bytes, %zu tokens; ", r->documents, r->documents == 1 ? "" : "s",
           r->bytes, r->tokens);
    if (r->windows > 1) printf("%zu windows of %d, stride %d\n", r->windows, r->seq, r->stride);
    else printf("1 window of %zu\n", r->predicted);         /* it may be shorter than seq */
    printf("loss           %.4f nats per token, over %zu token%s (a blind guess: %.4f)\n", r->loss,
           r->predicted, r->predicted == 1 ? "" : "s", r->uniform);
    printf("perplexity     %.4g\n", r->perplexity);
    if (r->predicted_bytes > 0)
        printf("bits per byte  %.4f, over the %zu bytes that they spell\n", r->bits_per_byte,
               r->predicted_bytes);
    if (r->read_as) printf("note: %s: read as %s\n", what->files[r->read_as_file], r->read_as);
    if (r->training_files == r->files)
        printf("note: this is text that the model was trained on, not a held-out one\n");
    else if (r->training_files > 0)
        printf("note: the model was trained on %zu of the %zu files: this is no held-out text\n",
               r->training_files, r->files);
    return cli_flush(err);
}

/* ---- the command --------------------------------------------------------- */

static vt_status evaluate(const command *c, eval_args *a, const options_read *read, vt_error *err)
{
    vt_model *m = NULL;
    vt_evaluate_report r;
    const char *folder = cli_folder(c, read, err);
    if (!folder) return VT_USAGE;
    if (read->noperands < 2)
        return fail(err, VT_USAGE, "expected a text behind the model: vitrine eval DIR FILE");
    for (size_t i = 1; i < read->noperands; i++)
        if (strcmp(read->operands[i], "-") == 0)
            return fail(err, VT_USAGE, "-: expected a file: standard input is not read (./- is a "
                        "file of that name)");
    a->text.what.files = read->operands + 1;
    a->text.what.nfiles = read->noperands - 1;
    vt_status s = vt_model_open(&m, folder, a->threads, a->isa, err);
    if (s) return s;
    watch w = { .terminal = cli_terminal(stderr), .start = clock_now() };
    w.drawn = w.start;
    cli_begin_interrupts();
    s = vt_evaluate(m, &a->text.what, &a->o, on_progress, &w, &r, err);
    cli_end_interrupts();
    if (w.shown) fprintf(stderr, "\r%*s\r", 78, "");    /* blanks: no escape codes are needed */
    if (s == VT_OK) s = a->json ? print_json(&r, m, err) : print_text(&r, &a->text.what, err);
    if (s == VT_OK && !a->o.seq) cli_note_windows(m, folder);
    vt_model_close(m);
    return s;
}

static int run(const command *c, int argc, char **argv)
{
    eval_args a = { .json = false };
    options_read read;
    vt_error err;
    int code;
    vt_evaluate_defaults(&a.o);
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    const vt_status s = evaluate(c, &a, &read, &err);
    if (s) cli_error(c, s, &err);
    return (int)s;
}

const command cmd_eval = {
    .name = "eval",
    .summary = "how well a model predicts a text",
    .usage = "vitrine eval DIR FILE ... [option ...]",
    .about = "Runs a model over a text that it did not learn from: loss in nats per token,\n"
             "perplexity, and bits per byte, which does not depend on the tokenizer.\n"
             "Documents are encoded as in training, each ended by <|endoftext|>.  Every token\n"
             "but the first is predicted once; the ends of documents count too, and spell no\n"
             "bytes.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = OPERANDS_MOST,
    .operand = OPTION_FILE,
    .examples =
        "  vitrine eval model letters.txt\n"
        "  vitrine eval model held-out.csv --column text --json\n"
        "  vitrine eval model letters.txt --stride 32\n",
    .exits =
        "  0    evaluated\n"
        "  2    an option cannot be used\n"
        "  3    the text or the model is not what it should be\n"
        "  4    reading or writing failed\n"
        "  5    sizes exceed memory\n"
        "  6    the model gives NaN or Inf\n"
        "  130  interrupted\n",
    .run = run,
};
