#!/usr/bin/env python3
"""Rows of mostly zeros that are stored as entries, against NumPy and runs over the same dense rows. The losses of both differ by rounding alone. Sparse
runs have the same checkpoint for any memory, policy and number of workers.

    sparse_rows.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

from command import run

BASE = ["--fanout", "5,5", "--batch", "100", "--hidden", "16", "--memory", "96M", "--threads", "2", "--quiet"]
N, E, DIM = 1500, 9000, 300


# ---- datasets ----

def features(rng, n, dim, values):
    """About 9 entries a row; every 50th row has 60. One row has none."""
    x = rng.random((n, dim)) < np.where(np.arange(n)[:, None] % 50 == 0, 60 / dim, 9 / dim)
    x[7] = False
    x[:, 1] |= np.arange(n) % 3 == 0
    return {"one": x.astype(np.uint8), "u8": x * rng.integers(1, 4, (n, dim)).astype(np.uint8), "f32": x * rng.standard_normal((n, dim)).astype(np.float32)}[values]


def save(folder, x, **arrays):
    os.mkdir(folder)
    for name, array in {"feat": x, **arrays}.items():
        np.save(f"{folder}/{name}.npy", array)


def save_csr(folder, x, **arrays):
    """As scipy.sparse.csr_matrix has it."""
    save(folder, np.empty(0), **arrays)
    os.remove(f"{folder}/feat.npy")
    row, column = np.nonzero(x)
    for name, array in ("indptr", np.searchsorted(row, np.arange(len(x) + 1))), ("indices", column.astype(np.int32)), ("data", x[row, column]), ("shape", np.array(x.shape)):
        np.save(f"{folder}/feat_{name}.npy", array)


def widened(dataset, end="", of=None):
    """The rows of a dataset, by the description in docs/reference/formats.md."""
    said = of or json.loads(pathlib.Path(dataset, "meta.json").read_text())
    dim, room, dtype = said["feature_dim"], said["feature_entries"], said["feature_dtype"]
    column, value = "<u2" if dim <= 65536 else "<u4", {"one": None, "u8": "<u1", "f16": "<f2", "f32": "<f4"}[dtype]
    width, each = np.dtype(column).itemsize, np.dtype(value).itemsize if value else 0
    rest = np.load(f"{dataset}/feature_rest{end}.npy") if os.path.exists(f"{dataset}/feature_rest{end}.npy") else np.empty(0, np.uint8)
    n_rest = len(rest) // (width + each)
    more_columns, more_values = rest[:n_rest * width].view(column), rest[n_rest * width:].view(value) if value else np.ones(n_rest)
    rows = np.load(f"{dataset}/features{end}.npy")
    assert rows.dtype == np.uint8 and rows.shape[1] == 8 + room * (width + each) and room % 4 == 0
    out, used = np.zeros((len(rows), dim), np.float32), 0
    for x, row in zip(out, rows):
        n, at = row[:8].copy().view("<u4")
        columns, values = row[8:8 + room * width].copy().view(column), row[8 + room * width:].copy().view(value) if value else np.ones(room)
        here, more = min(n, room), max(int(n) - room, 0)
        columns, values = np.append(columns[:here], more_columns[at:at + more]), np.append(values[:here], more_values[at:at + more])
        assert n <= said["feature_entries_most"] and (np.diff(columns.astype(int)) > 0).all()
        x[columns], used = values, used + more
    assert used == n_rest
    return out


def check_import(rng, values, dtype, *options):
    x = features(rng, N, DIM, values)
    split = rng.permutation(N)
    y = (x[:, 1] > 0) * 2 + (x[:, 5:40] > 0).any(1)
    arrays = {"edges": rng.integers(0, N, (E, 2)), "label": y.astype(np.int64), "train": split[:700], "valid": split[700:900], "test": split[900:1100]}
    save(f"{values}-source", x, **arrays)
    save_csr(f"{values}-csr", x, **arrays)
    run("import", "npy", f"{values}-source", f"{values}-dense", *options, "--symmetrize", "--quiet")
    for source, out in (f"{values}-source", values), (f"{values}-csr", f"{values}-door"):
        run("import", "npy", source, out, "--feature-layout", "sparse", *options, "--symmetrize", "--quiet")
        run("verify", out)
        assert (widened(out) == x.astype(np.float16 if dtype == "f16" else np.float32)).all(), (values, out)
    for name in "features", "feature_rest":
        assert pathlib.Path(values, f"{name}.npy").read_bytes() == pathlib.Path(f"{values}-door", f"{name}.npy").read_bytes()
    told = json.loads(run("info", values, "--json").stdout)
    assert told["feature_dtype"] == dtype and told["feature_dim"] == DIM and told["feature_entries"] < 30 and told["feature_entries_most"] >= 40, told
    assert told["bytes"]["features"] == N * np.load(f"{values}/features.npy").shape[1]
    run("export", "npy", values, f"{values}-back", "--quiet")
    assert (np.load(f"{values}-back/feat.npy") == widened(values)).all()


def check_wide(rng):
    """Columns of 32 bits, and float16."""
    x = np.zeros((80, 70000), np.float32)
    for row in x:
        row[rng.choice(70000, 12)] = rng.standard_normal(12).astype(np.float16)
    x[3, 69999], x[4, 0] = 2, 3
    save("wide-source", x, edges=rng.integers(0, 80, (300, 2)), label=rng.integers(0, 2, 80), train=np.arange(60))
    run("import", "npy", "wide-source", "wide", "--feature-layout", "sparse", "--feature-dtype", "f16", "--quiet")
    run("import", "npy", "wide-source", "wide-dense", "--quiet")
    assert (widened("wide") == x).all()
    near("wide-dense", "wide", "--hidden", "4", "--memory", "256M")


# ---- runs ----

def trained(dataset, *options):
    """Losses, and the checkpoint's bytes."""
    shutil.rmtree("run", ignore_errors=True)
    run("train", dataset, "--run", "run", *BASE, "--epochs", "2", *options)
    epochs = json.loads(pathlib.Path("run/summary.json").read_text())["epochs"]
    return [epoch["loss"] for epoch in epochs], pathlib.Path("run/checkpoint.safetensors").read_bytes()


def near(dense, sparse, *options):
    """Losses of both. By SGD: Adam makes whole steps of gradients that are 0 but for rounding."""
    losses = [trained(dataset, "--optimizer", "sgd", "--lr", "0.03", *options)[0] for dataset in (dense, sparse)]
    assert np.allclose(*losses, rtol=1e-6, atol=0), (options, losses)


MODELS = [["--model", model] for model in ("gcn", "gat", "gatv2", "gin", "transformer")] + [
    ["--model", "pinsage", "--sampler", "walk"], ["--aggregator", "max"], ["--aggregator", "gcn"], ["--residual", "--norm", "layer"], ["--hidden", "400"],
    ["--input-dropout", "0.5"], ["--input-dropout", "0.3"], ["--task", "link", "--edge-split", "80/10/10"]]
SAME = [["--memory", "40M"], ["--policy", "lru", "--cache", "10%"], ["--policy", "belady", "--cache", "5%"], ["--policy", "degree", "--cache", "5%", "--layout", "packed"],
        ["--layout", "segmented", "--policy", "degree", "--cache", "5%"], ["--policy", "sweep", "--cache", "5%"], ["--topology", "disk"], ["--threads", "1"], ["--threads", "3"],
        ["--io", "pread", "--policy", "s3fifo", "--cache", "10%"], ["--executors", "2"]]
WORKERS = [["--workers", "2"], ["--workers", "2", "--exchange", "--policy", "degree", "--cache", "10%"]]


def check_runs(values):
    for options in [[], *MODELS]:
        near(f"{values}-dense", values, *options)
    want = trained(values)[1]
    for options in SAME:
        assert trained(values, *options)[1] == want, (values, options)
    assert len({trained(values, *options)[1] for options in WORKERS}) == 1
    near(f"{values}-dense", values, *WORKERS[0])
    trained(values, "--epochs", "1")
    run("train", values, "--run", "run", *BASE, "--epochs", "2", "--resume")
    assert pathlib.Path("run/checkpoint.safetensors").read_bytes() == want


def check_bytes(values):
    """What is read is what was predicted."""
    read = {}
    for name in values, f"{values}-dense":
        shutil.rmtree("samples", ignore_errors=True)
        options = [*BASE, "--epochs", "2", "--resample-every", "2"]
        run("sample", name, "--out", "samples", *options)
        run("verify", "samples", "--dataset", name)
        for more in [], ["--layout", "packed"]:
            shutil.rmtree("run", ignore_errors=True)
            run("train", name, "--run", "run", *options, "--policy", "degree", "--cache", "10%", "--samples", "samples", *more)
            said = json.loads(pathlib.Path("run/summary.json").read_text())
            told, last = said["plan"]["predicted"], said["epochs"][-1]
            assert (told["misses"], told["feature_bytes_read"]) == (last["misses"], last["feature_bytes_read"]), (name, told, last)
        read[name] = last["misses"], last["feature_bytes_read"]
    (misses, least), (also, most) = read.values()
    assert misses == also > 0 and least < most, read


def check_whole_graph(values):
    checkpoint = ["--checkpoint", "run/checkpoint.safetensors", "--memory", "64M", "--threads", "2", "--quiet"]
    for model in "sage", "gat", "mlp":
        trained(values, "--model", model, *(["--inputs", "0"] if model == "mlp" else []))
        got = []
        for dataset in values, f"{values}-dense":
            run("predict", dataset, *checkpoint, "--out", "all.npy")
            got.append(np.load("all.npy"))
            os.remove("all.npy")
        assert np.allclose(*got, rtol=1e-4, atol=1e-6), (model, np.abs(got[0] - got[1]).max())
        full = [json.loads(run("eval", dataset, *checkpoint, "--full", "--json").stdout)["metrics"]["loss"] for dataset in (values, f"{values}-dense")]
        assert np.allclose(*full, rtol=1e-5), full
    for dataset in values, f"{values}-dense":
        run("propagate", dataset, "--hops", "2", "--memory", "64M", "--quiet")
    for hop in 1, 2:
        assert np.allclose(np.load(f"{values}/hop{hop}.npy"), np.load(f"{values}-dense/hop{hop}.npy"), atol=1e-6)


def check_folders(values):
    want = trained(values)[1]
    os.mkdir("disk1"), os.mkdir("disk2")
    shutil.copytree(values, "striped")
    run("stripe", "striped", "--over", "disk1,disk2", "--quiet")
    run("verify", "striped")
    assert trained("striped")[1] == want
    run("stripe", values, "share", "--parts", 2, "--part", 1, "--quiet")
    assert np.load("share/features.npy").tobytes() == np.load(f"{values}/features.npy")[1::2].tobytes()
    assert np.load("share/feature_rest.npy").tobytes() == np.load(f"{values}/feature_rest.npy").tobytes()


def check_damage(values):
    """What is wrong in a file is found, and is no reason to crash."""
    def identity():
        return json.loads(run("info", "hurt", "--json").stdout)["dataset_checksum"]
    shutil.copytree(values, "hurt")
    before, rows, rest = identity(), np.load("hurt/features.npy"), np.load("hurt/feature_rest.npy")
    np.save("hurt/feature_rest.npy", rest[::-1])
    assert identity() != before
    np.save("hurt/feature_rest.npy", rest[1:])
    assert "feature_rest.npy" in run("info", "hurt", fails=True).stderr or values == "one"
    np.save("hurt/feature_rest.npy", rest)
    for at, byte, what in (8, 255, "feature_dim"), (0, 255, "more entries"), (10, 0, "ascend"):
        bad = rows.copy()
        bad[50, at], bad[50, at + 1] = byte, byte if at else 0
        np.save("hurt/features.npy", bad)
        assert f"row 50: " in (said := run("verify", "hurt", fails=True).stdout) and what in said, (what, said)
        trained("hurt", "--epochs", "1")
    shutil.rmtree("hurt")


def check_refusals(values):
    for options, word in (["--device", "virtual"], "--feature-layout dense"), (["--pack-dtype", "bf16"], "sparse"):
        assert word in run("train", values, *BASE, *options, fails=True).stderr, options
    assert "sparse" in run("sample", values, "--out", "trace", "--with-features", *BASE, fails=True).stderr
    for options, word in (["--in-place"], "--in-place"), (["--feature-dtype", "i8"], "f16"), (["--feature-scales"], "--feature-scales"):
        assert word in run("import", "npy", f"{values}-source", "none", "--feature-layout", "sparse", *options, fails=True).stderr, options
    shutil.copytree(f"{values}-source", "full")
    np.save("full/feat.npy", np.ones((N, 4), np.float32))
    said = run("import", "npy", "full", "stays", "--feature-layout", "sparse")
    assert "they stay dense" in said.stdout + said.stderr and np.load("stays/features.npy").shape == (N, 4)


def check_types(rng):
    """Types with rooms of their own, and dense ones."""
    save("typed", features(rng, 900, 400, "one"), edges=np.concatenate([np.stack([rng.integers(900, 1500, 5000), rng.integers(0, 900, 5000)], 1), rng.integers(0, 900, (3000, 2))]),
         node_type=np.repeat([0, 1], [900, 600]), edge_type=np.repeat([0, 1], [5000, 3000]), feat_author=rng.standard_normal((600, 12)).astype(np.float32),
         label=np.append(rng.integers(0, 3, 900), np.full(600, -1)), train=np.arange(0, 600), valid=np.arange(600, 700), test=np.arange(700, 800))
    pathlib.Path("typed/meta.json").write_text(json.dumps({"node_types": [{"type": 0, "name": "paper"}, {"type": 1, "name": "author"}],
                                                           "edge_types": [{"edge_type": 0, "name": "writes"}, {"edge_type": 1, "name": "cites"}]}))
    for layout in "dense", "sparse":
        run("import", "npy", "typed", f"types-{layout}", "--reverse-relations", "--feature-layout", layout, "--quiet")
    run("verify", "types-sparse")
    of = json.loads(pathlib.Path("types-sparse/meta.json").read_text())["node_types"]
    assert (widened("types-sparse", "_0", of[0]) == np.load("typed/feat.npy")).all() and "feature_entries" not in of[1]
    for options in [], ["--model", "gat"], ["--model", "gcn"], ["--model", "rgcn"], ["--input-dropout", "0.4"], ["--residual"]:
        near("types-dense", "types-sparse", *options)
    want = trained("types-sparse")[1]
    for options in ["--policy", "degree", "--cache", "10%", "--layout", "packed"], ["--policy", "belady", "--cache", "5%"]:
        assert trained("types-sparse", *options)[1] == want, options


os.chdir(tempfile.mkdtemp(prefix="og-sparse-rows-"))
os.environ["XDG_CACHE_HOME"] = os.getcwd()
try:
    rng = np.random.default_rng(1)
    for values, dtype, *options in ("one", "one"), ("u8", "u8"), ("f32", "f32"):
        check_import(rng, values, dtype, *options)
        check_runs(values)
        check_bytes(values)
        check_whole_graph(values)
        check_damage(values)
        check_refusals(values)
        for name in "full", "stays":
            shutil.rmtree(name)
    check_folders("u8")
    check_types(rng)
    check_wide(rng)
finally:
    shutil.rmtree(os.getcwd())
