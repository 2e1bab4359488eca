#!/usr/bin/env python3
"""Test accuracy and bytes read with features of every type, on real graphs. Means and standard deviations over seeds.

    bench/feature_types.py [--outgrow PATH] [--data DIR] [--scratch DIR] [--seeds 5] [--graphs NAME,...] [--types f32,f16,i8,e4m3] [--threads N]

Each graph is imported once a type. GraphSAGE trains with the same options; --cache is a tenth of the rows of f32, in bytes, so that narrower types cache more
rows. Bytes are those of an epoch, with --layout raw and with packed. Features of cora, amazon-computers and coauthor-cs are 0 and 1: --row-normalize makes floats of them.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics

import suite
from suite import Suite, table

SHORT = ["--fanout", "5,5", "--hidden", 32]
GRAPHS = {
    "cora": (["--row-normalize"], ["--fanout", "10,10", "--hidden", 16, "--batch", 140, "--epochs", 60, "--lr", 0.01, "--weight-decay", 5e-4]),
    "amazon-computers": (["--symmetrize", "--row-normalize"], [*SHORT, "--batch", 256, "--epochs", 6, "--lr", 0.05]),
    "coauthor-cs": (["--row-normalize"], [*SHORT, "--batch", 256, "--epochs", 2, "--lr", 0.03]),
    "tolokers": (["--symmetrize"], [*SHORT, "--batch", 512, "--epochs", 8, "--lr", 0.02]),
    "debian-packages": (["--symmetrize", "--drop-types"], [*SHORT, "--batch", 1024, "--epochs", 4, "--lr", 0.02]),
}
LAYOUTS = "raw", "packed"


def measure(b, dataset, training, cache, args):
    options = [*training, "--threads", args.threads, "--cache", cache, "--policy", "degree"]
    runs = [b.train(dataset, *options, "--seed", seed) for seed in range(1, args.seeds + 1)]
    read = {}
    for layout in LAYOUTS:
        last = b.train(dataset, *options, "--epochs", 2, "--eval-every", 0, "--layout", layout)["epochs"][-1]
        read[layout] = last["feature_bytes_read"] / 1e6, 100 * last["misses"] / last["rows"]
    return [100 * run["test_acc"] for run in runs], read


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(suite.ROOT / "build/release/outgrow"))
    p.add_argument("--data", default=os.environ.get("OUTGROW_DATA", str(suite.ROOT / "../shared/data")))
    p.add_argument("--scratch", default=None)
    p.add_argument("--graphs", default=",".join(GRAPHS))
    p.add_argument("--types", default="f32,f16,i8,e4m3")
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--threads", type=int, default=2)
    args = p.parse_args()
    args.reader = None
    b, rows = Suite(args), []
    try:
        for name in args.graphs.split(","):
            importing, training = GRAPHS[name]
            cache = None
            for dtype in args.types.split(","):
                dataset = b.scratch / "graph"
                b.run("import", "npy", pathlib.Path(args.data) / name, dataset, *importing, "--feature-dtype", dtype)
                info = b.json("info", dataset)
                cache = cache or info["num_nodes"] * info["feature_dim"] * 4 // 10
                accuracy, read = measure(b, dataset, training, cache, args)
                rows.append([name, dtype, f"{statistics.mean(accuracy):.2f} ({statistics.stdev(accuracy) if len(accuracy) > 1 else 0:.2f})", info["bytes"]["features"] / 1e6,
                             *(f"{mb:.1f} ({missed:.0f} %)" for mb, missed in read.values())])
                print(json.dumps(rows[-1]), flush=True)
                shutil.rmtree(dataset)
    finally:
        shutil.rmtree(b.scratch, ignore_errors=True)
    table("Features by type", ["graph", "type", f"test accuracy % ({args.seeds} seeds)", "features, MB", *(f"MB an epoch, {layout} (rows missed)" for layout in LAYOUTS)], rows)


if __name__ == "__main__":
    main()
