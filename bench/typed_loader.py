#!/usr/bin/env python3
"""Batches of a heterogeneous graph: outgrow.NeighborLoader and PyTorch Geometric's, without a model.

    PYTHONPATH=build/release/python python bench/typed_loader.py [--papers 1000000] [--memory 256M] [--rounds 3] [--epochs 3] [--parts memory,disk] [--scratch DIR]

Papers have 128 features, half as many authors 64. Three relations have 3 to 6 edges a node. Seeds are 20 000 papers, in batches of 1000.

memory  features and topology in memory. PyTorch Geometric's loader over a HeteroData; outgrow's over that HeteroData, and over the dataset's folder
disk    features on disk, a cold page cache and a memory cgroup. Outgrow has --memory in all. PyTorch Geometric reads rows of a np.memmap, advised that reads are
        random, and has --memory on top of what it held before the first batch. Without a cgroup that enforces its limit this part is left out

Prints seconds and CPU seconds an epoch without the first: medians of --rounds alternating runs, smallest and largest. Also nodes and edges of an epoch, which are
about the same, and peak memory. Needs PyTorch, PyTorch Geometric and pyg-lib or torch-sparse.
"""
import argparse
import json
import mmap
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import bound
from peers import machine, size
from suite import drop_caches, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS, BATCH = 20_000, 1000
ROWS = {"theirs": "PyTorch Geometric's NeighborLoader", "data": "outgrow.NeighborLoader of the HeteroData", "folder": "outgrow.NeighborLoader of the dataset"}
PARTS = {"memory": ("theirs", "data", "folder"), "disk": ("theirs", "folder")}


# ---- one loader, in a process of its own: JSON on standard output ----

def data_of(folder, mapped):
    """A HeteroData of the dataset's arrays; mapped: its features apart, as {type: array}."""
    import numpy as np
    import torch
    from torch_geometric.data import HeteroData
    about, data, rows = json.loads((folder / "meta.json").read_text()), HeteroData(), {}
    for t, of in enumerate(about["node_types"]):
        x = np.load(folder / f"features_{t}.npy", mmap_mode="r" if mapped else None)
        data[of["name"]].num_nodes = len(x)
        if mapped:
            x._mmap.madvise(mmap.MADV_RANDOM)
            rows[of["name"]] = x
        else:
            data[of["name"]].x = torch.from_numpy(x)
    for r, of in enumerate(about["relations"]):
        indptr, indices = (torch.from_numpy(np.load(folder / f"rel{r}_{name}.npy").astype(np.int64)) for name in ("indptr", "indices"))
        destinations = torch.arange(len(indptr) - 1).repeat_interleave(indptr.diff())
        data[of["source"], of["name"], of["destination"]].edge_index = torch.stack([indices, destinations])
    return data, rows


def theirs(o, how):
    import torch
    from torch_geometric.loader import NeighborLoader
    data, rows = data_of(o.dataset, o.disk)

    def fetch(batch):
        for name, x in rows.items():
            batch[name].x = torch.from_numpy(x[batch[name].n_id.numpy()])
        return batch
    return NeighborLoader(data, transform=fetch, **how)


def ours(o, how):
    import outgrow
    return outgrow.NeighborLoader(data_of(o.dataset, False)[0] if o.worker == "data" else o.dataset, memory=o.memory if o.disk else "8G", **how)


def work(o):
    import torch
    torch.manual_seed(1)
    how = {"num_neighbors": [10, 10], "input_nodes": ("paper", torch.randperm(o.papers)[:SEEDS]), "batch_size": BATCH, "shuffle": True}
    loader = theirs(o, how) if o.worker == "theirs" else ours(o, how)
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    if o.enter:  # a cgroup that counts what is taken from here on
        bound.Group(o.enter).limit(o.memory)
        bound.Group(o.enter).enter()
    seconds, cpu = [], []
    for _ in range(o.epochs):
        began, cpu_began, nodes, edges = time.perf_counter(), time.process_time(), 0, 0
        for batch in loader:
            nodes, edges = nodes + batch.num_nodes, edges + batch.num_edges
            assert batch["paper"].x.shape[1] == 128
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - cpu_began)
    print(json.dumps({"seconds": seconds, "cpu": cpu, "nodes": nodes, "edges": edges, "baseline": baseline, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10}))


# ---- all of them ----

def once(args, name, disk, group, prefix):
    words = [sys.executable, __file__, "--worker", name, "--dataset", args.dataset, "--papers", args.papers, "--memory", args.memory, "--epochs", args.epochs]
    words += (["--disk"] if disk else []) + (["--enter", group] if group else [])
    done = subprocess.run([*prefix, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        print(f"{ROWS[name]}: ended with {done.returncode}: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def run(args, part, name, where):
    if part == "memory":
        return once(args, name, False, None, [])
    drop_caches()
    with bound.group(where) as group:
        if name == "theirs":
            return once(args, name, True, group.folder, [])
        group.limit(args.memory + (320 << 20))  # PyTorch, before it loads anything
        return once(args, name, True, None, group.prefix())


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def measure(args, part):
    where = bound.find() if part == "disk" else None
    if where and where.reason:
        return print(f"disk: left out: {where.reason}", file=sys.stderr)
    runs = {name: [] for name in PARTS[part]}
    for _ in range(args.rounds):
        for name in runs:
            runs[name].append(run(args, part, name, where))
    rows = []
    for name, results in runs.items():
        results = [r for r in results if r]
        if results:
            epochs, cpu = ([statistics.mean(r[of][1:] or r[of]) for r in results] for of in ("seconds", "cpu"))
            rows.append([ROWS[name], spread(epochs), spread(cpu), spread([r["seconds"][0] for r in results]), results[0]["nodes"], results[0]["edges"],
                         f"{max(r['peak'] for r in results) >> 20} MiB"])
    table(f"{part}: {args.papers:,} papers, {args.papers // 2:,} authors" + (f", --memory {args.memory >> 20}M" if part == "disk" else ""),
          ["", "seconds an epoch", "CPU seconds", "the first", "nodes an epoch", "edges an epoch", "peak"], rows)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(ROOT / "build/release/outgrow"))
    p.add_argument("--papers", type=int, default=1_000_000)
    p.add_argument("--memory", type=size, default=size("256M"), help="of disk")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--parts", default="memory,disk")
    p.add_argument("--scratch", help="where the graph is made, and removed")
    for hidden in "--worker", "--enter":
        p.add_argument(hidden, help=argparse.SUPPRESS)
    p.add_argument("--dataset", type=pathlib.Path, help=argparse.SUPPRESS)
    p.add_argument("--disk", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.worker:
        warnings.simplefilter("ignore")
        return work(args)
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        os.environ["OUTGROW_CACHE"] = f"{scratch}/cache"
        args.dataset = pathlib.Path(scratch) / "graph"
        subprocess.run([args.outgrow, "generate", args.dataset, "--types", f"paper:{args.papers}:128,author:{args.papers // 2}:64",
                        "--relations", "paper:cites:paper:6,author:writes:paper:3,paper:written:author:6", "--quiet"], check=True, stdout=subprocess.DEVNULL)
        for part in args.parts.split(","):
            measure(args, part)
    print(f"\n{machine()}")


if __name__ == "__main__":
    main()
