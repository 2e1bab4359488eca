#!/usr/bin/env python3
"""What a cache chosen by visits misses in many batches, predicted from a few of them.

    bench/unlearnt.py [--outgrow PATH] [--scratch DIR] [--batches 400]

Predictions from the trace of a few batches, against misses of a cache chosen by all visits. The trace shows too few misses, since its own visits chose the
nodes. Without each batch's own visits it shows too many. Both predictions, and their harmonic and geometric means, are compared on two generated graphs and
caches of several sizes (src/plan/candidate_seconds.c takes the harmonic). NumPy counts, from what `outgrow sample` writes.
"""
import argparse
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np
from suite import table

GRAPHS = (("rmat", 1_000_000, 12), ("planted", 390_000, 10))
SHARES = (0.02, 0.1, 0.2)
PILOTS = (8, 16, 40)
SEEDS_A_BATCH = 500


def trace_of(args, scratch, graph, nodes, degree):
    data, out = scratch / graph, scratch / f"{graph}-trace"
    fraction = 0.02
    epochs = -(-args.batches * SEEDS_A_BATCH // int(nodes * fraction))
    run = lambda *a: subprocess.run([args.outgrow, *map(str, a), "--quiet"], check=True)
    run("generate", data, "--model", graph, "--nodes", nodes, "--degree", degree, "--dim", 4, "--classes", 4, "--train-fraction", fraction)
    run("sample", data, "--out", out, "--epochs", epochs, "--batch", SEEDS_A_BATCH, "--fanout", "10,10")
    ptr, ids = np.load(out / "ids_ptr.npy").astype(np.int64), np.load(out / "ids.npy").astype(np.int64)
    shutil.rmtree(data)
    shutil.rmtree(out)
    return ptr, ids


def visits_of(ptr, ids, nodes, first, end):
    return np.bincount(ids[ptr[first]:ptr[end]], minlength=nodes)


def misses(visits, slots):
    return visits.sum() - np.sort(visits)[::-1][:slots].sum()


def held_out(ptr, ids, visits, slots, first, end):
    """Each batch by the visits of the others; nodes with equally many share the slots that are left."""
    missed = 0.0
    for b in range(first, end):
        rows = ids[ptr[b]:ptr[b + 1]]
        others = visits.copy()
        others[rows] -= 1
        there = np.bincount(others)
        above = np.concatenate([np.cumsum(there[::-1])[::-1][1:], [0]])
        share = np.clip((slots - above) / np.maximum(there, 1), 0, 1)
        share[0] = 0
        missed += (1 - share[others[rows]]).sum()
    return missed


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(pathlib.Path(__file__).resolve().parents[1] / "build/release/outgrow"))
    p.add_argument("--scratch")
    p.add_argument("--batches", type=int, default=400)
    args = p.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="outgrow-bench-", dir=args.scratch))
    rows = []
    try:
        for graph, nodes, degree in GRAPHS:
            ptr, ids = trace_of(args, scratch, graph, nodes, degree)
            n = len(ptr) - 1
            for share in SHARES:
                slots = int(nodes * share)
                many = misses(visits_of(ptr, ids, nodes, 0, n), slots) / n
                for few in PILOTS:
                    visits = visits_of(ptr, ids, nodes, 0, few)
                    own = misses(visits, slots) / few / many
                    out = held_out(ptr, ids, visits, slots, 0, few) / few / many
                    harmonic = 2 * own * out / (own + out)
                    rows.append([graph, f"{share:.0%}", few, own, out, harmonic, (own * out) ** 0.5])
    finally:
        shutil.rmtree(scratch)
    table(f"Misses told from a few batches over those of {n}", ["graph", "cache", "batches", "their own", "held out", "harmonic mean", "geometric mean"], rows)


if __name__ == "__main__":
    main()
