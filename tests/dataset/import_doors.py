#!/usr/bin/env python3
"""What users' own files do to an import. Tested are names that almost fit, masks, columns in another order, numbers of other types, and files that nobody
reads. Each is used, refused by name, or named in a warning. Results are compared with NumPy's.

    import_doors.py OUTGROW DOCS      exits 77 where there is no NumPy
"""
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = os.path.abspath(sys.argv[1])
DOCS = os.path.abspath(sys.argv[2])
rng = np.random.default_rng(16)
N, E = 240, 1200
EDGES = rng.integers(0, N, (E, 2))
FEAT = rng.standard_normal((N, 4)).astype(np.float32)
LABEL = rng.integers(0, 3, N)
ORDER = rng.permutation(N)
IDS = {"train": ORDER[:100], "valid": ORDER[100:150], "test": ORDER[150:200]}


def run(*words):
    return subprocess.run([OUTGROW, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def source(meta=None, **arrays):
    """A folder of `import npy`; an array that is None is left out."""
    shutil.rmtree("src", ignore_errors=True)
    os.makedirs("src")
    for name, array in ({"edges": EDGES, "feat": FEAT, "label": LABEL} | arrays).items():
        if array is not None:
            np.save(f"src/{name}.npy", array)
    if meta is not None:
        with open("src/meta.json", "w") as f:
            json.dump(meta, f)


def text(name, *lines, end="\n", begin=b""):
    os.makedirs("text", exist_ok=True)
    with open(f"text/{name}", "wb") as f:
        f.write(begin + "".join(line + end for line in lines).encode())


def taken(*words, path="src", clean=True):
    """Arrays of the dataset, and what was said."""
    shutil.rmtree("out", ignore_errors=True)
    done = run("import", *words, path, "out")
    assert done.returncode == 0, (words, done.stderr)
    checked = run("verify", "out")
    assert (checked.returncode == 0) == clean, checked
    return {f[:-4]: np.load(f"out/{f}") for f in os.listdir("out") if f.endswith(".npy")}, done.stderr


def refused(*words, path="src", says):
    """One message, a hint, and nothing left."""
    shutil.rmtree("out", ignore_errors=True)
    done = run("import", *words, path, "out", "--quiet")
    errors = [line for line in done.stderr.splitlines() if line.startswith(("outgrow: ", "hint: "))]
    assert done.returncode == 1 and len(errors) >= 2 and errors[-1].startswith("hint: "), done.stderr
    for word in says:
        assert word in done.stderr, (word, done.stderr)
    assert not os.path.exists("out")


def mask(ids, n=N):
    return np.isin(np.arange(n), ids)


def random_splits():
    """Parts of the nodes with a label have exact sizes and every node once. They are uniform, and follow the seed."""
    labelled = np.flatnonzero(LABEL != 1)
    values = np.where(LABEL == 1, np.nan, FEAT[:, 0]).astype(np.float32)
    several = np.where((LABEL == 1)[:, None], np.nan, FEAT[:, :3] > 0).astype(np.float32)
    forms = {"classes": (np.where(LABEL == 1, -1, LABEL), None, labelled), "several": (several, None, labelled),
             "values": (values, {"task": "regression"}, labelled), "none": (None, None, np.arange(N))}
    for name, (label, meta, nodes) in forms.items():
        source(meta=meta, label=label)
        got, said = taken("--split", "50/30/20")
        ends = [int(len(nodes) * share + 0.5) for share in (0.5, 0.8)] + [len(nodes)]
        assert [len(got[s]) for s in IDS] == np.diff([0] + ends).tolist(), (name, ends)
        assert np.array_equal(np.sort(np.concatenate([got[s] for s in IDS])), nodes), name
        assert all((np.diff(got[s]) > 0).all() for s in IDS) and "seed 1" in said, said
        again = taken("--split", "50/30/20", "--memory", "8M", "--threads", 1)[0]
        other = taken("--split", "50/30/20", "--seed", 2)[0]
        assert all(np.array_equal(got[s], again[s]) for s in IDS) and not np.array_equal(got["train"], other["train"])
    source()
    trained = np.zeros(N)
    for seed in range(60):  # each node in half of them: 30 +- 4, whatever the node before it
        trained[taken("--split", "50/25/25", "--seed", seed)[0]["train"]] += 1
    assert trained.sum() == 60 * N / 2 and 12 < trained.min() and trained.max() < 48 and 3 < trained.std() < 5, trained
    assert abs(np.corrcoef(trained[:-1], trained[1:])[0, 1]) < 0.25
    source(train=IDS["train"])
    refused("--split", "60/20/20", says=["--split 60/20/20", "train.npy", "leave out --split"])
    source()
    for wrong in "60/20", "60/20/21", "0/50/50", "-10/50/60", "a/b/c", "60/20/20/":
        refused("--split", wrong, says=["--split", "60/20/20"])
    refused("--split", "0.1/50/49.9", says=["none to train"])
    with open("out.txt", "w") as f:
        f.writelines(f"{a} {b}\n" for a, b in EDGES)
    nodes = taken("--split", "60/20/20", path="out.txt")[0]
    assert sum(len(nodes[s]) for s in IDS) == len(np.unique(EDGES))


def splits_and_masks():
    names = {"train": ["train", "train_idx", "train_mask"], "test": ["test", "test_idx", "test_mask"],
             "valid": ["valid", "val", "valid_idx", "val_idx", "valid_mask", "val_mask"]}
    for split, files in names.items():
        for name in files:
            forms = [mask(IDS[split]).astype(t) for t in ("bool", "uint8", "int64", "int32")]
            forms += [mask(IDS[split])[:, None]] + ([] if name.endswith("_mask") else [IDS[split], IDS[split].astype("uint32")])
            for form in forms:
                source(**{name: form})
                for words in [], ["npy"]:
                    got, said = taken(*words)
                    assert np.array_equal(np.sort(got[split]), np.sort(IDS[split])), (name, form.dtype)
                    assert name not in said, said
    source()
    said = taken("npy")[1]
    assert "no train.npy" in said and "--symmetrize" in said, said
    # of several splits one is chosen, or they are refused
    several = np.stack([mask(rng.permutation(N)[:50]) for _ in range(5)], 1)
    for form in several, several.astype("uint8"), np.asfortranarray(several):
        source(train_mask=form)
        refused("npy", says=["train_mask.npy", "[240, 5]", "--split-column"])
        for k in 0, 4:
            got, said = taken("npy", "--split-column", k)
            assert np.array_equal(got["train"], np.flatnonzero(several[:, k])) and f"column {k} of 5" in said
        refused("npy", "--split-column", 5, says=["train_mask.npy", "count from 0"])
        source(train_mask=np.ascontiguousarray(form.T))
        refused("npy", says=["train_mask.npy", "array.T"])
    # what is neither
    for name, array, words in [
            ("train", mask(IDS["train"], 2 * N), ["train.npy", "a mask of 480 entries", "240 nodes"]),
            ("train", mask(IDS["train"], N // 2).astype("uint8"), ["train.npy", "a mask of 120 entries"]),
            ("valid", mask(IDS["train"]).astype("float32"), ["valid.npy", "float32", "astype(bool)"]),
            ("valid", IDS["valid"].astype("float64"), ["valid.npy", "float64", "int64"]),
            ("test", np.array([1, 2, N]), ["test.npy", "node 240 of 240"]),
            ("test", np.array([-1, 2]), ["test.npy", "node -1"]),
            ("test", np.array([3, 5, 3]), ["test.npy", "row 2", "twice", "numpy.unique"]),
            ("test", np.array([1, 7, 1]), ["test.npy", "twice", "flatnonzero"]),
            ("train", np.arange(6).reshape(2, 3), ["train.npy", "[2, 3]"]),
            ("train", np.array(["a", "b"]), ["train.npy", "text"])]:
        source(**{name: array})
        refused("npy", says=words)
    # two of one split; nodes in two splits
    source(train=IDS["train"], train_mask=mask(IDS["train"]))
    refused("npy", says=["train.npy", "train_mask.npy", "remove one"])
    source(train=IDS["train"], test=np.r_[IDS["test"], IDS["train"][:7]])
    _, said = taken("npy", "--quiet", clean=False)
    assert "7 test nodes are train nodes of train.npy too" in said and "test.npy" in said, said
    source(**IDS)
    assert taken("npy", "--quiet")[1] == ""


def unread_files():
    beside = ["edge_color", "edge_stamp", "edge_label", "node_year", "train_time", "features", "y", "x", "edge_index", "extra_edges", "weights"]
    source(**IDS, **{name: np.zeros(3) for name in beside})
    with open("src/notes.txt", "w") as f:
        f.write("notes")
    _, said = taken("npy", "--quiet")
    for name in [f"{b}.npy" for b in beside] + ["notes.txt"]:
        assert name in said, (name, said)
    assert "label.npy" not in said.replace("edge_label.npy", "") and "feat.npy" not in said, said
    source(**{f"file_with_a_rather_long_name_{i:03d}": np.zeros(3) for i in range(60)})
    _, said = taken("npy")
    assert "others" in said and "name_000" in said, said
    # keys of meta.json
    source({"num_nodes": N, "name": "x", "num_clases": 3, "splits": {}})
    _, said = taken("npy", "--quiet")
    assert "num_clases" in said and "splits" in said and "num_nodes" not in said, said
    source({"directed": True, "num_edges": E})
    assert taken("npy", "--quiet")[1] == ""
    source({"directed": False})
    assert '"directed" is false, but some edges have no reverse' in taken("npy", "--quiet")[1]
    assert taken("npy", "--quiet", "--symmetrize")[1] == ""
    source({"symmetric": True})
    _, said = taken("npy", "--quiet")
    assert "meta.json" in said and "symmetric" not in json.load(open("out/meta.json")), said
    for key in "name", "task":
        source({key: 5})
        refused("npy", says=["meta.json", key])
    for label, classes in (LABEL, 7), (None, 7):
        source({"num_classes": 7}, label=label)
        taken("npy")
        assert json.loads(run("info", "out", "--json").stdout)["num_classes"] == classes
    # files that lie in a dataset, and no command reads
    source(**IDS)
    taken("npy")
    for name in "edge_attr.npy", "features_x.npy", "rel0_times.npy":
        np.save(f"out/{name}", np.zeros(3))
    assert json.loads(run("info", "out", "--json").stdout)["files_not_used"] == ["edge_attr.npy", "features_x.npy", "rel0_times.npy"]
    uses = {f["file"]: f["used_by"] for f in json.loads(run("info", "out", "--json").stdout)["files"]}
    assert set(uses) | {"edge_attr.npy", "features_x.npy", "rel0_times.npy"} == set(os.listdir("out")) and "train" in uses["labels.npy"], uses
    said = run("train", "out", "--fanout", "2,2", "--memory", "256M", "--epochs", "0", "--run", "run").stderr
    assert "files that no command reads: edge_attr.npy, features_x.npy, rel0_times.npy" in said, said
    shutil.rmtree("run", ignore_errors=True)
    # types that are left out by word of the user are named as well
    source(node_type=np.zeros(N, int), edge_type=np.zeros(E, int))
    assert "node_type.npy" in taken("npy", "--drop-types")[1]


def documented_names():
    """Each file that docs/reference/formats.md lists is read, alone among those of its row."""
    with open(f"{DOCS}/reference/formats.md") as f:
        rows = re.findall(r"^\| ([a-z ,]+) \| (`[a-z_]+\.(?:npy|csv)`.*) \|$", f.read(), re.M)
    assert len(rows) == 11, rows
    array = {"edges": EDGES, "weights of edges": np.ones(E), "features of nodes": FEAT, "labels": LABEL, "training nodes": IDS["train"],
             "validation nodes": IDS["valid"], "test nodes": IDS["test"], "features of edges": np.ones((E, 2)),
             "times of edges": np.arange(E), "times of nodes": np.arange(N)}
    plain = {"edges": "edges", "features of nodes": "feat", "labels": "label"}
    for what, files in rows:
        for name in re.findall(r"`([a-z_]+)\.npy`", files):
            if name.startswith("feat_"):
                continue
            whole = array[what] if what in array else EDGES[:9]
            source(**({plain[what]: None} if what in plain else {}) | {name: mask(whole) if "mask" in name else whole})
            got, said = taken("npy", "--quiet")
            assert f"{name}.npy" not in said
            if what in plain:
                assert np.array_equal(got["features"], FEAT) and np.array_equal(got["labels"], LABEL) and graph_of(got) == set(map(tuple, EDGES.tolist()))
        for name in re.findall(r"`([a-z_]+)\.csv`", files):
            source(**{plain[what]: None} if what in plain else {})
            rows_of = {"feat": FEAT, "label": LABEL[:, None], "node_times": np.arange(N)[:, None]}.get(name)
            with open(f"src/{name}.csv", "w") as f:
                f.writelines(f"{v}\n" for v in array[what]) if rows_of is None else f.writelines(
                    f"{v},{','.join(map(str, row))}\n" for v, row in enumerate(rows_of))
            assert f"{name}.csv" not in taken("npy", "--quiet")[1]
    # features as CSR
    source(feat=None, feat_indptr=np.arange(N + 1), feat_indices=np.arange(N) % 5, feat_data=np.ones(N, np.float32))
    assert taken("npy", "--quiet")[1] == ""
    # thirty names that are of no use
    unknown = [f"{a}_{b}.npy" for a in ("node", "edge", "graph", "train", "test") for b in ("tick", "tint", "year", "name", "color", "group")]
    source(**{name[:-4]: np.zeros(3) for name in unknown})
    said = taken("npy", "--quiet")[1]
    named = [name for name in unknown if name in said]
    assert len(unknown) == 30 and len(named) + int(re.search(r"and (\d+) other", said)[1]) == 30, said


def unread_keys_of_graphbolt():
    shutil.rmtree("bolt", ignore_errors=True)
    os.makedirs("bolt")
    np.save("bolt/edges.npy", EDGES.T)
    np.save("bolt/feat.npy", FEAT)
    np.save("bolt/year.npy", LABEL)
    with open("bolt/metadata.yaml", "w") as f:
        f.write(f"dataset_name: x\ngraph:\n  nodes:\n    - num: {N}\n  edges:\n    - format: numpy\n      path: edges.npy\n"
                "  feature_data:\n    - domain: edge\n      name: time\n"
                "feature_data:\n  - domain: node\n    name: feat\n    format: numpy\n    path: feat.npy\n    dtype: float32\n")
    _, said = taken("graphbolt", "--quiet", path="bolt")
    plain, _ = taken("graphbolt", path="bolt")
    np.save("bolt/edges.npy", np.asfortranarray(EDGES.T))
    fortran, _ = taken("graphbolt", path="bolt")
    assert graph_of(plain) == graph_of(fortran) == set(map(tuple, EDGES.tolist()))
    assert "keys that are not read: dtype" in said and "year.npy" in said and " path" not in said, said


def weights_of_graphbolt():
    """Edge attributes called weight are weights, as in other formats and as `export graphbolt` writes them."""
    shutil.rmtree("bolt", ignore_errors=True)
    weight = rng.random(E).astype("f4")
    source(edge_weight=weight)
    before, _ = taken("npy")
    done = run("export", "graphbolt", "out", "bolt")
    assert done.returncode == 0, done.stderr
    got, said = taken("graphbolt", path="bolt")
    assert np.array_equal(got["weights"], before["weights"]) and np.array_equal(got["indices"], before["indices"]) and "not read" not in said, said
    got, said = taken("graphbolt", "--weight-column", 0, path="bolt")
    assert "weights" not in got and "not read: data/weight.npy" in said, said
    # of the sampling graph, which has its own list
    with open("bolt/metadata.yaml") as f:
        text = f.read()
    np.save("bolt/data/own.npy", weight[::-1])
    with open("bolt/metadata.yaml", "w") as f:
        f.write(text.replace("\ngraph:\n", "\ngraph:\n  feature_data:\n    - {domain: edge, type: null, name: weight, format: numpy, path: data/own.npy}\n", 1))
    got, said = taken("graphbolt", path="bolt")
    assert np.array_equal(np.sort(got["weights"]), np.sort(weight)) and not np.array_equal(got["weights"], before["weights"]), said
    assert "not read: data/weight.npy" in said and "keys" not in said, said
    # of types: all or none
    shutil.rmtree("bolt")
    os.makedirs("bolt")
    np.save("bolt/edges.npy", EDGES.T)
    np.save("bolt/feat.npy", FEAT)
    edge = "  - {{domain: edge, type: 'a:{0}:a', name: {1}, format: numpy, path: {0}.npy}}\n"
    for r, values in ("r", weight), ("s", weight[::-1]):
        np.save(f"bolt/{r}.npy", values)
    head = (f"graph:\n  nodes: [{{type: a, num: {N}}}]\n  edges: [{{type: 'a:r:a', format: numpy, path: edges.npy}}, {{type: 'a:s:a', format: numpy, path: edges.npy}}]\n"
            "feature_data:\n  - {domain: node, type: a, name: feat, format: numpy, path: feat.npy}\n")
    for second in "edge_weight", "feat":
        with open("bolt/metadata.yaml", "w") as f:
            f.write(head + edge.format("r", "weight") + edge.format("s", second))
        got, said = taken("graphbolt", path="bolt")
        if second == "feat":
            assert "only some types have them" in said and "rel0_weights" not in got, said
            continue
        for r, values in enumerate((weight, weight[::-1])):
            src, dst = got[f"rel{r}_indices"], np.repeat(np.arange(N), np.diff(got[f"rel{r}_indptr"]))
            assert sorted(zip(src.tolist(), dst.tolist(), got[f"rel{r}_weights"].tolist())) == sorted(zip(*EDGES.T.tolist(), values.tolist())), r
    np.save("bolt/r.npy", -weight)
    with open("bolt/metadata.yaml", "w") as f:
        f.write(head + edge.format("r", "weight") + edge.format("s", "weight"))
    refused("graphbolt", path="bolt", says=["r.npy: row 0", "no weight"])


def types_of_numbers():
    wide = np.arange(N * 3).reshape(N, 3) * 7
    for array, stored in [(wide.astype("int64"), "float32"), (wide.astype("uint16"), "float32"), (wide % 200, "uint8"), (wide > 90, "uint8"),
                          (FEAT.astype("float64"), "float32"), (FEAT.astype("float16"), "float16")]:
        forms = [array, np.asfortranarray(array)] + ([array.astype(array.dtype.newbyteorder(">"))] if array.itemsize > 1 else [])
        for form in forms + [np.asfortranarray(forms[-1])]:
            source(feat=form)
            got, said = taken("npy")
            assert got["features"].dtype == stored and np.array_equal(got["features"], array.astype(stored)), (form.dtype, stored)
            assert "change" not in said, said
    # messages give the largest difference of numbers that change
    big = wide.astype("int64") + 2**24
    source(feat=big)
    got, said = taken("npy", "--quiet")
    off = np.abs(got["features"].astype("float64") - big.astype("float64"))
    assert f"{(off > 0).sum()} numbers change, by at most {off.max():.3g}" in said and "feat.npy" in said and "int64" in said, said
    source(feat=np.full((N, 2), 2**63 + 2**40 - 1, "uint64"))
    got, said = taken("npy")
    assert got["features"][0, 0] == np.float32(2**63 + 2**40 - 1) and "uint64" in said
    source(feat=FEAT.astype("float64") + 1e-9)
    assert "float64 stored as f32" in taken("npy", "--quiet")[1]
    source()
    assert "stored as f16" in taken("npy", "--feature-dtype", "f16", "--quiet")[1]
    source({"task": "regression"}, label=rng.standard_normal(N))
    assert "label.npy: float64 stored as f32" in taken("npy", "--quiet")[1]
    # every array of a source in the other byte order, and weights
    weight = rng.random(E).astype("float32")
    source(edges=EDGES.astype(">i4"), edge_weight=weight.astype(">f4"), label=LABEL.astype(">i8"), train=IDS["train"].astype(">i2"))
    got, _ = taken("npy")
    source(edge_weight=weight, train=IDS["train"])
    plain, _ = taken("npy")
    for name in plain:
        assert np.array_equal(got[name], plain[name]), name
    source(edge_weight=rng.random(E))
    assert f"edge_weight.npy: float64 stored as f32: {E} numbers change" in taken("npy", "--quiet")[1]
    for bad in -1.5, np.nan, np.inf:
        broken = weight.copy()
        broken[7] = bad
        source(edge_weight=broken)
        refused("npy", says=["edge_weight.npy", "row 7", "weight"])
    # what holds no numbers
    for array, words in [(np.rec.fromarrays([np.arange(N), LABEL], names="index,label"), ["records"]), (LABEL.astype("U2"), ["text"]),
                         (LABEL.astype("S2"), ["text"]), (LABEL.astype("datetime64[s]"), ["dates", "int64"]), (LABEL.astype(complex), ["complex"]),
                         (np.array([None] * N), ["objects"])]:
        source(label=array)
        refused("npy", says=["label.npy", *words])


def labels():
    for array in FEAT[:, 0], FEAT[:, :1], FEAT:
        source(label=array)
        refused("npy", says=["label.npy", "regression"])
        source({"task": "regression"}, label=array)
        assert np.array_equal(taken("npy")[0]["labels"], array.reshape(N, -1))
    ids = rng.choice(2_000_000, N, replace=False)
    ids[0] = 1_999_999
    source(label=ids)
    _, said = taken("npy", "--quiet")
    assert "label.npy: 2000000 classes" in said and "240 nodes" in said, said
    for label in np.where(LABEL > 0, 1, -1), np.where(FEAT > 0, 1, -1), np.where(FEAT > 0, 1, -1).astype("float32"):
        source(label=label)
        assert "label.npy: all labels are 1: there is nothing to learn; -1 means none" in taken("npy", "--quiet")[1]
    source(label=LABEL + 1)
    assert "label.npy: 1 of 4 classes has no node, class 0 for one" in taken("npy", "--quiet")[1]
    source(label=np.eye(3)[LABEL])
    assert "argmax(1)" in taken("npy", "--quiet")[1]
    source(label=np.eye(3)[LABEL] + (np.arange(N) == 5)[:, None] % 2)
    refused("npy", says=["label.npy", "row 5"])
    known = rng.random(N) < 0.6
    source(label=np.where(known, LABEL, -1), **IDS)
    said = taken("npy", "--quiet")[1]
    for split, ids in IDS.items():
        assert f"{split}.npy: {(~known[ids]).sum()} of {len(ids)} nodes have no label" in said, said
    source(label=LABEL, **IDS)
    assert taken("npy", "--quiet")[1] == ""


def graph_of(got):
    dst = np.repeat(np.arange(len(got["indptr"]) - 1), np.diff(got["indptr"]))
    return set(zip(got["indices"].tolist(), dst.tolist()))


def columns_of_edges():
    edges = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 0)]
    rows = {"src": [u for u, _ in edges], "dst": [v for _, v in edges], "w": [0.5, 1, 2, 3, 4], "t": [9, 8, 7, 6, 5], "id": range(5)}

    def lines(order, mark=","):
        return [mark.join(str(rows[c][i]) for c in order) for i in range(5)]

    def check(header, order, words=(), mark=",", weighted=False, unread=(), **how):
        shutil.rmtree("text", ignore_errors=True)
        text("edges.csv", *([header] if header else []), *lines(order, mark), **how)
        got, said = taken(*words, "--quiet", path="text")
        assert graph_of(got) == set(edges), (header, graph_of(got))
        assert ("weights" in got) == weighted
        if weighted:
            at = np.lexsort((rows["src"], rows["dst"]))
            assert np.array_equal(got["weights"], np.array(rows["w"], "float32")[at])
        for name in unread:
            assert name in said, (name, said)
        assert bool(said) == bool(unread), said

    for header in "src,dst", "source,target", "from,to", "Source,Target", '"src","dst"', " src , dst ", "FromNodeId,ToNodeId", ":START_ID,:END_ID", "u,v", "id_1,id_2":
        check(header, ["src", "dst"])
    for header in "dst,src", "target,source", "to,from", "v,u", '"Target","Source"':
        check(header, ["dst", "src"])
    check("# src dst", ["src", "dst"], mark=" ")
    check("# ToNodeId FromNodeId", ["dst", "src"], mark=" ")
    check("# any other remark", ["src", "dst"], mark="\t")
    check("id,source,target", ["id", "src", "dst"], unread=["id"])
    check(",source,target", ["id", "src", "dst"], words=["--columns", "-,src,dst"])
    check("src,dst,weight", ["src", "dst", "w"], weighted=True)
    check("weight,dst,src", ["w", "dst", "src"], weighted=True)
    check("src,time,dst,weight,what", ["src", "t", "dst", "w", "id"], weighted=True, unread=["time", "what"])
    check("src,dst,weight", ["src", "dst", "w"], words=["--weight-column", 0], unread=["weight"])
    check("src,dst,score,time", ["src", "dst", "w", "t"], words=["--weight-column", 3], weighted=True, unread=["time"])
    check("a,b", ["dst", "src"], words=["--columns", "dst,src"])
    check(None, ["dst", "src"], words=["--columns", "dst,src"])
    check(None, ["dst", "src"], words=["--reverse"])
    rows["word"] = ["a", "b", "c", "d", "e"]
    check(None, ["src", "dst", "word"], words=["--weight-column", 0])
    check(None, ["word", "src", "dst"], words=["--columns", "-,src,dst"])
    check("kind,src,dst", ["word", "src", "dst"], unread=["kind"])
    check("src,dst", ["dst", "src"], words=["--reverse"])
    for mark in ";", "\t":
        check(mark.join(["dst", "src"]), ["dst", "src"], mark=mark)
    check("dst,src", ["dst", "src"], end="\r\n")
    check("dst,src", ["dst", "src"], begin=b"\xef\xbb\xbf")
    # fields that are not read may hold blanks and marks, and be empty
    for mark, what in [(",", ["Area 51", '"a, 7"', "", "x y 9", '"3"']), ("\t", ["Area 51", "", "8 8", "a,b", "1;2"]), (";", ["1,5", "", "7 7", '"a;b"', "9"])]:
        rows["word"] = what
        check(mark.join(["src", "city", "dst"]), ["src", "word", "dst"], mark=mark, unread=["city"])
        check(None, ["word", "src", "dst"], words=["--columns", "-,src,dst"], mark=mark)
    # every field in quotes, with names and without
    for header in [['"src","dst"'], []]:
        shutil.rmtree("text", ignore_errors=True)
        text("edges.csv", *header, *(f'"{u}","{v}"' for u, v in edges))
        assert graph_of(taken(path="text")[0]) == set(edges)
    for header, order, words, says in [
            ("a,b", ["src", "dst"], [], ["line 1", "--columns"]), ("id,source,target", ["id", "src", "dst"], ["--weight-column", 3], ["weights is an end"]),
            ("src,dst,src", ["src", "dst", "src"], [], ["two columns"]), ("src,time", ["src", "t"], [], ["line 1"]),
            ("dst,src", ["dst", "src"], ["--reverse"], ["--reverse"]), ("src,dst", ["src", "dst"], ["--columns", "src,foo"], ["--columns"]),
            (None, ["src", "dst", "w"], [], ["more than two columns", "--columns"]), ("a,b,c", ["id", "src", "dst"], ["--columns", "src,dst"], ["not as many columns"])]:
        shutil.rmtree("text", ignore_errors=True)
        text("edges.csv", *([header] if header else []), *lines(order))
        refused(*words, path="text", says=["edges.csv", *says])


def columns_by_id():
    edges = ["src,dst", "0,1", "1,2", "2,3", "3,4", "4,0"]
    label = {0: 2, 1: 0, 2: 1, 3: 4, 4: 3}

    def start():
        shutil.rmtree("text", ignore_errors=True)
        text("edges.csv", *edges)

    for header, form in [("id,label", "{v},{y}"), ("label,id", "{y},{v}"), ("Y,Node_ID", "{y},{v}"), ("time,label,id", "7,{y},{v}"), (None, "{v},{y}"),
                         ('"label","id"', '"{y}","{v}"'), ("label;id", "{y};{v}"), ("label\tid", "{y}\t{v}"), (",id,label", "9,{v},{y}"), ("paper_id,class", "{v},{y}")]:
        start()
        text("label.csv", *([header] if header else []), *(form.format(v=v, y=y) for v, y in label.items()))
        got, said = taken("--quiet", path="text")
        assert got["labels"].tolist() == list(label.values()), (header, got["labels"])
        assert ("time" in said) == ("time" in (header or "")), said
    for header, form, words in (",label", "{v},{y}", "no name, is taken for the ids"), (",user_id,label", "9,{v},{y}", "not read: (unnamed)"):
        start()
        text("label.csv", header, *(form.format(v=v, y=y) for v, y in label.items()))
        got, said = taken("--quiet", path="text")
        assert got["labels"].tolist() == list(label.values()) and words in said, said
    start()
    text("label.csv", "name,id,label", '"a ""b"", c",0,2', *(f"x,{v},{y}" for v, y in label.items() if v))
    got, said = taken("--quiet", path="text")
    assert got["labels"].tolist() == list(label.values()) and "name" in said, got
    start()
    text("feat.csv", "0,1,2,3,4", *(f"{v},5,6,7,8" for v in range(5)))
    refused(path="text", says=["feat.csv: line 1: numbers of columns"])
    start()
    text("label.csv", "id,a,b", "0,unknown,1")
    refused(path="text", says=["label.csv", "number the words", "empty"])
    start()
    text("label.csv", *(f"{v + 100},1" for v in label))
    assert "are its ids those of the edges" in taken("--quiet", path="text")[1]
    start()
    text("label.csv", "what,id,label0,label1", *(f"9,{v},{v % 2},1" for v in label))
    got, said = taken("--quiet", path="text")
    assert got["labels"].tolist() == [[v % 2, 1] for v in range(5)] and "what" in said, (got["labels"], said)
    start()
    text("label.csv", "# a remark", "id,label", "0,1", "1,NA", "2,", "3,null", "4,nan")
    assert taken(path="text")[0]["labels"].tolist() == [1, -1, -1, -1, -1]
    for header, order in ("f1,id,f2", (1, 0, 2)), ("id,f1,f2", (0, 1, 2)), (None, (0, 1, 2)), ("id,0,1", (0, 1, 2)):
        start()
        text("feat.csv", *([header] if header else []), *(",".join(str((v, v + 0.5, -v)[c]) for c in order) for v in range(5)))
        assert np.array_equal(taken(path="text")[0]["features"], [[v + 0.5, -v] for v in range(5)])
    for name, lines, says in [("label.csv", ["user,rank", "0,1"], ["label.csv", "line 1", "id"]), ("feat.csv", ["id,f1,label", "0,1,1"], ["feat.csv", "label.csv"]),
                              ("label.csv", ["id,node,label", "0,0,1"], ["two columns of ids"])]:
        start()
        text(name, *lines)
        refused(path="text", says=says)
    start()
    text("train.csv", "id,fold", "0,1", "2,1")
    refused(path="text", says=["train.csv: 2 columns"])
    for name, lines in ("train.csv", [",id", "7,0", "8,2"]), ("val.csv", ["node", "1"]), ("test.csv", ["3"]), ("edges_old.csv", ["0,1"]):
        text(name, *lines)
    got, said = taken("--quiet", path="text")
    assert [got[s].tolist() for s in ("train", "valid", "test")] == [[0, 2], [1], [3]]
    assert "edges_old.csv" in said, said


def what_the_wider_fuzz_found():
    """Each went through in silence, or was refused without a word about its cause."""
    source(**IDS)
    os.makedirs("src/older/deep")
    np.save("src/older/feat.npy", FEAT)
    assert "older/" in taken("npy", "--quiet")[1]
    done = run("import", "npy", "src", "src/made", "--quiet")  # the folder that is being made is none of the source
    assert done.returncode == 0 and "made" not in done.stderr, done.stderr
    # keys of meta.json
    for meta, says in [({"symmetric": "yes"}, ["symmetric", "true or false"]), ({"node_types": {"0": "paper"}}, ["node_types", "list"]),
                       ({"node_types": [{"id": 0, "name": "paper"}]}, ["node_types", "entry 0"]), ({"edge_types": [{"edge_type": 0}]}, ["edge_types", "entry 0"]),
                       ({"node_types": [{"type": 1, "name": "a"}, {"type": 1, "name": "b"}]}, ["type 1 has two names"])]:
        source(meta)
        refused("npy", says=["meta.json", "hint: ", *says])
    names = {"node_types": [{"type": i, "name": f"kind{i}"} for i in range(3)]}
    source(names)
    assert "there is no node_type.npy" in taken("npy", "--quiet")[1]
    source(names, node_type=np.arange(N) % 2)
    assert "of no node: kind2" in taken("npy", "--quiet")[1]
    source(node_type=np.arange(N - 1) % 2)
    refused("npy", says=["feat.npy: 240 rows", "239 nodes by node_type.npy"])
    source(node_type=np.arange(N - 1) % 2, feat=None, label=None)
    refused("npy", says=["edges.npy", "239 nodes by node_type.npy"])
    # one label a column, and values beyond what a double holds
    source({"num_classes": 9}, label=np.ones((N, 3)))
    assert "num_classes of 9 has no effect" in taken("npy", "--quiet")[1]
    large = np.full(N, 2**53, np.int64)
    large[7] += 1
    source({"task": "regression"}, label=large)
    assert "label.npy" in taken("npy", "--quiet")[1]
    # texts
    shutil.rmtree("text", ignore_errors=True)
    text("graph.mtx", "%%MatrixMarket matrix coordinate pattern general", "3 3 2", "1 2", "2 3")
    text("meta.json", '{"num_nodes": 4}')
    refused("mtx", path="text", says=["meta.json", "num_nodes", "3 nodes"])
    shutil.rmtree("text")
    text("edges.csv", "src,dst", *(f"{v},{v + 1}" for v in range(4)))
    text("label.csv", "id,label", "0,1", "1,0", end="\r")
    refused(path="text", says=["label.csv", "carriage returns", "tr "])
    os.remove("text/label.csv")
    for first in "-", "17 x", "2020-01-01":
        text("train.csv", first, "1")
        refused(path="text", says=["train.csv", "line 1"])
    os.remove("text/train.csv")
    for lines in ['src,dst', '"1",0,5', '"2",1,3'], ["src dst", "# a remark of several words", "1 0 5"], ["# src dst", "1\t0\t5"]:
        text("edges.csv", *lines)
        refused("edgelist", path="text", says=["more columns than there are names", "--columns"])
    text("edges.csv", "src,dst", "", "# a remark, of several, words", "0,1", "1,2")
    assert len(taken("edgelist", path="text")[0]["indices"]) == 2
    # numbers beyond float32, ids that pandas made floats, and the index of a table
    source(feat=np.where(np.arange(N * 4).reshape(N, 4) == 42, 1e300, FEAT))
    refused("npy", says=["feat.npy: row 10, column 2: 1e+300 does not fit float32", "scale"])
    refused("npy", "--feature-dtype", "i8", says=["1e+300 does not fit float32"])
    text("edges.csv", "src,dst", "1.0,2.0")
    refused("edgelist", path="text", says=["line 2", "fraction", "astype('int64')", "1.0"])
    text("edges.csv", ",src,dst", "0,1,2", "1,2,1")
    assert "not read: one without a name" in taken("edgelist", "--quiet", path="text")[1]
    # times by the name that PyTorch Geometric has
    times = rng.integers(0, 99, E)
    source(edge_time=times, node_time=np.arange(N), edge_times=times)
    refused("npy", says=["both edge_times.npy and edge_time.npy"])
    source(edge_time=times, node_time=np.arange(N))
    got, said = taken("npy", "--quiet")
    assert not said and np.array_equal(np.sort(got["edge_times"]), np.sort(times)) and np.array_equal(got["node_times"], np.arange(N)), said
    source(edge_time=np.where(times > 50, -2**63, times))
    refused("npy", says=["edge_time.npy", "-9223372036854775808", "no time"])
    # negatives of no columns
    source(valid_edges=EDGES[:9], valid_neg_dst=np.zeros((9, 0), int))
    refused("npy", says=["valid_neg_dst.npy: no columns"])
    # an archive that somebody unpacked
    shutil.rmtree("text")
    os.makedirs("text/raw")
    for name, line in ("edge.csv", "0,1"), ("num-node-list.csv.gz", "2"):
        text(f"raw/{name}", line)
    refused(path="text", says=["raw/edge.csv is", "gzip"])


def numbers_that_are_lost():
    """Rounding and loss are said, for texts and sparse matrices too; and causes are those of the source."""
    def lines(*weights, header="src,dst,weight"):
        shutil.rmtree("text", ignore_errors=True)
        text("edges.csv", header, *(f"{v},{(v + 1) % 3},{w}" for v, w in enumerate(weights)))

    for weights, says in ((16777217, 1, 2), "1 number changes, by at most 1"), ((1, 1e-50, 1e-60), "2 numbers change, by at most 1e-50"), ((0.1, 0, 1e-40), ""):
        lines(*weights)
        assert says in taken("--quiet", path="text")[1] and ("change" in taken("--quiet", path="text")[1]) == bool(says), weights
        body = "".join(f"{v + 1} {(v + 1) % 3 + 1} {w}\n" for v, w in enumerate(weights))
        text("graph.mtx", f"%%MatrixMarket matrix coordinate real general\n3 3 3\n{body}", end="")
        assert says in taken("mtx", "--quiet", path="text")[1], weights
    text("graph.metis", "2 1 1", "2 16777217", "1 16777217")
    assert "2 numbers change, by at most 1" in taken("metis", "--quiet", path="text/graph.metis")[1]
    # of dropped duplicates
    w = np.arange(1, E + 1, dtype=np.float32)
    order = np.lexsort((np.arange(E), EDGES[:, 0], EDGES[:, 1]))
    pairs = EDGES[order]
    again = (pairs[1:] == pairs[:-1]).all(1).sum()
    source(edge_weight=w)
    assert again > 3 and f"{again} dropped duplicates had another weight" in taken("npy", "--quiet", "--drop-duplicates")[1]
    source(edge_weight=w % 1 + 2)
    assert taken("npy", "--quiet", "--symmetrize")[1] == ""
    # features of a text: what became 0; one column of large numbers; an id alone
    shutil.rmtree("text")
    text("edges.csv", "src,dst", "0,1", "1,2", "2,0")
    text("feat.csv", "id,a,b", "0,1e-50,0.1", "1,0.2,1", "2,0.3,2")
    assert "text stored as f32: 1 number changes, by at most 1e-50 (id 0, column 2)" in taken("--quiet", path="text")[1]
    text("feat.csv", "id,income", "0,3e8", "1,1e9", "2,1.5")
    assert taken("--quiet", path="text")[0]["features"].ravel().tolist() == [3e8, 1e9, 1.5]
    text("feat.csv", "id,income", "0,1e39", "1,1", "2,1")
    refused(path="text", says=["feat.csv: id 0, column 2: 1e+39 does not fit float32"])
    text("feat.csv", "id,income", "0,1", "1,x", "2,1")
    refused(path="text", says=["feat.csv: line 3: no number"])
    os.remove("text/feat.csv")
    text("label.csv", "label", "1", "0", "1")
    refused(path="text", says=["label.csv", "one column", "0,1"])
    # sparse matrices, as SciPy has them: doubles and large integers
    csr = {"feat": None, "feat_indptr": np.arange(N + 1), "feat_indices": np.arange(N) % 5}
    values = rng.standard_normal(N)
    off = np.abs(values - values.astype("f4").astype("f8"))
    for layout in "dense", "sparse":
        source(**csr, feat_data=values)
        assert f"feat_data.npy: float64 stored as f32: {(off > 0).sum()} numbers change, by at most {off.max():.3g}" in taken("npy", "--quiet", "--feature-layout", layout)[1]
        source(**csr, feat_data=np.arange(N) + 2**24)
        assert f"{N // 2} numbers change, by at most 1" in taken("npy", "--quiet", "--feature-layout", layout)[1]
        source(**csr, feat_data=np.where(np.arange(N) == 7, 1e300, values))
        refused("npy", "--feature-layout", layout, says=["row 7, column 2: 1e+300 does not fit float32", "scale"])
        source(**csr, feat_data=np.arange(N) % 9.0)
        assert taken("npy", "--quiet", "--feature-layout", layout)[1] == ""
    # labels from which nothing can be learnt
    source(label=np.zeros(N, int))
    assert "label.npy: all labels are 0" in taken("npy", "--quiet")[1]
    source(label=rng.permutation(N))
    assert f"label.npy: {N} classes for {N} nodes: are they ids?" in taken("npy", "--quiet")[1]


def rows_of_text():
    """Columns of lines, quotes, signs and fractions. Hints say what the file needs."""
    def edges(*lines, name="edges.csv", **how):
        shutil.rmtree("text", ignore_errors=True)
        text(name, *lines, **how)

    for lines, says in [(["src,dst", "0,1", "1,2,3"], ["line 3: more columns than there are names", "'3'"]),
                        (["# src dst", "0 1", "1 2 3"], ["line 3: more columns than there are names"]),
                        (["src,dst,weight", "0,1,1", "1,2,3,4"], ["line 3: more columns", "'4'"]),
                        (["src,city,dst", "0,a,1", "1,a, b,2"], ["line 3"]),
                        (["src,dst", "0,1", "1"], ["line 3: fewer columns than there should be"]),
                        (["src,dst", "0,1", ",2"], ["line 3: an end without an id", "complete the line"]),
                        (["src,dst", "-1,2"], ["line 2: a node id with a sign", "whole numbers from 0"]),
                        (["src,dst", "+1,2"], ["line 2: a node id with a sign"]),
                        (["src,dst,weight", "0,1,"], ["line 2: no finite weight", "--weight-column 0 leaves"]),
                        (["src,dst,weight", '0,1,"x"'], ["line 2: no finite weight"])]:
        edges(*lines)
        refused("edgelist", path="text", says=["edges.csv", *says])
    for lines in ["src,dst", "0,1", "1,2,"], ["src,dst,", "0,1,", "1,2"], ["src,dst,x", "0,1", "1,2,7,7"]:
        edges(*lines)
        assert graph_of(taken("edgelist", path="text")[0]) == {(0, 1), (1, 2)}
    edges('"src","dst","weight","t"', '"0","1","2.5","7"', '"1","2","1e1","-8"')
    got = taken("edgelist", "--edge-time", "t", path="text")[0]
    assert got["weights"].tolist() == [2.5, 10] and got["edge_times"].tolist() == [7, -8]
    for mark in "utf-16", "utf-16-be":
        with open("text/edges.csv", "wb") as f:
            f.write(("" if mark == "utf-16" else "\ufeff").encode(mark) + "src,dst\n0,1\n".encode(mark))
        for path in "text", "text/edges.csv":
            refused(path=path, says=["edges.csv: text in UTF-16", "iconv"])
    # tables by id
    edges("src,dst", "0,1", "1,2")
    for name, lines, says in [("feat.csv", ["id,a", "0.0,1", "1.0,2"], ["astype('int64')"]), ("train.csv", ["0.0"], ["astype('int64')"]),
                              ("train.csv", ["0", "x"], ["the id of a node"]), ("feat.csv", ["id,a", "0,red"], ["number the words", "leave the column out"])]:
        text(name, *lines)
        refused(path="text", says=[name, *says])
        os.remove(f"text/{name}")
    text("label.csv", "id,label", *(f"{v},{10**12 + v % 2}" for v in range(3)))
    got, said = taken("--quiet", path="text")
    assert got["labels"].tolist() == [0, 1, 0] and "larger than classes may be: each number is a class" in said, said
    for name, right in ("label.txt", "label.csv"), ("train.txt", "train.csv"), ("feat.txt", "feat.csv"):
        edges("src,dst", "0,1", "1,2")
        text(name, "0\t1", "1\t2", "2\t0")
        refused(path="text", says=[f"rename {name} to {right}"])
    # Matrix Market, in capitals and as SciPy writes unsigned numbers
    text("graph.mtx", "%%MATRIXMARKET Matrix coordinate unsigned-integer general", "3 3 2", "1 2 7", "2 3 8")
    got = taken(path="text/graph.mtx")[0]
    assert graph_of(got) == {(0, 1), (1, 2)} and got["weights"].tolist() == [7, 8]
    text("graph.mtx", "%%MatrixMarket matrix coordinate pattern general", "3 3 2", "0 2", "2 3")
    refused(path="text/graph.mtx", says=["line 3", "row column, counted from 1"])


def shapes_and_kinds():
    """Hints follow from the shape and the kind of an array."""
    source(feat=FEAT.T)
    refused("npy", says=["feat.npy: [4, 240], and label.npy has 240 labels", "array.T"])
    source(label=LABEL[None])
    refused("npy", says=["label.npy", "array.T"])
    for name, rows, says in ("node_times", np.arange(3), ["node_times.npy: 3 times"]), ("feat", FEAT[:5], ["feat.npy: 5 rows"]):
        source({"num_nodes": N}, **{name: rows})
        refused("npy", says=[*says, "one for every node"])
        assert "-1" not in run("import", "npy", "src", "out").stderr
    source(train=IDS["train"], train_times=np.arange(3))
    refused("npy", says=["train_times.npy: 3 times for 100 nodes of train.npy", "in its order"])
    source(edge_weight=np.ones(E).astype("U9"))
    refused("npy", says=["edge_weight.npy", "text", "astype('float32')"])
    for empty in np.zeros(N, bool), np.zeros(0, int):
        source(train=empty)
        assert "train.npy: no nodes" in taken("npy", "--quiet")[1]
    for meta, says in ({"class_names": ["a", "b"]}, '"class_names" has 2 names for 3 classes'), ({"task": "multilabel"}, "task 'multilabel' has no effect"):
        source(meta)
        assert says in taken("npy", "--quiet")[1]
    source({"class_names": ["a", "b", "c"], "task": "node classification"})
    assert taken("npy", "--quiet")[1] == ""
    # integers of a sparse matrix keep what a double would lose, and repeated entries add up
    csr = {"feat": None, "feat_indptr": np.r_[0, 2:N + 2], "feat_indices": np.r_[0, 0, np.arange(1, N) % 5]}
    values = np.arange(N + 1) + 2**60
    values[:2] = 1, 2
    source(**csr, feat_data=values)
    got, said = taken("npy", "--quiet")
    off = np.abs(values.astype("f4").astype("f8").astype("i8") - values)
    assert f"feat_data.npy: int64 stored as f32: {(off > 0).sum()} numbers change, by at most {off.max()} " in said, said
    assert got["features"][0, 0] == 3 and got["features"][7, 2] == np.float32(values[8])
    for kind in "i4", "u4", "u8":
        values = np.full(N + 1, np.iinfo(kind).max, kind)
        source(**csr, feat_data=values)
        refused("npy", says=["feat_data.npy: row 0: entries of column 0", np.dtype(kind).name, "sum_duplicates"])
        values[0] = 0
        source(**csr, feat_data=values)
        assert taken("npy")[0]["features"][3, 3] == np.float32(values[4])


def options_of_others():
    """Options of another format are refused, those that find nothing to do are named."""
    source(edge_weight=np.ones(E))
    got, said = taken("npy", "--weight-column", 0)
    assert "weights" not in got and "not read: edge_weight.npy" in said
    for words in ["--columns", "src,dst"], ["--id-columns", "a,b"], ["--weight-column", 3], ["--labels", "label2.npy"], ["--edge-time", "t"], ["--edge-features", "f"]:
        refused("npy", *words, says=[f"import npy: {words[0]}", "leave it out"])
    said = taken("npy", "--seed", 7, "--split-column", 1, "--keep-ids", "--edge-feature-dtype", "f16", "--in-place")[1]
    for name in "seed", "split-column", "keep-ids", "edge-feature-dtype":
        assert f"--{name} has no effect" in said, (name, said)
    assert "in-place" not in said and "no effect" not in taken("npy", "--split", "60/20/20", "--seed", 7)[1]
    shutil.rmtree("text", ignore_errors=True)
    text("edges.csv", "0,1", "1,2")
    of_features = [["--in-place"], ["--feature-dtype", "f16"], ["--feature-scales"], ["--row-normalize"], ["--standardize"], ["--feature-layout", "sparse"]]
    for words in of_features:
        said = taken(*words, "--reverse-relations", path="text")[1]
        assert f"{words[0]} has no effect: the source has no features of nodes" in said and "--symmetrize adds the reverse" in said, said
    assert "--drop-types has no effect: the source has no types" in taken("--drop-types", path="text")[1]
    source(node_type=np.arange(N) % 2)
    assert "--drop-types has no effect" not in taken("npy", "--drop-types")[1]
    source()
    assert "--drop-types has no effect" in taken("npy", "--drop-types")[1]
    for words in *of_features, ["--standardize-as", "out"], ["--mean-features", "node"]:
        refused("npy", *words, "--drop-features", says=[f"{words[0]}: not with --drop-features", "leave out one"])
    for kind in "f4", "f2":
        source(feat=np.where(FEAT == FEAT[5, 2], np.nan, FEAT).astype(kind))
        refused("npy", "--in-place", says=["feat.npy: row 5, column 2: not a finite number"])
    source(feat=FEAT + 1000)
    assert "scale them before the import" in taken("npy", "--in-place")[1]
    source()
    refused("csv", says=["import csv: no such format", "leave the format out"])
    np.savez("all.npz", edges=EDGES, feat=FEAT)
    refused(path="all.npz", says=["all.npz: an archive", "unzip"])
    with lzma.open("edges.csv.xz", "wb") as f:
        f.write(b"0,1\n1,2\n")
    refused(path="edges.csv.xz", says=["compressed by xz", "xz -d"])
    os.makedirs("above", exist_ok=True)
    shutil.move("text", "above/text")
    refused(path="above", says=["no known format", "hint: give above/text\n"])
    os.rename("above/text/edges.csv", "above/A.mtx")
    refused(path="above", says=["no known format", "hint: give above/A.mtx\n"])


def main():
    folder, here = tempfile.mkdtemp(prefix="og-doors-"), os.getcwd()
    os.chdir(folder)
    try:
        for test in (random_splits, splits_and_masks, unread_files, documented_names, unread_keys_of_graphbolt, weights_of_graphbolt, types_of_numbers, labels, columns_of_edges,
                     columns_by_id, what_the_wider_fuzz_found, numbers_that_are_lost, rows_of_text, shapes_and_kinds, options_of_others):
            test()
            print(f"{test.__name__}: ok", flush=True)
    finally:
        os.chdir(here)
        shutil.rmtree(folder)


main()
