#!/usr/bin/env python3
"""Seconds an epoch of a loader alone beside `outgrow bench epoch` with the same options, in turns.

    bench/loader.py --dataset DIR [--outgrow PATH] [--policies degree,belady,auto] [--turns 5] [--epochs 4] [--memory 700M] [--cache SIZE]
                    [--scratch DIR]

Each turn runs both, the one that goes first changing from turn to turn, so that what else the machine does meets both alike; its ratio is
that of (preparation + all epochs) / epochs. Printed: the median ratio of the turns with the least and the largest, what each did, and the
peak of the loader's process beyond its baseline. bench_loader is built with -D OUTGROW_BENCH=ON, beside outgrow in the folder bench.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*args):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def average(result):
    """Seconds an epoch, with what it takes before the first: some ways sample and plan all of them there."""
    before = result["open_seconds"] if "open_seconds" in result else result["prepare"]["seconds"]
    return (before + sum(epoch["seconds"] for epoch in result["epochs"])) / len(result["epochs"])


def turn(args, policy, loader_first):
    options = {"policy": policy, "memory": args.memory, "epochs": args.epochs, "scratch": args.scratch, "fanout": args.fanout} | args.cache
    pairs = [text for name, value in options.items() for text in (name, value)]
    flags = [text for name, value in options.items() for text in (f"--{name}", value)]
    ways = {"loader": lambda: run(args.outgrow.parent / "bench/bench_loader", args.dataset, *pairs),
            "epoch": lambda: run(args.outgrow, "bench", "epoch", args.dataset, *flags, "--json", "--quiet")}
    return {name: ways[name]() for name in sorted(ways, reverse=loader_first)}


def compare(args, policy):
    turns = [turn(args, policy, bool(i % 2)) for i in range(args.turns)]
    ratios = [average(t["loader"]) / average(t["epoch"]) for t in turns]
    seconds = {way: statistics.median(average(t[way]) for t in turns) for way in ("loader", "epoch")}
    peak = max(t["loader"]["peak_bytes"] for t in turns)
    print(f"| {policy} | {seconds['loader']:.2f} | {seconds['epoch']:.2f} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) "
          f"| {peak / 2**20:.0f} |", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", type=lambda path: pathlib.Path(path).resolve(), default=ROOT / "build/release/outgrow")
    p.add_argument("--dataset", required=True)
    p.add_argument("--policies", default="degree,belady,auto")
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--fanout", default="10,10,10")
    p.add_argument("--memory", default="700M")
    p.add_argument("--cache", type=lambda size: {"cache": size}, default={}, help="the same for both: what is left is copying")
    p.add_argument("--scratch", default=os.environ.get("TMPDIR", "/tmp"))
    args = p.parse_args()
    print("| policy | loader, s | bench epoch, s | ratio (least to largest) | loader's peak, MiB |\n|---|---|---|---|---|")
    for policy in args.policies.split(","):
        compare(args, policy)


if __name__ == "__main__":
    main()
