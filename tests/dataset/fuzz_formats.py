"""Sources of other formats for fuzz_doors.py: right but for one thing. Each draw writes src/ and returns what was changed, words of which a message about it has
one, the truth that is left, and the format's name. A truth that is None must be reported or refused."""
import gzip
import json
import os
import re

import numpy as np

SPLITS = "train", "valid", "test"
WORDS_FOR_NONE = "", "NA", "nan", "x", "-"


def pick(rng, choices):
    return choices[rng.integers(len(choices))]


def save(name, array):
    os.makedirs(os.path.dirname(f"src/{name}") or "src", exist_ok=True)
    np.save(f"src/{name}", array, allow_pickle=True)


def write(name, text):
    path = f"src/{name}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with gzip.open(path, "wb", 1) if name.endswith(".gz") else open(path, "wb") as f:
        f.write(text.encode())


def ids_meaning(array, n):
    """A list of distinct nodes; None where an array is none."""
    if array.dtype.names or array.dtype.kind not in "iu" or array.ndim > 2 or (array.ndim == 2 and array.shape[1] != 1):
        return None
    ids = array.ravel().astype(np.int64)
    return ids if len(np.unique(ids)) == len(ids) and ((ids >= 0) & (ids < n)).all() else None


# ---- Matrix Market ----

def mtx_draw(rng, t, change_array):
    """graph.mtx; nodes as .npy."""
    want = dict(t)
    weights = t.get("edge_weight")
    kind, symmetry = "pattern" if weights is None else "real", "general"
    size, marks = [t["n"], t["n"], len(t["edges"])], ["%%MatrixMarket", "matrix", "coordinate"]
    rows = [[str(s + 1), str(d + 1)] + ([] if weights is None else [repr(float(weights[i]))]) for i, (s, d) in enumerate(t["edges"])]
    remarks, end, more, meta = [], "\n", [], None
    how = pick(rng, ["remarks", "blank", "crlf", "cr", "banner", "size", "entry", "twice", "cut", "extra", "less", "symmetric", "integer", "kind", "tabs", "case",
                     "meta", "trail", "hash", "mark"])
    i = int(rng.integers(len(rows)))
    if how == "remarks":
        remarks = ["% one", "%", "% two 3 4"]
    elif how == "blank":
        rows[i] = ["", *rows[i]]
        more = [""]
    elif how == "crlf":
        end = "\r\n"
    elif how == "cr":
        end, want["edges"] = "\r", None
    elif how == "banner":
        marks[rng.integers(3)], want["edges"] = pick(rng, ["%MatrixMarket", "vector", "array", "x"]), None
    elif how == "kind":
        kind, want["edges"] = pick(rng, ["complex", "double", "hermitian", "real" if weights is None else "pattern"]), None
    elif how == "size":
        k = int(rng.integers(3))
        size[k] += pick(rng, [-1, 1, 5])
        want["edges"] = None
    elif how == "entry":
        rows[i][rng.integers(2)], want["edges"] = pick(rng, ["0", "-1", str(t["n"] + 1), "1.5", "x", "1e3", ""]), None
    elif how == "twice":
        rows.append(rows[i])
        want["edges"] = None
    elif how == "cut":
        rows.pop(i)
        want["edges"] = None
    elif how == "extra":
        rows[i] = [*rows[i], "7"]
        want["edges"] = None
    elif how == "less" and weights is not None:
        rows[i] = rows[i][:2]
        want["edges"] = None
    elif how == "symmetric":
        loops = t["edges"][:, 0] == t["edges"][:, 1]
        symmetry = pick(rng, ["symmetric", "SYMMETRIC"])
        want["edges"] = np.concatenate([t["edges"], t["edges"][~loops][:, ::-1]])
        if weights is not None:
            want["edge_weight"] = np.concatenate([weights, weights[~loops]])
    elif how == "integer" and weights is not None:
        kind, want["edge_weight"] = "integer", np.ceil(weights)
        rows = [[*row[:2], str(int(np.ceil(float(row[2]))))] for row in rows]
    elif how == "tabs":
        rows[i] = ["\t".join(rows[i])]
    elif how == "case":
        marks, kind = [m.lower() if rng.random() < 0.5 else m.upper() for m in marks], kind.upper()
    elif how == "meta":
        key, value = pick(rng, [("num_nodes", t["n"] + 1), ("num_nodes", t["n"]), ("num_classes", 9), ("nodes", 3), ("symmetric", 1)])
        meta = {key: value}
        want["edges"] = t["edges"] if value in (t["n"], 9) else None
        want["classes"] = 9 if value == 9 else 3
    elif how == "trail":
        more = ["", "  "]
    elif how == "hash":
        rows[i], want["edges"] = ["#", *rows[i]], None
    elif how == "mark":
        rows[i] = [",".join(rows[i])] if rng.random() < 0.5 else [";".join(rows[i])]
    for name in ("feat", "label", *SPLITS):
        save(f"{name}.npy", t[name])
    if meta:
        write("meta.json", json.dumps(meta))
    lines = [" ".join([*marks, kind, symmetry]), *remarks, " ".join(map(str, size)), *(" ".join(row) for row in rows), *more]
    write("graph.mtx", end.join(lines) + end)
    return f"mtx: {how}", ["meta.json"] if meta else ["graph.mtx"], want, "mtx"


# ---- the Open Graph Benchmark ----

def ogb_draw(rng, t, change_array):
    """raw/ and split/ of a node dataset, as texts."""
    want = {k: v for k, v in t.items() if k != "edge_weight"}
    texts = {"edge": t["edges"].tolist(), "node-feat": [[repr(float(x)) for x in row] for row in t["feat"]], "node-label": [[x] for x in t["label"]],
             "num-node-list": [[t["n"]]], "num-edge-list": [[len(t["edges"])]], **{s: [[v] for v in t[s]] for s in SPLITS}}
    texts = {k: [list(map(str, row)) for row in rows] for k, rows in texts.items()}
    of = {"edge": "edges", "node-feat": "feat", "node-label": "label", "num-node-list": "edges", "num-edge-list": "edges"}
    name = pick(rng, list(texts))
    key, rows = of.get(name, name), texts[name]
    file = f"split/time/{name}.csv.gz" if name in SPLITS else f"raw/{name}.csv.gz"
    how = pick(rng, ["header", "field", "less", "more", "column", "mark", "crlf", "cr", "blank", "name", "beside", "bom", "value", "spaces", "plain"])
    i, to, end, mark, renamed = int(rng.integers(len(rows))), None, "\n", ",", file
    if how == "header":
        rows.insert(0, [f"x{j}" for j in range(len(rows[0]))])
        want[key] = None
    elif how == "field":
        value = pick(rng, WORDS_FOR_NONE)
        rows[i][-1] = value
        want[key] = None
        if name == "node-label" and value.lower() in ("", "na", "nan"):
            want[key] = None  # an empty line is none, so there is one label less
            if value:
                want[key] = np.where(np.arange(t["n"]) == i, -1, t["label"])
        if name in SPLITS and value == "":
            want[key] = np.delete(t[key], i)
    elif how == "less":
        rows.pop(i)
        want[key] = np.delete(t[key], i, 0) if name in SPLITS else None
    elif how == "more":
        rows.append(rows[i])
        want[key] = None
    elif how == "column":
        for row in rows if rng.random() < 0.5 else [rows[i]]:
            row.append("0")
        want[key] = None
        if name == "node-feat" and all(len(row) == len(rows[0]) for row in rows):
            want[key] = np.concatenate([t["feat"], np.zeros((t["n"], 1), np.float32)], 1)
        if name == "node-label" and all(len(row) == 2 for row in rows):
            want[key] = None
    elif how == "mark":
        mark = pick(rng, [";", "\t", " "])
        want[key] = None if len(rows[0]) > 1 else want[key]
    elif how == "crlf":
        end = "\r\n"
    elif how == "cr":
        end, want[key] = "\r", None if len(rows) > 1 else want[key]
    elif how == "blank":
        rows.insert(i, [""])
    elif how == "name":
        renamed, want[key] = file.replace(name, pick(rng, [name + "s", name.upper(), "my-" + name])), None
        if name == "num-edge-list":
            want[key] = t["edges"]
    elif how == "value":
        to = pick(rng, ["-1", "1.5", "1e3", str(2**40), str(2**63), "0x3", "+2"])
        rows[i][0] = to
        want[key] = None
        if name == "node-feat":
            want[key] = t["feat"].copy()
            want[key][i, 0] = np.float32(float(to)) if to != "0x3" else np.nan
        if name == "node-label" and to in ("-1", "+2"):
            want[key] = np.where(np.arange(t["n"]) == i, int(to), t["label"])
    elif how == "spaces":
        rows[i] = [f" {x} " for x in rows[i]]
    for k, lines in texts.items():
        path = renamed if k == name else f"split/time/{k}.csv.gz" if k in SPLITS else f"raw/{k}.csv.gz"
        head = "\ufeff" if how == "bom" and k == name else ""
        joined = (end if k == name else "\n").join((mark if k == name else ",").join(row) for row in lines)
        write(path, head + joined + (end if k == name else "\n"))
        if how == "plain" and k == name:  # as it is when somebody unpacked it
            os.rename(f"src/{path}", "packed.gz")
            with gzip.open("packed.gz") as f:
                write(path[:-3], f.read().decode())
            os.remove("packed.gz")
            want[key] = None
    if how == "beside":
        write("raw/edge-feat.csv.gz", "1\n")
    words = [renamed, file, os.path.basename(renamed)] + ([renamed[:-3]] if how == "plain" else []) + (["raw/edge-feat.csv.gz"] if how == "beside" else [])
    if name == "num-node-list" or (name == "num-edge-list" and want[key] is None):
        words.append("num-")
    return f"ogb {name}: {how} {to or ''}", words, want, "ogb"


# ---- GraphBolt ----

YAML = """dataset_name: fuzz
graph:
  nodes:
    - num: {n}
  edges:
    - format: numpy
      path: edges.npy
feature_data:
  - domain: node
    name: feat
    format: numpy
    path: feat.npy
tasks:
  - name: node_classification
    num_classes: 3
"""
SETS = """    {set}:
      - data:
        - name: seeds
          format: numpy
          path: {split}_seeds.npy
        - name: labels
          format: numpy
          path: {split}_labels.npy
"""


def graphbolt_draw(rng, t, change_array):
    """metadata.yaml and arrays; labels stand with the nodes of a split."""
    want = {k: v for k, v in t.items() if k != "edge_weight"}
    arrays = {"edges": np.ascontiguousarray(t["edges"].T), "feat": t["feat"]}
    for s in SPLITS:
        arrays |= {f"{s}_seeds": t[s].astype(np.int64), f"{s}_labels": t["label"][t[s]]}
    yaml = YAML.format(n=t["n"]) + "".join(SETS.format(set=name, split=s) for s, name in zip(SPLITS, ["train_set", "validation_set", "test_set"]))
    words, name = ["metadata.yaml"], None
    if rng.random() < 0.4:
        old, new, key, value = pick(rng, [
            ("dataset_name", "datasetname", None, None), ("num: ", "nums: ", "edges", None), (f"num: {t['n']}", f"num: {t['n'] + 1}", "edges", None),
            (f"num: {t['n']}", f"num: '{t['n']}'", None, None), (f"num: {t['n']}", f"num: {t['n']}.0", "edges", None), ("num_classes: 3", "num_classes: 9", "classes", 9),
            ("num_classes: 3", "num_classes: 2", "label", None), ("num_classes: 3", "num_classes: many", "label", None), ("num_classes: 3", "classes: 3", "label", None),
            ("name: feat", "name: features", None, None), ("domain: node", "domain: edge", "feat", None), ("feature_data", "features", "feat", None),
            ("train_set", "training_set", "train", None), ("validation_set", "valid_set", "valid", None), ("name: seeds", "name: nodes", "train", None),
            ("name: labels", "name: label", "label", None), ("path: edges.npy", "path: edge.npy", "edges", None), ("format: numpy", "format: csv", "edges", None),
            ("format: numpy", "format: torch", "edges", None), ("  edges:", "  edges_of:", "edges", None), ("tasks:", "task:", "train", None),
            ("name: node_classification", "name: node_regression", "label", None), ("      path: edges.npy", "      path: edges.npy\n      type: 'a:b:c'", "edges", None)])
        yaml, what = yaml.replace(old, new, 1), f"{old} -> {new}"
        if key:
            want[key] = value
        words += [f"{key}.npy", f"{key}_seeds.npy", "train_labels.npy" if key == "label" else "metadata"]
    else:
        name = pick(rng, list(arrays))
        arrays[name], what = change_array(rng, name.split("_")[0] if "seeds" in name else name, arrays[name])
        words = [f"{name}.npy", f"{name.split('_')[0]}.npy"]
        if "_" in name:
            words += [f"{name.split('_')[0]}_labels.npy", "labels of the sets"]
    for k, array in arrays.items():
        save(f"{k}.npy", array)
    write("metadata.yaml", yaml)
    label = np.full(t["n"], -1.0)
    for s in SPLITS:
        seeds, labels = ids_meaning(arrays[f"{s}_seeds"], t["n"]), arrays[f"{s}_labels"]
        if want[s] is None:
            want["label"] = None
            continue
        want[s] = seeds
        if want["label"] is None or labels.dtype.names or labels.dtype.kind not in "biuf" or labels.size != labels.shape[0] or seeds is None or len(seeds) != len(labels):
            want["label"] = None
            continue
        label[seeds] = labels.ravel()
    if want["label"] is not None:
        want["label"] = np.where(np.isnan(label), -1, label)
    if name == "edges":
        e = arrays["edges"]
        fits = not e.dtype.names and e.dtype.kind in "iu" and e.ndim == 2 and e.shape[0] == 2
        want["edges"] = e.T.astype(np.int64) if fits else None
    if name == "feat":
        f = arrays["feat"]
        want["feat"] = None if f.dtype.names or f.dtype.kind not in "biuf" or f.ndim > 2 else f[:, None] if f.ndim == 1 else f
    return f"graphbolt {name or 'metadata'}: {what}", words, want, "graphbolt"


# ---- heterogeneous .npy ----

def typed_draw(rng, t, change_array):
    """node_type.npy and edge_type.npy in addition to the files of a homogeneous graph."""
    n, e = t["n"], len(t["edges"])
    want = {k: v for k, v in t.items() if k != "edge_weight"}
    want["node_type"] = rng.integers(0, 3, n)
    want["node_type"][:3] = 0, 1, 2
    if rng.random() < 0.5:
        want["node_type"] = np.sort(want["node_type"])
    want["edge_type"] = rng.integers(0, 2, e)
    want["edge_type"][:2] = 0, 1
    arrays = {k: v for k, v in want.items() if k != "n"}
    names = {"num_nodes": n, "num_classes": 3, "node_types": [{"type": i, "name": f"kind{i}"} for i in range(3)],
             "edge_types": [{"edge_type": i, "name": f"link{i}"} for i in range(2)]}
    meta = names if rng.random() < 0.6 else None
    words, name = ["meta.json"], None
    if meta and rng.random() < 0.4:
        how = pick(rng, ["fewer", "more", "twice", "text", "object", "number", "key", "noname", "num_nodes", "symmetric", "negative"])
        which = pick(rng, ["node_types", "edge_types"])
        one = meta[which][0]
        what = f"{which} {how}"
        if how == "fewer":
            meta[which] = meta[which][1:]  # the first has its number for a name
        elif how == "more":
            meta[which].append({"type": 7, "edge_type": 7, "name": "nobody"})
            want["edges"] = None
        elif how == "twice":
            meta[which].append(dict(one, name="other"))
            want["edges"] = None
        elif how in ("text", "object", "number"):
            meta[which], want["edges"] = {"text": "paper", "object": {"0": "paper"}, "number": 3}[how], None
        elif how == "key":
            meta[which][0], want["edges"] = {"id": 0, "name": "paper"}, None
        elif how == "noname":
            del one["name"]
            want["edges"] = None
        elif how == "num_nodes":
            meta["num_nodes"] += 1
            want["edges"] = None
            words += ["num_nodes"]
        elif how == "symmetric":
            meta["symmetric"], want["edges"] = "yes", None
        else:
            one["type" if which == "node_types" else "edge_type"] = -1
            want["edges"] = None
    elif rng.random() < 0.2:
        name = pick(rng, list(arrays))
        what = pick(rng, [name.upper(), name + "s", "my_" + name, name + "_"])
        words = [f"{what}.npy", f"{name}.npy"]
        arrays[what] = arrays.pop(name)
        want[name] = None
    else:
        name = pick(rng, list(arrays))
        arrays[name], what = change_array(rng, name, arrays[name])
        words = [f"{name}.npy"]
        want[name] = typed_meaning(name, arrays[name], want)
    for k, array in arrays.items():
        save(f"{k}.npy", array)
    if meta:
        write("meta.json", json.dumps(meta))
    return f"typed {name or 'meta.json'}: {what}", words, want, "npy"


def typed_meaning(name, array, t):
    if array.dtype.names or array.dtype.kind not in "biuf":
        return None
    if name == "edges":
        if array.dtype.kind not in "iu" or array.ndim != 2 or 2 not in array.shape:
            return None
        return np.asarray(array if array.shape[1] == 2 else array.T, np.int64)
    if name in SPLITS:
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim == 1 and (array.dtype.kind == "b" or (array.dtype.kind in "iu" and len(array) > 2 and np.isin(array, (0, 1)).all())):
            return np.flatnonzero(array) if len(array) == t["n"] else None
        return ids_meaning(array, t["n"])
    if name in ("node_type", "edge_type"):
        rows = t["n"] if name == "node_type" else len(t["edges"])
        fits = array.dtype.kind in "iu" and array.size == rows and array.shape[0] == rows and array.ndim < 3
        return array.ravel().astype(np.int64) if fits else None
    if name == "feat":
        return array[:, None] if array.ndim == 1 else array if array.ndim == 2 and len(array) == t["n"] else None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    return array if array.ndim == 1 and len(array) == t["n"] else None


def typed_difference(want):
    """As `difference` of fuzz_doors.py, for what `outgrow export npy` made of a heterogeneous dataset, in back/."""
    got = {f[:-4]: np.load(f"back/{f}") for f in os.listdir("back") if f.endswith(".npy")}
    with open("back/meta.json") as f:
        meta = json.load(f)
    if "node_type" not in got:
        return "node_type"
    order = np.load("out/node_ids.npy") if os.path.exists("out/node_ids.npy") else np.arange(len(got["node_type"]))

    def in_order(rows):
        back = np.empty_like(rows)
        back[order] = rows
        return back

    if want["node_type"] is None or not np.array_equal(in_order(got["node_type"]), want["node_type"]):
        return "node_type"
    if want["edges"] is None or want["edge_type"] is None:
        return "edges" if want["edges"] is None else "edge_type"
    types = np.array([int(re.search(r"\d+$", one["name"]).group()) for one in meta["edge_types"]])[got["edge_type"]]  # link1 or relation_1
    if sorted(map(tuple, np.c_[types, order[got["edges"]]].tolist())) != sorted(map(tuple, np.c_[want["edge_type"], want["edges"]].tolist())):
        return "edges"
    rows = [got.get(f"feat_{one['name']}") for one in meta["node_types"]]
    if want["feat"] is None or any(r is None for r in rows) or not np.array_equal(in_order(np.concatenate(rows)).astype("f8"), want["feat"].astype("f8")):
        return "feat"
    label = want["label"]
    if label is None or "label" not in got or not np.array_equal(in_order(got["label"]).astype("f8"), np.where(np.isnan(label.astype("f8")), -1, label.astype("f8"))):
        return "label"
    for s in SPLITS:
        if want[s] is None or s not in got or not np.array_equal(np.sort(order[got[s]]), np.sort(want[s])):
            return None if want[s] is not None and len(want[s]) == 0 and s not in got else s
    return None


DRAWS = mtx_draw, ogb_draw, graphbolt_draw, typed_draw
