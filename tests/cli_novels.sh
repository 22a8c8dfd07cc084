# cli_novels.sh -- fetching the novels: with a package of our own instead of the
# network, without a network, without permission, and again.
# asan: no, test_austen runs the reader
. "${0%/*}/tap.sh"
mkdir tools bin
cp "$root/tools/fetch-novels.sh" tools/; chmod 755 tools/fetch-novels.sh
VITRINE_AUSTEN=$tmp/bin/austen; export VITRINE_AUSTEN
cp "$root/build/tools/austen" "$VITRINE_AUSTEN"; chmod 755 "$VITRINE_AUSTEN"
PATH=$tmp/bin:$PATH; export PATH
fetch() { sh "$tmp/tools/fetch-novels.sh" "$@"; }

# apt-get as it answers with a network (the file `package` is there) and without.
cat > bin/apt-get <<END
#!/bin/sh
echo "\$*" >> "$tmp/calls"
case "\$*" in
    *download*) [ ! -e "$tmp/package" ] || exec cp "$tmp/package" r-cran-janeaustenr_1_all.deb ;;
esac
echo "E: Temporary failure resolving the archive" >&2
exit 100
END
chmod 755 bin/apt-get
touch calls; chmod 666 calls

# A package with two short novels, as R would hold them.
pack() {                                # LINE...
    rm -rf tree; mkdir -p tree/DEBIAN tree/usr/lib/R/site-library/janeaustenr/data
    printf 'Package: r-cran-janeaustenr\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n' \
        > tree/DEBIAN/control
    /usr/bin/python3 - "$@" > tree/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb <<'END'
import struct, sys, zlib
for title in ("FIRST", "Second"):
    lines = [title.encode()] + [line.encode() for line in sys.argv[1:]]
    v = b"X\n" + struct.pack(">5I", 2, 0x40201, 0x20300, 16, len(lines))
    v += b"".join(struct.pack(">2I", 0x40009, len(s)) + s for s in lines)
    sys.stdout.buffer.write(struct.pack(">I", len(v)) + zlib.compress(v))
END
    dpkg-deb -b tree package >/dev/null
}
pack "CHAPTER I" "It is a \"truth\"." "" "CHAPTER II" "The end of it."
printf '%s\n' 'novel,chapter,text' 'First,1,"It is a ""truth""."' 'First,2,"The end of it."' \
    'Second,1,"It is a ""truth""."' 'Second,2,"The end of it."' > wanted
mv package good

refuses 4 "build/vitrine train --data FILE" "without a network: how to give one's own text" fetch "$tmp/data"
contains "$err" "no network" "the likely cause"
contains "$err" "Temporary failure resolving" "and what apt-get said"
ok "a download, an update, no more" [ "$(grep -c . calls)" -eq 2 ]
is "$(ls -A data)" "" "nothing is left in the folder"

cp good package
refuses 3 "has changed: sha256 " "another text than the one expected" fetch "$tmp/data"
is "$(ls -A data)" "" "it is not put there"

VITRINE_NOVELS_SHA256=$(sha256sum < wanted | cut -d ' ' -f 1); export VITRINE_NOVELS_SHA256
exits 0 "the novels are fetched" fetch "$tmp/data"
contains "$out" "2 novels, 4 chapters" "their chapters are counted"
ok "the text is right" cmp wanted data/novels.csv
is "$(cd data && echo *)" "novels.csv novels.csv.sha256" "with its hash, and nothing else"
ok "the hash can be checked" sh -c 'cd data && sha256sum -c novels.csv.sha256'
: > calls; rm package
exits 0 "again, without a network" fetch "$tmp/data"
is "$out$err$(cat calls)" "" "not a word, and nothing is downloaded"
rm data/novels.csv.sha256
exits 0 "a lost hash is written again" fetch "$tmp/data"
ok "and right" sh -c 'cd data && sha256sum -c novels.csv.sha256'

echo more >> data/novels.csv
refuses 4 "no network" "a changed file is not taken for the novels" fetch "$tmp/data"
cp good package
exits 0 "but fetched again" fetch "$tmp/data"
ok "whole" cmp wanted data/novels.csv
rm package
mkdir offline; cp good offline/r-cran-janeaustenr_1_all.deb; : > calls
exits 0 "a package that lies in the folder" fetch offline
ok "is taken" cmp wanted offline/novels.csv
is "$(cat calls)" "" "without apt-get"

pack "CHAPTER I" "a" "CHAPTER III" "b"
refuses 3 "a chapter's number" "a text that is no novel" fetch "$tmp/other"
echo nonsense > package
refuses 3 "not a Debian package" "a file that is no package" fetch "$tmp/other"
mkdir -p tree/empty/DEBIAN; cp tree/DEBIAN/control tree/empty/DEBIAN/; dpkg-deb -b tree/empty package >/dev/null
refuses 3 "holds no novels" "a package without them" fetch "$tmp/other"
is "$(ls -A other)" "" "nothing is left behind"

cp good package
mkdir locked; chmod 555 locked
refuses 4 "cannot write to $tmp/locked" "a folder that cannot be written" unprivileged sh tools/fetch-novels.sh locked
refuses 4 "cannot make the folder locked/data" "or made" unprivileged sh tools/fetch-novels.sh locked/data
rm bin/austen
refuses 4 "is not built" "before the build" fetch "$tmp/fresh"
refuses 2 "usage:" "two folders" fetch a b
finish
