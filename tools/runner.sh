#!/bin/sh
# runner.sh -- runs test jobs side by side and counts what they say.
#
# usage: tools/runner.sh LOGS < JOBS
#
# JOBS has one job a line:   NAME KIND SECONDS COMMAND
#   NAME     group/name, unique; the sums are printed for each group
#   KIND     tap: the command speaks TAP on its standard output; what it says
#              in lines "## ..." is shown in the report (figures, hashes);
#            exit: it is one test, passed when its exit status is 0;
#            last, table: the same, and its last line, or all it prints, is
#              shown in the report;
#            after: the same as table, and it runs when all others have ended
#   SECONDS  its time limit, or LIMIT:USUAL with the seconds that it takes on a quiet
#              machine: the longest start first
#   COMMAND  the rest of the line, for sh, in the current folder
#
# A program counts one failure more than it reports itself when it dies of a
# signal, runs out of time, exits non-zero without naming a failed test, states
# no plan, or runs another number of tests than it planned.  So nothing that
# stops early looks like a pass.  "ok # SKIP" counts as skipped only.
#
# Prints one line a job, then the failures in detail, what was skipped and why,
# sums by group, and last the line  N passed, N failed[, N skipped].
# LOGS keeps each job's output (.out, .err) and counts (.result).
# Exit status: 0 when something passed and nothing failed, else 1.
set -u
LC_ALL=C; export LC_ALL
# Two more than processors: jobs wait for servers, browsers, time limits and the disk.
VITRINE_JOBS=${VITRINE_JOBS:-$(($(nproc) + 2))}

# Counts TAP: prints "passed failed skipped problem..." .
count_tap='
/^1\.\.[0-9]+/ { n = $0; sub(/^1\.\./, "", n); plan += n + 0; plans++
                 if (n + 0 == 0) skipped++ }
/^(not )?ok([ \t]|$)/ {
    seen++
    if (toupper($0) ~ /# SKIP/)  skipped++      # cmocka: "not ok N # SKIP"
    else if ($1 == "ok")         passed++
    else                         failed++
}
/^Bail out!/ { problem = problem "; bailed out" }
END {
    if (late + 0)                problem = problem "; out of time after " late " s"
    else if (status > 128)       problem = problem "; died of signal " (status - 128)
    else if (status && !failed)  problem = problem "; exit status " status ", but no test says why"
    if (!plans)                  problem = problem "; no plan"
    else if (plan != seen)       problem = problem "; planned " plan " tests, ran " seen + 0
    if (problem != "") failed++
    printf "%d %d %d %s\n", passed, failed, skipped, substr(problem, 3)
}'

if [ "${1-}" = --job ]; then                    # one job, in a process of its own
    logs=$2
    read -r name kind limit command <<END
$3
END
    limit=${limit%:*}
    file=$logs/$(printf %s "$name" | tr / -)
    ulimit -c 0
    began=$(date +%s.%N)
    # In the background, so that an interrupt ends it at once.  (The shell makes
    # it ignore interrupts there; timeout undoes that, as cli_runner.sh checks.)
    timeout -k 3 "$limit" sh -c "$command" </dev/null >"$file.out" 2>"$file.err" &
    pid=$!
    trap 'kill $pid 2>/dev/null; exit 130' INT TERM
    wait $pid
    status=$?
    seconds=$(echo "$began $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }')
    late=0
    case $status in
        124) late=$limit ;;
        137) late=$(echo "$seconds $limit" | awk '{ print ($1 >= $2) ? $2 : 0 }') ;;
    esac
    if [ "$kind" = tap ]; then
        counts=$(awk -v status=$status -v late="$late" "$count_tap" "$file.out")
    elif [ $status -eq 0 ]; then counts="1 0 0"
    elif [ "$late" != 0 ]; then  counts="0 1 0 out of time after $late s"
    elif [ $status -gt 128 ]; then counts="0 1 0 died of signal $((status - 128))"
    else counts="0 1 0 exit status $status"
    fi
    echo "$name $seconds $counts" > "$file.result"
    echo "$name $seconds $counts" | awk '{
        printf "%-6s %5d passed %s %s %7.1f s  %s\n", $4 ? "FAILED" : "ok", $3,
               $4 ? sprintf("%3d failed", $4) : "          ",
               $5 ? sprintf("%3d skipped", $5) : "           ", $2, $1 }'
    exit 0
fi

[ $# -eq 1 ] || { echo "usage: tools/runner.sh LOGS < JOBS" >&2; exit 2; }
logs=$1
mkdir -p "$logs"
began=$(date +%s)
trap 'exit 130' INT TERM

# The longest first, so that no core idles at the end: as the last run knows them, else as
# the job's line says; of which neither knows anything is taken for a short one.
touch "$logs/seconds"
cat "$logs/seconds" "$logs"/*.result 2>/dev/null |
    awk '{ old[$1] = $2 } END { print "-", 0; for (name in old) print name, old[name] }' > "$logs/seconds.new"
mv "$logs/seconds.new" "$logs/seconds"
rm -f "$logs"/*.result
awk 'FNR == NR { old[$1] = $2; next }
     NF        { usual = split($3, s, ":") > 1 ? s[2] : 5
                 print ($1 in old) ? old[$1] : usual, $0 }' "$logs/seconds" - |
    sort -s -k1,1nr | cut -d' ' -f2- > "$logs/jobs"
for kind in before after; do
    awk -v kind=$kind '($2 == "after") == (kind == "after")' "$logs/jobs" > "$logs/jobs-$kind"
    [ ! -s "$logs/jobs-$kind" ] ||
        xargs -d '\n' -n 1 -P "$VITRINE_JOBS" sh "$0" --job "$logs" < "$logs/jobs-$kind"
done

# Whatever left no result (killed from outside) failed.
while read -r name kind limit command; do
    file=$logs/$(printf %s "$name" | tr / -)
    [ -e "$file.result" ] || echo "$name 0 0 1 0 left no result" > "$file.result"
done < "$logs/jobs"

while read -r name kind limit command; do
    file=$logs/$(printf %s "$name" | tr / -)
    read -r _ _ _ failed skipped problem < "$file.result"
    if [ "$failed" -ne 0 ]; then
        printf '\nFAILED %s%s\n' "$name" "${problem:+: $problem}"
        echo "  again: $command"
        if [ "$kind" = tap ]; then              # each failed test and its comments
            awk '/^not ok/ && toupper($0) !~ /# SKIP/ { shown = 1; print "  " $0; next }
                 /^#/ && shown { print "  " $0; next } { shown = 0 }' "$file.out" | head -n 40
        else
            tail -n 20 "$file.out" | sed 's/^/  | /'
        fi
        if [ -n "$problem" ] && [ "$kind" = tap ]; then
            tail -n 3 "$file.out" | sed 's/^/  | /'
        fi
        tail -n 25 "$file.err" | sed 's/^/  ! /'
    fi
    if [ "$skipped" -ne 0 ]; then
        grep -ai '# SKIP' "$file.out" | sed "s|^|skipped: $name: |"
    fi
done < "$logs/jobs" 2>&1

while read -r name kind limit command; do
    file=$logs/$(printf %s "$name" | tr / -)
    read -r _ _ _ failed _ < "$file.result"
    [ "$failed" -eq 0 ] || continue             # shown above
    case $kind in
        tap)   sed -n 's/^## *//p' "$file.out" ;;
        last)  tail -n 1 "$file.out" ;;
        table|after) cat "$file.out" ;;
    esac > "$logs/shown"
    [ ! -s "$logs/shown" ] || { printf '\n%s:\n' "$name"; sed 's/^/  /' "$logs/shown"; }
done < "$logs/jobs"

printf '\nall tests in %d s\n' $(($(date +%s) - began))
cat "$logs"/*.result 2>/dev/null | awk '
    { group = $1; sub(/\/.*/, "", group)
      if (!(group in p)) names[++n] = group
      p[group] += $3; f[group] += $4; s[group] += $5; t[group] += $2
      P += $3; F += $4; S += $5; T += $2 }
    END { for (i = 1; i <= n; i++) { g = names[i]
              printf "%-10s %6d passed %4d failed %4d skipped %8.1f s\n", g, p[g], f[g], s[g], t[g] }
          printf "%-10s %38s %8.1f s, side by side\n", "all", "", T
          printf "%d passed, %d failed%s\n", P, F, S ? sprintf(", %d skipped", S) : ""
          exit !(P > 0 && F == 0) }'
