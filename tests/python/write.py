#!/usr/bin/env python3
"""Datasets from arrays, tensors, PyG Data and iterators of chunks are the same. Also the functions of the command."""
import contextlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time

from support import COMMAND, NODES, arrays_of_a_graph, command, main, np, outgrow, raises, same, warned

FILES = "indptr", "indices", "features", "labels", "train", "valid", "test", "weights"


def assert_same_dataset(a, b):
    for name in FILES:
        same(name, np.load(f"{a}/{name}.npy"), np.load(f"{b}/{name}.npy"))
        assert np.load(f"{a}/{name}.npy", mmap_mode="r").dtype == np.load(f"{b}/{name}.npy", mmap_mode="r").dtype, name
    assert os.listdir(".") == [n for n in os.listdir(".") if ".tmp-" not in n]


def in_pieces(array, n, axis=0):
    return iter(np.array_split(array, n, axis))


def test_arrays():
    """Against the list of each node's in-neighbours that NumPy makes."""
    given = arrays_of_a_graph()
    told = outgrow.write("arrays", **given)
    src, dst = given["edge_index"]
    order = np.lexsort((src, dst))
    same("indices", np.load("arrays/indices.npy"), src[order].astype(np.int32))
    same("indptr", np.load("arrays/indptr.npy"), np.searchsorted(dst[order], np.arange(2001)))
    same("features", np.load("arrays/features.npy"), given["x"])
    same("labels", np.load("arrays/labels.npy"), given["y"])
    same("train", np.load("arrays/train.npy"), given["train"])
    assert told == outgrow.info("arrays") and told["name"] == "arrays" and told["num_edges"] == len(src)
    command("verify", "arrays")


def test_iterators_of_chunks():
    given = arrays_of_a_graph()
    outgrow.write("chunks", **{name: in_pieces(a, 7, axis=int(name == "edge_index")) for name, a in given.items()})
    assert_same_dataset("arrays", "chunks")
    outgrow.write("pair", **given | {"edge_index": tuple(given["edge_index"])})
    assert_same_dataset("arrays", "pair")
    outgrow.write("mapped", **given | {"x": np.load("arrays/features.npy", mmap_mode="r")})
    assert_same_dataset("arrays", "mapped")
    outgrow.write("lists", **{name: a.tolist() for name, a in given.items()} | {"x": given["x"], "edge_weight": given["edge_weight"]})
    assert_same_dataset("arrays", "lists")


def test_masks_and_other_shapes():
    given = arrays_of_a_graph()
    masks = {}
    for name in "train", "valid", "test":
        masks[name] = np.zeros(len(given["x"]), bool)
        masks[name][given[name]] = True
    outgrow.write("masks", **given | masks | {"y": given["y"][:, None], "x": np.asfortranarray(given["x"])})
    for name in "train", "valid", "test":
        same(name, np.load(f"masks/{name}.npy"), np.sort(given[name]))
    for name in "features", "labels", "indices":
        same(name, np.load(f"masks/{name}.npy"), np.load(f"arrays/{name}.npy"))
    outgrow.write("bare", edge_index=[[0, 1], [1, 0]], x=np.ones((3, 1), np.uint8))
    assert outgrow.info("bare")["num_nodes"] == 3
    same("no labels", np.load("bare/indices.npy"), np.array([1, 0], np.int32))
    outgrow.write("several", **given | {"y": (np.random.default_rng(1).random((2000, 3)) > 0.5).astype(np.float32)})
    assert outgrow.info("several")["multi_label"]
    outgrow.write("values", regression=True, **given | {"y": np.random.default_rng(1).random((2000, 2), dtype=np.float32)})
    assert outgrow.info("values")["regression"] and not outgrow.info("values")["shares"]
    shares = np.random.default_rng(1).dirichlet(np.ones(3), 2000).astype(np.float32)
    shares[5] = np.nan
    outgrow.write("shares", shares=True, **given | {"y": shares})
    assert outgrow.info("shares")["shares"] and outgrow.info("shares")["regression"]
    same("shares", np.nan_to_num(np.load("shares/labels.npy"), nan=-1), np.nan_to_num(shares, nan=-1))
    for format in "npy", "graphbolt":
        command("export", format, "shares", f"shares-{format}")
        command("import", format, f"shares-{format}", f"shares-of-{format}", "--quiet")
        assert outgrow.info(f"shares-of-{format}")["shares"]
        ids = given["train"]
        same("exported shares", *(np.nan_to_num(of[ids], nan=-1) for of in (np.load(f"shares-of-{format}/labels.npy"), shares)))
    for wrong, word in (-0.25, "y: row 7, column 1: -0.25 is no label"), (np.nan, "y: row 7, column 1: only some shares are known"):
        damaged = shares.copy()
        damaged[7, 1] = wrong
        with raises(outgrow.OptionError, word, "shares are at least 0"):
            outgrow.write("refused", shares=True, **given | {"y": damaged})
        shutil.copytree("shares", "damaged")
        np.save("damaged/labels.npy", damaged)
        meta = json.load(open("damaged/meta.json"))
        del meta["checksums"]["labels.npy"]
        json.dump(meta, open("damaged/meta.json", "w"))
        done = subprocess.run([COMMAND, "verify", "damaged"], capture_output=True, text=True)
        assert done.returncode and "row 7, column 1" in done.stdout and "is no share" in done.stdout, done
        shutil.rmtree("damaged")


def test_tensors_and_data():
    try:
        import torch
    except ImportError:
        return
    given = arrays_of_a_graph()
    tensors = {name: torch.from_numpy(a) for name, a in given.items()}
    outgrow.write("tensors", **tensors)
    assert_same_dataset("arrays", "tensors")
    outgrow.write("bf16", **tensors | {"x": tensors["x"].bfloat16()})
    assert outgrow.info("bf16")["feature_dtype"] == "bf16"
    same("bf16", np.load("bf16/features.npy").view(np.int16), tensors["x"].bfloat16().view(torch.int16).numpy())
    try:
        from torch_geometric.data import Data
    except ImportError:
        return
    masks = {}
    for name, theirs in ("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask"):
        masks[theirs] = torch.zeros(2000, dtype=torch.bool).index_fill(0, tensors.pop(name), True)
    outgrow.write("data", Data(**tensors, **masks))
    for name in FILES:
        same(name, np.load(f"data/{name}.npy"), np.load(f"{'masks' if name in ('train', 'valid', 'test') else 'arrays'}/{name}.npy"))


def test_what_is_refused():
    given = arrays_of_a_graph()
    before = sorted(os.listdir("."))

    def fails():
        yield given["x"][:100]
        raise ZeroDivisionError

    for kind, word, wrong in (
            (ValueError, "edge_index", {"edge_index": None}), (ValueError, "x: not given", {"x": None}),
            (ValueError, "transpose", {"edge_index": given["edge_index"].T}), (ValueError, "numbers", {"x": np.array([["a"]] * 2000)}),
            (ValueError, "width", {"x": iter([np.ones((5, 2)), np.ones((5, 3))])}), (ValueError, "one dtype", {"x": iter(
                [np.ones((5, 2), int), np.ones((5, 2))])}), (ZeroDivisionError, "", {"x": fails()}), (ValueError, "empty", {"x": iter([])}),
            (ValueError, "", {"edge_index": given["edge_index"] + 1999}), (outgrow.Error, "", {"memory": "1K"}),
            (MemoryError, "memory", {"memory": "1M", "ids": np.arange(2000)}), (ValueError, "memory: 'x' given", {"memory": "x", "ids": np.arange(2000)}),
            (ValueError, "no such option", {"nonsense": 1}), (ValueError, "train_mask: no such argument", {"train_mask": [0]}),
            (ValueError, "it is called y", {"labels": [0]})):
        with raises(kind, word):
            outgrow.write("wrong", **given | wrong)
        assert sorted(os.listdir(".")) == before, (word, os.listdir("."))
    with raises(OSError, "exists"):
        outgrow.write("arrays", **given)


def test_objects_and_scalars():
    """What pandas and NumPy make of numbers: objects, numbers of their own types."""
    given = arrays_of_a_graph()

    class Table:  # as one of pandas
        columns = "from", "to"

    class NAType:  # of pandas: neither true nor false
        def __bool__(self):
            raise TypeError("boolean value of NA is ambiguous")

        def __eq__(self, other):
            return self
    y = np.array([None if i % 3 == 0 else float(i % 5) for i in range(2000)], object)
    words = np.array([NAType() if i % 3 == 0 else "ab"[i % 2] for i in range(2000)], object)
    outgrow.write("objects", **given | {"x": given["x"].astype(object), "y": y}, num_classes=np.int64(9))
    same("x", np.load("objects/features.npy"), given["x"])
    same("y", np.load("objects/labels.npy"), np.where(np.arange(2000) % 3 == 0, -1, np.arange(2000) % 5))
    assert outgrow.info("objects")["num_classes"] == 9
    outgrow.write("words", **given | {"y": words})
    same("words", np.load("words/labels.npy"), np.where(np.arange(2000) % 3 == 0, -1, np.arange(2000) % 2))
    for word, wrong in (("num_classes: 3.0", {"num_classes": 3.0}), ("num_classes: '3'", {"num_classes": "3"}), ("name: 3", {"name": 3}), ("x: objects, one of them of type str", {"x": np.array([[1, "a"]] * 2000, object)}),
                        ("rows of several lengths", {"x": [[1], [1, 2]] * 1000}), ("edge_index=(table['from'], table['to'])", {"edge_index": Table()})):
        with raises(outgrow.OptionError, word):
            outgrow.write("never", **given | wrong)
    with raises(outgrow.OptionError, "y of u: words, unlike y of v"):
        outgrow.write("never", edge_index={("u", "to", "v"): [[0], [1]]}, x={"u": np.ones((2, 1)), "v": np.ones((2, 1))}, y={"u": ["a", "b"], "v": [0, 1]})
    for word, wrong in ("num_nodes: 10.0 of v", {"num_nodes": {"v": 10.0}}), ("train_edge: no such option", {"num_nodes": {"v": np.int64(10)}, "train_edge": [[0, 1]]}):
        with raises(outgrow.OptionError, word):
            outgrow.write("never", edge_index={("u", "to", "v"): [[0], [1]]}, x={"u": np.ones((2, 1))}, **wrong)
    with raises(outgrow.OptionError, "format: None"):
        outgrow.import_(None, "src", "never")
    for word, path in ("path: NoneType is no path", None), ("path: an empty path", ""):
        with raises(outgrow.OptionError, word):
            outgrow.write(path, **given)
    with raises(outgrow.FileError, "no/such: there is no such folder", "os.makedirs('no/such')"):
        outgrow.write("no/such/graph", **given)
    assert not os.path.exists("never")


def some(n=120, edges=600):
    rng = np.random.default_rng(7)
    return {"edge_index": rng.integers(0, n, (2, edges)), "x": rng.standard_normal((n, 4)).astype(np.float32), "y": rng.integers(0, 3, n)}


def written(name, **given):
    """What is said of it."""
    return warned(lambda: outgrow.write(name, **some() | given))


def test_masks_and_ids_of_splits():
    """Zeros and ones of N nodes are a mask, as ids they would repeat. What is neither is refused by the argument's name."""
    mask = np.arange(120) % 4 == 1
    for k, (given, wanted) in enumerate(((mask, np.flatnonzero(mask)), (mask.astype(np.uint8), np.flatnonzero(mask)), (mask.tolist(), np.flatnonzero(mask)),
                                         (mask.astype(int).tolist(), np.flatnonzero(mask)), (np.zeros(120, bool), []), ([], []), ([0, 1], [0, 1]),
                                         (iter([[5, 3], [7]]), [5, 3, 7]), (np.array([9, 4], ">u2"), [9, 4]))):
        assert written(f"split-{k}", train=given) == []
        same("train", np.load(f"split-{k}/train.npy"), np.array(wanted, np.int64))
    two = {"edge_index": [[0], [1]], "x": np.ones((2, 1), np.float32), "y": [0, 1]}
    for k, (given, wanted) in enumerate((([0, 1], [0, 1]), ([1, 0], [1, 0]), ([1, 1], [0, 1]))):
        outgrow.write(f"two-{k}", **two, train=given)
        assert np.load(f"two-{k}/train.npy").tolist() == wanted
    before = sorted(os.listdir("."))
    for split in "train", "valid", "test":
        for word, wrong in (("a mask [120, 4] of 120 nodes", np.stack([mask] * 4, 1)), ("a mask [240], of 120", np.arange(240) < 9), ("a mask [60], of 120", mask[:60]),
                            ("a mask [120, 2]", np.stack([mask, mask], 1).astype(int)), ("mask != 0", mask.astype(float)), ("float64 [2]", [1.5, 2]),
                            ("120 is among", [3, 120]), ("-1 is among", [-1]), ("node 3 is listed twice", [3, 5, 3]), ("node 3 is", iter([[3], [5], [3]])),
                            ("chunks of bool", iter([mask])), ("chunks of float64", iter([[0.5]])), ("600 is among", iter([[1], [600]])), ("<U1", ["a"]),
                            ("object", [None, 3]), ("[2, 2]", [[1, 2], [3, 4]])):
            with raises(outgrow.OptionError, f"{split}: ", word, "hint: "):
                outgrow.write("refused", **some(), **{split: wrong})
            assert sorted(os.listdir(".")) == before
    with raises(outgrow.OptionError, "train: ", "200 is among"):
        outgrow.write("refused", **some() | {"x": iter([some()["x"]])}, train=[200])
    said, = written("overlap", train=np.arange(50), valid=np.arange(40, 60), test=np.arange(100, 110))
    assert said == "train and valid: 10 nodes are in both"


def test_other_arguments_are_refused_by_their_names():
    longer = np.ones(121)
    for name, word, wrong in (
            ("edge_index", "120 is among", [[0, 120], [1, 2]]), ("edge_index", "-1 is among", [[0, 1], [-1, 2]]), ("edge_index", "float64", [[0.0], [1.0]]),
            ("edge_index", "bool", [[True], [False]]), ("x", "3 dimensions", np.ones((120, 2, 2))), ("x", "0 columns", np.ones((120, 0))), ("x", "complex128", np.ones((120, 2), complex)),
            ("x", "<U1", np.full((120, 2), "a")), ("x", "object", np.full((120, 2), None)), ("x", "64 bits", np.ones((120, 2), np.longdouble)),
            ("x", "NaN", np.full((120, 2), np.nan)), ("x", "float32 has no room", np.full((120, 2), 1e300)), ("x", "masked", np.ma.masked_equal(np.eye(120), 1)),
            ("y", "121 rows, for 120 nodes", longer), ("y", "is no class", np.full(120, 0.5)), ("y", "is no class", np.full(120, -100)),
            ("y", "words of shape", np.full((120, 2), "a")), ("edge_weight", "599 rows, for 600 edges", np.ones(599)), ("edge_weight", "3 columns", np.ones((600, 3))),
            ("edge_weight", "finite", np.full(600, np.nan)), ("edge_weight", "float32 has no room", np.full(600, 1e39))):
        with raises(outgrow.OptionError, f"{name}: ", word, "hint: "):
            outgrow.write("refused", **some() | {name: wrong})
    with raises(outgrow.OptionError, "y: row 0: 0.5", "give regression=True"):
        outgrow.write("refused", **some() | {"y": np.full(120, 0.5)})
    with raises(outgrow.OptionError, "x: 120 rows, for 150 nodes"):
        outgrow.write("refused", **some(), num_nodes=150)
    with raises(outgrow.OptionError, "data: a dict", "**data"):
        outgrow.write("refused", some())


def test_warnings_name_arguments():
    """Whatever letters the folder has; other values of a message are as they were."""
    folder, said = "it's \"a\\b\"\n", []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    log = outgrow._write.log
    log.addHandler(handler)
    try:
        with outgrow._write.by_arguments(folder, {"train_edge_times": "train_edge_time"}):
            for file in "feat", "train_edge_times", "edge_times_a__b__c":
                log.warning("%s: %d", f"{folder}/{file}.npy", 3)
    finally:
        log.removeHandler(handler)
    assert said == ["x: 3", "train_edge_time: 3", "edge_time of a__b__c: 3"], said


def test_numbers_that_change_are_named():
    """Every type that is read: exact, or reported with the largest difference."""
    integers, halves = np.arange(240).reshape(120, 2), np.arange(240).reshape(120, 2) / 2
    exact = [integers.astype(t) for t in ("u1", "i1", "i2", ">i4", "u8", "i8", "f2", ">f4", "f8")] + [halves, integers % 2 == 1, np.asfortranarray(halves), integers - 2 ** 24]
    for k, x in enumerate(exact):
        assert written(f"exact-{k}", x=x) == []
        same("exact", np.load(f"exact-{k}/features.npy").astype(np.float64), x.astype(np.float64))
    for k, (name, words, wrong) in enumerate((
            ("x", "x: outgrow.write stores int64 as float32; the largest difference is 60", np.where(integers == 7, 2 ** 30 + 60, integers)),
            ("x", "x: outgrow.write stores uint64 as float32; the largest difference is 240", integers.astype("u8") + np.uint64(2 ** 63 + 1)),
            ("x", "x: outgrow.write stores int32 as float32; the largest difference is 1", np.where(integers == 7, 2 ** 24 + 1, integers).astype("i4")),
            ("x", "x: outgrow.write stores float64 as float32; the largest difference is 1e-10", np.where(integers == 7, 1 + 1e-10, integers)),
            ("x", "x: outgrow.write stores int64 as float32; the largest difference is 1", iter([integers[:60], integers[60:] + 2 ** 24 + 1])),
            ("edge_weight", "edge_weight: outgrow.write stores int64 as float32; the largest difference is 1", np.arange(600) + 2 ** 24),
            ("edge_weight", "edge_weight: outgrow.write stores float64 as float32; the largest difference is 1e-10", np.full(600, 1 + 1e-10)))):
        said, = written(f"change-{k}", **{name: wrong})
        assert said == words, said
    said, = written("change-y", y=np.full(120, 1 + 1e-10), regression=True)
    assert said.startswith("y: outgrow.write stores float64 as float32; the largest difference is 1e-10")
    assert written("exact-y", y=np.arange(120.0) / 4, regression=True) == written("classes", y=(np.arange(120) % 3).astype(">f8")) == []
    assert written("asked", x=halves + 1e-9, feature_dtype="f16") == []
    with raises(outgrow.OptionError, "x: int64 after int32", "one dtype"):
        outgrow.write("refused", **some() | {"x": iter([integers[:60].astype("i4"), integers[60:] + 2 ** 40])})
    with raises(outgrow.OptionError, "x: float32 after float16", "one dtype"):
        outgrow.write("refused", **some() | {"x": iter([halves[:60].astype("f2"), np.full((60, 2), 1e6, "f4")])})


def test_what_of_data_is_not_stored_is_named():
    try:
        import torch
        from torch_geometric.data import Data, HeteroData, TemporalData
    except ImportError:
        return
    given = {name: torch.from_numpy(array) for name, array in some().items()}
    mask = torch.arange(120) < 50
    more = {"edge_attr": torch.ones(600, 2), "edge_time": torch.arange(600), "edge_label": torch.ones(600), "pos": torch.ones(120, 3), "name": "a", "of_graph": 3}
    assert warned(lambda: outgrow.write("data-used", Data(**given, train_mask=mask, val_mask=~mask, edge_weight=torch.ones(600), num_nodes=120))) == []
    own = type("Own", (Data,), {})(**given)
    assert warned(lambda: outgrow.write("data-own", own)) == ["data: of class Own, which is not stored: batches of the dataset are Data"]
    use = "edge_attr: stored as features of edges, which the models gat, gatv2, gine and transformer use"
    first, said = warned(lambda: outgrow.write("data-more", Data(**given, **more)))
    assert first == use, first
    assert said.startswith("data: outgrow.write stores ") and all((name in said) == (name not in ("edge_attr", "edge_time")) for name in more) and said.endswith(" for batches, not for training"), said
    _, kept, said = warned(lambda: outgrow.write("data-both", Data(**given, **more), symmetrize=True))
    assert "pos" in kept and "edge_attr" not in kept and "edge_time" not in kept and sorted(said.removeprefix("data: outgrow.write does not store ").split(", ")) == ["edge_label", "edge_time"], said
    assert np.load("data-both/edge_features.npy").shape[1] == 2
    said, = warned(lambda: outgrow.write("data-rest", Data(**given, thing=abs, matrix=torch.eye(120).to_sparse())))
    assert sorted(said.removeprefix("data: outgrow.write does not store ").split(", ")) == ["matrix", "thing"], said
    for attribute, word, wrong in (("train_mask", "a mask [120, 2]", torch.stack([mask, mask], 1)), ("val_mask", "a mask [60]", mask[:60]),
                                   ("test_mask", "neither", mask.float())):
        with raises(outgrow.OptionError, f"{attribute}: ", word):
            outgrow.write("refused", Data(**given, **{attribute: wrong}))
    with raises(outgrow.OptionError, "train_mask: a mask [120, 2]", "train=data.train_mask[:, 0]"):
        outgrow.write("refused", Data(**given, train_mask=torch.stack([mask, mask], 1)))
    for several in [Data(**given)], (Data(**given),):
        with raises(outgrow.OptionError, f"data: {type(several).__name__}", "data[0]"):
            outgrow.write("refused", several)
    with raises(outgrow.OptionError, "path: Data is no path", "give the new folder first"):
        outgrow.write(Data(**given))
    with raises(outgrow.OptionError, "data: TemporalData", "edge_time=data.t"):
        outgrow.write("refused", TemporalData(src=mask.long(), dst=mask.long(), t=mask.long(), msg=given["x"]))
    said, = warned(lambda: outgrow.write("data-none", Data(**given, of_none=torch.empty(120, device="meta"), quantized=torch.quantize_per_tensor(torch.ones(120), 0.1, 0, torch.qint8))))
    assert sorted(said.removeprefix("data: outgrow.write does not store ").split(", ")) == ["of_none", "quantized"], said
    with raises(outgrow.OptionError, "x: 120 rows, for 130 nodes"):
        outgrow.write("refused", Data(**given, num_nodes=130))
    typed = HeteroData()
    typed.version = 3
    typed["a"].x, typed["a"].y, typed["a"].train_mask, typed["a"].pos = given["x"], given["y"], mask, torch.ones(120)
    typed["b"].num_nodes, typed["b"].time = 10, torch.arange(10)
    typed["a", "to", "b"].edge_index, typed["a", "to", "b"].edge_attr = torch.tensor([[0, 1], [2, 3]]), torch.ones(2)
    said, = warned(lambda: outgrow.write("hetero-more", typed))
    assert said == "data: outgrow.write stores version, a.pos, a__to__b.edge_attr for batches, not for training", said
    typed.thing, typed["a"].matrix, typed["a", "to", "b"].thing = abs, torch.eye(120).to_sparse(), abs
    _, said = warned(lambda: outgrow.write("hetero-rest", typed))
    assert said == "data: outgrow.write does not store thing, a.matrix, a__to__b.thing", said
    typed["a"].val_mask = mask.float()
    with raises(outgrow.OptionError, "val_mask of a: ", "neither"):
        outgrow.write("refused", typed)


def test_what_training_does_not_have_of_data_is_in_batches():
    """It may be features and labels of any shape, tensors of the graph or a type, and bfloat16."""
    try:
        import torch
        from torch_geometric.data import Data, HeteroData
    except ImportError:
        return
    given = {name: torch.from_numpy(array) for name, array in some().items()}
    several = "data: x has 3 dimensions, which outgrow.write stores as rows of 6 numbers"
    none = "data: no x, so that outgrow.write stores a column of ones"
    for i, (words, change) in enumerate(((several, {"x": torch.randn(120, 2, 3)}), (none, {"x": None, "num_nodes": 120}), (none, {"x": None, "pos": torch.randn(120, 2)}), (none, {"x": torch.empty(120, 0)}),
                                         ("x is sparse", {"x": torch.eye(120).to_sparse()}), ("y is [120, 2, 2], for 120 nodes", {"y": torch.rand(120, 2, 2)}),
                                         ("y is [1], for 120 nodes", {"y": torch.tensor([3])}), ("no classes", {"y": torch.randn(120).bfloat16()}),
                                         ("stores h for batches", {"h": torch.randn(120, 2).bfloat16()}), ("stores e for batches", {"e": torch.randn(600).bfloat16()}),
                                         ("stores u for batches", {"u": torch.randn(1, 3)}), ("stores t for batches", {"t": torch.tensor(3, dtype=torch.int32)}),
                                         ("stores a for batches", {"a": np.ones((2, 2))}), ("stores c for batches", {"c": np.arange(120).astype(">i4")}),
                                         ("stores d for batches", {"d": np.arange(120).astype("u2")}), (None, {"x": np.arange(240).reshape(120, 2).astype("u4")}), (None, {"train_mask": torch.arange(120).lt(9).byte()}))):
        data = Data(**given | change)
        said = warned(lambda: outgrow.write(f"kept{i}", data))  # noqa: B023
        assert words is None and not said or any(words in line for line in said), (words, said)
        batch = next(iter(outgrow.NeighborLoader(f"kept{i}", [3], batch_size=20, memory="200M")))
        assert set(data.keys()) - set(batch.keys()) == set(), (change, batch)
        for name in data.keys():
            want = data[name]
            if name not in ("num_nodes", "edge_index"):
                want = torch.from_numpy(want.astype({"u": "i8"}.get(want.dtype.kind, want.dtype.newbyteorder("=")))) if isinstance(want, np.ndarray) and name != "a" else want  # PyTorch's types
                want = want.index_select(0, batch.n_id) if data.is_node_attr(name) else want[batch.e_id] if data.is_edge_attr(name) else want
                assert batch[name].dtype == want.dtype and batch[name].shape == want.shape, (name, batch[name], want)
                got, want = (np.asarray(value.float().to_dense() if hasattr(value, "float") else value) for value in (batch[name], want))
                same(name, got, want)
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id]), change
    typed = HeteroData()
    typed["a"].x, typed["a"].kind, typed["a"].limits = torch.randn(50, 2, 2), "a kind", torch.tensor([1.5, 2])
    typed["none"].x, typed["none"].kind = torch.empty(0, 3), "no kind"
    typed["a", "to", "a"].edge_index, typed["a", "to", "a"].unit = torch.randint(0, 50, (2, 200)), ["m"]
    typed["a", "to", "none"].edge_index, typed["a", "to", "none"].edge_attr = torch.empty(2, 0, dtype=torch.long), torch.empty(0, 3)
    warned(lambda: outgrow.write("kept-typed", typed))
    batch = next(iter(outgrow.NeighborLoader("kept-typed", [3], "a", batch_size=20, memory="200M")))
    assert torch.equal(batch["a"].x, typed["a"].x[batch["a"].n_id]) and batch["a"].kind == "a kind" and batch["none"].kind == "no kind" and batch["a", "to", "a"].unit == ["m"]
    weighed = HeteroData()
    weighed["a"].x, weighed["b"].x = torch.randn(50, 2), torch.randn(50, 2)
    weighed["a", "to", "b"].edge_index = weighed["b", "to", "a"].edge_index = torch.randint(0, 50, (2, 200))
    weighed["a", "to", "b"].edge_weight, weighed["b", "to", "a"].edge_weight = torch.arange(200), torch.rand(200)
    assert not any("edge_weight" in line for line in warned(lambda: outgrow.write("kept-weights", weighed)))
    store = next(iter(outgrow.NeighborLoader("kept-weights", [3, 3], "a", batch_size=20, memory="200M")))["a", "to", "b"]
    assert torch.equal(store.edge_weight, weighed["a", "to", "b"].edge_weight[store.e_id])
    assert torch.equal(batch["a"].limits, typed["a"].limits) and batch.metadata() == typed.metadata() and batch["a", "to", "none"].edge_attr.shape == (0, 3)


def test_labels_and_masks_that_no_dataset_has_are_in_batches():
    """Labels of which none is known, those of a type without nodes, and masks of several columns."""
    try:
        import torch
        from torch_geometric.data import Data, HeteroData
    except ImportError:
        return
    given = {name: torch.from_numpy(array) for name, array in some().items()}
    none, masks = torch.full((120,), -1), torch.rand(120, 4) > 0.5
    outgrow.write("unknown", Data(**given | {"y": none}))
    outgrow.write("columns", Data(**given | {"train_mask": masks}), train=masks[:, 1])
    assert sorted(np.load("columns/train.npy")) == np.flatnonzero(masks[:, 1]).tolist()
    for path, name, want in ("unknown", "y", none), ("columns", "train_mask", masks):
        batch = next(iter(outgrow.NeighborLoader(path, [3], batch_size=20, memory="200M")))
        assert torch.equal(batch[name], want[batch.n_id]), path
    typed = HeteroData()
    typed["none"].x, typed["none"].y, typed["none"].train_mask = torch.empty(0, 3), torch.empty(0, dtype=torch.long), torch.empty(0, dtype=torch.bool)
    typed["a"].x, typed["a"].y, typed["a"].train_mask, typed["a"].val_mask = torch.randn(50, 2), torch.full((50,), -1), torch.arange(50) < 20, torch.arange(50) < 0
    typed["a", "to", "none"].edge_index, typed["a", "to", "none"].edge_weight = torch.empty(2, 0, dtype=torch.long), torch.empty(0)
    typed["a", "to", "a"].edge_index, typed["a", "to", "a"].edge_weight = torch.randint(0, 50, (2, 200)), torch.rand(200)
    said = warned(lambda: outgrow.write("unknown-types", typed))
    assert not any("edge_weight" in line for line in said), said
    batch = next(iter(outgrow.NeighborLoader("unknown-types", [3], "a", batch_size=20, memory="200M")))
    assert batch.metadata() == typed.metadata(), "as in the data, by which to_homogeneous numbers types"
    assert torch.equal(batch["a"].y, typed["a"].y[batch["a"].n_id]) and torch.equal(batch["a"].val_mask, typed["a"].val_mask[batch["a"].n_id]) and os.path.exists("unknown-types/weights.npy")
    outgrow.write("unknown-masks", pyg_type := HeteroData(a=dict(x=torch.randn(9, 2), train_mask=torch.arange(9) < 0), b=dict(x=torch.randn(9, 2), train_mask=torch.arange(9) < 3),
                                                          a__to__b=dict(edge_index=torch.arange(9).repeat(2, 1))))
    batch_of_both = next(iter(outgrow.NeighborLoader("unknown-masks", [3], "b", batch_size=9, memory="200M")))
    assert all(torch.equal(batch_of_both[name].train_mask, pyg_type[name].train_mask[batch_of_both[name].n_id]) for name in "ab")
    for name, keys in ("none", ("y", "train_mask")), (("a", "to", "none"), ("edge_weight",)):
        assert all(batch[name][key].dtype == typed[name][key].dtype and len(batch[name][key]) == 0 for key in keys), (name, batch[name])


def test_lists_and_views_of_data():
    """What is no array is named, and views of conjugates and negatives are numbers."""
    try:
        import torch
        from torch_geometric.data import Data
    except ImportError:
        return
    given = {name: torch.from_numpy(array) for name, array in some().items()}
    view = torch.complex(torch.randn(120, 2), torch.randn(120, 2)).conj()
    said = warned(lambda: outgrow.write("views", Data(**given | {"x": view.imag, "z": view, "parts": [torch.ones(120), torch.ones(3)], "rows": [[0] * i for i in range(120)]})))
    assert any("does not store parts, rows" in line for line in said) and not any("array-like" in line for line in said), said
    batch = next(iter(outgrow.NeighborLoader("views", [3], batch_size=20, memory="200M")))
    assert torch.equal(batch.x, view.imag[batch.n_id]) and torch.equal(batch.z, view[batch.n_id])
    with raises(outgrow.OptionError, "x: a quantized tensor", "dequantize()"):
        outgrow.write("quantized", Data(**given | {"x": torch.quantize_per_tensor(torch.rand(120, 2), 0.1, 0, torch.qint8)}))


def test_a_dataset_has_its_attributes_or_is_not_there():
    try:
        import torch
        from torch_geometric.data import Data
    except ImportError:
        return
    given = {name: torch.from_numpy(array) for name, array in some().items()}

    def ends(*_):
        raise KeyboardInterrupt

    saved, outgrow._write.save_rest = outgrow._write.save_rest, ends
    try:
        outgrow.write("ended", Data(**given, pos=torch.ones(120, 3)))
        raise AssertionError("save_rest was not called")
    except KeyboardInterrupt:
        pass
    finally:
        outgrow._write.save_rest = saved
    assert not any(name.startswith("ended") for name in os.listdir("."))
    outgrow.write("ended", Data(**given, pos=torch.ones(120, 3)))
    assert os.path.exists("ended/attributes")
    with raises(outgrow.Error, "ended"):
        outgrow.write("ended", Data(**given))


def test_what_a_kill_leaves_goes_with_the_next():
    program = "import outgrow, numpy as np, time\n" \
              "def rows():\n    while True:\n        print('at it', flush=True)\n        yield np.ones((1000, 10))\n        time.sleep(0.1)\n" \
              "outgrow.write('killed', edge_index=np.zeros((2, 3), int), x=rows())\n"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    outgrow.write("killed", **arrays_of_a_graph())  # next to the living one, which keeps its files
    assert any(name.startswith("killed.tmp-") for name in os.listdir("."))
    child.kill()
    child.communicate()
    os.rename("killed", "other")
    outgrow.write("killed", **arrays_of_a_graph())
    assert not any(".tmp-" in name for name in os.listdir("."))
    assert_same_dataset("killed", "arrays")


def test_ctrl_c_stops_an_import():
    program = "import outgrow\noutgrow.generate('large', nodes=3000000, dim=200, degree=20)\n"
    child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    while not any(name.startswith("large.tmp-") for name in os.listdir(".")):
        assert child.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, said = child.communicate(timeout=100)
    assert "KeyboardInterrupt" in said and not os.path.exists("large"), said
    assert not any(name.startswith("large") for name in os.listdir(".")), os.listdir(".")
    print(f"  after {time.monotonic() - began:.1f} s")


BOUNDED = """
import outgrow, numpy as np
rng = np.random.default_rng(1)
n, dim, chunks = 400000, 256, 400
outgrow.write("big", edge_index=(rng.integers(0, n, (2, n // 40)) for _ in range(100)), memory="96M",
              x=(rng.random((n // chunks, dim), dtype=np.float32) for _ in range(chunks)), y=(np.zeros(n // 10, int) for _ in range(10)))
with open("/proc/self/status") as f:
    print(next(line for line in f if line.startswith("VmHWM")).split()[1])
"""


def test_iterators_take_bounded_memory():
    """400 MB of features and 16 MB of edges."""
    done = subprocess.run([sys.executable, "-c", BOUNDED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    peak = int(done.stdout) << 10
    print(f"  peak {peak >> 20} MiB")
    assert peak < 200 << 20 and os.path.getsize("big/features.npy") > 400000 * 256 * 4


@contextlib.contextmanager
def heard_by(heard):
    """Warnings of the logger, which are shown by default."""
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: heard.append(record.getMessage())
    logging.getLogger("outgrow").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("outgrow").removeHandler(handler)


def test_functions_of_the_command():
    outgrow.generate("planted", nodes=3000, dim=16, classes=4, seed=3)
    assert outgrow.info("planted")["num_nodes"] == 3000
    results = outgrow.simulate("planted", ["degree", "belady"], ["5%", "20%"], fanout=[5, 5], batch=50, epochs=1)["results"]
    assert [(r["policy"], r["cache"]) for r in results] == [(p, c) for p in ("degree", "belady") for c in ("5%", "20%")]
    assert results[3]["hit_rate"] > results[1]["hit_rate"]
    assert outgrow.simulate("planted", "degree", [100, np.int64(200)], fanout=[5, 5], batch=50, epochs=1)["results"][1]["cache"] in (200, "200")
    assert outgrow.plan("planted", fanout=[5, 5], batch=50, policy="degree")["policy"] == "degree"
    summary = outgrow.train("planted", fanout=[5, 5], batch=50, epochs=2, hidden=16, run="run", lr=0.01, no_shuffle=True)
    assert len(summary["epochs"]) == 2 and summary["config"]["no-shuffle"] is True and summary["test_acc"] > 0.3
    told = outgrow.predict("planted", "run/best.safetensors", "pred.npy", memory="1G")
    assert told["nodes"] == 3000 and np.load("pred.npy").shape == (3000, 4)
    assert outgrow.evaluate("planted", "run/best.safetensors", fanout=[5, 5], batch=50)["acc"] > 0.3
    with raises(outgrow.OptionError, "nonsense"):
        outgrow.train("planted", nonsense=3)
    with raises(outgrow.Error, "meta.json", "hint:"):
        outgrow.train("nowhere")
    # arguments are never ignored, whatever is false
    options = {"fanout": [5, 5], "batch": 50, "epochs": 1, "hidden": 16, "seed": np.int64(3)}
    losses = [outgrow.train("planted", **options, **more)["epochs"][0]["loss"]
              for more in ({"no_shuffle": True}, {"shuffle": False}, {"no_shuffle": np.bool_(True)}, {"no_shuffle": 1}, {"shuffle": True}, {"no_shuffle": np.bool_(False)}, {"resume": None})]
    assert losses[0] == losses[1] == losses[2] == losses[3] != losses[4] == losses[5] == losses[6]
    for word, wrong in (("nonsense", {"nonsense": False}), ("lr: 'false' given", {"lr": False}), ("memory: 'true' given", {"memory": True}), ("shuffle: 'yes'", {"shuffle": "yes"}),
                        ("no_shuffle: 'yes'", {"no_shuffle": "yes"}), ("name: no such option", {"name": "x"}), ("on_epoch: 3", {"on_epoch": 3}), ("feature_dtype", {"feature_dtype": np.float16})):
        with raises(outgrow.OptionError, word):
            outgrow.train("planted", **options | wrong)
    for call in outgrow.train, outgrow.plan, outgrow.info, outgrow.stores:
        for wrong in None, 3, [], "":
            with raises(outgrow.OptionError, "dataset", "outgrow.write"):
                call(wrong)
    heard = []
    with heard_by(heard):
        outgrow.plan("planted", **options, order="minhash")
    assert any("order has no effect" in text for text in heard), heard
    told = os.environ.pop("OUTGROW_COMMAND")
    path = os.environ["PATH"]
    os.environ["PATH"] = "/nowhere"
    try:
        with raises(outgrow.FileError, "not on the PATH", "OUTGROW_COMMAND"):
            outgrow.train("planted")
    finally:
        os.environ["OUTGROW_COMMAND"], os.environ["PATH"] = told, path


def test_ctrl_c_stops_training():
    """Once, and waits: what it leaves can be resumed."""
    program = "import outgrow\noutgrow.train('planted', fanout=[10, 10], batch=20, epochs=100000, hidden=64, run='stopped', eval_every=0)\n"
    child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    for _ in range(200):
        if os.path.exists("stopped"):
            break
        time.sleep(0.05)
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in said, said
    assert os.path.exists("stopped/resume.safetensors"), os.listdir("stopped")



def test_standardized_data():
    """Batches have standardized features, whatever type those of the Data have; attributes of edges stay."""
    try:
        import torch
        from torch_geometric.data import Data
    except ImportError:
        return
    x = torch.randint(0, 200, (50, 3))
    ring = torch.arange(50)
    for kind in torch.int64, torch.float64:
        given = Data(x=x.to(kind), edge_index=torch.stack([ring, ring.roll(1)]))
        given.edge_tag = ring * 3
        outgrow.write(f"standard-{kind}", given, standardize=True)
        batch = next(iter(outgrow.NeighborLoader(f"standard-{kind}", [2], batch_size=50, input_nodes=None)))
        assert batch.x.dtype == torch.float32 and batch.x.mean(0).abs().max() < 1e-5 and torch.equal(batch.edge_tag, batch.e_id * 3), kind


def test_links_and_their_negatives():
    """Lists of write are those of files of the same names; of types, ids of the whole graph."""
    rng = np.random.default_rng(3)
    given = arrays_of_a_graph()
    links = {f"{s}_edges": rng.integers(0, NODES, (n, 2)) for s, n in (("train", 60), ("valid", 20), ("test", 30))}
    more = {"train_neg": rng.integers(0, NODES, (60, 3)), "valid_neg": rng.integers(0, NODES, (55, 2)), "test_neg_dst": rng.integers(0, NODES, (30, 2))}
    outgrow.write("links", **given, **links, **more)
    for name, want in {**links, "train_neg_dst": more["train_neg"], "valid_neg_edges": more["valid_neg"], "test_neg_dst": more["test_neg_dst"]}.items():
        same(name, np.load(f"links/{name}.npy"), want)
    n, first = {"a": 40, "b": 25}, {"a": 0, "b": 40}
    relations = ("a", "to", "b"), ("b", "back", "a"), ("a", "near", "a")
    ends = lambda r, m: np.stack([rng.integers(0, n[r[0]], m), rng.integers(0, n[r[2]], m)], 1)
    typed = {"edge_index": {r: ends(r, 200).T for r in relations}, "x": {t: np.ones((m, 2), np.float32) for t, m in n.items()}}
    lists = {f"{s}_edges": {r: ends(r, m) for r in order} for s, m, order in (("train", 50, relations), ("valid", 9, relations[:1]), ("test", 8, relations[1::-1]))}
    negatives = {"train_neg": {r: rng.integers(0, n[r[2]], (50, 4)) for r in relations}, "valid_neg_edges": {r: ends(r, 7) for r in relations[:1]},
                 "test_neg_dst": {r: rng.integers(0, n[r[2]], (8, 2)) for r in relations[:2]}}
    typed_lists = lists
    outgrow.write("typed-links", **typed, **lists, **negatives)
    command("verify", "typed-links")
    names = [(r["source"], r["name"], r["destination"]) for r in json.load(open("typed-links/meta.json"))["relations"]]
    for s, part in lists.items():
        want = np.concatenate([rows + [first[r[0]], first[r[2]]] for r, rows in part.items()])
        same(s, np.load(f"typed-links/{s}.npy"), want)
        same(s, np.load(f"typed-links/{s[:-1]}_relations.npy"), np.concatenate([np.full(len(rows), names.index(r)) for r, rows in part.items()]))
    same("train", np.load("typed-links/train_neg_dst.npy"), np.concatenate([negatives["train_neg"][r] + first[r[2]] for r in lists["train_edges"]]))
    same("valid", np.load("typed-links/valid_neg_edges.npy"), np.concatenate([negatives["valid_neg_edges"][r] + [first[r[0]], first[r[2]]] for r in lists["valid_edges"]]))
    same("test", np.load("typed-links/test_neg_dst.npy"), np.concatenate([negatives["test_neg_dst"][r] + first[r[2]] for r in lists["test_edges"]]))
    command("train", "typed-links", "--task", "link", "--relation", "to", "--negative", "given", "--negatives", "4", "--fanout", "3,3", "--hidden", "4", "--epochs", "1", "--batch", "20",
            "--memory", "128M", "--run", "typed-links-run", "--quiet")
    r = relations[0]
    for wrong, why in (({"valid_neg": more["valid_neg"] * 1.5}, "valid_neg: float64"), ({"valid_neg": more["valid_neg"], "valid_neg_dst": more["train_neg"]}, "both"),
                       ({"valid_neg_dst": more["train_neg"]}, "60 rows, for 20 edges")):
        with raises(outgrow.Error, why):
            outgrow.write("never", **given, **links, **wrong)
    for wrong, why in (({"train_neg": more["train_neg"]}, "train_neg: not by relations"), ({"train_neg": {r: negatives["train_neg"][r]}}, "what train_edges has"),
                       ({"train_neg": negatives["train_neg"] | {r: negatives["train_neg"][r] + 25}}, "the type b"), ({"test_neg": {r: ends(r, 8) for r in lists["test_edges"]}}, "pairs for 2 relations"), ({"train_time": {"a": [1]}}, "train_time: without train"),
                       ({"train_neg": negatives["train_neg"] | {r: negatives["train_neg"][r][:, :3]}}, "as many columns")):
        with raises(outgrow.OptionError, why):
            outgrow.write("never", **typed, **lists, **wrong)
    more_rows = lambda key, n: {r: np.zeros((len(typed_lists[key][r]) + (n if i == 0 else -n if i == 1 else 0),), np.int64) for i, r in enumerate(typed_lists[key])}
    pairs = lambda *ks: {r: ends(r, k * 50) for r, k in zip(relations, ks)}
    near, to = relations[2], relations[0]
    for wrong, why in (({"train_edge_labels": more_rows("train_edges", 2)}, f"train_edge_labels of {to}: 52 rows, for 50 edges"), ({"train_edge_time": more_rows("train_edges", 3)}, "53 rows"),
                       ({"train_edge_attr": {r: np.zeros((len(v), 2), "f4") for r, v in more_rows("train_edges", 1).items()}}, "51 rows"),
                       ({"train_neg_dst": {r: np.zeros((len(v), 2), int) for r, v in more_rows("train_edges", 1).items()}}, "51 rows"),
                       ({"train_neg": pairs(1, 2, 3)}, f"1 pairs an edge of {to}"), ({"train_neg_edges": pairs(1, 1, 1) | {near: ends(near, 60)}}, "60 pairs, for 50 edges"),
                       ({"train_edge_labels": {r: ["u"] * 50 if r == to else [0] * 50 for r in relations}}, f"no words, and train_edge_labels of {to} has words"),
                       ({"train_edge_labels": {r: [0] * 50 for r in (*relations[:2], "near")}}, "what train_edges has")):
        with raises(outgrow.OptionError, why):
            outgrow.write("never", **typed, **typed_lists, **wrong)
    outgrow.write("typed-pairs", **typed, **typed_lists, train_neg=pairs(2, 2, 2))
    assert len(np.load("typed-pairs/train_neg_edges.npy")) == 300
    for split in "train", "valid":
        with raises(outgrow.OptionError, f"{split}_edges: of ('p', 'q', 'r')", "give an array"):
            outgrow.write("never", **given, **links | {f"{split}_edges": {("p", "q", "r"): links["valid_edges"]}})
    one = {"edge_index": {("p", "q", "p"): given["edge_index"]}, "x": {"p": given["x"]}}
    outgrow.write("one-relation", **one, train_edges={("p", "q", "p"): links["train_edges"]}, test_edges=links["test_edges"])
    same("train", np.load("one-relation/train_edges.npy"), links["train_edges"])
    with raises(outgrow.OptionError, "train_edges: of ('p', 'q', 'r')", "the relation of edge_index"):
        outgrow.write("never", **one, train_edges={("p", "q", "r"): links["train_edges"]})
    for name, of in ("val_edges", "valid_edges"), ("val_neg", "valid_neg"), ("val_edge_labels", "valid_edge_labels"), ("train_edge_times", "train_edge_time"), ("test_times", "test_time"):
        with raises(outgrow.OptionError, f"{name}: no such argument", f"it is called {of}"):
            outgrow.write("never", **given, **{name: links["valid_edges"]})
    timed = {f"{s}_edge_time": np.zeros(len(links[f"{s}_edges"]), int) for s in ("train", "valid", "test")}
    for wrong, argument in (({"train_edge_time": timed["train_edge_time"][1:]}, "train_edge_time"), ({"train_time": [1, 2, 3]}, "train_time"), ({"valid_edge_labels": [1, 2, 3]}, "valid_edge_labels"),
                            ({"train_neg": links["train_edges"][:59]}, "train_neg"), ({"train_edges": None, "train_edge_time": None, "train_neg": more["train_neg"]}, "train_neg: without train_edges"),
                            ({"train_edge_attr": np.array([[0.]] * 59 + [[np.nan]])}, "train_edge_attr: row 59: not a finite"), ({"train_edge_attr": np.ones((60, 2)), "test_edge_attr": np.ones((30, 3))}, "rows of different widths")):
        with raises(outgrow.Error) as seen:
            outgrow.write("never", **given, edge_time=np.zeros(given["edge_index"].shape[1], int), **links | timed | wrong)
        assert argument in str(seen[0]) and ".npy" not in str(seen[0]), str(seen[0])
    with raises(outgrow.OptionError, "ids: with valid_edges"):
        outgrow.write("never", **given, ids=np.arange(NODES), valid_edges=links["valid_edges"], valid_neg=more["valid_neg"])
    assert not os.path.exists("never")


main(globals())
