""".npy files, the way back, and real graphs."""
import os
import shutil

import numpy as np

from formats.support import csc, graph, imported, neutral, refused, rng, run, same_graph, same_nodes, save


def edge_layouts(src, dst):
    """What edges.npy may be, by name. np.save writes an array in Fortran order as it is in memory."""
    for kind in "int32", "int64":
        pairs, index = np.stack([src, dst], 1).astype(kind), np.stack([src, dst]).astype(kind)
        yield f"[E,2] {kind}", pairs
        yield f"[2,E] {kind}", index
        yield f"[E,2] {kind}, Fortran order", index.T
        yield f"[2,E] {kind}, Fortran order", pairs.T


def test_npy():
    """Edges as rows of two or as PyTorch Geometric's edge_index, in several pieces; few edges; what is wrong."""
    g = graph(3000, 150000)
    src, dst, n = g["src"], g["dst"], g["n"]
    weight = rng.random(150000).astype(np.float32)
    alike = (src * dst % 97).astype(np.float32)  # of an edge and its reverse
    neutral("plain", g)
    orders = set()
    for name, edges in edge_layouts(src, dst):
        print(name, flush=True)
        neutral("src", g, edges=edges, edge_weight=weight)
        save("plain/edges.npy", edges)
        orders.add((np.load("src/edges.npy", mmap_mode="r").flags.f_contiguous, edges.shape[0] == 2))
        for flags, rules in [([], {}), (["--drop-self-loops"], {"loops": False}), (["--drop-duplicates"], {"once": True})]:
            same_graph(imported("npy", "src", *flags), csc(src, dst, n, weight, **rules), True)
        got = imported("npy", "src", "--reverse")
        same_graph(got, csc(dst, src, n, weight), True)
        same_nodes(got, g, g["label"])
        save("src/edge_weight.npy", alike)
        for root in "src", "plain":
            want = csc(src, dst, n, alike, both=True, once=True)
            same_graph(imported("npy", root, "--symmetrize"), want, root == "src")
    assert len(orders) == 4
    # few edges; two of them are a row an edge, in whatever order they lie
    for e in 1, 2, 3:
        src, dst = np.arange(e) + 5, np.arange(e) * 2
        for name, edges in edge_layouts(src, dst):
            if e != 2 or name.startswith("[E"):
                save("plain/edges.npy", edges)
                same_graph(imported("npy", "plain"), csc(src, dst, n))
    save("plain/edges.npy", np.array([[1, 2], [3, 4]]))
    same_graph(imported("npy", "plain"), csc([1, 3], [2, 4], n))
    for edges, *words in [(np.zeros((2, 0), int), "no edges"), (np.zeros((3, 4), int), "[3, 4]", "[2, E]"),
                          (np.zeros((3, 4), int).T, "[4, 3]", "[2, E]"), (np.zeros(2, int), "[2, 1]"),
                          (np.zeros((2, 5)), "float64"), (np.array([[0, 1, n], [0, 0, 0]]), "row 2", f"node {n}"),
                          (np.array([[0, 1, 2], [0, -7, 0]]), "row 1", "node -7"),
                          (np.zeros((2, 2, 2), int), "3 dimensions")]:
        save("plain/edges.npy", edges)
        refused("npy", "plain", *words)
    save("src/edges.npy", np.zeros((2, 149999), int))
    refused("npy", "src", "150000 weights for 149999 edges")
    save("plain/edges.npy", np.zeros((2, 5000), int))
    os.truncate("plain/edges.npy", 79000)
    refused("npy", "plain", "promises")
    one_node()


def one_node():
    """The smallest graph there is goes all the way: trained on, sampled, and its samples verified."""
    one = np.zeros(1, np.int64)
    neutral("one", {"src": one, "dst": one, "feat": np.ones((1, 3), np.float32), "label": one, "train": one,
                    "valid": one, "test": one})
    run("import", "npy", "one", "d", "--quiet", "--memory", "64M")
    run("train", "d", "--run", "r", "--epochs", "1", "--fanout", "2", "--memory", "100M")
    run("sample", "d", "--out", "s", "--epochs", "1", "--fanout", "2", "--memory", "100M")
    run("verify", "s", "--dataset", "d")
    for folder in "d", "r", "s":
        shutil.rmtree(folder)


def test_export():
    g = graph(3000, 150000)
    weight = rng.random(150000).astype(np.float32)
    neutral("src", g, edge_weight=weight)
    want = csc(g["src"], g["dst"], g["n"], weight)
    for flags, feat in ([], g["feat"]), (["--feature-dtype", "bf16"], None), (["--in-place"], g["feat"]):
        run("import", "npy", "src", "d", "--quiet", "--memory", "64M", *flags)
        for fmt in "npy", "graphbolt":
            run("export", fmt, "d", "exported", "--quiet")
            if fmt == "npy":
                pairs, feat_file = np.load("exported/edges.npy"), "exported/feat.npy"
                np.testing.assert_array_equal(pairs[:, 0], want[1])
                np.testing.assert_array_equal(pairs[:, 1], np.repeat(np.arange(g["n"]), np.diff(want[0])))
                np.testing.assert_array_equal(np.load("exported/edge_weight.npy"), want[2])
                np.testing.assert_array_equal(np.load("exported/label.npy"), g["label"])
            else:
                two, feat_file = np.load("exported/edges/edges.npy"), "exported/data/feat.npy"
                np.testing.assert_array_equal(two, pairs.T)
                for split in "train", "valid", "test":
                    np.testing.assert_array_equal(np.load(f"exported/set/{split}_seeds.npy"), g[split])
                    np.testing.assert_array_equal(np.load(f"exported/set/{split}_labels.npy"), g["label"][g[split]])
            kept = np.load(feat_file)
            assert kept.dtype == np.float32
            if feat is not None:
                np.testing.assert_array_equal(kept, feat)
            else:
                np.testing.assert_allclose(kept, g["feat"], rtol=2**-8)
            if feat is not None:
                got = imported(fmt, "exported")
                same_graph(got, want, weighted=True)
                for split in "train", "valid", "test":
                    np.testing.assert_array_equal(got[split], g[split])
                    np.testing.assert_array_equal(got["labels"][g[split]], g["label"][g[split]])
            shutil.rmtree("exported")
        shutil.rmtree("d")
    # several labels a node
    g["label"] = rng.integers(0, 2, (g["n"], 5)).astype(np.float32)
    neutral("src", g)
    run("import", "npy", "src", "d", "--quiet", "--memory", "64M")
    run("export", "graphbolt", "d", "exported", "--quiet")
    got = imported("graphbolt", "exported")
    np.testing.assert_array_equal(got["labels"][g["test"]], g["label"][g["test"]])
    assert "hint: npy or graphbolt" in run("export", "parquet", "d", "e", status=1).stderr
    assert not [f for f in os.listdir(".") if f.startswith("e.")]


def test_real():
    """Graphs of OUTGROW_DATA."""
    root = os.environ.get("OUTGROW_DATA", "")
    for name in "cora", "amazon-computers", "tolokers", "debian-packages":
        src = f"{root}/{name}"
        if not os.path.isdir(src):
            continue
        a = {f[:-4]: np.load(f"{src}/{f}") for f in os.listdir(src) if f.endswith(".npy")}
        n = len(a["label"])
        if "feat" not in a:
            a["feat"] = np.zeros((n, a["feat_indices"].max() + 1), np.float32)
            a["feat"][np.repeat(np.arange(n), np.diff(a["feat_indptr"])), a["feat_indices"]] = a["feat_data"]
        edges, weight = a["edges"], a.get("edge_weight")
        got = imported("npy", src, "--drop-types")
        same_graph(got, csc(edges[:, 0], edges[:, 1], n, weight), weight is not None)
        np.testing.assert_array_equal(got["features"], a["feat"])
        np.testing.assert_array_equal(got["labels"], np.where(a["label"] < 0, -1, a["label"]))
        for split in "train", "valid", "test":
            np.testing.assert_array_equal(got[split], a[split])
        run("import", "npy", src, "d", "--quiet", "--memory", "64M", "--drop-types")
        run("export", "npy", "d", "back", "--quiet")
        shutil.rmtree("d")
        back = imported("npy", "back")
        for key in got:
            if key != "meta":
                np.testing.assert_array_equal(back[key], got[key])
        shutil.rmtree("back")
        # the same graph as an edge list
        np.savetxt("edges.txt", edges, "%d")
        known, renamed = np.unique(edges, return_inverse=True)
        renamed = renamed.reshape(-1, 2)
        same_graph(imported("edgelist", "edges.txt"), csc(renamed[:, 0], renamed[:, 1], len(known)))


def scipy_archive(path, x, compressed=True, **other):
    """What scipy.sparse.save_npz writes of x in CSR."""
    rows, columns = np.nonzero(x)
    indptr = np.r_[0, np.cumsum((x != 0).sum(1))].astype(np.int32)
    (np.savez_compressed if compressed else np.savez)(path, **{"indices": columns.astype(np.int32), "indptr": indptr, "format": np.array(b"csr"), "shape": np.array(x.shape),
                                                               "data": x[rows, columns], **other})


def test_archives():
    """feat.npz of SciPy is feat.npy. What it is not is said."""
    g = graph(900, 5000)
    x = np.where(rng.random((900, 900)) < 0.02, rng.random((900, 900)), 0).astype(np.float32)
    x[:, 895:] = 0  # the width is that of `shape`
    neutral("zip", {**g, "feat": x})
    want = imported("npy", "zip")
    os.remove("zip/feat.npy")
    for compressed in True, False:
        for flags in [], ["--memory", "24M"]:
            scipy_archive("zip/feat.npz", x, compressed)
            got = imported("npy", "zip", *flags)
            np.testing.assert_array_equal(got["features"], x)
            same_nodes(got, {**g, "feat": x}, g["label"])
            assert all(np.array_equal(got[k], want[k]) for k in want if k != "meta")
    for other, *words in [({"format": np.array(b"csc")}, "feat.npz: no matrix in CSR", "tocsr()"), ({"indices": np.arange(5)}, "5 indices"),
                          ({"shape": np.array([900, 7])}, "900, 7"), ({"indptr": np.r_[np.arange(900), 4]}, "belong together"),
                          ({"indptr": np.zeros(900)}, "whole numbers")]:
        scipy_archive("zip/feat.npz", x, **other)
        refused("npy", "zip", *words)
    np.savez("zip/feat.npz", x)
    refused("npy", "zip", "feat.npz: no matrix in CSR")
    with open("zip/feat.npz", "wb") as f:
        f.write(b"PK not an archive")
    refused("npy", "zip", "feat.npz")
    os.remove("zip/feat.npz")
    refused("npy", "zip", "no features", "feat.npz by scipy.sparse.save_npz")
