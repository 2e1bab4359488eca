#!/usr/bin/env python3
"""The same model on the same graph, in Outgrow, PyTorch Geometric, DGL and GraphBolt.

    bench/peers.py [--outgrow PATH] [--venv DIR] [--scratch DIR] [--nodes 2000000] [--rounds 3] [--parts memory,disk,accuracy] [--rows outgrow,pyg,dgl,graphbolt,graphbolt_outgrow]
    bench/peers.py --data DIR --rounds 0                                        installs the peers and makes the graphs, which stay in DIR
    bench/peers.py --data DIR --results FILE --parts disk --rows pyg --rounds 1   adds one run to FILE. The tables show all its runs

memory  everything in memory: seconds of an epoch, the first one left out
disk    features on disk, a cold page cache, and a memory cgroup. Its limit is --memory for all that Outgrow holds. A peer has as much from the first batch
        on: what its libraries and the graph's topology take before it is shown, and does not count. Where no cgroup can be made that enforces its limit,
        which is tried, this part is refused. With --unbounded it runs all the same, and the table says that peers had no limit
accuracy  in memory: epochs and seconds until the validation accuracy is --target. Yang et al. 2022, Figure 15; there --fanout 25,10. The graph is
        $OUTGROW_DATA/debian-packages. Only where it is named

GraphSAGE (mean) on an R-MAT graph of Outgrow's generator, whose arrays the peers read as they are. Layers are of --hidden, as many as --fanout has numbers;
Adam, no dropout. PyG's NeighborLoader draws a node's neighbours once a batch. It cuts off what a layer does not need (trim_to_layer) where its sampler is
pyg-lib, which PyPI does not have: install it into --venv by hand to compare with that. DGL, GraphBolt and Outgrow draw in every hop. Out of core PyG reads rows
of a np.memmap in --workers processes. GraphBolt's features are its TorchBasedFeature over a mapped file; its io_uring reader came with 2.4, which PyPI does not
have either. Both mappings are advised that reads are random: without it the kernel may read megabytes around each row. Row
graphbolt_outgrow is GraphBolt's pipeline with graph and features of outgrow.graphbolt, which PYTHONPATH must have. Its cache has two fifths of the memory. DGL 2.1 has no features on disk of its
own.

PyTorch's threads wait for one another in loops. Where the machine has other work, its figures are many times larger.

The peers are installed into --venv from PyPI the first time. That takes 5 GB, and some minutes to compile PyG's sampler. One that does not install or run is
named and left out. Each figure is the median of --rounds alternating runs, with the smallest and largest. The losses of the last epoch are shown: about the
same, since the models are; not equal, since draws and initial parameters are not.
"""
import argparse
import json
import mmap
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bound

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = [["torch==2.2.1", "numpy<2", "setuptools", "wheel", "ninja"],
            ["dgl==2.1.0", "torchdata<0.8", "pandas", "pyyaml", "pydantic", "torch_geometric==2.6.1", "numpy<2"],
            ["--no-build-isolation", "torch_scatter", "torch_sparse", "numpy<2"]]
NAMES = {"outgrow": "Outgrow", "pyg": "PyG 2.6 NeighborLoader", "dgl": "DGL 2.1", "graphbolt": "GraphBolt 2.1",
         "graphbolt_outgrow": "GraphBolt 2.1 over outgrow.graphbolt"}


# ---- a peer, in its own process: JSON on standard output ----

class Graph:
    def __init__(self, folder, mapped):
        import numpy as np
        import torch
        self.indptr, self.indices, self.labels, self.train = (
            torch.from_numpy(np.load(f"{folder}/{name}.npy").astype(np.int64)) for name in ("indptr", "indices", "labels", "train"))
        self.x = np.load(f"{folder}/features.npy", mmap_mode="r" if mapped else None)
        if mapped:  # only the pages of a row: by default the kernel may read megabytes around each
            self.x._mmap.madvise(mmap.MADV_RANDOM)
        self.valid = torch.from_numpy(np.load(f"{folder}/valid.npy").astype(np.int64))
        self.n, self.dim, self.classes = len(self.indptr) - 1, self.x.shape[1], int(self.labels.max()) + 1

    def rows(self, ids):
        import torch
        return torch.from_numpy(self.x[ids.numpy()]).float()


def pyg(g, o):
    """The model, and what yields each batch's logits and labels. Its nodes are an epoch's, or those that are given."""
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader
    from torch_geometric.nn import GraphSAGE
    ids = torch.arange(g.n)
    edges = torch.stack([g.indices, ids.repeat_interleave(g.indptr.diff())])
    data = Data(edge_index=edges, y=g.labels, num_nodes=g.n)

    def fetch(batch):
        batch.x = g.rows(batch.n_id)
        return batch

    def loader_of(nodes, shuffle):
        return NeighborLoader(data, o.fanout, nodes, batch_size=o.batch, shuffle=shuffle, is_sorted=True, transform=fetch,
                              num_workers=o.workers if o.disk else 0, persistent_workers=o.disk and o.workers > 0)

    loader = loader_of(g.train, True)
    model = GraphSAGE(g.dim, o.hidden, len(o.fanout), g.classes)

    def epoch(nodes=None):
        for b in loader if nodes is None else loader_of(nodes, False):
            hops = {} if "num_sampled_nodes" not in b else {"num_sampled_nodes_per_hop": b.num_sampled_nodes,
                                                            "num_sampled_edges_per_hop": b.num_sampled_edges}
            yield model(b.x, b.edge_index, **hops)[:b.batch_size], b.y[:b.batch_size]
    return model, epoch


def sage_of_dgl(g, o):
    import torch
    from dgl.nn import SAGEConv
    widths = [g.dim] + [o.hidden] * (len(o.fanout) - 1) + [g.classes]
    model = torch.nn.ModuleList(SAGEConv(a, b, "mean") for a, b in zip(widths, widths[1:]))
    for layer in model if o.linear_init else ():
        layer.fc_neigh.reset_parameters()
        layer.fc_self.reset_parameters()

    def forward(blocks, x):
        for i, (layer, block) in enumerate(zip(model, blocks)):
            x = layer(block, x)
            x = x.relu() if i + 1 < len(model) else x
        return x
    return model, forward


def dgl(g, o):
    import dgl as lib
    graph = lib.graph(("csc", (g.indptr, g.indices, [])), num_nodes=g.n)

    def loader_of(nodes, shuffle):
        return lib.dataloading.DataLoader(graph, nodes, lib.dataloading.NeighborSampler(o.fanout[::-1]), batch_size=o.batch, shuffle=shuffle)

    loader = loader_of(g.train, True)
    model, forward = sage_of_dgl(g, o)

    def epoch(nodes=None):
        for inputs, seeds, blocks in loader if nodes is None else loader_of(nodes, False):
            yield forward(blocks, g.rows(inputs)), g.labels[seeds]
    return model, epoch


def items_of(g, nodes):
    import dgl.graphbolt as gb
    return gb.ItemSet((nodes, g.labels[nodes]), names=("seed_nodes", "labels"))


def graphbolt(g, o):
    import dgl.graphbolt as gb
    import torch
    make = getattr(gb, "fused_csc_sampling_graph", None) or gb.from_fused_csc
    store = gb.BasicFeatureStore({("node", None, "feat"): gb.TorchBasedFeature(torch.from_numpy(g.x))})
    return through_graphbolt(g, o, make(g.indptr, g.indices), store, items_of(g, g.train))


def graphbolt_outgrow(g, o):
    """Its features have a part of the memory. The rest is for what is computed."""
    import outgrow as lib
    dataset = lib.graphbolt(o.dataset, memory=int(0.4 * o.memory) if o.disk else "8G")
    dataset.graph.indices.max()  # the mapped lists are in memory before the first batch, as those of the others are
    return through_graphbolt(g, o, dataset.graph, dataset.feature, dataset.tasks[0].train_set)


def through_graphbolt(g, o, graph, store, items):
    import dgl.graphbolt as gb

    def loader_of(items, shuffle):
        pipe = gb.ItemSampler(items, batch_size=o.batch, shuffle=shuffle)
        pipe = pipe.sample_neighbor(graph, o.fanout[::-1]).fetch_feature(store, node_feature_keys=["feat"])
        return gb.DataLoader(pipe, num_workers=0)

    loader = loader_of(items, True)
    model, forward = sage_of_dgl(g, o)

    def epoch(nodes=None):
        for b in loader if nodes is None else loader_of(items_of(g, nodes), False):
            b = b.to_dgl() if hasattr(b, "to_dgl") else b
            yield forward(b.blocks, b.node_features["feat"].float()), b.labels
    return model, epoch


def accuracy(model, batches):
    import torch
    model.eval()
    with torch.no_grad():
        right = [(logits.argmax(1) == y) for logits, y in batches]
    model.train()
    return torch.cat(right).float().mean().item()


def work(o):
    import torch
    import torch.nn.functional as F
    torch.manual_seed(o.seed)
    torch.set_num_threads(o.threads)
    g = Graph(o.dataset, o.disk)
    began = time.perf_counter()
    model, epoch = {"pyg": pyg, "dgl": dgl, "graphbolt": graphbolt, "graphbolt_outgrow": graphbolt_outgrow}[o.worker](g, o)
    optimizer = torch.optim.Adam(model.parameters(), lr=o.lr)
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if o.enter:  # a cgroup that counts what is taken from here on
        bound.Group(o.enter).limit(o.memory)
        bound.Group(o.enter).enter()
    seconds, valid, loss = [], [], 0
    for _ in range(o.epochs):
        start, total, seeds = time.perf_counter(), 0.0, 0
        for logits, y in epoch():
            optimizer.zero_grad()
            batch = F.cross_entropy(logits, y)
            batch.backward()
            optimizer.step()
            total, seeds = total + batch.item() * len(y), seeds + len(y)
        seconds.append(time.perf_counter() - start)
        loss = total / seeds
        if o.validate:
            valid.append(accuracy(model, epoch(g.valid)))
    print(json.dumps({"seconds": seconds, "valid": valid, "whole": time.perf_counter() - began, "loss": loss, "baseline": baseline}))


# ---- the comparison ----

def install(venv):
    """The Python of an environment with the peers. What does not install is reported, and skipped when its row is due."""
    python = venv / "bin/python"
    if not python.exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", venv], check=True)
        for words in PACKAGES:
            if subprocess.run([python, "-m", "pip", "install", "-q", *words]).returncode:
                print(f"could not be installed: {' '.join(words)}", file=sys.stderr)
    return python


def outgrow(args, dataset, part, prefix):
    run = pathlib.Path(args.scratch) / "run"
    shutil.rmtree(run, ignore_errors=True)
    words = [args.outgrow, "train", dataset, "--epochs", args.epochs, "--fanout", args.fanout, "--hidden", args.hidden, "--batch", args.batch,
             "--lr", args.lr, "--dropout", 0, "--eval-every", int(part == "accuracy"), "--threads", args.threads, "--seed", args.seed,
             "--run", run, "--json", "--quiet"]
    if part == "disk":
        words += ["--memory", args.memory]
    done = subprocess.run([*prefix, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    told = json.loads(done.stdout)
    return {"seconds": [e["seconds"] for e in told["epochs"]], "valid": [e["valid_acc"] for e in told["epochs"]], "whole": told["seconds"],
            "loss": told["epochs"][-1]["loss"]}


def peer(name, args, python, dataset, part, group):
    disk = part == "disk"
    words = [python, __file__, "--worker", name, "--dataset", dataset, "--fanout", args.fanout, "--hidden", args.hidden, "--batch", args.batch,
             "--lr", args.lr, "--epochs", args.epochs, "--threads", args.threads, "--workers", args.workers, "--memory", args.memory, "--seed", args.seed]
    words += (["--disk"] if disk else []) + (["--enter", group] if disk and group else []) + (["--validate"] if part == "accuracy" else [])
    words += ["--linear-init"] if args.linear_init else []
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode < 0:
        raise RuntimeError(f"ended by signal {-done.returncode}" + (", which the kernel sends where --memory is not enough" if disk else ""))
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


def once(name, args, python, dataset, part, where):
    from suite import drop_caches
    disk = part == "disk"
    if disk:
        drop_caches()
    ours = name == "outgrow"
    if not disk or where.reason:
        return outgrow(args, dataset, part, []) if ours else peer(name, args, python, dataset, part, None)
    with bound.group(where) as group:
        if not ours:
            return peer(name, args, python, dataset, part, group.folder)
        group.limit(args.memory + 64 * 2**20)  # the process before it loads anything
        return outgrow(args, dataset, part, group.prefix())


# ---- what was measured: a line of JSON a run ----

def settings(args, part):
    """What runs of one table have in common."""
    same = {key: getattr(args, key) for key in ("nodes", "degree", "dim", "batches", "fanout", "hidden", "batch", "lr", "epochs", "threads")}
    same["part"] = part
    if args.linear_init:
        same["linear_init"] = True
    if part == "accuracy":  # the graph is what it is
        for key in "nodes", "degree", "dim", "batches":
            del same[key]
    if part == "disk":
        same.update(nodes=2 * args.nodes, memory=args.memory, workers=args.workers, bounded=not args.where.reason)
    return same


def add(args, told):
    args.told.append(told)
    if args.results:
        with open(args.results, "a") as f:
            f.write(json.dumps(told) + "\n")


def read(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()] if path and os.path.exists(path) else []


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f}, of {len(values)})"


def machine():
    words = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{len(os.sched_getaffinity(0))} cores of {words[0] if words else os.uname().machine}, {memory:.0f} GiB of memory, Linux {os.uname().release}"


def print_accuracy(args, runs_of):
    """The epoch from which on --target is reached, and the seconds of training until then."""
    from suite import table
    rows = []
    for name, runs in runs_of.items():
        reached = [next((i for i, v in enumerate(r["valid"]) if v >= args.target), None) for r in runs]
        there = [(i + 1, sum(r["seconds"][: i + 1])) for i, r in zip(reached, runs) if i is not None]
        rows.append([NAMES[name], *(map(spread, zip(*there)) if there else ("never", "-")), spread([100 * max(r["valid"]) for r in runs])])
    table(f"Until {100 * args.target:.1f} % of validation nodes are right", ["", "epochs", "seconds of training", "best validation accuracy, %"], rows)


def print_table(args, part):
    from suite import table
    same = settings(args, part)
    runs_of = {name: runs for name in NAMES if (runs := [t for t in args.told if t["row"] == name and t["settings"] == same])}
    if part == "accuracy":
        return print_accuracy(args, runs_of)
    rows = []
    for name, runs in runs_of.items():
        steady = [statistics.mean(r["seconds"][1:] or r["seconds"]) for r in runs]
        whole = [r["whole"] / args.epochs for r in runs]
        held = f"{runs[0]['baseline'] / 2**20:.0f} MiB" if "baseline" in runs[0] else "-"
        rows.append([NAMES[name], spread(steady), spread(whole), held, f"{runs[0]['loss']:.4f}"])
    where = "in memory" if part == "memory" else f"features on disk, --memory {args.memory >> 20}M"
    if part == "disk" and args.where.reason:
        where += ", which bounds Outgrow alone"
    if rows:
        table(f"{same['nodes']:,} nodes, {where}", ["", "seconds an epoch", "with all preparation", "held before the first batch", "loss"], rows)
        print(f"\n{machine()}")


# ---- the parts ----

def make_dataset(args, folder, part):
    if part == "accuracy":
        path = folder / "debian-packages"
        if not path.exists():
            subprocess.run([args.outgrow, "import", "npy", pathlib.Path(args.graphs) / path.name, path, "--symmetrize", "--drop-types", "--quiet"], check=True)
        return path
    nodes = settings(args, part)["nodes"]
    path = folder / f"rmat-{nodes}-{args.degree}-{args.dim}-{args.batches * args.batch}"
    if not path.exists():
        subprocess.run([args.outgrow, "generate", path, "--model", "rmat", "--nodes", str(nodes), "--degree", str(args.degree), "--dim", str(args.dim),
                        "--train-fraction", str(args.batches * args.batch / nodes), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return path


class Others:
    """CPU time of other processes meanwhile. If it is not small, PyTorch's waiting loops make the other figures worthless."""

    def __enter__(self):
        self.began, self.busy, self.own = time.perf_counter(), *self.now()
        return self

    def __exit__(self, *_):
        busy, own = self.now()
        self.cores = max(0, busy - self.busy - (own - self.own)) / (time.perf_counter() - self.began)

    @staticmethod
    def now():
        ticks = [int(word) for word in open("/proc/stat").readline().split()[1:8]]
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK"), own.ru_utime + own.ru_stime


def run_part(args, python, dataset, part):
    names = [name for name in args.rows.split(",") if part != "disk" or name != "dgl"]
    for args.seed in range(1, args.rounds + 1):
        for name in list(names):
            try:
                with Others() as others:
                    told = once(name, args, python, dataset, part, args.where)
                add(args, {"row": name, "settings": settings(args, part), "others_cores": others.cores, **told})
                if others.cores > 0.2:
                    print(f"{NAMES[name]}: other processes took {others.cores:.1f} cores meanwhile: not to be relied on", file=sys.stderr)
            except RuntimeError as why:
                print(f"{NAMES[name]}: left out: {why}", file=sys.stderr)
                names.remove(name)


def choose_where(args):
    """The cgroups of part disk; an exit where there are none and that was not agreed to."""
    args.where = bound.find(args.cgroups.split(",")) if "disk" in args.parts else bound.Where(reason="not asked for")
    if "disk" in args.parts and args.where.reason and not args.unbounded:
        sys.exit(f"peers.py: no memory cgroup can be made that enforces its limit ({args.where.reason}).\n"
                 "hint: run it as root, or take --parts memory, or --unbounded: then --memory bounds Outgrow alone")


def size(text):
    unit = {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1].upper(), 0)
    return int(float(text[:-1]) * unit) if unit else int(text)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(ROOT / "build/release/outgrow"))
    p.add_argument("--venv", default=str(ROOT / "build/peers"))
    p.add_argument("--scratch", default=None)
    p.add_argument("--data", default=None, help="where graphs are kept; else they are made for this call, in --scratch")
    p.add_argument("--results", default=None, help="runs are added to this file, and those in it are part of the tables")
    p.add_argument("--parts", default="memory,disk")
    p.add_argument("--rows", default="outgrow,pyg,dgl,graphbolt")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--nodes", type=int, default=2_000_000, help="of disk twice as many")
    p.add_argument("--degree", type=int, default=15)
    p.add_argument("--dim", type=int, default=128)
    p.add_argument("--batches", type=int, default=20, help="of an epoch")
    p.add_argument("--memory", type=size, default=size("620M"), help="of disk")
    p.add_argument("--unbounded", action="store_true", help="disk also where nothing can bound a peer's memory")
    p.add_argument("--cgroups", default=",".join(bound.BASES), help="where memory cgroups are")
    p.add_argument("--fanout", default="10,10,10")
    p.add_argument("--hidden", type=int, default=256)
    p.add_argument("--batch", type=int, default=1000)
    p.add_argument("--lr", type=float, default=0.003)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--linear-init", action="store_true", help="DGL's layers begin as torch.nn.Linear does, and Outgrow's")
    p.add_argument("--target", type=float, default=0.72, help="of accuracy")
    p.add_argument("--graphs", default=os.environ.get("OUTGROW_DATA", str(ROOT / "../shared/data")), help="of accuracy: where debian-packages is")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--workers", type=int, default=4)
    for hidden in "--worker", "--dataset", "--enter":
        p.add_argument(hidden, help=argparse.SUPPRESS)
    p.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    for hidden in "--disk", "--validate":
        p.add_argument(hidden, action="store_true", help=argparse.SUPPRESS)
    return p.parse_args()


def main():
    args = arguments()
    if args.worker:
        args.fanout = [int(word) for word in args.fanout.split(",")]
        return work(args)
    choose_where(args)
    args.told = read(args.results)
    python = install(pathlib.Path(args.venv))
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        args.scratch = scratch
        folder = pathlib.Path(args.data or scratch)
        folder.mkdir(exist_ok=True)
        for part in args.parts.split(","):
            dataset = make_dataset(args, folder, part)
            run_part(args, python, dataset, part)
            print_table(args, part)
            if not args.data:
                shutil.rmtree(dataset)


if __name__ == "__main__":
    main()
