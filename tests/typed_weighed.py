#!/usr/bin/env python3
"""Samplers that weigh edges, on graphs with types, beside NumPy: nothing here knows how the library draws.

ladies: of every batch, hop and relation the nodes drawn are as many as fanout times seeds, or all that feed a destination; edges
are all those between them and the destinations that have lists; weights are 1 / p, to a sum of 1, where p(u) is the sum of
1 / in-degree^2 over the destinations that u feeds. How often each is drawn is what successive draws by p give.

From memory and from disk the batches are the same bytes, a run has the same parameters, and keeps within --memory.

    typed_weighed.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import re
import sys
import tempfile

from typed_command import SANITIZED, run

try:
    import numpy as np
except ImportError:
    sys.exit(77)
from typed_trace import Graph, Trace, make_many, neutral, refused, watched

MEMORY = ["--memory", "200M", "--threads", 2]


# ---- a graph ----

def make_graph():
    """Lists of very different lengths; loops, equal neighbours of many, nodes without; users and items lead to each other."""
    r = np.random.default_rng(4)
    kinds = r.permutation(np.repeat([0, 1, 2], [200, 150, 20]))
    item, user, shop = (np.flatnonzero(kinds == t) for t in range(3))
    pairs = [(item, item, 900), (user, item, 700), (item, user, 800), (shop, item, 150), (item, shop, 200)]
    edges, of = [], []
    for k, (src, dst, n) in enumerate(pairs):
        dst = dst[len(dst) // 8:]
        at = (len(dst) * r.random(n)**3).astype(int)
        some = sorted({(int(u), int(dst[i])) for u, i in zip(r.choice(src, n), at)})
        edges += some
        of += [k] * len(some)
    neutral("source", edges=np.array(edges), edge_type=np.array(of), node_type=kinds, label=r.integers(0, 3, len(kinds)),
            **{f"feat_{name}": r.random((n, 8), dtype=np.float32) for name, n in (("item", len(item)), ("user", len(user)), ("shop", len(shop)))},
            **dict(zip(("train", "valid", "test"), np.split(r.permutation(item), [120, 160]))))
    meta = {"node_types": [{"type": t, "name": n} for t, n in enumerate(("item", "user", "shop"))],
            "edge_types": [{"edge_type": k, "name": n} for k, n in enumerate(("like", "buys", "bought", "sells", "in"))]}
    pathlib.Path("source/meta.json").write_text(json.dumps(meta))
    run("import", "npy", "source", "graph")
    return Graph("graph")


# ---- what holds of every batch ----

def hops(graph, trace):
    """Of each batch, hop and relation: seeds, hop, relation, destinations, edges as ids, their weights."""
    for i, (ids, known, blocks) in enumerate(trace.batches()):
        ids = ids.astype(np.int64)
        for h, block in enumerate(blocks):
            weight = trace.part(f"hop{h + 1}_weight", i).astype(np.float64)
            assert len(weight) == len(block) and np.all(np.diff(block[:, 2]) >= 0)
            for r in range(len(graph.relations)):
                mine = block[:, 2] == r
                yield known[0], h, r, ids[:known[h]], ids[block[mine, 0]], ids[block[mine, 1]], weight[mine]
        assert known[-1] == len(ids) == len(np.unique(ids))


def importance(graph, r, destinations):
    """p of every node, and which of the relation's edges lead to destinations."""
    rel = graph.relations[r]
    to = np.zeros(graph.nodes, bool)
    to[destinations] = True
    listed = to[rel["dst"]]
    p = np.zeros(graph.nodes)
    np.add.at(p, rel["src"][listed], 1 / rel["degree"][rel["dst"][listed]].astype(np.float64)**2)
    return p, listed


def check_layer(graph, fanout, n_seeds, r, destinations, src, dst, weight):
    rel = graph.relations[r]
    p, listed = importance(graph, r, destinations)
    feeding = np.flatnonzero(p)
    drawn = np.unique(src)
    all_of = fanout < 0 or fanout * n_seeds >= len(feeding)
    assert np.array_equal(drawn, feeding) if all_of else len(drawn) == fanout * n_seeds, "so many nodes are drawn"
    assert np.isin(drawn, feeding).all()
    is_drawn = np.zeros(graph.nodes, bool)
    is_drawn[drawn] = True
    place = np.full(graph.nodes, -1)
    place[destinations] = np.arange(len(destinations))
    between = np.flatnonzero(listed & is_drawn[rel["src"]])
    between = between[np.argsort(place[rel["dst"][between]], kind="stable")]  # of a list in its order
    assert np.array_equal(src, rel["src"][between]) and np.array_equal(dst, rel["dst"][between]), "edges between those drawn and destinations"
    share = np.ones(len(src)) if all_of else 1 / p[src]
    sums = np.bincount(dst, share, graph.nodes)
    assert np.allclose(weight, share / sums[dst], rtol=1e-6), "weights"


def layers_are_those_of_numpy(graph):
    ways = [([4, 3, 2], {"like": [5, -1, 0], "buys": [1, 1, 7]}), ([1], {}), ([60, 2], {"in": [-1, -1]})]
    for turn, (usual, own) in enumerate(ways):
        fanouts = [own.get(rel["name"], usual) for rel in graph.relations]
        text = ";".join([",".join(map(str, usual))] + [f"{name}={','.join(map(str, f))}" for name, f in own.items()])
        options = ["--sampler", "ladies", "--fanout", text, "--batch", 7, "--epochs", 1, *MEMORY]
        memory = Trace("graph", *options, "--topology", "memory")
        partial = 0
        for n_seeds, h, r, destinations, src, dst, weight in hops(graph, memory):
            check_layer(graph, fanouts[r][h], n_seeds, r, destinations, src, dst, weight) if fanouts[r][h] else None
            assert fanouts[r][h] or len(src) == 0
            partial += 0 < len(src) < importance(graph, r, destinations)[1].sum()
        assert partial > 20, "some of the edges were drawn"
        memory.same(Trace("graph", *options, "--topology", "disk", "--io", ["pread", "mmap", "auto"][turn]))
        run("verify", memory.folder)
    print("every layer is that of NumPy, from memory and from disk")


# ---- who is drawn ----

def successive(p, n, times, random):
    """How often each is among n drawn by p without replacement, one after the other."""
    often = np.zeros(len(p))
    for _ in range(times):
        often[random.choice(len(p), n, replace=False, p=p / p.sum())] += 1
    return often / times


def layers_are_drawn_by_importance(graph):
    """Four seeds, so that the first hop's destinations are the same in every epoch."""
    items = np.arange(graph.first["item"], graph.first["item"] + graph.count["item"])
    degree = graph.relations[0]["degree"][items] * graph.relations[1]["degree"][items]
    seeds = items[np.argsort(-degree)[[0, 3, 9, 15]]]
    whole = np.load("graph/train.npy")
    np.save("graph/train.npy", seeds.astype(whole.dtype))
    epochs, random = 4000, np.random.default_rng(5)
    often = np.zeros((len(graph.relations), graph.nodes))
    for _, _, r, destinations, src, _, _ in hops(graph, Trace("graph", "--sampler", "ladies", "--fanout", "1", "--batch", 4, "--epochs", epochs, *MEMORY)):
        assert np.array_equal(np.sort(destinations), np.sort(seeds))
        often[r][np.unique(src)] += 1
    np.save("graph/train.npy", whole)
    for r in 0, 1:
        p, _ = importance(graph, r, seeds)
        feeding = np.flatnonzero(p)
        expected = successive(p[feeding], 4, 4000, random)
        error = np.sqrt(2 * expected * (1 - expected) / epochs) + 1e-9
        z = (often[r][feeding] / epochs - expected) / error
        square = (z**2).mean()
        print(f"{graph.relations[r]['name']}: {len(feeding)} nodes feed the seeds, p from {p[feeding].min():.4f} to {p.max():.4f};"
              f" mean square {square:.2f}, most {np.abs(z).max():.1f} deviations")
        assert len(feeding) > 12 and p.max() > 3 * p[feeding].min() and square < 2 and np.abs(z).max() < 5
    assert often[2].sum() == 0, "bought leads to users"
    print("nodes are drawn by their importance")


# ---- what trains on them ----

TRAIN = ["--sampler", "ladies", "--fanout", "3,2", "--batch", 25, "--epochs", 3, "--hidden", 8, "--threads", 2, "--memory", "150M"]


def runs_have_the_same_bits(graph):
    run("sample", "graph", "--out", "drawn", *TRAIN[:8], *MEMORY)
    for name, model in ("sage", ["--model", "sage", "--dropout", 0.2]), ("rgcn", ["--model", "rgcn", "--bases", 2]), ("gcn", ["--model", "gcn"]):
        whole = None
        for i, way in enumerate(([], ["--topology", "disk", "--policy", "none"], ["--samples", "drawn", "--policy", "lru", "--cache", "4K"],
                                 ["--policy", "belady", "--cache", "4K", "--superbatch", 2], ["--preset", "ginex", "--cache", "4K"],
                                 ["--trainers", 2], ["--topology", "disk", "--alternate", "--policy", "belady", "--cache", "4K"])):
            run("train", "graph", *TRAIN, *model, *way, "--run", f"{name}{i}")
            got = pathlib.Path(f"{name}{i}/checkpoint.safetensors").read_bytes()
            whole = whole or got
            assert got == whole, (name, way)
        for topology in "memory", "disk":
            of = ["graph", "--checkpoint", f"{name}0/best.safetensors", "--topology", topology, "--memory", "150M"]
            run("predict", *of, "--out", f"{name}-{topology}.npy")
            said = json.loads(run("eval", *of, *TRAIN[2:6], "--json"))
            assert said["metrics"] == json.loads(pathlib.Path(f"{name}0/summary.json").read_text())["test_metrics"], said
        assert np.array_equal(np.load(f"{name}-memory.npy"), np.load(f"{name}-disk.npy"))
    link = [*TRAIN, "--task", "link", "--accumulate", 2]
    run("train", "graph", *link, "--run", "link-memory")
    run("train", "graph", *link, "--topology", "disk", "--policy", "none", "--run", "link-disk")
    assert pathlib.Path("link-memory/checkpoint.safetensors").read_bytes() == pathlib.Path("link-disk/checkpoint.safetensors").read_bytes()
    print("runs have the same bits from memory, from disk and from samples")


# ---- what is damaged, what is too little ----

def weights_are_looked_at():
    path = pathlib.Path("drawn/hop2_weight.npy")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "drawn" in refused("verify", "drawn")
    assert "drawn" in refused("train", "graph", *TRAIN, "--samples", "drawn", "--run", "no")
    path.unlink()
    assert "hop2_weight" in refused("train", "graph", *TRAIN, "--samples", "drawn", "--run", "other")
    print("weights that were damaged are found")


def runs_keep_within_memory():
    make_many("hundreds", 100, 10)
    for graph, batch in ("graph", 60), ("hundreds", 200):
        for topology in "memory", "disk":
            least = ["sample", graph, "--topology", topology, "--sampler", "ladies", "--fanout", "5,5,5", "--batch", batch, "--epochs", 2, "--threads", 2]
            enough = re.search(r"--memory (\d+)M", refused(*least, "--out", "x", "--memory", "1M"))[1]
            peak = watched(*least, "--out", f"least_{graph}_{topology}", "--memory", enough + "M")["VmHWM"]
            assert SANITIZED or peak <= int(enough) * 1024, (graph, topology, peak, enough)
    print("runs keep within --memory")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder  # buffers are as large as a disk that was measured wants them
        graph = make_graph()
        assert "--draw" in refused("sample", "graph", "--out", "x", "--sampler", "ladies", "--draw", "once")
        layers_are_those_of_numpy(graph)
        layers_are_drawn_by_importance(graph)
        runs_have_the_same_bits(graph)
        weights_are_looked_at()
        runs_keep_within_memory()
        os.chdir("/")


main()
