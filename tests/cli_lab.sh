# cli_lab.sh -- vitrine lab: what it prints, and the JSON that scripts read.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
golden=$root/tests/golden/lab_seed0.json

exits 0 "lab --seed 0" "$vitrine" lab --seed 0
is "$err" "" "nothing on standard error"
ok "prints the published loss" grep -qx 'loss = 3.361272' .out
ok "beside that of a guess" grep -q '^ln(10) = 2.302585' .out
ok "both checks pass" [ "$(grep -c 'PASS$' .out)" -eq 2 ]
lacks "$out" "FAIL" "and none fails"
ok "every entry is compared" [ "$(grep -c 'compared 184 of 184, worst relative error' .out)" -eq 2 ]
contains "$out" "published: 1.29e-07 (Code Lab 01" "a published figure says so, and whose"
ok "at most 80 columns" python -c 'import sys
long = [x for x in open(".out", encoding="utf-8").read().split("\n") if len(x) > 80 or x != x.rstrip()]
sys.exit("\n".join(long) or 0)'
ok "no escape codes in a pipe" sh -c '! grep -q "$(printf "\033")" .out'
contains "$out" "█" "bars of blocks in a UTF-8 locale"
first=$out
exits 0 "lab" "$vitrine" lab
is "$out" "$first" "seed 0, one head, temperature 1 are the defaults"
exits 0 "another locale" env LC_ALL=C "$vitrine" lab
ok "is answered in ASCII" python -c 'open(".out", encoding="ascii").read()'
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
    python -c 'import json, sys
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
is "$(python -c 'import json; print(*json.load(open(".out")))')" \
   "seed heads temperature dtype loss uniform targets inputs P O logits gradients checks float32 experiments" "its keys"
is "$(key checks.0.name) $(key checks.0.compared) $(key checks.0.pass)" "central differences 184 True" "a check"
is "$(key checks.1.name) $(key checks.1.compared) $(key checks.1.pass)" "complex step 184 True" "the other"
ok "their worst relative errors" python -c 'import json
a, b = json.load(open(".out"))["checks"]
assert 1e-8 < a["worst_relative_error"] < 1e-6 and 0 < b["worst_relative_error"] < 1e-12
assert 0 < b["worst_of_largest"] < 1e-14'
is "$(key float32.pass)" False "float fails"
ok "experiments with their errors" python -c 'import json
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

# ---- float32 -----------------------------------------------------------------
exits 1 "--dtype float32" "$vitrine" lab --dtype float32
contains "$err" "central differences in float32 tell nothing" "says why"
ok "the one check fails, the other passes" [ "$(grep -c 'FAIL$' .out)$(grep -c 'PASS$' .out)" = 11 ]
ok "the loss is a float's" grep -qE 'loss = 3.36127[12]$' .out
exits 1 "likewise with --json" "$vitrine" lab --dtype=float32 --json
is "$(key dtype) $(key checks.0.pass) $(key checks.1.pass)" "float32 False True" "and its verdicts"
exits 0 "--dtype float64" "$vitrine" lab --dtype float64
is "$out" "$first" "is the default"

# ---- --dump: NumPy finds each tensor again from the inputs -----------------------
cat > again.py <<'EOF'
import json, struct, sys
import numpy as np
def read(path):
    if path.endswith('.npz'):
        return dict(np.load(path))
    raw = open(path, 'rb').read()
    n = struct.unpack('<Q', raw[:8])[0]
    out = {}
    for name, t in json.loads(raw[8:8 + n]).items():
        if name == '__metadata__': continue
        a, b = t['data_offsets']
        kind = {'F64': '<f8', 'F32': '<f4', 'I32': '<i4'}[t['dtype']]
        out[name] = np.frombuffer(raw[8 + n + a:8 + n + b], kind).reshape(t['shape'])
    return out
z = read(sys.argv[1]); heads = int(sys.argv[2]); tau = float(sys.argv[3]); kind = sys.argv[4]
bound = 1e-12 if kind == '<f8' else 2e-4
for name in z:
    assert z[name].dtype.str == ('<i4' if name == 'target' else kind), name
z = {n: a.astype('f8') if n != 'target' else a for n, a in z.items()}
x, wq, wk, wv, wo, y = (z[n] for n in ('x', 'wq', 'wk', 'wv', 'wo', 'target'))
r = np.random.default_rng(0)
for name, shape in (('wq', (8, 4)), ('wk', (8, 4)), ('wv', (8, 4)), ('wo', (4, 10))):
    drawn = r.standard_normal(shape) * 0.5
    assert (z[name] == drawn.astype(kind)).all(), name
assert (x == r.standard_normal((6, 8)).astype(kind)).all()
assert (y == r.integers(0, 10, size=6)).all()
split = lambda a: a.reshape(6, heads, -1).transpose(1, 0, 2)
join = lambda a: a.transpose(1, 0, 2)
w = 4 // heads
e = {}
q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
e['q'], e['k'], e['v'] = join(q), join(k), join(v)
e['scores'] = q @ k.transpose(0, 2, 1)
e['scaled'] = e['scores'] / np.sqrt(w)
seen = np.tril(np.ones((6, 6), bool))
e['masked'] = np.where(seen, e['scaled'], -np.inf)
p = np.exp(e['masked'] - e['masked'].max(2, keepdims=True)); p /= p.sum(2, keepdims=True)
e['p'] = p
e['o'] = join(p @ v); o = e['o'].reshape(6, 4)
e['logits'] = o @ wo
soft = e['logits'] / tau
e['lse'] = np.log(np.exp(soft).sum(1))
e['losses'] = e['lse'] - soft[np.arange(6), y]
e['loss'] = np.array([e['losses'].mean()]); e['dloss'] = np.ones(1); e['temperature'] = np.array(tau)
e['dlogits'] = (np.exp(soft - e['lse'][:, None]) - np.eye(10)[y]) / 6 / tau
e['dwo'] = o.T @ e['dlogits']
do = split(e['dlogits'] @ wo.T); e['do'] = join(do)
e['dp'] = do @ v.transpose(0, 2, 1)
ds = p * (e['dp'] - (p * e['dp']).sum(2, keepdims=True)); e['ds'] = ds
dq, dk, dv = ds @ k / np.sqrt(w), ds.transpose(0, 2, 1) @ q / np.sqrt(w), p.transpose(0, 2, 1) @ do
e['dq'], e['dk'], e['dv'] = join(dq), join(dk), join(dv)
flat = lambda a: join(a).reshape(6, 4)
e['dwq'], e['dwk'], e['dwv'] = x.T @ flat(dq), x.T @ flat(dk), x.T @ flat(dv)
e['dx'] = flat(dq) @ wq.T + flat(dk) @ wk.T + flat(dv) @ wv.T
assert set(z) == set(e) | {'x', 'wq', 'wk', 'wv', 'wo', 'target'}, set(z) ^ set(e)
for name in e:
    a, b = z[name], e[name]
    assert a.shape == b.shape, (name, a.shape, b.shape)
    finite = np.isfinite(b)
    assert (a[~finite] == b[~finite]).all(), name
    assert (np.abs(a[finite] - b[finite]) <= bound).all(), (name, np.abs(a[finite] - b[finite]).max())
print(len(e))
EOF
dumped() { is "$(python again.py "$@" 2>&1)" 26 "holds each tensor: $*"; }
exits 0 "--dump x.npz" "$vitrine" lab --dump x.npz
is "$out" "$first" "shows the same"
dumped x.npz 1 1 '<f8'
exits 0 "--dump x.safetensors" "$vitrine" lab --dump x.safetensors --heads 2 --temperature 0.5 --json
dumped x.safetensors 2 0.5 '<f8'
exits 1 "--dump in float32" "$vitrine" lab --dump y.npz --heads 2 --dtype float32
dumped y.npz 2 1 '<f4'
refuses 2 "x.txt" "--dump x.txt" "$vitrine" lab --dump x.txt
ok "writes nothing" [ ! -e x.txt ]
refuses 4 "nowhere" "--dump nowhere/x.npz" "$vitrine" lab --dump nowhere/x.npz

# ---- --torch: interpreters that are none ---------------------------------------
refuses 2 "--python: expected --torch" "--python alone" "$vitrine" lab --python python3
refuses 4 "apt-get install python3-torch" "no interpreter" "$vitrine" lab --torch --python ./nothing
contains "$err" "./nothing" "is named"
program() { printf '%s\n' "#!/bin/sh" "$2" > "$1"; chmod +x "$1"; }
program bare 'exec /usr/bin/python3 -S "$@"'            # no packages at all
refuses 4 "./bare has no module torch; on Debian: apt-get install python3-torch" "no torch" \
    "$vitrine" lab --torch --python ./bare --json
program broken 'exit 1'
refuses 4 "PyTorch failed (exit status 1)" "an interpreter that fails" "$vitrine" lab --torch --python ./broken
program killed 'kill -9 $$'
refuses 4 "PyTorch failed (signal 9)" "one that is killed" "$vitrine" lab --torch --python ./killed
program mute 'cat >/dev/null'
refuses 4 "an answer that is not 185 numbers" "one that says nothing" "$vitrine" lab --torch --python ./mute
program short 'cat >/dev/null; echo torch 1; echo 0x1p1; echo 0x1p1'
refuses 4 "an answer that is not 185 numbers" "or too little" "$vitrine" lab --torch --python ./short
program zeros 'cat >/dev/null; echo torch 9; for i in $(seq 185); do echo 0x0p0; done'
exits 1 "one whose numbers are others" "$vitrine" lab --torch --python ./zeros
contains "$err" "PyTorch: d" "is a difference, which is named"
contains "$out" "FAIL" "and shown"
exits 1 "likewise with --json" "$vitrine" lab --torch --python ./zeros --json
is "$(key torch.version) $(key torch.pass) $(key torch.compared)" "9 False 184" "and its verdict"
program nans 'cat >/dev/null; echo torch 9; for i in $(seq 185); do echo nan; done'
exits 1 "NaN is no agreement" "$vitrine" lab --torch --python ./nans

# ---- what cannot be used ---------------------------------------------------
refuses 2 "--heads 3: expected a whole number from 1 to 2" "--heads 3" "$vitrine" lab --heads 3
refuses 2 "--heads 0: expected" "--heads 0" "$vitrine" lab --heads=0
refuses 2 "--temperature 0: expected a number from 0.01 to 100" "--temperature 0" "$vitrine" lab --temperature 0
refuses 2 "--temperature -1: expected" "--temperature -1" "$vitrine" lab --temperature -1
refuses 2 "--temperature nan: expected" "--temperature nan" "$vitrine" lab --temperature nan
refuses 2 "--dtype float16: expected float64 or float32" "--dtype float16" "$vitrine" lab --dtype float16
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
