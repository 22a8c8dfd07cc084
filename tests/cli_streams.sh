# cli_streams.sh -- standard streams that are closed: what is printed lands in
# no file, and an output that could not be written is an error.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
make_corpus c.csv 20
learn() { train --data c.csv --steps 12 --seed 42 "$@"; }
learn --out whole > .out || exit 1
steps() { cut -d, -f1-3 "$1/metrics.jsonl"; }

# CLOSED DESC STATUS DIR: the run in DIR ended with STATUS, its files are whole.
same() {
    is "$status" "$2" "$1: exit status"
    is "$(steps "$3")" "$(steps whole)" "$1: metrics.jsonl holds its lines and nothing else"
    is "$(state "$3")" "$(state whole)" "$1: the state has the same bits"
}
learn --out a >&- 2>.err; status=$?
same "standard output closed" 4 a
is "$(grep -c '^vitrine train: standard output: ' .err)" 1 "and the error is told"
learn --out b 2>&- >.out; status=$?
same "standard error closed" 0 b
ok "the output is there" grep -q '^step 12 of 12 in ' .out
learn --out c --json >&- 2>/dev/null; status=$?
same "--json, standard output closed" 4 c
learn --out d --json 2>&- >.out; status=$?
same "--json, standard error closed" 0 d
ok "the output is JSON" is_json
learn --out e <&- >&- 2>&-; status=$?
same "all closed" 4 e
"$vitrine" tokenize whole - <&- >.out 2>.err; status=$?
is "$status $(cut -c1-35 .err)" "4 vitrine tokenize: standard input: B" "standard input closed"
for command in "info whole" "check whole" "generate whole" "tokenize whole --text a" "--version" "--help"; do
    "$vitrine" $command >&- 2>.err; status=$?
    is "$status $(wc -l < .err)" "4 1" "$command: closed output is an error"
done
finish
