#!/usr/bin/env python3
"""Features of types i8 and e4m3, which have a scale per column, against NumPy. What import stores is compared byte for byte, and the error of each column.
Runs have the checkpoint of one over the floats that NumPy makes of these rows.

    scaled_rows.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

from command import OUTGROW, run

DTYPES = "i8", "e4m3"
BASE = ["--fanout", "5,5", "--batch", "50", "--epochs", "2", "--hidden", "16", "--memory", "96M", "--threads", "2", "--quiet"]  # 32 steps
N, E, DIM = 2000, 12000, 33


# ---- the oracle ----

def values_of_e4m3():
    """The values of bytes 0 to 126, which ascend."""
    byte = np.arange(127)
    exponent, mantissa = byte >> 3, byte & 7
    return np.where(exponent == 0, mantissa * 2.0**-9, (8 + mantissa) * 2.0**(exponent - 10.0))


def scales(x):
    return np.maximum(np.abs(x).max(0) / np.float32(127), np.finfo(np.float32).tiny)


def stored(x, dtype):
    q = x / scales(x)
    assert q.dtype == np.float32
    if dtype == "i8":
        return np.clip(np.rint(q), -127, 127).astype(np.int8)
    value, wide = values_of_e4m3(), np.minimum(np.abs(q.astype(np.float64)), 127)
    above = np.searchsorted(value, wide).clip(1, 126)
    low, high = wide - value[above - 1], value[above] - wide
    return (np.where((high < low) | ((high == low) & (above % 2 == 0)), above, above - 1) | np.signbit(q) << 7).astype(np.uint8)


def widened(q, s, dtype):
    """One product of floats."""
    if dtype == "i8":
        return q.astype(np.float32) * s
    value = np.append(values_of_e4m3(), np.nan).astype(np.float32)
    return np.concatenate([value, -value])[q] * s


def features(rng, n, dim, wild=False):
    """Different columns: normal, constant, zero, all negative, with an outlier. Wild ones are tiny, huge, or between two values of a type."""
    x = rng.standard_normal((n, dim)).astype(np.float32)
    x[:, 1], x[:, 2], x[:, 3], x[0, 4] = 0.3, 0, -np.abs(x[:, 3]), 100
    if wild:
        x[:, 5], x[:, 6], x[:, 7] = x[:, 5] * 1e-39, x[:, 6] * 1e37, rng.integers(-127, 128, n)
        x[:, 8], x[:, 9] = np.tile([63.5, 127, 0.5, 1.5, -2.5], n)[:n], np.tile([127, 18, 17, 19, 2.0**-10, 3 * 2.0**-10, 1.0625, -1.1875], n)[:n]
    return x


# ---- datasets ----

def save(folder, x, **arrays):
    os.mkdir(folder)
    for name, array in {"feat": x, **arrays}.items():
        np.save(f"{folder}/{name}.npy", array)


def source(rng):
    x = features(rng, N, DIM)
    split = rng.permutation(N)
    y = (x[:, 0] > 0) * 2 + (x[:, 3] < -1)
    save("source", x, edges=rng.integers(0, N, (E, 2)), label=y.astype(np.int64), train=split[:800], valid=split[800:1000], test=split[1000:1200])
    return x


def with_floats(dataset, out, dtype):
    """The dataset with the floats of its rows instead."""
    shutil.copytree(dataset, out)
    meta = json.loads(pathlib.Path(dataset, "meta.json").read_text())
    del meta["checksums"]
    of = {"": meta} if "feature_dtype" in meta else {f"_{t}": type for t, type in enumerate(meta["node_types"]) if "feature_dtype" in type}
    for end, said in of.items():
        assert said["feature_dtype"] == dtype
        said["feature_dtype"] = "f32"
        np.save(f"{out}/features{end}.npy", widened(np.load(f"{dataset}/features{end}.npy"), np.load(f"{dataset}/feature_scales{end}.npy"), dtype))
        os.remove(f"{out}/feature_scales{end}.npy")
    pathlib.Path(out, "meta.json").write_text(json.dumps(meta))


def check_import(source, x, dtype, out):
    run("import", "npy", source, out, "--feature-dtype", dtype, "--symmetrize", "--quiet")
    check_rows(x, dtype, out)
    run("verify", out)
    told = json.loads(run("info", out, "--json").stdout)
    assert told["feature_dtype"] == dtype and told["bytes"]["features"] == x.size
    with_floats(out, f"{out}-floats", dtype)
    run("export", "npy", out, f"{out}-back", "--quiet")
    assert np.load(f"{out}-back/feat.npy").tobytes() == np.load(f"{out}-floats/features.npy").tobytes()


def check_rows(x, dtype, out):
    q, s = np.load(f"{out}/features.npy"), np.load(f"{out}/feature_scales.npy")
    assert s.dtype == np.float32 and s.tobytes() == scales(x).tobytes(), dtype
    assert q.tobytes() == stored(x, dtype).tobytes(), (dtype, np.argwhere(q != stored(x, dtype))[:5])
    error = np.abs(widened(q, s, dtype).astype(np.float64) - x)
    half = s / 2 if dtype == "i8" else np.maximum(np.abs(x) / 16, s / 1024)
    assert (error <= half * (1 + 2.0**-20)).all(), (dtype, error.max(0) / s)
    assert (error > half / 4).any()


def check_what_import_refuses(x):
    for bad in np.nan, np.inf, -np.inf:
        y = x.copy()
        y[1234, 5] = bad
        np.save("source/feat.npy", y)
        for option in ["--feature-dtype", "i8"], ["--feature-dtype", "e4m3"], ["--feature-scales"]:
            text = run("import", "npy", "source", "none", *option, fails=True).stderr
            assert "1234" in text and "not a finite number" in text, text
    np.save("source/feat.npy", x)
    assert "i8" in run("import", "npy", "source", "none", "--edge-feature-dtype", "i8", fails=True).stderr
    assert "i8" in run("generate", "none", "--dtype", "i8", fails=True).stderr
    said = run("import", "npy", "source", "halves", "--feature-dtype", "f16", "--feature-scales")
    assert "--feature-scales: stored as f16" in said.stdout + said.stderr, (said.stdout, said.stderr)
    assert not os.path.exists("halves/feature_scales.npy")


# ---- runs ----

def trained(dataset, *options):
    shutil.rmtree("run", ignore_errors=True)
    run("train", dataset, "--run", "run", *BASE, *options)
    return pathlib.Path("run/checkpoint.safetensors").read_bytes()


RUNS = [["--model", model] for model in ("gcn", "gat", "gatv2", "gin", "transformer", "pinsage --sampler walk".split())] + [
    ["--aggregator", "max"], ["--input-dropout", "0.3"], ["--trainers", "2", "--accumulate", "2"], ["--topology", "disk", "--layout", "packed"],
    ["--layout", "segmented", "--policy", "degree", "--cache", "5%"], ["--policy", "lru", "--cache", "10%"], ["--task", "link", "--edge-split", "80/10/10"]]
SAME = [["--device", "virtual"], ["--device", "virtual", "--device-memory", "20M"], ["--device", "virtual:2", "--device-memory", "20M", "--model", "gat"]]
WORKERS = [["--workers", "2"], ["--workers", "2", "--exchange"]]


def flat(options):
    return [text for option in options for text in ([option] if isinstance(option, str) else option)]


def check_runs(dtype):
    """Whatever computes, wherever rows are kept."""
    plain = trained(f"{dtype}-floats")
    assert trained(dtype) == plain
    assert trained("floats") != plain
    assert trained("floats", "--pack-dtype", dtype) == plain
    for options in map(flat, RUNS + SAME + WORKERS):
        want = trained(f"{dtype}-floats", *options)
        assert trained(dtype, *options) == want, (dtype, options)
    for options in (["--layout", "packed", "--policy", "frequency", "--cache", "10%"], ["--layout", "segmented", "--policy", "degree", "--cache", "5%"],
                    ["--workers", "2", "--exchange"], ["--device", "virtual", "--device-memory", "20M"]):
        assert trained("floats", "--pack-dtype", dtype, *options) == trained(dtype, *options), (dtype, options)


def check_bytes(dtype):
    """What is read is what was predicted, and a quarter of what rows of floats take."""
    read = {}
    for name in dtype, f"{dtype}-floats":
        shutil.rmtree("run", ignore_errors=True)
        shutil.rmtree("samples", ignore_errors=True)
        run("sample", name, "--out", "samples", *BASE, "--resample-every", "2")
        run("train", name, "--run", "run", *BASE, "--policy", "degree", "--cache", "10%", "--layout", "packed", "--samples", "samples", "--resample-every", "2")
        said = json.loads(pathlib.Path("run/summary.json").read_text())
        told, last = said["plan"]["predicted"], said["epochs"][-1]
        assert (told["misses"], told["feature_bytes_read"]) == (last["misses"], last["feature_bytes_read"]), (name, told, last)
        read[name] = last["misses"], last["feature_bytes_read"]
    (misses, least), (also, most) = read.values()
    assert misses == also > 0 and least < most / 3, read


def check_whole_graph(dtype):
    checkpoint = ["--checkpoint", "run/checkpoint.safetensors", "--memory", "64M", "--threads", "2", "--quiet"]
    trained(dtype)
    for model in "sage", "gat":
        trained(dtype, "--model", model)
        got = []
        for dataset, options in (dtype, []), (f"{dtype}-floats", []), ("floats", ["--pack-dtype", dtype]), (dtype, ["--device", "virtual"]), (f"{dtype}-floats", ["--device", "virtual"]):
            run("predict", dataset, *checkpoint, *options, "--out", "all.npy")
            got.append(pathlib.Path("all.npy").read_bytes())
            os.remove("all.npy")
        assert got[0] == got[1] == got[2] and got[3] == got[4], (dtype, model)
    metrics = [json.loads(run("eval", name, *checkpoint, "--json").stdout)["metrics"] for name in (dtype, f"{dtype}-floats")]
    assert metrics[0] == metrics[1]


def check_answers(dtype):
    """A process that stays answers for a few nodes."""
    got = []
    for name in dtype, f"{dtype}-floats":
        answers = subprocess.run([OUTGROW, "serve", name, "--checkpoint", "run/checkpoint.safetensors", "--memory", "64M"], input='{"id": 1, "nodes": [3, 1, 1999]}\n',
                                 capture_output=True, text=True, check=True).stdout
        got.append([json.loads(line).get("rows") for line in answers.splitlines()])
    assert got[0] == got[1] and any(got[0]), got


def check_least_device_memory(dtype):
    """The device has room for the scales where it has the least that a run accepts."""
    options = ["--device", "virtual", "--trainers", "1"]
    text = run("train", dtype, *BASE, *options, "--device-memory", "64K", fails=True).stderr
    least = re.search(r"--device-memory (\w+);", text)[1]
    assert trained(dtype, *options, "--device-memory", least) == trained(dtype, *options)


def check_folders(dtype):
    """On two disks, and in shares of two machines."""
    want = trained(dtype)
    os.mkdir("one"), os.mkdir("two")
    shutil.copytree(dtype, "striped")
    run("stripe", "striped", "--over", "one,two", "--quiet")
    run("verify", "striped")
    assert trained("striped") == want
    run("stripe", dtype, "share", "--parts", 2, "--part", 1, "--quiet")
    assert np.load("share/feature_scales.npy").tobytes() == np.load(f"{dtype}/feature_scales.npy").tobytes()
    assert np.load("share/features.npy").tobytes() == np.load(f"{dtype}/features.npy")[1::2].tobytes()
    for name in "one", "two", "striped", "share":
        shutil.rmtree(name)


def check_damage(dtype):
    """Scales are part of what a dataset is; they are numbers above 0, one a column."""
    identity = lambda: json.loads(run("info", "hurt", "--json").stdout)["dataset_checksum"]
    shutil.copytree(dtype, "hurt")
    before, s, q = identity(), np.load("hurt/feature_scales.npy"), np.load("hurt/features.npy")
    np.save("hurt/feature_scales.npy", s * 2)
    assert identity() != before
    assert "feature_scales.npy: checksum" in run("verify", "hurt", fails=True).stdout
    for bad in s * 0, -s, s * np.nan, s[1:], s.astype(np.float64):
        np.save("hurt/feature_scales.npy", bad)
        assert "feature_scales.npy" in run("info", "hurt", fails=True).stderr
    os.remove("hurt/feature_scales.npy")
    assert "feature_scales.npy" in run("info", "hurt", fails=True).stderr
    np.save("hurt/feature_scales.npy", s)
    if dtype == "e4m3":
        q[17, 4] = 0xff
        np.save("hurt/features.npy", q)
        assert "row 17, column 4: NaN" in run("verify", "hurt", fails=True).stdout
    shutil.rmtree("hurt")


def check_refusals():
    run("import", "npy", "source", "plain", "--symmetrize", "--quiet")
    # a source that is used in place, and whose values grow
    shutil.copytree("source", "own")
    run("import", "npy", "own", "placed", "--in-place", "--feature-scales", "--quiet")
    assert "nothing wrong" in run("verify", "placed").stdout
    x = np.load("own/feat.npy")
    x[17, 4] = 2 * np.abs(x[:, 4]).max()
    np.save("own/feat.npy", x)
    assert f"row 17, column 4: {x[17, 4]:g} is beyond the column's scale" in run("verify", "placed", fails=True).stdout
    for dtype in DTYPES:
        assert "--feature-scales" in run("train", "plain", "--pack-dtype", dtype, *BASE, fails=True).stderr
        assert "with scales" in run("sample", dtype, "--out", "trace", "--with-features", *BASE, fails=True).stderr
        for other in "f16", "f32", *set(DTYPES) - {dtype}:
            assert f"are {dtype}" in run("train", dtype, "--pack-dtype", other, *BASE, fails=True).stderr


# ---- types ----

def check_types(dtype, rng):
    """A scale for each column of each type."""
    save("typed", features(rng, 900, 20), edges=np.concatenate([np.stack([rng.integers(900, 1500, 5000), rng.integers(0, 900, 5000)], 1), rng.integers(0, 900, (3000, 2))]),
         node_type=np.repeat([0, 1], [900, 600]), edge_type=np.repeat([0, 1], [5000, 3000]), feat_author=features(rng, 600, 12) * 7,
         label=np.append(rng.integers(0, 3, 900), np.full(600, -1)), train=np.arange(0, 600), valid=np.arange(600, 700), test=np.arange(700, 800))
    pathlib.Path("typed/meta.json").write_text(json.dumps({"node_types": [{"type": 0, "name": "paper"}, {"type": 1, "name": "author"}],
                                                           "edge_types": [{"edge_type": 0, "name": "writes"}, {"edge_type": 1, "name": "cites"}]}))
    options = ["--reverse-relations", "--quiet"]
    run("import", "npy", "typed", f"types-{dtype}", "--feature-dtype", dtype, *options)
    for t, name in enumerate(("feat", "feat_author")):
        x = np.load(f"typed/{name}.npy")
        assert np.load(f"types-{dtype}/feature_scales_{t}.npy").tobytes() == scales(x).tobytes()
        assert np.load(f"types-{dtype}/features_{t}.npy").tobytes() == stored(x, dtype).tobytes()
    run("verify", f"types-{dtype}")
    with_floats(f"types-{dtype}", "types-floats", dtype)
    run("import", "npy", "typed", "types-scales", "--feature-scales", *options)
    for more in [], ["--model", "gat"], ["--model", "rgcn"], ["--layout", "packed", "--policy", "degree", "--cache", "10%"], ["--device", "virtual", "--device-memory", "30M"], \
            ["--workers", "2", "--exchange"]:
        want = trained("types-floats", *more)
        assert trained(f"types-{dtype}", *more) == want, (dtype, more)
        assert trained("types-scales", "--pack-dtype", dtype, *more) == want, (dtype, more)
    text = run("import", "npy", "typed", "none", "--feature-dtype", dtype, "--mean-features", "author", *options, fails=True).stderr
    assert "--mean-features" in text, text
    for name in "typed", f"types-{dtype}", "types-floats", "types-scales":
        shutil.rmtree(name)


os.chdir(tempfile.mkdtemp(prefix="og-scaled-rows-"))
os.environ["XDG_CACHE_HOME"] = os.getcwd()
try:
    rng = np.random.default_rng(1)
    x, wild = source(rng), features(rng, N, DIM, wild=True)
    save("wild", wild, edges=np.load("source/edges.npy"), label=np.zeros(N, np.int64))
    run("import", "npy", "source", "floats", "--feature-scales", "--symmetrize", "--quiet")
    assert np.load("floats/features.npy").tobytes() == x.tobytes()
    assert np.load("floats/feature_scales.npy").tobytes() == scales(x).tobytes()
    run("verify", "floats")
    check_what_import_refuses(x)
    for dtype in DTYPES:
        check_import("source", x, dtype, dtype)
        check_import("wild", wild, dtype, f"{dtype}-wild")
        check_runs(dtype)
        check_bytes(dtype)
        check_whole_graph(dtype)
        check_answers(dtype)
        check_least_device_memory(dtype)
        check_folders(dtype)
        check_damage(dtype)
        check_types(dtype, rng)
    check_refusals()
finally:
    shutil.rmtree(os.getcwd())
