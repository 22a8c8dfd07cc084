"""reference.py -- the inputs of each work, what it should compute, and how near that has
to be: in NumPy and double precision, for all programs alike.

Bounds are of rounding, u = 2^-24, whatever the order of the sums:

  gemm       (gamma_n(u) + gamma_n(2^-53)) |x_r| |w_j|  (Higham, Accuracy and Stability, 3.1)
  attention  a running analysis of each number, see bounds(); it is that of
             src/bench/case_attention.c, and allows a softmax that is divided before or
             after it meets the values, and either form of its gradient
  step       8 (r + u g (1 + s)) of each tensor, as `vitrine check`: g its largest gradient,
             s the largest scaled score, and r how far another float program is from the
             double one here: the teaching code in float; for NumPy, which is that, ours
"""
import numpy as np

import teaching_gpt

U = 2.0 ** -24


class Work:
    """name, kind and numbers as peer.h has them; what stands in the report."""

    def __init__(self, name, kind, numbers, what, unit, per_call, flop):
        self.name, self.kind, self.numbers, self.what = name, kind, numbers, what
        self.unit, self.per_call, self.flop = unit, per_call, flop
        self.memory = 0                 # bytes that all programs together may take
        self.truth = None


def gemm(n):
    return Work(f"gemm-{n}", "gemm", [n], f"{n} x {n} by {n} x {n}", "FLOP/s", 2 * n ** 3, 2 * n ** 3)


def attention(T, both):
    B, NH, HS = 4, 12, 64
    flop = 4 * HS * B * NH * T * (T + 1) // 2 * (3 if both else 1)
    return Work(f"attention-{T}" + ("-both" if both else ""), "attention" + ("-both" if both else ""),
                [B, T, NH, HS], f"B {B}, T {T}, {NH} heads of {HS}" + (", backward too" if both else ""),
                "FLOP/s", flop, flop)


# L, C, NH, FF, T, V, tied, B, seq, and the tokens that are verified: as case_steps.c
STEPS = {
    "tiny-575": ([2, 32, 2, 128, 32, 575, 0, 16, 16, 16, 16], "2 layers, d 32, T 16, B 16, V 575"),
    "L6": ([6, 384, 6, 1536, 256, 4096, 1, 4, 256, 1, 24], "6 layers, d 384, T 256, B 4, V 4096"),
    "gpt2": ([12, 768, 12, 3072, 1024, 50257, 1, 4, 64, 1, 4], "12 layers, d 768 (124M), T 64, B 4, V 50257"),
}


def step(name):
    n, what = STEPS[name]
    L, C, NH, FF, _, V, _, B, T = n[:9]
    layer = 2 * B * T * (4 * C * C + 2 * C * FF) + 4 * (C // NH) * B * NH * T * (T + 1) // 2
    work = Work(name, "step", n, what, "tokens/s", B * T, 3 * (L * layer + 2 * B * T * C * V))
    work.memory = 80 * teaching_gpt.Sizes(*n[:7]).count()
    return work


# ---- inputs ----------------------------------------------------------------------


def draw(work, folder):
    """Files of peer.h, in the folder."""
    r, n = np.random.default_rng(42), work.numbers

    def uniform(name, *shape):
        x = r.random(shape, np.float32) * 2 - 1
        x.tofile(f"{folder}/{name}")
        return x

    if work.kind == "gemm":
        work.input = [uniform(name, n[0], n[0]) for name in "xw"]
    elif work.kind == "step":
        z = teaching_gpt.Sizes(*n[:7])
        flat = r.standard_normal(z.count(), np.float32) * np.float32(0.02)
        for name, w in z.views(flat).items():
            if name.endswith(("ln1w", "ln2w", "lnfw")):
                w += 1                      # gains near 1, not 1: else a lost gain is not seen
        ids = r.integers(0, z.V, n[7] * n[8] + 1).astype(np.int32)
        flat.tofile(f"{folder}/weights")
        ids.tofile(f"{folder}/ids")
        work.input = [flat, ids]
    else:
        B, T, NH, HS = n
        work.input = [uniform("qkv", B, T, 3 * NH * HS), uniform("dout", B, T, NH * HS)]


# ---- results ---------------------------------------------------------------------


class Wrong(Exception):
    pass


class Tally:
    """What was compared, and the largest error as a share of its bound."""

    def __init__(self):
        self.compared, self.used = 0, 0.0

    def meet(self, name, expected, found, bound):
        """Each |found - expected| <= bound, which NaN is not."""
        if found.size != expected.size:
            raise Wrong(f"{name}: {found.size} numbers, expected {expected.size}")
        expected, found = expected.reshape(-1), found.reshape(-1)
        bound = np.broadcast_to(bound, expected.shape) if np.ndim(bound) == 0 else np.reshape(bound, -1)
        error = np.abs(found.astype(np.float64) - expected)
        bad = np.flatnonzero(~(error <= bound))
        if len(bad):
            i = bad[0]
            raise Wrong(f"{name}[{i}]: expected {expected[i]:.9g}, found {found[i]:.9g}: the error "
                        f"{error[i]:.3g} is beyond its bound {bound[i]:.3g}")
        self.compared += error.size
        some = bound > 0
        if some.any():
            self.used = max(self.used, float((error[some] / bound[some]).max()))


def head_truth(q, k, v, dout):
    """One head in double: out, dq, dk, dv, and the bound of each."""
    T, HS = q.shape
    root, n = np.sqrt(HS), np.arange(1, T + 1)[:, None]
    seen = np.tril(np.ones((T, T), bool))
    s = np.where(seen, q @ k.T / root, 0)
    es = np.where(seen, (HS + 3) * U * (np.abs(q) @ np.abs(k).T) / root, 0)
    top = np.where(seen, s, -np.inf).max(-1, keepdims=True)
    a = np.where(seen, np.exp(s - top), 0)
    total = a.sum(-1, keepdims=True)
    a /= total
    lse = top + np.log(total)
    each = es + U * (np.abs(s - top) + 4)
    mean = (a * each).sum(-1, keepdims=True)
    adding = (2 * n + 6) * U
    out = a @ v
    eout = (a * (each + mean + adding)) @ np.abs(v)
    # The weights again in the backward pass, from s and lse or as they were kept.
    alpha = es + mean + adding + U * (np.abs(s) + 5 * np.abs(lse) + 3 * np.abs(top) + 8)
    da, size = dout @ v.T, np.abs(dout) @ np.abs(v).T
    D = (a * da).sum(-1, keepdims=True)
    eD = np.maximum((np.abs(dout) * (eout + (HS + 1) * U * np.abs(out))).sum(-1, keepdims=True),
                    (a * (np.abs(da) * (alpha + (n + 1) * U) + (HS + 1) * U * size)).sum(-1, keepdims=True))
    ds = a * (da - D)
    eds = a * (alpha * np.abs(da - D) + (HS + 1) * U * size + eD + 2 * U * (np.abs(da) + np.abs(D)))
    below = T - np.arange(T)[:, None]               # queries that see a key
    dq, edq = ds @ k / root, (eds + (n + 4) * U * np.abs(ds)) @ np.abs(k) / root
    dk = ds.T @ q / root
    edk = (eds.T + (below + 4) * U * np.abs(ds.T)) @ np.abs(q) / root
    dv = a.T @ dout
    edv = (a * alpha).T @ np.abs(dout) + (below + 4) * U * (a.T @ np.abs(dout))
    return (out, dq, dk, dv), (eout, edq, edk, edv)


def attention_truth(work):
    B, T, NH, HS = work.numbers
    qkv, dout = work.input
    size = (B, T, NH, HS)
    truth = {name: np.empty(size) for name in ("out", "dq", "dk", "dv")}
    bound = {name: np.empty(size) for name in truth}
    parts = [x.reshape(size) for x in np.split(qkv, 3, -1)] + [dout.reshape(size)]
    for b in range(B):
        for h in range(NH):
            values, bounds = head_truth(*(x[b, :, h].astype(np.float64) for x in parts))
            for name, value, far in zip(truth, values, bounds):
                truth[name][b, :, h], bound[name][b, :, h] = value, far
    return truth, bound


def step_truth(work):
    z, (vB, vT) = teaching_gpt.Sizes(*work.numbers[:7]), work.numbers[9:]
    flat, ids = work.input
    x, y = ids[:vB * vT].reshape(vB, vT), ids[1:vB * vT + 1].reshape(vB, vT)
    loss, g, score = teaching_gpt.gradient(flat.astype(np.float64), z, x, y)
    loss32, g32, _ = teaching_gpt.gradient(flat, z, x, y)
    distances = [abs(loss32 - loss)] + distance(z, g, g32)
    return z, loss, g, score, distances


def distance(z, g, other):
    a, b = z.views(g), z.views(other)
    return [float(np.abs(a[name] - b[name]).max()) for name in a]


def find(work):
    """What the work should compute, once for all programs."""
    if work.kind == "gemm":
        x, w = (a.astype(np.float64) for a in work.input)
        n = work.numbers[0]
        gamma = sum(n * u / (1 - n * u) for u in (U, 2.0 ** -53))
        length = lambda a, axis: np.sqrt((a * a).sum(axis))
        work.truth = x @ w, gamma * np.outer(length(x, 1), length(w, 0))
    else:
        work.truth = step_truth(work) if work.kind == "step" else attention_truth(work)


def compare(work, folder, other=None):
    """The files of folder with the truth: a Tally, or Wrong.  other: the folder of another
    program, whose distance from the truth a step's bound is made of."""
    tally = Tally()

    def read(name, dtype=np.float32, at=folder):
        try:
            return np.fromfile(f"{at}/{name}", dtype)
        except FileNotFoundError:
            raise Wrong(f"{name}: it wrote none") from None

    if work.kind == "gemm":
        tally.meet("y", work.truth[0], read("y"), work.truth[1])
    elif work.kind == "step":
        z, loss, g, score, distances = work.truth
        if other:
            distances = ([abs(float(read("loss", np.float64, other)[0]) - loss)] +
                         distance(z, g, read("gradient", at=other)))
        tally.meet("loss", np.array([loss]), read("loss", np.float64), 8 * (distances[0] + U * abs(loss)))
        found = read("gradient")
        if found.size != g.size:
            raise Wrong(f"gradient: {found.size} numbers, expected {g.size}")
        found = z.views(found)
        for (name, want), r in zip(z.views(g).items(), distances[1:]):
            tally.meet("d" + name, want, found[name], 8 * (r + U * float(np.abs(want).max()) * (1 + score)))
    else:
        truth, bound = work.truth
        tally.meet("out", truth["out"], read("out"), bound["out"])
        if work.kind == "attention-both":
            d = np.split(read("d").reshape(*work.numbers[:2], -1), 3, -1)
            for name, found in zip(("dq", "dk", "dv"), d):
                tally.meet(name, truth[name], found.reshape(truth[name].shape), bound[name])
    return tally
