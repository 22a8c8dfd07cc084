/* cli.c -- see cli.h. */
#include "cli/cli.h"
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/interrupt.h"
#include "base/utf8.h"

const char *cli_program = "vitrine";

int cli_error(const command *c, vt_status status, const vt_error *err)
{
    fflush(stdout);
    fprintf(stderr, "vitrine%s%s: %s\n", c ? " " : "", c ? c->name : "", err->text);
    return (int)status;
}

static const char *isa_at(const char *option, size_t i)
{
    (void)option;
    return vt_isa(i);
}

vt_status cli_isa(const char **isa, vt_error *err)
{
    static const option_row row = { OPTION_CHOICE, "VITRINE_ISA", 0, NULL, 0, 0, NULL };
    static const command alone = { .rows = &row, .nrows = 1, .words = isa_at };
    const char *word = getenv("VITRINE_ISA");
    *isa = NULL;
    return word && *word ? option_set(&alone, &row, word, isa, err) : VT_OK;
}

static vt_status isa_from_environment(const command *c, void *into, const options_read *read,
                                      vt_error *err)
{
    const size_t r = options_find(c, "--isa", 5);
    const char *isa;
    if (r == c->nrows || read->given[r] || read->help) return VT_OK;
    const vt_status s = cli_isa(&isa, err);
    if (s == VT_OK) memcpy((char *)into + c->rows[r].at, &isa, sizeof isa);
    return s;
}

bool cli_parse(const command *c, int argc, char **argv, void *into, options_read *read, int *code)
{
    vt_error err;
    vt_status s = options_parse(c, argc, argv, into, read, &err);
    if (s == VT_OK) s = isa_from_environment(c, into, read, &err);
    if (s) {
        *code = cli_error(c, s, &err);
        return false;
    }
    if (!read->help) return true;
    options_help(stdout, c);
    const vt_status written = cli_flush(&err);
    *code = written ? cli_error(c, written, &err) : VT_OK;
    return false;
}

const char *cli_folder(const command *c, const options_read *read, vt_error *err)
{
    if (read->noperands > 0 && read->operands[0][0]) return read->operands[0];
    (void)fail(err, VT_USAGE, "expected the folder of a model: vitrine %s DIR", c->name);
    return NULL;
}

static const int interrupts[] = { SIGINT, SIGTERM, SIGHUP };
enum { INTERRUPTS = sizeof interrupts / sizeof *interrupts };

static void set_handler(void (*handler)(int))
{
    struct sigaction a = { .sa_handler = handler }, old;
    a.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < INTERRUPTS; i++)
        if (sigaction(interrupts[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(interrupts[i], &a, NULL);
}

/* A signal may come between the question whether one came and a call that waits: an alarm
 * each second ends such a wait, too. */
static void remind(int number)
{
    (void)number;
    alarm(1);
}

static void on_interrupt(int number)
{
    interrupt_ask(number);
    alarm(1);
}

void cli_begin_interrupts(void)
{
    struct sigaction a = { .sa_handler = remind };      /* no SA_RESTART: waits end */
    sigemptyset(&a.sa_mask);
    sigaction(SIGALRM, &a, NULL);
    set_handler(on_interrupt);
}

void cli_end_interrupts(void)
{
    set_handler(SIG_DFL);
    alarm(0);
    signal(SIGALRM, SIG_DFL);
}

bool cli_terminal(FILE *f)
{
    return isatty(fileno(f)) == 1;
}

bool cli_utf8(void)
{
    /* The first that is set decides (POSIX, Base Definitions, 8.2). */
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (!value || !*value) continue;
        const char *dot = strchr(value, '.');
        return dot && (strncasecmp(dot, ".utf-8", 6) == 0 || strncasecmp(dot, ".utf8", 5) == 0);
    }
    return false;
}

size_t cli_width(FILE *f)
{
    struct winsize w;
    if (cli_terminal(f) && ioctl(fileno(f), TIOCGWINSZ, &w) == 0 && w.ws_col > 0) return w.ws_col;
    return 80;
}

const char *cli_color(FILE *f, const char *code)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (!cli_terminal(f) || (no && *no) || !term || strcmp(term, "dumb") == 0) return "";
    return code;
}

static const size_t most_text = (size_t)64 << 20;

static vt_status read_stdin(bytes *out, vt_error *err)
{
    unsigned char block[65536];
    size_t n;
    vt_status s = VT_OK;
    *out = (bytes){ 0 };
    while (s == VT_OK && (n = fread(block, 1, sizeof block, stdin)) > 0)
        s = n > most_text - out->len
          ? fail(err, VT_TOO_LARGE, "standard input: longer than the %zu bytes allowed here",
                 most_text)
          : bytes_append(out, block, n, err);
    if (s == VT_OK && ferror(stdin))
        s = fail(err, VT_IO, "standard input: %s", strerror(errno));
    if (s == VT_OK) s = bytes_append(out, "", 0, err);
    if (s) bytes_free(out);
    return s;
}

vt_status cli_read(bytes *out, const char *path, vt_error *err)
{
    if (strcmp(path, "-") == 0) return read_stdin(out, err);
    return io_read(out, path, most_text, err);
}

vt_status cli_print_json(js_writer *w, bytes *text, vt_error *err)
{
    const vt_status s = js_end(w, err);
    if (s) return s;
    fwrite(text->data, 1, text->len, stdout);
    fputc('\n', stdout);
    return cli_flush(err);
}

void cli_field_measured(js_writer *w, const char *key, double value)
{
    if (!isfinite(value)) js_field_null(w, key);
    else js_field_number(w, key, value);
}

/* errno of the first flush of standard output that failed: a stream keeps that one did,
 * not why. */
static int why_not_all;

void cli_flush_early(FILE *f)
{
    errno = 0;
    if (fflush(f) != 0 && f == stdout && !why_not_all) why_not_all = errno;
}

/* A write that failed inside printf left its mark on the stream, not its reason; a pipe
 * that nobody reads still says so. */
static bool reader_has_gone(void)
{
    struct pollfd out = { .fd = fileno(stdout) };
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) && !(out.revents & POLLNVAL);
}

vt_status cli_flush(vt_error *err)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return VT_OK;
    const int why = why_not_all ? why_not_all : errno;
    if (why == EPIPE || reader_has_gone()) return VT_OK;
    return fail(err, VT_IO, "standard output: %s", why ? strerror(why) : "not all could be written");
}

char *cli_beside(const char *name)
{
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return io_join(".", name);
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
    return io_join(path, name);
}

const char *cli_temporary(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

const char *cli_shown(char out[SHOWN], const char *name)
{
    snprintf(out, SHOWN, "%.*s", SHOWN - 1, name);
    utf8_plain(out, false);
    return out;
}

vt_status cli_quote(bytes *out, const char *word, vt_error *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=./,:@%";
    vt_status s;
    if (*word && strspn(word, plain) == strlen(word))
        return bytes_append(out, word, strlen(word), err);
    if ((s = bytes_append(out, "'", 1, err))) return s;
    for (const char *p = word; *p; p++) {
        s = *p == '\'' ? bytes_append(out, "'\\''", 4, err) : bytes_append(out, p, 1, err);
        if (s) return s;
    }
    return bytes_append(out, "'", 1, err);
}

void cli_note_windows(const vt_model *m, const char *folder)
{
    char name[SHOWN];
    bool known;
    const int seq = vt_seq(m, &known);
    if (known) return;
    fprintf(stderr, "note: %s: on which windows it was trained is not known (no state, no manifest "
            "of its run): %d, all its positions, are taken\n", cli_shown(name, folder), seq);
}
