/* cmd_tokenize.c -- vitrine tokenize: text to ids, ids to text. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/piece_text.h"
#include "cli/cli.h"

typedef struct tokenize_args {
    const char *text, *ids;
    bool json;
} tokenize_args;

#define AT(field) offsetof(tokenize_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "options", 0, NULL, 0, 0, NULL },
    { OPTION_TEXT, "--text", AT(text), "TEXT", 0, 0, "any bytes" },
    { OPTION_NAME, "--ids", AT(ids), "N,N,...", 0, 0, "the other way: ids to text" },
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0,
      "one JSON object: ids, pieces (as text; what is no\nUTF-8 as U+FFFD), bytes (of each piece, in\n"
      "hexadecimal), text" },
};

typedef struct tokens { int *ids; size_t n; } tokens;

static vt_status parse_ids(const vt_model *m, const char *list, tokens *out, vt_error *err)
{
    vt_info_data info;
    vt_info(m, &info);
    size_t count = 1;
    for (const char *p = list; *p; p++) count += *p == ',';
    out->ids = malloc(count * sizeof *out->ids);
    if (!out->ids) return fail_memory(err, count * sizeof *out->ids, "the ids");
    for (const char *p = list;; p++) {
        const size_t n = strcspn(p, ",");
        const vt_status s = options_int(p, n, "--ids", 0, info.vocabulary - 1,
                                        &out->ids[out->n], err);
        if (s) return s;
        out->n++;
        p += n;
        if (!*p) return VT_OK;
    }
}

static vt_status print_table(const vt_model *m, const tokens *t, vt_error *err)
{
    bytes text = { 0 };
    vt_status s = VT_OK;
    for (size_t i = 0; i < t->n && s == VT_OK; i++) {
        size_t n;
        const unsigned char *p = vt_piece(m, t->ids[i], &n);
        text.len = 0;
        if ((s = piece_text(&text, p, n, err))) break;
        printf("%6d  ", t->ids[i]);
        fwrite(text.data, 1, text.len, stdout);
        putchar('\n');
    }
    bytes_free(&text);
    if (s) return s;
    printf("%zu token%s\n", t->n, t->n == 1 ? "" : "s");
    return cli_flush(err);
}

static vt_status join(const vt_model *m, const tokens *t, bytes *out, vt_error *err)
{
    vt_status s = bytes_append(out, "", 0, err);
    for (size_t i = 0; i < t->n && s == VT_OK; i++) {
        size_t n;
        const unsigned char *p = vt_piece(m, t->ids[i], &n);
        s = bytes_append(out, p, n, err);
    }
    return s;
}

static void json_hex(js_writer *w, const unsigned char *p, size_t n)
{
    bytes hex = { 0 };
    for (size_t i = 0; i < n && w->status == VT_OK; i++)
        w->status = bytes_printf(&hex, &w->error, "%02x", p[i]);
    js_text(w, hex.data, hex.len);
    bytes_free(&hex);
}

static vt_status print_json(const vt_model *m, const tokens *t, const bytes *text, vt_error *err)
{
    bytes out = { 0 };
    js_writer w;
    js_begin(&w, &out, JS_LINE);
    js_open_object(&w);
    js_field_uint(&w, "count", t->n);
    js_key(&w, "ids");
    js_open_array(&w);
    for (size_t i = 0; i < t->n; i++) js_int(&w, t->ids[i]);
    js_close_array(&w);
    for (int raw = 0; raw < 2; raw++) {
        js_key(&w, raw ? "bytes" : "pieces");
        js_open_array(&w);
        for (size_t i = 0; i < t->n; i++) {
            size_t n;
            const unsigned char *p = vt_piece(m, t->ids[i], &n);
            if (raw) json_hex(&w, p, n);
            else js_text(&w, p, n);
        }
        js_close_array(&w);
    }
    js_key(&w, "text");
    js_text(&w, text->data, text->len);
    js_close_object(&w);
    const vt_status s = cli_print_json(&w, &out, err);
    bytes_free(&out);
    return s;
}

static vt_status answer(const tokenize_args *a, const vt_model *m, const bytes *asked,
                        vt_error *err)
{
    tokens t = { .ids = NULL };
    bytes text = { 0 };
    vt_status s = a->ids ? parse_ids(m, a->ids, &t, err)
                         : vt_tokenize(m, asked->data, asked->len, &t.ids, &t.n, err);
    if (s || (s = join(m, &t, &text, err))) goto done;
    if (a->json) {
        s = print_json(m, &t, &text, err);
    } else if (a->ids) {
        fwrite(text.data, 1, text.len, stdout);
        if (cli_terminal(stdout)) putchar('\n');
        s = cli_flush(err);
    } else {
        s = print_table(m, &t, err);
    }
done:
    free(t.ids);
    bytes_free(&text);
    return s;
}

/* Exactly one of --text, --ids and the operand `-`. */
static vt_status read_text(const tokenize_args *a, const options_read *read, bytes *text,
                           vt_error *err)
{
    const bool from_input = read->noperands == 2;
    if (from_input && strcmp(read->operands[1], "-") != 0)
        return fail(err, VT_USAGE, "'%.200s': expected - for standard input, or --text",
                    read->operands[1]);
    if ((a->text != NULL) + (a->ids != NULL) + from_input != 1)
        return fail(err, VT_USAGE, "expected one of --text TEXT, --ids N,N,... and - (standard "
                    "input)");
    if (from_input) return cli_read(text, "-", err);
    return bytes_append(text, a->text ? a->text : "", a->text ? strlen(a->text) : 0, err);
}

static int run(const command *c, int argc, char **argv)
{
    tokenize_args a = { .text = NULL };
    options_read read;
    vt_error err;
    vt_model *m = NULL;
    bytes text = { 0 };
    int code;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    const char *folder = cli_folder(c, &read, &err);
    vt_status s = folder ? read_text(&a, &read, &text, &err) : VT_USAGE;
    if (s == VT_OK && (s = vt_model_open(&m, folder, 1, NULL, &err)) == VT_OK)
        s = answer(&a, m, &text, &err);
    if (s) cli_error(c, s, &err);
    vt_model_close(m);
    bytes_free(&text);
    return (int)s;
}

const command cmd_tokenize = {
    .name = "tokenize",
    .summary = "shows the tokens of a text",
    .usage = "vitrine tokenize DIR (--text TEXT | --ids N,N,... | -) [--json]",
    .about = "Prints the ids of a text and the piece that each stands for, or, with --ids, the\n"
             "bytes that ids stand for.  - reads the text from standard input.  What a user\n"
             "types is text: also \"<|endoftext|>\" becomes ordinary tokens.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = 2, .operand = OPTION_FOLDER,
    .examples =
        "  vitrine tokenize model --text \"It was a truth\"\n"
        "  vitrine tokenize model --text \"It was a truth\" --json\n"
        "  vitrine tokenize model --ids 73,116\n"
        "  vitrine tokenize model - --json < book.txt\n",
    .exits =
        "  0  written\n"
        "  2  an option or id cannot be used\n"
        "  3  the model is not what it should be\n"
        "  4  reading or writing failed\n"
        "  5  sizes exceed memory\n",
    .run = run,
};
