"""torch_peer.py -- PyTorch: products, attention and training steps, as its users write
them (nanoGPT's form: scores, mask, softmax, values; cross-entropy; AdamW)."""
import sys

import numpy as np
import torch
import torch.nn.functional as F

from peer import blas, serve
from teaching_gpt import NAMES, Sizes

torch.set_num_threads(int(sys.argv[1]))


def attend(qkv, NH):
    B, T, C3 = qkv.shape
    q, k, v = (x.reshape(B, T, NH, -1).transpose(1, 2) for x in qkv.split(C3 // 3, dim=2))
    att = (q @ k.transpose(-2, -1)) * (q.shape[-1] ** -0.5)
    att = att.masked_fill(torch.triu(torch.ones(T, T, dtype=torch.bool), 1), float("-inf"))
    return (F.softmax(att, dim=-1) @ v).transpose(1, 2).reshape(B, T, C3 // 3)


def loss_of(p, z, x, y):
    h = p["wte"][x] + p["wpe"][:x.shape[1]]
    norm = lambda h, w, b: F.layer_norm(h, (z.C,), w, b, 1e-5)
    linear = lambda h, w, b: torch.addmm(b, h.reshape(-1, w.shape[0]), w).reshape(*h.shape[:-1], -1)
    for i in range(z.L):
        w = {name: p[f"h.{i}.{name}"] for name in NAMES}
        a = attend(linear(norm(h, w["ln1w"], w["ln1b"]), w["qkvw"], w["qkvb"]), z.NH)
        h = h + linear(a, w["attprojw"], w["attprojb"])
        m = F.gelu(linear(norm(h, w["ln2w"], w["ln2b"]), w["fcw"], w["fcb"]), approximate="tanh")
        h = h + linear(m, w["fcprojw"], w["fcprojb"])
    h = norm(h, p["lnfw"], p["lnfb"])
    logits = h @ (p["wte"].T if z.tied else p["headw"])
    return F.cross_entropy(logits.reshape(-1, z.V), y.reshape(-1))


def gemm(n, read, write):
    x, w = (torch.from_numpy(read(name)).reshape(n[0], n[0]) for name in "xw")
    y = x @ w
    write("y", y.numpy())
    return lambda: torch.mm(x, w, out=y)


def attention(n, read, write, both):
    B, T, NH, HS = n
    qkv = torch.from_numpy(read("qkv")).reshape(B, T, 3 * NH * HS)
    if not both:
        def call():
            with torch.no_grad():
                return attend(qkv, NH)
        write("out", call().numpy())
        return call
    dout = torch.from_numpy(read("dout")).reshape(B, T, NH * HS)
    qkv.requires_grad_()

    def call():
        qkv.grad = None
        out = attend(qkv, NH)
        out.backward(dout)
        return out
    write("out", call().detach().numpy())
    write("d", qkv.grad.numpy())
    return call


def training(n, read, write):
    z, (B, T, vB, vT) = Sizes(*n[:7]), n[7:]
    ids = torch.from_numpy(read("ids", np.int32).astype(np.int64))
    p = {name: torch.from_numpy(w.copy()).requires_grad_() for name, w in z.views(read("weights")).items()}
    loss = loss_of(p, z, ids[:vB * vT].reshape(vB, vT), ids[1:vB * vT + 1].reshape(vB, vT))
    loss.backward()
    write("loss", np.float64(loss.item()))
    write("gradient", np.concatenate([w.grad.numpy().reshape(-1) for w in p.values()]))
    x, y = ids[:-1].reshape(B, T), ids[1:].reshape(B, T)
    optimizer = torch.optim.AdamW(p.values(), lr=1e-3, betas=(0.9, 0.999), weight_decay=0.01)

    def call():
        optimizer.zero_grad(set_to_none=True)
        loss_of(p, z, x, y).backward()
        torch.nn.utils.clip_grad_norm_(p.values(), 1.0)
        optimizer.step()
    return call


def make(kind, n, read, write):
    if kind == "gemm":
        return gemm(n, read, write)
    if kind in ("attention", "attention-both"):
        return attention(n, read, write, kind == "attention-both")
    return training(n, read, write) if kind == "step" else None


serve(f"{torch.__version__}, {blas()}", make)
