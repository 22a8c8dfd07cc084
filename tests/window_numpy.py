"""window_numpy.py -- an exported window against NumPy: another forward pass, from the
weights as other programs read them.

    window_numpy.py FOLDER [DUMP]

FOLDER is site/data/NAME; DUMP, dump_definitions' file of the same model, whose first
row of tokens begins the window.  Prints a line for each finding; exit status 1 where
there is one.
"""
import hashlib
import json
import math
import struct
import sys

import numpy as np

TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32}


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[8 + n:], TYPES[t["dtype"]], offset=t["data_offsets"][0],
                                count=math.prod(t["shape"])).reshape(t["shape"])
            for name, t in header.items()}


def layer_norm(x, w, b):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * w + b


def forward(p, sizes, ids, targets):
    """Logits, weights of attention by layer, mean loss."""
    T, C, H = len(ids), sizes["channels"], sizes["heads"]
    x = p["wte.weight"][ids] + p["wpe.weight"][:T]
    weights = []
    for i in range(sizes["layers"]):
        w = {k[len(f"h.{i}."):]: v for k, v in p.items() if k.startswith(f"h.{i}.")}
        qkv = layer_norm(x, w["ln_1.weight"], w["ln_1.bias"]) @ w["attn.c_attn.weight"] + w["attn.c_attn.bias"]
        q, k, v = (t.reshape(T, H, C // H).transpose(1, 0, 2) for t in np.split(qkv, 3, -1))
        s = np.where(np.tril(np.ones((T, T), bool)), q @ k.transpose(0, 2, 1) / math.sqrt(C // H), -np.inf)
        e = np.exp(s - s.max(-1, keepdims=True))
        a = e / e.sum(-1, keepdims=True)
        weights.append(a)
        o = (a @ v).transpose(1, 0, 2).reshape(T, C)
        x = x + o @ w["attn.c_proj.weight"] + w["attn.c_proj.bias"]
        h = layer_norm(x, w["ln_2.weight"], w["ln_2.bias"]) @ w["mlp.c_fc.weight"] + w["mlp.c_fc.bias"]
        h = 0.5 * h * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h ** 3)))
        x = x + h @ w["mlp.c_proj.weight"] + w["mlp.c_proj.bias"]
    x = layer_norm(x, p["ln_f.weight"], p["ln_f.bias"])
    logits = x @ (p["wte.weight"] if sizes["tied"] else p["lm_head.weight"]).T
    z = logits - logits.max(-1, keepdims=True)
    losses = np.log(np.exp(z).sum(-1)) - z[np.arange(T), targets]
    return logits, weights, losses[np.array(targets) >= 0].mean()


# Names of gradients in the code, of weights in the files.
NAMES = {"ln1w": "ln_1.weight", "ln1b": "ln_1.bias", "qkvw": "attn.c_attn.weight",
         "qkvb": "attn.c_attn.bias", "attprojw": "attn.c_proj.weight", "attprojb": "attn.c_proj.bias",
         "ln2w": "ln_2.weight", "ln2b": "ln_2.bias", "fcw": "mlp.c_fc.weight", "fcb": "mlp.c_fc.bias",
         "fcprojw": "mlp.c_proj.weight", "fcprojb": "mlp.c_proj.bias"}


def file_name(name):
    ends = {"wte": "wte.weight", "wpe": "wpe.weight", "lnfw": "ln_f.weight", "lnfb": "ln_f.bias",
            "headw": "lm_head.weight"}
    if name in ends:
        return ends[name]
    _, layer, short = name.split(".")
    return f"h.{layer}.{NAMES[short]}"


def main(folder, dump=None):
    bad = []

    def near(what, found, expected, bound):
        gap = np.max(np.abs(np.asarray(found) - expected))
        if not gap <= bound:
            bad.append(f"{what}: off by {gap:.3g}, expected at most {bound:g}")

    with open(f"{folder}/manifest.json", encoding="utf-8") as f:
        m = json.load(f)
    window = read(f"{folder}/window.safetensors")
    p = {k.removeprefix("transformer."): v.astype(np.float64)
         for k, v in read(f"{folder}/model.safetensors").items()}
    sizes, ids, targets = m["model"], m["tokens"], m["targets"]

    for name, file in m["files"].items():
        with open(f"{folder}/{name}", "rb") as f:
            data = f.read()
        if hashlib.sha256(data).hexdigest() != file["sha256"] or len(data) != file["bytes"]:
            bad.append(f"{name}: hash or length")
    names = m["tensors"]["names"]
    whole = hashlib.sha256(b"".join(window[n].tobytes() for n in names)).hexdigest()
    if names != list(window) or len(names) != m["tensors"]["count"] or whole != m["tensors"]["sha256"]:
        bad.append("tensors: names, count or hash")
    if sum(v.size for v in p.values()) != sizes["parameters"]:
        bad.append("parameters")

    logits, weights, loss = forward(p, sizes, ids, targets)
    near("logits", window["logits"], logits, 1e-12 * np.abs(logits).max())
    near("loss", m["loss"], loss, 1e-13)
    hidden = 0
    for i, a in enumerate(weights):
        mine = window[f"h.{i}.att"]
        near(f"h.{i}.att", mine, a, 1e-13)
        above = np.triu(np.ones(mine.shape[1:], bool), 1)
        hidden += above.sum() * mine.shape[0]
        if np.any(mine[:, above] != 0) or np.any(window[f"h.{i}.masked"][:, above] != -np.inf):
            bad.append(f"h.{i}: a masked cell is not what it should be")
    if m["checks"]["masked_cells"] != hidden or m["checks"]["masked_nonzero"] != 0:
        bad.append("checks: masked cells")
    # Summed in another order, each row may be off by a few ulp of 1 more or less.
    gap = max(np.max(np.abs(window[f"h.{i}.att"].sum(-1) - 1)) for i in range(sizes["layers"]))
    near("checks: row_sum_gap", m["checks"]["row_sum_gap"], gap, 2e-15)

    # All gradients at once, along a random direction, by a central difference.
    rng = np.random.default_rng(5)
    step, plus, minus, hand = 1e-5, dict(p), dict(p), 0.0
    for name in names:
        if not name.startswith("grad."):
            continue
        file, g = file_name(name[5:]), window[name]
        g = g.T if file == "lm_head.weight" else g
        d = rng.standard_normal(g.shape)
        hand += np.sum(g * d)
        plus[file], minus[file] = p[file] + step * d, p[file] - step * d
    rise = (forward(plus, sizes, ids, targets)[2] - forward(minus, sizes, ids, targets)[2]) / (2 * step)
    near("gradients along a direction", hand, rise, 1e-6 * max(1, abs(rise)))

    if dump:
        other = read(dump)
        n = other["tokens"].shape[1]
        if list(other["tokens"][0]) != ids[:n]:
            bad.append("the dump has other tokens")
        if not np.array_equal(other["logits"][:n], window["logits"][:n]):
            bad.append("logits: not the bits of dump_definitions")
    print("\n".join(bad) if bad else f"{len(names)} tensors, {len(ids)} tokens")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
