# cli_corpora.sh -- texts in several files and forms: what is learnt, what is recorded,
# and what is said where they are not those of the run.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
make_corpus a.csv 12
make_corpus rest.csv 20
# b.jsonl holds rows 13 to 20 of the same, c.csv all of them.
python -c '
import csv, json
rows = list(csv.DictReader(open("rest.csv", newline="")))
with open("b.jsonl", "w") as f:
    for row in rows[12:]: f.write(json.dumps(row) + "\n")
with open("plain.txt", "w") as f: f.write(rows[0]["text"])
' || exit 1
corpus() {                              # DIR KEY: of the manifest's record of the corpus
    python -c 'import json, sys
c = json.load(open(sys.argv[1] + "/manifest.json"))["corpus"]
print(eval("c" + sys.argv[2]))' "$1" "$2"
}
quietly() { "$@" > .said; }
sum() { sha256sum "$1" | cut -c 1-64; }

# ---- several files -----------------------------------------------------------
exits 0 "one file of all rows" train --data rest.csv --steps 6 --out one
exits 0 "the rows in two files" train --data a.csv --data b.jsonl --steps 6 --out two
contains "$out" "reading a.csv and 1 more" "names the first"
is "$(corpus two '["tokens_sha256"]')" "$(corpus one '["tokens_sha256"]')" "the tokens are the same"
is "$(sha256sum < two/model.safetensors)" "$(sha256sum < one/model.safetensors)" "and so is the model"
is "$(corpus one '["sha256"]')" "$(sum rest.csv)" "the hash of one file is its own"
is "$(corpus one '.get("files")')" None "and no list of files is kept"
is "$(corpus two '["sha256"]')" "$(sha256sum a.csv b.jsonl | cut -c 1-64 | sha256sum | cut -c 1-64)" \
   "the hash of two is that of theirs, line by line"
is "$(corpus two '["files"]')" \
   "[{'sha256': '$(sum a.csv)', 'documents': 12}, {'sha256': '$(sum b.jsonl)', 'documents': 8}]" \
   "each file's hash and documents are kept"
ok "no path is" sh -c '! grep -l "a\.csv" two/*'

exits 0 "half a run" train --data a.csv --data b.jsonl --steps 6 --stop-at 3 --out half
again() { train "$@" --steps 6 --resume --out half > .said 2> .why; resume_status=$?; cat .why >&2; return $resume_status; }
other() { refuses 3 "$1" "$2" again --data "$3" ${4:+--data "$4"} ${5:+--data "$5"}; }
other "not the text of the run to resume: the files are in another order: b.jsonl was number 2 of 2, now it is number 1" \
    "another order" b.jsonl a.csv
other "file 2 of the 2 that it learnt from (sha256 $(sum b.jsonl | cut -c 1-16)...) is not given" \
    "one is missing" a.csv
other "plain.txt (sha256 $(sum plain.txt | cut -c 1-16)...) is none of the 2 files that it learnt from" \
    "another file" a.csv plain.txt
other "it learnt from 2 files, 3 are given" "one of them twice" a.csv b.jsonl a.csv
refuses 3 "a.csv and 1 more: are the files of the run to resume, but their column or their rows are others" \
    "fewer rows" again --data a.csv --data b.jsonl --max-rows 15
exits 0 "the same files" again --data a.csv --data b.jsonl
is "$(state half)" "$(state two)" "the run ends as the uninterrupted one"
cp -r two moved
exits 0 "the same rows in one file" train --data rest.csv --steps 6 --resume --out moved
contains "$out" "rest.csv: not the files of the run to resume, but the same tokens" "are accepted, with a note"
is "$(corpus moved '["sha256"]')" "$(sum rest.csv)" "and recorded"
refuses 3 "is none of the 1 file that it learnt from" "several where it was one" \
    quietly train --steps 6 --resume --out one --data rest.csv --data plain.txt
exits 0 "the same file twice" train --data plain.txt --data plain.txt --steps 2 --seq 4 --out twice
contains "$out" "plain.txt: has the bytes of plain.txt; its documents are there twice" "is said"

exits 0 "novelty" "$vitrine" generate two --max-tokens 5 --json --novelty a.csv --novelty b.jsonl
refuses 3 "not the text that the model was trained on: file 1 of the 2 that it learnt from" "of one of them" \
    "$vitrine" generate two --max-tokens 5 --novelty b.jsonl
refuses 3 "the files are in another order" "in another order" \
    "$vitrine" generate two --max-tokens 5 --novelty b.jsonl --novelty a.csv

# ---- bytes that are no UTF-8 ---------------------------------------------------
{ echo "id,text"; sed 1d rest.csv | sed 's/ in / \xE9n /; s/ is / \xF0\x9F\x98s /'; } > latin.csv
refuses 3 "latin.csv: line " "bytes that are no UTF-8" quietly train --data latin.csv --out never
contains "$err" "(is it Latin-1? iconv -f windows-1252 -t utf-8 FILE; else --replace-invalid makes it U+FFFD)" \
   "the ways out are said"
count=$(python -c 'print(open("latin.csv", "rb").read().decode("utf-8", "replace").count("\ufffd"))')
exits 0 "--replace-invalid" train --data latin.csv --replace-invalid --steps 6 --stop-at 3 --out latin
contains "$out" "latin.csv: replaced $count invalid sequences by U+FFFD, the first at line " "is counted"
is "$(corpus latin '["replaced"]')" "$count" "and recorded"
refuses 3 "is not UTF-8 there" "to resume without it is refused" \
    quietly train --data latin.csv --steps 6 --out latin --resume
python -c 'open("fffd.csv", "wb").write(open("latin.csv", "rb").read().decode("utf-8", "replace").encode())'
exits 0 "the same text, repaired by Python" train --data fffd.csv --steps 6 --out fffd
exits 0 "resumed with it" train --data latin.csv --replace-invalid --steps 6 --out latin --resume
is "$(sha256sum < latin/model.safetensors)" "$(sha256sum < fffd/model.safetensors)" "learns the same"
exits 0 "novelty with it" "$vitrine" generate latin --max-tokens 5 --novelty latin.csv --replace-invalid

# ---- columns by number, tables without a header --------------------------------
sed 1d rest.csv > bare.csv
exits 0 "--no-header" train --data bare.csv --no-header --column 2 --steps 6 --out bare
is "$(corpus bare '["tokens_sha256"]')" "$(corpus one '["tokens_sha256"]')" "reads the first line, too"
exits 0 "a column by its number" train --data rest.csv --column 2 --steps 6 --out number
is "$(state number)" "$(state one)" "is the same as by its name"
refuses 2 "bare.csv: no column \"text\": expected its number, from 1 to 2" "a name where there is none" \
    quietly train --data bare.csv --no-header --column text --out never
refuses 3 'rest.csv: no column "3": expected one of: id, text, or a number from 1 to 2' "a number that is none" \
    quietly train --data rest.csv --column 3 --out never
for option in "--column x" --replace-invalid --no-header "--max-rows 3" "--separator ;"; do
    # shellcheck disable=SC2086
    refuses 2 "${option%% *}: says nothing without --novelty" "$option without a text" \
        "$vitrine" generate two $option
done

# ---- separators, as Python writes them ------------------------------------------
python -c '
import csv, gzip, zipfile
rows = list(csv.reader(open("rest.csv", newline="")))
for name, separator in ("semi.csv", ";"), ("tab.csv", "\t"), ("tab.tsv", "\t"):
    csv.writer(open(name, "w", newline=""), delimiter=separator).writerows(rows)
text = open("rest.csv", "rb").read()
open("sep.csv", "wb").write(b"sep=;\r\n" + open("semi.csv", "rb").read())
open("utf16.csv", "wb").write(text.decode().encode("utf-16"))
open("bare16.csv", "wb").write(text.decode().encode("utf-16-le"))
open("gzip.csv", "wb").write(gzip.compress(text))
with zipfile.ZipFile("book.xlsx", "w") as z: z.writestr("sheet.xml", text)
open("nul.csv", "wb").write(text.replace(b" ", b" \0", 1))
open("nul.txt", "wb").write(text.replace(b" ", b" \0", 1))
' || exit 1
separated() {                           # FILE DESC ARG...
    file=$1 desc=$2; shift 2
    exits 0 "$desc" train --data "$file" --steps 6 "$@" --out "of-$file"
    is "$(corpus "of-$file" '["tokens_sha256"]')" "$(corpus one '["tokens_sha256"]')" "the same tokens"
}
separated semi.csv "--separator ';'" --separator ';'
separated tab.csv "--separator tab" --separator tab
separated tab.tsv "a .tsv"
cp -r of-semi.csv resumed
exits 0 "resumed with it" train --data semi.csv --separator ';' --steps 6 --out resumed --resume
refuses 3 "(--column, --max-rows, --no-header, --separator)" "resumed with another column" \
    quietly train --data semi.csv --column 1 --separator ';' --steps 6 --out resumed --resume
refuses 3 "semi.csv: which column holds the text? there is none called \"text\": expected one of: id;text; is ; the separator? (--separator ';')" \
    "without it" quietly train --data semi.csv --out never
refuses 3 "tab.csv: no column \"text\": expected one of: id?text, or a number from 1 to 1; is a tab the separator? (--separator tab)" \
    "without it, a tab" quietly train --data tab.csv --column text --out never
refuses 3 "line 1 is a note of Excel's: remove it, and give --separator ';'" "Excel's first line" \
    quietly train --data sep.csv --column text --out never
refuses 2 "--separator ::: expected one ASCII character" "two characters" \
    quietly train --data semi.csv --separator :: --out never
printf 'data = "semi.csv"\nseparator = ";"\nsteps = 6\n' > semi.conf
train --config semi.conf --print-config > printed.conf
contains "$(cat printed.conf)" 'separator = ";"' "--print-config has it"

# ---- what is no text, and what is read otherwise than meant ---------------------
no_text() {                             # FILE PART, with and without --replace-invalid
    refuses 3 "$1: $2" "$1" quietly train --data "$1" --out never
    refuses 3 "$1: $2" "$1, --replace-invalid" quietly train --data "$1" --replace-invalid --out never
}
no_text utf16.csv "is UTF-16: expected text in UTF-8 (iconv -f utf-16 -t utf-8 FILE)"
no_text bare16.csv "is UTF-16: expected text in UTF-8 (iconv -f utf-16le -t utf-8 FILE)"
no_text gzip.csv "is gzip: expected text in UTF-8 (gunzip first)"
no_text book.xlsx "is a zip archive, as .xlsx and .ods are: expected text in UTF-8"
no_text nul.csv "line 2, byte offset "
no_text nul.txt "line 2, byte offset "
contains "$err" ": a NUL byte: expected text, which has none" "a NUL byte is named"
cp b.jsonl b.json
no_text b.json "JSON is not read: expected JSON Lines, which have one object a line, in a file named .jsonl"
cp rest.csv rest
exits 0 "a CSV without a name that says so" train --data rest --steps 2 --out plain
contains "$out" "rest: read as plain text, 1 document" "is said to be read as plain text"
exits 0 "and evaluated" "$vitrine" eval plain rest
contains "$out" "note: rest: read as plain text, 1 document" "is said there, too"
exits 0 "a column makes it a CSV" train --data rest --column text --steps 2 --out table
contains "$out" "rest: read as CSV, since a column is named" "which is said"
exits 0 "a .txt" train --data plain.txt --steps 2 --seq 4 --out text
is "$(echo "$out" | grep -c 'read as')" 0 "is what its name says"
refuses 3 'plain.txt: line 1, column ' "a .txt as a CSV" \
    quietly train --data plain.txt --column text --out never
contains "$err" " (read as CSV, since a column is named)" "says why it is one"

# ---- JSON Lines --------------------------------------------------------------
printf '{"id": 1, "body": "one"}\n{"id": 2}\n' > lines.ndjson
refuses 3 'lines.ndjson: line 1: no field "text": expected one of: id, body' "no such field" \
    quietly train --data lines.ndjson --out never
refuses 3 'lines.ndjson: line 2: no field "body": expected one of: id' "or not on each line" \
    quietly train --data lines.ndjson --column body --out never
printf '{"text": "one"}\n{"text": "tw' > cut.jsonl
refuses 3 'cut.jsonl: line 2, byte offset 25: a string that is not closed on its line' "a file that was cut" \
    quietly train --data cut.jsonl --out never
ok "nothing was written by these" test ! -e never
finish
