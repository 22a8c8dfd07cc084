# cli_plot.sh -- vitrine plot: the picture is well-formed, and its points are the metrics.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
points() { python "$root/tests/plot_points.py" "$@"; }
texts() {                               # all text of elements NAME
    python -c 'import sys, xml.etree.ElementTree as E
print(*(e.text for e in E.parse(sys.argv[1]).getroot().iter("{http://www.w3.org/2000/svg}" + sys.argv[2])), sep="|")' "$@"
}
make_corpus c.csv 40
ok "a training" train --data c.csv --steps 120 --eval-every 25 --merges 50 --out m
exits 0 "plot" "$vitrine" plot m
is "$out" "m/loss.svg" "says where the picture is"
ok "its points are those of metrics.jsonl" points m/loss.svg m/metrics.jsonl linear m/manifest.json
exits 0 "--log" "$vitrine" plot m --log --out log.svg --json
is "$(key file), $(key runs)" "log.svg, 1" "--json"
ok "its points, on a logarithmic axis" points log.svg m/metrics.jsonl log m/manifest.json
contains "$(texts m/loss.svg desc)" "training loss" "described for who does not see it"
contains "$(texts m/loss.svg desc)" "bigram model, k = " "with what to compare it with"
contains "$(cat m/loss.svg)" "prefers-color-scheme: dark" "in the dark, too"
lacks "$(cat m/loss.svg)" "<script" "no script"
lacks "$(cat m/loss.svg)" "nan" "no NaN"
"$vitrine" plot m --out again.svg > .out
ok "the same metrics, the same bytes" cmp m/loss.svg again.svg

# ---- titles from elsewhere (WEB-01) ----
mkdir hostile; cp -r m "hostile/x"; mv hostile/x "hostile/a&<b>\"c'"
exits 0 "a name with markup" "$vitrine" plot "hostile/a&<b>\"c'" --out h.svg
contains "$(texts h.svg title)" "a&<b>\"c'" "WEB-01: is text"
exits 0 "several runs" "$vitrine" plot m "hostile/a&<b>\"c'" --out both.svg
contains "$(texts both.svg text)" "a&<b>\"c'" "WEB-01: also in the legend"
is "$(grep -c 'class="bigram ' both.svg)" 1 "one line where two runs have the same bigram"

# ---- manifests that say less: older ones, broken ones ----
mkdir less; cp m/metrics.jsonl less
lines() { "$vitrine" plot less --out less.svg > .out 2>&1; grep -Eo 'class="(uniform|bigram) ' less.svg | tr -cd 'a-z \n' | tr '\n' ' '; }
grep -v '"bigram"' m/manifest.json | sed '/"loss"/,/}/d' > less/manifest.json
is "$(lines)" "classuniform  " "without a bigram: no line of it"
for part in 's/"k": .*/"k": "x"/' 's/"loss": .*,/"loss": -1,/' 's/"bigram": {/"bigram": null, "x": {/'; do
    sed "$part" m/manifest.json > less/manifest.json
    is "$(lines)" "classuniform  " "$part: no line of it"
done
echo '{' > less/manifest.json
is "$(lines)" "" "no manifest: none"

# ---- short and long ones ----
sed -n 1p m/metrics.jsonl > one.jsonl; mkdir one; mv one.jsonl one/metrics.jsonl
exits 0 "one step, no manifest" "$vitrine" plot one
ok "is a picture" texts one/loss.svg title
lacks "$(cat one/loss.svg)" "nan" "without NaN"
mkdir long
awk 'BEGIN { for (i = 1; i <= 5000; i++)
    printf "{\"step\": %d, \"loss\": %.6f, \"val_loss\": null, \"lr\": 0, \"grad_norm\": 1, \"tokens_per_s\": 1}\n", i, 3 + 4 / i }' > long/metrics.jsonl
exits 0 "5000 steps, a rate of 0" "$vitrine" plot long
ok "are at most 720 points" python -c 'import xml.etree.ElementTree as E
p = [e for e in E.parse("long/loss.svg").getroot().iter("{http://www.w3.org/2000/svg}polyline")]
assert [len(e.get("points").split()) for e in p] == [720] * 3, p'
ok "and the means of their columns" points long/loss.svg long/metrics.jsonl linear
made() {                                # FOLDER COUNT LOSS VAL -- awk's expressions of i
    mkdir -p "$1"
    awk "BEGIN { for (i = 1; i <= $2; i++)
        printf \"{\\\"step\\\": %d, \\\"loss\\\": %s, \\\"val_loss\\\": %s, \\\"lr\\\": 1e-3}\\n\", i, $3, $4 }" > "$1/metrics.jsonl"
    exits 0 "$1" timeout 60 "$vitrine" plot "$1"
}
made above 60 '2 + 1 / i' 'i % 7 ? "null" : 9.3'
ok "validation above all losses is in the picture" points above/loss.svg above/metrics.jsonl linear
made dots 3000 '3 + 4 / i' '3.5 + sin(i)'
ok "3000 dots become 720 means" points dots/loss.svg dots/metrics.jsonl linear
made flat 60 '2.5' '"null"'
ok "one loss throughout" points flat/loss.svg flat/metrics.jsonl linear
made zero 60 '0' '"null"'
ok "a loss of 0" points zero/loss.svg zero/metrics.jsonl linear
made close 2 'i == 1 ? "1e17" : "1.0000000000000003e17"' '"null"'
ok "losses between which a double has no ticks" points close/loss.svg close/metrics.jsonl linear
made least 2 'i == 1 ? "0" : "5e-324"' '"null"'
lacks "$(cat least/loss.svg)" "nan" "the least double: no NaN"
ok "is a picture" points least/loss.svg least/metrics.jsonl linear

# ---- names ----
title() { texts "$1" title | cut -d'|' -f1; }
mkdir -p one-of/model two-of/model
cp m/metrics.jsonl one-of/model; cp m/metrics.jsonl two-of/model
exits 0 "two folders of one name" "$vitrine" plot one-of/model two-of/model/ m --out names.svg
is "$(title names.svg)" "Loss of one-of/model, two-of/model, m (tiny)" "show the part that differs"
exits 0 "one twice" "$vitrine" plot m m/. --out names.svg
is "$(title names.svg)" "Loss of m (tiny), m (tiny)" "shows its name"
(cd m && "$vitrine" plot . --out ../here.svg) > .out
is "$(title here.svg)" "Loss of m (tiny)" "plot . has the folder's name"
long=a-name-$(printf '\342\202\254%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)-that-ends-so
cp -r one "$long"
exits 0 "a long name" "$vitrine" plot "$long" --out names.svg
is "$(title names.svg)" "Loss of a-name-€€€€€€€€€€€€€...€€€€€€€-that-ends-so" "without its middle"
odd=$(printf 'U+FFFE \357\277\276 U+FFFF \357\277\277 end')
cp -r one "$odd"
exits 0 "characters that XML does not have" "$vitrine" plot "$odd" --out names.svg
is "$(title names.svg)" "Loss of $(printf 'U+FFFE \357\277\275 U+FFFF \357\277\275 end')" "become U+FFFD"

# ---- broken off ----
printf '{"step": 6001, "lo' >> long/metrics.jsonl
exits 0 "a line that is being written" "$vitrine" plot long

# ---- what is refused ----
bad() {                                 # LINE PART DESC
    mkdir -p bad; { sed -n 1,3p m/metrics.jsonl; printf '%s\n' "$1"; } > bad/metrics.jsonl
    refuses 3 "bad/metrics.jsonl: line 4: $2" "$3" "$vitrine" plot bad
}
bad '{"step": 4, "loss": 1' "column " "a broken line"
bad '{"step": 4, "loss": "x", "val_loss": null, "lr": 1}' 'field "loss"' "a loss that is none"
bad '{"step": 4, "loss": NaN, "val_loss": null, "lr": 1}' "" "NaN"
bad '{"step": 4, "loss": 1, "lr": 1}' 'field "val_loss"' "a field that is missing"
bad '{"step": 3, "loss": 1, "val_loss": null, "lr": 1}' "step 3: expected one above 3" "a step again"
ok "and no picture was made" [ ! -e bad/loss.svg ]
: > bad/metrics.jsonl
refuses 3 "has no steps yet" "an empty log" "$vitrine" plot bad
refuses 4 "no-such" "no such folder" "$vitrine" plot no-such
refuses 2 "expected the folder of a model" "nothing" "$vitrine" plot
refuses 2 "expected 1 to 8" "too many" "$vitrine" plot m m m m m m m m m
refuses 2 "expected a name that ends in .svg" "standard output" "$vitrine" plot m --out -
refuses 2 "expected a name that ends in .svg" "another form" "$vitrine" plot m --out loss.png
mkdir other; cp m/metrics.jsonl other
before=$(cat m/state.safetensors m/metrics.jsonl m/manifest.json | sha256sum)
for file in state.safetensors metrics.jsonl manifest.json; do
    refuses 2 "--out m/$file: expected a name" "a model's $file" "$vitrine" plot m --out "m/$file"
    ln -sf "m/$file" link.svg
    refuses 2 "link.svg: is a file of the model" "$file of a run, by another name" \
        "$vitrine" plot other m --out link.svg
done
is "$(cat m/state.safetensors m/metrics.jsonl m/manifest.json | sha256sum)" "$before" "and all is as it was"
refuses 4 "no-such/x.svg" "nowhere to write" "$vitrine" plot m --out no-such/x.svg
finish
