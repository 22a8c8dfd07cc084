"""numpy_peer.py -- NumPy: products, and the teaching code's training step."""
import numpy as np

import teaching_gpt
from peer import blas, serve


def make(kind, n, read, write):
    if kind == "gemm":
        x, w = (read(name).reshape(n[0], n[0]) for name in "xw")
        y = x @ w
        write("y", y)
        return lambda: np.matmul(x, w, out=y)
    if kind != "step":
        return None
    z, (B, T, vB, vT) = teaching_gpt.Sizes(*n[:7]), n[7:]
    flat, ids = read("weights"), read("ids", np.int32)
    loss, gradient, _ = teaching_gpt.gradient(flat, z, ids[:vB * vT].reshape(vB, vT),
                                              ids[1:vB * vT + 1].reshape(vB, vT))
    write("loss", np.float64(loss))
    write("gradient", gradient)
    x, y = ids[:-1].reshape(B, T), ids[1:].reshape(B, T)
    state = [0, np.zeros_like(flat), np.zeros_like(flat)]
    return lambda: teaching_gpt.step(flat, state, z, x, y)


serve(f"{np.__version__}, {blas()}", make)
