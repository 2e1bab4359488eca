#!/usr/bin/env python3
"""Ids and labels that are words, in CSV: against NumPy's sorted words, for any memory and threads. Doubts are said, errors refused.

    import_names.py OUTGROW      exits 77 where there is no NumPy
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = os.path.abspath(sys.argv[1])
rng = np.random.default_rng(44)
LETTERS = ["a", "b", "zz", "é", "日本", "\U0001f600", "x,y", 'q"q', " ", "0", "-", "A", "~"]


def run(*words):
    return subprocess.run([OUTGROW, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def cell(word):
    return '"' + word.replace('"', '""') + '"' if any(c in word for c in ',"; ') else word


def text(name, *rows, opener=open):
    os.makedirs("src", exist_ok=True)
    with opener(f"src/{name}", "wt", encoding="utf-8") as f:
        f.write("".join(",".join(map(str, row)) + "\n" for row in rows))


def names_of(folder, prefix="node_names"):
    if os.path.exists(f"{folder}/{prefix}.npy"):
        return [w.decode() for w in np.load(f"{folder}/{prefix}.npy")]
    offsets, data = np.load(f"{folder}/{prefix}_offsets.npy"), np.load(f"{folder}/{prefix}_bytes.npy").tobytes()
    return [data[a:b].decode() for a, b in zip(offsets, offsets[1:])]


def taken(*words, src="src", verify=True):
    shutil.rmtree("out", ignore_errors=True)
    done = run("import", *words, src, "out")
    assert done.returncode == 0, done.stderr
    if verify:
        checked = run("verify", "out")
        assert checked.returncode == 0, checked
    return done.stderr


def refused(*rows, name="edges.csv", also=(), words=()):
    shutil.rmtree("src", ignore_errors=True)
    for other in also:
        text(*other)
    text(name, *rows)
    done = run("import", *words, "src", "never")
    assert done.returncode == 1 and not os.path.exists("never"), done
    return done.stderr


def graph_of(folder):
    indptr, indices = np.load(f"{folder}/indptr.npy"), np.load(f"{folder}/indices.npy")
    return sorted(zip(indices.tolist(), np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)).tolist()))


def made(n, longest):
    """n different words, of all kinds of bytes, many with equal beginnings."""
    words = set()
    while len(words) < n:
        words.add("".join(rng.choice(LETTERS, rng.integers(1, longest))).strip() or "w")
    return sorted(words, key=str.encode)


def test_against_numpy(longest):
    """Every array, with words of at most 32 bytes and longer ones."""
    words = made(3000, longest)
    order = rng.permutation(len(words))
    ends = rng.integers(0, len(words) - 50, (20000, 2))
    x, y = rng.integers(-99, 99, (len(words), 3)), rng.integers(-1, 4, len(words))
    classes = ["b", "Ba", "ä", "c d"]
    numbers = sorted(range(4), key=lambda c: classes[c].encode())
    shutil.rmtree("src", ignore_errors=True)
    text("edges.csv", ("time", "target", "source", "weight"), *((1, cell(words[d]), cell(words[s]), (s + d) % 7 + 1) for s, d in ends))
    text("feat.csv", ("f0", "f1", "f2", "id"), *((*x[v], cell(words[v])) for v in order))
    text("label.csv", ("id", "label"), *((cell(words[v]), cell(classes[y[v]]) if y[v] >= 0 else "") for v in order[::-1]))
    text("train.csv", *((cell(words[v]),) for v in order[:1000]))
    text("test.csv", ("node",), *((cell(words[v]),) for v in order[2000:]))
    said = taken()
    assert "columns that are not read: time" in said
    assert names_of("out") == words and os.path.exists("out/node_names.npy") == (max(len(w.encode()) for w in words) <= 32)
    assert graph_of("out") == sorted(map(tuple, ends.tolist()))
    src, dst = np.array(graph_of("out")).T
    by = np.lexsort((src, dst))
    assert np.array_equal(np.load("out/weights.npy"), ((src + dst) % 7 + 1)[by])
    assert np.array_equal(np.load("out/features.npy"), x)
    assert np.array_equal(np.load("out/labels.npy"), [numbers.index(c) if c >= 0 else -1 for c in y])
    with open("out/meta.json") as f:
        meta = json.load(f)
    assert meta["class_names"] == [classes[c] for c in numbers] and meta["num_classes"] == 4
    assert np.array_equal(np.load("out/train.npy"), order[:1000]) and np.array_equal(np.load("out/test.npy"), order[2000:])
    info = json.loads(run("info", "out", "--json").stdout)
    assert info["node_names"] == [{"type": "", "first": words[0], "last": words[-1]}] and info["class_names"] == meta["class_names"]


def test_any_memory():
    """Equal files from many sorted parts, one thread, and gzip."""
    text("edges.csv", ("src", "dst"), *((f"user-{a * 7919 % 1000003:08}-{'long' * 8}", f"user-{b:08}") for a, b in rng.integers(0, 90000, (150000, 2))))
    for name in os.listdir("src"):
        if name != "edges.csv":
            os.remove(f"src/{name}")
    taken(verify=False)
    shutil.move("out", "roomy")
    for words in ("--memory", "20M"), ("--memory", "24M", "--threads", 1):
        taken(*words, verify=False)
        same("roomy", "out")
    with open("src/edges.csv", "rb") as f, gzip.open("src/edges.csv.gz", "wb") as z:
        z.write(f.read())
    os.remove("src/edges.csv")
    taken("--memory", "20M", verify=False)
    same("roomy", "out")


def same(a, b):
    for name in os.listdir(a):
        if name.endswith(".npy"):
            with open(f"{a}/{name}", "rb") as f, open(f"{b}/{name}", "rb") as g:
                assert f.read() == g.read(), name


def test_export_and_import():
    taken(src="src")
    shutil.rmtree("exported", ignore_errors=True)
    assert run("export", "npy", "out", "exported").returncode == 0
    shutil.move("out", "first")
    taken(src="exported")
    same("first", "out")
    assert json.load(open("first/meta.json")).get("class_names") == json.load(open("out/meta.json")).get("class_names")


def test_damage():
    """verify finds names out of order."""
    with open("out/node_names.npy", "r+b") as f:
        f.seek(4096)
        f.write(b"~")
    done = run("verify", "out")
    assert done.returncode == 1 and "row 1 comes before" in done.stdout, done


def test_doubts():
    """Said, and the words are names."""
    shutil.rmtree("src", ignore_errors=True)
    text("edges.csv", ("src", "dst"), ("1", "a"), ("01", "nan"), ("1.5", "e\u0301"))
    said = taken()
    assert names_of("out") == ["01", "1", "1.5", "a", "e\u0301", "nan"]
    for part in "3 ids are numbers, 2 words", "1 ids are nan", "1 ids have combining marks":
        assert part in said, (part, said)
    text("edges.csv", ("src", "dst"), ("12345678901234567890", "3"), ("3", "98765432109876543210"))
    assert "2 words" in taken() and names_of("out") == ["12345678901234567890", "3", "98765432109876543210"]
    text("edges.csv", ("src", "dst"), ("007", "1"), ("7", "1"))
    assert "007 and 7 are one node" in taken() and not os.path.exists("out/node_names.npy")
    text("label.csv", ("id", "label"), ("7", "spam"), ("1", "3"))
    assert "1 labels are numbers, 1 words" in taken()
    text("label.csv", ("id", "label"), ("7", "spam"), ("1", "None"))
    assert "1 labels are nan" in taken() and np.load("out/labels.npy").tolist() == [-1, 0]
    text("label.csv", ("id", "label"), ("7", "9999999999"), ("1", "8888888888"))
    taken()
    assert json.load(open("out/meta.json"))["class_names"] == ["8888888888", "9999999999"]


def test_first_lines():
    """Lines of names, and lines that are edges already."""
    shutil.rmtree("src", ignore_errors=True)
    os.makedirs("src")
    with open("src/edges.txt", "w") as f:
        f.write("# people\nann bob\nbob cy\n")
    taken()
    assert names_of("out") == ["ann", "bob", "cy"] and graph_of("out") == [(0, 1), (1, 2)]
    os.remove("src/edges.txt")
    text("edges.csv", ("user", "item"), ("ann", "x1"), ("bob", "x2"))
    taken("--id-columns", "user,item")
    assert names_of("out") == ["ann", "bob", "x1", "x2"]
    taken("--columns", "src,dst")
    assert "user" in names_of("out")
    said = run("import", "src", "never").stderr
    assert "--columns src,dst" in said and "--id-columns" in said, said
    text("feat.csv", ("ann", 1, 2), ("bob", 3, 4), ("x2", 7, 8), ("x1", 5, 6))
    taken("--id-columns", "user,item")
    assert np.load("out/features.npy").tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_refusals():
    edges = ("edges.csv", ("src", "dst"), ("a", "b"))
    assert "line 3: an empty name" in refused(("src", "dst"), ("a", "b"), ("c", ""))
    assert "line 2: a quote that nothing closes" in refused(("src", "dst"), ("a", '"b'))
    assert "control character" in refused(("src", "dst"), ("a", "b\x01"))
    assert "more than 4096 bytes" in refused(("src", "dst"), ("a", "b" * 4097))
    assert "line 3: a remark after the first edge" in refused(("src", "dst"), ("a", "b"), ("#c", "d"))
    assert "a node id with a sign" in refused(("src", "dst"), ("1", "2"), ("-1", "3"))
    assert "no node id" in refused(("src", "dst"), ("a", "b"), words=("--keep-ids",))
    assert "train.csv: line 2: no such node, of 2, here: 'zoe'" in refused(("a",), ("zoe",), name="train.csv", also=[edges])
    assert "id b is there twice" in refused(("id", "f"), ("a", 1), ("b", 2), ("b", 3), name="feat.csv", also=[edges])
    assert "no row for id b" in refused(("id", "f"), ("a", 1), name="feat.csv", also=[edges])
    assert "id a is listed twice" in refused(("a",), ("a",), name="train.csv", also=[edges])
    assert "too many different labels" in refused(("id", "label"), *((i, f"class-{i:060}") for i in range(9000)), name="label.csv",
                                                  also=[("edges.csv", *((i, i + 1) for i in range(9000)))])
    shutil.rmtree("src")
    os.makedirs("src")
    with open("src/edges.csv", "wb") as f:
        f.write(b"src,dst\na,\xe9t\xe9\n")
    assert "not UTF-8" in run("import", "src", "never").stderr


def test_without_features():
    """With --drop-features names are found again, and files of edges are read."""
    text("edges.csv", ("src", "dst"), ("n10", "n9"), ("n9", "n1"), ("n1", "n10"))
    text("nodes.csv", ("id", "f", "label"), ("n10", 1, "a"), ("n9", 2, "b"), ("n1", 3, "a"))
    taken("--drop-features")
    assert names_of("out", "node_names_0") == ["n1", "n10", "n9"] and not os.path.exists("out/node_names.npy")
    os.makedirs("plain")
    for name, array in {"edges": [[0, 1], [1, 2], [2, 0]], "edge_attr": np.ones((3, 2), np.float32), "edge_time": [1, 2, 3], "label": [0, 1, 0], "feat": np.ones((3, 1))}.items():
        np.save(f"plain/{name}.npy", np.array(array))
    np.save("plain/node_names.npy", np.array([b"n1", b"n10", b"n9"]))
    taken("--drop-features", src="plain")
    assert names_of("out", "node_names_0") == ["n1", "n10", "n9"] and os.path.exists("out/rel0_edge_times.npy"), os.listdir("out")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        test_against_numpy(60)
        test_against_numpy(7)
        test_export_and_import()
        test_damage()
        test_any_memory()
        test_doubts()
        test_first_lines()
        test_refusals()
        test_without_features()
        os.chdir("/")


main()
