"""eval_numpy.py -- what `vitrine eval` says of a text, computed again in double, from the
files that other programs read.

    eval_numpy.py MODEL REPORT TEXT ...

REPORT is the JSON of `vitrine eval MODEL ...` on documents of ASCII, TEXT .. each a
document.  Tokens come from an encoder of its own (tokenizer.json's merges, applied as
GPT-2's encoder.py does), losses from window_numpy's forward pass.  Prints what differs;
exit status 1.
"""
import json
import math
import re
import sys

import numpy as np

from window_numpy import forward, read

# GPT-2's pattern, of ASCII.
WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")


def alphabet():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def encode(text, vocab, ranks, spell):
    ids = []
    for word in WORDS.findall(text):
        parts = [spell[b] for b in word.encode()]
        while len(parts) > 1:
            best = min(zip(parts, parts[1:]), key=lambda p: ranks.get(p, math.inf))
            if best not in ranks:
                break
            i, merged = 0, []
            while i < len(parts):
                if tuple(parts[i:i + 2]) == best:
                    merged.append(parts[i] + parts[i + 1])
                    i += 2
                else:
                    merged.append(parts[i])
                    i += 1
            parts = merged
        ids += [vocab[p] for p in parts]
    return ids


def main(model, report, *texts):
    with open(f"{model}/tokenizer.json", encoding="utf-8") as f:
        t = json.load(f)
    with open(f"{model}/config.json", encoding="utf-8") as f:
        z = json.load(f)
    with open(report, encoding="utf-8") as f:
        r = json.load(f)
    p = {k.removeprefix("transformer."): v.astype(np.float64)
         for k, v in read(f"{model}/model.safetensors").items()}
    vocab = t["model"]["vocab"]
    pairs = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in t["model"]["merges"]]
    ranks, end = {m: i for i, m in enumerate(pairs)}, t["added_tokens"][0]["id"]
    spelled = {i: len(s) for s, i in vocab.items()}     # a character is a byte
    spelled[end] = 0
    ids = []
    for text in texts:
        ids += encode(text, vocab, ranks, alphabet()) + [end]

    sizes = {"channels": z["n_embd"], "heads": z["n_head"], "layers": z["n_layer"],
             "tied": z["tie_word_embeddings"]}
    seq, stride, last = r["seq"], r["stride"], len(ids) - 1
    nats, done, windows, start = 0.0, 0, 0, 0
    while done < last:
        T = min(seq, last - start)
        if T < seq and r["predicted"] < last:           # --whole
            break
        targets = [ids[i] if i > done else -1 for i in range(start + 1, start + T + 1)]
        counted = sum(i >= 0 for i in targets)
        nats += forward(p, sizes, ids[start:start + T], targets)[2] * counted
        done, windows, start = start + T, windows + 1, start + stride
    length = sum(spelled[i] for i in ids[1:done + 1])
    want = {"tokens": len(ids), "documents": len(texts), "bytes": sum(map(len, texts)),
            "predicted": done, "predicted_bytes": length, "windows": windows}
    bad = [f"{k}: {r[k]}, expected {v}" for k, v in want.items() if r[k] != v]
    # float32 against double: a few hundred roundings a token, which are not all one way
    for k, v in {"nats": nats, "loss": nats / done, "perplexity": math.exp(nats / done),
                 "bits_per_byte": nats / math.log(2) / length, "uniform": math.log(z["vocab_size"])}.items():
        if not abs(r[k] - v) <= 2e-6 * abs(v):
            bad.append(f"{k}: {r[k]!r}, expected {v!r}")
    print("\n".join(bad) if bad else f"{done} tokens, loss {nats / done:.6f}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
