#!/bin/sh
# eqmap.sh -- the map equation -> lines -> tests of the whole tree.
#
# usage: sh tools/eqmap.sh            prints the map: see tools/eqmap.awk
#        sh tools/eqmap.sh --files    prints the files it reads
#
# These are all sources of the library and all programs of tests.  The command
# (src/cli) computes nothing.
set -u
cd "$(dirname "$0")/.." || exit 1
files=$(find src -name '*.[ch]' ! -path 'src/cli/*' | LC_ALL=C sort; printf '%s\n' tests/test_*.c)
case ${1-} in
    --files) echo "$files" ;;
    '') # shellcheck disable=SC2086              # the files are words
        exec awk -f tools/eqmap.awk $files ;;
    *) echo "usage: sh tools/eqmap.sh [--files]" >&2; exit 2 ;;
esac
