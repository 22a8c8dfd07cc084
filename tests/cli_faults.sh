# cli_faults.sh -- tools/faults, the fault table: what is left when a call of a save is the
# last one or fails, after kill -9, on a full disk, in a folder that may not be written.
# Known faults CKPT-01, CKPT-02, NUM-01.
# asan: no, the library's refusals are test_faults's, there; processes that are killed leak
. "${0%/*}/tap.sh"

# The shim itself: call n of the kind fails and no other, under the folder and not beside it.
shim=${vitrine%/*}/tests/fault_shim.so
mkdir in out
write() {                               # PLAN: two writes to in/a, one to out/b; what was said
    VT_FAULT=$1 VT_FAULT_UNDER=$tmp/in VT_FAULT_MARK=$tmp/mark LD_PRELOAD=$shim /usr/bin/python3 -c '
import os
for path in ("out/b", "in/a"):
    f = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for text in (b"1234", b"5678"):
        try: os.write(f, text)
        except OSError as e: print(path, text.decode(), e.strerror)
print("end")' 2>&1
}
is "$(write write:2:ENOSPC)" "in/a 5678 No space left on device
end" "the shim: the second write fails"
is "$(cat mark)" "write 2 $tmp/in/a" "and says which it was"
is "$(write write:1+:EIO | wc -l)" 3 "the shim: each from the first on"
rm mark
is "$(write write:3:EIO)" end "the shim: a third is not reached"
ok "nor marked" [ ! -e mark ]
write write:2:short >/dev/null
is "$(cat in/a)" 123456 "the shim: half of the second, then the end"
is "$(write sync:0:EIO)" "fault_shim: VT_FAULT: expected KIND:N:HOW" "the shim: a plan that is none"

# A folder that cannot be locked is said to be so; nothing else changes.
. "$root/tests/models.sh"
make_corpus c.csv 20
exits 0 "a training" train --data c.csv --steps 1 --out in/locked
lacks "$out" "cannot be locked" "locked, it says nothing"
exits 0 "no locks" env VT_FAULT=lock:1+:ENOTSUP VT_FAULT_UNDER="$tmp/in" LD_PRELOAD="$shim" \
    "$vitrine" train --preset tiny --data c.csv --steps 1 --out in/free
contains "$out" "in/free: cannot be locked; nothing keeps another training out" "no locks: a note"
is "$(state in/free)" "$(state in/locked)" "no locks: the same bits"

# A signal right before the call that waits for a writer: nothing of it is lost.
mkfifo in/never
exits 130 "a signal before the wait ends it" env VT_FAULT=input:1:term VT_FAULT_UNDER="$tmp/in/never" \
    LD_PRELOAD="$shim" timeout -s KILL 60 "$vitrine" eval in/free in/never
contains "$err" "interrupted by signal 15" "and it says so"

# The table: a test for each line of it.
for section in saves others kills places; do
    VITRINE=$vitrine "$root/tools/faults" --quick --seed 1 $section > table 2> said
    status=$?
    while read -r verdict what; do
        case $verdict in
            ok)   tap_pass "$what" ;;
            skip) skip 1 "$what" ;;
            BAD)  tap_fail "$what" ;;
        esac
    done < table
    is "$status $(cat said)" "0 " "$section: every outcome is good"
    lines=$(grep -c '^ok ' table)
    case $section in saves) least=48 ;; others) least=100 ;; kills) least=1 ;; places) least=70 ;; esac
    ok "$section: $lines lines" [ "$lines" -ge $least ]
    show "$section: $(tail -n 1 table)"
    [ $section != kills ] || show "$(grep kill-9 table)"
done
finish
