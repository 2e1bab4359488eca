#!/usr/bin/env python3
"""Learnable rows that exceed memory: epoch seconds, accuracy and bytes, for shares of the rows in memory.

    bench/learnt.py [--outgrow PATH] [--scratch DIR] [--items 600000] [--width 64] [--hidden 128] [--runs 2] [--limit BYTES]

Papers of a generated graph have classes, and its items learnable rows with sparse Adam. Runs of all shares alternate. Seconds are the median of all epochs
and their range; bytes are those of the last epoch. With --limit each run stays in a memory cgroup of so many bytes, page cache included.
Checkpoints of all runs are compared.
"""
import argparse
import contextlib
import hashlib
import pathlib
import shutil
import statistics

from suite import Suite, cgroup, drop_caches, table

SHARES = 100, 50, 25, 10


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(pathlib.Path(__file__).resolve().parents[1] / "build/release/outgrow"))
    p.add_argument("--scratch")
    p.add_argument("--items", type=int, default=600_000)
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--runs", type=int, default=2)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--shares", type=lambda text: tuple(map(int, text.split(","))), default=SHARES)
    p.add_argument("--limit", type=int)
    args = p.parse_args()
    args.reader = args.data = ""
    s = Suite(args)
    made, files, rows = {share: [] for share in args.shares}, set(), []
    try:
        graph = s.dataset("graph", "--types", f"paper:{args.items // 10}:8,item:{args.items}", "--classes", 8, "--train-fraction", 0.3,
                          "--relations", "paper:cites:paper:4,item:bought_by:paper:8,paper:buys:item:4")
        options = ["--embedding", args.width, "--embedding-optimizer", "sparse-adam", "--fanout", "10,10", "--hidden", args.hidden, "--batch", 250,
                   "--epochs", args.epochs, "--eval-every", 0, "--checkpoint-every", 9999, "--threads", 2, "--memory", "2G", "--scratch", s.scratch]
        for share in args.shares * args.runs:
            drop_caches()
            policy = ["--policy", "belady", "--cache", f"{share}%"] if share < 100 else []
            with cgroup(args.limit) if args.limit else contextlib.nullcontext([]) as prefix:
                run = s.train(graph, *map(str, options), *policy, prefix=prefix)
            files.add(hashlib.sha256(run.pop("_bytes")).hexdigest())
            made[share].append(run)
    finally:
        shutil.rmtree(s.scratch)
    for share, runs in made.items():
        seconds = [e["seconds"] for run in runs for e in run["epochs"]]
        last = runs[-1]["epochs"][-1]
        rows.append([f"{share} %", f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})", last["train_acc"],
                     f"{last.get('feature_bytes_read', 0) / 1e6:.0f}", f"{last.get('row_bytes_written', 0) / 1e6:.0f}", f"{runs[-1]['peak_rss_bytes'] >> 20}"])
    table(f"{args.items} learnable rows of {args.width * 12} bytes; {len(files)} different checkpoint(s)",
          ["rows in memory", "seconds per epoch", "accuracy", "MB read", "MB written", "peak MiB"], rows)


if __name__ == "__main__":
    main()
