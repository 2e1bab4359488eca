#!/usr/bin/env python3
"""Training on heterogeneous graphs: results by NumPy; bit-identical however rows and lists come; what is refused.

Results are those that NumPy computes from the dataset's files and the checkpoint's tensors. These are accuracy and loss of `eval` with all neighbours, and
logits of `predict`. Nothing here knows how the library samples, gathers or computes. The rows of an epoch are those of its samples.

    typed_train.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import shutil
import struct
import sys
import tempfile

from typed_command import SANITIZED, refused, run, some

try:
    import numpy as np
except ImportError:
    sys.exit(77)

RUN = ["--epochs", 3, "--batch", 50, "--fanout", "4,3", "--hidden", 12, "--threads", 2, "--memory", "120M", "--lr", 0.01]
FULL = ["paper:900:20", "author:700:8", "venue:30:5"]
BARE = ["paper:900:20", "author:700", "venue:30:5"]
RELATIONS = ["author:writes:paper:3", "paper:cites:paper:4", "paper:written.by:author:2", "venue:has:paper:1", "paper:at:venue:5"]


def train(graph, name, *more):
    run("train", graph, *RUN, *more, "--run", name)
    return json.loads(pathlib.Path(name, "summary.json").read_text())


def tensors(path):
    data = pathlib.Path(path).read_bytes()
    n, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + n])
    out = {}
    for name, t in header.items():
        if name != "__metadata__":
            first, last = t["data_offsets"]
            out[name] = np.frombuffer(data[8 + n + first:8 + n + last], np.float32).reshape(t["shape"]).astype(np.float64)
    return out


# ---- the model, by all neighbours ----

class Graph:
    def __init__(self, folder):
        self.folder, meta = folder, json.loads(pathlib.Path(folder, "meta.json").read_text())
        self.types = [t["name"] for t in meta["node_types"]]
        self.count = {t["name"]: t["count"] for t in meta["node_types"]}
        self.relations = [(r["source"], r["name"], r["destination"]) for r in meta["relations"]]
        self.x = {}
        for i, name in enumerate(self.types):
            if os.path.exists(f"{folder}/features_{i}.npy"):
                self.x[name] = np.load(f"{folder}/features_{i}.npy").astype(np.float64)

    def edges(self, r):
        """Sources, destinations and how many destinations there are."""
        indptr, indices = np.load(f"{self.folder}/rel{r}_indptr.npy"), np.load(f"{self.folder}/rel{r}_indices.npy")
        return indices, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), len(indptr) - 1


def parameter(l, relation, name):
    return f"convs.{l}.convs.<{'___'.join(relation).replace('.', '#')}>.{name}"


def total(n, dst, rows):
    out = np.zeros((n, *rows.shape[1:]))
    np.add.at(out, dst, rows)
    return out


def sage_conv(p, src, dst, n, x, own, last):
    degree = np.bincount(dst, minlength=n)
    return total(n, dst, x[src]) / np.maximum(degree, 1)[:, None] @ p("lin_l.weight").T + p("lin_l.bias") + own @ p("lin_r.weight").T


def gat_conv(p, src, dst, n, x, own, last):
    """Between two types without loops; else a loop stands for a node's edges to itself."""
    heads, width = p("att_src").shape[1:]
    if p("lin.weight") is not None:
        other, loops = src != dst, np.arange(n)
        src, dst = np.concatenate([src[other], loops]), np.concatenate([dst[other], loops])
    z, of_own = (rows @ (p("lin.weight") if p("lin.weight") is not None else p(name)).T
                 for rows, name in ((x, "lin_src.weight"), (own, "lin_dst.weight")))
    z, of_own = z.reshape(-1, heads, width), of_own.reshape(-1, heads, width)
    score = (z * p("att_src")).sum(2)[src] + (of_own * p("att_dst")).sum(2)[dst]
    return attended(z, leaky(score), src, dst, n, last) + p("bias")


def leaky(x):
    return np.where(x > 0, x, 0.2 * x)


def attended(z, score, src, dst, n, last):
    e = np.exp(score)
    y = total(n, dst, (e / total(n, dst, e)[dst])[:, :, None] * z[src])
    return y.mean(1) if last else y.reshape(n, -1)


def gatv2_conv(p, src, dst, n, x, own, last):
    """A matrix each of sources and destinations; loops as GAT has them."""
    if x is own:
        other, loops = src != dst, np.arange(n)
        src, dst = np.concatenate([src[other], loops]), np.concatenate([dst[other], loops])
    z, of_own = ((rows @ p(f"lin_{side}.weight").T + p(f"lin_{side}.bias")).reshape(-1, *p("att").shape[1:]) for rows, side in ((x, "l"), (own, "r")))
    return attended(z, (leaky(z[src] + of_own[dst]) * p("att")).sum(2), src, dst, n, last) + p("bias")


def gcn_conv(p, src, dst, n, x, own, last):
    """GCN of a relation, by how many edges leave a source and end in a destination. Within a type a loop stands for a node's edges to itself."""
    if x is own:
        other, loops = src != dst, np.arange(n)
        src, dst = np.concatenate([src[other], loops]), np.concatenate([dst[other], loops])
    ends = np.bincount(dst, minlength=n)
    begins = ends if x is own else np.bincount(src, minlength=len(x))
    return total(n, dst, x[src] / np.sqrt(begins[src] * ends[dst])[:, None]) @ p("lin.weight").T + p("bias")


def rgcn(graph, p, layers, residual):
    """All types as one matrix."""
    hidden = None
    first = dict(zip(graph.types, np.cumsum([0] + [graph.count[name] for name in graph.types])))
    rows = [p[f"embeddings.{name}.weight"] if f"embeddings.{name}.weight" in p else graph.x[name] for name in graph.types]
    lins = [[p.get(f"lins.{name}.{what}") for what in ("weight", "bias")] for name in graph.types]
    x = np.concatenate([x if weight is None else x @ weight.T + bias for x, (weight, bias) in zip(rows, lins)])
    for l in range(layers):
        weight = p[f"convs.{l}.weight"]
        if f"convs.{l}.comp" in p:
            weight = np.einsum("rb,bio->rio", p[f"convs.{l}.comp"], weight)
        y = x @ p[f"convs.{l}.root"] + p[f"convs.{l}.bias"]
        for r, (source, _, destination) in enumerate(graph.relations):
            src, dst, n = graph.edges(r)
            mean = total(n, dst, x[first[source] + src]) / np.maximum(np.bincount(dst, minlength=n), 1)[:, None]
            y[first[destination]:first[destination] + n] += mean @ weight[r]
        if residual:
            y += x @ p[f"skips.{l}.weight"].T if f"skips.{l}.weight" in p else x
        if l < layers - 1 and f"norms.{l}.weight" in p:
            norm = [p[f"norms.{l}.{what}"] for what in ("running_mean", "running_var", "weight", "bias")]
            y = (y - norm[0]) / np.sqrt(norm[1] + 1e-5) * norm[2] + norm[3]
        x = y if l == layers - 1 else np.maximum(y, 0)
        hidden = x if l == layers - 2 else hidden
    return x[:graph.count[graph.types[0]]], hidden[:graph.count[graph.types[0]]]


def end(p, l, name, y, elu):
    """A hidden layer: batch norm by running statistics, then the activation."""
    norm = {what: p.get(f"norms.{l}.{name}.{what}") for what in ("weight", "bias", "running_mean", "running_var")}
    if norm["weight"] is not None:
        y = (y - norm["running_mean"]) / np.sqrt(norm["running_var"] + 1e-5) * norm["weight"] + norm["bias"]
    return np.where(y > 0, y, np.expm1(np.minimum(y, 0)) if elu else 0)


def model(graph, p, layers, residual=False):
    """For all nodes of the first type: logits, and what the last layer reads."""
    hidden = None
    if "convs.0.root" in p:
        return rgcn(graph, p, layers, residual)
    gatv2, elu = (any(name.endswith(end) for name in p) for end in (".att", (".att", ".att_src")))
    conv = gatv2_conv if gatv2 else gat_conv if elu else sage_conv if any(name.endswith(".lin_l.weight") for name in p) else gcn_conv
    x = dict(graph.x)
    x.update({name: p[f"embeddings.{name}.weight"] for name in graph.types if f"embeddings.{name}.weight" in p})
    for l in range(layers):
        y = {}
        for r, relation in enumerate(graph.relations):
            source, _, destination = relation
            if not any(name.startswith(parameter(l, relation, "")) for name in p):
                continue
            made = conv(lambda name: p.get(parameter(l, relation, name)), *graph.edges(r), x[source], x[destination], l == layers - 1)
            if residual and destination not in y:
                skip = p.get(f"skips.{l}.{destination}.weight")
                made = made + (x[destination] if skip is None else x[destination] @ skip.T)
            y[destination] = y[destination] + made if destination in y else made
        x = y if l == layers - 1 else {name: end(p, l, name, rows, elu) for name, rows in y.items()}
        hidden = x if l == layers - 2 else hidden
    return x[graph.types[0]], hidden[graph.types[0]]


def check_evaluation(folder, checkpoint, layers, residual=False):
    graph, p = Graph(folder), tensors(checkpoint)
    nodes, labels = np.load(f"{folder}/test.npy"), np.load(f"{folder}/labels.npy")
    logits = model(graph, p, layers, residual)[0][nodes]
    loss = np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1)) + logits.max(1) - logits[np.arange(len(nodes)), labels[nodes]]
    got = json.loads(run("eval", folder, "--checkpoint", checkpoint, "--fanout", ",".join(["-1"] * layers), "--memory", "200M", "--json"))
    assert abs(got["loss"] / loss.mean() - 1) < 1e-5, (got["loss"], loss.mean())
    assert abs(got["acc"] - (logits.argmax(1) == labels[nodes]).mean()) < 1.5 / len(nodes), got["acc"]
    full = json.loads(run("eval", folder, "--checkpoint", checkpoint, "--full", "--batch", 64, "--memory", "200M", "--json"))
    assert abs(full["loss"] / loss.mean() - 1) < 1e-5 and full["labelled"] == len(nodes) and full["metrics"]["acc"] == full["acc"], full
    for name, value in (("fanout", "5,5"), ("sampler", "labor"), ("draw", "once")):
        said = refused("eval", folder, "--checkpoint", checkpoint, "--full", f"--{name}", value)
        assert f"--{name}: eval --full takes all neighbours" in said, said


def check_predictions(folder, checkpoint, layers, name, *way, residual=False):
    graph = Graph(folder)
    fanout = ",".join(["-1"] * layers)
    run("predict", folder, "--checkpoint", checkpoint, "--fanout", fanout, "--memory", "200M", "--out", name, "--embeddings", "hidden-" + name, *way)
    for got, want in zip((np.load(name), np.load("hidden-" + name)), model(graph, tensors(checkpoint), layers, residual)):
        assert got.shape == want.shape and np.abs(got - want).max() < 1e-5 * np.abs(want).max(), np.abs(got - want).max()


# ---- tests ----

def numbers(name):
    lines = [json.loads(line) for line in pathlib.Path(name, "metrics.jsonl").read_text().splitlines()]
    return [(line.get("loss"), line.get("valid_loss"), line.get("valid_acc")) for line in lines]


WAYS = {
    "none": ["--policy", "none"],
    "random": ["--policy", "random", "--cache", "20K"],
    "presc": ["--policy", "presc", "--cache", "25%"],
    "pagerank": ["--policy", "pagerank", "--cache", "20K", "--topology", "disk"],
    "scores": ["--policy", "file:scores.npy", "--cache", "25%"],
    "disk": ["--policy", "degree", "--cache", "30K", "--topology", "disk"],
    "lru": ["--policy", "lru", "--cache", "20K"],
    "rr": ["--policy", "rr", "--cache", "30%", "--topology", "disk"],
    "sieve": ["--policy", "sieve", "--cache", "25%", "--pipeline", "none"],
    "s3fifo": ["--policy", "s3fifo", "--cache", "30K", "--threads", 1],
    "clock": ["--policy", "clock", "--cache", "10%"],
    "belady": ["--policy", "belady", "--cache", "20K"],
    "frequency": ["--policy", "frequency", "--cache", "25%", "--topology", "disk"],
    "hybrid": ["--policy", "hybrid", "--cache", "20K", "--window", 5],
    "sweep": ["--policy", "sweep", "--cache", "50%"],
    "sweep, little": ["--policy", "sweep", "--cache", "10%", "--superbatch", 5, "--topology", "disk", "--phased-memory"],
    "parts": ["--policy", "belady", "--cache", "10%", "--superbatch", 4, "--threads", 1],
    "one by one": ["--policy", "belady", "--cache", "30K", "--pipeline", "none"],
    "packed": ["--policy", "degree", "--cache", "20K", "--layout", "packed"],
    "packed, nothing kept": ["--policy", "none", "--layout", "packed", "--superbatch", 4, "--topology", "disk"],
    "packed, planned": ["--policy", "belady", "--cache", "30K", "--layout", "packed", "--threads", 1],
    "segmented": ["--policy", "frequency", "--cache", "25%", "--layout", "segmented"],
    "segmented, little disk": ["--policy", "presc", "--cache", "10%", "--layout", "segmented", "--superbatch", 9, "--disk", "650K", "--scratch", "a,b"],
    "segmented, changing": ["--policy", "lru", "--cache", "20K", "--layout", "segmented", "--pipeline", "none", "--io", "pread"],
    "ginex": ["--preset", "ginex", "--cache", "20K"],
    "diskgnn": ["--preset", "diskgnn", "--cache", "25%"],
    "turns": ["--policy", "lru", "--cache", "20K", "--layout", "segmented", "--phased-memory"],
    "one": ["--policy", "none", "--topology", "disk", "--pipeline", "none", "--io", "pread", "--threads", 1],
}


def same_bits_however_rows_come():
    dropped = ["--dropout", 0.3, "--input-dropout", 0.1, "--relation-fanout", "cites=5,2"]
    base = train("full", "all", "--policy", "degree", *dropped)
    assert base["plan"]["cache_rows"] == 1630 and all(e["misses"] == 0 for e in base["epochs"])
    for name, way in WAYS.items():
        got = train("full", name, *way, *dropped)
        for file in "best.safetensors", "checkpoint.safetensors":
            assert tensors(f"{name}/{file}").keys() == tensors(f"all/{file}").keys()
            for key, value in tensors(f"{name}/{file}").items():
                assert np.array_equal(value, tensors(f"all/{file}")[key]), (name, key)
        assert numbers(name) == numbers("all"), name
        assert SANITIZED or got["peak_rss_bytes"] <= 120 << 20, (name, got["peak_rss_bytes"])
        for a, b in zip(got["epochs"], base["epochs"]):
            assert a["rows"] == a["hits"] + a["misses"] == b["rows"]
            assert a["misses"] > 0 and a["bytes_read"] > 0, name


def packs_serve_epochs_that_train_on_the_same_batches():
    """Three epochs of one draw: what is missed is packed once; damaged packs are none's."""
    again = ["--resample-every", 3, "--dropout", 0.3]
    base = train("full", "reused", "--policy", "degree", *again)
    for i, way in enumerate((["packed", "--policy", "frequency"], ["segmented", "--policy", "frequency"], ["packed", "--policy", "degree"],
                             ["segmented", "--policy", "none"], ["packed", "--policy", "belady"])):
        got = train("full", f"reused{i}", "--layout", *way, *([] if "none" in way else ["--cache", "20K"]), *again)
        assert pathlib.Path(f"reused{i}/checkpoint.safetensors").read_bytes() == pathlib.Path("reused/checkpoint.safetensors").read_bytes(), way
        assert numbers(f"reused{i}") == numbers("reused")
        assert all(e["misses"] > 0 and e["rows"] == e["hits"] + e["misses"] == base["epochs"][0]["rows"] for e in got["epochs"]), way
        if way[-1] != "belady":  # which plans each epoch by itself
            assert len({e["feature_bytes_read"] for e in got["epochs"]}) == 1, way
            assert got["epochs"][0]["feature_bytes_read"] == got["plan"]["predicted"]["feature_bytes_read"], way


def packs_keep_within_the_disk():
    """A superbatch that does not fit says how much would do, and that does; no file is left."""
    os.makedirs("small", exist_ok=True)
    for layout in "packed", "segmented":
        way = ["--policy", "none", "--layout", layout, "--superbatch", "all", "--scratch", "small"]
        said = refused("train", "full", *RUN, *way, "--disk", "200K", "--run", "no")
        enough = said.split("give --disk ")[1].split(",")[0]
        train("full", f"enough-{layout}", *way, "--disk", enough)
        assert not list(pathlib.Path("small").iterdir()) and not os.path.exists("no")


def one_type_and_one_relation_has_the_bits_of_none():
    """The same graph, said to have types: a dataset of format 2, made by hand."""
    run("generate", "plain", "--nodes", 900, "--degree", 6, "--dim", 14, "--classes", 4, "--train-fraction", 0.3)
    shutil.copytree("plain", "single")
    for name in "indptr", "indices", "features":
        os.rename(f"single/{name}.npy", "single/features_0.npy" if name == "features" else f"single/rel0_{name}.npy")
    pathlib.Path("single/meta.json").write_text(json.dumps({
        "format": 2, "node_types": [{"name": "node", "count": 900}], "num_classes": 4,
        "relations": [{"source": "node", "name": "to", "destination": "node"}]}))
    gat = ["gat", "--heads", 3, "--attention-dropout", 0.2]
    for i, kind in enumerate((["sage"], ["sage", "--aggregator", "max"], ["gin"], gat, [*gat, "--residual", "--norm", "batch"],
                              ["sage", "--residual", "--norm", "layer"],
                              ["gat", "--heads", 1, "--fanout", "3,3,3", "--residual"],  # which attends to inputs of the second layer
                              ["gcn", "--fanout", "3,2,4", "--sampler", "labor"], ["gcn", "--norm", "batch", "--fanout", "3,-1"],
                              ["gatv2", "--heads", 3, "--attention-dropout", 0.2, "--residual", "--norm", "batch"])):
        options = ["--policy", "degree", "--dropout", 0.3, "--input-dropout", 0.2, "--draw", ["each", "once"][i % 2], "--model", *kind]
        plain, typed = train("plain", f"plain{i}", *options), train("single", f"single{i}", *options)
        assert numbers(f"plain{i}") == numbers(f"single{i}") and plain["test_metrics"] == typed["test_metrics"]
        a, b = tensors(f"plain{i}/checkpoint.safetensors"), tensors(f"single{i}/checkpoint.safetensors")
        of_relation = {name.replace(".convs.<node___to___node>", "").replace(".node.", "."): value for name, value in b.items()}
        assert a.keys() == of_relation.keys(), kind
        assert all(np.array_equal(a[name], of_relation[name]) for name in a), kind
    for policy in "pagerank", "file:mine.npy":
        np.save("mine.npy", np.random.default_rng(1).normal(size=900))
        a, b = (json.loads(run("plan", graph, *RUN, "--policy", policy, "--cache", "20%", "--json"))["predicted"] for graph in ("plain", "single"))
        assert all(a[key] == b[key] for key in a if key != "seconds") and a["hits"] > 0, (policy, a, b)


def plans_tell_what_is_read():
    """A plan has a row a type, and their sum: exactly what the first epoch reads. Its batches are sampled in advance."""
    few = [*RUN[:2], "--batch", 100, *RUN[4:], "--embedding", 6]
    for i, way in enumerate(([], ["--policy", "none"], ["--policy", "presc", "--cache", "25%"], ["--policy", "degree", "--cache", "20K", "--topology", "disk"],
                             ["--policy", "pagerank", "--cache", "20K"], ["--policy", "file:scores.npy", "--cache", "10%", "--topology", "disk"],
                             ["--policy", "lru", "--cache", "20K"], ["--policy", "rr", "--cache", "30%"], ["--policy", "sieve", "--cache", "10%"],
                             ["--policy", "s3fifo", "--cache", "20K", "--topology", "disk"], ["--policy", "clock", "--cache", "500"],
                             ["--policy", "belady", "--cache", "20K"], ["--policy", "frequency", "--cache", "10%", "--topology", "disk"],
                             ["--policy", "hybrid:static", "--cache", "20K"], ["--policy", "sweep", "--cache", "40%"], ["--policy", "sweep", "--cache", "10K"],
                             ["--preset", "lsm-gnn", "--cache", "10%", "--window", 3],
                             ["--policy", "degree", "--cache", "20K", "--layout", "packed"], ["--policy", "none", "--layout", "packed"],
                             ["--policy", "belady", "--cache", "20K", "--layout", "packed"], ["--policy", "presc", "--cache", "20K", "--layout", "segmented"],
                             ["--policy", "frequency", "--cache", "10%", "--layout", "segmented", "--topology", "disk"])):
        plan = json.loads(run("plan", "bare", *few, *way, "--json"))
        run("train", "bare", *few, *way, "--run", f"planned{i}")
        summary = json.loads(pathlib.Path(f"planned{i}/summary.json").read_text())
        first = summary["epochs"][0]
        told, types = plan["predicted"], plan["types"]
        kept = [[t[key] for key in ("name", "nodes", "row_bytes", "cache_rows", "cache_bytes")] for t in types]
        assert kept == [[t[key] for key in ("name", "nodes", "row_bytes", "cache_rows", "cache_bytes")] for t in summary["plan"]["types"]]
        if summary["plan"]["predicted"]:
            assert types == summary["plan"]["types"]
        else:  # a cache that changes: what it reads is known once an epoch is planned, or over
            assert all(t[key] is None for t in summary["plan"]["types"] for key in ("rows", "hits", "misses", "reads", "bytes_read"))
        assert [t["name"] for t in types] == ["paper", "author", "venue"]
        for key in "rows", "hits", "misses":
            assert told[key] == first[key] == sum(t[key] for t in types), (way, key, told[key], first[key])
        assert told["feature_bytes_read"] == first["feature_bytes_read"] == sum(t["bytes_read"] for t in types), (way, told, first)
        assert sum(t["cache_rows"] for t in types) == plan["cache_rows"] and types[1]["learnt"] and types[1]["row_bytes"] == 0
        assert [t["row_bytes"] for t in types] == [80, 0, 20]
        assert sum(t["cache_bytes"] for t in types) == plan["memory"]["feature cache"]
        said = run("plan", "bare", *few, *way)
        assert "author: 700 nodes, with learnable embeddings" in said and "venue: memory holds" in said, said


def rows_are_those_of_samples():
    """For types with features, in each epoch."""
    got = train("bare", "counted", "--embedding", 6, "--policy", "none")
    run("sample", "bare", *RUN[:6], *RUN[8:12], "--out", "trace")
    ids, ptr = np.load("trace/ids.npy"), np.load("trace/ids_ptr.npy")
    authors = (ids >= 900) & (ids < 1600)
    per_epoch = (len(ptr) - 1) // 3
    for e, row in enumerate(got["epochs"]):
        first, last = ptr[e * per_epoch], ptr[(e + 1) * per_epoch]
        assert row["rows"] == row["misses"] == (~authors[first:last]).sum(), (e, row["rows"])


def samples_made_beforehand():
    """The batches of the run, read back: bit-identical however rows come. What is not what was written is refused."""
    few = [*RUN[:2], *RUN[4:], "--relation-fanout", "cites=3,2", "--embedding", 6, "--dropout", 0.2]
    for turn, (name, more) in enumerate((("once", []), ("drawn", ["--resample-every", 2]))):
        options = [*few, "--batch", 50, *more]
        run("train", "bare", *options, "--run", f"asked-{name}")
        run("sample", "bare", *options, "--out", f"samples-{name}")
        run("verify", f"samples-{name}")
        whole = pathlib.Path(f"asked-{name}/checkpoint.safetensors").read_bytes()
        arrays = ["ids"] + [f"hop{h}_{what}" for h in (1, 2) for what in ("src", "dst", "rel")]
        lists = sum(np.load(f"samples-{name}/{array}.npy").nbytes for array in arrays)
        for i, way in some(enumerate(([], ["--topology", "disk", "--policy", "lru", "--cache", "20K"], ["--policy", "belady", "--cache", "20K", "--superbatch", 3],
                                 ["--policy", "frequency", "--cache", "20K", "--layout", "packed"], ["--policy", "none", "--layout", "segmented"],
                                 ["--policy", "degree", "--layout", "packed", "--cache", "10K"], ["--trainers", 2],
                                 ["--phased-memory", "--policy", "belady", "--cache", "20K", "--layout", "packed"])), turn, 2):
            here = f"read-{name}{i}"
            run("train", "bare", *options, "--samples", f"samples-{name}", *way, "--run", here)
            assert pathlib.Path(here, "checkpoint.safetensors").read_bytes() == whole, (name, way)
            epochs = json.loads(pathlib.Path(here, "summary.json").read_text())["epochs"]
            draws = epochs[::2] if more else epochs
            assert all(e["topology_bytes_read"] == 0 for e in epochs), way
            assert sum(e["trace_bytes_read"] for e in draws) == lists or "--phased-memory" in way, (way, lists, [e["trace_bytes_read"] for e in epochs])
        plan = json.loads(run("plan", "bare", *options, "--samples", f"samples-{name}", "--policy", "none", "--json"))
        got = json.loads(pathlib.Path(here, "summary.json").read_text())
        assert plan["predicted"]["rows"] == got["epochs"][0]["rows"], name
    options = [*few, "--batch", 50]
    for file, at in ("hop1_rel", 30), ("hop2_rel", 100), ("hop2_src", 40), ("ids", 60), ("hop1_dst", 20):
        shutil.rmtree("damaged", ignore_errors=True)
        shutil.copytree("samples-once", "damaged")
        a = np.load(f"damaged/{file}.npy", mmap_mode="r+")
        a[at] = a[at] + 1 if a[at] == 0 else a[at] - 1
        a.flush()
        said = refused("train", "bare", *options, "--samples", "damaged", "--run", "no")
        assert "damaged/" in said, (file, said)
        assert not os.path.exists("no/checkpoint.safetensors")
        shutil.rmtree("no", ignore_errors=True)
    os.remove("damaged/hop2_rel.npy")
    assert "hop2_rel" in refused("train", "bare", *options, "--samples", "damaged", "--run", "no")
    assert "relation-fanout" in refused("train", "bare", *[a for a in options if a not in ("--relation-fanout", "cites=3,2")], "--samples", "samples-once", "--run", "no")
    assert "full" in refused("train", "full", *options, "--samples", "samples-once", "--run", "no")


ATTENTION = ["--model", "gat", "--heads", 3, "--residual", "--norm", "batch"]
DYNAMIC = ["--model", "gatv2", *ATTENTION[2:]]


def a_run_goes_on_where_it_stopped():
    for name, more in (("", []), ("-gat", [*ATTENTION, "--attention-dropout", 0.2]), ("-gatv2", [*DYNAMIC, "--attention-dropout", 0.2])):
        options = [*more, "--dropout", 0.2]
        whole = train("full", f"whole{name}", "--policy", "degree", *options)
        run("train", "full", *RUN, "--policy", "degree", *options, "--epochs", 2, "--run", f"part{name}")
        run("train", "full", *RUN, "--policy", "none", *options, "--run", f"part{name}", "--resume")
        assert pathlib.Path(f"part{name}/checkpoint.safetensors").read_bytes() == pathlib.Path(f"whole{name}/checkpoint.safetensors").read_bytes()
        assert json.loads(pathlib.Path(f"part{name}/summary.json").read_text())["test_acc"] == whole["test_acc"]
        run("train", "full", *RUN, *more, "--init", f"whole{name}/best.safetensors", "--run", f"further{name}")


def relations_share_bases():
    """R-GCN: bit-identical however rows come, evaluations and predictions of NumPy, a resumed run. A matrix each relation, and mixed ones; features of one width,
    and of several, which are brought to that of learnable embeddings or of hidden layers."""
    for turn, (name, graph, width, more) in enumerate((("each", "relations", 20, ["--embedding", 20]), ("bases", "full", 12, ["--bases", 2, "--residual", "--norm", "batch"]),
                                                       ("learnt", "bare", 7, ["--bases", 1, "--embedding", 7]))):
        options = ["--model", "rgcn", *more, "--dropout", 0.3, "--input-dropout", 0.1, "--relation-fanout", "cites=5,2"]
        base = train(graph, f"rgcn-{name}", "--policy", "degree", *options)
        whole = pathlib.Path(f"rgcn-{name}/checkpoint.safetensors").read_bytes()
        for i, way in some(enumerate(WAYS.values()), turn, 3):
            got = train(graph, f"rgcn-{name}{i}", *way, *options)
            assert pathlib.Path(f"rgcn-{name}{i}/checkpoint.safetensors").read_bytes() == whole, way
            assert SANITIZED or got["peak_rss_bytes"] <= 120 << 20, (name, got["peak_rss_bytes"])
        run("train", graph, *RUN, "--policy", "degree", *options, "--epochs", 2, "--run", f"rgcn-part-{name}")
        run("train", graph, *RUN, "--policy", "none", *options, "--run", f"rgcn-part-{name}", "--resume")
        assert pathlib.Path(f"rgcn-part-{name}/checkpoint.safetensors").read_bytes() == whole
        p = tensors(f"rgcn-{name}/best.safetensors")
        assert p["convs.0.weight"].shape == ({"each": len(RELATIONS), "bases": 2, "learnt": 1}[name], width, 12)
        brought = {key.split(".")[1]: tensor.shape for key, tensor in p.items() if key.startswith("lins.") and key.endswith("weight")}
        assert brought == {t: (width, n) for t, n in (("paper", 20), ("author", 8), ("venue", 5)) if graph != "relations" and (graph, t) != ("bare", "author")}
        assert base["parameters"] == sum(t.size for key, t in p.items() if "running" not in key and "tracked" not in key)
        check_evaluation(graph, f"rgcn-{name}/best.safetensors", 2, residual=name == "bases")
        check_predictions(graph, f"rgcn-{name}/best.safetensors", 2, f"rgcn-{name}.npy", residual=name == "bases")
        run("train", graph, *RUN, "--model", "rgcn", *more, "--init", f"rgcn-{name}/best.safetensors", "--run", f"rgcn-further-{name}")
    run("generate", "twelve", "--types", "paper:90:12,author:70:8,venue:9:5", "--relations", ",".join(RELATIONS), "--classes", 5, "--train-fraction", 0.3)
    for checkpoint, graph, said in ("each", "bare", "no tensor lins.venue.weight"), ("learnt", "relations", "lins.venue.weight has another shape"), ("bases", "twelve", "lins.paper.weight: a layer for features"):
        assert said in refused("eval", graph, "--checkpoint", f"rgcn-{checkpoint}/best.safetensors"), said
    # so many seeds that threads share the gradients of a matrix that is higher than wide
    run("generate", "wide", "--types", "paper:18000:40,venue:30:40", "--relations", "paper:cites:paper:2,paper:at:venue:5", "--train-fraction", 0.3, "--classes", 3)
    of = [train("wide", f"wide{n}", "--model", "rgcn", "--fanout", "3", "--batch", 5000, "--epochs", 1, "--threads", n)["epochs"][0]["loss"] for n in (1, 3)]
    assert of[0] == of[1], of
    assert "relations" in refused("train", "plain", *RUN, "--model", "rgcn", "--run", "no")
    assert not os.path.exists("no")


def degrees_are_those_of_the_graph():
    """GCN's degrees are counted once, by whoever trains and wherever lists are, and planned as memory. Evaluations and predictions are NumPy's, with batches of
    any size."""
    options = ["--model", "gcn", "--dropout", 0.3, "--relation-fanout", "cites=5,2"]
    base = train("full", "gcn", "--policy", "degree", *options)
    whole = pathlib.Path("gcn/checkpoint.safetensors").read_bytes()
    run("sample", "full", *RUN[:6], *RUN[8:12], *options[4:], "--out", "gcn-samples")
    few = {name: WAYS[name] for name in ("disk", "sweep, little", "packed, nothing kept", "turns", "one")}
    for name, way in (few | {"trainers": ["--trainers", 2], "samples": ["--samples", "gcn-samples", "--phased-memory"], "resumed": ["--resume"]}).items():
        if name == "resumed":
            run("train", "full", *RUN, *options, "--epochs", 2, "--run", "gcn-resumed")
        got = train("full", f"gcn-{name}", *way, *options)
        assert pathlib.Path(f"gcn-{name}/checkpoint.safetensors").read_bytes() == whole, name
        assert SANITIZED or got["peak_rss_bytes"] <= 120 << 20, (name, got["peak_rss_bytes"])
    # by relations that reach papers: two ends between types, one within
    assert base["plan"]["memory"]["degrees"] == 4 * ((700 + 900) + 900 + (900 + 700) + (30 + 900) + (900 + 30)), base["plan"]["memory"]
    check_evaluation("full", "gcn/best.safetensors", 2)
    check_predictions("full", "gcn/best.safetensors", 2, "gcn.npy", "--topology", "disk", "--policy", "none", "--batch", 70)
    run("train", "bare", *RUN, *options[:2], "--fanout", "3,3,3", "--embedding", 6, "--residual", "--norm", "batch", "--run", "gcn-learnt")
    check_evaluation("bare", "gcn-learnt/best.safetensors", 3, residual=True)
    check_predictions("bare", "gcn-learnt/best.safetensors", 3, "gcn-learnt.npy", residual=True)


def evaluations_equal_numpy():
    train("full", "two")
    check_evaluation("full", "two/best.safetensors", 2)
    run("train", "full", *RUN, "--fanout", "3,3,3", "--run", "three")
    check_evaluation("full", "three/best.safetensors", 3)
    learnt = train("bare", "learnt", "--embedding", 6)
    assert tensors("learnt/best.safetensors")["embeddings.author.weight"].shape == (700, 6)
    assert learnt["parameters"] == sum(t.size for t in tensors("learnt/best.safetensors").values())
    check_evaluation("bare", "learnt/best.safetensors", 2)
    train("full", "gat", "--model", "gat", "--heads", 2)
    check_evaluation("full", "gat/best.safetensors", 2)
    run("train", "bare", *RUN, "--fanout", "3,3,3", "--embedding", 6, *ATTENTION, "--run", "gat-learnt")
    check_evaluation("bare", "gat-learnt/best.safetensors", 3, residual=True)
    run("train", "bare", *RUN, "--fanout", "3,3,3", "--embedding", 6, *DYNAMIC, "--run", "gatv2-learnt")
    check_evaluation("bare", "gatv2-learnt/best.safetensors", 3, residual=True)
    train("full", "gatv2", "--model", "gatv2", "--heads", 2)
    check_evaluation("full", "gatv2/best.safetensors", 2)
    train("apart", "gat-apart", "--model", "gat", "--heads", 2, "--norm", "batch")  # each relation is between two types, and one has a name of PyTorch's
    check_evaluation("apart", "gat-apart/best.safetensors", 2)


def predictions_equal_numpy():
    """Every node of the target type, in the order of their ids."""
    check_predictions("full", "two/best.safetensors", 2, "two.npy")
    check_predictions("full", "two/best.safetensors", 2, "again.npy", "--policy", "none", "--topology", "disk", "--batch", 70)
    assert np.array_equal(np.load("two.npy").argmax(1), np.load("again.npy").argmax(1))
    check_predictions("bare", "learnt/best.safetensors", 2, "learnt.npy")
    check_predictions("bare", "gat-learnt/best.safetensors", 3, "gat.npy", "--policy", "none", "--topology", "disk", residual=True)
    check_predictions("bare", "gatv2-learnt/best.safetensors", 3, "gatv2.npy", "--policy", "none", "--topology", "disk", residual=True)
    assert "two.npy" in refused("predict", "full", "--checkpoint", "two/best.safetensors", "--out", "two.npy")
    assert "two names" in refused("predict", "full", "--checkpoint", "two/best.safetensors", "--out", "e.npy", "--embeddings", "./e.npy")
    assert "hidden-two.npy" in refused("predict", "full", "--checkpoint", "two/best.safetensors", "--out", "e.npy", "--embeddings", "hidden-two.npy")
    refused("predict", "bare", "--checkpoint", "two/best.safetensors", "--out", "e.npy")  # of another graph
    assert not os.path.exists("e.npy")


def what_there_is_not_says_so():
    assert "--embedding" in refused("train", "bare", *RUN, "--run", "no")
    assert "width" in refused("train", "full", *RUN, "--model", "gin", "--run", "no")
    assert "--aggregator gcn" in refused("train", "full", *RUN, "--model", "sage", "--aggregator", "gcn", "--run", "no")
    for option in (["--policy", "file:few.npy"], ["--memory", "20M"]):
        refused("train", "full", *RUN, *option, "--run", "no")
        assert not os.path.exists("no"), option
    assert "all neighbours" in refused("eval", "full", "--checkpoint", "two/best.safetensors", "--full", "--relation-fanout", "cites=2,2")
    said = refused("eval", "bare", "--checkpoint", "two/best.safetensors")  # of another graph
    assert "no learnable embeddings" in said and "--embedding" not in said, said


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        np.save("scores.npy", np.random.default_rng(1).normal(size=1630).astype(np.float32))  # a number a node, of all types
        np.save("few.npy", np.zeros(900))
        for name, types in (("full", FULL), ("bare", BARE)):
            run("generate", name, "--types", ",".join(types), "--relations", ",".join(RELATIONS), "--classes", 5,
                "--train-fraction", 0.3)
        run("generate", "relations", "--types", "paper:900:20,author:700,venue:30:20", "--relations", ",".join(RELATIONS), "--classes", 5,
            "--train-fraction", 0.3)
        run("generate", "apart", "--types", "paper:900:20,module:700:8", "--relations", "module:writes:paper:3,paper:written.by:module:2",
            "--classes", 5, "--train-fraction", 0.3)
        for test in (same_bits_however_rows_come, packs_serve_epochs_that_train_on_the_same_batches, packs_keep_within_the_disk, one_type_and_one_relation_has_the_bits_of_none, plans_tell_what_is_read, rows_are_those_of_samples, samples_made_beforehand, a_run_goes_on_where_it_stopped, relations_share_bases, degrees_are_those_of_the_graph,
                     evaluations_equal_numpy, predictions_equal_numpy, what_there_is_not_says_so):
            test()
            print("ok", test.__name__)


main()
