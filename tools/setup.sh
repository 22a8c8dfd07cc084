#!/bin/sh
# setup.sh -- installs what is missing, from the list in tools/packages.
#
# usage: tools/setup.sh [--check] SECTION...
#
# Looks for each thing of the sections (build, test, aarch64, torch, site, browser), and installs the
# packages of those that are not there, with apt-get, as root or by sudo.
# Quiet and quick when nothing is missing; safe to repeat.  With --check it
# only says what is missing.  Exit code 4 when something is missing and cannot
# be installed here: the message names the packages and what each is for.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
list=${VITRINE_PACKAGES:-$here/packages}        # the tests name another list
log=$here/../build/setup.log

present() {                                     # TEST -> true or false
    case $1 in
        pc:*) command -v pkg-config >/dev/null && pkg-config --exists "${1#pc:}" ;;
        /*)   [ -e "$1" ] ;;
        *)    command -v "$1" >/dev/null ;;
    esac
}

# Prints "PACKAGE  reason" for what is missing in the sections "$@".
missing() {
    for section; do
        while read -r part test package reason; do
            [ "$part" = "$section" ] || continue
            present "$test" || printf '  %-16s %s\n' "$package" "$reason"
        done < "$list"
    done
}

cannot() {                                      # why
    echo "set-up: $1. Needed from Debian 12:" >&2
    printf '%s\n' "$lacking" >&2
    echo "Install them and start again:" >&2
    echo "  apt-get install --no-install-recommends $packages" >&2
    exit 4
}

check=no
if [ "${1-}" = --check ]; then check=yes; shift; fi
[ $# -gt 0 ] || { echo "usage: tools/setup.sh [--check] build|test|aarch64|torch|site|browser..." >&2; exit 2; }
for section; do
    grep -q "^${section}[[:space:]]" "$list" ||
        { echo "tools/setup.sh: no section '$section' in $list" >&2; exit 2; }
done

lacking=$(missing "$@")
[ -n "$lacking" ] || exit 0
packages=$(printf '%s\n' "$lacking" | awk '!seen[$1]++ { printf "%s%s", sep, $1; sep = " " }')

[ $check = no ] || cannot "something is missing"
command -v apt-get >/dev/null || cannot "this system has no apt-get"
as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || cannot "only root can install packages, and there is no sudo"
    as_root=sudo
    [ -t 0 ] || as_root="sudo -n"               # nobody could type a password
fi

mkdir -p "$here/../build"
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1
}
: > "$log"
echo "set-up: installing $packages"
# The lists of packages may be absent or old: only then are they fetched.
# shellcheck disable=SC2086                     # the packages are words
if ! apt install --no-install-recommends $packages; then
    echo "set-up: fetching the lists of packages first"
    if ! apt update || ! apt install --no-install-recommends $packages; then
        tail -n 15 "$log" | sed 's/^/  | /' >&2
        cannot "apt-get could not install them (log: build/setup.log)"
    fi
fi
lacking=$(missing "$@")
[ -z "$lacking" ] || cannot "installed, but still not found"
echo "set-up: done"
