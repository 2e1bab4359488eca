#!/usr/bin/env python3
"""Test accuracy of GraphSAGE with times: the command's, and PyTorch Geometric's over two samplers.

    PYTHONPATH=build/release/python bench/times_accuracy.py --outgrow build/release/outgrow --data DATA [--seeds 2]     DATA: npy folders of the graphs

The samplers are outgrow.NeighborLoader, and one of this program in NumPy. PyTorch Geometric's own needs pyg-lib for times, which PyPI does not have.
Where it is installed, --pyg adds it. The graphs have no times, so they are planted:
  order   amazon-computers, symmetrised. A node's time is its number in a shuffled order. The first 60 % are trained on, the last 20 % are the test.
  future  cora, whose edges have times 0 to 49. Three times as many random edges have times 50 to 99. All seeds are of time 49, and see true edges alone.
Features are projected to 64 columns, so that it takes minutes. The column "without" is the command without times, which sees later nodes and edges.
Figures are means and standard deviations at the best validation epoch.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader
    from torch_geometric.nn import GraphSAGE

    import outgrow
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

FANOUT, HIDDEN, BATCH, LR, WIDTH = [5, 5], 32, 256, 0.01, 64
EPOCHS = {"order": 4, "future": 10}
COLUMNS = ("command", "loader", "numpy", "pyg", "without")


def graph(data, name):
    folder = data / name
    edges, y = np.load(folder / "edges.npy").T.astype(np.int64), np.load(folder / "label.npy").astype(np.int64)
    if (folder / "feat.npy").exists():
        x = np.load(folder / "feat.npy").astype(np.float32)
    else:
        ptr = np.load(folder / "feat_indptr.npy")
        x = np.zeros((len(y), json.loads((folder / "meta.json").read_text())["feat_dim"]), np.float32)
        x[np.repeat(np.arange(len(y)), np.diff(ptr)), np.load(folder / "feat_indices.npy")] = np.load(folder / "feat_data.npy")
    x = x / np.linalg.norm(x, axis=1, keepdims=True).clip(1e-6) @ np.random.default_rng(1).standard_normal((x.shape[1], WIDTH))
    return edges, x.astype(np.float32), y


def order_task(data):
    edges, x, y = graph(data, "amazon-computers")
    time = np.random.default_rng(0).permutation(len(y))
    ids, n = np.argsort(time), len(y)
    edges = np.unique(np.concatenate([edges, edges[::-1]], 1), axis=1)
    splits = dict(zip(("train", "valid", "test"), np.split(ids, [n * 6 // 10, n * 8 // 10])))
    return {"edge_index": edges, "x": x, "y": y, "node_time": time, **splits}, "node", {k: time[v] for k, v in splits.items()}


def future_task(data):
    edges, x, y = graph(data, "cora")
    r, n = np.random.default_rng(0), len(y)
    noise = r.integers(0, n, (2, 3 * edges.shape[1]))
    time = np.concatenate([r.integers(0, 50, edges.shape[1]), r.integers(50, 100, noise.shape[1])])
    splits = {k: np.load(data / "cora" / f"{k}.npy") for k in ("train", "valid", "test")}
    return {"edge_index": np.concatenate([edges, noise], 1), "x": x, "y": y, "edge_time": time, **splits}, "edge", {k: np.full(len(v), 49) for k, v in splits.items()}


class Sampler:
    """Samples a tree for each seed, without replacement."""
    def __init__(self, given, kind):
        src, dst = given["edge_index"]
        at = given["node_time"][src] if kind == "node" else given["edge_time"]
        order = np.lexsort((at, dst))
        self.src, self.at, self.n = src[order], at[order], len(given["x"])
        self.ptr = np.searchsorted(dst[order], np.arange(self.n + 1))
        self.most = int(at.max()) + 2
        self.key = dst[order] * self.most + self.at - min(int(at.min()), 0)

    def hop(self, node, limit, fanout, rng):
        """Places of the destinations in the list, and their edges."""
        n = np.searchsorted(self.key, node * self.most + limit, side="right") - self.ptr[node]
        dst = np.repeat(np.arange(len(node)), n)
        edge = self.ptr[node][dst] + np.arange(len(dst)) - np.repeat(np.cumsum(n) - n, n)
        shuffled = np.lexsort((rng.random(len(dst)), dst))
        rank = np.arange(len(dst)) - np.repeat(np.cumsum(n) - n, n)
        taken = shuffled[rank < fanout]
        return dst[taken], edge[taken]

    def batch(self, seeds, limit, rng):
        node, tree = seeds.copy(), np.arange(len(seeds))
        first, sources, destinations = 0, [], []
        for fanout in FANOUT:
            dst, edge = self.hop(node[first:], limit[tree[first:]], fanout, rng)
            dst, pair = dst + first, tree[first + dst] * self.n + self.src[edge]
            known, mine = np.argsort(tree * self.n + node), np.sort(tree * self.n + node)
            new = np.setdiff1d(pair, mine)
            everything = np.concatenate([mine, new])
            place = np.concatenate([known, len(node) + np.arange(len(new))])
            sort = np.argsort(everything)
            sources.append(place[sort][np.searchsorted(everything[sort], pair)])
            destinations.append(dst)
            first = len(node)
            node, tree = np.concatenate([node, new % self.n]), np.concatenate([tree, new // self.n])
        return torch.from_numpy(node), torch.from_numpy(np.stack([np.concatenate(sources), np.concatenate(destinations)]))


def batches_of(column, data, sampler, kind, ids, at, shuffle, seed):
    rng = np.random.default_rng(seed)
    if column == "numpy":
        order = rng.permutation(len(ids)) if shuffle else np.arange(len(ids))
        for i in range(0, len(ids), BATCH):
            k = order[i:i + BATCH]
            node, edges = sampler.batch(ids[k], at[k], rng)
            yield data.x[node], edges, data.y[ids[k]]
        return
    make, more = (outgrow.NeighborLoader, {"memory": "1G", "seed": seed}) if column == "loader" else (NeighborLoader, {"disjoint": True})
    for b in make(data, FANOUT, input_nodes=torch.from_numpy(ids), input_time=torch.from_numpy(at), time_attr="time" if kind == "node" else "edge_time", batch_size=BATCH,
                  shuffle=shuffle, **more):
        yield b.x, b.edge_index, b.y[:b.batch_size]


def pytorch(column, given, kind, at, epochs, seed):
    torch.manual_seed(seed)
    data = Data(**{k: torch.from_numpy(given[k]) for k in ("x", "y", "edge_index")})
    data["time" if kind == "node" else "edge_time"] = torch.from_numpy(given[f"{kind}_time"])
    model, sampler = GraphSAGE(data.x.size(1), HIDDEN, 2, int(data.y.max()) + 1), Sampler(given, kind)
    adam, best = torch.optim.Adam(model.parameters(), lr=LR), (-1, 0)
    for epoch in range(epochs):
        model.train()
        for x, edges, y in batches_of(column, data, sampler, kind, given["train"], at["train"], True, 1000 * seed + epoch):
            adam.zero_grad()
            F.cross_entropy(model(x, edges)[:len(y)], y).backward()
            adam.step()
        model.eval()
        with torch.no_grad():
            found = [statistics.fmean(hit for x, edges, y in batches_of(column, data, sampler, kind, given[k], at[k], False, 7) for hit in (model(x, edges)[:len(y)].argmax(1) == y).float().tolist())
                     for k in ("valid", "test")]
        best = max(best, tuple(found))
    return best[1]


def command(outgrow_command, folder, kind, epochs, seed):
    run = folder.parent / f"run-{folder.name}-{kind}-{seed}"
    subprocess.run([outgrow_command, "train", folder, "--time", kind, "--model", "sage", "--draw", "once", "--fanout", ",".join(map(str, FANOUT)), "--hidden", str(HIDDEN), "--batch", str(BATCH),
                    "--lr", str(LR), "--dropout", "0", "--epochs", str(epochs), "--seed", str(seed), "--memory", "1G", "--run", run, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return json.loads((run / "summary.json").read_text())["test_acc"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outgrow", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tasks", default="order,future")
    parser.add_argument("--pyg", action="store_true")
    given_options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        os.environ["OUTGROW_CACHE"] = f"{place}/cache"
        for task in given_options.tasks.split(","):
            given, kind, at = {"order": order_task, "future": future_task}[task](given_options.data)
            folder = pathlib.Path(place) / task
            outgrow.write(str(folder), **given)
            for split, times in at.items():
                np.save(folder / f"{split}_times.npy", times.astype(np.int64))
            for column in COLUMNS:
                if column == "pyg" and not given_options.pyg:
                    continue
                found = [100 * (command(given_options.outgrow, folder, kind if column == "command" else "off", EPOCHS[task], seed) if column in ("command", "without")
                                else pytorch(column, given, kind, at, EPOCHS[task], seed)) for seed in range(given_options.seeds)]
                print(f"{task:8} {column:8} {statistics.fmean(found):5.1f} ({statistics.pstdev(found):.1f})", flush=True)


if __name__ == "__main__":
    main()
