#!/usr/bin/env python3
"""Every import format, from small sources laid out as their projects publish them; what comes of it
is compared array by array with NumPy's own reading.

    import_formats.py OUTGROW [FORMAT...]      exits 77 where there is no NumPy
"""
import glob
import gzip
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = sys.argv[1]
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
    # more of them than memory holds: sorted on disk, and the same edges in the same order; weights
    # tell whether of equal edges the first is kept
    many = rng.integers(0, 2**63, 500000, dtype=np.uint64)
    pairs_wide = np.concatenate([many[rng.integers(0, len(many), (450000, 2))], many[:1000].reshape(-1, 2)])
    pairs_wide = np.concatenate([pairs_wide, pairs_wide[::9, ::-1], pairs_wide[::7]])
    known_wide, places = np.unique(pairs_wide, return_inverse=True)
    places = places.reshape(-1, 2)
    weight = np.arange(len(places), dtype=np.float32)
    write("far.txt", "".join(f"{u} {v} {w}\n" for (u, v), w in zip(pairs_wide.tolist(), range(len(places)))))
    for flags, rules in [([], {}), (["--symmetrize"], {"both": True, "once": True})]:
        want = csc(places[:, 0], places[:, 1], len(known_wide), weight, **rules)
        for memory in "16M", "128M":
            done = run("import", "edgelist", "far.txt", "out", "--memory", memory, "--weight-column", "3", *flags)
            assert ("sorted on disk" in done.stderr) == (memory == "16M"), done.stderr
            got = {name: np.load(f"out/{name}.npy") for name in ["indptr", "indices", "weights", "node_ids"]}
            np.testing.assert_array_equal(got["node_ids"].astype(np.uint64), known_wide)
            for name, array in zip(["indptr", "indices", "weights"], want):
                np.testing.assert_array_equal(got[name], array)
            shutil.rmtree("out")
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
    # what would be passed over in silence, or read as another number
    for text, flags, words in [
            (b"0 1 1,5\n", ["--weight-column", "3"], ["line 1: no finite weight", "'1,5'"]),
            (b"0;1;1,5\n", ["--weight-column", "3"], ["line 1: no finite weight", "'1,5'"]),
            (b"0 1 2x\n", ["--weight-column", "3"], ["line 1: no finite weight", "'2x'"]),
            (b"0 1 naninity\n", ["--weight-column", "3"], ["line 1: no finite weight"]),
            (b"0 1\r1 2\r", ["--weight-column", "0"], ["line 1: something after"]),
            (b"\x005 6\n0 1\n", [], ["line 1: no node id"])]:
        open("bad.txt", "wb").write(text)
        refused("edgelist", "bad.txt", *words, flags=flags)
    # one gzip member after another, as cat makes them, zeros behind; but nothing else behind
    members = gzip.compress(b"0 1\n") + gzip.compress(b"1 2\n")
    for tail in b"", bytes(600):
        open("two.txt.gz", "wb").write(members + tail)
        same_graph(imported("edgelist", "two.txt.gz"), csc([0, 1], [1, 2], 3))
    for wrong in members + b"junk", members[:24] + b"\x1e" + members[25:], members[:-2]:
        open("two.txt.gz", "wb").write(wrong)
        refused("edgelist", "two.txt.gz", "two.txt.gz: byte")
    # a mark before UTF-8, as some programs write it
    open("mark.csv", "wb").write(b"\xef\xbb\xbfsrc,dst\r\n0,1\r\n1,2\r\n")
    same_graph(imported("edgelist", "mark.csv"), csc([0, 1], [1, 2], 3))
    # a few bytes do not make gigabytes, in memory or on disk
    write("few.txt", "0 4294967290\n")
    refused("edgelist", "few.txt", "4294967291 nodes", "1 edges", flags=["--keep-ids"])
    same_graph(imported("edgelist", "few.txt"), csc([0], [1], 2))
    write("few.txt", "7 7\n")
    refused("edgelist", "few.txt", "no edges", flags=["--drop-self-loops"])
    # ids that all meet at one place of a table whose hash is known
    back = pow(0x9e3779b97f4a7c15, -1, 2**64)
    chosen = [i for i in ((j << 44) * back % 2**64 for j in range(300000)) if i < 2**63]
    write("chosen.txt", "".join(f"{u} {v}\n" for u, v in zip(chosen, chosen[1:])))
    began = time.time()
    run("import", "edgelist", "chosen.txt", "out", "--quiet", "--memory", "64M")
    assert time.time() - began < 20
    shutil.rmtree("out")
    save("folder/feat.npy", feat[:n - 9])
    save("folder/label.npy", label[:n - 9])
    refused("edgelist", "folder", "edges.tsv.gz: line", "does not have")
    refused("edgelist", "snap.txt", "of memory", flags=["--memory", "1M"])


def test_killed():
    """A killed import leaves nothing that the next does not remove, and what it did not make stays."""
    many = rng.integers(0, 10**6, (600000, 2))
    np.savetxt("big.txt", many, "%d")
    os.mkdir("other.tmp-1")
    os.mkdir("out.tmp-x")
    for delay in 0.02, 0.1, 0.2, 0.3:
        child = subprocess.Popen([OUTGROW, "import", "edgelist", "big.txt", "out", "--quiet"],
                                 stdout=subprocess.DEVNULL)
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
    child = subprocess.Popen([OUTGROW, "import", "edgelist", "big.txt", "out", "--quiet"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not glob.glob(f"out.tmp-{child.pid}/*") and child.poll() is None:
        time.sleep(0.001)  # an empty folder may not be locked yet
    child.send_signal(signal.SIGSTOP)
    caught = os.path.isdir(f"out.tmp-{child.pid}")  # else it was quicker
    if caught:
        run("import", "edgelist", "big.txt", "out", "--quiet", "--memory", "64M")
        assert os.path.isdir(f"out.tmp-{child.pid}")
    child.send_signal(signal.SIGCONT)
    assert child.wait() == (1 if caught else 0)  # 1: `out` is there by now


# ---- what several formats share ----

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


# ---- ogb ----

def csv(path, array, fmt="%d"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    np.savetxt(path, array, fmt, delimiter=",")


def ogbn(root, g, split="time"):
    csv(f"{root}/raw/edge.csv.gz", np.stack([g["src"], g["dst"]], 1))
    csv(f"{root}/raw/num-node-list.csv.gz", [g["n"]])
    csv(f"{root}/raw/num-edge-list.csv.gz", [len(g["src"])])
    csv(f"{root}/raw/node-feat.csv.gz", g["feat"], "%.9g")
    csv(f"{root}/raw/node-label.csv.gz", g["label"])
    csv(f"{root}/raw/node_year.csv.gz", np.full(g["n"], 2015))
    for name in "train", "valid", "test":
        csv(f"{root}/split/{split}/{name}.csv.gz", g[name])
    write(f"{root}/RELEASE_v1.txt", "")


def test_ogb():
    g = graph()
    ogbn("ogbn_arxiv", g)
    got = imported("ogb", "ogbn_arxiv")
    same_graph(got, csc(g["src"], g["dst"], g["n"]))
    same_nodes(got, g, g["label"])
    assert got["meta"]["num_classes"] == 7
    got = imported("ogb", "ogbn_arxiv", "--symmetrize", "--feature-dtype", "f16")
    same_graph(got, csc(g["src"], g["dst"], g["n"], both=True, once=True))
    np.testing.assert_array_equal(got["features"], g["feat"].astype(np.float16))
    # products lists an edge once for both directions; its loader adds the other
    ogbn("ogbn_products", g, "sales_ranking")
    got = imported("ogb", "ogbn_products/")
    same_graph(got, csc(g["src"], g["dst"], g["n"], both=True))
    assert got["meta"]["symmetric"]
    # labels that are missing, as floats; a hundred tasks; no features
    label = np.where(rng.random(g["n"]) < 0.3, np.nan, g["label"])
    csv("ogbn_arxiv/raw/node-label.csv.gz", label, "%.1f")
    same_nodes(imported("ogb", "ogbn_arxiv"), g, np.where(np.isnan(label), -1, label))
    tasks = rng.integers(0, 2, (g["n"], 112))
    csv("ogbn_arxiv/raw/node-label.csv.gz", tasks)
    os.remove("ogbn_arxiv/raw/node-feat.csv.gz")
    got = imported("ogb", "ogbn_arxiv")
    np.testing.assert_array_equal(got["labels"], tasks)
    assert got["meta"]["multi_label"] and got["features"].shape == (g["n"], 1)
    # wrong
    csv("ogbn_arxiv/raw/num-edge-list.csv.gz", [3999])
    refused("ogb", "ogbn_arxiv", "4000 edges", "3999")
    csv("ogbn_arxiv/raw/num-edge-list.csv.gz", [4000])
    csv("ogbn_arxiv/raw/num-node-list.csv.gz", [100])
    refused("ogb", "ogbn_arxiv", "500 labels, the graph has 100 nodes")
    csv("ogbn_arxiv/raw/num-node-list.csv.gz", [g["n"]])
    whole = open("ogbn_arxiv/raw/edge.csv.gz", "rb").read()
    write("ogbn_arxiv/raw/edge.csv.gz", "0,1\n3,500\n")
    refused("ogb", "ogbn_arxiv", "edge.csv.gz: row 1: node 500")
    open("ogbn_arxiv/raw/edge.csv.gz", "wb").write(whole)
    csv("ogbn_arxiv/raw/num-node-list.csv.gz", [g["n"], 4])
    refused("ogb", "ogbn_arxiv", "one number expected")
    csv("ogbn_arxiv/raw/num-node-list.csv.gz", [501])
    refused("ogb", "ogbn_arxiv", "500 labels, the graph has 501 nodes")
    csv("ogbn_arxiv/raw/num-node-list.csv.gz", [500])
    write("ogbn_arxiv/raw/edge.csv.gz", "0,1\n2,3,4\n")
    refused("ogb", "ogbn_arxiv", "edge.csv.gz: line 2: more columns")
    write("ogbn_arxiv/raw/edge.csv.gz", "src,dst\n2,3\n")
    refused("ogb", "ogbn_arxiv", "edge.csv.gz: line 1: no whole number")
    os.remove("ogbn_arxiv/raw/edge.csv.gz")
    refused("ogb", "ogbn_arxiv", "edge.csv.gz")
    csv("ogbn_mag/raw/num-node-dict.csv.gz", [1])
    refused("ogb", "ogbn_mag", "several node types")


def papers(root, g, label, savez):
    csv(f"{root}/split/time/train.csv.gz", g["train"])
    csv(f"{root}/split/time/valid.csv.gz", g["valid"])
    csv(f"{root}/split/time/test.csv.gz", g["test"])
    os.makedirs(f"{root}/raw")
    savez(f"{root}/raw/data.npz", edge_index=np.stack([g["src"], g["dst"]]), node_feat=g["feat"],
          node_year=np.zeros((g["n"], 1), np.int64), num_nodes_list=np.array([g["n"]]),
          num_edges_list=np.array([len(g["src"])]))
    savez(f"{root}/raw/node-label.npz", node_label=label)


def test_papers():
    g = graph(3000, 200000)
    label = np.where(rng.random((g["n"], 1)) < 0.9, np.nan, g["label"][:, None]).astype(np.float32)
    expect = np.where(np.isnan(label), -1, label)[:, 0]
    for root, savez in ("stored", np.savez), ("deflated", np.savez_compressed):
        papers(root, g, label, savez)
        got = imported("ogb", root)
        same_graph(got, csc(g["src"], g["dst"], g["n"]))
        same_nodes(got, g, expect)
    # members whose sizes stand in ZIP64 records, as in the archive that is larger than 4 GB
    import zipfile
    with zipfile.ZipFile("stored/raw/data.npz") as old, zipfile.ZipFile("big.npz", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            with new.open(name, "w", force_zip64=True) as member:
                member.write(old.read(name))
    os.replace("big.npz", "stored/raw/data.npz")
    same_graph(imported("ogb", "stored"), csc(g["src"], g["dst"], g["n"]))
    refused("ogb", "stored", "--link", flags=["--link"])
    # cut short, damaged, or promising what is not there
    whole = open("deflated/raw/data.npz", "rb").read()
    open("deflated/raw/data.npz", "wb").write(whole[:len(whole) // 2])
    refused("ogb", "deflated", "data.npz")
    at = whole.find(b"node_feat.npy") + 3000
    open("deflated/raw/data.npz", "wb").write(whole[:at] + bytes(200) + whole[at + 200:])
    refused("ogb", "deflated", "data.npz:node_feat.npy")
    with zipfile.ZipFile("deflated/raw/data.npz", "w") as z:
        z.writestr("num_nodes_list.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, "
                   b"'shape': (99999999999,), }" + b" " * 40 + b"\n")
    refused("ogb", "deflated", "data.npz:num_nodes_list.npy")
    np.savez("deflated/raw/data.npz", num_nodes_list=np.array([3000]), edge_index=np.zeros((3, 4), np.int64))
    refused("ogb", "deflated", "expected [2, E]")
    # a member twice, of which each program takes the one it likes; a header that tells of less than
    # there is, whose checksum nobody would see; another number of edges than was said
    arrays = {"edge_index": np.stack([g["src"], g["dst"]]), "node_feat": g["feat"],
              "num_nodes_list": np.array([g["n"]]), "num_edges_list": np.array([len(g["src"])])}
    def archive(**changed):
        with zipfile.ZipFile("deflated/raw/data.npz", "w", zipfile.ZIP_DEFLATED) as z:
            for name, array in {**arrays, **changed}.items():
                f = io.BytesIO()
                np.save(f, array)
                z.writestr(name + ".npy", f.getvalue())
    archive()
    with zipfile.ZipFile("deflated/raw/data.npz", "a") as z, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z.writestr("node_feat.npy", b"another")
    refused("ogb", "deflated", "data.npz:node_feat.npy: 2 members")
    archive()
    with zipfile.ZipFile("deflated/raw/data.npz") as old:
        kept = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile("deflated/raw/data.npz", "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in kept.items():
            z.writestr(name, data + bytes(10**6) if name == "node_feat.npy" else data)
    refused("ogb", "deflated", "data.npz:node_feat.npy", "its header promises")
    archive(num_edges_list=np.array([len(g["src"]) + 1]))
    refused("ogb", "deflated", "200000 edges", "200001")
    os.remove("deflated/raw/data.npz")
    os.mkfifo("deflated/raw/data.npz")
    refused("ogb", "deflated", "not a plain file")


def test_mag240m():
    g = graph(400, 3000, 768)
    g["feat"] = g["feat"].astype(np.float16)
    label = np.where(rng.random(g["n"]) < 0.9, np.nan, g["label"]).astype(np.float32)
    root = "mag240m_kddcup2021"
    save(f"{root}/processed/paper/node_feat.npy", g["feat"])
    save(f"{root}/processed/paper/node_label.npy", label)
    save(f"{root}/processed/paper/node_year.npy", np.zeros(g["n"], np.int16))
    save(f"{root}/processed/paper___cites___paper/edge_index.npy", np.stack([g["src"], g["dst"]]))
    save(f"{root}/processed/author___writes___paper/edge_index.npy", np.stack([g["src"], g["dst"]]))
    assert "mag240m_splits.py" in run("import", "ogb", root, "out").stderr
    shutil.rmtree("out")
    for split in "train", "valid", "test":
        save(f"{root}/{split}.npy", g[split])
    for flags in [], ["--link"]:
        got = imported("ogb", root, *flags)
        same_graph(got, csc(g["src"], g["dst"], g["n"]))
        same_nodes(got, g, np.where(np.isnan(label), -1, label))
        assert got["meta"]["feature_dtype"] == "f16"


# ---- igb ----

def test_igb():
    g = graph(1000, 5000, 1024)
    label19, label2k = rng.integers(0, 19, 1000), rng.integers(0, 2983, 700)
    folder = "tiny/processed/paper"
    save("tiny/processed/paper__cites__paper/edge_index.npy", np.stack([g["src"], g["dst"]], 1))
    save(f"{folder}/node_feat.npy", g["feat"])
    save(f"{folder}/node_label_19.npy", label19.astype(np.float32))
    save(f"{folder}/node_label_2K.npy", label2k.astype(np.float32))
    for split, ids in ("train", np.arange(600)), ("valid", np.arange(600, 800)), ("test", np.arange(800, 1000)):
        g[split] = ids
    for headerless in False, True:
        if headerless:  # as the large and the full set are published
            g["feat"].tofile(f"{folder}/node_feat.npy")
            label19.astype(np.float32).tofile(f"{folder}/node_label_19.npy")
            label2k.astype(np.float32).tofile(f"{folder}/node_label_2K.npy")
        for flags in [], ["--link"]:
            got = imported("igb", "tiny", *flags)
            same_graph(got, csc(g["src"], g["dst"], g["n"]))
            same_nodes(got, g, label19)
            assert ("features" in got["meta"].get("files", {})) == bool(flags)
        got = imported("igb", "tiny", "--labels", "node_label_2K.npy")
        np.testing.assert_array_equal(got["labels"], np.r_[label2k, np.full(300, -1)])
        np.testing.assert_array_equal(got["valid"], np.arange(420, 560))
    # what is linked can be trained on
    run("import", "igb", "tiny", "linked", "--quiet", "--link")
    assert not os.path.exists("linked/features.npy")
    run("train", "linked", "--epochs", "1", "--hidden", "8", "--fanout", "3,3", "--run", "r", "--quiet", "--memory", "200M")
    shutil.rmtree("linked")
    refused("igb", "tiny", "--link", flags=["--link", "--feature-dtype", "f16"])
    refused("igb", "tiny", "leaves the source", flags=["--labels", "../../../x.npy"])
    np.zeros(1001, np.float32).tofile(f"{folder}/node_label_19.npy")
    refused("igb", "tiny", "1001 labels", "1000 nodes")
    label19.astype(np.float32).tofile(f"{folder}/node_label_19.npy")
    open(f"{folder}/node_feat.npy", "ab").write(b"123")
    refused("igb", "tiny", "node_feat.npy", "no whole number of rows")
    save("tiny/train.npy", np.arange(3))
    save("tiny/test.npy", np.arange(3, 9))
    g["feat"].tofile(f"{folder}/node_feat.npy")
    got = imported("igb", "tiny")
    assert list(got["train"]) == [0, 1, 2] and "valid" not in got


# ---- graphbolt ----

YAML = """
dataset_name: tiny_bolt
graph:
  nodes:
    - num: 500
  edges:
    - format: {fmt}
      path: {edges}
feature_data:
  - domain: node
    type: null
    name: year
    format: numpy
    in_memory: true
    path: data/year.npy
  - domain: node
    name: feat
    format: numpy
    in_memory: false
    path: data/feat.npy
tasks:
  - name: node_classification
    num_classes: 11
    train_set:
      - data:
          - {{name: seeds, format: numpy, in_memory: true, path: set/train.npy}}
          - {{name: labels, format: numpy, path: set/train_label.npy}}
    validation_set:
      - data:
          - {{name: seeds, format: numpy, path: set/valid.npy}}
          - {{name: labels, format: numpy, path: set/valid_label.npy}}
    test_set:
      - data:
          - {{name: seeds, format: csv, path: set/test.csv}}
          - {{name: labels, format: csv, path: set/test_label.csv}}
"""


def bolt(g, label):
    save("bolt/data/feat.npy", g["feat"])
    save("bolt/data/year.npy", np.zeros((g["n"], 1), np.float32))
    save("bolt/edges/edges.npy", np.stack([g["src"], g["dst"]]))
    csv("bolt/edges/edges.csv", np.stack([g["src"], g["dst"]], 1))
    for split in "train", "valid", "test":
        save(f"bolt/set/{split}.npy", g[split])
        save(f"bolt/set/{split}_label.npy", label[g[split]])
    csv("bolt/set/test.csv", g["test"])
    csv("bolt/set/test_label.csv", label[g["test"]])


def test_graphbolt():
    g = graph()
    bolt(g, g["label"])
    label = np.full(g["n"], -1)
    for split in "train", "valid", "test":
        label[g[split]] = g["label"][g[split]]
    for fmt, edges in ("numpy", "edges/edges.npy"), ("csv", "edges/edges.csv"):
        write("bolt/metadata.yaml", YAML.format(fmt=fmt, edges=edges))
        for flags in [], ["--link"]:
            got = imported("graphbolt", "bolt", *flags)
            same_graph(got, csc(g["src"], g["dst"], g["n"]))
            same_nodes(got, g, label)
            assert got["meta"]["num_classes"] == 11 and got["meta"]["name"] == "tiny_bolt"
    good = YAML.format(fmt="numpy", edges="edges/edges.npy")
    write("bolt/metadata.yaml", good.replace("    name: year", "    num: many\n    name: year"))  # a key of another's
    same_nodes(imported("graphbolt", "bolt"), g, label)
    save("beyond.npy", np.stack([g["src"], g["dst"]]))
    os.symlink("/etc", "bolt/etc")
    os.symlink("../beyond.npy", "bolt/link.npy")  # out of the folder, and within it
    os.symlink("edges/edges.npy", "bolt/near.npy")
    write("bolt/metadata.yaml", good.replace("edges/edges.npy", "near.npy"))
    same_graph(imported("graphbolt", "bolt"), csc(g["src"], g["dst"], g["n"]))
    for old, new, words in [
            ("edges/edges.npy", "../beyond.npy", ["leaves the source"]),
            ("edges/edges.npy", os.path.abspath("beyond.npy"), ["leaves the source"]),
            ("edges/edges.npy", "link.npy", ["leaves the source"]),
            ("edges/edges.npy", "etc/passwd", ["leaves the source"]),
            ("edges/edges.npy", "etc/../edges/edges.npy", ["leaves the source"]),
            ("edges/edges.npy", "edges/../../beyond.npy", ["leaves the source"]),
            ("format: numpy\n      path", "format: torch\n      path", ["torch"]),
            ("num: 500", "num: 50", ["500 rows", "50 nodes"]),
            ("num: 500", "num: 3000000000", ["500 rows", "3000000000 nodes"]),
            ("num: 500", "num: many", ["metadata.yaml", "num", "many"]),
            ("num: 500", "num: 5e2", ["num", "5e2"]),  # 5 where a reader stops at the e
            ("num: 500", "num: 0764", ["num", "0764"]),  # octal in YAML 1.1
            ("num: 500", "num: 500\n      num: 500", ["num", "twice"]),
            ("tasks:", "feature_data:", ["feature_data", "twice"]),
            ("name: tiny_bolt", "name: " + "[" * 200000, ["brackets"]),  # hours of libyaml
            ("name: tiny_bolt", 'name: x\nother: "' + "a\\n[" * 2000 + '"', ["brackets"]),
            ("num: 500", "num: 500\n    - num: 3", ["several types"]),
            ("num: 500", "type: user\n      num: 500", ["several types"]),
            ("graph:", "graf:", ["metadata.yaml", "graph"]),
            ("tasks:", "tasks: [", ["metadata.yaml"]),
            ("name: tiny_bolt", "name: &a tiny_bolt\nother: *a", ["metadata.yaml"]),
            ("num_classes: 11", "num_classes: 2", ["of 2"]),
            ("set/valid_label.npy", "set/train_label.npy", ["200", "100 seeds"]),
            ("set/train.npy", "nowhere.npy", ["nowhere.npy"]),
    ]:
        assert old in good, old
        write("bolt/metadata.yaml", good.replace(old, new, 1))
        refused("graphbolt", "bolt", *words)
    # more labels than seeds, and a seed twice
    write("bolt/metadata.yaml", good)
    csv("bolt/set/test_label.csv", np.r_[g["label"][g["test"]], 1])
    refused("graphbolt", "bolt", "test_label.csv", "goes on")
    csv("bolt/set/test_label.csv", g["label"][g["test"]])
    twice = g["test"].copy()
    twice[3] = twice[1]
    csv("bolt/set/test.csv", twice)
    refused("graphbolt", "bolt", "test.csv", "row 3", "listed twice")
    csv("bolt/set/test.csv", g["test"])
    # a mere number of nodes, which only the edges speak for
    alone = good[:good.index("feature_data")]
    write("bolt/metadata.yaml", alone.replace("num: 500", "num: 4000000000"))
    refused("graphbolt", "bolt", "4000000000 nodes", "4000 edges")
    os.remove("bolt/metadata.yaml")
    refused("graphbolt", "bolt", "metadata.yaml")
    os.mkfifo("bolt/metadata.yaml")
    refused("graphbolt", "bolt", "not a plain file")


# ---- mtx ----

def mtx(path, kind, symmetry, n, src, dst, weight=None):
    lines = [f"%%MatrixMarket matrix coordinate {kind} {symmetry}", "% a remark", "%", f"{n} {n} {len(src)}"]
    lines += [f"{u + 1} {v + 1}" + ("" if weight is None else f" {w!r}")
              for u, v, w in zip(src, dst, [0] * len(src) if weight is None else weight.tolist())]
    write(path, "\n".join(lines) + "\n")


def test_mtx():
    g = graph(300, 3000)
    src, dst, n = g["src"], g["dst"], g["n"]
    weight = rng.normal(size=3000).astype(np.float32)
    whole = rng.integers(-5, 9, 3000)
    for name in "a.mtx", "a.mtx.gz":
        mtx(name, "pattern", "general", n, src, dst)
        same_graph(imported("mtx", name), csc(src, dst, n))
        same_graph(imported("mtx", name, "--reverse"), csc(dst, src, n))
        same_graph(imported("mtx", name, "--symmetrize"), csc(src, dst, n, both=True, once=True))
        mtx(name, "real", "general", n, src, dst, weight)
        same_graph(imported("mtx", name), csc(src, dst, n, weight), True)
        mtx(name, "integer", "general", n, src, dst, whole)
        same_graph(imported("mtx", name), csc(src, dst, n, whole), True)
    low = np.unique(np.stack([np.maximum(src, dst), np.minimum(src, dst)], 1), axis=0)
    weight = rng.normal(size=len(low)).astype(np.float32)
    mtx("s.mtx", "real", "symmetric", n, low[:, 0], low[:, 1], weight)
    off = low[:, 0] != low[:, 1]
    both = np.r_[low, low[off][:, ::-1]]
    got = imported("mtx", "s.mtx")
    same_graph(got, csc(both[:, 0], both[:, 1], n, np.r_[weight, weight[off]]), True)
    assert got["meta"]["symmetric"]
    # also where the file lists both ways by itself, and not where one edge lacks its reverse
    mtx("s.mtx", "pattern", "general", n, both[:, 0], both[:, 1])
    assert imported("mtx", "s.mtx")["meta"]["symmetric"]
    mtx("s.mtx", "pattern", "general", n, both[:-1, 0], both[:-1, 1])
    assert "symmetric" not in imported("mtx", "s.mtx")["meta"]
    os.mkdir("folder")
    mtx("folder/graph.mtx.gz", "pattern", "general", n, src, dst)
    save("folder/feat.npy", g["feat"][:n])
    save("folder/label.npy", g["label"][:n])
    got = imported("mtx", "folder")
    same_graph(got, csc(src, dst, n))
    same_nodes(got, g, g["label"], splits=False)
    head = "%%MatrixMarket matrix coordinate pattern general\n"
    real = head.replace("pattern", "real")
    for text, words in [
            ("1 1 1\n1 1\n", ["line 1: no coordinate"]),
            (head.replace("coordinate", "array") + "3 3\n", ["line 1: no coordinate"]),
            (head.replace("pattern", "complex") + "3 3 1\n1 1 0 0\n", ["line 1"]),
            (head.replace("general", "hermitian") + "3 3 1\n1 1\n", ["line 1"]),
            (head, ["ends before its size"]),
            (head + "% x\n3 3\n", ["line 3: no size"]),
            (head + "3 4 1\n1 1\n", ["line 2: not a square"]),
            (head + "3 3 2\n1 1\n", ["1 entries", "says 2"]),
            (head + "3 3 1\n1 1\n2 2\n", ["2 entries", "says 1"]),
            (head + "3 3 1\n0 1\n", ["line 3", "'0 1'"]),
            (head + "3 3 1\n1 4\n", ["line 3", "'4'"]),
            (head + "3 3 1\n1 2 3\n", ["line 3: more than two"]),
            (real + "3 3 1\n1 2 1d5\n", ["line 3: no finite weight", "'1d5'"]),  # not 1
            (real + "3 3 1\n1 2 0x1p3\n", ["line 3: no finite weight"]),
            (real + "3 3 1\n1 2 3 4\n", ["line 3: something after the value", "'4'"]),
            (head + "9999999999 9999999999 1\n1 1\n", ["line 2: more than"]),
            (head + "3 3 9999999999999\n1 1\n", ["line 2: more than"]),
            (head + "3 3 0\n", ["no edges"]), ("", ["empty"])]:
        write("bad.mtx", text)
        refused("mtx", "bad.mtx", *words)

# ---- npy, and the way back ----

def neutral(root, g, **more):
    save(f"{root}/edges.npy", np.stack([g["src"], g["dst"]], 1))
    save(f"{root}/feat.npy", g["feat"])
    save(f"{root}/label.npy", g["label"])
    for split in "train", "valid", "test":
        save(f"{root}/{split}.npy", g[split])
    for name, array in more.items():
        save(f"{root}/{name}.npy", array)


def edge_layouts(src, dst):
    """What edges.npy may be, by name. np.save writes an array in Fortran order as it lies."""
    for kind in "int32", "int64":
        pairs, index = np.stack([src, dst], 1).astype(kind), np.stack([src, dst]).astype(kind)
        yield f"[E,2] {kind}", pairs
        yield f"[2,E] {kind}", index
        yield f"[E,2] {kind}, Fortran order", index.T
        yield f"[2,E] {kind}, Fortran order", pairs.T


def test_npy():
    """Edges as rows of two or as PyTorch Geometric's edge_index, in several pieces; few edges; what is wrong."""
    g = graph(3000, 150000)
    src, dst, n = g["src"], g["dst"], g["n"]
    weight = rng.random(150000).astype(np.float32)
    alike = (src * dst % 97).astype(np.float32)  # of an edge and its reverse
    neutral("plain", g)
    orders = set()
    for name, edges in edge_layouts(src, dst):
        print(name, flush=True)
        neutral("src", g, edges=edges, edge_weight=weight)
        save("plain/edges.npy", edges)
        orders.add((np.load("src/edges.npy", mmap_mode="r").flags.f_contiguous, edges.shape[0] == 2))
        for flags, rules in [([], {}), (["--drop-self-loops"], {"loops": False}), (["--drop-duplicates"], {"once": True})]:
            same_graph(imported("npy", "src", *flags), csc(src, dst, n, weight, **rules), True)
        got = imported("npy", "src", "--reverse")
        same_graph(got, csc(dst, src, n, weight), True)
        same_nodes(got, g, g["label"])
        save("src/edge_weight.npy", alike)
        for root in "src", "plain":
            want = csc(src, dst, n, alike, both=True, once=True)
            same_graph(imported("npy", root, "--symmetrize"), want, root == "src")
    assert len(orders) == 4
    # few edges; two of them are a row an edge, in whatever order they lie
    for e in 1, 2, 3:
        src, dst = np.arange(e) + 5, np.arange(e) * 2
        for name, edges in edge_layouts(src, dst):
            if e != 2 or name.startswith("[E"):
                save("plain/edges.npy", edges)
                same_graph(imported("npy", "plain"), csc(src, dst, n))
    save("plain/edges.npy", np.array([[1, 2], [3, 4]]))
    same_graph(imported("npy", "plain"), csc([1, 3], [2, 4], n))
    for edges, *words in [(np.zeros((2, 0), int), "no edges"), (np.zeros((3, 4), int), "[3, 4]", "[2, E]"),
                          (np.zeros((3, 4), int).T, "[4, 3]", "[2, E]"), (np.zeros(2, int), "[2, 1]"),
                          (np.zeros((2, 5)), "float64"), (np.array([[0, 1, n], [0, 0, 0]]), "row 2", f"node {n}"),
                          (np.array([[0, 1, 2], [0, -7, 0]]), "row 1", "node -7"),
                          (np.zeros((2, 2, 2), int), "3 dimensions")]:
        save("plain/edges.npy", edges)
        refused("npy", "plain", *words)
    save("src/edges.npy", np.zeros((2, 149999), int))
    refused("npy", "src", "150000 weights for 149999 edges")
    save("plain/edges.npy", np.zeros((2, 5000), int))
    os.truncate("plain/edges.npy", 79000)
    refused("npy", "plain", "promises")
    one_node()


def one_node():
    """The smallest graph there is goes all the way: trained on, sampled, and its samples verified."""
    one = np.zeros(1, np.int64)
    neutral("one", {"src": one, "dst": one, "feat": np.ones((1, 3), np.float32), "label": one, "train": one,
                    "valid": one, "test": one})
    run("import", "npy", "one", "d", "--quiet", "--memory", "64M")
    run("train", "d", "--run", "r", "--epochs", "1", "--fanout", "2", "--memory", "100M")
    run("sample", "d", "--out", "s", "--epochs", "1", "--fanout", "2", "--memory", "100M")
    run("verify", "s", "--dataset", "d")
    for folder in "d", "r", "s":
        shutil.rmtree(folder)


def test_export():
    g = graph(3000, 150000)
    weight = rng.random(150000).astype(np.float32)
    neutral("src", g, edge_weight=weight)
    want = csc(g["src"], g["dst"], g["n"], weight)
    for flags, feat in ([], g["feat"]), (["--feature-dtype", "bf16"], None), (["--link"], g["feat"]):
        run("import", "npy", "src", "d", "--quiet", "--memory", "64M", *flags)
        for fmt in "npy", "graphbolt":
            run("export", fmt, "d", "exported", "--quiet")
            if fmt == "npy":
                pairs, feat_file = np.load("exported/edges.npy"), "exported/feat.npy"
                np.testing.assert_array_equal(pairs[:, 0], want[1])
                np.testing.assert_array_equal(pairs[:, 1], np.repeat(np.arange(g["n"]), np.diff(want[0])))
                np.testing.assert_array_equal(np.load("exported/edge_weight.npy"), want[2])
                np.testing.assert_array_equal(np.load("exported/label.npy"), g["label"])
            else:
                two, feat_file = np.load("exported/edges/edges.npy"), "exported/data/feat.npy"
                np.testing.assert_array_equal(two, pairs.T)
                for split in "train", "valid", "test":
                    np.testing.assert_array_equal(np.load(f"exported/set/{split}_seeds.npy"), g[split])
                    np.testing.assert_array_equal(np.load(f"exported/set/{split}_labels.npy"), g["label"][g[split]])
            kept = np.load(feat_file)
            assert kept.dtype == np.float32
            if feat is not None:
                np.testing.assert_array_equal(kept, feat)
            else:
                np.testing.assert_allclose(kept, g["feat"], rtol=2**-8)
            if feat is not None:
                got = imported(fmt, "exported")
                same_graph(got, want, weighted=fmt == "npy")
                for split in "train", "valid", "test":
                    np.testing.assert_array_equal(got[split], g[split])
                    np.testing.assert_array_equal(got["labels"][g[split]], g["label"][g[split]])
            shutil.rmtree("exported")
        shutil.rmtree("d")
    # several labels a node
    g["label"] = rng.integers(0, 2, (g["n"], 5)).astype(np.float32)
    neutral("src", g)
    run("import", "npy", "src", "d", "--quiet", "--memory", "64M")
    run("export", "graphbolt", "d", "exported", "--quiet")
    got = imported("graphbolt", "exported")
    np.testing.assert_array_equal(got["labels"][g["test"]], g["label"][g["test"]])
    assert "hint: npy or graphbolt" in run("export", "parquet", "d", "e", status=1).stderr
    assert not [f for f in os.listdir(".") if f.startswith("e.")]


def test_real():
    """Graphs of OUTGROW_DATA."""
    root = os.environ.get("OUTGROW_DATA", "")
    for name in "cora", "amazon-computers", "tolokers", "debian-packages":
        src = f"{root}/{name}"
        if not os.path.isdir(src):
            continue
        a = {f[:-4]: np.load(f"{src}/{f}") for f in os.listdir(src) if f.endswith(".npy")}
        n = len(a["label"])
        if "feat" not in a:
            a["feat"] = np.zeros((n, a["feat_indices"].max() + 1), np.float32)
            a["feat"][np.repeat(np.arange(n), np.diff(a["feat_indptr"])), a["feat_indices"]] = a["feat_data"]
        edges, weight = a["edges"], a.get("edge_weight")
        got = imported("npy", src)
        same_graph(got, csc(edges[:, 0], edges[:, 1], n, weight), weight is not None)
        np.testing.assert_array_equal(got["features"], a["feat"])
        np.testing.assert_array_equal(got["labels"], np.where(a["label"] < 0, -1, a["label"]))
        for split in "train", "valid", "test":
            np.testing.assert_array_equal(got[split], a[split])
        run("import", "npy", src, "d", "--quiet", "--memory", "64M")
        run("export", "npy", "d", "back", "--quiet")
        shutil.rmtree("d")
        back = imported("npy", "back")
        for key in got:
            if key != "meta":
                np.testing.assert_array_equal(back[key], got[key])
        shutil.rmtree("back")
        # the same graph as an edge list
        np.savetxt("edges.txt", edges, "%d")
        known, renamed = np.unique(edges, return_inverse=True)
        renamed = renamed.reshape(-1, 2)
        same_graph(imported("edgelist", "edges.txt"), csc(renamed[:, 0], renamed[:, 1], len(known)))

# ---- DGL and PyTorch Geometric, by stand-ins: the scripts use nothing but what these have ----

class Tensor:
    def __init__(self, array):
        self.array = np.asarray(array)

    def numpy(self):
        return self.array


class Bag:
    def __init__(self, **things):
        self.__dict__.update(things)


def test_export_of_values_and_edges():
    """Values stay values, and lists of edges and `symmetric` come back."""
    g = graph()
    for columns in 1, 2:
        values = rng.normal(size=(g["n"], columns)).astype(np.float32)
        values[g["train"][0]] = np.nan
        lists = {s: rng.integers(0, g["n"], (7, 2)) for s in ("train", "valid", "test")}
        neutral("src", {**g, "label": values}, **{s + "_edges": a for s, a in lists.items()})
        with open("src/meta.json", "w") as f:
            json.dump({"task": "node regression", "symmetric": True}, f)
        run("import", "npy", "src", "d", "--quiet")
        for fmt in "npy", "graphbolt":
            run("export", fmt, "d", "exported", "--quiet")
            want = values.copy()
            if fmt == "graphbolt":
                for split in lists:
                    np.testing.assert_array_equal(np.load(f"exported/set/{split}_labels.npy"), values[g[split]])
                want[~np.isin(np.arange(g["n"]), np.concatenate([g[s] for s in lists]))] = np.nan
            got = imported(fmt, "exported")
            assert got["meta"]["task"] == "node regression" and not got["meta"]["multi_label"]
            np.testing.assert_array_equal(got["labels"], want)
            if fmt == "npy":
                assert got["meta"]["symmetric"]
                for split in lists:
                    np.testing.assert_array_equal(got[split + "_edges"], lists[split])
            shutil.rmtree("exported")
        shutil.rmtree("d")
        shutil.rmtree("src")


def test_exporters():
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
    import export_dgl
    import export_pyg
    import mag240m_splits
    g = graph()
    weight = rng.random(4000).astype(np.float32)
    masks = {f"{split}_mask": Tensor(np.isin(np.arange(g["n"]), g[ours]))
             for split, ours in (("train", "train"), ("val", "valid"), ("test", "test"))}
    for split in "train", "valid", "test":
        g[split] = np.sort(g[split])
    export_dgl.export(Bag(edges=lambda order: (Tensor(g["src"]), Tensor(g["dst"])),
                          ndata={"feat": Tensor(g["feat"]), "label": Tensor(g["label"]), **masks},
                          edata={"weight": Tensor(weight)}), "dgl")
    export_pyg.export(Bag(edge_index=Tensor(np.stack([g["src"], g["dst"]])), x=Tensor(g["feat"]),
                          y=Tensor(g["label"]), edge_weight=Tensor(weight), **masks), "pyg")
    for name in "dgl", "pyg":
        got = imported("npy", name)
        same_graph(got, csc(g["src"], g["dst"], g["n"], weight), True)
        same_nodes(got, g, g["label"])
    mag240m_splits.save({"train": [1, 2], "valid": [3], "test-dev": [4], "test-challenge": [5]}, ".")
    assert [np.load(f"{s}.npy").tolist() for s in ("train", "valid", "test")] == [[1, 2], [3], [4]]


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
