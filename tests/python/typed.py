#!/usr/bin/env python3
"""Batches of heterogeneous graphs are those that `outgrow sample` writes, divided by types and relations with NumPy. In PyTorch Geometric's form it is the same
arrays, and trimming it leaves a model's results."""
import itertools
import os

from support import command, main, np, outgrow, raises, same, sample

TYPES = {"paper": 3000, "author": 1800, "place": 60, "word": 400}
ENDS = ["paper:cites:paper:6", "author:writes:paper:3", "paper:written:author:4", "place:employs:author:1", "word:in:paper:2"]
RELATIONS = [tuple(part.split(":")[:3]) for part in ENDS]
WIDTHS = {"paper": 24, "word": 10}  # the others have no features
COMMON = {"batch": 200, "epochs": 2, "seed": 5, "threads": 2}
SAMPLERS = {"uniform": {"fanout": [4, 3]}, "labor": {"sampler": "labor", "fanout": [4, 3]},
            "ladies": {"sampler": "ladies", "fanout": [300, 200]}, "walk": {"sampler": "walk", "fanout": [1, 1], "neighbors": 4},
            "of relations": {"fanout": [4, 3], "relation_fanout": "cites=2,5;employs=1,0"}}


def make_graph():
    types = ",".join(f"{name}:{n}" + (f":{WIDTHS[name]}" if name in WIDTHS else "") for name, n in TYPES.items())
    command("generate", "graph", "--types", types, "--relations", ",".join(ENDS), "--train-fraction", "0.3", "--quiet")


class Numbers:
    """Which type each id of a batch is of, and the how many-th of it."""

    def __init__(self, ids):
        first = np.cumsum([0, *TYPES.values()])
        self.type = np.searchsorted(first, ids, side="right") - 1
        self.within = ids - first[self.type]
        self.local = np.zeros(len(ids), np.int64)
        for t in range(len(TYPES)):
            self.local[self.type == t] = np.arange((self.type == t).sum())

    def count(self, n, t):
        return int((self.type[:n] == t).sum())


def compare_nodes(trace, b, batch, numbers, ends):
    for t, name in enumerate(TYPES):
        nodes = batch.types[name]
        same(f"ids of {name}", nodes.ids, numbers.within[numbers.type == t])
        assert nodes.n == tuple(numbers.count(n, t) for n in ends), (name, nodes.n)
        if name in WIDTHS:
            same(f"rows of {name}", nodes.x, trace.part(f"features_{t}", b))
            assert batch.dtype[name] == "float32" and nodes.x.shape == (len(nodes.ids), WIDTHS[name])
        else:
            assert nodes.x is None and batch.dtype[name] is None


def compare_hop(trace, b, h, hop, r, numbers, ends):
    """h from 1, as the trace has it."""
    src, dst, rel = (trace.part(f"hop{h}_{what}", b, of=f"hop{h}") for what in ("src", "dst", "rel"))
    of = rel == r
    source, _, destination = RELATIONS[r]
    types = list(TYPES)
    same("src", hop.src, numbers.local[src[of]])
    same("dst", hop.dst, numbers.local[dst[of]])
    assert (numbers.type[src[of]] == types.index(source)).all() and (numbers.type[dst[of]] == types.index(destination)).all()
    assert hop.n_dst == numbers.count(ends[h - 1], types.index(destination)) and hop.n_edges == of.sum()
    assert hop.n_src == numbers.count(ends[h], types.index(source))
    same("indptr", hop.indptr, np.searchsorted(hop.dst, np.arange(hop.n_dst + 1)))
    if f"hop{h}_weight" in trace.arrays:
        same("weight", hop.weight, trace.part(f"hop{h}_weight", b, of=f"hop{h}")[of])
    else:
        assert hop.weight is None


def compare(trace, b, batch, once):
    same("ids", batch.ids, trace.part("ids", b))
    same("seeds", batch.ids[:batch.n_seeds], trace.part("seeds", b))
    same("labels", batch.y, trace.part("labels", b, of="seeds"))
    numbers = Numbers(batch.ids)
    ends = [batch.n_seeds, *(int(trace.arrays[f"hop{h}_nodes"][b]) for h in range(1, trace.hops + 1))]
    compare_nodes(trace, b, batch, numbers, ends)
    assert list(batch.relations) == RELATIONS and list(batch.types) == list(TYPES)
    for r, edges in enumerate(batch.relations.values()):
        at = 0
        for h, hop in enumerate(edges.hops, 1):
            compare_hop(trace, b, h, hop, r, numbers, ends)
            assert hop.first_edge == (0 if once else at)
            same("columns", edges.edge_index[:, hop.first_edge:hop.first_edge + hop.n_edges], np.stack([hop.src, hop.dst]))
            at += hop.n_edges
        assert edges.edge_index.shape[1] == (edges.hops[-1].n_edges if once else at) and edges.pairs is None


def compare_all(trace, once, **options):
    with outgrow.Loader("graph", form="arrays", **COMMON | options) as loader:
        for epoch in 1, 2:
            for b, batch in zip(trace.epoch(epoch), loader, strict=True):
                compare(trace, b, batch, once)
                assert batch.hits + batch.misses == sum(len(batch.types[name].ids) for name in WIDTHS)


def test_they_are_those_of_sample():
    make_graph()
    for name, options in SAMPLERS.items():
        for draw in ("each",) if name == "ladies" else ("each", "once"):
            trace = sample("graph", f"trace-{name}-{draw}", draw=draw, **COMMON, **options)
            for policy, topology in itertools.product(("none", "degree", "lru", "belady", "auto"), ("memory", "disk")):
                compare_all(trace, draw == "once", policy=policy, topology=topology, cache="20%", draw=draw, **options)
    for layout in {"layout": "packed", "policy": "frequency"}, {"layout": "segmented", "policy": "degree"}:
        trace = sample("graph", f"trace-{layout['layout']}", **COMMON, fanout=[4, 3])
        compare_all(trace, False, cache="20%", fanout=[4, 3], draw="each", **layout)


def test_memory_is_kept():
    with outgrow.Loader("graph", fanout=[5, 5], memory="40M", form="arrays", **COMMON) as loader:
        for _ in loader:
            pass
        assert loader.metrics["peak_rss_bytes"] - loader.metrics["baseline_rss_bytes"] <= 40 << 20
    with raises(outgrow.BudgetError, "memory"):
        outgrow.Loader("graph", fanout=[5, 5], memory="1M", form="arrays", **COMMON)


def test_batches_outlive_the_loader():
    loader = outgrow.Loader("graph", fanout=[4, 3], form="arrays", **COMMON)
    batch = next(iter(loader))
    ids = batch.types["author"].ids.copy()
    native = loader._native
    loader.close()
    del loader, native
    same("ids", batch.types["author"].ids, ids)
    assert list(batch.types) == list(TYPES)


def test_seeds_of_any_type():
    ids = np.arange(0, 1800, 7)
    mask = np.zeros(1800, bool)
    mask[ids] = True
    for given in ids, mask, ids.tolist():
        with outgrow.Loader("graph", seeds=("author", given), fanout=[3], form="arrays", shuffle=False, batch=100) as loader:
            seen = [batch.types["author"].ids[:batch.types["author"].n[0]].copy() for batch in loader]
            same("seeds", np.concatenate(seen), ids)
            for batch in loader.evaluate("valid"):  # which are of another type
                assert batch.types["paper"].n[0] == batch.n_seeds and (batch.y >= 0).all()
    with outgrow.Loader("graph", input_nodes=("place", None), fanout=[3], form="arrays") as loader:
        same("all", next(iter(loader)).types["place"].ids[:60], np.arange(60))
    with outgrow.Loader("graph", input_nodes="place", fanout=[3], form="arrays") as loader:
        same("by name", next(iter(loader)).types["place"].ids[:60], np.arange(60))
    with raises(outgrow.OptionError, "a mask [1799], of 1800 nodes"):
        outgrow.Loader("graph", seeds=("author", mask[1:]), fanout=[3], form="arrays")
    with raises(outgrow.OptionError, "of which type?", '(type, ids)'):
        outgrow.Loader("graph", seeds=ids, fanout=[3], form="arrays")
    with raises(outgrow.OptionError, "no nodes of type 'nobody'", "paper, author, place, word"):
        outgrow.Loader("graph", seeds=("nobody", ids), fanout=[3], form="arrays")
    with raises(outgrow.OptionError, "not all of 0 .. 59", "within the type place"):
        outgrow.Loader("graph", seeds=("place", ids), fanout=[3], form="arrays")


def test_a_split_is_of_one_type():
    given = arrays_of_types()
    outgrow.write("mixed", **given)
    valid = np.load("mixed/valid.npy")
    np.save("mixed/valid.npy", np.concatenate([valid[:-1], [TYPES["paper"] + 1]]))  # the last one is an author
    with raises(outgrow.Error, "seeds of several types"):
        outgrow.Loader("mixed", fanout=[3], form="arrays", eval_every=1)


def test_fanouts_by_relations():
    number = {r: [1 + i, 2 * i] for i, r in enumerate(RELATIONS)}
    with outgrow.Loader("graph", num_neighbors=number, input_nodes="train", shuffle=True, form="arrays", draw="each", **COMMON) as loader:
        for batch in loader:
            for relation, edges in batch.relations.items():
                for hop, most in zip(edges.hops, number[relation]):
                    assert np.diff(hop.indptr).max(initial=0) <= most
    with raises(outgrow.OptionError, "no numbers for", "in"):
        outgrow.Loader("graph", fanout={r: [1] for r in RELATIONS[:-1]}, form="arrays")
    outgrow.write("untyped", edge_index=[[0, 1], [1, 0]], x=np.ones((3, 1), np.uint8), train=[0])
    with raises(outgrow.OptionError, "of a graph without types"):
        outgrow.Loader("untyped", fanout={("node", "to", "node"): [1]}, form="arrays")
    with raises(outgrow.OptionError, "an adjacency has no types"):
        next(iter(outgrow.Loader("graph", fanout=[1], form="adjs")))


def test_going_on():
    with outgrow.Loader("graph", fanout=[4, 3], form="arrays", **COMMON) as loader:
        batches = [batch.ids.copy() for epoch in (1, 2) for batch in loader]
    with outgrow.Loader("graph", fanout=[4, 3], form="arrays", **COMMON) as loader:
        state = [loader.state_dict() for _ in zip(loader, range(2))][-1]
    with outgrow.Loader("graph", fanout=[4, 3], form="arrays", policy="lru", **COMMON) as loader:
        loader.load_state_dict(state)
        rest = [batch.ids.copy() for epoch in (1, 2) for batch in loader]
    for got, want in zip(rest, batches[2:], strict=True):
        same("ids", got, want)


def edges_of_graph(r):
    indptr, indices = (np.load(f"graph/rel{r}_{name}.npy") for name in ("indptr", "indices"))
    return set(zip(indices.tolist(), np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)).tolist()))


def passes(loader):
    yield from loader
    yield from loader.evaluate("valid")


def test_links():
    """Pairs of a relation: first its edges, then pairs of the same types that are drawn. Each has a count."""
    options = {"task": "link", "fanout": [3, 2], "batch": 500, "epochs": 1, "negatives": 2, "edge_split": "80/10/10", "eval_negatives": 20}
    known = [edges_of_graph(r) for r in range(len(RELATIONS))]
    with outgrow.Loader("graph", form="arrays", **options) as loader:
        for batch in passes(loader):
            assert batch.y is None
            total = 0
            for r, (relation, edges) in enumerate(batch.relations.items()):
                total += edges.n_positive
                source, destination = (batch.types[name].ids for name in (relation[0], relation[2]))
                pairs = list(zip(source[edges.pairs[0]].tolist(), destination[edges.pairs[1]].tolist()))
                assert set(pairs[:edges.n_positive]) <= known[r]
                drawn = pairs[edges.n_positive:]
                assert edges.n_negative == edges.n_positive * (2 if batch.split == "train" else 1)
                assert len(drawn) == edges.n_negative + (0 if batch.split == "train" else 2 * 20 * edges.n_positive)
                assert sum(pair in known[r] for pair in drawn) <= len(drawn) // 4
                if batch.split == "valid":  # negatives: for the destination of each edge in turn, then for the source
                    rivals = np.array(drawn[edges.n_negative:]).reshape(2, edges.n_positive, 20, 2)
                    ends = np.array(pairs[:edges.n_positive]).reshape(-1, 2)
                    assert (rivals[0, :, :, 0] == ends[:, :1]).all() and (rivals[1, :, :, 1] == ends[:, 1:]).all()
            assert total == batch.n_positive


def arrays_of_types():
    """Edges of each relation by ids within types; labels and splits of one type."""
    rng = np.random.default_rng(3)
    edges = {(s, r, d): np.stack([rng.integers(0, TYPES[s], 4000), rng.integers(0, TYPES[d], 4000)]) for s, r, d in RELATIONS}
    ids = rng.permutation(TYPES["paper"])
    return {"edge_index": edges, "x": {name: rng.standard_normal((TYPES[name], w)).astype(np.float32) for name, w in WIDTHS.items()},
            "y": {"paper": rng.integers(-1, 4, TYPES["paper"])}, "train": {"paper": ids[:900]}, "valid": {"paper": ids[900:1000]},
            "test": {"paper": ids[1000:1200]}, "edge_weight": {r: rng.random(4000).astype(np.float32) for r in edges}, "num_nodes": dict(TYPES)}


def check_written(folder, given):
    first = np.cumsum([0, *TYPES.values()])
    told = outgrow.info(folder)
    assert [t["name"] for t in told["node_types"]] == list(TYPES)
    assert [(r["source"], r["name"], r["destination"]) for r in told["relations"]] == RELATIONS
    for r, (relation, (src, dst)) in enumerate(given["edge_index"].items()):
        order = np.lexsort((src, dst))
        same("indices", np.load(f"{folder}/rel{r}_indices.npy").astype(np.int64), src[order])
        same("indptr", np.load(f"{folder}/rel{r}_indptr.npy"), np.searchsorted(dst[order], np.arange(TYPES[relation[2]] + 1)))
        weights = np.load(f"{folder}/rel{r}_weights.npy")
        assert np.allclose(np.bincount(dst[order], weights), np.bincount(dst, given["edge_weight"][relation]), atol=1e-5)
    for t, name in enumerate(TYPES):
        if name in WIDTHS:
            same("features", np.load(f"{folder}/features_{t}.npy"), given["x"][name])
    labels = np.full(first[-1], -1)
    labels[:TYPES["paper"]] = given["y"]["paper"]
    same("labels", np.load(f"{folder}/labels.npy"), labels)
    for name in "train", "valid", "test":
        same(name, np.load(f"{folder}/{name}.npy"), given[name]["paper"])
    command("verify", folder)


def test_arrays_are_written():
    given = arrays_of_types()
    outgrow.write("arrays", **given)
    check_written("arrays", given)
    chunks = {key: {name: iter(np.array_split(a, 3, axis=int(key == "edge_index"))) for name, a in of.items()}
              for key, of in given.items() if key != "num_nodes"}
    outgrow.write("chunks", num_nodes=TYPES, **chunks)
    check_written("chunks", given)
    for key, value, *words in (("edge_index", {("paper", "cites", "paper"): [[0, 3000], [1, 1]]}, "cites", "not all of 0 .. 2999"),
                               ("edge_index", {("paper", "paper"): [[0], [1]]}, "names no relation"),
                               ("y", {"author": np.zeros(1800, int)}, "train: of paper", "y is of author"),
                               ("y", given["y"] | {"author": np.zeros((1800, 2))}, "y of author", "others are int64"), ("valid", {"word": [1]}, "valid: of word"), ("train", {"paper": [3000]}, "not all of 0 .. 2999"),
                               ("num_nodes", {"paper": 3000}, "num_nodes: not given for"), ("y", {"nobody": np.zeros(3, int)}, "'nobody' is no type"),
                               ("y", {"paper": [1, 2]}, "2 rows, for 3000 nodes"), ("num_nodes", TYPES | {"word": 3}, "400 rows, for 3 nodes"),
                               ("edge_weight", {("paper", "cites", "paper"): np.ones(4000)}, "not of the relations"),
                               ("edge_weight", given["edge_weight"] | {RELATIONS[1]: np.ones(3999)}, "3999 rows, for 4000 edges"),
                               ("edge_index", given["edge_index"] | {RELATIONS[1]: np.zeros((2, 0), int)}, "no edges"),
                               ("edge_index", {("paper", "cites", "paper"): [[0.5], [1.0]]}, "float64"),
                               ("edge_index", {("a/b", "cites", "paper"): [[0], [1]]}, "'a/b' cannot be the name"),
                               ("num_nodes", TYPES | {"place": 0}, "place: no nodes"), ("train", {"paper": [0.5]}, "float64"),
                               ("y", np.zeros(3000, int), "y: not by types"), ("y", {"paper": iter(())}, "0 rows, for 3000 nodes")):
        with raises(outgrow.OptionError, *words):
            outgrow.write("refused", **given | {key: value} | ({"edge_weight": None} if key == "edge_index" else {}))
    assert not [name for name in os.listdir(".") if name.startswith("refused")]


def test_labels_of_others_are_none():
    given = arrays_of_types()
    rng = np.random.default_rng(1)
    for name, y, none, more in (("narrow", rng.integers(0, 4, 3000).astype(np.uint8), -1, {}), ("values", rng.random(3000), np.nan, {"regression": True}),
                                ("whole", rng.integers(0, 9, 3000), np.nan, {"regression": True}),
                                ("several", (rng.random((3000, 3)) > 0.5).astype(np.float32), 0, {})):
        outgrow.write(name, **given | {"y": {"paper": y}}, **more)
        got = np.load(f"{name}/labels.npy").reshape(-1, *y.shape[1:])
        assert np.allclose(got[:3000], y) and np.array_equal(np.unique(got[3000:]), [none], equal_nan=bool(more)), name


def two_types(given):
    """Labels and splits of authors too."""
    rng = np.random.default_rng(4)
    ids = rng.permutation(TYPES["author"])
    more = {"y": rng.integers(-1, 6, TYPES["author"]), "train": ids[:700], "test": ids[800:900]}
    return given | {key: given[key] | {"author": value} for key, value in more.items()}


def check_two_types(folder, given):
    first = dict(zip(TYPES, np.cumsum([0, *TYPES.values()]).tolist()))
    labels = np.full(sum(TYPES.values()), -1)
    for name, y in given["y"].items():
        labels[first[name]:first[name] + TYPES[name]] = y
    same("labels", np.load(f"{folder}/labels.npy"), labels)
    for split in "train", "valid", "test":
        same(split, np.load(f"{folder}/{split}.npy"), np.concatenate([ids + first[name] for name, ids in given[split].items()]))
    command("verify", folder)


def test_labels_of_several_types():
    """The model is trained on all; a loader has the labels of its seeds' type."""
    given = two_types(arrays_of_types())
    told = outgrow.write("labelled", **given)
    assert told["num_classes"] == 6
    check_two_types("labelled", given)
    chunks = {key: {name: iter(np.array_split(a, 3)) for name, a in given[key].items()} for key in ("y", "train", "valid", "test")}
    outgrow.write("labelled-chunks", **given | chunks)
    check_two_types("labelled-chunks", given)
    words = {name: np.array([f"class {c}" for c in range(6)])[np.maximum(y, 0)] for name, y in given["y"].items()}
    outgrow.write("words", **given | {"y": words})
    got = np.load("words/labels.npy")
    assert (got[:3000] == np.maximum(given["y"]["paper"], 0)).all() and (got[3000:4800] == np.maximum(given["y"]["author"], 0)).all()
    done = outgrow.train("labelled", run="labelled-run", fanout="3,2", hidden=8, epochs=1, embedding=4, type_weights="author=2", batch=200)
    assert done["test_acc"] > 0
    with raises(outgrow.Error, "seeds of several types"):
        outgrow.Loader("labelled", fanout=[3, 2], split="train", **COMMON)
    if not frameworks():
        return
    for name in "paper", "author":
        for batch in outgrow.NeighborLoader("labelled", num_neighbors=[3, 2], input_nodes=(name, given["train"][name]), batch_size=300):
            same(f"y of {name}", batch[name].y.numpy(), given["y"][name][batch[name].n_id.numpy()])


def test_one_type_is_none():
    given = arrays_of_types()
    cites = RELATIONS[0]
    outgrow.write("single", edge_index={cites: given["edge_index"][cites]}, x={"paper": given["x"]["paper"]}, y=given["y"], train=given["train"])
    outgrow.write("plain", edge_index=given["edge_index"][cites], x=given["x"]["paper"], y=given["y"]["paper"], train=given["train"]["paper"])
    for name in "indptr", "indices", "features", "labels", "train":
        same(name, np.load(f"single/{name}.npy"), np.load(f"plain/{name}.npy"))
    for edges, x, n in (given["edge_index"][cites], given["x"]["paper"], 2999), ({cites: given["edge_index"][cites]}, {"paper": given["x"]["paper"]}, {"paper": 2999}):
        with raises(outgrow.OptionError, "3000 rows, for 2999 nodes"):
            outgrow.write("refused", edge_index=edges, x=x, num_nodes=n)


def test_hetero_data_is_written():
    if not (found := frameworks()):
        return
    torch, pyg = found
    given = arrays_of_types()
    data = pyg.data.HeteroData()
    for name, n in TYPES.items():
        data[name].num_nodes = n
        if name in WIDTHS:
            data[name].x = torch.from_numpy(given["x"][name])
    data["paper"].y = torch.from_numpy(given["y"]["paper"])
    for split, mask in ("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask"):
        data["paper"][mask] = torch.zeros(TYPES["paper"], dtype=torch.bool).index_fill(0, torch.from_numpy(given[split]["paper"]), True)
        given[split] = {"paper": np.sort(given[split]["paper"])}
    for relation, edges in given["edge_index"].items():
        data[relation].edge_index, data[relation].edge_weight = torch.from_numpy(edges), torch.from_numpy(given["edge_weight"][relation])
    outgrow.write("hetero", data)
    check_written("hetero", given)
    given = two_types(given)
    data["author"].y = torch.from_numpy(given["y"]["author"])
    for split, mask in ("train", "train_mask"), ("test", "test_mask"):
        data["author"][mask] = torch.zeros(TYPES["author"], dtype=torch.bool).index_fill(0, torch.from_numpy(given[split]["author"]), True)
        given[split]["author"] = np.sort(given[split]["author"])
    outgrow.write("hetero-two", data)
    check_two_types("hetero-two", given)


def frameworks():
    try:
        import torch
        import torch_geometric
        return torch, torch_geometric
    except ImportError:
        print("  left out: PyTorch Geometric is not installed")


def test_pyg_is_the_same():
    if not frameworks():
        return
    options = {"fanout": [4, 3], "draw": "once", **COMMON}
    with outgrow.Loader("graph", **options) as loader, outgrow.Loader("graph", form="arrays", **options) as plain:
        for data, batch in zip(loader, plain, strict=True):
            assert data.node_types == list(TYPES) and data.edge_types == RELATIONS
            assert data["paper"].batch_size == batch.n_seeds and "batch_size" not in data["author"]
            same("y", data["paper"].y.numpy(), batch.y)
            for name, nodes in batch.types.items():
                same("n_id", data[name].n_id.numpy(), nodes.ids)
                assert np.cumsum(data[name].num_sampled_nodes).tolist() == list(nodes.n) and data[name].num_nodes == len(nodes.ids)
                if name in WIDTHS:
                    same("x", data[name].x.numpy(), nodes.x)
            for relation, edges in batch.relations.items():
                same("edges", data[relation].edge_index.numpy(), edges.edge_index)
                assert sum(data[relation].num_sampled_edges) == edges.edge_index.shape[1]


def test_trimming_leaves_the_result():
    if not (found := frameworks()):
        return
    torch, pyg = found
    from torch_geometric.nn import HeteroConv, SAGEConv
    from torch_geometric.utils import trim_to_layer
    torch.manual_seed(1)
    layers = torch.nn.ModuleList([HeteroConv({r: SAGEConv((-1, -1), 8) for r in RELATIONS}, aggr="sum") for _ in range(2)])
    tables = {name: torch.randn(n, 6) for name, n in TYPES.items() if name not in WIDTHS}

    def forward(data, trim):
        x = {name: data[name].x if name in WIDTHS else tables[name][data[name].n_id] for name in TYPES}
        edges = data.edge_index_dict
        for i, layer in enumerate(layers):
            if trim:
                x, edges, _ = trim_to_layer(i, data.num_sampled_nodes_dict, data.num_sampled_edges_dict, x, edges)
            x = {name: h.relu() for name, h in layer(x, edges).items()} | {name: torch.zeros(0, 8) for name in ("place", "word")}
            x = {name: x[name] if len(x[name]) else torch.zeros(data[name].num_nodes, 8) for name in TYPES}
        return x["paper"][:data["paper"].batch_size]

    with outgrow.Loader("graph", fanout=[4, 3], **COMMON) as loader:
        for data in loader:
            assert torch.allclose(forward(data, False), forward(data, True), atol=1e-5)


def test_stores():
    if not (found := frameworks()):
        return
    torch, _ = found
    features, graph = outgrow.stores("graph")
    index = torch.tensor([5, 3, 5, 399])
    same("x", features.get_tensor(group_name="word", attr_name="x", index=index).numpy(), np.load("graph/features_3.npy")[index.numpy()])
    same("y", features.get_tensor(group_name="paper", attr_name="y", index=None).numpy(), np.load("graph/labels.npy")[:3000])
    assert {(a.group_name, a.attr_name) for a in features.get_all_tensor_attrs()} == {("paper", "x"), ("paper", "y"), ("word", "x")}
    sizes = {tuple(a.edge_type): a.size for a in graph.get_all_edge_attrs()}
    assert sizes == {r: (TYPES[r[0]], TYPES[r[2]]) for r in RELATIONS}
    for r, attr in enumerate(graph.get_all_edge_attrs()):
        row, colptr = graph.get_edge_index(attr)
        same("row", row.numpy(), np.load(f"graph/rel{r}_indices.npy").astype(np.int64))
        same("colptr", colptr.numpy(), np.load(f"graph/rel{r}_indptr.npy"))


main(globals())
