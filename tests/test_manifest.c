/* test_manifest.c -- a folder against its manifest.  Oracle of the hashes:
 * Python's hashlib.
 */
#include "support.h"
#include "scratch.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "provenance/manifest.h"

static char one[256], two[256];     /* two folders */
static const char *const names[4] = { "state.safetensors", "model.safetensors", "config.json",
                                      "tokenizer.json" };

static const char *in(const char *folder, const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_folder(const char *folder, bytes *text)
{
    js_writer w;
    for (size_t i = 0; i < 4; i++)
        assert_ok(io_replace(in(folder, names[i]), names[i], strlen(names[i]) - i, &test_error));
    js_begin(&w, text, JS_PRETTY);
    js_open_object(&w);
    manifest_write_build(&w);
    char hashes[MANIFEST_FILES][65];
    const char *all[MANIFEST_FILES];
    for (size_t i = 0; i < MANIFEST_FILES; i++) {
        assert_ok(sha256_hex_file(hashes[i], in(folder, names[i]), &test_error));
        all[i] = hashes[i];
    }
    manifest_write_files(&w, all);
    js_close_object(&w);
    assert_ok(js_end(&w, &test_error));
    assert_ok(io_replace(in(folder, MANIFEST_NAME), text->data, text->len, &test_error));
}

static void a_manifest_does_not_depend_on_the_place(void **state)
{
    (void)state;
    bytes a = { 0 }, b = { 0 };
    write_folder(one, &a);
    write_folder(two, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    assert_null(strstr((const char *)a.data, "/tmp"));
    assert_ok(manifest_verify(one, &test_error));

    json_t *root = NULL;
    const json_t *build = NULL;
    const char *text = NULL;
    assert_ok(js_parse(&root, a.data, a.len, "manifest", &test_error));
    assert_ok(js_get_object(root, "vitrine", "manifest", &build, &test_error));
    assert_ok(js_get_string(build, "version", "manifest", &text, &test_error));
    assert_string_equal(text, vt_version().version);
    assert_ok(js_get_string(build, "commit", "manifest", &text, &test_error));
    assert_string_equal(text, vt_version().commit);
    assert_ok(js_get_string(build, "build", "manifest", &text, &test_error));
    assert_string_equal(text, vt_version().build);
    json_decref(root);
    bytes_free(&a);
    bytes_free(&b);
}

static void the_hashes_are_pythons(void **state)
{
    (void)state;
    python("import hashlib, json\n"
           "files = json.load(open('one/manifest.json'))['files']\n"
           "assert list(files) == ['state.safetensors', 'model.safetensors', 'config.json', "
           "'tokenizer.json']\n"
           "for name, want in files.items():\n"
           "    assert hashlib.sha256(open('one/' + name, 'rb').read()).hexdigest() == want, name\n"
           "print('compared', len(files))\n", 4);
}

static void the_file_that_differs_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        bytes kept;
        assert_ok(io_read(&kept, in(one, names[i]), 1000, &test_error));
        kept.data[kept.len - 1] ^= 1;                   /* one bit */
        assert_ok(io_replace(in(one, names[i]), kept.data, kept.len, &test_error));
        assert_int_equal(manifest_verify(one, &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, names[i]);
        assert_contains(test_error.text, "manifest.json");
        kept.data[kept.len - 1] ^= 1;                   /* a byte less */
        assert_ok(io_replace(in(one, names[i]), kept.data, kept.len - 1, &test_error));
        assert_int_equal(manifest_verify(one, &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, names[i]);
        assert_int_equal(unlink(in(one, names[i])), 0);
        assert_int_equal(manifest_verify(one, &test_error), VT_IO);
        assert_contains(test_error.text, names[i]);
        assert_ok(io_replace(in(one, names[i]), kept.data, kept.len, &test_error));
        assert_ok(manifest_verify(one, &test_error));
        bytes_free(&kept);
    }
}

static void a_manifest_that_is_none_is_refused(void **state)
{
    (void)state;
    static const struct { const char *text, *says; } row[] = {
        { "", "manifest.json: line 1" },
        { "{\"files\": 7}", "field \"files\": expected an object, found 7" },
        { "{}", "field \"files\": expected an object, found nothing" },
        { "{\"files\": {}}", "field \"state.safetensors\": expected a string, found nothing" },
        { "{\"files\": {\"state.safetensors\": \"abc\"}}",
          "field \"model.safetensors\": expected a string, found nothing" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_ok(io_replace(in(two, MANIFEST_NAME), row[i].text, strlen(row[i].text),
                             &test_error));
        assert_int_equal(manifest_verify(two, &test_error), VT_BAD_INPUT);
        assert_contains(test_error.text, row[i].says);
    }
    assert_int_equal(unlink(in(two, MANIFEST_NAME)), 0);
    assert_int_equal(manifest_verify(two, &test_error), VT_IO);
    assert_contains(test_error.text, MANIFEST_NAME);
}

static int make_folders(void **state)
{
    if (scratch_make(state)) return 1;
    snprintf(one, sizeof one, "%s", scratch("one"));
    snprintf(two, sizeof two, "%s", scratch("two"));
    return io_mkdir(one, NULL) || io_mkdir(two, NULL) ? 1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_does_not_depend_on_the_place),
        cmocka_unit_test(the_hashes_are_pythons),
        cmocka_unit_test(the_file_that_differs_is_named),
        cmocka_unit_test(a_manifest_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folders, scratch_remove);
}
