#!/usr/bin/env python3
"""Training with times, bit-identical from memory and disk, under policies, executors and workers, and after --resume. No label leaks from the future."""
import json
import os
import subprocess

from support import COMMAND, command, main, np, outgrow, raises
from times import N, refused, run, trained, typed, write


def test_training_has_the_same_bits():
    write()
    typed()
    for path, model in ("g", "sage"), ("g", "gat"), ("h", "sage"), ("h", "rgcn"):
        own = "--time", "node", "--model", model, "--time-strategy", "last" if model == "gat" else "uniform"
        one, summary = trained(f"{path}{model}0", path, *own, "--policy", "degree")
        for i, way in enumerate((("--topology", "disk", "--policy", "belady"), ("--policy", "frequency", "--layout", "packed", "--cache", "10%"), ("--executors", "2:2"))):
            other, counted = trained(f"{path}{model}{i + 1}", path, *own, *way)
            assert other == one, (path, model, way)
            plan = json.load(open(f"{path}{model}{i + 1}/plan.json"))
            if plan["predicted"].get("reads") is not None and i == 1:
                assert counted["epochs"][1]["reads"] == plan["predicted"]["reads"]
    pair = [trained(f"pair{i}", "g", "--time", "node", *how)[0] for i, how in enumerate((("--workers", 2), ("--accumulate", 2)))]
    assert pair[0] == pair[1], "two workers are one that accumulates"
    for path, *own in ("g", "--time", "node"), ("h", "--time", "node"), ("g", "--disjoint", "--model", "gat"):
        one, _ = trained(f"steps{path}{len(own)}", path, *own, "--accumulate", 2)
        for i, way in enumerate((("--policy", "belady"), ("--policy", "lru", "--cache", "10%", "--topology", "disk"), ("--cache", 0))):
            assert trained(f"exchange{path}{len(own)}{i}", path, *own, "--workers", 2, "--exchange", "--memory", "300M", *way)[0] == one, (path, own, way)
    trained("cut", "g", "--time", "node", "--epochs", 1)
    assert trained("cut", "g", "--time", "node", "--resume")[0] == trained("whole", "g", "--time", "node")[0]


def test_devices_train_on_trees():
    """Within rounding of the CPU, and bit-identical in other ways."""
    write()
    typed()
    for path, *own in ("g", "--time", "node", "--model", "gat"), ("h", "--time", "node"), ("g", "--disjoint"):
        common = *own, "--memory", "300M", "--dropout", 0
        name = f"device{path}{len(own)}"
        near, there = (trained(f"{name}{d}", path, *common, "--device", d)[1]["epochs"] for d in ("cpu", "virtual"))
        np.testing.assert_allclose([e["loss"] for e in near], [e["loss"] for e in there], rtol=1e-4)
        other = trained(f"{name}o", path, *common, "--device", "virtual:2", "--policy", "belady", "--cache", "10%", "--topology", "disk", "--executors", "2:2")[1]["epochs"]
        assert [e["loss"] for e in there] == [e["loss"] for e in other], own


def test_embeddings_of_trees():
    """With all neighbours trees change nothing. tests/runs/learnt_rows.py compares the run without them with PyTorch."""
    if not os.path.exists("bare"):
        outgrow.generate("bare", types="paper:600:12,author:500", classes=3, train_fraction=0.3, relations="author:writes:paper:3,paper:written:author:2,paper:cites:paper:2")
    for optimizer in "dense", "sparse-adam":
        own = "--embedding", 6, "--embedding-optimizer", optimizer, "--fanout", "-1,-1", "--dropout", 0, "--clip", 0.5, "--memory", "300M"
        losses = [[e["loss"] for e in trained(f"{optimizer}{i}", "bare", *own, *more)[1]["epochs"]] for i, more in enumerate((
            (), ("--disjoint",), ("--disjoint", "--policy", "belady", "--cache", "10%", "--topology", "disk")))]
        np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
        assert losses[1] == losses[2], optimizer


def stored(path, folder, *options):
    run("sample", path, "--out", folder, "--epochs", 3, "--batch", 40, "--fanout", "4,3", "--memory", "120M", *options)


def test_stored_batches():
    write()
    typed()
    for path, *own in ("g", "--time", "node"), ("g", "--time", "node", "--time-strategy", "last", "--draw", "once"), ("g", "--disjoint", "--model", "gcn"), ("h", "--time", "node", "--time-window", 9), ("g", "--disjoint", "--oversample", "balanced", "--seed", 5):
        folder = f"stored{path}{len(own)}"
        stored(path, folder, *own)
        one, _ = trained(f"{folder}0", path, *own)
        assert trained(f"{folder}1", path, *own, "--samples", folder)[0] == one, own
        assert trained(f"{folder}3", path, *own, "--samples", folder, "--phased-memory", "--policy", "lru")[0] == one, own
        run("pack", path, "--samples", folder, "--cache", "10%", "--memory", "120M")
        assert trained(f"{folder}2", path, *own, "--samples", folder, "--policy", "belady", "--cache", "10%", "--superbatch", 2)[0] == one, own
        assert "nothing wrong" in command("verify", folder, "--dataset", path)
        assert json.loads(command("simulate", folder, "--policy", "lru", "--cache", "10%", "--json", "-", "--quiet"))["results"]
    assert "sampled with" in refused("train", "g", "--run", "no", "--epochs", 3, "--batch", 40, "--fanout", "4,3", "--memory", "120M", "--time", "node", "--samples", folder)


def test_what_is_stored():
    """Rows of places name the nodes of the blocks: edges of the graph, none later than its seed."""
    given, _ = write()
    stored("g", "places", "--time", "node", "--with-features")
    a = {name: np.load(f"places/{name}.npy") for name in ("ids", "ids_ptr", "seeds", "seeds_ptr", "rows", "hop1_src", "hop1_dst", "hop1_ptr", "hop2_src", "hop2_dst", "hop2_ptr", "hop2_nodes", "features")}
    np.testing.assert_array_equal(a["features"], given["x"][a["ids"]])
    edges, first = set(zip(*given["edge_index"].tolist())), np.concatenate([[0], np.cumsum(a["hop2_nodes"])])
    for b in range(len(a["ids_ptr"]) - 1):
        ids, rows, seeds = (a[name][begin[b]:begin[b + 1]] for name, begin in (("ids", a["ids_ptr"]), ("rows", first), ("seeds", a["seeds_ptr"])))
        node, tree = ids[rows], np.arange(len(rows))
        assert len(np.unique(ids)) == len(ids) and set(rows) == set(range(len(ids)))
        np.testing.assert_array_equal(node[:len(seeds)], seeds)
        for hop in "hop1", "hop2":
            src, dst = (a[f"{hop}_{end}"][a[f"{hop}_ptr"][b]:a[f"{hop}_ptr"][b + 1]] for end in ("src", "dst"))
            tree[src[src >= len(seeds)]] = tree[dst[src >= len(seeds)]]
            assert all(edge in edges for edge in zip(node[src].tolist(), node[dst].tolist()))
            assert (given["node_time"][node[src]] <= given["node_time"][seeds[tree[dst]]]).all()
    with open("places/rows.npy", "r+b") as f:
        f.seek(-8, 2)
        f.write(bytes(8))
    said = subprocess.run([COMMAND, "verify", "places"], capture_output=True, text=True).stdout
    assert "checksum is another" in said, said


def rows_of_time(given, weights, window=None, times=None, kind="node"):
    """GraphSAGE in NumPy: the logits of each node at its own time, or at that of `times`."""
    src, dst = given["edge_index"]
    lists, at = [np.flatnonzero(dst == v) for v in range(len(given["x"]))], given["node_time"]
    of = given["edge_time"] if kind == "edge" else at[src]

    def layer(l, v, time):
        below = (lambda u: layer(l - 1, u, time)) if l else (lambda u: given["x"][u])
        seen = [src[e] for e in lists[v] if of[e] <= time and (window is None or of[e] >= time - window)]
        mean = np.mean([below(u) for u in seen], 0) if seen else np.zeros_like(below(v))
        out = weights[f"convs.{l}.lin_l.weight"] @ mean + weights[f"convs.{l}.lin_l.bias"] + weights[f"convs.{l}.lin_r.weight"] @ below(v)
        return np.maximum(out, 0) if l == 0 else out
    return np.array([layer(1, v, (times or {}).get(v, at[v])) for v in range(len(lists))])


def tensors(path):
    with open(path, "rb") as f:
        head = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = f.read()
    return {k: np.frombuffer(data[v["data_offsets"][0]:v["data_offsets"][1]], np.float32).reshape(v["shape"]) for k, v in head.items() if k != "__metadata__" and v["dtype"] == "F32"}


def test_predicted_as_of_each_nodes_time():
    given, _ = write()
    typed()
    for window in None, 15:
        name = f"of{window}"
        trained(name, "g", "--time", "node", *(() if window is None else ("--time-window", window)))
        checkpoint = f"{name}/checkpoint.safetensors"
        for way in ("memory",), ("disk",):
            run("predict", "g", "--checkpoint", checkpoint, "--out", f"{name}{way[0]}.npy", "--memory", "120M", "--fanout", "-1,-1", "--topology", *way, "--batch", 64 if way == ("disk",) else 400)
        mine, logits = rows_of_time(given, tensors(checkpoint), window), np.load(f"{name}memory.npy")
        np.testing.assert_allclose(logits, mine, atol=2e-5)
        np.testing.assert_array_equal(logits, np.load(f"{name}disk.npy"))
        run("predict", "g", "--checkpoint", checkpoint, "--out", f"{name}some.npy", "--nodes", "valid", "--memory", "120M", "--fanout", "-1,-1")
        np.testing.assert_array_equal(np.load(f"{name}some.npy"), logits[given["valid"]])
        full = json.loads(command("eval", "g", "--checkpoint", checkpoint, "--split", "valid", "--full", "--memory", "120M", "--json", "--quiet"))
        assert abs(full["acc"] - (logits[given["valid"]].argmax(1) == given["y"][given["valid"]]).mean()) < 1e-9, full
    for split in "train", "valid":
        np.save(f"g/{split}_times.npy", np.full(len(given[split]), 30))
    trained("edges", "g", "--time", "edge")
    run("predict", "g", "--checkpoint", "edges/checkpoint.safetensors", "--out", "edges.npy", "--nodes", "valid", "--memory", "120M", "--fanout", "-1,-1")
    mine = rows_of_time(given, tensors("edges/checkpoint.safetensors"), None, dict.fromkeys(range(N), 30), "edge")[given["valid"]]
    np.testing.assert_allclose(np.load("edges.npy"), mine, atol=2e-5)
    assert "predict --nodes" in refused("predict", "g", "--checkpoint", "edges/checkpoint.safetensors", "--out", "no.npy", "--memory", "120M")
    full, usual = (json.loads(command("eval", "g", "--checkpoint", "edges/checkpoint.safetensors", "--split", "valid", *how, "--memory", "120M", "--json", "--quiet"))
                   for how in (["--full"], ["--fanout", "-1,-1"]))
    assert full["loss"] == usual["loss"] and full["acc"] == usual["acc"]
    for split in "train", "valid":
        os.remove(f"g/{split}_times.npy")
    trained("types", "h", "--time", "node", "--model", "rgcn")
    run("predict", "h", "--checkpoint", "types/checkpoint.safetensors", "--out", "types.npy", "--memory", "120M")
    assert "predictions in batches" in refused("predict", "g", "--checkpoint", checkpoint, "--out", "no.npy", "--resume", "--memory", "120M")


def test_requests():
    """Predictor compared with `predict`, and with NumPy at times of a request. A node's answer is that among others."""
    given, _ = write()
    typed()
    nodes = np.random.default_rng(4).integers(0, len(given["x"]), 90)
    trained("asked", "g", "--time", "node", "--time-window", 25)
    run("predict", "g", "--checkpoint", "asked/checkpoint.safetensors", "--out", "asked.npy", "--memory", "120M", "--fanout", "-1,-1")
    late = np.random.default_rng(5).integers(-40, 40, 90)
    for topology in "memory", "disk":
        with outgrow.Predictor("asked/checkpoint.safetensors", "g", topology=topology, memory="256M", threads=1) as p:
            np.testing.assert_allclose(p(nodes), np.load("asked.npy")[nodes], atol=1e-5)
            mine = rows_of_time(given, tensors("asked/checkpoint.safetensors"), 25, {int(v): t for v, t in zip(nodes, late)})
            once = np.array([np.flatnonzero(nodes == v)[-1] for v in nodes])  # a node twice: its last time
            np.testing.assert_allclose(p(nodes, input_time=late[once]), mine[nodes], atol=2e-5)
            twice = p([nodes[0], nodes[0]], input_time=[late[0], 39])
            np.testing.assert_allclose(twice[1], p([nodes[0]], [39])[0], atol=1e-6)
            np.testing.assert_array_equal(p(nodes[:9], input_time=late[:9].astype(float)), p(nodes[:9], input_time=late[:9]))
            for bad in ([1.5], "give whole numbers"), ([1, 2], "2 times"), (np.array([2**63], np.uint64), "beyond int64"), (np.array([0], "datetime64[D]"), "unit"):
                with raises(outgrow.OptionError, bad[1]):
                    p([3], bad[0])
    with outgrow.Predictor("asked/checkpoint.safetensors", "g", fanout=[3, 3], memory="256M", threads=1) as p:
        together = p(nodes[:30])
        assert max(np.abs(p([v])[0] - row).max() for v, row in zip(nodes[:30:7], together[::7])) < 1e-5, "a tree is that of its seed alone"
    for split in "train", "valid":
        np.save(f"g/{split}_times.npy", np.full(len(given[split]), 30))
    trained("asked-edges", "g", "--time", "edge")
    with outgrow.Predictor("asked-edges/checkpoint.safetensors", "g", memory="256M", threads=1) as p:
        mine = rows_of_time(given, tensors("asked-edges/checkpoint.safetensors"), None, dict.fromkeys(range(N), 30), "edge")[given["valid"]]
        np.testing.assert_allclose(p(given["valid"], np.full(len(mine), 30)), mine, atol=2e-5)
        with raises(outgrow.OptionError, "node 3 has no time"):
            p([3])
    for split in "train", "valid":
        os.remove(f"g/{split}_times.npy")
    for name, path, own in ("asked-types", "h", ("--time", "node", "--model", "rgcn")), ("asked-trees", "g", ("--disjoint", "--model", "gcn")):
        trained(name, path, *own)
        run("predict", path, "--checkpoint", f"{name}/checkpoint.safetensors", "--out", f"{name}.npy", "--memory", "200M", "--fanout", "-1,-1")
        with outgrow.Predictor(f"{name}/checkpoint.safetensors", path, memory="256M", threads=1) as p:
            np.testing.assert_allclose(p(nodes % 300), np.load(f"{name}.npy")[nodes % 300], atol=1e-5)
            if path == "g":
                with raises(outgrow.OptionError, "trained without time"):
                    p([3], [4])


def test_only_the_future_knows():
    """Edges later than their nodes lead from nodes that know the label. Who samples them learns it, others do not."""
    r = np.random.default_rng(3)
    n, teachers = 1500, 30
    y = r.integers(0, 3, n)
    x = np.zeros((n + teachers, 3), np.float32)
    x[n:] = np.eye(3, dtype=np.float32)[np.arange(teachers) % 3]
    future = np.stack([n + 3 * r.integers(0, teachers // 3, n) + y, np.arange(n)])
    noise = np.stack([n + r.integers(0, teachers, 4 * n), np.repeat(np.arange(n), 4)])
    at = r.permutation(n)
    outgrow.write("leak", edge_index=np.concatenate([future, noise, future], 1), x=x, y=np.concatenate([y, np.full(teachers, -1)]), train=at[:900], valid=at[900:1200],
                  test=at[1200:], node_time=np.concatenate([np.full(n, 10), np.arange(teachers) % 2 * 20]), edge_time=np.concatenate([np.full(n, 20), np.zeros(4 * n), np.full(n, 30)]).astype(int))
    for split, m in ("train", 900), ("valid", 300), ("test", 300):
        np.save(f"leak/{split}_times.npy", np.full(m, 10))

    def accuracy(*options):
        run("train", "leak", "--run", f"l{len(options)}", "--epochs", 15, "--batch", 100, "--fanout", 6, "--lr", "0.02", "--hidden", 16, "--dropout", 0, "--memory", "100M", *options)
        return json.load(open(f"l{len(options)}/summary.json"))["epochs"][-1]["valid_acc"]
    assert accuracy() > 0.6
    assert accuracy("--time", "edge") < 0.42


if __name__ == "__main__":
    main(globals())
