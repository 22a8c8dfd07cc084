# cli_layers.sh -- the check of who includes whom: every rule broken once, in a
# small tree made here, is one line that names file, line and rule.
# asan: no, it runs no program of ours
. "${0%/*}/tap.sh"
layers=$root/tools/layers.sh

exits 0 "the tree keeps to its layers" sh "$layers" "$root"
contains "$out" "all allowed" "and says so"

fresh() {                               # a small tree that keeps every rule
    rm -rf tree
    mkdir -p tree/include
    for room in base kernels formats tokenizer data model train verify lab cli; do
        mkdir -p tree/src/$room
    done
    echo '#define VT 1'                       > tree/include/vitrine.h
    echo '#include "vitrine.h"'               > tree/src/base/status.h
    echo '#include "base/status.h"'           > tree/src/formats/json.h
    echo '#include <jansson.h>'               > tree/src/formats/json.c
    echo '#include "base/status.h"'           > tree/src/kernels/ops.h
    echo '#include "vitrine.h"'               > tree/src/kernels/definitions.h
    echo 'double exp_f64(double);'            > tree/src/base/elementary.h
    printf '#include "base/elementary.h"\n#include "kernels/definitions.h"\n' > tree/src/kernels/ref.h
    echo '#include "ref.h"'                   > tree/src/kernels/gelu.c
    echo '#include "kernels/ops.h"'           > tree/src/kernels/fast.h
    echo '#include "kernels/fast.h"'          > tree/src/kernels/gelu_fast.c
    echo '#include "formats/json.h"'          > tree/src/tokenizer/bpe.h
    echo '#include "tokenizer/bpe.h"'         > tree/src/data/csv.h
    echo '#include "kernels/ref.h"'           > tree/src/model/gpt.c
    echo '#include "kernels/ops.h"'           > tree/src/model/gpt.h
    echo '#include "data/csv.h"'              > tree/src/train/trainer.c
    echo '#include "model/gpt.h"'             > tree/src/verify/budget.h
    echo '#include "verify/budget.h"'         > tree/src/lab/grade.c
    printf '#include "vitrine.h"\n#include "made_by_the_build.h"\n' > tree/src/cli/main.c
}
fresh
exits 0 "a tree that keeps every rule" sh "$layers" tree
is "$out" "19 includes in 19 files, all allowed" "each include was looked at"

broken() {                              # FILE INCLUDE PART: one rule broken
    fresh
    mkdir -p "tree/src/${1%/*}"
    printf '\n#include %s\n' "$2" >> "tree/src/$1"
    exits 1 "$1 may not include $2" sh "$layers" tree
    is "$(printf '%s\n' "$err" | wc -l)" 1 "  in one line"
    contains "$err" "layers: src/$1:" "  with the file"
    contains "$err" "$3" "  and the rule"
}
broken base/arena.h      '"formats/json.h"'         'base may not include formats (it may: base and itself)'
broken base/arena.h      '"vitrine.h"'              'only status.h includes a public header'
broken formats/json.h    '"model/gpt.h"'            'formats may not include model'
broken tokenizer/bpe.h   '"data/csv.h"'             'tokenizer may not include data'
broken data/csv.h        '"model/gpt.h"'            'data may not include model'
broken model/gpt.h       '"data/csv.h"'             'model may not include data (it may: base formats kernels and itself)'
broken train/trainer.c   '"verify/budget.h"'        'train may not include verify'
broken verify/budget.h   '"lab/grade.h"'            'verify may not include lab'
broken cli/main.c        '"train/trainer.h"'        'cli may not include train'
broken train/trainer.c   '  "kernels/fast.h"'       'ops.h and definitions.h are for other rooms'
broken train/trainer.c   '"kernels/ref.h"'          'ops.h and definitions.h are for other rooms'
broken kernels/gelu.c    '"base/status.h"'          'a definition includes ref.h and nothing else'
broken kernels/gelu.c    '"vitrine.h"'              'a definition includes ref.h and nothing else'
broken kernels/gelu.c    '<math.h>'                 'a definition includes ref.h and nothing else'
broken kernels/ref.h     '"kernels/ops.h"'          'ref.h is all that a definition sees'
broken kernels/ref.h     '"base/status.h"'          'ref.h is all that a definition sees'
broken kernels/gelu.c    '"base/elementary.h"'      'a definition includes ref.h and nothing else'
broken kernels/definitions.h '"base/elementary.h"'  'definitions.h is all that a definition sees'
broken kernels/definitions.h '"kernels/ops.h"'      'definitions.h is all that a definition sees'
broken kernels/gelu_fast.c '"ref.h"'                'does not include the definitions'
broken kernels/ops.h     '"kernels/definitions.h"'  'does not include the definitions'
broken train/trainer.c   '<jansson.h>'              'belongs to: formats'
broken train/trainer.c   '"csv.h"'                  'name the room: src/data/csv.h'
broken train/trainer.c   '"../data/csv.h"'          'name the room'
broken train/trainer.c   'HEADER'                   'an include without a name'
broken attic/old.c       '"base/status.h"'          'a file of no room known'

fresh
echo > tree/src/train/json.h
exits 1 "two files of one name" sh "$layers" tree
contains "$err" "two files are named json.h: src/formats/json.h, src/train/json.h" "  are both named"

fresh
{ echo 'static int REF(wide)(int a,'; echo '    int b)'; echo '{'
  for i in $(seq 117); do echo "    a += b * $i;"; done; echo '}'; } > tree/src/train/wide.c
exits 0 "a long function is no breach" sh "$layers" tree
contains "$out" "src/train/wide.c:1: wide: a function of 121 lines (60)" "  but it is listed"
seq -f '/* %g */' 121 >> tree/src/kernels/gelu.c
seq -f '/* %g */' 599 >> tree/src/train/trainer.c
exits 0 "a long file is no breach" sh "$layers" tree
contains "$out" "src/kernels/gelu.c: 122 lines (120)" "  but it is listed"
lacks "$out" "trainer.c" "  at the ceiling it is not"

rm -rf tree && mkdir -p tree/src
exits 1 "a tree without sources is no pass" sh "$layers" tree
finish
