# cli_analyzers.sh -- the tools that read the sources see what is planted for them, and
# say nothing of what is right.
# asan: no, it runs no program of ours
. "${0%/*}/tap.sh"
printf '%s\n' '#include <stdlib.h>' 'int f(int n);' 'int f(int n)' '{' '    char *p = malloc(10);' \
    '    if (!p || n < 0) return 1;' '    free(p);' '    return 0;' '}' > leak.c
exits 1 "a leak on one path" sh "$root/tools/analyze.sh" "$root/build" "$tmp/leak.c"
contains "$err" "analyzer-malloc-leak" "  is named"
sed 's/    if (!p .*/    if (!p) return 1;/; s/free(p);/free(p); if (n) free(p);/' leak.c > twice.c
exits 1 "memory that is freed twice" sh "$root/tools/analyze.sh" "$root/build" "$tmp/twice.c"
contains "$err" "analyzer-double-free" "  is named"
sed 's/    if (!p .*/    if (!p) return n;/' leak.c > right.c
exits 0 "neither" sh "$root/tools/analyze.sh" "$root/build" "$tmp/right.c"
is "$out" "analyze: no finding in 1 files" "  is no finding"

# Of all files, kernels are left out only as long as they own nothing.
mkdir -p tree/tools tree/src/kernels tree/src/base
cp "$root/tools/analyze.sh" "$root/tools/analyze.h" tree/tools
cp -r "$root/include" tree
cp "$root/src/base/status.h" tree/src/base
cp right.c tree/src/base/right.c
printf '%s\n' 'int f(int n);' 'int f(int n) { return n; }' > tree/src/kernels/pure.c
exits 0 "a kernel that owns nothing" sh tree/tools/analyze.sh "$root/build"
is "$out" "analyze: no finding in 1 files, 1 kernels own nothing" "  is counted apart"
cp leak.c tree/src/kernels/leak.c
exits 1 "a leak in a kernel" sh tree/tools/analyze.sh "$root/build"
contains "$err" "analyzer-malloc-leak" "  is named"

printf '%s\n' 'int f(void);' 'int f(void) { int a[2] = { 0, 1 }; return a[2]; }' > index.c
exits 1 "an index outside an array" sh "$root/tools/cppcheck.sh" "$root/build" "$tmp/index.c"
contains "$err" "arrayIndexOutOfBounds" "  is named"
exits 0 "nothing wrong" sh "$root/tools/cppcheck.sh" "$root/build" "$tmp/right.c"

# Of what a build would compile: alike ones, whose second has the fault, and one compiled otherwise.
entry() {                               # HOW FILE
    printf '{\n  "directory": "%s",\n  "command": "/usr/bin/clang %s -Wconversion -Werror -o %s.o -c %s",\n  "file": "%s"\n},\n' \
        "$tmp/second" "$1" "$2" "$tmp/$2" "$tmp/$2"
}
mkdir second
printf '%s\n' 'int g(double x);' 'int g(double x) { return x; }' > lossy.c
printf '%s\n' 'int g(double x);' '#if N == 1' 'int g(double x) { return x; }' '#endif' > lossy-if.c
{ entry '-DWORD=\\\"a\\\"' right.c; entry '-DWORD=\\\"a\\\"' tree/src/kernels/pure.c; entry -DN=2 lossy-if.c; } > second/compile_commands.json
exits 0 "nothing that clang warns of" sh "$root/tools/second_compiler.sh" "$tmp/second"
is "$out" "second compiler: no warning in 3 files, 3 readings" "  is no warning"
{ entry -DN=2 right.c; entry -DN=2 lossy.c; entry -DN=2 tree/src/kernels/pure.c; } > second/compile_commands.json
exits 1 "a conversion that loses digits, in the second of three" sh "$root/tools/second_compiler.sh" "$tmp/second"
contains "$err" "lossy.c:2:26: error: implicit conversion" "  is named"
{ entry -DN=2 lossy-if.c; entry -DN=1 lossy-if.c; } > second/compile_commands.json
exits 1 "the same where a source is compiled twice, in one of its ways" sh "$root/tools/second_compiler.sh" "$tmp/second"
contains "$err" "lossy-if.c:3:26: error" "  is named"
entry -DN=2 gone.c > second/compile_commands.json
exits 1 "a source that is not there" sh "$root/tools/second_compiler.sh" "$tmp/second"
contains "$err" "gone.c" "  is named"
entry -DN=2 right.c > second/compile_commands.json
sed -i 's/ -o .* -c / /' second/compile_commands.json
exits 1 "a command of another form" sh "$root/tools/second_compiler.sh" "$tmp/second"
contains "$err" "no source in: " "  is shown"
echo '[]' > second/compile_commands.json
exits 1 "a build without a source" sh "$root/tools/second_compiler.sh" "$tmp/second"
exits 1 "no build" sh "$root/tools/second_compiler.sh" "$tmp/none"

exits 0 "a script without a warning" sh "$root/tools/shellcheck.sh" "$root/tools/shellcheck.sh"
printf '%s\n' '#!/bin/sh' 'for f in $(ls); do x=$f; done; [ $x == y ]' > words.sh
exits 1 "a script for another shell" sh "$root/tools/shellcheck.sh" "$tmp/words.sh"
contains "$out" "SC3014" "  is named"
finish
