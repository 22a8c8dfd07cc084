# cli_train.sh -- vitrine train: what it prints and leaves, --stop-at, --resume,
# the number of threads, signals.  Known faults CKPT-01, CKPT-02, LR-03, DATA-01.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
make_corpus c.csv 40
only_errors() { "$@" >/dev/null; }

# ---- the form that scripts rely on -----------------------------------------
exits 0 "train, stopped at step 10" "$vitrine" train --data c.csv --column text --preset tiny \
    --steps 20 --seed 42 --out half --stop-at 10
contains "$out" "to beat: best bigram " "the bigram's loss"
contains "$out" "  decay 0.01: wte wpe h.*.qkvw" "the decay groups"
contains "$out" "  no decay: h.*.ln1w" "both"
contains "$out" "step 10 of 20" "where it stopped"
contains "$out" "go on with: $vitrine train --data c.csv --column text --preset tiny --steps 20 \
--seed 42 --out half --resume" "how to go on"
is "$err" "" "nothing on standard error"
lacks "$out" "$(printf '\033')" "no escape codes without a terminal"
lacks "$out" "$(printf '\r')" "nor a line that is written over"
ok "the files" test -s half/state.safetensors -a -s half/model.safetensors -a -s half/config.json \
    -a -s half/tokenizer.json -a -s half/manifest.json -a -s half/metrics.jsonl
is "$(ls -A half | wc -l)" 6 "and no others"
exits 0 "info" "$vitrine" info half --json
is "$(key step) $(key steps) $(key seed) $(key manifest)" "10 20 42 matches" "it knows"
refuses 2 "half/state.safetensors: a checkpoint is there already" "it is not overwritten" \
    train --data c.csv --steps 20 --out half

# ---- resume: the bits of an uninterrupted run (CKPT-01) --------------------
exits 0 "20 steps at once, --json" "$vitrine" train --data c.csv --column text --preset tiny \
    --steps 20 --seed 42 --out whole --json
ok "is JSON" is_json
is "$(wc -l < .out)" 1 "one line"
is "$(key step) $(key steps) $(key finished) $(key interrupted)" "20 20 True False" "finished"
is "$(key state_sha256)" "$(state whole)" "state_sha256 is the file's"
is "$(key model_sha256)" "$(sha256sum < whole/model.safetensors | cut -d' ' -f1)" "model_sha256"
ok "losses" python -c 'import json
r = json.load(open(".out"))
lines = [json.loads(l) for l in open("whole/metrics.jsonl")]
assert [l["step"] for l in lines] == list(range(1, 21))
assert all(l["steps"] == 20 for l in lines)
assert 3 < r["loss"] < 6 and r["loss"] == lines[-1]["loss"] < lines[0]["loss"], r
assert 3 < r["val_loss"] < 6 and r["val_loss"] == lines[-1]["val_loss"], r
assert 2 < r["bigram_loss"] < 5 and r["bigram_k"] in (0.01, 0.1, 1), r
m = json.load(open("whole/manifest.json"))
assert m["bigram"] == {"loss": r["bigram_loss"], "k": r["bigram_k"]}, m["bigram"]
assert m["tokenizer"] == {"from": "corpus", "sha256": m["files"]["tokenizer.json"]}, m["tokenizer"]
assert r["tokens_per_s"] > 0 and r["seconds"] > 0 and r["parameters"] > 40000, r'
contains "$err" "step 20/20  loss " "progress on standard error"
refuses 2 "--seed 7: the run to resume has 42" "another seed" \
    train --data c.csv --steps 20 --out half --resume --seed 7
refuses 2 "--steps 30: the run to resume has 20" "another length needs a flag (LR-03)" \
    train --data c.csv --steps 30 --out half --resume
refuses 2 "--preset default: the run to resume has tiny" "another preset" \
    "$vitrine" train --data c.csv --preset default --out half --resume
exits 0 "10 more, in a new process" train --data c.csv --column text --steps 20 --seed 42 \
    --out half --resume
contains "$out" "steps 11 to 20" "from step 11 on"
is "$(state half)" "$(state whole)" "the same bits as 20 at once"
echo "# sha256 20 steps:            $(state whole)"
echo "# sha256 10 + resume + 10:    $(state half)"
for file in model.safetensors config.json tokenizer.json manifest.json; do
    ok "$file too" cmp half/$file whole/$file
done
ok "the log goes on" sh -c 'cut -d, -f1-3 half/metrics.jsonl > a; cut -d, -f1-3 whole/metrics.jsonl > b; cmp a b'
exits 0 "resumed at its end" train --data c.csv --out half --resume --json
is "$(key state_sha256) $(key loss)" "$(state whole) None" "nothing changes"
exits 0 "a longer schedule, with the flag" train --data c.csv --out half --resume --steps 24 --reschedule
exits 0 "info" "$vitrine" info half --json
is "$(key step) $(key steps)" "24 24" "is kept"
make_corpus other.csv 39
refuses 3 "its tokens are not those of the run to resume" "another text" \
    only_errors train --data other.csv --out half --resume
refuses 4 "nothing: no such folder" "nothing to resume" \
    train --data c.csv --out nothing --resume
ok "and no folder is made" test ! -e nothing

# ---- threads ---------------------------------------------------------------
for threads in $(sweep '1 2 3 7' 3); do
    exits 0 "$threads threads" train --data c.csv --steps 20 --seed 42 --out t$threads --threads $threads
    is "$(state t$threads)" "$(state whole)" "$threads threads: the same bits"
    echo "# sha256 with $threads threads:       $(state t$threads)"
done
exits 0 "another seed" train --data c.csv --steps 20 --seed 43 --out s43
ok "has other bits" sh -c "! cmp -s s43/state.safetensors whole/state.safetensors"

# ---- options that follow from others ---------------------------------------
exits 0 "few steps" train --data c.csv --steps 3 --out few --lr 0.01
contains "$out" "warm-up of 3 steps, all of the run, instead of 50" "the warm-up is cut, and said"
ok "--lr alone sets --lr-min" grep -q '"lr_min": 0.001,' few/manifest.json
refuses 2 "--warmup 4" "a warm-up that was asked for is not" \
    only_errors train --data c.csv --steps 3 --warmup 4 --out no
exits 0 "sizes" train --data c.csv --steps 1 --d-model 16 --heads 4 --context 8 --tied --layers 1 \
    --merges 5 --out sizes
exits 0 "info" "$vitrine" info sizes --json
is "$(key layers) $(key d_model) $(key heads) $(key ff) $(key context) $(key seq) $(key tied) $(key vocabulary)" \
    "1 16 4 64 8 8 True 262" "the feed-forward and the windows follow"
exits 0 "--epochs" train --data c.csv --epochs 2 --max-rows 30 --warmup 1 --out epochs --json
is "$(key finished)" "True" "--epochs: runs to its end"

# ---- N = T, T + 1, T + 2 tokens (DATA-01): 9 documents of 2 tokens to train --
{ echo text; seq 0 9; } > ten.csv
few() { train --data ten.csv --merges 0 --steps 2 --out "n$1$2" --seq "$1" --stride "$2"; }
exits 3 "N = T: refused" few 18 0
contains "$err" "18 tokens, expected at least 19" "with both numbers"
ok "and no folder is made" test ! -e n180
exits 0 "N = T + 1" few 17 0
contains "$out" "18 to train on (1 window)" "one window"
exits 0 "N = T + 2" few 16 0
contains "$out" "18 to train on (1 window)" "one window"
exits 0 "N = T + 2, stride 1" few 16 1
contains "$out" "18 to train on (2 windows)" "two windows"
contains "$out" "2 tokens hold no window" "no validation, and said"
exits 0 "--json then" train --data ten.csv --merges 0 --steps 2 --out nj --seq 16 --json
is "$(key val_loss) $(key bigram_loss)" "None None" "null"
contains "$(cat nj/manifest.json)" '"bigram": null' "in the manifest, too"

# ---- fewer merges than asked for: no other pair occurs twice (TOK-01) ------
exits 0 "a corpus of ten digits" train --data ten.csv --merges 44 --steps 1 --out nm --seq 8
contains "$out" "tokenizer: 0 merges instead of 44: no other pair occurs twice" "says so"
exits 0 "info" "$vitrine" info nm --json
is "$(key merges) $(key vocabulary)" "0 257" "and is what it is"

# ---- signals ---------------------------------------------------------------
# Runs in the background until metrics.jsonl of DIR has a line, then is sent
# SIGNAL; its exit status into $status.
interrupted() {                         # SIGNAL DIR ARG...
    signal=$1 folder=$2; shift 2
    "$vitrine" train --data c.csv --preset tiny --steps 100000 --out "$folder" "$@" \
        >.out 2>.err </dev/null &
    child=$! tries=0
    while [ ! -s "$folder/metrics.jsonl" ] && [ $tries -lt 3000 ]; do
        sleep 0.1; tries=$((tries + 1))
    done
    kill -s "$signal" $child
    wait $child; status=$?
    err=$(cat .err)
}
# At step K the run is at the same bits as one that was told to stop there.
same_at() {                             # DIR DESC
    "$vitrine" info "$1" --json > .out
    step=$(key step)
    train --data c.csv --steps 100000 --out straight --stop-at $((step + 5)) > .out 2>&1
    train --data c.csv --steps 100000 --out "$1" --resume --stop-at $((step + 5)) > .out 2>&1
    is "$(state "$1")" "$(state straight)" "$2 (step $step + 5)"
    rm -r straight
}
for signal in $(sweep 'INT TERM HUP' TERM); do
    interrupted $signal stop$signal
    is $status 130 "SIG$signal: exit status"
    is "$(wc -l < .err)" 2 "SIG$signal: two lines"
    is "$(head -n 1 .err)" "vitrine train: stopping after this step; again to end at once" \
        "SIG$signal: it is answered at once"
    contains "$err" "saved to stop$signal; go on with: $vitrine train --data c.csv --preset tiny \
--steps 100000 --out stop$signal --resume" "SIG$signal: how to go on"
    exits 0 "SIG$signal: the checkpoint loads" "$vitrine" info stop$signal --json
    is "$(key manifest)" matches "SIG$signal: with its manifest"
    same_at stop$signal "SIG$signal: resumed, it has the bits of an uninterrupted run"
done
interrupted INT jsonstop --json
is "$status $(key interrupted) $(key finished)" "130 True False" "interrupted with --json"

# nohup: a terminal that goes away does not stop it.
hup_steps=$(sweep 600 60)
sh -c 'trap "" HUP; exec "$0" "$@"' "$vitrine" train --data c.csv --preset tiny --steps $hup_steps --out hup \
    >.out 2>.err </dev/null &
child=$! tries=0
while [ ! -s hup/metrics.jsonl ] && [ $tries -lt 3000 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -HUP $child 2>/dev/null; wait $child
is "$? $(cat .err)" "0 " "an ignored SIGHUP stays ignored"

# Before the first step there is nothing to save: it ends at once.
mkfifo pipe
"$vitrine" train --data pipe --preset tiny --out early >.out 2>.err </dev/null &
child=$!
exec 9>pipe                             # it is reading now
interrupt $child INT
is "$status $(cat .err)" "130 vitrine train: interrupted; nothing new was saved" "a signal while it reads"
exec 9>&-
ok "makes no folder" test ! -e early

# kill -9 while it saves at every step (CKPT-02)
first=yes
for try in $(sweep '1 2 3' 1); do
    # shellcheck disable=SC2046                 # a word, or none
    "$vitrine" train --data c.csv --preset tiny --steps 100000 --out killed --save-every 1 \
        $([ $first = yes ] || echo --resume) >.out 2>.err </dev/null &
    child=$! tries=0
    while [ ! -s killed/manifest.json ] && [ $tries -lt 3000 ]; do sleep 0.1; tries=$((tries + 1)); done
    sleep 0.4
    kill -9 $child; wait $child 2>/dev/null
    first=no
    exits 0 "kill -9, $try: the checkpoint loads" "$vitrine" info killed --json
done
same_at killed "after the kills it has the bits of an uninterrupted run"

# A reader that goes does not stop training.
"$vitrine" train --data c.csv --preset tiny --steps 20 --out piped 2>.err | head -n 1 > .out
is "$(state piped)$(cat .err)" "$(state whole)" "train | head trains to its end, quietly"

# ---- a terminal ------------------------------------------------------------
on_terminal() {                         # COLUMNS COMMAND
    script -qec "stty cols $1; LC_ALL=C $2" /dev/null < /dev/null > .out
}
for columns in $(sweep '60 80 120' '60 80'); do
    ok "on a terminal of $columns columns" on_terminal $columns \
        "'$vitrine' train --data c.csv --preset tiny --steps 20 --out tty$columns"
    tr '\r' '\n' < .out | grep '^ *[0-9]*/20 ' > bars
    ok "$columns: a bar" grep -q '20/20  \[##*\].*  loss .* tok/s .* left *$' bars
    [ $columns -lt 80 ] || ok "$columns: with the validation loss" grep -q ' val [0-9]' bars
    [ $columns -lt 100 ] || ok "$columns: and all numbers" grep -q ' lr .* grad [0-9]' bars
    is "$(awk '{ print length }' bars | sort -u)" $((columns - 1)) "$columns: it fits, and has one width"
    ok "$columns: no escape codes" sh -c "! grep -q '$(printf '\033')' .out"
done
TERM=xterm; export TERM
ok "check on a terminal" on_terminal 80 "'$vitrine' check tty80 --entries 1"
ok "colours" grep -q "$(printf '\033')" .out
ok "check with NO_COLOR" on_terminal 80 "NO_COLOR=1 '$vitrine' check tty80 --entries 1"
ok "no escape codes" sh -c "! grep -q '$(printf '\033')' .out"
finish
