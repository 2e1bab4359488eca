#!/usr/bin/env python3
"""Links and edges to learn, with times: ends and negatives sample what was there before the edge. Looked up by brute force in NumPy.
Bit-identical from memory and disk, under policies, executors and workers, and after --resume."""
import json
import os

from support import command, main, np, outgrow, raises
from times import E, N, allowed, refused, run, trained, typed

LISTS = {"train": (0, 7000, 400), "valid": (7000, 8000, 120), "test": (8000, E, 120)}


def write(seed=0):
    """Later edges are held out, and stay in the graph."""
    r = np.random.default_rng(seed)
    src, dst, time = r.integers(0, N, E), np.concatenate([np.full(800, 7), r.integers(0, N - 20, E - 800)]), np.sort(r.integers(0, 60, E))
    given = {"edge_index": np.stack([src, r.permutation(dst)]), "x": r.random((N, 5), dtype=np.float32), "y": r.integers(0, 3, N), "node_time": r.integers(-40, 40, N), "edge_time": time}
    lists = {}
    for split, (first, end, n) in LISTS.items():
        at = np.sort(r.choice(np.arange(first, end), n, replace=False))
        lists |= {f"{split}_edges": given["edge_index"].T[at], f"{split}_edge_time": time[at], f"{split}_edge_labels": r.integers(0, 3, n), f"{split}_edge_attr": r.random((n, 4), dtype=np.float32)}
    if not os.path.exists("l"):
        outgrow.write("l", train=np.arange(100), **given, **lists)
    return given, lists


def write_typed():
    given, sizes = typed()
    r = np.random.default_rng(9)
    relations = list(given["edge_index"])
    for split, n in ("train", 400), ("valid", 60), ("test", 60):
        if os.path.exists(f"h/{split}_edge_times.npy"):
            return given
        kind, first = r.integers(0, 2, n), {"a": 0, "b": sizes["a"]}
        at = [r.integers(0, given["edge_index"][relations[k]].shape[1]) for k in kind]
        np.save(f"h/{split}_edges.npy", [[given["edge_index"][relations[k]][0, i] + first[relations[k][0]], given["edge_index"][relations[k]][1, i] + first[relations[k][2]]] for k, i in zip(kind, at)])
        np.save(f"h/{split}_edge_relations.npy", kind.astype(np.int64))
        np.save(f"h/{split}_edge_times.npy", np.array([given["edge_time"][relations[k]][i] for k, i in zip(kind, at)]))
    return given


def batches_of(folder):
    """(seeds, nodes, trees, [(src, dst) of each hop]) of stored batches, places in all."""
    a = {name: np.load(f"{folder}/{name}.npy") for name in ("ids", "ids_ptr", "seeds", "seeds_ptr", "rows", "hop1_src", "hop1_dst", "hop1_ptr", "hop2_src", "hop2_dst", "hop2_ptr", "hop2_nodes")}
    first = np.concatenate([[0], np.cumsum(a["hop2_nodes"])])
    for b in range(len(a["ids_ptr"]) - 1):
        ids, rows, seeds = (a[name][begin[b]:begin[b + 1]] for name, begin in (("ids", a["ids_ptr"]), ("rows", first), ("seeds", a["seeds_ptr"])))
        tree, hops = np.where(np.arange(len(rows)) < len(seeds), np.arange(len(rows)), -1), [tuple(a[f"hop{h}_{end}"][a[f"hop{h}_ptr"][b]:a[f"hop{h}_ptr"][b + 1]] for end in ("src", "dst")) for h in (1, 2)]
        for src, dst in hops * 2:
            new = (src >= len(seeds)) & (tree[dst] >= 0)  # not below an edge that was taken out
            tree[src[new]] = tree[dst[new]]
        yield seeds, ids[rows], tree, hops


def sample(folder, batch, *options):
    run("sample", "l", "--out", folder, "--task", "link", "--no-shuffle", "--epochs", 1, "--batch", batch, "--memory", "300M", *options)
    return list(batches_of(folder))


def test_no_hop_sees_the_edge_or_later():
    given, lists = write()
    order = np.lexsort((given["edge_index"][0], given["edge_index"][1]))
    source, draws = given["edge_index"][0][order], 0
    for kind, strategy, window, fanout in (("edge", "uniform", None, [4, 5]), ("edge", "last", None, [3, 4]), ("edge", "uniform", 12, [-1, 3]), ("node", "uniform", None, [4, 5]),
                                           ("node", "last", 20, [-1, 3])):
        for b, (seeds, node, tree, hops) in enumerate(sample(f"one{kind}{strategy}{window}", 1, "--time", kind, "--time-strategy", strategy, "--time-window", window or 0,
                                                             "--fanout", ",".join(map(str, fanout)), "--negatives", 2)):
            edge, time = lists["train_edges"][b].tolist(), lists["train_edge_time"][b] - 1
            assert seeds[:2].tolist() == edge[:len(set(edge))] + seeds[1:2].tolist() * (edge[0] == edge[1])
            if kind == "node":
                assert (given["node_time"][seeds[2:]] <= time + 1).all(), "a negative of the future"
            for h, (src, dst) in enumerate(hops):
                for v in np.unique(dst):
                    mine, may = node[src[dst == v]], source[allowed(given, order, node[v], time, kind, window)]
                    if kind == "node":  # these edges have no times of their own: that of the batch and its reverse are taken out
                        own = [a for a, c in (edge, edge[::-1]) if c == node[v]]
                        assert not np.isin(mine, own).any(), "the edge itself"
                        assert len(mine) >= min(fanout[h] % 1000, len(may)) - np.isin(may, own).sum()
                    else:
                        assert len(mine) == min(fanout[h] % 1000, len(may))
                        if strategy == "last":
                            np.testing.assert_array_equal(mine, may[len(may) - len(mine):])
                    found, count = np.unique(mine, return_counts=True)
                    assert all((may == u).sum() >= k for u, k in zip(found, count)), "an edge of the future"
                    assert tree[v] < 0 or (tree[src[dst == v]] == tree[v]).all()
                    draws += len(mine)
    assert draws > 10000, draws


def test_a_seed_is_a_node_and_a_time():
    _, lists = write()
    for number, (seeds, node, tree, hops) in enumerate(sample("many", 60, "--time", "edge", "--fanout", "3,2")):
        edges, times = (lists[name][60 * number:60 * number + 60] for name in ("train_edges", "train_edge_time"))
        ends = list(dict.fromkeys((v, t) for edge, t in zip(edges.tolist(), times.tolist()) for v in edge))
        assert seeds[:len(ends)].tolist() == [v for v, _ in ends] and len(seeds) <= len(ends) + len(edges)
    alone = {}
    for number, (seeds, node, tree, hops) in enumerate(sample("alone", 60, "--time", "edge", "--fanout", "3,2", "--topology", "disk", "--memory", "120M")):
        alone[number] = node
    assert all((node == alone[i]).all() for i, (_, node, _, _) in enumerate(batches_of("many"))), "from disk"


def test_training_has_the_same_bits():
    write()
    write_typed()
    common = "--eval-negatives", 9, "--batch", 60, "--memory", "250M"
    for path, task, *own in (("l", "link", "--time", "edge", "--negatives", 2), ("l", "link", "--time", "node", "--negative", "batch", "--decoder", "mlp"), ("l", "edge", "--time", "edge", "--time-strategy", "last"),
                             ("l", "link", "--disjoint"), ("h", "link", "--time", "edge", "--model", "rgcn", "--decoder", "distmult"), ("h", "link", "--time", "node", "--decoder", "mlp")):
        own, name = ("--task", task, *common, *own), f"{path}{task}{len(own)}{own[-1]}"
        one, summary = trained(f"{name}0", path, *own, "--policy", "degree")
        for i, way in enumerate((("--topology", "disk", "--policy", "belady"), ("--policy", "frequency", "--layout", "packed", "--cache", "10%"), ("--executors", "2:2"))):
            assert trained(f"{name}{i + 1}", path, *own, *way)[0] == one, (name, way)
        pair = [trained(f"{name}pair{i}", path, *own, *how)[0] for i, how in enumerate((("--workers", 2), ("--accumulate", 2), ("--workers", 2, "--exchange", "--memory", "300M")))]
        assert pair[0] == pair[1] == pair[2], (name, "two workers are one that accumulates")
        judged = [json.loads(command("eval", path, "--checkpoint", f"{name}0/checkpoint.safetensors", "--split", "test", "--fanout", "4,3", "--batch", 60, "--eval-negatives", 9, "--memory", "150M",
                                     *how, "--json", "--quiet")) for how in ([], ["--topology", "disk"])]
        assert judged[0]["loss"] == judged[1]["loss"], name
    trained("cut", "l", "--task", "link", *common, "--time", "edge", "--epochs", 1)
    whole = trained("whole", "l", "--task", "link", *common, "--time", "edge")[0]
    assert trained("cut", "l", "--task", "link", *common, "--time", "edge", "--resume")[0] == whole
    run("sample", "l", "--out", "stored", "--task", "link", "--time", "edge", "--epochs", 3, "--batch", 60, "--fanout", "4,3", "--memory", "120M")
    assert trained("replayed", "l", "--task", "link", *common, "--time", "edge", "--samples", "stored")[0] == whole


def test_predictions_of_edges():
    _, lists = write()
    trained("rates", "l", "--task", "edge", "--time", "edge", "--batch", 60)
    for i, how in enumerate((["--topology", "memory"], ["--topology", "disk", "--batch", 7])):
        run("predict", "l", "--checkpoint", "rates/checkpoint.safetensors", "--out", f"rates{i}.npy", "--memory", "150M", *how)
    assert np.load("rates0.npy").shape == (120, 3)
    np.testing.assert_array_equal(np.load("rates0.npy"), np.load("rates1.npy"))
    with outgrow.Predictor("rates/checkpoint.safetensors", "l", memory="256M", threads=1) as p:
        rows = p.edges(*lists["test_edges"].T, lists["test_edge_attr"], edge_label_time=lists["test_edge_time"] - 1)
        np.testing.assert_allclose(rows, np.load("rates0.npy"), atol=1e-5)
        with raises(outgrow.OptionError, "these edges have no times"):
            p.edges([1], [2], lists["test_edge_attr"][:1])
    os.rename("l/test_edge_times.npy", "kept.npy")  # whose trees would have no limit
    assert "test_edge_times.npy" in refused("predict", "l", "--checkpoint", "rates/checkpoint.safetensors", "--out", "no.npy", "--memory", "150M")
    os.rename("kept.npy", "l/test_edge_times.npy")
    trained("links", "l", "--task", "link", "--time", "node", "--batch", 60, "--eval-negatives", 9)
    run("predict", "l", "--checkpoint", "links/checkpoint.safetensors", "--out", "nodes.npy", "--memory", "150M")
    assert np.load("nodes.npy").shape == (N, 8)
    trained("late", "l", "--task", "link", "--time", "edge", "--batch", 60, "--eval-negatives", 9)
    said = refused("predict", "l", "--checkpoint", "late/checkpoint.safetensors", "--out", "no.npy", "--memory", "150M")
    assert "--time edge: the " in said and " seeds have no times" in said and "outgrow serve" in said and not os.path.exists("no.npy"), said


def test_the_edge_itself_does_not_leak():
    """Links of chance. Who sees the edge knows them; as of before it nothing does."""
    r = np.random.default_rng(4)
    n, m, width = 300, 2000, 64
    edges, time = r.integers(0, n, (m, 2)), np.arange(m)
    x = r.standard_normal((n, width), dtype=np.float32)
    parts = {"train": slice(0, 1300), "valid": slice(1300, 1900), "test": slice(1900, m)}

    def area(path, later):
        outgrow.write(path, edge_index=edges.T, x=x, edge_time=time, **{f"{k}_edges": edges[s] for k, s in parts.items()},
                      **{f"{k}_edge_time": time[s] + later for k, s in parts.items()})
        run("train", path, "--run", f"of{path}", "--task", "link", "--time", "edge", "--time-strategy", "last", "--model", "sage", "--fanout", 1, "--hidden", 64, "--epochs", 4, "--lr", 0.01, "--dropout", 0, "--batch", 100, "--eval-negatives", 1, "--memory", "300M")
        return json.load(open(f"of{path}/summary.json"))["epochs"][-1]["valid_metrics"]["auc"]
    assert area("seen", 1) > 0.75
    assert abs(area("unseen", 0) - 0.5) < 0.06


def test_refusals():
    write()
    own = "train", "l", "--run", "no", "--epochs", 1, "--fanout", "2,2", "--memory", "100M", "--task", "link"
    assert "lists of edges" in refused(*own, "--time", "edge", "--edge-split", "85/5/10")
    os.rename("l/valid_edge_times.npy", "kept.npy")
    assert "valid_edge_times.npy" in refused(*own, "--time", "edge")
    os.rename("kept.npy", "l/valid_edge_times.npy")
    refused(*own, "--time", "edge", "--device", "virtual")
    given, lists = write()
    try:
        outgrow.write("short", **given, **lists | {"train_edge_time": lists["train_edge_time"][1:]})
    except outgrow.OptionError as error:
        assert "399" in str(error), error
    else:
        raise AssertionError("a time too few")


if __name__ == "__main__":
    main(globals())
