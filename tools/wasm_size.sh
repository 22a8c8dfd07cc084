#!/bin/sh
# wasm_size.sh -- prints a module's size; fails where the module is larger than a page
# may load, or where it imports anything.
#
# usage: tools/wasm_size.sh vitrine.wasm [MOST-KB]
#
# The budget is of the compressed file (gzip -9), in KB of 1000 bytes.
set -eu
LC_ALL=C; export LC_ALL
module=${1:?usage: wasm_size.sh MODULE [MOST-KB]}
most=${2:-60}
bytes=$(wc -c <"$module")
packed=$(gzip -9 -n -c "$module" | wc -c)
echo "$(basename "$module"): $((bytes)) bytes, $((packed)) compressed (at most ${most}000)"
[ "$packed" -le "${most}000" ] || {
    echo "wasm_size: $module: $packed bytes compressed: expected at most ${most}000" >&2
    rm -f "$module"; exit 1; }

# Sections follow the eight bytes of magic and version: an identifier, a size in LEB128,
# the contents.  2 is the section of imports (WebAssembly Core Specification, 5.5.2).
od -An -v -tu1 "$module" | tr -s ' \n' '\n' | awk -v module="$module" '
    $1 == "" { next }
    { at++ }
    at <= 4 { magic = magic " " $1 }
    at <= 8 || skip > 0 { if (at > 8) skip--; next }
    state == 0 { id = $1; state = 1; size = 0; shift = 1; next }
    { size += ($1 % 128) * shift; shift *= 128
      if ($1 >= 128) next
      state = 0; skip = size
      if (id == 2) { bad = 1; exit } }
    END {
        if (at < 8 || magic != " 0 97 115 109") { print "wasm_size: " module ": no module" > "/dev/stderr"; exit 1 }
        if (bad) { print "wasm_size: " module ": it imports something: expected no imports" > "/dev/stderr"; exit 1 }
    }' || { rm -f "$module"; exit 1; }
