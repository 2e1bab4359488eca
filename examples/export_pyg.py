#!/usr/bin/env python3
"""A PyTorch Geometric graph as the files that `outgrow import npy` takes.

    export_pyg.py FILE.pt OUT                   what torch.save(data, FILE) wrote
    from export_pyg import export; export(data, "OUT")
"""
import os
import sys

import numpy as np


def export(data, out):
    os.makedirs(out)
    np.save(f"{out}/edges.npy", np.ascontiguousarray(data.edge_index.numpy().T))
    np.save(f"{out}/feat.npy", data.x.numpy())
    np.save(f"{out}/label.npy", data.y.numpy())
    if getattr(data, "edge_weight", None) is not None:
        np.save(f"{out}/edge_weight.npy", data.edge_weight.numpy())
    for mask, name in ("train_mask", "train"), ("val_mask", "valid"), ("test_mask", "test"):
        if getattr(data, mask, None) is not None:
            np.save(f"{out}/{name}.npy", np.flatnonzero(getattr(data, mask).numpy()))


if __name__ == "__main__":
    import torch
    export(torch.load(sys.argv[1], weights_only=False), sys.argv[2])
