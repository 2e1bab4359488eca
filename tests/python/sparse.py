#!/usr/bin/env python3
"""Sparse rows: written from torch.sparse_csr, and torch.sparse_csr or CSR arrays in batches."""
from support import arrays_of_a_graph, main, need, np, outgrow, raises, same

torch, = need("torch")


def sparse_features(values, n=2000, dim=500):
    rng = np.random.default_rng(4)
    x = rng.random((n, dim)) < np.where(np.arange(n)[:, None] % 40 == 0, 0.2, 0.02)
    return (x * {"one": 1, "u8": rng.integers(1, 9, (n, dim)), "f32": rng.standard_normal((n, dim))}[values]).astype(np.float32)


def test_batches():
    given = arrays_of_a_graph()
    for values in "one", "u8", "f32":
        x = sparse_features(values)
        x[:, -1] = 0  # the last column is known by the shape alone
        info = outgrow.write(values, **given | {"x": torch.from_numpy(x).to_sparse_csr()})
        assert info["feature_dtype"] == values and info["feature_dim"] == 500 and info["feature_entries"] > 0, info
        common = {"fanout": [4, 3], "batch": 100, "memory": "64M"}
        for more in {}, {"cache": "5%", "policy": "degree"}, {"seeds": np.tile(given["train"][:40], 3)}:
            with outgrow.Loader(values, form="arrays", **common, **more) as loader:
                for batch in loader:
                    assert batch.x.shape == (len(batch.ids), 500) and batch.dtype == "float32"
                    same("x", batch.x.dense(), x[batch.ids])
        with outgrow.Loader(values, form=lambda batch: batch, **common) as loader:
            batch = next(iter(loader))
            got = batch.x.tensor(torch)
            assert got.layout == torch.sparse_csr
            same("x", got.to_dense().numpy(), x[np.asarray(batch.ids)])


class Matrix:
    """What is used of SciPy's sparse matrices."""

    def __init__(self, x, format):
        self.x, self.format, self.shape = x, format, x.shape
        if format == "csr":
            row, self.indices = np.nonzero(x)
            self.indptr, self.data = np.searchsorted(row, np.arange(len(x) + 1)), x[row, self.indices]

    def tocsr(self):
        return Matrix(self.x, "csr")


def test_matrices():
    """Sparse matrices of other layouts, and types with them, become the dataset of their CSR."""
    given, x = arrays_of_a_graph(), sparse_features("f32")
    given = {key: given[key] for key in ("edge_index", "y", "train")}
    want = outgrow.write("csr", x=torch.from_numpy(x).to_sparse_csr(), **given)
    for name, matrix in ("coo", torch.from_numpy(x).to_sparse()), ("csc", Matrix(x, "csc")), ("scipy-csr", Matrix(x, "csr")):
        info = outgrow.write(name, x=matrix, **given)
        assert info["feature_entries"] == want["feature_entries"] and open(f"{name}/features.npy", "rb").read() == open("csr/features.npy", "rb").read()
    with raises(outgrow.OptionError, "edge_index: a sparse matrix", "tocoo()"):
        outgrow.write("refused", **given | {"edge_index": Matrix(x, "coo")}, x=x)
    typed = {key: {"a": value} for key, value in given.items() if key != "edge_index"} | {"edge_index": {("a", "to", "b"): given["edge_index"]}}
    outgrow.write("typed", x={"a": Matrix(x, "csc"), "b": np.ones((2000, 3), np.float32)}, **typed)
    with outgrow.Loader("typed", fanout=[3], batch=100, memory="64M", form="arrays") as loader:
        for batch in loader:
            same("x of a", batch.types["a"].x.dense(), x[batch.types["a"].ids])


def test_pyg():
    need("torch_geometric.data")
    x = sparse_features("f32")
    with outgrow.Loader("f32", fanout=[4, 3], batch=200) as loader:
        for batch in loader:
            assert batch.x.layout == torch.sparse_csr
            weight = torch.randn(500, 8)
            x[:, -1] = 0
            assert torch.allclose(batch.x @ weight, torch.from_numpy(x[batch.n_id.numpy()]) @ weight, atol=1e-4)


def test_stores():
    need("torch_geometric.typing")
    features, _ = outgrow.stores("u8")
    index = torch.tensor([5, 3, 5, 1999])
    x = sparse_features("u8")
    x[:, -1] = 0
    same("x", features.get_tensor(group_name="node", attr_name="x", index=index).numpy(), x[index.numpy()])
    assert features.get_tensor_size(group_name="node", attr_name="x") == (2000, 500)


main(globals())
