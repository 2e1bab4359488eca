#!/usr/bin/env python3
"""Reference runs for tests/nn/test_nn_attr.c: models that see rows of edges, by the layers of PyTorch Geometric in float64.

Graphs, batches and files are those of nn_make.py and nn_typed_make.py. Besides, a file has the rows of all edges: `edge_rows`, or `edge_rows.R` of relation R.
For each hop it has the number of the row of every edge, `B.H.edge`. Numbers are drawn at random, so some rows come several times, and some never.

    cd tests/nn/golden && ./nn_attr_make.py [WORD of the names of cases]      with PyTorch Geometric 2.6
"""
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv, GATv2Conv, GINEConv, TransformerConv

import nn_make
import nn_typed_make as typed
from nn_make import LR, STEPS, WEIGHT_DECAY, write_safetensors

ROWS = 4  # of a unit


def make_conv(kind, i, own, o, hidden, heads, last, edge_dim, apart=False, loops=True):
    """With the names of its parameters; apart: between two types."""
    ends = (i, own) if apart or kind == "transformer" else i
    wide = o if last else o // heads
    if kind == "gine":
        return GINEConv(nn.Sequential(nn.Linear(i, hidden), nn.ReLU(), nn.Linear(hidden, o)), train_eps=True, edge_dim=edge_dim)
    if kind == "transformer":
        return TransformerConv(ends, wide, heads, concat=not last, edge_dim=edge_dim)
    conv = {"gat": GATConv, "gatv2": GATv2Conv}[kind]
    return conv(ends, wide, heads, concat=not last, edge_dim=edge_dim, add_self_loops=loops and not apart)


def randomise(module, gen):
    """Numbers of float32, also where layers begin with zeros."""
    with torch.no_grad():
        for name, p in module.named_parameters():
            bound = 0.7 if ".att" in name or name.startswith("att") else (6 / sum(p.shape)) ** 0.5 if p.dim() == 2 else 0.4
            p.copy_(((torch.rand(p.shape, generator=gen, dtype=torch.float32) * 2 - 1) * bound) + (1 if "norms" in name and "weight" in name else 0))


def draw_rows(rng, n, dim, dtype):
    """Rows that the dtype holds exactly."""
    if dtype == "u8":
        return rng.integers(0, 4, (n, dim)).astype(np.float32)
    return (rng.integers(-64, 65, (n, dim)) / 32).astype(np.float32)


def act(kind, y):
    return F.elu(y) if kind.startswith("gat") else y.relu()


class Model(nn.Module):
    def __init__(self, kind, dims, heads, edge_dim, norm, residual):
        super().__init__()
        pairs = list(zip(dims, dims[1:]))
        last = len(pairs) - 1
        self.kind, self.residual = kind, residual
        self.convs = nn.ModuleList(make_conv(kind, i, i, o, dims[1], heads, l == last, edge_dim) for l, (i, o) in enumerate(pairs))
        make = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}.get(norm)
        self.norms = nn.ModuleList(make(dims[1]) for _ in pairs[1:]) if make else []
        self.skips = nn.ModuleDict({str(l): nn.Linear(i, o, bias=False) for l, (i, o) in enumerate(pairs) if residual and i != o})

    def forward(self, x, hops, rows):
        for l, conv in enumerate(self.convs):
            h = len(self.convs) - 1 - l
            src, dst, n_src, n_dst = nn_make.edges(hops[h])
            own = x[:n_dst]
            y = conv((x[:n_src], own), torch.stack([src, dst]), edge_attr=None if rows is None else rows[h])
            if self.residual:
                y = y + (self.skips[str(l)](own) if str(l) in self.skips else own)
            if h > 0:
                y = act(self.kind, self.norms[l](y) if len(self.norms) else y)
            x = y
        return x


def train(out, batches, named, run, loss_of):
    """The steps; named: parameters, run: of a batch its logits."""
    optimizer, losses = torch.optim.Adam(named.values(), lr=LR, weight_decay=WEIGHT_DECAY), []
    init = {"init." + k: v.detach().numpy().copy() for k, v in named.items()}
    for step in range(STEPS):
        batch = batches[step % len(batches)]
        optimizer.zero_grad(set_to_none=False)
        logits = run(batch)
        loss = loss_of(logits, batch)
        loss.backward()
        if step == 0:
            used = [k for k, v in named.items() if v.grad is not None]
            out["logits"] = logits.detach().numpy().copy()
            out.update({"grad." + k: named[k].grad.numpy().copy() for k in used})
        optimizer.step()
        losses.append(loss.item())
    out["losses"] = np.array(losses)
    out.update({"init." + k: init["init." + k] for k in used})
    out.update({"final." + k: named[k].detach().numpy().copy() for k in used})
    return losses, used


def in_f32(out):
    return {name: a.astype(np.float32) if a.dtype == np.float64 and name != "losses" else a for name, a in out.items()}


def make(case, kind, fanout, dim, hidden, classes, edge_dim, heads=1, norm="none", residual=False, dtype="f32", edge_dtype="f32",
         nodes=40, n_batches=2, seeds=10):
    if not all(word in case for word in sys.argv[1:]):
        return
    torch.set_default_dtype(torch.float64)
    rng, gen = np.random.default_rng(len(case) * 1000 + dim), torch.Generator().manual_seed(dim)
    graph, layers, n_rows = nn_make.make_graph(rng, nodes), len(fanout), 180
    x = draw_rows(rng, nodes, dim, dtype)
    rows = draw_rows(rng, n_rows, edge_dim, edge_dtype) if edge_dim else None
    labels = rng.integers(0, classes, nodes)
    model = Model(kind, [dim] + [hidden] * (layers - 1) + [classes], heads, edge_dim or None, norm, residual)
    randomise(model, gen)
    out, batches = {"features": x, "labels": labels}, []
    if edge_dim:
        out["edge_rows"] = rows
    for b in range(n_batches):
        ids, hops = nn_make.sample(graph, rng.permutation(nodes)[:seeds], fanout, rng)
        out[f"{b}.ids"], of_hops = ids, []
        for h, (indptr, src, _) in enumerate(hops):
            out[f"{b}.{h}.indptr"], out[f"{b}.{h}.src"] = indptr, src
            number = rng.integers(0, n_rows, len(src))
            if edge_dim:
                out[f"{b}.{h}.edge"] = number
                of_hops.append(torch.from_numpy(rows[number]).double())
        batches.append((ids, hops, of_hops if edge_dim else None))
    losses, _ = train(out, batches, dict(model.named_parameters()),
                      lambda batch: model(torch.from_numpy(x[batch[0]]).double(), batch[1], batch[2]),
                      lambda logits, batch: F.cross_entropy(logits, torch.from_numpy(labels[batch[0][:seeds]])))
    out.update({"final." + k: v.numpy().copy() for k, v in model.named_buffers() if "num_batches" not in k})
    if norm == "batch":
        model.eval()
        ids, hops, of_hops = batches[(STEPS - 1) % n_batches]
        out["eval_logits"] = model(torch.from_numpy(x[ids]).double(), hops, of_hops).detach().numpy().copy()
    metadata = dict(kind=kind, layers=layers, dim=dim, hidden=hidden, classes=classes, dtype=dtype, multi_label=0, batches=n_batches, lr=LR,
                    weight_decay=WEIGHT_DECAY, edge_dim=edge_dim, edge_dtype=edge_dtype, edge_unit=ROWS)
    metadata |= {"heads": heads} if kind != "gine" else {}
    metadata |= {"norm": norm} if norm != "none" else {}
    metadata |= {"residual": 1} if residual else {}
    write_safetensors(f"nn_attr_{case}.safetensors", in_f32(out), {k: str(v) for k, v in metadata.items()})
    print(case, losses[0], losses[-1])


# ---- heterogeneous graphs ----

def typed_forward(kind, layers, convs, x, ids, hops, rows):
    """rows: of each hop's relations; residual and norm are tested without them."""
    number = typed.numbers(ids)
    for l in range(layers):
        h = layers - 1 - l
        lists, n_dst, _ = hops[h]
        y = {}
        for r, relation in enumerate(typed.RELATIONS):
            source, _, destination = relation
            if source not in x or destination not in x or (l, r) not in convs:
                continue
            src = torch.tensor([number[u] for q, _, near in lists if q == r for u in near], dtype=torch.long)
            dst = torch.tensor([number[v] for q, v, near in lists if q == r for _ in near], dtype=torch.long)
            own = x[destination][:typed.count(ids, n_dst, destination)]
            made = convs[l, r]((x[source], own), torch.stack([src, dst]), edge_attr=rows[h][r])
            y[destination] = y[destination] + made if destination in y else made
        x = y if h == 0 else {name: act(kind, of) for name, of in y.items()}
    return x


def typed_make(case, kind, fanout, dims, hidden, classes, edge_dims, heads=1, trained=(), n_batches=3, seeds=12):
    """edge_dims: of each relation; 0: none."""
    if not all(word in case for word in sys.argv[1:]):
        return
    torch.set_default_dtype(torch.float64)
    rng, gen = np.random.default_rng(len(case) * 100 + hidden), torch.Generator().manual_seed(hidden)
    graph, layers, n_rows = typed.make_graph(rng), len(fanout), 200
    labels = rng.integers(0, classes, typed.COUNT[typed.TARGET])
    out, named, convs, features = {"labels": labels}, {}, {}, {}
    for l in range(layers):
        for r, relation in enumerate(typed.RELATIONS):
            source, _, destination = relation
            i, own = (dims[source], dims[destination]) if l == 0 else (hidden, hidden)
            last = l == layers - 1
            convs[l, r] = make_conv(kind, i, own, classes if last else hidden, hidden, heads, last, edge_dims[r] or None, source != destination)
            randomise(convs[l, r], gen)
            named |= {typed.parameter(l, relation, name): p for name, p in convs[l, r].named_parameters()}
    for name, dim in dims.items():
        if name in trained:
            named[f"embeddings.{name}.weight"] = (torch.rand(typed.COUNT[name], dim, generator=gen, dtype=torch.float32) - 0.5).double().requires_grad_()
        else:
            features[name] = out["features." + name] = rng.standard_normal((typed.COUNT[name], dim)).astype(np.float32)
    for r, dim in enumerate(edge_dims):
        if dim:
            out[f"edge_rows.{r}"] = draw_rows(rng, n_rows, dim, "f32")
    batches = []
    for b in range(n_batches):
        ids, hops = typed.sample(graph, rng.permutation(typed.COUNT[typed.TARGET])[:seeds] + typed.FIRST[typed.TARGET], fanout, rng)
        out[f"{b}.ids"], of_hops = ids, []
        for h, (lists, n_dst, n_src) in enumerate(hops):
            of = np.array([r for r, _, _ in lists], np.int64)
            of_edge = np.array([r for r, _, near in lists for _ in near], np.int64)
            number = np.where(np.array(edge_dims)[of_edge] > 0, rng.integers(0, n_rows, len(of_edge)), 0)
            out[f"{b}.{h}.relation"] = np.searchsorted(of, np.arange(len(typed.RELATIONS) + 1)).astype(np.int64)
            out[f"{b}.{h}.dst"] = np.array([v for _, v, _ in lists], np.int64)
            out[f"{b}.{h}.indptr"] = np.cumsum([0] + [len(near) for _, _, near in lists]).astype(np.int64)
            out[f"{b}.{h}.src"] = np.array([u for _, _, near in lists for u in near], np.int64)
            out[f"{b}.{h}.sizes"] = np.array([n_dst, n_src], np.int64)
            out[f"{b}.{h}.edge"] = number
            of_hops.append([torch.from_numpy(out[f"edge_rows.{r}"][number[of_edge == r]]).double() if dim else None for r, dim in enumerate(edge_dims)])
        batches.append((ids, hops, of_hops))

    def run(batch):
        ids, hops, of_hops = batch
        x = {}
        for name in dims:
            own = torch.tensor([v - typed.FIRST[name] for v in ids if typed.type_of(v) == name], dtype=torch.long)
            x[name] = named[f"embeddings.{name}.weight"][own] if name in trained else torch.from_numpy(features[name]).double()[own]
        return typed.rows_of_seeds(typed_forward(kind, layers, convs, x, ids, hops, of_hops), ids, seeds)

    losses, used = train(out, batches, named, run,
                         lambda logits, batch: F.cross_entropy(logits, torch.from_numpy(labels[batch[0][:seeds] - typed.FIRST[typed.TARGET]])))
    metadata = dict(kind=kind, layers=layers, hidden=hidden, classes=classes, batches=n_batches, lr=LR, weight_decay=WEIGHT_DECAY,
                    target=[name for name, _ in typed.TYPES].index(typed.TARGET), edge_dim=max(edge_dims), edge_dtype="f32", edge_unit=ROWS,
                    types=" ".join(f"{name} {n} {dims[name]} {int(name in trained)}" for name, n in typed.TYPES),
                    relations=" ".join(" ".join(r) for r in typed.RELATIONS), edge_dims=" ".join(map(str, edge_dims)))
    metadata |= {"heads": heads} if kind != "gine" else {}
    write_safetensors(f"nn_typed_attr_{case}.safetensors", in_f32(out), {k: str(v) for k, v in metadata.items()})
    print(case, losses[0], losses[-1], len(used))


if __name__ == "__main__":
    torch.set_num_threads(1)
    make("gat2", "gat", [5, 4], 12, 16, 5, 6, heads=4)
    make("gat3", "gat", [3, 3, 3], 9, 10, 4, 3, heads=2, norm="layer", residual=True, dtype="f16", edge_dtype="f16")
    make("gat2_narrow", "gat", [-1, -1], 4, 16, 4, 5, heads=2, edge_dtype="u8")
    make("gat3_single", "gat", [3, 3, 3], 8, 10, 4, 1, norm="batch")
    make("gatv2_2", "gatv2", [5, 4], 12, 16, 5, 6, heads=4)
    make("gatv2_3", "gatv2", [3, 3, 3], 9, 10, 4, 3, heads=2, norm="layer", residual=True, edge_dtype="bf16")
    make("gatv2_2_single", "gatv2", [-1, -1], 6, 16, 4, 17, edge_dtype="u8")
    make("gine2", "gine", [5, 4], 12, 14, 5, 6)
    make("gine3", "gine", [3, 3, 3], 10, 10, 4, 3, norm="batch", residual=True, edge_dtype="f16")
    make("gine2_wide", "gine", [-1, -1], 30, 8, 4, 2, dtype="u8", residual=True)
    make("transformer2", "transformer", [5, 4], 12, 16, 5, 6, heads=4)
    make("transformer3", "transformer", [3, 3, 3], 10, 10, 4, 3, heads=2, norm="layer", residual=True, dtype="f16", edge_dtype="f16")
    make("transformer2_single", "transformer", [-1, -1], 6, 16, 4, 5, norm="batch")
    make("transformer2_bare", "transformer", [4, 4], 9, 12, 4, 0, heads=3)
    WIDTHS, SAME = {"paper": 10, "author": 6, "venue": 4}, {"paper": 11, "author": 11, "venue": 11}
    typed_make("gat2", "gat", [3, 3], WIDTHS, 12, 5, [4, 3, 0, 2, 5, 4], heads=3)
    typed_make("gatv2_2", "gatv2", [3, 3], WIDTHS, 12, 5, [4, 3, 0, 2, 5, 4], heads=3, trained=("venue",))
    typed_make("gine2", "gine", [3, 3], SAME, 8, 5, [4, 3, 1, 2, 5, 4], trained=("author",))
    typed_make("transformer2", "transformer", [3, 3], WIDTHS, 12, 5, [4, 3, 0, 2, 5, 4], heads=2, trained=("author",))
