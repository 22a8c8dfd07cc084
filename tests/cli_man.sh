# cli_man.sh -- every command has a page in docs/man, and page and --help say the same: usage,
# options with the names of their values and their defaults, exit codes; in both directions.
# The pages are rendered without a warning, and the library's example compiles and runs.
# asan: no, it links the release library
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
man=$root/docs/man

# A source of scdoc without its marks.
# shellcheck disable=SC2120                     # its arguments are of the command
unmarked() { sed 's/\*//g; s/\\_/\x01/g; s/\(^\|[^A-Za-z0-9]\)_\([^_]*\)_/\1\2/g; s/\x01/_/g; s/\\\(.\)/\1/g' "$@"; }
section() { awk -v name="# $1" '$0 == name { on = 1; next } /^# / { on = 0 } on' "$2"; }

# "--name VALUE [default]" of each option, sorted.
of_help() {
    awk '/^examples:/ { exit }
         /^  --/ { if (row) print row; head = substr($0, 3); text = ""
                   if (match(head, /  +/)) { text = substr(head, RSTART + RLENGTH); head = substr(head, 1, RSTART - 1) }
                   row = head; left = text }
         /^  -h,/ { if (row) print row; row = "" }
         row && !/^  -/ { left = $0 }
         row { while (match(left, /\[[^]]*\]/)) { row = row " " substr(left, RSTART, RLENGTH); left = substr(left, RSTART + RLENGTH) } }
         END { if (row) print row }' "$1" | sort
}
of_page() { section OPTIONS "$1" | grep '^\*--' | unmarked | sort; }

"$vitrine" --help > overview
commands=$(sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' overview | grep -v '^help$')
is "$(ls "$man" | sed -n 's/^vitrine-\(.*\)\.1\.scd$/\1/p')" "$(echo "$commands" | sort)" \
    "each command has its page, and each page its command"
is "$(section COMMANDS "$man/vitrine.1.scd" | sed -n 's/^\*vitrine-\(.*\)\*(1)$/\1/p')" "$commands" \
    "vitrine(1) names them in the order of --help"
"$vitrine" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/vitrine-\1 - \2/p' | grep -v '^vitrine-help' | sort > summaries
is "$(sed -n '/^# NAME/,/^# SYN/s/^vitrine-/&/p' "$man"/vitrine-*.1.scd | sort)" "$(cat summaries)" \
    "each page's NAME is the line of --help"
is "$(section COMMANDS "$man/vitrine.1.scd" | awk '/^\*vitrine-/ { n = $1; gsub(/\*|\(1\)/, "", n) }
    /^\t/ { sub(/^\t/, ""); sub(/\.$/, ""); print n " - " tolower(substr($0, 1, 1)) substr($0, 2) }' | sort)" \
    "$(cat summaries)" "and so are those of vitrine(1)"
is "$("$vitrine" --help | sed -n '/^commands:/,/^$/s/^\(  [a-z]*  *\)[^ ].*/\1/p' | awk '!/  $/ || length != l { if (l) print } { l = length }')" \
    "" "--help: the summaries are a column"
for command in $commands; do
    page=$man/vitrine-$command.1.scd
    "$vitrine" "$command" --help > help
    is "$(of_page "$page")" "$(of_help help)" "$command: options, values and defaults"
    is "$(section SYNOPSIS "$page" | grep . | unmarked)" \
        "$(awk '/^$/ { exit } { sub(/^usage: |^ +/, ""); print }' help)" "$command: usage"
    is "$(section 'EXIT STATUS' "$page" | sed -n 's/^\*\([0-9]*\)\*$/\1/p')" \
        "$(sed '1,/^exit status:/d' help | sed -n 's/^  \([0-9][0-9]*\) .*/\1/p')" "$command: exit codes"
    for part in NAME DESCRIPTION EXAMPLES 'SEE ALSO'; do
        ok "$command: $part" test -n "$(section "$part" "$page")"
    done
done
is "$(section 'EXIT STATUS' "$man/vitrine.1.scd" | sed -n 's/^\*\([0-9]*\)\*$/\1/p' | tr '\n' ' ')" "0 1 2 3 4 5 6 130 " \
    "vitrine(1): all exit codes"
ok "options are compared" test "$(of_page "$man/vitrine-train.1.scd" | wc -l)" -gt 40
of_page "$man/vitrine-train.1.scd" > options
ok "with their defaults" grep -qx -- '--beta1 X \[0.9\]' options

# A command that is named must be one, and have a page.
grep -oh 'vitrine-[a-z]*\*(1)' "$man"/*.scd | sed 's/\*(1)//' | sort -u | while read -r name; do
    [ -e "$man/$name.1.scd" ] || echo "$name"
done > dangling
is "$(cat dangling)" "" "references lead to pages"

for page in "$man"/*.scd; do
    name=$(basename "$page" .scd)
    exits 0 "$name: scdoc takes it" sh -c "scdoc < '$page' > '$name'"
    groff -ww -man -Tutf8 "$name" > text 2> warnings
    is "$(cat warnings)" "" "$name: groff has nothing to say"
    sed 's/.\x08//g; s/\x1b\[[0-9;]*m//g' text > shown        # bold and underlined letters
    ok "$name: nothing runs over the right margin" awk 'length > 90 { print; exit 1 }' shown
done

# The header's contents name each of its functions, and no others.
header=$root/include/vitrine.h
is "$(sed -n '1,/^ \* Link with/p' "$header" | sed 's/(vt_corpus[^)]*)//' | grep -o 'vt_[a-z_]*' | sort)" \
    "$(sed '1,/^ \* Link with/d; /^typedef/d' "$header" | grep -v '^ \*\|^/\*' | sed 's|/\*.*||' |
        sed -n 's/^[a-zA-Z].*\(vt_[a-z_]*\)(.*/\1/p' | sort)" "vitrine.h: its contents name its functions"

# The library's example, with what its page says.
awk '/^# EXAMPLE$/ { on = 1 } on && /^```$/ { inside = !inside; next } inside' "$man/libvitrine.3.scd" > program.c
ok "there is an example" grep -q vt_train program.c
libraries=$(pkg-config --libs jansson libmd zlib)
# shellcheck disable=SC2086                     # the libraries are words
exits 0 "it compiles without a warning" cc -std=c11 -Wall -Wextra -Wconversion -Werror -I"$root/include" program.c \
    "$root/build/libvitrine.a" $libraries -lpthread -lm -o program
make_corpus c.csv 12
cut -d, -f2 c.csv > book.txt
exits 0 "and runs" ./program
ok "it trained" grep -q '^loss [0-9]' .out
exits 3 "what is no UTF-8 is bad input" sh -c 'printf "\377\377" > bad.txt; rm -r model; ./program bad.txt'
contains "$err" "bad.txt" "and named"
finish
