#!/bin/sh
# rows.sh -- the rows of docs/known-faults.md and the tests that name them.
#
# usage: tools/rows.sh [ROOT]
#        tools/rows.sh --table FILE [ROOT]   writes them as a table with links, too;
#                                            the build does, to build/known-faults.md
#
#   a row      | ATT-03 | area | what must hold |   in docs/known-faults.md
#   its tests  every line of a file directly in tests/ that has the id ATT-03
#
# An id is two or more capitals, a hyphen and two digits; names of encodings and
# sums that look like one are listed below.  Prints one row a line, tabs between:
#
#     ID   AREA   FILE:LINE ...
#
# and on standard error each fault: a row that no test names, a row that stands
# twice, an id in a test that no row has.  Exit status: 0 without faults, else 1.
set -u
LC_ALL=C; export LC_ALL
here=$PWD written=
if [ "${1-}" = --table ]; then
    [ -n "${2-}" ] || { echo "usage: tools/rows.sh [--table FILE] [ROOT]" >&2; exit 2; }
    written=$2; shift 2
    case $written in /*) ;; *) written=$here/$written ;; esac
fi
cd "${1:-$(dirname "$0")/..}" || exit 1
root=$PWD
table=docs/known-faults.md
[ -f $table ] || { echo "rows: there is no $table" >&2; exit 1; }

tests=
for file in tests/*.c tests/*.h tests/*.sh tests/*.py; do
    case $file in */cli_rows.sh) continue ;; esac   # its examples are no rows
    [ ! -f "$file" ] || tests="$tests $file"
done
[ -n "$tests" ] || { echo "rows: no tests in $PWD/tests" >&2; exit 1; }

# shellcheck disable=SC2086                     # names without blanks
awk -v written="${written:+$written.new}" -v root="$root" '
function fault(text) { print "rows: " text > "/dev/stderr"; bad = 1 }
# The places as links, for a table that may lie anywhere.
function links(places,    n, part, i, at, out) {
    n = split(places, part, " ")
    for (i = 1; i <= n; i++) {
        at = part[i]; sub(/:/, "#L", at)
        out = out (i > 1 ? ", " : "") "[" part[i] "](" root "/" at ")"
    }
    return n ? out : "**none**"
}
BEGIN { other["UTF-16"]; other["UTF-32"]; other["CRC-32"] }

FILENAME == ARGV[1] {
    if (!match($0, /^\| [A-Z][A-Z]+-[0-9][0-9] \|/)) next
    id = substr($0, 3, RLENGTH - 4)
    split($0, cell, / *\| */)
    if (id in area) { fault(id ": stands twice, second time at " FILENAME ":" FNR); next }
    area[id] = cell[3]; must[id] = cell[4]
    order[++rows] = id
    next
}
{
    rest = " " $0 " "
    while (match(rest, /[^A-Za-z0-9_][A-Z][A-Z]+-[0-9][0-9][^A-Za-z0-9_]/)) {
        id = substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH - 1)       # the next id may begin here
        if (id in other) continue
        place = FILENAME ":" FNR
        if (!(id in area)) { fault(id ": named at " place ", but no row"); continue }
        if (place == last[id]) continue
        last[id] = place
        tests[id] = tests[id] " " place
    }
}
END {
    if (written) print "# Known faults, and the tests of each\n\n| id | area | what must hold | tests |\n|---|---|---|---|" > written
    for (i = 1; i <= rows; i++) {
        id = order[i]
        if (!(id in tests)) fault(id " (" area[id] "): no test names it")
        if (written) print "| " id " | " area[id] " | " must[id] " | " links(tests[id]) " |" > written
        print id "\t" area[id] "\t" substr(tests[id], 2)
    }
    if (!rows) fault("no row in the table")
    print "rows: " rows + 0 " rows" (bad ? ", not all with tests" : ", each named by a test")
    exit bad
}' $table $tests
status=$?
[ -z "$written" ] || mv "$written.new" "$written" || exit 1
exit $status
