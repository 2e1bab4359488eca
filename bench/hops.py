#!/usr/bin/env python3
"""Propagated features with an MLP, and GraphSAGE, on real graphs, before and after Correct & Smooth.

    bench/hops.py OUTGROW FOLDER --data DIR [--graphs cora,amazon-computers,debian-packages,tolokers] [--seeds 5] [--hops 3]

DIR has graphs in the neutral npy layout. Each is imported into FOLDER, symmetrised, and removed afterwards. A row is the mean over the seeds, with the
standard deviation in brackets: the test metric of the epoch that is best in validation, in percent. Seconds are the median of an epoch's training, MB
what an epoch reads without a cache. `propagate` runs once. `+ smooth` smooths the predictions of the same models; "gains" counts the seeds with a better
validation accuracy.
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


def smooth(command, folder, graph):
    """What smoothing the best model's predictions gives."""
    outgrow(command, "predict", graph, "--checkpoint", folder / "run/best.safetensors", "--probabilities", "--out", folder / "run/pred.npy", "--quiet")
    return json.loads(outgrow(command, "smooth", graph, folder / "run/pred.npy", "--out", folder / "run/smooth.npy", "--json", "--quiet"))


def train(command, folder, graph, *options, smooths=False):
    run = folder / "run"
    told = json.loads(outgrow(command, "train", graph, *options, "--run", run, "--json", "--quiet"))
    smoothed = smooth(command, folder, graph) if smooths else None
    shutil.rmtree(run)
    return told, smoothed


def mean(values):
    return f"{statistics.mean(values):.1f} ({statistics.stdev(values) if len(values) > 1 else 0:.1f})"


def measure(command, folder, graph, name, seeds, epochs, options):
    tests, seconds, metric, after = [], [], "", []
    for seed in range(1, seeds + 1):
        told, smoothed = train(command, folder, graph, *options, "--epochs", epochs, "--seed", seed, smooths=metric in ("", "acc"))
        metric = told["best_by"]
        tests.append(100 * told["test_metrics"][metric])
        seconds += [e["seconds"] for e in told["epochs"]]
        after += [smoothed] if smoothed and metric == "acc" else []
    read = train(command, folder, graph, *options, "--epochs", 1, "--policy", "none")[0]["epochs"][0]["bytes_read"]
    print(f"| {graph.name} | {name} | {metric} | {mean(tests)} | {statistics.median(seconds):.2f} | {read / 1e6:.0f} |", flush=True)
    if after:
        gains = sum(s["valid_acc"] > s["before"]["valid_acc"] for s in after)
        took = statistics.median(s["seconds"] for s in after)
        print(f"| {graph.name} | {name} + smooth | acc | {mean([100 * s['test_acc'] for s in after])} | {took:.2f}, once | gains {gains} of {seeds} |", flush=True)


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
                measure(given.outgrow, folder, graph, way, given.seeds, EPOCHS.get(name, 15), options)
            shutil.rmtree(graph)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
