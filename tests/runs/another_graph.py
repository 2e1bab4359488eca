#!/usr/bin/env python3
"""A checkpoint, of every task, on another graph than it was trained on. That has more or fewer nodes, no labels or splits, types or none. `predict` reads no
labels, so that they change no byte; `eval` says what it cannot judge by; what must agree is refused by name.

    another_graph.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = sys.argv[1]
RUN = ["--fanout", "4,4", "--batch", "50", "--hidden", "8", "--epochs", "1", "--memory", "128M", "--threads", "2", "--quiet"]
MEMORY = ["--memory", "128M", "--threads", "2", "--quiet"]
N, M, D = 300, 200, 5
rng = np.random.default_rng(4)


def run(*args, fails=False):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (args, done.stdout, done.stderr)
    return done.stderr if fails else done.stdout


def says(words, *args):
    said = run(*args, fails=True)
    assert all(word in said for word in words) and "hint: " in said, (args, words, said)


def write(name, n, seed=1, dim=D, split=True, **more):
    own = np.random.default_rng(seed)
    os.makedirs(name)
    ids = own.permutation(n)
    arrays = {"edges": own.integers(0, n, (5 * n, 2)), "feat": own.standard_normal((n, dim)).astype(np.float32)}
    if split is True:
        arrays.update(train=ids[:n // 2], valid=ids[n // 2:3 * n // 4], test=ids[3 * n // 4:])
    elif split:
        arrays[split] = ids[:n // 3]
    for key, array in {**arrays, **more}.items():
        np.save(f"{name}/{key}.npy", array)
    if name.startswith("values"):
        pathlib.Path(name, "meta.json").write_text(json.dumps({"task": "node regression"}))
    run("import", "npy", name, f"g-{name}", "--quiet")


def make_graphs():
    """Those of M nodes have the same edges and features, whatever else they have."""
    classes = np.arange(M) % 4
    rows = (rng.random((N, 3)) < 0.3).astype(np.float32)
    write("first", N, label=np.arange(N) % 4)
    write("labels", N, label=rows)
    write("values", N, label=rng.random((N, 3)).astype(np.float32))
    write("bare", M, 2, split=False)
    write("unlabelled", M, 2)
    write("labelled", M, 2, label=classes)
    write("tested", M, 2, split="test", label=classes)
    write("validated", M, 2, split="valid", label=classes)
    write("trained", M, 2, split="train", label=classes)
    write("fewer", M, 2, label=classes % 2)
    write("more", M, 2, label=np.arange(M) % 7)
    write("unknown", M, 2, label=np.full(M, -1) + (np.arange(M) == 0) * 4)
    write("several", M, 2, label=rows[:M])
    write("values-other", M, 2, label=rng.random((M, 3)).astype(np.float32))
    write("values-wide", M, 2, label=rng.random((M, 4)).astype(np.float32))
    write("wide", M, 2, dim=D + 2, label=classes)


OTHERS = "bare", "unlabelled", "labelled", "tested", "fewer", "more", "unknown", "several", "values-other"


def predicted(graph, checkpoint, *more):
    run("predict", f"g-{graph}", "--checkpoint", checkpoint, "--out", "out.npy", *MEMORY, *more)
    out = np.load("out.npy").tobytes()
    os.remove("out.npy")
    return out


def check_predict():
    """Every model and task has equal bytes with labels of any kind, and without; hidden rows too."""
    runs = [("first", "--model", model) for model in ("sage", "gcn", "gat", "gin")]
    runs += [("labels",), ("values",), ("first", "--task", "link", "--batch", "400"), ("first", "--model", "gatv2")]
    for i, (graph, *options) in enumerate(runs):
        run("train", f"g-{graph}", *RUN, *options, "--run", f"run{i}")
        made = {other: predicted(other, f"run{i}/checkpoint.safetensors") for other in OTHERS}
        width = 8 if "link" in options else 3 if graph != "first" else 4
        assert len(made["bare"]) == 4 * M * width and len(set(made.values())) == 1, (graph, options)
    both = [np.load(f"{name}.npy").tobytes() for name in ("bare", "labelled")
            if run("predict", f"g-{name}", "--checkpoint", "run1/checkpoint.safetensors", "--out", f"{name}-out.npy", "--embeddings", f"{name}.npy", *MEMORY) is not None]
    assert both[0] == both[1]
    says([f"reads {D} features", f"g-wide has {D + 2}"], "predict", "g-wide", "--checkpoint", "run0/checkpoint.safetensors", "--out", "out.npy", *MEMORY)


def check_eval():
    """Sampled and with all neighbours: what is measured, and what there is nothing to measure by."""
    for full in ["--full"], ["--fanout", "-1,-1"]:
        def judge(graph, number, *more):
            return ["eval", f"g-{graph}", "--checkpoint", f"run{number}/checkpoint.safetensors", *MEMORY, *full, *more]

        for graph in "labelled", "tested", "fewer":
            found = json.loads(run(*judge(graph, 0), "--json"))["metrics"]
            logits = np.frombuffer(predicted(graph, "run0/checkpoint.safetensors"), np.float32).reshape(M, 4)
            ids, y = np.load(f"g-{graph}/test.npy"), np.load(f"g-{graph}/labels.npy").ravel()
            assert abs(found["acc"] - (logits[ids].argmax(1) == y[ids]).mean()) < 1e-9, (graph, full)
        for graph in "bare", "unlabelled":
            says(["no labels"], *judge(graph, 0))
        says(["class", "4 classes", "g-more"], *judge("more", 0))
        says(["no test nodes", "give --split valid"], *judge("validated", 0))
        said = run(*judge("trained", 0), "--split", "valid", fails=True)
        assert "no valid nodes" in said and "--split 60/20/20" in said and "--split test" not in said, said
        run(*judge("validated", 0), "--split", "valid")
        says(["none of the", "has a label"], *judge("unknown", 0))
        says(["values", "classes"], *judge("values-other", 0))
        says(["values", "classes"], *judge("labelled", 5))
        says(["3 numbers", "have 4"], *judge("values-wide", 5))
        run(*judge("values-other", 5))
        says([f"reads {D} features"], *judge("wide", 0))


def check_columns():
    """A checkpoint knows the names of the columns that it learnt, and how they were standardized. Others are refused, or a warning says so."""
    own = np.random.default_rng(7)
    ends = own.integers(0, M, (4 * M, 2))
    a, b = own.standard_normal((2, M)) * 9 + 5

    def table(name, columns, *words):
        pathlib.Path(name).mkdir()
        pathlib.Path(name, "edges.csv").write_text("src,dst\n" + "".join(f"{s},{d}\n" for s, d in ends))
        rows = ["id,label," + ",".join(columns)] + [f"{i},{i % 3}," + ",".join(str(x[i]) for x in columns.values()) for i in range(M)]
        pathlib.Path(name, "nodes.csv").write_text("\n".join(rows) + "\n")
        run("import", name, f"t-{name}", "--split", "60/20/20", "--quiet", *words)

    def said(*args):
        done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
        assert done.returncode == 0, (args, done.stderr)
        return done.stderr

    table("ab", {"a": a, "b": b}, "--standardize")
    table("capitals", {"A": a + 1, "B": b}, "--standardize-as", "t-ab")
    table("ba", {"b": b, "a": a}, "--standardize")
    table("raw", {"a": a, "b": b})
    table("anew", {"a": a + 1, "b": b}, "--standardize")
    run("train", "t-ab", *RUN, "--run", "columns")
    run("train", "t-raw", *RUN, "--run", "plain")
    judge = ["eval", "{}", "--checkpoint", "columns/best.safetensors", *MEMORY]
    apply = ["predict", "{}", "--checkpoint", "columns/checkpoint.safetensors", "--out", "columns.npy", "--overwrite", *MEMORY]
    for command in judge, apply:
        def on(graph, run="columns"):
            return [word.format(graph).replace("columns/", f"{run}/") for word in command]

        for same in "t-ab", "t-capitals":
            assert "standardized" not in said(*on(same))
        says(["t-ba: feature 0 is b, the checkpoint learnt a"], *on("t-ba"))
        assert "t-raw: nothing says that features are standardized as in training: import with --standardize-as" in said(*on("t-raw"))
        assert "t-anew: features are standardized by other means" in said(*on("t-anew"))
        assert "t-ab: features are standardized, those of training were not" in said(*on("t-ab", "plain"))
        assert "standardized" not in said(*on("t-raw", "plain"))
    assert "t-ba: feature 0 is b" in said("train", "t-ba", *RUN, "--init", "columns/best.safetensors", "--run", "init")


# ---- types ----

RELATIONS = [("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "rev", "author")]


def typed(name, papers, authors, relations=RELATIONS, features=True, labelled=True, split=True):
    own = np.random.default_rng(9)
    os.makedirs(name)
    n = papers + authors
    first, count = {"paper": 0, "author": papers}, {"paper": papers, "author": authors}
    edges, kinds = [], []
    for k, (source, _, destination) in enumerate(relations):
        pairs = np.stack([first[source] + own.integers(0, count[source], 3 * n), first[destination] + own.integers(0, count[destination], 3 * n)], 1)
        edges, kinds = [*edges, pairs], [*kinds, np.full(3 * n, k)]
    arrays = {"edges": np.concatenate(edges), "edge_type": np.concatenate(kinds), "node_type": (np.arange(n) >= papers).astype(np.int64),
              "feat_paper": own.standard_normal((papers, D)).astype(np.float32)}
    if features:
        arrays["feat_author"] = own.standard_normal((authors, 3)).astype(np.float32)
    if labelled:
        arrays["label"] = np.where(np.arange(n) < papers, np.arange(n) % 3, -1)
    if split:
        arrays.update(zip(("train", "valid", "test"), np.split(own.permutation(papers), [papers // 2, 3 * papers // 4])))
    for key, array in arrays.items():
        np.save(f"{name}/{key}.npy", array)
    pathlib.Path(name, "meta.json").write_text(json.dumps({
        "node_types": [{"type": 0, "name": "paper"}, {"type": 1, "name": "author"}],
        "edge_types": [{"edge_type": k, "name": r[1]} for k, r in enumerate(relations)]}))
    run("import", "npy", name, f"g-{name}", "--quiet")


def check_types():
    typed("t-first", 200, 100)
    for name, more in {"t-labelled": {}, "t-unlabelled": {"labelled": False}, "t-bare": {"labelled": False, "split": False}}.items():
        typed(name, 120, 150, **more)
    typed("t-fewer", 120, 150, relations=RELATIONS[:2])
    typed("t-more", 120, 150, relations=[*RELATIONS, ("author", "knows", "author")])
    every = ["--fanout", "-1,-1"]
    for i, options in enumerate(([], ["--model", "gcn"], ["--task", "link", "--batch", "300"])):
        run("train", "g-t-first", *RUN, *options, "--run", f"typed{i}")
        made = {predicted(graph, f"typed{i}/checkpoint.safetensors", *every) for graph in ("t-labelled", "t-unlabelled", "t-bare")}
        width, rows = (8, 270) if "link" in options else (3, 120)
        assert len(made) == 1 and len(made.pop()) == 4 * width * rows, options
    checkpoint = ["--checkpoint", "typed0/checkpoint.safetensors", *MEMORY]
    run("eval", "g-t-labelled", *checkpoint, "--fanout", "4,4")
    for full in [["--full"], ["--fanout", "4,4"]]:
        says(["no labels"], "eval", "g-t-unlabelled", *checkpoint, *full)
    says(["paper___rev___author"], "predict", "g-t-fewer", *checkpoint, "--out", "out.npy")
    says(["author___knows___author", "relations"], "predict", "g-t-more", *checkpoint, "--out", "out.npy")
    says(["homogeneous", "no tensor"], "predict", "g-t-labelled", "--checkpoint", "run0/checkpoint.safetensors", *MEMORY, "--out", "out.npy")
    says(["heterogeneous", "g-labelled is homogeneous"], "predict", "g-labelled", *checkpoint, "--out", "out.npy")


def check_learnt_rows():
    typed("l-first", 200, 100, features=False)
    typed("l-other", 120, 150, features=False)
    run("train", "g-l-first", *RUN, "--embedding", "4", "--run", "learnt")
    says(["embeddings.author.weight", "100 nodes", "150"], "predict", "g-l-other", "--checkpoint", "learnt/checkpoint.safetensors", *MEMORY, "--out", "out.npy")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    make_graphs()
    check_predict()
    check_eval()
    check_columns()
    check_types()
    check_learnt_rows()
    os.chdir("/")
