#!/usr/bin/python3
"""Reference runs for tests/nn/test_nn_typed.c: R-GCN on the graphs of nn_typed_make.py, in plain PyTorch.

Rows of all types are one matrix, in the order of a batch's ids. Features of another width first pass a linear layer of their type. The convolution is written
out from its definition (Schlichtkrull et al. 2018, equations 2 and 3), an edge at a time. Parameters have the names and shapes of PyTorch Geometric's RGCNConv.

    cd tests/nn/golden && ./nn_rgcn_make.py [WORD of the names of cases]
"""
import sys

import numpy as np
import torch

from nn_make import LR, STEPS, WEIGHT_DECAY, write_safetensors
from nn_typed_make import COUNT, FIRST, RELATIONS, TARGET, TYPES, draw_pairs, link_loss, make_graph, sample, type_of

torch.set_num_threads(1)


def rgcn_conv(x, n_dst, lists, p, name):
    weight = p[name + "weight"]
    if name + "comp" in p:
        weight = torch.einsum("rb,bio->rio", p[name + "comp"], weight)
    y = [x[v] @ p[name + "root"] + p[name + "bias"] for v in range(n_dst)]
    for r, v, near in lists:
        y[v] = y[v] + x[near].mean(0) @ weight[r]
    return torch.stack(y)


def forward(layers, p, x, hops, norm="none", residual=False, stats=None, training=True):
    for l in range(layers):
        lists, n_dst, _ = hops[layers - 1 - l]
        y = rgcn_conv(x, n_dst, lists, p, f"convs.{l}.")
        if residual:
            skip = p.get(f"skips.{l}.weight")
            y = y + (x[:n_dst] if skip is None else x[:n_dst] @ skip.T)
        if l < layers - 1:
            w, b = p.get(f"norms.{l}.weight"), p.get(f"norms.{l}.bias")
            if norm == "layer":
                y = torch.nn.functional.layer_norm(y, y.shape[1:], w, b)
            elif norm == "batch":
                running = [stats[f"norms.{l}.{what}"] for what in ("running_mean", "running_var")]
                y = torch.nn.functional.batch_norm(y, *running, w, b, training)
                if training:
                    stats[f"norms.{l}.num_batches_tracked"] += 1
            y = y.relu()
        x = y
    return x


def input_row(v, p, features):
    """What the first layer reads of a node."""
    name = type_of(v)
    if f"embeddings.{name}.weight" in p:
        return p[f"embeddings.{name}.weight"][v - FIRST[name]]
    x = torch.from_numpy(features[name])[v - FIRST[name]]
    return p[f"lins.{name}.weight"] @ x + p[f"lins.{name}.bias"] if f"lins.{name}.weight" in p else x


def make(case, fanout, dim, hidden, classes, bases=0, trained=(), n_batches=4, seeds=12, norm="none", residual=False, loss_kind=None, edges=9, each=2,
         widths=None, decoder="distmult"):
    """widths: of features that are brought to dim."""
    if not all(word in case for word in sys.argv[1:]):
        return
    widths = widths or {}
    rng, gen = np.random.default_rng(len(case) * 100 + hidden), torch.Generator().manual_seed(hidden)
    graph, layers = make_graph(rng), len(fanout)
    draw = lambda shape, bound: ((torch.rand(*shape, generator=gen) * 2 - 1) * bound).requires_grad_()
    labels = rng.integers(0, classes, COUNT[TARGET])
    labels[rng.random(len(labels)) < 0.1] = -1
    out, p, features, stats = {"labels": labels}, {}, {}, {}
    for l in range(layers):
        i, o = dim if l == 0 else hidden, classes if l == layers - 1 else hidden
        p[f"convs.{l}.weight"] = draw((bases or len(RELATIONS), i, o), i**-0.5)
        if bases:
            p[f"convs.{l}.comp"] = draw((len(RELATIONS), bases), 1)
        p[f"convs.{l}.root"] = draw((i, o), i**-0.5)
        p[f"convs.{l}.bias"] = draw((o,), 0.3)
        if residual and i != o:
            p[f"skips.{l}.weight"] = draw((o, i), i**-0.5)
        if norm != "none" and l < layers - 1:
            p[f"norms.{l}.weight"] = (1 + draw((o,), 0.3)).detach().requires_grad_()
            p[f"norms.{l}.bias"] = draw((o,), 0.3)
        if norm == "batch" and l < layers - 1:
            stats |= {f"norms.{l}.running_mean": torch.zeros(o), f"norms.{l}.running_var": torch.ones(o),
                      f"norms.{l}.num_batches_tracked": torch.zeros(())}
    if loss_kind:
        p["decoder.rel_emb.weight"] = draw((len(RELATIONS), classes), 1)
    for name, _ in TYPES:
        if name in trained:
            p[f"embeddings.{name}.weight"] = draw((COUNT[name], dim), 0.5)
        else:
            features[name] = rng.standard_normal((COUNT[name], widths.get(name, dim))).astype(np.float32)
            out["features." + name] = features[name]
    for name, width in widths.items():
        p[f"lins.{name}.weight"], p[f"lins.{name}.bias"] = draw((dim, width), width**-0.5), draw((dim,), 0.3)
    batches = []
    for b in range(n_batches):
        every = sum(n for _, n in TYPES)  # ends of edges are of any type
        drawn = rng.permutation(every)[:seeds] if loss_kind else rng.permutation(COUNT[TARGET])[:seeds] + FIRST[TARGET]
        ids, hops = sample(graph, drawn, fanout, rng)
        hops = [(sorted(lists, key=lambda x: x[0]), n_dst, n_src) for lists, n_dst, n_src in hops]
        pairs = draw_pairs(rng, seeds, edges, each) if loss_kind else ()
        out.update({f"{b}.pair_{what}": ends.astype(np.int64) for what, ends in zip(("a", "b", "relation"), pairs)})
        batches.append((ids, hops, [torch.from_numpy(ends) for ends in pairs]))
        out[f"{b}.ids"] = ids
        for h, (lists, n_dst, n_src) in enumerate(hops):
            of = np.array([r for r, _, _ in lists], np.int64)
            out[f"{b}.{h}.relation"] = np.searchsorted(of, np.arange(len(RELATIONS) + 1)).astype(np.int64)
            out[f"{b}.{h}.dst"] = np.array([v for _, v, _ in lists], np.int64)
            out[f"{b}.{h}.indptr"] = np.cumsum([0] + [len(near) for _, _, near in lists]).astype(np.int64)
            out[f"{b}.{h}.src"] = np.array([u for _, _, near in lists for u in near], np.int64)
            out[f"{b}.{h}.sizes"] = np.array([n_dst, n_src], np.int64)
    init = {k: v.detach().numpy().copy() for k, v in p.items()}
    optimizer, losses = torch.optim.Adam(p.values(), lr=LR, weight_decay=WEIGHT_DECAY), []
    for v in p.values():  # of a type that no node of a batch has
        v.grad = torch.zeros_like(v)
    for step in range(STEPS):
        ids, hops, pairs = batches[step % n_batches]
        optimizer.zero_grad(set_to_none=False)
        x = torch.stack([input_row(v, p, features) for v in ids])
        if step == 0 and norm == "batch":
            out["forward"] = forward(layers, p, x, hops, norm, residual, stats, False).detach().numpy().copy()
        logits = forward(layers, p, x, hops, norm, residual, stats)
        if loss_kind:
            loss = link_loss(logits, p, *pairs, edges, decoder, loss_kind)
        else:
            y = torch.from_numpy(labels[ids[:seeds] - FIRST[TARGET]])
            loss = torch.nn.functional.cross_entropy(logits, y, ignore_index=-1)
        loss.backward()
        if step == 0:
            out["logits"] = logits.detach().numpy().copy()
            out.update({"grad." + k: v.grad.numpy().copy() for k, v in p.items()})
        optimizer.step()
        losses.append(loss.item())
    out["losses"] = np.array(losses)
    out.update({"init." + k: v for k, v in init.items()})
    out.update({"final." + k: v.detach().numpy().copy() for k, v in p.items()})
    out.update({"final." + k: v.numpy().copy() for k, v in stats.items()})
    metadata = dict(kind="rgcn", layers=layers, hidden=hidden, classes=classes, batches=n_batches, lr=LR, weight_decay=WEIGHT_DECAY, dim=dim,
                    bases=bases, target=[name for name, _ in TYPES].index(TARGET),
                    types=" ".join(f"{name} {n} {widths.get(name, dim)} {int(name in trained)}" for name, n in TYPES),
                    relations=" ".join(" ".join(r) for r in RELATIONS))
    metadata |= {"norm": norm} if norm != "none" else {}
    metadata |= {"residual": "true"} if residual else {}
    metadata |= dict(task="link", decoder=decoder, loss=loss_kind, edges=edges) if loss_kind else {}
    write_safetensors(f"nn_typed_{case}.safetensors", out, {k: str(v) for k, v in metadata.items()})
    print(case, losses[0], losses[-1])


if __name__ == "__main__":
    make("rgcn2", [3, 3], 10, 9, 5)
    make("rgcn2_bases", [3, 3], 7, 9, 5, bases=2, trained=("author",))
    make("rgcn3", [2, 2, 2], 12, 8, 4, trained=("author", "venue"), residual=True)
    make("rgcn3_bases", [2, 2, 2], 8, 8, 4, bases=4, norm="layer", residual=True)
    make("rgcn2_batch", [-1, -1], 6, 7, 4, bases=3, trained=("paper", "author", "venue"), norm="batch", n_batches=2)
    make("rgcn2_distmult", [3, 3], 8, 9, 9, bases=2, trained=("author",), loss_kind="bce")
    make("rgcn2_margin", [3, 3], 6, 7, 7, trained=("paper", "author", "venue"), loss_kind="margin", each=3)
    make("rgcn2_complex", [3, 3], 8, 10, 10, trained=("author",), loss_kind="bce", decoder="complex")
    make("rgcn2_transe", [3, 3], 6, 7, 7, bases=2, trained=("venue",), loss_kind="margin", edges=8, decoder="transe")
    make("rgcn1", [-1], 9, 9, 5, bases=1)
    make("rgcn2_few", [1, 1], 6, 26, 30, bases=1, trained=("author",), norm="layer")  # coefficients go along the edges first, in both layers;
    make("rgcn2_blended", [1, 1], 7, 8, 240, bases=2, trained=("author",), residual=True)  # in the last one
    make("rgcn1_widths", [1], 7, 9, 5, seeds=5, widths={"paper": 12, "author": 4, "venue": 3})
    make("rgcn2_widths", [3, 3], 9, 8, 5, bases=2, norm="batch", residual=True, widths={"paper": 14, "author": 5})
    make("rgcn3_widths", [2, 2, 2], 6, 8, 4, trained=("venue",), norm="layer", widths={"paper": 11, "author": 3}, seeds=20)
    make("rgcn2_widths_link", [3, 3], 8, 9, 9, trained=("author",), norm="layer", loss_kind="bce", widths={"paper": 13, "venue": 2})
    make("rgcn2_widths_few", [1, 1], 6, 26, 30, bases=1, widths={"paper": 40, "author": 17, "venue": 5})
