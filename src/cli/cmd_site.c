/* cmd_site.c -- vitrine site: the pages with models, for any host. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/corpus_args.h"
#include "cli/export_show.h"

typedef struct site_args {
    const char *out, *from, *lab, *playground, *text;
    corpus_args corpus;
    int  threads;
    bool json;
} site_args;

#define AT(field) offsetof(site_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "options", 0, NULL, 0, 0, NULL },
    { OPTION_FOLDER, "--out", AT(out), "DIR", 0, 0, "the site; one that is there is replaced" },
    { OPTION_FOLDER, "--from", AT(from), "SHELL", 0, 0, "the built pages [site, beside this program]" },
    { OPTION_FOLDER, "--lab", AT(lab), "MODEL_DIR", 0, 0, "the model of the lab: a small one [none]" },
    { OPTION_FOLDER, "--playground", AT(playground), "MODEL_DIR", 0, 0, "the model of the playground [none]" },
    { OPTION_TEXT, "--text", AT(text), "TEXT", 0, 0, "the window of both is its first tokens\n[the first of what the model was not trained on]" },
    CORPUS_ROWS(site_args, corpus, "--data",
                "the corpus of both models, as it was given to train:\ntheir tokenizers are trained again on it, and\ncompared"),
    { OPTION_INT, "--threads", AT(threads), "N", 0, 256, "for comparing tokenizers; 0: all cores" },
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0, "one JSON object" },
};

static const void *defaults(int i, const char **label)
{
    static const site_args set = { .out = NULL };
    *label = "";
    return i > 0 ? NULL : &set;
}

/* The built pages: beside this program, or where they are installed; a new string. */
static char *pages(void)
{
    char *built = cli_beside("site"), *installed = cli_beside("../share/vitrine/site");
    const bool own = !installed || (built && access(built, F_OK) == 0) || access(installed, F_OK) != 0;
    free(own ? installed : built);
    return own ? built : installed;
}

static vt_status print_json(const site_args *a, const vt_site_report *r, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_string(&w, "out", a->out);
    js_field_uint(&w, "files", r->files);
    js_field_uint(&w, "bytes", r->bytes);
    js_field_bool(&w, "replaced", r->replaced);
    const char *const models[] = { a->lab, a->playground };
    for (size_t i = 0; i < 2; i++) {
        js_key(&w, i ? "playground" : "lab");
        if (models[i]) {
            js_open_object(&w);
            export_show_json(&w, i ? &r->playground : &r->lab);
            js_close_object(&w);
        } else {
            js_null(&w);
        }
    }
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

static vt_status make(const site_args *a, const char *shell, vt_error *err)
{
    const vt_site_options o = {
        .shell = shell, .out = a->out, .lab = a->lab, .playground = a->playground, .text = a->text,
        .text_length = a->text ? strlen(a->text) : 0, .corpus = a->corpus.what.nfiles ? &a->corpus.what : NULL, .threads = a->threads,
    };
    vt_site_report r;
    cli_begin_interrupts();
    const vt_status s = vt_site(&o, &r, err);
    cli_end_interrupts();
    if (s) return s;
    if (a->lab) export_show_note("lab", &r.lab);
    if (a->playground) export_show_note("playground", &r.playground);
    if (a->json) return print_json(a, &r, err);
    char size[24];
    progress_bytes(size, sizeof size, (double)r.bytes);
    printf("%s: %zu files, %s of pages%s\n", a->out, r.files, size,
           r.replaced ? "; the site that was there is replaced" : "");
    if (a->lab) export_show_text(stdout, "lab", &r.lab);
    if (a->playground) export_show_text(stdout, "playground", &r.playground);
    return cli_flush(err);
}

static int run(const command *c, int argc, char **argv)
{
    site_args a = { .out = NULL };
    options_read read;
    vt_error err;
    int code;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    vt_status s = VT_OK;
    if (!a.out) s = fail(&err, VT_USAGE, "expected --out DIR, the folder to write");
    else s = corpus_args_take(&a.corpus, "--data", &err);
    if (s == VT_OK) {
        char *own = a.from ? NULL : pages();
        if (!a.from && !own) s = fail_memory(&err, 1, "a path");
        else s = make(&a, own ? own : a.from, &err);
        free(own);
    }
    if (s) cli_error(c, s, &err);
    return (int)s;
}

const command cmd_site = {
    .name = "site",
    .summary = "the pages with your models, for any host",
    .usage = "vitrine site --out DIR [option ...]",
    .about = "Writes to DIR a static site: the built pages, and of each model what\n"
             "`vitrine export` writes.  Any host can serve it, under any path; `vitrine serve`\n"
             "does on this machine.  DIR may be absent, empty, or a site that this command\n"
             "wrote; it is replaced as a whole, at the end, or stays as it was.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 0,
    .examples =
        "  vitrine site --out build/www --lab build/models/tiny \\\n"
        "      --playground build/models/default\n"
        "  vitrine site --out public --lab mine --text \"Once upon a time\"\n",
    .exits =
        "  0  written\n"
        "  2  an option cannot be used, or DIR is not ours to replace\n"
        "  3  a model, its files, the text or the corpus are not what they should be\n"
        "  4  reading or writing failed, or the pages are not built\n"
        "  5  sizes exceed memory\n"
        "  130 interrupted: DIR is as it was, and nothing is left beside it\n",
    .defaults = defaults,
    .run = run,
};
