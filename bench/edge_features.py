#!/usr/bin/env python3
"""Features of edges that exceed memory: 128 M edges of 64 bytes (8 GB), trained within 1.4 GB.

    bench/edge_features.py [--outgrow PATH] [--scratch DIR] [--nodes 8000000] [--degree 16] [--train 5000] [--memory 1400M] [--model gatv2] [--rounds 3] [--dataset DIR | --make DIR]

Alternates training with features of edges, training with features of nodes alone, and PyTorch. The page cache is cold, and a memory cgroup has --memory and
64 MiB, where one can be made. PyTorch gathers the rows of the same edges from a memory-mapped edge_attr. It trains nothing and reads no features of nodes. Its edges are those of `outgrow sample`. --make writes the graph and ends;
--dataset takes such a graph. About 12 GB under --scratch, removed afterwards, and a quarter of an hour.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import numpy

import suite
from suite import Suite, cgroup, drop_caches, table

DIM = 16  # of f32: 64 bytes
FANOUT, BATCH, SLACK = "10,10", 1000, 64 << 20


def generate(b, args, path):
    start = time.monotonic()
    made = b.json("generate", path, "--model", "rmat", "--nodes", args.nodes, "--degree", args.degree, "--dim", 64, "--dtype", "f16", "--classes", 16,
                  "--train-fraction", args.train / args.nodes, "--memory", args.memory)
    for split in "valid", "test":  # evaluation is not what is measured
        numpy.save(path / f"{split}.npy", numpy.load(path / f"{split}.npy")[:1000])
    rows = numpy.lib.format.open_memmap(path / "edge_features.npy", "w+", numpy.float32, (made["num_edges"], DIM))
    piece = numpy.random.default_rng(1).standard_normal((1 << 20, DIM), numpy.float32)
    for first in range(0, len(rows), len(piece)):
        rows[first:first + len(piece)] = numpy.roll(piece, first >> 20, 0)[:len(rows) - first]
    rows.flush()
    print(f"{made['num_nodes']:,} nodes, {made['num_edges']:,} edges, features of edges {rows.nbytes / 1e9:.1f} GB, made in {time.monotonic() - start:.0f} s", flush=True)
    return path


def options(args):
    return ["--model", args.model, "--fanout", FANOUT, "--batch", BATCH, "--hidden", 32, "--heads", 2, "--epochs", 2, "--seed", 3]


def train(b, dataset, args, features, limit):
    drop_caches()
    with cgroup(limit + SLACK) as prefix:
        r = b.train(dataset, *options(args), "--edge-features", features, "--memory", args.memory, "--eval-every", 0, prefix=prefix)
    plan, epochs = r["plan"], r["epochs"]
    read = sum(e["bytes_read"] + e["prepare_bytes_read"] for e in epochs) + r["prepare"]["bytes_read"]
    return {"seconds": (r["prepare"]["seconds"] + sum(e["seconds"] for e in epochs)) / 2, "model": sum(e["train_seconds"] for e in epochs) / 2, "read": read / 2,
            "rows": epochs[0]["rows"], "plan": f"{plan['policy']}, {plan['layout']}, topology {plan['topology']}", "peak": r["peak_rss_bytes"]}


def places(samples, nodes):
    """For each batch the distinct edges, as places in edge_features.npy."""
    said = json.loads((samples / "trace.json").read_text())
    rows, a = said["edges_of_unit"][0], {p.stem: numpy.load(p, mmap_mode="r") for p in samples.glob("*.npy")}
    for i in range(len(a["units_ptr"]) - 1):
        units = a["units"][a["units_ptr"][i]:a["units_ptr"][i + 1]].astype(numpy.int64) - nodes
        edges = [a[f"hop{h}_edge"][a[f"hop{h}_ptr"][i]:a[f"hop{h}_ptr"][i + 1]] for h in (1, 2)]
        yield numpy.unique(numpy.concatenate([units[e // rows] * rows + e % rows for e in edges]))


def gather(file, lists):
    """In a process of its own: seconds that PyTorch takes for the rows of all lists."""
    import torch

    x = torch.from_numpy(numpy.load(file, mmap_mode="c"))  # copy on write, which torch requires; nothing is written
    saved = numpy.load(lists)
    batches = [torch.from_numpy(saved[name]) for name in saved.files]
    start = time.monotonic()
    for ids in batches:
        x[ids]
    print(json.dumps({"seconds": time.monotonic() - start, "rows": sum(map(len, batches))}))


def mapped(b, dataset, lists, limit):
    drop_caches()
    with cgroup(limit + SLACK) as prefix:
        done = subprocess.run([*prefix, sys.executable, __file__, "--gather", dataset / "edge_features.npy", lists], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def bytes_of(size):
    return int(size[:-1]) << {"M": 20, "G": 30}[size[-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outgrow", default=str(suite.ROOT / "build/release/outgrow"))
    parser.add_argument("--scratch", default=".")
    parser.add_argument("--nodes", type=int, default=8_000_000)
    parser.add_argument("--degree", type=float, default=16)
    parser.add_argument("--train", type=int, default=5_000)
    parser.add_argument("--memory", default="1400M")
    parser.add_argument("--model", default="gatv2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dataset", type=pathlib.Path)
    parser.add_argument("--make", type=pathlib.Path)
    parser.add_argument("--gather", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.gather:
        return gather(*args.gather)
    args.reader, args.data, args.models = None, ".", ""
    b = Suite(args)
    limit = bytes_of(args.memory)
    try:
        dataset = args.dataset or generate(b, args, args.make or b.scratch / "graph")
        if args.make:
            return 0
        b.run("sample", dataset, "--out", b.scratch / "samples", *options(args)[:-4], "--epochs", 1, "--seed", 3, "--memory", args.memory)
        numpy.savez(b.scratch / "lists.npz", *places(b.scratch / "samples", args.nodes))
        shutil.rmtree(b.scratch / "samples")
        found = {"with features of edges": [], "nodes alone": [], "memory-mapped gather": []}
        for turn in range(args.rounds):
            found["with features of edges"].append(train(b, dataset, args, "on", limit))
            found["nodes alone"].append(train(b, dataset, args, "off", limit))
            found["memory-mapped gather"].append(mapped(b, dataset, b.scratch / "lists.npz", limit))
            print(turn, {name: runs[-1] for name, runs in found.items()}, flush=True)
        base = statistics.median(r["seconds"] for r in found["with features of edges"])
        table(f"{args.model}, fanout {FANOUT}, batches of {BATCH}, {args.train:,} training nodes, {args.memory}", ["", "s per epoch, median", "min", "max", "model s", "GB read per epoch", "rows", "of the first", "how"],
              [[name, statistics.median(s := [r["seconds"] for r in runs]), min(s), max(s), runs[0].get("model", ""), runs[0]["read"] / 1e9 if "read" in runs[0] else "",
                runs[0]["rows"], statistics.median(s) / base, runs[0].get("plan", "")] for name, runs in found.items()])
    finally:
        shutil.rmtree(b.scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
