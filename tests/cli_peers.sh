# cli_peers.sh -- bench/peers/run: other programs get the same input, a wrong result is named
# and not timed, and what is not installed is said.  No figure is compared with a number of
# seconds.
# asan: no, the driver links the library by its own flags
. "${0%/*}/tap.sh"
peers=$root/bench/peers
build=${vitrine%/*}

# ---- what results are compared with ----

# The complex step (Squire, Trapp 1998) knows no backward pass: Im f(x + ih) / h, h = 1e-30.
ok "the teaching code's gradient is that of its loss, head tied and not" /usr/bin/python3 -B -c '
import sys; sys.path.insert(0, sys.argv[1])
import numpy as np, teaching_gpt as t
r = np.random.default_rng(7)
for tied in 0, 1:
    z = t.Sizes(2, 6, 3, 10, 7, 11, tied)
    p = r.standard_normal(z.count()) / 2
    x, y = r.integers(0, 11, (3, 5)), r.integers(0, 11, (3, 5))
    x[0] = 4                                    # an id again and again: its gradients add
    loss, g, _ = t.gradient(p, z, x, y)
    for i in range(z.count()):
        c = p.astype(complex); c[i] += 1e-30j
        slope = np.mean([t.forward(z.views(c), z, a, b)[0].imag for a, b in zip(x, y)]) / 1e-30
        assert abs(slope - g[i]) <= 1e-13 * (1 + abs(g).max()), (tied, i, slope, g[i])
    assert i + 1 == z.count() == 11 * 6 + 7 * 6 + 2 * (12 * 36 + 2 * 6 * 10 - 8 * 36 + 9 * 6 + 10) + 12 + (not tied) * 66' "$peers"
ok "attention in double is the textbook, by loops, and its gradient that of the complex step" /usr/bin/python3 -B -c '
import sys; sys.path.insert(0, sys.argv[1])
import numpy as np, reference
r = np.random.default_rng(8)
T, HS = 6, 3
x = [r.uniform(-1, 1, (T, HS)) for _ in range(4)]
def attend(q, k, v):
    out = np.zeros((T, HS), q.dtype)
    for t in range(T):
        e = [np.exp(sum(q[t] * k[u]) / HS ** 0.5) for u in range(t + 1)]
        for u in range(t + 1): out[t] += e[u] / sum(e) * v[u]
    return out
(out, *grads), bounds = reference.head_truth(*x)
assert abs(out - attend(*x[:3])).max() < 1e-15
for n in range(3):
    for i in range(T * HS):
        c = [a.astype(complex) for a in x[:3]]; c[n].flat[i] += 1e-30j
        slope = (x[3] * attend(*c).imag).sum() / 1e-30
        assert abs(slope - grads[n].flat[i]) < 1e-14, (n, i)
# A bound is of rounding: above the error of any float program, below what a slip changes.
f = [a.astype(np.float32).astype(np.float64) for a in x]
for value, bound in zip((out, *grads), bounds):
    assert (bound > 0).all() and (bound < 1e-4).all()' "$peers"

# ---- a wrong program ----

# NumPy, but a number beyond what rounding explains.
cat > wrong.py <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import peer
import teaching_gpt
def make(kind, n, read, write):
    if kind == "gemm":
        y = read("x").reshape(n[0], n[0]) @ read("w").reshape(n[0], n[0])
        y[2, 1] += 2e-5
        write("y", y)
    elif kind == "step":
        z, ids = teaching_gpt.Sizes(*n[:7]), read("ids", "int32")
        loss, g, _ = teaching_gpt.gradient(read("weights"), z, ids[:256].reshape(16, 16), ids[1:].reshape(16, 16))
        z.views(g)["h.1.fcw"][3, 5] *= 1.001
        write("loss", [loss])
        write("gradient", g)
    else:
        return None
    return lambda: None
peer.serve("0", make)
END
exits 1 "a wrong program" "$peers/run" gemm-8 tiny-575 attention-4 --quick --rounds 1 --threads 1 --build "$build" --json \
    --peers numpy --peer wrong="/usr/bin/python3 -B $tmp/wrong.py $peers" --peer gone=false
contains "$err" "bench/peers/run: 2 wrong: gemm-8 of wrong: y[17]: expected " "it is named, with its place"
contains "$err" "it was not timed" "and not timed"
is "$(wc -l < .err)" 1 "in one line"
ok "the report: who was measured, who is wrong, who ended" /usr/bin/python3 -c 'import json
def no(x): raise ValueError(x)
r = json.load(open(".out"), parse_constant=no)
near = lambda a, b: abs(a - b) <= 1e-9 * abs(b)
assert r["wrong"] == 2 and r["commit"] and r["machine"]["cores"] >= 1 and r["limits"] == [] and r["seconds"] > 0
assert r["command"].startswith("bench/peers/run gemm-8 tiny-575 attention-4 --quick")
assert [(c["name"], c["threads"]) for c in r["cases"]] == [("gemm-8", 1), ("tiny-575", 1), ("attention-4", 1)]
for c in r["cases"]:
    rows = {row["peer"]: row for row in c["rows"]}
    alone = c["name"] == "attention-4"
    assert list(rows) == (["vitrine", "gone"] if alone else ["vitrine", "numpy", "wrong", "gone"])
    for name in ("vitrine",) if alone else ("vitrine", "numpy"):
        row = rows[name]
        assert row["verdict"] == "measured" and row["note"] is None and row["samples"] == 1
        assert 0 < row["bound_used"] <= 1 and row["low"] <= row["seconds"] <= row["high"] and row["cpu_seconds"] > 0
        assert near(row["rate"], c["per_call"] / row["seconds"])
        assert near(row["ratio"], row["seconds"] / rows["vitrine"]["seconds"])
        assert near(row["cpu_ratio"], row["cpu_seconds"] / rows["vitrine"]["cpu_seconds"])
    assert rows["gone"]["verdict"] == "skipped" and rows["gone"]["note"] == "ended with status 1"
    if alone: continue
    w = rows["wrong"]
    assert w["verdict"] == "wrong" and w["seconds"] is w["rate"] is w["ratio"] is None and w["samples"] == 0
a, b, c = r["cases"]
assert a["flop"] == 2 * 8 ** 3 and b["flop"] == 3 * (2 * (6291456 + 278528) + 9420800)
assert c["flop"] == 4 * 64 * 4 * 12 * (1 + 2 + 3 + 4) and b["per_call"] == 256
assert a["rows"][0]["compared"] == 64 and b["rows"][0]["compared"] == 1 + 63296 and c["rows"][0]["compared"] == 4 * 4 * 768
assert b["rows"][2]["note"].startswith("dh.1.fcw[%d]: expected " % (3 * 128 + 5))
assert {p["name"]: p["note"] for p in r["peers"]} == {n: None for n in ("vitrine", "numpy", "wrong", "gone")}'

# ---- those that are here ----

exits 0 "all that are installed" "$peers/run" gemm-9 attention-17 attention-17-both tiny-575 --quick --rounds 1 \
    --threads 1 --build "$build" --json
ok "each was right, or is not installed" /usr/bin/python3 -c 'import json
r = json.load(open(".out"))
here = {p["name"]: p for p in r["peers"]}
assert list(here) == ["vitrine", "openblas", "onednn", "libxsmm", "numpy", "torch", "torch-tuned"]
assert "gcc ours.c -Isrc -Iinclude " in here["vitrine"]["command"], "a folder of this machine"
assert here["vitrine"]["version"].startswith(r["version"]) and here["numpy"]["note"] is None
for p in here.values():
    if p["note"]: assert p["note"] == "not installed (apt-get install %s)" % p["package"], p
rows = [(c["name"], row) for c in r["cases"] for row in c["rows"]]
assert len(rows) == 7 + 3 + 3 + 4
for name, row in rows:
    absent = here[row["peer"]]["note"]
    assert row["verdict"] == ("skipped" if absent else "measured") and row["note"] == absent, (name, row)
    if not absent: assert row["bound_used"] <= 1 and row["seconds"] > 0
print("measured:", " ".join(sorted({row["peer"] for _, row in rows if row["seconds"]})))'
exits 0 "as a table" "$peers/run" gemm-8 --quick --rounds 1 --threads 1 --build "$build" --peers openblas,numpy
ok "ours is 1" grep -Eq "^  vitrine +[0-9.]+ .FLOP/s .* 1\.00 " .out
ok "NumPy's row" grep -Eq "^  numpy +[0-9.]+ .FLOP/s " .out
contains "$out" "gemm-8: 8 x 8 by 8 x 8; 1 thread
" "what is measured"
is "$err" "" "nothing on standard error"
exits 0 "--list" "$peers/run" --list
ok "says who is there" grep -Eq "^numpy +there$" .out
exits 0 "--help" "$peers/run" --help
contains "$out" "usage: bench/peers/run" "its usage"

refuses 2 "no work 'gemm-x'; expected gemm-N" "a work that is none" "$peers/run" gemm-x --build "$build"
refuses 2 "--peers nobody: expected openblas, " "a program that is none" "$peers/run" --peers nobody
refuses 2 "--peer numpy=x: expected NAME=CMD" "a name that is taken" "$peers/run" --peer numpy=x
refuses 2 "--threads 0: expected 1 to 256" "no threads" "$peers/run" --threads 0
refuses 2 "--rounds" "rounds that are no number" "$peers/run" --rounds many
refuses 2 "--rounds 0: expected 1 to 1000" "no rounds" "$peers/run" --rounds 0
refuses 2 "--peers : expected openblas, " "no program" "$peers/run" --peers '' --build "$build" gemm-32
refuses 2 "--peers : expected openblas, " "nor behind a comma" "$peers/run" --peers numpy, --build "$build" gemm-32
refuses 2 "--list names all programs: gemm-32: unexpected" "a work beside --list" "$peers/run" --list gemm-32
refuses 4 "nowhere: expected a build with vitrine and libvitrine.a" "no build" "$peers/run" --build nowhere

refuses 2 "--peer x='a: No closing quotation" "a command that is none" "$peers/run" --peer "x='a" --list
refuses 4 "bench/peers/ours.c does not compile: gcc: No such file or directory" "no compiler" \
    env PATH=/nowhere /usr/bin/python3 -B "$peers/run" gemm-8 --quick --build "$build" --peers numpy --json

# Programs that are none: each is named, and the others are measured.
exits 0 "programs that are none" "$peers/run" gemm-8 --quick --rounds 1 --threads 1 --build "$build" --peers numpy \
    --peer absent=/none --peer talks=yes
contains "$out" "absent             /none: cannot be started: No such file or directory" "one that is not there"
contains "$out" "talks              expected one line, it said '1" "one that does not stop"
ok "NumPy is measured beside them" grep -Eq "^  numpy +[0-9.]+ .FLOP/s " .out

# Standard output that takes nothing.  With --json the report is at the end.
for form in --list --json; do
    set -- "$peers/run" gemm-8 --quick --rounds 1 --threads 1 --build "$build" --peers numpy --json
    [ $form = --json ] || set -- "$peers/run" --list
    refuses 4 "standard output: No space left on device" "$form: a full disk" sh -c '"$@" > /dev/full' - "$@"
    refuses 4 "standard output: it is closed" "$form: closed" sh -c '"$@" >&-' - "$@"
    { "$@"; echo $? > code; } 2> gone.err | :
    is "$(cat code gone.err)" 0 "$form: who reads goes: it ends quietly"
done

# A program that never says who it is ends with the driver.
mkdir quiet
printf '#!/bin/sh\necho $$ > pid; exec sleep 1000\n' > silent && chmod +x silent
TMPDIR=$tmp/quiet "$peers/run" gemm-8 --quick --build "$build" --peers numpy --peer silent=./silent > quiet.out 2> quiet.err &
child=$!
tries=0
until [ -s pid ] || [ $tries -ge 3000 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -TERM $child
wait $child
is "$?" 130 "interrupted while a program is silent"
ok "which has ended" sh -c '! kill -0 "$(cat pid)" 2> kill.err'
is "$(cat quiet.err; ls quiet)" "bench/peers/run: interrupted" "in one line, and its folder is gone"

# A signal, while it measures: it ends its programs, and leaves no folder.
mkdir left
TMPDIR=$tmp/left "$peers/run" gemm-8 --quick --rounds 1000 --build "$build" --peers numpy > int.out 2> int.err &
child=$!
tries=0
until grep -qs '^  program' int.out || [ $tries -ge 3000 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -TERM $child
wait $child
is "$?" 130 "interrupted"
is "$(cat int.err)" "bench/peers/run: interrupted" "and says so"
is "$(ls left)" "" "its folder is gone"
ok "the tree is as it was" test ! -e "$peers/__pycache__"
finish
