/* test_status.c -- messages and checked sizes. */
#include "support.h"
#include <string.h>

static void message_is_cut_between_characters(void **state)
{
    (void)state;
    char text[2000];
    memset(text, 'a', sizeof text);
    for (int shift = 0; shift < 4; shift++) {       /* U+1F60A across the cut */
        vt_error err;
        memset(text, 'a', 595 + (size_t)shift);
        memcpy(text + 595 + shift, "\xF0\x9F\x98\x8A tail", 10);
        assert_int_equal(fail(&err, VT_BAD_INPUT, "%s", text), VT_BAD_INPUT);
        const size_t n = strlen(err.text);
        assert_true(n < sizeof err.text);
        assert_true(n == 599 || n == 595 + (size_t)shift);
        if (n == 599) assert_memory_equal(err.text + 595, "\xF0\x9F\x98\x8A", 4);
        else assert_int_equal(err.text[n - 1], 'a');
    }
    assert_int_equal(fail(NULL, VT_IO, "nobody listens"), VT_IO);
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
        cmocka_unit_test(a_message_is_one_line),
        cmocka_unit_test(sizes_that_overflow_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
