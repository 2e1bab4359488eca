"""Types of nodes and relations: what comes of each source, array by array."""
import filecmp
import json
import os
import shutil

import numpy as np

from formats.support import csc, csv, imported, neutral, graph, refused, rng, run, save, write

NAMES = ["paper", "author", "field of study"]


def hetero(shuffled, edges=20000, counts=(900, 500, 40), kinds=4):
    """Nodes of three types, and edges of four kinds between some of them. `shuffled` mixes the types' nodes."""
    node_type = np.repeat(np.arange(len(counts)), counts)
    if shuffled:
        node_type = rng.permutation(node_type)
    ends = [(0, 0), (1, 0), (0, 2), (1, 0)]
    kind = rng.integers(0, kinds, edges)
    members = [np.flatnonzero(node_type == t) for t in range(len(counts))]
    src, dst = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    for k in range(kinds):
        of = kind == k
        src[of] = rng.choice(members[ends[k][0]], of.sum())
        dst[of] = rng.choice(members[ends[k][1]], of.sum())
    stray = rng.random(edges) < 0.05  # some edges of a kind between other types: relations of their own
    src[stray] = rng.integers(0, len(node_type), stray.sum())
    return {"n": len(node_type), "node_type": node_type, "edge_type": kind, "src": src, "dst": dst, "members": members}


def source(root, g, **more):
    save(f"{root}/edges.npy", np.stack([g["src"], g["dst"]], 1))
    save(f"{root}/node_type.npy", g["node_type"].astype(np.int8))
    save(f"{root}/edge_type.npy", g["edge_type"].astype(np.uint8))
    write(f"{root}/meta.json", json.dumps({
        "node_types": [{"type": t, "name": name} for t, name in enumerate(NAMES)],
        "edge_types": [{"edge_type": k, "name": f"kind {k}"} for k in range(4)]}))
    for name, array in more.items():
        save(f"{root}/{name}.npy", array)


def relations(g):
    """(source, edge type, destination) in the order in which relations come, and the edges of each."""
    key = np.stack([g["edge_type"], g["node_type"][g["src"]], g["node_type"][g["dst"]]], 1)
    for k, s, d in np.unique(key, axis=0):
        yield (s, k, d), np.flatnonzero((key == (k, s, d)).all(1))


def within(g):
    """Each node's position in its type."""
    place = np.zeros(g["n"], np.int64)
    for nodes in g["members"]:
        place[nodes] = np.arange(len(nodes))
    return place


def same_relations(got, g, weight=None, reverses=False, **rules):
    place, want = within(g), []
    for (s, k, d), edges in relations(g):
        want.append((NAMES[s], f"kind {k}", NAMES[d], s, d, g["src"][edges], g["dst"][edges], edges))
    if reverses:
        want += [(d, f"rev_{k}", s, td, ts, b, a, e) for s, k, d, ts, td, a, b, e in want]
    said = got["meta"]["relations"]
    assert [(r["source"], r["name"], r["destination"]) for r in said] == [w[:3] for w in want]
    for r, (_, _, _, s, d, src, dst, edges) in enumerate(want):
        keep = np.ones(len(src), bool)
        if not rules.get("loops", True) and s == d:
            keep = src != dst
        w = None if weight is None else weight[edges][keep]
        indptr, indices, weights = csc(place[src][keep], place[dst][keep], len(g["members"][d]), w, once=rules.get("once", False))
        np.testing.assert_array_equal(got[f"rel{r}_indptr"], indptr)
        np.testing.assert_array_equal(got[f"rel{r}_indices"], indices)
        assert got[f"rel{r}_indices"].dtype == np.int32 and said[r]["num_edges"] == len(indices)
        assert (f"rel{r}_weights" in got) == (weight is not None)
        if weight is not None:
            np.testing.assert_array_equal(got[f"rel{r}_weights"], weights)
    assert f"rel{len(want)}_indptr" not in got
    assert got["meta"]["format"] == 2 and got["meta"]["num_nodes"] == g["n"]
    assert [t["count"] for t in got["meta"]["node_types"]] == [len(m) for m in g["members"]]


def test_types():
    for shuffled in False, True:
        g = hetero(shuffled)
        order = np.concatenate(g["members"])  # ours -> the source's
        ours = np.argsort(order)
        feat = rng.normal(size=(g["n"], 5)).astype(np.float32)
        label = rng.integers(-1, 6, g["n"])
        train = rng.permutation(g["n"])[:300]
        weight = rng.random(len(g["src"])).astype(np.float32)
        shutil.rmtree("src", ignore_errors=True)
        source("src", g, feat=feat, label=label, train=train, edge_weight=weight)
        for flags, rules in [([], {}), (["--drop-self-loops"], {"loops": False}), (["--drop-duplicates"], {"once": True}),
                             (["--reverse-relations"], {"reverses": True})]:
            got = imported("npy", "src", *flags)
            same_relations(got, g, weight, **rules)
        for t, nodes in enumerate(g["members"]):
            np.testing.assert_array_equal(got[f"features_{t}"], feat[nodes])
        np.testing.assert_array_equal(got["labels"], label[order])
        np.testing.assert_array_equal(got["train"], ours[train])
        assert ("node_ids" in got) == shuffled
        if shuffled:
            np.testing.assert_array_equal(got["node_ids"], order)
        # features of types, of their own width and dtype, dense or sparse, or none; labels of the first
        os.remove("src/feat.npy")
        paper, author = len(g["members"][0]), len(g["members"][1])
        own = rng.normal(size=(paper, 3)).astype(np.float16)
        counts = rng.integers(0, 3, (author, 7))
        at = np.argwhere(counts)
        classes = rng.integers(0, 4, (paper, 3))
        for name, array in ("feat", own), ("label", classes), ("feat_author_indices", at[:, 1]), ("feat_author_data", counts[counts > 0]), \
                ("feat_author_indptr", np.r_[0, np.cumsum((counts > 0).sum(1))]):
            save(f"src/{name}.npy", array)
        save("src/label.npy", (classes > 1).astype(np.int64))
        got = imported("npy", "src")
        np.testing.assert_array_equal(got["features_0"], own)
        np.testing.assert_array_equal(got["features_1"], counts)
        assert "features_2" not in got and "feature_dim" not in got["meta"]["node_types"][2]
        assert [t.get("feature_dtype") for t in got["meta"]["node_types"]] == ["f16", "u8", None]
        np.testing.assert_array_equal(got["labels"][:paper], classes > 1)
        assert np.isnan(got["labels"][paper:]).all() and got["meta"]["multi_label"]
        if not shuffled:
            linked = imported("npy", "src", "--in-place") if not os.remove("src/feat_author_indptr.npy") else None
            np.testing.assert_array_equal(np.load("src/feat.npy"), own)
            assert list(linked["meta"]["files"]) == ["features_0"]


def test_types_by_id():
    """Features and labels of all nodes as CSV, in any order: the same as .npy arrays of them."""
    for shuffled in False, True:
        g = hetero(shuffled)
        feat, label = rng.normal(size=(g["n"], 3)).astype(np.float32), rng.integers(0, 6, g["n"])
        shutil.rmtree("src", ignore_errors=True)
        source("src", g, feat=feat, label=label)
        want = imported("npy", "src")
        os.remove("src/feat.npy"), os.remove("src/label.npy")
        lines = rng.permutation(g["n"])
        csv("src/feat.csv", np.c_[lines, feat[lines]], ["%d"] + ["%.9g"] * 3)
        csv("src/label.csv", np.c_[lines, label[lines]])
        got = imported("npy", "src")
        assert want.keys() == got.keys() and sum(name.startswith("features_") for name in got) == 3
        for name in want.keys() - {"meta"}:
            np.testing.assert_array_equal(got[name], want[name])
        csv("src/label.csv", np.c_[lines, label[lines]][1:])
        assert "no label" in run("import", "npy", "src", "out").stderr
        shutil.rmtree("out")


def test_types_round_trip():
    """What export writes is imported to the same files; nodes are by types from then on."""
    g = hetero(True)
    source("src", g, feat=rng.normal(size=(g["n"], 5)).astype(np.float32), label=rng.integers(0, 6, g["n"]),
           train=np.arange(50), edge_weight=rng.random(len(g["src"])).astype(np.float32))
    run("import", "npy", "src", "d", "--quiet", "--memory", "64M", "--reverse-relations")
    run("export", "npy", "d", "back", "--quiet")
    run("import", "npy", "back", "again", "--quiet", "--memory", "64M")
    names = sorted(f for f in os.listdir("d") if f.endswith(".npy"))
    assert [f for f in names if f != "node_ids.npy"] == sorted(f for f in os.listdir("again") if f.endswith(".npy"))
    for name in names:
        assert name == "node_ids.npy" or filecmp.cmp(f"d/{name}", f"again/{name}", shallow=False), name
    one, two = (json.load(open(f"{d}/meta.json")) for d in ("d", "again"))
    assert one["node_types"] == two["node_types"] and one["relations"] == two["relations"]
    info = json.loads(run("info", "d", "--json").stdout)
    assert info["dataset_checksum"] == json.loads(run("info", "again", "--json").stdout)["dataset_checksum"]
    for said, r in zip(info["relations"], one["relations"]):
        assert all(said[key] == r[key] for key in r)
    assert "heterogeneous" in run("export", "graphbolt", "d", "e", status=1).stderr and not os.path.exists("e")
    # errors name what is wrong with one
    a = np.load("d/rel0_indices.npy")
    a[3] = 10**6
    np.save("d/rel0_indices.npy", a)
    ids = np.load("d/node_ids.npy")
    ids[1] = ids[0]
    np.save("d/node_ids.npy", ids)
    told = run("verify", "d", status=1).stdout
    assert "rel0_indices.npy: entry 3: node 1000000 of" in told and "node_ids.npy: row 1" in told, told
    os.remove("d/rel1_indptr.npy")
    assert "rel1_indptr.npy" in run("verify", "d", status=1).stderr


def test_types_none():
    """One type and one relation, or dropped types: the very files of a homogeneous graph."""
    g = graph()
    neutral("plain", g)
    neutral("one", g, node_type=np.zeros(g["n"], np.int8), edge_type=np.zeros(len(g["src"]), np.int8))
    h = hetero(True)
    h.update(feat=rng.normal(size=(h["n"], 4)).astype(np.float32), label=rng.integers(0, 3, h["n"]), train=np.arange(9),
             valid=np.arange(9, 12), test=np.arange(12, 14))
    neutral("blind", h)
    neutral("typed", h, node_type=h["node_type"], edge_type=h["edge_type"])
    for a, b, flags in ("plain", "one", []), ("blind", "typed", ["--drop-types"]):
        for src, flag in (a, []), (b, flags):
            run("import", "npy", src, f"{src}.out", "--quiet", "--memory", "64M", *flag)
        names = sorted(os.listdir(f"{a}.out"))
        assert names == sorted(os.listdir(f"{b}.out"))
        assert not filecmp.cmpfiles(f"{a}.out", f"{b}.out", [f for f in names if f != "meta.json"], shallow=False)[1]
        one, two = (json.load(open(f"{d}.out/meta.json")) for d in (a, b))
        del one["provenance"], two["provenance"], one["name"], two["name"]
        assert one == two


def lists(g, n=40):
    """Edges to learn: some of those there are, and the edge type of each."""
    some = rng.permutation(len(g["src"]))[:n]
    return np.stack([g["src"][some], g["dst"][some]], 1), g["edge_type"][some], some


def test_types_edge_lists():
    """Lists of edges with their types: their relations in a second file, and back."""
    for shuffled, flags in (False, []), (True, []), (True, ["--reverse-relations"]), (True, ["--reverse"]):
        g = hetero(shuffled)
        ours = np.argsort(np.concatenate(g["members"]))
        edges, kinds, some = lists(g)
        shutil.rmtree("src", ignore_errors=True)
        source("src", g, feat=np.zeros((g["n"], 1), np.float32), train_edges=edges, train_edge_type=kinds.astype(np.uint8), test_edges=edges[:5], test_edge_type=kinds[:5])
        got = imported("npy", "src", *flags)
        if flags == ["--reverse"]:
            g = {**g, "src": g["dst"], "dst": g["src"]}
        relation = np.zeros(len(g["src"]), int)
        for r, (_, of) in enumerate(relations(g)):
            relation[of] = r
        np.testing.assert_array_equal(got["train_edges"], ours[np.stack([g["src"][some], g["dst"][some]], 1)])
        np.testing.assert_array_equal(got["train_edge_relations"], relation[some])
        np.testing.assert_array_equal(got["test_edge_relations"], relation[some[:5]])
        assert "valid_edge_relations" not in got
    run("import", "npy", "src", "d", "--quiet", "--memory", "64M")
    run("export", "npy", "d", "back", "--quiet")
    run("import", "npy", "back", "again", "--quiet", "--memory", "64M")
    for name in "train_edges", "train_edge_relations", "test_edge_relations":
        assert filecmp.cmp(f"d/{name}.npy", f"again/{name}.npy", shallow=False), name
    sums = [json.loads(run("info", d, "--json").stdout)["dataset_checksum"] for d in ("d", "again")]
    a = np.load("again/train_edge_relations.npy")
    a[7] = 10**6
    np.save("again/train_edge_relations.npy", a)
    assert "train_edge_relations.npy: row 7: 1000000 is no relation" in run("verify", "again", status=1).stdout
    sums.append(json.loads(run("info", "again", "--json").stdout)["dataset_checksum"])
    assert sums[0] == sums[1] != sums[2]
    np.save("again/train_edge_relations.npy", a[:9])
    assert "train_edge_relations.npy" in run("info", "again", status=1).stderr
    os.remove("src/train_edge_type.npy")  # then nobody knows
    assert "train_edge_relations" not in imported("npy", "src")
    os.remove("src/edge_type.npy")  # with one type of edges: ends decide
    os.remove("src/test_edge_type.npy")
    assert "train_edge_relations" in imported("npy", "src")


def test_types_wrong():
    g = hetero(False)
    feat = rng.normal(size=(g["n"], 5)).astype(np.float32)

    def case(*words, flags=(), meta=None, **arrays):
        shutil.rmtree("src", ignore_errors=True)
        source("src", g, **{"feat": feat, **arrays})
        if meta is not None:
            write("src/meta.json", json.dumps(meta))
        refused("npy", "src", *words, flags=flags)

    case("--symmetrize", "--reverse-relations", flags=["--symmetrize"])
    case("--in-place", flags=["--in-place"])
    case("500 rows", feat=feat[:500])
    case("feat_author.npy", "3 rows for 500 nodes", feat_author=feat[:3])
    case("edge_type.npy", "5 types for 20000 edges", edge_type=np.zeros(5, np.int8))
    case("edge_type.npy", "row 7: type -1", edge_type=np.where(np.arange(20000) == 7, -1, 0))
    case("node_type.npy", "row 2: type 256", node_type=np.where(np.arange(g["n"]) == 2, 256, 0))
    case("node_type.npy", "float64", node_type=np.zeros(g["n"]))
    case("'type_1'", "0 nodes", meta={}, node_type=np.where(np.arange(g["n"]) == 2, 2, 0))
    case("node_type.npy has 1440", meta={"num_nodes": 7})
    case("the graph has 1000 nodes", node_type=g["node_type"][:1000], feat=feat[:1000])
    case("'a/b'", meta={"node_types": [{"type": 0, "name": "a/b"}]})
    case("type 'x' twice", meta={"node_types": [{"type": 0, "name": "x"}, {"type": 1, "name": "x"}]})
    case("'y' from", "twice", meta={"edge_types": [{"edge_type": 1, "name": "y"}, {"edge_type": 3, "name": "y"}]})
    edges, kinds, _ = lists(g)
    case("train_edge_type.npy", "39 types for 40 edges", train_edges=edges, train_edge_type=kinds[:39])
    case("valid_edge_type.npy: row 3", "edges.npy has no edge of type 9", valid_edges=edges, valid_edge_type=np.where(np.arange(40) == 3, 9, kinds))
    case("train.npy: row 0: node 1440", train=np.array([g["n"]]))
    # what does not take types yet says so, before anything is made
    shutil.rmtree("src")
    source("src", g, feat=feat, label=np.zeros(g["n"], int), train=np.arange(10))
    run("import", "npy", "src", "d", "--quiet", "--memory", "64M")
    assert "d trains with --memory" in run("doctor", "d").stdout
    done = run("stripe", "d", "a", "--parts", "2", "--part", "0", status=1)
    assert "heterogeneous" in done.stderr + done.stdout and "--drop-types" in done.stderr + done.stdout, done
    told, trained = (json.loads(run(*command, "d", "--fanout", "3,3", "--hidden", "8", "--epochs", "1", "--memory", "200M", "--json").stdout)["epochs"][0]
                     for command in (["bench", "epoch"], ["train", "--run", "run"]))
    assert (told["rows"], told["misses"]) == (trained["rows"], trained["misses"]), (told, trained)
    assert not os.path.exists("a")


def test_types_real():
    """debian-packages of OUTGROW_DATA, whole."""
    src = f"{os.environ.get('OUTGROW_DATA', '')}/debian-packages"
    if not os.path.isdir(src):
        return
    a = {f[:-4]: np.load(f"{src}/{f}") for f in os.listdir(src) if f.endswith(".npy")}
    said = json.load(open(f"{src}/meta.json"))
    global NAMES
    kept, NAMES = NAMES, [t["name"] for t in said["node_types"]]
    kinds = [t["name"] for t in said["edge_types"]]
    g = {"n": len(a["label"]), "node_type": a["node_type"], "edge_type": a["edge_type"], "src": a["edges"][:, 0].astype(np.int64),
         "dst": a["edges"][:, 1].astype(np.int64), "members": [np.flatnonzero(a["node_type"] == t) for t in range(5)]}
    got = imported("npy", src, "--reverse-relations")
    for r in got["meta"]["relations"]:
        back, name = r["name"].startswith("rev_"), r["name"].removeprefix("rev_")
        r["name"] = ("rev_" if back else "") + f"kind {kinds.index(name)}"
    same_relations(got, g, a["edge_weight"], reverses=True)
    for t, nodes in enumerate(g["members"]):
        np.testing.assert_array_equal(got[f"features_{t}"], a["feat"][nodes])
    np.testing.assert_array_equal(got["labels"], np.where(a["label"] < 0, -1, a["label"]))
    for split in "train", "valid", "test":
        np.testing.assert_array_equal(got[split], a[split])
    NAMES = kept


def test_types_generate():
    """A planted graph of given sizes and relations: the same files from any number of threads."""
    args = ["--types", "paper:3000:12,author:2000,institution:90:3", "--classes", "6", "--homophily", "0.7", "--degree", "4", "--relations",
            "paper:cites:paper:5,author:writes:paper,author:works at:institution:30,paper:of:author:2"]
    for threads in 1, 3:
        run("generate", f"g{threads}", *args, "--threads", threads, "--memory", f"{64 * threads}M", "--quiet")
        run("verify", f"g{threads}")
    names = sorted(f for f in os.listdir("g1") if f.endswith(".npy"))
    assert not filecmp.cmpfiles("g1", "g3", names, shallow=False)[1] and names == sorted(f for f in os.listdir("g3") if f.endswith(".npy"))
    a = {f[:-4]: np.load(f"g1/{f}") for f in names}
    meta = json.load(open("g1/meta.json"))
    assert [(r["source"], r["name"], r["destination"]) for r in meta["relations"]] == [
        ("paper", "cites", "paper"), ("author", "writes", "paper"), ("author", "works at", "institution"), ("paper", "of", "author")]
    assert a["features_0"].shape == (3000, 12) and a["features_2"].shape == (90, 3) and "features_1" not in a
    assert (a["labels"][:3000] >= 0).all() and a["labels"].max() == 5 and (a["labels"][3000:] == -1).all() and len(a["labels"]) == 5090
    ids = np.concatenate([a[s] for s in ("train", "valid", "test")])
    assert len(ids) == 900 == len(np.unique(ids)) and ids.max() < 3000
    for r, (wanted, sources) in enumerate([(15000, 3000), (12000, 2000), (2700, 2000), (4000, 3000)]):
        edges = len(a[f"rel{r}_indices"])  # drawn twice, and to itself, it is dropped
        assert 0.7 * wanted < edges <= wanted and a[f"rel{r}_indices"].max() < sources
        assert len(a[f"rel{r}_indptr"]) == {0: 3001, 1: 3001, 2: 91, 3: 2001}[r]
    dst = np.repeat(np.arange(3000), np.diff(a["rel0_indptr"]))
    share = (a["labels"][a["rel0_indices"]] == a["labels"][dst]).mean()
    assert 0.6 < share < 0.72, share  # 0.7 of what is drawn. More of these are drawn twice through authors: papers of an author share his class, which no file has
    writes = np.repeat(np.arange(3000), np.diff(a["rel1_indptr"]))
    count = np.zeros((2000, 6))
    np.add.at(count, (a["rel1_indices"], a["labels"][writes]), 1)
    much = count[count.sum(1) >= 20]
    assert len(much) > 50 and (much.max(1) / much.sum(1)).mean() > 0.5
    # one type and one relation: the graph that there was
    run("generate", "one", "--types", "x:500:7", "--relations", "x:y:x:6", "--quiet")
    run("generate", "plain", "--nodes", 500, "--dim", 7, "--degree", 6, "--quiet")
    names = sorted(os.listdir("plain"))
    assert names == sorted(os.listdir("one"))
    assert not filecmp.cmpfiles("plain", "one", [f for f in names if f != "meta.json"], shallow=False)[1]
    for wrong, word in [(["--types", "a:5:1"], "belong together"), (["--types", "a", "--relations", "a:x:a"], "--types: 'a'"),
                        (["--types", "a:50:1", "--relations", "a:x:b"], "--relations: 'a'"), (["--types", "a:5", "--relations", "a:x:a"], "classes"),
                        (["--types", "a:50,a:60", "--relations", "a:x:a"], "twice"), (["--types", "a:1.5", "--relations", "a:x:a"], "--types"),
                        (["--model", "rmat", "--types", "a:50", "--relations", "a:x:a"], "planted")]:
        done = run("generate", "w", *wrong, status=1)
        assert word in done.stderr and "hint:" in done.stderr, done.stderr
    assert not os.path.exists("w")


def same_folders(got, relations, counts, label, splits, **features):
    """Types and relations by name, in their order."""
    assert [(r["source"], r["name"], r["destination"]) for r in got["meta"]["relations"]] == list(relations)
    assert {t["name"]: t["count"] for t in got["meta"]["node_types"]} == counts
    order = [t["name"] for t in got["meta"]["node_types"]]
    for r, ((_, _, to), (src, dst)) in enumerate(relations.items()):
        indptr, indices, _ = csc(src, dst, counts[to])
        np.testing.assert_array_equal(got[f"rel{r}_indptr"], indptr)
        np.testing.assert_array_equal(got[f"rel{r}_indices"], indices)
    for t, name in enumerate(order):
        assert (f"features_{t}" in got) == (name in features)
        if name in features:
            np.testing.assert_array_equal(got[f"features_{t}"], features[name])
            assert got[f"features_{t}"].dtype == features[name].dtype
    total = sum(counts.values())
    np.testing.assert_array_equal(got["labels"], np.r_[label, np.full(total - len(label), -1)])
    for split, ids in splits.items():
        np.testing.assert_array_equal(got[split], ids)


def test_types_mag240m():
    """Three relations; only papers have features and labels."""
    root, counts = "mag240m_kddcup2021", {"paper": 300, "author": 500, "institution": 20}
    relations = {}
    for s, name, d, e in ("author", "affiliated_with", "institution", 400), ("author", "writes", "paper", 900), ("paper", "cites", "paper", 1500):
        src, dst = rng.integers(0, counts[s], e), rng.integers(0, counts[d], e)
        if s == "author":  # the last one is there, or nobody knows of it
            src[0] = counts[s] - 1
            dst[0] = counts[d] - 1
        relations[s, name, d] = src, dst
        save(f"{root}/processed/{s}___{name}___{d}/edge_index.npy", np.stack([src, dst]))
    feat = rng.normal(size=(300, 768)).astype(np.float16)
    label = np.where(rng.random(300) < 0.5, np.nan, rng.integers(0, 9, 300)).astype(np.float32)
    save(f"{root}/processed/paper/node_feat.npy", feat)
    save(f"{root}/processed/paper/node_label.npy", label)
    splits = {name: ids for name, ids in zip(("train", "valid", "test"), np.split(rng.permutation(300)[:90], 3))}
    for split, ids in splits.items():
        save(f"{root}/{split}.npy", ids)
    classes = np.where(np.isnan(label), -1, label)
    for flags in [], ["--in-place"]:
        same_folders(imported("ogb", root, *flags), relations, counts, classes, splits, paper=feat)
    back = {(d, f"rev_{n}", s): (dst, src) for (s, n, d), (src, dst) in relations.items()}
    same_folders(imported("ogb", root, "--reverse-relations"), {**relations, **back}, counts, classes, splits, paper=feat)
    save(f"{root}/processed/paper/node_label.npy", label[:200])
    refused("ogb", root, "200 labels for 300 nodes")
    save(f"{root}/processed/paper/node_label.npy", label)
    save(f"{root}/processed/author___writes___paper/edge_index.npy", np.array([[0], [300]]))
    refused("ogb", root, "edge_index.npy: row 0: node 300, the graph has 300 nodes")
    save(f"{root}/processed/author___writes___paper/edge_index.npy", np.array([[-3], [0]]))
    refused("ogb", root, "node -3")


def test_types_igb():
    """The heterogeneous sets: each type has features of 1024 floats, with a header or without."""
    counts = {"paper": 200, "author": 300, "fos": 30, "institute": 10}
    feat = {name: rng.normal(size=(n, 1024)).astype(np.float32) for name, n in counts.items()}
    label = rng.integers(0, 19, 200)
    relations = {}
    for s, name, d, e in ("author", "affiliated_to", "institute", 310), ("paper", "cites", "paper", 900), ("paper", "topic", "fos", 400), \
            ("paper", "written_by", "author", 700):
        relations[s, name, d] = rng.integers(0, counts[s], e), rng.integers(0, counts[d], e)
        save(f"tiny/processed/{s}__{name}__{d}/edge_index.npy", np.stack(relations[s, name, d], 1))
    splits = {"train": np.arange(120), "valid": np.arange(120, 160), "test": np.arange(160, 200)}
    for headerless in False, True:
        for name, rows in feat.items():
            save(f"tiny/processed/{name}/node_feat.npy", rows)
            if headerless:
                rows.tofile(f"tiny/processed/{name}/node_feat.npy")
        save("tiny/processed/paper/node_label_19.npy", label.astype(np.float32))
        for flags in [], ["--in-place"]:
            same_folders(imported("igb", "tiny", *flags), relations, counts, label, splits, **feat)
    blind = imported("igb", "tiny", "--drop-types")
    indptr, indices, _ = csc(*relations["paper", "cites", "paper"], 200)
    np.testing.assert_array_equal(blind["indptr"], indptr)
    np.testing.assert_array_equal(blind["indices"], indices)
    assert blind["meta"]["format"] == 1


def test_types_ogbn():
    """ogbn-mag's archive: CSV, types and relations in small files of words."""
    root, counts = "ogbn_mag", {"author": 400, "field_of_study": 50, "institution": 20, "paper": 300}
    triplets = [("author", "affiliated_with", "institution"), ("author", "writes", "paper"), ("paper", "cites", "paper"),
                ("paper", "has_topic", "field_of_study")]
    relations = {}
    names = ",".join(counts)
    write(f"{root}/raw/num-node-dict.csv.gz", f"{names}\n{','.join(map(str, counts.values()))}\n")
    write(f"{root}/raw/triplet-type-list.csv.gz", "".join(",".join(t) + "\n" for t in triplets))
    for what in "feat", "label":
        write(f"{root}/raw/nodetype-has-{what}.csv.gz", f"{names}\nFalse,False,False,True\n")
    write(f"{root}/split/time/nodetype-has-split.csv.gz", f"{names}\nFalse,False,False,True\n")
    for (s, name, d), e in zip(triplets, (500, 900, 1500, 700)):
        relations[s, name, d] = src, dst = rng.integers(0, counts[s], e), rng.integers(0, counts[d], e)
        folder = f"{root}/raw/relations/{s}___{name}___{d}"
        csv(f"{folder}/edge.csv.gz", np.stack([src, dst], 1))
        csv(f"{folder}/num-edge-list.csv.gz", [e])
        csv(f"{folder}/edge_reltype.csv.gz", np.zeros(e))
    feat = rng.normal(size=(300, 8)).astype(np.float32)
    label = rng.integers(0, 349, 300)
    csv(f"{root}/raw/node-feat/paper/node-feat.csv.gz", feat, "%.9g")
    csv(f"{root}/raw/node-feat/paper/node_year.csv.gz", np.full(300, 2015))
    csv(f"{root}/raw/node-label/paper/node-label.csv.gz", label)
    splits = {name: ids for name, ids in zip(("train", "valid", "test"), np.split(rng.permutation(300)[:90], 3))}
    for split, ids in splits.items():
        csv(f"{root}/split/time/paper/{split}.csv.gz", ids)
    got = imported("ogb", root)
    same_folders(got, relations, counts, label, splits, paper=feat)
    assert [t["name"] for t in got["meta"]["node_types"]] == ["paper", "author", "field_of_study", "institution"]
    refused("ogb", root, "--drop-types", flags=["--drop-types"])
    write(f"{root}/raw/num-node-dict.csv.gz", f"{names}\n400000000,50,20,300\n")  # a mere number
    refused("ogb", root, "400000370 nodes", "3600 edges")
    write(f"{root}/raw/num-node-dict.csv.gz", f"{names}\n{','.join(map(str, counts.values()))}\n")
    csv(f"{root}/raw/node-label/paper/node-label.csv.gz", label[:299])
    refused("ogb", root, "299 labels for 300 nodes")
    csv(f"{root}/split/time/paper/test.csv.gz", [300])
    csv(f"{root}/raw/node-label/paper/node-label.csv.gz", label)
    refused("ogb", root, "test.csv.gz: row 0: node 300 of 300")
    csv(f"{root}/raw/node-feat/paper/node-feat.csv.gz", feat[:7])
    refused("ogb", root, "7 rows for 300 nodes")
    csv(f"{root}/raw/relations/paper___cites___paper/num-edge-list.csv.gz", [1501])
    refused("ogb", root, "1500 edges", "1501")
    csv(f"{root}/raw/relations/author___writes___paper/edge.csv.gz", [[0, 1], [0, 300]])
    refused("ogb", root, "edge.csv.gz: row 1: node 300")
    for name, text, word in [("triplet-type-list", "paper,cites\n", "source,name,destination"), ("triplet-type-list", "paper,in,venue\n", "num-node-dict"),
                             ("triplet-type-list", "paper,x__y,paper\n", "cannot be the name"), ("num-node-dict", "a,b\n1\n", "two lines"),
                             ("num-node-dict", "paper,author\n5,x\n", "number of nodes"), ("num-node-dict", "paper,../a\n5,6\n", "cannot be the name"),
                             ("nodetype-has-label", f"{names}\nTrue,False,False,True\n", "several types")]:
        before = open(f"{root}/raw/{name}.csv.gz", "rb").read()
        write(f"{root}/raw/{name}.csv.gz", text)
        refused("ogb", root, f"{name}.csv.gz", word)
        open(f"{root}/raw/{name}.csv.gz", "wb").write(before)


def test_types_graphbolt():
    """Types of nodes, source:name:destination of edges; sets of one type."""
    counts = {"author": 300, "paper": 200, "venue": 9}
    feat = {"paper": rng.normal(size=(200, 6)).astype(np.float32), "author": rng.integers(0, 9, (300, 2))}
    relations, edges, yaml = {}, {}, "dataset_name: typed\ngraph:\n  nodes:\n"
    yaml += "".join(f"    - {{type: {name}, num: {n}}}\n" for name, n in counts.items()) + "  edges:\n"
    for s, name, d, e in ("author", "writes", "paper", 700), ("paper", "cites", "paper", 900), ("paper", "in", "venue", 200):
        relations[s, name, d] = src, dst = rng.integers(0, counts[s], e), rng.integers(0, counts[d], e)
        if name == "cites":
            csv(f"bolt/edges/{name}.csv", np.stack([src, dst], 1))
        else:
            save(f"bolt/edges/{name}.npy", np.stack([src, dst]))
        fmt, end = ("csv", "csv") if name == "cites" else ("numpy", "npy")
        yaml += f'    - {{type: "{s}:{name}:{d}", format: {fmt}, path: edges/{name}.{end}}}\n'
    yaml += "feature_data:\n"
    for name, rows in feat.items():
        save(f"bolt/data/{name}.npy", rows)
        yaml += f"  - {{domain: node, type: {name}, name: feat, format: numpy, path: data/{name}.npy}}\n"
    label, splits = rng.integers(0, 5, 200), dict(zip(("train", "validation", "test"), np.split(rng.permutation(200)[:90], 3)))
    yaml += "tasks:\n  - name: node_classification\n    num_classes: 5\n"
    for name, ids in splits.items():
        save(f"bolt/set/{name}.npy", ids)
        save(f"bolt/set/{name}_label.npy", label[ids])
        yaml += f"    {name}_set:\n      - type: paper\n        data:\n          - {{name: seeds, format: numpy, path: set/{name}.npy}}\n" \
                f"          - {{name: labels, format: numpy, path: set/{name}_label.npy}}\n"
    write("bolt/metadata.yaml", yaml)
    known = np.full(200, -1)
    for ids in splits.values():
        known[ids] = label[ids]
    splits["valid"] = splits.pop("validation")
    for flags in [], ["--in-place"]:
        if flags:  # integers are u8 as they come
            save("bolt/data/author.npy", feat["author"].astype(np.uint8))
        feat["author"] = feat["author"].astype(np.uint8)
        got = imported("graphbolt", "bolt", *flags)
        same_folders(got, relations, counts, known, splits, **feat)
        assert [t["name"] for t in got["meta"]["node_types"]] == ["paper", "author", "venue"] and got["meta"]["num_classes"] == 5
    refused("graphbolt", "bolt", "--drop-types", flags=["--drop-types"])
    for old, new, word in [("author:writes:paper", "author:writes", "edges of type author:writes"), ("paper:in:venue", "paper:in:place", "edges of type"),
                           ("type: venue, num", "num", "nodes without a type"), ("- type: paper\n        data", "- type: place\n        data", "place")]:
        write("bolt/metadata.yaml", yaml.replace(old, new))
        refused("graphbolt", "bolt", word)
    write("bolt/metadata.yaml", yaml)
    save("bolt/set/test.npy", np.r_[splits["test"][1:], 200])  # an author, were it an id of the whole
    refused("graphbolt", "bolt", "node 200 of 200")
