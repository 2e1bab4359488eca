#!/usr/bin/env python3
"""Dense and sparse rows of the same features, on real graphs. Size of the file, time and CPU time of training, test accuracy.

    bench/sparse_rows.py [--outgrow PATH] [--data DIR] [--scratch DIR] [--seeds 5] [--graphs NAME,...] [--threads N]

Each graph is imported with --feature-layout dense and sparse; GraphSAGE trains with the same options. Accuracies are means and standard deviations over seeds;
seconds are those of an epoch, the median of all but the first, and CPU seconds those of the whole first run.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess

import suite
from suite import Suite, table

GRAPHS = {
    "cora": ([], ["--fanout", "10,10", "--hidden", 64, "--batch", 140, "--epochs", 30, "--lr", 0.01, "--weight-decay", 5e-4]),
    "coauthor-cs": ([], ["--fanout", "10,10", "--hidden", 128, "--batch", 1024, "--epochs", 2, "--lr", 0.003]),
    "github-social": (["--symmetrize"], ["--fanout", "10,10", "--hidden", 128, "--batch", 1024, "--epochs", 2, "--lr", 0.003]),
}


def trained(args, dataset, out, options):
    """summary.json and CPU seconds of a run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([args.outgrow, "train", dataset, "--run", out, "--memory", "2G", "--threads", str(args.threads), "--quiet", *map(str, options)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(pathlib.Path(out, "summary.json").read_text()), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(suite.ROOT / "build/release/outgrow"))
    p.add_argument("--data", default=os.environ.get("OUTGROW_DATA", str(suite.ROOT / "../shared/data")))
    p.add_argument("--scratch", default=None)
    p.add_argument("--graphs", default=",".join(GRAPHS))
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--threads", type=int, default=2)
    args = p.parse_args()
    args.reader = None
    b, rows = Suite(args), []
    try:
        for name in args.graphs.split(","):
            importing, training = GRAPHS[name]
            for layout in "dense", "sparse":
                dataset = b.scratch / "graph"
                b.run("import", "npy", pathlib.Path(args.data) / name, dataset, *importing, "--feature-layout", layout)
                megabytes = sum(f.stat().st_size for f in dataset.glob("feature*.npy")) / 1e6
                runs = [trained(args, dataset, b.scratch / "run", [*training, "--seed", seed]) for seed in range(1, args.seeds + 1)]
                first, cpu = runs[0]
                accuracy = [100 * run["test_acc"] for run, _ in runs]
                spread = statistics.stdev(accuracy) if len(accuracy) > 1 else 0
                rows.append([name, layout, megabytes, statistics.median(e["seconds"] for e in first["epochs"][1:]), cpu, first["epochs"][-1]["loss"],
                             f"{statistics.mean(accuracy):.2f} ({spread:.2f})"])
                print(json.dumps(rows[-1]), flush=True)
                shutil.rmtree(dataset)
    finally:
        shutil.rmtree(b.scratch, ignore_errors=True)
    table("Dense and sparse rows", ["graph", "rows", "features, MB", "s an epoch", "CPU s, first run", "last loss", f"test accuracy % ({args.seeds} seeds)"], rows)


if __name__ == "__main__":
    main()
