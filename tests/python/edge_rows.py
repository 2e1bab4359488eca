#!/usr/bin/env python3
"""Features of edges in batches: rows of edge_features.npy at e_id, byte for byte. They are cached, planned and read like rows of nodes. So batches from memory and disk,
under every policy and layout, are equal, and the bytes that are predicted are read."""
import itertools
import json
import os
import subprocess
import sys
import warnings

from support import NODES, arrays_of_a_graph, main, np, outgrow, raises, same

COMMON = {"fanout": [7, 3], "batch": 200, "epochs": 2, "seed": 5, "threads": 2, "form": "arrays", "e_id": True, "edge_attr": True, "split": "train"}
RNG = np.random.default_rng(3)
EDGES = 16000
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
# What keeps rows in memory, and where the others are read.
POLICIES = "lru", "clock", "sieve", "s3fifo", "tinylfu", "frequency", "rr", "hybrid", "random", "degree", "presc", "pagerank", "none"
WAYS = [*({"policy": policy, "cache": "10%"} for policy in POLICIES if policy != "none"), {"policy": "none"}, {"policy": "belady", "cache": "5%", "superbatch": 3},
        {"topology": "disk", "policy": "belady", "cache": "5%", "superbatch": 100}, {"policy": "belady", "cache": "5%", "layout": "packed"},
        {"policy": "degree", "cache": "5%", "layout": "packed"}, {"policy": "belady", "cache": "5%", "layout": "segmented"}, {"policy": "sweep", "cache": "10%"},
        {"policy": "belady", "cache": "5%", "phased_memory": True, "topology": "disk"}, {"io": "mmap", "policy": "none"}, {"io": "pread", "policy": "belady", "cache": "5%"}]


def rows(n, dim, dtype=np.float32):
    return RNG.standard_normal((n, dim)).astype(dtype)


def make_graphs():
    given = arrays_of_a_graph()
    src, dst = given["edge_index"]
    for name, dim in ("narrow", 3), ("wide", 131):
        outgrow.write(name, **given, edge_attr=rows(EDGES, dim))
    outgrow.write("half", **given, edge_attr=rows(EDGES, 7, np.float16))
    outgrow.write("without", **given)
    third = EDGES // 3
    outgrow.write("typed", edge_index={("a", "to", "a"): given["edge_index"][:, :third], ("b", "of", "a"): np.stack([src[third:] % 50, dst[third:]]),
                                       ("a", "has", "b"): np.stack([src[:900], dst[:900] % 50])},
                  x={"a": given["x"], "b": given["x"][:50]}, y={"a": given["y"]}, train={"a": given["train"]},
                  edge_attr={("a", "to", "a"): rows(third, 200), ("a", "has", "b"): rows(900, 2)})


def source(dataset, number=None):
    path = f"{dataset}/{'' if number is None else f'rel{number}_'}edge_features.npy"
    return np.load(path) if os.path.exists(path) else None


def hops(dataset, batch):
    """Hops with the rows that they are to have."""
    if dataset != "typed":
        return zip(batch.hops, itertools.repeat(source(dataset)))
    return [(hop, source(dataset, number)) for number, edges in enumerate(batch.relations.values()) for hop in edges.hops]


def batches(dataset, dtype=None, **options):
    """The ids of all batches, whose rows are checked; and the loader's plan and counters."""
    ids = []
    with outgrow.Loader(dataset, **COMMON | options) as loader:
        for _ in range(2):
            for batch in loader:
                ids.append(np.array(batch.ids))
                for hop, want in hops(dataset, batch):
                    if want is None:
                        assert hop.edge_attr is None
                        continue
                    got = np.asarray(hop.edge_attr)
                    same("rows", got, want[hop.e_id] if dtype is None else want[hop.e_id].astype(dtype))
        return ids, loader.plan, loader.metrics


def check_counts(plan, metrics, how):
    """An epoch that was planned reads what is predicted; all groups have their lines."""
    groups = plan["types"] + plan["edges"]
    assert sum(group["cache_rows"] for group in groups) == plan["cache_rows"], how
    told, epochs = plan["predicted"], metrics["epochs"]
    if not told or how.get("superbatch") == 3 or how.get("io") == "mmap":  # unknown, scaled to an epoch, or the kernel's
        return 0
    for key in ("rows", "hits", "misses", "bytes_read"):
        assert sum(group[key] for group in groups) == told[{"bytes_read": "feature_bytes_read"}.get(key, key)], (how, key)
    assert any((told["rows"], told["misses"], told["feature_bytes_read"]) == (e["hits"] + e["misses"], e["misses"], e["feature_bytes_read"]) for e in epochs), (how, told, epochs)
    return 1


def test_rows_are_those_of_the_file():
    make_graphs()
    counted = 0
    for dataset in "narrow", "wide", "half", "typed":
        want, plan, metrics = batches(dataset)
        units = [edges["edges_of_unit"] for edges in plan["edges"]]
        assert units == {"narrow": [42], "wide": [1], "half": [36], "typed": [1, 64]}[dataset], units
        assert all(edges["units"] == -(-edges["edges"] // edges["edges_of_unit"]) for edges in plan["edges"])
        assert metrics["epochs"][-1]["misses"] == 0  # all of it fits
        for how in WAYS if dataset in ("narrow", "typed") else WAYS[-8:]:
            ids, plan, metrics = batches(dataset, **how)
            assert len(ids) == len(want) and all(np.array_equal(a, b) for a, b in zip(ids, want)), (dataset, how)
            counted += check_counts(plan, metrics, how)
    assert counted > 20, counted


def test_memory_is_kept():
    """In a process of its own, whose memory nothing else raised before."""
    given = arrays_of_a_graph(nodes=40000, edges=400000)
    outgrow.write("large", edge_index=given["edge_index"], x=given["x"], y=given["y"], train=given["train"][:4000], edge_attr=rows(400000, 64))
    for how in {}, {"policy": "belady"}, {"policy": "lru"}, {"topology": "disk"}:
        script = f"""
import json, outgrow
with outgrow.Loader("large", **{COMMON | how | {"memory": "64M", "batch": 500, "e_id": False, "max_held": 1}!r}) as loader:
    n = sum(hop.edge_attr.shape[0] for batch in loader for hop in batch.hops)
    print(json.dumps([n, loader.metrics["peak_rss_bytes"], loader.metrics["memory_budget_bytes"], loader.plan["edges"][0]]))
"""
        n, peak, limit, edges = json.loads(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
        assert n > 0 and (SANITIZED or peak <= limit), (how, peak, limit)
        assert 0 < edges["cache_rows"] < edges["units"] and edges["cache_bytes"] < 64 << 20, (how, edges)


def test_other_batches():
    for how in {"draw": "once"}, {"sampler": "labor", "fanout": [4, 3]}, {"sampler": "ladies", "fanout": [2, 2]}, {"replace": True}, {"fanout": [-1, 2]}:
        for dataset in "narrow", "typed":
            batches(dataset, **how)
            batches(dataset, **how, topology="disk", policy="belady", cache="5%", superbatch=100)
    batches("narrow", dtype=np.float16, pack_dtype="f16", policy="belady", cache="5%")
    seeds = np.repeat(np.arange(0, 600, 3), 2)
    want = source("narrow")
    with outgrow.Loader("narrow", **{key: value for key, value in COMMON.items() if key != "split"}, seeds=seeds) as loader:
        for batch in loader:
            for hop in batch.hops:
                same("rows of repeated seeds", np.asarray(hop.edge_attr), want[hop.e_id])
    scores = RNG.standard_normal(NODES).astype(np.float32)
    np.save("scores.npy", scores)
    batches("narrow", policy="file", scores="scores.npy", cache="10%")
    with outgrow.Loader("narrow", **COMMON | {"e_id": False}) as loader:
        assert all(hop.e_id is None and hop.edge_attr.shape == (hop.n_edges, 3) for batch in loader for hop in batch.hops)
    with outgrow.Loader("narrow", **COMMON | {"edge_attr": False}) as loader:
        assert "edges" not in loader.plan and all(hop.edge_attr is None for batch in loader for hop in batch.hops)


def test_ranks():
    want = source("narrow")
    for rank in 0, 1:
        with outgrow.Loader("narrow", **COMMON, rank=rank, world_size=2) as loader:
            assert all(np.array_equal(hop.edge_attr, want[hop.e_id]) for batch in loader for hop in batch.hops)


def test_what_is_refused():
    for options, words in (({"sampler": "walk", "fanout": [3, 3]}, "walk"), ({"sample_on": "device", "device": "virtual"}, "device"), ({"task": "link"}, "held-out edges")):
        with raises(outgrow.OptionError, "features of edges", words):
            batches("narrow", **options)
    with raises(outgrow.OptionError, "without: has no features of edges", "edge_attr.npy"):
        batches("without")


def test_frameworks():
    try:
        import torch
        from torch_geometric.data import Data
    except ImportError:
        return
    want = torch.from_numpy(source("narrow"))
    for draw in "each", "once":
        for batch in outgrow.Loader("narrow", **COMMON | {"form": "pyg", "draw": draw}):
            assert torch.equal(batch.edge_attr, want[batch.e_id]) and len(batch.edge_attr) == batch.edge_index.shape[1]
    for batch in outgrow.Loader("typed", **COMMON | {"form": "pyg"}):
        for number, relation in ((0, ("a", "to", "a")), (2, ("a", "has", "b"))):
            assert torch.equal(batch[relation].edge_attr, torch.from_numpy(source("typed", number))[batch[relation].e_id]), relation
        assert "edge_attr" not in batch["b", "of", "a"]
    given = arrays_of_a_graph()
    numbers = torch.from_numpy(np.load("narrow/edge_ids.npy"))
    rows_of = torch.empty_like(want)
    rows_of[numbers] = want  # of the edges as they were given
    for how in {}, {"subgraph_type": "bidirectional"}, {"subgraph_type": "induced"}, {"policy": "belady", "cache": "5%"}:
        with outgrow.NeighborLoader("narrow", [6, 3], input_nodes=torch.arange(300), batch_size=100, **how) as loader:
            for batch in loader:
                assert torch.equal(batch.edge_attr, rows_of[batch.e_id]), how
            read = loader._kept().metrics["epochs"][-1] if how.get("policy") else None
            assert read is None or read["feature_bytes_read"] > 0
    data = Data(x=torch.from_numpy(given["x"]), edge_index=torch.from_numpy(given["edge_index"]), edge_attr=rows_of)
    for batch in outgrow.NeighborLoader(data, [6, 3], input_nodes=torch.arange(300), batch_size=100):
        assert torch.equal(batch.edge_attr, rows_of[batch.e_id])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(globals())
