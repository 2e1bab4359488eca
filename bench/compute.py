#!/usr/bin/env python3
"""--compute bf16 compared with f32: products, epochs and accuracy.

    bench/compute.py OUTGROW FOLDER [--parts gemm,epochs,accuracy] [--nodes 100000] [--rounds 3] [--dims 128,1024] [--models sage,gcn,gat,gin]
                     [--data DIR] [--seeds 5]                        a GB in FOLDER, removed afterwards

    gemm      GFLOP/s of a model's products. oneDNN's best in f32, then ours in f32 and bf16. The best of the rounds
    epochs    seconds of an epoch with all rows in memory. R-MAT, 12 edges a node, fanout 10,10, batches of 1000. Medians, ranges,
              and medians of the ratios of each round: of these seconds, and of the CPU time of the whole run
    accuracy  test accuracy on graphs for `outgrow import npy` in --data, mean and standard deviation over the seeds
"""
import argparse
import json
import pathlib
import resource
import shutil
import statistics
import subprocess

COMPUTE = ("f32", "bf16")
GRAPHS = {  # options of import, options of training
    "cora": (["--row-normalize"], ["--fanout", "-1,-1", "--hidden", "64", "--batch", "140", "--epochs", "60", "--lr", "0.01", "--weight-decay", "5e-4"]),
    "amazon-computers": (["--symmetrize", "--row-normalize"], ["--fanout", "10,10", "--hidden", "256", "--batch", "256", "--epochs", "20", "--lr", "0.01"]),
    "github-social": (["--symmetrize"], ["--fanout", "5,5", "--hidden", "64", "--batch", "1000", "--epochs", "3"]),
    "tolokers": (["--symmetrize"], ["--fanout", "5,5", "--hidden", "64", "--batch", "512", "--epochs", "8"]),
}


def call(outgrow, *words):
    return subprocess.run([str(outgrow), *map(str, words)], check=True, capture_output=True, text=True).stdout


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def part_gemm(given, folder):
    del folder
    for dim in given.dims:
        found = {c: {} for c in COMPUTE}
        for _ in range(given.rounds):
            for c in COMPUTE:
                for row in json.loads(call(given.outgrow, "bench", "gemm", "--dim", dim, "--hidden", 256, "--compute", c, "--json"))["rows"]:
                    best = found[c].get(row["shape"], (0, 0))
                    found[c][row["shape"]] = max(best[0], row["ours_gflops"]), max(best[1], row["onednn_best_gflops"])
        for shape, (f32, best) in found["f32"].items():
            bf16 = found["bf16"][shape][0]
            print(f"| {shape} | {best:.0f} | {f32:.0f} | {bf16:.0f} | {bf16 / f32:.2f} |", flush=True)


def part_epochs(given, folder):
    for dim in given.dims:
        graph = folder / f"rmat{dim}"
        call(given.outgrow, "generate", graph, "--model", "rmat", "--nodes", given.nodes, "--degree", 12, "--dim", dim, "--classes", 16, "--train-fraction", "0.1")
        for model in given.models:
            seconds, cpu = {c: [] for c in COMPUTE}, {c: [] for c in COMPUTE}
            for _ in range(given.rounds):
                for c in COMPUTE:
                    run, before = folder / "run", cpu_seconds()
                    summary = json.loads(call(given.outgrow, "train", graph, "--model", model, "--hidden", 256, "--fanout", "10,10", "--epochs", 2, "--eval-every", 0,
                                              "--preset", "memory", "--compute", c, "--checkpoint-every", 0, "--run", run, "--json"))
                    seconds[c].append(summary["epochs"][-1]["seconds"])
                    cpu[c].append(cpu_seconds() - before)
                    shutil.rmtree(run)
            ratios = [statistics.median(b / a for a, b in zip(of["f32"], of["bf16"])) for of in (seconds, cpu)]
            cells = [f"{statistics.median(s):.2f} ({min(s):.2f}–{max(s):.2f})" for s in seconds.values()]
            print(f"| {model} | {dim} | {' | '.join(cells)} | {ratios[0]:.2f} | {ratios[1]:.2f} |", flush=True)
        shutil.rmtree(graph)


def part_accuracy(given, folder):
    for name, (imports, options) in GRAPHS.items():
        if not given.data or not (given.data / name).exists():
            continue
        graph = folder / name
        call(given.outgrow, "import", "npy", given.data / name, graph, *imports)
        cells = []
        for c in COMPUTE:
            found = []
            for seed in range(1, given.seeds + 1):
                run = folder / "run"
                found.append(100 * json.loads(call(given.outgrow, "train", graph, *options, "--compute", c, "--seed", seed, "--run", run, "--json"))["test_acc"])
                shutil.rmtree(run)
            cells.append(f"{statistics.mean(found):.2f} ± {statistics.stdev(found):.2f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
        shutil.rmtree(graph)


PARTS = {"gemm": part_gemm, "epochs": part_epochs, "accuracy": part_accuracy}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outgrow", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--parts", type=lambda s: s.split(","), default=list(PARTS))
    parser.add_argument("--nodes", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dims", type=lambda s: [int(d) for d in s.split(",")], default=[128, 1024])
    parser.add_argument("--models", type=lambda s: s.split(","), default=["sage", "gcn", "gat", "gin"])
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    folder = given.folder / "compute-bench"
    folder.mkdir()
    try:
        for part in given.parts:
            PARTS[part](given, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
