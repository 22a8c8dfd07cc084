/* test_sha256.c -- FIPS 180-4's examples, and this processor's instructions against
 * libmd's portable function, for all lengths around the block's and however the text
 * comes in pieces.
 */
#include "support.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "base/sha256.h"
#include <stdlib.h>
#include <string.h>

static void hash(char hex[65], const void *data, size_t n)
{
    sha256 h;
    sha256_begin(&h);
    sha256_add(&h, data, n);
    sha256_end(&h, hex);
}

/* FIPS 180-2, appendix B, and NIST's examples of SHA-256 of no byte and of a million. */
static void the_standard_s_examples(void **state)
{
    (void)state;
    char hex[65];
    hash(hex, "", 0);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    hash(hex, "abc", 3);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    hash(hex, two, strlen(two));
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    hash(hex, million, 1000000);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

static void instructions_and_library_agree(void **state)
{
    (void)state;
    enum { MOST = 1000 };
    unsigned char text[MOST];
    char ours[65], theirs[65];
    rng r;
    rng_seed(&r, 3);
    if (!cpu_has_sha()) print_message("no SHA instructions here: libmd against itself\n");
    for (size_t n = 0; n < MOST; n++) {
        sha256 h, plain;
        text[n] = (unsigned char)rng_integers(&r, 0, 256);
        sha256_begin(&h);
        assert_true(h.own == cpu_has_sha());
        for (size_t at = 0; at < n;) {              /* in pieces of any length, 0 too */
            const size_t left = n - at, piece = (size_t)rng_integers(&r, 0, 150);
            sha256_add(&h, text + at, piece < left ? piece : left);
            at += piece < left ? piece : left;
        }
        sha256_end(&h, ours);
        sha256_begin_plain(&plain);
        sha256_add(&plain, text, n);
        sha256_end(&plain, theirs);
        assert_string_equal(ours, theirs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_standard_s_examples),
        cmocka_unit_test(instructions_and_library_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
