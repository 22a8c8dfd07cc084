"""peer.py -- what peer.h is to a program in C: how run talks to one in Python.

A program calls serve(version, make); make(kind, numbers, read, write) reads what it needs
(read(name, type)), computes once, writes what that gave (write(name, array)), and returns
a function that makes one call; or None, where it has no such work.
"""
import sys
import time

import numpy as np


def blas():
    """The libraries of that kind that this process has loaded, by their folders' names."""
    with open("/proc/self/maps", encoding="utf-8") as f:
        paths = {line.split()[-1] for line in f if "/" in line}
    names = {"/".join(p.split("/")[-2:]) for p in paths if "blas" in p.rsplit("/", 1)[-1]}
    return ", ".join(sorted(n for n in names if not n.startswith("numpy"))) or "no BLAS"


def serve(version, make):
    print(version, flush=True)
    call = None
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "make":
            kind, *numbers, folder, out = rest

            def read(name, dtype=np.float32):
                return np.fromfile(f"{folder}/{name}", dtype)

            def write(name, array):
                np.ascontiguousarray(array).tofile(f"{out}/{name}")

            call = make(kind, [int(n) for n in numbers], read, write)
            print("made" if call else "absent it has no such work", flush=True)
        elif word == "time":
            start, cpu = time.perf_counter(), time.process_time()
            for _ in range(int(rest[0])):
                call()
            seconds = time.perf_counter() - start
            print(f"{seconds:.9g} {time.process_time() - cpu:.9g}", flush=True)
        else:
            call = None
            print("freed", flush=True)
