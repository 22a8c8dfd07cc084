# cli_wasm.sh -- the WebAssembly module: its budget and its imports are checked at every
# build, the same sources give the same bytes wherever they lie, and a missing
# toolchain is named.
# asan: no, it runs no command of ours
. "${0%/*}/tap.sh"

size() { sh "$root/tools/wasm_size.sh" "$@"; }
empty() { printf '\000asm\001\000\000\000' > "$1"; }

empty small.wasm
exits 0 "a module without sections" size small.wasm
contains "$out" "small.wasm: 8 bytes" "its size is printed"
printf '\001\004\001\140\000\000\003\002\001\000' >> small.wasm     # one type, one function
exits 0 "sections that are no imports" size small.wasm

empty imports.wasm                              # a type, then (import "a" "b" (func 0))
printf '\001\004\001\140\000\000\002\007\001\001a\001b\000\000' >> imports.wasm
exits 1 "an import" size imports.wasm
contains "$err" "imports.wasm: it imports something" "which is said"
ok "and the module is gone: nobody loads it" test ! -e imports.wasm

empty large.wasm                                # a custom section of 150 bytes, of no use
printf '\000\226\001\001x' >> large.wasm
head -c 148 /dev/zero >> large.wasm
printf '\002\007\001\001a\001b\000\000' >> large.wasm
exits 1 "an import behind a section whose size takes two bytes" size large.wasm
contains "$err" "imports something" "is seen"

empty noise.wasm
awk 'BEGIN { srand(3); for (i = 0; i < 3000; i++) printf "%c", 33 + int(90 * rand()) }' >> noise.wasm
exits 1 "a module beyond its budget" size noise.wasm 1
contains "$err" "expected at most 1000" "which is said"
echo a text that is no module > none.wasm
exits 1 "no module at all" size none.wasm

# Where CMake finds no compiler for WebAssembly.
mkdir bin
for program in cmake ninja sh; do ln -s "$(command -v $program)" bin/; done
exits 1 "no toolchain" env PATH="$tmp/bin" cmake -S "$root" -B none -G Ninja \
    --toolchain "$root/src/wasm/toolchain.cmake" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF
contains "$err" "clang-14 is missing: install" "the package is named"

if ! command -v clang-14 >/dev/null || ! command -v wasm-ld-14 >/dev/null ||
   [ ! -e /usr/include/wasm32-wasi/stdlib.h ]; then
    skip 5 "clang-14, lld-14 or wasi-libc is missing (tools/setup.sh site installs them)"
    finish
fi

wasm() {                                        # TREE BUILD
    cmake -S "$1" -B "$2" -G Ninja --toolchain "$1/src/wasm/toolchain.cmake" \
        -DCMAKE_BUILD_TYPE=Release -DVITRINE_WASM=ON && cmake --build "$2"
}
here=$root/build/wasm                            # the site's, where it is built
if [ -d "$here" ]; then exits 0 "the module is built" cmake --build "$here"
else here=$tmp/here; exits 0 "the module is built" wasm "$root" "$here"; fi
exits 0 "within its budget" size "$here/vitrine.wasm"
show "$out"
other="$tmp/it's another"                        # signs that a shell would read
mkdir "$other"
cp -R "$root/src" "$root/include" "$root/tools" "$root/CMakeLists.txt" "$other/"
exits 0 "and built from another folder, whose name has a quote and a blank" wasm "$other" "$other/build"
ok "the same bytes" cmp "$here/vitrine.wasm" "$other/build/vitrine.wasm"
is "$(grep -c -a "$tmp" "$other/build/vitrine.wasm")" 0 "no path of this machine in it"
finish
