#!/usr/bin/env python3
"""NeighborLoader and LinkNeighborLoader take PyTorch Geometric's arguments, and their batches have what the graph itself says. That is: rows of every attribute by
n_id and e_id, whatever its type; edges of the graph; links, labels and negatives as they were given."""
import copy
import inspect
import logging
import os
import pickle

from support import main, need, np, outgrow, raises, same, warned

torch, pyg, transforms = need("torch", "torch_geometric", "torch_geometric.transforms")
from torch_geometric import loader as theirs  # noqa: E402
from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.sampler import NegativeSampling, NumNeighbors  # noqa: E402

N, E = 200, 1500
os.environ["OUTGROW_CACHE"] = "cache"  # in the folder of each test


def graph(seed=0, **more):
    """Edges between equal nodes, nodes without any, and attributes of all kinds."""
    g = torch.Generator().manual_seed(seed)
    data = Data(x=torch.randn(N, 8, generator=g), edge_index=torch.randint(0, N - 20, (2, E), generator=g), y=torch.arange(N) % 7 - 1)
    data.edge_index[:, -40:] = data.edge_index[:, :40]
    data.train_mask, data.year = torch.arange(N) % 3 == 0, torch.arange(N) * 1000003
    data.edge_attr, data.edge_time, data.note, data.scale = torch.randn(E, 3, generator=g), torch.arange(E), "a note", [1, 2.5]
    for name, value in more.items():
        data[name] = value
    return data


def typed(seed=0):
    g = torch.Generator().manual_seed(seed)
    data = HeteroData()
    data["paper"].x, data["author"].x = torch.randn(100, 8, generator=g), torch.randint(0, 1 << 40, (150, 4), generator=g)
    data["paper"].y, data["author"].y, data["author"].h = torch.arange(100) % 5, torch.arange(150) % 2, torch.randn(150, 2, generator=g)
    data["venue__x"].num_nodes = 30
    data["nobody"].x = torch.empty(0, 5)
    for source, name, destination, n in ("paper", "cites__old", "paper", 600), ("author", "writes", "paper", 500), ("paper", "in", "venue__x", 100), \
            ("venue__x", "of", "author", 300), ("paper", "never", "author", 0):
        edges = torch.stack([torch.randint(0, data[source].num_nodes, (n,), generator=g), torch.randint(0, data[destination].num_nodes, (n,), generator=g)])
        data[source, name, destination].edge_index, data[source, name, destination].weight = edges, torch.rand(n, generator=g)
    return data


def written(path, data):
    outgrow.write(path, data)
    return path


def ours(data, num_neighbors=(5, 3), **options):
    return outgrow.NeighborLoader(data, list(num_neighbors), **{"batch_size": 32, "memory": "200M"} | options)


def links(data, num_neighbors=(5, 3), **options):
    return outgrow.LinkNeighborLoader(data, list(num_neighbors), **{"batch_size": 32, "memory": "200M"} | options)


def check(data, batch):
    """Rows of every attribute, and edges that are the graph's."""
    assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
    for name in "x", "y", "train_mask", "year":
        assert batch[name].dtype == data[name].dtype and torch.equal(batch[name], data[name][batch.n_id]), name
    for name in "edge_attr", "edge_time":
        assert torch.equal(batch[name], data[name][batch.e_id]), name
    assert batch.note == "a note" and batch.scale == [1, 2.5] and batch.num_nodes == len(batch.n_id)
    assert sum(batch.num_sampled_nodes) == batch.num_nodes and sum(batch.num_sampled_edges) == batch.num_edges
    assert len(set(batch.e_id.tolist())) == batch.num_edges and batch.is_node_attr("y") and batch.is_edge_attr("edge_attr")


def test_signatures_are_theirs():
    for mine, their in (outgrow.NeighborLoader, theirs.NeighborLoader), (outgrow.LinkNeighborLoader, theirs.LinkNeighborLoader):
        a, b = (list(inspect.signature(kind).parameters.values()) for kind in (mine, their))
        assert [(p.name, p.default, p.kind) for p in a] == [(p.name, p.default, p.kind) for p in b]


def test_loader_with_their_arguments_is_theirs():
    data, path = graph(), written("g", graph())
    twice, links = lambda batch: batch.update({"twice": 2 * batch.x}), data.edge_index[:, :60]
    for made, kind in ((outgrow.Loader(data, num_neighbors=[4]), "NeighborLoader"), (outgrow.Loader(path, [4, 2]), "NeighborLoader"),
                       (outgrow.Loader(path, num_neighbors=[4], transform=twice), "NeighborLoader"), (outgrow.Loader(typed(), [4], input_nodes="paper"), "NeighborLoader"),
                       (outgrow.Loader(path, num_neighbors=[4], edge_label_index=links, task="link"), "LinkNeighborLoader")):
        assert type(made) is getattr(outgrow, kind) and made.batch_size == 1, kind
    batch = next(iter(outgrow.Loader(path, num_neighbors=[4], transform=twice, batch_size=20)))
    assert torch.equal(batch.twice, 2 * data.x[batch.n_id])
    own = outgrow.Loader(path, fanout=[4], batch_size=20, input_nodes=range(50), replace=False)
    assert type(own) is outgrow.Loader and (own.batch_size, own.drop_last, own.num_workers, len(own.dataset)) == (20, False, 0, 50)
    assert len(outgrow.Loader(path, fanout=[4], split="train").dataset) == int(data.train_mask.sum())
    with raises(outgrow.OptionError, "transform"):
        outgrow.Loader(path, fanout=[4], transform=twice)
    with own.enable_multithreading(2):
        assert len(list(own)) == 3


def test_batches_of_data_and_of_a_dataset():
    data = graph()
    outgrow.write("graph", data)
    bare = Data(x=data.x, edge_index=data.edge_index)
    outgrow.write("bare", bare)
    batch = next(iter(ours("bare")))
    assert batch.y is None and torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
    for given in data, "graph", outgrow.stores("graph"), list(outgrow.stores("graph", homogeneous=True)):
        loader = ours(given)
        assert len(loader) == 7 and len(loader.dataset) == N and loader.batch_size == 32
        for epoch in range(2):
            seeds = []
            for batch in loader:
                check(data, batch)
                assert torch.equal(batch.n_id[:batch.batch_size], batch.input_id)
                seeds += batch.input_id.tolist()
            assert seeds == list(range(N))


def test_defaults_are_theirs():
    data = graph()
    loader = outgrow.NeighborLoader(data, [2], input_nodes=torch.tensor([5, 3, 5]), memory="200M")
    assert [batch.n_id[0].item() for batch in loader] == [5, 3, 5] and len(loader) == 3
    mask = ours(data, input_nodes=data.train_mask)
    same("ids of a mask", torch.cat([batch.input_id for batch in mask]).numpy(), np.flatnonzero(data.train_mask.numpy()))
    assert [batch.input_id.tolist() for batch in ours(data, input_nodes=[4, 9], input_id=torch.tensor([70, 80]))] == [[70, 80]]


def test_features_of_every_type():
    rng = np.random.default_rng(1)
    kinds = [torch.from_numpy(rng.integers(-2 ** 40, 2 ** 40, (N, 3))), torch.arange(N), torch.from_numpy(rng.random((N, 2))), torch.from_numpy(rng.random((N, 5)) > 0.5),
             torch.randn(N, 3).half(), torch.randn(N, 3).bfloat16(), torch.full((N, 2), float("nan")), torch.randn(N, 2, 4), torch.randint(0, 9, (N, 7), dtype=torch.int16),
             torch.randint(0, 255, (N, 1), dtype=torch.uint8), (torch.randn(N, 2) > 0).float()]
    for x in kinds:
        batch = next(iter(ours(graph(x=x))))
        want = x[batch.n_id]
        assert batch.x.dtype == x.dtype and batch.x.shape == want.shape and torch.allclose(batch.x, want, rtol=0, atol=0, equal_nan=True), x.dtype
    view = torch.complex(torch.randn(N, 2), torch.randn(N, 2)).conj()
    for x in view, view.imag, torch.quantize_per_tensor(torch.rand(N, 3), 0.1, 0, torch.qint8):
        batch = next(iter(ours(graph(x=x))))
        assert batch.x.dtype == x.dtype and torch.equal(batch.x, x[batch.n_id])
    data = graph()
    data.x = np.asarray(data.x)
    np.save("x.npy", data.x)
    data.x = np.load("x.npy", mmap_mode="r")
    batch = next(iter(ours(data)))
    assert torch.equal(batch.x, torch.from_numpy(np.array(data.x))[batch.n_id])
    del data.x
    data.num_nodes = N
    batch = next(iter(ours(data)))
    assert batch.x is None and batch.num_nodes == len(batch.n_id) and torch.equal(batch.y, data.y[batch.n_id])


def test_labels_of_every_type():
    mixed = torch.where(torch.arange(N) % 3 == 0, -100, torch.arange(N) % 4)
    for i, y in enumerate((torch.randn(N), torch.randn(N, 1), torch.randint(0, 5, (N, 2)), torch.arange(N) * 1000003, mixed, torch.randn(N, dtype=torch.float64),
                           (torch.randn(N, 3) > 0).float())):
        data = graph(y=y)
        for given in data, written(f"labels-{i}", data):
            batch = next(iter(ours(given)))
            assert batch.y.dtype == y.dtype and torch.equal(batch.y, y[batch.n_id]), (i, given)
    assert all(outgrow.info(f"labels-{i}")["regression"] for i in (0, 1, 5))
    assert np.array_equal(np.load("labels-4/labels.npy")[::3], np.full(len(mixed[::3]), -1))


def test_what_a_dataset_cannot_have_is_written_for_batches():
    """Batches of the dataset have what those of the data have."""
    data = typed()
    data["author"].train_mask, data["paper"].train_mask = torch.arange(150) < 50, torch.arange(100) < 60
    data["author"].y = torch.randn(150, 3)  # of another kind than papers'
    data["venue__x", "of", "author"].edge_weight = torch.rand(300)
    said = warned(lambda: outgrow.write("everything", data))
    for words in "venue__x venue_x", "cites__old cites_old", "those of author", "edge_weight":
        assert any(words in line and "outgrow.write" in line for line in said), (words, said)
    for given in data, "everything":
        batch = next(iter(ours(given, [4, 3], input_nodes=("paper", torch.arange(40)), seed=4)))
        assert set(batch.node_types) == set(data.node_types) and set(batch.edge_types) == set(data.edge_types)
        for name in data.node_types:
            store, whole = batch[name], data[name]
            for key in whole.keys():
                if key != "num_nodes":
                    assert store[key].dtype == whole[key].dtype and torch.equal(store[key], whole[key][store.n_id]), (given, name, key)
        for name in data.edge_types:
            store, whole = batch[name], data[name]
            ends = torch.stack([batch[name[0]].n_id[store.edge_index[0]], batch[name[2]].n_id[store.edge_index[1]]])
            if whole.edge_index.size(1):
                assert torch.equal(ends, whole.edge_index[:, store.e_id]) and torch.equal(store.weight, whole.weight[store.e_id])
        assert torch.equal(batch["venue__x", "of", "author"].edge_weight, data["venue__x", "of", "author"].edge_weight[batch["venue__x", "of", "author"].e_id])
    one = HeteroData()
    one["v"].x, one["v"].y, one["v", "to", "v"].edge_index = torch.randn(N, 4), torch.arange(N) % 3, graph().edge_index
    batch = next(iter(ours(written("one", one), input_nodes="v")))
    assert batch.node_types == ["v"] and torch.equal(batch["v"].x, one["v"].x[batch["v"].n_id])
    with raises(outgrow.OptionError, "train_edges: not by relations"):
        outgrow.write("links", data, train_edges=np.ones((2, 2), np.int64))
    assert outgrow.write("links", graph(), train_edges=np.array([[1, 2], [3, 4]]))["splits"]["train_edges"] == 2
    data = graph()
    del data.y
    assert next(iter(ours(data))).y is None


def test_equal_edges_are_sampled_alike():
    """One of nine edges between the same nodes is taken, each about as often as the others. If all are, each once."""
    data = Data(x=torch.zeros(2, 1), edge_index=torch.tensor([[0] * 9, [1] * 9]), edge_attr=torch.arange(9))
    loader = outgrow.NeighborLoader(data, [1], input_nodes=torch.tensor([1] * 900), batch_size=1, memory="200M")
    counts = np.bincount([batch.edge_attr.item() for batch in loader], minlength=9)
    assert counts.min() > 50 and counts.sum() == 900, counts
    batch = next(iter(outgrow.NeighborLoader(data, [-1], input_nodes=torch.tensor([1]), memory="200M")))
    assert sorted(batch.edge_attr.tolist()) == list(range(9))


def test_all_neighbours_are_those_of_the_graph():
    data = graph()
    sources, destinations = data.edge_index
    for batch in ours(data, [-1, -1]):
        near = torch.isin(destinations, batch.input_id)
        both = torch.isin(destinations, torch.cat([batch.input_id, sources[near]]))
        assert set(batch.n_id.tolist()) == {*batch.input_id.tolist(), *sources[both].tolist()}
        same("edges", np.sort(batch.e_id.numpy()), np.flatnonzero(both.numpy()))
        assert batch.num_sampled_edges[0] == int(near.sum())


def test_types():
    data = typed()
    loader = ours(data, input_nodes="author")
    for batch in loader:
        assert batch.node_types == data.node_types and batch.edge_types == data.edge_types
        for name in data.node_types:
            if "x" in data[name]:
                assert batch[name].x.dtype == data[name].x.dtype and torch.equal(batch[name].x, data[name].x[batch[name].n_id]), name
            assert batch[name].num_nodes == len(batch[name].n_id) == sum(batch[name].num_sampled_nodes)
        assert torch.equal(batch["paper"].y, data["paper"].y[batch["paper"].n_id]) and torch.equal(batch["author"].y, data["author"].y[batch["author"].n_id])
        assert torch.equal(batch["author"].h, data["author"].h[batch["author"].n_id]) and "batch_size" not in batch["paper"]
        for source, name, destination in data.edge_types:
            store, whole = batch[source, name, destination], data[source, name, destination]
            ends = torch.stack([batch[source].n_id[store.edge_index[0]], batch[destination].n_id[store.edge_index[1]]])
            assert torch.equal(ends, whole.edge_index[:, store.e_id]) and torch.equal(store.weight, whole.weight[store.e_id])
            assert sum(store.num_sampled_edges) == store.edge_index.shape[1]
    assert sum(batch["author"].batch_size for batch in loader) == 150 and batch.input_type == "author"
    one = {relation: [0, 0] for relation in data.edge_types} | {("author", "writes", "paper"): [4, 4]}
    for num_neighbors in one, NumNeighbors({("author", "writes", "paper"): [4, 4]}, default=[0, 0]):
        batch = next(iter(outgrow.NeighborLoader(data, num_neighbors, input_nodes=("paper", torch.arange(20)), batch_size=20, memory="200M")))
        assert batch["author", "writes", "paper"].edge_index.shape[1] > 0 and batch["paper", "cites__old", "paper"].edge_index.shape[1] == 0
    single = HeteroData()
    single["train"].x, single["train", "to", "train"].edge_index = torch.randn(N, 4), graph().edge_index
    assert sum(batch["train"].batch_size for batch in ours(single, input_nodes="train")) == N
    with raises(outgrow.OptionError, "input_nodes: of which type?"):
        ours(data)
    r = np.random.default_rng(2)
    outgrow.write("of_two", edge_index={("author", "writes", "paper"): np.stack([r.integers(0, 70, 300), r.integers(0, 60, 300)]),
                                        ("paper", "of", "author"): np.stack([r.integers(0, 60, 300), r.integers(0, 70, 300)])},
                  x={"author": r.random((70, 3), "f4"), "paper": r.random((60, 2), "f4")}, y={"author": np.arange(70) % 3, "paper": np.arange(60) % 3},
                  train={"author": np.arange(5, 60), "paper": np.arange(3, 40)}, valid={"paper": np.arange(50, 60)})
    for name, split, ids in ("author", "train", np.arange(5, 60)), ("paper", "train", np.arange(3, 40)), ("paper", "valid", np.arange(50, 60)):
        batches = list(outgrow.NeighborLoader("of_two", [2, 2], input_nodes=(name, split), batch_size=20, memory="200M"))
        seeds = [batch[name].n_id[:batch[name].batch_size] for batch in batches]
        same("seeds", np.concatenate([part.numpy() for part in seeds]), ids)
    with raises(outgrow.OptionError, "the split 'train' has nodes of author, paper", "('author', 'train')"):
        outgrow.NeighborLoader("of_two", [2, 2], input_nodes="train", memory="200M")
    with raises(outgrow.OptionError, "'other' is no split"):
        outgrow.NeighborLoader("of_two", [2, 2], input_nodes=("paper", "other"), memory="200M")
    with raises(outgrow.OptionError, "the split 'valid' is empty"):
        outgrow.NeighborLoader("of_two", [2, 2], input_nodes=("author", "valid"), memory="200M")


def test_order_and_neighbours_follow_from_torchs_seed():
    data = graph()

    def epochs(torchs, n=2, **options):
        torch.manual_seed(torchs)
        loader = ours(data, shuffle=True, **options)
        return [torch.cat([batch.n_id for batch in loader]).tolist() for _ in range(n)]
    first = epochs(1)
    assert first == epochs(1) and first[0] != first[1] and first[0] != epochs(2)[0]
    assert sorted(torch.cat([batch.input_id for batch in ours(data, shuffle=True)]).tolist()) == list(range(N))
    loader = ours(data, shuffle=True)
    again = []
    for _ in range(3):
        torch.manual_seed(7)
        again.append(torch.cat([batch.n_id for batch in loader]).tolist())
    assert again[0] == again[1] == again[2]
    generators = [epochs(9 + k, 1, generator=torch.Generator().manual_seed(4)) for k in range(2)]
    assert generators[0] == generators[1] and epochs(3, seed=5) == epochs(4, seed=5)
    assert epochs(3, seed=5) == epochs(3, seed=torch.tensor(5)) == epochs(3, seed=np.uint8(5)) == epochs(3, seed="5")
    assert epochs(3, seed=None) == epochs(3)
    for wrong in -1, 1.0, True, torch.tensor(-1), torch.tensor([1, 2]), "x":
        with raises(outgrow.OptionError, "seed: ", "a whole number, 0 or more"):
            epochs(3, seed=wrong)


def test_conduct():
    data = graph()
    loader = ours(data, drop_last=True)
    assert len(loader) == 6 and [batch.batch_size for batch in loader] == [32] * 6
    assert ours(data, transform=lambda batch: setattr(batch, "mark", 1) or batch)([3, 5]).mark == 1
    assert ours(data)(torch.tensor([3, 5])).n_id[:2].tolist() == [3, 5]
    loader = ours(data)
    pairs = [(a.input_id.tolist(), b.input_id.tolist()) for a, b in zip(loader, loader)]
    assert len(pairs) == 7 and all(a == b for a, b in pairs)
    nested = [len([batch for batch in loader]) for _ in zip(range(2), loader)]
    assert nested == [7, 7]
    assert sum(batch.batch_size for batch in pickle.loads(pickle.dumps(loader))) == N and sum(batch.batch_size for batch in copy.copy(loader)) == N
    order = [9, 9, 4, 100]
    batches = list(ours(data, sampler=order, batch_size=3))
    assert [batch.input_id.tolist() for batch in batches] == [[9, 9, 4], [100]] and len(batches) == 2
    said = warned(lambda: setattr(test_conduct, "kept", list(loader)))
    kept = test_conduct.kept
    assert len(said) == 1 and "max_held" in said[0] and len(kept) == 7
    for batch in kept:
        check(data, batch)
    cut = next(iter(ours(data, [4, 0, 3])))
    assert cut.num_sampled_nodes[2:] == [0, 0] and cut.num_sampled_edges[1:] == [0, 0] and len(cut.num_sampled_nodes) == 4


def test_states():
    """A state continues as the loader itself does, whatever PyTorch's random numbers are then."""
    data = graph()
    data.val_mask = torch.arange(N) % 3 == 2
    written("states", data)

    def firsts(loader, epochs):
        return [[batch.n_id[:3].tolist() for batch in loader] for _ in range(epochs)]
    for how in {}, {"seed": 1}:
        torch.manual_seed(5)
        whole = ours("states", shuffle=True, **how)
        want = firsts(whole, 4)
        for stop in 0, 3, 7:
            torch.manual_seed(5)
            loader = ours("states", shuffle=True, **how)
            firsts(loader, 1)
            begun = [batch.n_id[:3].tolist() for _, batch in zip(range(stop), loader)] if stop else []
            state = loader.state_dict()
            torch.manual_seed(5)
            other = ours("states", shuffle=True, **how)
            other.load_state_dict(state)
            rest = firsts(other, 1)[0]
            got = [begun + rest, *firsts(other, 2)]
            assert got == want[1:], (how, stop, other.epoch)
            assert other.epoch == 4
    assert "misses" in whole.metrics["epochs"][0] and whole.plan["memory"] and whole.epoch == 4
    evaluated = [batch for batch in whole.evaluate("valid")]
    ids = np.load("states/valid.npy")
    assert np.array_equal(np.concatenate([ids[batch.input_id] for batch in evaluated]), ids) and all(torch.equal(b.y, data.y[b.n_id]) for b in evaluated)


def test_with_replacement():
    data = graph()
    degree = torch.bincount(data.edge_index[1], minlength=N)
    for batch in ours(data, [9, 3], replace=True, batch_size=20):
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id]) and torch.equal(batch.edge_attr, data.edge_attr[batch.e_id])
        seeds = batch.n_id[:batch.batch_size]
        drawn = torch.bincount(batch.edge_index[1], minlength=len(batch.n_id))
        assert torch.equal(drawn[:batch.batch_size], torch.where(degree[seeds] > 0, 9, 0))
        first, second = batch.num_sampled_nodes[1], batch.num_sampled_edges[1]
        others = batch.n_id[batch.batch_size:batch.batch_size + first]
        assert torch.equal(drawn[batch.batch_size:][:first], torch.where(degree[others] > 0, 3, 0)) and second == int(3 * (degree[others] > 0).sum())
    with raises(NotImplementedError, "replace=True", "without replacement"):
        ours(data, replace=True, sampler="labor")


def test_what_is_refused():
    data = graph()
    for name, wrong in (("neighbor_sampler", object()), ("batch_sampler", [[1]])):
        with raises(NotImplementedError, name, "hint: "):
            ours(data, **{name: wrong})
        assert issubclass(outgrow.UnsupportedError, outgrow.Error)
    for word, wrong in (("no such argument", {"nonsense": 1}), ("batch_size", {"batch_size": 0}), ("input_nodes", {"input_nodes": [N]}), ("weight_attr", {"weight_attr": "nothing"}),
                        ("shuffle", {"sampler": [1], "shuffle": True}), ("subgraph_type", {"subgraph_type": "other"}), ("temporal_strategy", {"temporal_strategy": "last"}), ("time_attr", {"time_attr": "nothing"}),
                        ("input_time", {"input_time": torch.arange(N)})):
        with raises(outgrow.OptionError, word, "hint: "):
            ours(data, **wrong)
    with raises(outgrow.OptionError, "no edge_index"):
        ours(Data(x=torch.zeros(3, 1)))
    with raises(outgrow.OptionError, "transform_sampler_output: returns NoneType"):
        next(iter(ours(data, transform_sampler_output=lambda out: None)))
    with raises(NotImplementedError, "adds nodes"):
        next(iter(ours(data, transform_sampler_output=lambda out: setattr(out, "node", torch.arange(N)) or out)))
    for name, more in ("subgraph_type", {"subgraph_type": "induced"}), ("weight_attr", {"weight_attr": "edge_time"}):
        with raises(NotImplementedError, name, "disjoint"):
            ours(data, disjoint=True, **more)
    with raises(NotImplementedError, "samples no neighbours"):
        ours(written("refused", data), [0, 3])
    with raises(outgrow.OptionError, "input_nodes: of type 'paper', of a graph without types"):
        ours(data, input_nodes=("paper", [1]))
    with raises(outgrow.OptionError, "data: dict"):
        ours({})
    for several in [data], (data, data):
        with raises(outgrow.OptionError, f"data: {type(several).__name__} of Data", "data[0]"):
            ours(several)


def test_wrong_arguments_are_named():
    """When the loader is made, not in its loop, and whatever their type."""
    data = graph()
    for words, wrong in ((("transform: 'abc'",), {"transform": "abc"}), (("transform_sampler_output: 3",), {"transform_sampler_output": 3}), (("generator: 42", "seed=1"), {"generator": 42}),
                         (("17 hops",), {"num_neighbors": [1] * 17}), (("batchsize", "did you mean batch_size?"), {"batchsize": 4}), (("num_worker:", "did you mean num_workers?"), {"num_worker": 4}),
                         (("input_id: [3], for 200",), {"input_id": torch.arange(3)}), (("input_nodes: set",), {"input_nodes": {1, 2}}), (("input_nodes: list", "rows of several lengths"), {"input_nodes": [[1], [1, 2]]}),
                         (("input_nodes: objects", "type str"), {"input_nodes": np.array([1, "a"], object)})):
        with raises(outgrow.OptionError, *words, "hint: "):
            outgrow.NeighborLoader(data, **{"num_neighbors": [5]} | wrong)
    weights = NegativeSampling("binary", 1, dst_weight=torch.ones(5))
    for words, wrong in ((("input_id: [3], for 1500",), {"input_id": torch.arange(3)}), (("edge_label: <U1",), {"edge_label": ["a"] * E}), (("edge_label: 1.0",), {"edge_label": np.float64(1)}),
                         (("neg_sampling: 'other'", "binary"), {"neg_sampling": "other"}), (("neg_sampling_ratio: -1",), {"neg_sampling_ratio": -1}), (("dst_weight has 5 numbers, for 200",), {"neg_sampling": weights})):
        with raises(outgrow.OptionError, *words):
            links(data, **wrong)
    kinds = typed()
    with raises(outgrow.OptionError, "num_neighbors: Missing number of neighbors", "or a default"):
        outgrow.NeighborLoader(kinds, NumNeighbors({("author", "writes", "paper"): [5]}), "paper")
    kinds["paper", "of", "topic"].edge_index = torch.tensor([[0], [0]])
    with raises(outgrow.OptionError, "'topic', which is no type of nodes", "data['topic'].num_nodes"):
        outgrow.NeighborLoader(kinds, [5], "paper")
    for make in transforms.ToSparseTensor(layout=torch.sparse_csr), transforms.ToSparseTensor(layout=torch.sparse_coo):
        with raises(outgrow.OptionError, "no edge_index") as seen:
            ours(make(graph()))
        data = make(graph())
        exec(seen[0].hint.split(": ", 1)[1], {"torch_geometric": pyg, "data": data})
        assert torch.equal(data.edge_index.unique(dim=1), graph().edge_index.unique(dim=1)), "the hint works"


def test_attributes_with_names_of_the_loaders():
    """As PyTorch Geometric: n_id and e_id of the data stay, batch and seed_time of a Data do not. Lists and tuples are rows too, and x that is none is the graph's."""
    data = graph(n_id=torch.arange(N) + 1000, e_id=torch.arange(E) + 5000, batch=torch.arange(N) // 9, seed_time=torch.arange(N), words=tuple(map(str, range(N))), adj_t=torch.eye(N).to_sparse_csr())
    data.edge_label_time, data.edge_label_index = torch.arange(7), torch.zeros(2, 7, dtype=torch.long)
    for batch in ours(data, input_id=np.arange(N, dtype=np.int32)):
        ids = batch.n_id - 1000
        assert torch.equal(batch.x, data.x[ids]) and torch.equal(ids[batch.edge_index], data.edge_index[:, batch.e_id - 5000]) and batch.words == [str(i) for i in ids.tolist()]
        assert not {"batch", "seed_time", "adj_t", "num_nodes"} & set(batch.keys()) and batch.num_nodes == len(ids) and batch.input_id.dtype == torch.int32
    assert any("adj_t is not in batches" in said for said in warned(lambda: ours(data)))
    assert "edge_label_time" not in next(iter(links(data)))
    triplets = next(iter(links(data, neg_sampling="triplet")))
    assert not {"edge_label_time", "edge_label_index"} & set(triplets.keys())
    assert next(iter(ours(graph(x=["a"] * 3, num_nodes=N)))).x == ["a"] * 3
    kinds = HeteroData()
    kinds["paper"].x = torch.randn(9, 2)
    assert [batch["paper"].n_id.tolist() for batch in outgrow.NeighborLoader(kinds, [2], "paper", batch_size=5)] == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]


def test_weights_and_splits_in_a_dataset():
    """Weights of any type are in batches as they were. Splits may be empty."""
    for i, weights in enumerate((torch.rand(E), torch.rand(E).double(), torch.arange(E), torch.randn(E), torch.rand(E, 2), torch.rand(E) > 0.5, torch.full((E,), float("nan")))):
        data = graph(edge_weight=weights, val_mask=torch.zeros(N, dtype=torch.bool))
        trained = weights.dim() == 1 and bool((weights.double() >= 0).all())
        said = warned(lambda: outgrow.write(f"weights{i}", data))  # noqa: B023
        assert any("edge_weight is no number of 0 or more" in text for text in said) != trained and not any("not store" in text and "edge_weight" in text for text in said), said
        assert os.path.exists(f"weights{i}/weights.npy") == trained
        for batch in ours(f"weights{i}"):
            assert batch.edge_weight.dtype == weights.dtype and torch.equal(batch.edge_weight.double().nan_to_num(), weights[batch.e_id].double().nan_to_num())
            assert not batch.val_mask.any() and len(batch.val_mask) == batch.num_nodes
    kinds = typed()
    kinds["author", "writes", "paper"].edge_weight = torch.randn(500).double()
    outgrow.write("weights-typed", kinds)
    for batch in outgrow.NeighborLoader("weights-typed", [5, 5], "paper", batch_size=32, memory="200M"):
        store = batch["author", "writes", "paper"]
        assert torch.equal(store.edge_weight, kinds["author", "writes", "paper"].edge_weight[store.e_id])
    with raises(outgrow.OptionError, "weight_attr 'w': row 0: -1 is no weight"):
        ours(graph(w=-torch.ones(E)), weight_attr="w")
    with raises(outgrow.OptionError, "sampler: 3"):
        ours(graph(), sampler=3)
    with raises(outgrow.OptionError, "no edges", "NeighborLoader(data, ...) takes a Data without edges"):
        outgrow.write("never", Data(x=torch.ones(3, 1), edge_index=torch.empty(2, 0, dtype=torch.long)))


def test_a_data_that_changes():
    """Batches show the data as it is when an iteration begins, as PyTorch Geometric's do."""
    data = graph()
    loader, pairs = ours(data, [-1]), links(data, [-1])
    batches = lambda: [next(iter(loader)), loader([3]), next(iter(pairs))]  # noqa: E731
    first = batches()
    changes = (lambda: data.x.mul_(2), lambda: setattr(data, "x", torch.randn(N, 3).double()), lambda: data.y.add_(5), lambda: setattr(data, "y", torch.randn(N)),
               lambda: setattr(data, "new", torch.arange(N)), lambda: setattr(data, "edge_attr", torch.arange(E)), lambda: setattr(data, "note", "another"))
    for change in changes:
        change()
        for batch, before in zip(batches(), first):
            assert sorted(batch.n_id.tolist()) == sorted(before.n_id.tolist()) and torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
            for name in {"x", "y", "new"} & set(data.keys()):
                assert batch[name].dtype == data[name].dtype and torch.equal(batch[name], data[name][batch.n_id]), name
            assert torch.equal(batch.edge_attr, data.edge_attr[batch.e_id]) and batch.note == data.note
    going = iter(loader)
    next(going)
    data.x.mul_(3)  # which ends no iteration
    again = loader([3])
    assert torch.equal(again.x, data.x[again.n_id]) and len(list(loader)) == 7 and len(list(going)) == 6
    del data.y
    assert all("y" not in batch for batch in batches())
    data.x, data.new, data.year = torch.randn(N + 1, 3), None, None
    for _ in range(2):  # a refusal changes nothing
        with raises(outgrow.OptionError, "make the loader again"):
            next(iter(loader))


def test_features_that_change_without_a_count():
    """NumPy and tensor.data write to features without a count of PyTorch's."""
    for x in torch.randn(N, 8), torch.randn(N, 3).bfloat16(), torch.randn(N, 3).numpy(), torch.randn(N, 3).numpy().astype(">f4")[::-1]:
        data = graph(x=x)
        loader, rows = ours(data, [3]), data.x.data if isinstance(data.x, torch.Tensor) else data.x
        assert len(iter(loader)) == 7
        for change in (lambda rows: rows.__imul__(2)), (lambda rows: rows.__setitem__(5, 9)), (lambda rows: rows.__setitem__(slice(None), rows[np.roll(np.arange(N), 1)])):
            change(rows)
            for batch in next(iter(loader)), loader([3, 50]):
                assert torch.equal(batch.x, torch.as_tensor(rows if isinstance(rows, torch.Tensor) else rows.astype("f4"))[batch.n_id])
    for x in torch.zeros(N, 30000), np.zeros((N, 30000), np.float32)[:, ::-1]:  # 24 MB: every row counts
        data = graph(x=x)
        loader, rows = ours(data, [3]), np.asarray(data.x)
        for row in 7, 8, 150:
            rows[row, row] = row
            for batch in (*loader, loader([row])):
                assert torch.equal(batch.x, torch.from_numpy(rows.copy())[batch.n_id])


def test_sampling_is_by_the_data_as_it_was():
    """Edges, weights and times that change later sample nothing. So it is where features are written again. Ids of seeds may change."""
    for name, options, told in ("edge_index", {}, None), ("edge_weight", {"weight_attr": "edge_weight"}, "edge_weight of the data changed"), \
            ("edge_time", {"time_attr": "edge_time", "input_time": torch.full((N,), 700)}, "edge_time of the data changed"), ("year", {"time_attr": "year"}, "year of the data changed"):
        for value in (lambda value: value.zero_()), (lambda value: setattr(data, name, torch.zeros_like(value))):
            data = graph(edge_weight=(torch.arange(E) % 2).float())
            loader = ours(data, [-1, -1], **options)
            before = [sorted(batch.e_id.tolist()) for batch in loader]
            value(data[name])
            data.x.add_(1)
            batches = []
            said = [text for text in warned(lambda: batches.extend(loader)) if "changed" in text]
            assert bool(said) == bool(told) and all(told in text for text in said), said
            assert [sorted(batch.e_id.tolist()) for batch in batches] == before, name
            assert all(torch.equal(batch.x, data.x[batch.n_id]) and torch.equal(batch.year, data.year[batch.n_id]) for batch in batches)
    ids = torch.arange(40)
    loader = ours(graph(), input_nodes=ids)
    assert len([*loader]) == 2
    ids += 3
    assert torch.cat([batch.n_id[:batch.batch_size] for batch in loader]).tolist() == ids.tolist()
    ids[0] = N
    with raises(outgrow.OptionError, f"input_nodes: not all of 0 .. {N - 1}: {N}"):
        iter(loader)


def test_a_folder_says_nothing_of_features():
    """Numbers that are stored as bytes, and scales of features, are no concern of a loader."""
    said = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logging.getLogger("outgrow").addHandler(handler)
    for dtype in torch.float32, torch.float64:
        next(iter(ours(graph(x=torch.full((N, 3), 1000., dtype=dtype)))))
    logging.getLogger("outgrow").removeHandler(handler)
    assert not any("column" in text for text in said), said


def test_induced_subgraphs_have_all_edges_between_their_nodes():
    data = graph()
    for given in data, written("induced", data):
        for batch in ours(given, subgraph_type="induced"):
            both = torch.isin(data.edge_index, batch.n_id).all(0)
            same("edges", np.sort(batch.e_id.numpy()), np.flatnonzero(both.numpy()))
            assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id]) and torch.equal(batch.edge_attr, data.edge_attr[batch.e_id])
            assert "num_sampled_edges" not in batch and bool((batch.edge_index[1].diff() >= 0).all())
    repeated = next(iter(ours(data, [-1], input_nodes=torch.tensor([5, 5]), directed=False)))
    assert int((repeated.edge_index[1] == 0).sum()) == int((repeated.edge_index[1] == 1).sum()) > 0
    data = typed()
    for batch in ours(data, input_nodes="paper", subgraph_type="induced"):
        for name in data.edge_types:
            store, whole = batch[name], data[name]
            both = torch.isin(whole.edge_index[0], batch[name[0]].n_id) & torch.isin(whole.edge_index[1], batch[name[2]].n_id)
            same("edges", np.sort(store.e_id.numpy()), np.flatnonzero(both.numpy()))
            assert torch.equal(store.weight, whole.weight[store.e_id])


def test_bidirectional_subgraphs_have_reverse_edges():
    data = graph()
    for one, both in zip(ours(data, seed=1), ours(data, seed=1, subgraph_type="bidirectional")):
        pairs = set(map(tuple, one.edge_index.t().tolist()))
        assert torch.equal(one.n_id, both.n_id)
        assert sorted(map(tuple, both.edge_index.t().tolist())) == sorted(pairs | {(b, a) for a, b in pairs})
        for (a, b), (c, d) in zip(both.n_id[both.edge_index].t().tolist(), data.edge_index[:, both.e_id].t().tolist()):
            assert (a, b) in ((c, d), (d, c))
    data = typed()
    data["paper", "rev_writes", "author"].edge_index = data["author", "writes", "paper"].edge_index.flip(0)
    for batch in ours(data, input_nodes="paper", subgraph_type="bidirectional"):
        there, back = batch["author", "writes", "paper"].edge_index, batch["paper", "rev_writes", "author"].edge_index
        assert torch.equal(there, back.flip(0)) and "e_id" not in batch["author", "writes", "paper"]


def test_sampler_outputs_may_be_transformed():
    def halve(out):
        keep = len(out.node) // 2
        out.node = out.node[:keep]
        here = (out.row < keep) & (out.col < keep)
        out.row, out.col, out.edge, out.num_sampled_nodes, out.num_sampled_edges = out.row[here], out.col[here], out.edge[here], None, None
        return out
    data = graph()
    for whole, half in zip(ours(data, seed=1, drop_last=True), ours(data, seed=1, drop_last=True, transform_sampler_output=halve)):
        assert torch.equal(half.n_id, whole.n_id[:len(whole.n_id) // 2]) and 0 < half.num_edges < whole.num_edges
        assert torch.equal(half.x, data.x[half.n_id]) and torch.equal(half.edge_attr, data.edge_attr[half.e_id])
        assert torch.equal(half.n_id[half.edge_index], data.edge_index[:, half.e_id])
    backwards = next(iter(ours(data, transform_sampler_output=lambda out: setattr(out, "node", out.node.flip(0)) or out)))
    assert torch.equal(backwards.x, data.x[backwards.n_id])


def test_graphs_and_hops_without_edges():
    data = graph()
    bare = Data(x=data.x, y=data.y, edge_index=data.edge_index[:, :0], note="a note")
    for given, hops in (bare, [5, 5]), (data, [0, 3]), (data, []):
        loader = ours(given, hops, shuffle=True)
        got = list(loader)
        assert len(got) == len(loader) == 7 and sorted(torch.cat([batch.input_id for batch in got]).tolist()) == list(range(N))
        for batch in got:
            assert torch.equal(batch.n_id, batch.input_id) and torch.equal(batch.x, data.x[batch.n_id]) and torch.equal(batch.y, data.y[batch.n_id])
            assert batch.edge_index.shape == (2, 0) and batch.note == "a note" and batch.num_sampled_edges == [0] * len(hops)
        assert loader([7, 3]).n_id.tolist() == [7, 3]
    some = typed()
    batch = next(iter(links(some, [], edge_label_index=(("author", "new", "paper"), torch.tensor([[3, 4, 3], [9, 9, 1]])), neg_sampling="triplet")))
    assert batch["author"].n_id.tolist() == [3, 4] and batch["author"].src_index.tolist() == [0, 1, 0] and batch["paper"].dst_pos_index.tolist() == [0, 0, 1]
    assert torch.equal(batch["paper"].x, some["paper"].x[batch["paper"].n_id])
    pair = next(iter(links(bare, [2], edge_label_index=torch.tensor([[5, 8], [8, 5]]))))
    assert pair.n_id.tolist() == [5, 8] and pair.edge_label_index.tolist() == [[0, 1], [1, 0]]


def test_seeds_alone_are_disjoint():
    """Without neighbours each seed is a tree by itself."""
    data = Data(x=torch.randn(9, 2), edge_index=torch.empty(2, 0, dtype=torch.long))
    for batch, ids in zip(ours(data, input_nodes=[4, 4, 2], disjoint=True, batch_size=2), ([4, 4], [2]), strict=True):
        assert batch.n_id.tolist() == ids and batch.batch.tolist() == list(range(len(ids))) and torch.equal(batch.x, data.x[batch.n_id])
    with raises(NotImplementedError, "samples no neighbours"):
        links(graph(), [0], disjoint=True)


def test_stores_of_ones_own():
    testing, = need("torch_geometric.testing")
    data, features, graphs = graph(), testing.MyFeatureStore(), testing.MyGraphStore()
    for name in "x", "y":
        features.put_tensor(data[name], group_name=None, attr_name=name, index=None)
    graphs.put_edge_index(tuple(data.edge_index), edge_type=None, layout="coo", size=(N, N))
    for batch in ours((features, graphs), input_nodes=torch.arange(50)):
        assert torch.equal(batch.x, data.x[batch.n_id]) and torch.equal(batch.y, data.y[batch.n_id])
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
    stored = outgrow.stores(written("stored", data))
    assert type(next(iter(ours(stored, input_nodes=torch.arange(50))))) is Data
    # stores of two datasets: features of one, edges of the other
    other = graph(1)
    batch = next(iter(ours((stored[0], outgrow.stores(written("other", other))[1]), input_nodes=("node", torch.arange(50)))))
    n_id = batch["node"].n_id
    edges = set(map(tuple, other.edge_index.T.tolist()))
    assert torch.equal(batch["node"].x, data.x[n_id]) and edges.issuperset(map(tuple, n_id[batch["node", "to", "node"].edge_index].T.tolist()))
    for wrong in (stored[0], None), [stored[0], stored[1], 1], ("graph", "graph"):
        with raises(outgrow.OptionError, "outgrow.stores of one, or a FeatureStore and a GraphStore"):
            ours(wrong)


def test_layer_wise_inference():
    nn, = need("torch_geometric.nn")
    torch.manual_seed(1)
    data = graph()
    model = nn.GraphSAGE(8, 16, 3, 5).eval()
    with torch.no_grad():
        want = model(data.x, data.edge_index)
    for given in data, written("inferred", data):
        loader = ours(given, [-1])
        assert isinstance(loader, theirs.NeighborLoader) and isinstance(loader, outgrow.NeighborLoader) and type(loader) is outgrow.NeighborLoader
        for cache in False, True:
            assert torch.allclose(model.inference(loader, cache=cache), want, atol=1e-5)
    with raises(AssertionError):
        model.inference(ours(data, [-1, -1]))


def test_loaders_are_zipped():
    data = graph()
    both = theirs.ZipLoader([ours(data, input_nodes=torch.arange(50)), ours(data, input_nodes=torch.arange(50, 110))], batch_size=20)
    got = [(a.input_id.tolist(), b.n_id[:b.batch_size].tolist()) for a, b in both]
    assert [a for a, _ in got] == [list(range(20)), list(range(20, 40)), list(range(40, 50))] and got[2][1] == list(range(90, 100))


def test_edges_of_32_bits():
    data = graph()
    data.edge_index = data.edge_index.int()
    for given in data, written("narrow", data):
        batch = next(iter(ours(given)))
        assert batch.edge_index.dtype == torch.int32 and batch.e_id.dtype == torch.int64
        assert torch.equal(batch.n_id[batch.edge_index.long()], data.edge_index[:, batch.e_id].long())


def test_weights():
    data = graph(edge_weight=torch.rand(E), w=(torch.arange(E) % 4 == 0).double())
    for batch in ours(data):
        assert torch.equal(batch.edge_weight, data.edge_weight[batch.e_id])
    drawn = 0
    for batch in ours(data, weight_attr="w", num_neighbors=[3]):
        pairs = {tuple(pair) for pair in data.edge_index[:, data.w > 0].t().tolist()}
        drawn += batch.num_edges
        assert {tuple(pair) for pair in batch.n_id[batch.edge_index].t().tolist()} <= pairs
        assert (batch.w > 0).all() and torch.equal(batch.w, data.w[batch.e_id]), "of repeated edges the one that was sampled"
    assert drawn > 0
    outgrow.write("weighted", data)
    for batch in ours("weighted"):
        assert torch.equal(batch.edge_weight, data.edge_weight[batch.e_id])


def test_folders_that_cannot_be_made():
    kept = os.environ["OUTGROW_CACHE"]
    open("a-file", "w").close()
    for path in "a-file", "a-file/below", "/proc/none":
        os.environ["OUTGROW_CACHE"] = path
        with raises(outgrow.FileError, f"{path}: no folder for the data", "OUTGROW_CACHE"):
            ours(graph())
    os.environ["OUTGROW_CACHE"] = kept


def test_one_folder_for_equal_data():
    said = warned(lambda: ours(graph(5)))
    assert len(said) == 1 and "written to" in said[0]
    assert warned(lambda: ours(graph(5, y=torch.zeros(N)))) == []
    assert warned(lambda: ours(graph(5, x=torch.zeros(N, 8)))) != []
    before = set(os.listdir("cache"))
    ours(graph(6))
    new, = (name for name in set(os.listdir("cache")) - before if not name.endswith(".lock"))
    os.remove(f"cache/{new}/attributes/attributes.json")  # as a kill leaves it
    assert len(warned(lambda: ours(graph(6)))) == 1


def test_links():
    data = graph()
    whole = [batch for batch in links(data)]
    pairs = torch.cat([batch.n_id[batch.edge_label_index] for batch in whole], 1)
    assert len(whole) == 47 and torch.equal(pairs, data.edge_index) and torch.cat([batch.input_id for batch in whole]).tolist() == list(range(E))
    for batch in whole:
        check(data, batch)
        assert "edge_label" not in batch and len(set(batch.n_id.tolist())) == batch.num_nodes
        assert int(batch.edge_label_index.max()) + 1 == batch.num_sampled_nodes[0] == len(batch.edge_label_index.unique())
    shuffled = torch.cat([batch.input_id for batch in links(data, shuffle=True)])
    assert sorted(shuffled.tolist()) == list(range(E)) and shuffled.tolist() != list(range(E))
    batch = next(iter(links(data, [-1, -1])))
    have = set(map(tuple, batch.edge_index.t().tolist()))
    assert set(map(tuple, batch.edge_label_index.t().tolist())) <= have, "links stay in the graph"


def test_links_and_labels_of_ones_own():
    data = graph()
    train, valid, _ = transforms.RandomLinkSplit(num_val=0.2, num_test=0.1)(data)
    loader = links(valid, edge_label_index=valid.edge_label_index, edge_label=valid.edge_label, drop_last=True)
    got = list(loader)
    assert len(got) == len(loader) == valid.edge_label.numel() // 32
    assert torch.equal(torch.cat([batch.n_id[batch.edge_label_index] for batch in got], 1), valid.edge_label_index[:, :32 * len(got)])
    assert torch.equal(torch.cat([batch.edge_label for batch in got]), valid.edge_label[:32 * len(got)])
    assert any("edge_label_index does not become" in said for said in warned(lambda: outgrow.write("split", valid)))
    with raises(outgrow.OptionError, "of relation ('a', 'b', 'c'), of a graph without types"):
        links(data, edge_label_index=("a", "b", "c"))
    with raises(outgrow.OptionError, "edge_label: 3, for"):
        links(data, edge_label=[1, 2, 3])


def test_negatives():
    data = graph()
    label = torch.arange(E) % 3
    for amount in 1, 2, 0.5:
        n = 0
        for batch in links(data, neg_sampling=NegativeSampling("binary", amount), edge_label=label, shuffle=True):
            positive = len(batch.input_id)
            assert batch.edge_label_index.shape[1] == positive + -(-positive * amount // 1) == len(batch.edge_label)
            assert torch.equal(batch.n_id[batch.edge_label_index[:, :positive]], data.edge_index[:, batch.input_id])
            assert torch.equal(batch.edge_label[:positive], label[batch.input_id] + 1) and not batch.edge_label[positive:].any()
            n += positive
        assert n == E
    batch = next(iter(links(data, neg_sampling_ratio=1.0)))
    assert batch.edge_label.tolist() == [1.0] * 32 + [0.0] * 32
    loader = links(data, neg_sampling={"mode": "triplet", "amount": 3})
    a, b = (next(iter(loader)) for _ in range(2))
    for batch in a, b:
        assert torch.equal(batch.n_id[torch.stack([batch.src_index, batch.dst_pos_index])], data.edge_index[:, :32])
        assert batch.dst_neg_index.shape == (32, 3) and "edge_label_index" not in batch
    assert a.n_id[a.dst_neg_index].tolist() != b.n_id[b.dst_neg_index].tolist()
    weight = (torch.arange(N) == 11).float()
    batch = next(iter(links(data, neg_sampling=NegativeSampling("triplet", 1, dst_weight=weight))))
    assert (batch.n_id[batch.dst_neg_index] == 11).all() and batch.dst_neg_index.shape == (32,)


def test_links_of_a_relation():
    data = typed()
    name = ("author", "writes", "paper")
    for given in name, (name, None), (("author", "paper"), data[name].edge_index):
        got = list(links(data, edge_label_index=given))
        ends = [torch.cat([batch[kind].n_id[batch[name].edge_label_index[i]] for batch in got]) for i, kind in ((0, "author"), (1, "paper"))]
        assert torch.equal(torch.stack(ends), data[name].edge_index)
    for batch in links(data, edge_label_index=name, neg_sampling="binary", shuffle=True):
        positive = len(batch[name].input_id)
        ends = torch.stack([batch[kind].n_id[batch[name].edge_label_index[i]] for i, kind in ((0, "author"), (1, "paper"))])
        assert torch.equal(ends[:, :positive], data[name].edge_index[:, batch[name].input_id]) and ends.shape[1] == 2 * positive
        assert torch.equal(batch["author"].x, data["author"].x[batch["author"].n_id])
    batch = next(iter(links(data, edge_label_index=name, neg_sampling="triplet")))
    assert torch.equal(batch["paper"].n_id[batch["paper"].dst_pos_index], data[name].edge_index[1, :32]) and batch["paper"].dst_neg_index.shape == (32,)
    with raises(outgrow.OptionError, "edge_label_index: of which relation?"):
        links(data)


def test_disjoint_triplets():
    """Places are PyTorch Geometric's: a tree for each source, each destination and each negative, and none twice."""
    data, many = graph(), typed()
    for amount in 1, 3:
        neg = {"mode": "triplet", "amount": amount}
        sizes = []
        for shuffle in False, True:
            for batch in links(data, neg_sampling=neg, disjoint=True, shuffle=shuffle):
                n = len(batch.input_id)
                assert torch.equal(batch.src_index, torch.arange(n)) and torch.equal(batch.dst_pos_index, torch.arange(n, 2 * n))
                assert torch.equal(batch.dst_neg_index, torch.arange(2 * n, (2 + amount) * n).view(-1, n).t().reshape(n, -1).squeeze(-1))
                assert batch.num_sampled_nodes[0] == (2 + amount) * n
                assert torch.equal(batch.n_id[:2 * n].view(2, n), data.edge_index[:, batch.input_id])
                assert torch.equal(batch.batch[:(2 + amount) * n], torch.arange(n).repeat(2 + amount))
                assert torch.equal(batch.batch[batch.edge_index[0]], batch.batch[batch.edge_index[1]])
                sizes.append(n)
        assert sum(sizes) == 2 * E and set(sizes) == {32, E % 32}
        for name in ("author", "writes", "paper"), ("paper", "cites__old", "paper"):
            one = name[0] == name[2]
            batch = next(iter(links(many, edge_label_index=name, neg_sampling=neg, disjoint=True)))
            first = 32 if one else 0
            assert torch.equal(batch[name[0]].src_index, torch.arange(32)) and torch.equal(batch[name[2]].dst_pos_index, torch.arange(first, first + 32))
            assert torch.equal(batch[name[2]].dst_neg_index, torch.arange(first + 32, first + 32 * (1 + amount)).view(-1, 32).t().reshape(32, -1).squeeze(-1))
            assert torch.equal(batch[name[2]].batch[:32 * (1 + amount)], torch.arange(32).repeat(1 + amount))
            assert torch.equal(batch[name[2]].n_id[first:first + 32], many[name].edge_index[1, :32])


def test_ranks_have_the_batches_of_one_process():
    g = torch.Generator().manual_seed(1)
    data = Data(x=torch.randn(500, 4, generator=g), edge_index=torch.randint(0, 500, (2, 4000), generator=g), y=torch.arange(500))

    def epochs(kind, rank=0, world_size=1, **more):
        it = getattr(outgrow, kind)(data, [4, 3], batch_size=64, memory="200M", seed=3, rank=rank, world_size=world_size, **more)
        torch.manual_seed(rank)  # which decides nothing
        got = [[(batch.n_id.tolist(), batch.e_id.tolist(), batch.input_id.tolist()) for batch in it] for _ in range(2)]
        assert all(len(epoch) == len(it) for epoch in got)
        return got
    for kind, more in ("NeighborLoader", {}), ("NeighborLoader", {"shuffle": True}), ("LinkNeighborLoader", {"shuffle": True}), \
            ("LinkNeighborLoader", {"shuffle": True, "neg_sampling": "binary"}), ("NeighborLoader", {"shuffle": True, "num_neighbors": 0}):
        if more.pop("num_neighbors", 1) == 0:
            data.edge_index = data.edge_index[:, :0]
        whole = epochs(kind, **more)
        assert whole[0] != whole[1] or not more.get("shuffle")
        for r in range(3):
            assert epochs(kind, r, 3, **more) == [epoch[r::3] for epoch in whole], (kind, more, r)
            dropped = epochs(kind, r, 3, drop_last=True, **more)
            full = [[batch for batch in epoch if len(batch[2]) == 64] for epoch in whole]
            assert dropped == [epoch[:len(epoch) // 3 * 3][r::3] for epoch in full]
    with raises(NotImplementedError, "sampler with world_size"):
        outgrow.NeighborLoader(data, [4], sampler=[1, 2], rank=0, world_size=2)


main(globals())
