/* cmd_info.c -- vitrine info: what a model is. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/memory_show.h"
#include "cli/train_options.h"

#define AT(field) offsetof(train_args, o.field)

static const option_row rows[] = {
    { OPTION_GROUP, "options", 0, NULL, 0, 0, NULL },
    { OPTION_INT, "--threads", AT(threads), "N", 0, 256, "as it would be used; 0: all cores" },
    ISA_ROW(AT(isa), "kernels; else $VITRINE_ISA [the best]"),
    { OPTION_FLAG, "--json", offsetof(train_args, json), NULL, 0, 0, "one JSON object" },
    { OPTION_GROUP, "the plan of memory", 0, NULL, 0, 0, NULL },
    { OPTION_FLAG, "--memory", offsetof(train_args, memory), NULL, 0, 0,
      "what a training with the options below would take;\nwith DIR: what that model takes, to generate and to\nresume; nothing is trained" },
    { OPTION_SIZE, "--tokens", offsetof(train_args, tokens), "N", 0, 1099511627776.0,
      "of the text; 0: left out" },
    { OPTION_CHOICE, "--preset", AT(preset), "tiny|default|gpt2", 0, 0,
      "where the values below come from [default]" },
    { OPTION_FILE, "--config", offsetof(train_args, config), "FILE", 0, 0,
      "a configuration of vitrine train, over the preset's\nvalues" },
#include "cli/model_rows.def"
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
    js_field_bool(&w, "seq_known", d->seq_known);
    js_field_int(&w, "vocabulary", d->vocabulary);
    js_field_int(&w, "merges", d->merges);
    js_field_bool(&w, "tied", d->tied);
    js_field_string(&w, "activation", d->activation);
    js_field_uint(&w, "parameters", d->parameters);
    js_field_string(&w, "kernels", d->isa);
    js_field_int(&w, "threads", d->threads);
    field_hash(&w, "corpus_sha256", d->corpus_sha256);
    field_hash(&w, "tokenizer_sha256", d->tokenizer_sha256);
    js_field_string(&w, "tokenizer_from", d->tokenizer_from);
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
    if (d->seq_known) printf("positions   %d, trained on windows of %d\n", d->context, d->seq);
    else printf("positions   %d; the windows of its training are not known\n", d->context);
    printf("vocabulary  %d (%d merges)\n", d->vocabulary, d->merges);
    printf("kernels     %s, %d thread%s\n", d->isa, d->threads, d->threads == 1 ? "" : "s");
    printf("corpus      sha256 %s\ntokenizer   sha256 %s%s\nstate       sha256 %s\n",
           or_unknown(d->corpus_sha256), or_unknown(d->tokenizer_sha256),
           !d->tokenizer_from ? "" : strcmp(d->tokenizer_from, "given") == 0
               ? " (given)" : " (learnt from the corpus)", or_unknown(d->state_sha256));
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

/* ---- the plan of memory -------------------------------------------------- */

/* Model and options of a training that is not there yet. */
static vt_status plan_new(const command *c, int argc, char **argv, vt_memory *m, bool *learns,
                          vt_error *err)
{
    train_args a = { .json = false };
    config_file file = { .path = NULL };
    options_read read;
    vt_status s;
    if ((s = options_parse(c, argc, argv, &a, &read, err)) ||
        (a.config && (s = config_read(&file, &cmd_train, a.config, err))) ||
        (s = train_options_read(&a, &read, &file, c, argc, argv, err)) ||
        (s = vt_train_preset(&a.o, a.o.preset ? a.o.preset : "default", err)) ||
        (s = train_options_read(&a, &read, &file, c, argc, argv, err)))
        goto done;
    train_options_derive(&a.o, c, &read);
    s = config_blame(&file, &cmd_train, vt_memory_plan(&a.o, a.tokens, m, err), err);
    *learns = !a.o.tokenizer && a.o.merges > 0;
done:
    config_free(&file);
    return s;
}

/* A model has its sizes: what would contradict them is refused. */
static vt_status check_stored(const command *c, const options_read *read, vt_error *err)
{
    bool sizes = false;
    for (size_t i = 0; i < c->nrows; i++) {
        sizes = sizes || strcmp(c->rows[i].name, "--preset") == 0;
        if (sizes && read->given[i])
            return fail(err, VT_USAGE, "%s: expected no such option with a model's folder, which "
                        "has sizes of its own", c->rows[i].name);
    }
    return VT_OK;
}

/* Of a model that is there: to generate, and where it can be resumed, to do that. */
static vt_status plan_stored(const char *folder, const train_args *a, vt_memory *generate,
                             vt_memory *resume, bool *resumes, vt_error *err)
{
    vt_model *m = NULL;
    vt_info_data d;
    vt_status s = vt_model_open(&m, folder, a->o.threads, a->o.isa, err);
    if (s) return s;
    vt_info(m, &d);
    *resumes = d.step >= 0;
    s = vt_generate_memory(m, generate, err);
    vt_model_close(m);
    if (s || !*resumes) return s;
    vt_train_options o;
    if ((s = vt_train_stored(&o, folder, err))) return s;
    o.threads = a->o.threads;
    o.isa = a->o.isa;
    o.resume = true;
    o.merges = d.vocabulary - 257;              /* as learnt, which may be fewer than asked */
    return vt_memory_plan(&o, a->tokens, resume, err);
}

static vt_status print_plans(const char *const *names, const vt_memory *const *plans, size_t n,
                             bool json, const char *note, vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    if (!json) {
        for (size_t i = 0; i < n; i++) {
            if (i > 0) putchar('\n');
            memory_show(stdout, names[i], plans[i]);
        }
        fputs(note, stdout);
        return cli_flush(err);
    }
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    for (size_t i = 0; i < n; i++) {
        js_key(&w, names[i]);
        memory_json(&w, plans[i]);
    }
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

static vt_status memory(const command *c, int argc, char **argv, const train_args *a,
                        const options_read *read, vt_error *err)
{
    static const char *const names[] = { "train", "generate", "resume" };
    vt_memory first, second;
    const vt_memory *const plans[] = { &first, &second };
    bool resumes = false, learns = false;
    vt_status s;
    if (read->noperands == 0) {
        if ((s = plan_new(c, argc, argv, &first, &learns, err))) return s;
        return print_plans(names, plans, 1, a->json, !learns ? "" :
                           "the vocabulary is as large as --merges says; a text in which fewer pairs "
                           "occur\ntwice has fewer, and takes less\n", err);
    }
    if ((s = check_stored(c, read, err)) ||
        (s = plan_stored(read->operands[0], a, &first, &second, &resumes, err)))
        return s;
    return print_plans(names + 1, plans, resumes ? 2 : 1, a->json, "\nnot planned: check; export, which "
                       "says what it takes before it begins\n", err);
}

/* ---- the command --------------------------------------------------------- */

static vt_status model(const command *c, const train_args *a, const options_read *read,
                       vt_error *err)
{
    vt_error differs;
    vt_info_data d;
    vt_model *m = NULL;
    const char *folder = cli_folder(c, read, err);
    if (!folder) return VT_USAGE;
    for (size_t i = 0; i < c->nrows; i++)
        if (read->given[i] && c->rows[i].at != AT(threads) && c->rows[i].at != AT(isa) &&
            c->rows[i].at != offsetof(train_args, json))
            return fail(err, VT_USAGE, "%s: expected --memory with it", c->rows[i].name);
    vt_status s = vt_model_open(&m, folder, a->o.threads, a->o.isa, err);
    if (s) return s;
    vt_info(m, &d);
    const vt_status verified = vt_verify(folder, &differs);
    const char *manifest = verified == VT_OK ? "matches" : differs.text;
    if (verified == VT_TOO_LARGE) *err = differs;       /* it could not be looked at */
    s = verified == VT_TOO_LARGE ? verified
      : a->json ? print_json(m, folder, &d, manifest, err)
                : print_text(m, folder, &d, manifest, err);
    vt_model_close(m);
    return s;
}

static int run(const command *c, int argc, char **argv)
{
    train_args a = { .json = false };
    options_read read;
    vt_error err;
    int code;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    const vt_status s = a.memory ? memory(c, argc, argv, &a, &read, &err)
                                 : model(c, &a, &read, &err);
    if (s) cli_error(c, s, &err);
    return (int)s;
}

const command cmd_info = {
    .name = "info",
    .summary = "what a model is, and what memory one takes",
    .usage = "vitrine info DIR [option ...] | vitrine info --memory [option ...]",
    .about = "Prints the sizes of a model, its tensors and which of them decay, how far it was\n"
             "trained, the kernels in use, the hashes of what it came from, and whether its\n"
             "files are those of its manifest.json.  With --memory: how much memory a training\n"
             "takes, block by block, before anything is allocated.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 1, .operand = OPTION_FOLDER,
    .examples =
        "  vitrine info model\n"
        "  vitrine info model --json\n"
        "  vitrine info --memory --preset gpt2 --batch 2\n"
        "  vitrine info model --memory\n",
    .exits =
        "  0  written, also where the manifest does not match: the output says so\n"
        "  2  an option cannot be used\n"
        "  3  the model is not what it should be\n"
        "  4  reading or writing failed\n"
        "  5  sizes overflow or, of a model that is read, exceed memory\n",
    .defaults = train_options_presets,
    .run = run,
};
