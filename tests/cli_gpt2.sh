# cli_gpt2.sh -- the preset gpt2 at a size that a test has time for: a twin with one layer, 48
# channels and a vocabulary of 307.  Its initialisation, schedule, groups and settings are
# GPT-2's as the preset's comment gives them (src/train/settings.c), and a run in two parts
# has the bits of one.
# asan: no, nothing here that test_train does not run
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
make_corpus c.csv 40
ok "a tokenizer" train --data c.csv --merges 50 --steps 1 --out words
twin() { "$vitrine" train --preset gpt2 --data c.csv --tokenizer words --layers "${layers:-1}" --d-model 48 --context 64 --seq 32 "$@"; }
exits 0 "130 steps" twin --steps 130 --out whole --json
cat > laws.py <<'END'
import json, math
m = json.load(open("whole/manifest.json"))
s, z = m["settings"], m["model"]
L, C, FF, T, V = 1, 48, 192, 64, 307
want = dict(preset="gpt2", init="gpt2", activation="gelu_new", seq=32, batch=4, accumulate=1, lr=1e-4, lr_min=1e-5,
            warmup=100, beta1=0.9, beta2=0.95, eps=1e-8, decay=0.1, clip=1, steps=130)
assert {k: s[k] for k in want} == want, s
assert (z["n_head"], z["vocab_size"], z["tie_word_embeddings"]) == (12, V, True), z
assert json.load(open(".out"))["parameters"] == V*C + T*C + L*(12*C*C + 13*C) + 2*C
assert m["tokenizer"]["from"] == "given"
rows = [json.loads(line) for line in open("whole/metrics.jsonl")]
for r in rows:                          # a warm-up of 100, then a cosine down to a tenth at the end
    k = r["step"] - 1
    lr = 1e-4 * (k + 1) / 100 if k < 100 else 1e-5 + 0.5 * (1e-4 - 1e-5) * (1 + math.cos(math.pi * (k - 100) / 30))
    assert abs(r["lr"] - lr) <= 1e-12 * lr, (r, lr)
assert len(rows) == 130 and [r["step"] for r in rows if r["val_loss"] is not None] == [130]
# Weights of 0.02 say nothing yet: the loss of a blind guess.
assert abs(rows[0]["loss"] - math.log(V)) < 0.05, rows[0]
assert rows[-1]["loss"] < rows[0]["loss"] - 0.3, rows[-1]
END
ok "settings, sizes, rates and the first loss are the preset's" python laws.py
exits 0 "stopped at 60" twin --steps 130 --out parts --stop-at 60
exits 0 "resumed, another number of threads" "$vitrine" train --data c.csv --out parts --resume --threads 3
is "$(state parts)" "$(state whole)" "has the bits of the run in one"
contains "$out" "decay 0.1: wte wpe h.*.qkvw" "matrices decay"

# A step of rate 1e-9, which moves no number by more than about that, leaves what the initialisation drew: of GPT-2, normal numbers of deviation
# 0.02, of the projections onto the residual stream 0.02 / sqrt(2 L); biases 0, gains 1.
layers=2
exits 0 "a step of rate 1e-9" twin --steps 1 --lr 1e-9 --lr-min 1e-9 --out drawn
cat > init.py <<'END'
import array, json, statistics, struct
data = open("drawn/model.safetensors", "rb").read()
n = struct.unpack("<Q", data[:8])[0]
count = 0
for name, t in json.loads(data[8:8 + n]).items():
    if name == "__metadata__": continue
    a, b = t["data_offsets"]
    x = array.array("f", data[8 + n + a:8 + n + b])
    if len(t["shape"]) == 1:
        assert all(abs(v - name.endswith("weight")) < 1e-8 for v in x), name
        continue
    sigma = 0.02 / 2 if name.endswith("c_proj.weight") else 0.02
    # of N numbers: the mean within 5 sigma / sqrt(N), the deviation within 5 / sqrt(2 N)
    mean, deviation = statistics.fmean(x), statistics.pstdev(x)
    assert abs(mean) < 5 * sigma / len(x) ** 0.5, (name, mean)
    assert abs(deviation / sigma - 1) < 5 / (2 * len(x)) ** 0.5, (name, deviation, sigma)
    count += 1
assert count == 2 + 2 * 4, count
END
ok "weights are drawn as GPT-2's" python init.py
finish
