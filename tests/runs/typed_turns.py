#!/usr/bin/env python3
"""--phased-memory on heterogeneous graphs: sampling and training use one memory in phases. Results are bit-identical, and reads are predicted to the last row
and byte.

Memory is so tight that the last slots of the cache have to be released and taken back. They are of several types.

    typed_turns.py OUTGROW      exits 77 where there is no NumPy
"""
import itertools
import json
import os
import pathlib
import tempfile

from typed_command import SANITIZED, run, some

try:
    import numpy as np
except ImportError:
    import sys
    sys.exit(77)

TRAIN = ["--epochs", 2, "--batch", 64, "--fanout", "4,4", "--hidden", 8, "--threads", 2, "--lr", 0.01, "--embedding", 6]
TYPES = ["paper:2400:500", "author:1500:300", "venue:300", "lab:900:40"]
RELATIONS = ["author:writes:paper:60", "paper:cites:paper:120", "paper:by:author:60", "venue:has:paper:40", "lab:of:author:40", "author:in:lab:60"]
POLICIES = ["none", "random", "degree", "presc", "pagerank", "file:scores.npy", "frequency", "belady", "hybrid", "sweep", "lru", "rr", "sieve", "s3fifo", "clock"]
count = itertools.count()


def plan(*way, graph="graph"):
    return json.loads(run("plan", graph, *TRAIN, *way, "--json"))


def tight(more, *way, graph="graph"):
    """The least memory that would do, and so many bytes more."""
    return ["--memory", plan("--memory", "200M", *way, graph=graph)["memory"]["smallest"] + more]


def train(*way, graph="graph"):
    name = f"run{next(count)}"
    run("train", graph, *TRAIN, *way, "--run", name)
    summary = json.loads(pathlib.Path(name, "summary.json").read_text())
    return summary, pathlib.Path(name, "checkpoint.safetensors").read_bytes()


def learnt_without_turns():
    global whole
    summary, whole = train("--memory", "200M", "--policy", "degree")
    assert not summary["plan"]["alternates"]


def a_static_cache_hits_as_often_in_turns():
    for policy in "none", "degree", "pagerank":
        (a, _), (b, bytes_of_b) = (train("--memory", "200M", "--policy", policy, "--cache", "25%", *turns) for turns in ([], ["--phased-memory"]))
        assert not a["plan"]["alternates"] and b["plan"]["alternates"] and b["plan"]["superbatch"] > 0 and a["plan"]["superbatch"] == 0
        assert a["plan"]["cache_rows"] == b["plan"]["cache_rows"] and bytes_of_b == whole
        for one, other in zip(a["epochs"], b["epochs"]):
            assert (one["hits"], one["misses"]) == (other["hits"], other["misses"]), policy
        assert b["epochs"][0]["prefill"] == b["plan"]["cache_rows"]


def no_policy_believes_in_slots_that_were_lent():
    packed = itertools.cycle(["packed", "segmented"])
    for policy, layout in some(((policy, layout) for policy in POLICIES for layout in ("raw", next(packed))), 0, 3):
        way = ["--policy", policy, "--layout", layout, "--phased-memory", "--superbatch", 3]
        memory = tight(1 << 20, *way)
        got, checkpoint = train(*way, *memory)
        assert checkpoint == whole, (policy, layout)
        assert SANITIZED or got["peak_rss_bytes"] <= memory[1], (policy, layout, got["peak_rss_bytes"], memory)
        if policy == "degree":  # rows that were lost are filled again
            assert got["epochs"][1]["prefill"] > 0, layout
            kept = [t["cache_rows"] for t in got["plan"]["types"]]
            assert sum(n > 0 for n in kept) > 1, kept


def turns_leave_more_to_the_rows():
    way = ["--policy", "degree"]
    memory = tight(0, *way, "--phased-memory")  # with more all rows are in the cache, and none is staged
    (a, straight), (b, turns) = train(*way, *memory), train(*way, *memory, "--phased-memory")
    rows_a, rows_b = (got["plan"]["memory"]["feature cache"] for got in (a, b))
    assert rows_b > rows_a + b["plan"]["memory"]["topology"] / 4, (rows_a, rows_b, b["plan"]["memory"]["topology"])
    assert straight == turns == whole


def what_is_read_is_told():
    ways = itertools.product((("degree", "raw"), ("belady", "raw"), ("frequency", "packed"), ("lru", "packed"), ("presc", "segmented"), ("belady", "segmented"), ("none", "raw")),
                             ("memory", "disk"))
    for (policy, layout), topology in some(ways, 1, 3):
        way = ["--policy", policy, "--layout", layout, "--topology", topology, "--phased-memory", "--superbatch", "all"]
        way += tight(3 << 20, *way)
        told, (got, checkpoint) = plan(*way), train(*way)
        first = got["epochs"][0]
        assert checkpoint == whole, way
        for key in "rows", "hits", "misses":
            assert told["predicted"][key] == first[key] == sum(t[key] for t in told["types"]), (way, key, told["predicted"], first)
        assert told["predicted"]["feature_bytes_read"] == first["feature_bytes_read"] == sum(t["bytes_read"] for t in told["types"]), (way, told, first)
        assert [t["cache_rows"] for t in told["types"]] == [t["cache_rows"] for t in got["plan"]["types"]]
        assert told["predicted"]["trace_bytes_read"] == first["trace_bytes_read"] > 0, (way, told["predicted"], first)
        if topology == "memory":  # else what samples reads, too
            assert told["predicted"]["reads"] == first["reads"], (way, told["predicted"], first)


def one_width_is_packed_over_the_ids():
    """A single type has features, and is neither the first nor the last. What its batches miss is written where the ids were."""
    for more in [], ["--resample-every", 2]:
        _, want = train("--memory", "200M", "--policy", "degree", *more, graph="single")
        ways = itertools.product((("frequency", "packed"), ("lru", "packed"), ("none", "packed"), ("belady", "segmented")), (3, "all"))
        for (policy, layout), superbatch in some(ways, 0 if more else 1, 3):
            way = ["--policy", policy, "--layout", layout, "--superbatch", superbatch, *([] if policy == "none" else ["--cache", "400K"]), *more]
            memory = tight(1 << 20, *way, "--phased-memory", graph="single")
            got, checkpoint = train(*way, "--phased-memory", *memory, graph="single")
            assert checkpoint == want, way
            assert got["plan"]["alternates"] and got["plan"]["superbatch"] > 0, way
            assert SANITIZED or got["peak_rss_bytes"] <= memory[1], (way, got["peak_rss_bytes"], memory)
            assert all(e["rows"] == e["hits"] + e["misses"] and e["misses"] > 0 for e in got["epochs"]), way
            if superbatch == "all" and not more:
                told, first = plan(*way, "--phased-memory", *memory, graph="single"), got["epochs"][0]
                for key in "rows", "hits", "misses", "feature_bytes_read":
                    assert told["predicted"][key] == first[key], (way, key, told["predicted"], first)


def presets_take_turns():
    for preset, policy, layout in ("ginex", "belady", "raw"), ("diskgnn", "frequency", "packed"):
        for more in [], ["--cache", "100K"], ["--superbatch", 5]:
            got, checkpoint = train("--preset", preset, *more, *tight(2 << 20, "--preset", preset))
            assert checkpoint == whole, preset
            assert got["plan"]["alternates"] and (got["plan"]["policy"], got["plan"]["layout"]) == (policy, layout), got["plan"]


def whoever_samples_and_trains():
    """Weights are loaded again with the lists; draws that are made once are another's. Trainers, and epochs that share a draw, change nothing."""
    for options, ways in ((["--sampler", "weighted"], [[]]), (["--sampler", "labor"], [[]]), (["--draw", "once"], [[]]),
                          (["--resample-every", 2], [["--layout", "packed"], ["--layout", "segmented"]]),
                          (["--accumulate", 2], [["--trainers", 2], ["--executors", "1:1"], ["--workers", 2, "--memory", "300M"]])):
        _, base = train("--memory", "200M", "--policy", "degree", *options)
        for way in ways:
            _, turns = train("--memory", "200M", "--policy", "frequency", "--cache", "100K", *options, "--phased-memory", "--superbatch", 4, *way)
            assert turns == base, (options, way)


def a_run_goes_on_in_turns():
    run("train", "graph", *TRAIN, "--memory", "200M", "--policy", "lru", "--epochs", 1, "--run", "part")
    run("train", "graph", *TRAIN, "--memory", "200M", "--policy", "belady", "--phased-memory", "--run", "part", "--resume")
    assert pathlib.Path("part/checkpoint.safetensors").read_bytes() == whole


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        run("generate", "graph", "--types", ",".join(TYPES), "--relations", ",".join(RELATIONS), "--classes", 5, "--train-fraction", 0.2)
        run("generate", "single", "--types", "author:1500,paper:2400:500,venue:300", "--relations", ",".join(RELATIONS[:4]), "--classes", 5, "--train-fraction", 0.2)
        rng = np.random.default_rng(1)
        np.save("scores.npy", rng.normal(size=5100))
        for r in range(len(RELATIONS)):
            edges = len(np.load(f"graph/rel{r}_indices.npy"))
            np.save(f"graph/rel{r}_weights.npy", rng.choice([0.25, 1, 3], edges).astype(np.float32))
        for test in (learnt_without_turns, a_static_cache_hits_as_often_in_turns, no_policy_believes_in_slots_that_were_lent, turns_leave_more_to_the_rows,
                     what_is_read_is_told, one_width_is_packed_over_the_ids, presets_take_turns, whoever_samples_and_trains, a_run_goes_on_in_turns):
            test()
            print("ok", test.__name__)


main()
