# cli_hostile_models.sh -- tensors' files that lie, by every command that opens one: one
# line that names the file and what is wrong, exit status 3 (or 4, 5), nothing on
# standard output.  The rows ST-01 to ST-05, each as a state, as a model of other makers
# and as a dump.
. "${0%/*}/tap.sh"
. "$root/tests/models.sh"
make_corpus c.csv 20
train --data c.csv --steps 1 --out m > .out || exit 1
cp -r m foreign; rm foreign/state.safetensors

# The rows' own inputs.  Each file's name says what it is; "_ok" ones are good.
/usr/bin/python3 - <<'END_P' || exit 1
import struct

def write(name, header, data, length=None, cut=None):
    text = header.encode()
    raw = struct.pack('<Q', len(text) if length is None else length) + text + data
    open(name + '.safetensors', 'wb').write(raw[:cut])

def entry(name, shape, begin, end, dtype='U8'):
    return f'"{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}'

def head(*entries):
    return '{' + ','.join(entries) + '}'

a = entry('a', [8], 0, 8)
write('st01_twice', head(a, entry('a', [4], 8, 12)), bytes(12))
write('st02_overlap', head(a, entry('b', [8], 4, 12)), bytes(12))
write('st02_gap', head(a, entry('b', [4], 12, 16)), bytes(16))
write('st02_trailing', head(a), bytes(12))
write('st02_short', head(a), bytes(7))
size = 8 + len(head(a)) + 8
for name, length in dict(zero=0, one=1, half=2**63, all=2**64 - 1, size7=size - 7, limit=100000001).items():
    write('st03_' + name, head(a), bytes(8), length)
write('st03_seven', head(a), bytes(8), cut=7)
write('st03_empty', head(a), bytes(8), cut=0)
write('st04_twenty', head(entry('a', [2, 3], 0, 20, 'F32')), bytes(20))
write('st04_product', head(entry('a', [2**32, 2**32], 0, 0, 'F32')), b'')
write('st04_negative', head(entry('a', [-1], 0, 1)), bytes(1))
write('st04_dtype', head(entry('a', [1], 0, 4, 'F31')), bytes(4))
write('json_deep', '{"a":' + '[' * 100000, b'')
write('json_nul', '{"a\\u0000":7}', b'')
write('json_latin', '{"a":7}', b'')
raw = bytearray(open('json_latin.safetensors', 'rb').read()); raw[10] = 0xE4
open('json_latin.safetensors', 'wb').write(raw)
write('json_huge', head(entry('a', [10**30], 0, 1)), bytes(1))
write('json_overflow', head(entry('a', '[1e999]', 0, 1)), bytes(1))
END_P
count=0
for file in st0*.safetensors json_*.safetensors; do
    name=${file%.safetensors}
    for folder in m foreign; do
        [ $folder = m ] && at=m/state.safetensors || at=foreign/model.safetensors
        mv $at kept; cp "$file" $at
        if [ $folder = m ]; then
            refuses 3 "m/state.safetensors: " "$name: info" "$vitrine" info m
            refuses 3 "m/state.safetensors: " "$name: check" "$vitrine" check m
        fi
        refuses 3 "$at: " "$name: generate from $folder" "$vitrine" generate $folder --prompt a
        mv kept $at
    done
    refuses 3 "$file: " "$name: check --dump" "$vitrine" check --dump "$file" --op softmax
    count=$((count + 1))
done
is $count 22 "files tried"

# ---- ST-05: data at any address ---------------------------------------------------------
/usr/bin/python3 - <<'END_P' || exit 1
import json, struct
raw = open('m/state.safetensors', 'rb').read()
n, = struct.unpack('<Q', raw[:8])
for k in range(8):
    text = raw[8:8 + n] + b' ' * k
    open('shifted%d' % k, 'wb').write(struct.pack('<Q', n + k) + text + raw[8 + n:])
END_P
mv m/state.safetensors kept
for k in 0 1 2 3 4 5 6 7; do
    cp shifted$k m/state.safetensors
    tap_run "$vitrine" generate m --prompt the --max-tokens 8 --seed 1
    [ $k -ne 0 ] || expected=$out
    is "$status $out" "0 $expected" "ST-05: data $k bytes further on"
done

# ---- what is no file, or has no end -----------------------------------------------------
everywhere() {                          # CODE PART DESC
    refuses "$1" "m/state.safetensors: $2" "$3: info" timeout 60 "$vitrine" info m
    refuses "$1" "m/state.safetensors: $2" "$3: generate" timeout 60 "$vitrine" generate m --prompt a
    refuses "$1" "m/state.safetensors: $2" "$3: check" timeout 60 "$vitrine" check m
    rm -r m/state.safetensors
}
rm m/state.safetensors
mkfifo m/state.safetensors;   everywhere 4 "expected a regular file" "a pipe that nobody writes"
mkdir m/state.safetensors;    everywhere 4 "is a folder, expected a file" "a folder"
ln -s /dev/zero m/state.safetensors; everywhere 4 "expected a regular file" "a device"
if truncate -s 100G m/state.safetensors 2>/dev/null; then
    # Where there is less memory the length says enough; else the first 8 bytes do.
    for command in info check; do
        tap_run timeout 60 "$vitrine" $command m
        ok "100 GB of nothing: $command is refused" test "$status" -eq 3 -o "$status" -eq 5
        is "$(wc -l < .err)" 1 "100 GB of nothing: $command: one line"
        contains "$err" "m/state.safetensors: " "100 GB of nothing: $command: names the file"
    done
    mv m/state.safetensors zeros.safetensors
    tap_run timeout 60 "$vitrine" check --dump zeros.safetensors --op softmax
    ok "100 GB of nothing: a dump is refused" test "$status" -eq 3 -o "$status" -eq 5
    contains "$err" "zeros.safetensors: " "100 GB of nothing: a dump: names the file"
else
    skip 1 "no files of 100 GB on this disk"
fi
finish
