#!/usr/bin/env python3
"""What GATv2 learns and GAT does not (Brody et al. 2022, section 4.1): to look up. A group has KEYS nodes with a key and a value each, and as many that query a
key, whose label is the value of the node that has it. All who ask hear of the same nodes; GAT ranks these alike for all.

    dynamic_attention.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = os.path.abspath(sys.argv[1])
GROUPS, KEYS, VALUES = 300, 6, 4


def run(*args):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, (args, done.stderr)
    return done.stdout


def make_graph():
    """Columns: the key, the value, and whether the node asks."""
    rng = np.random.default_rng(1)
    told, asking = np.arange(GROUPS * KEYS).reshape(GROUPS, KEYS), np.arange(GROUPS * KEYS, 2 * GROUPS * KEYS).reshape(GROUPS, KEYS)
    value = rng.integers(0, VALUES, (GROUPS, KEYS))
    x = np.zeros((2 * GROUPS * KEYS, KEYS + VALUES + 1), np.float32)
    x[told, np.arange(KEYS)] = x[asking, np.arange(KEYS)] = 1
    x[told, KEYS + value] = 1
    x[asking, -1] = 1
    label = np.full(len(x), -1)
    label[asking] = value
    edges = np.stack([np.repeat(told, KEYS, axis=1).ravel(), np.tile(asking, (1, KEYS)).ravel()], 1)
    of = rng.permutation(GROUPS)
    os.mkdir("source")
    for name, a in {"edges": edges, "feat": x, "label": label, "train": asking[of[:200]].ravel(), "valid": asking[of[200:250]].ravel(),
                    "test": asking[of[250:]].ravel()}.items():
        np.save(f"source/{name}.npy", a)
    run("import", "npy", "source", "graph", "--quiet")


def accuracy(model, seed):
    told = json.loads(run("train", "graph", "--model", model, "--heads", 1, "--hidden", 32, "--fanout", "-1,-1", "--dropout", 0, "--lr", 0.01, "--batch", 60,
                          "--epochs", 60, "--eval-every", 10, "--seed", seed, "--memory", "96M", "--threads", 2, "--run", f"{model}-{seed}", "--json"))
    return told["test_acc"]


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    make_graph()
    for seed in 1, 2:
        static, dynamic = accuracy("gat", seed), accuracy("gatv2", seed)
        print(f"seed {seed}: gat {static:.3f}, gatv2 {dynamic:.3f}")
        assert dynamic > 0.95 and dynamic - static > 0.2, (static, dynamic)
    os.chdir("/")
