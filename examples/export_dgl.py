#!/usr/bin/env python3
"""A DGL graph as the files that `outgrow import npy` takes.

    export_dgl.py CoraGraphDataset OUT          any dataset of dgl.data
    from export_dgl import export; export(graph, "OUT")
"""
import os
import sys

import numpy as np


def export(graph, out):
    os.makedirs(out)
    src, dst = graph.edges(order="eid")
    np.save(f"{out}/edges.npy", np.stack([src.numpy(), dst.numpy()], 1))
    np.save(f"{out}/feat.npy", graph.ndata["feat"].numpy())
    np.save(f"{out}/label.npy", graph.ndata["label"].numpy())
    if "weight" in graph.edata:
        np.save(f"{out}/edge_weight.npy", graph.edata["weight"].numpy())
    for mask, name in ("train_mask", "train"), ("val_mask", "valid"), ("test_mask", "test"):
        if mask in graph.ndata:
            np.save(f"{out}/{name}.npy", np.flatnonzero(graph.ndata[mask].numpy()))


if __name__ == "__main__":
    import dgl
    export(getattr(dgl.data, sys.argv[1])()[0], sys.argv[2])
