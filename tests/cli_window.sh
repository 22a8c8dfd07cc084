# cli_window.sh -- vitrine export --out: a window's tensors as a file, in four forms.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
forms() { python "$root/tests/window_forms.py" "$@"; }
# numbers DESC ARG...: what NumPy says of the numbers in the files; sanitized, nothing is asked.
numbers() {
    sanitized && return
    numbers_desc=$1; shift
    exits 0 "$numbers_desc" forms "$@"
}
export_() { "$vitrine" export "$@"; }

make_corpus corpus.csv 30
text="the and of a to be or not who it"
exits 0 "a model" train --data corpus.csv --out model --steps 20 --merges 30 --json
exits 0 "one whose head is tied" train --data corpus.csv --out tied --steps 5 --merges 5 --tied \
    --layers 1 --heads 4 --json

# ---- words --------------------------------------------------------------------
refuses 2 "is a.npz meant?" "another extension" export_ model --text "$text" --out a.npy
refuses 2 ".npz, .safetensors, .json or .csv" "none" export_ model --text "$text" --out a
refuses 2 "one of them" "both forms" export_ model --text "$text" --out a.npz --site .
refuses 2 "--out FILE" "no form" export_ model --text "$text"
refuses 2 "--layer: says nothing without --out" "a file's option for a site" export_ model --text a --site . --layer 0
refuses 2 "--as: says nothing without --site" "a site's option for a file" export_ model --text a --out a.npz --as lab
refuses 2 "--text-file: expected one of them" "two texts" export_ model --text a --text-file corpus.csv --out a.npz
refuses 2 "is att meant?" "a name with a slip" export_ model --text "$text" --out a.npz --tensor logits,atn
refuses 2 "--tensor ''" "an empty name" export_ model --text "$text" --out a.npz --tensor att,
refuses 2 "no tensor is chosen" "names that exclude each other" export_ model --text "$text" --out a.npz --tensor logits --layer 0
refuses 2 "--layer 2: expected 0 to 1" "a layer that is none" export_ model --text "$text" --out a.npz --layer 2
refuses 2 "--head 2: expected 0 to 1" "a head that is none" export_ model --text "$text" --out a.npz --head 2
refuses 2 "is forward meant?" "a pass that is none" export_ model --text "$text" --out a.npz --what forwards
refuses 2 "--window 33: expected 1 to 32" "more tokens than positions" export_ model --text "$text" --out a.npz --window 33
refuses 2 "expected float64 or float32" "another type" export_ model --text "$text" --out a.npz --dtype float16
# Also the names of files that a model of another maker does not have.
mkdir bare; cp model/model.safetensors model/config.json model/tokenizer.json bare
before=$(cat model/* bare/* | sha256sum)
for file in state.safetensors model.safetensors config.json tokenizer.json manifest.json metrics.jsonl; do
    for folder in model bare; do
        refuses 2 "is a file of the model" "$file of $folder" \
            export_ $folder --text "$text" --out "$folder/$file"
    done
    refuses 2 "is a file of the model" "$file by another path" \
        export_ bare --text "$text" --out "$PWD/model/../bare/./$file"
done
is "$(ls bare | tr '\n' ' ')" "config.json model.safetensors tokenizer.json " "none is made"
is "$(cat model/* bare/* | sha256sum)" "$before" "none is changed"
cp corpus.csv both.csv
refuses 2 "is the file that is read" "the text that is read" export_ model --text-file both.csv --out both.csv
refuses 3 "0 tokens" "an empty text" export_ model --text '' --out a.npz
refuses 3 "expected UTF-8" "a text that is none" export_ model --text "$(printf 'ab\345\\')" --out a.npz
refuses 3 "two or more" "gradients of one token" export_ model --text a --out a.npz --what all
refuses 4 "absent" "a model that is not there" export_ absent --text "$text" --out a.npz
refuses 4 "nowhere" "a folder that is not there" export_ model --text "$text" --out nowhere/a.npz
mkdir folder.csv
refuses 4 "folder.csv" "a folder in its place" export_ model --text "$text" --out folder.csv
# shellcheck disable=SC2010                     # names without blanks
is "$(ls | grep '^a')" "" "and nothing was written"
ok "nor changed" cmp corpus.csv both.csv

# ---- four forms, the same numbers -----------------------------------------------
for form in npz safetensors json csv; do
    exits 0 "all of it as .$form" export_ model --text "$text" --what all --out all.$form --json
    is "$(key tensors) $(key window) $(key masked_nonzero) $(key bytes)" "108 16 0 $(wc -c < all.$form)" "its report"
    cp .out report.$form
done
ok "whose keys are those of docs/command-line.md" python -c 'import json, re, sys
part = open(sys.argv[1]).read().split("`export --out`:\n")[1].split("\n\n")[0]
assert set(json.load(open(".out"))) == set(re.findall("`([a-z_0-9]+)`", part)), part' "$root/docs/command-line.md"
contains "$err" "the first 16 are taken" "a text that is longer than the window is cut, and said to be"
exits 0 "all four hold the same bits" forms equal all.npz all.safetensors all.json all.csv
contains "$out" "110 tensors" "ids, targets and 108 tensors"
numbers "NumPy computes every stage from those before it" stages all.npz model
mkdir site; echo module > site/vitrine.wasm
exits 0 "a site's window" export_ model --text "$text" --site site --json
hash=$(key tensors_sha256)
numbers "has the same bits" equal all.npz site/data/lab/window.safetensors
cp report.csv .out
is "$(key tensors_sha256)" "$hash" "and the same hash of its numbers"
is "$(key state_sha256) $(key model_sha256)" "$(state model) $(sha256sum < model/model.safetensors | cut -d' ' -f1)" "both hashes of the model"
for form in npz safetensors json csv; do
    exits 0 "again" export_ model --text "$text" --what all --out again.$form
    ok "the same bytes" cmp all.$form again.$form
    lacks "$(cat all.$form | tr -d '\000')" "$tmp" "no path of this machine"
done
exits 0 "unzip takes the archive" /usr/bin/python3 -m zipfile -t all.npz
printf '%s' "$text" > text
exits 0 "a text from a file" export_ model --text-file text --what all --out again.json
ok "is the same" cmp all.json again.json
ok "and from standard input" sh -c "'$vitrine' export model --text-file - --what all --out again.csv < text 2> /dev/null"
ok "too" cmp all.csv again.csv

exits 0 "a tied head, four heads" export_ tied --text "$text, \"so\"" --out tied.json
numbers "its stages" stages tied.json tied
exits 0 "as .csv" export_ tied --text "$text, \"so\"" --out tied.csv
numbers "the same" equal tied.json tied.csv
# Pieces that need care in a CSV: bytes that are no characters, quotation marks, newlines.
exits 0 "pieces of bytes" export_ tied --text "$(printf 'a"b\\c\n,\tä\033=1')" --out odd.csv
exits 0 "and as .json" export_ tied --text "$(printf 'a"b\\c\n,\tä\033=1')" --out odd.json
numbers "are all there" equal odd.json odd.csv
ok "none begins a formula" sh -c "! grep -qE ',\"?[=+@]' odd.csv"

# ---- parts ------------------------------------------------------------------------
exits 0 "the forward pass" export_ model --text "$text" --out part.npz --json
is "$(key tensors)" 46 "20 stages a layer, 6 at the ends"
exits 0 "one layer" export_ model --text "$text" --what all --layer 1 --out part.csv
numbers "is that part of all" part all.npz part.csv 1
exits 0 "one head" export_ model --text "$text" --what all --layer 1 --head 1 --out part.csv
numbers "is its columns and matrices" part all.npz part.csv 1 1
ok "with the head's number" grep -q '^h.1.att,1,1,15,15,' part.csv
exits 0 "the first head" export_ model --text "$text" --what all --layer 0 --head 0 --out part.safetensors
numbers "likewise" part all.npz part.safetensors 0 0
for form in npz safetensors json csv; do
    exits 0 "float32 as .$form" export_ model --text "$text" --what all --dtype float32 --out part.$form
    numbers "is all, rounded" part all.npz part.$form float32
done
names() { python -c 'import numpy, sys; print(*numpy.load(sys.argv[1]).files)' "$1"; }
exits 0 "by names" export_ model --text "$text" --tensor 'h.1.att,datt,l*s,grad.qkvb' --out part.npz
is "$(names part.npz)" "provenance tokens targets h.1.att logits loss h.1.datt h.0.datt grad.h.0.qkvb grad.h.1.qkvb" "and patterns, in the window's order"
exits 0 "the backward pass" export_ model --text "$text" --what backward --head 0 --tensor 'd*,scores' --out part.npz
exits 0 "one token" export_ model --text a --out one.json --json
is "$(key loss) $(key window)" "None 1" "has no loss"
exits 0 "more tokens than the training's windows" export_ model --text "$text" --window 20 --out more.npz --json
is "$(key window)" 20 "where they are asked for"
numbers "their stages" stages more.npz model

# What docs/formats.md shows.
awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on && part == "window" { print } /^## A window as a file/ { part = "window" } /^## / && !/A window as a file/ { part = "" }' \
    "$root/docs/formats.md" | sed '/matplotlib\|plt\./d' > shown.py
ok "docs/formats.md shows how" grep -q np.load shown.py
cp all.npz window.npz; cp all.json window.json
exits 0 "and what it shows works" python shown.py
contains "$out" "rows sum to 1" "as it says"

# ---- a model of other makers --------------------------------------------------------
mkdir foreign; cp model/model.safetensors model/config.json model/tokenizer.json foreign/
exits 0 "a model without a state" export_ foreign --text "$text" --what all --out foreign.npz --window 16 --json
is "$(key state_sha256) $(key tensors_sha256)" "None $hash" "the same numbers"
cp -r model changed; sed -i 's/"n_head": 2/"n_head": 4/' changed/config.json
refuses 3 "config.json" "a file that is not the state's" export_ changed --text "$text" --out a.npz

# ---- what is there stays -------------------------------------------------------------
for form in npz safetensors json csv; do
    echo old > kept.$form
    ok "a file that may not grow (.$form)" sh -c "ulimit -f 20; '$vitrine' export model --text '$text' --what all --out kept.$form 2> why; [ \$? -eq 4 ]"
    contains "$(cat why)" "kept.$form: cannot write" "says so"
    # shellcheck disable=SC2010                     # names without blanks
    is "$(cat kept.$form) $(ls | grep -c '^kept')" "old 1" "the old one stays, alone"
    rm kept.$form
done
mkdir locked; chmod 555 locked; chmod -R a+rX .
refuses 4 "locked/a.npz" "a folder that may not be written" unprivileged "$vitrine" export model --text a --out locked/a.npz
# Sanitized, it takes as long with fewer numbers.
large=$(sweep 200 70)
exits 0 "a larger model" train --data corpus.csv --out large --steps 1 --merges 30 --layers "$(sweep 3 1)" --context "$large" --json
python -c 'print("the and of " * 200, end="")' > long
# SIGNAL FORM: sends it when the first numbers are in the temporary; prints how it ended.  Where
# it was done before the signal came, that was too late, and says nothing: once more.
interrupted() {
    /usr/bin/python3 - "$vitrine" "$1" "$2" "$large" <<'PYTHON'
import glob, os, signal, subprocess, sys, time
program, name, form, large = sys.argv[1:]
def begun():
    try:
        return any(os.path.getsize(f) for f in glob.glob("cut/w.*.tmp-*"))
    except FileNotFoundError:           # whether it can be written was tried
        return False
for _ in range(50):
    p = subprocess.Popen([program, "export", "large", "--text-file", "long", "--window", large, "--what", "all",
                          "--out", f"cut/w.{form}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while p.poll() is None and not begun():
        time.sleep(0.0002)              # the other's processor may be this one
    if p.poll() is None:
        p.send_signal(getattr(signal, name))
    line = p.communicate()[1].strip().splitlines()
    if p.returncode != 0:
        break
    with open(f"cut/w.{form}", "w") as f:
        f.write("old\n")
print(p.returncode, line[-1] if line else "")
PYTHON
}
mkdir cut
for form in json csv; do
    echo old > cut/w.$form
    for number in INT TERM; do
        contains "$(interrupted SIG$number $form)" "130 vitrine export: interrupted by signal" "SIG$number while .$form is written"
        is "$(ls -A cut) $(cat cut/w.$form)" "w.$form old" "leaves the old file, alone"
    done
    rm cut/w.$form
done
echo old > cut/w.csv
contains "$(interrupted SIGKILL csv)" "-9" "a kill"
is "$(cat cut/w.csv)" old "leaves the old file"
finish
