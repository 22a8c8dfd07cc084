# cli_bits.sh -- the same bits from every build of the definitions, and from any
# number of threads of the fast kernels.  (tools/bits adds -march=native and the page.)
# needs: asan clang
# asan: no, it compares builds of its own choice
# Three sets of optimisations: gcc's -O3, clang's -O3, and gcc's -O1 with the sanitizers' checks
# between the lines.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"

for build in . asan clang; do
    program=$root/build/$build/tests/bits
    exits 0 "bits runs (build/$build)" "$program"
    name=$(echo "$build" | sed 's/^\.$/release/')
    grep -E '^definitions f(32|64)' "$tmp/.out" > "$name"
    [ "$name" != release ] || cp "$tmp/.out" all
    sed "s/^/$name: /" "$name" | while read -r line; do show "$line"; done
done
is "$(wc -l < release)" 2 "the definitions in float and double"
is "$(cat asan)" "$(cat release)" "-O1 under the sanitizers computes release's bits"
is "$(cat clang)" "$(cat release)" "clang computes gcc's bits"

grep '^fast' all > fast
while read -r line; do show "$line"; done < fast
for isa in $(cut -d' ' -f2 fast | sort -u); do
    is "$(grep -c "^fast $isa " fast)" 4 "$isa: with 1, 2, 3 and 7 threads"
    is "$(grep "^fast $isa " fast | cut -d' ' -f4 | sort -u | wc -l)" 1 "$isa: the same bits with each"
done

# Every tensor of the illustrative example and of a window, and complex steps by them.
bits=$root/build/tests/bits inputs=$root/site/content/inputs/attention.json
make_corpus corpus.csv 40
exits 0 "a model" train --data corpus.csv --column text --out model --steps 5
for build in . asan clang; do
    name=$(echo "$build" | sed 's/^\.$/release/')
    exits 0 "an example and a window (build/$build)" "$root/build/$build/tests/bits" dump "of-$name" \
        "$inputs" model "they said that it was not from this word"
    show "$name: $(sha256sum < "of-$name/tensors.f64" | cut -d' ' -f1)"
done
example=$(grep -c '^example ' of-release/tensors.txt) window=$(grep -c '^window ' of-release/tensors.txt)
is "$example" 27 "tensors of the example: 9 forward, 18 backward"
ok "tensors of the window: $window, logits and gradients among them" \
    sh -c "grep -q '^window logits ' of-release/tensors.txt && grep -q '^window grad\.wte ' of-release/tensors.txt"
for name in asan clang; do
    exits 0 "$name: the same tensors" "$bits" compare of-release "of-$name"
    is "$out" "$(wc -l < of-release/steps.txt) complex steps, largest difference 0 ulp" "  and complex steps"
done

# One bit is seen, and named; five ulp are too many, NaN is no small difference.
flip() {                                # FILE BYTE OCTAL
    cp -r of-release changed
    printf '%b' "\\0$3" | dd of="changed/$1" bs=1 seek="$2" conv=notrunc 2> .dd
}
flip tensors.f64 0 "$(od -An -b -N1 of-release/tensors.f64 | awk '{ print $1 == "000" ? "001" : "000" }')"
exits 1 "a tensor with another bit" "$bits" compare of-release changed
contains "$err" "bits: example, Q[0]: " "  is named"
rm -r changed
flip steps.f64 7 177
printf '\370' | dd of=changed/steps.f64 bs=1 seek=6 conv=notrunc 2> .dd
exits 1 "a complex step that is NaN" "$bits" compare of-release changed
contains "$err" "complex steps differ by" "  is a difference"
rm -r changed
cp -r of-release changed
sed 1d of-release/tensors.txt > changed/tensors.txt
exits 1 "a tensor that is missing" "$bits" compare of-release changed
contains "$err" "the names of tensors differ" "  is noticed"
finish
