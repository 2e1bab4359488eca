#!/usr/bin/env python3
"""Who trains on heterogeneous graphs never changes results. Trainers, executors and workers have the bytes of one process, learnable embeddings included.

    typed_hands.py OUTGROW
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import numpy as np
from typed_command import OUTGROW, SANITIZED, outgrow, refused, run, some

TRAIN = ["--epochs", 2, "--batch", 25, "--fanout", "4,3", "--hidden", 12, "--threads", 2, "--lr", 0.01, "--embedding", 20, "--accumulate", 4, "--dropout", 0.3]
RELATIONS = ["author:writes:paper:3", "paper:cites:paper:4", "paper:written.by:author:2", "venue:has:paper:1", "paper:at:venue:5"]
ONE, TWO, FOUR = ["--memory", "160M"], ["--memory", "260M"], ["--memory", "420M"]
HANDS = {
    "trainers": [*ONE, "--trainers", 2],
    "narrow": [*ONE, "--trainers", 4, "--threads", 4, "--policy", "lru", "--cache", "20%"],
    "standby": [*ONE, "--executors", "1:1", "--policy", "belady", "--cache", "20K"],
    "packed": [*ONE, "--trainers", 2, "--layout", "packed", "--policy", "degree", "--cache", "10%"],
    "workers": [*TWO, "--workers", 2],
    "segments": [*TWO, "--workers", 2, "--layout", "segmented", "--policy", "frequency", "--cache", "10%"],
    "four": [*FOUR, "--workers", 4, "--topology", "disk", "--policy", "belady", "--cache", "10%"],
    "both": [*TWO, "--workers", 2, "--trainers", 2, "--policy", "presc", "--cache", "10%"],
}


def losses(name):
    lines = [json.loads(line) for line in pathlib.Path(name, "metrics.jsonl").read_text().splitlines()]
    return [(line.get("loss"), line.get("valid_loss"), line.get("valid_metrics")) for line in lines]


def same_bytes(graph, kind, turn, *model, hands=HANDS):
    run("train", graph, *TRAIN, *model, *ONE, "--trainers", 1, "--run", f"{kind}-one")
    for name, way in some(hands.items(), turn, 3 if hands is HANDS else 1):
        own = f"{kind}-{name}"
        run("train", graph, *TRAIN, *model, *way, "--run", own)
        for file in "best.safetensors", "checkpoint.safetensors":
            assert pathlib.Path(own, file).read_bytes() == pathlib.Path(f"{kind}-one", file).read_bytes(), (own, file)
        assert losses(own) == losses(f"{kind}-one"), own
        summary, alone = (json.loads(pathlib.Path(folder, "summary.json").read_text()) for folder in (own, f"{kind}-one"))
        assert [e["rows"] for e in summary["epochs"]] == [e["rows"] for e in alone["epochs"]], own
        most = int(way[1][:-1]) << 20
        assert SANITIZED or summary["peak_rss_bytes"] <= most, (own, summary["peak_rss_bytes"])


def convolutions_of_relations():
    same_bytes("widths", "sage", 0, "--model", "sage", "--norm", "batch", "--residual", "--input-dropout", 0.1)
    same_bytes("widths", "gat", 0, "--model", "gat", "--heads", 2, "--relation-fanout", "cites=5,2", hands={"trainers": HANDS["trainers"], "workers": HANDS["workers"]})
    same_bytes("widths", "gatv2", 1, "--model", "gatv2", "--heads", 2, "--residual", hands={"trainers": HANDS["trainers"], "workers": HANDS["workers"]})
    same_bytes("widths", "gcn", 0, "--model", "gcn", "--relation-fanout", "cites=5,2", hands={"workers": HANDS["workers"]})


def matrices_of_bases():
    same_bytes("widths", "rgcn", 1, "--model", "rgcn", "--bases", 2, "--norm", "batch", "--staleness", 1)


def links():
    same_bytes("alike", "link", 2, "--model", "rgcn", "--task", "link", "--decoder", "distmult", "--eval-every", 2)


def trainers_are_measured_where_left_open():
    long = ["--epochs", 8, *ONE]
    run("train", "alike", *TRAIN, "--model", "rgcn", *long, "--trainers", 1, "--run", "given")
    run("train", "alike", *TRAIN, "--model", "rgcn", *long, "--trainers", "auto", "--run", "measured")
    assert pathlib.Path("given/checkpoint.safetensors").read_bytes() == pathlib.Path("measured/checkpoint.safetensors").read_bytes()


def a_run_goes_on_with_other_hands():
    run("train", "widths", *TRAIN, *ONE, "--epochs", 4, "--run", "whole")
    run("train", "widths", *TRAIN, *TWO, "--workers", 2, "--run", "part")
    run("train", "widths", *TRAIN, *ONE, "--epochs", 4, "--trainers", 2, "--run", "part", "--resume")
    assert pathlib.Path("part/checkpoint.safetensors").read_bytes() == pathlib.Path("whole/checkpoint.safetensors").read_bytes()


def what_is_told_to_fit_fits():
    asked = ["train", "wide", *TRAIN[:2], "--batch", 500, "--fanout", "10,10", *TRAIN[6:], "--trainers", 2]
    said = refused(*asked, "--memory", "14M", "--run", "no")
    assert not os.path.exists("no"), said
    least = re.search(r"--memory (\d+)M", said)[1]
    run(*asked, "--memory", f"{least}M", "--run", "least")
    peak = json.loads(pathlib.Path("least/summary.json").read_text())["peak_rss_bytes"]
    assert SANITIZED or peak <= int(least) << 20, (peak, least)


def smallest(*asked):
    """What a refusal names, in bytes."""
    said = refused("train", *asked, "--memory", "1M", "--run", "no")
    return int(re.search(r"smallest that would do is --memory (\d+)M", said)[1]) << 20


def of_machine(graph, *options):
    """Parts of memory of one process, and of one of two."""
    return [json.loads(run("plan", graph, *TRAIN, *options, *way, "--memory", "600M", "--json"))["memory"] for way in ([], ["--workers", 2])]


def structure_is_there_once():
    """Two workers of a graph that is mostly topology need little more memory than one process. They share the topology, or whatever part of it there is."""
    run("generate", "lists", "--types", "paper:30000:4,author:9000", "--relations", "paper:cites:paper:200,author:writes:paper:50", "--classes", 5, "--train-fraction", 0.02)
    structure = sum(file.stat().st_size for file in pathlib.Path("lists").glob("rel*.npy"))
    words = [*TRAIN[2:], "--epochs", 1, "--topology", "memory", "--accumulate", 2]
    one, two = smallest("lists", *words), smallest("lists", *words, "--workers", 2)
    assert structure > 25e6 and two <= 2 * one - 0.9 * structure, (one, two, structure)
    run("train", "lists", *words, *ONE, "--run", "lists-one")
    for name, way in {"least": ["--memory", f"{two >> 20}M"], "ahead": [*FOUR, "--phased-memory", "--policy", "belady", "--cache", "10%"]}.items():
        run("train", "lists", *words, *way, "--workers", 2, "--run", f"lists-{name}")
        assert pathlib.Path(f"lists-{name}", "checkpoint.safetensors").read_bytes() == pathlib.Path("lists-one/checkpoint.safetensors").read_bytes(), name


def features_are_there_once():
    """Static rows of all types that fit once come from a cache that the workers share. The worker that comes first reads them."""
    words = [*TRAIN, "--epochs", 1, "--pack-dtype", "f16"]
    rows, width = 9000 + 300, 9000 * 200 + 300 * 100
    for policy in ("degree", "presc", "random"):
        one, two = of_machine("wide", *words[2:], "--policy", policy)
        assert one["feature cache"] == width and two["feature cache"] == width // 2, (policy, one["feature cache"], two["feature cache"])
    for policy in ("lru", "belady"):  # these are of each
        one, two = of_machine("wide", *words[2:], "--policy", policy)
        assert one["feature cache"] == two["feature cache"], policy
    run("train", "wide", *words, *ONE, "--policy", "none", "--run", "wide-one")
    for name, way in {"whole": [], "asked": ["--cache", "100%"], "part": ["--cache", "50%"], "trainers": ["--trainers", 2, "--io", "pread"]}.items():
        run("train", "wide", *words, *FOUR, *way, "--policy", "presc", "--workers", 2, "--run", f"wide-{name}")
        assert pathlib.Path(f"wide-{name}", "checkpoint.safetensors").read_bytes() == pathlib.Path("wide-one/checkpoint.safetensors").read_bytes(), name
        summary = json.loads(pathlib.Path(f"wide-{name}", "summary.json").read_text())
        assert (name == "part") == any(e["misses"] > 0 for e in summary["epochs"]), (name, summary["epochs"])
    told = [json.loads(pathlib.Path(f"wide-{name}", "summary.json").read_text())["prepare"]["prefill"] for name in ("whole", "asked", "trainers")]
    assert set(told) <= {0, rows}, told  # by worker 0, or by the other one


EXCHANGED = [  # how many, and how
    (2, ["--policy", "none"]),
    (2, ["--policy", "degree"]),
    (4, ["--policy", "presc", "--cache", "10%", "--topology", "disk"]),
    (2, ["--policy", "lru", "--cache", "10K", "--trainers", 2]),
    (4, ["--policy", "belady", "--cache", "10%", "--superbatch", 3]),
    (2, ["--policy", "hybrid:window=6,update=2", "--cache", "10%", "--topology", "disk"]),
    (4, ["--policy", "sweep", "--cache", "8%", "--executors", "1:1", "--threads", 2]),
    (2, ["--policy", "belady", "--cache", "5%", "--layout", "packed", "--superbatch", 3]),
    (4, ["--policy", "frequency", "--cache", "5%", "--layout", "segmented", "--pack-dtype", "f32"]),
]
STEP = int(os.environ.get("OG_WAYS_STEP", 1))  # one in so many of the repetitions, for builds that are slow and look at something else


def owner_rows(graph, workers):
    """How many rows of each type each worker owns, by their numbers through all types."""
    types = json.loads(pathlib.Path(graph, "meta.json").read_text())["node_types"]
    first, owned = 0, [{} for _ in range(workers)]
    for t in types:
        for r in range(workers):
            owned[r][t["name"]] = sum(v % workers == r for v in range(first, first + t["count"]))
        first += t["count"]
    return owned


def rows_come_from_their_owners():
    """With --exchange each worker caches and reads the rows of its own nodes, of any type. Learnable embeddings are not exchanged."""
    kinds = {"widths": ["--model", "sage", "--norm", "batch"], "alike": ["--model", "rgcn", "--bases", 2, "--task", "link", "--decoder", "distmult"]}
    for graph, model in kinds.items():
        run("train", graph, *TRAIN, *model, *ONE, "--trainers", 1, "--run", f"own-{graph}")
        alone = json.loads(pathlib.Path(f"own-{graph}", "summary.json").read_text())
        for n, way in EXCHANGED[::1 if graph == "widths" and STEP == 1 else 3]:
            run("train", graph, *TRAIN, *model, *(TWO if n == 2 else FOUR), "--workers", n, "--exchange", *way, "--run", "owned")
            why = (graph, n, way)
            for file in "best.safetensors", "checkpoint.safetensors":
                assert pathlib.Path("owned", file).read_bytes() == pathlib.Path(f"own-{graph}", file).read_bytes(), why
            assert losses("owned") == losses(f"own-{graph}"), why
            summary = json.loads(pathlib.Path("owned", "summary.json").read_text())
            told, rows = summary["workers"], [e["rows"] for e in summary["epochs"]]
            assert rows == [e["rows"] for e in alone["epochs"]], (why, rows)
            assert sum(w["rows"] for w in told) == sum(rows) == sum(e["hits"] + e["misses"] for e in summary["epochs"]), why
            moved = sum(e["rows_exchanged"] for e in summary["epochs"])
            assert moved == sum(w["rows_sent"] for w in told) == sum(w["rows_received"] for w in told), (why, told)
            assert 0.8 < moved / (sum(rows) * (n - 1) / n) < 1.2, (why, moved)
            assert SANITIZED or summary["peak_rss_bytes"] <= (260 if n == 2 else 420) << 20, why
            shutil.rmtree("owned")
    for n in (2, 4):  # a cache of all has no more than a worker's own
        run("train", "widths", *TRAIN, *FOUR, "--workers", n, "--exchange", "--policy", "degree", "--run", "whole-own")
        summary, own = json.loads(pathlib.Path("whole-own", "summary.json").read_text()), owner_rows("widths", n)[0]
        kept = {t["name"]: t["cache_rows"] for t in summary["plan"]["types"] if not t["learnt"]}
        assert kept == {name: own[name] for name in kept} and all(e["misses"] == 0 for e in summary["epochs"]), (kept, own)
        shutil.rmtree("whole-own")


def bytes_between_workers():
    """Workers send the rows of the others' nodes in their batches, at each type's own width. Rows kept as f16 are half of that."""
    words = [*TRAIN, "--epochs", 1, "--eval-every", 0, "--policy", "none", "--workers", 2, "--exchange", *TWO]
    run("sample", "widths", *TRAIN[2:6], "--epochs", 1, "--out", "drawn")
    ids, ptr = np.load("drawn/ids.npy"), np.load("drawn/ids_ptr.npy")
    epochs = []
    for dtype in "f32", "f16":
        run("train", "widths", *words, "--pack-dtype", dtype, "--run", dtype)
        epochs.append(json.loads(pathlib.Path(dtype, "summary.json").read_text())["epochs"][0])
    first = rows = halves = 0
    for t in json.loads(pathlib.Path("widths", "meta.json").read_text())["node_types"]:
        for b in range(len(ptr) - 1):
            of = ids[ptr[b]:ptr[b + 1]]
            others = np.count_nonzero((of >= first) & (of < first + t["count"]) & (of % 2 != b % 2)) if "feature_dim" in t else 0
            rows, halves = rows + others, halves + others * 2 * t.get("feature_dim", 0)
        first += t["count"]
    assert [e["rows_exchanged"] for e in epochs] == [rows, rows], (epochs, rows)
    assert epochs[0]["exchanged_bytes"] - epochs[1]["exchanged_bytes"] == halves, (epochs, halves)


def a_plan_tells_what_owners_do():
    """A plan predicts rows, hits, misses and bytes of the first epoch, of each owner and of all. Those of the first owner are by types, too."""
    for n, way in some([*EXCHANGED, (3, ["--policy", "degree", "--cache", "20K"])], 1, 4):
        if "--trainers" in way or "--executors" in way:
            continue
        words = [*TRAIN[2:], "--epochs", 1, "--eval-every", 0, *(TWO if n == 2 else FOUR), "--accumulate", 3 if n == 3 else 4, "--workers", n, "--exchange", *way]
        plan = json.loads(run("plan", "widths", *words, "--json"))
        told, why = plan["exchange"], (n, way)
        run("train", "widths", *words, "--run", "told")
        summary = json.loads(pathlib.Path("told", "summary.json").read_text())
        epoch, did = summary["epochs"][0], summary["workers"]
        untold = ("feature_bytes_read", "reads") if "segmented" in way else ()  # they depend on what --disk has left
        for key in {"rows", "hits", "misses", "feature_bytes_read"}.difference(untold):
            assert sum(w[key] for w in told["workers"]) == epoch[key], (key, *why)
        assert told["rows_exchanged"] == epoch["rows_exchanged"] == sum(w["rows_sent"] for w in told["workers"]), why
        for a, b in zip(told["workers"], did):
            assert [a[key] for key in ("rank", "rows", "hits", "misses", "rows_sent", "rows_received")] == [b[key] for key in ("rank", "rows", "hits", "misses", "rows_sent", "rows_received")], why
        for key in "rows", "hits", "misses":
            own = [t[key] for t in plan["types"]]
            assert own == [None] * len(own) if untold else sum(own) == told["workers"][0][key], (key, *why)
        if not untold:
            assert sum(t["bytes_read"] for t in plan["types"]) == plan["predicted"]["feature_bytes_read"] == told["workers"][0]["feature_bytes_read"], why
        shutil.rmtree("told")


def exchanged_until_killed():
    """A worker that is killed ends all. Others go on from there, with rows that they exchange or without."""
    words = [*TRAIN, "--policy", "lru", "--cache", "10%"]
    job = subprocess.Popen([OUTGROW, "train", "widths", *map(str, [*words, *FOUR, "--epochs", 400, "--workers", 4, "--exchange", "--run", "dead", "--quiet"])],
                           stderr=subprocess.PIPE, text=True)
    for _ in range(6000):
        if pathlib.Path("dead/metrics.jsonl").exists() and len(pathlib.Path("dead/metrics.jsonl").read_text().splitlines()) >= 3:
            break
        time.sleep(0.01)
    ranks = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    assert len(ranks) == 4, ranks
    os.kill(int(ranks[-1]), signal.SIGKILL)
    said = job.communicate(timeout=60)[1]
    assert job.returncode == 1 and "SIGKILL" in said, (job.returncode, said)
    epochs = len(pathlib.Path("dead/metrics.jsonl").read_text().splitlines()) + 2
    run("train", "widths", *words, *TWO, "--epochs", epochs - 1, "--workers", 2, "--exchange", "--run", "dead", "--resume")
    run("train", "widths", *words, *ONE, "--epochs", epochs, "--run", "dead", "--resume")
    run("train", "widths", *words, *ONE, "--epochs", epochs, "--run", "undisturbed")
    assert pathlib.Path("dead/checkpoint.safetensors").read_bytes() == pathlib.Path("undisturbed/checkpoint.safetensors").read_bytes()


def what_exchanging_takes_is_told():
    words = [*TRAIN[2:], "--epochs", 1, "--batch", 300, "--fanout", "10,10", "--workers", 2, "--exchange", "--cache", "1%"]
    for way in (["--policy", "lru"], ["--policy", "belady", "--superbatch", 2]):
        least = smallest("wide", *words, *way)
        for _ in range(4):  # a superbatch may turn out to have more, and a message says so
            done = outgrow("train", "wide", *words, *way, "--memory", f"{least >> 20}M", "--run", "least-own")
            if done.returncode == 0:
                break
            least = int(re.search(r"--memory (\d+)M", done.stderr.split("hint: ")[1])[1]) << 20
        assert done.returncode == 0, done.stderr
        summary = json.loads(pathlib.Path("least-own/summary.json").read_text())
        assert summary["plan"]["memory"]["exchange"] > 0 and (SANITIZED or summary["peak_rss_bytes"] <= least), (way, summary["peak_rss_bytes"], least)
        shutil.rmtree("least-own")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        for name, types in (("widths", "paper:900:20,author:700,venue:30:5"), ("alike", "paper:900:20,author:700,venue:30:20"),
                            ("wide", "paper:9000:100,author:7000,venue:300:50")):
            run("generate", name, "--types", types, "--relations", ",".join(RELATIONS), "--classes", 5, "--train-fraction", 0.3)
        for test in (convolutions_of_relations, matrices_of_bases, links, trainers_are_measured_where_left_open, a_run_goes_on_with_other_hands,
                     what_is_told_to_fit_fits, structure_is_there_once, features_are_there_once, rows_come_from_their_owners, bytes_between_workers, a_plan_tells_what_owners_do,
                     exchanged_until_killed, what_exchanging_takes_is_told):
            test()
            print("ok", test.__name__)


main()
