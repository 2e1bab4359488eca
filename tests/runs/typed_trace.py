"""Heterogeneous graphs, and traces of them, as NumPy reads their files."""
import json
import pathlib
import re
import subprocess
import time

import numpy as np

from typed_command import OUTGROW, outgrow, run


def refused(*args):
    done = outgrow(*args)
    assert done.returncode == 1, (args, done.returncode, done.stderr)
    return done.stderr + done.stdout  # a check says on the latter what it found


def neutral(folder, **arrays):
    pathlib.Path(folder).mkdir()
    for name, array in arrays.items():
        np.save(f"{folder}/{name}.npy", array)


def make_many(folder, relations, types=20):
    ends = [f"t{i % types}:r{i}:t{(7 * i + i // types) % types}:2" for i in range(relations)]
    names = [f"t{i}:500" + (":8" if i == 0 else "") for i in range(types)]
    run("generate", folder, "--types", ",".join(names), "--relations", ",".join(ends))


def watched(*args):
    """Most threads of the command, and KiB that were in memory."""
    with subprocess.Popen([OUTGROW, *map(str, args), "--quiet"], stdout=subprocess.DEVNULL) as p:
        most = {"Threads": 0, "VmHWM": 0}
        while p.poll() is None:
            for name, n in re.findall(r"(Threads|VmHWM):\s*(\d+)", pathlib.Path(f"/proc/{p.pid}/status").read_text()):
                most[name] = max(most[name], int(n))
            time.sleep(0.002)
        assert p.returncode == 0
    return most


class Graph:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        meta = json.loads((self.folder / "meta.json").read_text())
        counts = [t["count"] for t in meta["node_types"]]
        self.first = dict(zip([t["name"] for t in meta["node_types"]], np.cumsum([0, *counts])))
        self.count = dict(zip(self.first, counts))
        self.nodes = sum(counts)
        self.relations = meta["relations"]
        for i, r in enumerate(self.relations):
            indptr, indices = (np.load(self.folder / f"rel{i}_{a}.npy") for a in ("indptr", "indices"))
            weights = self.folder / f"rel{i}_weights.npy"
            r["degree"] = np.zeros(self.nodes, np.int64)
            at = slice(self.first[r["destination"]], self.first[r["destination"]] + self.count[r["destination"]])
            r["degree"][at] = np.diff(indptr)
            r["dst"] = np.repeat(np.arange(self.nodes), r["degree"])
            r["src"] = indices.astype(np.int64) + self.first[r["source"]]
            r["key"] = r["src"] * self.nodes + r["dst"]
            r["weight"] = np.load(weights) if weights.exists() else None


class Trace:
    count = 0

    def __init__(self, graph, *options):
        Trace.count += 1
        self.folder = pathlib.Path(f"trace{Trace.count}")
        run("sample", graph, "--out", self.folder, *options)
        self.arrays = {p.stem: np.load(p) for p in sorted(self.folder.glob("*.npy"))}
        self.hops = max(int(name[3]) for name in self.arrays if name.startswith("hop"))

    def part(self, name, i):
        prefix = name.split("_")[0] if name.startswith("hop") else name
        start = self.arrays[prefix + "_ptr"]
        return self.arrays[name][start[i]:start[i + 1]]

    def batches(self):
        """For each batch its ids, counts of known nodes, and edges of each hop. Nodes are counted before the first hop
        and after each. Edges are [n, 3], with their relation."""
        for i in range(len(self.arrays["ids_ptr"]) - 1):
            known = [len(self.part("seeds", i))] + [int(self.arrays[f"hop{h}_nodes"][i]) for h in range(1, self.hops + 1)]
            edges = [np.stack([self.part(f"hop{h}_{a}", i).astype(np.int64) for a in ("src", "dst", "rel")], 1)
                     for h in range(1, self.hops + 1)]
            yield self.part("ids", i), known, edges

    def same(self, other):
        assert self.arrays.keys() == other.arrays.keys()
        for name, array in self.arrays.items():
            assert array.dtype == other.arrays[name].dtype and np.array_equal(array, other.arrays[name]), name
