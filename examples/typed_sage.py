#!/usr/bin/env python3
"""A relational GraphSAGE on a heterogeneous graph, in PyTorch alone, from batches that `outgrow sample` draws:

    typed_sage.py DATASET [--fanout "10,10;cites=15,10"] [--hidden 128] [--epochs 10] [--memory 2G] [--out model.pt]

A layer sums, for each type, an ordinary convolution of each relation that leads to it. This has lin_l for the mean over the neighbours, and lin_r for the node
itself. That is PyTorch Geometric's HeteroConv(aggr="sum") of SAGEConv, whose names the parameters have. Types without features have an embedding. Each epoch's
batches are sampled into a folder, used, and removed; features are read from the dataset's own files, mapped. Validation and test see all neighbours.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

PIECE = 1 << 17  # edges whose rows are added at a time


class Graph:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        meta = json.loads((self.folder / "meta.json").read_text())
        self.types = [t["name"] for t in meta["node_types"]]
        self.count = [t["count"] for t in meta["node_types"]]
        self.first = np.concatenate([[0], np.cumsum(self.count)])
        self.relations = [(self.types.index(r["source"]), r["name"], self.types.index(r["destination"])) for r in meta["relations"]]
        self.classes = meta["num_classes"]
        self.features = [self.array(f"features_{t}") for t in range(len(self.types))]
        self.labels = self.array("labels")

    def array(self, name):
        path = self.folder / f"{name}.npy"
        return np.load(path, mmap_mode="r") if path.exists() else None

    def split(self, name):
        return np.asarray(self.array(name))

    def type_of(self, ids):
        return np.searchsorted(self.first, ids, side="right") - 1


def mean_of(x, src, dst, n):
    """For each of n destinations the mean of x over its edges, of which it has some."""
    total = torch.zeros(n, x.shape[1])
    for i in range(0, len(src), PIECE):
        total = total.index_add(0, dst[i:i + PIECE], x[src[i:i + PIECE]])
    return total / torch.bincount(dst, minlength=n)[:, None]


class Conv(torch.nn.Module):
    def __init__(self, source, destination, out):
        super().__init__()
        self.lin_l = torch.nn.Linear(source, out)
        self.lin_r = torch.nn.Linear(destination, out, bias=False)


class Layer(torch.nn.Module):
    """The sum over relations of lin_l(mean of neighbours) + lin_r(own). Own weights and biases are added up first, and neighbours looked
    at only where there are some: of dozens of relations most nodes have few."""

    def __init__(self, graph, widths, out):
        super().__init__()
        self.ends = [(s, d) for s, _, d in graph.relations]
        self.names = ["__".join((graph.types[s], r, graph.types[d])).replace(".", "_") for s, r, d in graph.relations]
        self.convs = torch.nn.ModuleDict({n: Conv(widths[s], widths[d], out) for n, (s, d) in zip(self.names, self.ends)})
        self.out = out

    def own(self, x, d):
        convs = [self.convs[n] for n, (_, to) in zip(self.names, self.ends) if to == d]
        if not convs:
            return torch.zeros(len(x), self.out)
        return F.linear(x, sum(c.lin_r.weight for c in convs), sum(c.lin_l.bias for c in convs))

    def forward(self, x, counts, edges):
        """Computes a layer. `x[t]` has the rows of type t, the destinations' first, counts[t] how many these are. `edges[r]` is (src, dst) among the rows."""
        out = [self.own(x[d][:n], d) for d, n in enumerate(counts)]
        for name, (s, d), (src, dst) in zip(self.names, self.ends, edges):
            if len(src):
                has, place = torch.unique(dst, return_inverse=True)
                mean = mean_of(x[s], src, place, len(has))
                out[d] = out[d].index_add(0, has, F.linear(mean, self.convs[name].lin_l.weight))
        return out


class Model(torch.nn.Module):
    def __init__(self, graph, hidden, layers, dropout):
        super().__init__()
        widths = [hidden if f is None else f.shape[1] for f in graph.features]
        self.embedding = torch.nn.ModuleDict({graph.types[t]: torch.nn.Embedding(graph.count[t], hidden)
                                              for t, f in enumerate(graph.features) if f is None})
        out = [hidden] * (layers - 1) + [graph.classes]
        self.convs = torch.nn.ModuleList([Layer(graph, [hidden] * len(widths) if i else widths, o) for i, o in enumerate(out)])
        self.graph, self.dropout = graph, dropout

    def rows(self, t, nodes):
        f = self.graph.features[t]
        return self.embedding[self.graph.types[t]](torch.as_tensor(nodes)) if f is None else torch.from_numpy(f[nodes].astype(np.float32))

    def forward(self, x, blocks):
        for i, (layer, (counts, edges)) in enumerate(zip(self.convs, blocks)):
            x = layer(x, counts, edges)
            if i + 1 < len(self.convs):
                x = [F.dropout(F.relu(o), self.dropout, self.training) for o in x]
        return x


# ---- batches ----

def batches(graph, folder, layers):
    """The model's input for each batch. It has ids, the rows of each id within its type, and blocks, the last hop's first."""
    a = {p.stem: np.load(p, mmap_mode="r") for p in pathlib.Path(folder).glob("*.npy")}
    for b in range(len(a["ids_ptr"]) - 1):
        ids = np.asarray(a["ids"][a["ids_ptr"][b]:a["ids_ptr"][b + 1]], np.int64)
        kind = graph.type_of(ids)
        row = np.zeros(len(ids), np.int64)
        for t in range(len(graph.types)):
            row[kind == t] = np.arange((kind == t).sum())
        known = int(a["seeds_ptr"][b + 1] - a["seeds_ptr"][b])
        seeds, blocks = known, []
        for h in range(1, layers + 1):
            at = slice(a[f"hop{h}_ptr"][b], a[f"hop{h}_ptr"][b + 1])
            src, dst, rel = (np.asarray(a[f"hop{h}_{n}"][at], np.int64) for n in ("src", "dst", "rel"))
            cut = np.searchsorted(rel, np.arange(len(graph.relations) + 1))
            edges = [torch.from_numpy(np.stack([row[src[i:j]], row[dst[i:j]]])) for i, j in zip(cut, cut[1:])]
            blocks.insert(0, (np.bincount(kind[:known], minlength=len(graph.types)).tolist(), edges))
            known = int(a[f"hop{h}_nodes"][b])
        yield ids, kind, row, seeds, blocks


def sampled(graph, args, epoch, use):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "samples")
        subprocess.run([args.outgrow, "sample", args.dataset, "--out", out, "--fanout", args.fanout, "--batch", str(args.batch), "--memory",
                        args.memory, "--epochs", "1", "--seed", str(args.seed * 1000 + epoch), "--quiet"], check=True, stdout=subprocess.DEVNULL)
        return use(batches(graph, out, args.layers))


def train_epoch(graph, model, optimizer, items):
    model.train()
    loss_sum = n_sum = 0
    for ids, kind, row, seeds, blocks in items:
        x = [model.rows(t, ids[kind == t] - graph.first[t]) for t in range(len(graph.types))]
        out = model(x, blocks)
        of = [np.flatnonzero(kind[:seeds] == t) for t in range(len(graph.types))]  # seeds of one type come first among its rows
        logits = torch.cat([o[:len(at)] for o, at in zip(out, of)])
        labels = torch.from_numpy(graph.labels[ids[np.concatenate(of)]])
        loss = F.cross_entropy(logits, labels, ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum, n_sum = loss_sum + loss.item() * seeds, n_sum + seeds
    return loss_sum / n_sum


@torch.no_grad()
def accuracy(graph, model, edges, splits):
    """All nodes with all neighbours."""
    model.eval()
    x = [model.rows(t, np.arange(n)) for t, n in enumerate(graph.count)]
    logits = model(x, [(graph.count, edges)] * len(model.convs))
    guess = np.concatenate([o.argmax(1).numpy() for o in logits])
    return [float((guess[ids] == graph.labels[ids]).mean()) for ids in splits]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dataset")
    p.add_argument("--fanout", default="10,10")
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--dropout", type=float, default=0.5)
    p.add_argument("--lr", type=float, default=0.003)
    p.add_argument("--batch", type=int, default=1000)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--memory", default="2G")
    p.add_argument("--outgrow", default="outgrow", help="the command")
    p.add_argument("--out", help="file for the parameters of the best epoch")
    args = p.parse_args()
    args.layers = args.fanout.split(";")[0].count(",") + 1

    torch.manual_seed(args.seed)
    graph = Graph(args.dataset)
    model = Model(graph, args.hidden, args.layers, args.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    whole = []
    for r, (_, _, d) in enumerate(graph.relations):
        dst = np.repeat(np.arange(graph.count[d]), np.diff(graph.array(f"rel{r}_indptr")))
        whole.append(torch.from_numpy(np.stack([np.asarray(graph.array(f"rel{r}_indices"), np.int64), dst])))
    splits = [graph.split("valid"), graph.split("test")]
    best = 0
    for epoch in range(1, args.epochs + 1):
        loss = sampled(graph, args, epoch, lambda items: train_epoch(graph, model, optimizer, items))
        valid, test = accuracy(graph, model, whole, splits)
        if valid > best:
            best, of_best = valid, test
            if args.out:
                torch.save(model.state_dict(), args.out)
        print(f"epoch {epoch}: loss {loss:.4f}, valid {valid:.4f}, test {test:.4f}", flush=True)
    print(f"test of the best: {of_best:.4f}")


main()
