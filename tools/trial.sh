# shellcheck shell=sh disable=SC2046,SC2086,SC3045      # flags are words; dash has ulimit -c
# trial.sh -- sourced by tools/knockout and tools/mutants: runs the tests of a source
# against a changed copy of that source.
#
# A trial compiles the copy as CMakeLists.txt compiles its source: for the three
# scalars, the wiring for the fast kernels too, what is no definition once (no
# -Werror: a change may leave a variable unused).  It links the copy before the
# library, so that the copy's functions are taken, and runs a program of tests, or
# one of its tests, under a time limit.  The build folder must hold a release or debug build.

# Definitions: as CMakeLists.txt chooses them.
trial_kernels() {
    for path in src/kernels/*.c; do
        case $path in *_fast.c|*_in_order.c|*/ops.c) ;; *) basename "$path" .c ;; esac
    done
}

trial_flags="-std=c11 -w -ffp-contract=off -D_DEFAULT_SOURCE -D_POSIX_C_SOURCE=200809L"
trial_flags="$trial_flags -Iinclude -Isrc -Isrc/kernels"
: "${trial_quad=$(echo '_Float128 x;' | ${CC:-cc} -x c -fsyntax-only - 2>/dev/null && echo -DVT_FLOAT128=1)}"
export trial_quad                       # asked once, not by each process of a tool

# trial_compilations SOURCE: the definitions of each, a comma between flags.
trial_compilations() {
    case $1 in
        */model/gpt.c|*/model/gpt_acts.c) echo "-DVT_SCALAR=32 -DVT_SCALAR=64 -DVT_SCALAR=128 -DVT_SCALAR=32,-DVT_FAST=1" ;;
        src/kernels/*|*_pass.c|*/attention_example.c)
            echo "-DVT_SCALAR=32 -DVT_SCALAR=64 -DVT_SCALAR=128" ;;
        *) echo "-DVT_ONCE=1" ;;
    esac
}

# trial_compile COPY SOURCE HOW OBJECT BUILD FLAG...: the object of a copy of SOURCE, of one
# of its compilations.
trial_compile() {
    trial_copy=$1 trial_from=$2 trial_how=$3 trial_object=$4 trial_in=$5
    shift 5
    ${CC:-cc} $trial_flags $trial_quad "-I$trial_in/generated" "-I$(dirname "$trial_from")" \
        $(echo "$trial_how" | tr , ' ') "$@" -c "$trial_copy" -o "$trial_object"
}

# trial_switch WORK: WORK/switch.h, which a copy with switches includes, and WORK/switch.o;
# switch N is thrown in a process that starts with VITRINE_KNOCKED=N, or by trial_each.
trial_switch() {
    echo 'extern int vt_knocked;
#define VT_KNOCKED(number) (vt_knocked == (number))' > "$1/switch.h"
    cat > "$1/switch.c" <<'END'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int vt_knocked;
__attribute__((constructor)) static void knock(void)
{
    const char *number = getenv("VITRINE_KNOCKED"), *seconds = getenv("VITRINE_EACH");
    if (number) vt_knocked = atoi(number);
    if (!seconds) return;
    const unsigned limit = (unsigned)atoi(seconds);
    while (scanf("%d", &vt_knocked) == 1) {
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {                       /* goes on into main */
            const struct rlimit processor = { limit, limit };
            const int nowhere = open("/dev/null", O_RDWR);
            for (int i = 0; i < 3; i++) dup2(nowhere, i);
            setrlimit(RLIMIT_CPU, &processor);
            alarm(20 * limit);
            return;
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child) _exit(1);
        const int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        printf("%d %s\n", vt_knocked, by == SIGKILL || by == SIGALRM || by == SIGXCPU ? "late"
                                      : status ? "killed" : "alive");
    }
    fflush(stdout);
    _exit(0);
}
END
    ${CC:-cc} -c "$1/switch.c" -o "$1/switch.o"
}

# trial_each PROGRAM SECONDS < NUMBERS: all tests for each number, in a child of one process,
# which spares a start and a shell's work; prints NUMBER and alive, killed or late (the limits
# are trial_run's).
trial_each() {
    (ulimit -c 0; VITRINE_EACH=$2 exec "$1")
}

# trial_test PROGRAM WORK BUILD: WORK/test_PROGRAM.o, the build's where it is no older
# than its source.
trial_test() {
    trial_built=$3/CMakeFiles/test_$1.dir/tests/test_$1.c.o
    if [ "$trial_built" -nt "tests/test_$1.c" ]; then cp "$trial_built" "$2/test_$1.o"
    else
        ${CC:-cc} $trial_flags $trial_quad -O1 -DVT_GOLDEN="\"$PWD/tests/golden\"" -DVT_SOURCE="\"$PWD\"" \
            -c "tests/test_$1.c" -o "$2/test_$1.o"
    fi
}

# trial_link PROGRAM TEST BUILD OBJECT...: a program of the test's object, with the OBJECTs in
# the place of the library's.
trial_link() {
    trial_program=$1 trial_tests=$2 trial_in=$3
    shift 3
    # test_error: that is in support.c, which also reads VITRINE_TEST.
    ${CC:-cc} -o "$trial_program" "$@" "$trial_tests" -Wl,-u,test_error \
        "$trial_in/libtest_support.a" "$trial_in/libvitrine.a" \
        -lcmocka -lpcre2-8 -lmpfr -ljansson -lmd -lz -lm -lpthread
}

# trial_run PROGRAM FOLDER SECONDS [TEST]: all tests, or one; their TAP in FOLDER/tap, their
# exit status, 137 when they are late.  The seconds are the processor's, so that a busy
# machine kills nobody; who waits instead has twenty times as many.  (tests/support.c
# reads VITRINE_TEST.)
trial_run() {
    (ulimit -c 0; ulimit -t "$3"; [ $# -lt 4 ] || export VITRINE_TEST="$4"
     CMOCKA_MESSAGE_OUTPUT=TAP exec timeout -s KILL $((20 * $3)) "$1") \
        > "$2/tap" 2> "$2/messages"
}
