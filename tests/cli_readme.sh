# cli_readme.sh -- the README keeps its word: its links exist, its program
# compiles as it says.
# asan: no, it links the release library
. "${0%/*}/tap.sh"

# Links of all pages, from the folder that each lies in.
cd "$root" || exit 1
for page in README.md docs/*.md; do
    grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//' | grep -v '^#' | sed 's/#.*//' |
        while read -r link; do
            [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
        done
done > "$tmp/broken"
is "$(cat "$tmp/broken")" "" "every link leads to a file"
ok "there are links" test "$(grep -c '](src/' README.md)" -gt 10

cd "$tmp" || exit 1
awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$root/README.md" > speak.c
ok "there is a program" grep -q vt_generate speak.c
mkdir build; ln -s "$root/include" include; ln -s "$root/build/libvitrine.a" build/
command=$(sed -n 's/^    cc \(-I.*speak\)$/cc \1/p' "$root/README.md")
exits 0 "it compiles with the line given" sh -c "$command -Wall -Wextra -Werror"
refuses 1 "build/models/default" "without a model it says so" ./speak
finish
