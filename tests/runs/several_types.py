#!/usr/bin/env python3
"""Labels of several node types, learned together. Steps are PyTorch's, with a last layer per type. Runs are bit-identical in any memory,
after a kill, with workers and executors. A device agrees. `predict` and `eval` agree. What does not fit is refused.

    several_types.py OUTGROW
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

OUTGROW = os.path.abspath(sys.argv[1])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "nn"))
COUNTS = {"paper": 500, "venue": 60, "author": 400}  # of which venues have no labels
WIDTHS = {"paper": 9, "venue": 5, "author": 7}
FIRST = dict(zip(COUNTS, np.cumsum([0, *COUNTS.values()]).tolist()))
RELATIONS = [("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "by", "author"), ("venue", "has", "paper"), ("author", "knows", "author")]
CLASSES, HIDDEN, STEPS, BATCH = 4, 8, 28, 40
BASE = ["--model", "sage", "--fanout", "4,3", "--batch", BATCH, "--hidden", HIDDEN, "--epochs", "4", "--lr", "0.02", "--dropout", "0.1", "--memory", "300M",
        "--threads", "2", "--checkpoint-every", "0"]
WEIGHTS = ["--type-weights", "author=2.5,paper=0.5"]
rng = np.random.default_rng(11)


def run(*args, fails=False):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (args, done.stderr)
    return done


def train(name, *options, graph="graph"):
    return json.loads(run("train", graph, *BASE, "--run", name, "--json", *options).stdout)


def rows(name):
    return [(e["loss"], e["train_acc"], e["valid_metrics"], e["valid_types"]) for e in json.loads(pathlib.Path(name, "summary.json").read_text())["epochs"]]


def tested(name):
    summary = json.loads(pathlib.Path(name, "summary.json").read_text())
    return summary["test_metrics"], summary["valid_types"], summary["test_types"]


def same(one, other):
    assert rows(one) == rows(other) and tested(one) == tested(other), (one, other)
    for name in "checkpoint.safetensors", "best.safetensors":
        assert pathlib.Path(one, name).read_bytes() == pathlib.Path(other, name).read_bytes(), (one, other, name)


def make(name, **more):
    """Papers and authors have classes that their features show, each in its way."""
    n = sum(COUNTS.values())
    os.makedirs(name)
    kind = rng.integers(0, CLASSES, n)
    labels = np.where(rng.random(n) < 0.03, -1, kind)
    labels[FIRST["venue"]:FIRST["author"]] = -1
    for t, width in WIDTHS.items():
        at = slice(FIRST[t], FIRST[t] + COUNTS[t])
        np.save(f"{name}/feat_{t}.npy", (rng.standard_normal((CLASSES, width))[kind[at]] * 2 + rng.standard_normal((COUNTS[t], width))).astype("f4"))
    ends = [np.stack([FIRST[s] + rng.integers(0, COUNTS[s], 1500), FIRST[d] + rng.integers(0, COUNTS[d], 1500)], 1) for s, _, d in RELATIONS]
    np.save(f"{name}/edges.npy", np.concatenate(ends))
    np.save(f"{name}/edge_type.npy", np.repeat(np.arange(len(RELATIONS)), 1500))
    np.save(f"{name}/node_type.npy", np.repeat(np.arange(len(COUNTS)), list(COUNTS.values())))
    np.save(f"{name}/label.npy", labels)
    ids = rng.permutation(np.r_[0:FIRST["venue"], FIRST["author"]:n])
    for split, part in zip(("train", "valid", "test"), np.split(ids, [480, 650])):
        np.save(f"{name}/{split}.npy", part)
    for split, part in more.items():
        np.save(f"{name}/{split}.npy", part)
    json.dump({"node_types": [{"type": t, "name": of} for t, of in enumerate(COUNTS)], "num_classes": CLASSES,
               "edge_types": [{"edge_type": r, "name": of[1]} for r, of in enumerate(RELATIONS)]}, open(f"{name}/meta.json", "w"))


def types_of(ids):
    return np.searchsorted(np.cumsum(list(COUNTS.values())), ids, side="right")


# ---- PyTorch ----

def check_steps():
    """28 steps with all neighbours, in the order of the file. HeteroConv has a last layer per type."""
    try:
        import torch
        from torch_geometric.nn import HeteroConv, SAGEConv
    except ImportError as error:
        print(f"steps: skipped: {error}")
        return
    from tensor_files import read_safetensors
    more = ["--no-shuffle", "--fanout", "-1,-1", "--dropout", 0, "--epochs", 3, *WEIGHTS, "--eval-every", 0]
    train("start", *more, "--epochs", 0)
    done = train("stepped", *more)
    x = {t: torch.from_numpy(np.load(f"graph/features_{i}.npy")) for i, t in enumerate(COUNTS)}
    edges = {}
    for r, of in enumerate(json.load(open("graph/meta.json"))["relations"]):
        indptr = np.load(f"graph/rel{r}_indptr.npy")
        src, dst = np.load(f"graph/rel{r}_indices.npy").astype("i8"), np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        edges[of["source"], of["name"], of["destination"]] = torch.from_numpy(np.stack([src, dst]))
    convs = torch.nn.ModuleList()
    for l in range(2):
        width = {t: WIDTHS[t] if l == 0 else HIDDEN for t in COUNTS}
        convs.append(HeteroConv({(s, r, d): SAGEConv((width[s], width[d]), CLASSES if l else HIDDEN) for s, r, d in edges if l == 0 or s != "venue"}, aggr="sum"))
    state = read_safetensors("start/checkpoint.safetensors")
    said = convs.load_state_dict({k.removeprefix("convs."): v for k, v in state.items()}, strict=True)
    assert not said.missing_keys and not said.unexpected_keys
    optimizer = torch.optim.Adam(convs.parameters(), lr=0.02)
    ids, labels = np.load("graph/train.npy"), torch.from_numpy(np.load("graph/labels.npy"))
    weight = torch.tensor([0.5, 1.0, 2.5])
    losses, worst = [], 0
    for e in range(3):
        total = among = 0
        for at in range(0, len(ids), BATCH):
            seeds = ids[at:at + BATCH]
            h = {t: rows.relu() for t, rows in convs[0](x, edges).items()}
            out = convs[1](h, edges)
            logits = torch.cat([out["paper"], torch.zeros(COUNTS["venue"], CLASSES), out["author"]])[seeds]
            y, w = labels[seeds], weight[types_of(seeds)]
            w = torch.where(y >= 0, w, 0.0)
            loss = torch.nn.functional.cross_entropy(logits, y.clamp(min=0), reduction="none")
            total, among = total + (w * loss).sum().item(), among + w.sum().item()
            optimizer.zero_grad()
            ((w * loss).sum() / w.sum()).backward()
            optimizer.step()
        losses.append(total / among)
        worst = max(worst, abs(losses[-1] - done["epochs"][e]["loss"]) / losses[-1])
    ends = read_safetensors("stepped/checkpoint.safetensors")
    off = max((v - ends[f"convs.{k}"]).abs().max().item() for k, v in convs.state_dict().items())
    assert worst < 1e-5 and off < 1e-4, (losses, worst, off)
    print(f"steps: losses within {worst:.1e}, parameters within {off:.1e}")


# ---- runs ----

def softmax_loss(p, y):
    return (np.log(np.exp(p).sum(1)) - p[np.arange(len(y)), y]).mean()


def f1(y, made, c):
    return 2 * ((y == c) & (made == c)).sum() / max((y == c).sum() + (made == c).sum(), 1)


def areas(score, high):
    """Under the ROC curve, by pairs, and average precision."""
    above = score[high][:, None] - score[~high][None]
    order = np.argsort(-score, kind="stable")
    hits = high[order].cumsum() / np.arange(1, len(order) + 1)
    return ((above > 0) + 0.5 * (above == 0)).mean(), hits[high[order]].mean()


def numpy_metrics(logits, labels, of):
    """Metrics of some nodes, by their definitions."""
    of = of[labels[of] >= 0]
    y, made = labels[of], logits[of].argmax(1)
    p = logits[of] - np.log(np.exp(logits[of]).sum(1, keepdims=True))
    per = np.array([f1(y, made, c) for c in range(CLASSES)])
    auc, ap = zip(*(areas(p[:, c], y == c) for c in range(CLASSES)))
    acc = (made == y).mean()
    return {"nodes": len(of), "loss": softmax_loss(logits[of], y), "acc": acc, "macro_f1": per.mean(), "micro_f1": acc,
            "weighted_f1": per @ np.bincount(y, minlength=CLASSES) / len(y), "auc": np.mean(auc), "ap": np.mean(ap)}


def check_learned():
    """Both types are learned; predictions of all nodes are those that `eval` judges, together and by type."""
    done = train("learned", "--epochs", 12)
    assert done["best_value"] > 0.85, done["best_value"]
    checkpoint = "learned/best.safetensors"
    told = json.loads(run("predict", "graph", "--checkpoint", checkpoint, "--fanout", "-1,-1", "--out", "all.npy", "--json").stdout)
    ids = np.r_[0:FIRST["venue"], FIRST["author"]:sum(COUNTS.values())]
    assert told["nodes"] == len(ids) and told["type"] is None, told
    logits = np.zeros((sum(COUNTS.values()), CLASSES))
    logits[ids] = np.load("all.npy")
    run("predict", "graph", "--checkpoint", checkpoint, "--fanout", "-1,-1", "--nodes", "test", "--out", "test.npy")
    test, labels = np.load("graph/test.npy"), np.load("graph/labels.npy")
    assert np.abs(np.load("test.npy") - logits[test]).max() < 1e-5
    for full in ["--fanout", "-1,-1"], ["--full"]:
        for split, of in ("test", [0, 2]), ("test:paper", [0]), ("test:author", [2]):
            some = test[np.isin(types_of(test), of) & (labels[test] >= 0)]
            said = json.loads(run("eval", "graph", "--checkpoint", checkpoint, *full, "--split", split, "--json").stdout)
            acc = (logits[some].argmax(1) == labels[some]).mean()
            assert said["acc"] == acc and said["split"] == split and acc > 0.8, (split, said["acc"], acc)
            assert abs(said["loss"] - softmax_loss(logits[some], labels[some])) < 1e-5, (split, said["loss"])
            by_type = said.get("types")
            assert (by_type is None) == (":" in split), said
            for name, part in (by_type or {}).items():
                own = numpy_metrics(logits, labels, test[types_of(test) == list(COUNTS).index(name)])
                assert own.keys() == part.keys() and all(abs(own[key] - part[key]) < 1e-5 for key in own), (name, own, part)
            assert said["labelled" if full == ["--full"] else "nodes"] == len(some)
    for kind, graph in ("rgcn", "graph"), ("gat", "graph"), ("gcn", "graph"), ("gin", "alike"):
        assert train(f"of-{kind}", "--model", kind, "--epochs", 8, "--residual", graph=graph)["best_value"] > 0.45, kind


def check_same():
    train("plain", *WEIGHTS)
    for number, way in enumerate([["--policy", "belady", "--cache", "20%", "--superbatch", "4"], ["--layout", "packed", "--cache", "10%"],
                                  ["--topology", "disk", "--threads", 1, "--policy", "lru", "--cache", "10%"]]):
        train(f"way-{number}", *WEIGHTS, *way)
        same("plain", f"way-{number}")
    child = subprocess.Popen([OUTGROW, "train", "graph", *map(str, BASE), *WEIGHTS, "--run", "killed", "--quiet", "--log-every", "1"])
    log = pathlib.Path("killed/metrics.jsonl")
    while child.poll() is None and not (log.exists() and log.read_text().count("\n") >= 17):
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    child.wait()
    said = run("train", "graph", *BASE, "--run", "killed", "--resume", "--type-weights", "author=2", fails=True).stderr
    assert "--type-weights" in said and "hint:" in said, said
    train("killed", *WEIGHTS, "--resume")
    same("plain", "killed")
    train("alone", *WEIGHTS, "--accumulate", 2)
    for name, way in ("workers", ["--workers", 2]), ("exchange", ["--workers", 2, "--exchange"]), ("executors", ["--executors", 2]):
        train(name, *WEIGHTS, "--accumulate", 2, *way)
        same("alone", name)
    device = train("device", *WEIGHTS, "--device", "virtual")
    assert all(abs(a[0] - b["loss"]) < 1e-3 for a, b in zip(rows("plain"), device["epochs"]))
    equal = train("equal", "--type-weights", "author=1")
    assert [e["loss"] for e in equal["epochs"]] == [e["loss"] for e in train("bare")["epochs"]]


def check_weights():
    """A type that weighs 0 teaches nothing: as if its labels were unknown. Seeds' own weights multiply."""
    still = ["--lr", 0, "--epochs", 1, "--fanout", "-1,-1", "--dropout", 0, "--batch", 480]
    ids, labels = np.load("graph/train.npy"), np.load("graph/labels.npy")
    n = {t: ((types_of(ids) == i) & (labels[ids] >= 0)).sum() for i, t in enumerate(COUNTS)}
    loss = {name: train(f"still-{name}", *still, "--type-weights", w)["epochs"][0]["loss"] for name, w in
            [("paper", "author=0"), ("author", "paper=0"), ("both", "paper=3,author=2")]}
    want = (3 * n["paper"] * loss["paper"] + 2 * n["author"] * loss["author"]) / (3 * n["paper"] + 2 * n["author"])
    assert abs(loss["both"] - want) < 1e-6, (loss, want)
    np.save("weights.npy", np.where(types_of(ids) == 0, 3, 1).astype("f4"))
    mixed = train("still-mixed", *still, "--type-weights", "author=2", "--seed-weights", "weights.npy")["epochs"][0]["loss"]
    assert mixed == loss["both"], (mixed, loss)


def check_refused():
    for value in "author", "author=", "author=x", "=1", "author=-1", "venue=1", "place=2", "author=0,paper=0":
        said = run("train", "graph", *BASE, "--run", "never", "--type-weights", value, fails=True).stderr
        assert "weigh" in said and "hint:" in said and not os.path.exists("never"), (value, said)
    said = run("train", "graph", *BASE, "--run", "never", "--type-weights", "author=2", "--task", "link", fails=True).stderr
    assert "seeds are edges" in said, said
    said = run("predict", "graph", "--checkpoint", "learned/best.safetensors", "--out", "p.npy", "--embeddings", "e.npy", fails=True).stderr
    assert "--embeddings" in said and "hint:" in said, said
    np.save("venues.npy", [FIRST["venue"]])
    said = run("predict", "graph", "--checkpoint", "learned/best.safetensors", "--out", "p.npy", "--nodes", "venues.npy", fails=True).stderr
    assert "type venue" in said, said
    assert "'venue'" in run("eval", "graph", "--checkpoint", "learned/best.safetensors", "--split", "test:venue", fails=True).stderr
    make("odd.src", valid=np.array([FIRST["venue"] + 3]))
    run("import", "npy", "odd.src", "odd")
    assert "type venue" in run("train", "odd", *BASE, "--run", "never", fails=True).stderr
    run("generate", "homogeneous", "--nodes", 300, "--degree", 4, "--dim", 4, "--classes", 2)
    said = run("train", "homogeneous", *BASE, "--run", "unused", "--type-weights", "author=2").stderr
    assert "--type-weights" in said, said


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    make("src")
    run("import", "npy", "src", "graph")
    WIDTHS = dict.fromkeys(WIDTHS, 8)
    make("alike.src")
    run("import", "npy", "alike.src", "alike")
    WIDTHS = {"paper": 9, "venue": 5, "author": 7}
    check_steps()
    check_learned()
    check_same()
    check_weights()
    check_refused()
