#!/usr/bin/env python3
"""What sampling by time costs, compared with uniform sampling. Seconds an epoch of the data path, rows, and bytes read.

    bench/times.py OUTGROW FOLDER [--nodes 2000000] [--rounds 3]       2 GB in FOLDER, removed afterwards

R-MAT, 15 edges a node, 64 features, batches of 1000, fanout 10,10, no model. Nodes have times of 365 days, edges of their own too. Every round measures
two epochs of each sampler; the table has medians and ranges, with the topology in memory and on disk. "sorted": lists as import --by-time sorts them.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess

import numpy as np

DAYS = 365
WAYS = (("uniform", ()), ("disjoint", ("--disjoint",)), ("node times", ("--time", "node")), ("node times, last", ("--time", "node", "--time-strategy", "last")),
        ("node times, sorted", ("--time", "node")), ("edge times", ("--time", "edge")), ("edge times, sorted", ("--time", "edge")), ("edge times, window of 30", ("--time", "edge", "--time-window", "30")))


def make(outgrow, graph, nodes):
    subprocess.run([outgrow, "generate", graph, "--model", "rmat", "--nodes", str(nodes), "--degree", "15", "--dim", "64", "--train-fraction", "0.2"], check=True,
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
    indptr, src = np.load(graph / "indptr.npy"), np.load(graph / "indices.npy")
    times = np.load(graph / "node_times.npy")[src] if kind == "node" else np.load(graph / "edge_times.npy")
    order = np.lexsort((src, times, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))))
    meta = json.loads((graph / "meta.json").read_text()) | {"by_time": [kind]}
    for name, array in ("indices", src[order]), ("edge_times", np.load(graph / "edge_times.npy")[order]):
        (folder / f"{name}.npy").unlink()
        np.save(folder / f"{name}.npy", array)
        meta["checksums"].pop(f"{name}.npy", None)
    (folder / "meta.json").unlink()
    (folder / "meta.json").write_text(json.dumps(meta))


def epoch(outgrow, graph, memory, options):
    done = subprocess.run([outgrow, "bench", "epoch", graph, "--fanout", "10,10", "--epochs", "2", "--memory", memory, "--json", *options], check=True, capture_output=True, text=True)
    epochs = json.loads(done.stdout)["epochs"]  # together: the second one may be sampled in the first
    seconds, read, rows = (sum(e[key] for e in epochs) / len(epochs) for key in ("seconds", "bytes_read", "rows"))
    return seconds, read / 1e9, round(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outgrow")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=2000000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    folder = given.folder / "times-bench"
    folder.mkdir()
    try:
        graph = folder / "graph"
        make(given.outgrow, graph, given.nodes)
        for kind in "node", "edge":
            sort(graph, folder / f"by-{kind}", kind)
        for topology, memory in ("memory", "4G"), ("disk", "400M"):
            found = {name: [] for name, _ in WAYS}
            for _ in range(given.rounds):
                for name, options in WAYS:
                    of = folder / f"by-{options[1]}" if name.endswith("sorted") else graph
                    found[name].append(epoch(given.outgrow, of, memory, (*options, "--topology", topology)))
            usual = statistics.median(s for s, _, _ in found["uniform"])
            for name, runs in found.items():
                seconds = [s for s, _, _ in runs]
                print(f"| {topology} | {name} | {statistics.median(seconds):.2f} ({min(seconds):.2f}–{max(seconds):.2f}) | {statistics.median(seconds) / usual:.2f} | "
                      f"{runs[0][2]:,} | {runs[0][1]:.2f} |", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
