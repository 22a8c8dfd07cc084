/* tiny_model.c -- see tiny_model.h. */
#include "tiny_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "scratch.h"
#include "support.h"

/* Sentences of a few words, with letters of two bytes. */
static void write_corpus(void)
{
    static const char *const words[] = { "the", "cat", "saw", "a", "caf\303\251", "hat", "sat",
                                         "on", "that", "mat", "\303\274ber" };
    static char text[8000];
    size_t n = 0;
    rng r;
    rng_seed(&r, 11);
    while (n < sizeof text - 40) {
        const char *word = words[rng_integers(&r, 0, sizeof words / sizeof *words)];
        n += (size_t)sprintf(text + n, "%s%s", word, rng_integers(&r, 0, 6) ? " " : ".\n");
    }
    scratch_file("corpus.txt", text, n);
}

vt_train_options tiny_options(const char *out, int seq, bool tied)
{
    static char data[256];
    static const char *const files[] = { data };
    static char folders[8][256];
    static size_t next;
    vt_train_options o;
    char *folder = folders[next++ % 8];
    write_corpus();
    snprintf(data, sizeof data, "%s", scratch("corpus.txt"));
    snprintf(folder, sizeof folders[0], "%s", scratch(out));
    assert_ok(vt_train_preset(&o, "tiny", &test_error));
    o.corpus = (vt_corpus){ .files = files, .nfiles = 1 };
    o.out = folder;
    o.layers = 2;
    o.d_model = 12;
    o.heads = 3;
    o.ff = 20;
    o.context = 12;
    o.merges = 20;
    o.seq = seq;
    o.batch = 4;
    o.tied = tied;
    o.steps = 60;
    o.warmup = 5;
    o.lr = 1e-2;
    o.lr_min = 1e-3;
    o.threads = 2;
    return o;
}

void tiny_train(const vt_train_options *o)
{
    vt_train_result r;
    assert_ok(vt_train(o, NULL, &r, &test_error));
    assert_true(r.finished);
}
