#!/bin/sh
# analyze.sh -- gcc -fanalyzer over all of src: leaks, use after free, null
# pointers, along each path through a function.  No finding, or this fails.
#
# usage: tools/analyze.sh [BUILD [FILE...]]      (BUILD: build, for its headers)
#
# Each source once: of those that are compiled several times, the double
# definitions and the portable kernels.  Not the kernels that name nothing which can be
# leaked, freed twice or closed: of what is on below only stale pointers to a stack frame
# would be left to find, which gcc -Wall and the address sanitizer look for, too, and the
# loops of gemm_fast.c alone take a tenth of the time.  Off, since all that gcc 12 found was wrong:
#   null-dereference, null-argument   that a pointer "is NULL" on a path through
#                       several functions that no call takes; an allocation that
#                       nobody looked at is another warning, and stays
#   use-of-uninitialized-value        of a constant that memcpy copies
#   malloc-leak in op_case.c          six pointers of a table, taken for one
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1-build}
[ $# -eq 0 ] || shift
without=0
if [ $# -eq 0 ]; then
    owns='alloc|free|open|close|dup|arena|bytes_|io_|va_start|longjmp|signal|pthread'
    # shellcheck disable=SC2046                 # names are words
    set -- $(find src -name '*.c' ! -path 'src/wasm/*' ! -path 'src/kernels/*') \
           $(grep -lEr --include='*.c' "$owns" src/kernels)
    without=$(grep -LEr --include='*.c' "$owns" src/kernels | wc -l)
fi
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 sh -c '
    bad=0
    for file in "$@"; do
        case $file in
            *_fast.c) how="-DVT_ISA=portable -DVT_ISA_portable=1" ;;
            *) how="-DVT_SCALAR=64 -DSPECIMEN_BITS=64" ;;
        esac
        case $file in */op_case.c) how="$how -Wno-analyzer-malloc-leak" ;; esac
        grep -q "^#define _GNU_SOURCE" "$file" && how="$how -D_GNU_SOURCE="
        [ "$file" = src/base/status.c ] || how="$how -include tools/analyze.h"
        gcc -std=c11 -O0 -fanalyzer -Werror -Wno-analyzer-null-dereference \
            -Wno-analyzer-null-argument -Wno-analyzer-use-of-uninitialized-value -ffp-contract=off $how -D_DEFAULT_SOURCE -D_POSIX_C_SOURCE=200809L \
            -DVT_FLOAT128=1 -DVT_X86=1 -DVT_KERNEL_INCLUDE=\"include\" -Iinclude -Isrc -Isrc/kernels \
            "-I$0/generated" -S -o /dev/null "$file" || bad=1
    done; exit $bad' "$build" || exit 1
echo "analyze: no finding in $# files$([ "$without" -eq 0 ] || echo ", $without kernels own nothing")"
