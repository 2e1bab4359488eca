"""MatrixMarket, METIS."""
import os
import shutil

import numpy as np

from formats.support import csc, graph, imported, refused, rng, run, same_graph, same_nodes, save, write


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


def metis(path, n, lists, fmt=None, weights=None, before="", of_nodes=""):
    """lists[v]: neighbours of v; weights alike."""
    edges = sum(map(len, lists)) // 2
    lines = ["% a remark", f"{n} {edges}" + (f" {fmt}" if fmt else "")]
    for v in range(n):
        words = [of_nodes] if of_nodes else []
        for i, u in enumerate(lists[v]):
            words += [str(u + 1)] + ([] if weights is None else [str(weights[v][i])])
        lines.append(" ".join(words))
    write(path, before + "\n".join(lines) + "\n")


def test_metis():
    n = 300
    pairs = np.unique(np.sort(rng.integers(0, n - 5, (2000, 2)), 1), axis=0)  # the last nodes have no edges
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    weight = rng.integers(1, 99, len(pairs))
    src, dst, both = np.r_[pairs[:, 0], pairs[:, 1]], np.r_[pairs[:, 1], pairs[:, 0]], np.r_[weight, weight]
    lists = [dst[src == v].tolist() for v in range(n)]
    weights = [both[src == v].tolist() for v in range(n)]
    for name in "a.graph", "a.metis", "a.metis.gz":
        metis(name, n, lists)
        assert "taken as metis" in run("import", name, "out").stderr
        shutil.rmtree("out")
        same_graph(imported("metis", name), csc(src, dst, n))
        metis(name, n, lists, "001", weights)
        same_graph(imported("metis", name), csc(src, dst, n, both), True)
        same_graph(imported("metis", name, "--weight-column", "0"), csc(src, dst, n))
        for fmt, of_nodes in ("10", "7"), ("011 3", "7 8 9"), ("111 2", "5 7 8"), ("100", "5"):
            metis(name, n, lists, fmt, weights if fmt.split()[0].endswith("1") else None, of_nodes=of_nodes)
            done = run("import", name, "out", "--quiet")
            assert "weights of nodes are not read" in done.stderr, done.stderr
            shutil.rmtree("out")
            same_graph(imported("metis", name), csc(src, dst, n, both if fmt.split()[0].endswith("1") else None), fmt.split()[0].endswith("1"))
    # a hub's line is longer than a block of text, 1 MiB
    hub = 250_000
    with open("hub.metis", "w") as f:
        f.write(f"{hub} {hub - 1}\n" + " ".join(map(str, range(2, hub + 1))) + "\n" + "1\n" * (hub - 1))
    assert os.path.getsize("hub.metis") > 2 << 20
    ids = np.arange(1, hub)
    same_graph(imported("metis", "hub.metis"), csc(np.r_[np.zeros_like(ids), ids], np.r_[ids, np.zeros_like(ids)], hub))
    g = graph(n, 10)
    os.mkdir("parts")
    metis("parts/graph.metis.gz", n, lists)
    save("parts/feat.npy", g["feat"][:n])
    save("parts/label.npy", g["label"][:n])
    same_graph(imported("metis", "parts"), csc(src, dst, n))
    same_nodes(imported("metis", "parts"), g, g["label"], splits=False)
    for text, words in [
            ("", ["ends before its header"]), ("% x\n\n", ["ends before its header"]), ("3\n", ["no header"]), ("3 x\n", ["line 1: no whole number"]),
            ("3 2 2\n", ["no header"]), ("3 2 1 1 1\n", ["more than four"]), ("3 0\n\n\n\n", ["no edges"]), ("2 1\n2\n", ["1 lines for 2 nodes"]),
            ("2 1\n2\n1\n1\n", ["line 4: more lines"]), ("2 2\n2\n1\n", ["2 neighbours", "2 edges"]), ("2 1\n3\n1\n", ["line 2", "does not have"]),
            ("2 1\n0\n1\n", ["line 2", "does not have"]), ("2 1 1\n2 5\n1\n", ["line 3: a line ends"]), ("2 1 1\n2 x\n1 5\n", ["line 2: no weight"]),
            ("2 1 1\n2 -5\n1 -5\n", ["line 2: no weight"]), ("2 1\n2.5\n1\n", ["line 2: no whole number"]), ("9999999999 1\n", ["than the file can hold"]),
            ("2 999999999999\n", ["than the file can hold"]), ("2 1 11 2\n1 1 2 3\n1\n", ["line 3: a line ends"])]:
        write("bad.metis", text)
        refused("metis", "bad.metis", *words)
    write("one.metis", "2 1\r\n2\r\n1\r\n\r\n\n% behind\n")
    same_graph(imported("metis", "one.metis"), csc([0, 1], [1, 0], 2))
