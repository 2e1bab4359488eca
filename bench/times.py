#!/usr/bin/env python3
"""What sampling by time costs, compared with uniform sampling. Seconds an epoch of the data path, and GB read of the topology.

    bench/times.py OUTGROW FOLDER [--nodes 1000000] [--train 100000] [--rounds 3] [--only CASE,...]       1 GB in FOLDER, removed

R-MAT, 15 edges a node, 16 features, batches of 1000, fanout 10,10, no model. Nodes have times of 365 days, edges of their own too. Every round measures
two epochs of each sampler. Tables have medians and ranges, and how long uniform sampling takes in the same case. "sorted": lists as import --by-time sorts them.
Cases are memory, disk, and alone: from disk, each batch by itself, as batches with features of edges are.
All takes a quarter of an hour.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

import numpy as np

DAYS = 365
EDGE, NODE = ("--time", "edge"), ("--time", "node")
LAST, WINDOW = ("--time-strategy", "last"), ("--time-window", "30")
WAYS = {"uniform": (), "disjoint": ("--disjoint",), "node times": NODE, "node times, sorted": NODE, "node times, last": NODE + LAST, "node times, last, sorted": NODE + LAST,
        "edge times": EDGE, "edge times, sorted": EDGE, "edge times, last": EDGE + LAST, "edge times, last, sorted": EDGE + LAST,
        "edge times, window of 30": EDGE + WINDOW, "edge times, window of 30, sorted": EDGE + WINDOW}
DISK = ("--topology", "disk", "--memory", "400M", "--neighbor-cache", "0")
CASES = {"memory": ("--topology", "memory", "--memory", "4G"), "disk": DISK, "alone": (*DISK, "--sample-group", "1")}


def make(outgrow, graph, nodes, train):
    subprocess.run([outgrow, "generate", graph, "--model", "rmat", "--nodes", str(nodes), "--degree", "15", "--dim", "16", "--train-fraction", str(train / nodes)], check=True,
                   stdout=subprocess.DEVNULL)
    r = np.random.default_rng(1)
    np.save(graph / "node_times.npy", r.integers(0, DAYS, nodes))
    np.save(graph / "edge_times.npy", r.integers(0, DAYS, len(np.load(graph / "indices.npy", mmap_mode="r"))))
    for split in "train", "valid", "test":
        if (graph / f"{split}.npy").exists():
            np.save(graph / f"{split}_times.npy", r.integers(DAYS // 2, DAYS, len(np.load(graph / f"{split}.npy"))))


def sort(graph, folder, kind):
    """The same graph as import --by-time has it."""
    shutil.copytree(graph, folder, copy_function=os.link)
    indptr, src, edge = (np.load(graph / f"{name}.npy") for name in ("indptr", "indices", "edge_times"))
    times = np.load(graph / "node_times.npy")[src] if kind == "node" else edge
    order = np.argsort(np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)) * DAYS + times, kind="stable")  # lists are by source already
    meta = json.loads((graph / "meta.json").read_text()) | {"by_time": [kind]}
    for name, array in ("indices", src[order]), ("edge_times", edge[order]):
        (folder / f"{name}.npy").unlink()
        np.save(folder / f"{name}.npy", array)
        meta["checksums"].pop(f"{name}.npy", None)
    (folder / "meta.json").unlink()
    (folder / "meta.json").write_text(json.dumps(meta))


def epoch(outgrow, graph, options):
    words = [outgrow, "bench", "epoch", graph, "--fanout", "10,10", "--epochs", "2", "--policy", "degree", "--layout", "raw", "--json", *options]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")
    epochs = json.loads(done.stdout)["epochs"]  # together: the second one may be sampled in the first
    seconds, read, rows = (sum(e[key] for e in epochs) / len(epochs) for key in ("seconds", "topology_bytes_read", "rows"))
    return seconds, read / 1e9, round(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outgrow")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=1000000)
    parser.add_argument("--train", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(CASES))
    given = parser.parse_args()
    folder = given.folder / "times-bench"
    folder.mkdir()
    try:
        graph = folder / "graph"
        make(given.outgrow, graph, given.nodes, given.train)
        for kind in "node", "edge":
            sort(graph, folder / f"by-{kind}", kind)
        print("| case | sampled by | s per epoch, median (range) | of uniform | rows | topology read, GB |\n|---|---|---|---|---|---|")
        for case in given.only.split(","):
            found = {name: [] for name in WAYS}
            for _ in range(given.rounds):
                for name, options in WAYS.items():
                    of = folder / f"by-{options[1]}" if name.endswith("sorted") else graph
                    found[name].append(epoch(given.outgrow, of, (*options, *CASES[case])))
            usual = statistics.median(s for s, _, _ in found["uniform"])
            for name, runs in found.items():
                seconds = [s for s, _, _ in runs]
                print(f"| {case} | {name} | {statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f}) | {statistics.median(seconds) / usual:.2f} | "
                      f"{runs[0][2]:,} | {runs[0][1]:.3f} |", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
