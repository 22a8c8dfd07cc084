"""plot_points.py -- the points of a curve that `vitrine plot` drew, read back by the ticks of
its own axes, are those of metrics.jsonl.

    plot_points.py SVG METRICS log|linear [MANIFEST]

With MANIFEST: also the lines of the blind guess and of the bigram model.

Of at most 720 steps each is a point, of more the mean of its column; so are the dots.  The
smoothed line is the centred mean that plot_svg.c states.  All lies between the edges of
the two axes.  Prints what differs; exit status 1.
"""
import json
import math
import sys
import xml.etree.ElementTree as ET

COLUMNS = 720
EDGES = {"xtick": ("x", 100, 820), "ytick": ("y", 72 + 4, 402 + 4), "lrtick": ("y", 446 + 4, 526 + 4)}
SVG = "{http://www.w3.org/2000/svg}"


def means(pairs):
    """Of column k: the pairs from n k / columns up to the next column's first."""
    n, count = len(pairs), min(len(pairs), COLUMNS)
    parts = [pairs[n * k // count:n * (k + 1) // count] for k in range(count)]
    return [tuple(sum(v) / len(part) for v in zip(*part)) for part in parts]


def smooth(pairs):
    """At each column's middle: the mean of n / 50 losses on either side, as many on both."""
    n, count, out = len(pairs), min(len(pairs), COLUMNS), []
    for k in range(count):
        i = (n * k // count + n * (k + 1) // count - 1) // 2
        w = min(n // 50, i, n - 1 - i)
        part = [loss for _, loss in pairs[i - w:i + w + 1]]
        out.append((pairs[i][0], sum(part) / len(part)))
    return out


def main(svg, metrics, kind, manifest=None):
    root = ET.parse(svg).getroot()
    with open(metrics, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    log = math.log if kind == "log" else float

    def texts(name):
        return [t for t in root.iter(SVG + "text") if t.get("class") == name]

    def line(ticks, at, value=float):       # a + b v through the outermost ticks
        (x0, v0), (x1, v1) = [(float(t.get(at)), value(float(t.text))) for t in (ticks[0], ticks[-1])]
        b = (x1 - x0) / (v1 - v0)
        return lambda v: x0 + b * (v - v0)

    x = line(texts("xtick"), "x", log)
    # A label stands 4 units below its line.
    loss, lr = (line(texts(name), "y") for name in ("ytick", "lrtick"))

    def curve(name):
        points = next(p.get("points") for p in root.iter(SVG + "polyline")
                      if p.get("class").split()[0] == name)
        return [tuple(map(float, p.split(","))) for p in points.split()]

    bad = []

    def compare(what, points, want):
        if len(points) != len(want):
            bad.append(f"{what}: {len(points)} points, expected {len(want)}")
        for at_x, at_y in points:
            low, high = (446, 526) if what == "lr" else (72, 402)
            if not (99.9 <= at_x <= 820.1 and low - 0.1 <= at_y <= high + 0.1):
                bad.append(f"{what}: {at_x}, {at_y} is outside of the picture")
        for found, expected in zip(points, want):
            if max(abs(a - b) for a, b in zip(found, expected)) > 0.03:
                bad.append(f"{what}: {found}, expected {expected}")

    for name, (at, low, high) in EDGES.items():
        for t in texts(name):
            if not low - 0.1 <= float(t.get(at)) <= high + 0.1:
                bad.append(f"{name} {t.text}: is outside of its axis")

    losses = [(r["step"], r["loss"]) for r in rows]
    compare("loss", curve("loss"), [(x(log(s)), loss(v) - 4) for s, v in means(losses)])
    compare("lr", curve("lr"), [(x(log(s)), lr(v) - 4) for s, v in means([(r["step"], r["lr"]) for r in rows])])
    if len(rows) >= 50:
        compare("smooth", curve("smooth"), [(x(log(s)), loss(v) - 4) for s, v in smooth(losses)])
    dots = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter(SVG + "circle")
            if c.get("class").startswith("val ") and c.get("r") == "4" and c.get("cy")]
    measured = [(r["step"], r["val_loss"]) for r in rows if r["val_loss"] is not None]
    compare("validation", dots, [(x(log(s)), loss(v) - 4) for s, v in means(measured)] if measured else [])
    if manifest:
        with open(manifest, encoding="utf-8") as f:
            m = json.load(f)
        for name, want in (("uniform", math.log(m["model"]["vocab_size"])), ("bigram", m["bigram"]["loss"])):
            ends = [(float(e.get("y1")), float(e.get("y2"))) for e in root.iter(SVG + "line")
                    if e.get("class").split()[0] == name]
            if len(ends) != 1 or max(abs(y - loss(want) + 4) for y in ends[0]) > 0.03:
                bad.append(f"{name}: a line from and to {ends}, expected at {loss(want) - 4}")
            if not any(f"{want:.4f}" in t.text for t in root.iter(SVG + "text")):
                bad.append(f"{name}: no text says {want:.4f}")
    print("\n".join(bad[:5]) if bad else f"{len(rows)} steps, {len(dots)} validations")
    return bool(bad)


sys.exit(main(*sys.argv[1:]))
