# cli_race.sh -- the thread sanitizer: it sees a race that is planted, and none in the
# command with several threads: training, generation, requests side by side.
# needs: tsan
# asan: no, another sanitizer looks
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
build=$root/build/tsan
exits 66 "two threads that add to one number" "$build/tests/race"
contains "$err" "WARNING: ThreadSanitizer: data race" "are reported"

vitrine=$build/vitrine
make_corpus c.csv 20
for threads in 2 3; do
    exits 0 "training with $threads threads" train --data c.csv --column text --seed 42 --steps 3 \
        --threads $threads --out "m$threads"
    lacks "$err" "ThreadSanitizer" "  no race"
    exits 0 "generation with $threads" "$vitrine" generate "m$threads" --prompt "the " --max-tokens 20 \
        --samples 3 --threads $threads
    lacks "$err" "ThreadSanitizer" "  no race"
done
is "$(sha256sum < m2/state.safetensors)" "$(sha256sum < m3/state.safetensors)" "2 and 3 threads: the same bits"
exits 0 "a check with 2 threads" "$vitrine" check m2 --threads 2
lacks "$err" "ThreadSanitizer" "  no race"
finish
