# cli_config.sh -- vitrine train --config and --print-config: what is printed is all that
# determines a run, and read back it is the same run; what a file may hold, and may not.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
make_corpus c.csv 20

# ---- printed, read, printed again
exits 0 "--print-config alone" "$vitrine" train --print-config
is "$err" "" "nothing on standard error"
cp .out default.conf
for option in $(sed -n 's/^SETTING(.*"--\(.*\)")/\1/p' "$root/src/train/settings.def"); do
    ok "default: $option is there" grep -Eq "^(# )?$option = " default.conf
done
keys=$("$vitrine" train --help | sed '/^this call:/,$d' | sed -n 's/^  --\([a-z0-9-]*\).*/\1/p' | grep -Evx 'untied|refuse-invalid|header' | sort)
is "$(sed -n 's/^\(# \)*\([a-z0-9-]*\) = .*/\2/p' default.conf | sort)" "$keys" \
    "the keys are the options of the help, above 'this call'"
exits 0 "--config, --print-config" "$vitrine" train --config default.conf --print-config
ok "print(read(print)) is the same" cmp .out default.conf
again() {                               # DESC ARG...
    desc=$1; shift
    exits 0 "$desc" "$vitrine" train "$@" --print-config
    cp .out once.conf
    exits 0 "$desc: read back" "$vitrine" train --config once.conf --print-config
    ok "$desc: the same" cmp .out once.conf
}
again "tiny" --preset tiny
again "gpt2" --preset gpt2
again "a tokenizer" --tokenizer "a b"
again "many options" --preset tiny --data c.csv --column text --out m --steps 7 --lr 1e-3 --beta2 0.9500000000000001 \
    --seed 18446744073709551615 --tied --max-rows 9 --isa portable --threads 2 --decay 0.1 --eps 1e-30
contains "$out" "beta2 = 0.9500000000000001
" "a number keeps all its digits"
contains "$out" "seed = 18446744073709551615
" "and a seed"
odd=$(printf 'a "b" \\c\td#e =\303\251\377\033\001 ')
again "a path of odd bytes" --data "$odd" --out ' blank ' --column '#'
contains "$out" 'data = "a \"b\" \\c\td#e ='"$(printf '\303\251')"'\xff\x1b\x01 "' "quoted as the page says"
contains "$out" 'out = " blank "' "blanks are kept"
again "two files" --data c.csv --data d.csv --replace-invalid
contains "$out" 'data = "c.csv"
data = "d.csv"
' "a line each, in their order"
again "epochs in place of a preset's steps" --epochs 3
contains "$out" "# steps = N
epochs = 3
" "the length is in epochs"

# ---- the same run
train --data c.csv --column text --out by-options --steps 5 --seed 7 --batch 4 --lr 0.002 --tied > .log || exit 1
"$vitrine" train --preset tiny --data c.csv --column text --out by-file --steps 5 --seed 7 --batch 4 --lr 0.002 \
    --tied --print-config > run.conf
exits 0 "a run by its file alone" "$vitrine" train --config run.conf
is "$(state by-file)" "$(state by-options)" "has the same state"
ok "and --print-config had written nothing" test ! -e m
exits 0 "--resume --print-config" "$vitrine" train --resume --out by-options --data c.csv --column text --print-config
sed 's/^out = .*/out = "by-stored"/' .out > stored.conf
is "$(grep -c '^warmup = 5$' stored.conf)" 1 "a warm-up that the run cut is said as it was"
exits 0 "the configuration of a stored run" "$vitrine" train --config stored.conf
is "$(state by-stored)" "$(state by-options)" "is the run"
lacks "$(cat stored.conf)" "older run" "all of it: nothing is left to be named"
ok "its tokenizer was learnt: none is named" grep -q '^# tokenizer = FILE$' stored.conf
exits 0 "stopped, by file" "$vitrine" train --config run.conf --out in-parts --stop-at 2
exits 0 "and resumed by it" "$vitrine" train --config run.conf --out in-parts --resume
is "$(state in-parts)" "$(state by-options)" "is the run, too"
refuses 2 "--batch 5: the run to resume has 4" "a file that disagrees with the stored run" \
    "$vitrine" train --config run.conf --out in-parts --resume --batch 5

"$vitrine" train --config run.conf --tokenizer by-options --out given --print-config > given.conf
exits 0 "a tokenizer by file" "$vitrine" train --config given.conf --stop-at 2
exits 0 "resumed by it: the checkpoint has its own" "$vitrine" train --config given.conf --resume
refuses 2 "--tokenizer by-file: the run to resume has its own" "on the command line it is refused" \
    "$vitrine" train --config given.conf --resume --tokenizer by-file
exits 0 "--merges over a file's tokenizer" "$vitrine" train --config given.conf --merges 9 --print-config
ok "means one that is learnt" grep -q '^# tokenizer = FILE$' .out
exits 0 "--resume --print-config" "$vitrine" train --config given.conf --resume --print-config
contains "$out" 'tokenizer = "given/tokenizer.json"' "of a tokenizer that was given names the run's copy"
lacks "$out" "
merges" "and says no merges"
sed 's/^out = .*/out = "given-stored"/' .out > stored.conf
rm -r by-options                        # where it came from
exits 0 "the configuration of that stored run" "$vitrine" train --config stored.conf
is "$(state given-stored)" "$(state given)" "is the run"
"$vitrine" info given --json > .out
is "$(key tokenizer_from)" given "info: where the tokenizer is from"
"$vitrine" info by-file --json > .out
is "$(key tokenizer_from)" corpus "or learnt"
refuses 3 "bad.json: " "a tokenizer that is none: the refusal stands alone" sh -c \
    'echo "{}" > bad.json; exec "$0" train --config run.conf --out never --tokenizer bad.json' "$vitrine"

# A state from before it said where its tokenizer is from: without the field, as docs/formats.md
# has it; and one that says something else.
cat > edit.py <<'END'
import hashlib, json, struct, sys
path, value = sys.argv[1:]
data = open(path, "rb").read()
n = struct.unpack("<Q", data[:8])[0]
head, body = json.loads(data[8:8 + n]), data[8 + n:]
meta = head["__metadata__"]
run = json.loads(meta["run"])
assert set(run["tokenizer"]) == {"from", "sha256"}
assert run["tokenizer"]["sha256"] == hashlib.sha256(meta["tokenizer"].encode()).hexdigest()
if value == "none": del run["tokenizer"]
else: run["tokenizer"]["from"] = value
meta["run"] = json.dumps(run)
h = hashlib.sha256()
for text in (meta["run"], meta["tokenizer"]): h.update(text.encode() + b"\0")
tensors = [(v["data_offsets"], k) for k, v in head.items() if k != "__metadata__"]
for (first, last), name in sorted(tensors):
    h.update(name.encode() + b"\0" + body[first:last])
meta["sha256"] = h.hexdigest()
text = json.dumps(head).encode()
text += b" " * (-len(text) % 8)
open(path, "wb").write(struct.pack("<Q", len(text)) + text + body)
END
cp -r in-parts older
ok "an older state is made" python edit.py older/state.safetensors none
exits 0 "opens" "$vitrine" info older --json
is "$(key tokenizer_from)" None "and does not say"
exits 0 "its configuration" "$vitrine" train --resume --out older --print-config
contains "$out" "# an older run: a tokenizer that it was given is to be named again" "says what it cannot know"
exits 0 "is resumed" "$vitrine" train --config run.conf --out older --resume
lacks "$(cat older/manifest.json)" '"from"' "and does not learn it by that"
cp -r in-parts other
ok "an unknown origin is made" python edit.py other/state.safetensors elsewhere
refuses 3 'field "from": expected "corpus" or "given"' "and refused" "$vitrine" info other

# ---- preset < file < command line
printf 'preset = tiny\nseed = 3\nlr = 0.5\n' > part.conf
value() { sed -n "s/^$1 = //p" .out; }
exits 0 "a file of three lines" "$vitrine" train --config part.conf --lr 0.25 --print-config
is "$(value preset) $(value seed) $(value layers)" '"tiny" 3 2' "the file is over the preset"
is "$(value lr) $(value lr-min)" "0.25 0.025" "the command line over the file"
printf 'data = a\ndata = b\n' > list.conf
exits 0 "a list" "$vitrine" train --config list.conf --data c --print-config
is "$(value data)" '"c"' "the command line's list takes the place of the file's"
exits 0 "--preset" "$vitrine" train --config part.conf --preset default --print-config
is "$(value preset) $(value seed) $(value layers)" '"default" 3 4' "the preset of the command line, the file's seed"
printf 'steps = 9\nd-model = 64\nheads = 2\ntied = true\n' > steps.conf
exits 0 "--epochs over a file's steps" "$vitrine" train --config steps.conf --epochs 4 --print-config
is "$(value steps) $(value epochs)" " 4" "the length is in epochs"
is "$(value ff)" 256 "what follows from a file's value follows"
exits 0 "--untied over a file's tied" "$vitrine" train --config steps.conf --untied --print-config
is "$(value tied)" false "is no contradiction"
printf 'preset = tiny\n# d-model is 32\nheads = 3\n' > heads.conf
refuses 3 "heads.conf:3: --heads 3 does not divide" "values that do not fit together: the file's line" \
    "$vitrine" train --config heads.conf --data c.csv --out none
refuses 3 "heads.conf:3: --heads 3 does not" "likewise of the plan" "$vitrine" info --memory --config heads.conf
refuses 2 ": --heads 5 does not" "not where the command line is to blame" \
    "$vitrine" train --config heads.conf --heads 5 --data c.csv --out none
printf 'replace-invalid = true\nno-header = true\n' > read.conf
exits 0 "--refuse-invalid, --header over a file's flags" "$vitrine" train --config read.conf --data c.csv \
    --refuse-invalid --header --print-config
is "$(value replace-invalid) $(value no-header)" "false false" "take them back"
refuses 2 "--no-header and --header: expected one" "a contradiction" \
    "$vitrine" train --data c.csv --no-header --header --print-config
refuses 2 "--replace-invalid and --refuse-invalid: expected one" "another" \
    "$vitrine" train --data c.csv --replace-invalid --refuse-invalid --print-config
exits 0 "--print-config" "$vitrine" train --preset tiny --data c.csv --steps 5 --layers 3 --tied --print-config
cp .out plan.conf
"$vitrine" info --memory --preset tiny --layers 3 --tied --json > plan.json
exits 0 "info --memory --config" "$vitrine" info --memory --config plan.conf --json
ok "plans the run of the file" cmp .out plan.json
"$vitrine" info --memory --preset tiny --layers 3 --tied --seq 8 --merges 9 --json > plan.json
exits 0 "and options over it" "$vitrine" info --memory --config plan.conf --seq 8 --merges 9 --json
ok "plans what they say" cmp .out plan.json
printf 'd-model = 64\n' > wide.conf
"$vitrine" info --memory --d-model 64 --json > plan.json
exits 0 "what follows from a file's value" "$vitrine" info --memory --config wide.conf --json
ok "follows" cmp .out plan.json
refuses 3 "bad.conf:1: no key x" "a file that is wrong" sh -c \
    'echo "x = 1" > bad.conf; exec "$0" info --memory --config bad.conf' "$vitrine"
refuses 2 "--config: expected no such option with a model" "a model has its own" \
    "$vitrine" info by-file --memory --config plan.conf
refuses 2 "--config: expected --memory with it" "without a plan" "$vitrine" info by-file --config plan.conf
refuses 2 "--print-config and --json" "two outputs" "$vitrine" train --print-config --json
refuses 2 "--data: expected the text" "a file is not all" "$vitrine" train --config part.conf
refuses 4 "missing.conf: " "a file that is not there" "$vitrine" train --config missing.conf

# ---- what a line may hold
printf '\357\273\277# a comment\r\n\r\n  \t# another\r\n\t d-model\t=  128 # its comment\r\ncolumn = a # b#c\r\nout="x\\x41\\"\\\\\\n"# d\r\ndata = # e\r\n' |
    sed '$d' > odd.conf
printf 'data = one two  \r\nseq=5' >> odd.conf
exits 0 "BOM, CR LF, comments, blanks, quotes, no last newline" "$vitrine" train --config odd.conf --print-config
is "$(value d-model) $(value column) $(value data) $(value seq)" '128 "a" "one two" 5' "are read as the page says"
is "$(value out)" '"xA\"\\\n"' "escapes"
printf 'column = a#b\n' > odd.conf
exits 0 "a # without a blank before it" "$vitrine" train --config odd.conf --print-config
is "$(value column)" '"a#b"' "is part of the value"

# ---- and may not: FILE:LINE, what, what was expected
bad() {                                 # PART TEXT, the fault in line 2
    printf "# first\n$2\n# last\n" > bad.conf
    refuses 3 "bad.conf:2: $1" "$1" "$vitrine" train --config bad.conf --print-config
}
bad "no key d-modle; is d-model meant?" 'd-modle = 3'
bad "no key zzzz (vitrine train --print-config" 'zzzz = 3'
bad "no key --seed; is seed meant?" '\055-seed = 3'
bad "no key ''" '= 3'
bad "no key include (" 'include = other.conf'
bad "no key Seed; is seed meant?" 'Seed = 3'
bad "'seed 3': expected key = value" 'seed 3'
bad "'[model]': expected key = value" '[model]'
bad "seed: expected a value" 'seed ='
bad "seed: expected a value" 'seed = # none'
bad "--seed -1: expected a whole number from 0 to 18446744073709551615" 'seed = -1'
bad "--lr nan: expected a number from 0 to 1000" 'lr = nan'
bad "--d-model 0: expected a whole number" 'd-model = 0'
bad "--d-model 4 5: expected a whole number" 'd-model = 4 5'
bad "--preset tyni: expected tiny" 'preset = tyni'
bad "--out: expected" 'out = ""'
bad "tied = yes: expected true or false" 'tied = yes'
bad "untied: expected tied = false" 'untied = true'
bad "resume: is of one call" 'resume = true'
bad "json: is of one call" 'json = true'
bad "config: is of one call" 'config = a'
bad "temperature: is an option of vitrine generate" 'temperature = 1'
bad "column: expected a closing quote" 'column = "a'
bad "column: expected a closing quote" 'column = "a\\"'
bad "column: expected nothing behind" 'column = "a" b'
bad "column: expected one of" 'column = "\\q"'
bad "column: expected one of" 'column = "\\x0g"'
bad 'column: \x00 ends a text: expected' 'column = "a\\x00b"'
bad "byte 17 of the file: expected UTF-8, found 0xFF" 'column = \377'
bad "byte 17 of the file: expected UTF-8, found 0x00" 'column = \000'
printf 'seed = 1\n\n# c\nseed = 1\n' > bad.conf
refuses 3 "bad.conf:4: seed: given twice, first in line 1" "a key given twice" \
    "$vitrine" train --config bad.conf --print-config
head -c 1048577 /dev/zero | tr '\0' '#' > bad.conf
refuses 5 "bad.conf" "a file beyond 1 MiB" "$vitrine" train --config bad.conf --print-config
refuses 4 "." "a folder" "$vitrine" train --config . --print-config
: > empty.conf
exits 0 "an empty file says nothing" "$vitrine" train --config empty.conf --print-config
ok "the presets are as they were" cmp .out default.conf
finish
