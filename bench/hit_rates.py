#!/usr/bin/env python3
"""Hit rates of every policy on several graphs, as Markdown tables.

    bench/hit_rates.py [--outgrow PATH] [--scratch DIR] [--scale X] [--only GRAPH,...] [--samplers [CACHE]] [-- OPTION...]

Graphs: rmat (skewed) and planted. In small (planted with batches smaller than the caches) every batch brings more rows than a cache holds, so a policy that
lets all of them in keeps none long. In clustered there is no skew, and all training nodes are in a few communities; packages is a real graph imported from
$OUTGROW_DATA/debian-packages where that is set. Four epochs of each are simulated with `outgrow simulate`; nothing is trained. --scale 0.1 makes the generated
graphs ten times smaller; options after -- go to simulate, such as --batch 100. With --samplers 5% it shows instead how each policy fares with uniform
neighbours, by weights of edges and by random walks, at that size of the cache. Where the graph has no weights a few are large, spread over edges at random.
Scratch files, up to 1 GiB, lie under --scratch and are removed at the end.
"""
import argparse
import array
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Simulated a group at a time, so that none takes much longer than the others.
GROUPS = [["random", "degree", "pagerank", "presc:1", "presc:2", "frequency", "lru", "rr", "sieve", "s3fifo", "clock", "belady"], ["hybrid"],
          ["hybrid:static"], ["hybrid:dynamic"]]
POLICIES = [p for group in GROUPS for p in group]
CACHES = ["1%", "3%", "5%", "10%", "20%"]
RUN = ["--epochs", "4", "--fanout", "10,10,10", "--batch", "1000"]
SAMPLERS = ["uniform", "weighted", "walk"]
SMALL = ["--fanout", "10,5", "--batch", "100"]

# ---- graphs ----


def write_npy(path, descr, shape, data=None):
    """A .npy file with its data at byte 4096; without data a hole of that size."""
    sizes = {"<i8": 8, "<i4": 4, "<f4": 4}
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 4096 - 10) + header.ljust(4096 - 11).encode() + b"\n")
        if data is not None:
            data.tofile(f)
        size = sizes[descr]
        for n in shape:
            size *= n
        f.truncate(4096 + size)


def clustered(path, nodes, seed=1):
    """A graph where no node has many more edges than another: each has fifteen in-neighbours. Nine of ten are from the node's own community, a fiftieth of the
    nodes. The training nodes are five communities."""
    degree, communities = 15, 50
    rng = random.Random(seed)
    size = nodes // communities
    nodes = size * communities
    indices = array.array("i")
    for v in range(nodes):
        start = v // size * size
        near = set()
        while len(near) < degree:
            near.add(start + int(rng.random() * size) if rng.random() < 0.9 else int(rng.random() * nodes))
        indices.extend(sorted(near))
    path.mkdir()
    write_npy(path / "indptr.npy", "<i8", [nodes + 1], array.array("q", range(0, degree * nodes + 1, degree)))
    write_npy(path / "indices.npy", "<i4", [len(indices)], indices)
    write_npy(path / "features.npy", "<f4", [nodes, 128])
    write_npy(path / "labels.npy", "<i8", [nodes], array.array("q", (v // size for v in range(nodes))))
    write_npy(path / "train.npy", "<i8", [5 * size], array.array("q", range(5 * size)))
    meta = {"format": 1, "name": "clustered", "num_nodes": nodes, "num_classes": communities}
    (path / "meta.json").write_text(json.dumps(meta))


class Graphs:
    def __init__(self, args, scratch):
        self.outgrow, self.scale, self.scratch = args.outgrow, args.scale, scratch

    def run(self, *words):
        r = subprocess.run([self.outgrow, *map(str, words)], capture_output=True, text=True)
        if r.returncode:
            sys.exit(f"outgrow {' '.join(map(str, words))}\n{r.stderr}")

    def generate(self, path, nodes, *options):
        self.run("generate", path, "--nodes", int(nodes * self.scale), "--dim", 128, "--dtype", "u8", "--train-fraction",
                 0.1, "--quiet", *options)

    def make(self, name):
        """The dataset's folder, or None where there is none."""
        path = self.scratch / name
        if name == "rmat":
            self.generate(path, 1_000_000, "--model", "rmat", "--degree", 16)
        elif name in ("planted", "small"):
            self.generate(path, 500_000, "--model", "planted", "--degree", 15)
        elif name == "clustered":
            clustered(path, int(500_000 * self.scale))
        else:
            data = pathlib.Path(os.environ.get("OUTGROW_DATA", "")) / "debian-packages"
            if "OUTGROW_DATA" not in os.environ or not data.is_dir():
                return None
            self.run("import", "npy", data, path, "--symmetrize", "--drop-types", "--quiet")
        return path


# ---- tables ----


def table(title, rows):
    print(f"\n{title}\n\n| | {' | '.join(CACHES)} |\n|{'---|' * (len(CACHES) + 1)}")
    for name, values in rows:
        print(f"| {name} | {' | '.join(values)} |")


def rate_table(title, rates):
    table(title, [(p, [f"{100 * rates[p, c]:.2f} %" for c in CACHES]) for p in POLICIES])


def ratio_table(title, rates):
    def row(name, of, to):
        values = []
        for c in CACHES:
            best = max(rates[p, c] for p in to)
            values.append(f"{rates[of, c] / best:.3f}" if best > 0 else "-")
        return name, values

    others = [p for p in POLICIES if p != "belady"]
    table(title, [
        row("presc:1 / frequency", "presc:1", ["frequency"]),
        row("presc:2 / frequency", "presc:2", ["frequency"]),
        row("presc:1 / degree", "presc:1", ["degree"]),
        row("belady / best other", "belady", others),
        row("hybrid / rr", "hybrid", ["rr"]),
        row("hybrid / better half", "hybrid", ["hybrid:static", "hybrid:dynamic"]),
    ])


def simulate(args, path, policies, options, caches=CACHES):
    """What `outgrow simulate` counts for these policies, with the seconds it took."""
    result = args.scratch_dir / "result.json"
    result.unlink(missing_ok=True)
    start = time.monotonic()
    r = subprocess.run([args.outgrow, "simulate", path, "--policy", ",".join(policies), "--cache", ",".join(caches), "--json",
                        result, "--quiet", *RUN, *options], capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"{path}: {r.stderr}")
    return {**json.loads(result.read_text()), "seconds": time.monotonic() - start}


def measure(args, name, path):
    options = (SMALL if name == "small" else []) + args.options
    told = [simulate(args, path, group, options) for group in GROUPS]
    seconds = ", ".join(f"{t['seconds']:.1f}" for t in told)
    print(f"\n## {name}: {told[0]['num_nodes']:,} nodes, {told[0]['rows']:,} rows in {told[0]['batches']} batches; "
          f"simulated in {seconds} s")
    for key in ("hit_rate", "hit_rate_with_prefill"):
        rates = {(r["policy"], r["cache"]): r[key] for t in told for r in t["results"]}
        rate_table(key, rates)
        ratio_table(f"ratios of {key}", rates)
    sys.stdout.flush()


def add_weights(path):
    """Pareto weights, in .npy order of the edges."""
    if (path / "weights.npy").exists():
        return
    rng = random.Random(1)
    with open(path / "indices.npy", "rb") as f:
        head = f.read(256).decode("latin1")
    edges = int(head.split("'shape': (")[1].split(",")[0])
    weights = array.array("f", (rng.paretovariate(2) - 1 for _ in range(edges)))
    write_npy(path / "weights.npy", "<f4", [edges], weights)


def compare_samplers(args, name, path):
    add_weights(path)
    rates, told = {}, None
    for sampler in SAMPLERS:
        options = (SMALL if name == "small" else []) + ["--sampler", sampler] + args.options
        for group in GROUPS[:2]:
            told = simulate(args, path, group, options, [args.samplers])
            for r in told["results"]:
                rates[r["policy"], sampler] = r["hit_rate"]
        rates["rows", sampler] = told["rows"]
    print(f"\n## {name}: {told['num_nodes']:,} nodes, cache {args.samplers}\n")
    print(f"| | {' | '.join(SAMPLERS)} |\n|{'---|' * (len(SAMPLERS) + 1)}")
    print(f"| rows | {' | '.join(format(rates['rows', s], ',') for s in SAMPLERS)} |")
    for p in [p for group in GROUPS[:2] for p in group]:
        print(f"| {p} | {' | '.join(f'{100 * rates[p, s]:.2f} %' for s in SAMPLERS)} |")
    sys.stdout.flush()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--outgrow", default=ROOT / "build/release/outgrow")
    ap.add_argument("--scratch", default=None)
    ap.add_argument("--scale", type=float, default=1)
    ap.add_argument("--only", default="rmat,planted,small,packages,clustered")
    ap.add_argument("--samplers", nargs="?", const="5%", metavar="CACHE")
    ap.add_argument("options", nargs="*")
    args = ap.parse_args()
    args.scratch_dir = pathlib.Path(tempfile.mkdtemp(prefix="outgrow-hits-", dir=args.scratch))
    try:
        graphs = Graphs(args, args.scratch_dir)
        for name in args.only.split(","):
            path = graphs.make(name)
            if path:
                (compare_samplers if args.samplers else measure)(args, name, path)
                shutil.rmtree(path)
            else:
                print(f"\n## {name}: left out, OUTGROW_DATA is not set")
    finally:
        shutil.rmtree(args.scratch_dir, ignore_errors=True)


if __name__ == "__main__":
    main()
