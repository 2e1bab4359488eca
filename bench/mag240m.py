#!/usr/bin/env python3
"""A graph shaped as MAG240M at a hundredth, from OGB's files to a trained model. Memory is a quarter of its size.

    bench/mag240m.py [--outgrow PATH] [--scratch DIR] [--share 0.01] [--memory SIZE] [--batch 128] [--fanout 10,5] [--hidden 128] [--embedding 8] [--keep]

The graph of Hu et al. 2021 (OGB-LSC), table 1, times --share. Nodes: 121.8 M papers with 768 features as f16, 122.4 M authors and 25,721 institutions without
features. Edges: 386 M writes, 1,298 M cites, 44.6 M affiliated with. 153 classes, 1.1 M papers to train on. It is written as `mag240m_kddcup2021/` unpacks, and
imported by `outgrow import ogb --in-place --reverse-relations`. Citations and writers follow popularity, two citations in three are within a class, and
features are around a point of each class.

Relational GraphSAGE trains an epoch for each plan of rows and lists, from a cold page cache. It has as many layers as --fanout has numbers, and learnable
embeddings for authors and institutions. The bytes of the checkpoint have to be the same for all of them. The peak of memory has to be within --memory (given or
a quarter of what is on the disk). Exit status 1 where one of these is not so, or one of bytes.
  - Reported bytes are those of the process's read calls (rchar of its /proc/PID/io at its end). They differ by ITSELF at most: what it reads
    of itself there, and heads of files that it wrote.
  - The disk read (getrusage) the reported bytes, but for repeated reads, which the page cache serves. Those are labels, which each split takes
    out by a pass of its own, and spilled batches, in training and evaluations. Also 1 MiB at most of each array, to recognise the dataset.

2.5 GB under --scratch, which has to be on a disk, removed afterwards unless kept.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time

import numpy as np

import suite
from bytes import put_out, told
from suite import Suite, table

PAPERS, AUTHORS, INSTITUTIONS = 121_751_666, 122_383_112, 25_721
EDGES = {("author", "writes", "paper"): 386_022_720, ("paper", "cites", "paper"): 1_297_748_926, ("author", "affiliated_with", "institution"): 44_592_586}
ITSELF, LOOKED_AT = 512 << 10, 256 * 4096
TRAINED, VALID, CLASSES, WIDTH = 1_112_392, 138_949, 153, 768
WAYS = {"auto": [], "none": ["--policy", "none"], "random": ["--policy", "random"], "degree": ["--policy", "degree"], "presc": ["--policy", "presc"],
        **{policy: ["--policy", policy] for policy in ("lru", "rr", "sieve", "s3fifo", "clock", "belady", "frequency")},
        "degree, packed": ["--policy", "degree", "--layout", "packed"], "frequency, packed": ["--policy", "frequency", "--layout", "packed"],
        "belady, packed": ["--policy", "belady", "--layout", "packed"], "none, packed": ["--policy", "none", "--layout", "packed"],
        "frequency, packed, in turns": ["--policy", "frequency", "--layout", "packed", "--phased-memory"],
        "degree, segmented": ["--policy", "degree", "--layout", "segmented"],
        "degree, one thread, no pipeline": ["--policy", "degree", "--threads", 1, "--pipeline", "none"],
        "none, lists on disk": ["--policy", "none", "--topology", "disk"], "degree, lists on disk": ["--policy", "degree", "--topology", "disk"],
        "clock, lists on disk": ["--policy", "clock", "--topology", "disk"],
        "belady, lists on disk": ["--policy", "belady", "--topology", "disk"],
        "presc, lists on disk": ["--policy", "presc", "--topology", "disk"],
        "frequency, packed, lists on disk": ["--policy", "frequency", "--layout", "packed", "--topology", "disk"]}


def popular(rng, n, size):
    """Ids of n things, the few first ones most often."""
    return (n * rng.random(size) ** 2.5).astype(np.int64)


class Source:
    def __init__(self, home, share):
        self.home, self.rng = home, np.random.default_rng(1)
        self.n = {"paper": round(PAPERS * share), "author": round(AUTHORS * share), "institution": max(round(INSTITUTIONS * share), 2)}
        self.edges = {relation: round(n * share) for relation, n in EDGES.items()}
        self.splits = {"train": round(TRAINED * share), "valid": round(VALID * share), "test": round(VALID * share)}
        self.label = self.rng.integers(0, CLASSES, self.n["paper"])
        home.mkdir(parents=True)

    def folder(self, *words):
        path = self.home / "processed" / "___".join(words)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def write_papers(self):
        labels = self.label.astype(np.float32)
        known = self.rng.permutation(self.n["paper"])[: sum(self.splits.values())]
        for name, ids in zip(self.splits, np.split(known, np.cumsum(list(self.splits.values()))[:-1])):
            np.save(self.home / f"{name}.npy", np.sort(ids))
        unknown = np.ones(len(labels), bool)
        unknown[known] = False
        labels[unknown] = np.nan
        np.save(self.folder("paper") / "node_label.npy", labels)
        points, out = self.rng.standard_normal((CLASSES, WIDTH), np.float32) * 0.1, self.folder("paper") / "node_feat.npy"
        rows = np.lib.format.open_memmap(out, "w+", np.float16, (self.n["paper"], WIDTH))
        for first in range(0, len(rows), 20_000):
            of = self.label[first : first + 20_000]
            rows[first : first + len(of)] = points[of] + self.rng.standard_normal((len(of), WIDTH), np.float32)
        rows.flush()

    def ends(self, relation, size):
        source, name, destination = relation
        to = popular(self.rng, self.n[destination], size)
        if name != "cites":
            return popular(self.rng, self.n[source], size), to
        by_class = np.argsort(self.label, kind="stable")
        first = np.searchsorted(self.label[by_class], np.arange(CLASSES + 1))
        of = self.rng.integers(0, self.n["paper"], size)
        lo, hi = first[self.label[of]], first[self.label[of] + 1]
        alike = by_class[lo + ((hi - lo) * self.rng.random(size)).astype(np.int64)]
        return of, np.where(self.rng.random(size) < 2 / 3, alike, to)

    def write_edges(self):
        for relation, size in self.edges.items():
            source, _, destination = relation
            a, b = self.ends(relation, size)
            a[-1], b[-1] = self.n[source] - 1, self.n[destination] - 1  # there are as many as the largest id says
            np.save(self.folder(*relation) / "edge_index.npy", np.stack([a, b]))


def bytes_under(*folders):
    return sum(f.stat().st_size for folder in folders for f in folder.rglob("*") if f.is_file())


def train(b, path, home, options):
    """Trains. Returns summary, checkpoint, bytes of the process's read calls, and bytes that the disk read for it."""
    run = b.scratch / "run"
    shutil.rmtree(run, ignore_errors=True)
    put_out(home)
    put_out(path)
    child = subprocess.Popen([b.outgrow, "train", str(path), "--run", str(run), "--quiet", *map(str, options)], stdout=subprocess.DEVNULL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    asked = int(re.search(r"rchar: (\d+)", open(f"/proc/{child.pid}/io").read())[1])
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if status:
        sys.exit(f"outgrow train: ended with {child.returncode}: {' '.join(map(str, options))}")
    return json.loads((run / "summary.json").read_text()), (run / "checkpoint.safetensors").read_bytes(), asked, used.ru_inblock * 512


def asked_again(path, summary):
    """Bytes that may come from the page cache, at most."""
    looked_at = sum(min(f.stat().st_size, LOOKED_AT) for f in path.rglob("*.npy"))
    return 2 * (path / "labels.npy").stat().st_size + looked_at + 2 * sum(e["trace_bytes_read"] for e in summary["epochs"])


def make(b, args):
    home, path, start = b.scratch / "mag240m_kddcup2021", b.scratch / "graph", time.monotonic()
    source = Source(home, args.share)
    source.write_papers()
    source.write_edges()
    made = time.monotonic()
    b.json("import", "ogb", home, path, "--in-place", "--reverse-relations", "--memory", "300M")
    whole = bytes_under(path) + (home / "processed/paper/node_feat.npy").stat().st_size
    print(f"{sum(source.n.values()):,} nodes, {sum(source.edges.values()):,} edges and as many backwards, {whole / 1e9:.2f} GB; written in "
          f"{made - start:.0f} s, imported in {time.monotonic() - made:.0f} s", flush=True)
    return home, path, whole


def measure(b, args):
    home, path, whole = make(b, args)
    memory = args.memory or f"{whole // 4 >> 20}M"
    common = ["--fanout", args.fanout, "--batch", args.batch, "--hidden", args.hidden, "--embedding", args.embedding, "--epochs", 1, "--memory", memory, "--seed", 1, "--io", args.io]
    rows, first, wrong = [], None, []
    for name, options in WAYS.items():
        r, checkpoint, asked, read = train(b, path, home, common + options)
        first, e = first or checkpoint, r["epochs"][0]
        said, peak = told(r)[0], r["peak_rss_bytes"]
        right = {"bits": checkpoint == first, "memory": peak <= r["memory_budget_bytes"], "asked": 0 <= asked - said <= ITSELF,
                 "read": -ITSELF <= said - read <= asked_again(path, r) + ITSELF}
        wrong += [f"{name}: {what}" for what, holds in right.items() if not holds]
        rows.append([name, e["seconds"] + r["prepare"]["seconds"], e["hits"] / max(e["rows"], 1), said / 1e6, (asked - said) / 1e6, (said - read) / 1e6, asked_again(path, r) / 1e6, peak / (1 << 20), e["valid_acc"]])
        print(rows[-1], right, flush=True)
    table(f"--memory {memory} of {whole / (1 << 20):.0f} MiB, {args.fanout}, batches of {args.batch}, width {args.hidden}: {len(first) / (1 << 20):.1f} MiB of checkpoint, the same bytes in all",
          ["", "s", "hit rate", "MB told", "MB asked beside", "MB told, not read", "MB asked again at most", "peak MiB", "valid acc"], rows)
    if wrong:
        sys.exit("; ".join(wrong))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(suite.ROOT / "build/release/outgrow"))
    p.add_argument("--scratch")
    p.add_argument("--share", type=float, default=0.01, help="of MAG240M's nodes and edges")
    p.add_argument("--memory", help="unless given, a quarter of what is on the disk")
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--fanout", default="10,5")
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--embedding", type=int, default=8, help="width of the rows that authors and institutions have, which are learnt")
    p.add_argument("--io", default="pread")
    p.add_argument("--keep", action="store_true")
    args = p.parse_args()
    args.reader, args.data = None, "."
    b = Suite(args)
    try:
        measure(b, args)
    finally:
        if not args.keep:
            shutil.rmtree(b.scratch)


if __name__ == "__main__":
    main()
