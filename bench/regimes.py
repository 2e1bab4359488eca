#!/usr/bin/env python3
"""The regimes of the papers' evaluations, as far as this machine has them, with the papers' own figures.

    bench/regimes.py [--outgrow PATH] [--scratch DIR] [--datasets DIR] [--data DIR] [--parts PART,...] [--turns 3]

Parts:
    pipeline    --pipeline none against overlapped batches, alternating. Liu et al. 2025, Table 5; Sun et al. 2023, Figure 11
    similarity  how much of what an epoch visits most another one does, too. Yang et al. 2022, Table 2
    eviction    hit rates where a cache holds 16 to 66 of an epoch's 1000 batches. Park et al. 2024, Figure 10; nothing is timed
    lsm         preset lsm-gnn against others in such a cache, timed
    ginex       Ginex' preset, its ablation and its baselines, topology on disk. Hit rates of 30 to 80 %, as in Park et al. 2022, Figures 14 and 15
    superbatch, dims, batches   the same by superbatch, width of rows, seeds of a batch. Figures 16, 17 and 19
    stall       what training waits for, sampling and gathering alone and at once: Figures 4a and 6
    traffic     what DiskGNN and Ginex read by the cache. Liu et al. 2025, Figures 9 and 10; bytes are exact
    disk        what segments read by the disk they may take, and what packs take by the cache. Figures 11 and 12; bytes are exact
    widths      10 % of the rows in memory against all, by the width of rows. Sun et al. 2023, Figure 6
    settings    auto against every fixed plan over the twelve settings of bench/sequential.py. Over twelve with topology on disk, too: seconds predicted and taken
    limit       auto against ginex where nearly all that three epochs visit fits in memory. Also when each stage worked

Graphs are generated, up to 2 GB each, under --datasets or --scratch. In --datasets they stay; in --scratch they are removed. --data is a folder of graphs for
`outgrow import npy`. Timings run with a cold page cache and want a machine that does nothing else. With --divide N every graph is N times smaller: to see that
a part runs to its end, for its figures then mean nothing.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics

import sequential
from lookahead import Bench, total
from suite import ROOT, cgroup, drop_caches, table

# ---- graphs ----

GRAPHS = {
    # 1 GB of features, 20 batches of 1000 seeds an epoch
    "rmat2m": ["--model", "rmat", "--nodes", 2_000_000, "--degree", 12, "--dim", 128, "--classes", 16, "--train-fraction", 0.01],
    # batches of 16 seeds and some 1200 rows, 1000 of them an epoch
    "rmat4m": ["--model", "rmat", "--nodes", 4_000_000, "--degree", 12, "--dim", 1, "--dtype", "u8", "--classes", 16, "--train-fraction", 0.004],
    # the same with 2 GB of features
    "rmat1m": ["--model", "rmat", "--nodes", 1_000_000, "--degree", 12, "--dim", 512, "--classes", 16, "--train-fraction", 0.016],
    # half of what bench/lookahead.py has
    "rmat4m128": ["--model", "rmat", "--nodes", 4_000_000, "--degree", 16, "--dim", 128, "--classes", 16, "--train-fraction", 0.01],
    # 10 batches of 1000 seeds an epoch, 0.25 to 1.5 GB of features
    **{f"rmat1m-{dim}": ["--model", "rmat", "--nodes", 1_000_000, "--degree", 12, "--dim", dim, "--classes", 16, "--train-fraction", 0.01] for dim in (64, 128, 256, 384)},
    # 0.13 to 1 GB, of as many nodes
    **{f"rmat250k-{dim}": ["--model", "rmat", "--nodes", 250_000, "--degree", 12, "--dim", dim, "--classes", 16, "--train-fraction", 0.08] for dim in (128, 256, 512, 1024)},
    "rmat": ["--model", "rmat", "--nodes", 1_000_000, "--degree", 16, "--dim", 1, "--dtype", "u8", "--classes", 16, "--train-fraction", 0.05],
    "planted": ["--model", "planted", "--nodes", 500_000, "--degree", 15, "--dim", 1, "--dtype", "u8", "--classes", 16, "--train-fraction", 0.05],
}


def smaller(options, divide):
    """The same graph with fewer nodes. It has as many batches an epoch where a third of the nodes are enough for them."""
    options = list(options)
    at, share = options.index("--nodes") + 1, options.index("--train-fraction") + 1
    nodes = options[at]
    options[at] = max(20_000, nodes // divide)
    options[share] = min(0.33, options[share] * nodes / options[at])
    return options


def graph(b, args, name):
    """Generated once; with --datasets once for all runs of this program."""
    options = smaller(GRAPHS[name], args.divide)
    if not args.datasets:
        return b.dataset(name, *options)
    path = pathlib.Path(args.datasets) / name
    if not path.exists():
        b.run("generate", path, *options)
    return path


def drop(b, args, name):
    """Makes room for the next one."""
    if not args.datasets:
        shutil.rmtree(b.made.pop(name))


def real_graphs(b, args):
    """Name and folder of each graph under --data that is there."""
    for name, importing in (("debian-packages", ["--symmetrize", "--drop-types"]), ("github-social", ["--symmetrize"]), ("tolokers", ["--symmetrize"]),
                            ("amazon-computers", ["--symmetrize"]), ("coauthor-cs", []), ("cora", [])):
        src = pathlib.Path(args.data) / name
        if not src.is_dir():
            print(f"{src}: absent, left out")
            continue
        path = b.scratch / name
        if not path.exists():
            b.run("import", "npy", src, path, "--quiet", *importing)
        yield name, path


def steady(r):
    """Seconds of an epoch, the first one apart, in which batches may be sampled and packed."""
    return statistics.mean(e["seconds"] for e in r["epochs"][1:])


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


# ---- pipeline ----

PIPELINE_WAYS = {"diskgnn": ["--preset", "diskgnn", "--resample-every", 3], "fgnn": ["--preset", "fgnn"], "ginex": ["--preset", "ginex", "--superbatch", "all"]}


def part_pipeline(b, args):
    """Each plan with and without overlapping, alternating there and back."""
    path = graph(b, args, "rmat2m")
    rows = []
    for name in args.ways.split(","):
        for cache in ("5%", "10%", "30%"):
            runs = {"none": [], "batches": []}
            for turn in range(args.turns):
                for how in list(runs)[:: -1 if turn % 2 else 1]:
                    drop_caches()
                    runs[how].append(b.train(path, "--memory", "1500M", "--batch", 1000, "--fanout", "10,10,10", "--hidden", 64, "--epochs", 3, "--eval-every", 0,
                                             "--cache", cache, "--pipeline", how, *PIPELINE_WAYS[name]))
            seconds = {how: [steady(r) for r in r_of] for how, r_of in runs.items()}
            ratios = [a / o for a, o in zip(seconds["none"], seconds["batches"])]
            e = runs["none"][0]["epochs"][1]
            rows.append([name, cache, f"{e['hits'] / e['rows']:.3f}", *(statistics.median(seconds[how]) for how in runs), spread(ratios),
                         *(e[key] for key in ("sample_seconds", "plan_seconds", "gather_seconds", "train_seconds"))])
            print(rows[-1], flush=True)
    table("Seconds of a later epoch, one batch after another and overlapped; and of each stage in the first of these", ["preset", "--cache", "hit rate",
          "one by one s", "overlapped s", "ratio (spread)", "sampling", "planning", "gathering", "training"], rows)
    return rows


# ---- similarity ----

MOST = 0.1  # the share of nodes that is looked at
SAMPLERS = {"uniform 15,10,5": ["--fanout", "15,10,5"], "walk": ["--sampler", "walk", "--fanout", "5,5,5"],
            "weighted 15,10,5": ["--sampler", "weighted", "--fanout", "15,10,5"]}


def load(folder, name):
    import numpy
    return numpy.load(folder / f"{name}.npy", mmap_mode="r")


def of_epoch(folder, ptr, epoch, epochs):
    """Where an epoch's entries begin, batch by batch, and where they end."""
    ptr = load(folder, ptr)
    batches = (len(ptr) - 1) // epochs
    return ptr[epoch * batches : (epoch + 1) * batches + 1]


def visits(folder, epoch, epochs, nodes):
    """How many batches of an epoch each node is an input of."""
    import numpy
    ptr = of_epoch(folder, "ids_ptr", epoch, epochs)
    return numpy.bincount(load(folder, "ids")[ptr[0] : ptr[-1]], minlength=nodes)


def draws(folder, epoch, epochs, nodes):
    """How often each node was drawn in an epoch, in all hops."""
    import numpy
    count = numpy.zeros(nodes, dtype=numpy.int64)
    ids, at = load(folder, "ids"), of_epoch(folder, "ids_ptr", epoch, epochs)
    for hop in (1, 2, 3):
        src, ptr = load(folder, f"hop{hop}_src"), of_epoch(folder, f"hop{hop}_ptr", epoch, epochs)
        for b in range(len(ptr) - 1):
            numpy.add.at(count, ids[at[b] : at[b + 1]], numpy.bincount(src[ptr[b] : ptr[b + 1]], minlength=at[b + 1] - at[b]))
    return count


def similarity(a, b):
    """How alike the most visited nodes of two epochs are (Yang et al. 2022, §6.2). It is the share of visits to b's most visited nodes that went to most
    visited ones of a."""
    import numpy
    most = [numpy.argsort(-x, kind="stable")[: int(MOST * len(x))] for x in (a, b)]
    both = numpy.intersect1d(*most)
    return numpy.minimum(a[both], b[both]).sum() / b[most[1]].sum()


def mean_similarity(counts):
    return f"{100 * statistics.mean(similarity(x, y) for x, y in zip(counts, counts[1:])):.1f}"


def part_similarity(b, args):
    import numpy
    rows = []
    graphs = [(name, graph(b, args, name)) for name in ("rmat", "planted")] + list(real_graphs(b, args))
    for name, path in graphs:
        seeds = len(numpy.load(path / "train.npy", mmap_mode="r"))
        nodes = json.loads((path / "meta.json").read_text())["num_nodes"]
        batch = max(1, min(1000, seeds // 16))
        row = [name, f"{nodes:,}", f"{seeds:,}", batch]
        for options in SAMPLERS.values():
            if "weighted" in options and not (path / "weights.npy").exists():
                row.append("")
                continue
            out = b.scratch / "similarity"
            b.run("sample", path, "--out", out, "--epochs", args.epochs, "--batch", batch, "--policy", "degree", "--quiet", *options)
            row.append(", ".join(mean_similarity([count(out, e, args.epochs, nodes) for e in range(args.epochs)]) for count in (visits, draws)))
            shutil.rmtree(out)
        rows.append(row)
        print(rows[-1], flush=True)
    table("Similarity of epochs in %, means of adjacent ones: by the batches that a node is in, by how often it is drawn", ["graph", "nodes", "training nodes", "batch", *SAMPLERS], rows)
    return rows


# ---- eviction ----

LSM = ["--fanout", "5,2,2,2", "--batch", 16]
IN_BATCHES = (16, 33, 66)  # what caches hold
EVICTION = (["rr,lru,degree,presc:1,frequency,belady"], ["hybrid:static"], ["hybrid:dynamic", "--window", 64], ["hybrid:dynamic"], ["hybrid", "--window", 64], ["hybrid"])


def rows_of_batch(b, path):
    out = b.scratch / "told.json"
    b.run("simulate", path, "--policy", "degree", "--cache", "1%", "--epochs", 1, "--json", out, "--quiet", *LSM)
    told = json.loads(out.read_text())
    return told["rows"] / told["batches"], told["num_nodes"], told["batches"]


def part_eviction(b, args):
    path = graph(b, args, "rmat4m")
    rows, nodes, batches = rows_of_batch(b, path)
    caches = [f"{100 * n * rows / nodes:.3f}%" for n in IN_BATCHES]
    table_rows = []
    for policies, *options in EVICTION:
        out = b.scratch / "told.json"
        out.unlink(missing_ok=True)
        b.run("simulate", path, "--policy", policies, "--cache", ",".join(caches), "--epochs", 2, "--json", out, "--quiet", *LSM, *options)
        told = json.loads(out.read_text())["results"]
        for policy in dict.fromkeys(r["policy"] for r in told):
            table_rows.append([" ".join([policy, *map(str, options)]), *(f"{r['hit_rate']:.3f}" for r in told if r["policy"] == policy)])
            print(table_rows[-1], flush=True)
    table(f"Hit rates of caches of so many batches: {nodes:,} nodes, {batches} batches an epoch of {rows:.0f} rows", ["policy", *(f"{n} ({c})" for n, c in zip(IN_BATCHES, caches))],
          table_rows)
    return table_rows


def part_lsm(b, args):
    path = graph(b, args, "rmat1m")
    rows, nodes, batches = rows_of_batch(b, path)
    ways = {"lsm-gnn": ["--preset", "lsm-gnn"], "its baseline": ["--policy", "rr", "--topology", "memory"], "fgnn": ["--preset", "fgnn"],
            "belady": ["--policy", "belady", "--topology", "memory"], "auto": ["--topology", "memory"]}
    caches = {n: f"{100 * n * rows / nodes:.3f}%" for n in (16, 66)}
    table_rows = []
    for n, cache in caches.items():
        for name, options in ways.items():
            r = b.epochs(path, "--memory", "1G", "--cache", cache, *LSM, *options, limit=1200, epochs=2)
            e = r["epochs"][-1]
            table_rows.append([n, cache, name, r["plan"]["policy"] + (", " + r["plan"]["layout"] if r["plan"]["layout"] != "raw" else ""), f"{e['hits'] / e['rows']:.3f}",
                               r["average"], e["seconds"], e["plan_seconds"]])
            print(table_rows[-1], flush=True)
    table(f"Caches of a few batches of {rows:.0f} rows, {batches} batches an epoch", ["batches cached", "--cache", "way", "policy", "hit rate", "s an epoch, all", "second epoch s",
          "planning s"], table_rows)
    return table_rows


# ---- ginex ----

HOPS = ["--fanout", "10,10,10"]
ON_DISK = ["--topology", "disk", "--sample-group", 1, *HOPS]


def ginex_runs(b, path, share, *options):
    """Ginex, its ablation and its baselines with so many MiB for caches. Seconds of an epoch have all preparation in them. Ginex has topology and features in
    phases; Ali+PG divides the memory between both, the best of five divisions."""
    memory = 230 + share
    base = ["--memory", f"{memory}M", *ON_DISK, *options]

    def run(name, *more):
        r = b.epochs(path, *base, *more, limit=memory + 40, epochs=2)
        e = r["epochs"][-1]
        print(share, *options, name, f"{r['average']:.2f}", flush=True)
        return name, r["average"], e["hits"] / e["rows"], e["topology_bytes_read"] / 1e9, e["feature_bytes_read"] / 1e9

    def caches(lists, features):
        return ["--neighbor-cache", f"{lists}M", "--cache", f"{features}M"]

    splits = [run(f"ali+pg, {p} %", "--preset", "ali+pg", *caches(share * p // 100, share - share * p // 100)) for p in (0, 25, 50, 75, 100)]
    return [run("ginex", "--preset", "ginex", *caches(share, share)), run("ginex-pg", "--preset", "ginex", "--policy", "degree", *caches(share, share)),
            min(splits, key=lambda r: r[1]), run("pyg+", "--preset", "pyg+", "--neighbor-cache", 0)]


def part_ginex(b, args):
    path = graph(b, args, "rmat2m")
    rows = []
    for share in map(int, args.shares.split(",")):
        runs = ginex_runs(b, path, share, "--batch", 1000)
        rows += [[share, name, seconds, seconds / runs[0][1], f"{hit:.2f}", structure, features] for name, seconds, hit, structure, features in runs]
    table("Structure on disk, so many MiB for caches", ["MiB", "way", "s an epoch, all", "times ginex", "hit rate", "GB of structure", "GB of features"], rows)
    return rows


def ginex_sweep(title, what, runs):
    """What Ginex and Ali+PG gain over PyG+, by a parameter. `runs` has its values and the runs with each."""
    rows = []
    for value, of in runs:
        seconds = {name.split(",")[0]: s for name, s, *_ in of}
        hits = {name.split(",")[0]: hit for name, _, hit, *_ in of}
        rows.append([value, *(seconds["pyg+"] / seconds[name] for name in ("ginex", "ali+pg")), seconds["ali+pg"] / seconds["ginex"],
                     *(f"{hits[name]:.2f}" for name in ("ginex", "ali+pg"))])
    table(title, [what, "ginex / pyg+", "ali+pg / pyg+", "ginex / ali+pg", "ginex hits", "ali+pg hits"], rows)
    return rows


def part_dims(b, args):
    runs = []
    for dim in (64, 128, 256, 384):
        runs.append((dim, ginex_runs(b, graph(b, args, f"rmat1m-{dim}"), 64, "--batch", 1000)))
        drop(b, args, f"rmat1m-{dim}")
    return ginex_sweep("64 MiB for caches, times as fast as PyG+ by the width of rows (Figure 17: 0.5, 1, 2 and 3 times 256). The paper: Ginex always ahead of both",
                       "dim", runs)


def part_batches(b, args):
    path = graph(b, args, "rmat1m-128")
    runs = [(batch, ginex_runs(b, path, 64, "--batch", batch)) for batch in (125, 250, 500, 1000, 2000)]
    return ginex_sweep("64 MiB for caches, times as fast as PyG+ by the seeds of a batch (Figure 19). The paper: Ginex ahead of Ali+PG but for 250, where planning "
                       "takes longer than sampling", "batch", runs)


def part_superbatch(b, args):
    """What a longer superbatch saves in rows that are read, prefill included, and in seconds. Four epochs of 80 batches."""
    path = graph(b, args, "rmat2m")
    rows, found = [], {}
    for size in (20, 40, 80, 160, 320):
        r = b.epochs(path, "--preset", "ginex", "--memory", "294M", *ON_DISK, "--batch", 250, "--neighbor-cache", "64M", "--cache", "64M", "--superbatch", size, limit=334,
                     epochs=4)
        read = total(r, "misses") + total(r, "prefill") + r["prepare"]["prefill"]
        found[size] = read, r["average"]
        rows.append([size, f"{total(r, 'misses'):,}", f"{read - total(r, 'misses'):,}", read, r["average"], (total(r, "bytes_written") + r["prepare"]["bytes_written"]) / 1e9])
        print(rows[-1], flush=True)
    usual = found[80]
    table("By batches of a superbatch (Figure 16); in times those of an epoch, 80. The paper: twice its usual superbatch takes 0.93 to 0.97 of the time",
          ["superbatch", "misses", "prefilled", "rows read, times", "s an epoch, all", "times", "GB written"],
          [[size, misses, prefilled, read / usual[0], s, s / usual[1], written] for size, misses, prefilled, read, s, written in rows])
    return rows


def part_stall(b, args):
    """What training waits for, and what sampling and gathering take alone and at once."""
    path = graph(b, args, "rmat2m")
    base = ["--memory", "700M", *ON_DISK, "--batch", 1000, "--hidden", 64]
    ways = {"pyg+": ["--preset", "pyg+", "--neighbor-cache", 0], "ginex": ["--preset", "ginex"]}
    rows = []
    for name, options in ways.items():
        drop_caches()
        with cgroup(800 << 20) as prefix:
            r = b.train(path, *base, "--epochs", 2, "--eval-every", 0, *options, prefix=prefix)
        e = r["epochs"][-1]
        rows.append([name, e["seconds"], e["train_seconds"], f"{e['stall_seconds'] / e['seconds']:.3f}", f"{e['rows'] / e['lists_read']:.2f}" if e["lists_read"] else "-"])
        print(rows[-1], flush=True)
    table("Training time that waits (Figure 4a). The paper, PyG+ on a GPU: above 0.9; 8.13 and 9.75 requests of gathering a request of sampling",
          ["preset", "second epoch s", "training s", "share stalled", "rows a list read"], rows)
    alone = {}
    for how in ("none", "batches"):
        r = b.epochs(path, *base[:-2], *ways["pyg+"], "--pipeline", how, limit=800, epochs=2)
        alone[how] = r["epochs"][-1]
    batches, e = 20, alone["none"]
    sampling, gathering, both = e["seconds"] - e["gather_seconds"], e["gather_seconds"], alone["batches"]["seconds"]
    table("PyG+, seconds a batch: sampling and gathering alone, and overlapped (Figure 6). The paper: overlapped far longer than the longer of both",
          ["sampling", "gathering", "overlapped", "overlapped / the longer"], [[sampling / batches, gathering / batches, both / batches, both / max(sampling, gathering)]])
    return rows


# ---- disk ----

PACKED = ["--topology", "memory", "--memory", "2G", "--superbatch", "all", "--batch", 1000, *HOPS]


def disk_graphs(b, args):
    """rmat2m and debian-packages: name, folder, bytes of all features and of a row."""
    for name, path in [("rmat2m", graph(b, args, "rmat2m")), *((n, p) for n, p in real_graphs(b, args) if n == "debian-packages")]:
        array = load(path, "features")
        yield name, path, array.nbytes, array.nbytes // len(array)


def part_disk(b, args):
    """Bytes alone: of what is written and read, in times the features of the whole graph."""
    packs, segmented = [], []
    for name, path, features, row in disk_graphs(b, args):
        def run(cache, *options):
            return b.json("bench", "epoch", path, *PACKED, "--policy", "frequency", "--epochs", 1, "--cache", cache, *options)["epochs"][0]

        for cache in ("1%", "3%", "10%", "20%"):
            e = run(cache, "--layout", "packed")
            packs.append([name, cache, e["bytes_written"] / features, f"{e['hits'] / e['rows']:.3f}"])
            print(packs[-1], flush=True)
        needed = next(r[2] for r in packs if r[0] == name) * features
        for share in (100, 80, 60, 50, 40):
            e = run("1%", "--layout", "segmented", "--disk", f"{int(needed * share / 100)}")
            segmented.append([name, share, f"{needed * share / 100 / features:.2f}", e["bytes_written"] / features, e["feature_bytes_read"] / (e["misses"] * row)])
            print(segmented[-1], flush=True)
    table("Packs of an epoch by the cache: bytes written, in times the features (Figure 12). The paper: below 2 from a cache of 20 % on",
          ["graph", "--cache", "written", "hit rate"], packs)
    table("Segments of an epoch by the disk, cache 1 % (Figure 11, Table 4). The paper, Friendster with 0.93 and 0.56 of its packs' disk: 1.09 and 2.58 read",
          ["graph", "% of its packs", "--disk, times the features", "written, times the features", "read, bytes a byte of rows"], segmented)
    return packs, segmented


def part_traffic(b, args):
    """Bytes of features that an epoch reads: rows under Belady's policy, packs under frequency. The authors' Ginex reads a page of 4 KiB a miss."""
    rows = []
    for name, path, features, _ in disk_graphs(b, args):
        for cache in ("10%", "30%", "50%"):
            drop_caches()
            e = {preset: b.json("bench", "epoch", path, "--preset", preset, *PACKED, "--resample-every", 3, "--epochs", 3, "--cache", cache)["epochs"][-1]
                 for preset in ("ginex", "diskgnn")}
            read = {preset: of["feature_bytes_read"] for preset, of in e.items()}
            pages = 4096 * e["ginex"]["misses"]
            rows.append([name, cache, *(f"{of['hits'] / of['rows']:.3f}" for of in e.values()), *(f"{x / features:.3f}" for x in (pages, *read.values())),
                         *(x / max(read["diskgnn"], 1) for x in (pages, read["ginex"])), *(of["seconds"] for of in e.values())])
            print(rows[-1], flush=True)
    table("An epoch by the cache, in times all features (Figures 9 and 10). The paper: DiskGNN reads less than a fifth of Ginex, at most 8.7 times as fast",
          ["graph", "--cache", "ginex hits", "diskgnn hits", "ginex by pages", "ginex", "diskgnn", "pages / diskgnn", "ginex / diskgnn", "ginex s", "diskgnn s"], rows)
    return rows


# ---- widths ----


def part_widths(b, args):
    """Seconds of a later epoch with a model, alternating there and back."""
    rows = []
    for dim in (128, 256, 512, 1024):
        path = graph(b, args, f"rmat250k-{dim}")
        for model in ("sage", "gcn"):
            runs = {"memory": [], "disk": []}
            for turn in range(args.turns):
                for where in list(runs)[:: -1 if turn % 2 else 1]:
                    drop_caches()
                    options = ["--preset", "memory"] if where == "memory" else ["--topology", "memory", "--cache", "10%"]
                    runs[where].append(b.train(path, "--memory", "3G", "--batch", 1000, "--fanout", "25,10", "--hidden", 256, "--model", model, "--epochs", 3, "--eval-every", 0,
                                               *options))
            ratios = [steady(m) / steady(d) for m, d in zip(runs["memory"], runs["disk"])]
            e = runs["disk"][0]["epochs"][-1]
            rows.append([model, dim, runs["disk"][0]["plan"]["policy"], f"{e['hits'] / e['rows']:.3f}", *(statistics.median(map(steady, of)) for of in runs.values()), spread(ratios)])
            print(rows[-1], flush=True)
        drop(b, args, f"rmat250k-{dim}")
    table("10 % of the rows in memory, speed over everything in memory (Figure 6). The paper: 0.91 to 0.99",
          ["model", "dim", "policy", "hit rate", "in memory s", "out of core s", "speed (spread)"], rows)
    return rows


# ---- limit ----


def stages(path):
    """When each stage of a timeline began and last ended, and how long any thread was in it."""
    spans = {}
    for e in json.loads(path.read_text()):
        if e["ph"] == "X":
            spans.setdefault(e["name"], []).append((e["ts"] / 1e6, (e["ts"] + e["dur"]) / 1e6))
    rows = []
    for name, of in spans.items():
        busy, end = 0.0, 0.0
        for first, last in sorted(of):
            busy += max(0.0, last - max(first, end))
            end = max(end, last)
        rows.append([name, min(s for s, _ in of), end, busy, sum(e - s for s, e in of)])
    return sorted(rows, key=lambda r: r[1])


def part_limit(b, args):
    path = graph(b, args, "rmat4m128")
    base = ["--memory", args.memory, "--topology", "memory", "--batch", 1000, "--fanout", "10,10,10"]
    ways = {"auto": [], "ginex": ["--preset", "ginex"]}
    runs = {name: [] for name in ways}
    spans = b.scratch / "spans.json"
    for turn in range(args.turns):
        for name in list(ways)[:: -1 if turn % 2 else 1]:
            spans.unlink(missing_ok=True)
            trace = ["--trace-timeline", spans] if name == "auto" else []
            runs[name].append(b.epochs(path, *base, *ways[name], *trace, limit=1500, epochs=3))
            print(name, runs[name][-1]["average"], [round(e["seconds"], 2) for e in runs[name][-1]["epochs"]], flush=True)
            if trace:
                timeline = stages(spans)
    rows = []
    for name, r_of in runs.items():
        r = r_of[0]
        plan = r["plan"]
        rows.append([name, f"{plan['policy']}, {plan['layout']}{', turns' if plan['alternates'] else ''}", spread([r["average"] for r in r_of]), plan["cache_rows"],
                     f"{total(r, 'hits') / total(r, 'rows'):.3f}", (r["prepare"]["bytes_read"] + total(r, "bytes_read") + total(r, "prepare_bytes_read")) / 3e9])
    table(f"--memory {args.memory}, three epochs and all preparation", ["way", "policy", "s an epoch (spread)", "rows cached", "hit rate", "GB read an epoch"], rows)
    table("The last run of auto: seconds from its start", ["stage", "first begun", "last ended", "at work", "of all threads"], timeline)
    return rows


# ---- settings ----


def part_settings(b, args):
    b.run("bench", "io", "--path", b.scratch, "--quiet")
    return sequential.part_auto(b, None, args)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(ROOT / "build/release/outgrow"))
    p.add_argument("--scratch")
    p.add_argument("--datasets")
    p.add_argument("--data", default=".")
    p.add_argument("--parts", default="pipeline,similarity,eviction,lsm,ginex,superbatch,dims,batches,stall,traffic,disk,widths,settings,limit")
    p.add_argument("--ways", default=",".join(PIPELINE_WAYS), help="of the part pipeline")
    p.add_argument("--shares", default="24,64,128", help="MiB, of the part ginex")
    p.add_argument("--memory", default="700M", help="of the part limit")
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--structure", default="memory,disk", help="of the part settings")
    p.add_argument("--rounds", type=int, default=sequential.ROUNDS, help="of the part settings: runs of each in turns")
    p.add_argument("--divide", type=int, default=1, help="every graph so many times smaller")
    p.add_argument("--epochs", type=int, default=4, help="of the part similarity")
    args = p.parse_args()
    args.reader = None
    b = Bench(args)
    os.environ.setdefault("XDG_CACHE_HOME", str(b.scratch))
    try:
        for part in args.parts.split(","):
            globals()["part_" + part](b, args)
    finally:
        shutil.rmtree(b.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
