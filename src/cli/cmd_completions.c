/* cmd_completions.c -- vitrine completions: scripts for three shells, from the tables
 * that also print the help, so that they know each option there is.
 *
 * A script holds words, not a way to ask: completing starts no process, and a script of
 * another version is as old as its file.  What a value is says its row: a file, a
 * folder, one of a set; other values (numbers, texts) are left to the user.
 *
 * References: bash(1), Programmable Completion; zshcompsys(1), _arguments; fish,
 * complete(1).
 */
#include <string.h>
#include "cli/cli.h"

typedef struct completions_args { bool none; } completions_args;

static const option_row shell = { OPTION_CHOICE, "", 0, "SHELL", 0, 0, NULL };

static const char *words(const char *option, size_t i)
{
    static const char *const shells[] = { "bash", "zsh", "fish" };
    return !*option && i < sizeof shells / sizeof *shells ? shells[i] : NULL;
}

/* ---- what the shells share ---------------------------------------------- */

static bool is_flag(const option_row *row)
{
    return row->kind == OPTION_FLAG || row->kind == OPTION_OFF;
}

static bool is_file(const option_row *row)
{
    return row->kind == OPTION_FILE || row->kind == OPTION_FILES;
}

/* The operands of a command as a row. */
static option_row operand_of(const command *c)
{
    return (option_row){ .kind = c->operand, .name = "", .value = "" };
}

static void print_choices(const command *c, const option_row *row)
{
    const char *word;
    size_t n;
    for (size_t i = 0; (word = option_choice(c, row, i, &n)) != NULL; i++)
        printf("%s%.*s", i ? " " : "", (int)n, word);
}

static void print_commands(void)
{
    for (size_t i = 0; i < cli_ncommands; i++) printf("%s ", cli_commands[i]->name);
}

/* A help text on one line, its first part, within single quotes of a shell; a
 * backslash before what is in `special`. */
static void print_description(const char *help, const char *special, const char *quote)
{
    for (const char *p = help; *p && *p != ';'; p++) {
        if (*p == '\n') putchar(' ');
        else if (*p == '\'') fputs(quote, stdout);
        else if (*p == '\\' || strchr(special, *p)) printf("\\%c", *p);
        else putchar(*p);
    }
}

/* ---- bash ---------------------------------------------------------------- */

static const char bash_begin[] =
    "# bash completion for vitrine, made by `vitrine completions bash`\n"
    "_vitrine_paths() {                  # -f files and folders, -d folders\n"
    "    local path\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    while IFS= read -r path; do COMPREPLY+=(\"$path\"); done < <(compgen \"$1\" -- \"$2\")\n"
    "}\n"
    "_vitrine() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} words=\n"
    "    COMPREPLY=()\n"
    "    # --name=value is three words here\n"
    "    if [[ $cur == = ]]; then cur=\n"
    "    elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    if ((COMP_CWORD == 1)); then command=commands prev=\n"
    "    fi\n"
    "    case $command:$prev in\n";

static void bash_value(const command *c, const option_row *row)
{
    printf("        %s:%s) ", c->name, row->name);
    if (is_file(row)) fputs("_vitrine_paths -f \"$cur\"; return ;;\n", stdout);
    else if (row->kind == OPTION_FOLDER) fputs("_vitrine_paths -d \"$cur\"; return ;;\n", stdout);
    else if (row->kind == OPTION_CHOICE) {
        fputs("words='", stdout);
        print_choices(c, row);
        fputs("' ;;\n", stdout);
    } else {
        fputs("return ;;\n", stdout);
    }
}

/* An option where a - stands, else an operand. */
static void bash_words(const command *c)
{
    const option_row operand = operand_of(c);
    printf("        %s:*) if [[ $cur == -* ]]; then words='", c->name);
    for (size_t r = 0; r < c->nrows; r++)
        if (!option_is_heading(&c->rows[r])) printf("%s ", c->rows[r].name);
    fputs("--help'\n", stdout);
    if (operand.kind == OPTION_CHOICE) {
        fputs("            else words='", stdout);
        print_choices(c, &operand);
        fputs("'\n", stdout);
    } else if (c->operands > 0) {
        printf("            else _vitrine_paths -%c \"$cur\"; return\n",
               operand.kind == OPTION_FOLDER ? 'd' : 'f');
    }
    fputs("            fi ;;\n", stdout);
}

static void bash(void)
{
    fputs(bash_begin, stdout);
    fputs("        commands:) words='", stdout);
    print_commands();
    fputs("help --help --version' ;;\n        help:help) words='", stdout);
    print_commands();
    fputs("' ;;\n", stdout);
    for (size_t i = 0; i < cli_ncommands; i++) {
        const command *c = cli_commands[i];
        for (size_t r = 0; r < c->nrows; r++)
            if (!option_is_heading(&c->rows[r]) && !is_flag(&c->rows[r])) bash_value(c, &c->rows[r]);
        bash_words(c);
    }
    fputs("    esac\n"
          "    local word\n"
          "    while IFS= read -r word; do COMPREPLY+=(\"$word\"); done < <(compgen -W \"$words\" -- \"$cur\")\n"
          "}\n"
          "complete -F _vitrine vitrine\n", stdout);
}

/* ---- zsh ----------------------------------------------------------------- */

static void zsh_action(const command *c, const option_row *row)
{
    if (is_file(row)) fputs("_files", stdout);
    else if (row->kind == OPTION_FOLDER) fputs("_files -/", stdout);
    else if (row->kind == OPTION_CHOICE) {
        putchar('(');
        print_choices(c, row);
        putchar(')');
    }
}

static void zsh_row(const command *c, const option_row *row)
{
    printf(" \\\n            '%s%s%s[", row->kind == OPTION_FILES ? "*" : "", row->name,
           is_flag(row) ? "" : "=");
    print_description(row->help, "[]:", "'\\''");
    putchar(']');
    if (!is_flag(row)) {
        printf(":%s:", row->kind == OPTION_CHOICE ? "word" : row->value);
        zsh_action(c, row);
    }
    putchar('\'');
}

static void zsh_command(const command *c)
{
    const option_row operand = operand_of(c);
    printf("        %s) _arguments '(-)'{-h,--help}'[how it is used]'", c->name);
    for (size_t r = 0; r < c->nrows; r++)
        if (!option_is_heading(&c->rows[r])) zsh_row(c, &c->rows[r]);
    for (size_t i = 0; i < c->operands; i++) {
        printf(" \\\n            '%zu:operand:", i + 1);
        zsh_action(c, &operand);
        putchar('\'');
    }
    fputs(" ;;\n", stdout);
}

static void zsh(void)
{
    fputs("#compdef vitrine\n"
          "# zsh completion for vitrine, made by `vitrine completions zsh`\n"
          "_vitrine() {\n"
          "    local -a commands\n"
          "    commands=(\n", stdout);
    for (size_t i = 0; i < cli_ncommands; i++) {
        printf("        '%s:", cli_commands[i]->name);
        print_description(cli_commands[i]->summary, ":", "'\\''");
        fputs("'\n", stdout);
    }
    fputs("        'help:how a command is used'\n"
          "    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        if [[ $words[2] == -* ]]; then compadd -- --help --version\n"
          "        else _describe -t commands command commands\n"
          "        fi\n"
          "        return\n"
          "    fi\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $words[1] in\n", stdout);
    for (size_t i = 0; i < cli_ncommands; i++) zsh_command(cli_commands[i]);
    fputs("        help) (( CURRENT == 2 )) && _describe -t commands command commands ;;\n"
          "    esac\n"
          "}\n"
          "if [[ $funcstack[1] == _vitrine ]]; then _vitrine \"$@\"\n"
          "else compdef _vitrine vitrine\n"
          "fi\n", stdout);
}

/* ---- fish ---------------------------------------------------------------- */

static void fish_row(const command *c, const option_row *row)
{
    printf("complete -c vitrine -n '__fish_seen_subcommand_from %s' -l %s", c->name, row->name + 2);
    if (is_file(row)) fputs(" -r -F", stdout);
    else if (row->kind == OPTION_FOLDER) fputs(" -x -a '(__fish_complete_directories)'", stdout);
    else if (row->kind == OPTION_CHOICE) {
        fputs(" -x -a '", stdout);
        print_choices(c, row);
        putchar('\'');
    } else if (!is_flag(row)) {
        fputs(" -x", stdout);
    }
    fputs(" -d '", stdout);
    print_description(row->help, "", "\\'");
    fputs("'\n", stdout);
}

static void fish_operand(const command *c)
{
    const option_row operand = operand_of(c);
    printf("complete -c vitrine -n '__fish_seen_subcommand_from %s' ", c->name);
    if (operand.kind == OPTION_FOLDER) fputs("-a '(__fish_complete_directories)'\n", stdout);
    else if (operand.kind == OPTION_CHOICE) {
        fputs("-a '", stdout);
        print_choices(c, &operand);
        fputs("'\n", stdout);
    } else {
        fputs("-F\n", stdout);
    }
}

static void fish(void)
{
    fputs("# fish completion for vitrine, made by `vitrine completions fish`\n"
          "complete -c vitrine -f\n"
          "complete -c vitrine -s h -l help -d 'how it is used'\n"
          "complete -c vitrine -n __fish_use_subcommand -l version -d 'version, commit, build'\n", stdout);
    for (size_t i = 0; i < cli_ncommands; i++) {
        const command *c = cli_commands[i];
        printf("complete -c vitrine -n __fish_use_subcommand -a %s -d '", c->name);
        print_description(c->summary, "", "\\'");
        fputs("'\n", stdout);
        for (size_t r = 0; r < c->nrows; r++)
            if (!option_is_heading(&c->rows[r])) fish_row(c, &c->rows[r]);
        if (c->operands > 0) fish_operand(c);
    }
    fputs("complete -c vitrine -n __fish_use_subcommand -a help -d 'how a command is used'\n"
          "complete -c vitrine -n '__fish_seen_subcommand_from help' -a '", stdout);
    print_commands();
    fputs("'\n", stdout);
}

static int run(const command *c, int argc, char **argv)
{
    completions_args a = { false };
    options_read read;
    vt_error err;
    int code;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    const char *name = NULL;
    vt_status s = read.noperands == 0
                ? fail(&err, VT_USAGE, "expected bash, zsh or fish: vitrine completions SHELL")
                : option_set(c, &shell, read.operands[0], &name, &err);
    if (s == VT_OK) {
        if (strcmp(name, "bash") == 0) bash();
        else if (strcmp(name, "zsh") == 0) zsh();
        else fish();
        s = cli_flush(&err);
    }
    return s ? cli_error(c, s, &err) : VT_OK;
}

const command cmd_completions = {
    .name = "completions",
    .summary = "what a shell completes behind vitrine",
    .usage = "vitrine completions SHELL",
    .about = "Prints a script for bash, zsh or fish: commands, options with what they do, and\n"
             "values: files, folders, or the words that an option takes.  It is made from the\n"
             "tables that the help is made from.  `cmake --install` puts all three where the\n"
             "shells look for them.",
    .rows = NULL, .nrows = 0, .operands = 1, .operand = OPTION_CHOICE,
    .words = words,
    .examples =
        "  vitrine completions bash > v.bash && . ./v.bash               # for this shell\n"
        "  vitrine completions bash > ~/.local/share/bash-completion/completions/vitrine\n"
        "  vitrine completions zsh > ~/.zfunc/_vitrine     # a folder of $fpath\n"
        "  vitrine completions fish > ~/.config/fish/completions/vitrine.fish\n",
    .exits =
        "  0  written\n"
        "  2  no such shell\n"
        "  4  writing failed\n",
    .run = run,
};
