"""Types of nodes and relations: what comes of each source, array by array."""
import filecmp
import json
import os
import shutil

import numpy as np

from formats.support import csc, imported, neutral, graph, refused, rng, run, save, write

NAMES = ["paper", "author", "field of study"]


def hetero(shuffled, edges=20000, counts=(900, 500, 40), kinds=4):
    """Nodes of three types, in any order or by types, and edges of four kinds between some of them."""
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
    """Of each node the place in its type."""
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
        assert (got["labels"][paper:] == 0).all() and got["meta"]["multi_label"]
        if not shuffled:
            linked = imported("npy", "src", "--link") if not os.remove("src/feat_author_indptr.npy") else None
            np.testing.assert_array_equal(np.load("src/feat.npy"), own)
            assert list(linked["meta"]["files"]) == ["features_0"]


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
    assert "with types" in run("export", "graphbolt", "d", "e", status=1).stderr and not os.path.exists("e")
    # what is wrong with one is told
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
    """One type and one relation, or types left out: the very files there are without types."""
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
    case("--link", flags=["--link"])
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
    case("train.npy: row 0: node 1440", train=np.array([g["n"]]))
    # what does not take types yet says so, before anything is made
    shutil.rmtree("src")
    source("src", g, feat=feat, label=np.zeros(g["n"], int), train=np.arange(10))
    run("import", "npy", "src", "d", "--quiet", "--memory", "64M")
    for command in ["train", "d", "--run", "r"], ["sample", "d", "--out", "s"], ["plan", "d"], ["simulate", "d", "--policy", "degree", "--cache", "10%"], ["doctor", "d"], \
            ["stripe", "d", "--over", "a,b"], ["bench", "epoch", "d"]:
        done = run(*command, status=1)
        assert "types of nodes and relations" in done.stderr + done.stdout and "--drop-types" in done.stderr + done.stdout, (command, done)
    assert not any(os.path.exists(f) for f in ("r", "s", "a", "b"))


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
    assert 0.6 < share < 0.72, share  # 0.7 of what is drawn; more of these are drawn twice
    # by way of authors: papers of an author share his class, which no file has
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
