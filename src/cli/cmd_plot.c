/* cmd_plot.c -- vitrine plot: the curves of trainings as a picture. */
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/outputs.h"
#include "vitrine.h"

typedef struct plot_args {
    const char *out;
    bool log_steps, json;
} plot_args;

static const option_row rows[] = {
    { OPTION_GROUP, "options", 0, NULL, 0, 0, NULL },
    { OPTION_FILE, "--out", offsetof(plot_args, out), "FILE", 0, 0,
      "the picture, NAME.svg [loss.svg in the first DIR]" },
    { OPTION_FLAG, "--log", offsetof(plot_args, log_steps), NULL, 0, 0,
      "steps on a logarithmic axis" },
    { OPTION_FLAG, "--json", offsetof(plot_args, json), NULL, 0, 0, "one JSON object" },
};

static vt_status print(const char *path, size_t runs, bool json, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    if (!json) {
        char shown[SHOWN];
        printf("%s\n", cli_shown(shown, path));
        return cli_flush(err);
    }
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_string(&w, "file", path);
    js_field_uint(&w, "runs", runs);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

/* That it is a picture's name, and none of the files that are read. */
static vt_status check_out(const char *out, const options_read *read, vt_error *err)
{
    const size_t n = strlen(out);
    vt_status s = VT_OK;
    if (n < 4 || strcmp(out + n - 4, ".svg") != 0)
        return fail(err, VT_USAGE, "--out %s: expected a name that ends in .svg", out);
    for (size_t i = 0; i < read->noperands && s == VT_OK; i++)
        s = output_outside("--out", out, read->operands[i], err);
    return s;
}

static int run(const command *c, int argc, char **argv)
{
    plot_args a = { .json = false };
    options_read read;
    vt_error err;
    char *own = NULL;
    int code;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    const char *folder = cli_folder(c, &read, &err), *path = a.out;
    vt_status s = folder ? VT_OK : VT_USAGE;
    if (s == VT_OK && path) s = check_out(path, &read, &err);
    if (s == VT_OK && !path && !(path = own = io_join(folder, "loss.svg")))
        s = fail(&err, VT_TOO_LARGE, "out of memory: a file's name");
    if (s == VT_OK) s = vt_plot(read.operands, read.noperands, a.log_steps, path, &err);
    if (s == VT_OK) s = print(path, read.noperands, a.json, &err);
    if (s) cli_error(c, s, &err);
    free(own);
    return (int)s;
}

const command cmd_plot = {
    .name = "plot",
    .summary = "the loss curve of a training as a picture",
    .usage = "vitrine plot DIR ... [option ...]",
    .about = "Draws metrics.jsonl of a model's folder, or of several over one another, as SVG:\n"
             "the loss of each step, smoothed, and of the validation part; those of a blind\n"
             "guess and of the best bigram model; below, the learning rate.  In light\n"
             "and dark, without a script.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = OPERANDS_MOST,
    .operand = OPTION_FOLDER,
    .examples =
        "  vitrine plot model\n"
        "  vitrine plot model other --out both.svg --log\n",
    .exits =
        "  0  written\n"
        "  2  an option cannot be used\n"
        "  3  a line of metrics.jsonl is not what it should be\n"
        "  4  reading or writing failed\n"
        "  5  out of memory\n",
    .run = run,
};
