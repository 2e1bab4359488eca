#!/usr/bin/env python3
"""Features of edges in `import npy` and `export`, against NumPy. Each edge keeps its row, in memory and in bands on disk.

    edge_features.py OUTGROW      exits 77 where there is no NumPy
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = os.path.abspath(sys.argv[1])
rng = np.random.default_rng(45)
N, E = 300, 4000
EDGES = rng.integers(0, N, (E, 2))
EDGES[:40] = EDGES[40:80]  # duplicates, whose rows differ
EDGES[80:90, 1] = EDGES[80:90, 0]
FEAT = rng.standard_normal((N, 4)).astype(np.float32)
TYPE = rng.integers(0, 2, N)
KIND = rng.integers(0, 2, E)


def run(*words, status=0):
    done = subprocess.run([OUTGROW, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == status, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


def source(meta=None, **arrays):
    shutil.rmtree("src", ignore_errors=True)
    os.makedirs("src")
    for name, array in ({"edges": EDGES, "feat": FEAT} | arrays).items():
        np.save(f"src/{name}.npy", array)
    if meta:
        with open("src/meta.json", "w") as f:
            json.dump(meta, f)


def taken(*words, path="src", out="out"):
    """Arrays of the dataset, and what was said."""
    shutil.rmtree(out, ignore_errors=True)
    said = run("import", "npy", path, out, *words)
    run("verify", out)
    return {f[:-4]: np.load(f"{out}/{f}") for f in os.listdir(out) if f.endswith(".npy")}, said


def ends(arrays, prefix=""):
    """Source and destination of each edge of the dataset, and its number in the source."""
    dst = np.repeat(np.arange(len(arrays[f"{prefix}indptr"]) - 1), np.diff(arrays[f"{prefix}indptr"]))
    return arrays[f"{prefix}indices"], dst, arrays[f"{prefix}edge_ids"]


def test_rows_follow_their_edges():
    for name, rows in (("edge_attr", rng.standard_normal((E, 3)).astype(np.float32)), ("edge_feat", rng.standard_normal((E, 5)).astype(np.float16)),
                       ("edge_attr", rng.integers(0, 200, (E, 2)).astype(np.int64)), ("edge_attr", rng.standard_normal(E).astype(np.float32)),
                       ("edge_attr", np.asfortranarray(rng.standard_normal((E, 7)).astype(">f4")))):
        source(**{name: rows})
        got, said = taken()
        src, dst, ids = ends(got)
        order = np.lexsort((np.arange(E), EDGES[:, 0], EDGES[:, 1]))
        assert np.array_equal(ids, order) and np.array_equal(src, EDGES[order, 0]) and np.array_equal(dst, EDGES[order, 1])
        rows = rows.reshape(E, -1)
        assert np.array_equal(got["edge_features"], rows[order]) and f"{name}.npy: {rows.shape[1]} features of each edge" in said, said
        stored = {"f": rows.dtype.newbyteorder("=") if rows.dtype.kind == "f" else None, "i": np.dtype(np.uint8)}[rows.dtype.kind]
        assert got["edge_features"].dtype == stored
        told = json.loads(run("info", "out", "--json"))
        assert told["edge_feature_dim"] == rows.shape[1] and told["bytes"]["edge_features"] == got["edge_features"].nbytes
        assert "edge_features.npy" in [f["file"] for f in told["files"]] and told["files_not_used"] == []


def test_options():
    rows = rng.standard_normal((E, 3)).astype(np.float32)
    source(edge_attr=rows)
    got, _ = taken("--drop-duplicates", "--drop-self-loops")
    src, dst, ids = ends(got)
    loops = EDGES[:, 0] != EDGES[:, 1]
    first = {}
    for i in np.flatnonzero(loops):
        first.setdefault((EDGES[i, 1], EDGES[i, 0]), i)
    assert ids.tolist() == [first[key] for key in sorted(first)]
    assert np.array_equal(EDGES[ids], np.stack([src, dst], 1)) and np.array_equal(got["edge_features"], rows[ids])
    got, said = taken("--symmetrize", "--in-place")
    src, dst, ids = ends(got)
    assert "an edge and its reverse" in said and "copied despite --in-place" in said
    assert np.array_equal(np.sort(EDGES[ids], 1), np.sort(np.stack([src, dst], 1), 1)) and np.array_equal(got["edge_features"], rows[ids])
    got, _ = taken("--reverse", "--edge-feature-dtype", "f16", "--row-normalize")
    src, dst, ids = ends(got)
    assert np.array_equal(EDGES[ids], np.stack([dst, src], 1)) and np.array_equal(got["edge_features"], rows[ids].astype(np.float16))
    got, _ = taken("--edge-feature-dtype", "bf16")
    assert np.array_equal(got["edge_features"] >> 15, (rows[got["edge_ids"]] < 0))
    assert json.loads(run("info", "out", "--json"))["edge_feature_dtype"] == "bf16"
    shutil.rmtree("back", ignore_errors=True)
    run("export", "npy", "out", "back")
    assert np.load("back/edge_attr.npy").dtype == np.float32
    source()
    got, _ = taken("--edge-ids")
    assert np.array_equal(EDGES[got["edge_ids"]][:, 0], got["indices"]) and "edge_features" not in got
    got, _ = taken()
    assert "edge_ids" not in got


def test_bands():
    """Rows that exceed --memory go through bands on disk. The dataset is equal."""
    n = 60000
    edges = rng.integers(0, N, (n, 2))
    rows = rng.standard_normal((n, 48)).astype(np.float32)  # 11 MB
    source(edges=edges, edge_attr=rows)
    small, _ = taken("--memory", "16M", "--symmetrize")
    large, _ = taken("--memory", "256M", "--symmetrize", out="large")
    assert np.array_equal(small["edge_features"], rows[small["edge_ids"]])
    assert small.keys() == large.keys() and all(np.array_equal(small[name], large[name]) for name in small)
    whole = rng.integers(0, 256, (n, 96)).astype(np.int32)  # read twice: do they fit a byte each?
    source(edges=edges, edge_attr=whole)
    small, _ = taken("--memory", "16M")
    assert small["edge_features"].dtype == np.uint8 and np.array_equal(small["edge_features"], whole[small["edge_ids"]])
    with open("out/edge_features.npy", "r+b") as f:
        f.seek(5000)
        f.write(b"!")
    assert "edge_features.npy: checksum" in run("verify", "out", status=1)


def test_types():
    names = {"node_types": [{"type": 0, "name": "a"}, {"type": 1, "name": "b"}], "edge_types": [{"edge_type": 0, "name": "to"}, {"edge_type": 1, "name": "of"}]}
    of = {(s, k, d): np.flatnonzero((TYPE[EDGES[:, 0]] == s) & (KIND == k) & (TYPE[EDGES[:, 1]] == d)) for s in (0, 1) for k in (0, 1) for d in (0, 1)}
    name = lambda s, k, d: f"edge_attr_{'ab'[s]}__{('to', 'of')[k]}__{'ab'[d]}"
    rows = {key: rng.standard_normal((len(of[key]), 2 + key[0])).astype(np.float32) for key in ((0, 0, 1), (1, 1, 1))}
    source(names, node_type=TYPE, edge_type=KIND, **{name(*key): array for key, array in rows.items()})
    got, _ = taken("--reverse-relations")
    relations = json.load(open("out/meta.json"))["relations"]
    for r, relation in enumerate(relations):
        key = tuple("ab".index(relation[end]) if end != "name" else ("to", "of").index(relation[end].removeprefix("rev_")) for end in ("source", "name", "destination"))
        key = key[::-1] if relation["name"].startswith("rev_") else key
        assert (f"rel{r}_edge_features" in got) == (key in rows) == ("edge_feature_dim" in relation)
        src, dst, ids = ends(got, f"rel{r}_")
        number = np.empty(N, np.int64)  # within the type
        for t in 0, 1:
            number[TYPE == t] = np.arange((TYPE == t).sum())
        two = number[EDGES[of[key][ids]]]
        assert np.array_equal(two[:, ::-1] if relation["name"].startswith("rev_") else two, np.stack([src, dst], 1))
        if key in rows:
            assert np.array_equal(got[f"rel{r}_edge_features"], rows[key][ids]) and relation["edge_feature_dim"] == 2 + key[0]
    told = json.loads(run("info", "out", "--json"))
    assert sum("edge_feature_dim" in r for r in told["relations"]) == 4 and told["files_not_used"] == []
    got, _ = taken()
    shutil.rmtree("back", ignore_errors=True)
    run("export", "npy", "out", "back")
    again, _ = taken(path="back", out="again")
    assert got.keys() - again.keys() == {"node_ids"}
    for file in got.keys() & again.keys():
        assert "edge_ids" in file or np.array_equal(got[file], again[file]), file
    for file in "edge_attr", "edge_times":  # of the whole graph, which has a file per relation: it would be left out
        source(names, node_type=TYPE, edge_type=KIND, **{file: np.arange(E)})
        said = run("import", "npy", "src", "refused", status=1)
        assert f"src/{file}.npy: a heterogeneous graph has a file per relation" in said and f"hint: name it {file}_a__to__a.npy" in said, said
        assert not os.path.exists("refused")


def ogb(folder, **tables):
    """An unpacked dataset of OGB: rows of text, packed."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, rows in tables.items():
        path = f"{folder}/{name.replace('__', '/').replace('_', '-')}.csv.gz"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with gzip.open(path, "wt") as f:
            f.writelines(",".join(map(str, np.atleast_1d(row).tolist())) + "\n" for row in rows)


def test_ogb():
    rows = rng.standard_normal((E, 8)).astype(np.float32)
    split = {f"split__any__{name}": np.arange(9) + 10 * i for i, name in enumerate(("train", "valid", "test"))}
    tables = {"raw__edge": EDGES, "raw__num_node_list": [N], "raw__num_edge_list": [E], "raw__node_feat": FEAT, "raw__node_label": TYPE, **split}
    for folder in "ogbn-arrows", "ogbn-proteins":  # which has both directions
        ogb(folder, **tables, raw__edge_feat=rows)
        for memory in "16M", "256M":
            shutil.rmtree("out", ignore_errors=True)
            said = run("import", "ogb", folder, "out", "--memory", memory)
            run("verify", "out")
            got = {name: np.load(f"out/{name}.npy") for name in ("indptr", "indices", "edge_ids", "edge_features")}
            src, dst, ids = ends(got)
            assert np.array_equal(np.sort(EDGES[ids], 1), np.sort(np.stack([src, dst], 1), 1)) and np.array_equal(got["edge_features"], rows[ids])
            assert len(src) == E * (1 + (folder == "ogbn-proteins")) and "edge-feat.csv.gz: 8 features of each edge" in said, said
    said = run("import", "ogb", "ogbn-arrows", "bare", "--drop-features")
    assert ", 1 type, 1 relation\n" in said, said
    run("verify", "bare")
    assert not os.path.exists("bare/features_0.npy") and np.array_equal(np.load("bare/train.npy"), np.arange(9))
    assert np.array_equal(np.load("bare/rel0_edge_features.npy"), rows[np.load("bare/rel0_edge_ids.npy")])
    assert "hint: give the folder that it is in" in run("import", "ogbn-arrows/raw", "refused", status=1)
    ogb("ogbn-values", **{**tables, "raw__node_label": np.arange(N) / 4})
    said = run("import", "ogb", "ogbn-values", "refused", status=1)  # its meta.json is not read
    assert "0.25 is no class" in said and "for `import npy`" in said and "into its meta.json" not in said, said
    year = rng.integers(1990, 2020, N)
    with gzip.open("ogbn-proteins/raw/node_year.csv.gz", "wt") as f:
        f.writelines(f"{of}\n" for of in year)
    run("import", "ogb", "ogbn-proteins", "by_time", "--by-time")
    run("verify", "by_time")
    src, dst, ids = ends({name: np.load(f"by_time/{name}.npy") for name in ("indptr", "indices", "edge_ids")})
    assert np.array_equal(np.load("by_time/edge_features.npy"), rows[ids]) and ((np.diff(year[src]) >= 0) | (np.diff(dst) > 0)).all()
    for wrong, n in (rows[1:], E - 1), (np.concatenate([rows, rows[:5]]), E):
        ogb("ogbn-arrows", **tables, raw__edge_feat=wrong)
        said = run("import", "ogb", "ogbn-arrows", "refused", status=1)
        assert f"edge-feat.csv.gz: {n} rows" in said and f"for {E} edges" in said, said


def test_graphbolt_by_types():
    """A type has the feature called feat, or the only one that is no time or weight."""
    os.makedirs("bolts")
    rows = {"a:r:b": rng.standard_normal((E, 3)).astype(np.float32), "b:s:a": rng.integers(0, 9, (E, 2)).astype(np.uint8)}
    for name, array in ("x", FEAT), ("r", rows["a:r:b"]), ("s", rows["b:s:a"]), ("t", np.arange(E)), ("e", EDGES.T):
        np.save(f"bolts/{name}.npy", array)
    edge = "{{domain: edge, type: '{}', name: {}, format: numpy, path: {}.npy}}"
    with open("bolts/metadata.yaml", "w") as f:
        f.write(f"""graph:
  nodes: [{{type: a, num: {N}}}, {{type: b, num: {N}}}]
  edges: [{{type: 'a:r:b', format: numpy, path: e.npy}}, {{type: 'b:s:a', format: numpy, path: e.npy}}]
feature_data:
  - {{domain: node, type: a, name: feat, format: numpy, path: x.npy}}
  - {edge.format('a:r:b', 'other', 't')}
  - {edge.format('a:r:b', 'feat', 'r')}
  - {edge.format('b:s:a', 'timestamp', 't')}
  - {edge.format('b:s:a', 'bytes', 's')}
tasks: []
""")
    assert "not read: t.npy" in run("import", "graphbolt", "bolts", "bolted")
    run("verify", "bolted")
    for r, of in enumerate(rows.values()):
        got = {name: np.load(f"bolted/rel{r}_{name}.npy") for name in ("indptr", "indices", "edge_ids", "edge_features")}
        src, dst, ids = ends(got)
        assert np.array_equal(EDGES[ids], np.stack([src, dst], 1)) and np.array_equal(got["edge_features"], of[ids]) and got["edge_features"].dtype == of.dtype


def test_export():
    rows = rng.standard_normal((E, 3)).astype(np.float32)
    source(edge_attr=rows)
    got, _ = taken()
    for out in "back", "bolt":
        shutil.rmtree(out, ignore_errors=True)
    run("export", "npy", "out", "back")
    again, _ = taken(path="back", out="again")
    assert np.array_equal(again["edge_features"], got["edge_features"]) and np.array_equal(again["edge_ids"], np.arange(E))
    run("export", "graphbolt", "out", "bolt")
    assert np.array_equal(np.load("bolt/data/edge_feat.npy"), got["edge_features"]) and "data/edge_feat.npy" in open("bolt/metadata.yaml").read()
    run("import", "graphbolt", "bolt", "returned")
    assert np.array_equal(np.load("returned/edge_features.npy"), got["edge_features"][np.load("returned/edge_ids.npy")])
    assert "does not support edge features" in run("stripe", "out", "part", "--parts", "2", "--part", "0", status=1)


def test_what_is_refused():
    def refused(*words, **arrays):
        source(**arrays)
        return run("import", "npy", "src", "refused", *words, status=1)
    rows = rng.standard_normal((E, 3)).astype(np.float32)
    assert f"edge_attr.npy: {E - 1} rows for {E} edges" in refused(edge_attr=rows[1:])
    assert "both edge_attr.npy and edge_feat.npy" in refused(edge_attr=rows, edge_feat=rows)
    rows[3999, 2] = np.nan
    assert "edge_attr.npy: row 3999, column 2: not a finite number" in refused(edge_attr=rows)
    assert "row 7, column 0: 300 does not fit u8" in refused("--edge-feature-dtype", "u8", edge_attr=np.where(np.arange(E) == 7, 300, 1))
    links = {"train_edges": EDGES[:60], "test_edges": EDGES[60:90]}
    assert "train_edge_attr.npy: row 9: not a finite float32" in refused(**links, train_edge_attr=np.where(np.arange(60) == 9, 1e39, 0))
    assert "test_edge_attr.npy: 3 columns, other splits have 2" in refused(**links, train_edge_attr=np.ones((60, 2)), test_edge_attr=np.ones((30, 3)))
    assert not os.path.exists("refused")
    source(edge_attr=rows[:, :2])
    taken()
    broken = np.load("out/edge_features.npy", mmap_mode="r+")
    broken[5, 1] = np.inf
    broken.flush()
    ids = np.load("out/edge_ids.npy", mmap_mode="r+")
    ids[9] = -1
    ids.flush()
    said = run("verify", "out", status=1)
    assert "edge_features.npy: row 5, column 1: NaN or infinite" in said and "edge_ids.npy: row 9: -1" in said, said


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test()
                print(name)
        os.chdir("/")


main()
