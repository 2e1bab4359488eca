#!/usr/bin/env python3
"""Sequential instead of random: packed features, reused samples, and the planner that chooses.

    bench/sequential.py [--outgrow PATH] [--dataset DIR] [--scratch DIR] [--parts rows,reuse,model,auto,accuracy,dtype,draw] [--epochs 3] [--data DIR]

rows      every row size: what a packed epoch reads over the bytes of the rows it misses
reuse     the data path alone of ginex, diskgnn with R = 3, and auto. The graph is rmat, 8 M nodes / 128 M edges / dim 128
model     SAGE, hidden 256, in a quarter of the dataset's size, against everything resident
auto      twelve settings, or --structure memory,disk: twelve more with topology on disk. Ten epochs or --epochs if that is more (30: half an hour).
          Medians of alternating runs of auto and every fixed plan; what was predicted and what was measured
accuracy  R = 1, 5 and 20 on real graphs from --data (Liu et al. 2025, Table 3)
draw      --draw each and once: edges and nodes of a batch on a generated graph. Also accuracy on real graphs from --data
dtype     --pack-dtype: accuracy on real graphs from --data, what is written and read on a generated one

The rmat dataset (4.6 GB) is generated under --scratch and removed unless given. `outgrow bench io` measures the disk first (a minute). Cold
page cache; memory cgroups where they can be made. Seconds an epoch are (prepare + all epochs) / epochs unless said otherwise.
"""
import argparse
import contextlib
import itertools
import os
import pathlib
import shutil
import statistics
import subprocess

import suite
from lookahead import BASE, MB, Bench, total
from suite import ACCURACY, cgroup, drop_caches, table

# Plans that auto chooses from, by hand, and how its candidates are named.
WAYS = {
    ("degree", "raw", False): ["--policy", "degree"],
    ("frequency", "raw", False): ["--policy", "frequency"],
    ("frequency", "raw", True): ["--policy", "frequency", "--phased-memory"],
    ("frequency", "packed", True): ["--policy", "frequency", "--phased-memory", "--layout", "packed"],
    ("belady", "raw", False): ["--policy", "belady"],
    ("belady", "raw", True): ["--policy", "belady", "--phased-memory"],
    ("belady", "packed", True): ["--policy", "belady", "--phased-memory", "--layout", "packed"],
    ("sweep", "raw", True): ["--policy", "sweep", "--phased-memory"],
}

ROUNDS = 5
LEAST_NODES = 20_000

# Graph, nodes at most, in-neighbours, values and type of a row, runs. A run has a cache, and epochs that share a sample.
SETTINGS = [
    ("rmat", 1_000_000, 12, 256, "u8", (("2%", 1), ("20%", 5))),
    ("rmat", 1_000_000, 12, 128, "f32", (("1%", 1), ("40%", 5))),
    ("rmat", 1_000_000, 12, 1024, "f32", (("10%", 1), ("5%", 5))),
    ("planted", 500_000, 10, 256, "u8", (("10%", 1), ("40%", 5))),
    ("planted", 500_000, 10, 256, "f32", (("20%", 1), ("2%", 5))),
    ("planted", 500_000, 10, 1024, "f32", (("1%", 5), ("40%", 1))),
]


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
    return [name, r["average"], r["epochs"][0]["seconds"], last["seconds"], base["epochs"][-1]["seconds"] / last["seconds"], base["average"] / r["average"],
            total(r, "hits") / total(r, "rows"), r["plan"]["cache_rows"], sum(e["bytes_written"] for e in r["epochs"]) / 1e9, r["peak_rss_bytes"] / MB]


def part_reuse(b, d, args):
    tables = {}
    for less in ([], ["--cache", "12%"], ["--memory", "900M"]):
        ginex = b.epochs(d, "--preset", "ginex", *BASE, *less, epochs=args.epochs)
        runs = {"ginex": ginex,
                "diskgnn, R = 3": b.epochs(d, "--preset", "diskgnn", "--resample-every", 3, *BASE, *less, epochs=args.epochs),
                "diskgnn, R = 1": b.epochs(d, "--preset", "diskgnn", *BASE, *less, epochs=args.epochs),
                "auto": b.epochs(d, *BASE, *less, epochs=args.epochs)}
        tables["".join(less)] = table(
            f"The data path alone, --memory 1400M {' '.join(less)}",
            ["", "s an epoch, all", "first epoch s", "last epoch s", "times ginex's speed, last epochs", "times ginex's speed, all", "hit rate", "rows cached", "GB written", "peak MiB"],
            [reuse_row(k, r, ginex) for k, r in runs.items()])
    return tables


def part_model(b, d, args):
    size = sum(f.stat().st_size for f in pathlib.Path(d).iterdir())
    rows = []
    base = ["--epochs", args.epochs, "--hidden", 256, "--eval-every", 0, "--batch", 1000]
    for name, memory, options in (("preset memory", size * 2, ["--preset", "memory"]), ("ginex", size // 4, ["--preset", "ginex"]),
                                  ("sweep, turns", size // 4, ["--policy", "sweep", "--phased-memory"]), ("auto", size // 4, [])):
        drop_caches()
        with cgroup(memory + 100 * MB) as prefix:
            s = b.train(d, *base, "--memory", memory, *options, prefix=prefix)
        epochs = s["epochs"]
        rows.append([name, memory // MB, statistics.median(e["seconds"] for e in epochs), (s["prepare"]["seconds"] + sum(e["seconds"] for e in epochs)) / len(epochs),
                     statistics.median(e["train_seconds"] for e in epochs), s["plan"]["policy"], s["plan"]["layout"], repr(epochs[-1]["loss"]), s["peak_rss_bytes"] / MB])
        print(rows[-1], flush=True)
    table("SAGE, hidden 256, in a quarter of the dataset's size", ["", "--memory MiB", "median epoch s", "s an epoch, all", "of which training", "policy", "layout", "loss", "peak MiB"], rows)
    for row in rows[1:]:
        print(f"{row[0]}: in memory / this: {rows[0][2] / row[2]:.3f} of the median epoch, {rows[0][3] / row[3]:.3f} with preparation; of {rows[0][2]:.2f} s")
    return rows


def way_name(way):
    return f"{way[0]}, {way[1]}{', turns' if way[2] else ''}"


def chosen(r):
    c = r["plan"]["candidates"][0]
    return c["policy"], c["layout"], c["alternates"]


def ratio(told, taken):
    return told / taken if taken else 1.0 if told == 0 else float("inf")


def phases(c, r):
    """For the chosen plan, predicted over measured: core-seconds sampling, planning, and all that brings features."""
    t, n = c["terms"], len(r["epochs"])
    told = (t["sampling"] * os.cpu_count(), t["planning"], max(t["sweeping"] + t["writing"], t["copying"]) + t["filling"] + t["reading"])
    taken = [total(r, key) / n for key in ("sample_seconds", "plan_seconds", "gather_seconds")]
    return [f"{a:.3f} / {b:.3f}" for a, b in zip(told, taken)]


def average(r):
    return r["average"]


def likeliest(run):
    """Every way once, unless it takes three times as long as auto: what each took, and auto."""
    auto = run()
    limit = max(3.0, 3 * average(auto) * len(auto["epochs"]) + 1)
    taken = {}
    for way, options in WAYS.items():
        with contextlib.suppress(subprocess.TimeoutExpired):
            taken[way] = run(*options, timeout=limit)
    return taken


def in_turns(run, ways, rounds):
    """auto and these plans, alternating so many times, there and back: the runs of each."""
    runs = {way: [] for way in ["auto", *ways]}
    for i in range(rounds):
        for way in list(runs)[:: -1 if i % 2 else 1]:
            runs[way].append(run(*WAYS.get(way, [])))
    return runs


def middle(runs):
    return sorted(runs, key=average)[len(runs) // 2]


def auto_row(run, name, size, cache, reuse, seconds, rounds=ROUNDS):
    taken = likeliest(run)
    runs = in_turns(run, sorted(taken, key=lambda w: average(taken[w]))[:3], rounds)
    autos = runs.pop("auto")
    auto = middle(autos)
    taken.update({way: middle(r) for way, r in runs.items()})
    best = min(runs, key=lambda w: average(taken[w]))
    ratios = sorted(average(a) / average(r) for a, r in zip(autos, runs[best]))
    told = {(c["policy"], c["layout"], c["alternates"]): c for c in auto["plan"]["candidates"]}
    ways = {way: ratio(told[way]["seconds"], average(r)) for way, r in taken.items() if told[way]["possible"]}
    seconds.update({(name, size, cache, reuse, way): x for way, x in ways.items()})
    for way, x in ways.items():
        print(f"    {way_name(way):24} told {told[way]['seconds']:.3f} s, taken {average(taken[way]):.3f} s: {x:.2f}", flush=True)
    last, predicted, first = auto["epochs"][-1], auto["plan"]["predicted"], auto["plan"]["candidates"][0]
    return [name, size, cache, reuse, way_name(chosen(auto)), average(auto), way_name(best), average(taken[best]), ratios[rounds // 2],
            f"{ratios[0]:.2f} to {ratios[-1]:.2f}", ratio(predicted["feature_bytes_read"], last["feature_bytes_read"]), ratio(first["seconds"], average(auto)),
            *phases(first, auto)]


def part_auto(b, d, args):
    """Every setting with the topology in each place. --divide N makes graphs smaller, to see that it runs."""
    epochs = max(10, args.epochs) if args.divide == 1 else args.epochs
    rounds = args.rounds if args.divide == 1 else 1
    rows, seconds = [], {}
    for graph, nodes, degree, dim, dtype, runs in SETTINGS:
        size = dim * {"u8": 1, "f32": 4}[dtype]
        path = b.scratch / f"{graph}{size}"
        b.run("generate", path, "--model", graph, "--nodes", max(LEAST_NODES, min(nodes, 400_000_000 // size) // args.divide), "--degree", degree, "--dim", dim, "--dtype", dtype, "--classes", 8,
              "--train-fraction", 0.02, "--quiet")
        for place, (cache, reuse) in itertools.product(args.structure.split(","), runs):
            base = ["--batch", 500, "--fanout", "10,10", "--topology", place, "--cache", cache, "--resample-every", reuse, "--memory", "2G"]

            def run(*options, timeout=None):
                return b.epochs(path, *base, *options, limit=3000, epochs=epochs, timeout=timeout)

            name = graph if place == "memory" else f"{graph}, structure on {place}"
            rows.append(auto_row(run, name, size, cache, reuse, seconds, rounds))
            print(rows[-1], flush=True)
        shutil.rmtree(path)
    table("auto beside every fixed way", ["graph", "row bytes", "cache", "R", "auto chose", "s an epoch", "best by hand", "s an epoch", "ratio", "spread", "bytes told / read",
                                          "seconds told / taken", "sampling, told / taken", "planning", "features"], rows)
    near = [x for x in seconds.values() if 0.75 <= x <= 1.25]
    print(f"within 10 % of the best by hand: {sum(r[8] <= 1.10 for r in rows)} of {len(rows)}; bytes within 2 %: {sum(abs(r[10] - 1) <= 0.02 for r in rows)}; "
          f"seconds told / taken: median {statistics.median(seconds.values()):.2f} of {len(seconds)} ways, {len(near)} within 25 %, "
          f"of the chosen ones median {statistics.median(r[11] for r in rows):.2f}, {sum(0.75 <= r[11] <= 1.25 for r in rows)} of {len(rows)} within 25 %")
    return rows


def part_accuracy(b, d, args):
    rows = []
    for name in args.graphs.split(","):
        src = pathlib.Path(args.data) / name
        if not src.is_dir():
            print(f"{src}: absent, skipped")
            continue
        importing, training, _ = ACCURACY[name]
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
    """Accuracy by --pack-dtype on real graphs. Rows are scaled to sum 1: as they come they are small whole numbers, which every dtype holds exactly."""
    rows = []
    for name in ("cora", "coauthor-cs", "amazon-computers"):
        src = pathlib.Path(args.data) / name
        if not src.is_dir():
            print(f"{src}: absent, skipped")
            continue
        importing, training, _ = ACCURACY[name]
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


def draw_accuracy(b, args):
    """Fanouts that leave neighbours out: with all of them there is nothing to draw."""
    rows = []
    for name, fanout in (("cora", "3,3"), ("amazon-computers", "10,10")):
        src = pathlib.Path(args.data) / name
        if not src.is_dir():
            print(f"{src}: absent, skipped")
            continue
        importing, training, more = ACCURACY[name]
        path = b.scratch / name
        b.run("import", "npy", src, path, *importing)
        for model in ("sage", "gcn"):
            options = ["--model", model, *training, *more.get(model, []), "--fanout", fanout]
            found = [[100 * b.train(path, *options, "--draw", draw, "--seed", seed)["test_acc"] for seed in range(1, 6)] for draw in ("each", "once")]
            rows.append([name, model, fanout] + [f"{statistics.mean(f):.2f} ({statistics.stdev(f):.2f})" for f in found])
            print(rows[-1], flush=True)
        shutil.rmtree(path)
    table("Test accuracy in %, mean of 5 seeds (stdev)", ["dataset", "model", "--fanout", "each", "once"], rows)
    return rows


def draw_sizes(b):
    import numpy
    rows = []
    path, out = b.scratch / "drawn", b.scratch / "batches"
    b.run("generate", path, "--model", "rmat", "--nodes", 1_000_000, "--degree", 16, "--dim", 1, "--classes", 2, "--train-fraction", 0.02, "--quiet")
    for fanout in ("10,10,10", "15,10,5"):
        for draw in ("each", "once"):
            b.run("sample", path, "--out", out, "--fanout", fanout, "--draw", draw, "--epochs", 1, "--policy", "degree", "--quiet")
            batches = len(numpy.load(out / "ids_ptr.npy")) - 1
            edges = [int(numpy.load(out / f"hop{h}_ptr.npy")[-1]) / batches for h in (1, 2, 3)]
            rows.append([fanout, draw, *(f"{e:,.0f}" for e in edges), f"{edges[2] if draw == 'once' else sum(edges):,.0f}",
                         f"{len(numpy.load(out / 'ids.npy', mmap_mode='r')) / batches:,.0f}"])
            print(rows[-1], flush=True)
            shutil.rmtree(out)
    shutil.rmtree(path)
    table("A batch of 1000 seeds", ["--fanout", "--draw", "edges of hop 1", "2", "3", "edges drawn", "nodes"], rows)
    return rows


def part_draw(b, d, args):
    return draw_sizes(b), draw_accuracy(b, args)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(suite.ROOT / "build/release/outgrow"))
    p.add_argument("--dataset")
    p.add_argument("--scratch")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--structure", default="memory", help="of the part auto: memory, disk or both, with a comma")
    p.add_argument("--rounds", type=int, default=ROUNDS, help="of the part auto: runs of each in turns")
    p.add_argument("--divide", type=int, default=1, help="of the part auto: graphs so many times smaller, and one round")
    p.add_argument("--parts", default="rows,reuse,model,auto,accuracy,dtype,draw")
    p.add_argument("--graphs", default="cora,coauthor-cs,amazon-computers,debian-packages", help="of the part accuracy")
    p.add_argument("--data", default=os.environ.get("OUTGROW_DATA", str(suite.ROOT / "../shared/data")))
    args = p.parse_args()
    args.reader = None
    b = Bench(args)
    os.environ.setdefault("XDG_CACHE_HOME", str(b.scratch))
    try:
        needs = {"reuse", "model"} & set(args.parts.split(","))
        d = args.dataset or needs and b.dataset("rmat8m", "--model", "rmat", "--nodes", 8_000_000, "--degree", 16, "--dim", 128, "--classes", 16,
                                                "--train-fraction", 0.01, "--memory", "2G")
        b.run("bench", "io", "--path", b.scratch, "--quiet")
        for part in args.parts.split(","):
            globals()["part_" + part](b, d, args)
    finally:
        shutil.rmtree(b.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
