#!/usr/bin/python3
"""Reference runs for tests/test_nn_golden.c, in plain PyTorch.

SAGEConv and GCNConv are written out from their definitions; the layer classes of PyTorch Geometric
are not needed. Each case is one safetensors file: graph, batches, initial parameters, logits and
gradients of the first step, the loss of every step, and the parameters at the end.

    cd tests/golden && ./nn_make.py
"""
import json
import struct

import numpy as np
import torch

torch.set_num_threads(1)
NODES, BATCHES, SEEDS, STEPS = 150, 4, 36, 28
LR, WEIGHT_DECAY = 0.01, 5e-3


def write_safetensors(path, tensors, metadata):
    names = {np.dtype("float32"): "F32", np.dtype("float64"): "F64", np.dtype("int64"): "I64"}
    header, at = {"__metadata__": metadata}, 0
    for name, a in tensors.items():
        header[name] = {"dtype": names[a.dtype], "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for a in tensors.values():
            f.write(np.ascontiguousarray(a).tobytes())


def make_graph(rng):
    """In-neighbours of every node: random, symmetric, some self-loops, some nodes alone."""
    a = rng.random((NODES, NODES)) < 6.0 / NODES
    a |= a.T
    np.fill_diagonal(a, rng.random(NODES) < 0.1)
    a[-5:, :] = a[:, -5:] = False
    return [np.flatnonzero(row) for row in a]


def sample(graph, seeds, fanout, rng):
    """ids, and for each hop (indptr, src): every node found so far draws afresh."""
    ids, at, hops = list(seeds), {int(v): i for i, v in enumerate(seeds)}, []
    for k in fanout:
        indptr, src = [0], []
        for v in list(ids):
            near = graph[v]
            if 0 <= k < len(near):
                near = rng.choice(near, k, replace=False)
            for u in near:
                if int(u) not in at:
                    at[int(u)] = len(ids)
                    ids.append(int(u))
                src.append(at[int(u)])
            indptr.append(len(src))
        hops.append((np.array(indptr, np.int64), np.array(src, np.int64), len(ids)))
    return np.array(ids, np.int64), hops


def edges(hop):
    indptr, src, n_src = hop
    dst = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return torch.from_numpy(src), torch.from_numpy(dst), n_src, len(indptr) - 1


def sage_conv(x, hop, p, name):
    src, dst, _, n_dst = edges(hop)
    total = torch.zeros(n_dst, x.shape[1]).index_add(0, dst, x[src])
    count = torch.zeros(n_dst).index_add(0, dst, torch.ones(len(dst))).clamp(min=1)
    return (total / count[:, None]) @ p[name + "lin_l.weight"].T + p[name + "lin_l.bias"] + x[:n_dst] @ p[name + "lin_r.weight"].T


def gcn_conv(x, hop, p, name):
    """add_remaining_self_loops, then D^-1/2 A D^-1/2 over all n_src nodes; the first n_dst kept."""
    src, dst, n_src, n_dst = edges(hop)
    other = src != dst
    loops = torch.arange(n_src)
    src, dst = torch.cat([src[other], loops]), torch.cat([dst[other], loops])
    degree = torch.zeros(n_src).index_add(0, dst, torch.ones(len(dst)))
    norm = degree.pow(-0.5)
    norm = norm[src] * norm[dst]
    z = x @ p[name + "lin.weight"].T
    return (torch.zeros(n_src, z.shape[1]).index_add(0, dst, z[src] * norm[:, None]) + p[name + "bias"])[:n_dst]


def init(kind, dims, gen):
    p = {}
    for l, (i, o) in enumerate(zip(dims, dims[1:])):
        bound = i**-0.5 if kind == "sage" else (6 / (i + o)) ** 0.5
        draw = lambda *shape: ((torch.rand(*shape, generator=gen) * 2 - 1) * bound).requires_grad_()
        if kind == "sage":
            p[f"convs.{l}.lin_l.weight"], p[f"convs.{l}.lin_l.bias"], p[f"convs.{l}.lin_r.weight"] = draw(o, i), draw(o), draw(o, i)
        else:
            p[f"convs.{l}.bias"], p[f"convs.{l}.lin.weight"] = draw(o), draw(o, i)
    return p


def forward(kind, layers, p, x, hops):
    for l in range(layers):
        conv = sage_conv if kind == "sage" else gcn_conv
        x = conv(x, hops[layers - 1 - l], p, f"convs.{l}.")
        if l < layers - 1:
            x = x.relu()
    return x


def make(case, kind, fanout, dim, hidden, classes, dtype="f32", multi=False):
    rng, gen = np.random.default_rng(len(case) * 1000 + dim), torch.Generator().manual_seed(dim)
    graph, layers = make_graph(rng), len(fanout)
    x = {"f32": rng.standard_normal((NODES, dim)), "f16": rng.standard_normal((NODES, dim)).astype(np.float16),
         "u8": rng.integers(0, 4, (NODES, dim))}[dtype].astype(np.float32)
    if multi:
        labels = (rng.random((NODES, classes)) < 0.3).astype(np.float32)
    else:
        labels = rng.integers(0, classes, NODES)
        labels[rng.random(NODES) < 0.1] = -1
    p = init(kind, [dim] + [hidden] * (layers - 1) + [classes], gen)
    out = {"features": x, "labels": labels}
    out.update({"init." + k: v.detach().numpy().copy() for k, v in p.items()})
    batches = []
    for b in range(BATCHES):
        ids, hops = sample(graph, rng.permutation(NODES)[:SEEDS], fanout, rng)
        batches.append((ids, hops))
        out[f"{b}.ids"] = ids
        for h, (indptr, src, _) in enumerate(hops):
            out[f"{b}.{h}.indptr"], out[f"{b}.{h}.src"] = indptr, src
    optimizer = torch.optim.Adam(p.values(), lr=LR, weight_decay=WEIGHT_DECAY)
    losses = []
    for step in range(STEPS):
        ids, hops = batches[step % BATCHES]
        optimizer.zero_grad()
        logits = forward(kind, layers, p, torch.from_numpy(x)[torch.from_numpy(ids)], hops)
        y = torch.from_numpy(labels[ids[:SEEDS]])
        if multi:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y)
        else:
            loss = torch.nn.functional.cross_entropy(logits, y, ignore_index=-1)
        loss.backward()
        if step == 0:
            out["logits"] = logits.detach().numpy().copy()
            out.update({"grad." + k: v.grad.numpy().copy() for k, v in p.items()})
        optimizer.step()
        losses.append(loss.item())
    out["losses"] = np.array(losses)
    out.update({"final." + k: v.detach().numpy().copy() for k, v in p.items()})
    metadata = dict(kind=kind, layers=layers, dim=dim, hidden=hidden, classes=classes, dtype=dtype, multi_label=int(multi),
                    batches=BATCHES, lr=LR, weight_decay=WEIGHT_DECAY)
    write_safetensors(f"nn_{case}.safetensors", out, {k: str(v) for k, v in metadata.items()})
    print(case, losses[0], losses[-1])


make("sage2", "sage", [5, 4], 20, 24, 7)
make("sage3", "sage", [3, 3, 3], 17, 20, 5)
make("gcn2", "gcn", [5, 4], 20, 24, 7)
make("gcn3", "gcn", [-1, 3, 3], 17, 20, 5)
make("sage2_wide", "sage", [-1, -1], 70, 12, 4, dtype="u8")
make("gcn2_wide", "gcn", [-1, -1], 70, 12, 4, dtype="f16")
make("sage2_multi", "sage", [4, 4], 20, 24, 6, multi=True)
make("gcn1", "gcn", [-1], 20, 24, 3)
