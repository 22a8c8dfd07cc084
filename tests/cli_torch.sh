# cli_torch.sh -- vitrine check --torch without PyTorch: interpreters that are none, and
# answers that are wrong.  What PyTorch itself says: torch_check.py, under ./test --torch.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"

make_corpus c.csv 60
exits 0 "a model" train --data c.csv --column text --steps 3 --merges 20 --out m
check() { "$vitrine" check --torch --python "$@"; }

# ---- words ---------------------------------------------------------------------
refuses 2 "--python: expected --torch" "--python alone" "$vitrine" check m --python python3
refuses 2 "expected the folder of a model" "--torch alone" "$vitrine" check --torch
refuses 2 "--op atention: expected softmax, linear" "an operator that is none" \
    "$vitrine" check --op atention --torch
refuses 2 "--op goes with" "both" "$vitrine" check m --op softmax --torch
refuses 2 "--torch goes with a model" "a dump" "$vitrine" check --dump x.npz --op softmax --torch

# ---- no PyTorch ----------------------------------------------------------------
program() { printf '%s\n' "#!/bin/sh" "$2" > "$1"; chmod +x "$1"; }
program bare 'exec /usr/bin/python3 -S "$@"'            # no packages at all
program broken 'exit 1'
program wordy 'echo "error: it cannot"; exit 1'
program mute 'true'
mkdir tmp
TMPDIR=$PWD/tmp; export TMPDIR
for what in m "--op softmax"; do
    # shellcheck disable=SC2086                         # an option and its value
    refuses 4 "./bare has no module torch; on Debian: apt-get install python3-torch" \
        "$what: no torch" check ./bare $what --json
    refuses 4 "./nothing: No such file or directory; on Debian: apt-get install python3-torch" \
        "$what: no interpreter" check ./nothing $what
    refuses 4 "PyTorch failed (exit status 1)" "$what: one that fails" check ./broken $what
    refuses 4 "PyTorch failed (exit status 1): it cannot" "$what: and says why" check ./wordy $what
    refuses 4 "./mute: expected an answer that begins with torch" "$what: one that says nothing" \
        check ./mute $what --junit never.xml
done
ok "nothing was written" test ! -e never.xml
refuses 4 "a folder in ./nowhere" "TMPDIR that is none" env TMPDIR=./nowhere "$vitrine" check m --torch

# ---- answers: ours, changed ------------------------------------------------------
# answers NAME CODE: an interpreter that gives what ours are, in float64, after CODE, which
# sees them as `a`, the case's number as `n`, and the operator as `op`.
answers() {
    printf '%s\n' 'import sys, numpy' 'op, folder, count = sys.argv[1:]' 'print("torch 9.9")' \
        'for n in range(1, int(count) + 1):' \
        '    f = numpy.load("%s/%d.npz" % (folder, n))' \
        '    a = {k[6:]: f[k[6:]].astype("f8") for k in f.files if k.startswith("bound.")}' \
        "    $2" '    numpy.savez("%s/torch.%d.npz" % (folder, n), **a)' > "$1.py"
    program "$1" "shift 2; exec /usr/bin/python3 $PWD/$1.py \"\$@\""
}
answers same pass
exits 0 "equal answers" check ./same --op attention --seed 7 --junit same.xml
contains "$out" "attention, seed 7" "the seed"
contains "$out" "B 2, T 5, S 9, NH 3, HS 4, causal" "the sizes"
contains "$out" "worst  0.0e+00" "no difference"
contains "$out" ": PASS" "the verdict"
lacks "$(cat same.xml)" "<failure" "JUnit: no failure"
contains "$(cat same.xml)" '<testsuite name="PyTorch: attention, B 2, T 5, S 9, NH 3, HS 4, causal" tests="4"' \
    "a suite a case, a test a tensor"
exits 0 "equal answers of a model" check ./same m --json --junit same.xml
is "$(key torch.pass) $(key torch.failed) $(key torch.version) $(key pass)" "True 0 9.9 True" "JSON"
is "$(key torch.compared)" "$(key torch.of)" "all were compared"
contains "$out" '{"name": "loss", "compared": 16,' "outputs are, too"
is "$(($(key torch.compared) - 16))" "$(key of)" "every parameter"
contains "$(cat same.xml)" '<testsuite name="PyTorch" ' "JUnit: a suite"

answers off 'a["dk"][-1, -1, -1, -1] *= 1.01'           # ATT-09: one element by 1 %
exits 1 "an element that differs" check ./off --op attention --junit off.xml
contains "$err" "dk entry 215: expected" "is named"
contains "$out" "FAIL" "and shown"
contains "$(cat off.xml)" "<failure" "and in JUnit's file"
exits 1 "likewise with --json" check ./off --op attention --json
is "$(key pass) $(key torch.pass)" "False False" "the verdict"
answers little 'a["dwte.weight"].flat[7] += 3e-12 * abs(a["dwte.weight"]).max()'
exits 1 "3e-12 of the largest is too much" check ./little m --entries 1 --json
is "$(key torch.failed) $(key pass)" "1 False" "one tensor"
contains "$err" "PyTorch: dwte.weight entry 7: expected" "which is named"
answers less 'a["dwte.weight"].flat[7] += 3e-13 * abs(a["dwte.weight"]).max()'
exits 0 "3e-13 is not" check ./less m --entries 1
answers lost 'a["loss"][0, 0] += 1'
exits 1 "another loss" check ./lost m --entries 1
contains "$out" "largest difference of a loss: 1.0e+00" "is shown"
for x in nan inf; do
    answers $x "a['dx'].flat[0] = float('$x')"
    exits 1 "$x is no agreement" check ./$x --op layernorm
    contains "$err" "dx entry 0: expected $x" "$x is named"
    answers all_$x "a = {k: v * float('$x') for k, v in a.items()}"
    exits 1 "$x everywhere is none" check ./all_$x --op gelu
done
answers zeros 'a = {k: 0 * v for k, v in a.items()}'
exits 1 "zeros are no agreement" check ./zeros --op block
answers few 'del a["dw"]'
refuses 4 "its answer has no dw" "a tensor that is missing" check ./few --op linear
answers turned 'a["dw"] = a["dw"].T'
refuses 4 "its dw has another shape" "one of another shape" check ./turned --op linear
answers more 'a["d2w"] = a["dw"]'
refuses 4 "d2w" "one that nobody asked for" check ./more --op linear
answers none 'import os; sys.stdout.flush(); os._exit(0)'
refuses 4 "torch.1.npz" "no answer at all" check ./none --op linear

ok "no file is left behind" rmdir tmp
finish
