#!/usr/bin/env python3
"""Heterogeneous models in PyTorch Geometric's HeteroConv and here: files of either side have the same logits in both.

    typed_layout.py OUTGROW      exits 77 where there is no PyTorch Geometric
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import torch
    from torch_geometric.nn import GATConv, GATv2Conv, GCNConv, GINConv, HeteroConv, RGCNConv, SAGEConv
    from torch_geometric.nn.module_dict import ModuleDict
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
from torch import nn

from tensor_files import read_safetensors, write_safetensors

OUTGROW = os.path.abspath(sys.argv[1])
WIDTHS = {"paper": 14, "author": 9, "venue.of": 5}
COUNTS = {"paper": 400, "author": 300, "venue.of": 20}
RELATIONS = [("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "written.by", "author"), ("venue.of", "has", "paper"),
             ("paper", "at", "venue.of"), ("author", "knows", "author")]
HIDDEN, CLASSES, HEADS, TOLERANCE = 12, 5, 3, 1e-5


def run(*words):
    done = subprocess.run([OUTGROW, *map(str, words), "--quiet"], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)


# ---- there ----

def sage(of, own, out, last):
    return SAGEConv((of, own), out)


def sage_max(of, own, out, last):
    return SAGEConv((of, own), out, aggr="max", project=True)


def gin(of, own, out, last):
    return GINConv(nn.Sequential(nn.Linear(of, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, out)), train_eps=True)


def gat(of, own, out, last, within):
    width = {"out_channels": out if last else out // HEADS, "heads": HEADS, "concat": not last}
    return GATConv(of, **width) if within else GATConv((of, own), **width, add_self_loops=False)


def gatv2(of, own, out, last, within):
    width = {"out_channels": out if last else out // HEADS, "heads": HEADS, "concat": not last}
    return GATv2Conv(of, **width) if within else GATv2Conv((of, own), **width, add_self_loops=False)


class Between(nn.Module):
    """GCN from one type to another, under GCNConv's names: what DGL's GraphConv(norm="both") computes."""

    def __init__(self, of, out):
        super().__init__()
        self.lin, self.bias = nn.Linear(of, out, bias=False), nn.Parameter(torch.zeros(out))

    def forward(self, x, edges):
        (of, own), (src, dst) = x, edges
        scale = (torch.bincount(src, minlength=len(of))[src] * torch.bincount(dst, minlength=len(own))[dst]).float().rsqrt()
        z = self.lin(of)
        return torch.zeros(len(own), z.shape[1]).index_add(0, dst, z[src] * scale[:, None]) + self.bias


def gcn(of, own, out, last, within):
    return GCNConv(of, out) if within else Between(of, out)


class Pooled(nn.Module):
    """PinSAGE of all neighbours, which count alike."""

    def __init__(self, of, own, out, last):
        super().__init__()
        self.lin_q, self.lin_l, self.lin_r = nn.Linear(of, HIDDEN), nn.Linear(HIDDEN, out), nn.Linear(own, out, bias=False)

    def forward(self, x, edges):
        (of, own), (src, dst) = x if isinstance(x, tuple) else (x, x), edges
        total = torch.zeros(len(own), HIDDEN).index_add(0, dst, self.lin_q(of).relu()[src])
        return self.lin_l(total / torch.bincount(dst, minlength=len(own)).clamp(min=1)[:, None]) + self.lin_r(own)


def unit(x):
    x = x.relu()
    return x / x.norm(dim=1, keepdim=True).clamp(min=1e-30)


KINDS = {"sage": (sage, ["--model", "sage"]), "sage max": (sage_max, ["--model", "sage", "--aggregator", "max"]),
         "rgcn": (0, ["--model", "rgcn"]), "rgcn of bases": (3, ["--model", "rgcn", "--bases", 3]),
         "gat": (gat, ["--model", "gat", "--heads", HEADS]), "gatv2": (gatv2, ["--model", "gatv2", "--heads", HEADS]), "gcn": (gcn, ["--model", "gcn"]), "pinsage": (Pooled, ["--model", "pinsage"]), "gin": (gin, ["--model", "gin"])}


class Model(nn.Module):
    def __init__(self, conv, widths, layers):
        super().__init__()
        self.act = {gat: nn.functional.elu, gatv2: nn.functional.elu, Pooled: unit}.get(conv, nn.functional.relu)
        self.convs = nn.ModuleList()
        for l in range(layers):
            last = l == layers - 1
            made = {}
            for source, name, destination in RELATIONS:
                of, own = (widths[source], widths[destination]) if l == 0 else (HIDDEN, HIDDEN)
                within = {"within": source == destination} if conv in (gat, gatv2, gcn) else {}
                made[source, name, destination] = conv(of, own, CLASSES if last else HIDDEN, last, **within)
            self.convs.append(HeteroConv(made, aggr="sum"))

    def forward(self, x, edges):
        for l, conv in enumerate(self.convs):
            x = conv(x, edges)
            if l < len(self.convs) - 1:
                x = {name: self.act(rows) for name, rows in x.items()}
        return x["paper"]


class Relations(nn.Module):
    """R-GCN, which has no types of nodes. Features of several widths are first brought to one, by a layer of each type."""

    def __init__(self, widths, layers, bases):
        super().__init__()
        same = len(set(widths.values())) == 1
        self.lins = ModuleDict({} if same else {name: nn.Linear(width, HIDDEN) for name, width in widths.items()})
        sizes = [widths["paper"] if same else HIDDEN, *[HIDDEN] * (layers - 1), CLASSES]
        self.convs = nn.ModuleList(RGCNConv(i, o, len(RELATIONS), num_bases=bases or None) for i, o in zip(sizes, sizes[1:]))

    def forward(self, x, edges):
        names = list(COUNTS)
        first = dict(zip(names, np.cumsum([0, *COUNTS.values()])))
        index = torch.cat([edges[r] + torch.tensor([[first[r[0]]], [first[r[2]]]]) for r in RELATIONS], 1)
        kind = torch.cat([torch.full((edges[r].shape[1],), i) for i, r in enumerate(RELATIONS)])
        x = torch.cat([self.lins[name](x[name]) if name in self.lins else x[name] for name in names])
        for l, conv in enumerate(self.convs):
            x = conv(x, index, kind)
            x = x.relu() if l < len(self.convs) - 1 else x
        return x[:COUNTS["paper"]]


def load_graph(folder):
    meta = json.loads(pathlib.Path(folder, "meta.json").read_text())
    x = {t["name"]: torch.from_numpy(np.load(f"{folder}/features_{i}.npy")) for i, t in enumerate(meta["node_types"])}
    edges = {}
    for r, relation in enumerate(meta["relations"]):
        indptr, indices = np.load(f"{folder}/rel{r}_indptr.npy"), np.load(f"{folder}/rel{r}_indices.npy")
        dst = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        edges[relation["source"], relation["name"], relation["destination"]] = torch.from_numpy(np.stack([indices.astype(np.int64), dst]))
    return x, edges


# ---- both ----

def logits_here(folder, checkpoint, layers):
    out = checkpoint + ".npy"
    run("predict", folder, "--checkpoint", checkpoint, "--fanout", ",".join(["-1"] * layers), "--memory", "200M", "--out", out)
    got = torch.from_numpy(np.load(out))
    os.unlink(out)
    return got


def assert_same(what, got, want):
    off = (got - want).abs().max().item() / want.abs().max().item()
    assert got.shape == want.shape and off <= TOLERANCE, f"{what}: off by {off:.1e}"
    return off


def there_and_back(kind, layers, folder, widths):
    conv, options = KINDS[kind]
    x, edges = load_graph(folder)
    torch.manual_seed(layers)
    model = (Relations(widths, layers, conv) if "rgcn" in kind else Model(conv, widths, layers)).eval()
    with torch.no_grad():
        for p in model.parameters():  # biases and eps start at 0, where they would not be seen
            p += 0.1 * torch.randn_like(p)
        write_safetensors("theirs.safetensors", model.state_dict())
        worst = assert_same(f"{kind}, theirs", logits_here(folder, "theirs.safetensors", layers), model(x, edges))

    run("train", folder, *options, "--fanout", ",".join(["4"] * layers), "--hidden", HIDDEN, "--epochs", 2, "--batch", 50, "--lr", 0.01,
        "--memory", "200M", "--run", "ours")
    ours = "ours/checkpoint.safetensors"
    said = model.load_state_dict(read_safetensors(ours), strict=False)
    last = f"convs.{layers - 1}.convs.<"
    assert not said.unexpected_keys and bool(said.missing_keys) == ("rgcn" not in kind), said
    assert all(name.startswith(last) and "___paper>." not in name for name in said.missing_keys), said  # no logit depends on those
    with torch.no_grad():
        worst = max(worst, assert_same(f"{kind}, ours", model(x, edges), logits_here(folder, ours, layers)))
    subprocess.run(["rm", "-r", "ours"], check=True)
    print(f"{kind}, {layers} layers: within {worst:.1e}")


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, widths in (("graph", WIDTHS), ("same", dict.fromkeys(WIDTHS, 9))):
            run("generate", name, "--types", ",".join(f"{t}:{COUNTS[t]}:{w}" for t, w in widths.items()),
                "--relations", ",".join(f"{a}:{r}:{b}:3" for a, r, b in RELATIONS), "--classes", CLASSES, "--train-fraction", 0.3)
            for kind in KINDS:
                for layers in (2, 3):
                    if name == "same" or kind != "gin":
                        there_and_back(kind, layers, name, widths)
        os.chdir("/")


main()
