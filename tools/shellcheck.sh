#!/bin/sh
# tools/shellcheck.sh -- runs shellcheck over all shell scripts: no warning, or this fails.
#
# usage: tools/shellcheck.sh [FILE...]
#
# Off for all: SC1007 (`a= b=` empties variables), SC1091 (scripts are read where they
# lie), SC2266 (`a | b || c`, which it takes for a slip), SC3013 and SC3045 (dash has
# -nt, ulimit -c and -n); in tests, which are sourced or begin without #!, SC2148, SC2154
# (tap.sh sets the variables) and SC2034 (and reads them).
set -u
LC_ALL=C; export LC_ALL
cd "$(dirname "$0")/.." || exit 1
# shellcheck disable=SC2046                     # names are words
[ $# -ne 0 ] || set -- run test .ci/run $(grep -lE '^#!/bin/(ba)?sh' tools/*) tools/*.sh tests/*.sh tests/*/*.sh
files=$(printf '%s\n' "$@" | sort -u)
bad=0
for file in $files; do
    off=SC1007,SC1091,SC2266,SC3013,SC3045
    case $file in tests/*|tools/trial.sh) off=$off,SC2148,SC2154,SC2034 ;; esac
    shell=
    case $(head -n 1 "$file") in '#!'*) ;; *) shell='-s sh' ;; esac
    # shellcheck disable=SC2086                 # two words, or none
    shellcheck -S warning -e $off $shell -f gcc "$file" || bad=1
done
[ $bad = 0 ] || exit 1
echo "shellcheck: no warning in $(echo "$files" | wc -l) scripts"
