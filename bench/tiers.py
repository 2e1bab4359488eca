#!/usr/bin/env python3
"""Hits by tier of a device's cache over the host's, with the ratios of the papers' figures. Nothing is trained or timed.

    bench/tiers.py [--outgrow PATH] [--scratch DIR] [--data DIR] [--parts fgnn,helios,lsm] [--scale 1]

Parts:
    fgnn    the device's cache over features that are all in the host's memory, by the paper's models. Yang et al. 2022, Figures 10 to 12
    helios  one ranking, two thresholds, the rest on disk, and by widths of rows. Sun et al. 2023, Figures 8 to 10
    lsm     eviction policies with and without a victim buffer, and by hybrid's threshold. Two-tier Belady at equal bytes. Park et al. 2024, Figures 10 and 11

Graphs are rmat, planted and clustered, generated with 1 M, 500,000 and 500,000 nodes times --scale. In clustered all training nodes are in a few communities.
Also those under --data that `outgrow import npy` takes. What the papers time and this only counts is named so: bytes over the link stand for their
extraction, bytes from disk for their transfers.
"""
import argparse
import json
import os
import shutil
import statistics

from hit_rates import clustered, write_npy
from regimes import real_graphs
from suite import ROOT, Suite, add_weights, table

GRAPHS = {
    "rmat": (1_000_000, ["--model", "rmat", "--degree", 16, "--dim", 1, "--dtype", "u8", "--train-fraction", 0.05]),
    "planted": (500_000, ["--model", "planted", "--degree", 15, "--dim", 1, "--dtype", "u8", "--train-fraction", 0.05]),
    # batches of 16 seeds, as many an epoch as the paper warms up and measures
    "windows": (1_000_000, ["--model", "rmat", "--degree", 12, "--dim", 1, "--dtype", "u8", "--train-fraction", 0.016]),
}


def generated(b, args, name):
    nodes, options = GRAPHS[name]
    return b.dataset(name, "--nodes", int(nodes * args.scale), *options)


def graphs(b, args):
    """Name, folder and seeds of a batch of each: as many batches an epoch at any scale."""
    batch = max(int(1000 * args.scale), 1)
    for name in ("rmat", "planted"):
        yield name, generated(b, args, name), batch
    path = b.scratch / "clustered"
    if not path.exists():
        clustered(path, int(500_000 * args.scale))
    yield "clustered", path, batch
    for name, path in real_graphs(b, args):
        yield name, path, 100


def simulate(b, path, policy, cache, device_policy, device_memory, *options):
    """Results by (device policy, device memory, policy, cache)."""
    out = b.scratch / "told.json"
    out.unlink(missing_ok=True)
    b.run("simulate", path, "--policy", policy, "--cache", cache, "--device-policy", device_policy, "--device-memory", device_memory, "--json", out,
          "--quiet", *options)
    told = json.loads(out.read_text())
    return told, {(r["device_policy"], r["device_memory"], r["policy"], r["cache"]): r for r in told["results"]}


def rate(r, *keys):
    return sum(r[k] for k in keys) / r["rows"]


# ---- FGNN: the host holds everything ----

RANKINGS = ["random", "degree", "presc:1", "presc:2"]
RATIOS = ["1%", "3%", "5%", "10%", "20%", "30%"]
# 5 GB of 111 M rows of so many float32, in per cent of the rows
DIMS = {dim: f"{100 * 5e9 / (111e6 * 4 * dim):.3f}%" for dim in (100, 300, 500, 700, 900)}


# How the paper's models draw (§7.1). Weights are Pareto's where a graph has none.
MODELS = {
    "GCN": ["--fanout", "15,10,5"],
    "GCN, weighted": ["--sampler", "weighted", "--fanout", "15,10,5"],
    "GraphSAGE": ["--fanout", "25,10"],
    "PinSAGE": ["--sampler", "walk", "--fanout", "5,5,5"],
}


def fgnn_hits(b, path, sizes, options):
    """Shares of rows found on the device, by ranking and size. What all epochs visit most is known to `frequency` in advance."""
    options = ["--epochs", 4, *options]
    told, by = simulate(b, path, "degree", "100%", ",".join(RANKINGS), ",".join(sizes), *options)
    by.update(simulate(b, path, "degree", "100%", "frequency", ",".join(sizes), *options, "--superbatch", told["batches"])[1])
    return {(p, s): rate(by[p, s, "degree", "100%"], "device_hits") for p in RANKINGS + ["frequency"] for s in sizes}


def fgnn_row(name, model, h):
    best, ours = h["frequency", "10%"], h["presc:1", "10%"]
    saved = (f"{1 - (1 - ours) / (1 - h[p, '10%']):.2f}" for p in ("degree", "random"))
    return [name, model, *(f"{h[p, '10%']:.3f}" for p in RANKINGS), f"{best:.3f}", f"{ours / best:.3f}", f"{ours / h['degree', '10%']:.2f}", *saved]


def part_fgnn(b, args):
    hits, rows = {}, []
    for name, path, batch in graphs(b, args):
        add_weights(path)
        for model, options in MODELS.items():
            sizes = RATIOS + list(DIMS.values()) if model == "GCN" else ["10%"]
            h = fgnn_hits(b, path, sizes, ["--batch", batch, *options])
            rows.append(fgnn_row(name, model, h))
            print(rows[-1], flush=True)
            hits.setdefault(name, h)
    table("Hit rates of a device's cache of 10 % (Figure 10), and the share of the bytes over the link that presc:1 saves (Figure 12). The paper: presc:1 0.90 to "
          "0.99 of optimal, 1.5 times degree in the mean, up to 2.2; 0.39 of degree's seconds of extraction saved, 0.73 of random's, in the mean",
          ["graph", "model", *RANKINGS, "optimal", "presc:1 / optimal", "presc:1 / degree", "of degree's", "of random's"], rows)
    times = [float(row[-3]) for row in rows]
    print(f"presc:1 / degree: mean {statistics.mean(times):.2f}, {min(times)} to {max(times)}")
    rows = [[name, p, *(f"{h[p, s]:.3f}" for s in RATIOS)] for name, h in hits.items() for p in RANKINGS + ["frequency"]]
    table("GCN: hit rates by the share that is cached (Figure 11 a, b). The paper at 5 % of ogbn-papers100M: presc 0.96, degree below 0.29, random below 0.05",
          ["graph", "policy", *RATIOS], rows)
    rows = []
    for name, h in hits.items():
        for other in ("degree", "random"):
            rows.append([name, other, *(f"{(1 - h[other, s]) / max(1 - h['presc:1', s], 1e-9):.2f}" for s in DIMS.values())])
    table("GCN: bytes over the link, in times those of presc:1, with as much memory for any width (Figure 11 c). The paper at 900: 4 times",
          ["graph", "policy", *(f"dim {d}, {s}" for d, s in DIMS.items())], rows)


# ---- Helios: two thresholds ----


# The paper's models draw two hops (§4.1).
HELIOS = ["--fanout", "25,10", "--epochs", 3]
WIDTHS = (128, 256, 512, 1024)


def of_width(b, path, name, dim):
    """The same graph with rows of so many float32, which nobody reads."""
    wide = b.scratch / f"{name}-{dim}"
    wide.mkdir()
    meta = json.loads((path / "meta.json").read_text())
    for file in path.iterdir():
        if file.name not in ("features.npy", "meta.json"):
            os.link(file, wide / file.name)
    write_npy(wide / "features.npy", "<f4", [meta["num_nodes"], dim])
    (wide / "meta.json").write_text(json.dumps({"format": 1, **{k: meta[k] for k in ("name", "num_nodes", "num_classes")}}))
    return wide


def helios_widths(b, name, path, batch):
    """Requests and bytes from disk without a cache, over those with 10 % in the host's memory."""
    for dim in WIDTHS:
        wide = of_width(b, path, name, dim)
        _, by = simulate(b, wide, "presc:1", "0%,10%", "presc:1", "0%", "--batch", batch, *HELIOS)
        none, some = (by["presc:1", "0%", "presc:1", c] for c in ("0%", "10%"))
        yield [name, dim, *(f"{none[k] / max(some[k], 1):.2f}" for k in ("misses", "reads", "bytes_read")),
               *(f"{r['bytes_read'] / (r['misses'] * 4 * dim):.2f}" for r in (none, some))]
        shutil.rmtree(wide)


def part_helios(b, args):
    rows, widths = [], []
    for name, path, batch in graphs(b, args):
        _, by = simulate(b, path, "presc:1", "0%,10%,30%", "presc:1", "0%,2%,5%", "--batch", batch, *HELIOS)
        by = {(d, h): by["presc:1", d, "presc:1", h] for d in ("0%", "2%", "5%") for h in ("0%", "10%", "30%")}
        none = by["0%", "0%"]
        for device, host in (("0%", "0%"), ("0%", "10%"), ("2%", "10%"), ("5%", "10%"), ("0%", "30%"), ("5%", "30%")):
            r = by[device, host]
            rows.append([name, device, host, *(f"{rate(r, k):.3f}" for k in ("device_hits", "host_hits", "misses")),
                         f"{none['misses'] / max(r['misses'], 1):.2f}", f"{by['0%', host]['link_bytes'] / max(r['link_bytes'], 1):.2f}"])
        widths += helios_widths(b, name, path, batch)
    table("presc:1 on the device, then in the host's memory (Figures 8 to 10). The paper: 0.70 of the transfers from disk saved by 10 % in host memory; with the "
          "device's cache besides 1.09 to 1.48 times as fast",
          ["graph", "device", "host", "device hits", "host hits", "disk", "times fewer rows from disk", "times fewer bytes over the link"], rows)
    table("10 % in the host's memory, by the width of rows (Figures 8 and 9). The paper, times as fast: up to 1.73 (dim 1024, 2 disks), up to 2.91 (dim 128, 12 "
          "disks)", ["graph", "dim", "times fewer rows from disk", "requests", "bytes", "bytes read a byte of rows, no cache", "with the cache"], widths)


# ---- LSM-GNN: what leaves, and where it goes ----

LSM = ["--fanout", "5,2,2,2", "--batch", 16, "--epochs", 2]
IN_BATCHES = {"4 GB": 16.5, "8 GB": 33, "16 GB": 66}  # what caches hold where a batch has 62 000 rows of 4 KiB
DEPTH = 16384 / 62000  # of a ring, in batches
# hit rates in the text of the paper; it gives no others
PAPER = {"rr": ("-", "-", "0.23"), "hybrid:static": ("0.19", "0.27", "0.37"), "hybrid:dynamic": ("-", "-", "-"), "hybrid": ("0.25", "0.33", "0.48")}
PAPER_PVP = {"hybrid": ("0.52", "0.60", "0.69")}
THRESHOLDS = (16, 32, 64, 96, 128)  # of a window of 256; the paper's is 32


def ratios(of, to):
    return ["-" if "-" in (x, y) else f"{float(x) / float(y):.2f}" for x, y in zip(of, to)]


def victim_thresholds(b, path, sizes, depth):
    """hybrid with and without rings, by the threshold from which a next use is far."""
    names = {t: f"hybrid:threshold={t}" for t in THRESHOLDS}
    by = {victim: simulate(b, path, "none", "0%", ",".join(names.values()), ",".join(sizes), *LSM, "--victim", victim)[1] for victim in ("off", f"pvp:depth={depth}")}
    lines = []
    for t, name in names.items():
        off, on = ([of[name, s, "none", "0%"]["hit_rate"] for s in sizes] for of in by.values())
        lines.append([f"{t} of 256", *(f"{x:.3f}" for x in off + on), *(f"{y / x:.2f}" for x, y in zip(off, on))])
    table("hybrid by threshold: hit rates without rings, with them, and how many times as many. The paper, at 32: 2.1, 1.8 and 1.4 times",
          ["threshold", *(f"{r}, {k}" for r in ("no rings", "rings", "times") for k in IN_BATCHES)], lines)


def part_lsm(b, args):
    path = generated(b, args, "windows")
    told, _ = simulate(b, path, "none", "0%", "rr", "1%", *LSM)
    rows, nodes = told["rows"] / told["batches"], told["num_nodes"]
    sizes = [f"{100 * n * rows / nodes:.3f}%" for n in IN_BATCHES.values()]
    depth = max(round(DEPTH * rows), 1)
    ring_rows = 256 * depth
    equal = f"{100 * ring_rows / nodes:.4f}%"
    memory = ",".join(sizes)
    names = ["rr", "hybrid:static", "hybrid:dynamic", "hybrid"]
    _, plain = simulate(b, path, "none", "0%", ",".join(names), memory, *LSM)
    _, pvp = simulate(b, path, "none", "0%", ",".join(names), memory, *LSM, "--victim", f"pvp:depth={depth}")
    lines = []
    for p in names:
        ours = [plain[p, s, "none", "0%"] for s in sizes]
        times = (plain["hybrid", s, "none", "0%"]["hits"] / r["hits"] for s, r in zip(sizes, ours))
        lines.append([p, *(f"{r['hit_rate']:.3f}" for r in ours), *PAPER[p], *(f"{x:.2f}" for x in times), *ratios(PAPER["hybrid"], PAPER[p])])
    table(f"Hit rates of caches of {', '.join(map(str, IN_BATCHES.values()))} batches of {rows:.0f} rows (Figure 10; the paper's 4, 8 and 16 GB), and how many times as many hybrid's are",
          ["policy", *IN_BATCHES, *(f"paper, {k}" for k in IN_BATCHES), *(f"hybrid / it, {k}" for k in IN_BATCHES), *(f"paper, {k}" for k in IN_BATCHES)], lines)
    lines = []
    for p in names:
        ours = [pvp[p, s, "none", "0%"] for s in sizes]
        paper = PAPER_PVP.get(p, ["-"] * 3)
        times = (r["hits"] / plain[p, s, "none", "0%"]["hits"] for s, r in zip(sizes, ours))
        lines.append([f"{p} + pvp", *(f"{r['hit_rate']:.3f}" for r in ours), *paper, *(f"{x:.2f}" for x in times), *ratios(paper, PAPER[p]), *(f"{r['victim_hits'] / r['rows']:.3f}" for r in ours),
                      *(f"{r['victim_dropped'] / max(r['victim_dropped'] + r['victim_pushed'], 1):.2f}" for r in ours)])
    table(f"With 256 rings of {depth} rows (Figure 11): hit rates; how many times as many hits as without; hits from the rings; share of victims whose ring was full",
          ["policy", *IN_BATCHES, *(f"paper, {k}" for k in IN_BATCHES), *(f"times, {k}" for k in IN_BATCHES), *(f"paper, {k}" for k in IN_BATCHES),
           *(f"rings, {k}" for k in IN_BATCHES), *(f"full, {k}" for k in IN_BATCHES)], lines)
    victim_thresholds(b, path, sizes, depth)
    pairs = {"hybrid + pvp": [pvp["hybrid", s, "none", "0%"] for s in sizes]}
    for device, host in (("hybrid", "pagerank"), ("hybrid", "presc:1"), ("hybrid", "lru"), ("hybrid", "belady"), ("belady", "belady")):
        _, by = simulate(b, path, host, equal, device, memory, *LSM)
        pairs[f"{device} over {host}"] = [by[device, s, host, equal] for s in sizes]
    lines = [[name, *(f"{r['hit_rate']:.3f}" for r in rs), *(f"{r['hit_rate_with_prefill']:.3f}" for r in rs), *(f"{rate(r, 'device_hits'):.3f}" for r in rs),
              *(f"{r['link_bytes_back'] / r['link_bytes']:.2f}" for r in rs)] for name, rs in pairs.items()]
    table(f"The rings' {ring_rows} rows as a cache in the host's memory: hit rates; with prefilled rows as misses; of the device's cache; bytes back over the link, in "
          "times those to the device", ["pair", *IN_BATCHES, *(f"prefill, {k}" for k in IN_BATCHES), *(f"device, {k}" for k in IN_BATCHES), *(f"back, {k}" for k in IN_BATCHES)],
          lines)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=ROOT / "build/release/outgrow")
    p.add_argument("--scratch")
    p.add_argument("--data", default=".")
    p.add_argument("--parts", default="fgnn,helios,lsm")
    p.add_argument("--scale", type=float, default=1)
    args = p.parse_args()
    args.reader = None
    b = Suite(args)
    os.environ.setdefault("XDG_CACHE_HOME", str(b.scratch))
    try:
        for part in args.parts.split(","):
            globals()["part_" + part](b, args)
    finally:
        shutil.rmtree(b.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
