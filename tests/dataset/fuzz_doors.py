#!/usr/bin/env python3
"""Small sources that are right, with one thing changed. The dataset has the same numbers, or a message names what was changed.

    fuzz_doors.py OUTGROW SEED COUNT      exits 77 where there is no NumPy. Exits 1 where a change went through in silence

A draw is a folder of `import npy`, CSV, Matrix Market, OGB's or GraphBolt's format (fuzz_formats.py). That of `import npy` may be heterogeneous. NumPy alone
works out what the changed file still means.
"""
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
import fuzz_formats

OUTGROW, SEED, COUNT = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
SPLITS = "train", "valid", "test"


def draw_truth(rng):
    n, e = int(rng.integers(20, 60)), int(rng.integers(40, 200))
    order = rng.permutation(n)
    t = {"n": n, "edges": rng.integers(0, n, (e, 2)), "feat": np.round(rng.standard_normal((n, int(rng.integers(1, 6)))), 3).astype(np.float32),
         "label": rng.integers(0, 3, n), "train": order[:n // 3], "valid": order[n // 3:n // 2], "test": order[n // 2:]}
    t["label"][:3] = 0, 1, 2
    if rng.random() < 0.4:
        t["edge_weight"] = np.round(rng.random(e) + 0.1, 3).astype(np.float32)
    return t


# ---- .npy ----

def numpy_meaning(name, array, t):
    """What an array of file `name` means; None where it means nothing that the dataset could have."""
    try:
        if array.dtype.names or array.dtype.kind not in "biuf":
            return None
        if name == "edges":
            if array.dtype.kind not in "iu" or array.ndim != 2 or 2 not in array.shape:
                return None
            return np.asarray(array if array.shape[1] == 2 else array.T, np.int64)
        if name in SPLITS:
            if array.ndim == 2 and array.shape[1] == 1:
                array = array[:, 0]
            if array.ndim != 1 or array.dtype.kind == "f":
                return None
            flags = array.dtype.kind == "b" or (len(array) > 2 and np.isin(array, (0, 1)).all())
            if flags:
                return np.flatnonzero(array) if len(array) == t["n"] else None
            return array.astype(np.int64) if len(np.unique(array)) == len(array) else None
        if name == "feat":
            return array[:, None] if array.ndim == 1 else array if array.ndim == 2 else None
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        return array if array.ndim == 1 else None
    except (OverflowError, ValueError):
        return None


def change_array(rng, name, array):
    """An array with one thing changed, and what."""
    how = rng.choice(["dtype", "order", "swap", "shape", "value", "length", "same"])
    if how == "dtype":
        to = rng.choice(["bool", "i1", "i2", "i4", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "U3", "S3", "O", "M8[s]", "records"])
        with np.errstate(all="ignore"):
            return (np.rec.fromarrays([array], names="a") if to == "records" else array.astype(to)), to
    if how == "order":
        return np.asfortranarray(array), "Fortran"
    if how == "swap":
        return array.astype(array.dtype.newbyteorder(">")), "big endian"
    if how == "shape":
        k = rng.integers(5)
        return [lambda: array[..., None], lambda: array[None], lambda: array.T, lambda: array.ravel(), lambda: np.stack([array, array])][k](), f"shape {k}"
    if how == "value":
        to = rng.choice([-1, 0, 1, 2, 1e3, 2**24 + 1, 2**31, 2**33, 2**53 + 1, np.nan, np.inf, 1e300, 0.5])
        array = array.astype("f8") if not np.isfinite(to) or to != int(to) or (array.dtype.kind == "f" and rng.random() < 0.5) else array.copy()
        with np.errstate(all="ignore"):
            array.flat[rng.integers(array.size)] = np.float64(to).astype(array.dtype)
        return array, f"value {to}"
    if how == "length":
        k = rng.integers(5)
        return [array[:len(array) // 2], np.concatenate([array, array]), array[:0], array[:-1], np.concatenate([array, array[:1]])][k], f"length {k}"
    return array, "nothing"


ALIASES = {"train": ["train_idx", "train_mask"], "valid": ["val", "valid_idx", "val_idx", "valid_mask", "val_mask"], "test": ["test_idx", "test_mask"]}


def npy_draw(rng, t):
    """Writes a folder; what was changed, the words that name it, and the truth that is left."""
    names = [k for k in t if k != "n"]
    name = str(rng.choice(names))
    file, said, want = name, None, dict(t)
    meta = {"num_nodes": t["n"], "num_classes": 3} if rng.random() < 0.5 else None
    if rng.random() < 0.25:  # another name
        file = str(rng.choice(ALIASES.get(name, []) + [name.upper(), name + "s", "my_" + name, name + "_", name[:-1] or "x"]))
        said = f"name {file}"
        if file not in ALIASES.get(name, []):
            want[name] = None
    for k in names:
        np.save(f"src/{file if k == name else k}.npy", t[k])
    if said is None and meta and rng.random() < 0.2:
        key, value = [("num_node", 3), ("num_nodes", t["n"] + 1), ("num_nodes", "x"), ("num_classes", 2), ("num_classes", 9), ("task", "node regression"), ("extra", 1)][rng.integers(7)]
        meta[key] = value
        said = f"meta {key}={value}"
        want["classes"] = 9 if value == 9 else 3
        if key == "task":
            want["label"] = t["label"][:, None]
    elif said is None:
        array, said = change_array(rng, name, t[name])
        np.save(f"src/{file}.npy", array, allow_pickle=True)
        want[name] = numpy_meaning(name, array, t)
        if name == "feat" and want[name] is not None:
            want["n"] = len(array)
    if meta:
        with open("src/meta.json", "w") as f:
            json.dump(meta, f)
    return f"{name}: {said}", ["meta.json"] if said.startswith("meta") else [f"{file}.npy", f"{name}.npy"], want, "npy"


# ---- text ----

HEADS = [("src", "dst"), ("source", "target"), ("from", "to"), ("u", "v"), ("SRC", "Dst")]


def csv_draw(rng, t):
    """A folder of texts of which one is written in another way."""
    want = {k: v for k, v in t.items() if k not in ("edge_weight",)}
    changed = str(rng.choice(["edges", "feat", "label", "train"]))
    what = []

    def text(name, columns, rows):
        order, mark, quote, end, begin, names, more = list(range(len(columns))), ",", "", "\n", "", rng.random() < 0.5, []
        if name == changed:
            choices = rng.choice(["order", "mark", "quote", "end", "bom", "comment", "blank", "extra", "unknown", "head", "missing", "twice"], 2, replace=False)
            quoted = "quote" in choices
            for choice in choices if set(choices) != {"twice", "missing"} else ["missing"]:  # it may be the line that is there twice
                what.append(str(choice))
                if choice == "order" and len(columns) > 1:
                    order, names = list(rng.permutation(len(columns))), True
                mark = str(rng.choice([";", "\t"])) if choice == "mark" else mark
                quote = '"' if choice == "quote" else quote
                end = "\r\n" if choice == "end" else end
                begin = "\ufeff" if choice == "bom" else begin
                more += ["# a remark"] if choice == "comment" else [""] if choice == "blank" else []
                if choice == "extra" and len(columns) > 1:
                    columns, rows, names = [*columns, "x9" if name == "feat" else "time"], [[*row, 7] for row in rows], True
                    order.append(len(columns) - 1)
                if choice == "unknown":
                    columns, names = ["some" + c.replace("_", "") for c in columns], True
                    want[name] = None if len(columns) > 1 else want[name]
                names = names or choice == "head"
                if choice == "missing":
                    rows, i, value = [list(row) for row in rows], rng.integers(len(rows)), str(rng.choice(["", "NA", "nan", "null"]))
                    last = len(t["feat"][0]) if name == "feat" else len(rows[i]) - 1 if name == "train" else 1
                    if want[name] is None:
                        pass
                    elif name == "label":
                        want[name] = np.where(np.arange(len(want[name])) == rows[i][0], -1, want[name])
                    else:  # an empty line is none
                        want[name] = np.delete(want[name], i) if name == "train" and value == "" and not quoted else None
                    rows[i][last] = value
                if choice == "twice":
                    rows = [*rows, rows[0]]
                    want[name] = np.concatenate([want[name], want[name][:1]]) if name == "edges" and want[name] is not None else None
        if name == "feat" and name == changed and want[name] is not None:
            want[name] = np.array(sorted(([row[c] for c in [0, *(c for c in order if c > 0)]] for row in rows), key=lambda row: row[0]), "f8")[:, 1:].astype("f4")
        lines = [mark.join(f"{quote}{row[c]}{quote}" for c in order) for row in rows]
        head = [mark.join(f"{quote}{columns[c]}{quote}" for c in order)] if names else []
        with open(f"src/{name}.csv", "w", newline="", encoding="utf-8") as f:
            f.write(begin + "".join(line + end for line in [*more, *head, *lines]))

    n = t["n"]
    text("edges", list(HEADS[rng.integers(len(HEADS))]), t["edges"].tolist())
    text("feat", ["id"] + [f"x{j}" for j in range(t["feat"].shape[1])], [[v, *map(float, t["feat"][v])] for v in rng.permutation(n)])
    text("label", [str(rng.choice(["id", "node_id"])), str(rng.choice(["label", "y", "class"]))], [[v, int(t["label"][v])] for v in rng.permutation(n)])
    text("train", ["id"], [[v] for v in t["train"]])
    want["valid"] = want["test"] = None
    return f"{changed}.csv: {' '.join(what)}", [f"{changed}.csv"], want, None


# ---- comparing ----

def graph_of(edges, weights):
    w = np.zeros(len(edges), np.float32) if weights is None else weights.astype(np.float32)
    return sorted(zip(edges[:, 1].tolist(), edges[:, 0].tolist(), w.tolist()))


def difference(want):
    """The first array of the dataset that is another than the truth, or None."""
    got = {f[:-4]: np.load(f"out/{f}") for f in os.listdir("out") if f.endswith(".npy")}
    dst = np.repeat(np.arange(len(got["indptr"]) - 1), np.diff(got["indptr"]))
    if want["edges"] is None:
        return "edges"
    weights = want.get("edge_weight")
    if ("weights" in got) != (weights is not None) or (weights is not None and len(weights) != len(want["edges"])):
        return "edge_weight"
    if sorted(zip(dst.tolist(), got["indices"].tolist(), got.get("weights", np.zeros(len(dst), np.float32)).tolist())) != graph_of(want["edges"], weights):
        return "edges"
    if want["feat"] is None or got["features"].shape != want["feat"].shape or not np.array_equal(got["features"].astype("f8"), want["feat"].astype("f8")):
        return "feat"
    label = want["label"]
    if label is None or "labels" not in got or not np.array_equal(got["labels"].astype("f8"), np.where(np.isnan(label.astype("f8")), -1, label.astype("f8"))):
        return "label"
    for s in SPLITS:
        if (want[s] is not None and len(want[s]) > 0) != (s in got and len(got[s]) > 0):
            return s
        if want[s] is not None and len(want[s]) and not np.array_equal(np.sort(got[s]), np.sort(want[s])):
            return s
    with open("out/meta.json") as f:
        classes = json.load(f)["num_classes"]
    return "classes" if "classes" in want and label.ndim == 1 and classes != want["classes"] else None


def outgrow(*words):
    return subprocess.run([OUTGROW, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)


def try_one(number):
    rng = np.random.default_rng([SEED, number])
    for folder in "src", "out":
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs("src")
    t = draw_truth(rng)
    kind = rng.random()
    if kind < 0.5:
        what, words, want, form = fuzz_formats.DRAWS[rng.integers(len(fuzz_formats.DRAWS))](rng, t, change_array)
    else:
        what, words, want, form = (npy_draw if kind < 0.75 else csv_draw)(rng, t)
    told = [form] if form and rng.random() < 0.5 else []  # else it finds the format itself
    done = outgrow("import", *told, "src", "out", "--memory", "64M")
    said = done.stderr.split(": taken as", 1)[-1].split("\n", 1)[-1] if "taken as" in done.stderr else done.stderr
    if done.returncode not in (0, 1):
        return f"status {done.returncode}: {done.stderr}", what
    named = any(word in said for word in words)
    if done.returncode == 1:
        return (None if named and "hint: " in said else f"refused, not named: {said}"), what
    if "node_type" in want:
        shutil.rmtree("back", ignore_errors=True)
        exported = outgrow("export", "npy", "out", "back")
        if exported.returncode != 0:
            return f"export: {exported.stderr}", what
    differs = fuzz_formats.typed_difference(want) if "node_type" in want else difference(want)
    return (None if differs is None or named else f"{differs} differs in silence; said: {said}"), what


def main():
    folder, here = tempfile.mkdtemp(prefix="og-fuzz-doors-"), os.getcwd()
    os.chdir(folder)
    wrong = 0
    try:
        for number in range(COUNT):
            why, what = try_one(number)
            if why:
                wrong += 1
                print(f"draw {SEED} {number}: {what}: {why}", flush=True)
    finally:
        os.chdir(here)
        shutil.rmtree(folder)
    print(f"{COUNT} draws, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
