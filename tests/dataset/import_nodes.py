#!/usr/bin/env python3
"""nodes.csv gives the dataset of a file for each kind, byte for byte, and NumPy's arrays. Columns that do not fit are refused by name.

    import_nodes.py OUTGROW      exits 77 where there is no NumPy
"""
import csv
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
rng = np.random.default_rng(7)
N, E, F = 900, 4000, 5
WORDS = np.array([f"p{i:04}" for i in rng.permutation(5000)[:N]])
NUMBERS = rng.permutation(10**6)[:N]
FEAT = rng.standard_normal((N, F)).astype(np.float32)
TOPIC = rng.choice(["ml", "db", "os", ""], N)
SPLIT = rng.choice(["train", "val", "valid", "test", ""], N)
TIME = rng.integers(-50, 50, N)
MASKS = {"train": SPLIT == "train", "valid": np.isin(SPLIT, ["val", "valid"]), "test": SPLIT == "test"}
ENDS = rng.integers(0, N, (E, 2))


def run(*words):
    return subprocess.run([OUTGROW, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def text(folder, name, *rows, mark=","):
    os.makedirs(folder, exist_ok=True)
    with (gzip.open if name.endswith(".gz") else open)(f"{folder}/{name}", "wt", newline="") as f:
        csv.writer(f, delimiter=mark).writerows(rows)


def taken(folder, *words):
    shutil.rmtree(f"{folder}-out", ignore_errors=True)
    done = run("import", folder, f"{folder}-out", *words)
    assert done.returncode == 0, done.stderr
    checked = run("verify", f"{folder}-out")
    assert checked.returncode == 0, checked
    return {f: open(f"{folder}-out/{f}", "rb").read() for f in os.listdir(f"{folder}-out") if f != "meta.json"}, done.stderr


def refused(*rows, words=(), edges=(("src", "dst"), ("a", "b")), name="nodes.csv", also=()):
    shutil.rmtree("src", ignore_errors=True)
    text("src", "edges.csv", *edges)
    text("src", name, *rows)
    for other in also:
        text("src", *other)
    done = run("import", "src", "never", *words)
    assert done.returncode == 1 and not os.path.exists("never") and "hint: " in done.stderr, done
    return done.stderr


def table(ids, form):
    """The columns of nodes.csv in another order: by name, by masks, or with names that options give."""
    columns = {f"f{j}": [repr(float(x)) for x in FEAT[:, j]] for j in range(F)}
    if form == "masks":
        said = {"val_mask": np.where(MASKS["valid"], "True", "False"), "test_mask": MASKS["test"].astype(int), "train_mask": MASKS["train"].astype(int)}
    else:
        said = {"split": SPLIT}
    names = ("paper", "topic") if form == "named" else ("node_id", "y")
    out = {"f0": columns.pop("f0"), names[1]: TOPIC, names[0]: ids, **said, "node_time": TIME, **columns}
    return [list(out)] + list(zip(*out.values()))


def six(ids):
    """The same in a file for each kind, with the columns in the same order."""
    shutil.rmtree("six", ignore_errors=True)
    text("six", "feat.csv", *((i, *map(repr, map(float, x))) for i, x in zip(ids, FEAT)))
    text("six", "label.csv", ("id", "label"), *zip(ids, TOPIC))
    text("six", "node_times.csv", *(zip(ids, TIME)))
    for split, mask in MASKS.items():
        text("six", f"{split}.csv", *((i,) for i in ids[mask]))


def against_numpy(ids):
    order = np.argsort(ids)
    rank = np.empty(N, int)
    rank[order] = np.arange(N)
    load = lambda name: np.load(f"src-out/{name}.npy")
    names = json.load(open("src-out/meta.json"))["class_names"]
    assert np.array_equal(load("features"), FEAT[order]) and np.array_equal(load("node_times"), TIME[order])
    assert [names[y] if y >= 0 else "" for y in load("labels")] == list(TOPIC[order])
    for split, mask in MASKS.items():
        assert np.array_equal(load(split), rank[np.flatnonzero(mask)]), split  # in the file's order


def test_equal_to_a_file_each():
    for ids in WORDS, NUMBERS:
        edges = [("src", "dst"), *ids[ENDS]]
        six(ids)
        text("six", "edges.csv", *edges)
        expected = taken("six")[0]
        for form in "split", "masks", "named":
            for name, mark, words in ("nodes.csv", ",", ()), ("nodes.csv", ";", ("--memory", "8M", "--threads", 1)), ("nodes.csv.gz", "\t", ()):
                shutil.rmtree("src", ignore_errors=True)
                text("src", "edges.csv", *edges)
                text("src", name, *table(ids, form), mark=mark)
                got, said = taken("src", *words, *(("--node-id", "Paper", "--node-label", "topic") if form == "named" else ()))
                assert got == expected, (form, name, [f for f in expected if got.get(f) != expected[f]], set(got) ^ set(expected))
                assert "not read" not in said, said
        against_numpy(ids)


def test_some_columns():
    """What nodes.csv does not have may be in a file of its own, and nodes without edges count."""
    edges = ("edges.csv", ("src", "dst"), ("a", "b"))
    for rows, also, arrays in (([("id", "f"), ("c", 1), ("b", 2), ("a", 3)], [("train.csv", ("c",))], {"features": [[3], [2], [1]], "train": [2]}),
                               ([("id", "label"), ("c", 1), ("b", ""), ("a", 0)], [("feat.csv", ("a", 5), ("b", 6), ("c", 7))], {"features": [[5], [6], [7]], "labels": [0, -1, 1]}),
                               ([("id", "split"), ("c", "test"), ("b", "train"), ("a", "NaN")], [], {"train": [1], "test": [2]}),
                               ([("id", "f", "target"), ("c", 1, 1), ("b", 2, 0), ("a", 3, 0)], [], {"features": [[3], [2], [1]], "labels": [0, 0, 1]}),
                               ([("", "id", "x", "y"), (0, "a", 1, 0), (1, "b", 2, 0), (2, "c", 3, 1)], [], {"features": [[1], [2], [3]], "labels": [0, 0, 1]})):
        shutil.rmtree("src", ignore_errors=True)
        for one in (edges, ("nodes.csv", *rows), *also):
            text("src", *one)
        files = taken("src")[0]
        for name, array in arrays.items():
            assert np.array_equal(np.load(f"src-out/{name}.npy"), array), name
        assert ("valid.npy" in files) == ("valid" in arrays) and ("test.npy" in files) == ("test" in arrays)
    shutil.rmtree("src", ignore_errors=True)  # next to edges.npy ids are rows
    text("src", "nodes.csv", ("id", "f", "train_mask"), (1, 4, 0), (2, 5, 1), (0, 3, 1))
    np.save("src/edges.npy", np.array([[0, 1], [1, 2]]))
    taken("src")
    assert np.array_equal(np.load("src-out/features.npy"), [[3], [4], [5]]) and np.array_equal(np.load("src-out/train.npy"), [2, 0])


def test_beside_others():
    """--node-id names a column of nodes.csv alone. Tables that are no part of a dataset are named."""
    shutil.rmtree("src", ignore_errors=True)
    text("src", "edges.csv", ("src", "dst"), ("a", "b"))
    text("src", "nodes.csv", ("paper", "f"), ("a", 1), ("b", 2))
    text("src", "label.csv", ("id", "label"), ("b", 1), ("a", 0))
    taken("src", "--node-id", "paper")
    assert np.array_equal(np.load("src-out/labels.npy"), [0, 1]) and np.array_equal(np.load("src-out/features.npy"), [[1], [2]])
    shutil.rmtree("src")
    text("src", "nodes.old.csv", ("id", "f"), (0, 1))
    np.save("src/edges.npy", np.array([[0, 1], [1, 2]]))
    np.save("src/feat.npy", np.ones((3, 2), "f4"))
    assert "nodes.old.csv" in taken("src")[1]


def test_refusals():
    a, b = ("a", 1, "x"), ("b", 2, "y")
    said = refused(("id", "f", "g"), ("a", 1, 1), ("b", 2, "y"))
    assert "nodes.csv: line 3: column g: no number, here: 'y'" in said and "--node-label NAME" in said and "leave other texts out" in said, said
    assert "line 2: a list in a column, here: '\"[1, 2]\"'" in refused(("id", "f"), ("a", "[1, 2]"), ("b", "[3, 4]"))
    assert "nodes.csv: an empty file" in refused() and "line 2: more columns" in refused(("id", "f"), ("a", 1, "", ""), ("b", 2))
    assert "no column is called id" in refused(("paper", "f", "label"), a, b) and "--node-id NAME" in refused(a, b)
    assert "no column has the name of --node-id" in refused(("id", "f", "label"), a, b, words=("--node-id", "paper"))
    assert "no column has the name of --node-label" in refused(("id", "f", "topic"), a, b, words=("--node-label", "theme"))
    assert "two columns of labels" in refused(("id", "y", "label"), a, b)
    assert "a column of labels among features" in refused(("id", "label", "topic"), a, b, words=("--node-label", "topic"))
    assert "a column of labels among features" in refused(("id", "label_1", "label_2"), a, b)
    assert "two columns of labels" in refused(("id", "target", "label"), a, b)
    assert "two columns of ids" in refused(("id", "node", "label"), a, b)
    assert "two columns of times" in refused(("id", "node_time", "node_times"), a, b)
    assert "which nodes a split has" in refused(("id", "split", "train_mask"), ("a", "train", 1), ("b", "", 0))
    assert "which nodes a split has" in refused(("id", "val", "valid_mask"), ("a", 1, 1), ("b", 0, 0))
    assert "line 3: no split: train, valid, test, or empty, here: 'dev'" in refused(("id", "split"), ("a", "train"), ("b", "dev"))
    assert "line 2: no mask: true or false, 1 or 0, here: '0.5'" in refused(("id", "train"), ("a", 0.5), ("b", 1))
    assert "id b, column g: not a finite number" in refused(("label", "id", "f", "split", "g"), (0, "a", 1, "", 2), (0, "b", 1, "", ""))
    assert "no row for id b" in refused(("id", "f"), ("a", 1)) and "id a is there twice" in refused(("id", "f"), ("a", 1), ("a", 1), ("b", 1))
    assert "id a is listed twice" in refused(("id", "split"), ("a", "train"), ("a", "train"))
    for other in "feat.csv", "feat.csv.gz", "feat.npy", "x.npy":
        assert f"both nodes.csv and {other}" in refused(("id", "f"), ("a", 1), ("b", 1), also=[(other, ("a", 1))])
    assert "both nodes.csv.gz and val_mask.npy" in refused(("id", "split"), ("a", "train"), name="nodes.csv.gz", also=[("val_mask.npy", ("a",))])
    assert "both nodes.csv and y.npy" in refused(("id", "label"), ("a", 1), ("b", 0), also=[("y.npy", (1, 0))])
    assert "nodes.paper.csv: CSV has no types of nodes" in refused(("id", "f"), ("a", 1), name="nodes.paper.csv")
    assert "no nodes.csv" in refused(("id", "f"), ("a", 1), name="feat.csv", words=("--node-id", "id"))
    text("src", "edges.csv", ("src", "dst"), ("a", "b"))
    assert "no nodes.csv" in run("import", "src/edges.csv", "never", "--node-label", "topic").stderr
    assert "a column of nodes.csv" in run("import", "ogb", "src", "never", "--node-label", "topic").stderr


def test_long_names_of_columns():
    """They would make meta.json larger than what can be read."""
    text("long", "edges.csv", ("src", "dst"), (0, 1), (1, 0))
    text("long", "nodes.csv", ("id", *(f"{k:040}" for k in range(4000))), (0, *[0] * 4000), (1, *[1] * 4000))
    assert "names of 4000 columns are not stored" in taken("long")[1]


def test_standardize():
    """Columns have mean 0 and deviation 1, but for those of 0 and 1. What is missing is the mean. Another table takes the same means."""
    year, flag, gap = rng.integers(2000, 2020, N), rng.integers(0, 2, N), rng.random(N)
    there = np.arange(N) % 5 > 0
    rows = [(w, y, f, g if t else "", 7.5) for w, y, f, g, t in zip(WORDS, year, flag, gap, there)]
    shutil.rmtree("src", ignore_errors=True)
    text("src", "edges.csv", ("src", "dst"), *WORDS[ENDS])
    text("src", "nodes.csv", ("id", "Year", "flag", "gap", "same"), *((*row[:3], gap[0], 7.5) for row in rows))
    assert "nodes.csv: column year: mean 20" in (said := taken("src")[1]) and "add --standardize" in said and "large too" not in said, said
    text("src", "nodes.csv", ("id", "Year", "flag", "gap", "same"), *rows)
    assert "not a finite number" in run("import", "src", "never").stderr
    said = taken("src", "--standardize")[1]
    assert f"column gap: {(~there).sum()} of {N} numbers are missing; each counts as the mean" in said and "add --standardize" not in said, said
    order = np.argsort(WORDS)
    want = np.stack([(year - year.mean()) / year.std(), flag, np.where(there, (gap - gap[there].mean()) / gap[there].std(), 0), np.zeros(N)], 1)[order]
    got, about = np.load("src-out/features.npy"), json.load(open("src-out/meta.json"))
    assert got.dtype == np.float32 and np.allclose(got, want, atol=1e-6)
    assert about["feature_names"] == ["year", "flag", "gap", "same"] and about["feature_means"][1] == 0 and about["feature_deviations"][1::2] == [1, 0]
    os.rename("src-out", "first")
    text("src", "edges.csv", ("src", "dst"), WORDS[:2])
    text("src", "nodes.csv", ("id", "year", "flag", "gap", "same"), *rows[:2])
    taken("src", "--standardize-as", "first")
    assert np.array_equal(np.load("src-out/features.npy"), got[np.sort(np.argsort(order)[:2])])
    for words, names, why in (("--standardize-as", "first"), ("id", "year", "flag", "same", "gap"), "feature 2 is same, in first it is gap"), \
            (("--standardize-as", "first", "--in-place"), ("id", "f", "g", "h", "i"), "--standardize: not with --in-place"), \
            (("--standardize-as", "src"), ("id", "f", "g", "h", "i"), "src/meta.json"):
        text("src", "nodes.csv", names, *rows[:2])
        assert why in (said := run("import", "src", "never", *words).stderr) and not os.path.exists("never"), said
    text("src", "nodes.csv", ("id", "f", "label"), *((row[0], 1.5, 0) for row in rows[:2]))
    taken("src")
    os.rename("src-out", "plain")
    assert "plain: its features are not standardized" in run("import", "src", "never", "--standardize-as", "plain").stderr
    assert "1 columns of features; first has 4" in run("import", "src", "never", "--standardize-as", "first").stderr


def write(name, content):
    with open(f"src/{name}", "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())


def test_dialects():
    """Texts are named, true and false are numbers. Lines may end in a separator, and a table may be tab-separated."""
    rows = ("name", "id", "f", "flag", "born"), ("Ann", "a", 1, "True", "2020-01-01"), ("", "b", 2, "FALSE", "")
    for name, mark, end in ("nodes.csv", ",", ""), ("nodes.csv", ";", ";"), ("nodes.tsv", "\t", ""), ("nodes.tsv.gz", "\t", ""):
        shutil.rmtree("src", ignore_errors=True)
        text("src", "edges.csv", ("src", "dst"), ("a", "b", ""), ("b", "a"))
        text("src", name, rows[0], *((*row, "") if end else row for row in rows[1:]), mark=mark)
        said = taken("src")[1]
        assert np.array_equal(np.load("src-out/features.npy"), [[1, 1], [2, 0]]) and f"{name}: columns that are not read: name, born\n" in said and said.count("not read") == 1, said
        assert len(np.load("src-out/indices.npy")) == 2
    text("src", "label.tsv", ("id", "label"), ("a", 0), ("b", 1), mark="\t")
    taken("src")
    assert np.array_equal(np.load("src-out/labels.npy"), [0, 1])
    text("src", "feat.tsv", ("id", "f"), ("a", 0), ("b", 1), mark="\t")
    assert "both nodes.tsv.gz and feat.tsv" in run("import", "src", "never").stderr
    shutil.rmtree("src")
    text("src", "edges.csv", ("src", "dst"), ("a", "b"))
    text("src", "vertices.csv", ("id", "f"), ("a", "0,5"), ("b", "1"), mark=";")
    shutil.copytree("src", "other")
    os.rename("other/edges.csv", "other/edge.csv")
    assert "hint: rename edge.csv to edges.csv, vertices.csv to nodes.csv" in run("import", "other", "never").stderr
    assert "hint: rename vertices.csv to nodes.csv" in run("import", "src", "never").stderr
    os.rename("src/vertices.csv", "src/nodes.csv")
    done = run("import", "src", "never")
    assert "line 2: a decimal comma, here: '0,5'" in done.stderr, done
    subprocess.run("tr , . <src/nodes.csv >src/new && mv src/new src/nodes.csv", shell=True, check=True)  # the hint
    taken("src")
    os.remove("src/edges.csv")
    assert "src: nodes.csv, but no edges" in run("import", "src", "never").stderr
    text("src", "edges.csv", ("src", "dst"), *([id] * 2 for id in "ab"))  # the hint
    taken("src")


def test_what_is_no_table():
    shutil.rmtree("src", ignore_errors=True)
    os.makedirs("src")
    for content, why, hint in (("version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "a pointer of Git LFS, not the file", "git lfs pull"), ("<!DOCTYPE html>\n<p>404\n", "a page in HTML", ""),
                               (b"\xfd7zXZ\0\n", "compressed by xz", "xz -d"), (b"PK\3\4\n", "a ZIP archive", "unzip"), ('[{"src": 0}]\n', "JSON", "CSV"), (b"BZh91\n", "compressed by bzip2", ""),
                               (b"edges.csv".ljust(257, b"\0") + b"ustar" + b"\n" * 9, "a tar archive", "tar -xf"), ("src|dst\n1|2\n", "src and one dst are needed", "tr '|' ','"),
                               ("src,dst\n0,1\n1,\n", "line 3: an end without an id", "complete"), ("src,dst\n" + "x" * 5000 + ",b\n", "more than 4096 bytes", "names are UTF-8"),
                               ("src,dst\n", "an empty graph: no edges", "--model mlp")):
        write("edges.csv", content)
        done = run("import", "src", "never")
        assert done.returncode == 1 and f"src/edges.csv: {why}" in done.stderr.replace("line 2: a name of ", "").replace("line 1: columns that are not known; one called ", "") and hint in done.stderr, done
    write("edges.csv", "src,dst,day\n0,1,2020-01-01\n")
    done = run("import", "src", "never", "--edge-time", "day")
    assert "line 2: no time of an edge" in done.stderr and "seconds since 1970" in done.stderr, done
    write("edges.csv", "src,dst\n0,1\n1,2\n")
    write("label.csv", "id,a,b\n0,.5,.5\n1,0,1\n2,1,0\n")
    assert "label.csv: 2 labels are between 0 and 1: each is the probability" in taken("src")[1]
    assert " 2 labels" in run("import", "src", "counted").stdout
    write("meta.json", '{"task": "regression"}')
    assert " 2 values" in run("import", "src", "valued").stdout
    assert "outgrow: nowhere: not there" in run("import", "npy", "nowhere", "never").stderr


def test_the_hint_works():
    """Files with other names: the message's command, with the columns' names, imports them."""
    shutil.rmtree("src", ignore_errors=True)
    text("src", "papers.csv", *table(WORDS, "named"))
    text("src", "cites.csv", ("citing", "cited", "year"), *((*ends, 1999) for ends in WORDS[ENDS]))
    done = run("import", "src", "never")
    assert "a folder of no known format: cites.csv, papers.csv" in done.stderr and "rename" in done.stderr, done.stderr
    os.rename("src/papers.csv", "src/nodes.csv")
    os.rename("src/cites.csv", "src/edges.csv")
    command = done.stderr.split("`")[1].replace("SRC,DST", "citing,cited").replace("--node-id NAME", "--node-id paper").replace("--node-label NAME", "--node-label topic").split()
    assert command[0] == "outgrow" and run(*command[1:]).returncode == 0, command
    assert run("verify", "graph").returncode == 0 and np.load("graph/features.npy").shape == (N, F)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        test_equal_to_a_file_each()
        test_some_columns()
        test_beside_others()
        test_refusals()
        test_standardize()
        test_long_names_of_columns()


        test_dialects()
        test_what_is_no_table()
        test_the_hint_works()
        os.chdir("/")


main()
