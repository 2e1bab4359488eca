#!/usr/bin/env python3
"""What `outgrow sample` writes of a heterogeneous graph, looked up in its files by NumPy. Nothing here knows how the library draws.

In every batch and hop each destination has as many neighbours as fanout or list allows. Both are those of a relation that ends in its type. It has them in this
hop or, where it draws once, in an earlier one. They are in that list, none twice; a new node is named by a new edge, in order of discovery. From memory and
from disk the batches are bit-identical. Which neighbours a list gets is uniform (chi-square a relation). One type and one relation are sampled as the same
homogeneous graph.

    typed_samples.py OUTGROW [SOURCE]      exits 77 where there is no NumPy. SOURCE is a folder that `import npy` takes, looked
                                           at in place of the graph that is made here
"""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

from typed_command import OUTGROW, SANITIZED, outgrow, run

try:
    import numpy as np
except ImportError:
    sys.exit(77)
from typed_trace import Graph, Trace as AnyTrace, make_many, neutral, refused, watched

SOURCE = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
MEMORY = ["--memory", "400M" if SOURCE else "200M", "--threads", "2"]


def Trace(graph, *options):
    return AnyTrace(graph, *MEMORY, *options)


# ---- graphs ----

def make_typed():
    """Three types in any order. To "cites" belong loops, a hub and nodes without edges; no relation leads to authors."""
    r = np.random.default_rng(1)
    kinds = r.permutation(np.repeat([0, 1, 2], [300, 200, 30]))
    paper, author, venue = (np.flatnonzero(kinds == t) for t in range(3))
    pairs = [(paper, paper, 2500), (author, paper, 1500), (paper, venue, 900), (venue, paper, 300)]
    edges, of = [], []
    for k, (src, dst, n) in enumerate(pairs):
        some = {(int(u), int(v)) for u, v in zip(r.choice(src, n), r.choice(dst[len(dst) // 8:], n))}
        some |= {(int(u), int(dst[-1])) for u in src[::2]}
        edges += sorted(some)
        of += [k] * len(some)
    weight = r.choice([0, 0.25, 1, 3], len(edges)).astype(np.float32)
    neutral("typed", edges=np.array(edges), edge_type=np.array(of), node_type=kinds, edge_weight=weight,
            feat_paper=r.random((len(paper), 2000), dtype=np.float32),
            feat_venue=r.random((len(venue), 5)).astype(np.float16), label=r.integers(0, 2, len(kinds)),
            train=r.permutation(len(kinds))[:180])
    meta = {"node_types": [{"type": t, "name": n} for t, n in enumerate(("paper", "author", "venue"))],
            "edge_types": [{"edge_type": k, "name": n} for k, n in enumerate(("cites", "writes", "holds", "in"))]}
    pathlib.Path("typed/meta.json").write_text(json.dumps(meta))


# ---- what holds of every batch ----

def check_relation(graph, sampler, r, fanout, block, ids, first, end):
    """Edges that destinations first to end of a hop drew of relation r."""
    rel = graph.relations[r]
    src, dst = block[:, 0], block[:, 1]
    assert np.all(np.diff(dst) >= 0) and np.all((dst >= first) & (dst < end)), "lists are those of destinations, in order"
    assert len(np.unique(block, axis=0)) == len(block), "a neighbour twice"
    allowed, degree = rel["key"], rel["degree"]
    if sampler == "weighted":
        allowed = allowed[rel["weight"] > 0]
        degree = np.bincount(rel["dst"], rel["weight"] > 0, graph.nodes).astype(np.int64)
    assert np.isin(ids[src].astype(np.int64) * graph.nodes + ids[dst], allowed).all(), "no edge of the relation"
    most = degree[ids[first:end]]
    drawn = np.bincount(dst - first, minlength=end - first)
    if sampler == "labor":  # as many as the fanout on average; but all where there are no more
        all_of = (most <= fanout) | (fanout < 0)
        assert np.array_equal(drawn[all_of], most[all_of]) and (fanout or not drawn.any())
    else:
        assert np.array_equal(drawn, most if fanout < 0 else np.minimum(most, fanout)), "length of a list"


def check_batch(graph, sampler, fanouts, once, ids, known, edges):
    before = np.empty((0, 3), np.int64)
    for h, block in enumerate(edges):
        rel = block[:, 2]
        assert np.all(np.diff(rel) >= 0), "relations in order"
        for r in range(len(graph.relations)):
            mine = block[rel == r]
            old = before[before[:, 2] == r] if once else before[:0]
            assert np.array_equal(mine[:len(old)], old), "a relation begins with the lists of the hop before"
            first = known[h - 1] if once and h else 0
            check_relation(graph, sampler, r, fanouts[r][h], mine[len(old):], ids, first, known[h])
        found, at = np.unique(block[:, 0], return_index=True)
        beyond = found >= known[h]
        assert np.array_equal(found[beyond], np.arange(known[h], known[h + 1])), "who is new is named by an edge"
        assert np.all(np.diff(at[beyond]) > 0), "in order of discovery"
        before = block
    assert known[-1] == len(ids) == len(np.unique(ids))


def fanouts_of(graph, usual, own):
    return [own.get(r["name"], own.get("__".join((r["source"], r["name"], r["destination"])), usual)) for r in graph.relations]


def check_all(graph, batch, epochs, ways, samplers):
    for usual, own in ways:
        text = ";".join([",".join(map(str, usual))] + [f"{name}={','.join(map(str, f))}" for name, f in own.items()])
        for sampler in samplers:
            for draw in "each", "once":
                options = ["--sampler", sampler, "--fanout", text, "--batch", batch, "--epochs", epochs, "--draw", draw]
                memory = Trace(graph.folder, *options, "--topology", "memory")
                for one in memory.batches():
                    check_batch(graph, sampler, fanouts_of(graph, usual, own), draw == "once", *one)
                memory.same(Trace(graph.folder, *options, "--topology", "disk"))
                run("verify", memory.folder)
    print("every batch has the edges that it should have, from memory and from disk")


# ---- which neighbours ----

def check_uniform(graph, batch, epochs, fanout=2):
    """For lists drawn `fanout` out of d: how often each neighbour is in them. The squares of a list have d - 1 degrees of freedom."""
    times, often = [np.zeros(graph.nodes) for _ in graph.relations], [[] for _ in graph.relations]
    for ids, known, blocks in Trace(graph.folder, "--fanout", f"{fanout},{fanout}", "--batch", batch, "--epochs", epochs).batches():
        for h, block in enumerate(blocks):
            for r in range(len(graph.relations)):
                mine = block[block[:, 2] == r]
                times[r][ids[:known[h]]] += 1
                often[r].append(ids[mine[:, 0]].astype(np.int64) * graph.nodes + ids[mine[:, 1]])
    for r, rel in enumerate(graph.relations):
        seen = np.zeros(len(rel["key"]))
        order = np.argsort(rel["key"])
        key, count = np.unique(np.concatenate(often[r]), return_counts=True)
        seen[order[np.searchsorted(rel["key"][order], key)]] = count
        degree = rel["degree"][rel["dst"]]
        expected = times[r][rel["dst"]] * fanout / degree
        fit = (degree > fanout) & (expected > 1)
        share = fanout / degree[fit]
        square = ((seen[fit] - expected[fit]) ** 2 / (expected[fit] * (1 - share)) * (degree[fit] - 1) / degree[fit]).sum()
        freedom = ((degree[fit] - 1) / degree[fit]).sum()
        if freedom < 20:
            continue
        z = (square - freedom) / np.sqrt(2 * freedom)
        print(f"{rel['source']} {rel['name']} {rel['destination']}: chi-square {square:.0f} of {freedom:.0f} degrees of freedom,"
              f" {z:.1f} deviations")
        assert abs(z) < 4.5


# ---- features ----

def kept_by_degree(graph, stored, room, most):
    """Nodes whose rows are cached: the most used, by out-degree times the cost of reading a byte. The cost depends on the row's width."""
    degree, width, cost = np.zeros(graph.nodes), np.zeros(graph.nodes, np.int64), np.zeros(graph.nodes)
    for r in graph.relations:
        degree += np.bincount(r["src"], minlength=graph.nodes)
    for t, (first, count) in enumerate(zip(graph.first.values(), graph.count.values())):
        if t in stored:
            row = stored[t].shape[1] * stored[t].itemsize
            width[first:first + count], cost[first:first + count] = row, -(-row // 512) * 512 / row
    worth = ((degree + 2.0**-20) * cost).astype(np.float32)
    order = np.lexsort((np.arange(graph.nodes), -worth))
    order = order[width[order] > 0]
    fit = np.cumsum(width[order]) <= room
    return order[:min(len(order) if fit.all() else int(fit.argmin()), most)], width


def check_cached(graph, stored, uncached):
    total = sum(a.nbytes for a in stored.values())
    for cache, room, most in ("200K", 200 * 1024, graph.nodes), ("4K", 4096, graph.nodes), ("15%", total, graph.nodes * 15 // 100), ("100%", total, graph.nodes):
        out = f"cached_{cache}"
        done = outgrow("sample", graph.folder, "--out", out, *MEMORY, "--fanout", "3,3", "--batch", 25, "--epochs", 1, "--with-features",
                       "--policy", "degree", "--cache", cache, "--json")
        assert done.returncode == 0, done.stderr
        for name, array in uncached.arrays.items():
            assert np.array_equal(array, np.load(f"{out}/{name}.npy")), (cache, name)
        kept, width = kept_by_degree(graph, stored, room, most)
        for t, said in zip(sorted(stored), json.loads(done.stdout)["types"]):
            first, count = list(graph.first.values())[t], list(graph.count.values())[t]
            ids = uncached.arrays["ids"]
            mine = ids[(ids >= first) & (ids < first + count)]
            assert said["name"] == list(graph.first)[t] and said["rows"] == len(mine)
            assert said["cache_rows"] == ((kept >= first) & (kept < first + count)).sum(), (cache, said)
            assert said["misses"] == (~np.isin(mine, kept)).sum() and (said["feature_bytes_read"] > 0) == (said["misses"] > 0)
    np.save("scores.npy", np.arange(graph.nodes))
    for policy in "none", "random", "presc", "pagerank", "file:scores.npy", "lru", "belady", "hybrid":
        uncached.same(Trace(graph.folder, "--fanout", "3,3", "--batch", 25, "--epochs", 1, "--with-features", "--policy", policy, "--topology", "disk"))
    np.save("few.npy", np.arange(graph.nodes - 1))
    assert "scores, there are" in refused("sample", graph.folder, "--out", "x", "--with-features", "--policy", "file:few.npy")
    print("rows that are kept are the worthiest of all types")



def check_features(graph):
    stored = {t: np.load(graph.folder / f"features_{t}.npy") for t in range(len(graph.first)) if (graph.folder / f"features_{t}.npy").exists()}
    assert len(stored) > 1
    for io in "pread", "mmap":
        trace = Trace(graph.folder, "--fanout", "3,3", "--batch", 25, "--epochs", 1, "--with-features", "--io", io, "--policy", "none")
        for t, first, count in zip(range(len(graph.first)), graph.first.values(), graph.count.values()):
            assert (f"features_{t}" in trace.arrays) == (t in stored)
            if t not in stored:
                continue
            ids, ends = trace.arrays["ids"].astype(np.int64) - first, trace.arrays["ids_ptr"]
            mine = (ids >= 0) & (ids < count)
            rows, start = trace.arrays[f"features_{t}"], trace.arrays[f"features_{t}_ptr"]
            assert rows.dtype == stored[t].dtype and np.array_equal(rows, stored[t][ids[mine]])
            assert np.array_equal(start, np.r_[0, np.cumsum(mine)][ends])
        run("verify", trace.folder)
    uncached = trace
    check_cached(graph, stored, uncached)
    path = trace.folder / "features_0.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "features_0" in refused("verify", trace.folder)
    print("rows of types are those of the dataset")


# ---- one type and one relation ----

def check_plain():
    r = np.random.default_rng(2)
    edges = {(int(u), int(v)) for u, v in zip(r.integers(0, 300, 3000), r.integers(20, 300, 3000))} | {(v, v) for v in range(40, 60)}
    edges = np.array(sorted(edges))
    neutral("plain", edges=edges, edge_weight=r.random(len(edges), dtype=np.float32) + 0.1,
            feat=r.random((300, 3), dtype=np.float32), label=r.integers(0, 2, 300), train=r.permutation(300)[:120])
    run("import", "npy", "plain", "none")
    shutil.copytree("none", "one")
    for name in "indptr", "indices", "weights", "features":
        os.rename(f"one/{name}.npy", "one/features_0.npy" if name == "features" else f"one/rel0_{name}.npy")
    pathlib.Path("one/meta.json").write_text(json.dumps({
        "format": 2, "node_types": [{"name": "node", "count": 300}], "num_classes": 2,
        "relations": [{"source": "node", "name": "to", "destination": "node"}]}))
    for sampler in "uniform", "weighted", "labor", "ladies", "walk":
        for draw in ["each"] if sampler == "ladies" else ["each", "once"]:
            options = ["--sampler", sampler, "--fanout", "4,3,-1", "--batch", 25, "--epochs", 2, "--draw", draw]
            typed, plain = Trace("one", *options), Trace("none", *options)
            assert ("hop3_weight" in plain.arrays) == (sampler in ("ladies", "walk"))
            same = [name for name in typed.arrays if not name.endswith("_rel") and name not in ("check", "degree_counts")]
            assert len(same) == len(plain.arrays) - 1
            for name in same:
                assert np.array_equal(typed.arrays[name], plain.arrays[name]), name
            assert not any(typed.arrays[f"hop{h}_rel"].any() for h in (1, 2, 3))
    said = json.loads((typed.folder / "trace.json").read_text())["node_types"]  # more than meta.json does
    assert said == [{"name": "node", "count": 300, "feature_dim": 3, "feature_dtype": "f32"}], said
    assert typed.arrays["degree_counts"][:, 2].sum() == 300
    print("one type and one relation are sampled as without types")


# ---- many relations ----

def limited(soft, hard, *args):
    """The command with so many files open at a time, at first and at most."""
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return subprocess.run([OUTGROW, *map(str, args), "--quiet"], capture_output=True, text=True, preexec_fn=lower)


def check_descriptors():
    make_many("many", 60)
    sample = ["sample", "many", "--epochs", 1, "--batch", 100, "--fanout", "3,3", "--memory", "200M"]
    disk = sample + ["--topology", "disk", "--threads", 4]
    raised = limited(256, 2048, *disk, "--out", "raised")
    assert raised.returncode == 0, raised.stderr
    few = limited(256, 256, *disk, "--out", "few")
    needs = re.search(r"--topology disk: needs (\d+) files open at a time, 256 are allowed\nhint: `ulimit -n (\d+)`", few.stderr)
    assert few.returncode == 1 and needs and needs[1] == needs[2] and not os.path.exists("few"), few.stderr
    enough = limited(int(needs[1]), int(needs[1]), *disk, "--out", "few")
    assert enough.returncode == 0, enough.stderr
    assert limited(256, 256, *sample, "--topology", "memory", "--out", "in_memory").returncode == 0
    none = limited(100, 100, "info", "many")
    needs = re.search(r"many: needs (\d+) files open at a time, 100 are allowed\nhint: `ulimit -n (\d+)`", none.stderr)
    assert none.returncode == 1 and needs, none.stderr
    assert limited(int(needs[2]), int(needs[2]), "info", "many").returncode == 0
    print("as many files are open as the machine allows, and what needs more says so")


def check_many():
    make_many("hundreds", 100, 10)
    sample = ["sample", "hundreds", "--batch", 10, "--fanout", "5,5,5", "--topology", "disk", "--threads", 1]
    for io in "pread", "mmap":
        most = watched(*sample, "--epochs", 4, "--memory", "400M", "--io", io, "--out", f"threads_{io}")["Threads"]
        assert 50 < most < 145, (io, most)  # one a relation, and those of the reader that groups have for all
    least = re.search(r"--memory (\d+)M", refused(*sample, "--epochs", 1, "--memory", "1M", "--out", "x"))[1]
    for io in "auto", "pread":
        most = watched(*sample, "--epochs", 1, "--memory", least + "M", "--io", io, "--out", f"least_{io}")["VmHWM"]
        assert SANITIZED or 0 < most <= int(least) * 1024, (io, most / 1024, least)
    print("hundreds of relations are read by as many threads, within --memory")


# ---- a cache that does not fit ----

def check_memory(graph):
    rows = ["sample", graph.folder, "--with-features", "--batch", 25, "--epochs", 1, "--topology", "memory", "--policy", "degree"]
    least = int(re.search(r"--memory (\d+)M", refused(*rows, "--memory", "1M", "--out", "x"))[1])
    for cache in "100%", "2M":
        said = refused(*rows, "--memory", f"{least}M", "--cache", cache, "--out", "x")
        assert "--cache: " in said and "--memory has " in said and not os.path.exists("x"), said
        while "--cache: " in said:  # where rows cannot even be ranked it cannot say yet how much they take
            enough = re.search(r"--memory (\d+)M", said)[1]
            done = outgrow(*rows, "--memory", f"{enough}M", "--cache", cache, "--out", f"fits_{cache}", "--json")
            assert done.returncode == 0 or said != done.stderr, said
            said = done.stderr
        kept = sum(t["cache_rows"] for t in json.loads(done.stdout)["types"])
        assert kept == graph.count["paper"] + graph.count["venue"] if cache == "100%" else kept > 0
    run(*rows, "--memory", f"{least}M", "--out", "little")
    run("generate", "dense", "--types", "a:5000:16,b:2500", "--relations", "a:x:a:400,b:y:a:200,a:z:b:200")
    visits = ["sample", "dense", "--with-features", "--fanout", "-1,-1", "--batch", 1000, "--epochs", 1, "--topology", "memory", "--policy", "presc", "--threads", 2]
    least = int(re.search(r"--memory (\d+)M", refused(*visits, "--memory", "1M", "--out", "x"))[1])
    for more in range(0, 60, 4):
        run(*visits, "--memory", f"{least + more}M", "--out", f"visits_{more}")
        shutil.rmtree(f"visits_{more}")
    print("a cache that is asked for is there, or refused")


# ---- what is said ----

def said_of(graph, *options):
    said_of.times = getattr(said_of, "times", 0) + 1
    done = subprocess.run([OUTGROW, *map(str, ["sample", graph, "--out", f"said_{said_of.times}", *MEMORY, "--batch", 25, "--epochs", 1, *options])],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def check_idle(graph):
    for more in [], ["--with-features"]:
        assert "--model has no effect: " in said_of(graph.folder, "--topology", "disk", "--model", "gcn", *more)
        assert "no effect" not in said_of(graph.folder, "--topology", "disk", "--neighbor-cache", "1M", "--sample-group", "4", *more)
    assert "--pack-dtype has no effect: " in said_of(graph.folder, "--with-features", "--pack-dtype", "f16")
    for options in ["--superbatch", "4"], ["--layout", "packed"]:
        assert "no effect" not in said_of(graph.folder, "--with-features", "--policy", "belady", *options), options
    assert "--cache has no effect with --policy none" in said_of(graph.folder, "--with-features", "--policy", "none", "--cache", "1M")
    assert "no effect" not in said_of(graph.folder, "--with-features", "--policy", "degree", "--cache", "1M", "--relation-fanout", "cites=1,1,1")
    said = said_of("none", "--relation-fanout", "cites=1,1,1")
    assert "--relation-fanout has no effect: the graph has no relations" in said, said
    print("options without effect are told")


def check_labels(graph):
    shutil.copytree(graph.folder, "bare")
    labels, train = np.load("bare/labels.npy"), np.load("bare/train.npy")
    first, count = graph.first["author"], graph.count["author"]
    labels[first:first + count] = -1
    np.save("bare/labels.npy", labels)
    n = ((train >= first) & (train < first + count)).sum()
    assert n > 0 and f"{n} nodes to train on, of type author, have no label" in said_of("bare")
    assert "no label" not in said_of(graph.folder)
    print("nodes to train on that have no label are told")


def check_fanouts(graph):
    assert "relation 'cites' is named twice" in refused("sample", "graph", "--out", "x", "--fanout", "5,5;cites=1,1;cites=2,2")
    assert "named twice" in refused("sample", "graph", "--out", "x", "--fanout", "5,5;writes=1,1;author__writes__paper=2,2")
    assert "--fanout: '5,5;'" in outgrow("sample", "graph", "--out", "x", "--fanout", "5,5;").stderr
    usual = Trace(graph.folder, "--fanout", "5,5", "--batch", 25, "--epochs", 1)
    usual.same(Trace(graph.folder, "--fanout", "10,10;cites=1,1", "--fanout", "5,5", "--batch", 25, "--epochs", 1))
    own = Trace(graph.folder, "--fanout", "5,5;cites=1,1", "--batch", 25, "--epochs", 1)
    own.same(Trace(graph.folder, "--relation-fanout", "cites=1,1", "--fanout", "5,5", "--batch", 25, "--epochs", 1))
    names = re.search("its relations: (.*)", refused("sample", "many", "--out", "x", "--fanout", "5,5;sites=1,1"))[1]
    told, more = re.fullmatch(r"(.*) and (\d+) more", names).groups()
    assert told.split(", ") == [f"r{i}" for i in range(60 - int(more))]
    run("generate", "alike", "--types", "a:50:2,b:50", "--relations", "a:x:a,b:x:a,a:x:b,b:y:b")
    assert "its relations: x, y\n" in refused("sample", "alike", "--out", "x", "--fanout", "5,5;z=1,1") + "\n"
    print("fanouts of relations are taken once, and from where they were last said")



def check_words(graph):
    said = Trace(graph.folder, "--fanout", "3,2", "--relation-fanout", "cites=5,1", "--batch", 25, "--epochs", 1)
    said.same(Trace(graph.folder, "--fanout", "3,2;cites=5,1", "--batch", 25, "--epochs", 1))
    done = outgrow("sample", graph.folder, "--out", "again", *MEMORY, "--fanout", "3,2;cites=5,1", "--batch", 25, "--epochs", 1, "--json")
    told = [(r["source"], r["name"], r["destination"], r["edges"]) for r in json.loads(done.stdout)["relations"]]
    drawn = np.bincount(np.concatenate([said.arrays[f"hop{h}_rel"] for h in (1, 2)]), minlength=len(graph.relations))
    assert told == [(r["source"], r["name"], r["destination"], n) for r, n in zip(graph.relations, drawn)]
    root = json.loads((said.folder / "trace.json").read_text())
    assert [r["name"] for r in root["relations"]] == [r["name"] for r in graph.relations] and root["node_types"][0]["name"] == "paper"
    assert "no relation 'sites'" in refused("sample", "graph", "--out", "x", "--fanout", "3,2;sites=1,1")
    assert "1 numbers for 'cites', 2 hops" in refused("sample", "graph", "--out", "x", "--fanout", "3,2;cites=1")
    assert "relation-fanout: 'cites='" in refused("sample", "graph", "--out", "x", "--fanout", "3,2;cites=")
    assert "have no features" in refused("plan", "graph")
    assert "give both" in refused("simulate", said.folder, "--policy", "degree", "--cache", "10%")
    for topology in "memory", "disk":
        for sampler in "uniform", "weighted", "labor":
            least = ["sample", graph.folder, "--topology", topology, "--sampler", sampler, "--batch", 60, "--epochs", 1, "--threads", 2, "--with-features"]
            too_little = refused(*least, "--out", "x", "--memory", "1M")
            assert "too little" in too_little and not os.path.exists("x"), too_little
            run(*least, "--out", f"least_{topology}_{sampler}", "--memory", re.search(r"--memory (\d+M)", too_little)[1])
    for name in "hop2_rel", "hop1_dst":
        path = said.folder / f"{name}.npy"
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        assert refused("verify", said.folder)
        path.write_bytes(whole)
    run("verify", said.folder)
    print("what cannot be is refused, what was damaged is found")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder  # buffers are as large as a disk that was measured wants them
        if SOURCE:
            run("import", "npy", SOURCE, "graph")
            graph = Graph("graph")
            check_all(graph, 1000, 1, [([5, 3], {})], ["uniform"])
            check_uniform(graph, 1000, 20)
        else:
            make_typed()
            run("import", "npy", "typed", "graph")
            graph = Graph("graph")
            ways = [([4, 3, 2], {"cites": [5, -1, 0], "author__writes__paper": [1, 1, 7]}), ([2], {}), ([60, 2], {"in": [-1, -1]})]
            check_all(graph, 25, 1, ways, ["uniform", "weighted", "labor"])
            check_uniform(graph, 30, 40)
            check_words(graph)
            check_features(graph)
            check_plain()
            check_descriptors()
            check_many()
            check_memory(graph)
            check_idle(graph)
            check_labels(graph)
            check_fanouts(graph)
        os.chdir("/")


main()
