#!/usr/bin/env python3
"""Held-out edges with given negatives: hits@K and MRR equal those of the Open Graph Benchmark's Evaluator. It is written in NumPy, of the embeddings of `predict`.

    given_negatives.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = sys.argv[1]
N = 240
RUN = ["--task", "link", "--model", "sage", "--fanout=-1,-1", "--hidden", "12", "--batch", "130", "--memory", "160M", "--threads", "2"]
HITS = 1, 3, 10, 20, 50, 100


def run(*args, fails=False):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (args, done.stderr)
    return done


def train(graph, name, *options):
    return json.loads(run("train", graph, *RUN, "--epochs", "2", "--run", name, "--json", *options).stdout)


# ---- the graph ----

rng = np.random.default_rng(12)
block = rng.integers(0, 6, N)
pairs = rng.integers(0, N, (4000, 2))
pairs = np.unique(pairs[(pairs[:, 0] != pairs[:, 1]) & (block[pairs[:, 0]] == block[pairs[:, 1]])], axis=0)
pairs = pairs[rng.permutation(len(pairs))]
LISTS = {"valid": pairs[:70], "test": pairs[70:171], "train": pairs[171:]}
X = (np.eye(6)[block] + 0.4 * rng.standard_normal((N, 6))).astype(np.float32)
# of the source's block more often than not; some are the edge itself, or another edge
OF_ALL = {s: np.stack([rng.integers(0, N, m), rng.integers(0, N, m)], 1) for s, m in (("valid", 333), ("test", 37))}
OF_EACH = {s: rng.integers(0, N, (len(LISTS[s]), k)) for s, k in (("valid", 25), ("test", 60))}
OF_EACH["test"][:5, 0] = LISTS["test"][:5, 1]


def make(name, more, options=(), fails=False):
    os.makedirs(f"{name}-source")
    for key, array in {"edges": LISTS["train"], "feat": X, **{f"{s}_edges": part for s, part in LISTS.items()}, **more}.items():
        np.save(f"{name}-source/{key}.npy", array)
    return run("import", "npy", f"{name}-source", name, *options, fails=fails).stderr


# ---- the Evaluator ----

def of_all(good, bad):
    """ogb.linkproppred.Evaluator for hits@K; MRR is of one list for all."""
    metrics = {f"hits@{k}": 1.0 if len(bad) < k else (good > np.sort(bad)[-k]).mean() for k in HITS}
    rank = 0.5 * ((bad > good[:, None]).sum(1) + (bad >= good[:, None]).sum(1)) + 1
    return {**metrics, "mrr": (1 / rank).mean()}


def of_each(good, bad):
    """ogb.linkproppred.Evaluator for mrr, its form for PyTorch."""
    rank = 0.5 * ((bad > good[:, None]).sum(1) + (bad >= good[:, None]).sum(1)) + 1
    return {**{f"hits@{k}": (rank <= k).mean() for k in HITS}, "mrr": (1 / rank).mean()}


def scores(h, ends):
    return (h[ends[..., 0]] * h[ends[..., 1]]).sum(-1)


def wanted(h, split, each):
    good = scores(h, LISTS[split])
    if each is None:
        return of_all(good, scores(h, OF_ALL[split]))
    source = np.broadcast_to(LISTS[split][:, :1], OF_EACH[split].shape)
    return of_each(good, scores(h, np.stack([source, OF_EACH[split]], 2)))


def near(what, told, want):
    for key, value in want.items():
        assert abs(told[key] - value) < 2e-3, (what, key, told[key], value)


def check(graph, each):
    summary = train(graph, f"{graph}-run", "--best-by", "hits@20")
    best = ["--checkpoint", f"{graph}-run/best.safetensors", "--memory", "160M"]
    run("predict", graph, *best, "--out", f"{graph}.npy", "--quiet")
    h = np.load(f"{graph}.npy").astype(np.float64)
    near((graph, "train"), summary["test_metrics"], wanted(h, "test", each))
    near((graph, "train"), summary["valid_metrics"], wanted(h, "valid", each))
    for split in "valid", "test":
        for batch in 1000, 17:
            told = json.loads(run("eval", graph, *best, "--fanout=-1,-1", "--batch", batch, "--split", split, "--json").stdout)["metrics"]
            near((graph, split, batch), told, wanted(h, split, each))
    assert summary["best_value"] == max(e["valid_metrics"]["hits@20"] for e in summary["epochs"])
    return summary


def forms():
    make("all", {f"{s}_neg_edges": a for s, a in OF_ALL.items()})
    make("each", {f"{s}_neg_dst": a for s, a in OF_EACH.items()})
    make("named", {f"{s}_neg": a for s, a in OF_ALL.items()})
    make("one", {"val_neg": OF_EACH["valid"], "test_neg": OF_ALL["test"]})
    for s in "valid", "test":
        assert (np.load(f"all/{s}_neg_edges.npy") == OF_ALL[s]).all() and (np.load(f"each/{s}_neg_dst.npy") == OF_EACH[s]).all()
        assert (np.load(f"named/{s}_neg_edges.npy") == OF_ALL[s]).all()
    assert (np.load("one/valid_neg_dst.npy") == OF_EACH["valid"]).all() and os.path.exists("one/test_neg_edges.npy")
    check("all", None)
    check("each", True)
    run("verify", "all")
    run("export", "npy", "each", "again")
    assert (np.load("again/test_neg_dst.npy") == OF_EACH["test"]).all()
    run("import", "npy", "again", "again-graph", "--quiet")


def ways():
    """Two workers, devices, another memory, killed in between: the same."""
    for graph in "all", "each":
        one = train(graph, f"{graph}-one", "--accumulate", "2")
        assert one["test_metrics"] == train(graph, f"{graph}-two", "--workers", "2")["test_metrics"]
        far = train(graph, f"{graph}-far", "--accumulate", "2", "--device", "virtual", "--topology", "disk", "--cache", "10%")
        for key, value in one["test_metrics"].items():
            assert abs(far["test_metrics"][key] - value) < 2e-2, (graph, key)
        train(graph, f"{graph}-part", "--accumulate", "2", "--epochs", "1")
        assert train(graph, f"{graph}-part", "--accumulate", "2", "--resume")["test_metrics"] == one["test_metrics"]


def messages():
    """What is not right, or has no effect, is said."""
    assert "--eval-negatives has no effect" in run("train", "all", *RUN, "--epochs", "1", "--eval-negatives", "7", "--run", "said").stderr
    said = run("train", "all", *RUN, "--epochs", "1", "--edge-split", "80/10/10", "--run", "drawn").stderr
    assert "valid_neg_edges.npy has no effect" in said, said
    wrong = {"rows": ({"valid_neg_dst": OF_EACH["valid"][:9]}, "9 rows, for 70 edges"), "both": ({"valid_neg_dst": OF_EACH["valid"], "valid_neg": OF_ALL["valid"]}, "both"),
             "ids": ({"test_neg_edges": OF_ALL["test"] + N}, "test_neg_edges.npy: row 0"), "float": ({"test_neg_edges": OF_ALL["test"] + 0.5}, "test_neg_edges.npy")}
    for name, (files, word) in wrong.items():
        said = make(name, files, fails=True)
        assert word in said and "hint:" in said, said
    shutil.copytree("all", "bad")
    np.save("bad/test_neg_edges.npy", np.full((3, 2), N))
    assert "test_neg_edges.npy" in run("verify", "bad", fails=True).stdout


# ---- heterogeneous graphs ----

def typed_lists():
    """Users with even numbers like items with odd ones, and know users. Candidates have the type of the destination."""
    kind = np.arange(N) % 2
    ends = rng.integers(0, N, (9000, 2))
    ends = np.unique(ends[(kind[ends[:, 0]] == 0) & (ends[:, 0] != ends[:, 1]) & (block[ends[:, 0]] == block[ends[:, 1]])], axis=0)
    ends = ends[rng.permutation(len(ends))]
    lists = {"valid": ends[:60], "test": ends[60:150], "train": ends[150:]}
    relation = {split: 1 - kind[part[:, 1]] for split, part in lists.items()}
    candidates = {s: 2 * rng.integers(0, N // 2, (len(lists[s]), k)) + kind[lists[s][:, 1:]] for s, k in (("valid", 20), ("test", 35))}
    return kind, lists, relation, candidates


def typed_scores(h, folder, ends, relation):
    data = (folder / "best.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    at = json.loads(data[8:8 + size]).get("decoder.rel_emb.weight")
    weights = np.ones((2 * 2, h.shape[1]))
    if at:
        weights = np.frombuffer(data[8 + size + at["data_offsets"][0]:8 + size + at["data_offsets"][1]], np.float32).reshape(at["shape"])
    return (h[ends[..., 0]] * weights[relation] * h[ends[..., 1]]).sum(-1)


def typed():
    """Both forms, with each decoder. Ids of a type are no range in the source."""
    kind, lists, relation, candidates = typed_lists()
    files = {"node_type": kind, "edges": lists["train"], "edge_type": relation["train"], "feat": X}
    files |= {f"{s}_edges": part for s, part in lists.items()} | {f"{s}_edge_type": part for s, part in relation.items()}
    pairs = {s: 2 * rng.integers(0, N // 2, (m, 2)) for s, m in (("valid", 150), ("test", 41))}
    make("typed", files | {f"{s}_neg_dst": part for s, part in candidates.items()}, ["--reverse-relations"])
    make("known", files | {f"{s}_neg_edges": part for s, part in pairs.items()}, ["--reverse-relations"])
    new = np.empty(N, int)
    new[np.argsort(kind, kind="stable")] = np.arange(N)
    named = {r["name"]: i for i, r in enumerate(json.load(open("typed/meta.json"))["relations"])}
    number = np.array([named["relation_0"], named["relation_1"]])
    for s in "valid", "test":
        assert (np.load(f"typed/{s}_neg_dst.npy") == new[candidates[s]]).all() and (np.load(f"known/{s}_neg_edges.npy") == new[pairs[s]]).all()
    for graph, more, only in ("typed", ["--decoder", "dot"], [0, 1]), ("typed", ["--decoder", "distmult", "--relation", "relation_0"], [0]), \
            ("typed", ["--decoder", "distmult"], [0, 1]), ("known", ["--decoder", "distmult", "--relation", "relation_1"], [1]):
        name = "-".join([graph, *map(str, more)])
        summary = train(graph, name, *more)
        best = ["--checkpoint", f"{name}/best.safetensors", "--memory", "160M"]
        run("predict", graph, *best, "--fanout=-1,-1", "--out", f"{name}.npy", "--quiet")
        h = np.load(f"{name}.npy").astype(np.float64)
        for split in "valid", "test":
            of = np.isin(relation[split], only)
            r = number[relation[split][of]]
            good = typed_scores(h, pathlib.Path(name), new[lists[split][of]], r)
            if graph == "typed":
                source = np.broadcast_to(lists[split][of][:, :1], candidates[split][of].shape)
                want = of_each(good, typed_scores(h, pathlib.Path(name), new[np.stack([source, candidates[split][of]], 2)], r[:, None]))
            else:
                want = of_all(good, typed_scores(h, pathlib.Path(name), new[pairs[split]], r[0]))
            near((name, split), summary[f"{split}_metrics"], want)
            told = json.loads(run("eval", graph, *best, *more[2:], "--fanout=-1,-1", "--batch", 17, "--split", split, "--json").stdout)["metrics"]
            near((name, split, "eval"), told, want)
    one = train("typed", "typed-one", "--accumulate", "2")
    for name, way in ("two", ["--workers", "2"]), ("far", ["--accumulate", "2", "--topology", "disk", "--cache", "10%"]), ("exchanged", ["--workers", "2", "--exchange"]):
        assert train("typed", f"typed-{name}", *way)["test_metrics"] == one["test_metrics"], name
    train("typed", "typed-part", "--accumulate", "2", "--epochs", "1")
    assert train("typed", "typed-part", "--accumulate", "2", "--resume")["test_metrics"] == one["test_metrics"]
    run("verify", "typed")
    run("export", "npy", "typed", "typed-out")
    assert (np.load("typed-out/test_neg_dst.npy") == np.load("typed/test_neg_dst.npy")).all()
    assert "several relations" in run("train", "known", *RUN, "--run", "never", fails=True).stderr
    assert "of type" in run("train", "known", *RUN, "--relation", "relation_0", "--run", "never", fails=True).stderr


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    forms()
    ways()
    messages()
    typed()
    os.chdir("/")
