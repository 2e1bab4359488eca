#!/usr/bin/env python3
"""Bytes in results, compared with what the kernel counted for the process: reads and writes of its disk.

    bench/bytes.py [--outgrow PATH] [--scratch DIR] [--nodes 1000000] [--degree 16] [--dim 128] [--epochs 2] [--memory 400M]
                  [--only NAME,...]

A graph is generated under --scratch, which has to be on a disk, and removed again. It takes 600 MB with these numbers, and what is sampled and packed about
as much. Before each command every file of the graph, of samples, packs
and runs is flushed and put out of the page cache (POSIX_FADV_DONTNEED, no root needed). The command's own count is that of its `getrusage` at its end:
ru_inblock and ru_oublock, in 512 bytes. Reported bytes are the sums of docs/reference/json.md.

A row is right where
  - nothing is missing. The disk read at most the reported bytes and 1 %, 2 MB more (names, inodes, heads of files, read-ahead).
  - nothing is made up. The reported bytes are at most what the disk read and 1 %, 2 MB, and what the page cache serves. That is what
    the command wrote itself: batches and plans sampled ahead, packs, rows of layers. It is also labels: each split takes them out
    by a pass of its own, the second and third from the page cache.
  - the same holds for writes. The reported bytes are what became dirty, but for names and inodes, and the last page of each file.

Exit status 1 where a row is not. Commands run one at a time; other programs that read the same files meanwhile take reads away.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from suite import ROOT, table

SHARE, BYTES = 0.01, 2_000_000
PRESETS = ("pyg+", "ali+pg", "ginex", "diskgnn", "fgnn", "lsm-gnn", "helios", "memory", "auto")


def put_out(folder):
    """Every file under it out of the page cache."""
    for path in folder.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.fdatasync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def told(result):
    """Bytes read and written, all the parts of a result together (docs/reference/json.md)."""
    if "layers" in result:
        return result["bytes_read"], result["bytes_written"]
    parts = [result.get("prepare", {}), *result.get("epochs", [result])]
    read = ("bytes_read", "prepare_bytes_read", "eval_bytes_read")
    written = ("bytes_written", "checkpoint_bytes_written")
    return [sum(part.get(key, 0) for part in parts for key in keys) for keys in (read, written)]


class Bytes:
    def __init__(self, args):
        self.args = args
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="outgrow-bench-", dir=args.scratch))
        self.graph, self.few = self.home / "graph", self.home / "few"
        self.rows, self.wrong, self.labels = [], [], 0
        os.environ["XDG_CACHE_HOME"] = str(self.home / "cache")

    def run(self, *words):
        """The result, and what the kernel counted: bytes read, bytes written."""
        with tempfile.TemporaryFile("w+") as out:
            child = subprocess.Popen([self.args.outgrow, *map(str, words), "--json", "--quiet"], stdout=out)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            if status:
                sys.exit(f"outgrow {' '.join(map(str, words))}: ended with {child.returncode}")
            out.seek(0)
            return json.load(out), used.ru_inblock * 512, used.ru_oublock * 512

    def wanted(self, name):
        return not self.args.only or name in self.args.only.split(",")

    def look(self, name, *words):
        """One row of the table."""
        if not self.wanted(name):
            return
        put_out(self.home)
        result, read, written = self.run(*words)
        told_read, told_written = told(result)
        slack = lambda n: n * (1 + SHARE) + BYTES
        marks = {"reads untold": read > slack(told_read), "reads made up": told_read > slack(read) + told_written + 2 * self.labels,
                 "writes untold": written > slack(told_written), "writes made up": told_written > slack(written)}
        found = [mark for mark, holds in marks.items() if holds]
        self.wrong += [f"{name}: {mark}" for mark in found]
        ratio = lambda a, b: f"{a / b:.3f}" if b else "-"
        self.rows.append([name, f"{told_read / 1e6:.1f}", f"{read / 1e6:.1f}", ratio(read, told_read), f"{told_written / 1e6:.1f}", f"{written / 1e6:.1f}",
                          ratio(written, told_written), ", ".join(found) or "right"])
        print(*self.rows[-1], sep="  ", flush=True)


BATCHES = ["--batch", 1000, "--fanout", "10,10,10"]
SMALL = ["--batch", 500, "--fanout", "5,5"]


def part_train(b, common):
    for preset in PRESETS:
        memory = ["--memory", "4G"] if preset == "memory" else []
        b.look(preset, "train", b.graph, "--preset", preset, "--run", b.home / f"run-{preset}", *common, *memory)
    disk = ["--topology", "disk", "--policy", "degree", "--cache", "5%"]
    b.look("topology on disk", "train", b.graph, "--run", b.home / "run-disk", *common, *disk, "--neighbor-cache", 0)
    b.look("the same, its cache there", "train", b.graph, "--run", b.home / "run-there", *common, *disk, "--neighbor-cache", "30M")
    b.look("mapped", "train", b.graph, "--run", b.home / "run-mmap", *common, "--io", "mmap", "--policy", "degree", "--cache", "5%")
    b.look("pread", "train", b.graph, "--run", b.home / "run-pread", *common, "--io", "pread", "--policy", "lru", "--cache", "5%")
    b.look("a checkpoint after every batch", "train", b.graph, "--run", b.home / "run-often", *common, "--checkpoint-every", 0)
    b.look("edges held out", "train", b.few, "--run", b.home / "run-link", "--task", "link", *common[2:], "--batch", 5000, "--eval-negatives", 5)


def part_layouts(b, common):
    for layout in ("packed", "segmented"):
        for policy in ("belady", "frequency"):
            b.look(f"{policy}, {layout}", "train", b.graph, "--run", b.home / f"run-{policy}-{layout}", *common, "--policy", policy, "--cache", "5%",
                   "--layout", layout, "--topology", "memory")
    b.look("sweep", "train", b.graph, "--run", b.home / "run-sweep", *common, "--policy", "sweep", "--cache", "10%")
    b.look("in turns, spilled", "train", b.graph, "--run", b.home / "run-turns", *common, "--policy", "belady", "--phased-memory", "--cache", "5%",
           "--superbatch", 25)
    b.look("reused", "train", b.graph, "--run", b.home / "run-reused", *common, "--preset", "diskgnn", "--resample-every", 2)


def part_samples(b, common):
    samples = ["--samples", b.home / "samples"]
    b.look("sample", "sample", b.graph, "--out", b.home / "samples", *BATCHES, "--epochs", b.args.epochs, "--memory", b.args.memory)
    b.look("sample --with-features", "sample", b.graph, "--out", b.home / "features", "--with-features", *SMALL, "--epochs", 1, "--memory", b.args.memory)
    b.look("--samples", "train", b.graph, "--run", b.home / "run-samples", *common, *samples, "--policy", "degree", "--cache", "5%")
    b.look("--samples, ahead", "train", b.graph, "--run", b.home / "run-ahead", *common, *samples, "--policy", "belady", "--cache", "5%")
    b.look("pack", "pack", b.graph, *samples, "--memory", b.args.memory, "--cache", "5%")
    b.look("--samples, packed", "train", b.graph, "--run", b.home / "run-packed", *common, *samples, "--policy", "frequency", "--cache", "5%",
           "--layout", "packed")


def part_evaluation(b, common):
    best = ["--checkpoint", b.home / "run-gcn" / "best.safetensors"]
    memory = ["--memory", b.args.memory]
    if b.args.only and not any(name.startswith(("eval", "predict")) for name in b.args.only.split(",")):
        return
    b.run("train", b.graph, "--run", b.home / "run-gcn", *common, "--model", "gcn")
    b.run("train", b.graph, "--run", b.home / "run-walk", *common, "--model", "pinsage", "--sampler", "walk")
    for preset in ("none", "ginex", "diskgnn", "lsm-gnn"):
        b.look(f"eval, {preset}", "eval", b.graph, *best, *BATCHES, *memory, "--preset", preset)
    b.look("eval, topology on disk", "eval", b.graph, *best, *BATCHES, *memory, "--topology", "disk", "--neighbor-cache", 0)
    b.look("eval --full", "eval", b.graph, *best, "--full", *memory)
    b.look("predict", "predict", b.graph, *best, *memory, "--out", b.home / "gcn.npy")
    b.look("predict, walks", "predict", b.graph, "--checkpoint", b.home / "run-walk" / "best.safetensors", *memory, "--out", b.home / "walk.npy",
           "--embeddings", b.home / "embeddings.npy")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(ROOT / "build/release/outgrow"))
    p.add_argument("--scratch")
    p.add_argument("--nodes", type=int, default=1_000_000)
    p.add_argument("--degree", type=int, default=16)
    p.add_argument("--dim", type=int, default=128)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--memory", default="400M")
    p.add_argument("--options", default="", help="more options of every training")
    p.add_argument("--only", help="names of rows, with those whose files they need")
    args = p.parse_args()
    b = Bytes(args)
    common = [*BATCHES, "--hidden", 16, "--epochs", args.epochs, "--memory", args.memory, *args.options.split()]
    try:
        for graph, nodes in ((b.graph, args.nodes), (b.few, args.nodes // 20)):
            subprocess.run([args.outgrow, "generate", graph, "--model", "rmat", "--nodes", str(nodes), "--degree", str(args.degree), "--dim", str(args.dim),
                            "--classes", "16", "--train-fraction", "0.02", "--memory", "1G", "--quiet"], check=True)
        b.labels = (b.graph / "labels.npy").stat().st_size
        b.run("train", b.few, "--run", b.home / "run-first", *common)  # the program and its libraries are in the page cache from here on
        for part in (part_train, part_layouts, part_samples, part_evaluation):
            part(b, common)
    finally:
        shutil.rmtree(b.home, ignore_errors=True)
    table(f"Bytes, MB: {args.nodes} nodes, {args.nodes * args.degree} edges, {args.dim * 4}-byte rows, --memory {args.memory}",
          ["", "told read", "disk read", "ratio", "told written", "disk written", "ratio", ""], b.rows)
    print("\n".join(b.wrong))
    return bool(b.wrong)


if __name__ == "__main__":
    sys.exit(main())
