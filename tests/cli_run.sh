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
# status is asked for.  A text has no column "bodi".
cat > tree/build/vitrine <<'END'
#!/bin/sh
here=$(dirname "$0")/../..
echo "vitrine $*" >> "$here/calls"
case $1 in
    train)
        options=$(echo "$*" | sed 's/ --resume//; s/--data [^ ]*//; s/ --out [^ ]*//; s/ --stop-at [^ ]*//')
        while [ $# -gt 0 ]; do
            case $1 in
                --data) data=$2 ;; --out) out=$2 ;; --resume) resume=yes ;; --stop-at) stop=$2 ;;
                --column) [ "$2" != bodi ] || { echo "reading"; echo 'no column "bodi"'; exit 3; } >&2 ;;
            esac
            shift
        done
        status=$(cat "$here/train-status") hash=$(sha256sum < "$data")
        if [ -e "$out/state.safetensors" ]; then
            [ "${resume-}" = yes ] || { echo "there is one already" >&2; exit 2; }
            [ ! -e "$out/damaged" ] || { echo "vitrine train: $out/state.safetensors: cut" >&2; exit 3; }
            [ "$options" = "$(cat "$out/options")" ] || { echo "the run to resume has others" >&2; exit 2; }
            [ "$hash" = "$(cat "$out/hash")" ] || { echo "not the text of the run to resume" >&2; exit 3; }
            step=$(sed 's/[^0-9]*\([0-9]*\).*/\1/' "$out/info")
        fi
        bigram='{"loss": 4, "val_loss": null, "bigram_loss": 4.01234, "bigram_k": 0.1}'
        [ "${step-}" != "${stop:-50}" ] || { echo "$bigram"; exit 0; }      # nothing is left to do
        mkdir -p "$out"
        echo "$options" > "$out/options"; echo "$hash" > "$out/hash"
        [ "$status" = 3 ] || touch "$out/state.safetensors"
        step=50; [ "$status" = 0 ] || step=20
        echo '{"step": 1, "loss": 5, "val_loss": 4.5}' > "$out/metrics.jsonl"
        [ "$status" != 0 ] || printf '%s\n' '{"step": 49, "loss": 4, "val_loss": 3.98769}' \
            '{"step": 50, "loss": 4, "val_loss": null}' >> "$out/metrics.jsonl"
        echo "$bigram"
        echo "{ \"step\": $step, \"steps\": 50, \"manifest\": {\"step\": 1, \"steps\": 2} }" > "$out/info"
        exit "$status" ;;
    info) cat "$2/info" ;;
    generate) echo "It was a sample."; echo "novelty: 9 of 10 words" >&2; exit $(cat "$here/generate-status") ;;
    site) mkdir -p "$here/tree/build/www/data/lab"
        printf '{"text":"Der Himmel \303\274ber Berlin \\"war\\" blau","tokens":[1]}\n' > "$here/tree/build/www/data/lab/manifest.json"
        echo "the site is there"; echo "a note" >&2; exit $(cat "$here/site-status") ;;
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
refuses 2 "--separator says nothing" "--separator without --data" run --separator ';'
refuses 4 "absent.txt" "a file that is not there" run --data absent.txt

exits 0 "the first time" run --times
contains "$(cat calls)" "setup.sh build site" "it sets up"
contains "$(cat calls)" "fetch-novels.sh" "fetches the novels"
contains "$(cat calls)" \
    "vitrine train --json --preset default --seed 42 --out build/models/default --data build/data/novels.csv --column text" \
    "trains"
contains "$(cat calls)" "vitrine generate build/models/default --prompt It was" "lets it speak"
contains "$(cat calls)" "vitrine check build/models/default" "and checks"
contains "$(cat calls)" "vitrine plot build/models/default" "and is drawn"
contains "$(cat calls)" \
    "vitrine train --json --preset tiny --seed 42 --steps 2000 --out build/models/tiny --data build/data/novels.csv --column text" \
    "trains the lab's model"
contains "$(grep -A 2 '^site' calls)" "site 
vitrine site --out build/www --lab build/models/tiny --playground build/models/default --text She was not at all sorry to see him go. --data build/data/novels.csv --column text" \
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
contains "$out" '--prompt "She could not"' "with the novels' words as advice"
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

models=tree/build/models
step() { sed 's/[^0-9]*\([0-9]*\).*/\1/' "$models/$1/info"; }
echo first > $models/default/which
exits 0 "--again" run --again
is "$(trained)" 1 "trains"
is "$(cat $models/default.old/which)" first "and keeps the old model"
ok "the new one is in its place" test ! -e $models/default/which -a ! -e $models/default.new
is "$(grep -c '^vitrine train.*--resume' calls)" 2 "from the beginning (both models are looked at)"

# A finished model goes only when its successor is finished.
echo second > $models/default/which
echo 130 > train-status
exits 130 "an interrupted training" run --again
lacks "$(cat calls)" "vitrine check" "ends there"
is "$(cat $models/default/which) $(cat $models/default.old/which)" "second first" "finished models stay where they are"
echo 0 > train-status
exits 0 "then ./run" run
contains "$(cat calls)" "--resume" "goes on"
contains "$out" "default.new: an interrupted training goes on at step 20 of 50" "and says where"
is "$(trained)" 0 "not from the beginning"
is "$(cat $models/default.old/which) $(step default)" "second 50" "the finished one takes the other's place"

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
contains "$out" '--prompt "Der Himmel über" --temperature' "the advice is in its language"
lacks "$out$(cat calls)" "She " "and so is the lab's window"
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
exits 0 "with a separator" run --data my.letters.txt --column body --separator ';'
contains "$(cat calls)" "--column body --separator ;" "it gets the separator"
# A typo moves nothing: neither a finished model, nor behind an interrupted training.
echo third > $models/my.letters-default/which
find $models -type f -exec sha256sum {} + | sort > before
exits 3 "a column that is not there" run --data my.letters.txt --column bodi
exits 3 "with --again, too" run --data my.letters.txt --column bodi --again
find $models -type f -exec sha256sum {} + | sort > after
ok "leaves every file as it was" cmp before after
is "$(trained)" 0 "and nothing is trained"
echo 130 > train-status
exits 130 "interrupted" run --data my.letters.txt --column body --again
find $models -type f -exec sha256sum {} + | sort > before
exits 3 "and then a typo" run --data my.letters.txt --column bodi
is "$err" 'no column "bodi"' "one line says so"
lacks "$out" default "and nothing else was promised"
find $models -type f -exec sha256sum {} + | sort > after
ok "leaves the finished and the interrupted" cmp before after
is "$(cat $models/my.letters-default/which)" third "each in its place"
echo two > elsewhere/my.letters.txt; cat elsewhere/my.letters.txt elsewhere/my.letters.txt > longer
cp longer elsewhere/my.letters.txt
exits 130 "a changed text, interrupted" run --data my.letters.txt --column body
is "$(cat $models/my.letters-default/which)" third "is trained beside the finished model"
echo 0 > train-status
exits 0 "to its end" run --data my.letters.txt --column body
is "$(cat $models/my.letters-default.old/which)" third "that stays when the new one is finished"
contains "$out" "goes on at step 20" "which went on"

# The first training, interrupted, is not worth a finished one's place.
echo 130 > train-status
echo one > elsewhere/notes.txt
exits 130 "the first of a text, interrupted" run --data notes.txt
is "$(step notes-default)" 20 "lies where it belongs"
echo 0 > train-status
exits 0 "goes on" run --data notes.txt
is "$(step notes-default)" 50 "there"
exits 0 "again" run --data notes.txt --again
echo kept > $models/notes-default.old/which
echo '{ "step": 20, "steps": 50 }' > $models/notes-default/info
echo two > elsewhere/notes.txt
exits 0 "another text, where an unfinished one lies" run --data notes.txt
is "$(cat $models/notes-default.old/which) $(step notes-default.unfinished) $(step notes-default)" "kept 20 50"     "takes the place of no finished one"
touch $models/notes-default/damaged
exits 0 "a damaged checkpoint" run --data notes.txt
contains "$out" "notes-default cannot be read: build/models/notes-default/state.safetensors: cut" "is named"
is "$(trained)" 1 "and replaced"

exits 0 "another preset" run --data my.letters.txt --column body --preset tiny
contains "$(cat calls)" "--out build/models/my.letters-tiny" "has a folder of its own"
contains "$(cat calls)" "--preset tiny --seed 42" "the preset"
is "$(grep -c '^vitrine train' calls)" 1 "is the lab's and the playground's"
contains "$(cat calls)" "--lab build/models/my.letters-tiny --playground build/models/my.letters-tiny" "both"
contains "$(cat calls)" "--steps 2000" "and fewer steps"

echo three > "elsewhere/b & c.csv"
exits 0 "two texts" run --data my.letters.txt --data "b & c.csv"
contains "$(cat calls)" "--out build/models/my.letters-and-1-more-default --data $tmp/elsewhere/my.letters.txt --data $tmp/elsewhere/b & c.csv" \
    "both are trained on, in their order"
contains "$(cat calls)" "--novelty $tmp/elsewhere/my.letters.txt --novelty $tmp/elsewhere/b & c.csv" "and compared with"
contains "$(grep '^vitrine site' calls)" "--data $tmp/elsewhere/my.letters.txt --data $tmp/elsewhere/b & c.csv" "and shown"
refuses 4 "absent.csv" "one of two is not there" run --data my.letters.txt --data absent.csv

mkdir others; cp tree/run others/; chmod 755 others others/run
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
