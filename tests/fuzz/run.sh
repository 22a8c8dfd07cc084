# run.sh -- one fuzz target for some seconds; TAP, one test.
#
# usage: sh tests/fuzz/run.sh TARGET SECONDS [SEED]     in the root, after
#        cmake --preset fuzz && cmake --build build/fuzz
#
# From fresh seeds each time, so that a run needs nothing of an earlier one.  What
# fails: a broken promise of the target, a sanitizer's find, one allocation above
# 64 MiB (inputs have kilobytes: it can only come from a length that nobody checked),
# 1 GiB in all, an input that takes 5 s.  The input is kept in build/test-logs; the
# command that shows it again is printed.
set -u
[ $# -ge 2 ] || { echo "usage: sh tests/fuzz/run.sh TARGET SECONDS [SEED]" >&2; exit 2; }
cd "${0%/*}/../.." || exit 1
target=$1 seconds=$2 seed=${3-1}
program=build/fuzz/$target logs=build/test-logs
[ -x "$program" ] || { echo "run.sh: no $program: cmake --preset fuzz && cmake --build build/fuzz" >&2; exit 2; }
mkdir -p $logs
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
TMPDIR=$tmp; export TMPDIR
ASAN_OPTIONS=allocator_may_return_null=1:symbolize=1; export ASAN_OPTIONS
case $target in
    csv|npz|safetensors|target) words=$target ;;
    checkpoint) words=safetensors ;;
    *)          words=json ;;
esac
/usr/bin/python3 tests/fuzz/seeds.py "$tmp/seeds" || exit 1
mkdir "$tmp/found"
limits="-rss_limit_mb=1024 -malloc_limit_mb=64 -timeout=5"
echo "1..1"
# shellcheck disable=SC2086                     # the options are words
if "$program" $limits -dict=tests/fuzz/$words.dict -max_total_time="$seconds" -seed="$seed" \
    -artifact_prefix="$logs/fuzz-$target-" "$tmp/found" "$tmp/seeds/$target" > "$tmp/log" 2>&1
then
    echo "ok 1 - $target: no input breaks it"
    awk -v target="$target" '/DONE/ { sub(/^#/, "", $1); for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1)
        print "## fuzz " target ": " $1 " runs, cov " cov }' "$tmp/log"
else
    cp "$tmp/log" "$logs/fuzz-$target.log"
    echo "not ok 1 - $target: an input that breaks it"
    grep -E 'does not hold|ERROR:|SUMMARY:' "$tmp/log" | sed 's/^/# /' | head -n 5
    sed -n 's/.*Test unit written to \(.*\)/# again: '"$(echo "$program" | sed 's|/|\\/|g')"' \1/p' "$tmp/log"
    echo "# all it said: $logs/fuzz-$target.log"
    exit 1
fi
