#!/usr/bin/env python3
"""Batches of chunks of seeds, by NumPy. The seeds of every batch follow from the definition, for the order of the list, one by MinHash and one in a file.
Seeds are nodes or edges, of one type or several. Runs are bit-identical on workers, with --exchange, of samples and after kills. What `plan` predicts is
what a trace has.

    locality.py OUTGROW [CHECK...]      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import command
from command import OUTGROW, run

try:
    import numpy as np

    from philox import long_words, shuffled
except ImportError:
    sys.exit(77)

BASE = ["--fanout", "3,2", "--batch", "40", "--epochs", "4", "--memory", "300M", "--threads", "2"]
TRAIN = [*BASE, "--hidden", "8", "--lr", "0.02", "--checkpoint-every", "0"]
FIGURES = ["epoch", "loss", "train_acc", "valid_acc", "rows"]
LINK = ["--task", "link", "--batch", "60", "--epochs", "2", "--edge-split", "70/10/20"]


def order_of(n, chunk, seed, epoch, order=None):
    """The places of an epoch, by the definition in docs/guides/locality.md."""
    order = np.arange(n) if order is None else np.asarray(order)
    q, whole = np.arange(n), n // chunk * chunk
    offset = int(long_words(seed, 24, [0], epoch=epoch)[0]) % n
    chunks = shuffled(n // chunk, seed, epoch)
    at = np.where(q < whole, chunks[np.minimum(q // chunk, n // chunk - 1)] * chunk + q % chunk, q)
    return order[(at + offset) % n]


def relations(graph):
    """Offsets of each relation, its sources as nodes of the whole, and its first destination."""
    meta = json.loads(pathlib.Path(graph, "meta.json").read_text())
    if "relations" not in meta:
        return [(np.load(f"{graph}/indptr.npy"), np.load(f"{graph}/indices.npy").astype(np.int64), 0)]
    counts = [t["count"] for t in meta["node_types"]]
    first = dict(zip([t["name"] for t in meta["node_types"]], np.cumsum([0, *counts])))
    return [(np.load(f"{graph}/rel{i}_indptr.npy"), np.load(f"{graph}/rel{i}_indices.npy").astype(np.int64) + first[r["source"]], first[r["destination"]])
            for i, r in enumerate(meta["relations"])]


def minhash(graph):
    """Each training node's smallest hash of an in-neighbour, node by node; ties by place."""
    train = np.load(f"{graph}/train.npy")
    smallest = np.full(len(train), 2**64 - 1, np.uint64)
    for indptr, sources, first in relations(graph):
        for i, v in enumerate(train - first):
            mine = sources[indptr[v]:indptr[v + 1]] if 0 <= v < len(indptr) - 1 else []
            if len(mine):
                smallest[i] = min(smallest[i], long_words(0, 24, mine, layer=1).min())
    return np.lexsort([np.arange(len(train)), smallest])


def sample(graph, name, *options):
    run("sample", graph, "--out", name, *BASE, *options)
    return np.load(f"{name}/seeds.npy"), np.load(f"{name}/seeds_ptr.npy"), json.loads(pathlib.Path(name, "trace.json").read_text())


def check_order():
    """Seeds are the list of the epoch, cut into batches."""
    for graph in "plain", "typed":
        train = np.load(f"{graph}/train.npy")
        n = len(train)
        by_hash = minhash(graph)
        run("order", graph)
        np.testing.assert_array_equal(np.load(f"{graph}/order_train.npy"), by_hash)
        assert np.load(f"{graph}/order_train.npy").dtype == np.int64
        assert "exists" in run("order", graph, fails=True).stderr
        said = json.loads(run("order", graph, "--out", f"{graph}-other.npy", "--json").stdout)
        assert said == {"order": "minhash", "nodes": n, "file": f"{graph}-other.npy"}, said
        at_random = np.random.default_rng(1).permutation(n)
        np.save("random.npy", at_random.astype(np.int32))
        orders = {"file": None, "minhash": by_hash, f"{graph}/order_train.npy": by_hash, "random.npy": at_random}
        for number, (order, list_of) in enumerate(orders.items()):
            for chunk in (10, 7) if number else (2, 7, 10, n - 1, n):
                name = f"{graph}-{number}-{chunk}"
                seeds, ptr, said = sample(graph, name, "--locality", chunk, "--order", order, "--seed", 5 + number)
                assert len(seeds) == 4 * n and said["batches_per_epoch"] == -(-n // 40)
                for epoch in range(4):
                    places = order_of(n, chunk, 5 + number, epoch + 1, list_of)
                    assert sorted(places) == list(range(n))
                    np.testing.assert_array_equal(seeds[epoch * n:(epoch + 1) * n], train[places], f"{name} {epoch}")


def check_one():
    """Chunks of one seed change nothing."""
    def arrays(name):
        return {p.name: p.read_bytes() for p in pathlib.Path(name).glob("*.npy")}

    sample("plain", "off")
    sample("plain", "one", "--locality", 1, "--order", "minhash")
    sample("plain", "ten", "--locality", 10)
    assert arrays("off") == arrays("one") != arrays("ten")


def ends_of(folder):
    return np.load(f"{folder}/train_edges.npy")


def check_links():
    """Edges of training in chunks: both ends of each, in the order of the list."""
    run("generate", "source", "--nodes", 300, "--degree", 4, "--dim", 4, "--classes", 2)
    run("export", "npy", "source", "edges")
    rng = np.random.default_rng(2)
    edges = np.load("edges/edges.npy")
    mine = edges[np.sort(rng.permutation(len(edges))[:500])]
    for name, rows in ("train", mine), ("valid", edges[:20]), ("test", edges[20:40]):
        np.save(f"edges/{name}_edges.npy", rows)
    run("import", "npy", "edges", "linked", "--quiet")
    mine = ends_of("linked")
    link = ["--task", "link", "--batch", 50]
    np.save("edge-order.npy", rng.permutation(len(mine)))
    for order in "file", "edge-order.npy":
        seeds, ptr, _ = sample("linked", f"of-{order}", *link, "--locality", 10, "--order", order)
        at = 0
        for epoch in range(1, 5):
            places = order_of(len(mine), 10, 1, epoch, None if order == "file" else np.load(order))
            for first in range(0, len(mine), 50):
                ends = set(mine[places[first:first + 50]].ravel())
                assert ends <= set(seeds[ptr[at]:ptr[at + 1]]), (order, epoch, first)
                at += 1
        assert at == len(ptr) - 1
    said = run("train", "linked", *TRAIN, *link, "--run", "never", "--locality", 10, "--order", "minhash", fails=True).stderr
    assert "--order minhash" in said and "--order file" in said, said


CASES = [
    ("plain", ["--locality", 10]),
    ("plain", ["--locality", 8, "--order", "minhash", "--accumulate", 2]),
    ("plain", ["--locality", 10, "--order", "plain-order.npy", "--resample-every", 2]),
    ("plain", ["--locality", 10, "--device", "virtual"]),
    ("plain", [*LINK, "--locality", 10]),
    ("typed", ["--embedding", 8, "--locality", 5, "--order", "minhash"]),
    ("typed", [*LINK, "--embedding", 8, "--locality", 10]),
]
WAYS = [
    ["--policy", "belady", "--cache", "20%", "--superbatch", "3"],
    ["--policy", "lru", "--cache", "10%", "--threads", "1"],
    ["--topology", "disk", "--policy", "degree", "--cache", "10%"],
]


def train(graph, name, *options):
    return json.loads(run("train", graph, *TRAIN, "--run", name, "--json", *options).stdout)


def same(one, other):
    command.same(one, other, [f for f in FIGURES if f in json.loads(pathlib.Path(one, "summary.json").read_text())["epochs"][0]])


def kill(graph, name, batches, *options):
    child = subprocess.Popen([OUTGROW, "train", graph, *TRAIN, "--run", name, "--quiet", "--log-every", "1", *map(str, options)], stderr=subprocess.DEVNULL)
    path = pathlib.Path(name, "metrics.jsonl")
    while child.poll() is None:
        if path.exists() and path.read_text().count("\n") >= batches:
            child.send_signal(signal.SIGKILL)
            break
        time.sleep(0.001)
    child.wait()


def check_runs():
    """However it comes to be, a run is the same; and another than without chunks."""
    run("order", "plain", "--out", "plain-order.npy")
    for number, (graph, options) in enumerate(CASES):
        rng = random.Random(number)
        whole = f"whole-{number}"
        losses = [e["loss"] for e in train(graph, whole, *options)["epochs"]]
        without = [o for i, o in enumerate(options) if not {"--locality", "--order"} & {o, options[i - 1] if i else ""}]
        assert losses != [e["loss"] for e in train(graph, f"alone-{number}", *without)["epochs"]]
        for turn, way in enumerate(WAYS):
            name = f"killed-{number}-{turn}"
            kill(graph, name, rng.randrange(2, 14), *options, *way, "--resume")
            train(graph, name, *options, *WAYS[(turn + 1) % 3], "--resume")
            same(whole, name)
    for more in ["--workers", 2], ["--workers", 2, "--exchange"], ["--executors", 2]:
        name = "shared-" + "-".join(map(str, more))
        train("plain", name, *CASES[1][1], *more)
        same("whole-1", name)
    for number in 1, 5:
        graph, options = CASES[number]
        sample(graph, f"samples-{number}", *[o for i, o in enumerate(options) if not {"--embedding", "--accumulate"} & {o, options[i - 1]}])
        train(graph, f"sampled-{number}", *options, "--samples", f"samples-{number}")
        same(f"whole-{number}", f"sampled-{number}")


def check_refused():
    """What does not fit is refused by name, and what has no effect is reported."""
    def refused(*options):
        said = run("train", "plain", *TRAIN, "--run", "never", *options, fails=True).stderr
        assert not os.path.exists("never"), said
        return said

    n = len(np.load("plain/train.npy"))
    assert f"there are {n} training nodes" in refused("--locality", n + 1)
    assert "1 to" in refused("--locality", 0)
    for bad, word in (np.arange(n - 1), f"{n} integers"), (np.arange(n) + 1, f"row {n - 1}"), (np.zeros(n, int), "row 1: 0"), (np.arange(n) * 1.0, "float64"):
        np.save("bad.npy", bad)
        said = refused("--locality", 10, "--order", "bad.npy")
        assert word in said and "outgrow order" in said, said
    assert "nowhere.npy" in refused("--locality", 10, "--order", "nowhere.npy")
    for options, word in [(["--order", "minhash"], "--order has no effect"), (["--locality", 10, "--no-shuffle"], "--locality has no effect with --no-shuffle"),
                          (["--locality", 10, "--oversample", "balanced"], "--locality has no effect with --oversample")]:
        said = run("train", "plain", *TRAIN, "--epochs", 1, "--run", "told-" + "-".join(map(str, options)), *options).stderr
        assert word in said, said
    said = run("eval", "plain", "--checkpoint", "told---order-minhash/best.safetensors", "--locality", 10, "--fanout", "3,2").stderr
    assert "--locality has no effect" in said, said
    np.save("mine.npy", np.arange(n)[::-1])
    mine = ["--locality", 10, "--order", "mine.npy"]
    train("plain", "mine", *mine, "--epochs", 2)
    sample("plain", "mine-samples", *mine)
    np.save("mine.npy", np.roll(np.arange(n), 3))
    said = run("train", "plain", *TRAIN, "--run", "mine", *mine, "--resume", fails=True).stderr
    assert "another order of --order mine.npy" in said, said
    said = refused(*mine, "--samples", "mine-samples")
    assert "another order of --order mine.npy" in said, said
    said = refused("--locality", 8, "--samples", "mine-samples")
    assert "another --locality" in said, said


def check_plan():
    """Rows are those of the first eight batches of a trace. Lists that are sorted by label are warned of."""
    def rows(name, *options):
        sample("large", name, *options)
        return np.load(f"{name}/ids_ptr.npy")[8] / 8

    run("generate", "source-large", "--nodes", 4000, "--degree", 6, "--dim", 4, "--classes", 4, "--train-fraction", 0.3)
    run("export", "npy", "source-large", "large-npy")
    labels = np.load("large-npy/label.npy")
    train_ids = np.load("large-npy/train.npy")
    np.save("large-npy/train.npy", train_ids[np.argsort(labels[train_ids], kind="stable")])
    run("import", "npy", "large-npy", "large", "--quiet")
    sorted_labels = labels[np.load("large/train.npy")]
    for size, options in (10, []), (8, ["--locality", 8]):
        told = json.loads(run("plan", "large", *BASE, *options, "--json").stdout)["locality"]
        chunks = sorted_labels[:len(sorted_labels) // size * size].reshape(-1, size)
        one = float((chunks == chunks[:, :1]).all(1).mean())
        assert told == {"chunk": size, "used": bool(options), "rows": rows(f"rows-{size}", "--locality", size), "rows_shuffled": rows(f"alone-{size}"),
                        "one_class": one, "sorted": True}, told
    assert "of one class" in run("plan", "large", *BASE, "--locality", 10).stderr
    assert "of one class" in run("train", "large", *TRAIN, "--run", "warned", "--locality", 10, "--epochs", 1).stderr
    assert "of one class" not in run("plan", "plain", *BASE, "--locality", 10).stderr
    assert "no multiple" in run("plan", "plain", *BASE, "--locality", 7).stderr
    assert "locality" not in json.loads(run("plan", "plain", *BASE, "--no-shuffle", "--json").stdout)
    assert "saves" in run("plan", "large", *BASE, "--locality", 10).stdout


CHECKS = {"order": check_order, "one": check_one, "links": check_links, "runs": check_runs, "refused": check_refused, "plan": check_plan}

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    run("generate", "plain", "--nodes", 1200, "--degree", 6, "--dim", 8, "--classes", 4, "--train-fraction", 0.2)
    run("generate", "typed", "--types", "drug:1200,gene:500", "--classes", 4, "--train-fraction", 0.2, "--relations",
        "drug:binds:gene:4,gene:bound.by:drug:4,gene:near:gene:3")
    for name in sys.argv[2:] or CHECKS:
        CHECKS[name]()
    os.chdir("/")
