# cli_rows.sh -- the map of known faults and tests: each way in which it can be
# wrong, in a small tree made here.
# asan: no, it runs no program of ours
. "${0%/*}/tap.sh"
rows=$root/tools/rows.sh

fresh() {
    rm -rf tree
    mkdir -p tree/docs tree/tests/golden
    printf '%s\n' '# Faults' '' '| id | area | what must hold |' '|---|---|---|' \
        '| AB-01 | one | This, as in AB-02. |' '| CDE-12 | two words | That. |' \
        > tree/docs/known-faults.md
    printf '%s\n' '/* AB-01: first */' '/* AB-01, CDE-12: UTF-16, T-1, AB-012, XAB-0, V-10 */' \
        > tree/tests/test_one.c
    echo '# CDE-12 at the command' > tree/tests/cli_two.sh
    echo '{ "ZZ-99": 1 }' > tree/tests/golden/data.json
}
fresh
tab=$(printf '\t')
exits 0 "a tree in which each row has its tests" sh "$rows" tree
is "$out" "AB-01${tab}one${tab}tests/test_one.c:1 tests/test_one.c:2
CDE-12${tab}two words${tab}tests/test_one.c:2 tests/cli_two.sh:1
rows: 2 rows, each named by a test" "  each row with its tests, in the table's order"
is "$err" "" "  no complaint"

exits 0 "the same as a table" sh "$rows" --table table.md tree
is "$(sed -n 5,6p table.md)" "| AB-01 | one | This, as in AB-02. | [tests/test_one.c:1]($tmp/tree/tests/test_one.c#L1), \
[tests/test_one.c:2]($tmp/tree/tests/test_one.c#L2) |
| CDE-12 | two words | That. | [tests/test_one.c:2]($tmp/tree/tests/test_one.c#L2), [tests/cli_two.sh:1]($tmp/tree/tests/cli_two.sh#L1) |" \
    "  with a link for each place"

echo '| FG-03 | three | Nobody looks. |' >> tree/docs/known-faults.md
exits 1 "a row without a test" sh "$rows" tree
is "$err" "rows: FG-03 (three): no test names it" "  is named"

fresh
echo '/* AB-03 */' >> tree/tests/test_one.c
exits 1 "a test that names a row which is not there" sh "$rows" tree
is "$err" "rows: AB-03: named at tests/test_one.c:3, but no row" "  is named"

fresh
echo '| AB-01 | again | Twice. |' >> tree/docs/known-faults.md
exits 1 "a row that stands twice" sh "$rows" tree
contains "$err" "rows: AB-01: stands twice, second time at docs/known-faults.md:7" "  is named"

fresh
echo 'No table.' > tree/docs/known-faults.md
rm tree/tests/cli_two.sh
echo > tree/tests/test_one.c
exits 1 "a table without rows is no pass" sh "$rows" tree
rm tree/docs/known-faults.md
exits 1 "nor is none" sh "$rows" tree
contains "$err" "there is no docs/known-faults.md" "  which is said"
fresh
rm tree/tests/*.*
exits 1 "nor are no tests" sh "$rows" tree
finish
