#!/usr/bin/env python3
"""Disjoint neighbourhoods and times, looked up by brute force in NumPy. No node or edge of a tree is later than its seed. Batches are those from memory and disk,
under every policy, of every rank."""
import hashlib
import json
import os
import subprocess

from support import COMMAND as OUTGROW, command, main, np, outgrow, raises

N, E = 400, 9000
WAYS = [{"topology": "disk", "phased_memory": True, "neighbor_cache": "0", "superbatch": "4", "policy": "belady"}, {"topology": "memory", "policy": "none"}, {"topology": "disk", "policy": "belady"}, {"topology": "disk", "policy": "frequency", "layout": "packed"},
        {"topology": "memory", "policy": "degree", "cache": "10%"}]


# ---- graphs ----

def arrays(seed=0):
    """A hub, equal times, loops and repeated edges."""
    r = np.random.default_rng(seed)
    ends, ids = np.concatenate([np.full(800, 7), r.integers(0, N - 20, E - 800)]), r.permutation(N)
    return {"edge_index": np.stack([r.integers(0, N, E), ends]), "x": r.random((N, 5), dtype=np.float32), "y": r.integers(0, 3, N), "node_time": r.integers(-40, 40, N),
            "edge_time": r.integers(0, 60, E), "train": ids[:200], "valid": ids[200:260]}


def write():
    given = arrays()
    if not os.path.exists("g"):
        outgrow.write("g", **given)
    order = np.lexsort((given["edge_index"][0], given["edge_index"][1]))  # edges as the dataset has them
    return given, order


def typed():
    r = np.random.default_rng(5)
    sizes = {"a": 300, "b": 150}
    relations = {("a", "r", "a"): 3000, ("b", "s", "a"): 2500, ("a", "t", "b"): 2000}
    given = {"edge_index": {k: np.stack([r.integers(0, sizes[k[0]], n), r.integers(0, sizes[k[2]], n)]) for k, n in relations.items()},
             "x": {k: r.random((n, 3 + len(k)), dtype=np.float32) for k, n in sizes.items()}, "y": {"a": r.integers(0, 3, 300)},
             "train": {"a": np.arange(120)}, "node_time": {"a": r.integers(0, 30, 300)}, "edge_time": {k: r.integers(0, 50, n) for k, n in list(relations.items())[:2]}}
    if not os.path.exists("h"):
        outgrow.write("h", **given)
    return given, sizes


def arrays_of_two_types():
    """Labels of both types, times of one."""
    given, sizes = typed()
    r = np.random.default_rng(6)
    return given | {"y": {k: r.integers(0, 3, n) for k, n in sizes.items()}, "train": {"a": np.arange(50), "b": np.arange(40)}}


def loader(path="g", **options):
    return outgrow.Loader(path, **{"form": "arrays", "fanout": [4, 3], "batch": 16, "epochs": 1, "memory": "400M", "seed": 3, "e_id": True, "shuffle": False} | options)


def allowed(given, order, v, time, kind, window=None):
    """Places of v's list that may be sampled at that time, by time and then by place."""
    src, dst = given["edge_index"][:, order]
    t = given["edge_time"][order] if kind == "edge" else given["node_time"][src]
    at = np.flatnonzero((dst == v) & (t <= time) & (t >= (time - window if window else np.iinfo(np.int64).min)))
    return at[np.lexsort((at, t[at]))]


def times_of(batch, given, kind, seeds_time):
    return seeds_time[batch.input_id] if kind == "edge" else given["node_time"][batch.ids[:batch.n_seeds]]


# ---- what each tree has ----

def check(batch, given, order, kind, fanout, window=None, strategy="uniform", seeds_time=None):
    """Looks up every list. Returns how many edges."""
    time, edges = times_of(batch, given, kind, seeds_time), 0
    src, dst = given["edge_index"][:, order]
    assert (batch.tree[:batch.n_seeds] == np.arange(batch.n_seeds)).all()
    assert len(np.unique(batch.tree * N + batch.ids)) == len(batch.ids), "a node is once in a tree"
    np.testing.assert_array_equal(batch.x, given["x"][batch.ids])
    for h, hop in enumerate(batch.hops):
        np.testing.assert_array_equal(batch.tree[hop.src], batch.tree[hop.dst])
        np.testing.assert_array_equal(batch.ids[hop.src], src[hop.e_id])
        np.testing.assert_array_equal(batch.ids[hop.dst], dst[hop.e_id])
        for i in range(hop.n_dst):
            mine = hop.e_id[hop.indptr[i]:hop.indptr[i + 1]]
            may = allowed(given, order, batch.ids[i], time[batch.tree[i]], kind, window)
            assert np.isin(mine, may).all(), "an edge of the future"
            assert len(np.unique(mine)) == len(mine) == (len(may) if fanout[h] < 0 else min(fanout[h], len(may)))
            if strategy == "last":
                np.testing.assert_array_equal(mine, may[len(may) - len(mine):])
            edges += len(mine)
    return edges


def test_no_edge_is_later_than_its_seed():
    given, order = write()
    seeds = np.random.default_rng(1).integers(0, N, 300)  # some of them several times
    seeds_time = np.random.default_rng(2).integers(0, 60, 300)
    edges = 0
    for kind, strategy, window, fanout in (("node", "uniform", None, [4, 3]), ("node", "last", 10, [-1, 2]), ("edge", "uniform", 15, [5, 5]), ("edge", "last", None, [3, 4]),
                                           ("edge", "uniform", None, [-1, -1])):
        how = {"time_attr": "time" if kind == "node" else "edge_time", "temporal_strategy": strategy, "time_window": window, "fanout": fanout, "seeds": seeds}
        with loader(draw="each", input_time=seeds_time if kind == "edge" else None, **how) as batches:
            edges += sum(check(batch, given, order, kind, fanout, window, strategy, seeds_time) for batch in batches)
    assert edges > 10000, edges


def test_each_tree_is_that_of_its_seed_alone():
    write()
    seeds = np.array([7, 3, 7, 200, 11])
    time = np.array([50, 20, 10, 59, 0])
    for topology in "memory", "disk":
        def trees(at, draw="once"):
            with loader(seeds=seeds[at], input_time=time[at], batch=len(at), time_attr="edge_time", topology=topology, draw=draw) as batches:
                batch = next(iter(batches))
                return [(batch.ids[batch.tree == k].tolist(), sorted(batch.hops[-1].e_id[batch.tree[batch.hops[-1].dst] == k].tolist())) for k in range(len(at))]
        together = trees(np.arange(5))
        assert together == [trees(np.array([k]))[0] for k in range(5)]
        assert together[0] != together[2], "at another time"


def test_last_with_replacement():
    """PyTorch Geometric draws among the latest then."""
    given, order = write()
    seeds, seeds_time = np.random.default_rng(1).integers(0, N, 200), np.random.default_rng(2).integers(0, 60, 200)
    for window in None, 10:
        drawn = []
        for topology in "memory", "disk":
            with loader(seeds=seeds, input_time=seeds_time, batch=1, fanout=[5], replace=True, time_attr="edge_time", temporal_strategy="last", time_window=window, topology=topology) as batches:
                for batch in batches:
                    may = allowed(given, order, batch.ids[0], seeds_time[batch.input_id[0]], "edge", window)
                    mine = batch.hops[0].e_id
                    assert len(mine) == (5 if len(may) else 0) and np.isin(mine, may[-5:]).all()
                    drawn.append(mine)
        np.testing.assert_array_equal(np.concatenate(drawn[:200]), np.concatenate(drawn[200:]))
        assert any(len(np.unique(mine)) < len(mine) for mine in drawn)


def test_draws_are_uniform():
    given, order = write()
    may = allowed(given, order, 7, 30, "edge")
    with loader(seeds=np.full(4000, 7), input_time=np.full(4000, 30), batch=1, fanout=[5], time_attr="edge_time") as batches:
        drawn = np.concatenate([batch.hops[0].e_id for batch in batches])
    count = np.bincount(np.searchsorted(may, drawn) if (np.diff(may) > 0).all() else [np.flatnonzero(may == e)[0] for e in drawn], minlength=len(may))
    expected = len(drawn) / len(may)
    chi2 = ((count - expected) ** 2 / expected).sum() * (1 - 1 / len(may)) / (1 - 5 / len(may))  # without replacement cells vary less
    assert len(drawn) == 20000 and abs(chi2 - len(may)) < 5 * (2 * len(may)) ** 0.5, (chi2, len(may))


def digest(batches):
    out = hashlib.md5()
    for batch in batches:
        typed = hasattr(batch, "types")
        own = [*(nodes.x for nodes in batch.types.values()), *(edges.edge_index for edges in batch.relations.values())] if typed else [batch.x, batch.edge_index]
        for array in (batch.ids, batch.tree, batch.input_id, *own):
            out.update(np.ascontiguousarray(array).tobytes())
    return out.hexdigest()


def test_same_batches_everywhere():
    write()
    typed()
    for path, kind, time in ("g", "time", None), ("h", "time", None), ("h", "edge_time", np.arange(120)), ("g", None, None):
        seeds = {"seeds": np.arange(120) if path == "g" else ("a", np.arange(120)), "input_time": time, "time_attr": kind, "disjoint": True, "e_id": False}
        seen = set()
        for way in WAYS:
            with loader(path, **seeds, **way) as batches:
                seen.add(digest(batches))
        with loader(path, **seeds, epochs=2, superbatch=3, policy="belady", memory="40M") as batches:
            seen.add(digest(batches))
        assert len(seen) == 1, (path, kind)
        whole = [batch.ids.tolist() for batch in loader(path, **seeds)]
        parts = [[batch.ids.tolist() for batch in loader(path, **seeds, rank=r, world_size=2)] for r in (0, 1)]
        assert parts == [whole[0::2], whole[1::2]]


def test_types_without_times_have_no_limit():
    given, _ = typed()
    for window, strategy in (None, "uniform"), (3, "uniform"), (3, "last"):
        drawn = []
        for topology in "memory", "disk":
            with loader("h", seeds=("a", np.full(2000, 5)), batch=1, fanout=[1], time_attr="time", time_window=window, temporal_strategy=strategy, topology=topology) as batches:
                drawn.append(np.concatenate([batch.relations["b", "s", "a"].hops[0].e_id for batch in batches]))
        np.testing.assert_array_equal(*drawn)
        mine = np.flatnonzero(given["edge_index"]["b", "s", "a"][1] == 5)
        assert len(drawn[0]) == 2000 and len(np.unique(drawn[0])) == len(mine), (window, strategy)


def test_types():
    given, sizes = typed()
    first = {"a": 0, "b": sizes["a"]}
    for kind in "node", "edge":
        time = np.arange(120) % 40
        with loader("h", seeds=("a", np.arange(120)), time_attr="time" if kind == "node" else "edge_time", input_time=None if kind == "node" else time, fanout=[3, 3]) as batches:
            for batch in batches:
                of = time[batch.input_id] if kind == "edge" else given["node_time"]["a"][batch.types["a"].ids[:batch.n_seeds]]
                for name, nodes in batch.types.items():
                    np.testing.assert_array_equal(nodes.x, given["x"][name][nodes.ids])
                    np.testing.assert_array_equal(np.sort(nodes.ids + first[name]), np.sort(batch.ids[(batch.ids >= first[name]) & (batch.ids < first[name] + sizes[name])]))
                    assert len(np.unique(nodes.tree * 1000 + nodes.ids)) == len(nodes.ids)
                for relation, edges in batch.relations.items():
                    source, destination = batch.types[relation[0]], batch.types[relation[2]]
                    src, dst = given["edge_index"][relation]
                    order = np.lexsort((src, dst))
                    for hop in edges.hops:
                        np.testing.assert_array_equal(source.tree[hop.src], destination.tree[hop.dst])
                        np.testing.assert_array_equal(source.ids[hop.src], src[order][hop.e_id])
                        limit = of[destination.tree[hop.dst]]
                        if kind == "node" and relation[0] in given["node_time"]:
                            assert (given["node_time"][relation[0]][source.ids[hop.src]] <= limit).all()
                        if kind == "edge" and relation in given["edge_time"]:
                            assert (given["edge_time"][relation][order][hop.e_id] <= limit).all()


# ---- lists by time ----

def source(name, of, **more):
    os.makedirs(name, exist_ok=True)
    files = {"edges": of["edge_index"].T, "feat": of["x"], "label": of["y"], "train": of["train"], "edge_attr": np.arange(len(of["edge_time"]), dtype=np.float32)[:, None], "edge_weight": (np.arange(len(of["edge_time"])) % 7).astype(np.float32)}
    for file, array in (files | more).items():
        np.save(f"{name}/{file}.npy", array)
    return name


def imported():
    """A graph by source, and by time: of its nodes, and of its edges. Seeds have times."""
    given = arrays()
    if os.path.exists("node-sorted"):
        return given
    times = np.random.default_rng(2).integers(0, 60, 200)
    for kind, own in ("node", {"node_times": given["node_time"]}), ("edge", {"edge_times": given["edge_time"], "train_times": times}):
        src = source(f"{kind}-source", given, **own)
        run("import", "npy", src, f"{kind}-plain")
        run("import", "npy", src, f"{kind}-sorted", "--by-time")
    return given


def test_import_by_time():
    given = imported()
    src, dst = given["edge_index"]
    for kind, t in ("node", given["node_time"][src]), ("edge", given["edge_time"]):
        order = np.lexsort((np.arange(E), src, t, dst))  # stable: repeated edges stay in the source's order
        path = f"{kind}-sorted"
        np.testing.assert_array_equal(np.load(f"{path}/indices.npy"), src[order])
        np.testing.assert_array_equal(np.load(f"{path}/indptr.npy"), np.searchsorted(dst[order], np.arange(N + 1)))
        np.testing.assert_array_equal(np.load(f"{path}/edge_ids.npy"), order)
        np.testing.assert_array_equal(np.load(f"{path}/edge_features.npy")[:, 0], order)
        np.testing.assert_array_equal(np.load(f"{path}/weights.npy"), order % 7)
        if kind == "edge":
            np.testing.assert_array_equal(np.load(f"{path}/edge_times.npy"), t[order])
        assert json.load(open(f"{path}/meta.json"))["by_time"] == [kind] and "by_time" not in json.load(open(f"{kind}-plain/meta.json"))
        for one in path, f"{kind}-plain":
            run("verify", one)
        indices = np.load(f"{path}/indices.npy", mmap_mode="r+")
        hub = np.load(f"{path}/indptr.npy")[7:9]
        indices[hub[0]:hub[1]] = indices[hub[0]:hub[1]][::-1].copy()
        indices.flush()
        if kind == "edge":
            times = np.load(f"{path}/edge_times.npy", mmap_mode="r+")
            times[hub[0]:hub[1]] = times[hub[0]:hub[1]][::-1].copy()
            times.flush()
        done = subprocess.run([OUTGROW, "verify", path], capture_output=True, text=True)
        assert done.returncode == 1 and "the list of node 7 is not sorted by time" in done.stdout + done.stderr
        for group in "auto", "1":
            assert "neighbours of node 7 are not sorted by time" in refused(
                "train", path, "--run", "no", "--time", kind, "--topology", "disk", "--sample-group", group, "--neighbor-cache", "0", "--fanout=-1,-1", "--memory", "150M")
        indices[hub[0]:hub[1]] = indices[hub[0]:hub[1]][::-1].copy()
        indices.flush()
        if kind == "edge":
            times[hub[0]:hub[1]] = times[hub[0]:hub[1]][::-1].copy()
            times.flush()
        run("verify", path)
    source("untimed", given)
    assert "there are no times" in refused("import", "npy", "untimed", "no", "--by-time")
    with open("pairs.txt", "w") as f:
        f.write("0 1\n1 2\n")
    assert "there are no times" in refused("import", "edgelist", "pairs.txt", "no", "--by-time")


def test_lists_by_time_have_the_same_trees():
    """Draws count from the earliest edge, and equal times are by source in both forms. So batches with times are equal but for the numbers of edges."""
    imported()
    seeds = np.arange(150)
    for kind, attribute in ("node", "time"), ("edge", "edge_time"):
        for more in {}, {"temporal_strategy": "last"}, {"time_window": 11, "fanout": [-1, 5]}, {"replace": True}:
            how = {"seeds": seeds, "time_attr": attribute, "input_time": seeds % 50 if kind == "edge" else None, "e_id": False} | more
            seen = set()
            for path in f"{kind}-plain", f"{kind}-sorted":
                for way in WAYS + [{"topology": "disk", "sample_group": "1", "neighbor_cache": "0"}]:
                    with loader(path, **how, **way) as batches:
                        seen.add(digest(batches))
            assert len(seen) == 1, (kind, more)
        both = []
        for path in f"{kind}-plain", f"{kind}-sorted":  # each edge by its number in the source
            ids = np.load(f"{path}/edge_ids.npy")
            for topology in "memory", "disk":
                with loader(path, seeds=seeds, time_attr=attribute, input_time=seeds % 50 if kind == "edge" else None, topology=topology) as batches:
                    both.append([ids[hop.e_id].tolist() for batch in batches for hop in batch.hops])
        assert both[0] == both[1] == both[2] == both[3]


def test_long_lists_are_read_in_part():
    """A batch sampled alone reads lists sorted by time in part, and those without times. Trees are those of whole lists."""
    r, n, m = np.random.default_rng(8), 6000, 120000
    given = {"edge_index": np.stack([r.integers(0, n, m), r.integers(0, 6, m)]), "x": r.random((n, 3), dtype=np.float32), "y": r.integers(0, 3, n), "train": np.arange(60)}
    uneven = (r.random(m) ** 3 * 1000).astype(np.int64)
    given["edge_time"] = uneven
    common = "--fanout", "3,3", "--batch", 10, "--epochs", 1, "--memory", "150M", "--topology", "disk", "--sample-group", 1, "--neighbor-cache", 0
    for kind, times in ("edge", uneven), ("node", uneven[:n]):
        src = source(f"long-{kind}", given, **{f"{kind}_times": times}, train_times=r.integers(-5, 1005, 60))
        run("import", "npy", src, f"long-{kind}-plain")
        run("import", "npy", src, f"long-{kind}-sorted", "--by-time")
        for more in (), ("--time-strategy", "last"), ("--time-window", 300):
            name, how = f"long-{kind}{len(more)}{more[:1]}", ("--time", kind, *common, *more)
            whole, part = (json.loads(command("bench", "epoch", f"long-{kind}-{form}", *how, "--json", "--quiet"))["epochs"][0] for form in ("plain", "sorted"))
            assert part["rows"] == whole["rows"] and part["topology_bytes_read"] < whole["topology_bytes_read"] * 0.8, (name, part, whole)
            assert trained(f"{name}plain", f"long-{kind}-plain", *how)[0] == trained(f"{name}sorted", f"long-{kind}-sorted", *how)[0], name
    assert json.loads(command("bench", "epoch", "long-node-plain", "--disjoint", *common, "--json", "--quiet"))["epochs"][0]["topology_bytes_read"] < whole["topology_bytes_read"] * 0.8


def test_short_lists_are_read_once():
    """Most lists are within a block of times, which decides both ends of a window. So sorted lists take no more than whole ones."""
    r, n, m = np.random.default_rng(9), 60000, 300000
    given = {"edge_index": r.integers(0, n, (2, m)), "x": r.random((n, 3), dtype=np.float32), "y": r.integers(0, 3, n), "train": np.arange(0, n, 150)}
    given["edge_time"] = r.integers(0, 1000, m)
    common = "--fanout", "3,3", "--batch", 400, "--epochs", 1, "--memory", "150M", "--topology", "disk", "--sample-group", 1, "--neighbor-cache", 0
    for kind in "edge", "node":
        src = source(f"brief-{kind}", given, **{f"{kind}_times": given["edge_time"][:m if kind == "edge" else n]}, train_times=r.integers(200, 1000, 400))
        run("import", "npy", src, f"brief-{kind}-plain")
        run("import", "npy", src, f"brief-{kind}-sorted", "--by-time")
        for more in (), ("--time-strategy", "last"), ("--time-window", 300), ("--time-window", 300, "--time-strategy", "last"):
            whole, part = (json.loads(command("bench", "epoch", f"brief-{kind}-{form}", "--time", kind, *common, *more, "--json", "--quiet"))["epochs"][0] for form in ("plain", "sorted"))
            assert part["rows"] == whole["rows"] and part["topology_bytes_read"] < whole["topology_bytes_read"] * 1.03, (kind, more, part, whole)


def test_superbatches_that_the_disk_bounds():
    """The plan says how many batches the first superbatch has. If it has all training batches, the prediction is exact."""
    r = np.random.default_rng(1)
    outgrow.write("few", edge_index=r.integers(0, 2000, (2, 16000)), x=r.random((2000, 8), dtype=np.float32), y=r.integers(0, 3, 2000), node_time=r.integers(0, 60, 2000),
                  train=np.arange(23), valid=np.arange(100, 106))
    seen = {}
    for kib in range(60, 200, 10):
        run("train", "few", "--run", f"few{kib}", "--time", "node", "--topology", "disk", "--policy", "belady", "--cache", "50K", "--fanout", "3,3", "--hidden", 8, "--batch", 5,
            "--epochs", 1, "--memory", "64M", "--disk", f"{kib}K")
        summary = json.load(open(f"few{kib}/summary.json"))
        told, found, batches = summary["plan"]["predicted"]["rows"], summary["epochs"][0]["rows"], summary["plan"]["superbatch"]
        assert told == found if batches >= 5 else abs(told - found) < 0.4 * found, (kib, batches, told, found)
        seen[batches] = seen.get(batches, 0) + 1
    assert 5 in seen and 7 in seen and min(seen) < 5 and max(seen) == 7, seen


# ---- in PyTorch Geometric's words ----

def test_its_loaders():
    try:
        import torch
        from torch_geometric.data import Data
    except ImportError:
        return
    os.environ["OUTGROW_CACHE"] = "cache"
    given, _ = write()
    src, dst = given["edge_index"]
    data = Data(x=torch.from_numpy(given["x"]), edge_index=torch.from_numpy(given["edge_index"]), time=torch.from_numpy(given["node_time"]),
                edge_time=torch.from_numpy(given["edge_time"]))
    ids, time = torch.arange(100, 200), torch.arange(100) % 60
    for shuffle in False, True:
        edges = 0
        for batch in outgrow.NeighborLoader(data, [4, 3], input_nodes=ids, input_time=time, time_attr="edge_time", batch_size=30, shuffle=shuffle):
            assert torch.equal(batch.seed_time, time[batch.input_id]) and torch.equal(batch.n_id[:batch.batch_size], ids[batch.input_id])
            assert (batch.edge_time <= batch.seed_time[batch.batch[batch.edge_index[1]]]).all() and torch.equal(batch.x, data.x[batch.n_id])
            np.testing.assert_array_equal(dst[batch.e_id], batch.n_id[batch.edge_index[1]])
            edges += len(batch.edge_time)
        assert edges > 300
    batch = next(iter(outgrow.NeighborLoader(data, [4], input_nodes=ids, input_time=time.int(), time_attr="edge_time", batch_size=30)))
    assert batch.seed_time.dtype == torch.int32 and torch.equal(batch.seed_time, time[:30].int()), "the type is that of input_time"
    links, at = data.edge_index[:, :200], data.edge_time[:200]
    batch = next(iter(outgrow.LinkNeighborLoader(data, [4], edge_label_index=links, edge_label_time=at.int(), time_attr="edge_time", batch_size=30)))
    assert batch.edge_label_time.dtype == torch.int32 and torch.equal(batch.edge_label_time, at[:30].int())
    for sampling in None, "binary", {"mode": "triplet", "amount": 2}:
        for batch in outgrow.LinkNeighborLoader(data, [4, 3], edge_label_index=links, edge_label_time=at - 1, time_attr="edge_time", neg_sampling=sampling, batch_size=50):
            limit = (at - 1)[batch.input_id]
            assert (batch.edge_time <= limit[batch.batch[batch.edge_index[1]]]).all()
            if sampling is None or sampling == "binary":
                assert torch.equal(batch.edge_label_time[:50], limit)
                assert torch.equal(batch.n_id[batch.edge_label_index[:, :50]], links[:, batch.input_id])
            else:
                assert torch.equal(batch.n_id[batch.src_index], links[0, batch.input_id]) and batch.dst_neg_index.shape == (50, 2)
                assert batch.num_sampled_nodes[0] == 4 * 50
    for how in {"time_attr": "edge_time", "input_time": time}, {"time_attr": "time"}, {}:  # of the dataset's files, which had no Data
        for batch in outgrow.NeighborLoader("g", [4, 3], input_nodes=ids, batch_size=50, **how):
            np.testing.assert_array_equal(batch.time, given["node_time"][batch.n_id])
            np.testing.assert_array_equal(batch.edge_time, given["edge_time"][batch.e_id])
    relations = typed()[0]["edge_time"]
    for batch in outgrow.LinkNeighborLoader("h", [4, 3], edge_label_index=("a", "t", "b"), edge_label_time=torch.full((2000,), 40), time_attr="edge_time", batch_size=200):
        assert {name for name in batch.edge_types if "edge_time" in batch[name]} == set(relations) and "time" not in batch["b"]
        for name, of in relations.items():
            np.testing.assert_array_equal(batch[name].edge_time, of[batch[name].e_id])
        np.testing.assert_array_equal(batch["a"].time, typed()[0]["node_time"]["a"][batch["a"].n_id])
    late = torch.maximum(data.time[links[0]], data.time[links[1]])
    for batch in outgrow.LinkNeighborLoader(data, [4], edge_label_index=links, edge_label_time=late, time_attr="time", neg_sampling="binary", batch_size=50):
        assert (data.time[batch.n_id[batch.edge_label_index]] <= batch.edge_label_time).all(), "negatives of the future"


# ---- what is refused ----

def run(*args):
    done = subprocess.run([OUTGROW, *map(str, args), "--quiet"], capture_output=True, text=True)
    assert done.returncode == 0, (args, done.stderr)


def trained(name, path, *options):
    run("train", path, "--run", name, "--epochs", 3, "--batch", 40, "--fanout", "4,3", "--hidden", 8, "--memory", "120M", "--threads", 2, *options)
    with open(f"{name}/checkpoint.safetensors", "rb") as f:
        return hashlib.md5(f.read()).hexdigest(), json.load(open(f"{name}/summary.json"))


def refused(*args):
    done = subprocess.run([OUTGROW, *map(str, args), "--quiet"], capture_output=True, text=True)
    assert done.returncode != 0 and "hint:" in done.stderr, (args, done.stderr)
    return done.stderr


def test_refusals():
    write()
    own = "train", "g", "--run", "no", "--epochs", 1, "--fanout", "2,2", "--memory", "100M"
    assert "--time edge: the train seeds have no times" in refused(*own, "--time", "edge")
    device = "--device", "virtual", "--memory", "240M"
    for more, said in (("--model", "gcn"), "--time with --model gcn"), (("--sampler", "labor"), "--time: not with --sampler labor"), (("--task", "link"), "lists of edges are needed"), \
            ((*device, "--sample-on", "device"), "--sample-on device"), ((*device, "--device-memory", "64M"), "--device-memory: a device cache does not support"):
        assert said in refused(*own, "--time", "node", *more), more
    trained("timed", "g", "--time", "node")
    assert "trained with --time" in refused("eval", "g", "--checkpoint", "timed/checkpoint.safetensors", "--split", "valid", "--sampler", "uniform", "--memory", "100M")
    run("eval", "g", "--checkpoint", "timed/checkpoint.safetensors", "--split", "valid", "--memory", "100M")
    least = np.iinfo(np.int64).min  # which NaT becomes
    late = np.where(np.arange(N) == 3, least, 5)
    os.makedirs("short", exist_ok=True)
    for name, array in (("edges", arrays()["edge_index"].T), ("feat", arrays()["x"]), ("label", arrays()["y"]), ("train", np.arange(50)), ("train_times", np.arange(49))):
        np.save(f"short/{name}.npy", array)
    assert "49" in refused("import", "npy", "short", "shorter") and not os.path.exists("shorter")
    os.remove("short/train_times.npy")
    for name, values, said in ("node_times", late, "row 3: no time"), ("edge_times", np.where(np.arange(E) == 3, np.nan, 5), "row 3: nan"), ("node_times", np.full(N, 2 ** 24, np.float32), "below 2^24"):
        np.save(f"short/{name}.npy", values)
        assert said in refused("import", "npy", "short", "shorter"), name
        os.remove(f"short/{name}.npy")
    at, x = np.arange(N), arrays()["x"]  # two types, one without times; rows are the source's
    for name, values in ("node_type", at % 2), ("edge_type", np.zeros(E, int)), ("node_times", np.where(at % 2 | (at == 4), least, 5)):
        np.save(f"short/{name}.npy", values)
    assert "row 4: no time" in refused("import", "npy", "short", "shorter")
    np.save("short/node_times.npy", np.where(at % 2, least, 5))
    np.save("short/feat.npy", np.where(at[:, None] == 6, np.nan, x))
    assert "row 6, column 0: not a finite number" in refused("import", "npy", "short", "shorter")
    np.save("short/feat.npy", x)
    run("import", "npy", "short", "shorter")
    for wrong, said in (np.full(N, 2 ** 63 + 5, np.uint64), "row 0"), (np.full(N, 0.5), "row 0: 0.5"), (np.arange(N).astype("datetime64[D]"), "unit"), (late, "row 3"), \
            (np.where(np.arange(N) == 3, np.nan, 5), "row 3: nan"), (np.full(N, 2 ** 24, np.float32), "exact below"), (iter([late[4:], late[:4]]), f"row {N - 1}"):
        with raises(outgrow.OptionError, "node_time", said):
            outgrow.write("wrong", **arrays() | {"node_time": wrong})
    with raises(outgrow.OptionError, "input_time: row 1", "NaT"):
        loader(seeds=np.arange(2), input_time=np.array([3, least]), time_attr="edge_time")
    given = arrays_of_two_types()
    outgrow.write("both", **given)
    assert "--time node: the train seeds have no times" in refused("train", "both", "--run", "no", "--epochs", 1, "--fanout", "2,2", "--memory", "100M", "--time", "node")
    told = "the nodes of split valid have no times"  # of eval and of a loader
    of_train = arrays() | {"train_time": np.full(200, 30)}
    outgrow.write("judged", **of_train, valid_time=np.full(60, 40))
    outgrow.write("unjudged", **of_train)
    trained("judged-run", "judged", "--time", "edge")
    assert f"--time edge: {told}" in refused("eval", "unjudged", "--checkpoint", "judged-run/checkpoint.safetensors", "--split", "valid", "--memory", "100M")
    with loader("unjudged", time="edge", fanout=[2, 2], batch=50, epochs=1, form="arrays") as of, raises(outgrow.OptionError, f'time="edge": {told}'):
        of.evaluate("valid")
    latest = np.iinfo(np.int64).max - np.arange(N)
    outgrow.write("latest", **arrays() | {"node_time": latest})
    np.testing.assert_array_equal(np.load("latest/node_times.npy"), latest)
    outgrow.write("plain", **{k: v for k, v in arrays().items() if not k.endswith("_time")})
    assert "node_times.npy" in refused("train", "plain", "--run", "no", "--time", "node")
    for options, said in (({"time_attr": "t"}, "no times 't'"), ({"temporal_strategy": "last"}, "without time_attr"), ({"input_time": [1]}, "input_time"),
                          ({"time_attr": "time", "time_window": 0.5}, "time_window")):
        try:
            loader(**options)
        except outgrow.OptionError as error:
            assert said in str(error), error
        else:
            raise AssertionError(options)


def test_nodes_of_a_split_are_predicted():
    """With the times of their list, as they are judged."""
    r = np.random.default_rng(3)
    ids = r.permutation(N)
    parts = {"train": ids[:N // 2], "valid": ids[N // 2:3 * N // 4], "test": ids[3 * N // 4:]}
    label = r.integers(0, 3, N)
    outgrow.write("nodes_judged", edge_index=r.integers(0, N, (2, 8 * N)), x=r.standard_normal((N, 6)).astype("f4"), y=label, edge_time=r.integers(0, 100, 8 * N),
                  **parts, **{f"{k}_time": r.integers(20, 100, len(v)) for k, v in parts.items()})
    trained("judge", "nodes_judged", "--time", "edge")
    own = "--checkpoint", "judge/checkpoint.safetensors", "--memory", "100M"
    run("predict", "nodes_judged", *own, "--out", "nodes_judged.npy", "--nodes", "test", "--fanout", "-1,-1")
    done = subprocess.run([OUTGROW, "eval", "nodes_judged", *own, "--full", "--json", "--quiet"], capture_output=True, text=True)
    told = json.loads(done.stdout)
    assert abs((np.load("nodes_judged.npy").argmax(1) == label[parts["test"]]).mean() - told["acc"]) < 1e-9, told
    assert "--nodes test" in refused("predict", "nodes_judged", *own, "--out", "all.npy")


def test_seeds_of_types_have_times():
    given = arrays_of_two_types()
    seeds = {"a": np.arange(50) + 7, "b": np.arange(40) - 3}
    outgrow.write("seeded", **given, train_time=seeds)
    np.testing.assert_array_equal(np.load("seeded/train_times.npy"), np.concatenate([seeds[name] for name in ("a", "b")]))
    for wrong in seeds["a"], {"a": seeds["a"]}:
        with raises(outgrow.OptionError, "train_time: not by types"):
            outgrow.write("wrong", **given, train_time=wrong)
    with raises(outgrow.OptionError, "49 rows, for 50"):
        outgrow.write("wrong", **given, train_time=seeds | {"a": seeds["a"][1:], "b": np.arange(41)})


def test_times_are_exported():
    write(), typed()
    for graph in "g", "h":
        for words in ("export", "npy", graph, f"{graph}-out"), ("import", "npy", f"{graph}-out", f"{graph}-back"):
            subprocess.run([OUTGROW, *words, "--quiet"], check=True)
        names = [name for name in os.listdir(graph) if "times" in name and name.endswith(".npy")]
        assert any("node_times" in name for name in names) and any("edge_times" in name for name in names), names
        for name in names:
            np.testing.assert_array_equal(np.load(f"{graph}/{name}"), np.load(f"{graph}-back/{name}"), name)
    said = subprocess.run([OUTGROW, "export", "graphbolt", "g", "bolt"], check=True, capture_output=True, text=True).stderr
    assert "graphbolt leaves out" in said and "times of nodes; times of edges" in said, said


if __name__ == "__main__":
    main(globals())
