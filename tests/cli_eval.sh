# cli_eval.sh -- vitrine eval: loss, perplexity and bits per byte on a held-out text.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
make_corpus c.csv 30
ok "a model" train --data c.csv --steps 40 --merges 60 --out m
ok "a tied one" train --data c.csv --steps 10 --merges 60 --tied --out tied
a='She was of the and, as to it: not so 12 of them?  They have been who would.'
b="It's on this, from that. But could he?
Which is which which which."
printf '%s' "$a" > a.txt
printf 'id,text\n1,"%s"\n2,"%s"\n' "$a" "$b" > two.csv

# ---- against NumPy -------------------------------------------------------------
same() {                                # DESC MODEL TEXTS -- what follows: the report in .out
    cp .out report.json
    ok "$1" python "$root/tests/eval_numpy.py" "$2" report.json "$3" ${4:+"$4"}
}
exits 0 "a text" "$vitrine" eval m a.txt --json
same "loss, perplexity, bits per byte as NumPy in double has them" m "$a"
exits 0 "a column, two documents" "$vitrine" eval m two.csv --json
same "with ends of documents" m "$a" "$b"
exits 0 "--stride" "$vitrine" eval m two.csv --stride 5 --json
same "windows that overlap: each token once" m "$a" "$b"
exits 0 "--seq and --stride 1" "$vitrine" eval m two.csv --seq 9 --stride 1 --json
same "windows of another length" m "$a" "$b"
exits 0 "--whole" "$vitrine" eval m two.csv --whole --json
same "whole windows alone" m "$a" "$b"
ok "leave the end out" [ "$(key predicted)" -eq $(( ($(key tokens) - 1) / 16 * 16 )) ]
exits 0 "a window longer than the text" "$vitrine" eval m a.txt --seq 32 --json
exits 0 "a tied model" "$vitrine" eval tied two.csv --json
same "its head is the embedding" tied "$a" "$b"
exits 0 "several files" "$vitrine" eval m a.txt a.txt --json
same "are joined" m "$a" "$a"

# ---- threads, words ------------------------------------------------------------
exits 0 "one thread" "$vitrine" eval m c.csv --stride 7 --threads 1 --json
one=$out
for n in 2 3; do
    exits 0 "$n threads" "$vitrine" eval m c.csv --stride 7 --threads $n --json
    is "$out" "$one" "$n threads: the same bits"
done
is "$(key training_text)" True "the training text is known again"
exits 0 "as text" "$vitrine" eval m c.csv
contains "$out" "note: this is text that the model was trained on" "and said"
contains "$out" "bits per byte" "bits per byte"
is "$err" "" "no terminal: nothing on standard error of a short run"
exits 0 "held out" "$vitrine" eval m two.csv
lacks "$out" "note:" "no such note on another text"
printf '{"text": "%s"}\n' "$b" | tr '\n' ' ' > b.jsonl
ok "a model of two files" train --data c.csv --data b.jsonl --steps 4 --merges 20 --out pair
for text in c.csv b.jsonl; do
    exits 0 "$text of them" "$vitrine" eval pair $text
    contains "$out" "note: this is text that the model was trained on" "is known again"
done
exits 0 "both, the other way round" "$vitrine" eval pair b.jsonl c.csv --json
is "$(key training_text), $(key training_files)" "True, 2" "are known again"
exits 0 "one, and another text" "$vitrine" eval pair a.txt c.csv
contains "$out" "trained on 1 of the 2 files" "is said"
exits 0 "held out of both" "$vitrine" eval pair a.txt --json
is "$(key training_text), $(key training_files)" "False, 0" "is not"

refuses 2 "expected the folder of a model" "nothing" "$vitrine" eval
refuses 2 "expected a text behind the model" "no text" "$vitrine" eval m
refuses 2 "-: expected a file" "standard input" "$vitrine" eval m -
refuses 4 "no-such.txt" "no such text" "$vitrine" eval m no-such.txt
refuses 3 "no-column" "no such column" "$vitrine" eval m two.csv --column no-column
refuses 2 "--stride 17: expected 1 to --seq 16" "a stride that leaves tokens out" \
    "$vitrine" eval m a.txt --stride 17
refuses 2 "--seq 33: expected 1 to 32" "more than the model's positions" "$vitrine" eval m a.txt --seq 33
printf 'a' > one.txt
exits 0 "one token and its end" env VITRINE_ISA=portable "$vitrine" eval m one.txt --json
is "$(key kernels)" portable "VITRINE_ISA chooses the kernels"
is "$(key predicted_bytes), $(key bits_per_byte)" "0, None" "spell nothing that was predicted"
exits 0 "as text" "$vitrine" eval m one.txt
contains "$out" "1 window of 1
" "the window is as long as it was"
refuses 3 "is too short" "--whole of a short text" "$vitrine" eval m one.txt --whole

# ---- a signal (of a background job, SIGINT is ignored) ---------------------------
awk '{ a = a $0 "\n" } END { for (i = 0; i < 150; i++) printf "%s", a }' c.csv > long.txt
"$vitrine" eval m long.txt --seq 32 --stride 1 --threads 1 --isa portable > .long 2> .why &
interrupt $!
is "$status" 130 "a signal ends it"
contains "$(cat .why)" "interrupted" "and says so"
is "$(cat .long)" "" "without a result"
mkfifo never
mkdir shell; echo '<p>' > shell/index.html; echo 'not run here' > shell/vitrine.wasm
for command in "eval m never" "site --from shell --out www --lab m --data never --column text"; do
    set -- $command
    "$vitrine" "$@" > .long 2> .why &
    interrupt $!
    is "$status" 130 "$1: a signal ends the wait for a text"
    contains "$(cat .why)" "vitrine $1: interrupted by signal 15; nothing is left behind" "$1: and says so"
done
is "$(ls -d www* 2>/dev/null)" "" "site: leaves nothing"
finish
