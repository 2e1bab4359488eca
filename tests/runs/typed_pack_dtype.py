#!/usr/bin/env python3
"""--pack-dtype on heterogeneous graphs: a run has the checkpoint of one over features that NumPy converted. It has so byte for byte, whatever holds or moves
the rows. Caches and packs have as many bytes as over those, files are read as they are stored.

    typed_pack_dtype.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile

from typed_command import refused, run

try:
    import numpy as np
except ImportError:
    sys.exit(77)

RUN = ["--epochs", 2, "--batch", 50, "--fanout", "4,3", "--hidden", 12, "--threads", 2, "--memory", "120M", "--embedding", 6, "--dropout", 0.2]
WAYS = [["--policy", "degree"],
        ["--policy", "none"],
        ["--policy", "degree", "--cache", "20K", "--topology", "disk"],
        ["--policy", "lru", "--cache", "10K"],
        ["--policy", "belady", "--cache", "10K", "--superbatch", 4],
        ["--policy", "frequency", "--cache", "10K", "--layout", "packed"],
        ["--policy", "none", "--layout", "packed", "--superbatch", 3],
        ["--policy", "presc", "--cache", "20%", "--layout", "segmented"],
        ["--policy", "lru", "--cache", "10K", "--layout", "segmented", "--phased-memory"],
        ["--policy", "sweep", "--cache", "10%"],
        ["--trainers", 2, "--accumulate", 2],
        ["--workers", 2, "--accumulate", 2]]
NARROW = {"f16": lambda x: x.astype(np.float16), "bf16": lambda x: bfloat16(x)}


def bfloat16(x):
    """As uint16: to the nearer of the two numbers around x, to the even one of equally near."""
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def converted(graph, name, dtype, types):
    """A copy, in which these types' features are of that dtype."""
    shutil.copytree(graph, name)
    meta = json.loads(pathlib.Path(graph, "meta.json").read_text())
    meta.pop("checksums", None)
    for t, node_type in enumerate(meta["node_types"]):
        if t in types:
            node_type["feature_dtype"] = dtype
            np.save(f"{name}/features_{t}.npy", NARROW[dtype](np.load(f"{graph}/features_{t}.npy")))
    pathlib.Path(name, "meta.json").write_text(json.dumps(meta))


def train(graph, name, *more):
    run("train", graph, *RUN, *more, "--run", name)
    return pathlib.Path(name, "checkpoint.safetensors").read_bytes(), json.loads(pathlib.Path(name, "summary.json").read_text())


def check_figures(way, got, want):
    """Slots are as narrow as over converted features, and so are packs; from files whole rows come."""
    for key in "cache_rows", "types":
        a, b = got["plan"][key], want["plan"][key]
        if key == "types":
            a, b = ([{k: t[k] for k in ("name", "row_bytes", "cache_rows", "cache_bytes")} for t in types] for types in (a, b))
        assert a == b, (way, key, a, b)
    if "--workers" not in way:
        assert got["plan"]["memory"] == want["plan"]["memory"], (way, got["plan"]["memory"], want["plan"]["memory"])
    for a, b in zip(got["epochs"], want["epochs"]):
        for key in "rows", "hits", "misses", "bytes_written":
            assert a[key] == b[key], (way, key, a[key], b[key])
        if "packed" in way:
            assert a["feature_bytes_read"] == b["feature_bytes_read"] > 0, (way, a["feature_bytes_read"], b["feature_bytes_read"])


def same_bytes_as_over_converted_features(graph, dtype, types):
    over = f"{graph}-{dtype}"
    converted(graph, over, dtype, types)
    stored, _ = train(graph, f"{over}-stored")
    for i, way in enumerate(WAYS):
        want, figures = train(over, f"{over}-want{i}", *way)
        got, own = train(graph, f"{over}-got{i}", "--pack-dtype", dtype, *way)
        assert got == want and got != stored, (graph, dtype, way)
        check_figures(way, own, figures)


def what_is_told_is_read():
    for i, way in enumerate((["--policy", "none"], ["--policy", "degree", "--cache", "10K"], ["--policy", "lru", "--cache", "10K"],
                             ["--policy", "belady", "--cache", "10K", "--layout", "packed"], ["--policy", "presc", "--cache", "10%", "--layout", "segmented"])):
        way = ["--pack-dtype", "f16", *way]
        plan = json.loads(run("plan", "graph", *RUN, *way, "--json"))
        _, summary = train("graph", f"told{i}", "--eval-every", 0, *way)
        first = summary["epochs"][0]
        for key in "rows", "hits", "misses", "feature_bytes_read":
            assert plan["predicted"][key] == first[key], (way, key, plan["predicted"][key], first[key])
        assert [t["row_bytes"] for t in plan["types"]] == [40, 0, 10]
        if "--layout" in way:
            continue
        run("simulate", "graph", *RUN[:12], *way[:4], "--cache", "10K", "--json", f"simulated{i}.json")
        simulated = json.loads(pathlib.Path(f"simulated{i}.json").read_text())
        told, = simulated["results"]
        assert told["misses"] == sum(e["misses"] for e in summary["epochs"]), way
        assert told["bytes_read"] == sum(e["feature_bytes_read"] for e in summary["epochs"]), (way, told["bytes_read"])
        assert [t["row_bytes"] for t in simulated["types"]] == [40, 10]


def evaluations_round_as_training_does():
    train("graph", "rounded", "--pack-dtype", "bf16")
    for options in [], ["--full"], ["--policy", "none"]:
        got, want = (json.loads(run("eval", graph, "--checkpoint", "rounded/best.safetensors", "--batch", 64, "--memory", "120M", *options, *more, "--json"))
                     for graph, more in (("graph", ["--pack-dtype", "bf16"]), ("graph-bf16", [])))
        assert got["loss"] == want["loss"], options
    run("predict", "graph", "--checkpoint", "rounded/best.safetensors", "--pack-dtype", "bf16", "--memory", "120M", "--out", "a.npy")
    run("predict", "graph-bf16", "--checkpoint", "rounded/best.safetensors", "--memory", "120M", "--out", "b.npy")
    assert np.array_equal(np.load("a.npy"), np.load("b.npy"))


def what_cannot_be_rounded_says_so():
    """For each type: what is stored so already stays, only f32 is made narrower. A number too large for f16 is named."""
    said = refused("train", "mixed", *RUN, "--pack-dtype", "bf16", "--run", "no")
    assert "mixed/features_2.npy are f16" in said and "only f32" in said, said
    refused("train", "graph-f16", *RUN, "--pack-dtype", "f32", "--run", "no")
    assert not os.path.exists("no")
    _, summary = train("graph-f16", "already", "--pack-dtype", "f16")
    assert summary["config"]["pack-dtype"] == "stored"
    converted("graph", "large", "f16", [])
    x = np.load("large/features_2.npy")
    x[:, 3] = 1e6
    np.save("large/features_2.npy", x)
    said = refused("train", "large", *RUN, "--pack-dtype", "f16", "--run", "no")
    assert "large/features_2.npy" in said and "beyond 65504" in said and "--pack-dtype bf16" in said, said


def main():
    os.chdir(tempfile.mkdtemp(prefix="og-typed-pack-dtype-"))
    os.environ["XDG_CACHE_HOME"] = os.getcwd()
    try:
        run("generate", "graph", "--types", "paper:900:20,author:700,venue:30:5", "--relations",
            "author:writes:paper:3,paper:cites:paper:4,paper:written.by:author:2,venue:has:paper:1,paper:at:venue:5", "--classes", 5, "--train-fraction", 0.3)
        converted("graph", "mixed", "f16", [2])
        for graph, dtype, types in ("graph", "f16", [0, 2]), ("graph", "bf16", [0, 2]), ("mixed", "f16", [0]):
            same_bytes_as_over_converted_features(graph, dtype, types)
            print("ok", graph, dtype)
        for test in what_is_told_is_read, evaluations_round_as_training_does, what_cannot_be_rounded_says_so:
            test()
            print("ok", test.__name__)
    finally:
        shutil.rmtree(os.getcwd())


main()
