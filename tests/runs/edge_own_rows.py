#!/usr/bin/env python3
"""Labels of edges, by a decoder that reads the edge's own features. Steps are PyTorch's. Labels that follow from these features alone are
learned. Runs are bit-identical in any memory, after a kill, with workers and executors. What does not fit is refused.

    edge_own_rows.py OUTGROW      PyTorch's steps are left out where it is not installed
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "nn"))
N, M, D, CLASSES, HIDDEN, BATCH = 400, 900, 5, 3, 8, 60
BASE = ["--task", "edge", "--model", "sage", "--fanout", "4,3", "--batch", BATCH, "--hidden", HIDDEN, "--epochs", "4", "--lr", "0.02", "--memory", "300M",
        "--threads", "2", "--checkpoint-every", "0"]
SPLITS = {"train": 560, "valid": 140, "test": 200}
rng = np.random.default_rng(8)


def train(graph, name, *options):
    return json.loads(run("train", graph, *BASE, "--run", name, "--json", *options).stdout)


def same(one, other):
    command.same(one, other, ("loss", "valid_metrics"))


def make(name, rows=True, types=False, values=False, without=()):
    """Edges to learn are not in the graph. Their own row decides their label."""
    os.makedirs(name)
    half = N // 2 if types else N
    ends = np.stack([rng.integers(0, half, M), rng.integers(N - half, N, M)], 1)
    own = rng.standard_normal((M, D)).astype("f4")
    label = (own[:, 0] - 2 * own[:, 1]).astype("f4") if values else own[:, :CLASSES].argmax(1)
    graph = np.stack([rng.integers(0, half, 2000), rng.integers(N - half, N, 2000)], 1)
    graph = graph[~np.isin(np.sort(graph, 1) @ [N, 1], np.sort(ends, 1) @ [N, 1])]
    np.save(f"{name}/edges.npy", graph)
    np.save(f"{name}/feat.npy", rng.standard_normal((N, 6)).astype("f4"))
    if types:
        np.save(f"{name}/node_type.npy", np.repeat([0, 1], half))
        np.save(f"{name}/edge_type.npy", np.arange(len(graph)) % 2)
    first = 0
    for split, n in SPLITS.items():
        part, first = slice(first, first + n), first + n
        np.save(f"{name}/{split}_edges.npy", ends[part])
        np.save(f"{name}/{split}_edge_labels.npy", label[part])
        if types:
            np.save(f"{name}/{split}_edge_type.npy", np.arange(M)[part] // 2 % 2)
        if rows and split not in without:
            np.save(f"{name}/{split}_edge_attr.npy", own[part])
    run("import", "npy", name, name.removesuffix(".src"), "--reverse-relations" if types else "--symmetrize")
    return own, label


def check_steps():
    """28 steps with all neighbours, in the order of the list."""
    try:
        import torch
        from torch_geometric.nn import SAGEConv
    except ImportError as error:
        print(f"steps: skipped: {error}")
        return
    from tensor_files import read_safetensors
    for graph, more in ("plain", []), ("values", ["--task", "edge_regression"]):
        more = [*more, "--no-shuffle", "--fanout", "-1,-1", "--dropout", 0, "--epochs", 3, "--eval-every", 0]
        train(graph, f"{graph}-start", *more, "--epochs", 0)
        done = train(graph, f"{graph}-stepped", *more)
        columns = CLASSES if graph == "plain" else 1
        net = torch.nn.ModuleDict({"convs": torch.nn.ModuleList([SAGEConv(6, HIDDEN), SAGEConv(HIDDEN, HIDDEN)]),
                                   "decoder": torch.nn.ModuleDict({"lins": torch.nn.ModuleList([torch.nn.Linear(2 * HIDDEN + D, HIDDEN),
                                                                                                torch.nn.Linear(HIDDEN, columns)])})})
        net.load_state_dict(read_safetensors(f"{graph}-start/checkpoint.safetensors"))
        indptr, x = np.load(f"{graph}/indptr.npy"), torch.from_numpy(np.load(f"{graph}/features.npy"))
        edges = torch.from_numpy(np.stack([np.load(f"{graph}/indices.npy").astype("i8"), np.repeat(np.arange(N), np.diff(indptr))]))
        ends, own, y = (torch.from_numpy(np.load(f"{graph}/train_{what}.npy")) for what in ("edges", "edge_rows", "edge_labels"))
        optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
        worst = 0
        for e in range(3):
            total = 0
            for at in range(0, len(ends), BATCH):
                part = slice(at, at + BATCH)
                h = net["convs"][1](net["convs"][0](x, edges).relu(), edges)
                first, second = net["decoder"]["lins"]
                out = second(first(torch.cat([h[ends[part, 0]], h[ends[part, 1]], own[part]], 1)).relu())
                loss = torch.nn.functional.cross_entropy(out, y[part]) if graph == "plain" else ((out[:, 0] - y[part]) ** 2).mean()
                total += loss.item() * len(y[part])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            worst = max(worst, abs(total / len(ends) - done["epochs"][e]["loss"]) * len(ends) / total)
        ends = read_safetensors(f"{graph}-stepped/checkpoint.safetensors")
        off = max((v - ends[k]).abs().max().item() for k, v in net.state_dict().items())
        assert worst < 1e-5 and off < 1e-4, (graph, worst, off)
        print(f"steps, {graph}: losses within {worst:.1e}, parameters within {off:.1e}")


def check_learned():
    for graph, more in ("plain", []), ("typed", []), ("typed", ["--relation", "relation_1"]), ("values", ["--task", "edge_regression"]):
        name = "-".join([graph, "learned", *more])
        done = train(graph, name, *more, "--epochs", 25)
        assert done["best_value"] > 0.85, (name, done["best_value"])
        checkpoint = f"{name}/best.safetensors"
        judged = json.loads(run("eval", graph, "--checkpoint", checkpoint, "--fanout", "-1,-1", *more[-2:] * (more[:1] == ["--relation"]), "--json").stdout)
        run("predict", graph, "--checkpoint", checkpoint, *more[-2:] * (more[:1] == ["--relation"]), "--out", f"{name}.npy")
        p, y = np.load(f"{name}.npy"), np.load(f"{graph}/test_edge_labels.npy")
        if more[:1] == ["--relation"]:
            y = y[np.load(f"{graph}/test_edge_relations.npy") == [r["name"] for r in json.load(open(f"{graph}/meta.json"))["relations"]].index(more[1])]
        assert len(p) == len(y)
        if graph != "values":
            assert judged["acc"] == (p.argmax(1) == y).mean() and len(judged["classes"]) == len(judged["confusion"]) == CLASSES
        else:
            assert abs(judged["loss"] - ((p[:, 0] - y) ** 2).mean()) < 1e-4
    assert train("bare", "bare-learned", "--epochs", 25)["best_value"] < 0.5


def check_same():
    for graph in "plain", "typed":
        train(graph, f"{graph}-one")
        for number, way in enumerate([["--policy", "belady", "--cache", "20%", "--superbatch", "4"], ["--topology", "disk", "--threads", 1, "--policy", "lru", "--cache", "10%"]]):
            train(graph, f"{graph}-way-{number}", *way)
            same(f"{graph}-one", f"{graph}-way-{number}")
        child = subprocess.Popen([OUTGROW, "train", graph, *map(str, BASE), "--run", f"{graph}-killed", "--quiet", "--log-every", "1"])
        log = pathlib.Path(f"{graph}-killed/metrics.jsonl")
        while child.poll() is None and not (log.exists() and log.read_text().count("\n") >= 12):
            time.sleep(0.001)
        child.send_signal(signal.SIGKILL)
        child.wait()
        train(graph, f"{graph}-killed", "--resume")
        same(f"{graph}-one", f"{graph}-killed")
        train(graph, f"{graph}-alone", "--accumulate", 2)
        for name, way in ("workers", ["--workers", 2]), ("exchange", ["--workers", 2, "--exchange"]), ("executors", ["--executors", 2]):
            train(graph, f"{graph}-{name}", "--accumulate", 2, *way)
            same(f"{graph}-alone", f"{graph}-{name}")


def check_doors(own):
    assert (np.concatenate([np.load(f"plain/{split}_edge_rows.npy") for split in SPLITS]) == own).all()
    assert "nothing wrong" in run("verify", "plain").stdout
    run("export", "npy", "plain", "out")
    run("import", "npy", "out", "again")
    assert pathlib.Path("again/test_edge_rows.npy").read_bytes() == pathlib.Path("plain/test_edge_rows.npy").read_bytes()
    np.save("again/test_edge_rows.npy", np.zeros((3, D), "f4"))
    assert "test_edge_rows.npy" in run("info", "again", fails=True).stderr


def check_refused():
    assert "features" in run("train", "plain", *BASE, "--device", "virtual", "--run", "never", fails=True).stderr
    assert "features of their own" in run("eval", "bare", "--checkpoint", "plain-one/best.safetensors", fails=True).stderr
    make("part.src", without=["valid"])
    said = run("train", "part", *BASE, "--run", "never", fails=True).stderr
    assert "no valid_edge_rows.npy" in said and "hint:" in said, said


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    rows, _ = make("plain.src")
    make("typed.src", types=True)
    make("values.src", values=True)
    make("bare.src", rows=False)
    check_steps()
    check_learned()
    check_same()
    check_doors(rows)
    check_refused()
    os.chdir("/")
