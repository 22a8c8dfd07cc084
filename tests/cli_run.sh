# cli_run.sh -- the command ./run: when it trains, goes on, or uses what is
# there.  The build, the novels and the model's command are acted by scripts
# that note how they were called, so this takes no training.
# asan: no, it runs no program of ours
. "${0%/*}/tap.sh"

mkdir -p tree/tools tree/build bin elsewhere
cp "$root/run" tree/
for tool in setup.sh fetch-novels.sh site; do
    printf '#!/bin/sh\necho "%s $*" >> "%s/calls"\n' $tool "$tmp" > tree/tools/$tool
done
echo 'mkdir -p build/data; echo novel > build/data/novels.csv; exit $(cat tools/novels-status)' \
    >> tree/tools/fetch-novels.sh
echo 0 > tree/tools/novels-status
echo 'echo "fault of a page" >&2; exit $(cat tools/site-status)' >> tree/tools/site
echo 0 > tree/tools/site-status
printf '#!/bin/sh\necho "cmake $*" >> "%s/calls"; exit $(cat "%s/cmake-status")\n' "$tmp" "$tmp" > bin/cmake
echo 0 > cmake-status

# train leaves a model of its text and options, and resumes no other; its exit
# status is asked for.
cat > tree/build/vitrine <<'END'
#!/bin/sh
here=$(dirname "$0")/../..
echo "vitrine $*" >> "$here/calls"
case $1 in
    train)
        options=$(echo "$*" | sed 's/ --resume//; s/--data [^ ]*//')
        while [ $# -gt 0 ]; do
            case $1 in --data) data=$2 ;; --out) out=$2 ;; --resume) resume=yes ;; esac
            shift
        done
        status=$(cat "$here/train-status") hash=$(sha256sum < "$data")
        if [ -e "$out/state.safetensors" ]; then
            [ "${resume-}" = yes ] || { echo "there is one already" >&2; exit 2; }
            [ "$options" = "$(cat "$out/options")" ] || { echo "other options" >&2; exit 2; }
            [ "$hash" = "$(cat "$out/hash")" ] || { echo "another text" >&2; exit 3; }
        fi
        mkdir -p "$out"
        echo "$options" > "$out/options"; echo "$hash" > "$out/hash"
        [ "$status" = 3 ] || touch "$out/state.safetensors"
        step=50; [ "$status" = 0 ] || step=20
        echo '{"step": 1, "loss": 5, "val_loss": 4.5}' > "$out/metrics.jsonl"
        [ "$status" != 0 ] || printf '%s\n' '{"step": 49, "loss": 4, "val_loss": 3.98769}' \
            '{"step": 50, "loss": 4, "val_loss": null}' >> "$out/metrics.jsonl"
        echo '{"loss": 4, "val_loss": null, "bigram_loss": 4.01234, "bigram_k": 0.1}'
        echo "{ \"step\": $step, \"steps\": 50, \"manifest\": {\"step\": 1, \"steps\": 2} }" > "$out/info"
        exit "$status" ;;
    info) cat "$2/info" ;;
    generate) echo "It was a sample."; echo "novelty: 9 of 10 words" >&2; exit $(cat "$here/generate-status") ;;
    site) echo "the site is there"; echo "a note" >&2; exit $(cat "$here/site-status") ;;
    serve) echo "http://127.0.0.1:1/"; exit 130 ;;
    check) echo "table"; echo "compared 3 of 4: VERDICT"; exit $(cat "$here/check-status") ;;
esac
END
chmod +x bin/cmake tree/build/vitrine
echo 0 > train-status; echo 0 > check-status; echo 0 > generate-status; echo 0 > site-status
PATH=$tmp/bin:$PATH
run_and_serve() { : > calls; (cd elsewhere && sh ../tree/run "$@"); }
run() { run_and_serve --no-serve "$@"; }
# Trainings of the first model, not of the lab's.
trained() { grep '^vitrine train' calls | grep -v 'preset tiny' | grep -vc -- --resume; }

exits 0 "--help" run --help
contains "$out" "usage: ./run" "says how"
is "$(cat calls)" "" "and does nothing"
refuses 2 "--agian" "an unknown option" run --agian
refuses 2 "--data needs a value" "an option without its value" run --data
refuses 2 "huge" "an unknown preset" run --preset huge
refuses 2 "--column" "--column without --data" run --column text
refuses 4 "absent.txt" "a file that is not there" run --data absent.txt

exits 0 "the first time" run --times
contains "$(cat calls)" "setup.sh build site" "it sets up"
contains "$(cat calls)" "fetch-novels.sh" "fetches the novels"
contains "$(cat calls)" \
    "vitrine train --data build/data/novels.csv --preset default --seed 42 --out build/models/default --column text" \
    "trains"
contains "$(cat calls)" "vitrine generate build/models/default --prompt It was" "lets it speak"
contains "$(cat calls)" "vitrine check build/models/default" "and checks"
contains "$(cat calls)" \
    "vitrine train --data build/data/novels.csv --preset tiny --seed 42 --out build/models/tiny --column text --steps 2000" \
    "trains the lab's model"
contains "$(grep -A 2 '^site' calls)" "site 
vitrine site --out build/www --lab build/models/tiny --playground build/models/default --data build/data/novels.csv --column text" \
    "builds the pages, and the site with both models"
lacks "$(cat calls)" "vitrine serve" "--times: ends there"
contains "$out" "s  training default" "--times: a phase"
contains "$out" "s  training tiny" "another"
contains "$out" "s  in all" "and the sum"
result="validation loss 3.9877 nats per token (build/models/default/metrics.jsonl); \
best bigram 4.0123 (add-k, k = 0.1)
novelty: 9 of 10 words
         (aimed at: 90 % of the words or more, a run of under 60 characters)
gradients: compared 3 of 4: VERDICT"
contains "$out" "$result" "it ends with what came of it"
lacks "$out" '"bigram_loss"' "not as JSON"
exits 0 "--no-serve" run --no-serve
lacks "$(cat calls)" "vitrine serve" "ends there, too"
exits 130 "otherwise it serves, until Ctrl-C" run_and_serve
is "$(tail -n 1 calls)" "vitrine serve build/www" "the site"
contains "$out" "http://127.0.0.1:1/" "and the address is seen"
lacks "$out$err" "fault of a page" "what the pages' tools say is in a log"
exits 0 "the second time" run
contains "$out" "$result" "the same"
is "$(trained)" 0 "it does not train"
contains "$out" "used as it is" "and says so"
lacks "$out" "in all" "no table unless asked for"

exits 0 "--again" run --again
is "$(trained)" 1 "trains"
ok "and keeps the old model" test -e tree/build/models/default.old/state.safetensors
lacks "$(cat calls)" "--resume" "from the beginning"

echo 130 > train-status
exits 130 "an interrupted training" run --again
lacks "$(cat calls)" "vitrine check" "ends there"
echo 0 > train-status
exits 0 "then ./run" run
contains "$(cat calls)" "--resume" "goes on"
contains "$out" "step 20 of 50" "and says where"
is "$(trained)" 0 "not from the beginning"

echo 1 > check-status
exits 1 "a check that fails" run_and_serve
lacks "$(cat calls)" "vitrine s" "is not shown"
echo 0 > check-status
echo 3 > tree/tools/site-status
exits 1 "pages that cannot be built" run_and_serve
contains "$err" "fault of a page" "say why"
lacks "$(cat calls)" "vitrine s" "no site is made of them"
echo 0 > tree/tools/site-status
echo 4 > site-status
exits 4 "a site that cannot be written" run_and_serve
contains "$err" "a note" "says why"
lacks "$(cat calls)" "vitrine serve" "and is not served"
echo 0 > site-status

echo 3 > generate-status
exits 3 "a sample that fails" run
contains "$err" "novelty: 9" "its error is shown"
echo 0 > generate-status

echo one > elsewhere/my.letters.txt
exits 0 "a text of one's own, from another folder" run --data my.letters.txt
contains "$(cat calls)" "--data $tmp/elsewhere/my.letters.txt" "is found"
lacks "$(cat calls)" "--column" "has no column"
lacks "$(cat calls)" "fetch-novels" "needs no novels"
contains "$(cat calls)" "--out build/models/my.letters-default" "and a folder of its own"
contains "$(cat calls)" "--lab build/models/my.letters-tiny --playground build/models/my.letters-default" \
    "its lab's model is of the same text"
exits 0 "again" run --data my.letters.txt
is "$(trained)" 0 "it is used"
echo two > elsewhere/my.letters.txt
exits 0 "when the text has changed" run --data my.letters.txt
is "$(trained)" 1 "it trains anew"
contains "$out" "my.letters-default.old" "and says where the old model is"
exits 0 "with a column" run --data my.letters.txt --column body
contains "$(cat calls)" "--column body" "it gets the column"
is "$(trained)" 1 "and trains anew"
exits 0 "another preset" run --data my.letters.txt --column body --preset tiny
contains "$(cat calls)" "--out build/models/my.letters-tiny" "has a folder of its own"
contains "$(cat calls)" "--preset tiny --seed 42" "the preset"
is "$(grep -c '^vitrine train' calls)" 1 "is the lab's and the playground's"
contains "$(cat calls)" "--lab build/models/my.letters-tiny --playground build/models/my.letters-tiny" "both"
contains "$(cat calls)" "--steps 2000" "and fewer steps"

mkdir others; cp tree/run others/; chmod 755 others
refuses 4 "cannot write to $tmp/others/build" "a folder of someone else's" unprivileged sh others/run
mkdir others/build others/build/run-logs; mkdir -m 777 others/build/models; chmod 777 others/build
refuses 4 "cannot write to $tmp/others/build/run-logs" "or its logs" unprivileged sh others/run

echo 3 > train-status
exits 3 "bad input" run --again
echo 0 > train-status
echo 4 > tree/tools/novels-status
exits 4 "no novels" run
lacks "$(cat calls)" "vitrine train" "no training"
echo 1 > cmake-status
exits 1 "a build that fails" run
lacks "$(cat calls)" "fetch-novels" "ends there"
finish
