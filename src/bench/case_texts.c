/* case_texts.c -- what reads texts: BPE training, encoding, CSV.
 *
 * The text is the caller's (--data), at most its first 10,000,000 bytes; or 2 MiB of words that are
 * drawn: 5000 words of 1 to 4 syllables, the k-th as often as 1/k (Zipf), with full stops
 * and lines.  Real text has more different words and so costs more: the cases that have a
 * target of seconds, or GPT-2's vocabulary, take the caller's or are skipped.
 *
 * Verified: decode(encode(text)) is the text, and each merge that was learnt joins two
 * pieces that its bytes say (training); records and bytes of cells that the CSV reader
 * found are those that a count of quotes, commas and line ends gives (RFC 4180 without
 * its reader).
 */
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/rng.h"
#include "bench/cases.h"
#include "data/csv.h"
#include "tokenizer/bpe.h"

enum { TRAIN, ENCODE, CSV, TRAIN_LONG, ENCODE_GPT2 };
enum { WORDS = 5000, MERGES = 1000, MERGES_LONG = 5000, CELL = 200, GPT2_VOCAB = 50257 };
static const size_t drawn_bytes = (size_t)2 << 20, most_bytes = 10000000;

typedef struct text_state {
    int   number;
    team *crew;
    bytes text;                     /* of CSV: as a file with the columns id, text */
    bytes scratch;                  /* the CSV reader writes into what it reads */
    bpe  *b;
    bpe_ids ids;
    size_t records, cells;          /* that the CSV reader found: records, bytes of cells */
} text_state;

static void state_free(void *state)
{
    text_state *o = state;
    if (!o) return;
    team_free(o->crew);
    bytes_free(&o->text);
    bytes_free(&o->scratch);
    bpe_free(o->b);
    bpe_ids_free(&o->ids);
    free(o);
}

/* ---- the text ------------------------------------------------------------------ */

static vt_status draw_text(bytes *out, vt_error *err)
{
    static const char *const syllables[] = { "ba", "den", "fi", "gor", "hu", "ka", "lem", "mi",
                                             "no", "pra", "ri", "sto", "ta", "ul", "ver", "wy" };
    static char words[WORDS][16];
    double *until = malloc(WORDS * sizeof *until), all = 0;
    rng r;
    vt_status s = VT_OK;
    if (!until) return fail_memory(err, WORDS * sizeof *until, "words");
    rng_stream_seed(&r, 42, RNG_VERIFY, 95);
    for (size_t k = 0; k < WORDS; k++) {
        const int64_t n = rng_integers(&r, 1, 5);
        words[k][0] = 0;
        for (int64_t i = 0; i < n; i++) strcat(words[k], syllables[rng_integers(&r, 0, 16)]);
        until[k] = all += 1 / (double)(k + 1);
    }
    while (s == VT_OK && out->len < drawn_bytes) {
        const double at = rng_uniform(&r, 0, all);
        size_t low = 0, high = WORDS - 1;
        while (low < high) {
            const size_t middle = (low + high) / 2;
            if (until[middle] > at) high = middle;
            else low = middle + 1;
        }
        const int64_t end = rng_integers(&r, 0, 60);
        s = bytes_printf(out, err, "%s%s", words[low], end == 0 ? ".\n" : end < 5 ? ", " : " ");
    }
    free(until);
    return s;
}

static vt_status read_text(bytes *out, const char *path, vt_error *err)
{
    vt_status s = io_read(out, path, (size_t)1 << 30, err);
    if (s == VT_OK && out->len == 0) s = fail(err, VT_BAD_INPUT, "%s: expected a text, it is empty", path);
    if (s == VT_OK && out->len > most_bytes) out->len = most_bytes;
    return s;
}

/* The text in rows of CELL bytes, quoted, quotes doubled. */
static vt_status make_csv(bytes *text, vt_error *err)
{
    bytes out = { 0 };
    vt_status s = bytes_append(&out, "id,text\n", 8, err);
    for (size_t i = 0, row = 0; i < text->len && s == VT_OK; i += CELL, row++) {
        const size_t end = text->len - i < CELL ? text->len : i + CELL;
        s = bytes_printf(&out, err, "%zu,\"", row);
        for (size_t k = i; k < end && s == VT_OK; k++)
            s = bytes_append(&out, text->data[k] == '"' ? "\"\"" : (const char *)&text->data[k],
                             text->data[k] == '"' ? 2 : 1, err);
        if (s == VT_OK) s = bytes_append(&out, "\"\n", 2, err);
    }
    bytes_free(text);
    *text = out;
    return s;
}

/* ---- what is timed --------------------------------------------------------------- */

static vt_status train(text_state *o, vt_error *err)
{
    const bpe_text doc = { o->text.data, o->text.len };
    bpe_free(o->b);
    o->b = NULL;
    return bpe_train(&o->b, &doc, 1, o->number == TRAIN ? MERGES : MERGES_LONG, o->crew, err);
}

static vt_status encode(text_state *o, vt_error *err)
{
    o->ids.len = 0;
    return bpe_encode(o->b, o->text.data, o->text.len, &o->ids, err);
}

/* The copy is part of the time, as the file's reading is of a run's. */
static vt_status read_csv(text_state *o, vt_error *err)
{
    csv c = { .data = NULL };
    bool more = false;
    memcpy(o->scratch.data, o->text.data, o->text.len);
    o->records = o->cells = 0;
    vt_status s = csv_open(&c, o->scratch.data, o->text.len, ',', false, "drawn.csv", err);
    while (s == VT_OK && (s = csv_next(&c, &more, err)) == VT_OK && more) {
        o->records++;
        for (size_t i = 0; i < c.columns; i++) o->cells += c.fields[i].len;
    }
    csv_close(&c);
    return s;
}

static vt_status run(void *state, vt_error *err)
{
    text_state *o = state;
    switch (o->number) {
    case TRAIN: case TRAIN_LONG:   return train(o, err);
    case ENCODE: case ENCODE_GPT2: return encode(o, err);
    default:                       return read_csv(o, err);
    }
}

/* ---- verified ---------------------------------------------------------------------- */

static bool merges_join(const text_state *o, vt_bench_row *row)
{
    for (int i = 0; i < bpe_merges(o->b); i++) {
        const bpe_merge m = bpe_merge_at(o->b, i);
        size_t nl, nr, n;
        const unsigned char *l = bpe_piece(o->b, m.left, &nl), *r = bpe_piece(o->b, m.right, &nr);
        const unsigned char *made = bpe_piece(o->b, m.made, &n);
        const bool joins = l && r && made && n == nl + nr && memcmp(made, l, nl) == 0 &&
                           memcmp(made + nl, r, nr) == 0;
        if (!bench_meet(row, "merge", (size_t)i, 1, joins, 0)) return false;
    }
    return true;
}

static vt_status round_trip(text_state *o, vt_bench_row *row, vt_error *err)
{
    bytes back = { 0 };
    vt_status s = encode(o, err);
    if (s == VT_OK) s = bpe_decode(o->b, o->ids.data, o->ids.len, &back, err);
    bool same = s == VT_OK && bench_meet(row, "length", 0, (double)o->text.len, (double)back.len, 0);
    for (size_t i = 0; i < o->text.len && same; i++)
        same = bench_meet(row, "byte", i, o->text.data[i], back.data[i], 0);
    bytes_free(&back);
    return s ? s : same ? VT_OK : bench_wrong(row, err);
}

/* Without a reader: outside of quotes a line feed ends a record and a comma a cell; a
 * quote inside of them counts where it is doubled. */
static vt_status count_cells(text_state *o, vt_bench_row *row, vt_error *err)
{
    size_t records = 0, cells = 0, i = 0;
    bool quoted = false;
    const vt_status s = read_csv(o, err);
    if (s) return s;
    while (o->text.data[i] != '\n') i++;            /* the header */
    for (i++; i < o->text.len; i++) {
        const unsigned char c = o->text.data[i];
        if (c == '"' && quoted && o->text.data[i + 1] == '"') i++, cells++;
        else if (c == '"') quoted = !quoted;
        else if (quoted) cells++;
        else if (c == '\n') records++;
        else if (c != ',') cells++;
    }
    if (!bench_meet(row, "records", 0, (double)records, (double)o->records, 0) ||
        !bench_meet(row, "bytes of cells", 0, (double)cells, (double)o->cells, 0))
        return bench_wrong(row, err);
    return VT_OK;
}

static vt_status verify(void *state, vt_bench_row *row, vt_error *err)
{
    static const char *const what[] = {
        [TRAIN] = "what each merge joins; every byte, decoded", [ENCODE] = "every byte, decoded",
        [CSV] = "records, bytes of cells",
        [TRAIN_LONG] = "what each merge joins; every byte, decoded",
        [ENCODE_GPT2] = "every byte, decoded",
    };
    text_state *o = state;
    bench_verified(row, o->number != ENCODE && o->number != ENCODE_GPT2, "%s", what[o->number]);
    if (o->number == CSV) return count_cells(o, row, err);
    if (o->number == TRAIN || o->number == TRAIN_LONG) {
        const vt_status s = train(o, err);
        if (s) return s;
        if (!merges_join(o, row)) return bench_wrong(row, err);
    }
    return round_trip(o, row, err);
}

/* The long ones take no drawn text, GPT-2's vocabulary is read. */
static vt_status given(text_state *o, const bench_setting *s, vt_error *err)
{
    bytes json = { 0 };
    if (!s->data) return fail(err, VT_USAGE, "needs a real text: --data FILE");
    if (o->number != ENCODE_GPT2) return VT_OK;
    if (!s->tokenizer) return fail(err, VT_USAGE, "needs GPT-2's vocabulary: --tokenizer FILE");
    vt_status status = io_read(&json, s->tokenizer, (size_t)1 << 28, err);
    if (status == VT_OK) status = bpe_from_json(&o->b, json.data, json.len, s->tokenizer, err);
    bytes_free(&json);
    if (status == VT_OK && bpe_vocab(o->b) != GPT2_VOCAB)
        status = fail(err, VT_BAD_INPUT, "%s: has %d ids, GPT-2's vocabulary %d", s->tokenizer,
                      bpe_vocab(o->b), GPT2_VOCAB);
    return status;
}

static vt_status make(bench_work *w, const bench_case *c, const bench_setting *s, vt_error *err)
{
    text_state *o = calloc(1, sizeof *o);
    if (!o) return fail_memory(err, sizeof *o, "a case");
    *w = (bench_work){ .state = o, .verify = verify, .run = run, .free = state_free,
                       .limit = BENCH_NO_LIMIT, .unit = "B/s" };
    o->number = c->number;
    vt_status status = VT_OK;
    if (c->number >= TRAIN_LONG && (status = given(o, s, err))) w->absent = status == VT_USAGE;
    if (status == VT_OK) status = s->data ? read_text(&o->text, s->data, err) : draw_text(&o->text, err);
    if (status == VT_OK && o->number == CSV && (status = make_csv(&o->text, err)) == VT_OK)
        status = bytes_append(&o->scratch, o->text.data, o->text.len, err);
    if (status == VT_OK) status = team_new(&o->crew, s->threads, 0, 0, err);
    if (status == VT_OK && o->number == TRAIN_LONG && o->text.len < most_bytes) {
        w->absent = true;
        status = fail(err, VT_USAGE, "needs %zu bytes of text, --data has %zu", most_bytes, o->text.len);
    }
    if (status == VT_OK && o->number == ENCODE) status = train(o, err);
    w->per_call = w->bytes = (double)o->text.len;
    return status;
}

const bench_case bench_texts[] = {
    { "bpe-train", "texts", "1000 merges", "B/s", 0, 0, true, 3, 1.2, make, TRAIN, true, VT_BENCH_RATE },
    { "bpe-encode", "texts", "with those merges", "B/s", 1, 0, true, 2, 1, make, ENCODE, true, VT_BENCH_RATE },
    { "bpe-train-10M", "texts", "5000 merges of 10 MB of a real text", "B/s", 0, 0.3, false, 6, 6, make,
      TRAIN_LONG, true, VT_BENCH_SECONDS },
    { "bpe-encode-gpt2", "texts", "a real text with GPT-2's vocabulary", "B/s", 1, 60e6, false, 5, 5,
      make, ENCODE_GPT2, true, VT_BENCH_RATE },
    { "csv", "texts", "two columns, quoted cells of 200 bytes", "B/s", 1, 500e6, true, 1, 0.7, make, CSV,
      true, VT_BENCH_RATE },
    { .name = NULL },
};
