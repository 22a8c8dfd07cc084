/* options.c -- see options.h. */
#include "cli/options.h"
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

static vt_status set_value(const option_row *row, const char *text, void *field, vt_error *err)
{
    double real;
    switch (row->kind) {
    case OPTION_NAME:
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

vt_status options_int(const char *text, size_t n, const char *what, int low, int high, int *out,
                      vt_error *err)
{
    const option_row row = { .kind = OPTION_INT, .name = what, .low = low, .high = high };
    char copy[32];
    snprintf(copy, sizeof copy, "%.*s", (int)(n < sizeof copy ? n : sizeof copy), text);
    if (n >= sizeof copy) return refuse(&row, copy, err);       /* what is cut off counts too */
    return set_whole(&row, copy, out, err);
}

/* ---- words -------------------------------------------------------------- */

static size_t find_row(const command *c, const char *name, size_t n)
{
    for (size_t i = 0; i < c->nrows; i++)
        if (c->rows[i].kind != OPTION_GROUP && strlen(c->rows[i].name) == n &&
            memcmp(c->rows[i].name, name, n) == 0)
            return i;
    return c->nrows;
}

/* Letters to insert, delete or replace (Levenshtein), for names below 32. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    enum { LONGEST = 32 };
    size_t row[LONGEST + 1];
    if (na >= LONGEST || nb >= LONGEST) return LONGEST;
    for (size_t j = 0; j <= nb; j++) row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t least = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < least) least = row[j] + 1;
            if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = least;
        }
    }
    return row[nb];
}

static vt_status unknown(const command *c, const char *word, size_t n, vt_error *err)
{
    const char *nearest = NULL;
    size_t least = 3;                   /* two letters off, at most */
    for (size_t i = 0; i < c->nrows; i++) {
        if (c->rows[i].kind == OPTION_GROUP) continue;
        const size_t d = distance(word, n, c->rows[i].name, strlen(c->rows[i].name));
        if (d < least) {
            least = d;
            nearest = c->rows[i].name;
        }
    }
    if (nearest)
        return fail(err, VT_USAGE, "no option %.*s; is %s meant? (vitrine %s --help)", (int)n, word,
                    nearest, c->name);
    return fail(err, VT_USAGE, "no option %.*s (vitrine %s --help lists them)", (int)n, word,
                c->name);
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
    if (find_row(c, next, strcspn(next, "=")) < c->nrows)
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
    const size_t r = find_row(c, word, n);
    if (r == c->nrows) return unknown(c, word, n, err);
    const option_row *row = &c->rows[r];
    void *field = (char *)into + row->at;
    vt_status s;
    if (row->kind == OPTION_FLAG || row->kind == OPTION_OFF) {
        if (equals) return fail(err, VT_USAGE, "%s: takes no value", row->name);
        memcpy(field, &(bool){ row->kind == OPTION_FLAG }, sizeof(bool));
        read->given[r] = true;
        return VT_OK;
    }
    if (read->given[r]) return fail(err, VT_USAGE, "%s: given twice", row->name);
    if ((s = take_value(c, row, equals, argc, argv, i, &value, err))) return s;
    read->given[r] = true;
    return set_value(row, value, field, err);
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
    const size_t r = find_row(c, name, strlen(name));
    return r < c->nrows && read->given[r];
}

/* ---- help --------------------------------------------------------------- */

enum { HELP_COLUMN = 24, HELP_WIDTH = 80 };

/* A row's value in a struct of defaults, as it is written on a command line. */
static void value_text(char *out, size_t size, const option_row *row, const void *set)
{
    const char *field = (const char *)set + row->at;
    const char *text;
    int whole;
    long long wide;
    size_t count;
    uint64_t seed;
    double real;
    out[0] = 0;
    switch (row->kind) {
    case OPTION_TEXT: case OPTION_NAME:
        memcpy(&text, field, sizeof text);
        if (text) snprintf(out, size, "%s", text);
        break;
    case OPTION_INT:  memcpy(&whole, field, sizeof whole); snprintf(out, size, "%d", whole); break;
    case OPTION_LONG: memcpy(&wide, field, sizeof wide);   snprintf(out, size, "%lld", wide); break;
    case OPTION_SIZE: memcpy(&count, field, sizeof count); snprintf(out, size, "%zu", count); break;
    case OPTION_SEED:
        memcpy(&seed, field, sizeof seed);
        snprintf(out, size, "%llu", (unsigned long long)seed);
        break;
    case OPTION_REAL: memcpy(&real, field, sizeof real); snprintf(out, size, "%g", real); break;
    default: break;
    }
    /* A number that could not be given stands for its absence. */
    const bool number = row->kind >= OPTION_INT && row->kind != OPTION_SEED;
    if (number && strtod(out, NULL) < row->low) snprintf(out, size, "none");
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
    for (size_t i = 0; i < c->nrows; i++) {
        if (c->rows[i].kind == OPTION_GROUP) fprintf(out, "\n%s:\n", c->rows[i].name);
        else print_row(out, c, &c->rows[i]);
    }
    fprintf(out, "  -h, --help            this\n\nexamples:\n%s\nexit status:\n%s", c->examples,
            c->exits);
}
