# tap.sh -- what the shell tests share; source it first:  . "${0%/*}/tap.sh"
#
# A script tests/cli_NAME.sh speaks TAP on standard output, and ends with the
# call `finish`: a script that stops earlier states no plan and so fails.
# It starts in an empty folder of its own, $tmp, removed at the end.
#
#   $root      the source tree            $vitrine   the command under test
#
#   exits CODE DESC CMD...      CMD exits with CODE; then $out and $err hold its
#                               output (and $tmp/.out, $tmp/.err, byte for byte)
#   refuses CODE PART DESC CMD...  CMD exits with CODE, prints nothing on
#                               standard output and one line with PART on
#                               standard error
#   ok DESC CMD...              CMD (a function, [, grep ...) succeeds
#   is GOT WANTED DESC          two texts are equal
#   contains TEXT PART DESC     PART is in TEXT, as it stands
#   lacks TEXT PART DESC        PART is not in TEXT
#   skip COUNT REASON           that many tests are skipped, and why
#   show TEXT                   a figure or hash that the report of ./test shows
#   unprivileged CMD...         runs CMD as a user whom file modes bind (root is
#                               not); "$vitrine" is made reachable for it
#   sanitized                   the command has the sanitizers built in.  They ask about
#                               memory and undefined behaviour: one pass over each path of
#                               the code answers them, and the release build does them all
#   sweep ALL SOME              prints ALL, or SOME where the command is sanitized
#   interrupt PID [SIGNAL]      sends TERM, or SIGNAL, to a child once it catches TERM, and waits
#                               for its end, at most five minutes; then $status
#   finish                      states the plan; exit status 1 if a test failed
#
# Comment lines in a script that ./test reads:
#   # needs: debug clang        runs when these builds are there, so not with
#                               ./test --quick
#   # asan: no, REASON          not run with the sanitized command
set -u
LC_ALL=C.UTF-8; export LC_ALL
umask 022                                              # what a test makes, dpkg and another user may read
GCOV_ERROR_FILE=/dev/null; export GCOV_ERROR_FILE      # counts that another user cannot write are no message of ours
unset VITRINE_ISA                                      # a test says itself which kernels it means
case $0 in */*) tap_here=${0%/*} ;; *) tap_here=. ;; esac
root=$(cd "$tap_here/.." && pwd)
vitrine=${VITRINE:-$root/build/vitrine}
case $vitrine in /*) ;; *) vitrine=$PWD/$vitrine ;; esac
tmp=$(mktemp -d)
chmod 755 "$tmp"
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
cd "$tmp" || exit 1
tap_count=0 tap_failed=0 out='' err='' status=0

tap_pass() { tap_count=$((tap_count + 1)); echo "ok $tap_count - $1"; }
tap_fail() {                            # DESC NOTE...
    tap_count=$((tap_count + 1)) tap_failed=$((tap_failed + 1))
    echo "not ok $tap_count - $1"
    shift
    for tap_note; do printf '%s\n' "$tap_note" | sed 's/^/#   /' | head -n 20; done
}

tap_run() {
    "$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null
    status=$?
    out='' err='' tap_lines=0
    # Other processes would cost more than the command that is tested: they are left out where
    # there is nothing, or one line, which read takes without its NUL bytes, too.
    [ ! -s "$tmp/.out" ] || out=$(tr -d '\000' <"$tmp/.out")
    [ -s "$tmp/.err" ] || return 0
    if { IFS= read -r err && ! IFS= read -r tap_more && [ -z "$tap_more" ]; } <"$tmp/.err"; then tap_lines=1
    else tap_lines=$(wc -l <"$tmp/.err") err=$(tr -d '\000' <"$tmp/.err")
    fi
}

exits() {
    tap_code=$1 tap_desc=$2; shift 2
    tap_run "$@"
    if [ "$status" -eq "$tap_code" ]; then tap_pass "$tap_desc"
    else tap_fail "$tap_desc" "$*" "exit status $status, expected $tap_code" "$err"
    fi
}

interrupt() {
    # Until it is no fork of this shell any more, and catches: SigCgt is a mask in hexadecimal,
    # SIGTERM its bit 14.
    tap_tries=0
    until [ "$(readlink "/proc/$1/exe")" != "$(readlink "/proc/$$/exe")" ] &&
          grep -q '^SigCgt:.*[4567cdef]...$' "/proc/$1/status" 2>/dev/null; do
        tap_tries=$((tap_tries + 1))
        [ $tap_tries -le 3000 ] && [ -e "/proc/$1" ] || break
        sleep 0.1
    done
    kill -"${2:-TERM}" "$1" 2>/dev/null
    (sleep 300 & tap_sleep=$!
     trap 'kill $tap_sleep; exit' TERM
     wait $tap_sleep
     kill -KILL "$1") >/dev/null 2>&1 &
    tap_guard=$!
    wait "$1"
    status=$?
    kill $tap_guard 2>/dev/null
}

refuses() {
    tap_code=$1 tap_part=$2 tap_desc=$3; shift 3
    tap_run "$@"
    tap_why=
    [ "$status" -eq "$tap_code" ] || tap_why="exit status $status, expected $tap_code"
    [ ! -s "$tmp/.out" ] || tap_why="$tap_why; something on standard output"
    [ "$tap_lines" -eq 1 ] || tap_why="$tap_why; not one line on standard error"
    case $err in *"$tap_part"*) ;; *) tap_why="$tap_why; lacks '$tap_part'" ;; esac
    if [ -z "$tap_why" ]; then tap_pass "$tap_desc"
    else tap_fail "$tap_desc" "$*" "${tap_why#; }" "$out" "$err"
    fi
}

ok() {
    tap_desc=$1; shift
    if "$@" >"$tmp/.ok" 2>&1; then tap_pass "$tap_desc"
    else tap_fail "$tap_desc" "$*" "$(cat "$tmp/.ok")"
    fi
}

is() {
    if [ "$1" = "$2" ]; then tap_pass "$3"
    else tap_fail "$3" "got:      $1" "expected: $2"
    fi
}

contains() {
    case $1 in
        *"$2"*) tap_pass "$3" ;;
        *)      tap_fail "$3" "lacks '$2':" "$1" ;;
    esac
}

lacks() {
    case $1 in
        *"$2"*) tap_fail "$3" "has '$2':" "$1" ;;
        *)      tap_pass "$3" ;;
    esac
}

skip() {
    tap_left=$1
    while [ "$tap_left" -gt 0 ]; do
        tap_count=$((tap_count + 1)) tap_left=$((tap_left - 1))
        echo "ok $tap_count # SKIP $2"
    done
}

show() { printf '%s\n' "$1" | sed 's/^/## /'; }

sanitized() { case $vitrine in */asan/*) true ;; *) false ;; esac; }
sweep() { if sanitized; then echo "$2"; else echo "$1"; fi; }

unprivileged() {
    if [ "$(id -u)" -ne 0 ]; then "$@"; return; fi
    # The source tree may lie where only root can go.
    tap_command=$1; shift
    if [ "$tap_command" = "$vitrine" ]; then
        tap_command=$tmp/.vitrine
        [ -e "$tap_command" ] || cp "$vitrine" "$tap_command"
    fi
    # Lines that run are counted in a folder that this user may write: gcov would say so of
    # each file that it cannot, on standard error.
    mkdir -p "$tmp/.gcov" && chmod 777 "$tmp/.gcov"
    GCOV_PREFIX=$tmp/.gcov setpriv --reuid=65534 --regid=65534 --clear-groups "$tap_command" "$@"
}

finish() {
    echo "1..$tap_count"
    [ "$tap_failed" -eq 0 ]
    exit
}
