#!/usr/bin/env python3
"""A DGL graph as the files that `outgrow import npy` takes.

    export_dgl.py CoraGraphDataset OUT          any dataset of dgl.data
    from export_dgl import export; export(graph, "OUT")

Edges, their "weight" and "feat", and "feat", "label" and the masks of nodes are written. What else the graph has is named on stderr.
"""
import os
import sys

import numpy as np

MASKS = {"train_mask": "train", "val_mask": "valid", "test_mask": "test"}


def ids_of(mask, name, n):
    if mask.shape != (n,) or not ((mask == 0) | (mask == 1)).all():
        raise ValueError(f"{name}: {mask.dtype} {list(mask.shape)}, expected a mask [{n}] of bool; of several splits choose one, such as {name}[:, 0]")
    return np.flatnonzero(mask)


def export(graph, out):
    nodes, edges = graph.ndata, graph.edata
    feat = nodes["feat"].numpy()
    splits = {name: ids_of(nodes[mask].numpy(), mask, len(feat)) for mask, name in MASKS.items() if mask in nodes}
    os.makedirs(out)
    src, dst = graph.edges(order="eid")
    np.save(f"{out}/edges.npy", np.stack([src.numpy(), dst.numpy()], 1))
    np.save(f"{out}/feat.npy", feat)
    np.save(f"{out}/label.npy", nodes["label"].numpy())
    if "weight" in edges:
        np.save(f"{out}/edge_weight.npy", edges["weight"].numpy())
    if "feat" in edges:
        np.save(f"{out}/edge_attr.npy", edges["feat"].numpy())
    for name, ids in splits.items():
        np.save(f"{out}/{name}.npy", ids)
    left = [key for key in nodes if key not in {"feat", "label", *MASKS}] + [key for key in edges if key not in {"weight", "feat"}]
    if left:
        print(f"export_dgl: not exported: {', '.join(left)}", file=sys.stderr)


if __name__ == "__main__":
    import dgl
    export(getattr(dgl.data, sys.argv[1])()[0], sys.argv[2])
