"""teaching_gpt.py -- a GPT in NumPy as courses write it: one window at a time, a line for
each equation, gradients by hand.

In float32 it is what Vitrine is measured against (numpy_peer.py); in float64 what every
program's loss and gradient are compared with (reference.py).  tests/cli_peers.sh holds its
gradient to the complex step.

Weights are one dictionary; they lie in a file in the order of tensors().
"""
import numpy as np

NAMES = ("ln1w", "ln1b", "qkvw", "qkvb", "attprojw", "attprojb",
         "ln2w", "ln2b", "fcw", "fcb", "fcprojw", "fcprojb")
ROOT = np.sqrt(2 / np.pi)


class Sizes:
    def __init__(self, L, C, NH, FF, T, V, tied):
        self.L, self.C, self.NH, self.FF, self.T, self.V, self.tied = L, C, NH, FF, T, V, tied

    def tensors(self):
        """(name, shape) of each, as src/model/tensors.def has them."""
        C, FF = self.C, self.FF
        shapes = ((C,), (C,), (C, 3 * C), (3 * C,), (C, C), (C,),
                  (C,), (C,), (C, FF), (FF,), (FF, C), (C,))
        yield "wte", (self.V, C)
        yield "wpe", (self.T, C)
        for i in range(self.L):
            yield from ((f"h.{i}.{name}", shape) for name, shape in zip(NAMES, shapes))
        yield "lnfw", (C,)
        yield "lnfb", (C,)
        if not self.tied:
            yield "headw", (C, self.V)

    def count(self):
        return sum(int(np.prod(shape)) for _, shape in self.tensors())

    def views(self, flat):
        out, at = {}, 0
        for name, shape in self.tensors():
            n = int(np.prod(shape))
            out[name] = flat[at:at + n].reshape(shape)
            at += n
        return out


def norm(x, w, b):
    centred = x - x.mean(-1, keepdims=True)
    rstd = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
    hat = centred * rstd
    return hat * w + b, (hat, rstd)


def norm_back(dy, w, kept):
    hat, rstd = kept
    dhat = dy * w
    dx = rstd * (dhat - dhat.mean(-1, keepdims=True) - hat * (dhat * hat).mean(-1, keepdims=True))
    return dx, (dy * hat).sum(0), dy.sum(0)


def softmax(s):
    e = np.exp(s - s.real.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def heads(x, n):
    return x.reshape(len(x), n, -1).transpose(1, 0, 2)


def merged(x):
    return x.transpose(1, 0, 2).reshape(x.shape[1], -1)


def forward(p, z, ids, targets):
    """The mean loss of one window, and what its gradient needs."""
    T, root = len(ids), np.sqrt(z.C / z.NH)
    later = np.triu(np.ones((T, T), bool), 1)
    x, layers = p["wte"][ids] + p["wpe"][:T], []
    for i in range(z.L):
        w = {name: p[f"h.{i}.{name}"] for name in NAMES}
        a, norm1 = norm(x, w["ln1w"], w["ln1b"])
        q, k, v = (heads(y, z.NH) for y in np.split(a @ w["qkvw"] + w["qkvb"], 3, -1))
        scaled = q @ k.transpose(0, 2, 1) / root
        att = softmax(np.where(later, -np.inf, scaled))
        o = merged(att @ v)
        x = x + o @ w["attprojw"] + w["attprojb"]
        m, norm2 = norm(x, w["ln2w"], w["ln2b"])
        h = m @ w["fcw"] + w["fcb"]
        t = np.tanh(ROOT * (h + 0.044715 * h * h * h))
        g = 0.5 * h * (1 + t)
        x = x + g @ w["fcprojw"] + w["fcprojb"]
        layers.append((w, a, norm1, q, k, v, scaled, att, o, m, norm2, h, t, g))
    f, normf = norm(x, p["lnfw"], p["lnfb"])
    logits = f @ (p["wte"].T if z.tied else p["headw"])
    probs = softmax(logits)
    loss = -np.log(probs[np.arange(T), targets]).mean()
    return loss, (layers, f, normf, probs)


def backward(p, z, ids, targets, kept, grad, weight):
    """Adds the gradient of weight * loss into grad."""
    layers, f, normf, probs = kept
    T, root = len(ids), np.sqrt(z.C / z.NH)
    dlogits = probs.copy()
    dlogits[np.arange(T), targets] -= 1
    dlogits *= weight / T
    if z.tied:
        grad["wte"] += dlogits.T @ f
        df = dlogits @ p["wte"]
    else:
        grad["headw"] += f.T @ dlogits
        df = dlogits @ p["headw"].T
    dx, dw, db = norm_back(df, p["lnfw"], normf)
    grad["lnfw"] += dw
    grad["lnfb"] += db
    for i in reversed(range(z.L)):
        w, a, norm1, q, k, v, _, att, o, m, norm2, h, t, g = layers[i]

        def add(name, value, at=f"h.{i}."):
            grad[at + name] += value

        add("fcprojw", g.T @ dx)
        add("fcprojb", dx.sum(0))
        dh = dx @ w["fcprojw"].T
        dh = dh * (0.5 * (1 + t) + 0.5 * ROOT * h * (1 - t * t) * (1 + 3 * 0.044715 * h * h))
        add("fcw", m.T @ dh)
        add("fcb", dh.sum(0))
        dm, dw, db = norm_back(dh @ w["fcw"].T, w["ln2w"], norm2)
        add("ln2w", dw)
        add("ln2b", db)
        dx = dx + dm
        add("attprojw", o.T @ dx)
        add("attprojb", dx.sum(0))
        do = heads(dx @ w["attprojw"].T, z.NH)
        datt = do @ v.transpose(0, 2, 1)
        ds = att * (datt - (datt * att).sum(-1, keepdims=True)) / root
        dqkv = np.concatenate([merged(ds @ k), merged(ds.transpose(0, 2, 1) @ q),
                               merged(att.transpose(0, 2, 1) @ do)], -1)
        add("qkvw", a.T @ dqkv)
        add("qkvb", dqkv.sum(0))
        da, dw, db = norm_back(dqkv @ w["qkvw"].T, w["ln1w"], norm1)
        add("ln1w", dw)
        add("ln1b", db)
        dx = dx + da
    grad["wpe"][:T] += dx
    np.add.at(grad["wte"], ids, dx)


def gradient(flat, z, x, y):
    """Mean loss of the windows x, targets y, its gradient (flat), the largest scaled score."""
    p, out = z.views(flat), np.zeros_like(flat)
    grad, loss, score = z.views(out), 0.0, 0.0
    for ids, targets in zip(x, y):
        one, kept = forward(p, z, ids, targets)
        backward(p, z, ids, targets, kept, grad, flat.dtype.type(1 / len(x)))
        loss += float(one) / len(x)
        score = max([score] + [float(np.abs(layer[6]).max()) for layer in kept[0]])
    return loss, out, score


def step(flat, state, z, x, y, lr=np.float32(1e-3), decay=np.float32(0.01)):
    """Gradient, norm, clipping at 1, AdamW; state: [steps done, m, v]."""
    loss, g, _ = gradient(flat, z, x, y)
    total = np.sqrt((g * g).sum())
    if total > 1:
        g /= total
    state[0] += 1
    _, m, v = state
    m += np.float32(0.1) * (g - m)
    v += np.float32(0.001) * (g * g - v)
    mhat, vhat = m / np.float32(1 - 0.9 ** state[0]), v / np.float32(1 - 0.999 ** state[0])
    flat -= lr * (mhat / (np.sqrt(vhat) + np.float32(1e-8)) + decay * flat)
    return loss
