#!/usr/bin/env python3
"""Models that use features of edges: whole-graph logits against NumPy, also after training. Labels that only edges have are learnt. Results are bit-identical
whatever moves the rows. And what is refused.

    edge_attr.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = os.path.abspath(sys.argv[1])
N, E, DIM, EDGE_DIM, HIDDEN, CLASSES, HEADS = 400, 2400, 7, 5, 8, 4, 2
KINDS = "gat", "gatv2", "gine", "transformer"
rng = np.random.default_rng(46)


def run(*args, fails=False):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (args, done.stderr)
    return done


# ---- what convolutions are ----

def summed(rows, dst, n):
    out = np.zeros((n, *rows.shape[1:]))
    np.add.at(out, dst, rows)
    return out


def relu(x):
    return np.maximum(x, 0)


def linear(x, p, name):
    return x @ p[name + ".weight"].T + p.get(name + ".bias", 0)


def attended(score, message, dst, n, last):
    e = np.exp(score)
    alpha = e / summed(e, dst, n)[dst]
    y = summed(alpha[:, :, None] * message, dst, n)
    return y.mean(1) if last else y.reshape(n, -1)


def leaky(x):
    return np.where(x > 0, x, 0.2 * x)


def with_loops(src, dst, e, n):
    """Loops of nodes replace those of the graph; their rows are means."""
    other = src != dst
    src, dst, e = src[other], dst[other], e[other]
    mean = summed(e, dst, n) / np.maximum(np.bincount(dst, minlength=n), 1)[:, None]
    return np.r_[src, np.arange(n)], np.r_[dst, np.arange(n)], np.r_[e, mean]


def conv(kind, x, p, src, dst, e, last):
    n = len(x)
    split = lambda rows: rows.reshape(len(rows), HEADS, -1)
    if kind == "gine":
        z = (1 + p["eps"]) * x + summed(relu(x[src] + linear(e, p, "lin")), dst, n)
        return linear(relu(linear(z, p, "nn.0")), p, "nn.2")
    if kind == "transformer":
        of_edge = split(linear(e, p, "lin_edge"))
        key, value = (split(linear(x, p, name))[src] + of_edge for name in ("lin_key", "lin_value"))
        query = split(linear(x, p, "lin_query"))
        score = (query[dst] * key).sum(-1) / np.sqrt(key.shape[-1])
        return attended(score, value, dst, n, last) + linear(x, p, "lin_skip")
    src, dst, e = with_loops(src, dst, e, n)
    of_edge = split(linear(e, p, "lin_edge"))
    if kind == "gat":
        z = split(linear(x, p, "lin"))
        score = leaky((z * p["att_src"]).sum(-1)[src] + (z * p["att_dst"]).sum(-1)[dst] + (of_edge * p["att_edge"]).sum(-1))
    else:
        z = split(linear(x, p, "lin_l"))
        score = (leaky(z[src] + split(linear(x, p, "lin_r"))[dst] + of_edge) * p["att"]).sum(-1)
    return attended(score, z[src], dst, n, last) + p["bias"]


def logits(kind, x, tensors, src, dst, e):
    layers = 1 + max(int(name.split(".")[1]) for name in tensors)
    for l in range(layers):
        p = {name.split(".", 2)[2]: t for name, t in tensors.items() if name.startswith(f"convs.{l}.")}
        x = conv(kind, x, p, src, dst, e, l == layers - 1)
        if l < layers - 1:
            x = np.where(x > 0, x, np.expm1(np.minimum(x, 0))) if kind.startswith("gat") else relu(x)
    return x


# ---- checkpoints ----

def shapes(kind, i, o, last):
    wide = HEADS * o if last else o
    att = (1, HEADS, wide // HEADS)
    return {
        "gat": {"att_src": att, "att_dst": att, "att_edge": att, "bias": (o,), "lin.weight": (wide, i), "lin_edge.weight": (wide, EDGE_DIM)},
        "gatv2": {"att": att, "bias": (o,), "lin_l.weight": (wide, i), "lin_l.bias": (wide,), "lin_r.weight": (wide, i), "lin_r.bias": (wide,),
                  "lin_edge.weight": (wide, EDGE_DIM)},
        "gine": {"eps": (1,), "nn.0.weight": (HIDDEN, i), "nn.0.bias": (HIDDEN,), "nn.2.weight": (o, HIDDEN), "nn.2.bias": (o,),
                 "lin.weight": (i, EDGE_DIM), "lin.bias": (i,)},
        "transformer": {f"lin_{name}.{what}": (wide, i) if what == "weight" else (wide,) for name in ("key", "query", "value") for what in ("weight", "bias")}
        | {"lin_edge.weight": (wide, EDGE_DIM), "lin_skip.weight": (o, i), "lin_skip.bias": (o,)},
    }[kind]


def random_tensors(kind):
    return {f"convs.{l}.{name}": (rng.standard_normal(shape) / 2).astype(np.float32)
            for l, (i, o) in enumerate([(DIM, HIDDEN), (HIDDEN, CLASSES)]) for name, shape in shapes(kind, i, o, l == 1).items()}


def write_tensors(path, tensors):
    header, at = {}, 0
    for name, a in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for a in tensors.values()))


# ---- the graph ----

def make_graph(name, dtype="f32", edges=True):
    """Duplicates, loops, and nodes without in-neighbours."""
    for folder in name, "source":
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs("source")
    ends = rng.integers(0, N - 20, (E, 2))
    ends[:40] = ends[40:80]
    ends[80:110, 1] = ends[80:110, 0]
    arrays = {"edges": ends, "feat": rng.standard_normal((N, DIM)).astype(np.float32), "label": rng.integers(0, CLASSES, N),
              "train": np.arange(0, N, 2), "valid": np.arange(1, N, 2),
              "edge_attr": (rng.integers(-64, 65, (E, EDGE_DIM)) / 32).astype(np.float32)}
    for what, array in arrays.items():
        if edges or what != "edge_attr":
            np.save(f"source/{what}.npy", array)
    run("import", "npy", "source", name, "--edge-feature-dtype", dtype, "--quiet")
    return arrays["feat"].astype(np.float64), ends[:, 0], ends[:, 1], arrays["edge_attr"].astype(np.float64)


def near(got, want, what, tolerance=1e-5):
    worst = np.abs(got - want).max() / max(np.abs(want).max(), 1e-3)
    assert worst < tolerance, (what, worst)
    return worst


def predict(graph, checkpoint, *options):
    done = run("predict", graph, "--checkpoint", checkpoint, "--out", "logits.npy", "--json", *options)
    made = np.load("logits.npy")
    os.unlink("logits.npy")
    return made, json.loads(done.stdout)


def test_whole_graph_logits_are_those_of_the_definitions():
    for dtype in "f32", "f16", "bf16":
        graph = make_graph(dtype, dtype)
        for kind in KINDS:
            tensors = random_tensors(kind)
            write_tensors("given.safetensors", tensors)
            got, told = predict(dtype, "given.safetensors", "--memory", "128M")
            worst = near(got, logits(kind, graph[0], tensors, *graph[1:]), (kind, dtype))
            rows = E * EDGE_DIM * (4 if dtype == "f32" else 2)
            assert told["bytes_read"] >= 2 * rows, (told, rows)
            print(f"{kind}, {dtype}: within {worst:.1e}")


def test_other_models_and_datasets_are_refused_by_name():
    make_graph("plain", edges=False)
    write_tensors("given.safetensors", random_tensors("gatv2"))
    said = run("predict", "plain", "--checkpoint", "given.safetensors", "--out", "logits.npy", fails=True).stderr
    assert f"trained with features of edges of width {EDGE_DIM}, plain has 0" in said, said
    said = run("predict", "f32", "--checkpoint", "given.safetensors", "--out", "logits.npy", "--device", "virtual", fails=True).stderr
    assert "--model gatv2: the backend virtual does not use features of edges yet" in said, said
    said = run("train", "plain", "--model", "gine", "--fanout", "3,3", "--epochs", 1, "--run", "never", fails=True).stderr
    assert "plain: has no features of edges, which --model gine requires" in said, said


# ---- training ----

def train(graph, kind, *options, name="trained"):
    """Tensors, figures and what it said."""
    heads = [] if kind == "gine" else ["--heads", HEADS]
    done = run("train", graph, "--model", kind, *heads, "--hidden", HIDDEN, "--memory", "128M", "--run", name, "--json", *options)
    data = pathlib.Path(name, "checkpoint.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    head, data = json.loads(data[8:8 + size]), data[8 + size:]
    tensors = {key: np.frombuffer(data[slice(*t["data_offsets"])], np.float32).reshape(t["shape"]) for key, t in head.items() if key != "__metadata__"}
    return tensors, json.loads(done.stdout), done.stderr


def clean(*names):
    for name in names:
        shutil.rmtree(name, ignore_errors=True)


def test_trained_models_predict_what_numpy_does():
    graph = make_graph("made", "f16")
    for kind in KINDS:
        tensors, _, said = train("made", kind, "--fanout", "4,3", "--batch", 50, "--epochs", 2)
        assert any("lin_edge" in key or key.endswith(".0.lin.weight") for key in tensors), list(tensors)
        assert "no effect" not in said, said
        got, _ = predict("made", "trained/checkpoint.safetensors", "--memory", "128M")
        worst = near(got, logits(kind, graph[0], tensors, *graph[1:]), kind)
        sampled = json.loads(run("eval", "made", "--checkpoint", "trained/checkpoint.safetensors", "--split", "valid", "--fanout", "-1,-1", "--json").stdout)
        full = json.loads(run("eval", "made", "--checkpoint", "trained/checkpoint.safetensors", "--split", "valid", "--full", "--json").stdout)
        assert abs(sampled["loss"] - full["loss"]) < 1e-5 * full["loss"] and sampled["acc"] == full["acc"], (sampled, full)
        print(f"{kind}: trained, whole-graph logits within {worst:.1e}")
        clean("trained")


def test_same_bits_whatever_moves_the_rows():
    make_graph("made")
    common = "--fanout", "4,3", "--batch", 40, "--epochs", 2, "--accumulate", 2
    ways = [["--cache", "0"], ["--cache", "20%", "--policy", "lru"], ["--cache", "30%", "--policy", "belady"], ["--topology", "disk"],
            ["--executors", 2], ["--pipeline", "none"], ["--threads", 1]]
    for kind in "gatv2", "gine":
        want, _, _ = train("made", kind, *common, name="first")
        for way in ways:
            got, _, _ = train("made", kind, *common, *way, name="other")
            assert all(np.array_equal(got[key], want[key]) for key in want), (kind, way)
            clean("other")
        clean("first")


def plant(name, typed):
    """A node has an in-neighbour of each class, one of them along a marked edge: its label. Without marks all nodes are alike. typed: neighbours are of a type
    of their own, and nodes have edges among themselves, without rows."""
    sources, nodes = 60 * CLASSES, 1200
    kind_of = np.repeat(np.arange(CLASSES), sources // CLASSES)
    feat = np.concatenate([np.eye(CLASSES)[kind_of], np.zeros((nodes, CLASSES))]).astype(np.float32)
    label = rng.integers(0, CLASSES, nodes)
    src = rng.integers(0, sources // CLASSES, (nodes, CLASSES)) + np.arange(CLASSES) * (sources // CLASSES)
    dst = np.repeat(np.arange(nodes) + sources, CLASSES)
    marked = (np.arange(CLASSES) == label[:, None]).ravel()
    ids = rng.permutation(nodes) + sources
    clean("source")
    os.makedirs("source")
    for what, array in {"edges": np.stack([src.ravel(), dst], 1), "feat": feat, "label": np.r_[kind_of, label],
                        "edge_attr": np.stack([marked, ~marked], 1).astype(np.float32), "train": ids[:800], "valid": ids[800:1000], "test": ids[1000:]}.items():
        np.save(f"source/{what}.npy", array)
    if typed:
        ends = np.load("source/edges.npy")
        own = rng.integers(sources, sources + nodes, (900, 2))
        os.rename("source/edge_attr.npy", "source/edge_attr_word__in__item.npy")
        np.save("source/edges.npy", np.concatenate([ends, own]))
        np.save("source/edge_type.npy", np.repeat([0, 1], [len(ends), len(own)]))
        np.save("source/node_type.npy", np.repeat([1, 0], [sources, nodes]))
        names = {"node_types": [{"type": 0, "name": "item"}, {"type": 1, "name": "word"}],
                 "edge_types": [{"edge_type": 0, "name": "in"}, {"edge_type": 1, "name": "like"}]}
        pathlib.Path("source/meta.json").write_text(json.dumps(names))
    run("import", "npy", "source", name, "--quiet")


def test_labels_that_only_edges_have():
    for name, kinds in ("planted", KINDS), ("typed", ("gatv2", "transformer")):
        plant(name, name == "typed")
        options = "--fanout", "4", "--batch", 100, "--epochs", 40, "--lr", 0.02, "--dropout", 0
        reached = {kind: train(name, kind, *options, name=kind)[1]["test_acc"] for kind in kinds}
        without = train(name, "gat", *options, "--edge-features", "off", name="without")[1]["test_acc"]
        print(f"{name}:", {k: round(v, 3) for k, v in reached.items()}, "without", round(without, 3))
        assert min(reached.values()) > 0.9, reached
        assert without < 0.4, without
        clean("without", *kinds)


def test_options_and_devices():
    make_graph("made")
    options = "--fanout", "3,3", "--epochs", 1
    off, _, said = train("made", "gat", *options, "--edge-features", "off", name="off")
    assert "convs.0.lin_edge.weight" not in off and "no effect" not in said, said
    said = run("train", "made", "--model", "sage", *options, "--run", "sage").stderr
    assert "features of edges have no effect: models gat, gatv2, gine and transformer use them" in said, said
    _, _, said = train("made", "gat", *options, "--device", "virtual", name="device")
    assert "features of edges have no effect: devices do not compute with them yet" in said, said
    said = run("train", "made", "--model", "gat", *options, "--device", "virtual", "--edge-features", "on", "--run", "never", fails=True).stderr
    assert "features of edges: devices do not compute with them yet" in said, said
    make_graph("plain", edges=False)
    said = run("eval", "plain", "--checkpoint", "off/checkpoint.safetensors", "--split", "valid").stderr
    assert "edges" not in said, said
    said = run("train", "plain", "--model", "gatv2", *options, "--edge-features", "on", "--run", "never", fails=True).stderr
    assert "plain: has no features of edges, which --model gatv2 requires" in said, said
    clean("off", "sage", "device")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test()
        print("edge_attr: ok")
