#!/usr/bin/env python3
"""Import of edge lists of 10 M and 100 M edges, and 1 G with --full. Prints time an edge and bytes written.

    bench/import.py [--outgrow PATH] [--scratch DIR] [--edges N,...] [--full] [--gz]

Text as SNAP publishes it, two ids of eight digits a line. Ids are sparse, sources and destinations skewed, 16 edges a node. Each is imported with --memory
1G in a memory cgroup of 1.1 GB where one can be made, with a cold page cache, and removed right after. 1 G edges take 18 GB of text and 24 GB while they are
sorted.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

from suite import cgroup, drop_caches, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 1100 * 1000 * 1000
LOWEST = 10**7  # ids have eight digits: lines are of equal length, and NumPy can write them fast


def digits(out, ids):
    for i in range(7, -1, -1):
        ids, digit = np.divmod(ids, 10)
        out[:, i] = digit + ord("0")


def write_text(path, edges):
    rng = np.random.default_rng(edges)
    nodes = edges // 16
    step = (9 * 10**7) // nodes
    with open(path, "wb") as f:
        f.write(b"# generated\n# FromNodeId\tToNodeId\n")
        for first in range(0, edges, 1 << 20):
            n = min(1 << 20, edges - first)
            lines = np.empty((n, 18), np.uint8)
            lines[:, 8] = ord("\t")
            lines[:, 17] = ord("\n")
            for at in 0, 9:
                node = (rng.random(n) ** 1.5 * nodes).astype(np.uint32)
                digits(lines[:, at:at + 8], node * np.uint32(step) + np.uint32(LOWEST))
            f.write(lines.tobytes())
        f.flush()
        os.fsync(f.fileno())


def bytes_written(prefix, command):
    """Seconds, CPU seconds, bytes given to write(2)."""
    read = ("import os,subprocess,sys; subprocess.run(sys.argv[1:],check=True); print(open('/proc/self/io').read());"
            "t=os.times(); print(f'cpu: {t[2]+t[3]}')")
    start = time.time()
    r = subprocess.run([*prefix, sys.executable, "-c", read, *command], capture_output=True, text=True)
    if r.returncode:
        sys.exit(r.stderr)
    io = dict(line.split(": ") for line in r.stdout.split("\n") if ": " in line and "{" not in line)
    return time.time() - start, float(io["cpu"]), int(io["wchar"])


def measure(args, scratch, edges):
    text = scratch / "edges.txt"
    out = scratch / "out"
    write_text(text, edges)
    if args.gz:
        subprocess.run(["gzip", "-1", text], check=True)
        text = scratch / "edges.txt.gz"
    size = text.stat().st_size
    drop_caches()
    with cgroup(LIMIT) as prefix:
        seconds, cpu, written = bytes_written(
            prefix, [args.outgrow, "import", "edgelist", str(text), str(out), "--memory", "1G", "--quiet", "--json"])
    meta = json.loads((out / "meta.json").read_text())
    result = sum(f.stat().st_size for f in out.iterdir())
    text.unlink()
    shutil.rmtree(out)
    assert meta["num_edges"] == edges
    print(f"{edges:.0e} edges: {seconds:.0f} s", flush=True)
    return [f"{edges:.0e}", size / 1e9, seconds, seconds / edges * 1e9, cpu / edges * 1e9, result / 1e9, written / result]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(ROOT / "build/release/outgrow"))
    p.add_argument("--scratch")
    p.add_argument("--edges")
    p.add_argument("--full", action="store_true")
    p.add_argument("--gz", action="store_true")
    args = p.parse_args()
    sizes = [int(float(e)) for e in args.edges.split(",")] if args.edges else [10**7, 10**8] + [10**9] * args.full
    with tempfile.TemporaryDirectory(prefix="outgrow-bench-", dir=args.scratch) as scratch:
        rows = [measure(args, pathlib.Path(scratch), e) for e in sizes]
    table("import edgelist, --memory 1G in a cgroup of 1.1 GB",
          ["edges", "GB of text", "seconds", "ns an edge", "processor ns", "GB of result", "written / result"], rows)


main()
