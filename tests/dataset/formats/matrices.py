"""MatrixMarket."""
import os

import numpy as np

from formats.support import csc, graph, imported, refused, rng, same_graph, same_nodes, save, write


def mtx(path, kind, symmetry, n, src, dst, weight=None):
    lines = [f"%%MatrixMarket matrix coordinate {kind} {symmetry}", "% a remark", "%", f"{n} {n} {len(src)}"]
    lines += [f"{u + 1} {v + 1}" + ("" if weight is None else f" {w!r}")
              for u, v, w in zip(src, dst, [0] * len(src) if weight is None else weight.tolist())]
    write(path, "\n".join(lines) + "\n")


def test_mtx():
    g = graph(300, 3000)
    src, dst, n = g["src"], g["dst"], g["n"]
    weight = rng.exponential(size=3000).astype(np.float32)
    whole = rng.integers(-5, 9, 3000)
    for name in "a.mtx", "a.mtx.gz":
        mtx(name, "pattern", "general", n, src, dst)
        same_graph(imported("mtx", name), csc(src, dst, n))
        same_graph(imported("mtx", name, "--reverse"), csc(dst, src, n))
        same_graph(imported("mtx", name, "--symmetrize"), csc(src, dst, n, both=True, once=True))
        mtx(name, "real", "general", n, src, dst, weight)
        same_graph(imported("mtx", name), csc(src, dst, n, weight), True)
        mtx(name, "integer", "general", n, src, dst, np.abs(whole))
        same_graph(imported("mtx", name), csc(src, dst, n, np.abs(whole)), True)
        mtx(name, "integer", "general", n, src, dst, whole)
        refused("mtx", name, "a negative weight", "--weight-column 0")
        same_graph(imported("mtx", name, "--weight-column", "0"), csc(src, dst, n))
    low = np.unique(np.stack([np.maximum(src, dst), np.minimum(src, dst)], 1), axis=0)
    weight = rng.exponential(size=len(low)).astype(np.float32)
    mtx("s.mtx", "real", "symmetric", n, low[:, 0], low[:, 1], weight)
    off = low[:, 0] != low[:, 1]
    both = np.r_[low, low[off][:, ::-1]]
    got = imported("mtx", "s.mtx")
    same_graph(got, csc(both[:, 0], both[:, 1], n, np.r_[weight, weight[off]]), True)
    assert got["meta"]["symmetric"]
    # also where the file lists both ways by itself, and not where one edge lacks its reverse
    mtx("s.mtx", "pattern", "general", n, both[:, 0], both[:, 1])
    assert imported("mtx", "s.mtx")["meta"]["symmetric"]
    mtx("s.mtx", "pattern", "general", n, both[:-1, 0], both[:-1, 1])
    assert "symmetric" not in imported("mtx", "s.mtx")["meta"]
    os.mkdir("folder")
    mtx("folder/graph.mtx.gz", "pattern", "general", n, src, dst)
    save("folder/feat.npy", g["feat"][:n])
    save("folder/label.npy", g["label"][:n])
    got = imported("mtx", "folder")
    same_graph(got, csc(src, dst, n))
    same_nodes(got, g, g["label"], splits=False)
    head = "%%MatrixMarket matrix coordinate pattern general\n"
    real = head.replace("pattern", "real")
    for text, words in [
            ("1 1 1\n1 1\n", ["line 1: no coordinate"]),
            (head.replace("coordinate", "array") + "3 3\n", ["line 1: no coordinate"]),
            (head.replace("pattern", "complex") + "3 3 1\n1 1 0 0\n", ["line 1"]),
            (head.replace("general", "hermitian") + "3 3 1\n1 1\n", ["line 1"]),
            (head, ["ends before its size"]),
            (head + "% x\n3 3\n", ["line 3: no size"]),
            (head + "3 4 1\n1 1\n", ["line 2: not a square"]),
            (head + "3 3 2\n1 1\n", ["1 entries", "says 2"]),
            (head + "3 3 1\n1 1\n2 2\n", ["2 entries", "says 1"]),
            (head + "3 3 1\n0 1\n", ["line 3", "'0 1'"]),
            (head + "3 3 1\n1 4\n", ["line 3", "'4'"]),
            (head + "3 3 1\n1 2 3\n", ["line 3: more than two"]),
            (real + "3 3 1\n1 2 1d5\n", ["line 3: no finite weight", "'1d5'"]),  # not 1
            (real + "3 3 1\n1 2 0x1p3\n", ["line 3: no finite weight"]),
            (real + "3 3 1\n1 2 3 4\n", ["line 3: something after the value", "'4'"]),
            (head + "9999999999 9999999999 1\n1 1\n", ["line 2: more than"]),
            (head + "3 3 9999999999999\n1 1\n", ["line 2: more than"]),
            (head + "3 3 0\n", ["no edges"]), ("", ["empty"])]:
        write("bad.mtx", text)
        refused("mtx", "bad.mtx", *words)
