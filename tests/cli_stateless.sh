# cli_stateless.sh -- a model whose state was left out: model.safetensors, config.json and
# tokenizer.json, with the manifest of their run, or without.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
make_corpus c.csv 40
train --data c.csv --merges 30 --steps 30 --out m > .out || exit 1
awk 'NR < 6' c.csv > held.csv

# ---- the run's windows -------------------------------------------------------------------
cp -r m bare; rm bare/state.safetensors
evaluate() { "$vitrine" eval "$1" held.csv --column text --json; }
exits 0 "eval, with the state" evaluate m
loss=$(key loss); is "$(key seq)" 16 "windows of 16"
exits 0 "and without" evaluate bare
is "$(key seq) $(key loss)" "16 $loss" "the same loss: its manifest knows the windows"
is "$err" "" "without a word"
speak() { "$vitrine" generate "$1" --prompt "the of" --max-tokens 60 --seed 3; }
exits 0 "generate, with the state" speak m
text=$out
exits 0 "and without" speak bare
is "$out" "$text" "the same text"
exits 0 "info" "$vitrine" info bare --json
is "$(key seq) $(key seq_known) $(key step)" "16 True None" "knows the windows, and no step"
contains "$(key manifest)" "state.safetensors is not there; the others match" "each file's verdict"
cp -r bare alone; rm alone/manifest.json
exits 0 "no manifest" evaluate alone
is "$(key seq)" 32 "all positions"
contains "$err" "alone: on which windows it was trained is not known" "and says so"
exits 0 "generate" speak alone
contains "$err" "32, all its positions, are taken" "says so, too"
exits 0 "info" "$vitrine" info alone
contains "$out" "the windows of its training are not known" "and info"
exits 0 "eval --seq" "$vitrine" eval alone held.csv --column text --seq 16 --json
is "$err $(key loss)" " $loss" "has nothing to say"
echo '{"name": "of another program", "files": ["a"]}' > alone/manifest.json
exits 0 "a manifest that is no run's" evaluate alone
is "$(key seq)" 32 "is not asked"

# ---- damage ------------------------------------------------------------------------------
flip() {                                # FILE: a bit in its last byte but three
    python -c 'import sys
raw = bytearray(open(sys.argv[1], "rb").read()); raw[-4] ^= 1
open(sys.argv[1], "wb").write(raw)' "$1"
}
cp -r bare flipped; flip flipped/model.safetensors
says="flipped/manifest.json: model.safetensors has sha256 $(sha256sum < flipped/model.safetensors | cut -c 1-16)"
says="$says..., the manifest says $(sha256sum < bare/model.safetensors | cut -c 1-16)...; the others match"
for command in info generate check; do
    refuses 3 "$says" "a bit of the model: $command" "$vitrine" $command flipped
done
refuses 3 "$says" "a bit of the model: eval" "$vitrine" eval flipped held.csv --column text
for name in config.json tokenizer.json; do
    cp -r bare other; echo >> other/$name
    refuses 3 "other/manifest.json: $name has sha256" "another $name" "$vitrine" generate other
    rm -r other
done
rm flipped/manifest.json
exits 0 "without its manifest nothing tells" "$vitrine" generate flipped --max-tokens 3
cp -r m both; flip both/model.safetensors; rm both/config.json
exits 0 "with the state, that counts" "$vitrine" info both --json
contains "$(key manifest)" "model.safetensors has sha256" "the damaged one is named"
contains "$(key manifest)" "config.json is not there; the others match" "and the missing one"

# A manifest is read as what a stranger wrote.
hostile() {                             # PYTHON PART DESC: m is the manifest
    cp -r bare lies
    python -c 'import json, sys
m = json.load(open("lies/manifest.json")); exec(sys.argv[1]); json.dump(m, open("lies/manifest.json", "w"))' "$1" || exit 1
    refuses 3 "$2" "$3" "$vitrine" generate lies
    rm -r lies
}
hostile 'm["settings"]["seq"] = 33' "lies/manifest.json" "windows longer than its positions"
hostile 'm["settings"]["seq"] = -1' "lies/manifest.json" "below 0"
hostile 'm["settings"]["seq"] = 2**62' "lies/manifest.json: field \"seq\"" "beyond an int"
hostile 'm["settings"]["seq"] = "16"' "lies/manifest.json: field \"seq\"" "a text"
hostile 'del m["settings"]' "lies/manifest.json: field \"settings\"" "no settings"
hostile 'm["files"]["config.json"] = 3' "lies/manifest.json: field \"config.json\"" "a hash that is a number"
cp -r bare lies; echo '{"vitrine":' > lies/manifest.json
refuses 3 "lies/manifest.json: line " "no JSON" "$vitrine" generate lies
finish
