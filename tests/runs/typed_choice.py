#!/usr/bin/env python3
"""--policy auto on heterogeneous graphs: plans are compared by what each reads of rows of all widths. The chosen one gives the bytes of any other plan.

An epoch has no more batches than profiling takes. So the prediction of each plan is what it reads.

    typed_choice.py OUTGROW
"""
import itertools
import json
import os
import pathlib
import tempfile

from typed_command import run

TRAIN = ["--epochs", 2, "--batch", 64, "--fanout", "4,4", "--hidden", 8, "--threads", 2, "--lr", 0.01, "--embedding", 6, "--eval-every", 0]
TYPES = ["paper:2400:500", "author:1500:300", "venue:300", "lab:900:40"]
RELATIONS = ["author:writes:paper:60", "paper:cites:paper:120", "paper:by:author:60", "venue:has:paper:40", "lab:of:author:40", "author:in:lab:60"]
count = itertools.count()


def plan(*way):
    return json.loads(run("plan", "graph", *TRAIN, *way, "--json"))


def train(*way):
    name = f"run{next(count)}"
    run("train", "graph", *TRAIN, *way, "--run", name)
    return json.loads(pathlib.Path(name, "summary.json").read_text()), pathlib.Path(name, "checkpoint.safetensors").read_bytes()


def memory(more):
    return ["--memory", plan("--memory", "200M", "--policy", "belady")["memory"]["smallest"] + more]


def ways_are_compared():
    """Any of them may be the fastest. Each has as much memory as it would have by itself, and those that it is too little for say so."""
    global ways
    ways = plan(*little)["candidates"]
    known = {(w["policy"], w["layout"], w["alternates"]) for w in ways}
    assert {("degree", "raw", False), ("frequency", "packed", True), ("belady", "packed", True), ("belady", "raw", False), ("sweep", "raw", False)} <= known, known
    possible = [w for w in ways if w["possible"]]
    assert len(possible) == 5 and ways[:5] == possible, ways
    assert all(w["terms"]["training"] > 0 and w["memory"] <= little[1] for w in possible)
    assert all("too little" in w["why"] and w["memory"] > little[1] for w in ways[5:]), ways
    more = plan("--memory", "90M", "--cache", "10%")["candidates"]
    assert len(more) == len(ways) and all(w["possible"] for w in more), more


def told_of(policy):
    return next(w for w in ways if (w["policy"], w["layout"], w["alternates"]) == (policy, "raw", False))


def what_is_told_of_a_way_is_what_it_reads():
    """Predictions for a static cache are exact to the byte. Others sample their batches again, and are within a tenth of the first epoch."""
    degree, predicted = told_of("degree"), plan(*little, "--policy", "degree", "--layout", "raw")["predicted"]
    s, own = train(*little, "--policy", "degree", "--layout", "raw")
    first = s["epochs"][0]
    assert own == whole and "; by " not in degree["why"] and 0 < degree["cache_rows"] == s["plan"]["cache_rows"]
    assert (degree["reads"], degree["bytes_read"]) == (first["reads"], first["bytes_read"]) == (predicted["reads"], predicted["bytes_read"]), (degree, first, predicted)
    for policy in "belady", "frequency":
        w, (s, own) = told_of(policy), train(*little, "--policy", policy, "--layout", "raw")
        first = s["epochs"][0]
        reads, read = (first[of] + first["prepare_" + of] for of in ("reads", "bytes_read"))
        assert own == whole and w["cache_rows"] == s["plan"]["cache_rows"], (w, s)
        assert 0.9 * read < w["bytes_read"] < 1.1 * read and 0.9 * reads < w["reads"] < 1.1 * reads, (w, first)



def auto_ends_with_the_same_bytes():
    s, own = train(*little)
    assert own == whole
    first = next(w for w in ways)
    assert s["plan"]["policy"] in {w["policy"] for w in ways} and first["possible"]
    s, own = train("--memory", "200M")
    assert own == whole and (s["plan"]["policy"], s["plan"]["layout"]) == ("degree", "raw")  # all rows are there: nothing to choose


def what_is_given_holds():
    for given in (["--policy", "belady"], ["--policy", "lru"], ["--layout", "packed"], ["--phased-memory"], ["--topology", "disk"]):
        p = plan("--memory", "90M", "--cache", "10%", *given)
        if given[0] == "--policy":
            assert p["policy"] == given[1]
        if given[0] == "--layout":
            assert {w["layout"] for w in p["candidates"]} == {"packed"}
        if given[0] == "--phased-memory":
            assert all(w["alternates"] for w in p["candidates"])
        if given[0] == "--topology":
            assert {w["topology"] for w in p["candidates"]} == {"disk"}


def workers_that_exchange_rows_compare_plans():
    """Each worker counts the requests to its own rows. It counts to the byte under a static policy, and within a tenth of the bytes under others."""
    given = ["--memory", "400M", "--cache", "10%", "--workers", 2, "--exchange", "--layout", "raw"]  # which layout is faster depends on the disk's speed at the time
    compared = {w["policy"]: w for w in plan(*given)["candidates"]}
    assert {"degree", "frequency", "belady", "sweep"} <= compared.keys(), compared
    exact = plan(*given, "--policy", "degree")["predicted"]
    assert compared["degree"]["reads"] == exact["reads"] > 0 and compared["degree"]["bytes_read"] == exact["bytes_read"], (compared["degree"], exact)
    for policy in "belady", "frequency", "sweep":
        s, _ = train(*given, "--policy", policy)
        first = s["epochs"][0]
        each = (first["bytes_read"] + first["prepare_bytes_read"]) / 2
        assert 0.9 * each < compared[policy]["bytes_read"] < 1.1 * each, (policy, each, compared[policy])
    s, own = train(*given)
    assert own == train(*given, "--policy", "none")[1] and s["plan"]["policy"] in compared


def without_rows_there_is_nothing_to_compare():
    run("generate", "bare", "--types", "drug:400,gene:300", "--classes", 4, "--relations", "drug:binds:gene:4,gene:by:drug:4", "--train-fraction", 0.2)
    p = json.loads(run("plan", "bare", *TRAIN, "--memory", "200M", "--json"))
    assert (p["policy"], p["layout"], p["candidates"], p["predicted"]["bytes_read"]) == ("degree", "raw", [], 0), p


def main():
    global little, whole
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        run("generate", "graph", "--types", ",".join(TYPES), "--relations", ",".join(RELATIONS), "--classes", 4, "--train-fraction", 0.15, "--seed", 3)
        little = memory(1 << 20)
        whole = train("--memory", "200M", "--policy", "none")[1]
        ways_are_compared()
        what_is_told_of_a_way_is_what_it_reads()
        auto_ends_with_the_same_bytes()
        what_is_given_holds()
        workers_that_exchange_rows_compare_plans()
        without_rows_there_is_nothing_to_compare()


if __name__ == "__main__":
    main()
