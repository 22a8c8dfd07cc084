# cli_info_memory.sh -- `vitrine info --memory`: the plan is what a run then takes.
# asan: no, the sanitizer's own memory would be counted
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
make_corpus c.csv 40

# ---- the numbers, by algebra ---------------------------------------------------
exits 0 "gpt2" "$vitrine" info --memory --preset gpt2 --threads 2 --json
is "$(key train.parameters)" 124439808 "GPT-2's smallest has 124,439,808 parameters"
is "$(key train.vocabulary)" 50257 "and 50,257 tokens"
cat > sums.py <<'END'
import json, sys
again = len(sys.argv) > 1
p = json.load(open(".out"))["train"]
rows = {r["name"]: r["bytes"] for r in p["blocks"]}
L, C, NH, FF, T, V, N = 12, 768, 12, 3072, 1024, 50257, 4 * 1024
count = V*C + T*C + L*(4*C + 3*C*C + 3*C + C*C + C + 2*C*FF + FF + C) + 2*C
assert count == p["parameters"], count
# At most 2^23 logits at once, in about equal parts: 25 of 164 rows. Computed again: of all
# layers but one the residual stream's end alone.
R = -(-N // -(-N // (2**23 // V)))
assert R == 164
K = 1 if again else L
want = {"parameters": 4*count, "gradients": 4*count, "moments of AdamW": 8*count,
        "activations: attention": 4*K*N*(3*C + NH + C),
        "activations: layer norms": 4*K*N*2*(C + 1 + 1),
        "activations: feed-forward": 4*K*N*2*FF,
        "activations: residual stream": 4*(K + L)*N*C,
        "activations: logits and loss": -(-4*R*V // 64) * 64 + 4*N*2,
        "gradients of activations": 4*N*(2*C + FF + C + 3*C)}
for name, size in want.items():
    assert rows[name] == size, (name, rows[name], size)
def of(kind): return [r["bytes"] for r in p["blocks"] if r["kind"] == kind]
assert p["memory"] == sum(of("held")) + max(of("passing"), default=0)
assert p["disk"] == sum(of("disk")) + max(of("disk_passing"))
assert rows["rounding up to pages"] < 2 * 2**21
END
ok "each block is as large as its shape says, and the total their sum" python sums.py
exits 0 "gpt2, recomputed" "$vitrine" info --memory --preset gpt2 --threads 2 --json --recompute
ok "one layer's activations, and of the others what they hand on" python sums.py again
exits 0 "a half of the windows" "$vitrine" info --memory --preset gpt2 --threads 2 --json --batch 2
half=$(key train.memory)
exits 0 "gpt2 again" "$vitrine" info --memory --preset gpt2 --threads 2 --json
is "$(key train.lever), $(key train.lever_memory)" "--batch 2, $half" "the lever is what it says"
exits 0 "with tokens" "$vitrine" info --memory --preset gpt2 --threads 2 --json --tokens 1000000
is "$(($(key train.memory) - 4000000 - half))" \
   "$("$vitrine" info --memory --preset gpt2 --threads 2 --json > .out; echo $(($(key train.memory) - half)))" \
   "a token takes 4 bytes"
exits 0 "as text" "$vitrine" info --memory
contains "$out" "memory, at most" "a total"
contains "$out" "a text in which fewer pairs occur" "and that the vocabulary may be smaller"
exits 0 "more than the machine has" "$vitrine" info --memory --layers 96 --d-model 12288 --heads 96 --seq 8
contains "$out" "more than this machine has" "is said"
refuses 5 "size overflows" "sizes that overflow" "$vitrine" info --memory --batch 2147483647 --seq 128
refuses 5 "overflow" "a step that overflows" \
    "$vitrine" info --memory --accumulate 2147483647 --batch 2147483647 --seq 1
refuses 2 "--heads 3 does not divide" "heads that do not divide" "$vitrine" info --memory --heads 3
refuses 4 "no-such.json" "a tokenizer that is none" "$vitrine" info --memory --tokenizer no-such.json
refuses 2 "--merges and --tokenizer" "both" "$vitrine" info --memory --merges 3 --tokenizer x

# ---- the plan and the run ------------------------------------------------------
# 16 MB are allowed for the program, its libraries, the text and the tokenizer; the plan
# itself may not be larger than what is taken.
cat > peak.py <<'END'
import json, resource, subprocess, sys
plan = int(sys.argv[1])
subprocess.run(sys.argv[2:], check=True, stdout=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print("planned %.1f MB, peak %.1f MB" % (plan / 1e6, peak / 1e6))
sys.exit(not 0.97 * plan < peak < plan + 16e6)
END
planned() { "$vitrine" info --json --memory "$@" > .out && key "${plan:-train}.memory"; }
measure() {
    name=$1 memory=$2; shift 2
    exits 0 "$name" /usr/bin/python3 peak.py "$memory" "$vitrine" "$@"
    show "$name: $out"
}
for head in tied untied; do
    size="--preset tiny --merges 100 --$head --layers 4 --d-model 256 --threads 2"
    measure "$head" "$(planned $size)" train --data c.csv $size --steps 2 --stop-at 1 --out $head
    measure "$head, recomputed" "$(planned $size --recompute --batch 64)" train --data c.csv $size \
        --recompute --batch 64 --steps 1 --out again
    rm -r again
    measure "$head, resumed" "$(plan=resume planned $head --threads 2)" \
        train --data c.csv --threads 2 --out $head --resume
    measure "$head, generates" "$(plan=generate planned $head --threads 2)" \
        generate $head --threads 2 --prompt "of the" --max-tokens 30
done
train --data c.csv --merges 100000 --steps 1 --out fewer > .out || exit 1
exits 0 "a model that found fewer merges than it was asked for" "$vitrine" info --memory fewer --json
is "$(key resume.vocabulary)" "$(key generate.vocabulary)" "is resumed with what it has"
exits 0 "beyond all units of old" "$vitrine" info --memory --d-model 100000 --layers 1000
contains "$out" " PB" "in petabytes"
lacks "$out" "would take" "and no lever that would not help"
exits 0 "of a model, as text" "$vitrine" info tied --memory
contains "$out" "not planned: check; export" "what is not in it"
refuses 2 "--batch: expected no such option with a model" "a model has its sizes" \
    "$vitrine" info tied --memory --batch 3
refuses 2 "--batch: expected --memory with it" "options of a plan without one" \
    "$vitrine" info tied --batch 3
refuses 2 "expected the folder of a model" "neither" "$vitrine" info --json

# ---- a tokenizer that is there already -----------------------------------------
exits 0 "--tokenizer takes a model's folder" "$vitrine" train --data c.csv --preset tiny \
    --tokenizer tied --steps 2 --out given --json
ok "its tokenizer is that one" cmp tied/tokenizer.json given/tokenizer.json
exits 0 "or a file" "$vitrine" train --data c.csv --preset tiny \
    --tokenizer tied/tokenizer.json --steps 2 --stop-at 1 --out file --json
exits 0 "and is resumed without it" "$vitrine" train --data c.csv --out file --resume --json
is "$(state file)" "$(state given)" "to the same bits"
refuses 2 "the run to resume has its own" "not with --resume" \
    "$vitrine" train --data c.csv --out file --resume --tokenizer tied
refuses 2 "--merges and --tokenizer" "not with --merges" \
    "$vitrine" train --data c.csv --out never --tokenizer tied --merges 9
printf '{}' > bad.json
exits 3 "a file that is no tokenizer" \
    "$vitrine" train --data c.csv --out never --tokenizer bad.json
contains "$err" "bad.json: pre_tokenizer: expected" "is named"
is "$out" "" "and nothing said before"
ok "nothing is left of it" [ ! -e never ]
"$vitrine" info --memory --tokenizer tied --json > .out
merged=$(key train.vocabulary)
"$vitrine" info tied --json > .out
is "$merged" "$(key vocabulary)" "a plan with its vocabulary"
finish
