#!/usr/bin/python3
"""Reference runs for tests/nn/test_nn_golden.c, in plain PyTorch.

The convolutions are written out from their definitions, without the layer classes of PyTorch Geometric and DGL. Each case is one safetensors file: graph,
batches, initial parameters; logits and gradients of the first step; the loss of every step; the parameters at the end. With batch norm it also has the logits
of an evaluation then.

    cd tests/nn/golden && ./nn_make.py [WORD of the names of cases]
"""
import json
import struct
import sys

import numpy as np
import torch

torch.set_num_threads(1)
STEPS = 28
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


def make_graph(rng, nodes):
    """In-neighbours of every node: random, symmetric, some self-loops, some nodes alone."""
    a = rng.random((nodes, nodes)) < 6.0 / nodes
    a |= a.T
    np.fill_diagonal(a, rng.random(nodes) < 0.1)
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


def times(x, src, w):
    """What comes along the edges: rows of sources, times the edges' weights where they count."""
    return x[src] if w is None else w.view(-1, *[1] * (x.dim() - 1)) * x[src]


def sage_conv(x, hop, p, name, w=None, mean=False):
    """mean: of weights; else by count, whatever they are."""
    src, dst, _, n_dst = edges(hop)
    total = torch.zeros(n_dst, x.shape[1]).index_add(0, dst, times(x, src, w))
    if mean:
        sums = torch.zeros(n_dst).index_add(0, dst, w)
        total = torch.where(sums > 0, 1 / sums, torch.zeros(n_dst))[:, None] * total
        return total @ p[name + "lin_l.weight"].T + p[name + "lin_l.bias"] + x[:n_dst] @ p[name + "lin_r.weight"].T
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


def gcn_weights_conv(x, hop, p, name, w, of_nodes, degree):
    """gcn_conv of weights, whose degrees are l + m k. Here l is a node's loop, 1 without one, and m the mean of its other in-edges in the graph. And k is how many
    of these are drawn, or would be for nodes that are no destinations."""
    src, dst, n_src, n_dst = edges(hop)
    m, l = of_nodes
    other = src != dst
    k = torch.cat([torch.zeros(n_dst).index_add(0, dst[other], torch.ones(int(other.sum()))), degree])
    d = l[:n_src] + m[:n_src] * k
    norm = torch.where(d > 0, d.pow(-0.5), torch.zeros(n_src))
    z = x @ p[name + "lin.weight"].T
    factor = w[other] * norm[src[other]] * norm[dst[other]]
    own = (l[:n_dst] * norm[:n_dst] ** 2)[:, None] * z[:n_dst]
    return own.index_add(0, dst[other], z[src[other]] * factor[:, None]) + p[name + "bias"]


def with_loops(src, dst, w, n_dst):
    """Loops replace edges on the diagonal, and weigh 1."""
    other, loops = src != dst, torch.arange(n_dst)
    w = None if w is None else torch.cat([w[other], torch.ones(n_dst)])
    return torch.cat([src[other], loops]), torch.cat([dst[other], loops]), w


def sage_gcn_conv(x, hop, p, name, w=None):
    """Mean over the neighbours and the node itself, which counts once."""
    src, dst, _, n_dst = edges(hop)
    src, dst, w = with_loops(src, dst, w, n_dst)
    total = torch.zeros(n_dst, x.shape[1]).index_add(0, dst, times(x, src, w))
    count = torch.zeros(n_dst).index_add(0, dst, torch.ones(len(dst)))
    return (total / count[:, None]) @ p[name + "lin_l.weight"].T + p[name + "lin_l.bias"]


def sage_max_conv(x, hop, p, name, w=None):
    """SAGEConv(aggr="max", project=True)."""
    src, dst, _, n_dst = edges(hop)
    t = (x @ p[name + "lin.weight"].T + p[name + "lin.bias"]).relu()
    index = dst[:, None].expand(-1, t.shape[1])
    a = torch.zeros(n_dst, t.shape[1]).scatter_reduce(0, index, times(t, src, w), "amax", include_self=False)
    return a @ p[name + "lin_l.weight"].T + p[name + "lin_l.bias"] + x[:n_dst] @ p[name + "lin_r.weight"].T


def gin_conv(x, hop, p, name, w=None):
    src, dst, _, n_dst = edges(hop)
    z = torch.zeros(n_dst, x.shape[1]).index_add(0, dst, times(x, src, w)) + (1 + p[name + "eps"]) * x[:n_dst]
    z = (z @ p[name + "nn.0.weight"].T + p[name + "nn.0.bias"]).relu()
    return z @ p[name + "nn.2.weight"].T + p[name + "nn.2.bias"]


def gat_conv(x, hop, p, name, last, w=None):
    """Self loops replace edges on the diagonal; heads are concatenated, in the last layer averaged."""
    src, dst, _, n_dst = edges(hop)
    src, dst, w = with_loops(src, dst, w, n_dst)
    att_src, att_dst = p[name + "att_src"], p[name + "att_dst"]
    heads, width = att_src.shape[1:]
    z = (x @ p[name + "lin.weight"].T).view(-1, heads, width)
    score = (z * att_src).sum(-1)[src] + (z[:n_dst] * att_dst).sum(-1)[dst]
    score = torch.nn.functional.leaky_relu(score, 0.2)
    return attended(z, score, src, dst, n_dst, last, w) + p[name + "bias"]


def attended(z, score, src, dst, n_dst, last, w=None):
    """Weights of edges multiply the coefficients, which sum to 1 before."""
    heads, width = z.shape[1:]
    index = dst[:, None].expand(-1, heads)
    top = torch.zeros(n_dst, heads).scatter_reduce(0, index, score, "amax", include_self=False)
    e = (score - top.detach()[dst]).exp()
    alpha = e / torch.zeros(n_dst, heads).index_add(0, dst, e)[dst]
    y = torch.zeros(n_dst, heads, width).index_add(0, dst, alpha[:, :, None] * times(z, src, w))
    return y.mean(1) if last else y.reshape(n_dst, -1)


def gatv2_conv(x, hop, p, name, last, w=None):
    """GATv2Conv: scores are of sums of both ends, which have a matrix each; loops as of GAT."""
    src, dst, _, n_dst = edges(hop)
    src, dst, w = with_loops(src, dst, w, n_dst)
    heads, width = p[name + "att"].shape[1:]
    z = (x @ p[name + "lin_l.weight"].T + p[name + "lin_l.bias"]).view(-1, heads, width)
    own = (x[:n_dst] @ p[name + "lin_r.weight"].T + p[name + "lin_r.bias"]).view(-1, heads, width)
    score = (torch.nn.functional.leaky_relu(z[src] + own[dst], 0.2) * p[name + "att"]).sum(-1)
    return attended(z, score, src, dst, n_dst, last, w) + p[name + "bias"]


def pinsage_conv(x, hop, p, name, weight):
    """DGL's example, with W split into what multiplies the pooled and the own row."""
    src, dst, _, n_dst = edges(hop)
    t = (x @ p[name + "lin_q.weight"].T + p[name + "lin_q.bias"]).relu()
    total = torch.zeros(n_dst, t.shape[1]).index_add(0, dst, weight[:, None] * t[src])
    sums = torch.zeros(n_dst).index_add(0, dst, weight)
    a = total / torch.where(sums > 0, sums, torch.ones(n_dst))[:, None]
    return a @ p[name + "lin_l.weight"].T + p[name + "lin_l.bias"] + x[:n_dst] @ p[name + "lin_r.weight"].T


def shapes(kind, i, o, hidden, heads, last):
    """Names, shapes and bounds of a convolution's parameters."""
    fan, glorot = i**-0.5, (6 / (i + o)) ** 0.5
    width = o if last else o // heads
    return {
        "sage": {"lin_l.weight": ((o, i), fan), "lin_l.bias": ((o,), fan), "lin_r.weight": ((o, i), fan)},
        "sage-gcn": {"lin_l.weight": ((o, i), fan), "lin_l.bias": ((o,), fan)},
        "sage-max": {"lin.weight": ((i, i), fan), "lin.bias": ((i,), fan), "lin_l.weight": ((o, i), fan),
                     "lin_l.bias": ((o,), fan), "lin_r.weight": ((o, i), fan)},
        "gcn": {"bias": ((o,), glorot), "lin.weight": ((o, i), glorot)},
        "gin": {"eps": ((1,), 0.5), "nn.0.weight": ((hidden, i), fan), "nn.0.bias": ((hidden,), fan),
                "nn.2.weight": ((o, hidden), fan), "nn.2.bias": ((o,), fan)},
        "gat": {"att_src": ((1, heads, width), 0.7), "att_dst": ((1, heads, width), 0.7), "bias": ((o,), 0.3),
                "lin.weight": ((heads * width, i), glorot)},
        "gatv2": {"att": ((1, heads, width), 0.7), "bias": ((o,), 0.3), "lin_l.weight": ((heads * width, i), glorot),
                  "lin_l.bias": ((heads * width,), 0.3), "lin_r.weight": ((heads * width, i), glorot), "lin_r.bias": ((heads * width,), 0.3)},
        "pinsage": {"lin_q.weight": ((hidden, i), fan), "lin_q.bias": ((hidden,), fan),
                    "lin_l.weight": ((o, hidden), glorot), "lin_l.bias": ((o,), glorot), "lin_r.weight": ((o, i), glorot)},
    }[kind]


def init(kind, dims, gen, heads=0, norm="none", residual=False):
    p = {}
    for l, (i, o) in enumerate(zip(dims, dims[1:])):
        last = l == len(dims) - 2
        draw = lambda shape, bound: ((torch.rand(*shape, generator=gen) * 2 - 1) * bound).requires_grad_()
        for name, (shape, bound) in shapes(kind, i, o, dims[1], heads or 1, last).items():
            p[f"convs.{l}.{name}"] = draw(shape, bound)
        if residual and i != o:
            p[f"skips.{l}.weight"] = draw((o, i), i**-0.5)
        if norm != "none" and not last:
            p[f"norms.{l}.weight"] = (1 + draw((o,), 0.3)).detach().requires_grad_()
            p[f"norms.{l}.bias"] = draw((o,), 0.3)
    return p


CONVS = {"sage": sage_conv, "sage-gcn": sage_gcn_conv, "sage-max": sage_max_conv, "gcn": gcn_conv, "gin": gin_conv}


def forward(kind, layers, p, x, hops, norm="none", residual=False, stats=None, weights=None, training=True, edge_weights="off", of_nodes=None, degrees=None):
    """The logits of a batch. `stats` has the running statistics of batch norm by name, which change in training. `of_nodes` is what is known of the weights of
    the batch's nodes. `degrees` are those of the sources of each hop that are no destinations."""
    for l in range(layers):
        name, hop, last = f"convs.{l}.", hops[layers - 1 - l], l == layers - 1
        if edge_weights != "off":
            w = weights[layers - 1 - l]
            y = gcn_weights_conv(x, hop, p, name, w, of_nodes, degrees[layers - 1 - l]) if kind == "gcn" \
                else {"gat": gat_conv, "gatv2": gatv2_conv}[kind](x, hop, p, name, last, w) if kind.startswith("gat") \
                else sage_conv(x, hop, p, name, w, True) if edge_weights == "mean" else CONVS[kind](x, hop, p, name, w)
        elif kind.startswith("gat"):
            y = (gat_conv if kind == "gat" else gatv2_conv)(x, hop, p, name, last)
        elif kind == "pinsage":
            y = pinsage_conv(x, hop, p, name, weights[layers - 1 - l])
        else:
            y = CONVS[kind](x, hop, p, name)
        if residual:
            own = x[:y.shape[0]]
            y = y + (own @ p[f"skips.{l}.weight"].T if f"skips.{l}.weight" in p else own)
        if not last:
            w, b = p.get(f"norms.{l}.weight"), p.get(f"norms.{l}.bias")
            if norm == "batch":
                y = torch.nn.functional.batch_norm(y, stats[f"norms.{l}.running_mean"], stats[f"norms.{l}.running_var"], w, b, training)
            elif norm == "layer":
                y = torch.nn.functional.layer_norm(y, y.shape[1:], w, b)
            y = torch.nn.functional.elu(y) if kind.startswith("gat") else y.relu()
        if not last and kind == "pinsage":
            length = y.norm(dim=1, keepdim=True)
            y = y / torch.where(length > 0, length, torch.ones_like(length))
        x = y
    return x


RELATIONAL = "distmult", "complex", "transe"


def triple_scores(h, weight, a, b, r, decoder):
    """As the scoring functions of torch_geometric.nn.kge; a ComplEx row has real parts, then imaginary ones."""
    head, tail, rel = h[a], h[b], weight[r]
    if decoder == "distmult":
        return (head * rel * tail).sum(1)
    if decoder == "complex":
        half = h.shape[1] // 2
        head, tail, rel = (torch.complex(x[:, :half], x[:, half:]) for x in (head, tail, rel))
        return (head * rel * tail.conj()).sum(1).real
    head, tail = torch.nn.functional.normalize(head, p=1), torch.nn.functional.normalize(tail, p=1)
    return -(head + rel - tail).norm(p=1, dim=1)


def link_loss(h, p, a, b, edges, decoder, kind, r=0):
    """Scores of edges come first, then those of each edge's negatives in turn.

    r: the relation of each pair"""
    if decoder in RELATIONAL:
        score = triple_scores(h, p["decoder.rel_emb.weight"], a, b, torch.zeros_like(a) + r, decoder)
    elif decoder == "mlp":
        x = (h[a] * h[b]) @ p["decoder.lins.0.weight"].T + p["decoder.lins.0.bias"]
        score = (x.relu() @ p["decoder.lins.1.weight"].T + p["decoder.lins.1.bias"]).squeeze(1)
    else:
        score = (h[a] * h[b]).sum(1)
    positive, negative = score[:edges], score[edges:]
    if kind == "margin":
        return score, (1 - positive.repeat_interleave(len(negative) // edges) + negative).clamp(min=0).mean()
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    return score, (entropy(positive, torch.ones(edges)) + entropy(negative, torch.zeros(len(negative)))) / 2


def edge_scores(h, p, a, b):
    """An MLP over both ends, one after the other."""
    x = torch.cat([h[a], h[b]], 1) @ p["decoder.lins.0.weight"].T + p["decoder.lins.0.bias"]
    return x.relu() @ p["decoder.lins.1.weight"].T + p["decoder.lins.1.bias"]


def value_loss(y, want, kind):
    there = ~want.isnan()
    if kind == "cross_entropy":  # of shares, of which a row has all or none
        return torch.nn.functional.cross_entropy(y[there[:, 0]], want[there[:, 0]])
    losses = {"mse": torch.nn.functional.mse_loss, "mae": torch.nn.functional.l1_loss, "huber": torch.nn.functional.huber_loss}
    return losses[kind](y[there], want[there])


def make(case, kind, fanout, dim, hidden, classes, dtype="f32", multi=False, heads=0, norm="none", residual=False,
         nodes=150, n_batches=4, seeds=36, task="node", decoder="dot", loss_kind="auto", edges=8, each=1,
         edge_weights="off"):
    if not all(word in case for word in sys.argv[1:]):
        return
    rng, gen = np.random.default_rng(len(case) * 1000 + dim), torch.Generator().manual_seed(dim)
    graph, layers = make_graph(rng, nodes), len(fanout)
    x = {"f32": rng.standard_normal((nodes, dim)), "f16": rng.standard_normal((nodes, dim)).astype(np.float16),
         "u8": rng.integers(0, 4, (nodes, dim))}[dtype].astype(np.float32)
    if multi:
        labels = (rng.random((nodes, classes)) < 0.3).astype(np.float32)
    elif task.endswith("regression"):
        labels = rng.standard_normal((nodes, classes)).astype(np.float32)
        labels[rng.random((nodes, classes)) < 0.2] = np.nan
        if loss_kind == "cross_entropy":
            labels = rng.dirichlet(np.ones(classes), nodes).astype(np.float32)
            labels[rng.random(nodes) < 0.2] = np.nan
    else:
        labels = rng.integers(0, classes, nodes)
        labels[rng.random(nodes) < 0.1] = -1
    of_edges = task.startswith("edge")
    p = init(kind, [dim] + [hidden] * (layers - 1) + [hidden if of_edges else classes], gen, heads, norm, residual)
    for l, (o, i) in enumerate([(hidden, 2 * hidden), (classes, hidden)] if of_edges else [(hidden, classes), (1, hidden)] if decoder == "mlp" else []):
        p[f"decoder.lins.{l}.weight"] = ((torch.rand(o, i, generator=gen) * 2 - 1) * i**-0.5).requires_grad_()
        p[f"decoder.lins.{l}.bias"] = ((torch.rand(o, generator=gen) * 2 - 1) * i**-0.5).requires_grad_()
    if decoder in RELATIONAL:
        p["decoder.rel_emb.weight"] = (torch.rand(1, hidden, generator=gen) * 2 - 1).requires_grad_()
    stats = {}
    for l in range(layers - 1 if norm == "batch" else 0):
        stats[f"norms.{l}.running_mean"], stats[f"norms.{l}.running_var"] = torch.zeros(hidden), torch.ones(hidden)
    out = {"features": x, "labels": labels}
    out.update({"init." + k: v.detach().numpy().copy() for k, v in p.items()})
    batches, weights, pairs, known, degrees = [], [], [], [], []
    if edge_weights != "off":  # of every pair of nodes, some of them 0
        of_edge = rng.integers(0, 9, (nodes, nodes)).astype(np.float32) / 4
        near = [g[g != v] for v, g in enumerate(graph)]
        out["mean_weight"] = np.array([of_edge[v, near[v]].mean() if len(near[v]) else 0 for v in range(nodes)], np.float32)
        out["loop_weight"] = np.array([of_edge[v, v] if v in graph[v] else 1 for v in range(nodes)], np.float32)
    for b in range(n_batches):
        ids, hops = sample(graph, rng.permutation(nodes)[:seeds], fanout, rng)
        batches.append((ids, hops))
        out[f"{b}.ids"] = ids
        for h, (indptr, src, _) in enumerate(hops):
            out[f"{b}.{h}.indptr"], out[f"{b}.{h}.src"] = indptr, src
        if task == "link":
            pairs.append([rng.integers(0, seeds, edges * (1 + each)) for _ in range(2)])
            out[f"{b}.pair_a"], out[f"{b}.pair_b"] = pairs[-1]
        if of_edges:
            pairs.append([*rng.integers(0, seeds, (2, edges)), labels[rng.permutation(nodes)[:edges]]])
            out[f"{b}.pair_a"], out[f"{b}.pair_b"], out[f"{b}.pair_labels"] = pairs[-1]
        weights.append([torch.zeros(0)] * layers)
        for h in range(layers if kind == "pinsage" else 0):
            out[f"{b}.{h}.weight"] = rng.integers(0, 9, len(hops[h][1])).astype(np.float32) / 16
            weights[-1][h] = torch.from_numpy(out[f"{b}.{h}.weight"])
        known.append(None)
        degrees.append([None] * layers)
        for h, hop in enumerate(hops if edge_weights != "off" else []):
            indptr, src, n_src = hop
            n_dst = len(indptr) - 1
            out[f"{b}.{h}.weight"] = of_edge[ids[np.repeat(np.arange(n_dst), np.diff(indptr))], ids[src]]
            weights[-1][h] = torch.from_numpy(out[f"{b}.{h}.weight"])
            known[-1] = [torch.from_numpy(out[what][ids]) for what in ("mean_weight", "loop_weight")]
            drawn = [len(near[v]) if fanout[h] < 0 else min(len(near[v]), fanout[h]) for v in ids[n_dst:n_src]]
            out[f"{b}.{h}.degree"] = np.array(drawn, np.int64)
            degrees[-1][h] = torch.tensor(drawn, dtype=torch.float32)
    optimizer = torch.optim.Adam(p.values(), lr=LR, weight_decay=WEIGHT_DECAY)
    losses = []
    for step in range(STEPS):
        ids, hops = batches[step % n_batches]
        optimizer.zero_grad()
        rows = torch.from_numpy(x)[torch.from_numpy(ids)]
        logits = forward(kind, layers, p, rows, hops, norm, residual, stats, weights[step % n_batches],
                         edge_weights=edge_weights, of_nodes=known[step % n_batches], degrees=degrees[step % n_batches])
        y = torch.from_numpy(labels[ids[:seeds]])
        if task == "link":
            score, loss = link_loss(logits, p, *map(torch.from_numpy, pairs[step % n_batches]), edges, decoder, loss_kind)
        else:
            score = logits
            if of_edges:
                a, ends, y = map(torch.from_numpy, pairs[step % n_batches])
                score = edge_scores(logits, p, a, ends)
            if task.endswith("regression"):
                loss = value_loss(score, y, loss_kind)
            elif multi:
                loss = torch.nn.functional.binary_cross_entropy_with_logits(score, y)
            else:
                loss = torch.nn.functional.cross_entropy(score, y, ignore_index=-1)
        loss.backward()
        if step == 0:
            out["logits"] = logits.detach().numpy().copy()
            if task == "link" or of_edges:
                out["scores"] = score.detach().numpy().copy()
            out.update({"grad." + k: v.grad.numpy().copy() for k, v in p.items()})
        optimizer.step()
        losses.append(loss.item())
    out["losses"] = np.array(losses)
    out.update({"final." + k: v.detach().numpy().copy() for k, v in p.items()})
    out.update({"final." + k: v.numpy().copy() for k, v in stats.items()})
    if stats:
        logits = forward(kind, layers, p, rows, hops, norm, residual, stats, None, training=False)
        out["eval_logits"] = logits.detach().numpy().copy()
    metadata = dict(kind=kind, layers=layers, dim=dim, hidden=hidden, classes=classes, dtype=dtype, multi_label=int(multi),
                    batches=n_batches, lr=LR, weight_decay=WEIGHT_DECAY)
    if heads:
        metadata.update(heads=heads)
    if edge_weights != "off":
        metadata.update(edge_weights=edge_weights)
    if norm != "none":
        metadata.update(norm=norm)
    if residual:
        metadata.update(residual=1)
    if task != "node":
        metadata.update(task=task, decoder=decoder, loss=loss_kind, edges=edges)
    write_safetensors(f"nn_{case}.safetensors", out, {k: str(v) for k, v in metadata.items()})
    print(case, losses[0], losses[-1])


if __name__ == "__main__":
    make("sage2", "sage", [5, 4], 20, 24, 7)
    make("sage3", "sage", [3, 3, 3], 17, 20, 5)
    make("gcn2", "gcn", [5, 4], 20, 24, 7)
    make("gcn3", "gcn", [-1, 3, 3], 17, 20, 5)
    make("sage2_wide", "sage", [-1, -1], 70, 12, 4, dtype="u8")
    make("gcn2_wide", "gcn", [-1, -1], 70, 12, 4, dtype="f16")
    make("sage2_multi", "sage", [4, 4], 20, 24, 6, multi=True)
    make("gcn1", "gcn", [-1], 20, 24, 3)

    SMALL = dict(nodes=40, n_batches=2, seeds=10)
    make("gat2", "gat", [5, 4], 12, 16, 5, heads=4, **SMALL)
    make("gat3", "gat", [3, 3, 3], 9, 10, 4, heads=2, norm="layer", residual=True, dtype="f16", **SMALL)
    make("gat2_narrow", "gat", [4, 4], 6, 16, 4, heads=2, dtype="u8", **SMALL)
    make("gat3_single", "gat", [3, 3, 3], 8, 10, 4, heads=1, norm="batch", residual=True, **SMALL)
    make("sage_max2", "sage-max", [4, 4], 12, 14, 5, **SMALL)
    make("sage_max3", "sage-max", [3, 3, 3], 9, 10, 4, residual=True, **SMALL)
    make("sage_gcn2", "sage-gcn", [4, 4], 12, 14, 5, **SMALL)
    make("gin2_wide", "gin", [-1, -1], 30, 8, 4, dtype="u8", **SMALL)
    make("gin3_batch", "gin", [3, 3, 3], 10, 10, 4, norm="batch", residual=True, **SMALL)
    make("pinsage2", "pinsage", [4, 4], 12, 14, 5, **SMALL)
    make("pinsage3", "pinsage", [3, 3, 3], 9, 10, 4, norm="layer", residual=True, **SMALL)
    make("sage2_batch", "sage", [4, 4], 12, 14, 5, norm="batch", **SMALL)
    make("sage3_layer", "sage", [3, 3, 3], 9, 10, 4, norm="layer", residual=True, **SMALL)
    make("gcn3_batch", "gcn", [3, 3, 3], 10, 10, 4, norm="batch", residual=True, **SMALL)
    make("sage_wide_residual", "sage", [-1, -1], 24, 8, 4, residual=True, **SMALL)
    make("link_dot", "sage", [4, 4], 12, 14, 14, task="link", loss_kind="bce", each=3, **SMALL)
    make("link_margin", "gcn", [3, 3, 3], 9, 12, 12, task="link", loss_kind="margin", each=2, **SMALL)
    make("link_mlp", "gcn", [4, 4], 12, 20, 20, task="link", decoder="mlp", loss_kind="bce", **SMALL)
    make("link_mlp_margin", "gat", [4, 4], 12, 16, 16, heads=4, task="link", decoder="mlp", loss_kind="margin", each=2, edges=10, **SMALL)
    make("link_distmult", "gcn", [4, 4], 12, 14, 14, task="link", decoder="distmult", loss_kind="bce", each=2, **SMALL)
    make("link_complex", "sage", [4, 4], 12, 18, 18, task="link", decoder="complex", loss_kind="bce", each=2, **SMALL)
    make("link_transe", "sage", [4, 4], 12, 15, 15, task="link", decoder="transe", loss_kind="margin", each=2, **SMALL)  # sums of sixteenths are exact
    make("value_mse", "sage", [4, 4], 12, 14, 3, task="regression", loss_kind="mse", **SMALL)
    make("value_mae", "gcn", [4, 4], 12, 14, 1, task="regression", loss_kind="mae", **SMALL)
    make("value_huber", "sage", [4, 4], 12, 14, 2, task="regression", loss_kind="huber", **SMALL)
    make("value_shares", "sage", [4, 4], 12, 14, 12, task="regression", loss_kind="cross_entropy", **SMALL)
    make("gatv2_2", "gatv2", [5, 4], 12, 16, 5, heads=4, **SMALL)
    make("gatv2_3", "gatv2", [3, 3, 3], 9, 10, 4, heads=2, norm="layer", residual=True, dtype="f16", **SMALL)
    make("gatv2_2_narrow", "gatv2", [4, 4], 6, 16, 4, heads=2, dtype="u8", **SMALL)
    make("gatv2_3_single", "gatv2", [3, 3, 3], 8, 10, 4, heads=1, norm="batch", residual=True, **SMALL)
    make("link_gatv2", "gatv2", [4, 4], 12, 16, 16, heads=4, task="link", decoder="mlp", loss_kind="margin", each=2, edges=10, **SMALL)
    make("pairs_sage2", "sage", [4, 4], 12, 14, 5, task="edge", edges=12, **SMALL)
    make("pairs_gat2", "gat", [4, 4], 12, 16, 3, heads=4, task="edge", edges=9, **SMALL)
    make("pairs_gcn1_multi", "gcn", [4], 12, 10, 4, task="edge", multi=True, edges=9, **SMALL)
    make("pairs_sage3_values", "sage", [3, 3, 3], 9, 10, 2, norm="layer", task="edge_regression", loss_kind="huber", edges=11, **SMALL)
    WEIGHED = dict(edge_weights="multiply", **SMALL)
    make("edge_sage2", "sage", [5, 4], 12, 14, 5, **WEIGHED)
    make("edge_sage2_wide", "sage", [-1, -1], 30, 8, 4, dtype="u8", **WEIGHED)
    make("edge_sage2_mean", "sage", [5, 4], 12, 14, 5, edge_weights="mean", **SMALL)
    make("edge_sage2_mean_wide", "sage", [-1, -1], 30, 8, 4, edge_weights="mean", **SMALL)
    make("edge_sage_gcn2", "sage-gcn", [4, 4], 12, 14, 5, **WEIGHED)
    make("edge_sage_max2", "sage-max", [4, 4], 12, 14, 5, **WEIGHED)
    make("edge_sage_max3", "sage-max", [3, 3, 3], 9, 10, 4, residual=True, **WEIGHED)
    make("edge_gin2_wide", "gin", [-1, -1], 30, 8, 4, dtype="u8", **WEIGHED)
    make("edge_gin3", "gin", [3, 3, 3], 10, 10, 4, residual=True, **WEIGHED)
    make("edge_gat2", "gat", [5, 4], 12, 16, 5, heads=4, **WEIGHED)
    make("edge_gat3", "gat", [3, 3, 3], 9, 10, 4, heads=2, norm="layer", residual=True, dtype="f16", **WEIGHED)
    make("edge_gat2_narrow", "gat", [4, 4], 6, 16, 4, heads=2, dtype="u8", **WEIGHED)
    make("edge_gatv2_2", "gatv2", [5, 4], 12, 16, 5, heads=4, **WEIGHED)
    make("edge_gcn2", "gcn", [5, 4], 20, 24, 7, **WEIGHED)
    make("edge_gcn3", "gcn", [-1, 3, 3], 17, 20, 5, **WEIGHED)
    make("edge_gcn2_wide", "gcn", [-1, -1], 70, 12, 4, dtype="f16", **WEIGHED)
    make("edge_link_gcn", "gcn", [4, 4], 12, 20, 20, task="link", decoder="mlp", loss_kind="bce", **WEIGHED)
    make("edge_link_sage", "sage", [4, 4], 12, 14, 14, task="link", loss_kind="bce", each=3, edge_weights="mean", **SMALL)
