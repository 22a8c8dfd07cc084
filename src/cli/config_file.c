/* config_file.c -- see config_file.h.
 *
 * The text is cut where it lies: each value ends in a NUL, and an escape is never
 * longer than what it stands for.  Values are read when they are applied, so that the
 * file can be applied twice: once to find what the run stands on, then over that.
 */
#include "cli/config_file.h"
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/utf8.h"
#include "cli/cli.h"

static const size_t most_bytes = (size_t)1 << 20;

/* ---- keys ---------------------------------------------------------------- */

/* Whether the row is a key, and not of one call, or the counterpart of a flag. */
static bool is_key(const command *c, size_t r)
{
    bool call = false;
    for (size_t i = 0; i < r; i++)
        if (option_is_heading(&c->rows[i])) call = c->rows[i].kind == OPTION_CALL_GROUP;
    return !call && !option_is_heading(&c->rows[r]) && c->rows[r].kind != OPTION_OFF;
}

static const char *key_at(const void *set, size_t i)
{
    const command *c = set;
    size_t keys = 0;
    for (size_t r = 0; r < c->nrows; r++)
        if (is_key(c, r) && keys++ == i) return c->rows[r].name + 2;
    return NULL;
}

/* The flag that an OPTION_OFF turns off. */
static const option_row *flag_of(const command *c, const option_row *off)
{
    for (size_t r = 0; r < c->nrows; r++)
        if (c->rows[r].kind == OPTION_FLAG && c->rows[r].at == off->at) return &c->rows[r];
    return off;
}

static size_t find_key(const command *c, const char *key)
{
    char name[64];
    const int n = snprintf(name, sizeof name, "--%s", key);
    return n < (int)sizeof name ? options_find(c, name, (size_t)n) : c->nrows;
}

static vt_status no_key(const config_file *f, const command *c, size_t line, const char *key,
                        vt_error *err)
{
    const size_t r = find_key(c, key);
    char meant[MEANT];
    if (r < c->nrows && c->rows[r].kind == OPTION_OFF)
        return fail(err, VT_BAD_INPUT, "%s:%zu: %s: expected %s = false", f->path, line, key,
                    flag_of(c, &c->rows[r])->name + 2);
    if (r < c->nrows)
        return fail(err, VT_BAD_INPUT, "%s:%zu: %s: is of one call, expected on the command line",
                    f->path, line, key);
    for (size_t i = 0; i < cli_ncommands; i++)
        if (find_key(cli_commands[i], key) < cli_commands[i]->nrows)
            return fail(err, VT_BAD_INPUT, "%s:%zu: %.60s: is an option of vitrine %s, expected one "
                        "of vitrine %s", f->path, line, key, cli_commands[i]->name, c->name);
    options_meant(meant, key, strlen(key), key_at, c);
    return fail(err, VT_BAD_INPUT, "%s:%zu: no key %.60s%s (vitrine %s --print-config has them all)",
                f->path, line, *key ? key : "''", meant, c->name);
}

/* ---- lines --------------------------------------------------------------- */

static bool blank(char c) { return c == ' ' || c == '\t'; }

static char *skip_blanks(char *p)
{
    while (blank(*p)) p++;
    return p;
}

static int hex(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* One escape behind its backslash, *used bytes of it; 0: none. */
static char escaped(const char *p, size_t *used)
{
    static const char names[] = "\"\\ntr", bytes_of[] = "\"\\\n\t\r";
    const char *at = *p ? strchr(names, *p) : NULL;
    *used = 1;
    if (at) return bytes_of[at - names];
    if (*p != 'x' || hex(p[1]) < 0 || hex(p[2]) < 0) return 0;
    *used = 3;
    return (char)(unsigned char)(hex(p[1]) * 16 + hex(p[2]));
}

/* The value between quotes, p behind the first; NULL, or what was expected. */
static const char *take_quoted(char *p)
{
    char *to = p;
    while (*p && *p != '"') {
        size_t used = 0;
        char byte = *p;
        if (byte == '\\' && !(byte = escaped(p + 1, &used)))
            return p[1] == 'x' && p[2] == '0' && p[3] == '0'
                ? "\\x00 ends a text: expected \\x01 to \\xFF"
                : "expected one of \\\" \\\\ \\n \\t \\r \\xHH behind the backslash";
        *to++ = byte;
        p += 1 + used;
    }
    if (!*p) return "expected a closing quote on the line";
    p = skip_blanks(p + 1);
    if (*p && *p != '#') return "expected nothing behind the closing quote";
    *to = 0;
    return NULL;
}

/* Cuts the comment and the blanks behind a value that is not quoted. */
static void cut_bare(char *p)
{
    char *end = p;
    while (*end && !(*end == '#' && blank(end[-1]))) end++;
    while (end > p && blank(end[-1])) end--;
    *end = 0;
}

static vt_status take_value(const config_file *f, config_entry *e, const char *key, char *p,
                            vt_error *err)
{
    const char *wrong = NULL;
    p = skip_blanks(p);
    if (*p == '"') wrong = take_quoted(++p);
    else if (*p == '#' || !*p) wrong = "expected a value (\"\" is an empty text)";
    else cut_bare(p);
    e->value = p;
    return wrong ? fail(err, VT_BAD_INPUT, "%s:%zu: %.60s: %s", f->path, e->line, key, wrong) : VT_OK;
}

/* A line, which ends in a NUL: an entry, or nothing. */
static vt_status take_line(config_file *f, const command *c, char *p, size_t line, vt_error *err)
{
    p = skip_blanks(p);
    if (!*p || *p == '#') return VT_OK;
    char *equals = strchr(p, '='), *end = equals;
    if (!equals)
        return fail(err, VT_BAD_INPUT, "%s:%zu: '%.60s': expected key = value, or a comment behind #",
                    f->path, line, p);
    while (end > p && blank(end[-1])) end--;
    *end = 0;
    const size_t r = find_key(c, p);
    if (r == c->nrows || !is_key(c, r)) return no_key(f, c, line, p, err);
    for (size_t i = 0; i < f->n && c->rows[r].kind != OPTION_FILES; i++)
        if (f->entries[i].row == r)
            return fail(err, VT_BAD_INPUT, "%s:%zu: %s: given twice, first in line %zu", f->path, line,
                        p, f->entries[i].line);
    config_entry *e = &f->entries[f->n++];
    *e = (config_entry){ .row = r, .line = line };
    return take_value(f, e, p, equals + 1, err);
}

/* Whole file: UTF-8, no NUL. */
static vt_status check_text(const config_file *f, vt_error *err)
{
    const unsigned char *text = f->text.data, *nul = memchr(text, 0, f->text.len);
    const size_t bad = utf8_first_bad(text, f->text.len);
    const size_t at = nul && (size_t)(nul - text) < bad ? (size_t)(nul - text) : bad;
    size_t line = 1;
    if (at == f->text.len) return VT_OK;
    for (size_t i = 0; i < at; i++) line += text[i] == '\n';
    return fail(err, VT_BAD_INPUT, "%s:%zu: byte %zu of the file: expected UTF-8, found 0x%02X",
                f->path, line, at, text[at]);
}

static vt_status take_lines(config_file *f, const command *c, vt_error *err)
{
    char *p = (char *)f->text.data, *end = p + f->text.len, *newline;
    size_t lines = 1, size;
    vt_status s = VT_OK;
    for (size_t i = 0; i < f->text.len; i++) lines += p[i] == '\n';
    if (!size_mul(lines, sizeof *f->entries, &size) || !(f->entries = malloc(size)))
        return fail_memory(err, size, "the lines of a configuration");
    if (f->text.len >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) p += 3;
    for (size_t line = 1; p < end && s == VT_OK; line++, p = newline + 1) {
        if (!(newline = memchr(p, '\n', (size_t)(end - p)))) newline = end;
        *newline = 0;
        if (newline > p && newline[-1] == '\r') newline[-1] = 0;
        s = take_line(f, c, p, line, err);
    }
    return s;
}

vt_status config_read(config_file *f, const command *c, const char *path, vt_error *err)
{
    *f = (config_file){ .path = path };
    vt_status s = io_read_written(&f->text, path, most_bytes, err);
    if (s == VT_OK) s = check_text(f, err);
    if (s == VT_OK) s = take_lines(f, c, err);
    if (s) config_free(f);
    return s;
}

void config_free(config_file *f)
{
    bytes_free(&f->text);
    free(f->entries);
    *f = (config_file){ .path = NULL };
}

/* ---- into a struct ------------------------------------------------------- */

static vt_status set_flag(const config_file *f, const config_entry *e, const option_row *row,
                          void *field, vt_error *err)
{
    const bool yes = strcmp(e->value, "true") == 0;
    if (!yes && strcmp(e->value, "false") != 0)
        return fail(err, VT_BAD_INPUT, "%s:%zu: %s = %.60s: expected true or false", f->path, e->line,
                    row->name + 2, e->value);
    *(bool *)field = yes;
    return VT_OK;
}

vt_status config_apply(const config_file *f, const command *c, void *into, options_read *out,
                       vt_error *err)
{
    *out = (options_read){ .noperands = 0 };
    for (size_t i = 0; i < f->n; i++) {
        const config_entry *e = &f->entries[i];
        const option_row *row = &c->rows[e->row];
        void *field = (char *)into + row->at;
        vt_error why;
        if (row->kind == OPTION_FLAG) {
            const vt_status s = set_flag(f, e, row, field, err);
            if (s) return s;
        } else {
            if (row->kind == OPTION_FILES && !out->given[e->row]) ((option_files *)field)->count = 0;
            if (option_set(c, row, e->value, field, &why))
                return fail(err, VT_BAD_INPUT, "%s:%zu: %s", f->path, e->line, why.text);
        }
        out->given[e->row] = true;
    }
    return VT_OK;
}

/* Where the line shows the entry as an option with its value; NULL: nowhere. */
static const char *shown(const vt_error *err, const command *c, const config_entry *e)
{
    char words[120];
    const int n = snprintf(words, sizeof words, "%s %s", c->rows[e->row].name, e->value);
    if (n >= (int)sizeof words) return NULL;
    const char *at = strstr(err->text, words);
    const char end = at ? at[n] : 0;
    return at && (!end || end == ' ' || end == ':' || end == ',') ? at : NULL;
}

vt_status config_blame(const config_file *f, const command *c, vt_status s, vt_error *err)
{
    const config_entry *first = NULL;
    const char *where = NULL;
    for (size_t i = 0; i < f->n && s == VT_USAGE; i++) {
        const char *at = shown(err, c, &f->entries[i]);
        if (!at || (where && at >= where)) continue;
        where = at;
        first = &f->entries[i];
    }
    if (!first) return s;
    const vt_error why = *err;
    return fail(err, VT_BAD_INPUT, "%s:%zu: %s", f->path, first->line, why.text);
}

/* ---- and back ------------------------------------------------------------ */

static vt_status append_quoted(bytes *out, const char *text, vt_error *err)
{
    static const char names[] = "\"\\ntr", bytes_of[] = "\"\\\n\t\r";
    const unsigned char *p = (const unsigned char *)text;
    size_t left = strlen(text);
    vt_status s = bytes_append(out, "\"", 1, err);
    while (left > 0 && s == VT_OK) {
        size_t n = 1;
        uint32_t cp;
        const char *at = strchr(bytes_of, (char)*p);
        if (at) s = bytes_printf(out, err, "\\%c", names[at - bytes_of]);
        else if ((n = utf8_decode(p, left, &cp)) > 0 && utf8_is_shown(cp)) s = bytes_append(out, p, n, err);
        else if ((n = 1)) s = bytes_printf(out, err, "\\x%02x", (unsigned)*p);
        p += n;
        left -= n;
    }
    return s ? s : bytes_append(out, "\"", 1, err);
}

static vt_status append_text(bytes *out, const char *key, const char *text, vt_error *err)
{
    vt_status s = bytes_printf(out, err, "%s = ", key);
    if (s == VT_OK) s = append_quoted(out, text, err);
    return s ? s : bytes_append(out, "\n", 1, err);
}

static vt_status append_row(bytes *out, const option_row *row, const void *set, vt_error *err)
{
    const char *key = row->name + 2, *field = (const char *)set + row->at, *text;
    const option_files *list = (const void *)field;
    char number[OPTION_NUMBER];
    vt_status s = VT_OK;
    bool flag;
    switch (row->kind) {
    case OPTION_FLAG:
        memcpy(&flag, field, sizeof flag);
        return bytes_printf(out, err, "%s = %s\n", key, flag ? "true" : "false");
    case OPTION_FILES:
        for (size_t i = 0; i < list->count && s == VT_OK; i++) s = append_text(out, key, list->paths[i], err);
        if (s || list->count) return s;
        break;
    case OPTION_TEXT: case OPTION_NAME: case OPTION_FILE: case OPTION_FOLDER: case OPTION_CHOICE:
        memcpy(&text, field, sizeof text);
        if (text) return append_text(out, key, text, err);
        break;
    default:
        if (option_number(number, row, set)) return bytes_printf(out, err, "%s = %s\n", key, number);
    }
    return bytes_printf(out, err, "# %s = %s\n", key, row->value);
}

vt_status config_text(bytes *out, const command *c, const void *set, vt_error *err)
{
    vt_status s = VT_OK;
    for (size_t r = 0; r < c->nrows && s == VT_OK; r++) {
        if (c->rows[r].kind == OPTION_GROUP)
            s = bytes_printf(out, err, "%s# %s\n", r ? "\n" : "", c->rows[r].name);
        else if (is_key(c, r)) s = append_row(out, &c->rows[r], set, err);
    }
    return s;
}
