#!/usr/bin/env python3
"""MAG240M's split_dict.pt as train.npy, valid.npy and test.npy, which `outgrow import ogb` looks for.

    mag240m_splits.py mag240m_kddcup2021
"""
import sys

import numpy as np


def save(splits, folder):
    for ours, theirs in ("train", ["train"]), ("valid", ["valid"]), ("test", ["test-dev", "test"]):
        found = [key for key in theirs if key in splits]
        if found:
            np.save(f"{folder}/{ours}.npy", np.asarray(splits[found[0]], np.int64))


if __name__ == "__main__":
    import torch
    save(torch.load(f"{sys.argv[1]}/split_dict.pt", weights_only=False), sys.argv[1])
