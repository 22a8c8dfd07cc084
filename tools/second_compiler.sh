#!/bin/sh
# second_compiler.sh -- clang's warnings on every source of the build: none, or this fails.
#
# usage: tools/second_compiler.sh [BUILD]        (BUILD: build/clang, as its preset makes it)
#
# Warnings come before any code is made: none is made here.  And a start of clang takes longer
# than most of these sources: all that the build would compile alike, as its
# compile_commands.json says, are read by one compiler, one after the other (clang -cc1).
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1-build/clang}
[ -e "$build/compile_commands.json" ] || { echo "second_compiler: $build/compile_commands.json is not there (cmake --preset clang)" >&2; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
newline='
'
# One line each: how, a tab, the source; alike ones together.
awk '/^ *"command": / {
        sub(/^ *"command": "/, ""); sub(/",?$/, "")
        gsub(/\\"/, "\""); gsub(/\\\\/, "\\")
        at = match($0, / -o [^ ]* -c /)
        if (at == 0) { print "second_compiler: no source in: " $0 > "/dev/stderr"; exit 1 }
        print substr($0, 1, at - 1) "\t" substr($0, at + RLENGTH)
    }' "$build/compile_commands.json" > "$work/all" || exit 1
sort "$work/all" > "$work/sorted"
[ -s "$work/sorted" ] || { echo "second_compiler: no source in $build/compile_commands.json" >&2; exit 1; }

bad=0
read_alike() {                                  # HOW, and what is on lines of $work/alike
    eval "set -- $1"
    "$@" -fsyntax-only '-###' "$(head -n 1 "$work/alike")" > "$work/said" 2>&1
    # Its own words, quoted, the last of them the source; what it read is freed before the next.
    words=$(tail -n 1 "$work/said" | sed 's/ "-disable-free"//')
    case $words in
        ' "'*) eval "set -- ${words% \"*}" ;;
        *)     cat "$work/said" >&2; bad=1; return ;;
    esac
    IFS=$newline
    # shellcheck disable=SC2046                 # a line is a source
    set -- "$@" $(cat "$work/alike")
    unset IFS
    (cd "$build" && "$@") || bad=1
}
before=
while IFS='	' read -r how file; do
    if [ "$how" != "$before" ]; then
        [ -z "$before" ] || read_alike "$before"
        : > "$work/alike"
        before=$how
    fi
    printf '%s\n' "$file" >> "$work/alike"
done < "$work/sorted"
read_alike "$before"
[ $bad -eq 0 ] || exit 1
echo "second compiler: no warning in $(cut -f2 "$work/sorted" | sort -u | wc -l) files, $(wc -l < "$work/sorted") readings"
