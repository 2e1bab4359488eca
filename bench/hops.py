#!/usr/bin/env python3
"""Propagated features with an MLP, and GraphSAGE, on real graphs.

    bench/hops.py OUTGROW FOLDER --data DIR [--graphs cora,amazon-computers,debian-packages,tolokers] [--seeds 5] [--hops 3]

DIR has graphs in the neutral npy layout. Each is imported into FOLDER, symmetrised, and removed afterwards. A row is the mean over the seeds, with the
standard deviation in brackets: the test metric of the epoch that is best in validation, in percent. Seconds are the median of an epoch's training, MB
what an epoch reads without a cache. `propagate` runs once.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess

EPOCHS = {"cora": 50, "tolokers": 30}


def outgrow(command, *words):
    done = subprocess.run([command, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{words}: {done.stderr}")
    return done.stdout


def train(command, folder, graph, *options):
    run = folder / "run"
    told = json.loads(outgrow(command, "train", graph, *options, "--run", run, "--json", "--quiet"))
    shutil.rmtree(run)
    return told


def measure(command, folder, graph, name, seeds, epochs, options):
    tests, seconds, metric = [], [], ""
    for seed in range(1, seeds + 1):
        told = train(command, folder, graph, *options, "--epochs", epochs, "--seed", seed)
        metric = told["best_by"]
        tests.append(100 * told["test_metrics"][metric])
        seconds += [e["seconds"] for e in told["epochs"]]
    read = train(command, folder, graph, *options, "--epochs", 1, "--policy", "none")["epochs"][0]["bytes_read"]
    spread = statistics.stdev(tests) if seeds > 1 else 0
    return f"| {graph.name} | {name} | {metric} | {statistics.mean(tests):.1f} ({spread:.1f}) | {statistics.median(seconds):.2f} | {read / 1e6:.0f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outgrow")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--graphs", default="cora,amazon-computers,debian-packages,tolokers")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--hops", type=int, default=3)
    given = parser.parse_args()
    folder = given.folder / "hops-bench"
    folder.mkdir()
    try:
        for name in given.graphs.split(","):
            graph = folder / name
            outgrow(given.outgrow, "import", "npy", given.data / name, graph, "--symmetrize")
            made = json.loads(outgrow(given.outgrow, "propagate", graph, "--hops", given.hops, "--json"))
            print(f"| {name} | `propagate --hops {given.hops}` | | | {made['seconds']:.2f} | {made['bytes_read'] / 1e6:.0f} |", flush=True)
            ways = {f"`mlp --inputs 0-{given.hops}`": ["--model", "mlp", "--inputs", f"0-{given.hops}", "--layers", 2],
                    "`mlp`": ["--model", "mlp", "--layers", 2], "`sage`": ["--model", "sage", "--fanout", "10,10"]}
            for way, options in ways.items():
                print(measure(given.outgrow, folder, graph, way, given.seeds, EPOCHS.get(name, 15), options), flush=True)
            shutil.rmtree(graph)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
