"""What tests of import formats share: running the command, comparing what it made, and a graph."""
import gzip
import json
import os
import shutil
import subprocess
import sys

import numpy as np

OUTGROW = os.path.abspath(sys.argv[1])
rng = np.random.default_rng(7)


def run(*args, status=0):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == status, (args, done.returncode, done.stderr, done.stdout)
    return done


def imported(fmt, src, *flags):
    """Imports, verifies, opens. Removes the result."""
    out = "out"
    run("import", fmt, src, out, "--quiet", "--memory", "64M", *flags)
    run("verify", out)
    arrays = {f[:-4]: np.load(f"{out}/{f}") for f in os.listdir(out) if f.endswith(".npy")}
    arrays["meta"] = json.load(open(f"{out}/meta.json"))
    for name, where in arrays["meta"].get("files", {}).items():
        if "dtype" in where:
            arrays[name] = np.memmap(where["path"], where["dtype"], "r", where["offset"], tuple(where["shape"]))
        else:
            arrays[name] = np.load(where["path"])
    shutil.rmtree(out)
    return arrays


def refused(fmt, src, *words, flags=()):
    """It fails with one message and a hint, perhaps after warnings, and leaves nothing."""
    done = run("import", fmt, src, "out", "--quiet", "--memory", "64M", *flags, status=1)
    for word in words:
        assert word in done.stderr, (word, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) >= 2 and [line.startswith("hint: ") for line in lines].index(True) == len(lines) - 1, done.stderr
    assert not [f for f in os.listdir(".") if f.startswith("out")], os.listdir(".")


def csc(src, dst, n, weight=None, both=False, once=False, loops=True):
    """indptr, indices, weights of the lists of in-neighbours: sorted; equal edges in their order."""
    src, dst = np.asarray(src, np.int64), np.asarray(dst, np.int64)
    weight = np.zeros(len(src), np.float32) if weight is None else np.asarray(weight, np.float32)
    if both:  # each edge, then its reverse
        src, dst = np.stack([src, dst], 1).ravel(), np.stack([dst, src], 1).ravel()
        weight = np.repeat(weight, 2)
    if not loops:
        keep = src != dst
        src, dst, weight = src[keep], dst[keep], weight[keep]
    order = np.lexsort((src, dst))
    src, dst, weight = src[order], dst[order], weight[order]
    if once:
        keep = np.r_[True, (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])]
        src, dst, weight = src[keep], dst[keep], weight[keep]
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(dst, minlength=n), out=indptr[1:])
    return indptr, src.astype(np.int32), weight


def same_graph(got, want, weighted=False):
    np.testing.assert_array_equal(got["indptr"], want[0])
    np.testing.assert_array_equal(got["indices"], want[1])
    dst = np.repeat(np.arange(len(want[0]) - 1), np.diff(want[0]))
    there, back = (np.sort(a * len(want[0]) + b) for a, b in [(want[1].astype(np.int64), dst), (dst, want[1].astype(np.int64))])
    assert got["meta"].get("symmetric", False) == np.array_equal(there, back)
    assert got["indices"].dtype == np.int32
    assert ("weights" in got) == weighted
    if weighted:
        np.testing.assert_array_equal(got["weights"], want[2])


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    if path.endswith(".gz"):
        with gzip.open(path, "wt") as f:
            f.write(text)
    else:
        with open(path, "w") as f:
            f.write(text)


def save(path, array):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    np.save(path, array)


def graph(n=500, e=4000, dim=6, classes=7):
    g = {"n": n, "src": rng.integers(0, n, e), "dst": rng.integers(0, n, e),
         "feat": rng.normal(size=(n, dim)).astype(np.float32), "label": rng.integers(0, classes, n)}
    order = rng.permutation(n)
    g["train"], g["valid"], g["test"] = order[:200], order[200:300], order[300:350]
    return g


def same_nodes(got, g, label, splits=True):
    np.testing.assert_array_equal(got["features"], g["feat"])
    assert got["features"].dtype == g["feat"].dtype
    np.testing.assert_array_equal(got["labels"], label)
    for split in ("train", "valid", "test") if splits else ():
        np.testing.assert_array_equal(got[split], g[split])
        assert got[split].dtype == np.int64


def csv(path, array, fmt="%d"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    np.savetxt(path, array, fmt, delimiter=",")


def neutral(root, g, **more):
    save(f"{root}/edges.npy", np.stack([g["src"], g["dst"]], 1))
    save(f"{root}/feat.npy", g["feat"])
    save(f"{root}/label.npy", g["label"])
    for split in "train", "valid", "test":
        save(f"{root}/{split}.npy", g[split])
    for name, array in more.items():
        save(f"{root}/{name}.npy", array)
