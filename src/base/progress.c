/* progress.c -- see progress.h.
 *
 * The bar's fields have a fixed width, so that the line does not jump; each has
 * a rank, and the narrower the terminal, the fewer ranks are shown.
 */
#include "base/progress.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void progress_duration(char *out, size_t size, double seconds)
{
    if (!(seconds >= 0) || seconds > 1e9) {
        snprintf(out, size, "-");
        return;
    }
    if (seconds < 9.95) {
        snprintf(out, size, "%.1f s", seconds);
        return;
    }
    const unsigned long s = (unsigned long)(seconds + 0.5);
    if (s < 60) snprintf(out, size, "%lu s", s);
    else if (s < 3600) snprintf(out, size, "%lu min %02lu s", s / 60, s % 60);
    else if (s < 86400) snprintf(out, size, "%lu h %02lu min", s / 3600, s / 60 % 60);
    else snprintf(out, size, "%lu d %02lu h", s / 86400, s / 3600 % 24);
}

void progress_count(char *out, size_t size, double count)
{
    /* Each limit is where the rounded text would need one digit more. */
    if (!(count >= 0) || count > 1e21) snprintf(out, size, "-");
    else if (count < 999.5) snprintf(out, size, "%.0f", count);
    else if (count < 99950) snprintf(out, size, "%.1fk", count / 1e3);
    else if (count < 999500) snprintf(out, size, "%.0fk", count / 1e3);
    else if (count < 99.95e6) snprintf(out, size, "%.2fM", count / 1e6);
    else if (count < 999.5e6) snprintf(out, size, "%.0fM", count / 1e6);
    else if (count < 999.95e9) snprintf(out, size, "%.1fG", count / 1e9);
    else if (count < 999.95e12) snprintf(out, size, "%.1fT", count / 1e12);
    else if (count < 999.95e15) snprintf(out, size, "%.1fP", count / 1e15);
    else snprintf(out, size, "%.1fE", count / 1e18);
}

void progress_bytes(char *out, size_t size, double n)
{
    char count[24];
    progress_count(count, sizeof count, n);
    const size_t length = strlen(count);
    const char unit = count[length - 1];        /* a digit, "-", or k, M, G ... */
    if (unit == '-') snprintf(out, size, "-");
    else if (unit >= '0' && unit <= '9')
        snprintf(out, size, "%s byte%s", count, strcmp(count, "1") == 0 ? "" : "s");
    else snprintf(out, size, "%.*s %cB", (int)length - 1, count, unit);
}

/* Losses and norms: four decimals while they are of an ordinary size. */
static void number(char *out, size_t size, double x)
{
    if (isnan(x)) snprintf(out, size, "-");
    else if (fabs(x) < 999.99995) snprintf(out, size, "%.4f", x);
    else snprintf(out, size, "%.2e", x);
}

enum { NAMES = 7, FIELD = 48 };
typedef struct fields { char text[NAMES][FIELD]; } fields;
enum { STEP, LOSS, VAL, LR, GRAD, SPEED, LEFT };

static void make_fields(fields *f, const progress *p)
{
    char loss[24], val[24], norm[24], speed[24], left[32], lr[24];
    number(loss, sizeof loss, p->loss);
    number(val, sizeof val, p->val_loss);
    number(norm, sizeof norm, p->grad_norm);
    progress_count(speed, sizeof speed, p->tokens_per_s);
    progress_duration(left, sizeof left, p->seconds_left);
    if (isnan(p->lr)) snprintf(lr, sizeof lr, "-");
    else snprintf(lr, sizeof lr, "%.2e", p->lr);
    char steps[24];
    const int digits = snprintf(steps, sizeof steps, "%zu", p->steps);
    snprintf(f->text[STEP], FIELD, "%*zu/%s", digits, p->step, steps);
    snprintf(f->text[LOSS], FIELD, "loss %-6s", loss);
    snprintf(f->text[VAL], FIELD, "val %-6s", val);
    snprintf(f->text[LR], FIELD, "lr %-8s", lr);
    snprintf(f->text[GRAD], FIELD, "grad %-6s", norm);
    snprintf(f->text[SPEED], FIELD, "%5s tok/s", speed);
    snprintf(f->text[LEFT], FIELD, "%11s left", left);
}

/* Adds text to a line that is never full: PROGRESS_BYTES holds 250 columns of
 * three bytes. */
static void add(char *out, size_t *at, const char *text)
{
    const size_t n = strlen(text);
    if (n >= PROGRESS_BYTES - *at) return;
    memcpy(out + *at, text, n + 1);
    *at += n;
}

static void pad(char *out, size_t *at, size_t n)
{
    for (size_t i = 0; i < n; i++) add(out, at, " ");
}

/* `columns` of bar, the ends not counted, `done` of 1 filled. */
static void add_bar(char *out, size_t *at, size_t columns, double done, bool utf8)
{
    const size_t parts = utf8 ? 8 : 1;      /* a column is filled in eighths */
    const size_t filled = (size_t)(done * (double)(columns * parts));
    add(out, at, utf8 ? "\xE2\x96\x95" : "[");          /* right one eighth block */
    for (size_t i = 0; i < columns; i++) {
        const size_t before = i * parts;
        const size_t here = filled <= before ? 0 : filled - before;
        if (here >= parts) {
            add(out, at, utf8 ? "\xE2\x96\x88" : "#");  /* full block */
        } else if (here > 0) {                          /* left n eighths block */
            const char block[4] = { '\xE2', '\x96', (char)(0x90 - (int)here), 0 };
            add(out, at, block);
        } else {
            add(out, at, " ");
        }
    }
    add(out, at, utf8 ? "\xE2\x96\x8F" : "]");          /* left one eighth block */
}

static double fraction(const progress *p)
{
    if (p->step >= p->steps) return 1;
    return (double)p->step / (double)p->steps;
}

void progress_bar(char out[PROGRESS_BYTES], const progress *p, size_t width, bool utf8)
{
    /* The last to stay comes first. */
    static const int order[NAMES] = { STEP, LOSS, LEFT, SPEED, VAL, LR, GRAD };
    enum { LEAST_BAR = 6, MOST_BAR = 42, PERCENT = 5 };     /* ends; " 100%" */
    if (width > 250) width = 250;
    fields f;
    make_fields(&f, p);
    bool shown[NAMES] = { false };
    size_t used = 0, at = 0;
    for (int k = 0; k < NAMES; k++) {
        const size_t n = strlen(f.text[order[k]]) + (k > 0 ? 2 : 0);
        /* From the second field on, there is a bar between; the percentage
         * where there is room: numbers go first. */
        const size_t rest = k > 0 ? LEAST_BAR + 2 : 0;
        if (used + n + rest > width) break;
        shown[order[k]] = true;
        used += n;
    }
    out[0] = 0;
    if (shown[STEP]) {
        add(out, &at, f.text[STEP]);
        if (used + LEAST_BAR + 2 <= width) {
            char percent[16] = "";
            if (used + LEAST_BAR + 2 + PERCENT <= width)
                snprintf(percent, sizeof percent, " %3d%%", (int)(100 * fraction(p)));
            size_t bar = width - used - 2 - strlen(percent);
            if (bar > MOST_BAR) bar = MOST_BAR;
            add(out, &at, "  ");
            add_bar(out, &at, bar - 2, fraction(p), utf8);
            add(out, &at, percent);
            used += 2 + bar + strlen(percent);
        }
    }
    for (int k = LOSS; k < NAMES; k++) {
        if (!shown[k]) continue;
        add(out, &at, "  ");
        add(out, &at, f.text[k]);
    }
    pad(out, &at, width - used);
}

/* The text without the blanks that only align it. */
static const char *trimmed(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == ' ') text[--n] = 0;
    return text + strspn(text, " ");
}

void progress_line(char out[PROGRESS_BYTES], const progress *p)
{
    fields f;
    make_fields(&f, p);
    size_t at = 0;
    add(out, &at, "step ");
    for (int k = 0; k < NAMES; k++) {
        if (k > 0) add(out, &at, "  ");
        add(out, &at, trimmed(f.text[k]));
    }
}
