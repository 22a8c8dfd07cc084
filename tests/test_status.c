/* test_status.c -- messages and checked sizes. */
#include "support.h"
#include <string.h>

/* The end of a long message stays, for what was expected stands there. */
static void message_is_cut_between_characters(void **state)
{
    (void)state;
    enum { ROOM = sizeof ((vt_error *)NULL)->text - 1, MOST = 2000 };
    char text[MOST + 1];
    for (size_t n = ROOM - 8; n <= MOST; n += n < ROOM + 8 ? 1 : 97)
        for (size_t shift = 0; shift < 4; shift++) {    /* U+1F60A across each cut */
            vt_error err;
            memset(text, 'a', n);
            text[n] = 0;
            for (size_t at = shift; at + 4 < n - 5; at += 4) memcpy(text + at, "\xF0\x9F\x98\x8A", 4);
            memcpy(text + n - 5, " tail", 5);
            assert_int_equal(fail(&err, VT_BAD_INPUT, "%s", text), VT_BAD_INPUT);
            const size_t length = strlen(err.text);
            if (n <= ROOM) { assert_string_equal(err.text, text); continue; }
            const char *gap = strstr(err.text, " ... ");
            assert_non_null(gap);
            const size_t head = (size_t)(gap - err.text), tail = length - head - 5;
            assert_true(length <= ROOM && length >= ROOM - 6);
            assert_true(head + 8 > tail && tail + 8 > head);        /* halves */
            assert_memory_equal(err.text, text, head);
            assert_string_equal(gap + 5, text + n - tail);
            assert_null(strchr(err.text, '?'));                     /* no part of a character */
        }
    assert_int_equal(fail(NULL, VT_IO, "nobody listens"), VT_IO);
}

/* Of one that is longer than any the beginning, too. */
static void a_message_without_end_ends(void **state)
{
    (void)state;
    static char text[100001];
    vt_error err;
    memset(text, 'b', sizeof text - 1);
    memcpy(text, "begins", 6);
    assert_int_equal(fail(&err, VT_IO, "%s", text), VT_IO);
    assert_memory_equal(err.text, "begins", 6);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    memset(text, '\x80', sizeof text - 1);                          /* no character at all */
    assert_int_equal(fail(&err, VT_IO, "%s", text), VT_IO);
    assert_true(strlen(err.text) < sizeof err.text);
}

static void a_message_is_one_line(void **state)
{
    (void)state;
    vt_error err;
    assert_int_equal(fail(&err, VT_IO, "%s: \"%s\"", "a\tb", "x\n\x1B[2J\x7F\xC3\xA9"), VT_IO);
    assert_string_equal(err.text, "a?b: \"x??[2J?\xC3\xA9\"");
    /* C1 as a byte and as UTF-8, a bidirectional override, a cut character. */
    assert_int_equal(fail(&err, VT_IO, "\x9B" "1m|\xC2\x9B" "1m|\xE2\x80\xAE|\xE2\x81\xA7|\xE2\x82"), VT_IO);
    assert_string_equal(err.text, "?1m|?1m|?|?|??");
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    size_t r = 7;
    assert_true(size_mul(0, SIZE_MAX, &r));
    assert_int_equal(r, 0);
    assert_true(size_mul(SIZE_MAX, 1, &r));
    assert_true(r == SIZE_MAX);
    assert_false(size_mul((size_t)1 << 32, (size_t)1 << 32, &r));
    assert_true(size_add(SIZE_MAX, 0, &r));
    assert_false(size_add(SIZE_MAX, 1, &r));
    /* NUM-01: 48 x 1024 x 50257 does not fit an int; it fits here. */
    assert_true(size_mul(48 * 1024, 50257, &r));
    assert_true(r == 2470232064u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_is_cut_between_characters),
        cmocka_unit_test(a_message_without_end_ends),
        cmocka_unit_test(a_message_is_one_line),
        cmocka_unit_test(sizes_that_overflow_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
