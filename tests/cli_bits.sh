# cli_bits.sh -- the same bits from every build of the definitions, and from any
# number of threads of the fast kernels.
# needs: debug clang
# asan: no, it compares builds of its own choice
. "${0%/*}/tap.sh"

for build in . debug clang; do
    program=$root/build/$build/tests/bits
    exits 0 "bits runs (build/$build)" "$program"
    name=$(echo "$build" | sed 's/^\.$/release/')
    grep -E '^definitions f(32|64)' "$tmp/.out" > "$name"
    [ "$name" != release ] || cp "$tmp/.out" all
    sed "s/^/$name: /" "$name" | while read -r line; do show "$line"; done
done
is "$(wc -l < release)" 2 "the definitions in float and double"
is "$(cat debug)" "$(cat release)" "debug computes release's bits"
is "$(cat clang)" "$(cat release)" "clang computes gcc's bits"

grep '^fast' all > fast
while read -r line; do show "$line"; done < fast
for isa in $(cut -d' ' -f2 fast | sort -u); do
    is "$(grep -c "^fast $isa " fast)" 4 "$isa: with 1, 2, 3 and 7 threads"
    is "$(grep "^fast $isa " fast | cut -d' ' -f4 | sort -u | wc -l)" 1 "$isa: the same bits with each"
done
finish
