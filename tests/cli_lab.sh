# cli_lab.sh -- vitrine lab: what it prints, and the JSON that scripts read.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
golden=$root/tests/golden/lab_seed0.json

exits 0 "lab --seed 0" "$vitrine" lab --seed 0
is "$err" "" "nothing on standard error"
ok "prints the published loss" grep -qx 'loss = 3.361272' .out
ok "beside that of a guess" grep -q '^ln(10) = 2.302585' .out
ok "both checks pass" [ "$(grep -c 'PASS$' .out)" -eq 2 ]
lacks "$out" "FAIL" "and none fails"
ok "every entry is compared" [ "$(grep -c 'compared 184 of 184, worst relative error' .out)" -eq 2 ]
contains "$out" "published: 1.29e-07 (Code Lab 01" "a published figure says so, and whose"
ok "at most 80 columns" /usr/bin/python3 -c 'import sys
long = [x for x in open(".out", encoding="utf-8").read().split("\n") if len(x) > 80 or x != x.rstrip()]
sys.exit("\n".join(long) or 0)'
ok "no escape codes in a pipe" sh -c '! grep -q "$(printf "\033")" .out'
contains "$out" "█" "bars of blocks in a UTF-8 locale"
first=$out
exits 0 "lab" "$vitrine" lab
is "$out" "$first" "seed 0, one head, temperature 1 are the defaults"
exits 0 "another locale" env LC_ALL=C "$vitrine" lab
ok "is answered in ASCII" /usr/bin/python3 -c 'open(".out", encoding="ascii").read()'
contains "$out" "####" "with bars"
exits 0 "another seed" "$vitrine" lab --seed 1
lacks "$out" "1.29e-07 (Code Lab 01" "has no published error"
exits 0 "two heads" "$vitrine" lab --heads 2
contains "$out" "loss = 3.228045" "have their own loss"
contains "$out" "head 1 " "and both are shown"
exits 0 "the edges of the options" "$vitrine" lab --seed 18446744073709551615 --heads 2 --temperature 0.01
exits 0 "likewise" "$vitrine" lab --temperature 100

# On a terminal, which script(1) makes.
terminal() { TERM=xterm script -qec "$*" /dev/null; }
exits 0 "on a terminal" terminal "'$vitrine'" lab
ok "there are colours" grep -q "$(printf '\033\[32mPASS')" .out
ok "they end" [ "$(grep -o "$(printf '\033')\[0m" .out | wc -l)" -ge "$(grep -o "$(printf '\033')\[3[0-9]m" .out | wc -l)" ]
exits 0 "with NO_COLOR" env NO_COLOR=1 TERM=xterm script -qec "'$vitrine' lab" /dev/null
ok "there are none" sh -c '! grep -q "$(printf "\033")" .out'

# ---- JSON ------------------------------------------------------------------
same() {                                # GOLDEN: .out has its numbers, within 1e-12
    /usr/bin/python3 -c 'import json, sys
a, b = json.load(open(".out")), json.load(open(sys.argv[1]))[sys.argv[2]]
n = 0
def walk(x, y, at):
    global n
    assert type(x) is type(y) or {type(x), type(y)} == {int, float}, at
    if isinstance(y, dict):
        assert x.keys() == y.keys(), at
        for k in y: walk(x[k], y[k], at + "." + k)
    elif isinstance(y, list):
        assert len(x) == len(y), at
        for i in range(len(y)): walk(x[i], y[i], "%s[%d]" % (at, i))
    else:
        assert abs(x - y) <= 1e-12, (at, x, y)
        n += 1
for k in b: walk(a[k], b[k], k)
assert n == 10 + 2 * 184 + 36 * b["heads"] + 24 + 60, n' "$golden" "$1"
}
exits 0 "--json" "$vitrine" lab --json
is "$(wc -l < .out)" 1 "is one line"
ok "is PyTorch's" same one_head
is "$(/usr/bin/python3 -c 'import json; print(*json.load(open(".out")))')" \
   "seed heads temperature loss uniform targets inputs P O logits gradients checks float32 experiments" "its keys"
is "$(key checks.0.name) $(key checks.0.compared) $(key checks.0.pass)" "central differences 184 True" "a check"
is "$(key checks.1.name) $(key checks.1.compared) $(key checks.1.pass)" "complex step 184 True" "the other"
ok "their worst relative errors" /usr/bin/python3 -c 'import json
a, b = json.load(open(".out"))["checks"]
assert 1e-8 < a["worst_relative_error"] < 1e-6 and 0 < b["worst_relative_error"] < 1e-12
assert 0 < b["worst_of_largest"] < 1e-14'
is "$(key float32.pass)" False "float fails"
ok "experiments with their errors" /usr/bin/python3 -c 'import json
e = json.load(open(".out"))["experiments"]
assert [s["d_head"] for s in e["scaling"]] == [16, 64, 256, 1024]
for s in e["scaling"]:
    assert 0 < s["score_std"]["error"] < 0.05 * s["score_std"]["value"]
    assert abs(s["score_std"]["value"] - s["d_head"] ** 0.5) < 4 * s["score_std"]["error"]
assert [t["temperature"] for t in e["temperature"]] == [0.25, 0.7, 1, 1.5]
assert all(abs(sum(t["probabilities"]) - 1) < 1e-12 for t in e["temperature"])
bits = [t["entropy_bits"] for t in e["temperature"]]
assert bits == sorted(bits) and 0 < bits[0] and bits[-1] < 3.3219281'
exits 0 "two heads" "$vitrine" lab --json --heads 2
ok "are PyTorch's" same two_heads
exits 0 "temperature 0.5" "$vitrine" lab --json --temperature 0.5 --seed=0
ok "is PyTorch's" same temperature_half
exits 0 "temperature 2" "$vitrine" lab --json --temperature 2
ok "is PyTorch's" same temperature_two
exits 0 "the largest seed" "$vitrine" lab --json --seed 18446744073709551615
is "$(key seed)" 18446744073709551615 "is kept"

# ---- what cannot be used ---------------------------------------------------
refuses 2 "--heads 3: expected a whole number from 1 to 2" "--heads 3" "$vitrine" lab --heads 3
refuses 2 "--heads 0: expected" "--heads 0" "$vitrine" lab --heads=0
refuses 2 "--temperature 0: expected a number from 0.01 to 100" "--temperature 0" "$vitrine" lab --temperature 0
refuses 2 "--temperature -1: expected" "--temperature -1" "$vitrine" lab --temperature -1
refuses 2 "--temperature nan: expected" "--temperature nan" "$vitrine" lab --temperature nan
refuses 2 "--seed -1: expected" "--seed -1" "$vitrine" lab --seed -1
refuses 2 "--seed 18446744073709551616: expected" "--seed 2^64" "$vitrine" lab --seed 18446744073709551616
refuses 2 "--seed 1.5: expected" "--seed 1.5" "$vitrine" lab --seed 1.5
refuses 2 "--seed: expected a value" "no value" "$vitrine" lab --seed
refuses 2 "no option --sed" "a slip of the pen" "$vitrine" lab --sed 1
refuses 2 "'model' is one argument too many" "an operand" "$vitrine" lab model
exits 4 "a full disk" sh -c "'$vitrine' lab > /dev/full"
contains "$err" "vitrine lab: standard output:" "is named"
exits 4 "likewise of --json" sh -c "'$vitrine' lab --json > /dev/full"
ok "lab | head is quiet" sh -c "'$vitrine' lab 2>.err | head -n 1 >/dev/null; test ! -s .err"
finish
