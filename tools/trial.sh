# shellcheck shell=sh disable=SC2046,SC2086,SC3045      # flags are words; dash has ulimit -c
# trial.sh -- sourced by tools/knockout and tools/mutants: runs a definition's
# tests against a changed copy of that definition.
#
# A trial compiles the copy as CMakeLists.txt compiles its source: for the three
# scalars, the wiring for the fast kernels too, what is no definition once (-O0,
# no -Werror: a change may leave a variable unused).  It links the copy before the
# library, so that the copy's functions are taken, and runs a program of tests
# under a time limit.  The build folder must hold a release or debug build.

# Definitions: as CMakeLists.txt chooses them.
trial_kernels() {
    for path in src/kernels/*.c; do
        case $path in *_fast.c|*/ops.c) ;; *) basename "$path" .c ;; esac
    done
}

trial_flags="-std=c11 -w -ffp-contract=off -D_DEFAULT_SOURCE -D_POSIX_C_SOURCE=200809L"
trial_flags="$trial_flags -Iinclude -Isrc -Isrc/kernels"
trial_quad=$(echo '_Float128 x;' | ${CC:-cc} -x c -fsyntax-only - 2>/dev/null && echo -DVT_FLOAT128=1)

# trial_compilations SOURCE: the definitions of each, a comma between flags.
trial_compilations() {
    case $1 in
        */model/gpt.c) echo "-DVT_SCALAR=32 -DVT_SCALAR=64 -DVT_SCALAR=128 -DVT_SCALAR=32,-DVT_FAST=1" ;;
        src/kernels/*|*_pass.c|*/attention_example.c)
            echo "-DVT_SCALAR=32 -DVT_SCALAR=64 -DVT_SCALAR=128" ;;
        *) echo "-DVT_ONCE=1" ;;
    esac
}

# trial_test KERNEL WORK BUILD: the test's own object, once.
trial_test() {
    ${CC:-cc} $trial_flags $trial_quad -O1 -DVT_GOLDEN="\"$PWD/tests/golden\"" -DVT_SOURCE="\"$PWD\"" \
        -c "tests/test_$1.c" -o "$2/test_$1.o"
}

# trial_build COPY PROGRAM FOLDER WORK BUILD [SOURCE]: FOLDER/test, with COPY in the
# place of SOURCE (a definition, where it is left out).
trial_build() {
    trial_objects=
    for trial_how in $(trial_compilations "${6-src/kernels/$2.c}"); do
        ${CC:-cc} $trial_flags $trial_quad "-I$5/generated" -O0 $(echo "$trial_how" | tr , ' ') \
            -c "$1" -o "$3/$trial_how.o" || return 1
        trial_objects="$trial_objects $3/$trial_how.o"
    done
    ${CC:-cc} -o "$3/test" $trial_objects "$4/test_$2.o" \
        "$5/libtest_support.a" "$5/libvitrine.a" -lcmocka -lpcre2-8 -lmpfr -ljansson -lmd -lz -lm -lpthread
}

# trial_run FOLDER SECONDS: the tests' TAP in FOLDER/tap, line by line, so that a
# test that ends the program is known by what is missing; their exit status.
trial_run() {
    (ulimit -c 0; CMOCKA_MESSAGE_OUTPUT=TAP exec stdbuf -oL timeout -s KILL "$2" "$1/test") \
        > "$1/tap" 2> "$1/messages"
}
