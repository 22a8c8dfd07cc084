/* test_case_file.c -- vt_op_write and vt_check_write: cases as files for another program.
 *
 * That the numbers are right is asked of NumPy (attention by its equations, the parameters of
 * a model against model.safetensors) and, under ./test --torch, of PyTorch (torch_check.py);
 * that names, shapes and masks are those of vitrine_kernel.h, of vt_check_dump.
 */
#include "support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/tensors.h"
#include "scratch.h"
#include "tiny_model.h"
#include "verify/op/kernel_check.h"
#include "vitrine.h"

enum { CASES = 20 };

static double number(const tensors *f, const char *name)
{
    const tensor *t;
    double x;
    assert_ok(tensors_need(f, name, &t, &test_error));
    assert_int_equal(t->rank, 0);
    assert_ok(tensors_read_f64(f, t, &x, &test_error));
    return x;
}

/* Of every operator the dump of every case passes, and all of it is compared. */
static void every_case_is_a_dump(void **state)
{
    (void)state;
    const char *op;
    size_t checked = 0, attended = 0, decided = 0, rows = 0;
    for (int i = 0; (op = vt_op_name(i, NULL)) != NULL; i++) {
        const bool attends = !strcmp(op, "attention") || !strcmp(op, "projected");
        const bool heads = strcmp(op, "softmax") && strcmp(op, "linear") && strcmp(op, "layernorm") &&
                           strcmp(op, "gelu") && strcmp(op, "crossentropy") && strcmp(op, "attention");
        for (size_t n = 1; n <= CASES; n++) {
            char path[400];
            vt_op_written w;
            vt_dump_options o;
            vt_op_report r;
            tensors f;
            /* the large one of each takes seconds under a sanitizer */
            if (n == 12) continue;
            snprintf(path, sizeof path, "%s", scratch("case.npz"));
            assert_ok(vt_op_write(&w, op, n, 42, path, &test_error));
            assert_int_equal(w.of, CASES);
            assert_ok(tensors_open(&f, path, SIZE_MAX, &test_error));
            vt_dump_defaults(&o);
            o.file = path;
            o.op = op;
            o.degenerate = true;
            o.causal = attends && number(&f, "causal") != 0;
            o.temperature = number(&f, "temperature");
            o.heads = heads ? (int)number(&f, "heads") : 0;
            assert_int_equal(o.causal, attends && strstr(w.sizes, "causal") != NULL);
            assert_int_equal(attends && (!o.causal || strstr(w.sizes, "masked")),
                             tensors_find(&f, "mask") != NULL);
            tensors_close(&f);
            const vt_status s = vt_check_dump(&o, &r, &test_error);
            if (s) fail_msg("%s, case %zu (%s): %s", op, n, w.sizes, test_error.text);
            /* where nothing is hidden there is a mask of ones */
            assert_memory_equal(r.cases[0].sizes, w.sizes, strlen(w.sizes));
            assert_true(r.compared > 0 && r.compared == r.of);
            /* what algebra makes 0 (one class, one key) is below its rounding: undecided */
            for (size_t k = 0; k < r.cases[0].nrows; k++) {
                const vt_op_row *row = &r.cases[0].rows[k];
                if (row->kind > VT_ROW_GRADIENT) continue;
                if (row->result == VT_ROW_UNDECIDED)
                    assert_contains(row->note, "no resolution at this scale");
                else assert_int_equal(row->result, VT_ROW_PASS);
                decided += row->result == VT_ROW_PASS;
                rows++;
            }
            vt_op_report_free(&r);
            checked++;
            attended += attends;
        }
    }
    assert_int_equal(checked, 10 * (CASES - 1));
    assert_int_equal(attended, 2 * (CASES - 1));
    assert_true(rows > 1000 && 10 * decided > 9 * rows);
}

/* Attention by its equations; what is outside causal and mask is -inf, and a query that sees
 * nothing is 0. */
static void numpy_computes_attention_again(void **state)
{
    (void)state;
    char name[32];
    vt_op_written w;
    for (size_t n = 1; n <= CASES; n++) {
        snprintf(name, sizeof name, "a%zu.npz", n);
        assert_ok(vt_op_write(&w, "attention", n, 7, scratch(name), &test_error));
    }
    python("import numpy as np\n"
           "compared = blind = 0\n"
           "for n in range(1, 21):\n"
           "    f = np.load('a%d.npz' % n)\n"
           "    q, k, v, do = (f[x].transpose(0, 2, 1, 3) for x in ('q', 'k', 'v', 'do'))\n"
           "    T, S, d = q.shape[2], k.shape[2], q.shape[3]\n"
           "    sees = f['mask'] != 0 if 'mask' in f.files else np.ones((T, S), bool)\n"
           "    if f['causal']: sees = sees & np.tri(T, S, S - T, dtype=bool)\n"
           "    blind += int((~sees.any(1)).sum())\n"
           "    e = np.exp(q @ k.swapaxes(2, 3) / np.sqrt(d)) * sees\n"
           "    total = e.sum(3, keepdims=True)\n"
           "    p = e / np.where(total == 0, 1, total)\n"
           "    dp = do @ v.swapaxes(2, 3)\n"
           "    ds = p * (dp - (p * dp).sum(3, keepdims=True)) / np.sqrt(d)\n"
           "    for name, x in (('o', p @ v), ('dq', ds @ k), ('dk', ds.swapaxes(2, 3) @ q),\n"
           "                    ('dv', p.swapaxes(2, 3) @ do)):\n"
           "        ours, x = f[name], x.transpose(0, 2, 1, 3)\n"
           "        assert ours.dtype == np.float64 and ours.shape == x.shape, name\n"
           "        bound = f['bound.' + name]\n"
           "        assert bound.shape == () and 0 <= bound <= 1e-10, (n, name, bound)\n"
           "        gap = abs(ours - x).max()\n"
           "        assert gap <= 1e-12 * abs(x).max() or gap <= 1e-14, (n, name, gap)\n"
           "        compared += 1\n"
           "assert blind > 3\n"
           "print('compared', compared)\n", 4 * CASES);
}

static void a_model_is_written(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        vt_model *m;
        vt_check_options o;
        vt_info_data info;
        char folder[300], path[400];
        const vt_train_options t = tiny_options(tied ? "tied" : "untied", 8, tied);
        tiny_train(&t);
        snprintf(folder, sizeof folder, "%s", t.out);
        assert_ok(vt_model_open(&m, folder, 1, NULL, &test_error));
        snprintf(path, sizeof path, "%s", scratch(tied ? "tied.npz" : "untied.npz"));
        vt_check_defaults(&o);
        assert_ok(vt_check_write(m, &o, path, &test_error));
        vt_info(m, &info);
        vt_model_close(m);
        if (!tied) continue;
        /* what is in it is the operator gpt, gradients and all */
        vt_dump_options d;
        vt_op_report r;
        vt_dump_defaults(&d);
        d.file = path;
        d.op = "gpt";
        d.precision = "float64";
        d.heads = info.heads;
        d.degenerate = true;
        assert_ok(vt_check_dump(&d, &r, &test_error));
        size_t gradients = 0;
        for (size_t k = 0; k < r.cases[0].nrows; k++)
            if (r.cases[0].rows[k].kind == VT_ROW_GRADIENT) gradients += r.cases[0].rows[k].compared;
        assert_int_equal(gradients, info.parameters);
        vt_op_report_free(&r);
    }
    python("import numpy as np, json, struct\n"
           "compared = 0\n"
           "for kind in ('tied', 'untied'):\n"
           "    raw = open(kind + '/model.safetensors', 'rb').read()\n"
           "    n = struct.unpack('<Q', raw[:8])[0]\n"
           "    f = np.load(kind + '.npz')\n"
           "    for name, t in json.loads(raw[8:8 + n]).items():\n"
           "        if name == '__metadata__': continue\n"
           "        begin, end = t['data_offsets']\n"
           "        x = np.frombuffer(raw[8 + n + begin:8 + n + end], '<f4').reshape(t['shape'])\n"
           "        if name == 'lm_head.weight': x = x.T\n"
           "        ours = f[name.replace('transformer.', '')]\n"
           "        assert ours.dtype == np.float32 and np.array_equal(ours, x), name\n"
           "        assert f['d' + name.replace('transformer.', '')].shape == x.shape\n"
           "        compared += 1\n"
           "    assert f['tokens'].shape == f['targets'].shape == f['loss'].shape == f['dloss'].shape\n"
           "    assert f['heads'] == 3 and f['causal'] == 1\n"
           "print('compared', compared)\n", 2 * (2 + 2 * 12 + 2) + 1);
}

/* Case n of a file is case n of vt_check_kernel, number by number. */
static void a_case_is_that_of_the_check(void **state)
{
    (void)state;
    for (int n = 1; n <= 3; n++) {
        const char *path = scratch("same.npz");
        vt_op_written w;
        graph_sizes z;
        double scale;
        precision p;
        op_case c;
        tensors f;
        const tensor *t;
        assert_ok(vt_op_write(&w, "attention", (size_t)n, 42, path, &test_error));
        assert_true(kernel_check_case(VT_OP_ATTENTION, n, 42, &z, &scale, &p));
        assert_ok(op_case_draw(&c, &z, p, scale, 42 + (uint64_t)n, &test_error));
        assert_ok(tensors_open(&f, path, SIZE_MAX, &test_error));
        assert_ok(tensors_need(&f, "q", &t, &test_error));
        double *q = malloc(t->count * sizeof *q);
        assert_non_null(q);
        assert_ok(tensors_read_f64(&f, t, q, &test_error));
        assert_memory_equal(q, c.x + c.g.tensor[graph_find(&c.g, "q")].at, t->count * sizeof *q);
        free(q);
        tensors_close(&f);
        op_case_free(&c);
    }
}

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    vt_op_written w;
    const char *path = scratch("never.npz");
    assert_int_equal(vt_op_write(&w, "atention", 1, 0, path, &test_error), VT_USAGE);
    assert_contains(test_error.text, "atention: expected softmax");
    assert_int_equal(vt_op_write(&w, "softmax", 0, 0, path, &test_error), VT_USAGE);
    assert_contains(test_error.text, "case 0: expected 1 to 20");
    assert_int_equal(vt_op_write(&w, "softmax", 21, 0, path, &test_error), VT_USAGE);
    assert_int_equal(vt_op_write(&w, "softmax", 1, 0, scratch("never.txt"), &test_error), VT_USAGE);
    assert_int_equal(vt_op_write(&w, "softmax", 1, 0, scratch("nowhere/x.npz"), &test_error), VT_IO);
    assert_null(fopen(path, "rb"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_a_dump),
        cmocka_unit_test(numpy_computes_attention_again),
        cmocka_unit_test(a_model_is_written),
        cmocka_unit_test(a_case_is_that_of_the_check),
        cmocka_unit_test(what_cannot_be_written_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
