#!/usr/bin/env python3
"""A graph of the size of ogbn-papers100M on this disk: 111 M nodes and 1.6 G edges. It has 128 features as f16 (28 GB) and 1.2 M training nodes.

    bench/papers100m.py [--outgrow PATH] [--dataset DIR] [--scratch DIR] [--nodes 111000000] [--train 1200000] [--memory 8G,4G] [--keep]

For each --memory one epoch of the data path, and one of GraphSAGE with 3 layers of 256. The first also generates the graph. Batches of 1000, fanout 10,10,10;
cold page cache, in a memory cgroup of the same size where one can be made. The prediction is that of the first candidate of `auto`, preparation and epoch.
About 50 GB under --scratch, 20 GB more while it is generated, removed afterwards unless kept.
"""
import argparse
import pathlib
import re
import shutil
import time

import numpy

import suite
from suite import Suite, cgroup, drop_caches, table

DEGREE = 14.4
OPTIONS = ["--epochs", 1, "--batch", 1000, "--fanout", "10,10,10"]
SLACK = 64 << 20  # of the cgroup beyond --memory: what the kernel counts for the command itself


def bytes_of(size):
    number, unit = re.fullmatch(r"(\d+)([MG])", size).groups()
    return int(number) << {"M": 20, "G": 30}[unit]


def generate(b, args, memory):
    path = b.scratch / "graph"
    start = time.monotonic()
    with cgroup(bytes_of(memory) + SLACK) as prefix:
        made = b.json("generate", path, "--model", "rmat", "--nodes", args.nodes, "--degree", DEGREE, "--dim", 128, "--dtype", "f16", "--classes", 172,
                      "--train-fraction", args.train / args.nodes, "--memory", memory, prefix=prefix)
    for split in ("valid", "test"):  # evaluation is not what is measured
        file = path / f"{split}.npy"
        numpy.save(file, numpy.load(file)[: args.train // 100])
    size = sum(f.stat().st_size for f in path.iterdir())
    print(f"generated with --memory {memory}: {made['num_nodes']:,} nodes, {made['num_edges']:,} edges, {size / 1e9:.1f} GB, in {time.monotonic() - start:.0f} s", flush=True)
    return path


def measure(b, dataset, name, memory):
    drop_caches()
    with cgroup(bytes_of(memory) + SLACK) as prefix:
        if name == "data path":
            r = b.json("bench", "epoch", dataset, *OPTIONS, "--memory", memory, prefix=prefix)
        else:
            r = b.train(dataset, *OPTIONS, "--memory", memory, "--hidden", 256, "--eval-every", 0, prefix=prefix)
    e, plan, prepare = r["epochs"][0], r["plan"], r["prepare"]
    told = (plan["candidates"] or [plan["predicted"]])[0]["seconds"]  # one way alone where all fits
    row = [memory, name, f"{plan['policy']}, {plan['layout']}, structure {'on disk' if plan['topology'] == 'disk' else 'in memory'}", told,
           e["seconds"] + prepare["seconds"], prepare["seconds"], e["train_seconds"], e["hits"] / e["rows"], e["rows"] / 1e6,
           (prepare["bytes_read"] + e["prepare_bytes_read"] + e["bytes_read"]) / 1e9, e["topology_bytes_read"] / 1e9,
           e["bytes_written"] / 1e9, r["peak_rss_bytes"] / (1 << 20)]
    print(row, flush=True)
    return row


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(suite.ROOT / "build/release/outgrow"))
    p.add_argument("--dataset", help="one that is there already")
    p.add_argument("--scratch")
    p.add_argument("--nodes", type=int, default=111_000_000)
    p.add_argument("--train", type=int, default=1_200_000)
    p.add_argument("--memory", default="8G,4G")
    p.add_argument("--keep", action="store_true", help="the dataset")
    args = p.parse_args()
    args.reader, args.data = None, "."
    b = Suite(args)
    sizes = args.memory.split(",")
    try:
        dataset = pathlib.Path(args.dataset) if args.dataset else generate(b, args, sizes[0])
        b.run("bench", "io", "--path", dataset, "--quiet")
        rows = [measure(b, dataset, name, memory) for memory in sizes for name in ("data path", "SAGE 256")]
        table(f"{args.nodes:,} nodes, {args.train:,} to train on, one epoch",
              ["--memory", "", "auto chose", "s told", "s taken", "of which before", "of which training (beside)", "rows from memory", "rows, M", "GB read",
               "of which structure", "GB written", "peak MiB"], rows)
    finally:
        if not args.keep:
            shutil.rmtree(b.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
