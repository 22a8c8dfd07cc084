# cli_folder.sh -- where `vitrine train` writes: what is there is not its own to replace,
# and where it may not write, or has no room, is said before a text is read.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
make_corpus c.csv 20
small() { train --data c.csv --merges 20 "$@"; }
quiet() { small "$@" > /dev/null; }
small --steps 3 --out m > .out || exit 1
sums() { (cd "$1" && find . -type f -exec sha256sum {} + | sort -k 2); }

# ---- files of others -------------------------------------------------------------------
mkdir foreign; cp m/model.safetensors m/config.json m/tokenizer.json foreign/
before=$(sums foreign)
refuses 2 "foreign/model.safetensors: is there already, and of no checkpoint" "a model of other makers" \
    quiet --steps 2 --out foreign
is "$(sums foreign)" "$before" "stays as it was"
for name in config.json tokenizer.json manifest.json; do
    mkdir own; echo '{"name": "project"}' > own/$name
    before=$(sums own)
    refuses 2 "own/$name: is there already" "somebody's $name" quiet --steps 2 --out own
    is "$(sums own)" "$before" "stays, alone"
    rm -r own
done
for text in '{"step": 3, "accuracy": 0.5}' 'notes' '{"step": 1, "los'; do
    mkdir own; echo "$text" > own/metrics.jsonl
    before=$(sums own)
    refuses 2 "own/metrics.jsonl: is there already" "somebody's log: $text" quiet --steps 2 --out own
    is "$(sums own)" "$before" "stays, alone"
    rm -r own
done
mkdir own; ln -s nowhere own/config.json
refuses 2 "own/config.json: is there already" "a link to nowhere" quiet --steps 2 --out own
rm -r own; mkdir own; mkfifo own/metrics.jsonl
refuses 2 "own/metrics.jsonl: is there already" "a pipe for a log" timeout 60 "$vitrine" train \
    --preset tiny --data c.csv --steps 2 --out own
rm -r own
for name in notes.txt README.md; do echo mine > m-$name; done
mkdir own; mv m-notes.txt m-README.md own/
exits 0 "files that training does not write" quiet --steps 2 --out own
is "$(cat own/m-notes.txt own/m-README.md)" "mine
mine" "are no reason, and stay"

# ---- a run that was killed before its first save ----------------------------------------
head -n 2 m/metrics.jsonl > log
for size in 0 1 12 "$(wc -c < log)"; do
    mkdir early; head -c "$size" log > early/metrics.jsonl; echo half > early/state.safetensors.tmp-1-Abc
    exits 0 "its log of $size bytes: begins anew" quiet --steps 3 --out early
    is "$(state early)" "$(state m)" "with the same bits"
    rm -r early
done
mkdir early; cp log early/metrics.jsonl
refuses 4 "early: nothing was saved there yet: leave --resume out" "and is not resumed" \
    quiet --out early --resume
refuses 4 "nowhere: no such folder" "nor is what is not there" quiet --out nowhere --resume
refuses 4 "c.csv: is a file" "nor a file" quiet --out c.csv --resume
refuses 3 "foreign: expected state.safetensors" "nor a model of other makers" quiet --out foreign --resume

# ---- a run that has nothing to do, and one with a torn log ------------------------------
exits 0 "a run that has its steps" small --out m --resume
contains "$out" "nothing to do: the run has its 3 steps" "says so"
lacks "$out" "steps 4 to 3" "and counts no steps"
sed -i 2,3d m/metrics.jsonl
exits 0 "a log that lost lines" small --out m --resume --reschedule --steps 4
contains "$out" "m/metrics.jsonl: has 1 of the 3 steps until here" "is told"
small --steps 4 --stop-at 2 --out two > .out
exits 0 "one that lost none" small --out two --resume
lacks "$out" "until here" "has no note"

# ---- outputs of other commands ----------------------------------------------------------
before=$(sums m)
for name in state.safetensors model.safetensors config.json tokenizer.json manifest.json metrics.jsonl; do
    refuses 2 "--out m/$name: expected a name that ends in .svg" "plot over $name" \
        "$vitrine" plot m --out m/$name
    ln -s m/$name link.svg
    refuses 2 "--out link.svg: is a file of the model" "plot over $name, through a link" \
        "$vitrine" plot m --out link.svg
    rm link.svg
done
refuses 2 "--out m/model.safetensors: is a file of the model" "export over model.safetensors" \
    "$vitrine" export m --text "the of" --out m/model.safetensors
refuses 2 "--out m/config.json: is a file of the model" "export over config.json" \
    "$vitrine" export m --text "the of" --out m/config.json
ln -s m/state.safetensors link.safetensors
refuses 2 "--out link.safetensors: is a file of the model" "through a link" \
    "$vitrine" export m --text "the of" --out link.safetensors
is "$(sums m)" "$before" "all of them stay"
exits 0 "a name of one's own" "$vitrine" export m --text "the of" --out m/window.safetensors

# ---- where it may not write -------------------------------------------------------------
user() { unprivileged "$vitrine" train --preset tiny --data no-such-text "$@" > /dev/null; }
mkdir locked; chmod 555 locked
refuses 4 "locked/a/b: cannot make the folder" "a folder in one that may not be written: before the text is read" \
    user --out locked/a/b
refuses 4 "locked: cannot be written" "that folder itself" user --out locked
exits 4 "one that may be written, but no text" "$vitrine" train --data no-such-text --out new/deep
ok "and nothing is made" [ ! -e new ]
refuses 4 "c.csv: cannot make the folder: a file of that name is there" "below a file" \
    "$vitrine" train --data no-such-text --out c.csv/below
rmdir locked

# ---- room on the disk ---------------------------------------------------------------------
mkdir disk
trap 'umount disk 2>/dev/null; rm -rf "$tmp"' EXIT
if mount -t tmpfs -o size=400k none disk 2>/dev/null; then
    refuses 4 "disk/m: No space left there for the checkpoint: it takes " "a disk that is too small" \
        quiet --steps 2 --out disk/m
    contains "$err" " kB are free" "with how much is free"
    is "$(ls -A disk)" "" "and nothing is written"
    mount -o remount,size=1200k disk
    refuses 4 "the checkpoint and the next beside it" "room for one save, not for the next" \
        quiet --steps 4 --save-every 2 --out disk/m
    exits 0 "room for the only one" quiet --steps 4 --stop-at 2 --save-every 2 --out disk/m
    before=$(sums disk/m)
    refuses 4 "disk/m: No space left there" "to go on needs room for the next" quiet --out disk/m --resume
    is "$(sums disk/m)" "$before" "all files stay"
    mount -o remount,size=4000k disk
    exits 0 "with room it goes on" quiet --out disk/m --resume
    umount disk
else
    skip 8 "mounting is not permitted here"
fi
finish
