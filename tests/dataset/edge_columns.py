#!/usr/bin/env python3
"""Columns of edges in text: times and features, against NumPy, for any memory and threads, trained and resumed. And times of nodes in CSV.

    edge_columns.py OUTGROW      exits 77 where there is no NumPy
"""
import gzip
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
rng = np.random.default_rng(8)
N, E = 400, 6000
SRC, DST, TIME = rng.integers(0, N, E), rng.integers(0, N, E), rng.integers(-2**60, 2**62, E)
F = rng.standard_normal((E, 3)).astype(np.float32)
W = rng.random(E).astype(np.float32)
NAMES = [f"n{v:03d}" for v in range(N)]


def run(*words):
    return subprocess.run([OUTGROW, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def done(*words):
    of = run(*words)
    assert of.returncode == 0, (words, of.stderr)
    return of.stderr


def put(path, head, columns, mark=",", opener=open):
    with opener(path, "wt") as f:
        f.write(mark.join(head) + "\n" if head else "")
        f.writelines(mark.join(map(str, row)) + "\n" for row in zip(*columns))


def expect(folder, src=SRC, dst=DST, time=TIME, features=F, prefix=""):
    done("verify", folder)
    number = np.load(f"{folder}/edge_ids.npy")
    indptr = np.load(f"{folder}/indptr.npy")
    ours = np.stack([np.load(f"{folder}/indices.npy"), np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))])
    assert np.array_equal(np.sort(number), np.arange(len(src))) and np.array_equal(ours, np.stack([src, dst])[:, number])
    if time is not None:
        assert np.array_equal(np.load(f"{folder}/edge_times.npy"), time[number])
    if features is not None:
        assert np.array_equal(np.load(f"{folder}/edge_features.npy"), features[number])


def test_columns():
    f = [col.tolist() for col in F.T]
    all_of = ("weight", "f1", "at", "src", "note", "f2", "dst", "g")
    rows = (W.tolist(), f[0], TIME, SRC, ['"a, b"'] * E, f[1], DST, f[2])
    put("all.csv", all_of, rows)
    given = ("--edge-time", "at", "--edge-features", "F*,g")
    said = done("import", "all.csv", "all", *given)
    assert "not read: note" in said, said
    expect("all")
    order = np.load("all/edge_ids.npy")
    assert np.array_equal(np.load("all/weights.npy"), W[order])
    for k, more in enumerate((("--memory", "16M"), ("--threads", 1), ("--memory", "16M", "--threads", 2))):
        done("import", "all.csv", f"same{k}", *given, *more)
        for name in "edge_times", "edge_features", "edge_ids", "indices":
            assert open(f"all/{name}.npy", "rb").read() == open(f"same{k}/{name}.npy", "rb").read(), name
    put("packed.csv.gz", all_of, rows, opener=gzip.open)
    done("import", "packed.csv.gz", "packed", *given)
    expect("packed")
    put("words.tsv", ("from", "to", "at", "f1", "f2", "g"), ([NAMES[v] for v in SRC], [NAMES[v] for v in DST], TIME, *f), "\t")
    done("import", "words.tsv", "words", *given)
    expect("words")
    put("bare.txt", None, (SRC, DST, TIME, *f), " ")
    done("import", "bare.txt", "bare", "--columns", "src,dst,at,f1,f2,g", *given)
    expect("bare")
    said = done("import", "all.csv", "weights", "--edge-features", "weight")
    assert "at" in said.split("not read:")[1]
    expect("weights", time=None, features=W[:, None])
    assert not os.path.exists("weights/weights.npy") and not os.path.exists("weights/edge_times.npy")
    put("floats.csv", ("src", "dst", "at"), (SRC, DST, [f"{t}.0" for t in TIME % 1000]))
    done("import", "floats.csv", "floats", "--edge-time", "at")
    expect("floats", time=TIME % 1000, features=None)


def test_columns_that_are_left_out():
    put("some.csv", None, (SRC, DST, ["note"] * E, *F.T.tolist()))
    done("import", "some.csv", "some", "--columns", "src,dst,-,f,-,g", "--edge-features", "*")
    expect("some", time=None, features=F[:, [0, 2]])


def test_what_an_asterisk_leaves_out():
    head = ("src", "dst", "weight", "at", "f1", "label", "eid", "f2", "g")
    put("starred.csv", head, (SRC, DST, W.tolist(), TIME, F[:, 0].tolist(), SRC, DST, F[:, 1].tolist(), F[:, 2].tolist()))
    said = done("import", "starred.csv", "starred", "--edge-time", "at", "--edge-features", "*")
    assert said.count("leaves out: weight, at, label, eid\n") == 1 and "not read" not in said, said
    expect("starred")
    put("timed.csv", ("src", "dst", "timestamp", "f1", "f2", "g"), (SRC, DST, TIME, *F.T.tolist()))
    assert "leaves out: timestamp\n" in done("import", "timed.csv", "untimed", "--edge-features", "*")
    expect("untimed", time=None)
    assert np.array_equal(np.load("starred/weights.npy"), W[np.load("starred/edge_ids.npy")])
    for k, given in enumerate((("--weight-column", 0, "--edge-features", "*"), ("--edge-features", "*,weight"))):
        said = done("import", "starred.csv", f"weight{k}", "--edge-time", "at", *given)
        assert "leaves out: at, label, eid\n" in said, said
        expect(f"weight{k}", features=np.concatenate([W[:, None], F], 1))
        assert not os.path.exists(f"weight{k}/weights.npy")
    done("import", "starred.csv", "by_place", "--edge-time", "at", "--edge-features", "*", "--weight-column", 3)
    expect("by_place")


def test_both_directions_by_time():
    put("all.csv", ("src", "dst", "at", "f"), (SRC, DST, TIME % 50, F[:, 0].tolist()))
    done("import", "all.csv", "sym", "--symmetrize", "--edge-time", "at", "--edge-features", "f")
    done("verify", "sym")
    number = np.load("sym/edge_ids.npy")
    assert np.array_equal(np.load("sym/edge_features.npy")[:, 0], F[number, 0]) and np.array_equal(np.load("sym/edge_times.npy"), TIME[number] % 50)
    done("import", "all.csv", "sorted", "--by-time", "--edge-time", "at", "--edge-features", "f")
    expect("sorted", time=TIME % 50, features=F[:, :1])
    indptr, time = np.load("sorted/indptr.npy"), np.load("sorted/edge_times.npy")
    assert all((np.diff(time[a:b]) >= 0).all() for a, b in zip(indptr, indptr[1:]))


def test_training():
    os.makedirs("src")
    put("src/edges.csv", ("src", "dst", "at", "f1", "f2", "f3"), (SRC, DST, TIME % 50, *(col.tolist() for col in F.T)))
    put("src/node_times.csv", ("id", "time"), (np.arange(N)[::-1], np.arange(N)[::-1] % 60))
    put("src/label.csv", None, (np.arange(N), np.arange(N) % 3))
    for split, first in ("train", 0), ("valid", 200), ("test", 300):
        put(f"src/{split}.csv", None, (np.arange(first, first + 100),))
    done("import", "src", "graph", "--edge-time", "at", "--edge-features", "f*")
    expect("graph", time=TIME % 50)
    assert np.array_equal(np.load("graph/node_times.npy"), np.arange(N) % 60)
    words = ("train", "graph", "--time", "node", "--model", "gatv2", "--fanout", "4,4", "--hidden", 8, "--memory", "200M", "--quiet", "--checkpoint-every", 0)
    done(*words, "--epochs", 1, "--run", "half")
    done(*words, "--epochs", 2, "--run", "half", "--resume")
    done(*words, "--epochs", 2, "--run", "whole")
    assert open("half/checkpoint.safetensors", "rb").read() == open("whole/checkpoint.safetensors", "rb").read()


def test_times_of_nodes():
    os.makedirs("named")
    put("named/edges.csv", ("src", "dst"), ([NAMES[v] for v in SRC], [NAMES[v] for v in DST]))
    put("named/node_times.csv", ("id", "year"), ([*NAMES[::-1], "alone"], range(N + 1)))
    done("import", "named", "of_words")
    done("verify", "of_words")
    assert np.array_equal(np.load("of_words/node_times.npy"), [N, *range(N)[::-1]]) and len(np.load("of_words/node_names.npy")) == N + 1

    def refused(*words, rows=None, also=None):
        shutil.rmtree("bad", ignore_errors=True)
        shutil.copytree("named", "bad")
        if rows is not None:
            open("bad/node_times.csv", "w").write(rows)
        if also:
            np.save(f"bad/{also}", np.arange(N + 1))
        of = run("import", "bad", "never")
        assert of.returncode == 1 and all(word in of.stderr for word in words) and "hint: " in of.stderr and not os.path.exists("never"), of.stderr
    refused("no row for id", rows="n001,3\n")
    refused("n001", "twice", rows="n001,3\nn001,4\n")
    refused("0.5", "int64", rows="".join(f"{name},0.5\n" for name in NAMES))
    for time in 2**53 + 1, 2**60:
        refused("2^53", rows="".join(f"{name},{time}\n" for name in NAMES))
    refused("not a finite number", "a time by that from which on", rows="id,time\n" + "".join(f"{name},\n" for name in NAMES))
    refused("both node_times.npy and node_times.csv", also="node_times.npy")


def test_refused():
    def refused(text, *words, given=("--edge-time", "t", "--edge-features", "f*"), name="bad.csv"):
        with open(name, "w") as f:
            f.write(text)
        of = run("import", name, "never", *given)
        assert of.returncode == 1 and all(word in of.stderr for word in words) and "hint: " in of.stderr, of.stderr
        assert not os.path.exists("never") and not [entry for entry in os.listdir() if entry.startswith("never")]
    head, more = "src,dst,t,f1,f2\n", "1,2,3,4,5\n"
    refused(head + more + "1,2,x,4,5\n", "line 3", "time", "times are whole numbers")
    refused(head + more + "1,2,3.5,4,5\n", "line 3", "whole number")
    refused(head + more + "1,2,9223372036854775808,4,5\n", "line 3", "whole number")
    refused(head + more + "1,2,-9223372036854775808,4,5\n", "no time")
    refused(head + more + "1,2,3,4\n", "line 3")
    refused(head + more + "1,2,3,,5\n", "line 3", "finite number")
    refused(head + more + "1,2,3,nan,5\n", "line 3", "finite number")
    refused(head + "1,2,3,4,\n" + more, "line 2", "finite number")
    refused(more, "no names of columns")
    refused(head + more, "no column of a name", given=("--edge-time", "when"))
    refused(head + more, "no column of a name", given=("--edge-features", "f1,h*"))
    refused(head + more, "several columns of times", given=("--edge-time", "f*"))
    refused(head + more, "an end of the edges", given=("--edge-features", "src"))
    refused(head + more, "both a time and a feature", given=("--edge-time", "t", "--edge-features", "f1,t"))
    refused(head + more, "no column is left for --edge-features", given=("--edge-time", "t", "--edge-features", "t*,s*"))
    refused(more, "no column is left for --edge-features", given=("--columns", "src,dst,-,-,-", "--edge-features", "*"))
    refused("src,dst,w\n1,2,3\n", "no column is left for --edge-features", given=("--edge-features", "w*"))
    refused(head + more, "the column of weights", given=("--edge-features", "f1", "--weight-column", 4))
    os.makedirs("arrays", exist_ok=True)
    np.save("arrays/edges.npy", np.stack([SRC, DST], 1))
    of = run("import", "arrays", "never", "--edge-time", "t")
    assert of.returncode == 1 and "columns of an edgelist" in of.stderr, of.stderr


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, test in list(globals().items()):
            if name.startswith("test_") and (not sys.argv[2:] or name in sys.argv[2:]):
                os.makedirs(name)
                os.chdir(name)
                test()
                os.chdir("..")
                print(f"{name}: ok", flush=True)
        os.chdir("/")
