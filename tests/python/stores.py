#!/usr/bin/env python3
"""The dataset as PyTorch Geometric's stores give it."""
from support import arrays_of_a_graph, main, need, np, outgrow, raises, same

torch, _ = need("torch", "torch_geometric")


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
        assert {(a.group_name, a.attr_name) for a in features.get_all_tensor_attrs()} == {("node", "x"), ("node", "y")}
        attr, = graph.get_all_edge_attrs()
        row, colptr = graph.get_edge_index(attr)
        same("row", row.numpy(), np.load(f"{folder}/indices.npy").astype(np.int64))
        same("colptr", colptr.numpy(), np.load(f"{folder}/indptr.npy"))
        row, colptr, _ = graph.csc()
        assert list(row) == [("node", "to", "node")]
    with raises(outgrow.FileError, "nowhere"):
        outgrow.stores("nowhere")


main(globals())
