/* test_nearest.c -- distances of words, counted by hand, and what is suggested. */
#include "support.h"
#include <string.h>
#include "base/nearest.h"

static void distances_are_those_counted_by_hand(void **state)
{
    (void)state;
    static const struct { const char *a, *b; size_t d; } of[] = {
        { "", "", 0 },           { "", "abc", 3 },        { "abc", "", 3 },
        { "train", "train", 0 },
        { "trian", "train", 1 },        /* exchange of i and a */
        { "rtain", "train", 1 },        /* at the beginning */
        { "traing", "train", 1 },       /* one too many */
        { "tain", "train", 1 },         /* one missing */
        { "drain", "train", 1 },        /* another */
        { "rtani", "train", 2 },        /* two exchanges, of other letters */
        { "kitten", "sitting", 3 },     /* Levenshtein's usual example */
        { "ca", "abc", 3 },             /* 2 if a letter could be edited twice */
        { "abcdef", "badcfe", 3 },      /* three exchanges */
        { "ab", "ba", 1 },       { "abc", "cab", 2 },     { "sunday", "saturday", 3 },
        { "--setps", "--steps", 1 },
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const size_t na = strlen(of[i].a), nb = strlen(of[i].b);
        assert_int_equal(nearest_distance(of[i].a, na, of[i].b, nb), of[i].d);
        assert_int_equal(nearest_distance(of[i].b, nb, of[i].a, na), of[i].d);
    }
}

static void words_as_long_as_allowed_are_compared(void **state)
{
    (void)state;
    char a[NEAREST_LONGEST + 2], b[NEAREST_LONGEST + 2];
    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    assert_int_equal(nearest_distance(a, NEAREST_LONGEST, b, NEAREST_LONGEST), NEAREST_LONGEST);
    assert_true(nearest_distance(a, NEAREST_LONGEST + 1, b, 1) == SIZE_MAX);
    assert_true(nearest_distance(a, 1, b, NEAREST_LONGEST + 1) == SIZE_MAX);
}

static const char *at(const void *set, size_t i)
{
    return ((const char *const *)set)[i];
}

static void suggests(const char *const *set, const char *word, const char *expected)
{
    size_t n = 0;
    const char *found = nearest_word(word, strlen(word), at, set, &n);
    if (!expected) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(found, expected, n);
}

static void the_nearest_is_suggested_or_none(void **state)
{
    (void)state;
    static const char *const commands[] = { "train", "generate", "check", "tokenize", NULL };
    static const char *const shells[] = { "bash", "zsh", "fish", NULL };
    static const char *const presets[] = { "tiny|default", "default", NULL };
    static const char *const options[] = { "--ff", "--lr", "--lr-min", "--steps", NULL };
    suggests(commands, "trian", "train");
    suggests(commands, "genrate", "generate");
    suggests(commands, "tokenise", "tokenize");
    suggests(commands, "chekc", "check");
    suggests(commands, "tarni", "train");       /* 2 off, of 5 letters */
    suggests(commands, "tarnig", NULL);         /* 3 off */
    suggests(commands, "plot", NULL);
    suggests(commands, "", NULL);
    suggests(presets, "tyni", "tiny");          /* 2 off, of 4 letters */
    suggests(presets, "Default", "default");
    suggests(shells, "tcsh", NULL);             /* 2 off, and begins otherwise */
    suggests(shells, "bsah", "bash");
    suggests(shells, "fihs", "fish");
    suggests(options, "--setp", "--steps");     /* 2 off, behind its dashes */
    suggests(options, "--tspes", NULL);
    suggests(presets, "ty", NULL);              /* 2 off, of 2 letters */
    suggests(options, "--step", "--steps");
    suggests(options, "--rl", "--lr");
    suggests(options, "--xy", NULL);            /* its dashes do not make it near */
    suggests(options, "-ff", "--ff");
    suggests(options, "--lr-mni", "--lr-min");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_those_counted_by_hand),
        cmocka_unit_test(words_as_long_as_allowed_are_compared),
        cmocka_unit_test(the_nearest_is_suggested_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
