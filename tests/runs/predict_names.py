#!/usr/bin/env python3
"""A table of predictions has the names of nodes and classes of a CSV source. Some are long, and some have commas.

    predict_names.py OUTGROW      exits 77 where there is no NumPy
"""
import csv
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = os.path.abspath(sys.argv[1])
CLASSES = "cat", "dog", "a b"


def run(*args):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, (args, done.stderr)


def write(path, *rows):
    with open(path, "w", newline="", encoding="utf-8") as f:
        csv.writer(f, lineterminator="\n").writerows(rows)


def check(longest):
    """Names of up to so many bytes."""
    rng, name = np.random.default_rng(3), f"names{longest}"
    os.makedirs(name)
    ids = sorted({f"n{i}" + ("," if i % 5 == 0 else "") + "x" * int(rng.integers(0, longest - 7)) for i in rng.integers(0, 10**5, 60)})
    write(f"{name}/edges.csv", ("src", "dst"), *zip(rng.choice(ids, 300), rng.choice(ids, 300)))
    write(f"{name}/feat.csv", ("id", "f1", "f2"), *((i, *row) for i, row in zip(ids, rng.standard_normal((len(ids), 2)).round(3))))
    write(f"{name}/label.csv", ("id", "label"), *((i, CLASSES[k % 3]) for k, i in enumerate(ids)))
    write(f"{name}/train.csv", ("id",), *((i,) for i in ids[:30]))
    run("import", name, f"g-{name}", "--quiet")
    run("train", f"g-{name}", "--fanout", "3,3", "--hidden", 4, "--epochs", 1, "--memory", "256M", "--run", f"run-{name}", "--quiet")
    for out in "out.npy", "out.csv":
        run("predict", f"g-{name}", "--checkpoint", f"run-{name}/checkpoint.safetensors", "--memory", "256M", "--quiet", "--out", out, *["--names"] * out.endswith("csv"))
    with open("out.csv", encoding="utf-8", newline="") as f:
        head, *rows = csv.reader(f)
    logits = np.load("out.npy")
    assert head[:2] == ["id", "class"] and sorted(head[2:]) == sorted(CLASSES) and [r[0] for r in rows] == ids
    assert (np.array([r[2:] for r in rows], np.float32) == logits).all()
    assert [r[1] for r in rows] == [head[2 + i] for i in logits.argmax(1)]
    some = [ids[k] for k in (41, 3, 20)]
    np.save("names.npy", np.array(some, "S"))
    given = f"g-{name}", "--checkpoint", f"run-{name}/checkpoint.safetensors", "--memory", "256M", "--quiet"
    run("predict", *given, "--nodes", "names.npy", "--out", "some.npy")
    assert np.allclose(np.load("some.npy"), logits[[41, 3, 20]], atol=1e-5)
    np.save("names.npy", np.array([some[0], "nobody"], "S"))
    refused = subprocess.run([OUTGROW, "predict", *given, "--nodes", "names.npy", "--out", "no.npy"], capture_output=True, text=True)
    assert refused.returncode != 0 and "row 1: no node is called nobody" in refused.stderr, refused.stderr
    for made in "out.npy", "out.csv", "some.npy":
        os.remove(made)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    for length in 8, 60:
        check(length)
    os.chdir("/")
