#!/usr/bin/env python3
"""Heterogeneous graphs on virtual devices: within rounding of CPU cores, and bit-identical on any number of devices. Checkpoints of either kind work on the
other. That holds whoever trains, however rows come, killed and resumed.

    typed_devices.py OUTGROW
"""
import array
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from typed_command import OUTGROW, refused, run, some

TRAIN = ["--epochs", 2, "--batch", 12, "--fanout", "3,2", "--hidden", 8, "--threads", 2, "--lr", 0.05, "--optimizer", "sgd", "--embedding", 12, "--memory", "160M"]
RELATIONS = ["author:writes:paper:3", "paper:cites:paper:4", "paper:written.by:author:2", "venue:has:paper:1", "paper:at:venue:5"]
VIRTUAL = ["--device", "virtual"]
WAYS = {
    "two": ["--device", "virtual:2"],
    "trainers": [*VIRTUAL, "--trainers", 2, "--policy", "lru", "--cache", "20%"],
    "standby": ["--device", "virtual:2", "--executors", "1:2", "--policy", "belady", "--cache", "10%"],
    "packed": [*VIRTUAL, "--layout", "packed", "--policy", "degree", "--cache", "10%", "--topology", "disk"],
    "workers": ["--device", "virtual:2", "--workers", 2, "--memory", "300M"],
}


def lines(name):
    return [json.loads(line) for line in pathlib.Path(name, "metrics.jsonl").read_text().splitlines()]


def near(a, b, tolerance):
    return abs(a - b) <= tolerance * max(abs(a), abs(b), 1)


def evaluated(graph, checkpoint, *more):
    return json.loads(run("eval", graph, "--checkpoint", checkpoint, "--memory", "160M", "--json", *more))


def predicted(graph, checkpoint, out, *more):
    run("predict", graph, "--checkpoint", checkpoint, "--fanout", "-1,-1", "--memory", "160M", "--out", out, *more)
    data = pathlib.Path(out).read_bytes()
    return array.array("f", data[10 + int.from_bytes(data[8:10], "little"):])


def assert_alike(a, b):
    most = max(map(abs, b))
    assert len(a) == len(b) and max(abs(x - y) for x, y in zip(a, b)) < 1e-4 * most


def as_processors_make_it():
    """Losses of SGD, and evaluations and predictions of each kind's checkpoint on both kinds."""
    for name, graph, model in (("sage", "widths", ["--norm", "batch", "--residual"]), ("gat", "widths", ["--model", "gat", "--heads", 2]),
                               ("gatv2", "widths", ["--model", "gatv2", "--heads", 2]), ("gcn", "widths", ["--model", "gcn"]),
                               ("rgcn", "widths", ["--model", "rgcn", "--bases", 2])):
        for kind in "cpu", "virtual":
            run("train", graph, *TRAIN, *model, "--device", kind, "--run", f"{kind}-{name}")
        for cpu, there in zip(lines(f"cpu-{name}"), lines(f"virtual-{name}")):
            assert near(cpu["loss"], there["loss"], 1e-4) and near(cpu["valid_metrics"]["loss"], there["valid_metrics"]["loss"], 1e-4), (name, cpu, there)
        for kind in "cpu", "virtual":
            checkpoint = f"{kind}-{name}/best.safetensors"
            for full in ["--fanout", "-1,-1"], ["--full", "--batch", 50]:
                where = [evaluated(graph, checkpoint, *full, "--device", device) for device in ("cpu", "virtual")]
                assert near(where[0]["loss"], where[1]["loss"], 1e-5) and where[0]["acc"] == where[1]["acc"], (name, where)
            made = [predicted(graph, checkpoint, f"{kind}-{name}-{device}.npy", "--device", device, "--embeddings", f"{kind}-{name}-{device}-h.npy") for device in ("cpu", "virtual")]
            assert_alike(made[1], made[0])


def links():
    """Ranks of both ends among negatives of their types, by each decoder."""
    small = ["--task", "link", "--edge-split", "20/75/5", "--epochs", 1, "--batch", 200]
    for decoder in "distmult", "complex", "transe", "mlp", "dot":
        for kind in "cpu", "virtual":
            run("train", "few", *TRAIN, *small, "--model", "sage" if decoder in ("mlp", "dot") else "rgcn", "--decoder", decoder, "--device", kind, "--run", f"{kind}-{decoder}")
        cpu, there = (lines(f"{kind}-{decoder}")[-1] for kind in ("cpu", "virtual"))
        assert near(cpu["loss"], there["loss"], 1e-4), (decoder, cpu, there)
        for figure in "loss", "auc", "mrr":
            assert near(cpu["valid_metrics"][figure], there["valid_metrics"][figure], 1e-3), (decoder, figure, cpu, there)


def the_same_bytes_by_any_hands():
    for name, graph, model in (("sage", "widths", ["--norm", "batch", "--residual", "--dropout", 0.3]), ("rgcn", "widths", ["--model", "rgcn", "--bases", 2, "--dropout", 0.3, "--input-dropout", 0.1])):
        steps = ["--accumulate", 2, "--optimizer", "adam"]
        run("train", graph, *TRAIN, *model, *steps, *VIRTUAL, "--run", f"{name}-one")
        for way, words in WAYS.items():
            run("train", graph, *TRAIN, *model, *steps, *words, "--run", f"{name}-{way}")
            for file in "best.safetensors", "checkpoint.safetensors":
                assert pathlib.Path(f"{name}-{way}", file).read_bytes() == pathlib.Path(f"{name}-one", file).read_bytes(), (name, way, file)


def killed_and_gone_on_with():
    """By another number of devices, and not by the CPU."""
    way = ["train", "widths", *TRAIN, "--epochs", 6, "--accumulate", 2, "--optimizer", "adam", "--checkpoint-every", 0]
    run(*way, *VIRTUAL, "--run", "whole")
    process = subprocess.Popen([OUTGROW, *map(str, way), *VIRTUAL, "--run", "part", "--quiet"])
    while process.poll() is None and (not os.path.exists("part/metrics.jsonl") or len(lines("part")) < 2):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert "device" in refused(*way, "--device", "cpu", "--run", "part", "--resume")
    run(*way, "--device", "virtual:2", "--run", "part", "--resume")
    assert pathlib.Path("part/checkpoint.safetensors").read_bytes() == pathlib.Path("whole/checkpoint.safetensors").read_bytes()


def drawn_there():
    """Hops that devices sample, one relation after another, are the CPU's byte for byte. Lists are on the device, or in pinned host memory."""
    ways = {"few": ["--fanout", "3,2", "--batch", 40], "all": ["--fanout", "-1,2", "--batch", 25], "once": ["--fanout", "2,3,2", "--draw", "once", "--batch", 30],
            "named": ["--fanout", "4,3;cites=0,2", "--batch", 50], "link": ["--fanout", "3,3", "--task", "link", "--relation", "cites", "--batch", 60]}
    for turn, (name, words) in enumerate(ways.items()):
        own = ["sample", "widths", *words, "--epochs", 2, "--threads", 3, "--memory", "120M"]
        run(*own, "--out", f"drawn-{name}")
        for place in some(("device", "pinned"), turn, 2):
            run(*own, *VIRTUAL, "--sample-on", place, "--out", f"drawn-{name}-{place}")
            arrays = sorted(p.name for p in pathlib.Path(f"drawn-{name}").glob("*.npy"))
            assert len(arrays) > 6 and arrays == sorted(p.name for p in pathlib.Path(f"drawn-{name}-{place}").glob("*.npy"))
            for array in arrays:
                assert pathlib.Path(f"drawn-{name}", array).read_bytes() == pathlib.Path(f"drawn-{name}-{place}", array).read_bytes(), (name, place, array)
    way = ["train", "widths", *TRAIN, *VIRTUAL, "--device-memory", "24M", "--policy", "degree"]
    for place in "host", "device", "pinned":
        run(*way, "--sample-on", place, "--run", f"on-{place}")
        assert pathlib.Path(f"on-{place}/checkpoint.safetensors").read_bytes() == pathlib.Path("on-host/checkpoint.safetensors").read_bytes(), place
    there = {place: json.loads(run("plan", *way[1:], "--sample-on", place, "--json"))["device"]["memory"]["sampling"] for place in ("host", "device", "pinned")}
    lists = sum(os.path.getsize(p) - 4096 for p in pathlib.Path("widths").rglob("*_indices.npy"))
    assert there["host"] == 0 < there["pinned"] and there["device"] - there["pinned"] == lists > 0, (there, lists)


def what_there_is_not_says_so():
    assert "--topology memory" in refused("train", "widths", *TRAIN, *VIRTUAL, "--sample-on", "device", "--topology", "disk", "--run", "no")
    assert "uniform" in refused("train", "widths", *TRAIN, *VIRTUAL, "--sample-on", "device", "--sampler", "labor", "--run", "no")
    assert not os.path.exists("no")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        for name, papers, types in (("widths", 150, "author:100,venue:12:5"), ("few", 60, "author:50,venue:20:12")):
            width = 20 if name == "widths" else 12
            run("generate", name, "--types", f"paper:{papers}:{width},{types}", "--relations", ",".join(RELATIONS), "--classes", 4, "--train-fraction", 0.3)
        for test in as_processors_make_it, links, the_same_bytes_by_any_hands, killed_and_gone_on_with, drawn_there, what_there_is_not_says_so:
            start = time.monotonic()
            test()
            print("ok", test.__name__, round(time.monotonic() - start, 1), flush=True)


main()
