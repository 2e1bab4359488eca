#!/usr/bin/env python3
"""Models that use features of edges: whole-graph logits against NumPy, in any memory, and what is refused.

    edge_attr.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
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
    os.makedirs("source", exist_ok=True)
    ends = rng.integers(0, N - 20, (E, 2))
    ends[:40] = ends[40:80]
    ends[80:110, 1] = ends[80:110, 0]
    arrays = {"edges": ends, "feat": rng.standard_normal((N, DIM)).astype(np.float32), "label": rng.integers(0, CLASSES, N), "train": np.arange(0, N, 2),
              "edge_attr": (rng.integers(-64, 65, (E, EDGE_DIM)) / 32).astype(np.float32)}
    for what, array in arrays.items():
        if edges or what != "edge_attr":
            np.save(f"source/{what}.npy", array)
        elif os.path.exists(f"source/{what}.npy"):
            os.unlink(f"source/{what}.npy")
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
    np.save("some.npy", np.arange(5))
    said = run("predict", "f32", "--checkpoint", "given.safetensors", "--out", "logits.npy", "--nodes", "some.npy", fails=True).stderr
    assert "--nodes: not yet with a model that uses features of edges" in said, said
    said = run("predict", "f32", "--checkpoint", "given.safetensors", "--out", "logits.npy", "--device", "virtual", fails=True).stderr
    assert "--model gatv2: the backend virtual does not use features of edges yet" in said, said
    said = run("train", "plain", "--model", "gine", "--fanout", "3,3", "--epochs", 1, "--run", "never", fails=True).stderr
    assert "--model gine: requires features of edges" in said, said


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test()
        print("edge_attr: ok")
