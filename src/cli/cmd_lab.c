/* cmd_lab.c -- vitrine lab: reads the options, asks the library, and shows what
 * it found, as text (lab_show.c) or JSON. */
#include "cli/cli.h"
#include "cli/lab_show.h"
#include "cli/outputs.h"

typedef struct lab_args {
    vt_lab_options o;
    const char *python, *dump;
    bool torch, json;
} lab_args;

#define AT(field) offsetof(lab_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "options", 0, NULL, 0, 0, NULL },
    { OPTION_SEED, "--seed", AT(o.seed), "N", 0, 0, "of the inputs, as NumPy's default_rng(N), and of\nthe scaling experiment" },
    { OPTION_INT, "--heads", AT(o.heads), "N", 1, VT_LAB_HEADS, "1, or 2 of half the width" },
    { OPTION_REAL, "--temperature", AT(o.temperature), "T", VT_LAB_COLDEST, VT_LAB_HOTTEST, "of the loss: logits / T" },
    { OPTION_CHOICE, "--dtype", AT(o.dtype), "float64|float32", 0, 0, "float32: inputs, pass, gradient and central\ndifferences in float; those then tell nothing, and\nthe exit status is 1" },
    { OPTION_FLAG, "--torch", AT(torch), NULL, 0, 0, "compare with PyTorch's automatic differentiation\nin float64 (Debian: python3-torch)" },
    { OPTION_FILE, "--python", AT(python), "PROGRAM", 0, 0, "the interpreter that has torch" },
    { OPTION_FILE, "--dump", AT(dump), "FILE", 0, 0, "write all tensors and gradients to FILE, .npz or\n.safetensors" },
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0, "one JSON object, with every number" },
};

static lab_args default_args(void)
{
    lab_args a = { .python = "/usr/bin/python3" };
    vt_lab_defaults(&a.o);
    return a;
}

static const void *defaults(int i, const char **label)
{
    static lab_args set;
    *label = "";
    if (i > 0) return NULL;
    set = default_args();
    return &set;
}

/* ---- JSON -------------------------------------------------------------- */

/* x[rows][cols] under a key, or into an array where key is NULL. */
static void json_matrix(js_writer *w, const char *key, const double *x, size_t rows_, size_t cols)
{
    if (key) js_key(w, key);
    js_open_array(w);
    for (size_t i = 0; i < rows_; i++) {
        js_open_array(w);
        for (size_t j = 0; j < cols; j++) js_number(w, x[i * cols + j]);
        js_close_array(w);
    }
    js_close_array(w);
}

static void json_tensors(js_writer *w, const char *key, const vt_lab_tensors *t, bool gradients)
{
    js_key(w, key);
    js_open_object(w);
    json_matrix(w, gradients ? "dWq" : "Wq", &t->Wq[0][0], VT_LAB_C, VT_LAB_D);
    json_matrix(w, gradients ? "dWk" : "Wk", &t->Wk[0][0], VT_LAB_C, VT_LAB_D);
    json_matrix(w, gradients ? "dWv" : "Wv", &t->Wv[0][0], VT_LAB_C, VT_LAB_D);
    json_matrix(w, gradients ? "dWo" : "Wo", &t->Wo[0][0], VT_LAB_D, VT_LAB_V);
    json_matrix(w, gradients ? "dX" : "X", &t->X[0][0], VT_LAB_T, VT_LAB_C);
    js_close_object(w);
}

static void json_entry(js_writer *w, const char *key, const vt_lab_entry *e)
{
    js_key(w, key);
    js_open_object(w);
    js_field_string(w, "tensor", e->tensor);
    js_field_int(w, "row", e->row);
    js_field_int(w, "col", e->col);
    cli_field_measured(w, "expected", e->expected);
    cli_field_measured(w, "found", e->found);
    js_close_object(w);
}

/* The fields; the caller opens and closes the object. */
static void json_check(js_writer *w, const vt_lab_check *c)
{
    js_field_string(w, "name", c->name);
    js_field_number(w, "step", c->step);
    cli_field_measured(w, "worst_relative_error", c->worst);
    json_entry(w, "worst_at", &c->worst_at);
    cli_field_measured(w, "worst_of_largest", c->worst_of_largest);
    cli_field_measured(w, "budget_used", c->budget_used);
    json_entry(w, "budget_at", &c->budget_at);
    js_field_uint(w, "compared", c->compared);
    js_field_uint(w, "of", c->of);
    js_field_bool(w, "pass", c->pass);
}

static void json_measure(js_writer *w, const char *key, const vt_lab_measure *m)
{
    js_key(w, key);
    js_open_object(w);
    cli_field_measured(w, "value", m->value);
    cli_field_measured(w, "error", m->error);
    js_close_object(w);
}

static void json_scaling(js_writer *w, const vt_lab_scaling *s)
{
    js_open_object(w);
    js_field_int(w, "d_head", s->d_head);
    js_field_uint(w, "rows", s->rows);
    json_measure(w, "score_std", &s->score_std);
    json_measure(w, "max_weight_raw", &s->weight_raw);
    json_measure(w, "max_weight_scaled", &s->weight_scaled);
    json_measure(w, "softmax_gradient_raw", &s->gradient_raw);
    json_measure(w, "softmax_gradient_scaled", &s->gradient_scaled);
    js_key(w, "published");
    js_open_object(w);
    js_field_number(w, "score_std", s->published_score_std);
    js_field_number(w, "max_weight_raw", s->published_weight_raw);
    js_field_number(w, "max_weight_scaled", s->published_weight_scaled);
    js_close_object(w);
    js_close_object(w);
}

static void json_experiments(js_writer *w, const vt_lab_report *r)
{
    js_key(w, "experiments");
    js_open_object(w);
    js_key(w, "scaling");
    js_open_array(w);
    for (size_t i = 0; i < VT_LAB_SCALINGS; i++) json_scaling(w, &r->scaling[i]);
    js_close_array(w);
    js_key(w, "temperature");
    js_open_array(w);
    for (size_t i = 0; i < VT_LAB_SOFTS; i++) {
        js_open_object(w);
        js_field_number(w, "temperature", r->softs[i].temperature);
        js_key(w, "probabilities");
        js_open_array(w);
        for (size_t v = 0; v < VT_LAB_V; v++) js_number(w, r->softs[i].probs[v]);
        js_close_array(w);
        js_field_number(w, "entropy_bits", r->softs[i].entropy);
        js_field_number(w, "error", 0);                 /* nothing is sampled */
        js_close_object(w);
    }
    js_close_array(w);
    js_close_object(w);
}

static void json_checks(js_writer *w, const vt_lab_report *r)
{
    const vt_lab_float_check *f = &r->in_float;
    js_key(w, "checks");
    js_open_array(w);
    for (size_t i = 0; i < VT_LAB_CHECKS; i++) {
        js_open_object(w);
        json_check(w, &r->checks[i]);
        js_close_object(w);
    }
    js_close_array(w);
    js_key(w, "float32");                               /* no check: it is to fail */
    js_open_object(w);
    json_check(w, &f->check);
    cli_field_measured(w, "mean_relative_error", f->mean);
    js_field_uint(w, "within", f->within);
    js_field_uint(w, "zero", f->zero);
    js_key(w, "loss");
    js_float(w, (float)f->loss);
    js_key(w, "spacing");
    js_float(w, (float)f->spacing);
    js_close_object(w);
}

static void json_torch(js_writer *w, const lab_torch *t, const char *python)
{
    static const char *const names[VT_LAB_TENSORS] = { "dWq", "dWk", "dWv", "dWo", "dX" };
    const vt_lab_comparison *c = &t->against;
    js_key(w, "torch");
    js_open_object(w);
    js_field_string(w, "version", t->version);
    js_field_string(w, "python", python);
    cli_field_measured(w, "loss", c->loss);
    cli_field_measured(w, "loss_difference", c->loss_difference);
    js_key(w, "largest_difference");
    js_open_object(w);
    for (size_t k = 0; k < VT_LAB_TENSORS; k++)
        cli_field_measured(w, names[k], c->difference[k]);
    js_close_object(w);
    cli_field_measured(w, "worst_relative_error", c->check.worst);
    json_entry(w, "worst_at", &c->check.worst_at);
    cli_field_measured(w, "worst_of_largest", c->check.worst_of_largest);
    cli_field_measured(w, "budget_used", c->check.budget_used);
    json_entry(w, "budget_at", &c->check.budget_at);
    js_field_uint(w, "compared", c->check.compared);
    js_field_uint(w, "of", c->check.of);
    js_field_bool(w, "pass", c->check.pass && c->loss_difference <= c->loss_bound);
    js_close_object(w);
}

/* torch: NULL where it was not asked. */
static vt_status print_json(const vt_lab_report *r, const lab_torch *torch, const char *python,
                            vt_error *err)
{
    bytes text = { 0 };
    js_writer w;
    js_begin(&w, &text, JS_LINE);
    js_open_object(&w);
    js_field_uint(&w, "seed", r->options.seed);
    js_field_int(&w, "heads", r->options.heads);
    js_field_number(&w, "temperature", r->options.temperature);
    js_field_string(&w, "dtype", r->options.dtype);
    js_field_number(&w, "loss", r->loss);
    js_field_number(&w, "uniform", r->uniform);
    js_key(&w, "targets");
    js_open_array(&w);
    for (size_t t = 0; t < VT_LAB_T; t++) js_int(&w, r->targets[t]);
    js_close_array(&w);
    json_tensors(&w, "inputs", &r->inputs, false);
    js_key(&w, "P");
    js_open_array(&w);
    for (size_t h = 0; h < (size_t)r->options.heads; h++)
        json_matrix(&w, NULL, &r->P[h][0][0], VT_LAB_T, VT_LAB_T);
    js_close_array(&w);
    json_matrix(&w, "O", &r->O[0][0], VT_LAB_T, VT_LAB_D);
    json_matrix(&w, "logits", &r->logits[0][0], VT_LAB_T, VT_LAB_V);
    json_tensors(&w, "gradients", &r->gradients, true);
    json_checks(&w, r);
    if (torch) json_torch(&w, torch, python);
    json_experiments(&w, r);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &text, err);
    bytes_free(&text);
    return s;
}

/* ---- the command ------------------------------------------------------- */

/* A report goes out where there is one, also of a check that failed; `s` is what
 * vt_lab said, *err its line. */
static vt_status show(const lab_args *a, const vt_lab_report *r, vt_status s, vt_error *err)
{
    lab_torch t;
    vt_error why;
    if (a->torch) {
        cli_begin_interrupts();
        const vt_status compared = lab_torch_run(&t, a->python, r, &why);
        cli_end_interrupts();
        if (compared && (s == VT_OK || compared != VT_CHECK_FAILED)) *err = why;
        if (compared && compared != VT_CHECK_FAILED) return compared;
        if (compared) s = compared;
    }
    const lab_torch *torch = a->torch ? &t : NULL;
    /* A name that says no format is a mistake; a full disk takes nobody's report. */
    const vt_status dumped = a->dump ? vt_lab_dump(&a->o, a->dump, err) : VT_OK;
    if (dumped == VT_USAGE) return dumped;
    const vt_status written = a->json ? print_json(r, torch, a->python, &why)
                                      : lab_show(stdout, r, torch, cli_utf8(), &why);
    if (written) *err = why;
    if (written || dumped) return written ? written : dumped;
    return s;
}

static int run(const command *c, int argc, char **argv)
{
    static vt_lab_report report;
    lab_args a = default_args();
    options_read read;
    vt_error err;
    int code;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    vt_status s = VT_OK;
    if (!a.torch && options_given(c, &read, "--python"))
        s = fail(&err, VT_USAGE, "--python: expected --torch with it");
    if (s == VT_OK) s = output_ready("--dump", a.dump, NULL, &err);
    if (s == VT_OK) s = vt_lab(&a.o, &report, &err);
    if (s == VT_OK || s == VT_CHECK_FAILED) s = show(&a, &report, s, &err);
    return s ? cli_error(c, s, &err) : VT_OK;
}

const command cmd_lab = {
    .name = "lab",
    .summary = "attention and its gradient by hand, at a size to look at",
    .usage = "vitrine lab [option ...]",
    .about = "Code lab 01: one causal attention head over six tokens, forward and backward,\n"
             "with every gradient compared with central differences and with the complex step.\n"
             "Then two experiments: why scores are divided by sqrt(d_head), and what a\n"
             "temperature does.  The inputs are what NumPy's default_rng(seed) draws, so each\n"
             "number can be found again in a few lines of Python.  It takes an instant.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 0,
    .examples =
        "  vitrine lab --seed 0\n"
        "  vitrine lab --heads 2                 exercise 1: a second head\n"
        "  vitrine lab --temperature 0.5         exercise 2: a temperature in the loss\n"
        "  vitrine lab --torch                   the same by PyTorch\n"
        "  vitrine lab --json > lab.json         all tensors and gradients\n"
        "  vitrine lab --dump lab.npz            for numpy.load\n",
    .exits =
        "  0  every gradient is within its bound (float's failure, shown, is no error)\n"
        "  1  one is not: it is named; or float32, in which differences tell nothing\n"
        "  2  an option cannot be used\n"
        "  4  writing failed; --torch: PyTorch could not be asked, and nothing was shown\n"
        "  5  out of memory\n",
    .defaults = defaults,
    .run = run,
};
