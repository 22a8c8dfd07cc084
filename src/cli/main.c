/* main.c -- the command `vitrine`: which command is meant, --help, --version. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"

const command *const cli_commands[] = {
    &cmd_train, &cmd_generate, &cmd_eval, &cmd_plot, &cmd_check, &cmd_tokenize, &cmd_info, &cmd_lab, &cmd_grade,
    &cmd_export, &cmd_site, &cmd_serve, &cmd_bench,
    &cmd_completions,
};
enum { COMMANDS = sizeof cli_commands / sizeof *cli_commands };
const size_t cli_ncommands = COMMANDS;

static const command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(cli_commands[i]->name, name) == 0) return cli_commands[i];
    return NULL;
}

static int done(void)
{
    vt_error err;
    const vt_status s = cli_flush(&err);
    return s ? cli_error(NULL, s, &err) : VT_OK;
}

static void overview(FILE *out)
{
    fputs("usage: vitrine COMMAND ...\n\n"
          "A small GPT behind glass: trains it on your text, lets it speak, and proves its\n"
          "gradients.\n\ncommands:\n", out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-13s%s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fputs("  help         vitrine help COMMAND, the same as vitrine COMMAND --help\n"
          "\noptions:\n"
          "  --version  version, commit, build and instruction set (also with --json)\n"
          "  -h, --help this\n"
          "\nexamples:\n"
          "  vitrine train --data novels.csv --column text --preset tiny --out model\n"
          "  vitrine generate model --prompt \"She was\" --max-tokens 50\n"
          "  vitrine check model\n"
          "  vitrine lab\n"
          "  vitrine grade 2_softmax.c\n"
          "  vitrine serve build/www\n"
          "\nexit status:\n"
          "  0 all well             3 bad input            6 NaN or Inf\n"
          "  1 a check failed       4 input or output      130 interrupted; state was saved\n"
          "  2 usage                5 too large\n"
          "\nResults go to standard output, errors to standard error, one line each. Colours\n"
          "appear on a terminal only, and not with NO_COLOR set.\n", out);
}

static void sets_text(char *out, size_t size)
{
    const char *isa;
    out[0] = 0;
    for (size_t i = 0; (isa = vt_isa(i)) != NULL; i++) {
        const size_t n = strlen(out);
        snprintf(out + n, size - n, "%s%s", i ? " " : "", isa);
    }
}

static int version(bool json)
{
    vt_version_info v = vt_version();
    char sets[64];
    vt_error err;
    const char *isa;
    vt_status s = cli_isa(&isa, &err);
    if (s) return cli_error(NULL, s, &err);
    if (isa) v.isa = isa;
    sets_text(sets, sizeof sets);
    if (json) {
        bytes text = { 0 };
        js_writer w;
        js_begin(&w, &text, JS_LINE);
        js_open_object(&w);
        js_field_string(&w, "version", v.version);
        js_field_string(&w, "commit", v.commit);
        js_field_string(&w, "build", v.build);
        js_field_string(&w, "kernels", v.isa);
        js_field_string(&w, "processor_has", sets);
        js_close_object(&w);
        s = cli_print_json(&w, &text, &err);
        bytes_free(&text);
        return s ? cli_error(NULL, s, &err) : VT_OK;
    }
    printf("vitrine %s\ncommit  %s\nbuild   %s\nkernels %s (this processor has: %s)\n", v.version,
           v.commit, v.build, v.isa, sets);
    return done();
}

static const char *name_at(const void *set, size_t i)
{
    (void)set;
    return i < COMMANDS ? cli_commands[i]->name : i == COMMANDS ? "help" : NULL;
}

static int no_command(const char *name)
{
    vt_error err;
    char list[400] = "", meant[MEANT];
    for (size_t i = 0; i < COMMANDS; i++) {
        const size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", i == 0 ? "" : i + 1 < COMMANDS ? ", " : " or ",
                 cli_commands[i]->name);
    }
    options_meant(meant, name, strlen(name), name_at, NULL);
    (void)fail(&err, VT_USAGE, "no command '%.60s': expected %s%s (vitrine --help)", name, list,
               meant);
    return cli_error(NULL, VT_USAGE, &err);
}

static int help(int argc, char **argv)
{
    if (argc == 0) {
        overview(stdout);
        return done();
    }
    const command *c = find(argv[0]);
    if (!c) return no_command(argv[0]);
    options_help(stdout, c);
    return done();
}

/* A file that is opened must not get the number of a standard stream that the
 * caller closed: what is printed would go into it.  /dev/null holds the number,
 * opened the other way round, so that reading and writing fail as before. */
static vt_status hold_standard_streams(void)
{
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        if (fcntl(file, F_GETFD) >= 0 || errno != EBADF) continue;
        if (open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY) != file)
            return VT_IO;               /* nowhere to say why */
    }
    return VT_OK;
}

int main(int argc, char **argv)
{
    if (hold_standard_streams()) return VT_IO;
    /* A write says EPIPE or EFBIG: training saves, and errors are told. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);           /* ignored, it would take the status of our children */
    if (argc > 0 && argv[0][0]) cli_program = argv[0];
    if (argc < 2) {
        overview(stderr);
        return VT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return help(argc - 2, argv + 2);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return version(argc > 2 && strcmp(argv[2], "--json") == 0);
    const command *c = find(word);
    return c ? c->run(c, argc - 2, argv + 2) : no_command(word);
}
