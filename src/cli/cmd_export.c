/* cmd_export.c -- vitrine export: a model on a window of text, as a file (export_out.c)
 * or for a site. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/corpus_args.h"
#include "cli/export_out.h"
#include "cli/export_show.h"
#include "cli/outputs.h"

typedef struct export_args {
    const char *site, *as, *text, *text_file, *verify;
    vt_window_options window;           /* of --out */
    corpus_args corpus;
    bytes read;                         /* the text */
    int  threads;
    bool json;
} export_args;

#define AT(field) offsetof(export_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "the window", 0, NULL, 0, 0, NULL },
    { OPTION_TEXT, "--text", AT(text), "TEXT", 0, 0, "the window is its first tokens" },
    { OPTION_FILE, "--text-file", AT(text_file), "FILE", 0, 0, "a file that holds it; - is standard input" },
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0, "the report as one JSON object" },
    { OPTION_GROUP, "a file", 0, NULL, 0, 0, NULL },
    { OPTION_FILE, "--out", AT(window.out), "FILE", 0, 0, "NAME.safetensors, .npz, .json or .csv" },
    { OPTION_CHOICE, "--what", AT(window.what), "forward|backward|all", 0, 0,
      "the pass [forward; with --tensor: all]" },
    { OPTION_NAME, "--tensor", AT(window.tensors), "NAME,...", 0, 0,
      "only these, with or without a layer: att, h.0.q,\nlogits, 'h.1.*', 'grad.*' [all]" },
    { OPTION_INT, "--layer", AT(window.layer), "N", 0, 1e6, "only what is of layer N, from 0 [all]" },
    { OPTION_INT, "--head", AT(window.head), "N", 0, 1e6, "only head N, from 0, of what each head has [all]" },
    { OPTION_INT, "--window", AT(window.window), "N", 1, 1e9,
      "tokens, at most; without it as many as the windows\nthat the model was trained on" },
    { OPTION_CHOICE, "--dtype", AT(window.dtype), "float64|float32", 0, 0, "float32: rounded to it" },
    { OPTION_GROUP, "a site", 0, NULL, 0, 0, NULL },
    { OPTION_FOLDER, "--site", AT(site), "FOLDER", 0, 0, "the site, which holds vitrine.wasm" },
    { OPTION_CHOICE, "--as", AT(as), "lab|playground", 0, 0, "what the numbers are for: FOLDER/data/lab or\n.../playground is written" },
    CORPUS_ROWS(export_args, corpus, "--data",
                "the corpus, as it was given to train: the tokenizer\nis trained again on it, and compared with the\nmodel's"),
    { OPTION_INT, "--threads", AT(threads), "N", 0, 256, "for comparing tokenizers; 0: all cores" },
    { OPTION_FOLDER, "--verify", AT(verify), "FOLDER", 0, 0,
      "instead: whether the models of a site are what their\nmanifests say, each file and each bit of the window" },
};

static export_args default_args(void)
{
    export_args a = { .as = "lab" };
    vt_window_defaults(&a.window);
    return a;
}

static const void *defaults(int i, const char **label)
{
    static export_args set;
    *label = "";
    if (i > 0) return NULL;
    set = default_args();
    return &set;
}

/* ---- --site -------------------------------------------------------------- */

static vt_status to_site(const export_args *a, const char *folder, vt_error *err)
{
    const vt_export_options o = {
        .model = folder, .site = a->site, .as = a->as, .text = (const char *)a->read.data,
        .text_length = a->read.len, .corpus = a->corpus.what.nfiles ? &a->corpus.what : NULL,
        .threads = a->threads,
    };
    vt_export_report r;
    bytes text = { 0 };
    js_writer w;
    cli_begin_interrupts();
    vt_status s = vt_export(&o, &r, err);
    cli_end_interrupts();
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

/* ---- the command ---------------------------------------------------------- */

/* An option of the form that was not asked for would say nothing. */
static vt_status check_forms(const command *c, const options_read *read, const export_args *a,
                             vt_error *err)
{
    static const char *const of_file[] = { "--what", "--tensor", "--layer", "--head", "--window",
                                           "--dtype" };
    static const char *const of_site[] = { "--as", "--data", "--threads" };
    if (a->site && a->window.out)
        return fail(err, VT_USAGE, "--out and --site: expected one of them");
    if (!a->site && !a->window.out)
        return fail(err, VT_USAGE, "expected --out FILE, the file to write, or --site FOLDER, the site "
                    "to write to");
    for (size_t i = 0; a->site && i < sizeof of_file / sizeof *of_file; i++)
        if (options_given(c, read, of_file[i]))
            return fail(err, VT_USAGE, "%s: says nothing without --out FILE", of_file[i]);
    for (size_t i = 0; a->window.out && i < sizeof of_site / sizeof *of_site; i++)
        if (options_given(c, read, of_site[i]))
            return fail(err, VT_USAGE, "%s: says nothing without --site FOLDER", of_site[i]);
    return VT_OK;
}

static vt_status read_text(export_args *a, vt_error *err)
{
    if (a->text && a->text_file)
        return fail(err, VT_USAGE, "--text and --text-file: expected one of them");
    if (a->text_file) return cli_read(&a->read, a->text_file, err);
    if (a->text) return bytes_append(&a->read, a->text, strlen(a->text), err);
    return fail(err, VT_USAGE, "expected --text TEXT or --text-file FILE, the window to run");
}

static vt_status export(const command *c, const options_read *read, export_args *a, vt_error *err)
{
    const char *folder = cli_folder(c, read, err);
    vt_status s = folder ? VT_OK : VT_USAGE;
    if (s || (s = check_forms(c, read, a, err)) || (s = read_text(a, err))) return s;
    if (a->site) return to_site(a, folder, err);
    if (a->text_file && (s = output_ready("--out", a->window.out, a->text_file, err))) return s;
    a->window.model = folder;
    a->window.text = (const char *)a->read.data;
    a->window.text_length = a->read.len;
    return export_out(&a->window, a->json, err);
}

static int run(const command *c, int argc, char **argv)
{
    export_args a = default_args();
    options_read read;
    vt_error err;
    int code;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    vt_status s = corpus_args_take(&a.corpus, "--data", &err);
    if (s == VT_OK && a.verify) {
        if (read.noperands > 0 || a.site || a.window.out || a.text || a.text_file ||
            a.corpus.what.nfiles)
            s = fail(&err, VT_USAGE, "--verify: expected alone: vitrine export --verify FOLDER");
        else s = verify(&a, &err);
    } else if (s == VT_OK) {
        s = export(c, &read, &a, &err);
    }
    if (s) cli_error(c, s, &err);
    bytes_free(&a.read);
    return (int)s;
}

const command cmd_export = {
    .name = "export",
    .summary = "a model's numbers on a text, as a file or for a site",
    .usage = "vitrine export DIR --text TEXT --out FILE [option ...]\n"
             "       vitrine export DIR --text TEXT --site FOLDER [option ...]\n"
             "       vitrine export --verify FOLDER",
    .about = "Runs a window of text through the model in DIR in double precision, on the\n"
             "definitions.\n\n"
             "--out FILE writes what it computes: every stage of attention, all layers and\n"
             "heads, logits, and with --what all each gradient.  The extension says how: for\n"
             "NumPy (.npz), PyTorch and others (.safetensors), any language (.json), or a\n"
             "spreadsheet (.csv).  All hold the same numbers to the last bit, their names,\n"
             "and where they come from.\n\n"
             "--site FOLDER writes to FOLDER/data/NAME every tensor, copies of the model's\n"
             "files, and manifest.json: where the numbers come from, with the sha256 of\n"
             "everything.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 1, .operand = OPTION_FOLDER,
    .examples =
        "  vitrine export model --text \"She was not at all sorry\" --out window.npz\n"
        "  vitrine export model --text \"It was\" --tensor att --layer 0 --out att.csv\n"
        "  vitrine export model --text-file page.txt --what all --out all.safetensors\n"
        "  vitrine export model --text \"She was not at all sorry\" --site build/site\n"
        "  vitrine export model --text \"It was\" --site build/site --as playground \\\n"
        "      --data novels.csv --column text\n"
        "  vitrine export --verify build/site\n",
    .exits =
        "  0  written; --verify: everything matches\n"
        "  1  --verify: a file, or a number, is not what the manifest says\n"
        "  2  an option cannot be used\n"
        "  3  the model, its files, the text or the corpus are not what they should be\n"
        "  4  reading or writing failed, the disk is full, or FOLDER is no site\n"
        "  5  sizes exceed memory\n"
        "  130 interrupted: FILE is as it was, and nothing is left beside it\n",
    .defaults = defaults,
    .run = run,
};
