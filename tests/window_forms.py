"""window_forms.py -- the forms of an exported window against each other and NumPy.

    window_forms.py equal FILE FILE...      every number in all of them, bit for bit; a
                                            window.safetensors of a site counts as one
    window_forms.py stages FILE MODEL_DIR   each stage of attention and the logits from
                                            those before it and the model's weights
    window_forms.py part WHOLE FILE [LAYER [HEAD]] [float32]
                                            FILE is that part of WHOLE, rounded if float32

struct, json, csv and numpy are the readers; none of ours.  Prints what is wrong, exit
status 1; or one line with what was compared.
"""
import csv
import io
import json
import math
import re
import struct
import sys

import numpy as np

TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32}
U = 2.0 ** -53                          # half the distance from 1 to the next double


def refuse(word):
    raise ValueError(f"{word} is no JSON (RFC 8259)")


def once(pairs):
    names = [k for k, _ in pairs]
    assert len(names) == len(set(names)), "a key stands twice"
    return dict(pairs)


def number(x):
    """-inf is a text in JSON; nothing else is."""
    if isinstance(x, list):
        return [number(y) for y in x]
    assert x == "-inf" or isinstance(x, (int, float)) and not isinstance(x, bool), x
    return float(x)


def read_safetensors(data):
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n], object_pairs_hook=once)
    meta = header.pop("__metadata__", None)
    tensors = {k: np.frombuffer(data, TYPES[t["dtype"]], offset=8 + n + t["data_offsets"][0],
                                count=math.prod(t["shape"])).reshape(t["shape"])
               for k, t in header.items()}
    if meta:
        assert set(meta) == {"format", "provenance"} and meta["format"] == "vitrine-window-1", meta
    return meta and json.loads(meta["provenance"]), tensors


def read_npz(data):
    with np.load(io.BytesIO(data), allow_pickle=False) as z:
        tensors = {k: z[k] for k in z.files}
    return json.loads(bytes(tensors.pop("provenance"))), tensors


def read_json(data):
    whole = json.loads(data, parse_constant=refuse, object_pairs_hook=once)
    assert list(whole) == ["format", "provenance", "tokens", "tensors"], list(whole)
    tokens = whole["tokens"]
    tensors = {"tokens": np.array(tokens["ids"], np.int32), "targets": np.array(tokens["targets"], np.int32)}
    for i, piece in enumerate(tokens["bytes"]):
        assert bytes.fromhex(piece).decode("utf-8", "replace") == tokens["pieces"][i]
    for name, t in whole["tensors"].items():
        assert list(t) == ["shape", "data"], name
        # np.array would take ragged lists for objects.
        tensors[name] = np.array(number(t["data"]), np.float64)
        assert list(tensors[name].shape) == t["shape"], name
    return whole["provenance"], tensors


def unquoted(piece):
    """What `vitrine tokenize` prints between quotation marks, as bytes."""
    assert piece[0] == piece[-1] == '"'
    out = re.sub(rb'\\(x..|.)', lambda m: {b"n": b"\n", b'"': b'"', b"\\": b"\\"}.get(m[1])
                 or bytes([int(m[1][1:], 16)]), piece[1:-1].encode())
    return out


def read_csv(data):
    assert data.endswith(b"\r\n") and data.count(b"\n") == data.count(b"\r\n")
    lines = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
    assert lines[0] == "tensor,layer,head,row,column,value,text".split(",")
    assert all(len(line) == 7 for line in lines)
    assert lines[1][0] == "provenance" and not any(lines[1][1:6])
    provenance, cells = json.loads(lines[1][6]), {}
    text = b""
    for name, layer, head, row, column, value, piece in lines[2:]:
        found = re.match(r"(?:grad\.)?h\.(\d+)\.", name)
        assert layer == (found[1] if found else ""), name
        if name == "tokens":
            text += unquoted(piece)
        elif name != "targets":
            assert piece == "", piece
        place = tuple(int(x) for x in (head, row, column) if x)
        cells.setdefault(name, []).append((place, float(value)))
    whole = provenance["text"].encode()
    assert text == whole[:len(text)] and (len(text) == len(whole) or
                                          provenance["text_tokens"] > len(provenance["tokens"]))
    tensors = {}
    for name, numbers in cells.items():
        # In order, every place once: the last place says the shape, the first may be a head's.
        first, last = numbers[0][0], numbers[-1][0]
        shape = tuple(b + 1 - a for a, b in zip(first, last))
        assert [tuple(a + i for a, i in zip(first, at)) for at in np.ndindex(*shape)] == \
            [place for place, _ in numbers], name
        kind = np.int32 if name in ("tokens", "targets") else np.float64
        tensors[name] = np.array([x for _, x in numbers]).astype(kind).reshape(shape)
    return provenance, tensors


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    end = path.rsplit(".", 1)[1]
    provenance, tensors = {"safetensors": read_safetensors, "npz": read_npz, "json": read_json,
                           "csv": read_csv}[end](data)
    if provenance and provenance["tensors"]["dtype"] == "float32":
        # The shortest decimal of a float32 is another double's, too: read as what it is.
        for name, x in tensors.items():
            if x.dtype == np.float64:
                assert end in ("json", "csv"), name
                tensors[name] = x.astype(np.float32)
    return provenance, tensors


def bits(a):
    """As doubles: exact, also of float32."""
    return np.ascontiguousarray(a, np.float64).view(np.uint64) if a.dtype.kind == "f" else a


def same(a, b, what):
    assert list(a) == list(b), f"{what}: {sorted(set(a) ^ set(b))[:5]}"
    for name in a:
        assert np.array_equal(bits(a[name]).ravel(), bits(b[name]).ravel()), f"{what}: {name}"
    return sum(x.size for x in a.values())


def equal(first, *others):
    provenance, tensors = read(first)
    assert provenance["tokens"] == list(tensors["tokens"])
    assert provenance["targets"] == list(tensors["targets"])
    n = 0
    for path in others:
        p, t = read(path)
        mine = tensors
        if p is None:                   # a site's: the tensors alone
            mine = {k: v for k, v in tensors.items() if k not in ("tokens", "targets")}
        else:
            assert p == provenance, f"{path}: provenance"
        for name in mine:               # a CSV has columns of a head, and not that it is one
            assert mine[name].shape == t[name].shape or path.endswith(".csv"), f"{path}: {name}"
        n += same(mine, t, path)
    print(f"{len(tensors)} tensors, {n} numbers compared")


def near(found, expected, bound, what):
    gap = np.abs(found - expected)
    assert found.shape == expected.shape, f"{what}: {found.shape}"
    assert np.all(gap <= bound), f"{what}: off by {np.nanmax(gap / bound)} of the bound"
    return found.size


def product(a, w, b=0.0):
    """a w + b, and how far two sums of its terms, in any order, may be apart."""
    n = a.shape[-1] + 1
    gamma = n * U / (1 - n * U)
    return a @ w + b, 2 * gamma * (np.abs(a) @ np.abs(w) + np.abs(b)) + 2.0 ** -1000


def stages(path, folder):
    provenance, t = read(path)
    with open(f"{folder}/model.safetensors", "rb") as f:
        weights = read_safetensors_plain(f.read())
    z = provenance["model"]
    T, C, H = len(t["tokens"]), z["channels"], z["heads"]
    size, n = C // H, 0
    seen = np.tril(np.ones((T, T), bool))
    x = t["embedded"]
    assert np.array_equal(x, weights["wte.weight"][t["tokens"]] + weights["wpe.weight"][:T])

    def split(a):
        return a.reshape(T, H, size).transpose(1, 0, 2)

    for i in range(z["layers"]):
        s, w = (lambda name, i=i: t[f"h.{i}.{name}"]), (lambda name, i=i: weights[f"h.{i}.{name}"])
        qkv, bound = product(s("ln1"), w("attn.c_attn.weight"), w("attn.c_attn.bias"))
        for k, name in enumerate("qkv"):
            n += near(s(name), *(a[:, k * C:(k + 1) * C] for a in (qkv, bound)), f"{i} {name}")
        q, k, v = (split(s(name)) for name in "qkv")
        n += near(s("scores"), *product(q, k.transpose(0, 2, 1)), f"{i} scores")
        # One rounded operation, or none: the same bits.
        assert np.array_equal(s("scaled"), s("scores") / math.sqrt(size)), f"{i} scaled"
        assert np.array_equal(s("masked"), np.where(seen, s("scaled"), -np.inf)), f"{i} masked"
        # exp of a difference with one rounding; of each term exp's own error, a sum, a quotient.
        shifted = s("masked") - s("masked").max(-1, keepdims=True)
        e = np.exp(shifted)
        att = e / e.sum(-1, keepdims=True)
        spread = np.max(np.where(seen, -shifted, 0))
        n += near(s("att"), att, att * (4 * spread + 2 * T + 16) * U, f"{i} att")
        assert np.all(s("att")[:, ~seen] == 0) and np.all(s("att")[:, seen] > 0), f"{i} att: mask"
        near(s("att").sum(-1), np.ones((H, T)), (2 * T + 2) * U, f"{i} att: sums")
        values, bound = product(s("att"), v)
        n += near(split(s("values")), values, bound, f"{i} values")
        n += near(s("attproj"), *product(s("values"), w("attn.c_proj.weight"), w("attn.c_proj.bias")),
                  f"{i} attproj")
        assert np.array_equal(s("res1"), x + s("attproj")), f"{i} res1"
        n += near(s("fc"), *product(s("ln2"), w("mlp.c_fc.weight"), w("mlp.c_fc.bias")), f"{i} fc")
        n += near(s("fcproj"), *product(s("gelu"), w("mlp.c_proj.weight"), w("mlp.c_proj.bias")),
                  f"{i} fcproj")
        x = s("res2")
        assert np.array_equal(x, s("res1") + s("fcproj")), f"{i} res2"
    head = weights["wte.weight" if z["tied"] else "lm_head.weight"].T
    n += near(t["logits"], *product(t["lnf"], head), "logits")
    shifted = t["logits"] - t["logits"].max(-1, keepdims=True)
    loss = np.log(np.exp(shifted).sum(-1)) - shifted[np.arange(T), t["targets"]]
    counted = t["targets"] >= 0
    near(t["loss"][counted], loss[counted], 64 * z["vocabulary"] * U, "loss")
    near(np.array(provenance["loss"]), loss[counted].mean(), 64 * z["vocabulary"] * U, "mean loss")
    print(f"{n} numbers computed again")


def read_safetensors_plain(data):
    """Other metadata, Hugging Face's names; float32 widened."""
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    return {k.removeprefix("transformer."):
            np.frombuffer(data, TYPES[t["dtype"]], offset=8 + n + t["data_offsets"][0],
                          count=math.prod(t["shape"])).reshape(t["shape"]).astype(np.float64)
            for k, t in header.items() if k != "__metadata__"}


def part(whole, path, *words):
    _, a = read(whole)
    provenance, b = read(path)
    numbers = [int(x) for x in words if x.isdigit()]
    heads = provenance["model"]["heads"]
    expected = {}
    for name, x in a.items():
        if name in ("tokens", "targets"):
            expected[name] = x
            continue
        found = re.match(r"(?:grad\.)?h\.(\d+)\.(.*)", name)
        if numbers and (not found or int(found[1]) != numbers[0]):
            continue
        if len(numbers) > 1:
            if x.ndim == 3:
                x = x[numbers[1]:numbers[1] + 1]
            elif not name.startswith("grad.") and \
                    found[2].removeprefix("d") in ("q", "k", "v", "values"):
                width = x.shape[1] // heads
                x = x[:, numbers[1] * width:(numbers[1] + 1) * width]
            else:
                continue
        if "float32" in words:
            x = x.astype(np.float32)
        expected[name] = x
    if "float32" in words:
        assert provenance["tensors"]["dtype"] == "float32"
    assert provenance["tensors"]["count"] == len(expected) - 2
    print(f"{len(expected)} tensors, {same(expected, b, path)} numbers")


if __name__ == "__main__":
    try:
        {"equal": equal, "stages": stages, "part": part}[sys.argv[1]](*sys.argv[2:])
    except AssertionError as error:
        sys.exit(f"{error}")
