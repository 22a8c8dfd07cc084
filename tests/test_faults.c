/* test_faults.c -- every request for memory of a job, refused in turn: the first alone,
 * then the second alone, and so on until a job ends without having reached it; then again
 * with all behind it refused, too.
 *
 * What must hold, each time: VT_TOO_LARGE with one line that says so, or the result of the
 * undisturbed job, where memory was a convenience (a buffer of stdio); no crash, nothing
 * that stays allocated or open, and nothing half-written.  The requests of jansson, zlib
 * and the C library are among them (fault_memory.h).  Known faults NUM-01, CKPT-02.
 *
 * The jobs are small but whole: what they need is made once, by the library itself.  Where
 * a job opens a model, most requests are of JSON's nodes, all alike; "info" tries every one
 * of them, the others all up to DENSE and behind it each STRIDE-th.
 *
 *     build/tests/test_faults every       each request of each job (tools/faults)
 */
#include "support.h"
#include "fault_memory.h"
#include "scratch.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "formats/json.h"
#include "vitrine.h"

typedef char digest[65];

/* One job, from the state that `prepare` (may be NULL) makes; what it made, as a hash. */
typedef struct job {
    const char *name;
    void (*prepare)(void);
    vt_status (*run)(digest out, vt_error *err);
    void (*after)(vt_status s, bool all);   /* what must hold of files, also where it failed */
} job;

static digest whole_state, first_state;     /* of two steps, and of the first of them */

/* ---- what the jobs work on ---------------------------------------------- */

static char text_path[256], csv_path[256], model[256], half[256], out[256], site[256], dump[256];
static char npz[256];
static const char *const text_files[] = { text_path };
static const vt_corpus the_text = { .files = text_files, .nfiles = 1 };
static const char sentence[] = "the cat sat on the mat, and the hat was flat. ";

static vt_train_options small_run(const char *data, const char *folder)
{
    static const char *file;                /* of the one run at a time */
    vt_train_options o;
    assert_ok(vt_train_preset(&o, "tiny", &test_error));
    file = data;
    o.corpus.files = &file;
    o.corpus.nfiles = 1;
    o.out = folder;
    o.layers = o.heads = o.threads = 1;
    o.d_model = o.ff = o.context = o.seq = 4;
    o.batch = 2;
    o.merges = 3;
    o.steps = 2;
    return o;
}

static void keep_path(char to[256], const char *name) { snprintf(to, 256, "%s", scratch(name)); }

static void empty_out(void) { io_remove_folder(out); }

static void copy(const char *folder, const char *name)
{
    bytes content = { 0 };
    char *from = io_join(folder, name), *to = io_join(out, name);
    assert_ok(io_read(&content, from, SIZE_MAX / 4, &test_error));
    FILE *f = fopen(to, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(content.data, 1, content.len, f), content.len);
    assert_int_equal(fclose(f), 0);
    bytes_free(&content);
    free(to);
    free(from);
}

static void half_a_run(void)
{
    static const char *const names[] = { "state.safetensors", "model.safetensors", "config.json",
                                         "tokenizer.json", "manifest.json", "metrics.jsonl" };
    empty_out();
    assert_ok(io_mkdir(out, &test_error));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) copy(half, names[i]);
}

static int make(void **state)
{
    char text[4 * sizeof sentence] = "", csv[400];
    if (scratch_make(state)) return 1;
    for (int i = 0; i < 4; i++) strcat(text, sentence);
    scratch_file("text.txt", text, strlen(text));
    const int n = snprintf(csv, sizeof csv, "id,text\n1,%.60s\n2,\"%.50s, \"\"so\"\".\"\n3,%.90s\n",
                           "the cat sat", text, "the cat sat and sat on the mat");
    scratch_file("rows.csv", csv, (size_t)n);
    keep_path(text_path, "text.txt");
    keep_path(csv_path, "rows.csv");
    keep_path(model, "model");
    keep_path(half, "half");
    keep_path(out, "out");
    keep_path(site, "site");
    keep_path(dump, "dump.npz");
    keep_path(npz, "case.npz");
    vt_train_options o = small_run(text_path, model);
    vt_train_result r;
    assert_ok(vt_train(&o, NULL, &r, &test_error));
    memcpy(whole_state, r.state_sha256, sizeof whole_state);
    o.out = half;
    o.stop_at = 1;
    assert_ok(vt_train(&o, NULL, &r, &test_error));
    memcpy(first_state, r.state_sha256, sizeof first_state);
    assert_ok(io_mkdir(site, &test_error));
    scratch_file("site/vitrine.wasm", "not run here", 12);
    scratch_file("site/index.html", "<p>", 3);
    return 0;
}

/* ---- the jobs ----------------------------------------------------------- */

static vt_status train_text(const char *data, digest made, vt_error *err)
{
    vt_train_options o = small_run(data, out);
    vt_train_result r;
    const vt_status s = vt_train(&o, NULL, &r, err);
    memcpy(made, r.state_sha256, sizeof(digest));
    return s;
}

static vt_status train_new(digest made, vt_error *err) { return train_text(text_path, made, err); }
static vt_status train_csv(digest made, vt_error *err) { return train_text(csv_path, made, err); }

static vt_status train_on(digest made, vt_error *err)
{
    vt_train_options o;
    vt_train_result r = { .step = 0 };
    vt_status s = vt_train_stored(&o, out, err);
    if (s) return s;
    o.corpus = the_text;
    o.out = out;
    o.resume = true;
    o.threads = 1;
    s = vt_train(&o, NULL, &r, err);
    memcpy(made, r.state_sha256, sizeof(digest));
    return s;
}

/* Whether a name with `part` is in the folder. */
static bool holds(const char *folder, const char *part)
{
    DIR *dir = opendir(folder);
    bool found = false;
    for (const struct dirent *e; dir && (e = readdir(dir)); ) found |= strstr(e->d_name, part) != NULL;
    if (dir) (void)closedir(dir);
    return found;
}

/* The state is one of those that a run without faults has, or there is none; and no
 * temporary is left. */
static void state_is_known(const char *before)
{
    digest found;
    char *path = io_join(out, "state.safetensors");
    if (sha256_hex_file(found, path, NULL) != VT_OK) {
        assert_null(before);
        if (access(path, F_OK) == 0) fail_msg("%s: is there and cannot be read", path);
    } else if (!before || strcmp(found, before) != 0) {
        assert_string_equal(found, whole_state);
    }
    free(path);
    if (holds(out, ".tmp-")) fail_msg("a temporary file is left");
}

static void after_new(vt_status s, bool all) { (void)all; if (s) state_is_known(NULL); }
static void after_on(vt_status s, bool all)  { (void)all; if (s) state_is_known(first_state); }

/* A CSV's model is another: only that nothing is half-written. */
static void after_csv(vt_status s, bool all)
{
    (void)all;
    digest found;
    char *path = io_join(out, "state.safetensors");
    if (s && sha256_hex_file(found, path, NULL) == VT_OK) {
        vt_model *m;
        assert_ok(vt_model_open(&m, out, 1, NULL, &test_error));
        vt_model_close(m);
    }
    free(path);
}

static vt_status info(digest made, vt_error *err)
{
    vt_model *m;
    vt_info_data data;
    vt_status s = vt_verify(model, err);
    if (s || (s = vt_model_open(&m, model, 1, NULL, err))) return s;
    vt_info(m, &data);
    memcpy(made, data.state_sha256, sizeof(digest));
    vt_model_close(m);
    return VT_OK;
}

static bool collect(void *context, int sample, const char *piece, size_t n)
{
    char *all = context;
    (void)sample;
    strncat(all, piece, n < 40 ? n : 40);
    return false;
}

static vt_status generate(digest made, vt_error *err)
{
    vt_model *m;
    vt_generate_options o;
    char text[1000] = "";
    vt_status s = vt_model_open(&m, model, 1, NULL, err);
    if (s) return s;
    vt_generate_defaults(&o);
    o.prompt = "the";
    o.prompt_length = 3;
    o.max_tokens = 6;
    s = vt_generate(m, &o, collect, text, NULL, err);
    sha256_hex(made, text, strlen(text));
    vt_model_close(m);
    return s;
}

static vt_status tokenize(digest made, vt_error *err)
{
    vt_model *m;
    int *ids = NULL;
    size_t n = 0;
    vt_status s = vt_model_open(&m, model, 1, NULL, err);
    if (s) return s;
    if ((s = vt_tokenize(m, sentence, sizeof sentence - 1, &ids, &n, err)) == VT_OK)
        sha256_hex(made, ids, n * sizeof *ids);
    free(ids);
    vt_model_close(m);
    return s;
}

static vt_status novelty(digest made, vt_error *err)
{
    vt_model *m;
    vt_training_text *t = NULL;
    vt_novelty_report r;
    vt_status s = vt_model_open(&m, model, 1, NULL, err);
    if (s) return s;
    if ((s = vt_training_text_open(&t, m, &the_text, err)) == VT_OK &&
        (s = vt_novelty(t, "the cat was here", 16, &r, err)) == VT_OK)
        sha256_hex(made, &r.longest, sizeof r.longest);
    vt_training_text_close(t);
    vt_model_close(m);
    return s;
}

static vt_status check(digest made, vt_error *err)
{
    vt_model *m;
    vt_check_options o;
    vt_check_report r = { .rows = NULL };
    vt_status s = vt_model_open(&m, model, 1, NULL, err);
    if (s) return s;
    vt_check_defaults(&o);
    o.entries = 1;
    o.differences = 1;
    if ((s = vt_check(m, &o, NULL, NULL, &r, err)) == VT_OK)
        sha256_hex(made, &r.compared, sizeof r.compared);
    vt_check_free(&r);
    vt_model_close(m);
    return s;
}

static vt_status hash_file(digest made, const char *folder, const char *name, vt_error *err)
{
    char path[600];
    snprintf(path, sizeof path, "%.300s%s%.250s", folder, *name ? "/" : "", name);
    return sha256_hex_file(made, path, err);
}

static vt_status check_write(digest made, vt_error *err)
{
    vt_model *m;
    vt_check_options o;
    vt_status s = vt_model_open(&m, model, 1, NULL, err);
    if (s) return s;
    vt_check_defaults(&o);
    if ((s = vt_check_write(m, &o, dump, err)) == VT_OK) s = hash_file(made, dump, "", err);
    vt_model_close(m);
    return s;
}

static vt_status op_write(digest made, vt_error *err)
{
    vt_op_written w;
    const vt_status s = vt_op_write(&w, "attention", 1, 42, npz, err);
    return s ? s : hash_file(made, npz, "", err);
}

static vt_export_options export_to(const char *where)
{
    return (vt_export_options){ .model = model, .site = where, .as = "lab", .text = sentence,
                                .text_length = 20, .corpus = &the_text, .threads = 1 };
}

static vt_status export(digest made, vt_error *err)
{
    const vt_export_options o = export_to(site);
    vt_export_report r;
    const vt_status s = vt_export(&o, &r, err);
    return s ? s : hash_file(made, site, "data/lab/manifest.json", err);
}

/* Every tensor, as each form of file. */
static vt_status window_as(const char *name, digest made, vt_error *err)
{
    vt_window_options o;
    vt_window_report r;
    vt_window_defaults(&o);
    o.model = model;
    o.out = scratch(name);
    o.text = sentence;
    o.text_length = 20;
    o.what = "all";
    const vt_status s = vt_window_write(&o, NULL, &r, err);
    if (s) assert_false(holds(scratch(NULL), ".tmp-"));
    return s ? s : hash_file(made, o.out, "", err);
}

static vt_status window_npz(digest made, vt_error *err)  { return window_as("w.npz", made, err); }
static vt_status window_json(digest made, vt_error *err) { return window_as("w.json", made, err); }
static vt_status window_csv(digest made, vt_error *err)  { return window_as("w.csv", made, err); }
static vt_status window_safetensors(digest made, vt_error *err)
{
    return window_as("w.safetensors", made, err);
}

static vt_status export_verify(digest made, vt_error *err)
{
    vt_export_report r;
    const vt_status s = vt_export_verify(site, "lab", &r, err);
    memcpy(made, r.tensors_sha256, sizeof(digest));
    return s;
}

static void export_once(void)
{
    const vt_export_options o = export_to(site);
    vt_export_report r;
    static bool done;
    if (!done) assert_ok(vt_export(&o, &r, &test_error));
    done = true;
}

static bool site_made;                      /* what was refused behind that is the hash's */

static vt_status make_site(digest made, vt_error *err)
{
    const vt_site_options o = { .shell = site, .out = out, .lab = model, .text = sentence,
                                .text_length = 20, .threads = 1 };
    vt_site_report r;
    const vt_status s = vt_site(&o, &r, err);
    site_made = s == VT_OK;
    return s ? s : hash_file(made, out, "data/lab/manifest.json", err);
}

static void after_site(vt_status s, bool all)
{
    (void)all;
    if (holds(scratch(NULL), "out.")) fail_msg("a folder beside the site is left");
    if ((s == VT_OK || site_made) != (access(out, F_OK) == 0))
        fail_msg("a site that failed is there, or one that was made is not");
}

static vt_status lab_dump(digest made, vt_error *err)
{
    vt_lab_options o;
    vt_lab_defaults(&o);
    const vt_status s = vt_lab_dump(&o, dump, err);
    return s ? s : hash_file(made, dump, "", err);
}

/* Numbers and strings around each length at which jansson's buffer of a token doubles. */
static void write_tokens(bytes *text)
{
    static const int lengths[] = { 15, 16, 17, 31, 32, 33, 63, 64, 65 };
    text->len = 0;
    assert_ok(bytes_append(text, "[0", 2, &test_error));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const int n = lengths[i];
        assert_ok(bytes_printf(text, &test_error, ",0.%0*d,1%0*d.5e-3,\"%*d\",{\"%0*d\":[1.%0*de1]}",
                               n - 2, 7, n - 6, 0, n - 2, 7, n, 1, n - 4, 0));
    }
    assert_ok(bytes_append(text, "]", 1, &test_error));
}

static bytes tokens;                        /* made by `prepare` */
static void prepare_tokens(void) { if (tokens.len == 0) write_tokens(&tokens); }

static vt_status parse(digest made, vt_error *err)
{
    json_t *tree;
    const vt_status s = js_parse(&tree, tokens.data, tokens.len, "tokens", err);
    if (s) return s;
    const size_t n = json_array_size(tree);
    sha256_hex(made, &n, sizeof n);
    json_decref(tree);
    return VT_OK;
}

static const job jobs[] = {
    { "JSON", prepare_tokens, parse, NULL },
    { "train", empty_out, train_new, after_new },
    { "train, a CSV", empty_out, train_csv, after_csv },
    { "train --resume", half_a_run, train_on, after_on },
    { "info", NULL, info, NULL },
    { "generate", NULL, generate, NULL },
    { "tokenize", NULL, tokenize, NULL },
    { "generate --novelty", NULL, novelty, NULL },
    { "check", NULL, check, NULL },
    { "check --write", NULL, check_write, NULL },
    { "check --op --write", NULL, op_write, NULL },
    { "export", NULL, export, NULL },
    { "export --verify", export_once, export_verify, NULL },
    { "export --out .npz", NULL, window_npz, NULL },
    { "export --out .json", NULL, window_json, NULL },
    { "export --out .csv", NULL, window_csv, NULL },
    { "export --out .safetensors", NULL, window_safetensors, NULL },
    { "site", empty_out, make_site, after_site },
    { "lab --dump", NULL, lab_dump, NULL },
};

/* ---- each refused in turn ----------------------------------------------- */

static int open_files(void)
{
    int n = 0;
    for (int i = 0; i < 256; i++) n += fcntl(i, F_GETFD) != -1;
    return n;
}

static bool says_memory(const char *line)
{
    return strstr(line, "memory") || strstr(line, "bytes") || strstr(line, "cannot start thread");
}

/* One run in which request n is refused; the requests that were made. */
static long refuse(const job *j, long n, bool all, const digest expected, size_t *spared)
{
    digest made = "";
    vt_error err = { "" };
    if (j->prepare) j->prepare();
    const long live = fault_memory_live();
    const int files = open_files();
    fault_memory_arm(n, all);
    const vt_status s = j->run(made, &err);
    const long made_calls = fault_memory_disarm();
    const char *manner = all ? "all refused" : "refused";
    if (fault_memory_live() != live)
        fail_msg("%s: request %ld %s: %ld blocks stay (status %d: %s)", j->name, n, manner,
                 fault_memory_live() - live, (int)s, err.text);
    if (open_files() != files)
        fail_msg("%s: request %ld %s: %d files stay open", j->name, n, manner, open_files() - files);
    if (s != VT_OK && (s != VT_TOO_LARGE || !says_memory(err.text)))
        fail_msg("%s: request %ld %s: status %d: %s", j->name, n, manner, (int)s, err.text);
    if (s == VT_OK && strcmp(made, expected) != 0)
        fail_msg("%s: request %ld %s: another result", j->name, n, manner);
    *spared += s == VT_OK;
    if (j->after) j->after(s, all);
    return made_calls;
}

static bool every;

static long next_request(const job *j, long n)
{
    enum { DENSE = 150, STRIDE = 23 };
    return n < DENSE || every || j->run == info || j->run == parse ? n + 1 : n + STRIDE;
}

static void each_request(void **state)
{
    const job *j = *state;
    digest expected = "";
    vt_error err;
    if (j->prepare) j->prepare();
    if (j->run(expected, &err)) fail_msg("%s: %s", j->name, err.text);      /* what is made once is made here */
    assert_string_not_equal(expected, "");
    size_t spared = 0, tried = 0;
    const long requests = refuse(j, 0, false, expected, &spared);
    assert_true(requests > 0);
    spared = 0;
    for (long n = 1; n <= requests; n = next_request(j, n), tried++) {
        (void)refuse(j, n, false, expected, &spared);
        if (every || n % 3 == 1) {
            (void)refuse(j, n, true, expected, &spared);
            tried++;
        }
    }
    printf("## memory: %s: %ld requests, %zu refusals, alone or with all behind: %zu times status 5 and a "
           "line, %zu times done without\n", j->name, requests, tried, tried - spared, spared);
}

int main(int argc, char **argv)
{
    enum { JOBS = sizeof jobs / sizeof *jobs };
    struct CMUnitTest tests[JOBS];
    every = argc > 1 && strcmp(argv[1], "every") == 0;
    for (size_t i = 0; i < JOBS; i++) {
        static job copies[JOBS];
        copies[i] = jobs[i];
        tests[i] = (struct CMUnitTest){ jobs[i].name, each_request, NULL, NULL, &copies[i] };
    }
    const int failed = cmocka_run_group_tests(tests, make, scratch_remove);
    bytes_free(&tokens);
    return failed;
}
