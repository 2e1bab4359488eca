#!/usr/bin/env python3
"""The data path alone on a graph beyond memory: Ginex's preset against its baselines, and topology on disk.

    bench/lookahead.py [--outgrow PATH] [--dataset DIR] [--scratch DIR] [--parts presets,gather,topology,faults] [--epochs 3]

The dataset is rmat, 8 M nodes, 128 M edges, dim 128, 80 k training nodes (4.6 GB). It is generated under --scratch, and
removed unless given. Everything runs with a cold page cache in a memory cgroup of 1500 MB where one can be made, after
`outgrow bench io` has measured the disk. Seconds an epoch are (prepare + all epochs) / epochs.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import time

import suite
from suite import cgroup, drop_caches, table

MB = 1 << 20
BASE = ["--memory", "1400M", "--topology", "memory", "--batch", 1000, "--fanout", "10,10,10"]


class Bench(suite.Suite):
    def epochs(self, dataset, *options, limit=1500, epochs=3, **kw):
        drop_caches()
        with cgroup(limit << 20) as prefix:
            r = self.json("bench", "epoch", dataset, "--epochs", epochs, *options, prefix=prefix, **kw)
        r["average"] = (r["prepare"]["seconds"] + sum(e["seconds"] for e in r["epochs"])) / epochs
        return r


def total(r, key):
    return sum(e[key] for e in r["epochs"])


def row(name, r, base=None):
    hit = total(r, "hits") / total(r, "rows")
    reads = total(r, "feature_bytes_read") + total(r, "prepare_bytes_read") + r["prepare"]["bytes_read"]
    return [name, r["average"], r["average"] / base if base else 1.0, f"{hit:.3f}", r["plan"]["cache_rows"], reads / 1e9 / len(r["epochs"]),
            r["peak_rss_bytes"] / MB]


def part_presets(b, d, args):
    runs = {p: b.epochs(d, "--preset", p, *BASE, epochs=args.epochs) for p in ("ginex", "ali+pg", "pyg+")}
    runs["ginex, a superbatch an epoch"] = b.epochs(d, "--preset", "ginex", "--superbatch", "all", *BASE, epochs=args.epochs)
    runs["fgnn"] = b.epochs(d, "--preset", "fgnn", *BASE, epochs=args.epochs)
    runs["helios"] = b.epochs(d, "--preset", "helios", *BASE, epochs=args.epochs)
    ginex = runs["ginex"]["average"]
    table("Presets, --memory 1400M --topology memory", ["preset", "s an epoch", "times ginex", "hit rate", "rows cached", "GB read an epoch", "peak MiB"],
          [row(name, r, ginex) for name, r in runs.items()])
    return runs


def fio_rate(file, load, *options):
    drop_caches()
    job = ["fio", "--name=rate", f"--filename={file}", "--readonly", "--ioengine=io_uring", "--direct=1", f"--rw={load}", "--runtime=10", "--time_based",
           "--output-format=json", *options]
    return json.loads(subprocess.run(job, capture_output=True, text=True, check=True).stdout)["jobs"][0]["read"]


def part_gather(b, d, args):
    """Does what the gather room does take what its reads take by themselves? Rates are those of the very file: hosts serve
    what was written last faster than what was not."""
    file = f"{d}/features.npy"
    bandwidth = fio_rate(file, "read", "--bs=256k", "--iodepth=16")["bw_bytes"]
    iops = fio_rate(file, "randread", "--bs=4k", "--iodepth=128")["iops"]
    rows = []
    for memory in ("1400M", "900M"):
        r = b.epochs(d, "--preset", "ginex", "--topology", "memory", "--memory", memory, epochs=args.epochs)
        size = total(r, "prepare_bytes_read") + total(r, "feature_bytes_read")
        misses = total(r, "misses")
        ideal = misses / iops + (size - misses * 512) / bandwidth
        rows.append([memory, r["average"], total(r, "gather_seconds"), ideal, total(r, "gather_seconds") / ideal, misses, size / 1e9])
    table(f"Gathering beside its reads alone (misses at {iops / 1e3:.0f} k a second, the rest at {bandwidth / 1e9:.2f} GB/s: fio, same file)",
          ["--memory", "s an epoch", "gather s", "reads alone s", "ratio", "misses", "GB"], rows)
    return rows


def device_reads(path):
    """4 KiB pages that the block device under path has read, by its own count."""
    dev = os.stat(path).st_dev
    stat = pathlib.Path(f"/sys/dev/block/{os.major(dev)}:{os.minor(dev)}/stat").read_text().split()
    return int(stat[2]) * 512 / 4096


def page_rate(path, command):
    """Pages a second that a command has the device read, cold, in 1500 MB."""
    drop_caches()
    before, start = device_reads(path), time.monotonic()
    with cgroup(1500 << 20) as prefix:
        subprocess.run([*prefix, *map(str, command)], stdout=subprocess.DEVNULL, check=True)
    return (device_reads(path) - before) / (time.monotonic() - start)


def part_faults(b, d, args):
    """pyg+ against fio's own page faults, 16 threads, both in the same memory."""
    file = f"{d}/features.npy"
    fio = page_rate(file, ["fio", "--name=faults", f"--filename={file}", "--readonly", "--ioengine=mmap", "--rw=randread", "--bs=4k", "--numjobs=16", "--thread",
                           "--group_reporting", "--runtime=30", "--time_based", "--fadvise_hint=random", "--randrepeat=0", "--norandommap"])
    ours = page_rate(file, [args.outgrow, "bench", "epoch", d, "--epochs", 1, "--preset", "pyg+", "--quiet", *BASE])
    table("Page faults from 16 threads: what the device reads", ["", "4 KiB pages a second"],
          [["fio, mmap", fio], ["--preset pyg+, sampling included", ours], ["ratio", ours / fio]])
    return {"fio": fio, "ours": ours}


def part_topology(b, d, args):
    base = ["--batch", 1000, "--fanout", "10,10,10", "--policy", "degree"]
    variants = [("memory, 1400M", ["--topology", "memory", "--memory", "1400M"]),
                ("disk, 600M", ["--topology", "disk", "--memory", "600M"]),
                ("disk, 600M, no neighbour cache", ["--topology", "disk", "--memory", "600M", "--neighbor-cache", 0]),
                ("disk, 600M, ginex", ["--preset", "ginex", "--memory", "600M"])]
    rows = []
    for name, options in variants:
        r = b.epochs(d, *base[: 4 if "ginex" in name else 6], *options, limit=1500 if "1400" in name else 700, epochs=2)
        e = r["epochs"][-1]
        lists = e["lists_cached"] + e["lists_read"]
        sampled = e["sample_seconds"] / e["rows"] * 1e9
        rows.append([name, r["average"], e["seconds"], e["sample_seconds"], sampled, (e["reads"] - e["misses"]) / e["rows"] if lists else 0.0,
                     e["lists_cached"] / lists if lists else 1.0, e["topology_bytes_read"] / 1e9, e["hits"] / e["rows"], r["peak_rss_bytes"] / MB])
    table("Topology on disk, second epoch", ["topology, --memory", "s an epoch, all", "s", "sampling s (all threads)", "ns a row", "other reads a row", "lists cached",
                                             "GB of topology", "hit rate", "peak MiB"], rows)
    losses = {}
    for name, options in variants[:2] + variants[3:]:
        run = b.scratch / "run"
        shutil.rmtree(run, ignore_errors=True)
        with cgroup((1500 if "1400" in name else 700) << 20) as prefix:
            b.run("train", d, "--run", run, "--quiet", "--epochs", 1, "--hidden", 16, "--layers", 2, "--fanout", "5,5", "--eval-every", 0, *options, prefix=prefix)
        s = json.loads((run / "summary.json").read_text())
        losses[name] = (s["epochs"][0]["loss"], s["peak_rss_bytes"] / MB)
    table("The same loss", ["topology, --memory", "loss", "peak MiB"], [[k, repr(v[0]), v[1]] for k, v in losses.items()])
    return {"rows": rows, "losses": losses}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(suite.ROOT / "build/release/outgrow"))
    p.add_argument("--dataset")
    p.add_argument("--scratch")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--parts", default="presets,gather,faults,topology")
    args = p.parse_args()
    args.reader, args.data = None, "."
    b = Bench(args)
    os.environ.setdefault("XDG_CACHE_HOME", str(b.scratch))
    try:
        d = args.dataset or b.dataset("rmat8m", "--model", "rmat", "--nodes", 8_000_000, "--degree", 16, "--dim", 128, "--classes", 16,
                                      "--train-fraction", 0.01, "--memory", "2G")
        for part in args.parts.split(","):
            globals()["part_" + part](b, pathlib.Path(d), args)
    finally:
        shutil.rmtree(b.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
