#!/usr/bin/env python3
"""Outgrow's loaders and stores do what users of PyTorch Geometric's expect. An expectation is a function of a pair of loaders. It must hold for PyTorch
Geometric's own pair as well, where that has a sampler (pyg-lib or torch-sparse)."""
import contextlib
import copy
import gc
import inspect
import itertools
import multiprocessing
import os
import pickle
import types
import warnings

from support import main, need, np, outgrow, raises, warned

torch, pyg, nn, utils, transforms, typing, loader, data = need("torch", *(f"torch_geometric{part}" for part in (
    "", ".nn", ".utils", ".transforms", ".typing", ".loader", ".data")))
Data, HeteroData = data.Data, data.HeteroData
N, E = 90, 540
os.environ["OUTGROW_CACHE"] = "cache"  # in the folder of each test


# ---- graphs ----

def graph(seed=0, **more):
    """Every node but the last ten has an in-edge."""
    g = torch.Generator().manual_seed(seed)
    ends = torch.cat([torch.arange(N - 10), torch.randint(0, N - 10, (E - N + 10,), generator=g)])
    out = Data(x=torch.randn(N, 6, generator=g), edge_index=torch.stack([torch.randint(0, N, (E,), generator=g), ends]), y=torch.arange(N) % 5)
    for name, value in more.items():
        out[name] = value
    return out


def typed(seed=0):
    g = torch.Generator().manual_seed(seed)
    out = HeteroData()
    sizes = {"paper": 80, "author": 120}
    out["paper"].x, out["author"].x, out["paper"].y = torch.randn(80, 6, generator=g), torch.randn(120, 3, generator=g), torch.arange(80) % 4
    for source, name, destination, n in ("paper", "cites", "paper", 400), ("paper", "by", "author", 700), ("author", "writes", "paper", 700):
        ends = torch.cat([torch.arange(sizes[destination]), torch.randint(0, sizes[destination], (n - sizes[destination],), generator=g)])
        out[source, name, destination].edge_index = torch.stack([torch.randint(0, sizes[source], (n,), generator=g), ends])
    return out


def tree(*widths, first=2):
    """Edges to `first` roots. Nodes of hop i have widths[i] children each. Ids are in the order of hops."""
    hop, edges, n = list(range(first)), [], first
    for width in widths:
        below = []
        for node in hop:
            edges += [(n + i, node) for i in range(width)]
            below += range(n, n + width)
            n += width
        hop = below
    return Data(x=torch.arange(n).float().view(-1, 1), y=torch.arange(n) % 2, edge_index=torch.tensor(edges).t().contiguous())


# ---- whose loaders ----

def ours(kind):
    def make(data, num_neighbors=(5, 5), **how):
        return getattr(outgrow, kind)(data, list(num_neighbors) if isinstance(num_neighbors, tuple) else num_neighbors, **{"batch_size": 20, "memory": "200M"} | how)
    return make


def theirs(kind):
    def make(data, num_neighbors=(5, 5), **how):
        return getattr(loader, kind)(data, list(num_neighbors) if isinstance(num_neighbors, tuple) else num_neighbors, **{"batch_size": 20} | how)
    return make


def pair(whose, name):
    return types.SimpleNamespace(nodes=whose("NeighborLoader"), links=whose("LinkNeighborLoader"), name=name)


HAS_SAMPLER = typing.WITH_PYG_LIB or typing.WITH_TORCH_SPARSE
PAIRS = [pair(ours, "outgrow"), *([pair(theirs, "torch_geometric")] if HAS_SAMPLER else [])]


def check(expectations):
    """Check rows of (name, function of a pair, its value[, whether PyTorch Geometric's own can])."""
    if not HAS_SAMPLER:
        print("  PyTorch Geometric's own are left out: neither pyg-lib nor torch-sparse is installed")
    for name, function, wanted, *needed in expectations:
        for of in PAIRS:
            if of.name == "outgrow" or not needed or all(needed):
                got = function(of)
                assert type(got) is type(wanted) and got == wanted, (name, of.name, got, wanted)


def first(batches):
    return next(iter(batches))


def seeds_of(batches):
    return [i for batch in batches for i in batch.n_id[:batch.batch_size].tolist()]


# ---- arguments ----

def test_seeds_are_those_given():
    given = [7, 3, 88, 50, 12]
    mask = torch.zeros(N, dtype=torch.bool)
    mask[given] = True

    def of(nodes, **how):
        return lambda pair: seeds_of(pair.nodes(graph(), input_nodes=nodes, batch_size=2, **how))
    check([("a tensor", of(torch.tensor(given)), given), ("32 bits", of(torch.tensor(given, dtype=torch.int32)), given, typing.WITH_PYG_LIB), ("a list", of(given), given),
         ("a tuple", of(tuple(given)), given), ("an array", of(np.array(given)), given), ("a range", of(range(5, 9)), [5, 6, 7, 8]),
         ("a mask", of(mask), sorted(given)), ("none", of(None), list(range(N))), ("repeated", of([4, 4, 1, 4]), [4, 4, 1, 4]),
         ("a part of each rank", lambda pair: sum((seeds_of(pair.nodes(graph(), input_nodes=part)) for part in torch.arange(N).split(25)), []), list(range(N)))])


def test_numbers_of_neighbours():
    two = tree(20, 10, first=1)

    def edges_of(num_neighbors, data=two, **how):
        return lambda pair: torch.bincount(first(pair.nodes(data, num_neighbors, input_nodes=[0], **how)).edge_index[1])[0].item()

    def by_hop(pair):
        batch = first(pair.nodes(two, [7, 2], input_nodes=[0]))
        return sorted(torch.bincount(batch.edge_index[1], minlength=8)[:8].tolist())
    check([("the hop nearest the seeds is first", by_hop, [2] * 7 + [7]), ("all", edges_of([-1]), 20), ("more than there are", edges_of([50]), 20), ("far more", edges_of([10 ** 9]), 20),
         ("nothing in the second hop", lambda pair: first(pair.nodes(two, [3, 0], input_nodes=[0])).num_edges, 3)])
    for numbers in torch.tensor([6, 1]), np.array([6, 1]), (6, 1):  # which PyTorch Geometric does not take
        assert edges_of(numbers)(PAIRS[0]) == 6


def test_arguments_may_be_written_out():
    """All defaults of theirs, and those of DataLoader, change nothing."""
    for kind, more in ("nodes", {}), ("links", {"edge_label_index": graph().edge_index[:, :60]}):
        signature = inspect.signature(loader.NeighborLoader if kind == "nodes" else loader.LinkNeighborLoader)
        written = {name: p.default for name, p in signature.parameters.items() if p.default is not p.empty}
        factor = inspect.signature(torch.utils.data.DataLoader).parameters["prefetch_factor"].default  # another one by version
        of_torch = {"prefetch_factor": factor, "num_workers": 0, "timeout": 0, "worker_init_fn": lambda i: None, "persistent_workers": False, "pin_memory": False,
                    "multiprocessing_context": None, "sampler": None, "generator": None, "drop_last": False, "shuffle": False}

        def same_with(pair):
            torch.manual_seed(3)
            short = first(getattr(pair, kind)(graph(), **more))
            torch.manual_seed(3)
            long = first(getattr(pair, kind)(graph(), **written | of_torch | more))
            return short.n_id.numel() > 20 and short.batch_size == long.batch_size if kind == "nodes" else short.edge_label_index.shape == long.edge_label_index.shape
        check([(kind, same_with, True)])
    said = warned(lambda: ours("NeighborLoader")(graph(), num_workers=6, persistent_workers=True, pin_memory=True))
    assert any("num_workers is not needed" in line for line in said)


def test_samplers_of_torch():
    subset = torch.utils.data.SubsetRandomSampler(range(40, 73))
    weights = torch.zeros(N).index_fill(0, torch.tensor([3, 9]), 1.0)
    drawn = torch.utils.data.WeightedRandomSampler(weights, 50)

    def per_class(pair):
        return len(pair.nodes(graph(), sampler=loader.ImbalancedSampler(graph().y)))
    check([("a subset", lambda pair: sorted(seeds_of(pair.nodes(graph(), sampler=subset))), list(range(40, 73))),
         ("weights", lambda pair: sorted(set(seeds_of(pair.nodes(graph(), sampler=drawn)))), [3, 9]), ("classes alike", per_class, 5),
         ("in order", lambda pair: seeds_of(pair.nodes(graph(), sampler=torch.utils.data.SequentialSampler(range(N)))), list(range(N)))])


def test_attributes_of_a_loader():
    def those(pair):
        it = pair.nodes(graph(), input_nodes=torch.arange(43), batch_size=10, drop_last=True)
        other = pair.nodes(graph(), pin_memory=True, timeout=0)
        return it.batch_size, it.num_workers, it.drop_last, len(it.dataset), len(it), other.pin_memory, other.persistent_workers

    of_torch = [name for name in vars(torch.utils.data.DataLoader(range(1))) if not name.startswith("_")]

    def missing(kind):
        return lambda pair: [name for name in of_torch if not hasattr(getattr(pair, kind)(graph()), name)]

    def sizes(**how):
        return lambda pair: [batch.batch_size for batch in pair.nodes(graph(), input_nodes=torch.arange(33), batch_size=10, **how)]
    check([("attributes", those, (10, 0, True, 43, 4, True, False)), ("a DataLoader's", missing("nodes"), []), ("of links", missing("links"), []), ("the last batch is smaller", sizes(), [10, 10, 10, 3]), ("or dropped", sizes(drop_last=True), [10, 10, 10]),
         ("one seed by default", lambda pair: len(pair.nodes(graph(), [2], batch_size=1)), N)])


def test_loaders_are_theirs():
    """By isinstance, by attributes of a DataLoader, and for classes that extend them."""
    for kind, make, n in ("NeighborLoader", PAIRS[0].nodes, N), ("LinkNeighborLoader", PAIRS[0].links, E):
        it = make(graph(), shuffle=True)
        assert isinstance(it, getattr(loader, kind)) and isinstance(it, torch.utils.data.DataLoader) and isinstance(it, getattr(outgrow, kind)) and type(it) is getattr(outgrow, kind)
        assert isinstance(it.sampler, torch.utils.data.RandomSampler) and isinstance(make(graph()).sampler, torch.utils.data.SequentialSampler) and "epoch" in dir(it)
        assert [len(batch) for batch in it.batch_sampler] == [20] * (n // 20) + [n % 20] * (n % 20 > 0) and it.filter_per_worker is True
        assert torch.equal(it.input_data.node, torch.arange(N)) if n == N else torch.equal(torch.stack([it.input_data.row, it.input_data.col]), graph().edge_index)
        with it.enable_memory_log():
            assert len(it) == -(-n // 20)
        for name in "batch_size", "drop_last", "sampler", "batch_sampler", "dataset":
            with raises(ValueError, f"{name}: set after the loader was made"):
                setattr(it, name, 1)
        it.transform, it.mine = mark, 3
        for same_one in it, copy.copy(it), copy.deepcopy(it), pickle.loads(pickle.dumps(copy.copy(it))):
            assert first(same_one).mark == 1 and same_one.mine == 3

        class Extended(getattr(outgrow, kind)):
            def filter_fn(self, batch):
                return mark(super().filter_fn(batch))
        mine = Extended(graph(), [3], batch_size=20, memory="200M", transform=mark)
        assert first(mine).mark == mine([1, 2]).mark == first(loader.ZipLoader([mine, mine], batch_size=20))[1].mark == 2


def mark(batch):
    batch.mark = batch.mark + 1 if "mark" in batch else 1
    return batch


def test_what_a_dataset_is_like():
    """loader.data has the types and relations that to_hetero takes, and counts of edges."""
    for path, given, seeds in ("like", typed(), "paper"), ("like-one", graph(), None):
        outgrow.write(path, given)
        data = outgrow.NeighborLoader(path, [2], seeds, memory="200M").data
        assert data.num_edges == given.num_edges and data.num_node_features == given.num_node_features and (seeds is None or data.metadata() == given.metadata())


# ---- conduct ----

def test_iterations():
    def stopped(error):
        def iterate(pair):
            it = pair.nodes(graph())
            with contextlib.suppress(error):
                for _ in it:
                    raise error
            return seeds_of(it)
        return iterate

    def left(pair):
        it = pair.nodes(graph())
        for _ in it:
            break
        return seeds_of(it)

    def neighbours(batches):
        return [batch.n_id[batch.batch_size:].tolist() for batch in batches]

    def anew(pair):
        it = pair.nodes(graph(), [2, 2])
        epochs = [neighbours(it) for _ in range(2)]
        return epochs[0] != epochs[1] and neighbours(pair.nodes(graph(), [2, 2])) not in epochs

    def shuffled(pair):
        it = pair.nodes(graph(), shuffle=True)
        epochs = [seeds_of(it) for _ in range(2)]
        return epochs[0] != epochs[1] and sorted(epochs[0]) == sorted(epochs[1]) == list(range(N))

    def seeded(pair):
        def order(seed):
            torch.manual_seed(seed)
            return seeds_of(pair.nodes(graph(), shuffle=True))
        return order(1) != order(2) and order(1) == order(1)
    whole = list(range(N))
    check([("a break", left, whole), ("an error", stopped(ZeroDivisionError), whole), ("Ctrl-C", stopped(KeyboardInterrupt), whole), ("other neighbours", anew, True),
         ("another order", shuffled, True), ("torch.manual_seed", seeded, True),
         ("two at once", lambda pair: [(a.batch_size, b.batch_size) for a, b in zip(pair.nodes(graph()), pair.nodes(graph(1)))], [(20, 20)] * 4 + [(10, 10)]),
         ("cycle", lambda pair: len(list(itertools.islice(itertools.cycle(pair.nodes(graph())), 8))), 8),
         ("enumerate", lambda pair: [i for i, _ in enumerate(pair.nodes(graph()))], [0, 1, 2, 3, 4])])


def test_loaders_around_it():
    def cached(pair):
        it = loader.CachedLoader(pair.nodes(graph()))
        return [batch.n_id.tolist() for batch in it] == [batch.n_id.tolist() for batch in it] and len(it) == 5

    def multithreaded(pair):
        it = pair.nodes(graph())
        with it.enable_multithreading(2):
            return len(it)
    check([("CachedLoader", cached, True),
         ("PrefetchLoader", lambda pair: seeds_of(loader.PrefetchLoader(pair.nodes(graph()), device=torch.device("cpu"))), list(range(N))),
         ("a list", lambda pair: seeds_of(list(pair.nodes(graph()))), list(range(N))), ("positions", lambda pair: pair.nodes(graph())([3, 5]).n_id[:2].tolist(), [3, 5])])
    assert multithreaded(PAIRS[0]) == 5  # theirs needs workers


def test_epochs_are_collected():
    def labels(pair):
        return torch.cat([batch.y[:batch.batch_size] for batch in pair.nodes(graph())]).tolist()

    def absolute(pair):
        """A model that knows all labels has no error. Its output is [n, 1], and y is [n]."""
        label = torch.randn(N, generator=torch.Generator().manual_seed(1))
        errors = [(label[batch.n_id].view(-1, 1)[:batch.batch_size].squeeze(-1) - batch.y[:batch.batch_size]).abs().max() for batch in pair.nodes(graph(y=label))]
        return max(errors).item()
    check([("labels", labels, graph().y.tolist()), ("errors", absolute, 0.0)])


def test_dropped_loaders_leave_no_threads():
    def threads():
        gc.collect()
        return len(os.listdir("/proc/self/task"))
    make = ours("NeighborLoader")
    for _ in range(3):
        first(make(graph()))
    before = threads()
    for _ in range(10):
        first(make(graph()))
    assert threads() <= before + 2


def part_of(make, rank, results):
    results.put(seeds_of(make(graph(), input_nodes=torch.arange(N).split(45)[rank], shuffle=True)))


def test_processes_of_a_half_each():
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    children = [context.Process(target=part_of, args=(ours("NeighborLoader"), rank, results)) for rank in range(2)]
    for child in children:
        child.start()
    assert sorted(results.get() + results.get()) == list(range(N))
    for child in children:
        child.join()


# ---- batches ----

def test_a_batch():
    def those(data, *questions, **how):
        def answers(pair):
            batch = first(pair.nodes(data, **how))
            return [bool(question(batch)) for question in questions]
        return answers
    whole = graph(note="a note", w=torch.rand(E))
    edges = set(map(tuple, whole.edge_index.t().tolist()))
    plain = [lambda b: type(b) is Data, lambda b: b.n_id.dtype == torch.int64 and len(b.n_id.unique()) == len(b.n_id), lambda b: b.n_id[:20].tolist() == list(range(20)),
             lambda b: b.edge_index.dtype == torch.int64 and b.edge_index.is_contiguous() and 0 <= b.edge_index.min() and b.edge_index.max() < b.num_nodes,
             lambda b: {*map(tuple, b.n_id[b.edge_index].t().tolist())} <= edges, lambda b: type(b.batch_size) is int, lambda b: b.batch is None,
             lambda b: not b.has_isolated_nodes(), lambda b: b.note == "a note" and torch.equal(b.w, whole.w[b.e_id]), lambda b: b.validate(),
             lambda b: torch.equal(copy.copy(b).to("cpu").x, b.x), lambda b: torch.equal(b.subgraph(torch.arange(20)).x, b.x[:20]) and b.is_node_attr("y")]
    lone = Data(x=torch.randn(4, 2), edge_index=torch.tensor([[1], [0]]))
    many = [transforms.Compose([transforms.ToUndirected(), transforms.AddSelfLoops(), transforms.NormalizeFeatures()]),
            lambda b: transforms.ToSparseTensor()(copy.copy(b)).adj_t]
    check([("a batch", those(whole, *plain), [True] * len(plain)),
         ("seeds without neighbours", those(lone, lambda b: b.edge_index.shape == (2, 0) and b.num_nodes == 2 and b.edge_index.dtype == torch.int64, input_nodes=[2, 3]), [True]),
         ("no attributes but edges", those(Data(edge_index=whole.edge_index, num_nodes=N), lambda b: b.x is None and b.num_nodes == len(b.n_id)), [True]),
         ("transforms", those(whole, lambda b: many[0](copy.copy(b)).num_edges > b.num_edges, lambda b: many[1](b).size(0) == b.num_nodes), [True, True])])


def test_names_of_a_batch():
    """Attributes that batches have, with times, trees and negatives."""
    own = {"edge_time": torch.arange(E) % 50, "time": torch.arange(N) % 50, "edge_attr": torch.rand(E, 3)}
    of_all, links = {"x", "y", "edge_index", *own, "n_id", "e_id", "input_id", "num_sampled_nodes", "num_sampled_edges"}, graph().edge_index[:, :40]

    def more(kind, **how):
        def names(pair):
            batch = first(getattr(pair, kind)(graph(**own), batch_size=5, **how))
            assert torch.equal(batch.edge_time, own["edge_time"][batch.e_id]) and torch.equal(batch.time, own["time"][batch.n_id])
            return sorted({*batch.keys()} - of_all), sorted(of_all - {*batch.keys()})
        return names
    nodes = {"input_nodes": torch.arange(20), "input_time": torch.full((20,), 30)}
    late = {"edge_label_index": links, "edge_label_time": torch.full((40,), 49)}
    rows = [("nodes", {}, ["batch_size"]), ("nodes", {"disjoint": True}, ["batch", "batch_size"]), ("nodes", {"time_attr": "time"}, ["batch", "batch_size"]),
            ("nodes", {"time_attr": "edge_time"} | nodes, ["batch", "batch_size", "seed_time"]), ("links", {"edge_label_index": links}, ["edge_label_index"])]
    for mode, names, time in ("binary", ["edge_label", "edge_label_index"], "edge_label_time"), ("triplet", ["dst_neg_index", "dst_pos_index", "src_index"], "seed_time"):
        rows += [("links", {"edge_label_index": links, "neg_sampling": mode}, names)]
        rows += [("links", {"neg_sampling": mode, "time_attr": attribute} | late, sorted([*names, "batch", time])) for attribute in ("time", "edge_time")]
    check([((kind, *how), more(kind, **how), (names, []), typing.WITH_PYG_LIB) for kind, how, names in rows])


def test_order_of_attributes():
    """Batches print as PyTorch Geometric's: the data's attributes, then those of loaders."""
    added = ["n_id", "e_id", "num_sampled_nodes", "num_sampled_edges", "input_id", "batch_size"]
    given = Data(pos=torch.rand(N, 2), y=graph().y, edge_index=graph().edge_index, note="a note", w=torch.rand(E), x=graph().x)
    def names(of):
        return lambda pair: list(first(pair.nodes(of)).to_dict())
    check([("attributes", names(given), ["x", "edge_index", "y", "pos", "note", "w", *added], typing.WITH_PYG_LIB)])
    outgrow.write("order", given)
    assert names("order")(PAIRS[0]) == [*given.to_dict(), *added]
    outgrow.write("order-kinds", typed())
    for of in typed(), "order-kinds":
        batch = first(PAIRS[0].nodes(of, input_nodes="paper"))
        assert list(batch["paper"].keys())[:2] == ["x", "y"] and list(batch["paper", "by", "author"].keys()) == ["edge_index", "e_id", "num_sampled_edges"]


def test_each_neighbour_as_often():
    star = Data(x=torch.randn(21, 1), edge_index=torch.stack([torch.arange(1, 21), torch.zeros(20, dtype=torch.long)]))

    def spread(pair):
        seen = torch.stack([torch.bincount(batch.n_id[1:], minlength=21) for batch in pair.nodes(star, [5], input_nodes=[0] * 500, batch_size=1)]).sum(0)[1:] / 125
        return bool(seen.min() > 0.7 and seen.max() < 1.3)
    check([("5 of 20", spread, True)])


def test_numbers_of_hops():
    """They are in batches of pyg-lib, not in those of torch-sparse."""
    data = tree(3, 2, 1)

    def numbers(pair):
        batch = first(pair.nodes(data, [2, 2, 4], input_nodes=[0, 1], batch_size=2))
        return batch.num_sampled_nodes, batch.num_sampled_edges

    def by_type(pair):
        both, edges = HeteroData(), data.edge_index
        both["a"].num_nodes = both["b"].num_nodes = data.num_nodes
        for relation in ("a", "x", "a"), ("a", "y", "b"), ("b", "z", "a"):
            both[relation].edge_index = edges
        batch = first(pair.nodes(both, [3, 2, 1], input_nodes=("a", [0, 1]), batch_size=2))
        return batch.num_sampled_nodes_dict, batch.num_sampled_edges_dict
    of_each = {"a": [2, 6, 12, 12], "b": [0, 6, 12, 12]}
    of_relations = {("a", "x", "a"): [6, 12, 12], ("a", "y", "b"): [0, 12, 12], ("b", "z", "a"): [6, 12, 12]}
    check([("homogeneous", numbers, ([2, 4, 8, 8], [4, 8, 8]), typing.WITH_PYG_LIB), ("heterogeneous", by_type, (of_each, of_relations), typing.WITH_PYG_LIB)])


def test_weights_decide():
    chain = Data(x=torch.randn(5, 1), edge_index=torch.tensor([[1, 3, 0, 4], [2, 2, 1, 3]]), w=torch.tensor([0.0, 1.0, 0.0, 1.0]))

    def walk(pair):
        batch = first(pair.nodes(chain, [1, 1], input_nodes=[2], weight_attr="w"))
        return batch.n_id.tolist(), batch.n_id[batch.edge_index].tolist(), batch.w.tolist()
    check([("along what has weight", walk, ([2, 3, 4], [[3, 4], [2, 3]], [1.0, 1.0]), typing.WITH_PYG_LIB and typing.WITH_WEIGHTED_NEIGHBOR_SAMPLE)])


# ---- models ----

def test_models_of_all_neighbours():
    """A model's rows of the seeds are those over the whole graph."""
    torch.manual_seed(1)
    whole = graph(edge_weight=torch.rand(E))
    convs = nn.GraphConv(6, 8), nn.GraphConv(8, 5)
    model = lambda d: convs[1](convs[0](d.x, d.edge_index, d.edge_weight).relu(), d.edge_index, d.edge_weight)  # noqa: E731
    seeds = torch.arange(30, 50)

    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.SAGEConv((-1, -1), 8), nn.SAGEConv((-1, -1), 4)

        def forward(self, x, edge_index):
            return self.two(self.one(x, edge_index).relu(), edge_index)
    kinds = typed()
    hetero = nn.to_hetero(Both(), kinds.metadata())
    with torch.no_grad():
        want, wanted = model(whole)[seeds], hetero(kinds.x_dict, kinds.edge_index_dict)["paper"][:20]

    def weighted(pair):
        with torch.no_grad():
            return torch.allclose(model(first(pair.nodes(whole, [-1, -1], input_nodes=seeds)))[:20], want, atol=1e-5)

    def of_types(pair):
        batch = first(pair.nodes(kinds, [-1, -1], input_nodes="paper"))
        with torch.no_grad():
            return torch.allclose(hetero(batch.x_dict, batch.edge_index_dict)["paper"][:20], wanted, atol=1e-5)
    check([("with weights", weighted, True), ("to_hetero", of_types, True)])


def test_layers_may_be_trimmed():
    torch.manual_seed(1)
    convs = torch.nn.ModuleList([nn.SAGEConv(6, 6) for _ in range(3)])

    def trimmed(pair):
        batch = first(pair.nodes(graph(), [3, 3, 3]))
        (x, edges), (y, all_edges) = (batch.x, batch.edge_index), (batch.x, batch.edge_index)
        for i, conv in enumerate(convs):
            x, edges, _ = utils.trim_to_layer(i, batch.num_sampled_nodes, batch.num_sampled_edges, x, edges)
            x, y = conv(x, edges), conv(y, all_edges)
        return x.size(0) < y.size(0) and torch.allclose(x[:20], y[:20], atol=1e-5)
    check([("three layers", trimmed, True, typing.WITH_PYG_LIB)])


def test_training_is_as_good():
    whole = graph()
    whole.x = torch.nn.functional.one_hot(whole.y, 6).float() + 0.5 * whole.x

    def accurate(pair):
        torch.manual_seed(0)
        model = nn.GraphSAGE(6, 16, 2, 5)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        batches = pair.nodes(whole, shuffle=True)
        for batch in itertools.chain.from_iterable(batches for _ in range(20)):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(batch.x, batch.edge_index)[:batch.batch_size], batch.y[:batch.batch_size]).backward()
            optimizer.step()
        with torch.no_grad():
            return (model(whole.x, whole.edge_index).argmax(1) == whole.y).float().mean().item() > 0.9
    check([("accuracy", accurate, True)])


# ---- types ----

def test_types():
    mask = torch.arange(80) % 3 == 1
    kinds = typed()
    kinds["author"].x, kinds["author"].since = kinds["author"].x.half(), torch.arange(120) * 7
    kinds["paper", "by", "author"].edge_weight = torch.rand(700)
    kinds["author", "knows", "author"].edge_index = torch.arange(120).repeat(2, 2)
    kinds["author", "knows", "paper"].edge_index = torch.stack([torch.arange(80), torch.arange(80)])  # a name twice, between other types

    def seeds(given):
        return lambda pair: [i for batch in pair.nodes(kinds, input_nodes=given) for i in batch[given[0]].n_id[:batch[given[0]].batch_size].tolist()]

    def rows(pair):
        batch = first(pair.nodes(kinds, input_nodes="paper"))
        answers = [torch.equal(batch[name].x, kinds[name].x[batch[name].n_id]) and batch[name].x.dtype == kinds[name].x.dtype for name in ("paper", "author")]
        answers += [len(batch["paper"].y) == batch["paper"].num_nodes, torch.equal(batch["author"].since, kinds["author"].since[batch["author"].n_id])]
        answers += ["batch_size" not in batch["author"], not batch.has_isolated_nodes(), "y" not in batch["author"], type(batch) is HeteroData]
        for name in kinds.edge_types:
            ends = torch.stack([batch[name[0]].n_id[batch[name].edge_index[0]], batch[name[2]].n_id[batch[name].edge_index[1]]])
            answers.append(torch.equal(ends, kinds[name].edge_index[:, batch[name].e_id]))
        by = batch["paper", "by", "author"]
        return [*answers, torch.equal(by.edge_weight, kinds["paper", "by", "author"].edge_weight[by.e_id])]

    def relation(num_neighbors):
        def numbers(pair):
            batch = first(pair.nodes(kinds, num_neighbors, input_nodes="paper"))
            return [name for name in kinds.edge_types if batch[name].edge_index.size(1)]
        return numbers
    none = {name: [0, 0] for name in kinds.edge_types}
    some = "author", "knows", "paper"
    check([("a mask", seeds(("paper", mask)), mask.nonzero().view(-1).tolist()), ("ids", seeds(("author", [5, 3])), [5, 3]), ("all", seeds(("author", None)), list(range(120))),
         ("rows", rows, [True] * (9 + len(kinds.edge_types))), ("one of two relations of a name", relation(none | {some: [3, 3]}), [some]),
         ("positions of a mask", lambda pair: first(pair.nodes(kinds, input_nodes=("paper", mask)))["paper"].input_id[:3].tolist(), [1, 4, 7])])


# ---- links ----

def test_links():
    both = graph()
    both.edge_index = utils.to_undirected(both.edge_index)
    rating = torch.arange(E) % 5
    train, valid, _ = transforms.RandomLinkSplit(num_val=0.2, num_test=0.1, neg_sampling_ratio=1.0)(graph())
    relation = "paper", "by", "author"

    def whole(data, **how):
        """Links of an epoch, as ids."""
        return lambda pair: torch.cat([batch.n_id[batch.edge_label_index] for batch in pair.links(data, **how)], 1).tolist()

    def labels(data, **how):
        return lambda pair: torch.cat([batch.edge_label for batch in pair.links(data, **how)]).tolist()

    def ends_first(pair):
        batch = first(pair.links(graph(), neg_sampling_ratio=1.0))
        return batch.edge_label_index.dtype == torch.int64 and int(batch.edge_label_index.max()) + 1 == len(batch.edge_label_index.unique()) and torch.equal(
            batch.y, graph().y[batch.n_id])

    def inside(pair):
        """Links stay among the edges along which models pass messages."""
        batch = first(pair.links(graph(), [-1, -1]))
        have = set(map(tuple, batch.edge_index.t().tolist()))
        return all(edge in have for edge in map(tuple, batch.edge_label_index.t().tolist()))

    def of_relation(pair):
        batch = first(pair.links(typed(), edge_label_index=relation, neg_sampling_ratio=1.0))
        store = batch[relation]
        ends = torch.stack([batch[kind].n_id[store.edge_label_index[i, :20]] for i, kind in ((0, "paper"), (1, "author"))])
        return [torch.equal(ends, typed()[relation].edge_index[:, :20]), store.edge_label.tolist() == [1.0] * 20 + [0.0] * 20, len(store.input_id) == 20]

    def triplets(pair):
        batch = first(pair.links(graph(), neg_sampling=dict(mode="triplet", amount=2)))
        return list(batch.src_index.shape), list(batch.dst_pos_index.shape), list(batch.dst_neg_index.shape)
    assert whole(graph(), edge_label_index=(torch.tensor([3, 4]), [9, 3]))(PAIRS[0]) == [[3, 4], [9, 3]]
    with raises(outgrow.OptionError, "edge_label_index: [2] sources and [1] destinations"):
        PAIRS[0].links(graph(), edge_label_index=(torch.tensor([3, 4]), torch.tensor([9])))
    check([("both directions", whole(both), both.edge_index.tolist()), ("a split", whole(train, edge_label_index=train.edge_label_index), train.edge_label_index.tolist()),
         ("labels of its own", labels(valid, edge_label_index=valid.edge_label_index, edge_label=valid.edge_label), valid.edge_label.tolist()),
         ("ratings", labels(graph(), edge_label_index=graph().edge_index, edge_label=rating), rating.tolist()), ("ends first", ends_first, True), ("inside", inside, True),
         ("a relation", of_relation, [True] * 3), ("triplets", triplets, ([20], [20], [20, 2])),
         ("no last batch", lambda pair: len(pair.links(graph(), batch_size=64, drop_last=True)), E // 64)])


def test_links_of_a_relation_without_edges():
    """Links may be of a relation along which no messages pass. Another one between the same types stands for it."""
    new, pairs = ("paper", "likes", "author"), torch.tensor([[3, 4, 4, 79], [9, 9, 0, 119]])

    def links(kinds, **how):
        def ends(pair):
            out = []
            for batch in pair.links(kinds, edge_label_index=(new, pairs), batch_size=3, **how):
                a, b = batch["paper"], batch["author"]
                rows = batch[new].edge_label_index[:, :len(batch[new].input_id)] if "src_index" not in a else torch.stack([a.src_index, b.dst_pos_index])
                out.append(torch.stack([a.n_id[rows[0]], b.n_id[rows[1]]]))
                assert all(torch.equal(batch[name].x, kinds[name].x[batch[name].n_id]) for name in kinds.node_types)
            return torch.cat(out, 1).tolist()
        return ends
    backwards = typed()
    del backwards["paper", "by", "author"]
    rows = [((*how,), links(kinds, **how), pairs.tolist()) for kinds in (typed(), backwards) for how in ({}, {"neg_sampling": "binary"}, {"neg_sampling": "triplet"})]
    check([*rows, ("disjoint", links(backwards, disjoint=True), pairs.tolist(), typing.WITH_PYG_LIB)])
    assert any("no relation ('paper', 'likes', 'author')" in line for line in warned(lambda: links(typed())(PAIRS[0])))
    with raises(outgrow.UnsupportedError, "no edges between author and author", "hint: "):
        PAIRS[0].links(typed(), edge_label_index=(("author", "likes", "author"), pairs))
    with raises(outgrow.UnsupportedError, "disjoint triplets", "neg_sampling"):
        first(PAIRS[0].links(backwards, edge_label_index=(new, pairs), disjoint=True, neg_sampling="triplet"))


def test_negatives_are_drawn_as_theirs():
    """The random numbers of PyTorch are taken in their order."""
    torch.manual_seed(4)
    batch = first(PAIRS[0].links(graph(), neg_sampling="binary"))
    torch.manual_seed(4)
    torch.empty((), dtype=torch.int64).random_()  # which seeds the sampling
    assert torch.equal(batch.n_id[batch.edge_label_index[:, 20:]], torch.stack([torch.randint(N, (20,)), torch.randint(N, (20,))]))


def test_links_of_splits():
    """outgrow alone has splits of links in a dataset."""
    outgrow.write("links", graph(), train_edges=graph().edge_index[:, :400].t(), valid_edges=graph().edge_index[:, 400:450].t(), test_edges=graph().edge_index[:, 450:].t())
    it = outgrow.LinkNeighborLoader("links", [5, 5], batch_size=20, memory="200M")
    batches = list(it.evaluate("valid"))
    half = [len(batch.edge_label) // 2 for batch in batches]
    got = torch.cat([batch.n_id[batch.edge_label_index[:, :n]] for batch, n in zip(batches, half)], 1)
    assert sum(half) == 50 and all(batch.edge_label[:n].all() and not batch.edge_label[n:].any() for batch, n in zip(batches, half))
    assert set(map(tuple, got.t().tolist())) == set(map(tuple, graph().edge_index[:, 400:450].t().tolist()))


# ---- what few data have ----

def test_attributes_that_are_no_numbers():
    """Lists and arrays of words have rows, which PyTorch Geometric refuses. What has none is refused by its name."""
    words = [f"n{i}" for i in range(N)]
    data_ = graph(names=words, array=np.array(words), of_edges=[f"e{i}" for i in range(E)], short=["a", "b"])
    for batch in ours("NeighborLoader")(data_):
        assert batch.names == list(batch.array) == [words[i] for i in batch.n_id] and batch.short == ["a", "b"]
        assert batch.of_edges == [data_.of_edges[i] for i in batch.e_id]
    if hasattr(torch.Tensor, "to_sparse_csc"):
        with raises(outgrow.UnsupportedError, "other: no rows can be selected from a Tensor of layout torch.sparse_csc", "hint: "):
            first(ours("NeighborLoader")(graph(other=torch.eye(N).to_sparse_csc())))


def test_sparse_features():
    """They stay in memory, which is said."""
    dense = torch.eye(N)
    check([("features", lambda pair: all(torch.equal(batch.x.to_dense(), dense[batch.n_id]) and batch.x.is_sparse for batch in pair.nodes(graph(x=dense.to_sparse()))), True)])
    said = warned(lambda: first(ours("NeighborLoader")(graph(x=dense.to_sparse_csr()))).x)
    assert any("x is sparse" in line for line in said)


def test_features_with_gradients():
    given = graph(x=torch.randn(N, 6, requires_grad=True))
    said = warned(lambda: first(ours("NeighborLoader")(given)))
    assert any("x requires grad" in line for line in said)


def test_positions_of_seeds():
    """A call's and a sampler's: from the end, by a mask, none; and wrong ones."""
    nodes = torch.tensor([7, 3, 88, 50])
    mask = torch.tensor([True, False, False, True])
    check([(name, lambda pair, index=index: pair.nodes(graph(), input_nodes=nodes)(index).n_id[:2].tolist(), wanted) for name, index, wanted in (
        ("a list", [1, 2], [3, 88]), ("from the end", [-1, 0], [50, 7]), ("a mask", mask, [7, 50]))])
    check([("a sampler without len", lambda pair: seeds_of(pair.nodes(graph(), input_nodes=nodes, sampler=iter([2, 0]))), [88, 7]),
           ("a sampler of nothing", lambda pair: seeds_of(pair.nodes(graph(), sampler=[])), [])])
    mine = ours("NeighborLoader")
    for wrong, word in ([4], "index: 4, there are 4"), ([-5], "index: -5"), ([1.5], "index: float64"), ([], "index: no positions"), (mask[:3], "index: bool"):
        with raises(outgrow.OptionError, word, "hint: "):
            mine(graph(), input_nodes=nodes)(wrong)
    for wrong, word in ([[0, 1]], "sampler: yields [0, 1]"), ([9], "sampler: 9, there are 4"):
        with raises(outgrow.OptionError, word, "hint: "):
            first(mine(graph(), input_nodes=nodes, sampler=wrong))


# ---- stores, and the form of NeighborSampler ----

def test_stores():
    kinds = typed()
    outgrow.write("kinds", kinds)
    features, graphs = outgrow.stores("kinds")
    attr, index = data.TensorAttr, torch.tensor([4, 0, 4, -1])
    got = features.multi_get_tensor([attr("author", "x", index), attr("paper", "y", index)])
    assert torch.equal(got[0], kinds["author"].x[index]) and torch.equal(got[1], kinds["paper"].y[index])
    got[0].zero_()
    assert torch.equal(features["author", "x", None], kinds["author"].x), "rows are copies"
    assert [a.edge_type for a in graphs.get_all_edge_attrs()] == kinds.edge_types
    for batch in ours("NeighborLoader")((features, graphs), input_nodes="paper"):
        assert torch.equal(batch["author"].x, kinds["author"].x[batch["author"].n_id])
    one = graph()
    outgrow.write("one", one)
    for make in ours, theirs:  # batches of homogeneous stores are Data
        if make is ours or HAS_SAMPLER:
            for batch in make("NeighborLoader")(outgrow.stores("one", homogeneous=True), input_nodes=torch.arange(30)):
                assert type(batch) is Data and torch.equal(batch.x, one.x[batch.n_id]) and torch.equal(batch.y, one.y[batch.n_id])


def test_bipartite_layers():
    """form="adjs" is what NeighborSampler yields, the outermost layer first."""
    torch.manual_seed(1)
    outgrow.write("graph", graph())
    convs = nn.SAGEConv(6, 8), nn.SAGEConv(8, 4)
    with torch.no_grad():
        want = convs[1](convs[0](graph().x, graph().edge_index), graph().edge_index)

    def rows_of_seeds(batch_size, n_id, adjs, x):
        for conv, (edge_index, _, size) in zip(convs, adjs):
            assert edge_index[0].max() < size[0] and edge_index[1].max() < size[1] and len(x) == size[0]
            with torch.no_grad():
                x = conv((x, x[:size[1]]), edge_index)
        return torch.allclose(x, want[n_id[:batch_size]], atol=1e-5)
    how = {"batch_size": 20, "memory": "200M", "input_nodes": torch.arange(60), "form": "adjs"}
    for size, n_id, adjs, x, _ in outgrow.Loader("graph", num_neighbors=[-1, -1], **how):
        adjs = [adj.to("cpu") for adj in adjs]
        assert torch.equal(x, graph().x[n_id]) and rows_of_seeds(size, n_id, adjs, x)
    _, _, (edge_index, _, size), *_ = first(outgrow.Loader("graph", num_neighbors=[-1], **how))
    assert size[1] == 20 and edge_index[1].max() < 20
    if HAS_SAMPLER:
        for size, n_id, adjs in loader.NeighborSampler(graph().edge_index, sizes=[-1, -1], node_idx=torch.arange(60), batch_size=20):
            assert rows_of_seeds(size, n_id, adjs, graph().x[n_id])


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of datasets that are written, and of what PyTorch Geometric deprecates
    main(globals())
