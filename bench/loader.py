#!/usr/bin/env python3
"""A loader alone against `outgrow bench epoch`, and what it holds over many epochs.

    bench/loader.py --dataset DIR [--outgrow PATH] [--parts times,memory] [--policies auto,degree,belady] [--turns 3] [--epochs 4] [--hold 0]
                    [--memory 700M] [--fanout 10,10,10] [--long 20] [--scratch DIR]

times   Seconds an epoch, preparation included, of a loader that releases its batches at once. Also of bench epoch with the same options, and of
        bench epoch in equal memory, which is --memory without the batches handed over. The first copies each batch into an arena of the
        caller's, the others look at rows where they are. They alternate, the one that goes first changing from round to round, so that what
        else the machine does affects all alike; a ratio is that of one round. Printed: medians, with the smallest and largest ratio.
memory  Memory of a loader of --long epochs. It is the kernel's count of its process, less the count before the loader was opened. Fails where
        the peak is beyond --memory. What the second half of the epochs has more than the first is to be judged. Memory that was planned is
        touched only when a batch is larger than all before it.

bench_loader is built with -D OUTGROW_BENCH=ON, next to outgrow in the folder bench.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIB = 1 << 20


def run(*args):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def options_of(args, policy, **others):
    return {"policy": policy, "memory": args.memory, "epochs": args.epochs, "scratch": args.scratch, "fanout": args.fanout} | others


def run_loader(args, policy, **others):
    words = [text for pair in options_of(args, policy, **others).items() for text in pair]
    return run(args.outgrow.parent / "bench/bench_loader", args.dataset, "hold", args.hold, *words)


def run_epochs(args, policy, **others):
    words = [text for name, value in options_of(args, policy, **others).items() for text in (f"--{name}", value)]
    return run(args.outgrow, "bench", "epoch", args.dataset, *words, "--json", "--quiet")


# ---- times ----

def average(result):
    """Seconds an epoch, with a share of what precedes the first. Some execution plans sample and plan all epochs there."""
    before = result["open_seconds"] if "open_seconds" in result else result["prepare"]["seconds"]
    return (before + sum(epoch["seconds"] for epoch in result["epochs"])) / len(result["epochs"])


def missed(result):
    """Rows an epoch that are read, into the cache or for a batch."""
    epochs = result.get("metrics", result)["epochs"]
    return sum(epoch["misses"] + epoch["prefill"] for epoch in epochs) / len(epochs)


def room_of(args, policy):
    memory = run_loader(args, policy, epochs=1)["plan"]["memory"]
    return memory["limit"] - memory["batches handed over"]


def turn(args, policy, room, first):
    ways = [("loader", lambda: run_loader(args, policy)),
            ("epoch", lambda: run_epochs(args, policy)),
            ("room", lambda: run_epochs(args, policy, memory=room))]
    return {name: way() for name, way in ways[first % 3:] + ways[:first % 3]}


def told_ratio(turns, way):
    ratios = [average(t["loader"]) / average(t[way]) for t in turns]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def compare_times(args):
    print("| policy | loader, s | bench epoch, s | ratio | in the same room, s | ratio | thousand rows read an epoch, by each |\n|---|---|---|---|---|---|---|")
    for policy in args.policies:
        room = room_of(args, policy)
        turns = [turn(args, policy, room, i) for i in range(args.turns)]
        seconds = {way: f"{statistics.median(average(t[way]) for t in turns):.2f}" for way in turns[0]}
        rows = ", ".join(f"{missed(turns[0][way]) / 1000:.0f}" for way in ("loader", "epoch", "room"))
        print(f"| {policy} | {seconds['loader']} | {seconds['epoch']} | {told_ratio(turns, 'epoch')} | {seconds['room']} | {told_ratio(turns, 'room')} | {rows} |",
              flush=True)


# ---- memory ----

def watch_memory(args):
    """Whether it was as promised."""
    kept = True
    print("| policy | --memory, MiB | peak, MiB | most after an epoch of the first half, MiB | of the second, MiB |\n|---|---|---|---|---|")
    for policy in args.policies:
        result = run_loader(args, policy, epochs=args.long)
        held = [epoch["rss_bytes"] - result["baseline_bytes"] for epoch in result["epochs"]]
        first, second = max(held[:args.long // 2]), max(held[args.long // 2:])
        limit = result["plan"]["memory"]["limit"]
        kept &= result["peak_bytes"] <= limit
        print(f"| {policy} | {limit / MIB:.0f} | {result['peak_bytes'] / MIB:.1f} | {first / MIB:.1f} | {second / MIB:.1f} |", flush=True)
    return kept


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", type=lambda path: pathlib.Path(path).resolve(), default=ROOT / "build/release/outgrow")
    p.add_argument("--dataset", required=True)
    p.add_argument("--parts", default="times,memory")
    p.add_argument("--policies", type=lambda text: text.split(","), default=["auto", "degree", "belady"])
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--long", type=int, default=20)
    p.add_argument("--hold", type=int, default=0, help="batches that there is room for beside the one that is taken")
    p.add_argument("--fanout", default="10,10,10")
    p.add_argument("--memory", default="700M")
    p.add_argument("--scratch", default=os.environ.get("TMPDIR", "/tmp"))
    args = p.parse_args()
    if "times" in args.parts.split(","):
        compare_times(args)
    if "memory" in args.parts.split(",") and not watch_memory(args):
        sys.exit("more memory than promised")


if __name__ == "__main__":
    main()
