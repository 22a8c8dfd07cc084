# cli_options.sh -- what every command does with its words: help, version,
# numbers, unknown, repeated and forgotten ones.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"

exits 2 "no command is usage" "$vitrine"
contains "$err" "usage: vitrine COMMAND" "and shows what there is"
exits 0 "--help" "$vitrine" --help
commands=$(sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' .out | grep -v '^help$')
for command in train generate eval plot check tokenize info lab grade export site serve; do
    contains "
$commands
" "
$command
" "--help names $command"
done
for command in $commands; do
    exits 0 "$command --help" "$vitrine" $command --help
    is "$err" "" "$command --help: nothing on standard error"
    contains "$out" "usage: vitrine $command" "$command --help: usage"
    contains "$out" "examples:
  vitrine $command " "$command --help: examples"
    first=0; [ "$command" != serve ] || first=2         # it ends by a signal, or an error
    contains "$out" "exit status:
  $first " "$command --help: exit status"
    [ $command = completions ] ||       # a script is its result
        contains "$out" "--json" "$command --help: --json"
    ok "$command --help: at most 80 columns" awk 'length > 80 { print; exit 1 }' .out
    own=$out
    exits 0 "help $command" "$vitrine" help $command
    is "$out" "$own" "help $command is the same"
    other=--json; [ $command != completions ] || other=
    # shellcheck disable=SC2086         # a word or none
    exits 0 "-h after other words" "$vitrine" $command $other -h
    is "$out" "$own" "$command --json -h is the same"
    refuses 2 "no option --no-such" "$command: an unknown option" "$vitrine" $command --no-such=1
    [ $command = lab ] || [ $command = bench ] ||       # they need nothing
        refuses 2 "vitrine $command: " "$command: nothing" "$vitrine" $command
    sh -c '{ "$1" "$2" --help; echo "$?" >.status; } 2>.err | head -n 1 >.out' - "$vitrine" "$command"
    is "$(cat .status)$(cat .err)" 0 "$command --help | head: no word about the reader that went"
done
refuses 2 "is train meant?" "a slip in a command" "$vitrine" trian
refuses 2 "is train meant?" "and in its help" "$vitrine" help trian
refuses 2 "no command 'zzz': expected train, generate, " "an unknown command" "$vitrine" zzz
lacks "$err" "meant?" "that is near to none"
meant() {
    word=$1; shift
    refuses 2 "; is $word meant?" "$*" "$vitrine" "$@"
}
meant tiny train --preset tyni
meant avx512 train --isa avx521
meant avx2 generate m --isa axv2
meant portable check m --isa protable
meant portable info m --isa portabel
meant xavier train --init xaviar
meant gelu_new train --activation gelu-new
meant attention check --op atention --torch
meant float32 check --op gelu --precision flaot32
meant bhtd check --op attention --layout bhdt
meant softmax grade --exercise sofmax --hint 1
meant lab export m --as lba
meant float64 lab --dtype float46
meant --temperature generate m --temprature=1

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
try "--out: given twice" "--out twice" --out=c.csv
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
refuses 2 "--preset huge: expected tiny, default or gpt2" "a preset that is none" \
    "$vitrine" train --data c.csv --out never --preset huge
refuses 2 "--isa sse: expected portable" "kernels that are none" \
    "$vitrine" train --data c.csv --out never --isa sse
for command in $commands; do                # each command that runs fast kernels has --isa
    "$vitrine" $command --help > help
    if ! grep -q '^  --isa ' help; then continue; fi
    with_isa="${with_isa:-}$command "
    for word in sse PORTABLE "portable "; do
        refuses 2 "vitrine $command: VITRINE_ISA $word: expected " "$command: VITRINE_ISA='$word'" \
            env VITRINE_ISA="$word" "$vitrine" $command
    done
    list=; [ $command != bench ] || list=--list         # the others lack an operand
    # shellcheck disable=SC2086                         # a word or none
    VITRINE_ISA=sse "$vitrine" $command --isa portable $list > /dev/null 2> why
    is "$(grep -c VITRINE_ISA why)" 0 "$command: the option wins"
    exits 0 "$command: and not for --help" env VITRINE_ISA=sse "$vitrine" $command --help
done
is "$with_isa" "train generate eval check info serve bench " "commands with --isa"
refuses 2 "vitrine: VITRINE_ISA avx521: expected " "--version: VITRINE_ISA" env VITRINE_ISA=avx521 "$vitrine" --version
exits 0 "--version" env VITRINE_ISA=portable "$vitrine" --version --json
is "$(key kernels)" portable "says which kernels are used"
best=$("$vitrine" --version | sed -n 's/^kernels \([a-z0-9]*\) .*/\1/p')
exits 0 "empty" env VITRINE_ISA= "$vitrine" --version
contains "$out" "kernels $best (" "it is as if it were not set"
# Of train: the option, a file, the variable, the best, in this order.
isa_of() { "$vitrine" train "$@" --print-config | sed -n 's/^isa = //p'; }
echo "isa = $best" > isa.conf
is "$(VITRINE_ISA=portable isa_of)" '"portable"' "train: the variable"
is "$(VITRINE_ISA=sse isa_of --isa "$best")" "\"$best\"" "train: the option wins"
is "$(VITRINE_ISA=portable isa_of --config isa.conf)" "\"$best\"" "train: so does a configuration"
is "$(isa_of)" "" "train: none of these"

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
refuses 2 "--directions and --every" "check: another" "$vitrine" check m --every --directions
refuses 2 "--directions and --entries" "check: another" "$vitrine" check m --entries 2 --directions
refuses 2 "--every and --entries" "check: a contradiction" "$vitrine" check m --every --entries 3
refuses 2 "expected one of --text" "tokenize: nothing asked" "$vitrine" tokenize m
refuses 2 "expected one of --text" "tokenize: two things asked" "$vitrine" tokenize m --text a --ids 1
ok "nothing was written by all of these" test ! -e never
finish
