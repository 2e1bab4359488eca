#!/usr/bin/env python3
"""Sequential instead of random: packed features, reused samples, and the planner that chooses.

    bench/sequential.py [--outgrow PATH] [--dataset DIR] [--scratch DIR] [--parts rows,reuse,model,auto,accuracy,dtype] [--epochs 3] [--data DIR]

rows      every row size: what a packed epoch reads over the bytes of the rows it misses
reuse     the data path alone on rmat 8 M nodes / 128 M edges / dim 128: ginex, diskgnn with R = 3, auto
model     SAGE, hidden 256, in a quarter of the dataset's size, beside everything resident
auto      twelve settings: auto beside every fixed way; what was predicted beside what was measured
accuracy  R = 1, 5 and 20 on real graphs from --data
dtype     --pack-dtype: accuracy on real graphs from --data, what is written and read on a generated one

The rmat dataset (4.6 GB) is generated under --scratch and removed unless given. Cold page cache; memory cgroups where they can be
made. Seconds an epoch are (prepare + all epochs) / epochs unless said otherwise.
"""
import argparse
import os
import pathlib
import shutil
import statistics

import suite
from lookahead import BASE, MB, Bench, total
from suite import ACCURACY, cgroup, drop_caches, table

# Ways that auto chooses from, by hand.
WAYS = {
    "degree": ["--policy", "degree"],
    "frequency": ["--policy", "frequency"],
    "frequency, turns": ["--policy", "frequency", "--alternate"],
    "frequency, packed": ["--policy", "frequency", "--alternate", "--layout", "packed"],
    "belady": ["--policy", "belady"],
    "belady, turns": ["--policy", "belady", "--alternate"],
    "belady, packed": ["--policy", "belady", "--alternate", "--layout", "packed"],
}


def part_rows(b, d, args):
    rows = []
    for dim, dtype in ((100, "u8"), (100, "f32"), (128, "f32"), (384, "f32"), (1500, "f16"), (1024, "f32"), (4096, "f32")):
        size = dim * {"u8": 1, "f16": 2, "f32": 4}[dtype]
        nodes = max(20000, min(400000, 200_000_000 // size))
        path = b.scratch / f"rows{size}"
        b.run("generate", path, "--model", "rmat", "--nodes", nodes, "--degree", 12, "--dim", dim, "--dtype", dtype, "--classes", 8,
              "--train-fraction", 0.05, "--quiet")
        options = ["--epochs", 2, "--fanout", "10,10", "--batch", 500, "--policy", "frequency", "--cache", "5%", "--topology", "memory"]
        found = []
        for layout in ("packed", "raw"):
            e = b.json("bench", "epoch", path, *options, "--layout", layout)["epochs"][-1]
            found += [e["feature_bytes_read"] / (e["misses"] * size), e["reads"]]
        rows.append([size, e["misses"], *found])
        shutil.rmtree(path)
    table("Bytes read over bytes missed", ["row bytes", "misses an epoch", "packed", "reads", "raw", "reads"], rows)
    return rows


def reuse_row(name, r, base):
    last = r["epochs"][-1]
    return [name, r["average"], r["epochs"][0]["seconds"], last["seconds"], base["average"] / last["seconds"], base["average"] / r["average"],
            total(r, "hits") / total(r, "rows"), r["plan"]["cache_rows"], sum(e["bytes_written"] for e in r["epochs"]) / 1e9, r["peak_rss_bytes"] / MB]


def part_reuse(b, d, args):
    tables = {}
    for cache in ([], ["--cache", "12%"]):
        ginex = b.epochs(d, "--preset", "ginex", *BASE, *cache, epochs=args.epochs)
        runs = {"ginex": ginex,
                "diskgnn, R = 3": b.epochs(d, "--preset", "diskgnn", "--resample-every", 3, *BASE, *cache, epochs=args.epochs),
                "diskgnn, R = 1": b.epochs(d, "--preset", "diskgnn", *BASE, *cache, epochs=args.epochs),
                "auto": b.epochs(d, *BASE, *cache, epochs=args.epochs)}
        tables["".join(cache)] = table(
            f"The data path alone, --memory 1400M {' '.join(cache)}",
            ["", "s an epoch, all", "first epoch s", "last epoch s", "ginex / last epoch", "ginex / all", "hit rate", "rows cached", "GB written", "peak MiB"],
            [reuse_row(k, r, ginex) for k, r in runs.items()])
    return tables


def part_model(b, d, args):
    size = sum(f.stat().st_size for f in pathlib.Path(d).iterdir())
    rows = []
    base = ["--epochs", args.epochs, "--hidden", 256, "--eval-every", 0, "--batch", 1000]
    for name, memory, options in (("preset memory", size * 2, ["--preset", "memory"]), ("auto", size // 4, [])):
        drop_caches()
        with cgroup(memory + 100 * MB) as prefix:
            s = b.train(d, *base, "--memory", memory, *options, prefix=prefix)
        epochs = s["epochs"]
        rows.append([name, memory // MB, statistics.median(e["seconds"] for e in epochs), (s["prepare"]["seconds"] + sum(e["seconds"] for e in epochs)) / len(epochs),
                     statistics.median(e["train_seconds"] for e in epochs), s["plan"]["policy"], s["plan"]["layout"], repr(epochs[-1]["loss"]), s["peak_rss_bytes"] / MB])
        print(rows[-1], flush=True)
    table("SAGE, hidden 256, in a quarter of the dataset's size", ["", "--memory MiB", "median epoch s", "s an epoch, all", "of which training", "policy", "layout", "loss", "peak MiB"], rows)
    print("ratio of median epochs:", rows[0][2] / rows[1][2])
    return rows


def part_auto(b, d, args):
    rows = []
    for graph, nodes, degree in (("rmat", 1_000_000, 12), ("planted", 500_000, 10)):
        for dim, dtype in ((256, "u8"), (128, "f32"), (1024, "f32")):
            size = dim * {"u8": 1, "f32": 4}[dtype]
            n = nodes if size < 4096 else nodes // 2
            path = b.scratch / f"{graph}{size}"
            b.run("generate", path, "--model", graph, "--nodes", n, "--degree", degree, "--dim", dim, "--dtype", dtype, "--classes", 8, "--train-fraction",
                  0.02, "--quiet")
            for cache, reuse in (("2%", 1), ("20%", 5)):
                base = ["--batch", 500, "--fanout", "10,10", "--topology", "memory", "--cache", cache, "--resample-every", reuse, "--memory", "2G"]
                best = {k: b.epochs(path, *base, *way, limit=3000, epochs=args.epochs)["average"] for k, way in WAYS.items()}
                r = b.epochs(path, *base, limit=3000, epochs=args.epochs)
                fastest = min(best, key=best.get)
                last, told = r["epochs"][-1], r["plan"]["predicted"]
                rows.append([graph, size, cache, reuse, f"{r['plan']['policy']}, {r['plan']['layout']}", r["average"], fastest, best[fastest], r["average"] / best[fastest],
                             told["feature_bytes_read"] / max(1, last["feature_bytes_read"]), r["plan"]["candidates"][0]["seconds"] / r["average"]])
                print(rows[-1], flush=True)
            shutil.rmtree(path)
    table("auto beside every fixed way", ["graph", "row bytes", "cache", "R", "auto chose", "s an epoch", "best by hand", "s an epoch", "ratio", "bytes told / read",
                                          "seconds told / taken"], rows)
    return rows


def part_accuracy(b, d, args):
    rows = []
    for name in ("cora", "coauthor-cs", "amazon-computers"):
        src = pathlib.Path(args.data) / name
        if not src.is_dir():
            print(f"{src}: absent, skipped")
            continue
        importing, training = ACCURACY[name]
        path = b.scratch / name
        b.run("import", "npy", src, path, *importing)
        found = [[100 * b.train(path, "--model", "sage", "--seed", seed, "--resample-every", r, *training)["test_acc"] for seed in range(1, 6)] for r in (1, 5, 20)]
        rows.append([name] + [f"{statistics.mean(f):.2f} ({statistics.stdev(f):.2f})" for f in found])
        print(rows[-1], flush=True)
    table("Test accuracy of SAGE in % when samples are reused, mean of 5 seeds (stdev)", ["dataset", "R = 1", "R = 5", "R = 20"], rows)
    return rows


DTYPES = ("f32", "f16", "bf16")
# Shorter than ACCURACY has them: it is the dtypes that are compared.
SHORTER = {"coauthor-cs": ["--epochs", 8, "--lr", 0.02, "--eval-every", 2], "amazon-computers": ["--epochs", 8, "--lr", 0.02, "--eval-every", 2]}


def dtype_accuracy(b, args):
    """Rows are scaled to sum 1: as they come, these features are small whole numbers, which every dtype holds exactly."""
    rows = []
    for name in ("cora", "coauthor-cs", "amazon-computers"):
        src = pathlib.Path(args.data) / name
        if not src.is_dir():
            print(f"{src}: absent, skipped")
            continue
        importing, training = ACCURACY[name]
        path = b.scratch / name
        b.run("import", "npy", src, path, "--row-normalize", *(o for o in importing if o != "--row-normalize"))
        found = [[100 * b.train(path, "--model", "sage", "--seed", seed, "--pack-dtype", dtype, *training, *SHORTER.get(name, []))["test_acc"] for seed in range(1, 6)] for dtype in DTYPES]
        rows.append([name] + [f"{statistics.mean(f):.2f} ({statistics.stdev(f):.2f})" for f in found])
        print(rows[-1], flush=True)
        shutil.rmtree(path)
    table("Test accuracy of SAGE in %, mean of 5 seeds (stdev)", ["dataset", *DTYPES], rows)
    return rows


def dtype_bytes(b, args):
    rows = []
    path = b.scratch / "narrow"
    b.run("generate", path, "--model", "rmat", "--nodes", 200_000, "--degree", 12, "--dim", 128, "--classes", 8, "--train-fraction", 0.05, "--quiet")
    for cache in ("5%", "10M"):
        base = None
        for dtype in DTYPES:
            r = b.json("bench", "epoch", path, "--epochs", 2, "--fanout", "10,10", "--batch", 500, "--policy", "frequency", "--topology", "memory", "--layout",
                       "packed", "--cache", cache, "--pack-dtype", dtype)
            written, read = total(r, "bytes_written"), total(r, "feature_bytes_read")
            base = base or (written, read)
            rows.append([cache, dtype, r["plan"]["cache_rows"], total(r, "misses"), written / 1e6, base[0] / written, read / 1e6, base[1] / read,
                         r["epochs"][-1]["feature_bytes_read"] / r["plan"]["predicted"]["feature_bytes_read"]])
            print(rows[-1], flush=True)
    shutil.rmtree(path)
    table("Packed: what two epochs write and read", ["--cache", "dtype", "rows cached", "misses", "MB written", "f32 / this", "MB read", "f32 / this", "read / told"], rows)
    return rows


def part_dtype(b, d, args):
    return dtype_accuracy(b, args), dtype_bytes(b, args)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(suite.ROOT / "build/release/outgrow"))
    p.add_argument("--dataset")
    p.add_argument("--scratch")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--parts", default="rows,reuse,model,auto,accuracy,dtype")
    p.add_argument("--data", default=os.environ.get("OUTGROW_DATA", str(suite.ROOT / "../shared/data")))
    args = p.parse_args()
    args.reader = None
    b = Bench(args)
    os.environ.setdefault("XDG_CACHE_HOME", str(b.scratch))
    try:
        needs = {"reuse", "model"} & set(args.parts.split(","))
        d = args.dataset or needs and b.dataset("rmat8m", "--model", "rmat", "--nodes", 8_000_000, "--degree", 16, "--dim", 128, "--classes", 16,
                                                "--train-fraction", 0.01, "--memory", "2G")
        for part in args.parts.split(","):
            globals()["part_" + part](b, d, args)
    finally:
        shutil.rmtree(b.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
