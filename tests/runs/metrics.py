#!/usr/bin/env python3
"""Metrics of classes and labels: those that brute force makes of the logits, by scikit-learn's conventions. Labels that are not known count in none of them.

    metrics.py OUTGROW      exits 77 where there is no NumPy
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
N = 900
RUN = ["--fanout=-1,-1", "--hidden", "16", "--dropout", "0", "--memory", "160M", "--threads", "2", "--lr", "0.01"]
ALL = ["--fanout=-1,-1", "--memory", "160M", "--json"]


def run(*args):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, (args, done.stderr)
    return done


def train(graph, name, *options):
    return json.loads(run("train", graph, *RUN, "--epochs", "4", "--batch", "100", "--run", name, "--json", *options).stdout)


# ---- brute force ----

def area(score, high):
    """Share of pairs in order, ties counting half; NaN of no pairs."""
    p, n = score[high], score[~high]
    return ((p[:, None] > n).mean() + 0.5 * (p[:, None] == n).mean()) if len(p) and len(n) else np.nan


def precision(score, high):
    """Average precision: at each score that is a positive's, the precision of all that are no lower."""
    p, n = score[high], score[~high]
    if not len(p) or not len(n):
        return np.nan
    return np.mean([(p >= s).sum() / ((p >= s).sum() + (n >= s).sum()) for s in p])


def f1_of(right, there, said):
    return 2 * right / (there + said) if there + said else 0.0


def mean(values):
    known = [v for v in values if not np.isnan(v)]
    return np.mean(known) if known else None


def of_classes(z, y):
    """As scikit-learn's f1_score, roc_auc_score (one against the rest) and average_precision_score. Areas leave out classes without both kinds of nodes."""
    z, y = z[y >= 0].astype(np.float64), y[y >= 0]
    c, said = z.shape[1], z.argmax(1)
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    confusion = np.zeros((c, c), int)
    np.add.at(confusion, (y, said), 1)
    there, predicted, right = confusion.sum(1), confusion.sum(0), confusion.diagonal()
    f1 = np.array([f1_of(right[k], there[k], predicted[k]) for k in range(c)])
    counts = there + predicted > 0
    logit = np.log(p) - np.log1p(-p)
    aucs = [area(logit[:, k], y == k) for k in range(c)]
    aps = [precision(logit[:, k], y == k) for k in range(c)]
    metrics = {"acc": right.sum() / len(y), "micro_f1": right.sum() / len(y), "macro_f1": f1[counts].mean(), "weighted_f1": (f1 * there).sum() / len(y), "auc": mean(aucs), "ap": mean(aps)}
    if c == 2:
        metrics.update(f1=f1[1], auc=aucs[1], ap=aps[1])
    return metrics, {"support": there, "predicted": predicted, "f1": f1, "recall": right / np.maximum(there, 1), "precision": right / np.maximum(predicted, 1)}, confusion


def of_labels(z, y):
    known, c = ~np.isnan(y), y.shape[1]
    there, said = known & (y > 0.5), known & (z > 0)
    right = there & said
    f1 = np.array([f1_of(right[:, k].sum(), there[:, k].sum(), said[:, k].sum()) for k in range(c)])
    counted = known.any(0)
    columns = [(z[known[:, k], k], there[known[:, k], k]) for k in range(c)]
    loss = (np.logaddexp(0, z.astype(np.float64)) - np.where(there, z, 0))[known].mean()
    metrics = {"loss": loss, "micro_f1": f1_of(right.sum(), there.sum(), said.sum()), "macro_f1": f1[counted].mean(), "weighted_f1": (f1 * there.sum(0)).sum() / there.sum(),
               "auc": area(z[known], there[known]), "ap": precision(z[known], there[known]), "macro_auc": mean([area(*k) for k in columns]), "macro_ap": mean([precision(*k) for k in columns])}
    return metrics, {"support": there.sum(0), "predicted": said.sum(0), "f1": f1}, None


# ---- comparing ----

def near(what, got, want):
    assert (got is None) == (want is None) and (want is None or abs(got - want) < 1e-6), (what, got, want)


def compare(what, told, want, classes="classes", confusion="confusion", metrics="metrics"):
    figures, table, matrix = want
    for name, value in figures.items():
        near((what, name), told[metrics][name], value)
    assert len(told[classes]) == len(table["f1"])
    for k, row in enumerate(told[classes]):
        assert row["class"] == k
        for name, column in table.items():
            near((what, k, name), row[name], column[k])
    assert told[confusion] == (None if matrix is None else matrix.tolist()), what


def check(name, of, y):
    """The best model's logits, as `predict` writes them, against `train`, `eval` and `eval --full`."""
    graph, checkpoint = f"{name}-graph", ["--checkpoint", f"{name}/best.safetensors"]
    summary = train(graph, name, "--best-by", "macro_f1")
    assert summary["best_value"] == max(e["valid_metrics"]["macro_f1"] for e in summary["epochs"])
    run("predict", graph, *checkpoint, "--out", f"{name}.npy", "--memory", "160M", "--quiet")
    z = np.load(f"{name}.npy")
    for split in "valid", "test":
        ids = np.load(f"{graph}/{split}.npy")
        want = of(z[ids], y[ids])
        compare((name, split), json.loads(run("eval", graph, *checkpoint, "--split", split, *ALL).stdout), want)
        compare((name, split, "full"), json.loads(run("eval", graph, *checkpoint, "--split", split, "--full", "--memory", "160M", "--json").stdout), want)
    compare((name, "train"), summary, want, "test_classes", "test_confusion", "test_metrics")
    run("report", name)
    page = pathlib.Path(name, "report.html").read_text()
    assert "Test by class" in page and (want[2] is None or "prediction (column)" in page), name
    return summary


def write(name, y, x, rng, names=None):
    ids = rng.permutation(N)
    os.makedirs(name)
    if names:
        pathlib.Path(name, "meta.json").write_text(json.dumps({"class_names": names}))
    arrays = {"edges": rng.integers(0, N, (2 * N, 2)), "feat": x, "label": y, "train": ids[:N // 2], "valid": ids[N // 2:3 * N // 4], "test": ids[3 * N // 4:]}
    for key, array in arrays.items():
        np.save(f"{name}/{key}.npy", array)
    run("import", "npy", name, f"{name}-graph", "--quiet")


def classes():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((N, 6)).astype(np.float32)
    for name, c in ("two", 2), ("five", 5):
        y = (x[:, :c - 1] + 0.6 * rng.standard_normal((N, c - 1)) > 0.4).argmax(1) if c > 2 else (x[:, 0] > 1).astype(np.int64)
        y[rng.random(N) < 0.2] = -1
        if c > 2:
            y[np.flatnonzero(y == 2)[3:]] = c - 1  # a class that few nodes have, and none is said to have
        names = [f"kind {k}" for k in range(c)] if c > 2 else None
        write(name, y, x, rng, names)
        assert [row.get("name") for row in check(name, of_classes, y)["test_classes"]] == (names or [None] * c)


def labels():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((N, 6)).astype(np.float32)
    y = (x[:, :4] + 0.6 * rng.standard_normal((N, 4)) > 0.6).astype(np.float32)
    write("whole", y, x, np.random.default_rng(5))
    check("whole", of_labels, y)
    some = np.where(rng.random((N, 4)) < 0.4, np.nan, y)
    some[:30] = np.nan
    some[:, 3] = np.where(np.isin(np.arange(N), np.load("whole-graph/test.npy")), np.nan, some[:, 3])  # a label that no test node knows
    write("some", some, x, np.random.default_rng(5))
    check("some", of_labels, some)
    write("minus", np.where(np.isnan(some), -1, some).astype(np.int64), x, np.random.default_rng(5))
    assert pathlib.Path("minus-graph/labels.npy").read_bytes() == pathlib.Path("some-graph/labels.npy").read_bytes()
    assert np.isnan(np.load("some-graph/labels.npy")).sum() == np.isnan(some).sum()
    assert "some-graph" in run("verify", "some-graph").stdout
    loss_of_a_step(some)


def loss_of_a_step(y):
    """The first step's loss is the mean over known pairs, and class weights count known nodes alone."""
    once = ["--epochs", "1", "--batch", N, "--lr", "0.01"]
    run("train", "some-graph", *RUN, *once, "--epochs", "0", "--run", "start", "--quiet")
    run("predict", "some-graph", "--checkpoint", "start/checkpoint.safetensors", "--out", "start.npy", "--memory", "160M", "--quiet")
    ids = np.load("some-graph/train.npy")
    z, y = np.load("start.npy")[ids].astype(np.float64), y[ids]
    known = ~np.isnan(y)
    weight = np.where(y > 0.5, (known & (y < 0.5)).sum(0) / (known & (y > 0.5)).sum(0), 1)
    for name, w, more in ("plain", 1, []), ("weighed", weight, ["--class-weights", "balanced"]):
        told = json.loads(run("train", "some-graph", *RUN, *once, "--run", name, "--json", *more).stdout)["epochs"][0]["loss"]
        want = (w * (np.logaddexp(0, z) - np.where(y > 0.5, z, 0)))[known].mean()
        assert abs(told - want) < 1e-5 * want, (name, told, want)


def ways():
    """On two workers, on devices, and killed within a validation: the same figures."""
    for graph in "five-graph", "some-graph":
        one = train(graph, f"{graph}-one", "--accumulate", "2")
        two = train(graph, f"{graph}-two", "--workers", "2")
        for key in "test_metrics", "test_classes", "test_confusion":
            assert one[key] == two[key], (graph, key)
        far = train(graph, f"{graph}-far", "--device", "virtual", "--accumulate", "2")
        for key, value in one["test_metrics"].items():
            near((graph, "virtual", key), far["test_metrics"][key], value)
        train(graph, f"{graph}-part", "--accumulate", "2", "--epochs", "2")
        train(graph, f"{graph}-part", "--accumulate", "2", "--resume")
        assert pathlib.Path(f"{graph}-part/best.safetensors").read_bytes() == pathlib.Path(f"{graph}-one/best.safetensors").read_bytes()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    classes()
    labels()
    ways()
    os.chdir("/")
