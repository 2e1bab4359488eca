#!/usr/bin/env python3
"""Models trained in PyTorch, under PyTorch Geometric's parameter names, load here and give the same
logits, and back.

The modules below have the attributes of PyTorch Geometric's layers, and thus their state_dict. That of PinSAGE is DGL's example. What they
compute is written out from the definitions. Files are read and written by a few lines that share nothing with the library
(tensor_files.py).

    pyg_layout.py OUTGROW      exits 77 where there is no PyTorch
"""
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
except ImportError:
    sys.exit(77)
from torch import nn

from tensor_files import read_safetensors, write_safetensors

OUTGROW = os.path.abspath(sys.argv[1])
NODES, DIM, CLASSES, HIDDEN, HEADS = 300, 12, 5, 16, 4
TOLERANCE = 1e-4


# ---- layers: edges go from src to dst ----

def total(n, dst, rows):
    return torch.zeros(n, *rows.shape[1:]).index_add(0, dst, rows)


def with_loops(src, dst, n):
    """One loop a node, whatever loops there were."""
    other, loop = src != dst, torch.arange(n)
    return torch.cat([src[other], loop]), torch.cat([dst[other], loop])


class GCNConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(o) / 4)
        self.lin = nn.Linear(i, o, bias=False)

    def forward(self, x, src, dst):
        src, dst = with_loops(src, dst, len(x))
        norm = total(len(x), dst, torch.ones(len(dst))).rsqrt()
        return total(len(x), dst, self.lin(x)[src] * (norm[src] * norm[dst])[:, None]) + self.bias


class SAGEConv(nn.Module):
    """aggr: mean; max, after project=True; gcn, a mean with the node itself and no root_weight."""

    def __init__(self, i, o, aggr="mean"):
        super().__init__()
        self.aggr = aggr
        if aggr == "max":
            self.lin = nn.Linear(i, i)
        self.lin_l = nn.Linear(i, o)
        if aggr != "gcn":
            self.lin_r = nn.Linear(i, o, bias=False)

    def forward(self, x, src, dst):
        n, own = len(x), x
        if self.aggr == "max":
            x = self.lin(x).relu()
            a = torch.zeros_like(x).scatter_reduce(0, dst[:, None].expand(-1, x.shape[1]), x[src], "amax", include_self=False)
            return self.lin_l(a) + self.lin_r(own)
        if self.aggr == "gcn":
            src, dst = with_loops(src, dst, n)
        a = total(n, dst, x[src]) / total(n, dst, torch.ones(len(dst))).clamp(min=1)[:, None]
        return self.lin_l(a) + (self.lin_r(own) if self.aggr == "mean" else 0)


def attended(z, score, src, dst, concat):
    index, n = dst[:, None].expand_as(score), len(z)
    top = torch.zeros(n, score.shape[1]).scatter_reduce(0, index, score, "amax", include_self=False)
    e = (score - top.detach()[dst]).exp()
    alpha = e / total(n, dst, e)[dst]
    y = total(n, dst, alpha[:, :, None] * z[src])
    return y.flatten(1) if concat else y.mean(1)


class GATConv(nn.Module):
    def __init__(self, i, o, heads, concat):
        super().__init__()
        self.att_src, self.att_dst = (nn.Parameter(torch.randn(1, heads, o) / 2) for _ in range(2))
        self.bias = nn.Parameter(torch.randn(heads * o if concat else o) / 4)
        self.lin = nn.Linear(i, heads * o, bias=False)
        self.concat = concat

    def forward(self, x, src, dst):
        src, dst = with_loops(src, dst, len(x))
        z = self.lin(x).view(len(x), *self.att_src.shape[1:])
        score = (z * self.att_src).sum(-1)[src] + (z * self.att_dst).sum(-1)[dst]
        return attended(z, nn.functional.leaky_relu(score, 0.2), src, dst, self.concat) + self.bias


class GATv2Conv(nn.Module):
    def __init__(self, i, o, heads, concat):
        super().__init__()
        self.att = nn.Parameter(torch.randn(1, heads, o) / 2)
        self.bias = nn.Parameter(torch.randn(heads * o if concat else o) / 4)
        self.lin_l, self.lin_r = nn.Linear(i, heads * o), nn.Linear(i, heads * o)
        self.concat = concat

    def forward(self, x, src, dst):
        src, dst = with_loops(src, dst, len(x))
        z, own = (lin(x).view(len(x), *self.att.shape[1:]) for lin in (self.lin_l, self.lin_r))
        score = (nn.functional.leaky_relu(z[src] + own[dst], 0.2) * self.att).sum(-1)
        return attended(z, score, src, dst, self.concat) + self.bias


class GINConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.nn = nn.Sequential(nn.Linear(i, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, o))
        self.eps = nn.Parameter(torch.tensor([0.3]))

    def forward(self, x, src, dst):
        return self.nn(total(len(x), dst, x[src]) + (1 + self.eps) * x)


class WeightedSAGEConv(nn.Module):
    """From DGL's example; all weights are 1 on the whole graph."""

    def __init__(self, i, o):
        super().__init__()
        self.Q, self.W = nn.Linear(i, HIDDEN), nn.Linear(HIDDEN + i, o)

    def forward(self, x, src, dst):
        n = self.Q(x).relu()
        a = total(len(x), dst, n[src]) / total(len(x), dst, torch.ones(len(dst))).clamp(min=1)[:, None]
        return self.W(torch.cat([a, x], 1))


CONVS = {
    "gcn": lambda i, o, last: GCNConv(i, o),
    "sage": lambda i, o, last: SAGEConv(i, o),
    "sage --aggregator max": lambda i, o, last: SAGEConv(i, o, "max"),
    "sage --aggregator gcn": lambda i, o, last: SAGEConv(i, o, "gcn"),
    f"gat --heads {HEADS}": lambda i, o, last: GATConv(i, o if last else o // HEADS, HEADS, not last),
    f"gatv2 --heads {HEADS}": lambda i, o, last: GATv2Conv(i, o if last else o // HEADS, HEADS, not last),
    "gin": lambda i, o, last: GINConv(i, o),
    "pinsage": lambda i, o, last: WeightedSAGEConv(i, o),
}


class Model(nn.Module):
    def __init__(self, kind, layers, norm=None, residual=False, hidden=HIDDEN):
        super().__init__()
        widths = [DIM] + [hidden] * (layers - 1) + [CLASSES]
        pairs = list(zip(widths, widths[1:]))
        self.kind = kind
        self.convs = nn.ModuleList(CONVS[kind](i, o, l == layers - 1) for l, (i, o) in enumerate(pairs))
        make = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}.get(norm)
        self.norms = nn.ModuleList(make(hidden) for _ in pairs[1:]) if make else None
        self.skips = nn.ModuleDict({str(l): nn.Linear(i, o, bias=False) for l, (i, o) in enumerate(pairs) if i != o}) if residual else None
        self.residual = residual

    def forward(self, x, src, dst):
        for l, conv in enumerate(self.convs):
            y = conv(x, src, dst)
            if self.residual:
                y = y + (self.skips[str(l)](x) if str(l) in self.skips else x)
            if l < len(self.convs) - 1:
                y = self.norms[l](y) if self.norms else y
                y = nn.functional.elu(y) if self.kind.startswith("gat") else y.relu()
                if self.kind == "pinsage":
                    y = nn.functional.normalize(y)
            x = y
        return x


def from_dgl(state):
    """Names of a PinSAGE here: what is pooled is multiplied by W's first columns."""
    out = {}
    for name, t in state.items():
        if name.endswith("W.weight"):
            out[name.replace("W.weight", "lin_l.weight")] = t[:, :HIDDEN]
            out[name.replace("W.weight", "lin_r.weight")] = t[:, HIDDEN:]
        else:
            out[name.replace(".Q.", ".lin_q.").replace(".W.", ".lin_l.")] = t
    return out


def to_dgl(state):
    out = {}
    for name, t in state.items():
        if name.endswith("lin_r.weight"):
            continue
        if name.endswith("lin_l.weight"):
            t = torch.cat([t, state[name.replace("lin_l", "lin_r")]], 1)
        out[name.replace(".lin_q.", ".Q.").replace(".lin_l.", ".W.")] = t
    return out


# ---- there and back ----

def run(*words, status=0):
    done = subprocess.run([OUTGROW, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == status, (words, done.stderr)
    return done.stderr


def make_graph():
    """Directed, with loops and nodes without neighbours."""
    rng = np.random.default_rng(5)
    adjacent = rng.random((NODES, NODES)) < 5 / NODES
    np.fill_diagonal(adjacent, rng.random(NODES) < 0.1)
    adjacent[-6:] = adjacent[:, -6:] = False
    x = rng.standard_normal((NODES, DIM)).astype(np.float32)
    y = rng.integers(0, CLASSES, NODES)
    src, dst = np.nonzero(adjacent)
    os.mkdir("source")
    ids = rng.permutation(NODES)
    for name, a in {"edges": np.stack([src, dst], 1).astype(np.int64), "feat": x, "label": y, "train": ids[:200],
                    "valid": ids[200:250], "test": ids[250:]}.items():
        np.save(f"source/{name}.npy", a)
    run("import", "npy", "source", "graph", "--quiet")
    return [torch.from_numpy(a) for a in (x, y, src, dst)]


def predicted(checkpoint):
    run("predict", "graph", "--checkpoint", checkpoint, "--out", "logits.npy", "--quiet")
    logits = torch.from_numpy(np.load("logits.npy"))
    os.remove("logits.npy")
    return logits


def assert_same(what, got, want):
    worst = (got - want).abs().max().item() / max(1, want.abs().max().item())
    assert worst <= TOLERANCE, (what, worst)
    return worst


def logits_of(model, graph):
    x, _, src, dst = graph
    model.eval()
    with torch.no_grad():
        return model(x, src, dst)


def train_there(model, graph):
    x, y, src, dst = graph
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x, src, dst), y).backward()
        optimizer.step()


def there_and_back(kind, layers, graph, norm=None, residual=False, rename=lambda state: state, hidden=HIDDEN):
    """rename: what other versions call parameters."""
    torch.manual_seed(layers)
    model = Model(kind, layers, norm, residual, hidden)
    train_there(model, graph)
    pinsage = kind == "pinsage"
    state = model.state_dict()
    write_safetensors("theirs.safetensors", rename(from_dgl(state) if pinsage else state))
    options = ["--model", *kind.split(), "--hidden", hidden, "--fanout", ",".join(["-1"] * layers), "--norm", norm or "none",
               "--quiet", *(["--residual"] if residual else [])]
    run("train", "graph", *options, "--init", "theirs.safetensors", "--epochs", 0, "--run", "loaded")
    want = logits_of(model, graph)
    worst = assert_same(f"{kind} --init", predicted("loaded/checkpoint.safetensors"), want)
    if not residual:  # whose metadata says so
        assert_same(f"{kind} predict", predicted("theirs.safetensors"), want)

    run("train", "graph", *options, "--init", "theirs.safetensors", "--epochs", 3, "--batch", 50, "--run", "ours")
    state = read_safetensors("ours/checkpoint.safetensors")
    back = Model(kind, layers, norm, residual, hidden)
    back.load_state_dict(to_dgl(state) if pinsage else state, strict=True)
    moved = (logits_of(back, graph) - want).abs().max().item()
    assert moved > 100 * TOLERANCE, (kind, "was not trained", moved)
    worst = max(worst, assert_same(f"{kind} and back", logits_of(back, graph), predicted("ours/checkpoint.safetensors")))
    shutil.rmtree("loaded")
    shutil.rmtree("ours")
    print(f"{kind}, {layers} layers{', ' + norm if norm else ''}{', residual' if residual else ''}: within {worst:.1e}")


def earlier_gat(state):
    """GATConv up to version 2.4: one matrix under two names."""
    out = {}
    for name, t in state.items():
        for now in ["lin_src.", "lin_dst."] if ".lin." in name else ["lin."]:
            out[name.replace("lin.", now)] = t
    return out


def wrapped_norms(state):
    """torch_geometric.nn.BatchNorm holds PyTorch's as `module`."""
    return {".".join(name.split(".")[:2] + ["module"] + name.split(".")[2:]) if name.startswith("norms") else name: t
            for name, t in state.items()}


def numbers_are_refused_that_are_none():
    state = Model("gcn", 2).state_dict()
    state["convs.1.lin.weight"][2, 3] = float("nan")
    write_safetensors("nan.safetensors", state)
    said = run("predict", "graph", "--checkpoint", "nan.safetensors", "--out", "logits.npy", status=1)
    assert f"convs.1.lin.weight[{2 * HIDDEN + 3}]" in said, said


def two_matrices_are_refused():
    """GATConv of a pair of widths multiplies destinations by another matrix: another model."""
    state = earlier_gat(Model(f"gat --heads {HEADS}", 2).state_dict())
    state["convs.1.lin_dst.weight"] = state["convs.1.lin_dst.weight"] + 1
    write_safetensors("two.safetensors", state)
    said = run("train", "graph", "--model", "gat", "--heads", HEADS, "--hidden", HIDDEN, "--fanout", "5,5", "--init", "two.safetensors",
               "--run", "never", status=1)
    assert "no tensor convs.0.lin.weight" in said, said


def tensors_of_another_convolution_are_refused():
    """State of GATv2Conv with edge_dim, and with a residual of its own; GATConv has lin_edge too."""
    for kind in "gatv2", "gat":
        for extra in "lin_edge.weight", "res.weight":
            state = Model(f"{kind} --heads {HEADS}", 2).state_dict() | {f"convs.1.{extra}": torch.zeros(HEADS * CLASSES, 3)}
            write_safetensors("more.safetensors", state)
            said = run("predict", "graph", "--checkpoint", "more.safetensors", "--out", "logits.npy", status=1)
            assert f"convs.1.{extra}: unknown parameter" in said, said


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    torch.set_num_threads(1)
    graph = make_graph()
    for kind in CONVS:
        there_and_back(kind, 2, graph)
        there_and_back(kind, 3, graph, norm="batch")
        there_and_back(kind, 3, graph, norm="layer", residual=True)
    there_and_back(f"gat --heads {HEADS}", 4, graph, norm="layer", residual=True, hidden=512)
    there_and_back(f"gat --heads {HEADS}", 2, graph, rename=earlier_gat)
    there_and_back("sage", 3, graph, norm="batch", rename=wrapped_norms)
    two_matrices_are_refused()
    tensors_of_another_convolution_are_refused()
    numbers_are_refused_that_are_none()
    os.chdir("/")
