#!/usr/bin/env python3
"""Inference over the whole graph: seconds, bytes read, memory.

    bench/inference.py [--outgrow PATH] [--dataset DIR] [--scratch DIR] [--memory 1G] [--models sage,gcn,gat]

An rmat graph of 8 M nodes, 128 M edges and 128 features (4.6 GB). It is generated under --scratch, and removed unless given. Models of
three layers, hidden 64, as initialised. Cold page cache; in a memory cgroup a tenth larger than --memory where one can be made. A layer's
amplification is what it read over what its input and the graph's structure take.
"""
import argparse
import shutil
import sys

import suite
from suite import cgroup, drop_caches, table

MODELS = {
    "sage": ["--model", "sage"],
    "sage max": ["--model", "sage", "--aggregator", "max"],
    "sage gcn": ["--model", "sage", "--aggregator", "gcn"],
    "gcn": ["--model", "gcn"],
    "gat": ["--model", "gat"],
    "gin": ["--model", "gin"],
    "pinsage": ["--model", "pinsage"],
}


def parse_size(text):
    units = {"M": 1 << 20, "G": 1 << 30}
    return int(float(text[:-1]) * units[text[-1]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outgrow", default=str(suite.ROOT / "build/release/outgrow"))
    parser.add_argument("--dataset")
    parser.add_argument("--scratch", default="/tmp")
    parser.add_argument("--memory", default="1G")
    parser.add_argument("--models", default="sage,gcn,gat")
    args = parser.parse_args()
    args.reader, args.data = None, "."
    b = suite.Suite(args)
    rows, worst = [], 0
    try:
        graph = args.dataset or b.dataset("rmat8m", "--model", "rmat", "--nodes", 8000000, "--degree", 16, "--dim", 128, "--classes", 16,
                                          "--train-fraction", 0.01, "--quiet")
        for name in args.models.split(","):
            run = b.scratch / "model"
            b.run("train", graph, "--epochs", 0, "--hidden", 64, *MODELS[name], "--memory", "2G", "--run", run, "--quiet")
            drop_caches()
            with cgroup(parse_size(args.memory) * 11 // 10) as prefix:
                r = b.json("predict", graph, "--checkpoint", run / "checkpoint.safetensors", "--out", b.scratch / "out.npy", "--memory",
                           args.memory, "--quiet", prefix=prefix)
            shutil.rmtree(run)
            (b.scratch / "out.npy").unlink()
            for layer in r["layers"]:
                rows.append([name, layer["layer"], layer["seconds"], layer["bytes_read"] / 1e9, layer["bytes_least"] / 1e9,
                             f"{layer['read_amplification']:.2f}", layer["rows_kept"]])
                worst = max(worst, layer["read_amplification"])
            rows.append([name, "all", r["seconds"], r["bytes_read"] / 1e9, "", "", f"peak {r['peak_rss_bytes'] >> 20} MiB"])
    finally:
        shutil.rmtree(b.scratch)
    table(f"Inference, --memory {args.memory}", ["model", "layer", "seconds", "GB read", "GB at least", "amplification", "rows kept"], rows)
    sys.exit(worst > 3)


if __name__ == "__main__":
    main()
