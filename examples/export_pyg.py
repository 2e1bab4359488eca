#!/usr/bin/env python3
"""A PyTorch Geometric graph as the files that `outgrow import npy` takes.

    export_pyg.py FILE.pt OUT                   what torch.save(data, FILE) wrote
    from export_pyg import export; export(data, "OUT")

edge_index, x, y, edge_weight, edge_attr and the masks are written. What else the graph has is named on stderr.
"""
import os
import sys

import numpy as np

MASKS = {"train_mask": "train", "val_mask": "valid", "test_mask": "test"}


def ids_of(mask, name, n):
    if mask.shape != (n,) or not ((mask == 0) | (mask == 1)).all():
        raise ValueError(f"{name}: {mask.dtype} {list(mask.shape)}, expected a mask [{n}] of bool; of several splits choose one, such as {name}[:, 0]")
    return np.flatnonzero(mask)


def export(data, out):
    if hasattr(data, "edge_types"):
        raise ValueError("a graph with types: outgrow.write(OUT, data) of the Python package takes it")
    x = data.x.numpy()
    keys = getattr(data, "keys", None) or vars(data)
    keys = [key for key in (keys() if callable(keys) else keys) if getattr(data, key) is not None]
    splits = {name: ids_of(getattr(data, mask).numpy(), mask, len(x)) for mask, name in MASKS.items() if mask in keys}
    os.makedirs(out)
    np.save(f"{out}/edges.npy", np.ascontiguousarray(data.edge_index.numpy().T))
    np.save(f"{out}/feat.npy", x)
    np.save(f"{out}/label.npy", data.y.numpy())
    if "edge_weight" in keys:
        np.save(f"{out}/edge_weight.npy", data.edge_weight.numpy())
    if "edge_attr" in keys:
        np.save(f"{out}/edge_attr.npy", data.edge_attr.numpy())
    for name, ids in splits.items():
        np.save(f"{out}/{name}.npy", ids)
    if left := [key for key in keys if key not in {"edge_index", "x", "y", "edge_weight", "edge_attr", "num_nodes", *MASKS}]:
        print(f"export_pyg: not exported: {', '.join(left)}", file=sys.stderr)


if __name__ == "__main__":
    import torch
    export(torch.load(sys.argv[1], weights_only=False), sys.argv[2])
