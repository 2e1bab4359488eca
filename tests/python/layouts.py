#!/usr/bin/env python3
"""Datasets in the layouts of TGB, OGB's links and RelBench, made here. They equal NumPy's own reading, train and resume; damaged ones are refused."""
import csv
import gzip
import json
import os
import pickle
import shutil
import subprocess
import zipfile
from types import SimpleNamespace

from support import COMMAND, command, main, np, outgrow, raises, same, warned
from outgrow._pickled import load
from tables import KEPT, Plain

_reconstruct, scalar = np.zeros(1).__reduce__()[0], np.int64(1).__reduce__()[0]

OWN = {**os.environ, "OUTGROW_PYTHON": os.sys.executable}
rng = np.random.default_rng(3)


def edges_of(folder, prefix=""):
    """(src, dst, number in the source) of each edge of a dataset."""
    indptr, indices = np.load(f"{folder}/{prefix}indptr.npy"), np.load(f"{folder}/{prefix}indices.npy")
    return indices.astype(np.int64), np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), np.load(f"{folder}/{prefix}edge_ids.npy") if os.path.exists(f"{folder}/{prefix}edge_ids.npy") else None


def told(*words):
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, env=OWN)
    return done.returncode, done.stderr


def trained(dataset, run, *options):
    """An epoch, then one more by --resume, equal to two at once."""
    words = ("train", dataset, "--memory", "300M", "--fanout", "4,4", "--hidden", 8, "--batch", 64, "--checkpoint-every", 0, "--quiet", *options)
    command(*words, "--epochs", 1, "--run", run)
    command(*words, "--epochs", 2, "--run", run, "--resume")
    command(*words, "--epochs", 2, "--run", f"{run}_whole")
    same("checkpoint", *(np.fromfile(f"{r}/checkpoint.safetensors", np.uint8) for r in (run, f"{run}_whole")))
    return json.load(open(f"{run}_whole/summary.json"))


# ---- TGB ----

def make_wiki(folder="wiki", users=30, items=12, n=900, negatives=5):
    """As tgbl-wiki: users and items count from 0, and its list's last name stands for all features."""
    os.makedirs(folder)
    u, i, t = rng.integers(0, users, n), rng.integers(0, items, n), np.sort(rng.integers(0, 400, n))
    u[0], i[0] = users - 1, items - 1
    x = rng.standard_normal((n, 3)).astype(np.float32).round(4)
    with open(f"{folder}/tgbl-wiki_edgelist_v2.csv", "w") as file:
        file.write("user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n")
        file.writelines(f"{a},{b},{c}.0,0,{','.join(map(str, row))}\n" for a, b, c, row in zip(u, i, t, x.tolist()))
    valid, test = np.quantile(t, [0.7, 0.85])
    rows = {"train": np.flatnonzero(t <= valid), "valid": np.flatnonzero((t > valid) & (t <= test)), "test": np.flatnonzero(t > test)}
    neg = {}
    for split, name in ("valid", "val"), ("test", "test"):
        neg[split] = np.stack([users + rng.choice(np.delete(np.arange(items), i[r]), negatives, replace=False) for r in rows[split]])
        table = {(int(u[r]), int(i[r]) + users, float(t[r])): of for r, of in zip(rows[split], neg[split])}
        neg[split] = np.stack([table[int(u[r]), int(i[r]) + users, float(t[r])] for r in rows[split]])
        with open(f"{folder}/tgbl-wiki_{name}_ns_v2.pkl", "wb") as file:
            pickle.dump(table, file)
    return u, i, t, x, rows, neg, users


def test_tgb_with_users_and_items():
    u, i, t, x, rows, neg, users = make_wiki()
    assert any("state_label" in text for text in warned(lambda: outgrow.import_("tgb", "wiki", "w", memory="64M")))
    command("verify", "w")
    assert [(of["name"], of["count"]) for of in json.load(open("w/meta.json"))["node_types"]] == [("user", users), ("item", 12)]
    for r, (a, b) in enumerate(((u, i), (i, u))):
        src, dst, number = edges_of("w", f"rel{r}_")
        assert np.array_equal(np.sort(number), np.arange(len(u)))
        same("src", src, a[number])
        same("dst", dst, b[number])
        same("times", np.load(f"w/rel{r}_edge_times.npy"), t[number])
        same("features", np.load(f"w/rel{r}_edge_features.npy"), x[number])
    for split, at in rows.items():
        same(split, np.load(f"w/{split}_edges.npy"), np.stack([u[at], i[at] + users], 1))
        same(split, np.load(f"w/{split}_edge_times.npy"), t[at])
        if split != "train":
            same(split, np.load(f"w/{split}_neg_dst.npy"), neg[split])
    code, said = told("import", "wiki", "by_command", "--memory", "64M", "--quiet")
    assert code == 0, said
    same("command", np.load("by_command/rel0_edge_features.npy"), np.load("w/rel0_edge_features.npy"))
    summary = trained("w", "wiki_run", "--task", "link", "--time", "edge", "--model", "gat", "--embedding", 8)
    assert summary["test_metrics"]["mrr"] > 0
    code, said = told("import", "tgb", "wiki", "flat", "--drop-types", "--quiet")
    assert code == 0, said
    src, dst, number = edges_of("flat")
    same("flat", np.stack([src, dst]), np.concatenate([[u, i + users], [i + users, u]], 1)[:, number])
    same("flat", np.load("flat/edge_features.npy"), np.concatenate([x, x])[number])
    trained("flat", "flat_run", "--task", "link", "--time", "edge", "--time-strategy", "last", "--model", "gatv2")


def test_tgb_with_names():
    """As tgbl-coin: the time comes first. Nodes are words, sources and destinations at once, counted as they come."""
    os.makedirs("coin")
    names = [f"0x{v:04x}" for v in rng.permutation(50)]
    s, d, t, w = rng.integers(0, 50, 400), rng.integers(0, 50, 400), np.sort(rng.integers(0, 99, 400)), rng.random(400).astype(np.float32)
    with open("coin/tgbl-coin_edgelist.csv", "w", newline="") as file:
        csv.writer(file).writerows([("time", "src", "dst", "weight", "kind"), *((c, names[a], names[b], repr(float(e)), "x") for a, b, c, e in zip(s, d, t, w))])
    order = {}
    for a, b in zip(s, d):
        order.setdefault(names[a], len(order)), order.setdefault(names[b], len(order))
    said = warned(lambda: outgrow.import_("tgb", "coin", "c"))
    assert any("kind" in text for text in said) and sum("are drawn" in text for text in said) == 2, said
    src, dst, number = edges_of("c")
    a, b = (np.array([order[names[k]] for k in of]) for of in (s, d))
    same("edges", np.stack([src, dst]), np.concatenate([[a, b], [b, a]], 1)[:, number])
    same("weights are features", np.load("c/edge_features.npy")[:, 0], np.concatenate([w, w])[number])
    days = np.datetime64("2019-01-01") + np.sort(rng.integers(0, 30, 400))
    with open("coin/tgbl-coin_edgelist.csv", "w") as file:
        file.writelines(["day,src,dst\n", *(f"{c},{names[k]},{names[m]}\n" for c, k, m in zip(days, s, d))])
    warned(lambda: outgrow.import_("tgb", "coin", "days"))
    same("days", np.sort(np.load("days/edge_times.npy"))[::2], days.astype("datetime64[s]").astype(np.int64))


def test_tgb_of_nanoseconds():
    """Times that float64 does not have stay exact. Blank lines are none."""
    os.makedirs("nano")
    times = 1_700_000_000_000_000_001 + 10**9 * np.arange(40)
    with open("nano/tgbl-nano_edgelist.csv", "w") as file:
        file.writelines(["timestamp,src,dst\n", "\n", *(f"{t},{k % 7},{k % 5}\n" for k, t in enumerate(times)), "\n"])
    warned(lambda: outgrow.import_("tgb", "nano", "exact"))
    same("times", np.sort(np.load("exact/edge_times.npy"))[::2], times)


def make_tgbn(name, src, dst, extra=False, n=1500):
    """As tgbn-genre and tgbn-trade: edges, and shares of those that they lead to. Returns edges and {(time, node): {class: share}} as TGB reads them."""
    os.makedirs(name)
    edges = [(int(t), src[a], dst[b], w) for t, a, b, w in zip(np.sort(rng.integers(1000, 5000, n)), rng.integers(0, len(src), n), rng.integers(0, len(dst), n), rng.random(n).astype(np.float32).tolist())]
    nodes, classes = sorted({of[1] for of in edges}), sorted({of[2] for of in edges})
    lines = [(t, u, c, round(w, 4)) for t in range(1500, 5500, 250) for u in nodes if rng.random() < 0.7 for c, w in zip(rng.choice(classes, 3), rng.dirichlet(np.ones(3)).tolist())]
    table = {}
    for t, u, c, w in lines:
        table.setdefault((t, u), {})[c] = w
    for file, head, rows in ("edgelist", "time,a,b,w", edges), ("node_labels", "when,who,what,share", lines):
        with open(f"{name}/tgbn-{name}_{file}.csv", "w", newline="") as f:
            csv.writer(f).writerows([head.split(",") + ["more"] * (extra and file == "edgelist"), *(of + (0.5,) if extra and file == "edgelist" else of for of in rows)])
    return edges, table


def expect_tgbn(folder, edges, table, users, items):
    """users, items: {word: number within its type}"""
    command("verify", folder)
    kinds = [(of["name"], of["count"]) for of in json.load(open(f"{folder}/meta.json"))["node_types"]]
    own, first = len(table), sum(n for name, n in kinds if name != "label")
    assert kinds[-1] == ("label", own), kinds
    keys = sorted(table, key=lambda of: (of[0], users[of[1]]))
    want = np.zeros((own, len(items)), np.float32)
    for row, key in enumerate(keys):
        for word, share in table[key].items():
            want[row, items[word]] = share
    same("shares", np.load(f"{folder}/labels.npy")[first:], want)
    entity = edges_of(folder, f"rel{len(kinds) - 1}_")
    same("who", entity[0][np.argsort(entity[1])], np.array([users[u] for _, u in keys]))
    valid, test = np.quantile([of[0] for of in edges], [0.7, 0.85])
    time = np.array([t for t, _ in keys])
    for split, at in ("train", time < valid), ("valid", (time >= valid) & (time < test)), ("test", time >= test):
        same(split, np.load(f"{folder}/{split}.npy"), first + np.flatnonzero(at))
        same("as of before", np.load(f"{folder}/{split}_times.npy"), time[at] - 1)
    number_of, n = {1: users, 2: items}, len(edges)
    for r in range(len(kinds) - 1):
        src, dst, number = edges_of(folder, f"rel{r}_")
        for end, got in enumerate((src, dst)):
            column = [2 - end if r or k >= n else 1 + end for k in number]
            same("edges", got, np.array([number_of[at][edges[k % n][at]] for k, at in zip(number, column)]))
        same("times", np.load(f"{folder}/rel{r}_edge_times.npy"), np.array([edges[k % n][0] for k in number]))
        same("features", np.load(f"{folder}/rel{r}_edge_features.npy")[:, 0], np.array([edges[k % n][3] for k in number], np.float32))


def ndcg_of(shares, scores, k=10):
    """As scikit-learn's ndcg_score. Equal scores share their discounts."""
    discount = (np.arange(shares.shape[1]) < k) / np.log2(np.arange(shares.shape[1]) + 2)
    out = []
    for y, x in zip(shares.astype(float), scores):
        places = np.stack([np.bincount(np.unique(-x, return_inverse=True)[1], w) for w in (y, np.ones(len(y)))])
        last = np.cumsum(discount)[np.cumsum(places[1]).astype(int) - 1]
        out.append((places[0] / places[1] * np.diff(last, prepend=0)).sum() / (discount @ np.sort(y)[::-1]))
    return np.mean(out)


def expect_measures(graph, summary):
    """TGB's loss and metric, by what `predict` writes."""
    assert summary["config"]["loss"] == "cross_entropy" and summary["best_by"] == "ndcg@10", summary["config"]
    command("predict", graph, "--checkpoint", "genre_run_whole/best.safetensors", "--nodes", "test", "--fanout=-1,-1", "--memory", "300M", "--out", "genre.npy", "--quiet")
    scores, shares = np.load("genre.npy"), np.load(f"{graph}/labels.npy")[np.load(f"{graph}/test.npy")]
    p = np.exp(scores.astype(float))
    p /= p.sum(1, keepdims=True)
    found = summary["test_metrics"]
    for key, want in ("loss", -(shares * np.log(p)).sum(1).mean()), ("ndcg@10", ndcg_of(shares, scores)), ("mse", ((p - shares) ** 2).mean()):
        assert abs(found[key] - want) < 1e-5 * want, (key, found[key], want)
    assert summary["test_acc"] == found["ndcg@10"]
    command("predict", graph, "--checkpoint", "genre_run_whole/best.safetensors", "--nodes", "test", "--fanout=-1,-1", "--memory", "300M", "--out", "shares.npy", "--probabilities", "--quiet")
    assert np.allclose(np.load("shares.npy"), p, atol=1e-6)


def test_tgb_of_nodes():
    """Labels that change over time are nodes with times, a share of each class."""
    for name, src, dst in ("genre", [f"{k}" for k in range(12)], [f"{k}" for k in range(12, 20)]), ("trade", [f"n{k}" for k in range(15)], [f"n{k}" for k in range(15)]):
        edges, table = make_tgbn(name, src, dst, extra=name == "genre")
        outgrow.import_("tgb", name, f"{name}_graph", memory="64M")
        words = [list(dict.fromkeys(of[1] for of in edges)), list(dict.fromkeys(of[2] for of in edges))] if name == "genre" else [list(dict.fromkeys(w for of in edges for w in of[1:3]))] * 2
        expect_tgbn(f"{name}_graph", edges, table, *({word: k for k, word in enumerate(of)} for of in words))
    expect_measures("genre_graph", trained("genre_graph", "genre_run", "--time", "edge", "--fanout=-1,-1", "--embedding", 8, "--model", "gatv2"))
    code, said = told("import", "trade", "nations", "--quiet")
    assert code == 0, said
    path = "trade/tgbn-trade_node_labels.csv"
    text = open(path).read()
    for wrong, words in (text + "1750,nowhere,n1,0.5\n", ("'nowhere' is on no edge", f"line {text.count(chr(10)) + 1}")), (text + "1750,n1,n2\n", ("3 columns",)), \
            (text.split("\n")[0] + "\n1750,n1,n2,0.5\n", ("to valid",)):
        open(path, "w").write(wrong)
        with raises(outgrow.Error, path, *words):
            outgrow.import_("tgb", "trade", "never")
    os.remove(path)
    with raises(outgrow.Error, path, "not there"):
        outgrow.import_("tgb", "trade", "never")
    assert not os.path.exists("never")


def made_by(call, given, *state):
    """An object whose pickle calls this, and sets the state of what it returns."""
    class Made:
        def __reduce__(self):
            return call, given, *state
    return Made()


def test_tgb_that_is_damaged():
    make_wiki("good", n=200)
    path, ns = "bad/tgbl-wiki_edgelist_v2.csv", "bad/tgbl-wiki_val_ns_v2.pkl"
    lines = open("good/tgbl-wiki_edgelist_v2.csv").readlines()
    table = pickle.load(open("good/tgbl-wiki_val_ns_v2.pkl", "rb"))
    key = next(iter(table))

    def refused(*words, file=path, text=None, data=None):
        shutil.rmtree("bad", ignore_errors=True)
        shutil.copytree("good", "bad")
        with open(file, "wb") as f:
            f.write("".join(text).encode() if text is not None else data)
        with raises(outgrow.Error, file, *words):
            warned(lambda: outgrow.import_("tgb", "bad", "never"))
        assert not os.path.exists("never") and not [name for name in os.listdir() if name.startswith("never")]
    refused("line 9", "timestamp", "noon", text=[*lines[:8], "1,2,noon,0,1,2,3\n", *lines[9:]])
    refused("line 9", "item_id", "1.5", text=[*lines[:8], "1,1.5,3,0,1,2,3\n", *lines[9:]])
    refused("line 8", "timestamp", "1.5", text=[*lines[:7], "1,2,1.5,0,1,2,3\n", *lines[8:]])
    refused("line 8", "timestamp", "nan", text=[*lines[:7], "1,2,nan,0,1,2,3\n", *lines[8:]])
    refused("line 8", "timestamp", "9007199254740993.0", text=[*lines[:7], "1,2,9007199254740993.0,0,1,2,3\n", *lines[8:]])
    refused("line 9", "timestamp", "2019-02-30", text=[lines[0], "\n", *(f"1,2,2019-02-{k},0,1,2,3\n" for k in (10, 11, 12, 13, 14, 15, 30, 31))])
    refused("line 3", "timestamp", "''", text=[lines[0], "1,2,2019-02-10,0,1,2,3\n", "1,2,,0,1,2,3\n"])
    refused("line 2", "2 columns, without timestamp", text=[lines[0], "1,2\n"])
    refused("can't decode", data="".join(lines).encode() + b"\xff\xfe\n")
    refused("line 9", "5 columns", text=[*lines[:8], "1,2,3,0,1\n", *lines[9:]])
    refused("no edges", text=lines[:1])
    refused("no column of time", text=["user_id,item_id,when\n", "0,1,2\n"])
    refused("to valid", text=[lines[0], *("0,1,7,0,1,2,3\n",) * 20])
    refused("no negatives of the edge", file=ns, data=pickle.dumps({}))
    refused("node 999", file=ns, data=pickle.dumps(table | {key: np.array([999, 31, 32, 33, 34])}))
    refused("no dict", file=ns, data=pickle.dumps([1]))
    refused("mkdir", "no array", file=ns, data=pickle.dumps(made_by(os.mkdir, ("attacked",))))
    refused(file=ns, data=b"\x80\x04nonsense")
    assert not os.path.exists("attacked")
    with raises(outgrow.Error, "no ..._edgelist.csv"):
        os.makedirs("empty")
        outgrow.import_("tgb", "empty", "never")
    code, said = told("import", "tgb", "empty", "never")
    assert code == 1 and "no ..._edgelist.csv" in said and "hint:" in said, said


# ---- OGB ----

def zipped(path, value):
    """What torch.save writes, of arrays."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("split/data.pkl", pickle.dumps(value, protocol=2))
        archive.writestr("split/version", "3\n")


def legacy(path, value):
    with open(path, "wb") as file:
        for part in 0x1950a86a20f9469cfc6c, 1001, {"protocol_version": 1001, "little_endian": True}, value, []:
            pickle.dump(part, file, protocol=2)


def put_csv(path, rows):
    with gzip.open(path, "wt") as file:
        file.writelines(",".join(map(str, np.atleast_1d(row))) + "\n" for row in rows)


def make_citation(folder, save, n=300, e=2400, k=6):
    """As ogbl-citation2: edges to learn, and some of them with candidates."""
    os.makedirs(f"{folder}/raw"), os.makedirs(f"{folder}/split/time")
    edges, x, year = rng.integers(0, n, (e, 2)), rng.standard_normal((n, 4)).astype(np.float32).round(4), rng.integers(1990, 2020, n)
    for name, rows in ("edge", edges), ("node-feat", x.tolist()), ("node_year", year), ("num-node-list", [n]), ("num-edge-list", [e]):
        put_csv(f"{folder}/raw/{name}.csv.gz", rows)
    lists = {"train": {"source_node": edges[:, 0], "target_node": edges[:, 1]}}
    for split in "valid", "test":
        lists[split] = {"source_node": rng.integers(0, n, 60), "target_node": rng.integers(0, n, 60), "target_node_neg": rng.integers(0, n, (60, k))}
    for split, value in lists.items():
        save(f"{folder}/split/time/{split}.pt", value)
    return edges, x, year, lists


def test_ogb_links():
    for folder, save in ("ogbl_citation2", zipped), ("old", legacy):
        edges, x, year, lists = make_citation(folder, save)
        code, said = told("import", folder, f"of_{folder}", "--memory", "64M")
        assert code == 0 and "not read" not in said and ".tmp" not in said, said
        command("verify", f"of_{folder}")
        src, dst, _ = edges_of(f"of_{folder}")
        order = np.lexsort((edges[:, 0], edges[:, 1]))
        same("edges", np.stack([src, dst]), edges[order].T)
        same("features", np.load(f"of_{folder}/features.npy"), x)
        same("years", np.load(f"of_{folder}/node_times.npy"), year)
        for split, of in lists.items():
            same(split, np.load(f"of_{folder}/{split}_edges.npy"), np.stack([of["source_node"], of["target_node"]], 1))
            same(split, np.load(f"of_{folder}/{split}_edge_times.npy"), year[of["source_node"]])
            if split != "train":
                same(split, np.load(f"of_{folder}/{split}_neg_dst.npy"), of["target_node_neg"])
    summary = trained("of_old", "ogb_run", "--task", "link", "--model", "sage", "--best-by", "mrr")
    assert summary["test_metrics"]["mrr"] > 0
    trained("of_old", "ogb_timed", "--task", "link", "--time", "node")


def test_ogb_links_as_pairs():
    """As ogbl-collab: edges for both directions, and negatives of all held-out ones."""
    edges, *_ = make_citation("ogbl_collab", zipped)
    pairs = {split: rng.integers(0, 300, (50, 2)) for split in ("valid", "test")}
    zipped("ogbl_collab/split/time/train.pt", {"edge": edges, "weight": np.ones(len(edges))})
    for split, of in pairs.items():
        zipped(f"ogbl_collab/split/time/{split}.pt", {"edge": of, "edge_neg": of[::-1], "year": of[:, 0]})
    assert any("weight" in text for text in warned(lambda: outgrow.import_("ogb", "ogbl_collab", "collab")))
    assert json.load(open("collab/meta.json"))["num_edges"] == 2 * len(edges)
    same("negatives", np.load("collab/test_neg_edges.npy"), pairs["test"][::-1])
    same("years", np.load("collab/test_edge_times.npy"), pairs["test"][:, 0])


def test_arrays_of_pickles():
    """Those of all protocols are read. Files cannot make arrays, or types of them, otherwise."""
    arrays = {f"{name}{a.dtype.str}": a for name, a in (("c", np.arange(6).reshape(2, 3)), ("f", np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))), ("empty", np.zeros((0, 2))),
                                                        ("bool", np.array([True, False])), ("one", np.array(5, np.float16)), ("bytes", np.arange(3, dtype=np.uint8)))}
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with open("arrays.pkl", "wb") as file:
            pickle.dump(arrays | {"scalar": np.float64(2.5), (np.int64(3), 4): [1]}, file, protocol)
        found = load("arrays.pkl")
        assert found.pop("scalar") == 2.5 and found.pop((3, 4)) == [1] and list(found) == list(arrays)
        for name, a in arrays.items():
            assert found[name].dtype == a.dtype and found[name].shape == a.shape and np.array_equal(found[name], a), (protocol, name)
    i8, stated = np.dtype("i8"), lambda dtype, state: made_by(np.dtype, (dtype.str[1:], False, True), state)
    for bad in (made_by(np.ndarray, ((4,), i8, bytes(32))), made_by(np.ndarray, ((1 << 40,), i8, bytes(8))), np.array([{}]), np.dtype("i8,f4"), np.dtype("V8"), np.array(["a"]),
                made_by(_reconstruct, (np.ndarray, (0,), b"b"), (1, (5,), i8, False, bytes(32))), made_by(_reconstruct, (np.ndarray, (0,), b"b"), (1, (4,), i8, False, [1] * 32)),
                made_by(_reconstruct, (np.ndarray, (-2, -2), b"b"), (1, (-2, -2), i8, False, bytes(32))), made_by(scalar, (i8, bytes(4))),
                made_by(_reconstruct, (np.ndarray, (0,), b"b"), (1, (1,), stated(i8, (3, "O", None, None, None, 8, 8, 63)), False, bytes(8)))):
        with open("bad.pkl", "wb") as file:
            pickle.dump({"edge": bad}, file, 2)
        with raises(outgrow.Error, "bad.pkl"):
            load("bad.pkl")
    for of_function in b"_codecs\nencode", b"torch._utils\n_rebuild_tensor_v2", b"numpy.core.multiarray\nscalar", b"numpy\ndtype":
        with open("bad.pkl", "wb") as file:  # which sets an attribute of a function
            file.write(b"\x80\x02c" + of_function + b"\n}X\x03\0\0\0runK\x01sb.")
        with raises(outgrow.Error, "a function with a state"):
            load("bad.pkl")


def test_ogb_links_of_torch():
    try:
        import torch
    except ImportError:
        return
    _, _, _, lists = make_citation("tensors", lambda path, value: torch.save({key: torch.from_numpy(of) for key, of in value.items()}, path))
    outgrow.import_("ogb", "tensors", "of_tensors")
    same("negatives", np.load("of_tensors/valid_neg_dst.npy"), lists["valid"]["target_node_neg"])


def test_ogb_links_that_are_damaged():
    make_citation("whole", zipped)

    def refused(*words, split="valid", value=None, data=None):
        shutil.rmtree("broken", ignore_errors=True)
        shutil.copytree("whole", "broken")
        path = f"broken/split/time/{split}.pt"
        if data is None:
            zipped(path, value)
        else:
            open(path, "wb").write(data)
        with raises(outgrow.Error, *words):
            outgrow.import_("ogb", "broken", "never")
        code, said = told("import", "broken", "never")
        assert code == 1 and all(word in said for word in words) and said.count("outgrow: ") <= 3, said
        assert not [name for name in os.listdir() if name.startswith("never")]
    few = {"source_node": np.arange(3), "target_node": np.arange(3)}
    refused("valid.pt", "target_node [3]", value=few | {"source_node": np.arange(4)})
    refused("valid.pt", "no ids", value=few | {"source_node": np.ones(3)})
    refused("neither source_node", "head", value={"head": np.arange(3)})
    refused("valid.pt", "no array", value=made_by(os.mkdir, ("attacked",)))
    refused("valid.pt", data=b"PK\x03\x04nonsense")
    refused("valid_neg_dst.npy", value=few | {"target_node_neg": np.zeros((2, 4), np.int64)})
    refused("valid_edges.npy", "node 300 of 300", value=few | {"target_node": np.array([1, 2, 300])})
    with gzip.open("whole/raw/node_year.csv.gz", "at") as file:
        file.write("soon\n")
    with raises(outgrow.Error, "node_year.csv.gz", "soon"):
        outgrow.import_("ogb", "whole", "never")
    put_csv("whole/raw/node_year.csv.gz", [2000] * 299)
    with raises(outgrow.Error, "node_year.csv.gz"):
        outgrow.import_("ogb", "whole", "never")
    put_csv("whole/raw/node_year.csv.gz", [2000] * 300)
    os.remove("whole/split/time/test.pt")
    with raises(outgrow.Error, "test.pt", "No such file"):
        outgrow.import_("ogb", "whole", "never")


# ---- RelBench ----

class Frame(Plain):
    """A data frame of these columns. NaT and None are null."""

    def __iter__(self):
        return iter(self.columns)

    def __getitem__(self, names):
        return Frame(**{name: self.columns[name] for name in names})

    def column(self, name, values):
        if isinstance(values, list) and None in values:
            schema, array = super().column(name, [value or "" for value in values])
            valid = np.packbits([value is not None for value in values], bitorder="little")
            array.null_count, array.buffers[0] = -1, valid.ctypes.data
            KEPT.append(valid)
            return schema, array
        if getattr(values, "dtype", np.dtype(int)).kind == "M":
            schema, array = super().column(name, np.ma.masked_array(values.astype("datetime64[ns]").astype(np.int64), np.isnat(values)) if np.isnat(values).any() else values.astype("datetime64[ns]").astype(np.int64))
            schema.format = b"tsn:"
            return schema, array
        return super().column(name, values)


def table(columns, fkeys=None, pkey=None, time=None):
    return SimpleNamespace(df=Frame(**columns), fkey_col_to_pkey_table=fkeys or {}, pkey_col=pkey, time_col=time)


DAY = np.datetime64("2020-01-01")


def make_shop(seed=4, users=60, items=20, orders=500):
    r = np.random.default_rng(seed)
    age = r.integers(18, 80, users).astype(float)
    age[[3, 40]] = np.nan
    of = {"user": r.integers(0, users, orders), "item": np.where(r.random(orders) < 0.1, np.nan, r.integers(0, items, orders))}
    seen = DAY + r.integers(0, 500, users)
    seen[5] = np.datetime64("NaT")
    made = {"users": table({"user": np.arange(users), "age": age, "country": [["de", "fr", None, "at"][k] for k in r.integers(0, 4, users)], "bio": [f"text {k}" for k in range(users)],
                            "joined": DAY + r.integers(0, 30, users), "seen": seen}, pkey="user", time="joined"),
            "items": table({"item": np.arange(items), "price": r.random(items), "vector": r.random((items, 3)).astype(np.float32)}, pkey="item"),
            "orders": table({**of, "at": DAY + np.sort(r.integers(30, 300, orders)), "amount": r.integers(1, 9, orders)}, {"user": "users", "item": "items"}, time="at"),
            "empty_handed": table({"key": np.arange(7)}, pkey="key")}
    tasks = {split: table({"timestamp": DAY + np.sort(r.integers(first, end, n)), "user": r.integers(0, users, n), "churn": r.integers(0, 2, n)}, {"user": "users"}, time="timestamp")
             for split, first, end, n in (("train", 60, 200, 150), ("val", 200, 250, 40), ("test", 250, 300, 40))}
    return made, tasks


def standard(x):
    good = np.isfinite(x)
    return np.where(good, (np.where(good, x, 0) - x[good].mean()) / x[good].std(), 0)


def seconds(x):
    return x.astype("datetime64[s]").astype(np.int64)


def expect_shop(folder, made, tasks, task):
    command("verify", folder)
    about = json.load(open(f"{folder}/meta.json"))
    at = {of["name"]: k for k, of in enumerate(about["node_types"])}
    begin = np.cumsum([0, *(of["count"] for of in about["node_types"])])
    relation = {(about["node_types"][of["source"]]["name"] if isinstance(of["source"], int) else of["source"], of["name"]): k for k, of in enumerate(about["relations"])}
    time = np.load(f"{folder}/node_times.npy")
    columns = {name: of.df.columns for name, of in made.items()}
    users = columns["users"]
    country = np.array([["at", "de", "fr"].index(c) if c else -1 for c in users["country"]])
    seen = users["seen"].astype("datetime64[s]")
    days = np.where(np.isnat(seen), np.nan, seen.astype(np.int64) / 86400)
    x = {"users": np.stack([standard(users["age"]), np.isnan(users["age"]), *(country == k for k in range(3)), standard(days), np.isnan(days)], 1),
         "items": np.stack([standard(x) for x in (columns["items"]["price"], *columns["items"]["vector"].T)], 1),
         "orders": standard(columns["orders"]["amount"].astype(float))[:, None], "empty_handed": np.ones((7, 1)), task: np.ones((230, 1))}
    for name, want in x.items():
        got = np.load(f"{folder}/features_{at[name]}.npy")
        assert got.shape == want.shape and np.allclose(got, want, atol=1e-6), (name, got[:2], want[:2])

    def edges(name, other):
        src, dst, _ = edges_of(folder, f"rel{relation[name, other]}_")
        return sorted(zip(src.tolist(), dst.tolist()))
    for key, parent in ("user", "users"), ("item", "items"):
        of = columns["orders"][key].astype(float)
        rows = np.flatnonzero(~np.isnan(of))
        want = sorted(zip(rows.tolist(), of[rows].astype(int).tolist()))
        assert edges("orders", f"f2p_{key}") == want and edges(parent, f"rev_f2p_{key}") == sorted((b, a) for a, b in want)
    for name, column in ("users", "joined"), ("orders", "at"):
        same(name, time[begin[at[name]]:begin[at[name] + 1]], seconds(columns[name][column]))
    assert (time[begin[at["items"]]:begin[at["items"] + 1]] == np.iinfo(np.int64).min).all()
    asked = {name: np.concatenate([of.df.columns[name] for of in tasks.values()]) for name in ("timestamp", "user", "churn")}
    same("times of seeds", time[begin[at[task]]:begin[at[task] + 1]], seconds(asked["timestamp"]))
    assert edges("users", "entity") == sorted(zip(asked["user"].tolist(), range(230)))
    same("labels", np.load(f"{folder}/labels.npy")[begin[at[task]]:begin[at[task] + 1]], asked["churn"])
    for split, first, end in ("train", 0, 150), ("valid", 150, 190), ("test", 190, 230):
        same(split, np.sort(np.load(f"{folder}/{split}.npy")), np.arange(first, end) + begin[at[task]])


def test_database_of_objects():
    made, tasks = make_shop()
    said = warned(lambda: outgrow.import_("relbench", SimpleNamespace(table_dict=made), "shop", task=tasks, memory="64M"))
    assert any("bio" in text for text in said) and not any("country" in text for text in said), said
    expect_shop("shop", made, tasks, "task")
    summary = trained("shop", "shop_run", "--time", "node", "--model", "sage", "--fanout", "1,5,5")
    assert summary["test_acc"] > 0.3
    warned(lambda: outgrow.import_("relbench", SimpleNamespace(table_dict=made), "values", task=tasks, regression=True))
    assert json.load(open("values/meta.json"))["task"] == "node regression" and np.load("values/labels.npy").dtype == np.float32
    warned(lambda: outgrow.import_("relbench", SimpleNamespace(table_dict=made), "no_task"))
    assert len(json.load(open("no_task/meta.json"))["node_types"]) == 4


def test_database_that_is_wrong():
    def refused(*words, task=True, **of_import):
        with raises(outgrow.Error, *words):
            warned(lambda: outgrow.import_("relbench", SimpleNamespace(table_dict=made), "never", **{"task": tasks} if task else {}, **of_import))
        assert not [name for name in os.listdir() if name.startswith("never")]
    made, tasks = make_shop()
    made["orders"].df.columns["user"][7] = 999
    refused("f2p_user", "id of no node")
    made, tasks = make_shop()
    made["users"].df.columns["user"][7] = 6
    refused("nodes of users", "6 is there twice")
    made, tasks = make_shop()
    made["orders"].df.columns["at"][7] = np.datetime64("NaT")
    refused("orders", "column at", "no time")
    made, tasks = make_shop()
    made["orders"].fkey_col_to_pkey_table["user"] = "people"
    refused("people", "not there")
    made, tasks = make_shop()
    made["users"].pkey_col = None
    refused("users", "no primary key")
    made, tasks = make_shop()
    made["orders"].time_col = "when"
    refused("no column when")
    made, tasks = make_shop()
    tasks["train"].df.columns["more"] = np.arange(150)
    refused("churn, more", "target=")
    tasks["train"].fkey_col_to_pkey_table["more"] = "items"
    refused("2 entities")
    made, tasks = make_shop()
    del tasks["train"]
    refused("train, val and test")
    with raises(outgrow.Error, "no .parquet files"):
        outgrow.import_("relbench", ".", "never")
    with raises(outgrow.Error, "dict, no database"):
        outgrow.import_("relbench", made, "never")
    made, tasks = make_shop()
    tasks["train"] = tasks["train"].df
    refused("task/train", "Frame, without df")


def test_labels_of_splits():
    """The tables of a task may store labels by different types, and leave those of test out."""
    def labels(name, **of_import):
        warned(lambda: outgrow.import_("relbench", SimpleNamespace(table_dict=made), name, task=tasks, **of_import))
        nodes = json.load(open(f"{name}/meta.json"))["node_types"]
        first = sum(of["count"] for of in nodes[:[of["name"] for of in nodes].index("task")])
        return np.load(f"{name}/labels.npy")[first:first + 230]
    made, tasks = make_shop()
    columns = {split: of.df.columns for split, of in tasks.items()}
    known = np.concatenate([columns["train"]["churn"], columns["val"]["churn"], np.full(40, -1)])
    columns["test"]["churn"] = np.full(40, np.nan)
    same("NaN", labels("withheld"), known)
    del columns["test"]["churn"]
    same("no column", labels("no_column"), known)
    columns["val"]["churn"] = columns["val"]["churn"] + .5
    with raises(outgrow.Error, "row 150: ", ".5 is no class"):
        labels("never", regression=False)
    assert np.array_equal(labels("fractions")[:, 0], np.concatenate([known[:150], known[150:190] + .5, np.full(40, np.nan)]).astype(np.float32), equal_nan=True)
    for split in "train", "val":
        columns[split]["churn"] = [f"class {k:.1f}" for k in columns[split]["churn"]]
    same("words", labels("texts"), np.concatenate([known[:150] * 2, known[150:190] * 2 + 1, np.full(40, -1)]))
    columns["test"]["churn"] = np.zeros(40)
    with raises(outgrow.Error, "words in some batches"):
        labels("never")


def test_keys_of_databases():
    """Keys of one table may be texts, of another whole numbers, also as floats."""
    made, tasks = make_shop()
    warned(lambda: outgrow.import_("relbench", SimpleNamespace(table_dict=made), "numbers", task=tasks))
    columns = {name: of.df.columns for name, of in made.items()}
    columns["users"]["user"] = columns["users"]["user"].astype(float)
    columns["items"]["item"] = [f"i{k}" for k in range(20)]
    columns["orders"]["item"] = [None if np.isnan(k) else f"i{int(k)}" for k in columns["orders"]["item"]]
    warned(lambda: outgrow.import_("relbench", SimpleNamespace(table_dict=made), "mixed", task=tasks))
    command("verify", "mixed")
    for r in range(len(json.load(open("mixed/meta.json"))["relations"])):
        same("degrees", *(np.sort(np.diff(np.load(f"{name}/rel{r}_indptr.npy"))) for name in ("numbers", "mixed")))
    columns["users"]["user"][3] = 3.5
    with raises(outgrow.Error, "users", "column user", "3.5: no id"):
        warned(lambda: outgrow.import_("relbench", SimpleNamespace(table_dict=made), "never", task=tasks))


def test_database_of_files():
    """As relbench.base.Table.save writes them."""
    try:
        import pandas
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        print(f"left out: {error}")
        return
    made, tasks = make_shop()
    os.makedirs("rel-shop/db"), os.makedirs("rel-shop/tasks/user-churn")
    for path, of in [*((f"db/{name}", of) for name, of in made.items()), *((f"tasks/user-churn/{split}", of) for split, of in tasks.items())]:
        frame = pandas.DataFrame({name: list(value) if getattr(value, "ndim", 1) == 2 else value for name, value in of.df.columns.items()})
        keys = {"fkey_col_to_pkey_table": of.fkey_col_to_pkey_table, "pkey_col": of.pkey_col, "time_col": of.time_col}
        whole = pa.Table.from_pandas(frame, preserve_index=False)
        pq.write_table(whole.replace_schema_metadata({**whole.schema.metadata, **{key: json.dumps(value).encode() for key, value in keys.items()}}), f"rel-shop/{path}.parquet")
    warned(lambda: outgrow.import_("relbench", "rel-shop", "of_name", task="user-churn"))
    expect_shop("of_name", made, tasks, "user-churn")
    code, said = told("import", "rel-shop/tasks/user-churn", "of_task", "--memory", "64M")
    assert code == 0 and "bio" in said, said
    expect_shop("of_task", made, tasks, "user-churn")
    code, said = told("import", "rel-shop", "of_db")
    assert code == 0 and not os.path.exists("of_db/train.npy"), said
    pq.write_table(pa.table({"a": [1]}), "rel-shop/db/bare.parquet")
    code, said = told("import", "rel-shop", "never")
    assert code == 1 and "bare.parquet: no keys in its metadata" in said and "hint:" in said, said
    with open("rel-shop/db/bare.parquet", "wb") as file:
        file.write(b"PAR1nonsense")
    code, said = told("import", "rel-shop", "never")
    assert code == 1 and "bare.parquet" in said, said


if __name__ == "__main__":
    main(globals())
