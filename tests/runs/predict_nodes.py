#!/usr/bin/env python3
"""`predict --nodes` compared with `predict` of all nodes. The lists and rows that it needs are those of a search in NumPy. Also the forms of its files, any memory,
and kills, in homogeneous and heterogeneous graphs.

    predict_nodes.py OUTGROW      exits 77 where there is no NumPy
"""
import csv
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

OUTGROW = os.path.abspath(sys.argv[1])
N, D, C = 3000, 12, 5
MEMORY = ["--memory", "128M", "--threads", "2", "--quiet"]
rng = np.random.default_rng(7)


def run(*args, fails=False):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (args, done.stdout, done.stderr)
    return done.stderr if fails else done.stdout


def says(words, *args):
    said = run(*args, fails=True)
    assert all(word in said for word in words), (args, words, said)


def write_graph():
    """Hubs, loops, equal edges, nodes without any; few lists are long."""
    src = (rng.random(12000) ** 2 * N).astype(np.int64)
    dst = rng.integers(0, N - 200, 12000)
    hub = np.stack([rng.integers(0, N, 900), np.full(900, 17)])
    loops = np.repeat(rng.integers(0, N, 150), 2)
    edges = np.concatenate([np.stack([src, dst]), hub, np.stack([loops, loops])], 1).T
    os.makedirs("source")
    ids = rng.permutation(N)
    arrays = {"edges": edges, "feat": rng.standard_normal((N, D)).astype(np.float32), "label": np.arange(N) % C, "edge_weight": rng.random(len(edges)).astype(np.float32),
              "edge_attr": rng.standard_normal((len(edges), 7)).astype(np.float16),
              "train": ids[:1000], "valid": ids[1000:1100], "test": ids[1100:1150]}
    for name, array in arrays.items():
        np.save(f"source/{name}.npy", array)
    run("import", "npy", "source", "graph", "--quiet")


def needed(nodes, layers):
    """Lists, edges and feature rows that these nodes need."""
    indptr, indices = np.load("graph/indptr.npy"), np.load("graph/indices.npy")
    found, lists, edges = set(nodes.tolist()), set(), 0
    for _ in range(layers):
        for v in found - lists:
            lists.add(v)
            edges += int(indptr[v + 1] - indptr[v])
        found |= {u for v in list(found) for u in indices[indptr[v]:indptr[v + 1]].tolist()}
    return {"lists": len(lists), "edges": edges, "rows": len(found)}


def predicted(graph, checkpoint, *more, out="out.npy"):
    said = run("predict", graph, "--checkpoint", checkpoint, "--out", out, "--json", *MEMORY, *more)
    made = np.load(out) if out.endswith(".npy") else open(out, "rb").read()
    os.remove(out)
    return made, json.loads(said)


def check_models():
    nodes = rng.choice(N, 40, replace=False)
    np.save("some.npy", nodes)
    largest = 0.0
    for i, options in enumerate((["sage"], ["gcn"], ["gat"], ["gin"], ["gatv2"], ["gine"], ["transformer"], ["gat", "--edge-features", "off"], ["gcn", "--edge-weights", "multiply"], ["sage", "--edge-weights", "mean"],
                                 ["sage", "--aggregator", "max", "--norm", "layer", "--residual"], ["pinsage", "--sampler", "walk"], ["gcn", "--fanout", "3,3,3"])):
        layers = 3 if "3,3,3" in options else 2
        run("train", "graph", "--fanout", "3,3", "--hidden", "8", "--batch", "200", "--epochs", "1", "--run", f"run{i}", *MEMORY, "--model", *options)
        checkpoint = f"run{i}/checkpoint.safetensors"
        weights = options[1:3] if "--edge-weights" in options else []
        every, _ = predicted("graph", checkpoint, "--embeddings", "every.npy", *weights)
        some, said = predicted("graph", checkpoint, "--embeddings", "hidden.npy", "--nodes", "some.npy", *weights)
        assert some.shape == (40, C) and said["nodes"] == 40
        for made, whole in (some, every), (np.load("hidden.npy"), np.load("every.npy")):
            assert made.dtype == np.float32
            largest = max(largest, float(np.abs(made - whole[nodes]).max() / np.abs(whole).max()))
        os.remove("hidden.npy")
        os.remove("every.npy")
        assert largest < 1e-5, (options, largest)
        if "walk" not in options:
            want = needed(nodes, layers)
            assert {k: said["needed"][k] for k in want} == want, (options, said["needed"], want)
            assert said["layers"][0]["bytes_read"] >= want["rows"] * D * 4
        again, _ = predicted("graph", checkpoint, "--nodes", "some.npy", "--memory", "64M", "--threads", "1", *weights)
        assert again.tobytes() == some.tobytes(), options
    split, _ = predicted("graph", "run0/checkpoint.safetensors", "--nodes", "test")
    whole, _ = predicted("graph", "run0/checkpoint.safetensors")
    assert np.abs(split - whole[np.load("graph/test.npy")]).max() < 1e-5
    print(f"largest difference from all nodes: {largest:.2g}")


def check_refusals():
    applied = ["predict", "graph", "--checkpoint", "run0/checkpoint.safetensors", "--out", "out.npy", *MEMORY, "--nodes"]
    for array, words in (([1, 2, 1], ["listed twice"]), ([N], [f"node {N}"]), ([-1], ["node -1"]), ([], ["there are none"]), ([0.5], ["list of node ids"]),
                         ([True, False], ["a mask of 2", f"{N} nodes"]), ([[1, 2]], ["2 dimensions"])):
        np.save("bad.npy", np.array(array, np.int64 if not array else None))
        says(words, *applied, "bad.npy")
    says(["absent.npy", "no such file", "unlabelled"], *applied, "absent.npy")
    np.save("bad.npy", np.array(["3", None], object), allow_pickle=True)
    says(["Python objects", "astype('U')"], *applied, "bad.npy")
    for text, words in ("a,b\n1,2\n", ["2 columns", "called id"]), ("1\n\n2\nx\n", ["line 4", "not x"]), ("\0\1", ["neither"]), ("id\n", ["there are none"]):
        with open("bad.csv", "w", encoding="utf-8") as f:
            f.write(text)
        says(words, *applied, "bad.csv")
    for words, options in ((["--top-k", ".csv"], ["--top-k", 2]), (["--names", ".csv"], ["--names"]), (["dtype", "f32 or f16"], ["--dtype", "f64"])):
        says(words, *applied[:-1], *options)
    says(["Parquet", ".csv"], *applied[:4], "--out", "out.parquet", *MEMORY)
    says(["--top-k 6", "1 to 5"], *applied[:4], "--out", "out.csv", "--top-k", 6, *MEMORY)
    says(["--names", "no ids"], *applied[:4], "--out", "out.csv", "--names", *MEMORY)


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def table(text):
    return list(csv.reader(text.decode().splitlines()))


def check_forms():
    """Names of classes and ids of the source are those of meta.json and node_ids.npy."""
    checkpoint = "run0/checkpoint.safetensors"
    logits, _ = predicted("graph", checkpoint)
    half, _ = predicted("graph", checkpoint, "--dtype", "f16", "--embeddings", "e.npy")
    assert half.dtype == np.float16 and (half == logits.astype(np.float16)).all() and np.load("e.npy").dtype == np.float16
    chances, _ = predicted("graph", checkpoint, "--probabilities", "--nodes", "some.npy")
    nodes = np.load("some.npy")
    assert np.abs(chances - softmax(logits)[nodes]).max() < 1e-5
    rows = table(predicted("graph", checkpoint, out="out.csv")[0])
    assert rows[0] == ["id", "class", *map(str, range(C))] and len(rows) == N + 1
    assert [r[0] for r in rows[1:]] == [str(v) for v in range(N)] and (np.array(rows[1:])[:, 1].astype(int) == logits.argmax(1)).all()
    assert (np.array(rows[1:])[:, 2:].astype(np.float32) == logits).all()
    source = rng.permutation(N) * 3 + 10
    np.save("graph/node_ids.npy", source)
    with open("graph/meta.json", encoding="utf-8") as f:
        meta = json.load(f)
    names = ["red", "deep, blue", 'so "called"', "4", "ö"]
    with open("graph/meta.json", "w", encoding="utf-8") as f:
        json.dump({**meta, "class_names": names}, f)
    rows = table(predicted("graph", checkpoint, "--names", "--nodes", "some.npy", "--top-k", 2, "--probabilities", out="out.csv")[0])
    assert rows[0] == ["id", "class_1", "score_1", "class_2", "score_2"]
    for node, row in zip(nodes, rows[1:]):
        best = np.argsort(-logits[node], kind="stable")
        assert row[0] == str(source[node]) and [row[1], row[3]] == [names[best[0]], names[best[1]]]
        assert abs(float(row[2]) - softmax(logits[node:node + 1])[0, best[0]]) < 1e-5
    rows = table(predicted("graph", checkpoint, "--nodes", "some.npy", out="out.csv")[0])
    assert rows[0] == ["id", "class", *names] and rows[1][1] == names[logits[nodes[0]].argmax()]
    # lists in text have the ids of the table; a mask would be of another order
    few = nodes[:5]
    with open("few.csv", "w", encoding="utf-8") as f:
        f.write("class,id\r\n" + "".join(f'"a ""b"",\n",{source[v]}\r\n' for v in few))
    np.save("few.npy", source[few].astype("U"))
    for listed in "few.csv", "few.npy":
        assert np.abs(predicted("graph", checkpoint, "--nodes", listed)[0] - logits[few]).max() < 1e-5
    with open("quoted.csv", "w", newline="") as f:  # and a class may be called id
        csv.writer(f, quoting=csv.QUOTE_ALL).writerows([("id", "class", "id"), *((source[v], "red", .5) for v in few)])
    assert np.abs(predicted("graph", checkpoint, "--nodes", "quoted.csv")[0] - logits[few]).max() < 1e-5
    assert np.abs(predicted("graph", checkpoint, "--nodes", source[few[0]])[0] - logits[few[:1]]).max() < 1e-5
    np.save("mask.npy", np.arange(N) < 5)
    to = ["predict", "graph", "--checkpoint", checkpoint, "--out", "out.csv", *MEMORY, "--nodes"]
    says(["a mask", "order of their ids"], *to, "mask.npy")
    says(["no such file", "no node is called 9", "import"], *to, 9)
    said = subprocess.run([OUTGROW, "serve", "graph", "--checkpoint", checkpoint, *map(str, MEMORY), "--quiet"], input=f'[{N}]\n', capture_output=True, text=True, check=True).stdout
    assert json.loads(said.splitlines()[1])["hint"] == 'numbers are rows of the dataset; give ids of the source as text: "7"', said
    # files are replaced on request alone, and nothing is said
    assert run(*to, "few.csv") == ""
    says(["out.csv: exists already", "--overwrite"], *to, "few.csv")
    says(["the list of nodes itself"], *to, "few.csv", "--overwrite", "--out", "few.csv")
    says(["the list of nodes itself"], *to, "few.npy", "--overwrite", "--embeddings", "few.npy")
    with open("twice.txt", "w") as f:
        f.write("\n".join(map(str, source[few[[0, 1, 1]]])))
    says([f"twice.txt: line 3: listed twice: {source[few[1]]}"], *to, "twice.txt", "--overwrite")
    says(["the checkpoint itself"], *to, "few.csv", "--overwrite", "--out", checkpoint)
    assert run(*to, "few.npy", "--overwrite") == "" and len(table(open("out.csv", "rb").read())) == 6
    os.remove("out.csv")
    os.remove("graph/node_ids.npy")
    assert np.abs(predicted("graph", checkpoint, "--nodes", "mask.npy")[0] - logits[:5]).max() < 1e-5
    labels = np.lib.format.open_memmap("graph/labels.npy", mode="r+")
    labels[few] = -1
    labels.flush()
    assert np.abs(predicted("graph", checkpoint, "--nodes", "unlabelled")[0] - logits[np.sort(few)]).max() < 1e-5


def check_other_form():
    """What overflows in one form is resumed in another: layers stay."""
    shutil.copytree("graph", "hot")
    rows = np.load("hot/features.npy", mmap_mode="r+")
    rows *= 1e7
    rows.flush()
    words = [OUTGROW, "predict", "hot", "--checkpoint", "run0/checkpoint.safetensors", "--out", "hot.npy", "--memory", "128M"]
    done = subprocess.run([*words, "--dtype", "f16"], capture_output=True, text=True)
    assert done.returncode == 1 and "beyond float16" in done.stderr and "kept for --resume" in done.stderr, done.stderr
    done = subprocess.run([*words, "--dtype", "f32", "--resume", "--json"], capture_output=True, text=True)
    assert done.returncode == 0 and "resuming in layer 2 of 2" in done.stderr and "starting over" not in done.stderr, done.stderr
    made = np.load("hot.npy")
    assert not [name for name in os.listdir() if name.startswith("outgrow-infer-") or name.endswith(".part")]
    os.remove("hot.npy")
    assert made.dtype == np.float32 and made.tobytes() == predicted("hot", "run0/checkpoint.safetensors")[0].tobytes()


def check_kills():
    """Killed at some moment and resumed, or finished: equal bytes."""
    run("generate", "large", "--nodes", 60000, "--degree", 10, "--dim", 64, "--quiet")
    run("train", "large", "--fanout", "2,2", "--epochs", 0, "--hidden", 64, "--run", "runl", *MEMORY)
    np.save("many.npy", rng.choice(60000, 9000, replace=False))
    applied = ["large", "runl/checkpoint.safetensors", "--nodes", "many.npy", "--memory", "90M", "--threads", "1", "--checkpoint-every", 0]
    want, _ = predicted(*applied)
    resumed = 0
    for moment in 0.2, 0.3, 0.4, 0.5, 0.7:
        words = [OUTGROW, "predict", applied[0], "--checkpoint", applied[1], "--out", "killed.npy", *map(str, applied[2:])]
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if os.path.exists("killed.npy"):
            os.remove("killed.npy")
        done = subprocess.run([*words, "--resume"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        resumed += "resuming in layer" in done.stderr
        assert np.load("killed.npy").tobytes() == want.tobytes(), moment
        os.remove("killed.npy")
    print(f"resumed {resumed} of 5")


def check_types():
    """All neighbours, so that batches do not matter."""
    run("generate", "typed", "--types", "paper:600:8,author:400:6,venue:30:0", "--relations", "author:writes:paper:3,paper:cites:paper:4,paper:written:author:3,venue:has:paper:1,paper:in:venue:9",
        "--classes", C, "--quiet")
    largest = 0.0
    for i, options in enumerate((["--model", "sage"], ["--model", "gat"], ["--task", "link", "--relation", "cites", "--edge-split", "80/10/10"])):
        run("train", "typed", "--fanout", "3,3", "--hidden", 8, "--epochs", 1, "--batch", 200, "--embedding", 4, "--run", f"typed{i}", *MEMORY, *options)
        checkpoint, every = f"typed{i}/checkpoint.safetensors", ["--fanout", "-1,-1"]
        whole, _ = predicted("typed", checkpoint, *every)
        nodes = rng.choice(600, 50, replace=False)
        np.save("some.npy", nodes)
        some, said = predicted("typed", checkpoint, *every, "--nodes", "some.npy")
        assert said["nodes"] == 50 and some.shape == (50, whole.shape[1])
        largest = max(largest, float(np.abs(some - whole[nodes]).max()))
        rows = table(predicted("typed", checkpoint, *every, "--nodes", "some.npy", out="out.csv")[0])
        assert [int(r[0]) for r in rows[1:]] == nodes.tolist()
        assert np.abs(np.array(rows[1:])[:, -whole.shape[1]:].astype(np.float32) - whole[nodes]).max() < 1e-5
    assert largest < 1e-5, largest
    np.save("authors.npy", np.array([1, 700]))
    says(["node 700", "author", "paper"], "predict", "typed", "--checkpoint", "typed0/checkpoint.safetensors", "--out", "out.npy", "--nodes", "authors.npy", *MEMORY)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    write_graph()
    check_models()
    check_refusals()
    check_forms()
    check_types()
    check_other_form()
    check_kills()
    os.chdir("/")
