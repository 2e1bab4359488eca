#!/usr/bin/env python3
"""Measured seconds of executors: one that samples and one that trains (1:1), against two that do both (2:0). They run on the same CPU cores, and are compared
with the event model's prediction of each before the run. Runs alternate, so that whatever else the machine does affects all of them. An epoch's seconds are the
median of all epochs but the first of each run.

    executors.py OUTGROW GRAPH [--rounds 3] [--splits 1:1,2:0] [TRAIN OPTIONS ...]

for instance, on two cores:

    taskset -c 0,1 bench/executors.py build/release/outgrow graph --fanout 15,10,5 --hidden 256
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile


def run(outgrow, graph, split, words, folder):
    path = pathlib.Path(folder, "run")
    threads = str(sum(map(int, split.split(":"))))
    subprocess.run([outgrow, "train", graph, "--run", path, "--executors", split, "--threads", threads, "--accumulate", "2", "--staleness", "1",
                    "--eval-every", "0", "--epochs", "4", "--policy", "degree", "--quiet", *words], check=True, stdout=subprocess.DEVNULL)
    summary = json.loads((path / "summary.json").read_text())
    saved = (path / "checkpoint.safetensors").read_bytes()
    subprocess.run(["rm", "-r", path], check=True)
    return [e["seconds"] for e in summary["epochs"][1:]], summary["plan"]["executors"], saved


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outgrow")
    parser.add_argument("graph")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--splits", default="1:1,2:0")
    known, words = parser.parse_known_args()
    splits = known.splits.split(",")
    seconds, told, saved = {s: [] for s in splits}, {s: [] for s in splits}, set()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(known.rounds):
            for split in splits:
                epochs, plan, checkpoint = run(known.outgrow, known.graph, split, words, folder)
                seconds[split] += epochs
                told[split].append(plan)
                saved.add(checkpoint)
    assert len(saved) == 1, "splits end with other bytes"
    first = statistics.median(seconds[splits[0]])
    print("split   seconds an epoch (least .. most)   of the first's   told   sample, train ms a mini-batch")
    for split in splits:
        all_of, plan = seconds[split], told[split]
        middle = statistics.median(all_of)
        train = [p["train_seconds_each"] or p["standby_seconds_each"] for p in plan]
        print(f"{split:>5} {middle:11.3f} ({min(all_of):.3f} .. {max(all_of):.3f}) {middle / first:17.2f} {statistics.median(p['seconds'] for p in plan):13.3f}"
              f" {1e3 * statistics.median(p['sample_seconds_each'] for p in plan):9.1f}, {1e3 * statistics.median(train):.1f}")


main()
