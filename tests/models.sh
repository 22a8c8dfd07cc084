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
# leaves each key with its value; while .out is the same, keys come from there.
flat() {
    cmp -s .out "$tmp/.flat-of" && return
    rm -f "$tmp/.flat-of"
    /usr/bin/python3 -c 'import json, sys
def walk(path, v):
    text = str(v)
    if not ("\036" in text or "\037" in text):
        print(path, text, sep="\037", end="\036")
    for k, x in v.items() if isinstance(v, dict) else enumerate(v) if isinstance(v, list) else ():
        walk(f"{path}.{k}".lstrip("."), x)
walk("", json.load(open(".out", encoding="utf-8")))' > "$tmp/.flat" && cp .out "$tmp/.flat-of"
}

key() {
    flat && LC_ALL=C awk -v RS='\036' -F '\037' -v name="$1" \
        '$1 == name { found = 1; print $2; exit } END { exit !found }' "$tmp/.flat" && return
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
