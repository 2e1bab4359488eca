#!/usr/bin/env python3
"""Every import format, from small sources laid out as their projects publish them; what comes of it
is compared array by array with NumPy's own reading.

    import_formats.py OUTGROW [FORMAT...]      exits 77 where there is no NumPy
"""
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = sys.argv[1]
rng = np.random.default_rng(7)


def run(*args, status=0):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == status, (args, done.returncode, done.stderr)
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
    """It fails with one message and a hint, and leaves nothing."""
    done = run("import", fmt, src, "out", "--quiet", "--memory", "64M", *flags, status=1)
    for word in words:
        assert word in done.stderr, (word, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 2 and lines[1].startswith("hint: "), done.stderr
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


# ---- edgelist ----

def test_edgelist():
    ids = np.sort(rng.choice(10**6, 300, replace=False))  # sparse, as in SNAP's files
    pairs = ids[rng.integers(0, 300, (5000, 2))]
    known, renamed = np.unique(pairs, return_inverse=True)
    renamed = renamed.reshape(-1, 2)
    n = len(known)
    head = "# Directed graph: web.txt\n# Nodes: 300 Edges: 5000\n# FromNodeId\tToNodeId\n"
    snap = head + "".join(f"{u}\t{v}\n" for u, v in pairs)
    for name in "snap.txt", "snap.txt.gz":
        write(name, snap)
        for flags, rules in [([], {}), (["--symmetrize"], {"both": True, "once": True}),
                             (["--drop-self-loops"], {"loops": False}),
                             (["--drop-duplicates"], {"once": True})]:
            got = imported("edgelist", name, *flags)
            same_graph(got, csc(renamed[:, 0], renamed[:, 1], n, **rules))
            np.testing.assert_array_equal(got["node_ids"], known)
            assert got["node_ids"].dtype == np.int64
            assert got["features"].shape == (n, 1) and (got["features"] == 1).all()
        same_graph(imported("edgelist", name, "--reverse"), csc(renamed[:, 1], renamed[:, 0], n))
    # ids as they are
    got = imported("edgelist", "snap.txt", "--keep-ids")
    same_graph(got, csc(pairs[:, 0], pairs[:, 1], pairs.max() + 1))
    assert "node_ids" not in got
    # dense already: no map
    write("dense.txt", "".join(f"{u} {v}\r\n" for u, v in renamed) + "\n  \n0 1")
    got = imported("edgelist", "dense.txt")
    same_graph(got, csc(np.r_[renamed[:, 0], 0], np.r_[renamed[:, 1], 1], n))
    assert "node_ids" not in got
    # ids beyond 2^32, met late
    wide = known.astype(np.uint64).copy()
    wide[n // 2:] = np.sort(rng.integers(2**33, 2**63, n - n // 2, dtype=np.uint64))
    order = np.argsort(renamed.max(1), kind="stable")
    write("wide.txt", "".join(f"{wide[u]} {wide[v]}\n" for u, v in renamed[order]))
    got = imported("edgelist", "wide.txt")
    same_graph(got, csc(renamed[order, 0], renamed[order, 1], n))
    np.testing.assert_array_equal(got["node_ids"].astype(np.uint64), wide)
    # CSV with a header line, weights, separators
    weight = rng.normal(size=5000).astype(np.float32)
    want = csc(renamed[:, 0], renamed[:, 1], n, weight)
    for name, mark in [("w.csv", ","), ("w.tsv", "\t"), ("w.ssv", " ; "), ("w.txt", "  ")]:
        write(name, "Source,Target,Weight\n" + "".join(
            f"{u}{mark}{v}{mark}{w!r}\n" for (u, v), w in zip(pairs, weight.tolist())))
        same_graph(imported("edgelist", name, "--weight-column", "3"), want, True)
        same_graph(imported("edgelist", name, "--weight-column", "0"), want)
    write("w4.csv", "".join(f"{u},{v},xy,{w:.9e}\n" for (u, v), w in zip(pairs, weight.tolist())))
    same_graph(imported("edgelist", "w4.csv", "--weight-column", "4"), want, True)
    refused("edgelist", "w.csv", "w.csv: line 2: more than two columns")
    # a folder with what nodes have
    feat = rng.normal(size=(n + 3, 4)).astype(np.float32)
    label = rng.integers(-1, 5, n + 3)
    write("folder/edges.tsv.gz", "".join(f"{u}\t{v}\n" for u, v in renamed))
    for name, array in [("feat", feat), ("label", label), ("train", np.arange(5)), ("test", np.arange(7, 9))]:
        save(f"folder/{name}.npy", array)
    got = imported("edgelist", "folder")
    same_graph(got, csc(renamed[:, 0], renamed[:, 1], n + 3))
    np.testing.assert_array_equal(got["features"], feat)
    np.testing.assert_array_equal(got["labels"], label)
    np.testing.assert_array_equal(got["test"], [7, 8])
    assert "valid" not in got
    # many lines, so that there are several blocks, and small memory, so that edges go to the disk
    many = rng.integers(0, 40000, (700000, 2)) * 3
    np.savetxt("many.txt", many, "%d")
    known, renamed = np.unique(many, return_inverse=True)
    renamed = renamed.reshape(-1, 2)
    same_graph(imported("edgelist", "many.txt", "--memory", "16M"),
               csc(renamed[:, 0], renamed[:, 1], len(known)))
    # what is wrong is told with its line
    write("bad.txt", "# a\n0 1\n1 x\n")
    refused("edgelist", "bad.txt", "bad.txt: line 3: no node id", "'x'")
    write("bad.txt", "0 1\n1 -2\n")
    refused("edgelist", "bad.txt", "bad.txt: line 2", "'-2'")
    write("bad.txt", "0 1\n5\n")
    refused("edgelist", "bad.txt", "bad.txt: line 2")
    write("bad.txt", "0 1\n1 99999999999999999999\n")
    refused("edgelist", "bad.txt", "bad.txt: line 2")
    write("bad.txt", "0 1 2.5\n1 2 nan\n")
    refused("edgelist", "bad.txt", "bad.txt: line 2: no finite weight", flags=["--weight-column", "3"])
    write("bad.txt", "0 1 2.5\n1 2\n")
    refused("edgelist", "bad.txt", "bad.txt: line 2: no finite weight", flags=["--weight-column", "3"])
    write("bad.txt", "# nothing\n\n")
    refused("edgelist", "bad.txt", "no edges")
    write("bad.txt", "0 1\n" + "x" * 3000000)
    refused("edgelist", "bad.txt", "line 2")
    whole = open("snap.txt.gz", "rb").read()
    open("cut.txt.gz", "wb").write(whole[:len(whole) // 2])
    refused("edgelist", "cut.txt.gz", "cut.txt.gz: byte", "ends inside")
    open("cut.txt.gz", "wb").write(whole[:500] + b"\0" * 40 + whole[540:])
    refused("edgelist", "cut.txt.gz", "cut.txt.gz: byte")
    refused("edgelist", "nowhere.txt", "nowhere.txt")
    save("folder/feat.npy", feat[:n - 9])
    save("folder/label.npy", label[:n - 9])
    refused("edgelist", "folder", "edges.tsv.gz: line", "does not have")
    refused("edgelist", "snap.txt", "budget", flags=["--memory", "1M"])


def test_killed():
    """A killed import leaves nothing that the next does not remove, and what it did not make stays."""
    many = rng.integers(0, 10**6, (600000, 2))
    np.savetxt("big.txt", many, "%d")
    os.mkdir("other.tmp-1")
    os.mkdir("out.tmp-x")
    for delay in 0.02, 0.1, 0.2, 0.3:
        child = subprocess.Popen([OUTGROW, "import", "edgelist", "big.txt", "out", "--quiet"])
        time.sleep(delay)
        child.kill()
        child.wait()
        if os.path.exists("out"):  # it was quicker
            shutil.rmtree("out")
    os.makedirs("out.tmp-1/deep")
    os.symlink("/etc", "out.tmp-1/link")
    os.symlink("folder", "out.tmp-2")
    os.makedirs("folder/kept")
    run("import", "edgelist", "big.txt", "out", "--quiet", "--memory", "64M")
    left = sorted(os.listdir("."))
    assert left == ["big.txt", "folder", "other.tmp-1", "out", "out.tmp-2", "out.tmp-x"], left
    assert os.listdir("folder") == ["kept"] and os.path.isdir("/etc")
    assert not [f for f in os.listdir("out") if not f.endswith((".npy", ".json"))]
    # one that lives is left alone
    shutil.rmtree("out")
    child = subprocess.Popen([OUTGROW, "import", "edgelist", "big.txt", "out", "--quiet"])
    while not [f for f in os.listdir(".") if f == f"out.tmp-{child.pid}"] and child.poll() is None:
        time.sleep(0.001)
    child.send_signal(signal.SIGSTOP)
    if os.path.isdir(f"out.tmp-{child.pid}"):
        run("import", "edgelist", "big.txt", "out", "--quiet", "--memory", "64M")
        assert os.path.isdir(f"out.tmp-{child.pid}")
    child.send_signal(signal.SIGCONT)
    assert child.wait() == 1  # `out` is there by now


def main():
    tests = {name[5:]: test for name, test in globals().items() if name.startswith("test_")}
    for name in sys.argv[2:] or tests:
        folder = tempfile.mkdtemp(prefix="og-formats-")
        here = os.getcwd()
        os.chdir(folder)
        try:
            tests[name]()
        finally:
            os.chdir(here)
            shutil.rmtree(folder)
        print(f"{name}: ok")


OUTGROW = os.path.abspath(OUTGROW)
main()
