#!/usr/bin/env python3
"""Learning rates, clipping, stopping and classes of unequal size in runs. An epoch's `lr` is what its formula says. A run that is killed
anywhere and resumed has the bytes of one that was never stopped. This holds on workers, executors and a virtual device, for nodes and links
of any graph.

    practice.py OUTGROW [CHECK...]
"""
import json
import math
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

import command
from command import OUTGROW, run

BASE = ["--fanout", "3,2", "--batch", "40", "--hidden", "8", "--epochs", "6", "--memory", "300M", "--threads", "2", "--lr", "0.02", "--checkpoint-every", "0"]
FIGURES = ["epoch", "loss", "lr", "train_acc", "valid_acc", "valid_metrics"]


def train(graph, name, *options):
    return json.loads(run("train", graph, *BASE, "--run", name, "--json", *options).stdout)


def same(one, other):
    """Rows, and the bytes of both models."""
    a, b = (json.loads(pathlib.Path(name, "summary.json").read_text()) for name in (one, other))
    for key in "best_epoch", "best_value", "test_metrics":
        assert a[key] == b[key], (one, other, key, a[key], b[key])
    command.same(one, other, FIGURES)


def kill(graph, name, batches, *options):
    """Kills a run once it has logged so many batches; whether that was before its end."""
    child = subprocess.Popen([OUTGROW, "train", graph, *BASE, "--run", name, "--quiet", "--log-every", "1", *map(str, options)], stderr=subprocess.DEVNULL)
    path = pathlib.Path(name, "metrics.jsonl")
    while child.poll() is None:
        if path.exists() and path.read_text().count("\n") >= batches:
            child.send_signal(signal.SIGKILL)
            break
        time.sleep(0.001)
    return child.wait() != 0


def rates(summary, formula):
    """An epoch has the rate of its last step."""
    each = math.ceil(240 / 40)
    for e in summary["epochs"]:
        want = formula(e["epoch"] * each - 1, e["epoch"] - 1)
        assert abs(e["lr"] - want) < 1e-12, (e["epoch"], e["lr"], want)


def check_rates():
    def cosine(t, total, least=0.0):
        return least + (0.02 - least) * (1 + math.cos(math.pi * t / total)) / 2

    rates(train("plain", "constant"), lambda t, e: 0.02)
    rates(train("plain", "cosine", "--lr-schedule", "cosine"), lambda t, e: cosine(t, 36))
    rates(train("plain", "cosine-min", "--lr-schedule", "cosine", "--lr-steps", 20, "--lr-min", 0.001, "--warmup", 9),
          lambda t, e: 0.02 * (t + 1) / 9 if t < 9 else cosine(t, 20, 0.001))
    rates(train("plain", "by-epochs", "--lr-schedule", "step:2,0.3"), lambda t, e: 0.02 * 0.3 ** (e // 2))
    summary = train("plain", "plateau", "--lr-schedule", "plateau:0.5,1", "--best-by", "loss", "--min-delta", 0.3)
    best, bad, rate = math.inf, 0, 0.02
    for e in summary["epochs"]:
        assert e["lr"] == rate, (e["epoch"], e["lr"], rate)
        loss = e["valid_metrics"]["loss"]
        bad = 0 if loss < best - 0.3 else bad + 1
        best = min(best, loss) if bad == 0 else best
        if bad > 1:
            rate, bad = rate / 2, 0
    assert rate < 0.02


def check_longer():
    """The cosine's length is the run's first: more epochs go on with it."""
    cosine = ["--lr-schedule", "cosine"]
    train("plain", "short", *cosine, "--epochs", 3)
    train("plain", "short", *cosine, "--resume")
    train("plain", "long", *cosine, "--lr-steps", 18)
    same("short", "long")
    said = run("train", "plain", *BASE, *cosine, "--run", "short", "--resume", "--lr-steps", 36, fails=True).stderr
    assert "--lr-steps" in said, said


TUNED = ["--optimizer", "adamw", "--beta1", "0.8", "--epsilon", "1e-6", "--weight-decay", "0.02", "--clip", "0.3", "--warmup", "8"]
PLATEAU = ["--optimizer", "adamw", "--clip", "0.5", "--lr-schedule", "plateau:0.5,0", "--min-delta", "0.02", "--warmup", "3"]
LINK = ["--task", "link", "--batch", "300", "--epochs", "3"]
TYPED = ["--model", "sage", "--embedding", "8"]
UNEVEN = ["--class-weights", "balanced", "--oversample", "balanced", "--loss", "focal:1.5"]
CASES = [
    ("plain", UNEVEN),
    ("plain", ["--device", "virtual", *UNEVEN, "--accumulate", "2"]),
    ("plain", ["--class-weights", "balanced", "--label-smoothing", "0.1", "--resample-every", "2", "--oversample", "balanced"]),
    ("typed", [*TYPED, *UNEVEN, "--clip", "0.5"]),
    ("plain", [*TUNED, "--lr-schedule", "cosine"]),
    ("plain", PLATEAU),
    ("plain", [*LINK, *TUNED, "--lr-schedule", "step:1,0.5"]),
    ("plain", ["--device", "virtual", *TUNED, "--lr-schedule", "cosine"]),
    ("typed", [*TYPED, *TUNED, "--lr-schedule", "cosine", "--accumulate", "2"]),
    ("typed", [*TYPED, *PLATEAU]),
    ("typed", [*TYPED, *LINK, *PLATEAU]),
]
WAYS = [
    ["--policy", "belady", "--cache", "20%", "--superbatch", "3"],
    ["--policy", "lru", "--cache", "10%", "--threads", "1"],
    ["--topology", "disk", "--policy", "degree", "--cache", "10%"],
]


def check_resumed():
    for number, (graph, options) in enumerate(CASES):
        rng = random.Random(number)
        whole = f"whole-{number}"
        train(graph, whole, *options)
        for turn in range(2):
            name, way = f"killed-{number}-{turn}", WAYS[(number + turn) % 3]
            for _ in range(2):
                kill(graph, name, rng.randrange(2, 34), *options, *way, "--resume")
            train(graph, name, *options, *WAYS[(number + turn + 1) % 3], "--resume")
            same(whole, name)


def check_shared():
    """Two workers, with and without exchange, and two executors: as one that accumulates."""
    for options in [*TUNED, "--lr-schedule", "cosine"], PLATEAU, UNEVEN:
        tag = options[-1]
        train("plain", f"alone-{tag}", *options, "--accumulate", 2)
        for name, more in ("workers", ["--workers", 2]), ("exchange", ["--workers", 2, "--exchange"]), ("executors", ["--executors", 2]):
            train("plain", f"{name}-{tag}", *options, "--accumulate", 2, *more)
            same(f"alone-{tag}", f"{name}-{tag}")


def stop_of(summary, by, patience, delta, sign, every=1):
    """Where a run with patience ends, by the rows of one that does not stop. Returns the epoch, and what ends it."""
    best, bad = -math.inf, 0
    rows = summary["epochs"]
    for e in rows:
        if e["epoch"] % every and e["epoch"] < len(rows):
            continue
        value = sign * e["valid_metrics"][by]
        bad = 0 if value > best + delta else bad + 1
        best = value if bad == 0 else best
        if bad >= patience and e["epoch"] < len(rows):
            return e["epoch"], "patience"
    return len(rows), "epochs"


def check_patience():
    """A run with patience has the unstopped run's rows, up to the epoch that `stop_of` finds in them. That holds whatever the execution plan; the best epoch is
    the best of these."""
    stops = set()
    for tag, graph, by, sign, patience, delta, more in [
            ("acc", "plain", "acc", 1, 1, 0, []), ("acc2", "plain", "acc", 1, 2, 0.01, ["--lr", "0.1"]), ("loss", "plain", "loss", -1, 1, 0.3, []),
            ("link", "plain", "auc", 1, 1, 0.02, LINK), ("typed", "typed", "acc", 1, 1, 0.005, TYPED), ("never", "plain", "acc", 1, 50, 0, [])]:
        more = [*more, "--best-by", by]
        whole = train(graph, f"unstopped-{tag}", *more)
        epoch, why = stop_of(whole, by, patience, delta, sign)
        stops.add(why)
        patient = [*more, "--patience", patience, "--min-delta", delta]
        for number, way in enumerate([[], *WAYS, ["--phased-memory", "--policy", "belady", "--cache", "20%"]]):
            name = f"stopped-{tag}-{number}"
            summary = train(graph, name, *patient, *way)
            assert (summary["stopped_epoch"], summary["stopped_by"]) == (epoch, why), (name, epoch, why, summary["stopped_epoch"])
            assert [[e[k] for k in FIGURES] for e in summary["epochs"]] == [[e[k] for k in FIGURES] for e in whole["epochs"][:epoch]], name
            if number:
                same(f"stopped-{tag}-0", name)
        resumed = train(graph, f"stopped-{tag}-1", *patient, "--resume")
        assert resumed["stopped_epoch"] == epoch, resumed["stopped_epoch"]
        train(graph, f"stopped-{tag}-1", *more, "--min-delta", delta, "--resume")
        same(f"unstopped-{tag}", f"stopped-{tag}-1")
        for turn in range(2):
            name = f"stopped-killed-{tag}-{turn}"
            kill(graph, name, 3 + 7 * turn, *patient, "--resume")
            train(graph, name, *patient, *WAYS[turn], "--resume")
            same(f"stopped-{tag}-0", name)
    assert stops == {"patience", "epochs"}
    shared = ["--accumulate", 2, "--patience", 1, "--min-delta", 0.2, "--best-by", "loss"]
    assert train("plain", "patient-alone", *shared)["stopped_by"] == "patience"
    for ways in ["--workers", 2], ["--workers", 2, "--exchange"], ["--executors", 2], ["--workers", 2, "--exchange", "--policy", "belady", "--cache", "20%"]:
        name = "patient" + "-".join(map(str, ways))
        train("plain", name, *shared, *ways)
        same("patient-alone", name)
    whole = train("plain", "seldom-whole", "--eval-every", 2, "--epochs", 12)
    seldom = train("plain", "seldom", "--eval-every", 2, "--epochs", 12, "--patience", 1, "--min-delta", 0.5)
    assert (seldom["stopped_epoch"], seldom["stopped_by"]) == stop_of(whole, "acc", 1, 0.5, 1, every=2) == (4, "patience"), seldom["stopped_epoch"]
    device = train("plain", "device", "--device", "virtual", "--device-memory", "9M", "--patience", 1, "--min-delta", 1, "--cache", "10%", "--policy", "lru")
    assert (device["stopped_epoch"], device["stopped_by"]) == (2, "patience")
    page = run("report", "seldom", "seldom-whole", "--out", "report.html")
    assert page and "stopped by" in pathlib.Path("report.html").read_text() and "patience" in pathlib.Path("report.html").read_text()
    said = run("train", "plain", *BASE, "--run", "told", "--patience", 1, "--min-delta", 1)
    assert "stopped         after epoch 2 of 6: no better acc in 1 validation\n" in said.stdout, said.stdout
    assert "stopped after epoch 2" in said.stderr, said.stderr


def npy(path, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    pathlib.Path(path).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}f", *values))


def ints(path, kind):
    data = pathlib.Path(path).read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // struct.calcsize(kind)}{kind}", data[start:])


def check_classes():
    """Weights from a file are those of `balanced`, and a file that changed is refused. Seeds are drawn as often of each class. What a task does not take is
    refused."""
    labels = ints("plain/labels.npy", "q")
    train_ids = ints("plain/train.npy", "q")
    counts = [sum(labels[v] == c for v in train_ids) for c in range(4)]
    npy("weights.npy", [len(train_ids) / (4 * n) for n in counts])
    train("plain", "by-balance", "--class-weights", "balanced")
    train("plain", "by-file", "--class-weights", "weights.npy")
    same("by-balance", "by-file")
    by_hand = train("plain", "unweighted")
    assert by_hand["epochs"][0]["loss"] != json.loads(pathlib.Path("by-file/summary.json").read_text())["epochs"][0]["loss"]
    longer = ["--class-weights", "weights.npy", "--epochs", 8]
    npy("weights.npy", [1, 2, 3, 4])
    said = run("train", "plain", *BASE, "--run", "by-file", *longer, "--resume", fails=True).stderr
    assert "class-weights" in said, said
    for bad, word in ([1, 2, 3], "there are 4 classes"), ([1, -1, 1, 1], "class 1"), ([0, 0, 0, 0], "every class"):
        npy("weights.npy", bad)
        said = run("train", "plain", *BASE, "--run", "never", *longer, fails=True).stderr
        assert word in said and not os.path.exists("never"), said
    run("sample", "plain", "--out", "drawn", "--fanout", "3,2", "--batch", 40, "--epochs", 20, "--oversample", "balanced", "--memory", "300M")
    run("train", "plain", *BASE, "--run", "of-drawn", "--oversample", "balanced", "--samples", "drawn")
    run("train", "plain", *BASE, "--run", "of-sampled", "--oversample", "balanced")
    same("of-drawn", "of-sampled")
    said = run("train", "plain", *BASE, "--run", "never", "--samples", "drawn", fails=True).stderr
    assert "oversample" in said, said
    for name in "class-weights", "label-smoothing", "oversample":
        value = "0.1" if name == "label-smoothing" else "balanced"
        said = run("train", "plain", *BASE, *LINK, "--run", "never", f"--{name}", value, fails=True).stderr
        assert f"--{name}" in said and not os.path.exists("never"), said
    said = run("train", "plain", *BASE, "--run", "never", "--loss", "focal", "--label-smoothing", "0.1", fails=True).stderr
    assert "--label-smoothing" in said, said
    said = run("train", "plain", *BASE, *LINK, "--run", "never", "--loss", "focal", fails=True).stderr
    assert "--loss focal" in said, said
    weights = ["--class-weights", "balanced", "--label-smoothing", "0.1"]
    told = json.loads(run("eval", "plain", "--checkpoint", "by-balance/best.safetensors", "--fanout", "3,2", "--batch", 40, "--json", "--class-weights",
                          "balanced", "--memory", "300M").stdout)
    assert abs(told["loss"] - json.loads(pathlib.Path("by-balance/summary.json").read_text())["test_metrics"]["loss"]) < 1e-9
    said = run("predict", "plain", "--checkpoint", "by-balance/best.safetensors", "--out", "p.npy", *weights).stderr
    assert "--class-weights, --label-smoothing have no effect" in said, said


def check_seeds():
    """Weights of seeds: a mean over their sum, also over mini-batches that a step adds, in any process. A file that changed or does not fit
    is refused."""
    still = ["--lr", 0, "--dropout", 0, "--fanout", "-1,-1", "--epochs", 1, "--eval-every", 0]
    for graph, more in ("plain", []), ("typed", TYPED):
        n = len(ints(f"{graph}/train.npy", "q"))
        some = [i % 3 == 0 for i in range(n)]
        loss = {}
        for name, one, other in ("some", 1, 0), ("others", 0, 1), ("both", 2, 5):
            npy(f"{name}.npy", [one if s else other for s in some])
            loss[name] = train(graph, f"still-{graph}-{name}", *more, *still, "--seed-weights", f"{name}.npy")["epochs"][0]["loss"]
        a, b = 2 * sum(some), 5 * (n - sum(some))
        assert abs(loss["both"] - (a * loss["some"] + b * loss["others"]) / (a + b)) < 1e-6, loss
        npy("ones.npy", [1] * n)
        npy("uneven.npy", [(i * 7 % 11) / 4 for i in range(n)])
        train(graph, f"{graph}-none", *more)
        train(graph, f"{graph}-ones", *more, "--seed-weights", "ones.npy")
        same(f"{graph}-none", f"{graph}-ones")
        uneven = [*more, "--seed-weights", "uneven.npy"]
        every = [*uneven, "--dropout", 0, "--fanout", "-1,-1", "--no-shuffle"]
        large = train(graph, f"{graph}-large", *every, "--batch", 80)["epochs"]
        added = train(graph, f"{graph}-added", *every, "--batch", 40, "--accumulate", 2)["epochs"]
        assert all(abs(x["loss"] - y["loss"]) < 1e-4 for x, y in zip(large, added)), (large[-1]["loss"], added[-1]["loss"])
        train(graph, f"{graph}-alone", *uneven, "--accumulate", 2)
        for name, way in ("workers", ["--workers", 2]), ("executors", ["--executors", 2]), ("exchange", ["--workers", 2, "--exchange"]):
            train(graph, f"{graph}-{name}", *uneven, "--accumulate", 2, *way)
            same(f"{graph}-alone", f"{graph}-{name}")
        kill(graph, f"{graph}-killed", 9, *uneven, "--accumulate", 2)
        train(graph, f"{graph}-killed", *uneven, "--accumulate", 2, "--resume")
        same(f"{graph}-alone", f"{graph}-killed")
        device = train(graph, f"{graph}-device", *uneven, "--accumulate", 2, "--device", "virtual")["epochs"]
        host = json.loads(pathlib.Path(f"{graph}-alone/summary.json").read_text())["epochs"]
        assert all(abs(x["loss"] - y["loss"]) < 1e-3 for x, y in zip(device, host)), (device[-1]["loss"], host[-1]["loss"])
        npy("uneven.npy", [1, 2] + [1] * (n - 2))
        said = run("train", graph, *BASE, *uneven, "--accumulate", 2, "--epochs", 9, "--run", f"{graph}-alone", "--resume", fails=True).stderr
        assert "--seed-weights" in said, said
    for bad, word in ([1, 2, 3], "training nodes"), ([1, -1] + [1] * (n - 2), "training node 1"), ([0] * n, "every training node"):
        npy("uneven.npy", bad)
        said = run("train", "typed", *BASE, *uneven, "--run", "never", fails=True).stderr
        assert word in said and not os.path.exists("never"), said
    said = run("train", "plain", *BASE, *LINK, "--run", "never", "--seed-weights", "ones.npy", fails=True).stderr
    assert "--seed-weights: seeds are edges" in said and not os.path.exists("never"), said


def check_words():
    for option, more in ("patience", ["--patience", "6"]), ("optimizer", ["--optimizer", "adamw"]), ("lr-schedule", ["--lr-schedule", "step:7,0.5"]), ("min-delta", ["--min-delta", "0.1"]), \
            ("lr-steps", ["--lr-steps", "9"]), ("beta2", ["--beta2", "0.9", "--optimizer", "sgd"]):
        said = run("train", "plain", *BASE, "--run", f"words-{option}", *more).stderr
        assert f"--{option} has no effect" in said, said
    said = run("train", "plain", *BASE, "--run", "never", "--lr-schedule", "step:0,0.5", fails=True).stderr
    assert "lr-every" in said and not os.path.exists("never"), said


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    run("generate", "plain", "--nodes", 1200, "--degree", 6, "--dim", 8, "--classes", 4, "--train-fraction", 0.2)
    run("generate", "typed", "--types", "drug:1200,gene:500", "--classes", 4, "--train-fraction", 0.2, "--relations",
        "drug:binds:gene:4,gene:bound.by:drug:4,gene:near:gene:3")
    for check in check_rates, check_longer, check_resumed, check_shared, check_patience, check_classes, check_seeds, check_words:
        if len(sys.argv) < 3 or check.__name__ in sys.argv[2:]:
            check()
    os.chdir("/")
