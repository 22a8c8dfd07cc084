/* test_entry_name.c -- what an entry of a parameter is, in words: expected by hand
 * from the layouts in tensors.def, L 2, C 6, NH 3 (heads of 2), FF 7, T 5, V 11.
 */
#include "support.h"
#include <stdlib.h>
#include <string.h>
#include "verify/model/entry_name.h"

static const gpt_config z = { .L = 2, .C = 6, .NH = 3, .FF = 7, .T = 5, .V = 11 };

static void every_tensor_by_hand(void **state)
{
    (void)state;
    static const struct { const char *tensor; size_t entry; const char *words; } rows[] = {
        { "wte", 0, "token 0, channel 0" },
        { "wte", 10 * 6 + 5, "token 10, channel 5" },
        { "wpe", 4 * 6 + 1, "position 4, channel 1" },
        { "h.0.ln1w", 3, "layer 0, gain before attention, channel 3" },
        { "h.1.ln1b", 5, "layer 1, bias before attention, channel 5" },
        { "h.0.qkvw", 0, "layer 0, head 0, Wq, row 0 (input channel), column 0" },
        { "h.1.qkvw", 5, "layer 1, head 2, Wq, row 0 (input channel), column 1" },
        { "h.1.qkvw", 3 * 18 + 6, "layer 1, head 0, Wk, row 3 (input channel), column 0" },
        { "h.1.qkvw", 3 * 18 + 9, "layer 1, head 1, Wk, row 3 (input channel), column 1" },
        { "h.0.qkvw", 5 * 18 + 17, "layer 0, head 2, Wv, row 5 (input channel), column 1" },
        { "h.0.qkvb", 0, "layer 0, head 0, bq, entry 0" },
        { "h.0.qkvb", 11, "layer 0, head 2, bk, entry 1" },
        { "h.1.qkvb", 14, "layer 1, head 1, bv, entry 0" },
        { "h.0.attprojw", 3 * 6 + 4,
          "layer 0, Wo, row 3 (head 1, value 1), column 4 (output channel)" },
        { "h.1.attprojb", 2, "layer 1, bias of attention's projection, channel 2" },
        { "h.1.ln2w", 0, "layer 1, gain before the MLP, channel 0" },
        { "h.1.ln2b", 1, "layer 1, bias before the MLP, channel 1" },
        { "h.0.fcw", 2 * 7 + 6, "layer 0, row 2 (input channel), column 6 (hidden unit)" },
        { "h.0.fcb", 6, "layer 0, bias of the MLP, hidden unit 6" },
        { "h.1.fcprojw", 6 * 6 + 2, "layer 1, row 6 (hidden unit), column 2 (output channel)" },
        { "h.1.fcprojb", 5, "layer 1, bias of the MLP's projection, channel 5" },
        { "lnfw", 4, "gain before the head, channel 4" },
        { "lnfb", 5, "bias before the head, channel 5" },
        { "headw", 5 * 11 + 10, "row 5 (channel), column 10 (token)" },
    };
    gpt_tensor list[40];
    const size_t n = gpt_tensor_count(&z);
    bool named[40] = { false };
    assert_true(n <= 40);
    gpt_tensor_list(&z, list);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t k = 0;
        while (k < n && strcmp(list[k].name, rows[i].tensor) != 0) k++;
        assert_true(k < n && rows[i].entry < list[k].count);
        char out[VT_CHECK_PLACE];
        entry_name(out, &z, &list[k], rows[i].entry);
        assert_string_equal(out, rows[i].words);
        named[k] = true;
    }
    /* each kind of tensor was among them, in one layer or the other */
    for (size_t k = 0; k < n; k++) {
        size_t other = k;
        if (list[k].layer == 0) other = k + 12;
        if (list[k].layer == 1) other = k - 12;
        if (!named[k] && !named[other]) fail_msg("%s is not among the rows", list[k].name);
    }
}

/* The longest fits; of an unknown tensor there are rows and columns. */
static void edges(void **state)
{
    (void)state;
    const gpt_config big = { .L = 2147483647, .C = 2147483647, .NH = 1, .FF = 2147483647,
                             .T = 2147483647, .V = 2147483647 };
    gpt_tensor t = { .layer = 2147483647, .rows = 2147483647, .cols = 2147483647 };
    char out[VT_CHECK_PLACE];
    strcpy(t.name, "h.2147483646.attprojw");
    entry_name(out, &big, &t, (size_t)2147483646 * 2147483647 + 2147483646);
    assert_contains(out, "layer 2147483647, Wo, row 2147483646 (head 0, value 2147483646), column");
    assert_true(strlen(out) < VT_CHECK_PLACE);
    strcpy(t.name, "other");
    t.layer = -1;
    t.cols = 4;
    entry_name(out, &z, &t, 9);
    assert_string_equal(out, "row 2, column 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tensor_by_hand),
        cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
