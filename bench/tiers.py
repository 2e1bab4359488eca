#!/usr/bin/env python3
"""Hits by tier of a device's cache over the host's, with the ratios of the papers' figures. Nothing is trained or timed.

    bench/tiers.py [--outgrow PATH] [--scratch DIR] [--data DIR] [--parts fgnn,helios,lsm] [--scale 1]

Parts:
    fgnn    the device's cache over features that are all in the host's memory. Yang et al. 2022, Figures 10 to 12
    helios  one ranking, two thresholds, the rest on disk (Sun et al. 2023, Figures 8 to 10)
    lsm     eviction policies with and without a victim buffer, and two-tier Belady at equal bytes. Park et al. 2024, Figures 10 and 11

Graphs are rmat and planted, generated with 1 M and 500,000 nodes times --scale. Also those under --data that `outgrow import npy` takes. What the papers time
and this only counts is named so: bytes over the link stand for their extraction, bytes from disk for their transfers.
"""
import argparse
import json
import os
import shutil

from regimes import real_graphs
from suite import ROOT, Suite, table

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
    """Name, folder and options of a run on each."""
    for name in ("rmat", "planted"):
        yield name, generated(b, args, name), ["--batch", 1000, "--fanout", "15,10,5"]
    for name, path in real_graphs(b, args):
        yield name, path, ["--batch", 100, "--fanout", "15,10,5"]


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


def optimal(b, path, sizes, options, batches):
    """What all epochs visit most is known in advance."""
    return simulate(b, path, "degree", "100%", "frequency", ",".join(sizes), *options, "--superbatch", batches)[1]


def fgnn_graph(b, name, path, options):
    sizes = RATIOS + list(DIMS.values())
    options = ["--epochs", 4, *options]
    told, by = simulate(b, path, "degree", "100%", ",".join(RANKINGS), ",".join(sizes), *options)
    by.update(optimal(b, path, sizes, options, told["batches"]))
    hits = {(p, s): rate(by[p, s, "degree", "100%"], "device_hits") for p in RANKINGS + ["frequency"] for s in sizes}
    return hits


def part_fgnn(b, args):
    hits = {name: fgnn_graph(b, name, path, options) for name, path, options in graphs(b, args)}
    rows = []
    for name, h in hits.items():
        best = h["frequency", "10%"]
        rows.append([name, *(f"{h[p, '10%']:.3f}" for p in RANKINGS), f"{best:.3f}", f"{h['presc:1', '10%'] / best:.3f}",
                     f"{h['presc:1', '10%'] / h['degree', '10%']:.2f}"])
    table("Hit rates of a device's cache of 10 % (Figure 10). The paper: presc:1 0.90 to 0.99 of optimal, 1.5 times degree in the mean, up to 2.2",
          ["graph", *RANKINGS, "optimal", "presc:1 / optimal", "presc:1 / degree"], rows)
    rows = [[name, p, *(f"{h[p, s]:.3f}" for s in RATIOS)] for name, h in hits.items() for p in RANKINGS + ["frequency"]]
    table("Hit rates by the share that is cached (Figure 11 a, b). The paper at 5 % of ogbn-papers100M: presc 0.96, degree below 0.29, random below 0.05",
          ["graph", "policy", *RATIOS], rows)
    rows = []
    for name, h in hits.items():
        for other in ("degree", "random"):
            rows.append([name, other, *(f"{(1 - h[other, s]) / max(1 - h['presc:1', s], 1e-9):.2f}" for s in DIMS.values())])
    table("Bytes over the link, in times those of presc:1, with as much memory for any width (Figure 11 c). The paper at 900: 4 times",
          ["graph", "policy", *(f"dim {d}, {s}" for d, s in DIMS.items())], rows)
    rows = []
    for name, h in hits.items():
        left = 1 - h["presc:1", "10%"]
        rows.append([name, *(f"{1 - left / (1 - h[p, '10%']):.2f}" for p in ("degree", "random"))])
    table("Share of the bytes over the link that presc:1 saves at 10 % (Figure 12). The paper, of seconds of extraction: 0.39 of degree's, 0.73 of random's, "
          "in the mean", ["graph", "of degree's", "of random's"], rows)


# ---- Helios: two thresholds ----


def part_helios(b, args):
    rows = []
    for name, path, options in graphs(b, args):
        _, by = simulate(b, path, "presc:1", "0%,10%,30%", "presc:1", "0%,2%,5%", "--epochs", 3, *options)
        by = {(d, h): by["presc:1", d, "presc:1", h] for d in ("0%", "2%", "5%") for h in ("0%", "10%", "30%")}
        none = by["0%", "0%"]
        for device, host in (("0%", "0%"), ("0%", "10%"), ("2%", "10%"), ("5%", "10%"), ("0%", "30%"), ("5%", "30%")):
            r = by[device, host]
            rows.append([name, device, host, *(f"{rate(r, k):.3f}" for k in ("device_hits", "host_hits", "misses")),
                         f"{none['misses'] / max(r['misses'], 1):.2f}", f"{by['0%', host]['link_bytes'] / max(r['link_bytes'], 1):.2f}"])
    table("presc:1 on the device, then in the host's memory (Figures 8 to 10). The paper: 0.70 of the transfers from disk saved by 10 % in host memory; with it up to "
          "1.73 (2 disks) and 2.91 times (dim 128) as fast; with the device's cache beside it 1.09 to 1.48 times as fast",
          ["graph", "device", "host", "device hits", "host hits", "disk", "times fewer rows from disk", "times fewer bytes over the link"], rows)


# ---- LSM-GNN: what leaves, and where it goes ----

LSM = ["--fanout", "5,2,2,2", "--batch", 16, "--epochs", 2]
IN_BATCHES = {"4 GB": 16.5, "8 GB": 33, "16 GB": 66}  # what caches hold where a batch has 62 000 rows of 4 KiB
DEPTH = 16384 / 62000  # of a ring, in batches
# hit rates in the text of the paper; it gives no others
PAPER = {"rr": ("-", "-", "0.23"), "hybrid:static": ("0.19", "0.27", "0.37"), "hybrid:dynamic": ("-", "-", "-"), "hybrid": ("0.25", "0.33", "0.48")}
PAPER_PVP = {"hybrid": ("0.52", "0.60", "0.69")}


def ratios(of, to):
    return ["-" if "-" in (x, y) else f"{float(x) / float(y):.2f}" for x, y in zip(of, to)]


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
