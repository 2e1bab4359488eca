#!/usr/bin/env python3
"""Datasets from tables through Arrow, and from arrays with ids, against NumPy's sorted ids. What is not installed is left out, and said."""
import csv
import ctypes
import importlib
import json
import logging
import os
import subprocess
import sys
from unittest import mock

from support import COMMAND, arrays_of_a_graph, command, main, np, outgrow, raises, same, warned
from outgrow._arrow import NUMBERS, Array, Schema, Stream

N = 500
rng = np.random.default_rng(8)
WORDS = np.array(sorted({"".join(rng.choice(list("abcé~0Z"), rng.integers(1, 16))) for _ in range(N * 2)}, key=str.encode)[:N], dtype=object)
SHUFFLED = rng.permutation(N)
ENDS = rng.integers(0, N, (2, 4000))
X = rng.standard_normal((N, 4)).astype(np.float32)
Y = rng.integers(0, 3, N)
CLASSES = np.array(["ant", "bee", "cat"], dtype=object)
SPLIT = np.array(["train", "valid", "test", None], dtype=object)[rng.integers(0, 4, N)]


def graph_of(folder):
    indptr, indices = np.load(f"{folder}/indptr.npy"), np.load(f"{folder}/indices.npy")
    return np.stack([indices, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))])


def expect(folder, ids=None):
    command("verify", folder)
    order = np.lexsort((ENDS[0], ENDS[1]))
    same("edges", graph_of(folder), ENDS[:, order])
    same("features", np.load(f"{folder}/features.npy"), X)
    same("labels", np.load(f"{folder}/labels.npy"), Y)
    for split in "train", "valid", "test":
        same(split, np.sort(np.load(f"{folder}/{split}.npy")), np.flatnonzero(SPLIT == split))
    if ids is None:
        assert [w.decode() for w in np.load(f"{folder}/node_names.npy")] == WORDS.tolist()
        assert json.load(open(f"{folder}/meta.json"))["class_names"] == CLASSES.tolist()
    else:
        same("ids", np.load(f"{folder}/node_ids.npy"), ids)


def test_arrays_with_ids():
    """write: rows in any order, edges by names or by rows."""
    given = {"x": X[SHUFFLED], "y": CLASSES[Y][SHUFFLED], "ids": WORDS[SHUFFLED]}
    place = np.argsort(SHUFFLED)
    rows = {split: place[SPLIT == split] for split in ("train", "valid", "test")}
    outgrow.write("by_name", edge_index=WORDS[ENDS], **given, **{s: WORDS[SPLIT == s] for s in rows})
    expect("by_name")
    outgrow.write("by_row", edge_index=place[ENDS], **given, **{s: (SPLIT == s)[SHUFFLED] for s in rows}, memory="64M")
    expect("by_row")
    outgrow.write("chunks", edge_index=iter(np.array_split(WORDS[ENDS], 5, 1)), **given, **rows)
    expect("chunks")
    numbers = np.sort(rng.choice(10**12, N, replace=False)) - 10**11
    outgrow.write("numbers", edge_index=place[ENDS], **given | {"ids": numbers[SHUFFLED]}, **rows)
    expect("numbers", numbers)
    np.save("mapped.npy", given["x"])  # as the hint about iterators has it
    outgrow.write("mapped", edge_index=place[ENDS], **given | {"x": np.load("mapped.npy", mmap_mode="r")}, **rows)
    expect("mapped")
    for more in {"x": iter(X)}, {"ids": iter(WORDS)}:
        with raises(outgrow.OptionError, 'mmap_mode="r"'):
            outgrow.write("never", edge_index=place[ENDS], **given | more)
    assert not os.path.exists("never")


def test_typed_arrays_with_ids():
    users, items = np.array(["u2", "u10", "u1"], dtype=object), np.array(["i" * 40, "i"], dtype=object)
    outgrow.write("typed", edge_index={("user", "buys", "item"): [["u1", "u2", "u10"], ["i", "i" * 40, "i"]]}, ids={"user": users, "item": items},
                  x={"user": np.array([[2.], [10.], [1.]], np.float32), "item": np.ones((2, 1), np.float32)}, y={"item": ["b", "a"]})
    command("verify", "typed")
    about = json.load(open("typed/meta.json"))
    at = [t["name"] for t in about["node_types"]].index("user")
    assert np.load(f"typed/node_names_{at}.npy").tolist() == [b"u1", b"u10", b"u2"] and np.load(f"typed/node_names_{1 - at}_offsets.npy").tolist() == [0, 1, 41]
    assert np.load(f"typed/features_{at}.npy").ravel().tolist() == [1, 10, 2] and about["class_names"] == ["a", "b"]
    same("edges", np.stack([np.load("typed/rel0_indices.npy"), np.repeat([0, 1], np.diff(np.load("typed/rel0_indptr.npy")))]), np.array([[0, 1, 2], [0, 0, 1]]))
    command("export", "npy", "typed", "exported")
    outgrow.import_("npy", "exported", "again")
    same("names", np.load(f"again/node_names_{at}.npy"), np.load(f"typed/node_names_{at}.npy"))


def test_words_as_labels():
    given = arrays_of_a_graph()
    outgrow.write("labels", **given | {"y": np.array(["x", "y", "a", "", "None"])[given["y"]]})
    same("labels", np.load("labels/labels.npy"), np.array([1, 2, 0, -1, -1])[given["y"]])
    assert json.load(open("labels/meta.json"))["class_names"] == ["a", "x", "y"]


def test_refused_arrays():
    x = np.zeros((3, 1), np.float32)
    ids = ["a", "b", "c"]
    for more, why in (({"ids": ["a", "b", "a"]}, "a is there twice"), ({"edge_index": [["a"], ["d"]]}, "entry 0 is none of ids"),
                      ({"ids": ["a", "b"]}, "3 rows, for 2 ids"), ({"ids": ["a", None, "c"]}, "is null"), ({"edge_index": [[0], [3]]}, "3, of 3 rows"),
                      ({"ids": ["a", "", "c"]}, "an empty name"), ({"train": ["a", "z"]}, "entry 1 is none of ids"), ({"ids": [1, 2, 3], "edge_index": [["1"], ["2"]]}, "'1' and 1")):
        with raises(outgrow.OptionError, why):
            outgrow.write("never", **{"edge_index": [["a"], ["b"]], "x": x, "ids": ids} | more)
    assert not os.path.exists("never")


# ---- tables ----

KEPT = []  # what C structs point to, and functions that C calls
DECIMAL = np.dtype([("low", "<u8"), ("high", "<i8")])


class Plain:
    """A table as an Arrow C stream, where no library that has it is installed. In two batches. Masked values are null."""

    def __init__(self, **columns):
        self.columns, self.cuts = columns, None

    def cut(self, *at):
        """In batches that end at these rows."""
        self.cuts = at
        return self

    def column(self, name, values):
        """Schema and array. Rows of a matrix are lists of one length."""
        schema, array = Schema(name=name.encode()), Array(length=len(values))
        if isinstance(values, list):
            words = [value.encode() for value in values]
            buffers, schema.format = [None, np.cumsum([0, *map(len, words)]).astype(np.int32), np.frombuffer(b"".join(words) or b" ", np.uint8)], b"u"
        else:
            letter = {np.dtype(t): k.encode() for k, t in NUMBERS.items()} | {np.dtype("M8[s]"): b"tss:UTC", np.dtype("M8[ms]"): b"tsm:", DECIMAL: b"d:38,1"}
            letter = letter.get(values.dtype, b"tDs")  # durations, which are not read
            valid = np.packbits(~values.mask, bitorder="little") if np.ma.is_masked(values) and values.ndim == 1 else None
            buffers, schema.format, array.null_count = [valid, np.ascontiguousarray(values)], letter, 0 if valid is None else -1
        if not isinstance(values, list) and values.ndim == 2:
            inner = self.column("item", values.ravel())
            buffers, schema.format, schema.n_children, array.n_children = [None], b"+w:%d" % values.shape[1], 1, 1
            schema.children, array.children = ((ctypes.POINTER(type(of)) * 1)(ctypes.pointer(of)) for of in inner)
        array.n_buffers, array.buffers = len(buffers), (ctypes.c_void_p * len(buffers))(*(b if b is None else b.ctypes.data for b in buffers))
        KEPT.append((buffers, schema, array))
        return schema, array

    def parent(self, columns):
        made = [self.column(name, values) for name, values in columns.items()]
        schema, array = Schema(format=b"+s", name=b"", n_children=len(made)), Array(length=len(next(iter(columns.values()))), n_children=len(made))
        schema.children, array.children = ((ctypes.POINTER(type(of[0])) * len(of))(*map(ctypes.pointer, of)) for of in zip(*made))
        for of in schema, array:
            end = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
            of.release = ctypes.cast(end, ctypes.c_void_p)
            KEPT.append((made, end))
        return schema, array

    def __arrow_c_stream__(self, requested_schema=None):
        n = len(next(iter(self.columns.values())))
        cuts = [0, *(self.cuts or [n // 2]), n]
        parts = [{name: values[first:end] for name, values in self.columns.items()} for first, end in zip(cuts, cuts[1:])]
        stream, made = Stream(), [self.parent(part) for part in parts]
        left = iter(made)

        def schema(_, out):
            out[0] = made[0][0]
            return 0

        def following(_, out):
            out[0] = next(left, (None, Array()))[1]
            return 0
        stream.get_schema, stream.get_next = Stream._fields_[0][1](schema), Stream._fields_[1][1](following)
        KEPT.append((stream, schema, following))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(stream), b"arrow_array_stream", None)


def test_columns_of_edges():
    """Weights, times and features of edges, and times of nodes, are those of arrays."""
    r = np.random.default_rng(5)
    weight, time, attr = r.random(len(ENDS[0])).astype(np.float32), r.integers(-9, 99, len(ENDS[0])), r.standard_normal((len(ENDS[0]), 3)).astype(np.float32)
    moment = r.integers(0, 50, N)
    ends = {"follower": WORDS[ENDS[0]].tolist(), "followee": WORDS[ENDS[1]].tolist()}
    nodes = Plain(id=WORDS[SHUFFLED].tolist(), f=X[SHUFFLED], node_time=moment[SHUFFLED])
    outgrow.import_tables("edges_of_all", nodes=nodes, edges=Plain(**ends, w=weight, timestamp=time, edge_attr=attr), memory="64M")
    outgrow.import_tables("edges_named", nodes=nodes, columns={"edge_time": "at", "edge_features": ["a", "b"], "weight": "score"},
                          edges=Plain(**ends, score=weight, at=time, a=attr[:, :1].ravel(), b=attr[:, 1:]))
    outgrow.write("edges_written", edge_index=WORDS[ENDS], x=X[SHUFFLED], ids=WORDS[SHUFFLED], node_time=moment[SHUFFLED], edge_weight=weight, edge_time=time, edge_attr=attr)
    for name in "edges_of_all", "edges_named":
        command("verify", name)
        for file in "indptr", "indices", "weights", "edge_times", "edge_features", "node_times", "features", "node_names":
            same(file, np.load(f"{name}/{file}.npy"), np.load(f"edges_written/{file}.npy"))
    assert len(np.unique(np.load("edges_of_all/edge_times.npy"))) > 50
    relations = {("user", "buys", "item"): Plain(src=["u1", "u2", "u1"], dst=["y", "x", "x"], time=np.array([7, 5, 6]), edge_feat=np.array([[.5, 1], [2, 3], [4, 5]])),
                 ("item", "near", "item"): Plain(src=["x", "y"], dst=["y", "x"], edge_attr=np.array([9., 8]))}
    said = warned(lambda: outgrow.import_tables("edges_typed", edges=relations | {("item", "of", "user"): Plain(src=["x"], dst=["u1"], time=["noon"], note=["n"])}))
    command("verify", "edges_typed")
    at = {r["name"]: i for i, r in enumerate(json.load(open("edges_typed/meta.json"))["relations"])}
    same("times", np.load(f"edges_typed/rel{at['buys']}_edge_times.npy"), np.array([6, 5, 7]))
    same("rows", np.load(f"edges_typed/rel{at['buys']}_edge_features.npy"), np.array([[4, 5], [2, 3], [.5, 1]], np.float32))
    same("rows", np.load(f"edges_typed/rel{at['near']}_edge_features.npy").ravel(), np.array([8, 9], np.float32))
    assert not os.path.exists(f"edges_typed/rel{at['near']}_edge_times.npy") and any("not read: time, note" in text for text in said), said
    for columns, why in (({"edge_time": "note"}, "column note"), ({"edge_features": ["note"]}, "has texts, no features"), ({"edge_features": "a"}, "a list of names"),
                         ({"edge_times": "a"}, "columns: edge_times"), ({"edge_features": ["z"]}, "no column z")):
        with raises(outgrow.OptionError, why):
            outgrow.import_tables("never", edges=Plain(src=["a"], dst=["b"], note=["c"]), columns=columns)


def stored(name, edges, columns=None, **more):
    """What a dataset has of these edges, and what was warned of."""
    said = warned(lambda: outgrow.import_tables(name, edges=edges, columns=columns, **more))
    read = lambda file: np.load(f"{name}/{file}.npy").ravel().tolist() if os.path.exists(f"{name}/{file}.npy") else None
    return read("edge_times"), read("edge_features"), read("weights"), " ".join(said)


def test_a_column_has_one_role():
    """One that was given for a role is no other's by its name. What may be two things is none."""
    ends, plain = {"s": ["a", "b", "c"], "t": ["d", "d", "d"]}, {"src": ["a", "b", "c"], "dst": ["d", "d", "d"]}
    numbers = np.arange(3)
    assert stored("given_t", Plain(s=numbers, t=numbers + 3), {"src": "s", "dst": "t"})[:3] == (None, None, None)
    assert stored("given_w", Plain(**plain, attr=numbers + .5, ts=numbers), {"weight": "attr", "edge_features": ["ts"]})[:3] == (None, [0, 1, 2], [.5, 1.5, 2.5])
    outgrow.import_tables("given_y", edges=Plain(**plain), nodes=Plain(id=["a", "b", "c", "d"], split=np.ones(4), y=np.arange(4.)), columns={"features": ["split", "y"]})
    same("features", np.load("given_y/features.npy"), np.array([[1, 0], [1, 1], [1, 2], [1, 3]], np.float32))
    assert not outgrow.info("given_y").get("num_classes")
    times, _, _, said = stored("unclear", Plain(**plain, time=numbers, timestamp=numbers, ts=["x", "y", "z"]))
    assert times is None and "columns time and timestamp may both be edge_time, and none is read" in said and "not read: ts" in said, said
    assert stored("chosen", Plain(**plain, time=numbers, timestamp=numbers + 7), {"edge_time": "timestamp"})[0] == [7, 8, 9]
    assert stored("clear", Plain(**plain, time=numbers + .5, timestamp=numbers + 7, ts=np.ones((3, 2), int)))[0] == [7, 8, 9]
    assert stored("none", Plain(**plain, time=numbers, attr=numbers, w=numbers), {"edge_time": None, "edge_features": None, "weight": None})[:3] == (None, None, None)
    masked = np.ma.array(numbers, mask=[False, True, False])
    assert stored("no_attr", Plain(**plain, edge_attr=masked))[1] is None
    for cut in 1, 2, 3:  # the null is in a batch after the first one, or in it
        table = Plain(**plain, time=masked, edge_attr=np.ma.array(numbers + .1, mask=masked.mask), attr=numbers.astype(np.int8), features=["x", "y", "z"])
        times, attr, _, said = stored(f"nulls{cut}", table.cut(cut))
        assert times is None and attr == [0, 1, 2] and "not read: time, edge_attr, features" in said, said
    with raises(outgrow.OptionError, "column edge_attr: row 1 is null", "leave the column out"):
        outgrow.import_tables("never", edges=Plain(**plain, edge_attr=masked), columns={"edge_features": ["edge_attr"]})
    stored("usual", Plain(**plain, sender=["x", "y", "z"], n2=numbers, cited=numbers))
    assert np.load("usual/node_names.npy").tolist() == [b"a", b"b", b"c", b"d"]
    stored("less_usual", Plain(sender=ends["s"], receiver=ends["t"]))
    assert np.load("less_usual/node_names.npy").tolist() == [b"a", b"b", b"c", b"d"]
    with raises(outgrow.OptionError, "columns sender and n1 may both be src"):
        outgrow.import_tables("never", edges=Plain(sender=ends["s"], n1=ends["s"], dst=ends["t"]))
    for columns, why in (({"src": ["s"]}, "columns: src: list"), ({"edge_features": 3}, "a list of names"), ({"weight": "z"}, "edges: no column z")):
        with raises(outgrow.OptionError, why):
            outgrow.import_tables("never", edges=Plain(**plain), columns=columns)


def test_columns_of_some_relations():
    """What was given is of the relations that have it, of one at least."""
    relations = {("a", "to", "b"): Plain(src=["x", "y"], dst=["u", "u"], at=np.array([5, 6]), f=np.array([1., 2])), ("b", "of", "a"): Plain(src=["u"], dst=["x"], g=np.array([3.]), time=np.array([1]))}
    outgrow.import_tables("some", edges=relations, columns={"edge_time": "at", "edge_features": ["f", "g"]})
    at = {r["name"]: i for i, r in enumerate(json.load(open("some/meta.json"))["relations"])}
    assert np.load(f"some/rel{at['to']}_edge_times.npy").tolist() == [5, 6] and not os.path.exists(f"some/rel{at['of']}_edge_times.npy")
    assert [np.load(f"some/rel{at[name]}_edge_features.npy").ravel().tolist() for name in ("to", "of")] == [[1, 2], [3]]
    weighted = relations | {("a", "by", "a"): Plain(src=["x"], dst=["y"], w=np.array([.5]))}
    with raises(outgrow.OptionError, "edges of ('b', 'of', 'a'): no weights, which ('a', 'by', 'a') has"):
        outgrow.import_tables("never", edges=weighted)
    outgrow.import_tables("weightless", edges=weighted, columns={"weight": None})
    with raises(outgrow.OptionError, "no column z, nor in another relation"):
        outgrow.import_tables("never", edges=relations, columns={"edge_features": ["f", "z"]})


def test_batches_without_rows():
    plain, numbers = {"src": ["a", "b", "c"], "dst": ["d", "d", "d"]}, np.arange(3)
    for cuts in (0, 3), (0, 0, 2, 2, 3, 3):
        name = f"cut{len(cuts)}"
        outgrow.import_tables(name, edges=Plain(**plain, attr=np.ones((3, 2)), time=numbers).cut(*cuts), nodes=Plain(id=["a", "b", "c", "d"], f=np.ones((4, 2)), y=np.arange(4)).cut(*cuts))
        same("times", np.load(f"{name}/edge_times.npy"), numbers)
        assert np.load(f"{name}/features.npy").shape == (4, 2)
    with raises(outgrow.OptionError, "edges: no rows"):
        outgrow.import_tables("never", edges=Plain(src=[], dst=[]))


def test_labels_of_batches():
    """Nulls may come in any batch. Labels are cast where that changes none, and refused elsewhere."""
    late = np.ma.masked_array(np.arange(4), [False, False, False, True])
    edges = Plain(src=["a"], dst=["b"])
    for name, y, regression, want in ("late", late, True, [0, 1, 2, np.nan]), ("classes", late, False, [0, 1, 2, -1]), ("floats", np.array([1., np.nan, 0., -1.]), False, [1, -1, 0, -1]), \
            ("lists", np.array([[0, 1], [1, 0], [1, 1], [0, 0]]), False, [[0, 1], [1, 0], [1, 1], [0, 0]]):
        outgrow.import_tables(name, nodes=Plain(id=["a", "b", "c", "d"], f=np.ones(4), y=y), edges=edges, regression=regression)
        assert np.array_equal(np.load(f"{name}/labels.npy").squeeze(), want, equal_nan=True), name
    for y, why in (np.array([0, 1, 2, .5]), "column y: row 3: 0.5 is no class"), (np.array([0, 1, 2, 2**63], np.uint64), "row 3: 9223372036854775808 is no class"), \
            (np.array([0, np.inf, 2, 2]), "row 1: inf is no class"), (np.array([0, -1, 1, -2]), "column y: row 3: -2 is no class"):
        with raises(outgrow.OptionError, why):
            outgrow.import_tables("never", nodes=Plain(id=["d", "c", "b", "a"], f=np.ones(4), y=y), edges=edges)
    for number, (more, columns, label, features) in enumerate((({"target": np.arange(4)}, {}, True, 1), ({"Targets": np.arange(4)}, {}, True, 1), ({"target": np.ones(4), "y": np.arange(4)}, {"label": "y"}, True, 2),
                                                               ({"target": np.ones(4)}, {"label": None}, False, 2), ({"target": np.ones(4)}, {"features": ["f", "target"]}, False, 2))):
        outgrow.import_tables(f"target{number}", nodes=Plain(id=["a", "b", "c", "d"], f=np.ones(4), **more), edges=edges, columns=columns)
        assert np.load(f"target{number}/features.npy").shape == (4, features) and os.path.exists(f"target{number}/labels.npy") == label, more
        assert not label or np.load(f"target{number}/labels.npy").tolist() == [0, 1, 2, 3]
    with raises(outgrow.OptionError, "columns target and y may both be label"):
        outgrow.import_tables("never", nodes=Plain(id=["a", "b", "c", "d"], target=np.ones(4), y=np.arange(4)), edges=edges)


def test_kinds_of_columns():
    """Dates are times in seconds, decimals numbers. Other kinds are named, and not read. Parts of a label may be unknown."""
    ids, edges = ["a", "b", "c"], {"src": ["a", "b"], "dst": ["b", "c"]}
    days = np.array(["2020-01-01", "2020-01-02", "1969-12-31"], "M8[s]")
    tenths = np.array([(15, 0), (2**64 - 5, -1), (0, 1)], DECIMAL)
    nodes = {"id": ids, "f": np.ones(3), "money": tenths, "node_time": days, "born": days, "label": np.ma.array([[1, 0], [0, 1], [1, 1]], mask=[[0, 1], [0, 0], [1, 1]])}
    said = warned(lambda: outgrow.import_tables("kinds", nodes=Plain(**nodes, took=days - days[0]), edges=Plain(**edges, timestamp=days[:2])))
    assert any("columns that are not read: born, took. column took: times (Arrow's 'tDs') are not read; cast it to numbers" in text for text in said), said
    same("features", np.load("kinds/features.npy"), np.array([[1, 1.5], [1, -.5], [1, 2**64 / 10]], np.float32))
    assert np.load("kinds/node_times.npy").tolist() == [1577836800, 1577923200, -86400] and np.load("kinds/edge_times.npy").tolist() == [1577836800, 1577923200]
    same("labels", np.nan_to_num(np.load("kinds/labels.npy"), nan=-1), np.array([[1, -1], [0, 1], [-1, -1]], np.float32))
    said = warned(lambda: outgrow.import_tables("milli", edges=Plain(**edges, timestamp=np.array([1999, 2000], "M8[ms]"))))
    assert any("column timestamp: times are whole seconds: fractions are left out, as in row 0" in text for text in said), said
    for more, why in ({"f": np.array([1, 2, np.nan])}, "nodes: column f: row 2 is NaN"), ({"label": days}, "labels are dates"), ({"f": np.ones((3, 0))}, "column f: empty lists"), \
            ({"id": np.array([0., 1, 2])}, "astype('int64')"), ({"id": np.ones((3, 2), int)}, "lists: no ids"), ({"f": np.ma.array(np.ones(3), mask=[0, 0, 1])}, "column f: row 2 is null"):
        with raises(outgrow.OptionError, why):
            outgrow.import_tables("never", nodes=Plain(**nodes | more), edges=Plain(**edges))
    for columns, why in ({"features": ["born"]}, "has dates, no features"), ({"features": ["took"]}, "times (Arrow's 'tDs') are not read"):
        with raises(outgrow.OptionError, why):
            outgrow.import_tables("never", nodes=Plain(**nodes, took=days - days[0]), edges=Plain(**edges), columns=columns)
    with raises(outgrow.OptionError, "no column is called id", "reset_index"):
        outgrow.import_tables("never", nodes=Plain(f=np.ones(3)), edges=Plain(**edges))


def standard(x):
    there = ~np.isnan(x)
    return np.where(there, (x - x[there].mean()) / x[there].std(), 0)


def test_standardize():
    """Numbers and days have mean 0 and deviation 1, few texts a column each. Another table takes the means, texts and columns of the first."""
    r = np.random.default_rng(3)
    n = 300
    year, gap = r.integers(2000, 2020, n), np.ma.array(r.random(n), mask=r.random(n) < .2)
    day = np.datetime64("2020-01-01", "s") + r.integers(0, 900, n) * np.timedelta64(86400, "s")
    ids, tier = [f"n{i:03}" for i in range(n)], r.choice(["gold", "ore", "tin"], n)
    nodes = {"id": ids, "year": year, "same": np.full(n, .1), "flag": (year > 2010).astype(np.int8), "gap": gap, "tier": tier.tolist(), "born": day, "note": [f"text {i}" for i in range(n)],
             "vector": r.random((n, 2)) * 9, "label": year % 2}
    edges = {"src": ids, "dst": ids[1:] + ids[:1]}
    said = warned(lambda: outgrow.import_tables("standard", nodes=Plain(**nodes).cut(7, 100), edges=Plain(**edges), standardize=True))
    assert any("not read: note (texts of more than 32 values)" in text for text in said), said
    command("verify", "standard")
    x, meta = np.load("standard/features.npy"), json.load(open("standard/meta.json"))
    want = [standard(year.astype(float)), np.zeros(n), year > 2010, standard(gap.filled(np.nan)), gap.mask, *(tier == word for word in ("gold", "ore", "tin")), standard(day.astype(float)), *map(standard, nodes["vector"].T)]
    assert meta["feature_names"] == ["year", "same", "flag", "gap", "gap is missing", "tier=gold", "tier=ore", "tier=tin", "born", "vector[0]", "vector[1]"]
    assert x.dtype == np.float32 and np.allclose(x, np.stack(want, 1), atol=1e-6) and np.isclose(meta["feature_means"][0], year.mean()) and meta["feature_deviations"][1:3] == [0, 1]
    some = {key: value[:40] for key, value in nodes.items()} | {"gap": r.random(40), "tier": ["ore", "lead"] * 20}
    few = {"src": ids[:40], "dst": ids[1:40] + ids[:1]}
    said = warned(lambda: outgrow.import_tables("later", nodes=Plain(**some), edges=Plain(**few), standardize_as="standard"))
    assert any("column tier: texts that the other dataset does not have, and which count as missing: lead" in text for text in said), said
    later = np.load("later/features.npy")
    same("by the means of all", later[:, [0, 1, 2, 8, 9, 10]], x[:40, [0, 1, 2, 8, 9, 10]])
    same("texts of all", later[:, 4:8], np.tile(np.array([[0, 0, 1, 0], [0, 0, 0, 0]], np.float32), (20, 1)))
    without = {key: value for key, value in some.items() if key != "year"}
    for given, why in ({"nodes": Plain(**without), "standardize_as": "standard"}, "nodes: no column for year, which the other dataset has"), \
            ({"nodes": Plain(id=ids[:40], f=np.ones(40)), "standardize_as": "never"}, "never/meta.json"), \
            ({"nodes": Plain(**some), "standardize": True, "row_normalize": True}, "standardize: not with row_normalize"):
        with raises(outgrow.Error, why):
            outgrow.import_tables("never", edges=Plain(**few), **given)
    # without it: one warning that names the largest column, and one of columns that it would read
    told = []
    with mock.patch.object(logging.getLogger("outgrow"), "log", lambda level, form, *words: told.append(form % words)):
        said = warned(lambda: outgrow.import_tables("raw", nodes=Plain(**nodes | {"gap": year * 1.}), edges=Plain(**edges), symmetrize=False))
    assert any("feat.npy: column year: mean 20" in text and "1 other is large too" in text and "add standardize=True" in text for text in told), told
    assert "not read: tier, born, note. standardize=True takes" in " ".join(said) and "raw: no splits: split=" in " ".join(said), said
    with raises(outgrow.OptionError, "meta.json has 1 names for 11 columns"):
        command("export", "npy", "standard", "of_standard")
        json.dump({"feature_names": ["one"]}, open("of_standard/meta.json", "w"))
        outgrow.import_("npy", "of_standard", "never")
    with raises(outgrow.OptionError, "two features are called tier=gold"):
        outgrow.import_tables("never", nodes=Plain(**nodes | {"tier=gold": np.ones(n)}), edges=Plain(**edges), standardize=True)
    with raises(outgrow.OptionError, "drop_types: the tables are by types"):
        outgrow.import_tables("never", nodes={"a": Plain(**nodes)}, edges={("a", "to", "a"): Plain(**edges)}, drop_types=True)
    assert not os.path.exists("never")


def test_ids_of_two_kinds():
    """Ids of one type may be words, and of another numbers."""
    outgrow.import_tables("kinds_of_ids", nodes={"user": Plain(id=["b", "a"], f=np.array([1., 0])), "item": Plain(id=np.array([70, -5]), f=np.array([7., -5]))},
                          edges={("user", "buys", "item"): Plain(src=["a", "b"], dst=np.array([70, -5]))})
    command("verify", "kinds_of_ids")
    assert np.load("kinds_of_ids/node_names_0.npy").tolist() == [b"a", b"b"] and np.load("kinds_of_ids/node_ids.npy")[2:].tolist() == [-5, 70]
    same("edges", np.load("kinds_of_ids/rel0_indices.npy"), np.array([1, 0], np.int32))
    with raises(outgrow.OptionError, 'columns={"item": {"id": ...}}'):
        outgrow.import_tables("never", nodes={"item": Plain(sku=["x"])}, edges={("user", "buys", "item"): Plain(src=["a"], dst=["x"])})


def test_words_as_labels_of_types():
    """Types share the classes; before, those of a second type failed."""
    edges = {("u", "to", "i"): Plain(src=["a", "b"], dst=["x", "y"])}
    nodes = {"u": Plain(id=["b", "a", "c"], f=np.ones(3), y=["bee", "cat", ""]), "i": Plain(id=["x", "y"], f=np.ones(2), y=["ant", "bee"])}
    outgrow.import_tables("shared", nodes=nodes, edges=edges)
    command("verify", "shared")
    assert json.load(open("shared/meta.json"))["class_names"] == ["ant", "bee", "cat"] and np.load("shared/labels.npy").tolist() == [2, 1, -1, 0, 1]
    with raises(outgrow.OptionError, "class 5 of 3", "give a larger num_classes"):
        outgrow.import_tables("never", nodes=Plain(id=["a", "b"], f=np.ones(2), y=np.array([1, 5])), edges=Plain(src=["a"], dst=["b"]), num_classes=3)
    with raises(outgrow.OptionError, "nodes of u: labels are words, unlike those of nodes of i"):
        outgrow.import_tables("never", nodes=nodes | {"i": Plain(id=["x", "y"], f=np.ones(2), y=np.array([1, 2]))}, edges=edges)


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"left out: {name} is not installed")
        return None


def columns_of_nodes(**more):
    return {"id": WORDS[SHUFFLED].tolist(), "f0": X[SHUFFLED, 0], "f1": X[SHUFFLED, 1], "vector": X[SHUFFLED, 2:].tolist(), "label": CLASSES[Y][SHUFFLED].tolist(),
            "split": SPLIT[SHUFFLED].tolist(), **more}


def columns_of_edges(ids=WORDS):
    return {"source": ids[ENDS[0]].tolist(), "target": ids[ENDS[1]].tolist()}


def test_pyarrow():
    pa = library("pyarrow")
    if not pa:
        return
    kinds = {"string": pa.string(), "large": pa.large_string(), "view": pa.string_view() if hasattr(pa, "string_view") else pa.string(),
             "codes": pa.dictionary(pa.int16(), pa.string())}
    for name, kind in kinds.items():
        nodes, edges = columns_of_nodes(), columns_of_edges()
        nodes["id"], nodes["label"] = pa.array(nodes["id"], kind), pa.array(nodes["label"], kind)
        nodes["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(X[SHUFFLED, 2:].ravel()), 2) if name != "large" else pa.array(nodes["vector"], pa.list_(pa.float32()))
        table = pa.table(nodes)
        pieces = pa.Table.from_batches([b for at in range(0, N, 77) for b in table.slice(at, 77).to_batches()])
        outgrow.import_tables(name, nodes=pieces, edges=pa.table(edges).slice(0), memory="64M")
        expect(name)
    numbers = np.sort(rng.choice(10**15, N, replace=False)) - 10**14
    outgrow.import_tables("large_ids", nodes=pa.table(columns_of_nodes(id=numbers[SHUFFLED])), edges=pa.table({k: list(v) for k, v in columns_of_edges(numbers).items()}))
    expect("large_ids", numbers)
    outgrow.import_tables("alone", edges=pa.table(columns_of_edges()))
    assert outgrow.info("alone")["feature_dim"] == 1


def test_pyarrow_types():
    pa = library("pyarrow")
    if not pa:
        return
    users = pa.table({"user": ["u2", "u1"], "age": [2.0, 1.0]})
    outgrow.import_tables("bought", nodes={"user": users.rename_columns(["id", "age"])}, edges={
        ("user", "buys", "item"): pa.table({"src": ["u1", "u2"], "dst": ["y", "x"], "weight": [0.5, 2]}),
        ("item", "after", "item"): pa.table({"src": ["x"], "dst": ["y"], "weight": [1.0]})})
    command("verify", "bought")
    assert np.load("bought/node_names_0.npy").tolist() == [b"u1", b"u2"] and np.load("bought/node_names_1.npy").tolist() == [b"x", b"y"]
    assert np.load("bought/features_0.npy").ravel().tolist() == [1, 2] and np.load("bought/rel0_weights.npy").tolist() == [2, 0.5]


def test_columns_by_types():
    """A type and a relation may have columns of their own names, which count before those of all."""
    pa = library("pyarrow")
    if not pa:
        return
    given = {"nodes": {"user": pa.table({"uid": ["u2", "u1"], "age": [2.0, 1.0], "no": [1, 2]}), "id": pa.table({"sku": ["y", "x"], "price": [4.0, 3.0]})},
             "edges": {("user", "buys", "id"): pa.table({"who": ["u1"], "what": ["y"], "paid": [0.5]}), ("id", "after", "id"): pa.table({"src": ["x"], "dst": ["y"], "w": [1.0]})}}
    columns = {"id": {"id": "sku"}, "user": {"id": "uid", "features": ["age"]}, ("user", "buys", "id"): {"src": "who", "dst": "what", "weight": "paid"}}
    outgrow.import_tables("own", **given, columns=columns)
    command("verify", "own")
    assert np.load("own/features_0.npy").ravel().tolist() == [1, 2] and np.load("own/features_1.npy").ravel().tolist() == [3, 4] and np.load("own/rel0_weights.npy").tolist() == [0.5]
    for bad, why in (({"user": {"id": "nobody"}}, "nodes of user: no column nobody"), ({("user", "buys", "id"): columns["user", "buys", "id"] | {"edge_time": "when"}}, "no column when"),
                     ({"shop": {"id": "uid"}}, "columns: 'shop' has no table"), ({"user": {"src": "uid"}}, "columns of user: src")):
        with raises(outgrow.OptionError, why):
            outgrow.import_tables("never", **given, columns=columns | bad)


def test_pyarrow_types_with_numbers():
    """Ids of two types may be the same numbers."""
    pa = library("pyarrow")
    if not pa:
        return
    outgrow.import_tables("numbered", nodes={"user": pa.table({"id": [70, -5], "age": [7.0, 5.0]})},
                          edges={("user", "buys", "item"): pa.table({"src": [70, -5], "dst": [70, 10**15]})})
    command("verify", "numbered")
    assert np.load("numbered/node_ids.npy").tolist() == [-5, 70, 70, 10**15] and np.load("numbered/features_0.npy").ravel().tolist() == [5, 7]
    same("edges", np.load("numbered/rel0_indices.npy"), np.array([1, 0], np.int32))


def test_what_is_no_table():
    """Errors name the argument, and what it should be."""
    for given, why in (({"edges": {"src": [1], "dst": [2]}}, "edges: 'src' is not (source, name, destination)"), ({"edges": {("a", "b"): 1}}, "('a', 'b') is not"),
                       ({"edges": {(1, 2, 3): 1}}, "(1, 2, 3) is not"), ({"edges": {("a", "b", "c"): 1}, "nodes": {0: 1}}, "nodes: 0 is not the name of a type"),
                       ({"edges": [[1, 2]]}, "edges: list"), ({"edges": "edges.csv"}, "edges: the name of a file")):
        with raises(outgrow.OptionError, why):
            outgrow.import_tables("never", **given)
    pa = library("pyarrow")
    if pa:
        with raises(outgrow.OptionError, "edges: column weight: no numbers"):
            outgrow.import_tables("never", edges=pa.table({"src": [1], "dst": [2], "weight": ["1"]}))
    assert not os.path.exists("never")


def test_refused_tables():
    pa = library("pyarrow")
    if not pa:
        return
    nodes, edges = pa.table({"id": ["a", "b"], "f": [1.0, 2.0]}), pa.table({"src": ["a"], "dst": ["b"]})
    for bad, why in (({"edges": pa.table({"src": [1], "dst": [2]})}, "'1' and 1 are no equal ids"), ({"edges": pa.table({"src": ["a"], "dst": ["z"]})}, "dst z is the id of no node"),
                     ({"nodes": pa.table({"id": ["a", "a"], "f": [1.0, 2.0]})}, "a is there twice"), ({"nodes": pa.table({"id": ["a", None], "f": [1.0, 2.0]})}, "is null"),
                     ({"nodes": pa.table({"id": ["a", "b"], "f": [1.0, None]})}, "column f: row 1 is null"),
                     ({"nodes": pa.table({"id": ["a", "b"], "f": [[1.0], [1.0, 2.0]]})}, "lists of 1 and of 2"), ({"nodes": pa.table({"key": ["a", "b"]})}, "no column is called id"),
                     ({"edges": pa.table({"src": ["a"], "dst": ["b"], "from": ["b"]})}, "may both be src"), ({"edges": 3}, "without __arrow_c_stream__")):
        with raises(outgrow.OptionError, why):
            outgrow.import_tables("never", **{"nodes": nodes, "edges": edges} | bad)
    assert not os.path.exists("never")
    said = warned(lambda: outgrow.import_tables("warned", nodes=nodes.append_column("note", pa.array(["x", "y"])), edges=edges))
    assert any("columns that are not read: note" in text for text in said), said


def test_pandas():
    pd = library("pandas")
    if not pd or not library("pyarrow"):
        return
    nodes = pd.DataFrame(columns_of_nodes())
    nodes["label"] = nodes["label"].astype("category")
    edges = pd.DataFrame(columns_of_edges())
    outgrow.import_tables("pandas", nodes=nodes, edges=edges)
    expect("pandas")
    # an index is no feature; it is the id where no column is
    rows = rng.permutation(N)
    for name, chosen, columns in ("chosen", nodes.iloc[rows], {}), ("called", nodes.iloc[rows].rename(columns={"id": "who"}), {"id": "who"}), \
            ("index", nodes.set_index("id"), {}), ("number", nodes.iloc[rows].rename_axis("number"), {}), \
            ("bare", nodes.set_index(pd.Index(nodes["id"], name=None)).drop(columns="id"), {}):
        said = warned(lambda: outgrow.import_tables(f"pandas-{name}", nodes=chosen, edges=edges.iloc[rng.permutation(len(edges))], columns=columns, symmetrize=False))
        assert ["number" in text for text in said] == ([True] if name == "number" else []), said
        expect(f"pandas-{name}")
    said = warned(lambda: outgrow.import_tables("pandas-periods", nodes=nodes.assign(when=pd.period_range("2020", periods=N)), edges=edges, symmetrize=False))
    assert any("column when: periods are not read; cast it to dates: dt.to_timestamp()" in text for text in said), said
    expect("pandas-periods")
    with raises(outgrow.OptionError, "nodes: DataFrame cannot be given as Arrow", "astype(str)"):
        outgrow.import_tables("never", nodes=nodes.assign(id=[i if i % 2 else str(i) for i in range(N)]), edges=edges)
    # write takes columns as arrays
    given = arrays_of_a_graph()
    outgrow.write("arrays", **given)
    outgrow.write("columns", **given | {"x": pd.DataFrame(given["x"], index=rng.permutation(len(given["x"]))), "y": pd.Series(given["y"]), "train": pd.Index(given["train"])})
    assert all(open(f"arrays/{f}", "rb").read() == open(f"columns/{f}", "rb").read() for f in os.listdir("arrays") if f.endswith(".npy"))


def test_interpreter_of_parquet():
    """The package's functions name their own interpreter, which need not be the one on the PATH."""
    os.makedirs("named")
    open("named/edges.parquet", "w").close()
    done = subprocess.run([COMMAND, "import", "named", "never"], capture_output=True, text=True, env=os.environ | {"OUTGROW_PYTHON": "/nowhere/python"})
    assert done.returncode == 1 and "needs the Python package outgrow in /nowhere/python" in done.stderr and "OUTGROW_PYTHON" in done.stderr, done
    os.makedirs("active/bin")  # an environment without NumPy
    with open("active/bin/python3", "w") as f:
        f.write("#!/bin/sh\necho numpy\nexit 77\n")
    os.chmod("active/bin/python3", 0o755)
    active = {key: value for key, value in os.environ.items() if key != "OUTGROW_PYTHON"} | {"VIRTUAL_ENV": os.path.abspath("active")}
    done = subprocess.run([COMMAND, "import", "named", "never"], capture_output=True, text=True, env=active)
    assert "needs the Python package numpy in " in done.stderr and "active/bin/python3\nhint: pip install numpy" in done.stderr, done
    with open("named/command", "w") as f:
        f.write('#!/bin/sh\necho "{\\"python\\": \\"$OUTGROW_PYTHON\\"}"\n')
    os.chmod("named/command", 0o755)
    before, known = dict(os.environ), sys.executable
    os.environ["OUTGROW_COMMAND"] = os.path.abspath("named/command")
    os.environ.pop("OUTGROW_PYTHON", None)
    try:
        assert outgrow.plan("any")["python"] == known
        for sys.executable in None, "":  # of a program that embeds Python
            assert outgrow.plan("any")["python"] == ""
    finally:
        sys.executable = known
        os.environ.clear()
        os.environ.update(before)


def test_parquet():
    """The command runs the package; without it, it says how to get it."""
    pa = library("pyarrow")
    if not pa:
        return
    import pyarrow.parquet as pq
    os.makedirs("files")
    pq.write_table(pa.table(columns_of_nodes()), "files/nodes.parquet", row_group_size=99)
    pq.write_table(pa.table(columns_of_edges()).rename_columns(["a", "b"]), "files/edges.parquet")
    os.environ["PATH"] = os.path.dirname(sys.executable) + ":" + os.environ["PATH"]
    command("import", "files", "files_in", "--id-columns", "a,b", "--memory", "64M")
    expect("files_in")
    pq.write_table(pa.table(columns_of_edges() | {"f1": X[ENDS[0], 0], "at": ENDS[1], "f2": X[ENDS[0], 1]}), "with_features.parquet")
    command("import", "with_features.parquet", "starred", "--edge-time", "at", "--edge-features", "f*")
    command("import", "with_features.parquet", "in_full", "--edge-time", "at", "--edge-features", "f1,f2")
    same("features", *(np.load(f"{name}/edge_features.npy") for name in ("starred", "in_full")))
    weight = np.abs(X[ENDS[0], 0])
    pq.write_table(pa.table(columns_of_edges() | {"weight": weight, "f1": X[ENDS[0], 0], "t": ENDS[1], "label": ENDS[0], "f2": X[ENDS[0], 1]}), "with_all.parquet")
    done = subprocess.run([COMMAND, "import", "with_all.parquet", "all_of_them", "--edge-features", "*"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.count("leaves out: label, t, weight\n") == 1, done
    same("features", *(np.load(f"{name}/edge_features.npy") for name in ("all_of_them", "in_full")))
    same("times", *(np.load(f"{name}/edge_times.npy") for name in ("all_of_them", "in_full")))
    same("weights", np.load("all_of_them/weights.npy"), np.abs(np.load("all_of_them/edge_features.npy")[:, 0]))
    done = subprocess.run([COMMAND, "import", "with_features.parquet", "never", "--edge-features", "g*"], capture_output=True, text=True)
    assert done.returncode == 1 and "no column g*" in done.stderr and "hint: " in done.stderr, done
    done = subprocess.run([COMMAND, "import", "files/edges.parquet", "never"], capture_output=True, text=True)
    assert done.returncode == 1 and "no column is called src" in done.stderr and "hint: " in done.stderr, done
    pq.write_table(pa.table(columns_of_nodes(who=columns_of_nodes()["id"])).drop_columns(["id"]).rename_columns({"label": "topic"}), "files/nodes.parquet")
    command("import", "parquet", "files", "files_named", "--node-id", "who", "--node-label", "topic", "--id-columns", "a,b")
    expect("files_named")
    for words, why in ([], "hint: name it: --node-id NAME; its columns are"), (["--columns", "a,b"], "--columns: Parquet files name their columns\nhint: give --id-columns a,b"), \
            (["--node-id", "whom"], "--node-id: no column whom\nhint: columns are"), (["--node-id", "who", "--id-columns", "a"], "give two names: --id-columns SRC,DST"):
        done = subprocess.run([COMMAND, "import", "files", "never", *words], capture_output=True, text=True)
        assert done.returncode == 1 and why in done.stderr and "tmp-" not in done.stderr, done
    os.makedirs("typed_files")
    pq.write_table(pa.table({"uid": ["u2", "u1"], "age": [2.0, 1.0], "tier": ["x", "y"]}), "typed_files/nodes_user.parquet")
    pq.write_table(pa.table({"sku": [7, 5], "price": [1.0, 2.0]}), "typed_files/nodes_item.parquet")
    pq.write_table(pa.table({"uid": ["u1", "u2"], "sku": [5, 7]}), "typed_files/edges_user__buys__item.parquet")
    command("import", "typed_files", "typed_in", "--node-id", "uid,sku", "--node-label", "tier", "--id-columns", "uid,sku", "--reverse-relations")
    command("verify", "typed_in")
    assert json.load(open("typed_in/meta.json"))["class_names"] == ["x", "y"] and np.load("typed_in/node_ids.npy").tolist()[-2:] in ([5, 7], [0, 1])
    done = subprocess.run([COMMAND, "import", "files", "never"], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": "", "PATH": "/nowhere"})
    assert done.returncode == 1 and "needs the Python package" in done.stderr and "pip install" in done.stderr, done


def test_memory_of_parquet():
    """--memory is of the command: Python and two row groups are within it, and leave half at least."""
    pa = library("pyarrow")
    if not pa:
        return
    import pyarrow.parquet as pq
    from outgrow import _names, _parquet
    os.environ["PATH"] = os.path.dirname(sys.executable) + ":" + os.environ["PATH"]
    pq.write_table(pa.table({"src": np.arange(400_000), "dst": np.arange(400_000) * 7 % 400_000}), "wide.parquet")
    row_group = pq.read_metadata("wide.parquet").row_group(0).total_byte_size
    left = _parquet.without_held("1G", "wide.parquet")
    assert row_group > 1 << 20 and 1 << 29 < left <= (1 << 30) - 2 * row_group - (8 << 20), left
    assert _parquet.without_held("20M", "wide.parquet") == 10 << 20
    with raises(_names.Error, 'memory="485M"'), _names.part_of(400 << 20, 100 << 20):
        raise _names.OptionError("edges: needs 1 MiB", 'give it at least memory="121M"')
    command("import", "wide.parquet", "wide", "--memory", "64M")
    assert np.load("wide/indices.npy").size == 400_000


def test_parquet_of_predictions():
    """predict writes what its .csv has, in types that do not depend on the rows."""
    pa = library("pyarrow")
    if not pa:
        return
    import pyarrow.parquet as pq
    rng = np.random.default_rng(4)
    n = 120
    names = [f"{i:03d}" for i in range(n)]  # words, and like numbers
    ends = rng.integers(0, n, (700, 2))
    parts = {"train": ends[:500], "valid": ends[500:600], "test": ends[600:]}
    word = np.array(["far", "near, by"])
    outgrow.import_tables("plain", nodes=pa.table({"id": names, "label": word[np.arange(n) % 2], "split": ["train", "valid", "test"] * (n // 3), "f": rng.random(n, "f4")}),
                          edges=pa.table({"src": [names[u] for u in ends[:, 0]], "dst": [names[v] for v in ends[:, 1]]}))
    outgrow.write("linked", edge_index=ends.T, x=rng.random((n, 3), "f4"), **{f"{s}_edges": e for s, e in parts.items()},
                  **{f"{s}_edge_labels": word[e.sum(1) % 2] for s, e in parts.items()})
    os.environ["PATH"] = os.path.dirname(sys.executable) + ":" + os.environ["PATH"]
    for graph, task, heads, kinds in ("plain", "node", ["id", "class", "far", "near, by"], ["string", "string", "float", "float"]), \
            ("linked", "edge", ["src", "dst", "class", "far", "near, by"], ["int64", "int64", "string", "float", "float"]):
        outgrow.train(graph, task=task, fanout="3,3", hidden=8, epochs=1, batch=60, memory="128M", run=f"{graph}-run")
        with open(f"{graph}.parquet.part.csv", "w") as file:  # of a killed run
            file.write("left")
        for form in "csv", "parquet":
            told = command("predict", graph, "--checkpoint", f"{graph}-run/best.safetensors", "--out", f"{graph}.{form}", "--memory", "128M", "--json")
            assert json.loads(told)["out"] == f"{graph}.{form}", told
        table = pq.read_table(f"{graph}.parquet")
        kept = table if graph == "plain" else kept
        assert table.column_names == heads and [str(t) for t in table.schema.types] == kinds, table.schema
        with open(f"{graph}.csv", newline="") as file:
            lines = list(csv.reader(file))[1:]
        for k, kind in enumerate(kinds):
            column = table.column(k).to_pylist()
            assert column == ([line[k] for line in lines] if kind == "string" else [int(line[k]) for line in lines] if kind == "int64"
                              else [float(np.float32(line[k])) for line in lines]), (graph, heads[k])
        assert not os.path.exists(f"{graph}.parquet.part.csv")
        again = [COMMAND, "predict", graph, "--checkpoint", f"{graph}-run/best.safetensors", "--out", f"{graph}.parquet"]
        done = subprocess.run(again, capture_output=True, text=True)
        assert done.returncode == 1 and "exists already\nhint: give --overwrite to replace it\n" in done.stderr, done
    plain = [COMMAND, "predict", "plain", "--checkpoint", "plain-run/best.safetensors", "--out", "plain.parquet", "--resume"]
    for began in False, True:
        if began:
            open("plain.parquet.part.csv.part", "w").close()  # of a run that kept nothing
        done = subprocess.run(plain, capture_output=True, text=True)
        assert done.returncode == 1 and "exists already, and --resume finds nothing to continue" in done.stderr, done
        assert pq.read_table("plain.parquet") == kept and not os.path.exists("plain.parquet.part.csv"), began
    assert subprocess.run([*plain, "--overwrite"], capture_output=True).returncode == 0 and pq.read_table("plain.parquet") == kept
    for form in "csv", "parquet":
        outgrow.predict("plain", "plain-run/best.safetensors", f"chances.{form}", probabilities=True, memory="128M")
        outgrow.smooth("plain", f"chances.{form}", f"smooth-{form}.npy", memory="128M")
    outgrow.smooth("plain", "chances.parquet", "smooth.parquet", memory="128M")
    same("smoothed", np.load("smooth-csv.npy"), np.load("smooth-parquet.npy"))
    assert pq.read_table("smooth.parquet").column_names == ["id", "class", "far", "near, by"] and not any("part" in name for name in os.listdir(".") if name.startswith("smooth"))


def test_ids_that_are_numbers():
    """Nodes to predict have the ids of tables of predictions; rows were taken for them without a word."""
    ids = np.array([3, 4, 5, 11, 14, 22])
    edges = Plain(src=np.array([70, 70, *ids]), dst=np.array([3, 22, *np.roll(ids, 1)]))
    types = {"nodes": Plain(id=np.array([*ids, 70])[::-1].copy(), f=np.arange(7.), label=np.arange(7) % 2), "edges": edges}, \
        {"nodes": {"word": Plain(id=["5", "z"], f=np.ones(2)), "n": Plain(id=np.array([*ids, 70]), f=np.arange(7.), label=np.arange(7) % 2)},
         "edges": {("n", "to", "n"): edges, ("word", "to", "n"): Plain(src=["z"], dst=np.array([70]))}}, \
        {"nodes": {"other": Plain(id=np.arange(30), f=np.ones(30)), "n": Plain(id=np.array([*ids, 70]), f=np.arange(7.), label=np.arange(7) % 2)},
         "edges": {("n", "to", "n"): edges, ("other", "to", "n"): Plain(src=np.array([3]), dst=np.array([70]))}}
    for k, tables in enumerate(types):
        outgrow.import_tables(f"ids{k}", **tables, split="60/20/20", symmetrize=False)
        outgrow.train(f"ids{k}", run=f"ids{k}run", epochs=1, fanout=[3])
        best = f"ids{k}run/best.safetensors"
        outgrow.predict(f"ids{k}", best, f"ids{k}.csv", fanout=[-1])
        rows = {int(row["id"]): [float(row["0"]), float(row["1"])] for row in csv.DictReader(open(f"ids{k}.csv"))}
        asked = [22, 3, 70]
        with outgrow.Predictor(best, f"ids{k}", fanout=[-1]) as predictor:
            for given in asked, np.array(asked), [str(one) for one in asked]:
                assert np.allclose(predictor(given), [rows[one] for one in asked], atol=1e-5), given
                outgrow.predict(f"ids{k}", best, f"ids{k}.npy", fanout=[-1], nodes=given, overwrite=True)
                assert np.allclose(np.load(f"ids{k}.npy"), [rows[one] for one in asked], atol=1e-5), given
            with raises(outgrow.OptionError, "no node is called 6", "import"):
                predictor([3, 6])
        with raises(outgrow.OptionError, 'give ids: nodes=table["id"][mask]'):
            outgrow.predict(f"ids{k}", best, "never.npy", nodes=np.load(f"ids{k}/node_ids.npy") > 4)
        with raises(outgrow.OptionError, "row 1: listed twice: 5"):
            outgrow.predict(f"ids{k}", best, "never.npy", nodes=[5, 5])


def test_polars():
    pl = library("polars")
    if pl:
        outgrow.import_tables("polars", nodes=pl.DataFrame(columns_of_nodes()), edges=pl.DataFrame(columns_of_edges()))
        expect("polars")


def test_duckdb():
    duckdb = library("duckdb")
    pa = library("pyarrow")
    if not duckdb or not pa:
        return
    nodes, edges = pa.table(columns_of_nodes()), pa.table(columns_of_edges())
    outgrow.import_tables("duckdb", nodes=duckdb.sql("SELECT * FROM nodes"), edges=duckdb.sql("SELECT * FROM edges"))
    assert nodes and edges
    expect("duckdb")
    ranks = duckdb.sql("SELECT id, row_number() OVER (ORDER BY encode(id)) - 1 AS v FROM nodes")
    joined = duckdb.sql("SELECT s.v, d.v FROM edges JOIN ranks s ON s.id = source JOIN ranks d ON d.id = target ORDER BY d.v, s.v").fetchnumpy()
    assert ranks
    same("DuckDB's join", graph_of("duckdb"), np.stack([joined["v"], joined["v_1"] if "v_1" in joined else joined["v:1"]]))


if __name__ == "__main__":
    main(globals())
