#!/bin/sh
# fetch-novels.sh -- the default corpus: Jane Austen's six novels as a CSV.
#
# usage: tools/fetch-novels.sh [FOLDER]         default: build/data
#
# Writes FOLDER/novels.csv (columns novel, chapter, text; 269 chapters) and
# FOLDER/novels.csv.sha256.  The text comes with Debian's package
# r-cran-janeaustenr, which is downloaded and unpacked but not installed;
# build/tools/austen reads it.  A file already there is checked by its hash and
# kept.  Without a network a FOLDER/r-cran-janeaustenr_*.deb is taken.
#
# Exit status: 0 the file is there; 3 it is not the text expected; 4 it could
# not be made (no network, no permission).  Then nothing is changed.
set -eu
umask 022
LC_ALL=C; export LC_ALL
root=$(cd "$(dirname "$0")/.." && pwd)
package=r-cran-janeaustenr
known=40ac4d5227108cc26425af78030ffbcf0b37f56a09e897f03f65242f0f581c2c
known=${VITRINE_NOVELS_SHA256:-$known}                  # the tests name others
austen=${VITRINE_AUSTEN:-$root/build/tools/austen}

[ $# -le 1 ] || { echo "usage: tools/fetch-novels.sh [FOLDER]" >&2; exit 2; }
folder=${1:-$root/build/data}
novels=$folder/novels.csv

hash_of() { sha256sum < "$1" | cut -d ' ' -f 1; }

cannot() {                                      # why
    echo "novels: $1; your own text does as well: build/vitrine train --data FILE.txt," \
         "or --data FILE.csv --column NAME" >&2
    exit 4
}

if [ -f "$novels" ] && [ "$(hash_of "$novels")" = $known ]; then
    [ -f "$novels.sha256" ] || echo "$known  novels.csv" > "$novels.sha256"
    exit 0
fi

[ -x "$austen" ] || cannot "$austen is not built"
mkdir -p "$folder" 2>/dev/null || cannot "cannot make the folder $folder"
folder=$(cd "$folder" && pwd)
novels=$folder/novels.csv
work=$(mktemp -d "$folder/.novels-XXXXXX" 2>/dev/null) || cannot "cannot write to $folder"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$work"                               # apt downloads as another user
[ "$(id -u)" -ne 0 ] || chown _apt "$work" 2>/dev/null || :

download() {
    (cd "$work" && apt-get -q -o Acquire::Retries=1 -o Acquire::http::Timeout=20 \
                           download $package) </dev/null >>"$work/log" 2>&1
}
update() {
    as_root=
    [ "$(id -u)" -eq 0 ] || as_root="sudo -n"
    $as_root apt-get -q -o Acquire::Retries=1 -o Acquire::http::Timeout=20 update \
        </dev/null >>"$work/log" 2>&1
}

set -- "$folder/$package"_*.deb
if [ ! -f "$1" ]; then
    command -v apt-get >/dev/null || cannot "no apt-get here to download Debian's $package"
    download || { update && download; } ||
        cannot "cannot download Debian's package $package (no network?): $(
                grep '^E:' "$work/log" | tail -n 1 | cut -c 1-160)"
    set -- "$work/$package"_*.deb
fi
dpkg-deb -x "$1" "$work/tree" 2>>"$work/log" || {
    echo "novels: $1 is not a Debian package: expected $package" >&2; exit 3; }
data=$work/tree/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb
[ -f "$data" ] || { echo "novels: $1 holds no novels: expected ${data#"$work/tree"}" >&2; exit 3; }

status=0
"$austen" "$data" > "$work/novels.csv" 2>"$work/report" || status=$?
[ $status -eq 0 ] || { echo "novels: $(tail -n 1 "$work/report")" >&2; exit $status; }
found=$(hash_of "$work/novels.csv")
[ "$found" = $known ] || {
    echo "novels: the text of $(basename "$1") has changed: sha256 $found, expected $known" >&2
    exit 3; }
echo "$known  novels.csv" > "$work/sha256"
mv "$work/sha256" "$novels.sha256"
mv "$work/novels.csv" "$novels"
echo "novels: $(awk '{ n += $(NF - 1) } END { print NR " novels, " n " chapters" }' "$work/report"), $novels"
