# cli_measure.sh -- tools/measure-for-site: figures stand with the commit that the
# program was built from; a self-test that fails leaves none.
# asan: no, it runs a program made here
. "${0%/*}/tap.sh"
measure=$root/tools/measure-for-site

program() {                             # COMMIT, EXIT CODE of the self-test
    printf '%s\n' '#!/bin/sh' \
        "[ \"\$1\" = --version ] && { printf 'vitrine 0\ncommit  %s\nbuild   x\n' $1; exit 0; }" \
        '[ "$*" = "check --self-test --json" ] || exit 2' \
        'echo run >> runs; echo "{\"found\": 7}"' "exit $2" > vitrine
    chmod +x vitrine
}
key() { /usr/bin/python3 -c 'import json, sys; m = json.load(open("out/m.json")); print(eval("m" + sys.argv[1]))' "$1"; }
runs() { wc -l < runs; }

program abc 0
exits 0 "figures are written, the folder is made" sh "$measure" ./vitrine out/m.json
is "$(key '["commit"]') $(key '["modified"]') $(key '["selfTest"]["found"]')" "abc False 7" "with the commit"
exits 0 "again" sh "$measure" ./vitrine out/m.json
is "$(runs)" 1 "nothing is run where nothing changed"

program def-modified 0
touch -d '1 hour ago' vitrine
exits 0 "another commit" sh "$measure" ./vitrine out/m.json
is "$(key '["commit"]') $(key '["modified"]') $(runs)" "def True 2" "is measured, and said to be changed"

touch -d '1 hour' vitrine
exits 0 "a newer program of the same commit" sh "$measure" ./vitrine out/m.json
is "$(runs)" 3 "is measured"

program abc 1
exits 1 "a self-test that fails" sh "$measure" ./vitrine out/m.json
contains "$err" "check --self-test failed" "is an error"
is "$(key '["commit"]') $(ls out)" "def m.json" "the figures before stay, nothing half-written does"

refuses 4 "./none: no program; build it first" "no program" sh "$measure" ./none out/m.json
refuses 2 "usage: tools/measure-for-site" "no words" sh "$measure"
finish
