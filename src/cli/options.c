/* options.c -- see options.h. */
#include "cli/options.h"
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/nearest.h"
#include "formats/json.h"

/* ---- numbers ------------------------------------------------------------ */

/* "a number from 1 to 5", "a whole number of 0 or more" */
static void range_text(char *out, size_t size, const option_row *row)
{
    const char *kind = row->kind == OPTION_REAL ? "a number" : "a whole number";
    if (row->kind == OPTION_SEED)
        snprintf(out, size, "%s from 0 to 18446744073709551615", kind);
    else if (row->high >= (row->kind == OPTION_REAL ? DBL_MAX : 1e12))
        snprintf(out, size, "%s, %.15g or more", kind, row->low);
    else
        snprintf(out, size, "%s from %.15g to %.15g", kind, row->low, row->high);
}

static vt_status refuse(const option_row *row, const char *text, vt_error *err)
{
    char range[120];
    range_text(range, sizeof range, row);
    return fail(err, VT_USAGE, "%s %.60s: expected %s", row->name, *text ? text : "''", range);
}

/* Digits only, with a minus before them where it can be told to be too low. */
static bool read_whole(const char *text, uint64_t *magnitude, bool *negative)
{
    *negative = *text == '-';
    const char *p = text + *negative;
    uint64_t value = 0;
    if (!*p) return false;
    for (; *p; p++) {
        if (*p < '0' || *p > '9') return false;
        const uint64_t digit = (uint64_t)(*p - '0');
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *magnitude = value;
    return true;
}

/* Decimal notation, finite, not rounded away to 0: what strtod takes beyond it
 * (blanks, hexadecimal, "nan", "inf") is refused.  The locale is C's. */
static bool read_real(const char *text, double *out)
{
    char *end;
    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text)) return false;
    errno = 0;
    *out = strtod(text, &end);
    return !*end && errno == 0 && isfinite(*out);
}

static vt_status set_whole(const option_row *row, const char *text, void *field, vt_error *err)
{
    uint64_t magnitude;
    bool negative;
    if (!read_whole(text, &magnitude, &negative)) return refuse(row, text, err);
    if (row->kind == OPTION_SEED) {
        if (negative) return refuse(row, text, err);
        memcpy(field, &magnitude, sizeof magnitude);
        return VT_OK;
    }
    /* The tables' bounds are below 2^53, so that a double holds them. */
    const double value = negative ? -(double)magnitude : (double)magnitude;
    if (!(value >= row->low && value <= row->high)) return refuse(row, text, err);
    const long long whole = negative ? -(long long)magnitude : (long long)magnitude;
    if (row->kind == OPTION_INT) memcpy(field, &(int){ (int)whole }, sizeof(int));
    else if (row->kind == OPTION_LONG) memcpy(field, &whole, sizeof whole);
    else memcpy(field, &(size_t){ (size_t)whole }, sizeof(size_t));
    return VT_OK;
}

/* ---- words of a set ------------------------------------------------------ */

const char *options_meant(char out[MEANT], const char *word, size_t n,
                          const char *(*at)(const void *set, size_t i), const void *set)
{
    size_t length;
    const char *near = nearest_word(word, n, at, set, &length);
    out[0] = 0;
    if (near) snprintf(out, MEANT, "; is %.*s meant?", (int)length, near);
    return out;
}

const char *option_choice(const command *c, const option_row *row, size_t i, size_t *n)
{
    const char *word = c->words ? c->words(row->name, i) : NULL;
    if (!word && !(c->words && c->words(row->name, 0))) {
        word = row->value;
        for (size_t k = 0; k < i && word; k++)
            if ((word = strchr(word, '|')) != NULL) word++;
    }
    if (word) *n = strcspn(word, "|");
    return word;
}

typedef struct choices {
    const command *c;
    const option_row *row;
} choices;

static const char *choice_at(const void *set, size_t i)
{
    const choices *of = set;
    size_t n;
    return option_choice(of->c, of->row, i, &n);
}

static vt_status check_choice(const command *c, const option_row *row, const char *text,
                              vt_error *err)
{
    char list[400] = "", meant[MEANT];
    const char *word;
    size_t n, used = 0;
    for (size_t i = 0; (word = option_choice(c, row, i, &n)) != NULL; i++) {
        if (strlen(text) == n && memcmp(text, word, n) == 0) return VT_OK;
        size_t after;
        const bool last = !option_choice(c, row, i + 1, &after);
        const int added = snprintf(list + used, sizeof list - used, "%s%.*s",
                                   i == 0 ? "" : last ? " or " : ", ", (int)n, word);
        if (added > 0 && (size_t)added < sizeof list - used) used += (size_t)added;
    }
    return fail(err, VT_USAGE, "%s%s%.60s: expected %s%s", row->name, row->name[0] ? " " : "",
                *text ? text : "''", list,
                options_meant(meant, text, strlen(text), choice_at, &(choices){ c, row }));
}

/* ---- a value ------------------------------------------------------------- */

static vt_status add_file(const option_row *row, const char *text, option_files *list,
                          vt_error *err)
{
    if (!*text) return fail(err, VT_USAGE, "%s: expected %s, found nothing", row->name, row->value);
    if (list->count == FILES_MOST)
        return fail(err, VT_USAGE, "%s: given more than %d times", row->name, FILES_MOST);
    list->paths[list->count++] = text;
    return VT_OK;
}

vt_status option_set(const command *c, const option_row *row, const char *text, void *field,
                     vt_error *err)
{
    double real;
    vt_status s;
    switch (row->kind) {
    case OPTION_CHOICE:
        if ((s = check_choice(c, row, text, err))) return s;
        memcpy(field, &text, sizeof text);
        return VT_OK;
    case OPTION_FILES:
        return add_file(row, text, field, err);
    case OPTION_NAME: case OPTION_FILE: case OPTION_FOLDER:
        if (!*text) return fail(err, VT_USAGE, "%s: expected %s, found nothing", row->name,
                                row->value);
        /* fall through */
    case OPTION_TEXT:
        memcpy(field, &text, sizeof text);
        return VT_OK;
    case OPTION_REAL:
        if (!read_real(text, &real) || !(real >= row->low && real <= row->high))
            return refuse(row, text, err);
        memcpy(field, &real, sizeof real);
        return VT_OK;
    default:
        return set_whole(row, text, field, err);
    }
}

bool option_number(char out[OPTION_NUMBER], const option_row *row, const void *set)
{
    const char *field = (const char *)set + row->at;
    double value = 0;
    switch (row->kind) {
    case OPTION_INT: {
        int whole;
        memcpy(&whole, field, sizeof whole);
        snprintf(out, OPTION_NUMBER, "%d", whole);
        value = whole;
        break;
    }
    case OPTION_LONG: {
        long long whole;
        memcpy(&whole, field, sizeof whole);
        snprintf(out, OPTION_NUMBER, "%lld", whole);
        value = (double)whole;
        break;
    }
    case OPTION_SIZE: {
        size_t whole;
        memcpy(&whole, field, sizeof whole);
        snprintf(out, OPTION_NUMBER, "%zu", whole);
        value = (double)whole;
        break;
    }
    case OPTION_SEED: {
        uint64_t whole;
        memcpy(&whole, field, sizeof whole);
        snprintf(out, OPTION_NUMBER, "%llu", (unsigned long long)whole);
        return true;
    }
    case OPTION_REAL:
        memcpy(&value, field, sizeof value);
        js_format_number(out, value);
        break;
    default: return false;
    }
    return value >= row->low && value <= row->high;
}

vt_status options_int(const char *text, size_t n, const char *what, int low, int high, int *out,
                      vt_error *err)
{
    const option_row row = { .kind = OPTION_INT, .name = what, .low = low, .high = high };
    char copy[32];
    snprintf(copy, sizeof copy, "%.*s", (int)(n < sizeof copy ? n : sizeof copy), text);
    if (n >= sizeof copy) return refuse(&row, copy, err);       /* what is cut off counts too */
    return set_whole(&row, copy, out, err);
}

/* ---- words of a command -------------------------------------------------------------- */

size_t options_find(const command *c, const char *name, size_t n)
{
    for (size_t i = 0; i < c->nrows; i++)
        if (!option_is_heading(&c->rows[i]) && strlen(c->rows[i].name) == n &&
            memcmp(c->rows[i].name, name, n) == 0)
            return i;
    return c->nrows;
}

static const char *name_at(const void *set, size_t i)
{
    const command *c = set;
    size_t names = 0;
    for (size_t r = 0; r < c->nrows; r++)
        if (!option_is_heading(&c->rows[r]) && names++ == i) return c->rows[r].name;
    return NULL;
}

static vt_status unknown(const command *c, const char *word, size_t n, vt_error *err)
{
    char meant[MEANT];
    options_meant(meant, word, n, name_at, c);
    return fail(err, VT_USAGE, "no option %.*s%s (vitrine %s --help%s)", (int)n, word, meant, c->name,
                *meant ? "" : " lists them");
}

/* The value of a row: behind `=`, or the next word, unless that is one of the
 * command's own options: then the value was forgotten. */
static vt_status take_value(const command *c, const option_row *row, const char *equals, int argc,
                            char **argv, int *i, const char **out, vt_error *err)
{
    if (equals) {
        *out = equals + 1;
        return VT_OK;
    }
    if (*i + 1 >= argc)
        return fail(err, VT_USAGE, "%s: expected a value: %s %s", row->name, row->name, row->value);
    const char *next = argv[*i + 1];
    if (options_find(c, next, strcspn(next, "=")) < c->nrows)
        return fail(err, VT_USAGE, "%s: expected a value, found the option %s (as a value: %s=%s)",
                    row->name, next, row->name, next);
    ++*i;
    *out = next;
    return VT_OK;
}

static vt_status take_option(const command *c, int argc, char **argv, int *i, void *into,
                             options_read *read, vt_error *err)
{
    const char *word = argv[*i], *equals = strchr(word, '='), *value = "";
    const size_t n = equals ? (size_t)(equals - word) : strlen(word);
    const size_t r = options_find(c, word, n);
    if (r == c->nrows) return unknown(c, word, n, err);
    const option_row *row = &c->rows[r];
    void *field = (char *)into + row->at;
    vt_status s;
    if (row->kind == OPTION_FLAG || row->kind == OPTION_OFF) {
        if (equals) return fail(err, VT_USAGE, "%s: takes no value", row->name);
        const bool on = row->kind == OPTION_FLAG;
        memcpy(field, &on, sizeof on);
        read->given[r] = true;
        return VT_OK;
    }
    if (row->kind == OPTION_FILES && !read->given[r]) ((option_files *)field)->count = 0;
    if (row->kind != OPTION_FILES && read->given[r])
        return fail(err, VT_USAGE, "%s: given twice", row->name);
    if ((s = take_value(c, row, equals, argc, argv, i, &value, err))) return s;
    read->given[r] = true;
    return option_set(c, row, value, field, err);
}

static vt_status take_operand(const command *c, const char *word, options_read *read,
                              vt_error *err)
{
    if (read->noperands == c->operands)
        return fail(err, VT_USAGE, "'%.200s' is one argument too many (vitrine %s --help)", word,
                    c->name);
    read->operands[read->noperands++] = word;
    return VT_OK;
}

vt_status options_parse(const command *c, int argc, char **argv, void *into, options_read *out,
                        vt_error *err)
{
    bool only_operands = false;
    vt_status s = VT_OK;
    *out = (options_read){ .noperands = 0 };
    for (int i = 0; i < argc && s == VT_OK; i++) {
        const char *word = argv[i];
        if (only_operands || word[0] != '-' || word[1] == 0) {
            s = take_operand(c, word, out, err);
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            out->help = true;
            return VT_OK;
        } else {
            s = take_option(c, argc, argv, &i, into, out, err);
        }
    }
    return s;
}

bool options_given(const command *c, const options_read *read, const char *name)
{
    const size_t r = options_find(c, name, strlen(name));
    return r < c->nrows && read->given[r];
}

/* ---- help --------------------------------------------------------------- */

enum { HELP_COLUMN = 24, HELP_WIDTH = 80 };

/* A row's value in a struct of defaults, as it is written on a command line. */
static void value_text(char *out, size_t size, const option_row *row, const void *set)
{
    const char *text;
    char number[OPTION_NUMBER];
    out[0] = 0;
    switch (row->kind) {
    case OPTION_TEXT: case OPTION_NAME: case OPTION_FILE: case OPTION_FOLDER: case OPTION_CHOICE:
        memcpy(&text, (const char *)set + row->at, sizeof text);
        if (text) snprintf(out, size, "%s", text);
        break;
    case OPTION_INT: case OPTION_LONG: case OPTION_SIZE: case OPTION_SEED: case OPTION_REAL:
        snprintf(out, size, "%s", option_number(number, row, set) ? number : "none");
        break;
    default: break;
    }
}

/* "[0.8]", or where presets differ "[tiny 16, default 128]". */
static void print_defaults(FILE *out, const command *c, const option_row *row, size_t column)
{
    char first[64], text[64], all[200] = "";
    const char *label;
    const void *set;
    bool same = true;
    if (!c->defaults || !(set = c->defaults(0, &label))) return;
    value_text(first, sizeof first, row, set);
    for (int i = 0; (set = c->defaults(i, &label)) != NULL; i++) {
        const size_t n = strlen(all);
        value_text(text, sizeof text, row, set);
        if (strcmp(text, first) != 0) same = false;
        snprintf(all + n, sizeof all - n, "%s%s %s", i ? ", " : "", label, text);
    }
    const char *shown = same ? first : all;
    if (!*shown || strcmp(shown, "none") == 0) return;
    const bool fits = column + strlen(shown) + 3 <= HELP_WIDTH;
    if (fits) fprintf(out, " [%s]", shown);
    else fprintf(out, "\n%*s[%s]", HELP_COLUMN, "", shown);
}

static void print_row(FILE *out, const command *c, const option_row *row)
{
    char head[80];
    int n = snprintf(head, sizeof head, "  %s%s%s", row->name, row->value ? " " : "",
                     row->value ? row->value : "");
    fputs(head, out);
    if (n >= HELP_COLUMN - 1) {
        fputc('\n', out);
        n = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - n, "");
    size_t last = 0;                        /* length of the last line */
    for (const char *p = row->help; *p; p++) {
        fputc(*p, out);
        last++;
        if (*p == '\n') {
            fprintf(out, "%*s", HELP_COLUMN, "");
            last = 0;
        }
    }
    print_defaults(out, c, row, HELP_COLUMN + last);
    fputc('\n', out);
}

void options_help(FILE *out, const command *c)
{
    fprintf(out, "usage: %s\n\n%s\n", c->usage, c->about);
    if (c->nrows == 0) fputs("\noptions:\n", out);
    for (size_t i = 0; i < c->nrows; i++) {
        if (option_is_heading(&c->rows[i])) fprintf(out, "\n%s:\n", c->rows[i].name);
        else print_row(out, c, &c->rows[i]);
    }
    fprintf(out, "  -h, --help            this\n\nexamples:\n%s\nexit status:\n%s", c->examples,
            c->exits);
}
