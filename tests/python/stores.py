#!/usr/bin/env python3
"""The dataset as PyTorch Geometric's stores give it."""
import pickle

from support import arrays_of_a_graph, main, need, np, outgrow, raises, same

torch, typing, loader, data = need("torch", "torch_geometric.typing", "torch_geometric.loader", "torch_geometric.data")
Data, HeteroData = data.Data, data.HeteroData


def test_stores():
    given = arrays_of_a_graph()
    for folder, dtype in ("graph", None), ("bf16", "bf16"):
        outgrow.write(folder, feature_dtype=dtype, **given)
        features, graph = outgrow.stores(folder)
        index = torch.tensor([5, 3, 5, 1999])
        got = features.get_tensor(group_name="node", attr_name="x", index=index)
        want = torch.from_numpy(given["x"])[index]
        assert torch.equal(got, want.bfloat16() if dtype else want)
        same("y", features.get_tensor(group_name="node", attr_name="y", index=None).numpy(), given["y"])
        assert features.get_tensor_size(group_name="node", attr_name="x") == (2000, 24)
        edge = "node", "to", "node"
        assert {(a.group_name, a.attr_name) for a in features.get_all_tensor_attrs()} == {("node", "x"), ("node", "y"), (edge, "edge_weight")}
        weights = np.load(f"{folder}/weights.npy")
        same("weights", features.get_tensor(group_name=edge, attr_name="edge_weight", index=torch.tensor([7, 3])).numpy(), weights[[7, 3]])
        with raises(KeyError, "node, z", "the dataset has node, x"):
            features.get_tensor(group_name="node", attr_name="z", index=None)
        again, its_graph = pickle.loads(pickle.dumps((features, graph)))
        assert torch.equal(again.get_tensor(group_name="node", attr_name="x", index=index), got) and len(its_graph.get_all_edge_attrs()) == 1
        for change in (lambda: features.put_tensor(got, group_name="node", attr_name="z", index=None), lambda: features.remove_tensor(group_name="node", attr_name="x", index=None),
                       lambda: graph.put_edge_index((index, index), edge_type=edge, layout="coo"), lambda: graph.remove_edge_index(edge_type=edge, layout="csc")):
            with raises(NotImplementedError, "read only", "hint: "):
                change()
        attr, = graph.get_all_edge_attrs()
        row, colptr = graph.get_edge_index(attr)
        same("row", row.numpy(), np.load(f"{folder}/indices.npy").astype(np.int64))
        same("colptr", colptr.numpy(), np.load(f"{folder}/indptr.npy"))
        row, colptr, _ = graph.csc()
        assert list(row) == [("node", "to", "node")]
    with raises(outgrow.FileError, "nowhere"):
        outgrow.stores("nowhere")


def test_stores_have_what_batches_have():
    """They have the attributes of a Data, in their types and shapes. Those of edges are in the order of the graph store."""
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.sampler import NeighborSampler
    g = torch.Generator().manual_seed(1)
    edges = torch.randint(0, 90, (2, 500), generator=g)
    for i, x in enumerate((torch.randint(-2 ** 40, 2 ** 40, (90, 3), generator=g), torch.rand(90, 2, generator=g) > 0.5, torch.randn(90, generator=g).double(), torch.randn(90, 2, 3, generator=g))):
        data = Data(x=x, edge_index=edges, y=torch.rand(90, generator=g), year=torch.arange(90), time=torch.arange(90) % 7, w=torch.arange(500.), edge_attr=torch.randn(500, 2), train_mask=torch.arange(90) < 9)
        outgrow.write(f"kept{i}", data)
        features, graph = outgrow.stores(f"kept{i}")
        edge = "node", "to", "node"
        assert {a.attr_name for a in features.get_all_tensor_attrs()} == {"x", "y", "year", "time", "w", "edge_attr"}  # masks would be in all batches
        index = torch.tensor([4, 0, 4, -1])
        for name in "x", "y", "year", "time", "train_mask":
            for at in index, None, slice(3, 9), 5:
                got, want = features.get_tensor("node", name, at), data[name][slice(None) if at is None else at]
                assert got.dtype == want.dtype and torch.equal(got, want), (i, name, at)
            assert tuple(features.get_tensor_size(group_name="node", attr_name=name)) == data[name].shape
        source, destination = graph.get_edge_index(edge_type=edge, layout="coo")
        order = features[edge, "w", None].long()
        assert torch.equal(torch.stack([source, destination]), edges[:, order]) and torch.equal(features[edge, "edge_attr", index], data.edge_attr[order[index]])
    with raises(ValueError, "sorted by destination, and by source time"):  # of PyTorch Geometric, which would see the future in other lists
        NeighborSampler((features, graph), [2], time_attr="time")
    outgrow.write("by-time", edge_index=edges, x=np.ones((90, 1), "f4"), node_time=np.arange(90) % 7, by_time=True)
    assert NeighborSampler(outgrow.stores("by-time"), [2], time_attr="time").node_time
    kinds = HeteroData()
    kinds["paper/a"].x, kinds["paper/a"].year, kinds["nobody"].x = torch.randn(40, 2), torch.arange(40), torch.empty(0, 5)
    kinds["paper/a", "cites", "paper/a"].edge_index, kinds["paper/a", "by", "nobody"].edge_index = torch.randint(0, 40, (2, 90)), torch.empty(2, 0, dtype=torch.long)
    kinds["paper/a", "by", "nobody"].edge_attr = torch.empty(0, 3)
    outgrow.write("kept-kinds", kinds)
    features, graph = outgrow.stores("kept-kinds")
    assert features[("paper/a", "by", "nobody"), "edge_attr", None].shape == (0, 3)
    assert torch.equal(features["paper/a", "year", None], kinds["paper/a"].year) and features["nobody", "x", None].shape == (0, 5)
    row, colptr, _ = graph.csc()
    assert list(row) == kinds.edge_types and len(row["paper/a", "by", "nobody"]) == 0 and colptr["paper/a", "by", "nobody"].tolist() == [0]


def test_homogeneous_stores():
    """As of a Data: all attributes that are listed are of nodes."""
    given = arrays_of_a_graph()
    outgrow.write("one", **given)
    features, graph = pickle.loads(pickle.dumps(outgrow.stores("one", homogeneous=True)))
    assert [(a.group_name, a.attr_name) for a in features.get_all_tensor_attrs()] == [(None, "x"), (None, "y")]
    index = torch.tensor([5, 3, 5, 1999])
    same("x", features.get_tensor(group_name=None, attr_name="x", index=index).numpy(), given["x"][index])
    same("weights", features.get_tensor(group_name=("node", "to", "node"), attr_name="edge_weight", index=None).numpy(), np.load("one/weights.npy"))
    attr, = graph.get_all_edge_attrs()
    assert attr.edge_type is None and attr.size == (2000, 2000)
    row, colptr = graph.get_edge_index(attr)
    same("row", row.numpy(), np.load("one/indices.npy").astype(np.int64))
    same("colptr", colptr.numpy(), np.load("one/indptr.npy"))
    outgrow.write("typed", edge_index={("a", "to", "b"): np.array([[0, 1], [1, 0]])}, x={"a": given["x"][:2], "b": given["x"][:2]}, y={"a": [0, 1]}, train={"a": [0]})
    with raises(outgrow.OptionError, "homogeneous", "a, b", "hint: "):
        outgrow.stores("typed", homogeneous=True)


def test_stores_without_a_type_of_seeds():
    """PyTorch Geometric's sampler takes input_nodes=ids over stores that have a type. Other samplers stay as they are."""
    from torch_geometric.data import HeteroData, TensorAttr
    from torch_geometric.sampler import NeighborSampler
    given = arrays_of_a_graph()
    outgrow.write("untyped", **given)
    features, graph = outgrow.stores("untyped")
    sampler = pickle.loads(pickle.dumps(NeighborSampler((features, graph), [2])))
    same("colptr", sampler.colptr.numpy(), np.load("untyped/indptr.npy"))
    same("row", sampler.row.numpy(), np.load("untyped/indices.npy").astype(np.int64))
    places = torch.tensor([3, 1])
    assert torch.equal(sampler.edge_permutation[places], places) and sampler.edge_permutation.get(("node", "to", "node")) is None
    index = torch.tensor([5, 3])
    got = features.multi_get_tensor([TensorAttr("node", "x", index), TensorAttr("node", "y", index)])
    same("x", got[0].numpy(), given["x"][[5, 3]])
    with raises(outgrow.OptionError, "edge_weight of edges", "homogeneous=True"):  # rows of edges by the ids of nodes
        features.multi_get_tensor([TensorAttr("node", "x", index), TensorAttr(("node", "to", "node"), "edge_weight", index)])
    without = NeighborSampler(outgrow.stores("untyped", homogeneous=True), [2])
    same("colptr", without.colptr.numpy(), np.load("untyped/indptr.npy"))
    with raises(outgrow.OptionError, "homogeneous=True", "ids alone"):
        without.colptr_dict  # noqa: B018
    other = HeteroData()
    other["a"].x, other["a", "to", "a"].edge_index = torch.ones(2, 1), torch.tensor([[0], [1]])
    assert not hasattr(NeighborSampler(other, [2]), "colptr")


def test_neighbor_loader_takes_them():
    """Where PyTorch Geometric has a sampler: rows of what it drew, and edges that are the graph's."""
    if not (typing.WITH_PYG_LIB or typing.WITH_TORCH_SPARSE):
        print("  left out: neither pyg-lib nor torch-sparse is installed")
        return
    given = arrays_of_a_graph()
    edges = set(zip(*given["edge_index"].tolist()))
    for folder, dtype in ("graph", torch.float32), ("bf16", torch.bfloat16):
        seeds = torch.from_numpy(given["train"])
        batches = loader.NeighborLoader(outgrow.stores(folder), [4, 3], ("node", seeds), batch_size=100)
        for batch, want in zip(batches, seeds.split(100), strict=True):
            node = batch["node"]
            assert torch.equal(node.n_id[:node.batch_size], want) and len(node.n_id) > node.batch_size
            assert torch.equal(node.x, torch.from_numpy(given["x"]).to(dtype)[node.n_id])
            same("y", node.y.numpy(), given["y"][node.n_id])
            drawn = node.n_id[batch["node", "to", "node"].edge_index]
            assert drawn.shape[1] > 0 and set(zip(*drawn.tolist())) <= edges
        batches = loader.NeighborLoader(outgrow.stores(folder, homogeneous=True), [4, 3], seeds, batch_size=100)
        for batch, want in zip(batches, seeds.split(100), strict=True):
            assert torch.equal(batch.n_id[:batch.batch_size], want) and torch.equal(batch.x, torch.from_numpy(given["x"]).to(dtype)[batch.n_id])
            same("y", batch.y.numpy(), given["y"][batch.n_id])
            drawn = batch.n_id[batch.edge_index]
            assert drawn.shape[1] > 0 and set(zip(*drawn.tolist())) <= edges


def test_outgrows_loaders_take_them():
    """Seeds with the type of the stores make HeteroData, as PyTorch Geometric's do. Without, and of homogeneous stores, they make Data."""
    given = arrays_of_a_graph()
    outgrow.write("named", Data(**{name: torch.from_numpy(given[name]) for name in ("x", "y", "edge_index", "edge_weight")}, note="a note"))
    seeds, edge = torch.tensor([7, 3, 99]), ("node", "to", "node")
    pair = outgrow.stores("named")
    for how in {"input_nodes": ("node", seeds)}, {"input_nodes": ["node", seeds], "num_neighbors": {edge: [-1]}}, {"input_nodes": ("node", seeds), "sampler": "labor"}:
        batch = next(iter(outgrow.NeighborLoader(pair, **{"num_neighbors": [-1], "batch_size": 3, "memory": "200M"} | how)))
        node = batch["node"]
        assert isinstance(batch, HeteroData) and batch.metadata() == (["node"], [edge]) and node.input_id.tolist() == [0, 1, 2] and batch.note == "a note"
        assert torch.equal(node.n_id[:3], seeds) and torch.equal(node.x, torch.from_numpy(given["x"])[node.n_id]) and node.num_nodes == len(node.n_id)
        same("edges", node.n_id[batch[edge].edge_index].numpy(), given["edge_index"][:, batch[edge].e_id])
        same("weights", batch[edge].edge_weight.numpy(), given["edge_weight"][batch[edge].e_id])
        assert sum(batch[edge].num_sampled_edges) == batch[edge].num_edges == np.isin(given["edge_index"][1], seeds).sum()
    links = torch.from_numpy(given["edge_index"][:, :40])
    for which, n in (edge, given["edge_index"].shape[1]), ((edge, links), 40), (("node", "node"), given["edge_index"].shape[1]):
        batches = outgrow.LinkNeighborLoader(pair, [4], which, batch_size=20, memory="200M", neg_sampling="binary")
        batch = next(iter(batches))
        assert len(batches.dataset) == n and batch[edge].edge_label.tolist() == [1.0] * 20 + [0.0] * 20
        same("links", batch["node"].n_id[batch[edge].edge_label_index[:, :20]].numpy(), given["edge_index"][:, :20])
    one = next(iter(outgrow.NeighborLoader(pair, [4], seeds, batch_size=3, memory="200M")))
    assert isinstance(one, Data) and torch.equal(one.n_id[:3], seeds)
    with raises(outgrow.OptionError, "of type 'node', of a graph without types"):
        outgrow.NeighborLoader(outgrow.stores("named", homogeneous=True), [4], ("node", seeds))


main(globals())
