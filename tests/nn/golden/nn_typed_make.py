#!/usr/bin/python3
"""Reference runs for tests/nn/test_nn_typed.c: heterogeneous models, in plain PyTorch.

A layer is what PyTorch Geometric's HeteroConv makes with aggr="sum". In each type it sums the convolutions of the relations that end there. They are written
out from their definitions; residual and norm are of the type. As nn_make.py has it, each case is one file; a parameter that no seed's logits depend on is in
none.

    cd tests/nn/golden && ./nn_typed_make.py [WORD of the names of cases]
"""
import sys

import numpy as np
import torch

from torch.nn import functional as F

import nn_make
from nn_make import LR, STEPS, WEIGHT_DECAY, write_safetensors

torch.set_num_threads(1)

TYPES = [("paper", 60), ("author", 50), ("venue", 7)]
RELATIONS = [("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "written.by", "author"),
             ("venue", "has", "paper"), ("author", "knows", "author"), ("paper", "at", "venue")]
TARGET = "paper"
FIRST = {name: sum(n for _, n in TYPES[:i]) for i, (name, _) in enumerate(TYPES)}
COUNT = dict(TYPES)


def make_graph(rng):
    """In-neighbours of every node in each relation, some of them itself, some nodes alone."""
    graph = []
    for source, _, destination in RELATIONS:
        there = rng.random((COUNT[destination], COUNT[source])) < min(4.0 / COUNT[source], 0.6)
        there[-4:] = False
        graph.append([np.flatnonzero(row) for row in there])
    return graph


def type_of(node):
    return next(name for name, n in TYPES if node < FIRST[name] + n)


def sample(graph, seeds, fanout, rng):
    """ids, and for each hop the lists of each relation: (relation, destination, sources)."""
    ids, at, hops = list(seeds), {int(v): i for i, v in enumerate(seeds)}, []
    for k in fanout:
        lists, known = [], list(ids)
        for r, (source, _, destination) in enumerate(RELATIONS):
            for i, v in enumerate(known):
                if type_of(v) != destination:
                    continue
                near = graph[r][v - FIRST[destination]]
                if 0 <= k < len(near):
                    near = rng.choice(near, k, replace=False)
                src = []
                for u in near + FIRST[source]:
                    if int(u) not in at:
                        at[int(u)] = len(ids)
                        ids.append(int(u))
                    src.append(at[int(u)])
                if src:
                    lists.append((r, i, src))
        hops.append((lists, len(known), len(ids)))
    return np.array(ids, np.int64), hops


def numbers(ids):
    """The number of each id among those of its type."""
    seen, out = {name: 0 for name, _ in TYPES}, []
    for v in ids:
        out.append(seen[type_of(v)])
        seen[type_of(v)] += 1
    return out


def count(ids, n, name):
    return sum(type_of(v) == name for v in ids[:n])


def sage_conv(x, own, src, dst, p, name):
    total = torch.zeros(len(own), x.shape[1]).index_add(0, dst, x[src])
    n = torch.zeros(len(own)).index_add(0, dst, torch.ones(len(dst))).clamp(min=1)
    return (total / n[:, None]) @ p[name + "lin_l.weight"].T + p[name + "lin_l.bias"] + own @ p[name + "lin_r.weight"].T


def sage_max_conv(x, own, src, dst, p, name):
    t = (x @ p[name + "lin.weight"].T + p[name + "lin.bias"]).relu()
    index = dst[:, None].expand(-1, t.shape[1])
    a = torch.zeros(len(own), t.shape[1]).scatter_reduce(0, index, t[src], "amax", include_self=False)
    return a @ p[name + "lin_l.weight"].T + p[name + "lin_l.bias"] + own @ p[name + "lin_r.weight"].T


def pinsage_conv(x, own, src, dst, p, name, weight):
    """DGL's example, with W split into what multiplies the pooled and the own row."""
    t = (x @ p[name + "lin_q.weight"].T + p[name + "lin_q.bias"]).relu()
    total = torch.zeros(len(own), t.shape[1]).index_add(0, dst, weight[:, None] * t[src])
    sums = torch.zeros(len(own)).index_add(0, dst, weight)
    a = total / torch.where(sums > 0, sums, torch.ones(len(own)))[:, None]
    return a @ p[name + "lin_l.weight"].T + p[name + "lin_l.bias"] + own @ p[name + "lin_r.weight"].T


def gin_conv(x, own, src, dst, p, name):
    z = torch.zeros(len(own), x.shape[1]).index_add(0, dst, x[src]) + (1 + p[name + "eps"]) * own
    z = (z @ p[name + "nn.0.weight"].T + p[name + "nn.0.bias"]).relu()
    return z @ p[name + "nn.2.weight"].T + p[name + "nn.2.bias"]


def gat_conv(x, own, src, dst, p, name, last):
    """GATConv of a relation. Between two types it has a matrix for each end, and no loops. Within a type a loop stands for edges on the diagonal."""
    att_src, att_dst = p[name + "att_src"], p[name + "att_dst"]
    heads, width = att_src.shape[1:]
    if name + "lin.weight" in p:
        other, loops = src != dst, torch.arange(len(own))
        src, dst = torch.cat([src[other], loops]), torch.cat([dst[other], loops])
        z = (x @ p[name + "lin.weight"].T).view(-1, heads, width)
        of_own = z[:len(own)]
    else:
        z = (x @ p[name + "lin_src.weight"].T).view(-1, heads, width)
        of_own = (own @ p[name + "lin_dst.weight"].T).view(-1, heads, width)
    score = F.leaky_relu((z * att_src).sum(-1)[src] + (of_own * att_dst).sum(-1)[dst], 0.2)
    return nn_make.attended(z, score, src, dst, len(own), last) + p[name + "bias"]


def gatv2_conv(x, own, src, dst, p, name, last):
    """GATv2Conv: a matrix each of sources and destinations, everywhere; loops as of GAT. `own` is where x begins within a type."""
    heads, width = p[name + "att"].shape[1:]
    source, _, destination = name.partition("<")[2].partition(">")[0].split("___")
    if source == destination:
        other, loops = src != dst, torch.arange(len(own))
        src, dst = torch.cat([src[other], loops]), torch.cat([dst[other], loops])
    z = (x @ p[name + "lin_l.weight"].T + p[name + "lin_l.bias"]).view(-1, heads, width)
    of_own = (own @ p[name + "lin_r.weight"].T + p[name + "lin_r.bias"]).view(-1, heads, width)
    score = (F.leaky_relu(z[src] + of_own[dst], 0.2) * p[name + "att"]).sum(-1)
    return nn_make.attended(z, score, src, dst, len(own), last) + p[name + "bias"]


def gcn_conv(x, own, src, dst, p, name, degrees):
    """GCNConv within a type: a loop stands for edges on the diagonal. A node has as many neighbours as the next hop draws of them. Between two types DGL's
    GraphConv(norm="both") of the whole graph: what is drawn of a list stands for the rest of it."""
    z, drawn = x @ p[name + "lin.weight"].T, torch.zeros(len(own)).index_add(0, dst, torch.ones(len(dst)))
    if len(degrees) == 2:
        of_source, of_own = degrees
        y = torch.zeros(len(own), z.shape[1]).index_add(0, dst, z[src] / of_source.clamp(min=1).sqrt()[src][:, None])
        return y * (of_own.sqrt() / drawn.clamp(min=1))[:, None] + p[name + "bias"]
    other, loops = src != dst, torch.arange(len(own))
    drawn = torch.zeros(len(own)).index_add(0, dst[other], torch.ones(int(other.sum())))
    d = 1 + torch.cat([drawn, degrees[0][len(own):]])
    src, dst = torch.cat([src[other], loops]), torch.cat([dst[other], loops])
    return torch.zeros(len(own), z.shape[1]).index_add(0, dst, z[src] / (d[src] * d[dst]).sqrt()[:, None]) + p[name + "bias"]


def degrees_of(graph, r, ids, n_dst, fanout):
    """Degrees within a type are in-degrees of all its nodes in the batch, at most the fanout. Between two types they are out-degrees of sources and in-degrees
    of destinations."""
    source, _, destination = RELATIONS[r]
    of = lambda name, n: np.array([v - FIRST[name] for v in ids[:n] if type_of(v) == name], np.int64)
    if source == destination:
        other = np.array([(near != v).sum() for v, near in enumerate(graph[r])])[of(source, len(ids))]
        return [torch.tensor(other if fanout < 0 else np.minimum(other, fanout), dtype=torch.float32)]
    leaving, arriving = np.bincount(np.concatenate(graph[r]), minlength=COUNT[source]), np.array([len(near) for near in graph[r]])
    return [torch.tensor(leaving[of(source, len(ids))], dtype=torch.float32), torch.tensor(arriving[of(destination, n_dst)], dtype=torch.float32)]


CONVS = {"sage": sage_conv, "sage-max": sage_max_conv, "gin": gin_conv}
ATTEND = {"gat": gat_conv, "gatv2": gatv2_conv}


def shapes(kind, i, own, o, hidden, heads, apart, last):
    """Names, shapes and what they are drawn by."""
    width = o if last else o // heads
    return {
        "gat": {"att_src": ((1, heads, width), 2), "att_dst": ((1, heads, width), 2), "bias": ((o,), 9)}
        | ({"lin_src.weight": ((heads * width, i), i), "lin_dst.weight": ((heads * width, own), own)} if apart
           else {"lin.weight": ((heads * width, i), i)}),
        "gatv2": {"att": ((1, heads, width), 2), "bias": ((o,), 9), "lin_l.weight": ((heads * width, i), i), "lin_l.bias": ((heads * width,), i),
                  "lin_r.weight": ((heads * width, own), own), "lin_r.bias": ((heads * width,), own)},
        "sage": {"lin_l.weight": ((o, i), i), "lin_l.bias": ((o,), i), "lin_r.weight": ((o, own), own)},
        "sage-max": {"lin.weight": ((i, i), i), "lin.bias": ((i,), i), "lin_l.weight": ((o, i), i),
                     "lin_l.bias": ((o,), i), "lin_r.weight": ((o, own), own)},
        "pinsage": {"lin_q.weight": ((hidden, i), i), "lin_q.bias": ((hidden,), i), "lin_l.weight": ((o, hidden), hidden),
                    "lin_l.bias": ((o,), i), "lin_r.weight": ((o, own), own)},
        "gcn": {"bias": ((o,), 9), "lin.weight": ((o, i), i)},
        "gin": {"eps": ((1,), 4), "nn.0.weight": ((hidden, i), i), "nn.0.bias": ((hidden,), i),
                "nn.2.weight": ((o, hidden), hidden), "nn.2.bias": ((o,), hidden)},
    }[kind]


def parameter(l, relation, name):
    return f"convs.{l}.convs.<{'___'.join(relation).replace('.', '#')}>.{name}"


def of_type(module, l, name, what):
    return f"{module}.{l}.{name.replace('.', '#')}.{what}"


def link_loss(h, p, a, b, r, edges, decoder, kind):
    return nn_make.link_loss(h, p, a, b, edges, decoder, kind, r)[1]


def unit(y):
    y = y.relu()
    length = y.norm(dim=1, keepdim=True)
    return y / torch.where(length > 0, length, torch.ones_like(length))


def end(p, stats, norm, act, l, name, y, training):
    w, b = (p.get(of_type("norms", l, name, what)) for what in ("weight", "bias"))
    if norm == "layer":
        y = F.layer_norm(y, y.shape[1:], w, b)
    elif norm == "batch":
        running = [stats[of_type("norms", l, name, what)] for what in ("running_mean", "running_var")]
        y = F.batch_norm(y, *running, w, b, training)
        if training:
            stats[of_type("norms", l, name, "num_batches_tracked")] += 1
    return act(y)


def forward(kind, layers, p, x, ids, hops, norm="none", residual=False, stats=None, training=True, graph=None, fanout=None, weights=None):
    """The logits of a batch. `x` has rows of each type in the order of ids; a type that nothing ends in has none after a layer. `graph` and `fanout` are given
    where degrees count, `weights` of the edges of each hop where these count."""
    act = {"pinsage": unit, **dict.fromkeys(ATTEND, F.elu)}.get(kind, F.relu)
    number = numbers(ids)
    for l in range(layers):
        lists, n_dst, n_src = hops[layers - 1 - l]
        y = {}
        for r, relation in enumerate(RELATIONS):
            source, _, destination = relation
            if source not in x or destination not in x:
                continue
            src = torch.tensor([number[u] for q, _, near in lists if q == r for u in near], dtype=torch.long)
            dst = torch.tensor([number[v] for q, v, near in lists if q == r for _ in near], dtype=torch.long)
            own = x[destination][:count(ids, n_dst, destination)]
            name = parameter(l, relation, "")
            if kind == "pinsage":
                of = np.array([q for q, _, near in lists for _ in near])
                made = pinsage_conv(x[source], own, src, dst, p, name, torch.from_numpy(weights[layers - 1 - l][of == r]).to(own.dtype))
            elif kind == "gcn":
                made = gcn_conv(x[source][:count(ids, n_src, source)], own, src, dst, p, name,
                                degrees_of(graph, r, ids[:n_src], n_dst, fanout[layers - 1 - l]))
            else:
                made = ATTEND[kind](x[source], own, src, dst, p, name, l == layers - 1) if kind in ATTEND \
                    else CONVS[kind](x[source], own, src, dst, p, name)
            if residual and destination not in y:
                skip = p.get(of_type("skips", l, destination, "weight"))
                made = made + (own if skip is None else own @ skip.T)
            y[destination] = y[destination] + made if destination in y else made
        x = y if l == layers - 1 else {name: end(p, stats, norm, act, l, name, rows, training) for name, rows in y.items()}
    return x


def rows_of_seeds(x, ids, seeds):
    """For seeds of any type, in their order."""
    number = numbers(ids)
    return torch.stack([x[type_of(v)][number[i]] for i, v in enumerate(ids[:seeds])])


def draw_pairs(rng, seeds, edges, each):
    """Edges among the seeds, and after them the negatives of each in turn, as ends and relations. A negative keeps one end of its edge."""
    a, b, r = rng.integers(0, seeds, edges), rng.integers(0, seeds, edges), rng.integers(0, len(RELATIONS), edges)
    swap = rng.random((edges, each)) < 0.5
    other = rng.integers(0, seeds, (edges, each))
    return (np.concatenate([a, np.where(swap, other, a[:, None]).ravel()]), np.concatenate([b, np.where(swap, b[:, None], other).ravel()]),
            np.concatenate([r, np.repeat(r, each)]))


def make(case, kind, fanout, dims, hidden, classes, trained=(), n_batches=4, seeds=12, heads=1, norm="none", residual=False, loss_kind=None,
         decoder="dot", edges=9, each=2, of_edges=0):
    """Writes a case. `dims` has the width of each type; those in `trained` are parameters. `loss_kind` is of links; without it nodes of one type are
    classified. `of_edges`: classes of edges, from embeddings `classes` wide."""
    if not all(word in case for word in sys.argv[1:]):
        return
    rng, gen = np.random.default_rng(len(case) * 100 + hidden), torch.Generator().manual_seed(hidden)
    graph, layers = make_graph(rng), len(fanout)
    exact = torch.float64 if kind == "pinsage" else torch.float32  # lengths of rows, and their slopes, lose digits of float32
    torch.set_default_dtype(exact)
    draw = lambda shape, bound: ((torch.rand(*shape, generator=gen, dtype=torch.float32) * 2 - 1) * bound).to(exact).requires_grad_()
    labels = rng.integers(0, classes, COUNT[TARGET])
    labels[rng.random(len(labels)) < 0.1] = -1
    out, p, features, stats = {"labels": labels}, {}, {}, {}
    has = {name for name, dim in dims.items() if dim}
    for l in range(layers):
        for relation in RELATIONS:
            source, _, destination = relation
            if source in has and destination in has:
                i, own = (dims[source], dims[destination]) if l == 0 else (hidden, hidden)
                last = l == layers - 1
                for name, (shape, fan) in shapes(kind, i, own, classes if last else hidden, hidden, heads, source != destination,
                                                 last).items():
                    p[parameter(l, relation, name)] = draw(shape, fan**-0.5)
        has = {d for s, _, d in RELATIONS if s in has and d in has}
        for name in sorted(has):
            i, o = dims[name] if l == 0 else hidden, classes if l == layers - 1 else hidden
            if residual and i != o:
                p[of_type("skips", l, name, "weight")] = draw((o, i), i**-0.5)
            if norm != "none" and l < layers - 1:
                p[of_type("norms", l, name, "weight")] = (1 + draw((o,), 0.3)).detach().requires_grad_()
                p[of_type("norms", l, name, "bias")] = draw((o,), 0.3)
            if norm == "batch" and l < layers - 1:
                stats |= {of_type("norms", l, name, "running_mean"): torch.zeros(o),
                          of_type("norms", l, name, "running_var"): torch.ones(o),
                          of_type("norms", l, name, "num_batches_tracked"): torch.zeros(())}
    if loss_kind and decoder in nn_make.RELATIONAL:
        p["decoder.rel_emb.weight"] = draw((len(RELATIONS), classes), 1)
    for l, (o, i) in enumerate([(hidden, 2 * classes), (of_edges, hidden)] if of_edges else [(hidden, classes), (1, hidden)] if decoder == "mlp" else []):
        p[f"decoder.lins.{l}.weight"] = draw((o, i), i**-0.5)
        p[f"decoder.lins.{l}.bias"] = draw((o,), i**-0.5)
    for name, dim in dims.items():
        if name in trained:
            p[f"embeddings.{name}.weight"] = draw((COUNT[name], dim), 0.5)
        elif dim:
            features[name] = rng.standard_normal((COUNT[name], dim)).astype(np.float32)
            out["features." + name] = features[name]
    batches = []
    for b in range(n_batches):
        drawn = rng.permutation(sum(COUNT.values()))[:seeds] if loss_kind else rng.permutation(COUNT[TARGET])[:seeds] + FIRST[TARGET]
        ids, hops = sample(graph, drawn, fanout, rng)
        pairs = draw_pairs(rng, seeds, edges, each) if loss_kind else ()
        out.update({f"{b}.pair_{what}": ends.astype(np.int64) for what, ends in zip(("a", "b", "relation"), pairs)})
        of_pairs = rng.integers(-1, of_edges, edges) if of_edges else None
        out.update({f"{b}.pair_labels": of_pairs} if of_edges else {})
        weights = [rng.integers(0, 9, sum(len(near) for _, _, near in lists)).astype(np.float32) / 16 for lists, _, _ in hops] if kind == "pinsage" else []
        out.update({f"{b}.{h}.weight": of_hop for h, of_hop in enumerate(weights)})
        batches.append((ids, hops, weights, [torch.from_numpy(ends) for ends in pairs] + ([torch.from_numpy(of_pairs)] if of_edges else [])))
        out[f"{b}.ids"] = ids
        for h, (lists, n_dst, n_src) in enumerate(hops):
            of = np.array([r for r, _, _ in lists], np.int64)
            out[f"{b}.{h}.relation"] = np.searchsorted(of, np.arange(len(RELATIONS) + 1)).astype(np.int64)
            out[f"{b}.{h}.dst"] = np.array([v for _, v, _ in lists], np.int64)
            out[f"{b}.{h}.indptr"] = np.cumsum([0] + [len(near) for _, _, near in lists]).astype(np.int64)
            out[f"{b}.{h}.src"] = np.array([u for _, _, near in lists for u in near], np.int64)
            out[f"{b}.{h}.sizes"] = np.array([n_dst, n_src], np.int64)
    if kind == "gcn":
        out["fanout"] = np.array(fanout * len(RELATIONS), np.int64)
        for r, (source, _, destination) in enumerate(RELATIONS):
            out[f"arriving.{r}"] = np.array([(near != v).sum() if source == destination else len(near) for v, near in enumerate(graph[r])], np.int64)
            if source != destination:
                out[f"leaving.{r}"] = np.bincount(np.concatenate(graph[r]), minlength=COUNT[source]).astype(np.int64)
    init = {k: v.detach().numpy().copy() for k, v in p.items()}
    optimizer, losses = torch.optim.Adam(p.values(), lr=LR, weight_decay=WEIGHT_DECAY), []
    for v in p.values() if loss_kind else ():  # of a type without seeds in the first batch too
        v.grad = torch.zeros_like(v)
    for step in range(STEPS):
        ids, hops, weights, pairs = batches[step % n_batches]
        optimizer.zero_grad(set_to_none=False)
        x = {}
        for name in dims:
            own = torch.tensor([v - FIRST[name] for v in ids if type_of(v) == name], dtype=torch.long)
            if name in trained:
                x[name] = p[f"embeddings.{name}.weight"][own]
            elif dims[name]:
                x[name] = torch.from_numpy(features[name])[own].to(exact)
        if step == 0 and norm == "batch":
            of_types = forward(kind, layers, p, x, ids, hops, norm, residual, stats, False, graph, fanout, weights)
            out["forward"] = rows_of_seeds(of_types, ids, seeds).detach().numpy().copy()
        logits = rows_of_seeds(forward(kind, layers, p, x, ids, hops, norm, residual, stats, True, graph, fanout, weights), ids, seeds)
        if of_edges:
            a, b, _, y = pairs
            loss = F.cross_entropy(nn_make.edge_scores(logits, p, a, b), y, ignore_index=-1)
        elif loss_kind:
            loss = link_loss(logits, p, *pairs, edges, decoder, loss_kind)
        else:
            loss = F.cross_entropy(logits, torch.from_numpy(labels[ids[:seeds] - FIRST[TARGET]]), ignore_index=-1)
        loss.backward()
        if step == 0:
            used = [k for k, v in p.items() if v.grad is not None]
            out["logits"] = logits.detach().numpy().copy()
            out.update({"grad." + k: p[k].grad.numpy().copy() for k in used})
        optimizer.step()
        losses.append(loss.item())
    out["losses"] = np.array(losses)
    out.update({"init." + k: init[k] for k in used})
    out.update({"final." + k: p[k].detach().numpy().copy() for k in used})
    out.update({"final." + k: v.numpy().copy() for k, v in stats.items() if k.rpartition(".")[0] + ".weight" in used})
    out = {name: a.astype(np.float32) if a.dtype == np.float64 and name != "losses" else a for name, a in out.items()}
    metadata = dict(kind=kind, layers=layers, hidden=hidden, classes=classes, batches=n_batches, lr=LR,
                    weight_decay=WEIGHT_DECAY, target=[name for name, _ in TYPES].index(TARGET),
                    types=" ".join(f"{name} {n} {dims[name]} {int(name in trained)}" for name, n in TYPES),
                    relations=" ".join(" ".join(r) for r in RELATIONS))
    metadata |= {"heads": heads} if kind in ATTEND else {}
    metadata |= {"norm": norm} if norm != "none" else {}
    metadata |= {"residual": "true"} if residual else {}
    metadata |= dict(task="edge" if of_edges else "link", decoder=decoder, loss=loss_kind, edges=edges) if loss_kind else {}
    metadata |= dict(classes=of_edges) if of_edges else {}
    write_safetensors(f"nn_typed_{case}.safetensors", out, {k: str(v) for k, v in metadata.items()})
    print(case, losses[0], losses[-1], len(used))


if __name__ == "__main__":
    WIDTHS = {"paper": 10, "author": 6, "venue": 4}
    make("sage2", "sage", [3, 3], WIDTHS, 9, 5)
    make("sage3", "sage", [2, 2, 2], WIDTHS, 8, 4)
    make("sage2_wide", "sage", [-1, -1], {"paper": 30, "author": 24, "venue": 40}, 6, 4)
    make("sage2_few", "sage", [-1, -1], {"paper": 10, "author": 6, "venue": 8}, 9, 5)
    make("sage2_bare", "sage", [3, 3], {"paper": 10, "author": 6, "venue": 0}, 9, 5)
    make("sage2_trained", "sage", [3, 3], {"paper": 10, "author": 6, "venue": 4}, 7, 5, trained=("author", "venue"))
    SAME = {"paper": 11, "author": 11, "venue": 11}
    make("gin2", "gin", [3, 3], SAME, 8, 5)
    make("gin3", "gin", [2, 2, 2], SAME, 12, 4)
    make("gin2_trained", "gin", [3, 3], SAME, 6, 4, trained=("author",))
    make("sage_max2", "sage-max", [3, 3], WIDTHS, 9, 5)
    make("sage3_layer", "sage", [2, 2, 2], WIDTHS, 8, 4, norm="layer", residual=True)
    make("sage2_same", "sage", [3, 3], WIDTHS | {"author": 7}, 7, 4, trained=("author", "venue"), residual=True)
    make("sage_max2_batch", "sage-max", [3, 3], WIDTHS, 8, 5, norm="batch")
    make("gin3_batch", "gin", [2, 2, 2], SAME, 9, 4, norm="batch", residual=True)
    make("gat2", "gat", [3, 3], WIDTHS, 12, 5, heads=3)
    make("gat3", "gat", [2, 2, 2], WIDTHS, 16, 4, heads=4)
    make("gat3_single", "gat", [3, 3, 3], WIDTHS, 10, 4)
    make("gat2_narrow", "gat", [-1, -1], {"paper": 3, "author": 2, "venue": 3}, 16, 4, heads=2)
    make("gat2_bare", "gat", [3, 3], {"paper": 10, "author": 6, "venue": 0}, 12, 5, heads=2)
    make("gat2_trained", "gat", [3, 3], WIDTHS, 14, 5, trained=("author", "venue"), heads=1)
    make("gat3_layer", "gat", [2, 2, 2], WIDTHS, 12, 4, heads=2, norm="layer", residual=True)
    make("gat2_batch", "gat", [3, 3], WIDTHS | {"venue": 12}, 12, 4, trained=("venue",), heads=2, norm="batch", residual=True)
    make("gcn2", "gcn", [3, 3], WIDTHS, 9, 5)
    make("gcn3", "gcn", [2, 2, 2], WIDTHS, 8, 4)
    make("gcn2_wide", "gcn", [-1, -1], {"paper": 30, "author": 24, "venue": 40}, 6, 4)
    make("gcn2_bare", "gcn", [3, 3], {"paper": 10, "author": 6, "venue": 0}, 9, 5)
    make("gcn2_trained", "gcn", [3, 3], WIDTHS, 7, 5, trained=("author", "venue"))
    make("gcn3_layer", "gcn", [2, 3, 2], WIDTHS, 8, 4, norm="layer", residual=True)
    make("gcn2_batch", "gcn", [2, 2], WIDTHS, 8, 5, trained=("venue",), norm="batch", residual=True)
    make("link_gcn2", "gcn", [3, 3], WIDTHS, 9, 9, trained=("author",), loss_kind="bce", decoder="distmult")
    make("link_gcn2_mlp", "gcn", [2, 2], WIDTHS, 8, 8, residual=True, loss_kind="margin", decoder="mlp", each=1)
    make("link_sage2", "sage", [3, 3], WIDTHS, 9, 9, trained=("author",), loss_kind="bce", decoder="distmult")
    make("link_sage3", "sage", [2, 2, 2], WIDTHS, 8, 8, norm="layer", residual=True, loss_kind="bce", each=3)
    make("link_sage_max2", "sage-max", [3, 3], WIDTHS, 7, 7, seeds=30, norm="batch", loss_kind="bce", decoder="mlp")
    make("link_gat2", "gat", [3, 3], WIDTHS, 12, 12, trained=("venue",), heads=3, loss_kind="bce")
    make("link_gat3", "gat", [2, 2, 2], WIDTHS, 8, 8, heads=2, residual=True, loss_kind="bce", decoder="distmult")
    make("link_gin2", "gin", [3, 3], SAME, 8, 8, trained=("author", "venue"), loss_kind="bce")
    make("link_gin2_mlp", "gin", [-1, -1], SAME, 6, 6, residual=True, loss_kind="margin", decoder="mlp", each=1)
    make("pinsage2", "pinsage", [3, 3], WIDTHS, 9, 5)
    make("pinsage3", "pinsage", [2, 2, 2], WIDTHS, 8, 4, trained=("venue",), norm="layer", residual=True)
    make("link_pinsage2", "pinsage", [3, 3], WIDTHS, 7, 7, seeds=30, trained=("author",), norm="batch", loss_kind="bce", decoder="distmult")
    make("gatv2_2", "gatv2", [3, 3], WIDTHS, 12, 5, heads=3)
    make("gatv2_3_layer", "gatv2", [2, 2, 2], WIDTHS, 12, 4, heads=2, norm="layer", residual=True)
    make("gatv2_2_bare", "gatv2", [-1, -1], {"paper": 10, "author": 6, "venue": 0}, 12, 5, heads=2)
    make("gatv2_2_batch", "gatv2", [3, 3], WIDTHS | {"venue": 12}, 12, 4, trained=("author", "venue"), heads=1, norm="batch", residual=True)
    make("link_gatv2", "gatv2", [3, 3], WIDTHS, 12, 12, trained=("venue",), heads=3, loss_kind="bce", decoder="distmult")
    make("link_sage2_complex", "sage", [3, 3], WIDTHS, 10, 10, trained=("author",), loss_kind="bce", decoder="complex")
    make("link_gcn2_transe", "gcn", [3, 3], WIDTHS, 9, 9, trained=("venue",), loss_kind="margin", decoder="transe", edges=8)
    make("pairs_sage2", "sage", [3, 3], WIDTHS, 9, 9, trained=("author",), loss_kind="auto", each=0, edges=14, of_edges=4)
    make("pairs_gat2", "gat", [3, 3], WIDTHS, 12, 12, heads=3, loss_kind="auto", each=0, edges=10, of_edges=3)
