#!/usr/bin/env python3
"""Samplers that weigh edges, on heterogeneous graphs, against NumPy: nothing here knows how the library draws.

ladies: sampled nodes are as many as fanout times seeds, or all that feed a destination. That holds in every batch, hop and relation. Edges are all those
between them and the destinations that have lists. Weights are 1 / p, to a sum of 1, where p(u) is the sum of 1 / in-degree^2 over the destinations that u
feeds. How often each is drawn is what successive draws by p give.

walk: neighbours are where walks over the relation and back over its named reverse lead. The most visited come first. What one walk visits has the chances that
follow from the lists step by step.

Batches are bit-identical from memory and from disk. A run has the same parameters, and keeps within --memory.

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
    """A graph with lists of very different lengths. It has loops, nodes that share many neighbours, and nodes without; users and items lead to each other."""
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
            "edge_types": [{"edge_type": k, "name": n} for k, n in enumerate(("like", "buys", "rev_buys", "sells", "in"))]}
    pathlib.Path("source/meta.json").write_text(json.dumps(meta))
    run("import", "npy", "source", "graph")
    return Graph("graph")


# ---- what holds of every batch ----

def hops(graph, trace):
    """For each batch, hop and relation: seeds, hop, relation, destinations, edges as ids, their weights."""
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
    return (often + 0.5) / (times + 1)


def layers_are_drawn_by_importance(graph):
    """Four seeds, so that the first hop's destinations are the same in every epoch."""
    items = np.arange(graph.first["item"], graph.first["item"] + graph.count["item"])
    degree = graph.relations[0]["degree"][items] * graph.relations[1]["degree"][items]
    seeds = items[np.argsort(-degree)[[0, 3, 9, 15]]]
    whole = np.load("graph/train.npy")
    np.save("graph/train.npy", seeds.astype(whole.dtype))
    epochs, random = 2500, np.random.default_rng(5)
    often = np.zeros((len(graph.relations), graph.nodes))
    for _, _, r, destinations, src, _, _ in hops(graph, Trace("graph", "--sampler", "ladies", "--fanout", "1", "--batch", 4, "--epochs", epochs, *MEMORY)):
        assert np.array_equal(np.sort(destinations), np.sort(seeds))
        often[r][np.unique(src)] += 1
    np.save("graph/train.npy", whole)
    for r in 0, 1:
        p, _ = importance(graph, r, seeds)
        feeding = np.flatnonzero(p)
        expected = successive(p[feeding], 4, 2500, random)
        error = np.sqrt(2 * expected * (1 - expected) / epochs) + 1e-9
        z = (often[r][feeding] / epochs - expected) / error
        square = (z**2).mean()
        print(f"{graph.relations[r]['name']}: {len(feeding)} nodes feed the seeds, p from {p[feeding].min():.4f} to {p.max():.4f};"
              f" mean square {square:.2f}, most {np.abs(z).max():.1f} deviations")
        assert len(feeding) > 12 and p.max() > 3 * p[feeding].min() and square < 2 and np.abs(z).max() < 5
    assert often[2].sum() == 0, "rev_buys leads to users"
    print("nodes are drawn by their importance")


# ---- where walks lead ----

BACK = {0: 0, 1: 2, 2: 1}  # the relation of each second step; the others have none


def steps_of(graph, r):
    """For each step: the lists that it chooses from and whether it is a visit."""
    while True:
        yield graph.relations[r], True
        if r not in BACK:
            return
        yield graph.relations[BACK[r]], BACK[r] == r


def reached(graph, r, v, length):
    """All that walks from v may visit."""
    if (r, v, length) in reached.known:
        return reached.known[r, v, length]
    here, visited = np.array([v]), np.zeros(0, np.int64)
    for _, (rel, counts) in zip(range(length), steps_of(graph, r)):
        here = np.unique(rel["src"][np.isin(rel["dst"], here)])
        visited = np.union1d(visited, here) if counts else visited
    reached.known[r, v, length] = visited
    return visited


reached.known = {}


def outcomes(graph, r, v, length, restart):
    """{nodes that one walk visits, in order: chance}"""
    found = {}

    def walk(at, steps, visited, chance):
        for rel, counts in steps[:1]:
            to = rel["src"][rel["dst"] == at]
            for u in to:
                seen = visited + (int(u),) if counts else visited
                ends = 1.0 if len(steps) == 1 else restart
                found[seen] = found.get(seen, 0) + chance / len(to) * ends
                if ends < 1:
                    walk(u, steps[1:], seen, chance / len(to) * (1 - ends))
            if len(to) == 0:
                found[visited] = found.get(visited, 0) + chance

    walk(v, [step for _, step in zip(range(length), steps_of(graph, r))], (), 1.0)
    return found


def check_walks(graph, fanout, walks, length, r, destinations, src, dst, weight):
    rel = graph.relations[r]
    listed = destinations[rel["degree"][destinations] > 0]
    assert np.array_equal(np.unique(dst), np.unique(listed) if fanout else []), "every destination that has a list"
    most = walks * (length if BACK.get(r) == r else (length + 1) // 2 if r in BACK else 1)
    for v in np.unique(dst):
        mine = dst == v
        nodes, share = src[mine], weight[mine]
        assert abs(share.sum() - 1) < 1e-6 and len(nodes) == len(np.unique(nodes)) and (fanout < 0 or len(nodes) <= fanout)
        assert np.isin(nodes, reached(graph, r, v, length)).all(), "where walks lead"
        assert any(np.abs(share * n - np.round(share * n)).max() < 1e-5 * n and np.round(share * n).min() >= 1 for n in range(1, most + 1)), "visits are whole"
        order = np.lexsort((nodes, -share.astype(np.float32)))
        assert np.array_equal(order, np.arange(len(nodes))), "the most visited first, of equals the smaller"


def walks_lead_where_lists_do(graph):
    ways = [(["--walks", 4, "--walk-length", 3, "--neighbors", 5, "--relation-fanout", "like=2,-1,0;sells=1,1,3", "--fanout", "1,1,1"],
             {"like": [2, -1, 0], "sells": [1, 1, 3]}, [5, 5, 5], 4, 3),
            (["--walks", 9, "--walk-length", 4, "--walk-restart", 0.1, "--neighbors", 40, "--fanout", "1"], {}, [36], 9, 4),
            (["--walks", 20, "--walk-length", 1, "--neighbors", 3, "--fanout", "1,1"], {}, [3, 3], 20, 1)]
    for more, own, usual, walks, length in ways:
        for draw in "each", "once":
            options = ["--sampler", "walk", *more, "--batch", 20, "--epochs", 1, "--draw", draw, *MEMORY]
            memory = Trace("graph", *options, "--topology", "memory")
            before = {}
            for _, h, r, destinations, src, dst, weight in hops(graph, memory):
                old = before.get((h - 1, r), (src[:0],) * 3) if draw == "once" and h else (src[:0],) * 3
                n = len(old[0])
                assert all(np.array_equal(a[:n], b) for a, b in zip((src, dst, weight), old)), "a node draws once"
                before[h, r] = src, dst, weight
                fanout = own.get(graph.relations[r]["name"], usual)[h]
                if draw == "each" or h == 0:
                    check_walks(graph, fanout, walks, length, r, destinations, src, dst, weight)
                else:
                    new = destinations[~np.isin(destinations, before["known"])]
                    check_walks(graph, fanout, walks, length, r, new, src[n:], dst[n:], weight[n:])
                if r == len(graph.relations) - 1:
                    before["known"] = destinations
            memory.same(Trace("graph", *options, "--topology", "disk"))
            run("verify", memory.folder)
    print("walks lead where lists do, from memory and from disk")


def walks_are_as_likely_as_lists_have_it(graph):
    """One walk from each of six seeds, in 3000 epochs."""
    items = np.arange(graph.first["item"], graph.first["item"] + graph.count["item"])
    degree = graph.relations[1]["degree"][items]
    seeds = items[(degree >= 2) & (degree <= 4) & (graph.relations[0]["degree"][items] > 1)][:6]
    assert len(seeds) == 6
    whole = np.load("graph/train.npy")
    np.save("graph/train.npy", seeds.astype(whole.dtype))
    epochs, length, restart = 3000, 3, 0.3
    options = ["--sampler", "walk", "--walks", 1, "--walk-length", length, "--walk-restart", restart, "--neighbors", 9, "--fanout", "1"]
    found = {}
    for _, _, r, destinations, src, dst, weight in hops(graph, Trace("graph", *options, "--batch", 6, "--epochs", epochs, *MEMORY)):
        for v in seeds:
            if r < 2:
                key = r, v, tuple(sorted(zip(src[dst == v].tolist(), np.round(weight[dst == v], 4).tolist())))
                found[key] = found.get(key, 0) + 1
    np.save("graph/train.npy", whole)
    for r in 0, 1:
        square, freedom = 0.0, 0
        for v in seeds:
            expected = {}
            for visited, chance in outcomes(graph, r, v, length, restart).items():
                nodes, times = np.unique(visited, return_counts=True)
                code = tuple(zip(nodes.tolist(), np.round(times / max(len(visited), 1), 4).tolist()))
                expected[code] = expected.get(code, 0) + chance
            assert abs(sum(expected.values()) - 1) < 1e-9
            mine = {key[2]: n for key, n in found.items() if key[:2] == (r, v)}
            assert mine.keys() <= expected.keys(), "nothing but what lists allow"
            rare = sum(p for p in expected.values() if p * epochs < 5) * epochs
            cells = [(mine.get(code, 0), p * epochs) for code, p in expected.items() if p * epochs >= 5]
            if rare >= 5:
                cells.append((epochs - sum(n for n, _ in cells), rare))
            square += sum((n - e)**2 / e for n, e in cells)
            freedom += len(cells) - 1
        z = (square - freedom) / np.sqrt(2 * freedom)
        print(f"{graph.relations[r]['name']}: chi-square {square:.0f} of {freedom} degrees of freedom, {z:.1f} deviations")
        assert abs(z) < 4.5 and freedom > 40
    print("walks are as likely as lists have it")


# ---- what trains on them ----

def training(sampler):
    return ["--sampler", sampler, "--fanout", "3,2", "--batch", 25, "--epochs", 3, "--hidden", 8, "--threads", 2, "--memory", "150M"]


def runs_have_the_same_bits(graph, sampler):
    options = training(sampler)
    drawn = f"drawn-{sampler}"
    run("sample", "graph", "--out", drawn, *options[:8], *MEMORY)
    for model_name, model in ("pinsage", ["--model", "pinsage", "--dropout", 0.2]), ("rgcn", ["--model", "rgcn", "--bases", 2]), ("gcn", ["--model", "gcn"]):
        name, whole = f"{sampler}-{model_name}", None
        for i, way in enumerate(([], ["--topology", "disk", "--policy", "none"], ["--samples", drawn, "--policy", "lru", "--cache", "4K"],
                                 ["--policy", "belady", "--cache", "4K", "--superbatch", 2], ["--preset", "ginex", "--cache", "4K"],
                                 ["--trainers", 2], ["--topology", "disk", "--phased-memory", "--policy", "belady", "--cache", "4K"])):
            run("train", "graph", *options, *model, *way, "--run", f"{name}{i}")
            got = pathlib.Path(f"{name}{i}/checkpoint.safetensors").read_bytes()
            whole = whole or got
            assert got == whole, (name, way)
        for topology in "memory", "disk":
            of = ["graph", "--checkpoint", f"{name}0/best.safetensors", "--topology", topology, "--memory", "150M"]
            run("predict", *of, "--out", f"{name}-{topology}.npy")
            said = json.loads(run("eval", *of, *options[2:6], "--json"))
            assert said["metrics"] == json.loads(pathlib.Path(f"{name}0/summary.json").read_text())["test_metrics"], said
        assert np.array_equal(np.load(f"{name}-memory.npy"), np.load(f"{name}-disk.npy"))
    link = [*options, "--task", "link", "--accumulate", 2]
    run("train", "graph", *link, "--run", f"{sampler}-link")
    run("train", "graph", *link, "--topology", "disk", "--policy", "none", "--run", f"{sampler}-link-disk")
    assert pathlib.Path(f"{sampler}-link/checkpoint.safetensors").read_bytes() == pathlib.Path(f"{sampler}-link-disk/checkpoint.safetensors").read_bytes()
    print(f"{sampler}: runs have the same bits from memory, from disk and from samples")


# ---- what is damaged, what is too little ----

def weights_are_looked_at():
    path = pathlib.Path("drawn-ladies/hop2_weight.npy")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "drawn" in refused("verify", "drawn-ladies")
    assert "drawn" in refused("train", "graph", *training("ladies"), "--samples", "drawn-ladies", "--run", "no")
    path.unlink()
    assert "hop2_weight" in refused("train", "graph", *training("ladies"), "--samples", "drawn-ladies", "--run", "other")
    print("weights that were damaged are found")


def runs_keep_within_memory():
    make_many("hundreds", 100, 10)
    run("generate", "dense", "--types", "a:5000:16,b:2000:8", "--relations", "a:x:a:10,b:y:a:2,a:rev_y:b:3")
    many = ["walk", "--walks", 30, "--neighbors", 90]  # more edges than there are
    for graph, batch, sampler in (("graph", 60, ["ladies"]), ("hundreds", 200, ["ladies"]), ("graph", 60, ["walk"]), ("hundreds", 200, ["walk"]),
                                  ("dense", 1000, many)):
        for topology in "memory", "disk":
            least = ["sample", graph, "--topology", topology, "--sampler", *sampler, "--fanout", "5,5,5", "--batch", batch, "--epochs", 1, "--threads", 2]
            enough = re.search(r"--memory (\d+)M", refused(*least, "--out", "x", "--memory", "1M"))[1]
            peak = watched(*least, "--out", f"least_{graph}_{topology}_{sampler[0]}", "--memory", enough + "M")["VmHWM"]
            assert SANITIZED or peak <= int(enough) * 1024, (graph, topology, sampler, peak, enough)
    print("runs keep within --memory")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder  # buffers are as large as a disk that was measured wants them
        graph = make_graph()
        assert "--draw" in refused("sample", "graph", "--out", "x", "--sampler", "ladies", "--draw", "once")
        layers_are_those_of_numpy(graph)
        layers_are_drawn_by_importance(graph)
        walks_lead_where_lists_do(graph)
        walks_are_as_likely_as_lists_have_it(graph)
        for sampler in "ladies", "walk":
            runs_have_the_same_bits(graph, sampler)
        weights_are_looked_at()
        runs_keep_within_memory()
        os.chdir("/")


main()
