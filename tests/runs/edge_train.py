#!/usr/bin/env python3
"""Training with features of edges. Labels lie in them alone; checkpoints from memory and disk are bit-identical.

    edge_train.py OUTGROW      exits 77 where there is no NumPy
"""
import hashlib
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

OUTGROW = os.path.abspath(sys.argv[1])
N, DEGREE, CLASSES, EDGE_DIM = 3000, 8, 4, 6
rng = np.random.default_rng(7)
COMMON = ["--fanout", "5,5", "--batch", "200", "--hidden", "16", "--heads", "2", "--epochs", "2", "--threads", "2", "--seed", "3", "--quiet"]


def run(*args, fails=False):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (args, done.returncode, done.stderr)
    return done


def write_source(folder):
    """Edges name the class of the node that they lead to; rows of nodes are noise."""
    os.mkdir(folder)
    label = rng.integers(0, CLASSES, N)
    dst = np.repeat(np.arange(N), DEGREE)
    src = rng.integers(0, N, N * DEGREE)
    edge = np.eye(CLASSES, EDGE_DIM)[label[dst]] + 0.5 * rng.standard_normal((N * DEGREE, EDGE_DIM))
    order = rng.permutation(len(src))
    for name, array in {"edges": np.stack([src, dst], 1)[order], "edge_attr": edge[order].astype(np.float32), "feat": rng.standard_normal((N, 10)).astype(np.float32), "label": label,
                        "train": np.arange(2000), "valid": np.arange(2000, 2500), "test": np.arange(2500, N)}.items():
        np.save(f"{folder}/{name}.npy", array)


def write_attended(folder):
    """The label is the code of the neighbours that edges mark. As many others have another code."""
    os.mkdir(folder)
    code, label = rng.integers(0, CLASSES, N), rng.integers(0, CLASSES, N)
    of_code = [np.flatnonzero(code == c) for c in range(CLASSES)]
    dst = np.repeat(np.arange(N), DEGREE)
    marked = np.tile(np.arange(DEGREE) % 2, N)
    other = (label + rng.integers(1, CLASSES, N)) % CLASSES
    src = np.array([rng.choice(of_code[label[v] if m else other[v]]) for v, m in zip(dst, marked)])
    for name, array in {"edges": np.stack([src, dst], 1), "edge_attr": (2.0 * marked - 1)[:, None].astype(np.float32), "feat": np.eye(CLASSES, dtype=np.float32)[code], "label": label,
                        "train": np.arange(2000), "valid": np.arange(2000, 2500), "test": np.arange(2500, N)}.items():
        np.save(f"{folder}/{name}.npy", array)


def write_typed(folder):
    """Papers, and after them authors, whose edges to papers name the papers' classes."""
    os.mkdir(folder)
    authors = 500
    label = rng.integers(0, CLASSES, N)
    dst = np.repeat(np.arange(N), DEGREE)
    writes = np.stack([N + rng.integers(0, authors, N * DEGREE), dst], 1)
    cites = rng.integers(0, N, (2 * N, 2))
    edge = np.eye(CLASSES, EDGE_DIM)[label[dst]] + 0.5 * rng.standard_normal((N * DEGREE, EDGE_DIM))
    for name, array in {"edges": np.concatenate([writes, cites]), "edge_type": np.repeat([0, 1], [len(writes), len(cites)]), "node_type": np.repeat([0, 1], [N, authors]),
                        "edge_attr_author__writes__paper": edge.astype(np.float32), "feat_paper": rng.standard_normal((N, 10)).astype(np.float32),
                        "feat_author": rng.standard_normal((authors, 10)).astype(np.float32), "label": np.concatenate([label, np.full(authors, -1)]),
                        "train": np.arange(2000), "valid": np.arange(2000, 2500), "test": np.arange(2500, N)}.items():
        np.save(f"{folder}/{name}.npy", array)
    pathlib.Path(folder, "meta.json").write_text(json.dumps({"node_types": [{"type": 0, "name": "paper"}, {"type": 1, "name": "author"}],
                                                             "edge_types": [{"edge_type": 0, "name": "writes"}, {"edge_type": 1, "name": "cites"}]}))


class Run:
    def __init__(self, name, dataset, model, *args):
        self.said = run("train", dataset, "--run", name, "--model", model, *COMMON, *args).stderr
        self.summary = json.loads(pathlib.Path(f"{name}/summary.json").read_text())
        self.weights = hashlib.sha256(pathlib.Path(f"{name}/checkpoint.safetensors").read_bytes()).hexdigest()
        self.losses = [epoch["loss"] for epoch in self.summary["epochs"]]


def check_told(one):
    """The last epoch reads what the plan predicts of nodes and edges."""
    told, epochs = one.summary["plan"]["predicted"], one.summary["epochs"]
    assert any((told["misses"], told["feature_bytes_read"]) == (epoch["misses"], epoch["feature_bytes_read"]) for epoch in epochs), (told, epochs)
    edges, = one.summary["plan"]["edges"]
    assert edges["edges"] == N * DEGREE and edges["edges_of_unit"] == 512 // (4 * EDGE_DIM) and edges["rows"] > 0


def test_labels_in_edges():
    longer = "--epochs", "10", "--lr", "0.01", "--fanout", "5"
    for model, dataset in ("gine", "graph"), ("transformer", "graph"), ("gatv2", "attended"), ("gat", "attended"):
        sees = Run(f"learn-{model}", dataset, model, *longer).summary["test_acc"]
        assert sees > 0.9, (model, sees)
        if model != "gine":
            blind = Run(f"blind-{model}", dataset, model, "--edge-features", "off", *longer).summary["test_acc"]
            assert blind < (0.4 if dataset == "graph" else 0.7), (model, blind)


def test_same_bits():
    for model in "gat", "gatv2", "gine", "transformer":
        want = Run(f"{model}-memory", "graph", model)
        ways = [["--policy", "belady", "--cache", "5%"], ["--policy", "lru", "--cache", "10%"], ["--policy", "degree", "--cache", "10%", "--topology", "disk"], ["--policy", "belady", "--cache", "5%", "--layout", "packed"],
                ["--policy", "sweep", "--cache", "10%"], ["--policy", "belady", "--cache", "5%", "--phased-memory"], ["--executors", "2"]]
        for number, way in enumerate(ways if model in ("gatv2", "gine") else ways[:1]):
            got = Run(f"{model}-{number}", "graph", model, *way)
            assert got.losses == want.losses and got.weights == want.weights, (model, way, got.losses, want.losses)
            if "belady" in way:
                check_told(got)


def test_steps_of_several_batches():
    want = Run("steps", "graph", "gatv2", "--accumulate", "2")
    for number, way in enumerate((["--workers", "2"], ["--executors", "1:2"], ["--executors", "2", "--policy", "belady", "--cache", "5%"])):
        got = Run(f"steps-{number}", "graph", "gatv2", "--accumulate", "2", *way)
        assert got.losses == want.losses and got.weights == want.weights, (way, got.losses, want.losses)


def test_exchanged():
    """An owner reads units of edges as rows of nodes. Bits are those of one process, counts those of the plan."""
    steps = "--accumulate", "4", "--eval-every", "0", "--batch", "100"
    for dataset, model in ("graph", "gine"), ("typed", "gatv2"):
        want = Run(f"alone-{dataset}", dataset, model, *steps)
        for number, (workers, policy) in enumerate(((2, "belady"), (4, "lru"), (2, "degree"), (2, "frequency"))):
            way = "--workers", workers, "--exchange", "--policy", policy, "--cache", "5%", "--layout", "raw", *(["--topology", "disk"] if policy == "lru" else [])
            got = Run(f"exchanged-{dataset}-{number}", dataset, model, *steps, *way)
            assert got.losses == want.losses and got.weights == want.weights, (dataset, way, got.losses, want.losses)
            plan = json.loads(run("plan", dataset, "--model", model, *COMMON[:-1], *steps, *way, "--superbatch", "all", "--epochs", "1", "--json").stdout)
            one = Run(f"epoch-{dataset}-{number}", dataset, model, *steps, *way, "--superbatch", "all", "--epochs", "1")
            epoch, told = one.summary["epochs"][0], plan["exchange"]["workers"]
            for key in "rows", "hits", "misses", "feature_bytes_read":
                assert sum(w[key] for w in told) == epoch[key], (dataset, policy, key, told, epoch)
            for w, did in zip(told, one.summary["workers"]):
                assert [w[key] for key in ("rows", "hits", "rows_sent")] == [did[key] for key in ("rows", "hits", "rows_sent")], (dataset, policy, w, did)


def test_samples():
    """Stored batches know the place of each edge, and train the bits of sampled ones."""
    for dataset, model in ("graph", "gine"), ("typed", "gatv2"):
        samples = f"samples-{dataset}"
        run("sample", dataset, "--out", samples, "--model", model, *COMMON[:-1])
        if dataset == "graph":
            a = {name: np.load(f"{samples}/{name}.npy") for name in ("ids", "ids_ptr", "units", "units_ptr", "hop1_src", "hop1_dst", "hop1_ptr", "hop1_edge")}
            indptr, indices, rows = np.load("graph/indptr.npy"), np.load("graph/indices.npy"), 512 // (4 * EDGE_DIM)
            for b in range(len(a["ids_ptr"]) - 1):
                ids, units = (a[name][a[f"{name}_ptr"][b]:a[f"{name}_ptr"][b + 1]] for name in ("ids", "units"))
                src, dst, edge = (a[f"hop1_{name}"][a["hop1_ptr"][b]:a["hop1_ptr"][b + 1]] for name in ("src", "dst", "edge"))
                place = (units[edge // rows].astype(np.int64) - N) * rows + edge % rows
                assert (indices[place] == ids[src]).all() and (indptr[ids[dst]] <= place).all() and (place < indptr[ids[dst] + 1]).all() and len(set(units)) == len(units)
        want = Run(f"sampled-{dataset}", dataset, model)
        for number, way in enumerate((["--policy", "belady", "--cache", "5%"], ["--policy", "lru", "--cache", "10%"], ["--policy", "frequency", "--cache", "5%", "--layout", "packed", "--superbatch", "all"])):
            got = Run(f"stored-{dataset}-{number}", dataset, model, "--samples", samples, *way)
            assert got.losses == want.losses and got.weights == want.weights, (dataset, way)
        assert "nothing wrong" in run("verify", samples).stdout
        told = [json.loads(run("simulate", dataset, "--model", model, "--policy", "belady", "--cache", "5%", "--json", "-", *COMMON[:-1], *way).stdout)["results"] for way in ([], ["--samples", samples])]
        assert told[0] == told[1]
        with open(f"{samples}/hop1_edge.npy", "r+b") as f:
            f.seek(-4, 2)
            f.write(b"\xff\xff\xff\x7f")
        said = run("train", dataset, "--run", f"refused-{dataset}", "--model", model, "--samples", samples, *COMMON, fails=True).stderr
        assert "not what was written" in said, said
        assert "checksum is another" in run("verify", samples, fails=True).stdout
    run("sample", "graph", "--out", "bare", "--model", "gatv2", "--edge-features", "off", *COMMON[:-1])
    for words, said in ((["train", "graph", "--run", "refused-bare", "--samples", "bare", "--model", "gatv2", "--edge-features", "on", *COMMON], "bare: without the edges"),
                        (["pack", "graph", "--samples", "samples-graph"], "does not support features of edges"),
                        (["simulate", "samples-graph", "--policy", "lru", "--cache", "5%"], "batches with features of edges")):
        why = run(*words, fails=True).stderr
        assert said in why and "hint:" in why, why


def test_resumed():
    want = Run("long", "graph", "gine", "--epochs", "4")
    Run("short", "graph", "gine", "--epochs", "2")
    Run("short", "graph", "gine", "--epochs", "4", "--resume")
    assert hashlib.sha256(pathlib.Path("short/checkpoint.safetensors").read_bytes()).hexdigest() == want.weights


def test_judged():
    """By batches with all neighbours and layer by layer: the same accuracy."""
    said = [json.loads(run("eval", "attended", "--checkpoint", "learn-gatv2/best.safetensors", *way, "--json", "--quiet").stdout) for way in (["--fanout=-1"], ["--full"])]
    accuracy = [one["test_acc"] if "test_acc" in one else one["acc"] for one in said]
    assert accuracy[0] > 0.9 and abs(accuracy[0] - accuracy[1]) < 2e-3, said


def test_predicted_nodes():
    nodes = np.random.default_rng(3).choice(N, 60, replace=False)
    np.save("some.npy", nodes)
    for dataset in "graph", "typed":
        Run(f"nodes-{dataset}", dataset, "transformer")
        for out, way in ("every.npy", []), (f"{dataset}.npy", ["--nodes", "some.npy"]):
            run("predict", dataset, "--checkpoint", f"nodes-{dataset}/checkpoint.safetensors", "--out", out, *way, *(["--fanout", "-1,-1"] if dataset == "typed" else []))
        every, some = np.load("every.npy"), np.load(f"{dataset}.npy")
        assert np.abs(some - every[nodes]).max() < 1e-5 * np.abs(every).max()
        os.remove("every.npy")


def test_held_out():
    """Edges that stay keep their rows; `eval` holds the same out."""
    for dataset, model, more in ("graph", "gine", []), ("both-ways", "gatv2", ["--relation", "writes"]):
        links = "--task", "link", "--batch", "2000", *more
        want = Run(f"links-{dataset}", dataset, model, *links)
        for number, way in enumerate((["--policy", "belady", "--cache", "5%"], ["--policy", "lru", "--cache", "10%", "--topology", "disk"])):
            got = Run(f"links-{dataset}-{number}", dataset, model, *links, *way)
            assert got.losses == want.losses and got.weights == want.weights, (dataset, way)
        off = Run(f"links-{dataset}-off", dataset, "gat", "--edge-features", "off", *links)
        assert off.summary["prepare"]["bytes_written"] < want.summary["prepare"]["bytes_written"] - 0.8 * 4 * EDGE_DIM * N * DEGREE
        judged = json.loads(run("eval", dataset, "--checkpoint", f"links-{dataset}/best.safetensors", "--fanout", "5,5", "--batch", "2000", "--json", "--quiet").stdout)
        assert judged["metrics"]["auc"] == want.summary["test_metrics"]["auc"], (judged, want.summary["test_metrics"])


def test_types():
    want = Run("typed-memory", "typed", "gatv2")
    for number, way in enumerate((["--policy", "belady", "--cache", "5%"], ["--policy", "lru", "--cache", "10%"], ["--policy", "degree", "--cache", "10%", "--topology", "disk"], ["--executors", "2"])):
        got = Run(f"typed-{number}", "typed", "gatv2", *way)
        assert got.losses == want.losses and got.weights == want.weights, (way, got.losses, want.losses)
    sees = Run("typed-learn", "typed", "transformer", "--epochs", "10", "--lr", "0.01", "--fanout", "5").summary["test_acc"]
    assert sees > 0.9, sees


def test_simulated():
    """What a run reads, of nodes and of edges."""
    for dataset in "graph", "typed":
        policies = "degree", "lru", "frequency", "belady", "hybrid", "sweep"
        run("simulate", dataset, "--model", "gatv2", "--policy", ",".join(policies), "--cache", "5%", "--json", f"simulated-{dataset}.json", *COMMON[:-1])
        simulated = json.loads(pathlib.Path(f"simulated-{dataset}.json").read_text())
        edges, = simulated["edges"]
        assert edges["row_bytes"] == 504 and edges["units"] == -(-N * DEGREE // 21), edges
        for policy, told in zip(policies, simulated["results"]):
            one = Run(f"simulated-{dataset}-{policy}", dataset, "gatv2", "--policy", policy, "--cache", "5%", "--eval-every", "0", "--layout", "raw", "--superbatch", "all")
            read = {key: sum(epoch[key] for epoch in one.summary["epochs"]) for key in ("rows", "hits", "misses", "reads", "feature_bytes_read")}
            assert [told[key] for key in ("rows", "hits", "misses")] == list(read.values())[:3], (policy, told, read)
            if policy in ("degree", "lru"):  # others read slots before batches, which are no misses
                assert told["bytes_read"] == read["feature_bytes_read"] and told["reads"] == read["reads"], (dataset, policy, told, read)
            assert told["rows"] == sum(group["rows"] for group in told["types"] + told["edges"]) and len(told["edges"]) == 1
            planned = one.summary["plan"]["edges"][0]
            assert told["edges"][0]["cache_rows"] == planned["cache_rows"], (policy, told["edges"], planned)


def test_said_and_refused():
    said = run("train", "graph", "--run", "said-sage", "--model", "sage", "--fanout", "5", "--batch", "200", "--epochs", "1", "--quiet").stderr
    assert "features of edges have no effect" in said, said
    for way, word in ((["--sampler", "walk"], "walk"), (["--device", "virtual"], "devices")):
        said = run("train", "graph", "--run", "refused", "--model", "gatv2", "--edge-features", "on", *way, *COMMON, fails=True).stderr
        assert "features of edges" in said and word in said and "--edge-features off" in said, said
        said = run("train", "graph", "--run", "refused", "--model", "gine", *way, *COMMON, fails=True).stderr
        assert f"use {way[0]} {'uniform' if word == 'walk' else 'cpu'}" in said, said
    plan = run("plan", "graph", "--model", "gatv2", "--policy", "belady", "--cache", "5%", *COMMON[:-1]).stdout
    assert "features of edges: memory holds" in plan, plan
    bare = run("plan", "graph", "--model", "gatv2", "--edge-features", "off", *COMMON[:-1]).stdout
    assert "features of edges: memory" not in bare


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_source("source")
        run("import", "npy", "source", "graph")
        write_attended("attended-source")
        run("import", "npy", "attended-source", "attended")
        write_typed("typed-source")
        run("import", "npy", "typed-source", "typed")
        run("import", "npy", "typed-source", "both-ways", "--reverse-relations")
        for name, test in list(globals().items()):
            if name.startswith("test_") and (not sys.argv[2:] or name in sys.argv[2:]):
                test()
                print(f"{name}: ok", flush=True)
        os.chdir("/")
