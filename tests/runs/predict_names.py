#!/usr/bin/env python3
"""A table of predictions has the names of nodes and classes of a CSV source. Some are long, and some have commas.

    predict_names.py OUTGROW      exits 77 where there is no NumPy
"""
import csv
import json
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


def printed(*args):
    return json.loads(subprocess.run([OUTGROW, *map(str, args), "--json", "--quiet"], check=True, capture_output=True, text=True).stdout)


def check_classes():
    """Names of classes are the model's, whatever a dataset calls them. Labels become its classes by name."""
    rng = np.random.default_rng(5)
    ids = [f"c{i:03d}é" for i in range(90)]
    rows = [(i, *rng.standard_normal(2).round(3)) for i in ids]
    edges = list(zip(rng.choice(ids, 300), rng.choice(ids, 300)))
    given = ["--memory", "256M", "--quiet"]

    def imported(name, classes):
        os.makedirs(name)
        write(f"{name}/edges.csv", ("src", "dst"), *edges)
        write(f"{name}/feat.csv", ("id", "f1", "f2"), *rows)
        if classes:
            write(f"{name}/label.csv", ("id", "label"), *((i, classes[k % len(classes)]) for k, i in enumerate(ids)))
        for k, split in enumerate(("train", "valid", "test")):
            write(f"{name}/{split}.csv", ("id",), *((i,) for i in ids[30 * k:30 * k + 30]))
        run("import", name, f"of-{name}", "--quiet")
        return f"of-{name}"

    run("train", imported("first", CLASSES), "--fanout", "3,3", "--hidden", 4, "--epochs", 1, *given, "--run", "named")
    checkpoint = "named/best.safetensors"
    with open(checkpoint, "rb") as f:
        said = json.loads(f.read(int.from_bytes(f.read(8), "little")))["__metadata__"]
    assert json.loads(said["class_names"]) == sorted(CLASSES)
    run("predict", "of-first", "--checkpoint", checkpoint, *given, "--out", "first.csv")
    run("propagate", "of-first", *given)
    for name in sorted(n for n in os.listdir("of-first") if os.path.isfile(f"of-first/{n}")):
        before = open(f"of-first/{name}", "rb").read()
        done = subprocess.run([OUTGROW, "predict", "of-first", "--checkpoint", checkpoint, *given, "--overwrite", "--out", f"of-first/{name}"], capture_output=True, text=True)
        assert done.returncode == 1 and "a file of the dataset" in done.stderr and open(f"of-first/{name}", "rb").read() == before, (name, done)
    want = open("first.csv", "rb").read()
    first = printed("eval", "of-first", "--checkpoint", checkpoint, "--memory", "256M")
    sorted_otherwise = {"cat": "zebra", "dog": "dog", "a b": "cat"}
    fewer, none = imported("fewer", ("cat", "dog")), imported("none", ())
    for graph in imported("other", [sorted_otherwise[c] for c in CLASSES]), fewer, none:
        run("predict", graph, "--checkpoint", checkpoint, *given, "--out", f"{graph}.csv")
        assert open(f"{graph}.csv", "rb").read() == want, graph
    for full in [], ["--full"]:
        counts = {row["name"]: row["support"] for row in printed("eval", fewer, "--checkpoint", checkpoint, "--memory", "256M", *full)["classes"]}
        assert counts == {"a b": 0, "cat": 15, "dog": 15}, counts
        refused = subprocess.run([OUTGROW, "eval", "of-other", "--checkpoint", checkpoint, *given, *full], capture_output=True, text=True)
        assert refused.returncode == 1 and "label zebra, no class of the model" in refused.stderr, refused.stderr
    assert first["acc"] == printed("eval", "of-first", "--checkpoint", checkpoint, "--memory", "256M")["acc"]
    begun = subprocess.run([OUTGROW, "train", "of-other", "--init", checkpoint, "--fanout", "3,3", "--hidden", "4", "--epochs", "1", *given, "--run", "begun"], capture_output=True, text=True)
    assert begun.returncode == 0 and "its classes have other names" in begun.stderr, begun.stderr
    # requests by names have answers by names
    with open("first.csv", encoding="utf-8", newline="") as f:
        table = {row[0]: row for row in csv.reader(f)}
    lines = [["c041é"], ["c003é", "c020é"], ["nobody"], [3, "c003é"], {"nodes": [41], "id": "x"}]
    said = subprocess.run([OUTGROW, "serve", none, "--checkpoint", checkpoint, *given], input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True, text=True, check=True).stdout
    about, *answers = map(json.loads, said.splitlines())
    answers = {answer["id"]: answer for answer in answers}
    assert about["class_names"] == sorted(CLASSES) and answers[1]["classes"] == [table["c041é"][1]] and np.allclose(answers[1]["rows"], [np.float32(table["c041é"][2:])], atol=1e-5)
    assert answers[2]["classes"] == [table["c003é"][1], table["c020é"][1]]
    assert answers["x"]["error"] == "node 41: a number, and nodes have names, such as c000é", answers["x"]
    assert "no node is called nobody" in answers[3]["error"] and "not a request" in answers[4]["error"]
    # a table is smoothed by its ids, in any order
    for name in "chances.npy", "chances.csv":
        run("predict", "of-first", "--checkpoint", checkpoint, *given, "--probabilities", "--out", name)
    with open("chances.csv", encoding="utf-8", newline="") as f:
        head, *rest = csv.reader(f)
    order = [0, 1, 4, 2, 3]
    write("mixed.csv", *([row[k] for k in order] for row in [head, *rest[::-1]]))
    for source in "chances.npy", "chances.csv", "mixed.csv":
        run("smooth", "of-first", source, *given, "--out", f"smooth-{source[:-4]}.npy" if source != "chances.csv" else "smooth.npy")
    assert open("smooth-chances.npy", "rb").read() == open("smooth.npy", "rb").read() == open("smooth-mixed.npy", "rb").read()
    refused = subprocess.run([OUTGROW, "smooth", "of-first", "first.csv", *given, "--out", "no.npy"], capture_output=True, text=True)
    assert refused.returncode == 1 and "a probability from 0 to 1 expected" in refused.stderr and not any(".part" in name for name in os.listdir(".")), refused.stderr


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
    assert refused.returncode != 0 and "row 1: no node is called nobody" in refused.stderr and "the same checkpoint" in refused.stderr, refused.stderr
    # numbers are no names
    np.save("numbers.npy", [41, 3])
    with open("numbers.txt", "w") as f:
        f.write(f"{some[0]}\n41\n")
    for listed, what in (41, "--nodes 41"), ("numbers.npy", "numbers.npy"), ("numbers.txt", "numbers.txt: line 2"), (f"g-{name}/train.npy", f"g-{name}/train.npy"):
        refused = subprocess.run([OUTGROW, "predict", *given, "--nodes", str(listed), "--out", "no.npy"], capture_output=True, text=True)
        assert refused.returncode != 0 and f"{what}: a number, and nodes have names, such as {ids[0]}"[:200] in refused.stderr, (listed, refused.stderr)
    for made in "out.npy", "out.csv", "some.npy":
        os.remove(made)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    for length in 8, 60:
        check(length)
    check_classes()
    os.chdir("/")
