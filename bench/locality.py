#!/usr/bin/env python3
"""What batches of neighbouring seeds, and batches that share random numbers, save and cost. Rows a batch, misses of Belady's policy with 10 % of the rows in
memory, and accuracy of GraphSAGE at the best validation epoch, mean and standard deviation over seeds.

    bench/locality.py OUTGROW DATA FOLDER [--graphs a,b] [--seeds 5] [--epochs 10] [--ways labor]       FOLDER: 1 GB, removed afterwards

DATA has a folder a graph, as `outgrow import npy` takes them. Node types, edge types and weights are left out, and edges are symmetrised. Differences are to
the first way with the same sampler.
"""
import argparse
import json
import pathlib
import shutil
import subprocess

MODEL = ["--hidden", "64", "--fanout", "5,5", "--lr", "0.01", "--threads", "1"]
BATCH = {"debian-packages": "400", "tolokers": "100", "amazon-computers": "100", "coauthor-cs": "100"}
IMPORT = {"amazon-computers": ["--row-normalize"], "coauthor-cs": ["--row-normalize"]}  # counts of words
UNIFORM = [("single seeds", []), *((f"chunks of {c}, {o}", ["--locality", c, "--order", o]) for c in ("10", "50") for o in ("file", "minhash"))]
LABOR = [("labor", []), *((f"labor, K = {k}", ["--batch-dependency", k]) for k in ("4", "16", "64")), ("labor, one number for all hops", ["--layer-dependency"])]
WAYS = {"chunks": [(name, [*options]) for name, options in UNIFORM], "labor": [(name, ["--sampler", "labor", *options]) for name, options in LABOR]}


def call(outgrow, *args):
    return json.loads(subprocess.run([outgrow, *map(str, args), "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout)


def make(outgrow, source, folder):
    """A graph with nodes of one type, and edges without weights."""
    plain = folder / "source"
    plain.mkdir()
    for path in source.iterdir():
        if path.name.startswith(("edges.", "feat", "label", "train.", "valid.", "test.")):
            (plain / path.name).symlink_to(path.resolve())
    graph = folder / source.name
    subprocess.run([outgrow, "import", "npy", plain, graph, "--symmetrize", *IMPORT.get(source.name, []), "--quiet"], check=True)
    shutil.rmtree(plain)
    return graph


def measure(outgrow, graph, options, given):
    batches = [*MODEL, "--batch", BATCH.get(graph.name, "400"), *options]
    told = subprocess.run([outgrow, "simulate", graph, *batches, "--policy", "belady", "--cache", "10%", "--epochs", "4", "--quiet", "--json", "-"], check=True,
                          stdout=subprocess.PIPE, text=True)
    counted = json.loads(told.stdout)["results"][0]
    run = graph.parent / "runs"
    summary = call(outgrow, "train", graph, *batches, "--epochs", given.epochs, "--runs", given.seeds, "--run", run, "--quiet")
    shutil.rmtree(run)
    return counted["rows"], counted["misses"], summary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outgrow")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--graphs", default="debian-packages,amazon-computers,tolokers")
    parser.add_argument("--ways", default="chunks,labor")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=10)
    given = parser.parse_args()
    folder = given.folder / "locality-bench"
    folder.mkdir()
    try:
        for name in given.graphs.split(","):
            graph = make(given.outgrow, given.data / name, folder)
            for way in given.ways.split(","):
                base = None
                for title, options in WAYS[way]:
                    rows, misses, summary = measure(given.outgrow, graph, options, given)
                    base = base or (rows, misses)
                    acc = summary["test_acc"]
                    print(f"| {name} | {title} | {rows:,} | {100 * (rows / base[0] - 1):+.0f} % | {misses:,} | {100 * (misses / base[1] - 1):+.0f} % | "
                          f"{100 * acc['mean']:.2f} ({100 * acc['deviation']:.2f}) |", flush=True)
            shutil.rmtree(graph)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
