# cli_export.sh -- vitrine export and vitrine site: a model's numbers on a text, what
# they are held to, and the folder that they end in.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"

make_corpus corpus.csv 30
text="the and of a to be or not who it"
exits 0 "a model" train --data corpus.csv --out model --steps 20 --merges 30 --json
exits 0 "one whose head is tied" train --data corpus.csv --out tied --steps 5 --merges 5 --tied \
    --layers 1 --heads 4 --json
mkdir -p shell/assets shell/data/lab
echo '<h1>Overview</h1>' > shell/index.html
printf '\000asm module' > shell/vitrine.wasm
echo 'let x' > shell/assets/app.js
echo 'of another' > shell/data/lab/manifest.json
cp -r shell site; rm -r site/data

# ---- words --------------------------------------------------------------------
exits 0 "export --help" "$vitrine" export --help
contains "$out" "--verify build/site" "has examples"
refuses 2 "folder of a model" "no model" "$vitrine" export --site site --text "$text"
refuses 2 "--site" "no site" "$vitrine" export model --text "$text"
refuses 2 "--text" "no text" "$vitrine" export model --site site
refuses 2 "lab or playground" "another name" "$vitrine" export model --site site --text "$text" --as ../up
refuses 2 "--column" "a column without a corpus" "$vitrine" export model --site site --text "$text" --column text
refuses 2 "alone" "--verify and a model" "$vitrine" export model --verify site
refuses 3 "two or more" "a text of one token" "$vitrine" export model --site site --text a
refuses 3 "0 tokens" "an empty text" "$vitrine" export model --site site --text ''
refuses 3 "byte 2: expected UTF-8" "a text that is none" "$vitrine" export model --site site --text "$(printf 'ab\345\\')"
refuses 4 "vitrine.wasm" "a folder that is no site" "$vitrine" export model --site model --text "$text"
refuses 4 "absent" "a model that is not there" "$vitrine" export absent --site site --text "$text"
refuses 4 "data/lab or data/playground" "nothing to verify" "$vitrine" export --verify site
ok "and nothing was written" [ ! -e site/data ]

# ---- a window -------------------------------------------------------------------
exits 0 "an export" "$vitrine" export model --site site --text "$text" --data corpus.csv --json
is "$(key tokenizer_rebuilt)" True "the tokenizer, trained again, is the model's"
is "$(key masked_cells) $(key masked_nonzero)" "480 0" "2 layers, 2 heads, 16 tokens: 480 masked cells, all 0"
tokens=$(key tokens)
is "$(key tensors)" 108 "20 + 15 stages a layer, 10 at the ends, 28 parameters"
contains "$err" "the first 16 are taken" "a text that is longer than the window is cut, and said to be"
sanitized || exits 0 "NumPy computes the same" python "$root/tests/window_numpy.py" site/data/lab
cp site/data/lab/manifest.json .out
is "$(key source) $(key model.layers) $(key model.channels) $(key model.vocabulary) $(key model.tied)" \
    "actual-model-output 2 32 287 False" "the manifest: source and sizes"
is "$(key step) $(key settings.seed) $(key settings.merges) $(key settings.lr)" "20 42 30 0.001" "the run"
is "$(key corpus.sha256)" "$(sha256sum < corpus.csv | cut -d' ' -f1)" "the corpus"
is "$(key state_sha256)" "$(state model)" "the checkpoint"
is "$(key tokenizer_rebuilt.equal) $(key text) $(key text_tokens)" "True $text $tokens" "the text"
is "$(python -c 'import json
print(json.load(open(".out"))["files"]["../../vitrine.wasm"]["sha256"])')" \
    "$(sha256sum < shell/vitrine.wasm | cut -d' ' -f1)" "the module"
version=$("$vitrine" --version --json | /usr/bin/python3 -c 'import json
v = json.loads(input()); c = v["commit"]; t = "modified" if c.endswith("-modified") else "unknown" if c == "unknown" else "clean"
print(c.removesuffix("-modified"), t, v["build"])')
is "$(key vitrine.commit) $(key vitrine.tree) $(key vitrine.build)" "$version" "commit, tree, compiler and flags"
lacks "$(cat .out)" "$tmp" "no path of this machine"
cp -r site/data/lab first
exits 0 "the same again" "$vitrine" export model --site site --text "$text" --data corpus.csv
ok "has the same bytes" diff -r first site/data/lab
exits 0 "without the corpus" "$vitrine" export tied --site site --as playground --text "$text, a"
contains "$out" "tokenizer  not compared" "the tokenizer is not said to be equal"
cp site/data/playground/manifest.json .out
is "$(key tokenizer_rebuilt.equal)" None "nor denied to be"
sanitized || exits 0 "NumPy computes the same of the tied head" python "$root/tests/window_numpy.py" site/data/playground
train --data corpus.csv --tokenizer model --steps 1 --out borrowed > .log || exit 1
cp -r shell other; rm -r other/data
exits 0 "a tokenizer that the run was given" "$vitrine" export borrowed --site other --text "$text" --data corpus.csv --json
is "$(key tokenizer_rebuilt)" None "is not trained again"
printf 'another text, of two lines\nand no more\n' > another.txt
refuses 3 "trained on" "another corpus" "$vitrine" export tied --site site --text "$text" --data another.txt

# The first window of dump_definitions, 10 tokens, begins a longer text.
exits 0 "the first validation tokens" python -c 'import json, struct
data = open("model/state.safetensors", "rb").read(); n = struct.unpack("<Q", data[:8])[0]
b, e = json.loads(data[8:8 + n])["check.window"]["data_offsets"]
print(",".join(map(str, struct.unpack(f"<{(e - b) // 4}i", data[8 + n + b:8 + n + e])[:24])))'
exits 0 "as text" "$vitrine" tokenize model --ids "$out" --json
words=$(key text)
exits 0 "dump_definitions" "${vitrine%/*}/tests/dump_definitions" model dump.safetensors
exits 0 "that text" "$vitrine" export model --site site --text "$words"
exits 0 "has the bits of its logits" python "$root/tests/window_numpy.py" site/data/lab dump.safetensors

# A model of other makers: the three files alone.
mkdir foreign; cp model/model.safetensors model/config.json model/tokenizer.json foreign/
exits 0 "a model without a state" "$vitrine" export foreign --site site --text "$text"
cp site/data/lab/manifest.json .out
is "$(key settings) $(key step) $(key corpus) $(key state_sha256)" "None None None None" "what is not known is null"
ok "no log of another model stays" [ ! -e site/data/lab/metrics.jsonl ]
cp -r model changed; sed -i 's/"n_head": 2/"n_head": 4/' changed/config.json
refuses 3 "config.json" "a file that is not the state's" "$vitrine" export changed --site site --text "$text"

# ---- one wrong byte -------------------------------------------------------------
exits 0 "an export to be spoilt" "$vitrine" export model --site site --text "$text"
exits 0 "matches" "$vitrine" export --verify site
contains "$out" "data/lab: matches" "the lab's"
contains "$out" "data/playground: matches" "and the playground's"
exits 0 "as JSON" "$vitrine" export --verify site --json
is "$(key lab.tensors) $(key playground.window)" "108 16" "with figures"
# FILE OFFSET: one bit.
spoil() {
    python -c 'import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]), 2 if int(sys.argv[2]) < 0 else 0); b = f.read(1)
    f.seek(-1, 1); f.write(bytes([b[0] ^ 1]))' "$1" "$2"
}
for file in model.safetensors tokenizer.json config.json metrics.jsonl window.safetensors ../../vitrine.wasm manifest.sha256; do
    for place in 9 -3; do
        cp "site/data/lab/$file" kept
        spoil "site/data/lab/$file" $place
        refuses 1 "$(basename $file)" "one wrong bit in $(basename $file), byte $place" "$vitrine" export --verify site
        cp kept "site/data/lab/$file"
    done
done
for place in 9 -3; do
    cp site/data/lab/manifest.json kept
    spoil site/data/lab/manifest.json $place
    refuses 1 "manifest.json has sha256" "one wrong bit in manifest.json, byte $place" "$vitrine" export --verify site
    cp kept site/data/lab/manifest.json
done
ok "sha256sum agrees" sh -c 'cd site/data/lab && sha256sum --check --quiet manifest.sha256'
exits 0 "all as it was" "$vitrine" export --verify site
# What a forger does who mends this hash, too.
seal() { (cd forged/data/lab && sha256sum manifest.json > manifest.sha256); }
# A number that was changed by somebody who mends the hashes, too.
cp -r site forged
/usr/bin/python3 - <<'PYTHON'
import hashlib, json, struct
folder = "forged/data/lab/"
data = bytearray(open(folder + "window.safetensors", "rb").read())
n = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + n])
at = 8 + n + header["h.0.att"]["data_offsets"][0]
data[at:at + 8] = struct.pack("<d", 0.5)
open(folder + "window.safetensors", "wb").write(data)
manifest = json.load(open(folder + "manifest.json"))
manifest["files"]["window.safetensors"]["sha256"] = hashlib.sha256(data).hexdigest()
manifest["tensors"]["sha256"] = hashlib.sha256(data[8 + n:]).hexdigest()
json.dump(manifest, open(folder + "manifest.json", "w"))
PYTHON
seal
refuses 1 "tensor h.0.att, element 0: 0.5" "a number that was made up, with hashes that fit" \
    "$vitrine" export --verify forged
# FIELD VALUE: the manifest says something else.
claim() {
    rm -rf forged; cp -r site forged
    python -c 'import json, sys
path = "forged/data/lab/manifest.json"; m = json.load(open(path)); at = m
for k in sys.argv[1].split(".")[:-1]: at = at[k]
at[sys.argv[1].split(".")[-1]] = json.loads(sys.argv[2]); json.dump(m, open(path, "w"))' "$1" "$2"
    seal
}
claim tensors.sha256 "\"$(printf '%064d' 0)\""
refuses 1 "tensors" "another hash of the tensors" "$vitrine" export --verify forged
claim tokens '[1, 2, 3]'
refuses 3 "3 tokens and 16 targets" "another window" "$vitrine" export --verify forged
claim tokens '[999999, 1]'; refuses 3 "tokens" "ids that are none" "$vitrine" export --verify forged
claim files '{}'
refuses 1 "names 0 files" "no files" "$vitrine" export --verify forged
claim tensors 3; refuses 3 "tensors" "no object" "$vitrine" export --verify forged
echo '{' > forged/data/lab/manifest.json; seal
refuses 3 "manifest.json" "a manifest that is none" "$vitrine" export --verify forged

# ---- a site ---------------------------------------------------------------------
exits 0 "site --help" "$vitrine" site --help
refuses 2 "--out" "no folder" "$vitrine" site --from shell
refuses 4 "index.html" "pages that are not built" "$vitrine" site --from model --out www
exits 0 "a site" "$vitrine" site --from shell --out sub/www/ --lab model --playground tied --text "$text" --json
is "$(key files) $(key replaced) $(key lab.window) $(key playground.window)" "3 False 16 16" "with both models"
is "$(cat sub/www/assets/app.js)" "let x" "and the pages"
exits 0 "which match" "$vitrine" export --verify sub/www
exits 0 "without --text" "$vitrine" site --from shell --out own --lab model
exits 0 "the window is the beginning of a document, which was held out" /usr/bin/python3 - <<'END'
import csv, json, struct
m = json.load(open("own/data/lab/manifest.json"))
data = open("model/state.safetensors", "rb").read(); n = struct.unpack("<Q", data[:8])[0]
b, e = json.loads(data[8:8 + n])["check.window"]["data_offsets"]
held = list(struct.unpack(f"<{(e - b) // 4}i", data[8 + n + b:8 + n + e]))
end = json.load(open("model/tokenizer.json"))["added_tokens"][0]["id"]
first = held[:min(16, held.index(end) if end in held else 16)]
# The rest of a character that is cut is left out.
assert len(m["text"]) > 5 and m["tokens"] == first[:len(m["tokens"])] and len(m["tokens"]) >= len(first) - 2, m
texts = [row["text"] for row in csv.DictReader(open("corpus.csv", encoding="utf-8", newline=""))]
assert any(t.startswith(m["text"]) for t in texts), m["text"]
END
lacks "$(cat sub/www/data/lab/manifest.json)" "of another" "the shell's own models are not copied"
echo 'let y' > shell/assets/new.js
exits 0 "again" "$vitrine" site --from shell --out sub/www --lab model --text "$text"
contains "$out" "is replaced" "it is replaced"
ok "as a whole" [ -e sub/www/assets/new.js ]
ok "with nothing of the old one" [ ! -e sub/www/data/playground ]
is "$(ls -A sub)" www "and nothing stays beside it"
exits 3 "a text that cannot be run" "$vitrine" site --from shell --out sub/www --lab model --text a
ok "the site that was there stays" [ -e sub/www/data/lab/manifest.json ]
is "$(ls -A sub)" www "alone"
mkdir mine; echo letters > mine/letters
refuses 2 "no .vitrine-site" "a folder of somebody's" "$vitrine" site --from shell --out mine
is "$(ls -A mine)" letters "is left alone"
refuses 2 "is a file" "a file" "$vitrine" site --from shell --out corpus.csv
refuses 2 "lies in the other" "a folder in the pages" "$vitrine" site --from shell --out shell/www
ln -s shell alias
refuses 2 "lies in the other" "by another name" "$vitrine" site --from shell --out alias/www
mkdir -p sub/www/shell; cp shell/index.html shell/vitrine.wasm sub/www/shell/
refuses 2 "lies in the other" "the pages in the folder" "$vitrine" site --from sub/www/shell --out sub/www
mkdir empty
exits 0 "an empty folder" "$vitrine" site --from shell --out empty
ln -s empty link
exits 0 "a link to a site" "$vitrine" site --from shell --out link
ok "stays one" [ -L link ]
mkfifo shell/pipe
refuses 3 "expected a file" "a pipe among the pages" "$vitrine" site --from shell --out empty
rm shell/pipe
mkdir locked; cp -r empty locked/www; chmod 555 locked
chmod -R a+rX . ; refuses 4 "locked/www" "a folder that may not be written" \
    unprivileged "$vitrine" site --from shell --out locked/www
ok "stays" [ -e locked/www/index.html ]

# ---- interrupted, and killed ------------------------------------------------------
mkdir big cut
cp shell/index.html shell/vitrine.wasm big/
for i in $(seq 1500); do echo "$i" > "big/$i.txt"; done
exits 0 "a site to be replaced" "$vitrine" site --from shell --out cut/www
# SIGNAL: sends it as soon as the new folder is there; prints how the command ended.  Where it
# was done before the signal came, that was too late, and says nothing: once more.
interrupted() {
    /usr/bin/python3 - "$vitrine" "$1" <<'PYTHON'
import os, signal, subprocess, sys
for _ in range(50):
    p = subprocess.Popen([sys.argv[1], "site", "--from", "big", "--out", "cut/www"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    while p.poll() is None and not os.path.exists(f"cut/www.new-{p.pid}/index.html"):
        pass
    if p.poll() is None:
        p.send_signal(getattr(signal, sys.argv[2]))
    line = p.communicate()[1]
    if p.returncode != 0:
        break
    subprocess.run([sys.argv[1], "site", "--from", "shell", "--out", "cut/www"], stdout=subprocess.DEVNULL, check=True)
print(p.returncode, line.strip())
PYTHON
}
for number in INT TERM; do
    contains "$(interrupted SIG$number)" "130 vitrine site: interrupted by signal" "SIG$number"
    is "$(ls -A cut)" www "leaves nothing beside the site"
    ok "which stays as it was" [ ! -e cut/www/1.txt ]
done
is "$(interrupted SIGKILL)" "-9 " "a kill"
contains "$(ls -A cut)" www.new- "leaves the new folder"
gone=$(sh -c 'echo $$')
mkdir cut/www.new-$gone cut/www.new-$gone.txt cut/www.old-x cut/www.new-$$ cut/www.old-0$gone
for folder in cut/*-*; do [ -e "$folder/.vitrine-site" ] || cp empty/.vitrine-site "$folder/"; done
mkdir cut/www.old-$gone; echo letters > cut/www.old-$gone/letters
exits 0 "the next run" "$vitrine" site --from shell --out cut/www
is "$(ls -A cut | tr '\n' ' ')" "www $(printf '%s\n' www.new-$gone.txt www.new-$$ www.old-0$gone www.old-$gone www.old-x | sort | tr '\n' ' ')" \
    "removes what is ours and has no process, and nothing else"
rm -r cut/www.*
# What a kill between two renames leaves, where the system cannot exchange folders.
mv cut/www cut/www.old-$gone
exits 3 "a run that fails" "$vitrine" site --from shell --out cut/www --lab model --text a
is "$(ls -A cut)" www "puts the old site back"
ok "whole" cmp -s cut/www/index.html shell/index.html
# Two at once: each removes the other's only when it is gone.
"$vitrine" site --from big --out cut/www > /dev/null 2> two &
two=$!
exits 0 "one of two at once" "$vitrine" site --from big --out cut/www
wait $two; is "$? $(cat two)" "0 " "the other"
is "$(ls -A cut)" www "and nothing beside the site"
ok "which is whole" diff -r -x .vitrine-site big cut/www
finish
