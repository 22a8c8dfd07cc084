# cli_options.sh -- what every command does with its words: help, version,
# numbers, unknown, repeated and forgotten ones.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"

exits 2 "no command is usage" "$vitrine"
contains "$err" "usage: vitrine COMMAND" "and shows what there is"
exits 0 "--help" "$vitrine" --help
for command in train generate check tokenize info lab grade; do
    contains "$out" "  $command " "--help names $command"
    exits 0 "$command --help" "$vitrine" $command --help
    is "$err" "" "$command --help: nothing on standard error"
    contains "$out" "usage: vitrine $command" "$command --help: usage"
    contains "$out" "examples:
  vitrine $command " "$command --help: examples"
    contains "$out" "exit status:
  0" "$command --help: exit status"
    contains "$out" "--json" "$command --help: --json"
    ok "$command --help: at most 90 columns" awk 'length > 90 { print; exit 1 }' .out
    own=$out
    exits 0 "help $command" "$vitrine" help $command
    is "$out" "$own" "help $command is the same"
    exits 0 "-h after other words" "$vitrine" $command --json -h
    is "$out" "$own" "$command --json -h is the same"
    refuses 2 "no option --no-such" "$command: an unknown option" "$vitrine" $command --no-such=1
    [ $command = lab ] ||               # it needs nothing
        refuses 2 "vitrine $command: " "$command: nothing" "$vitrine" $command
    exits 0 "--help for the next" "$vitrine" --help
done
refuses 2 "no command 'trian'" "an unknown command" "$vitrine" trian
refuses 2 "no command 'trian'" "and its help" "$vitrine" help trian

exits 0 "--version" "$vitrine" --version
contains "$out" "vitrine 0." "the version"
contains "$out" "commit  " "the commit"
contains "$out" "-ffp-contract=off" "the flags"
contains "$out" "portable" "the instruction sets"
exits 0 "--version --json" "$vitrine" --version --json
ok "is JSON" is_json

make_corpus c.csv 12
try() { refuses 2 "$1" "$2" "$vitrine" train --data c.csv --out never "$3"; }
for bad in -1 0 nan NaN inf -inf 1e3 1.5 0x10 '' ' 5' '5 ' +5 5x 99999999999999999999 \
           9223372036854775808 -9223372036854775809 1099511627777; do
    try "--steps ${bad:-''}: expected a whole number, 1 or more" "--steps=$bad" "--steps=$bad"
done
for bad in -1 -0.001 nan -nan inf infinity 1e999 1e-999 0x1p3 1,5 '' ' 1' 1e 1..2 1e400 1001; do
    try "--lr ${bad:-''}: expected a number from 0 to 1000" "--lr=$bad" "--lr=$bad"
done
try "--seed -1: expected a whole number from 0 to 18446744073709551615" "--seed -1" --seed=-1
try "--seed 18446744073709551616: expected" "--seed 2^64" --seed=18446744073709551616
try "--beta1 1: expected a number from 0 to 0.999999" "--beta1 1" --beta1=1
try "--eps 0: expected" "--eps 0" --eps=0
try "--threads 257: expected" "--threads 257" --threads=257
try "--layers 2147483648: expected" "--layers 2^31" --layers=2147483648
try "--data: given twice" "--data twice" --data=c.csv
try "--steps: expected a value" "no value" --steps
try "is --steps meant?" "a slip of the pen" --step=3
try "--tied: takes no value" "a value for a flag" --tied=yes
refuses 2 "--tied and --untied" "a contradiction" \
    "$vitrine" train --data c.csv --out never --tied --untied
refuses 2 "found the option --column" "a forgotten value" \
    "$vitrine" train --data --column text --out never
refuses 2 "'extra' is one argument too many" "an operand" \
    "$vitrine" train --data c.csv --out never -- extra
refuses 2 "--data: expected" "an empty name" "$vitrine" train --data '' --out never
refuses 2 "--data: expected" "no --data" "$vitrine" train --out never
refuses 2 "--out: expected" "no --out" "$vitrine" train --data c.csv
refuses 2 "--reschedule: expected --resume" "--reschedule alone" \
    "$vitrine" train --data c.csv --out never --reschedule --steps 3
refuses 2 "--preset huge: expected tiny or default" "a preset that is none" \
    "$vitrine" train --data c.csv --out never --preset huge
refuses 2 "--isa sse: expected portable" "kernels that are none" \
    "$vitrine" train --data c.csv --out never --isa sse
refuses 2 "--activation relu: expected gelu_new" "an activation that is not computed (ACT-01)" \
    "$vitrine" train --data c.csv --out never --activation relu
refuses 2 "--init zero" "an initialisation that is none" \
    "$vitrine" train --data c.csv --out never --init zero
refuses 2 "--temperature nan: expected" "generate: NaN" "$vitrine" generate m --temperature nan
refuses 2 "--temperature -1: expected" "generate: negative" "$vitrine" generate m --temperature -1
refuses 2 "--top-p 1.01: expected" "generate: above 1" "$vitrine" generate m --top-p=1.01
refuses 2 "--top-k -1: expected" "generate: --top-k" "$vitrine" generate m --top-k -1
refuses 2 "--samples 0: expected" "generate: no samples" "$vitrine" generate m --samples 0
refuses 2 "--max-tokens 1e2: expected" "generate: --max-tokens" "$vitrine" generate m --max-tokens 1e2
refuses 2 "--prompt and --prompt-file" "generate: two prompts" \
    "$vitrine" generate m --prompt a --prompt-file b
refuses 2 "--entries 0: expected" "check: no entries" "$vitrine" check m --entries 0
refuses 2 "--every and --entries" "check: a contradiction" "$vitrine" check m --every --entries 3
refuses 2 "expected one of --text" "tokenize: nothing asked" "$vitrine" tokenize m
refuses 2 "expected one of --text" "tokenize: two things asked" "$vitrine" tokenize m --text a --ids 1
ok "nothing was written by all of these" test ! -e never
finish
