# cli_grade.sh -- vitrine grade: solutions pass, empty exercises are told kindly, the
# mistakes that learners make get the hint that fits, and nothing takes the grader down.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
. "$root/tests/python.sh"
solutions=$root/exercises/solutions
names='1_forward 2_softmax 3_backward 4_heads 5_temperature 6_mask 7_layernorm'

# ---- solutions and what is handed out ----------------------------------------------
for name in $names; do
    exits 0 "$name: the solution" "$vitrine" grade "$solutions/${name}_solved.c"
    contains "$out" "solved: " "$name: is solved"
    lacks "$out" "wrong" "$name: nothing is wrong"
    exits 1 "$name: as it is handed out" "$vitrine" grade "$root/exercises/$name.c"
    contains "$err" "nothing was written yet" "$name: says that nothing was written"
    contains "$out" "--hint 1" "$name: and where a hint is"
    # Sanitized, of one: the compiler is the same, and a library is what a C file becomes.
    if sanitized && [ $name != 7_layernorm ]; then continue; fi
    ok "$name: compiles without a warning" cc -std=c11 -Wall -Wextra -Wno-unused-parameter -Werror \
        -O2 -shared -fPIC -o x.so "$root/exercises/$name.c" -lm
    ok "$name: so does the solution" cc -std=c11 -Wall -Wextra -Werror \
        -O2 -shared -fPIC -o x.so "$solutions/${name}_solved.c" -lm
    exits 0 "$name: as a library" "$vitrine" grade x.so --seed 7
done
exits 0 "--json" "$vitrine" grade "$solutions/3_backward_solved.c" --json
is "$(key solved) $(key verdict) $(key exercise) $(key cases) $(key cases_of)" \
   "True solved backward 8 8" "its verdict"
ok "every tensor within its bounds" python -c 'import json
t = json.load(open(".out"))["tensors"]
assert [x["tensor"] for x in t] == ["dWo", "dWv", "dWk", "dWq", "dX"]
assert all(x["compared"] > 90 and x["wrong"] == 0 and 0 < x["budget_used"] <= 1 for x in t)'

# ---- mistakes -----------------------------------------------------------------------
# wrong EXERCISE SED KIND TENSOR PART: the solution, changed, is not right yet: the first
# wrong tensor is named, and what is said has PART.  (Where SED changes nothing, the exit
# status is 0.)  Sanitized, every third: the hints are one table, read by the same code.
count=0 each=$(sweep 1 3)
wrong() {
    count=$((count + 1))
    [ $((count % each)) -eq 0 ] || return
    sed -E "$2" "$solutions/$1_solved.c" > w.c
    exits 1 "$1: $2" "$vitrine" grade w.c --json
    is "$(key kind tensor)" "$3 $4" "$1: $3"
    contains "$(key what hint)" "$5" "$1: says $5"
}
wrong 1_forward 's| / sqrt\(D\)||' scale_missing P 'not divided by sqrt(D)'
wrong 1_forward 's|sqrt\(D\)|D|' scale_wrong P 'divided by D, not by sqrt(D)'
wrong 1_forward 's|sqrt\(D\)|sqrt(C)|' scale_wrong P 'divided by sqrt(D), once'
wrong 1_forward 's|u <= t;|u < T;|; s|u = t \+ 1|u = T|' mask_leak P 'who sees whom'
wrong 1_forward 's|u <= t;|u < t + 2 \&\& u < T;|; s|u = t \+ 1|u = t + 2|' mask_leak P 'one key of the future'
wrong 1_forward 's|u <= t; u\+\+\) \{|u < T; u++) {|; s|u <= t; u\+\+\) P\[t\]\[u\] /=|u < T; u++) P[t][u] /=|' \
    mask_after_softmax P 'the mask comes before the softmax'
wrong 1_forward 's|for \(int u = t \+ 1.*||' None P '10 of 25 elements of P were never written, the first is P[0][1]'
wrong 1_forward 's|target\[t\]\]\) / T|target[t]])|' sum_for_mean loss 'divide by T'
wrong 1_forward 's|\(largest \+ log\(sum\) - (logits.*\]\])\)|(\1 - largest - log(sum))|' sign loss 'other sign'
wrong 1_forward 's|largest = fmax\(largest, P.*|largest = 0;|' softmax_unstable P 'subtract the row'
wrong 1_forward 's|project\(T, C, D, K, X, Wk\)|project(T, C, D, K, X, Wq)|' wrong_factor K 'a column of Wk'
wrong 1_forward 's|P\[t\]\[u\] \* V\[u\]\[i\]|P[u][t] * V[u][i]|' transposed O 'P[u][t], not P[t][u]'

wrong 1_forward 's|(K, X, W)k|\1v|; s|(V, X, W)v|\1k|' swapped K 'K and V are exchanged'
wrong 1_forward 's|project\(T, C, D, Q, X, Wq\);|for (int n = 0; n < T * D; n++) { Q[n / D][n % D] = 0; for (int c = 0; c < C; c++) Q[n / D][n % D] += X[n / D][c] * Wq[n % D][c]; }|' \
    transposed Q 'Wq is read as Wq[i][c]'
wrong 1_forward 's|s / sqrt\(D\)|s * (1 / (D + 1))|' zero P '1/D of two int is 0 in C'
wrong 1_forward 's|double s = 0|float s = 0|' rounded P 'is one of your variables a float'
wrong 1_forward 's|^    \*loss = 0;||' not_finite loss 'before it is set'
wrong 1_forward 's|target\[t\]|target[(t + 1) % T]|' position_shift loss 'takes the target of the next position'
wrong 1_forward 's|target\[t\]|target[(t + T - 1) % T]|' position_shift loss 'takes the target of the position before'
wrong 1_forward 's|\(largest \+ log|(log|' constant loss 'not added again behind the log'
# Whatever the seed, some logit is too large for exp.
for seed in $(sweep '1 2 3 4 5' 1); do
    sed 's|double largest = logits.*|double sum = 0;|; s|for (int v = 1;.*||; s|exp(logits\[t\]\[v\] - largest)|exp(logits[t][v])|; s|(largest + log|(log|' \
        "$solutions/1_forward_solved.c" > w.c
    exits 1 "1_forward, seed $seed: the largest logit is not subtracted" "$vitrine" grade w.c --json --seed $seed
    is "$(key tensor)" loss "seed $seed: it is the loss"
    contains "$(key hint)" "subtract the row's largest" "seed $seed: and the hint"
    exits 0 "1_forward, seed $seed: the solution" "$vitrine" grade "$solutions/1_forward_solved.c" --seed $seed
done

wrong 2_softmax 's|dp\[n\]\[v\] - row|dp[n][v] + row|' sign dx 'sum has the wrong sign'
wrong 2_softmax 's|double|float|g' unknown dx 'double, not float'
wrong 2_softmax 's| - row||' softmax_row_sum_missing dx "subtract the row's sum"
wrong 2_softmax 's|dp\[n\]\[w\] \* p\[n\]\[w\]|dp[n][w]|' softmax_row_sum_wrong dx 'not weighted by p'
wrong 2_softmax 's|(p\[n\]\[v\]) \* \(dp\[n\]\[v\] - row\)|\1 * (1 - \1) * dp[n][v]|' softmax_row_sum_wrong dx 'other classes'
wrong 2_softmax 's|dx\[n\]\[v\] \+=|dx[n][v] =|' overwritten dx '+= where you have ='
wrong 2_softmax 's|dp\[n\]\[v\] - row|row - dp[n][v]|' sign dx 'wrong sign'
wrong 2_softmax 's|p\[n\]\[v\] \* \(dp|(dp|' wrong_factor dx 'the factor p[v] is missing'
wrong 2_softmax 's|double row = 0;||; s|^    for \(int n|    double row = 0;\n    for (int n|' unknown dx 'start from 0 for every row'

for path in Q K V; do
    w=$(echo $path | tr QKV qkv)
    wrong 3_backward "s|product\(T, C, D, dX, dW$w|double lost[T][C]; product(T, C, D, lost, dW$w|" \
        path_missing dX "dX lacks its path through $path"
done
wrong 3_backward 's| / sqrt\(D\);|;|' scale_missing dWk 'on its way to Q and on its way to K'
wrong 3_backward 's|dQ\[t\]\[i\] \+= ds|dQ[t][i] += sqrt(D) * ds|' scale_missing dWq 'sqrt(D) is missing on dQ'
wrong 3_backward 's| - row\)|)|' softmax_row_sum_missing dWk 'subtract the row'
wrong 3_backward 's|dloss / T|dloss|' sum_for_mean dWo 'a share of dloss / T'
wrong 3_backward 's|dloss / T|1.0 / T|' upstream_ignored dWo 'not multiplied by dloss'
wrong 3_backward 's| - \(v == target\[t\]\)\)|)|' onehot_missing dWo 'less 1 at the target'
wrong 3_backward 's|dB\[i\]\[j\] \+=|dB[i][j] =|' overwritten dWo '+= where you have ='
wrong 3_backward '/dX, dWv, dV/d' zero dWv 'nothing was added to dWv'
wrong 3_backward 's|(dA\[r\]\[i\] \+= dY\[r\]\[j\] \*) B\[i\]\[j\]|\1 A[r][i]|' zero dWv 'next dO = dlogits Wo^T'
wrong 3_backward 's|ds \* Q\[t\]|ds * K[u]|' wrong_factor dWk 'dK[u] = sum_t ds[t][u] Q[t]'
wrong 3_backward 's|P\[t\]\[u\] \* dO|P[u][t] * dO|' transposed dWv 'P[u][t], not P[t][u]'
wrong 3_backward 's|dloss / T \* \(|-dloss / T * (|' sign dWo 'dlogits has the wrong sign'
wrong 3_backward 's|dK\[u\]\[i\] \+= ds|dK[t][i] += ds|' position_shift dWk 'dK[t] is added to, where dK[u] is meant'
wrong 3_backward 's|zero\(T, D, dK\);||' None dWk 'other numbers when it is called again'

wrong 4_heads 's|sqrt\(width\)|sqrt(heads * width)|' scale_wrong P 'the columns of one head'
wrong 4_heads 's|h < heads|h < 1|' None P '50 of 75 elements of P were never written'
wrong 4_heads 's|- row\) / sqrt\(width\)|- row)|' scale_missing dQ 'divided by sqrt(width) too'
wrong 4_heads 's| - row\)|)|' softmax_row_sum_missing dQ 'subtract the row'
wrong 4_heads 's|dV\[u\]\[h\]\[i\] \+=|dV[u][h][i] =|' overwritten dV '+= where you have ='
wrong 4_heads 's|p\[u\] \* V\[u\]\[h\]|p[u] * V[u][heads - 1 - h]|' heads_swapped O "which columns are which head's"
wrong 4_heads 's|(O\[t\]\[h\]\[i\] = 0;)|\1 if (h > 0) continue;|' rows_missing O 'the first head'

wrong 5_temperature 's|\) / temperature;$|);|' temperature dlogits 'divided by the temperature once more'
wrong 5_temperature 's|\)\) / temperature;$|)) * temperature;|' temperature dlogits 'multiplied by the temperature'
wrong 5_temperature 's|(exp\(logits\[n\]\[v\]) / temperature|\1|; s|logits\[n\], temperature\);$|logits[n], 1);|' \
    temperature dlogits 'those of temperature 1'
wrong 5_temperature 's| - \(v == target\[n\]\)||' onehot_missing dlogits 'less 1 at the target'
wrong 5_temperature '/^void loss_back/,$s|if \(target\[n\] < 0\) continue;||' ignored_target dlogits 'target of -1 is not counted'
wrong 5_temperature 's|dloss\[n\] \* \(|(|' upstream_ignored dlogits 'dloss is not multiplied in'
wrong 5_temperature 's|dlogits\[n\]\[v\] \+=|dlogits[n][v] =|' overwritten dlogits '+= where you have ='
wrong 5_temperature 's|largest = fmax\(largest, x\[v\]\)|largest = 0|' softmax_unstable loss "subtract the row's largest"
wrong 5_temperature 's|\[target\[n\]\] / temperature|[target[n]]|' unknown loss "target's logit / temperature"

wrong 6_mask 's|S - T \+ t \+ 1|t + 1|' mask_narrow P 'the keys u <= t, not u <= S - T + t'
wrong 6_mask 's|S - T \+ t \+ 1|S - T + t|' mask_narrow P 'the diagonal is masked'
wrong 6_mask 's|S - T \+ t \+ 1|S|' mask_leak P 'there is no mask'
wrong 6_mask '/^void causal_forward/,/^}/{s|u < seen|u < S|}' mask_after_softmax P 'the mask comes before the softmax'
wrong 6_mask 's|sqrt\(D\)|D|' scale_wrong P 'not by sqrt(D)'
wrong 6_mask 's| - row\)|)|' softmax_row_sum_missing dQ 'subtract the row'
wrong 6_mask '/^void causal_back/,$s|S - T \+ t \+ 1|t + 1|' mask_narrow dV 'to the keys u <= t, not u <= S - T + t'

wrong 6_mask 's|S - T \+ t \+ 1|T - S + t + 1|; s|u = seen;|u = seen > 0 ? seen : 0;|' mask_narrow P 'T - S + t, not u <= S - T + t'
wrong 6_mask 's|dK\[u\]\[i\] \+=|dK[t][i] +=|' position_shift dK 'dK[t] is added to, where dK[u] is meant'
wrong 6_mask 's|O\[t\]\[i\] = 0;|static double calls; O[t][i] = calls += 1e-3;|' None O 'at its second call'

wrong 7_layernorm 's|dxhat - average - |dxhat - |' mean_term_missing dx 'subtract the average of dxhat'
wrong 7_layernorm 's| - xhat \* along||' variance_term_missing dx 'xhat times the average'
wrong 7_layernorm 's|dxhat = w\[i\] \* |dxhat = |' gain_missing dx 'what reaches xhat is w dy'
wrong 7_layernorm 's|rstd\[n\] \* \(dxhat|(dxhat|' scale_missing dx 'the factor rstd is missing'
wrong 7_layernorm 's|dw\[i\] \+=|dw[i] =|' overwritten dw '+= where you have ='
wrong 7_layernorm 's|dy\[n\]\[i\] \* xhat|dy[n][i]|' swapped dw 'the sum of dy xhat over the rows'
wrong 7_layernorm 's|n < N|n < 1|' rows_missing db 'where the loops over rows'
wrong 7_layernorm 's|db\[i\] \+= dy\[n\]\[i\]|db[i] += dy[n][i] / N|' mean_for_sum db 'sums over the rows'
wrong 7_layernorm 's|dxhat / C|dxhat|' sum_for_mean dx 'not divided by C'
show "grade: $((count / each)) mistakes, each with its hint"

# The report for a reader.
sed 's| - row||' "$solutions/2_softmax_solved.c" > w.c
exits 1 "a mistake, as text" "$vitrine" grade w.c
ok "names what is wrong, where, and the numbers" \
    grep -qE '^  dx\[0\]\[0\]: expected -?[0-9.e-]+, found -?[0-9.e-]+ \(added\); 15 of 15 wrong$' .out
contains "$out" "with N 3, V 5" "the sizes"
contains "$err" "vitrine grade: softmax_backward: dx[0][0]: expected " "in one line, too"
ok "at most 80 columns" awk 'length > 80 { print; exit 1 }' .out
ok "no escape codes in a pipe" sh -c '! grep -q "$(printf "\033")" .out'
first=$out
exits 1 "as JUnit XML, too" "$vitrine" grade w.c --junit w.xml
is "$out" "$first" "which changes nothing that is printed"
exits 0 "of a solution" "$vitrine" grade "$solutions/6_mask_solved.c" --junit ok.xml
ok "a test of each tensor, and of the exercise" python -c 'import xml.etree.ElementTree as E
w, ok = E.parse("w.xml").getroot(), E.parse("ok.xml").getroot()
names = lambda x: [c.get("name") for c in x.iter("testcase")]
assert names(w) == ["softmax_backward: dx", "solved"], names(w)
assert names(ok) == ["causal_forward: P", "causal_forward: O", "causal_backward: dV",
                     "causal_backward: dQ", "causal_backward: dK", "solved"], names(ok)
assert len(list(w.iter("failure"))) == 2 and not list(ok.iter("failure"))
assert [s.get("failures") for s in w.iter("testsuite")] == ["2"]
assert "row" in w.find(".//failure").text and "dx[0][0]: expected" in w.find(".//failure").get("message")'
refuses 4 "no/w.xml" "a file that cannot be written" sh -c '"$0" grade w.c --junit no/w.xml >/dev/null' "$vitrine"
exits 1 "again" "$vitrine" grade w.c
is "$out" "$first" "is the same"

# ---- what does not compute ------------------------------------------------------------
head='void softmax_backward(int N, int V, double dx[N][V], const double dp[N][V], const double p[N][V])'
body() {                                # FILE BODY
    printf '#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n%s\n{\n%s\n}\n' "$head" "$2" > "$1"
}
stops() {                               # BODY PART DESC [SECONDS]
    body s.c "$1"
    exits 1 "$3" "$vitrine" grade s.c --seconds "${4:-1}"
    contains "$err" "$2" "$3: $2"
    contains "$out" "not yet, softmax_backward, with N 3, V 5" "$3: and when"
}
stops 'volatile int *no = 0; *no = 1; dx[0][0] += 1;' 'null pointer' "a crash"
stops 'for (volatile int i = 0; i >= 0; ) i = 0;' 'did not return within 0.5 s' "an endless loop" 0.5
stops 'for (int n = 0; n < N; n++) for (int v = 0; v <= V; v++) dx[n][v] += 1;' \
    'behind the end of dx, at element 15' "a write behind the end"
stops 'dx[0][-1] += 1;' 'before the start of dx, at element -1' "a write before the start"
stops 'for (int v = 0; v <= N * V; v++) dx[0][0] += dp[0][v];' 'the upstream gradient dp' "a read behind the end"
stops '*(double *)&p[1][2] = 0;' 'wrote to its input p, element 7' "a write to an input"
stops 'exit(0);' 'exit(0)' "an exit"
stops 'abort();' 'softmax_backward ' "an abort"
stops 'for (;;) { char *m = malloc(1 << 20); for (int i = 0; i < 1 << 20; i += 4096) m[i] = 1; }' \
    'softmax_backward ' "all the memory"
stops 'for (int i = 0; i < 3; i++) fork(); for (volatile int i = 0; i >= 0; ) i = 0;' \
    'did not return within 0.5 s' "one that forks and hangs" 0.5
body s.c 'printf("row %d of %d\n", 0, N); dx[0][0] += 1;'
exits 1 "one that prints" "$vitrine" grade s.c
contains "$out" "  | row 0 of 3" "is heard"
printf '__attribute__((constructor)) static void start(void) { for (;;) { } }\n%s { }\n' "$head" > s.c
exits 1 "one that hangs when it is loaded" "$vitrine" grade s.c --seconds 0.5
printf '#include <stdlib.h>\n__attribute__((constructor)) static void start(void) { %s(0); }\n%s { }\n' \
    exit "$head" > s.c
exits 1 "one that exits when it is loaded" "$vitrine" grade s.c
contains "$err" "while it was loaded: called exit(0)" "is told so"
body s.c 'for (int k = 0; k < 1 << 12; k++) for (int c = 0; c < 256; c++) putchar(c); dx[0][0] += 1;'
exits 1 "one that prints a megabyte of all bytes" "$vitrine" grade s.c
ok "is heard in part, without control characters" awk '/[\001-\010\013-\037\177]/ { exit 1 }
    END { exit NR < 30 ? 0 : 1 }' .out
ok "the grader lives" "$vitrine" grade "$solutions/2_softmax_solved.c"

# ---- what cannot be graded ----------------------------------------------------------
body s.c 'dx[0][0] += q[0][0];'
refuses 3 "s.c:6:" "what does not compile" "$vitrine" grade s.c
contains "$err" "undeclared" "has the compiler's message"
echo 'void other(void) { }' > s.c
refuses 3 "s.c: has no function of an exercise" "no exercise" "$vitrine" grade s.c
contains "$err" "other" "and what it has"
: > s.c
refuses 3 "s.c: has no function of an exercise" "an empty file" "$vitrine" grade s.c
for name in s.cpp s.py s.txt; do
    cp "$solutions/2_softmax_solved.c" $name
    refuses 3 "$name: cannot be loaded: it is no shared library, and no C source" "$name" "$vitrine" grade $name
done
echo 'not a library' > s.so
refuses 3 "s.so" "no library" "$vitrine" grade s.so
refuses 4 "nothing.c" "no file" "$vitrine" grade nothing.c
refuses 4 "no-compiler" "no compiler" "$vitrine" grade w.c --compiler no-compiler
cat "$solutions/2_softmax_solved.c" "$solutions/7_layernorm_solved.c" > two.c
refuses 2 "softmax and layernorm: say which with --exercise" "two exercises" "$vitrine" grade two.c
exits 0 "one of them" "$vitrine" grade two.c --exercise layernorm
exits 1 "the other's name" "$vitrine" grade w.c --exercise layernorm
contains "$err" "there is no function layernorm_backward yet" "is missing"
refuses 2 "expected forward, softmax" "no such name" "$vitrine" grade w.c --exercise sofmax
refuses 2 "expected one of FILE.c" "a list and a file" "$vitrine" grade --list w.c
refuses 2 "one argument too many" "two files" "$vitrine" grade w.c s.c

# ---- list and hints -------------------------------------------------------------------
exits 0 "--list" "$vitrine" grade --list
list=$out
for name in $names; do
    contains "$list" "$name.c" "names $name.c"
    exercise=${name#*_}
    for hint in $(sweep '1 2 3' 2); do
        exits 0 "$exercise: hint $hint" "$vitrine" grade --exercise "$exercise" --hint $hint
        contains "$out" "exercise $exercise, hint $hint of " "$exercise: is one"
    done
    contains "$(cat "$root/exercises/$name.c")" "--exercise $exercise --hint 1" "$name.c tells how"
    contains "$(cat "$root/exercises/README.md")" "($name.c)" "the list of exercises has $name.c"
done
exits 0 "--list --json" "$vitrine" grade --list --json
ok "has every exercise" python -c 'import json
e = json.load(open(".out"))["exercises"]
assert [x["file"] for x in e] == [n + ".c" for n in "'"$names"'".split()]
assert [x["name"] for x in e] == [n[2:] for n in "'"$names"'".split()]
minutes = sum(x["minutes"] for x in e)
assert "about %d minutes" % minutes in open("'"$root"'/exercises/README.md").read()
assert all(x["hints"] in (3, 4) and x["title"] and x["needs"] for x in e)'
refuses 2 "--json: expected a FILE to grade, or --list" "--json of a hint" \
    "$vitrine" grade --exercise mask --hint 1 --json
refuses 2 "--junit: expected a FILE to grade" "--junit of a list" "$vitrine" grade --list --junit x.xml
refuses 2 "--hint 4: exercise mask has 3" "a hint that is none" "$vitrine" grade --exercise mask --hint 4
refuses 2 "--hint: expected --exercise" "a hint of nothing" "$vitrine" grade --hint 1
refuses 2 "expected forward, softmax" "or of no exercise" "$vitrine" grade --exercise x --hint 1
finish
