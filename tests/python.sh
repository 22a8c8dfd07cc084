# python.sh -- Python for the shell tests; source it behind tap.sh.  One process answers each
# time: to start another takes longer than most of what is asked, and than most commands that
# are tested.
#
#   python -c SCRIPT ARG...   runs it as /usr/bin/python3 does, in the current folder, but
#   python FILE ARG...        without standard input, and with the environment as it was when
#                             this file was sourced
#   key NAME...               the values of these keys of the JSON object in .out, as
#                             Python prints them, a space between them
#   is_json                   .out holds JSON
mkfifo "$tmp/.python" "$tmp/.python-status"
# It ends when nobody holds descriptor 8 any more, so with this shell.
/usr/bin/python3 -B "$root/tests/python_serve.py" "$tmp" <"$tmp/.python" >"$tmp/.python-status" &
exec 8>"$tmp/.python" 7<"$tmp/.python-status"

python() {
    printf '%s\0' $# "$PWD" "$@" >&8
    read -r python_status <&7 || { echo "python: is gone" >&2; return 1; }
    [ ! -s "$tmp/.python-err" ] || cat "$tmp/.python-err" >&2
    [ ! -s "$tmp/.python-out" ] || cat "$tmp/.python-out"
    return "$python_status"
}

# .out is read once; its keys are then words of the shell, which are good while they are newer.
flat() {
    [ .out -ot "$tmp/.flat" ] || python -c 'import json, sys
def quoted(text): return "\x27" + text.replace("\x27", "\x27\\\x27\x27") + "\x27"
def walk(path, v):
    text = str(v)
    if "\0" not in text: yield f"{quoted(path)}) key_value={quoted(text)} ;;\n"
    for k, x in v.items() if isinstance(v, dict) else enumerate(v) if isinstance(v, list) else ():
        yield from walk(f"{path}.{k}".lstrip("."), x)
lines = "".join(walk("", json.load(open(".out", encoding="utf-8"))))
open(sys.argv[1], "w", encoding="utf-8").write("case $1 in\n" + lines + "*) false ;;\nesac\n")' "$tmp/.flat"
}

key() {
    key_all=
    while [ $# -gt 0 ]; do
        # shellcheck source=/dev/null
        flat && . "$tmp/.flat" || key_value=$(python -c 'import json, sys
v = json.load(open(".out", encoding="utf-8"))
for k in sys.argv[1].split("."):
    v = v[int(k)] if isinstance(v, list) else v[k]
print(v)' "$1") || return
        key_all=$key_all$key_value
        shift
        [ $# -eq 0 ] || key_all="$key_all "
    done
    printf '%s\n' "$key_all"
}

is_json() { flat; }
