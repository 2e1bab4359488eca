#!/usr/bin/env python3
"""Files as other programs write them, and names that have two forms. Each has its meaning, or a message that says what to do.

    import_others.py OUTGROW      exits 77 where there is no NumPy
"""
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = os.path.abspath(sys.argv[1])
rng = np.random.default_rng(3)
N, E = 60, 400
EDGES, FEAT, LABEL = rng.integers(0, N, (E, 2)), rng.standard_normal((N, 3)).astype(np.float32), np.arange(N) % 3
TRAIN = ["--fanout", "2,2", "--hidden", "8", "--epochs", "1", "--memory", "128M"]


def run(*words):
    return subprocess.run([OUTGROW, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)


def arrays(**files):
    shutil.rmtree("src", ignore_errors=True)
    os.makedirs("src")
    for name, array in ({"edges": EDGES, "feat": FEAT, "label": LABEL} | files).items():
        if array is not None:
            np.save(f"src/{name}.npy", array)


def text(name, *lines):
    os.makedirs("src", exist_ok=True)
    with open(f"src/{name}", "w") as f:
        f.writelines(line + "\n" for line in lines)


def taken(*words, path="src"):
    """Arrays of the dataset, and what was said."""
    shutil.rmtree("out", ignore_errors=True)
    done = run("import", *words, path, "out")
    assert done.returncode == 0, (words, done.stderr)
    return {f[:-4]: np.load(f"out/{f}") for f in os.listdir("out") if f.endswith(".npy")}, done.stderr


def refused(*words, path="src"):
    shutil.rmtree("out", ignore_errors=True)
    done = run("import", *words, path, "out")
    assert done.returncode == 1 and "hint: " in done.stderr and not os.path.exists("out"), done
    return done.stderr


def lists_of_typed_edges():
    """Lists for validation have relations under both names. The nodes' types decide where edges have none."""
    kinds, held = np.arange(E) % 2, EDGES[:40]
    node_type = (np.arange(N) >= N // 2).astype(int)
    for edge_type in kinds, None:
        got = {}
        for name in "valid", "val":
            types = {} if edge_type is None else {f"{name}_edge_type": kinds[:40]}
            arrays(node_type=node_type, edge_type=edge_type, **{f"{name}_edges": held}, **types)
            got[name], said = taken("npy")
            assert np.array_equal(got[name]["valid_edges"], held) and "not read" not in said, said
        relations = [got[name]["valid_edge_relations"] for name in got]
        ends = node_type[held] @ [2, 1] + (0 if edge_type is None else 4 * kinds[:40])
        assert np.array_equal(*relations) and np.array_equal(np.unique(ends, return_inverse=True)[1], np.unique(relations[0], return_inverse=True)[1])
    arrays(node_type=node_type, edge_type=kinds, val_edges=held, val_edge_type=kinds[:40], valid_edge_type=kinds[:40])
    assert "both valid_edge_type.npy and val_edge_type.npy" in refused("npy")
    arrays(node_type=node_type, edge_type=kinds, val_edges=held)
    assert "valid_edges.npy: no valid_edge_type.npy says of which relations" in taken("npy")[1]
    arrays(node_type=2 * node_type)
    assert "type 'type_1': 0 nodes" in refused("npy") and "number types without gaps" in refused("npy")


def lists_in_any_form():
    """Lists of edges may be transposed, and have OGB's names. Without one to train on, that is the graph. Held-out edges in the graph are found."""
    edges = np.random.default_rng(5).permutation(np.unique(EDGES, axis=0))
    rest, held = edges[:-70], {"valid": edges[-70:-40], "test": edges[-40:]}
    for form in (lambda e: e, np.asfortranarray, lambda e: e.T.copy(), lambda e: np.asfortranarray(e.T)):
        arrays(edges=form(rest), valid_pos=form(held["valid"]), test_pos=form(held["test"]), valid_neg=EDGES[:50])
        got, said = taken("npy")
        assert np.array_equal(got["train_edges"], rest) and "edges.npy: all are training edges" in said, said
        assert all(np.array_equal(got[f"{name}_edges"], of) for name, of in held.items()) and np.array_equal(got["valid_neg_edges"], EDGES[:50])
        shutil.rmtree("r", ignore_errors=True)
        done = run("train", "out", *TRAIN, "--task", "link", "--run", "r")
        assert done.returncode == 0 and "looked at" not in done.stderr, done.stderr
    arrays(edges=edges, train_pos=rest, valid_pos=held["valid"][:2].T, test_pos=held["test"])
    got, said = taken("npy")
    assert np.array_equal(got["train_edges"], rest) and np.array_equal(got["valid_edges"], held["valid"][:2].T) and "all are" not in said, said
    shutil.rmtree("r", ignore_errors=True)
    done = run("train", "out", *TRAIN, "--task", "link", "--run", "r")
    n = len(held["test"])
    assert done.returncode == 0 and f"test_edges.npy: {n} of {n} edges looked at are in the graph too" in done.stderr, done.stderr
    arrays(edges=rest, valid_pos=held["valid"], valid_edges=held["valid"])
    assert "both valid_edges.npy and valid_pos.npy" in refused("npy")
    arrays(edges=rest, valid_pos=held["valid"].repeat(2, 1))
    assert "one row an edge: src, dst" in refused("npy")
    node_type = (np.arange(N) >= N // 2).astype(int)
    kind = node_type[EDGES] @ [2, 1]
    arrays(edges=EDGES, node_type=node_type, edge_type=kind, train_edges=EDGES[:99], train_edge_type=kind[:99], valid_edges=EDGES[99:160], valid_edge_type=kind[99:160])
    taken("npy")
    shutil.rmtree("r", ignore_errors=True)
    done = run("train", "out", *TRAIN, "--task", "link", "--run", "r")
    assert "valid_edges.npy: 61 of 61 edges looked at are in the graph too" in done.stderr, done.stderr


def labels_of_edges():
    """True and false are classes, as in labels of nodes. Floats are values, which is said."""
    for labels, form, says in (LABEL[:40] > 0, "int64", False), (LABEL[:40], "int64", False), (LABEL[:40] / 1., "float32", True), (np.eye(3, dtype=bool)[LABEL[:40]], "float32", False):
        arrays(train_edges=EDGES[:40], train_edge_labels=labels)
        got, said = taken("npy")
        assert got["train_edge_labels"].dtype == form and np.array_equal(got["train_edge_labels"], labels), form
        assert ("floats are values, for regression; for classes store array.astype('int64')" in said) == says, said


def splits_by_name():
    """Splits that share a node are named, and the node by its id. One file may have all of them."""
    shutil.rmtree("src", ignore_errors=True)
    text("edges.csv", "src,dst", "10,20", "20,30", "30,10")
    text("nodes.csv", "id,x,label,train_mask,val_mask,test_mask", "10,1,0,1,0,0", "20,2,1,1,1,0", "30,3,,0,1,1")
    said = taken()[1]
    for words in "nodes.csv: 1 valid node is a train node of nodes.csv too, id 20 for one", "1 test node is a valid node of nodes.csv too, id 30 for one", "1 of 2 nodes have no label (valid)":
        assert words in said, (words, said)
    arrays(train=[1, 2, 3], valid=[3, 2, 5])
    assert "valid.npy: 2 valid nodes are train nodes of train.npy too, node 2 for one" in taken("npy")[1]
    shutil.rmtree("src", ignore_errors=True)
    text("edges.csv", "src,dst", "0,1", "1,0")
    text("nodes.csv", "id,x,Target", "0,1,0", "1,2,1")
    assert np.array_equal(taken()[0]["labels"], [0, 1])
    text("nodes.csv", "id,x,topic", "0,1,0", "1,2,1")
    assert "no column label in nodes.csv, nor another of --node-label: a graph without labels" in taken()[1]
    text("nodes.csv", "id,x,split", "0,1,dev", "1,2,train")
    assert "no split: train, valid, test, or empty, here: 'dev'\nhint: write these words" in refused()


def edges_of_other_programs():
    shutil.rmtree("src", ignore_errors=True)
    for line, words in ("(0, 1)", ["a pair in brackets", "numpy.savetxt"]), ("0 1 {'weight': 2}", ["more than two columns", "networkx.write_edgelist(graph, FILE, data=False)"]), \
            ("0|1", ["fewer columns than there should be", "blanks, tabs, commas or semicolons"]), ("a:b", ["fewer columns", "blanks, tabs, commas or semicolons"]):
        text("edges.txt", line, line.replace("0", "2"))
        said = refused("edgelist", path="src/edges.txt")
        assert all(word in said for word in words), said
    text("edges.txt", "(a) (b)", "(b) c")  # names may have brackets
    assert taken(path="src/edges.txt")[0]["indices"].tolist() == [0, 1]
    text("edges.txt", "a,b,c", "1,2,3")
    for ends in "a,b,c", "a", "a,", ",b", "a,A":
        assert f"--id-columns {ends}: the columns of both ends expected" in refused("--id-columns", ends, path="src/edges.txt")
    assert "columns that are not read: c" in taken("--id-columns", "a,b", path="src/edges.txt")[1]
    os.mkfifo("pipe.csv")
    assert "pipe.csv: not a plain file" in refused(path="pipe.csv")


def sets_of_graphbolt():
    """Nodes outside the sets have no labels, several or one; seeds have both names. One label of several each is doubted."""
    several = (rng.random((30, 3)) < 0.6).astype(np.float32)
    several[0] = 1
    for name, label in ("seeds", several), ("seed_nodes", np.eye(3, dtype=np.float32)[LABEL[:30]]), ("seed_nodes", LABEL[:30]):
        arrays(edges=EDGES.T, label=label, train=np.arange(30))
        with open("src/metadata.yaml", "w") as f:
            f.write(f"dataset_name: x\ngraph:\n  nodes:\n    - num: {N}\n  edges:\n    - {{format: numpy, path: edges.npy}}\n"
                    "feature_data:\n  - {domain: node, name: feat, format: numpy, path: feat.npy}\ntasks:\n  - name: t\n    train_set:\n      - data:\n"
                    f"          - {{name: {name}, format: numpy, path: train.npy}}\n          - {{name: labels, format: numpy, path: label.npy}}\n")
        got, said = taken("graphbolt")
        assert np.array_equal(got["labels"][:30], label) and np.array_equal(got["train"], np.arange(30))
        rest = got["labels"][30:]
        assert np.isnan(rest).all() if label.ndim > 1 else (rest == -1).all()
        assert ("every node has one of 3 labels" in said) == (label.ndim > 1 and name == "seed_nodes"), said


def sparse_features():
    """Entries of one column add up, or the hint says how to. An archive of a dense array has a hint of its own."""
    arrays(feat=None, feat_indptr=np.r_[0, np.full(N, 3)], feat_indices=np.array([1, 1, 0]), feat_data=np.ones(3))
    said = refused("npy")
    assert "feat_indptr.npy: row 0: 3 entries in 2 columns" in said and "sum_duplicates()" in said, said
    arrays(feat=None, feat_indptr=np.r_[0, np.full(N, 3)], feat_indices=np.array([1, 1, 2]), feat_data=np.ones(3))
    assert taken("npy")[0]["features"][0].tolist() == [0, 2, 1]
    arrays(feat=None)
    np.savez("src/feat.npz", FEAT)
    assert zipfile.is_zipfile("src/feat.npz") and 'numpy.save("feat.npy", array)' in refused("npy")


def outputs_that_are_inputs():
    """No hint says to remove what is read."""
    arrays(train=np.arange(30))
    taken("npy")
    np.save("file.npy", 1)
    for words, other in (["import", "npy", "src"], "src/"), (["export", "npy", "out"], "./out"), (["stripe", "out", "--parts", "2", "--part", "0"], None), \
            (["sample", "out", "--fanout", "2", "--out"], None):
        done = run(*words[:2], other or "out", *words[2:]) if words[0] == "stripe" else run(*words, other or "out")
        assert done.returncode == 1 and "is what is read\nhint: choose another name" in done.stderr, done.stderr
    assert os.path.exists("src/edges.npy") and os.path.exists("out/meta.json")


def files_that_are_gone():
    """A split that is gone from a dataset is named. So is a file in place of a run's folder."""
    arrays(train=np.arange(30), valid=np.arange(30, 60))
    taken("npy")
    os.remove("out/valid.npy")
    for task in [], ["--task", "link"]:
        done = run("train", "out", *TRAIN, *task, "--run", f"run{len(task)}")
        assert done.returncode == 0 and "out: meta.json lists files that are not there: valid.npy\n" in done.stderr, done.stderr
    np.save("file.npy", 1)
    done = run("train", "out", *TRAIN, "--run", "file.npy")
    assert done.returncode == 1 and "file.npy: a file, no folder for a run\nhint: choose another --run" in done.stderr, done.stderr
    done = run("train", "out", *TRAIN, "--task", "edge-regression")
    assert done.returncode == 2 and "did you mean edge_regression?" in done.stderr, done.stderr


def main():
    folder, here = tempfile.mkdtemp(prefix="og-others-"), os.getcwd()
    os.chdir(folder)
    try:
        for test in lists_of_typed_edges, lists_in_any_form, labels_of_edges, splits_by_name, edges_of_other_programs, sets_of_graphbolt, sparse_features, outputs_that_are_inputs, files_that_are_gone:
            test()
            print(f"{test.__name__}: ok", flush=True)
    finally:
        os.chdir(here)
        shutil.rmtree(folder)


main()
