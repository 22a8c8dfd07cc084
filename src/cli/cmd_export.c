/* cmd_export.c -- vitrine export: a model on a window of text, for a site. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/export_show.h"

typedef struct export_args {
    const char *site, *as, *text, *data, *column, *verify;
    int  threads;
    bool json;
} export_args;

#define AT(field) offsetof(export_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "options", 0, NULL, 0, 0, NULL },
    { OPTION_NAME, "--site", AT(site), "FOLDER", 0, 0, "the site, which holds vitrine.wasm" },
    { OPTION_TEXT, "--text", AT(text), "TEXT", 0, 0, "the window is its first tokens" },
    { OPTION_NAME, "--as", AT(as), "NAME", 0, 0, "lab or playground: FOLDER/data/NAME is written" },
    { OPTION_NAME, "--data", AT(data), "FILE", 0, 0,
      "the corpus: the tokenizer is trained again on it, and\ncompared with the model's" },
    { OPTION_TEXT, "--column", AT(column), "NAME", 0, 0, "the column of that file, if it is a .csv [text]" },
    { OPTION_INT, "--threads", AT(threads), "N", 0, 256, "for comparing tokenizers; 0: all cores" },
    { OPTION_NAME, "--verify", AT(verify), "FOLDER", 0, 0,
      "instead: whether the models of a site are what their\nmanifests say, each file and each bit of the window" },
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0, "one JSON object" },
};

static const void *defaults(int i, const char **label)
{
    static const export_args set = { .as = "lab" };
    *label = "";
    return i > 0 ? NULL : &set;
}

static vt_status export(const export_args *a, const char *folder, vt_error *err)
{
    const vt_export_options o = {
        .model = folder, .site = a->site, .as = a->as, .text = a->text,
        .text_length = a->text ? strlen(a->text) : 0, .data = a->data, .column = a->column,
        .threads = a->threads,
    };
    vt_export_report r;
    bytes text = { 0 };
    js_writer w;
    if (!a->site) return fail(err, VT_USAGE, "expected --site FOLDER, the site to write to");
    if (!a->text) return fail(err, VT_USAGE, "expected --text TEXT, the window to run");
    if (a->column && !a->data) return fail(err, VT_USAGE, "--column: says nothing without --data");
    vt_status s = vt_export(&o, &r, err);
    if (s) return s;
    export_show_note(a->as, &r);
    if (!a->json) {
        export_show_text(stdout, a->as, &r);
        return cli_flush(err);
    }
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_string(&w, "as", a->as);
    export_show_json(&w, &r);
    js_close_object(&w);
    s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

/* ---- --verify ----------------------------------------------------------- */

static bool is_there(const char *site, const char *as)
{
    char *data = io_join(site, "data"), *folder = data ? io_join(data, as) : NULL;
    char *file = folder ? io_join(folder, "manifest.json") : NULL;
    const bool there = file && access(file, F_OK) == 0;
    free(file);
    free(folder);
    free(data);
    return there;
}

static vt_status verify(const export_args *a, vt_error *err)
{
    static const char *const names[] = { "lab", "playground" };
    bytes text = { 0 };
    js_writer w;
    size_t found = 0;
    vt_status s = VT_OK;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    for (size_t i = 0; i < 2 && s == VT_OK; i++) {
        vt_export_report r;
        if (!is_there(a->verify, names[i])) continue;
        found++;
        if ((s = vt_export_verify(a->verify, names[i], &r, err))) break;
        if (!a->json) {
            printf("data/%s: matches: %zu files, %zu tensors computed again, sha256 %s\n", names[i],
                   r.nfiles, r.tensors, r.tensors_sha256);
            continue;
        }
        js_key(&w, names[i]);
        js_open_object(&w);
        export_show_json(&w, &r);
        js_close_object(&w);
    }
    if (s == VT_OK && found == 0)
        s = fail(err, VT_IO, "%s: expected a site with data/lab or data/playground", a->verify);
    js_close_object(&w);
    if (s == VT_OK) s = a->json ? cli_print_json(&w, &text, err) : cli_flush(err);
    bytes_free(&text);
    return s;
}

static int run(const command *c, int argc, char **argv)
{
    export_args a = { .as = "lab" };
    options_read read;
    vt_error err;
    int code;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    vt_status s = VT_USAGE;
    if (a.verify) {
        if (read.noperands > 0 || a.site || a.text || a.data || a.column)
            (void)fail(&err, s, "--verify: expected alone: vitrine export --verify FOLDER");
        else s = verify(&a, &err);
    } else {
        const char *folder = cli_folder(c, &read, &err);
        if (folder) s = export(&a, folder, &err);
    }
    if (s) cli_error(c, s, &err);
    return (int)s;
}

const command cmd_export = {
    .name = "export",
    .summary = "a model's numbers on a text, for a site",
    .usage = "vitrine export DIR --text TEXT --site FOLDER [option ...]\n"
             "       vitrine export --verify FOLDER",
    .about = "Runs a window of text through the model in DIR in double precision, on the\n"
             "definitions, forward and backward, and writes to FOLDER/data/NAME every tensor\n"
             "of it, copies of the model's files, and manifest.json: where the numbers come\n"
             "from, with the sha256 of everything.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 1,
    .examples =
        "  vitrine export model --text \"She was not at all sorry\" --site build/site\n"
        "  vitrine export model --text \"It was\" --site build/site --as playground \\\n"
        "      --data novels.csv --column text\n"
        "  vitrine export --verify build/site\n",
    .exits =
        "  0  written; --verify: everything matches\n"
        "  1  --verify: a file, or a number, is not what the manifest says\n"
        "  2  an option cannot be used\n"
        "  3  the model, its files, the text or the corpus are not what they should be\n"
        "  4  reading or writing failed, or FOLDER is no site\n"
        "  5  sizes exceed memory\n",
    .defaults = defaults,
    .run = run,
};
