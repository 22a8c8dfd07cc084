# cli_install.sh -- cmake --install puts the whole under a prefix, which can be moved: the
# command, the library that pkg-config finds, man pages and completions.
# asan: no, the release build is installed
. "${0%/*}/tap.sh"
exits 0 "cmake --install" cmake --install "$root/build" --prefix "$tmp/first"
mv first prefix                         # nothing in it knows where it was
for file in bin/vitrine lib/libvitrine.a lib/pkgconfig/vitrine.pc include/vitrine.h include/vitrine_kernel.h \
            share/man/man1/vitrine.1 share/man/man1/vitrine-train.1 share/man/man3/libvitrine.3 \
            share/bash-completion/completions/vitrine share/zsh/site-functions/_vitrine \
            share/fish/vendor_completions.d/vitrine.fish; do
    ok "$file" test -s "prefix/$file"
done
for command in $(prefix/bin/vitrine --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -v '^help$'); do
    ok "the page of $command" test -s "prefix/share/man/man1/vitrine-$command.1"
done
# What is named as docs/NAME.md is in share/doc/vitrine.
for name in $({ for command in $(prefix/bin/vitrine --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
                    prefix/bin/vitrine help "$command" 2>/dev/null
                done; sed 's/\\&//g; s/\\-/-/g' prefix/share/man/man*/*; } | grep -o 'docs/[a-z-]*\.md' | sort -u); do
    ok "$name" test -s "prefix/share/doc/vitrine/${name#docs/}"
done
ok "documents are named" test -n "$name"
contains "$(cat prefix/share/man/man1/vitrine.1)" "share/doc/vitrine" "the man page says where"
is "$(prefix/bin/vitrine --version)" "$("$vitrine" --version)" "the command runs"
is "$(cd prefix/include && ls)" "vitrine.h
vitrine_kernel.h" "no other header is public"
for shell in bash:share/bash-completion/completions/vitrine zsh:share/zsh/site-functions/_vitrine \
             fish:share/fish/vendor_completions.d/vitrine.fish; do
    prefix/bin/vitrine completions "${shell%%:*}" > script
    ok "${shell%%:*}: the script is the command's" cmp script "prefix/${shell#*:}"
done
leaks=$(grep -rlF "$tmp/first" prefix)
is "$leaks" "" "no file names the prefix"

# The README's program, with the words of the README, by pkg-config alone.
awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$root/README.md" > speak.c
line=$(sed -n 's/^    cc \(speak.c .*pkg-config.*\)$/cc \1/p' "$root/README.md")
contains "$line" "pkg-config" "the README says how"
PKG_CONFIG_PATH=$tmp/prefix/lib/pkgconfig; export PKG_CONFIG_PATH
exits 0 "it compiles against the installed library" sh -c "$line -Wall -Wextra -Werror"
refuses 1 "build/models/default" "and runs" ./speak
exits 0 "with --static, too" sh -c "cc speak.c \$(pkg-config --static --cflags --libs vitrine) -o speak2"
is "$(pkg-config --modversion vitrine)" "$("$vitrine" --version | sed -n '1s/^vitrine //p')" "the version"

# A kernel finds its header, and the site its pages, beside the installed command.
LC_ALL=C sed "s|$root/include|$(printf %s "$root/include" | tr -c '' x)|g" prefix/bin/vitrine > prefix/bin/other
chmod +x prefix/bin/other               # as if the sources had gone
exits 0 "a kernel finds vitrine_kernel.h" prefix/bin/other check --kernel "$root/tests/kernels/attention_from_docs.c" \
    --op attention --case 1
rm prefix/include/vitrine_kernel.h
exits 3 "which is not there without it" prefix/bin/other check --kernel "$root/tests/kernels/attention_from_docs.c" \
    --op attention --case 1
rm -rf prefix/share/vitrine
mkdir -p prefix/share/vitrine/site
refuses 4 "share/vitrine/site: has no index.html" "site: the installed pages" prefix/bin/vitrine site --out public
finish
