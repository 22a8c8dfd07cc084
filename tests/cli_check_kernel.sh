# cli_check_kernel.sh -- vitrine check --kernel and --dump: kernels of users, and every
# snippet of docs/check-kernel.md.
. "${0%/*}/tap.sh"
. "$root/tests/python.sh"

own=$root/tests/kernels/attention_own.c
page=$root/docs/check-kernel.md

# snippet LANGUAGE N FILE: block N of the page.
snippet() {
    awk -v fence="\`\`\`$1" -v n="$2" '
        $0 == fence { inside = ++count == n; next }
        /^```/ { inside = 0 }
        inside' "$page" > "$3"
    [ -s "$3" ]
}
json() { python -c "import json, sys; r = json.load(open('$tmp/.out')); print(repr($1))"; }
check() { tap_code=$1 tap_what=$2; shift 2; exits "$tap_code" "$tap_what" "$vitrine" check "$@"; }

# ---- the page ----------------------------------------------------------------
ok "a kernel is on the page" snippet c 1 gelu.c
check 0 "the page's kernel is right" --kernel gelu.c --op gelu
contains "$out" "28 of 28 cases" "as many problems as it says"
contains "$out" "PASS" "and says so"
sed 's/0.7978845608f/0.7979f/' gelu.c > constant.c
check 1 "its constant cut to 0.7979" --kernel constant.c --op gelu
contains "$out" "y[1]  (element 1)" "the element that the page shows"
contains "$out" "diagnosis: constant: sqrt(2/pi) is 0.7979, expected 0.79788456, in both passes" "the page's diagnosis"
is "$(printf '%s\n' "$err" | wc -l)" 1 "one line on standard error"
ok "NumPy is on the page" snippet python 1 numpy_snippet.py
ok "it runs" python numpy_snippet.py
check 0 "its dump is right" --dump layernorm.npz --op layernorm
contains "$out" "compared 70 of 70" "all of it"
ok "PyTorch is on the page" snippet python 2 torch_snippet.py

# ---- a kernel written from the header alone -------------------------------------
check 0 "attention_own.c is right" --kernel "$own" --op attention
fault() {                               # N KIND TENSOR
    CC="cc -DFAULT=$1"; export CC
    check 1 "fault $1 is found" --kernel "$own" --op attention
    unset CC
    contains "$out" "diagnosis: $2" "fault $1 is $2"
    contains "$err" ": $3[" "fault $1: $3 is named"
}
fault 1 scale_missing dk
fault 2 one_entry dk                    # ATT-09
contains "$out" "dk[1, 4, 2, 0]  (batch 1, key 4, head 2, channel 0)" "which element, and what it is"
contains "$out" "1 of 216 elements" "and that it is the only one"
if ! sanitized; then                    # what they are diagnosed as, test_diagnose asks there
    fault 3 softmax_row_sum_missing dq
    fault 4 mask_leak o
    fault 5 overwritten dk
fi
fault 6 masked_row o                    # ATT-01
contains "$out" "exact zeros" "a query that sees no key is held to exact zeros"

CC="cc -DFAULT=2" check 1 "the line to repeat a case is right" --kernel "$own" --op attention --case 30 --seed 42
is "$(grep -c '^  30  float32' .out)" 1 "only that case"

# ---- a kernel in tiles, by somebody who had read the page and the header only ----
docs=$root/tests/kernels/attention_from_docs.c
check 0 "attention_from_docs.c is right" --kernel "$docs" --op attention
contains "$out" "56 of 56 cases" "in float64 and float32"
plant() {                               # SED KIND WHAT
    sed "$1" "$docs" > attention_from_docs.c
    ok "$3: planted" sh -c '! cmp -s "$1" attention_from_docs.c' sh "$docs"
    check 1 "$3: found" --kernel attention_from_docs.c --op attention --precision float64
    contains "$out" "diagnosis: $2" "$3: $2"
}
if ! sanitized; then
    plant 's/(dp\[j\] - delta) \* scale/(dp[j] - delta)/' scale_missing "dS without 1/sqrt(HS)"
    plant 's/ - delta)/)/' softmax_row_sum_missing "dS without the row sum"
    plant 's/dv\[key + d\] += p/dv[key + d] = p/' overwritten "dv is assigned"
fi
plant 's/if (!sees(c, t0 + i, u0 + j)) continue;/const REAL seen = sees(c, t0 + i, u0 + j);/
       s/const REAL p = EXP(s\[j\] - top/const REAL p = !seen ? 0 : EXP(s[j] - top/' mask_leak "0 times a hidden value"
contains "$out" "hidden NaN" "and which check says so"
plant 's/\*lse = c->save/*lse = F(kept)/
       s/^static int F(forward)/static REAL F(kept)[100000];\n&/' nondeterministic "lse in a static"
contains "$out" 'goes into `save`' "and where it belongs"

# ---- what a pass says, and what not ------------------------------------------------
python -c 'import numpy as np
a = dict(np.load("layernorm.npz")); a["x.grad"] = a.pop("dx"); np.savez("renamed.npz", **a)'
check 0 "a gradient by another name" --dump renamed.npz --op layernorm
contains "$out" "x.grad (is dx meant?)" "is asked for"
contains "$out" "not checked: dx" "and not called right"

# ---- other libraries ---------------------------------------------------------------
ok "a shared library is built" cc -shared -fPIC -I"$root/include" -o own.so "$own" -lm
check 0 "a shared library" --kernel own.so --op attention --precision float32
contains "$out" "28 of 28" "all its cases"
cat > crash.c <<'END'
#include <stdio.h>
#include <vitrine_kernel.h>
int vt_kernel(const vt_kernel_call *c)
{
    printf("hello from the kernel\n");
    float *y = c->out[0];
    for (size_t i = 0; i <= c->N; i++) y[i] = 0;        /* one too many */
    return 0;
}
END
check 1 "a write behind the end is a finding" --kernel crash.c --op gelu --precision float32
contains "$out" "forward pass: " "which pass"
contains "$out" "behind the end of" "what it did"
contains "$out" "| hello from the kernel" "what it printed"
cat > hang.c <<'END'
#include <vitrine_kernel.h>
int vt_kernel(const vt_kernel_call *c) { volatile const vt_kernel_call *w = c; while (w) {} return 0; }
END
check 1 "a hang is a finding" --kernel hang.c --op gelu --seconds 0.2
contains "$out" " in 1 of 56 cases" "and the last case"
cat > input.c <<'END'
#include <stdint.h>
#include <vitrine_kernel.h>
int vt_kernel(const vt_kernel_call *c) { ((char *)(uintptr_t)c->in[0])[0] = 1; return 0; }
END
check 1 "a write to an input is a finding" --kernel input.c --op gelu
contains "$out" "wrote to its input x, element 0" "which input"
contains "$out" "diagnosis: input_written" "and its kind"

# ---- bad input ------------------------------------------------------------------------
echo 'int vt_kernel(' > broken.c
echo 'int other(void) { return 0; }' > other.c
refuses 3 "broken.c" "what does not compile" "$vitrine" check --kernel broken.c --op gelu
refuses 3 "vt_kernel" "a library without the function" "$vitrine" check --kernel other.c --op gelu
refuses 4 "none.c" "no such kernel" "$vitrine" check --kernel none.c --op gelu
refuses 3 "does not have softmax" "another operator" "$vitrine" check --kernel "$own" --op softmax
refuses 3 "float64" "another precision" "$vitrine" check --kernel "$own" --op attention --precision float64
refuses 2 "--op: expected" "no operator" "$vitrine" check --kernel gelu.c
refuses 2 "expected softmax" "no such operator" "$vitrine" check --kernel gelu.c --op relu
refuses 2 "--list-ops" "two checks at once" "$vitrine" check --kernel gelu.c --dump a.npz --op gelu
refuses 2 "--causal goes with --dump" "an option of another check" "$vitrine" check --kernel gelu.c --op gelu --causal
refuses 2 "--entries goes with a model" "an option of the model's" "$vitrine" check --self-test --entries 3
refuses 2 "--case 999: expected 1 to" "a case that is not there" "$vitrine" check --kernel gelu.c --op gelu --case 999
refuses 4 "none.npz" "no such dump" "$vitrine" check --dump none.npz --op gelu
refuses 3 "broken.c" "what is no dump" "$vitrine" check --dump broken.c --op gelu
refuses 3 "q" "a dump without the tensors" "$vitrine" check --dump layernorm.npz --op attention

# ---- other output ----------------------------------------------------------------------
CC="cc -DFAULT=3" check 1 "--json" --kernel "$own" --op attention --json --junit report.xml
is "$(json "(r['pass'], r['failed'], len(r['cases']), r['seed'])")" "(False, 2, 2, 42)" "JSON: the verdict"
is "$(json "r['cases'][0]['diagnosis']['kind']")" "'softmax_row_sum_missing'" "JSON: the diagnosis"
is "$(json "[w['name'] for w in r['cases'][0]['rows'] if w['result'] == 'fail']")" "['dq', 'dk', 'other upstream']" "JSON: the rows"
ok "JUnit XML is XML, with the failures" /usr/bin/python3 - <<'END'
import xml.etree.ElementTree as tree
suites = tree.parse('report.xml').getroot()
assert suites.tag == 'testsuites' and len(suites) == 2
for suite in suites:
    cases = suite.findall('testcase')
    assert int(suite.get('tests')) == len(cases) > 5
    failed = [c for c in cases if c.find('failure') is not None]
    assert int(suite.get('failures')) == len(failed) == 3
    assert 'dq[' in failed[0].find('failure').get('message')
    assert len([c for c in cases if c.find('skipped') is not None]) == int(suite.get('skipped')) == 2
END
check 0 "--list-ops" --list-ops
for op in softmax linear layernorm gelu attention projected crossentropy block gpt lab; do
    contains "$out" "$op " "--list-ops: $op"
done
exits 0 "vitrine lab --dump" "$vitrine" lab --seed 3 --temperature 0.5 --dump lab.safetensors
check 0 "its dump is checked" --dump lab.safetensors --op lab --heads 1
contains "$out" "    dwv " "its gradients"
refuses 2 "lab.safetensors says 0.5" "another temperature than the dump's" \
    "$vitrine" check --dump lab.safetensors --op lab --heads 1 --temperature 2
check 0 "same words, same report" --kernel gelu.c --op gelu --seed 7
first=$out
check 0 "again" --kernel gelu.c --op gelu --seed 7
is "$out" "$first" "a seed repeats the report"
refuses 2 "--cases 0: expected" "a self-test of nothing" "$vitrine" check --self-test --cases 0
# Each correct kernel in each type; sanitized, in the place of test_self_test.
check 0 "--self-test" --self-test --cases 30 --junit self.xml
contains "$out" "false alarms 0 in 30" "its score"
ok "its JUnit XML has every fault" python -c "
import xml.etree.ElementTree as t
faults, right = t.parse('self.xml').getroot()
assert int(faults.get('tests')) > 100 and int(right.get('tests')) == 1"
check 1 "--compiler" --kernel "$own" --op attention --case 30 --compiler "cc -DFAULT=2"
mkdir temporary && TMPDIR=$tmp/nowhere refuses 4 "nowhere" "TMPDIR is where it is compiled" "$vitrine" check --kernel gelu.c --op gelu
show "$(printf '%s\n' "$out" | tail -n 1)"
finish
