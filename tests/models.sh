# models.sh -- small corpora and models for the shell tests; source it behind
# tap.sh.
#
#   make_corpus FILE ROWS     a CSV (id,text) of made-up sentences, always the same
#   train ARG...              vitrine train with --preset tiny, quietly
#   key NAME                  the value of a key of the JSON object in .out, as
#                             Python prints it
#   state DIR                 sha256 of DIR/state.safetensors
make_corpus() {
    awk -v rows="$2" 'BEGIN {
        n = split("the of and a to in he she was that it his her with as had for on at by not be " \
                  "is but they which said from this who been have would could", word, " ")
        x = 12345
        print "id,text"
        for (row = 1; row <= rows; row++) {
            printf "%d,\"", row
            for (i = 0; i < 60; i++) {
                x = (x * 16807) % 2147483647        # Park, Miller 1988: exact in a double
                printf "%s%s", i ? " " : "", word[x % n + 1]
            }
            print ", and \"\"so\"\".\""
        }
    }' > "$1"
}

train() { "$vitrine" train --preset tiny "$@"; }

# Python takes longer to start than most commands that are tested: it reads .out once and
# leaves the keys as words of the shell, which are good while they are newer than .out.
flat() {
    [ .out -ot "$tmp/.flat" ] || /usr/bin/python3 -S -c 'import json, sys
def quoted(text): return "\x27" + text.replace("\x27", "\x27\\\x27\x27") + "\x27"
def walk(path, v):
    text = str(v)
    if "\0" not in text: yield f"{quoted(path)}) key_value={quoted(text)} ;;\n"
    for k, x in v.items() if isinstance(v, dict) else enumerate(v) if isinstance(v, list) else ():
        yield from walk(f"{path}.{k}".lstrip("."), x)
lines = "".join(walk("", json.load(open(".out", encoding="utf-8"))))
open(sys.argv[1], "w", encoding="utf-8").write("case $1 in\n" + lines + "*) false ;;\nesac\n")' "$tmp/.flat"
}

key() {
    # shellcheck source=/dev/null
    if flat && . "$tmp/.flat"; then printf '%s\n' "$key_value"; return; fi
    /usr/bin/python3 -c 'import json, sys
v = json.load(open(".out", encoding="utf-8"))
for k in sys.argv[1].split("."):
    v = v[int(k)] if isinstance(v, list) else v[k]
print(v)' "$1"
}

is_json() { flat; }

state() {
    if [ -s "$1/state.safetensors" ]; then sha256sum < "$1/state.safetensors" | cut -d" " -f1
    else echo "no state in $1"      # equal to no other folder's
    fi
}
