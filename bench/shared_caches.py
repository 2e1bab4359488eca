#!/usr/bin/env python3
"""Shared caches of several workers against own caches, and against one cache as large as all. Workers that share own nodes and exchange rows. Prints Markdown
tables (Park et al. 2024, Figure 9, whose hit rates are of 2 workers).

    bench/shared_caches.py [--outgrow PATH] [--scratch DIR] [--scale X] [--only GRAPH,...] [--workers 2,4]

The graph rmat has 1 M nodes, with batches of 16 seeds by fanout 5,2,2,2. Its caches are of about 16, 33 and 66 batches, as the paper's are. The graph packages
is a real one, imported from $OUTGROW_DATA/debian-packages where that is set. It is small, so its caches are of fewer batches. Everything is counted by `outgrow
simulate --workers`; nothing is timed. The one cache sees the batches one after another, so that hybrid's window and the batches between its looks are times the
workers for it. Exit status 1 where shared caches of at least 8 batches each are more than a point apart from one of all their size.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
POLICIES = ["rr", "hybrid", "degree", "belady"]
WINDOW, UPDATE = 256, 4  # of hybrid, in batches of a worker: so many rounds
BATCHES = {"rmat": [16, 33, 66], "packages": [4, 8, 16]}  # that a worker's cache holds
RUN = ["--fanout", "5,2,2,2", "--batch", "16", "--epochs", "1"]


def outgrow(args, *words):
    done = subprocess.run([args.outgrow, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"outgrow {' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def make(args, name):
    """The dataset's folder, or None where there is none."""
    path = args.folder / name
    if name == "rmat":
        outgrow(args, "generate", path, "--model", "rmat", "--nodes", int(1_000_000 * args.scale), "--degree", 12, "--dim", 128,
                "--dtype", "u8", "--train-fraction", 0.016, "--quiet")
        return path
    data = pathlib.Path(os.environ.get("OUTGROW_DATA", ""), "debian-packages")
    if "OUTGROW_DATA" not in os.environ or not data.is_dir():
        return None
    outgrow(args, "import", "npy", data, path, "--symmetrize", "--drop-types", "--quiet")
    return path


def simulate(args, path, policies, caches, *options):
    words = ["--policy", ",".join(policies), "--cache", ",".join(caches), "--json", "-", *RUN, *options]
    return json.loads(outgrow(args, "simulate", path, *words))


def rates(told, part=None):
    """Hit rates in %, by policy and cache."""
    return {(r["policy"], r["cache"]): 100 * (r[part] if part else r)["hit_rate"] for r in told["results"]}


def cache_sizes(told, batches):
    """Bytes that hold so many batches' rows."""
    row_bytes, batch = told["row_bytes"], told["rows"] / told["batches"]
    return [round(n * batch) * row_bytes for n in batches]


def word(policy, workers):
    return f"hybrid:window={WINDOW * workers},update={UPDATE * workers}" if policy == "hybrid" else policy


def compare(args, path, sizes, workers):
    """Rates of own caches, shared ones and one of all their size, for each policy and size. Prints what goes from worker to worker."""
    caches, larger = [str(s) for s in sizes], [str(s * workers) for s in sizes]
    told = simulate(args, path, [word(p, 1) for p in POLICIES], caches, "--workers", workers)
    own, shared = rates(told), rates(told, "exchanged")
    one = rates(simulate(args, path, [word(p, workers) for p in POLICIES], larger))
    print(f"- {workers} workers: {100 * told['rows_exchanged'] / told['rows']:.1f} % of the rows come from another one, "
          f"{told['exchanged_bytes'] / told['batches'] / 1e3:.0f} KB a batch; the owner that is asked for most is asked for "
          f"{workers * max(told['rows_asked']) / told['rows']:.3f} times the mean")
    return {(p, i): (own[word(p, 1), c], shared[word(p, 1), c], one[word(p, workers), large])
            for p in POLICIES for i, (c, large) in enumerate(zip(caches, larger))}


def measure(args, name, path):
    """The largest difference in points between a shared cache and one of all their size. Caches of fewer than 8 batches do not count."""
    told, batches = simulate(args, path, ["none"], ["0%"]), BATCHES[name]
    print(f"\n**{name}: {told['num_nodes']:,} nodes, {told['batches']:,} batches of {told['rows'] / told['batches']:.0f} rows**\n")
    found = [compare(args, path, cache_sizes(told, batches), n) for n in args.workers]
    print("\n| | batches a cache holds |" + "".join(f" {n} workers: own | shared | one of {n} times the size |" for n in args.workers))
    print("|---|---|" + "---|---|---|" * len(args.workers))
    for policy in POLICIES:
        for i, n in enumerate(batches):
            print(f"| {policy} | {n} |" + "".join(f" {own:.2f} % | {shared:.2f} % | {one:.2f} % |" for own, shared, one in (f[policy, i] for f in found)))
    sys.stdout.flush()
    return max(abs(f[p, i][1] - f[p, i][2]) for f in found for p in POLICIES for i, n in enumerate(batches) if n >= 8)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--outgrow", default=ROOT / "build/release/outgrow")
    ap.add_argument("--scratch", default=None)
    ap.add_argument("--scale", type=float, default=1)
    ap.add_argument("--only", default="rmat,packages")
    ap.add_argument("--workers", type=lambda s: [int(n) for n in s.split(",")], default=[2, 4])
    args = ap.parse_args()
    args.folder = pathlib.Path(tempfile.mkdtemp(prefix="outgrow-shared-", dir=args.scratch))
    worst = 0
    try:
        for name in args.only.split(","):
            path = make(args, name)
            if path:
                worst = max(worst, measure(args, name, path))
                shutil.rmtree(path)
            else:
                print(f"\n**{name}** left out: OUTGROW_DATA is not set")
    finally:
        shutil.rmtree(args.folder, ignore_errors=True)
    sys.exit(worst > 1)


if __name__ == "__main__":
    main()
