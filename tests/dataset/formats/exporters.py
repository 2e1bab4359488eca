"""DGL and PyTorch Geometric, by stand-ins: the scripts use nothing but what these have."""
import contextlib
import io
import json
import os
import shutil
import sys

import numpy as np

from formats.support import csc, graph, imported, neutral, rng, run, same_graph, same_nodes, write


class Tensor:
    def __init__(self, array):
        self.array = np.asarray(array)

    def numpy(self):
        return self.array


class Bag:
    def __init__(self, **things):
        self.__dict__.update(things)


def test_export_of_values_and_edges():
    """Values stay values, and lists of edges and `symmetric` come back."""
    g = graph()
    for columns in 1, 2:
        values = rng.normal(size=(g["n"], columns)).astype(np.float32)
        values[g["train"][0]] = np.nan
        lists = {s: rng.integers(0, g["n"], (7, 2)) for s in ("train", "valid", "test")}
        neutral("src", {**g, "label": values}, **{s + "_edges": a for s, a in lists.items()})
        with open("src/meta.json", "w") as f:
            json.dump({"task": "node regression"}, f)
        run("import", "npy", "src", "d", "--quiet", "--symmetrize")
        for fmt in "npy", "graphbolt":
            run("export", fmt, "d", "exported", "--quiet")
            want = values.copy()
            if fmt == "graphbolt":
                for split in lists:
                    np.testing.assert_array_equal(np.load(f"exported/set/{split}_labels.npy"), values[g[split]])
                want[~np.isin(np.arange(g["n"]), np.concatenate([g[s] for s in lists]))] = np.nan
            got = imported(fmt, "exported")
            assert got["meta"]["task"] == "node regression" and not got["meta"]["multi_label"]
            np.testing.assert_array_equal(got["labels"], want)
            if fmt == "npy":
                assert got["meta"]["symmetric"]
                for split in lists:
                    np.testing.assert_array_equal(got[split + "_edges"], lists[split])
            shutil.rmtree("exported")
        shutil.rmtree("d")
        shutil.rmtree("src")


def test_what_graphbolt_leaves_out():
    """Labels of nodes in no split and names of features are named, where there are any."""
    g = graph()
    outside = ~np.isin(np.arange(g["n"]), np.concatenate([g[s] for s in ("train", "valid", "test")]))
    for values, none in (g["label"], -1), (rng.normal(size=g["n"]).astype(np.float32), np.nan):
        for labelled in None, np.flatnonzero(outside)[-1]:
            label = np.where(outside & (np.arange(g["n"]) != labelled), none, values).astype(values.dtype)
            neutral("src", {**g, "label": label})
            of_graph = {"task": "node regression"} if values.dtype == np.float32 else {}
            with open("src/meta.json", "w") as f:
                json.dump(of_graph | ({"feature_names": list("abcdef")} if labelled is None else {}), f)
            run("import", "npy", "src", "d", "--quiet")
            said = run("export", "graphbolt", "d", "exported").stderr
            assert ("labels of nodes in no split" in said) == (labelled is not None), said
            assert ("names of features" in said) == (labelled is None), said
            for folder in "src", "d", "exported":
                shutil.rmtree(folder)


def test_export_without_labels():
    """What `export npy` writes of a graph without labels is accepted, and a message names the missing labels."""
    write("edges.txt", "0 1\n1 2\n2 0\n")
    run("import", "edgelist", "edges.txt", "d", "--quiet")
    run("export", "npy", "d", "exported", "--quiet")
    assert not os.path.exists("exported/label.npy")
    got = imported("npy", "exported")
    assert "labels" not in got and got["meta"]["num_classes"] == 0 and (got["features"] == 1).all()
    same_graph(got, csc([0, 1, 2], [1, 2, 0], 3))
    assert "no label.npy" in run("import", "npy", "exported", "again").stderr


def what_is_not_exported(export_pyg, export_dgl, g):
    """Masks that are none of the nodes are refused by name; other attributes are named on stderr."""
    mask = np.arange(g["n"]) % 3 == 0
    pyg = {"edge_index": Tensor(np.stack([g["src"], g["dst"]])), "x": Tensor(g["feat"]), "y": Tensor(g["label"])}
    nodes = {"feat": Tensor(g["feat"]), "label": Tensor(g["label"])}

    def dgl(more, edata):
        return Bag(edges=lambda order: (Tensor(g["src"]), Tensor(g["dst"])), ndata=nodes | more, edata=edata)
    for wrong in np.stack([mask, mask], 1), mask[1:], mask + 0.5:
        for name in "train_mask", "val_mask", "test_mask":
            for export, of in (export_pyg.export, Bag(**pyg, **{name: Tensor(wrong)})), (export_dgl.export, dgl({name: Tensor(wrong)}, {})):
                try:
                    export(of, "refused")
                except ValueError as error:
                    assert str(error).startswith(f"{name}: ") and "choose one" in str(error), error
                else:
                    raise AssertionError(name)
                assert not os.path.exists("refused")
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        export_pyg.export(Bag(**pyg, train_mask=Tensor(mask.astype(np.uint8)), edge_attr=Tensor(mask), pos=Tensor(mask), num_nodes=g["n"], of_none=None), "more-pyg")
        export_dgl.export(dgl({"train_mask": Tensor(mask), "pos": Tensor(mask)}, {"time": Tensor(mask)}), "more-dgl")
    assert said.getvalue() == "export_pyg: not exported: pos\nexport_dgl: not exported: pos, time\n", said.getvalue()
    assert np.array_equal(np.load("more-pyg/edge_attr.npy"), mask)
    for name in "more-pyg", "more-dgl":
        assert np.array_equal(np.load(f"{name}/train.npy"), np.flatnonzero(mask))


def test_exporters():
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples"))
    import export_dgl
    import export_pyg
    import mag240m_splits
    g = graph()
    weight = rng.random(4000).astype(np.float32)
    masks = {f"{split}_mask": Tensor(np.isin(np.arange(g["n"]), g[ours]))
             for split, ours in (("train", "train"), ("val", "valid"), ("test", "test"))}
    for split in "train", "valid", "test":
        g[split] = np.sort(g[split])
    export_dgl.export(Bag(edges=lambda order: (Tensor(g["src"]), Tensor(g["dst"])),
                          ndata={"feat": Tensor(g["feat"]), "label": Tensor(g["label"]), **masks},
                          edata={"weight": Tensor(weight)}), "dgl")
    export_pyg.export(Bag(edge_index=Tensor(np.stack([g["src"], g["dst"]])), x=Tensor(g["feat"]),
                          y=Tensor(g["label"]), edge_weight=Tensor(weight), **masks), "pyg")
    for name in "dgl", "pyg":
        got = imported("npy", name)
        same_graph(got, csc(g["src"], g["dst"], g["n"], weight), True)
        same_nodes(got, g, g["label"])
    what_is_not_exported(export_pyg, export_dgl, g)
    mag240m_splits.save({"train": [1, 2], "valid": [3], "test-dev": [4], "test-challenge": [5]}, ".")
    assert [np.load(f"{s}.npy").tolist() for s in ("train", "valid", "test")] == [[1, 2], [3], [4]]
