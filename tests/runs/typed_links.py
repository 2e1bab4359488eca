#!/usr/bin/env python3
"""Links of heterogeneous graphs: held-out edges, and results of each model and decoder, by NumPy. They are bit-identical however rows and lists come.

The oracle draws the split itself (Philox, from its definition). It computes the model with all neighbours of the edges that are left. It ranks both ends of
each held-out edge among all nodes of their type that do not make another edge. Mean reciprocal rank and hits of `eval` are these.

    typed_links.py OUTGROW      exits 77 where there is no NumPy
"""
import bisect
import json
import os
import pathlib
import shutil
import struct
import sys
import tempfile

from typed_command import refused, run

try:
    import numpy as np

    from philox import philox
except ImportError:
    sys.exit(77)

TYPES = {"drug": (90, 0), "gene": (140, 0), "side": (60, 0)}
RELATIONS = [("drug", "binds", "gene", 4), ("gene", "rev.binds", "drug", 5), ("drug", "causes", "side", 3), ("gene", "near", "gene", 4), ("drug", "like", "drug", 3)]
FIRST = dict(zip(TYPES, np.cumsum([0, *[n for n, _ in TYPES.values()]])))
NODES = sum(n for n, _ in TYPES.values())
RUN = ["--task", "link", "--model", "rgcn", "--epochs", 4, "--batch", 60, "--fanout", "3,3", "--hidden", 10, "--embedding", 8, "--threads", 2, "--memory", "120M",
       "--lr", 0.03, "--dropout", 0.1, "--edge-split", "70/10/20"]


def tensors(path):
    data = pathlib.Path(path).read_bytes()
    n, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__")
    return {name: np.frombuffer(data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]], np.float32).reshape(t["shape"]).astype(np.float64)
            for name, t in header.items()}


# ---- which edges are held out ----

def part_of(u, v, seed, percent=(70, 10, 20)):
    """0, 1 or 2: to train, to validate, to test; by both ends whatever their order."""
    high, low = np.maximum(u, v), np.minimum(u, v)
    at = philox(np.stack([low, high, np.zeros_like(u), np.full_like(u, 20 << 24)], 1), seed)[:, 0] * 100 / 2**32
    return np.where(at < percent[2], 2, np.where(at < percent[2] + percent[1], 1, 0))


def edges_of(folder):
    """For each relation its sources and destinations, as nodes of the whole."""
    out = []
    for r, (s, _, d, _) in enumerate(RELATIONS):
        indptr, src = np.load(f"{folder}/rel{r}_indptr.npy"), np.load(f"{folder}/rel{r}_indices.npy")
        out.append((src.astype(np.int64) + FIRST[s], np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)) + FIRST[d]))
    return out


def split(folder, seed, asked):
    """Edges that are left of each relation; triples of each part. A relation between the types of a requested one loses edges as well."""
    pairs = [{RELATIONS[r][0], RELATIONS[r][2]} for r in asked]
    left, triples = [], [[], [], []]
    for r, (src, dst) in enumerate(edges_of(folder)):
        part = np.where(src == dst, 0, part_of(src, dst, seed))
        loses = {RELATIONS[r][0], RELATIONS[r][2]} in pairs
        left.append((src[part == 0], dst[part == 0]) if loses else (src, dst))
        for k in range(3) if r in asked else ():
            mine = (part == k) & (src != dst)
            triples[k] += zip(src[mine].tolist(), [r] * int(mine.sum()), dst[mine].tolist())
    return left, triples


# ---- the model ----

def total(n, at, rows):
    out = np.zeros((n, *rows.shape[1:]))
    np.add.at(out, at, rows)
    return out


def sage(p, x, own, src, dst, _):
    mean = total(len(own), dst, x[src]) / np.maximum(np.bincount(dst, minlength=len(own)), 1)[:, None]
    return mean @ p["lin_l.weight"].T + p["lin_l.bias"] + own @ p["lin_r.weight"].T


def gin(p, x, own, src, dst, _):
    y = total(len(own), dst, x[src]) + (1 + p["eps"]) * own
    return np.maximum(y @ p["nn.0.weight"].T + p["nn.0.bias"], 0) @ p["nn.2.weight"].T + p["nn.2.bias"]


def gat(p, x, own, src, dst, last):
    """Within a type a loop stands for edges on the diagonal."""
    heads, width = p["att_src"].shape[1:]
    if "lin.weight" in p:
        other, loops = src != dst, np.arange(len(own))
        src, dst = np.concatenate([src[other], loops]), np.concatenate([dst[other], loops])
    z = (x @ p.get("lin.weight", p.get("lin_src.weight")).T).reshape(-1, heads, width)
    of_own = (own @ p.get("lin.weight", p.get("lin_dst.weight")).T).reshape(-1, heads, width)
    score = (z * p["att_src"]).sum(2)[src] + (of_own * p["att_dst"]).sum(2)[dst]
    return attended(z, leaky(score), src, dst, len(own), last) + p["bias"]


def leaky(x):
    return np.where(x > 0, x, 0.2 * x)


def attended(z, score, src, dst, n, last):
    e = np.exp(score)
    y = total(n, dst, (e / total(n, dst, e)[dst])[:, :, None] * z[src])
    return y.mean(1) if last else y.reshape(n, -1)


def gatv2(p, x, own, src, dst, last):
    """A matrix each of sources and destinations; loops as GAT has them."""
    if x is own:
        other, loops = src != dst, np.arange(len(own))
        src, dst = np.concatenate([src[other], loops]), np.concatenate([dst[other], loops])
    z, of_own = ((rows @ p[f"lin_{side}.weight"].T + p[f"lin_{side}.bias"]).reshape(-1, *p["att"].shape[1:]) for rows, side in ((x, "l"), (own, "r")))
    return attended(z, (leaky(z[src] + of_own[dst]) * p["att"]).sum(2), src, dst, len(own), last) + p["bias"]


def gcn(own, x, of_own, src, dst, last):
    """GCN of a relation. Within a type a loop stands for a node's edges to itself; else it counts how many edges leave and end."""
    n, within = len(of_own), x is of_own
    if within:
        other, loops = src != dst, np.arange(n)
        src, dst = np.concatenate([src[other], loops]), np.concatenate([dst[other], loops])
    ends = np.bincount(dst, minlength=n)
    begins = ends if within else np.bincount(src, minlength=len(x))
    total = np.zeros((n, x.shape[1]))
    np.add.at(total, dst, x[src] / np.sqrt(begins[src] * ends[dst])[:, None])
    return total @ own["lin.weight"].T + own["bias"]


def embed_by_relation(p, left, layers):
    """A convolution a relation, of which those that end in a type are added up."""
    dynamic, attends = (any(name.endswith(end) for name in p) for end in (".att", (".att", ".att_src")))
    conv = gatv2 if dynamic else gat if attends else gin if any(name.endswith("eps") for name in p) else sage if any(name.endswith("lin_l.weight") for name in p) else gcn
    x = {name: p[f"embeddings.{name}.weight"] for name in TYPES}
    for l in range(layers):
        y = {name: np.zeros((n, 1)) for name, (n, _) in TYPES.items()}
        for r, (s, name, d, _) in enumerate(RELATIONS):
            prefix = f"convs.{l}.convs.<{'___'.join((s, name, d)).replace('.', '#')}>."
            own = {key[len(prefix):]: value for key, value in p.items() if key.startswith(prefix)}
            if own:  # else no logit depends on it
                y[d] = y[d] + conv(own, x[s], x[d], left[r][0] - FIRST[s], left[r][1] - FIRST[d], l == layers - 1)
        hidden = (lambda a: np.where(a > 0, a, np.expm1(np.minimum(a, 0)))) if attends else (lambda a: np.maximum(a, 0))
        x = y if l == layers - 1 else {name: hidden(rows) for name, rows in y.items()}
    return np.concatenate([x[name] for name in TYPES])


def embed(p, left, layers=2):
    if "convs.0.root" not in p:
        return embed_by_relation(p, left, layers)
    x = np.concatenate([p[f"embeddings.{name}.weight"] for name in TYPES])
    for l in range(layers):
        weight = p[f"convs.{l}.weight"]
        if f"convs.{l}.comp" in p:
            weight = np.einsum("rb,bio->rio", p[f"convs.{l}.comp"], weight)
        y = x @ p[f"convs.{l}.root"] + p[f"convs.{l}.bias"]
        for r, (src, dst) in enumerate(left):
            total = np.zeros_like(x)
            np.add.at(total, dst, x[src])
            y += total / np.maximum(np.bincount(dst, minlength=NODES), 1)[:, None] @ weight[r]
        x = y if l == layers - 1 else np.maximum(y, 0)
    return x


def score_of(p, r, a, b):
    if "decoder.lins.0.weight" in p:
        mid = np.maximum(a * b @ p["decoder.lins.0.weight"].T + p["decoder.lins.0.bias"], 0)
        return (mid @ p["decoder.lins.1.weight"].T + p["decoder.lins.1.bias"])[..., 0]
    w = p["decoder.rel_emb.weight"][r] if "decoder.rel_emb.weight" in p else 1
    if p["decoder"] == "complex":
        a, b, w = (x[..., :w.shape[-1] // 2] + 1j * x[..., w.shape[-1] // 2:] for x in (a, b, w))
        return (a * w * b.conj()).sum(-1).real
    if p["decoder"] == "transe":
        a, b = (x / np.abs(x).sum(-1, keepdims=True) for x in (a, b))
        return -np.abs(a + w - b).sum(-1)
    return (a * w * b).sum(-1)


def ranks(p, h, triples, known):
    """The best and the worst ranks of both ends of each triple, in the filtered setting. Some scores are too close to decide. Equal rows count half."""
    out = []
    for s, r, o in triples:
        nodes = {end: np.arange(FIRST[name], FIRST[name] + TYPES[name][0]) for end, name in (("s", RELATIONS[r][0]), ("o", RELATIONS[r][2]))}
        own = score_of(p, r, h[s], h[o])
        for end in "so":
            kept = o if end == "s" else s
            other = [n for n in nodes[end] if n not in (s, o) and ((n, r, o) if end == "s" else (s, r, n)) not in known]
            score = score_of(p, r, h[other], h[kept]) if end == "s" else score_of(p, r, h[kept], h[other])
            tie = (h[other] == h[s if end == "s" else o]).all(1)
            close = np.isclose(score, own, rtol=0, atol=2e-6 * np.abs(score).max()) & ~tie
            best = 1 + (score[~tie & ~close] > own).sum() + tie.sum() / 2
            out.append((best, best + close.sum()))
    return np.array(out)


def said(path, name):
    data = pathlib.Path(path).read_bytes()
    return json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["__metadata__"].get(name)


def check_ranks(graph, run_name, asked, seed, *more, parts=None):
    left, triples = parts or split(graph, seed, asked)
    p = tensors(f"{run_name}/best.safetensors")
    p["decoder"] = said(f"{run_name}/best.safetensors", "decoder")
    h = embed(p, left)
    known = set(triples[0]) | set(triples[1]) | set(triples[2])
    for part, name in ((1, "valid"), (2, "test")):
        got = json.loads(run("eval", graph, "--checkpoint", f"{run_name}/best.safetensors", "--fanout", "-1,-1", "--eval-negatives", NODES, "--split", name,
                             "--batch", 37, "--memory", "200M", "--json", *more))["metrics"]
        want = ranks(p, h, triples[part], known)
        assert len(want) == 2 * len(triples[part])
        within = {"mrr": (1 / want).mean(0)} | {f"hits@{k}": (want <= k).mean(0) for k in (1, 3, 10)}
        for metric, (most, least) in within.items():
            assert most - least < 0.02 and least - 1e-6 <= got[metric] <= most + 1e-6, (name, metric, got[metric], least, most)
    return triples


# ---- tests ----

DISTMULT = ["--decoder", "distmult", "--bases", 2]
WAYS = {"disk": ["--topology", "disk"], "one": ["--topology", "disk", "--pipeline", "none", "--io", "pread", "--threads", 1]}


def all_relations_at_once():
    run("train", "graph", *RUN, *DISTMULT, "--negatives", 2, "--run", "all")
    p = tensors("all/best.safetensors")
    assert p["decoder.rel_emb.weight"].shape == (len(RELATIONS), 10)
    triples = check_ranks("graph", "all", range(len(RELATIONS)), 1)
    summary = json.loads(pathlib.Path("all/summary.json").read_text())
    assert summary["epochs"][-1]["loss"] < summary["epochs"][0]["loss"] and set(summary["test_metrics"]) >= {"auc", "ap", "mrr", "hits@1", "hits@3", "hits@10"}
    assert {r for _, r, _ in triples[2]} == set(range(len(RELATIONS)))
    for name, way in WAYS.items():
        run("train", "graph", *RUN, *DISTMULT, "--negatives", 2, *way, "--run", name)
        assert pathlib.Path(name, "checkpoint.safetensors").read_bytes() == pathlib.Path("all/checkpoint.safetensors").read_bytes(), name
    run("train", "graph", *RUN, *DISTMULT, "--negatives", 2, "--epochs", 1, "--run", "part")
    run("train", "graph", *RUN, *DISTMULT, "--negatives", 2, "--run", "part", "--resume")
    assert pathlib.Path("part/checkpoint.safetensors").read_bytes() == pathlib.Path("all/checkpoint.safetensors").read_bytes()
    again = json.loads(run("eval", "graph", "--checkpoint", "all/best.safetensors", "--fanout", "3,3", "--batch", 60, "--memory", "120M", "--json"))
    assert again["metrics"] == summary["test_metrics"]


def other_decoders():
    """Ranks by NumPy's scores; bit-identical files by any plan and after a stop. Homogeneous graphs have one relation."""
    for decoder in "complex", "transe":
        own = ["--decoder", decoder, "--bases", 2, "--negatives", 2]
        run("train", "graph", *RUN, *own, "--run", decoder)
        check_ranks("graph", decoder, range(len(RELATIONS)), 1)
        summary = json.loads(pathlib.Path(decoder, "summary.json").read_text())
        assert summary["epochs"][-1]["loss"] < summary["epochs"][0]["loss"], decoder
        run("train", "graph", *RUN, *own, *WAYS["one"], "--run", f"{decoder}-one")
        run("train", "graph", *RUN, *own, "--epochs", 1, "--run", f"{decoder}-part")
        run("train", "graph", *RUN, *own, "--run", f"{decoder}-part", "--resume")
        run("train", "graph", *RUN, *own, "--workers", 2, "--run", f"{decoder}-workers")
        run("train", "graph", *RUN, *own, "--accumulate", 2, "--run", f"{decoder}-alone")
        for one, other in ("", "-one"), ("", "-part"), ("-workers", "-alone"):
            same = [pathlib.Path(decoder + name, "checkpoint.safetensors").read_bytes() for name in (one, other)]
            assert same[0] == same[1], (decoder, other)
        again = json.loads(run("eval", "graph", "--checkpoint", f"{decoder}/best.safetensors", "--fanout", "3,3", "--batch", 60, "--memory", "120M", "--json"))
        assert again["metrics"] == summary["test_metrics"], decoder
    for decoder in "distmult", "complex", "transe":
        plain = ["--task", "link", "--decoder", decoder, "--hidden", 10, "--fanout", "3", "--epochs", 2, "--memory", "120M"]
        run("train", "plain", *plain, "--run", f"plain-{decoder}")
        run("train", "plain", *plain, *WAYS["one"], "--run", f"plain-{decoder}-one")
        checkpoint = f"plain-{decoder}/checkpoint.safetensors"
        assert pathlib.Path(checkpoint).read_bytes() == pathlib.Path(f"plain-{decoder}-one/checkpoint.safetensors").read_bytes(), decoder
        assert tensors(checkpoint)["decoder.rel_emb.weight"].shape == (1, 10)
    assert "use --hidden 8" in refused("train", "graph", *RUN, "--decoder", "complex", "--hidden", 7, "--run", "no")


def one_relation():
    """Negatives of the types of its ends; the reverse relation is thinned with it."""
    for i, (relation, decoder) in enumerate((("binds", ["--decoder", "distmult"]), ("like", ["--decoder", "dot", "--loss", "margin"]))):
        asked = [r for r, (_, name, _, _) in enumerate(RELATIONS) if name == relation]
        run("train", "graph", *RUN, *decoder, "--relation", relation, "--seed", 5, "--negative", ["uniform", "batch"][i], "--run", relation)
        check_ranks("graph", relation, asked, 5)  # the checkpoint says the relation, the seed and the split
    run("train", "graph", *RUN, "--decoder", "mlp", "--relation", "drug__causes__side", "--run", "causes")
    assert "seed" in refused("eval", "graph", "--checkpoint", "like/best.safetensors", "--seed", 4)


def own_lists():
    """A dataset that says which edges are learnt, which are held out, and of which relations. They are those drawn here, so the parameters are those of
    --edge-split."""
    left, triples = split("graph", 1, range(len(RELATIONS)))
    os.makedirs("source")
    np.save("source/edges.npy", np.concatenate([np.stack(e, 1) for e in left]))
    np.save("source/edge_type.npy", np.repeat(np.arange(len(left)), [len(src) for src, _ in left]))
    np.save("source/node_type.npy", np.repeat(np.arange(len(TYPES)), [n for n, _ in TYPES.values()]))
    for part, name in enumerate(("train", "valid", "test")):
        s, r, o = np.array(triples[part]).T
        np.save(f"source/{name}_edges.npy", np.stack([s, o], 1))
        np.save(f"source/{name}_edge_type.npy", r)
    pathlib.Path("source/meta.json").write_text(json.dumps({"node_types": [{"type": t, "name": name} for t, name in enumerate(TYPES)],
                                                            "edge_types": [{"edge_type": r, "name": name} for r, (_, name, _, _) in enumerate(RELATIONS)]}))
    run("import", "npy", "source", "own", "--memory", "64M")
    own = RUN[:-2]
    for name, more in (("own-all", []), ("own-said", ["--edge-split", "dataset"]), ("own-disk", WAYS["one"])):
        run("train", "own", *own, *DISTMULT, "--negatives", 2, *more, "--run", name)
        a, b = tensors(f"{name}/checkpoint.safetensors"), tensors("all/checkpoint.safetensors")
        assert a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a), name
    told = [json.loads(pathlib.Path(name, "summary.json").read_text())["test_metrics"] for name in ("own-all", "all")]
    assert told[0] == told[1]
    # of one relation, of which the lists have a part; the graph is what it is
    run("train", "own", *own, "--decoder", "distmult", "--relation", "binds", "--seed", 9, "--run", "own-binds")
    check_ranks("own", "own-binds", [0], 9, parts=(left, [[t for t in part if t[1] == 0] for part in triples]))
    assert json.loads(run("info", "own", "--json"))["splits"]["test_edges"] == len(triples[2])
    run("verify", "own")
    # percentages draw again from what is there; lists without relations are none
    run("train", "own", *RUN, *DISTMULT, "--epochs", 1, "--run", "own-anew")
    os.remove("own/valid_edge_relations.npy")
    assert "with their relations" in refused("train", "own", *own, "--edge-split", "dataset", "--run", "no")
    np.save("own/valid_edge_relations.npy", np.full(len(triples[1]), 2))
    assert "no edge of relation 2" in refused("train", "own", *own, "--run", "no")
    nothing_to_train_on(own, triples)


def nothing_to_train_on(own, triples):
    """Where a dataset's lists have no edges, of a relation or at all, the hint of --edge-split helps."""
    shutil.copytree("own", "lacking")
    for part, name in enumerate(("train", "valid", "test")):
        s, r, o = np.array([t for t in triples[part] if part > 0 or RELATIONS[t[1]][1] != "like"]).T
        np.save(f"lacking/{name}_edges.npy", np.stack([s, o], 1))
        np.save(f"lacking/{name}_edge_relations.npy", r)
    said = refused("train", "lacking", *own, "--relation", "like", "--run", "no")
    assert "no edges of --relation like to train on" in said and "train_edges.npy has none of it" in said, said
    np.save("lacking/train_edges.npy", np.zeros((0, 2), np.int64))
    np.save("lacking/train_edge_relations.npy", np.zeros(0, np.int64))
    said = refused("train", "lacking", *own, "--run", "no")
    assert "no edges to train on" in said and "train_edges.npy is empty" in said, said
    run("train", "lacking", *RUN, "--epochs", 1, "--run", "held-out")
    no_edge_at_all(own)


def keep_few(graph, few):
    """A copy of the graph whose relations have no more than these edges. Each leads from a node to itself or to a later one."""
    shutil.copytree("graph", graph)
    meta = json.loads(pathlib.Path(graph, "meta.json").read_text())
    for r, relation in enumerate(meta["relations"]):
        if relation["name"] in few:
            src, dst = np.array(few[relation["name"]], np.int64).reshape(-1, 2).T
            n = len(np.load(f"{graph}/rel{r}_indptr.npy")) - 1
            np.save(f"{graph}/rel{r}_indices.npy", src.astype(np.int32))
            np.save(f"{graph}/rel{r}_indptr.npy", np.concatenate([[0], np.cumsum(np.bincount(dst, minlength=n))]))
            relation["num_edges"] = len(src)
    meta["num_edges"] = sum(relation["num_edges"] for relation in meta["relations"])
    meta.pop("checksums")
    pathlib.Path(graph, "meta.json").write_text(json.dumps(meta))


def no_edge_at_all(own):
    """--edge-split does not help a relation without edges, or with loops alone. It does help one whose only edge is held out."""
    def refuses(graph, *words):
        said = refused("train", graph, *words, "--run", "no")
        assert "to train on" in said, said
        return said.split("hint: ")[1]
    keep_few("few", {"like": [], "near": [[3, 5]], "causes": [], "binds": []})
    of = lambda name: ["--relation", name]
    assert "name another --relation" in refuses("few", *RUN, *of("like"))
    assert "hold out less with --edge-split" in refuses("few", *RUN, *of("near"), "--edge-split", "1/50/49")
    run("train", "few", *RUN, *of("near"), "--edge-split", "98/1/1", "--epochs", 1, "--run", "one-edge")  # and it does help
    keep_few("loops", {"like": [[3, 3], [4, 4]]})
    assert "to itself" in refuses("loops", *RUN, *of("like"))
    for part in ("train", "valid", "test"):
        np.save(f"few/{part}_edges.npy", np.zeros((0, 2), np.int64))
        np.save(f"few/{part}_edge_relations.npy", np.zeros(0, np.int64))
    assert "name another --relation" in refuses("few", *own, *of("like"))
    assert "or give --edge-split" in refuses("few", *own, *of("near"))


def check_sample(folder, left, triples, kinds):
    """Each epoch draws all edges to train on. Otherwise it has only nodes of their types, and no edge that is held out."""
    load = lambda name: np.load(f"{folder}/{name}.npy").astype(np.int64)
    seeds, seeds_ptr, ids, ids_ptr = load("seeds"), load("seeds_ptr"), load("ids"), load("ids_ptr")
    known = [set(zip(src.tolist(), dst.tolist())) for src, dst in left]
    per_epoch = json.loads(pathlib.Path(folder, "trace.json").read_text())["batches_per_epoch"]
    assert len(seeds_ptr) - 1 == 2 * per_epoch and per_epoch == -(-len(triples[0]) // 60), (per_epoch, len(triples[0]))
    ends = {v for s, _, o in triples[0] for v in (s, o)}
    types = {bisect.bisect([FIRST[name] for name in TYPES], v) - 1 for v in seeds.tolist()}
    assert types == {list(TYPES).index(kind) for kind in kinds}, (folder, types)
    for epoch in range(2):
        first, last = seeds_ptr[epoch * per_epoch], seeds_ptr[(epoch + 1) * per_epoch]
        assert ends <= set(seeds[first:last].tolist()), folder
    for h in 1, 2:
        src, dst, rel, ptr = (load(f"hop{h}_{what}") for what in ("src", "dst", "rel", "ptr"))
        for b in range(len(ptr) - 1):
            own, of = ids[ids_ptr[b]:ids_ptr[b + 1]], slice(ptr[b], ptr[b + 1])
            for u, v, r in zip(own[src[of]].tolist(), own[dst[of]].tolist(), rel[of].tolist()):
                assert (u, v) in known[r], (folder, u, v, r)


def samples_of_links():
    """Pre-sampled batches are those of the run, bit-identical."""
    drawn = [a for a in RUN if a not in ("--model", "rgcn", "--lr", 0.03)]
    for relation, kinds in (None, ["drug", "gene", "side"]), ("binds", ["drug", "gene"]), ("like", ["drug"]):
        more = ["--epochs", 2, "--negatives", 2, *(["--relation", relation] if relation else [])]
        name = f"drawn-{relation}"
        run("sample", "graph", *drawn, *more, "--out", name)
        run("verify", name)
        check_sample(name, *split("graph", 1, [r for r, of in enumerate(RELATIONS) if relation in (None, of[1])]), kinds)
        run("train", "graph", *RUN, *DISTMULT, *more, "--run", f"{name}-asked")
        for i, way in enumerate(([], WAYS["one"])):
            run("train", "graph", *RUN, *DISTMULT, *more, *way, "--samples", name, "--run", f"{name}-{i}")
            assert pathlib.Path(f"{name}-{i}/checkpoint.safetensors").read_bytes() == pathlib.Path(f"{name}-asked/checkpoint.safetensors").read_bytes(), (name, way)
    assert "--relation" in refused("train", "graph", *RUN, "--epochs", 2, "--negatives", 2, "--relation", "binds", "--samples", "drawn-None", "--run", "no")
    run("generate", "featured", "--types", "user:50:6,item:40:3", "--relations", "user:buys:item:4,item:of:user:3", "--classes", 4, "--train-fraction", 0.1)
    run("sample", "featured", "--task", "link", "--epochs", 1, "--batch", 20, "--fanout", "2", "--memory", "120M", "--with-features", "--out", "rows")
    run("verify", "rows")
    ids = np.load("rows/ids.npy")
    for t, (first, count) in enumerate(((0, 50), (50, 40))):
        own = ids[(ids >= first) & (ids < first + count)] - first
        assert len(own) > 0 and np.array_equal(np.load(f"rows/features_{t}.npy"), np.load(f"featured/features_{t}.npy")[own])


def a_convolution_a_relation():
    """GraphSAGE, GAT, GATv2, GIN and GCN. Ends of edges are of every type, and the last layer has rows of each."""
    ways = {"sage": ["--decoder", "distmult"], "gat": ["--heads", 2, "--decoder", "dot", "--loss", "margin"], "gin": ["--decoder", "mlp"],
            "gcn": ["--decoder", "dot"], "gatv2": ["--heads", 2, "--decoder", "distmult"]}
    for model, options in ways.items():
        asked = [*RUN[:3], model, *RUN[4:], *options, "--hidden", 20, "--lr", 0.01, "--seed", 2]
        run("train", "graph", *asked, "--run", model)
        whole = pathlib.Path(model, "checkpoint.safetensors").read_bytes()
        check_ranks("graph", model, range(len(RELATIONS)), 2)
        run("train", "graph", *asked, *WAYS["one"], "--run", model + "-one")
        run("train", "graph", *asked, "--epochs", 2, "--run", model + "-part")
        run("train", "graph", *asked, "--run", model + "-part", "--resume")
        for other in ("one", "part"):
            assert pathlib.Path(f"{model}-{other}/checkpoint.safetensors").read_bytes() == whole, (model, other)
        want = embed(tensors(f"{model}/best.safetensors"), edges_of("graph"))
        for batch in (40, 77):
            run("predict", "graph", "--checkpoint", f"{model}/best.safetensors", "--fanout", "-1,-1", "--batch", batch, "--out", f"{model}-{batch}.npy")
            assert np.abs(np.load(f"{model}-{batch}.npy") - want).max() <= 1e-5 * np.abs(want).max(), model
    run("train", "graph", *RUN[:3], "sage", *RUN[4:], "--hidden", 20, "--lr", 0.01, "--relation", "causes", "--run", "causes-sage")
    check_ranks("graph", "causes-sage", [2], 1)


def embeddings_of_all_nodes():
    """Embeddings of all nodes, as the decoder gets them, by all edges that there are. No node need be labelled."""
    told = json.loads(run("predict", "graph", "--checkpoint", "all/best.safetensors", "--fanout", "-1,-1", "--batch", 77, "--out", "h.npy", "--json"))
    assert told["nodes"] == NODES and told["type"] is None, told
    want = embed(tensors("all/best.safetensors"), edges_of("graph"))
    assert np.abs(np.load("h.npy") - want).max() <= 1e-5 * np.abs(want).max()
    run("predict", "graph", "--checkpoint", "all/best.safetensors", "--fanout", "-1,-1", "--batch", 500, "--topology", "disk", "--policy", "none", "--out", "again.npy")
    assert np.abs(np.load("again.npy") - want).max() <= 1e-5 * np.abs(want).max()
    shutil.copytree("graph", "unlabelled")
    for name in ("labels", "train", "valid", "test"):
        pathlib.Path("unlabelled", name + ".npy").unlink()
    run("predict", "unlabelled", "--checkpoint", "all/best.safetensors", "--fanout", "-1,-1", "--batch", 77, "--out", "unlabelled.npy")
    assert pathlib.Path("unlabelled.npy").read_bytes() == pathlib.Path("h.npy").read_bytes()


def what_there_is_not_says_so():
    assert "binds" in refused("train", "graph", *RUN, "--relation", "cures", "--run", "no")
    assert "type user: no relation" in refused("train", "oneway", *RUN[:3], "sage", *RUN[4:], "--run", "no")
    assert "--aggregator gcn" in refused("train", "graph", *RUN[:3], "sage", "--aggregator", "gcn", *RUN[4:], "--run", "no")
    assert "percentages" in refused("train", "graph", *RUN, "--edge-split", "dataset", "--run", "no")
    bare = refused("train", "graph", *[a for a in RUN if a not in ("--embedding", 8)], "--run", "no")
    assert "graph: nodes of type drug have no features" in bare  # what is left when edges are held out has no name of its own
    assert "--embeddings" in refused("predict", "graph", "--checkpoint", "all/best.safetensors", "--out", "no", "--embeddings", "nor")
    assert not os.path.exists("no")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        run("generate", "graph", "--types", ",".join(f"{name}:{n}" for name, (n, _) in TYPES.items()), "--relations",
            ",".join(f"{s}:{name}:{d}:{n}" for s, name, d, n in RELATIONS), "--classes", 4, "--train-fraction", 0.1)
        run("generate", "plain", "--nodes", 300, "--degree", 5, "--dim", 6)
        run("generate", "oneway", "--types", "user:50,item:40", "--relations", "user:buys:item:4", "--classes", 4, "--train-fraction", 0.1)
        for test in (all_relations_at_once, other_decoders, one_relation, own_lists, samples_of_links, a_convolution_a_relation, embeddings_of_all_nodes, what_there_is_not_says_so):
            test()
            print("ok", test.__name__)


main()
