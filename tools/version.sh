#!/bin/sh
# version.sh SOURCE OUT VERSION BUILD -- writes OUT (a C header) with the
# version, the commit (and whether files differ from it) and the build's kind;
# leaves OUT alone when nothing changed.
set -eu
source=$1 out=$2 version=$3 build=$4
commit=$(git -C "$source" rev-parse HEAD 2>/dev/null || echo unknown)
if [ "$commit" != unknown ] &&
   [ -n "$(git -C "$source" status --porcelain --untracked-files=no 2>/dev/null)" ]; then
    commit=$commit-modified
fi
{
    echo "#define VITRINE_VERSION \"$version\""
    echo "#define VITRINE_COMMIT \"$commit\""
    echo "#define VITRINE_BUILD \"$build\""
} > "$out.new"
if cmp -s "$out.new" "$out"; then rm "$out.new"; else mv "$out.new" "$out"; fi
