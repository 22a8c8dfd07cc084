#!/bin/sh
# layers.sh -- who may include whom, checked on every #include of src/ and include/.
#
# usage: tools/layers.sh [ROOT]
#
#     cli  serve  wasm                 tests, bench, tools: may include anything
#        \   |   /
#       vitrine.h -> api
#          |
#     train  sample  verify  lab  provenance  bench
#        \______|______/              siblings; lab -> verify, train -> provenance,
#                                     bench -> train, sample, verify
#        data (-> tokenizer -> formats)  comm   model -> formats
#                                     |
#                                     kernels: ops.h and definitions.h from outside
#     everything -> base -> libc and named libraries
#
# The table of rooms below is that picture; src/kernels has rules for single
# files: a definition includes ref.h and nothing else; the fast kernels do not
# see the definitions.  An edge that is missing is added here with its reason.
# Files of src, include, tests, tools and bench have names of their own.
#
# A breach is one line on standard error, exit status 1.  Long files and
# functions are listed on standard output: something to think about, no breach.
set -u
LC_ALL=C; export LC_ALL
cd "${1:-$(dirname "$0")/..}" || exit 1

files() {
    for folder; do
        [ ! -d "$folder" ] || find "$folder" -type f
    done | sort
}

sources=$(files src include | grep -E '\.(c|h|inc|def)$')
[ -n "$sources" ] || { echo "layers: no sources in $PWD" >&2; exit 1; }
case $sources in *[\ \	]*) echo "layers: a source's name has a blank" >&2; exit 1 ;; esac

# README.md, CMakeLists.txt and index.html are found by their name in each folder.
twins=$(files src include tests tools bench |
    awk -F/ '$NF !~ /^(README\.md|CMakeLists\.txt|index\.html)$/ {
        if ($NF in at) print "layers: two files are named " $NF ": " at[$NF] ", " $0
        at[$NF] = $0 }')
[ -z "$twins" ] || echo "$twins" >&2

# shellcheck disable=SC2086                     # names without blanks, see above
layers_sources=$sources awk '
function room_of(path,    part, n) {            # src/ROOM/..., or include
    n = split(path, part, "/")
    return part[1] == "src" && n > 2 ? part[2] : part[1]
}
function may(room, others) { rooms[room] = " " others " " }
function breach(text) {
    printf "layers: %s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"
    bad = 1
}

BEGIN {
    library = "data tokenizer formats comm model kernels"
    may("base", "")
    may("kernels", "")
    may("comm", "")
    may("formats", "")
    may("tokenizer", "formats")
    may("data", "tokenizer formats")
    may("model", "formats kernels")
    may("train", library " provenance")
    may("sample", library)
    may("verify", library)
    may("lab", library " verify")
    may("provenance", library)
    may("bench", library " train sample verify")    # what it measures, and what proves it first
    may("api", library " train sample verify lab provenance")
    may("cli", "formats serve")                 # --json: JSON belongs to formats; vitrine serve
    may("serve", "formats")                     # likewise
    may("wasm", library " train sample verify lab")     # what it exports; no files in a page
    may("include", "")
    # Libraries outside libc: the rooms that may know them.
    uses["jansson.h"] = " formats "
    uses["sha2.h"] = " base "
    uses["zlib.h"] = " formats "
    uses["mpi.h"] = " comm "
    uses["microhttpd.h"] = " serve "
    uses["dlfcn.h"] = " verify serve "
    n = split(ENVIRON["layers_sources"], list, "\n")
    for (i = 1; i <= n; i++) {
        exists[list[i]] = 1
        base = list[i]; sub(/.*\//, "", base)
        named[base] = list[i]
    }
}

FNR == 1 {
    room = room_of(FILENAME)
    file = FILENAME; sub(/.*\//, "", file)
    if (!(room in rooms)) breach("a file of no room known to this check")
    definition = room == "kernels" && file ~ /\.c$/ && file !~ /_fast\.c$/ && file != "ops.c"
    fast = room == "kernels" && !definition && file != "ref.h" && file != "definitions.h"
    most = definition ? 120 : 600
    longest = file ~ /_fast\.c$/ ? 120 : 60
    start = 0
}

# Functions begin and end in the first column: name ... {   and   }
/^[A-Za-z_].*\(/ && !/;[ \t]*$/ { start = FNR; head = $0 }
/^}/ {
    if (start && FNR - start + 1 > longest) {
        name = head; sub(/^[^(]*(REF|FAST)\(/, "", name); sub(/[()].*/, "", name)
        sub(/.*[ *]/, "", name)
        long = long sprintf("  %s:%d: %s: a function of %d lines (%d)\n", FILENAME, start, name,
                            FNR - start + 1, longest)
    }
    start = 0
}
{ lines[FILENAME] = FNR; limit[FILENAME] = most }

/^[ \t]*#[ \t]*include/ {
    count++
    what = $0; sub(/^[ \t]*#[ \t]*include[ \t]*/, "", what)
    if (what ~ /^</) {
        what = substr(what, 2); sub(/>.*/, "", what)
        if (definition) breach("<" what ">: a definition includes ref.h and nothing else")
        else if (what in uses && index(uses[what], " " room " ") == 0)
            breach("<" what ">: belongs to:" uses[what])
        next
    }
    if (what !~ /^"[^"]+"/) { breach("an include without a name: " what); next }
    what = substr(what, 2); sub(/".*/, "", what)
    if (what ~ /^\.\.?\/|\/\.\.?\//) { breach("\"" what "\": name the room: \"room/file.h\""); next }

    # A name without a room: the public headers, the own folder, or made by the build.
    if (what !~ /\//) {
        own = FILENAME; sub(/[^\/]*$/, what, own)
        if (("include/" what) in exists) {
            if (room == "base" && file != "status.h")
                breach("\"" what "\": of base, only status.h includes a public header")
            else if (definition) breach("\"" what "\": a definition includes ref.h and nothing else")
            next
        }
        if (own in exists) what = room "/" what
        else if (what in named) { breach("\"" what "\": name the room: " named[what]); next }
        else {
            if (definition) breach("\"" what "\": a definition includes ref.h and nothing else")
            next
        }
    }
    other = what; sub(/\/.*/, "", other)
    if (definition) {
        if (what != "kernels/ref.h")
            breach("\"" what "\": a definition includes ref.h and nothing else")
    } else if (room == "kernels" && file == "ref.h" || file == "definitions.h") {
        if (what != "kernels/definitions.h" && !(file == "ref.h" && what == "base/elementary.h"))
            breach("\"" what "\": " file " is all that a definition sees")
    } else if (fast && (what == "kernels/ref.h" || what == "kernels/definitions.h")) {
        breach("\"" what "\": a fast kernel does not include the definitions")
    } else if (other == room || other == "base") {
        next
    } else if (index(rooms[room], " " other " ") == 0) {
        breach("\"" what "\": " room " may not include " other " (it may: base" \
               (rooms[room] ~ /[a-z]/ ? rooms[room] : " ") "and itself)")
    } else if (other == "kernels" && what != "kernels/ops.h" && what != "kernels/definitions.h" &&
               !(what == "kernels/ref.h" && room == "model") &&
               !(what ~ /^kernels\/simd(_math)?\.h$/ && room == "bench")) {    # its peak loops
        breach("\"" what "\": of kernels, ops.h and definitions.h are for other rooms")
    }
}

END {
    for (path in lines) {
        total++
        if (lines[path] > limit[path])
            big = big sprintf("  %s: %d lines (%d)\n", path, lines[path], limit[path])
    }
    if (big long != "") printf "longer than the ceilings, to think about:\n%s%s", big, long
    if (!count) { print "layers: no #include found" > "/dev/stderr"; bad = 1 }
    printf "%d includes in %d files%s\n", count, total, bad ? ": some may not be" : ", all allowed"
    exit bad
}' $sources
bad=$?
[ -z "$twins" ] || bad=1
exit $bad
