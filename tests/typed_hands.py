#!/usr/bin/env python3
"""Who trains on typed graphs never changes what is learnt: trainers, executors and workers have the bytes of one process, learnt rows included.

    typed_hands.py OUTGROW
"""
import json
import os
import pathlib
import re
import tempfile

from typed_command import SANITIZED, refused, run

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


def same_bytes(graph, kind, *model, hands=HANDS):
    run("train", graph, *TRAIN, *model, *ONE, "--trainers", 1, "--run", f"{kind}-one")
    for name, way in hands.items():
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
    same_bytes("widths", "sage", "--model", "sage", "--norm", "batch", "--residual", "--input-dropout", 0.1)
    same_bytes("widths", "gat", "--model", "gat", "--heads", 2, "--relation-fanout", "cites=5,2", hands={"trainers": HANDS["trainers"], "workers": HANDS["workers"]})


def matrices_of_bases():
    same_bytes("alike", "rgcn", "--model", "rgcn", "--bases", 2, "--norm", "batch", "--staleness", 1)


def links():
    same_bytes("alike", "link", "--model", "rgcn", "--task", "link", "--decoder", "distmult", "--eval-every", 2)


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
    """Of a graph that is mostly structure two workers need little more than one process, whose structure they share; and it is whatever there is of it."""
    run("generate", "lists", "--types", "paper:30000:4,author:9000", "--relations", "paper:cites:paper:200,author:writes:paper:50", "--classes", 5, "--train-fraction", 0.02)
    structure = sum(file.stat().st_size for file in pathlib.Path("lists").glob("rel*.npy"))
    words = [*TRAIN[2:], "--epochs", 1, "--topology", "memory", "--accumulate", 2]
    one, two = smallest("lists", *words), smallest("lists", *words, "--workers", 2)
    assert structure > 25e6 and two <= 2 * one - 0.9 * structure, (one, two, structure)
    run("train", "lists", *words, *ONE, "--run", "lists-one")
    for name, way in {"least": ["--memory", f"{two >> 20}M"], "ahead": [*FOUR, "--alternate", "--policy", "belady", "--cache", "10%"]}.items():
        run("train", "lists", *words, *way, "--workers", 2, "--run", f"lists-{name}")
        assert pathlib.Path(f"lists-{name}", "checkpoint.safetensors").read_bytes() == pathlib.Path("lists-one/checkpoint.safetensors").read_bytes(), name


def features_are_there_once():
    """Where those of all types fit once, and stay, all rows come from a cache that the workers share; the one that comes first reads them."""
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


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        for name, types in (("widths", "paper:900:20,author:700,venue:30:5"), ("alike", "paper:900:20,author:700,venue:30:20"),
                            ("wide", "paper:9000:100,author:7000,venue:300:50")):
            run("generate", name, "--types", types, "--relations", ",".join(RELATIONS), "--classes", 5, "--train-fraction", 0.3)
        for test in (convolutions_of_relations, matrices_of_bases, links, trainers_are_measured_where_left_open, a_run_goes_on_with_other_hands,
                     what_is_told_to_fit_fits, structure_is_there_once, features_are_there_once):
            test()
            print("ok", test.__name__)


main()
