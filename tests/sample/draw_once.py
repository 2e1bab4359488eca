#!/usr/bin/env python3
"""What --draw once promises, looked up in traces by NumPy: nothing here knows how the library draws.

In every batch each hop's edges are the first of the next hop's. The others belong to the nodes that the hop before found. Each list is as long as the fanout of
the hop that its node was first a destination of, or as all its in-neighbours. Edges are those of the graph, none twice; a new node is named by a new list, in
order of discovery. From memory and from disk the batches are bit-identical, and where nothing can differ from --draw each they are those. Which neighbours a
node gets is uniform (chi-square over many batches).

    draw_once.py OUTGROW      exits 77 where there is no NumPy
"""
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = os.path.abspath(sys.argv[1])
NODES = 300
MEMORY = ["--memory", "200M", "--threads", "2", "--policy", "degree"]


# ---- a graph ----

def make_graph():
    """A hub, nodes without edges, loops; no edge twice. Lists of in-neighbours, and weights, some of them 0."""
    r = np.random.default_rng(1)
    edges = {(int(u), int(v)) for u, v in zip(r.integers(0, NODES, 3000), r.integers(20, NODES, 3000))}
    edges |= {(u, 150) for u in range(0, NODES, 2)} | {(v, v) for v in range(40, 60)}
    edges = np.array(sorted(edges))
    weight = r.choice([0, 0.25, 1, 3], len(edges)).astype(np.float32)
    source = pathlib.Path("source")
    source.mkdir()
    np.save(source / "edges.npy", edges)
    np.save(source / "edge_weight.npy", weight)
    np.save(source / "feat.npy", r.random((NODES, 3), dtype=np.float32))
    np.save(source / "label.npy", r.integers(0, 2, NODES))
    np.save(source / "train.npy", r.permutation(NODES)[:120])
    run("import", "npy", "source", "graph")
    return edges, weight


def run(*args):
    done = subprocess.run([OUTGROW, *map(str, args), "--quiet"], capture_output=True, text=True)
    assert done.returncode == 0, (args, done.stderr)


# ---- batches ----

class Trace:
    count = 0

    def __init__(self, *options):
        Trace.count += 1
        self.folder = pathlib.Path(f"trace{Trace.count}")
        run("sample", "graph", "--out", self.folder, *MEMORY, *options)
        self.arrays = {p.stem: np.load(p) for p in sorted(self.folder.glob("*.npy"))}
        self.hops = max(int(name[3]) for name in self.arrays if name.startswith("hop"))

    def part(self, name, i):
        prefix = name.split("_")[0] if name.startswith("hop") else name
        start = self.arrays[prefix + "_ptr"]
        return self.arrays[name][start[i]:start[i + 1]]

    def batches(self):
        """Each: ids, numbers of nodes known before and after each hop, edges of each hop [n, 2]."""
        for i in range(len(self.arrays["ids_ptr"]) - 1):
            known = [len(self.part("seeds", i))] + [int(self.arrays[f"hop{h}_nodes"][i]) for h in range(1, self.hops + 1)]
            edges = [np.stack([self.part(f"hop{h}_src", i), self.part(f"hop{h}_dst", i)], 1) for h in range(1, self.hops + 1)]
            yield self.part("ids", i), known, edges

    def same(self, other):
        assert self.arrays.keys() == other.arrays.keys()
        for name, array in self.arrays.items():
            assert array.dtype == other.arrays[name].dtype and np.array_equal(array, other.arrays[name]), name


# ---- what holds of every batch ----

def check_batch(ids, known, edges, fanout, available, real):
    before = np.empty((0, 2), int)
    for h, block in enumerate(edges):
        first, end = (known[h - 1] if h else 0), known[h]
        assert np.array_equal(block[:len(before)], before), "a hop begins with the lists of the hop before"
        new = block[len(before):]
        src, dst = new[:, 0], new[:, 1]
        assert np.all(np.diff(dst) >= 0) and np.all((dst >= first) & (dst < end)), "new lists are those of new destinations"
        assert len(np.unique(new, axis=0)) == len(new), "a neighbour twice"
        if real is not None:
            assert np.isin(ids[src].astype(np.int64) * NODES + ids[dst], real).all(), "no edge of the graph"
        if available is not None:
            most = available[ids[first:end]]
            wanted = most if fanout[h] < 0 else np.minimum(most, fanout[h])
            assert np.array_equal(np.bincount(dst - first, minlength=end - first), wanted), "length of a list"
        found, at = np.unique(src, return_index=True)
        beyond = found >= end
        assert np.array_equal(found[beyond], np.arange(end, known[h + 1])), "who is new is named by a new list"
        assert np.all(np.diff(at[beyond]) > 0), "in order of discovery"
        before = block
    assert known[-1] == len(ids) == len(np.unique(ids))


def check_all(edges, weight):
    degree = np.bincount(edges[:, 1], minlength=NODES)
    heavy = np.bincount(edges[:, 1], weights=weight > 0, minlength=NODES).astype(int)
    real = edges[:, 0].astype(np.int64) * NODES + edges[:, 1]
    ways = {"uniform": (degree, real), "weighted": (heavy, real[weight > 0]), "labor": (None, real), "walk": (None, None)}
    for sampler, (available, allowed) in ways.items():
        for fanout in ([4, 3, 2], [2, 5, -1, 3], [6]):
            options = ["--sampler", sampler, "--fanout", ",".join(map(str, fanout)), "--batch", 25, "--epochs", 2, "--draw", "once"]
            memory = Trace(*options)
            for ids, known, blocks in memory.batches():
                check_batch(ids, known, blocks, fanout, available, allowed)
            for cache in ("0", "1K", "20%"):
                memory.same(Trace(*options, "--topology", "disk", "--neighbor-cache", cache))
    print("every batch has the lists that it should have, from memory and from disk")


def check_weights():
    """A list keeps its weights; those of walks are visits, counted once."""
    trace = Trace("--sampler", "walk", "--fanout", "1,1,1", "--batch", 25, "--epochs", 1, "--draw", "once")
    for i in range(len(trace.arrays["ids_ptr"]) - 1):
        lists = [trace.part(f"hop{h}_weight", i) for h in (1, 2, 3)]
        assert all(np.array_equal(b[:len(a)], a) for a, b in zip(lists, lists[1:]))
        total = np.bincount(trace.part("hop3_dst", i), lists[2])
        assert np.allclose(total[total > 0], 1)
    print("lists keep their weights")


def check_degrees(edges):
    """GCN's degree of a node that a hop found: the length of its list in the next hop. Edges to itself do not count."""
    own = np.bincount(edges[:, 1], weights=edges[:, 0] != edges[:, 1], minlength=NODES).astype(int)
    trace = Trace("--model", "gcn", "--fanout", "4,3,2", "--batch", 25, "--epochs", 1, "--draw", "once")
    for h, fanout in (1, 3), (2, 2), (3, 2):
        said = trace.arrays[f"hop{h}_degree"]
        found = np.concatenate([ids[known[h - 1]:known[h]] for ids, known, _ in trace.batches()])
        assert np.array_equal(said, np.minimum(own[found], fanout)), h
    print("degrees are those of the lists that follow")


def check_each():
    """One hop, or all neighbours: nothing is left to draw again."""
    for sampler, fanout in ("uniform", "4"), ("weighted", "3"), ("labor", "5"), ("walk", "1"), ("uniform", "-1,-1,-1"), ("weighted", "-1,-1"), ("labor", "-1,-1"):
        options = ["--sampler", sampler, "--fanout", fanout, "--batch", 40, "--epochs", 1]
        Trace(*options, "--draw", "once").same(Trace(*options))
        Trace(*options, "--draw", "each").same(Trace(*options))
    other = ["--fanout", "3,3", "--batch", 40, "--epochs", 1]
    assert len(Trace(*other).arrays["ids"]) > len(Trace(*other, "--draw", "once").arrays["ids"]), "as many nodes as with each"
    print("with one hop, or all neighbours, each and once are the same")


# ---- which neighbours ----

def check_uniform(edges):
    """For lists drawn k out of d: how often each neighbour is in them. Their sum of squares has d - 1 degrees of freedom."""
    fanout = [3, 4]
    trace = Trace("--fanout", "3,4", "--batch", 10, "--epochs", 150, "--draw", "once")
    degree = np.bincount(edges[:, 1], minlength=NODES)
    times = np.zeros((2, NODES))
    often = np.zeros((2, NODES, NODES))
    for ids, known, blocks in trace.batches():
        for h in range(2):
            first = known[h - 1] if h else 0
            np.add.at(times[h], ids[first:known[h]], 1)
            new = blocks[h][len(blocks[h - 1]) if h else 0:]
            np.add.at(often[h], (ids[new[:, 1]], ids[new[:, 0]]), 1)
    for h in range(2):
        square = freedom = 0
        for v in np.flatnonzero((degree > fanout[h]) & (times[h] > 0)):
            share = fanout[h] / degree[v]
            expected = times[h, v] * share
            seen = often[h, v, edges[edges[:, 1] == v, 0]]
            square += ((seen - expected) ** 2).sum() / (expected * (1 - share)) * (degree[v] - 1) / degree[v]
            freedom += degree[v] - 1
        z = (square - freedom) / np.sqrt(2 * freedom)
        print(f"hop {h + 1}: chi-square {square:.0f} of {freedom} degrees of freedom, {z:.1f} deviations")
        assert freedom > 500 and abs(z) < 4


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        edges, weight = make_graph()
        check_all(edges, weight)
        check_weights()
        check_degrees(edges)
        check_each()
        check_uniform(edges)
        os.chdir("/")


main()
