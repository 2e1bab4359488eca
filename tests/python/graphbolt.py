#!/usr/bin/env python3
"""A dataset as GraphBolt's of DGL. Where DGL is not installed, a stand-in has those of its classes that are derived from or called."""
import itertools
import multiprocessing
import pickle
import sys
import types

from support import arrays_of_a_graph, main, need, np, outgrow, raises, same

torch, = need("torch")


def stand_in():
    """As much of dgl.graphbolt 2.1 as outgrow.graphbolt uses."""
    gb = types.ModuleType("dgl.graphbolt")
    for name in "Feature", "Dataset":
        setattr(gb, name, type(name, (), {}))
    gb.base = types.SimpleNamespace(ORIGINAL_EDGE_ID="_ORIGINAL_EDGE_ID")
    gb.MiniBatch = type("MiniBatch", (), {"seed_nodes": None})
    gb.BasicFeatureStore = lambda features: types.SimpleNamespace(_features=features, keys=lambda: [*features], read=lambda *key: features[key[:3]].read(*key[3:]))
    gb.ItemSet = lambda items, names: types.SimpleNamespace(_items=items, _names=names if isinstance(names, tuple) else (names,))
    gb.ItemSetDict = lambda sets: types.SimpleNamespace(_itemsets=sets)
    gb.OnDiskTask = lambda metadata, *sets: types.SimpleNamespace(metadata=metadata, train_set=sets[0], validation_set=sets[1], test_set=sets[2])

    def fused_csc_sampling_graph(indptr, indices, **more):
        return types.SimpleNamespace(csc_indptr=indptr, indices=indices, num_nodes=len(indptr) - 1, **{"type_per_edge": None, "edge_type_to_id": None} | more)
    gb.fused_csc_sampling_graph = fused_csc_sampling_graph
    sys.modules["dgl"] = types.ModuleType("dgl")
    sys.modules["dgl.graphbolt"] = sys.modules["dgl"].graphbolt = gb
    return gb


try:
    import dgl.graphbolt as gb
    IS_THERE = True
except ImportError:
    gb, IS_THERE = stand_in(), False

E, RELATIONS = 16000, {("paper", "cites", "paper"): 900, ("author", "writes", "paper"): 700, ("paper", "has", "author"): 500}


def rows(n, dim, dtype=np.float32):
    return (np.random.default_rng(n).standard_normal((n, dim)) * 3).astype(dtype)


def write_typed(folder):
    rng, sizes = np.random.default_rng(3), {"paper": 300, "author": 200}
    edges = {name: np.stack([rng.integers(0, sizes[name[0]], n), rng.integers(0, sizes[name[2]], n)]) for name, n in RELATIONS.items()}
    outgrow.write(folder, edge_index=edges, x={"paper": rows(300, 5), "author": rows(200, 9)}, y={"paper": rng.integers(0, 3, 300)}, train={"paper": np.arange(0, 300, 2)},
                  edge_attr={name: rows(n, 4) for name, n in RELATIONS.items()})
    return sizes


# ---- features ----

def check_feature(feature, file, seed=0):
    """Its rows are the file's, in any order, as often as they are named."""
    rng = np.random.default_rng(seed)
    for n, kind in (500, torch.int64), (3, torch.int32), (0, torch.int64), (2 * len(file), torch.int64):
        ids = torch.from_numpy(rng.integers(0, len(file), n)).to(kind)
        assert torch.equal(feature.read(ids), file[ids.long()]), n
    *before, future = feature.read_async(ids)
    assert len(before) + 1 == feature.read_async_num_stages(ids.device) and torch.equal(future.wait(), file[ids.long()])
    assert torch.equal(feature.read(), file) and feature.size() == file.shape[1:] and feature.count() == len(file)


def test_features():
    for dtype in "f32", "f16", "bf16", "u8":
        given = arrays_of_a_graph()
        given["x"] = np.abs(given["x"]).astype(np.uint8) if dtype == "u8" else given["x"]
        outgrow.write(dtype, feature_dtype=dtype, edge_attr=rows(E, 6), **given)
        x = torch.from_numpy(given["x"]).to({"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "u8": torch.uint8}[dtype])
        attr = torch.from_numpy(np.load(f"{dtype}/edge_features.npy"))
        for policy in (None, "lru", "none") if dtype == "f32" else (None,):
            dataset = outgrow.graphbolt(dtype, memory="50M", policy=policy, io="pread")
            assert sorted(dataset.feature.keys()) == [("edge", None, "feat"), ("node", None, "feat")]
            for key, file in (("node", None, "feat"), x), (("edge", None, "feat"), attr):
                feature = dataset.feature._features[key]
                check_feature(feature, file)
                assert torch.equal(dataset.feature.read(*key, torch.tensor([7, 7])), file[[7, 7]])
                of = feature.counters()
                assert of["hits"] + of["misses"] == of["requested"] and (of["hits"] > 0) == (policy != "none"), of


def in_another_process(feature, results):
    results.put(feature.read(torch.tensor([5, 3])).sum().item())


def test_features_in_other_processes():
    outgrow.write("sent", **arrays_of_a_graph())
    feature = outgrow.graphbolt("sent", memory="50M").feature._features["node", None, "feat"]
    want = feature.read(torch.tensor([5, 3]))
    assert torch.equal(pickle.loads(pickle.dumps(feature)).read(torch.tensor([5, 3])), want)
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    child = context.Process(target=in_another_process, args=(feature, results))
    child.start()
    assert results.get() == want.sum().item()
    child.join()


def test_what_is_refused():
    outgrow.write("refused", **arrays_of_a_graph())
    feature = outgrow.graphbolt("refused", memory="50M").feature._features["node", None, "feat"]
    with raises(NotImplementedError, "read only"):
        feature.update(feature.read(), None)
    with raises(ValueError, "row 2000"):
        feature.read(torch.tensor([1, 2000]))
    with raises(ValueError, "policy", "belady"):
        outgrow.graphbolt("refused", memory="50M", policy="belady").feature.read("node", None, "feat", torch.tensor([1]))
    with raises(ValueError, "memory: 1 MiB"):
        outgrow.graphbolt("refused", memory="1M")
    with raises(outgrow.FileError, "nowhere"):
        outgrow.graphbolt("nowhere")


# ---- graph and tasks ----

def test_graph():
    given = arrays_of_a_graph()
    outgrow.write("graph", edge_attr=rows(E, 6), **given)
    dataset = outgrow.graphbolt("graph", memory="60M")
    graph, task = dataset.graph, dataset.tasks[0]
    same("indptr", graph.csc_indptr.numpy(), np.load("graph/indptr.npy"))
    same("indices", graph.indices.numpy(), np.load("graph/indices.npy"))
    same("weight", graph.edge_attributes["weight"].numpy(), np.load("graph/weights.npy"))
    assert torch.equal(graph.edge_attributes[gb.base.ORIGINAL_EDGE_ID], torch.arange(E)) and dataset.load() is dataset and dataset.dataset_name == "graph"
    assert task.metadata == {"name": "node_classification", "num_classes": 5}
    for split, items in zip(("train", "valid", "test"), (task.train_set, task.validation_set, task.test_set)):
        seeds, labels = items._items
        assert seeds.dtype == graph.indices.dtype and items._names[1] == "labels"
        same(split, seeds.numpy().astype(np.int64), np.load(f"graph/{split}.npy"))
        same("labels", labels.numpy(), given["y"][seeds.numpy()])


def test_typed_graph():
    sizes = write_typed("typed")
    dataset = outgrow.graphbolt("typed", memory="200M")
    graph, first = dataset.graph, {"paper": 0, "author": 300}
    names = [":".join(name) for name in RELATIONS]
    assert graph.node_type_to_id == {"paper": 0, "author": 1} and sorted(graph.edge_type_to_id) == sorted(names) and graph.node_type_offset.tolist() == [0, 300, 500]
    where = graph.edge_attributes[gb.base.ORIGINAL_EDGE_ID]
    destination = np.repeat(np.arange(500), np.diff(graph.csc_indptr.numpy()))
    for name in RELATIONS:
        r = graph.edge_type_to_id[":".join(name)]
        mine = (graph.type_per_edge == r).nonzero().view(-1).numpy()
        indptr, indices = np.load(f"typed/rel{r}_indptr.npy"), np.load(f"typed/rel{r}_indices.npy")
        order = where[mine].numpy()
        assert sorted(order) == list(range(RELATIONS[name]))
        same("sources", graph.indices[mine].numpy() - first[name[0]], indices[order].astype(np.int64))
        same("destinations", destination[mine] - first[name[2]], np.repeat(np.arange(sizes[name[2]]), np.diff(indptr))[order])
        check_feature(dataset.feature._features["edge", ":".join(name), "feat"], torch.from_numpy(np.load(f"typed/rel{r}_edge_features.npy")))
    check_feature(dataset.feature._features["node", "author", "feat"], torch.from_numpy(rows(200, 9)))
    seeds, labels = dataset.tasks[0].train_set._itemsets["paper"]._items
    assert seeds.tolist() == list(range(0, 300, 2)) and len(labels) == 150


# ---- GraphBolt itself ----

def test_a_pipeline():
    if not IS_THERE:
        print("  left out: DGL is not installed")
        return
    given = arrays_of_a_graph()
    outgrow.write("piped", edge_attr=rows(E, 6), **given)
    dataset, attr = outgrow.graphbolt("piped", memory="60M"), torch.from_numpy(np.load("piped/edge_features.npy"))
    x, edges = torch.from_numpy(given["x"]), set(zip(*given["edge_index"].tolist()))
    for how, workers in itertools.product(("sample_neighbor", "sample_layer_neighbor"), (0, 2)):
        pipe = gb.ItemSampler(dataset.tasks[0].train_set, batch_size=100, shuffle=True)
        pipe = getattr(pipe, how)(dataset.graph, [4, 4], prob_name="weight").fetch_feature(dataset.feature, node_feature_keys=["feat"], edge_feature_keys=["feat"])
        seen = []
        for batch in gb.DataLoader(pipe, num_workers=workers):
            seen += batch.seed_nodes.tolist()
            assert torch.equal(batch.node_features["feat"], x[batch.input_nodes.long()])
            for i, hop in enumerate(batch.sampled_subgraphs):
                assert torch.equal(batch.edge_features[i]["feat"], attr[hop.original_edge_ids])
                ends = hop.original_column_node_ids.repeat_interleave(hop.sampled_csc.indptr.diff())
                assert set(zip(hop.original_row_node_ids[hop.sampled_csc.indices].tolist(), ends.tolist())) <= edges
        assert sorted(seen) == sorted(given["train"].tolist())
    nodes = torch.tensor([5, 9], dtype=dataset.graph.indices.dtype)
    indptr = np.load("piped/indptr.npy")
    assert dataset.graph.in_subgraph(nodes).sampled_csc.indptr.tolist() == [0, *np.cumsum(np.diff(indptr)[[5, 9]])]


def test_a_typed_pipeline():
    if not IS_THERE:
        print("  left out: DGL is not installed")
        return
    write_typed("typed_piped")
    dataset = outgrow.graphbolt("typed_piped", memory="200M")
    pipe = gb.ItemSampler(dataset.tasks[0].train_set, batch_size=40)
    pipe = pipe.sample_neighbor(dataset.graph, [3, 3]).fetch_feature(
        dataset.feature, node_feature_keys={"paper": ["feat"], "author": ["feat"]}, edge_feature_keys={":".join(name): ["feat"] for name in RELATIONS})
    for batch in gb.DataLoader(pipe):
        for name, n, dim in ("paper", 300, 5), ("author", 200, 9):
            assert torch.equal(batch.node_features[name, "feat"], torch.from_numpy(rows(n, dim))[batch.input_nodes[name]])
        for i, hop in enumerate(batch.sampled_subgraphs):
            for name, ids in hop.original_edge_ids.items():
                want = dataset.feature.read("edge", name, "feat", None)[ids]
                assert torch.equal(batch.edge_features[i][name, "feat"], want)


main(globals())
