/* cli.h -- what the commands share: how they speak.
 *
 * Results go to standard output, errors to standard error, one line each:
 * "vitrine train: what, where, what was expected".  A command ends with the
 * number of its vt_status.  Escape codes (colours) are written to a terminal
 * only, and not where NO_COLOR is set.
 */
#ifndef CLI_H
#define CLI_H

#include "base/io.h"
#include "cli/options.h"
#include "formats/json.h"

extern const command cmd_eval, cmd_plot, cmd_train, cmd_generate, cmd_check, cmd_tokenize, cmd_info, cmd_lab,
                     cmd_grade, cmd_export, cmd_site, cmd_serve, cmd_bench,
                     cmd_completions;

/* All of them, in the order of the help. */
extern const command *const cli_commands[];
extern const size_t cli_ncommands;

/* The program as it was called, for commands that are shown. */
extern const char *cli_program;

/* Prints "vitrine NAME: TEXT" on standard error; returns the status. */
int cli_error(const command *c, vt_status status, const vt_error *err);

/* Parses; prints the help where it was asked for, the error where there is one.
 * True: go on; otherwise end with *code. */
bool cli_parse(const command *c, int argc, char **argv, void *into, options_read *read, int *code);

/* The option --isa, which is the same in each command that runs fast kernels. */
#define ISA_ROW(at, help) \
    { OPTION_CHOICE, "--isa", at, "portable|avx2|avx512|neon", 0, 0, help }

/* *isa = the kernels that $VITRINE_ISA names, NULL where it is unset or empty; VT_USAGE where
 * they are none that this processor runs.  cli_parse puts it where --isa is not given; who
 * goes on to a configuration file and presets asks again, as the last of them. */
VT_MUST_CHECK vt_status cli_isa(const char **isa, vt_error *err);

/* Operand 0, a model's folder, or NULL after an error was put into *err. */
const char *cli_folder(const command *c, const options_read *read, vt_error *err);

/* From here to cli_end_interrupts, SIGINT, SIGTERM and SIGHUP end whatever waits for
 * another process (base/interrupt.h), which then removes its files; a second one ends this
 * process at once.  Signals that are ignored stay ignored. */
void cli_begin_interrupts(void);
void cli_end_interrupts(void);

bool   cli_terminal(FILE *f);
bool   cli_utf8(void);              /* block characters can be shown */
size_t cli_width(FILE *f);          /* columns; 80 where there is no terminal */
/* "\033[..m" where f takes colours, else "". */
const char *cli_color(FILE *f, const char *code);

/* The file, or standard input for "-", whole; VT_TOO_LARGE beyond 64 MiB. */
VT_MUST_CHECK vt_status cli_read(bytes *out, const char *path, vt_error *err);

/* Ends the writer and prints its text and a newline on standard output. */
VT_MUST_CHECK vt_status cli_print_json(js_writer *w, bytes *text, vt_error *err);
/* A number, null where it is not finite: not measured, or none. */
/* On standard error, where a model is used whose windows are not known. */
void cli_note_windows(const vt_model *m, const char *folder);
void cli_field_measured(js_writer *w, const char *key, double value);

/* Flushes standard output.  VT_IO where it failed; a reader that has gone
 * (`| head`) has all that it wanted: VT_OK. */
VT_MUST_CHECK vt_status cli_flush(vt_error *err);
/* Flushes either stream before the end; why it failed, cli_flush will say. */
void cli_flush_early(FILE *f);

/* `name` from the folder that this program's file lies in, a new string (free it); NULL
 * without memory. */
char *cli_beside(const char *name);

/* $TMPDIR, or "/tmp". */
const char *cli_temporary(void);

/* A name as it can be printed (utf8_plain), in out[], which it is cut to. */
enum { SHOWN = 4097 };
const char *cli_shown(char out[SHOWN], const char *name);

/* `word` as a shell reads it back, appended. */
VT_MUST_CHECK vt_status cli_quote(bytes *out, const char *word, vt_error *err);

#endif
