# cli_hostile.sh -- check, grade and lab among hostile files, names, programs and signals.
. "${0%/*}/tap.sh"
. "$root/tests/python.sh"

check() { "$vitrine" check "$@"; }
program() { printf '%s\n' "#!/bin/sh" "$2" > "$1"; chmod +x "$1"; }
cat > good.c <<'END_C'
#include <math.h>
#include <vitrine_kernel.h>
int vt_kernel(const vt_kernel_call *c)
{
    if (c->op != VT_OP_SOFTMAX || c->dtype != VT_KERNEL_F64 || c->pass != VT_KERNEL_FORWARD)
        return VT_KERNEL_UNSUPPORTED;
    const double *x = c->in[0];
    double *p = c->out[0];
    for (size_t n = 0; n < c->N; n++, x += c->V, p += c->V) {
        double most = x[0], sum = 0;
        for (size_t i = 1; i < c->V; i++) if (x[i] > most) most = x[i];
        for (size_t i = 0; i < c->V; i++) sum += p[i] = exp(x[i] - most);
        for (size_t i = 0; i < c->V; i++) p[i] /= sum;
    }
    return 0;
}
END_C
cp good.c kept.c
printf 'int vt_kernel(const void *c) { return c != 0; }\n' > none.c
one="--op softmax --case 1"

# ---- where a report goes --------------------------------------------------------
# shellcheck disable=SC2086                     # $one is words
{
refuses 2 "--junit good.c: is the file that is read" "--junit over the kernel" \
    check --kernel good.c $one --junit good.c
refuses 2 "--junit good.c: is the file that is read" "grade --junit over the exercise" \
    "$vitrine" grade good.c --junit good.c
ln -s good.c alias.xml
refuses 2 "is the file that is read" "by a link" check --kernel good.c $one --junit alias.xml
ok "the kernel is as it was" cmp good.c kept.c
mkdir folder
refuses 4 "folder: is not a regular file" "--junit a folder" check --kernel good.c $one --junit folder
refuses 4 "nowhere/x.xml: cannot create" "--junit in no folder" check --kernel good.c $one --junit nowhere/x.xml
to_file() { check --kernel good.c $one --junit /dev/stdout > stdout.txt; }
refuses 2 "is where standard output goes" "--junit into the report's file" to_file
to_pipe() { check --kernel good.c $one --junit /dev/stdout | cat; }
to_pipe > piped 2> piped.err
contains "$(cat piped.err)" "/dev/stdout: is not a regular file" "--junit into a pipe"
ok "nothing was replaced" test -L /dev/stdout
echo old > real.xml
ln -s real.xml link.xml
}
exits 4 "a folder that is not there" check --kernel good.c --op softmax --junit missing/x.xml
tap_run check --kernel good.c --op softmax --case 1 --junit link.xml
ok "a link stays a link" test -L link.xml
contains "$(cat real.xml)" "<testsuites" "and its target is written"
refuses 4 "--dump: folder: is not" "lab --dump a folder" "$vitrine" lab --dump folder
lab_file() { "$vitrine" lab --dump out.npz > out.npz; }
refuses 2 "is where standard output goes" "lab --dump into its own report" lab_file

# ---- loading ----------------------------------------------------------------------
printf '#include <stdlib.h>\n__attribute__((constructor)) static void load(void) { abort(); }\nint vt_kernel(void) { return 0; }\n' > dies.c
exits 1 "a kernel that dies while it is loaded" check --kernel dies.c --op softmax --seed 9 --junit dies.xml --json
contains "$out" '"op": "softmax", "seed": 9' "JSON: which operator, which seed"
contains "$out" 'while it was loaded: aborted' "JSON: and what happened"
contains "$(cat dies.xml)" 'tests="1" failures="1"' "JUnit: a failure"
contains "$(cat dies.xml)" 'name="loads"' "JUnit: of the loading"
echo 'int main() {}' > a.cpp
refuses 3 "it is no shared library, and no C source" "another language" \
    "$vitrine" grade a.cpp

# ---- names and words --------------------------------------------------------------
csi=$(printf '\302\233') raw=$(printf '\233') esc=$(printf '\033') turn=$(printf '\342\200\256')
bad="x${esc}[31m${csi}31m${turn}${raw}.c"
clean() {                               # FILE DESC: no byte of it obeys
    ok "$2" python -c 'import sys
text = open(sys.argv[1], "rb").read().decode()          # strictly UTF-8
for c in text:
    n = ord(c)
    assert c == "\n" or not (n < 32 or 127 <= n < 160 or 0x2028 <= n <= 0x202e or 0x2066 <= n <= 0x2069), hex(n)' "$1"
}
cat > "$bad" <<'END_C'
#include <stdio.h>
#include <vitrine_kernel.h>
int vt_kernel(const vt_kernel_call *c)
{
    (void)c;
    printf("\033[31m\302\2331m\342\200\256\233 hello\n");
    return 7;
}
END_C
for how in "" --json; do
    # shellcheck disable=SC2086
    exits 1 "a name and words that a terminal obeys $how" check --kernel "$bad" --op softmax $how --junit words.xml
    clean .out "standard output $how"
    clean .err "standard error $how"
    clean words.xml "JUnit $how"
    contains "$(cat words.xml)" "hello" "JUnit has what it printed $how"
done
printf '#include <stdio.h>\nvoid softmax_backward(void) { printf("\\033[1m\\302\\233\\n"); }\n' > "g$bad"
tap_run "$vitrine" grade "g$bad"
clean .out "grade: standard output"
clean .err "grade: standard error"
ok "tensors with such names" /usr/bin/python3 - <<'END_P'
import json, struct
h = {"x\x1b[31m\u009b\u202e": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}
t = json.dumps(h, ensure_ascii=False).encode()
open("names.safetensors", "wb").write(struct.pack("<Q", len(t)) + t + bytes(8))
END_P
exits 3 "such a dump" check --dump names.safetensors --op softmax
clean .err "its line"

# ---- a temperature in a dump -----------------------------------------------------------
temperature() {                         # VALUE: Python
    python -c "import numpy, sys
rng = numpy.random.default_rng(1)
x = rng.standard_normal((3, 5))
t = eval(sys.argv[1], {'nan': float('nan'), 'inf': float('inf')})
numpy.savez('t.npz', logits=x, target=numpy.array([1, 0, 4], 'i4'), temperature=numpy.array(t, 'f8'),
            loss=numpy.zeros(3))" "$1"
}
for value in 0 -1 nan inf; do
    temperature $value
    refuses 3 "t.npz: tensor temperature is $value: expected a number" "a temperature of $value" \
        check --dump t.npz --op crossentropy
done
temperature "[1, 2]"
refuses 3 "t.npz: tensor temperature has shape [2]: expected one number" "two temperatures" \
    check --dump t.npz --op crossentropy
mkfifo fifo
refuses 4 "fifo: expected a regular file" "a dump that is a pipe" check --dump fifo --op softmax

# ---- the caller's surroundings -----------------------------------------------------------
ignoring() { (trap '' CHLD; "$@"); }
refuses 3 "does not have softmax" "SIGCHLD ignored" ignoring "$vitrine" check --kernel none.c --op softmax
program quiet_python 'echo "torch 1"; exit 43'
refuses 4 "has no module torch" "SIGCHLD ignored: an interpreter's status" \
    ignoring "$vitrine" lab --torch --python ./quiet_python
few() { (ulimit -n 16; "$@" 7<&- 8>&-); }
refuses 3 "does not have softmax" "16 descriptors" few "$vitrine" check --kernel none.c --op softmax
mkdir "a folder"
TMPDIR="$PWD/a folder"; export TMPDIR
program where 'echo "$TMPDIR" > where.txt; exec cc "$@"'
refuses 3 "does not have softmax" "TMPDIR" env CC=./where "$vitrine" check --kernel none.c --op softmax
contains "$(cat where.txt)" "/a folder/vitrine-" "TMPDIR is where it is compiled"
tap_run "$vitrine" grade none.c --compiler ./where
contains "$(cat where.txt)" "/a folder/vitrine-" "and graded"
refuses 4 "./nowhere" "TMPDIR that is none" env TMPDIR=./nowhere "$vitrine" check --kernel none.c --op softmax
refuses 4 "./nowhere" "grade: likewise" env TMPDIR=./nowhere "$vitrine" grade none.c

# ---- programs that do not end as they should ------------------------------------------
program talker 'exec /usr/bin/yes'
refuses 4 "an answer of more than 65536 bytes" "an interpreter that says too much" \
    "$vitrine" lab --torch --python ./talker
program behind 'sleep 1000 & echo $! > behind.txt; exit 43'
refuses 4 "has no module torch" "one that leaves a process behind" "$vitrine" lab --torch --python ./behind
gone() { i=0; while kill -0 "$1" 2>/dev/null && [ "$(ps -o stat= -p "$1" | cut -c1)" != Z ]; do
    i=$((i + 1)); [ $i -lt 1200 ] || return 1; sleep 0.05; done; }
ok "which ends with it" gone "$(cat behind.txt)"
program fifo_answer 'mkfifo "$4/torch.1.npz" 2>/dev/null; for n in 2 3 4 5 6 7 8 9; do :; done; echo "torch 9.9"'
refuses 4 "expected a regular file" "an answer that is a pipe" check --op softmax --torch --python ./fifo_answer
ok "nothing is left" rmdir "a folder"
mkdir "a folder"

# ---- signals ------------------------------------------------------------------------------
# interrupted SIGNAL MARK CMD...: CMD makes the file MARK, with a process number, then waits.
interrupted() {
    number=$1 mark=$2; shift 2
    rm -f "$mark"
    "$@" > .out 2> .err < /dev/null &
    job=$!
    i=0; while [ ! -s "$mark" ] && [ $i -lt 2400 ]; do sleep 0.05; i=$((i + 1)); done
    kill -"$number" $job
    wait $job
    is $? 130 "SIG$number: exit status: $*"
    contains "$(cat .err)" "interrupted by signal" "SIG$number: a line"
    ok "SIG$number: what was started has ended" gone "$(cat "$mark")"
    is "$(ls "a folder")" "" "SIG$number: nothing is left"
}
program slow_cc 'mkdir "$TMPDIR/sub"; echo x > "$TMPDIR/sub/x"; echo $$ > compiling; exec sleep 1000'
CC=./slow_cc; export CC
interrupted TERM compiling "$vitrine" check --kernel none.c --op softmax
interrupted HUP compiling "$vitrine" check --kernel none.c --op softmax
interrupted TERM compiling "$vitrine" grade none.c --compiler ./slow_cc
unset CC
program slow_python 'echo $$ > asking; exec sleep 1000'
interrupted TERM asking "$vitrine" check --op softmax --torch --python ./slow_python
interrupted HUP asking "$vitrine" lab --torch --python ./slow_python
rm -f compiling
CC=./slow_cc "$vitrine" check --kernel none.c --op softmax > .out 2>&1 &
job=$!
i=0; while [ ! -s compiling ] && [ $i -lt 2400 ]; do sleep 0.05; i=$((i + 1)); done
kill -KILL $job
ok "a compiler ends with a command that is killed" gone "$(cat compiling)"
finish
