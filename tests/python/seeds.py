#!/usr/bin/env python3
"""Whose neighbourhoods a Loader yields: repeated seeds, and input_id in every form."""
import os

from support import arrays_of_a_graph, main, np, outgrow, raises, same, warned

RNG = np.random.default_rng(3)
REPEATED = np.concatenate([RNG.integers(0, 2000, 300), RNG.integers(0, 20, 300)])
TYPES = {"paper": (600, 8), "author": (300, None), "venue": (12, 4)}
RELATIONS = ("paper", "cites", "paper"), ("author", "writes", "paper"), ("paper", "in", "venue"), ("paper", "written", "author")
SAMPLERS = {}, {"draw": "once"}, {"sampler": "labor"}, {"topology": "disk", "policy": "belady", "cache": "10%"}
OF_ONE_TYPE = {"sampler": "walk", "neighbors": 4}, {"sampler": "ladies"}


def make_graphs():
    outgrow.write("graph", **arrays_of_a_graph())
    n = {name: count for name, (count, _) in TYPES.items()}
    outgrow.write("typed", edge_index={(s, r, d): np.stack([RNG.integers(0, n[s], 2500), RNG.integers(0, n[d], 2500)]) for s, r, d in RELATIONS},
                  x={name: RNG.standard_normal((count, dim)).astype(np.float32) for name, (count, dim) in TYPES.items() if dim}, num_nodes=n,
                  y={"paper": RNG.integers(0, 4, 600)}, train={"paper": np.arange(300)}, valid={"paper": np.arange(300, 400)})


def lists(hop):
    return [hop.src[hop.indptr[v]:hop.indptr[v + 1]].tolist() for v in range(hop.n_dst)]


def check_repeats(ids, n_seeds, hops, whose):
    """Only seeds repeat, and those of one node have the same edges. Edges from them leave the first. whose: "dst", "src", "both"."""
    nodes, first = np.unique(ids[:n_seeds], return_index=True)
    rest = ids[n_seeds:]
    assert len(np.unique(rest)) == len(rest) and not np.isin(rest, nodes).any()
    for hop in hops:
        same("dst", hop.dst, np.repeat(np.arange(hop.n_dst), np.diff(hop.indptr)))
        assert hop.indptr[-1] == hop.n_edges
        if whose != "dst":
            assert np.isin(hop.src[hop.src < n_seeds], first).all()
        if whose != "src":
            of = lists(hop)
            assert all(of[v] == of[first[np.searchsorted(nodes, ids[v])]] for v in range(n_seeds))


def test_repeated_seeds_come_as_often():
    make_graphs()
    x, y = np.load("graph/features.npy"), np.load("graph/labels.npy")
    for options in *SAMPLERS, *OF_ONE_TYPE:
        for shuffle in True, False:
            with outgrow.Loader("graph", fanout=[4, 3], seeds=REPEATED, batch=100, form="arrays", shuffle=shuffle, **options) as loader:
                seen = []
                for batch in loader:
                    same("seeds", batch.ids[:batch.n_seeds], REPEATED[batch.input_id])
                    same("x", batch.x, x[batch.ids])
                    same("y", batch.y, y[batch.ids[:batch.n_seeds]])
                    check_repeats(batch.ids, batch.n_seeds, batch.hops, "both")
                    seen.append(batch.input_id.copy())
                seen = np.concatenate(seen)
                same("all", np.sort(seen) if shuffle else seen, np.arange(600))


def test_one_node_as_all_seeds():
    with outgrow.Loader("graph", fanout=[4, 3], seeds=[3] * 2500, batch=2500, form="arrays") as loader:
        batch, = loader
        assert batch.n_seeds == 2500 and (batch.ids[:2500] == 3).all() and batch.hops[0].n_edges == 2500 * len(lists(batch.hops[0])[0])


def test_of_distinct_seeds_nothing_changes():
    ids = RNG.permutation(2000)[:300]
    with outgrow.Loader("graph", fanout=[4, 3], seeds=ids, batch=300, form="arrays", shuffle=False) as plain, \
            outgrow.Loader("graph", fanout=[4, 3], seeds=[*ids, ids[0]], batch=300, form="arrays", shuffle=False) as other:
        a, b = next(iter(plain)), next(iter(other))
        for name in "ids", "x", "y", "edge_index":
            same(name, a[name], b[name])


def test_repeated_seeds_of_a_type():
    seeds = np.concatenate([RNG.integers(0, 600, 150), RNG.integers(0, 5, 150)])
    x, y = [np.load(f"typed/features_{t}.npy") if dim else None for t, (_, dim) in enumerate(TYPES.values())], np.load("typed/labels.npy")
    for options in SAMPLERS:
        with outgrow.Loader("typed", fanout=[4, 3], seeds=("paper", seeds), batch=60, form="arrays", **options) as loader:
            for batch in loader:
                paper = batch.types["paper"]
                same("seeds", paper.ids[:batch.n_seeds], seeds[batch.input_id])
                same("whole", batch.ids[:batch.n_seeds], paper.ids[:batch.n_seeds])
                same("y", batch.y, y[seeds[batch.input_id]])
                for rows, nodes in zip(x, batch.types.values(), strict=True):
                    assert rows is None or same("x", nodes.x, rows[nodes.ids]) is None
                for (source, _, destination), edges in batch.relations.items():
                    ends = (source == "paper") + 2 * (destination == "paper")
                    assert all(hop.n_dst == batch.types[destination].n[h] for h, hop in enumerate(edges.hops))
                    if ends:
                        check_repeats(paper.ids, batch.n_seeds, edges.hops, ("", "src", "dst", "both")[ends])


def test_a_model_gives_repeated_seeds_the_same():
    try:
        import torch
        from torch_geometric.nn import GraphSAGE
    except ImportError:
        return
    torch.manual_seed(1)
    model = GraphSAGE(24, 8, 2, 5)
    with outgrow.Loader("graph", num_neighbors=[4, 3], batch_size=100, input_nodes=torch.from_numpy(REPEATED)) as loader, torch.no_grad():
        for batch in loader:
            same("seeds", batch.n_id[:batch.batch_size].numpy(), REPEATED[batch.input_id.numpy()])
            out = model(batch.x, batch.edge_index)[:batch.batch_size]
            _, inverse = np.unique(batch.n_id[:batch.batch_size].numpy(), return_inverse=True)
            first = np.unique(inverse, return_index=True)[1][inverse]
            assert torch.allclose(out, out[torch.from_numpy(first)])
            assert sum(batch.num_sampled_nodes) == batch.num_nodes and sum(batch.num_sampled_edges) == batch.num_edges


def test_input_id_of_a_split_is_the_place_in_its_file():
    for split in "train", "valid":
        ids = np.load(f"graph/{split}.npy")
        with outgrow.Loader("graph", fanout=[3], split=split, batch=100, form="arrays") as loader:
            for batch in loader:
                same(split, batch.ids[:batch.n_seeds], ids[batch.input_id])
            for batch in loader.evaluate("test"):
                same("test", batch.ids[:batch.n_seeds], np.load("graph/test.npy")[batch.input_id])


def test_links_of_ones_own():
    """Ends of each pair are seeds, each once. Pairs come as they were given, and edges among them stay."""
    x = np.load("graph/features.npy")
    links = RNG.integers(0, 2000, (500, 2))
    have = np.load("graph/indices.npy"), np.load("graph/indptr.npy")
    links[:50, 1] = np.flatnonzero(np.diff(have[1]))[:50]
    links[:50, 0] = have[0][have[1][links[:50, 1]]]  # edges of the graph
    with outgrow.Loader("graph", fanout=[-1], batch=64, form="arrays", task="link", links=links, shuffle=False) as loader:
        seen, edges = [], 0
        for batch in loader:
            assert batch.n_negative == 0 and batch.n_positive == batch.pairs.shape[1] and len(set(batch.ids.tolist())) == len(batch.ids)
            same("pairs", batch.ids[batch.pairs].T, links[batch.input_id])
            same("x", batch.x, x[batch.ids])
            edges += len({*map(tuple, batch.pairs.T.tolist())} & {*map(tuple, batch.edge_index.T.tolist())})
            seen.append(batch.input_id.copy())
        same("all", np.concatenate(seen), np.arange(500))
        assert edges >= 50
    with outgrow.Loader("graph", fanout=[3], batch=64, form="arrays", task="link", links=links) as loader:
        epochs = [np.concatenate([batch.input_id.copy() for batch in loader]) for _ in range(2)]
        same("all", np.sort(epochs[0]), np.arange(500))
        assert (epochs[0] != epochs[1]).any()
    written = np.stack([RNG.integers(0, TYPES["author"][0], 200) + TYPES["paper"][0], RNG.integers(0, TYPES["paper"][0], 200)], 1)
    with outgrow.Loader("typed", fanout=[3, 2], batch=50, form="arrays", task="link", relation="writes", links=written, shuffle=False) as loader:
        for batch in loader:
            edges = batch.relations["author", "writes", "paper"]
            ends = np.stack([batch.types["author"].ids[edges.pairs[0]] + TYPES["paper"][0], batch.types["paper"].ids[edges.pairs[1]]], 1)
            same("pairs", ends, written[edges.input_id])
    for words, wrong in ((("row 0", "no edge can lead"), {"links": [[0, 2000]]}), (("links: int64 [3]", "[n, 2]"), {"links": [1, 2, 3]}), (("an empty list",), {"links": np.empty((0, 2), int)}),
                         (("does not take them",), {"links": links, "task": "node"})):
        with raises(outgrow.OptionError, *words):
            outgrow.Loader("graph", fanout=[3], form="arrays", **{"task": "link"} | wrong)
    again = links.copy()
    again[:, 0] = np.tile(links.reshape(-1, 5, 10, 2)[:, :1, :, 0], (1, 5, 1)).reshape(-1)
    apart = {"links": again, "source_repeats": 4, "batch": 50, "shuffle": False, "disjoint": True}
    with outgrow.Loader("graph", fanout=[3], form="arrays", task="link", **apart) as loader:
        for batch in loader:
            same("pairs", batch.pairs, np.stack([np.tile(np.arange(10), 5), np.arange(10, 60)]))
            same("seeds", batch.ids[:batch.n_seeds], np.concatenate([again[batch.input_id[:10], 0], again[batch.input_id, 1]]))
    for words, wrong in ((("disjoint",), {"disjoint": False}), (("shuffle",), {"shuffle": True}), (("batches of 64",), {"batch": 64}), (("499 links",), {"links": again[:499]}),
                         (("another source or time than link",), {"links": links})):
        with raises(outgrow.OptionError, "source_repeats", *words):
            outgrow.Loader("graph", fanout=[3], form="arrays", **{"task": "link"} | apart | wrong)
    with raises(outgrow.OptionError, "links: which of the"):
        outgrow.Loader("typed", fanout=[3], form="arrays", task="link", links=written)


def test_input_id_in_every_form():
    ids = RNG.permutation(2000)[:90]
    mask = np.isin(np.arange(2000), ids)
    for given, wanted in (ids, ids), (mask, np.flatnonzero(mask)), (REPEATED, REPEATED):
        options = {"fanout": [3, 2], "batch": 40, "seeds": given, "seed": 4}
        with outgrow.Loader("graph", form="arrays", **options) as loader:
            want = [batch.input_id.copy() for batch in loader]
            same("all", np.sort(np.concatenate(want)), np.arange(len(wanted)))
        for form, of in (("pyg", lambda b: (b.input_id, b.n_id)), ("adjs", lambda b: (b.input_id, b.n_id)),
                         ("dgl", lambda b: (b[2][-1].dstdata["input_id"], b[1]))):
            try:
                loader = outgrow.Loader("graph", form=form, **options)
            except ImportError:
                continue
            for batch, places in zip(loader, want, strict=True):
                got, n_id = of(batch)
                same(form, got.numpy(), places)
                same(form, n_id.numpy()[:len(places)], wanted[places])


def test_input_id_with_types():
    try:
        import torch_geometric
    except ImportError:
        return
    mask = np.arange(600) % 3 == 1
    for batch in outgrow.Loader("typed", fanout=[3, 2], input_nodes=("paper", mask), batch_size=50):
        same("seeds", batch["paper"].n_id[:batch["paper"].batch_size].numpy(), np.flatnonzero(mask)[batch["paper"].input_id.numpy()])
        assert "input_id" not in batch["author"]


def test_input_id_of_links_is_that_of_each_edge():
    options = {"task": "link", "fanout": [3], "batch": 500, "epochs": 1}
    with outgrow.Loader("graph", form="arrays", **options) as loader:
        batches = [(batch.input_id.copy(), batch.n_positive) for batch in loader]
    places = np.sort(np.concatenate([places for places, _ in batches]))
    assert all(len(places) == n for places, n in batches) and (places == np.arange(len(places))).all()
    with outgrow.Loader("typed", form="arrays", **options) as loader:
        for batch in loader:
            same("of relations", np.sort(np.concatenate([edges.input_id for edges in batch.relations.values()])), np.sort(batch.input_id))



def seeds_of(**options):
    with outgrow.Loader("graph", **{"fanout": [3], "batch": 100, "form": "arrays"} | options) as loader:
        return np.concatenate([batch.ids[:batch.n_seeds].copy() for batch in loader])


def test_whose_and_in_which_order():
    ids, train = RNG.permutation(2000)[:150], np.load("graph/train.npy")
    mask = np.isin(np.arange(2000), ids)
    for given, wanted in (ids, ids), (ids.tolist(), ids), (ids.astype(np.uint16), ids), (ids.astype(">i8"), ids), (np.stack([ids, ids], 1)[:, 0], ids), (mask, np.sort(ids)), ("train", train), (None, np.arange(2000)):
        same("in order", seeds_of(input_nodes=given), wanted)
        shuffled = seeds_of(input_nodes=given, shuffle=True)
        same("all", np.sort(shuffled), np.sort(wanted))
        assert (shuffled != wanted).any()
    assert (seeds_of(seeds=ids) != ids).any() and (seeds_of() != train).any()
    same("seeds", seeds_of(seeds=ids, shuffle=False), ids)
    same("split", np.sort(seeds_of(split="valid")), np.sort(np.load("graph/valid.npy")))
    same("split val", seeds_of(split="val"), seeds_of(split="valid"))
    same("input_nodes val", seeds_of(input_nodes="val"), seeds_of(input_nodes="valid"))
    same("left to split", np.sort(seeds_of(split="valid", input_nodes=None)), np.sort(np.load("graph/valid.npy")))
    with raises(outgrow.OptionError, "no split", "train, valid, test"):
        seeds_of(input_nodes="trian")
    for both in {"input_nodes": ids, "seeds": ids}, {"input_nodes": ids, "split": "valid"}, {"seeds": ids, "split": "test"}:
        with raises(outgrow.OptionError, "stand for the same", list(both)[0]):
            seeds_of(**both)
    with raises(outgrow.OptionError, "input_nodes: of which type?"):
        outgrow.Loader("typed", fanout=[3], input_nodes=None, form="arrays")


def test_the_order_of_any_split_is_a_permutation():
    valid = np.load("graph/valid.npy")
    n, chunks = len(valid), {"split": "valid", "locality": 10, "batch": 10}
    np.save("order.npy", RNG.permutation(n))
    made = seeds_of(**chunks, order="order.npy")
    same("all", np.sort(made), np.sort(valid))
    ring = [int(valid[place]) for place in np.load("order.npy")]
    at = [ring.index(v) for v in made[:n // 10 * 10]]
    assert all((b - a) % n == 1 for i, (a, b) in enumerate(zip(at, at[1:])) if i % 10 != 9), "chunks are not in this order"
    for bad in np.zeros(n, int), np.arange(n) + 1, np.arange(n - 1), np.r_[np.arange(n - 1), 0]:
        np.save("order.npy", bad)
        with raises(outgrow.OptionError, "order.npy", "numpy.save of a permutation"):
            seeds_of(**chunks, order="order.npy")


def test_the_training_split_in_place_of_all_nodes_is_said():
    said, = warned(lambda: outgrow.Loader("graph", num_neighbors=[3], batch_size=50, form="arrays"))
    assert "input_nodes" in said and "training split" in said
    for options in {"fanout": [3]}, {"num_neighbors": [3], "split": "train"}, {"num_neighbors": [3], "input_nodes": None}, {"num_neighbors": [3], "task": "link"}:
        assert warned(lambda options=options: outgrow.Loader("graph", form="arrays", **options)) == []


def test_what_are_no_seeds():
    good = np.arange(2000) % 3 == 0
    for name in "input_nodes", "seeds":
        for words, wrong in ((("a mask [2000, 3]", "mask[:, 0]"), np.stack([good] * 3, 1)), (("a mask [1999], of 2000 nodes",), good[1:]),
                             (("float32 [2000]", "mask != 0"), good.astype(np.float32)), (("float64 [2]", "integers"), [0.5, 1]),
                             (("zeros and ones", "mask != 0"), good.astype(np.uint8)), (("not all of 0 .. 1999", "2000 is among"), [5, 2000]),
                             (("-1 is among",), [-1]), (("[2, 2]",), [[1, 2], [3, 4]]), (("<U1", "numbers"), ["a", "b"]),
                             (("a mask [2000, 1]",), good[:, None].astype(int))):
            with raises(outgrow.OptionError, f"{name}: ", *words):
                seeds_of(**{name: wrong})


def test_arguments_of_neighbor_loader():
    """Each is accepted where it requests what is done anyway, and else refused by its name."""
    same_as_here = {"replace": False, "subgraph_type": "directional", "disjoint": False, "temporal_strategy": "uniform", "time_attr": None,
                    "weight_attr": None, "transform": None, "transform_sampler_output": None, "is_sorted": True, "neighbor_sampler": None,
                    "directed": True, "drop_last": False, "sampler": None, "batch_sampler": None, "collate_fn": None, "generator": None, "input_time": None,
                    "edge_label_index": None, "edge_label": None, "edge_label_time": None, "neg_sampling": None, "neg_sampling_ratio": None}
    ids = np.arange(100)
    same("defaults", seeds_of(input_nodes=ids, **same_as_here), ids)
    for name, wrong in (("subgraph_type", "induced"), ("temporal_strategy", "last"), ("time_attr", "time"),
                        ("weight_attr", "edge_weight"), ("transform", abs), ("transform_sampler_output", abs), ("neighbor_sampler", object()),
                        ("directed", False), ("sampler", object()), ("batch_sampler", [[1]]), ("collate_fn", abs),
                        ("generator", object()), ("input_time", ids), ("edge_label_index", np.ones((2, 3))), ("edge_label", ids), ("edge_label_time", ids),
                        ("neg_sampling", "binary"), ("neg_sampling_ratio", 1.0)):
        with raises(outgrow.OptionError, f"{name}: ", "hint: "):
            seeds_of(input_nodes=ids, **{name: wrong})
    for name, value in (("num_workers", 2), ("pin_memory", True), ("timeout", 5), ("worker_init_fn", abs), ("prefetch_factor", 2)):
        said, = warned(lambda: seeds_of(input_nodes=ids, **{name: value}))
        assert name in said and "not needed" in said
    same("an array of fanouts", seeds_of(fanout=None, num_neighbors=np.array([3, 2]), input_nodes=ids), ids)
    with raises(outgrow.OptionError, "dataset: dict", "outgrow.write"):
        outgrow.Loader({}, fanout=[3], form="arrays")


def test_arguments_over_a_data():
    """They have the meanings of PyTorch Geometric, and what its data may be is taken or named."""
    try:
        import torch
        from torch_geometric.data import Data, HeteroData
    except ImportError:
        return
    os.environ["OUTGROW_CACHE"] = "cache"
    g = torch.Generator().manual_seed(1)
    edges = torch.randint(0, 40, (2, 300), generator=g)
    data, kinds, seen = Data(x=torch.arange(40.), edge_index=edges), HeteroData(), []
    kinds["a"].num_nodes, kinds["b"].num_nodes = 40, 40
    kinds["a", "to", "b"].edge_index, kinds["b", "to", "a"].edge_index, kinds["a", "to", "b"].w = edges, edges.flip(0), torch.arange(300.)
    sampler = torch.utils.data.BatchSampler([3, 1, 2, 5], 3, False)
    for kind, n in (outgrow.NeighborLoader, 2), (outgrow.LinkNeighborLoader, 4):
        assert [batch.input_id.tolist() for batch in kind(data, [2], batch_sampler=sampler, memory="200M")] == [[3, 1, 2], [5]]
        batch = next(iter(kind(data, [2], batch_size=5, memory="200M", transform_sampler_output=lambda out: seen.append(out.metadata) or out)))
        assert len(seen[-1]) == n and torch.equal(seen[-1][0], batch.input_id) and (n == 2 or torch.equal(seen[-1][1], batch.edge_label_index))
    triplets = outgrow.LinkNeighborLoader(data, [2], batch_size=5, neg_sampling="triplet", memory="200M", transform_sampler_output=lambda out: seen.append(out.metadata) or out)
    batch = next(iter(triplets))
    assert [*map(id, seen[-1][1:4])] and torch.equal(seen[-1][3], batch.dst_neg_index) and torch.equal(seen[-1][1], batch.src_index)
    batch = next(iter(outgrow.NeighborLoader(kinds, [2, 2], "b", batch_size=5, weight_attr="w", memory="200M")))
    assert batch["b", "to", "a"].edge_index.numel() and torch.equal(batch["a", "to", "b"].w, kinds["a", "to", "b"].w[batch["a", "to", "b"].e_id])
    kinds["a", "never", "b"].edge_index = edges[:, :0]
    assert list(outgrow.LinkNeighborLoader(kinds, [2], edge_label_index=("a", "never", "b"), memory="200M")) == []
    kinds["b", "old", "a"].edge_attr = torch.ones(3)
    with raises(outgrow.OptionError, "no edge_index of ('b', 'old', 'a')", "data['b', 'old', 'a'].edge_index"):
        outgrow.NeighborLoader(kinds, [2], "a")
    for x in np.arange(80).reshape(40, 2).astype(">f4"), np.arange(40).astype(">i8"):
        batch = next(iter(outgrow.NeighborLoader(Data(x=x, edge_index=edges, y=x), [2], memory="200M")))
        same("x", batch.x.numpy(), x[batch.n_id].astype(x.dtype.newbyteorder("=")))
        assert torch.equal(batch.y, batch.x)
    for given in edges.tolist(), edges.numpy().astype("u4"):
        assert torch.equal(next(iter(outgrow.NeighborLoader(Data(x=data.x, edge_index=given), [-1], batch_size=40, memory="200M"))).e_id.sort()[0], torch.arange(300))
    said = warned(lambda: outgrow.NeighborLoader(Data(x=data.x, edge_index=edges, of_graph=torch.empty(3, device="meta")), [2]))
    assert any("data: on meta. Rows of nodes and edges in batches are in host memory" in line for line in said), said
    for words, wrong in (("edge_index: [2]", {"edge_index": torch.tensor([0, 1])}), ("edge_index: [4, 2]", {"edge_index": edges[:, :4].t()}), ("edge_index: list that is no array", {"edge_index": [[0, 1], [1]]}),
                         ("x is of uint16", {"x": np.zeros((40, 2), "u2")})):
        with raises(outgrow.OptionError, words, "hint: "):
            outgrow.NeighborLoader(Data(**{"x": data.x, "edge_index": edges} | wrong), [2])


def test_what_is_set_after_a_loader_was_made():
    """Attributes of loader.data count, of a dataset's too, as layer-wise inference of PyTorch Geometric's examples sets them. What cannot change says so."""
    try:
        import torch
        from torch_geometric.data import HeteroData
    except ImportError:
        return
    kinds = HeteroData()
    kinds["a"].x, kinds["a"].y, kinds["a"].val_mask, kinds["b"].x = torch.randn(40, 2), torch.arange(40) % 3, torch.arange(40) > 29, torch.randn(50, 3)
    kinds["a"].train_mask = ~kinds["a"].val_mask
    kinds["a", "to", "b"].edge_index = kinds["b", "to", "a"].edge_index = torch.stack([torch.arange(40), torch.arange(40)])
    outgrow.write("set", kinds)
    loader = outgrow.NeighborLoader("set", [2, 2], "a", batch_size=10, memory="200M")
    del loader.data["a"].x, loader.data["a"].y
    loader.data["a"].num_nodes, loader.data["b"].node_id, loader.data["b"].x, loader.data.note = 40, torch.arange(50), torch.arange(50.), "a note"
    for batch in loader:
        assert not {"x", "y"} & set(batch["a"].keys()) and torch.equal(batch["b"].node_id, batch["b"].n_id) and torch.equal(batch["b"].x, batch["b"].n_id.float())
        assert batch.note == "a note" and "num_edges" not in batch["a", "to", "b"] and torch.equal(batch["a"].val_mask, kinds["a"].val_mask[batch["a"].n_id])
    assert len(list(loader.evaluate("valid"))) == 1, "loader.data makes it no Data's"
    other = outgrow.NeighborLoader("set", [2], "a", batch_size=10, memory="200M")
    other.data["a"].x.mul_(2)
    assert torch.equal((batch := next(iter(other)))["a"].x, 2 * kinds["a"].x[batch["a"].n_id])
    for name, value in ("data", kinds), ("batch_size", 3):
        with raises(outgrow.OptionError, f"{name}: set after the loader was made"):
            setattr(loader, name, value)
    with raises(outgrow.OptionError, "num_neighbors: set after"):
        loader.node_sampler.num_neighbors = [3]
    with raises(AttributeError, "sample_from_nodes: of the sampler of an outgrow loader"):
        loader.node_sampler.sample_from_nodes  # noqa: B018
    outgrow.write("set-bare", edge_index=np.array([[0, 1], [1, 2]]), x=np.ones((3, 1), "f4"))
    for words, wrong in ("has no split 'train'", {"input_nodes": "train"}), ("weight_attr: set-bare has no edge_weight", {"weight_attr": "edge_weight"}):
        with raises(outgrow.OptionError, words, "hint: "):
            outgrow.NeighborLoader("set-bare", [2], memory="200M", **wrong)
    assert next(iter(outgrow.LinkNeighborLoader("set-bare", [2], edge_label=np.array([3, 4], "u4"), memory="200M"))).edge_label.tolist() == [3]
    outgrow.write("set-sparse", edge_index=np.array([[0, 1], [1, 2]]), x=torch.eye(3).to_sparse(), y=[0, 1, 0])
    assert torch.equal(outgrow.NeighborLoader("set-sparse", [2], memory="200M").data.x.to_dense(), torch.eye(3))


main(globals())
