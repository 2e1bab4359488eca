#!/usr/bin/env python3
"""Simulated caches of heterogeneous graphs: the figures of runs, to the last row and byte, under every policy. For static caches also what Python counts from the
dataset's files and the samples, which knows nothing of how the library ranks, divides or counts.

    typed_simulate.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import shutil
import tempfile

from typed_command import outgrow, refused, run, some

try:
    import numpy as np
except ImportError:
    import sys
    sys.exit(77)

NODES = 1700
SAMPLED = ["--epochs", 3, "--batch", 50, "--fanout", "4,3", "--threads", 2, "--memory", "120M"]
TYPES = ["paper:900:20", "author:700", "venue:40:5", "lab:60:9"]  # no sample ever finds a lab: nothing leads from one
RELATIONS = ["author:writes:paper:3", "paper:cites:paper:4", "paper:written.by:author:2", "venue:has:paper:1", "paper:at:venue:5", "author:of:lab:3"]
POLICIES = ["none", "random", "degree", "presc", "pagerank", "file:scores.npy", "lru", "rr", "sieve", "s3fifo", "clock", "belady", "frequency", "hybrid", "sweep"]
CACHES = ["30%", "10%", "20K", "0%"]


def simulate(graph, policies, caches, *more):
    path = pathlib.Path("simulated.json")
    path.unlink(missing_ok=True)
    said = run("simulate", graph, *SAMPLED, "--policy", ",".join(policies), "--cache", ",".join(caches), *more, "--json", path)
    return json.loads(path.read_text()), said


def total(epochs, key):
    return sum(e[key] for e in epochs)


def figures_are_those_of_runs():
    for turn, (kind, more) in enumerate((("node", []), ("parts", ["--superbatch", 4]), ("disk", ["--topology", "disk"]), ("labor", ["--sampler", "labor"]),
                       ("link", ["--task", "link", "--relation", "cites"]))):
        got, _ = simulate("graph", POLICIES, CACHES, *more)
        policies = POLICIES if kind == "node" else ["degree", "pagerank", "lru", "belady", "frequency", "hybrid", "sweep"]
        for i, policy in enumerate(policies if kind == "node" else some(policies, turn, 3)):
            for cache in some(CACHES[1:3], i, 2) if kind == "node" else CACHES[1:2]:
                name = f"{kind}-{policy}-{cache}"
                run("train", "graph", *SAMPLED, "--embedding", 6, "--hidden", 8, "--eval-every", 0, "--policy", policy, "--cache", cache, *more, "--run", name)
                summary = json.loads(pathlib.Path(name, "summary.json").read_text())
                told, = (r for r in got["results"] if (r["policy"], r["cache"]) == (policy, cache))
                if policy != "none":
                    assert told["cache_rows"] == summary["plan"]["cache_rows"], (name, told["cache_rows"], summary["plan"]["cache_rows"])
                    assert [t["cache_rows"] for t in told["types"]] == [t["cache_rows"] for t in summary["plan"]["types"] if t["row_bytes"]], name
                for key, of_run in (("rows", "rows"), ("hits", "hits"), ("misses", "misses"), ("bytes_read", "feature_bytes_read")):
                    assert told[key] == total(summary["epochs"], of_run), (name, key, told[key], total(summary["epochs"], of_run))
                    assert told[key] == sum(t[key] for t in told["types"]), (name, key)


PAIRS = {  # options of a run, besides sizes
    "static": ["--policy", "degree"],
    "random-over-degree": ["--device-policy", "random", "--policy", "degree"],
    "named": ["--device-policy", "degree", "--policy", "degree"],
    "presc-over-lru": ["--device-policy", "presc", "--policy", "lru"],
    "lru-over-degree": ["--device-policy", "lru", "--policy", "degree"],
    "only-there": ["--device-policy", "lru", "--policy", "none"],
    "none-there": ["--device-policy", "none", "--policy", "degree"],
    "belady-over-belady": ["--superbatch", 4, "--device-policy", "belady", "--policy", "belady"],
    "frequency": ["--superbatch", 4, "--policy", "frequency"],
    "rings": ["--superbatch", 4, "--device-policy", "hybrid:window=8,update=2", "--policy", "belady", "--victim", "pvp:depth=20"],
    "turns": ["--superbatch", 4, "--phased-memory", "--device-policy", "lru", "--policy", "belady"],
}
COUNTERS = {"rows": "rows", "hits": "hits", "misses": "misses", "device_hits": "device_hits", "host_hits": "host_hits", "victim_hits": "victim_hits",
            "bytes_read": "feature_bytes_read", "link_bytes": "link_bytes", "link_bytes_back": "link_bytes_back", "demoted": "demoted",
            "victim_pushed": "victim_pushed", "victim_dropped": "victim_dropped"}


def pairs_are_those_of_runs():
    """A device's cache over the host's is as large as a run's. It has the run's figures, in total and by type."""
    train = ["train", "graph", *SAMPLED, "--embedding", 6, "--hidden", 8, "--eval-every", 0, "--cache", "10%", "--device", "virtual"]
    for name, words in some(PAIRS.items(), 2, 3):
        run(*train, "--device-memory", "1300K", *words, "--run", f"pair-{name}")
        summary = json.loads(pathlib.Path(f"pair-{name}/summary.json").read_text())
        plan, epochs = summary["plan"], summary["epochs"]
        there = plan["device"]["memory"]["feature cache"]
        own = list(map(str, words))
        policy = own.pop(own.index("--policy") + 1)
        own.remove("--policy")
        got, _ = simulate("graph", [policy], ["10%"], "--device-memory", there, *own)
        told, = got["results"]
        assert name == "none-there" or told["device_rows"] == plan["device"]["cache_rows"] > 0, (name, told["device_rows"], plan["device"]["cache_rows"])
        assert told["cache_rows"] == plan["cache_rows"], (name, told["cache_rows"], plan["cache_rows"])
        wide = [t for t in plan["types"] if t["row_bytes"]]
        assert [(t["name"], t["cache_rows"], t["device_rows"]) for t in told["types"]] == [(t["name"], t["cache_rows"], t["device_rows"]) for t in wide], name
        for key, of_run in COUNTERS.items():
            assert told[key] == total(epochs, of_run), (name, key, told[key], total(epochs, of_run))
            assert told[key] == sum(t[key] for t in told["types"]), (name, key)
        if name in ("only-there", "belady-over-belady"):  # whose rows a trace ranks as well
            assert simulate("trace", [policy], ["10%"], "--device-memory", there, *own)[0]["results"] == got["results"], name


def workers_have_devices_of_their_own():
    way = ["--device-memory", "4K", "--device-policy", "lru"]
    alone, _ = simulate("graph", ["degree"], ["10%", "5%"], *way)
    both, _ = simulate("graph", ["degree"], ["10%", "5%"], *way, "--workers", 2)
    for a, b in zip(alone["results"], both["results"]):
        assert (a["rows"], a["cache_rows"], a["device_rows"]) == (b["rows"], b["cache_rows"], b["device_rows"]) and a["device_hits"] != b["device_hits"] > 0
    assert both["workers"] == 2


def edges():
    """For each relation its sources, destinations, and the destinations' in-degrees by it. Edges are in the order of the files."""
    meta = json.loads(pathlib.Path("graph/meta.json").read_text())
    first = dict(zip((t["name"] for t in meta["node_types"]), np.cumsum([0] + [t["count"] for t in meta["node_types"]])))
    for r, relation in enumerate(meta["relations"]):
        degree = np.diff(np.load(f"graph/rel{r}_indptr.npy"))
        yield (first[relation["source"]] + np.load(f"graph/rel{r}_indices.npy"),
               np.repeat(first[relation["destination"]] + np.arange(len(degree)), degree), np.repeat(degree, degree))


def out_degrees():
    uses = np.zeros(NODES)
    for sources, _, _ in edges():
        np.add.at(uses, sources, 1)
    return uses + 2.0**-20  # so that of rows that nobody uses narrow ones come first


def pagerank():
    """PageRank from the training nodes, in ten steps, the last of which adds no start. A node gives to each of its relations alike, and in it to each
    neighbour."""
    damping, train = np.float32(0.85), np.load("graph/train.npy")
    start = np.zeros(NODES, np.float32)
    start[train] = (np.float32(1) - damping) * np.float32(NODES) / np.float32(len(train))
    relations = np.zeros(NODES, np.float32)
    for _, destinations, _ in edges():
        relations[np.unique(destinations)] += 1
    rank = start
    for step in range(10):
        following = start.copy() if step < 9 else np.zeros(NODES, np.float32)
        rank = rank / np.maximum(relations, 1)
        for sources, destinations, degree in edges():
            np.add.at(following, sources, damping * rank[destinations] / degree.astype(np.float32))
        rank = following
    return rank + 2.0**-100


def figures_are_those_of_python():
    for policy, uses in (("degree", out_degrees()), ("pagerank", pagerank()), ("file:scores.npy", np.load("scores.npy")),
                         ("file:counts.npy", np.load("counts.npy").astype(float))):
        check_figures(policy, uses)


def check_figures(policy, uses):
    """The rows that a byte saves most by, whole blocks of 512 bytes being read."""
    ids = np.load("trace/ids.npy")
    first, count, width = (0, 1600, 1640), (900, 40, 60), (80, 20, 36)
    worth, size = np.full(len(uses), -np.inf), np.zeros(len(uses), int)
    for f, n, w in zip(first, count, width):
        of = uses[f:f + n]
        worth[f:f + n], size[f:f + n] = np.float32(np.where(of < 0, of / (512 / w), of * (512 / w))), w
    order = np.argsort(-worth, kind="stable")
    order = order[size[order] > 0]
    got, said = simulate("graph", [policy, "none"], ["20%", "12K", "25K"])
    limits = (int(len(uses) * 0.2), None), (None, 12 << 10), (None, 25 << 10)
    for told, (rows, room) in zip(got["results"], limits):
        kept = order[:rows] if rows is not None else order[np.cumsum(size[order]) <= room]
        holds = np.zeros(len(uses), bool)
        holds[kept] = True
        assert told["cache_rows"] == len(kept), (policy, told["cache_rows"], len(kept))
        for t, f, n in zip(told["types"], first, count):
            mine = ids[(ids >= f) & (ids < f + n)]
            assert (t["rows"], t["hits"]) == (len(mine), holds[mine].sum()), (t, len(mine), holds[mine].sum())
            assert t["misses"] == t["rows"] - t["hits"] and t["cache_rows"] == t["prefill"] == holds[f:f + n].sum(), t
    assert all(r["hits"] == 0 for r in got["results"][3:])
    assert [(t["name"], t["nodes"], t["row_bytes"]) for t in got["types"]] == [("paper", 900, 80), ("venue", 40, 20), ("lab", 60, 36)]
    assert got["results"][0]["types"][2]["rows"] == 0
    assert "rows of paper (80 B), venue (20 B), lab (36 B)" in said, said


def batches_of_a_trace_are_counted():
    """A trace is read back with the dataset, by which slots are divided. It is not drawn: otherwise batches that are not what was written would be missed."""
    drawn, _ = simulate("graph", POLICIES, CACHES)
    read, _ = simulate("graph", POLICIES, CACHES, "--samples", "trace")
    assert drawn["results"] == read["results"] and drawn["types"] == read["types"]
    shutil.copytree("trace", "damaged")
    ids = np.load("damaged/ids.npy", mmap_mode="r+")
    ids[-1] = ids[-2]
    ids.flush()
    assert "damaged/" in refused("simulate", "graph", *SAMPLED, "--policy", "lru", "--cache", "10%", "--samples", "damaged")


def a_trace_alone_counts_the_same():
    """A trace has enough of the graph to simulate alone. That is widths, and how many nodes have each degree, as NumPy counts them."""
    bare = [p for p in POLICIES if p not in ("degree", "presc", "pagerank", "hybrid")]
    with_graph, _ = simulate("graph", bare, CACHES)
    for more in ([], ["--workers", 2], ["--superbatch", 4], ["--pack-dtype", "f16"]):
        there, _ = simulate("graph", bare, CACHES, *more)
        alone, said = simulate("trace", bare, CACHES, *more)
        assert alone["results"] == there["results"] and alone["types"] == there["types"], more
        assert (alone["num_nodes"], alone["rows"], alone["epochs"]) == (there["num_nodes"], there["rows"], there["epochs"]), more
        assert (alone["results"] == with_graph["results"]) == (not more), more
        assert "rows of paper (" in said, said
    degrees, rows = np.rint(out_degrees()).astype(np.int64), []
    for t, first, n in ((0, 0, 900), (2, 1600, 40), (3, 1640, 60)):
        values, nodes = np.unique(degrees[first:first + n], return_counts=True)
        rows += [(t, *row) for row in zip(values, nodes)]
    counts = np.load("trace/degree_counts.npy")
    assert counts.dtype == np.int64 and (counts == np.array(rows)).all()
    run("verify", "trace")
    for policy in ("degree", "presc", "pagerank", "hybrid"):
        assert "a trace has none" in refused("simulate", "trace", "--policy", policy, "--cache", "10%"), policy
    assert "only f32 is made narrower" in refused("simulate", "narrow", "--policy", "lru", "--cache", "10%", "--pack-dtype", "bf16")
    traces_that_lack_something()


def traces_that_lack_something():
    """One made before says what helps; a false one is refused."""
    words = ["--policy", "lru", "--cache", "10%"]
    counts = np.load("trace/degree_counts.npy")
    shutil.copytree("trace", "before")
    os.remove("before/degree_counts.npy")
    assert "--samples" in refused("simulate", "before", *words)
    run("simulate", "before", "--policy", "random,file:scores.npy", "--cache", "10%")  # which need no degrees
    simulate("graph", ["lru"], ["10%"], "--samples", "before")
    for lie in (counts[:-1], counts[::-1], counts[:, :2], counts + [0, 0, 1], counts + [1, 0, 0], counts.astype(np.int32), np.vstack([counts, counts[-1:]])):
        np.save("before/degree_counts.npy", lie)
        assert "degree_counts.npy" in refused("simulate", "before", *words), lie
    assert "degree_counts.npy" in outgrow("verify", "before").stdout
    np.save("before/degree_counts.npy", counts)
    text = json.loads(pathlib.Path("before/trace.json").read_text())
    text.pop("xxh3")
    for change, what in (({"count": 39}, "num_nodes"), ({"count": 41}, "count"), ({"feature_dtype": "f8"}, "feature_dtype"), ({"name": 3}, "name")):
        types = [dict(t) for t in text["node_types"]]
        types[2].update(change)
        pathlib.Path("before/trace.json").write_text(json.dumps({**text, "node_types": types}))
        assert what in refused("simulate", "before", *words), change
    pathlib.Path("before/trace.json").write_text(json.dumps({key: value for key, value in text.items() if key != "node_types"}))
    assert "--samples" in refused("simulate", "before", *words)


def workers_have_caches_of_their_own():
    """Each worker's cache is as large as that of one process. So static rows are hit as often."""
    alone, _ = simulate("graph", ["none", "degree", "belady"], ["10%"])
    both, said = simulate("graph", ["none", "degree", "belady"], ["10%"], "--workers", 2)
    for a, b in zip(alone["results"], both["results"]):
        assert a["rows"] == b["rows"] and "exchanged" not in b
        assert a["hits"] == b["hits"] or a["policy"] == "belady"
    assert both["workers"] == 2 and "2 workers" in said


def what_there_is_not_says_so():
    assert "--memory" in refused("simulate", "graph", *SAMPLED[:-1], "12M", "--policy", "lru", "--cache", "10%")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        run("generate", "graph", "--types", ",".join(TYPES), "--relations", ",".join(RELATIONS), "--classes", 5, "--train-fraction", 0.3)
        run("sample", "graph", *SAMPLED, "--out", "trace")
        run("generate", "half", "--types", "paper:90:20,author:70", "--relations", "author:writes:paper:3", "--dtype", "f16", "--classes", 5)
        run("sample", "half", *SAMPLED, "--out", "narrow")
        rng = np.random.default_rng(1)
        np.save("scores.npy", rng.normal(-1, 1, NODES).astype(np.float32))  # most of them below 0
        np.save("counts.npy", rng.integers(2, 40, NODES))
        for test in (figures_are_those_of_runs, figures_are_those_of_python, batches_of_a_trace_are_counted, a_trace_alone_counts_the_same, workers_have_caches_of_their_own, pairs_are_those_of_runs, workers_have_devices_of_their_own, what_there_is_not_says_so):
            test()
            print("ok", test.__name__)


main()
