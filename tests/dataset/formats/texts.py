"""Edge lists, and an import that is killed."""
import glob
import gzip
import json
import os
import shutil
import signal
import subprocess
import time

import numpy as np

from formats.support import OUTGROW, csc, imported, refused, rng, run, same_graph, save, write


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
    # more of them than memory holds: sorted on disk, and the same edges in the same order. Weights show whether of equal edges the first is kept
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
    weight = rng.exponential(size=5000).astype(np.float32)
    want = csc(renamed[:, 0], renamed[:, 1], n, weight)
    for name, mark in [("w.csv", ","), ("w.tsv", "\t"), ("w.ssv", " ; "), ("w.txt", "  ")]:
        write(name, "Source,Target,Weight\n" + "".join(
            f"{u}{mark}{v}{mark}{w!r}\n" for (u, v), w in zip(pairs, weight.tolist())))
        for flags in [], ["--weight-column", "3"], ["--columns", "src,dst,weight"]:
            same_graph(imported("edgelist", name, *flags), want, True)
        for flags in ["--weight-column", "0"], ["--columns", "src,dst,-"]:
            same_graph(imported("edgelist", name, *flags), want)
    write("w4.csv", "".join(f"{u},{v},xy,{w:.9e}\n" for (u, v), w in zip(pairs, weight.tolist())))
    same_graph(imported("edgelist", "w4.csv", "--weight-column", "4"), want, True)
    refused("edgelist", "w4.csv", "w4.csv: line 1: more than two columns")
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
    # errors name the line
    write("bad.txt", "# a\n0 1\n1 2.5\n")
    refused("edgelist", "bad.txt", "bad.txt: line 3: a node id with a fraction", "'2.5'")
    write("bad.txt", "0 1\n1 -2\n")
    refused("edgelist", "bad.txt", "bad.txt: line 2", "'-2'")
    write("bad.txt", "0 1\n5\n")
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
    # what would be skipped in silence, or read as another number
    for text, flags, words in [
            (b"0 1 1,5\n", ["--weight-column", "3"], ["line 1: no finite weight", "'1,5'"]),
            (b"0;1;1,5\n", ["--weight-column", "3"], ["line 1: no finite weight", "'1,5'"]),
            (b"0 1 2x\n", ["--weight-column", "3"], ["line 1: no finite weight", "'2x'"]),
            (b"0 1 naninity\n", ["--weight-column", "3"], ["line 1: no finite weight"]),
            (b"0 1\r1 2\r", [], ["carriage returns", "tr "]),
            (b"0 1\r1 2\n", ["--weight-column", "0"], ["line 1: a name with a control character"]),
            (b"\x005 6\n0 1\n", [], ["line 1: a name with a control character"])]:
        open("bad.txt", "wb").write(text)
        refused("edgelist", "bad.txt", *words, flags=flags)
    # one gzip member after another, as cat makes them, then zeros; but nothing else
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
    refused("edgelist", "snap.txt", "too little to sort edges", flags=["--memory", "1M"])


def by_id(folder, pairs, feat=None, label=None, head="", **lists):
    """An edge list and what nodes have, in lines of any order, each beginning with its id."""
    shutil.rmtree(folder, ignore_errors=True)
    write(f"{folder}/edges.csv", "".join(f"{u},{v}\n" for u, v in pairs))
    for name, rows in ("feat", feat), ("label", label):
        if rows is not None:
            names = head and head + "".join(f",some name {i}" for i in range(np.size(rows[0][1]))) + "\n"
            write(f"{folder}/{name}.csv", names + "".join(
                f"{v},{','.join(repr(x) for x in np.atleast_1d(row).tolist())}\n" for v, row in rows))
    for name, nodes in lists.items():
        write(f"{folder}/{name}.csv", (head and "id\n") + "".join(f"{v}\n" for v in nodes))


def test_by_id():
    for most in 400, 10**6, 2**62:  # dense; sparse, in a bitmap; in a list
        n = 400
        known = np.arange(n) if most == n else np.sort(rng.permutation(np.unique(rng.integers(0, most, 2 * n)))[:n])
        with_edges = np.sort(rng.choice(n, 350, replace=False))
        edges = with_edges[rng.integers(0, 350, (3000, 2))]
        pairs = known[edges]
        feat = rng.normal(size=(n, 3)).astype(np.float32)
        label = rng.integers(0, 5, n)
        labelled = rng.permutation(n)[:300]
        split = rng.permutation(n)[:90].reshape(3, 30)
        for head in "", "id":
            order = rng.permutation(n) if head else np.arange(n)
            by_id("ids", pairs, [(known[v], feat[v]) for v in order], [(known[v], label[v]) for v in labelled], head,
                  train=known[split[0]], valid=known[split[1]], test=known[split[2]])
            got = imported("edgelist", "ids", "--symmetrize")
            same_graph(got, csc(edges[:, 0], edges[:, 1], n, both=True, once=True))
            np.testing.assert_array_equal(got["features"], feat)
            np.testing.assert_array_equal(got["labels"], np.where(np.isin(np.arange(n), labelled), label, -1))
            for name, nodes in zip(["train", "valid", "test"], split):
                np.testing.assert_array_equal(got[name], nodes)
            if most == n:
                assert "node_ids" not in got
            else:
                np.testing.assert_array_equal(got["node_ids"], known)
    # its messages
    done = run("import", "ids", "out", "--symmetrize", "--memory", "64M")
    one = f"label.csv: no row for id {known[np.setdiff1d(np.arange(n), labelled)[0]]}, nor for 99 others: they have no label"
    alone = n - len(np.unique(edges))
    kept = len(csc(edges[:, 0], edges[:, 1], n, both=True, once=True)[1])
    for words in "taken as edgelist", one, f"{alone} of 400 nodes have no edge that leads to them", "renumbered, 400 of ids", \
            f"6000 edges, the reverse of each among them; dropped: 0 self loops, {6000 - kept} duplicates; kept: {kept}", \
            f"{kept} edges and all node data in ":
        assert words in done.stderr, (words, done.stderr)
    shutil.rmtree("out")
    done = run("import", "ids", "out", "--drop-self-loops", "--memory", "64M")
    loops = int((edges[:, 0] == edges[:, 1]).sum())
    assert f"3000 edges; dropped: {loops} self loop" in done.stderr, done.stderr
    shutil.rmtree("out")
    # only labels; gzipped; several a node; values, of which some are missing
    by_id("some", pairs, label=[(known[v], label[v]) for v in labelled])
    union = np.unique(np.r_[edges.ravel(), labelled])
    got = imported("edgelist", "some")
    place = {v: i for i, v in enumerate(union)}
    same_graph(got, csc([place[v] for v in edges[:, 0]], [place[v] for v in edges[:, 1]], len(union)))
    np.testing.assert_array_equal(got["labels"], [label[v] if v in set(labelled) else -1 for v in union])
    write("some/feat.csv.gz", "".join(f"{v},1.5,\t-2e3\n" for v in known).replace("\t", " "))
    got = imported("edgelist", "some")
    assert got["features"].shape == (n, 2) and (got["features"] == [1.5, -2000]).all()
    write("some/meta.json", json.dumps({"task": "node regression"}))
    got = imported("edgelist", "some")
    np.testing.assert_array_equal(got["labels"][:, 0], np.where(np.isin(np.arange(n), labelled), label, np.nan).astype(np.float32))
    # only splits: they are ids, too
    by_id("split", [(10, 20), (20, 30), (30, 10)], train=[20, 30])
    np.testing.assert_array_equal(imported("edgelist", "split")["train"], [1, 2])
    by_id("split", [(1, 2), (2, 3), (3, 1)], train=[1, 2])
    np.testing.assert_array_equal(imported("edgelist", "split")["train"], [0, 1])
    # names and empty lines are skipped, numbers may be in quotes
    write("split/train.csv", '\n"node"\n\n2\n')
    np.testing.assert_array_equal(imported("edgelist", "split")["train"], [1])
    write("split/train.csv", '"1"\n2\n3\n')
    np.testing.assert_array_equal(imported("edgelist", "split")["train"], [0, 1, 2])
    write("split/feat.csv", "id,x\n1,0.5,3\n2,1,4\n")
    refused("edgelist", "split", "feat.csv", "line 2: more columns than the first line names")
    write("split/train.csv", "2\n")
    write("split/feat.csv", "id,x\n\n1,0.5\n2,1\n3,2\n")
    assert imported("edgelist", "split")["features"].shape == (3, 1)
    # ids are rows where an array says so
    known = np.arange(n)
    by_id("rows", edges, label=[(v, label[v]) for v in labelled], train=split[0])
    save("rows/feat.npy", feat)
    got = imported("edgelist", "rows")
    np.testing.assert_array_equal(got["labels"], np.where(np.isin(np.arange(n), labelled), label, -1))
    np.testing.assert_array_equal(got["train"], split[0])
    os.remove("rows/edges.csv")
    save("rows/edges.npy", edges)
    np.testing.assert_array_equal(imported("npy", "rows")["train"], split[0])
    # there, too, they need nothing that says how many nodes there are
    os.remove("rows/feat.npy")
    write("rows/feat.csv", "id,a,b,c\n" + "".join(f"{v},{','.join(map(repr, feat[v].tolist()))}\n" for v in rng.permutation(n)))
    for said in {}, {"num_nodes": n}:
        write("rows/meta.json", json.dumps(said))
        got = imported("npy", "rows")
        np.testing.assert_array_equal(got["features"], feat)
        np.testing.assert_array_equal(got["labels"], np.where(np.isin(np.arange(n), labelled), label, -1))
    os.remove("rows/meta.json")
    save("rows/edges.npy", np.r_[edges, [(n, 0)]])
    refused("npy", "rows", f"node {n}")
    save("rows/edges.npy", edges)
    write("rows/feat.csv", "".join(f"{v},1\n" for v in known * 3))
    refused("npy", "rows", f"feat.csv: id {3 * 134}: no such node, of {n}", "count from 0")
    os.remove("rows/feat.csv")
    save("rows/feat.npy", feat)
    # what is wrong
    pairs, rows = [(10, 20), (20, 30), (30, 10)], [(10, 1.5), (20, 2.5), (30, 3.5)]
    by_id("bad", pairs, rows[:1])
    refused("edgelist", "bad", "feat.csv: no row for id 20, nor for 1 others")
    by_id("bad", pairs, rows + [(20, 1.0)])
    refused("edgelist", "bad", "feat.csv: id 20 is there twice")
    by_id("bad", pairs, rows, train=[10, 40])
    refused("edgelist", "bad", "train.csv: id 40: no such node, of 3")
    by_id("bad", pairs, rows, train=[30, 20, 30])
    refused("edgelist", "bad", "train.csv: id 30 is listed twice")
    by_id("bad", pairs, rows, train=[])
    refused("edgelist", "bad", "train.csv: no ids", "remove it")
    write("bad/train.csv", "id\n\n")
    refused("edgelist", "bad", "train.csv: no ids")
    write("bad/train.csv", "id,x\n10,1\n")
    refused("edgelist", "bad", "train.csv: 2 columns", "one a line")
    by_id("bad", pairs, rows[:2] + [(30, float("nan"))])
    refused("edgelist", "bad", "feat.csv: id 30, column 2: not a finite number")
    by_id("bad", pairs, rows, [(10, [0, 1]), (20, [1, 1])])
    refused("edgelist", "bad", "label.csv: no row for id 30")
    by_id("bad", pairs, rows, [(10, 0.5)])
    refused("edgelist", "bad", "label.csv: id 10: 0.5 is no class")
    by_id("bad", pairs, rows, [(30, -7), (10, 1)])
    refused("edgelist", "bad", "label.csv: id 30: -7 is no class")
    by_id("bad", pairs, rows, [(30, [0, 1]), (20, [1, 3]), (10, [1, 1])])
    refused("edgelist", "bad", "label.csv: id 20, column 3: 3 is no label")
    by_id("bad", pairs, [(30, [0, 1]), (20, [1, 1e6]), (10, [1, 1])])
    refused("edgelist", "bad", "feat.csv: id 20, column 3: 1e+06 does not fit", flags=["--feature-dtype", "f16"])
    by_id("bad", pairs, rows)
    save("bad/train.npy", np.arange(2))
    refused("edgelist", "bad", "train.npy: rows or ids?", "train.csv")
    for text, words in [("id,x\n10,1\n20\n", "line 3: fewer columns"), ("10,1\nx,1\n", "no row for id 20"), ("-1,5\n", "line 1: no node id"),
                        ("10,1\n20,1,2\n", "line 2: more columns"), ("10\n20\n30\n", "ids without rows")]:
        write("bad/feat.csv", text)
        refused("edgelist", "bad", "feat.csv", words)
    save("rows/label.npy", label)
    write("rows/train.csv", "5\n400\n")
    refused("npy", "rows", "train.csv: id 400: no such node, of 400", "ids count from 0")


def test_memory_by_id():
    """Import by ids takes 12 bytes a node, and what does not grow with them. With 16 this would be refused."""
    n = 500000
    by_id("wide", [(0, 7 * n - 7)])
    for name in "feat", "label":
        write(f"wide/{name}.csv", "".join(f"{7 * v},{v % 4}\n" for v in range(n)))
    run("import", "wide", "out", "--quiet", "--memory", "12M")
    np.testing.assert_array_equal(np.load("out/labels.npy"), np.arange(n) % 4)
    shutil.rmtree("out")


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
    # the folder of a living process stays
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
