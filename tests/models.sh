# models.sh -- small corpora and models for the shell tests; source it behind
# tap.sh.
#
#   make_corpus FILE ROWS     a CSV (id,text) of made-up sentences, always the same
#   train ARG...              vitrine train with --preset tiny, quietly
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

state() {
    if [ -s "$1/state.safetensors" ]; then sha256sum < "$1/state.safetensors" | cut -d" " -f1
    else echo "no state in $1"      # equal to no other folder's
    fi
}
