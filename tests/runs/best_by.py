#!/usr/bin/env python3
"""--best-by: the epoch kept is the one that the figure names. Tested for each task and with any other option. f1, auc and ap of two classes are those that
brute force makes of the logits.

    best_by.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from command import OUTGROW, run

try:
    import numpy as np
except ImportError:
    sys.exit(77)

N = 2400
BASE = ["--fanout", "4,4", "--batch", "60", "--hidden", "16", "--epochs", "6", "--dropout", "0", "--memory", "96M", "--threads", "2", "--lr", "0.004"]
LESS = "loss", "mse", "mae"
TASKS = {"values": "node regression", "shares": "node shares"}


def train(graph, name, *options):
    return json.loads(run("train", graph, *BASE, "--run", name, "--json", *options).stdout)


def write(name, **arrays):
    rng = np.random.default_rng(3)
    ids = rng.permutation(N)
    os.makedirs(name)
    splits = {"train": ids[:N // 2], "valid": ids[N // 2:3 * N // 4], "test": ids[3 * N // 4:]}
    for key, array in {"edges": rng.integers(0, N, (2 * N, 2)), **splits, **arrays}.items():
        np.save(f"{name}/{key}.npy", array)
    if name in TASKS:
        pathlib.Path(f"{name}/meta.json").write_text(json.dumps({"task": TASKS[name]}))
    run("import", "npy", name, f"{name}-graph", "--quiet")


def make_graphs():
    rng = np.random.default_rng(7)
    y = (rng.random(N) < 0.06).astype(np.int64)
    x = rng.standard_normal((N, 4)).astype(np.float32)
    x[:, 0] += 1.2 * y
    write("two", feat=x, label=y)
    write("many", feat=x, label=np.arange(N) % 5)
    write("labels", feat=x, label=(rng.random((N, 3)) < 0.3).astype(np.float32))
    write("values", feat=x, label=(x[:, :2] * 2).astype(np.float32))
    shares = np.exp(x[:, rng.integers(0, 4, 12)])
    shares[::7] = np.nan
    write("shares", feat=x, label=(shares / shares.sum(1, keepdims=True)).astype(np.float32))


def check_kept(summary, by):
    """The best value; among ties the smallest loss, then the first."""
    rows = [e for e in summary["epochs"] if e["valid_metrics"]]
    worth = [(m[by] if m[by] is not None else float("inf")) if by in LESS else -(m[by] if m[by] is not None else -1) for m in (r["valid_metrics"] for r in rows)]
    best = min(range(len(rows)), key=lambda i: (worth[i], rows[i]["valid_metrics"]["loss"], i))
    kept = rows[best]
    assert summary["best_by"] == by, (summary["best_by"], by)
    assert summary["best_epoch"] == kept["epoch"], (by, summary["best_epoch"], kept["epoch"])
    assert summary["best_value"] == kept["valid_metrics"][by], by
    assert summary["valid_metrics"] == kept["valid_metrics"] and summary["valid_acc"] == kept["valid_acc"], by


def check_figures():
    """Every figure of every task. None is refused that there is, and those that there are not by name."""
    of_classes = ["loss", "acc", "macro_f1", "micro_f1", "weighted_f1", "auc", "ap"]
    figures = {"two": [*of_classes, "f1"], "many": of_classes, "labels": ["loss", "macro_f1", "micro_f1", "weighted_f1", "auc", "ap", "macro_auc", "macro_ap"], "values": ["loss", "mse", "mae", "r2"],
               "shares": ["loss", "mse", "mae", "r2", "ndcg@10"]}
    usual = {"two": "acc", "many": "acc", "labels": "micro_f1", "values": "r2", "shares": "ndcg@10"}
    for graph, own in figures.items():
        check_kept(train(f"{graph}-graph", f"{graph}-auto"), usual[graph])
        for by in own:
            check_kept(train(f"{graph}-graph", f"{graph}-{by}", "--best-by", by), by)
        other = "acc" if graph in TASKS else "mrr"
        for command in ["train", f"{graph}-graph", "--run", "never"], ["plan", f"{graph}-graph"]:
            said = run(*command, *BASE, "--best-by", other, fails=True).stderr
            assert f"--best-by {other}" in said and all(by in said for by in own), said
    check_kept(train("labels-graph", "labels-f1", "--best-by", "f1"), "micro_f1")
    links = ["--task", "link", "--batch", "800", "--epochs", "3"]
    check_kept(train("two-graph", "links", *links), "auc")
    for by in "mrr", "hits@50", "loss", "ap":
        check_kept(train("two-graph", f"links-{by}", *links, "--best-by", by), by)
    said = run("train", "two-graph", *BASE, "--run", "never", "--best-by", "nonsense", fails=True).stderr
    assert "best-by" in said and "hits@10" in said, said
    assert not os.path.exists("never")


def check_shares():
    """Shares: by brute force. Workers and resumed runs are the same. What has no meaning is refused."""
    kept = {}
    for loss in "cross_entropy", "mse":
        summary = train("shares-graph", f"shares-by-{loss}", "--loss", loss)
        every = ["--checkpoint", f"shares-by-{loss}/best.safetensors", "--memory", "96M"]
        run("predict", "shares-graph", *every, "--out", f"{loss}.npy", "--quiet")
        ids, y, z = np.load("shares-graph/valid.npy"), np.load("shares-graph/labels.npy"), np.load(f"{loss}.npy").astype(np.float64)
        ids = ids[~np.isnan(y[ids, 0])]
        y, z = y[ids], z[ids]
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        discount = (np.arange(12) < 10) / np.log2(np.arange(12) + 2)
        gain = np.take_along_axis(y, (-z).argsort(1), 1) @ discount / (-np.sort(-y) @ discount)
        want = {"loss": -(y * np.log(p)).sum(1).mean() if loss == "cross_entropy" else ((z - y) ** 2).mean(), "ndcg@10": gain.mean(),
                "mse": (((p if loss == "cross_entropy" else z) - y) ** 2).mean()}
        for more in ["--full"], ["--fanout=-1,-1"]:
            told = json.loads(run("eval", "shares-graph", *every, *more, "--split", "valid", "--json").stdout)["metrics"]
            assert all(abs(told[name] / value - 1) < 1e-5 for name, value in want.items()), (loss, told, want)
        kept[loss] = summary["valid_metrics"]["ndcg@10"]
    assert kept["cross_entropy"] > 0.9, kept
    train("shares-graph", "shares-short", "--epochs", "2")
    run("train", "shares-graph", *BASE, "--run", "shares-short", "--resume")
    train("shares-graph", "shares-weighed", "--seed-weights", "weights.npy")
    train("shares-graph", "shares-pairs", "--accumulate", "2")
    train("shares-graph", "shares-workers", "--workers", "2")
    same = ("by-cross_entropy", "short"), ("pairs", "workers")
    for one, other in same:
        assert pathlib.Path(f"shares-{one}/best.safetensors").read_bytes() == pathlib.Path(f"shares-{other}/best.safetensors").read_bytes(), other
    assert pathlib.Path("shares-weighed/best.safetensors").read_bytes() != pathlib.Path("shares-by-cross_entropy/best.safetensors").read_bytes()
    for options in ["--class-weights", "balanced"], ["--label-smoothing", "0.1"], ["--oversample", "balanced"]:
        said = run("train", "shares-graph", *BASE, "--run", "never", *options, fails=True).stderr
        assert f"{options[0]}: labels are shares of classes" in said, said
    for graph, word in ("values", "labels are values, not shares"), ("two", "the task node has no such loss"):
        said = run("train", f"{graph}-graph", *BASE, "--run", "never", "--loss", "cross_entropy", fails=True).stderr
        assert f"--loss cross_entropy: {word}" in said, said
    for more in [], ["--full"]:
        said = run("eval", "values-graph", "--checkpoint", "shares-by-cross_entropy/best.safetensors", *more, fails=True).stderr
        assert "the checkpoint was trained on shares, the labels of values-graph are values" in said and "--loss" not in said, said
    for more in [], ["--full"]:
        said = run("eval", "values-graph", "--checkpoint", "shares-by-cross_entropy/best.safetensors", *more, fails=True).stderr
        assert "shares" in said, said


def check_brute_force():
    """All neighbours, so that `predict` and `eval` make the same logits."""
    every = ["--checkpoint", "two-auc/best.safetensors", "--memory", "96M"]
    run("predict", "two-graph", *every, "--out", "logits.npy", "--quiet")
    told = json.loads(run("eval", "two-graph", *every, "--fanout=-1,-1", "--split", "valid", "--json").stdout)["metrics"]
    ids, y, z = np.load("two-graph/valid.npy"), np.load("two-graph/labels.npy").ravel(), np.load("logits.npy")
    score, high = (z[:, 1] - z[:, 0])[ids], y[ids] == 1
    above = score[high][:, None] - score[~high][None, :]
    auc = ((above > 0) + 0.5 * (above == 0)).mean()
    ap = sum((high & (score >= s)).sum() / (score >= s).sum() for s in score[high]) / high.sum()
    right = (high & (score > 0)).sum()
    f1 = 2 * right / max((score > 0).sum() + high.sum(), 1)
    for name, value in ("auc", auc), ("ap", ap), ("f1", f1), ("acc", ((score > 0) == high).mean()):
        assert abs(told[name] - value) < 1e-6, (name, told[name], value)


def check_going_on():
    """Killed and resumed, made longer, on two workers, without the types of validation: the same choice."""
    whole = train("two-graph", "whole", "--best-by", "auc", "--checkpoint-every", "0")
    child = subprocess.Popen([OUTGROW, "train", "two-graph", *BASE, "--run", "killed", "--quiet", "--best-by", "auc", "--checkpoint-every", "0"])
    while child.poll() is None:
        path = pathlib.Path("killed/metrics.jsonl")
        if path.exists() and len(path.read_text().splitlines()) >= 3:
            child.send_signal(signal.SIGKILL)
            break
        time.sleep(0.002)
    child.wait()
    again = ["train", "two-graph", *BASE, "--run", "killed", "--resume"]
    said = run(*again, "--best-by", "loss", fails=True).stderr
    assert "best-by" in said, said
    resumed = json.loads(run(*again, "--json", "--best-by", "auc").stdout)
    train("two-graph", "short", "--best-by", "auc", "--epochs", "2")
    longer = json.loads(run("train", "two-graph", *BASE, "--run", "short", "--resume", "--best-by", "auc", "--json").stdout)
    train("two-graph", "pairs", "--best-by", "auc", "--accumulate", "2")
    train("two-graph", "workers", "--best-by", "auc", "--workers", "2")
    for other in resumed, longer:
        check_kept(other, "auc")
        assert other["best_epoch"] == whole["best_epoch"]
    for one, other in ("whole", "killed"), ("whole", "short"), ("pairs", "workers"):
        assert pathlib.Path(one, "best.safetensors").read_bytes() == pathlib.Path(other, "best.safetensors").read_bytes(), other
    check_kept(train("two-graph", "seldom", "--best-by", "auc", "--eval-every", "4"), "auc")


def check_words():
    """The last lines say what was kept and why; what has no effect is named."""
    said = run("train", "two-graph", *BASE, "--run", "said", "--best-by", "auc").stdout
    summary = json.loads(pathlib.Path("said/summary.json").read_text())
    assert f"best epoch      {summary['best_epoch']}, by auc {summary['best_value']:.4f}\n" in said, said
    for more in ["--eval-every", "0"], ["--epochs", "1"]:
        said = run("train", "two-graph", *BASE, "--run", "-".join(more), "--best-by", "auc", *more).stderr
        assert "--best-by has no effect" in said, said
    assert json.loads(pathlib.Path("--eval-every-0/summary.json").read_text())["best_value"] is None


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    make_graphs()
    check_figures()
    np.save("weights.npy", np.arange(N // 2) % 3)
    check_shares()
    check_brute_force()
    check_going_on()
    check_words()
    os.chdir("/")
