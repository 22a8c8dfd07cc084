/* cmd_bench.c -- vitrine bench: how fast, and how near the machine's limit. */
#include <math.h>
#include <string.h>
#include "base/interrupt.h"
#include "base/progress.h"
#include "cli/bench_show.h"
#include "cli/cli.h"
#include "cli/outputs.h"

typedef struct bench_args {
    vt_bench_options o;
    const char *svg, *curves;
    bool json, list;
} bench_args;

#define AT(field) offsetof(bench_args, field)

static const option_row rows[] = {
    { OPTION_GROUP, "options", 0, NULL, 0, 0, NULL },
    { OPTION_FLAG, "--quick", AT(o.quick), NULL, 0, 0, "less time for each case: under a minute in all" },
    { OPTION_INT, "--threads", AT(o.threads), "N", 0, 256, "of the cases that name none; 0: all cores [0]" },
    ISA_ROW(AT(o.isa), "kernels; else $VITRINE_ISA [the best]"),
    { OPTION_FILE, "--data", AT(o.data), "FILE", 0, 0, "a text for the cases of texts [one that is drawn]" },
    { OPTION_FILE, "--tokenizer", AT(o.tokenizer), "FILE", 0, 0, "GPT-2's tokenizer.json, for bpe-encode-gpt2" },
    { OPTION_NAME, "--target", AT(o.targets), "NAME=RATE", 0, 0, "or NAME=80%, of its limit; more after commas" },
    { OPTION_FLAG, "--require", AT(o.require), NULL, 0, 0, "exit status 1 where a target is missed; 2: there is none" },
    { OPTION_FILE, "--svg", AT(svg), "FILE", 0, 0, "the roofline as a picture, too" },
    { OPTION_FILE, "--curves", AT(curves), "FILE", 0, 0, "how cost grows as a picture, too: of the group scaling" },
    { OPTION_FLAG, "--list", AT(list), NULL, 0, 0, "names the cases, measures nothing" },
    { OPTION_FLAG, "--json", AT(json), NULL, 0, 0, "one JSON object" },
};

/* The cases, and each group behind its last one. */
static const char *words(const char *option, size_t i)
{
    vt_bench_case_info c, next;
    for (size_t k = 0; !option[0] && vt_bench_case(k, &c); k++) {
        if (i-- == 0) return c.name;
        const bool more = vt_bench_case(k + 1, &next);
        if (!(more && strcmp(next.group, c.group) == 0) && i-- == 0) return c.group;
    }
    return NULL;
}

/* Asked many times a second: a line is written where the second, or the case, changed. */
typedef struct shown { bool terminal, any; size_t done; long second; } shown;

static bool on_progress(void *context, const vt_bench_progress *p)
{
    shown *last = context;
    char left[32];
    const long second = (long)p->seconds_left;
    if (last->terminal && !(last->any && second == last->second && p->done == last->done)) {
        progress_duration(left, sizeof left, p->seconds_left);
        fprintf(stderr, "\r%zu of %zu: %s, about %s left%*s", p->done + 1, p->of, p->name, left, 12, "");
        fflush(stderr);
        *last = (shown){ .terminal = true, .any = true, .done = p->done, .second = second };
    }
    return interrupt_asked();
}

/* Every target that is missed or was not shown, as far as a line holds them. */
static vt_status require(const vt_bench_report *r, vt_error *err)
{
    char list[500] = "", missed[200];
    for (size_t i = 0; i < r->nrows; i++) {
        const vt_bench_row *row = &r->rows[i];
        const size_t n = strlen(list);
        if (row->met || !isfinite(row->target)) continue;
        if (row->verdict == VT_BENCH_SKIPPED)
            snprintf(missed, sizeof missed, "%s: not shown", row->name);
        else
            bench_missed_text(missed, sizeof missed, row);
        snprintf(list + n, sizeof list - n, "%s%s", n ? "; " : "", missed);
    }
    if (!list[0]) return VT_OK;
    return fail(err, VT_CHECK_FAILED, "%zu of %zu targets missed, %zu not shown: %s", r->missed,
                r->targets, r->unshown, list);
}

/* A picture of nothing, and one that cannot be written, are refused before minutes pass. */
static vt_status pictures_ready(const bench_args *a, vt_error *err)
{
    vt_bench_case_info c;
    bool any = !a->curves;
    for (size_t i = 0; !any && vt_bench_case(i, &c); i++)
        for (size_t k = 0; k < a->o.nnames && strcmp(c.group, "scaling") == 0; k++)
            any = any || strcmp(a->o.names[k], c.group) == 0 || strcmp(a->o.names[k], c.name) == 0;
    if (!any) return fail(err, VT_USAGE, "--curves: no case of the group scaling is measured: name it");
    vt_status s = output_ready("--svg", a->svg, a->o.data, err);
    if (s == VT_OK) s = output_ready("--svg", a->svg, a->o.tokenizer, err);
    if (s == VT_OK) s = output_ready("--curves", a->curves, a->o.data, err);
    if (s == VT_OK) s = output_ready("--curves", a->curves, a->o.tokenizer, err);
    return s ? s : outputs_differ("--svg", a->svg, "--curves", a->curves, err);
}

/* A file that cannot be read is refused before minutes pass, too, whether or not a case asks
 * for it.  What is no regular file is left to the case: a pipe opens once. */
static vt_status inputs_ready(const bench_args *a, vt_error *err)
{
    const char *const paths[] = { a->o.data, a->o.tokenizer };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const vt_status s = paths[i] ? input_ready(paths[i], err) : VT_OK;
        if (s) return s;
    }
    return VT_OK;
}

static vt_status bench(const bench_args *a, vt_error *err)
{
    vt_bench_report r;
    vt_error why;
    shown last = { .terminal = cli_terminal(stderr) };
    vt_status s = pictures_ready(a, err);
    if (s == VT_OK) s = inputs_ready(a, err);
    if (s) return s;
    cli_begin_interrupts();
    s = vt_bench(&r, &a->o, on_progress, &last, err);
    cli_end_interrupts();
    if (last.any) fprintf(stderr, "\r%*s\r", 78, "");
    if (s == VT_OK || s == VT_CHECK_FAILED) {
        vt_status printed = a->json ? bench_show_json(&r, &why) : bench_show_text(&r, &why);
        if (s == VT_OK && a->o.require) s = require(&r, err);
        if (printed == VT_OK && a->svg) printed = bench_show_svg(&r, a->svg, &why);
        if (printed == VT_OK && a->curves) printed = bench_show_curves(&r, a->curves, &why);
        if (printed) {
            *err = why;
            s = printed;
        }
    }
    vt_bench_free(&r);
    return s;
}

static int run(const command *c, int argc, char **argv)
{
    bench_args a = { .list = false };
    options_read read;
    vt_error err;
    int code;
    if (!cli_parse(c, argc, argv, &a, &read, &code)) return code;
    a.o.names = read.operands;
    a.o.nnames = read.noperands;
    const bool both = a.list && a.o.nnames > 0;
    const vt_status s = both ? fail(&err, VT_USAGE, "--list names all cases: %s: unexpected", a.o.names[0])
        : a.list ? bench_show_list(a.json, &err) : bench(&a, &err);
    return s ? cli_error(c, s, &err) : VT_OK;
}

const command cmd_bench = {
    .name = "bench",
    .summary = "how fast the kernels and a training step are, verified first",
    .usage = "vitrine bench [NAME ...] [option ...]\n"
             "       vitrine bench --list [--json]",
    .about =
        "Measures what this machine can do (multiply-adds, memory, exponentials), then\n"
        "the kernels, training steps, generation, and the reading of texts, as figures\n"
        "and as shares of that limit.  Each case is first compared with its definition in\n"
        "double, number by number (of large models with fewer tokens, and the report says\n"
        "so); one that is beyond its bound is named WRONG and not timed.  A figure is a\n"
        "median; spread is the distance of the quartiles.\n\n"
        "NAME is a case or a group: steps, speech, kernels, gemm, attention, texts,\n"
        "check, start, scaling.  Without one, all but those that take long; with\n"
        "--require, those that have a target.  scaling measures one kernel at many sizes,\n"
        "and fits how cost grows with each.  The machine should have nothing else to do.",
    .rows = rows, .nrows = sizeof rows / sizeof *rows, .operands = OPERANDS_MOST,
    .operand = OPTION_CHOICE,
    .examples =
        "  vitrine bench --quick\n"
        "  vitrine bench steps --json\n"
        "  vitrine bench tiny-575 L6 --require\n"
        "  vitrine bench gemm --threads 1 --isa avx2\n"
        "  vitrine bench scaling --quick --curves curves.svg\n"
        "  vitrine bench tiny --target tiny=50000 --require\n",
    .exits =
        "  0  measured\n"
        "  1  a result is wrong: it is named, and was not timed; --require: a target is\n"
        "     missed\n"
        "  2  an option cannot be used, or there is no such case; a target of a case that\n"
        "     is not measured; --require without any target\n"
        "  3  the text of --data is not what it should be\n"
        "  4  reading or writing failed\n"
        "  5  sizes exceed memory\n"
        "  130 interrupted\n",
    .words = words,
    .run = run,
};
