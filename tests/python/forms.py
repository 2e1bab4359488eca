#!/usr/bin/env python3
"""The forms that batches come in say the same, and are the loader's memory, not copies."""
from support import arrays_of_a_graph, main, need, np, outgrow, raises, same

torch, _ = need("torch", "torch_geometric")
OPTIONS = {"fanout": [4, 3], "batch": 150, "epochs": 1, "seed": 5}
ONCE = {"draw": "once"}


def test_pyg_is_what_neighbor_loader_yields():
    outgrow.write("graph", **arrays_of_a_graph())
    x = np.load("graph/features.npy")
    labels = np.load("graph/labels.npy")
    with outgrow.Loader("graph", **OPTIONS) as loader, \
            outgrow.Loader("graph", form="arrays", **OPTIONS | ONCE) as plain:
        for data, batch in zip(loader, plain, strict=True):
            same("n_id", data.n_id.numpy(), batch.ids)
            same("x", data.x.numpy(), x[batch.ids])
            same("y", data.y.numpy(), labels[batch.ids[:batch.n_seeds]])
            same("edges", data.edge_index.numpy(), batch.edge_index)
            assert data.batch_size == batch.n_seeds
            assert sum(data.num_sampled_nodes) == data.num_nodes and sum(data.num_sampled_edges) == data.num_edges
            assert data.num_sampled_nodes[0] == batch.n_seeds and len(data.num_sampled_nodes) == 3


def test_trimming_leaves_the_result():
    """trim_to_layer drops what later layers do not need. Only where nodes draw once do the seeds need none of it."""
    from torch_geometric.nn import SAGEConv
    from torch_geometric.utils import trim_to_layer
    torch.manual_seed(1)
    layers = torch.nn.ModuleList([SAGEConv(24, 8), SAGEConv(8, 5)])

    def forward(data, trim):
        x, edges = data.x, data.edge_index
        for i, layer in enumerate(layers):
            if trim:
                x, edges, _ = trim_to_layer(i, data.num_sampled_nodes, data.num_sampled_edges, x, edges)
            x = layer(x, edges)
        return x[:data.batch_size]

    with outgrow.Loader("graph", **OPTIONS) as loader:
        for data in loader:
            assert torch.allclose(forward(data, False), forward(data, True), atol=1e-5)


def test_adjs_are_blocks():
    with outgrow.Loader("graph", form="adjs", **OPTIONS) as loader, \
            outgrow.Loader("graph", form="arrays", **OPTIONS) as plain:
        for (batch_size, n_id, adjs, x, y), batch in zip(loader, plain, strict=True):
            same("n_id", n_id.numpy(), batch.ids)
            same("x", x.numpy(), batch.x)
            same("y", y.numpy(), batch.y)
            assert batch_size == batch.n_seeds
            for adj, hop in zip(adjs, reversed(batch.hops), strict=True):
                same("edges", adj.edge_index.numpy(), np.stack([hop.src, hop.dst]))
                assert adj.size == (hop.n_src, hop.n_dst)
                assert adj.edge_index[0].max() < adj.size[0] and adj.edge_index[1].max() < adj.size[1]
                assert torch.equal(adj.to("cpu").edge_index, adj.edge_index) and adj.to("cpu").size == adj.size
    with outgrow.Loader("graph", form="adjs", **OPTIONS | {"fanout": [4]}) as loader:
        for batch_size, _, (edge_index, _, size), _, _ in loader:  # one hop is not in a list
            assert size[1] == batch_size and edge_index[1].max() < batch_size


def test_weights_stand_beside_edges():
    options = OPTIONS | {"sampler": "walk", "fanout": [1, 1], "neighbors": 3}
    for draw in ONCE, {"draw": "each"}:
        with outgrow.Loader("graph", **options | draw) as loader:
            for data in loader:
                assert data.edge_weight.shape == (data.num_edges,)
                sums = torch.zeros(data.num_nodes).index_add(0, data.edge_index[1], data.edge_weight)
                per_node = 1 if draw.get("draw") == "once" else 2  # a seed draws in each of two hops
                fed = torch.zeros(data.num_nodes, dtype=torch.bool).index_fill(0, data.edge_index[1], True)[:data.batch_size]
                assert torch.allclose(sums[:data.batch_size][fed], torch.full((int(fed.sum()),), float(per_node)), atol=1e-5)


def test_memory_is_shared_not_copied():
    with outgrow.Loader("graph", **OPTIONS) as loader:
        loader._form = lambda batch: batch
        batch = next(iter(loader))
        x = batch.x
        tensor, array = torch.from_dlpack(x), np.asarray(x)
        assert tensor.data_ptr() == array.ctypes.data and array.flags.writeable
        array[0, 0] = 42
        assert tensor[0, 0] == 42
        copy = x.__dlpack__(copy=True)
        assert torch.utils.dlpack.from_dlpack(copy).data_ptr() != tensor.data_ptr()
        assert repr(x.__dlpack__(max_version=(1, 0))).startswith('<capsule object "dltensor_versioned"')
        assert repr(x.__dlpack__(max_version=(0, 8))).startswith('<capsule object "dltensor"')
        assert x.__dlpack_device__() == (1, 0) and x.shape == array.shape and x.dtype == "float32" and len(x) == len(array)
        with raises(BufferError, "CPU"):
            x.__dlpack__(dl_device=(2, 0))
        with raises(ValueError, "stream"):
            x.__dlpack__(stream=1)
        with raises(TypeError):
            type(x)()
        flat = memoryview(x).cast("B")
        assert flat.nbytes == array.nbytes


def test_batches_outlive_the_loader():
    loader = outgrow.Loader("graph", max_held=3, **OPTIONS)
    kept = [data for data, _ in zip(loader, range(3))]
    sums = [data.x.sum() for data in kept]
    loader.close()
    del loader
    assert [data.x.sum() for data in kept] == sums


def test_bf16():
    outgrow.write("bf16", feature_dtype="bf16", **arrays_of_a_graph())
    x = torch.from_numpy(np.load("bf16/features.npy").view(np.int16)).view(torch.bfloat16)
    with outgrow.Loader("bf16", **OPTIONS) as loader:
        for data in loader:
            assert data.x.dtype == torch.bfloat16 and torch.equal(data.x, x[data.n_id])


def test_links():
    with outgrow.Loader("graph", task="link", fanout=[3], batch=500, epochs=1) as loader:
        for data in loader:
            assert data.edge_label_index.shape == (2, len(data.edge_label)) and set(data.edge_label.tolist()) == {0, 1}


main(globals())
