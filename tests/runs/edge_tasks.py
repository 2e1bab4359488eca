#!/usr/bin/env python3
"""--task edge: classes, labels and values of edges. What features of both ends decide is learned, and `predict` writes what `eval` judges.
Runs are bit-identical in any memory, after a kill, and with workers and executors. A device agrees. What does not fit is refused.

    edge_tasks.py OUTGROW
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

import command
from command import OUTGROW, run

BASE = ["--fanout", "4,3", "--batch", "100", "--hidden", "16", "--epochs", "3", "--lr", "0.02", "--dropout", "0.1", "--memory", "300M", "--threads", "2",
        "--checkpoint-every", "0"]
TYPED = ["--model", "sage"]
SPLITS = "train", "valid", "test"
rng = np.random.default_rng(5)


def train(graph, name, *options):
    return json.loads(run("train", graph, "--task", "edge", *BASE, *options, "--run", name, "--json").stdout)


def same(one, other):
    command.same(one, other, ("loss", "train_acc", "valid_metrics"))


def source(name, labels, types=False):
    """An undirected graph in which labels follow from the kinds of both ends, which features show with noise."""
    n, m = 900, 5000
    kind = rng.integers(0, 3, n)
    x = (np.eye(3)[kind] * 2 + rng.normal(0, 0.4, (n, 3))).astype("f4")
    os.makedirs(name)
    said, called = {"edge_class_names": ["red", "green", "dark blue"]}, np.array([f"n{i:04d}" for i in range(n)], "S5")
    if types:  # 500 users, 400 items; users buy items, and items are like items
        ends = np.concatenate([np.stack([rng.integers(0, 500, m), rng.integers(500, n, m)], 1), rng.integers(500, n, (m // 2, 2))])
        relation = np.repeat([0, 1], [m, m // 2])
        order = rng.permutation(len(ends))
        ends, relation = ends[order], relation[order]
        np.save(f"{name}/node_type.npy", np.repeat([0, 1], [500, 400]).astype("i4"))
        np.save(f"{name}/edge_type.npy", relation.astype("i4"))
        said.update({"node_types": [{"type": 0, "name": "user"}, {"type": 1, "name": "item"}],
                   "edge_types": [{"edge_type": 0, "name": "buys"}, {"edge_type": 1, "name": "like"}]})
        np.save(f"{name}/node_names_user.npy", called[:500])
        np.save(f"{name}/node_names_item.npy", called[500:])
        np.save(f"{name}/feat_user.npy", x[:500])
        np.save(f"{name}/feat_item.npy", x[500:])
    else:
        ends, relation = rng.integers(0, n, (m, 2)), np.zeros(m, int)
        np.save(f"{name}/feat.npy", x)
        np.save(f"{name}/node_names.npy", called)
    json.dump(said, open(f"{name}/meta.json", "w"))
    np.save(f"{name}/edges.npy", ends)
    y = labels(kind[ends[:, 0]], kind[ends[:, 1]])
    cut = [0, len(ends) * 7 // 10, len(ends) * 8 // 10, len(ends)]
    for k, split in enumerate(SPLITS):
        part = slice(cut[k], cut[k + 1])
        np.save(f"{name}/{split}_edges.npy", ends[part])
        np.save(f"{name}/{split}_edge_labels.npy", y[part])
        if types:
            np.save(f"{name}/{split}_edge_type.npy", relation[part].astype("i4"))
    return {split: y[cut[k]:cut[k + 1]] for k, split in enumerate(SPLITS)}, {split: relation[cut[k]:cut[k + 1]] for k, split in enumerate(SPLITS)}


def classes(a, b):
    y = (a + 2 * b) % 3
    y[::50] = -1
    return y


def values(a, b):
    y = (a - 2 * b + rng.normal(0, 0.05, len(a))).astype("f4")
    y[::50] = np.nan
    return y


def several(a, b):
    y = np.stack([a == b, a > b, a + b > 2], 1).astype("f4")
    y[::50, 1] = np.nan
    return y


def check_learned(graph, labels, best, more=()):
    """Labels are learned, and predictions are those of `eval` with all neighbours."""
    done = train(graph, f"{graph}-whole", *more, "--epochs", 12)
    assert done["best_value"] >= best, (graph, done["best_value"])
    checkpoint = f"{graph}-whole/best.safetensors"
    for split in "valid", "test":
        judged = json.loads(run("eval", graph, "--checkpoint", checkpoint, "--fanout", "-1,-1", "--split", split, "--json", *more).stdout)
        out = f"{graph}-{split}-{len(labels[split])}.npy"
        written = json.loads(run("predict", graph, "--checkpoint", checkpoint, "--out", out, "--nodes", split, "--json", *more).stdout)
        p, y = np.load(out).astype("f8"), labels[split]
        assert written["edges"] == len(y) == len(p), (written, len(y))
        if y.dtype.kind == "i":
            known = y >= 0
            loss = (np.log(np.exp(p).sum(1)) - p[np.arange(len(y)), y])[known].mean()
            assert judged["acc"] == (p.argmax(1) == y)[known].mean(), (graph, judged["acc"])
            assert judged["classes"][0]["support"] == (y == 0).sum() and len(judged["confusion"]) == 3
        elif y.ndim == 1:
            d = (p[:, 0] - y)[~np.isnan(y)]
            loss = (d ** 2).mean()
        else:
            loss = (np.logaddexp(0, p) - p * y)[~np.isnan(y)].mean()
        assert abs(judged["loss"] - loss) < 1e-5 * max(1, loss), (graph, split, judged["loss"], loss)
        full = json.loads(run("eval", graph, "--checkpoint", checkpoint, "--full", "--split", split, "--json", *more).stdout)
        assert (full["loss"], full["metrics"], full["labelled"]) == (judged["loss"], judged["metrics"], judged["nodes"]), (full, judged)
        check_table(graph, checkpoint, split, p, y, more)
    return done


def check_table(graph, checkpoint, split, p, y, more):
    """A line per edge, with the source's names of both ends and of classes."""
    edges, relation = np.load(f"{graph}/{split}_edges.npy"), None
    if os.path.exists(f"{graph}/{split}_edge_relations.npy"):
        relation = np.load(f"{graph}/{split}_edge_relations.npy")
        names = np.array([r["name"] for r in json.load(open(f"{graph}/meta.json"))["relations"]])
        of = names[relation] == more[-1] if "--relation" in more else np.ones(len(edges), bool)
        edges, relation = edges[of], names[relation[of]]
    out = f"{graph}-{split}-{len(y)}.csv"
    run("predict", graph, "--checkpoint", checkpoint, "--out", out, "--nodes", split, "--names", *more)
    head, *lines = [line.split(",") for line in pathlib.Path(out).read_text().splitlines()]
    ids = np.load(f"{graph}/node_ids.npy") if os.path.exists(f"{graph}/node_ids.npy") else np.arange(900)
    named = [f"n{i:04d}" for i in ids]
    assert head[:len(lines[0]) - p.shape[1]] == ["src", *(["relation"] if relation is not None else []), "dst", *(["class"] if y.dtype.kind == "i" else [])], head
    assert [row[0] for row in lines] == [named[u] for u in edges[:, 0]] and len(lines) == len(p)
    assert [row[2 if relation is not None else 1] for row in lines] == [named[v] for v in edges[:, 1]]
    if relation is not None:
        assert [row[1] for row in lines] == relation.tolist()
    assert np.abs(np.array([row[-p.shape[1]:] for row in lines], float) - p).max() < 1e-5
    if y.dtype.kind == "i":
        assert head[-3:] == ["red", "green", "dark blue"] and [row[-4] for row in lines] == [head[-3:][c] for c in p.argmax(1)]
        run("predict", graph, "--checkpoint", checkpoint, "--out", f"top-{out}", "--nodes", split, "--top-k", 2, "--probabilities", *more)
        top = [line.split(",") for line in pathlib.Path(f"top-{out}").read_text().splitlines()]
        assert top[0][-4:] == ["class_1", "score_1", "class_2", "score_2"] and [row[-4] for row in top[1:]] == [row[-4] for row in lines]
        chance = np.exp(p - p.max(1, keepdims=True))
        assert np.abs(np.array([row[-3] for row in top[1:]], float) - (chance / chance.sum(1, keepdims=True)).max(1)).max() < 1e-5


def check_same(graph, more=()):
    """The bytes of a run, whatever moves them; killed and resumed; workers and executors as one that accumulates."""
    train(graph, f"{graph}-plain", *more)
    for number, way in enumerate([["--policy", "belady", "--cache", "20%", "--superbatch", "4"], ["--topology", "disk", "--threads", 1, "--policy", "lru", "--cache", "10%"]]):
        train(graph, f"{graph}-way-{number}", *more, *way)
        same(f"{graph}-plain", f"{graph}-way-{number}")
    child = subprocess.Popen([OUTGROW, "train", graph, "--task", "edge", *BASE, *map(str, more), "--run", f"{graph}-killed", "--quiet", "--log-every", "1"])
    log = pathlib.Path(f"{graph}-killed/metrics.jsonl")
    while child.poll() is None and not (log.exists() and log.read_text().count("\n") >= 20):
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    child.wait()
    train(graph, f"{graph}-killed", *more, "--resume")
    same(f"{graph}-plain", f"{graph}-killed")
    train(graph, f"{graph}-alone", *more, "--accumulate", 2)
    for name, way in ("workers", ["--workers", 2]), ("exchange", ["--workers", 2, "--exchange"]), ("executors", ["--executors", 2]):
        train(graph, f"{graph}-{name}", *more, "--accumulate", 2, *way)
        same(f"{graph}-alone", f"{graph}-{name}")
    a, b = (json.loads(pathlib.Path(f"{graph}-plain/summary.json").read_text()), train(graph, f"{graph}-device", *more, "--device", "virtual"))
    assert all(abs(x["loss"] - y["loss"]) < 1e-3 for x, y in zip(a["epochs"], b["epochs"]))


def check_options(labels):
    """Weights and draws of edges, and a sum over halves of a split: each counts once."""
    n = len(labels["train"])
    np.save("weights.npy", (np.arange(n) % 5).astype("f4"))
    for options in ["--class-weights", "balanced", "--label-smoothing", "0.1"], ["--loss", "focal:1"], ["--oversample", "balanced"], ["--best-by", "macro_f1"]:
        assert train("classes", f"with{options[0]}", *options)["test_acc"] > 0.8
    rows = [json.loads(run("simulate", "classes", "--task", "edge", *BASE[:4], "--epochs", 1, "--policy", "lru", "--cache", "0", "--oversample", how, "--json", "-").stdout)["rows"]
            for how in ("none", "balanced")]
    assert rows[0] != rows[1], rows  # the batches of a run that draws edges by their classes
    still = ["--lr", 0, "--epochs", 1, "--fanout", "-1,-1", "--dropout", 0]
    loss = {}
    for name, w in ("all", np.ones(n)), ("even", np.arange(n) % 2 == 0), ("odd", np.arange(n) % 2 == 1):
        np.save("weights.npy", w.astype("f4"))
        loss[name] = train("classes", f"still-{name}", *still, "--batch", n, "--seed-weights", "weights.npy")["epochs"][0]["loss"]
    known = labels["train"] >= 0
    even, odd = known[::2].sum(), known[1::2].sum()
    assert abs(loss["all"] - (even * loss["even"] + odd * loss["odd"]) / (even + odd)) < 1e-6, loss


def check_doors(labels):
    """Doors keep rows; a dataset is verified, striped and exported with them."""
    for split in SPLITS:
        assert (np.load(f"classes/{split}_edge_labels.npy") == labels[split]).all()
    assert "nothing wrong" in run("verify", "classes").stdout
    run("export", "npy", "classes", "out")
    run("import", "npy", "out", "again")
    for split in SPLITS:
        assert pathlib.Path(f"again/{split}_edge_labels.npy").read_bytes() == pathlib.Path(f"classes/{split}_edge_labels.npy").read_bytes()
    whole = np.load("classes/test_edge_labels.npy")
    whole[3] = -7
    np.save("again/test_edge_labels.npy", whole)
    assert "row 3: class -7" in run("verify", "again", fails=True).stdout


def check_refused():
    for extra, word in (["--task", "link", "--class-weights", "balanced"], "--class-weights"), (["--task", "edge", "--loss", "mse"], "--loss mse"), \
            (["--task", "edge_regression"], "has classes"):
        said = run("train", "classes", *BASE, *extra, "--run", "never", fails=True).stderr
        assert word in said and "hint:" in said and not os.path.exists("never"), said
    run("generate", "bare", "--nodes", 300, "--degree", 4, "--dim", 4, "--classes", 2)
    assert "no labels of edges" in run("train", "bare", "--task", "edge", *BASE, "--run", "never", fails=True).stderr
    for more, word in (["--out", "p.npy", "--top-k", "2"], "--top-k"), (["--out", "p.npy", "--nodes", "train"], "--nodes train"), (["--out", "p.npy", "--embeddings", "e.npy"], "--embeddings"):
        assert word in run("predict", "classes", "--checkpoint", "classes-whole/best.safetensors", *more, fails=True).stderr
    np.save("classes.src/valid_edge_labels.npy", np.zeros(3, int))
    assert "3 rows" in run("import", "npy", "classes.src", "short", fails=True).stderr


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    of = {}
    for name, make, types in ("classes", classes, False), ("values", values, False), ("several", several, False), ("typed", classes, True):
        of[name], relation = source(f"{name}.src", make, types)
        run("import", "npy", f"{name}.src", name, "--reverse-relations" if types else "--symmetrize")
    check_learned("classes", of["classes"], 0.95)
    check_learned("values", of["values"], 0.8)
    check_learned("several", of["several"], 0.9)
    check_learned("typed", of["typed"], 0.9, TYPED)
    only = {split: y[relation[split] == 0] for split, y in of["typed"].items()}
    os.rename("typed-whole", "typed-both")
    check_learned("typed", only, 0.9, [*TYPED, "--relation", "buys"])
    check_same("classes")
    check_same("typed", TYPED)
    check_options(of["classes"])
    check_doors(of["classes"])
    check_refused()
