#!/usr/bin/env python3
"""--edge-weights: whole-graph logits against NumPy, with weights of 1 and with weights times 7. Results are bit-identical whatever moves the bytes. Also what
is read, and what is refused.

    edge_weights.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = os.path.abspath(sys.argv[1])
N, CLASSES, HIDDEN = 300, 4, 8
MODELS = {"gcn": [], "sage": [], "sage max": ["--aggregator", "max"], "sage gcn": ["--aggregator", "gcn"], "gin": [], "gat": ["--heads", 2], "gatv2": ["--heads", 2]}
count = 0


def run(*args, fails=False):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (args, done.stderr)
    return done


def model_of(name):
    return ["--model", name.split()[0], *MODELS[name]]


class Run:
    """Results of training: tensors, losses and figures of each epoch, and what it said."""

    def __init__(self, graph, *options, fanout="3,3", epochs=2):
        global count
        count += 1
        self.folder = f"run{count}"
        done = run("train", graph, "--fanout", fanout, "--hidden", HIDDEN, "--batch", 40, "--epochs", epochs, "--memory", "300M" if graph == "typed" else "128M", "--run", self.folder, "--json", *options)
        told = json.loads(done.stdout)
        self.said, self.epochs = done.stderr, told["epochs"]
        self.losses = [e["loss"] for e in self.epochs]
        data = pathlib.Path(self.folder, "checkpoint.safetensors").read_bytes()
        size = int.from_bytes(data[:8], "little")
        self.head, self.data, self.file = json.loads(data[8:8 + size]), data[8 + size:], data

    def tensors(self):
        return {name: np.frombuffer(self.data[slice(*t["data_offsets"])], np.float32).reshape(t["shape"]).astype(np.float64)
                for name, t in self.head.items() if name != "__metadata__"}


# ---- what convolutions are ----

def lists(graph, weights="weights.npy"):
    """A relation, in the order of its lists: sources, destinations, weights."""
    ptr = np.load(f"{graph}_indptr.npy" if graph.startswith("typed/") else f"{graph}/indptr.npy")
    folder = graph + "_" if graph.startswith("typed/") else graph + "/"
    return np.load(f"{folder}indices.npy").astype(int), np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)), np.load(folder + weights).astype(np.float64)


def summed(rows, dst, n):
    out = np.zeros((n, *rows.shape[1:]))
    np.add.at(out, dst, rows)
    return out


def relu(x):
    return np.maximum(x, 0)


def divided(x, by):
    return x / np.where(by > 0, by, 1)[:, None] * (by > 0)[:, None]


def conv(name, how, x, p, edges, last):
    src, dst, w = edges
    n, other = len(x), edges[0] != edges[1]
    column = w[:, None]
    if name == "gcn":
        loop = np.ones(n)
        loop[dst[~other]] = w[~other]  # of several the last
        d = loop + np.bincount(dst[other], w[other], n)
        norm = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
        z = x @ p["lin.weight"].T
        return summed((column * norm[src][:, None] * norm[dst][:, None] * z[src])[other], dst[other], n) + (loop * norm**2)[:, None] * z + p["bias"]
    if name == "sage":
        mean = divided(summed(column * x[src], dst, n), np.bincount(dst, w if how == "mean" else None, n))
        return mean @ p["lin_l.weight"].T + p["lin_l.bias"] + x @ p["lin_r.weight"].T
    if name == "sage gcn":
        return ((summed((column * x[src])[other], dst[other], n) + x) / (1 + np.bincount(dst[other], minlength=n))[:, None]) @ p["lin_l.weight"].T + p["lin_l.bias"]
    if name == "sage max":
        t, a = relu(x @ p["lin.weight"].T + p["lin.bias"]), np.zeros((n, x.shape[1]))
        np.maximum.at(a, dst, column * t[src])
        return a @ p["lin_l.weight"].T + p["lin_l.bias"] + x @ p["lin_r.weight"].T
    if name == "gin":
        z = summed(column * x[src], dst, n) + (1 + p["eps"]) * x
        return relu(z @ p["nn.0.weight"].T + p["nn.0.bias"]) @ p["nn.2.weight"].T + p["nn.2.bias"]
    heads = 2
    src, dst, w = np.r_[src[other], np.arange(n)], np.r_[dst[other], np.arange(n)], np.r_[w[other], np.ones(n)]
    leaky = lambda s: np.where(s > 0, s, 0.2 * s)
    if name == "gat":
        z = (x @ p["lin.weight"].T).reshape(n, heads, -1)
        score = leaky((z * p["att_src"]).sum(-1)[src] + (z * p["att_dst"]).sum(-1)[dst])
    else:
        z = (x @ p["lin_l.weight"].T + p["lin_l.bias"]).reshape(n, heads, -1)
        own = (x @ p["lin_r.weight"].T + p["lin_r.bias"]).reshape(n, heads, -1)
        score = (leaky(z[src] + own[dst]) * p["att"]).sum(-1)
    e = np.exp(score)
    alpha = e / summed(e, dst, n)[dst]
    y = summed((alpha * w[:, None])[:, :, None] * z[src], dst, n)
    return (y.mean(1) if last else y.reshape(n, -1)) + p["bias"]


def logits(name, how, x, tensors, edges):
    for l in range(2):
        p = {key.split(".", 2)[2]: t for key, t in tensors.items() if key.startswith(f"convs.{l}.")}
        x = conv(name, how, x, p, edges, l == 1)
        if l == 0:
            x = np.where(x > 0, x, np.expm1(np.minimum(x, 0))) if name.startswith("gat") else relu(x)
    return x


def predicted(graph, of, *options):
    run("predict", graph, "--checkpoint", f"{of.folder}/checkpoint.safetensors", "--out", f"{of.folder}.npy", "--memory", "128M", *options)
    out = np.load(f"{of.folder}.npy")
    os.unlink(f"{of.folder}.npy")
    return out


def near(got, want, what, tolerance=1e-5):
    worst = np.abs(got - want).max() / max(np.abs(want).max(), 1e-3)
    assert worst < tolerance, (what, worst)
    return worst


# ---- the graph ----

def make_graphs():
    """Some edges twice, some loops, some of weight 0, some nodes without in-edges."""
    rng = np.random.default_rng(3)
    edges = rng.integers(0, N, (6 * N, 2))
    edges[:20, 1] = edges[:20, 0]
    edges[20:40] = edges[40:60]
    edges = edges[edges[:, 1] < N - 10]
    w = rng.choice([0, 0.25, 0.5, 1, 2.5, 4], len(edges)).astype(np.float32)
    ids = rng.permutation(N)
    arrays = {"edges": edges, "feat": rng.standard_normal((N, 6)).astype(np.float32), "label": rng.integers(0, CLASSES, N), "train": ids[:N // 2],
              "valid": ids[N // 2:3 * N // 4], "test": ids[3 * N // 4:]}
    for name, weights in {"plain": None, "weighed": w, "ones": np.ones_like(w), "seven": 7 * w}.items():
        os.mkdir("source-" + name)
        for key, a in (arrays if weights is None else {**arrays, "edge_weight": weights}).items():
            np.save(f"source-{name}/{key}.npy", a)
        run("import", "npy", "source-" + name, name, "--quiet")


# ---- tests ----

def all_neighbours_are_what_numpy_says():
    x, edges = np.load("weighed/features.npy").astype(np.float64), lists("weighed")
    for name in MODELS:
        for how in ["multiply"] + ["mean"] * (name == "sage"):
            of = Run("weighed", *model_of(name), "--edge-weights", how, fanout="-1,-1")
            want = logits(name, how, x, of.tensors(), edges)
            plain = logits(name, "multiply", x, of.tensors(), (*edges[:2], np.ones(len(edges[2]))))
            made = predicted("weighed", of)
            print(name, how, near(made, want, (name, how)))
            assert np.abs(want - plain).max() > 0.01, name
            near(predicted("weighed", of, "--device", "virtual"), want, (name, how, "device"))
            assert np.array_equal(predicted("weighed", of, "--memory", "60M", "--threads", 1), made), name
            full = [json.loads(run("eval", "weighed", "--checkpoint", f"{of.folder}/checkpoint.safetensors", "--memory", "128M", "--json", *more).stdout)
                    for more in (["--full"], ["--fanout", "-1,-1"])]
            near(full[0]["loss"], full[1]["loss"], "eval")
            test = np.load("weighed/test.npy")
            label, own = np.load("weighed/labels.npy")[test], want[test]
            near(full[0]["loss"], np.mean(np.log(np.exp(own).sum(1)) - own[np.arange(len(test)), label]), "loss")


def weights_of_one_give_the_same_bits():
    for name in MODELS:
        for options in (["--sampler", "labor"], ["--draw", "once"], ["--sampler", "ladies"] if name == "gcn" else ["--attention-dropout", 0.3] if name == "gat" else []):
            off = Run("ones", *model_of(name), *options)
            on = Run("ones", *model_of(name), *options, "--edge-weights", "multiply")
            if "ladies" not in options:  # whose own weights count as well
                assert off.losses == on.losses and off.data == on.data, (name, options)
        assert Run("plain", *model_of(name), "--device", "virtual").losses == Run("ones", *model_of(name), "--device", "virtual", "--edge-weights", "multiply").losses, name
    assert Run("ones", "--model", "sage", "--edge-weights", "mean").data == Run("plain", "--model", "sage").data
    assert "edge-weights" not in off.head["__metadata__"] and on.head["__metadata__"]["edge-weights"] == "multiply"


def seven_times_the_weights_have_the_same_mean():
    near(np.array(Run("seven", "--edge-weights", "mean").losses), np.array(Run("weighed", "--edge-weights", "mean").losses), "mean")
    assert abs(Run("seven", "--edge-weights", "multiply").losses[1] / Run("weighed", "--edge-weights", "multiply").losses[1] - 1) > 1e-3


WAYS = [["--topology", "disk", "--neighbor-cache", "0"], ["--topology", "disk", "--neighbor-cache", "4K", "--threads", 1], ["--topology", "disk", "--io", "pread", "--superbatch", "all"],
        ["--policy", "belady", "--cache", "10%", "--layout", "packed"], ["--accumulate", 1, "--policy", "lru", "--cache", "5%", "--executors", "2:1"], ["--alternate", "--topology", "disk"],
        ["--topology", "disk", "--sample-group", 5, "--neighbor-cache", "6K", "--policy", "none"], ["--topology", "disk", "--sample-group", 1, "--neighbor-cache", "1M"]]


def the_same_bits_whatever_moves_them():
    for name, options in [("gcn", []), ("sage", ["--sampler", "weighted"]), ("sage", ["--sampler", "labor"]), ("gat", ["--draw", "once"]), ("sage max", ["--sampler", "ladies"]),
                          ("gcn", ["--task", "link", "--batch", 300])]:
        of = [*model_of(name), *options, "--edge-weights", "multiply"]
        want = Run("weighed", *of, "--topology", "memory", "--policy", "none", "--threads", 2)
        for way in WAYS:
            got = Run("weighed", *of, *way)
            assert got.losses == want.losses and got.file == want.file, (name, options, way)
        steps = [Run("weighed", *of, "--accumulate", 2, *way).file for way in ([], ["--workers", 2], ["--executors", "1:2"], ["--workers", 2, "--topology", "disk"])]
        assert steps.count(steps[0]) == len(steps), (name, options)
        drawn_there = [["--sample-on", place, "--device-memory", "40M"] for place in ("device", "pinned") if "--sampler" not in options]
        there = [Run("weighed", *of, "--device", "virtual", *way).file for way in ([], ["--topology", "disk"], ["--device-memory", "40M", "--executors", "2"], *drawn_there)]
        assert there.count(there[0]) == len(there), (name, options)
        near(np.array(Run("weighed", *of, "--device", "virtual").losses), np.array(want.losses), (name, options), 1e-4)


def gcn_takes_them_unless_told_otherwise():
    for options in [], ["--task", "link", "--batch", 300], ["--topology", "disk"], ["--device", "virtual"], ["--device", "virtual", "--sample-on", "device"]:
        of = ["--model", "gcn", *options]
        auto, on, off = (Run("weighed", *of, *how) for how in ([], ["--edge-weights", "multiply"], ["--edge-weights", "off"]))
        assert auto.file == on.file and auto.file != off.file, options
        assert auto.said.count("edge weights count in --model gcn") == 1 and "weights count" not in on.said + off.said
    auto, off = (Run("weighed", "--model", "gcn", "--sampler", "weighted", *how) for how in ([], ["--edge-weights", "off"]))
    assert auto.losses == off.losses and "edge-weights" not in auto.head["__metadata__"]
    assert "weights" not in Run("plain", "--model", "gcn").said
    sage, off = (Run("weighed", *how) for how in ([], ["--edge-weights", "off"]))
    assert sage.file == off.file and sage.said.count("edge weights have no effect") == 1


def samples_and_resumed_runs_know():
    of = ["--model", "gcn", "--edge-weights", "multiply", "--fanout", "3,3", "--batch", 40, "--memory", "128M"]
    run("sample", "weighed", "--out", "samples", "--epochs", 2, *of, "--hidden", HIDDEN)
    want = Run("weighed", "--model", "gcn", "--edge-weights", "multiply")
    assert Run("weighed", "--model", "gcn", "--edge-weights", "multiply", "--samples", "samples").file == want.file
    assert "another --edge-weights" in run("train", "weighed", "--samples", "samples", *of[:3], "off", *of[4:], "--run", "other", fails=True).stderr
    src, dst, w = lists("weighed")
    of_pair = {}
    for u, v, weight in zip(src, dst, w):
        of_pair.setdefault((u, v), set()).add(weight)
    ids, ids_ptr = np.load("samples/ids.npy"), np.load("samples/ids_ptr.npy")
    for h in 1, 2:
        ptr, s, d, weight = (np.load(f"samples/hop{h}_{what}.npy") for what in ("ptr", "src", "dst", "weight"))
        for b in range(len(ptr) - 1):
            own = ids[ids_ptr[b]:ids_ptr[b + 1]]
            for e in range(ptr[b], ptr[b + 1]):
                assert float(weight[e]) in of_pair[own[s[e]], own[d[e]]]
    run("train", "weighed", *of, "--hidden", HIDDEN, "--epochs", 1, "--run", "parts")
    assert "--edge-weights" in run("train", "weighed", "--model", "gcn", "--edge-weights", "off", "--hidden", HIDDEN, "--fanout", "3,3", "--batch", 40, "--epochs", 2, "--memory", "128M", "--run", "parts",
                                   "--resume", fails=True).stderr
    run("train", "weighed", *of, "--hidden", HIDDEN, "--epochs", 2, "--run", "parts", "--resume")
    assert pathlib.Path("parts/checkpoint.safetensors").read_bytes() == want.file


def weights_are_read_beside_the_lists():
    """Indices of 4 bytes take as many blocks, and as many bytes, as weights."""
    assert np.load("weighed/indices.npy").dtype == np.int32
    disk = ["--topology", "disk", "--neighbor-cache", 0, "--sample-group", 1, "--executors", "1:0", "--policy", "none", "--layout", "raw"]
    for sampler in "uniform", "labor":
        off, on = (Run("weighed", "--sampler", sampler, *disk, "--edge-weights", how).epochs[1]["topology_bytes_read"] for how in ("off", "multiply"))
        assert off > 0 and on == 2 * off, (sampler, off, on)
    for sampler in "uniform", "labor", "ladies":
        group = [*disk, "--sample-group", 8, "--sampler", sampler]
        off, on = (Run("weighed", *group, "--edge-weights", how).epochs[1]["topology_bytes_read"] for how in ("off", "multiply"))
        assert off > 0 and on == 2 * off, (sampler, off, on)
    for sampler in "uniform", "labor", "weighted":  # of lists in the cache nothing is read
        cached = Run("weighed", "--topology", "disk", "--neighbor-cache", "1M", "--sampler", sampler, "--edge-weights", "multiply").epochs[1]
        assert cached["topology_bytes_read"] == 0 and cached["lists_read"] == 0, (sampler, cached)
    for epochs in (1, 2):
        told = json.loads(run("plan", "weighed", "--fanout", "3,3", "--hidden", HIDDEN, "--batch", 40, "--epochs", epochs, "--memory", "128M", *disk, "--edge-weights", "multiply",
                              "--json").stdout)["predicted"]["topology_bytes_read"]
        read = Run("weighed", *disk, "--edge-weights", "multiply", epochs=epochs).epochs[-1]["topology_bytes_read"]
        assert abs(told / read - 1) < 0.05, (told, read)


def what_cannot_be_is_refused_by_name():
    def refused(graph, *options):
        return run("train", graph, "--fanout", "3,3", "--memory", "128M", "--run", "none", *options, fails=True).stderr
    assert "has no edge weights" in refused("plain", "--edge-weights", "multiply")
    assert "--aggregator mean alone" in refused("weighed", "--edge-weights", "mean", "--model", "gcn")
    assert "--aggregator mean alone" in refused("weighed", "--edge-weights", "mean", "--aggregator", "max")
    assert "not with --sampler walk" in refused("weighed", "--edge-weights", "multiply", "--sampler", "walk")
    assert "no effect" not in Run("weighed", "--edge-weights", "multiply", "--topology", "disk", "--sample-group", 3, "--neighbor-cache", "5K").said
    assert "--edge-weights has no effect with --model pinsage" in Run("weighed", "--edge-weights", "multiply", "--model", "pinsage").said
    assert "weights count twice" in Run("weighed", "--edge-weights", "multiply", "--sampler", "weighted").said
    assert "weight" not in Run("weighed", "--edge-weights", "multiply").said.replace("--edge-weights", "")
    of = Run("weighed", "--model", "gcn", "--edge-weights", "multiply")
    said = run("predict", "plain", "--checkpoint", f"{of.folder}/checkpoint.safetensors", "--out", "none.npy", fails=True).stderr
    assert "has no edge weights" in said, said
    np.save("bad-weights.npy", np.where(np.arange(len(np.load("weighed/weights.npy"))) == 5, -1, np.load("weighed/weights.npy")).astype(np.float32))
    run("import", "npy", "source-weighed", "bad", "--quiet")
    os.replace("bad-weights.npy", "bad/weights.npy")
    for place in "memory", "disk":
        for model in "sage", "gcn":
            assert "bad/weights.npy" in run("train", "bad", "--edge-weights", "multiply", "--model", model, "--fanout", "-1,-1", "--topology", place, "--memory", "128M", "--run", "none",
                                            fails=True).stderr


# ---- heterogeneous graphs ----

TYPES, RELATIONS = "paper:200:6,author:120:6", [("paper", "cites", "paper", 4), ("author", "writes", "paper", 3), ("paper", "by", "author", 4)]
FIRST = {"paper": 0, "author": 1}


def typed_conv(name, how, x, own, p, edges, within):
    if within:
        return conv(name, how, x, p, edges, False)
    src, dst, w = edges
    n, column = len(own), w[:, None]
    if name == "gcn":
        out_of, into = np.bincount(src, w, len(x)), np.bincount(dst, w, n)
        norm = lambda d: np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
        return summed((w * norm(out_of)[src] * norm(into)[dst])[:, None] * (x @ p["lin.weight"].T)[src], dst, n) + p["bias"]
    if name == "sage":
        mean = divided(summed(column * x[src], dst, n), np.bincount(dst, w if how == "mean" else None, n))
        return mean @ p["lin_l.weight"].T + p["lin_l.bias"] + own @ p["lin_r.weight"].T
    z = summed(column * x[src], dst, n) + (1 + p["eps"]) * own
    return relu(z @ p["nn.0.weight"].T + p["nn.0.bias"]) @ p["nn.2.weight"].T + p["nn.2.bias"]


def typed_logits(name, how, tensors):
    x = {t: np.load(f"typed/features_{i}.npy").astype(np.float64) for t, i in FIRST.items()}
    for l in range(2):
        y = {}
        for r, (source, of, destination, _) in enumerate(RELATIONS):
            head = f"convs.{l}.convs.<{source}___{of}___{destination}>."
            p = {key[len(head):]: t for key, t in tensors.items() if key.startswith(head)}
            if not p:
                continue
            made = typed_conv(name, how, x[source], x[destination], p, lists(f"typed/rel{r}"), source == destination)
            y[destination] = y.get(destination, 0) + made
        x = y if l == 1 else {t: relu(rows) for t, rows in y.items()}
    return x["paper"]


def between_types_too():
    run("generate", "typed", "--types", TYPES, "--relations", ",".join(f"{s}:{n}:{d}:{k}" for s, n, d, k in RELATIONS), "--classes", CLASSES, "--train-fraction", 0.3)
    rng = np.random.default_rng(5)
    for r in range(len(RELATIONS)):
        np.save(f"typed/rel{r}_weights.npy", np.ones(len(np.load(f"typed/rel{r}_indices.npy")), np.float32))
    for name in "gcn", "sage", "gin", "gat", "sage max":
        off, on = (Run("typed", *model_of(name), "--edge-weights", how) for how in ("off", "multiply"))
        assert off.losses == on.losses and off.data == on.data, name
    for r in range(len(RELATIONS)):
        np.save(f"typed/rel{r}_weights.npy", rng.choice([0, 0.25, 1, 3], len(np.load(f"typed/rel{r}_indices.npy"))).astype(np.float32))
    for name, how in ("gcn", "multiply"), ("sage", "multiply"), ("sage", "mean"), ("gin", "multiply"):
        of = Run("typed", *model_of(name), "--edge-weights", how, fanout="-1,-1")
        print("typed", name, how, near(predicted("typed", of, "--fanout", "-1,-1"), typed_logits(name, how, of.tensors()), ("typed", name, how)))
    for name, options in ("gcn", []), ("gat", ["--sampler", "labor"]), ("sage max", ["--draw", "once"]), ("sage", ["--sampler", "weighted"]), ("gin", ["--task", "link", "--batch", 300]):
        of = [*model_of(name), *options, "--edge-weights", "multiply"]
        want = Run("typed", *of)
        for way in (["--topology", "disk", "--threads", 1], ["--policy", "belady", "--cache", "20%"], ["--topology", "disk", "--layout", "packed", "--policy", "degree"],
                    ["--topology", "disk", "--sample-group", 3, "--neighbor-cache", "4K"], ["--topology", "disk", "--sample-group", 1, "--neighbor-cache", "1M"]):
            assert Run("typed", *of, *way).file == want.file, (name, options, way)
        steps = [Run("typed", *of, "--accumulate", 2, *way).file for way in ([], ["--workers", 2], ["--executors", "1:2"])]
        assert steps.count(steps[0]) == len(steps), (name, options)
        there = [Run("typed", *of, "--device", "virtual", *way) for way in ([], ["--sample-on", "device"]) if not way or "--sampler" not in options]
        assert there[0].file == there[-1].file, (name, options)
        near(np.array(there[0].losses), np.array(want.losses), (name, options), 1e-4)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        make_graphs()
        for test in (all_neighbours_are_what_numpy_says, weights_of_one_give_the_same_bits, seven_times_the_weights_have_the_same_mean, the_same_bits_whatever_moves_them, gcn_takes_them_unless_told_otherwise,
                     samples_and_resumed_runs_know, weights_are_read_beside_the_lists, what_cannot_be_is_refused_by_name, between_types_too):
            test()
            print("ok", test.__name__, flush=True)


main()
