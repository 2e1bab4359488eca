#!/usr/bin/env python3
"""Graphs with one argument changed at random: in type, values, shape, order in memory or container. So does Loader of its seeds.

    doors.py OUTGROW [test...]      $OUTGROW_ROUNDS changes, $OUTGROW_SEED
"""
import os
import re
import shutil
import warnings

from support import main, np, outgrow

ROUNDS, SEED = int(os.environ.get("OUTGROW_ROUNDS", 300)), int(os.environ.get("OUTGROW_SEED", 1))
N, E = 30, 90
TYPES = "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", "F", "U5", "O", "M8[s]", ">i4", ">i8", ">u2", ">f4", ">f8", "V3"
VALUES = -2, -1, 0.5, 1e-300, 1e39, 1e300, np.nan, np.inf, N - 1, N, 255, 256, 2049, 2 ** 24 + 1, 2 ** 31, 2 ** 40, 2 ** 53 + 1, 2 ** 63 + 2049


def graph(rng):
    ids = rng.permutation(N)
    return {"edge_index": rng.integers(0, N, (2, E)), "x": rng.integers(0, 200, (N, 3)).astype(np.float32), "y": rng.integers(0, 4, N), "train": ids[:9], "valid": ids[9:15],
            "test": ids[15:20], "edge_weight": rng.integers(1, 9, E).astype(np.float32)}


# ---- changes ----

def of_type(rng, a):
    return a.astype(TYPES[rng.integers(len(TYPES))])


def of_value(rng, a):
    value = VALUES[rng.integers(len(VALUES))]
    a = np.array(a, object if isinstance(value, int) and value >= 2 ** 53 else float if isinstance(value, float) else np.int64)
    a[tuple(rng.integers(0, size) for size in a.shape)] = value
    return np.array(a.tolist(), np.uint64 if a.dtype == object else None)


def of_shape(rng, a):
    shapes = (lambda: a.T, lambda: a[:-1], lambda: a[..., :-1], lambda: np.concatenate([a, a[:1]]), lambda: a[:, None], lambda: a[None], lambda: a.ravel(), lambda: a[:0],
              lambda: a[0], lambda: a.reshape(-1, 3), lambda: np.stack([a, a], -1), lambda: a[None, :, None])
    return shapes[rng.integers(len(shapes))]()


def of_mask(rng, a):
    mask = np.isin(np.arange(N), a)
    masks = mask, mask.astype(int), mask.astype("u1"), mask.astype("f4"), mask[:-1], np.append(mask, True), np.stack([mask, mask], 1), mask[:, None], ~mask
    return masks[rng.integers(len(masks))]


def of_order(rng, a):
    wide = np.repeat(a, 2, axis=-1)
    orders = (lambda: np.asfortranarray(a), lambda: a[::-1][::-1], lambda: wide[..., ::2], lambda: a.tolist(), lambda: [*a], lambda: mapped(a), lambda: np.ma.array(a),
              lambda: np.ma.array(a, mask=np.arange(a.size).reshape(a.shape) == 2), lambda: iter(np.array_split(a, 3, -1 if len(a) == 2 else 0)), lambda: tensor(a), lambda: memoryview(a),
              lambda: iter([]), lambda: None, lambda: 3, lambda: "text", lambda: {"a": a}, lambda: [None], lambda: iter(a.tolist()))
    return orders[rng.integers(len(orders))]()


def mapped(a):
    np.save("mapped.npy", a)
    return np.load("mapped.npy", mmap_mode="r")


def tensor(a):
    try:
        import torch
        return torch.from_numpy(a.copy())
    except ImportError:
        return a


CHANGES = {of_type: (), of_value: (), of_shape: (), of_order: (), of_mask: ("train", "valid", "test", "input_nodes", "seeds")}


def changed(rng, name, a):
    change = list(CHANGES)[rng.integers(len(CHANGES))]
    if CHANGES[change] and name not in CHANGES[change]:
        change = of_value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return change.__name__, change(rng, a)
        except (TypeError, ValueError, IndexError, OverflowError):  # there is no such array
            return "none", a


# ---- what is expected ----

def numbers(given):
    return np.asarray(given.array if hasattr(given, "array") else given)


def ids_of(given):
    ids = numbers(given)
    mask = ids.dtype == bool or len(ids) == N
    return np.flatnonzero(ids) if mask else ids.astype(np.int64)


def wide(a):
    return a.astype(np.longdouble)


def assert_stored(path, given):
    x = wide(numbers(given["x"])).reshape(N, -1)
    y = numbers(given["y"])
    edges, weights = numbers(given["edge_index"]).astype(np.int64), wide(numbers(given["edge_weight"])).reshape(-1)
    order = np.lexsort((np.arange(edges.shape[1]), edges[0], edges[1]))
    assert np.array_equal(wide(np.load(f"{path}/features.npy")), x), "x"
    if y.ndim == 1 or y.shape[1] == 1:
        y = np.where(np.isnan(y), -1, y) if y.dtype.kind == "f" else y
    assert np.array_equal(wide(np.load(f"{path}/labels.npy")).ravel(), wide(y).ravel()), "y"
    assert np.array_equal(np.load(f"{path}/indices.npy"), edges[0][order]), "edge_index"
    assert np.array_equal(np.diff(np.load(f"{path}/indptr.npy")), np.bincount(edges[1], minlength=N)), "edge_index"
    assert np.array_equal(np.sort(wide(np.load(f"{path}/weights.npy"))), np.sort(weights)), "edge_weight"
    for split in "train", "valid", "test":
        assert np.array_equal(np.load(f"{path}/{split}.npy"), ids_of(given[split])), split


def optional(given, original):
    """What is left out is not compared."""
    return original if given is None else given


def again(value):
    """The value, and the same for the comparison: an iterator is gone afterwards."""
    if not hasattr(value, "__next__"):
        return value, value
    chunks = list(value)
    axis = -1 if chunks and getattr(chunks[0], "ndim", 0) == 2 and len(chunks[0]) == 2 else 0
    return iter(chunks), np.concatenate(chunks, axis) if chunks and isinstance(chunks[0], np.ndarray) else np.array(chunks)


def test_of_write():
    rng = np.random.default_rng(SEED)
    refused = named = 0
    for _ in range(ROUNDS):
        original = graph(rng)
        name = list(original)[rng.integers(len(original))]
        how, value = changed(rng, name, original[name])
        value, copy = again(value)
        what = (name, how, type(value).__name__, getattr(copy, "dtype", None), getattr(copy, "shape", None))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                outgrow.write("graph", **original | {name: value})
            except outgrow.OptionError as error:
                other = "rows, for" in error.message or name == "x" and np.shape(copy)[:1] != (N,)  # so many are not the others'
                assert error.hint and (re.search(rf"\b{name}\b", error.message) or other), (what, str(error))
                refused += 1
                continue
            except Exception as error:
                raise AssertionError(what) from error
        said = [str(w.message) for w in said]
        named += bool(said)
        assert all(text.startswith(name) or f"and {name}:" in text for text in said), (what, said)
        try:
            if not said or "are in both" in said[0] or "is in both" in said[0]:
                if copy is not None:
                    assert_stored("graph", original | {name: copy})
        except Exception as error:
            raise AssertionError(what) from error
        shutil.rmtree("graph")
    assert not os.path.exists("graph") and refused > ROUNDS / 5
    print(f"  {ROUNDS}: {refused} refused, {named} with a warning")


def test_of_seeds():
    rng = np.random.default_rng(SEED)
    outgrow.write("seeds-graph", **graph(rng))
    refused = 0
    for _ in range(ROUNDS // 4):
        name = ("input_nodes", "seeds")[rng.integers(2)]
        how, value = changed(rng, name, rng.integers(0, N, 12))
        what = (name, how, type(value).__name__, getattr(value, "dtype", None), getattr(value, "shape", None), str(value)[:60])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                with outgrow.Loader("seeds-graph", fanout=[2], batch=5, form="arrays", shuffle=False, **{name: value}) as loader:
                    got = np.concatenate([batch.ids[:batch.n_seeds].copy() for batch in loader])
            except outgrow.OptionError as error:
                assert (str(error).startswith(name) or str(error).startswith("seeds: an empty list")) and error.hint, (what, str(error))
                refused += 1
                continue
            except Exception as error:
                raise AssertionError(what) from error
        if value is not None:
            assert np.array_equal(got, ids_of(value)), (what, got, value)
    print(f"  {ROUNDS // 4}: {refused} refused")


main(globals())
