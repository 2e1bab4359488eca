#!/usr/bin/env python3
"""Correct & Smooth, compared with PyTorch Geometric's CorrectAndSmooth: on generated graphs, and on cora where OUTGROW_DATA has it.

Files are bit-identical for any memory and threads, and after kills. Labels that are not of train nodes decide nothing.

    smooth.py OUTGROW      exits 77 where there is no NumPy
"""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    sys.exit(77)

from command import OUTGROW, run

N, E, CLASSES = 2000, 16000, 5
rng = np.random.default_rng(47)


def make_source(folder, labels):
    """Own loops, duplicates, nodes without in-edges, weights of 0."""
    draw = np.random.default_rng(5)
    folder.mkdir()
    edges = np.stack([draw.integers(0, N, E), draw.integers(0, N - 200, E)], 1)
    edges[:50, 1] = edges[:50, 0] = np.arange(50)
    weights = draw.random(E).astype(np.float32)
    weights[100:140] = 0
    ids = draw.permutation(N)
    np.save(folder / "edges.npy", edges)
    np.save(folder / "edge_weight.npy", weights)
    np.save(folder / "feat.npy", draw.standard_normal((N, 4)).astype(np.float32))
    np.save(folder / "label.npy", labels)
    for i, name in enumerate(("train", "valid", "test")):
        np.save(folder / f"{name}.npy", ids[i * 400:(i + 1) * 400])


def probabilities(labels, lean=1.0):
    """Rows that lean towards the labels, as a model's do."""
    x = rng.standard_normal((len(labels), labels.max() + 1) if labels.ndim == 1 else labels.shape)
    if labels.ndim == 2:
        return (1 / (1 + np.exp(-x - lean * (np.nan_to_num(labels) - 0.5)))).astype(np.float32)
    x[np.arange(len(labels)), np.maximum(labels, 0)] += lean
    x = np.exp(x)
    return (x / x.sum(1, keepdims=True)).astype(np.float32)


def smooth(graph, predictions, out, *more, **how):
    if not how.get("keep"):
        pathlib.Path(out).unlink(missing_ok=True)
    return run("smooth", graph, predictions, "--out", out, *more, fails=how.get("fails", False))


WAYS = [
    ({}, []),
    ({"layers": (3, 4), "alphas": (0.9, 0.6)}, []),
    ({"layers": (5, 0), "alphas": (1.0, 0.6)}, []),
    ({"layers": (0, 3), "alphas": (1.0, 1.0)}, []),
    ({"layers": (1, 1), "alphas": (0.0, 0.7)}, []),
    ({"layers": (4, 2), "alphas": (0.8, 0.5), "scale": 2.5}, []),
    ({"layers": (3, 2), "alphas": (0.8, 0.7)}, ["--edge-weights", "multiply"]),
]


def options(layers=(50, 50), alphas=(0.8, 0.8), scale=None):
    words = ["--correction-layers", layers[0], "--correction-alpha", alphas[0], "--smoothing-layers", layers[1], "--smoothing-alpha", alphas[1]]
    return words + (["--scale", scale] if scale else [])


def by_pyg(graph, predictions, weighted, layers=(50, 50), alphas=(0.8, 0.8), scale=None):
    import torch
    from torch_geometric.nn import CorrectAndSmooth
    from torch_geometric.nn.conv.gcn_conv import gcn_norm
    indptr, src = np.load(graph / "indptr.npy"), np.load(graph / "indices.npy").astype(np.int64)
    edges = torch.from_numpy(np.stack([src, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))]))
    labels, train = np.load(graph / "labels.npy"), np.load(graph / "train.npy")
    if labels.ndim == 1:
        train = train[labels[train] >= 0]
    weight = None
    if weighted:
        edges, weight = gcn_norm(edges, torch.from_numpy(np.load(graph / "weights.npy")), len(indptr) - 1, add_self_loops=False)
    post = CorrectAndSmooth(layers[0], alphas[0], layers[1], alphas[1], autoscale=scale is None, scale=scale or 1.0)
    mask, y, z = torch.from_numpy(train), torch.from_numpy(labels[train]), torch.from_numpy(predictions.astype(np.float32))
    return post.smooth(post.correct(z, y, mask, edges, weight), y, mask, edges, weight).numpy()


def check_pyg(graph, folder):
    try:
        import torch_geometric  # noqa: F401
    except ImportError:
        print("no PyTorch Geometric: CorrectAndSmooth is not compared")
        return
    labels, worst = np.load(graph / "labels.npy"), 0
    for dtype in np.float32, np.float16:
        z = probabilities(labels).astype(dtype)
        np.save(folder / "z.npy", z)
        for how, more in WAYS:
            if (more and not (graph / "weights.npy").exists()) or (dtype == np.float16 and how):
                continue
            smooth(graph, folder / "z.npy", folder / "out.npy", *options(**how), *more)
            ours, theirs = np.load(folder / "out.npy"), by_pyg(graph, z, bool(more), **how)
            assert ours.dtype == np.float32 and ours.shape == theirs.shape
            worst = max(worst, np.abs(ours - theirs).max())
            assert worst < 1e-5, (how, more, worst)
    print(f"{graph.name}: largest difference from PyTorch Geometric's CorrectAndSmooth: {worst:.2g}")


def check_accuracies(graph, folder):
    """They are those of the files, and a loss is said."""
    labels = np.load(graph / "labels.npy")

    def accuracy(rows, split):
        ids = np.load(graph / f"{split}.npy")
        ids = ids[labels[ids] >= 0]
        return (rows[ids].argmax(1) == labels[ids]).mean()
    for lean, word in (1.0, "smoothing does not gain"), (0.0, "validation accuracy is"):
        z = probabilities(labels, lean)
        if not lean:  # labels follow the train nodes of the list, so that they help
            z[:] = 1 / CLASSES
        np.save(folder / "z.npy", z)
        done = smooth(graph, folder / "z.npy", folder / "out.npy", "--json")
        told, rows = json.loads(done.stdout), np.load(folder / "out.npy")
        for split in "valid", "test":
            assert np.isclose(told["before"][f"{split}_acc"], accuracy(z, split)), split
            assert np.isclose(told[f"{split}_acc"], accuracy(rows, split)), split
        assert ("does not gain" in done.stderr) == (told["valid_acc"] <= told["before"]["valid_acc"]), done.stderr
        assert word in done.stderr, (word, done.stderr, told["valid_acc"], told["before"])


def check_planted(folder, labels):
    """Labels that are not trained on decide no byte. Those of train nodes do."""
    train = np.load(folder / "source/train.npy")
    others = (labels + rng.integers(1, CLASSES, N)) % CLASSES
    others[train] = labels[train]
    make_source(folder / "planted", others)
    others = others.copy()
    others[train] = (labels[train] + 1) % CLASSES
    make_source(folder / "changed", others)
    np.save(folder / "z.npy", probabilities(labels))
    made = []
    for source in "source", "planted", "changed":
        graph = folder / f"planted-{source}"
        run("import", "npy", folder / source, graph)
        told = json.loads(smooth(graph, folder / "z.npy", folder / "out.npy", "--json").stdout)
        made.append(((folder / "out.npy").read_bytes(), told["valid_acc"]))
    assert made[0][0] == made[1][0] and made[0][1] != made[1][1], "labels that are held out decide the predictions"
    assert made[0][0] != made[2][0]


def check_forms(graph, folder):
    """A table and float16 have the numbers of the .npy file."""
    labels = np.load(graph / "labels.npy")
    np.save(folder / "z.npy", probabilities(labels))
    for out, more in ("out.npy", []), ("half.npy", ["--dtype", "f16"]), ("out.csv", []), ("top.csv", ["--top-k", 2]):
        smooth(graph, folder / "z.npy", folder / out, *more)
    rows = np.load(folder / "out.npy")
    assert np.array_equal(np.load(folder / "half.npy"), rows.astype(np.float16))
    with open(folder / "out.csv", encoding="utf-8", newline="") as f:
        head, *table = csv.reader(f)
    assert head == ["id", "class", *map(str, range(CLASSES))] and len(table) == N
    assert np.array_equal(np.array([r[2:] for r in table], np.float32), rows)
    assert [int(r[1]) for r in table] == list(rows.argmax(1))
    with open(folder / "top.csv", encoding="utf-8", newline="") as f:
        table = list(csv.reader(f))[1:]
    assert [int(r[1]) for r in table] == list(rows.argmax(1))


def large(folder):
    """A graph whose rows exceed the least memory, and predictions."""
    run("generate", folder / "large", "--nodes", 20000, "--dim", 4, "--classes", 64)
    z = rng.random((20000, 64)).astype(np.float32)
    np.save(folder / "large.npy", z / z.sum(1, keepdims=True))
    return folder / "large", folder / "large.npy", ["--correction-layers", 2, "--smoothing-layers", 2]


def check_bits(folder, graph, z, how):
    for mib in range(16, 64):
        out = folder / "few.npy"
        words = [OUTGROW, "smooth", graph, z, "--out", out, *how, "--memory", f"{mib}M", "--threads", 1, "--json"]
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
        if done.returncode == 0:
            break
        assert "--memory" in done.stderr and not out.exists(), done.stderr
    told = json.loads(done.stdout)
    assert told["peak_rss_bytes"] <= told["memory_budget_bytes"], told
    assert all(layer["rows_kept"] < 10000 for layer in told["layers"]), "most rows fit: nothing is compared"
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        for more in ["--threads", 2], ["--io", "pread", "--threads", 3], ["--scratch", f"{a},{b}"]:
            smooth(graph, z, folder / "out.npy", *how, *more)
            assert (folder / "out.npy").read_bytes() == out.read_bytes(), more
        assert not os.listdir(a) and not os.listdir(b)
    print(f"the same bytes in {mib} MiB, which hold {told['layers'][1]['rows_kept']} of 20000 rows, and in any memory")
    return out.read_bytes()


def check_kills(folder, graph, z, how, whole):
    """Killed anywhere, then resumed: the same file, and nothing else. Until then it is not there."""
    out = folder / "kills" / "out.npy"
    command = [str(w) for w in (OUTGROW, "smooth", graph, z, "--out", out, *how, "--checkpoint-every", 0, "--threads", 1, "--memory", "40M")]
    began = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    seconds, resumed, times = time.monotonic() - began, 0, 8
    for i in range(times):
        shutil.rmtree(out.parent)
        killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds * (i + 0.5) / times)
        killed.kill()
        killed.wait()
        assert not out.exists() or out.read_bytes() == whole, "the file is half written"
        if not out.exists():
            resumed += "resuming in layer" in run(*command[1:], "--resume").stderr
        assert out.read_bytes() == whole and os.listdir(out.parent) == ["out.npy"], (i, os.listdir(out.parent))
    assert resumed > 0, "no kill left a state"
    print(f"{resumed} of {times} kills left a state that was resumed, to the same bytes")


def check_refusals(graph, folder):
    def refused(word, *more, of=graph, z=folder / "z.npy"):
        said = smooth(of, z, folder / "no.npy", *more, fails=True).stderr
        assert word in said and not (folder / "no.npy").exists(), (word, said)
    labels = np.load(graph / "labels.npy")
    z = probabilities(labels)
    np.save(folder / "z.npy", z)
    for name, rows in ("logits", np.log(z)), ("nan", np.where(z > 0.5, np.nan, z).astype(np.float32)):
        np.save(folder / f"{name}.npy", rows)
        refused("--probabilities", z=folder / f"{name}.npy")
    np.save(folder / "narrow.npy", z[:, :2])
    refused(f"[{N}, 2]", z=folder / "narrow.npy")
    np.save(folder / "doubles.npy", z.astype(np.float64))
    refused("float64", z=folder / "doubles.npy")
    refused("not", z=graph / "meta.json")
    refused("nothing is propagated", "--correction-layers", 0, "--smoothing-layers", 0)
    refused("--correction-alpha", "--correction-alpha", 1.5)
    refused("--scale", "--scale", "auto")
    refused("--edge-weights multiply", "--edge-weights", "mean")
    refused("CPU", "--device", "virtual")
    refused("--out FILE.csv", "--top-k", 2)
    refused("", "--workers", 2)
    run("generate", folder / "typed", "--types", "paper:200,author:100", "--relations", "author:writes:paper")
    refused("heterogeneous", of=folder / "typed")
    smooth(graph, folder / "z.npy", folder / "there.npy")
    assert "exists already" in smooth(graph, folder / "z.npy", folder / "there.npy", keep=True, fails=True).stderr
    said = smooth(graph, folder / "z.npy", folder / "out.npy", "--lr", 0.1, "--pack-dtype", "f16", "--seed", 3).stderr
    assert "--lr, --pack-dtype, --seed have no effect" in said or "have no effect" in said, said
    said = smooth(graph, folder / "z.npy", folder / "out.npy", "--correction-layers", 0, "--scale", 2, "--smoothing-alpha", 0.7).stderr
    assert "--scale has no effect with --correction-layers 0" in said and said.count("has no effect") == 1, said


def make_labels():
    labels = rng.integers(0, CLASSES, N)
    labels[::37] = -1
    return labels


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    labels = make_labels()
    make_source(folder / "source", labels)
    run("import", "npy", folder / "source", folder / "graph")
    several = (rng.random((N, 3)) < 0.3).astype(np.float32)
    make_source(folder / "several-source", several)
    run("import", "npy", folder / "several-source", folder / "several")
    check_pyg(folder / "graph", folder)
    check_pyg(folder / "several", folder)
    data = pathlib.Path(os.environ.get("OUTGROW_DATA", "."), "cora")
    if data.exists():
        run("import", "npy", data, folder / "cora", "--symmetrize")
        check_pyg(folder / "cora", folder)
    check_accuracies(folder / "graph", folder)
    check_planted(folder, labels)
    check_forms(folder / "graph", folder)
    graph, z, how = large(folder)
    check_kills(folder, graph, z, how, check_bits(folder, graph, z, how))
    check_refusals(folder / "graph", folder)
