# shellcheck shell=sh disable=SC2086,SC3045      # flags are words; dash has ulimit -c
# trial.sh -- sourced by tools/knockout and tools/mutants: runs a definition's
# tests against a changed copy of that definition.
#
# A trial compiles the copy for the three scalars (-O0, no -Werror: a change may
# leave a variable unused), links it before the library, so that the copy's
# functions are taken, and runs tests/test_KERNEL under a time limit.  The
# build folder must hold a release or debug build.

# Definitions: as CMakeLists.txt chooses them.
trial_kernels() {
    for path in src/kernels/*.c; do
        case $path in *_fast.c|*/ops.c) ;; *) basename "$path" .c ;; esac
    done
}

trial_flags="-std=c11 -w -ffp-contract=off -D_DEFAULT_SOURCE -D_POSIX_C_SOURCE=200809L"
trial_flags="$trial_flags -Iinclude -Isrc -Isrc/kernels"

# trial_test KERNEL WORK BUILD: the test's own object, once.
trial_test() {
    ${CC:-cc} $trial_flags -O1 -DVT_GOLDEN="\"$PWD/tests/golden\"" -DVT_SOURCE="\"$PWD\"" \
        -c "tests/test_$1.c" -o "$2/test_$1.o"
}

# trial_build SOURCE KERNEL FOLDER WORK BUILD: FOLDER/test.
trial_build() {
    for bits in 32 64 128; do
        ${CC:-cc} $trial_flags -O0 -DVT_SCALAR=$bits -c "$1" -o "$3/$bits.o" || return 1
    done
    ${CC:-cc} -o "$3/test" "$3/32.o" "$3/64.o" "$3/128.o" "$4/test_$2.o" \
        "$5/libtest_support.a" "$5/libvitrine.a" -lcmocka -ljansson -lmd -lz -lm -lpthread
}

# trial_run FOLDER SECONDS: the tests' TAP in FOLDER/tap; their exit status.
trial_run() {
    (ulimit -c 0; CMOCKA_MESSAGE_OUTPUT=TAP exec timeout -s KILL "$2" "$1/test") \
        > "$1/tap" 2> "$1/messages"
}
