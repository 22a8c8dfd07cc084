#!/bin/sh
# cppcheck.sh -- cppcheck over all of src: no finding, or this fails.
#
# usage: tools/cppcheck.sh [BUILD [FILE...]]     (BUILD: build, for its headers)
#
# A finding that is wrong is suppressed at its line, with the reason.  Of these
# kinds all were wrong, so they are off:
#   invalidFunctionArg  log() of a sum of exponentials, which it takes for 0
#   ctuPointerArith, ctuuninitvar  across functions it takes an array that is
#                       filled for one that is read; gcc warns of the others
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1-build}
[ $# -eq 0 ] || shift
[ $# -ne 0 ] || set -- src
cppcheck -q --error-exitcode=1 -j "$(nproc)" --std=c11 --enable=warning,performance,portability \
    --inline-suppr --suppress=invalidFunctionArg --suppress=ctuPointerArith --suppress=ctuuninitvar \
    --template='{file}:{line}: {message} [{id}]' \
    -Iinclude -Isrc "-I$build/generated" -D_DEFAULT_SOURCE -DVT_SCALAR=64 -DVT_FLOAT128=1 \
    -DVT_ISA=portable -DVT_ISA_portable=1 -DVT_X86=1 -DSPECIMEN_BITS=64 "$@" || exit 1
echo "cppcheck: no finding in $(find "$@" -name '*.c' | wc -l) files"
