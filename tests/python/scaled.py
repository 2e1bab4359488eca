#!/usr/bin/env python3
"""Features with a scale per column, i8 and e4m3, are floats in batches and stores."""
from support import arrays_of_a_graph, main, need, np, outgrow, same

torch, = need("torch")
DTYPES = "i8", "e4m3"


def floats(folder, end=""):
    q, scale = np.load(f"{folder}/features{end}.npy"), np.load(f"{folder}/feature_scales{end}.npy")
    return (q if q.dtype == np.int8 else np.vectorize(of_e4m3, [np.float32])(q)).astype(np.float32) * scale


def of_e4m3(byte):
    exponent, mantissa = int(byte) >> 3 & 15, int(byte) & 7
    return (-1 if byte & 128 else 1) * (2.0 ** (exponent - 7) * (1 + mantissa / 8) if exponent else 2.0**-6 * mantissa / 8)


def near(x, got, dtype):
    scale = np.abs(x).max(0) / 127
    return (np.abs(x - got) <= (scale / 2 if dtype == "i8" else np.maximum(np.abs(x) / 16, scale / 1024)) * 1.0001).all()


def test_batches():
    given = arrays_of_a_graph()
    outgrow.write("wide", feature_scales=True, **given)
    for dtype in DTYPES:
        info = outgrow.write(dtype, feature_dtype=dtype, **given)
        assert info["feature_dtype"] == dtype
        x = floats(dtype)
        assert near(given["x"], x, dtype)
        common = {"fanout": [4, 3], "batch": 100, "form": "arrays", "memory": "64M"}
        repeated = {"seeds": np.tile(given["train"][:40], 3)}
        for more in {}, {"cache": "5%", "policy": "degree"}, repeated, {"draw": "each"}:
            for dataset, narrow in (dtype, {}), ("wide", {"pack_dtype": dtype}):
                with outgrow.Loader(dataset, **common, **more, **narrow) as loader:
                    for batch in loader:
                        assert batch.dtype == "float32" and batch.x.dtype == np.float32
                        same("x", batch.x, x[batch.ids])


def test_chunks():
    """Iterators are read once, and then from the disk."""
    given = arrays_of_a_graph()
    for dtype in DTYPES:
        outgrow.write(f"{dtype}-chunks", feature_dtype=dtype, **given | {"x": iter(np.array_split(given["x"], 7))})
        for name in "features", "feature_scales":
            same(name, np.load(f"{dtype}/{name}.npy"), np.load(f"{dtype}-chunks/{name}.npy"))


def test_types():
    rng, sizes = np.random.default_rng(3), {"paper": 300, "author": 200}
    edges = {("paper", "cites", "paper"): rng.integers(0, 300, (2, 900)), ("author", "writes", "paper"): np.stack([rng.integers(0, 200, 700), rng.integers(0, 300, 700)])}
    x = {name: (rng.standard_normal((n, 5 + n % 7)) * n).astype(np.float32) for name, n in sizes.items()}
    for dtype in DTYPES:
        outgrow.write(f"{dtype}-types", edge_index=edges, x=x, y={"paper": rng.integers(0, 3, 300)}, train={"paper": np.arange(0, 300, 2)}, feature_dtype=dtype)
        want = {name: floats(f"{dtype}-types", f"_{t}") for t, name in enumerate(sizes)}
        with outgrow.Loader(f"{dtype}-types", fanout=[4, 3], batch=50, form="arrays") as loader:
            for batch in loader:
                for name, nodes in batch.types.items():
                    assert near(x[name], want[name], dtype)
                    same(name, nodes.x, want[name][nodes.ids])


def test_stores():
    need("torch_geometric.typing")
    for dtype in DTYPES:
        features, _ = outgrow.stores(dtype)
        index = torch.tensor([5, 3, 5, 1999])
        got = features.get_tensor(group_name="node", attr_name="x", index=index)
        same("x", got.numpy(), floats(dtype)[index.numpy()])


main(globals())
