#!/usr/bin/env python3
"""Every batch of a Loader is the one that `outgrow sample --with-features` writes, array by array. Checked for every sampler, several policies, from memory and
from disk, in every type of features, and with a second loader at work."""
import itertools
import threading

from support import arrays_of_a_graph, command, main, np, outgrow, same, sample

SAMPLERS = {
    "uniform": {"fanout": [4, 3]},
    "weighted": {"sampler": "weighted", "fanout": [4, 3]},
    "walk": {"sampler": "walk", "fanout": [1, 1], "neighbors": 4},
    "labor": {"sampler": "labor", "fanout": [4, 3]},
    "ladies": {"sampler": "ladies", "fanout": [2, 2]},
    "all": {"fanout": [-1, 2]},
    "chunks": {"fanout": [4, 3], "locality": 10},
    "minhash": {"fanout": [4, 3], "locality": 8, "order": "minhash"},
    "dependent": {"sampler": "labor", "fanout": [4, 3], "batch_dependency": 3, "layer_dependency": True},
}
EPOCHS, BATCH = 2, 150
COMMON = {"batch": BATCH, "epochs": EPOCHS, "seed": 5, "threads": 2}


def compare(trace, b, batch):
    same("seeds", batch.ids[:batch.n_seeds], trace.part("seeds", b))
    same("ids", batch.ids, trace.part("ids", b))
    same("features", batch.x, trace.part("features", b, of="ids"))
    if "labels" in trace.arrays:
        same("labels", batch.y, trace.part("labels", b, of="seeds"))
    else:
        assert batch.y is None
    assert len(batch.hops) == trace.hops
    for h, hop in enumerate(batch.hops, 1):
        src, dst = (trace.part(f"hop{h}_{end}", b, of=f"hop{h}") for end in ("src", "dst"))
        same("src", hop.src, src)
        same("dst", hop.dst, dst)
        same("columns", batch.edge_index[:, hop.first_edge:hop.first_edge + hop.n_edges], np.stack([src, dst]))
        same("indptr", hop.indptr, np.searchsorted(dst, np.arange(hop.n_dst + 1)))
        assert hop.n_src == trace.arrays[f"hop{h}_nodes"][b]
        assert hop.n_dst == (batch.hops[h - 2].n_src if h > 1 else batch.n_seeds)
        if f"hop{h}_weight" in trace.arrays:
            same("weight", hop.weight, trace.part(f"hop{h}_weight", b, of=f"hop{h}"))
        else:
            assert hop.weight is None


def compare_all(trace, **options):
    with outgrow.Loader("graph", form="arrays", **COMMON | options) as loader:
        for epoch in range(1, EPOCHS + 1):
            wanted = trace.epoch(epoch)
            assert len(loader) == len(wanted)
            got = [b for b, batch in zip(wanted, loader, strict=True) if not compare(trace, b, batch)]
            assert got == list(wanted)


def make_graph():
    outgrow.write("graph", **arrays_of_a_graph())


def test_of_every_sampler_and_policy():
    make_graph()
    ways = list(itertools.product(["none", "belady", "auto"], ["memory", "disk"]))
    for name, options in SAMPLERS.items():
        trace = sample("graph", f"trace-{name}", **COMMON, **options)
        for policy, topology in ways:
            compare_all(trace, policy=policy, topology=topology, cache="10%", **options)


def test_beside_a_second_loader():
    trace = sample("graph", "trace-both", **COMMON, fanout=[4, 3])
    over, seen = threading.Event(), []

    def other():
        with outgrow.Loader("graph", form="arrays", fanout=[3], batch=37, policy="lru", cache="5%", seed=9) as loader:
            while not over.is_set():
                seen.extend(batch.x.sum() for batch in loader)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        for policy in "belady", "hybrid", "degree":
            compare_all(trace, policy=policy, topology="memory", cache="10%", fanout=[4, 3])
    finally:
        over.set()
        thread.join()
    assert seen


def test_of_every_type_of_features():
    for dtype, feature_dtype in (np.float16, None), (np.uint8, None), (np.float32, "bf16"):
        folder = f"graph-{np.dtype(dtype).name}-{feature_dtype}"
        outgrow.write(folder, feature_dtype=feature_dtype, **arrays_of_a_graph(dtype=dtype))
        stored = np.load(f"{folder}/features.npy")
        trace = sample(folder, f"trace-{folder}", **COMMON, fanout=[4, 3])
        with outgrow.Loader(folder, form="arrays", fanout=[4, 3], cache="10%", **COMMON) as loader:
            for b, batch in zip(trace.epoch(1), loader, strict=True):
                same(folder, batch.x, stored[trace.part("ids", b)])
                assert batch.x.dtype == stored.dtype and batch.dtype == (
                    "bfloat16" if feature_dtype else np.dtype(dtype).name), (batch.x.dtype, batch.dtype)


def test_of_a_node_that_draws_once():
    """As PyG's NeighborLoader: the edges of hop h + 1 begin with those of hop h."""
    trace = sample("graph", "trace-once", **COMMON, fanout=[4, 3], draw="once")
    with outgrow.Loader("graph", form="arrays", fanout=[4, 3], draw="once", **COMMON) as loader:
        for b, batch in zip(trace.epoch(1), loader, strict=True):
            compare(trace, b, batch)
            first, last = batch.hops
            assert first.first_edge == last.first_edge == 0 and last.n_edges == batch.edge_index.shape[1]
            same("beginning", last.src[:first.n_edges], first.src)
            assert last.dst[first.n_edges:].min() >= first.n_dst


def test_of_a_held_out_split():
    """In file order, drawn alike every time."""
    valid = np.load("graph/valid.npy")
    with outgrow.Loader("graph", form="arrays", fanout=[4, 3], **COMMON) as loader:
        first, second = ([(b.ids.copy(), b.edge_index.copy()) for b in loader.evaluate("valid")] for _ in range(2))
    same("valid", np.concatenate([ids[:BATCH] for ids, _ in first[:-1]]), valid[:(len(first) - 1) * BATCH])
    for (a, b), (c, d) in zip(first, second, strict=True):
        same("ids", a, c)
        same("edges", b, d)


def test_of_seeds_of_the_callers_own():
    nodes = np.random.default_rng(4).permutation(2000)[:400]
    with outgrow.Loader("graph", form="arrays", fanout=[4], seeds=nodes, batch=100, policy="belady") as loader:
        for _ in range(2):
            got = np.concatenate([batch.ids[:batch.n_seeds].copy() for batch in loader])
            same("seeds", np.sort(got), np.sort(nodes))


def test_of_links():
    """Seeds of links are the ends of pairs. First come those of the graph's edges, then those of the pairs that they are compared with, as many as counted."""
    command("train", "graph", "--task", "link", "--epochs", "0", "--fanout", "3", "--run", "linked", "--quiet")  # it can be split
    edges = {tuple(edge) for edge in arrays_of_a_graph()["edge_index"].T.tolist()}
    options = COMMON | {"task": "link", "fanout": [4, 3], "batch": 500}
    for draw in "each", "once":
        trace = sample("graph", f"trace-links-{draw}", **options, draw=draw)
        with outgrow.Loader("graph", form="arrays", policy="belady", cache="10%", draw=draw, **options) as loader:
            for epoch in range(1, EPOCHS + 1):
                for b, batch in zip(trace.epoch(epoch), loader, strict=True):
                    compare(trace, b, batch)
                    assert batch.pairs.shape == (2, batch.n_positive + batch.n_negative) and batch.n_positive > 0
                    ends = batch.ids[batch.pairs]
                    assert {tuple(edge) for edge in ends[:, :batch.n_positive].T.tolist()} <= edges
                    same("ends", np.unique(ends), np.sort(batch.ids[:batch.n_seeds]))


main(globals())
