/* cmd_info.c -- vitrine info: what a model is. */
#include <stdlib.h>
#include "base/progress.h"
#include "cli/cli.h"

typedef struct info_args {
    const char *isa;
    int  threads;
    bool json;
} info_args;

#define AT(field) offsetof(info_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "options", 0, NULL, 0, 0, NULL },
    { OPTION_INT, "--threads", AT(threads), "N", 0, 256, "as it would be used; 0: all cores [0]" },
    { OPTION_NAME, "--isa", AT(isa), "NAME", 0, 0, "kernels: portable, avx2, avx512 [the best]" },
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0, "one JSON object" },
};

static void json_tensors(js_writer *w, const vt_model *m, size_t n)
{
    js_key(w, "tensors");
    js_open_array(w);
    for (size_t i = 0; i < n; i++) {
        const vt_tensor_info t = vt_tensor(m, i);
        js_open_object(w);
        js_field_string(w, "name", t.name);
        js_field_string(w, "file_name", t.file_name);
        js_key(w, "shape");
        js_open_array(w);
        if (!t.is_vector) js_int(w, t.rows);
        js_int(w, t.cols);
        js_close_array(w);
        js_field_uint(w, "count", t.count);
        js_field_string(w, "group", t.decay ? "decay" : "no_decay");
        js_close_object(w);
    }
    js_close_array(w);
}

static void field_known(js_writer *w, const char *key, bool known, int64_t value)
{
    if (known) js_field_int(w, key, value);
    else js_field_null(w, key);
}

static void field_hash(js_writer *w, const char *key, const char *hash)
{
    js_field_string(w, key, hash[0] ? hash : NULL);
}

static vt_status print_json(const vt_model *m, const char *folder, const vt_info_data *d,
                            const char *manifest, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_string(&w, "folder", folder);
    field_known(&w, "step", d->step >= 0, d->step);
    field_known(&w, "steps", d->steps >= 0, d->steps);
    if (d->step >= 0) js_field_uint(&w, "seed", d->seed);
    else js_field_null(&w, "seed");
    js_field_int(&w, "layers", d->layers);
    js_field_int(&w, "d_model", d->d_model);
    js_field_int(&w, "heads", d->heads);
    js_field_int(&w, "ff", d->ff);
    js_field_int(&w, "context", d->context);
    js_field_int(&w, "seq", d->seq);
    js_field_int(&w, "vocabulary", d->vocabulary);
    js_field_int(&w, "merges", d->merges);
    js_field_bool(&w, "tied", d->tied);
    js_field_string(&w, "activation", d->activation);
    js_field_uint(&w, "parameters", d->parameters);
    js_field_string(&w, "kernels", d->isa);
    js_field_int(&w, "threads", d->threads);
    field_hash(&w, "corpus_sha256", d->corpus_sha256);
    field_hash(&w, "tokenizer_sha256", d->tokenizer_sha256);
    field_hash(&w, "state_sha256", d->state_sha256);
    js_field_string(&w, "manifest", manifest);
    json_tensors(&w, m, d->tensors);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

static const char *or_unknown(const char *hash)
{
    return hash[0] ? hash : "unknown";
}

static vt_status print_text(const vt_model *m, const char *folder, const vt_info_data *d,
                            const char *manifest, vt_error *err)
{
    printf("%s: GPT-2's architecture, %zu parameters in %zu tensors\n", folder, d->parameters,
           d->tensors);
    if (d->step >= 0)
        printf("trained     step %lld of %lld, seed %llu\n", d->step, d->steps,
               (unsigned long long)d->seed);
    printf("sizes       %d layers, d %d, %d heads, ff %d, %s head, %s\n", d->layers, d->d_model,
           d->heads, d->ff, d->tied ? "tied" : "untied", d->activation);
    printf("positions   %d, trained on windows of %d\n", d->context, d->seq);
    printf("vocabulary  %d (%d merges)\n", d->vocabulary, d->merges);
    printf("kernels     %s, %d thread%s\n", d->isa, d->threads, d->threads == 1 ? "" : "s");
    printf("corpus      sha256 %s\ntokenizer   sha256 %s\nstate       sha256 %s\n",
           or_unknown(d->corpus_sha256), or_unknown(d->tokenizer_sha256),
           or_unknown(d->state_sha256));
    printf("manifest    %s\n\n%-26s %16s %10s  %s\n", manifest, "tensor", "shape", "entries",
           "weight decay");
    for (size_t i = 0; i < d->tensors; i++) {
        const vt_tensor_info t = vt_tensor(m, i);
        char shape[32];
        if (t.is_vector) snprintf(shape, sizeof shape, "%d", t.cols);
        else snprintf(shape, sizeof shape, "%d x %d", t.rows, t.cols);
        printf("%-26s %16s %10zu  %s\n", t.name, shape, t.count, t.decay ? "yes" : "no");
    }
    return cli_flush(err);
}

static int run(const command *c, int argc, char **argv)
{
    info_args a = { .isa = NULL };
    options_read read;
    vt_error err, differs;
    vt_model *m = NULL;
    int code;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    const char *folder = cli_folder(c, &read, &err);
    vt_status s = folder ? vt_model_open(&m, folder, a.threads, a.isa, &err) : VT_USAGE;
    if (s == VT_OK) {
        vt_info_data d;
        vt_info(m, &d);
        const char *manifest = vt_verify(folder, &differs) == VT_OK ? "matches" : differs.text;
        s = a.json ? print_json(m, folder, &d, manifest, &err)
                   : print_text(m, folder, &d, manifest, &err);
    }
    if (s) cli_error(c, s, &err);
    vt_model_close(m);
    return (int)s;
}

const command cmd_info = {
    .name = "info",
    .summary = "what a model is",
    .usage = "vitrine info DIR [option ...]",
    .about = "Prints the sizes of a model, its tensors and which of them decay, how far it was\n"
             "trained, the kernels in use, the hashes of what it came from, and whether its files\n"
             "are those of its manifest.json.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 1,
    .examples =
        "  vitrine info model\n"
        "  vitrine info model --json\n",
    .exits =
        "  0  written, also where the manifest does not match: the output says so\n"
        "  2  an option cannot be used\n"
        "  3  the model is not what it should be\n"
        "  4  reading or writing failed\n"
        "  5  sizes exceed memory\n",
    .run = run,
};
