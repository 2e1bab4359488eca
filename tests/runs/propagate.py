#!/usr/bin/env python3
"""Propagated features, compared with NumPy and PyTorch Geometric's SIGN.

Files are bit-identical for any memory and threads, and after kills. The rows of labelled nodes, joined, are those of all nodes.

    propagate.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    sys.exit(77)

from command import OUTGROW, run

N, E, DIM, HOPS = 3000, 24000, 24, 3
rng = np.random.default_rng(47)


def make_source(folder, directed=True):
    """Own loops, duplicates, nodes without in-edges, weights of 0."""
    folder.mkdir()
    edges = np.stack([rng.integers(0, N, E), rng.integers(0, N - 200, E)], 1)
    edges[:50, 1] = edges[:50, 0] = np.arange(50)
    weights = rng.random(E).astype(np.float32)
    weights[100:140] = 0
    ids = rng.permutation(N)
    np.save(folder / "edges.npy", edges)
    np.save(folder / "edge_weight.npy", weights)
    np.save(folder / "feat.npy", rng.standard_normal((N, DIM)).astype(np.float32))
    np.save(folder / "label.npy", rng.integers(0, 5, N))
    for i, name in enumerate(("train", "valid", "test")):
        np.save(folder / f"{name}.npy", ids[i * 400:(i + 1) * 400])


def lists(graph):
    indptr, indices = np.load(graph / "indptr.npy"), np.load(graph / "indices.npy").astype(np.int64)
    return indices, np.repeat(np.arange(N), np.diff(indptr)), np.load(graph / "weights.npy").astype(np.float64)


def hops_by_numpy(graph, norm, loops, weighted):
    """Dense rows in float64, from the formula."""
    src, dst, w = lists(graph)
    w = w if weighted else np.ones(len(src))
    if loops:
        own = np.ones(N)
        own[src[src == dst]] = w[src == dst]  # of several the last
        keep = src != dst
        src, dst, w = np.r_[src[keep], np.arange(N)], np.r_[dst[keep], np.arange(N)], np.r_[w[keep], own]
    degree = np.bincount(dst, w, N)
    with np.errstate(divide="ignore"):
        scale = np.where(degree > 0, degree ** (-1.0 if norm == "row" else -0.5), 0)
    factor = w * scale[dst] * (1 if norm == "row" else scale[src])
    x = [np.load(graph / "features.npy").astype(np.float64)]
    for _ in range(HOPS):
        made = np.zeros((N, DIM))
        np.add.at(made, dst, factor[:, None] * x[-1][src])
        x.append(made)
    return x


def rows_of(graph):
    return [np.load(graph / f"hop{k}.npy") for k in range(1, HOPS + 1)]


def files_of(graph):
    found = sorted(p for p in graph.rglob("*") if p.is_file() and (p.match("hop*.npy") or p.parent.name == "hops"))
    return {str(p.relative_to(graph)): p.read_bytes() for p in found}


def clear(graph):
    for path in graph.glob("hop*.npy"):
        path.unlink()
    shutil.rmtree(graph / "hops", ignore_errors=True)


def propagate(graph, *more, **how):
    return run("propagate", graph, "--hops", HOPS, *more, **how)


def check_numbers(graph):
    worst = 0
    for norm in "sym", "row":
        for loops in False, True:
            for weighted in False, True:
                clear(graph)
                propagate(graph, "--norm", norm, *["--loops"] * loops, *["--edge-weights", "multiply"] * weighted)
                ours, theirs = rows_of(graph), hops_by_numpy(graph, norm, loops, weighted)[1:]
                for one, other in zip(ours, theirs):
                    worst = max(worst, np.abs(one - other).max() / np.abs(other).max())
    assert worst < 1e-5, worst
    print(f"largest difference from NumPy in float64, of the largest magnitude: {worst:.2g}")


def check_sign(graph):
    try:
        import torch
        from torch_geometric.data import Data
        from torch_geometric.transforms import SIGN
    except ImportError:
        print("no PyTorch Geometric: SIGN is not compared")
        return
    src, dst, w = lists(graph)
    edges = torch.from_numpy(np.stack([src, dst]))
    worst = 0
    for weighted in False, True:
        clear(graph)
        propagate(graph, *["--edge-weights", "multiply"] * weighted)
        data = Data(x=torch.from_numpy(np.load(graph / "features.npy")), edge_index=edges, num_nodes=N)
        if weighted:
            data.edge_weight = torch.from_numpy(w.astype(np.float32))
        data = SIGN(HOPS)(data)
        for k, ours in enumerate(rows_of(graph), 1):
            theirs = data[f"x{k}"].numpy()
            worst = max(worst, np.abs(ours - theirs).max() / np.abs(theirs).max())
    assert worst < 1e-5, worst
    print(f"largest difference from PyTorch Geometric's SIGN: {worst:.2g}")


def check_labelled(graph):
    """The folder of labelled rows is a dataset of its own."""
    clear(graph)
    propagate(graph)
    whole = [np.load(graph / "features.npy"), *rows_of(graph)]
    rows, ids = np.load(graph / "hops/features.npy"), np.load(graph / "hops/node_ids.npy")
    assert np.array_equal(rows, np.concatenate([x[ids] for x in whole], 1))
    assert np.array_equal(np.load(graph / "hops/labels.npy"), np.load(graph / "labels.npy")[ids])
    for name in "train", "valid", "test":
        own, list_ = np.load(graph / f"hops/{name}.npy"), np.load(graph / f"{name}.npy")
        assert np.array_equal(ids[own], list_), name
        assert np.all(np.diff(ids[np.sort(own)]) > 0), "a split's rows are not in the order of nodes"
    run("verify", graph / "hops")
    both = files_of(graph)
    clear(graph)
    told = json.loads(propagate(graph, "--rows", "labelled", "--json").stdout)
    alone = files_of(graph)
    assert told["labelled"] == len(ids) and set(alone) == {name for name in both if name.startswith("hops/")}
    assert all(alone[name] == both[name] for name in alone if name != "hops/meta.json")  # which knows the files of all nodes


def check_bits(graph):
    """Any memory, threads, engines and folders; the budget holds."""
    n = len(np.load(graph / "labels.npy"))
    for mib in range(16, 64):
        done = subprocess.run([OUTGROW, "propagate", graph, "--hops", str(HOPS), "--memory", f"{mib}M", "--threads", "1", "--json"], capture_output=True, text=True)
        if done.returncode == 0:
            break
        assert "--memory" in done.stderr and not list(graph.glob("hop*")), done.stderr
    told = first = json.loads(done.stdout)
    assert told["peak_rss_bytes"] <= told["memory_budget_bytes"], told
    assert all(layer["rows_kept"] < n / 2 for layer in told["layers"]), "most rows fit: nothing is compared"
    few = files_of(graph)
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        for more in (["--threads", 2], ["--io", "pread", "--threads", 3], ["--scratch", f"{a},{b}", "--rows", "labelled"]):
            clear(graph)
            told = json.loads(propagate(graph, "--json", *more).stdout)
            assert told["peak_rss_bytes"] <= told["memory_budget_bytes"], told
            assert all(few[name] == data for name, data in files_of(graph).items() if name != "hops/meta.json"), more
        assert not os.listdir(a) and not os.listdir(b)
    print(f"the same bytes in {mib} MiB, which hold {first['layers'][0]['rows_kept']} of {n} rows, and in any memory")


def check_kills(graph):
    """Killed anywhere, then resumed: the same files, and nothing else. Until then no file is half written."""
    clear(graph)
    command = [str(word) for word in (OUTGROW, "propagate", graph, "--hops", HOPS, "--checkpoint-every", 0, "--threads", 1, "--memory", "40M")]
    began = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    whole, seconds, resumed, times = files_of(graph), time.monotonic() - began, 0, 8 if "CI" in os.environ else 16
    for i in range(times):
        clear(graph)
        killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds * (i + 0.5) / times)
        killed.kill()
        stopped, found = killed.wait() != 0, files_of(graph)
        assert all(whole[name] == data for name, data in found.items()), "a file is half written"
        if stopped:  # even when all files are there: its scratch folder may be left
            again = subprocess.run([*command, "--resume"], capture_output=True, text=True)
            assert again.returncode == 0 or found == whole and "exists already" in again.stderr, again
            resumed += "resuming in layer" in again.stderr
        assert files_of(graph) == whole, i
        left = [p.name for p in graph.iterdir() if "outgrow-infer-" in p.name or p.name.endswith(".part") or p.name.startswith(".")]
        assert not left, left
    assert resumed > 0, "no kill left a state"
    print(f"{resumed} of {times} kills left a state that was resumed, to the same bytes")


def check_refusals(graph, typed):
    def refused(word, *more, of=graph):
        said = propagate(of, *more, fails=True).stderr
        assert word in said, (word, said)
    clear(graph)
    propagate(graph)
    refused("exists already")
    clear(graph)
    refused("--norm", "--norm", "left")
    refused("--rows", "--rows", "some")
    refused("--norm row", "--edge-weights", "mean")
    refused("CPU", "--device", "virtual")
    refused("--hops", "--hops", "17")
    refused("", "--workers", "2")
    refused("types", of=typed)
    assert "have no effect" in propagate(graph, "--lr", "0.1", "--hidden", "8").stderr


def check_others(graph):
    """Hops of an earlier propagation go with --overwrite alone. A bad list is refused before hops are computed."""
    clear(graph)
    propagate(graph)
    before = files_of(graph)
    for more in [], ["--resume"], ["--resume", "--rows", "labelled"]:
        said = run("propagate", graph, "--hops", HOPS - 1, *more, fails=True).stderr
        assert "exists already" in said and "give --overwrite to replace it" in said, said
        assert files_of(graph) == before, more
    run("propagate", graph, "--hops", HOPS - 1, "--overwrite")
    assert sorted(p.name for p in graph.glob("hop*.npy")) == [f"hop{k}.npy" for k in range(1, HOPS)]
    whole = files_of(graph)
    clear(graph)
    run("propagate", graph, "--hops", HOPS - 1)
    assert files_of(graph) == whole
    run("propagate", graph, "--hops", HOPS - 1, "--overwrite", "--rows", "labelled")
    assert not list(graph.glob("hop*.npy"))
    for name, value in ("valid", N + 5), ("labels", 99):
        bad = graph.parent / f"bad-{name}"
        clear(graph)
        shutil.copytree(graph, bad)
        values = np.load(bad / f"{name}.npy")
        values[np.load(bad / "train.npy")[0] if name == "labels" else 0] = value
        np.save(bad / f"{name}.npy", values)
        said = propagate(bad, fails=True).stderr
        assert f"{name}.npy" in said and "kept for --resume" not in said, said


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    make_source(folder / "source")
    run("import", "npy", folder / "source", folder / "graph")
    run("generate", folder / "typed", "--types", "paper:200,author:100", "--relations", "author:writes:paper")
    graph = folder / "graph"
    check_numbers(graph)
    check_sign(graph)
    check_labelled(graph)
    check_others(graph)
    run("generate", folder / "large", "--nodes", 40000, "--dim", 128)
    check_bits(folder / "large")
    check_kills(folder / "large")
    check_refusals(graph, folder / "typed")
