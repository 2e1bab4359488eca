#!/usr/bin/env python3
"""Rows of heterogeneous graphs that stay on virtual devices, in slots of their width. Results have the bytes of a run without any, and predictions are what is
counted.

    typed_device_rows.py OUTGROW
"""
import json
import os
import pathlib
import tempfile
import time

from typed_command import refused, run, some

TRAIN = ["--epochs", 2, "--batch", 40, "--fanout", "3,2", "--hidden", 8, "--threads", 2, "--lr", 0.05, "--memory", "160M", "--embedding", 6, "--accumulate", 2, "--dropout", 0.3]
RELATIONS = ["author:writes:paper:3", "paper:cites:paper:4", "paper:written.by:author:2", "venue:has:paper:1", "paper:at:venue:5", "group:has:author:2", "author:in:group:1"]
VIRTUAL = ["--device", "virtual"]
THERE = [*VIRTUAL, "--device-memory", "1104K"]
AHEAD = ["--superbatch", 5]
WAYS = {
    "static": [*THERE, "--policy", "degree", "--cache", "20%"],
    "presc": [*THERE, "--policy", "presc", "--cache", "64K"],
    "default": THERE,
    "random-over-degree": [*THERE, "--device-policy", "random", "--policy", "degree", "--cache", "60%"],
    "only-there": [*THERE, "--policy", "none"],
    "none-there": [*THERE, "--device-policy", "none", "--policy", "lru", "--cache", "20%"],
    "lru-over-degree": [*THERE, "--device-policy", "lru", "--policy", "degree", "--cache", "20%"],
    "lru-over-lru": [*THERE, "--device-policy", "lru", "--policy", "lru", "--cache", "20%"],
    "degree-over-sieve": [*THERE, "--device-policy", "degree", "--policy", "sieve", "--cache", "20%"],
    "s3fifo-over-clock": [*THERE, "--device-policy", "s3fifo", "--policy", "clock", "--cache", "20%"],
    "frequency": [*THERE, *AHEAD, "--device-policy", "frequency", "--policy", "frequency", "--cache", "20%"],
    "belady-over-belady": [*THERE, *AHEAD, "--device-policy", "belady", "--policy", "belady", "--cache", "20%"],
    "lru-over-belady": [*THERE, *AHEAD, "--device-policy", "lru", "--policy", "belady", "--cache", "20%"],
    "hybrid-rings": [*THERE, *AHEAD, "--device-policy", "hybrid:window=8,update=2", "--policy", "belady", "--cache", "10%", "--victim", "pvp:depth=20"],
    "hybrid-alone": [*THERE, *AHEAD, "--device-policy", "hybrid:window=8,update=2", "--policy", "none", "--victim", "pvp:depth=5"],
    "packed": [*THERE, *AHEAD, "--layout", "packed", "--policy", "degree", "--cache", "10%"],
    "packed-belady": [*THERE, *AHEAD, "--layout", "packed", "--device-policy", "belady", "--policy", "belady", "--cache", "10%", "--topology", "disk"],
    "segmented": [*THERE, *AHEAD, "--layout", "segmented", "--policy", "degree", "--cache", "10%"],
    "turns": [*THERE, *AHEAD, "--phased-memory", "--policy", "belady", "--cache", "30%"],
    "turns-packed": [*THERE, *AHEAD, "--phased-memory", "--layout", "packed", "--device-policy", "lru", "--policy", "belady", "--cache", "30%"],
    "ginex": [*THERE, "--preset", "ginex"],
    "diskgnn": [*THERE, "--preset", "diskgnn"],
    "two": ["--device", "virtual:2", "--device-memory", "2M", "--policy", "degree", "--cache", "20%"],
    "two-lru": ["--device", "virtual:2", "--device-memory", "2M", "--device-policy", "lru", "--policy", "lru", "--cache", "20%", "--trainers", 2],
    "standby": ["--device", "virtual:2", "--device-memory", "2M", "--executors", "1:2", "--policy", "degree", "--cache", "10%"],
    "trainers": [*VIRTUAL, "--device-memory", "4M", "--trainers", 2, "--device-policy", "belady", "--policy", "belady", "--cache", "10%"],
    "workers": ["--device", "virtual:2", "--device-memory", "2M", "--workers", 2, "--memory", "300M", "--policy", "degree", "--cache", "10%"],
    "one-by-one": [*THERE, "--pipeline", "none", "--device-policy", "lru", "--policy", "degree", "--cache", "10%"],
}
COUNTERS = ["rows", "hits", "misses", "device_hits", "host_hits", "victim_hits", "victim_pushed", "victim_dropped", "demoted", "link_bytes", "link_bytes_back"]


def summary(name):
    return json.loads(pathlib.Path(name, "summary.json").read_text())


def assert_same_bytes(name, base):
    for file in "best.safetensors", "checkpoint.safetensors":
        assert pathlib.Path(name, file).read_bytes() == pathlib.Path(base, file).read_bytes(), (name, file)


def the_same_bytes_whatever_is_there():
    run("train", "graph", *TRAIN, *VIRTUAL, "--policy", "none", "--run", "base")
    for name, words in some(WAYS.items(), 0, 4):
        run("train", "graph", *TRAIN, *words, "--run", name)
        assert_same_bytes(name, "base")
        epoch = summary(name)["epochs"][0]
        assert epoch["device_hits"] + epoch["host_hits"] + epoch["victim_hits"] == epoch["hits"], name
        if name != "none-there":
            assert epoch["device_hits"] > 0, (name, epoch)


def of_other_models():
    for name, model in ("gat", ["--model", "gat", "--heads", 2, "--norm", "layer"]), ("rgcn", ["--model", "rgcn", "--bases", 2]):
        run("train", "graph", *TRAIN, *VIRTUAL, *model, "--run", f"{name}-base")
        run("train", "graph", *TRAIN, *VIRTUAL, "--device-memory", "2M", *model, "--device-policy", "lru", "--policy", "degree", "--cache", "20%", "--run", f"{name}-there")
        assert_same_bytes(f"{name}-there", f"{name}-base")


def shared_out_by_types():
    """What a device has is the head of one ranking, and the host has what follows it."""
    run("train", "graph", *TRAIN, *THERE, "--policy", "degree", "--cache", "20%", "--run", "shares")
    plan = summary("shares")["plan"]
    types = {t["name"]: t for t in plan["types"]}
    assert plan["device"]["cache_rows"] == sum(t["device_rows"] for t in types.values()) > 0
    assert plan["cache_rows"] == sum(t["cache_rows"] for t in types.values()) > 0
    assert plan["device"]["memory"]["feature cache"] == sum(t["device_bytes"] for t in types.values())
    assert plan["device"]["memory"]["feature cache"] + 160 >= plan["device"]["memory"]["limit"] - sum(plan["device"]["memory"][k] for k in ("model", "activations", "sampling", "batches", "slack"))
    for t in types.values():
        assert t["device_rows"] + t["cache_rows"] <= t["nodes"]
        assert t["learnt"] or (t["device_rows"] > 0 and t["device_bytes"] == t["device_rows"] * t["row_bytes"])


def what_is_told_is_counted():
    """By the plan, of the first superbatch, which is the run; and by types."""
    for name, words in some(WAYS.items(), 1, 4):
        if "--workers" in words or "--executors" in words or "--preset" in words:
            continue
        told = json.loads(run("plan", "graph", *TRAIN, "--epochs", 1, "--eval-every", 0, *words, "--superbatch", "all", "--json"))
        run("train", "graph", *TRAIN, "--epochs", 1, "--eval-every", 0, *words, "--superbatch", "all", "--run", f"told-{name}")
        counted, predicted = summary(f"told-{name}")["epochs"][0], told["predicted"]
        for key in COUNTERS:
            assert counted[key] == predicted[key], (name, key, counted[key], predicted[key])
        for key in "rows", "hits", "misses":
            assert sum(t[key] or 0 for t in told["types"]) == predicted[key], (name, key)
        assert sum(t["device_hits"] for t in told["types"]) == predicted["device_hits"], name
        link = sum((t["rows"] - t["device_hits"]) * t["row_bytes"] for t in told["types"])
        assert link == counted["link_bytes"], (name, link, counted["link_bytes"])


def pairs_are_compared():
    """Without --policy, pairs are compared by what their caches of all widths miss. For a static pair that is what a run reads, to the byte."""
    way = [*TRAIN, "--eval-every", 0, *THERE, "--cache", "10%", "--memory", "60M"]
    plan = json.loads(run("plan", "graph", *way, "--json"))
    told = {(c["policy"], c["device_policy"]): c for c in plan["candidates"]}
    assert all(c["possible"] for c in told.values()), told
    assert {("degree", "degree"), ("belady", "belady"), ("frequency", "frequency"), ("degree", "belady"), ("belady", "degree")} <= set(told), set(told)
    assert (plan["policy"], plan["device"]["policy"]) in told
    run("train", "graph", *way, "--policy", "degree", "--run", "steady")
    first, c = summary("steady")["epochs"][0], told["degree", "degree"]
    for key in "reads", "bytes_read", "device_hits", "host_hits", "link_bytes":
        assert first[key] == c[key] > 0, (key, first[key], c[key])
    assert len({c["device_hits"] for c in told.values()}) > 1 and len({c["host_hits"] for c in told.values()}) > 2
    run("train", "graph", *way, "--run", "chosen")
    assert pathlib.Path("chosen/checkpoint.safetensors").read_bytes() == pathlib.Path("steady/checkpoint.safetensors").read_bytes()
    named = json.loads(run("plan", "graph", *way, "--device-policy", "lru", "--json"))["candidates"]
    assert len(named) > 2 and {c["device_policy"] for c in named} == {"lru"}, named


def stopped_and_gone_on_with():
    """With rows there, from an empty cache, or without any."""
    way = ["train", "graph", *TRAIN]
    rows = [*THERE, "--device-policy", "lru", "--policy", "lru", "--cache", "20%"]
    run(*way, *rows, "--epochs", 3, "--run", "whole")
    for name, words in ("there", rows), ("gone", VIRTUAL):
        run(*way, *rows, "--epochs", 1, "--run", f"part-{name}")
        run(*way, *words, "--epochs", 3, "--run", f"part-{name}", "--resume")
        assert pathlib.Path(f"part-{name}/checkpoint.safetensors").read_bytes() == pathlib.Path("whole/checkpoint.safetensors").read_bytes(), name


def learnt_rows_alone():
    """Where no type has features, a device has no rows to cache. Nothing of a link is measured."""
    way = ["train", "bare", *TRAIN]
    run(*way, *VIRTUAL, "--run", "bare-gone")
    for name, words in ("there", THERE), ("hands", [*VIRTUAL, "--device-memory", "2M", "--executors", "1:2", "--policy", "lru", "--cache", "20%"]), ("packed", [*THERE, *AHEAD, "--layout", "packed", "--policy", "belady"]):
        run(*way, *words, "--run", f"bare-{name}")
        assert_same_bytes(f"bare-{name}", "bare-gone")
        assert summary(f"bare-{name}")["plan"]["device"]["cache_rows"] == 0, name


def what_does_not_go_says_so():
    for words, said in ((["--device-memory", "10K"], "smallest that would do"), (["--device-memory", "1M", "--policy", "sweep"], "sweep"),
                        (["--device-memory", "1104K", "--policy", "degree", "--victim", "pvp"], "victim"), (["--device-memory", "1104K", "--victim", "pvp:depth=400000"], "victim")):
        assert said in refused("train", "graph", *TRAIN, *VIRTUAL, *words, "--run", "no"), words
        assert not os.path.exists("no")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        run("generate", "graph", "--types", "paper:2000:40,author:1200:12,group:60,venue:200:5", "--relations", ",".join(RELATIONS), "--classes", 4, "--train-fraction", 0.1)
        run("generate", "bare", "--types", "paper:400,author:300", "--relations", "author:writes:paper:3,paper:by:author:2", "--classes", 4, "--train-fraction", 0.3)
        for test in (the_same_bytes_whatever_is_there, of_other_models, shared_out_by_types, what_is_told_is_counted, pairs_are_compared, stopped_and_gone_on_with,
                     learnt_rows_alone, what_does_not_go_says_so):
            start = time.monotonic()
            test()
            print("ok", test.__name__, round(time.monotonic() - start, 1), flush=True)


main()
