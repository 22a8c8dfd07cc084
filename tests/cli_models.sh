# cli_models.sh -- generate, check, tokenize and info on small models.  Known
# faults GEN-01, GEN-02, GEN-03, TOK-07, and bytes that are no UTF-8.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
make_corpus c.csv 30
train --data c.csv --steps 80 --seed 42 --out m > .out || exit 1
train --data c.csv --steps 30 --seed 42 --merges 0 --out b > .out || exit 1    # ids are bytes

# ---- generate --------------------------------------------------------------
speak() { "$vitrine" generate m --prompt "She was" --max-tokens 50 --temperature 0.8 --top-k 0 \
              --top-p 0.9 --seed 42 "$@"; }
exits 0 "generate" speak
contains "$out" "She was" "the prompt comes first"
is "$err" "" "nothing on standard error"
first=$out
exits 0 "again" speak
is "$out" "$first" "the same seed, the same text"
exits 0 "three samples" speak --samples 3
is "$(printf '%s' "$out" | grep -c '^----$')" 2 "are parted by a line"
exits 0 "other threads and kernels" speak --threads 3 --isa portable
other=neon; case $("$vitrine" --version) in *neon*) other=avx2 ;; esac
for command in generate check info; do          # a set of another processor
    refuses 2 "vitrine $command: --isa $other: expected " "$command --isa $other" "$vitrine" $command m --isa $other
    contains "$err" ": this processor runs no other" "which is said"
    refuses 2 "vitrine $command: VITRINE_ISA $other: expected " "$command: VITRINE_ISA=$other" \
        env VITRINE_ISA=$other "$vitrine" $command m
done
exits 0 "--json" speak --json --samples 3
ok "is JSON" is_json
is "$(key prompt)$(key samples.0.text)" "$first" "the text that is streamed is the text of --json"
is "$(key samples.0.tokens) $(key samples.2.sample)" "50 2" "tokens per sample"
ok "the samples differ" python -c 'import json
assert len({s["text"] for s in json.load(open(".out"))["samples"]}) == 3'
exits 0 "the second sample alone does not depend on the first" speak --json --samples 2
exits 0 "no tokens" "$vitrine" generate m --prompt "x y" --max-tokens 0
is "$out" "x y" "print the prompt"
exits 0 "no prompt" "$vitrine" generate m --max-tokens 5 --json
is "$(key prompt_tokens) $(key prompt)" "0 " "starts from nothing"
ok "and says something" [ "$(key samples.0.tokens)" -ge 1 ]
printf 'She was' > prompt
exits 0 "--prompt-file" "$vitrine" generate m --prompt-file prompt --seed 42 --temperature 0.8 --top-p 0.9
is "$out" "$first" "is --prompt"
ok "--prompt-file -" sh -c "'$vitrine' generate m --prompt-file - --seed 42 --temperature 0.8 --top-p 0.9 < prompt > piped"
is "$(cat piped)" "$first" "is --prompt"
refuses 4 "no-file" "a prompt file that is not there" "$vitrine" generate m --prompt-file no-file
exits 0 "greedy" "$vitrine" generate m --prompt "She" --temperature 0 --seed 1
greedy=$out
exits 0 "greedy, another seed" "$vitrine" generate m --prompt "She" --temperature -0.0 --seed 2
is "$out" "$greedy" "is the same"
exits 0 "top-p 0" "$vitrine" generate m --prompt "She" --top-p 0
is "$out" "$greedy" "is greedy"
exits 0 "top-k 1" "$vitrine" generate m --prompt "She" --top-k 1
is "$out" "$greedy" "is greedy"
"$vitrine" generate m --max-tokens 2000 2>.err | head -c 3 > .out
is "$(wc -c < .out) $(cat .err)" "3 " "generate | head is quiet"

# The window's edge (GEN-01): with byte tokens the window is 16 bytes.  Beyond
# it the next tokens are those of a fresh run on the last 16.
text="and she had been"
byte() { "$vitrine" generate b --max-tokens 20 --temperature 0.8 --top-p 0.9 --seed 5 --json --prompt "$1"; }
exits 0 "a prompt of the window" byte "$text"
window=$(key samples.0.text)
is "$(key prompt_tokens) $(key samples.0.tokens)" "16 20" "16 tokens, 20 drawn"
exits 0 "of the window + 1" byte "X$text"
is "$(key prompt_tokens) $(key samples.0.text)" "17 $window" "is a fresh run on the last 16"
exits 0 "of many windows" byte "$text$text$text$text"
is "$(key prompt_tokens) $(key samples.0.text)" "64 $window" "likewise"
slow() { "$vitrine" generate b --max-tokens "$1" --temperature 0 --json --prompt "$2"; }
exits 0 "of the window - 1" slow 6 "and she had bee"
whole=$(key samples.0.text)
is "$(key prompt_tokens) $(key samples.0.tokens)" "15 6" "15 tokens, 6 drawn"
exits 0 "its first token" slow 1 "and she had bee"
one=$(key samples.0.text)
exits 0 "from there on" slow 5 "and she had bee$one"
is "$one$(key samples.0.text)" "$whole" "the step over the edge changes nothing"

# Broken characters (GEN-02, GEN-03): a hot model of bytes writes many.
for seed in $(sweep '1 2 3 4' 2); do
    exits 0 "bytes, seed $seed" "$vitrine" generate b --temperature 50 --seed $seed --max-tokens 200
    cp .out streamed
    ok "the stream is UTF-8" iconv -f UTF-8 -t UTF-8 streamed
    exits 0 "bytes, seed $seed, --json" "$vitrine" generate b --temperature 50 --seed $seed \
        --max-tokens 200 --json
    ok "is JSON" is_json
    ok "the same text" python -c 'import json
text = json.load(open(".out", encoding="utf-8"))["samples"][0]["text"]
assert (text + "\n").encode() == open("streamed", "rb").read()
assert "\ufffd" in text'
done

# On a terminal no control character that the model wrote reaches the terminal.
script -qec "stty -opost; '$vitrine' generate b --temperature 50 --max-tokens 400" /dev/null </dev/null >.out
ok "a hot model on a terminal" [ "$(wc -c < .out)" -gt 100 ]
ok "writes no control characters" sh -c 'tr -d "\n\t" < .out | { ! LC_ALL=C grep -q "[[:cntrl:]]"; }'
"$vitrine" generate b --temperature 50 --max-tokens 400 > .out
ok "but does so into a file" sh -c 'tr -d "\n\t" < .out | LC_ALL=C grep -q "[[:cntrl:]]"'

# A length that ends inside a character, also of a sample that another follows:
# one replacement character, streamed and whole (GEN-02).
awk 'BEGIN { print "text"
    for (row = 0; row < 40; row++) { for (i = 0; i < 60; i++) printf "\303\251"; print "" } }' > e.csv
train --data e.csv --steps 60 --seed 42 --merges 0 --lr 0.01 --out e > .out || exit 1
e=$(printf '\303\251') mark=$(printf '\357\277\275')
accents() { "$vitrine" generate e --prompt "$e" --temperature 0 --max-tokens "$@"; }
for row in "1:$mark" "2:$e" "3:$e$mark" "4:$e$e"; do
    exits 0 "${row%%:*} bytes of two-byte characters" accents "${row%%:*}" --samples 2
    is "$out" "$e${row#*:}

----
$e${row#*:}" "  stream as they decode"
    exits 0 "  --json" accents "${row%%:*}" --json
    is "$(key samples.0.text)" "${row#*:}" "  is the same text"
done

# Any bytes in a prompt.
bad=$(printf 'a\377\303(\200\360\237\230z')
exits 0 "a prompt that is no UTF-8" "$vitrine" generate m --prompt "$bad" --max-tokens 0
printf '%s\n' "$bad" > wanted
ok "is printed byte for byte" cmp .out wanted
exits 0 "with --json" "$vitrine" generate m --prompt "$bad" --max-tokens 3 --json
ok "is JSON" is_json
exits 0 "tokenize bytes" "$vitrine" tokenize m --text "$bad" --json
ok "is JSON" is_json
is "$(python -c 'import json; print("".join(json.load(open(".out"))["bytes"]))')" \
   "61ffc32880f09f987a" "bytes are bytes"
ids=$(python -c 'import json; print(*json.load(open(".out"))["ids"], sep=",")')
exits 0 "back" "$vitrine" tokenize m --ids "$ids"
printf '%s' "$bad" > wanted
ok "gives the same bytes" cmp .out wanted
exits 4 "a folder's name that is no UTF-8" "$vitrine" info "$bad"
is "$(wc -l < .err)" 1 "one line"

# ---- tokenize --------------------------------------------------------------
exits 0 "tokenize" "$vitrine" tokenize m --text 'the "cat"
and' --json
ok "is JSON" is_json
is "$(python -c 'import json; print("".join(json.load(open(".out"))["pieces"]))')" 'the "cat"
and' "the pieces make the text"
is "$(key count)" "$(python -c 'import json; print(len(json.load(open(".out"))["ids"]))')" "count"
exits 0 "for people" "$vitrine" tokenize m --text 'the
é'
contains "$out" '"\n"' "a newline is shown"
contains "$out" '"\xC3"' "and a byte"
exits 0 "empty" "$vitrine" tokenize m --text '' --json
is "$(key count) $(key ids)" "0 []" "no tokens"
ok "standard input" sh -c "printf 'a\\000b' | '$vitrine' tokenize m - --json > .out"
is "$(key bytes)" "['61', '00', '62']" "also a NUL"
# What a user types is text (TOK-07).
exits 0 "the special token's name" "$vitrine" tokenize m --text 'a<|endoftext|>b' --json
special=$("$vitrine" info m --json > info; python -c 'import json; print(json.load(open("info"))["vocabulary"] - 1)')
ok "is no special token" python -c 'import json, sys
t = json.load(open(".out"))
assert int(sys.argv[1]) not in t["ids"] and len(t["ids"]) > 5
assert "".join(t["pieces"]) == t["text"] == "a<|endoftext|>b"' "$special"
exits 0 "its id" "$vitrine" tokenize m --ids "$special"
is "$out" "<|endoftext|>" "is shown by its name"
for wrong in -1 "$((special + 1))" "1," ",1" "1,,2" a "1 2" 99999999999999999999 \
             00000000000000000000000000000000x 0000000000000000000000000000000000001; do
    refuses 2 "--ids" "ids: '$wrong'" "$vitrine" tokenize m --ids="$wrong"
done

# ---- check -----------------------------------------------------------------
# Without --entries 64 of each tensor; under the sanitizers 2 take every path.
# shellcheck disable=SC2046                     # words, or none
check() { "$vitrine" check "$@" $(sweep '' '--entries 2 --batch 1 --seq 4'); }
entries=$(sweep 64 2)
exits 0 "check" check m
contains "$out" "compared $(sweep 1408 58) of " "11 matrices of 64, 18 vectors of 32 and more, or 2 of each"
contains "$out" ": PASS" "PASS"
exits 0 "check --json" check m --json
ok "is JSON" is_json
parameters=$("$vitrine" info m --json > info; python -c 'import json; print(json.load(open("info"))["parameters"])')
is "$(key pass) $(key of)" "True $parameters" "over all parameters"
ok "the rows add up" python -c 'import json, sys
entries, compared = map(int, sys.argv[1:])
r = json.load(open(".out"))
assert sum(t["compared"] for t in r["tensors"]) == r["compared"] == compared
assert sum(t["of"] for t in r["tensors"]) == r["of"]
assert max(t["worst"] for t in r["tensors"]) == r["worst"] < 1e-12
assert all(t["pass"] and 0 <= t["budget_used"] <= 1 and 0 <= t["fast_budget_used"] <= 1 for t in r["tensors"])
assert all(t["compared"] == min(entries, t["of"]) for t in r["tensors"])' "$entries" "$(sweep 1408 58)"
train --data c.csv --steps 2 --layers 1 --d-model 8 --heads 2 --context 8 --merges 0 --out small > .out
exits 0 "check --directions" "$vitrine" check small --directions
contains "$out" "tensors, no entries: PASS" "compares no entry"
exits 0 "check --every" env VITRINE_ISA=portable "$vitrine" check small --every --json --batch 1 --seq 3
is "$(key kernels)" portable "with the kernels of VITRINE_ISA"
"$vitrine" info small --json > info
is "$(key compared) $(key of)" "$(python -c 'import json; n = json.load(open("info"))["parameters"]; print(n, n)')" \
    "compares all"
is "$(key batch) $(key seq)" "1 3" "on the window that was asked for"
exits 0 "check for people" "$vitrine" check small --seed 7
contains "$out" "seed 7" "the seed is printed"
contains "$out" "backward is forward's adjoint" "the layers"
contains "$out" "causality, definitions" "what is exact"
own=$out
exits 0 "the seed again" "$vitrine" check small --seed 7
is "$out" "$own" "gives the same report"
exits 0 "check --junit" "$vitrine" check small --junit check.xml
ok "is XML: a case for each verdict, none failed, and the counts are right" python -c 'import xml.etree.ElementTree as tree
root = tree.parse("check.xml").getroot()
assert [s.get("name") for s in root] == ["gradients", "adjoint", "exact"]
cases = root.findall("testsuite/testcase")
assert sum(int(s.get("tests")) for s in root) == len(cases) > 40
assert {s.get("failures") for s in root} == {"0"} and not root.findall(".//failure")
assert sum(int(s.get("skipped")) for s in root) == len(root.findall(".//skipped"))
assert len({(c.get("classname"), c.get("name")) for c in cases}) == len(cases)
assert len(root[1]) == 3'
refuses_out=$("$vitrine" check small --junit no/such/folder/check.xml 2>.err >/dev/null; echo $?)
is "$refuses_out" 4 "--junit into no folder"
refuses 2 "--seq 9: expected 1 to 8" "a window that is too long" "$vitrine" check small --seq 9
cp -r small nan
python -c 'import json, struct
f = open("nan/state.safetensors", "r+b")
n = struct.unpack("<Q", f.read(8))[0]
at = json.loads(f.read(n))["param.transformer.wpe.weight"]["data_offsets"][0]
f.seek(8 + n + at); f.write(struct.pack("<f", float("nan")))'
for command in check info generate; do              # CKPT-04
    refuses 3 "nan/state.safetensors: is damaged: its contents have sha256 " \
        "$command: bytes that were not saved" "$vitrine" $command nan
done

# ---- info ------------------------------------------------------------------
exits 0 "info" "$vitrine" info m
contains "$out" "manifest    matches" "for people"
exits 0 "info --json" "$vitrine" info m --json
ok "is JSON" is_json
is "$(key manifest) $(key step) $(key steps) $(key seed)" "matches 80 80 42" "what it knows"
is "$(key corpus_sha256) $(key state_sha256)" "$(sha256sum < c.csv | cut -d' ' -f1) $(state m)" "hashes"
is "$(key layers) $(key d_model) $(key heads) $(key ff) $(key context) $(key seq) $(key tied)" \
   "2 32 2 128 32 16 False" "sizes"
ok "tensors" python -c 'import json, math
d = json.load(open(".out"))
assert sum(t["count"] for t in d["tensors"]) == d["parameters"]
for t in d["tensors"]:
    assert math.prod(t["shape"]) == t["count"]
    assert t["group"] == ("decay" if len(t["shape"]) == 2 else "no_decay")
assert d["tensors"][0] == {"name": "wte", "file_name": "transformer.wte.weight",
    "shape": [d["vocabulary"], 32], "count": 32 * d["vocabulary"], "group": "decay"}, d["tensors"][0]'
exits 0 "VITRINE_ISA" env VITRINE_ISA=portable "$vitrine" info m --json
is "$(key kernels)" portable "chooses the kernels"
cp -r m changed; echo >> changed/config.json
exits 0 "a changed file" "$vitrine" info changed --json
contains "$(key manifest)" "config.json has sha256" "the manifest names it"
cp -r m foreign; rm foreign/state.safetensors foreign/manifest.json foreign/metrics.jsonl
exits 0 "only Hugging Face's files" "$vitrine" info foreign --json
is "$(key step) $(key seed) $(key state_sha256)" "None None None" "what is not known is null"
exits 0 "generate from them" "$vitrine" generate foreign --prompt "She was" --max-tokens 12 --temperature 0
exits 0 "generate from the checkpoint" "$vitrine" generate m --prompt "She was" --max-tokens 12 --temperature 0
exits 0 "check them" check foreign
# Weights that are no numbers are bad input; such as lead to none are exit 6.
poke() {                                # VALUE TENSOR: into its entry 3
    python -c 'import json, struct, sys
f = open("poked/model.safetensors", "r+b")
n = struct.unpack("<Q", f.read(8))[0]
at = json.loads(f.read(n))[sys.argv[2]]["data_offsets"][0]
f.seek(8 + n + at + 12); f.write(struct.pack("<f", float(sys.argv[1])))' "$1" "$2"
}
cp -r foreign poked
for value in nan inf -inf; do
    poke $value transformer.ln_f.weight
    for command in check generate info; do
        refuses 3 "tensor \"transformer.ln_f.weight\": entry 3 is $value" "$command: a weight that is $value" \
            "$vitrine" $command poked
    done
done
poke 3e38 transformer.ln_f.weight; poke 3e38 lm_head.weight
exits 6 "a weight that leads to Inf" "$vitrine" generate poked --prompt "She was" --max-tokens 4
contains "$err" "vitrine generate: sample 0, token 1 behind " "the place is said"
contains "$err" ": expected finite numbers" "and what was expected"
is "$(wc -l < .err)" 1 "in one line"
exits 1 "check does not pass it" check poked --json --junit poked.xml
ok "is JSON" is_json
lacks "$err" "wte" "the tensor that the backward pass meets first is named"
ok "--junit of a failing check" python -c 'import xml.etree.ElementTree as tree
root = tree.parse("poked.xml").getroot()
assert sum(int(s.get("failures")) for s in root) == len(root.findall(".//failure")) > 1
assert root.find("testsuite/testcase[@name=\"all\"]/failure").get("message").startswith("headw[")'
contains "$err" "vitrine check: headw[" "the head"
contains "$err" "no bound: NaN or Inf; first of " "a bound that is none is said to be"
ok "with null for what is not finite" python -c 'import json
r = json.load(open(".out"))
assert r["pass"] is False and any(t["fast_budget_used"] is None for t in r["tensors"])
assert all(x is None or type(x) in (float, int) for t in r["tensors"]
           for x in (t["worst"], t["budget_used"], t["fast_budget_used"], t["expected"], t["found"]))'
ok "standard output is full" sh -c "'$vitrine' info m > /dev/full; [ \$? -eq 4 ]"
ok "so for generate" sh -c "'$vitrine' generate m > /dev/full; [ \$? -eq 4 ]"
ok "and --help" sh -c "'$vitrine' train --help > /dev/full; [ \$? -eq 4 ]"

# ---- the keys are those of docs/command-line.md ------------------------------
"$vitrine" train --data c.csv --preset tiny --steps 1 --out one --json > json.train 2>/dev/null
"$vitrine" generate m --json --novelty c.csv > json.generate
"$vitrine" check small --entries 1 --json > json.check
"$vitrine" tokenize m --text a --json > json.tokenize
"$vitrine" info m --json > json.info
"$vitrine" --version --json > json.--version
for command in train generate check tokenize info --version; do
    ok "$command: keys and docs/command-line.md agree" python -c 'import json, re, sys
command, page = sys.argv[1:]
part = open(page).read().split("## --json\n")[1].split("\n## ")[0]
part = next(p for p in part.split("\n\n") if p.startswith("`" + command))
said = re.findall("`([a-z_0-9]+)`", part.split(":", 1)[1])
def keys(v):
    return [k for key, x in v.items() for k in [key] + keys(x)] if isinstance(v, dict) else \
           keys(v[0]) if isinstance(v, list) and v else []
report = json.load(open("json." + command))
have = set(keys(report))
if command == "check" and report["diagnosis"] is None:      # nothing failed here
    have |= {"kind", "other", "sentence", "hint", "location"}
assert set(said) == have, set(said) ^ have' $command "$root/docs/command-line.md"
done

# ---- novelty ---------------------------------------------------------------
novelty() { "$vitrine" generate "$1" --max-tokens 0 --json --novelty "$2" --prompt "$3"; }
exits 0 "novelty for people" "$vitrine" generate m --prompt "She was" --novelty c.csv --column text
contains "$err" "occur in the training text; longest run copied from it: " "on standard error"
# Ten documents, each with a word of its own: nine train, one validates.
{ echo text; for word in aaa bbb ccc ddd eee fff ggg hhh iii jjj; do
      echo "$word one two three four five six seven eight nine ten"; done; } > ten.csv
train --data ten.csv --steps 2 --out ten > .out || exit 1
exits 0 "every document's own word" novelty ten ten.csv "aaa bbb ccc ddd eee fff ggg hhh iii jjj"
is "$(key samples.0.novelty.words) $(key samples.0.novelty.known_words)" "10 9" \
   "the validation document is left out"
exits 0 "a copy" novelty ten ten.csv "Zzz two three four five Zzz"
is "$(key samples.0.novelty.longest_run)/$(key samples.0.novelty.run)" "21/ two three four five " \
   "the longest run"
is "$(key samples.0.novelty.known_share)" 0.6666666666666666 "four of six words"
refuses 3 "expected the file that the model was trained on" "another text" novelty ten c.csv "aaa"
refuses 3 "does not say what text" "a foreign model" novelty foreign c.csv "aaa"
refuses 3 'no column "body"' "a column that is not there" "$vitrine" generate ten --max-tokens 0 \
    --novelty ten.csv --column body
exits 0 "a text without a word" novelty ten ten.csv "12 + 3"
is "$(key samples.0.novelty.words) $(key samples.0.novelty.known_share)" "0 None" "has no share of words"
exits 0 "for people" "$vitrine" generate ten --max-tokens 0 --prompt "12 + 3" --novelty ten.csv
contains "$err" "novelty: the text has no words; longest run copied from it: 1 characters" "says so"
# Two columns of as many texts: the words of the other are not what it learnt.
{ echo text,other; for word in aaa bbb ccc ddd eee fff ggg hhh iii jjj; do
      echo "$word one two three four five six,zzz $word seven eight nine ten eleven"; done; } > two.csv
train --data two.csv --column other --steps 2 --out two > .out || exit 1
by() { "$vitrine" generate "$1" --max-tokens 0 --json --prompt "$2" --novelty two.csv --column "$3"; }
exits 0 "the column that it learnt from" by two "zzz seven" other
is "$(key samples.0.novelty.known_words)" 2 "is known"
refuses 3 "two.csv: expected the column that the model was trained on" "another column" \
    by two "zzz seven" text
# Two of three rows: 90 % of *their* bytes are learnt from.
{ echo text; echo "aaa bbb ccc ddd eee fff ggg hhh iii jjj kkk lll mmm nnn ooo ppp qqq rrr sss ttt"
  echo "uuu vvv www xxx"; awk 'BEGIN { for (i = 0; i < 99; i++) printf "long "; print "" }'; } > three.csv
train --data three.csv --max-rows 2 --steps 2 --seq 8 --out rows > .out || exit 1
exits 0 "--max-rows" novelty rows three.csv "aaa uuu xxx long"
is "$(key samples.0.novelty.known_words)" 2 "aaa and uuu: what was not read, or validates, is not known"
finish
