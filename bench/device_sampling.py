#!/usr/bin/env python3
"""A device's samples against the CPU's, byte for byte, on a graph larger than those of tests. Nothing is trained.

    bench/device_sampling.py [--outgrow PATH] [--scratch DIR] [--device virtual] [--nodes 8000000] [--degree 16] [--batches 40] [--fanout 10,10,10]

The CPU and --device both sample an R-MAT graph, each into a trace. As many nodes are for training as make --batches of 1000 seeds. Every array of the one is
compared with the other's. Exit 1 if any differs. The virtual device's kernels run on the CPU, its memory shut in between: its time says nothing about a device.
"""
import argparse
import os
import pathlib
import shutil
import sys
import time

from suite import ROOT, Suite, table

SEEDS = 1000
CHUNK = 1 << 24


def sample(b, graph, out, args, *options):
    begun = time.monotonic()
    b.run("sample", graph, "--out", out, "--fanout", args.fanout, "--batch", SEEDS, "--eval-every", 0, "--quiet", *options)
    return time.monotonic() - begun


def same(one, other):
    """Bytes that both have, or None where they differ."""
    if one.stat().st_size != other.stat().st_size:
        return None
    with open(one, "rb") as a, open(other, "rb") as c:
        while True:
            x, y = a.read(CHUNK), c.read(CHUNK)
            if x != y:
                return None
            if not x:
                return one.stat().st_size


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=ROOT / "build/release/outgrow")
    p.add_argument("--scratch")
    p.add_argument("--device", default="virtual")
    p.add_argument("--nodes", type=int, default=8_000_000)
    p.add_argument("--degree", type=int, default=16)
    p.add_argument("--batches", type=int, default=40)
    p.add_argument("--fanout", default="10,10,10")
    args = p.parse_args()
    args.reader = None
    args.data = "."
    b = Suite(args)
    os.environ.setdefault("XDG_CACHE_HOME", str(b.scratch))
    try:
        graph = b.dataset("graph", "--model", "rmat", "--nodes", args.nodes, "--degree", args.degree, "--dim", 4, "--dtype", "f16", "--train-fraction",
                          SEEDS * args.batches / args.nodes)
        seconds = [sample(b, graph, b.scratch / "host", args),
                   sample(b, graph, b.scratch / "there", args, "--device", args.device, "--sample-on", "device")]
        arrays = sorted(pathlib.Path(b.scratch / "host").glob("*.npy"))
        found = {a.name: same(a, b.scratch / "there" / a.name) for a in arrays}
    finally:
        shutil.rmtree(b.scratch, ignore_errors=True)
    differ = [name for name, n in found.items() if n is None]
    table(f"{args.nodes:,} nodes, {args.nodes * args.degree:,} edges, {args.batches} batches of {SEEDS} seeds, fanout {args.fanout}",
          ["who draws", "seconds", "arrays that are the same", "bytes"],
          [["processors", f"{seconds[0]:.1f}", "-", "-"],
           [args.device, f"{seconds[1]:.1f}", f"{len(found) - len(differ)} of {len(found)}", f"{sum(n or 0 for n in found.values()):,}"]])
    if differ or not found:
        sys.exit(f"differ: {', '.join(differ) or 'nothing to compare'}")


if __name__ == "__main__":
    main()
