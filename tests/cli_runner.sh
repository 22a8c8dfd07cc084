# cli_runner.sh -- the test runner itself: fake programs that crash, hang, stop
# early or lie about their number have to count as failures.
# asan: no, it runs no program of ours
. "${0%/*}/tap.sh"
runner=$root/tools/runner.sh

cat > good.sh <<'END'
echo "ok 1 - one"; echo "noise ok 9"; echo "## hash 5891b5"; echo "ok 2 - two"; echo 1..2
END
cat > failing.sh <<'END'
echo 1..2; echo "not ok 1 - broken thing"; echo "# 0x1 != 0x2"; echo "ok 2"; exit 1
END
echo 'echo 1..2; echo "not ok 1 - quiet"; echo "ok 2"'  > failing_zero.sh
echo 'echo 1..3; echo "ok 1"; kill -SEGV $$'            > crash.sh
echo 'echo "ok 1"; echo 1..1; kill -ABRT $$'            > late_crash.sh
echo 'echo "ok 1"; echo 1..1; exec sleep 60'            > slow.sh
echo 'trap "" TERM; echo 1..1; echo "ok 1"; sleep 60'   > stubborn.sh
echo 'echo 1..3; echo "ok 1"; echo "ok 2"'              > short.sh
echo 'echo 1..1; echo "ok 1"; echo "ok 2"'              > long.sh
echo 'echo "ok 1"'                                      > no_plan.sh
echo ':'                                                > silent.sh
echo 'echo 1..1; echo "ok 1"; exit 3'                   > status.sh
echo 'echo 1..2; echo "not ok 1 # SKIP no torch"; echo "ok 2"' > skipping.sh
echo 'echo "1..0 # SKIP no such oracle"'                > all_skipped.sh
echo 'echo 1..1; echo "ok 1"; echo "Bail out! lost"'    > bail.sh
cat > groups.sh <<'END'
echo 1..1; echo "ok 1"; echo 1..2; echo "ok 1"; echo "ok 2"
END
cat > int.sh <<'END'
trap 'echo "ok 1 - trapped"; exit 0' INT; echo 1..1; kill -INT $$; echo "not ok 1"
END

# A job that says "ok 1" and never ends, alone.  Where the machine is too busy for the one line
# in a second, it is given more.
hang() {                                # NAME DESC
    for limit in 1 4 16 64; do
        echo "g/$1 tap $limit sh $1.sh" | sh "$runner" logs > report 2>&1
        tap_status=$?
        ! grep -q '^ok 1' "logs/g-$1.out" || break
    done
    is "$(tail -n 1 report) / $tap_status" "1 passed, 1 failed / 1" "$2"
    contains "$(cat report)" "out of time after $limit s" "the limit is named"
}
# One job alone: last line of the output, exit status.
alone() {                               # NAME KIND SECONDS WANTED STATUS DESC
    echo "g/$1 $2 $3 sh $1.sh" | sh "$runner" logs > report 2>&1
    tap_status=$?
    is "$(tail -n 1 report) / $tap_status" "$4 / $5" "$6"
}
alone good         tap  20 "2 passed, 0 failed"            0 "two tests pass"
alone failing      tap  20 "1 passed, 1 failed"            1 "a failed test counts once"
contains "$(cat report)" "not ok 1 - broken thing" "the failed test is named"
contains "$(cat report)" "# 0x1 != 0x2" "with its comment"
alone failing_zero tap  20 "1 passed, 1 failed"            1 "a failure with exit status 0"
alone crash        tap  20 "1 passed, 1 failed"            1 "a crash is a failure"
contains "$(cat report)" "died of signal 11" "the signal is named"
alone late_crash   tap  20 "1 passed, 1 failed"            1 "a crash after the last test"
hang slow "running out of time is a failure"
hang stubborn "also when it ignores the signal"
alone short        tap  20 "2 passed, 1 failed"            1 "fewer tests than planned"
contains "$(cat report)" "planned 3 tests, ran 2" "both numbers are named"
alone long         tap  20 "2 passed, 1 failed"            1 "more tests than planned"
alone no_plan      tap  20 "1 passed, 1 failed"            1 "no plan"
alone silent       tap  20 "0 passed, 1 failed"            1 "a program that says nothing"
alone status       tap  20 "1 passed, 1 failed"            1 "an exit status without a failed test"
alone skipping     tap  20 "1 passed, 0 failed, 1 skipped" 0 "a skipped test is neither"
contains "$(cat report)" "no torch" "its reason is shown"
alone all_skipped  tap  20 "0 passed, 0 failed, 1 skipped" 1 "nothing but skipped is no pass"
alone bail         tap  20 "1 passed, 1 failed"            1 "bailing out"
alone groups       tap  20 "3 passed, 0 failed"            0 "two groups, each with its plan"
alone int          tap  20 "1 passed, 0 failed"            0 "a program may test interruption"
alone silent       exit 20 "1 passed, 0 failed"            0 "a tool: exit status 0 is one pass"
alone failing      exit 20 "0 passed, 1 failed"            1 "a tool: another is one failure"
alone crash        exit 20 "0 passed, 1 failed"            1 "a tool that crashes"
alone slow         exit 1  "0 passed, 1 failed"            1 "a tool that hangs"
alone missing      tap  20 "0 passed, 1 failed"            1 "a program that is not there"
alone slow         exit 1:9 "0 passed, 1 failed"           1 "a limit, and what is usual"
contains "$(cat report)" "out of time after 1 s" "the limit is the limit"

# All together.
# shellcheck disable=SC2238                     # jobs is a file
cat > jobs <<'END'
a/good tap 20 sh good.sh
a/failing tap 20 sh failing.sh
b/good tap 20 sh good.sh
b/crash tap 20 sh crash.sh
tools/t exit 20 echo hidden words
tools/u last 20 echo first words; echo last words
tools/v table 20 echo all; echo words
tools/w table 20 echo bad table; exit 1
tools/x after 20 ls logs | grep -c '[.]result$'
END
exits 1 "several jobs" sh -c "sh '$runner' logs < jobs"
is "$(tail -n 1 .out)" "10 passed, 3 failed" "their sum"
contains "$out" "a               3 passed    1 failed" "the sum of a group"
contains "$out" "b               3 passed    1 failed" "and of the other"
ok "a log of each" test -s logs/b-good.out
lacks "$out" "noise" "the output of what passes is not shown"
contains "$out" "  hash 5891b5" "but what it wants shown is"
lacks "$out" "hidden words" "a tool of kind exit shows nothing"
lacks "$out" "first words" "one of kind last"
contains "$out" "  last words" "shows its last line"
contains "$out" "  all
  words" "one of kind table all lines"
is "$(grep -c '^ .*[|] *bad table' .out)" 1 "once when it fails"
contains "$out" "tools/x:
  8" "one of kind after runs when the 8 others have ended"

# The longest first: as the last run knows them, else as their lines say.
# shellcheck disable=SC2238                     # jobs is a file
cat > jobs <<'END'
o/none exit 20 echo none >> order
o/seven exit 20:7 echo seven >> order
o/thirty exit 20:30 echo thirty >> order
o/nine exit 20:9 echo nine >> order
END
exits 0 "jobs that say what is usual" sh -c "VITRINE_JOBS=1 sh '$runner' logs3 < jobs"
is "$(tr '\n' ' ' < order)" "thirty nine seven none " "start by that, the longest first"
rm order; echo "o/none 99 1 0 0" > logs3/seconds; rm logs3/*.result
exits 0 "again" sh -c "VITRINE_JOBS=1 sh '$runner' logs3 < jobs"
is "$(tr '\n' ' ' < order)" "none thirty nine seven " "by what the last run took, where one is known"
exits 1 "no job at all is no pass" sh -c "sh '$runner' logs2 < /dev/null"
is "$(tail -n 1 .out)" "0 passed, 0 failed" "and counts nothing"

# The helpers of the shell tests.
cat > script.sh <<END
. "$root/tests/tap.sh"
exits 3 good sh -c 'exit 3'
exits 0 bad1 sh -c 'exit 1'
refuses 2 'no such' good sh -c 'echo no such thing >&2; exit 2'
refuses 2 'no such' bad2 sh -c 'echo two >&2; echo no such lines >&2; exit 2'
refuses 2 'no such' bad3 sh -c 'echo out; echo no such thing >&2; exit 2'
refuses 2 'no such' bad4 sh -c 'echo other >&2; exit 2'
refuses 2 'no such' bad5 sh -c 'echo no such thing >&2; exit 1'
ok good true
ok bad6 false
is a a good
is a b bad7
contains 'a*c' '*' good
contains 'abc' '*' bad8
lacks abc d good
lacks abc b bad9
skip 2 'a reason'
\$1
END
mkdir -p tests; cp script.sh "$root/tests/tap.sh" tests/
exits 1 "a script with failures" sh tests/script.sh finish
is "$(grep -c '^not ok .* bad' .out) $(grep -c '^not ok' .out) $(grep -c '^ok' .out)" "9 9 8" \
   "exactly the bad ones fail"
contains "$out" "1..17" "the plan"
echo "g/stops tap 20 sh tests/script.sh :" | sh "$runner" logs > report 2>&1
contains "$(tail -n 1 report)" "6 passed, 10 failed, 2 skipped" "a script that stops before finish fails"

# The command's words.
exits 0 "./test --help" sh "$root/test" --help
contains "$out" "usage: ./test" "says how"
exits 2 "./test with an unknown option" sh "$root/test" --quikc
exits 2 "./test with an unknown name" sh "$root/test" no_such_test
contains "$err" "no_such_test" "names it"
exits 0 "./test --list" sh "$root/test" --list
contains "$out" "unit/test_status" "lists programs"
contains "$out" "asan/test_status" "and the sanitized ones"
is "$(sort .out | uniq -d)" "" "each once"
exits 0 "./test --list --quick" sh "$root/test" --list --quick
lacks "$out" "asan/" "without the sanitized ones"
lacks "$out" "mutants" "and without mutants"

# The set-up, with a list of its own.
cat > packages <<'END'
build  sh                  dash           a shell
build  no-such-command-xy  no-such-xy     nothing
build  /no/such/file       no-such-file   nothing again
build  pc:no-such-module   no-such-dev    a module
test   true                coreutils      truth
END
exits 4 "the set-up names what is missing" env VITRINE_PACKAGES="$tmp/packages" \
    sh "$root/tools/setup.sh" --check build
contains "$err" "no-such-xy no-such-file no-such-dev" "all the packages"
contains "$err" "nothing again" "and the reasons"
lacks "$err" "dash" "but not what is there"
exits 0 "nothing missing: quiet" env VITRINE_PACKAGES="$tmp/packages" sh "$root/tools/setup.sh" test
is "$out$err" "" "not a word"
exits 2 "an unknown section" sh "$root/tools/setup.sh" nonsense
ok "each line of the list is whole" awk '!/^#/ && NF && ($1 !~ /^(build|test|aarch64|torch|site|browser)$/ || NF < 4) { exit 1 }' \
    "$root/tools/packages"
ok "each package has its place in docs/dependencies.md" sh -c \
    "awk '!/^#/ && NF { print \$3 }' '$root/tools/packages' |
     while read -r p; do grep -qw -- \"\$p\" '$root/docs/dependencies.md' || exit 1; done"
finish
