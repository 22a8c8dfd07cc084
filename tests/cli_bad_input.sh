# cli_bad_input.sh -- what cannot be used is refused by one line that says what,
# where and what was expected; nothing is half-written, an old checkpoint
# survives.  Known faults CKPT-02, ST-01 to ST-04 at the command line.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
make_corpus c.csv 30
train --data c.csv --steps 6 --stop-at 3 --out m > .out || exit 1
only_errors() { "$@" >/dev/null; }

# ---- texts -----------------------------------------------------------------
bad() {                                 # CODE PART DESC ARG...: no folder either
    bad_code=$1 bad_part=$2 bad_desc=$3; shift 3
    refuses "$bad_code" "$bad_part" "$bad_desc" only_errors train --out never --steps 2 "$@"
    ok "$bad_desc: nothing is written" test ! -e never
}
bad 3 'c.csv: no column "words": expected one of: id, text' "a missing column" --data c.csv --column words
printf 'text,text\na,b\n' > twice.csv
bad 3 'twice.csv: 2 columns are called "text": expected one' "a column twice" --data twice.csv
bad 3 '2 columns are called "text"' "and asked for" --data twice.csv --column text
bad 2 '--data -: expected a file' "standard input for a text" --data -
refuses 2 '--novelty -: expected a file' "or for --novelty" "$vitrine" generate m --novelty -
bad 4 'none.csv: ' "a missing file" --data none.csv
mkdir folder
bad 4 'folder: ' "a folder for a text" --data folder
: > empty.txt
bad 3 'empty.txt: ' "an empty text" --data empty.txt
: > empty.csv
bad 3 'empty.csv: ' "an empty CSV" --data empty.csv
echo text > head.csv
bad 3 'head.csv: ' "a CSV of a header alone" --data head.csv
printf 'text\n""\n""\n' > cells.csv
bad 3 'cells.csv: ' "a CSV of empty cells" --data cells.csv
printf 'a' > short.txt
bad 3 'too short: ' "a text shorter than the window" --data short.txt
printf 'good text\nand \377 bad' > latin.txt
bad 3 'latin.txt: line 2, byte offset 14: 0xFF is not UTF-8' "invalid UTF-8" --data latin.txt
printf 'text\none\n"two \303\251\n\303(' > latin.csv
bad 3 'latin.csv: line 4, byte offset 17: 0xC3 is not UTF-8' "invalid UTF-8 in a CSV" --data latin.csv
printf 'id,text\n1,one\n2,"two\nthree\n3,three\n' > quote.csv
bad 3 'quote.csv: line 3' "an unclosed quote: the line where it opened" --data quote.csv
printf 'text\n"a"b\n' > junk.csv
bad 3 'junk.csv: line 2' "text behind a closing quote" --data junk.csv
bad 2 'a plain text has no rows' "rows of a plain text" --data short.txt --max-rows 3
printf 'text,id\na,1\nb\n' > ragged.csv
bad 3 'ragged.csv: line 3' "a record with too few fields" --data ragged.csv

# What never ends is not read until memory does.
bad 5 '/dev/zero: the file is longer than the 268435456 bytes' "an endless text" --data /dev/zero
refuses 5 '/dev/zero: the file is longer than the 67108864 bytes' "an endless prompt" \
    "$vitrine" generate m --prompt-file /dev/zero
refuses 5 'standard input: longer than the 67108864 bytes' "an endless standard input" \
    sh -c "'$vitrine' tokenize m - < /dev/zero"
refuses 5 'standard input: longer than the 67108864 bytes' "for a prompt" \
    sh -c "'$vitrine' generate m --prompt-file - < /dev/zero"

# ---- sizes -----------------------------------------------------------------
bad 2 '--heads 3 does not divide --d-model 32' "heads that do not divide" --data c.csv --heads 3
bad 2 '--seq 33: expected at most --context 32' "a window beyond the positions" --data c.csv --seq 33
bad 5 'overflows' "sizes that overflow" --data c.csv --d-model 2147483647 --heads 1 --ff 2147483647 --layers 2147483647
bad 5 'this machine has' "sizes beyond memory" --data c.csv --d-model 300000 --heads 1 --ff 4 --layers 1
bad 5 '' "a batch beyond memory" --data c.csv --batch 2147483647 --accumulate 2147483647

# ---- checkpoints -----------------------------------------------------------
broken() {                              # PART DESC
    refuses 3 "$1" "$2: info" "$vitrine" info broken
    refuses 3 "$1" "$2: generate" "$vitrine" generate broken --prompt a
    refuses 3 "$1" "$2: check" "$vitrine" check broken
    before=$(state broken)
    refuses 3 "$1" "$2: resume" only_errors train --data c.csv --out broken --resume
    is "$(state broken)" "$before" "$2: is left as it is"
    rm -r broken
}
cut_by() { truncate -s -"$1" broken/state.safetensors; }
copy() { cp -r m broken; }
copy; cut_by 1; broken "the file is 1 byte short (is it cut off?)" "cut by one byte"
copy; cut_by 5000; broken "the file is 5000 bytes short (is it cut off?)" "cut by more than a tensor"
# The last digit of the stored sha256: its first ones are no help to who compares them.
copy; python -c 'import re
raw = open("broken/state.safetensors", "rb").read()
m = re.search(rb"\"sha256\": ?\"[0-9a-f]{63}([0-9a-f])", raw)
digit = b"0" if m[1] != b"0" else b"1"
open("broken/state.safetensors", "wb").write(raw[:m.start(1)] + digit + raw[m.end(1):])' || exit 1
broken 'its header says the same for 63 digits, and then "' "its sha256's last digit"
copy; truncate -s +1 broken/state.safetensors; broken "broken/state.safetensors: " "a byte too many"
copy; truncate -s 7 broken/state.safetensors; broken "broken/state.safetensors: " "seven bytes"
copy; truncate -s 0 broken/state.safetensors; broken "broken/state.safetensors: " "empty"
copy; cp c.csv broken/state.safetensors; broken "broken/state.safetensors: " "a text"
copy; cp broken/model.safetensors broken/state.safetensors
broken "broken/state.safetensors: " "another program's tensors"
header() {                              # JSON BYTES: a safetensors file
    python -c 'import struct, sys
h = sys.argv[1].encode()
open("broken/state.safetensors", "wb").write(struct.pack("<Q", len(h)) + h + bytes(int(sys.argv[2])))' "$@"
}
copy; header '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}' 8
broken "broken/state.safetensors: " "a name twice (ST-01)"
copy; header '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}' 12
broken "broken/state.safetensors: " "overlapping tensors (ST-02)"
copy; header '{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}}' 8
broken "broken/state.safetensors: " "a shape that overflows (ST-04)"
for length in 9223372036854775808 18446744073709551615 100000000; do
    copy; python -c 'import struct, sys
f = open("broken/state.safetensors", "r+b"); f.write(struct.pack("<Q", int(sys.argv[1])))' $length
    broken "broken/state.safetensors: " "a header of $length bytes (ST-03)"
done

# Texts of the metadata, changed by someone who seals them again: the text is named.
metadata() {                            # KEY OLD NEW
    python -c 'import hashlib, json, struct, sys
key, old, new = sys.argv[1:]
raw = open("broken/state.safetensors", "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
h = json.loads(raw[8:8 + n]); m = h["__metadata__"]
assert old in m[key]; m[key] = m[key].replace(old, new, 1)
seal = hashlib.sha256((m["run"] + "\0" + m["tokenizer"] + "\0").encode())
for name, t in h.items():
    if name == "__metadata__": continue
    a, b = t["data_offsets"]
    seal.update(name.encode() + b"\0" + raw[8 + n + a:8 + n + b])
m["sha256"] = seal.hexdigest()
text = json.dumps(h).encode()
open("broken/state.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + raw[8 + n:])' "$@"
}
named() {                               # PART DESC
    refuses 3 "broken/state.safetensors: metadata $1" "$2" "$vitrine" info broken
    rm -r broken
}
copy; metadata tokenizer '"a"' '"a'; named '"tokenizer": line ' "a tokenizer that is no JSON"
copy; metadata tokenizer '"BPE"' '"XYZ"'; named '"tokenizer": ' "a tokenizer that is no BPE"
copy; metadata run '"step": 3' '"step": -3'; named '"run": ' "a step below 0"

# Hugging Face's files alone.
foreign() { cp -r m foreign; rm foreign/state.safetensors; }
wrong() {                               # CODE PART DESC
    refuses "$1" "$2" "$3" "$vitrine" generate foreign --prompt a
    rm -r foreign
}
foreign; truncate -s -1 foreign/model.safetensors; wrong 3 model.safetensors "a model cut by one byte"
foreign; echo '{' > foreign/config.json; wrong 3 config.json "a configuration that is no JSON"
foreign; sed -i 's/gelu_new/relu/' foreign/config.json; wrong 3 relu "an activation that is not computed (ACT-01)"
foreign; sed -i 's/"n_head": 2/"n_head": 3/' foreign/config.json; wrong 3 '' "heads that do not divide"
foreign; sed -i 's/"n_layer": 2/"n_layer": 3/' foreign/config.json; wrong 3 model.safetensors "a layer that is not there"
foreign; sed -i 's/"n_embd": 32/"n_embd": 64/' foreign/config.json; wrong 3 model.safetensors "other shapes"
foreign; echo '[]' > foreign/tokenizer.json; wrong 3 tokenizer.json "a tokenizer that is none"
foreign; printf '{\n"model":\n]' > foreign/tokenizer.json
wrong 3 'foreign/tokenizer.json: line 3' "a tokenizer that is no JSON"
train --data c.csv --steps 1 --merges 7 --out other > .out || exit 1
foreign; cp other/tokenizer.json foreign/
wrong 3 'foreign/tokenizer.json: the tokenizer has 264 tokens, the model ' "another model's tokenizer"
foreign; rm foreign/model.safetensors; wrong 4 '' "no model"
foreign; rm foreign/tokenizer.json; wrong 4 tokenizer.json "no tokenizer"
foreign; rm foreign/config.json; wrong 4 config.json "no configuration"
mkdir nothing
refuses 4 "nothing" "an empty folder" "$vitrine" info nothing
refuses 4 "c.csv" "a file for a folder" "$vitrine" info c.csv

# ---- where nothing can be written ------------------------------------------
survives() {                            # DESC: of m
    is "$(state m)" "$kept" "$1: the old checkpoint is as it was"
    is "$(ls -A m | sort | tr '\n' ' ')" "$files" "$1: no other file is left"
    exits 0 "$1: and loads" "$vitrine" info m --json
    is "$(key step) $(key manifest)" "3 matches" "$1: with its manifest"
}
kept=$(state m) files=$(ls -A m | sort | tr '\n' ' ')
mkdir locked
chmod 555 locked; chmod -R a+rX m; chmod a-w m m/*
user() { unprivileged "$vitrine" "$@" >/dev/null; }
refuses 4 "locked/new" "a folder that may not be written: anew" \
    user train --preset tiny --data c.csv --steps 6 --out locked/new
refuses 4 "m: cannot be written" "resume" user train --preset tiny --data c.csv --out m --resume
survives "an unwritable folder"
chmod -R u+w m; cp c.csv secret.csv; chmod 000 secret.csv
mkdir open; chmod 777 open
refuses 4 "secret.csv: " "a text that may not be read" \
    user train --preset tiny --data secret.csv --out open/new
echo > file
refuses 4 "file" "a file where the folder should be" only_errors train --data c.csv --steps 2 --out file

# A limit on the size of files stands for a disk that fills while it saves.
limited() { (ulimit -f 300; "$@" >/dev/null); }     # 150 or 300 KiB
refuses 4 "m/state.safetensors: " "no room for the state" \
    limited "$vitrine" train --data c.csv --out m --resume
survives "no room"
exits 0 "with room it goes on" train --data c.csv --out m --resume
train --data c.csv --steps 6 --out straight > .out
is "$(state m)" "$(state straight)" "with the bits of a run that met no wall"

# A full disk, where this user may mount one; otherwise the same by the limit.
mkdir disk
trap 'umount disk 2>/dev/null; chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
if mount -t tmpfs -o size=1400k none disk 2>/dev/null; then full() { "$@" >/dev/null; }
else full() { limited "$@"; }; fi
train --data c.csv --steps 6 --stop-at 3 --out disk/m > .out 2>&1
kept=$(state disk/m)
dd if=/dev/zero of=disk/fill bs=1k count=2000 2>/dev/null
refuses 4 "disk/m" "a full disk" full "$vitrine" train --data c.csv --out disk/m --resume
is "$(state disk/m)" "$kept" "a full disk: the old checkpoint is as it was"
exits 0 "a full disk: and loads" "$vitrine" info disk/m --json
is "$(key step)" 3 "a full disk: at its step"
rm disk/fill
exits 0 "with room it goes on" train --data c.csv --out disk/m --resume
is "$(state disk/m)" "$(state straight)" "with the same bits"
umount disk 2>/dev/null

# ---- NaN -------------------------------------------------------------------
exits 6 "a run that leaves the numbers" train --data c.csv --steps 60 --lr 1000 --decay 1000 \
    --clip 0 --warmup 0 --save-every 1 --out nan
contains "$err" "the step was not taken; nan keeps step " "says so"
is "$(wc -l < .err)" 1 "in one line"
exits 0 "its last save loads" "$vitrine" info nan --json
is "$(key manifest)" matches "with its manifest"
finish
